//! The arguments of `bench`: those for a file, and those for lists in all modes.

use super::{Fusion, InputArgs, Isa, Target};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What the help of `bench` ends with.
pub const EXAMPLES: &str = "Examples:
  lawson bench model.onnx --input random
  lawson bench model.onnx --input random --threads 1,2 --seconds 5
  lawson bench model.law --input x=x.npy --kernels --threads 1
  lawson bench model.law --input random --bind N=8 --json | jq .runs[0].median_ms
  lawson bench --quick
  lawson bench --plots plots --csv bench.csv
  lawson bench --depth 64 --size 64,256 --modes graph_cached_fused,loop_on_device --device 0

Without a file, lists of operators are made at random (`lawson list random`): an input, linear layers and ReLUs, a softmax, an output. They are run in
every mode on the processor and on every adapter that wgpu finds, at several sizes and at several depths; results are checked against the
oracle in f64 before anything is timed. Rows are printed and written when their point ends: what was measured before an interruption is there. What each
mode is, docs/modes.md says.";

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// A .law or .onnx file, a .json list, or - for standard input. Without it, random lists are run in all modes.
    pub file: Option<String>,
    #[command(flatten)]
    pub input: InputArgs,
    /// What to run a file on.
    #[arg(long, value_enum, default_value_t = Target::Cpu, value_name = "TARGET", requires = "file")]
    pub target: Target,
    /// With a file, the device of the wgpu target: its number or a part of its name, as `lawson devices` has them [default: the one that the
    /// system prefers]. Without a file, the only device to run on: `cpu`, or an adapter [default: all].
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Numbers of threads, each timed by itself [default: one for each processor].
    #[arg(long, value_delimiter = ',', value_name = "LIST", requires = "file")]
    pub threads: Vec<usize>,
    /// How long to run: a file with each number of threads [default: 2], or a list in each mode [default: 2; with --quick 0.3].
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<f64>,
    /// Time an iteration of so many that follow each other on the target, outputs becoming inputs, besides single runs: what it takes without
    /// giving inputs and taking outputs. Where elements do not need each other, also what it takes if all iterations are one kernel.
    #[arg(long, value_name = "COUNT", requires = "file")]
    pub repeat: Option<u64>,
    /// How the CPU target runs kernels [default: the best that this machine has].
    #[arg(long, value_enum, value_name = "ISA", requires = "file")]
    pub isa: Option<Isa>,
    /// Which operators may share a kernel.
    #[arg(long, value_enum, default_value_t = Fusion::Predicted, value_name = "FUSION", requires = "file")]
    pub fusion: Fusion,
    /// Time each kernel in its place too, and put what the cost model predicts beside it.
    #[arg(long, requires = "file")]
    pub kernels: bool,
    /// The passes to run first: a list, `standard` or `none`.
    #[arg(long, default_value = "standard", value_name = "LIST", requires = "file")]
    pub passes: String,
    #[command(flatten)]
    pub lists: ListBenchArgs,
}

/// Arguments of `bench` without a file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Without a file")]
pub struct ListBenchArgs {
    /// Depths of lists, the two transfers included [default: 4 to 128 at size 256, and 64 at every size].
    #[arg(long, value_delimiter = ',', value_name = "LIST", conflicts_with = "file")]
    pub depth: Vec<usize>,
    /// Sizes: the columns of every matrix between the operators [default: 4 to 4096 at depth 64, and 256 at every depth].
    #[arg(long, value_delimiter = ',', value_name = "LIST", conflicts_with = "file")]
    pub size: Vec<usize>,
    /// Rows of the input.
    #[arg(long, default_value_t = 1, value_name = "COUNT", conflicts_with = "file")]
    pub batch: usize,
    /// The modes to run [default: all].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST", conflicts_with = "file")]
    pub modes: Vec<Mode>,
    /// How many samples of each mode are taken at most [default: 10; with --quick 5].
    #[arg(long, value_name = "COUNT", conflicts_with = "file")]
    pub samples: Option<usize>,
    /// How many times a call runs the list, each time on what the last time gave [default: 10; with --quick 4].
    #[arg(long, value_name = "COUNT", conflicts_with = "file")]
    pub iterations: Option<u64>,
    /// Fewer sizes and depths, and less time for each.
    #[arg(long, conflicts_with = "file")]
    pub quick: bool,
    /// Write a row for each mode, device, depth and size.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub csv: Option<PathBuf>,
    /// Draw time over size and time over depth, as size.svg, size.png, depth.svg and depth.png in this folder.
    #[arg(long, value_name = "FOLDER", conflicts_with = "file")]
    pub plots: Option<PathBuf>,
}

/// A way to run a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Mode {
    /// Immediate mode on the processor.
    Cpu,
    /// A graph on the processor, each operator a kernel of its own.
    CpuGraph,
    /// A graph on the processor, operators fused.
    CpuGraphFused,
    /// Immediate mode on a device.
    Immediate,
    /// A graph on a device, compiled for each iteration.
    Graph,
    /// The same, fused.
    GraphFused,
    /// A graph on a device, compiled once.
    GraphCached,
    /// The same, fused.
    GraphCachedFused,
    /// A graph whose loop is the session's, compiled for each call.
    GraphLoop,
    /// The same, fused.
    GraphLoopFused,
    /// A graph whose loop is the session's, compiled once.
    GraphLoopCached,
    /// The same, fused.
    GraphLoopCachedFused,
    /// A fused graph, compiled once, all iterations in one submission; on the processor, in one call of the team.
    LoopOnDevice,
}

impl Mode {
    /// Its name on the command line, in tables and in files.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Cpu => "cpu",
            Mode::CpuGraph => "cpu_graph",
            Mode::CpuGraphFused => "cpu_graph_fused",
            Mode::Immediate => "immediate",
            Mode::Graph => "graph",
            Mode::GraphFused => "graph_fused",
            Mode::GraphCached => "graph_cached",
            Mode::GraphCachedFused => "graph_cached_fused",
            Mode::GraphLoop => "graph_loop",
            Mode::GraphLoopFused => "graph_loop_fused",
            Mode::GraphLoopCached => "graph_loop_cached",
            Mode::GraphLoopCachedFused => "graph_loop_cached_fused",
            Mode::LoopOnDevice => "loop_on_device",
        }
    }
}
