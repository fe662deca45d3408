//! Every expansion against f64, on a sample of all f32: within what [`Function::max_ulp`] promises. The `ulp` example
//! takes all 2^32.

mod support;

use lawson_kernel::math::double::DoubleScalar;
use lawson_kernel::math::{self, Arithmetic, Function, Lanes, Scalar};
use support::count::{Hooks, count};
use support::imitation::{Avx2, Avx512};
use support::pairs::{Binary, Pairs, grid};
use support::precise;
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
fn expansions_with_avx2_instructions_and_without_tables_keep_their_promise() {
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

/// Asserts the same of a function that is half of a pair.
fn check_half<F: Copy + std::fmt::LowerExp>(
    name: &str,
    promised: f64,
    sample: impl Iterator<Item = F>,
    error: impl Fn(F) -> f64,
) {
    let mut worst = (0.0, None);
    for x in sample {
        let error = error(x);
        if error > worst.0 {
            worst = (error, Some(x));
        }
    }
    if let (error, Some(x)) = worst {
        println!("| {name} | {promised} | {error:.3} | {x:e} |");
        assert!(error <= promised, "{name} of {x:e}: {error:.3} ulp, promised {promised}");
    }
}

#[test]
fn sine_and_cosine_together_keep_the_promise_of_each() {
    fn check<K: Arithmetic<F = f32> + Copy>(k: K, name: &str) {
        let worst = |n: usize, f: Function| {
            check_half(&format!("{} of sin_cos, {name}", f.name()), f.max_ulp(), sample(), |x| {
                let mut k = k;
                let found = math::sin_cos(&mut k, x)[n];
                assert!(found.is_nan() || found.abs() <= 1.0, "{} of {x:e} is {found:e}", f.name());
                ulp(found, reference(f, x))
            });
        };
        worst(0, Function::Sin);
        worst(1, Function::Cos);
    }
    check(Scalar, "portable");
    check(Avx2, "AVX2");
    check(Avx512, "AVX-512");
    for (n, f) in [(0, Function::Sin), (1, Function::Cos)] {
        check_half(&format!("{} of sin_cos of f64", f.name()), f.max_ulp_double(), doubles(), |x| {
            let found = math::double::sin_cos(&mut DoubleScalar, x)[n];
            assert!(found.is_nan() || found.abs() <= 1.0, "{} of {x:e} is {found:e}", f.name());
            precise::distance(found, precise::precisely(f, x))
        });
    }
}

/// f64 of all magnitudes, of those that functions are mostly given, and next to the borders inside the expansions.
fn doubles() -> impl Iterator<Item = f64> {
    const BORDERS: [f64; 26] = [
        0.0,
        1e-17,
        1.1e-16,
        1e-8,
        0.25,
        0.35,
        0.4142135623730951,
        0.5,
        0.75,
        1.0,
        1.5,
        2.25,
        2.414213562373095,
        6.0,
        19.0,
        20.0,
        37.0,
        38.0,
        709.78,
        710.0,
        710.47,
        745.1,
        746.0,
        1024.0,
        8_589_934_592.0,
        1e17,
    ];
    let strided = (0..1u64 << 63).step_by((1 << 49) + 98_317).map(f64::from_bits);
    let usual = [1.0, 4.0, 40.0, 800.0, 1e5, 1e10]
        .into_iter()
        .flat_map(|end: f64| (0..4000).map(move |n| end * (f64::from(n) + 0.618) / 4000.0));
    let borders = BORDERS
        .into_iter()
        .flat_map(|x| (x.to_bits().saturating_sub(100)..=x.to_bits() + 100).map(f64::from_bits));
    // Next to multiples of π/2, where sines vanish.
    let turns = (1..2000).map(|n| f64::from(n) * std::f64::consts::FRAC_PI_2);
    let ends = [f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1)];
    strided.chain(usual).chain(borders).chain(turns).chain(ends).flat_map(|x| [x, -x])
}

