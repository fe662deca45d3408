//! How all commands speak: help, errors, colours, pipes; and those that only tell something.

use crate::folder::{Folder, MLP, err, fails, fine, json};
use std::process::Stdio;

#[test]
fn files_can_come_from_standard_input() {
    let folder = Folder::new();
    assert!(fine(&folder.pipe(&["show", "-"], MLP)).contains("@mlp"));
    let list = fine(&folder.run(&["list", "random", "--depth", "5", "--size", "3"]));
    assert!(fine(&folder.pipe(&["show", "-"], &list)).contains("@list"));
    fails(&folder.pipe(&["show", "-"], ""), 1, "E0201");
}

#[test]
fn explain_knows_every_code() {
    let folder = Folder::new();
    assert!(fine(&folder.run(&["explain", "e0105"])).starts_with("E0105: "));
    let all = fine(&folder.run(&["explain"]));
    assert_eq!(all.lines().count(), lawson::Code::ALL.len());
    fails(&folder.run(&["explain", "E9999"]), 1, "E0113");
}

#[test]
fn ops_lists_every_operator_once() {
    let folder = Folder::new();
    let report = json(&folder.run(&["ops", "--json"]));
    let mut names: Vec<String> = Vec::new();
    for family in report.as_object().unwrap().values() {
        names.extend(family.as_array().unwrap().iter().map(|n| n.as_str().unwrap().to_string()));
    }
    for name in lawson::graph::Op::primitive_names() {
        assert_eq!(names.iter().filter(|n| *n == name).count(), 1, "{name}");
    }
    assert!(fine(&folder.run(&["ops", "softmax"])).contains("graph @"));
    fails(&folder.run(&["ops", "sofmax"]), 1, "did you mean `softmax`");
}

#[test]
fn errors_are_json_where_that_is_asked() {
    let folder = Folder::new();
    folder.file("bad.law", "lawson 1 graph");
    let output = folder.run(&["show", "bad.law", "--json"]);
    fails(&output, 1, "error[E0201]");
    let report = json(&output);
    assert_eq!(report["error"]["code"], "E0201");
    assert!(report["error"]["places"][0].as_str().unwrap().contains("bad.law:1"));
}

#[test]
fn colours_are_used_when_asked_and_not_in_a_pipe() {
    let folder = Folder::new();
    assert!(!fails(&folder.run(&["explain", "E9"]), 1, "error").contains('\x1b'));
    assert!(fails(&folder.run(&["--color", "always", "explain", "E9"]), 1, "error").contains('\x1b'));
    assert!(!fails(&folder.run(&["explain", "E9", "--color", "never"]), 1, "error").contains('\x1b'));
}

#[test]
fn completions_are_scripts_that_name_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(fine(&folder.run(&["completions", shell])).contains("bisect"), "{shell}");
    }
}

#[test]
fn every_command_has_help() {
    let folder = Folder::new();
    for command in ["show", "check", "run", "opt", "bisect", "explain", "ops", "list", "completions"] {
        assert!(fine(&folder.run(&[command, "--help"])).contains("Usage"), "{command}");
    }
    assert!(fine(&folder.run(&["--help"])).contains("Exit codes"));
    assert!(fine(&folder.run(&["--version"])).starts_with("lawson "));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new();
    // More than a pipe holds, so that the writer notices.
    let list = fine(&folder.run(&["list", "random", "--depth", "40", "--size", "40", "--inline"]));
    folder.file("list.json", &list);
    let mut command = folder.command(&["list", "fuse", "list.json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""));
}
