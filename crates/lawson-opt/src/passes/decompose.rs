//! Decompose: composites become what they are made of, until only primitives are left.

use crate::pass::Pass;
use crate::rewrite::rewrite_with;
use lawson_graph::{Code, Error, Graph, Op, Patch, Result};

/// How many nodes any graph may expand to, and how many more for each of its own.
const NODES: usize = 1 << 18;
const NODES_PER_NODE: usize = 256;

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
        let most = NODES + NODES_PER_NODE * graph.nodes().len();
        // Composites end of themselves, so that only what they leave is limited.
        rewrite_with(graph, usize::MAX, &mut |rw, node| match &node.op {
            Op::Composite(c) if rw.added().len() > most => {
                let message = format!("`{}` and others expand to more than {most} nodes", c.name());
                Err(Error::new(Code::Budget, message).help("composites that call one another multiply"))
            }
            Op::Composite(c) => c.clone().decompose(rw, &node.inputs).map(Some),
            _ => Ok(None),
        })
    }
}
