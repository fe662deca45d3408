//! What the tests and the `ulp` example share: references in f64, distances in ulp, arithmetics that count and that
//! imitate the instructions of AVX-512.

#![allow(dead_code, reason = "each user takes its part")]

/// The operations of [`lawson_kernel::math::Lanes`] that are no hooks and work on values alone, and its signs, as signatures for the macro
/// named.
macro_rules! operations {
    ($rule:ident) => {
        $rule! {
            fn add(a: Self::F, b: Self::F) -> Self::F;
            fn sub(a: Self::F, b: Self::F) -> Self::F;
            fn mul(a: Self::F, b: Self::F) -> Self::F;
            fn div(a: Self::F, b: Self::F) -> Self::F;
            fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F;
            fn fms(a: Self::F, b: Self::F, c: Self::F) -> Self::F;
            fn fnma(a: Self::F, b: Self::F, c: Self::F) -> Self::F;
            fn sqrt(a: Self::F) -> Self::F;
            fn neg(a: Self::F) -> Self::F;
            fn abs(a: Self::F) -> Self::F;
            fn min(a: Self::F, b: Self::F) -> Self::F;
            fn max(a: Self::F, b: Self::F) -> Self::F;
            fn round_even(a: Self::F) -> Self::F;
            fn lt(a: Self::F, b: Self::F) -> Self::B;
            fn le(a: Self::F, b: Self::F) -> Self::B;
            fn eq(a: Self::F, b: Self::F) -> Self::B;
            fn is_nan(a: Self::F) -> Self::B;
            fn select(c: Self::B, a: Self::F, b: Self::F) -> Self::F;
            fn i_add(a: Self::I, b: Self::I) -> Self::I;
            fn i_sub(a: Self::I, b: Self::I) -> Self::I;
            fn i_and(a: Self::I, b: Self::I) -> Self::I;
            fn i_or(a: Self::I, b: Self::I) -> Self::I;
            fn i_xor(a: Self::I, b: Self::I) -> Self::I;
            fn i_eq(a: Self::I, b: Self::I) -> Self::B;
            fn and(a: Self::B, b: Self::B) -> Self::B;
            fn or(a: Self::B, b: Self::B) -> Self::B;
            fn not(a: Self::B) -> Self::B;
        }
    };
}

/// Those that take constants, or only look at a value in another way.
macro_rules! operations_with_constants {
    ($rule:ident) => {
        $rule! {
            fn f(c: f32) -> Self::F;
            fn i(c: i32) -> Self::I;
            fn i_shl(a: Self::I, by: u32) -> Self::I;
            fn i_shr(a: Self::I, by: u32) -> Self::I;
            fn bits(a: Self::F) -> Self::I;
            fn of_bits(a: Self::I) -> Self::F;
            fn lookup(index: Self::I, table: &[f32; TABLE]) -> Self::F;
        }
    };
}

/// Those that [`lawson_kernel::math::Arithmetic`] adds, but for `to_int` and `i_sar`.
macro_rules! operations_of_single {
    ($rule:ident) => {
        $rule! {
            fn i_lt(a: Self::I, b: Self::I) -> Self::B;
            fn i_select(c: Self::B, a: Self::I, b: Self::I) -> Self::I;
            fn to_float(a: Self::I) -> Self::F;
        }
    };
}

pub mod count;
pub mod imitation;
pub mod pairs;
pub mod precise;
pub mod reference;

/// The distance of `found` from the true value, in units in the last place of f32 at the true value.
///
/// NaN, infinities beyond the range and the sign of zeros are not near: they are equal, or infinitely far.
pub fn ulp(found: f32, truth: f64) -> f64 {
    let rounded = truth as f32;
    if truth.is_nan() || found.is_nan() {
        return if truth.is_nan() && found.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if found.to_bits() == rounded.to_bits() {
        // Correctly rounded; measured as well, unless there is nothing to measure.
        if !rounded.is_finite() || truth == 0.0 {
            return 0.0;
        }
    } else if truth == 0.0
        || truth.is_infinite()
        || (found == 0.0 && found.is_sign_negative() != (truth < 0.0))
    {
        return f64::INFINITY;
    }
    // Past the greatest f32, the next value of the grid stands for infinity.
    let end = f64::from(f32::MAX) + unit(f64::from(f32::MAX));
    let found = if found.is_infinite() { end.copysign(f64::from(found)) } else { f64::from(found) };
    (found - truth.clamp(-end, end)).abs() / unit(truth)
}

/// The spacing of f32 at `x`.
fn unit(x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    2f64.powi(exponent.clamp(-126, 127) - 23)
}
