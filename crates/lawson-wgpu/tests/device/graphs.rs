//! Graphs lowered to one kernel each, on the device, against the oracle with its bounds.

use crate::support::{gpu, oracle_options, run};
use lawson_graph::random::{Elements, Rng, complete_bindings, random_inputs};
use lawson_graph::{Bindings, Graph, HostTensor, Op, Symbol, Value, interp};
use lawson_kernel::Group;
use lawson_kernel::choose::{Freedom, choose};
use lawson_kernel::lower::{Blocks, Lowered, Options, Rows, attention, lower_with};
use lawson_kernel::machine::Machine;
use lawson_opt::Pipeline;

fn parse(text: &str) -> Graph {
    Graph::parse(&format!("lawson 1\n{text}")).unwrap_or_else(|e| panic!("{e}"))
}

fn lowered(text: &str, rows: Rows) -> (Graph, Lowered) {
    let graph = Pipeline::standard().run(&parse(text)).unwrap();
    let group = Group::whole(&graph).unwrap();
    let lowered = lower_with(&graph, &group, &Options { rows, ..Options::default() })
        .unwrap_or_else(|e| panic!("{e}\n{graph}"));
    (graph, lowered)
}

/// Runs a kernel that computes a whole graph.
fn on_device(graph: &Graph, lowered: &Lowered, bindings: &Bindings, inputs: &[Value]) -> Vec<Value> {
    let symbols: Vec<(Symbol, i64)> = bindings.iter().map(|(s, v)| (s.clone(), v)).collect();
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    for (i, v) in lowered.inputs.iter().enumerate() {
        let given = || graph.inputs().iter().position(|p| p == v).and_then(|p| inputs[p].as_tensor());
        buffers.push(lowered.constant(graph, i).or_else(given).unwrap().bytes().to_vec());
    }
    let mut types = Vec::new();
    for v in &lowered.outputs {
        let ty = graph.ty(*v).as_tensor().unwrap();
        let sizes = bindings.eval_shape(&ty.shape).unwrap();
        buffers.push(HostTensor::zeros(ty.dtype, &sizes).unwrap().bytes().to_vec());
        types.push((ty.dtype, sizes));
    }
    run(gpu(), &lowered.kernel, &symbols, &mut buffers)
        .unwrap_or_else(|e| panic!("{e}\n{graph}\n{}", lowered.kernel));
    let results = buffers.split_off(lowered.inputs.len());
    let value = |v| {
        let at = lowered.outputs.iter().position(|o| o == v).unwrap();
        HostTensor::from_bytes(types[at].0, &types[at].1, results[at].clone()).unwrap().into()
    };
    graph.outputs().iter().map(|o| value(&o.value)).collect()
}

/// Checks a kernel of a whole graph, as it was lowered and as a processor would have it scheduled.
fn check(graph: &Graph, lowered: &Lowered, sizes: &[(&str, i64)], slack: f64) {
    check_kernel(graph, lowered, sizes, slack);
    let mut scheduled = lowered.clone();
    choose(&mut scheduled.kernel, &Machine::default(), &Freedom::default()).unwrap();
    check_kernel(graph, &scheduled, sizes, slack);
}

/// Checks a kernel with tame and wild elements, for these sizes of symbols.
fn check_kernel(graph: &Graph, lowered: &Lowered, sizes: &[(&str, i64)], slack: f64) {
    let mut rng = Rng::new(7);
    let mut known = Bindings::new();
    for (name, size) in sizes {
        known.define(Symbol::new(name), *size, "the test");
    }
    let bindings = complete_bindings(&mut rng, graph, &known, 6).unwrap();
    for elements in [Elements::Tame, Elements::Wild] {
        let inputs = random_inputs(&mut rng, graph, &bindings, elements).unwrap();
        let oracle = interp::run_bounded(graph, &inputs, &oracle_options()).unwrap();
        let results = on_device(graph, lowered, &bindings, &inputs);
        for ((expected, actual), output) in oracle.iter().zip(&results).zip(graph.outputs()) {
            let found = interp::compare(expected, actual, slack);
            let (name, kernel) = (&output.name, &lowered.kernel);
            assert!(found.ok(), "{name}, {elements:?}, {sizes:?}: {found}\n{graph}\n{kernel}");
        }
    }
}

fn check_text(text: &str) {
    let (graph, lowered) = lowered(text, Rows::Each);
    check(&graph, &lowered, &[], 1.0);
}

#[test]
fn elementwise_with_broadcasts_and_views() {
    check_text(
        "graph @g(%x: f32[4, 6, 5], %r: f32[5], %c: f32[4, 6, 1]) -> (z: f32[4, 6, 5]) {
           %a = broadcast %r {shape = [4, 6, 5], axes = [2]}
           %b = broadcast %c {shape = [4, 6, 5], axes = [0, 1, 2]}
           %d = sub %x, %a
           %z = mul %d, %b
           return %z
         }",
    );
    check_text(
        "graph @g(%x: f32[6, 4]) -> (z: f32[3, 8]) {
           %t = transpose %x {perm = [1, 0]}
           %a = reshape %t {shape = [3, 8]}
           %z = exp %a
           return %z
         }",
    );
    check_text(
        "graph @g(%x: f32[3, 4], %v: f32[], %w: f32[3, 4]) -> (z: f32[8, 13]) {
           %e = tanh %x
           %p = pad %e, %v {low = [1, 2], high = [2, 1], interior = [0, 2]}
           %q = pad %w, %v {low = [1, 2], high = [2, 1], interior = [0, 2]}
           %s = add %p, %q
           %z = pad %s, %v {low = [2, 0], high = [0, 0], interior = [0, 0]}
           return %z
         }",
    );
}

