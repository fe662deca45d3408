//! The operations that expansions are written in: one trait over lanes of f32, i32 and bool.
//!
//! Every required operation is one or two instructions on AVX-512 and on AVX2 with FMA, and exists in WGSL. The *hooks*
//! at the end of the trait have a portable expansion; a target with an instruction for one of them overrides it. Read
//! [`super::Scalar`] next: the same operations on plain numbers.

/// The entries of a table: as many as AVX-512 has lanes.
pub const TABLE: usize = 16;

/// What an expansion may compute with. Numbers follow IEEE 754 with rounding to nearest even and with subnormals.
///
/// An implementation either computes at once ([`super::Scalar`]) or builds expressions, so lanes are cheap handles and
/// every operation takes `&mut self`.
pub trait Arithmetic {
    /// A lane of f32.
    type F: Copy;
    /// A lane of i32.
    type I: Copy;
    /// A lane of bool.
    type B: Copy;

    /// Whether looking up costs no more than a few multiplications; where it does, longer polynomials are better.
    const TABLES: bool = true;
    /// Whether subnormal numbers stay what they are on the way to a result.
    const KEEPS_SUBNORMAL: bool = true;

    /// A constant.
    fn f(&mut self, c: f32) -> Self::F;
    /// An integer constant.
    fn i(&mut self, c: i32) -> Self::I;

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
    /// `-a`, of NaN and zeros too: the sign bit flipped.
    fn neg(&mut self, a: Self::F) -> Self::F;
    /// `|a|`: the sign bit cleared.
    fn abs(&mut self, a: Self::F) -> Self::F;
    /// `a` if `a < b`, else `b`: a NaN in `b` passes, a NaN in `a` does not.
    fn min(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// `a` if `a > b`, else `b`: a NaN in `b` passes, a NaN in `a` does not.
    fn max(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// The nearest whole number, ties to even.
    fn round_even(&mut self, a: Self::F) -> Self::F;

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
    /// Shift left by a constant below 32.
    fn i_shl(&mut self, a: Self::I, by: u32) -> Self::I;
    /// Shift right by a constant below 32, zeros coming in.
    fn i_shr(&mut self, a: Self::I, by: u32) -> Self::I;
    /// Shift right by a constant below 32, copies of the sign coming in.
    fn i_sar(&mut self, a: Self::I, by: u32) -> Self::I;
    /// `a < b`, signed.
    fn i_lt(&mut self, a: Self::I, b: Self::I) -> Self::B;
    /// `a == b`
    fn i_eq(&mut self, a: Self::I, b: Self::I) -> Self::B;
    /// `a` where `c`, else `b`.
    fn i_select(&mut self, c: Self::B, a: Self::I, b: Self::I) -> Self::I;

    /// The whole number `a` as an integer; any value where `a` is not a whole number below 2^31 in magnitude.
    fn to_int(&mut self, a: Self::F) -> Self::I;
    /// The integer as a float, rounded to nearest even.
    fn to_float(&mut self, a: Self::I) -> Self::F;
    /// The bits of a float. Costs nothing.
    fn bits(&mut self, a: Self::F) -> Self::I;
    /// The float of these bits. Costs nothing.
    fn of_bits(&mut self, a: Self::I) -> Self::F;

    /// The entry of a constant table at the low four bits of `index`. One `vpermps`.
    fn lookup(&mut self, index: Self::I, table: &[f32; TABLE]) -> Self::F;

    /// `a && b`
    fn and(&mut self, a: Self::B, b: Self::B) -> Self::B;
    /// `a || b`
    fn or(&mut self, a: Self::B, b: Self::B) -> Self::B;
    /// `!a`
    fn not(&mut self, a: Self::B) -> Self::B;

    // Hooks.

    /// `|magnitude|` with the sign of `sign`. One `vpternlogd` on AVX-512.
    fn copy_sign(&mut self, magnitude: Self::F, sign: Self::F) -> Self::F {
        let magnitude = self.abs(magnitude);
        self.or_sign(magnitude, sign)
    }

    /// `magnitude`, whose sign bit is clear, with the sign of `sign`. One `vpternlogd` on AVX-512.
    fn or_sign(&mut self, magnitude: Self::F, sign: Self::F) -> Self::F {
        let mask = self.i(i32::MIN);
        let sign = self.bits(sign);
        let sign = self.i_and(sign, mask);
        let magnitude = self.bits(magnitude);
        let joined = self.i_or(magnitude, sign);
        self.of_bits(joined)
    }

    /// `x` negated where the sign bit of `sign` is set. One `vpternlogd` on AVX-512.
    fn flip_sign(&mut self, x: Self::F, sign: Self::I) -> Self::F {
        let mask = self.i(i32::MIN);
        let sign = self.i_and(sign, mask);
        let x = self.bits(x);
        let flipped = self.i_xor(x, sign);
        self.of_bits(flipped)
    }

    /// A pair, exchanged where the lowest bit of `n` is set. On AVX-512 two `vpternlogd`, which leave the units of multiplications alone.
    fn swap_where_odd(&mut self, n: Self::I, [a, b]: [Self::F; 2]) -> [Self::F; 2] {
        let (lowest, none) = (self.i(1), self.i(0));
        let parity = self.i_and(n, lowest);
        let even = self.i_eq(parity, none);
        [self.select(even, a, b), self.select(even, b, a)]
    }

    /// The whole number nearest to `a * b`, as a float and as an integer, for results below 2^21 in magnitude. A zero may have
    /// either sign.
    ///
    /// Near a tie it may be either neighbour, and the integer is right in its low 22 bits only: where machine code keeps
    /// the order of additions, `fma(a, b, 1.5 * 2^23)` holds it there, and the float is one subtraction away.
    fn nearest(&mut self, a: Self::F, b: Self::F) -> (Self::F, Self::I) {
        let product = self.mul(a, b);
        let whole = self.round_even(product);
        let integer = self.to_int(whole);
        (whole, integer)
    }

    /// The multiple of 1/16 nearest to `a * b`, as a float and as a number of sixteenths, for results below 2^17 in magnitude.
    /// As [`Arithmetic::nearest`] otherwise; the integer is right in its low 18 bits, and the constant is `1.5 * 2^19`.
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

    /// `2^n` for the `n` of [`Arithmetic::nearest`], from -126 to 127. One `vscalefps` on AVX-512.
    fn power_of_two(&mut self, n: (Self::F, Self::I)) -> Self::F {
        let one = self.i(0x3f80_0000);
        let shifted = self.i_shl(n.1, 23);
        let power = self.i_add(shifted, one);
        self.of_bits(power)
    }

    /// `x * 2^n`, rounded once, for whole `n`, given as by [`Arithmetic::nearest`], from -252 to 252 and `x` from 1/4 to 4; any value for other `n`. One
    /// `vscalefps` on AVX-512.
    ///
    /// The power is applied in two halves, so that only the second multiplication can leave the normal range; both are
    /// multiplications, so that NaN in `x` passes whatever integer came of it.
    fn scale(&mut self, x: Self::F, n: (Self::F, Self::I)) -> Self::F {
        let one = self.i(0x3f80_0000);
        let half = self.i_sar(n.1, 1);
        let rest = self.i_sub(n.1, half);
        let half = self.i_shl(half, 23);
        let rest = self.i_shl(rest, 23);
        let half = self.i_add(half, one);
        let rest = self.i_add(rest, one);
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
        let exponent = self.i_sar(above, 23);
        let shifted = self.i_shl(exponent, 23);
        let mantissa = self.i_sub(bits, shifted);
        let mantissa = self.of_bits(mantissa);
        let e = self.to_float(exponent);
        let down = self.f(-23.0);
        let lowered = self.add(e, down);
        let e = self.select(subnormal, lowered, e);
        let is_infinite = self.eq(x, infinity);
        let e = self.select(is_infinite, infinity, e);
        let positive = self.lt(zero, x);
        let is_zero = self.eq(x, zero);
        let (nan, minus_infinity) = (self.f(f32::NAN), self.f(f32::NEG_INFINITY));
        let other = self.select(is_zero, minus_infinity, nan);
        let e = self.select(positive, e, other);
        (mantissa, e)
    }

    /// `1 / b` within 2^-14 of its magnitude, for `b` from 2^-60 to 2^60. One `vrcp14ps` on AVX-512.
    fn reciprocal_estimate(&mut self, b: Self::F) -> Self::F {
        let one = self.f(1.0);
        self.div(one, b)
    }

    /// `a / b` within one unit in the last place, for `b` from 2^-60 to 2^60 in magnitude and quotients that are zero, or
    /// subnormal or in that range too; NaN passes, the sign of a zero is lost.
    ///
    /// With an estimate `y` of `1 / b`: `q = a * y`, then `q + y * (a - b * q)`, four fast instructions.
    fn quotient(&mut self, a: Self::F, b: Self::F) -> Self::F {
        self.div(a, b)
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

/// Takes every positive subnormal into the normal range.
const SUBNORMAL_UP: f32 = 8_388_608.0;
