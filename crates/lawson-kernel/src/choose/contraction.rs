//! Schedules of nests around an accumulator.
//!
//! A *contraction* has a loop over its outputs along which everything that is read lies side by side or does not move:
//! that one becomes the vector. A second one, along which an operand does not move, is jammed with it: the tile of
//! outputs that stays in registers. Its size is chosen by counting, for every tile that fits in the registers, what the whole nest
//! takes: multiply-adds, loads, and what tiles at the edges waste. Operands known when compiling are laid out
//! in panels of the tile's width.
//!
//! A *reduction* has its vector along what is summed.

use super::stride::{Access, Stride, loads, stride};
use super::{Chooser, Nest, Position, extent};
use crate::buffer::{Layout, Level, Role};
use crate::expr::ExprId;
use crate::schedule::{Directive, PackLayout, Tail, clip};
use crate::tree::{AccId, For, Kind, Node, Store};

/// A tile of outputs: so many rows of so many vectors.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Tile {
    pub(crate) rows: i64,
    pub(crate) vectors: i64,
}

/// What is assumed of an extent that is not known when compiling.
const SOME_ROWS: i64 = 1024;

impl<'k> Chooser<'k> {
    /// The loops from an accumulation to its step, if that is all there is.
    fn summed(body: &'k [Node], acc: AccId) -> Option<(Vec<&'k For>, &'k [ExprId])> {
        match body {
            [Node::Step { acc: a, values }] if *a == acc => Some((Vec::new(), values)),
            [Node::For(f)] => {
                let (mut loops, values) = Self::summed(&f.body, acc)?;
                loops.insert(0, f);
                Some((loops, values))
            }
            _ => None,
        }
    }

    /// Schedules a nest around an accumulator by a loop over outputs; `false` if there is none to be the vector.
    pub(super) fn contraction(
        &mut self,
        n: &Nest<'k>,
        acc: AccId,
        body: &'k [Node],
        stages: &'k [Node],
        position: Position,
    ) -> bool {
        let Some((summed, values)) = Self::summed(body, acc) else { return false };
        let reads = loads(self.kernel, values);
        let Some(vector) = self.vector_axis(n, &reads, stages) else {
            return false;
        };
        let v = n.loops[vector];
        // The row axis: another loop along which something that moves with the vector stands still; the longest.
        let rows = n
            .loops
            .iter()
            .enumerate()
            .filter(|(i, f)| {
                *i != vector
                    && f.begin.is(0)
                    && f.step == 1
                    && reads.iter().any(|r| {
                        stride(&r.offset, f.axis) == Stride::None && stride(&r.offset, v.axis) != Stride::None
                    })
            })
            .max_by_key(|(i, f)| (extent(f).unwrap_or(SOME_ROWS).min(64), *i))
            .map(|(i, _)| i);
        let others: Vec<usize> = (0..n.loops.len()).filter(|i| *i != vector && Some(*i) != rows).collect();
        let shares = if position == Position::Root { other_shares(n, &others) } else { 8 };
        let tile = self.tile(v, rows.map(|r| n.loops[r]), &reads, shares);
        self.lay_out(&reads, n, v, &summed, tile);
        self.order_sums(&reads, &summed, v);
        self.tiles(n, vector, rows, tile, position, &reads, &summed);
        true
    }

    /// The loop over outputs that becomes the vector.
    fn vector_axis(&self, n: &Nest<'k>, reads: &[Access], stages: &'k [Node]) -> Option<usize> {
        let free = |a: &Access| self.freedom.constants.contains(&a.buffer);
        let mut best: Option<(i64, usize)> = None;
        for (i, f) in n.loops.iter().enumerate() {
            if !f.begin.is(0) || f.step != 1 || extent(f).is_some_and(|e| e < 4) {
                continue;
            }
            let mut score = 0;
            let mut possible = true;
            for s in stages {
                let Node::Store(s) = s else { continue };
                let offset = self.kernel.resolve(&self.kernel.buffer(s.buffer).layout.offset(&s.index));
                match stride(&offset, f.axis) {
                    Stride::Known(1) => score += 10,
                    Stride::Known(_) | Stride::Unknown => score -= 4,
                    Stride::None | Stride::Uneven => possible = false,
                }
                for r in loads(self.kernel, &[s.value]) {
                    let narrow = self.kernel.buffer(r.buffer).dtype.bits() != 32;
                    possible &=
                        !narrow || matches!(stride(&r.offset, f.axis), Stride::None | Stride::Known(1));
                    possible &= stride(&r.offset, f.axis) != Stride::Uneven;
                    possible &= r.guard.iter().all(|g| stride(g, f.axis) != Stride::Uneven);
                }
            }
            for r in reads {
                let narrow = self.kernel.buffer(r.buffer).dtype.bits() != 32;
                match stride(&r.offset, f.axis) {
                    Stride::Known(1) => score += 4,
                    Stride::None => {}
                    _ if narrow => possible = false,
                    Stride::Known(_) | Stride::Unknown if free(r) => score += 3,
                    // One element a lane, in the innermost loop.
                    Stride::Known(_) | Stride::Unknown => score -= 20,
                    Stride::Uneven => possible = false,
                }
                possible &= r.guard.iter().all(|g| stride(g, f.axis) != Stride::Uneven);
            }
            score += i64::from(extent(f).is_none_or(|e| e >= 16));
            if possible && score > 0 && best.is_none_or(|(s, _)| score > s) {
                best = Some((score, i));
            }
        }
        best.map(|(_, i)| i)
    }

