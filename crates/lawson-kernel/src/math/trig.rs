//! The trigonometric functions: `sin`, `cos`, both at once, `tan`.
//!
//! Up to [`FAST`], `x` is reduced by a multiple of π (of π/2 for the tangent, and for sine and cosine together) in three parts, each a
//! fused multiplication; beyond, which is rare, by [`turns`]. Then polynomials give the results.

use super::turns::{self, Turns};
use super::{Arithmetic, polynomial};
use std::f32::consts::{FRAC_1_PI, FRAC_2_PI, PI};

/// Up to here the fast reduction is exact enough.
const FAST: f32 = 131_072.0;

/// π in three parts.
const PI_PARTS: [f32; 3] = [PI, -8.742_278e-8, -3.430_249e-15];

/// `(sin(r) - r) / r³` in `r²` for `r` up to π/2, highest power first, such that no sine rounds beyond 1.
const SIN_TAIL: [f32; 4] = [2.602_810_6e-6, -1.980_881_6e-4, 8.333_07e-3, -1.666_666_1e-1];

/// The same for `r` up to π/4.
const SIN_TAIL_NEAR: [f32; 3] = [-1.951_789_7e-4, 8.332_187e-3, -1.666_665_5e-1];

/// `(cos(r) - 1) / r²` in `r²` for `r` up to π/4, highest power first.
const COS_TAIL_NEAR: [f32; 3] = [-1.359_101_7e-3, 4.165_571_6e-2, -4.999_988_4e-1];

/// `(tan(r) - r) / r³` in `r²` for `r` up to π/4, highest power first.
const TAN_TAIL: [f32; 7] = [
    4.425_133_6e-3,
    1.067_007_1e-5,
    1.087_792_8e-2,
    2.127_617_4e-2,
    5.405_829_5e-2,
    1.333_271_6e-1,
    3.333_334_6e-1,
];

/// `x - n·π·unit`, for `unit` a power of two.
fn reduce<K: Arithmetic>(k: &mut K, x: K::F, n: K::F, unit: f32) -> K::F {
    PI_PARTS.iter().fold(x, |r, part| {
        let part = k.f(part * unit);
        k.fnma(n, part, r)
    })
}

/// `r + r³·tail(r²)`.
fn odd<K: Arithmetic>(k: &mut K, r: K::F, tail: &[f32]) -> K::F {
    let square = k.mul(r, r);
    let tail = polynomial(k, square, tail);
    let cube = k.mul(square, r);
    k.fma(cube, tail, r)
}

/// `sin(r + n·π)` for whole `n`.
fn sin_of_parts<K: Arithmetic>(k: &mut K, r: K::F, n: K::I) -> K::F {
    let magnitude = odd(k, r, &SIN_TAIL);
    let sign = k.i_shl(n, 31);
    k.flip_sign(magnitude, sign)
}

/// The sine.
pub fn sin<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let (inverse, fast) = (k.f(FRAC_1_PI), k.f(FAST));
    let a = k.abs(x);
    let (n, integer) = k.nearest(a, inverse);
    let r = reduce(k, a, n, 1.0);
    let common = sin_of_parts(k, r, integer);
    let is_large = k.lt(fast, a);
    let [result] = k.if_any(is_large, [common], |k| {
        let Turns { r, n } = turns::half_turns(k, a, 0.0);
        [sin_of_parts(k, r, n)]
    });
    let sign = k.bits(x);
    k.flip_sign(result, sign)
}

/// The cosine, as the sine of `x + π/2`: `n` below is half a turn less than a multiple of π.
pub fn cos<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let (inverse, half, minus_half, one) = (k.f(FRAC_1_PI), k.f(0.5), k.f(-0.5), k.f(1.0));
    let fast = k.f(FAST);
    let a = k.abs(x);
    let halves = k.fma(a, inverse, half);
    let (n, integer) = k.nearest(halves, one);
    let n = k.add(n, minus_half);
    let r = reduce(k, a, n, 1.0);
    let common = sin_of_parts(k, r, integer);
    let is_large = k.lt(fast, a);
    let [result] = k.if_any(is_large, [common], |k| {
        let Turns { r, n } = turns::half_turns(k, a, 0.5);
        [sin_of_parts(k, r, n)]
    });
    result
}

/// `sin(r + n·π/2)` and `cos(r + n·π/2)` for whole `n`.
fn sin_cos_of_parts<K: Arithmetic>(k: &mut K, r: K::F, n: K::I) -> [K::F; 2] {
    let one = k.f(1.0);
    let square = k.mul(r, r);
    let tail = polynomial(k, square, &SIN_TAIL_NEAR);
    let cube = k.mul(square, r);
    let sine = k.fma(cube, tail, r);
    let tail = polynomial(k, square, &COS_TAIL_NEAR);
    let cosine = k.fma(square, tail, one);
    let [sine, cosine] = k.swap_where_odd(n, [sine, cosine]);
    // The sine is negative in the third and fourth quarter of a turn, the cosine in the second and third.
    let step = k.i(1);
    let next = k.i_add(n, step);
    let (sine_sign, cosine_sign) = (k.i_shl(n, 30), k.i_shl(next, 30));
    [k.flip_sign(sine, sine_sign), k.flip_sign(cosine, cosine_sign)]
}

/// The sine and the cosine of one number: one reduction serves both.
pub fn sin_cos<K: Arithmetic>(k: &mut K, x: K::F) -> [K::F; 2] {
    let (inverse, fast) = (k.f(FRAC_2_PI), k.f(FAST));
    let a = k.abs(x);
    let (n, integer) = k.nearest(a, inverse);
    let r = reduce(k, a, n, 0.5);
    let common = sin_cos_of_parts(k, r, integer);
    let is_large = k.lt(fast, a);
    let [sine, cosine] = k.if_any(is_large, common, |k| {
        let Turns { r, n } = turns::quarter_turns(k, a);
        sin_cos_of_parts(k, r, n)
    });
    let sign = k.bits(x);
    [k.flip_sign(sine, sign), cosine]
}

/// `tan(r + n·π/2)` for whole `n`: of odd `n` it is `-1 / tan(r)`.
fn tan_of_parts<K: Arithmetic>(k: &mut K, r: K::F, n: K::I) -> K::F {
    let tangent = odd(k, r, &TAN_TAIL);
    let (one, minus_one) = (k.f(1.0), k.f(-1.0));
    let (lowest, none) = (k.i(1), k.i(0));
    let parity = k.i_and(n, lowest);
    let even = k.i_eq(parity, none);
    let (above, below) = (k.select(even, tangent, minus_one), k.select(even, one, tangent));
    k.quotient(above, below)
}

/// The tangent.
pub fn tan<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let (inverse, fast) = (k.f(FRAC_2_PI), k.f(FAST));
    let a = k.abs(x);
    let (n, integer) = k.nearest(a, inverse);
    let r = reduce(k, a, n, 0.5);
    let common = tan_of_parts(k, r, integer);
    let is_large = k.lt(fast, a);
    let [result] = k.if_any(is_large, [common], |k| {
        let Turns { r, n } = turns::quarter_turns(k, a);
        [tan_of_parts(k, r, n)]
    });
    let sign = k.bits(x);
    k.flip_sign(result, sign)
}
