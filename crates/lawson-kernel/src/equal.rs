//! Equality of kernels: the same declarations and the same tree, however their expressions are numbered.
//!
//! Expressions that nothing uses do not count. Equal expressions have one id in each kernel, so two expressions are equal
//! if their ids correspond; the correspondence is built from the leaves up, in one pass over each arena.

use crate::expr::{Expr, ExprId};
use crate::tree::{Kernel, Node};
use std::collections::{HashMap, HashSet};

impl PartialEq for Kernel {
    fn eq(&self, other: &Kernel) -> bool {
        self.name == other.name
            && self.facts == other.facts
            && self.buffers == other.buffers
            && self.axes == other.axes
            && self.accs.len() == other.accs.len()
            && Numbering::between(self, other).is_some_and(|n| n.same_accs() && n.same_trees())
    }
}

/// What the expressions of one kernel are called in the other.
struct Numbering<'k> {
    a: &'k Kernel,
    b: &'k Kernel,
    ids: HashMap<ExprId, ExprId>,
}

/// The expressions that the kernel uses.
fn used(kernel: &Kernel) -> HashSet<ExprId> {
    let mut open: Vec<ExprId> = Vec::new();
    kernel.visit(&mut |node| match node {
        Node::Step { values, .. } => open.extend(values),
        Node::Store(s) => open.push(s.value),
        Node::For(_) | Node::Accumulate { .. } | Node::Prefetch { .. } => {}
    });
    for acc in &kernel.accs {
        open.extend(acc.state.iter().map(|s| s.init).chain(acc.merged().iter().copied()));
    }
    let mut seen = HashSet::new();
    while let Some(id) = open.pop() {
        if seen.insert(id)
            && let Some(expr) = kernel.exprs.get(id.0 as usize)
        {
            expr.visit_operands(&mut |o| open.push(o));
        }
    }
    seen
}

impl<'k> Numbering<'k> {
    /// `None` if the first kernel uses an expression that the second does not have.
    fn between(a: &'k Kernel, b: &'k Kernel) -> Option<Numbering<'k>> {
        let theirs: HashMap<&Expr, ExprId> =
            b.exprs.iter().enumerate().map(|(i, e)| (e, ExprId(i as u32))).collect();
        let used = used(a);
        let mut ids = HashMap::new();
        for (i, expr) in a.exprs.iter().enumerate() {
            let id = ExprId(i as u32);
            if !used.contains(&id) {
                continue;
            }
            let mut known = true;
            let renamed = expr.clone().with_operands(&mut |o| match ids.get(&o) {
                Some(id) => *id,
                None => {
                    known = false;
                    o
                }
            });
            if !known {
                return None;
            }
            ids.insert(id, *theirs.get(&renamed)?);
        }
        Some(Numbering { a, b, ids })
    }

    fn same(&self, a: &[ExprId], b: &[ExprId]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.ids.get(a) == Some(b))
    }

    fn same_accs(&self) -> bool {
        self.a.accs.iter().zip(&self.b.accs).all(|(a, b)| {
            a.name == b.name
                && self.same(a.merged(), b.merged())
                && a.merge.as_ref().map(|m| &m.identity) == b.merge.as_ref().map(|m| &m.identity)
                && a.state.len() == b.state.len()
                && a.state
                    .iter()
                    .zip(&b.state)
                    .all(|(s, t)| s.dtype == t.dtype && self.same(&[s.init], &[t.init]))
        })
    }

    fn same_trees(&self) -> bool {
        self.same_nodes(&self.a.body, &self.b.body)
    }

    fn same_nodes(&self, a: &[Node], b: &[Node]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same_node(a, b))
    }

    fn same_node(&self, a: &Node, b: &Node) -> bool {
        match (a, b) {
            (Node::For(f), Node::For(g)) => {
                (f.axis, &f.begin, &f.end, f.step, f.kind) == (g.axis, &g.begin, &g.end, g.step, g.kind)
                    && self.same_nodes(&f.body, &g.body)
            }
            (Node::Accumulate { acc, body }, Node::Accumulate { acc: other, body: theirs }) => {
                acc == other && self.same_nodes(body, theirs)
            }
            (Node::Step { acc, values }, Node::Step { acc: other, values: theirs }) => {
                acc == other && self.same(values, theirs)
            }
            (Node::Store(s), Node::Store(t)) => {
                (s.buffer, &s.index, s.hint) == (t.buffer, &t.index, t.hint)
                    && self.same(&[s.value], &[t.value])
            }
            (Node::Prefetch { .. }, Node::Prefetch { .. }) => a == b,
            _ => false,
        }
    }
}
