//! `lawson bisect`: the first pass after which results leave the oracle's bounds.

use super::pipeline;
use crate::args::BisectArgs;
use crate::report::{BUG, Failure, Outcome, Reporter, USER, error_json};
use crate::{input, load};
use lawson::graph::random::Elements;
use lawson::opt::{Verdict, bisect};
use lawson::{Code, Error};
use serde_json::json;
use std::io::Write;

pub fn run(args: &BisectArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    if args.slack.is_nan() || args.slack < 1.0 {
        return Err(Error::new(Code::Usage, "--slack is at least 1").into());
    }
    if args.trials == 0 {
        return Err(Error::new(Code::Usage, "--trials is at least 1").into());
    }
    let pipeline = pipeline(&args.passes)?;
    let loaded = load::open(&args.file, args.input.sizing())?;
    let mut inputs = args.input.clone();
    if inputs.inputs.is_empty() && loaded.input.is_none() {
        inputs.inputs.push("random".to_string());
    }
    let options = input::options(&inputs);
    let (mut compared, mut undetermined) = (0, 0);
    for trial in 0..args.trials {
        let seed = inputs.seed.wrapping_add(trial);
        let (values, _) = input::values_of(&loaded, &inputs, seed, Elements::Tame)?;
        match bisect(&pipeline, &loaded.graph, &values, &options, args.slack)? {
            Verdict::Fine { compared: c, undetermined: u, .. } => {
                compared += c;
                undetermined += u;
            }
            found => return report(&found, seed, reporter, out),
        }
    }
    // Without anything to compare there is no verdict, and a script must not take it for one.
    let verdict = compared > 0 || undetermined == 0;
    if reporter.json {
        let fine = if verdict { json!(true) } else { json!(null) };
        let counts = json!({ "fine": fine, "trials": args.trials, "compared": compared, "undetermined": undetermined });
        writeln!(out, "{counts:#}")?;
    } else if verdict {
        writeln!(
            out,
            "fine: all results stay within their bounds after each of {} passes \
             ({} trials, {compared} elements compared, {undetermined} undetermined)",
            pipeline.passes().len(),
            args.trials
        )?;
    } else {
        writeln!(out, "no verdict: the error bounds of all {undetermined} elements have grown beyond use")?;
    }
    if verdict { Ok(()) } else { Err(Failure::Said(USER)) }
}

/// Says which pass it is. A pass that changes results is a bug in Lawson.
fn report(found: &Verdict, seed: u64, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let (index, pass, text, details) = match found {
        Verdict::Changed { index, pass, output, comparison } => {
            let what = format!("the output `{output}` left its bounds: {comparison}");
            let details = json!({ "output": output, "comparison": comparison.to_string() });
            (*index, pass, what, details)
        }
        Verdict::Failed { index, pass, error } => {
            (*index, pass, format!("it failed:\n{error}"), json!({ "error": error_json(error) }))
        }
        _ => return Err(Error::internal("bisect gave no verdict").into()),
    };
    if reporter.json {
        let report = json!({ "fine": false, "index": index, "pass": pass, "seed": seed, "details": details });
        writeln!(out, "{report:#}")?;
    } else {
        writeln!(out, "pass {} of the pipeline, `{pass}`, with --seed {seed}: {text}", index + 1)?;
        writeln!(out, "`lawson opt --stop-after {index}` and `--stop-after {}` show both sides", index + 1)?;
    }
    Err(Failure::Said(BUG))
}
