//! Bounded mode: beside each number, the range in which the number of every correct target lies.
//!
//! An element is a best guess (floats in f64, never rounded) with the least and the greatest value that a target may
//! have computed in the declared dtypes. A target is correct if
//!
//! - each elementwise primitive is as accurate as the table in `unary.rs` and `binary.rs` says: `+ - * / sqrt` correctly
//!   rounded, transcendentals within a few units in the last place;
//! - sums and products of many are formed in any order, rounded at each step to the accumulator dtype and once at the
//!   end to the dtype of the result;
//! - a result may be left unrounded, or (f16, bf16, 8-bit floats) kept in f32, where another primitive uses it; but
//!   comparisons, `min` and `max` see one and the same number wherever they meet it, so that the greatest of a row equals
//!   an element of it;
//! - where [`Options::flushes`](super::Options) allows it, subnormal numbers are zeros (`flush.rs`).
//!
//! Ranges are found by interval arithmetic: each end is computed in f64, moved outwards where f64 itself had to round, and
//! then replaced by the outermost of itself and its roundings. What is exact stays exact: a range of one point.
//! Comparisons, casts to integers and choices whose outcome differs inside the range give a range that holds every
//! outcome.

mod binary;
mod directed;
mod float;
mod flush;
mod fold;
mod int;
mod linear;
mod order;
mod unary;

pub(super) use float::FloatBound;
pub(super) use flush::Flushing;
pub(super) use int::IntBound;

use super::mode::Mode;

/// Bounded mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds;

impl Mode for Bounds {
    type Float = FloatBound;
    type Int = IntBound;

    const ELEMENT_WORK: u128 = 32;
}
