//! Running combinations along an axis: an element is what the one before it became, combined with one more.
//!
//! What the one before became is read back from the output, so that the only state is the output itself; the first element reads
//! nothing and begins with the identity. The loop over the axis goes in order, all others are free.

use super::accumulate::{Combine, monoid};
use super::walk::Walk;
use crate::buffer::BufferId;
use crate::expr::{Condition, ExprId, Guard};
use crate::group::Refused;
use crate::index::Index;
use lawson_graph::op::{Cumulative, Monoid};
use lawson_graph::{Node, ValueId};

impl<'g> Walk<'g> {
    /// Where a running combination stores in the iteration of an index of its result, and what. Its result lies in `buffer`,
    /// which `place` finds an index in.
    pub(super) fn running(
        &mut self,
        (v, node, op): (ValueId, &'g Node, &Cumulative),
        mut index: Vec<Index>,
        buffer: BufferId,
        place: &dyn Fn(&[Index]) -> Vec<Index>,
    ) -> Result<(Vec<Index>, ExprId), Refused> {
        let ty = self.ty(v)?;
        let size = &ty.shape[op.axis];
        let rounds = matches!(op.kind, Monoid::Sum | Monoid::Prod) && ty.dtype.accumulator() != ty.dtype;
        let known = monoid(op.kind, ty.dtype).filter(|_| !rounds);
        let Some((combine, nothing)) = known else {
            return Err(self.refuse(node, "its running state has another dtype than its result"));
        };
        let step = if op.reverse { 1 } else { -1 };
        if op.reverse {
            index[op.axis] = Index::constant(size.clone() - 1) - index[op.axis].clone();
        }
        let mut before = index.clone();
        before[op.axis] = before[op.axis].clone() + step;
        let identity = self.kernel.constant(nothing);
        let exists = Condition { index: before[op.axis].clone(), end: size.clone() };
        let state = match self.open_conditions(vec![exists.clone()]) {
            Some(conditions) => {
                let guard = Guard { conditions, otherwise: identity };
                self.kernel.load_guarded(buffer, place(&before), guard)
            }
            None => identity,
        };
        let x = node.inputs[0];
        let term = match op.exclusive {
            true => self.padded(x, before, vec![exists], &[], identity)?,
            false => self.value(x, index.clone(), &[])?,
        };
        let value = match combine {
            Combine::Binary(kind) => self.kernel.binary(kind, state, term),
            Combine::LenientMax => return Err(self.refuse(node, "its extrema must keep NaN")),
        };
        Ok((place(&index), value))
    }
}
