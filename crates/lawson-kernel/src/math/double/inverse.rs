//! The inverse trigonometric functions: `asin`, `acos`, `atan`, `atan2`.

use super::Double;
use crate::math::inverse::{HalfArc, Octant, zero_one_infinity};
use crate::math::polynomial;
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

/// Makes every subnormal number a normal one.
const TWO_TO_100: f64 = 1_267_650_600_228_229_401_496_703_205_376.0;

/// What π/2 lacks; half of it and twice of it are what π/4 and π do.
const QUARTER_TURN_LACKS: f64 = 6.123233995736766e-17;

/// The inverse sine; NaN beyond 1.
pub fn asin<K: Double>(k: &mut K, x: K::F) -> K::F {
    let HalfArc { direct, arc } = HalfArc::of(k, x, &ASIN_TAIL);
    let (two, quarter_turn, lacks) = (k.f(2.0), k.f(FRAC_PI_2), k.f(QUARTER_TURN_LACKS));
    let step = k.fnma(two, arc, lacks);
    let other = k.add(quarter_turn, step);
    let magnitude = k.select(direct, arc, other);
    k.copy_sign(magnitude, x)
}

/// The inverse cosine; NaN beyond 1: `π/2 - asin(x)` up to 1/2, then `2·asin(s)`, or `π - 2·asin(s)` of negative `x`.
pub fn acos<K: Double>(k: &mut K, x: K::F) -> K::F {
    let half_arc = HalfArc::of(k, x, &ASIN_TAIL);
    let direct = half_arc.direct;
    let (zero, quarter_turn, half_turn) = (k.f(0.0), k.f(FRAC_PI_2), k.f(PI));
    let (lacks, twice) = (k.f(QUARTER_TURN_LACKS), k.f(2.0 * QUARTER_TURN_LACKS));
    let negative = k.lt(x, zero);
    let step = half_arc.step(k, negative);
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
    let constants = zero_one_infinity(k);
    let (quarter_turn, half_turn) = (k.f(FRAC_PI_2), k.f(PI));
    let (lacks, twice) = (k.f(QUARTER_TURN_LACKS), k.f(2.0 * QUARTER_TURN_LACKS));
    let octant = Octant::of(k, y, x, constants);
    let Octant { lesser, greater, .. } = octant;
    // The sum of the two shall be finite, and what they are compared by shall have all its bits.
    let (huge, quarter) = (k.f(1e300), k.f(0.25));
    let (tiny, many, one) = (k.f(1e-290), k.f(TWO_TO_100), k.f(1.0));
    let (is_huge, is_tiny) = (k.lt(huge, greater), k.lt(greater, tiny));
    let scale = k.select(is_tiny, many, one);
    let scale = k.select(is_huge, quarter, scale);
    let (lesser, greater) = (k.mul(lesser, scale), k.mul(greater, scale));
    let angle = angle(k, lesser, greater);
    let step = k.sub(lacks, angle);
    let turned = k.add(quarter_turn, step);
    let angle = k.select(octant.steep, turned, angle);
    let bits = k.bits(x);
    let sign = k.i_shr(bits, 63);
    let none = k.i(0);
    let right = k.i_eq(sign, none);
    let step = k.sub(twice, angle);
    let turned = k.add(half_turn, step);
    let angle = k.select(right, angle, turned);
    octant.signed(k, angle, y)
}
