//! Functions of two floats with ranges. `+ - * /` are correctly rounded by a correct target, `rem` and `mod` exact before
//! rounding, `min` and `max` exact; `atan2` is within 4 units in the last place, `pow` within 16.

use super::directed::{self, Toward, greatest, least};
use super::float::FloatBound;
use super::flush::alike;
use super::unary::widened;
use crate::dtype::DType;
use crate::interp::scalar::binary_float;
use crate::op::BinaryKind;
use std::f64::consts::PI;

const ATAN2_UNITS: f64 = 4.0;
const POW_UNITS: f64 = 16.0;

pub(super) fn apply(kind: BinaryKind, a: FloatBound, b: FloatBound, dtype: DType) -> FloatBound {
    let value = binary_float(kind, a.value, b.value);
    if a.is_point() && b.is_point() && binary_float(kind, a.lo, b.lo).is_nan() {
        return FloatBound::point(f64::NAN);
    }
    if a.is_nan() || b.is_nan() {
        // Every kind but `pow` passes NaN on.
        let passes = kind != BinaryKind::Pow;
        let exact = a.is_point() && b.is_point();
        return if passes {
            FloatBound::point(f64::NAN)
        } else if exact {
            FloatBound::point(value)
        } else {
            FloatBound::anything(value)
        };
    }
    if a.is_anything() || b.is_anything() {
        return FloatBound::anything(value);
    }
    let alike = alike(a, b, dtype.accumulator());
    if let Some(one) = chosen(kind, a, b).filter(|_| alike.is_none()) {
        return one;
    }
    let range = match kind {
        BinaryKind::Add => FloatBound::range(
            value,
            directed::add(a.lo, b.lo, Toward::Down),
            directed::add(a.hi, b.hi, Toward::Up),
        ),
        BinaryKind::Sub => FloatBound::range(
            value,
            directed::add(a.lo, -b.hi, Toward::Down),
            directed::add(a.hi, -b.lo, Toward::Up),
        ),
        BinaryKind::Mul => corners(directed::mul, value, a, b),
        BinaryKind::Div if b.straddles() => FloatBound::anything(value),
        BinaryKind::Div => corners(directed::div, value, a, b),
        // Of two zeros a target may give either, so where both may be zero an end that is zero has either sign.
        BinaryKind::Min => {
            let hi = a.hi.min(b.hi);
            let hi = if hi == 0.0 && may_be_zero(a) && may_be_zero(b) { 0.0 } else { hi };
            let hi = alike.map_or(hi, |normal| hi.max(a.hi.max(b.hi).min(normal)));
            FloatBound::range(value, least(a.lo, b.lo), hi)
        }
        BinaryKind::Max => {
            let lo = a.lo.max(b.lo);
            let lo = if lo == 0.0 && may_be_zero(a) && may_be_zero(b) { -0.0 } else { lo };
            let lo = alike.map_or(lo, |normal| lo.min(a.lo.min(b.lo).max(-normal)));
            FloatBound::range(value, lo, greatest(a.hi, b.hi))
        }
        BinaryKind::Rem | BinaryKind::Mod => remainder(kind, value, a, b),
        BinaryKind::Pow => power(value, a, b, dtype),
        BinaryKind::Atan2 => angle(value, a, b, dtype),
        _ => FloatBound::anything(value),
    };
    range.rounded(dtype)
}

/// The operand that `min` or `max` certainly chooses, as it is, with its identity. Of two zeros a target may choose
/// either.
fn chosen(kind: BinaryKind, a: FloatBound, b: FloatBound) -> Option<FloatBound> {
    let above = |p: FloatBound, q: FloatBound| p.lo > q.hi || (p.lo == q.hi && p.lo != 0.0) || p.is_same(q);
    match kind {
        BinaryKind::Max if above(a, b) => Some(a),
        BinaryKind::Max if above(b, a) => Some(b),
        BinaryKind::Min if above(b, a) => Some(a),
        BinaryKind::Min if above(a, b) => Some(b),
        _ => None,
    }
}

fn may_be_zero(x: FloatBound) -> bool {
    x.lo <= 0.0 && x.hi >= 0.0
}

/// The product of a float with itself: one value on both sides, so it is never negative.
pub(super) fn square(x: FloatBound, dtype: DType) -> FloatBound {
    if x.is_nan() || x.is_anything() {
        return apply(BinaryKind::Mul, x, x, dtype);
    }
    let (near, far) = (x.lo.abs().min(x.hi.abs()), x.magnitude());
    let lo = if x.straddles() { 0.0 } else { directed::mul(near, near, Toward::Down) };
    FloatBound::range(x.value * x.value, lo, directed::mul(far, far, Toward::Up)).rounded(dtype)
}

