//! `lawson reduce`: the smallest graph on which a target still fails the way it does on the one given.

use super::apart::{Apart, work};
use super::trial::{Judged, Reason, Trial};
use crate::Run;
use crate::args::ReduceArgs;
use crate::report::{BUG, Failure, Outcome, Reporter, USER};
use crate::{input, load};
use lawson::graph::random::Elements;
use lawson::reduce::{Case, Effort};
use lawson::{Code, Error, Result};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub fn run(args: &ReduceArgs, planted: Option<Run>, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let time = Duration::try_from_secs_f64(args.seconds)
        .map_err(|_| Error::new(Code::Usage, "--seconds is a number that is not negative"))?;
    let options = input::options(&args.input);
    let trial = Trial { args: &args.trial, limits: Some((options.max_steps, options.max_bytes)), planted };
    if args.worker {
        return work(&trial, out);
    }
    // What makes judging impossible is said at once, not by a process that ends.
    trial.judge()?;
    let mut apart = Apart::new(&trial)?;
    let mut inputs = args.input.clone();
    let loaded = load::open(&args.file, args.input.sizing())?;
    if inputs.inputs.is_empty() && loaded.input.is_none() {
        inputs.inputs.push("random".to_string());
    }
    let (values, _) = input::values_of(&loaded, &inputs, inputs.seed, Elements::Tame)?;
    let case = Case { graph: loaded.graph, inputs: values };
    // Before anything is shrunk: whether it can be kept.
    let law = destination(args)?;
    let found = match apart.judge(&case)? {
        Judged::Failed(found) if !args.check => found,
        judged => return told(&judged, reporter, out),
    };
    drop(apart);
    let before = case.graph.total_nodes();
    let small = trial.shrink(case, &found, &Effort { tries: usize::MAX, time })?;
    let npz = law.with_extension("npz");
    let again = command(&law, &npz, &trial);
    let head = format!("{}\n{}", found.text.lines().next().unwrap_or_default(), again);
    small.case.write(&law, &npz, &head)?;
    let after = small.case.graph.total_nodes();
    if reporter.json {
        let report = json!({
            "status": "fails",
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
pub(super) fn command(law: &Path, npz: &Path, trial: &Trial<'_>) -> String {
    format!("lawson reduce {} --input {} {} --check", law.display(), npz.display(), trial.options().join(" "))
}

/// Says what became of a case that is not shrunk.
fn told(judged: &Judged, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let code = match judged {
        Judged::Fine { .. } => 0,
        Judged::Failed(_) => BUG,
        Judged::Refused(_) | Judged::Unknown(_) => USER,
    };
    let judged = &with_remedy(judged.clone());
    if reporter.json {
        writeln!(out, "{:#}", judged.to_json())?;
    } else {
        match judged {
            Judged::Fine { compared, undetermined, .. } => {
                writeln!(out, "it does not fail: {compared} elements compared, {undetermined} undetermined")?;
            }
            Judged::Failed(f) => writeln!(out, "it fails: {}", f.text)?,
            Judged::Refused(r) => {
                writeln!(out, "it is refused by the target, and not judged: {}", r.message)?
            }
            Judged::Unknown(r) => writeln!(out, "it cannot be judged: {}", r.message)?,
        }
        if let Judged::Refused(Reason { help: Some(help), .. })
        | Judged::Unknown(Reason { help: Some(help), .. }) = judged
        {
            writeln!(out, "  help: {help}")?;
        }
    }
    if code == 0 { Ok(()) } else { Err(Failure::Said(code)) }
}

/// The same, with what the user may do about a case that was not judged.
fn with_remedy(mut judged: Judged) -> Judged {
    match &mut judged {
        Judged::Refused(r) => {
            let own = r.help.take().map_or(String::new(), |help| format!("{help}; "));
            r.help = Some(format!("{own}with --strict, a refusal is a failure, and shrunk"));
        }
        Judged::Unknown(r) if r.code == Code::Budget.as_str() => {
            let help =
                "--max-steps and --max-bytes give oracle and target more, --bind chooses smaller sizes";
            r.help = Some(help.to_string());
        }
        _ => {}
    }
    judged
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
