//! Reduction of large arguments by multiples of π: what is left of `x/π` after whole pairs, exactly enough for every number.
//!
//! `x = X·2^(wg)` with an `X` of a limited size. A table gives `2^(wg)/π`, less a multiple of 2, in parts; `X` times these, each
//! product exact in two floats and less its multiples of 2, is summed in three floats. [`Turning`] has what differs between f32 and f64.

use super::arithmetic::twice;
use super::double::Double;
use super::pair::two_sum;
use super::{Arithmetic, Lanes, Number, TABLE};

/// `x = r + n·unit`.
pub(super) struct Turns<K: Lanes> {
    /// Up to half a unit in magnitude.
    pub(super) r: K::F,
    /// Right in its low bits.
    pub(super) n: K::I,
}

/// A number as the sum of three floats, the greatest first.
type Triple<F> = [F; 3];

/// A precision, as reductions of large arguments need it in the lanes of `K`.
pub trait Turning<K: Lanes<C = Self>>: Number {
    /// π and what it lacks.
    const PI: (Self, Self);

    /// `x/π + offset` less a multiple of 2, for positive `x` that are not small; NaN for infinity and NaN.
    fn over_pi(k: &mut K, x: K::F, offset: Self) -> Triple<K::F>;

    /// An integer whose low bits are the small whole number `whole`.
    fn low_bits(k: &mut K, whole: K::F) -> K::I;
}

/// The `2^(16g)/π` of `x = X·2^(16g)` with an `X` below 2^40, less a multiple of 2, for each `g` from 0 to 7, in four parts, the greatest first.
const INVERSE_PI_SINGLE: [[f32; TABLE]; 4] = [
    twice([
        3.183_098_7e-1,
        7.567_009_3e-1,
        -8.471_368e-1,
        4.133_594_4e-2,
        9.924_876_7e-1,
        -3.284_762_8e-1,
        9.789_189_7e-1,
        4.331_12e-1,
    ]),
    twice([
        1.284_127_65e-8,
        7.925_866e-9,
        -2.491_462_9e-8,
        8.548_432_5e-10,
        -5.360_013_3e-9,
        6.154_438_3e-9,
        -7.350_816e-9,
        1.147_673_1e-8,
    ]),
    twice([
        1.468_547_7e-16,
        -2.668_918_1e-17,
        6.093_746_7e-16,
        -1.938_374e-17,
        2.064_553_2e-16,
        1.900_222_7e-16,
        1.498_702_2e-16,
        4.181_649_5e-16,
    ]),
    twice([
        3.037_013_3e-24,
        8.097_428e-25,
        2.186_495_7e-23,
        3.544_357_5e-25,
        1.068_870_1e-24,
        -2.797_770_5e-24,
        1.473_832e-24,
        8.244_631e-25,
    ]),
];

/// Reduces `x` from 1 on.
impl<K: Arithmetic> Turning<K> for f32 {
    // PI lacks this share of itself.
    const PI: (f32, f32) = (std::f32::consts::PI, std::f32::consts::PI * -2.782_753_5e-8);

    fn over_pi(k: &mut K, x: K::F, offset: f32) -> Triple<K::F> {
        // 16g is the exponent less 23, rounded down to a multiple of 16.
        let bits = k.bits(x);
        let exponent = k.i_shr(bits, 23);
        let (bias, bound) = (k.i(127 + 23), k.i(0));
        let above = k.i_sub(exponent, bias);
        let negative = k.i_lt(above, bound);
        let above = k.i_select(negative, bound, above);
        let g = k.i_shr(above, 4);
        let power = k.i_shl(g, 23 + 4);
        let shrunk = k.i_sub(bits, power);
        let shrunk = k.of_bits(shrunk);
        let (zero, one) = (k.f(0.0), k.f(1.0));
        let whole = poisoned(k, shrunk, x, zero);
        let start = [k.f(offset), zero, zero];
        products(k, whole, g, &INVERSE_PI_SINGLE, start, |k, term| {
            let half = k.f(0.5);
            let halved = k.mul(term, half);
            let pairs = k.round_even(halved);
            let two = k.add(one, one);
            k.fnma(pairs, two, term)
        })
    }