/// The least and the greatest of a function that is monotone in each operand. A corner that is NaN (0 · inf, inf / inf)
/// makes it anything.
fn corners(op: fn(f64, f64, Toward) -> f64, value: f64, a: FloatBound, b: FloatBound) -> FloatBound {
    let pairs = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)];
    let downs = pairs.map(|(x, y)| op(x, y, Toward::Down));
    let ups = pairs.map(|(x, y)| op(x, y, Toward::Up));
    if downs.iter().any(|x| x.is_nan()) {
        return FloatBound::anything(value);
    }
    let lo = downs.into_iter().fold(f64::INFINITY, least);
    let hi = ups.into_iter().fold(f64::NEG_INFINITY, greatest);
    FloatBound::range(value, lo, hi)
}

/// While the quotient stays the same whole number, the remainder moves with the dividend; otherwise it may be anything
/// up to the divisor.
fn remainder(kind: BinaryKind, value: f64, a: FloatBound, b: FloatBound) -> FloatBound {
    if a.is_point() && b.is_point() {
        return FloatBound::point(value);
    }
    if b.straddles() || b.lo == 0.0 || b.hi == 0.0 || !a.is_finite() {
        return FloatBound::anything(value);
    }
    if b.is_point() && b.lo.is_finite() && a.lo.is_sign_negative() == a.hi.is_sign_negative() {
        let (low, high) = (binary_float(kind, a.lo, b.lo), binary_float(kind, a.hi, b.lo));
        // The remainder moved exactly as far as the dividend: no whole number was passed.
        let moved = high - low;
        let whole = a.hi - a.lo;
        if whole < b.lo.abs() && moved >= 0.0 && (moved - whole).abs() <= 1e-9 * b.lo.abs() {
            return FloatBound::range(value, low.next_down(), high.next_up());
        }
    }
    let far = b.magnitude();
    FloatBound::range(value, -far, far)
}

fn power(value: f64, a: FloatBound, b: FloatBound, dtype: DType) -> FloatBound {
    let at = |x: f64, y: f64, toward: Toward| widened(x.powf(y), POW_UNITS, dtype, toward, 0.0);
    let whole = b.is_point() && b.lo.is_finite() && b.lo == b.lo.trunc();
    let pairs: Vec<(f64, f64)> = if a.lo.is_sign_positive() {
        // x^y = e^(y·ln x), and y·ln x is greatest and least at corners.
        vec![(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)]
    } else if whole && a.straddles() && b.lo > 0.0 {
        vec![(a.lo, b.lo), (0.0, b.lo), (a.hi, b.lo)]
    } else if whole && !a.straddles() {
        vec![(a.lo, b.lo), (a.hi, b.lo)]
    } else if a.is_point() && b.is_point() {
        vec![(a.lo, b.lo)]
    } else {
        return FloatBound::anything(value);
    };
    // Anything to the power 0, and 1 to the power of anything, is exactly 1.
    if (b.is_point() && b.lo == 0.0) || (a.is_point() && a.lo == 1.0) {
        return FloatBound::point(1.0);
    }
    let ends = pairs.iter().map(|(x, y)| (at(*x, *y, Toward::Down), at(*x, *y, Toward::Up)));
    let (lo, hi) =
        ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), (x, y)| (least(l, x), greatest(h, y)));
    // Zeros and infinities raised to powers are exact.
    if a.is_point()
        && b.is_point()
        && (value == 0.0 || value.is_infinite())
        && (a.lo == 0.0 || a.lo.is_infinite())
    {
        return FloatBound::point(value);
    }
    let range = FloatBound::range(value, lo, hi);
    if a.lo.is_sign_positive() { range.not_negative() } else { range }
}

/// The angle of a box of points: at its corners, unless the box holds the origin or lies across the negative axis.
fn angle(value: f64, y: FloatBound, x: FloatBound, dtype: DType) -> FloatBound {
    let at = |y: f64, x: f64, toward: Toward| widened(y.atan2(x), ATAN2_UNITS, dtype, toward, 0.0);
    if y.is_point() && x.is_point() && value == 0.0 {
        return FloatBound::point(value);
    }
    if y.straddles() && x.lo.is_sign_negative() {
        let far = widened(PI, ATAN2_UNITS, dtype, Toward::Up, 0.0);
        return FloatBound::range(value, -far, far);
    }
    let pairs = [(y.lo, x.lo), (y.lo, x.hi), (y.hi, x.lo), (y.hi, x.hi)];
    let ends = pairs.map(|(y, x)| (at(y, x, Toward::Down), at(y, x, Toward::Up)));
    let (lo, hi) = ends
        .into_iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), (p, q)| (least(l, p), greatest(h, q)));
    FloatBound::range(value, lo, hi)
}
