//! Models imported for certain inputs; sequences, optionals and loops that leave nothing in the graph; functions of the host.

use crate::model::*;
use lawson_graph::interp::{Options, run};
use lawson_graph::{DType, Graph, HostTensor, Value};
use lawson_onnx::proto::*;
use lawson_onnx::{ImportOptions, Model, Specialised, host_functions};
use std::collections::BTreeMap;
use std::sync::Arc;

fn import_for(version: i64, graph: GraphProto, given: &[(&str, Value)]) -> Specialised {
    let model = Model::from_bytes(encode(&model(version, graph))).unwrap();
    let given: BTreeMap<String, Value> = given.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
    model.import_for(&given, &ImportOptions::default()).unwrap()
}

fn values(graph: &Graph, inputs: &[Value]) -> Vec<Value> {
    run(graph, inputs, &Options { host: host_functions(), ..Options::default() }).unwrap()
}

fn tensor_of(value: &Value) -> &HostTensor {
    value.as_tensor().unwrap()
}

#[test]
fn only_inputs_that_shapes_depend_on_are_taken_for_known() {
    let inputs = vec![
        input("x", DType::F32, &["n", "2"]),
        input("shape", DType::I64, &["2"]),
        input("at", DType::I64, &["1"]),
    ];
    let nodes = vec![node("Reshape", "x shape", "r"), node("Gather", "r at", "y")];
    let shape = host(&[2], &[-1i64, 1]);
    let (x, at) = (host(&[3, 2], &[0f32, 1.0, 2.0, 3.0, 4.0, 5.0]), host(&[1], &[3i64]));
    let given = [("x", x.clone().into()), ("shape", shape.clone().into()), ("at", at.clone().into())];
    let made = import_for(18, graph(inputs, &[], nodes, "y"), &given);
    assert_eq!(made.known, ["shape"]);
    // Sizes stay open, and the known input is an input still.
    assert_eq!(made.graph.inputs().len(), 3);
    assert_eq!(made.graph.ty(made.graph.inputs()[0]).to_string(), "f32[n, 2]");
    let y = values(&made.graph, &[x.into(), shape.into(), at.into()]);
    assert_eq!(tensor_of(&y[0]).to_vec::<f32>().unwrap(), [3.0]);
}

#[test]
fn what_is_known_is_computed_by_the_graph_all_the_same() {
    let inputs =
        vec![input("a", DType::I64, &["1"]), input("b", DType::I64, &["1"]), input("x", DType::F32, &["4"])];
    let nodes = vec![node("Add", "a b", "s"), node("Reshape", "x s", "y")];
    let one = |v: i64| Value::from(host(&[1], &[v]));
    let x = Value::from(host(&[4], &[1f32; 4]));
    let made = import_for(18, graph(inputs, &[], nodes, "y s"), &[("a", one(1)), ("b", one(3)), ("x", x)]);
    assert_eq!(made.known, ["a", "b"]);
    assert!(ops(&made.graph).contains(&"add"), "{:?}", ops(&made.graph));
}

#[test]
fn sequences_leave_nothing_in_the_graph() {
    let inputs = vec![input("x", DType::F32, &["3"]), input("y", DType::F32, &["2"])];
    let nodes = vec![
        node("SequenceConstruct", "x y", "s"),
        node("SequenceInsert", "s x zero", "t"),
        node("SequenceAt", "t last", "z"),
        node("SequenceLength", "t", "n"),
    ];
    let constants = [("zero", HostTensor::scalar(0i64)), ("last", HostTensor::scalar(-1i64))];
    let g = import(&model(18, graph(inputs, &constants, nodes, "z n"))).unwrap();
    assert!(!ops(&g).iter().any(|o| o.starts_with("seq")), "{:?}", ops(&g));
    let results = eval(&g, &[host(&[3], &[1f32; 3]), host(&[2], &[5f32, 6.0])]);
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [5.0, 6.0]);
    assert_eq!(results[1].to_vec::<i64>().unwrap(), [3]);
}

