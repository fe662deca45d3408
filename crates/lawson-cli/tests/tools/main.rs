//! `machine`, `bench`, `fuzz` and `reduce` from outside: what they print, what they write, and their exit codes.
#![allow(clippy::unwrap_used)]

mod modes;

use lawson::kernel::machine::Rates;
use lawson::machine::{Kept, model};
use serde_json::Value as Json;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder of its own for each test, which is also the home of the cache.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lawson-tools-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, content: &str) -> &Folder {
        fs::write(self.0.join(name), content).unwrap();
        self
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lawson"));
        command.args(args).current_dir(&self.0).env("XDG_CACHE_HOME", self.0.join("cache"));
        command.output().unwrap()
    }

    fn json(&self, args: &[&str]) -> (Json, i32) {
        let output = self.run(args);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = serde_json::from_str(&text);
        (said.unwrap_or_else(|e| panic!("{e}: {text}{}", err(&output))), output.status.code().unwrap())
    }

    fn kept(&self) -> Kept {
        Kept::at(self.0.join("cache/lawson/machine.json"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn can_run() -> bool {
    lawson::cpu::missing_feature().is_none()
}

/// Two kernels: the sum over all rows is read by every element.
const CHAIN: &str = "lawson 1
graph @chain(%x: f32[N, 64], %w: f32[64, 32]) -> (y: f32[N, 32]) {
  %1 = contract %x, %w {batch = [], sum = [[1, 0]]}
  %y = tanh %1
  return %y
}
";

#[test]
fn a_measurement_is_kept_shown_again_and_forgotten() {
    if !can_run() {
        return;
    }
    let f = Folder::new();
    let (first, code) = f.json(&["machine", "--quick", "--json"]);
    assert_eq!((code, &first["measured_now"]), (0, &Json::Bool(true)));
    for name in ["fma", "copy", "triad"] {
        let [core, team] = [0, 1].map(|i| first["measured"][name][i].as_f64().unwrap());
        assert!(core > 0.0 && team > 0.0, "{name}");
    }
    for name in ["barrier", "launch", "run"] {
        assert!(first["measured"][name].as_f64().unwrap() > 0.0, "{name}");
    }
    assert!(first["estimated"]["fma"][0].as_f64().unwrap() > 0.0);
    assert_eq!(first["model"], model());
    let (second, _) = f.json(&["machine", "--json"]);
    assert_eq!((&second["measured_now"], &second["measured"]), (&Json::Bool(false), &first["measured"]));
    let table = out(&f.run(&["machine"]));
    assert!(table.contains("reading memory") && table.contains("estimate"), "{table}");
    assert_eq!(f.json(&["machine", "--forget", "--json"]).0["forgotten"], true);
    assert_eq!(f.json(&["machine", "--forget", "--json"]).0["forgotten"], false);
    assert!(!f.kept().path().exists());
}

#[test]
fn a_device_is_measured_once_beside_the_processor() {
    let f = Folder::new();
    f.kept().keep("a processor", &Rates::estimate(1e9, 1)).unwrap();
    let (first, code) = f.json(&["machine", "--device", "wgpu", "--json"]);
    assert_eq!((code, &first["measured_now"]), (0, &Json::Bool(true)));
    for name in ["copy", "launch", "submit", "upload", "download"] {
        assert!(first["measured"][name].as_f64().unwrap() > 0.0, "{first}");
    }
    let (second, _) = f.json(&["machine", "--device", "0", "--json"]);
    assert_eq!((&second["measured_now"], &second["measured"]), (&Json::Bool(false), &first["measured"]));
    assert!(f.kept().rates("a processor").unwrap().is_some());
    // Predictions for the device come from it.
    let mut rates = f.kept().device_rates(first["model"].as_str().unwrap()).unwrap().unwrap();
    rates.launch = 1.0;
    f.kept().keep_device(first["model"].as_str().unwrap(), &rates).unwrap();
    f.file("chain.law", CHAIN);
    let args =
        ["bench", "chain.law", "--bind", "N=4", "--seconds", "0", "--target", "wgpu", "--kernels", "--json"];
    let (report, code) = f.json(&args);
    assert_eq!(code, 0, "{report:#}");
    let step = &report["runs"][0]["kernels"]["steps"][0];
    assert!(step["predicted_us"].as_f64().unwrap() >= 1e6, "{step}");
    assert_eq!(f.json(&["machine", "--device", "wgpu", "--forget", "--json"]).0["forgotten"], true);
    assert_eq!(f.json(&["machine", "--device", "wgpu", "--forget", "--json"]).0["forgotten"], false);
    assert_eq!(f.run(&["machine", "--device", "no such device"]).status.code(), Some(1));
}

#[test]
fn a_file_that_is_no_measurement_is_an_error_with_its_place() {
    let f = Folder::new();
    f.kept().keep(&model(), &Rates::estimate(1e9, 1)).unwrap();
    let whole = fs::read_to_string(f.kept().path()).unwrap();
    for damaged in [
        whole[..whole.len() / 2].to_string(),
        whole.replace("\"version\": 1", "\"version\": 99"),
        whole.replace("\"barrier\": ", "\"barrier\": -"),
        "[]".to_string(),
        String::new(),
    ] {
        fs::write(f.kept().path(), &damaged).unwrap();
        let run = f.run(&["machine"]);
        assert_eq!(run.status.code(), Some(1), "{damaged}");
        assert!(
            err(&run).contains("machine.json") && err(&run).contains("--forget")
                || err(&run).contains("anew")
        );
        // What only predicts goes on with estimates.
        f.file("chain.law", CHAIN);
        if can_run() {
            let bench = f.run(&["bench", "chain.law", "--bind", "N=4", "--seconds", "0", "--threads", "1"]);
            assert_eq!(bench.status.code(), Some(0), "{}", err(&bench));
            assert!(err(&bench).contains("estimates"), "{}", err(&bench));
        }
    }
    assert_eq!(f.run(&["machine", "--forget"]).status.code(), Some(0));
    assert!(!f.kept().path().exists());
}

#[test]
fn measurements_of_other_processors_stay() {
    let f = Folder::new();
    f.kept().keep("another", &Rates::estimate(1e9, 1)).unwrap();
    f.kept().keep(&model(), &Rates::estimate(2e9, 1)).unwrap();
    assert_eq!(f.json(&["machine", "--json"]).0["measured"]["fma"][0], 2e9);
    f.run(&["machine", "--forget"]);
    assert_eq!(f.kept().rates("another").unwrap().unwrap().fma.core, 1e9);
    assert_eq!(f.kept().rates(&model()).unwrap(), None);
}

#[test]
fn a_folder_that_cannot_be_written_costs_nothing_but_the_file() {
    if !can_run() {
        return;
    }
    let f = Folder::new();
    // A file where the folder should be stops everybody, also who may write everywhere.
    f.file("cache", "not a folder");
    let run = f.run(&["machine", "--quick"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(out(&run).contains("reading L1"), "{}", out(&run));
    assert!(err(&run).contains("machine.json") && err(&run).contains("XDG_CACHE_HOME"), "{}", err(&run));
}

#[test]
fn bench_says_how_long_each_stage_and_each_kernel_took() {
    if !can_run() {
        return;
    }
    let f = Folder::new();
    f.file("chain.law", CHAIN);
    let args =
        ["bench", "chain.law", "--bind", "N=64", "--seconds", "0", "--threads", "1,2", "--kernels", "--json"];
    let (said, code) = f.json(&args);
    assert_eq!(code, 0);
    for stage in ["passes", "partition", "schedule", "emit", "pack", "total"] {
        assert!(said["compile_ms"][stage].as_f64().unwrap() >= 0.0, "{stage}");
    }
    assert_eq!(said["symbols"]["N"], 64);
    let counted = &said["operators"];
    assert!(counted["machine_code"].as_u64().unwrap() > 0 && counted["interpreter"] == 0, "{counted}");
    assert!(said["flops"].as_f64().unwrap() >= 2.0 * 64.0 * 64.0 * 32.0);
    assert!(said["memory"]["peak_resident_bytes"].as_u64().unwrap() > 1 << 20);
    let runs = said["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|r| r["threads"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    for run in runs {
        let [low, median, high] = ["p10_ms", "median_ms", "p90_ms"].map(|n| run[n].as_f64().unwrap());
        assert!(0.0 < low && low <= median && median <= high);
        let steps = run["kernels"]["steps"].as_array().unwrap();
        assert!(!steps.is_empty());
        let share: f64 = steps.iter().map(|s| s["share"].as_f64().unwrap()).sum();
        assert!((share - 1.0).abs() < 1e-6, "{share}");
        assert!(run["kernels"]["error"].as_f64().unwrap() >= 1.0);
        for s in steps {
            assert!(s["us"].as_f64().unwrap() > 0.0 && s["predicted_us"].as_f64().unwrap() > 0.0);
            assert!(["compute", "memory", "overhead"].contains(&s["regime"].as_str().unwrap()));
        }
        let operators = steps.iter().flat_map(|s| s["operators"].as_array().unwrap());
        assert!(operators.clone().any(|o| o == "tanh") && operators.clone().any(|o| o == "fma"));
    }
    let table = out(&f.run(&["bench", "chain.law", "--bind", "N=8", "--seconds", "0", "--kernels"]));
    assert!(table.contains("geometric mean") && table.contains("tanh"), "{table}");
}

#[test]
fn bench_runs_the_reference_target_and_refuses_what_it_has_not() {
    let f = Folder::new();
    f.file("chain.law", CHAIN);
    let (said, code) =
        f.json(&["bench", "chain.law", "--bind", "N=2", "--seconds", "0", "--target", "reference", "--json"]);
    assert_eq!((code, said["runs"][0]["threads"].as_u64()), (0, Some(1)));
    assert!(said["memory"]["arena_bytes"].is_null());
    for more in [&["--kernels"][..], &["--threads", "2"], &["--seconds", "-1"]] {
        let args = [&["bench", "chain.law", "--bind", "N=2", "--target", "reference"], more].concat();
        assert_eq!(f.run(&args).status.code(), Some(2), "{more:?}");
    }
}

#[test]
fn fuzz_counts_graphs_and_finds_nothing_on_the_reference_target() {
    let f = Folder::new();
    let (said, code) = f.json(&["fuzz", "--target", "reference", "--count", "20", "--json", "--jobs", "2"]);
    assert_eq!((code, said["graphs"].as_u64()), (0, Some(20)));
    assert!(said["compared"].as_u64().unwrap() > 100);
    assert_eq!(said["failures"], Json::Array(Vec::new()));
    assert!(!f.0.join("lawson-fuzz").exists());
    for wrong in [["--jobs", "0"], ["--seconds", "-1"], ["--threads", "0"]] {
        let run = f.run(&[&["fuzz", "--count", "1", "--target", "cpu"], &wrong[..]].concat());
        assert!([Some(1), Some(2)].contains(&run.status.code()), "{wrong:?}");
    }
}

#[test]
fn a_refusal_is_a_failure_to_a_strict_fuzzer_which_keeps_it_small() {
    if !can_run() {
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
    let law = fs::read_to_string(f.0.join(kept["file"].as_str().unwrap())).unwrap();
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
    if !can_run() {
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
    let small = fs::read_to_string(f.0.join("small.law")).unwrap();
    assert!(small.contains("sort") && !small.contains("exp") && !small.contains("abs"), "{small}");
    assert!(f.0.join("small.npz").exists());
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
    assert_eq!(fs::read_dir(&f.0).unwrap().count(), 1);
    assert_eq!(f.run(&["reduce", "chain.law", "-o", "small.txt"]).status.code(), Some(2));
    assert_eq!(f.run(&["reduce", "missing.law"]).status.code(), Some(1));
}
