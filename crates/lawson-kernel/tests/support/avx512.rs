//! [`Avx512`]: plain numbers with every hook computed as the instructions of AVX-512 would.

use lawson_kernel::math::{Arithmetic, Scalar, TABLE};

/// Differs from [`Scalar`] in its hooks alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Avx512;

type F = f32;
type I = i32;
type B = bool;

macro_rules! as_scalar {
    ($(fn $name:ident($($arg:ident: $t:ty),*) -> $r:ty;)*) => {
        $(#[inline(always)]
        fn $name(&mut self, $($arg: $t),*) -> $r {
            Scalar.$name($($arg),*)
        })*
    };
}

impl Arithmetic for Avx512 {
    type F = f32;
    type I = i32;
    type B = bool;

    as_scalar! {
        fn f(c: f32) -> F;
        fn i(c: i32) -> I;
        fn add(a: F, b: F) -> F;
        fn sub(a: F, b: F) -> F;
        fn mul(a: F, b: F) -> F;
        fn div(a: F, b: F) -> F;
        fn fma(a: F, b: F, c: F) -> F;
        fn fnma(a: F, b: F, c: F) -> F;
        fn sqrt(a: F) -> F;
        fn neg(a: F) -> F;
        fn abs(a: F) -> F;
        fn min(a: F, b: F) -> F;
        fn max(a: F, b: F) -> F;
        fn round_even(a: F) -> F;
        fn lt(a: F, b: F) -> B;
        fn le(a: F, b: F) -> B;
        fn eq(a: F, b: F) -> B;
        fn is_nan(a: F) -> B;
        fn select(c: B, a: F, b: F) -> F;
        fn i_add(a: I, b: I) -> I;
        fn i_sub(a: I, b: I) -> I;
        fn i_mul(a: I, b: I) -> I;
        fn i_and(a: I, b: I) -> I;
        fn i_or(a: I, b: I) -> I;
        fn i_xor(a: I, b: I) -> I;
        fn i_lt(a: I, b: I) -> B;
        fn i_eq(a: I, b: I) -> B;
        fn i_select(c: B, a: I, b: I) -> I;
        fn to_int(a: F) -> I;
        fn to_float(a: I) -> F;
        fn and(a: B, b: B) -> B;
        fn or(a: B, b: B) -> B;
        fn not(a: B) -> B;
        fn i_shl(a: I, by: u32) -> I;
        fn i_shr(a: I, by: u32) -> I;
        fn i_sar(a: I, by: u32) -> I;
        fn bits(a: F) -> I;
        fn of_bits(a: I) -> F;
        fn lookup(index: I, table: &[f32; TABLE]) -> F;
    }

    #[inline(always)]
    fn nearest(&mut self, a: f32, b: f32) -> (f32, i32) {
        const MAGIC: f32 = 12_582_912.0;
        let shifted = a.mul_add(b, MAGIC);
        (shifted - MAGIC, shifted.to_bits() as i32)
    }

    #[inline(always)]
    fn power_of_two(&mut self, n: (f32, i32)) -> f32 {
        if n.0.is_nan() { n.0 } else { 2f64.powi(n.0 as i32) as f32 }
    }

    #[inline(always)]
    fn scale(&mut self, x: f32, (n, _): (f32, i32)) -> f32 {
        if n.is_nan() { n } else { (f64::from(x) * 2f64.powi(n as i32)) as f32 }
    }

    #[inline(always)]
    fn split(&mut self, x: f32) -> (f32, f32) {
        let exponent = match x {
            x if x.is_nan() || x < 0.0 => return (f32::NAN, f32::NAN),
            0.0 => return (1.0, f32::NEG_INFINITY),
            f32::INFINITY => return (1.0, f32::INFINITY),
            x => ((f64::from(x) / 0.75).to_bits() >> 52) as i32 - 1023,
        };
        ((f64::from(x) * 2f64.powi(-exponent)) as f32, exponent as f32)
    }

    /// As wrong as `vrcp14ps` may be, upwards or downwards by a bit of `b`.
    #[inline(always)]
    fn reciprocal_estimate(&mut self, b: f32) -> f32 {
        let error = if b.to_bits() & 1 == 0 { 1.0 / 16384.0 } else { -1.0 / 16384.0 };
        ((1.0 + error) / f64::from(b)) as f32
    }

    #[inline(always)]
    fn quotient(&mut self, a: f32, b: f32) -> f32 {
        let y = self.reciprocal_estimate(b);
        let q = a * y;
        let rest = (-b).mul_add(q, a);
        rest.mul_add(y, q)
    }

    #[inline(always)]
    fn if_any(&mut self, condition: bool, common: f32, rare: impl FnOnce(&mut Self) -> f32) -> f32 {
        if condition { rare(self) } else { common }
    }
}
