//! The tile of outputs that a contraction keeps in registers, chosen by counting.
//!
//! In: how many rows and columns there are and how often a step loads ([`Demand`]). Out: the tile for which the whole nest takes
//! least, in units of one vector multiply-add: for every tile that fits in the registers, multiply-adds, loads, and what tiles at
//! the edges waste.

use super::contraction::Contraction;
use super::extent;
use super::panels::MOST_TILES;
use super::stride::{Stride, stride};
use crate::machine::Machine;
use crate::tree::For;

/// A tile of outputs: so many rows of so many vectors.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Tile {
    pub(super) rows: i64,
    pub(super) vectors: i64,
}

/// What is assumed of an extent that is not known when compiling: so many that edges matter little.
pub(super) const SOME_ROWS: i64 = 1024;
/// Vectors along columns that are not counted when compiling.
const SOME_VECTORS: i64 = 64;
/// Shares of the team from which on there are enough: rows need not be divided among its members too.
pub(super) const ENOUGH_SHARES: i64 = 8;
/// Where panels give this many shares, rows are only cut in two: more cuts would make blocks too short to be worth a panel.
pub(super) const MANY_SHARES: i64 = 16;
const FEW_CUTS: i64 = 2;
/// Tiles of rows that a block must have for a smaller tile at its end to matter little.
const TILES_BEFORE_REST: i64 = 4;
/// The widest and the highest tile that is looked at; beyond them, registers run out in any shape that is good.
pub(super) const WIDEST: i64 = 8;
const HIGHEST: i64 = 16;
/// What a row of a tile takes, once, whose vectors end inside a line of the cache: the next panel reads and writes that line again.
const BROKEN_LINE: f64 = 60.0;
/// Bytes of a line of the cache.
const LINE: i64 = 64;
/// What counting and jumping takes each step.
const LOOP: f64 = 0.3;
/// Masks make the loads and multiply-adds of a panel that overhangs so much dearer.
const MASKED: f64 = 1.3;
/// Columns that the panels do not divide need a panel with code of its own.
const OVERHANG: f64 = 1.01;
/// Rows that the tile does not divide need code of their own, and decisions when running.
const REMAINDER: f64 = 1.03;
/// A tile must be better than the one before it by more than the model can tell.
const BETTER: f64 = 0.999;
/// Where every multiply-add has an operand of its own, as in depthwise convolutions, a larger tile shares little: it must be worth
/// the code.
const MUCH_BETTER: f64 = 0.97;

/// How many vectors a last panel has, for so many columns: those of a panel divided evenly, so that wherever it begins, no other
/// panel begins inside of it.
pub(super) fn last_vectors(vectors: i64, columns: i64, lanes: i64) -> i64 {
    (1..vectors).find(|v| vectors % v == 0 && v * lanes >= columns).unwrap_or(vectors)
}

/// How many rows a block has, where other loops give so many shares: of whole tiles, the last one maybe shorter, or as long as all others with a
/// smaller tile at its end.
pub(super) fn block(rows: i64, height: i64, shares: i64) -> i64 {
    let cuts = if shares >= MANY_SHARES { FEW_CUTS } else { ENOUGH_SHARES };
    if let Some(equal) = equal_blocks(rows, height, cuts) {
        return equal;
    }
    let tiles = (rows + height - 1) / height;
    // As many cuts, or somewhat more, as divide the rows evenly.
    let even = (cuts..=2 * cuts).find(|c| rows % height == 0 && tiles % c == 0);
    let cuts = even.unwrap_or(cuts).min(tiles.max(1));
    (tiles + cuts - 1) / cuts * height
}

/// The rows of a block if tiles do not divide them all, but equal blocks are long enough for the smaller tile at the end of each to matter little,
/// and that has half of the tile's rows or more.
fn equal_blocks(rows: i64, height: i64, cuts: i64) -> Option<i64> {
    let equal = (cuts / 2..=2 * cuts).filter(|c| rows % c == 0).map(|c| rows / c);
    let fits = |b: &i64| *b >= TILES_BEFORE_REST * height && 2 * (b % height) >= height;
    equal.filter(fits).max_by_key(|b| (b % height, *b)).filter(|_| rows % height != 0)
}

/// Whether the rows before went through a panel.
#[derive(Clone, Copy, PartialEq)]
enum Visit {
    First,
    Again,
}

