//! Arguments of the commands that read a graph and say or do something with it.

use super::{Bind, DeviceArgs, Fusion, InputArgs, Isa, SizeArgs, Target};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A .law or .onnx file, a .json list, or - for standard input.
    pub file: String,
    #[command(flatten)]
    pub sizes: SizeArgs,
    /// Give an open size a value, to see numbers instead of expressions: what is shown is what is compiled for any size. Only an ONNX model that cannot be
    /// imported with its sizes open is imported for this one.
    #[arg(long, value_name = "NAME=NUMBER")]
    pub bind: Vec<Bind>,
    /// Print all elements of all constants.
    #[arg(long, conflicts_with_all = ["kernels", "plan", "refused", "dump_asm"])]
    pub full: bool,
    /// Print instead the kernels that the CPU target makes of the graph, each with its schedule, or why it has none, and its spills.
    #[arg(long)]
    pub kernels: bool,
    /// Print instead the plan: buffers, and steps with the barriers between them. Where every symbol is bound, also where
    /// buffers lie in the arena.
    #[arg(long)]
    pub plan: bool,
    /// Print instead which kernels were not made one, why, and what was predicted for both ways.
    #[arg(long)]
    pub refused: bool,
    /// Print instead the plan in its text form, which `check` reads, with its kernels.
    #[arg(long, conflicts_with_all = ["kernels", "plan", "refused", "dump_asm", "full"])]
    pub plan_text: bool,
    /// Print instead the machine code of each kernel, with its tree as comments.
    #[arg(long)]
    pub dump_asm: bool,
    /// For which target, for --plan, --kernels and --refused. The wgpu target is shown for a device that promises no more than WGSL does, if
    /// --device names none.
    #[arg(long, value_enum, default_value_t = Target::Cpu, value_name = "TARGET")]
    pub target: Target,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// How the processor runs kernels, for --plan, --kernels, --refused and --dump-asm [default: the best that this machine has, avx512 where it has
    /// neither].
    #[arg(long, value_enum, value_name = "ISA")]
    pub isa: Option<Isa>,
    /// For how many threads of the CPU target, for --plan, --kernels, --refused and --dump-asm [default: one for each processor].
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<usize>,
    /// Which operators may share a kernel, for --plan, --kernels, --refused and --dump-asm [default: predicted].
    #[arg(long, value_enum, value_name = "FUSION")]
    pub fusion: Option<Fusion>,
    /// The passes to run first, for --plan, --kernels, --refused and --dump-asm: a list, `standard` or `none` [default: standard]. `lawson opt` prints
    /// the graph after them.
    #[arg(long, value_name = "LIST")]
    pub passes: Option<String>,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// .law and .onnx files, .json lists, and plans (.plan, or any text that begins with `lawson-plan`), or - for standard input.
    #[arg(required = true)]
    pub files: Vec<String>,
    #[command(flatten)]
    pub sizes: SizeArgs,
}

/// Arguments of `convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// A .onnx or .law file, a .json list, or - for standard input.
    pub file: String,
    /// Where the graph goes.
    #[arg(value_name = "FILE.law")]
    pub output: PathBuf,
    #[command(flatten)]
    pub sizes: SizeArgs,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A .law or .onnx file, a .json list, or - for standard input.
    pub file: String,
    #[command(flatten)]
    pub input: InputArgs,
    /// NAME=FILE.npy; FILE.npz for all; FILE.npy for the only one.
    #[arg(short, long = "output", value_name = "OUTPUT")]
    pub outputs: Vec<String>,
    /// Compare the outputs with those of the same names in this file, and say how far they are off.
    #[arg(long, value_name = "FILE.npz", conflicts_with = "exact")]
    pub check: Option<PathBuf>,
    /// How far a checked output may be off, relative to what is expected.
    #[arg(long, default_value_t = 1e-3, value_name = "NUMBER", requires = "check")]
    pub rtol: f64,
    /// How far a checked output may be off besides.
    #[arg(long, default_value_t = 1e-5, value_name = "NUMBER", requires = "check")]
    pub atol: f64,
    /// Compute in f64 with a bound of the error of each element, and print both.
    #[arg(long, conflicts_with_all = ["passes", "outputs", "target", "time"])]
    pub exact: bool,
    /// What to run on. The reference target interprets every graph, slowly. The CPU target makes machine code, for x86-64 processors
    /// with AVX-512 or AVX2, of elementwise operators, views, gathers, slices at places that are data, reductions, cumulative sums, contractions,
    /// convolutions and windows in f16, bf16, f32, f64, bool and integers of 8 to 64 bits, and of loops and branches around them. What has no machine code is left to the evaluator of
    /// kernels or to the interpreter; --json says how many operators are, and `show --plan` which and why. The wgpu target makes shaders
    /// of the same kernels, in the same dtypes but f64, for a GPU or a software device (`lawson devices`); values that the file places on `cpu` are
    /// computed by the processor there, with transfers as steps.
    #[arg(long, value_enum, default_value_t = Target::Cpu, value_name = "TARGET")]
    pub target: Target,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// How many threads run it on the CPU target [default: one for each processor].
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<usize>,
    /// How the CPU target runs kernels [default: the best that this machine has].
    #[arg(long, value_enum, value_name = "ISA")]
    pub isa: Option<Isa>,
    /// Which operators may share a kernel.
    #[arg(long, value_enum, default_value_t = Fusion::Predicted, value_name = "FUSION")]
    pub fusion: Fusion,
    /// Run so many times; outputs become inputs of the next run, where the signature says so or types agree by position.
    #[arg(long, value_name = "COUNT", conflicts_with = "exact")]
    pub repeat: Option<u64>,
    /// Print how long compiling took, the first run, and the median of further runs, which take about a second: one if it takes as long, none if the
    /// first took more than ten.
    #[arg(long)]
    pub time: bool,
    /// The passes to run first: a list, `standard` or `none`.
    #[arg(long, default_value = "standard", value_name = "LIST")]
    pub passes: String,
}

