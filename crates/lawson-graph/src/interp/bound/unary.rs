//! Functions of one float with a range. Monotone functions are evaluated at both ends; then the range is widened by what
//! a target's own evaluation may be off.
//!
//! How far off, in units in the last place of the accumulator dtype (f32 for narrower floats, whose own rounding comes on
//! top, with half a unit to spare):
//!
//! | functions | units |
//! | --- | --- |
//! | neg, abs, sign, floor, ceil, round, trunc | exact |
//! | sqrt | 0.5 (correctly rounded) |
//! | rsqrt | 2 |
//! | all others | 4 |
//!
//! Composites that targets compute as a whole have promises of their own ([`Promise`]).
//!
//! For sin and cos of arguments beyond 0.8 the units are those of 1, since the result may be near a zero; beyond 2^15 the
//! argument itself counts as rounded to the accumulator dtype, and beyond that accuracy nothing is promised.

use super::directed::{self, Toward, greatest, least};
use super::float::FloatBound;
use crate::composite::Promise;
use crate::dtype::DType;
use crate::interp::scalar::unary_float;
use crate::op::UnaryKind;
use std::f64::consts::{FRAC_PI_2, PI};

/// How a function goes where it is defined.
enum Course {
    Rising,
    Falling,
    /// Even, rising with the magnitude.
    Valley,
    Wave,
    /// Rising between poles.
    Poles,
}

fn course(kind: UnaryKind) -> Course {
    match kind {
        UnaryKind::Neg | UnaryKind::Acos | UnaryKind::Rsqrt => Course::Falling,
        UnaryKind::Abs | UnaryKind::Cosh => Course::Valley,
        UnaryKind::Sin | UnaryKind::Cos => Course::Wave,
        UnaryKind::Tan => Course::Poles,
        _ => Course::Rising,
    }
}

/// How far off a target's evaluation may be, in units in the last place; 0 for what is exact or correctly rounded.
fn units(kind: UnaryKind) -> f64 {
    match kind {
        UnaryKind::Neg
        | UnaryKind::Abs
        | UnaryKind::Sign
        | UnaryKind::Floor
        | UnaryKind::Ceil
        | UnaryKind::Round
        | UnaryKind::Trunc
        | UnaryKind::Sqrt => 0.0,
        UnaryKind::Rsqrt => 2.0,
        _ => 4.0,
    }
}

/// The arguments beyond which sin, cos and tan count their argument as rounded.
const FAR: f64 = 32768.0;

pub(super) fn apply(kind: UnaryKind, x: FloatBound, dtype: DType) -> FloatBound {
    let value = unary_float(kind, x.value);
    if x.is_nan() {
        return FloatBound::point(f64::NAN);
    }
    if x.is_anything() {
        return FloatBound::anything(value);
    }
    if x.is_point() && is_certain(x.lo, value) {
        return FloatBound::point(value).rounded(dtype);
    }
    let k = units(kind);
    let at = |x: f64, toward: Toward| -> f64 {
        match kind {
            UnaryKind::Sqrt => directed::sqrt(x, toward),
            _ if k == 0.0 => unary_float(kind, x),
            _ => widened(unary_float(kind, x), k, dtype, toward, 0.0),
        }
    };
    let range = match course(kind) {
        Course::Rising => FloatBound::range(value, at(x.lo, Toward::Down), at(x.hi, Toward::Up)),
        // At a zero the sign decides between the infinities, so a range must not hold both zeros.
        Course::Falling if kind == UnaryKind::Rsqrt && x.straddles() => FloatBound::anything(value),
        Course::Falling => FloatBound::range(value, at(x.hi, Toward::Down), at(x.lo, Toward::Up)),
        Course::Valley => {
            let ends = |toward| (at(x.lo, toward), at(x.hi, toward));
            let ((a, b), (c, d)) = (ends(Toward::Down), ends(Toward::Up));
            let bottom = if x.straddles() { at(0.0, Toward::Down) } else { least(a, b) };
            FloatBound::range(value, bottom, greatest(c, d))
        }
        Course::Wave => wave(kind, x, value, k, dtype),
        Course::Poles => {
            let off = argument_error(x, dtype);
            let (lo, hi) = (x.lo - off, x.hi + off);
            // Between the same two poles, with room for the rounding of their places.
            let branch = |x: f64, slack: f64| ((x + FRAC_PI_2 + slack) / PI).floor();
            let slack = 1e-15 * (1.0 + x.magnitude());
            if branch(lo, -slack) != branch(hi, slack) {
                FloatBound::anything(value)
            } else {
                let (a, b) = (unary_float(kind, lo), unary_float(kind, hi));
                FloatBound::range(
                    value,
                    widened(a, k, dtype, Toward::Down, 0.0),
                    widened(b, k, dtype, Toward::Up, 0.0),
                )
            }
        }
    };
    match kind {
        // A result that underflows is a zero, but never below.
        UnaryKind::Exp | UnaryKind::Exp2 | UnaryKind::Rsqrt => range.not_negative(),
        _ => range,
    }
    .rounded(dtype)
}

