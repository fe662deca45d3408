//! Each invariant of the verifier, violated alone: the graph is valid until one thing is broken, and the verifier
//! names that thing by its code.

#![allow(clippy::unwrap_used)]

use lawson_graph::op::{DefineSymbol, Dims, Op, Scan};
use lawson_graph::{
    Builder, Code, DType, Def, Dim, Fact, Graph, GraphParts, NodeId, Placement, Relation, Shape, Sharding,
    Symbol, Type, ValueId,
};
use std::sync::Arc;

/// `y = exp(x + x)`, `z = y * x`, with state: `z` lives in `s`.
fn sample() -> Graph {
    let mut b = Builder::new("sample");
    let x = b.input("x", Type::tensor(DType::F32, [Dim::symbol("N"), Dim::from(3)])).unwrap();
    let s = b.input("s", Type::tensor(DType::F32, [Dim::symbol("N"), Dim::from(3)])).unwrap();
    b.fact("N", Relation::Ge, 1).unwrap();
    let sum = b.add(x, x).unwrap();
    let y = b.exp(sum).unwrap();
    let z = b.mul(y, x).unwrap();
    b.name(y, "y").unwrap();
    b.output("y", y).unwrap();
    b.output_in("z", z, s).unwrap();
    b.finish().unwrap()
}

/// Breaks the sample and expects exactly this code.
fn broken(code: Code, break_it: impl FnOnce(&mut GraphParts)) {
    let mut parts = sample().into_parts();
    break_it(&mut parts);
    let error = Graph::from_parts(parts).verify().expect_err("the graph should be invalid");
    assert_eq!(error.code(), code, "{error}");
}

#[test]
fn the_sample_is_valid() {
    sample().verify().unwrap();
}

#[test]
fn references_must_exist() {
    broken(Code::VerifyReference, |g| g.nodes[1].inputs[0] = ValueId::new(99));
    broken(Code::VerifyReference, |g| g.outputs[0].value = ValueId::new(99));
    broken(Code::VerifyReference, |g| g.inputs[0] = ValueId::new(99));
    broken(Code::VerifyReference, |g| g.outputs[1].lives_in = Some(7));
}

#[test]
fn values_have_one_owner_that_lists_them() {
    broken(Code::VerifyOwner, |g| g.values[2].def = Def::Node(NodeId::new(1), 0));
    broken(Code::VerifyOwner, |g| g.values[0].def = Def::Input(1));
    broken(Code::VerifyOwner, |g| {
        let twice = g.nodes[0].outputs[0];
        g.nodes[1].outputs.push(twice);
    });
}

#[test]
fn operands_are_defined_before_use() {
    broken(Code::VerifyOrder, |g| g.nodes[0].inputs[0] = g.nodes[2].outputs[0]);
    broken(Code::VerifyOrder, |g| g.nodes[1].inputs[0] = g.nodes[1].outputs[0]);
}

#[test]
fn types_follow_from_operators() {
    let narrow = Type::tensor(DType::F32, [Dim::symbol("N"), Dim::from(2)]);
    broken(Code::VerifyType, |g| {
        // The last node, so that no user of the value objects first; it is state no more.
        let last = g.nodes[2].outputs[0];
        g.values[last.index()].ty = narrow;
        g.outputs[1].lives_in = None;
    });
    // A type that the facts prove equal is as good.
    let mut parts = sample().into_parts();
    let n = Dim::symbol("N");
    parts.values[2].ty = Type::tensor(DType::F32, [n.max(&Dim::ONE), Dim::from(3)]);
    Graph::from_parts(parts).verify().unwrap();
}

#[test]
fn inputs_have_dimensions_that_are_never_negative() {
    let mut b = Builder::new("g");
    b.fact(Dim::symbol("N") - 4, Relation::Ge, 0).unwrap();
    b.input("x", Type::tensor(DType::F32, [Dim::symbol("N") - 4])).unwrap();
    let parts = b.finish().unwrap().into_parts();
    let negative = GraphParts { facts: Default::default(), ..parts.clone() };
    assert_eq!(Graph::from_parts(negative).verify().unwrap_err().code(), Code::OutOfBounds);
    let mut poisoned = parts;
    poisoned.values[0].ty = Type::tensor(DType::F32, [Dim::overflow()]);
    assert_eq!(Graph::from_parts(poisoned).verify().unwrap_err().code(), Code::DimOverflow);
}

