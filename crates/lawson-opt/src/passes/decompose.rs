//! Decompose: composites become what they are made of, until only primitives are left.

use crate::pass::Pass;
use crate::rewrite::rewrite_with;
use lawson_graph::{Graph, Op, Patch, Result};

/// Lowers every composite.
#[derive(Clone, Copy, Debug)]
pub struct Decompose;

impl Pass for Decompose {
    fn name(&self) -> &'static str {
        "decompose"
    }

    fn summary(&self) -> &'static str {
        "lowers composites to primitives"
    }

    fn run(&self, graph: &Graph) -> Result<Option<Patch>> {
        if !graph.nodes().iter().any(|n| n.op.is_composite()) {
            return Ok(None);
        }
        rewrite_with(graph, &mut |rw, node| match &node.op {
            Op::Composite(c) => c.clone().decompose(rw, &node.inputs).map(Some),
            _ => Ok(None),
        })
    }
}
