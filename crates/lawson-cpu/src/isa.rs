//! What kernels are made into: machine code of one level of x86-64, or nothing but themselves.

use crate::host::missing_feature;
use std::fmt;

/// How kernels are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isa {
    /// As machine code for x86-64 with AVX-512, under Unix.
    Avx512,
    /// By the portable evaluator, in safe Rust, on any machine: slowly, and by one thread.
    Portable,
}

impl Isa {
    /// The best that this machine has.
    pub fn best() -> Isa {
        match Isa::Avx512.missing() {
            None => Isa::Avx512,
            Some(_) => Isa::Portable,
        }
    }

    /// What this machine lacks for it.
    pub fn missing(self) -> Option<&'static str> {
        match self {
            Isa::Avx512 if cfg!(not(unix)) => Some("a Unix system"),
            Isa::Avx512 => missing_feature(),
            Isa::Portable => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Avx512 => "avx512",
            Isa::Portable => "portable",
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
