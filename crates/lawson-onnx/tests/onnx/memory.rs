//! Absurd files take little memory: what an import holds at most is bounded by the size of the file, measured by an allocator that
//! counts for each thread by itself, because tests run side by side.
#![allow(unsafe_code)]

use super::model::*;
use lawson_graph::{DType, HostTensor};
use lawson_onnx::proto::{
    FunctionProto, ModelProto, NodeProto, OperatorSetIdProto, SparseTensorProto, TensorProto,
};
use lawson_onnx::{ImportOptions, from_bytes};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// What this thread allocated and did not free; what another thread freed counts there.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let held = HELD.get().wrapping_add(bytes);
    HELD.set(held);
    MOST.set(MOST.get().max(held));
}

// SAFETY: hands everything to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What any import may hold, whatever the size of the file.
const ANY: usize = 24 << 20;

/// What it may hold for each byte of the file.
const EACH: usize = 40;

/// Imports a model, whatever comes of it, and checks what that held at most.
fn bounded(what: &str, model: &ModelProto) {
    let bytes = encode(model);
    let size = bytes.len();
    let before = HELD.get();
    MOST.set(before);
    let result = from_bytes(bytes, &ImportOptions::default());
    let most = (MOST.get() - before) as usize;
    let came = result.map_or_else(|e| e.to_string(), |g| format!("{} nodes", g.nodes().len()));
    assert!(most <= ANY + EACH * size, "{what}: {most} bytes for a file of {size}; {came}");
}

#[test]
fn results_that_are_huge_are_not_computed_when_a_model_is_read() {
    let scalar = |v: i64| HostTensor::scalar(v);
    let v = |i: &[i64]| host(&[i.len()], i);
    let huge = v(&[1 << 20, 1 << 20]);
    type Case = (&'static str, Vec<(&'static str, HostTensor)>, Vec<NodeProto>);
    let cases: Vec<Case> = vec![
        ("ConstantOfShape", vec![("s", huge.clone())], vec![node("ConstantOfShape", "s", "y")]),
        ("Expand", vec![("c", host(&[1], &[2f32])), ("s", huge.clone())], vec![node("Expand", "c s", "y")]),
        (
            "Tile",
            vec![("c", host(&[2, 2], &[2f32; 4])), ("s", v(&[1 << 30, 1 << 30]))],
            vec![node("Tile", "c s", "y")],
        ),
        (
            "Range",
            vec![("a", scalar(0)), ("n", scalar(1 << 40)), ("d", scalar(1))],
            vec![node("Range", "a n d", "y")],
        ),
        (
            "Pad",
            vec![("c", host(&[1], &[2f32])), ("p", v(&[1 << 40, 1 << 40]))],
            vec![node("Pad", "c p", "y")],
        ),
        (
            "OneHot",
            vec![("i", v(&[0])), ("d", scalar(1 << 40)), ("v", host(&[2], &[0f32, 1.0]))],
            vec![node("OneHot", "i d v", "y")],
        ),
        (
            "Resize",
            vec![("c", host(&[1, 1], &[2f32])), ("s", host(&[2], &[1e6f32, 1e6]))],
            vec![node("Resize", "c - s", "y").text("mode", "nearest")],
        ),
        (
            "arithmetic on huge constants",
            vec![("s", huge.clone())],
            vec![
                node("ConstantOfShape", "s", "a"),
                node("Add", "a a", "b"),
                node("Transpose", "b", "c"),
                node("MatMul", "b c", "d"),
                node("ReduceSum", "d", "y"),
            ],
        ),
        (
            "Shape of something huge",
            vec![("s", huge)],
            vec![
                node("ConstantOfShape", "s", "a"),
                node("Shape", "a", "b"),
                node("ConstantOfShape", "b", "c"),
                node("NonZero", "c", "y"),
            ],
        ),
    ];
    for (what, constants, nodes) in cases {
        bounded(what, &model(18, graph(vec![], &constants, nodes, "y")));
    }
}

#[test]
fn doubling_again_and_again_does_not_grow() {
    let mut nodes = vec![node("Concat", "c c", "x0").int("axis", 0)];
    for i in 0..60 {
        nodes.push(node("Concat", &format!("x{i} x{i}"), &format!("x{}", i + 1)).int("axis", 0));
    }
    bounded("Concat", &model(18, graph(vec![], &[("c", host(&[64], &[1i64; 64]))], nodes, "x60")));
    let mut nodes = vec![node("Add", "n n", "x0")];
    for i in 0..60 {
        nodes.push(node("Mul", &format!("x{i} x{i}"), &format!("x{}", i + 1)));
    }
    nodes.push(node("ConstantOfShape", "x60", "y"));
    let g = graph(
        vec![input("x", DType::F32, &["N", "M", "K"])],
        &[],
        {
            let mut all = vec![node("Shape", "x", "n")];
            all.append(&mut nodes);
            all
        },
        "y",
    );
    bounded("powers of dimensions", &model(18, g));
}

#[test]
fn tensors_that_claim_what_the_file_does_not_have_take_nothing() {
    for (dims, count) in [(vec![1i64 << 40], 4), (vec![1 << 20, 1 << 20], 0), (vec![i64::MAX, 3], 8)] {
        let mut g = graph(vec![], &[], vec![node("Neg", "c", "y")], "y");
        g.initializer.push(TensorProto {
            name: Some("c".into()),
            dims,
            data_type: Some(number(DType::F32)),
            raw_data: (count > 0).then(|| vec![0u8; count].into()),
            ..TensorProto::default()
        });
        bounded("claims", &model(18, g));
    }
    let mut g = graph(vec![], &[], vec![node("Neg", "c", "y")], "y");
    g.sparse_initializer.push(SparseTensorProto {
        values: Some(TensorProto { name: Some("c".into()), ..tensor("c", &host(&[1], &[1f32])) }),
        indices: Some(tensor("", &host(&[1], &[5i64]))),
        dims: vec![1 << 20, 1 << 20],
    });
    bounded("sparse", &model(18, g));
}

#[test]
fn functions_that_call_each_other_twice_are_refused_before_they_fill_memory() {
    let import = || {
        vec![
            OperatorSetIdProto { domain: None, version: Some(18) },
            OperatorSetIdProto { domain: Some("own".into()), version: Some(1) },
        ]
    };
    let call = |name: &str, from: &str, to: &str| {
        let mut n = node(name, from, to);
        n.domain = Some("own".into());
        n
    };
    let functions = (0..22).map(|i| FunctionProto {
        name: Some(format!("f{i}")),
        domain: Some("own".into()),
        input: vec!["x".into()],
        output: vec!["y".into()],
        node: match i {
            21 => vec![node("Neg", "x", "y")],
            _ => vec![call(&format!("f{}", i + 1), "x", "a"), call(&format!("f{}", i + 1), "a", "y")],
        },
        opset_import: import(),
        ..FunctionProto::default()
    });
    let g = graph(vec![input("x", DType::F32, &["N"])], &[], vec![call("f0", "x", "y")], "y");
    let m = ModelProto { functions: functions.collect(), opset_import: import(), ..model(18, g) };
    bounded("functions", &m);
    let error = super::model::import(&m).unwrap_err().to_string();
    assert!(error.contains("nodes"), "{error}");
}
