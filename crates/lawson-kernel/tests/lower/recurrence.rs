//! Loops whose elements do not need each other, against the interpreter.

use crate::support::{as_written, check};
use lawson_graph::random::Elements;
use lawson_graph::{Graph, Op};
use lawson_kernel::lower::{Lowered, recurrence};
use lawson_kernel::verify;

fn lowered(graph: &Graph) -> Result<Lowered, String> {
    let node = graph.node_ids().find(|n| matches!(graph.node(*n).op, Op::Scan(_))).unwrap();
    let outputs: Vec<_> = graph.outputs().iter().map(|o| o.value).collect();
    let lowered = recurrence(graph, node, &outputs).map_err(|r| r.to_string())?;
    verify(&lowered.kernel).unwrap_or_else(|e| panic!("{e}\n{}", lowered.kernel));
    Ok(lowered)
}

fn check_sizes(text: &str) {
    let graph = as_written(text);
    let lowered = lowered(&graph).unwrap_or_else(|e| panic!("{e}\n{graph}"));
    for (n, t) in [(5, 7), (1, 3), (4, 1), (3, 0), (0, 4)] {
        for elements in [Elements::Tame, Elements::Wild] {
            check(&graph, &lowered, &[("N", n), ("T", t)], elements, 1.0);
        }
    }
}

#[test]
fn components_of_a_state_step_together() {
    // The next state of one is the other: both are read before either is written.
    check_sizes(
        "graph @g(%a: f32[N, 2], %b: f32[N, 2], %long: f32[T]) -> (x: f32[N, 2], y: f32[N, 2]) {
           %x, %y = scan %a, %b {carried = 2, scanned = 0, length = T} body(%p: f32[N, 2], %q: f32[N, 2]) {
             %s = add %p, %q
             return %q, %s
           }
           return %x, %y
         }",
    );
}

#[test]
fn rows_are_read_and_results_stacked_in_either_order() {
    for order in ["", ", reverse = true"] {
        check_sizes(&format!(
            "graph @g(%a: f32[N], %rows: f32[T, N], %c: f32[N]) -> (x: f32[N], all: f32[T, N], sum: f32[T, N]) {{
               %x, %all, %sum = scan %a, %rows, %c {{carried = 1, scanned = 1, length = T{order}}}
                   body(%s: f32[N], %row: f32[N], %c: f32[N]) {{
                 %p = mul %s, %c
                 %next = add %p, %row
                 %u = add %s, %row
                 return %next, %s, %u
               }}
               return %x, %all, %sum
             }}"
        ));
    }
}

#[test]
fn what_is_captured_may_be_read_anywhere() {
    check_sizes(
        "graph @g(%a: f32[N, 3], %w: f32[3, N], %k: f32[1], %long: f32[T]) -> (x: f32[N, 3]) {
           %x = scan %a, %w, %k {carried = 1, scanned = 0, length = T} body(%s: f32[N, 3], %w: f32[3, N], %k: f32[1]) {
             %wt = transpose %w {perm = [1, 0]}
             %kk = reshape %k {shape = []}
             %kb = broadcast %kk {shape = [N, 3], axes = []}
             %p = mul %s, %wt
             %y = add %p, %kb
             return %y
           }
           return %x
         }",
    );
}

#[test]
fn a_body_whose_elements_need_others_is_refused() {
    let refused = |body: &str| {
        let text = format!(
            "graph @g(%a: f32[4, 4]) -> (x: f32[4, 4]) {{
               %x = scan %a {{carried = 1, scanned = 0, length = 3}} body(%s: f32[4, 4]) {{ {body} return %y }}
               return %x
             }}"
        );
        lowered(&as_written(&text)).unwrap_err()
    };
    let error = refused("%y = transpose %s {perm = [1, 0]}");
    assert!(error.contains("an element of its state needs another one"), "{error}");
    let error = refused("%y = contract %s, %s {batch = [], sum = [[1, 0]]}");
    assert!(error.contains("computes elements from several others"), "{error}");
    let error = refused("%r = reduce_sum %s {axes = [0]} %y = broadcast %r {shape = [4, 4], axes = [1]}");
    assert!(error.contains("computes elements from several others"), "{error}");
}
