//! What does not change along an axis is computed before the body that is written, or run, many times along it.
//!
//! A compiler of shaders could find this out by itself, and does where a value is a line; functions with branches of their own, as the square root
//! and the quotient of a row's deviation, it writes as often as they are called.

use crate::lower::Lower;
use crate::quads::is_flat;
use lawson_graph::Result;
use lawson_kernel::{AxisId, Expr, ExprId, Kernel, Node};
use std::collections::{BTreeMap, BTreeSet};

impl Lower<'_> {
    /// Writes something in which what the values of a body share along an axis is known. The body is run at least once: elsewhere what it reads need
    /// not be there.
    pub(crate) fn with_invariants<T>(
        &mut self,
        axis: AxisId,
        body: &[Node],
        write: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let mut known = self.invariants.clone();
        if is_flat(body) {
            for id in invariants(self.kernel, axis, body) {
                self.value(id, &mut known)?;
            }
        }
        let outer = std::mem::replace(&mut self.invariants, known);
        let written = write(self);
        self.invariants = outer;
        written
    }
}

/// The expressions of a flat body's values that do not depend on an axis, nor on what the body steps or stores, each as large as it can be. Those that are
/// numbers or elements as they are written are left where they stand.
fn invariants(kernel: &Kernel, axis: AxisId, body: &[Node]) -> Vec<ExprId> {
    let (mut roots, mut written) = (Vec::new(), BTreeSet::new());
    for node in body {
        match node {
            Node::Store(s) => {
                roots.push(s.value);
                written.insert(s.buffer);
            }
            Node::Step { values, .. } => roots.extend(values),
            _ => {}
        }
    }
    let mut wanted: BTreeSet<ExprId> = roots.iter().copied().collect();
    let mut open = roots.clone();
    while let Some(id) = open.pop() {
        kernel.expr(id).visit_operands(&mut |o| {
            if wanted.insert(o) {
                open.push(o);
            }
        });
    }
    // Operands stand before what uses them.
    let mut moves: BTreeMap<ExprId, bool> = BTreeMap::new();
    for id in &wanted {
        let e = kernel.expr(*id);
        let mut does = match e {
            Expr::State(..) | Expr::Other(..) => true,
            Expr::Load(load) => written.contains(&load.buffer),
            _ => false,
        };
        e.visit_indices(&mut |i| kernel.resolve(i).visit_axes(&mut |a| does |= a == axis));
        e.visit_operands(&mut |o| does |= moves.get(&o).copied().unwrap_or(true));
        moves.insert(*id, does);
    }
    let is_work = |id: &ExprId| {
        !matches!(kernel.expr(*id), Expr::Const(_) | Expr::Index(..) | Expr::Load(_) | Expr::Result(..))
    };
    let mut found: BTreeSet<ExprId> = roots.into_iter().collect();
    for id in wanted.iter().filter(|id| moves[id]) {
        kernel.expr(*id).visit_operands(&mut |o| {
            found.insert(o);
        });
    }
    found.into_iter().filter(|id| !moves[id] && is_work(id)).collect()
}
