//! What a pass is, and how one is run on a graph and on the bodies inside it.

use lawson_graph::{Graph, Op, Patch, Result};
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

/// Runs a pass on a graph and, before that, on every body inside it. `None` if nothing changed.
pub fn run_pass(pass: &dyn Pass, graph: &Graph) -> Result<Option<Graph>> {
    let with_bodies = run_on_bodies(pass, graph)?;
    let current = with_bodies.as_ref().unwrap_or(graph);
    match pass.run(current)?.filter(|p| !p.is_empty()) {
        Some(patch) => Ok(Some(current.apply(patch)?)),
        None => Ok(with_bodies),
    }
}

fn run_on_bodies(pass: &dyn Pass, graph: &Graph) -> Result<Option<Graph>> {
    let mut changed: Vec<(usize, Op)> = Vec::new();
    for (index, node) in graph.nodes().iter().enumerate() {
        let bodies = node.op.subgraphs();
        if bodies.is_empty() {
            continue;
        }
        let mut any = false;
        let mut rewritten: Vec<Arc<Graph>> = Vec::new();
        for (_, body) in bodies {
            match run_pass(pass, body)? {
                Some(new) => {
                    any = true;
                    rewritten.push(Arc::new(new));
                }
                None => rewritten.push(body.clone()),
            }
        }
        if any {
            changed.push((index, node.op.with_subgraphs(rewritten)));
        }
    }
    if changed.is_empty() {
        return Ok(None);
    }
    let mut parts = graph.clone().into_parts();
    for (index, op) in changed {
        parts.nodes[index].op = op;
    }
    Ok(Some(Graph::from_parts(parts)))
}
