//! `run`: results on each target, loops, times and bounds.

use crate::folder::{Folder, MLP, NEG, cpu_runs, fails, fine, json};
use serde_json::Value as Json;

#[test]
fn run_on_the_cpu_gives_what_the_reference_gives() {
    if !cpu_runs() {
        return;
    }
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let args = ["run", "m.law", "-i", "random", "--seed", "3", "--bind", "N=6", "--json"];
    let reference = json(&folder.run(&[&args[..], &["--target", "reference"]].concat()));
    let mut first: Option<Json> = None;
    for threads in ["1", "2", "3"] {
        let cpu = json(&folder.run(&[&args[..], &["--target", "cpu", "--threads", threads]].concat()));
        for output in ["y", "p"] {
            let elements = |report: &Json| report["outputs"][output]["elements"].as_array().unwrap().clone();
            for (a, b) in elements(&reference).iter().zip(elements(&cpu)) {
                assert!((a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-5, "{a} {b}");
            }
        }
        assert_eq!(*first.get_or_insert_with(|| cpu.clone()), cpu, "{threads} threads");
    }
}

#[test]
fn run_on_the_cpu_says_what_it_leaves_to_the_host() {
    if !cpu_runs() {
        return;
    }
    let folder = Folder::new();
    folder.file(
        "sort.law",
        "lawson 1 graph @s(%x: f32[3]) -> (y: f32[3]) { %y = sort %x {axis = 0} return %y }",
    );
    let cpu = ["run", "sort.law", "-i", "random", "--target", "cpu"];
    assert!(fine(&folder.run(&cpu)).contains("1 by the interpreter"));
    let report = json(&folder.run(&[&cpu[..], &["--json"]].concat()));
    let expected = serde_json::json!({ "machine_code": 0, "on_cpu": 0, "evaluator": 0, "interpreter": 1 });
    assert_eq!((&report["operators"], &report["isa"]), (&expected, &lawson::cpu::Isa::best().name().into()));
    let plan = fine(&folder.run(&["show", "sort.law", "--plan"]));
    assert!(plan.contains("interpreter, @sort(") && plan.contains("because `sort`"), "{plan}");
    let report = json(&folder.run(&["show", "sort.law", "--plan", "--json"]));
    assert_eq!(report["plan"]["steps"][0]["interpreted"][0], "sort");
    assert_eq!(fine(&folder.run(&cpu)), fine(&folder.run(&cpu[..4])), "the CPU is the default");
    let reference = [&cpu[..4], &["--target", "reference"]].concat();
    assert!(!fine(&folder.run(&reference)).contains("interpreter"));
    fails(&folder.run(&[&reference[..], &["--isa", "portable"]].concat()), 2, "--target cpu");
    fails(&folder.run(&[&cpu[..], &["--threads", "0"]].concat()), 2, "--threads 0");
    fails(&folder.run(&[&reference[..], &["--threads", "2"]].concat()), 2, "--target cpu");
}

#[test]
fn the_portable_target_runs_everywhere_and_says_that_it_did() {
    let folder = Folder::new();
    folder.file("neg.law", NEG);
    let args = ["run", "neg.law", "-i", "random"];
    let reference = json(&folder.run(&[&args[..], &["--target", "reference", "--json"]].concat()));
    let portable = [&args[..], &["--target", "cpu", "--isa", "portable"]].concat();
    assert!(
        fine(&folder.run(&portable)).contains("portable: 0 operators as machine code, 1 by the evaluator")
    );
    let report = json(&folder.run(&[&portable[..], &["--json"]].concat()));
    assert_eq!((&report["isa"], &report["outputs"]), (&"portable".into(), &reference["outputs"]));
    assert_eq!(report["operators"]["evaluator"], 1);
    let plan = fine(&folder.run(&["show", "neg.law", "--plan", "--isa", "portable"]));
    assert!(plan.contains("by the evaluator"), "{plan}");
}

#[test]
fn runs_can_be_repeated_with_outputs_as_inputs() {
    let folder = Folder::new();
    folder.file("twice.law", "lawson 1 graph @t(%x: f32[2]) -> (y: f32[2]) { %y = add %x, %x return %y }");
    let mut targets = vec!["reference"];
    targets.extend(cpu_runs().then_some("cpu"));
    for target in targets {
        let run = |times: &str| {
            let args = ["run", "twice.law", "-i", "random", "--target", target, "--repeat", times, "--json"];
            json(&folder.run(&args))["outputs"]["y"]["elements"][0].as_f64().unwrap()
        };
        assert_eq!(run("1") * 16.0, run("5"), "{target}");
    }
    fails(&folder.run(&["run", "twice.law", "-i", "random", "--repeat", "0"]), 2, "E0704");
}

#[test]
fn run_says_how_long_it_took_where_that_is_asked() {
    let folder = Folder::new();
    folder.file("neg.law", NEG);
    let mut targets = vec!["reference"];
    targets.extend(cpu_runs().then_some("cpu"));
    for target in targets {
        let args = ["run", "neg.law", "-i", "random", "--target", target, "--time"];
        let text = fine(&folder.run(&args));
        assert!(text.contains("compiling ") && text.contains("first run "), "{text}");
        let time = &json(&folder.run(&[&args[..], &["--json"]].concat()))["time"];
        assert!(time["median_ms"].as_f64().unwrap() > 0.0, "{time}");
        assert!(time["runs"].as_u64().unwrap() >= 3, "{time}");
    }
}

#[test]
fn run_exact_prints_bounds() {
    let folder = Folder::new();
    folder.file(
        "third.law",
        "lawson 1 graph @f(%x: f32[2], %y: f32[2]) -> (z: f32[2], eq: bool[2]) {
        %z = div %x, %y
        %e = eq %z, %z
        return %z, %e }",
    );
    folder.tensor("x.npy", &[1.0, 2.0]).tensor("y.npy", &[3.0, 2.0]);
    let args = ["run", "third.law", "-i", "x=x.npy", "-i", "y=y.npy", "--exact"];
    let text = fine(&folder.run(&args));
    assert!(text.contains("0.333") && text.contains("±"), "{text}");
    let report = json(&folder.run(&[&args[..], &["--json"]].concat()));
    let error = report["outputs"]["z"]["errors"][0].as_f64().unwrap();
    assert!(error > 0.0 && error < 1e-7, "{report}");
}

#[test]
fn loops_without_end_are_stopped() {
    let folder = Folder::new();
    folder.file(
        "forever.law",
        "lawson 1 graph @f(%n: i64[]) -> (m: i64[]) {
           %m = while %n {carried = 1}
             cond(%a: i64[]) { %t = eq %a, %a return %t }
             body(%a: i64[]) { %b = add %a, %a return %b }
           return %m }",
    );
    fails(&folder.run(&["run", "forever.law", "-i", "random", "--max-steps", "1000"]), 1, "E0404");
}

#[test]
fn what_would_take_all_memory_is_refused_before_it_does() {
    let folder = Folder::new();
    let huge = "lawson 1\ngraph @g() -> (y: f32[1000000000]) {\n  %y = iota {dtype = f32, shape = [1000000000], axis = 0}\n  return %y\n}\n";
    fails(&folder.pipe(&["run", "-", "--target", "reference"], huge), 1, "E0404");
    fails(&folder.pipe(&["run", "-", "--max-bytes", "3999999999"], huge), 1, "takes 4000000");
    let beyond = huge.replace("1000000000", "1000000000000");
    fails(&folder.pipe(&["run", "-"], &beyond), 1, "E0404");
    fails(&folder.run(&["list", "random", "--depth", "100000", "--size", "100000", "--inline"]), 1, "E0404");
}
