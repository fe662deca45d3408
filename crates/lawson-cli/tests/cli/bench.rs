//! `bench` of a file.

use crate::folder::{CHAIN, Folder, cpu_runs, fine, json, out};

#[test]
fn bench_says_how_long_each_stage_and_each_kernel_took() {
    if !cpu_runs() {
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

/// A loop, something that is sorted, and two kernels.
const MIXED: &str = "lawson 1
    graph @m(%x: f32[16, 16], %w: f32[16, 16]) -> (y: f32[16, 16], z: f32[16, 16]) {
      %e = exp %x
      %l = scan %e, %w {carried = 1, scanned = 0, length = 10} body(%s: f32[16, 16], %w: f32[16, 16]) {
        %t = contract %s, %w {batch = [], sum = [[1, 0]]}
        return %t
      }
      %y = neg %l
      %z = sort %e {axis = 0, descending = false}
      return %y, %z
    }";

#[test]
fn bench_has_a_row_for_every_step_and_predicts_nothing_of_loops() {
    if !cpu_runs() {
        return;
    }
    let f = Folder::new();
    f.file("mixed.law", MIXED);
    let args = ["bench", "mixed.law", "--seconds", "0", "--threads", "1", "--kernels"];
    let (said, code) = f.json(&[&args[..], &["--json"]].concat());
    assert_eq!(code, 0, "{said}");
    let kernels = &said["runs"][0]["kernels"];
    let steps = kernels["steps"].as_array().unwrap();
    let without: Vec<&str> =
        steps.iter().filter(|s| s["predicted_us"].is_null()).map(|s| s["kind"].as_str().unwrap()).collect();
    assert!(without.iter().any(|k| k.starts_with("loop over")), "{kernels}");
    assert!(without.contains(&"sort by the interpreter"), "{kernels}");
    assert!(steps.iter().any(|s| s["kind"] == "kernel" && s["ratio"].is_number()), "{kernels}");
    let share: f64 = steps.iter().map(|s| s["share"].as_f64().unwrap()).sum();
    assert!((share - 1.0).abs() < 1e-6, "{share}");
    assert!(kernels["unpredicted_share"].as_f64().unwrap() > 0.0);
    // Steps have the numbers that the plan has, in which those of the loop's body count.
    let (shown, _) = f.json(&["show", "mixed.law", "--plan", "--json"]);
    let inside = |s: &serde_json::Value| s["body"].as_array().map_or(0, Vec::len);
    let mut numbers = Vec::new();
    shown["plan"]["steps"].as_array().unwrap().iter().fold(0, |n, s| {
        numbers.push(n);
        n + 1 + inside(s)
    });
    assert_eq!(steps.iter().map(|s| s["step"].as_u64().unwrap() as usize).collect::<Vec<_>>(), numbers);
    // How many bytes move is not known of all, so nothing is said.
    assert!(said["bytes"].is_null(), "{said}");
    let table = out(&f.run(&args));
    assert!(table.contains("nothing is predicted of"), "{table}");
    let (said, _) = f.json(&[&args[..], &["--isa", "portable", "--json"]].concat());
    let kernels = &said["runs"][0]["kernels"];
    assert!(kernels["error"].is_null() && !kernels["steps"].as_array().unwrap().is_empty(), "{kernels}");
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
fn bench_names_the_device() {
    let f = Folder::new();
    f.file("chain.law", CHAIN);
    let args = ["bench", "chain.law", "--bind", "N=2", "--seconds", "0", "--target", "wgpu"];
    let (said, code) = f.json(&[&args[..], &["--json"]].concat());
    assert_eq!(code, 0, "{said}");
    let name = said["runs"][0]["device"].as_str().unwrap().to_string();
    let shown = String::from_utf8(f.run(&args).stdout).unwrap();
    assert!(!name.is_empty() && shown.lines().any(|l| l.starts_with(&format!("{name} median"))), "{shown}");
}

#[test]
fn bench_times_iterations_apart_and_in_one_kernel_where_they_can_be() {
    let f = Folder::new();
    f.file("sine.law", "lawson 1\ngraph @f(%x: f32[4096]) -> (y: f32[4096]) { %y = sin %x return %y }\n");
    let turned = "%y = slice %x {start = [4095], size = [4096], step = [-1]}";
    f.file(
        "turn.law",
        format!("lawson 1\ngraph @f(%x: f32[4096]) -> (y: f32[4096]) {{ {turned} return %y }}\n"),
    );
    for target in ["cpu", "wgpu"] {
        if target == "cpu" && !cpu_runs() {
            continue;
        }
        for (file, can) in [("sine.law", true), ("turn.law", false)] {
            let args = ["bench", file, "--seconds", "0", "--repeat", "20", "--target", target];
            let (said, code) = f.json(&[&args[..], &["--json"]].concat());
            assert_eq!(code, 0, "{said}");
            let run = &said["runs"][0];
            assert!(run["iteration_ms"].as_f64().unwrap() >= 0.0, "{run}");
            assert_eq!(run["iteration_in_one_kernel_ms"].is_number(), can, "{target}, {file}: {run}");
            let table = out(&f.run(&args));
            assert_eq!(table.contains("an iteration where all are one kernel"), can, "{table}");
        }
    }
    let args = ["bench", "sine.law", "--seconds", "0", "--repeat", "1"];
    assert_eq!(f.run(&args).status.code(), Some(2));
}

#[test]
fn the_arena_of_stages_counts() {
    let folder = Folder::new();
    folder.file(
        "found.law",
        "lawson 1
         graph @f(%x: f32[N, 64], %keep: bool[N], %w: f32[64, 64]) -> (y: f32[64]) where N >= 1 {
           %at = nonzero %keep {symbol = K}
           %b = gather %x, %at {axes = [0]}
           %e = exp %b
           %p = contract %e, %w {batch = [], sum = [[1, 0]]}
           %y = reduce_max %p {axes = [0]}
           return %y
         }",
    );
    let args =
        ["bench", "found.law", "--bind", "N=200", "--seconds", "0", "--isa", "portable", "--threads", "1"];
    let memory = json(&folder.run(&[&args[..], &["--json"]].concat()))["memory"].clone();
    let [arena, stages, peak] =
        ["arena_bytes", "stage_arena_bytes", "peak_arena_bytes"].map(|k| memory[k].as_u64().unwrap());
    // At least half of the rows were found, and as many sums of products were kept for a while.
    assert!(stages >= 50 * 64 * 4 && peak == arena + stages, "{memory}");
    assert!(fine(&folder.run(&args)).contains(" of stages, constants "));
    // `show` says how much it can be.
    let show =
        ["show", "found.law", "--bind", "N=200", "--plan", "--isa", "portable", "--threads", "1", "--json"];
    let plan = json(&folder.run(&show))["plan"].clone();
    assert_eq!(plan["arena_bytes"], arena);
    assert!(plan["stage_arena_bytes"].as_u64().unwrap() >= stages, "{memory} {plan}");
}
