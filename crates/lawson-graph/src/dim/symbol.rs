//! The names of symbolic dimensions.

use crate::name::{is_bare_symbol, write_quoted};
use std::fmt;
use std::sync::Arc;

/// The name of a symbolic dimension.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(Arc<str>);

impl Symbol {
    /// A symbol of that name.
    pub fn new(name: impl AsRef<str>) -> Symbol {
        Symbol(Arc::from(name.as_ref()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// As texts write it: in single quotes unless it may stand bare.
impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_bare_symbol(&self.0) { f.write_str(&self.0) } else { write_quoted(f, &self.0, '\'') }
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
