//! Orders of dimensions: which values lie with their channels last, and what kernels make of it.
#![allow(clippy::unwrap_used)]

use lawson_graph::{Graph, ValueId};
use lawson_kernel::compile::compile;
use lawson_kernel::layout::orders;
use lawson_kernel::machine::Machine;

fn graph(text: &str) -> Graph {
    Graph::parse(&format!("lawson 1\n{text}")).unwrap_or_else(|e| panic!("{e}"))
}

fn named(graph: &Graph, name: &str) -> ValueId {
    (0..graph.values().len()).map(ValueId::new).find(|v| graph.value_name(*v) == name).unwrap()
}

/// Two convolutions with what may stand between them.
fn network(channels: usize, image: usize) -> Graph {
    let (c, s, h) = (channels, image, image / 2);
    let conv =
        "{stride = [1, 1], low = [1, 1], high = [1, 1], input_dilation = [1, 1], kernel_dilation = [1, 1]}";
    graph(&format!(
        "graph @net(%x: f32[1, 3, {s}, {s}], %w: f32[{c}, 3, 3, 3], %u: f32[{c}, {c}, 3, 3]) -> (y: f32[1, {c}, {h}, {h}], flat: f32[{c}]) {{
           %a = convolve %x, %w {conv}
           %r = exp %a
           %p = window_max %r {{window = [1, 1, 2, 2], stride = [1, 1, 2, 2], dilation = [1, 1, 1, 1], low = [0, 0, 0, 0], high = [0, 0, 0, 0]}}
           %b = convolve %p, %u {conv}
           %s = add %b, %p
           %y = neg %s
           %flat = reduce_sum %s {{axes = [0, 2, 3]}}
           return %y, %flat
         }}"
    ))
}

#[test]
fn values_between_convolutions_lie_with_channels_last() {
    let g = network(32, 8);
    let orders = orders(&g, &Machine::default());
    for name in ["a", "r", "p", "b", "s"] {
        assert_eq!(orders.order(named(&g, name)), Some(&[0, 2, 3, 1][..]), "{name}");
    }
}

#[test]
fn inputs_outputs_and_constants_lie_as_the_caller_has_them() {
    let g = network(32, 8);
    let orders = orders(&g, &Machine::default());
    for name in ["x", "w", "u", "y", "flat"] {
        assert_eq!(orders.order(named(&g, name)), None, "{name}");
    }
}

#[test]
fn few_channels_of_a_large_image_stay_first() {
    let g = network(2, 256);
    let orders = orders(&g, &Machine::default());
    assert_eq!(orders.order(named(&g, "r")), None);
    let compared = &orders.compared[0];
    assert!(compared.first < compared.last, "{compared:?}");
}

#[test]
fn kernels_of_convolutions_have_channels_innermost() {
    let plan = compile(&network(32, 8), &Machine::default()).unwrap();
    let pooled = plan.kernels.iter().flat_map(|k| &k.buffers).find(|b| b.name == "p").unwrap();
    let last = pooled.dims.last().and_then(|d| d.as_const());
    assert_eq!(last, Some(32), "{:?}", pooled.dims);
}

#[test]
fn values_of_operators_that_no_kernel_computes_stay() {
    let g = graph(
        "graph @g(%x: f32[1, 3, 8, 8], %w: f32[32, 3, 1, 1]) -> (y: f32[1, 32, 8, 8]) {
           %a = convolve %x, %w {stride = [1, 1], low = [0, 0], high = [0, 0], input_dilation = [1, 1], kernel_dilation = [1, 1]}
           %r = exp %a
           %y = sort %r {axis = 1}
           return %y
         }",
    );
    let orders = orders(&g, &Machine::default());
    assert_eq!(orders.order(named(&g, "r")), None);
    assert!(orders.order(named(&g, "a")).is_some());
}
