//! Groups whose reductions visit the same rows, and chains of layers over blocks of rows.

use crate::support::{check, check_text, lower_whole, primitives};
use lawson_graph::op::UnaryKind;
use lawson_graph::random::Elements;
use lawson_kernel::lower::{self, Options, Rows};
use lawson_kernel::{Expr, Group, Kernel, Kind, Node, Refused, Role};

fn scratch(k: &Kernel) -> Vec<String> {
    let of = k.buffers.iter().filter(|b| matches!(b.role, Role::Scratch(_)));
    of.map(|b| format!("{:?}", b.dims)).collect()
}

fn stages(k: &Kernel) -> usize {
    let mut n = 0;
    k.visit(&mut |node| n += usize::from(matches!(node, Node::Store(_))));
    n
}

#[test]
fn softmax_visits_a_row_three_times_and_keeps_its_exponentials() {
    let text = "graph @g(%x: f32[3, 4, 9]) -> (y: f32[3, 4, 9]) {
                  %y = softmax %x {axis = 2}
                  return %y
                }";
    let graph = primitives(text);
    let lowered = lower_whole(&graph, &Options::default());
    let k = &lowered.kernel;
    check(&graph, &lowered, &[], Elements::Tame, 1.0);
    check(&graph, &lowered, &[], Elements::Wild, 1.0);
    let [Node::For(rows)] = k.body.as_slice() else { panic!("one loop over rows") };
    assert_eq!(rows.kind, Kind::Parallel);
    assert_eq!(rows.end.as_const(), Some(12));
    assert_eq!(rows.body.len(), 3, "{:#?}", rows.body);
    assert_eq!(scratch(k), ["[9]"]);
    let exps = k.exprs.iter().filter(|e| matches!(e, Expr::Unary(UnaryKind::Exp, _))).count();
    assert_eq!(exps, 1);
    assert_eq!(stages(k), 2);
}

#[test]
fn softmax_along_other_axes_and_of_any_size() {
    for axis in 0..3 {
        let graph = primitives(&format!(
            "graph @g(%x: f32[N, M, 3]) -> (y: f32[N, M, 3]) {{
               %y = softmax %x {{axis = {axis}}}
               return %y
             }}"
        ));
        let lowered = lower_whole(&graph, &Options::default());
        for (n, m) in [(1, 1), (4, 5), (0, 2), (2, 0), (7, 1)] {
            check(&graph, &lowered, &[("N", n), ("M", m)], Elements::Wild, 1.0);
        }
    }
}

#[test]
fn log_softmax_and_logsumexp_are_row_groups() {
    check_text(
        "graph @g(%x: f32[5, 8]) -> (y: f32[5, 8]) {
           %y = log_softmax %x {axis = 1}
           return %y
         }",
    );
    check_text(
        "graph @g(%x: f32[5, 8]) -> (y: f32[5]) {
           %y = logsumexp %x {axes = [1]}
           return %y
         }",
    );
}

#[test]
fn layer_norm_takes_its_prologue_and_epilogue_along() {
    let k = check_text(
        "graph @g(%x: f32[2, 3, 7], %r: f32[2, 3, 7], %s: f32[7], %b: f32[7]) -> (h: f32[2, 3, 7], y: f32[2, 3, 7]) {
           %h = add %x, %r
           %n = layer_norm %h, %s, %b {axis = 2}
           %g = gelu %n
           %y = add %g, %r
           return %h, %y
         }",
    );
    assert_eq!(k.accs.len(), 2);
    assert!(scratch(&k).is_empty(), "{:?}", scratch(&k));
}

#[test]
fn a_norm_of_something_dear_keeps_it() {
    let k = check_text(
        "graph @g(%x: f32[4, 7]) -> (y: f32[4, 7]) {
           %t = gelu %x
           %y = layer_norm %t {axis = 1}
           return %y
         }",
    );
    assert_eq!(scratch(&k), ["[7]"]);
}

