//! How far apart in memory neighbours along an axis are.

use crate::expr::{Expr, ExprId};
use crate::index::{Atom, Index};
use crate::tree::{AxisId, Kernel};

/// The distance of neighbours along an axis, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stride {
    /// The same element.
    None,
    /// This far.
    Known(i64),
    /// It depends on parameters.
    Unknown,
    /// It is not the same everywhere: the axis stands in a quotient or remainder.
    Uneven,
    /// Data say it.
    Data,
}

/// The stride of an offset along an axis.
pub(super) fn stride(offset: &Index, axis: AxisId) -> Stride {
    let (mut out, mut data) = (Stride::None, false);
    for (atom, c) in offset.terms() {
        match atom {
            Atom::Axis(a) if *a == axis => {
                out = c.as_const().map_or(Stride::Unknown, Stride::Known);
            }
            Atom::Axis(_) => {}
            other => {
                let alone = Index::atom(other.clone());
                if alone.mentions_itself(axis) {
                    return Stride::Uneven;
                }
                data |= alone.mentions(axis);
            }
        }
    }
    if data { Stride::Data } else { out }
}

/// A load that an expression makes.
pub(super) struct Access {
    pub(super) expr: ExprId,
    pub(super) buffer: crate::buffer::BufferId,
    pub(super) offset: Index,
    /// Whether the load has a guard that mentions an axis.
    pub(super) guard: Vec<Index>,
}

/// Every load below some expressions, each once.
pub(super) fn loads(kernel: &Kernel, roots: &[ExprId]) -> Vec<Access> {
    let mut seen = vec![false; kernel.exprs.len()];
    let mut stack: Vec<ExprId> = roots.to_vec();
    let mut out = Vec::new();
    while let Some(e) = stack.pop() {
        if std::mem::replace(&mut seen[e.0 as usize], true) {
            continue;
        }
        let expr = kernel.expr(e);
        if let Expr::Load(load) = expr {
            let offset = kernel.resolve(&kernel.buffer(load.buffer).layout.offset(&load.index));
            let guard = load.guard.iter().flat_map(|g| g.conditions.iter().map(|c| kernel.resolve(&c.index)));
            out.push(Access { expr: e, buffer: load.buffer, offset, guard: guard.collect() });
        }
        expr.visit_operands(&mut |o| stack.push(o));
    }
    out.sort_by_key(|a| a.expr);
    out
}
