//! `lawson run`: compiles a graph, finds its inputs, runs it, and shows or writes its outputs.

use super::time::{self, Times};
use super::{compared, exact, passes};
use crate::args::{Isa, RunArgs, Target};
use crate::report::{Outcome, Reporter};
use crate::{device, input, load, output};
use lawson::graph::{Bindings, interp};
use lawson::kernel::Operators;
use lawson::{Code, CompileOptions, Error, Program, Result, Team};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

pub fn run(args: &RunArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let start = Instant::now();
    let loaded = load::open(&args.file, args.input.sizing())?;
    let import = start.elapsed();
    let known = loaded.known.clone();
    let names: Vec<String> = loaded.graph.outputs().iter().map(|o| o.name.clone()).collect();
    let destinations = output::destinations(&names, &args.outputs)?;
    let (values, bindings) = input::values(&loaded, &args.input, args.input.seed)?;
    let options = input::options(&args.input);
    if args.exact {
        let results = interp::run_bounded(&loaded.graph, &values, &options)?;
        return exact::print(&names, &results, &bindings, reporter, out);
    }
    let start = Instant::now();
    let program = Program::compile(
        loaded.graph,
        &CompileOptions { expect: input::expected(&bindings), ..compile_options(args)? },
    )?;
    let compile = start.elapsed();
    let mut session = program.session();
    session.set_limits(input::limits(&args.input));
    let start = Instant::now();
    let results = match args.repeat {
        None => session.run_values(&values)?,
        Some(times) => session.run_loop_values(&values, times)?,
    };
    let first = start.elapsed();
    output::write_files(&names, &results, &destinations)?;
    let compared =
        args.check.as_deref().map(|file| compared::run(file, &names, &results, args)).transpose()?;
    let further = match args.time {
        true => time::further(&mut session, &values, &results, first)?,
        false => Vec::new(),
    };
    let times = Times { import, compile, first, further };
    if reporter.json {
        let outputs: Map<String, Json> =
            names.iter().cloned().zip(results.iter().map(output::value_json)).collect();
        let mut report = json!({ "symbols": symbols_json(&bindings), "outputs": outputs });
        // Times differ from run to run; without them, the same run says the same.
        if args.time {
            report["time"] = times.to_json();
        }
        if !known.is_empty() {
            report["known"] = json!(known);
        }
        if let Some(compared) = &compared {
            report["check"] = compared.to_json();
        }
        if let Some(isa) = program.isa() {
            report["isa"] = json!(isa.name());
        }
        if let Some(operators) = program.operators() {
            report["operators"] = operators_json(operators);
        }
        writeln!(out, "{report:#}")?;
        return compared.map_or(Ok(()), |c| c.conclude());
    }
    print_symbols(&bindings, out)?;
    if !known.is_empty() {
        writeln!(out, "shapes depend on what these inputs hold: {}", known.join(", "))?;
    }
    if let Some(note) = left_to_host(&program) {
        writeln!(out, "{note}")?;
    }
    for (name, value) in names.iter().zip(&results) {
        output::summary(out, name, value)?;
    }
    if args.time {
        writeln!(out, "{times}")?;
    }
    match compared {
        None => Ok(()),
        Some(compared) => {
            compared.print(out)?;
            compared.conclude()
        }
    }
}

fn compile_options(args: &RunArgs) -> Result<CompileOptions> {
    let passes = passes(&args.passes)?;
    let isa = match (args.target, args.isa) {
        (target @ (Target::Reference | Target::Wgpu), Some(_)) => {
            return Err(Error::new(
                Code::Usage,
                format!("the {} target runs no machine code", target.name()),
            )
            .help("leave out --isa, or say --target cpu"));
        }
        (_, isa) => isa.map(Isa::to_cpu),
    };
    let (target, team) = match (args.target, args.threads) {
        (target @ (Target::Reference | Target::Wgpu), None) => (target.to_lawson(), None),
        (target @ (Target::Reference | Target::Wgpu), Some(_)) => {
            return Err(Error::new(
                Code::Usage,
                format!("the {} target has no team of threads", target.name()),
            )
            .help("leave out --threads, or say --target cpu"));
        }
        (Target::Cpu, None) => (lawson::Target::Cpu, None),
        (Target::Cpu, Some(n)) => {
            let team = Team::new(n).map_err(|e| Error::new(Code::Usage, format!("--threads {n}: {e}")))?;
            (lawson::Target::Cpu, Some(team))
        }
    };
    let device = device::open(args.target, &args.device)?;
    let fusion = args.fusion.to_lawson();
    // Sizes were fixed when the file was read.
    let sizes = BTreeMap::new();
    Ok(CompileOptions { target, sizes, expect: BTreeMap::new(), passes, fusion, team, isa, device })
}

/// What was left to the host or placed on the processor, if anything was.
fn left_to_host(program: &Program) -> Option<String> {
    let o = program.operators()?;
    let Operators { machine_code, on_cpu, evaluator, interpreter } = o;
    let how = match (program.isa(), on_cpu) {
        (Some(isa), _) => format!("{isa}: {machine_code} operators as machine code"),
        (None, 0) => format!("wgpu: {machine_code} operators as shaders"),
        (None, _) => format!("wgpu: {machine_code} operators as shaders, {on_cpu} on the processor"),
    };
    (o.on_host() + on_cpu > 0)
        .then(|| format!("{how}, {evaluator} by the evaluator, {interpreter} by the interpreter"))
}

/// How many operators ran in which way, as JSON.
pub(super) fn operators_json(operators: Operators) -> Json {
    let Operators { machine_code, on_cpu, evaluator, interpreter } = operators;
    json!({
        "machine_code": machine_code,
        "on_cpu": on_cpu,
        "evaluator": evaluator,
        "interpreter": interpreter,
    })
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
