//! Sizes that are fixed when a file is read (`--dim`), sizes of a run (`--bind`), and models that are imported for either.

use crate::folder::{Folder, MLP, fails, fine, json};
use crate::models::{F32, I64, info, model, node};
use lawson::onnx::proto::*;
use lawson::{Tensor, npy};

/// The dimension with a name.
fn named(mut input: ValueInfoProto, axis: usize, name: &str) -> ValueInfoProto {
    if let Some(TypeValue::Tensor(t)) = input.r#type.as_mut().and_then(|t| t.value.as_mut())
        && let Some(shape) = &mut t.shape
    {
        shape.dim[axis].value = Some(DimensionValue::Param(name.to_string()));
    }
    input
}

/// A picture that gets smaller, each element counting: for that, Lawson has to know the size.
fn smaller() -> Vec<u8> {
    let flag = |name: &str| AttributeProto {
        name: Some(name.into()),
        i: Some(1),
        r#type: Some(2),
        ..AttributeProto::default()
    };
    let mode = AttributeProto {
        name: Some("mode".into()),
        s: Some(b"linear".as_slice().into()),
        r#type: Some(3),
        ..AttributeProto::default()
    };
    let value = AttributeProto {
        name: Some("value_ints".into()),
        ints: vec![2],
        r#type: Some(7),
        ..AttributeProto::default()
    };
    let mut sizes = node("Constant", &[], &["sizes"]);
    sizes.attribute.push(value);
    let mut resize = node("Resize", &["x", "", "", "sizes"], &["y"]);
    resize.attribute.extend([flag("antialias"), mode]);
    model(vec![named(info("x", F32, &[0]), 0, "N")], vec![sizes, resize], vec![info("y", F32, &[2])])
}

#[test]
fn a_size_is_fixed_when_a_graph_is_read() {
    let f = Folder::new();
    f.file("m.law", MLP);
    assert!(fine(&f.run(&["show", "m.law", "--dim", "N=6"])).contains("%x: f32[6, 3]"));
    assert!(fine(&f.run(&["opt", "m.law", "--dim", "N=6"])).contains("f32[6, 4]"));
    fine(&f.run(&["check", "m.law", "--dim", "N=6"]));
    fine(&f.run(&["opcodes", "m.law", "--dim", "N=6", "--no-text"]));
    fine(&f.run(&["convert", "m.law", "six.law", "--dim", "N=6"]));
    assert!(!fine(&f.run(&["show", "six.law"])).contains('N'));
    let report = json(&f.run(&["run", "m.law", "-i", "random", "--dim", "N=6", "--json"]));
    assert_eq!(report["symbols"], serde_json::json!({}));
    assert_eq!(report["outputs"]["y"]["sizes"], serde_json::json!([6, 4]));
    // Given for a run, the size stays open in what is compiled.
    assert!(fine(&f.run(&["show", "m.law", "--bind", "N=6"])).contains("%x: f32[N, 3]"));
    let args = ["bench", "m.law", "--dim", "N=6", "--seconds", "0", "--json"];
    assert_eq!(json(&f.run(&args))["symbols"], serde_json::json!({}));
    fine(&f.run(&["bisect", "m.law", "--dim", "N=6", "--trials", "1"]));
}

#[test]
fn sizes_that_cannot_be_fixed_are_said() {
    let f = Folder::new();
    f.file("m.law", MLP).file("m.onnx", smaller());
    for file in ["m.law", "m.onnx"] {
        fails(&f.run(&["check", file, "--dim", "n=6"]), 1, "no input has an open size `n`");
        fails(&f.run(&["check", file, "--dim", "N=6", "--dim", "N=7"]), 2, "given twice");
    }
    fails(
        &f.run(&["check", "m.law", "--dim", "N=5"]),
        1,
        "the fact `N % 2 == 0` does not hold where `N` is 5",
    );
    let both = ["run", "m.law", "-i", "zeros", "--dim", "N=6", "--bind", "N=8"];
    fails(&f.run(&both), 2, "--dim fixes `N` to 6, but --bind says 8");
    fine(&f.run(&["run", "m.law", "-i", "zeros", "--dim", "N=6", "--bind", "N=6"]));
}

