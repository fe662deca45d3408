//! What a file holds: encodings of tensors, external data, versions; and what errors say.

use crate::model::*;
use bytes::Bytes;
use lawson_graph::{Code, DType, HostTensor, Op};
use lawson_onnx::proto::*;
use lawson_onnx::{ImportOptions, from_bytes, read_onnx};
use std::path::PathBuf;

/// The value of a model that is nothing but a constant.
fn constant(t: TensorProto) -> lawson_graph::Result<HostTensor> {
    let name = t.name.clone().unwrap_or_default();
    let mut g = graph(vec![], &[], vec![], &name);
    g.initializer.push(t);
    Ok(eval(&import_graph(g)?, &[]).remove(0))
}

fn typed(dtype: DType, dims: &[i64]) -> TensorProto {
    TensorProto {
        name: Some("c".into()),
        dims: dims.to_vec(),
        data_type: Some(number(dtype)),
        ..TensorProto::default()
    }
}

#[test]
fn every_dtype_is_read_raw() {
    for dtype in DType::ALL.into_iter().filter(|d| *d != DType::Str) {
        let t = HostTensor::from_ints(DType::I64, &[3], &[0, 1, 1]).unwrap();
        let bytes = match dtype {
            DType::I64 => t.bytes().clone(),
            _ => Bytes::from(vec![1u8; dtype.bytes_for(3).unwrap()]),
        };
        let t = HostTensor::from_bytes(dtype, &[3], bytes).unwrap();
        assert_eq!(constant(tensor("c", &t)).unwrap(), t, "{dtype}");
    }
}

#[test]
fn every_dtype_is_read_from_its_typed_field() {
    let bits = |v: &[f32]| v.iter().map(|x| (x.to_bits() >> 16) as i32).collect::<Vec<_>>();
    let cases = [
        (TensorProto { float_data: vec![1.5, -2.0], ..typed(DType::F32, &[2]) }, vec![1.5, -2.0]),
        (TensorProto { double_data: vec![0.25], ..typed(DType::F64, &[1]) }, vec![0.25]),
        (TensorProto { int64_data: vec![-7], ..typed(DType::I64, &[]) }, vec![-7.0]),
        (TensorProto { uint64_data: vec![9], ..typed(DType::U64, &[1]) }, vec![9.0]),
        (
            TensorProto { uint64_data: vec![u64::from(u32::MAX)], ..typed(DType::U32, &[1]) },
            vec![4294967295.0],
        ),
        (TensorProto { int32_data: vec![-1], ..typed(DType::I32, &[1]) }, vec![-1.0]),
        (TensorProto { int32_data: vec![-1], ..typed(DType::I16, &[1]) }, vec![-1.0]),
        (TensorProto { int32_data: vec![200], ..typed(DType::U8, &[1]) }, vec![200.0]),
        (TensorProto { int32_data: vec![1, 0], ..typed(DType::Bool, &[2]) }, vec![1.0, 0.0]),
        (TensorProto { int32_data: vec![0x3c00], ..typed(DType::F16, &[1]) }, vec![1.0]),
        (TensorProto { int32_data: bits(&[1.0, -0.5]), ..typed(DType::BF16, &[2]) }, vec![1.0, -0.5]),
        (TensorProto { int32_data: vec![0x71, 0x0f], ..typed(DType::I4, &[3]) }, vec![1.0, 7.0, -1.0]),
    ];
    for (proto, expected) in cases {
        let t = constant(proto).unwrap();
        let have: Vec<f64> = (0..t.len()).map(|i| t.float_at(i)).collect();
        assert_eq!(have, expected, "{}", t.ty());
    }
    let text = TensorProto { string_data: vec!["a".into(), "ü".into()], ..typed(DType::Str, &[2]) };
    assert_eq!(constant(text).unwrap().text()[1].as_ref(), "ü");
}