#[test]
fn a_sequence_that_comes_in_is_taken_apart_and_one_that_goes_out_is_made() {
    let element =
        TypeProto { value: Some(TypeValue::Tensor(TensorTypeProto { elem_type: Some(1), shape: None })) };
    let sequence = TypeValue::Sequence(Box::new(ElementTypeProto { elem_type: Some(Box::new(element)) }));
    let list = ValueInfoProto { name: Some("s".into()), r#type: Some(TypeProto { value: Some(sequence) }) };
    let body = graph(vec![input("e", DType::F32, &["?"])], &[], vec![node("Neg", "e", "m")], "m");
    let nodes = vec![node("SequenceMap", "s", "t").graph("body", body)];
    let given = Value::Sequence(vec![host(&[2], &[1f32, 2.0]), host(&[1], &[3f32])]);
    let made = import_for(18, graph(vec![list], &[], nodes, "t"), &[("s", given.clone())]);
    let expected = Value::Sequence(vec![host(&[2], &[-1f32, -2.0]), host(&[1], &[-3f32])]);
    assert_eq!(values(&made.graph, &[given]), [expected]);
}

#[test]
fn a_loop_whose_state_grows_is_unrolled() {
    let body_inputs =
        vec![input("i", DType::I64, &[]), input("c", DType::Bool, &[]), input("s", DType::F32, &["?"])];
    let body_nodes = vec![node("Identity", "c", "d"), node("Concat", "s s", "t").int("axis", 0)];
    let body = graph(body_inputs, &[], body_nodes, "d t");
    let inputs = vec![input("x", DType::F32, &["1"]), input("n", DType::I64, &[])];
    let nodes = vec![node("Loop", "n - x", "y").graph("body", body)];
    let (x, n) = (host(&[1], &[7f32]), HostTensor::scalar(3i64));
    let given = [("x", x.clone().into()), ("n", n.clone().into())];
    let made = import_for(18, graph(inputs, &[], nodes, "y"), &given);
    assert_eq!(made.known, ["n"]);
    let y = values(&made.graph, &[x.into(), n.into()]);
    assert_eq!(tensor_of(&y[0]).to_vec::<f32>().unwrap(), [7.0; 8]);
}

#[test]
fn before_version_7_an_operand_lies_over_the_other_from_an_axis_on() {
    let inputs = vec![input("a", DType::F32, &["2", "3"]), input("b", DType::F32, &["2"])];
    let add = node("Add", "a b", "y").int("broadcast", 1).int("axis", 0);
    let g = import(&model(6, graph(inputs, &[], vec![add], "y"))).unwrap();
    let results = eval(&g, &[host(&[2, 3], &[0f32, 1.0, 2.0, 3.0, 4.0, 5.0]), host(&[2], &[10f32, 20.0])]);
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [10.0, 11.0, 12.0, 23.0, 24.0, 25.0]);
}

#[test]
fn boxes_that_overlap_a_better_one_are_dropped_by_the_host() {
    let inputs =
        vec![input("boxes", DType::F32, &["1", "3", "4"]), input("scores", DType::F32, &["1", "1", "3"])];
    let constants = [("most", HostTensor::scalar(5i64)), ("iou", HostTensor::scalar(0.5f32))];
    let nodes = vec![node("NonMaxSuppression", "boxes scores most iou", "y")];
    let g = import(&model(18, graph(inputs, &constants, nodes, "y"))).unwrap();
    let boxes = host(&[1, 3, 4], &[0f32, 0.0, 1.0, 1.0, 0.0, 0.1, 1.0, 1.1, 0.0, 10.0, 1.0, 11.0]);
    let scores = host(&[1, 1, 3], &[0.5f32, 0.9, 0.3]);
    let y = values(&g, &[boxes.into(), scores.into()]);
    assert_eq!(tensor_of(&y[0]).to_vec::<i64>().unwrap(), [0, 0, 1, 0, 0, 2]);
}

