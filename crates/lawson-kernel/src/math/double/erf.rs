//! The error function: a polynomial up to 1; beyond, `1 - e^(-x²)·Q`, where `Q = e^(x²)·erfc(x)` is a polynomial in
//! `(x - 9/4) / (x + 9/4)`.

use super::Double;
use super::exp::exp_bounded;
use crate::math::polynomial;

/// `erf(x)/x - 1` in `x²` for `x` up to 1, highest power first.
const NEAR: [f64; 13] = [
    5.96043176556001e-11,
    -1.1374809644333339e-09,
    1.4660291936687095e-08,
    -1.6350390907074617e-07,
    1.6461007991124102e-06,
    -1.492559574277612e-05,
    0.00012055331131771516,
    -0.000854832698139416,
    0.005223977624827903,
    -0.026866170645077823,
    0.11283791670954885,
    -0.3761263890318375,
    0.1283791670955126,
];

/// `Q` for `x` from 1 to 6, highest power first.
const FAR: [f64; 12] = [
    -2.1135433679204988e-05,
    -5.9143324544307626e-05,
    4.5760303636791575e-05,
    0.0003815555033546953,
    -0.00018633133388980114,
    -0.0027679512986861876,
    0.003393242415953201,
    0.021688775723725146,
    -0.10505063893362677,
    0.24966144242778285,
    -0.39818926263936655,
    0.23108725873039168,
];

/// The error function.
pub fn erf<K: Double>(k: &mut K, x: K::F) -> K::F {
    // From the end on it rounds to 1.
    let (end, one, origin) = (k.f(6.0), k.f(1.0), k.f(2.25));
    let a = k.abs(x);
    let a = k.min(end, a);
    let square = k.mul(a, a);
    let slope = polynomial(k, square, &NEAR);
    let near = k.fma(slope, a, a);

    let (above, below) = (k.sub(a, origin), k.add(a, origin));
    let u = k.div(above, below);
    let q = polynomial(k, u, &FAR);
    // e^-x² with what the square lost.
    let lost = k.fms(a, a, square);
    let exponent = k.neg(square);
    let power = exp_bounded(k, exponent);
    let power = k.fnma(power, lost, power);
    let far = k.fnma(power, q, one);

    let is_near = k.lt(a, one);
    let magnitude = k.select(is_near, near, far);
    k.or_sign(magnitude, x)
}
