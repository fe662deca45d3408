//! The names of symbolic dimensions.

use crate::name::{is_bare_symbol, write_quoted};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The name of a symbolic dimension.
#[derive(Clone)]
pub struct Symbol {
    name: Arc<str>,
    /// A number that differs for most names that differ, the same in every run: names are compared all the time.
    digest: u64,
}

impl Symbol {
    /// A symbol of that name.
    pub fn new(name: impl AsRef<str>) -> Symbol {
        let name = name.as_ref();
        let step = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        let digest = name.bytes().fold(0xcbf2_9ce4_8422_2325, step);
        Symbol { name: Arc::from(name), digest }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    /// One of 64 bits, by which most symbols are told apart.
    pub(super) fn bit(&self) -> u64 {
        1 << ((self.digest ^ (self.digest >> 32)) % 64)
    }
}

impl PartialEq for Symbol {
    fn eq(&self, other: &Symbol) -> bool {
        self.digest == other.digest && (Arc::ptr_eq(&self.name, &other.name) || self.name == other.name)
    }
}

impl Eq for Symbol {}

/// By name: where an order follows from hashes, it does not depend on how symbols are kept.
impl Hash for Symbol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// By name.
impl Ord for Symbol {
    fn cmp(&self, other: &Symbol) -> Ordering {
        if Arc::ptr_eq(&self.name, &other.name) { Ordering::Equal } else { self.name.cmp(&other.name) }
    }
}

impl PartialOrd for Symbol {
    fn partial_cmp(&self, other: &Symbol) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// As texts write it: in single quotes unless it may stand bare.
impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_bare_symbol(&self.name) { f.write_str(&self.name) } else { write_quoted(f, &self.name, '\'') }
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
