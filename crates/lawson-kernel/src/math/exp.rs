//! The exponential family: `exp`, `exp2`, `expm1`, `sigmoid`, `sinh`, `cosh`.
//!
//! All reduce `x = n·ln2 + r` with whole `n` and `|r| <= ln2 / 2`, take a minimax polynomial of degree 6 in `r`, and
//! multiply by `2^n`. Arguments are clamped first to where results leave the range of f32.

use super::{Arithmetic, polynomial};

const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 rounded to f32, and what it lacks.
const LN_2: (f32, f32) = (std::f32::consts::LN_2, -1.904_654_3e-9);

/// `(e^r - 1 - r) / r²` for `|r| <= ln2 / 2`, highest power first; e^r is then within 2^-28.
const EXP_TAIL: [f32; 5] = [1.381_837_6e-3, 8.368_541e-3, 4.166_829_2e-2, 1.666_652_3e-1, 4.999_999_4e-1];

/// `(r, n)` with `x = n·ln2 + r`, for `|x|` up to some hundreds.
fn reduce<K: Arithmetic>(k: &mut K, x: K::F) -> (K::F, (K::F, K::I)) {
    let log2_e = k.f(LOG2_E);
    let (high, low) = (k.f(LN_2.0), k.f(LN_2.1));
    let n = k.nearest(x, log2_e);
    let r = k.fnma(n.0, high, x);
    (k.fnma(n.0, low, r), n)
}

/// `x` brought into `low ..= high`; NaN stays.
fn clamp<K: Arithmetic>(k: &mut K, x: K::F, low: f32, high: f32) -> K::F {
    let (low, high) = (k.f(low), k.f(high));
    let x = k.max(low, x);
    k.min(high, x)
}

/// `e^r` for the `r` of [`reduce`].
fn exp_reduced<K: Arithmetic>(k: &mut K, r: K::F) -> K::F {
    let one = k.f(1.0);
    let tail = polynomial(k, r, &EXP_TAIL);
    let p = k.fma(tail, r, one);
    k.fma(p, r, one)
}

/// `e^x`.
pub fn exp<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    // e^-104 rounds to 0, e^89 to infinity.
    let x = clamp(k, x, -104.0, 89.0);
    let (r, (n, _)) = reduce(k, x);
    let p = exp_reduced(k, r);
    k.scale(p, n)
}

/// `e^x / (e^x + 1)`, which is `1 / (1 + e^-x)`, overflows nowhere and keeps its relative accuracy down to the
/// subnormals.
pub fn sigmoid<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    // From 18 on it rounds to 1.
    let x = clamp(k, x, -104.0, 18.0);
    let (r, (n, _)) = reduce(k, x);
    let p = exp_reduced(k, r);
    let power = k.scale(p, n);
    fraction(k, power)
}

/// `h / (h + 1)` for `h` from 0 to 2^30.
///
/// The quotient is corrected by what it leaves of `h`, taken without the rounding of `h + 1`.
fn fraction<K: Arithmetic>(k: &mut K, h: K::F) -> K::F {
    let one = k.f(1.0);
    let sum = k.add(h, one);
    let inverse = k.reciprocal_estimate(sum);
    let quotient = k.mul(h, inverse);
    let rest = k.sub(h, quotient);
    let rest = k.fnma(quotient, h, rest);
    k.fma(rest, inverse, quotient)
}

/// The hyperbolic tangent: `h / (h + 1)` with `h = (e^(2|x|) - 1) / 2`, which does not cancel, and the sign of `x`.
pub fn tanh<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    /// `(e^(2r) - 1 - 2r) / 2r²`
    const TAIL: [f32; 5] =
        [32.0 * EXP_TAIL[0], 16.0 * EXP_TAIL[1], 8.0 * EXP_TAIL[2], 4.0 * EXP_TAIL[3], 2.0 * EXP_TAIL[4]];
    // From here on it rounds to 1.
    let end = k.f(9.02);
    let a = k.abs(x);
    let a = k.min(end, a);
    // a = n·ln2/2 + r. What ln2 lacks is not felt: the greater n, the less h matters.
    let (inverse, half_ln_2) = (k.f(2.0 * LOG2_E), k.f(LN_2.0 / 2.0));
    let n = k.nearest(a, inverse);
    let r = k.fnma(n.0, half_ln_2, a);
    let tail = polynomial(k, r, &TAIL);
    let square = k.mul(r, r);
    let h_of_r = k.fma(square, tail, r);
    let power = k.power_of_two(n);
    let (half, minus_half) = (k.f(0.5), k.f(-0.5));
    let h_of_n = k.fma(power, half, minus_half);
    let h = k.fma(power, h_of_r, h_of_n);
    let magnitude = fraction(k, h);
    k.or_sign(magnitude, x)
}