#[test]
fn texts_are_split_and_matched_by_the_host() {
    let inputs = vec![input("x", DType::Str, &["n"])];
    let nodes = vec![
        node("StringSplit", "x", "parts counts").text("delimiter", "-"),
        node("RegexFullMatch", "x", "match").text("pattern", "a|b-c"),
    ];
    let g = import(&model(20, graph(inputs, &[], nodes, "parts counts match"))).unwrap();
    let x = HostTensor::from_text(&[2], vec![Arc::from("b-c"), Arc::from("ab")]).unwrap();
    let y = values(&g, &[x.into()]);
    let parts: Vec<&str> = tensor_of(&y[0]).text().iter().map(|t| &**t).collect();
    assert_eq!(parts, ["b", "c", "ab", ""]);
    assert_eq!(tensor_of(&y[1]).to_vec::<i64>().unwrap(), [2, 1]);
    assert_eq!(tensor_of(&y[2]).to_vec::<bool>().unwrap(), [true, false]);
}

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let drawn = |seed: f32| {
        let random = node("RandomNormal", "", "y").ints("shape", &[4096]).float("seed", seed);
        let g = import(&model(18, graph(Vec::new(), &[], vec![random], "y"))).unwrap();
        eval(&g, &[])[0].to_vec::<f32>().unwrap()
    };
    let (a, b, c) = (drawn(1.0), drawn(1.0), drawn(2.0));
    assert!(a == b && a != c);
    let mean = a.iter().sum::<f32>() / 4096.0;
    let variance = a.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / 4096.0;
    assert!(mean.abs() < 0.1 && (variance - 1.0).abs() < 0.1, "{mean} {variance}");
}

#[test]
fn a_sparse_constant_is_a_dense_one_and_cannot_be_a_bomb() {
    let sparse = |dims: &[i64], indices: HostTensor| {
        let mut g = graph(vec![input("x", DType::F32, &["2", "3"])], &[], vec![node("Add", "x c", "y")], "y");
        g.sparse_initializer.push(SparseTensorProto {
            values: Some(tensor("c", &host(&[2], &[5f32, 7.0]))),
            indices: Some(tensor("", &indices)),
            dims: dims.to_vec(),
        });
        import(&model(18, g))
    };
    let x = host(&[2, 3], &[0f32; 6]);
    for indices in [host(&[2], &[1i64, 5]), host(&[2, 2], &[0i64, 1, 1, 2])] {
        let y = eval(&sparse(&[2, 3], indices).unwrap(), std::slice::from_ref(&x));
        assert_eq!(y[0].to_vec::<f32>().unwrap(), [0.0, 5.0, 0.0, 0.0, 0.0, 7.0]);
    }
    for (dims, indices) in [
        (vec![2, 3], host(&[2], &[1i64, 6])),
        (vec![2, 3], host(&[1], &[1i64])),
        (vec![1 << 40, 3], host(&[2], &[1i64, 5])),
        (vec![i64::MAX, i64::MAX], host(&[2], &[1i64, 5])),
    ] {
        assert!(sparse(&dims, indices).is_err(), "{dims:?}");
    }
}

#[test]
fn tensors_of_another_shape_than_the_declared_one_change_no_declaration() {
    // The first axes cannot be equal as they are declared; the tensors that come would fit each other.
    let inputs = vec![input("a", DType::F32, &["3", "2"]), input("b", DType::F32, &["4", "2"])];
    let model = Model::from_bytes(encode(&model(18, graph(inputs, &[], vec![node("Add", "a b", "y")], "y"))))
        .unwrap();
    let given: BTreeMap<String, Value> = [("a", 3), ("b", 3)]
        .map(|(n, rows)| (n.to_string(), host(&[rows, 2], &vec![1f32; 2 * rows]).into()))
        .into();
    let error = model.import_for(&given, &ImportOptions::default()).unwrap_err();
    assert!(
        error.to_string().contains("the input `b` is declared with another shape than the [3, 2] that came"),
        "{error}"
    );
}

/// No tensor stands for results of different rank; where inputs are given, they decide on the branch.
#[test]
fn a_branch_is_decided_where_results_differ_in_rank() {
    let made = |c: i64| {
        let then = graph(vec![], &[], vec![node("Neg", "x", "t")], "t");
        let otherwise = graph(vec![], &[], vec![node("ReduceSum", "x", "e").int("keepdims", 0)], "e");
        let nodes = vec![
            node("Greater", "c zero", "more"),
            node("If", "more", "y").graph("then_branch", then).graph("else_branch", otherwise),
        ];
        let inputs = vec![input("x", DType::F32, &["n"]), input("c", DType::I64, &[])];
        let (x, c) = (host(&[3], &[1f32, 2.0, 3.0]), HostTensor::scalar(c));
        let zero = [("zero", HostTensor::scalar(0i64))];
        let given = [x.into(), c.into()];
        let [x, c] = given.clone();
        let made = import_for(18, graph(inputs, &zero, nodes, "y"), &[("x", x), ("c", c)]);
        assert_eq!(made.known, ["c"]);
        tensor_of(&values(&made.graph, &given)[0]).to_vec::<f32>().unwrap()
    };
    assert_eq!(made(1), [-1.0, -2.0, -3.0]);
    assert_eq!(made(0), [6.0]);
}

