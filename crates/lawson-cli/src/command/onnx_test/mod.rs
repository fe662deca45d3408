//! `lawson onnx-test`: runs cases in the layout of ONNX's backend suite and says which fail, and why.
//!
//! A case is a folder with `model.onnx` and `test_data_set_N/{input,output}_K.pb` (`case.rs`). Cases run in worker processes
//! (`workers.rs`), so that none can end the run: this program with `--worker` reads the cases from standard input, says the number of
//! the one that it begins with, and what became of it, a line each. Where the operators of a case ran is part of what it
//! says (`place.rs`): on a target, what the reference interpreter computed counts only if no kernel could.

mod case;
mod compare;
mod place;
mod workers;

use crate::args::{OnnxTestArgs, Target};
use crate::report::{Failure, Outcome, Reporter, USER};
use lawson::wgpu::Device;
use lawson::{Code, Error, Result, Team};
use serde_json::{Value as Json, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How deep below a folder cases are looked for.
const MAX_DEPTH: usize = 16;

/// A case to be run.
#[derive(Clone, Debug)]
struct Case {
    /// The path below the folder that was named.
    name: String,
    folder: PathBuf,
}

/// What cases run on.
struct On {
    team: Option<Team>,
    device: Option<Device>,
}

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Passed,
    Failed,
    /// There is nothing to compare with.
    Skipped,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
        }
    }
}

/// What became of a case.
#[derive(Clone, Debug)]
struct Verdict {
    status: Status,
    reason: Option<String>,
    /// Operators of the model, where they ran, and inputs that were taken for known.
    details: Json,
}

impl Verdict {
    fn failed(reason: impl Into<String>) -> Verdict {
        Verdict { status: Status::Failed, reason: Some(reason.into()), details: json!({}) }
    }

    fn to_json(&self, name: &str) -> Json {
        let mut said = json!({ "name": name, "status": self.status.name(), "reason": self.reason });
        if let (Json::Object(all), Json::Object(more)) = (&mut said, &self.details) {
            all.extend(more.clone());
        }
        said
    }
}

pub fn run(args: &OnnxTestArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    if args.worker {
        return workers::work(args, out);
    }
    let cases = find(args)?;
    if cases.is_empty() {
        return Err(Error::new(Code::Usage, "no case was found")
            .help("a case is a folder with model.onnx, test_data_set_0/input_0.pb and output_0.pb; see --filter")
            .into());
    }
    let verdicts = workers::run(args, &cases)?;
    let count = |s: Status| verdicts.iter().filter(|v| v.status == s).count();
    let (passed, failed, skipped) = (count(Status::Passed), count(Status::Failed), count(Status::Skipped));
    if reporter.json {
        let all: Vec<Json> = cases.iter().zip(&verdicts).map(|(c, v)| v.to_json(&c.name)).collect();
        let totals = json!({ "passed": passed, "failed": failed, "skipped": skipped, "total": cases.len() });
        let target = args.target.name();
        let report =
            json!({ "target": target, "totals": totals, "host_only": place::HOST_ONLY, "cases": all });
        writeln!(out, "{report:#}")?;
    } else {
        for (case, verdict) in cases.iter().zip(&verdicts).filter(|(_, v)| v.status != Status::Passed) {
            let reason = verdict.reason.as_deref().unwrap_or_default();
            writeln!(out, "{} {}: {reason}", verdict.status.name(), case.name)?;
        }
        if args.target != Target::Reference {
            writeln!(out, "may be left to the host: {}", place::HOST_ONLY.join(", "))?;
        }
        writeln!(out, "{passed} passed, {failed} failed, {skipped} skipped, of {}", cases.len())?;
    }
    if failed == 0 { Ok(()) } else { Err(Failure::Said(USER)) }
}

/// The cases in the folders, in the order of their names, as far as the filter lets them through.
fn find(args: &OnnxTestArgs) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for root in &args.folders {
        let below = cases.len();
        collect(root, root, 0, &mut cases)?;
        cases[below..].sort_by(|a: &Case, b| a.name.cmp(&b.name));
    }
    cases.retain(|c| args.filter.is_empty() || args.filter.iter().any(|f| c.name.contains(f.as_str())));
    Ok(cases)
}

fn collect(root: &Path, folder: &Path, depth: usize, cases: &mut Vec<Case>) -> Result<()> {
    if folder.join("model.onnx").is_file() {
        let below = folder.strip_prefix(root).ok().filter(|p| p.components().next().is_some());
        let name = below.or(folder.file_name().map(Path::new)).unwrap_or(folder);
        cases.push(Case { name: name.to_string_lossy().into_owned(), folder: folder.to_path_buf() });
        return Ok(());
    }
    let entries =
        fs::read_dir(folder).map_err(|e| lawson::graph::file::io_error("read the folder", folder, &e))?;
    for entry in entries.flatten() {
        // Links are not followed: they may lead back.
        if depth < MAX_DEPTH && entry.file_type().is_ok_and(|t| t.is_dir()) {
            collect(root, &entry.path(), depth + 1, cases)?;
        }
    }
    Ok(())
}
