//! The CPU target of the Lawson compiler.
//!
//! Three things that know nothing of each other but code: [`asm`] turns instructions into machine code, `exec` makes it
//! run, [`memory`] is what it works on. Read `asm/mod.rs` first. Not public API by itself: depend on
//! `lawson`.

pub mod asm;
#[cfg(all(unix, target_arch = "x86_64"))]
pub mod exec;
pub mod memory;