#[test]
fn constants_may_be_nodes() {
    let value = |n: NodeProto| eval(&import_graph(graph(vec![], &[], vec![n], "c")).unwrap(), &[]).remove(0);
    let constant = || node("Constant", "", "c");
    let t = host(&[2], &[1i8, -1]);
    assert_eq!(value(constant().tensor("value", &t)), t);
    assert_eq!(value(constant().int("value_int", 3)), HostTensor::scalar(3i64));
    assert_eq!(value(constant().ints("value_ints", &[1, 2])), host(&[2], &[1i64, 2]));
    assert_eq!(value(constant().float("value_float", 0.5)), HostTensor::scalar(0.5f32));
    assert_eq!(value(constant().text("value_string", "a")).text()[0].as_ref(), "a");
    assert!(import_graph(graph(vec![], &[], vec![constant()], "c")).is_err());
}

#[test]
fn constants_share_the_bytes_of_the_file() {
    let weights = host(&[1024], &[1f32; 1024]);
    let g =
        graph(vec![input("x", DType::F32, &["1024"])], &[("w", weights)], vec![node("Add", "x w", "y")], "y");
    let file = Bytes::from(encode(&model(18, g)));
    let range = file.as_ptr_range();
    let graph = from_bytes(file.clone(), &ImportOptions::default()).unwrap();
    let constant = graph.nodes().iter().find_map(|n| match &n.op {
        Op::Constant(t) => Some(t.bytes().clone()),
        _ => None,
    });
    let constant = constant.unwrap().as_ptr_range();
    assert!(range.start <= constant.start && constant.end <= range.end);
}

#[test]
fn constants_that_only_shapes_use_are_not_in_the_graph() {
    let g = graph(
        vec![input("x", DType::F32, &["4"])],
        &[("s", host(&[2], &[2i64, 2]))],
        vec![node("Reshape", "x s", "y")],
        "y",
    );
    assert_eq!(ops(&import_graph(g).unwrap()), ["reshape"]);
}

#[test]
fn an_initializer_that_is_also_an_input_is_a_constant() {
    let inputs = vec![input("x", DType::F32, &["1"]), input("w", DType::F32, &["1"])];
    let g = graph(inputs, &[("w", host(&[1], &[2f32]))], vec![node("Mul", "x w", "y")], "y");
    let g = import_graph(g).unwrap();
    assert_eq!(g.inputs().len(), 1);
}

/// A folder of its own, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("lawson-onnx-{}-{name}", std::process::id()));
        std::fs::create_dir_all(path.join("model")).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A tensor of more than a mebibyte, at an odd place in the file.
#[test]
fn large_tensors_of_a_file_are_maps_of_their_own() {
    let folder = Folder::new("mapped");
    let elements: Vec<f32> = (0..400_000).map(|i| i as f32).collect();
    let large = HostTensor::from_slice(&[400_000], &elements).unwrap();
    let small = HostTensor::from_slice(&[2], &[1f32, 2.0]).unwrap();
    let nodes = vec![node("Add", "x large", "y"), node("Add", "x small", "z")];
    let x = vec![input("x", DType::F32, &["1"])];
    let bytes = encode(&model(18, graph(x, &[("small", small), ("large", large)], nodes, "y z")));
    let path = folder.0.join("model/large.onnx");
    std::fs::write(&path, &bytes).unwrap();
    let constants = |graph: &lawson_graph::Graph| -> Vec<(bool, usize)> {
        let held = graph.nodes().iter().filter_map(|n| match &n.op {
            Op::Constant(t) => Some((t.is_mapped(), t.len())),
            _ => None,
        });
        held.collect()
    };
    let read = read_onnx(&path).unwrap();
    assert_eq!(constants(&read).iter().filter(|c| c.0).count(), 1, "{:?}", constants(&read));
    assert!(constants(&read).contains(&(true, 400_000)));
    let held = from_bytes(bytes, &ImportOptions::default()).unwrap();
    assert!(constants(&held).iter().all(|c| !c.0));
    let x = [host(&[1], &[0.5f32])];
    assert_eq!(eval(&read, &x), eval(&held, &x));
}

