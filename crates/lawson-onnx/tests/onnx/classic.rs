//! Classic machine learning (`ai.onnx.ml`) on values computed by hand: trees that a file may describe badly, and integers that floats do not hold.

use crate::model::*;
use lawson_graph::{Code, DType, Graph, HostTensor, Result};
use lawson_onnx::proto::{AttributeProto, NodeProto, OperatorSetIdProto, attribute_type};

/// A model of one node of `ai.onnx.ml`, whose input `x` has such rows.
fn imported(node: NodeProto, dtype: DType, width: &str) -> Result<Graph> {
    let node = NodeProto { domain: Some("ai.onnx.ml".into()), ..node };
    let mut m = model(18, graph(vec![input("x", dtype, &["N", width])], &[], vec![node], "y"));
    m.opset_import.push(OperatorSetIdProto { domain: Some("ai.onnx.ml".into()), version: Some(5) });
    import(&m)
}

fn run(node: NodeProto, x: &HostTensor) -> HostTensor {
    let graph = imported(node, x.dtype(), &x.sizes()[1].to_string()).unwrap();
    eval(&graph, std::slice::from_ref(x)).remove(0)
}

fn texts(node: NodeProto, name: &str, values: &[&str]) -> NodeProto {
    node.with(AttributeProto {
        name: Some(name.into()),
        r#type: Some(attribute_type::STRINGS),
        strings: values.iter().map(|v| v.as_bytes().to_vec().into()).collect(),
        ..AttributeProto::default()
    })
}

/// A branch: feature, mode, split, and where it leads if the test does not hold and if it does.
type Branch = (i64, u8, f64, To, To);

#[derive(Clone, Copy)]
enum To {
    Node(i64),
    Leaf(i64),
}
use To::{Leaf, Node};

/// An ensemble of version 5 whose tensors have a dtype; leaves are targets and weights.
fn ensemble(dtype: DType, branches: &[Branch], roots: &[i64], leaves: &[(i64, f64)]) -> NodeProto {
    let floats = |v: Vec<f64>| HostTensor::from_floats(dtype, &[v.len()], &v).unwrap();
    let modes: Vec<u8> = branches.iter().map(|b| b.1).collect();
    let place = |to: To| match to {
        Node(n) => (n, 0),
        Leaf(n) => (n, 1),
    };
    let of = |side: fn(&Branch) -> To| branches.iter().map(move |b| place(side(b))).unzip();
    let (no, no_leaf): (Vec<i64>, Vec<i64>) = of(|b| b.3);
    let (yes, yes_leaf): (Vec<i64>, Vec<i64>) = of(|b| b.4);
    node("TreeEnsemble", "x", "y")
        .ints("nodes_featureids", &branches.iter().map(|b| b.0).collect::<Vec<_>>())
        .tensor("nodes_modes", &host(&[modes.len()], &modes))
        .tensor("nodes_splits", &floats(branches.iter().map(|b| b.2).collect()))
        .ints("nodes_falsenodeids", &no)
        .ints("nodes_falseleafs", &no_leaf)
        .ints("nodes_truenodeids", &yes)
        .ints("nodes_trueleafs", &yes_leaf)
        .ints("tree_roots", roots)
        .ints("leaf_targetids", &leaves.iter().map(|l| l.0).collect::<Vec<_>>())
        .tensor("leaf_weights", &floats(leaves.iter().map(|l| l.1).collect()))
}

const LE: u8 = 0;
const GT: u8 = 3;
const MEMBER: u8 = 6;

