//! The inverse trigonometric functions: `asin`, `acos`, `atan`, `atan2`.

use super::{Arithmetic, polynomial};
use std::f32::consts::{FRAC_PI_2, PI};

/// `(asin(s) - s) / s³` in `s²` for `s` up to 1/2, highest power first.
const ASIN_TAIL: [f32; 5] = [4.172_013_3e-2, 2.447_399_9e-2, 4.540_164_8e-2, 7.495_957e-2, 1.666_673_1e-1];

/// `(atan(q) - q) / q³` in `q²` for `q` up to 1, highest power first.
const ATAN_TAIL: [f32; 9] = [
    -1.664_223_5e-3,
    1.045_057_4e-2,
    -3.055_142_4e-2,
    5.759_589_7e-2,
    -8.399_807e-2,
    1.095_762_1e-1,
    -1.426_667_3e-1,
    1.999_890_7e-1,
    -3.333_331_3e-1,
];

/// The greatest distance of [`atan2`] from the true value, in units in the last place of the result.
pub const ATAN2_MAX_ULP: f64 = 2.0;

/// `asin(s)` of an `s` up to 1/2 that leads to the inverse sine of `x`.
struct HalfArc<K: Arithmetic> {
    /// Whether `|x| <= 1/2` and `s` is `|x|`. Elsewhere `s` is `sqrt((1 - |x|) / 2)`, and `asin|x|` is `π/2 - 2·asin(s)`.
    direct: K::B,
    /// `asin(s)`; NaN beyond 1.
    arc: K::F,
}

fn half_arc<K: Arithmetic>(k: &mut K, x: K::F) -> HalfArc<K> {
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
pub fn asin<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let HalfArc { direct, arc } = half_arc(k, x);
    let (two, quarter_turn) = (k.f(2.0), k.f(FRAC_PI_2));
    let other = k.fnma(two, arc, quarter_turn);
    let magnitude = k.select(direct, arc, other);
    k.or_sign(magnitude, x)
}

/// The inverse cosine; NaN beyond 1: `π/2 - asin(x)` up to 1/2, then `2·asin(s)`, or `π - 2·asin(s)` of negative `x`.
pub fn acos<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let HalfArc { direct, arc } = half_arc(k, x);
    let (zero, quarter_turn, half_turn) = (k.f(0.0), k.f(FRAC_PI_2), k.f(PI));
    let negative = k.lt(x, zero);
    let double = k.add(arc, arc);
    let arc = k.select(direct, arc, double);
    let opposite = k.neg(arc);
    // From the quarter turn against the sign of x, from 0 with it, from the half turn against it.
    let against = k.select(negative, arc, opposite);
    let with = k.select(negative, opposite, arc);
    let (step, far) = (k.select(direct, against, with), k.select(negative, half_turn, zero));
    let origin = k.select(direct, quarter_turn, far);
    k.add(origin, step)
}

/// `atan(q)` for `q` from 0 to 1.
fn atan_up_to_one<K: Arithmetic>(k: &mut K, q: K::F) -> K::F {
    let square = k.mul(q, q);
    let tail = polynomial(k, square, &ATAN_TAIL);
    let cube = k.mul(square, q);
    k.fma(cube, tail, q)
}

/// The inverse tangent.
pub fn atan<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    // From far below this end on it rounds to π/2.
    let (end, one, quarter_turn) = (k.f(1e12), k.f(1.0), k.f(FRAC_PI_2));
    let a = k.abs(x);
    let a = k.min(end, a);
    let (lesser, greater) = (k.min(one, a), k.max(one, a));
    let q = k.quotient(lesser, greater);
    let near = atan_up_to_one(k, q);
    let far = k.sub(quarter_turn, near);
    let is_far = k.lt(one, a);
    let magnitude = k.select(is_far, far, near);
    k.or_sign(magnitude, x)
}

/// The angle of the point (`x`, `y`), from -π to π, with the sign of `y`; zeros and infinities as IEEE 754 asks.
pub fn atan2<K: Arithmetic>(k: &mut K, y: K::F, x: K::F) -> K::F {
    let (zero, one, infinity) = (k.f(0.0), k.f(1.0), k.f(f32::INFINITY));
    let (quarter_turn, half_turn) = (k.f(FRAC_PI_2), k.f(PI));
    let (a, b) = (k.abs(y), k.abs(x));
    let steep = k.lt(b, a);
    let (lesser, greater) = (k.select(steep, b, a), k.select(steep, a, b));
    // 0/0 is no direction and counts as 0, inf/inf as the diagonal.
    let at_origin = k.eq(greater, zero);
    let greater = k.select(at_origin, one, greater);
    let diagonal = k.eq(lesser, infinity);
    let lesser = k.select(diagonal, one, lesser);
    let greater = k.select(diagonal, one, greater);
    let q = k.div(lesser, greater);
    let angle = atan_up_to_one(k, q);
    let turned = k.sub(quarter_turn, angle);
    let angle = k.select(steep, turned, angle);
    let (bits, none) = (k.bits(x), k.i(0));
    let left = k.i_lt(bits, none);
    let turned = k.sub(half_turn, angle);
    let angle = k.select(left, turned, angle);
    let angle = k.copy_sign(angle, y);
    // The comparisons above may have dropped a NaN.
    let sum = k.add(a, b);
    let is_nan = k.is_nan(sum);
    k.select(is_nan, sum, angle)
}
