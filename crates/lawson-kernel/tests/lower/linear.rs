//! Reductions, contractions, convolutions and windows, with what stands before and after them.

use crate::support::{as_written, check, check_text, loops, lower_whole, primitives};
use lawson_graph::random::Elements;
use lawson_kernel::lower::Options;

#[test]
fn reductions_over_any_axes() {
    for axes in ["[0]", "[1]", "[2]", "[0, 2]", "[1, 2]", "[0, 1, 2]"] {
        for kind in ["sum", "prod", "max", "min"] {
            let sizes = [3, 4, 5];
            let kept: Vec<String> =
                (0..3).filter(|a| !axes.contains(&a.to_string())).map(|a| sizes[a].to_string()).collect();
            check_text(&format!(
                "graph @g(%x: f32[3, 4, 5]) -> (z: f32[{0}]) {{
                   %a = mul %x, %x
                   %r = reduce_{kind} %a {{axes = {axes}}}
                   %z = sqrt %r
                   return %z
                 }}",
                kept.join(", ")
            ));
        }
    }
}

#[test]
fn sums_over_neighbouring_axes_have_one_loop() {
    let k = check_text(
        "graph @g(%x: f32[2, 3, 4, 5]) -> (z: f32[2, 3]) {
           %z = reduce_sum %x {axes = [2, 3]}
           return %z
         }",
    );
    assert_eq!(loops(&k), 2);
}

#[test]
fn reductions_of_narrow_floats_integers_and_nothing() {
    check_text(
        "graph @g(%x: f16[3, 70]) -> (z: f16[3]) {
           %z = reduce_sum %x {axes = [1]}
           return %z
         }",
    );
    for kind in ["sum", "prod", "max", "min", "and", "or"] {
        check_text(&format!(
            "graph @g(%x: u8[3, 7]) -> (z: u8[3]) {{
               %z = reduce_{kind} %x {{axes = [1]}}
               return %z
             }}"
        ));
    }
    for (kind, dtype) in [("sum", "f32"), ("max", "f32"), ("min", "i32"), ("and", "bool")] {
        check_text(&format!(
            "graph @g(%x: {dtype}[3, 0]) -> (z: {dtype}[3]) {{
               %z = reduce_{kind} %x {{axes = [1]}}
               return %z
             }}"
        ));
    }
}

#[test]
fn a_linear_layer_has_rows_columns_and_terms() {
    let k = check_text(
        "graph @g(%x: f32[2, 5, 7], %w: f32[7, 3], %b: f32[3], %s: f32[2, 5, 3]) -> (z: f32[2, 5, 3]) {
           %h = linear %x, %w, %b
           %a = relu %h
           %z = add %a, %s
           return %z
         }",
    );
    assert_eq!(loops(&k), 3);
    assert_eq!(k.accs.len(), 1);
}

#[test]
fn contractions_with_batches_and_several_axes() {
    check_text(
        "graph @g(%x: f32[2, 3, 4, 5], %y: f32[4, 3, 6, 2]) -> (z: f32[2, 3, 5, 6]) {
           %z = contract %x, %y {batch = [[0, 3], [1, 1]], sum = [[2, 0]]}
           return %z
         }",
    );
    check_text(
        "graph @g(%x: f32[4, 5, 3], %y: f32[5, 4]) -> (z: f32[3]) {
           %z = contract %x, %y {batch = [], sum = [[0, 1], [1, 0]]}
           return %z
         }",
    );
    check_text(
        "graph @g(%x: i8[4, 9], %y: u8[9, 5]) -> (z: i32[4, 5]) {
           %z = contract %x, %y {batch = [], sum = [[1, 0]], out = i32}
           return %z
         }",
    );
    check_text(
        "graph @g(%x: bf16[4, 9], %y: bf16[9, 5]) -> (z: bf16[4, 5]) {
           %z = contract %x, %y {batch = [], sum = [[1, 0]]}
           return %z
         }",
    );
}

#[test]
fn contractions_of_any_size() {
    let graph = as_written(
        "graph @g(%x: f32[N, K], %y: f32[K, M]) -> (z: f32[N, M]) {
           %t = tanh %x
           %z = contract %t, %y {batch = [], sum = [[1, 0]]}
           return %z
         }",
    );
    let lowered = lower_whole(&graph, &Default::default());
    for (n, m, k) in [(1, 1, 1), (0, 3, 2), (3, 2, 0), (5, 7, 11), (17, 1, 3)] {
        check(&graph, &lowered, &[("N", n), ("M", m), ("K", k)], Elements::Wild, 1.0);
    }
}

