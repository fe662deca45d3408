//! The IR-file tests: every `.law` file under `tests/ir` is a test, `tests/pairs` holds graphs that mean the same.
//!
//! A file states its expectations in comments:
//!
//! - `// pass: NAMES` before the graph: the passes to run on it (`standard` for the whole pipeline).
//! - `// after:` at the end, followed by the text of the graph after the passes, each line behind `// `.
//! - `// run: INPUTS == OUTPUTS`: the graph (before and after the passes) gives these values. Values are written as in
//!   constants, separated by `;`, their types those of the signature.
//! - `// error: CODE: MESSAGE` at the end of the offending line: reading the file fails there, like that.
//!
//! With `LAWSON_BLESS=1` in the environment the expectations are rewritten to what is found; read the diff.

#![allow(clippy::unwrap_used)]

mod directives;
mod literal;

use directives::{Directives, Run};
use lawson_graph::{Graph, Place, Value, interp};
use lawson_opt::{Pipeline, RunOptions, Verify};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

fn blessing() -> bool {
    std::env::var_os("LAWSON_BLESS").is_some_and(|v| v == "1")
}

/// The files below a folder, in order.
fn law_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|e| e.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            law_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "law") {
            found.push(path);
        }
    }
}

/// Checks every file and reports all failures at once.
fn check_all(folder: &str, check: impl Fn(&str) -> Result<Option<String>, String>) {
    let mut files = Vec::new();
    law_files(&root().join(folder), &mut files);
    assert!(!files.is_empty(), "no files in tests/{folder}");
    let mut failures = Vec::new();
    for path in &files {
        let text = fs::read_to_string(path).unwrap();
        match check(&text) {
            Ok(None) => {}
            Ok(Some(blessed)) => fs::write(path, blessed).unwrap(),
            Err(message) => failures.push(format!("{}:\n{message}", path.display())),
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} files failed\n\n{}",
        failures.len(),
        files.len(),
        failures.join("\n\n")
    );
    println!("{} files", files.len());
}

#[test]
fn ir_files() {
    check_all("ir", check_file);
}

#[test]
fn pairs_that_mean_the_same_end_the_same() {
    check_all("pairs", check_pair);
}

/// Checks one file; when blessing, returns its new text if that differs.
fn check_file(text: &str) -> Result<Option<String>, String> {
    let found = Directives::read(text);
    let mut expected = found.clone();
    match Graph::parse(text) {
        // Only a file that expects an error may have one.
        Err(error) if found.errors.is_empty() => return Err(error.to_string()),
        Err(error) => {
            let line = error.places().iter().find_map(|p| match p {
                Place::Source(source) => Some(source.line),
                _ => None,
            });
            let line = line.ok_or_else(|| format!("the error has no line: {error}"))?;
            expected.errors = vec![(line, format!("{}: {}", error.code(), error.message()))];
        }
        Ok(graph) => {
            expected.errors.clear();
            let after = match &found.passes {
                Some(passes) => Some(run_passes(&graph, passes)?),
                None => None,
            };
            expected.after = after.as_ref().map(|g| g.to_string());
            for (i, run) in found.runs.iter().enumerate() {
                for graph in [Some(&graph), after.as_ref()].into_iter().flatten() {
                    expected.runs[i] = run_values(graph, run)?;
                    if expected.runs[i] != *run && !blessing() {
                        return Err(format!("run: {}\nfound {}", run, expected.runs[i]));
                    }
                }
            }
        }
    }
    if expected == found {
        return Ok(None);
    }
    if blessing() {
        return Ok(Some(expected.write(text)));
    }
    Err(format!("expected\n{found}\nfound\n{expected}\n(LAWSON_BLESS=1 rewrites the file)"))
}

fn run_passes(graph: &Graph, passes: &str) -> Result<Graph, String> {
    let pipeline: Pipeline = if passes == "standard" {
        Pipeline::standard()
    } else {
        passes.parse().map_err(|e| format!("{e}"))?
    };
    let options = RunOptions { verify: Verify::EachPass, stop_after: None };
    pipeline.run_with(graph, &options, &mut |_| Ok(())).map_err(|e| e.to_string())
}

fn run_values(graph: &Graph, run: &Run) -> Result<Run, String> {
    let types: Vec<_> = graph.inputs().iter().map(|v| graph.ty(*v).clone()).collect();
    let inputs: Vec<Value> = literal::read_all(&run.inputs, &types)?;
    let outputs = interp::run(graph, &inputs, &interp::Options::default()).map_err(|e| e.to_string())?;
    Ok(Run { inputs: run.inputs.clone(), outputs: literal::write_all(&outputs)? })
}

/// The two halves of a file, separated by a line `// means the same as`, must end as the same graph.
fn check_pair(text: &str) -> Result<Option<String>, String> {
    let halves: Vec<&str> = text.split("// means the same as\n").collect();
    let [a, b] = halves[..] else { return Err("expected one line `// means the same as`".to_string()) };
    let end = |text: &str| -> Result<String, String> {
        let graph = Graph::parse(text).map_err(|e| e.to_string())?;
        Ok(lawson_opt::canonical_form(&run_passes(&graph, "standard")?)
            .map_err(|e| e.to_string())?
            .to_string())
    };
    let (a, b) = (end(a)?, end(b)?);
    if a == b { Ok(None) } else { Err(format!("the first ends as\n{a}\nthe second as\n{b}")) }
}
