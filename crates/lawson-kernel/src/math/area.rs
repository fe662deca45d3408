//! The inverse hyperbolic functions of both precisions: `asinh`, `acosh`, `atanh`, made of `log(1 + x)`.
//!
//! [`Logarithm`] has what differs between f32 and f64.

use super::{Lanes, Number};

/// A precision, as the functions of this file need it in the lanes of `K`.
pub trait Logarithm<K: Lanes<C = Self>>: Number {
    /// `log(2)`
    const LN_2: Self;
    /// Beyond this, `log(1 + x)` is `log(x)` and `sqrt(x² ± 1)` is `x`.
    const LARGE: Self;

    /// `log(1 + x)`
    fn log1p(k: &mut K, x: K::F) -> K::F;

    /// `atanh(a)`, given as it is computed of an `a` that is not negative, where that is not right: of the smallest numbers, and beyond 1.
    fn atanh_at_ends(k: &mut K, a: K::F, computed: K::F) -> K::F;
}

/// `log(2x)` for `x` beyond [`Logarithm::LARGE`], `log(1 + small)` elsewhere.
fn log_of_double<K: Lanes>(k: &mut K, x: K::F, small: K::F) -> K::F
where
    K::C: Logarithm<K>,
{
    let (large, ln_2, zero) = (k.f(K::C::LARGE), k.f(K::C::LN_2), k.exact(0.0));
    let is_large = k.lt(large, x);
    let argument = k.select(is_large, x, small);
    let result = K::C::log1p(k, argument);
    let more = k.select(is_large, ln_2, zero);
    k.add(result, more)
}

/// The inverse hyperbolic sine: `log(1 + a + a²/(1 + sqrt(a² + 1)))` of `a = |x|`.
pub fn asinh<K: Lanes>(k: &mut K, x: K::F) -> K::F
where
    K::C: Logarithm<K>,
{
    let (large, one) = (k.f(K::C::LARGE), k.exact(1.0));
    let a = k.abs(x);
    let bounded = k.min(large, a);
    let square = k.mul(bounded, bounded);
    let root = k.add(square, one);
    let root = k.sqrt(root);
    let divisor = k.add(root, one);
    let quotient = k.quotient(square, divisor);
    let small = k.add(bounded, quotient);
    let magnitude = log_of_double(k, a, small);
    k.or_sign(magnitude, x)
}

/// The inverse hyperbolic cosine: `log(1 + t + sqrt(2t + t²))` of `t = x - 1`; NaN below 1.
pub fn acosh<K: Lanes>(k: &mut K, x: K::F) -> K::F
where
    K::C: Logarithm<K>,
{
    let (large, one, nan) = (k.f(K::C::LARGE), k.exact(1.0), k.f(K::C::NAN));
    let bounded = k.min(large, x);
    let t = k.sub(bounded, one);
    let double = k.add(t, t);
    let square = k.fma(t, t, double);
    let root = k.sqrt(square);
    let small = k.add(t, root);
    let result = log_of_double(k, x, small);
    let below = k.lt(x, one);
    k.select(below, nan, result)
}

/// The inverse hyperbolic tangent: `log(1 + 2a/(1 - a)) / 2` of `a = |x|`; NaN beyond 1.
pub fn atanh<K: Lanes>(k: &mut K, x: K::F) -> K::F
where
    K::C: Logarithm<K>,
{
    let (one, half) = (k.exact(1.0), k.exact(0.5));
    let a = k.abs(x);
    let double = k.add(a, a);
    let divisor = k.sub(one, a);
    let quotient = k.div(double, divisor);
    let log = K::C::log1p(k, quotient);
    let magnitude = k.mul(log, half);
    let magnitude = K::C::atanh_at_ends(k, a, magnitude);
    k.copy_sign(magnitude, x)
}
