//! The exponentials and what is made of them: `exp`, `exp2`, `expm1`, `sigmoid`, `tanh`, `sinh`, `cosh`.
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

/// `n - 1`
fn less_one<K: Arithmetic>(k: &mut K, n: (K::F, K::I)) -> (K::F, K::I) {
    let (one, integer_one) = (k.f(1.0), k.i(1));
    (k.sub(n.0, one), k.i_sub(n.1, integer_one))
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
    let (r, n) = reduce(k, x);
    let p = exp_reduced(k, r);
    k.scale(p, n)
}

/// `2^r` for `|r| <= 1/2`, highest power first, within 2^-27; the last coefficient is 1.
pub(super) const EXP2: [f32; 7] =
    [1.582_386_5e-4, 1.341_774_7e-3, 9.617_065e-3, 5.550_272_8e-2, 2.402_265_5e-1, 6.931_472_4e-1, 1.0];

/// `2^x`.
pub fn exp2<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let x = clamp(k, x, -151.0, 129.0);
    let one = k.f(1.0);
    let n = k.nearest(x, one);
    let r = k.sub(x, n.0);
    let p = polynomial(k, r, &EXP2);
    k.scale(p, n)
}

/// `e^x - 1`: with `g = e^r - 1` it is `2^n·g + (2^n - 1)`.
///
/// Computed at half its size, because `2^128` is no f32; that would cost the smallest numbers their last bit, and zeros their
/// sign, so these are their own result.
pub fn expm1<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    // From -18 down it rounds to -1.
    let bounded = clamp(k, x, -18.0, 89.0);
    let (r, n) = reduce(k, bounded);
    let tail = polynomial(k, r, &EXP_TAIL);
    let square = k.mul(r, r);
    let g = k.fma(square, tail, r);
    let minus_half = k.f(-0.5);
    let below = less_one(k, n);
    let half_power = k.power_of_two(below);
    let constant = k.add(half_power, minus_half);
    let half = k.fma(half_power, g, constant);
    let result = k.add(half, half);
    let (magnitude, tiny) = (k.abs(x), k.f(TINY));
    let is_tiny = k.lt(magnitude, tiny);
    k.select(is_tiny, x, result)
}

/// Below this magnitude a function `x + c·x² + …` with `|c| <= 1/2` rounds to `x`, or to its neighbour from less than a
/// unit away.
const TINY: f32 = 5.960_464_5e-8;

/// `e^|x| / 2` and `e^-|x| / 2`.
fn halves<K: Arithmetic>(k: &mut K, x: K::F) -> (K::F, K::F) {
    let end = k.f(90.0);
    let a = k.abs(x);
    let a = k.min(end, a);
    let (r, n) = reduce(k, a);
    let p = exp_reduced(k, r);
    let below = less_one(k, n);
    let grown = k.scale(p, below);
    // Where this bound is felt, the other half is not.
    let (quarter, bound) = (k.f(0.25), k.f(1e15));
    let bounded = k.min(bound, grown);
    let shrunk = k.quotient(quarter, bounded);
    (grown, shrunk)
}

/// The hyperbolic cosine.
pub fn cosh<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let (grown, shrunk) = halves(k, x);
    k.add(grown, shrunk)
}

/// The hyperbolic sine; up to 1, where the halves cancel, an odd polynomial.
pub fn sinh<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    /// `(sinh(x) - x) / x³` in `x²`.
    const TAIL: [f32; 4] = [2.776_058_6e-6, 1.984_387_3e-4, 8.333_307e-3, 1.666_666_7e-1];
    let (grown, shrunk) = halves(k, x);
    let large = k.sub(grown, shrunk);
    let (a, one) = (k.abs(x), k.f(1.0));
    let square = k.mul(a, a);
    let tail = polynomial(k, square, &TAIL);
    let cube = k.mul(square, a);
    let small = k.fma(cube, tail, a);
    let is_small = k.lt(a, one);
    let magnitude = k.select(is_small, small, large);
    k.or_sign(magnitude, x)
}

/// `e^x / (e^x + 1)`, which is `1 / (1 + e^-x)`, overflows nowhere and keeps its relative accuracy down to the
/// subnormals.
pub fn sigmoid<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    // From 18 on it rounds to 1.
    let x = clamp(k, x, -104.0, 18.0);
    let (r, n) = reduce(k, x);
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
