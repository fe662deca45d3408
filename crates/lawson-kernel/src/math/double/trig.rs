//! The trigonometric functions: `sin`, `cos`, both at once, `tan`.
//!
//! `x` is reduced by a multiple of π (of π/2 for the tangent, and for sine and cosine together) in three parts, each a fused
//! multiplication; from [`LARGE`] on, which is rare, by [`turns`]. Then polynomials give the results.

use super::turns::{self, LARGE, Turns};
use super::{Double, polynomial};
use std::f64::consts::{FRAC_1_PI, FRAC_2_PI, PI};

/// π in three parts.
const PI_PARTS: [f64; 3] = [PI, 1.2246467991473532e-16, -2.9947698097183397e-33];

/// `(sin(r) - r) / r³` in `r²` for `r` up to π/2, highest power first.
const SIN_TAIL: [f64; 8] = [
    2.7211125975939897e-15,
    -7.642985986129064e-13,
    1.6058939513235679e-10,
    -2.505210686941908e-08,
    2.7557319211106477e-06,
    -0.00019841269841209088,
    0.008333333333333194,
    -0.16666666666666666,
];

/// The same for `r` up to π/4.
const SIN_TAIL_NEAR: [f64; 6] = [
    1.5895904899045328e-10,
    -2.505074231049274e-08,
    2.7557313587634704e-06,
    -0.00019841269829495533,
    0.008333333333322005,
    -0.1666666666666663,
];

/// `(cos(r) - 1) / r²` in `r²` for `r` up to π/4, highest power first.
const COS_TAIL_NEAR: [f64; 7] = [
    -1.1353044662639077e-11,
    2.087557737786288e-09,
    -2.7557313080158756e-07,
    2.480158728395242e-05,
    -0.0013888888888861726,
    0.04166666666666647,
    -0.5,
];

/// `(tan(r) - r) / r³` in `r²` for `r` up to π/4, highest power first.
const TAN_TAIL: [f64; 16] = [
    4.558970323670089e-06,
    -1.2694426531539447e-05,
    2.5993041068674554e-05,
    -1.864997866515766e-05,
    3.4482167260356904e-05,
    2.9409791156616076e-05,
    0.00010076807845641574,
    0.0002380156838642763,
    0.0005902651184994132,
    0.0014557973478279836,
    0.0035921321576796155,
    0.008863235214121912,
    0.021869488551899918,
    0.053968253967788295,
    0.13333333333334024,
    0.3333333333333333,
];

/// `x - n·π·unit`, for `unit` a power of two.
fn reduce<K: Double>(k: &mut K, x: K::F, n: K::F, unit: f64) -> K::F {
    PI_PARTS.iter().fold(x, |r, part| {
        let part = k.f(part * unit);
        k.fnma(n, part, r)
    })
}

/// `r + r³·tail(r²)`.
fn odd<K: Double>(k: &mut K, r: K::F, tail: &[f64]) -> K::F {
    let square = k.mul(r, r);
    let tail = polynomial(k, square, tail);
    let cube = k.mul(square, r);
    k.fma(cube, tail, r)
}

/// `sin(r + n·π)` for whole `n`.
fn sin_of_parts<K: Double>(k: &mut K, r: K::F, n: K::I) -> K::F {
    let sine = odd(k, r, &SIN_TAIL);
    let (one, minus_one) = (k.f(1.0), k.f(-1.0));
    // The polynomial may round beyond 1.
    let sine = k.min(one, sine);
    let sine = k.max(minus_one, sine);
    let sign = k.i_shl(n, 63);
    k.flip_sign(sine, sign)
}

/// The sine.
pub fn sin<K: Double>(k: &mut K, x: K::F) -> K::F {
    let (inverse, large) = (k.f(FRAC_1_PI), k.f(LARGE));
    let a = k.abs(x);
    let (n, bits) = k.nearest(a, inverse);
    let r = reduce(k, a, n, 1.0);
    let common = sin_of_parts(k, r, bits);
    let is_large = k.le(large, a);
    let [result] = k.if_any(is_large, [common], |k| {
        let Turns { r, n } = turns::half_turns(k, a, 0.0);
        [sin_of_parts(k, r, n)]
    });
    let sign = k.bits(x);
    k.flip_sign(result, sign)
}