    /// The tile for which the nest takes least.
    fn tile(&self, v: &For, r: Option<&For>, reads: &[Access], others: i64) -> Tile {
        let (columns, rows) = (extent(v), r.map(extent));
        let m = self.machine;
        let vectors = columns.map_or(64, |c| (c + m.lanes - 1) / m.lanes);
        // Rows that are not counted yet end in a ladder, whose rungs must divide each other.
        let counted = !matches!(rows, Some(None));
        let rows = rows.map(|r| r.unwrap_or(SOME_ROWS));
        // Loads a step: those that move with the rows, once a row, and those that move with the vector, once a vector.
        let (mut by_row, mut by_vector, mut by_both) = (0i64, 0i64, 0i64);
        for a in reads {
            let moves = |f: &For| stride(&a.offset, f.axis) != Stride::None;
            match (r.is_some_and(moves), moves(v)) {
                (true, true) => by_both += 1,
                (true, false) => by_row += 1,
                (false, true) => by_vector += 1,
                (false, false) => {}
            }
        }
        let mut best = (f64::INFINITY, Tile { rows: 1, vectors: 1 });
        for width in 1..=vectors.min(8) {
            for height in 1..=rows.unwrap_or(1).min(16) {
                let even = rows.is_some_and(|r| r % height == 0);
                let shares = others * ((vectors + width - 1) / width);
                if (!counted || !even && shares < 8) && height & (height - 1) != 0 {
                    continue;
                }
                let registers = height * width + by_vector * width + 1 + i64::from(by_both > 0);
                if registers > m.registers - 2 {
                    continue;
                }
                let cost = |h: i64, w: i64| {
                    let fma = (h * w) as f64;
                    let loads =
                        (by_row * h + by_vector * w + by_both * h * w) as f64 / m.loads_per_fma * 0.55;
                    // A few instructions go to the loop itself.
                    fma.max(loads).max(m.fma_in_flight as f64 * 0.6) + 0.04 * (h + w) as f64 + 0.3
                };
                let total_rows = rows.unwrap_or(1);
                let (full_rows, rest) = (total_rows / height, total_rows % height);
                let panels = ((vectors + width - 1) / width) as f64;
                let mut sum = full_rows as f64 * cost(height, width);
                if rest > 0 {
                    sum += cost(rest, width);
                }
                sum *= panels;
                // A panel that overhangs needs masks in every panel.
                if vectors % width != 0 || columns.is_some_and(|c| c % m.lanes != 0) && vectors > width {
                    sum *= 1.06;
                }
                // Rows that the tile does not divide need code of their own, and decisions when running.
                if rest > 0 {
                    sum *= 1.03;
                }
                if sum < best.0 * 0.999 {
                    best = (sum, Tile { rows: height, vectors: width });
                }
            }
        }
        best.1
    }

