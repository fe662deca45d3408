//! `onnx-test` from outside: which cases it finds, what it says of them, and that no case can end it; and `run` and `convert` with
//! models.
#![allow(clippy::unwrap_used)]

use lawson::onnx::proto::*;
use prost::Message;
use serde_json::Value as Json;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

const F32: i32 = 1;
const I64: i32 = 7;
const BOOL: i32 = 9;

struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lawson-onnx-test-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A case of one set of data.
    fn case(&self, name: &str, model: &[u8], inputs: &[TensorProto], outputs: &[TensorProto]) -> &Folder {
        let set = self.0.join(name).join("test_data_set_0");
        fs::create_dir_all(&set).unwrap();
        fs::write(self.0.join(name).join("model.onnx"), model).unwrap();
        for (prefix, tensors) in [("input", inputs), ("output", outputs)] {
            for (i, t) in tensors.iter().enumerate() {
                fs::write(set.join(format!("{prefix}_{i}.pb")), t.encode_to_vec()).unwrap();
            }
        }
        self
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_lawson"))
            .arg("onnx-test")
            .args(args)
            .current_dir(&self.0)
            .output()
            .unwrap()
    }

    fn lawson(&self, args: &[&str]) -> (String, Option<i32>) {
        let output =
            Command::new(env!("CARGO_BIN_EXE_lawson")).args(args).current_dir(&self.0).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (String::from_utf8_lossy(&text).into_owned(), output.status.code())
    }

    fn json(&self, args: &[&str]) -> Json {
        let output = self.run(&[args, &["--json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn floats(name: &str, elements: &[f32]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        dims: vec![elements.len() as i64],
        data_type: Some(F32),
        float_data: elements.to_vec(),
        ..TensorProto::default()
    }
}

fn ints(name: &str, elements: &[i64]) -> TensorProto {
    TensorProto {
        data_type: Some(I64),
        float_data: Vec::new(),
        int64_data: elements.to_vec(),
        ..floats(name, &vec![0.0; elements.len()])
    }
}

fn info(name: &str, dtype: i32, dims: &[i64]) -> ValueInfoProto {
    let dim = |d: &i64| DimensionProto { value: Some(DimensionValue::Value(*d)) };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let value = Some(TypeValue::Tensor(TensorTypeProto { elem_type: Some(dtype), shape }));
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { value }) }
}

fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let names = |all: &[&str]| all.iter().map(ToString::to_string).collect();
    NodeProto {
        op_type: Some(op.into()),
        input: names(inputs),
        output: names(outputs),
        ..NodeProto::default()
    }
}

fn model(inputs: Vec<ValueInfoProto>, nodes: Vec<NodeProto>, outputs: Vec<ValueInfoProto>) -> Vec<u8> {
    let graph = GraphProto {
        name: Some("case".into()),
        node: nodes,
        input: inputs,
        output: outputs,
        ..GraphProto::default()
    };
    let opset = OperatorSetIdProto { domain: None, version: Some(18) };
    ModelProto { ir_version: Some(9), opset_import: vec![opset], graph: Some(graph), ..ModelProto::default() }
        .encode_to_vec()
}

fn unary(op: &str) -> Vec<u8> {
    model(vec![info("x", F32, &[2])], vec![node(op, &["x"], &["y"])], vec![info("y", F32, &[2])])
}

fn case<'j>(report: &'j Json, name: &str) -> &'j Json {
    report["cases"].as_array().unwrap().iter().find(|c| c["name"] == name).unwrap()
}

