//! Programs on the CPU target from outside: what runs give, where they read and write, what is refused, and threads.
//!
//! Each test ends early on a machine that could not run the code.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used)]

mod chains;
mod constants;
mod errors;
mod fusion;
mod host;
mod loops;
mod ports;
mod programs;
mod random;
mod repeated;
mod runs;
mod stages;
mod threads;
mod views;
mod ways;
mod zeros;

use lawson::graph::random::{Elements, Rng, complete_bindings, random_inputs};
use lawson::graph::{Bindings, Graph, Symbol, interp};
use lawson::{CompileOptions, HostTensor, Program, Result, Target, Team, Tensor, Value};

/// A layer, an activation, and rows that are gone through several times: more than one kernel, with arena between them.
pub(crate) const MLP: &str =
    "graph @mlp(%x: f32[N, 33], %w: f32[33, 50], %b: f32[50], %v: f32[50, 19]) -> (p: f32[N, 19])
  where N >= 1 {
  %h = linear %x, %w, %b
  %a = gelu %h
  %z = contract %a, %v {batch = [], sum = [[1, 0]]}
  %p = softmax %z {axis = 1}
  return %p
}";

/// Whether this machine runs what the CPU target emits.
pub(crate) fn there() -> bool {
    lawson::cpu::missing_feature().is_none()
}

pub(crate) fn graph(text: &str) -> Graph {
    Graph::parse(&format!("lawson 1\n{text}")).unwrap()
}

pub(crate) fn compile_on(text: &str, team: &Team) -> Result<Program> {
    let team = Some(team.clone());
    Program::compile(graph(text), &CompileOptions { target: Target::Cpu, team, ..CompileOptions::default() })
}

pub(crate) fn compile(text: &str) -> Program {
    compile_on(text, &Team::new(2).unwrap()).unwrap()
}

/// Random inputs for a program, with these symbols.
pub(crate) fn inputs(text: &str, sizes: &[(&str, i64)], seed: u64) -> Vec<HostTensor> {
    let graph = graph(text);
    let mut known = Bindings::new();
    for (symbol, value) in sizes {
        known.define(Symbol::new(symbol), *value, "test");
    }
    let mut rng = Rng::new(seed);
    let bindings = complete_bindings(&mut rng, &graph, &known, 9).unwrap();
    let values = random_inputs(&mut rng, &graph, &bindings, Elements::Tame).unwrap();
    values.iter().map(|v| v.as_tensor().unwrap().clone()).collect()
}

pub(crate) fn tensors(inputs: &[HostTensor]) -> Vec<Tensor> {
    inputs.iter().cloned().map(Tensor::from).collect()
}

/// Fails unless the results lie within four times the oracle's bounds.
pub(crate) fn assert_right(text: &str, inputs: &[HostTensor], results: &[Tensor]) {
    let values: Vec<Value> = inputs.iter().cloned().map(Value::Tensor).collect();
    let oracle = interp::run_bounded(&graph(text), &values, &interp::Options::default()).unwrap();
    assert_eq!(oracle.len(), results.len());
    for (expected, actual) in oracle.iter().zip(results) {
        let found = interp::compare(expected, &actual.to_host().unwrap().into(), 4.0);
        assert!(found.ok(), "{found}\n{text}");
    }
}
