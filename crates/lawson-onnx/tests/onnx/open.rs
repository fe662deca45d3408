//! Sizes that only a run knows: what they are computed from, what has them, and loops that find them anew in each iteration.

use crate::model::*;
use lawson_graph::interp::{Options, run};
use lawson_graph::{Code, DType, Graph, HostTensor, Result, Value};
use lawson_onnx::proto::{GraphProto, NodeProto};
use lawson_onnx::{ImportOptions, Model, host_functions};

/// The tensors that a graph gives which may call functions of the host.
fn eval_hosted(graph: &Graph, inputs: &[HostTensor]) -> Result<Vec<HostTensor>> {
    let inputs: Vec<Value> = inputs.iter().cloned().map(Value::from).collect();
    let values = run(graph, &inputs, &Options { host: host_functions(), ..Options::default() })?;
    Ok(values.iter().map(|v| v.as_tensor().unwrap().clone()).collect())
}

/// A resize of `x` to the size of `like`.
fn resize(mode: &str, nearest: &str, transform: &str, exclude: i64) -> NodeProto {
    node("Resize", "x - - size", "y")
        .text("mode", mode)
        .text("nearest_mode", nearest)
        .text("coordinate_transformation_mode", transform)
        .int("exclude_outside", exclude)
}

#[test]
fn a_resize_to_an_open_size_gives_what_one_to_a_known_size_gives() {
    let transforms =
        ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"];
    let nearest = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"];
    let mut modes: Vec<(&str, &str, i64)> = nearest.iter().map(|n| ("nearest", *n, 0)).collect();
    modes.extend([
        ("linear", "floor", 0),
        ("cubic", "floor", 0),
        ("linear", "floor", 1),
        ("cubic", "floor", 1),
    ]);
    for (mode, nearest, exclude) in modes {
        for transform in transforms {
            let n = resize(mode, nearest, transform, exclude);
            let inputs = vec![input("x", DType::F32, &["N"]), input("like", DType::F32, &["M"])];
            let open = graph(inputs, &[], vec![node("Shape", "like", "size"), n.clone()], "y");
            let open = import_graph(open).unwrap();
            for (from, to) in [(1, 1), (1, 4), (2, 5), (5, 2), (7, 1), (6, 4), (4, 13)] {
                let x: Vec<f32> = (0..from).map(|i| (i * i) as f32 - 1.5).collect();
                let x = host(&[from], &x);
                let size = [("size", host(&[1], &[to as i64]))];
                let input = input("x", DType::F32, &[&from.to_string()]);
                let known = import_graph(graph(vec![input], &size, vec![n.clone()], "y")).unwrap();
                let like = HostTensor::zeros(DType::F32, &[to]).unwrap();
                let found = eval(&open, &[x.clone(), like])[0].to_vec::<f32>().unwrap();
                let expected = eval(&known, &[x])[0].to_vec::<f32>().unwrap();
                let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
                assert!(
                    found.len() == to && found.iter().zip(&expected).all(near),
                    "{mode} {nearest} {transform} {exclude}, {from} to {to}: {found:?}, not {expected:?}"
                );
            }
        }
    }
}

#[test]
fn bounds_and_sizes_may_be_computed_from_floats() {
    // Elements from and to what the second input says, behind as many threes as the third says.
    let nodes = vec![
        node("Cast", "from", "a").int("to", 7),
        node("Cast", "to", "b").int("to", 7),
        node("Cast", "more", "n").int("to", 7),
        node("Slice", "x a b", "part"),
        node("ConstantOfShape", "n", "threes").tensor("value", &host(&[1], &[3f32])),
        node("Concat", "threes part", "y").int("axis", 0),
    ];
    let number = |name| input(name, DType::F32, &["1"]);
    let inputs = vec![input("x", DType::F32, &["N"]), number("from"), number("to"), number("more")];
    let g = import_graph(graph(inputs, &[], nodes, "y")).unwrap();
    let x = host(&[5], &[0f32, 1.0, 2.0, 3.0, 4.0]);
    for (from, to, more, expected) in [
        (1.0, 3.0, 2.0, &[3f32, 3.0, 1.0, 2.0][..]),
        (-2.0, 100.0, 0.0, &[3.0, 4.0]),
        (-100.0, -4.0, 1.0, &[3.0, 0.0]),
        (4.0, 2.0, 1.0, &[3.0]),
        (5.0, 9.0, -1.0, &[]),
    ] {
        let numbers = [from, to, more].map(|n: f32| host(&[1], &[n]));
        let inputs: Vec<HostTensor> = [x.clone()].into_iter().chain(numbers).collect();
        assert_eq!(eval(&g, &inputs)[0].to_vec::<f32>().unwrap(), expected, "{from}..{to}, {more}");
    }
}

#[test]
fn sizes_that_an_input_of_integers_holds_are_asked_for() {
    // Where inputs are given, it is known what they hold; where none are, a run finds it (`presupposed.rs`).
    let g = graph(vec![input("n", DType::I64, &["2"])], &[], vec![node("ConstantOfShape", "n", "y")], "y");
    let model = Model::from_bytes(encode(&model(18, g))).unwrap();
    let given = [("n".to_string(), Value::from(host(&[2], &[2i64, 3])))].into();
    let made = model.import_for(&given, &ImportOptions::default()).unwrap();
    assert_eq!(made.known, ["n"]);
    assert_eq!(made.graph.ty(made.graph.outputs()[0].value).to_string(), "f32[2, 3]");
}

