//! [`Scalar`] and [`DoubleScalar`]: the arithmetic on plain numbers, for constant folding, for tests and for portable execution.

use super::double::Double;
use super::{Arithmetic, Lanes, TABLE};

/// Evaluates an expansion on f32, with the portable form of every hook.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalar;

/// Evaluates an expansion on f64, with the portable form of every hook.
#[derive(Clone, Copy, Debug, Default)]
pub struct DoubleScalar;

macro_rules! plain {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $result:ty = $value:expr;)*) => {
        $(#[inline(always)]
        fn $name(&mut self, $($arg: $ty),*) -> $result {
            $value
        })*
    };
}

/// [`Lanes`] of a float, with integers of its width, signed and not.
macro_rules! plain_lanes {
    ($float:ty, $int:ty, $unsigned:ty) => {
        type C = $float;
        type F = $float;
        type I = $int;
        type B = bool;

        plain! {
            f(c: $float) -> $float = c;
            i(c: $int) -> $int = c;
            add(a: $float, b: $float) -> $float = a + b;
            sub(a: $float, b: $float) -> $float = a - b;
            mul(a: $float, b: $float) -> $float = a * b;
            div(a: $float, b: $float) -> $float = a / b;
            fma(a: $float, b: $float, c: $float) -> $float = a.mul_add(b, c);
            fms(a: $float, b: $float, c: $float) -> $float = a.mul_add(b, -c);
            fnma(a: $float, b: $float, c: $float) -> $float = (-a).mul_add(b, c);
            sqrt(a: $float) -> $float = a.sqrt();
            neg(a: $float) -> $float = -a;
            abs(a: $float) -> $float = a.abs();
            min(a: $float, b: $float) -> $float = if a < b { a } else { b };
            max(a: $float, b: $float) -> $float = if a > b { a } else { b };
            round_even(a: $float) -> $float = a.round_ties_even();
            lt(a: $float, b: $float) -> bool = a < b;
            le(a: $float, b: $float) -> bool = a <= b;
            eq(a: $float, b: $float) -> bool = a == b;
            is_nan(a: $float) -> bool = a.is_nan();
            select(c: bool, a: $float, b: $float) -> $float = if c { a } else { b };
            i_add(a: $int, b: $int) -> $int = a.wrapping_add(b);
            i_sub(a: $int, b: $int) -> $int = a.wrapping_sub(b);
            i_and(a: $int, b: $int) -> $int = a & b;
            i_or(a: $int, b: $int) -> $int = a | b;
            i_xor(a: $int, b: $int) -> $int = a ^ b;
            i_shl(a: $int, by: u32) -> $int = a.wrapping_shl(by);
            i_shr(a: $int, by: u32) -> $int = (a as $unsigned).wrapping_shr(by) as $int;
            i_eq(a: $int, b: $int) -> bool = a == b;
            bits(a: $float) -> $int = a.to_bits() as $int;
            of_bits(a: $int) -> $float = <$float>::from_bits(a as $unsigned);
            lookup(index: $int, table: &[$float; TABLE]) -> $float = table[(index & 15) as usize];
            and(a: bool, b: bool) -> bool = a & b;
            or(a: bool, b: bool) -> bool = a | b;
            not(a: bool) -> bool = !a;
        }

        #[inline(always)]
        fn if_any<const N: usize>(
            &mut self,
            condition: bool,
            common: [$float; N],
            rare: impl FnOnce(&mut Self) -> [$float; N],
        ) -> [$float; N] {
            if condition { rare(self) } else { common }
        }
    };
}

impl Lanes for Scalar {
    plain_lanes!(f32, i32, u32);

    /// The integer is all of it, not its low bits alone.
    #[inline(always)]
    fn nearest(&mut self, a: f32, b: f32) -> (f32, i32) {
        let whole = (a * b).round_ties_even();
        (whole, whole as i32)
    }
}

impl Arithmetic for Scalar {
    plain! {
        i_sar(a: i32, by: u32) -> i32 = a.wrapping_shr(by);
        i_lt(a: i32, b: i32) -> bool = a < b;
        i_select(c: bool, a: i32, b: i32) -> i32 = if c { a } else { b };
        to_int(a: f32) -> i32 = a as i32;
        to_float(a: i32) -> f32 = a as f32;
    }
}

impl Lanes for DoubleScalar {
    plain_lanes!(f64, i64, u64);
}

impl Double for DoubleScalar {
    plain! {
        trunc(a: f64) -> f64 = a.trunc();
    }
}
