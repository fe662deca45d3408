//! Dimensions: constants and symbolic expressions in one canonical form, so that equal expressions are equal values.
//!
//! A `Dim` is a polynomial with integer coefficients over *atoms*: named symbols, floor divisions, minima and
//! maxima. Sums and products are expanded and sorted, `a % b` is `a - b*(a / b)`, so `==` on dimensions is
//! structural. Division by zero gives zero. What is *known* about symbols (`N >= 1`) is in `facts.rs`, what follows from it in `prove.rs`; how symbols
//! get their values at run time is in `bind.rs`; printing and parsing is in `text.rs`.
//!
//! Expressions that outgrow 63-bit coefficients or `MAX_TERMS` terms become the poisoned `Dim::overflow()`, which
//! equals nothing useful and which type checking refuses; so arithmetic here is total.

mod bind;
mod expr;
mod facts;
mod prove;
mod sample;
mod symbol;
mod text;

pub use bind::Bindings;
pub use expr::Dim;
pub use facts::{Fact, Facts, Relation, UNKNOWN_SIZE};
pub use symbol::Symbol;
pub use text::parse_dim;
pub use text::{DimToken, DimTokens, parse_dim_tokens};
