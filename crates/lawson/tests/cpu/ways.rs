//! One step of CartPole written in four ways: the same kernel each time, and the same numbers.

use super::{assert_right, graph, inputs, there};
use lawson::kernel::{Action, Expr, Kernel, Node};
use lawson::{CompileOptions, HostTensor, Program, Tensor};
use std::collections::BTreeMap;

/// A way to write it: its name, and its text without the version.
fn way(name: &str) -> &'static str {
    let text = match name {
        "apart" => include_str!("../../../../tests/cartpole/apart.law"),
        "joined" => include_str!("../../../../tests/cartpole/joined.law"),
        "stacked" => include_str!("../../../../tests/cartpole/stacked.law"),
        _ => include_str!("../../../../tests/cartpole/unused.law"),
    };
    text.strip_prefix("lawson 1\n").unwrap()
}

fn program(name: &str) -> Program {
    Program::compile(graph(way(name)), &CompileOptions::default()).unwrap()
}

/// The only kernel of a program that launches it once, with its buffers known by their numbers.
fn kernel(name: &str) -> (Kernel, String) {
    let program = program(name);
    let plan = program.plan().unwrap();
    assert!(matches!(&plan.steps[..], [step] if matches!(step.action, Action::Launch { .. })), "{plan}");
    let mut kernel = plan.kernels[0].clone();
    for (n, buffer) in kernel.buffers.iter_mut().enumerate() {
        buffer.name = format!("b{n}");
    }
    (kernel, plan.schedules[0].to_string())
}

/// How often a kernel computes, loads and stores what.
fn census(kernel: &Kernel) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for e in &kernel.exprs {
        let what = match e {
            Expr::Unary(kind, _) => kind.name().to_string(),
            Expr::Binary(kind, ..) => kind.name().to_string(),
            Expr::Const(_) => continue,
            Expr::Load(_) => "load".to_string(),
            other => format!("{other:?}"),
        };
        *counts.entry(what).or_default() += 1;
    }
    kernel.visit(&mut |node| {
        let what = match node {
            Node::Store(_) => "store",
            Node::For(_) => "for",
            _ => "other",
        };
        *counts.entry(what.into()).or_default() += 1;
    });
    counts
}

#[test]
fn ways_that_differ_in_copies_and_unused_parts_end_in_one_kernel() {
    if !there() {
        return;
    }
    let (apart, schedule) = kernel("apart");
    for name in ["joined", "unused"] {
        let (other, its_schedule) = kernel(name);
        assert_eq!(its_schedule, schedule, "{name}");
        assert!(other == apart, "{name}:\n{other}\nand apart:\n{apart}");
    }
}

#[test]
fn a_stacked_state_is_read_and_written_where_it_lies() {
    if !there() {
        return;
    }
    let ((apart, schedule), (stacked, its_schedule)) = (kernel("apart"), kernel("stacked"));
    assert_eq!(its_schedule, schedule);
    assert_eq!(census(&stacked), census(&apart), "{stacked}\nand apart:\n{apart}");
}

#[test]
fn all_ways_give_the_same_bits() {
    if !there() {
        return;
    }
    // Not a multiple of a vector, and more than a member's least share.
    let given = inputs(way("apart"), &[("N", 9001)], 7);
    let run = |name: &str, given: &[HostTensor]| -> Vec<Vec<f32>> {
        let tensors: Vec<Tensor> = given.iter().cloned().map(Tensor::from).collect();
        let results = program(name).session().run(&tensors).unwrap();
        assert_right(way(name), given, &results);
        results.iter().map(|t| t.to_vec::<f32>().unwrap()).collect()
    };
    let bits = |values: &[Vec<f32>]| -> Vec<u32> { values.iter().flatten().map(|v| v.to_bits()).collect() };
    let apart = bits(&run("apart", &given));
    for name in ["joined", "unused"] {
        assert_eq!(bits(&run(name, &given)), apart, "{name}");
    }
    let state: Vec<f32> =
        given[..4].iter().flat_map(|t| Tensor::from(t.clone()).to_vec::<f32>().unwrap()).collect();
    let state = Tensor::from_slice(&[4, 9001], &state).unwrap().to_host().unwrap();
    assert_eq!(bits(&run("stacked", &[state, given[4].clone()])), apart);
}
