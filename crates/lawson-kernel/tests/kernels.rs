//! The kernel-file tests: every `.krn` file under `tests/kernels` is a test.
//!
//! A file holds a kernel and states its expectations in comments:
//!
//! - `// schedule: DIRECTIVE` before the kernel, one a line: the schedule to apply.
//! - `// after:` at the end, followed by the text of the kernel after the schedule, each line behind `// `. Both kernels must
//!   pass the verifier, and come back from their texts.
//! - `// error: CODE: MESSAGE` at the end of a line: reading the file fails there, like that. On a line of its own at the
//!   beginning: the verifier or the schedule fails like that.
//!
//! With `LAWSON_BLESS=1` in the environment the expectations are rewritten to what is found; read the diff.

#![allow(clippy::unwrap_used)]

use lawson_graph::{Error, Place};
use lawson_kernel::{Kernel, Schedule, verify};
use std::fs;
use std::path::{Path, PathBuf};

const ERROR: &str = "// error: ";
const AFTER: &str = "// after:";
const SCHEDULE: &str = "// schedule: ";

/// What a file is expected to give.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// A kernel that is as it should be, and the text after the schedule if there is one.
    Fine(Option<String>),
    /// An error on a line, or, on line 0, of the verifier or the schedule.
    Error(usize, String),
}

/// The part of a file before its expectations, and those.
fn read(text: &str) -> (Vec<String>, Outcome) {
    let mut source = Vec::new();
    let mut outcome = Outcome::Fine(None);
    let mut lines = text.lines();
    for line in lines.by_ref() {
        if line == AFTER {
            let rest = lines.map(|l| l.strip_prefix("// ").unwrap_or("").to_string() + "\n").collect();
            outcome = Outcome::Fine(Some(rest));
            break;
        }
        match line.split_once(ERROR) {
            Some(("", message)) => outcome = Outcome::Error(0, message.to_string()),
            Some((before, message)) => {
                source.push(before.trim_end().to_string());
                outcome = Outcome::Error(source.len(), message.to_string());
            }
            None => source.push(line.to_string()),
        }
    }
    (source, outcome)
}

/// A file with these expectations.
fn write(source: &[String], outcome: &Outcome) -> String {
    let mut lines = source.to_vec();
    match outcome {
        Outcome::Fine(None) => {}
        Outcome::Fine(Some(after)) => {
            lines.push(AFTER.to_string());
            lines.extend(after.lines().map(|l| format!("// {l}")));
        }
        Outcome::Error(0, message) => lines.insert(0, format!("{ERROR}{message}")),
        Outcome::Error(line, message) => {
            let line = &mut lines[line - 1];
            *line = format!("{line}{}{ERROR}{message}", if line.is_empty() { "" } else { " " });
        }
    }
    lines.join("\n") + "\n"
}

fn outcome_of(error: &Error) -> Outcome {
    let line = error.places().iter().find_map(|p| match p {
        Place::Source(source) => Some(source.line),
        _ => None,
    });
    Outcome::Error(line.unwrap_or(0), format!("{}: {}", error.code(), error.message().replace('\n', " ")))
}

fn come_back(kernel: &Kernel) -> Result<(), String> {
    let text = kernel.to_string();
    match Kernel::parse(&text) {
        Ok(read) if read == *kernel && read.to_string() == text => Ok(()),
        Ok(read) => Err(format!("printed as\n{text}which reads as\n{read}")),
        Err(error) => Err(format!("printed as\n{text}which does not read: {error}")),
    }
}

/// What a file gives; `Err` for what no file may expect.
fn run(source: &[String]) -> Result<Outcome, String> {
    let schedule: Vec<&str> = source.iter().filter_map(|l| l.strip_prefix(SCHEDULE)).collect();
    let schedule: Schedule = schedule.join("\n").parse().map_err(|e: Error| e.to_string())?;
    let mut kernel = match Kernel::parse(&source.join("\n")) {
        Ok(kernel) => kernel,
        Err(error) => return Ok(outcome_of(&error)),
    };
    come_back(&kernel)?;
    if let Err(error) = verify(&kernel) {
        return Ok(outcome_of(&error));
    }
    if schedule.0.is_empty() {
        return Ok(Outcome::Fine(None));
    }
    if let Err(error) = schedule.apply(&mut kernel).and_then(|()| verify(&kernel)) {
        return Ok(outcome_of(&error));
    }
    come_back(&kernel)?;
    Ok(Outcome::Fine(Some(kernel.to_string())))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "krn") {
            found.push(path);
        }
    }
}

#[test]
fn kernel_files() {
    let bless = std::env::var_os("LAWSON_BLESS").is_some_and(|v| v == "1");
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels"), &mut paths);
    assert!(!paths.is_empty(), "no files in tests/kernels");
    let mut failures = Vec::new();
    for path in &paths {
        let text = fs::read_to_string(path).unwrap();
        let (source, expected) = read(&text);
        match run(&source) {
            Ok(found) if found == expected => {}
            // Only a file that expects an error may have one.
            Ok(found)
                if bless && (matches!(found, Outcome::Fine(_)) || matches!(expected, Outcome::Error(..))) =>
            {
                fs::write(path, write(&source, &found)).unwrap();
            }
            Ok(found) => {
                let (expected, found) = (write(&source, &expected), write(&source, &found));
                let help = "(LAWSON_BLESS=1 rewrites the file)";
                failures.push(format!("{}: expected\n{expected}\nfound\n{found}\n{help}", path.display()));
            }
            Err(message) => failures.push(format!("{}: {message}", path.display())),
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} files failed\n\n{}",
        failures.len(),
        paths.len(),
        failures.join("\n\n")
    );
}
