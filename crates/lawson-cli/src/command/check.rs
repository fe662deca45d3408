//! `lawson check`: reads and verifies files; says what is wrong with each, and how many are right.

use crate::args::CheckArgs;
use crate::load::{self, Checked};
use crate::report::{Failure, Outcome, Reporter, error_json, exit_code};
use lawson::Result;
use lawson::kernel::{WrittenPlan, borrow};
use serde_json::{Value as Json, json};
use std::io::Write;

/// What the borrow checker says of a plan. All errors but the last are said here.
fn check_plan(
    written: &WrittenPlan,
    file: &str,
    reporter: &Reporter,
    out: &mut dyn Write,
) -> Result<(String, Json)> {
    let mut report = borrow::check_text(&written.plan, written.bound.as_ref(), &written.places);
    if let Some(last) = report.errors.pop() {
        report.errors.iter().for_each(|e| reporter.error(e));
        return Err(last);
    }
    let mut steps = 0;
    written.plan.visit(&mut |_, _| steps += 1);
    if !reporter.json {
        let lines = report.warnings.iter().map(|w| format!("{file}: warning: {w}"));
        for line in lines.chain(report.notes.iter().map(|n| format!("{file}: note: {n}"))) {
            // What cannot be written is said with the rest.
            let _ = writeln!(out, "{line}");
        }
    }
    let warnings: Vec<Json> = report.warnings.iter().map(error_json).collect();
    let json = json!({ "steps": steps, "warnings": warnings, "notes": report.notes });
    Ok((format!("plan @{} with {steps} steps", written.plan.name), json))
}

pub fn run(args: &CheckArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let mut results: Vec<Json> = Vec::new();
    let (mut wrong, mut code) = (0, 0);
    for file in &args.files {
        let checked = load::checked(file).and_then(|checked| match checked {
            Checked::Graph(graph) => graph.verify().map(|()| {
                let said = format!("@{} with {} nodes", graph.name(), graph.total_nodes());
                (said, json!({ "nodes": graph.total_nodes() }))
            }),
            Checked::Plan(plan) => check_plan(&plan, file, reporter, out),
        });
        match checked {
            Ok((said, mut result)) => {
                result["file"] = json!(file);
                result["ok"] = json!(true);
                results.push(result);
                if !reporter.json {
                    writeln!(out, "{file}: fine, {said}")?;
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
