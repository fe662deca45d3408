//! Composites: values against PyTorch and NumPy, types with symbolic dimensions, and errors that name the operand.

#[path = "composites/operands.rs"]
mod operands;
#[path = "composites/reference.rs"]
mod reference;
#[path = "composites/shapes.rs"]
mod shapes;

use lawson_graph::{AttrReader, Op, Registry};

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