/// Results that no accuracy can change: NaN of a single argument outside the domain, and what zeros and infinities give.
fn is_certain(x: f64, y: f64) -> bool {
    y.is_nan() || ((x == 0.0 || x.is_infinite()) && (y == 0.0 || y.is_infinite()))
}

/// Sine and cosine change no faster than their argument and stay within 1.
fn wave(kind: UnaryKind, x: FloatBound, value: f64, k: f64, dtype: DType) -> FloatBound {
    let radius = (x.hi - x.value).max(x.value - x.lo) + argument_error(x, dtype);
    if !radius.is_finite() || !value.is_finite() {
        return FloatBound::anything(value);
    }
    let radius = radius * (1.0 + 1e-15);
    let near_zero = kind == UnaryKind::Sin && x.magnitude() < 0.8;
    let scale = if near_zero { 0.0 } else { 1.0 };
    let lo = widened((value - radius).max(-1.0), k, dtype, Toward::Down, scale);
    let hi = widened((value + radius).min(1.0), k, dtype, Toward::Up, scale);
    FloatBound::range(value, lo, hi)
}

/// What an argument far out may be off before a periodic function is evaluated.
fn argument_error(x: FloatBound, dtype: DType) -> f64 {
    let u = dtype.accumulator().unit_roundoff().unwrap_or(0.0);
    if x.magnitude() > FAR { x.magnitude() * u } else { 0.0 }
}

/// A result that a target may compute in another way, as near to it as it promises.
pub(super) fn promised(x: FloatBound, promise: Promise, dtype: DType) -> FloatBound {
    if x.is_nan() || x.is_anything() {
        return x;
    }
    let (least, greatest) = promise.range;
    let lo = widened(x.lo, promise.units, dtype, Toward::Down, 0.0).max(least);
    let hi = widened(x.hi, promise.units, dtype, Toward::Up, 0.0).min(greatest);
    FloatBound::range(x.value, lo, hi).rounded(dtype)
}

/// Moves `y` by `k` units in the last place of `max(|y|, scale)`, and what f64 may be off itself. Zero is not crossed,
/// unless a scale says that the error does not shrink towards it.
pub(super) fn widened(y: f64, k: f64, dtype: DType, toward: Toward, scale: f64) -> f64 {
    if y.is_nan() {
        return y;
    }
    if y.is_infinite() {
        // The exact result is finite, only beyond f64.
        return match toward {
            Toward::Down if y > 0.0 => f64::MAX,
            Toward::Up if y < 0.0 => f64::MIN,
            _ => y,
        };
    }
    let kept = dtype.accumulator();
    let (unit, least) = (kept.unit_roundoff().unwrap_or(0.0) * 2.0, kept.min_subnormal().unwrap_or(0.0));
    let mut relative = k * unit + 4.0 * f64::EPSILON;
    let mut absolute = k * least;
    if kept != dtype {
        relative += dtype.unit_roundoff().unwrap_or(0.0) * 2.0;
        absolute += dtype.min_subnormal().unwrap_or(0.0);
    }
    let off = relative * y.abs().max(scale) + absolute;
    match toward {
        Toward::Down if y > 0.0 && scale == 0.0 => (y - off).max(0.0),
        Toward::Up if y < 0.0 && scale == 0.0 => (y + off).min(-0.0),
        Toward::Down => y - off,
        Toward::Up => y + off,
    }
}
