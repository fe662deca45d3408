//! Attention by online softmax against its decomposition.

use crate::support::{as_written, check, run_whole};
use lawson_graph::random::Elements;
use lawson_graph::{Bindings, Graph, HostTensor, NodeId, Op, Symbol, Value};
use lawson_kernel::eval::Order;
use lawson_kernel::lower::{Blocks, Lowered, attention};

fn graph(shapes: &str, attributes: &str) -> Graph {
    let mask = if shapes.contains("mask") { ", %mask" } else { "" };
    as_written(&format!(
        "graph @g({shapes}) -> (y: f32[B, H, S, 6]) {{
           %y = attention %q, %k, %v{mask} {attributes}
           return %y
         }}"
    ))
}

fn lowered(graph: &Graph, queries: i64, keys: i64) -> Lowered {
    let node = graph.node_ids().find(|n| matches!(graph.node(*n).op, Op::Composite(_))).unwrap();
    attention(graph, node, Blocks { queries, keys }).unwrap()
}

const PLAIN: &str = "%q: f32[B, H, S, 5], %k: f32[B, H, T, 5], %v: f32[B, H, T, 6]";

fn check_sizes(graph: &Graph, elements: Elements) {
    for (queries, keys) in [(4, 3), (1, 1), (16, 16)] {
        let lowered = lowered(graph, queries, keys);
        for (s, t) in [(5, 7), (1, 9), (9, 1), (4, 3), (3, 0), (0, 4)] {
            check(graph, &lowered, &[("B", 2), ("H", 2), ("S", s), ("T", t)], elements, 1.0);
        }
    }
}

#[test]
fn blocks_of_queries_and_keys_give_the_same_as_whole_rows() {
    check_sizes(&graph(PLAIN, ""), Elements::Tame);
    check_sizes(&graph(PLAIN, "{scale = 0.25}"), Elements::Tame);
}

#[test]
fn causal_masks_skip_blocks_and_cut_the_diagonal() {
    check_sizes(&graph(PLAIN, "{causal = top_left}"), Elements::Tame);
    check_sizes(&graph(PLAIN, "{causal = bottom_right}"), Elements::Tame);
}

#[test]
fn masks_are_added_or_hide() {
    check_sizes(&graph(&format!("{PLAIN}, %mask: f32[S, T]"), ""), Elements::Tame);
    // Some rows see nothing at all: zeros, not NaN.
    check_sizes(&graph(&format!("{PLAIN}, %mask: bool[H, 1, T]"), ""), Elements::Tame);
    check_sizes(&graph(&format!("{PLAIN}, %mask: bool[B, 1, S, T]"), "{causal = top_left}"), Elements::Tame);
}

#[test]
fn infinities_and_nan_in_scores_spread_as_in_the_decomposition() {
    check_sizes(&graph(PLAIN, ""), Elements::Wild);
    check_sizes(&graph(&format!("{PLAIN}, %mask: f32[H, S, T]"), ""), Elements::Wild);
}

#[test]
fn means_of_values_near_the_greatest_float_do_not_overflow() {
    for keys in ["7", "T"] {
        let graph = as_written(&format!(
            "graph @g(%q: f32[1, 1, 3, 2], %k: f32[1, 1, {keys}, 2], %v: f32[1, 1, {keys}, 2]) -> (y: f32[1, 1, 3, 2]) {{
               %y = attention %q, %k, %v
               return %y
             }}"
        ));
        let rows =
            |n: usize, x: f32| Value::Tensor(HostTensor::from_slice(&[1, 1, n, 2], &vec![x; 2 * n]).unwrap());
        let inputs = [rows(3, 0.5), rows(7, 0.25), rows(7, 3e38)];
        let mut sizes = Bindings::new();
        sizes.define(Symbol::new("T"), 7, "the test");
        let results = run_whole(&graph, &lowered(&graph, 2, 4), &sizes, &inputs, Order::Forward);
        for y in results[0].as_tensor().unwrap().to_vec::<f32>().unwrap() {
            assert!((y / 3e38 - 1.0).abs() < 1e-6, "{y}");
        }
    }
}

#[test]
fn query_heads_share_key_heads() {
    let graph = as_written(
        "graph @g(%q: f32[2, 6, 5, 4], %k: f32[2, 3, 7, 4], %v: f32[2, 3, 7, 3]) -> (y: f32[2, 6, 5, 3]) {
           %y = attention %q, %k, %v {causal = bottom_right}
           return %y
         }",
    );
    check(&graph, &lowered(&graph, 2, 4), &[], Elements::Tame, 1.0);
}

#[test]
fn narrow_floats_are_computed_in_f32() {
    let graph = as_written(
        "graph @g(%q: f16[1, 2, 5, 4], %k: f16[1, 2, 7, 4], %v: f16[1, 2, 7, 3]) -> (y: f16[1, 2, 5, 3]) {
           %y = attention %q, %k, %v
           return %y
         }",
    );
    check(&graph, &lowered(&graph, 2, 4), &[], Elements::Tame, 1.0);
}

#[test]
fn other_nodes_are_refused() {
    let graph = as_written("graph @g(%x: f32[2]) -> (y: f32[2]) { %y = neg %x return %y }");
    let refused = attention(&graph, NodeId::new(0), Blocks { queries: 4, keys: 4 }).unwrap_err();
    assert_eq!(refused.to_string(), "expected an `attention` node, found `neg`");
}