/// What a contraction asks of its tile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Demand {
    /// How many columns there are, if it is known.
    pub(super) columns: Option<i64>,
    /// How many rows, if there is a row axis and if it is known.
    pub(super) rows: Option<Option<i64>>,
    /// Loads a step that move with the rows alone.
    pub(super) by_row: i64,
    /// Those that move with the vector alone.
    pub(super) by_vector: i64,
    /// Those that move with both.
    pub(super) by_both: i64,
    /// Sums that are made abreast: each point of the tile has a register for each.
    pub(super) sums: i64,
    /// Shares of the team that the loops around give already.
    pub(super) shares: i64,
    /// How often the loops around go through one panel.
    pub(super) visits: i64,
    /// Whether rows come in short blocks, of which the last may end early.
    pub(super) blocked: bool,
    /// Steps of a sum: with the width, what a panel of the operand that moves with the vector holds.
    pub(super) depth: i64,
    /// Those of its innermost loop.
    pub(super) inner: i64,
    /// Whether tiles ask for what comes next (`panels.rs`), where they are few.
    pub(super) asked: bool,
}

impl Demand {
    /// What a nest with so many sums abreast asks.
    pub(super) fn of(c: &Contraction<'_>, sums: i64, shares: i64, blocked: bool) -> Demand {
        let (v, r) = (c.vector(), c.row());
        let mut out = Demand {
            columns: extent(v),
            rows: r.map(extent),
            by_row: 0,
            by_vector: 0,
            by_both: 0,
            sums,
            shares,
            visits: c.visits(),
            blocked,
            depth: c.steps(),
            inner: c.inner_steps(),
            asked: false,
        };
        for a in &c.reads {
            let moves = |f: &For| stride(&a.offset, f.axis) != Stride::None;
            match (r.is_some_and(moves), moves(v)) {
                (true, true) => out.by_both += 1,
                (true, false) => out.by_row += 1,
                (false, true) => out.by_vector += 1,
                (false, false) => {}
            }
        }
        out
    }

    /// The tile for which the nest takes least, of those that have one of these numbers of vectors.
    pub(super) fn tile(&self, m: &Machine, widths: &[i64]) -> Tile {
        let columns = self.columns.unwrap_or(SOME_VECTORS * m.lanes);
        let vectors = (columns + m.lanes - 1) / m.lanes;
        // Rows that are not counted yet end in a ladder, whose rungs must divide each other.
        let counted = !matches!(self.rows, Some(None));
        let rows = self.rows.map(|r| r.unwrap_or(SOME_ROWS));
        let better = if self.by_both > 0 { MUCH_BETTER } else { BETTER };
        let mut best = (f64::INFINITY, Tile { rows: 1, vectors: 1 });
        for &width in widths.iter().filter(|w| **w <= vectors.min(WIDEST)) {
            for height in 1..=rows.unwrap_or(1).min(HIGHEST) {
                let even = rows.is_some_and(|r| r % height == 0);
                let shares = self.shares.saturating_mul((vectors + width - 1) / width);
                let cut = !even && shares < ENOUGH_SHARES;
                let equal = || rows.is_some_and(|r| equal_blocks(r, height, ENOUGH_SHARES).is_some());
                let ladder = !counted || self.blocked || cut && !equal();
                if ladder && height & (height - 1) != 0 {
                    continue;
                }
                let tile = Tile { rows: height, vectors: width };
                if self.registers(tile) > m.registers - m.spare_registers {
                    continue;
                }
                let sum = self.nest(m, tile, rows.unwrap_or(1), columns);
                if sum < best.0 * better {
                    best = (sum, tile);
                }
            }
        }
        best.1
    }

    /// Whether a tile holds an element of each row and goes through its vectors, and not the other way round. With one sum that is a tile
    /// turned round, which has the same of both.
    pub(super) fn holds_rows(&self, t: Tile) -> bool {
        self.sums > 1 && self.by_row * t.rows < self.by_vector * t.vectors
    }

    /// The registers that a tile takes: its outputs, a row of vectors or an element of each row, and what an operand that moves with both
    /// passes through.
    fn registers(&self, t: Tile) -> i64 {
        let held = if self.holds_rows(t) { self.by_row * t.rows } else { self.by_vector * t.vectors };
        t.rows * t.vectors * self.sums + held + 1 + i64::from(self.by_both > 0)
    }

