//! `show`: types, costs, kernels, plans and machine code.

use crate::folder::{Folder, MLP, NEG, fails, fine, json};

#[test]
fn show_prints_types_costs_and_totals() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let text = fine(&folder.run(&["show", "m.law"]));
    assert!(text.contains("%h: f32[N, 4] = contract"), "{text}");
    assert!(text.contains("24*N flop"), "{text}");
    let text = fine(&folder.run(&["show", "m.law", "--bind", "N=100"]));
    assert!(text.contains("2.40 kflop, reads 1.25 kB, writes 1.60 kB"), "{text}");
    assert!(text.contains("// intensity"), "{text}");
}

#[test]
fn show_leaves_out_large_constants_unless_told() {
    let folder = Folder::new();
    let ones = vec!["1"; 40].iter().enumerate().map(|(i, _)| i.to_string()).collect::<Vec<_>>().join(", ");
    folder.file(
        "c.law",
        format!("lawson 1 graph @c() -> (y: i32[40]) {{ %y: i32[40] = constant [{ones}] return %y }}"),
    );
    assert!(!fine(&folder.run(&["show", "c.law"])).contains("38"));
    assert!(fine(&folder.run(&["show", "c.law", "--full"])).contains("38"));
}

#[test]
fn show_gives_json() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let report = json(&folder.run(&["show", "m.law", "--json", "--bind", "N=2"]));
    assert_eq!(report["name"], "mlp");
    assert_eq!(report["nodes"][0]["op"], "contract");
    assert_eq!(report["nodes"][0]["cost"]["flops"], 48);
    assert_eq!(report["facts"][0], "N >= 1");
    let report = json(&folder.run(&["show", "m.law", "--json"]));
    assert_eq!(report["nodes"][0]["cost"]["flops"], "24*N");
}

#[test]
fn show_says_what_was_not_fused_and_why() {
    let folder = Folder::new();
    folder.file(
        "m.law",
        "lawson 1
         graph @m(%x: f32[64, 64], %w: f32[64, 64]) -> (y: f32[64, 64]) {
           %e = exp %x
           %y = contract %e, %w {batch = [], sum = [[1, 0]]}
           return %y
         }",
    );
    let text = fine(&folder.run(&["show", "m.law", "--refused"]));
    assert!(text.contains("%e is written for the kernel of %y"), "{text}");
    assert!(text.contains("predicted: apart"), "{text}");
    let report = json(&folder.run(&["show", "m.law", "--refused", "--json"]));
    let refused = &report["refused"][0];
    assert_eq!(refused["value"], "e");
    assert!(refused["apart_seconds"].as_f64() < refused["together_seconds"].as_f64(), "{refused}");
    folder.file("one.law", "lawson 1 graph @f(%x: f32[N]) -> (y: f32[N]) { %y = exp %x return %y }");
    assert!(fine(&folder.run(&["show", "one.law", "--refused"])).contains("nothing was refused"));
}

#[test]
fn show_says_which_kernels_read_the_same_and_stay_apart() {
    let folder = Folder::new();
    folder.file(
        "m.law",
        "lawson 1
         graph @m(%x: f32[64, 64], %q: f32[64, 64], %k: f32[64, 32]) -> (a: f32[64, 64], b: f32[64, 32]) {
           %a = contract %x, %q {batch = [], sum = [[1, 0]]}
           %b = contract %x, %k {batch = [], sum = [[1, 0]]}
           return %a, %b
         }",
    );
    let text = fine(&folder.run(&["show", "m.law", "--refused"]));
    assert!(text.contains("%x is read by the kernels of %a and of %b"), "{text}");
    let report = json(&folder.run(&["show", "m.law", "--refused", "--json"]));
    assert_eq!(report["refused"][0]["beside"], "a");
}

/// A loop whose body is two kernels.
const STEPS: &str = "lawson 1
    graph @m(%n: i32[], %x: f32[64, 64], %w: f32[64, 64]) -> (i: i32[], y: f32[64, 64]) {
      %zero: i32[] = constant 0
      %i, %y = while %zero, %x, %n, %w {carried = 2} cond(%i: i32[], %y: f32[64, 64], %n: i32[], %w: f32[64, 64]) {
        %c = lt %i, %n
        return %c
      } body(%i: i32[], %y: f32[64, 64], %n: i32[], %w: f32[64, 64]) {
        %one: i32[] = constant 1
        %j = add %i, %one
        %e = exp %y
        %z = contract %e, %w {batch = [], sum = [[1, 0]]}
        return %j, %z
      }
      return %i, %y
    }";

