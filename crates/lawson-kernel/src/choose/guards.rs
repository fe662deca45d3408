//! How a contraction deals with guards of what it reads: those of the padding of a convolution.
//!
//! A guard that moves with a sum alone becomes bounds of it. One that also moves with the rows of a tile is decided tile by tile: tiles at the
//! ends, where it may fail, are set apart, and in those the steps of the sum for which it may.

use super::contraction::Contraction;
use super::stride::{Stride, stride};
use super::{Chooser, extent};
use crate::expr::Expr;
use crate::range::Scope;
use crate::schedule::clip;
use crate::tree::For;

/// Steps of a sum that are unrolled so that a guard is decided for each alone.
const UNROLLED: i64 = 16;

/// How guards of what is read are dealt with.
#[derive(Default)]
pub(super) struct Guarded {
    pub(super) clip: Vec<String>,
    pub(super) unroll: Vec<String>,
    pub(super) decide: Vec<String>,
    /// Whether tiles of rows are set apart, those at the beginning and at the end.
    pub(super) peel: bool,
    pub(super) ends: Ends,
}

/// Which ends of the rows guards ask for.
#[derive(Clone, Copy, Default)]
pub(super) struct Ends {
    pub(super) first: bool,
    pub(super) last: bool,
}

impl<'k> Chooser<'k> {
    /// How guards of what is read are dealt with: sums along which they cut become bounds; those that also depend on the row axis
    /// are decided tile by tile.
    pub(super) fn guards(&self, c: &Contraction<'k>) -> Guarded {
        let mut out = Guarded::default();
        let order = c.sum_order();
        let is_around = |f: &For| {
            let mut inside = order.iter().skip_while(|o| o.axis != f.axis).skip(1);
            f.step == 1 && inside.any(|o| extent(o).is_none_or(|e| e > 1))
        };
        for f in &c.summed {
            let cut: Vec<_> = c.reads.iter().flat_map(|r| &r.guard).filter(|g| g.mentions(f.axis)).collect();
            if cut.is_empty() {
                continue;
            }
            let name = self.name(f);
            // Along the vector, lanes are masked.
            if cut.iter().any(|g| g.mentions(c.vector().axis)) {
                continue;
            }
            if c.row().is_some_and(|r| cut.iter().any(|g| g.mentions(r.axis))) {
                out.peel = true;
                out.ends = self.ends(c);
                match extent(f) {
                    Some(steps) if steps > UNROLLED => {}
                    // Where it stands around a loop, taps share nothing that would be lost.
                    Some(_) if is_around(f) => out.decide.push(name),
                    Some(_) => out.unroll.push(name),
                    None => {}
                }
            } else if clip::applies(self.kernel, f.axis) {
                // Only where the rest of the step leaves the state as it is.
                out.clip.push(name);
            }
        }
        out
    }

    /// At which ends of the rows a guard of what is read may fail.
    fn ends(&self, c: &Contraction<'k>) -> Ends {
        let mut ends = Ends::default();
        let Some(row) = c.row() else { return ends };
        let mut scope = Scope::new(self.kernel);
        for f in c.loops.iter().chain(&c.summed) {
            scope.enter(f);
        }
        for a in &c.reads {
            let Expr::Load(load) = self.kernel.expr(a.expr) else { continue };
            for condition in load.guard.iter().flat_map(|g| &g.conditions) {
                let index = self.kernel.resolve(&condition.index);
                let (least, most) = scope.interval(&index);
                let below = least.is_none_or(|v| v < 0);
                let beyond = most.zip(condition.end.as_const()).is_none_or(|(v, end)| v >= end);
                match stride(&index, row.axis) {
                    Stride::None => {}
                    Stride::Known(c) if c > 0 => {
                        ends = Ends { first: ends.first | below, last: ends.last | beyond }
                    }
                    _ => ends = Ends { first: true, last: true },
                }
            }
        }
        ends
    }
}
