//! What a graph asks of its partition: who reads what, which nodes need no group, and that no group waits for itself.

use crate::group::Refused;
use crate::hash::IdSet;
use crate::host::{needs, refusals, staged};
use crate::lower::takes;
use crate::machine::Spread;
use lawson_graph::op::{BinaryKind, Cumulative, Effect, Monoid, Reduce, WindowReduce};
use lawson_graph::{DType, Def, Graph, Node, NodeId, Op, ValueId};

/// Who computes and who reads each value, with what is free looked through.
pub(super) struct Flow {
    /// Nodes that some output needs.
    pub(super) live: Vec<bool>,
    /// Nodes that everybody who reads them computes anew: slices, reshapes and broadcasts are index arithmetic, numbers that
    /// are indices or repeated come from nowhere.
    pub(super) free: Vec<bool>,
    /// Values that the graph returns.
    pub(super) returned: Vec<bool>,
    /// Why a node is left to the host, whatever lowering says of it.
    pub(super) host: Vec<Option<Refused>>,
    /// Those of them that are parts of stages instead.
    pub(super) staged: Vec<bool>,
    /// Views of constants, of which each stage that reads one has its own: there they lie as its kernels want them.
    pub(super) copied: Vec<bool>,
    /// For each node, the nodes that it must follow besides those that compute its operands.
    pub(super) needs: Vec<Vec<NodeId>>,
    /// The same the other way round.
    pub(super) needed_by: Vec<Vec<NodeId>>,
    /// For each node, the values that it reads from memory.
    pub(super) sources: Vec<Vec<ValueId>>,
    /// For each value, the nodes that read it from memory.
    pub(super) readers: Vec<Vec<NodeId>>,
    /// For each value, whether elements of it are compared with each other, as with its extremum: computed twice, and rounded in two ways, one might
    /// not be equal to itself.
    compared: Vec<bool>,
}

