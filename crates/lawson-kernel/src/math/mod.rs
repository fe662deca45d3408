//! The functions of floats that are no instruction, as *expansions*: written over [`Lanes`], evaluated on numbers by [`Scalar`] and
//! turned into expressions of a kernel by the targets.
//!
//! What comes in is any number: NaN gives NaN, zeros keep their sign where the function is odd, subnormals and infinities are
//! treated as IEEE 754 asks. What goes out is within [`Function::max_ulp`] units in the last place. No expansion
//! branches on data; rare ranges are selected, or left to [`Lanes::if_any`].
//!
//! Functions of f32 are here, those of f64 in [`double`]. Where both go the same way (`trig`, `turns`, `area`, `pow`, `pair`), a function is written
//! once, for any [`Lanes`] whose [`Number`] has what differs: its constants, and what only one of [`Arithmetic`] and
//! [`double::Double`] can do. Where they go ways of their own, each has its file.
//!
//! Read [`Lanes`] first, then [`exp()`] as the simplest family; [`Function`] lists them all with their accuracy.

mod area;
mod arithmetic;
pub mod double;
mod erf;
mod exp;
mod function;
pub mod idiom;
mod inverse;
mod lanes;
mod log;
mod pair;
mod pow;
mod reciprocal;
mod scalar;
mod trig;
mod turns;

pub use area::{acosh, asinh, atanh};
pub use arithmetic::Arithmetic;
pub use erf::{erf, gelu};
pub use exp::{cosh, exp, exp2, expm1, sigmoid, sinh, tanh};
pub use function::Function;
pub use inverse::{ATAN2_MAX_ULP, acos, asin, atan, atan2};
pub use lanes::{Lanes, Number, TABLE};
pub use log::{log, log1p, log2};
pub use pow::{POW_MAX_ULP, pow, rsqrt};
pub use reciprocal::{Reciprocal, divide_by};
pub use scalar::Scalar;
pub use trig::{cos, sin, sin_cos, tan};

use lanes::{clamp, odd, polynomial};
