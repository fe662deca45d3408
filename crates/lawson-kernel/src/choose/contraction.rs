//! Schedules of contractions: nests around an accumulator that have a loop over outputs to be the vector.
//!
//! Along that loop everything that is read lies side by side or does not move. A second one, along which an operand does not
//! move, is jammed with it: the tile of outputs that stays in registers, whose size `tile.rs` chooses. Operands known when
//! compiling are laid out in panels of the tile's width; others are copied into such panels where many rows read them.

use super::dot::{Dot, FOUR};
use super::guards::{Ends, Guarded};
use super::stride::{Access, Stride, loads, stride};
use super::tile::{Demand, ENOUGH_SHARES, SOME_ROWS, Tile, WIDEST, last_vectors};
use super::{Chooser, Nest, Position, extent, skip};
use crate::buffer::{BufferId, Layout, Level, Role};
use crate::expr::{Expr, ExprId};
use crate::index::{Atom, Index};
use crate::schedule::{Directive, PackLayout, Tail};
use crate::tree::{AccId, AxisId, For, Kind, Node};
use lawson_graph::Dim;

/// Steps of a sum that are not counted when compiling.
const SOME_STEPS: i64 = 256;
/// Iterations of a loop around that are not counted when compiling, as shares of the team.
const SOME_SHARES: i64 = 4;
/// Panels of columns that are not counted when compiling.
const SOME_PANELS: i64 = 8;
/// Rows from which on copying a panel is paid back by reading it.
const ROWS_WORTH_PACKING: i64 = 32;
/// Steps that are few.
const FEW_STEPS: i64 = 16;
/// Steps of a sum beside which storing the lanes of its result one by one is little.
const LONG_SUM: i64 = 64;
/// An axis shorter than this is no vector.
const LEAST_VECTOR: i64 = 4;
/// Rows beyond this many make a row axis no better.
const ROWS_ENOUGH: i64 = 64;

/// How far ahead what is read once is fetched, and after how many steps again: a part of the lines is enough to keep the
/// hardware's own prefetching going past the ends of pages, and all of them would cost more loads than they save.
const STEPS_AHEAD: i64 = 64;
const STEPS_BETWEEN: i64 = 4;
/// A nest around one accumulator, with the parts that its loops play.
pub(super) struct Contraction<'k> {
    /// The loops over outputs.
    pub(super) loops: Vec<&'k For>,
    /// Which of them becomes the vector.
    vector: usize,
    /// Which of them becomes the rows of the tile.
    rows: Option<usize>,
    /// What a step reads.
    pub(super) reads: Vec<Access>,
    /// The loops over what is summed, as they stand.
    pub(super) summed: Vec<&'k For>,
    pub(super) position: Position,
    /// The sum of whose products four are one instruction, and the operand that is laid out for that.
    pub(super) dot: Option<Dot<'k>>,
}

