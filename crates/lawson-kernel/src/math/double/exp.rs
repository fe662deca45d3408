//! The exponentials and what is made of them: `exp`, `exp2`, `expm1`, `sigmoid`, `tanh`, `sinh`, `cosh`.
//!
//! `x = n·ln2 + r` with whole `n` and `|r| <= ln2 / 2`; a polynomial gives `e^r - 1`, which keeps what is near 0 exact.

use super::Double;
use crate::math::pair::{Pair, whole_and_rest};
use crate::math::{clamp, polynomial};

const LOG2_E: f64 = std::f64::consts::LOG2_E;
/// ln 2 rounded to f64, and what it lacks.
pub(super) const LN_2: (f64, f64) = (std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);

/// `(e^r - 1 - r) / r²` for `|r| <= ln2 / 2`, highest power first; e^r is then within 2^-60.
const EXP_TAIL: [f64; 11] = [
    2.0826628172558334e-09,
    2.511206815087719e-08,
    2.7557581823016533e-07,
    2.755723481995618e-06,
    2.4801586927113832e-05,
    0.00019841269896362902,
    0.0013888888889114668,
    0.008333333333317079,
    0.0416666666666661,
    0.16666666666666682,
    0.5,
];

/// `(2^r - 1 - r·ln2) / r²` for `|r| <= 1/2`, highest power first.
const EXP2_TAIL: [f64; 11] = [
    2.5625165550461356e-11,
    4.4566104334790565e-10,
    7.054974987619121e-09,
    1.0178051699523519e-07,
    1.3215486592644028e-06,
    1.5252733854841553e-05,
    0.0001540353039364461,
    0.0013333558146392214,
    0.009618129107628328,
    0.05550410866482169,
    0.24022650695910072,
];

/// `(g, n)` with `e^x = 2^n·(1 + g)` and whole `n`, for `|x|` up to some thousands.
fn reduced<K: Double>(k: &mut K, x: K::F) -> (K::F, K::F) {
    let (log2_e, high, low) = (k.f(LOG2_E), k.f(LN_2.0), k.f(LN_2.1));
    let (n, _) = k.nearest(x, log2_e);
    let r = k.fnma(n, high, x);
    let r = k.fnma(n, low, r);
    let tail = polynomial(k, r, &EXP_TAIL);
    let square = k.mul(r, r);
    (k.fma(square, tail, r), n)
}

/// `e^x` for `x` up to some thousands in magnitude.
pub(super) fn exp_bounded<K: Double>(k: &mut K, x: K::F) -> K::F {
    let one = k.f(1.0);
    let (g, n) = reduced(k, x);
    let p = k.add(g, one);
    k.scale(p, n)
}

/// `e^x`.
pub fn exp<K: Double>(k: &mut K, x: K::F) -> K::F {
    // e^-746 rounds to 0, e^710 to infinity.
    let x = clamp(k, x, -746.0, 710.0);
    exp_bounded(k, x)
}

/// `2^w` of the sum `w`, whose second part is small; infinite or zero where the first says so.
pub(super) fn exp2_of_sum<K: Double>(k: &mut K, w: Pair<K::F>) -> K::F {
    let (r, (n, _)) = whole_and_rest(k, w, [-1080.0, 1030.0]);
    let (ln_2, more) = (k.f(LN_2.0), k.f(LN_2.1));
    let tail = polynomial(k, r, &EXP2_TAIL);
    let tail = k.fma(tail, r, more);
    let tail = k.mul(tail, r);
    let g = k.fma(r, ln_2, tail);
    let one = k.f(1.0);
    let p = k.add(g, one);
    k.scale(p, n)
}

/// `2^x`.
pub fn exp2<K: Double>(k: &mut K, x: K::F) -> K::F {
    let zero = k.f(0.0);
    exp2_of_sum(k, (x, zero))
}

/// `e^x - 1`: with `g = e^r - 1` it is `2^n·g + (2^n - 1)`, at half its size, because `2^1024` is no f64.
pub fn expm1<K: Double>(k: &mut K, x: K::F) -> K::F {
    // From -38 down it rounds to -1.
    let bounded = clamp(k, x, -38.0, 710.0);
    let (g, n) = reduced(k, bounded);
    let (one, minus_half) = (k.f(1.0), k.f(-0.5));
    let below = k.sub(n, one);
    let half_power = k.power_of_two(below);
    let constant = k.add(half_power, minus_half);
    let half = k.fma(half_power, g, constant);
    let result = k.add(half, half);
    // Below this, x + x²/2 rounds to x or its neighbour, and the half of a small number would lose its last bit.
    let (magnitude, tiny) = (k.abs(x), k.f(1.1e-16));
    let is_tiny = k.lt(magnitude, tiny);
    k.select(is_tiny, x, result)
}

/// `e^x / (e^x + 1)`, which is `1 / (1 + e^-x)`, overflows nowhere and keeps its relative accuracy down to the subnormals.
pub fn sigmoid<K: Double>(k: &mut K, x: K::F) -> K::F {
    // From 38 on it rounds to 1.
    let (x, one) = (clamp(k, x, -746.0, 38.0), k.f(1.0));
    let power = exp_bounded(k, x);
    let sum = k.add(power, one);
    k.div(power, sum)
}

/// The hyperbolic tangent: `t / (t + 2)` of `t = e^2|x| - 1`.
pub fn tanh<K: Double>(k: &mut K, x: K::F) -> K::F {
    // From 20 on it rounds to 1.
    let (end, two) = (k.f(20.0), k.f(2.0));
    let a = k.abs(x);
    let a = k.min(end, a);
    let double = k.add(a, a);
    let t = expm1(k, double);
    let divisor = k.add(t, two);
    let magnitude = k.div(t, divisor);
    k.or_sign(magnitude, x)
}

/// `e^|x| / 2` and `e^-|x| / 2`.
fn halves<K: Double>(k: &mut K, a: K::F) -> (K::F, K::F) {
    let (end, one, quarter) = (k.f(711.0), k.f(1.0), k.f(0.25));
    let a = k.min(end, a);
    let (g, n) = reduced(k, a);
    let p = k.add(g, one);
    let below = k.sub(n, one);
    let grown = k.scale(p, below);
    (grown, k.div(quarter, grown))
}

/// The hyperbolic cosine.
pub fn cosh<K: Double>(k: &mut K, x: K::F) -> K::F {
    let a = k.abs(x);
    let (grown, shrunk) = halves(k, a);
    k.add(grown, shrunk)
}

/// The hyperbolic sine; up to 1, where the halves cancel, `(t + t/(t + 1)) / 2` of `t = e^|x| - 1`.
pub fn sinh<K: Double>(k: &mut K, x: K::F) -> K::F {
    let (one, half) = (k.f(1.0), k.f(0.5));
    let a = k.abs(x);
    let (grown, shrunk) = halves(k, a);
    let large = k.sub(grown, shrunk);
    let bounded = k.min(one, a);
    let t = expm1(k, bounded);
    let above = k.add(t, one);
    let quotient = k.div(t, above);
    let small = k.mul(quotient, half);
    let small = k.fma(t, half, small);
    // What is so small that its half would lose a bit is its own sine.
    let tiny = k.f(1e-8);
    let is_tiny = k.lt(a, tiny);
    let small = k.select(is_tiny, a, small);
    let is_small = k.lt(a, one);
    let magnitude = k.select(is_small, small, large);
    k.or_sign(magnitude, x)
}
