//! What a graph asks of its partition: who reads what, which nodes need no group, and that no group waits for itself.

use crate::lower::takes;
use lawson_graph::{Def, Graph, Node, NodeId, Op, ValueId};

/// Who computes and who reads each value, with what is free looked through.
pub(super) struct Flow {
    /// Nodes that some output needs.
    pub(super) live: Vec<bool>,
    /// Nodes that everybody who reads them computes anew: slices, reshapes and broadcasts are index arithmetic, numbers that
    /// are indices or repeated come from nowhere.
    pub(super) free: Vec<bool>,
    /// Values that the graph returns.
    pub(super) returned: Vec<bool>,
    /// For each node, the values that it reads from memory.
    pub(super) sources: Vec<Vec<ValueId>>,
    /// For each value, the nodes that read it from memory.
    pub(super) readers: Vec<Vec<NodeId>>,
}

impl Flow {
    pub(super) fn new(graph: &Graph) -> Flow {
        let mut flow = Flow {
            live: vec![false; graph.nodes().len()],
            free: vec![false; graph.nodes().len()],
            returned: vec![false; graph.values().len()],
            sources: vec![Vec::new(); graph.nodes().len()],
            readers: vec![Vec::new(); graph.values().len()],
        };
        flow.mark_live(graph);
        graph.outputs().iter().for_each(|o| flow.returned[o.value.index()] = true);
        // A view is free if every reader is computed by loops, which then index through it.
        let mut looped = vec![true; graph.values().len()];
        for node in graph.nodes() {
            if !takes(&node.op) {
                node.inputs.iter().for_each(|v| looped[v.index()] = false);
            }
        }
        for n in graph.node_ids() {
            let node = graph.node(n);
            let kept = |v: &ValueId| flow.returned[v.index()] || !looped[v.index()];
            flow.free[n.index()] = is_free(node) && !node.outputs.iter().any(kept);
        }
        // A view of a view is read by whoever must have it in memory.
        for n in graph.node_ids() {
            let mut sources = Vec::new();
            for v in &graph.node(n).inputs {
                match graph.value(*v).def {
                    Def::Node(m, _) if flow.free[m.index()] => sources.extend(&flow.sources[m.index()]),
                    Def::Node(m, _) if is_number(graph.node(m)) => {}
                    _ => sources.push(*v),
                }
            }
            sources.sort_unstable();
            sources.dedup();
            if flow.live[n.index()] && !flow.free[n.index()] {
                sources.iter().for_each(|v| flow.readers[v.index()].push(n));
            }
            flow.sources[n.index()] = sources;
        }
        flow
    }

    fn mark_live(&mut self, graph: &Graph) {
        let mut open: Vec<ValueId> = graph.outputs().iter().map(|o| o.value).collect();
        while let Some(v) = open.pop() {
            if let Def::Node(n, _) = graph.value(v).def
                && !std::mem::replace(&mut self.live[n.index()], true)
            {
                open.extend(&graph.node(n).inputs);
            }
        }
    }

    /// Nodes with those that are free to them, in order.
    pub(super) fn with_free(&self, graph: &Graph, members: &[NodeId]) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = members.to_vec();
        let mut inside: std::collections::HashSet<NodeId> = nodes.iter().copied().collect();
        let mut at = 0;
        while at < nodes.len() {
            for v in &graph.node(nodes[at]).inputs {
                if let Def::Node(m, _) = graph.value(*v).def
                    && self.free[m.index()]
                    && inside.insert(m)
                {
                    nodes.push(m);
                }
            }
            at += 1;
        }
        nodes.sort();
        nodes
    }
}

/// Whether a node is one number, repeated.
fn is_number(node: &Node) -> bool {
    matches!(&node.op, Op::Constant(t) if t.is_splat())
}

fn is_free(node: &Node) -> bool {
    matches!(node.op, Op::Broadcast(_) | Op::Reshape(_) | Op::Slice(_) | Op::Iota(_) | Op::Dims(_))
}