/// Kernels for a size that is found in a run: one computes elements of what is found, one has a product of them.
const FOUND: &str = "lawson 1
    graph @f(%x: f32[9, 64], %keep: bool[9], %w: f32[64, 64]) -> (y: f32[64]) {
      %at = nonzero %keep {symbol = K}
      %b = gather %x, %at {axes = [0]}
      %e = exp %b
      %p = contract %e, %w {batch = [], sum = [[1, 0]]}
      %y = reduce_max %p {axes = [0]}
      return %y
    }";

#[test]
fn show_says_what_was_not_fused_in_bodies_and_in_stages() {
    let folder = Folder::new();
    folder.file("loop.law", STEPS);
    let text = fine(&folder.run(&["show", "loop.law", "--refused"]));
    assert!(
        text.contains("in the body of the loop that makes %i, %y, %e is written for the kernel of %z"),
        "{text}"
    );
    folder.file("found.law", FOUND);
    let text = fine(&folder.run(&["show", "found.law", "--refused"]));
    assert!(text.contains("in stage 0, %e is written for the kernel of %p"), "{text}");
    let report = json(&folder.run(&["show", "found.law", "--refused", "--json"]));
    let refused = report["refused"].as_array().unwrap();
    let inside = |r: &&serde_json::Value| r["value"] == "e" || r["value"] == "p";
    assert!(refused.iter().filter(inside).all(|r| r["stage"] == 0), "{report}");
    // The stage waits for the size, and for where its elements are.
    let waits = |r: &&serde_json::Value| r["why"].as_str().unwrap().contains("what a run finds");
    let waiting: Vec<_> = refused.iter().filter(waits).collect();
    assert_eq!(waiting.len(), 1, "{report}");
    assert_eq!((&waiting[0]["reader"], &waiting[0]["stage"]), (&"at".into(), &serde_json::Value::Null));
}

/// The steps of a plan, and those in its loops.
fn kernels_of(steps: &serde_json::Value) -> Vec<u64> {
    let mut all = Vec::new();
    for step in steps.as_array().unwrap() {
        all.extend(["kernel", "evaluated_kernel"].iter().filter_map(|k| step[k].as_u64()));
        for block in ["body", "condition", "then", "otherwise"] {
            if step[block].is_array() {
                all.extend(kernels_of(&step[block]));
            }
        }
    }
    all
}

#[test]
fn show_has_kernels_of_loops_and_of_stages_and_what_loops_carry() {
    let folder = Folder::new();
    folder.file("loop.law", STEPS);
    let args = ["show", "loop.law", "--plan", "--kernels", "--isa", "portable", "--json"];
    let report = json(&folder.run(&args));
    let steps = &report["plan"]["steps"];
    let the_loop = steps.as_array().unwrap().iter().find(|s| s["body"].is_array()).unwrap();
    assert_eq!(the_loop["carried"].as_array().unwrap().len(), 2, "{the_loop:#}");
    assert!(
        the_loop["carried"].as_array().unwrap().iter().all(|c| c["state"].is_u64() && c["next"].is_u64())
    );
    assert_eq!(the_loop["rows"].as_array().unwrap().len(), 0);
    let kernels = report["kernels"].as_array().unwrap();
    for kernel in kernels_of(steps) {
        assert!(kernels[kernel as usize]["text"].as_str().unwrap().contains("kernel"), "{report:#}");
    }
    // Rows that a loop goes through, and how many there are.
    folder.file(
        "rows.law",
        "lawson 1
         graph @s(%x: f32[8, 8], %w: f32[N, 8, 8]) -> (y: f32[8, 8]) {
           %y = scan %x, %w {carried = 1, scanned = 1, length = N} body(%s: f32[8, 8], %w: f32[8, 8]) {
             %t = contract %s, %w {batch = [], sum = [[1, 0]]}
             return %t
           }
           return %y
         }",
    );
    for (bind, count) in [(&[][..], serde_json::json!("N")), (&["--bind", "N=5"], 5.into())] {
        let report = json(&folder.run(&[&["show", "rows.law", "--plan", "--json"], bind].concat()));
        let steps = report["plan"]["steps"].as_array().unwrap();
        let the_loop = steps.iter().find(|s| s["body"].is_array()).unwrap();
        let row = &the_loop["rows"][0];
        assert_eq!((&the_loop["times"], &row["rows"]), (&count, &count), "{the_loop:#}");
        assert_eq!(row["order"], "forward");
        let place = format!("row of #{}", row["of"]);
        assert_eq!(report["plan"]["buffers"][row["row"].as_u64().unwrap() as usize]["place"], place);
    }
    folder.file("found.law", FOUND);
    let report = json(&folder.run(&["show", "found.law", "--kernels", "--json"]));
    assert!(report["kernels"].as_array().unwrap().iter().any(|k| k["stage"] == 0), "{report:#}");
}

