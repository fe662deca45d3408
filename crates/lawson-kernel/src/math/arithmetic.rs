//! What expansions of f32 are written in: [`Lanes`], and what is done to f32 and i32 alone.
//!
//! Every required operation is one or two instructions on AVX-512 and on AVX2 with FMA, and exists in WGSL. *Hooks* as in [`Lanes`].

use super::lanes::{Lanes, TABLE, exponent};

/// What an expansion of f32 may compute with.
pub trait Arithmetic: Lanes<C = f32> {
    /// Whether looking up costs no more than a few multiplications; where it does, longer polynomials are better.
    const TABLES: bool = true;
    /// Whether subnormal numbers stay what they are on the way to a result.
    const KEEPS_SUBNORMAL: bool = true;

    /// Shift right by a constant below 32, copies of the sign coming in.
    fn i_sar(&mut self, a: Self::I, by: u32) -> Self::I;
    /// `a < b`, signed.
    fn i_lt(&mut self, a: Self::I, b: Self::I) -> Self::B;
    /// `a` where `c`, else `b`.
    fn i_select(&mut self, c: Self::B, a: Self::I, b: Self::I) -> Self::I;

    /// The whole number `a` as an integer; any value where `a` is not a whole number below 2^31 in magnitude.
    fn to_int(&mut self, a: Self::F) -> Self::I;
    /// The integer as a float, rounded to nearest even.
    fn to_float(&mut self, a: Self::I) -> Self::F;

    // Hooks.

    /// The multiple of 1/16 nearest to `a * b`, as a float and as a number of sixteenths, for results below 2^17 in magnitude.
    /// As [`Lanes::nearest`] otherwise; the integer is right in its low 18 bits, and the constant is `1.5 * 2^19`.
    fn nearest_sixteenth(&mut self, a: Self::F, b: Self::F) -> (Self::F, Self::I) {
        let (sixteen, sixteenth) = (self.f(16.0), self.f(0.0625));
        let product = self.mul(a, b);
        let product = self.mul(product, sixteen);
        let whole = self.round_even(product);
        let count = self.to_int(whole);
        (self.mul(whole, sixteenth), count)
    }

    /// `x * 2^m` with `m` the greatest whole number up to the `n` of [`Arithmetic::nearest_sixteenth`], under the conditions of
    /// [`Arithmetic::scale`]. One `vscalefps` on AVX-512.
    fn scale_down(&mut self, x: Self::F, n: (Self::F, Self::I)) -> Self::F {
        let whole = self.i_sar(n.1, 4);
        self.scale(x, (n.0, whole))
    }

    /// `2^n` for the `n` of [`Lanes::nearest`], from -126 to 127. One `vscalefps` on AVX-512.
    fn power_of_two(&mut self, n: (Self::F, Self::I)) -> Self::F {
        let one = self.i(0x3f80_0000);
        let shifted = self.i_shl(n.1, 23);
        let power = self.i_add(shifted, one);
        self.of_bits(power)
    }

    /// `x * 2^n`, rounded once, for whole `n`, given as by [`Lanes::nearest`], from -252 to 252 and `x` from 1/4 to 4; any value for other `n`. One
    /// `vscalefps` on AVX-512.
    ///
    /// The power is applied in two halves, so that only the second multiplication can leave the normal range; both are
    /// multiplications, so that NaN in `x` passes whatever integer came of it.
    fn scale(&mut self, x: Self::F, n: (Self::F, Self::I)) -> Self::F {
        // The sum of both exponents with what is added to each, so that neither half is negative.
        let biased = self.i(2 * 127);
        let sum = self.i_add(n.1, biased);
        let half = self.i_shr(sum, 1);
        let rest = self.i_sub(sum, half);
        let half = self.i_shl(half, 23);
        let rest = self.i_shl(rest, 23);
        let (half, rest) = (self.of_bits(half), self.of_bits(rest));
        let scaled = self.mul(x, half);
        self.mul(scaled, rest)
    }

    /// `(m, e)` with `x = m * 2^e`, `m` from 3/4 to below 3/2 and `e` whole, for positive finite `x`. `m` is in that range
    /// for every `x`; `e` is NaN for NaN and for negative `x`, `-inf` for zeros and `inf` for infinity.
    ///
    /// On AVX-512 `m` is `vgetmantps` and `e` the difference of `vgetexpps` of `x` and of `m`.
    fn split(&mut self, x: Self::F) -> (Self::F, Self::F) {
        let (zero, infinity) = (self.f(0.0), self.f(f32::INFINITY));
        let least_normal = self.f(f32::MIN_POSITIVE);
        let subnormal = self.lt(x, least_normal);
        let up = self.f(SUBNORMAL_UP);
        let raised = self.mul(x, up);
        let normal = self.select(subnormal, raised, x);
        let bits = self.bits(normal);
        let origin = self.i(0x3f40_0000);
        let above = self.i_sub(bits, origin);
        let whole = self.i_sar(above, 23);
        let shifted = self.i_shl(whole, 23);
        let mantissa = self.i_sub(bits, shifted);
        let mantissa = self.of_bits(mantissa);
        let e = self.to_float(whole);
        (mantissa, exponent(self, x, e, (subnormal, -23.0), [zero, infinity]))
    }

    /// `1 / b` within 2^-14 of its magnitude, for `b` from 2^-60 to 2^60. One `vrcp14ps` on AVX-512.
    fn reciprocal_estimate(&mut self, b: Self::F) -> Self::F {
        let one = self.f(1.0);
        self.div(one, b)
    }
}

/// Takes every positive subnormal into the normal range.
const SUBNORMAL_UP: f32 = 8_388_608.0;

/// Eight entries where only the low three bits of the index are meant.
pub(super) const fn twice(half: [f32; TABLE / 2]) -> [f32; TABLE] {
    let mut table = [0.0; TABLE];
    let mut n = 0;
    while n < TABLE {
        table[n] = half[n % (TABLE / 2)];
        n += 1;
    }
    table
}
