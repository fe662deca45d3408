//! Reduction of large arguments by multiples of π: what is left of `x/π` after whole pairs, exactly enough for every f32.
//!
//! `x = X·2^(16g)` with an `X` below 2^40 and `g` from 0 to 7. A table gives `2^(16g)/π`, less a multiple of 2, in four
//! parts; `X` times these, each product exact in two floats and less its multiples of 2, is summed in three floats.

use super::{Arithmetic, TABLE, twice};
use std::f32::consts::PI;

/// `x = r + n·unit`.
pub(super) struct Turns<K: Arithmetic> {
    /// Up to half a unit in magnitude.
    pub(super) r: K::F,
    /// Right in its low bits.
    pub(super) n: K::I,
}

/// `2^(16g)/π` less a multiple of 2, for each `g`, in four parts, the greatest first.
const INVERSE_PI: [[f32; TABLE]; 4] = [
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

/// A number as the sum of three floats, the greatest first.
type Triple<F> = [F; 3];

/// `x + offset·π = r + n·π` for finite `x >= 1`; NaN for infinity and NaN.
pub(super) fn half_turns<K: Arithmetic>(k: &mut K, x: K::F, offset: f32) -> Turns<K> {
    let sum = over_pi(k, x, offset);
    fraction(k, sum, PI)
}

/// `x = r + n·π/2` for finite `x >= 1`; NaN for infinity and NaN.
pub(super) fn quarter_turns<K: Arithmetic>(k: &mut K, x: K::F) -> Turns<K> {
    let two = k.f(2.0);
    let sum = over_pi(k, x, 0.0);
    let sum = sum.map(|part| k.mul(part, two));
    fraction(k, sum, PI / 2.0)
}

/// `x/π + offset` less a multiple of 2.
fn over_pi<K: Arithmetic>(k: &mut K, x: K::F, offset: f32) -> Triple<K::F> {
    // 16g is the exponent less 23, rounded down to a multiple of 16: X stays below 2^40.
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
    // The bits of infinity and NaN would have become those of a number.
    let (zero, one) = (k.f(0.0), k.f(1.0));
    let poison = k.mul(x, zero);
    let whole = k.add(shrunk, poison);

    let mut sum = [k.f(offset), zero, zero];
    for table in &INVERSE_PI {
        let factor = k.lookup(g, table);
        let product = k.mul(whole, factor);
        let rest = k.fms(whole, factor, product);
        for term in [product, rest] {
            let term = less_pairs(k, term, one);
            sum = add(k, sum, term);
        }
    }
    sum
}

/// `x` less the multiple of 2 nearest to it; exact.
fn less_pairs<K: Arithmetic>(k: &mut K, x: K::F, one: K::F) -> K::F {
    let half = k.f(0.5);
    let halved = k.mul(x, half);
    let pairs = k.round_even(halved);
    let two = k.add(one, one);
    k.fnma(pairs, two, x)
}

/// `sum + term`, with what each addition loses going into the next.
fn add<K: Arithmetic>(k: &mut K, sum: Triple<K::F>, term: K::F) -> Triple<K::F> {
    let (first, lost) = two_sum(k, sum[0], term);
    let (second, lost) = two_sum(k, sum[1], lost);
    let third = k.add(sum[2], lost);
    [first, second, third]
}

/// `a + b`, and what its rounding lost.
fn two_sum<K: Arithmetic>(k: &mut K, a: K::F, b: K::F) -> (K::F, K::F) {
    let sum = k.add(a, b);
    let b_in = k.sub(sum, a);
    let a_in = k.sub(sum, b_in);
    let (a_lost, b_lost) = (k.sub(a, a_in), k.sub(b, b_in));
    let lost = k.add(a_lost, b_lost);
    (sum, lost)
}

/// The whole part of a sum, and its fraction times `unit`.
fn fraction<K: Arithmetic>(k: &mut K, sum: Triple<K::F>, unit: f32) -> Turns<K> {
    let whole = k.round_even(sum[0]);
    let first = k.sub(sum[0], whole);
    let (first, second) = two_sum(k, first, sum[1]);
    let (first, lost) = two_sum(k, first, sum[2]);
    let second = k.add(second, lost);
    // The unit in two parts: PI lacks this share of itself.
    const LACKING: f32 = -2.782_753_5e-8;
    let (high, low) = (k.f(unit), k.f(unit * LACKING));
    let small = k.mul(second, high);
    let small = k.fma(first, low, small);
    let r = k.fma(first, high, small);
    let n = k.to_int(whole);
    Turns { r, n }
}
