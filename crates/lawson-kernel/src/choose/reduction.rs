//! Schedules of accumulators that stand by themselves: the vector lies along what is summed, and lanes are merged at the end.

use super::elementwise::AT_ONCE;
use super::stride::{Stride, loads, stride};
use super::{Chooser, Position, extent};
use crate::expr::ExprId;
use crate::tree::{AccId, For, Node, Store};
use lawson_graph::DType;

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
}
