//! What is kept in scratch: values that the loops of an accumulator would compute again and again.
//!
//! A value read at the index of a sum's loop is kept if it is the result of another accumulator, or computed from one
//! there, or if it is dear and needed in more than one visit. It is computed as far out as the rest of its index
//! allows: in loops of its own, or, where the sum's loop passes every element once, in that loop.

use super::pattern::is_accumulated;
use super::view;
use super::walk::{Indices, Kept, KeptDim, Purpose, Walk, concerns, name_of};
use crate::buffer::Level;
use crate::build::store;
use crate::expr::{Condition, ExprId};
use crate::group::Refused;
use crate::hash::IdSet;
use crate::index::Index;
use crate::tree::AxisId;
use lawson_graph::{Dim, Node, Op, ValueId};

/// The most bytes of scratch that is meant for the first-level cache.
const L1_BYTES: i64 = 16 << 10;

impl<'g> Walk<'g> {
    /// The value from scratch, if it is kept there at this index.
    pub(super) fn load_kept(&mut self, v: ValueId, index: &[Index], given: &[Condition]) -> Option<ExprId> {
        let kept = self.kept.get(&v)?;
        let (buffer, places) = kept.iter().find_map(|k| Some((k.buffer, self.places(k, index, given)?)))?;
        Some(self.load(buffer, places, given))
    }

    fn places(&self, kept: &Kept, index: &[Index], given: &[Condition]) -> Option<Indices> {
        if !kept.given.iter().all(|c| given.contains(c)) {
            return None;
        }
        let mut places = Vec::new();
        for (dim, i) in kept.dims.iter().zip(index) {
            match dim {
                KeptDim::At(at) if at == i => {}
                KeptDim::At(_) => return None,
                KeptDim::From(base) if base.is(0) => places.push(i.clone()),
                // Scratch holds the rows of the block alone.
                KeptDim::From(base) => {
                    let row = i.clone() - base.clone();
                    if self.purpose(row.as_axis()?) != Some(Purpose::BlockRows) {
                        return None;
                    }
                    places.push(row);
                }
            }
        }
        Some(places)
    }

    fn mentions(&self, index: &Index, is: impl Fn(Purpose) -> bool) -> bool {
        let mut found = false;
        index.visit_axes(&mut |a| found |= self.purpose(a).is_some_and(&is));
        found
    }

    fn in_terms(&self, index: &[Index]) -> bool {
        index.iter().any(|i| self.mentions(i, |p| p == Purpose::Terms))
    }