/// Arguments of `opt`.
#[derive(Debug, Args)]
pub struct OptArgs {
    /// A .law or .onnx file, a .json list, or - for standard input.
    #[arg(required_unless_present = "list")]
    pub file: Option<String>,
    #[command(flatten)]
    pub sizes: SizeArgs,
    /// Write the result to this file; large constants go to a .safetensors file beside it.
    #[arg(short, long, value_name = "FILE.law")]
    pub output: Option<PathBuf>,
    /// The passes to run, in order: a list, `standard` or `none`.
    #[arg(long, default_value = "standard", value_name = "LIST")]
    pub passes: String,
    /// Print the graph to standard error after each run of this pass (`all`: of every pass).
    #[arg(long, value_name = "PASS")]
    pub dump_after: Option<String>,
    /// Run only so many passes.
    #[arg(long, value_name = "COUNT")]
    pub stop_after: Option<usize>,
    /// List the passes and the standard pipeline.
    #[arg(long)]
    pub list: bool,
}

/// Arguments of `bisect`.
#[derive(Debug, Args)]
pub struct BisectArgs {
    /// A .law or .onnx file, a .json list, or - for standard input.
    pub file: String,
    #[command(flatten)]
    pub input: InputArgs,
    /// The passes to look at: a list or `standard`.
    #[arg(long, default_value = "standard", value_name = "LIST")]
    pub passes: String,
    /// How many sets of random inputs to try, with the seeds that follow --seed.
    #[arg(long, default_value_t = 3)]
    pub trials: u64,
    /// How many times the error bound a result may be off.
    #[arg(long, default_value_t = 1.0)]
    pub slack: f64,
}

/// Arguments of `opcodes`.
#[derive(Debug, Args)]
pub struct OpcodesArgs {
    /// A .law or .onnx file, a .json list, or - for standard input.
    pub file: String,
    #[command(flatten)]
    pub sizes: SizeArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Bytes of memory that a workgroup shares.
    #[arg(long, value_name = "BYTES")]
    pub workgroup_memory: Option<u32>,
    /// Bytes of a buffer that a shader sees at once: it sees larger ones in windows.
    #[arg(long, value_name = "BYTES")]
    pub buffer_bytes: Option<u64>,
    /// How many members exchange registers.
    #[arg(long, value_name = "COUNT")]
    pub subgroup: Option<u32>,
    /// As if members could not exchange registers.
    #[arg(long, conflicts_with = "subgroup")]
    pub no_subgroups: bool,
    /// As if subgroups of 32 multiplied matrices of 16-bit floats
    #[arg(long, conflicts_with_all = ["subgroup", "no_subgroups"])]
    pub matrices: bool,
    /// As if they did not
    #[arg(long, conflicts_with = "matrices")]
    pub no_matrices: bool,
    /// Leave out the text of the shaders.
    #[arg(long)]
    pub no_text: bool,
    /// The passes to run first: a list, `standard` or `none`.
    #[arg(long, default_value = "standard", value_name = "LIST")]
    pub passes: String,
}
