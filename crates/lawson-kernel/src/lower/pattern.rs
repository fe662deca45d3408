//! What is seen in a group before it is walked: patterns whose arithmetic may be done another way, and values that are worth
//! keeping.
//!
//! Two rewrites of softmax are made here, both within the contract of its primitives:
//! - the maximum that only shifts exponents need not carry NaN: NaN reaches the sum, and by it every element;
//! - `e / Σ e` is `e · (1 / Σ e)`, the reciprocal being computed once a row. The sum is at least 1, because the
//!   greatest element adds `e⁰`, so the reciprocal neither overflows nor loses bits.

use crate::group::Group;
use crate::hash::{IdMap, IdSet};
use lawson_graph::op::{BinaryKind, Monoid, Reduce, UnaryKind};
use lawson_graph::{Def, Graph, Node, NodeId, Op, ValueId};

/// What is known of the values of a group.
#[derive(Default)]
pub(super) struct Patterns {
    /// Divisions by a sum of exponentials that is at least 1.
    pub(super) unit_divisions: IdSet<ValueId>,
    /// Maxima that need not carry NaN.
    pub(super) lenient_max: IdSet<ValueId>,
    /// Elementwise values that are dear to compute and needed in more than one visit to a row.
    pub(super) dear: IdSet<ValueId>,
}

/// Where a value goes inside a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goes {
    Nowhere,
    /// Into one accumulator, or into the outputs (`None`).
    To(Option<NodeId>),
    /// Into several, or into products, which take every element many times.
    Often,
}

impl Goes {
    fn and(self, other: Goes) -> Goes {
        match (self, other) {
            (Goes::Nowhere, x) | (x, Goes::Nowhere) => x,
            (a, b) if a == b => a,
            _ => Goes::Often,
        }
    }
}

pub(super) fn is_accumulated(op: &Op) -> bool {
    matches!(op, Op::Reduce(_) | Op::Contract(_) | Op::Convolve(_) | Op::WindowReduce(_))
}

/// Whether an operator takes many instructions an element.
fn is_dear(op: &Op) -> bool {
    match op {
        Op::Unary(kind) => !matches!(
            kind,
            UnaryKind::Neg
                | UnaryKind::Abs
                | UnaryKind::Sign
                | UnaryKind::Not
                | UnaryKind::Floor
                | UnaryKind::Ceil
                | UnaryKind::Round
                | UnaryKind::Trunc
                | UnaryKind::Sqrt
                | UnaryKind::Rsqrt
        ),
        Op::Binary(kind) => matches!(kind, BinaryKind::Pow | BinaryKind::Atan2),
        _ => false,
    }
}

struct Seen<'g> {
    graph: &'g Graph,
    inside: IdSet<NodeId>,
    users: IdMap<ValueId, Vec<NodeId>>,
    outputs: IdSet<ValueId>,
}

impl Patterns {
    pub(super) fn find(graph: &Graph, group: &Group) -> Patterns {
        let mut users: IdMap<ValueId, Vec<NodeId>> = IdMap::default();
        for n in &group.nodes {
            for v in &graph.node(*n).inputs {
                users.entry(*v).or_default().push(*n);
            }
        }
        let seen = Seen {
            graph,
            inside: group.nodes.iter().copied().collect(),
            users,
            outputs: group.outputs.iter().copied().collect(),
        };
        let mut patterns = Patterns { dear: seen.dear(group), ..Patterns::default() };
        for n in &group.nodes {
            let node = graph.node(*n);
            match &node.op {
                Op::Binary(BinaryKind::Div) if seen.is_unit_division(node) => {
                    patterns.unit_divisions.insert(node.outputs[0]);
                }
                Op::Reduce(r) if r.kind == Monoid::Max && seen.only_shifts(node, r) => {
                    patterns.lenient_max.insert(node.outputs[0]);
                }
                _ => {}
            }
        }
        patterns
    }
}

