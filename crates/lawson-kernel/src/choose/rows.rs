//! Blocks of rows: what a contraction goes through before it turns to the next panel.
//!
//! In: the nest, its tile, and what the caches hold. Out: the loop over rows, cut where that gives the team shares or keeps rows,
//! or outputs, in a cache.

use super::contraction::{Contraction, Packed};
use super::guards::Guarded;
use super::tile::{ENOUGH_SHARES, MANY_SHARES, Tile, WIDEST, block};
use super::{Chooser, Position, extent};
use crate::buffer::BufferId;
use crate::schedule::Tail;

/// Tiles of rows in a block of them, where rows are not counted when compiling.
const TILES_IN_BLOCK: i64 = 8;
/// The part of the last cache that a block of rows may take; panels and the other members of the team need the rest.
const ROWS_PART_OF_LAST_CACHE: i64 = 8;

/// By how many hundredths the greater half of all shares may be longer than half of the work.
const EVEN: i64 = 10;

/// Whether two members with half of the panels each have about as much to do: their number may be odd, and the last one narrow.
fn halves_are_even(c: &Contraction<'_>, width: i64) -> bool {
    let Some(columns) = extent(c.vector()) else { return true };
    let shares = c.panels(width).saturating_mul(c.shares());
    let greater = (shares / 2 + shares % 2).saturating_mul(2 * width);
    greater.saturating_mul(100) <= columns.saturating_mul(c.shares()).saturating_mul(100 + EVEN)
}

impl<'k> Chooser<'k> {
    /// Cuts rows into blocks: shares of the team, and what is gone through for one panel. Where the other loops give shares enough,
    /// or a panel is packed first, or tiles at the edges are to be told apart, rows stay together. Gives the loop over blocks and
    /// that over the rows of one.
    pub(super) fn blocks(
        &mut self,
        c: &Contraction<'k>,
        tile: Tile,
        packed: &[Packed],
        guarded: &Guarded,
    ) -> (Option<String>, Option<String>) {
        let Some(row) = c.row() else { return (None, None) };
        let (name, count) = (self.name(row), extent(row));
        let width = tile.vectors * self.machine.lanes;
        let shares = c.panels(width).saturating_mul(c.shares());
        let uneven = count.is_some_and(|c| c % tile.rows != 0);
        let lines = self.writes_parts_of_lines(c);
        if c.position != Position::Root
            || !packed.is_empty()
            || guarded.peel && shares >= ENOUGH_SHARES
            || uneven
                && !lines
                && shares >= if halves_are_even(c, width) { ENOUGH_SHARES } else { MANY_SHARES }
        {
            return (None, Some(name));
        }
        let length = match count {
            _ if lines => self.rows_in_first_cache(c) / tile.rows * tile.rows,
            Some(count) if self.exceeds_last_cache(c) => {
                let most = self.rows_in_last_cache(c) / tile.rows;
                let tiles = (1..=most).rev().find(|t| count % (t * tile.rows) == 0).unwrap_or(most);
                tiles * tile.rows
            }
            Some(count) => block(count, tile.rows, shares),
            None => TILES_IN_BLOCK * tile.rows,
        };
        if count.is_some_and(|c| length >= c) {
            return (None, Some(name));
        }
        let [blocks, rows] = self.split(&name, length.max(tile.rows), Tail::Clip);
        (Some(blocks), Some(rows))
    }

    /// Whether the order of stores matters more than that of loads: rows of outputs begin inside lines of the cache, so that
    /// neighbouring panels, of which there are several, write to the same lines, and sums are so short that all panels stay in the
    /// first cache.
    pub(super) fn writes_parts_of_lines(&self, c: &Contraction<'k>) -> bool {
        let columns = extent(c.vector());
        let known = c.summed.iter().all(|f| extent(f).is_some());
        let steps = known.then(|| c.steps());
        c.position == Position::Root
            && columns.is_some_and(|n| n % self.machine.lanes != 0 && n > WIDEST * self.machine.lanes)
            && columns.zip(steps).is_some_and(|(n, k)| {
                n.saturating_mul(k).saturating_mul(self.machine.lane_bytes) <= self.machine.l1
            })
    }

    /// How many rows of outputs the first cache holds, and what is on its way to the second.
    fn rows_in_first_cache(&self, c: &Contraction<'k>) -> i64 {
        extent(c.vector())
            .map_or(1, |n| 2 * self.machine.l1 / self.machine.lane_bytes.saturating_mul(n).max(1))
    }

    /// Whether operands and outputs of a nest together do not fit in the last cache, as far as sizes are known.
    pub(super) fn exceeds_last_cache(&self, c: &Contraction<'k>) -> bool {
        let known = c.loops.iter().chain(&c.summed).all(|f| extent(f).is_some());
        let bytes = |b: BufferId| {
            let b = self.kernel.buffer(b);
            b.layout.size.as_const().map_or(0, |n| n.saturating_mul(b.dtype.bits() as i64 / 8))
        };
        let mut read: Vec<BufferId> = c.reads.iter().map(|a| a.buffer).collect();
        read.sort_unstable();
        read.dedup();
        let written: i64 =
            c.loops.iter().filter_map(|f| extent(f)).fold(self.machine.lane_bytes, i64::saturating_mul);
        known && read.into_iter().map(bytes).sum::<i64>().saturating_add(written) > self.machine.l3
    }

    /// How many rows of the operand that moves with them are a small part of the last cache.
    fn rows_in_last_cache(&self, c: &Contraction<'k>) -> i64 {
        self.machine.l3 / ROWS_PART_OF_LAST_CACHE / c.steps().saturating_mul(self.machine.lane_bytes).max(1)
    }
}
