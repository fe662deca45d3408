//! `run`, `show` and `convert` with ONNX models.

use crate::folder::{Folder, cpu_runs, err, fails, fine, out};
use crate::models::{F32, I64, floats, info, ints, model, node, unary};
use lawson::npy;
use prost::Message;
use serde_json::Value as Json;
use std::fs;

/// What the command printed, and its exit status.
fn said(folder: &Folder, args: &[&str]) -> (String, Option<i32>) {
    let output = folder.run(args);
    (out(&output) + &err(&output), output.status.code())
}

#[test]
fn onnx_models_are_read_like_graphs() {
    let folder = Folder::new();
    folder
        .file("neg.onnx", unary("Neg"))
        .file("odd.onnx", unary("Odd"))
        .file("cut.onnx", &unary("Neg")[..20]);
    folder.tensor("x.npy", &[1.0, 2.0]);
    fine(&folder.run(&["run", "neg.onnx", "--input", "x=x.npy", "--output", "y=y.npy"]));
    let y = npy::read(&folder.path("y.npy"), None).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [-1.0, -2.0]);
    assert!(fine(&folder.run(&["show", "neg.onnx"])).contains("neg"));
    assert!(fine(&folder.run(&["show", "neg.onnx", "--kernels"])).contains("lawson-kernel 1"));
    if cpu_runs() {
        fine(&folder.run(&["run", "neg.onnx", "-i", "x=x.npy", "-o", "y=z.npy", "--target", "cpu"]));
        assert_eq!(fs::read(folder.path("z.npy")).unwrap(), fs::read(folder.path("y.npy")).unwrap());
    }
    fails(&folder.run(&["check", "neg.onnx", "odd.onnx"]), 1, "`Odd` of ai.onnx (version 18): node `y`");
    fails(&folder.run(&["check", "cut.onnx"]), 1, "near byte");
}

#[test]
fn a_run_takes_shapes_from_the_files_that_are_given_and_compares_what_comes_out() {
    let folder = Folder::new();
    let inputs = vec![info("x", F32, &[4]), info("shape", I64, &[2])];
    let reshape =
        model(inputs, vec![node("Reshape", &["x", "shape"], &["y"])], vec![info("y", F32, &[2, 2])]);
    fs::write(folder.path("m.onnx"), reshape).unwrap();
    fs::write(folder.path("x.pb"), floats("x", &[1.0, 2.0, 3.0, 4.0]).encode_to_vec()).unwrap();
    fs::write(folder.path("shape.pb"), ints("shape", &[2, -1]).encode_to_vec()).unwrap();
    let run = ["run", "m.onnx", "--input", "x=x.pb", "--input", "shape=shape.pb"];
    let (text, code) = said(&folder, &[&run[..], &["--output", "y.npz"]].concat());
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("shapes depend on what these inputs hold: shape"), "{text}");
    assert!(text.contains("y: f32[2, 2]"), "{text}");

    let (text, code) = said(&folder, &[&run[..], &["--check", "y.npz", "--target", "cpu"]].concat());
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("y: as expected, at most 0.000e0 off"), "{text}");
    let other = lawson::Tensor::from_slice(&[2, 2], &[1f32, 2.0, 3.5, 4.0]).unwrap();
    lawson::npy::write_npz(&folder.path("other.npz"), [("y", &other)]).unwrap();
    let (text, code) = said(&folder, &[&run[..], &["--check", "other.npz"]].concat());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("y: WRONG") && text.contains("the first at [1, 0], 3 instead of 3.5"), "{text}");
}

#[test]
fn a_model_is_converted_to_text() {
    let folder = Folder::new();
    fs::write(folder.path("m.onnx"), unary("Abs")).unwrap();
    let (text, code) = said(&folder, &["convert", "m.onnx", "m.law"]);
    assert_eq!((text.as_str(), code), ("m.law: @case with 1 nodes\n", Some(0)));
    assert!(fs::read_to_string(folder.path("m.law")).unwrap().contains("%y: f32[2] = abs %x"));
    assert_eq!(said(&folder, &["check", "m.law"]).1, Some(0));
}

#[test]
fn an_image_becomes_the_tensor_that_the_input_asks_for() {
    let folder = Folder::new();
    let dims = [1, 3, 1, 2];
    let copy =
        model(vec![info("x", F32, &dims)], vec![node("Abs", &["x"], &["y"])], vec![info("y", F32, &dims)]);
    fs::write(folder.path("m.onnx"), copy).unwrap();
    // Two pixels of three bytes: red and half grey.
    fs::write(folder.path("two.ppm"), b"P6\n2 1\n255\n\xff\x00\x00\x80\x80\x80").unwrap();
    let args = ["run", "m.onnx", "--input", "x=two.ppm", "--std", "0.5", "--json"];
    let (text, code) = said(&folder, &args);
    assert_eq!(code, Some(0), "{text}");
    let report: Json = serde_json::from_str(&text).unwrap();
    let elements: Vec<f64> =
        report["outputs"]["y"]["elements"].as_array().unwrap().iter().map(|e| e.as_f64().unwrap()).collect();
    let half = 2.0 * 128.0 / 255.0;
    let expected = [2.0, half, 0.0, half, 0.0, half];
    assert!(elements.iter().zip(expected).all(|(e, w)| (e - w).abs() < 1e-6), "{elements:?}");
    fs::write(folder.path("bad.png"), b"\x89PNG\r\n\x1a\nno").unwrap();
    let (text, code) = said(&folder, &["run", "m.onnx", "--input", "x=bad.png"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("the image cannot be decoded"), "{text}");
}
