//! [`Scalar`]: the arithmetic on plain numbers, for constant folding, for tests and for portable execution.

use super::{Arithmetic, TABLE};

/// Evaluates an expansion on f32, with the portable form of every hook.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalar;

impl Arithmetic for Scalar {
    type F = f32;
    type I = i32;
    type B = bool;

    #[inline(always)]
    fn f(&mut self, c: f32) -> f32 {
        c
    }
    #[inline(always)]
    fn i(&mut self, c: i32) -> i32 {
        c
    }
    #[inline(always)]
    fn add(&mut self, a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline(always)]
    fn sub(&mut self, a: f32, b: f32) -> f32 {
        a - b
    }
    #[inline(always)]
    fn mul(&mut self, a: f32, b: f32) -> f32 {
        a * b
    }
    #[inline(always)]
    fn div(&mut self, a: f32, b: f32) -> f32 {
        a / b
    }
    #[inline(always)]
    fn fma(&mut self, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn fms(&mut self, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, -c)
    }
    #[inline(always)]
    fn fnma(&mut self, a: f32, b: f32, c: f32) -> f32 {
        (-a).mul_add(b, c)
    }
    #[inline(always)]
    fn sqrt(&mut self, a: f32) -> f32 {
        a.sqrt()
    }
    #[inline(always)]
    fn neg(&mut self, a: f32) -> f32 {
        -a
    }
    #[inline(always)]
    fn abs(&mut self, a: f32) -> f32 {
        a.abs()
    }
    #[inline(always)]
    fn min(&mut self, a: f32, b: f32) -> f32 {
        if a < b { a } else { b }
    }
    #[inline(always)]
    fn max(&mut self, a: f32, b: f32) -> f32 {
        if a > b { a } else { b }
    }
    #[inline(always)]
    fn round_even(&mut self, a: f32) -> f32 {
        a.round_ties_even()
    }
    #[inline(always)]
    fn lt(&mut self, a: f32, b: f32) -> bool {
        a < b
    }
    #[inline(always)]
    fn le(&mut self, a: f32, b: f32) -> bool {
        a <= b
    }
    #[inline(always)]
    fn eq(&mut self, a: f32, b: f32) -> bool {
        a == b
    }
    #[inline(always)]
    fn is_nan(&mut self, a: f32) -> bool {
        a.is_nan()
    }
    #[inline(always)]
    fn select(&mut self, c: bool, a: f32, b: f32) -> f32 {
        if c { a } else { b }
    }
    #[inline(always)]
    fn i_add(&mut self, a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn i_sub(&mut self, a: i32, b: i32) -> i32 {
        a.wrapping_sub(b)
    }
    #[inline(always)]
    fn i_and(&mut self, a: i32, b: i32) -> i32 {
        a & b
    }
    #[inline(always)]
    fn i_or(&mut self, a: i32, b: i32) -> i32 {
        a | b
    }
    #[inline(always)]
    fn i_xor(&mut self, a: i32, b: i32) -> i32 {
        a ^ b
    }
    #[inline(always)]
    fn i_shl(&mut self, a: i32, by: u32) -> i32 {
        a.wrapping_shl(by)
    }
    #[inline(always)]
    fn i_shr(&mut self, a: i32, by: u32) -> i32 {
        (a as u32).wrapping_shr(by) as i32
    }
    #[inline(always)]
    fn i_sar(&mut self, a: i32, by: u32) -> i32 {
        a.wrapping_shr(by)
    }
    #[inline(always)]
    fn i_lt(&mut self, a: i32, b: i32) -> bool {
        a < b
    }
    #[inline(always)]
    fn i_eq(&mut self, a: i32, b: i32) -> bool {
        a == b
    }
    #[inline(always)]
    fn i_select(&mut self, c: bool, a: i32, b: i32) -> i32 {
        if c { a } else { b }
    }
    #[inline(always)]
    fn to_int(&mut self, a: f32) -> i32 {
        a as i32
    }
    #[inline(always)]
    fn to_float(&mut self, a: i32) -> f32 {
        a as f32
    }
    #[inline(always)]
    fn bits(&mut self, a: f32) -> i32 {
        a.to_bits() as i32
    }
    #[inline(always)]
    fn of_bits(&mut self, a: i32) -> f32 {
        f32::from_bits(a as u32)
    }
    #[inline(always)]
    fn lookup(&mut self, index: i32, table: &[f32; TABLE]) -> f32 {
        table[(index & 15) as usize]
    }
    #[inline(always)]
    fn and(&mut self, a: bool, b: bool) -> bool {
        a & b
    }
    #[inline(always)]
    fn or(&mut self, a: bool, b: bool) -> bool {
        a | b
    }
    #[inline(always)]
    fn not(&mut self, a: bool) -> bool {
        !a
    }
    #[inline(always)]
    fn if_any<const N: usize>(
        &mut self,
        condition: bool,
        common: [f32; N],
        rare: impl FnOnce(&mut Self) -> [f32; N],
    ) -> [f32; N] {
        if condition { rare(self) } else { common }
    }
}
