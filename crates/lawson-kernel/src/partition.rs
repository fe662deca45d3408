//! Which primitives are computed together: groups for a whole graph.
//!
//! Every primitive begins as a group of its own. Then, from the inputs on, a group joins the one that uses its result if
//! the two may be computed in the same loops: elementwise operators and views with what they follow or feed, an
//! accumulation with what follows it, rows that are reduced and gone through again. Whether a joined group can be one kernel is asked
//! of lowering itself. Attention is taken where it is still a composite; chains of layers over common rows are never joined here,
//! though lowering makes one kernel of them when given such a group.

use crate::group::{Group, Refused};
use crate::layout::Orders;
use crate::lower::{Blocks, Lowered, Options, attention, lower_with};
use lawson_graph::{Def, Graph, NodeId, Op, ValueId};
use std::collections::{HashMap, HashSet};

/// What kind of work a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    /// Elementwise operators and views: recomputed wherever they are used.
    Light,
    /// Reductions: several over the same rows may stand in one kernel.
    Reduce,
    /// Contractions, convolutions, windows: one a kernel.
    Heavy,
    /// Composites: alone in a kernel of their own.
    Alone,
}

fn work(op: &Op) -> Work {
    match op {
        Op::Contract(_) | Op::Convolve(_) | Op::WindowReduce(_) => Work::Heavy,
        Op::Reduce(_) => Work::Reduce,
        Op::Composite(_) => Work::Alone,
        _ => Work::Light,
    }
}

/// Queries and keys that attention treats together: scores, queries and sums of a block stay in the second-level cache, and the
/// sums are rescaled seldom.
const ATTENTION: Blocks = Blocks { queries: 64, keys: 256 };

/// A group with the kernel that it becomes.
#[derive(Debug)]
pub struct Part {
    /// The nodes.
    pub group: Group,
    /// The kernel, not yet scheduled.
    pub lowered: Lowered,
}

struct Parts<'g> {
    graph: &'g Graph,
    orders: &'g Orders,
    /// The group of each node, by number; constants and what is free have none.
    of: Vec<Option<usize>>,
    members: Vec<Vec<NodeId>>,
    /// The nodes that use each value.
    users: Vec<Vec<NodeId>>,
    /// Nodes that cost nothing to compute anew wherever they are used: one number in another shape.
    free: Vec<bool>,
}

/// The groups of a graph, in an order in which they can run, for values that lie in these orders. Of composites only
/// `attention` is taken.
pub fn partition(graph: &Graph, orders: &Orders) -> lawson_graph::Result<Vec<Part>> {
    let mut p = Parts::new(graph, orders);
    let live = live(graph);
    for n in graph.node_ids() {
        let constant = matches!(graph.node(n).op, Op::Constant(_));
        if live.contains(&n) && !constant && !p.free[n.index()] {
            p.of[n.index()] = Some(p.members.len());
            p.members.push(vec![n]);
        }
    }
    let mut lowered: HashMap<usize, Lowered> = HashMap::new();
    for n in graph.node_ids() {
        for v in graph.node(n).inputs.clone() {
            let Def::Node(from, _) = graph.value(v).def else { continue };
            let (Some(a), Some(b)) = (p.of[from.index()], p.of[n.index()]) else { continue };
            if a == b || !p.may_join(a, b, v) {
                continue;
            }
            let mut nodes = p.members[a].clone();
            nodes.extend(&p.members[b]);
            let group = p.group(&nodes);
            if let Ok(l) = p.lower(&group) {
                p.join(a, b);
                lowered.remove(&a);
                lowered.insert(b, l);
            }
        }
    }
    p.in_order(lowered)
}

/// The nodes that some output needs.
fn live(graph: &Graph) -> HashSet<NodeId> {
    let mut live = HashSet::new();
    let mut open: Vec<ValueId> = graph.outputs().iter().map(|o| o.value).collect();
    while let Some(v) = open.pop() {
        if let Def::Node(n, _) = graph.value(v).def
            && live.insert(n)
        {
            open.extend(&graph.node(n).inputs);
        }
    }
    live
}

