//! Asking ahead for panels of weights, where the processor wants that.
//!
//! In: a contraction with its tile. Out: hints for the next panel, and blocks of a sum whose panel the second cache could not hold beside the next.
//!
//! The first tile of rows that goes through a panel has it come from the last cache, which is much where tiles are few. So every tile asks for a part of
//! what comes next while it goes through what is there. Both must stay in the second cache. Where they would not, the sum is cut into blocks: all tiles go
//! through a block of the panel and ask for the next one, which lies behind it, also from the last block of a panel to the first of the next.

use super::contraction::{Contraction, Cut};
use super::stride::{Access, Stride, stride};
use super::tile::{ENOUGH_SHARES, Tile};
use super::{Chooser, Position, extent};
use crate::buffer::{BufferId, Level};
use crate::schedule::{Directive, Tail};
use crate::tree::AxisId;

/// After how many steps a part of the next panel is asked for: as many parts as there are steps must be asked for by all tiles of rows.
const PARTS: [i64; 4] = [16, 8, 4, 2];
/// Where more tiles than these go through a panel, it is little that the first one waits.
pub(super) const MOST_TILES: i64 = 42;
/// Steps of a block of a sum: the greatest number that divides all. States go to scratch and back after each, so that short ones are not worth it.
const BLOCKS: std::ops::RangeInclusive<i64> = 256..=640;

impl<'k> Chooser<'k> {
    /// Whether all of what comes from afar is there when tiles need it: a sum of one loop asks for as much as the second cache has room for.
    pub(super) fn comes_in_time(&self, c: &Contraction<'k>) -> bool {
        c.summed.len() == 1 && self.may_ask(c)
    }

    /// Whether something may be asked for ahead.
    fn may_ask(&self, c: &Contraction<'k>) -> bool {
        let Some(sum) = c.sum_order().last().copied() else { return false };
        self.machine.asks_for_panels && c.reads.iter().any(|a| self.is_panel(a, c.vector().axis, sum.axis))
    }

    /// The bytes of a panel of so many steps.
    fn panel_bytes(&self, c: &Contraction<'k>, tile: Tile, steps: i64) -> i64 {
        let width = tile.vectors * self.machine.lanes * self.machine.lane_bytes;
        steps.saturating_mul(width).saturating_mul(c.operands_of_columns())
    }

    /// Whether the second cache has room for so many bytes twice, and for rows beside them.
    fn fits_twice(&self, bytes: i64) -> bool {
        bytes.saturating_mul(2) <= self.machine.l2 * 3 / 4
    }

    /// How many steps of a sum are a block, if it is cut into blocks so that the next one can be asked for.
    pub(super) fn block_of_sum(&self, c: &Contraction<'k>, tile: Tile) -> Option<i64> {
        let ([sum], Some(row), None) = (c.summed.as_slice(), c.row(), c.dot.as_ref()) else { return None };
        let (steps, rows) = (extent(sum)?, extent(row)?);
        let tiles = (rows + tile.rows - 1) / tile.rows;
        let plain = sum.begin.is(0) && sum.step == 1 && c.reads.iter().all(|r| r.guard.is_empty());
        let shares = c.panels(tile.vectors * self.machine.lanes);
        let wanted = c.position == Position::Root
            && c.others().is_empty()
            && self.may_ask(c)
            && !self.fits_twice(self.panel_bytes(c, tile, steps));
        if !plain || !wanted || tiles < PARTS[2] || tiles > MOST_TILES || shares < ENOUGH_SHARES {
            return None;
        }
        let even = |block: &i64| steps % block == 0 && block % PARTS[0] == 0;
        BLOCKS.rev().filter(even).find(|block| self.fits_twice(self.panel_bytes(c, tile, *block)))
    }

    /// Asks for the next panel of an operand known when compiling, or the next block of one, by and by: tiles of rows go through this one, or iterations of
    /// a loop around, and each asks for a part.
    pub(super) fn ask_for_panel(
        &mut self,
        c: &Contraction<'k>,
        tile: Tile,
        cut: &Cut,
        tiles: Option<String>,
        block: Option<i64>,
    ) {
        let (true, Some(panels), Some(sum)) =
            (self.may_ask(c), cut.panels.clone(), c.sum_order().last().copied())
        else {
            return;
        };
        let split = |name: &str| {
            self.choice.schedule.0.iter().find_map(|d| match d {
                Directive::Split { axis, factor, .. } if axis == name => Some(*factor),
                _ => None,
            })
        };
        let whole = self.name(sum);
        // What comes next is a block, or a panel.
        let (name, of, steps) = match block {
            Some(steps) => (format!("{whole}.1"), format!("{whole}.0"), Some(steps)),
            None => (whole.clone(), panels, extent(sum).filter(|_| split(&whole).is_none())),
        };
        // Sums of several loops, as over the taps of a window, gain by it even so (on Sapphire Rapids 3x3 convolutions of 512 channels 8 %).
        let one = c.summed.len() == 1;
        if one && block.is_none() && !self.fits_twice(self.panel_bytes(c, tile, c.steps())) {
            return;
        }
        let rows = c.row().and_then(extent).unwrap_or(1);
        let in_block = match (&cut.blocks, c.row()) {
            (Some(_), Some(row)) => split(&self.name(row)).unwrap_or(rows),
            _ => rows,
        };
        let count = |rows: i64| (rows + tile.rows - 1) / tile.rows;
        let around = c.others().into_iter().filter(|f| !c.chooses(f));
        let around: Option<Vec<(i64, String)>> = around.map(|f| Some((extent(f)?, self.name(f)))).collect();
        let Some(mut sharing) = around else { return };
        let all = sharing.iter().fold(count(rows), |all, (n, _)| all.saturating_mul(*n));
        sharing.extend(tiles.map(|tiles| (count(in_block), tiles)));
        let Some((most, by)) = sharing.into_iter().max_by_key(|(n, _)| *n) else { return };
        let between = PARTS.into_iter().find(|n| *n <= most && steps.is_some_and(|s| s % n == 0));
        let (Some(between), true) = (between, all <= MOST_TILES) else { return };
        let is_panel = |a: &&Access| self.is_panel(a, c.vector().axis, sum.axis);
        let buffers: Vec<BufferId> = c.reads.iter().filter(is_panel).map(|a| a.buffer).collect();
        let [at, _] = self.split(&name, between, Tail::Exact);
        for b in buffers {
            let buffer = self.kernel.buffer(b).name.clone();
            let (at, of, by) = (at.clone(), Some(of.clone()), Some(by.clone()));
            self.choice.schedule.0.push(Directive::Prefetch {
                buffer,
                at,
                ahead: 1,
                of,
                by,
                whole: false,
                level: Level::L2,
            });
        }
    }

    /// Whether an operand lies in panels along the vector, step by step, that are more than the first cache has.
    fn is_panel(&self, a: &Access, vector: AxisId, sum: AxisId) -> bool {
        let bytes = self.kernel.buffer(a.buffer).layout.size.as_const();
        self.freedom.constants.contains(&a.buffer)
            && stride(&a.offset, vector) != Stride::None
            && stride(&a.offset, sum) != Stride::None
            && bytes.is_some_and(|n| n.saturating_mul(self.machine.lane_bytes) > self.machine.l1)
    }
}