#[test]
fn show_tells_what_arenas_take_with_and_without_sharing_and_those_of_stages() {
    let folder = Folder::new();
    folder.file(
        "found.law",
        FOUND
            .replace("[9, 64]", "[N, 64]")
            .replace("bool[9]", "bool[N]")
            .replace("f32[64]) {", "f32[64]) where N >= 1 {"),
    );
    let show = |bind: &str| {
        let args = ["show", "found.law", "--plan", "--bind", bind];
        let text = fine(&folder.run(&args));
        let report = json(&folder.run(&[&args[..], &["--json"]].concat()));
        (text, report["plan"].clone())
    };
    let (text, plan) = show("N=9");
    assert!(text.contains("without sharing: ") && text.contains("at most, for K = 9"), "{text}");
    assert!(text.contains("// arena with that of stages, which is shared: at most "), "{text}");
    let told = ["arena_bytes", "needed_bytes", "without_sharing_bytes"].map(|k| plan[k].as_u64().unwrap());
    let [arena, needed, apart] = told;
    assert!(
        text.contains(&format!("arena: {arena} bytes; needed at once: {needed}; without sharing: {apart}"))
    );
    let stage = plan["steps"].as_array().unwrap().iter().find(|s| s["stage"].is_object()).unwrap();
    assert!(
        stage["found"].as_array().unwrap().iter().any(|f| f["name"] == "K" && f["most"] == 9),
        "{stage:#}"
    );
    let arena = |plan: &serde_json::Value| plan["stage_arena_bytes"].as_u64().unwrap();
    assert_eq!(arena(&plan), stage["stage"]["arena_bytes"].as_u64().unwrap());
    // Elements of what is found lie there, and there are more of them.
    assert!(arena(&plan) >= 9 * 64 * 4 && arena(&show("N=900").1) > 50 * arena(&plan), "{plan:#}");
}

#[test]
fn show_makes_the_plan_that_is_run() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let ways: [&[&str]; 5] = [
        &[],
        &["--fusion", "separate"],
        &["--passes", "none"],
        &["--passes", "decompose", "--isa", "portable"],
        &["--isa", "portable", "--fusion", "separate"],
    ];
    let mut counts = Vec::new();
    for way in ways {
        let shown = json(&folder.run(&[&["show", "m.law", "--plan", "--json"], way].concat()));
        let run =
            json(&folder.run(&[&["run", "m.law", "-i", "zeros", "--bind", "N=2", "--json"], way].concat()));
        assert_eq!(shown["plan"]["operators"], run["operators"], "{way:?}");
        counts.push(shown["plan"]["steps"].as_array().unwrap().len());
    }
    assert!(counts[1] > counts[0], "{counts:?}");
    // The same as the library makes of it, schedules included.
    let graph = lawson::graph::Graph::parse(MLP).unwrap();
    for threads in [1, 4] {
        let options = lawson::cpu::PlanOptions { threads, ..lawson::cpu::PlanOptions::default() };
        let (_, plan) = lawson::cpu::plan_with(&graph, &options).unwrap();
        let n = threads.to_string();
        let args = ["show", "m.law", "--plan-text", "--threads", &n, "--isa", options.isa.name()];
        assert_eq!(fine(&folder.run(&args)), plan.to_text(None).to_string());
        let team = Some(lawson::Team::new(threads).unwrap());
        let options =
            lawson::CompileOptions { team, isa: Some(options.isa), ..lawson::CompileOptions::default() };
        let program = lawson::Program::compile(graph.clone(), &options).unwrap();
        assert_eq!(program.plan().unwrap().schedules, plan.schedules);
    }
}

#[test]
fn show_refuses_options_that_mean_nothing() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    for option in [
        ["--isa", "avx2"],
        ["--threads", "2"],
        ["--fusion", "separate"],
        ["--passes", "none"],
        ["--device", "0"],
    ] {
        let text = fails(&folder.run(&[&["show", "m.law"], &option[..]].concat()), 2, option[0]);
        assert!(text.contains("help: add --plan"), "{text}");
    }
    fails(&folder.run(&["show", "m.law", "--plan", "--target", "reference"]), 2, "has no plan");
    fails(&folder.run(&["show", "m.law", "--plan", "--threads", "0"]), 2, "at least 1");
    fails(&folder.run(&["show", "m.law", "--plan", "--target", "wgpu", "--threads", "2"]), 2, "no team");
    fails(&folder.run(&["show", "m.law", "--plan", "--device", "0"]), 2, "no devices");
}

