//! `lawson convert`: writes a model or a list as a graph in the text form.

use crate::args::ConvertArgs;
use crate::report::{Outcome, Reporter};
use crate::{load, output};
use serde_json::json;
use std::io::Write;

pub fn run(args: &ConvertArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let to = &args.output;
    let graph = load::open(&args.file, args.sizes.sizing())?.graph;
    output::write_graph(out, &graph, Some(to))?;
    let nodes = graph.total_nodes();
    if reporter.json {
        return Ok(writeln!(out, "{:#}", json!({ "file": to.display().to_string(), "nodes": nodes }))?);
    }
    Ok(writeln!(out, "{}: @{} with {nodes} nodes", to.display(), graph.name())?)
}
