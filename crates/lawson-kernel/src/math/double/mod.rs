//! The functions of f64 that are no instruction, as expansions over [`Double`].
//!
//! They are the families of f32 with longer polynomials and constants in two parts, and promise what [`super::Function`] says. What differs
//! from f32 in constants alone is written once, for both precisions, and is found here too. Tables serve only to reduce large
//! arguments: registers hold fewer lanes of 64 bits, and one polynomial over a shorter range does as well. Read [`exp()`] first.

mod erf;
mod exp;
mod inverse;
mod log;
mod pow;
mod rem;

pub use super::area::{acosh, asinh, atanh};
pub use super::pow::{pow, rsqrt};
pub use super::scalar::DoubleScalar;
pub use super::trig::{cos, sin, sin_cos, tan};
pub use erf::erf;
pub use exp::{cosh, exp, exp2, expm1, sigmoid, sinh, tanh};
pub use inverse::{ATAN2_MAX_ULP, acos, asin, atan, atan2};
pub use log::{log, log1p, log2};
pub use pow::POW_MAX_ULP;
pub use rem::{modulo, rem};

use super::lanes::{Lanes, Number, exponent};

/// What an expansion of f64 may compute with. Integers are only bits, of which the instructions of AVX2 have all that is asked for.
pub trait Double: Lanes<C = f64> {
    /// The whole part, towards zero.
    fn trunc(&mut self, a: Self::F) -> Self::F;

    // Hooks.

    /// `2^n` for whole `n` from -1022 to 1023.
    fn power_of_two(&mut self, n: Self::F) -> Self::F {
        let (magic, one) = (self.f(f64::MAGIC), self.i(0x3FF << 52));
        let held = self.add(n, magic);
        let bits = self.bits(held);
        let shifted = self.i_shl(bits, 52);
        let power = self.i_add(shifted, one);
        self.of_bits(power)
    }

    /// `x * 2^n`, rounded once, for whole `n` from -2044 to 2046 and `x` from 1/4 to 4; any value for other `n`. One `vscalefpd` on
    /// AVX-512.
    fn scale(&mut self, x: Self::F, n: Self::F) -> Self::F {
        let half = self.f(0.5);
        let first = self.mul(n, half);
        let first = self.round_even(first);
        let second = self.sub(n, first);
        let (first, second) = (self.power_of_two(first), self.power_of_two(second));
        let scaled = self.mul(x, first);
        self.mul(scaled, second)
    }

    /// `(m, e)` with `x = m * 2^e`, `m` from 3/4 to below 3/2 and `e` whole, for positive finite `x`. `m` is in that range for every
    /// `x`; `e` is NaN for NaN and for negative `x`, `-inf` for zeros and `inf` for infinity.
    fn split(&mut self, x: Self::F) -> (Self::F, Self::F) {
        let (zero, infinity) = (self.f(0.0), self.f(f64::INFINITY));
        let (least_normal, up) = (self.f(f64::MIN_POSITIVE), self.f(SUBNORMAL_UP));
        let subnormal = self.lt(x, least_normal);
        let raised = self.mul(x, up);
        let normal = self.select(subnormal, raised, x);
        let bits = self.bits(normal);
        // The exponent of 3/4 becomes 0; a bias keeps what is shifted out positive.
        let (origin, bias, mask) = (self.i(0x3FE8 << 48), self.i(1024 << 52), self.i(0xFFF << 52));
        let above = self.i_sub(bits, origin);
        let shifted = self.i_and(above, mask);
        let mantissa = self.i_sub(bits, shifted);
        let mantissa = self.of_bits(mantissa);
        let biased = self.i_add(shifted, bias);
        let biased = self.i_shr(biased, 52);
        // A small integer in the low bits of 2^52 is that much more.
        let (whole, offset) = (self.i(0x433 << 52), self.f(4_503_599_627_370_496.0 + 1024.0));
        let e = self.i_or(biased, whole);
        let e = self.of_bits(e);
        let e = self.sub(e, offset);
        (mantissa, exponent(self, x, e, (subnormal, -54.0), [zero, infinity]))
    }
}

/// Takes every positive subnormal into the normal range.
const SUBNORMAL_UP: f64 = 18_014_398_509_481_984.0;