#[test]
fn show_says_for_which_sizes_it_was_decided_what_stays_apart() {
    let folder = Folder::new();
    folder.file("open.law", FOUND);
    let text = fine(&folder.run(&["show", "open.law", "--refused"]));
    assert!(text.contains("// decided for usual sizes") && text.contains("K for "), "{text}");
    folder.file("rows.law", "lawson 1 graph @r(%x: f32[N, 8]) -> (y: f32[N, 8]) { %y = exp %x return %y }");
    let said = |arguments: &[&str]| json(&folder.run(arguments))["usual_sizes"]["N"].clone();
    assert!(said(&["show", "rows.law", "--refused", "--json"]).as_i64().is_some_and(|size| size > 0));
    assert_eq!(said(&["show", "rows.law", "--refused", "--json", "--bind", "N=77"]), 77);
    folder.file("loop.law", STEPS);
    assert!(!fine(&folder.run(&["show", "loop.law", "--refused"])).contains("decided for usual sizes"));
}

#[test]
fn show_says_why_a_scan_stays_a_loop() {
    let folder = Folder::new();
    folder.file(
        "scan.law",
        "lawson 1
         graph @s(%x: f32[8, 8], %w: f32[8, 8]) -> (y: f32[8, 8]) {
           %y = scan %x, %w {carried = 1, scanned = 0, length = 10} body(%s: f32[8, 8], %w: f32[8, 8]) {
             %t = contract %s, %w {batch = [], sum = [[1, 0]]}
             return %t
           }
           return %y
         }",
    );
    let text = fine(&folder.run(&["show", "scan.law", "--plan"]));
    assert!(text.contains("its body computes elements from several others"), "{text}");
}

#[test]
fn show_prints_kernels_that_can_be_read_back() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let text = fine(&folder.run(&["show", "m.law", "--kernels"]));
    assert!(text.contains("// step 0: kernel 0, @mlp(") && text.contains("spilled: "), "{text}");
    let report = json(&folder.run(&["show", "m.law", "--kernels", "--json"]));
    for kernel in report["kernels"].as_array().unwrap() {
        let parsed = lawson::kernel::Kernel::parse(kernel["text"].as_str().unwrap()).unwrap();
        lawson::kernel::verify(&parsed).unwrap();
        let schedule = kernel["schedule"].as_str().unwrap();
        assert!(!schedule.parse::<lawson::kernel::Schedule>().unwrap().0.is_empty(), "{kernel}");
        assert!(text.contains(schedule.lines().next().unwrap()), "{schedule}");
    }
}

#[test]
fn show_prints_the_plan_with_places_where_sizes_are_bound() {
    let folder = Folder::new();
    folder.file("m.law", MLP);
    let open = fine(&folder.run(&["show", "m.law", "--plan"]));
    assert!(open.contains("12*N bytes") && open.contains("--bind") && !open.contains("arena:"), "{open}");
    let bound = fine(&folder.run(&["show", "m.law", "--plan", "--bind", "N=8"]));
    assert!(bound.contains("96 bytes") && bound.contains("arena:"), "{bound}");
    let report = json(&folder.run(&["show", "m.law", "--plan", "--bind", "N=8", "--json"]));
    let plan = &report["plan"];
    assert!(plan["arena_bytes"].as_u64().is_some(), "{plan}");
    assert_eq!(plan["buffers"][0]["bytes"], 96);
    assert_eq!(plan["steps"][0]["barrier_before"], false);
    fails(&folder.run(&["show", "m.law", "--plan", "--bind", "N=7"]), 1, "E0403");
    fails(&folder.run(&["show", "m.law", "--plan", "--full"]), 2, "cannot be used with");
}

#[test]
fn show_prints_machine_code_under_its_tree() {
    let folder = Folder::new();
    folder.file("neg.law", NEG);
    for (isa, register) in [("avx512", "zmm"), ("avx2", "ymm")] {
        let text = fine(&folder.run(&["show", "neg.law", "--dump-asm", "--isa", isa]));
        assert!(text.contains("ret") && text.contains(" ; ") && text.contains(register), "{text}");
    }
    let report = json(&folder.run(&["show", "neg.law", "--dump-asm", "--json"]));
    let kernel = &report["kernels"][0];
    assert!(kernel["listing"].as_str().unwrap().contains("ret") && kernel.get("text").is_none(), "{kernel}");
    assert!(kernel["code_bytes"].as_u64().unwrap() > 0);
}