    /// What one step of a tile takes: multiply-adds or loads, whichever is more, or waiting for the step before.
    fn step(&self, m: &Machine, t: Tile, visit: Visit) -> f64 {
        let (h, w) = (t.rows, t.vectors);
        let fma = (h * w * self.sums) as f64;
        let loads = (self.by_row * h + self.by_vector * w + self.by_both * h * w) as f64 / m.loads_per_fma;
        let drained = 1.0 + m.steps_drained / self.inner.max(1) as f64;
        let latency = m.fma_in_flight as f64 * m.latency_paid * drained;
        let lines = if w * m.lanes * m.lane_bytes % LINE == 0 { 0.0 } else { BROKEN_LINE * h as f64 };
        let ends = lines / self.depth.max(1) as f64;
        let sides = h * self.by_row.max(1) + w * self.by_vector.max(1);
        fma.max(loads).max(latency).max(self.fetching(m, w, visit)) + m.side * sides as f64 + LOOP + ends
    }

    /// What it takes to bring a step's vectors to the first cache, which every tile of rows does anew unless the panel stays there. The first
    /// one has them come from where all panels are.
    fn fetching(&self, m: &Machine, vectors: i64, visit: Visit) -> f64 {
        let bytes = self.by_vector * vectors * m.lanes * m.lane_bytes;
        let held = match (visit, self.columns) {
            (Visit::First, Some(columns)) => self.by_vector.saturating_mul(columns * m.lane_bytes),
            _ => bytes,
        };
        let rate = match held.saturating_mul(self.depth) {
            p if p <= m.l1 / 2 => return 0.0,
            p if p <= m.l2 / 4 * 3 => m.l2_bytes_per_fma,
            _ => m.l3_bytes_per_fma,
        };
        bytes as f64 / rate
    }

    /// What a step of all tiles takes together.
    fn nest(&self, m: &Machine, t: Tile, rows: i64, columns: i64) -> f64 {
        let width = t.vectors * m.lanes;
        let (panels, left) = (columns / width, columns % width);
        let mut sum = panels as f64 * self.panel(m, t, rows);
        if left > 0 {
            let last = Tile { vectors: last_vectors(t.vectors, left, m.lanes), ..t };
            sum = (sum + self.panel(m, last, rows) * MASKED) * OVERHANG;
        }
        if rows % t.rows > 0 {
            sum *= REMAINDER;
        }
        sum
    }

