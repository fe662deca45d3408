//! Random graphs, a kernel a node: the differential test that targets reuse.

use lawson_graph::random::{Elements, GraphShape, Rng, random_bindings, random_graph, random_inputs};
use lawson_graph::{Def, Graph, HostTensor, NodeId, Output, ValueId, interp};
use lawson_kernel::lower::{self, Step, run_steps, steps};
use lawson_kernel::{Group, Refused, eval};
use std::collections::HashSet;

#[test]
fn random_graphs_run_node_by_node_as_on_the_interpreter() {
    let shape = GraphShape { control: false, ..GraphShape::default() };
    let options = interp::Options::default();
    let (mut kernels, mut others, mut compared, mut undetermined) = (0, 0, 0, 0);
    for seed in 0..1000 {
        let graph = random_graph(&mut Rng::new(seed), &shape).unwrap();
        for (n, step) in steps(&graph) {
            match step {
                Step::Kernel(_) => kernels += 1,
                Step::Constant => {}
                Step::Reference(why) => {
                    let name = graph.node(n).op.name();
                    let known = ["sort", "scatter", "random_bits"];
                    let text = why.to_string();
                    assert!(
                        known.iter().any(|k| name.starts_with(k))
                            || text.contains("str")
                            || text.contains("another dtype"),
                        "seed {seed}: {text}"
                    );
                    others += 1;
                }
            }
        }
        let mut rng = Rng::new(seed);
        let bindings = random_bindings(&mut rng, &graph, 6).unwrap();
        let elements = if seed % 2 == 0 { Elements::Tame } else { Elements::Wild };
        let inputs = random_inputs(&mut rng, &graph, &bindings, elements).unwrap();
        let oracle = interp::run_bounded(&graph, &inputs, &options).unwrap();
        let results = run_steps(&graph, &inputs, &options, |lowered, params, buffers| {
            eval::run(&lowered.kernel, params, buffers, &eval::Options::default())
        })
        .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{graph}"));
        for ((expected, actual), output) in oracle.iter().zip(&results).zip(graph.outputs()) {
            let found = interp::compare(expected, actual, 1.0);
            assert!(found.ok(), "seed {seed}, {}: {found}\n{graph}\n{inputs:?}", output.name);
            compared += found.compared;
            undetermined += found.undetermined;
        }
    }
    println!("{kernels} kernels, {others} other nodes; {compared} elements compared, {undetermined} not");
    assert!(kernels > 4 * others && compared > 4 * undetermined);
}

/// The nodes that a value is computed from, as far as kernels compute them.
fn cone(graph: &Graph, v: ValueId, lowered: &HashSet<NodeId>) -> Vec<NodeId> {
    let (mut nodes, mut todo) = (HashSet::new(), vec![v]);
    while let Some(v) = todo.pop() {
        if let Def::Node(n, _) = graph.value(v).def
            && lowered.contains(&n)
            && nodes.insert(n)
        {
            todo.extend(&graph.node(n).inputs);
        }
    }
    let mut nodes: Vec<NodeId> = nodes.into_iter().collect();
    nodes.sort();
    nodes
}

#[test]
fn everything_that_a_value_needs_in_one_kernel_gives_the_same() {
    let shape = GraphShape { control: false, ..GraphShape::default() };
    let options = interp::Options::default();
    let (mut fused, mut refused, mut apart, mut compared) = (0, 0, 0, 0);
    for seed in 0..1000 {
        let graph = random_graph(&mut Rng::new(seed), &shape).unwrap();
        // Every tensor is an output, so that what comes into a kernel is known.
        let mut parts = graph.into_parts();
        let is_tensor = |v: &ValueId| parts.values[v.index()].ty.as_tensor().is_some();
        let all: Vec<ValueId> = (0..parts.values.len()).map(ValueId::new).filter(is_tensor).collect();
        let output = |v: &ValueId| Output { name: format!("v{}", v.index()), value: *v, lives_in: None };
        parts.outputs = all.iter().map(output).collect();
        let graph = Graph::from_parts(parts);
        let mut rng = Rng::new(seed);
        let bindings = random_bindings(&mut rng, &graph, 6).unwrap();
        let params: Vec<_> = bindings.iter().map(|(s, v)| (s.clone(), v)).collect();
        let elements = if seed % 2 == 0 { Elements::Tame } else { Elements::Wild };
        let inputs = random_inputs(&mut rng, &graph, &bindings, elements).unwrap();
        let oracle = interp::run_bounded(&graph, &inputs, &options).unwrap();
        let values = interp::run(&graph, &inputs, &options).unwrap();
        let tensor = |v: &ValueId| values[all.iter().position(|a| a == v).unwrap()].as_tensor().unwrap();
        let (kernels, others): (Vec<_>, Vec<_>) =
            steps(&graph).into_iter().partition(|s| matches!(s.1, Step::Kernel(_) | Step::Constant));
        // What others read is not computed again: it could be rounded differently than for them.
        let read: HashSet<ValueId> = others.iter().flat_map(|s| graph.node(s.0).inputs.clone()).collect();
        let lowered: HashSet<NodeId> = kernels
            .into_iter()
            .map(|s| s.0)
            .filter(|n| !graph.node(*n).outputs.iter().any(|v| read.contains(v)))
            .collect();
        for (v, expected) in all.iter().zip(&oracle) {
            let nodes = cone(&graph, *v, &lowered);
            if nodes.len() < 2 {
                continue;
            }
            let group = Group { nodes, outputs: vec![*v] };
            let options = lower::Options {
                rows: if rng.one_in(2) { lower::Rows::Each } else { lower::Rows::Blocks(rng.between(1, 4)) },
                ..lower::Options::default()
            };
            let lowered = match lower::lower_with(&graph, &group, &options) {
                Ok(lowered) => lowered,
                // Indices must be in memory before a kernel starts, and nothing follows what runs along an axis.
                Err(Refused::Operator { op, .. })
                    if ["gather", "dynamic_slice", "update_slice"].contains(&&*op)
                        || op.starts_with("cumulative") =>
                {
                    apart += 1;
                    continue;
                }
                Err(Refused::Halo { .. } | Refused::Unbounded { .. }) => {
                    refused += 1;
                    continue;
                }
                Err(e) => panic!("seed {seed}, {v:?}: {e}\n{graph}"),
            };
            let mut buffers: Vec<Vec<u8>> =
                lowered.inputs.iter().map(|v| tensor(v).bytes().to_vec()).collect();
            let like = tensor(v);
            buffers.push(vec![0; like.bytes().len()]);
            let order = if rng.one_in(2) { eval::Order::Forward } else { eval::Order::Reverse };
            eval::run(&lowered.kernel, &params, &mut buffers, &eval::Options { order, ..Default::default() })
                .unwrap_or_else(|e| panic!("seed {seed}, {v:?}: {e}\n{graph}\n{:#?}", lowered.kernel.body));
            let result = HostTensor::from_bytes(like.dtype(), like.sizes(), buffers.pop().unwrap()).unwrap();
            let found = interp::compare(expected, &result.into(), 1.0);
            assert!(found.ok(), "seed {seed}, {v:?}: {found}\n{graph}\n{:#?}", lowered.kernel);
            fused += 1;
            compared += found.compared;
        }
    }
    println!("{fused} groups, {refused} refused, {apart} not in one kernel; {compared} elements compared");
    assert!(fused > 20 * refused && fused > 10 * apart);
}