impl<'g> Seen<'g> {
    fn node(&self, v: ValueId) -> Option<&'g Node> {
        match self.graph.value(v).def {
            Def::Node(n, _) if self.inside.contains(&n) => Some(self.graph.node(n)),
            _ => None,
        }
    }

    fn users(&self, v: ValueId) -> impl Iterator<Item = &'g Node> {
        self.users.get(&v).into_iter().flatten().map(|n| self.graph.node(*n))
    }

    fn dear(&self, group: &Group) -> IdSet<ValueId> {
        let mut goes: IdMap<ValueId, Goes> = IdMap::default();
        let mut dear = IdSet::default();
        for n in group.nodes.iter().rev() {
            let node = self.graph.node(*n);
            let Some(v) = node.outputs.first().copied() else { continue };
            let out = if self.outputs.contains(&v) { Goes::To(None) } else { Goes::Nowhere };
            let users = self.users.get(&v).into_iter().flatten();
            let all = users.fold(out, |sum, u| {
                let user = self.graph.node(*u);
                sum.and(match &user.op {
                    Op::Contract(_) | Op::Convolve(_) | Op::WindowReduce(_) => Goes::Often,
                    Op::Reduce(_) => Goes::To(Some(*u)),
                    _ => user.outputs.first().and_then(|o| goes.get(o)).copied().unwrap_or(Goes::Nowhere),
                })
            });
            goes.insert(v, all);
            if all == Goes::Often && is_dear(&node.op) {
                dear.insert(self.last_alone(v));
            }
        }
        dear
    }

    /// The last value of the elementwise chain that begins with a value and has no other use.
    fn last_alone(&self, v: ValueId) -> ValueId {
        let mut v = v;
        while !self.outputs.contains(&v)
            && let [only] = self.users.get(&v).map_or(&[][..], |u| u.as_slice())
            && self.graph.node(*only).op.is_elementwise()
            && let Some(next) = self.graph.node(*only).outputs.first()
        {
            v = *next;
        }
        v
    }

    /// The reduction along `axes` that a value repeats along them again.
    fn repeated(&self, v: ValueId) -> Option<(&'g Node, &'g Reduce)> {
        let broadcast = self.node(v)?;
        let Op::Broadcast(b) = &broadcast.op else { return None };
        let mut inner = self.node(broadcast.inputs[0])?;
        let kept_as_one = matches!(inner.op, Op::Reshape(_));
        if kept_as_one {
            inner = self.node(inner.inputs[0])?;
        }
        let Op::Reduce(r) = &inner.op else { return None };
        let rank = self.graph.ty(inner.inputs[0]).as_tensor()?.rank();
        let expected: Vec<usize> = (0..rank).filter(|a| kept_as_one || !r.axes.contains(a)).collect();
        (b.axes == expected && b.shape.rank() == rank).then_some((inner, r))
    }

    /// Whether a value is `e^(y - max y)` along some axes.
    fn is_shifted_exponential(&self, v: ValueId, axes: &[usize]) -> bool {
        let Some(exp) = self.node(v).filter(|n| n.op == Op::Unary(UnaryKind::Exp)) else { return false };
        let Some(sub) = self.node(exp.inputs[0]).filter(|n| n.op == Op::Binary(BinaryKind::Sub)) else {
            return false;
        };
        self.repeated(sub.inputs[1])
            .is_some_and(|(max, r)| r.kind == Monoid::Max && r.axes == axes && max.inputs[0] == sub.inputs[0])
    }

    fn is_unit_division(&self, div: &Node) -> bool {
        self.repeated(div.inputs[1]).is_some_and(|(sum, r)| {
            r.kind == Monoid::Sum && self.is_shifted_exponential(sum.inputs[0], &r.axes)
        })
    }

    /// Whether a maximum is used in `y - max y` alone, that in an exponential alone, and that only in its sum along the same axes
    /// and in divisions by that sum; or `y - max y` also in a difference to the logarithm of the sum.
    fn only_shifts(&self, max: &Node, op: &Reduce) -> bool {
        let Some(m) = max.outputs.first().copied() else { return false };
        let is_sum_of = |v: ValueId, e: ValueId| {
            self.repeated(v)
                .is_some_and(|(sum, r)| r.kind == Monoid::Sum && r.axes == op.axes && sum.inputs[0] == e)
        };
        // A value that a view gives on: its users instead.
        let mut subs = Vec::new();
        let mut todo = vec![m];
        while let Some(v) = todo.pop() {
            if self.outputs.contains(&v) {
                return false;
            }
            for user in self.users(v) {
                match user.op {
                    Op::Broadcast(_) | Op::Reshape(_) => todo.extend(user.outputs.first()),
                    Op::Binary(BinaryKind::Sub) if user.inputs[0] == max.inputs[0] => subs.push(user),
                    _ => return false,
                }
            }
        }
        let is_log_of_sum = |v: ValueId, e: ValueId| {
            let mut v = v;
            while let Some(node) = self.node(v) {
                match &node.op {
                    Op::Unary(UnaryKind::Log) | Op::Broadcast(_) | Op::Reshape(_) => v = node.inputs[0],
                    Op::Reduce(r) => {
                        return r.kind == Monoid::Sum && r.axes == op.axes && node.inputs[0] == e;
                    }
                    _ => return false,
                }
            }
            false
        };
        subs.iter().all(|sub| {
            let d = sub.outputs[0];
            let Some(exp) = self.users(d).find(|u| u.op == Op::Unary(UnaryKind::Exp)) else { return false };
            let e = exp.outputs[0];
            let d_is_hidden = self.users(d).all(|u| match u.op {
                Op::Unary(UnaryKind::Exp) => u.outputs[0] == e,
                Op::Binary(BinaryKind::Sub) => u.inputs[0] == d && is_log_of_sum(u.inputs[1], e),
                _ => false,
            });
            let e_is_hidden = self.users(e).all(|u| match &u.op {
                Op::Reduce(r) => r.kind == Monoid::Sum && r.axes == op.axes,
                Op::Binary(BinaryKind::Div) => u.inputs[0] == e && is_sum_of(u.inputs[1], e),
                _ => false,
            });
            let outputs = self.outputs.contains(&d) || self.outputs.contains(&e);
            d_is_hidden && e_is_hidden && !outputs && self.is_shifted_exponential(e, &op.axes)
        })
    }
}
