//! Files that are cut off, damaged or made to do harm: an error or a graph, but never a panic, a hang or all memory.

use crate::model::*;
use lawson_graph::{Code, DType, HostTensor};
use lawson_onnx::proto::{DimensionValue, ModelProto, TensorProto, TypeValue};
use lawson_onnx::{ImportOptions, from_bytes};
use prost::Message;

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

/// Numbers below a bound, always the same ones.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    fn number(&mut self) -> i64 {
        const ALL: [i64; 14] =
            [0, 1, -1, 2, 3, 7, -2, 100, 1 << 20, 1 << 31, 1 << 40, 1 << 62, i64::MAX, i64::MIN];
        ALL[self.below(ALL.len())]
    }
}

/// Changes what a model says without breaking the message: attributes, operands, sizes, types, versions.
fn disturb(model: &mut ModelProto, dice: &mut Dice) {
    let Some(graph) = &mut model.graph else { return };
    let (nodes, inputs) = (graph.node.len(), graph.input.len());
    let node = &mut graph.node[dice.below(nodes)];
    let (attributes, operands) = (node.attribute.len(), node.input.len());
    match dice.below(8) {
        0..=3 if attributes > 0 => {
            let a = &mut node.attribute[dice.below(attributes)];
            if let Some(i) = &mut a.i {
                *i = dice.number();
            }
            if let Some(f) = &mut a.f {
                *f = [0.0, -1.0, 1e30, f32::NAN, f32::INFINITY][dice.below(5)];
            }
            if a.s.is_some() {
                a.s = Some(bytes::Bytes::from_static([&b"x"[..], b"", b"\xff"][dice.below(3)]));
            }
            let length = a.ints.len();
            if length > 0 {
                a.ints[dice.below(length)] = dice.number();
            }
        }
        4 if operands > 0 => node.input[dice.below(operands)] = String::new(),
        5 if operands > 0 => node.input[dice.below(operands)] = node.input[0].clone(),
        6 if inputs > 0 => {
            let ty = graph.input[dice.below(inputs)].r#type.as_mut().and_then(|t| t.value.as_mut());
            let Some(TypeValue::Tensor(t)) = ty else { return };
            match (&mut t.shape, dice.below(3)) {
                (Some(shape), 0) => drop(shape.dim.pop()),
                (Some(shape), 1) if !shape.dim.is_empty() => {
                    let last = shape.dim.len() - 1;
                    shape.dim[last].value = Some(DimensionValue::Value(dice.number()));
                }
                _ => t.elem_type = Some(dice.below(27) as i32),
            }
        }
        7 if !graph.initializer.is_empty() => {
            let count = graph.initializer.len();
            let t = &mut graph.initializer[dice.below(count)];
            match t.dims.first_mut() {
                Some(d) => *d = dice.number(),
                None => t.data_type = Some(dice.below(27) as i32),
            }
        }
        _ => {}
    }
}

#[test]
fn models_that_say_absurd_things_are_errors_or_graphs() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/onnx/contrib");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let mut models: Vec<ModelProto> = files
        .iter()
        .map(|f| ModelProto::decode(std::fs::read(f.join("model.onnx")).unwrap().as_slice()).unwrap())
        .collect();
    models.push(ModelProto::decode(sample().as_slice()).unwrap());
    let (mut dice, mut refused, mut count) = (Dice(0x9e37_79b9_7f4a_7c15), 0, 0);
    for model in &models {
        for _ in 0..60 {
            let mut other = model.clone();
            for _ in 0..=dice.below(2) {
                disturb(&mut other, &mut dice);
            }
            refused += usize::from(read(encode(&other)).is_err());
            count += 1;
        }
    }
    assert!(refused > count / 10 && refused < count, "{refused} of {count}");
}

#[test]
fn what_was_found_by_disturbing_models_stays_an_error() {
    let case = |node: lawson_onnx::proto::NodeProto, inputs: &[(&str, &[&str])]| {
        let inputs = inputs.iter().map(|(name, dims)| input(name, DType::F32, dims)).collect();
        import(&model(25, graph(inputs, &[], vec![node], "y"))).unwrap_err()
    };
    // Windows whose area is more than an integer holds.
    let pool = node("MaxPool", "x", "y").ints("kernel_shape", &[1 << 62, 2]).text("auto_pad", "SAME_UPPER");
    assert_eq!(case(pool, &[("x", &["1", "1", "4", "4"])]).code(), Code::OnnxModel);
    // Angles, and keys of another time, with too few dimensions.
    let rotary = node("RotaryEmbedding", "x c c", "y");
    assert_eq!(case(rotary, &[("x", &["1", "2", "3", "4"]), ("c", &["3", "2"])]).code(), Code::OnnxModel);
    let attention = node("Attention", "x x x - p p", "y");
    assert_eq!(case(attention, &[("x", &["1", "2", "3", "4"]), ("p", &["1"])]).code(), Code::OnnxModel);
    let masked = node("Attention", "x x x m", "y").float("softcap", 1.0);
    assert_eq!(case(masked, &[("x", &["1", "2", "3", "4"]), ("m", &[])]).code(), Code::OnnxModel);
    // A window without an axis.
    let stft = node("STFT", "x s w", "y");
    let inputs = vec![input("x", DType::F32, &["1", "8", "1"]), input("w", DType::F32, &[])];
    let g = graph(inputs, &[("s", HostTensor::scalar(2i64))], vec![stft], "y");
    assert_eq!(import(&model(25, g)).unwrap_err().code(), Code::OnnxModel);
}
