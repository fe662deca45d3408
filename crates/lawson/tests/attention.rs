//! Attention on the CPU target: one kernel without a score matrix, equal to its decomposition in the oracle.
#![allow(clippy::unwrap_used)]

use lawson::graph::random::{Elements, Rng, complete_bindings, random_inputs};
use lawson::graph::{Bindings, Graph, Symbol, interp};
use lawson::kernel::Place;
use lawson::opt::Pipeline;
use lawson::{CompileOptions, Program, Target, Team};

fn attention(inputs: &str, operands: &str, result: &str, attributes: &str) -> Graph {
    let text = format!(
        "lawson 1
         graph @g({inputs}) -> (y: {result}) {{
           %y = attention {operands} {attributes}
           return %y
         }}"
    );
    Graph::parse(&text).unwrap()
}

fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512dq")
}

fn compiled(graph: &Graph, threads: usize) -> Program {
    let team = Some(Team::new(threads).unwrap());
    let options = CompileOptions { target: Target::Cpu, team, ..CompileOptions::default() };
    Program::compile(graph.clone(), &options).unwrap()
}

fn check(graph: &Graph, at: &[(&str, i64)]) {
    if !has_avx512() {
        return;
    }
    let mut bindings = Bindings::new();
    for (symbol, value) in at {
        bindings.define(Symbol::new(symbol), *value, "test");
    }
    let mut rng = Rng::new(11);
    let bindings = complete_bindings(&mut rng, graph, &bindings, 9).unwrap();
    let inputs = random_inputs(&mut rng, graph, &bindings, Elements::Tame).unwrap();
    let plain = Pipeline::standard().run(graph).unwrap();
    let oracle = interp::run_bounded(&plain, &inputs, &interp::Options::default()).unwrap();
    for threads in [1, 2] {
        let program = compiled(graph, threads);
        let found = program.session().run_values(&inputs).unwrap();
        let compared = interp::compare(&oracle[0], &found[0], 4.0);
        assert!(compared.ok(), "{at:?}: {compared}");
        assert!(compared.undetermined < compared.compared, "{at:?}: nothing was compared");
    }
}

const PLAIN: &str = "%q: f32[2, 3, S, 40], %k: f32[2, 3, T, 40], %v: f32[2, 3, T, 24]";
const RESULT: &str = "f32[2, 3, S, 24]";

#[test]
fn every_number_of_queries_and_keys_gives_what_the_decomposition_gives() {
    for causal in ["", "{causal = top_left}", "{causal = bottom_right}"] {
        let graph = attention(PLAIN, "%q, %k, %v", RESULT, causal);
        for (s, t) in [(1, 1), (33, 65), (70, 150), (64, 64), (5, 200)] {
            check(&graph, &[("S", s), ("T", t)]);
        }
    }
}

#[test]
fn known_sizes_and_masks() {
    let inputs = "%q: f32[1, 2, 64, 64], %k: f32[1, 2, 128, 64], %v: f32[1, 2, 128, 64]";
    let result = "f32[1, 2, 64, 64]";
    check(&attention(inputs, "%q, %k, %v", result, "{causal = bottom_right}"), &[]);
    let masked = format!("{inputs}, %mask: f32[64, 128]");
    check(&attention(&masked, "%q, %k, %v, %mask", result, ""), &[]);
}

#[test]
fn heads_may_share_keys() {
    let inputs = "%q: f32[1, 6, 40, 16], %k: f32[1, 2, 40, 16], %v: f32[1, 2, 40, 16]";
    check(&attention(inputs, "%q, %k, %v", "f32[1, 6, 40, 16]", "{causal = top_left}"), &[]);
}

#[test]
fn scores_are_never_in_the_arena() {
    if !has_avx512() {
        return;
    }
    let inputs = "%q: f32[1, 2, 64, 16], %k: f32[1, 2, 64, 16], %v: f32[1, 2, 64, 16]";
    let program = compiled(&attention(inputs, "%q, %k, %v", "f32[1, 2, 64, 16]", ""), 1);
    let plan = program.plan().unwrap();
    assert_eq!(plan.steps.len(), 1);
    assert!(plan.buffers.iter().all(|b| !matches!(b.place, Place::Arena)));
}

#[test]
fn what_attention_feeds_and_is_fed_by_is_computed_beside_it() {
    let graph = Graph::parse(
        "lawson 1
         graph @g(%x: f32[1, 2, 40, 16]) -> (y: f32[1, 2, 40, 16]) {
           %k = tanh %x
           %q = neg %x
           %a = attention %q, %k, %x {causal = top_left}
           %y = add %a, %x
           return %y
         }",
    )
    .unwrap();
    check(&graph, &[]);
}

/// Depths that may be of any size cannot lie in scratch.
#[test]
fn what_has_no_kernel_of_its_own_is_decomposed() {
    let inputs = "%q: f32[1, 2, S, D], %k: f32[1, 2, S, D], %v: f32[1, 2, S, D]";
    let graph = attention(inputs, "%q, %k, %v", "f32[1, 2, S, D]", "{scale = 0.5}");
    check(&graph, &[("S", 9), ("D", 7)]);
    if has_avx512() {
        let (graph, _) = lawson::cpu::plan(&graph).unwrap();
        assert!(graph.nodes().iter().all(|n| !n.op.is_composite()));
    }
}

#[test]
fn a_tiny_query_meets_an_infinite_key_as_infinity() {
    if !has_avx512() {
        return;
    }
    // Scaled first, the least number would become 0, and 0 times infinity is NaN.
    let q = "f32[1, 1, 1, 4]";
    let graph = attention(&format!("%q: {q}, %k: {q}, %v: {q}"), "%q, %k, %v", q, "");
    let row = |x: [f32; 4]| lawson::Tensor::from_slice(&[1, 1, 1, 4], &x).unwrap();
    let (tiny, infinite) = (row([f32::from_bits(1), 0.5, 0.0, 0.0]), row([f32::NEG_INFINITY, 1.0, 1.0, 1.0]));
    let inputs = [tiny, infinite, row([1.0, 2.0, 3.0, 4.0])];
    let results = compiled(&graph, 1).session().run(&inputs).unwrap();
    // The only key has the score -inf: nothing is seen.
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [0.0; 4]);
}
