//! The logarithms: `log`, `log2`, `log1p`; and what [`area`](super::area) needs of them.
//!
//! `x = m·2^e` with `m` from 3/4 to 3/2, so that `f = m - 1` is exact and `e` is 0 around 1: near there the result is
//! the polynomial alone and keeps its relative accuracy. Zeros, infinity, NaN and negative numbers arrive through `e`.

use super::area::Logarithm;
use super::{Arithmetic, polynomial};

/// `(log(1 + f) - f) / f²` for `f` from -1/4 to 1/2, highest power first; the logarithm is then within 2^-27.
const LOG_TAIL: [f32; 9] = [
    -4.607_402e-2,
    1.059_694_4e-1,
    -1.321_233_4e-1,
    1.447_589_7e-1,
    -1.664_247_7e-1,
    1.999_035_5e-1,
    -2.500_019_4e-1,
    3.333_346_2e-1,
    -0.5,
];

/// The natural logarithm.
pub fn log<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let (m, e) = k.split(x);
    let (one, ln_2) = (k.f(1.0), k.f(std::f32::consts::LN_2));
    let f = k.sub(m, one);
    let square = k.mul(f, f);
    let tail = polynomial(k, f, &LOG_TAIL);
    let log_m = k.fma(square, tail, f);
    k.fma(e, ln_2, log_m)
}

/// The logarithm to base 2.
pub fn log2<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let (m, e) = k.split(x);
    let (one, log2_e) = (k.f(1.0), k.f(std::f32::consts::LOG2_E));
    let f = k.sub(m, one);
    let square = k.mul(f, f);
    let tail = LOG_TAIL.map(|c| c * std::f32::consts::LOG2_E);
    let tail = polynomial(k, f, &tail);
    let tail = k.mul(square, tail);
    let log_m = k.fma(f, log2_e, tail);
    k.add(e, log_m)
}

/// `log(1 + x)`.
///
/// The sum serves to find `e` alone; with `s = 2^-e` the mantissa less 1 is `x·s + (s - 1)`, rounded once.
pub fn log1p<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let (one, minus_one, ln_2) = (k.f(1.0), k.f(-1.0), k.f(std::f32::consts::LN_2));
    let far = if K::KEEPS_SUBNORMAL { None } else { Some(far_down(k, x)) };
    let given = x;
    let x = far.as_ref().map_or(x, |(x, _)| *x);
    let sum = k.add(x, one);
    let (_, e) = k.split(sum);
    let minus_e = k.neg(e);
    let integer = k.to_int(minus_e);
    let s = k.scale(one, (minus_e, integer));
    let below = k.sub(s, one);
    let f = k.fma(x, s, below);
    // Felt only where `e` is not finite: there `f` shall not matter.
    let f = k.max(minus_one, f);
    let f = k.min(f, one);
    let square = k.mul(f, f);
    let tail = polynomial(k, f, &LOG_TAIL);
    let log_m = k.fma(square, tail, f);
    let e = match far {
        Some((_, more)) => k.add(e, more),
        None => e,
    };
    let result = k.fma(e, ln_2, log_m);
    k.copy_sign(result, given)
}

/// Of numbers so large that the inverse of their power of two might be subnormal, a part, and the exponent of what it was divided by; others
/// as they are, and 0.
fn far_down<K: Arithmetic>(k: &mut K, x: K::F) -> (K::F, K::F) {
    let (far, part, exponent, zero) = (k.f(2f32.powi(100)), k.f(2f32.powi(-32)), k.f(32.0), k.f(0.0));
    let is_far = k.lt(far, x);
    let down = k.mul(x, part);
    (k.select(is_far, down, x), k.select(is_far, exponent, zero))
}

impl<K: Arithmetic> Logarithm<K> for f32 {
    const LN_2: f32 = std::f32::consts::LN_2;
    const LARGE: f32 = 67_108_864.0;

    fn log1p(k: &mut K, x: K::F) -> K::F {
        log1p(k, x)
    }

    /// It is right there.
    fn atanh_at_ends(_: &mut K, _: K::F, computed: K::F) -> K::F {
        computed
    }
}
