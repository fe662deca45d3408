//! Division of f32 by a constant without dividing, and rounded as division is.
//!
//! With `head` the reciprocal cut to 24 bits and `tail` what was cut off, `x * head + round(x * tail)`, the sum rounded once, is the quotient but
//! for an error far below its last place. That can only matter where the quotient is nearly in the middle of two floats. It is never nearer than
//! what [`Reciprocal::of`] calls a *step*, and the few numerators that come within as many steps as the error has are looked
//! for and tried, so that a constant for which one of them fails is refused: about one in fourteen.
//!
//! Both parts have the sign of the constant, so that zeros keep their sign and infinities stay. Where the quotient or the smaller product
//! is subnormal, nothing of this holds: such numerators are divided.

use super::Lanes;

/// A constant by which is divided, as what is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reciprocal {
    divisor: f32,
    head: f32,
    tail: f32,
    /// The least magnitude, zero aside, of what may be multiplied.
    least: f32,
}

/// Magnitudes of divisors for which nothing leaves the range of normal numbers that should not.
const DIVISORS: std::ops::Range<f32> = 1.0 / 1_048_576.0..1_099_511_627_776.0;
/// Of quotients from here on a step is above 2^-128: what is lost of `x * tail`, if it is subnormal, is less than [`LOST`] of one.
const LEAST_QUOTIENT: f32 = 1.0 / (1u128 << 80) as f32;
/// See [`LEAST_QUOTIENT`].
const LOST: f64 = 1.0 / 1_048_576.0;
/// Bits of a significand: as a whole number it is from 2^23 to below 2^24.
const BITS: u32 = 24;

impl Reciprocal {
    /// What to multiply by instead of dividing by `divisor`, if that is right for every number. Not for powers of two, whose reciprocal is a float.
    pub fn of(divisor: f32) -> Option<Reciprocal> {
        let magnitude = divisor.abs();
        if !DIVISORS.contains(&magnitude) {
            return None;
        }
        let least = power_above(magnitude) * LEAST_QUOTIENT;
        let head = cut(1.0 / f64::from(magnitude), magnitude);
        // Exact: the product has 48 bits, and is so near to 1 that the difference has no more.
        let missing = 1.0 - f64::from(head) * f64::from(magnitude);
        let tail = (missing / f64::from(magnitude)) as f32;
        let found = Reciprocal { divisor: magnitude, head, tail, least };
        (missing > 0.0 && found.is_exact(missing)).then(|| Reciprocal {
            divisor,
            head: head.copysign(divisor),
            tail: tail.copysign(divisor),
            ..found
        })
    }

    /// Whether all quotients are rounded as they should be, for a positive divisor, of whose reciprocal `head` lacks the part `missing`.
    ///
    /// With the significands of numerator and divisor as whole numbers `X` and `Y`, the middles between floats around `X / Y` are odd multiples of
    /// 2^-24, or of 2^-25 below 1. So the quotient is a multiple of a *step*, `1 / Y` of those, away from any, and no multiple is 0.
    fn is_exact(&self, missing: f64) -> bool {
        let divisor = f64::from(self.divisor);
        let significand = significand(self.divisor);
        // Parts of the quotient: what both parts lack of the reciprocal, and what is lost where `x * tail` is rounded.
        let lacking = (missing - divisor * f64::from(self.tail)).abs();
        let rounded = divisor * f64::from(self.tail) * f64::from(f32::EPSILON) / 2.0;
        // A quotient is below 2 (or 1), and a step is a 2^24th (2^25th) of `1 / Y`.
        let steps = 2.0 * (lacking + rounded) * significand as f64 * f64::from(1u32 << BITS);
        let steps = (steps + LOST) as i64;
        let above = (BITS, significand..1 << BITS);
        let below = (BITS + 1, 1 << (BITS - 1)..significand);
        [above, below].into_iter().all(|(power, numerators)| {
            (-steps..=steps).filter(|&away| away != 0).all(|away| {
                near_middles(significand, power, away).filter(|x| numerators.contains(x)).all(|x| {
                    let x = x as f32;
                    x.mul_add(self.head, x * self.tail) == x / self.divisor
                })
            })
        })
    }
}

/// The whole `X` with `X * 2^power - middle * significand = away` for an odd `middle` of 25 bits.
fn near_middles(significand: u64, power: u32, away: i64) -> impl Iterator<Item = u64> {
    let zeros = significand.trailing_zeros();
    let odd = significand >> zeros;
    // middle * odd = -away / 2^zeros, modulo 2^(power - zeros): where the right side is not whole, there is none.
    let modulus = 1u64 << (power - zeros);
    let first = (away.trailing_zeros() >= zeros)
        .then(|| inverse_modulo_power(odd).wrapping_mul((-away >> zeros) as u64) & (modulus - 1));
    let middles = first.into_iter().flat_map(move |first| (first..1 << (BITS + 1)).step_by(modulus as usize));
    middles.filter(|middle| middle >> BITS == 1 && middle & 1 == 1).map(move |middle| {
        let multiple = i128::from(middle) * i128::from(significand) + i128::from(away);
        (multiple >> power) as u64
    })
}

/// The inverse of an odd number modulo 2^64: each round doubles the bits that are right.
fn inverse_modulo_power(odd: u64) -> u64 {
    (0..6).fold(1u64, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

/// The significand of a normal number, as a whole one.
fn significand(x: f32) -> u64 {
    u64::from(x.to_bits() & ((1 << (BITS - 1)) - 1) | 1 << (BITS - 1))
}

/// The least power of two above a normal number.
fn power_above(x: f32) -> f32 {
    f32::from_bits(((x.to_bits() >> (BITS - 1)) + 1) << (BITS - 1))
}

/// The greatest float whose product with `divisor` is at most 1, for the reciprocal of the divisor.
fn cut(reciprocal: f64, divisor: f32) -> f32 {
    let nearest = reciprocal as f32;
    if f64::from(nearest) * f64::from(divisor) > 1.0 { nearest.next_down() } else { nearest }
}

/// `x / divisor`, correctly rounded.
pub fn divide_by<K: Lanes<C = f32>>(k: &mut K, x: K::F, by: &Reciprocal) -> K::F {
    let (head, tail, least) = (k.f(by.head), k.f(by.tail), k.f(by.least));
    let small = k.mul(x, tail);
    let common = k.fma(x, head, small);
    let magnitude = k.abs(x);
    let is_small = k.lt(magnitude, least);
    let [quotient] = k.if_any(is_small, [common], |k| {
        // A zero is small, too, and frequent; it was divided well.
        let zero = k.f(0.0);
        let is_number = k.lt(zero, magnitude);
        let is_small = k.and(is_small, is_number);
        k.if_any(is_small, [common], |k| {
            let divisor = k.f(by.divisor);
            [k.div(x, divisor)]
        })
    });
    quotient
}
