//! Operators of `com.microsoft` that ONNX Runtime has for devices only, so that it makes no cases for them: each beside what it stands for.

use crate::model::*;
use lawson_graph::{DType, HostTensor};
use lawson_onnx::proto::*;

/// Numbers that are not regular.
fn some(sizes: &[usize]) -> HostTensor {
    let count: usize = sizes.iter().product();
    let numbers: Vec<f32> = (0..count).map(|i| ((i * 37 % 23) as f32 - 11.0) / 7.0).collect();
    host(sizes, &numbers)
}

fn own(mut node: NodeProto) -> NodeProto {
    node.domain = Some("com.microsoft".into());
    node
}

/// The outputs of a model over `x` of these sizes.
fn outputs(
    x: &HostTensor,
    constants: &[(&str, HostTensor)],
    nodes: Vec<NodeProto>,
    names: &str,
) -> Vec<Vec<f32>> {
    let sizes: Vec<String> = x.sizes().iter().map(ToString::to_string).collect();
    let sizes: Vec<&str> = sizes.iter().map(String::as_str).collect();
    let mut m = model(21, graph(vec![input("x", DType::F32, &sizes)], constants, nodes, names));
    m.opset_import.push(OperatorSetIdProto { domain: Some("com.microsoft".into()), version: Some(1) });
    let g = import(&m).unwrap();
    eval(&g, std::slice::from_ref(x)).iter().map(|t| t.to_vec().unwrap()).collect()
}

/// Fails unless the two outputs of a model are the same but for rounding.
fn same(x: &HostTensor, constants: &[(&str, HostTensor)], nodes: Vec<NodeProto>) {
    let found = outputs(x, constants, nodes, "y z");
    assert_eq!(found[0].len(), found[1].len());
    for (a, b) in found[0].iter().zip(&found[1]) {
        assert!((a - b).abs() < 1e-4, "{found:?}");
    }
}

#[test]
fn group_norms_of_channels_last_are_those_of_channels_second() {
    let constants = [("g", some(&[6])), ("b", some(&[6])), ("skip", some(&[2, 6])), ("bias", some(&[6]))];
    let wide = ("wide", host(&[4], &[2i64, 1, 1, 6]));
    let constants = [constants.as_slice(), &[wide]].concat();
    same(
        &some(&[2, 3, 4, 6]),
        &constants,
        vec![
            own(node("SkipGroupNorm", "x g b skip bias", "y")
                .int("groups", 3)
                .int("activation", 1)
                .float("epsilon", 1e-5)),
            node("Reshape", "skip wide", "s"),
            node("Add", "x s", "x1"),
            node("Add", "x1 bias", "x2"),
            node("Transpose", "x2", "t").ints("perm", &[0, 3, 1, 2]),
            node("GroupNormalization", "t g b", "n").int("num_groups", 3).float("epsilon", 1e-5),
            node("Sigmoid", "n", "gate"),
            node("Mul", "n gate", "m"),
            node("Transpose", "m", "z").ints("perm", &[0, 2, 3, 1]),
        ],
    );
    same(
        &some(&[2, 6, 3, 4]),
        &constants,
        vec![
            own(node("GroupNorm", "x g b", "y")
                .int("groups", 2)
                .int("activation", 0)
                .int("channels_last", 0)),
            node("GroupNormalization", "x g b", "z").int("num_groups", 2),
        ],
    );
}

#[test]
fn convolutions_of_channels_last_have_such_weights_too() {
    let constants = [("w", some(&[4, 3, 2, 6])), ("b", some(&[4]))];
    same(
        &some(&[2, 5, 4, 6]),
        &constants,
        vec![
            own(node("NhwcConv", "x w b", "y").ints("pads", &[1, 0, 1, 1]).ints("strides", &[2, 1])),
            node("Transpose", "x", "t").ints("perm", &[0, 3, 1, 2]),
            node("Transpose", "w", "v").ints("perm", &[0, 3, 1, 2]),
            node("Conv", "t v b", "c").ints("pads", &[1, 0, 1, 1]).ints("strides", &[2, 1]),
            node("Transpose", "c", "z").ints("perm", &[0, 2, 3, 1]),
        ],
    );
}

#[test]
fn gates_and_sums_are_what_they_stand_for() {
    let constants =
        [("b", some(&[8])), ("c", some(&[8])), ("s", some(&[2, 3, 8])), ("halves", host(&[2], &[4i64, 4]))];
    same(
        &some(&[2, 3, 8]),
        &constants,
        vec![
            own(node("BiasAdd", "x c s", "u")),
            own(node("BiasSplitGelu", "u b", "y")),
            node("Add", "x c", "v"),
            node("Add", "v s", "w"),
            node("Add", "w b", "p"),
            node("Split", "p halves", "l r").int("axis", 2),
            node("Gelu", "r", "g"),
            node("Mul", "l g", "z"),
        ],
    );
}

#[test]
fn distances_fall_into_the_buckets_of_t5() {
    // Row `b` of the table is `b`, so that biases are numbers of buckets. The expected ones are those of transformers.
    let table: Vec<f32> = (0..8).map(|b| b as f32).collect();
    let bias = |both: i64, farthest: i64| {
        let nodes = vec![own(node("RelativePositionBias", "x n n", "y")
            .int("is_bidirectional", both)
            .int("max_distance", farthest))];
        outputs(&host(&[8, 1], &table), &[("n", host(&[1], &[14i64]))], nodes, "y").remove(0)
    };
    let (both, back) = (bias(1, 16), bias(0, 12));
    let row = |all: &[f32], i: usize| all[14 * i..14 * (i + 1)].to_vec();
    assert_eq!(row(&both, 0), [0., 5., 6., 6., 6., 6., 7., 7., 7., 7., 7., 7., 7., 7.]);
    assert_eq!(row(&both, 13), [3., 3., 3., 3., 3., 3., 3., 3., 2., 2., 2., 2., 1., 0.]);
    assert_eq!(row(&back, 0), [0.; 14]);
    assert_eq!(row(&back, 13), [7., 7., 7., 7., 6., 6., 6., 5., 4., 4., 3., 2., 1., 0.]);
}
