//! The functions of f64 that are no instruction, as expansions over [`Double`].
//!
//! They are the families of f32 with longer polynomials and constants in two parts, and promise what [`super::Function`] says.
//! There are no tables of coefficients: registers hold fewer lanes of 64 bits, and one polynomial over a shorter range does as
//! well. Read [`exp()`] first.

mod erf;
mod exp;
mod inverse;
mod log;
mod pow;
mod rem;
mod scalar;
mod trig;
mod turns;

pub use erf::erf;
pub use exp::{cosh, exp, exp2, expm1, sigmoid, sinh, tanh};
pub use inverse::{ATAN2_MAX_ULP, acos, asin, atan, atan2};
pub use log::{acosh, asinh, atanh, log, log1p, log2};
pub use pow::{POW_MAX_ULP, pow, rsqrt};
pub use rem::{modulo, rem};
pub use scalar::DoubleScalar;
pub use trig::{cos, sin, sin_cos, tan};

/// The entries of a table.
pub const TABLE: usize = 16;

/// What an expansion may compute with: [`super::Arithmetic`] on lanes of f64 and i64. Integers are only bits, of which the
/// instructions of AVX2 have all that is asked for.
pub trait Double {
    /// A lane of f64.
    type F: Copy;
    /// A lane of 64 bits.
    type I: Copy;
    /// A lane of bool.
    type B: Copy;

    /// A constant.
    fn f(&mut self, c: f64) -> Self::F;
    /// An integer constant.
    fn i(&mut self, c: i64) -> Self::I;

