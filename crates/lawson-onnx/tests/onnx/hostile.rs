//! Files that are cut off, damaged or made to do harm: an error or a graph, but never a panic, a hang or all memory.

use crate::model::*;
use lawson_graph::{Code, DType, HostTensor};
use lawson_onnx::proto::TensorProto;
use lawson_onnx::{ImportOptions, from_bytes};

/// A model that uses a bit of everything.
fn sample() -> Vec<u8> {
    let v = |i: &[i64]| host(&[i.len()], i);
    let body = graph(
        vec![input("i", DType::I64, &[]), input("go", DType::Bool, &[]), input("s", DType::F32, &[])],
        &[("two", HostTensor::scalar(2f32))],
        vec![node("Mul", "s two", "s2"), node("Identity", "go", "go2")],
        "go2 s2",
    );
    let nodes = vec![
        node("Conv", "x w b", "conv").ints("pads", &[1, 1, 1, 1]).ints("kernel_shape", &[3, 3]),
        node("MaxPool", "conv", "pool").ints("kernel_shape", &[2, 2]).ints("strides", &[2, 2]),
        node("Shape", "pool", "shape"),
        node("Slice", "shape zero one", "n"),
        node("Concat", "n rest", "target").int("axis", 0),
        node("Reshape", "pool target", "flat"),
        node("Gemm", "flat m", "g").int("transB", 1),
        node("Softmax", "g", "p").int("axis", -1),
        node("Gather", "p index", "picked").int("axis", 1),
        node("ReduceSum", "picked", "sum").int("keepdims", 0),
        node("Loop", "three - sum", "y").graph("body", body),
        node("Resize", "x - scales", "large").text("nearest_mode", "floor"),
        node("Pad", "x pads", "padded").text("mode", "reflect"),
    ];
    let constants = [
        ("w", host(&[2, 1, 3, 3], &[0.5f32; 18])),
        ("b", host(&[2], &[0f32, 1.0])),
        ("zero", v(&[0])),
        ("one", v(&[1])),
        ("rest", v(&[-1])),
        ("m", host(&[3, 8], &[0.25f32; 24])),
        ("index", v(&[0, -1])),
        ("three", HostTensor::scalar(3i64)),
        ("scales", host(&[4], &[1f32, 1.0, 1.5, 2.0])),
        ("pads", v(&[0, 0, 1, 1, 0, 0, 1, 1])),
    ];
    let g = graph(vec![input("x", DType::F32, &["N", "1", "4", "4"])], &constants, nodes, "y large padded");
    encode(&model(18, g))
}

fn read(bytes: Vec<u8>) -> lawson_graph::Result<lawson_graph::Graph> {
    from_bytes(bytes, &ImportOptions::default())
}

#[test]
fn the_sample_is_fine_before_it_is_damaged() {
    let g = read(sample()).unwrap();
    let results = eval(&g, &[host(&[2, 1, 4, 4], &[1f32; 32])]);
    let (y, large) = (&results[0], &results[1]);
    assert!((y.to_vec::<f32>().unwrap()[0] - 2.0 * 2.0 / 3.0 * 8.0).abs() < 1e-5, "{y:?}");
    assert_eq!(large.sizes(), [2, 1, 6, 8]);
}

#[test]
fn a_file_cut_off_anywhere_is_an_error_or_a_graph() {
    let whole = sample();
    let mut refused = 0;
    for length in 0..whole.len() {
        refused += usize::from(read(whole[..length].to_vec()).is_err());
    }
    assert!(refused > whole.len() / 2, "{refused} of {}", whole.len());
}

#[test]
fn flipped_bits_never_panic() {
    let whole = sample();
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut refused = 0;
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..=random(3) {
            let at = random(bytes.len());
            bytes[at] ^= 1 << random(8);
        }
        refused += usize::from(read(bytes).is_err());
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn a_tensor_that_claims_more_than_it_has_is_refused() {
    for dims in [vec![1 << 40], vec![i64::MAX, i64::MAX], vec![-1], vec![1 << 62]] {
        let mut g = graph(vec![], &[], vec![node("Neg", "c", "y")], "y");
        g.initializer.push(TensorProto {
            name: Some("c".into()),
            dims: dims.clone(),
            data_type: Some(number(DType::F32)),
            raw_data: Some(vec![0u8; 4].into()),
            ..TensorProto::default()
        });
        assert_eq!(import_graph(g).unwrap_err().code(), Code::OnnxModel, "{dims:?}");
    }
}

#[test]
fn large_results_cost_nothing_until_they_run() {
    let scalar = |v: i64| HostTensor::scalar(v);
    let g = graph(
        vec![],
        &[
            ("s", host(&[2], &[1i64 << 20, 1 << 20])),
            ("zero", scalar(0)),
            ("one", scalar(1)),
            ("n", scalar(1 << 40)),
        ],
        vec![node("ConstantOfShape", "s", "a"), node("Range", "zero n one", "b")],
        "a b",
    );
    let graph = import_graph(g).unwrap();
    let ty = |i: usize| graph.ty(graph.outputs()[i].value).to_string();
    assert_eq!((ty(0).as_str(), ty(1).as_str()), ("f32[1048576, 1048576]", "i64[1099511627776]"));
}

#[test]
fn a_shape_that_overflows_is_refused() {
    let g = graph(
        vec![],
        &[("s", host(&[3], &[i64::MAX, i64::MAX, i64::MAX]))],
        vec![node("ConstantOfShape", "s", "y")],
        "y",
    );
    assert!(import_graph(g).is_err());
}

#[test]
fn bodies_cannot_be_nested_for_ever() {
    let mut inner = graph(vec![], &[], vec![node("Neg", "x", "r")], "r");
    for _ in 0..40 {
        let both = node("If", "c", "r").graph("then_branch", inner.clone()).graph("else_branch", inner);
        inner = graph(vec![], &[], vec![both], "r");
        // Two branches double the size; a shallow copy of one keeps the file small.
        inner.node[0].attribute[1].g = Some(graph(vec![], &[], vec![node("Abs", "x", "r")], "r"));
    }
    let inputs = vec![input("x", DType::F32, &["1"]), input("c", DType::Bool, &[])];
    let nodes = inner.node.clone();
    let error = import_graph(graph(inputs, &[], nodes, "r")).unwrap_err();
    assert!(matches!(error.code(), Code::Budget | Code::OnnxModel), "{error}");
}
