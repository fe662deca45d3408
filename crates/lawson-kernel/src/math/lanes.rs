//! The operations that expansions of both precisions are written in: one trait over lanes of floats, of as wide integers, and of bool.
//!
//! Every required operation is one or two instructions on AVX-512 and on AVX2 with FMA; those of f32 exist in WGSL. The *hooks* at the end
//! of the trait have a portable expansion; a target with an instruction for one of them overrides it. [`super::Arithmetic`] adds
//! what only f32 has, [`super::double::Double`] what only f64 has. Read [`super::Scalar`] next: the same operations on plain numbers.

use std::ops::Mul;

/// The entries of a table: as many as AVX-512 has lanes of 32 bits.
pub const TABLE: usize = 16;

/// A plain number, as constants are given: f32 or f64.
pub trait Number: Copy + From<f32> + Mul<Output = Self> + 'static {
    /// Integers of its width.
    type Bits: Copy + From<i32>;

    /// Its width.
    const BITS: u32;
    /// The sign bit alone.
    const SIGN: Self::Bits;
    /// All bits but that of the sign.
    const MAGNITUDE: Self::Bits;
    /// One and a half times the first power of two whose neighbours are a whole number apart: added to a number of less than a quarter
    /// of its size, it leaves the nearest whole number in the low bits.
    const MAGIC: Self;
    /// Above all numbers.
    const INFINITY: Self;
    /// Below all numbers.
    const NEG_INFINITY: Self;
    /// No number.
    const NAN: Self;
}

impl Number for f32 {
    type Bits = i32;

    const BITS: u32 = 32;
    const SIGN: i32 = i32::MIN;
    const MAGNITUDE: i32 = i32::MAX;
    const MAGIC: f32 = 12_582_912.0;
    const INFINITY: f32 = f32::INFINITY;
    const NEG_INFINITY: f32 = f32::NEG_INFINITY;
    const NAN: f32 = f32::NAN;
}

impl Number for f64 {
    type Bits = i64;

    const BITS: u32 = 64;
    const SIGN: i64 = i64::MIN;
    const MAGNITUDE: i64 = i64::MAX;
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    const INFINITY: f64 = f64::INFINITY;
    const NEG_INFINITY: f64 = f64::NEG_INFINITY;
    const NAN: f64 = f64::NAN;
}

/// What an expansion of either precision may compute with. Numbers follow IEEE 754 with rounding to nearest even and with subnormals.
///
/// An implementation either computes at once ([`super::Scalar`]) or builds expressions, so lanes are cheap handles and
/// every operation takes `&mut self`. A constant is asked for where it is first needed: who builds expressions writes it down there.
pub trait Lanes {
    /// The plain number that a lane of floats holds.
    type C: Number;
    /// A lane of floats.
    type F: Copy;
    /// A lane of integers as wide as the floats.
    type I: Copy;
    /// A lane of bool.
    type B: Copy;

    /// A constant.
    fn f(&mut self, c: Self::C) -> Self::F;
    /// An integer constant.
    fn i(&mut self, c: <Self::C as Number>::Bits) -> Self::I;

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
    /// Shift left by a constant below [`Number::BITS`].
    fn i_shl(&mut self, a: Self::I, by: u32) -> Self::I;
    /// Shift right by a constant below [`Number::BITS`], zeros coming in.
    fn i_shr(&mut self, a: Self::I, by: u32) -> Self::I;
    /// `a == b`
    fn i_eq(&mut self, a: Self::I, b: Self::I) -> Self::B;

    /// The bits of a float. Costs nothing.
    fn bits(&mut self, a: Self::F) -> Self::I;
    /// The float of these bits. Costs nothing.
    fn of_bits(&mut self, a: Self::I) -> Self::F;

    /// The entry of a constant table at the low four bits of `index`. One `vpermps` on AVX-512, one `vpermi2pd` for f64.
    fn lookup(&mut self, index: Self::I, table: &[Self::C; TABLE]) -> Self::F;

    /// `a && b`
    fn and(&mut self, a: Self::B, b: Self::B) -> Self::B;
    /// `a || b`
    fn or(&mut self, a: Self::B, b: Self::B) -> Self::B;
    /// `!a`
    fn not(&mut self, a: Self::B) -> Self::B;

    // Constants of both precisions.

    /// A constant that f32 holds exactly.
    fn exact(&mut self, c: f32) -> Self::F {
        self.f(c.into())
    }

    /// An integer constant of 32 bits.
    fn i_exact(&mut self, c: i32) -> Self::I {
        self.i(c.into())
    }

    // Hooks.

    /// `-a`, of NaN and zeros too: the sign bit flipped.
    fn neg(&mut self, a: Self::F) -> Self::F {
        let sign = self.i(Self::C::SIGN);
        let bits = self.bits(a);
        let bits = self.i_xor(bits, sign);
        self.of_bits(bits)
    }

