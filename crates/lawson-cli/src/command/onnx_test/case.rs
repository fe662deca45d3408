//! One case: its model imported for its data, compiled, run, and compared with what is expected.

use super::compare::{Tolerance, compare};
use super::place::Places;
use super::{On, Status, Verdict};
use crate::args::OnnxTestArgs;
use lawson::onnx::{Declared, ImportOptions, Model, value_from_bytes};
use lawson::{Code, CompileOptions, Error, Limits, Program, Result, Value};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Cases are small; one that needs more is refused, not waited for.
const LIMITS: Limits = Limits { max_steps: 1 << 34, max_bytes: Some(4 << 30) };

/// Runs a case. Whatever happens in it is its verdict.
pub(super) fn run(args: &OnnxTestArgs, on: &On, folder: &Path) -> Verdict {
    let mut details = json!({});
    let judged = catch_unwind(AssertUnwindSafe(|| judge(args, on, folder, &mut details)));
    let (status, reason) = match judged {
        Ok(Ok(None)) => (Status::Passed, None),
        Ok(Ok(Some((status, reason)))) => (status, Some(reason)),
        Ok(Err(e)) => (Status::Failed, Some(said(&e))),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            (Status::Failed, Some(format!("panic: {}", text.unwrap_or("without a message"))))
        }
    };
    Verdict { status, reason, details }
}

/// An error in one line: what, and at which node.
fn said(e: &Error) -> String {
    let node = e.places().iter().find(|p| matches!(p, lawson::Place::Node { .. }));
    let place = node.map(|p| format!(" ({})", p.to_string().trim())).unwrap_or_default();
    format!("{}: {}{place}", e.code().as_str(), e.message()).replace('\n', " ")
}

/// What keeps the case from passing.
fn judge(
    args: &OnnxTestArgs,
    on: &On,
    folder: &Path,
    details: &mut Json,
) -> Result<Option<(Status, String)>> {
    let sets = data_sets(folder)?;
    if sets.is_empty() {
        return Ok(Some((Status::Skipped, "there is no test_data_set_0".to_string())));
    }
    let model = Model::read(&folder.join("model.onnx"))?;
    let operators: Vec<String> = model
        .operators()
        .into_iter()
        .map(|(domain, name)| if domain.is_empty() { name } else { format!("{domain}.{name}") })
        .collect();
    *details = json!({ "operators": operators });
    let tolerance = Tolerance::of(folder)?;
    let mut places = Places::default();
    for set in sets {
        let inputs = values(&set, "input", &model.inputs())?;
        let expected = values(&set, "output", &model.outputs())?;
        let named: BTreeMap<String, Value> = inputs.into_iter().collect();
        let import = model.import_for(&named, &ImportOptions::default())?;
        details["known"] = json!(import.known);
        let options = CompileOptions {
            target: args.target.to_lawson(),
            team: on.team.clone(),
            device: on.device.clone(),
            ..CompileOptions::default()
        };
        let program = Program::compile(import.graph, &options)?;
        places.add(&program);
        details["ran"] = places.to_json();
        let mut session = program.session();
        session.set_limits(LIMITS);
        let given = program.inputs().iter().map(|port| {
            named.get(&port.name).cloned().ok_or_else(|| {
                Error::new(Code::InputMissing, format!("the case has no data for the input `{}`", port.name))
            })
        });
        let results = session.run_values(&given.collect::<Result<Vec<_>>>()?)?;
        for (i, (name, want)) in expected.iter().enumerate() {
            let have = results.get(i);
            let Some(have) = have else {
                return Ok(Some((Status::Failed, format!("there is no output {i} `{name}`"))));
            };
            if let Some(difference) = compare(have, want, tolerance) {
                return Ok(Some((Status::Failed, format!("output {i} `{name}`: {difference}"))));
            }
        }
    }
    Ok(places.misplaced().map(|reason| (Status::Failed, reason)))
}

/// The folders of data, by their number.
fn data_sets(folder: &Path) -> Result<Vec<PathBuf>> {
    let numbered = (0..).map(|i| folder.join(format!("test_data_set_{i}")));
    Ok(numbered.take_while(|set| set.is_dir()).collect())
}

/// The values of the files with that prefix, by name. A file that does not say its name has that of its number.
fn values(set: &Path, prefix: &str, declared: &[Declared]) -> Result<Vec<(String, Value)>> {
    let mut all = Vec::new();
    for (i, at) in declared.iter().enumerate() {
        let path = set.join(format!("{prefix}_{i}.pb"));
        if !path.exists() {
            break;
        }
        let bytes = fs::read(&path).map_err(|e| lawson::graph::file::io_error("read the data", &path, &e))?;
        let (_, value) = value_from_bytes(bytes, at.kind)
            .map_err(|e| Error::new(e.code(), format!("{prefix}_{i}.pb: {}", e.message())))?;
        all.push((at.name.clone(), value));
    }
    Ok(all)
}
