//! The arguments of the command and its sub-commands, with their help.

mod bench;

pub use bench::{BenchArgs, Mode};

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;

/// Compiles, runs and explains tensor programs.
#[derive(Debug, Parser)]
#[command(
    name = "lawson",
    version,
    about = "A graph compiler for tensor programs",
    after_help = "Examples:
  lawson show model.law
  lawson run model.law --input x=x.npy --output y.npy
  lawson run model.law --input random --seed 7 --bind N=8
  lawson opt model.law -o small.law
  lawson list random --depth 64 --size 256 | lawson run -

Exit codes: 0 fine, 1 an error of yours, 2 wrong usage, 70 a bug in Lawson."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    /// Print results, and errors too, as JSON.
    #[arg(long, global = true)]
    pub json: bool,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The sub-commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print a graph with its types and what each operator costs.
    #[command(after_help = "Examples:
  lawson show model.law
  lawson show model.law --bind N=32
  lawson show model.law --json | jq .total.flops
  lawson show model.law --plan --bind N=32
  lawson show model.onnx --kernels --dump-asm")]
    Show(ShowArgs),
    /// Read and verify files, and say which of them are right.
    #[command(after_help = "Example:
  lawson check models/*.law models/*.onnx
  lawson check plan.txt")]
    Check(CheckArgs),
    /// Run a graph.
    #[command(after_help = "Examples:
  lawson run model.law --input x=x.npy --output y=y.npy
  lawson run model.law --input all.npz --output results.npz
  lawson run model.law --input random --seed 7 --bind N=8
  lawson run model.law --input x=x.npy --input zeros
  lawson run model.law --input x.npy --exact
  lawson run model.onnx --input image=cat.png --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225
  lawson run model.onnx --input inputs.npz --check expected.npz
  lawson run model.onnx --input random --target cpu --threads 4 --time")]
    Run(RunArgs),
    /// Run passes over a graph and print or write what becomes of it.
    #[command(after_help = "Examples:
  lawson opt model.law -o optimised.law
  lawson opt model.law --passes simplify,dead-code
  lawson opt model.law --dump-after decompose
  lawson opt --list")]
    Opt(OptArgs),
    /// Write a model or a list as a graph in the text form.
    #[command(after_help = "Example:
  lawson convert model.onnx model.law

Large constants go to a .safetensors file beside it.")]
    Convert {
        /// A .onnx or .law file, a .json list, or - for standard input.
        file: String,
        /// Where the graph goes.
        #[arg(value_name = "FILE.law")]
        output: PathBuf,
    },
    /// Find the first pass after which results leave the tolerance.
    #[command(after_help = "Example:
  lawson bisect model.law --trials 10 --bind N=5")]
    Bisect(BisectArgs),
    /// Measure how fast this machine is, once, and keep that for the cost model.
    #[command(after_help = "Examples:
  lawson machine
  lawson machine --quick --again
  lawson machine --json | jq .measured.read
  lawson machine --device wgpu
  lawson machine --forget

The measurement is kept in lawson/machine.json of $XDG_CACHE_HOME, or of ~/.cache, by the model of the processor or the device and its driver. Predicted
times come from it; schedules do not depend on it.")]
    Machine(MachineArgs),
    /// Time a graph: compiling by stage, runs, memory, and each kernel beside its predicted time; or, without a file, random lists of operators in
    /// every mode on every device.
    #[command(after_help = bench::EXAMPLES)]
    Bench(BenchArgs),
    /// Check a target with random graphs, and shrink what fails.
    #[command(after_help = "Examples:
  lawson fuzz --target cpu --seconds 60
  lawson fuzz --target cpu --seed 1000000 --count 500 --jobs 2 --keep failures
  lawson fuzz --target cpu --strict --count 200

Graphs are compared with the reference interpreter's f64 oracle, element by element, within certain bounds, and with
themselves at other numbers of threads. A failure is shrunk and kept as SEED.law and SEED.npz with the command that shows it
again. Exit codes: 0 nothing failed, 70 something did.")]
    Fuzz(FuzzArgs),
    /// Shrink a graph on which a target fails.
    #[command(after_help = "Examples:
  lawson reduce model.law --target cpu --input random -o small.law
  lawson reduce model.law --target cpu --input x=x.npy --check
  lawson reduce model.law --target cpu --input random --strict

The small graph fails in the same way as the given one: a wrong result, other bits at other numbers of threads, an internal
error, a panic, a crash, or, with --strict, a refusal. Exit codes: 0 it does not fail, 70 it does.")]
    Reduce(ReduceArgs),
    /// Run cases in the layout of ONNX's backend suite, and say which fail.
    #[command(after_help = "Examples:
  lawson onnx-test cases/node
  lawson onnx-test cases --filter softmax --threads 2
  lawson onnx-test cases --jobs 2 --json | jq .totals

A case is a folder with model.onnx and test_data_set_N/input_K.pb, output_K.pb; folders are searched at any depth. Floats may be
off by 1e-7 + 1e-3 of what is expected, or by what the case's tolerance.json says; anything else must be equal. On the CPU
target, what the reference interpreter computed counts only if it is on the list that is printed. A case that crashes or hangs
fails, and the others go on. Exit codes: 0 nothing failed, 1 something did.")]
    OnnxTest(OnnxTestArgs),
    /// List the processor and the adapters that wgpu finds, with the limits that matter.
    #[command(after_help = "Examples:
  lawson devices
  lawson devices --json | jq .wgpu[0].workgroup_memory_bytes")]
    Devices,
    /// Show the kernels of a graph as op codes and as the text of their shaders.
    #[command(after_help = "Examples:
  lawson opcodes model.law
  lawson opcodes model.law --workgroup-memory 4096 --no-subgroups
  lawson opcodes model.law --device 0 --no-text

Without --device, they are for a device that can do what WGSL promises everywhere, or what the options say.")]
    Opcodes(OpcodesArgs),
    /// Show or clear the compiled pipelines that are kept on disk.
    #[command(after_help = "Examples:
  lawson cache
  lawson cache --clear

They are kept in lawson/pipelines of $XDG_CACHE_HOME, or of ~/.cache, a file for each adapter and driver.")]
    Cache(CacheArgs),
    /// Explain an error code, or list all of them.
    #[command(after_help = "Example:
  lawson explain E0105")]
    Explain {
        /// The code, such as E0105.
        code: Option<String>,
    },
    /// List the operators, or show one.
    #[command(after_help = "Example:
  lawson ops softmax")]
    Ops {
        /// The operator's name.
        name: Option<String>,
    },
    /// Work with lists of operators (.json).
    #[command(subcommand)]
    List(ListCommand),
    /// Print a completion script for a shell.
    #[command(after_help = "Example:
  lawson completions bash > ~/.local/share/bash-completion/completions/lawson")]
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// A value for a symbol.
#[derive(Clone, Debug)]
pub struct Bind {
    /// The symbol's name.
    pub symbol: String,
    /// Its value.
    pub value: i64,
}

impl std::str::FromStr for Bind {
    type Err = String;

    fn from_str(text: &str) -> Result<Bind, String> {
        let (symbol, value) = text.split_once('=').ok_or("expected NAME=NUMBER, such as N=8")?;
        match value.trim().parse() {
            Ok(value) if value >= 0 && !symbol.trim().is_empty() => {
                Ok(Bind { symbol: symbol.trim().to_string(), value })
            }
            _ => Err("expected NAME=NUMBER with a whole number that is not negative".to_string()),
        }
    }
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A .law or .onnx file, a .json list, or - for standard input.
    pub file: String,
    /// Give a symbol a value, to see numbers instead of expressions.
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
    /// How kernels are run, for --plan, --kernels and --dump-asm.
    #[arg(long, value_enum, default_value_t = Isa::Avx512, value_name = "ISA")]
    pub isa: Isa,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// .law and .onnx files, .json lists, and plans (.plan, or any text that begins with `lawson-plan`), or - for standard input.
    #[arg(required = true)]
    pub files: Vec<String>,
}

/// Where the inputs of a graph come from.
#[derive(Clone, Debug, Args)]
pub struct InputArgs {
    /// NAME=FILE, NAME=random, NAME=zeros; FILE.npz for several; FILE for the only one; random or zeros for
    /// all that are left. A FILE is .npy, .pb (a value of ONNX test data), or an image (.png, .jpg, .bmp, .ppm).
    #[arg(short, long = "input", value_name = "INPUT", requires = "file")]
    pub inputs: Vec<String>,
    #[command(flatten)]
    pub image: ImageArgs,
    /// The seed of random inputs and lists, and of the sizes that nothing else determines.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Give a symbol a value.
    #[arg(long, visible_alias = "dim", value_name = "NAME=NUMBER", requires = "file")]
    pub bind: Vec<Bind>,
    /// How many steps a run on the reference target may take; an operator is one, and so are 256 elements or 1024 products [default: 10000000].
    #[arg(long, value_name = "COUNT", requires = "file")]
    pub max_steps: Option<u64>,
    /// How many bytes of values may be alive at once, and inputs be made of; on the reference target a float takes 8 and an integer 16 [default: 2147483648 there; on
    /// the CPU target what the system has left].
    #[arg(long, value_name = "BYTES", requires = "file")]
    pub max_bytes: Option<u64>,
}

/// How images become tensors: resized to what the input asks for, in the order of its dimensions, `(x/255 - mean) / std`.
#[derive(Clone, Debug, Default, Args)]
pub struct ImageArgs {
    /// Where the channels of an image go [default: where the input has 1 or 3].
    #[arg(long, value_enum, value_name = "LAYOUT", requires = "file")]
    pub layout: Option<ImageLayout>,
    /// What is taken from each channel of an image, in 0 to 1 [default: 0].
    #[arg(long, value_delimiter = ',', value_name = "LIST", requires = "file")]
    pub mean: Vec<f64>,
    /// What each channel of an image is divided by after that [default: 1].
    #[arg(long, value_delimiter = ',', value_name = "LIST", requires = "file")]
    pub std: Vec<f64>,
}

/// Where the channels of an image are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImageLayout {
    /// Before height and width.
    Nchw,
    /// After them.
    Nhwc,
}

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
    /// of the same kernels, in the same dtypes but f64, for a GPU or a software device (`lawson devices`).
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
    /// Print how long compiling took, the first run, and the median of further runs, which take about a second.
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
    pub device: DeviceArgs,
    /// Bytes of memory that a workgroup shares.
    #[arg(long, value_name = "BYTES")]
    pub workgroup_memory: Option<u32>,
    /// How many members exchange registers.
    #[arg(long, value_name = "COUNT")]
    pub subgroup: Option<u32>,
    /// As if members could not exchange registers.
    #[arg(long, conflicts_with = "subgroup")]
    pub no_subgroups: bool,
    /// Leave out the text of the shaders.
    #[arg(long)]
    pub no_text: bool,
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

/// Arguments of `machine`.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Measure a device instead of the processor: `wgpu` for the one that the system prefers, or its number or a part of its name, as `lawson devices`
    /// has them.
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Take about a second instead of ten.
    #[arg(long, conflicts_with = "device")]
    pub quick: bool,
    /// Measure even if this machine was measured before.
    #[arg(long)]
    pub again: bool,
    /// Forget what was measured.
    #[arg(long, conflicts_with_all = ["quick", "again"])]
    pub forget: bool,
}

/// Arguments of `fuzz`.
#[derive(Clone, Debug, Args)]
pub struct FuzzArgs {
    /// The target to check.
    #[arg(long, value_enum, default_value_t = Target::Cpu, value_name = "TARGET")]
    pub target: Target,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// How the CPU target runs kernels [default: the best that this machine has].
    #[arg(long, value_enum, value_name = "ISA")]
    pub isa: Option<Isa>,
    /// How long to go on.
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
    /// Numbers of threads; results of all must have the same bits.
    #[arg(long, value_delimiter = ',', default_value = "1,3", value_name = "LIST")]
    pub threads: Vec<usize>,
    /// Where failures are kept.
    #[arg(long, default_value = "lawson-fuzz", value_name = "FOLDER")]
    pub keep: PathBuf,
    /// Take a refusal for a failure.
    #[arg(long)]
    pub strict: bool,
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
    /// The target that fails.
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
    /// Only say whether and how it fails.
    #[arg(long, conflicts_with = "output")]
    pub check: bool,
    /// How long to go on.
    #[arg(long, default_value_t = 60.0, value_name = "SECONDS")]
    pub seconds: f64,
    /// Where the small graph goes; its inputs go beside it, to FILE.npz [default: the name of the file with .small.law].
    #[arg(short, long, value_name = "FILE.law")]
    pub output: Option<PathBuf>,
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

/// What to do with lists.
#[derive(Debug, Subcommand)]
pub enum ListCommand {
    /// Make a random list.
    #[command(after_help = "Examples:
  lawson list random --depth 64 --size 256 -o list.json
  lawson list random --depth 10 --size 4 --inline | lawson show -")]
    Random(RandomArgs),
    /// Replace neighbours by the fused operators.
    Fuse(ListFileArgs),
    /// Replace fused operators by the separate ones.
    Unfuse(ListFileArgs),
    /// Turn a list into a graph.
    #[command(after_help = "Example:
  lawson list lower list.json --symbolic-batch N -o list.law")]
    Lower(LowerArgs),
}

/// Arguments of `list random`.
#[derive(Debug, Args)]
pub struct RandomArgs {
    /// How many entries, the two transfers included.
    #[arg(long, default_value_t = 8)]
    pub depth: usize,
    /// The columns of every matrix between the operators.
    #[arg(long, default_value_t = 16)]
    pub size: usize,
    /// The rows of the input.
    #[arg(long, default_value_t = 1)]
    pub batch: usize,
    /// The seed.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Leave out the softmax at the end.
    #[arg(long)]
    pub no_softmax: bool,
    /// Write all numbers instead of the recipe that makes them.
    #[arg(long)]
    pub inline: bool,
    /// Write to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// Arguments of `list fuse` and `list unfuse`.
#[derive(Debug, Args)]
pub struct ListFileArgs {
    /// A .json list, or - for standard input.
    pub file: String,
    /// Write to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// Arguments of `list lower`.
#[derive(Debug, Args)]
pub struct LowerArgs {
    /// A .json list, or - for standard input.
    pub file: String,
    /// Make the batch a symbol of this name.
    #[arg(long, value_name = "NAME")]
    pub symbolic_batch: Option<String>,
    /// Write to this file; large constants go to a .safetensors file beside it.
    #[arg(short, long, value_name = "FILE.law")]
    pub output: Option<PathBuf>,
}
