//! What models presuppose of sizes that they leave open: facts of the graph, which runs are checked for; sizes that inputs hold; and
//! models imported for sizes of which it does not hold.

use crate::model::*;
use lawson_graph::interp::{Options, run};
use lawson_graph::{Code, DType, Error, Graph, HostTensor, Value};
use lawson_onnx::proto::{GraphProto, NodeProto};
use lawson_onnx::{ImportOptions, Model, host_functions};

fn try_run(graph: &Graph, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, Error> {
    let inputs: Vec<Value> = inputs.iter().cloned().map(Value::from).collect();
    let values = run(graph, &inputs, &Options { host: host_functions(), ..Options::default() })?;
    Ok(values.iter().map(|v| v.as_tensor().unwrap().clone()).collect())
}

/// The results of a model that is imported for these inputs.
fn run_for(graph: &GraphProto, inputs: &[(&str, HostTensor)]) -> Vec<HostTensor> {
    let model = Model::from_bytes(encode(&model(18, graph.clone()))).unwrap();
    let given = inputs.iter().map(|(n, t)| (n.to_string(), Value::from(t.clone()))).collect();
    let made = model.import_for(&given, &ImportOptions::default()).unwrap();
    try_run(&made.graph, &inputs.iter().map(|(_, t)| t.clone()).collect::<Vec<_>>()).unwrap()
}

fn zeros(sizes: &[usize]) -> HostTensor {
    HostTensor::zeros(DType::F32, sizes).unwrap()
}

/// Elements that differ from one another.
fn filled(sizes: &[usize]) -> HostTensor {
    let count = sizes.iter().product::<usize>();
    host(sizes, &(0..count).map(|i| ((i * 37 % 101) as f32 - 50.0) / 25.0).collect::<Vec<_>>())
}

fn facts(graph: &Graph) -> Vec<String> {
    graph.facts().written().iter().map(ToString::to_string).collect()
}

/// That a run fails for a fact; the whole text of the error.
fn refused(graph: &Graph, inputs: &[HostTensor]) -> String {
    let error = try_run(graph, inputs).unwrap_err();
    assert_eq!(error.code(), Code::Binding, "{error}");
    error.to_string()
}

fn ints(values: &[i64]) -> HostTensor {
    host(&[values.len()], values)
}

#[test]
fn a_reshape_presupposes_that_a_size_divides() {
    let constants = [("target", ints(&[0, -1, 4]))];
    let g = graph(
        vec![input("x", DType::F32, &["N", "T"])],
        &constants,
        vec![node("Reshape", "x target", "y")],
        "y",
    );
    let g = import_graph(g).unwrap();
    assert!(facts(&g).contains(&"T % 4 == 0".to_string()), "{:?}", facts(&g));
    assert_eq!(try_run(&g, &[zeros(&[3, 8])]).unwrap()[0].sizes(), [3, 2, 4]);
    let text = refused(&g, &[zeros(&[3, 6])]);
    assert!(text.contains("the fact `T % 4 == 0` does not hold: `T` is 6 (axis 1 of `x`)"), "{text}");
    assert!(text.contains("4 or 8 for axis 1 of `x` would do"), "{text}");
}

#[test]
fn a_reshape_presupposes_what_remains_of_both_sides() {
    // [N, C, ceil(H/2), W] to [N, C, -1, 2, W]: the number of rows is even; and to [N, C, 1, W]: there is one.
    let halved = || vec![node("MaxPool", "x", "h").ints("kernel_shape", &[2, 1]).ints("strides", &[2, 1])];
    let made = |target: &[i64]| {
        let mut nodes = halved();
        nodes.push(node("Reshape", "h target", "y"));
        let inputs = vec![input("x", DType::F32, &["N", "3", "H", "W"])];
        graph(inputs, &[("target", ints(target))], nodes, "y")
    };
    let g = import_graph(made(&[0, 0, -1, 2, 5])).unwrap();
    assert_eq!(try_run(&g, &[zeros(&[2, 3, 8, 5])]).unwrap()[0].sizes(), [2, 3, 2, 2, 5]);
    assert!(try_run(&g, &[zeros(&[2, 3, 6, 5])]).is_err());
    assert!(try_run(&g, &[zeros(&[2, 3, 8, 4])]).is_err());
    let g = import_graph(made(&[-1, 3, 1, 5])).unwrap();
    assert_eq!(try_run(&g, &[zeros(&[2, 3, 2, 5])]).unwrap()[0].sizes(), [2, 3, 1, 5]);
}

#[test]
fn a_squeeze_presupposes_an_axis_of_one() {
    let g = graph(
        vec![input("x", DType::F32, &["N", "T"])],
        &[("axis", ints(&[1]))],
        vec![
            node("AveragePool", "u", "p").ints("kernel_shape", &[4]).ints("strides", &[4]),
            node("Squeeze", "p two", "y"),
        ],
        "y",
    );
    let mut g = g;
    g.node.insert(0, node("Unsqueeze", "x axis", "u"));
    g.initializer.push(tensor("two", &ints(&[2])));
    let open = import_graph(g.clone()).unwrap();
    assert_eq!(try_run(&open, &[zeros(&[3, 6])]).unwrap()[0].sizes(), [3, 1]);
    let text = refused(&open, &[zeros(&[3, 8])]);
    assert!(text.contains("`T` is 8 (axis 1 of `x`)") && text.contains("7 for axis 1 of `x`"), "{text}");
}

#[test]
fn a_squeeze_without_axes_removes_every_axis_of_one() {
    let inputs = vec![input("x", DType::F32, &["b", "1", "c"])];
    let g = graph(inputs, &[], vec![node("Squeeze", "x", "y")], "y");
    let open = import_graph(g.clone()).unwrap();
    assert_eq!(try_run(&open, &[zeros(&[2, 1, 3])]).unwrap()[0].sizes(), [2, 3]);
    // Of another rank than the graph says, so that a run is refused, not wrong.
    let text = refused(&open, &[zeros(&[1, 1, 3])]);
    assert!(text.contains("`b >= 2` does not hold") && text.contains("2 for axis 0 of `x`"), "{text}");
    assert_eq!(run_for(&g, &[("x", zeros(&[1, 1, 3]))])[0].sizes(), [3]);
    assert_eq!(run_for(&g, &[("x", zeros(&[1, 1, 1]))])[0].sizes(), [0usize; 0]);
    assert_eq!(run_for(&g, &[("x", zeros(&[4, 1, 3]))])[0].sizes(), [4, 3]);
}

#[test]
fn a_squeeze_without_axes_of_what_a_run_finds_is_refused_where_it_finds_one() {
    let nodes = vec![node("NonZero", "x", "at"), node("Squeeze", "at", "y")];
    let g = import_graph(graph(vec![input("x", DType::F32, &["N"])], &[], nodes, "y")).unwrap();
    let found = |x: &[f32]| try_run(&g, &[host(&[x.len()], x)]);
    assert_eq!(found(&[0.0, 1.0, 1.0]).unwrap()[0].to_vec::<i64>().unwrap(), [1, 2]);
    assert_eq!(found(&[0.0, 0.0]).unwrap()[0].sizes(), [0]);
    assert_eq!(found(&[0.0, 1.0]).unwrap_err().code(), Code::Binding);
}

#[test]
fn padding_presupposes_sizes_that_leave_something_to_pad() {
    let nodes = vec![
        node("Shape", "x", "n"),
        node("Sub", "n five", "less"),
        node("Concat", "less zero", "pads").int("axis", 0),
        node("Pad", "x pads", "y"),
    ];
    let constants = [("five", ints(&[5])), ("zero", ints(&[0]))];
    let g = graph(vec![input("x", DType::F32, &["n"])], &constants, nodes, "y");
    let open = import_graph(g.clone()).unwrap();
    assert_eq!(try_run(&open, &[zeros(&[7])]).unwrap()[0].sizes(), [9]);
    let text = refused(&open, &[zeros(&[3])]);
    assert!(text.contains("`n >= 5` does not hold: `n` is 3"), "{text}");
    // ONNX cuts off what is padded by less than nothing.
    let cut = run_for(&g, &[("x", host(&[3], &[1f32, 2.0, 3.0]))]);
    assert_eq!(cut[0].to_vec::<f32>().unwrap(), [3.0]);
}

#[test]
fn frames_of_an_open_length_are_those_of_a_known_one() {
    let made = |time: &str| {
        let window = host(&[4], &[0.5f32, 1.0, 0.75, 0.25]);
        let constants = [("step", HostTensor::scalar(3i64)), ("window", window)];
        let inputs = vec![input("x", DType::F32, &["2", time, "1"])];
        import_graph(graph(inputs, &constants, vec![node("STFT", "x step window", "y")], "y")).unwrap()
    };
    let open = made("T");
    for time in [4usize, 6, 7, 11] {
        let x = filled(&[2, time, 1]);
        let (found, expected) = (
            try_run(&open, std::slice::from_ref(&x)).unwrap(),
            try_run(&made(&time.to_string()), &[x]).unwrap(),
        );
        assert_eq!(found[0].sizes(), expected[0].sizes());
        assert_eq!(found[0].to_vec::<f32>().unwrap(), expected[0].to_vec::<f32>().unwrap());
    }
    assert!(refused(&open, &[zeros(&[2, 3, 1])]).contains("`T >= 4` does not hold"));
}

#[test]
fn positions_in_an_open_picture_are_those_in_a_known_one() {
    for mode in ["linear", "nearest", "cubic"] {
        for padding in ["zeros", "border", "reflection"] {
            for align in [0, 1] {
                let made = |h: &str, w: &str| {
                    let inputs = vec![
                        input("x", DType::F32, &["1", "2", h, w]),
                        input("g", DType::F32, &["1", "3", "4", "2"]),
                    ];
                    let n = node("GridSample", "x g", "y");
                    let n = n.text("mode", mode).text("padding_mode", padding).int("align_corners", align);
                    import(&model(20, graph(inputs, &[], vec![n], "y"))).unwrap()
                };
                let open = made("H", "W");
                for (h, w) in [(5usize, 4usize), (2, 7), (1, 3)] {
                    let inputs = [filled(&[1, 2, h, w]), filled(&[1, 3, 4, 2])];
                    let found = try_run(&open, &inputs).unwrap().remove(0);
                    let expected = try_run(&made(&h.to_string(), &w.to_string()), &inputs).unwrap().remove(0);
                    let (found, expected) =
                        (found.to_vec::<f32>().unwrap(), expected.to_vec::<f32>().unwrap());
                    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
                    assert!(
                        found.iter().zip(&expected).all(near),
                        "{mode} {padding} {align} {h}x{w}: {found:?}, not {expected:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_state_has_as_many_rows_as_the_input_has_entries() {
    for (op, gates, batch) in [("GRU", 3, "M"), ("LSTM", 4, "M"), ("RNN", 1, "1")] {
        let inputs =
            vec![input("x", DType::F32, &["T", "N", "3"]), input("h", DType::F32, &["1", batch, "2"])];
        let constants = [("w", filled(&[1, gates * 2, 3])), ("r", filled(&[1, gates * 2, 2]))];
        let n = node(op, "x w r - - h", "y").int("hidden_size", 2);
        let g = import_graph(graph(inputs, &constants, vec![n], "y")).unwrap();
        let rows = if batch == "M" { 3 } else { 1 };
        let y = try_run(&g, &[filled(&[4, rows, 3]), filled(&[1, rows, 2])]).unwrap();
        assert_eq!(y[0].sizes(), [4, 1, rows, 2], "{op}");
        refused(&g, &[filled(&[4, 2, 3]), filled(&[1, rows, 2])]);
    }
}

#[test]
fn how_many_are_the_greatest_may_be_computed() {
    // As many as are above a threshold, at most three.
    let nodes = vec![
        node("Greater", "x least", "above"),
        node("Cast", "above", "ones").int("to", 7),
        node("ReduceSum", "ones axis", "count").int("keepdims", 1),
        node("Min", "count three", "k"),
        node("TopK", "x k", "y at"),
    ];
    let constants = [("axis", ints(&[0])), ("three", ints(&[3]))];
    let inputs = vec![input("x", DType::F32, &["N"]), input("least", DType::F32, &[])];
    let g = import_graph(graph(inputs, &constants, nodes, "y at")).unwrap();
    let x = host(&[5], &[1f32, 9.0, 3.0, 7.0, 5.0]);
    for (least, expected) in [(6.0, &[9f32, 7.0][..]), (0.0, &[9.0, 7.0, 5.0]), (10.0, &[])] {
        let y = try_run(&g, &[x.clone(), HostTensor::scalar(least as f32)]).unwrap();
        assert_eq!(y[0].to_vec::<f32>().unwrap(), expected, "{least}");
    }
}

#[test]
fn more_of_the_greatest_than_there_are_end_a_run_with_an_error() {
    let nodes = vec![node("TopK", "x k", "y at")];
    let inputs = vec![input("x", DType::F32, &["N"]), input("k", DType::I64, &["1"])];
    let g = import_graph(graph(inputs, &[], nodes, "y at")).unwrap();
    let x = host(&[3], &[1f32, 9.0, 3.0]);
    assert_eq!(try_run(&g, &[x.clone(), ints(&[2])]).unwrap()[0].to_vec::<f32>().unwrap(), [9.0, 3.0]);
    let error = try_run(&g, &[x, ints(&[4])]).unwrap_err();
    assert!(matches!(error.code(), Code::Binding | Code::Runtime), "{error}");
}

#[test]
fn sizes_that_inputs_hold_are_found_in_a_run() {
    let nodes = vec![
        node("ConstantOfShape", "n", "zeros"),
        node("Reshape", "x shape", "y"),
        node("Expand", "one n", "wide"),
    ];
    let inputs = vec![
        input("x", DType::F32, &["N"]),
        input("n", DType::I64, &["2"]),
        input("shape", DType::I64, &["2"]),
    ];
    let one = [("one", host(&[1], &[1f32]))];
    let g = import_graph(graph(inputs, &one, nodes, "zeros y wide")).unwrap();
    let y = try_run(&g, &[filled(&[6]), ints(&[2, 5]), ints(&[3, 2])]).unwrap();
    assert_eq!((y[0].sizes(), y[1].sizes(), y[2].sizes()), (&[2, 5][..], &[3, 2][..], &[2, 5][..]));
    // What is copied and what is left is found, too.
    for (shape, expected) in [([-1, 2], [3, 2]), ([0, -1], [6, 1]), ([2, -1], [2, 3]), ([0, 1], [6, 1])] {
        let y = try_run(&g, &[filled(&[6]), ints(&[2, 5]), ints(&shape)]).unwrap();
        assert_eq!(y[1].sizes(), expected, "{shape:?}");
    }
    // What does not come out even ends the run.
    refused(&g, &[filled(&[6]), ints(&[2, 5]), ints(&[4, 2])]);
}

/// `If(shape[axis] == 1) then squeeze else as it is`, as PyTorch writes `squeeze(axis)`.
fn squeezed_if_one() -> Vec<NodeProto> {
    let then = graph(vec![], &[("ax", ints(&[1]))], vec![node("Squeeze", "x ax", "t")], "t");
    let otherwise = graph(vec![], &[], vec![node("Identity", "x", "e")], "e");
    vec![
        node("Shape", "x", "shape"),
        node("Gather", "shape one", "size"),
        node("Equal", "size one", "is_one"),
        node("If", "is_one", "s").graph("then_branch", then).graph("else_branch", otherwise),
        node("Neg", "s", "y"),
    ]
}

#[test]
fn a_squeeze_that_asks_for_the_size_presupposes_it() {
    let one = [("one", HostTensor::scalar(1i64))];
    let g = graph(vec![input("x", DType::F32, &["N", "T"])], &one, squeezed_if_one(), "y");
    let open = import_graph(g.clone()).unwrap();
    assert_eq!(try_run(&open, &[zeros(&[4, 1])]).unwrap()[0].sizes(), [4]);
    assert!(refused(&open, &[zeros(&[4, 2])]).contains("`T == 1` does not hold"));
    assert_eq!(run_for(&g, &[("x", zeros(&[4, 2]))])[0].sizes(), [4, 2]);
}

#[test]
fn what_a_branch_presupposes_is_checked_where_it_is_taken() {
    // Each branch is for inputs of another length.
    let branch = |axis: &[i64], wide: i64| {
        let nodes = vec![
            node("AveragePool", "u", "p").ints("kernel_shape", &[wide]).ints("strides", &[wide]),
            node("Squeeze", "p axis", "b"),
        ];
        graph(vec![], &[("axis", ints(axis))], nodes, "b")
    };
    let nodes = vec![
        node("Unsqueeze", "x middle", "u"),
        node("If", "c", "y").graph("then_branch", branch(&[2], 4)).graph("else_branch", branch(&[2], 8)),
    ];
    let inputs = vec![input("x", DType::F32, &["2", "T"]), input("c", DType::Bool, &[])];
    let g = import_graph(graph(inputs, &[("middle", ints(&[1]))], nodes, "y")).unwrap();
    for (c, time, fits) in [(true, 5, true), (false, 9, true), (true, 9, false), (false, 20, false)] {
        let result = try_run(&g, &[zeros(&[2, time]), HostTensor::scalar(c)]);
        assert_eq!(result.is_ok(), fits, "{c} {time}");
        if let Ok(y) = result {
            assert_eq!(y[0].sizes(), [2, 1]);
        }
    }
}

#[test]
fn branches_that_differ_by_axes_of_one_have_the_rank_of_the_lower() {
    let then = graph(vec![], &[], vec![node("Greater", "x0 zero", "t")], "t");
    let otherwise = graph(
        vec![],
        &[("axis", ints(&[0]))],
        vec![node("Less", "x0 zero", "l"), node("Unsqueeze", "l axis", "e")],
        "e",
    );
    let nodes = vec![
        node("If", "c", "b").graph("then_branch", then).graph("else_branch", otherwise),
        node("Cast", "b", "y").int("to", 1),
    ];
    let inputs = vec![input("x0", DType::F32, &[]), input("c", DType::Bool, &[])];
    let g = import_graph(graph(inputs, &[("zero", HostTensor::scalar(0f32))], nodes, "y")).unwrap();
    for (x, c, expected) in [(1f32, true, 1f32), (1.0, false, 0.0), (-1.0, true, 0.0), (-1.0, false, 1.0)] {
        let y = try_run(&g, &[HostTensor::scalar(x), HostTensor::scalar(c)]).unwrap();
        assert_eq!((y[0].sizes(), y[0].to_vec::<f32>().unwrap()), (&[][..], vec![expected]));
    }
}

/// A loop over `n` steps that adds a row of `x` each time, from where a state stands that goes on by `step`.
fn rows(by_state: bool, from: i64) -> GraphProto {
    let at = if by_state { "at" } else { "i" };
    let body = graph(
        vec![
            input("i", DType::I64, &[]),
            input("go", DType::Bool, &[]),
            input("sum", DType::F32, &["1", "2"]),
            input("at", DType::I64, &[]),
        ],
        &[("zero", ints(&[0])), ("one", HostTensor::scalar(1i64)), ("row", ints(&[0]))],
        vec![
            node("Add", &format!("{at} one"), "next"),
            node("Unsqueeze", &format!("{at} zero"), "start"),
            node("Unsqueeze", "next zero", "end"),
            node("Slice", "x start end row", "part"),
            node("Concat", "part part", "both").int("axis", 0),
            node("ReduceMean", "both", "mean").ints("axes", &[0]).int("keepdims", 1),
            node("Add", "sum mean", "sum2"),
            node("Add", "at one", "at2"),
            node("Identity", "go", "on"),
        ],
        "on sum2 at2",
    );
    let nodes = vec![node("Loop", "n - first from", "y last").graph("body", body)];
    let constants =
        [("n", HostTensor::scalar(3i64)), ("first", zeros(&[1, 2])), ("from", HostTensor::scalar(from))];
    graph(vec![input("x", DType::F32, &["4", "2"])], &constants, nodes, "y")
}

#[test]
fn a_part_whose_end_is_one_behind_its_start_has_one_element() {
    let x = host(&[4, 2], &[1f32, 10.0, 2.0, 20.0, 3.0, 30.0, 4.0, 40.0]);
    let made = |by_state, from| import(&model(13, rows(by_state, from))).unwrap();
    let g = made(false, 0);
    let text = g.to_string();
    assert!(!text.contains("symbol"), "the length is known: {text}");
    assert_eq!(try_run(&g, std::slice::from_ref(&x)).unwrap()[0].to_vec::<f32>().unwrap(), [6.0, 60.0]);
    assert_eq!(
        try_run(&made(true, 1), std::slice::from_ref(&x)).unwrap()[0].to_vec::<f32>().unwrap(),
        [9.0, 90.0]
    );
    // There is no row 4: ONNX has an empty part there, which no row can be made of.
    let error = try_run(&made(true, 2), &[x]).unwrap_err();
    assert!(error.to_string().contains("onnx.Fits"), "{error}");
    assert!(error.to_string().contains("sizes [0, 2] came where the model needs [1, 2]"), "{error}");
}

#[test]
fn a_size_that_is_there_is_not_replaced_by_one_that_is_found_later() {
    // As many rows as a product of two numbers says, which is computed from the number of rows.
    let nodes = vec![
        node("Shape", "x", "rows"),
        node("Div", "rows n", "m"),
        node("Concat", "n m", "target").int("axis", 0),
        node("Reshape", "x target", "r"),
        node("Shape", "x", "again"),
        node("Reshape", "r again", "flat"),
        node("Add", "flat x", "y"),
    ];
    let inputs = vec![input("x", DType::F32, &["N"]), input("n", DType::I64, &["1"])];
    let g = import_graph(graph(inputs, &[], nodes, "y r")).unwrap();
    // Otherwise the rows, which the sizes come from, would be said by the sizes.
    assert_eq!(g.facts().simplify(&g.ty(g.inputs()[0]).as_tensor().unwrap().shape[0]).to_string(), "N");
    let y = try_run(&g, &[filled(&[6]), ints(&[2])]).unwrap();
    assert_eq!((y[0].sizes(), y[1].sizes()), (&[6][..], &[2, 3][..]));
    refused(&g, &[filled(&[6]), ints(&[4])]);
}

#[test]
fn a_model_that_presupposes_something_is_imported_for_the_sizes_of_given_inputs() {
    let inputs = || vec![input("x", DType::F32, &["N", "T"])];
    let made = |target: &[i64]| {
        let nodes = vec![node("Reshape", "x target", "y")];
        let g = graph(inputs(), &[("target", ints(target))], nodes, "y");
        let model = Model::from_bytes(encode(&model(18, g))).unwrap();
        let given = [("x".to_string(), Value::from(zeros(&[3, 8])))].into();
        let made = model.import_for(&given, &ImportOptions::default()).unwrap();
        made.graph.ty(made.graph.inputs()[0]).to_string()
    };
    assert_eq!(made(&[0, -1, 4]), "f32[3, 8]");
    assert_eq!(made(&[-1]), "f32[N, T]");
}
