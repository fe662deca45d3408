//! The logarithms: `log`, `log2`, `log1p`; and what [`area`](crate::math::area) needs of them.
//!
//! `x = m·2^e` with `m` from 3/4 to 3/2, so that `f = m - 1` is exact and `e` is 0 around 1. With `s = f / (2 + f)`,
//! `log(1 + f) = 2·atanh(s) = f - s·(f - R)`, where `R = 2·(atanh(s)/s - 1)` is a short polynomial in `s²`. Zeros, infinity, NaN and
//! negative numbers arrive through `e`.

use super::Double;
use super::exp::LN_2;
use crate::math::area::Logarithm;
use crate::math::polynomial;

/// `2·(atanh(s)/s - 1) / s²` in `s²` for `s` up to 1/5, highest power first.
const LOG_TAIL: [f64; 8] = [
    0.13845543992959142,
    0.13173301522896888,
    0.15391124101216921,
    0.1818166573156251,
    0.2222222429354441,
    0.28571428555924316,
    0.4000000000005581,
    0.666666666666666,
];

/// What to take from `f` for `log(1 + f)`: `s·(f - R)`.
fn excess<K: Double>(k: &mut K, f: K::F) -> K::F {
    let two = k.f(2.0);
    let divisor = k.add(f, two);
    let s = k.div(f, divisor);
    let square = k.mul(s, s);
    let tail = polynomial(k, square, &LOG_TAIL);
    let rest = k.fnma(square, tail, f);
    k.mul(s, rest)
}

/// `log(1 + f) + e·ln2` for whole `e`, and `f` from -1/4 to 1/2.
fn log_of_parts<K: Double>(k: &mut K, f: K::F, e: K::F) -> K::F {
    let (high, low) = (k.f(LN_2.0), k.f(LN_2.1));
    let excess = excess(k, f);
    let small = k.fms(e, low, excess);
    // Near 1, where e is 0, f is the greatest part; elsewhere e·ln2 is.
    let whole = k.mul(e, high);
    let lost = k.fms(e, high, whole);
    let sum = k.add(whole, f);
    let taken = k.sub(sum, whole);
    let rest = k.sub(f, taken);
    let rest = k.add(rest, lost);
    let rest = k.add(rest, small);
    k.add(sum, rest)
}

/// The natural logarithm.
pub fn log<K: Double>(k: &mut K, x: K::F) -> K::F {
    let (m, e) = k.split(x);
    finite_or(k, e, |k, e| {
        let one = k.f(1.0);
        let f = k.sub(m, one);
        log_of_parts(k, f, e)
    })
}

/// What `of` gives, for an `e` that is finite; an infinite one, or NaN, itself.
fn finite_or<K: Double>(k: &mut K, e: K::F, of: impl FnOnce(&mut K, K::F) -> K::F) -> K::F {
    let (zero, infinity) = (k.f(0.0), k.f(f64::INFINITY));
    let size = k.abs(e);
    let is_finite = k.lt(size, infinity);
    let bounded = k.select(is_finite, e, zero);
    let value = of(k, bounded);
    k.select(is_finite, value, e)
}

/// The logarithm to base 2.
pub fn log2<K: Double>(k: &mut K, x: K::F) -> K::F {
    let (m, e) = k.split(x);
    finite_or(k, e, |k, e| {
        let (one, log2_e) = (k.f(1.0), k.f(std::f64::consts::LOG2_E));
        let f = k.sub(m, one);
        let excess = excess(k, f);
        let log = k.sub(f, excess);
        k.fma(log, log2_e, e)
    })
}

/// `log(1 + x)`.
///
/// The sum serves to find `e` alone; with `s = 2^-e` the mantissa less 1 is `x·s + (s - 1)`, rounded once.
pub fn log1p<K: Double>(k: &mut K, x: K::F) -> K::F {
    let one = k.f(1.0);
    let sum = k.add(x, one);
    let (_, e) = k.split(sum);
    let result = finite_or(k, e, |k, e| {
        let minus_e = k.neg(e);
        let s = k.scale(one, minus_e);
        let below = k.sub(s, one);
        let f = k.fma(x, s, below);
        log_of_parts(k, f, e)
    });
    // What is so small that 1 does not feel it is its own logarithm, with its sign.
    let (magnitude, tiny) = (k.abs(x), k.f(1e-17));
    let is_tiny = k.lt(magnitude, tiny);
    k.select(is_tiny, x, result)
}

impl<K: Double> Logarithm<K> for f64 {
    const LN_2: f64 = LN_2.0;
    const LARGE: f64 = 1e17;

    fn log1p(k: &mut K, x: K::F) -> K::F {
        log1p(k, x)
    }

    fn atanh_at_ends(k: &mut K, a: K::F, computed: K::F) -> K::F {
        // Half of twice the smallest numbers.
        let (tiny, zero, one) = (k.f(1e-17), k.f(0.0), k.f(1.0));
        let is_tiny = k.lt(a, tiny);
        let magnitude = k.select(is_tiny, a, computed);
        // A NaN has no sign of its own.
        let beyond = k.lt(one, a);
        let undefined = k.div(zero, zero);
        k.select(beyond, undefined, magnitude)
    }
}