    fn low_bits(k: &mut K, whole: K::F) -> K::I {
        k.to_int(whole)
    }
}

/// The `2^(64g)/π` of `x = X·2^(64g)` with an `X` below 2^117, less a multiple of 2, for each `g` from 0 to 15, in five parts, the greatest first.
const INVERSE_PI_DOUBLE: [[f64; TABLE]; 5] = [
    [
        std::f64::consts::FRAC_1_PI,
        0.9924876636310758,
        0.42848651404904736,
        0.9967147013952551,
        0.8576998182408279,
        0.01227709395326139,
        0.49632200932736065,
        -0.5458815706448461,
        0.4562716529127888,
        0.6124407715994153,
        0.3056974275668714,
        -0.43755650521869854,
        -0.032844020594875144,
        -0.28669360848662423,
        -0.3451671778901188,
        0.728818737892606,
    ],
    [
        -1.9678676675182486e-17,
        -1.5589282983320628e-17,
        1.788755488206856e-18,
        3.734305073381521e-17,
        1.994998551633008e-17,
        7.858471907781079e-19,
        -5.233762727171069e-18,
        3.1358177320697655e-17,
        -1.210986385108331e-17,
        -4.194205218443446e-17,
        1.6025832730510928e-18,
        4.3190039107009567e-19,
        8.518200463304582e-19,
        1.1907512347133591e-17,
        1.5109919540497076e-17,
        1.0279277199305778e-17,
    ],
    [
        -1.0721436282893004e-33,
        3.4315323997329435e-34,
        -2.2049753468198506e-35,
        1.3311768587243277e-33,
        -1.3894857613584355e-33,
        -3.338564376510924e-35,
        3.1466354616174015e-34,
        3.0326831853751042e-33,
        3.106899327580826e-34,
        -6.589422766316958e-34,
        -3.909703862825095e-35,
        -7.100828395759598e-36,
        3.6547730758880666e-36,
        -8.208686234720763e-36,
        5.72317692973514e-34,
        2.4785654239263237e-34,
    ],
    [
        8.053563926594112e-50,
        -1.692554237635867e-51,
        4.062588308710918e-52,
        1.312145158202509e-50,
        6.570017578800855e-50,
        -1.6951819473852854e-51,
        -1.5538090586889453e-50,
        -1.6661333235980704e-49,
        -2.708486042485527e-51,
        4.0120672658118405e-50,
        -2.6183370892396645e-51,
        -2.764747837976965e-52,
        -1.6749278815320903e-52,
        -1.3602239007707343e-52,
        1.3794879366499225e-50,
        -5.984309304452465e-52,
    ],
    [
        -1.5602765906819714e-66,
        -1.0647276263165104e-67,
        -3.6380746191304464e-68,
        5.3212349013905945e-67,
        -2.0062085351904438e-67,
        1.2434338600717136e-67,
        1.0666376568538746e-66,
        -2.1561229024096342e-66,
        -2.461561665483689e-69,
        -2.1633625586881476e-66,
        -1.5663201176274105e-68,
        1.1473521269712702e-68,
        -1.4562824411536857e-69,
        -8.525193467801857e-69,
        9.110413197568544e-67,
        -1.8800885694081487e-68,
    ],
];

/// Reduces `x` from 2^33 on.
impl<K: Double> Turning<K> for f64 {
    const PI: (f64, f64) = (std::f64::consts::PI, 1.224_646_799_147_353_2e-16);

