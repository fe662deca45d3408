//! Shapes: symbols from names, and shape arithmetic that leaves nothing in the graph.

use crate::model::*;
use lawson_graph::{Code, DType, HostTensor};
use lawson_onnx::proto::NodeProto;

#[test]
fn named_dimensions_are_shared_and_unnamed_ones_are_not() {
    let g = graph(
        vec![input("a", DType::F32, &["batch", "?"]), input("b", DType::F32, &["batch", "1"])],
        &[],
        vec![node("Add", "a b", "y")],
        "y",
    );
    let graph = import_graph(g).unwrap();
    assert_eq!(graph.ty(graph.outputs()[0].value).to_string(), "f32[batch, a_1]");
    assert_eq!(graph.outputs()[0].name, "y");
}

#[test]
fn an_expression_of_names_is_one_only_if_it_can_be_solved() {
    let g = |dim: &str| {
        let inputs = vec![input("a", DType::F32, &["past"]), input("b", DType::F32, &[dim])];
        let graph = import_graph(graph(inputs, &[], vec![node("Neg", "b", "y")], "y")).unwrap();
        graph.ty(graph.outputs()[0].value).to_string()
    };
    assert_eq!(g("past + 1"), "f32[past + 1]");
    assert_eq!(g("batch-size"), "f32['batch-size']");
}

#[test]
fn a_reshape_to_a_computed_shape_leaves_one_node() {
    // [N, S, 6] → [N, S, 2, 3], by way of the shape of x.
    let nodes = vec![
        node("Shape", "x", "shape"),
        node("Gather", "shape zero", "n").int("axis", 0),
        node("Gather", "shape one", "s").int("axis", 0),
        node("Unsqueeze", "n axis", "n1"),
        node("Unsqueeze", "s axis", "s1"),
        node("Concat", "n1 s1 rest", "target").int("axis", 0),
        node("Reshape", "x target", "y"),
    ];
    let constants = [
        ("zero", HostTensor::scalar(0i64)),
        ("one", HostTensor::scalar(1i64)),
        ("axis", host(&[1], &[0i64])),
        ("rest", host(&[2], &[2i64, -1])),
    ];
    let g =
        import_graph(graph(vec![input("x", DType::F32, &["N", "S", "6"])], &constants, nodes, "y")).unwrap();
    assert_eq!(ops(&g), ["reshape"]);
    assert_eq!(g.ty(g.outputs()[0].value).to_string(), "f32[N, S, 2, 3]");
}

#[test]
fn arithmetic_and_choice_on_dimensions() {
    // y = x reshaped to [where(N*2 == N, 7, N*4/2), 3], with x: [N, 6]
    let nodes = vec![
        node("Shape", "x", "n").int("start", 0).int("end", 1),
        node("Mul", "n two", "n2"),
        node("Equal", "n2 n", "same"),
        node("Mul", "n2 two", "n4"),
        node("Div", "n4 two", "half"),
        node("Where", "same seven half", "rows"),
        node("Concat", "rows three", "target").int("axis", 0),
        node("Reshape", "x target", "y"),
    ];
    let v = |i: i64| host(&[1], &[i]);
    let constants = [("two", v(2)), ("seven", v(7)), ("three", v(3))];
    let g = import_graph(graph(vec![input("x", DType::F32, &["N", "6"])], &constants, nodes, "y")).unwrap();
    assert_eq!(g.ty(g.outputs()[0].value).to_string(), "f32[2*N, 3]");
    assert_eq!(ops(&g), ["reshape"]);
}

#[test]
fn dimensions_become_data_where_an_operator_needs_them() {
    let nodes = vec![
        node("Shape", "x", "shape"),
        node("Cast", "shape", "f").int("to", 1),
        node("Mul", "f half", "y"),
    ];
    let constants = [("half", HostTensor::scalar(0.5f32))];
    let g = import_graph(graph(vec![input("x", DType::F32, &["N", "3"])], &constants, nodes, "y")).unwrap();
    let y = eval(&g, &[host(&[4, 3], &[0f32; 12])]).remove(0);
    assert_eq!(y.to_vec::<f32>().unwrap(), [2.0, 1.5]);
}

