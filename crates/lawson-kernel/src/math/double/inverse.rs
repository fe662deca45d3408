//! The inverse trigonometric functions: `asin`, `acos`, `atan`, `atan2`.

use super::{Double, polynomial};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// `(asin(s) - s) / s³` in `s²` for `s` up to 1/2, highest power first.
const ASIN_TAIL: [f64; 14] = [
    0.0334791688473133,
    -0.02585090109564362,
    0.024583854764593367,
    0.0007985800407570867,
    0.009973081332919862,
    0.009491907774161026,
    0.011584477149815848,
    0.013962033755454238,
    0.01735293326684643,
    0.022372152223270776,
    0.030381944623574155,
    0.04464285714012405,
    0.07500000000002058,
    0.1666666666666666,
];

/// `(atan(q) - q) / q³` in `q²` for `q` up to tan(π/8), highest power first.
const ATAN_TAIL: [f64; 13] = [
    -0.013059656312968923,
    0.02970236993901873,
    -0.04059708949432573,
    0.04706966140590654,
    -0.05255825421028705,
    0.058816602881062954,
    -0.06666620461466849,
    0.0769230554942255,
    -0.09090909023960844,
    0.11111111109776575,
    -0.1428571428569882,
    0.19999999999999912,
    -0.3333333333333333,
];

/// The greatest distance of [`atan2`] from the true value, in units in the last place of the result.
pub const ATAN2_MAX_ULP: f64 = 2.5;

/// What π/2 lacks; half of it and twice of it are what π/4 and π do.
const QUARTER_TURN_LACKS: f64 = 6.123233995736766e-17;

/// `asin(s)` of an `s` up to 1/2 that leads to the inverse sine of `x`.
struct HalfArc<K: Double> {
    /// Whether `|x| <= 1/2` and `s` is `|x|`. Elsewhere `s` is `sqrt((1 - |x|) / 2)`, and `asin|x|` is `π/2 - 2·asin(s)`.
    direct: K::B,
    /// `asin(s)`; NaN beyond 1.
    arc: K::F,
}

fn half_arc<K: Double>(k: &mut K, x: K::F) -> HalfArc<K> {
    let half = k.f(0.5);
    let magnitude = k.abs(x);
    let direct = k.le(magnitude, half);
    let own_square = k.mul(magnitude, magnitude);
    let other_square = k.fnma(magnitude, half, half);
    let other = k.sqrt(other_square);
    let square = k.select(direct, own_square, other_square);
    let s = k.select(direct, magnitude, other);
    let tail = polynomial(k, square, &ASIN_TAIL);
    let cube = k.mul(square, s);
    let arc = k.fma(cube, tail, s);
    HalfArc { direct, arc }
}

/// The inverse sine; NaN beyond 1.
pub fn asin<K: Double>(k: &mut K, x: K::F) -> K::F {
    let HalfArc { direct, arc } = half_arc(k, x);
    let (two, quarter_turn, lacks) = (k.f(2.0), k.f(FRAC_PI_2), k.f(QUARTER_TURN_LACKS));
    let step = k.fnma(two, arc, lacks);
    let other = k.add(quarter_turn, step);
    let magnitude = k.select(direct, arc, other);
    k.copy_sign(magnitude, x)
}

/// The inverse cosine; NaN beyond 1: `π/2 - asin(x)` up to 1/2, then `2·asin(s)`, or `π - 2·asin(s)` of negative `x`.
pub fn acos<K: Double>(k: &mut K, x: K::F) -> K::F {
    let HalfArc { direct, arc } = half_arc(k, x);
    let (zero, quarter_turn, half_turn) = (k.f(0.0), k.f(FRAC_PI_2), k.f(PI));
    let (lacks, twice) = (k.f(QUARTER_TURN_LACKS), k.f(2.0 * QUARTER_TURN_LACKS));
    let negative = k.lt(x, zero);
    let double = k.add(arc, arc);
    let arc = k.select(direct, arc, double);
    let opposite = k.neg(arc);
    // From the quarter turn against the sign of x, from 0 with it, from the half turn against it.
    let against = k.select(negative, arc, opposite);
    let with = k.select(negative, opposite, arc);
    let step = k.select(direct, against, with);
    let (far, far_lacks) = (k.select(negative, half_turn, zero), k.select(negative, twice, zero));
    let (origin, lacks) = (k.select(direct, quarter_turn, far), k.select(direct, lacks, far_lacks));
    let step = k.add(step, lacks);
    k.add(origin, step)
}

