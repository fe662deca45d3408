//! Steps that are left to the host: one member runs them, by the evaluator or the interpreter, while the others wait.
#![allow(unsafe_code)]

use lawson_graph::interp;
use lawson_kernel::plan::hosted::{Argument, HostState, Hosted};
use lawson_kernel::{Plan, Slot};

/// A step of the host.
#[derive(Debug)]
pub(super) struct HostItem {
    pub(super) barrier: bool,
    pub(super) step: Hosted,
}

impl HostItem {
    /// Does it, unless something has failed before.
    ///
    /// # Safety
    /// `base` gives the address of a buffer that is as large as the argument says; no other step reads or writes what this one
    /// writes, or writes what this one reads, until it is done.
    pub(super) unsafe fn run(
        &self,
        plan: &Plan,
        state: &mut HostState,
        base: impl Fn(Slot) -> u64,
        options: &interp::Options,
    ) {
        let address = |a: &Argument| (base(a.slot) as usize + a.offset) as *mut u8;
        let read = |a: &Argument| match a.bytes {
            0 => Vec::new(),
            // SAFETY: the caller's promise.
            n => unsafe { std::slice::from_raw_parts(address(a), n) }.to_vec(),
        };
        let write = |a: &Argument, bytes: &[u8]| {
            if a.bytes > 0 {
                // SAFETY: the caller's promise.
                unsafe { std::slice::from_raw_parts_mut(address(a), a.bytes) }.copy_from_slice(bytes);
            }
        };
        self.step.run(plan, state, options, read, write);
    }
}
