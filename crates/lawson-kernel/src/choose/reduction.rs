//! Schedules of accumulators that stand by themselves: the vector lies along what is summed, and lanes are merged at the end.

use super::contraction::summed;
use super::elementwise::AT_ONCE;
use super::stride::{Access, Stride, loads, stride};
use super::{Chooser, Nest, Position, extent};
use crate::buffer::{Layout, Role};
use crate::expr::{Expr, ExprId};
use crate::tree::{AccId, For, Kind, Node, Store};
use lawson_graph::DType;

/// Sums that go on beside each other, so that none waits for itself.
const IN_FLIGHT: i64 = 8;
/// Outputs whose sums go at once at most.
const MOST_ROWS: i64 = 8;

/// What stands inside an accumulation.
struct Visited<'k> {
    /// The loops from the accumulation to its step.
    loops: Vec<&'k For>,
    /// What the step and the stages beside it compute.
    values: Vec<ExprId>,
    /// Those stages.
    stages: Vec<&'k Store>,
}

impl<'k> Visited<'k> {
    /// `None` if there is more than loops directly within each other, around a step and stages.
    fn of(mut body: &'k [Node], acc: AccId) -> Option<Visited<'k>> {
        let mut out = Visited { loops: Vec::new(), values: Vec::new(), stages: Vec::new() };
        while let [Node::For(f)] = body {
            out.loops.push(f);
            body = &f.body;
        }
        for node in body {
            match node {
                Node::Step { acc: a, values } if *a == acc => out.values.extend(values),
                Node::Store(s) => {
                    out.values.push(s.value);
                    out.stages.push(s);
                }
                _ => return None,
            }
        }
        Some(out)
    }
}

impl<'k> Chooser<'k> {
    /// Schedules a reduction, if a loop over what is summed can be the vector.
    pub(super) fn reduction(&mut self, acc: AccId, body: &'k [Node]) {
        let Some(Visited { loops: summed, values, stages }) = Visited::of(body, acc) else {
            return self.nodes(body, Position::Inside);
        };
        // Lanes of a mask do not merge.
        let merges = |d: DType| d != DType::Bool && (d.bits() < 64 || self.is_plain(d));
        if !self.kernel.acc(acc).state.iter().all(|s| merges(s.dtype)) {
            return;
        }
        let reads = loads(self.kernel, &values);
        let written = |s: &&Store| self.kernel.resolve(&self.kernel.buffer(s.buffer).layout.offset(&s.index));
        let writes: Vec<_> = stages.iter().map(written).collect();
        let fits = |f: &&&For| {
            f.begin.is(0)
                && f.step == 1
                && writes.iter().all(|w| stride(w, f.axis) == Stride::Known(1))
                && reads.iter().all(|r| {
                    matches!(stride(&r.offset, f.axis), Stride::None | Stride::Known(1) | Stride::Data)
                })
                && reads.iter().any(|r| matches!(stride(&r.offset, f.axis), Stride::Known(1) | Stride::Data))
                && reads.iter().flat_map(|r| &r.guard).all(|g| !g.mentions(f.axis))
        };
        let Some(f) = summed.iter().rev().find(|f| fits(f)) else { return };
        let (name, known) = (self.name(f), extent(f));
        self.vectorise(&name, known, AT_ONCE);
    }

    /// Schedules a nest around a sum of products of which no loop over outputs can be the vector, by one over what is summed: what is known when
    /// compiling lies side by side along it. A few outputs that read the same go at once. `false` if there is no such loop.
    pub(super) fn dots(&mut self, n: &Nest<'k>, acc: AccId, body: &'k [Node], position: Position) -> bool {
        let Some((summed, values)) = summed(body, acc) else { return false };
        let plain =
            |s: &crate::tree::State| s.dtype.bits() == 32 || s.dtype.bits() == 64 && self.is_plain(s.dtype);
        if !self.kernel.acc(acc).state.iter().all(plain) {
            return false;
        }
        let reads = loads(self.kernel, values);
        let fits = |f: &&&For| {
            let moves = |r: &Access| match stride(&r.offset, f.axis) {
                Stride::Known(1) => true,
                Stride::Known(_) | Stride::Unknown => self.along(r, f).is_some(),
                _ => false,
            };
            let stands = |r: &Access| stride(&r.offset, f.axis) == Stride::None;
            f.begin.is(0)
                && f.step == 1
                && extent(f).is_none_or(|e| e >= self.machine.lanes / 2)
                && reads.iter().all(|r| stands(r) || moves(r))
                && reads.iter().any(moves)
                && reads.iter().flat_map(|r| &r.guard).all(|g| stride(g, f.axis) != Stride::Uneven)
        };
        let Some(f) = summed.iter().rev().find(fits).copied() else { return false };
        for r in &reads {
            if let Some(order) = self.along(r, f).filter(|_| stride(&r.offset, f.axis) != Stride::Known(1)) {
                let dims = &self.kernel.buffer(r.buffer).dims;
                self.choice.layouts.push((r.buffer, Layout::permuted(dims, &order)));
            }
        }
        // Outputs side by side, for which what moves with the vector is read once.
        let shares = |o: &&&For| {
            extent(o).is_some_and(|e| (2..=MOST_ROWS).contains(&e))
                && o.begin.is(0)
                && o.step == 1
                && reads.iter().any(|r| {
                    stride(&r.offset, o.axis) == Stride::None && stride(&r.offset, f.axis) != Stride::None
                })
        };
        let row = n.loops.iter().rev().find(shares).copied();
        let others = || n.loops.iter().copied().filter(|o| row.is_none_or(|r| r.axis != o.axis));
        let mut order: Vec<String> = others().map(|o| self.name(o)).collect();
        order.extend(row.map(|r| self.name(r)));
        if order != n.loops.iter().map(|o| self.name(o)).collect::<Vec<_>>() {
            self.reorder(order);
        }
        if position == Position::Root {
            self.share_enough(others());
        }
        let sums: Vec<String> = summed.iter().map(|s| self.name(s)).collect();
        let mut inner: Vec<String> = sums.iter().filter(|s| **s != self.name(f)).cloned().collect();
        inner.push(self.name(f));
        if inner != sums {
            self.reorder(inner);
        }
        let rows = row.and_then(extent).unwrap_or(1);
        if let Some(row) = row {
            let name = self.name(row);
            self.execute(&name, Kind::Jam);
        }
        let (name, known) = (self.name(f), extent(f));
        self.vectorise(&name, known, (IN_FLIGHT + rows - 1) / rows);
        true
    }

    /// The order of dimensions in which what a load reads lies side by side along a loop, if it may lie in any.
    fn along(&self, r: &Access, f: &For) -> Option<Vec<usize>> {
        let b = self.kernel.buffer(r.buffer);
        let Expr::Load(load) = self.kernel.expr(r.expr) else { return None };
        let free = self.freedom.constants.contains(&r.buffer)
            && b.role == Role::Input
            && !self.choice.layouts.iter().any(|(id, _)| *id == r.buffer)
            && b.dims.iter().all(|d| d.as_const().is_some());
        let dense = self.dimension_along(&load.index, f.axis).filter(|_| free)?;
        let plain = self.kernel.resolve(&load.index[dense]).as_axis() == Some(f.axis);
        plain.then(|| (0..b.dims.len()).filter(|d| *d != dense).chain([dense]).collect())
    }
}
