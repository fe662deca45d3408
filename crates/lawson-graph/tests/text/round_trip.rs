//! What is printed is read back as an equal graph.

use crate::corpus;
use lawson_graph::op::{BinaryKind, Cond, DefineSymbol};
use lawson_graph::{
    Builder, Code, DType, Dim, Fact, Facts, Function, Graph, Op, Placement, PrintOptions, Registry, Relation,
    Sharding, Symbol, Type, ValueId, print,
};
use std::sync::Arc;

/// Checks that printing and reading give an equal graph, whose text is the same again.
pub fn check(graph: &Graph) {
    let text = graph.to_string();
    let back = Graph::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(back, *graph, "{text}");
    assert_eq!(back.to_string(), text);
    // Equality of composites is by name; their bodies are compared as text above, and by value here.
    for (a, b) in functions(graph).iter().zip(functions(&back)) {
        assert_eq!(a.graph(), b.graph());
    }
}

fn functions(graph: &Graph) -> Vec<&Function> {
    graph.nodes().iter().filter_map(|n| n.op.composite::<Function>()).collect()
}

#[test]
fn every_text_of_the_corpus_comes_back() {
    corpus::graphs().iter().for_each(check);
}

#[test]
fn unnamed_values_and_names_of_digits_do_not_collide() {
    let mut b = Builder::new("f");
    let x = b.input("1", Type::tensor(DType::F32, ["N"])).unwrap();
    let y = b.neg(x).unwrap();
    let z = b.abs(y).unwrap();
    b.name(z, "01").unwrap();
    let w = b.neg(z).unwrap();
    b.output("3", w).unwrap();
    let graph = b.finish().unwrap();
    let text = graph.to_string();
    assert!(text.contains("%1: f32[N] = neg %\"1\"") && text.contains("%\"01\": f32[N] = abs %1"), "{text}");
    check(&graph);
}

#[test]
fn any_string_can_be_a_name() {
    let names = [
        "",
        " ",
        "a b",
        "layer.0/Add:0",
        "\"",
        "\\",
        "\n",
        "é",
        "日本",
        "%x",
        "return",
        "in",
        "//",
        "'",
        "\u{0}",
        "true",
    ];
    let mut b = Builder::new("//\n\"");
    let mut last = None;
    for name in names {
        let shape = [Dim::symbol(name), Dim::symbol(format!("s{name}"))];
        let x = b.input(name, Type::tensor(DType::I8, shape)).unwrap();
        b.output(name, x).unwrap();
        last = Some(x);
    }
    for name in names {
        let y = b.neg(last.unwrap()).unwrap();
        b.name(y, &format!("{name}~")).unwrap();
        let placement = Placement {
            device: Some(name.to_string()),
            sharding: Some(Sharding { mesh: name.to_string(), axes: vec![Some(name.to_string()), None] }),
        };
        b.place(y, placement).unwrap();
    }
    for name in names {
        b.fact(Dim::symbol(name), Relation::Ge, 1).unwrap();
    }
    check(&b.finish().unwrap());
}

#[test]
fn facts_come_back_in_their_order_wherever_they_were_added() {
    let mut b = Builder::new("f");
    let x = b.input("x", Type::tensor(DType::F32, ["N"])).unwrap();
    let n = b.input("n", Type::tensor(DType::I64, [0; 0])).unwrap();
    b.fact("N", Relation::Ge, 2).unwrap();
    let symbol = |b: &mut Builder<'_>, name: &str| {
        let op = Op::DefineSymbol(DefineSymbol { name: Symbol::new(name), max: "N".into() });
        b.op1(op, &[n]).unwrap()
    };
    let pass = |b: &mut Builder<'_>| {
        let c = b.scalar(DType::Bool, 1.0).unwrap();
        let same = |_: &mut Builder<'static>, v: &[ValueId]| Ok(v.to_vec());
        b.cond(c, &[x], same, same).unwrap()
    };
    pass(&mut b);
    symbol(&mut b, "K");
    pass(&mut b);
    // Facts after nodes: those that came before them, and their sub-graphs, do not know.
    b.fact("K", Relation::Ge, 1).unwrap();
    b.fact("N", Relation::Lt, 100).unwrap();
    symbol(&mut b, "L");
    pass(&mut b);
    b.output("y", x).unwrap();
    check(&b.finish().unwrap());
}

#[test]
fn sub_graphs_keep_their_own_names_outputs_and_facts() {
    let branch = |name: &str, output: &str, at_least: &[i64]| {
        let mut b = Builder::new(name);
        for least in at_least {
            b.fact("N", Relation::Ge, *least).unwrap();
        }
        let x = b.input("x", Type::tensor(DType::F32, ["N"])).unwrap();
        b.output(output, x).unwrap();
        Arc::new(b.finish_sub_graph().unwrap())
    };
    let mut b = Builder::new("f");
    b.fact("N", Relation::Ge, 1).unwrap();
    b.fact("N", Relation::Ge, 3).unwrap();
    let x = b.input("x", Type::tensor(DType::F32, ["N"])).unwrap();
    let c = b.scalar(DType::Bool, 1.0).unwrap();
    for (then, otherwise) in [
        (branch("then", "0", &[1, 3]), branch("else", "0", &[])),
        (branch("a b", "0", &[1]), branch("else", "result", &[3])),
    ] {
        b.op(Op::Cond(Cond { then, otherwise }), &[c, x]).unwrap();
    }
    let graph = b.finish().unwrap();
    let text = graph.to_string();
    assert!(text.contains("then(%x: f32[N]) {") && text.contains("else(%x: f32[N]) where true {"), "{text}");
    check(&graph);
}

