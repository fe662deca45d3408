//! Branches, loops and functions.

use crate::model::*;
use lawson_graph::{Code, DType, HostTensor};
use lawson_onnx::proto::{FunctionProto, GraphProto, NodeProto, OperatorSetIdProto};

fn branches() -> NodeProto {
    let then = graph(vec![], &[], vec![node("Neg", "x", "t")], "t");
    let otherwise = graph(vec![], &[("two", HostTensor::scalar(2f32))], vec![node("Mul", "x two", "e")], "e");
    node("If", "c", "y").graph("then_branch", then).graph("else_branch", otherwise)
}

#[test]
fn a_known_branch_is_inlined() {
    let constants = [("c", HostTensor::scalar(false))];
    let g =
        import_graph(graph(vec![input("x", DType::F32, &["N"])], &constants, vec![branches()], "y")).unwrap();
    assert!(!ops(&g).contains(&"cond"), "{:?}", ops(&g));
    assert_eq!(eval(&g, &[host(&[2], &[1f32, 2.0])])[0].to_vec::<f32>().unwrap(), [2.0, 4.0]);
}

#[test]
fn a_branch_captures_what_it_uses() {
    let inputs = vec![input("x", DType::F32, &["N"]), input("c", DType::Bool, &[])];
    let g = import_graph(graph(inputs, &[], vec![branches()], "y")).unwrap();
    assert!(ops(&g).contains(&"cond"));
    let x = host(&[2], &[1f32, 2.0]);
    let run = |c: bool| eval(&g, &[x.clone(), HostTensor::scalar(c)])[0].to_vec::<f32>().unwrap();
    assert_eq!(run(true), [-1.0, -2.0]);
    assert_eq!(run(false), [2.0, 4.0]);
}

/// `s' = s + step·i` and the stack of all s', with `step` from around.
fn body(condition: NodeProto) -> GraphProto {
    graph(
        vec![input("i", DType::I64, &[]), input("go", DType::Bool, &[]), input("s", DType::F32, &["N"])],
        &[],
        vec![
            node("Cast", "i", "f").int("to", 1),
            node("Mul", "f step", "d"),
            node("Add", "s d", "s2"),
            node("Identity", "s2", "each"),
            condition,
        ],
        "go2 s2 each",
    )
}

#[test]
fn a_loop_that_counts_is_a_scan() {
    let constants = [("n", HostTensor::scalar(3i64)), ("true", HostTensor::scalar(true))];
    let lp = node("Loop", "n true x", "y all").graph("body", body(node("Identity", "go", "go2")));
    let inputs = vec![input("x", DType::F32, &["N"]), input("step", DType::F32, &[])];
    let g = import_graph(graph(inputs, &constants, vec![lp], "y all")).unwrap();
    assert!(ops(&g).contains(&"scan"));
    let results = eval(&g, &[host(&[1], &[10f32]), HostTensor::scalar(2f32)]);
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [16.0]);
    assert_eq!(results[1].sizes(), [3, 1]);
    assert_eq!(results[1].to_vec::<f32>().unwrap(), [10.0, 12.0, 16.0]);
}

#[test]
fn a_loop_that_may_end_early_is_a_while() {
    let mut body = body(node("Less", "f bound", "go2"));
    body.output.pop();
    let lp = node("Loop", "n - x", "y").graph("body", body);
    let inputs =
        vec![input("n", DType::I64, &[]), input("x", DType::F32, &["1"]), input("step", DType::F32, &[])];
    let g = import_graph(graph(inputs, &[("bound", HostTensor::scalar(2f32))], vec![lp], "y")).unwrap();
    assert!(ops(&g).contains(&"while"));
    let run = |n: i64| {
        let inputs = [HostTensor::scalar(n), host(&[1], &[0f32]), HostTensor::scalar(1f32)];
        eval(&g, &inputs)[0].to_vec::<f32>().unwrap()
    };
    // 0 + 1, ended by the number of iterations; 0 + 1 + 2, ended by the condition; and no iteration at all.
    assert_eq!(run(2), [1.0]);
    assert_eq!(run(9), [3.0]);
    assert_eq!(run(0), [0.0]);
}

#[test]
fn what_an_early_end_would_stack_is_refused() {
    let lp = node("Loop", "n - x", "y all").graph("body", body(node("Less", "f bound", "go2")));
    let inputs =
        vec![input("n", DType::I64, &[]), input("x", DType::F32, &["1"]), input("step", DType::F32, &[])];
    let g = graph(inputs, &[("bound", HostTensor::scalar(2f32))], vec![lp], "y all");
    assert_eq!(import_graph(g).unwrap_err().code(), Code::OnnxUnsupported);
}

