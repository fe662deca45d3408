//! Division by constants without dividing, against division.
#![allow(clippy::unwrap_used)]

use lawson_kernel::math::{Reciprocal, Scalar, divide_by};

/// Constants that programs divide by, and both ends of what is taken.
const DIVISORS: [f32; 18] = [
    1.1,
    3.0,
    10.0,
    255.0,
    127.5,
    0.229,
    0.224,
    0.225,
    0.1,
    7.0,
    768.0,
    1e-5,
    6.0,
    49.0,
    0.577_350_3,
    std::f32::consts::PI,
    9.6e-7,
    1e12,
];

fn check(x: f32, divisor: f32, by: &Reciprocal) {
    let (found, truth) = (divide_by(&mut Scalar, x, by), x / divisor);
    let same = found.to_bits() == truth.to_bits() || found.is_nan() && truth.is_nan();
    assert!(same, "{x:e} / {divisor:e} is {truth:e}, not {found:e}");
}

/// A quotient's last bit depends on the numerator's significand alone, as long as nothing is subnormal.
#[test]
fn every_significand_is_divided_exactly() {
    for divisor in DIVISORS {
        let by = Reciprocal::of(divisor).unwrap();
        for significand in 0..1 << 23 {
            check(f32::from_bits(0x3f80_0000 | significand), divisor, &by);
        }
    }
}

#[test]
fn numbers_of_all_magnitudes_are_divided_exactly_by_either_sign() {
    let powers = (0..256u32).flat_map(|e| (0..9u32).map(move |d| ((e << 23) + d).saturating_sub(4)));
    let numbers: Vec<f32> = (0..=u32::MAX).step_by(10_007).chain(powers).map(f32::from_bits).collect();
    for divisor in DIVISORS.into_iter().flat_map(|d| [d, -d]) {
        let by = Reciprocal::of(divisor).unwrap();
        for &x in numbers.iter().flat_map(|x| [x, &f32::INFINITY, &f32::MAX]) {
            check(x, divisor, &by);
            check(-x, divisor, &by);
        }
    }
}

/// Those that are not proven are refused; most are proven, and what is said of them holds.
#[test]
fn constants_are_taken_when_they_are_proven() {
    let mut state = 12345u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 41) as u32
    };
    let tried = 20_000;
    let taken: Vec<f32> = (0..tried)
        .map(|_| f32::from_bits(0x3f80_0000 | random()))
        .filter(|&divisor| Reciprocal::of(divisor).is_some())
        .collect();
    assert!((0.9..0.96).contains(&(taken.len() as f64 / f64::from(tried))), "{} are taken", taken.len());
    for divisor in taken.into_iter().take(2000) {
        let by = Reciprocal::of(divisor).unwrap();
        (0..1000).for_each(|_| check(f32::from_bits(0x3f80_0000 | random()), divisor, &by));
    }
    // Of 1.9, one numerator's quotient would come out wrong.
    assert_eq!(Reciprocal::of(1.9), None);
    for other in
        [0.0, -0.0, 1.0, 0.25, -64.0, f32::NAN, f32::INFINITY, f32::MAX, f32::MIN_POSITIVE, 1e-44, 1e30]
    {
        assert_eq!(Reciprocal::of(other), None, "{other}");
    }
}
