//! Values placed by hand on both targets of one plan: where operators run, which transfers there are, and that results are the oracle's.

use super::{agrees, device, parse};
use lawson::graph::random::{Elements, GraphShape, Rng, random_bindings, random_graph, random_inputs};
use lawson::graph::{Def, Graph, Placement, interp};
use lawson::kernel::{Action, Operators, Place, Plan};
use lawson::{Code, CompileOptions, Fusion, Passes, Program, Target};

fn on_wgpu() -> CompileOptions {
    CompileOptions { target: Target::Wgpu, device: Some(device()), ..CompileOptions::default() }
}

/// Compiles a graph in these ways, runs it twice for each of these sizes, and compares with the oracle. Gives the first program.
fn check(text: &str, sizes: &[(&str, i64)]) -> Program {
    let graph = parse(text);
    let separate = CompileOptions { fusion: Fusion::Separate, ..on_wgpu() };
    let plain = CompileOptions { passes: Passes::None, ..on_wgpu() };
    let mut first = None;
    for options in [on_wgpu(), separate, plain] {
        let program = Program::compile(graph.clone(), &options).unwrap_or_else(|e| panic!("{e}"));
        for seed in 0..3 {
            let sizes: Vec<(&str, i64)> = sizes.iter().map(|(name, n)| (*name, n + seed)).collect();
            agrees(&graph, &program, &sizes, seed as u64);
        }
        first.get_or_insert(program);
    }
    first.unwrap()
}

/// How many transfers go to the host, and how many to the device.
fn transfers(plan: &Plan) -> (usize, usize) {
    let mut count = (0, 0);
    plan.visit(&mut |step, _| {
        if let Action::Transfer = step.action {
            match plan.buffer(step.buffers[0].slot).place {
                Place::Host => count.1 += 1,
                _ => count.0 += 1,
            }
        }
    });
    count
}

fn counted(program: &Program) -> (usize, usize) {
    let Operators { machine_code, on_cpu, evaluator, interpreter } = program.operators().unwrap();
    assert_eq!((evaluator, interpreter), (0, 0), "{}", program.plan().unwrap());
    (machine_code, on_cpu)
}

/// Machine code is there on processors that Lawson emits code for; elsewhere the evaluator does it.
fn has_code() -> bool {
    lawson::cpu::Isa::best() != lawson::cpu::Isa::Portable
}

#[test]
fn a_chain_runs_where_it_is_placed() {
    let program = check(
        r#"lawson 1
        graph @chain(%x: f32[N, 48], %w: f32[48, 32]) -> (y: f32[N, 32], kept: f32[N, 48]) {
          %a @device("cpu") = exp %x
          %b = neg %a
          %kept = mul %b, %a
          %p @device("gpu") = contract %kept, %w {batch = [], sum = [[1, 0]]}
          %q = tanh %p
          %y @device("cpu:0") = add %q, %q
          return %y, %kept
        }"#,
        &[("N", 5)],
    );
    if has_code() {
        let (shaders, on_cpu) = counted(&program);
        assert_eq!((shaders, on_cpu), (2, 4), "{}", program.plan().unwrap());
        // `x` and `q` come, `kept` and `y` go.
        assert_eq!(transfers(program.plan().unwrap()), (2, 2), "{}", program.plan().unwrap());
    }
}

#[test]
fn what_stays_on_the_processor_is_not_moved() {
    let program = check(
        r#"lawson 1
        graph @stays(%x: f32[N, 64]) -> (y: f32[N, 64]) {
          %m @device("cpu") = cumulative_sum %x {axis = 1}
          %c = cumulative_sum %m {axis = 0}
          %y @device("gpu") = exp %c
          return %y
        }"#,
        &[("N", 7)],
    );
    if has_code() {
        let plan = program.plan().unwrap();
        assert!(plan.called().len() >= 2, "{plan}");
        // The input comes, the last result of the processor goes.
        assert_eq!(transfers(plan), (1, 1), "{plan}");
    }
}

#[test]
fn what_both_read_is_moved_once() {
    let program = check(
        r#"lawson 1
        graph @both(%x: f32[N, 8]) -> (a: f32[N], b: f32[N, 8], c: f32[N, 8]) {
          %g = sin %x
          %a @device("cpu") = reduce_max %g {axes = [1]}
          %b @device("gpu") = cos %g
          %c @device("cpu") = cumulative_sum %g {axis = 0}
          return %a, %b, %c
        }"#,
        &[("N", 6)],
    );
    if has_code() {
        let plan = program.plan().unwrap();
        assert_eq!(transfers(plan), (1, 2), "{plan}");
    }
}

