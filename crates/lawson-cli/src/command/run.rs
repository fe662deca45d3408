//! `lawson run`: compiles a graph, finds its inputs, runs it, and shows or writes its outputs.

use super::{exact, pipeline};
use crate::args::RunArgs;
use crate::report::{Outcome, Reporter};
use crate::{input, load, output};
use lawson::graph::{Bindings, interp};
use lawson::{CompileOptions, Limits, Passes, Program};
use serde_json::{Map, Value as Json, json};
use std::io::Write;

pub fn run(args: &RunArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let loaded = load::graph(&args.file)?;
    let names: Vec<String> = loaded.graph.outputs().iter().map(|o| o.name.clone()).collect();
    let destinations = output::destinations(&names, &args.outputs)?;
    let (values, bindings) = input::values(&loaded, &args.input, args.input.seed)?;
    let options = input::options(&args.input);
    if args.exact {
        let results = interp::run_bounded(&loaded.graph, &values, &options)?;
        return exact::print(&names, &results, &bindings, reporter, out);
    }
    let passes = Passes::Custom(pipeline(&args.passes)?);
    let program = Program::compile(loaded.graph, &CompileOptions { passes, ..CompileOptions::default() })?;
    let mut session = program.session();
    session.set_limits(Limits { max_steps: options.max_steps, max_bytes: options.max_bytes });
    let results = session.run_values(&values)?;
    output::write_files(&names, &results, &destinations)?;
    if reporter.json {
        let outputs: Map<String, Json> =
            names.iter().cloned().zip(results.iter().map(output::value_json)).collect();
        let report = json!({ "symbols": symbols_json(&bindings), "outputs": outputs });
        return Ok(writeln!(out, "{report:#}")?);
    }
    print_symbols(&bindings, out)?;
    names.iter().zip(&results).try_for_each(|(name, value)| output::summary(out, name, value))
}

/// Prints the sizes that a run had, if any were open.
pub(super) fn print_symbols(bindings: &Bindings, out: &mut dyn Write) -> Outcome {
    let symbols: Vec<String> = bindings.iter().map(|(s, v)| format!("{s} = {v}")).collect();
    if symbols.is_empty() { Ok(()) } else { Ok(writeln!(out, "with {}", symbols.join(", "))?) }
}

/// The sizes that a run had, as JSON.
pub(super) fn symbols_json(bindings: &Bindings) -> Map<String, Json> {
    bindings.iter().map(|(s, v)| (s.name().to_string(), json!(v))).collect()
}
