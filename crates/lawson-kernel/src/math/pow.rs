//! `pow`, and the reciprocal square root, of both precisions.
//!
//! `x^y = 2^(y·log2(x))`, where the product may reach 150 and must be right to 2^-25 (1075 and 2^-54 of f64): so the logarithm is computed
//! as the sum of two floats, and so is the product. Special cases are selected at the end, as IEEE 754 lists them for `pow`.
//! [`Power`] has what differs between f32 and f64.

use super::exp::EXP2;
use super::pair::{Pair, add_whole, constant, product, sum, two_product, whole_and_rest};
use super::{Arithmetic, Lanes, Number, polynomial};

/// The greatest distance of [`pow`] of f32 from the true value, in units in the last place of the result.
pub const POW_MAX_ULP: f64 = 1.5;

/// A precision, as [`pow`] needs it in the lanes of `K`.
pub trait Power<K: Lanes<C = Self>>: Number {
    /// `log2(x)` for positive finite `x`, as a sum; infinite for zeros and infinity, NaN for NaN.
    fn log2(k: &mut K, x: K::F) -> (K::F, K::F);

    /// `2^w` of the sum `w`; infinite or zero where its first part says so.
    fn exp2(k: &mut K, w: (K::F, K::F)) -> K::F;
}

/// `1 / sqrt(x)`.
pub fn rsqrt<K: Lanes>(k: &mut K, x: K::F) -> K::F {
    let one = k.exact(1.0);
    let root = k.sqrt(x);
    k.div(one, root)
}

/// `x` to the power `y`.
pub fn pow<K: Lanes>(k: &mut K, x: K::F, y: K::F) -> K::F
where
    K::C: Power<K>,
{
    let (zero, one, half) = (k.exact(0.0), k.exact(1.0), k.exact(0.5));
    let magnitude = k.abs(x);
    let log = K::C::log2(k, magnitude);
    let (high, lost) = two_product(k, y, log.0);
    let low = k.fma(y, log.1, lost);
    let power = K::C::exp2(k, (high, low));

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
    let (infinity, nan) = (k.f(K::C::NEG_INFINITY), k.f(K::C::NAN));
    let (negative, finite) = (k.lt(x, zero), k.lt(infinity, x));
    let undefined = k.and(negative, finite);
    let undefined = k.and(undefined, is_fraction);
    let power = k.select(undefined, nan, power);

    // 1 to any power and anything to the power 0 are 1, NaN or not; so is -1 to an infinite power.
    let base_one = k.eq(x, one);
    let power_zero = k.eq(y, zero);
    let (size, endless) = (k.abs(y), k.f(K::C::INFINITY));
    let (endless, unit) = (k.eq(size, endless), k.eq(magnitude, one));
    let unit_to_infinity = k.and(endless, unit);
    let is_one = k.or(base_one, power_zero);
    let is_one = k.or(is_one, unit_to_infinity);
    k.select(is_one, one, power)
}

/// `(atanh(s)/s - 1 - s²/3) / s⁴` in `s²` for `s` up to 1/5, highest power first.
const ATANH_TAIL: [f32; 4] = [9.997_830_5e-2, 1.107_969_2e-1, 1.428_607e-1, 1.999_999_9e-1];

/// `2 / ln 2` and a third, in two parts.
const TWO_LOG2_E: Pair<f32> = (2.885_39, 3.851_926e-8);
const THIRD: Pair<f32> = (1.0 / 3.0, -9.934_108e-9);

impl<K: Arithmetic> Power<K> for f32 {
    fn log2(k: &mut K, x: K::F) -> Pair<K::F> {
        let (m, e) = k.split(x);
        let log_m = log2_of_mantissa(k, m);
        add_whole(k, e, log_m)
    }

    fn exp2(k: &mut K, w: Pair<K::F>) -> K::F {
        let (r, n) = whole_and_rest(k, w, [-152.0, 130.0]);
        let p = polynomial(k, r, &EXP2);
        k.scale(p, n)
    }
}

/// `log2(m)` for `m` from 3/4 to 3/2: `2/ln2·atanh(s)` with `s = (m - 1) / (m + 1)`, whose error is below 2^-34 of it.
fn log2_of_mantissa<K: Arithmetic>(k: &mut K, m: K::F) -> Pair<K::F> {
    let one = k.f(1.0);
    let f = k.sub(m, one);
    let divisor = k.add(m, one);
    let taken = k.sub(divisor, one);
    let divisor_low = k.sub(m, taken);
    let high = k.quotient(f, divisor);
    let inverse = k.reciprocal_estimate(divisor);
    let rest = k.fnma(high, divisor, f);
    let rest = k.fnma(high, divisor_low, rest);
    let s = (high, k.mul(rest, inverse));

    let square = product(k, s, s);
    let cube = product(k, square, s);
    let third = constant(k, THIRD);
    let third = product(k, cube, third);
    let tail = polynomial(k, square.0, &ATANH_TAIL);
    let fifth = k.mul(square.0, cube.0);
    let low = k.fma(fifth, tail, third.1);
    let atanh = sum(k, s, (third.0, low));
    let scale = constant(k, TWO_LOG2_E);
    product(k, atanh, scale)
}
