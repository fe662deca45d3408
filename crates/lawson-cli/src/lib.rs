//! The `lawson` command, as a library of two functions: one is the command, the other the command on a target with a planted fault, by which
//! it is tested that faults are found.
//!
//! Comes in: arguments (`args.rs`); goes out: what a command prints, and an exit code: 0 fine, 1 the user's error,
//! 2 wrong usage, 70 a bug in Lawson. Each command is a file of `command/`; they share how files are read (`load.rs`),
//! inputs are found (`input.rs`), results are written (`output.rs`), quantities are printed (`quantity.rs`), charts are
//! drawn (`plot/`) and errors are reported (`report.rs`).

mod args;
mod command;
mod device;
mod image;
mod input;
mod load;
mod output;
mod plot;
mod quantity;
mod report;

use args::Cli;
use clap::Parser;
use lawson::graph::Graph;
use lawson::{Result, Session, Value};
use report::Reporter;
use std::io::Write;
use std::process::ExitCode;

/// What sessions are run by on a target with a planted fault.
pub type Run = fn(&Graph, &mut Session, &[Value]) -> Result<Vec<Value>>;

/// The command, by the arguments of the process.
pub fn main() -> ExitCode {
    run(None)
}

/// The command, with sessions that `fuzz` and `reduce` judge run by this. Processes that it starts are the same program.
pub fn main_with(planted: Run) -> ExitCode {
    run(Some(planted))
}

fn run(planted: Option<Run>) -> ExitCode {
    let cli = Cli::parse();
    let reporter = Reporter::new(cli.color, cli.json);
    ExitCode::from(report::guarded(|| {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        let result = command::run(&cli, planted, &reporter, &mut out).and_then(|()| Ok(out.flush()?));
        reporter.conclude(result, &mut out)
    }))
}