#[test]
fn rows_find_their_leaves_by_comparisons_and_by_membership() {
    let branches = [
        (0, MEMBER, 0.0, Node(1), Node(2)),
        (1, LE, 1.5, Leaf(0), Leaf(1)),
        (1, MEMBER, 0.0, Leaf(2), Leaf(3)),
    ];
    let leaves = [(0, 1.0), (0, 2.0), (0, 4.0), (1, 8.0)];
    let members = host(&[5], &[3f32, 5.0, f32::NAN, 7.0, f32::NAN]);
    let trees = ensemble(DType::F32, &branches, &[0, 1], &leaves)
        .tensor("membership_values", &members)
        .int("n_targets", 2);
    let x = host(&[4, 2], &[5f32, 7.0, 3.0, 1.0, 4.0, 7.0, f32::NAN, 1.0]);
    let y = run(trees, &x);
    assert_eq!(y.sizes(), [4, 2]);
    assert_eq!(y.to_vec::<f32>().unwrap(), [1.0, 8.0, 6.0, 0.0, 2.0, 0.0, 4.0, 0.0]);
}

#[test]
fn the_last_list_of_members_needs_no_end_and_all_must_be_there() {
    let branches = [(0, MEMBER, 0.0, Leaf(0), Leaf(1)), (0, MEMBER, 0.0, Leaf(0), Leaf(1))];
    let trees = |members: &[f32]| {
        ensemble(DType::F32, &branches, &[0, 1], &[(0, 0.0), (0, 1.0)])
            .tensor("membership_values", &host(&[members.len()], members))
    };
    let y = run(trees(&[1.0, f32::NAN, 2.0, 1.0]), &host(&[2, 1], &[1f32, 2.0]));
    assert_eq!(y.to_vec::<f32>().unwrap(), [2.0, 1.0]);
    for members in [&[1.0, f32::NAN][..], &[1.0, f32::NAN, 2.0, f32::NAN, 3.0]] {
        let error = imported(trees(members), DType::F32, "1").unwrap_err();
        assert!(error.to_string().contains("for 2 nodes that ask for membership"), "{error}");
    }
}

#[test]
fn doubles_are_compared_and_summed_as_such() {
    let (near, tiny) = (1.0 + 1e-12, 1e-13);
    let branches = [(0, LE, near, Leaf(0), Leaf(1)), (0, GT, near, Leaf(2), Leaf(0))];
    let trees = ensemble(DType::F64, &branches, &[0, 1], &[(0, 0.0), (0, 1.0), (0, tiny)]);
    let y = run(trees, &host(&[2, 1], &[1f64, 1.0 + 2e-12]));
    assert_eq!(y.to_vec::<f64>().unwrap(), [1.0 + tiny, 0.0]);
}

#[test]
fn a_node_may_be_reached_in_two_ways() {
    let branches =
        [(0, LE, 0.0, Node(1), Node(2)), (1, LE, 0.0, Leaf(0), Node(2)), (1, LE, 5.0, Leaf(1), Leaf(2))];
    let trees = ensemble(DType::F32, &branches, &[0], &[(0, 1.0), (0, 2.0), (0, 3.0)]);
    let y = run(trees, &host(&[4, 2], &[1f32, 1.0, 1.0, -1.0, -1.0, 9.0, -1.0, 4.0]));
    assert_eq!(y.to_vec::<f32>().unwrap(), [1.0, 3.0, 2.0, 3.0]);
}

#[test]
fn what_is_built_has_the_size_of_the_deepest_tree() {
    let small = ensemble(DType::F32, &[(0, LE, 0.5, Leaf(0), Leaf(1))], &[0], &[(0, 1.0), (0, 2.0)]);
    let branches: Vec<Branch> = (0..40_000).map(|i| (0, LE, 0.5, Leaf(i), Leaf(40_000 + i))).collect();
    let roots: Vec<i64> = (0..40_000).collect();
    let leaves: Vec<(i64, f64)> = (0..80_000).map(|i| (i % 200, 1.0)).collect();
    let large = ensemble(DType::F32, &branches, &roots, &leaves).int("n_targets", 200);
    let nodes = |n: NodeProto| imported(n, DType::F32, "1").unwrap().nodes().len();
    assert!(nodes(large) < nodes(small) + 20);
}