    /// Operands known when compiling lie in panels of the tile's width, in the order in which they are read.
    fn lay_out(&mut self, reads: &[Access], n: &Nest<'k>, v: &For, summed: &[&'k For], tile: Tile) {
        let width = tile.vectors * self.machine.lanes;
        for a in reads {
            let b = self.kernel.buffer(a.buffer);
            if !self.freedom.constants.contains(&a.buffer)
                || b.role != Role::Input
                || self.choice.layouts.iter().any(|(id, _)| *id == a.buffer)
            {
                continue;
            }
            let crate::expr::Expr::Load(load) = self.kernel.expr(a.expr) else { continue };
            // The dimension that the vector moves along, and no other.
            let along: Vec<usize> = (0..load.index.len())
                .filter(|d| self.kernel.resolve(&load.index[*d]).mentions(v.axis))
                .collect();
            let [blocked] = along.as_slice() else { continue };
            if self.kernel.resolve(&load.index[*blocked]).as_axis() != Some(v.axis)
                || b.dims.iter().any(|d| d.as_const().is_none())
            {
                continue;
            }
            // Outer loops first, then the sums in the order in which they will run.
            let order = self.sum_order(reads, summed, v);
            let rank = |d: usize| {
                let index = self.kernel.resolve(&load.index[d]);
                let at = order.iter().rposition(|f| index.mentions(f.axis)).map(|p| p + n.loops.len());
                at.or_else(|| n.loops.iter().rposition(|f| index.mentions(f.axis))).unwrap_or(0)
            };
            let mut between: Vec<usize> = (0..b.dims.len()).filter(|d| d != blocked).collect();
            between.sort_by_key(|d| rank(*d));
            let layout = if b.dims[*blocked].as_const().is_some_and(|c| c > width) {
                Layout::panels(&b.dims, *blocked, width, &between)
            } else {
                let mut order = between;
                order.push(*blocked);
                Layout::permuted(&b.dims, &order)
            };
            self.choice.layouts.push((a.buffer, layout));
        }
    }

    /// What is summed, innermost last: the axis along which an operand that does not move with the vector lies side by side.
    fn sum_order(&self, reads: &[Access], summed: &[&'k For], v: &For) -> Vec<&'k For> {
        let dense = |f: &&&For| {
            reads.iter().any(|r| {
                stride(&r.offset, v.axis) == Stride::None && stride(&r.offset, f.axis) == Stride::Known(1)
            })
        };
        let inner = summed.iter().rposition(|f| dense(&f));
        let mut order: Vec<&'k For> = summed.to_vec();
        if let Some(at) = inner {
            let f = order.remove(at);
            order.push(f);
        }
        order
    }

    fn order_sums(&mut self, reads: &[Access], summed: &[&'k For], v: &For) {
        let order = self.sum_order(reads, summed, v);
        let names: Vec<String> = order.iter().map(|f| self.name(f)).collect();
        let before: Vec<String> = summed.iter().map(|f| self.name(f)).collect();
        if names != before {
            self.reorder(names);
        }
    }

    /// Writes the directives of a tile.
    #[allow(clippy::too_many_arguments)]
    fn tiles(
        &mut self,
        n: &Nest<'k>,
        vector: usize,
        rows: Option<usize>,
        tile: Tile,
        position: Position,
        reads: &[Access],
        summed: &[&'k For],
    ) {
        let lanes = self.machine.lanes;
        let v = n.loops[vector];
        let width = tile.vectors * lanes;
        let v_name = self.name(v);
        let others: Vec<usize> = (0..n.loops.len()).filter(|i| *i != vector && Some(*i) != rows).collect();
        let sum_bytes: i64 = summed.iter().map(|f| extent(f).unwrap_or(256)).product::<i64>() * width * 4;
        let panels = extent(v).map_or(8, |c| (c + width - 1) / width);
        // The panel of the operand that moves with the vector is read for every row; if all of them fit in the second
        // cache together, rows may be outermost.
        let row_name = rows.map(|r| self.name(n.loops[r]));
        let all_panels = sum_bytes.saturating_mul(panels);
        let panel_first = all_panels > self.machine.l2 / 2;
        let single = extent(v).is_some_and(|c| c <= width);
        let (j0, j1) = if single {
            (None, v_name.clone())
        } else {
            let [a, b] = self.split(&v_name, width, Tail::Clip);
            (Some(a), b)
        };
        let packed = self.packed(position, reads, n, v, rows, j0.as_deref());
        let guarded = self.guards(n, v, rows, reads, summed);
        // Blocks of rows: shares of the team, and what is gone through for one panel. Where the other loops give shares enough, or a
        // panel is packed first, or tiles at the edges are to be told apart, rows stay together.
        let (mut i0, mut i1) = (None, row_name.clone());
        let shares = panels * other_shares(n, &others);
        if let (Some(name), Some(r), Position::Root) = (&row_name, rows, position)
            && packed.is_empty()
            && !(guarded.peel && shares >= 8)
            && !(extent(n.loops[r]).is_some_and(|c| c % tile.rows != 0) && shares >= 8)
        {
            let count = extent(n.loops[r]);
            let block = match count {
                Some(c) => {
                    let tiles = (c + tile.rows - 1) / tile.rows;
                    let shares = if shares >= 16 { 2 } else { 8 };
                    // As many shares, or somewhat more, as divide the rows evenly.
                    let even = (shares..=2 * shares).find(|s| c % tile.rows == 0 && tiles % s == 0);
                    let shares = even.unwrap_or(shares).min(tiles.max(1));
                    (tiles + shares - 1) / shares * tile.rows
                }
                None => 8 * tile.rows,
            };
            if count.is_none_or(|c| block < c) {
                let [a, b] = self.split(name, block.max(tile.rows), Tail::Clip);
                (i0, i1) = (Some(a), Some(b));
            }
        }
        // Loops that choose another panel are outermost; then panels or what uses them, by what stays in the second cache.
        let (choosing, using): (Vec<usize>, Vec<usize>) = others.iter().partition(|i| {
            reads.iter().any(|r| {
                stride(&r.offset, v.axis) != Stride::None
                    && stride(&r.offset, n.loops[**i].axis) != Stride::None
            })
        });
        let names = |l: &[usize]| l.iter().map(|i| self.name(n.loops[*i])).collect::<Vec<String>>();
        let mut order: Vec<String> = names(&choosing);
        if panel_first || !packed.is_empty() {
            order.extend(j0.clone());
            order.extend(names(&using));
            order.extend(i0.clone());
        } else {
            order.extend(names(&using));
            order.extend(i0.clone());
            order.extend(j0.clone());
        }
        let parallel: Vec<String> = if packed.is_empty() {
            order.clone()
        } else {
            let last = order.iter().position(|x| Some(x) == j0.as_ref()).unwrap_or(0);
            order[..=last].to_vec()
        };
        order.extend(i1.clone());
        order.push(j1.clone());
        let natural: Vec<String> = n.loops.iter().map(|f| self.name(f)).collect();
        if order != natural {
            self.reorder(order);
        }
        if position == Position::Root {
            for p in parallel {
                self.execute(&p, Kind::Parallel);
            }
        }
        for (buffer, dense) in packed {
            let Some(at) = j0.clone() else { continue };
            let (layout, level) = (PackLayout::RowMajor, Level::L2);
            self.choice.schedule.0.push(Directive::Pack { buffer: buffer.clone(), at, layout, level });
            let copied = format!("{buffer}.{dense}");
            let [jam, lane] = self.split(&copied, lanes, Tail::Cover);
            self.execute(&jam, Kind::Jam);
            self.execute(&lane, Kind::Vector(lanes as u32));
        }
        let [jam, lane] = self.split(&j1, lanes, Tail::Cover);
        if let Some(i1) = &i1 {
            let tail = if tile.rows > 1 { Tail::Ladder(Vec::new()) } else { Tail::Exact };
            let [outer, row] = self.split(i1, tile.rows, tail);
            self.reorder(vec![outer.clone(), row.clone(), jam.clone(), lane.clone()]);
            if guarded.peel {
                self.choice.schedule.0.push(Directive::Peel { axis: outer, first: 1, last: 1 });
            }
            self.execute(&row, Kind::Jam);
        }
        for axis in guarded.clip {
            self.choice.schedule.0.push(Directive::Clip { axis });
        }
        for axis in guarded.unroll {
            self.execute(&axis, Kind::Unroll);
        }
        self.execute(&jam, Kind::Jam);
        self.execute(&lane, Kind::Vector(lanes as u32));
    }

    /// Operands that come when running and are read for many rows: their panels are copied side by side first, because rows a
    /// page apart share few sets of the caches. Gives the buffers and, of each, the dimension along the vector.
    fn packed(
        &self,
        position: Position,
        reads: &[Access],
        n: &Nest<'k>,
        v: &For,
        rows: Option<usize>,
        j0: Option<&str>,
    ) -> Vec<(String, usize)> {
        let mut out = Vec::new();
        let many = rows.is_some_and(|r| extent(n.loops[r]).is_none_or(|c| c >= 32));
        if position != Position::Root || j0.is_none() || !many {
            return out;
        }
        for a in reads {
            let b = self.kernel.buffer(a.buffer);
            let crate::expr::Expr::Load(load) = self.kernel.expr(a.expr) else { continue };
            let known = b.dims.iter().all(|d| d.as_const().is_some());
            let row = rows.map(|r| n.loops[r].axis);
            if self.freedom.constants.contains(&a.buffer)
                || b.role != Role::Input
                || load.guard.is_some()
                || !known
                || stride(&a.offset, v.axis) != Stride::Known(1)
                || row.is_some_and(|r| stride(&a.offset, r) != Stride::None)
                || out.iter().any(|(name, _)| *name == b.name)
            {
                continue;
            }
            let along: Vec<usize> = (0..load.index.len())
                .filter(|d| self.kernel.resolve(&load.index[*d]).mentions(v.axis))
                .collect();
            if let [d] = along.as_slice() {
                out.push((b.name.clone(), *d));
            }
        }
        out
    }

    /// How guards of what is read are dealt with: sums along which they cut become bounds; those that also depend on the row axis
    /// are decided tile by tile.
    fn guards(
        &self,
        n: &Nest<'k>,
        v: &For,
        rows: Option<usize>,
        reads: &[Access],
        summed: &[&'k For],
    ) -> Guarded {
        let mut out = Guarded::default();
        let row = rows.map(|r| n.loops[r]);
        for f in summed {
            let cut: Vec<_> = reads.iter().flat_map(|r| &r.guard).filter(|g| g.mentions(f.axis)).collect();
            if cut.is_empty() {
                continue;
            }
            let name = self.name(f);
            // Along the vector, lanes are masked.
            if cut.iter().any(|g| g.mentions(v.axis)) {
                continue;
            }
            if row.is_some_and(|r| cut.iter().any(|g| g.mentions(r.axis))) {
                out.peel = true;
                if extent(f).is_some_and(|e| e <= 16) {
                    out.unroll.push(name);
                }
            } else if clip::applies(self.kernel, f.axis) {
                // Only where the rest of the step leaves the state as it is.
                out.clip.push(name);
            }
        }
        out
    }

    /// The loops from an accumulation to its step, with the stages that stand beside the step.
    fn visited(body: &'k [Node], acc: AccId) -> Option<(Vec<&'k For>, Vec<ExprId>, Vec<&'k Store>)> {
        if let [Node::For(f)] = body {
            let (mut loops, values, stages) = Self::visited(&f.body, acc)?;
            loops.insert(0, f);
            return Some((loops, values, stages));
        }
        let mut values = Vec::new();
        let mut stages = Vec::new();
        for node in body {
            match node {
                Node::Step { acc: a, values: v } if *a == acc => values.extend(v),
                Node::Store(s) => {
                    values.push(s.value);
                    stages.push(s);
                }
                _ => return None,
            }
        }
        Some((Vec::new(), values, stages))
    }

    /// A reduction that stands by itself: vectors along what is summed.
    pub(super) fn reduction(&mut self, acc: AccId, body: &'k [Node]) {
        let Some((summed, values, stages)) = Self::visited(body, acc) else {
            return self.nodes(body, Position::Inside);
        };
        // Lanes of a mask do not merge.
        if self.kernel.acc(acc).state.iter().any(|s| s.dtype.bits() != 32) {
            return;
        }
        let reads = loads(self.kernel, &values);
        let written = |s: &&Store| self.kernel.resolve(&self.kernel.buffer(s.buffer).layout.offset(&s.index));
        let writes: Vec<_> = stages.iter().map(written).collect();
        let fits = |f: &&&For| {
            f.begin.is(0)
                && f.step == 1
                && writes.iter().all(|w| stride(w, f.axis) == Stride::Known(1))
                && reads.iter().all(|r| matches!(stride(&r.offset, f.axis), Stride::None | Stride::Known(1)))
                && reads.iter().any(|r| stride(&r.offset, f.axis) == Stride::Known(1))
                && reads.iter().flat_map(|r| &r.guard).all(|g| !g.mentions(f.axis))
        };
        let Some(f) = summed.iter().rev().find(|f| fits(f)) else { return };
        let (name, known) = (self.name(f), extent(f));
        self.vectorise(&name, known, self.machine.lanes);
    }
}

/// What [`Chooser::guards`] found.
#[derive(Default)]
struct Guarded {
    clip: Vec<String>,
    unroll: Vec<String>,
    peel: bool,
}

/// How many shares the other loops of a nest give already.
fn other_shares(n: &Nest<'_>, others: &[usize]) -> i64 {
    others.iter().map(|i| extent(n.loops[*i]).unwrap_or(4)).product::<i64>().max(1)
}