#[test]
fn a_range_and_an_expand_follow_a_symbol() {
    let nodes = vec![
        node("Shape", "x", "shape"),
        node("Squeeze", "shape", "n"),
        node("Range", "zero n one", "r"),
        node("Unsqueeze", "r axis", "column"),
        node("Concat", "shape two", "target").int("axis", 0),
        node("Expand", "column target", "y"),
    ];
    let constants = [
        ("zero", HostTensor::scalar(0i64)),
        ("one", HostTensor::scalar(1i64)),
        ("axis", host(&[1], &[1i64])),
        ("two", host(&[1], &[2i64])),
    ];
    let g = import_graph(graph(vec![input("x", DType::F32, &["N"])], &constants, nodes, "y")).unwrap();
    assert_eq!(g.ty(g.outputs()[0].value).to_string(), "i64[N, 2]");
    let y = eval(&g, &[host(&[3], &[0f32; 3])]).remove(0);
    assert_eq!(y.to_vec::<i64>().unwrap(), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn slices_of_symbolic_axes_are_clamped_by_the_facts() {
    let slice = |start: i64, end: i64| {
        let v = |i: i64| host(&[1], &[i]);
        let g = graph(
            vec![input("x", DType::F32, &["N"])],
            &[("s", v(start)), ("e", v(end))],
            vec![node("Slice", "x s e", "y")],
            "y",
        );
        let g = import_graph(g).unwrap();
        (g.ty(g.outputs()[0].value).to_string(), g)
    };
    assert_eq!(slice(0, i64::MAX).0, "f32[N]");
    assert_eq!(slice(1, i64::MAX).0, "f32[N - 1]");
    assert_eq!(slice(0, -1).0, "f32[N - 1]");
    assert_eq!(slice(-1, i64::MAX).0, "f32[1]");
    let last = eval(&slice(-1, i64::MAX).1, &[host(&[3], &[1f32, 2.0, 3.0])]).remove(0);
    assert_eq!(last.to_vec::<f32>().unwrap(), [3.0]);
}

#[test]
fn an_input_can_be_fixed() {
    let g = graph(
        vec![input("x", DType::F32, &["6"]), input("shape", DType::I64, &["2"])],
        &[],
        vec![node("Reshape", "x shape", "y")],
        "y",
    );
    let model = model(18, g);
    // Left open, the sizes are found in a run.
    let open = import(&model).unwrap();
    assert_eq!(open.inputs().len(), 2);
    assert!(open.ty(open.outputs()[0].value).as_tensor().unwrap().shape.as_const().is_none());
    let fixed = [("shape".to_string(), host(&[2], &[2i64, 3]))].into();
    let options = lawson_onnx::ImportOptions { fixed, ..Default::default() };
    let graph = lawson_onnx::from_bytes(encode(&model), &options).unwrap();
    assert_eq!(graph.inputs().len(), 1);
    assert_eq!(graph.ty(graph.outputs()[0].value).to_string(), "f32[2, 3]");
    let wrong = |name: &str, t: HostTensor| {
        let options =
            lawson_onnx::ImportOptions { fixed: [(name.to_string(), t)].into(), ..Default::default() };
        lawson_onnx::from_bytes(encode(&model), &options).unwrap_err().code()
    };
    assert_eq!(wrong("size", host(&[2], &[2i64, 3])), Code::UnknownName);
    assert_eq!(wrong("shape", host(&[2], &[2i32, 3])), Code::InputType);
    assert_eq!(wrong("shape", host(&[3], &[1i64, 2, 3])), Code::InputType);
}

#[test]
fn a_precondition_of_the_model_becomes_a_fact_that_runs_are_checked_for() {
    let inputs = vec![input("a", DType::F32, &["N", "2"]), input("b", DType::F32, &["M", "2"])];
    let g = import_graph(graph(inputs, &[], vec![node("Add", "a b", "y")], "y")).unwrap();
    let one = host(&[1, 2], &[1f32, 2.0]);
    assert_eq!(eval(&g, &[one.clone(), one.clone()])[0].to_vec::<f32>().unwrap(), [2.0, 4.0]);
    let two = host(&[2, 2], &[0f32; 4]);
    let error = lawson_graph::interp::run(&g, &[one.into(), two.into()], &Default::default()).unwrap_err();
    assert_eq!(error.code(), Code::Binding);
    // What can never be equal is an error at once.
    let inputs = vec![input("a", DType::F32, &["N", "2"]), input("b", DType::F32, &["N", "3"])];
    assert!(import_graph(graph(inputs, &[], vec![node("Add", "a b", "y")], "y")).is_err());
}

#[test]
fn halves_that_are_doubled_again_fit_what_they_came_from() {
    let nodes = vec![
        node("MaxPool", "x", "half").ints("kernel_shape", &[2]).ints("strides", &[2]),
        node("Resize", "half - scales", "again")
            .text("coordinate_transformation_mode", "asymmetric")
            .text("nearest_mode", "floor"),
        node("Concat", "x again", "y").int("axis", 1),
    ];
    let constants = [("scales", host(&[3], &[1f32, 1.0, 2.0]))];
    let inputs = vec![input("x", DType::F32, &["1", "1", "L"])];
    let g = import_graph(graph(inputs, &constants, nodes, "y")).unwrap();
    let y = eval(&g, &[host(&[1, 1, 4], &[1f32, 2.0, 3.0, 4.0])]).remove(0);
    assert_eq!(y.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0, 2.0, 2.0, 4.0, 4.0]);
    let odd = host(&[1, 1, 3], &[0f32; 3]);
    assert!(lawson_graph::interp::run(&g, &[odd.into()], &Default::default()).is_err());
}

#[test]
fn operators_that_move_elements_move_dimensions() {
    // The shape of [N, M, 6] as a matrix, turned around, repeated, in parts; y is x with the shape [6, M, N].
    let nodes = vec![
        node("Shape", "x", "s"),
        node("Reshape", "s column", "c"),
        node("Transpose", "c", "r"),
        node("Tile", "r twice", "rr"),
        node("GatherElements", "rr places", "turned").int("axis", 1),
        node("Flatten", "turned", "f").int("axis", 0),
        node("Split", "f parts", "a b").int("axis", 1),
        node("Concat", "a b", "ab").int("axis", 1),
        node("Reshape", "ab vector", "target"),
        node("Reshape", "x target", "y"),
    ];
    let v = |i: &[i64]| host(&[i.len()], i);
    let constants = [
        ("column", v(&[3, 1])),
        ("twice", v(&[1, 2])),
        ("places", host(&[1, 3], &[5i64, 4, 3])),
        ("parts", v(&[1, 2])),
        ("vector", v(&[3])),
    ];
    let g =
        import_graph(graph(vec![input("x", DType::F32, &["N", "M", "6"])], &constants, nodes, "y")).unwrap();
    assert_eq!(ops(&g), ["reshape"]);
    assert_eq!(g.ty(g.outputs()[0].value).to_string(), "f32[6, M, N]");
}

#[test]
fn the_least_and_the_greatest_of_dimensions_are_dimensions() {
    for (op, expected) in [("ReduceMin", "f32[min(7,N)]"), ("ReduceMax", "f32[max(7,N)]")] {
        let nodes = vec![
            node("Shape", "x", "s"),
            node("Concat", "s seven", "both").int("axis", 0),
            node(op, "both", "n").int("keepdims", 1),
            node("ConstantOfShape", "n", "y"),
        ];
        let g = graph(vec![input("x", DType::F32, &["N"])], &[("seven", host(&[1], &[7i64]))], nodes, "y");
        let g = import_graph(g).unwrap();
        let ty = g.ty(g.outputs()[0].value).to_string();
        assert_eq!(ty.replace(' ', ""), expected);
    }
}

#[test]
fn bounds_of_a_slice_may_be_as_small_and_as_large_as_integers_are() {
    let v = |i: i64| host(&[1], &[i]);
    let constants = [("least", v(i64::MIN)), ("last", v(-1)), ("most", v(i64::MAX)), ("axis", v(0))];
    let nodes = vec![node("Slice", "x least last axis", "y"), node("Slice", "x least most axis", "z")];
    let g = import_graph(graph(vec![input("x", DType::F32, &["N"])], &constants, nodes, "y z")).unwrap();
    let results = eval(&g, &[host(&[3], &[1f32, 2.0, 3.0])]);
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [1.0, 2.0]);
    assert_eq!(results[1].to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0]);
}

