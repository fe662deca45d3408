//! Executable memory where no code is ever emitted: there is none.

use crate::asm::Code;
use std::convert::Infallible;

/// Emitted code as a function, which does not exist.
pub type Kernel = unsafe extern "C" fn(table: *const u64, begin: i64, end: i64, scratch: *mut u8);

/// A piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {}

/// Takes pieces of code, and forgets them.
#[derive(Default)]
pub struct CodeBuilder {}

/// No memory.
#[derive(Debug)]
pub struct ExecutableMemory {}

impl CodeBuilder {
    /// No code.
    pub fn new() -> CodeBuilder {
        CodeBuilder {}
    }

    /// Adds nothing.
    pub fn add(&mut self, _code: &Code) -> Entry {
        Entry {}
    }

    /// Maps nothing.
    pub fn finish(self) -> Result<ExecutableMemory, Infallible> {
        Ok(ExecutableMemory {})
    }
}

impl ExecutableMemory {
    /// There is no code.
    pub fn kernel(&self, _entry: Entry) -> Option<Kernel> {
        None
    }
}
