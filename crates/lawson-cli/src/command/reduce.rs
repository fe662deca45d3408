//! `lawson reduce`: the smallest graph on which a target still fails the way it does on the one given.

use super::trial::{Found, Workplace, fails, silently, write_case};
use crate::args::{ReduceArgs, TrialArgs};
use crate::report::{BUG, Failure, Outcome, Reporter};
use crate::{input, load};
use lawson::reduce::{Case, Effort};
use lawson::{Code, Error, Result};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub fn run(args: &ReduceArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let time = Duration::try_from_secs_f64(args.seconds)
        .map_err(|_| Error::new(Code::Usage, "--seconds is a number that is not negative"))?;
    let loaded = load::graph(&args.file)?;
    let mut inputs = args.input.clone();
    if inputs.inputs.is_empty() && loaded.input.is_none() {
        inputs.inputs.push("random".to_string());
    }
    let (values, _) = input::values(&loaded, &inputs, inputs.seed)?;
    let case = Case { graph: loaded.graph, inputs: values };
    let trial = &args.trial;
    if args.check {
        let mut judge = trial.judge()?;
        return told(silently(|| fails(&mut judge, &case)).as_ref(), reporter, out);
    }
    // Before anything is shrunk: whether it can be kept.
    let law = destination(args)?;
    let folder = Workplace::new()?;
    let Some(found) = trial.apart(&case, folder.path())? else {
        return told(None, reporter, out);
    };
    let before = case.graph.total_nodes();
    let small = trial.shrink(case, &found, &Effort { tries: usize::MAX, time }, folder.path())?;
    let npz = law.with_extension("npz");
    let again = command(&law, &npz, trial);
    let head = format!("{}\n{}", found.text.lines().next().unwrap_or_default(), again);
    write_case(&law, &npz, &small.case, &head)?;
    let after = small.case.graph.total_nodes();
    if reporter.json {
        let report = json!({
            "fails": true,
            "kind": found.kind.as_str(),
            "message": found.text,
            "nodes_before": before,
            "nodes": after,
            "tries": small.tries,
            "complete": small.complete,
            "file": law.display().to_string(),
            "inputs": npz.display().to_string(),
            "command": again,
        });
        writeln!(out, "{report:#}")?;
    } else {
        writeln!(out, "it fails: {}", found.text)?;
        writeln!(out, "{before} nodes became {after} after {} tries", small.tries)?;
        if !small.complete {
            writeln!(out, "time was up: --seconds gives more")?;
        }
        writeln!(out, "kept in {} and {}", law.display(), npz.display())?;
        writeln!(out, "again: {again}")?;
    }
    Err(Failure::Said(BUG))
}

/// The command that shows a kept failure again.
pub(super) fn command(law: &Path, npz: &Path, trial: &TrialArgs) -> String {
    format!("lawson reduce {} --input {} {} --check", law.display(), npz.display(), trial.options().join(" "))
}

fn told(found: Option<&Found>, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    match (found, reporter.json) {
        (None, true) => writeln!(out, "{:#}", json!({ "fails": false }))?,
        (None, false) => writeln!(out, "it does not fail")?,
        (Some(f), true) => {
            writeln!(out, "{:#}", json!({ "fails": true, "kind": f.kind.as_str(), "message": f.text }))?;
        }
        (Some(f), false) => writeln!(out, "it fails: {}", f.text)?,
    }
    if found.is_some() { Err(Failure::Said(BUG)) } else { Ok(()) }
}

/// Where the small graph goes.
fn destination(args: &ReduceArgs) -> Result<PathBuf> {
    let path = match &args.output {
        Some(path) => path.clone(),
        None if args.file == "-" => PathBuf::from("stdin.small.law"),
        None => Path::new(&args.file).with_extension("small.law"),
    };
    if path.extension().is_none_or(|e| e != "law") {
        return Err(Error::new(Code::Usage, format!("{} does not end in .law", path.display())));
    }
    Ok(path)
}
