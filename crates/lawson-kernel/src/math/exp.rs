//! The exponentials and what is made of them: `exp`, `exp2`, `expm1`, `sigmoid`, `tanh`, `sinh`, `cosh`.
//!
//! `exp`, `exp2` and `sigmoid` reduce `x = n·ln2 + r` with `n` a multiple of 1/16, so that a short polynomial in `r` does; the
//! fraction of `2^n` is looked up. Where `e^x - 1` is wanted, or tables are dear, `n` is whole, `|r| <= ln2 / 2`, and a polynomial of degree 6 keeps
//! what is near 0 exact. Arguments are clamped first to where results leave the range of f32. `tanh` is polynomials alone, one for
//! each half of a power of two.

use super::{Arithmetic, TABLE, clamp, odd, polynomial};

const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 rounded to f32, and what it lacks.
const LN_2: (f32, f32) = (std::f32::consts::LN_2, -1.904_654_3e-9);

/// `(e^r - 1 - r) / r²` for `|r| <= ln2 / 2`, highest power first; e^r is then within 2^-28.
const EXP_TAIL: [f32; 5] = [1.381_837_6e-3, 8.368_541e-3, 4.166_829_2e-2, 1.666_652_3e-1, 4.999_999_4e-1];

/// `(r, n)` with `x = n·ln2 + r`, for `|x|` up to some hundreds.
fn reduce<K: Arithmetic>(k: &mut K, x: K::F) -> (K::F, (K::F, K::I)) {
    let log2_e = k.f(LOG2_E);
    let (high, low) = (k.f(LN_2.0), k.f(LN_2.1));
    let n = k.nearest(x, log2_e);
    let r = k.fnma(n.0, high, x);
    (k.fnma(n.0, low, r), n)
}

/// `n - 1`
fn less_one<K: Arithmetic>(k: &mut K, n: (K::F, K::I)) -> (K::F, K::I) {
    let (one, integer_one) = (k.f(1.0), k.i(1));
    (k.sub(n.0, one), k.i_sub(n.1, integer_one))
}

/// `e^r` for the `r` of [`reduce`].
fn exp_reduced<K: Arithmetic>(k: &mut K, r: K::F) -> K::F {
    let one = k.f(1.0);
    let tail = polynomial(k, r, &EXP_TAIL);
    let p = k.fma(tail, r, one);
    k.fma(p, r, one)
}

/// `2^(j/16)`.
const SIXTEENTHS: [f32; TABLE] = [
    1.0,
    1.044_273_7,
    1.090_507_7,
    1.138_788_6,
    1.189_207_1,
    1.241_857_8,
    1.296_839_6,
    1.354_255_6,
    std::f32::consts::SQRT_2,
    1.476_826_2,
    1.542_210_8,
    1.610_490_3,
    1.681_792_9,
    1.756_252_2,
    1.834_008_1,
    1.915_206_6,
];

/// `2^n·(1 + g)` for the `n` of [`Arithmetic::nearest_sixteenth`] and a small `g`.
fn grown<K: Arithmetic>(k: &mut K, n: (K::F, K::I), g: K::F) -> K::F {
    let power = k.lookup(n.1, &SIXTEENTHS);
    let p = k.fma(power, g, power);
    k.scale_down(p, n)
}

/// `e^x` for `x` up to some hundreds in magnitude.
pub(super) fn exp_bounded<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    if !K::TABLES {
        let (r, n) = reduce(k, x);
        let p = exp_reduced(k, r);
        return k.scale(p, n);
    }
    let log2_e = k.f(LOG2_E);
    let (high, low) = (k.f(LN_2.0), k.f(LN_2.1));
    let n = k.nearest_sixteenth(x, log2_e);
    let r = k.fnma(n.0, high, x);
    let r = k.fnma(n.0, low, r);
    // (e^r - 1 - r) / r² for |r| <= ln2 / 32; e^r is then within 2^-29.
    let tail = polynomial(k, r, &[1.666_705_8e-1, 5.000_162e-1]);
    let square = k.mul(r, r);
    let g = k.fma(square, tail, r);
    grown(k, n, g)
}

/// `e^x`.
pub fn exp<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    // e^-104 rounds to 0, e^89 to infinity.
    let x = clamp(k, x, -104.0, 89.0);
    exp_bounded(k, x)
}

/// `2^r` for `|r| <= 1/2`, highest power first, within 2^-27; the last coefficient is 1.
pub(super) const EXP2: [f32; 7] =
    [1.582_386_5e-4, 1.341_774_7e-3, 9.617_065e-3, 5.550_272_8e-2, 2.402_265_5e-1, 6.931_472_4e-1, 1.0];