    /// `|a|`: the sign bit cleared.
    fn abs(&mut self, a: Self::F) -> Self::F {
        let rest = self.i(Self::C::MAGNITUDE);
        let bits = self.bits(a);
        let bits = self.i_and(bits, rest);
        self.of_bits(bits)
    }

    /// `|magnitude|` with the sign of `sign`. One `vpternlogd` on AVX-512.
    fn copy_sign(&mut self, magnitude: Self::F, sign: Self::F) -> Self::F {
        let magnitude = self.abs(magnitude);
        self.or_sign(magnitude, sign)
    }

    /// `magnitude`, whose sign bit is clear, with the sign of `sign`. One `vpternlogd` on AVX-512.
    fn or_sign(&mut self, magnitude: Self::F, sign: Self::F) -> Self::F {
        let mask = self.i(Self::C::SIGN);
        let sign = self.bits(sign);
        let sign = self.i_and(sign, mask);
        let magnitude = self.bits(magnitude);
        let joined = self.i_or(magnitude, sign);
        self.of_bits(joined)
    }

    /// `x` negated where the sign bit of `sign` is set. One `vpternlogd` on AVX-512.
    fn flip_sign(&mut self, x: Self::F, sign: Self::I) -> Self::F {
        let mask = self.i(Self::C::SIGN);
        let sign = self.i_and(sign, mask);
        let x = self.bits(x);
        let flipped = self.i_xor(x, sign);
        self.of_bits(flipped)
    }

    /// A pair, exchanged where the lowest bit of `n` is set. On AVX-512 two `vpternlogd`, which leave the units of multiplications alone.
    fn swap_where_odd(&mut self, n: Self::I, [a, b]: [Self::F; 2]) -> [Self::F; 2] {
        let (lowest, none) = (self.i_exact(1), self.i_exact(0));
        let parity = self.i_and(n, lowest);
        let even = self.i_eq(parity, none);
        [self.select(even, a, b), self.select(even, b, a)]
    }

    /// The whole number nearest to `a * b`, as a float and as an integer, for results below 2^21 in magnitude, or 2^50 of f64. A zero may
    /// have either sign.
    ///
    /// Near a tie it may be either neighbour, and the integer is right in its low 22 bits only, or 51 of f64: the sum with
    /// [`Number::MAGIC`] holds it there, and the float is one subtraction away. Who may not keep the order of additions rounds the product instead.
    fn nearest(&mut self, a: Self::F, b: Self::F) -> (Self::F, Self::I) {
        let magic = self.f(Self::C::MAGIC);
        let held = self.fma(a, b, magic);
        (self.sub(held, magic), self.bits(held))
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

/// The exponent of any `x`, given the `e` of a positive finite one: that of a subnormal one was found after a multiplication by `2^-down`. NaN for NaN and
/// for negative `x`, `-inf` for zeros and `inf` for infinity.
pub(super) fn exponent<K: Lanes + ?Sized>(
    k: &mut K,
    x: K::F,
    e: K::F,
    (subnormal, down): (K::B, f32),
    [zero, infinity]: [K::F; 2],
) -> K::F {
    let down = k.exact(down);
    let lowered = k.add(e, down);
    let e = k.select(subnormal, lowered, e);
    let is_infinite = k.eq(x, infinity);
    let e = k.select(is_infinite, infinity, e);
    let positive = k.lt(zero, x);
    let is_zero = k.eq(x, zero);
    let (nan, minus_infinity) = (k.f(K::C::NAN), k.f(K::C::NEG_INFINITY));
    let other = k.select(is_zero, minus_infinity, nan);
    k.select(positive, e, other)
}

/// `c[0]·x^n + … + c[n]`, from the inside; an empty polynomial is 0.
pub(super) fn polynomial<K: Lanes>(k: &mut K, x: K::F, coefficients: &[K::C]) -> K::F {
    let Some((&first, rest)) = coefficients.split_first() else {
        return k.exact(0.0);
    };
    let first = k.f(first);
    rest.iter().fold(first, |sum, &c| {
        let c = k.f(c);
        k.fma(sum, x, c)
    })
}

/// `r + r³·tail(r²)`.
pub(super) fn odd<K: Lanes>(k: &mut K, r: K::F, tail: &[K::C]) -> K::F {
    let square = k.mul(r, r);
    let tail = polynomial(k, square, tail);
    let cube = k.mul(square, r);
    k.fma(cube, tail, r)
}

/// `x` brought into `low ..= high`; NaN stays.
pub(super) fn clamp<K: Lanes>(k: &mut K, x: K::F, low: K::C, high: K::C) -> K::F {
    let (low, high) = (k.f(low), k.f(high));
    let x = k.max(low, x);
    k.min(high, x)
}
