//! Immediate mode from outside: what operators give, what is compiled when, and what is wrong with operands.
#![allow(clippy::unwrap_used)]

use lawson::eager::{Eager, EagerOptions, EagerTensor, Operators};
use lawson::graph::op::{BinaryKind, Op, UnaryKind};
use lawson::graph::{Graph, NonZero, Symbol, TopK, interp};
use lawson::{Code, CompileOptions, DType, Target, Tensor};
use std::sync::Arc;

fn eager(target: Target, operators: Operators) -> Eager {
    let compile = CompileOptions { target, ..CompileOptions::default() };
    Eager::new(EagerOptions { compile, operators }).unwrap()
}

fn on_cpu() -> Eager {
    eager(Target::Cpu, Operators::Kept)
}

fn held(eager: &Eager, sizes: &[usize], elements: &[f32]) -> EagerTensor {
    eager.hold(&Tensor::from_slice(sizes, elements).unwrap()).unwrap()
}

/// Numbers without a pattern, between -1 and 1.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + 11) % 64) as f32 / 32.0 - 1.0).collect()
}

#[test]
fn operators_one_at_a_time_give_what_the_oracle_gives_for_the_graph() {
    let text = "lawson 1
      graph @f(%x: f32[3, 16], %w: f32[16, 8], %b: f32[8]) -> (p: f32[3, 8]) {
        %h = linear %x, %w, %b
        %a = relu %h
        %p = softmax %a {axis = 1}
        return %p
      }";
    let tensors = [
        Tensor::from_slice(&[3, 16], &numbers(48)).unwrap(),
        Tensor::from_slice(&[16, 8], &numbers(128)).unwrap(),
        Tensor::from_slice(&[8], &numbers(8)).unwrap(),
    ];
    let values: Vec<lawson::Value> = tensors.iter().cloned().map(Into::into).collect();
    let graph = Graph::parse(text).unwrap();
    let oracle = interp::run_bounded(&graph, &values, &interp::Options::default()).unwrap();
    for target in [Target::Reference, Target::Cpu] {
        let eager = eager(target, Operators::Kept);
        let [x, w, b] = tensors.each_ref().map(|t| eager.hold(t).unwrap());
        let h = eager.linear(&x, &w, Some(&b)).unwrap();
        let a = eager.relu(&h).unwrap();
        let p = eager.softmax(&a, 1).unwrap();
        assert!(!p.is_on_device());
        let found = interp::compare(&oracle[0], &p.to_tensor().unwrap().into(), 4.0);
        assert!(found.ok(), "{target:?}: {found}");
    }
}

#[test]
fn an_operator_is_compiled_once_for_operands_of_the_same_types() {
    let eager = on_cpu();
    let (a, b) = (held(&eager, &[2, 3], &numbers(6)), held(&eager, &[3, 2], &numbers(6)));
    eager.relu(&a).unwrap();
    eager.relu(&eager.relu(&a).unwrap()).unwrap();
    assert_eq!(eager.compiled(), 1);
    eager.relu(&b).unwrap();
    assert_eq!(eager.compiled(), 2, "other sizes");
    eager.softmax(&a, 0).unwrap();
    eager.softmax(&a, 1).unwrap();
    eager.softmax(&a, 1).unwrap();
    assert_eq!(eager.compiled(), 4, "other attributes");
    eager.unary(UnaryKind::Neg, &a).unwrap();
    eager.unary(UnaryKind::Exp, &a).unwrap();
    assert_eq!(eager.compiled(), 6, "other operators");
    let integers = eager.hold(&Tensor::from_slice(&[2, 3], &[1i32, 2, 3, 4, 5, 6]).unwrap()).unwrap();
    let negative = eager.unary(UnaryKind::Neg, &integers).unwrap();
    assert_eq!(negative.to_tensor().unwrap().to_vec::<i32>().unwrap(), [-1, -2, -3, -4, -5, -6]);
    assert_eq!(eager.compiled(), 7, "other dtypes");
    eager.forget();
    assert_eq!(eager.compiled(), 0);
    eager.relu(&a).unwrap();
    assert_eq!(eager.compiled(), 1);
}

#[test]
fn operators_that_are_compiled_anew_are_not_kept() {
    let eager = eager(Target::Cpu, Operators::Anew);
    let a = held(&eager, &[4], &[1.0, -2.0, 3.0, -4.0]);
    for _ in 0..2 {
        let b = eager.relu(&a).unwrap();
        assert_eq!(b.to_tensor().unwrap().to_vec::<f32>().unwrap(), [1.0, 0.0, 3.0, 0.0]);
    }
    assert_eq!(eager.compiled(), 0);
}

#[test]
fn operators_have_any_number_of_results_and_sizes_that_are_data() {
    let eager = on_cpu();
    let x = held(&eager, &[5], &[3.0, 0.0, 9.0, 0.0, 7.0]);
    let top = Op::Composite(Arc::new(TopK { k: 2.into(), axis: 0, smallest: false }));
    let found = eager.apply(&top, &[&x]).unwrap();
    assert_eq!(found[0].to_tensor().unwrap().to_vec::<f32>().unwrap(), [9.0, 7.0]);
    assert_eq!(found.len(), 2);
    let error = eager.apply1(&top, &[&x]).unwrap_err();
    assert_eq!(error.code(), Code::OperandCount);
    assert!(error.to_string().contains("`top_k` has 2 results"), "{error}");
    let places = eager.composite(NonZero { symbol: Symbol::new("C") }, &[&x]).unwrap();
    assert_eq!(places.dtype(), DType::I64);
    assert_eq!(places.to_tensor().unwrap().to_vec::<i64>().unwrap(), [0, 2, 4]);
}

#[test]
fn wrong_operands_are_errors_that_name_them() {
    let eager = on_cpu();
    let (a, b) = (held(&eager, &[2, 3], &numbers(6)), held(&eager, &[2, 4], &numbers(8)));
    let error = eager.linear(&a, &b, None).unwrap_err();
    assert!(error.to_string().contains("linear"), "{error}");
    let error = eager.binary(BinaryKind::Add, &a, &b).unwrap_err();
    assert!(error.to_string().contains("add"), "{error}");
    let error = eager.softmax(&a, 5).unwrap_err();
    assert!(error.to_string().contains("softmax"), "{error}");
    assert!(eager.apply(&Op::Unary(UnaryKind::Neg), &[]).is_err());
    assert_eq!(eager.compiled(), 0);
}

#[test]
fn threads_share_what_was_compiled() {
    let eager = on_cpu();
    let a = held(&eager, &[64], &numbers(64));
    let expected = eager.relu(&a).unwrap().to_tensor().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(eager.clone().relu(&a).unwrap().to_tensor().unwrap(), expected);
                }
            });
        }
    });
    assert_eq!(eager.compiled(), 1);
}

#[test]
fn what_an_operator_is_compiled_to_can_be_seen() {
    let eager = on_cpu();
    let a = held(&eager, &[8], &numbers(8));
    let program = eager.program(&Op::Unary(UnaryKind::Exp), &[&a]).unwrap();
    assert_eq!(program.plan().unwrap().steps.len(), 1);
    assert_eq!(eager.compiled(), 1);
}
