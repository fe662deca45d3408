//! The arguments of the command and its sub-commands, with their help. Those of each sub-command are in the files of `args/`.

mod bench;
mod graph;
mod input;
mod list;
mod measure;
mod target;
mod trial;

pub use bench::{BenchArgs, Mode};
pub use graph::{BisectArgs, CheckArgs, ConvertArgs, OpcodesArgs, OptArgs, RunArgs, ShowArgs};
pub use input::{Bind, ImageArgs, ImageLayout, InputArgs, SizeArgs};
pub use list::{ListCommand, LowerArgs, RandomArgs};
pub use measure::{CacheArgs, MachineArgs};
pub use target::{DeviceArgs, Fusion, Isa, Target};
pub use trial::{FuzzArgs, OnnxTestArgs, ReduceArgs, TrialArgs};

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

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
  lawson show model.onnx --plan --dim batch=1
  lawson show model.law --json | jq .total.flops
  lawson show model.law --plan --bind N=32
  lawson show model.law --plan --fusion separate --isa avx2 --threads 4
  lawson show model.onnx --kernels --dump-asm

With --plan, --kernels, --refused or --dump-asm, it is what `run` and `bench` compile with the same --target, --isa, --threads, --fusion and --passes.
With --bind, the plan is that for any size, and told for this one; with --dim, it is the plan for this size alone. The arena of stages, whose sizes are found in a run, is told for the greatest sizes that the facts allow; `bench` tells what runs took.")]
    Show(ShowArgs),
    /// Read and verify files, and say which of them are right.
    #[command(after_help = "Examples:
  lawson check models/*.law models/*.onnx
  lawson check model.onnx --dim batch=1
  lawson check plan.txt")]
    Check(CheckArgs),
    /// Run a graph.
    #[command(after_help = "Examples:
  lawson run model.law --input x=x.npy --output y=y.npy
  lawson run model.law --input all.npz --output results.npz
  lawson run model.law --input random --seed 7 --bind N=8
  lawson run model.onnx --input random --dim batch=1
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
    #[command(after_help = "Examples:
  lawson convert model.onnx model.law
  lawson convert model.onnx model.law --dim batch=1 --dim length=512

Large constants go to a .safetensors file beside it.")]
    Convert(ConvertArgs),
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

Graphs are compared with the reference interpreter's f64 oracle, element by element, within certain bounds; with themselves at
other numbers of threads; and with other sessions of the same program, two of them at once. A graph that crashes or takes too long
is a failure, and the others go on. A failure is shrunk and kept as SEED.law and SEED.npz with the command that shows it again. In
the end it is told what was judged: graphs, runs, dtypes, operators by family, and what was not, with the reasons. With --count, a
seed finds the same for any number of --jobs. Exit codes: 0 nothing failed, 70 something did.")]
    Fuzz(FuzzArgs),
    /// Shrink a graph on which a target fails.
    #[command(after_help = "Examples:
  lawson reduce model.law --target cpu --input random -o small.law
  lawson reduce model.law --target cpu --input x=x.npy --check
  lawson reduce model.law --target cpu --input random --strict

The small graph fails in the same way as the given one: a wrong result, other bits at other numbers of threads, an internal
error, a panic, a crash, a run that does not end, or, with --strict, a refusal. A case that oracle or target refuse, or that takes them
more than --max-steps, --max-bytes or --patience allow, is not judged, and that is said; candidates have the same limits.
Exit codes: 0 it does not fail, 1 it was not judged, 70 it fails.")]
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
