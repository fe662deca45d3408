//! Arguments of the commands that judge a target: by random graphs, by one that fails, by ONNX's own cases.

use super::{DeviceArgs, InputArgs, Isa, Target};
use clap::Args;
use std::path::PathBuf;

/// How `fuzz` and `reduce` judge a target.
#[derive(Clone, Debug, Args)]
pub struct TrialArgs {
    /// The target to judge.
    #[arg(long, value_enum, default_value_t = Target::Cpu, value_name = "TARGET")]
    pub target: Target,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// How the CPU target runs kernels [default: the best that this machine has].
    #[arg(long, value_enum, value_name = "ISA")]
    pub isa: Option<Isa>,
    /// Numbers of threads; results of all must have the same bits.
    #[arg(long, value_delimiter = ',', default_value = "1,3", value_name = "LIST")]
    pub threads: Vec<usize>,
    /// Take a refusal for a failure.
    #[arg(long)]
    pub strict: bool,
    /// How long a graph may take: one that takes longer hangs, or cannot be judged if it is the oracle that takes so long.
    #[arg(long, default_value_t = TrialArgs::PATIENCE, value_name = "SECONDS")]
    pub patience: f64,
}

/// Arguments of `fuzz`.
#[derive(Clone, Debug, Args)]
pub struct FuzzArgs {
    #[command(flatten)]
    pub trial: TrialArgs,
    /// How long to go on; graphs that are in work then are finished, and failures are shrunk after that.
    #[arg(long, default_value_t = 60.0, value_name = "SECONDS")]
    pub seconds: f64,
    /// How many graphs at most.
    #[arg(long, value_name = "COUNT")]
    pub count: Option<u64>,
    /// The seed of the first graph; the others follow.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// How many processes work at once.
    #[arg(long, default_value_t = 1, value_name = "COUNT")]
    pub jobs: usize,
    /// Where failures are kept.
    #[arg(long, default_value = "lawson-fuzz", value_name = "FOLDER")]
    pub keep: PathBuf,
    /// Check every how-many-th graph from --seed on, and say so line by line.
    #[arg(long, hide = true, value_name = "STEP")]
    pub worker: Option<u64>,
}

/// Arguments of `reduce`.
#[derive(Debug, Args)]
pub struct ReduceArgs {
    /// A .law or .onnx file, a .json list, or - for standard input.
    pub file: String,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub trial: TrialArgs,
    /// Only say whether and how it fails.
    #[arg(long, conflicts_with = "output")]
    pub check: bool,
    /// How long to go on.
    #[arg(long, default_value_t = 60.0, value_name = "SECONDS")]
    pub seconds: f64,
    /// Where the small graph goes; its inputs go beside it, to FILE.npz [default: the name of the file with .small.law].
    #[arg(short, long, value_name = "FILE.law")]
    pub output: Option<PathBuf>,
    /// Judge the cases that come by standard input instead of the file, and say so line by line.
    #[arg(long, hide = true)]
    pub worker: bool,
}

/// Arguments of `onnx-test`.
#[derive(Clone, Debug, Args)]
pub struct OnnxTestArgs {
    /// Cases, or folders that contain cases.
    #[arg(required_unless_present = "worker", value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// What to run on.
    #[arg(long, value_enum, default_value_t = Target::Cpu, value_name = "TARGET")]
    pub target: Target,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// How many threads run a case.
    #[arg(long, default_value_t = 1, value_name = "COUNT")]
    pub threads: usize,
    /// Only cases whose name contains this; may be given more than once.
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// How many processes work at once.
    #[arg(long, default_value_t = 1, value_name = "COUNT")]
    pub jobs: usize,
    /// How long a case may take.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub seconds: u64,
    /// Run the cases that come by standard input, and say so line by line.
    #[arg(long, hide = true)]
    pub worker: bool,
}