#[test]
fn functions_are_inlined_with_their_attributes() {
    let mut scaled = node("Elu", "a", "b");
    scaled = scaled.with(lawson_onnx::proto::AttributeProto {
        name: Some("alpha".into()),
        ref_attr_name: Some("strength".into()),
        r#type: Some(1),
        ..Default::default()
    });
    let function = |nodes| FunctionProto {
        name: Some("Twice".into()),
        domain: Some("mine".into()),
        input: vec!["a".into()],
        output: vec!["c".into()],
        attribute: vec!["strength".into()],
        node: nodes,
        opset_import: vec![
            OperatorSetIdProto { domain: None, version: Some(18) },
            OperatorSetIdProto { domain: Some("mine".into()), version: Some(1) },
        ],
        ..Default::default()
    };
    let call = NodeProto { domain: Some("mine".into()), ..node("Twice", "x", "y").float("strength", 2.0) };
    let g = graph(vec![input("x", DType::F32, &["2"])], &[], vec![call.clone()], "y");
    let mut m = model(18, g);
    m.functions = vec![function(vec![scaled, node("Add", "b b", "c")])];
    let g = import(&m).unwrap();
    let y = eval(&g, &[host(&[2], &[1f32, -1000.0])]).remove(0);
    assert_eq!(y.to_vec::<f32>().unwrap(), [2.0, -4.0]);

    // A function that calls itself has no end.
    let again = NodeProto { input: vec!["a".into()], output: vec!["c".into()], ..call };
    m.functions = vec![function(vec![again])];
    assert_eq!(import(&m).unwrap_err().code(), Code::Budget);
}

#[test]
fn branches_of_different_sizes_give_the_size_of_the_one_that_counts() {
    // Nothing, or the places of what is above zero.
    let then =
        graph(vec![], &[("none", host::<i64>(&[1, 0], &[]))], vec![node("Identity", "none", "t")], "t");
    let otherwise = graph(vec![], &[], vec![node("Greater", "x zero", "g"), node("NonZero", "g", "e")], "e");
    let branch = node("If", "c", "y").graph("then_branch", then).graph("else_branch", otherwise);
    let inputs = vec![input("x", DType::F32, &["N"]), input("c", DType::Bool, &[])];
    let g = import_graph(graph(inputs, &[("zero", HostTensor::scalar(0f32))], vec![branch], "y")).unwrap();
    let run = |c: bool| eval(&g, &[host(&[4], &[1f32, -1.0, 2.0, 0.0]), HostTensor::scalar(c)])[0].clone();
    assert_eq!(run(true).sizes(), [1, 0]);
    assert_eq!((run(false).sizes(), run(false).to_vec::<i64>().unwrap()), (&[1, 2][..], vec![0, 2]));
}

/// A loop as converters from TensorFlow write one: no limit, and a condition that compares what is carried and counts, in floats.
fn counting(first: i64, less: NodeProto) -> GraphProto {
    let body = graph(
        vec![
            input("i", DType::I64, &[]),
            input("go", DType::Bool, &[]),
            input("at", DType::I32, &[]),
            input("s", DType::F32, &["2"]),
            input("n", DType::I32, &[]),
        ],
        &[("one", HostTensor::scalar(1i32))],
        vec![
            node("Add", "at one", "at2"),
            node("Gather", "x at", "row"),
            node("Add", "s row", "s2"),
            node("Identity", "s2", "each"),
            node("Identity", "n", "n2"),
            node("Cast", "at2", "at_f").int("to", 1),
            node("Cast", "n", "n_f").int("to", 1),
            less,
        ],
        "go2 at2 s2 n2 each",
    );
    let nodes = vec![
        node("Shape", "x", "shape"),
        node("Gather", "shape zeroth", "n64"),
        node("Cast", "n64", "n").int("to", 6),
        node("Cast", "n", "first_f").int("to", 1),
        node("Less", "from_f first_f", "go"),
        node("Loop", "- go from zeros n", "last s same all").graph("body", body),
    ];
    let constants = [
        ("zeroth", HostTensor::scalar(0i64)),
        ("from", HostTensor::scalar(first as i32)),
        ("from_f", HostTensor::scalar(first as f32)),
        ("zeros", host(&[2], &[0f32; 2])),
    ];
    graph(vec![input("x", DType::F32, &["N", "2"])], &constants, nodes, "last s all")
}

#[test]
fn a_condition_that_only_counts_says_how_often_a_loop_runs() {
    let g = import_graph(counting(1, node("Less", "at_f n_f", "go2"))).unwrap();
    assert!(ops(&g).contains(&"scan"), "{:?}", ops(&g));
    let x = host(&[3, 2], &[9f32, 90.0, 1.0, 10.0, 2.0, 20.0]);
    let results = eval(&g, &[x]);
    assert_eq!(results[0].to_vec::<i32>().unwrap(), [3]);
    assert_eq!(results[1].to_vec::<f32>().unwrap(), [3.0, 30.0]);
    assert_eq!(
        (results[2].sizes(), results[2].to_vec::<f32>().unwrap()),
        (&[2, 2][..], vec![1.0, 10.0, 3.0, 30.0])
    );
    // Nothing is left to count.
    let results = eval(&g, &[host(&[1, 2], &[9f32, 90.0])]);
    assert_eq!((results[0].to_vec::<i32>().unwrap(), results[2].sizes()), (vec![1], &[0, 2][..]));
    // A condition of another kind is none that counts.
    let other = counting(1, node("Less", "at_f s_f", "go2"));
    let mut other = other;
    if let Some(body) = other.node.last_mut().and_then(|n| n.attribute[0].g.as_mut()) {
        body.node.insert(0, node("ReduceSum", "s", "s_f").int("keepdims", 0));
    }
    assert_eq!(import_graph(other).unwrap_err().code(), Code::OnnxUnsupported);
}