impl Flow {
    pub(super) fn new(graph: &Graph, spread: Spread) -> Flow {
        let staged = match spread {
            Spread::Team => staged(graph),
            // Buffers of a device have their sizes before a run.
            Spread::Grid => vec![false; graph.nodes().len()],
        };
        let mut flow = Flow {
            live: vec![false; graph.nodes().len()],
            free: vec![false; graph.nodes().len()],
            returned: vec![false; graph.values().len()],
            host: refusals(graph),
            copied: copied(graph, &staged),
            staged,
            needs: needs(graph),
            needed_by: vec![Vec::new(); graph.nodes().len()],
            sources: vec![Vec::new(); graph.nodes().len()],
            readers: vec![Vec::new(); graph.values().len()],
            compared: vec![false; graph.values().len()],
        };
        flow.mark_live(graph);
        for n in graph.node_ids() {
            for m in &flow.needs[n.index()] {
                flow.needed_by[m.index()].push(n);
            }
        }
        graph.outputs().iter().for_each(|o| flow.returned[o.value.index()] = true);
        // A view is free if every reader is computed by loops, which then index through it.
        let mut looped = vec![true; graph.values().len()];
        for n in graph.node_ids() {
            let node = graph.node(n);
            if !takes(&node.op) || flow.host[n.index()].is_some() {
                let read = node.inputs.iter().filter(|v| !flow.is_own(graph, n, **v));
                read.for_each(|v| looped[v.index()] = false);
            }
        }
        let widened = widened(graph);
        for n in graph.node_ids() {
            let node = graph.node(n);
            let kept = |v: &ValueId| flow.returned[v.index()] || !looped[v.index()];
            let by_loops = flow.host[n.index()].is_none();
            let is_free = is_free(node) || widened[n.index()];
            flow.free[n.index()] = by_loops && is_free && !node.outputs.iter().any(kept);
        }
        // A view of a view is read by whoever must have it in memory.
        for n in graph.node_ids() {
            let mut sources = Vec::new();
            for v in &graph.node(n).inputs {
                match graph.value(*v).def {
                    Def::Node(m, _) if flow.free[m.index()] => sources.extend(&flow.sources[m.index()]),
                    Def::Node(m, _) if is_number(graph.node(m)) => {}
                    _ if flow.is_own(graph, n, *v) => {}
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
        flow.mark_compared(graph);
        flow
    }

    /// Marks what is compared with itself: both operands of a comparison are elements of it.
    fn mark_compared(&mut self, graph: &Graph) {
        for node in graph.nodes().iter().filter(|n| matches!(n.op, Op::Compare(_))) {
            let [a, b] = [0, 1].map(|i| origins(graph, node.inputs[i]));
            a.intersection(&b).for_each(|v| self.compared[v.index()] = true);
        }
    }

    /// Whether a node of a stage reads a value that the stage has for itself.
    fn is_own(&self, graph: &Graph, n: NodeId, v: ValueId) -> bool {
        self.staged[n.index()] && matches!(graph.value(v).def, Def::Node(m, _) if self.copied[m.index()])
    }

    /// Nodes of a stage with those that it has for itself, in order.
    pub(super) fn with_copied(&self, graph: &Graph, members: &[NodeId]) -> Vec<NodeId> {
        self.with(graph, members, &self.copied)
    }

    /// Whether one of two groups reads what the other makes and what is compared with itself.
    pub(super) fn is_compared(&self, made: &[ValueId], read: &[ValueId]) -> bool {
        made.iter().any(|v| self.compared[v.index()] && read.binary_search(v).is_ok())
    }

    /// The nodes that some output needs, and those that do something else.
    fn mark_live(&mut self, graph: &Graph) {
        let effectful = graph.node_ids().filter(|n| graph.node(*n).op.effect() == Effect::Effectful);
        let mut open: Vec<NodeId> = effectful.collect();
        let defining = |v: &ValueId| match graph.value(*v).def {
            Def::Node(n, _) => Some(n),
            Def::Input(_) => None,
        };
        open.extend(graph.outputs().iter().filter_map(|o| defining(&o.value)));
        while let Some(n) = open.pop() {
            if !std::mem::replace(&mut self.live[n.index()], true) {
                let read = graph.node(n).inputs.iter().filter(|v| !self.is_own(graph, n, **v));
                open.extend(read.filter_map(defining));
                open.extend(&self.needs[n.index()]);
            }
        }
    }

    /// Nodes with those that are free to them, in order.
    pub(super) fn with_free(&self, graph: &Graph, members: &[NodeId]) -> Vec<NodeId> {
        self.with(graph, members, &self.free)
    }

    /// Nodes with those of some kind that they read, directly or through others of it, in order.
    fn with(&self, graph: &Graph, members: &[NodeId], kind: &[bool]) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = members.to_vec();
        let mut inside: IdSet<NodeId> = nodes.iter().copied().collect();
        let mut at = 0;
        while at < nodes.len() {
            for v in &graph.node(nodes[at]).inputs {
                if let Def::Node(m, _) = graph.value(*v).def
                    && kind[m.index()]
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

/// What lies between two groups in the order of ranks.
pub(super) struct Between {
    /// What the later one needs.
    pub(super) needed: Vec<usize>,
    /// What needs the earlier one.
    pub(super) needing: Vec<usize>,
}

/// Whether a node is one number, repeated.
fn is_number(node: &Node) -> bool {
    matches!(&node.op, Op::Constant(t) if t.is_splat())
}

/// The nodes that only move elements of constants, if there are stages.
fn copied(graph: &Graph, staged: &[bool]) -> Vec<bool> {
    let mut copied = vec![false; graph.nodes().len()];
    if !staged.contains(&true) {
        return copied;
    }
    for n in graph.node_ids() {
        let node = graph.node(n);
        let known = |v: &ValueId| match graph.value(*v).def {
            Def::Node(m, _) => copied[m.index()] || matches!(graph.node(m).op, Op::Constant(_)),
            Def::Input(_) => false,
        };
        let moves = is_free(node) || matches!(node.op, Op::Transpose(_));
        copied[n.index()] = moves && !staged[n.index()] && node.inputs.iter().all(known);
    }
    copied
}

/// The casts of bytes that products alone read: a load that extends costs what a load does, and four bytes may be one step of a sum.
fn widened(graph: &Graph) -> Vec<bool> {
    let mut only = vec![true; graph.values().len()];
    for node in graph.nodes().iter().filter(|n| !matches!(n.op, Op::Contract(_) | Op::Convolve(_))) {
        node.inputs.iter().for_each(|v| only[v.index()] = false);
    }
    let widens = |node: &Node| {
        let from = |v: &ValueId| graph.ty(*v).as_tensor().map(|t| t.dtype);
        matches!(&node.op, Op::Cast(cast) if cast.to == DType::I32)
            && node.inputs.iter().all(|v| matches!(from(v), Some(DType::I8 | DType::U8)))
            && node.outputs.iter().all(|v| only[v.index()])
    };
    graph.nodes().iter().map(widens).collect()
}

fn is_free(node: &Node) -> bool {
    matches!(node.op, Op::Broadcast(_) | Op::Reshape(_) | Op::Slice(_) | Op::Iota(_) | Op::Dims(_))
}

/// The floats that nodes compute and of which a value has elements: moved, picked or the greatest of some, and not computed with.
fn origins(graph: &Graph, v: ValueId) -> IdSet<ValueId> {
    /// Beyond so many values, nobody looks further.
    const MOST: usize = 64;
    let (mut seen, mut found, mut open) = (IdSet::default(), IdSet::default(), vec![v]);
    while let Some(v) = open.pop() {
        let is_float = graph.ty(v).as_tensor().is_some_and(|t| t.dtype.is_float());
        let Def::Node(n, result) = graph.value(v).def else { continue };
        if !is_float || seen.len() >= MOST || !seen.insert(v) {
            continue;
        }
        let node = graph.node(n);
        match &node.op {
            Op::Constant(_) => {}
            Op::Broadcast(_) | Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_) => open.push(node.inputs[0]),
            Op::Gather(_) | Op::DynamicSlice(_) => open.push(node.inputs[0]),
            Op::Reduce(Reduce { kind, .. })
            | Op::WindowReduce(WindowReduce { kind, .. })
            | Op::Cumulative(Cumulative { kind, .. })
                if matches!(kind, Monoid::Max | Monoid::Min) =>
            {
                open.push(node.inputs[0]);
            }
            Op::Sort(_) => open.push(node.inputs[result]),
            Op::Binary(BinaryKind::Max | BinaryKind::Min) => open.extend(&node.inputs),
            Op::Concat(_) | Op::Pad(_) | Op::Select | Op::UpdateSlice => open.extend(&node.inputs),
            // Where nothing is combined, elements are those of an operand.
            Op::Scatter(_) => {
                found.insert(v);
                open.extend(&node.inputs);
            }
            _ => {
                found.insert(v);
            }
        }
    }
    found
}