/// `2^x`.
pub fn exp2<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let x = clamp(k, x, -151.0, 129.0);
    let one = k.f(1.0);
    if !K::TABLES {
        let n = k.nearest(x, one);
        let r = k.sub(x, n.0);
        let p = polynomial(k, r, &EXP2);
        return k.scale(p, n);
    }
    let n = k.nearest_sixteenth(x, one);
    let r = k.sub(x, n.0);
    // (2^r - 1) / r for |r| <= 1/32; 2^r is then within 2^-29.
    let slope = polynomial(k, r, &[5.550_595e-2, 2.402_343e-1, 6.931_472e-1]);
    let g = k.mul(slope, r);
    grown(k, n, g)
}

/// `e^x - 1`: with `g = e^r - 1` it is `2^n·g + (2^n - 1)`.
///
/// Computed at half its size, because `2^128` is no f32; that would cost the smallest numbers their last bit, and zeros their
/// sign, so these are their own result.
pub fn expm1<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    // From -18 down it rounds to -1.
    let bounded = clamp(k, x, -18.0, 89.0);
    let (r, n) = reduce(k, bounded);
    let tail = polynomial(k, r, &EXP_TAIL);
    let square = k.mul(r, r);
    let g = k.fma(square, tail, r);
    let minus_half = k.f(-0.5);
    let below = less_one(k, n);
    let half_power = k.power_of_two(below);
    let constant = k.add(half_power, minus_half);
    let half = k.fma(half_power, g, constant);
    let result = k.add(half, half);
    let (magnitude, tiny) = (k.abs(x), k.f(TINY));
    let is_tiny = k.lt(magnitude, tiny);
    k.select(is_tiny, x, result)
}

/// Below this magnitude a function `x + c·x² + …` with `|c| <= 1/2` rounds to `x`, or to its neighbour from less than a
/// unit away.
const TINY: f32 = 5.960_464_5e-8;

/// `e^|x| / 2` and `e^-|x| / 2`.
fn halves<K: Arithmetic>(k: &mut K, x: K::F) -> (K::F, K::F) {
    let end = k.f(90.0);
    let a = k.abs(x);
    let a = k.min(end, a);
    let (r, n) = reduce(k, a);
    let p = exp_reduced(k, r);
    let below = less_one(k, n);
    let grown = k.scale(p, below);
    // Where this bound is felt, the other half is not.
    let (quarter, bound) = (k.f(0.25), k.f(1e15));
    let bounded = k.min(bound, grown);
    let shrunk = k.quotient(quarter, bounded);
    (grown, shrunk)
}

/// The hyperbolic cosine.
pub fn cosh<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let (grown, shrunk) = halves(k, x);
    k.add(grown, shrunk)
}

/// The hyperbolic sine; up to 1, where the halves cancel, an odd polynomial.
pub fn sinh<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    /// `(sinh(x) - x) / x³` in `x²`.
    const TAIL: [f32; 4] = [2.776_058_6e-6, 1.984_387_3e-4, 8.333_307e-3, 1.666_666_7e-1];
    let (grown, shrunk) = halves(k, x);
    let large = k.sub(grown, shrunk);
    let (a, one) = (k.abs(x), k.f(1.0));
    let small = odd(k, a, &TAIL);
    let is_small = k.lt(a, one);
    let magnitude = k.select(is_small, small, large);
    k.or_sign(magnitude, x)
}

/// `e^x / (e^x + 1)`, which is `1 / (1 + e^-x)`, overflows nowhere and keeps its relative accuracy down to the
/// subnormals.
pub fn sigmoid<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    // From 18 on it rounds to 1.
    let x = clamp(k, x, -104.0, 18.0);
    let power = exp_bounded(k, x);
    fraction(k, power)
}

/// `h / (h + 1)` for `h` from 0 to 2^30.
///
/// The quotient is corrected by what it leaves of `h`, taken without the rounding of `h + 1`.
fn fraction<K: Arithmetic>(k: &mut K, h: K::F) -> K::F {
    let one = k.f(1.0);
    let sum = k.add(h, one);
    let inverse = k.reciprocal_estimate(sum);
    let quotient = k.mul(h, inverse);
    let rest = k.sub(h, quotient);
    let rest = k.fnma(quotient, h, rest);
    k.fma(rest, inverse, quotient)
}

/// Where the polynomials of [`tanh`] have their origin. An index is the lowest bit of the exponent and above, and the highest bit of the
/// mantissa: 6 is from 0 to 3/32, 7 to 1/8, … 15 to 2, 0 to 3, … 4 to the end.
const TANH_ORIGIN: [f32; TABLE] = [
    2.4997172, 3.5005865, 4.99977, 6.998237, 8.513815, 0.0, 0.0, 0.10934932, 0.15629765, 0.21874551,
    0.31252342, 0.43750852, 0.62510663, 0.875142, 1.2497119, 1.749765,
];

