//! Simplify: every rule of `rules/`, in one walk.

use crate::pass::Pass;
use crate::rewrite::rewrite;
use crate::rule::Rule;
use crate::rules;
use lawson_graph::{Graph, Patch, Result};

/// Applies all rules.
#[derive(Clone, Copy, Debug)]
pub struct Simplify;

impl Pass for Simplify {
    fn name(&self) -> &'static str {
        "simplify"
    }

    fn summary(&self) -> &'static str {
        "applies the rules of algebra, casts, views, slices, concats, reductions and shape arithmetic"
    }

    fn run(&self, graph: &Graph) -> Result<Option<Patch>> {
        let rules: Vec<&Rule> = rules::all().collect();
        rewrite(graph, &rules)
    }
}