#[test]
fn reductions() {
    for (kind, axes, kept) in
        [("sum", "[1]", "3, 5"), ("max", "[2]", "3, 4"), ("min", "[0, 2]", "4"), ("prod", "[0, 1, 2]", "")]
    {
        check_text(&format!(
            "graph @g(%x: f32[3, 4, 5]) -> (z: f32[{kept}]) {{
               %z = reduce_{kind} %x {{axes = {axes}}}
               return %z
             }}"
        ));
        check_text(&format!(
            "graph @g(%x: i32[3, 4, 5]) -> (z: i32[{kept}]) {{
               %z = reduce_{kind} %x {{axes = {axes}}}
               return %z
             }}"
        ));
    }
    check_text("graph @g(%x: bool[3, 7]) -> (z: bool[3]) { %z = reduce_and %x {axes = [1]} return %z }");
}

#[test]
fn contractions_of_any_size() {
    let (graph, lowered) = lowered(
        "graph @g(%x: f32[N, K], %y: f32[K, M]) -> (z: f32[N, M]) {
           %t = tanh %x
           %z = contract %t, %y {batch = [], sum = [[1, 0]]}
           return %z
         }",
        Rows::Each,
    );
    for (n, m, k) in [(1, 1, 1), (0, 3, 2), (3, 2, 0), (5, 7, 11), (17, 1, 3), (70, 90, 5)] {
        check(&graph, &lowered, &[("N", n), ("M", m), ("K", k)], 1.0);
    }
}

#[test]
fn convolutions_and_windows() {
    check_text(
        "graph @g(%x: f32[2, 4, 7, 8], %w: f32[6, 2, 3, 3]) -> (y: f32[2, 6, 4, 4]) {
           %y = convolve %x, %w {stride = [2, 2], low = [1, 1], high = [1, 1], input_dilation = [1, 1], kernel_dilation = [1, 1], groups = 2}
           return %y
         }",
    );
    check_text(
        "graph @g(%x: f32[2, 7, 6]) -> (z: f32[2, 4, 3]) {
           %a = neg %x
           %z = window_max %a {window = [1, 3, 2], stride = [1, 2, 3], dilation = [1, 1, 2], low = [0, 1, 2], high = [0, 1, 1]}
           return %z
         }",
    );
}

#[test]
fn rows_of_softmax_and_layer_norm() {
    for text in [
        "graph @g(%x: f32[N, 9]) -> (y: f32[N, 9]) { %y = softmax %x {axis = 1} return %y }",
        "graph @g(%x: f32[N, 7], %s: f32[7], %b: f32[7]) -> (y: f32[N, 7]) {
           %n = layer_norm %x, %s, %b {axis = 1}
           %y = gelu %n
           return %y
         }",
    ] {
        let (graph, lowered) = lowered(text, Rows::Each);
        for n in [0, 1, 5, 130] {
            check(&graph, &lowered, &[("N", n)], 2.0);
        }
    }
}

#[test]
fn chains_of_layers_over_blocks_of_rows() {
    let text =
        "graph @g(%x: f32[N, 6], %v: f32[6, 6], %a: f32[6], %w: f32[6, 6], %b: f32[6]) -> (y: f32[N, 6]) {
                  %h = linear %x, %v, %a
                  %r = relu %h
                  %k = linear %r, %w, %b
                  %t = tanh %k
                  %y = softmax %t {axis = 1}
                  return %y
                }";
    for rows in [Rows::Each, Rows::Blocks(4)] {
        let (graph, lowered) = lowered(text, rows);
        for n in [0, 1, 4, 7] {
            check(&graph, &lowered, &[("N", n)], 2.0);
        }
    }
}

#[test]
fn attention_by_online_softmax() {
    for (mask, attributes) in [("", ""), ("", "{causal = top_left}"), (", %mask: bool[B, 1, S, T]", "")] {
        let operand = if mask.is_empty() { "" } else { ", %mask" };
        let graph = parse(&format!(
            "graph @g(%q: f32[B, H, S, 5], %k: f32[B, H, T, 5], %v: f32[B, H, T, 6]{mask}) -> (y: f32[B, H, S, 6]) {{
               %y = attention %q, %k, %v{operand} {attributes}
               return %y
             }}"
        ));
        let node = graph.node_ids().find(|n| matches!(graph.node(*n).op, Op::Composite(_))).unwrap();
        let lowered = attention(&graph, node, Blocks { queries: 4, keys: 3 }).unwrap();
        for (s, t) in [(5, 7), (1, 9), (9, 1), (3, 0), (0, 4)] {
            check(&graph, &lowered, &[("B", 2), ("H", 2), ("S", s), ("T", t)], 2.0);
        }
    }
}
