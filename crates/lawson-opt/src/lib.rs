//! Rewrites of Lawson's typed tensor graph.
//!
//! This crate is an inner part of Lawson; depend on `lawson` instead, which alone is public API.
//!
//! A [`Pass`] looks at a graph and returns a [`Patch`](lawson_graph::Patch); a [`Pipeline`] is a printable list of
//! passes, with the verifier between them. Most of the work is done by one pass, `simplify`, which applies the
//! [`rules`]: small identities, each tested on random instances through the oracle because it is in a table.
//!
//! Read `pipeline.rs` first, then `rewrite.rs`, then any file of `rules/`. `docs/add-a-rule.md` shows how to add one.

mod bisect;
mod canonical;
mod hash;
mod pass;
mod pipeline;
mod rewrite;
mod rule;

pub mod passes;
pub mod rules;

pub use bisect::{Verdict, bisect};
pub use canonical::canonical_form;
pub use pass::{Outcome, Pass, run_pass};
pub use pipeline::{Observed, Pipeline, RunOptions, Verify};
pub use rewrite::{Apply, Rewriter, fuel, one, rewrite, rewrite_with};
pub use rule::{Exact, Instance, Rule};
