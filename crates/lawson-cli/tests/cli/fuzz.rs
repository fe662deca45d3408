//! `fuzz` and `reduce`: what fails is kept, small.

use crate::folder::{CHAIN, Folder, cpu_runs, err, out};
use serde_json::Value as Json;
use std::fs;

#[test]
fn fuzz_counts_graphs_and_finds_nothing_on_the_reference_target() {
    let f = Folder::new();
    let (said, code) = f.json(&["fuzz", "--target", "reference", "--count", "20", "--json", "--jobs", "2"]);
    assert_eq!((code, said["graphs"].as_u64()), (0, Some(20)));
    assert!(said["compared"].as_u64().unwrap() > 100);
    assert_eq!(said["failures"], Json::Array(Vec::new()));
    assert!(!f.path("lawson-fuzz").exists());
    for wrong in [["--jobs", "0"], ["--seconds", "-1"], ["--threads", "0"]] {
        let run = f.run(&[&["fuzz", "--count", "1", "--target", "cpu"], &wrong[..]].concat());
        assert!([Some(1), Some(2)].contains(&run.status.code()), "{wrong:?}");
    }
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
        let run = f.run(&[&["reduce", "chain.law", "--target", "reference", "--bind", "N=3"], more].concat());
        assert_eq!((run.status.code(), out(&run).as_str()), (Some(0), "it does not fail\n"), "{}", err(&run));
    }
    assert_eq!(fs::read_dir(f.path(".")).unwrap().count(), 1);
    assert_eq!(f.run(&["reduce", "chain.law", "-o", "small.txt"]).status.code(), Some(2));
    assert_eq!(f.run(&["reduce", "missing.law"]).status.code(), Some(1));
}