/// Parts on both devices of the wgpu target.
const PLACED: &str = r#"lawson 1
graph @placed(%x: f32[N, 8]) -> (y: f32[N, 8]) {
  %a @device("cpu") = exp %x
  %y @device("gpu") = neg %a
  return %y
}"#;

#[test]
fn show_prints_where_steps_run_and_what_is_moved() {
    let folder = Folder::new();
    folder.file("p.law", PLACED);
    let text = fine(&folder.run(&["show", "p.law", "--plan", "--target", "wgpu", "--bind", "N=3"]));
    assert!(text.contains("on the processor") && text.matches("transfer,").count() == 2, "{text}");
    assert!(text.contains("a.host"), "{text}");
    let report = json(&folder.run(&["show", "p.law", "--plan", "--target", "wgpu", "--json"]));
    let counted = serde_json::json!({ "machine_code": 1, "on_cpu": 1, "evaluator": 0, "interpreter": 0 });
    assert_eq!(report["plan"]["operators"], counted);
    let steps = report["plan"]["steps"].as_array().unwrap();
    let kinds: Vec<&str> = steps
        .iter()
        .map(|s| ["transfer", "called_kernel", "kernel"].into_iter().find(|k| s.get(k).is_some()).unwrap())
        .collect();
    assert_eq!(kinds, ["transfer", "called_kernel", "transfer", "kernel"]);
    let kernels = fine(&folder.run(&["show", "p.law", "--kernels", "--target", "wgpu"]));
    assert!(kernels.contains("it is a shader") && kernels.contains("bytes of code"), "{kernels}");
    // The CPU target has one device.
    fails(&folder.run(&["show", "p.law", "--plan"]), 1, "E0843");
    fails(
        &folder.run(&["run", "p.law", "-i", "random", "--bind", "N=3"]),
        1,
        "placed on `gpu`; the target has `cpu`",
    );
}

#[test]
fn run_counts_operators_by_place() {
    let folder = Folder::new();
    folder.file("p.law", PLACED);
    let args = ["run", "p.law", "-i", "random", "--bind", "N=3", "--target", "wgpu", "--json"];
    let operators = &json(&folder.run(&args))["operators"];
    let sum = operators["on_cpu"].as_u64().unwrap() + operators["evaluator"].as_u64().unwrap();
    assert!(operators["machine_code"] == 1 && sum == 1, "{operators}");
    let text = fine(&folder.run(&args[..args.len() - 1]));
    assert!(text.contains("1 operators as shaders, 1 "), "{text}");
}

#[test]
fn opcodes_show_products_of_matrices_for_devices_that_have_them() {
    let folder = Folder::new();
    let text = "lawson 1\ngraph @mm(%x: f16[64, 64], %w: f16[64, 64]) -> (y: f16[64, 64]) {
        %y = contract %x, %w {batch = [], sum = [[1, 0]]} return %y }";
    folder.file("mm.law", text);
    let with = fine(&folder.run(&["opcodes", "mm.law", "--matrices"]));
    assert!(with.contains("coopMultiplyAdd") && with.contains("enable wgpu_cooperative_matrix;"), "{with}");
    for flags in [&["--no-matrices"][..], &[]] {
        let without = fine(&folder.run(&[&["opcodes", "mm.law"], flags].concat()));
        assert!(!without.contains("coop"), "{without}");
    }
}

#[test]
fn opcodes_show_buffers_that_are_seen_in_windows() {
    let folder = Folder::new();
    folder.file("neg.law", "lawson 1 graph @f(%x: f32[1001]) -> (y: f32[1001]) { %y = neg %x return %y }");
    let whole = fine(&folder.run(&["opcodes", "neg.law"]));
    assert!(!whole.contains("windows") && whole.contains("@binding(2)"), "{whole}");
    let text = fine(&folder.run(&["opcodes", "neg.law", "--buffer-bytes", "1100"]));
    // Windows begin at multiples of 256 bytes: 4004 bytes are four of 1024.
    assert!(text.matches("in 4 windows").count() == 2 && text.contains("@binding(8)"), "{text}");
    assert!(text.contains("if (at < 256) {") && text.contains("[at - 768]"), "{text}");
    let refused = fine(&folder.run(&["opcodes", "neg.law", "--buffer-bytes", "256"]));
    assert!(refused.contains("32 windows of at most 256 bytes, a shader sees 8"), "{refused}");
}
