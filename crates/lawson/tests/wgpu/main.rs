//! The wgpu target from outside, on the device that is there: without one these tests fail, because a driver that needs no GPU can
//! be had everywhere. In builds with assertions outputs hold poison before every run.
#![cfg(feature = "wgpu")]
#![allow(clippy::unwrap_used)]

mod eager;
mod pace;
mod places;
mod random;
mod repeated;
mod runs;
mod windows;

use lawson::graph::random::{Elements, Rng, complete_bindings, random_inputs};
use lawson::graph::{Bindings, Graph, Symbol, interp};
use lawson::wgpu::Device;
use lawson::{Program, Session};
use std::sync::OnceLock;

/// A graph from its text, with or without the first line.
fn parse(text: &str) -> Graph {
    let head = if text.starts_with("lawson") { "" } else { "lawson 1\n" };
    Graph::parse(&format!("{head}{text}")).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a program twice on inputs of these sizes, and compares with what the oracle says of the graph.
fn agrees(graph: &Graph, program: &Program, sizes: &[(&str, i64)], seed: u64) {
    let mut session = program.session();
    let mut rng = Rng::new(seed);
    let bindings = sizes_of(graph, sizes, &mut rng);
    compare(graph, &mut session, &bindings, Elements::Tame, &mut rng);
}

/// Sizes for all symbols of a graph, some of which are given.
fn sizes_of(graph: &Graph, sizes: &[(&str, i64)], rng: &mut Rng) -> Bindings {
    let mut known = Bindings::new();
    for (name, size) in sizes {
        known.define(Symbol::new(name), *size, "the test");
    }
    complete_bindings(rng, graph, &known, 6).unwrap()
}

/// Runs a session of a program twice on random inputs, and compares with the oracle.
fn compare(graph: &Graph, session: &mut Session, bindings: &Bindings, elements: Elements, rng: &mut Rng) {
    let inputs = random_inputs(rng, graph, bindings, elements).unwrap();
    let flushes = device().capabilities().unwrap().flushes;
    let options = interp::Options { flushes, ..interp::Options::default() };
    let oracle = interp::run_bounded(graph, &inputs, &options).unwrap();
    for _ in 0..2 {
        let results = session.run_values(&inputs).unwrap_or_else(|e| panic!("{e}"));
        for ((expected, actual), output) in oracle.iter().zip(&results).zip(graph.outputs()) {
            let found = interp::compare(expected, actual, 4.0);
            let plan = session.program().plan().unwrap();
            assert!(found.ok(), "{}, {elements:?}: {found}\n{plan}", output.name);
        }
    }
}

/// The device, which all tests share.
fn device() -> Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(|| Device::preferred().unwrap_or_else(|e| panic!("{e}"))).clone()
}