/// Each iteration makes a row of `x` as long as `sizes` says, and puts it, cut or filled to 4, behind `all`.
fn collecting(cut: bool) -> GraphProto {
    let body = graph(
        vec![
            input("i", DType::I64, &[]),
            input("go", DType::Bool, &[]),
            input("all", DType::F32, &["?", "4"]),
        ],
        &[("zero", host(&[1], &[0i64])), ("four", host(&[1], &[4i64]))],
        vec![
            node("Gather", "sizes i", "size"),
            node("Cast", "size", "whole").int("to", 7),
            node("Unsqueeze", "whole zero", "length"),
            node("Gather", "x i", "row"),
            node("Resize", "row - - length", "long").text("mode", "linear"),
            node("Sub", "four length", "missing"),
            node("Max", "missing zero", "rest"),
            node("ConstantOfShape", "rest", "zeros"),
            node("Concat", "long zeros", "filled").int("axis", 0),
            match cut {
                true => node("Slice", "filled zero four", "part"),
                false => node("Identity", "filled", "part"),
            },
            node("Unsqueeze", "part zero", "new"),
            node("Cast", "all", "same").int("to", 1),
            node("Concat", "same new", "more").int("axis", 0),
            node("Identity", "go", "on"),
        ],
        "on more",
    );
    let nodes = vec![
        node("Shape", "x", "shape"),
        node("Gather", "shape zeroth", "count"),
        node("Loop", "count - first", "y").graph("body", body),
    ];
    let first = host(&[1, 4], &[9f32; 4]);
    let inputs = vec![input("x", DType::F32, &["N", "2"]), input("sizes", DType::F32, &["N"])];
    graph(inputs, &[("first", first), ("zeroth", HostTensor::scalar(0i64))], nodes, "y")
}

#[test]
fn a_loop_collects_rows_of_sizes_that_each_iteration_finds() {
    let g = import_graph(collecting(true)).unwrap();
    assert!(ops(&g).contains(&"scan"), "{g}");
    let x = host(&[3, 2], &[0f32, 2.0, 4.0, 8.0, 5.0, 5.0]);
    let y = eval_hosted(&g, &[x, host(&[3], &[2f32, 4.0, 6.0])]).unwrap();
    assert_eq!(y[0].sizes(), [4, 4]);
    let expected =
        [[9f32, 9.0, 9.0, 9.0], [0.0, 2.0, 0.0, 0.0], [4.0, 5.0, 7.0, 8.0], [5.0, 5.0, 5.0, 5.0]].concat();
    assert_eq!(y[0].to_vec::<f32>().unwrap(), expected);
}

#[test]
fn a_row_that_does_not_fit_ends_the_run_with_an_error() {
    let g = import_graph(collecting(false)).unwrap();
    let x = host(&[2, 2], &[0f32, 2.0, 4.0, 8.0]);
    let fine = eval_hosted(&g, &[x.clone(), host(&[2], &[3f32, 4.0])]).unwrap();
    assert_eq!(fine[0].sizes(), [3, 4]);
    let error = eval_hosted(&g, &[x, host(&[2], &[3f32, 7.0])]).unwrap_err();
    assert!(error.to_string().contains("onnx.Fits"), "{error}");
}

#[test]
fn a_size_is_followed_through_any_number_of_nodes() {
    let mut nodes = vec![node("Cast", "n", "s0").int("to", 7)];
    for i in 0..20_000 {
        let to = if i % 2 == 0 { "flat" } else { "row" };
        nodes.push(node("Reshape", &format!("s{i} {to}"), &format!("s{}", i + 1)));
    }
    nodes.push(node("ConstantOfShape", "s20000", "y"));
    let constants = [("flat", host(&[2], &[1i64, 1])), ("row", host(&[1], &[1i64]))];
    let g = import_graph(graph(vec![input("n", DType::F32, &["1"])], &constants, nodes, "y")).unwrap();
    assert_eq!(eval(&g, &[host(&[1], &[3f32])])[0].sizes(), [3]);
}

#[test]
fn ranges_and_parts_may_have_sizes_that_are_computed() {
    // Numbers up to what an input holds, backwards in steps of two, and an axis in two parts.
    let nodes = vec![
        node("Cast", "count", "n").int("to", 7),
        node("Squeeze", "n", "limit"),
        node("Range", "zero limit one", "up"),
        node("Range", "limit minus_one minus_two", "down"),
        node("Shape", "x", "all"),
        node("Sub", "all n", "rest"),
        node("Concat", "n rest", "sizes").int("axis", 0),
        node("Split", "x sizes", "a b").int("axis", 0),
    ];
    let constants = [("zero", 0i64), ("one", 1), ("minus_one", -1), ("minus_two", -2)];
    let constants = constants.map(|(name, v)| (name, HostTensor::scalar(v)));
    let inputs = vec![input("x", DType::F32, &["N"]), input("count", DType::F32, &["1"])];
    let g = import_graph(graph(inputs, &constants, nodes, "up down a b")).unwrap();
    let x = host(&[5], &[0f32, 1.0, 2.0, 3.0, 4.0]);
    for count in [0usize, 1, 3, 5] {
        let found = eval_hosted(&g, &[x.clone(), host(&[1], &[count as f32])]).unwrap();
        let n = count as i64;
        assert_eq!(found[0].to_vec::<i64>().unwrap(), (0..n).collect::<Vec<_>>());
        let down: Vec<i64> = (0..=n).rev().step_by(2).collect();
        assert_eq!(found[1].to_vec::<i64>().unwrap(), down, "{count}");
        assert_eq!(found[2].to_vec::<f32>().unwrap(), x.to_vec::<f32>().unwrap()[..count]);
        assert_eq!(found[3].to_vec::<f32>().unwrap(), x.to_vec::<f32>().unwrap()[count..]);
    }
    // Parts that are longer than the axis.
    let failed = eval_hosted(&g, &[x, host(&[1], &[6f32])]).unwrap_err();
    assert!(matches!(failed.code(), Code::Binding | Code::Runtime), "{failed}");
}
