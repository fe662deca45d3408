//! The trigonometric functions of both precisions: `sin`, `cos`, both at once, `tan`.
//!
//! `x` is reduced by a multiple of π (of π/2 for the tangent, and for sine and cosine together) in three parts, each a
//! fused multiplication; where that is not exact enough any more, which is rare, by [`turns`]. Then polynomials give the results.
//! [`Circular`] has what differs between f32 and f64.

use super::double::Double;
use super::turns::{self, Turning, Turns};
use super::{Arithmetic, Lanes, Number, odd, polynomial};

/// A precision, as the functions of this file need it in the lanes of `K`. Polynomials have their highest power first.
pub trait Circular<K: Lanes<C = Self>>: Turning<K> {
    /// `1/π`
    const FRAC_1_PI: Self;
    /// `2/π`
    const FRAC_2_PI: Self;
    /// π in three parts.
    const PI_PARTS: [Self; 3];
    /// Where [`Circular::is_large`] begins.
    const LARGE: Self;
    /// `(sin(r) - r) / r³` in `r²` for `r` up to π/2.
    const SIN_TAIL: &'static [Self];
    /// Whether the sine of that polynomial may round beyond 1.
    const SINE_EXCEEDS_ONE: bool;
    /// `(sin(r) - r) / r³` in `r²` for `r` up to π/4.
    const SIN_TAIL_NEAR: &'static [Self];
    /// `(cos(r) - 1) / r²` in `r²` for `r` up to π/4.
    const COS_TAIL_NEAR: &'static [Self];
    /// `(tan(r) - r) / r³` in `r²` for `r` up to π/4.
    const TAN_TAIL: &'static [Self];

    /// Whether the three parts are not exact enough for `a`, which is not negative; `large` is [`Circular::LARGE`].
    fn is_large(k: &mut K, a: K::F, large: K::F) -> K::B;

    /// The sine and the cosine of `r` up to π/4 in magnitude.
    fn sin_cos_near(k: &mut K, r: K::F) -> [K::F; 2];
}

impl<K: Arithmetic> Circular<K> for f32 {
    const FRAC_1_PI: f32 = std::f32::consts::FRAC_1_PI;
    const FRAC_2_PI: f32 = std::f32::consts::FRAC_2_PI;
    const PI_PARTS: [f32; 3] = [std::f32::consts::PI, -8.742_278e-8, -3.430_249e-15];
    const LARGE: f32 = 131_072.0;
    const SIN_TAIL: &'static [f32] = &[2.602_810_6e-6, -1.980_881_6e-4, 8.333_07e-3, -1.666_666_1e-1];
    const SINE_EXCEEDS_ONE: bool = false;
    const SIN_TAIL_NEAR: &'static [f32] = &[-1.951_789_7e-4, 8.332_187e-3, -1.666_665_5e-1];
    const COS_TAIL_NEAR: &'static [f32] = &[-1.359_101_7e-3, 4.165_571_6e-2, -4.999_988_4e-1];
    const TAN_TAIL: &'static [f32] = &[
        4.425_133_6e-3,
        1.067_007_1e-5,
        1.087_792_8e-2,
        2.127_617_4e-2,
        5.405_829_5e-2,
        1.333_271_6e-1,
        3.333_334_6e-1,
    ];

    fn is_large(k: &mut K, a: K::F, large: K::F) -> K::B {
        k.lt(large, a)
    }

    fn sin_cos_near(k: &mut K, r: K::F) -> [K::F; 2] {
        let one = k.f(1.0);
        let square = k.mul(r, r);
        let tail = polynomial(k, square, <f32 as Circular<K>>::SIN_TAIL_NEAR);
        let cube = k.mul(square, r);
        let sine = k.fma(cube, tail, r);
        let tail = polynomial(k, square, <f32 as Circular<K>>::COS_TAIL_NEAR);
        [sine, k.fma(square, tail, one)]
    }
}

