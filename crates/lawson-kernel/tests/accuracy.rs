//! Every expansion against f64, on a sample of all f32: within what [`Function::max_ulp`] promises. The `ulp` example
//! takes all 2^32.

mod support;

use lawson_kernel::math::{self, Arithmetic, Function, Scalar};
use support::count::{Hooks, count};
use support::imitation::{Avx2, Avx512};
use support::pairs::{Binary, Pairs, grid};
use support::reference::reference;
use support::ulp;

/// Every 4099th bit pattern, every power of two with its neighbours, and the neighbourhoods of the borders inside the
/// expansions.
fn sample() -> impl Iterator<Item = f32> {
    const BORDERS: [f32; 24] = [
        0.0, 0.25, 0.35, 0.5, 0.57, 0.75, 1.0, 1.5, 2.0, 3.92, 9.02, 10.1, 17.4, 18.0, 19.0, 87.34, 88.38,
        88.73, 89.4, 103.3, 104.0, 126.0, 128.0, 150.0,
    ];
    let strided = (0..=u32::MAX).step_by(4099);
    let powers = (0..256).flat_map(|e| around(f32::from_bits(e << 23), 4));
    let borders = BORDERS.into_iter().flat_map(|x| around(x, 2000));
    let nan = [f32::NAN, f32::INFINITY].map(f32::to_bits);
    strided.chain(powers).chain(borders).chain(nan).flat_map(|bits| {
        let x = f32::from_bits(bits);
        [x, -x]
    })
}

/// The bit patterns of the f32 next to `x`.
fn around(x: f32, distance: u32) -> std::ops::RangeInclusive<u32> {
    x.to_bits().saturating_sub(distance)..=x.to_bits() + distance
}

/// Asserts that no point of the sample is further off than promised.
fn check<K: Arithmetic<F = f32>>(function: Function, mut k: K) {
    let mut worst = (0.0, 0.0f32, 0.0f32, 0.0);
    for x in sample() {
        let found = function.expand(&mut k, x);
        let truth = reference(function, x);
        let error = ulp(found, truth);
        if error > worst.0 {
            worst = (error, x, found, truth);
        }
    }
    let (error, x, found, truth) = worst;
    assert!(
        error <= function.max_ulp(),
        "{}({x:e}) is {found:e}, not {truth:e}: {error:.3} ulp, promised {}",
        function.name(),
        function.max_ulp()
    );
}

#[test]
fn portable_expansions_keep_their_promise() {
    for &function in Function::ALL {
        check(function, Scalar);
    }
}

#[test]
fn expansions_with_avx2_instructions_keep_their_promise() {
    for &function in Function::ALL {
        check(function, Avx2);
    }
}

#[test]
fn expansions_with_avx512_instructions_keep_their_promise() {
    for &function in Function::ALL {
        check(function, Avx512);
    }
}

fn check_pairs<K: Arithmetic<F = f32>>(function: Binary, mut k: K) {
    for (a, b) in grid().chain(Pairs::new(function, 1).take(1_000_000)) {
        let found = function.expand(&mut k, a, b);
        let truth = function.reference(a, b);
        let error = ulp(found, truth);
        assert!(
            error <= function.max_ulp(),
            "{}({a:e}, {b:e}) is {found:e}, not {truth:e}: {error:.3} ulp",
            function.name()
        );
    }
}

#[test]
fn functions_of_two_arguments_keep_their_promise() {
    for function in Binary::ALL {
        check_pairs(function, Scalar);
        check_pairs(function, Avx512);
    }
}

#[test]
fn results_stay_in_the_range_of_the_function() {
    let bounded = [
        (Function::Tanh, -1.0..=1.0),
        (Function::Erf, -1.0..=1.0),
        (Function::Sin, -1.0..=1.0),
        (Function::Cos, -1.0..=1.0),
        (Function::Sigmoid, 0.0..=1.0),
        (Function::Exp, 0.0..=f32::INFINITY),
    ];
    for (function, range) in bounded {
        for x in sample() {
            let results = [function.expand(&mut Scalar, x), function.expand(&mut Avx512, x)];
            for y in results.into_iter().filter(|y| !y.is_nan()) {
                assert!(range.contains(&y), "{}({x:e}) is {y:e}", function.name());
            }
        }
    }
}

#[test]
fn gelu_is_within_its_absolute_bound() {
    for x in sample().filter(|x| x.is_finite()) {
        let truth = f64::from(x)
            * 0.5
            * (1.0 + support::reference::erf(f64::from(x) * std::f64::consts::FRAC_1_SQRT_2));
        let bound = 3.0 * 2f64.powi(-24) * f64::from(x.abs()).max(1.0);
        for found in [math::gelu(&mut Scalar, x), math::gelu(&mut Avx512, x)] {
            assert!((f64::from(found) - truth).abs() <= bound, "gelu({x:e}) is {found:e}, not {truth:e}");
        }
    }
}

#[test]
fn the_functions_of_inner_loops_stay_short() {
    let budgets = [
        (Function::Exp, 12),
        (Function::Exp2, 11),
        (Function::Log, 16),
        (Function::Sigmoid, 18),
        (Function::Tanh, 20),
        (Function::Erf, 20),
        (Function::Sin, 17),
        (Function::Cos, 18),
    ];
    for (function, budget) in budgets {
        let operations = count(Hooks::Avx512, 1, |k, x| function.expand(k, x[0])).common;
        assert!(operations <= budget, "{} takes {operations} operations", function.name());
    }
}

#[test]
fn the_documented_tables_state_every_promise() {
    let document = include_str!("../../../docs/accuracy.md");
    let one = Function::ALL.iter().map(|f| (f.name(), f.max_ulp()));
    let two = Binary::ALL.iter().map(|f| (f.name(), f.max_ulp()));
    for (name, promised) in one.chain(two) {
        let start = format!("| {name} | {promised} |");
        assert!(
            document.lines().any(|line| line.starts_with(&start)),
            "docs/accuracy.md has no line {start}"
        );
    }
}