#[test]
fn composites_in_a_registry_need_not_be_in_the_text() {
    let body = "lawson 1 graph @square(%x: f32[N]) -> (y: f32[N]) { %y = mul %x, %x return %y }";
    let mut registry = Registry::standard().clone();
    registry.register_function(Arc::new(Function::new(Graph::parse(body).unwrap()))).unwrap();
    let options = lawson_graph::ParseOptions { registry: &registry, ..Default::default() };
    let text = "lawson 1 graph @f(%x: f32[3]) -> (y: f32[3]) { %y = square %x return %y }";
    let graph = lawson_graph::parse(text, &options).unwrap();
    // Printed, the text defines the composite itself, and then hides that of the registry.
    assert_eq!(lawson_graph::parse(&graph.to_string(), &options).unwrap(), graph);
    check(&graph);
}

/// A text whose graph calls a composite that calls another twice, and so on: the call expands to 2^`levels` nodes.
fn doubling(levels: usize) -> String {
    let mut text =
        "lawson 1\ncomposite @f0(%x: f32[N]) -> (y: f32[N]) { %y = neg %x return %y }\n".to_string();
    for i in 1..=levels {
        let inner = i - 1;
        text += &format!(
            "composite @f{i}(%x: f32[N]) -> (y: f32[N]) {{ %a = f{inner} %x %y = f{inner} %a return %y }}\n"
        );
    }
    text + &format!("graph @f(%x: f32[8]) -> (y: f32[8]) {{ %y = f{levels} %x return %y }}")
}

#[test]
fn composites_called_by_composites_cost_no_more_than_their_text() {
    check(&Graph::parse(&doubling(22)).unwrap());
}

#[test]
fn calls_that_expand_to_too_many_nodes_are_refused_where_they_stand() {
    let error = Graph::parse(&doubling(23)).unwrap_err();
    assert_eq!(error.code(), Code::Budget);
    // The composites themselves are fine; the last line calls them.
    assert!(error.to_string().contains("<text>:26:44"), "{error}");
    // Once a composite cannot be called, what calls it is not read either.
    assert_eq!(Graph::parse(&doubling(63)).unwrap_err().code(), Code::Budget);
}

#[test]
fn printing_is_pleasant_to_read() {
    let text = r#"lawson 1

graph @mlp(%x: f32[N, 4], %cache: f32[2]) -> (y: f32[N, 2], state: f32[2] in %cache)
  where N >= 1, N % 8 == 0
{
  %w: f32[4, 2] = constant [[1.0, 2.0], [3.0, 4.0], [-0.5, inf], [1e-7, nan]]
  %h: f32[N, 2] @device("cpu:0") @shard("mesh", [x, _]) = contract %x, %w {batch = [], sum = [[1, 0]]}
  %4: f32[N, 2] = neg %h
  %n: i64[] = constant 3
  %6: i64[] = while %n {carried = 1} cond(%a: i64[]) {
    %1: i64[] = constant 0
    %go: bool[] = gt %a, %1
    return %go
  } body(%a: i64[]) {
    %one: i64[] = constant 1
    %2: i64[] = sub %a, %one
    return %2
  }
  return %4, %cache
}
"#;
    assert_eq!(Graph::parse(text).unwrap().to_string(), text);
}

#[test]
fn long_heads_get_a_line_for_each_input() {
    let mut b = Builder::new("f");
    for i in 0..8 {
        let x = b.input(&format!("input_number_{i}"), Type::tensor(DType::F32, ["N", "M"])).unwrap();
        b.output(&format!("output_{i}"), x).unwrap();
    }
    let graph = b.finish().unwrap();
    assert!(graph.to_string().contains("@f(\n  %input_number_0: f32[N, M],\n"), "{graph}");
    check(&graph);
}

#[test]
fn notes_stand_after_their_nodes() {
    let graph =
        Graph::parse("lawson 1 graph @f(%x: f32[2]) -> (y: f32[2]) { %y = neg %x return %y }").unwrap();
    let notes = graph.node_ids().map(|id| (id, "two\nlines".to_string())).collect();
    let text = print(&graph, &PrintOptions { notes, ..PrintOptions::default() });
    assert!(text.contains("%y: f32[2] = neg %x  // two lines\n"), "{text}");
    assert_eq!(Graph::parse(&text).unwrap(), graph);
}

#[test]
fn ids_come_back_in_order() {
    let mut b = Builder::new("f");
    let x = b.input("x", Type::tensor(DType::F32, ["N"])).unwrap();
    let y = b.input("y", Type::tensor(DType::F32, ["N"])).unwrap();
    let mut last = x;
    for i in 0..100 {
        last = b.binary(BinaryKind::Add, last, y).unwrap();
        if i % 3 == 0 {
            b.name(last, &format!("v{i}")).unwrap();
        }
    }
    b.output("z", last).unwrap();
    let graph = b.finish().unwrap();
    let back = Graph::parse(&graph.to_string()).unwrap();
    for (a, b) in graph.nodes().iter().zip(back.nodes()) {
        assert_eq!((&a.inputs, &a.outputs), (&b.inputs, &b.outputs));
    }
}

#[test]
fn a_fact_stated_twice_is_one_fact() {
    let mut facts = Facts::new();
    let fact = Fact::new("N", Relation::Le, "M");
    facts.add(fact.clone()).unwrap();
    let once = facts.clone();
    facts.add(fact).unwrap();
    assert_eq!(facts, once);
}