#[test]
fn weights_of_large_trees_go_to_their_targets() {
    let branches = [(0, LE, 0.5, Leaf(0), Leaf(1)), (0, GT, 0.0, Leaf(2), Leaf(3))];
    let leaves = [(999, 1.0), (7, 2.0), (999, 4.0), (7, 8.0)];
    let trees = ensemble(DType::F32, &branches, &[0, 1], &leaves).int("n_targets", 1000);
    let y = run(trees, &host(&[1, 1], &[0.25f32])).to_vec::<f32>().unwrap();
    assert_eq!((y[7], y[999], y.iter().sum::<f32>()), (10.0, 0.0, 10.0));
}

#[test]
fn the_least_and_the_greatest_are_refused_where_a_target_may_have_none() {
    let branches = [(0, LE, 0.5, Leaf(0), Leaf(1)), (0, LE, 0.5, Leaf(1), Leaf(0))];
    let with = |aggregate: i64, leaves: &[(i64, f64)], targets: i64| {
        ensemble(DType::F32, &branches, &[0, 1], leaves)
            .int("aggregate_function", aggregate)
            .int("n_targets", targets)
    };
    for (aggregate, expected) in [(0, 2.5), (1, 5.0), (2, 2.0), (3, 3.0)] {
        let y = run(with(aggregate, &[(0, 2.0), (0, 3.0)], 1), &host(&[1, 1], &[0f32]));
        assert_eq!(y.to_vec::<f32>().unwrap(), [expected], "{aggregate}");
    }
    for aggregate in [2, 3] {
        let error = imported(with(aggregate, &[(0, 2.0), (1, 3.0)], 2), DType::F32, "1").unwrap_err();
        assert_eq!(error.code(), Code::OnnxUnsupported);
        assert!(
            error.to_string().contains("not every leaf has one weight for each of the 2 targets"),
            "{error}"
        );
    }
}