    fn over_pi(k: &mut K, x: K::F, offset: f64) -> Triple<K::F> {
        // 64g is the exponent less 52, rounded down to a multiple of 64: X is whole, and times what the table leaves out too.
        let whole = k.f(4_503_599_627_370_496.0);
        let raised = k.max(whole, x);
        let raised = k.bits(raised);
        let bits = k.bits(x);
        let exponent = k.i_shr(raised, 52);
        let bias = k.i(1023 + 52);
        let above = k.i_sub(exponent, bias);
        let g = k.i_shr(above, 6);
        let power = k.i_shl(g, 52 + 6);
        let shrunk = k.i_sub(bits, power);
        let shrunk = k.of_bits(shrunk);
        let zero = k.f(0.0);
        let whole = poisoned(k, shrunk, x, zero);
        let start = [k.f(offset), zero, zero];
        products(k, whole, g, &INVERSE_PI_DOUBLE, start, |k, term| {
            let (half, two) = (k.f(0.5), k.f(2.0));
            let halved = k.mul(term, half);
            let pairs = k.round_even(halved);
            k.fnma(pairs, two, term)
        })
    }

    fn low_bits(k: &mut K, whole: K::F) -> K::I {
        let magic = k.f(f64::MAGIC);
        let held = k.add(whole, magic);
        k.bits(held)
    }
}

/// `shrunk`, but NaN where `x` is infinite or NaN, whose bits have become those of a number.
fn poisoned<K: Lanes>(k: &mut K, shrunk: K::F, x: K::F, zero: K::F) -> K::F {
    let poison = k.mul(x, zero);
    k.add(shrunk, poison)
}

/// `sum` and the products of `whole` with the entries at `g`; `less_pairs` takes from each the multiple of 2 nearest to it, which is exact.
fn products<K: Lanes>(
    k: &mut K,
    whole: K::F,
    g: K::I,
    tables: &[[K::C; TABLE]],
    mut sum: Triple<K::F>,
    less_pairs: impl Fn(&mut K, K::F) -> K::F,
) -> Triple<K::F> {
    for table in tables {
        let factor = k.lookup(g, table);
        let product = k.mul(whole, factor);
        let rest = k.fms(whole, factor, product);
        for term in [product, rest] {
            let term = less_pairs(k, term);
            sum = add(k, sum, term);
        }
    }
    sum
}

/// `sum + term`, with what each addition loses going into the next.
fn add<K: Lanes>(k: &mut K, sum: Triple<K::F>, term: K::F) -> Triple<K::F> {
    let (first, lost) = two_sum(k, sum[0], term);
    let (second, lost) = two_sum(k, sum[1], lost);
    let third = k.add(sum[2], lost);
    [first, second, third]
}

/// `x + offset·π = r + n·π`; NaN for infinity and NaN.
pub(super) fn half_turns<K: Lanes>(k: &mut K, x: K::F, offset: f32) -> Turns<K>
where
    K::C: Turning<K>,
{
    let sum = K::C::over_pi(k, x, offset.into());
    fraction(k, sum, 1.0)
}

/// `x = r + n·π/2`; NaN for infinity and NaN.
pub(super) fn quarter_turns<K: Lanes>(k: &mut K, x: K::F) -> Turns<K>
where
    K::C: Turning<K>,
{
    let two = k.exact(2.0);
    let sum = K::C::over_pi(k, x, 0.0.into());
    let sum = sum.map(|part| k.mul(part, two));
    fraction(k, sum, 0.5)
}

/// The whole part of a sum, and its fraction times `unit·π`, for `unit` a power of two.
fn fraction<K: Lanes>(k: &mut K, sum: Triple<K::F>, unit: f32) -> Turns<K>
where
    K::C: Turning<K>,
{
    let whole = k.round_even(sum[0]);
    let first = k.sub(sum[0], whole);
    let (first, second) = two_sum(k, first, sum[1]);
    let (first, lost) = two_sum(k, first, sum[2]);
    let second = k.add(second, lost);
    let (high, low) = (k.f(K::C::PI.0 * unit.into()), k.f(K::C::PI.1 * unit.into()));
    let small = k.mul(second, high);
    let small = k.fma(first, low, small);
    let r = k.fma(first, high, small);
    Turns { r, n: K::C::low_bits(k, whole) }
}
