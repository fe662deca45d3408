//! The functions of f32 (and, in [`double`], of f64) that are no instruction, as *expansions*: written once over [`Arithmetic`], evaluated on numbers
//! by [`Scalar`] and turned into expressions of a kernel by the targets.
//!
//! What comes in is any f32: NaN gives NaN, zeros keep their sign where the function is odd, subnormals and infinities are
//! treated as IEEE 754 asks. What goes out is within [`Function::max_ulp`] units in the last place. No expansion
//! branches on data; rare ranges are selected, or left to [`Arithmetic::if_any`].
//!
//! Read [`Arithmetic`] first, then [`exp()`] as the simplest family; [`Function`] lists them all with their accuracy.

mod arithmetic;
pub mod double;
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
pub use trig::{cos, sin, sin_cos, tan};

/// Eight entries where only the low three bits of the index are meant.
const fn twice(half: [f32; TABLE / 2]) -> [f32; TABLE] {
    let mut table = [0.0; TABLE];
    let mut n = 0;
    while n < TABLE {
        table[n] = half[n % (TABLE / 2)];
        n += 1;
    }
    table
}

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
