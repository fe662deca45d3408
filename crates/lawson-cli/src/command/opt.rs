//! `lawson opt`: runs passes over a graph and prints or writes what becomes of it.

use super::pipeline;
use crate::args::OptArgs;
use crate::report::{Outcome, Reporter};
use crate::{load, output};
use lawson::graph::{Constants, Graph, PrintOptions, nearest, print};
use lawson::opt::{Observed, Pipeline, RunOptions, Verify, passes};
use lawson::{Code, Error, Result};
use serde_json::{Value as Json, json};
use std::io::Write;

/// Constants of more elements are left out of dumps.
const DUMPED: usize = 16;

pub fn run(args: &OptArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    if args.list {
        return list(reporter, out);
    }
    let pipeline = pipeline(&args.passes)?;
    check_dump(args.dump_after.as_deref(), &pipeline)?;
    let Some(file) = &args.file else {
        return Err(Error::new(Code::Usage, "a FILE is missing").into());
    };
    let graph = load::open(file, args.sizes.sizing())?.graph;
    let options = RunOptions { verify: Verify::EachPass, stop_after: args.stop_after };
    let mut steps: Vec<Json> = Vec::new();
    let result = pipeline.run_with(&graph, &options, &mut |seen| {
        if args.dump_after.as_deref().is_some_and(|p| p == "all" || p == seen.pass.name()) {
            dump(reporter, seen);
        }
        steps.push(json!({
            "pass": seen.pass.name(),
            "changed": seen.changed,
            "nodes": seen.graph.total_nodes(),
        }));
        Ok(())
    })?;
    if reporter.json {
        // The graph itself goes to the file, or into the report.
        let text = if args.output.is_none() { json!(result.to_string()) } else { Json::Null };
        if args.output.is_some() {
            output::write_graph(out, &result, args.output.as_deref())?;
        }
        let report = json!({
            "nodes_before": graph.total_nodes(),
            "nodes_after": result.total_nodes(),
            "passes": steps,
            "graph": text,
        });
        return Ok(writeln!(out, "{report:#}")?);
    }
    output::write_graph(out, &result, args.output.as_deref())?;
    if args.output.is_some() {
        writeln!(out, "{} nodes before, {} after", graph.total_nodes(), result.total_nodes())?;
    }
    Ok(())
}

fn list(reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let all = passes::all();
    if reporter.json {
        let known: Vec<Json> =
            all.iter().map(|p| json!({ "name": p.name(), "summary": p.summary() })).collect();
        let standard: Vec<&str> = Pipeline::standard().passes().iter().map(|p| p.name()).collect();
        return Ok(writeln!(out, "{:#}", json!({ "passes": known, "standard": standard }))?);
    }
    let width = all.iter().map(|p| p.name().len()).max().unwrap_or(0);
    for pass in all {
        writeln!(out, "{:width$}  {}", pass.name(), pass.summary())?;
    }
    Ok(writeln!(out, "\nstandard: {}", Pipeline::standard())?)
}

fn check_dump(wanted: Option<&str>, pipeline: &Pipeline) -> Result<()> {
    let names = || pipeline.passes().iter().map(|p| p.name());
    match wanted {
        Some(name) if name != "all" && !names().any(|n| n == name) => {
            let error =
                Error::new(Code::UnknownPass, format!("the pass `{name}` is not among those that run"));
            Err(match nearest(name, names()) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(format!("they are: {pipeline}")),
            })
        }
        _ => Ok(()),
    }
}

fn dump(reporter: &Reporter, seen: Observed<'_>) {
    let changed = if seen.changed { "" } else { ", which changed nothing" };
    let text = |graph: &Graph| {
        let constants = Constants::Elide { above: DUMPED };
        print(graph, &PrintOptions { constants, ..PrintOptions::default() })
    };
    reporter.note(&format!(
        "// after pass {}, {}{changed}\n{}",
        seen.index + 1,
        seen.pass.name(),
        text(seen.graph)
    ));
}
