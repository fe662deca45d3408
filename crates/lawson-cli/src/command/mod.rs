//! The sub-commands, one a file.

mod apart;
mod bench;
mod bisect;
mod cache;
mod check;
mod compared;
mod convert;
mod devices;
mod exact;
mod explain;
mod fuzz;
mod kernels;
mod list;
mod machine;
mod machine_device;
mod modes;
mod onnx_test;
mod opcodes;
mod ops;
mod opt;
mod reduce;
mod run;
mod show;
mod sizes;
mod steps;
mod time;
mod trial;

use crate::Run;
use crate::args::{Cli, Command};
use crate::report::{Outcome, Reporter};
use clap::CommandFactory;
use lawson::opt::Pipeline;
use lawson::{Passes, Result};
use std::io::Write;

/// Runs the sub-command that the arguments name.
pub fn run(cli: &Cli, planted: Option<Run>, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    match &cli.command {
        Command::Show(args) => show::run(args, reporter, out),
        Command::Check(args) => check::run(args, reporter, out),
        Command::Run(args) => run::run(args, reporter, out),
        Command::Opt(args) => opt::run(args, reporter, out),
        Command::Convert(args) => convert::run(args, reporter, out),
        Command::Bisect(args) => bisect::run(args, reporter, out),
        Command::Machine(args) => machine::run(args, reporter, out),
        Command::Bench(args) => bench::run(args, reporter, out),
        Command::Fuzz(args) => fuzz::run(args, planted, reporter, out),
        Command::Reduce(args) => reduce::run(args, planted, reporter, out),
        Command::OnnxTest(args) => onnx_test::run(args, reporter, out),
        Command::Devices => devices::run(reporter, out),
        Command::Opcodes(args) => opcodes::run(args, reporter, out),
        Command::Cache(args) => cache::run(args, reporter, out),
        Command::Explain { code } => explain::run(code.as_deref(), reporter, out),
        Command::Ops { name } => ops::run(name.as_deref(), reporter, out),
        Command::List(command) => list::run(command, reporter, out),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "lawson", &mut script);
            Ok(out.write_all(&script)?)
        }
    }
}

/// What to compile with: which passes are standard is the target's business.
fn passes(text: &str) -> Result<Passes> {
    Ok(match text {
        "standard" => Passes::Standard,
        list => Passes::Custom(pipeline(list)?),
    })
}

/// The passes that an argument names.
fn pipeline(text: &str) -> Result<Pipeline> {
    match text {
        "standard" => Ok(Pipeline::standard()),
        "none" => Ok(Pipeline::new(Vec::new())),
        list => list.parse(),
    }
}