#[test]
fn cases_are_found_at_any_depth_and_each_failure_has_its_reason() {
    let folder = Folder::new();
    let (x, y) = (floats("x", &[-1.0, 2.0]), floats("y", &[1.0, 2.0]));
    folder
        .case("a/right", &unary("Abs"), std::slice::from_ref(&x), std::slice::from_ref(&y))
        .case("a/b/wrong", &unary("Neg"), std::slice::from_ref(&x), std::slice::from_ref(&y))
        .case("unknown", &unary("Frobnicate"), std::slice::from_ref(&x), std::slice::from_ref(&y))
        .case("broken", &unary("Abs")[..20], std::slice::from_ref(&x), std::slice::from_ref(&y));
    fs::create_dir_all(folder.0.join("empty")).unwrap();
    fs::write(folder.0.join("empty/model.onnx"), unary("Abs")).unwrap();

    let output = folder.run(&["."]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("failed a/b/wrong: output 0 `y`: element [1] is -2, not 2"), "{text}");
    assert!(
        text.contains("failed unknown: ") && text.contains("`Frobnicate` of ai.onnx (version 18)"),
        "{text}"
    );
    assert!(text.contains("failed broken: "), "{text}");
    assert!(text.contains("skipped empty: "), "{text}");
    assert!(text.contains("may be left to the host: sort, "), "{text}");
    assert!(text.ends_with("1 passed, 3 failed, 1 skipped, of 5\n"), "{text}");

    let report = folder.json(&[".", "--jobs", "2"]);
    let totals = serde_json::json!({ "passed": 1, "failed": 3, "skipped": 1, "total": 5 });
    assert_eq!(report["totals"], totals);
    let right = case(&report, "a/right");
    assert_eq!((&right["status"], &right["operators"][0]), (&"passed".into(), &"Abs".into()));
    assert_eq!(right["ran"]["host"], serde_json::json!([]));
}

#[test]
fn a_folder_that_is_a_case_is_one_and_a_filter_leaves_out_others() {
    let folder = Folder::new();
    let (x, y) = (floats("x", &[-1.0, 2.0]), floats("y", &[1.0, 2.0]));
    folder.case("one", &unary("Abs"), std::slice::from_ref(&x), std::slice::from_ref(&y));
    folder.case("two", &unary("Neg"), &[x], &[y]);
    assert_eq!(folder.json(&["one"])["cases"][0]["name"], "one");
    assert_eq!(folder.json(&[".", "--filter", "on"])["totals"]["total"], 1);
    assert_eq!(folder.run(&[".", "--filter", "none"]).status.code(), Some(2));
}

#[test]
fn a_case_that_does_not_end_is_a_failure_and_the_next_one_runs() {
    let folder = Folder::new();
    let carry = |name: &str| info(name, F32, &[2]);
    let body = GraphProto {
        name: Some("body".into()),
        input: vec![info("i", I64, &[]), info("c", BOOL, &[]), carry("s")],
        node: vec![node("Neg", &["s"], &["t"]), node("Not", &["c"], &["d"]), node("Not", &["d"], &["e"])],
        output: vec![info("e", BOOL, &[]), carry("t")],
        ..GraphProto::default()
    };
    let forever = AttributeProto {
        name: Some("body".into()),
        r#type: Some(attribute_type::GRAPH),
        g: Some(body),
        ..AttributeProto::default()
    };
    let looped = NodeProto { attribute: vec![forever], ..node("Loop", &["", "", "x"], &["y"]) };
    let endless = model(vec![info("x", F32, &[2])], vec![looped], vec![info("y", F32, &[2])]);
    let (x, y) = (floats("x", &[-1.0, 2.0]), floats("y", &[1.0, 2.0]));
    folder.case("a", &endless, std::slice::from_ref(&x), std::slice::from_ref(&y));
    folder.case("b", &unary("Abs"), &[x], &[y]);
    let report = folder.json(&[".", "--seconds", "2"]);
    assert_eq!(case(&report, "a")["reason"], "it took longer than 2 s");
    assert_eq!(case(&report, "b")["status"], "passed");
}

#[test]
fn what_a_shape_needs_is_taken_from_the_data_and_said() {
    let folder = Folder::new();
    let inputs = vec![info("x", F32, &[4]), info("shape", I64, &[2])];
    let reshape =
        model(inputs, vec![node("Reshape", &["x", "shape"], &["y"])], vec![info("y", F32, &[2, 2])]);
    let x = floats("x", &[1.0, 2.0, 3.0, 4.0]);
    let y = TensorProto { dims: vec![2, 2], ..floats("y", &[1.0, 2.0, 3.0, 4.0]) };
    folder.case("reshape", &reshape, &[x, ints("shape", &[2, -1])], &[y]);
    let report = folder.json(&["."]);
    assert_eq!(report["totals"]["passed"], 1, "{report}");
    assert_eq!(report["cases"][0]["known"], serde_json::json!(["shape"]));
}

