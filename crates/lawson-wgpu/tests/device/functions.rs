//! The functions that are expansions, on a sample of all floats: within what they promise, as on every other target.

use crate::support::{gpu, run};
use lawson_graph::interp::Element;
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_graph::{DType, Dim, Facts};
use lawson_kernel::build::{loop_of, store};
use lawson_kernel::math::{ATAN2_MAX_ULP, Function, POW_MAX_ULP};
use lawson_kernel::{Expr, ExprId, Kernel, Kind};
use lawson_wgpu::{Capabilities, Floats, Fused, Gpu};

/// About a hundred thousand bit patterns, and the neighbours of every power of two.
fn sample() -> Vec<f32> {
    let strided = (0..=u32::MAX).step_by(42_023);
    let powers = (0..255u32).flat_map(|e| [(e << 23).saturating_sub(1), e << 23, (e << 23) + 1]);
    let specials = [f32::INFINITY.to_bits(), f32::NAN.to_bits()];
    let bits = strided.chain(powers).chain(specials).flat_map(|b| [b, b ^ 0x8000_0000]);
    bits.map(f32::from_bits).collect()
}

/// The distance in units in the last place of f32 at the true value.
fn units(found: f32, truth: f64) -> f64 {
    if truth.is_nan() || found.is_nan() {
        return if truth.is_nan() && found.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let end = f64::from(f32::MAX) + 2f64.powi(104);
    let (found, truth) = (f64::from(found).clamp(-end, end), truth.clamp(-end, end));
    let exponent = ((truth.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    (found - truth).abs() / 2f64.powi(exponent.clamp(-126, 127) - 23)
}

/// Runs `make(a, b)` for each pair.
fn on_device(
    gpu: &Gpu,
    pairs: &[(f32, f32)],
    make: impl FnOnce(&mut Kernel, ExprId, ExprId) -> ExprId,
) -> Vec<f32> {
    let n = [Dim::from(pairs.len() as i64)];
    let mut k = Kernel::new("function", Facts::new());
    let (a, b) = (k.input("a", DType::F32, &n), k.input("b", DType::F32, &n));
    let y = k.output("y", DType::F32, &n);
    let i = k.add_axis("i");
    let (a, b) = (k.load(a, vec![i.into()]), k.load(b, vec![i.into()]));
    let value = make(&mut k, a, b);
    k.body = vec![loop_of(i, 0, n[0].clone(), 1, Kind::Parallel, vec![store(y, vec![i.into()], value)])];
    let a: Vec<u8> = pairs.iter().flat_map(|p| p.0.to_le_bytes()).collect();
    let b: Vec<u8> = pairs.iter().flat_map(|p| p.1.to_le_bytes()).collect();
    let mut buffers = vec![a.clone(), b, a];
    run(gpu, &k, &[], &mut buffers).unwrap_or_else(|e| panic!("{e}"));
    buffers[2].chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect()
}

/// The oracle's value, which is that of f64.
fn truth(kind: UnaryKind, x: f32) -> f64 {
    match Element::Float(f64::from(x)).unary(kind, DType::F64) {
        Element::Float(y) => y,
        Element::Int(_) => f64::NAN,
    }
}

fn worst(gpu: &Gpu, kind: UnaryKind) -> (f64, f32, f32) {
    let xs = sample();
    let pairs: Vec<(f32, f32)> = xs.iter().map(|x| (*x, 0.0)).collect();
    let found = on_device(gpu, &pairs, |k, a, _| k.unary(kind, a));
    let mut worst = (0.0, 0.0, 0.0);
    for (x, y) in xs.into_iter().zip(found) {
        let error = units(y, truth(kind, x));
        if error > worst.0 {
            worst = (error, x, y);
        }
    }
    worst
}

#[test]
fn functions_of_one_float_keep_their_promise() {
    let mut broken = Vec::new();
    for (kind, function) in UnaryKind::ALL.iter().filter_map(|k| Some((*k, Function::of(*k)?))) {
        let (error, x, y) = worst(gpu(), kind);
        println!("{}: {error:.3} of {}", function.name(), function.max_ulp());
        if error > function.max_ulp() {
            broken.push(format!(
                "{}({x:e}) is {y:e}: {error:.3} units, not {}",
                function.name(),
                function.max_ulp()
            ));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn sine_and_cosine_of_one_float_keep_their_promise() {
    let which = |n: usize| if n.is_multiple_of(2) { 1.0 } else { -1.0 };
    let pairs: Vec<(f32, f32)> =
        sample().into_iter().enumerate().flat_map(|(n, x)| [(x, which(n)), (x, -which(n))]).collect();
    let found = on_device(gpu(), &pairs, |k, a, b| {
        let zero = k.f32(0.0);
        let is_sine = k.compare(CompareKind::Lt, zero, b);
        let (cosine, sine) = (k.unary(UnaryKind::Cos, a), k.unary(UnaryKind::Sin, a));
        k.add(Expr::Select(is_sine, sine, cosine))
    });
    for ((x, which), y) in pairs.into_iter().zip(found) {
        let (kind, f) =
            if which > 0.0 { (UnaryKind::Sin, Function::Sin) } else { (UnaryKind::Cos, Function::Cos) };
        let error = units(y, truth(kind, x));
        assert!(error <= f.max_ulp(), "{}({x:e}) is {y:e}: {error:.3} units", f.name());
    }
}

/// The error of a product is there to be seen, whether the device rounds once or the text puts it together.
#[test]
fn a_product_that_must_be_rounded_once_is() {
    let probe = on_device(gpu(), &[(1.0 + 2f32.powi(-12), -1.0 - 2f32.powi(-11))], |k, a, b| {
        k.add(Expr::Fma(a, a, b))
    });
    let expected = if gpu().capabilities().fused == Fused::Once { 2f32.powi(-24) } else { 0.0 };
    assert_eq!(probe, [expected]);
    // Both are far off where a product's error is lost.
    for (kind, function) in [(UnaryKind::Exp, Function::Exp), (UnaryKind::Tan, Function::Tan)] {
        let twice = Capabilities { fused: Fused::Twice, ..*gpu().capabilities() };
        let (error, x, y) = worst(&Gpu::new().unwrap().with_capabilities(twice), kind);
        assert!(error <= function.max_ulp(), "{}({x:e}) is {y:e}: {error:.3} units", kind.name());
    }
}

/// Quotients are put together from bits where a device would flush something on the way: here it does not, so both are the same.
#[test]
fn quotients_near_the_ends_of_the_range_are_those_of_numbers_far_from_them() {
    let flushing = Capabilities { flushes: true, ..*gpu().capabilities() };
    let gpu = Gpu::new().unwrap().with_capabilities(flushing);
    let ends =
        [0.0, 1e-45, 3e-42, 1e-38, 1.3e-38, 3e-30, 0.75, 1.0, 3.0, 1e20, 9e37, 2e38, f32::MAX, f32::INFINITY];
    let numbers: Vec<f32> = ends.iter().flat_map(|x| [*x, -*x]).chain([f32::NAN]).collect();
    let pairs: Vec<(f32, f32)> = numbers.iter().flat_map(|a| numbers.iter().map(|b| (*a, *b))).collect();
    let found = on_device(&gpu, &pairs, |k, a, b| k.binary(BinaryKind::Div, a, b));
    for ((a, b), y) in pairs.iter().zip(found) {
        let expected = a / b;
        let same = y.to_bits() == expected.to_bits() || y.is_nan() && expected.is_nan();
        // What is subnormal was rounded twice.
        let near =
            expected.is_subnormal() && (i64::from(y.to_bits()) - i64::from(expected.to_bits())).abs() <= 1;
        assert!(same || near, "{a:e} / {b:e} is {y:e}, not {expected:e}");
    }
}

/// Corrected or not, a quotient is the nearest number, and what is none stays that.
#[test]
fn quotients_and_roots_are_the_nearest_numbers_on_all_devices() {
    if gpu().capabilities().fused == Fused::Twice {
        return println!(
            "not run: a product is rounded twice on this device, so that quotients are what WGSL asks for"
        );
    }
    let special = [0.0, 1.0, 3.0, 255.0, 0.1, 1e-20, 1e20, 2.5, 0.019607844, f32::INFINITY, f32::NAN];
    let special = special.into_iter().flat_map(|x| [x, -x]);
    let mut pairs: Vec<(f32, f32)> =
        special.clone().flat_map(|a| special.clone().map(move |b| (a, b))).collect();
    let mut rng = lawson_graph::random::Rng::new(12);
    pairs.extend((0..20_000).map(|_| (rng.unit() as f32 + 0.5, (rng.unit() * 40.0 - 20.0).exp() as f32)));
    let all = [Floats::Told, Floats::Kept, Floats::Rearranged].into_iter();
    for floats in all.skip_while(|f| *f != gpu().capabilities().floats) {
        for rounds in [gpu().capabilities().rounds, false] {
            let as_if = Capabilities { floats, rounds, ..*gpu().capabilities() };
            let gpu = Gpu::new().unwrap().with_capabilities(as_if);
            let same = |x: f32, y: f32| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
            let found = on_device(&gpu, &pairs, |k, a, b| k.binary(BinaryKind::Div, a, b));
            for ((a, b), y) in pairs.iter().zip(found) {
                assert!(same(y, a / b), "{a:e} / {b:e} is {y:e}, not {:e}", a / b);
            }
            let found = on_device(&gpu, &pairs, |k, _, b| k.unary(UnaryKind::Sqrt, b));
            for ((_, b), y) in pairs.iter().zip(found) {
                assert!(same(y, b.sqrt()), "the root of {b:e} is {y:e}, not {:e}", b.sqrt());
            }
        }
    }
}

#[test]
fn powers_and_angles_keep_their_promise() {
    let mut rng = lawson_graph::random::Rng::new(11);
    let special =
        [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e30, -7.5];
    let mut pairs: Vec<(f32, f32)> = special.iter().flat_map(|a| special.map(|b| (*a, b))).collect();
    for _ in 0..20_000 {
        let a = (rng.unit() * 40.0 - 20.0).exp() as f32;
        pairs.push((a, (rng.unit() * 60.0 - 30.0) as f32));
        pairs.push((-a, (rng.unit() * 9.0) as f32 - 4.0));
    }
    for (kind, most) in [(BinaryKind::Pow, POW_MAX_ULP), (BinaryKind::Atan2, ATAN2_MAX_ULP)] {
        let found = on_device(gpu(), &pairs, |k, a, b| k.binary(kind, a, b));
        for ((a, b), y) in pairs.iter().zip(found) {
            let (x, z) = (Element::Float(f64::from(*a)), Element::Float(f64::from(*b)));
            let Element::Float(truth) = x.binary(kind, z, DType::F64) else { panic!("a float") };
            let error = units(y, truth);
            assert!(error <= most, "{}({a:e}, {b:e}) is {y:e}, not {truth:e}: {error:.3} units", kind.name());
        }
    }
}