fn convolve(x: &str, w: &str, attributes: &str) {
    let graph = |result: &str| {
        format!(
            "graph @g(%x: f32{x}, %w: f32{w}) -> (z: f32{result}) {{
               %c = convolve %x, %w {attributes}
               %z = neg %c
               return %z
             }}"
        )
    };
    // The result's shape is what the parser says that it is.
    let wrong = lawson_graph::Graph::parse(&format!("lawson 1\n{}", graph("[77, 77]"))).unwrap_err();
    let message = wrong.to_string();
    let shape = message
        .split("f32[")
        .filter_map(|s| s.split(']').next())
        .find(|s| *s != "77, 77" && s.contains(", "));
    check_text(&graph(&format!("[{}]", shape.unwrap_or_else(|| panic!("{message}")))));
}

#[test]
fn convolutions_of_one_to_three_dimensions() {
    let plain = "low = [0], high = [0], input_dilation = [1], kernel_dilation = [1]";
    convolve("[2, 3, 9]", "[4, 3, 3]", &format!("{{stride = [2], {plain}}}"));
    convolve(
        "[2, 4, 6, 5]",
        "[6, 2, 3, 2]",
        "{stride = [1, 2], low = [1, 1], high = [1, 0], input_dilation = [1, 1], kernel_dilation = [2, 1], groups = 2}",
    );
    convolve(
        "[1, 2, 4, 3]",
        "[3, 2, 3, 3]",
        "{stride = [1, 1], low = [2, 1], high = [2, 2], input_dilation = [2, 3], kernel_dilation = [1, 1]}",
    );
    convolve(
        "[1, 2, 3, 4, 3]",
        "[2, 2, 2, 2, 2]",
        "{stride = [1, 2, 1], low = [1, 0, 0], high = [0, 1, 0], input_dilation = [1, 1, 1], kernel_dilation = [1, 1, 2]}",
    );
    convolve(
        "[4, 2, 5]",
        "[6, 2, 3]",
        "{stride = [1], low = [1], high = [1], input_dilation = [1], kernel_dilation = [1], batch_groups = 2}",
    );
}

#[test]
fn padding_adds_no_product_even_to_infinite_weights() {
    // With wild elements, `check_text` multiplies infinite weights by padding.
    check_text(
        "graph @g(%x: f32[1, 2, 5], %w: f32[2, 2, 3], %b: f32[2]) -> (z: f32[1, 2, 5]) {
           %a = log %x
           %c = convolve %a, %w {stride = [1], low = [1], high = [1], input_dilation = [1], kernel_dilation = [1]}
           %d = broadcast %b {shape = [1, 2, 5], axes = [1]}
           %z = add %c, %d
           return %z
         }",
    );
}

#[test]
fn windows_skip_padding() {
    for kind in ["max", "sum", "min", "prod"] {
        check_text(&format!(
            "graph @g(%x: f32[2, 7, 6]) -> (z: f32[2, 4, 3]) {{
               %a = neg %x
               %z = window_{kind} %a {{window = [1, 3, 2], stride = [1, 2, 3], dilation = [1, 1, 2], low = [0, 1, 2], high = [0, 1, 1]}}
               return %z
             }}"
        ));
    }
}

#[test]
fn factors_of_one_projection_have_buffers_of_their_own() {
    let graph = primitives(
        "graph @g(%qk: f32[S, 2, 3, 4]) -> (y: f32[3, S, S]) {
           %q1 = slice %qk {start = [0, 0, 0, 0], size = [S, 1, 3, 4], step = [1, 1, 1, 1]}
           %k1 = slice %qk {start = [0, 1, 0, 0], size = [S, 1, 3, 4], step = [1, 1, 1, 1]}
           %q = reshape %q1 {shape = [S, 3, 4]}
           %k = reshape %k1 {shape = [S, 3, 4]}
           %y = contract %q, %k {batch = [[1, 1]], sum = [[2, 2]]}
           return %y
         }",
    );
    let lowered = lower_whole(&graph, &Options::default());
    assert_eq!(lowered.inputs, [graph.inputs()[0]; 2]);
    for size in [0, 1, 5] {
        check(&graph, &lowered, &[("S", size)], Elements::Tame, 1.0);
    }
}