#[test]
fn composites_and_their_weights_are_whole() {
    let weights: Vec<String> = (0..32 * 24).map(|i| format!("{}", (i % 7) as f32 - 3.0)).collect();
    let rows: Vec<String> = weights.chunks(24).map(|r| format!("[{}]", r.join(", "))).collect();
    let program = check(
        &format!(
            r#"lawson 1
            graph @weights(%x: f32[N, 32]) -> (y: f32[N, 24], z: f32[N, 24]) {{
              %w: f32[32, 24] = constant [{}]
              %h = contract %x, %w {{batch = [], sum = [[1, 0]]}}
              %p @device("cpu") = contract %x, %w {{batch = [], sum = [[1, 0]]}}
              %y @device("cpu") = softmax %p {{axis = 1}}
              %z @device("gpu") = softmax %h {{axis = 1}}
              return %y, %z
            }}"#,
            rows.join(", ")
        ),
        &[("N", 4)],
    );
    if has_code() {
        let plan = program.plan().unwrap();
        let (shaders, on_cpu) = counted(&program);
        // Two times the same operators, in two places; `x` comes, `y` goes, weights are where they are read.
        assert!(shaders == on_cpu && shaders > 3, "{shaders} and {on_cpu}\n{plan}");
        assert_eq!(transfers(plan), (1, 1), "{plan}");
    }
}

#[test]
fn loops_may_have_parts_on_both() {
    let program = check(
        r#"lawson 1
        graph @loop(%s: f32[16], %x: f32[T, 16], %k: f32[16]) -> (last: f32[16], all: f32[T, 16]) {
          %last, %all = scan %s, %x, %k {carried = 1, scanned = 1, length = T} body(%c: f32[16], %e: f32[16], %f: f32[16]) {
            %d @device("cpu") = mul %c, %f
            %g @device("gpu") = sin %d
            %n = add %g, %e
            return %n, %d
          }
          return %last, %all
        }"#,
        &[("T", 4)],
    );
    if has_code() {
        assert_eq!(counted(&program), (2, 1), "{}", program.plan().unwrap());
    }
    // A whole loop on the processor: its body follows it.
    let program = check(
        r#"lawson 1
        graph @loop(%s: f32[16], %x: f32[T, 16]) -> (y: f32[16], all: f32[T, 16]) {
          %last @device("cpu"), %all = scan %s, %x {carried = 1, scanned = 1, length = T} body(%c: f32[16], %e: f32[16]) {
            %n = add %c, %e
            return %n, %n
          }
          %y @device("gpu") = exp %last
          return %y, %all
        }"#,
        &[("T", 4)],
    );
    if has_code() {
        let (_, on_cpu) = counted(&program);
        assert!(on_cpu >= 1, "{}", program.plan().unwrap());
    }
    check(
        r#"lawson 1
        graph @until(%x: f32[8], %n: i32[]) -> (y: f32[8], m: i32[]) {
          %zero: i32[] = constant 0
          %four: i32[] = constant 4
          %first = min %n, %four
          %y, %m = while %x, %first, %zero {carried = 2} cond(%a: f32[8], %i: i32[], %z: i32[]) {
            %more = gt %i, %z
            return %more
          } body(%a: f32[8], %i: i32[], %z: i32[]) {
            %one: i32[] = constant 1
            %j @device("cpu") = sub %i, %one
            %b @device("gpu") = sin %a
            %c @device("cpu") = add %b, %a
            return %c, %j
          }
          return %y, %m
        }"#,
        &[],
    );
}

#[test]
fn dtypes_that_shaders_lack_are_machine_code_where_they_are_placed() {
    let program = check(
        r#"lawson 1
        graph @wide(%x: f64[N], %y: f32[N]) -> (z: f64[N], w: f32[N]) {
          %a @device("cpu") = exp %x
          %b @device("cpu") = cast %y {to = f64}
          %z = add %a, %b
          %w @device("gpu") = neg %y
          return %z, %w
        }"#,
        &[("N", 9)],
    );
    if has_code() {
        assert_eq!(counted(&program), (1, 3), "{}", program.plan().unwrap());
    }
}

#[test]
fn states_go_round_through_both() {
    let text = r#"lawson 1
        graph @step(%x: f32[64]) -> (y: f32[64] in %x) {
          %a @device("cpu") = sin %x
          %y @device("gpu") = add %a, %x
          return %y
        }"#;
    let graph = Graph::parse(text).unwrap();
    let x =
        lawson::HostTensor::from_slice(&[64], &(0..64).map(|i| i as f32 / 9.0).collect::<Vec<_>>()).unwrap();
    let run = |target: Target| {
        let options = CompileOptions { target, device: Some(device()), ..CompileOptions::default() };
        let mut session = Program::compile(graph.clone(), &options).unwrap().session();
        let result = session.run_loop_values(&[x.clone().into()], 7).unwrap();
        result[0].as_tensor().unwrap().to_vec::<f32>().unwrap()
    };
    let expected = run(Target::Reference);
    let found = run(Target::Wgpu);
    for (e, f) in expected.iter().zip(&found) {
        assert!((e - f).abs() <= 1e-5 * e.abs().max(1.0), "{e} and {f}");
    }
}

