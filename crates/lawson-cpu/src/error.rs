//! What the CPU target cannot do, and what can go wrong in it.

use std::fmt;

/// A kernel that the emitter does not take, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    what: String,
}

/// What the stages of the emitter give.
pub type Result<T> = std::result::Result<T, Unsupported>;

impl Unsupported {
    pub(crate) fn new(what: impl Into<String>) -> Unsupported {
        Unsupported { what: what.into() }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the x86-64 emitter does not take {}", self.what)
    }
}

impl std::error::Error for Unsupported {}