#[test]
fn trees_that_make_no_sense_are_refused_with_what_is_wrong() {
    let leaves = [(0, 1.0), (0, 2.0)];
    let of = |branches: &[Branch], roots: &[i64]| ensemble(DType::F32, branches, roots, &leaves);
    let deep: Vec<Branch> =
        (1..=600).map(|i| (0, LE, 0.0, Leaf(0), if i < 600 { Node(i) } else { Leaf(1) })).collect();
    let cases = [
        (
            of(&[(0, LE, 0.0, Leaf(0), Node(1)), (0, LE, 0.0, Node(0), Leaf(1))], &[0]),
            "lead back to themselves",
        ),
        (
            of(&[(0, LE, 0.0, Leaf(0), Leaf(2))], &[0]),
            "node 0 of `TreeEnsemble` leads to leaf 2, of which there is none",
        ),
        (of(&[(0, LE, 0.0, Leaf(0), Node(-1))], &[0]), "leads to node -1"),
        (of(&[(0, LE, 0.0, Leaf(0), Leaf(1))], &[1]), "begins at node 1"),
        (of(&[(0, LE, 0.0, Leaf(0), Leaf(1))], &[]), "has no trees"),
        (of(&[(1, LE, 0.0, Leaf(0), Leaf(1))], &[0]), "looks at feature 1 of rows of 1"),
        (of(&[(0, 9, 0.0, Leaf(0), Leaf(1))], &[0]), "unknown kind 9"),
        (of(&deep, &[0]), "a tree of 600 levels; at most 512"),
        (
            of(&[(0, LE, 0.0, Leaf(0), Leaf(1))], &[0]).int("n_targets", 0),
            "leaf 0 of `TreeEnsemble` is for target 0 of 0",
        ),
        (
            of(&[(0, LE, 0.0, Leaf(0), Leaf(1))], &[0]).int("aggregate_function", 4),
            "no `aggregate_function` 4",
        ),
        (
            of(&[(0, LE, 0.0, Leaf(0), Leaf(1))], &[0]).int("post_transform", 1),
            "on which runtimes do not agree",
        ),
        (
            ensemble(DType::F64, &[(0, LE, 0.0, Leaf(0), Leaf(1))], &[0], &leaves),
            "are f64, but operand 0 is f32",
        ),
    ];
    for (node, expected) in cases {
        let error = imported(node, DType::F32, "1").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// A regressor of one tree: a branch and two leaves, with weights for leaf and target.
fn regressor(weights: &[(i64, i64, f64)]) -> NodeProto {
    let column = |f: fn(&(i64, i64, f64)) -> i64| weights.iter().map(f).collect::<Vec<_>>();
    let numbers: Vec<f64> = weights.iter().map(|w| w.2).collect();
    let node = node("TreeEnsembleRegressor", "x", "y")
        .ints("nodes_treeids", &[0, 0, 0])
        .ints("nodes_nodeids", &[0, 1, 2])
        .ints("nodes_featureids", &[0, 0, 0])
        .tensor("nodes_values_as_tensor", &host(&[3], &[1.0 + 1e-12f64, 0.0, 0.0]))
        .ints("nodes_falsenodeids", &[1, 0, 0])
        .ints("nodes_truenodeids", &[2, 0, 0])
        .ints("target_treeids", &vec![0; weights.len()])
        .ints("target_nodeids", &column(|w| w.0))
        .ints("target_ids", &column(|w| w.1))
        .tensor("target_weights_as_tensor", &host(&[numbers.len()], &numbers));
    texts(node, "nodes_modes", &["BRANCH_LEQ", "LEAF", "LEAF"])
}

#[test]
fn regressors_of_doubles_are_exact_until_their_result() {
    let weights = [(1, 0, 1e9), (1, 0, 0.25), (2, 0, 3.0)];
    let node = regressor(&weights).tensor("base_values_as_tensor", &host(&[1], &[-1e9f64]));
    let y = run(node, &host(&[2, 1], &[1.0 + 2e-12f64, 1.0]));
    assert_eq!(y.to_vec::<f32>().unwrap(), [0.25, 3.0 - 1e9]);
}

#[test]
fn the_least_over_trees_is_defined_where_every_leaf_has_every_target() {
    let whole = [(1, 0, 1.0), (1, 1, 2.0), (2, 0, 3.0), (2, 1, 4.0)];
    let node = |weights: &[_]| regressor(weights).int("n_targets", 2).text("aggregate_function", "MIN");
    let y = run(node(&whole), &host(&[1, 1], &[0f32]));
    assert_eq!(y.to_vec::<f32>().unwrap(), [3.0, 4.0]);
    for weights in [&whole[..3], &[(1, 0, 1.0), (1, 1, 2.0), (2, 0, 3.0), (2, 0, 4.0)]] {
        assert_eq!(imported(node(weights), DType::F32, "1").unwrap_err().code(), Code::OnnxUnsupported);
    }
}

#[test]
fn large_integers_are_imputed_exactly() {
    let mark = (1i64 << 53) + 1;
    let node = node("Imputer", "x", "y")
        .ints("imputed_value_int64s", &[i64::MAX, -mark])
        .int("replaced_value_int64", mark);
    let y = run(node, &host(&[2, 2], &[mark, mark, mark - 1, mark + 1]));
    assert_eq!(y.to_vec::<i64>().unwrap(), [i64::MAX, -mark, mark - 1, mark + 1]);
}

#[test]
fn rows_without_length_stay() {
    let x = host(&[3, 2], &[3f32, 4.0, 0.0, 0.0, -2.0, 0.0]);
    let by = |norm: &str| run(node("Normalizer", "x", "y").text("norm", norm), &x).to_vec::<f32>().unwrap();
    assert_eq!(by("MAX"), [0.75, 1.0, 0.0, 0.0, -2.0, 0.0]);
    assert_eq!(by("L1"), [3.0 / 7.0, 4.0 / 7.0, 0.0, 0.0, -1.0, 0.0]);
    assert_eq!(by("L2"), [0.6, 0.8, 0.0, 0.0, -1.0, 0.0]);
    let g =
        graph(vec![input("x", DType::F32, &["3", "2"])], &[], vec![node("LpNormalization", "x", "y")], "y");
    let y = eval(&import_graph(g).unwrap(), std::slice::from_ref(&x)).remove(0);
    assert_eq!(y.to_vec::<f32>().unwrap(), by("L2"));
}