impl<K: Double> Circular<K> for f64 {
    const FRAC_1_PI: f64 = std::f64::consts::FRAC_1_PI;
    const FRAC_2_PI: f64 = std::f64::consts::FRAC_2_PI;
    const PI_PARTS: [f64; 3] = [std::f64::consts::PI, 1.2246467991473532e-16, -2.9947698097183397e-33];
    const LARGE: f64 = 8_589_934_592.0;
    const SIN_TAIL: &'static [f64] = &[
        2.7211125975939897e-15,
        -7.642985986129064e-13,
        1.6058939513235679e-10,
        -2.505210686941908e-08,
        2.7557319211106477e-06,
        -0.00019841269841209088,
        0.008333333333333194,
        -0.16666666666666666,
    ];
    const SINE_EXCEEDS_ONE: bool = true;
    const SIN_TAIL_NEAR: &'static [f64] = &[
        1.5895904899045328e-10,
        -2.505074231049274e-08,
        2.7557313587634704e-06,
        -0.00019841269829495533,
        0.008333333333322005,
        -0.1666666666666663,
    ];
    const COS_TAIL_NEAR: &'static [f64] = &[
        -1.1353044662639077e-11,
        2.087557737786288e-09,
        -2.7557313080158756e-07,
        2.480158728395242e-05,
        -0.0013888888888861726,
        0.04166666666666647,
        -0.5,
    ];
    const TAN_TAIL: &'static [f64] = &[
        4.558970323670089e-06,
        -1.2694426531539447e-05,
        2.5993041068674554e-05,
        -1.864997866515766e-05,
        3.4482167260356904e-05,
        2.9409791156616076e-05,
        0.00010076807845641574,
        0.0002380156838642763,
        0.0005902651184994132,
        0.0014557973478279836,
        0.0035921321576796155,
        0.008863235214121912,
        0.021869488551899918,
        0.053968253967788295,
        0.13333333333334024,
        0.3333333333333333,
    ];

    fn is_large(k: &mut K, a: K::F, large: K::F) -> K::B {
        k.le(large, a)
    }

    fn sin_cos_near(k: &mut K, r: K::F) -> [K::F; 2] {
        let one = k.f(1.0);
        let sine = odd(k, r, <f64 as Circular<K>>::SIN_TAIL_NEAR);
        let square = k.mul(r, r);
        let tail = polynomial(k, square, <f64 as Circular<K>>::COS_TAIL_NEAR);
        [sine, k.fma(square, tail, one)]
    }
}

/// `x - n·π·unit`, for `unit` a power of two.
fn reduce<K: Lanes>(k: &mut K, x: K::F, n: K::F, unit: f32) -> K::F
where
    K::C: Circular<K>,
{
    K::C::PI_PARTS.into_iter().fold(x, |r, part| {
        let part = k.f(part * unit.into());
        k.fnma(n, part, r)
    })
}

/// `sin(r + n·π)` for whole `n`.
fn sin_of_parts<K: Lanes>(k: &mut K, r: K::F, n: K::I) -> K::F
where
    K::C: Circular<K>,
{
    let mut sine = odd(k, r, K::C::SIN_TAIL);
    if K::C::SINE_EXCEEDS_ONE {
        let (one, minus_one) = (k.exact(1.0), k.exact(-1.0));
        sine = k.min(one, sine);
        sine = k.max(minus_one, sine);
    }
    let sign = k.i_shl(n, K::C::BITS - 1);
    k.flip_sign(sine, sign)
}

/// The sine.
pub fn sin<K: Lanes>(k: &mut K, x: K::F) -> K::F
where
    K::C: Circular<K>,
{
    let (inverse, large) = (k.f(K::C::FRAC_1_PI), k.f(K::C::LARGE));
    let a = k.abs(x);
    let (n, integer) = k.nearest(a, inverse);
    let r = reduce(k, a, n, 1.0);
    let common = sin_of_parts(k, r, integer);
    let is_large = K::C::is_large(k, a, large);
    let [result] = k.if_any(is_large, [common], |k| {
        let Turns { r, n } = turns::half_turns(k, a, 0.0);
        [sin_of_parts(k, r, n)]
    });
    let sign = k.bits(x);
    k.flip_sign(result, sign)
}

