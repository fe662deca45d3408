//! The CPU target of the Lawson compiler.
//!
//! [`asm`] turns instructions into machine code, `exec` makes it executable, [`memory`] is what it works on, [`team`] the
//! threads that run it; none of the last three knows another. Read `asm/mod.rs` first. Not public API by itself:
//! depend on `lawson`.

pub mod asm;
#[cfg(all(unix, target_arch = "x86_64"))]
pub mod exec;
pub mod memory;
pub mod team;
