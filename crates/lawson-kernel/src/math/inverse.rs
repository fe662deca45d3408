//! The inverse trigonometric functions: `asin`, `acos`, `atan`, `atan2`; and what those of f64 share with them.

use super::{Arithmetic, Lanes, Number, odd, polynomial};
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
pub(super) struct HalfArc<K: Lanes> {
    /// Whether `|x| <= 1/2` and `s` is `|x|`. Elsewhere `s` is `sqrt((1 - |x|) / 2)`, and `asin|x|` is `π/2 - 2·asin(s)`.
    pub(super) direct: K::B,
    /// `asin(s)`; NaN beyond 1.
    pub(super) arc: K::F,
}

impl<K: Lanes> HalfArc<K> {
    /// That of `x`, with `tail` as of [`ASIN_TAIL`].
    pub(super) fn of(k: &mut K, x: K::F, tail: &[K::C]) -> HalfArc<K> {
        let half = k.exact(0.5);
        let magnitude = k.abs(x);
        let direct = k.le(magnitude, half);
        let own_square = k.mul(magnitude, magnitude);
        let other_square = k.fnma(magnitude, half, half);
        let other = k.sqrt(other_square);
        let square = k.select(direct, own_square, other_square);
        let s = k.select(direct, magnitude, other);
        let tail = polynomial(k, square, tail);
        let cube = k.mul(square, s);
        let arc = k.fma(cube, tail, s);
        HalfArc { direct, arc }
    }

    /// What to add for the inverse cosine of `x`, which may be `negative`: to the quarter turn against the sign of `x` where it is direct; else to 0 with
    /// it, or to the half turn against it.
    pub(super) fn step(self, k: &mut K, negative: K::B) -> K::F {
        let HalfArc { direct, arc } = self;
        let double = k.add(arc, arc);
        let arc = k.select(direct, arc, double);
        let opposite = k.neg(arc);
        let against = k.select(negative, arc, opposite);
        let with = k.select(negative, opposite, arc);
        k.select(direct, against, with)
    }
}

/// The point (`x`, `y`) turned into the eighth of a turn from the positive half of the first axis to the diagonal.
pub(super) struct Octant<K: Lanes> {
    /// `|y|`
    a: K::F,
    /// `|x|`
    b: K::F,
    /// Whether it is nearer to the second axis: the angle is to be taken from there.
    pub(super) steep: K::B,
    /// The distance from the axis; 1 on the diagonal at infinity.
    pub(super) lesser: K::F,
    /// The distance along the axis; 1 at the origin, and on the diagonal at infinity.
    pub(super) greater: K::F,
}

impl<K: Lanes> Octant<K> {
    /// That of a point.
    pub(super) fn of(k: &mut K, y: K::F, x: K::F, [zero, one, infinity]: [K::F; 3]) -> Octant<K> {
        let (a, b) = (k.abs(y), k.abs(x));
        let steep = k.lt(b, a);
        let (lesser, greater) = (k.select(steep, b, a), k.select(steep, a, b));
        // 0/0 is no direction and counts as 0, inf/inf as the diagonal.
        let at_origin = k.eq(greater, zero);
        let greater = k.select(at_origin, one, greater);
        let diagonal = k.eq(lesser, infinity);
        let lesser = k.select(diagonal, one, lesser);
        let greater = k.select(diagonal, one, greater);
        Octant { a, b, steep, lesser, greater }
    }

    /// `angle` with the sign of `y`, or NaN if a coordinate is: the comparisons may have dropped it.
    pub(super) fn signed(self, k: &mut K, angle: K::F, y: K::F) -> K::F {
        let angle = k.copy_sign(angle, y);
        let sum = k.add(self.a, self.b);
        let is_nan = k.is_nan(sum);
        k.select(is_nan, sum, angle)
    }
}

/// The constants 0, 1 and infinity, as [`Octant::of`] takes them.
pub(super) fn zero_one_infinity<K: Lanes>(k: &mut K) -> [K::F; 3] {
    [k.exact(0.0), k.exact(1.0), k.f(K::C::INFINITY)]
}

/// The inverse sine; NaN beyond 1.
pub fn asin<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let HalfArc { direct, arc } = HalfArc::of(k, x, &ASIN_TAIL);
    let (two, quarter_turn) = (k.f(2.0), k.f(FRAC_PI_2));
    let other = k.fnma(two, arc, quarter_turn);
    let magnitude = k.select(direct, arc, other);
    k.or_sign(magnitude, x)
}

/// The inverse cosine; NaN beyond 1: `π/2 - asin(x)` up to 1/2, then `2·asin(s)`, or `π - 2·asin(s)` of negative `x`.
pub fn acos<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let half_arc = HalfArc::of(k, x, &ASIN_TAIL);
    let direct = half_arc.direct;
    let (zero, quarter_turn, half_turn) = (k.f(0.0), k.f(FRAC_PI_2), k.f(PI));
    let negative = k.lt(x, zero);
    let step = half_arc.step(k, negative);
    let far = k.select(negative, half_turn, zero);
    let origin = k.select(direct, quarter_turn, far);
    k.add(origin, step)
}

/// The inverse tangent.
pub fn atan<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    // From far below this end on it rounds to π/2.
    let (end, one, quarter_turn) = (k.f(1e12), k.f(1.0), k.f(FRAC_PI_2));
    let a = k.abs(x);
    let a = k.min(end, a);
    let (lesser, greater) = (k.min(one, a), k.max(one, a));
    let q = k.quotient(lesser, greater);
    let near = odd(k, q, &ATAN_TAIL);
    let far = k.sub(quarter_turn, near);
    let is_far = k.lt(one, a);
    let magnitude = k.select(is_far, far, near);
    k.or_sign(magnitude, x)
}

/// The angle of the point (`x`, `y`), from -π to π, with the sign of `y`; zeros and infinities as IEEE 754 asks.
pub fn atan2<K: Arithmetic>(k: &mut K, y: K::F, x: K::F) -> K::F {
    let constants = zero_one_infinity(k);
    let (quarter_turn, half_turn) = (k.f(FRAC_PI_2), k.f(PI));
    let octant = Octant::of(k, y, x, constants);
    let q = k.div(octant.lesser, octant.greater);
    let angle = odd(k, q, &ATAN_TAIL);
    let turned = k.sub(quarter_turn, angle);
    let angle = k.select(octant.steep, turned, angle);
    let (bits, none) = (k.bits(x), k.i(0));
    let left = k.i_lt(bits, none);
    let turned = k.sub(half_turn, angle);
    let angle = k.select(left, turned, angle);
    octant.signed(k, angle, y)
}
