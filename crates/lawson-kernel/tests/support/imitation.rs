//! Plain numbers whose hooks are computed as the instructions of a target would: [`Avx2`] and [`Avx512`].

use lawson_kernel::math::{Arithmetic, Lanes, Scalar, TABLE};

/// AVX2, and shaders: tables are dear. Differs from [`Scalar`] also in `nearest`, which keeps its integer among other bits, and in conversions
/// out of range.
#[derive(Clone, Copy, Debug, Default)]
pub struct Avx2;

/// Differs from [`Scalar`] in its hooks, and in conversions out of range.
#[derive(Clone, Copy, Debug, Default)]
pub struct Avx512;

/// Passes operations on to [`Scalar`].
macro_rules! as_scalar {
    ($(fn $name:ident($($arg:ident: $t:ty),*) -> $r:ty;)*) => {
        $(#[inline(always)]
        fn $name(&mut self, $($arg: $t),*) -> $r {
            Scalar.$name($($arg),*)
        })*
    };
}

/// Every operation of [`Lanes`] that is no hook, as of [`Scalar`]; and the hooks that all imitations share.
macro_rules! lanes_as_scalar {
    () => {
        type C = f32;
        type F = f32;
        type I = i32;
        type B = bool;

        operations!(as_scalar);
        operations_with_constants!(as_scalar);

        #[inline(always)]
        fn if_any<const N: usize>(
            &mut self,
            condition: bool,
            common: [f32; N],
            rare: impl FnOnce(&mut Self) -> [f32; N],
        ) -> [f32; N] {
            if condition { rare(self) } else { common }
        }
    };
}

/// The same of [`Arithmetic`].
macro_rules! single_as_scalar {
    () => {
        operations_of_single!(as_scalar);
        as_scalar! {
            fn i_sar(a: i32, by: u32) -> i32;
        }

        /// Out of range, x86 gives the least integer.
        #[inline(always)]
        fn to_int(&mut self, a: f32) -> i32 {
            if a.abs() < 2_147_483_648.0 { a as i32 } else { i32::MIN }
        }

        #[inline(always)]
        fn nearest_sixteenth(&mut self, a: f32, b: f32) -> (f32, i32) {
            const MAGIC: f32 = 786_432.0;
            let shifted = a.mul_add(b, MAGIC);
            (shifted - MAGIC, shifted.to_bits() as i32)
        }
    };
}

impl Lanes for Avx2 {
    lanes_as_scalar!();
}

impl Arithmetic for Avx2 {
    const TABLES: bool = false;

    single_as_scalar!();
}

impl Lanes for Avx512 {
    lanes_as_scalar!();

    #[inline(always)]
    fn quotient(&mut self, a: f32, b: f32) -> f32 {
        let y = self.reciprocal_estimate(b);
        let q = a * y;
        let rest = (-b).mul_add(q, a);
        rest.mul_add(y, q)
    }
}

impl Arithmetic for Avx512 {
    single_as_scalar!();

    #[inline(always)]
    fn power_of_two(&mut self, n: (f32, i32)) -> f32 {
        if n.0.is_nan() { n.0 } else { 2f64.powi(n.0 as i32) as f32 }
    }

    #[inline(always)]
    fn scale(&mut self, x: f32, (n, _): (f32, i32)) -> f32 {
        if n.is_nan() { n } else { (f64::from(x) * 2f64.powi(n.floor() as i32)) as f32 }
    }

    #[inline(always)]
    fn scale_down(&mut self, x: f32, n: (f32, i32)) -> f32 {
        self.scale(x, n)
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
}