#[test]
fn symbols_are_defined_somewhere() {
    broken(Code::UnknownSymbol, |g| {
        g.facts.add(Fact::new("M", Relation::Ge, 2)).unwrap();
    });
    let mut b = Builder::new("g");
    b.input("x", Type::tensor(DType::F32, ["N"])).unwrap();
    let n = b.op1(Op::Dims(Dims { dims: vec![Dim::symbol("K")] }), &[]).unwrap();
    b.output("n", n).unwrap();
    assert_eq!(b.finish().unwrap_err().code(), Code::UnknownSymbol);
}

#[test]
fn symbols_are_defined_once() {
    let mut b = Builder::new("g");
    let n = b.input("n", Type::tensor(DType::I64, Shape::scalar())).unwrap();
    for name in ["K", "L"] {
        b.op1(Op::DefineSymbol(DefineSymbol { name: Symbol::new(name), max: Dim::from(8) }), &[n]).unwrap();
    }
    let mut parts = b.finish().unwrap().into_parts();
    parts.facts = parts.facts.without(&|s| s.name() == "L").unwrap();
    parts.nodes[1].op = parts.nodes[0].op.clone();
    assert_eq!(Graph::from_parts(parts).verify().unwrap_err().code(), Code::DuplicateName);
}

#[test]
fn names_are_unique_and_inputs_have_them() {
    broken(Code::DuplicateName, |g| g.values[2].name = Some("x".into()));
    broken(Code::DuplicateName, |g| g.outputs[1].name = "y".into());
    broken(Code::DuplicateName, |g| g.values[0].name = None);
}

#[test]
fn state_fits_its_input() {
    broken(Code::VerifyState, |g| g.outputs[0].lives_in = Some(1));
    broken(Code::VerifyState, |g| {
        let wide = Type::tensor(DType::F32, [Dim::symbol("N"), Dim::from(4)]);
        g.values[1].ty = wide;
    });
}

#[test]
fn shardings_fit_their_values() {
    let sharded = |axes: &[Option<&str>]| {
        let axes = axes.iter().map(|a| a.map(str::to_string)).collect();
        Some(Box::new(Placement { device: None, sharding: Some(Sharding { mesh: "m".into(), axes }) }))
    };
    broken(Code::VerifySharding, |g| g.values[2].placement = sharded(&[Some("a")]));
    broken(Code::VerifySharding, |g| g.values[2].placement = sharded(&[Some("a"), Some("a")]));
    let mut parts = sample().into_parts();
    parts.values[2].placement = sharded(&[Some("a"), None]);
    Graph::from_parts(parts).verify().unwrap();
}

#[test]
fn bodies_are_verified_too() {
    let mut b = Builder::new("g");
    let x = b.input("x", Type::tensor(DType::F32, [Dim::symbol("N"), Dim::from(2)])).unwrap();
    let scanned = b.scan("N", &[], &[x], &[], |b, v| Ok(vec![b.exp(v[0])?])).unwrap();
    b.output("y", scanned[0]).unwrap();
    let graph = b.finish().unwrap();
    let with_body = |change: &dyn Fn(&mut GraphParts)| {
        let mut parts = graph.clone().into_parts();
        let Op::Scan(Scan { body, .. }) = &mut parts.nodes[0].op else { panic!("expected a scan") };
        let mut inner = Graph::clone(body).into_parts();
        change(&mut inner);
        *body = Arc::new(Graph::from_parts(inner));
        Graph::from_parts(parts).verify()
    };
    with_body(&|_| {}).unwrap();
    let error = with_body(&|g| g.values[1].name = g.values[0].name.clone()).unwrap_err();
    assert_eq!(error.code(), Code::DuplicateName, "{error}");
    let error = with_body(&|g| g.facts.add(Fact::new("N", Relation::Ge, 5)).unwrap()).unwrap_err();
    assert_eq!(error.code(), Code::SubGraph, "{error}");
    let error = with_body(&|g| g.outputs[0].lives_in = Some(0)).unwrap_err();
    assert_eq!(error.code(), Code::VerifyState, "{error}");
}
