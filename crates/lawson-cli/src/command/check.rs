//! `lawson check`: reads and verifies files; says what is wrong with each, and how many are right.

use crate::args::CheckArgs;
use crate::load;
use crate::report::{Failure, Outcome, Reporter, error_json, exit_code};
use serde_json::{Value as Json, json};
use std::io::Write;

pub fn run(args: &CheckArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let mut results: Vec<Json> = Vec::new();
    let (mut wrong, mut code) = (0, 0);
    for file in &args.files {
        let checked = load::graph(file).and_then(|loaded| loaded.graph.verify().map(|()| loaded.graph));
        match checked {
            Ok(graph) => {
                results.push(json!({ "file": file, "ok": true, "nodes": graph.total_nodes() }));
                if !reporter.json {
                    writeln!(out, "{file}: fine, @{} with {} nodes", graph.name(), graph.total_nodes())?;
                }
            }
            Err(error) => {
                wrong += 1;
                code = code.max(exit_code(&error));
                results.push(json!({ "file": file, "ok": false, "error": error_json(&error) }));
                // What has been said so far goes first.
                out.flush()?;
                reporter.error(&error);
            }
        }
    }
    if reporter.json {
        writeln!(out, "{:#}", json!({ "files": results, "wrong": wrong }))?;
    } else if args.files.len() > 1 {
        writeln!(out, "{} files, {} fine, {wrong} wrong", args.files.len(), args.files.len() - wrong)?;
    }
    if code == 0 { Ok(()) } else { Err(Failure::Said(code)) }
}
