//! Random graphs are valid, varied and repeatable.

#![allow(clippy::unwrap_used)]

use lawson_graph::Graph;
use lawson_graph::random::{Elements, GraphShape, Rng, random_bindings, random_graph, random_inputs};
use std::collections::HashSet;

fn graph(seed: u64) -> Graph {
    random_graph(&mut Rng::new(seed), &GraphShape::default()).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_graph() {
    assert_eq!(graph(5), graph(5));
    assert_ne!(graph(5), graph(6));
}

#[test]
fn every_primitive_but_those_of_other_machines_occurs() {
    let mut seen: HashSet<String> = HashSet::new();
    for seed in 0..3000 {
        seen.extend(graph(seed).nodes().iter().map(|n| n.op.name().to_string()));
    }
    let outside = [
        "all_reduce",
        "all_gather",
        "reduce_scatter",
        "all_to_all",
        "collective_permute",
        "host_call",
        "opt_none",
    ];
    let missing: Vec<&str> = lawson_graph::Op::primitive_names()
        .into_iter()
        .filter(|n| !seen.contains(*n) && !outside.contains(n))
        .collect();
    assert!(missing.is_empty(), "never generated: {missing:?}");
}

#[test]
fn inputs_can_be_made_for_every_graph() {
    for seed in 0..300 {
        let graph = graph(seed);
        let mut rng = Rng::new(seed);
        let bindings = random_bindings(&mut rng, &graph, 16).unwrap();
        let inputs = random_inputs(&mut rng, &graph, &bindings, Elements::Wild).unwrap();
        assert_eq!(inputs.len(), graph.inputs().len());
    }
}