    /// What a step of all tiles of one panel takes.
    fn panel(&self, m: &Machine, t: Tile, rows: i64) -> f64 {
        let (full, rest) = (rows / t.rows, rows % t.rows);
        let smaller = Tile { rows: rest, ..t };
        let first = if full > 0 { t } else { smaller };
        let again = |t: Tile, times: i64| times as f64 * self.step(m, t, Visit::Again);
        let sum = again(t, full) + again(smaller, i64::from(rest > 0));
        if self.asked && full + i64::from(rest > 0) <= MOST_TILES {
            // What comes from afar comes while all tiles go by.
            return sum.max(self.fetching(m, t.vectors, Visit::First) / self.visits.max(1) as f64);
        }
        // Where loops around go through the panel, too, one of their iterations is the first.
        let more = self.step(m, first, Visit::First) - self.step(m, first, Visit::Again);
        sum + more / self.visits.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTHS: [i64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

    fn tile(rows: Option<i64>, columns: Option<i64>) -> (i64, i64) {
        let product = Demand { columns, rows: Some(rows), ..product(1, 1, 1024) };
        let t = product.tile(&Machine::default(), &WIDTHS);
        assert!(product.registers(t) <= 30, "{t:?}");
        (t.rows, t.vectors)
    }

    /// A product of so many rows and columns, each a sum of so many steps.
    fn product(rows: i64, columns: i64, depth: i64) -> Demand {
        Demand {
            columns: Some(columns),
            rows: Some(Some(rows)),
            by_row: 1,
            by_vector: 1,
            by_both: 0,
            sums: 1,
            shares: 1,
            visits: 1,
            blocked: false,
            depth,
            inner: depth,
            asked: false,
        }
    }

    #[test]
    fn a_tile_divides_what_is_counted() {
        assert_eq!(tile(Some(2048), Some(2048)), (4, 4));
        assert_eq!(tile(Some(49), Some(2048)), (7, 2));
        assert_eq!(tile(Some(128), Some(768)), (8, 3));
        assert_eq!(tile(Some(1000), Some(7)), (10, 1));
    }

    #[test]
    fn where_loads_are_in_the_way_tiles_are_large_and_blocks_of_rows_end_in_a_smaller_one() {
        let product = |rows| product(rows, 256, 256);
        let m = Machine { side: 0.5, ..Machine::default() };
        let tile = |rows| {
            let t = product(rows).tile(&m, &WIDTHS);
            (t.rows, t.vectors)
        };
        assert_eq!(tile(256), (6, 4));
        assert_eq!(block(256, 6, 4), 64);
        // Blocks of 31 rows would end in one row: rungs of a ladder are better.
        assert_eq!(tile(248), (4, 4));
        assert_eq!(block(256, 4, 4), 32);
        assert_eq!(block(49, 4, 4), 8);
    }

    #[test]
    fn a_panel_that_loops_around_go_through_comes_from_afar_once() {
        let m = Machine { side: 0.5, l2_bytes_per_fma: 20.0, l3_bytes_per_fma: 6.0, ..Machine::default() };
        let convolution = |visits| Demand { shares: 14, visits, inner: 256, ..product(14, 256, 2304) };
        let t = Tile { rows: 7, vectors: 2 };
        let [alone, among] = [1, 14].map(|visits| convolution(visits).nest(&m, t, 14, 256));
        let again = 8.0 * 2.0 * convolution(1).step(&m, t, Visit::Again);
        assert!(among - again < (alone - again) / 13.0, "{again} {among} {alone}");
    }

    #[test]
    fn rows_that_are_not_counted_have_a_tile_whose_ladder_ends() {
        let (rows, vectors) = tile(None, Some(768));
        assert!(rows > 1 && rows & (rows - 1) == 0, "{rows} rows of {vectors} vectors");
        assert_eq!(tile(None, None), (4, 4));
    }

    #[test]
    fn columns_that_are_left_over_cost_a_panel_of_their_own_and_no_more() {
        assert_eq!(tile(Some(7), Some(768)), (7, 3));
        assert_eq!(tile(Some(7), Some(769)), (7, 3));
        assert_eq!([1, 17, 33].map(|c| last_vectors(4, c, 16)), [1, 2, 4]);
        assert_eq!([16, 17].map(|c| last_vectors(3, c, 16)), [1, 3]);
    }

    #[test]
    fn a_long_sum_has_a_tile_that_reads_little_of_its_panel() {
        let product = |depth| Demand { shares: 14, ..product(14, 256, depth) };
        let (short, long) = (
            product(64).tile(&Machine::default(), &WIDTHS),
            product(2304).tile(&Machine::default(), &WIDTHS),
        );
        assert!(short.vectors > long.vectors && short.rows < long.rows, "{short:?} {long:?}");
    }

    #[test]
    fn a_tile_of_few_registers_uses_them_all() {
        let m = Machine::default().with_avx2();
        let tile = |rows, columns, depth, inner, shares| {
            let t = Demand { inner, shares, ..product(rows, columns, depth) };
            let found = t.tile(&m, &WIDTHS);
            assert!(t.registers(found) <= m.registers, "{found:?}");
            (found.rows, found.vectors)
        };
        // A row of one vector asks for a load with every multiply-add, and one more.
        assert_eq!(tile(49, 2048, 512, 512, 1), (5, 2));
        assert_eq!(tile(56, 64, 576, 64, 56), (6, 2));
        assert_eq!(tile(14, 256, 2304, 256, 14), (5, 2));
        // Four rows and three of three vectors hide the latency, two vectors would not.
        assert_eq!(tile(7, 512, 4608, 512, 7), (4, 3));
        // Short sums end often: whole lines of the cache matter more.
        assert_eq!(tile(196, 1024, 256, 256, 1), (6, 2));
    }

    #[test]
    fn sums_abreast_share_the_registers_of_one_tile() {
        let tile = |m: &Machine, sums| {
            let product = Demand { by_vector: sums, sums, ..product(128, 768, 768) };
            let t = product.tile(m, &WIDTHS);
            assert!(product.registers(t) <= m.registers - m.spare_registers, "{t:?}");
            (t.rows, t.vectors)
        };
        let wide = Machine::default();
        assert_eq!([1, 2, 3].map(|sums| tile(&wide, sums)), [(8, 3), (4, 3), (8, 1)]);
        // Of sixteen registers twelve are sums.
        let (rows, vectors) = tile(&wide.with_avx2(), 2);
        assert_eq!(2 * rows * vectors, 12);
    }

    #[test]
    fn one_row_hides_latency_behind_vectors() {
        let one = Demand { rows: None, by_row: 0, ..product(1, 4096, 1024) };
        assert!(one.tile(&Machine::default(), &WIDTHS).vectors >= 4);
    }
}