    /// `a + b`
    fn add(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// `a - b`
    fn sub(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b`
    fn mul(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// `a / b`, correctly rounded.
    fn div(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c`, rounded once.
    fn fma(&mut self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// `a * b - c`, rounded once.
    fn fms(&mut self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// `c - a * b`, rounded once.
    fn fnma(&mut self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// The square root, correctly rounded.
    fn sqrt(&mut self, a: Self::F) -> Self::F;
    /// `a` if `a < b`, else `b`: a NaN in `b` passes, a NaN in `a` does not.
    fn min(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// `a` if `a > b`, else `b`: a NaN in `b` passes, a NaN in `a` does not.
    fn max(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// The nearest whole number, ties to even.
    fn round_even(&mut self, a: Self::F) -> Self::F;
    /// The whole part, towards zero.
    fn trunc(&mut self, a: Self::F) -> Self::F;

    /// `a < b`; false where either is NaN.
    fn lt(&mut self, a: Self::F, b: Self::F) -> Self::B;
    /// `a <= b`; false where either is NaN.
    fn le(&mut self, a: Self::F, b: Self::F) -> Self::B;
    /// `a == b`; false where either is NaN.
    fn eq(&mut self, a: Self::F, b: Self::F) -> Self::B;
    /// Whether `a` is NaN.
    fn is_nan(&mut self, a: Self::F) -> Self::B;
    /// `a` where `c`, else `b`.
    fn select(&mut self, c: Self::B, a: Self::F, b: Self::F) -> Self::F;

    /// `a + b`, wrapping.
    fn i_add(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// `a - b`, wrapping.
    fn i_sub(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// Bitwise and.
    fn i_and(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// Bitwise or.
    fn i_or(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// Bitwise exclusive or.
    fn i_xor(&mut self, a: Self::I, b: Self::I) -> Self::I;
    /// Shift left by a constant below 64.
    fn i_shl(&mut self, a: Self::I, by: u32) -> Self::I;
    /// Shift right by a constant below 64, zeros coming in.
    fn i_shr(&mut self, a: Self::I, by: u32) -> Self::I;
    /// `a == b`
    fn i_eq(&mut self, a: Self::I, b: Self::I) -> Self::B;
    /// The bits of a float. Costs nothing.
    fn bits(&mut self, a: Self::F) -> Self::I;
    /// The float of these bits. Costs nothing.
    fn of_bits(&mut self, a: Self::I) -> Self::F;

    /// The entry of a constant table at the low four bits of `index`. Two instructions of AVX-512.
    fn lookup(&mut self, index: Self::I, table: &[f64; TABLE]) -> Self::F;

    /// `a && b`
    fn and(&mut self, a: Self::B, b: Self::B) -> Self::B;
    /// `a || b`
    fn or(&mut self, a: Self::B, b: Self::B) -> Self::B;
    /// `!a`
    fn not(&mut self, a: Self::B) -> Self::B;

    // Hooks.

    /// `-a`: the sign bit flipped.
    fn neg(&mut self, a: Self::F) -> Self::F {
        let sign = self.i(i64::MIN);
        let bits = self.bits(a);
        let bits = self.i_xor(bits, sign);
        self.of_bits(bits)
    }

    /// `|a|`: the sign bit cleared.
    fn abs(&mut self, a: Self::F) -> Self::F {
        let rest = self.i(i64::MAX);
        let bits = self.bits(a);
        let bits = self.i_and(bits, rest);
        self.of_bits(bits)
    }

    /// `magnitude`, whose sign bit is clear, with the sign of `sign`.
    fn or_sign(&mut self, magnitude: Self::F, sign: Self::F) -> Self::F {
        let mask = self.i(i64::MIN);
        let sign = self.bits(sign);
        let sign = self.i_and(sign, mask);
        let magnitude = self.bits(magnitude);
        let joined = self.i_or(magnitude, sign);
        self.of_bits(joined)
    }

    /// `|magnitude|` with the sign of `sign`.
    fn copy_sign(&mut self, magnitude: Self::F, sign: Self::F) -> Self::F {
        let magnitude = self.abs(magnitude);
        self.or_sign(magnitude, sign)
    }

    /// `x` negated where the sign bit of `sign` is set.
    fn flip_sign(&mut self, x: Self::F, sign: Self::I) -> Self::F {
        let mask = self.i(i64::MIN);
        let sign = self.i_and(sign, mask);
        let x = self.bits(x);
        let flipped = self.i_xor(x, sign);
        self.of_bits(flipped)
    }

    /// The whole number nearest to `a * b`, and bits whose low 51 are it, for results below 2^50 in magnitude. Near a tie it may be
    /// either neighbour.
    fn nearest(&mut self, a: Self::F, b: Self::F) -> (Self::F, Self::I) {
        let magic = self.f(MAGIC);
        let held = self.fma(a, b, magic);
        let bits = self.bits(held);
        (self.sub(held, magic), bits)
    }

    /// `2^n` for whole `n` from -1022 to 1023.
    fn power_of_two(&mut self, n: Self::F) -> Self::F {
        let (magic, one) = (self.f(MAGIC), self.i(0x3FF << 52));
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
        let exponent = self.i_and(above, mask);
        let mantissa = self.i_sub(bits, exponent);
        let mantissa = self.of_bits(mantissa);
        let biased = self.i_add(exponent, bias);
        let biased = self.i_shr(biased, 52);
        // A small integer in the low bits of 2^52 is that much more.
        let (whole, offset) = (self.i(0x433 << 52), self.f(4_503_599_627_370_496.0 + 1024.0));
        let e = self.i_or(biased, whole);
        let e = self.of_bits(e);
        let e = self.sub(e, offset);
        let down = self.f(-54.0);
        let lowered = self.add(e, down);
        let e = self.select(subnormal, lowered, e);
        let is_infinite = self.eq(x, infinity);
        let e = self.select(is_infinite, infinity, e);
        let positive = self.lt(zero, x);
        let is_zero = self.eq(x, zero);
        let (nan, minus_infinity) = (self.f(f64::NAN), self.f(f64::NEG_INFINITY));
        let other = self.select(is_zero, minus_infinity, nan);
        let e = self.select(positive, e, other);
        (mantissa, e)
    }

    /// `rare()` where `condition` holds, `common` elsewhere, of one value or several. An implementation that can branch computes `rare`
    /// only when the condition holds in some lane.
    fn if_any<const N: usize>(
        &mut self,
        condition: Self::B,
        common: [Self::F; N],
        rare: impl FnOnce(&mut Self) -> [Self::F; N],
    ) -> [Self::F; N]
    where
        Self: Sized,
    {
        let rare = rare(self);
        std::array::from_fn(|n| self.select(condition, rare[n], common[n]))
    }
}

/// Added to a number below 2^51, it leaves the nearest whole number in the low bits.
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// Takes every positive subnormal into the normal range.
const SUBNORMAL_UP: f64 = 18_014_398_509_481_984.0;

/// `c[0]·x^n + … + c[n]`, from the inside.
fn polynomial<K: Double>(k: &mut K, x: K::F, coefficients: &[f64]) -> K::F {
    let Some((&first, rest)) = coefficients.split_first() else {
        return k.f(0.0);
    };
    let first = k.f(first);
    rest.iter().fold(first, |sum, &c| {
        let c = k.f(c);
        k.fma(sum, x, c)
    })
}
