//! Decompose: composites become what they are made of, until only primitives are left.

use crate::pass::Pass;
use crate::rewrite::rewrite_with;
use lawson_graph::{Code, Error, Graph, Op, Patch, Result};

/// How many nodes any graph may expand to, and how many more for each of its own.
const NODES: usize = 1 << 18;
const NODES_PER_NODE: usize = 256;

/// Lowers composites: all of them ([`Decompose::ALL`]), or all but those that a target computes as they are.
#[derive(Clone, Copy, Debug)]
pub struct Decompose {
    /// The names of composites that stay.
    pub keep: &'static [&'static str],
}

impl Decompose {
    /// Keeps none.
    pub const ALL: Decompose = Decompose { keep: &[] };

    fn lowers(self, op: &Op) -> bool {
        matches!(op, Op::Composite(c) if !self.keep.contains(&c.name()))
    }
}

impl Pass for Decompose {
    fn name(&self) -> &'static str {
        "decompose"
    }

    fn summary(&self) -> &'static str {
        "lowers composites to primitives"
    }

    fn run(&self, graph: &Graph) -> Result<Option<Patch>> {
        if !graph.nodes().iter().any(|n| self.lowers(&n.op)) {
            return Ok(None);
        }
        let most = NODES + NODES_PER_NODE * graph.nodes().len();
        // Composites end of themselves, so that only what they leave is limited.
        rewrite_with(graph, usize::MAX, &mut |rw, node| match &node.op {
            Op::Composite(c) if self.lowers(&node.op) && rw.added().len() > most => {
                let message = format!("`{}` and others expand to more than {most} nodes", c.name());
                Err(Error::new(Code::Budget, message).help("composites that call one another multiply"))
            }
            Op::Composite(c) if self.lowers(&node.op) => c.clone().decompose(rw, &node.inputs).map(Some),
            _ => Ok(None),
        })
    }
}
