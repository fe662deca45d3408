//! What [`pow`](super::pow()) of f64 is made of.

use super::Double;
use super::exp::exp2_of_sum;
use crate::math::pair::{Pair, add_whole, constant, product, sum};
use crate::math::polynomial;
use crate::math::pow::Power;

/// `(atanh(s)/s - 1 - s²/3 - s⁴/5) / s⁶` in `s²` for `s` up to 1/5, highest power first.
const ATANH_TAIL: [f64; 8] = [
    0.05702640343264888,
    0.051837278494271104,
    0.058859317475066536,
    0.06666572843898867,
    0.07692309131482869,
    0.09090909078763781,
    0.11111111111158234,
    0.1428571428571424,
];

/// The greatest distance of [`pow`](super::pow()) of f64 from the true value, in units in the last place of the result.
pub const POW_MAX_ULP: f64 = 1.5;

/// `2 / ln 2`, a third and a fifth, in two parts.
const TWO_LOG2_E: Pair<f64> = (2.8853900817779268, 4.0710547481862066e-17);
const THIRD: Pair<f64> = (1.0 / 3.0, 1.850371707708594e-17);
const FIFTH: Pair<f64> = (0.2, -1.1102230246251566e-17);

impl<K: Double> Power<K> for f64 {
    fn log2(k: &mut K, x: K::F) -> Pair<K::F> {
        let (m, e) = k.split(x);
        let log_m = log2_of_mantissa(k, m);
        add_whole(k, e, log_m)
    }

    fn exp2(k: &mut K, w: Pair<K::F>) -> K::F {
        exp2_of_sum(k, w)
    }
}

/// `log2(m)` for `m` from 3/4 to 3/2: `2/ln2·atanh(s)` with `s = (m - 1) / (m + 1)`.
fn log2_of_mantissa<K: Double>(k: &mut K, m: K::F) -> Pair<K::F> {
    let one = k.f(1.0);
    let f = k.sub(m, one);
    let divisor = k.add(m, one);
    let taken = k.sub(divisor, one);
    let divisor_low = k.sub(m, taken);
    let high = k.div(f, divisor);
    let rest = k.fnma(high, divisor, f);
    let rest = k.fnma(high, divisor_low, rest);
    let s = (high, k.div(rest, divisor));

    let square = product(k, s, s);
    let cube = product(k, square, s);
    let fifth = product(k, cube, square);
    let tail = polynomial(k, square.0, &ATANH_TAIL);
    let seventh = k.mul(fifth.0, square.0);
    let (third_part, fifth_part) = (constant(k, THIRD), constant(k, FIFTH));
    let third_term = product(k, cube, third_part);
    let fifth_term = product(k, fifth, fifth_part);
    let fifth_term = (fifth_term.0, k.fma(seventh, tail, fifth_term.1));
    let more = sum(k, third_term, fifth_term);
    let atanh = sum(k, s, more);
    let scale = constant(k, TWO_LOG2_E);
    product(k, atanh, scale)
}