#[test]
fn a_norm_of_a_linear_layer_keeps_the_row() {
    let k = check_text(
        "graph @g(%x: f32[4, 6], %w: f32[6, 5], %b: f32[5]) -> (y: f32[4, 5]) {
           %h = linear %x, %w, %b
           %y = layer_norm %h {axis = 1}
           return %y
         }",
    );
    assert_eq!(scratch(&k), ["[5]"]);
    assert_eq!(k.accs.len(), 3);
}

fn chain(layers: usize, rows: &str) -> String {
    let mut text = format!("graph @g(%x: f32[{rows}, 6]");
    for i in 0..layers {
        text += &format!(", %w{i}: f32[6, 6], %b{i}: f32[6]");
    }
    text += &format!(") -> (y: f32[{rows}, 6]) {{\n%h0 = relu %x\n");
    for i in 0..layers {
        let act = ["relu", "tanh", "gelu"][i % 3];
        text += &format!("%l{i} = linear %h{i}, %w{i}, %b{i}\n%h{} = {act} %l{i}\n", i + 1);
    }
    text + &format!("%y = softmax %h{layers} {{axis = 1}}\nreturn %y\n}}")
}

#[test]
fn a_chain_of_layers_goes_back_and_forth_between_two_blocks_of_scratch() {
    let graph = primitives(&chain(5, "11"));
    let lowered = lower_whole(&graph, &Options { rows: Rows::Blocks(4), ..Options::default() });
    let k = &lowered.kernel;
    check(&graph, &lowered, &[], Elements::Tame, 1.0);
    let [Node::For(blocks)] = k.body.as_slice() else { panic!("one loop over blocks") };
    assert_eq!((blocks.kind, blocks.step), (Kind::Parallel, 4));
    // One more for the exponentials of a row.
    assert_eq!(scratch(k), ["[4, 6]", "[4, 6]", "[6]"]);
}

#[test]
fn a_chain_of_layers_of_any_number_of_rows() {
    let graph = primitives(&chain(3, "N"));
    for rows in [Rows::Each, Rows::Blocks(3), Rows::Blocks(8)] {
        let lowered = lower_whole(&graph, &Options { rows, ..Options::default() });
        for n in [0, 1, 3, 7, 8] {
            check(&graph, &lowered, &[("N", n)], Elements::Tame, 1.0);
        }
    }
}

#[test]
fn rows_of_any_length_are_not_kept() {
    // The exponentials are computed again instead.
    let graph = primitives(
        "graph @g(%x: f32[3, M]) -> (y: f32[3, M]) {
           %y = softmax %x {axis = 1}
           return %y
         }",
    );
    assert!(scratch(&lower_whole(&graph, &Options::default()).kernel).is_empty());
    // A row of sums of products is not computed again for every use.
    let graph = primitives(
        "graph @g(%x: f32[3, 4], %w: f32[4, M]) -> (y: f32[3, M]) {
           %h = contract %x, %w {batch = [], sum = [[1, 0]]}
           %y = softmax %h {axis = 1}
           return %y
         }",
    );
    let refused = lower::lower(&graph, &Group::whole(&graph).unwrap()).unwrap_err();
    assert!(matches!(refused, Refused::Unbounded { .. }), "{refused}");
    // Where a fact bounds it, it is kept.
    let graph = primitives(
        "graph @g(%x: f32[3, 4], %w: f32[4, M]) -> (y: f32[3, M]) where M <= 9 {
           %h = contract %x, %w {batch = [], sum = [[1, 0]]}
           %y = softmax %h {axis = 1}
           return %y
         }",
    );
    let lowered = lower_whole(&graph, &Options::default());
    assert_eq!(scratch(&lowered.kernel), ["[9]", "[9]"]);
    for m in [0, 1, 5, 9] {
        check(&graph, &lowered, &[("M", m)], Elements::Tame, 1.0);
    }
}