    /// What an elementwise operator or a view reads to compute an element.
    fn reads(&self, node: &Node, index: &[Index]) -> Result<Vec<(ValueId, Indices)>, Refused> {
        Ok(match &node.op {
            op if op.is_elementwise() => node.inputs.iter().map(|v| (*v, index.to_vec())).collect(),
            Op::Broadcast(_) | Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_) => {
                let operand = view::operand_index(self, node, index)?;
                vec![(node.inputs[0], operand.into_iter().map(|i| self.simplify(i)).collect())]
            }
            Op::Gather(_) | Op::DynamicSlice(_) => {
                vec![(node.inputs[0], self.data_operand(node, index)?)]
            }
            _ => Vec::new(),
        })
    }

    /// Computes the accumulators that a value at an index needs from outside the sum's loop, if it is in one. After that, what they keep
    /// in scratch is known when the value itself is computed.
    pub(super) fn prepare(&mut self, v: ValueId, index: &[Index]) -> Result<(), Refused> {
        let mut seen = IdSet::default();
        let mut todo = vec![(v, index.to_vec())];
        while let Some((v, index)) = todo.pop() {
            let Some(node) = self.node(v) else { continue };
            let is_empty = self.ty(v)?.shape.iter().any(|d| d.is(0));
            if is_empty || self.is_kept(v, &index, &[]) || !seen.insert((v, index.clone())) {
                continue;
            }
            if !is_accumulated(&node.op) {
                todo.extend(self.reads(node, &index)?);
            } else if !self.in_terms(&index) {
                self.accumulated(v, node, index, &[])?;
            }
        }
        Ok(())
    }

    fn is_kept(&self, v: ValueId, index: &[Index], given: &[Condition]) -> bool {
        self.kept.get(&v).is_some_and(|k| k.iter().any(|k| self.places(k, index, given).is_some()))
    }

    /// Whether a value is, or is computed from, an accumulator's result at an index that moves with a sum's loop; and
    /// whether one of these multiplies.
    fn needs_accumulator(
        &self,
        v: ValueId,
        index: &[Index],
        given: &[Condition],
    ) -> Result<Option<Work>, Refused> {
        let mut seen = IdSet::default();
        let mut todo = vec![(v, index.to_vec())];
        let mut found = None;
        while let Some((v, index)) = todo.pop() {
            if !seen.insert((v, index.clone())) {
                continue;
            }
            let Some(node) = self.node(v) else { continue };
            if self.is_kept(v, &index, given) {
                continue;
            }
            if is_accumulated(&node.op) {
                if self.in_terms(&index) {
                    let products = matches!(node.op, Op::Contract(_) | Op::Convolve(_));
                    let work = if products { Work::Products } else { Work::Terms };
                    found = Some(found.map_or(work, |f: Work| f.max(work)));
                }
                continue;
            }
            todo.extend(match &node.op {
                // Where exactly does not matter here, only with which loops.
                Op::Pad(_) | Op::Concat(_) | Op::UpdateSlice => {
                    node.inputs.iter().map(|v| (*v, index.clone())).collect()
                }
                _ => self.reads(node, &index)?,
            });
        }
        Ok(found)
    }

    /// Keeps a value in scratch if that is worth it, and gives it from there.
    pub(super) fn keep(
        &mut self,
        v: ValueId,
        node: &'g Node,
        index: &[Index],
        given: &[Condition],
    ) -> Result<Option<ExprId>, Refused> {
        if !(node.op.is_elementwise() || is_accumulated(&node.op)) || !self.in_terms(index) {
            return Ok(None);
        }
        let work = self.needs_accumulator(v, index, given)?;
        if work.is_none() && !self.patterns.dear.contains(&v) {
            return Ok(None);
        }
        // Products are computed for a whole block of rows, where there is one.
        let is_inner =
            |p: Purpose| p == Purpose::Terms || (p == Purpose::BlockRows && work == Some(Work::Products));
        let inner: Vec<bool> = index.iter().map(|i| self.mentions(i, is_inner)).collect();
        // What holds for the indices that stay fixed holds while scratch is filled.
        let fixed: Vec<&Index> =
            index.iter().zip(&inner).filter(|(_, inner)| !**inner).map(|(i, _)| i).collect();
        let mut axes = IdSet::default();
        fixed.iter().for_each(|i| {
            i.visit_axes(&mut |a| {
                axes.insert(a);
            })
        });
        let kept_given: Vec<Condition> = given.iter().filter(|c| concerns(c, &axes)).cloned().collect();
        let is_mixed = |i: &Index| !self.is_block_row(i) && self.mentions(i, |p| p != Purpose::Terms);
        let mixed = index.iter().zip(&inner).any(|(i, inner)| *inner && is_mixed(i))
            || kept_given.iter().any(|c| self.mentions(&c.index, is_inner));
        if mixed {
            return match work {
                None => Ok(None),
                Some(_) => Err(Refused::Halo { value: self.graph.value_name(v) }),
            };
        }
        let blocks =
            self.frames.iter().position(|f| f.head.as_ref().is_some_and(|h| h.purpose == Purpose::Blocks));
        let by_block = index.iter().zip(&inner).any(|(i, inner)| *inner && self.is_block_row(i));
        let open = fixed.into_iter().chain(kept_given.iter().map(|c| &c.index));
        let depth = self.depth(open).max(blocks.filter(|_| by_block).map_or(0, |p| p + 1));
        let Some(kept) = self.add_scratch(v, index, &inner, kept_given)? else {
            return match work {
                None => Ok(None),
                Some(_) => Err(Refused::Unbounded {
                    value: self.graph.value_name(v),
                    ty: self.graph.ty(v).to_string(),
                }),
            };
        };
        if work.is_none() && given.is_empty() && self.passes_once(depth, v, index, &inner)? {
            let value = self.compute(v, node, index.to_vec(), &[])?;
            let Some(places) = self.places(&kept, index, given) else { return Ok(None) };
            self.put(store(kept.buffer, places.clone(), value));
            // Others see it when the loop is over.
            if let Some(head) = self.frames.get(depth).and_then(|f| f.head.as_ref()) {
                self.pending.push((head.axis, v, kept.clone()));
            }
            return Ok(Some(self.load(kept.buffer, places, given)));
        }
        self.at_depth(depth, |walk| walk.keep_apart(v, node, index, &kept))?;
        self.kept.entry(v).or_default().push(kept);
        Ok(self.load_kept(v, index, given))
    }

    /// What was kept in the loop over an axis is known from now on.
    pub(super) fn settle(&mut self, axis: AxisId) {
        let (done, open) = std::mem::take(&mut self.pending).into_iter().partition(|(a, ..)| *a == axis);
        self.pending = open;
        let done: Vec<(AxisId, ValueId, Kept)> = done;
        done.into_iter().for_each(|(_, v, kept)| self.kept.entry(v).or_default().push(kept));
    }

    /// Whether the loops inside `depth` are sums that pass every element of the value once, in order.
    fn passes_once(
        &self,
        depth: usize,
        v: ValueId,
        index: &[Index],
        inner: &[bool],
    ) -> Result<bool, Refused> {
        let shape = &self.ty(v)?.shape;
        let loops = &self.frames[depth..];
        let dims: Vec<usize> = (0..inner.len()).filter(|d| inner[*d]).collect();
        Ok(dims.len() == loops.len()
            && dims.iter().zip(loops).all(|(d, frame)| {
                frame.head.as_ref().is_some_and(|h| {
                    h.purpose == Purpose::Terms
                        && index[*d].as_axis() == Some(h.axis)
                        && h.begin.is(0)
                        && h.end.as_dim() == Some(&shape[*d])
                })
            }))
    }

    fn keep_apart(
        &mut self,
        v: ValueId,
        node: &'g Node,
        index: &[Index],
        kept: &Kept,
    ) -> Result<(), Refused> {
        let shape = self.ty(v)?.shape.clone();
        let depth = self.frames.len();
        let (mut own, mut places) = (index.to_vec(), Vec::new());
        for (d, dim) in kept.dims.iter().enumerate() {
            let KeptDim::From(base) = dim else { continue };
            own[d] = match self.blocks().filter(|_| !base.is(0)) {
                Some(b) => self.open_block_rows(&b),
                None if shape[d].is(1) => Index::from(0),
                None => Index::axis(self.open("s", shape[d].clone(), Purpose::Elements)),
            };
            places.push(own[d].clone() - base.clone());
        }
        if kept.given.is_empty() {
            self.prepare(v, &own)?;
        }
        let value = self.compute(v, node, own, &kept.given)?;
        self.put(store(kept.buffer, places, value));
        self.close(depth);
        Ok(())
    }

    /// The blocks that are open: their axis, how many rows one has, and how many rows there are.
    pub(super) fn blocks(&self) -> Option<(AxisId, i64, Index)> {
        let heads = self.frames.iter().filter_map(|f| f.head.as_ref());
        heads.filter(|h| h.purpose == Purpose::Blocks).map(|h| (h.axis, h.step, h.end.clone())).next()
    }

    /// Whether an index is a row of the block: the first one's and the number of one in it.
    fn is_block_row(&self, index: &Index) -> bool {
        let number = self.blocks().and_then(|(block, ..)| (index.clone() - block).as_axis());
        number.is_some_and(|a| self.purpose(a) == Some(Purpose::BlockRows))
    }

    /// Opens the loop over the rows of a block; gives the row.
    pub(super) fn open_block_rows(&mut self, (block, rows, end): &(AxisId, i64, Index)) -> Index {
        // Where blocks fill the rows, all are of one size.
        let fills = end.as_const().is_some_and(|end| end % rows == 0);
        let count = if fills { Index::from(*rows) } else { Index::from(*rows).min(end.clone() - *block) };
        Index::axis(*block) + self.open("i", count, Purpose::BlockRows)
    }

    /// Scratch for the dimensions of a value that are not fixed; `None` if one has no upper bound.
    fn add_scratch(
        &mut self,
        v: ValueId,
        index: &[Index],
        inner: &[bool],
        given: Vec<Condition>,
    ) -> Result<Option<Kept>, Refused> {
        let ty = self.ty(v)?;
        let mut sizes = Vec::new();
        let mut kept = Vec::new();
        for (d, i) in index.iter().enumerate() {
            if !inner[d] {
                kept.push(KeptDim::At(i.clone()));
                continue;
            }
            match self.blocks().filter(|_| self.is_block_row(i)) {
                Some((axis, rows, _)) => {
                    sizes.push(rows);
                    kept.push(KeptDim::From(Index::axis(axis)));
                }
                None => {
                    let Some(size) = self.graph.facts().bounds(&ty.shape[d]).1 else { return Ok(None) };
                    sizes.push(size.max(0));
                    kept.push(KeptDim::From(Index::from(0)));
                }
            }
        }
        let bytes = sizes.iter().try_fold(ty.dtype.bits() as i64 / 8, |n, s| n.checked_mul(*s));
        let level = if bytes.is_some_and(|b| b <= L1_BYTES) { Level::L1 } else { Level::L2 };
        let dims: Vec<Dim> = sizes.into_iter().map(Dim::from).collect();
        let name = format!("{}_kept", name_of(self.graph, v));
        let buffer = self.kernel.scratch(&name, ty.dtype, &dims, level);
        Ok(Some(Kept { buffer, dims: kept, given }))
    }
}

/// How much an accumulator computes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    Terms,
    Products,
}