#[test]
fn sizes_that_are_found_twice_are_the_same_size() {
    // Scores above zero, and the best of them: as many as there are, at most 2.
    let nodes = vec![
        node("Greater", "x zero", "g1"),
        node("NonZero", "g1", "at1"),
        node("Greater", "x zero", "g2"),
        node("NonZero", "g2", "at2"),
        node("Squeeze", "at1 axis", "i"),
        node("Gather", "x i", "scores"),
        node("Shape", "at2", "s"),
        node("Slice", "s one two", "n"),
        node("Concat", "n two", "both").int("axis", 0),
        node("ReduceMin", "both", "k").int("keepdims", 1),
        node("TopK", "scores k", "best places"),
    ];
    let v = |i: i64| host(&[1], &[i]);
    let constants = [("zero", HostTensor::scalar(0f32)), ("axis", v(0)), ("one", v(1)), ("two", v(2))];
    let g = graph(vec![input("x", DType::F32, &["N"])], &constants, nodes, "best");
    let g = import_graph(g).unwrap();
    let best = |x: &[f32]| eval(&g, &[host(&[x.len()], x)])[0].to_vec::<f32>().unwrap();
    assert_eq!(best(&[1.0, -1.0, 5.0, 3.0]), [5.0, 3.0]);
    assert_eq!(best(&[-1.0, 4.0]), [4.0]);
    assert_eq!(best(&[-1.0]), [0f32; 0]);
}

