//! Rows that are gone through more than once, as for softmax: while one is computed with, the next one comes.
//!
//! A row that lies in main memory has to come when it is first read, and nothing can be computed meanwhile; later it is read from the first
//! cache, and memory rests. Where rows are read for the last time, what is read of the next one is fetched therefore.

use super::stride::{Stride, loads, stride};
use super::{Chooser, extent};
use crate::buffer::{BufferId, Level, Role};
use crate::expr::ExprId;
use crate::schedule::Directive;
use crate::tree::{For, Node};

/// A loop along a row, innermost, and what it computes.
struct Sweep<'k> {
    along: &'k For,
    values: Vec<ExprId>,
}

impl<'k> Chooser<'k> {
    /// Fetches ahead what the next iteration of a loop over rows reads, where this one is gone through again.
    pub(super) fn fetch_next(&mut self, rows: &'k For) {
        let mut sweeps = Vec::new();
        self.sweeps(&rows.body, &mut sweeps);
        let mut last: Vec<(BufferId, usize, usize)> = Vec::new();
        for (n, sweep) in sweeps.iter().enumerate() {
            for buffer in self.rows_from_afar(rows, sweep) {
                match last.iter_mut().find(|(b, ..)| *b == buffer) {
                    Some((_, at, times)) => (*at, *times) = (n, *times + 1),
                    None => last.push((buffer, n, 1)),
                }
            }
        }
        for (buffer, at, _) in last.into_iter().filter(|(_, _, times)| *times > 1) {
            let (along, b) = (sweeps[at].along, self.kernel.buffer(buffer));
            let bytes = extent(along).unwrap_or(0).saturating_mul(b.dtype.bits() as i64 / 8);
            // This row, what is kept of it, and the next one stay together in a part of the cache.
            let fits = |cache: i64| bytes.saturating_mul(4) <= cache;
            let level = match (fits(self.machine.l1), fits(self.machine.l2)) {
                (true, _) => Level::L1,
                (false, true) => Level::L2,
                (false, false) => continue,
            };
            let (buffer, of) = (b.name.clone(), Some(self.name(rows)));
            let at = format!("{}.1.0", self.name(along));
            self.choice.schedule.0.push(Directive::Prefetch {
                buffer,
                at,
                ahead: 1,
                of,
                by: None,
                whole: false,
                level,
            });
        }
    }

    /// The innermost loops that became vectors, in order.
    fn sweeps(&self, nodes: &'k [Node], out: &mut Vec<Sweep<'k>>) {
        for node in nodes {
            match node {
                Node::For(f) => {
                    let before = out.len();
                    self.sweeps(&f.body, out);
                    let tile = format!("{}.1", self.name(f));
                    let is_split =
                        |d: &Directive| matches!(d, Directive::Split { axis, .. } if *axis == tile);
                    if out.len() == before && self.choice.schedule.0.iter().any(is_split) {
                        let (mut stores, mut values) = (Vec::new(), Vec::new());
                        self.stages(&f.body, &mut stores, &mut values);
                        out.push(Sweep { along: f, values });
                    }
                }
                Node::Accumulate { body, .. } => self.sweeps(body, out),
                Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => {}
            }
        }
    }

    /// What a sweep reads row by row, of all that is too large for the second cache.
    fn rows_from_afar(&self, rows: &For, sweep: &Sweep<'k>) -> Vec<BufferId> {
        let far = |buffer: BufferId| {
            let b = self.kernel.buffer(buffer);
            let bytes = b.layout.size.as_const().map(|n| n.saturating_mul(b.dtype.bits() as i64 / 8));
            b.role == Role::Input && bytes.is_some_and(|n| n > self.machine.l2)
        };
        let reads = loads(self.kernel, &sweep.values).into_iter().filter(|r| {
            r.guard.is_empty()
                && stride(&r.offset, sweep.along.axis) == Stride::Known(1)
                && matches!(stride(&r.offset, rows.axis), Stride::Known(_))
                && far(r.buffer)
        });
        let mut buffers: Vec<BufferId> = reads.map(|r| r.buffer).collect();
        buffers.sort_unstable();
        buffers.dedup();
        buffers
    }
}