#[test]
fn external_data_are_read_from_the_models_folder_only() {
    let folder = Folder::new("external");
    let path = folder.0.join("model/model.onnx");
    std::fs::write(folder.0.join("model/weights.bin"), [0u8, 0, 0, 0, 0, 0, 128, 63]).unwrap();
    std::fs::write(folder.0.join("secret.bin"), [0u8; 8]).unwrap();
    let read = |location: &str, offset: &str| {
        let entry = |k: &str, v: &str| StringStringEntryProto { key: Some(k.into()), value: Some(v.into()) };
        let mut g = graph(vec![], &[], vec![node("Neg", "c", "y")], "y");
        g.initializer.push(TensorProto {
            data_location: Some(LOCATION_EXTERNAL),
            external_data: vec![entry("location", location), entry("offset", offset)],
            ..typed(DType::F32, &[1])
        });
        std::fs::write(&path, encode(&model(18, g))).unwrap();
        read_onnx(&path)
    };
    let y = eval(&read("weights.bin", "4").unwrap(), &[]).remove(0);
    assert_eq!(y.to_vec::<f32>().unwrap(), [-1.0]);
    assert_eq!(read("../secret.bin", "0").unwrap_err().code(), Code::OutsideFolder);
    let absolute = folder.0.join("secret.bin");
    assert_eq!(read(absolute.to_str().unwrap(), "0").unwrap_err().code(), Code::OutsideFolder);
    assert_eq!(read("missing.bin", "0").unwrap_err().code(), Code::Io);
    assert_eq!(read("weights.bin", "8").unwrap_err().code(), Code::OnnxModel);
    assert_eq!(read("weights.bin", "18446744073709551615").unwrap_err().code(), Code::OnnxModel);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.0.join("secret.bin"), folder.0.join("model/link.bin")).unwrap();
        assert_eq!(read("link.bin", "0").unwrap_err().code(), Code::OutsideFolder);
    }
    // From memory there is no folder.
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(from_bytes(bytes, &ImportOptions::default()).unwrap_err().code(), Code::Io);
}

#[test]
fn versions_that_are_not_known_are_refused() {
    let empty = || graph(vec![input("x", DType::F32, &["1"])], &[], vec![node("Neg", "x", "y")], "y");
    for version in [0, -1, 29, i64::MAX] {
        assert_eq!(import(&model(version, empty())).unwrap_err().code(), Code::OnnxVersion, "{version}");
    }
    assert!(import(&model(1, empty())).is_ok());
    let mut old = model(18, empty());
    old.ir_version = Some(1);
    assert_eq!(import(&old).unwrap_err().code(), Code::OnnxVersion);
}

#[test]
fn unknown_operators_are_listed_all_at_once() {
    let inner = graph(vec![], &[], vec![node("Inner", "x", "i")], "i");
    let mut own = node("Mine", "x", "b");
    own.domain = Some("com.example".into());
    own.name = Some("my_node".into());
    let nodes = vec![
        node("Nonsense", "x", "a"),
        own,
        node("Nonsense", "x", "c"),
        node("Gelu", "x", "d"),
        node("If", "x", "e").graph("then_branch", inner.clone()).graph("else_branch", inner),
    ];
    let error = import_graph(graph(vec![input("x", DType::F32, &["1"])], &[], nodes, "a")).unwrap_err();
    assert_eq!(error.code(), Code::OnnxUnsupported);
    let lines: Vec<&str> = error.message().lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "the model uses 4 operators that Lawson does not import:",
            "`Gelu` of ai.onnx (version 18), which has it from version 20 on: node `d`",
            "`Inner` of ai.onnx (version 18): node `i`, `i`",
            "`Nonsense` of ai.onnx (version 18): node `a`, `c`",
            "`Mine` of com.example (no version imported): node `my_node`",
        ]
    );
}

