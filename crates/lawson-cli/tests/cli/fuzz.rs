//! `fuzz` and `reduce`: what fails is kept, small.

use crate::folder::{CHAIN, Folder, NEG, cpu_runs, err, fine, out};
use serde_json::{Value as Json, json};
use std::fs;

#[test]
fn fuzz_counts_graphs_and_finds_nothing_on_the_reference_target() {
    let f = Folder::new();
    let (said, code) = f.json(&["fuzz", "--target", "reference", "--count", "20", "--json", "--jobs", "2"]);
    assert_eq!((code, said["graphs"].as_u64()), (0, Some(20)));
    assert!(said["compared"].as_u64().unwrap() > 100);
    assert_eq!(said["failures"], Json::Array(Vec::new()));
    // What was judged, in how many runs: one session for all inputs, one for each, and two at once.
    assert_eq!(said["judged"], 20);
    assert!(said["runs"].as_u64().unwrap() >= 80, "{said:#}");
    assert!(said["graphs_per_second"].as_f64().unwrap() > 0.0);
    assert!(said["dtypes"]["f32"].as_u64().unwrap() > 5);
    assert!(said["operators"]["view"].as_object().unwrap().values().all(|n| n.as_u64() > Some(0)));
    assert_eq!((&said["refused"], &said["unjudged"]), (&json!({}), &json!({})));
    assert!(!f.path("lawson-fuzz").exists());
    for wrong in [["--jobs", "0"], ["--seconds", "-1"], ["--threads", "0"], ["--patience", "-1"]] {
        let run = f.run(&[&["fuzz", "--count", "1", "--target", "cpu"], &wrong[..]].concat());
        assert!([Some(1), Some(2)].contains(&run.status.code()), "{wrong:?}");
    }
}