#[test]
fn all_elements_of_what_is_one_everywhere_are_found() {
    let nodes = vec![
        node("Shape", "x", "s"),
        node("ConstantOfShape", "s", "ones").tensor("value", &host(&[1], &[1i64])),
        node("NonZero", "ones", "y"),
    ];
    let g = import_graph(graph(vec![input("x", DType::F32, &["N", "2"])], &[], nodes, "y")).unwrap();
    assert_eq!(g.ty(g.outputs()[0].value).to_string(), "i64[2, 2*N]");
    let y = eval(&g, &[host(&[2, 2], &[0f32; 4])])[0].to_vec::<i64>().unwrap();
    assert_eq!(y, [0, 0, 1, 1, 0, 1, 0, 1]);
}

#[test]
fn the_parts_of_a_split_say_how_long_the_axis_is() {
    let nodes = vec![node("NonZero", "x", "at"), node("Split", "at parts", "a b").int("axis", 1)];
    let constants = [("parts", host(&[2], &[1i64, 1]))];
    let g = import_graph(graph(vec![input("x", DType::F32, &["N"])], &constants, nodes, "a b")).unwrap();
    let results = eval(&g, &[host(&[3], &[0f32, 1.0, 1.0])]);
    assert_eq!(
        (results[0].to_vec::<i64>().unwrap(), results[1].to_vec::<i64>().unwrap()),
        (vec![1], vec![2])
    );
}

/// A size that is data of constants is known.
#[test]
fn what_is_found_in_constants_has_a_known_size() {
    let inputs = vec![input("x", DType::F32, &["4", "N"])];
    let constants = [("mask", host(&[4], &[true, false, true, true]))];
    let nodes = vec![
        node("NonZero", "mask", "found"),
        node("Squeeze", "found", "at"),
        node("Gather", "x at", "y").int("axis", 0),
    ];
    let g = import_graph(graph(inputs, &constants, nodes, "y")).unwrap();
    assert_eq!(g.ty(g.outputs()[0].value).to_string(), "f32[3, N]");
    assert!(!ops(&g).contains(&"symbol"), "{:?}", ops(&g));
}

#[test]
fn sizes_are_followed_through_i32() {
    // As converters from TensorFlow and Paddle write every shape: all of it in i32, back to i64 at the end.
    let nodes = |last: NodeProto| {
        vec![
            node("Shape", "x", "shape"),
            node("Cast", "shape", "s").int("to", 6),
            node("Slice", "s zero one zero", "b"),
            node("Squeeze", "b zero", "scalar"),
            node("Mul", "scalar three", "m"),
            node("Div", "m two", "d"),
            node("Sub", "d scalar", "half"),
            node("Add", "half scalar", "again"),
            node("Max", "again scalar", "most"),
            node("Unsqueeze", "most zero", "rows"),
            node("Concat", "rows four", "target32").int("axis", 0),
            node("Gather", "target32 order", "ordered"),
            node("Cast", "ordered", "target").int("to", 7),
            last,
        ]
    };
    let constants = [
        ("zero", host(&[1], &[0i64])),
        ("one", host(&[1], &[1i64])),
        ("two", HostTensor::scalar(2i32)),
        ("three", HostTensor::scalar(3i32)),
        ("four", host(&[1], &[4i32])),
        ("order", host(&[2], &[0i64, 1])),
        ("e", host(&[1], &[0f32])),
    ];
    let made = |last: NodeProto| {
        let g = graph(vec![input("x", DType::F32, &["b", "6"])], &constants, nodes(last), "y");
        import_graph(g).unwrap()
    };
    let expand = made(node("Expand", "e target", "y"));
    assert_eq!(expand.ty(expand.outputs()[0].value).to_string(), "f32[b + (b / 2), 4]");
    let short = |op: &str| {
        let nodes = vec![
            node("Shape", "x", "shape"),
            node("Cast", "shape", "s").int("to", 6),
            node("Slice", "s zero one zero", "b"),
            node("Concat", "b rest", "target32").int("axis", 0),
            node("Cast", "target32", "target").int("to", 7),
            node(op, "x target", "y"),
        ];
        let constants =
            [("zero", host(&[1], &[0i64])), ("one", host(&[1], &[1i64])), ("rest", host(&[1], &[12i32]))];
        let g = import_graph(graph(vec![input("x", DType::F32, &["b", "3", "4"])], &constants, nodes, "y"));
        let g = g.unwrap();
        (ops(&g).len(), g.ty(g.outputs()[0].value).to_string())
    };
    assert_eq!(short("Reshape"), (1, "f32[b, 12]".to_string()));
}