/// tanh at the origins, which are such that it is close to an f32.
const TANH_THERE: [f32; TABLE] = [
    0.9866068, 0.99818003, 0.99990916, 0.99999833, 0.99999994, 0.0, 0.0, 0.10891555, 0.15503724, 0.21532206,
    0.302731, 0.41157714, 0.55467355, 0.7039772, 0.8482028, 0.9413488,
];

/// `(tanh(origin + t) - tanh(origin)) / t`, highest power first.
const TANH_SLOPE: [[f32; TABLE]; 6] = [
    [
        -6.965099e-04,
        -1.5765097e-04,
        -9.379952e-06,
        -1.7258967e-07,
        -3.4921777e-05,
        0.0,
        0.0,
        1.0661912,
        -0.06743596,
        -0.07003088,
        -0.07295907,
        -0.061673954,
        -0.024336401,
        0.0129244365,
        0.015102012,
        2.1018048e-03,
    ],
    [
        2.8881128e-03,
        4.897106e-04,
        2.8439978e-05,
        5.2370734e-07,
        -3.381164e-07,
        0.0,
        0.13267563,
        0.11986939,
        0.107242085,
        0.08494937,
        0.045495868,
        -5.9655346e-03,
        -0.05435926,
        -0.058536306,
        -0.019716669,
        3.480192e-03,
    ],
    [
        -8.055756e-03,
        -1.1959113e-03,
        -5.959121e-05,
        -1.095944e-06,
        1.3692093e-05,
        0.0,
        0.0,
        0.07005537,
        0.09726126,
        0.12738054,
        0.15812664,
        0.16999589,
        0.13787305,
        0.0607549,
        -0.01255727,
        -0.023528958,
    ],
    [
        0.017026717,
        2.4089573e-03,
        1.1895379e-04,
        2.185869e-06,
        1.7633855e-07,
        0.0,
        -0.33333156,
        -0.3176572,
        -0.3018624,
        -0.27366477,
        -0.21953759,
        -0.13616756,
        -0.017778834,
        0.08183944,
        0.10834059,
        0.06295027,
    ],
    [
        -0.026250515,
        -3.630052e-03,
        -1.8184214e-04,
        -3.3412757e-06,
        -1.5257438e-06,
        0.0,
        0.0,
        -0.10762349,
        -0.15131068,
        -0.20533897,
        -0.27498692,
        -0.34185773,
        -0.3840212,
        -0.35509744,
        -0.23796499,
        -0.10718422,
    ],
    [
        0.026607163,
        3.6366922e-03,
        1.8192039e-04,
        3.342566e-06,
        1.5959819e-07,
        0.0,
        1.0,
        0.9881374,
        0.9759635,
        0.9536364,
        0.9083539,
        0.83060426,
        0.6923373,
        0.50441605,
        0.28055185,
        0.1138624,
    ],
];

/// `(tanh(x) - x) / x³` in `x²` for `x` up to 1, highest power first.
const TANH_TAIL: [f32; 7] = [
    -3.584_500_2e-4,
    2.301_357_7e-3,
    -7.946_096e-3,
    2.148_665_1e-2,
    -5.387_98e-2,
    1.333_234_5e-1,
    -3.333_329_6e-1,
];

/// The hyperbolic tangent of what is not negative and at most 9.02, without tables: an odd polynomial, and from 1 on
/// `1 - 2 / (e^2x + 1)`.
fn tanh_of_magnitude<K: Arithmetic>(k: &mut K, a: K::F) -> K::F {
    let (one, two) = (k.f(1.0), k.f(2.0));
    let small = odd(k, a, &TANH_TAIL);
    let twice = k.add(a, a);
    let power = exp_bounded(k, twice);
    let below = k.add(power, one);
    let lacks = k.quotient(two, below);
    let large = k.sub(one, lacks);
    let is_small = k.lt(a, one);
    k.select(is_small, small, large)
}

/// The hyperbolic tangent.
pub fn tanh<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    // From the end on it rounds to 1; below 1/16 one polynomial does.
    let (end, least) = (k.f(9.02), k.f(0.0625));
    let a = k.abs(x);
    let a = k.min(end, a);
    if !K::TABLES {
        let magnitude = tanh_of_magnitude(k, a);
        return k.or_sign(magnitude, x);
    }
    let place = k.max(least, a);
    let place = k.bits(place);
    let index = k.i_shr(place, 22);
    let origin = k.lookup(index, &TANH_ORIGIN);
    let t = k.sub(a, origin);
    let [first, rest @ ..] = &TANH_SLOPE;
    let first = k.lookup(index, first);
    let slope = rest.iter().fold(first, |sum, table| {
        let c = k.lookup(index, table);
        k.fma(sum, t, c)
    });
    let there = k.lookup(index, &TANH_THERE);
    let magnitude = k.fma(slope, t, there);
    k.or_sign(magnitude, x)
}
