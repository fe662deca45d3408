//! `pow`, and the reciprocal square root.
//!
//! `x^y = 2^(y·log2(x))`, where the product may reach 1075 and must be right to 2^-54: so the logarithm is computed as the
//! sum of two floats, and so is the product. Special cases are selected at the end, as IEEE 754 lists them for `pow`.

use super::exp::exp2_of_sum;
use super::{Double, polynomial};

/// A number as the sum of two floats, the greater first.
type Pair<F> = (F, F);

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

/// The greatest distance of [`pow`] from the true value, in units in the last place of the result.
pub const POW_MAX_ULP: f64 = 1.5;

/// `2 / ln 2`, a third and a fifth, in two parts.
const TWO_LOG2_E: Pair<f64> = (2.8853900817779268, 4.0710547481862066e-17);
const THIRD: Pair<f64> = (1.0 / 3.0, 1.850371707708594e-17);
const FIFTH: Pair<f64> = (0.2, -1.1102230246251566e-17);

/// `1 / sqrt(x)`.
pub fn rsqrt<K: Double>(k: &mut K, x: K::F) -> K::F {
    let one = k.f(1.0);
    let root = k.sqrt(x);
    k.div(one, root)
}

/// `a * b`, and what its rounding lost.
fn two_product<K: Double>(k: &mut K, a: K::F, b: K::F) -> Pair<K::F> {
    let product = k.mul(a, b);
    (product, k.fms(a, b, product))
}

/// `a * b` of two sums.
fn product<K: Double>(k: &mut K, a: Pair<K::F>, b: Pair<K::F>) -> Pair<K::F> {
    let (high, lost) = two_product(k, a.0, b.0);
    let low = k.fma(a.0, b.1, lost);
    (high, k.fma(a.1, b.0, low))
}

/// `a + b` for `|a| >= |b|`.
fn sum<K: Double>(k: &mut K, a: Pair<K::F>, b: Pair<K::F>) -> Pair<K::F> {
    let high = k.add(a.0, b.0);
    let taken = k.sub(high, a.0);
    let lost = k.sub(b.0, taken);
    let low = k.add(a.1, b.1);
    (high, k.add(low, lost))
}

/// `e + a` for whole `e`, which may be 0 or infinite, and `|a| < 1`.
fn add_whole<K: Double>(k: &mut K, e: K::F, a: Pair<K::F>) -> Pair<K::F> {
    let high = k.add(e, a.0);
    let taken = k.sub(high, e);
    let lost = k.sub(a.0, taken);
    (high, k.add(a.1, lost))
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
    let (third_part, fifth_part) = ((k.f(THIRD.0), k.f(THIRD.1)), (k.f(FIFTH.0), k.f(FIFTH.1)));
    let third_term = product(k, cube, third_part);
    let fifth_term = product(k, fifth, fifth_part);
    let fifth_term = (fifth_term.0, k.fma(seventh, tail, fifth_term.1));
    let more = sum(k, third_term, fifth_term);
    let atanh = sum(k, s, more);
    let scale = (k.f(TWO_LOG2_E.0), k.f(TWO_LOG2_E.1));
    product(k, atanh, scale)
}

/// `x` to the power `y`.
pub fn pow<K: Double>(k: &mut K, x: K::F, y: K::F) -> K::F {
    let (zero, one, half) = (k.f(0.0), k.f(1.0), k.f(0.5));
    let magnitude = k.abs(x);
    let (m, e) = k.split(magnitude);
    let log_m = log2_of_mantissa(k, m);
    let log = add_whole(k, e, log_m);
    let (high, lost) = two_product(k, y, log.0);
    let low = k.fma(y, log.1, lost);
    let power = exp2_of_sum(k, high, low);

    let whole = k.round_even(y);
    let is_whole = k.eq(whole, y);
    let halved = k.mul(y, half);
    let whole_half = k.round_even(halved);
    let is_even = k.eq(whole_half, halved);
    let signed = k.or_sign(power, x);
    let is_fraction = k.not(is_whole);
    let no_sign = k.or(is_even, is_fraction);
    let power = k.select(no_sign, power, signed);

    // Negative finite numbers have no fractional power.
    let (infinity, nan) = (k.f(f64::NEG_INFINITY), k.f(f64::NAN));
    let (negative, finite) = (k.lt(x, zero), k.lt(infinity, x));
    let undefined = k.and(negative, finite);
    let undefined = k.and(undefined, is_fraction);
    let power = k.select(undefined, nan, power);

    // 1 to any power and anything to the power 0 are 1, NaN or not; so is -1 to an infinite power.
    let base_one = k.eq(x, one);
    let power_zero = k.eq(y, zero);
    let (size, endless) = (k.abs(y), k.f(f64::INFINITY));
    let (endless, unit) = (k.eq(size, endless), k.eq(magnitude, one));
    let unit_to_infinity = k.and(endless, unit);
    let is_one = k.or(base_one, power_zero);
    let is_one = k.or(is_one, unit_to_infinity);
    k.select(is_one, one, power)
}