#[test]
fn placements_that_a_target_lacks_are_refused() {
    let graph = |device: &str| {
        let text = format!(
            "lawson 1 graph @f(%x: f32[4]) -> (y: f32[4]) {{ %y @device(\"{device}\") = exp %x return %y }}"
        );
        Graph::parse(&text).unwrap()
    };
    let compile = |device: &str, target: Target| {
        let options = CompileOptions { target, device: Some(super::device()), ..CompileOptions::default() };
        Program::compile(graph(device), &options)
    };
    for (device, target) in
        [("gpu", Target::Cpu), ("tpu", Target::Cpu), ("cpu:1", Target::Wgpu), ("tpu", Target::Wgpu)]
    {
        let error = compile(device, target).unwrap_err();
        assert_eq!(error.code(), Code::Misplaced);
        let text = error.to_string();
        assert!(text.contains(&format!("placed on `{device}`")) && text.contains("%y"), "{text}");
    }
    for (device, target) in [
        ("cpu", Target::Cpu),
        ("cpu:0", Target::Wgpu),
        ("gpu:0", Target::Wgpu),
        // The oracle computes everything everywhere.
        ("tpu", Target::Reference),
    ] {
        compile(device, target).unwrap_or_else(|e| panic!("{device}: {e}"));
    }
    let apart = r#"lawson 1
        graph @f(%s: f32[4], %x: f32[3, 4]) -> (y: f32[4], z: f32[3, 4]) {
          %y @device("cpu"), %z @device("gpu") = scan %s, %x {carried = 1, scanned = 1, length = 3} body(%c: f32[4], %e: f32[4]) {
            %n = add %c, %e
            return %n, %n
          }
          return %y, %z
        }"#;
    let error = Program::compile(Graph::parse(apart).unwrap(), &on_wgpu()).unwrap_err();
    assert_eq!(error.code(), Code::Misplaced);
    assert!(error.message().contains("of the same node on `cpu`"), "{error}");
}

/// A random graph some of whose values are placed, at random.
fn placed_graph(seed: u64) -> Graph {
    let mut rng = Rng::new(seed);
    let mut parts = random_graph(&mut rng, &GraphShape::default()).unwrap().into_parts();
    for node in &parts.nodes {
        let device = ["cpu", "gpu", ""][rng.below(3)];
        if !device.is_empty() {
            for v in &node.outputs {
                let placement = Placement { device: Some(device.to_string()), sharding: None };
                parts.values[v.index()].placement = Some(Box::new(placement));
            }
        }
    }
    for value in parts.values.iter_mut().filter(|v| matches!(v.def, Def::Input(_))) {
        if rng.below(4) == 0 {
            let placement = Placement { device: Some("cpu".to_string()), sharding: None };
            value.placement = Some(Box::new(placement));
        }
    }
    Graph::from_parts(parts)
}

#[test]
fn random_graphs_with_values_placed_at_random_give_what_the_oracle_says() {
    let flushes = device().capabilities().unwrap().flushes;
    let oracle_options = interp::Options { flushes, ..interp::Options::default() };
    let mut all = Operators::default();
    for seed in 0..40 {
        let graph = placed_graph(seed);
        let again = Graph::parse(&graph.to_string()).unwrap_or_else(|e| panic!("{e}\n{graph}"));
        assert_eq!(again.to_string(), graph.to_string());
        let mut rng = Rng::new(seed);
        let bindings = random_bindings(&mut rng, &graph, 12).unwrap();
        let inputs = random_inputs(&mut rng, &graph, &bindings, Elements::Tame).unwrap();
        let Ok(oracle) = interp::run_bounded(&graph, &inputs, &oracle_options) else { continue };
        let passes = if seed % 2 == 0 { Passes::Standard } else { Passes::None };
        let options = CompileOptions { passes, ..on_wgpu() };
        let program =
            Program::compile(graph.clone(), &options).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{graph}"));
        let mut session = program.session();
        for _ in 0..2 {
            let results = session.run_values(&inputs).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{graph}"));
            for ((expected, actual), output) in oracle.iter().zip(&results).zip(graph.outputs()) {
                let found = interp::compare(expected, actual, 4.0);
                let plan = program.plan().unwrap();
                assert!(found.ok(), "seed {seed}, {}: {found}\n{graph}\n{plan}", output.name);
            }
        }
        let operators = program.operators().unwrap();
        all.machine_code += operators.machine_code;
        all.on_cpu += operators.on_cpu;
    }
    assert!(all.machine_code > 50 && (all.on_cpu > 50 || !has_code()), "{all:?}");
}