/// `atan(lesser / greater)` for numbers from 0 on, of which the second is not 0.
fn angle<K: Double>(k: &mut K, lesser: K::F, greater: K::F) -> K::F {
    /// tan(π/8): beyond it, `atan(q)` is `π/4 + atan((q - 1) / (q + 1))`.
    const BORDER: f64 = 0.414_213_562_373_095;
    let (border, zero, eighth) = (k.f(BORDER), k.f(0.0), k.f(FRAC_PI_4));
    let lacks = k.f(QUARTER_TURN_LACKS / 2.0);
    let at = k.mul(greater, border);
    let beyond = k.lt(at, lesser);
    let (difference, sum) = (k.sub(lesser, greater), k.add(lesser, greater));
    let (above, below) = (k.select(beyond, difference, lesser), k.select(beyond, sum, greater));
    let q = k.div(above, below);
    let square = k.mul(q, q);
    let tail = polynomial(k, square, &ATAN_TAIL);
    let cube = k.mul(square, q);
    let (origin, lacks) = (k.select(beyond, eighth, zero), k.select(beyond, lacks, zero));
    let tail = k.fma(cube, tail, lacks);
    let arc = k.add(q, tail);
    k.add(origin, arc)
}

/// The inverse tangent.
pub fn atan<K: Double>(k: &mut K, x: K::F) -> K::F {
    // From far below this end on it rounds to π/2.
    let (end, one, quarter_turn) = (k.f(1e20), k.f(1.0), k.f(FRAC_PI_2));
    let lacks = k.f(QUARTER_TURN_LACKS);
    let a = k.abs(x);
    let a = k.min(end, a);
    let (lesser, greater) = (k.min(one, a), k.max(one, a));
    let near = angle(k, lesser, greater);
    let step = k.sub(lacks, near);
    let far = k.add(quarter_turn, step);
    let is_far = k.lt(one, a);
    let magnitude = k.select(is_far, far, near);
    k.or_sign(magnitude, x)
}

/// The angle of the point (`x`, `y`), from -π to π, with the sign of `y`; zeros and infinities as IEEE 754 asks.
pub fn atan2<K: Double>(k: &mut K, y: K::F, x: K::F) -> K::F {
    let (zero, one, infinity) = (k.f(0.0), k.f(1.0), k.f(f64::INFINITY));
    let (quarter_turn, half_turn) = (k.f(FRAC_PI_2), k.f(PI));
    let (lacks, twice) = (k.f(QUARTER_TURN_LACKS), k.f(2.0 * QUARTER_TURN_LACKS));
    let (a, b) = (k.abs(y), k.abs(x));
    let steep = k.lt(b, a);
    let (lesser, greater) = (k.select(steep, b, a), k.select(steep, a, b));
    // 0/0 is no direction and counts as 0, inf/inf as the diagonal.
    let at_origin = k.eq(greater, zero);
    let greater = k.select(at_origin, one, greater);
    let diagonal = k.eq(lesser, infinity);
    let lesser = k.select(diagonal, one, lesser);
    let greater = k.select(diagonal, one, greater);
    // The sum of the two shall be finite.
    let (huge, quarter) = (k.f(1e300), k.f(0.25));
    let is_huge = k.lt(huge, greater);
    let (less, more) = (k.mul(lesser, quarter), k.mul(greater, quarter));
    let (lesser, greater) = (k.select(is_huge, less, lesser), k.select(is_huge, more, greater));
    let angle = angle(k, lesser, greater);
    let step = k.sub(lacks, angle);
    let turned = k.add(quarter_turn, step);
    let angle = k.select(steep, turned, angle);
    let bits = k.bits(x);
    let sign = k.i_shr(bits, 63);
    let none = k.i(0);
    let right = k.i_eq(sign, none);
    let step = k.sub(twice, angle);
    let turned = k.add(half_turn, step);
    let angle = k.select(right, angle, turned);
    let angle = k.copy_sign(angle, y);
    // The comparisons above may have dropped a NaN.
    let sum = k.add(a, b);
    let is_nan = k.is_nan(sum);
    k.select(is_nan, sum, angle)
}
