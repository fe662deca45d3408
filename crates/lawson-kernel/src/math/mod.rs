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
mod log;
mod scalar;

pub use arithmetic::{Arithmetic, TABLE};
pub use erf::erf;
pub use exp::{exp, sigmoid, tanh};
pub use function::Function;
pub use log::log;
pub use scalar::Scalar;

/// `c[0] x^n + … + c[n]`, from the inside.
fn polynomial<K: Arithmetic>(k: &mut K, x: K::F, coefficients: &[f32]) -> K::F {
    let mut rest = coefficients.iter();
    let first = rest.next().copied().unwrap_or(0.0);
    let first = k.f(first);
    rest.fold(first, |sum, &c| {
        let c = k.f(c);
        k.fma(sum, x, c)
    })
}
