//! Reduction of large arguments by multiples of π: what is left of `x/π` after whole pairs, exactly enough for every f64.
//!
//! `x = X·2^(64g)` with an `X` below 2^117 and `g` from 0 to 15. A table gives `2^(64g)/π`, less a multiple of 2, in five parts; `X`
//! times these, each product exact in two floats and less its multiples of 2, is summed in three floats.

use super::{Double, MAGIC, TABLE};

/// Numbers from here on are reduced so; what smaller ones give is not meant.
pub(super) const LARGE: f64 = 8_589_934_592.0;

/// `x = r + n·unit`.
pub(super) struct Turns<K: Double> {
    /// Up to half a unit in magnitude.
    pub(super) r: K::F,
    /// Right in its low bits.
    pub(super) n: K::I,
}

/// π and what it lacks.
const PI: (f64, f64) = (std::f64::consts::PI, 1.224_646_799_147_353_2e-16);

/// `2^(64g)/π` less a multiple of 2, for each `g`, in five parts, the greatest first.
const INVERSE_PI: [[f64; TABLE]; 5] = [
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

/// A number as the sum of three floats, the greatest first.
type Triple<F> = [F; 3];

/// `x + offset·π = r + n·π` for finite `x` from [`LARGE`] on; NaN for infinity and NaN.
pub(super) fn half_turns<K: Double>(k: &mut K, x: K::F, offset: f64) -> Turns<K> {
    let sum = over_pi(k, x, offset);
    fraction(k, sum, 1.0)
}

/// `x = r + n·π/2`, likewise.
pub(super) fn quarter_turns<K: Double>(k: &mut K, x: K::F) -> Turns<K> {
    let two = k.f(2.0);
    let sum = over_pi(k, x, 0.0);
    let sum = sum.map(|part| k.mul(part, two));
    fraction(k, sum, 0.5)
}

/// `x/π + offset` less a multiple of 2.
fn over_pi<K: Double>(k: &mut K, x: K::F, offset: f64) -> Triple<K::F> {
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
    // The bits of infinity and NaN would have become those of a number.
    let zero = k.f(0.0);
    let poison = k.mul(x, zero);
    let whole = k.add(shrunk, poison);
    let mut sum = [k.f(offset), zero, zero];
    for table in &INVERSE_PI {
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

/// `x` less the multiple of 2 nearest to it; exact.
fn less_pairs<K: Double>(k: &mut K, x: K::F) -> K::F {
    let (half, two) = (k.f(0.5), k.f(2.0));
    let halved = k.mul(x, half);
    let pairs = k.round_even(halved);
    k.fnma(pairs, two, x)
}

/// `sum + term`, with what each addition loses going into the next.
fn add<K: Double>(k: &mut K, sum: Triple<K::F>, term: K::F) -> Triple<K::F> {
    let (first, lost) = two_sum(k, sum[0], term);
    let (second, lost) = two_sum(k, sum[1], lost);
    let third = k.add(sum[2], lost);
    [first, second, third]
}

/// `a + b`, and what its rounding lost.
pub(super) fn two_sum<K: Double>(k: &mut K, a: K::F, b: K::F) -> (K::F, K::F) {
    let sum = k.add(a, b);
    let b_in = k.sub(sum, a);
    let a_in = k.sub(sum, b_in);
    let (a_lost, b_lost) = (k.sub(a, a_in), k.sub(b, b_in));
    (sum, k.add(a_lost, b_lost))
}

/// The whole part of a sum, and its fraction times `unit·π`.
fn fraction<K: Double>(k: &mut K, sum: Triple<K::F>, unit: f64) -> Turns<K> {
    let whole = k.round_even(sum[0]);
    let first = k.sub(sum[0], whole);
    let (first, second) = two_sum(k, first, sum[1]);
    let (first, lost) = two_sum(k, first, sum[2]);
    let second = k.add(second, lost);
    let (high, low) = (k.f(PI.0 * unit), k.f(PI.1 * unit));
    let small = k.mul(second, high);
    let small = k.fma(first, low, small);
    let r = k.fma(first, high, small);
    let magic = k.f(MAGIC);
    let held = k.add(whole, magic);
    Turns { r, n: k.bits(held) }
}
