//! The functions of f32 that are no instruction, as *expansions*: written once over [`Arithmetic`], evaluated on numbers
//! by [`Scalar`] and turned into expressions of a kernel by the targets.
//!
//! What comes in is any f32: NaN gives NaN, zeros keep their sign where the function is odd, subnormals and infinities are
//! treated as IEEE 754 asks. What goes out is within [`Function::max_ulp`] units in the last place. No expansion
//! branches on data; rare ranges are selected, or left to [`Arithmetic::if_any`].
//!
//! Read [`Arithmetic`] first, then [`exp()`] as the simplest family; [`Function`] lists them all with their accuracy.

mod arithmetic;
mod erf;
mod exp;
mod function;
pub mod idiom;
mod inverse;
mod log;
mod pow;
mod scalar;
mod trig;
mod turns;

pub use arithmetic::{Arithmetic, TABLE};
pub use erf::{erf, gelu};
pub use exp::{cosh, exp, exp2, expm1, sigmoid, sinh, tanh};
pub use function::Function;
pub use inverse::{ATAN2_MAX_ULP, acos, asin, atan, atan2};
pub use log::{acosh, asinh, atanh, log, log1p, log2};
pub use pow::{POW_MAX_ULP, pow, rsqrt};
pub use scalar::Scalar;
pub use trig::{cos, sin, tan};

/// `c[0]·x^n + … + c[n]`, from the inside; an empty polynomial is 0.
fn polynomial<K: Arithmetic>(k: &mut K, x: K::F, coefficients: &[f32]) -> K::F {
    let Some((&first, rest)) = coefficients.split_first() else {
        return k.f(0.0);
    };
    let first = k.f(first);
    rest.iter().fold(first, |sum, &c| {
        let c = k.f(c);
        k.fma(sum, x, c)
    })
}
