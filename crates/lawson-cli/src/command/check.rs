//! `lawson check`: reads and verifies files; says all that is wrong with each, in the order of its lines, and how many are right.

use crate::args::CheckArgs;
use crate::load::{self, Checked};
use crate::report::{Failure, Outcome, Reporter, Severity, error_json, exit_code};
use lawson::graph::Graph;
use lawson::kernel::{WrittenPlan, borrow};
use lawson::{Error, Place, Result};
use serde_json::{Value as Json, json};
use std::io::Write;

/// What is said of a file.
#[derive(Default)]
struct Said {
    /// What it is, if it is right.
    fine: String,
    /// What is wrong.
    errors: Vec<Error>,
    /// What need not be.
    warnings: Vec<Error>,
    /// What is unusual and allowed.
    notes: Vec<String>,
    /// How many errors and warnings there are besides.
    more: usize,
    json: Json,
}

/// What the verifier says of a plan's kernels, and the borrow checker of its steps.
fn check_plan(written: &WrittenPlan) -> Said {
    let report = borrow::check_text(written);
    let mut steps = 0;
    written.plan.visit(&mut |_, _| steps += 1);
    let fine = format!("plan @{} with {steps} steps", written.plan.name);
    let borrow::Report { errors, warnings, notes, more } = report;
    Said { fine, errors, warnings, notes, more, json: json!({ "steps": steps }) }
}

fn check_graph(graph: &Graph) -> Result<Said> {
    graph.verify()?;
    let fine = format!("@{} with {} nodes", graph.name(), graph.total_nodes());
    Ok(Said { fine, json: json!({ "nodes": graph.total_nodes() }), ..Said::default() })
}

/// The line and the column that an error is about; errors about no place in a text come first.
fn place(error: &Error) -> Option<(usize, usize)> {
    error.places().iter().find_map(|p| match p {
        Place::Source(s) => Some((s.line, s.column)),
        _ => None,
    })
}

pub fn run(args: &CheckArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let mut results: Vec<Json> = Vec::new();
    let (mut wrong, mut code) = (0, 0);
    for file in &args.files {
        let checked = load::checked(file, args.sizes.sizing()).and_then(|checked| match checked {
            Checked::Graph(graph) => check_graph(&graph),
            Checked::Plan(plan) => Ok(check_plan(&plan)),
        });
        let mut said =
            checked.unwrap_or_else(|error| Said { errors: vec![error], json: json!({}), ..Said::default() });
        said.errors.sort_by_key(place);
        said.warnings.sort_by_key(place);
        let ok = said.errors.is_empty();
        wrong += usize::from(!ok);
        code = said.errors.iter().map(exit_code).fold(code, u8::max);
        if reporter.json {
            let all = |errors: &[Error]| errors.iter().map(error_json).collect::<Vec<Json>>();
            let mut result = said.json;
            result["file"] = json!(file);
            result["ok"] = json!(ok);
            result["errors"] = json!(all(&said.errors));
            result["warnings"] = json!(all(&said.warnings));
            result["notes"] = json!(said.notes);
            result["more"] = json!(said.more);
            if let Some(first) = said.errors.first() {
                result["error"] = error_json(first);
            }
            results.push(result);
        } else {
            if ok {
                writeln!(out, "{file}: fine, {}", said.fine)?;
            }
            for note in &said.notes {
                writeln!(out, "{file}: note: {note}")?;
            }
        }
        // What has been said so far goes first.
        out.flush()?;
        let (errors, warnings) = (said.errors.iter(), said.warnings.iter());
        let mut all: Vec<(&Error, Severity)> = errors.map(|e| (e, Severity::Error)).collect();
        all.extend(warnings.map(|w| (w, Severity::Warning)));
        all.sort_by_key(|(e, _)| place(e));
        all.iter().for_each(|(e, severity)| reporter.say(e, *severity));
        if said.more > 0 {
            reporter.note(&format!("{file}: there are {} errors and warnings more", said.more));
        }
    }
    if reporter.json {
        writeln!(out, "{:#}", json!({ "files": results, "wrong": wrong }))?;
    } else if args.files.len() > 1 {
        writeln!(out, "{} files, {} fine, {wrong} wrong", args.files.len(), args.files.len() - wrong)?;
    }
    if code == 0 { Ok(()) } else { Err(Failure::Said(code)) }
}
