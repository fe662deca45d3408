//! The rules of `simplify`, by subject. Each file has one table; a rule is in force because it stands in one.

mod absorb;
mod algebra;
mod axes;
mod cast;
mod concat;
mod convolve;
mod integers;
mod loops;
mod shape;
mod sink;
mod slice;

use crate::rule::Rule;

/// Every rule, in the order in which they are tried on a node: what vanishes first, what moves last.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [
        shape::RULES,
        cast::RULES,
        algebra::RULES,
        axes::RULES,
        concat::RULES,
        slice::RULES,
        absorb::RULES,
        convolve::RULES,
        integers::RULES,
        sink::RULES,
        loops::RULES,
    ]
    .into_iter()
    .flatten()
}
