//! The logarithms: `log`.
//!
//! `x = m·2^e` with `m` from 3/4 to 3/2, so that `f = m - 1` is exact and `e` is 0 around 1: near there the result is
//! the polynomial alone and keeps its relative accuracy. Zeros, infinity, NaN and negative numbers arrive through `e`.

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