/// The cosine, as the sine of `x + π/2`: `n` below is half a turn less than a multiple of π.
pub fn cos<K: Double>(k: &mut K, x: K::F) -> K::F {
    let (inverse, half, minus_half, one) = (k.f(FRAC_1_PI), k.f(0.5), k.f(-0.5), k.f(1.0));
    let large = k.f(LARGE);
    let a = k.abs(x);
    let halves = k.fma(a, inverse, half);
    let (n, bits) = k.nearest(halves, one);
    let n = k.add(n, minus_half);
    let r = reduce(k, a, n, 1.0);
    let common = sin_of_parts(k, r, bits);
    let is_large = k.le(large, a);
    let [result] = k.if_any(is_large, [common], |k| {
        let Turns { r, n } = turns::half_turns(k, a, 0.5);
        [sin_of_parts(k, r, n)]
    });
    result
}

/// `sin(r + n·π/2)` and `cos(r + n·π/2)` for whole `n`.
fn sin_cos_of_parts<K: Double>(k: &mut K, r: K::F, n: K::I) -> [K::F; 2] {
    let one = k.f(1.0);
    let sine = odd(k, r, &SIN_TAIL_NEAR);
    let square = k.mul(r, r);
    let tail = polynomial(k, square, &COS_TAIL_NEAR);
    let cosine = k.fma(square, tail, one);
    let (lowest, none) = (k.i(1), k.i(0));
    let parity = k.i_and(n, lowest);
    let even = k.i_eq(parity, none);
    let [sine, cosine] = [k.select(even, sine, cosine), k.select(even, cosine, sine)];
    // The sine is negative in the third and fourth quarter of a turn, the cosine in the second and third.
    let next = k.i_add(n, lowest);
    let (sine_sign, cosine_sign) = (k.i_shl(n, 62), k.i_shl(next, 62));
    [k.flip_sign(sine, sine_sign), k.flip_sign(cosine, cosine_sign)]
}

/// The sine and the cosine of one number: one reduction serves both.
pub fn sin_cos<K: Double>(k: &mut K, x: K::F) -> [K::F; 2] {
    let (inverse, large) = (k.f(FRAC_2_PI), k.f(LARGE));
    let a = k.abs(x);
    let (n, bits) = k.nearest(a, inverse);
    let r = reduce(k, a, n, 0.5);
    let common = sin_cos_of_parts(k, r, bits);
    let is_large = k.le(large, a);
    let [sine, cosine] = k.if_any(is_large, common, |k| {
        let Turns { r, n } = turns::quarter_turns(k, a);
        sin_cos_of_parts(k, r, n)
    });
    let sign = k.bits(x);
    [k.flip_sign(sine, sign), cosine]
}

/// `tan(r + n·π/2)` for whole `n`: of odd `n` it is `-1 / tan(r)`.
fn tan_of_parts<K: Double>(k: &mut K, r: K::F, n: K::I) -> K::F {
    let tangent = odd(k, r, &TAN_TAIL);
    let (one, minus_one) = (k.f(1.0), k.f(-1.0));
    let (lowest, none) = (k.i(1), k.i(0));
    let parity = k.i_and(n, lowest);
    let even = k.i_eq(parity, none);
    let (above, below) = (k.select(even, tangent, minus_one), k.select(even, one, tangent));
    k.div(above, below)
}

/// The tangent.
pub fn tan<K: Double>(k: &mut K, x: K::F) -> K::F {
    let (inverse, large) = (k.f(FRAC_2_PI), k.f(LARGE));
    let a = k.abs(x);
    let (n, bits) = k.nearest(a, inverse);
    let r = reduce(k, a, n, 0.5);
    let common = tan_of_parts(k, r, bits);
    let is_large = k.le(large, a);
    let [result] = k.if_any(is_large, [common], |k| {
        let Turns { r, n } = turns::quarter_turns(k, a);
        [tan_of_parts(k, r, n)]
    });
    let sign = k.bits(x);
    k.flip_sign(result, sign)
}
