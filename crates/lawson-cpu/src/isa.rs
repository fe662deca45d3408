//! What kernels are made into: machine code of one level of x86-64, or nothing but themselves.

use crate::asm::Level;
use crate::host::{missing_avx2, missing_avx512};
use lawson_kernel::machine::Machine;
use std::fmt;

/// How kernels are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isa {
    /// As machine code for x86-64 with AVX-512, under Unix.
    Avx512,
    /// As machine code for x86-64 with AVX2, FMA and F16C, under Unix.
    Avx2,
    /// By the portable evaluator, in safe Rust, on any machine: slowly, and by one thread.
    Portable,
}

impl Isa {
    /// All of them, the best first.
    pub const ALL: [Isa; 3] = [Isa::Avx512, Isa::Avx2, Isa::Portable];

    /// The best that this machine has.
    pub fn best() -> Isa {
        Isa::ALL.into_iter().find(|isa| isa.missing().is_none()).unwrap_or(Isa::Portable)
    }

    /// What this machine lacks for it.
    pub fn missing(self) -> Option<&'static str> {
        match self {
            Isa::Portable => None,
            _ if cfg!(not(unix)) => Some("a Unix system"),
            Isa::Avx512 => missing_avx512(),
            Isa::Avx2 => missing_avx2(),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Avx512 => "avx512",
            Isa::Avx2 => "avx2",
            Isa::Portable => "portable",
        }
    }

    /// Which instructions its code is made of.
    pub(crate) fn level(self) -> Option<Level> {
        match self {
            Isa::Avx512 => Some(Level::Avx512),
            Isa::Avx2 => Some(Level::Avx2),
            Isa::Portable => None,
        }
    }

    /// The machine as kernels that are run so see it.
    pub fn of(self, machine: &Machine) -> Machine {
        match self {
            Isa::Avx512 | Isa::Portable => machine.clone(),
            Isa::Avx2 => machine.with_avx2(),
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