#[test]
fn a_model_that_needs_its_sizes_is_imported_for_those_that_are_said() {
    let f = Folder::new();
    f.file("m.onnx", smaller());
    f.tensor("x.npy", &[1.0, 2.0, 3.0, 4.0]);
    let x = Tensor::from_slice(&[4], &[1f32, 2.0, 3.0, 4.0]).unwrap();
    npy::write_npz(&f.path("x.npz"), [("x", &x)]).unwrap();
    for (command, more) in [
        (&["check", "m.onnx"][..], &[][..]),
        (&["show", "m.onnx"], &[]),
        (&["show", "m.onnx", "--plan"], &[]),
        (&["opt", "m.onnx"], &[]),
        (&["opcodes", "m.onnx"], &[]),
        (&["convert", "m.onnx", "m.law"], &[]),
        (&["run", "m.onnx"], &["-i", "random"]),
        (&["bench", "m.onnx"], &["--seconds", "0"]),
        (&["bisect", "m.onnx"], &["--trials", "1"]),
    ] {
        let with = |args: &[&str]| f.run(&[command, more, args].concat());
        fails(&with(&[]), 1, "--dim NAME=SIZE");
        fine(&with(&["--dim", "N=4"]));
        fine(
            &f.run(
                &[command, &["--input", "x.npz"], if command[0] == "bench" { more } else { &[] }].concat(),
            ),
        );
        if matches!(command[0], "show" | "run" | "bench" | "bisect") {
            fine(&with(&["--bind", "N=4"]));
        }
    }
    let run = json(&f.run(&["run", "m.onnx", "-i", "x=x.npy", "--json"]));
    assert_eq!(run["outputs"]["y"]["sizes"], serde_json::json!([2]));
}

#[test]
fn a_graph_that_does_not_hold_for_the_sizes_of_a_run_is_imported_for_them() {
    // A squeeze without axes: open, the axis is at least 2.
    let f = Folder::new();
    let x = named(info("x", F32, &[0, 3]), 0, "b");
    f.file("m.onnx", model(vec![x], vec![node("Squeeze", &["x"], &["y"])], vec![info("y", F32, &[])]));
    let sizes = |size: &str| {
        let run = json(&f.run(&["run", "m.onnx", "-i", "random", "--bind", size, "--json"]));
        run["outputs"]["y"]["sizes"].clone()
    };
    assert_eq!(sizes("b=2"), serde_json::json!([2, 3]));
    assert_eq!(sizes("b=1"), serde_json::json!([3]));
}

#[test]
fn random_integers_are_such_that_any_model_takes_them() {
    let f = Folder::new();
    let inputs = vec![info("ids", I64, &[64]), info("x", F32, &[64])];
    let nodes = vec![node("Identity", &["ids"], &["y"]), node("Identity", &["x"], &["z"])];
    f.file("m.onnx", model(inputs, nodes, vec![info("y", I64, &[64]), info("z", F32, &[64])]));
    let run = json(&f.run(&["run", "m.onnx", "-i", "random", "--json"]));
    let all = |name: &str| run["outputs"][name]["elements"].as_array().unwrap().clone();
    let ids: Vec<i64> = all("y").iter().map(|e| e.as_i64().unwrap()).collect();
    assert!(ids.iter().all(|i| (0..=1).contains(i)) && ids.contains(&0) && ids.contains(&1), "{ids:?}");
    assert!(all("z").iter().any(|e| e.as_f64().unwrap() < 0.0));
}

#[test]
fn an_npz_for_one_input_is_told_what_to_do() {
    let f = Folder::new();
    f.file("m.law", MLP);
    npy::write_npz(&f.path("x.npz"), [("x", &Tensor::from_slice(&[1], &[1f32]).unwrap())]).unwrap();
    fails(&f.run(&["run", "m.law", "-i", "x=x.npz", "-i", "zeros"]), 2, "give the .npz without a name");
}