/// What is inside a branch is known only where it is known that the branch is taken.
#[test]
fn branches_inside_branches_are_decided_too() {
    let then = graph(vec![], &[], vec![node("Neg", "x", "t")], "t");
    let otherwise = graph(vec![], &[], vec![node("ReduceSum", "x", "e").int("keepdims", 0)], "e");
    let inner = graph(
        vec![],
        &[],
        vec![
            node("Greater", "x0 one", "more"),
            node("If", "more", "i").graph("then_branch", then).graph("else_branch", otherwise),
            node("ReduceMax", "i", "m").int("keepdims", 0),
        ],
        "m",
    );
    let outer = graph(vec![], &[], vec![node("Identity", "x0", "o")], "o");
    let nodes = vec![
        node("ReduceSum", "x", "x0").int("keepdims", 0),
        node("Greater", "x0 zero", "any"),
        node("If", "any", "y").graph("then_branch", inner).graph("else_branch", outer),
    ];
    let constants = [("zero", HostTensor::scalar(0f32)), ("one", HostTensor::scalar(1f32))];
    let x: Value = host(&[3], &[1f32, 2.0, 3.0]).into();
    let inputs = vec![input("x", DType::F32, &["n"])];
    let made = import_for(18, graph(inputs, &constants, nodes, "y"), &[("x", x.clone())]);
    assert_eq!(made.known, ["x"]);
    assert_eq!(tensor_of(&values(&made.graph, &[x])[0]).to_vec::<f32>().unwrap(), [-1.0]);
}

fn sized(sizes: &[usize]) -> Value {
    HostTensor::zeros(DType::F32, sizes).unwrap().into()
}

#[test]
fn a_name_that_says_nothing_names_no_size() {
    let g = || {
        let mut inputs = vec![input("a", DType::F32, &["", "x"]), input("b", DType::F32, &["x", "3"])];
        // What the helper takes for nothing stands in the file as a text.
        for info in &mut inputs {
            let Some(TypeValue::Tensor(t)) = info.r#type.as_mut().and_then(|t| t.value.as_mut()) else {
                panic!()
            };
            for dim in &mut t.shape.as_mut().unwrap().dim {
                if let Some(DimensionValue::Param(text)) = &mut dim.value {
                    *text = "?".into();
                }
            }
        }
        graph(inputs, &[], vec![node("MatMul", "a b", "y")], "y")
    };
    let open = import(&model(18, g())).unwrap();
    assert_eq!(open.ty(open.inputs()[0]).to_string(), "f32[a_0, a_1]");
    let y = values(&open, &[sized(&[4, 2]), sized(&[2, 3])]);
    assert_eq!(tensor_of(&y[0]).sizes(), [4, 3]);
}

#[test]
fn a_name_of_sizes_that_are_not_equal_names_none_where_inputs_are_given() {
    let inputs = vec![input("a", DType::F32, &["d", "d"]), input("b", DType::F32, &["n"])];
    let nodes = vec![node("ReduceSum", "a", "s").int("keepdims", 0), node("Add", "b s", "y")];
    let g = graph(inputs, &[], nodes, "y");
    let [a, b] = [sized(&[2, 3]), sized(&[5])];
    let made = import_for(18, g.clone(), &[("a", a.clone()), ("b", b.clone())]);
    assert_eq!(made.graph.ty(made.graph.inputs()[0]).to_string(), "f32[a_0, a_1]");
    assert_eq!(tensor_of(&values(&made.graph, &[a, b])[0]).sizes(), [5]);
    // Equal ones stay so, and a run is told what they are.
    let made = import_for(18, g.clone(), &[("a", sized(&[2, 2])), ("b", sized(&[5]))]);
    assert_eq!(made.graph.ty(made.graph.inputs()[0]).to_string(), "f32[d, d]");
    let error = run(&made.graph, &[sized(&[2, 3]), sized(&[5])], &Options::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("axis 1 of `a` is 3, but `d` is 2 by axis 0 of `a`"), "{text}");
    assert!(text.contains("all sizes that are called `d` are equal"), "{text}");
}
