//! Lowering, checked by running kernels on the direct evaluator, forwards and backwards, against the oracle.
#![allow(clippy::unwrap_used)]

mod attention;
mod cut;
mod data;
mod elementwise;
mod linear;
mod random;
mod recurrence;
mod rows;
mod support;