impl<'k> Contraction<'k> {
    pub(super) fn vector(&self) -> &'k For {
        self.loops[self.vector]
    }

    pub(super) fn row(&self) -> Option<&'k For> {
        self.rows.map(|r| self.loops[r])
    }

    /// The loops over outputs that are neither the vector nor the rows.
    pub(super) fn others(&self) -> Vec<&'k For> {
        let other = |(i, _): &(usize, _)| *i != self.vector && Some(*i) != self.rows;
        self.loops.iter().copied().enumerate().filter(other).map(|(_, f)| f).collect()
    }

    /// How many shares of the team the other loops give.
    pub(super) fn shares(&self) -> i64 {
        let shares = self.others().into_iter().map(|f| extent(f).unwrap_or(SOME_SHARES));
        shares.fold(1, i64::saturating_mul).max(1)
    }

    /// Whether a loop over outputs chooses another panel: an operand that moves with the vector moves with it, too.
    pub(super) fn chooses(&self, f: &For) -> bool {
        let moves = |r: &Access, axis: AxisId| stride(&r.offset, axis) != Stride::None;
        self.reads.iter().any(|r| moves(r, self.vector().axis) && moves(r, f.axis))
    }

    /// How often the loops that are neither the vector nor the rows go through one panel.
    pub(super) fn visits(&self) -> i64 {
        let using = self.others().into_iter().filter(|f| !self.chooses(f));
        using.map(|f| extent(f).unwrap_or(SOME_SHARES)).fold(1, i64::saturating_mul).max(1)
    }

    /// How many steps a sum has.
    pub(super) fn steps(&self) -> i64 {
        let steps = self.summed.iter().map(|f| extent(f).unwrap_or(SOME_STEPS));
        steps.fold(1, i64::saturating_mul)
    }

    /// How many of them follow one another without a loop that ends, but for short ones.
    pub(super) fn inner_steps(&self) -> i64 {
        let mut steps = 1i64;
        for f in self.sum_order().into_iter().rev() {
            steps = steps.saturating_mul(extent(f).unwrap_or(SOME_STEPS));
            if steps > FEW_STEPS {
                break;
            }
        }
        steps
    }

    /// How many panels of so many columns there are.
    pub(super) fn panels(&self, width: i64) -> i64 {
        extent(self.vector()).map_or(SOME_PANELS, |columns| (columns + width - 1) / width)
    }

    /// How many operands move with the vector and not with the rows.
    pub(super) fn operands_of_columns(&self) -> i64 {
        let moves = |r: &Access, f: &For| stride(&r.offset, f.axis) != Stride::None;
        let of_columns =
            |r: &&Access| moves(r, self.vector()) && !self.row().is_some_and(|row| moves(r, row));
        self.reads.iter().filter(of_columns).count().max(1) as i64
    }

    /// What is summed, innermost last: the axis along which an operand that does not move with the vector lies side by side.
    pub(super) fn sum_order(&self) -> Vec<&'k For> {
        let v = self.vector().axis;
        let dense = |f: &&For| {
            self.reads.iter().any(|r| {
                stride(&r.offset, v) == Stride::None && stride(&r.offset, f.axis) == Stride::Known(1)
            })
        };
        let mut order = self.summed.clone();
        if let Some(at) = order.iter().rposition(dense) {
            let f = order.remove(at);
            order.push(f);
        }
        order
    }
}

/// The loops from an accumulation to its step, and what the step computes, if that is all there is.
pub(super) fn summed(mut body: &[Node], acc: AccId) -> Option<(Vec<&For>, &[ExprId])> {
    let mut loops = Vec::new();
    while let [Node::For(f)] = body {
        loops.push(f);
        body = &f.body;
    }
    match body {
        [Node::Step { acc: a, values }] if *a == acc => Some((loops, values)),
        _ => None,
    }
}

/// By what a place divides an axis, or of what it takes the rest.
fn digits_of(offset: &Index, axis: AxisId) -> Vec<i64> {
    let alone = |i: &Index| i.as_axis() == Some(axis);
    let digit = |(atom, _): &(Atom, Dim)| match atom {
        Atom::Div(of, by) | Atom::Mod(of, by) if alone(of) => by.as_const(),
        _ => None,
    };
    offset.terms().iter().filter_map(digit).collect()
}

/// Where a nest's loops went when they were split.
pub(super) struct Cut {
    /// Panels of columns, if there are several.
    pub(super) panels: Option<String>,
    /// What is inside one panel.
    pub(super) columns: String,
    /// Blocks of rows, if there are several.
    pub(super) blocks: Option<String>,
    /// The rows of one block.
    pub(super) rows: Option<String>,
}

/// An operand whose panels are copied first.
pub(super) struct Packed {
    buffer: String,
    /// The dimension along the vector.
    dense: usize,
    /// How the copy lies: as the operand does, or with that dimension innermost.
    layout: PackLayout,
}

