//! [`DoubleScalar`]: the arithmetic on plain numbers.

use super::{Double, TABLE};

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

impl Double for DoubleScalar {
    type F = f64;
    type I = i64;
    type B = bool;

    plain! {
        f(c: f64) -> f64 = c;
        i(c: i64) -> i64 = c;
        add(a: f64, b: f64) -> f64 = a + b;
        sub(a: f64, b: f64) -> f64 = a - b;
        mul(a: f64, b: f64) -> f64 = a * b;
        div(a: f64, b: f64) -> f64 = a / b;
        fma(a: f64, b: f64, c: f64) -> f64 = a.mul_add(b, c);
        fms(a: f64, b: f64, c: f64) -> f64 = a.mul_add(b, -c);
        fnma(a: f64, b: f64, c: f64) -> f64 = (-a).mul_add(b, c);
        sqrt(a: f64) -> f64 = a.sqrt();
        min(a: f64, b: f64) -> f64 = if a < b { a } else { b };
        max(a: f64, b: f64) -> f64 = if a > b { a } else { b };
        round_even(a: f64) -> f64 = a.round_ties_even();
        trunc(a: f64) -> f64 = a.trunc();
        lt(a: f64, b: f64) -> bool = a < b;
        le(a: f64, b: f64) -> bool = a <= b;
        eq(a: f64, b: f64) -> bool = a == b;
        is_nan(a: f64) -> bool = a.is_nan();
        select(c: bool, a: f64, b: f64) -> f64 = if c { a } else { b };
        i_add(a: i64, b: i64) -> i64 = a.wrapping_add(b);
        i_sub(a: i64, b: i64) -> i64 = a.wrapping_sub(b);
        i_and(a: i64, b: i64) -> i64 = a & b;
        i_or(a: i64, b: i64) -> i64 = a | b;
        i_xor(a: i64, b: i64) -> i64 = a ^ b;
        i_shl(a: i64, by: u32) -> i64 = a.wrapping_shl(by);
        i_shr(a: i64, by: u32) -> i64 = (a as u64).wrapping_shr(by) as i64;
        i_eq(a: i64, b: i64) -> bool = a == b;
        bits(a: f64) -> i64 = a.to_bits() as i64;
        of_bits(a: i64) -> f64 = f64::from_bits(a as u64);
        lookup(index: i64, table: &[f64; TABLE]) -> f64 = table[(index & 15) as usize];
        and(a: bool, b: bool) -> bool = a & b;
        or(a: bool, b: bool) -> bool = a | b;
        not(a: bool) -> bool = !a;
    }

    #[inline(always)]
    fn if_any<const N: usize>(
        &mut self,
        condition: bool,
        common: [f64; N],
        rare: impl FnOnce(&mut Self) -> [f64; N],
    ) -> [f64; N] {
        if condition { rare(self) } else { common }
    }
}
