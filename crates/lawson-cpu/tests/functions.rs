//! Functions without an instruction of their own, as machine code, against f64: within what is promised of them.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;
#[path = "../../lawson-kernel/tests/support/mod.rs"]
mod support;

use common::{call, levels};
use lawson_cpu::{Isa, Listing, emit};
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_graph::{DType, Dim, Facts, Symbol};
use lawson_kernel::build::{for_each, store};
use lawson_kernel::choose::{Freedom, choose};
use lawson_kernel::machine::Machine;
use lawson_kernel::math::{self, Function};
use lawson_kernel::verify::verify;
use lawson_kernel::{Expr, ExprId, Kernel, Scalar};
use support::pairs::{Binary, Pairs, grid};
use support::precise;
use support::reference::reference;
use support::ulp;

/// `y[i] = f(x0[i], …)` by the default schedule, on the bytes of these inputs.
fn run_bytes(
    isa: Isa,
    dtype: DType,
    mut buffers: Vec<Vec<u8>>,
    value: impl FnOnce(&mut Kernel, &[ExprId]) -> ExprId,
) -> Vec<u8> {
    let n = Dim::symbol("N");
    let mut k = Kernel::new("f", Facts::new());
    let i = k.add_axis("i");
    let names = ["x0", "x1"];
    let given: Vec<_> =
        buffers.iter().zip(names).map(|(_, name)| k.input(name, dtype, std::slice::from_ref(&n))).collect();
    let y = k.output("y", dtype, std::slice::from_ref(&n));
    let loads: Vec<ExprId> = given.into_iter().map(|b| k.load(b, vec![i.into()])).collect();
    let value = value(&mut k, &loads);
    k.body = vec![for_each(i, n, vec![store(y, vec![i.into()], value)])];
    choose(&mut k, &isa.of(&Machine::default()), &Freedom::default()).unwrap();
    verify(&k).unwrap();
    let code = emit(&k, isa, Listing::Off).unwrap();
    let (bytes, size) = (buffers[0].len(), dtype.bits() / 8);
    buffers.push(vec![0xA5; bytes]);
    call(&k, &code, &[(Symbol::new("N"), (bytes / size) as i64)], &mut buffers, 1);
    buffers.pop().unwrap()
}

