//! Arguments of the commands that measure, and of those that keep what was measured or compiled.

use super::{DeviceArgs, InputArgs, Isa, Target};
use clap::Args;

/// Arguments of `machine`.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Take about a second instead of ten.
    #[arg(long)]
    pub quick: bool,
    /// Measure even if this machine was measured before.
    #[arg(long)]
    pub again: bool,
    /// Forget what was measured.
    #[arg(long, conflicts_with_all = ["quick", "again"])]
    pub forget: bool,
}

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// A .law or .onnx file, a .json list, or - for standard input.
    pub file: String,
    #[command(flatten)]
    pub input: InputArgs,
    /// What to run on.
    #[arg(long, value_enum, default_value_t = Target::Cpu, value_name = "TARGET")]
    pub target: Target,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Numbers of threads, each timed by itself [default: one for each processor].
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub threads: Vec<usize>,
    /// How long to run, for each number of threads.
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    pub seconds: f64,
    /// Time an iteration of so many that follow each other on the target, outputs becoming inputs, besides single runs: what it takes without
    /// giving inputs and taking outputs.
    #[arg(long, value_name = "COUNT")]
    pub repeat: Option<u64>,
    /// How the CPU target runs kernels [default: the best that this machine has].
    #[arg(long, value_enum, value_name = "ISA")]
    pub isa: Option<Isa>,
    /// Time each kernel in its place too, and put what the cost model predicts beside it.
    #[arg(long)]
    pub kernels: bool,
    /// The passes to run first: a list, `standard` or `none`.
    #[arg(long, default_value = "standard", value_name = "LIST")]
    pub passes: String,
}

/// Arguments of `cache`.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// Remove them.
    #[arg(long)]
    pub clear: bool,
}
