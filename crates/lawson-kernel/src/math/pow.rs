//! `pow`, and the reciprocal square root.
//!
//! `x^y = 2^(y·log2(x))`, where the product may reach 150 and must be right to 2^-25: so the logarithm is computed as the
//! sum of two floats, and so is the product. Special cases are selected at the end, as IEEE 754 lists them for `pow`.

use super::exp::EXP2;
use super::{Arithmetic, polynomial};

/// A number as the sum of two floats, the greater first.
type Double<F> = (F, F);

/// `(atanh(s)/s - 1 - s²/3) / s⁴` in `s²` for `s` up to 1/5, highest power first.
const ATANH_TAIL: [f32; 4] = [9.997_830_5e-2, 1.107_969_2e-1, 1.428_607e-1, 1.999_999_9e-1];

/// `2 / ln 2` and a third, in two parts.
const TWO_LOG2_E: Double<f32> = (2.885_39, 3.851_926e-8);
const THIRD: Double<f32> = (1.0 / 3.0, -9.934_108e-9);

/// The greatest distance of [`pow`] from the true value, in units in the last place of the result.
pub const POW_MAX_ULP: f64 = 1.5;

/// `1 / sqrt(x)`.
pub fn rsqrt<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let one = k.f(1.0);
    let root = k.sqrt(x);
    k.div(one, root)
}

/// `a * b`, and what its rounding lost.
fn two_product<K: Arithmetic>(k: &mut K, a: K::F, b: K::F) -> Double<K::F> {
    let product = k.mul(a, b);
    (product, k.fms(a, b, product))
}

/// `a * b` of two sums.
fn product<K: Arithmetic>(k: &mut K, a: Double<K::F>, b: Double<K::F>) -> Double<K::F> {
    let (high, lost) = two_product(k, a.0, b.0);
    let low = k.fma(a.0, b.1, lost);
    (high, k.fma(a.1, b.0, low))
}

/// `a + b` for `|a| >= |b|`.
fn sum<K: Arithmetic>(k: &mut K, a: Double<K::F>, b: Double<K::F>) -> Double<K::F> {
    let high = k.add(a.0, b.0);
    let taken = k.sub(high, a.0);
    let lost = k.sub(b.0, taken);
    let low = k.add(a.1, b.1);
    (high, k.add(low, lost))
}

/// `e + a` for whole `e`, which may be 0 or infinite, and `|a| < 1`.
fn add_whole<K: Arithmetic>(k: &mut K, e: K::F, a: Double<K::F>) -> Double<K::F> {
    let high = k.add(e, a.0);
    let taken = k.sub(high, e);
    let lost = k.sub(a.0, taken);
    (high, k.add(a.1, lost))
}

/// `log2(m)` for `m` from 3/4 to 3/2: `2/ln2·atanh(s)` with `s = (m - 1) / (m + 1)`, whose error is below 2^-34 of it.
fn log2_of_mantissa<K: Arithmetic>(k: &mut K, m: K::F) -> Double<K::F> {
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
    let third = (k.f(THIRD.0), k.f(THIRD.1));
    let third = product(k, cube, third);
    let tail = polynomial(k, square.0, &ATANH_TAIL);
    let fifth = k.mul(square.0, cube.0);
    let low = k.fma(fifth, tail, third.1);
    let atanh = sum(k, s, (third.0, low));
    let scale = (k.f(TWO_LOG2_E.0), k.f(TWO_LOG2_E.1));
    product(k, atanh, scale)
}

/// `2^w` of the sum `w`; infinite or zero where its first part says so.
fn exp2_of_sum<K: Arithmetic>(k: &mut K, w: Double<K::F>) -> K::F {
    let (low, high, zero, one) = (k.f(-152.0), k.f(130.0), k.f(0.0), k.f(1.0));
    let bounded = k.max(low, w.0);
    let bounded = k.min(high, bounded);
    let inside = k.eq(bounded, w.0);
    let rest = k.select(inside, w.1, zero);
    let n = k.nearest(bounded, one);
    let r = k.sub(bounded, n.0);
    let r = k.add(r, rest);
    let p = polynomial(k, r, &EXP2);
    k.scale(p, n)
}

/// `x` to the power `y`.
pub fn pow<K: Arithmetic>(k: &mut K, x: K::F, y: K::F) -> K::F {
    let (zero, one, half) = (k.f(0.0), k.f(1.0), k.f(0.5));
    let magnitude = k.abs(x);
    let (m, e) = k.split(magnitude);
    let log_m = log2_of_mantissa(k, m);
    let log = add_whole(k, e, log_m);
    let (high, lost) = two_product(k, y, log.0);
    let low = k.fma(y, log.1, lost);
    let power = exp2_of_sum(k, (high, low));

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
    let (infinity, nan) = (k.f(f32::NEG_INFINITY), k.f(f32::NAN));
    let (negative, finite) = (k.lt(x, zero), k.lt(infinity, x));
    let undefined = k.and(negative, finite);
    let undefined = k.and(undefined, is_fraction);
    let power = k.select(undefined, nan, power);

    // 1 to any power and anything to the power 0 are 1, NaN or not; so is -1 to an infinite power.
    let base_one = k.eq(x, one);
    let power_zero = k.eq(y, zero);
    let (size, endless) = (k.abs(y), k.f(f32::INFINITY));
    let (endless, unit) = (k.eq(size, endless), k.eq(magnitude, one));
    let unit_to_infinity = k.and(endless, unit);
    let is_one = k.or(base_one, power_zero);
    let is_one = k.or(is_one, unit_to_infinity);
    k.select(is_one, one, power)
}
