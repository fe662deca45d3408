//! `onnx-test`: which cases it finds, what it says of them, and that no case can end it.

use crate::folder::{Folder, json, out};
use crate::models::{BOOL, F32, I64, floats, info, ints, model, node, unary};
use lawson::onnx::proto::*;
use prost::Message;
use serde_json::Value as Json;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

impl Folder {
    /// A case of one set of data.
    fn case(&self, name: &str, model: &[u8], inputs: &[TensorProto], outputs: &[TensorProto]) -> &Folder {
        let set = self.path(name).join("test_data_set_0");
        fs::create_dir_all(&set).unwrap();
        fs::write(self.path(name).join("model.onnx"), model).unwrap();
        for (prefix, tensors) in [("input", inputs), ("output", outputs)] {
            for (i, t) in tensors.iter().enumerate() {
                fs::write(set.join(format!("{prefix}_{i}.pb")), t.encode_to_vec()).unwrap();
            }
        }
        self
    }
}

fn judge(folder: &Folder, args: &[&str]) -> Output {
    folder.run(&[&["onnx-test"], args].concat())
}

fn report(folder: &Folder, args: &[&str]) -> Json {
    json(&judge(folder, &[args, &["--json"]].concat()))
}

fn case<'j>(report: &'j Json, name: &str) -> &'j Json {
    report["cases"].as_array().unwrap().iter().find(|c| c["name"] == name).unwrap()
}

/// Fails unless all cases of a folder of the repository pass, and there are so many at least.
fn all_pass(cases: &str, least: u64) {
    let cases = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(cases);
    let report = report(&Folder::new(), &[cases.to_str().unwrap()]);
    let wrong = |c: &&Json| c["status"] != "passed";
    let wrong: Vec<&Json> = report["cases"].as_array().unwrap().iter().filter(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(report["totals"]["total"].as_u64().unwrap() >= least);
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
    fs::create_dir_all(folder.path("empty")).unwrap();
    fs::write(folder.path("empty/model.onnx"), unary("Abs")).unwrap();

    let output = judge(&folder, &["."]);
    let text = out(&output);
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

    let report = report(&folder, &[".", "--jobs", "2"]);
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
    assert_eq!(report(&folder, &["one"])["cases"][0]["name"], "one");
    assert_eq!(report(&folder, &[".", "--filter", "on"])["totals"]["total"], 1);
    assert_eq!(judge(&folder, &[".", "--filter", "none"]).status.code(), Some(2));
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
    let report = report(&folder, &[".", "--seconds", "2"]);
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
    let report = report(&folder, &["."]);
    assert_eq!(report["totals"]["passed"], 1, "{report}");
    assert_eq!(report["cases"][0]["known"], serde_json::json!(["shape"]));
}

/// What ONNX Runtime computes for operators of its own and for classic machine learning (`tests/onnx/contrib.py`).
#[test]
fn operators_of_onnx_runtime_give_what_it_gives() {
    all_pass("tests/onnx/contrib", 104);
}

/// Small networks as both exporters of PyTorch write them, with what PyTorch computes (`tests/models/small.py`).
#[test]
fn networks_that_pytorch_exported_give_what_pytorch_gives() {
    all_pass("tests/models/small", 17);
}