impl<'k> Chooser<'k> {
    /// Schedules a nest around an accumulator by a loop over outputs; `false` if there is none to be the vector.
    pub(super) fn contraction(
        &mut self,
        n: &Nest<'k>,
        acc: AccId,
        body: &'k [Node],
        stages: &'k [Node],
        position: Position,
    ) -> bool {
        let Some((summed, values)) = summed(body, acc) else { return false };
        let reads = loads(self.kernel, values);
        let steps = summed.iter().map(|f| extent(f).unwrap_or(SOME_STEPS)).fold(1, i64::saturating_mul);
        let Some(vector) = self.vector_axis(n, &reads, stages, position, steps) else {
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
            .max_by_key(|(i, f)| (self.likely_rows(f).min(ROWS_ENOUGH), *i))
            .map(|(i, _)| i);
        let mut c = Contraction { loops: n.loops.clone(), vector, rows, reads, summed, position, dot: None };
        c.dot = self.dot(&c, acc, values);
        let shares = if position == Position::Root { c.shares() } else { ENOUGH_SHARES };
        let sums = self.kernel.acc(acc).state.len() as i64;
        let demand = Demand {
            asked: self.comes_in_time(&c),
            ..Demand::of(&c, sums, shares, self.writes_parts_of_lines(&c))
        };
        let widths = match position {
            Position::Root => skip::panels(self.kernel, self.machine, self.freedom, WIDEST),
            Position::Inside => (1..=WIDEST).collect(),
        };
        let tile = demand.tile(self.machine, &widths);
        self.lay_out(&c, tile);
        self.order_sums(&c);
        self.tiles(&c, tile, demand.holds_rows(tile));
        true
    }

    /// How many rows a loop has, or may have where they are not counted: many, unless facts say that they are few.
    fn likely_rows(&self, f: &For) -> i64 {
        let most = || self.kernel.facts.bounds(f.end.as_dim()?).1;
        extent(f).or_else(most).unwrap_or(SOME_ROWS).min(SOME_ROWS)
    }

    /// The loop over outputs that becomes the vector; a sum has so many steps.
    fn vector_axis(
        &self,
        n: &Nest<'k>,
        reads: &[Access],
        stages: &'k [Node],
        position: Position,
        steps: i64,
    ) -> Option<usize> {
        let free = |a: &Access| self.freedom.constants.contains(&a.buffer);
        // Rows enough that copying what they share is paid back.
        let shared = |a: &Access, along: AxisId| {
            position == Position::Root
                && self.can_be_copied(a, along)
                && n.loops.iter().any(|f| {
                    f.axis != along
                        && self.usual(f) >= ROWS_WORTH_PACKING
                        && stride(&a.offset, f.axis) == Stride::None
                })
        };
        let mut best: Option<(i64, usize)> = None;
        for (i, f) in n.loops.iter().enumerate() {
            if !f.begin.is(0) || f.step != 1 || extent(f).is_some_and(|e| e < LEAST_VECTOR) {
                continue;
            }
            let mut score = 0;
            let mut possible = true;
            for s in stages {
                let Node::Store(s) = s else { continue };
                let offset = self.kernel.resolve(&self.kernel.buffer(s.buffer).layout.offset(&s.index));
                match stride(&offset, f.axis) {
                    Stride::Known(1) => score += 10,
                    // One element a lane, once for all steps of a sum.
                    Stride::Known(_) | Stride::Unknown if steps >= LONG_SUM => score -= 2,
                    Stride::Known(_) | Stride::Unknown => score -= 4,
                    Stride::None | Stride::Uneven | Stride::Data => possible = false,
                }
                for r in loads(self.kernel, &[s.value]) {
                    let narrow = !self.is_plain(self.kernel.buffer(r.buffer).dtype);
                    possible &=
                        !narrow || matches!(stride(&r.offset, f.axis), Stride::None | Stride::Known(1));
                    possible &= stride(&r.offset, f.axis) != Stride::Uneven;
                    possible &= r.guard.iter().all(|g| stride(g, f.axis) != Stride::Uneven);
                }
            }
            for r in reads {
                let narrow = !self.is_plain(self.kernel.buffer(r.buffer).dtype);
                match stride(&r.offset, f.axis) {
                    Stride::Known(1) => score += 4,
                    Stride::None => {}
                    Stride::Known(_) | Stride::Unknown if free(r) && self.may_lie_along(r, f.axis) => {
                        score += 3
                    }
                    _ if narrow => possible = false,
                    Stride::Known(_) if shared(r, f.axis) => score += 2,
                    // One element a lane, in the innermost loop.
                    Stride::Known(_) | Stride::Unknown => score -= 20,
                    Stride::Uneven | Stride::Data => possible = false,
                }
                possible &= r.guard.iter().all(|g| stride(g, f.axis) != Stride::Uneven);
            }
            score += i64::from(extent(f).is_none_or(|e| e >= self.machine.lanes));
            if possible && score >= 0 && best.is_none_or(|(s, _)| score > s) {
                best = Some((score, i));
            }
        }
        best.map(|(_, i)| i)
    }

    /// Operands known when compiling lie in panels of the tile's width, in the order in which they are read.
    fn lay_out(&mut self, c: &Contraction<'k>, tile: Tile) {
        let once = if self.machine.read_streams > 1 { self.read_once(c) } else { Vec::new() };
        for a in &c.reads {
            let b = self.kernel.buffer(a.buffer);
            // Where several streams come faster than one, each vector of the tile is one.
            let vectors = if once.iter().any(|o| o.buffer == a.buffer) { 1 } else { tile.vectors };
            let width = vectors * self.machine.lanes;
            if !self.freedom.constants.contains(&a.buffer)
                || b.role != Role::Input
                || self.choice.layouts.iter().any(|(id, _)| *id == a.buffer)
            {
                continue;
            }
            let Expr::Load(load) = self.kernel.expr(a.expr) else { continue };
            let axis = c.vector().axis;
            let Some(blocked) = self.dimension_along(&load.index, axis) else { continue };
            let Some(first) = self.first_along(&load.index[blocked], axis) else { continue };
            if b.dims.iter().any(|d| d.as_const().is_none()) {
                continue;
            }
            // Outer loops first, then the sums in the order in which they will run.
            let order = c.sum_order();
            let rank = |d: usize| {
                let index = self.kernel.resolve(&load.index[d]);
                let at = order.iter().rposition(|f| index.mentions(f.axis)).map(|p| p + c.loops.len());
                at.or_else(|| c.loops.iter().rposition(|f| index.mentions(f.axis))).unwrap_or(0)
            };
            let mut between: Vec<usize> = (0..b.dims.len()).filter(|d| *d != blocked).collect();
            between.sort_by_key(|d| rank(*d));
            let layout = if let Some(dot) = c.dot.as_ref().filter(|d| d.buffer == a.buffer) {
                dot.layout(&b.dims, blocked, width, &between)
            } else if first % width == 0 && b.dims[blocked].as_const().is_some_and(|c| c > width) {
                Layout::panels(&b.dims, blocked, width, &between)
            } else {
                let mut order = between;
                order.push(blocked);
                Layout::permuted(&b.dims, &order)
            };
            self.choice.layouts.push((a.buffer, layout));
        }
    }

    /// The first value of an index that is an axis and a number.
    fn first_along(&self, index: &Index, axis: AxisId) -> Option<i64> {
        let index = self.kernel.resolve(index);
        let first = index.offset().as_const()?;
        ((index - first).as_axis() == Some(axis)).then_some(first)
    }

    /// Whether what is known when compiling may lie side by side along an axis.
    fn may_lie_along(&self, a: &Access, axis: AxisId) -> bool {
        let Expr::Load(load) = self.kernel.expr(a.expr) else { return false };
        let along = self.dimension_along(&load.index, axis);
        along.is_some_and(|d| self.first_along(&load.index[d], axis).is_some())
    }

    /// The dimension whose index moves along an axis, if it is the only one.
    pub(super) fn dimension_along(&self, index: &[Index], axis: AxisId) -> Option<usize> {
        let mut along = (0..index.len()).filter(|d| self.kernel.resolve(&index[*d]).mentions(axis));
        along.next().filter(|_| along.next().is_none())
    }

    fn order_sums(&mut self, c: &Contraction<'k>) {
        let names: Vec<String> = c.sum_order().iter().map(|f| self.name(f)).collect();
        let before: Vec<String> = c.summed.iter().map(|f| self.name(f)).collect();
        if names != before {
            self.reorder(names);
        }
    }

    /// Writes the directives of a tile; its points go through columns outside of rows if it holds an element of each row.
    ///
    /// Sums are not cut into blocks ([`Directive::Block`]), however long they are, unless parts of panels are asked for ahead (`panels.rs`). That would pay
    /// if panels came from a cache that cannot feed the tile; but a tile asks its panel for a vector in every few multiply-adds alone, which the last
    /// cache gives too. With panels of half the second cache and of twice its size, blocks of 128 to 2048 steps came out
    /// between 1 % faster and 9 % slower, mostly slower: states go to scratch and back, and each block begins anew.
    fn tiles(&mut self, c: &Contraction<'k>, tile: Tile, holds_rows: bool) {
        let lanes = self.machine.lanes;
        let v = c.vector();
        let width = tile.vectors * lanes;
        let name = self.name(v);
        let mut packed = self.packed(c);
        // What lies side by side needs no copy if it is one panel.
        let is_one = extent(v).is_some_and(|e| e <= width);
        packed.retain(|p| !is_one || p.layout != PackLayout::RowMajor);
        let (panels, columns) = if is_one && packed.is_empty() {
            (None, name)
        } else {
            let [a, b] = self.split(&name, width, Tail::Clip);
            (Some(a), b)
        };
        let guarded = self.guards(c);
        let block = panels.as_ref().and_then(|_| self.block_of_sum(c, tile));
        let (blocks, rows) = match block {
            Some(_) => (None, c.row().map(|r| self.name(r))),
            None => self.blocks(c, tile, &packed, &guarded),
        };
        let cut = Cut { panels, columns, blocks, rows };
        self.outer(c, &cut, width, !packed.is_empty());
        if let (Some(factor), Some(sum)) = (block, c.sum_order().last()) {
            let (axis, at, level) = (self.name(sum), cut.panels.clone(), Level::L2);
            self.choice.schedule.0.push(Directive::Block { axis, factor, at, level });
        }
        for Packed { buffer, dense, layout } in packed {
            let Some(at) = cut.panels.clone() else { continue };
            let level = Level::L2;
            self.choice.schedule.0.push(Directive::Pack { buffer: buffer.clone(), at, layout, level });
            let [jam, lane] = self.split(&format!("{buffer}.{dense}"), lanes, Tail::Cover);
            self.execute(&jam, Kind::Jam);
            self.execute(&lane, Kind::Vector(lanes as u32));
        }
        let columns = self.whole_panels(c, &cut, width);
        let mut tiles = None;
        let [jam, lane] = self.split(&columns, lanes, Tail::Cover);
        if let Some(rows) = &cut.rows {
            let tail = if tile.rows > 1 { Tail::Ladder(Vec::new()) } else { Tail::Exact };
            let [outer, row] = self.split(rows, tile.rows, tail);
            let (first, second) = if holds_rows { (&jam, &row) } else { (&row, &jam) };
            self.reorder(vec![outer.clone(), first.clone(), second.clone(), lane.clone()]);
            tiles = Some(outer.clone());
            let Ends { first, last } = guarded.ends;
            if first || last {
                let (first, last) = (first.into(), last.into());
                self.choice.schedule.0.push(Directive::Peel { axis: outer, first, last });
            }
            self.execute(&row, Kind::Jam);
        }
        for axis in guarded.clip.clone() {
            self.choice.schedule.0.push(Directive::Clip { axis });
        }
        for axis in &guarded.unroll {
            self.execute(axis, Kind::Unroll);
        }
        for axis in guarded.decide.clone() {
            self.choice.schedule.0.push(Directive::Decide { axis });
        }
        match &c.dot {
            Some(dot) => {
                let name = self.name(dot.sum);
                let [_, four] = self.split(&name, FOUR, Tail::Exact);
                self.execute(&four, Kind::Dot);
            }
            None if self.fetch_ahead(c) => {}
            None => {
                self.split_at_digits(c, &guarded);
                self.ask_for_panel(c, tile, &cut, tiles, block);
            }
        }
        self.execute(&jam, Kind::Jam);
        self.execute(&lane, Kind::Vector(lanes as u32));
    }

    /// Sets the last panel apart where it may overhang, so that whole panels need no masks. Gives the loop over the columns of a
    /// panel.
    fn whole_panels(&mut self, c: &Contraction<'k>, cut: &Cut, width: i64) -> String {
        let lanes = self.machine.lanes;
        let left = extent(c.vector()).map(|e| e % width);
        if cut.panels.is_none() || left == Some(0) {
            return cut.columns.clone();
        }
        let last = left.map(|l| last_vectors(width / lanes, l, lanes) * lanes).filter(|l| *l < width);
        let [panel, columns] = self.split(&cut.columns, width, Tail::LadderClip(last.into_iter().collect()));
        if let Some(rows) = &cut.rows {
            self.reorder(vec![panel, rows.clone(), columns.clone()]);
        }
        columns
    }

    /// Orders and shares the loops around a tile. Loops that choose another panel are outermost; then panels or what uses them, by
    /// what stays in the second cache.
    fn outer(&mut self, c: &Contraction<'k>, cut: &Cut, width: i64, packs: bool) {
        let (choosing, using): (Vec<&For>, Vec<&For>) = c.others().iter().partition(|f| c.chooses(f));
        let names = |l: &[&For]| l.iter().map(|f| self.name(f)).collect::<Vec<String>>();
        // The panels of operands that move with the vector are read for every row; if all of them fit in the second
        // cache together, rows may be outermost.
        let panel = c.steps().saturating_mul(width * self.machine.lane_bytes * c.operands_of_columns());
        let bytes = panel.saturating_mul(c.panels(width));
        // Where nothing stays in the last cache, rows of a block do while the panels go by: they are fewer bytes than the panels
        // would see go by of rows.
        let rows_first = cut.blocks.is_some() && self.exceeds_last_cache(c);
        let panel_first = packs || bytes > self.machine.l2 / 2 && !rows_first;
        let mut order = names(&choosing);
        if panel_first {
            order.extend(cut.panels.clone());
        }
        order.extend(names(&using));
        order.extend(cut.blocks.clone());
        if !panel_first {
            order.extend(cut.panels.clone());
        }
        // A panel is packed for all the rows that read it, by one member of the team.
        let shared = match packs {
            true => order.iter().position(|x| Some(x) == cut.panels.as_ref()).map_or(1, |at| at + 1),
            false => order.len(),
        };
        let parallel = order[..shared].to_vec();
        order.extend(cut.rows.clone());
        order.push(cut.columns.clone());
        let natural: Vec<String> = c.loops.iter().map(|f| self.name(f)).collect();
        if order != natural {
            self.reorder(order);
        }
        if c.position == Position::Root {
            for axis in parallel {
                self.execute(&axis, Kind::Parallel);
            }
        }
    }

    /// Operands that come when running and are read for many rows: their panels are copied side by side first, because rows a
    /// page apart share few sets of the caches.
    fn packed(&self, c: &Contraction<'k>) -> Vec<Packed> {
        let mut out: Vec<Packed> = Vec::new();
        let Some(row) = c.row() else { return out };
        let many = self.usual(row) >= ROWS_WORTH_PACKING;
        if c.position != Position::Root || !many {
            return out;
        }
        let v = c.vector().axis;
        for a in &c.reads {
            let b = self.kernel.buffer(a.buffer);
            let Expr::Load(load) = self.kernel.expr(a.expr) else { continue };
            if !self.can_be_copied(a, v)
                || stride(&a.offset, row.axis) != Stride::None
                || out.iter().any(|p| p.buffer == b.name)
            {
                continue;
            }
            let Some(dense) = self.dimension_along(&load.index, v) else { continue };
            let layout = match stride(&a.offset, v) {
                Stride::Known(1) => PackLayout::RowMajor,
                _ => PackLayout::Order((0..b.dims.len()).filter(|d| *d != dense).chain([dense]).collect()),
            };
            out.push(Packed { buffer: b.name.clone(), dense, layout });
        }
        out
    }

    /// Whether what is read along an axis can be copied side by side first: it comes when running, how much it is, is known, and
    /// nothing else is read of the buffer, of which a copy is made or none.
    fn can_be_copied(&self, a: &Access, along: AxisId) -> bool {
        let b = self.kernel.buffer(a.buffer);
        let Expr::Load(load) = self.kernel.expr(a.expr) else { return false };
        let of_it = |e: &&Expr| matches!(e, Expr::Load(l) if l.buffer == a.buffer);
        if self.kernel.exprs.iter().filter(of_it).count() != 1 {
            return false;
        }
        !self.freedom.constants.contains(&a.buffer)
            && b.role == Role::Input
            && load.guard.is_none()
            && b.dims.iter().all(|d| d.as_const().is_some())
            && matches!(stride(&a.offset, along), Stride::Known(_))
            && self.dimension_along(&load.index, along).is_some()
    }

    /// Splits sums where what is read jumps: an operand that lies in parts, such as heads, is then read by steps of one size in the innermost
    /// loop, and its parts are found outside of it.
    fn split_at_digits(&mut self, c: &Contraction<'k>, guarded: &Guarded) {
        for f in &c.summed {
            let name = self.name(f);
            let cut = guarded.clip.contains(&name) || guarded.unroll.contains(&name) || guarded.peel;
            let mut parts: Vec<i64> = c.reads.iter().flat_map(|r| digits_of(&r.offset, f.axis)).collect();
            parts.dedup();
            if let ([part], false, Some(steps)) = (&parts[..], cut, extent(f))
                && *part > 1
                && steps % part == 0
                && steps > *part
                && f.begin.is(0)
                && f.step == 1
            {
                self.split(&name, *part, Tail::Exact);
            }
        }
    }

    /// The operands that are read once and do not come from the second cache: the weights of a single row.
    fn read_once<'c>(&self, c: &'c Contraction<'k>) -> Vec<&'c Access> {
        let [sum] = c.summed.as_slice() else { return Vec::new() };
        let once = c.row().is_none_or(|r| extent(r) == Some(1));
        if !once || extent(sum).is_none_or(|e| e < 2 * STEPS_AHEAD || e % STEPS_BETWEEN != 0) {
            return Vec::new();
        }
        let v = c.vector().axis;
        let far = |a: &&Access| {
            let b = self.kernel.buffer(a.buffer);
            let bytes = b.layout.size.as_const().map(|n| n.saturating_mul(b.dtype.bits() as i64 / 8));
            b.role == Role::Input
                && a.guard.is_empty()
                && bytes.is_some_and(|n| n > self.machine.l2)
                && stride(&a.offset, v) != Stride::None
                && stride(&a.offset, sum.axis) != Stride::None
        };
        c.reads.iter().filter(far).collect()
    }

    /// Fetches ahead what is read once, unless it comes in several streams. Whether it does.
    fn fetch_ahead(&mut self, c: &Contraction<'k>) -> bool {
        let [sum] = c.summed.as_slice() else { return false };
        let in_streams =
            |b: BufferId| self.machine.read_streams > 1 && self.choice.layouts.iter().any(|(id, _)| *id == b);
        let fetched: Vec<BufferId> =
            self.read_once(c).iter().map(|a| a.buffer).filter(|b| !in_streams(*b)).collect();
        if fetched.is_empty() {
            return false;
        }
        let name = self.name(sum);
        let [at, _] = self.split(&name, STEPS_BETWEEN, Tail::Exact);
        let (ahead, level) = (STEPS_AHEAD / STEPS_BETWEEN, Level::L2);
        for b in fetched {
            let (buffer, at) = (self.kernel.buffer(b).name.clone(), at.clone());
            self.choice.schedule.0.push(Directive::Prefetch {
                buffer,
                at,
                ahead,
                of: None,
                by: None,
                whole: false,
                level,
            });
        }
        true
    }
}
