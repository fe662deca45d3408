//! What a pass is, and how one is run on a graph and on the bodies inside it.

use lawson_graph::{Graph, Patch, Result};
use std::fmt;
use std::sync::Arc;

/// A named rewrite of a graph. It never mutates: it says what it wants changed.
pub trait Pass: fmt::Debug + Send + Sync {
    /// The name, as pipelines and `--dump-after` spell it.
    fn name(&self) -> &'static str;

    /// What it does, in one line.
    fn summary(&self) -> &'static str;

    /// The change that it wants, if any. Bodies of loops and branches are not its business: it is run on each of
    /// them by itself.
    fn run(&self, graph: &Graph) -> Result<Option<Patch>>;
}

/// What a pass left: the graph, and whether anything changed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The graph after the pass.
    pub graph: Graph,
    /// Whether the pass changed it.
    pub changed: bool,
}

/// Runs a pass on a graph and, before that, on every body inside it.
pub fn run_pass(pass: &dyn Pass, graph: Graph) -> Result<Outcome> {
    let Outcome { graph, changed } = run_on_bodies(pass, graph)?;
    match pass.run(&graph)?.filter(|p| !p.is_empty()) {
        Some(patch) => Ok(Outcome { graph: graph.apply(patch)?, changed: true }),
        None => Ok(Outcome { graph, changed }),
    }
}

fn run_on_bodies(pass: &dyn Pass, graph: Graph) -> Result<Outcome> {
    if graph.nodes().iter().all(|n| n.op.subgraphs().is_empty()) {
        return Ok(Outcome { graph, changed: false });
    }
    let mut changed = false;
    let mut parts = graph.into_parts();
    for node in &mut parts.nodes {
        let bodies: Vec<Arc<Graph>> = node.op.subgraphs().into_iter().map(|(_, g)| g.clone()).collect();
        let mut rewritten = Vec::with_capacity(bodies.len());
        let mut any = false;
        for body in bodies {
            let outcome = run_pass(pass, Graph::clone(&body))?;
            any |= outcome.changed;
            rewritten.push(if outcome.changed { Arc::new(outcome.graph) } else { body });
        }
        if any {
            node.op = node.op.with_subgraphs(rewritten);
            changed = true;
        }
    }
    Ok(Outcome { graph: Graph::from_parts(parts), changed })
}
