//! Functions without an instruction of their own, as machine code, against f64: within what is promised of them.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;
#[path = "../../lawson-kernel/tests/support/mod.rs"]
mod support;

use common::call;
use lawson_cpu::{Listing, emit};
use lawson_graph::op::{BinaryKind, UnaryKind};
use lawson_graph::{DType, Dim, Facts, Symbol};
use lawson_kernel::build::{for_each, store};
use lawson_kernel::choose::{Freedom, choose};
use lawson_kernel::machine::Machine;
use lawson_kernel::math::Function;
use lawson_kernel::verify::verify;
use lawson_kernel::{ExprId, Kernel};
use support::pairs::{Binary, Pairs, grid};
use support::reference::reference;
use support::ulp;

/// `y[i] = f(x0[i], …)` by the default schedule, on these inputs.
fn run(inputs: &[Vec<f32>], value: impl FnOnce(&mut Kernel, &[ExprId]) -> ExprId) -> Vec<f32> {
    let n = Dim::symbol("N");
    let mut k = Kernel::new("f", Facts::new());
    let i = k.add_axis("i");
    let names = ["x0", "x1"];
    let given: Vec<_> = inputs
        .iter()
        .zip(names)
        .map(|(_, name)| k.input(name, DType::F32, std::slice::from_ref(&n)))
        .collect();
    let y = k.output("y", DType::F32, std::slice::from_ref(&n));
    let loads: Vec<ExprId> = given.into_iter().map(|b| k.load(b, vec![i.into()])).collect();
    let value = value(&mut k, &loads);
    k.body = vec![for_each(i, n, vec![store(y, vec![i.into()], value)])];
    choose(&mut k, &Machine::default(), &Freedom::default()).unwrap();
    verify(&k).unwrap();
    let code = emit(&k, Listing::Off).unwrap();
    let count = inputs[0].len();
    let bytes = |x: &Vec<f32>| x.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let mut buffers: Vec<Vec<u8>> = inputs.iter().map(bytes).collect();
    buffers.push(vec![0xA5; 4 * count]);
    call(&k, &code, &[(Symbol::new("N"), count as i64)], &mut buffers, 1);
    buffers[inputs.len()].chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Bit patterns at even distances and next to every power of two, in an order that mixes rare ranges with common ones, and
/// in one that does not.
fn sample() -> Vec<f32> {
    let strided = (0..=u32::MAX).step_by(1009);
    let powers = (0..256u32).flat_map(|e| (0..9u32).map(move |d| ((e << 23) + d).saturating_sub(4)));
    let sorted: Vec<f32> =
        strided.chain(powers).flat_map(|b| [b, b ^ 0x8000_0000]).map(f32::from_bits).collect();
    let mixed = (0..sorted.len()).step_by(16).map(|n| sorted[n * 7919 % sorted.len()]);
    sorted.iter().copied().chain(mixed).collect()
}

#[test]
fn functions_keep_their_promise_in_machine_code() {
    let x = sample();
    for (kind, function) in UnaryKind::ALL.iter().filter_map(|k| Some((*k, Function::of(*k)?))) {
        let y = run(std::slice::from_ref(&x), |k, v| k.unary(kind, v[0]));
        let worst = x.iter().zip(&y).map(|(x, y)| (ulp(*y, reference(function, *x)), x, y));
        let (error, x, y) = worst.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        println!("{}: {error:.3} ulp", function.name());
        let promised = function.max_ulp();
        assert!(
            error <= promised,
            "{}({x:e}) is {y:e}: {error:.3} ulp, promised {promised}",
            function.name()
        );
    }
}

#[test]
fn functions_of_two_keep_their_promise_in_machine_code() {
    for (kind, function) in [(BinaryKind::Pow, Binary::Pow), (BinaryKind::Atan2, Binary::Atan2)] {
        let (a, b): (Vec<f32>, Vec<f32>) = grid().chain(Pairs::new(function, 3).take(1_000_000)).unzip();
        let y = run(&[a.clone(), b.clone()], |k, v| k.binary(kind, v[0], v[1]));
        for ((a, b), y) in a.iter().zip(&b).zip(&y) {
            let error = ulp(*y, function.reference(*a, *b));
            assert!(
                error <= function.max_ulp(),
                "{}({a:e}, {b:e}) is {y:e}, not {:e}: {error:.3} ulp",
                function.name(),
                function.reference(*a, *b)
            );
        }
    }
}
