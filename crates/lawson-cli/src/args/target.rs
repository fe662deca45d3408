//! What graphs run on.

use clap::{Args, ValueEnum};

/// What a graph runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// The reference interpreter.
    Reference,
    /// Machine code.
    Cpu,
    /// Shaders, on a device that wgpu finds.
    Wgpu,
}

impl Target {
    /// Its name in texts and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Target::Reference => "reference",
            Target::Cpu => "cpu",
            Target::Wgpu => "wgpu",
        }
    }

    /// As the library names it.
    pub fn to_lawson(self) -> lawson::Target {
        match self {
            Target::Reference => lawson::Target::Reference,
            Target::Cpu => lawson::Target::Cpu,
            Target::Wgpu => lawson::Target::Wgpu,
        }
    }
}

/// Which device the wgpu target runs on.
#[derive(Clone, Debug, Default, Args)]
pub struct DeviceArgs {
    /// The device of the wgpu target: its number or a part of its name, as `lawson devices` has them [default: the one that the
    /// system prefers].
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
}

/// How kernels are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Isa {
    /// As machine code with AVX-512.
    Avx512,
    /// As machine code with AVX2, FMA and F16C.
    Avx2,
    /// By the portable evaluator: on any machine, slowly.
    Portable,
}

impl Isa {
    /// As the library names it.
    pub fn to_cpu(self) -> lawson::cpu::Isa {
        match self {
            Isa::Avx512 => lawson::cpu::Isa::Avx512,
            Isa::Avx2 => lawson::cpu::Isa::Avx2,
            Isa::Portable => lawson::cpu::Isa::Portable,
        }
    }
}

/// Which operators may share a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fusion {
    /// Those that are predicted to take less time together.
    Predicted,
    /// None: each operator has kernels of its own, and the standard passes, which rewrite across operators, do not run.
    Separate,
}

impl Fusion {
    /// As the library names it.
    pub fn to_lawson(self) -> lawson::Fusion {
        match self {
            Fusion::Predicted => lawson::Fusion::Predicted,
            Fusion::Separate => lawson::Fusion::Separate,
        }
    }
}