#[test]
fn fuzz_tells_what_it_covered() {
    let f = Folder::new();
    let said = fine(&f.run(&["fuzz", "--target", "reference", "--count", "12"]));
    for line in [
        "12 graphs in ",
        "  12 judged in ",
        "  graphs by dtype: ",
        "  operators by family ",
        "nothing failed",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(said.contains("undetermined") && said.contains(" of 28)"), "{said}");
    // The CPU target says how operators were run, too.
    let said = fine(&f.run(&["fuzz", "--isa", "portable", "--count", "12", "--threads", "1"]));
    assert!(said.contains(" operators as code of the target, 0 on the processor beside it, "), "{said}");
}

#[test]
fn a_refusal_is_a_failure_to_a_strict_fuzzer_which_keeps_it_small() {
    if !cpu_runs() {
        return;
    }
    let f = Folder::new();
    let (said, code) =
        f.json(&["fuzz", "--strict", "--count", "12", "--threads", "1", "--keep", "bad", "--json"]);
    let failures = said["failures"].as_array().unwrap();
    if failures.is_empty() {
        return assert_eq!(code, 0);
    }
    assert_eq!(code, 70);
    let kept = &failures[0];
    assert_eq!(kept["kind"].as_str().unwrap().split(' ').next(), Some("refused"));
    assert!(kept["nodes"].as_u64().unwrap() <= 8, "{kept}");
    let law = fs::read_to_string(f.path(kept["file"].as_str().unwrap())).unwrap();
    assert!(law.starts_with(&format!("// seed {}", kept["seed"])), "{law}");
    // The command that it says shows the failure again.
    let again: Vec<&str> = kept["command"].as_str().unwrap().split(' ').skip(1).collect();
    let run = f.run(&again);
    assert_eq!(run.status.code(), Some(70), "{}{}", out(&run), err(&run));
    assert!(out(&run).contains("refused"));
}

const SORTED: &str = "lawson 1
graph @sorted(%x: f32[6, 5]) -> (y: f32[6, 5], z: f32[6, 5]) {
  %e = exp %x
  %i = iota {dtype = i64, shape = [6, 5], axis = 1}
  %s, %at = sort %e, %i {axis = 1, descending = false}
  %y = neg %s
  %z = abs %x
  return %y, %z
}
";

#[test]
fn reduce_leaves_what_is_refused_and_says_how_to_see_it() {
    if !cpu_runs() {
        return;
    }
    let f = Folder::new();
    f.file("sorted.law", SORTED);
    let (said, code) = f.json(&["reduce", "sorted.law", "--strict", "--json", "-o", "small.law"]);
    if code == 0 {
        // The target has learned to sort.
        return assert_eq!(said["fails"], false);
    }
    assert_eq!((code, &said["fails"], &said["complete"]), (70, &Json::Bool(true), &Json::Bool(true)));
    let small = fs::read_to_string(f.path("small.law")).unwrap();
    assert!(small.contains("sort") && !small.contains("exp") && !small.contains("abs"), "{small}");
    assert!(f.path("small.npz").exists());
    let again: Vec<&str> = said["command"].as_str().unwrap().split(' ').skip(1).collect();
    assert_eq!(f.run(&again).status.code(), Some(70));
}

#[test]
fn reduce_says_so_if_nothing_fails_and_writes_nothing() {
    let f = Folder::new();
    f.file("chain.law", CHAIN);
    for more in [&[][..], &["--check"]] {
        let said = fine(
            &f.run(&[&["reduce", "chain.law", "--target", "reference", "--bind", "N=3"], more].concat()),
        );
        assert_eq!(said, "it does not fail: 96 elements compared, 0 undetermined\n");
    }
    assert_eq!(fs::read_dir(f.path(".")).unwrap().count(), 1);
    assert_eq!(f.run(&["reduce", "chain.law", "-o", "small.txt"]).status.code(), Some(2));
    assert_eq!(f.run(&["reduce", "missing.law"]).status.code(), Some(1));
}

/// What `reduce` says of a case that is not judged: its status, and what it tells the user to do.
#[track_caller]
fn unjudged(f: &Folder, args: &[&str], status: &str, says: &str, remedy: &str) {
    let args = [&["reduce"], args].concat();
    let (said, code) = f.json(&[&args[..], &["--json"]].concat());
    assert_eq!((code, &said["status"], &said["fails"]), (1, &json!(status), &Json::Null), "{said}");
    assert!(said["help"].as_str().is_some_and(|h| h.contains(remedy)), "{said}");
    let run = f.run(&args);
    assert_eq!(run.status.code(), Some(1));
    let text = out(&run);
    assert!(
        text.contains(says) && text.contains(&format!("help: {}", said["help"].as_str().unwrap())),
        "{text}"
    );
    assert!(!text.contains("fail:"), "{text}");
}

#[test]
fn what_cannot_be_judged_is_neither_fine_nor_a_failure() {
    let f = Folder::new();
    f.file("chain.law", CHAIN);
    let chain = ["chain.law", "--isa", "portable", "--bind", "N=3"];
    let with = |more: &[&'static str]| [&chain[..], more].concat();
    // Oracle or target would take more than they may.
    unjudged(&f, &with(&["--max-steps", "1"]), "unjudged", "it cannot be judged: ", "--max-steps");
    unjudged(&f, &with(&["--max-bytes", "40000"]), "unjudged", "it cannot be judged: ", "--max-bytes");
    // Nothing is at fault before the target has begun.
    unjudged(&f, &with(&["--patience", "0"]), "unjudged", "took longer than 0 s", "--patience");
    // The oracle lacks what the graph calls.
    let calls = "lawson 1\ngraph @f(%x: f32[3]) -> (y: f32[3]) {\n  %y: f32[3] = host_call %x {name = \"gone\", results = [f32[3]]}\n  return %y\n}\n";
    f.file("calls.law", calls);
    unjudged(
        &f,
        &["calls.law", "--isa", "portable"],
        "unjudged",
        "there is no host function `gone`",
        "this run was given",
    );
    // Only the target does not take it.
    f.file("placed.law", NEG.replace("%y =", "%y @device(\"gpu\") ="));
    unjudged(&f, &["placed.law"], "refused", "it is refused by the target, and not judged: ", "--strict");
    let (said, code) = f.json(&["reduce", "placed.law", "--strict", "--check", "--json"]);
    assert_eq!((code, said["status"].as_str()), (70, Some("fails")), "{said}");
    assert!(said["kind"].as_str().unwrap().starts_with("refused "), "{said}");
    // Nothing was kept.
    assert!(!f.path("chain.small.law").exists() && !f.path("placed.small.law").exists());
}