#[test]
fn errors_name_the_node_and_the_attribute() {
    let x = || vec![input("x", DType::F32, &["2", "3"])];
    let error = |n: NodeProto| import_graph(graph(x(), &[], vec![n], "y")).unwrap_err();
    let axis = error(node("Softmax", "x", "y").int("axis", 2));
    assert_eq!(axis.code(), Code::OnnxModel);
    assert!(axis.to_string().contains("axis 2"), "{axis}");
    assert!(axis.to_string().contains("node `%y` (`Softmax`) of graph `@test`"), "{axis}");
    let kind = error(node("Softmax", "x", "y").text("axis", "1"));
    assert!(kind.to_string().contains("attribute `axis` of `Softmax`"), "{kind}");
    let unknown = error(node("Relu", "x", "y").int("slope", 1));
    assert!(unknown.to_string().contains("attribute `slope`"), "{unknown}");
    let missing = error(node("Add", "x nowhere", "y"));
    assert!(missing.to_string().contains("`nowhere`"), "{missing}");
    let twice = vec![node("Neg", "x", "y"), node("Abs", "x", "y")];
    assert!(import_graph(graph(x(), &[], twice, "y")).unwrap_err().to_string().contains("defined twice"));
    let matmul = error(node("MatMul", "x x", "y"));
    assert!(matmul.to_string().contains("(`MatMul`)"), "{matmul}");
}

#[test]
fn what_is_no_model_says_where() {
    let error = from_bytes(&b"\x3a\xff\xff\x03hello"[..], &ImportOptions::default()).unwrap_err();
    assert_eq!(error.code(), Code::OnnxModel);
    assert!(error.message().contains("near byte 4 of 9"), "{error}");
    let error = from_bytes(&b""[..], &ImportOptions::default()).unwrap_err();
    assert_eq!(error.code(), Code::OnnxModel);
    assert!(error.message().contains("empty"), "{error}");
}

#[test]
fn what_is_wrong_with_a_model_is_said_with_its_place_and_what_was_expected() {
    let said = |nodes: Vec<lawson_onnx::proto::NodeProto>| {
        import_graph(graph(vec![input("x", DType::F32, &["N"])], &[], nodes, "y")).unwrap_err().to_string()
    };
    let circle = said(vec![node("Add", "x b", "a"), node("Neg", "a", "b"), node("Abs", "b", "y")]);
    assert!(circle.contains("`b` is used before node `b` defines it"), "{circle}");
    let kind = said(vec![node("Softmax", "x", "y").text("axis", "one")]);
    assert!(kind.contains("the attribute is a text, but the operator asks for an integer"), "{kind}");
    let empty = lawson_onnx::from_bytes(Vec::new(), &lawson_onnx::ImportOptions::default()).unwrap_err();
    assert!(empty.to_string().contains("the model is empty"), "{empty}");
}

/// As tools leave them that add nodes to a graph: at its end, or before what they use.
#[test]
fn nodes_may_stand_in_any_order() {
    let nodes = vec![
        node("Mul", "c d", "y"),
        node("Add", "b x", "c"),
        node("If", "truth", "d")
            .graph("then_branch", graph(vec![], &[], vec![node("Abs", "c", "t")], "t"))
            .graph("else_branch", graph(vec![], &[], vec![node("Neg", "b", "e")], "e")),
        node("Neg", "x", "a"),
        node("Exp", "a", "b"),
    ];
    let inputs = vec![input("x", DType::F32, &["1"]), input("truth", DType::Bool, &[])];
    let g = import_graph(graph(inputs, &[], nodes, "y")).unwrap();
    let (x, b) = (0.5f32, (-0.5f32).exp());
    for (truth, expected) in [(true, (b + x) * (b + x)), (false, -(b + x) * b)] {
        let y = eval(&g, &[host(&[1], &[x]), HostTensor::scalar(truth)]).remove(0).to_vec::<f32>().unwrap();
        assert!((y[0] - expected).abs() < 1e-6, "{y:?}, not {expected}");
    }
}