impl<'g> Parts<'g> {
    fn new(graph: &'g Graph, orders: &'g Orders) -> Parts<'g> {
        let mut users: Vec<Vec<NodeId>> = vec![Vec::new(); graph.values().len()];
        let mut free = vec![false; graph.nodes().len()];
        let mut returned = vec![false; graph.values().len()];
        graph.outputs().iter().for_each(|o| returned[o.value.index()] = true);
        for n in graph.node_ids() {
            let node = graph.node(n);
            for v in &node.inputs {
                users[v.index()].push(n);
            }
            let number = |v: &ValueId| match graph.value(*v).def {
                Def::Input(_) => false,
                Def::Node(m, _) => match &graph.node(m).op {
                    Op::Constant(t) => t.is_splat(),
                    _ => free[m.index()],
                },
            };
            free[n.index()] = matches!(node.op, Op::Broadcast(_) | Op::Reshape(_))
                && node.inputs.iter().all(number)
                && node.outputs.iter().all(|v| !returned[v.index()]);
        }
        Parts { graph, orders, of: vec![None; graph.nodes().len()], members: Vec::new(), users, free }
    }

    fn lower(&self, group: &Group) -> std::result::Result<Lowered, Refused> {
        lower_with(self.graph, group, &Options { orders: Some(self.orders), ..Options::default() })
    }

    /// The group of some nodes, with what is free to them.
    fn group(&self, members: &[NodeId]) -> Group {
        let mut nodes: Vec<NodeId> = members.to_vec();
        let mut inside: HashSet<NodeId> = nodes.iter().copied().collect();
        let mut at = 0;
        while at < nodes.len() {
            for v in &self.graph.node(nodes[at]).inputs {
                if let Def::Node(m, _) = self.graph.value(*v).def
                    && self.free[m.index()]
                    && inside.insert(m)
                {
                    nodes.push(m);
                }
            }
            at += 1;
        }
        nodes.sort();
        let returned = |v: &ValueId| self.graph.outputs().iter().any(|o| o.value == *v);
        let needed = |v: &ValueId| returned(v) || self.users[v.index()].iter().any(|n| !inside.contains(n));
        let results = nodes.iter().filter(|n| !self.free[n.index()]);
        let outputs =
            results.flat_map(|n| self.graph.node(*n).outputs.iter().copied()).filter(needed).collect();
        Group { nodes, outputs }
    }

    fn work(&self, group: usize) -> (usize, usize) {
        let count = |w| self.members[group].iter().filter(|n| work(&self.graph.node(**n).op) == w).count();
        (count(Work::Heavy), count(Work::Reduce))
    }

    /// Whether group `a`, which computes `v`, may be computed with group `b`, which uses it.
    fn may_join(&self, a: usize, b: usize, v: ValueId) -> bool {
        if self.is_alone(a) || self.is_alone(b) {
            return false;
        }
        let ((heavy_a, reduce_a), (heavy_b, reduce_b)) = (self.work(a), self.work(b));
        // One heavy operator a kernel, and nothing before it but what is free: what it reads, it reads often.
        if heavy_b > 0 && (heavy_a + reduce_a > 0 || !self.is_view(a)) {
            return false;
        }
        if heavy_a > 0 && reduce_b > 0 {
            return false;
        }
        // A view of what one heavy operator makes for another belongs to the one that reads it: there it is index arithmetic.
        if !self.is_view(a) && self.is_view(b) && self.feeds_heavy(b) {
            return false;
        }
        // What a heavy operator makes for several users ends its kernel.
        let shared = self.users[v.index()].iter().any(|n| self.of[n.index()] != Some(b));
        if shared && heavy_a > 0 {
            return false;
        }
        self.is_convex(a, b)
    }

    fn is_alone(&self, group: usize) -> bool {
        self.members[group].iter().any(|n| work(&self.graph.node(*n).op) == Work::Alone)
    }

    /// Whether what a group computes is used, and only by heavy operators outside of it.
    fn feeds_heavy(&self, group: usize) -> bool {
        let results = self.members[group].iter().flat_map(|n| &self.graph.node(*n).outputs);
        let users: Vec<NodeId> = results.flat_map(|v| self.users[v.index()].iter().copied()).collect();
        let mut outside = users.iter().filter(|n| self.of[n.index()] != Some(group)).peekable();
        outside.peek().is_some() && outside.all(|n| work(&self.graph.node(*n).op) == Work::Heavy)
    }

    /// Whether a group only moves elements.
    fn is_view(&self, group: usize) -> bool {
        self.members[group].iter().all(|n| {
            matches!(
                self.graph.node(*n).op,
                Op::Broadcast(_) | Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_)
            )
        })
    }

    /// Whether no path from `a` to `b` leaves the two: then, joined, they do not wait for a group that waits for them.
    fn is_convex(&self, a: usize, b: usize) -> bool {
        let indices = |g: usize| self.members[g].iter().map(|n| n.index());
        let first = indices(a).min().unwrap_or(0);
        let mut seen: HashSet<usize> = HashSet::from([b]);
        let mut open = vec![b];
        while let Some(g) = open.pop() {
            for v in self.members[g].iter().flat_map(|n| &self.graph.node(*n).inputs) {
                let Def::Node(m, _) = self.graph.value(*v).def else { continue };
                let Some(needed) = self.of[m.index()].filter(|o| *o != g) else { continue };
                if needed == a {
                    if g != b {
                        return false;
                    }
                    continue;
                }
                // A group that ends before `a` begins does not need it.
                if indices(needed).max().is_some_and(|last| last >= first) && seen.insert(needed) {
                    open.push(needed);
                }
            }
        }
        true
    }

    fn join(&mut self, a: usize, b: usize) {
        let moved = std::mem::take(&mut self.members[a]);
        for n in &moved {
            self.of[n.index()] = Some(b);
        }
        self.members[b].extend(moved);
    }

    /// The groups, each after those whose results it uses.
    fn in_order(&self, mut lowered: HashMap<usize, Lowered>) -> lawson_graph::Result<Vec<Part>> {
        let mut done: HashSet<usize> = HashSet::new();
        let mut out = Vec::new();
        let mut waiting: Vec<usize> =
            (0..self.members.len()).filter(|g| !self.members[*g].is_empty()).collect();
        waiting.sort_by_key(|g| self.members[*g].iter().map(|n| n.index()).max());
        while !waiting.is_empty() {
            let before = waiting.len();
            let mut still = Vec::new();
            for g in waiting {
                let ready = self.members[g].iter().flat_map(|n| &self.graph.node(*n).inputs).all(|v| {
                    match self.graph.value(*v).def {
                        Def::Node(n, _) => self.of[n.index()].is_none_or(|o| o == g || done.contains(&o)),
                        Def::Input(_) => true,
                    }
                });
                if !ready {
                    still.push(g);
                    continue;
                }
                let group = self.group(&self.members[g]);
                let lowered = match lowered.remove(&g) {
                    Some(l) => l,
                    None => match group.nodes.as_slice() {
                        [n] if self.graph.node(*n).op.is_composite() => attention(self.graph, *n, ATTENTION)?,
                        _ => self.lower(&group)?,
                    },
                };
                done.insert(g);
                out.push(Part { group, lowered });
            }
            waiting = still;
            if waiting.len() == before {
                return Err(lawson_graph::Error::internal("groups that wait for each other"));
            }
        }
        Ok(out)
    }
}