/// The cosine, as the sine of `x + π/2`: `n` below is half a turn less than a multiple of π.
pub fn cos<K: Lanes>(k: &mut K, x: K::F) -> K::F
where
    K::C: Circular<K>,
{
    let (inverse, half, minus_half) = (k.f(K::C::FRAC_1_PI), k.exact(0.5), k.exact(-0.5));
    let (one, large) = (k.exact(1.0), k.f(K::C::LARGE));
    let a = k.abs(x);
    let halves = k.fma(a, inverse, half);
    let (n, integer) = k.nearest(halves, one);
    let n = k.add(n, minus_half);
    let r = reduce(k, a, n, 1.0);
    let common = sin_of_parts(k, r, integer);
    let is_large = K::C::is_large(k, a, large);
    let [result] = k.if_any(is_large, [common], |k| {
        let Turns { r, n } = turns::half_turns(k, a, 0.5);
        [sin_of_parts(k, r, n)]
    });
    result
}

/// `sin(r + n·π/2)` and `cos(r + n·π/2)` for whole `n`.
fn sin_cos_of_parts<K: Lanes>(k: &mut K, r: K::F, n: K::I) -> [K::F; 2]
where
    K::C: Circular<K>,
{
    let near = K::C::sin_cos_near(k, r);
    let [sine, cosine] = k.swap_where_odd(n, near);
    // The sine is negative in the third and fourth quarter of a turn, the cosine in the second and third.
    let step = k.i_exact(1);
    let next = k.i_add(n, step);
    let [sine_sign, cosine_sign] = [n, next].map(|n| k.i_shl(n, K::C::BITS - 2));
    [k.flip_sign(sine, sine_sign), k.flip_sign(cosine, cosine_sign)]
}

/// The sine and the cosine of one number: one reduction serves both.
pub fn sin_cos<K: Lanes>(k: &mut K, x: K::F) -> [K::F; 2]
where
    K::C: Circular<K>,
{
    let (inverse, large) = (k.f(K::C::FRAC_2_PI), k.f(K::C::LARGE));
    let a = k.abs(x);
    let (n, integer) = k.nearest(a, inverse);
    let r = reduce(k, a, n, 0.5);
    let common = sin_cos_of_parts(k, r, integer);
    let is_large = K::C::is_large(k, a, large);
    let [sine, cosine] = k.if_any(is_large, common, |k| {
        let Turns { r, n } = turns::quarter_turns(k, a);
        sin_cos_of_parts(k, r, n)
    });
    let sign = k.bits(x);
    [k.flip_sign(sine, sign), cosine]
}

/// `tan(r + n·π/2)` for whole `n`: of odd `n` it is `-1 / tan(r)`.
fn tan_of_parts<K: Lanes>(k: &mut K, r: K::F, n: K::I) -> K::F
where
    K::C: Circular<K>,
{
    let tangent = odd(k, r, K::C::TAN_TAIL);
    let (one, minus_one) = (k.exact(1.0), k.exact(-1.0));
    let (lowest, none) = (k.i_exact(1), k.i_exact(0));
    let parity = k.i_and(n, lowest);
    let even = k.i_eq(parity, none);
    let (above, below) = (k.select(even, tangent, minus_one), k.select(even, one, tangent));
    k.quotient(above, below)
}

/// The tangent.
pub fn tan<K: Lanes>(k: &mut K, x: K::F) -> K::F
where
    K::C: Circular<K>,
{
    let (inverse, large) = (k.f(K::C::FRAC_2_PI), k.f(K::C::LARGE));
    let a = k.abs(x);
    let (n, integer) = k.nearest(a, inverse);
    let r = reduce(k, a, n, 0.5);
    let common = tan_of_parts(k, r, integer);
    let is_large = K::C::is_large(k, a, large);
    let [result] = k.if_any(is_large, [common], |k| {
        let Turns { r, n } = turns::quarter_turns(k, a);
        [tan_of_parts(k, r, n)]
    });
    let sign = k.bits(x);
    k.flip_sign(result, sign)
}