#[test]
fn sizes_in_i32_are_data_of_that_dtype() {
    let nodes =
        vec![node("Shape", "x", "shape"), node("Cast", "shape", "s").int("to", 6), node("Mul", "s two", "y")];
    let constants = [("two", HostTensor::scalar(2i32))];
    let g = import_graph(graph(vec![input("x", DType::F32, &["N", "3"])], &constants, nodes, "y")).unwrap();
    let y = eval(&g, &[host(&[4, 3], &[0f32; 12])]).remove(0);
    assert_eq!(y.to_vec::<i32>().unwrap(), [8, 6]);
}

#[test]
fn sizes_can_be_fixed_by_name() {
    let inputs = || vec![input("a", DType::F32, &["past", "?"]), input("b", DType::F32, &["past + 1"])];
    let g = model(18, graph(inputs(), &[], vec![node("Neg", "a", "y"), node("Neg", "b", "z")], "y z"));
    let import = |sizes: &[(&str, usize)]| -> lawson_graph::Result<Vec<String>> {
        let sizes = sizes.iter().map(|(name, n)| (name.to_string(), *n)).collect();
        let options = lawson_onnx::ImportOptions { sizes, ..Default::default() };
        let graph = lawson_onnx::from_bytes(encode(&g), &options)?;
        let types = graph.outputs().iter().map(|o| graph.ty(o.value).to_string());
        Ok(types.collect())
    };
    assert_eq!(import(&[]).unwrap(), ["f32[past, a_1]", "f32[past + 1]"]);
    assert_eq!(import(&[("past", 4)]).unwrap(), ["f32[4, a_1]", "f32[5]"]);
    // What the model does not name has the name that the graph gives it.
    assert_eq!(import(&[("a_1", 7), ("past", 0)]).unwrap(), ["f32[0, 7]", "f32[1]"]);
    let error = import(&[("passt", 4)]).unwrap_err();
    assert_eq!(error.code(), Code::UnknownName);
    assert!(error.to_string().contains("did you mean `past`?"), "{error}");
}

#[test]
fn what_cannot_be_imported_with_open_sizes_can_be_for_fixed_ones() {
    // In a branch nothing can be said of the whole graph, and the rank of the result depends on the size.
    let then = graph(
        vec![],
        &[],
        vec![node("Squeeze", "x", "t"), node("ReduceSum", "t", "ts").int("keepdims", 0)],
        "ts",
    );
    let otherwise = graph(vec![], &[], vec![node("ReduceMax", "x", "e").int("keepdims", 0)], "e");
    let n = node("If", "c", "y").graph("then_branch", then).graph("else_branch", otherwise);
    let inputs = vec![input("x", DType::F32, &["N", "2"]), input("c", DType::Bool, &[])];
    let model = model(18, graph(inputs, &[], vec![n], "y"));
    let refused = import(&model).unwrap_err();
    assert_eq!(refused.code(), Code::OnnxUnsupported);
    assert!(refused.to_string().contains("--dim NAME=SIZE"), "{refused}");
    for n in [1, 3] {
        let options =
            lawson_onnx::ImportOptions { sizes: [("N".to_string(), n)].into(), ..Default::default() };
        let g = lawson_onnx::from_bytes(encode(&model), &options).unwrap();
        let x = host(&[n, 2], &vec![1f32; 2 * n]);
        let y = eval(&g, &[x, HostTensor::scalar(true)]).remove(0);
        assert_eq!(y.to_vec::<f32>().unwrap(), [2.0 * n as f32]);
    }
}
