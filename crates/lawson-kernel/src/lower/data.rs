//! Operators whose indices are data: gathers, and slices whose start is.
//!
//! An integer that says where to read must lie in a buffer before the kernel starts (`index/data.rs`): it is an element of an input
//! of the group, seen through views and casts that change no value, or a number that is known. What else computes indices is
//! refused here and so becomes a group of its own. In: a node, and an index of its result; out: the index of its operand.

use super::view;
use super::walk::{Indices, Walk};
use crate::expr::{Condition, ExprId};
use crate::group::Refused;
use crate::index::{Datum, Index};
use lawson_graph::op::{Gather, window_axes};
use lawson_graph::{DType, Dim, Node, Op, ValueId};

impl<'g> Walk<'g> {
    /// The index at which a gather or a dynamic slice reads its first operand.
    pub(super) fn data_operand(&self, node: &Node, index: &[Index]) -> Result<Indices, Refused> {
        match &node.op {
            Op::Gather(gather) => self.gathered(node, gather, index),
            Op::DynamicSlice(slice) => {
                let starts = self.starts(node, node.inputs[1], &slice.size)?;
                Ok(starts.into_iter().zip(index).map(|(s, i)| s + i.clone()).collect())
            }
            _ => Err(self.refuse(node, "its indices are no data")),
        }
    }

    fn gathered(&self, node: &Node, gather: &Gather, index: &[Index]) -> Result<Indices, Refused> {
        let shape = &self.ty(node.inputs[0])?.shape;
        let places = self.ty(node.inputs[1])?.rank() - 1;
        let window = window_axes(shape.rank(), &gather.axes, gather.batch);
        let mut operand = Vec::with_capacity(shape.rank());
        for (axis, dim) in shape.iter().enumerate() {
            operand.push(if axis < gather.batch {
                index[axis].clone()
            } else if let Some(k) = gather.axes.iter().position(|a| *a == axis) {
                let mut at = index[..places].to_vec();
                at.push(Index::from(k as i64));
                self.datum(node, node.inputs[1], at, dim)?
            } else {
                let n = window.iter().position(|a| *a == axis).unwrap_or(0);
                index[places + n].clone()
            });
        }
        Ok(operand)
    }

    /// Where a window of this size begins in the first operand of a node, one index an axis.
    fn starts(&self, node: &Node, starts: ValueId, size: &[Dim]) -> Result<Indices, Refused> {
        let shape = &self.ty(node.inputs[0])?.shape;
        let start = |(axis, (dim, size)): (usize, (&Dim, &Dim))| {
            let last = self.graph.facts().simplify(&(dim.clone() - size.clone()));
            self.datum(node, starts, vec![Index::from(axis as i64)], &(last + 1))
        };
        shape.iter().zip(size).enumerate().map(start).collect()
    }

    /// An integer of a value, clamped to `0 ..= end - 1`, as an index.
    fn datum(&self, node: &Node, of: ValueId, index: Indices, end: &Dim) -> Result<Index, Refused> {
        if end.is(1) {
            return Ok(Index::from(0));
        }
        if !self.graph.facts().is_positive(end) {
            return Err(self.refuse(node, "it may read from an axis without elements"));
        }
        let (mut v, mut index) = (of, index);
        while let Some(n) = self.node(v).filter(|n| !matches!(n.op, Op::Constant(_))) {
            match &n.op {
                Op::Broadcast(_) | Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_) => {
                    let operand = view::operand_index(self, n, &index)?;
                    index = operand.into_iter().map(|i| self.simplify(i)).collect();
                }
                Op::Cast(c) if c.to == DType::I64 && self.ty(n.inputs[0])?.dtype == DType::I32 => {}
                Op::Iota(iota) if matches!(iota.dtype, DType::I32 | DType::I64) => {
                    return Ok(self.clamped(index[iota.axis].clone(), end));
                }
                _ => {
                    let why = "its indices are computed beside it; they must be in memory before it starts";
                    return Err(self.refuse(node, why));
                }
            }
            v = n.inputs[0];
        }
        if let Some(Op::Constant(t)) = self.graph.defining(v).map(|n| &n.op)
            && t.is_splat()
        {
            let value = Index::from(i64::try_from(t.int_at(0)).unwrap_or(i64::MAX));
            return Ok(match end.as_const() {
                Some(end) => Index::from(Datum::clamped(value.as_const().unwrap_or(0), end)),
                None => self.clamped(value, end),
            });
        }
        let Some(source) = self.buffers.get(&v) else {
            return Err(self.refuse(node, "its indices lie in no buffer"));
        };
        // Under conditions, an index may lie outside; some element is read then, and what it says does not matter.
        let mut inside = Vec::with_capacity(index.len());
        for (i, dim) in index.into_iter().zip(self.ty(v)?.shape.iter()) {
            let i = self.clamped(i, dim);
            if !self.proves_within(&i, dim) {
                return Err(self.refuse(node, "there may be no indices where it is needed"));
            }
            inside.push(i);
        }
        Ok(Index::data(source.buffer, source.place(inside), end.clone()))
    }

    /// An index clamped to `0 ..= end - 1`; itself where that is known.
    fn clamped(&self, index: Index, end: &Dim) -> Index {
        match self.proves_within(&index, end) {
            true => index,
            false => self.simplify(index.min(Index::constant(end.clone() - 1)).max(Index::from(0))),
        }
    }

    /// The value of an `update_slice`: the update where the window is, elsewhere what was there.
    pub(super) fn update_slice(
        &mut self,
        node: &'g Node,
        index: Indices,
        given: &[Condition],
    ) -> Result<ExprId, Refused> {
        let update = node.inputs[1];
        let size = &self.ty(update)?.shape;
        let starts = self.starts(node, node.inputs[2], size)?;
        let place: Indices = index.iter().zip(starts).map(|(i, s)| i.clone() - s).collect();
        let test = |(i, end): (&Index, &Dim)| Condition { index: i.clone(), end: end.clone() };
        let conditions = place.iter().zip(size.iter()).map(test).collect();
        let otherwise = self.value(node.inputs[0], index, given)?;
        self.padded(update, place, conditions, given, otherwise)
    }
}
