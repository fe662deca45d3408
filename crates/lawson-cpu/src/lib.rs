//! The CPU target of the Lawson compiler.
//!
//! A scheduled kernel becomes vector code over virtual registers (`lower/`), gets machine registers (`alloc.rs`) and
//! becomes machine code (`encode/`, on the assembler of [`asm`]); `exec` makes it executable, [`memory`] is what it works
//! on, [`team`] the threads that run it. `limits` and `measure` find out how fast this machine is. Read `kernel.rs` first, which puts the stages together. Not public API by
//! itself: depend on `lawson`.

mod alloc;
pub mod asm;
mod avx2;
mod code;
pub mod constants;
mod encode;
mod error;
#[cfg(all(unix, target_arch = "x86_64"))]
pub mod exec;
#[cfg(not(all(unix, target_arch = "x86_64")))]
#[path = "exec_absent.rs"]
mod exec;
pub mod executable;
pub mod host;
mod isa;
mod kernel;
#[cfg(all(unix, target_arch = "x86_64"))]
pub mod limits;
mod lower;
#[cfg(all(unix, target_arch = "x86_64"))]
pub mod measure;
pub mod memory;
pub mod team;

pub use code::Word;
pub use error::Unsupported;
pub use isa::Isa;
pub use kernel::{Emitted, Listing, emit};
pub use lower::Limit;
