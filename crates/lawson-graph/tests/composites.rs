//! Composites: values against PyTorch and NumPy, types with symbolic dimensions, and errors that name the operand.

#![allow(clippy::unwrap_used)]

#[path = "composites/operands.rs"]
mod operands;
#[path = "composites/own.rs"]
mod own;
#[path = "composites/reference.rs"]
mod reference;
#[path = "composites/shapes.rs"]
mod shapes;

use lawson_graph::interp::{self, Options};
use lawson_graph::{AttrReader, Builder, Graph, HostTensor, Op, Registry, Type, Value};

#[test]
fn every_composite_has_an_example_that_uses_it() {
    let all = Registry::standard().examples().unwrap();
    assert!(all.len() >= 40);
    for (name, graphs) in all {
        assert!(!graphs.is_empty(), "{name} has no example");
        for graph in graphs {
            assert!(
                graph.nodes().iter().any(|n| n.op.name() == name),
                "an example of {name} does not use it"
            );
        }
    }
}

#[test]
fn every_composite_reads_back_the_attributes_that_it_prints() {
    for (name, graphs) in Registry::standard().examples().unwrap() {
        for node in graphs.iter().flat_map(|g| g.nodes()) {
            let attrs = node.op.attrs().into_iter().map(|(n, a)| (n.to_string(), a)).collect();
            let read =
                Op::from_parts(name, AttrReader::new(name, attrs), Vec::new(), Registry::standard()).unwrap();
            assert_eq!(read, node.op);
        }
    }
}

#[test]
fn every_example_runs_and_gives_values_of_the_inferred_types() {
    for (name, graphs) in Registry::standard().examples().unwrap() {
        for graph in graphs {
            let inputs: Vec<Value> = graph.inputs().iter().map(|v| numbers(graph.ty(*v)).into()).collect();
            let results = interp::run(&graph, &inputs, &Options::default()).unwrap();
            assert_eq!(results.len(), graph.outputs().len(), "{name}");
            for (output, value) in graph.outputs().iter().zip(results) {
                let (Type::Tensor(ty), Value::Tensor(t)) = (graph.ty(output.value), value) else {
                    panic!("{name}");
                };
                assert_eq!((ty.dtype, ty.rank()), (t.dtype(), t.sizes().len()), "{name}");
                let fits =
                    ty.shape.iter().zip(t.sizes()).all(|(d, s)| d.as_const().is_none_or(|c| c == *s as i64));
                assert!(fits, "{name}: {} is not {ty}", t.ty());
            }
        }
    }
}

#[test]
fn a_patch_that_decomposes_leaves_every_value_as_it_was() {
    for (name, graphs) in Registry::standard().examples().unwrap() {
        for graph in graphs {
            let inputs: Vec<Value> = graph.inputs().iter().map(|v| numbers(graph.ty(*v)).into()).collect();
            let before = interp::run(&graph, &inputs, &Options::default()).unwrap();
            let lowered = decomposed(graph);
            assert!(lowered.nodes().iter().all(|n| !n.op.is_composite()), "{name}");
            let after = interp::run(&lowered, &inputs, &Options::default()).unwrap();
            assert_eq!(before, after, "{name}");
        }
    }
}

/// The graph with its composites replaced by primitives only.
fn decomposed(mut graph: Graph) -> Graph {
    while graph.nodes().iter().any(|n| n.op.is_composite()) {
        let mut b = Builder::over(&graph);
        let mut pairs = Vec::new();
        for node in graph.nodes() {
            if let Op::Composite(c) = &node.op {
                let results = c.decompose(&mut b, &node.inputs).unwrap();
                pairs.extend(node.outputs.iter().copied().zip(results));
            }
        }
        let mut patch = b.into_patch();
        for (old, new) in pairs {
            patch.replace(old, new);
        }
        graph = graph.apply(patch).unwrap();
    }
    graph
}

/// A tensor of that type with small numbers.
fn numbers(ty: &Type) -> HostTensor {
    let ty = ty.as_tensor().unwrap();
    let sizes = ty.shape.as_const().unwrap();
    let n: usize = sizes.iter().product();
    if ty.dtype.is_float() {
        let values: Vec<f64> = (0..n).map(|i| (i % 7) as f64 * 0.5 - 1.0).collect();
        HostTensor::from_floats(ty.dtype, &sizes, &values).unwrap()
    } else {
        let values: Vec<i128> = (0..n).map(|i| (i % 3) as i128).collect();
        HostTensor::from_ints(ty.dtype, &sizes, &values).unwrap()
    }
}
