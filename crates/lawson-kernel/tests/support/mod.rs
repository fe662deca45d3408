//! What the tests and the `ulp` example share: references in f64, distances in ulp, arithmetics that count and that
//! imitate the instructions of AVX-512.

#![allow(dead_code, reason = "each user takes its part")]

pub mod count;
pub mod imitation;
pub mod pairs;
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
