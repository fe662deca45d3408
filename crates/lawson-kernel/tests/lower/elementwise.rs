//! Elementwise operators and views: index arithmetic and joined loops.

use crate::support::{as_written, check, check_text, depth, loops, lower_whole};
use lawson_graph::random::Elements;
use lawson_kernel::{Group, Refused, lower};

#[test]
fn a_dense_chain_has_one_loop() {
    let k = check_text(
        "graph @g(%x: f32[3, 5, 7], %y: f32[3, 5, 7]) -> (z: f32[3, 5, 7]) {
           %a = add %x, %y
           %b = exp %a
           %z = mul %b, %x
           return %z
         }",
    );
    assert_eq!(loops(&k), 1);
    assert_eq!(k.buffers[0].dims.len(), 1);
}

#[test]
fn row_and_column_broadcasts_leave_two_loops() {
    let k = check_text(
        "graph @g(%x: f32[4, 6, 5], %r: f32[5], %c: f32[4, 6, 1]) -> (z: f32[4, 6, 5]) {
           %a = broadcast %r {shape = [4, 6, 5], axes = [2]}
           %b = broadcast %c {shape = [4, 6, 5], axes = [0, 1, 2]}
           %d = sub %x, %a
           %z = mul %d, %b
           return %z
         }",
    );
    assert_eq!(loops(&k), 2);
}

#[test]
fn reshapes_join_and_split_axes() {
    let k = check_text(
        "graph @g(%x: f32[12, 5], %y: f32[3, 4, 5]) -> (z: f32[3, 4, 5]) {
           %a = reshape %x {shape = [3, 4, 5]}
           %z = add %a, %y
           return %z
         }",
    );
    assert_eq!(loops(&k), 1);
    check_text(
        "graph @g(%x: f32[6, 4]) -> (z: f32[3, 8]) {
           %t = transpose %x {perm = [1, 0]}
           %a = reshape %t {shape = [3, 8]}
           %z = neg %a
           return %z
         }",
    );
}

#[test]
fn a_reshape_that_joins_axes_divides_nothing() {
    for (from, to) in [("N, 4", "4*N"), ("4, N", "4*N"), ("3, N, 2, 5", "30*N"), ("M, N, 3", "M, 3*N")] {
        let graph = as_written(&format!(
            "graph @g(%x: f32[{from}], %s: f32[M]) -> (z: f32[{to}]) {{
               %a = exp %x
               %z = reshape %a {{shape = [{to}]}}
               return %z
             }}"
        ));
        let lowered = lower_whole(&graph, &Default::default());
        for (n, m) in [(0, 2), (1, 1), (5, 3)] {
            check(&graph, &lowered, &[("N", n), ("M", m)], Elements::Tame, 1.0);
        }
        let text = format!("{:?}", lowered.kernel.exprs);
        assert!(!text.contains('/') && !text.contains('%'), "{text}");
    }
}

#[test]
fn symbolic_dimensions_are_parameters() {
    let graph = as_written(
        "graph @g(%x: f32[N, M], %y: f32[M]) -> (z: f32[N, M]) {
           %a = broadcast %y {shape = [N, M], axes = [1]}
           %z = max %x, %a
           return %z
         }",
    );
    let lowered = lower_whole(&graph, &Default::default());
    for (n, m) in [(1, 1), (0, 3), (3, 0), (5, 7), (2, 1)] {
        check(&graph, &lowered, &[("N", n), ("M", m)], Elements::Wild, 1.0);
    }
}

#[test]
fn slices_pads_and_concats_are_index_arithmetic() {
    check_text(
        "graph @g(%x: f32[7, 5]) -> (z: f32[3, 5]) {
           %a = slice %x {start = [6, 0], size = [3, 5], step = [-2, 1]}
           %z = abs %a
           return %z
         }",
    );
    check_text(
        "graph @g(%x: f32[3, 4], %v: f32[], %w: f32[3, 4]) -> (z: f32[8, 13]) {
           %e = exp %x
           %p = pad %e, %v {low = [1, 2], high = [2, 1], interior = [0, 2]}
           %q = pad %w, %v {low = [1, 2], high = [2, 1], interior = [0, 2]}
           %s = add %p, %q
           %z = pad %s, %v {low = [2, 0], high = [0, 0], interior = [0, 0]}
           return %z
         }",
    );
    check_text(
        "graph @g(%x: f32[3, 4], %y: f32[3, 1], %w: f32[3, 2]) -> (z: f32[3, 7]) {
           %e = exp %y
           %c = concat %x, %e, %w {axis = 1}
           %z = neg %c
           return %z
         }",
    );
}

#[test]
fn other_dtypes_mean_what_the_graph_means() {
    check_text(
        "graph @g(%x: i8[9], %y: i8[9], %h: f16[9]) -> (a: i8[9], b: bool[9], c: i32[9], d: f16[9]) {
           %a = div %x, %y
           %b = lt %x, %y
           %c = cast %h {to = i32}
           %s = exp %h
           %d = mul %s, %h
           return %a, %b, %c, %d
         }",
    );
    check_text(
        "graph @g(%x: f32[3, 5]) -> (a: f32[3, 5]) {
           %i = iota {dtype = i32, shape = [3, 5], axis = 1}
           %j = iota {dtype = i32, shape = [3, 5], axis = 0}
           %m = le %i, %j
           %l: f32[] = constant -inf
           %b = broadcast %l {shape = [3, 5], axes = []}
           %a = select %m, %x, %b
           return %a
         }",
    );
}

#[test]
fn outputs_of_fewer_axes_stand_in_outer_loops() {
    let k = check_text(
        "graph @g(%x: f32[4, 6], %y: f32[4]) -> (a: f32[4, 6], b: f32[4]) {
           %b = exp %y
           %c = broadcast %b {shape = [4, 6], axes = [0]}
           %a = mul %x, %c
           return %a, %b
         }",
    );
    assert_eq!((loops(&k), depth(&k)), (2, 2));
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let graph = as_written(
        "graph @g(%x: f32[4]) -> (y: f32[4]) {
           %y = sort %x {axis = 0}
           return %y
         }",
    );
    let refused = lower::lower(&graph, &Group::whole(&graph).unwrap()).unwrap_err();
    assert!(matches!(&refused, Refused::Operator { op, .. } if op == "sort"), "{refused}");
    let graph = as_written(
        "graph @g(%x: f32[4], %y: f32[5]) -> (a: f32[4], b: f32[5]) {
           %a = neg %x
           %b = neg %y
           return %a, %b
         }",
    );
    let refused = lower::lower(&graph, &Group::whole(&graph).unwrap()).unwrap_err();
    assert!(matches!(refused, Refused::Spaces { .. }), "{refused}");
}
