//! The CPU target, for those who look inside: what [`crate::Target::Cpu`] makes of kernels, and memory that suits its runs.
//!
//! [`machine`] describes this processor to [`crate::kernel::compile`], which makes a plan; [`emit`] turns each kernel of a plan
//! into machine code. `native.rs` compiles and runs whole programs; elsewhere than on x86-64 under Unix, `absent.rs`
//! refuses them.

#[cfg(not(all(unix, target_arch = "x86_64")))]
mod absent;
#[cfg(all(unix, target_arch = "x86_64"))]
mod native;

#[cfg(not(all(unix, target_arch = "x86_64")))]
pub(crate) use absent::{CpuProgram, CpuSession};
#[cfg(all(unix, target_arch = "x86_64"))]
pub(crate) use native::{CpuProgram, CpuSession};

pub use lawson_cpu::host::{machine, missing_feature};
pub use lawson_cpu::memory::Memory;
pub use lawson_cpu::{Emitted, Listing, Unsupported, emit};

/// Whether a run took place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ran {
    Yes,
    /// Some view is not contiguous; the caller must copy.
    No,
}
