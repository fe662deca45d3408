//! The CPU target of the Lawson compiler.
//!
//! [`asm`] turns instructions into machine code. Not public API by itself: depend on `lawson`.

pub mod asm;