fn run(isa: Isa, inputs: &[Vec<f32>], value: impl FnOnce(&mut Kernel, &[ExprId]) -> ExprId) -> Vec<f32> {
    let bytes = |x: &Vec<f32>| x.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let y = run_bytes(isa, DType::F32, inputs.iter().map(bytes).collect(), value);
    y.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn run_doubles(
    isa: Isa,
    inputs: &[Vec<f64>],
    value: impl FnOnce(&mut Kernel, &[ExprId]) -> ExprId,
) -> Vec<f64> {
    let bytes = |x: &Vec<f64>| x.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let y = run_bytes(isa, DType::F64, inputs.iter().map(bytes).collect(), value);
    y.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn functions_of_f64_keep_their_promise_in_machine_code() {
    for isa in levels() {
        let strided = (0..1u64 << 63).step_by((1 << 50) + 77_317).map(f64::from_bits);
        let usual = (0..8000).map(|n| (f64::from(n) + 0.618) / 100.0);
        let ends = [0.0, f64::NAN, f64::INFINITY, f64::MAX, f64::from_bits(1), 1.0, 0.5];
        let sorted: Vec<f64> = strided.chain(usual).chain(ends).flat_map(|x| [x, -x]).collect();
        let mixed = (0..sorted.len()).step_by(16).map(|n| sorted[n * 7919 % sorted.len()]);
        let x: Vec<f64> = sorted.iter().copied().chain(mixed).collect();
        for (kind, function) in UnaryKind::ALL.iter().filter_map(|k| Some((*k, Function::of(*k)?))) {
            let y = run_doubles(isa, std::slice::from_ref(&x), |k, v| k.unary(kind, v[0]));
            for (x, y) in x.iter().zip(&y) {
                let error = precise::distance(*y, precise::precisely(function, *x));
                assert!(
                    error <= function.max_ulp_double(),
                    "{}({x:e}) is {y:e}: {error:.3} ulp",
                    function.name()
                );
            }
        }
        let (a, b): (Vec<f64>, Vec<f64>) = x.iter().zip(x.iter().rev()).map(|(a, b)| (*a, b / 64.0)).unzip();
        let powers = run_doubles(isa, &[a.clone(), b.clone()], |k, v| k.binary(BinaryKind::Pow, v[0], v[1]));
        let angles =
            run_doubles(isa, &[a.clone(), b.clone()], |k, v| k.binary(BinaryKind::Atan2, v[0], v[1]));
        for (((a, b), power), angle) in a.iter().zip(&b).zip(powers).zip(angles) {
            // The library's own results are within a unit.
            let wrong = precise::distance(power, precise::Dd::of(a.powf(*b))) - 1.0;
            assert!(wrong <= math::double::POW_MAX_ULP, "pow({a:e}, {b:e}) is {power:e}: {wrong:.3} ulp");
            let wrong = precise::distance(angle, precise::Dd::of(a.atan2(*b))) - 1.0;
            assert!(wrong <= math::double::ATAN2_MAX_ULP, "atan2({a:e}, {b:e}) is {angle:e}: {wrong:.3} ulp");
        }
    }
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
    for isa in levels() {
        let x = sample();
        for (kind, function) in UnaryKind::ALL.iter().filter_map(|k| Some((*k, Function::of(*k)?))) {
            let y = run(isa, std::slice::from_ref(&x), |k, v| k.unary(kind, v[0]));
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
}

#[test]
fn division_by_a_constant_is_exact_in_machine_code() {
    let x = sample();
    // The one before the last is not proven, and the last a power of two.
    for (isa, divisor) in levels().flat_map(|isa| [1.1f32, -255.0, 0.229, 1e-5, 1.9, 0.5].map(|d| (isa, d))) {
        let y = run(isa, std::slice::from_ref(&x), |k, v| {
            let divisor = k.constant(Scalar::f32(divisor));
            k.binary(BinaryKind::Div, v[0], divisor)
        });
        for (x, found) in x.iter().zip(y) {
            let truth = x / divisor;
            let same = found.to_bits() == truth.to_bits() || found.is_nan() && truth.is_nan();
            assert!(same, "{x:e} / {divisor:e} is {truth:e}, not {found:e}");
        }
    }
}

/// The sine where the second operand is positive, the cosine elsewhere: a kernel that needs both.
fn either(k: &mut Kernel, v: &[ExprId]) -> ExprId {
    let zero = k.binary(BinaryKind::Sub, v[1], v[1]);
    let is_sine = k.compare(CompareKind::Lt, zero, v[1]);
    let (cosine, sine) = (k.unary(UnaryKind::Cos, v[0]), k.unary(UnaryKind::Sin, v[0]));
    k.add(Expr::Select(is_sine, sine, cosine))
}

#[test]
fn sine_and_cosine_of_one_number_keep_their_promise_in_machine_code() {
    for isa in levels() {
        let x = sample();
        for sine_first in [true, false] {
            let sign = |n: usize| if n.is_multiple_of(2) == sine_first { 1.0 } else { -1.0 };
            let which: Vec<f32> = (0..x.len()).map(sign).collect();
            let y = run(isa, &[x.clone(), which.clone()], either);
            for ((x, which), y) in x.iter().zip(&which).zip(&y) {
                let f = if *which > 0.0 { Function::Sin } else { Function::Cos };
                let error = ulp(*y, reference(f, *x));
                assert!(error <= f.max_ulp(), "{}({x:e}) is {y:e}: {error:.3} ulp", f.name());
            }
        }
        let x: Vec<f64> = (0..40_000).map(|n| (f64::from(n) * 0.37).powi(1 + n % 7) - 0.5).collect();
        let which: Vec<f64> = (0..x.len()).map(|n| if n.is_multiple_of(3) { 1.0 } else { -1.0 }).collect();
        let y = run_doubles(isa, &[x.clone(), which.clone()], either);
        for ((x, which), y) in x.iter().zip(&which).zip(&y) {
            let f = if *which > 0.0 { Function::Sin } else { Function::Cos };
            let error = precise::distance(*y, precise::precisely(f, *x));
            assert!(error <= f.max_ulp_double(), "{}({x:e}) is {y:e}: {error:.3} ulp", f.name());
        }
    }
}

#[test]
fn functions_of_two_keep_their_promise_in_machine_code() {
    for isa in levels() {
        for (kind, function) in [(BinaryKind::Pow, Binary::Pow), (BinaryKind::Atan2, Binary::Atan2)] {
            let (a, b): (Vec<f32>, Vec<f32>) = grid().chain(Pairs::new(function, 3).take(1_000_000)).unzip();
            let y = run(isa, &[a.clone(), b.clone()], |k, v| k.binary(kind, v[0], v[1]));
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
}