/// What ONNX Runtime computes for operators of its own (`tests/onnx/contrib.py`).
#[test]
fn operators_of_onnx_runtime_give_what_it_gives() {
    let cases = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/onnx/contrib");
    let report = Folder::new().json(&[cases.to_str().unwrap()]);
    let wrong = |c: &&Json| c["status"] != "passed";
    let wrong: Vec<&Json> = report["cases"].as_array().unwrap().iter().filter(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(report["totals"]["total"].as_u64().unwrap() >= 33);
}

/// Small networks as both exporters of PyTorch write them, with what PyTorch computes (`tests/models/small.py`).
#[test]
fn networks_that_pytorch_exported_give_what_pytorch_gives() {
    let cases = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/models/small");
    let report = Folder::new().json(&[cases.to_str().unwrap()]);
    let wrong = |c: &&Json| c["status"] != "passed";
    let wrong: Vec<&Json> = report["cases"].as_array().unwrap().iter().filter(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(report["totals"]["total"].as_u64().unwrap() >= 16);
}

#[test]
fn a_run_takes_shapes_from_the_files_that_are_given_and_compares_what_comes_out() {
    let folder = Folder::new();
    let inputs = vec![info("x", F32, &[4]), info("shape", I64, &[2])];
    let reshape =
        model(inputs, vec![node("Reshape", &["x", "shape"], &["y"])], vec![info("y", F32, &[2, 2])]);
    fs::write(folder.0.join("m.onnx"), reshape).unwrap();
    fs::write(folder.0.join("x.pb"), floats("x", &[1.0, 2.0, 3.0, 4.0]).encode_to_vec()).unwrap();
    fs::write(folder.0.join("shape.pb"), ints("shape", &[2, -1]).encode_to_vec()).unwrap();
    let run = ["run", "m.onnx", "--input", "x=x.pb", "--input", "shape=shape.pb"];
    let (text, code) = folder.lawson(&[&run[..], &["--output", "y.npz"]].concat());
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("shapes depend on what these inputs hold: shape"), "{text}");
    assert!(text.contains("y: f32[2, 2]"), "{text}");

    let (text, code) = folder.lawson(&[&run[..], &["--check", "y.npz", "--target", "cpu"]].concat());
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("y: as expected, at most 0.000e0 off"), "{text}");
    let other = lawson::Tensor::from_slice(&[2, 2], &[1f32, 2.0, 3.5, 4.0]).unwrap();
    lawson::npy::write_npz(&folder.0.join("other.npz"), [("y", &other)]).unwrap();
    let (text, code) = folder.lawson(&[&run[..], &["--check", "other.npz"]].concat());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("y: WRONG") && text.contains("the first at [1, 0], 3 instead of 3.5"), "{text}");
}

#[test]
fn a_model_is_converted_to_text() {
    let folder = Folder::new();
    fs::write(folder.0.join("m.onnx"), unary("Abs")).unwrap();
    let (text, code) = folder.lawson(&["convert", "m.onnx", "m.law"]);
    assert_eq!((text.as_str(), code), ("m.law: @case with 1 nodes\n", Some(0)));
    assert!(fs::read_to_string(folder.0.join("m.law")).unwrap().contains("%y: f32[2] = abs %x"));
    assert_eq!(folder.lawson(&["check", "m.law"]).1, Some(0));
}

#[test]
fn an_image_becomes_the_tensor_that_the_input_asks_for() {
    let folder = Folder::new();
    let dims = [1, 3, 1, 2];
    let copy =
        model(vec![info("x", F32, &dims)], vec![node("Abs", &["x"], &["y"])], vec![info("y", F32, &dims)]);
    fs::write(folder.0.join("m.onnx"), copy).unwrap();
    // Two pixels of three bytes: red and half grey.
    fs::write(folder.0.join("two.ppm"), b"P6\n2 1\n255\n\xff\x00\x00\x80\x80\x80").unwrap();
    let args = ["run", "m.onnx", "--input", "x=two.ppm", "--std", "0.5", "--json"];
    let (text, code) = folder.lawson(&args);
    assert_eq!(code, Some(0), "{text}");
    let said: Json = serde_json::from_str(&text).unwrap();
    let elements: Vec<f64> =
        said["outputs"]["y"]["elements"].as_array().unwrap().iter().map(|e| e.as_f64().unwrap()).collect();
    let half = 2.0 * 128.0 / 255.0;
    let expected = [2.0, half, 0.0, half, 0.0, half];
    assert!(elements.iter().zip(expected).all(|(e, w)| (e - w).abs() < 1e-6), "{elements:?}");
    fs::write(folder.0.join("bad.png"), b"\x89PNG\r\n\x1a\nno").unwrap();
    let (text, code) = folder.lawson(&["run", "m.onnx", "--input", "x=bad.png"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("the image cannot be decoded"), "{text}");
}