/// Pairs of f64 whose power is mostly in range, and the cases that IEEE 754 lists.
fn double_pairs() -> impl Iterator<Item = (f64, f64)> {
    let random = Pairs::new(Binary::Pow, 5).take(100_000);
    let mixed = random.map(|(a, b)| (f64::from(a) * (1.0 + f64::EPSILON * 12345.0), f64::from(b) * 7.1));
    let wide = Pairs::new(Binary::Pow, 6).take(20_000);
    // Numbers of few bits.
    let least = (0..64u64).flat_map(|a| (0..64u64).map(move |b| (f64::from_bits(a), f64::from_bits(b))));
    grid().map(|(a, b)| (f64::from(a), f64::from(b))).chain(least).chain(mixed).chain(wide.map(|(a, b)| {
        let (a, b) = (f64::from(a), f64::from(b));
        (a.powi(7), b / 7.0)
    }))
}

#[test]
fn powers_and_angles_of_f64_keep_their_promise() {
    let (mut power, mut angle) = (0.0f64, 0.0f64);
    for (a, b) in double_pairs() {
        let found = math::double::pow(&mut DoubleScalar, a, b);
        let truth = a.powf(b);
        let plain = a > 0.0 && a.is_finite() && b.is_finite() && truth.is_normal();
        let truth = if plain { precise::power(a, b) } else { precise::Dd::of(truth) };
        let slack = if plain { 0.0 } else { 1.0 };
        let error = precise::distance(found, truth) - slack;
        assert!(
            error <= math::double::POW_MAX_ULP,
            "pow({a:e}, {b:e}) is {found:e}, not {:e}: {error:.3} ulp",
            truth.0
        );
        power = power.max(error);
        let found = math::double::atan2(&mut DoubleScalar, a, b);
        let truth = a.atan2(b);
        let plain = a > 0.0
            && b > 0.0
            && truth.is_normal()
            && a.is_normal()
            && b.is_normal()
            && b.is_finite()
            && a / b < 1e200;
        let truth = if plain && (1e-200..1e200).contains(&(a / b)) {
            precise::angle(a, b)
        } else {
            precise::Dd::of(truth)
        };
        let error = precise::distance(found, truth) - if plain { 0.0 } else { 1.0 };
        assert!(
            error <= math::double::ATAN2_MAX_ULP,
            "atan2({a:e}, {b:e}) is {found:e}, not {:e}: {error:.3} ulp",
            truth.0
        );
        angle = angle.max(error);
    }
    println!("| pow | {power:.3} |\n| atan2 | {angle:.3} |");
}

#[test]
fn expansions_for_f64_keep_their_promise() {
    let mut failures = Vec::new();
    for &function in Function::ALL {
        let mut worst = (0.0, 0.0f64, 0.0f64);
        for x in doubles() {
            let found = function.expand_double(&mut DoubleScalar, x);
            let error = precise::distance(found, precise::precisely(function, x));
            if error > worst.0 {
                worst = (error, x, found);
            }
        }
        let (error, x, found) = worst;
        println!("| {} | {} | {error:.3} | {x:e} |", function.name(), function.max_ulp_double());
        if error > function.max_ulp_double() {
            failures.push(format!(
                "{}({x:e}) is {found:e}, not {:e}: {error:.3} ulp",
                function.name(),
                precise::precisely(function, x).0
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
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
    let together = count(Hooks::Avx512, 1, |k, x| {
        let [sine, cosine] = math::sin_cos(k, x[0]);
        k.add(sine, cosine)
    });
    // One of them is the sum.
    assert!(together.common <= 28, "sine and cosine take {} operations", together.common);
}

#[test]
fn the_documented_tables_state_every_promise() {
    let document = include_str!("../../../docs/accuracy.md");
    let one = Function::ALL.iter().map(|f| (f.name(), f.max_ulp()));
    let two = Binary::ALL.iter().map(|f| (f.name(), f.max_ulp()));
    let double = Function::ALL.iter().map(|f| (f.name(), f.max_ulp_double()));
    let double_two = [("pow", math::double::POW_MAX_ULP), ("atan2", math::double::ATAN2_MAX_ULP)];
    let of = |dtype: &'static str| move |(name, promised): (&'static str, f64)| (dtype, name, promised);
    let single = one.chain(two).map(of("f32"));
    for (dtype, name, promised) in single.chain(double.chain(double_two).map(of("f64"))) {
        let start = if dtype == "f32" {
            format!("| {name} | {promised} |")
        } else {
            format!("| {name} of f64 | {promised} |")
        };
        assert!(
            document.lines().any(|line| line.starts_with(&start)),
            "docs/accuracy.md has no line {start}"
        );
    }
}
