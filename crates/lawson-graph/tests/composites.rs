//! Composites: examples, types, errors, and values.
use lawson_graph::*;

#[test]
fn every_composite_has_examples() {
    for (name, graphs) in Registry::standard().examples().unwrap() {
        assert!(!graphs.is_empty(), "{name}");
        for graph in graphs {
            for o in graph.outputs() {
                println!("{name}: {}", graph.ty(o.value));
            }
        }
    }
}
