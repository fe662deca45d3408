//! The error function and what is made of it: `erf`, `gelu`.
//!
//! The range up to where erf rounds to 1 is cut into eight intervals, each with a polynomial of degree 6 around its
//! centre; a lane looks its coefficients up.

use super::arithmetic::twice;
use super::{Arithmetic, TABLE, polynomial};

/// The width of an interval; the first is halved by 0. Exact, and so are its multiples.
const WIDTH: f32 = 0.53125;

/// erf at the centres `0`, `WIDTH`, … `7·WIDTH`.
const AT_CENTRE: [f32; TABLE] = twice([
    0.0,
    5.475_284_5e-1,
    8.670_583e-1,
    9.757_977e-1,
    9.973_46e-1,
    9.998_277e-1,
    9.999_934_4e-1,
    9.999_999e-1,
]);

/// `(erf(centre + t) - erf(centre) - t) / t`, highest power first. The `t` is added apart: near 0, where it is most of the
/// result, it is exact.
const COEFFICIENTS: [[f32; TABLE]; 6] = [
    twice([
        -2.013_365_2e-2,
        -4.747_603_5e-2,
        9.336_657e-3,
        1.655_275_4e-2,
        -2.910_636_6e-3,
        -8.124_146e-4,
        1.294_643e-4,
        -2.284_488_9e-3,
    ]),
    twice([
        1.185_444_9e-1,
        -9.738_181e-4,
        -6.474_465e-2,
        -5.755_569e-3,
        1.221_986_8e-2,
        3.905_979_5e-3,
        4.848_439_4e-4,
        4.299_171_3e-5,
    ]),
    twice([
        -7.364_702e-4,
        1.834_577_8e-1,
        4.805_569e-2,
        -4.925_629_5e-2,
        -2.623_588e-2,
        -4.923_215e-3,
        -4.557_439_5e-4,
        2.242_485_4e-4,
    ]),
    twice([
        -3.760_852_2e-1,
        -1.235_719_25e-1,
        1.529_388_6e-1,
        1.210_567_36e-1,
        3.304_965e-2,
        4.249_459e-3,
        2.777_986_2e-4,
        8.425_28e-6,
    ]),
    twice([
        -7.157_724e-7,
        -4.520_476_5e-1,
        -3.877_115_8e-1,
        -1.418_219_7e-1,
        -2.622_756_4e-2,
        -2.581_579_8e-3,
        -1.376_012_4e-4,
        -1.058_895_6e-5,
    ]),
    twice([
        1.283_791_7e-1,
        -1.490_857_8e-1,
        -6.350_966e-1,
        -9.110_126e-1,
        -9.876_593_4e-1,
        -9.990_267e-1,
        -9.999_563e-1,
        -9.999_988_7e-1,
    ]),
];

/// `erf(x)/x - 1` in `x²` for `x` up to [`SPLIT`], highest power first.
const SMALL: [f32; 7] = [
    8.382_388e-5,
    -8.145_597e-4,
    5.201_286e-3,
    -2.685_95e-2,
    1.128_369_7e-1,
    -3.761_263_5e-1,
    1.283_791_7e-1,
];
/// `log2(1 - erf(x))/x` from [`SPLIT`] to 4, highest power first.
const LARGE: [f32; 6] =
    [3.080_614_6e-4, -4.632_941e-3, 3.300_682_5e-2, -1.518_359e-1, -9.171_659e-1, -1.628_096_8];
/// `2^r` for `|r| <= 1/2`, highest power first, within 2^-23: it is felt as a part of what is left to 1 alone.
const POWER: [f32; 6] = [1.326_472_8e-3, 9.671_513e-3, 5.550_733_6e-2, 2.402_224_2e-1, 6.931_470_6e-1, 1.0];
/// Where the two meet.
const SPLIT: f32 = 0.92;

/// The error function of what is not negative, without tables: an odd polynomial, and from [`SPLIT`] on what an exponential lacks
/// to 1.
fn erf_of_magnitude<K: Arithmetic>(k: &mut K, a: K::F) -> K::F {
    let (end, split, one) = (k.f(4.0), k.f(SPLIT), k.f(1.0));
    let a = k.min(end, a);
    let square = k.mul(a, a);
    let slope = polynomial(k, square, &SMALL);
    let small = k.fma(slope, a, a);
    let slope = polynomial(k, a, &LARGE);
    let exponent = k.mul(slope, a);
    let n = k.nearest(exponent, one);
    let r = k.sub(exponent, n.0);
    let p = polynomial(k, r, &POWER);
    let power = k.power_of_two(n);
    let large = k.fnma(p, power, one);
    let is_small = k.lt(a, split);
    k.select(is_small, small, large)
}

/// The error function.
pub fn erf<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    if !K::TABLES {
        let a = k.abs(x);
        let magnitude = erf_of_magnitude(k, a);
        return k.or_sign(magnitude, x);
    }
    // Near the end of the last interval, where erf rounds to 1.
    let end = k.f(7.49 * WIDTH);
    let a = k.abs(x);
    let a = k.min(end, a);
    let (inverse, width) = (k.f(1.0 / WIDTH), k.f(WIDTH));
    let (n, index) = k.nearest(a, inverse);
    let t = k.fnma(n, width, a);
    let [first, rest @ ..] = &COEFFICIENTS;
    let first = k.lookup(index, first);
    let slope = rest.iter().fold(first, |sum, table| {
        let c = k.lookup(index, table);
        k.fma(sum, t, c)
    });
    let at_centre = k.lookup(index, &AT_CENTRE);
    let lead = k.add(at_centre, t);
    let magnitude = k.fma(slope, t, lead);
    k.or_sign(magnitude, x)
}

/// `x·(1 + erf(x/√2)) / 2`: within 3·2^-24 of `max(|x|, 1)`, absolutely. Where it falls towards 0, at negative `x`, the
/// sum cancels and relative accuracy is lost.
pub fn gelu<K: Arithmetic>(k: &mut K, x: K::F) -> K::F {
    let (scale, half) = (k.f(std::f32::consts::FRAC_1_SQRT_2), k.f(0.5));
    let argument = k.mul(x, scale);
    let erf = erf(k, argument);
    let gate = k.fma(erf, half, half);
    k.mul(x, gate)
}
