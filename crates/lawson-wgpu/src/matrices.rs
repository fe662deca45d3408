//! Tiles of products that subgroups multiply as matrices of 16 rows and columns: floats of 16 bits, sums of 32.
//!
//! ```text
//! a member fetches four numbers of a factor at a time, as they are where the factor is a buffer, and puts them into one half of the
//! workgroup's memory, as in any tile
//! for every 16 places of the part: a subgroup loads the matrices of its rows and of its columns, and steps its sums by each two of them
//! in the end a subgroup puts one matrix of sums after another into memory, where each of its members takes two rows of four
//! ```
//!
//! Products of such factors are exact in f32, so nothing is rounded but sums, whose order is anybody's: results are as good as those of
//! members that sum by themselves.

use crate::lower::Lower;
use crate::opcode::{
    Capabilities, Halves, HalvesId, MATRIX, MatrixId, MemoryId, OpCode, Order, Residence, Side, Test, Ty,
    ValueId, Word,
};
use crate::quads::{check_place, check_quads};
use crate::strategy::{Shape, Tiles};
use crate::tiles::{At, Fill, beyond};
use crate::value::Known;
use lawson_graph::{DType, Dim, Result};
use lawson_kernel::{AccId, BufferId, Expr, ExprId, For, Kernel, Load, Node, Role, Store};
use std::collections::BTreeSet;

#[cfg(test)]
mod tests;

/// What is known of factors that are multiplied as matrices.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Matrices {
    /// For each factor, the buffer whose elements it is, where they are moved four at a time as they are.
    moved: [Option<BufferId>; 2],
    /// The buffers of floats of 16 bits that are read and written as those: the device converts them.
    pub(crate) halves: BTreeSet<BufferId>,
    /// Whether results are stored four at a time.
    fours: bool,
}

/// Fours that lie between two lines of a tile and hold nothing, so that lines begin in different banks.
const APART: u32 = 2;

/// Members of a subgroup: as many as there are halves of rows in a matrix.
const SUBGROUP: u32 = 32;

/// Tiles, the largest first, and how many of them keep a large device busy. On the device measured, larger ones than these wait longer for what
/// they fetch than they save.
const SHAPES: [(Shape, i64); 2] =
    [(together(Shape::new(64, 64, 32, 32, 32)), 64), (together(Shape::new(32, 32, 32, 16, 16)), 0)];

const fn together(shape: Shape) -> Shape {
    Shape { together: SUBGROUP, ..shape }
}

/// Fours from one line of a tile to the next, where neighbours of so many lie side by side.
const fn line(neighbours: u32) -> u32 {
    neighbours / 4 + APART
}

/// Bytes of workgroup memory of a tile, whichever way its factors lie, with room for one matrix of sums of each subgroup.
fn bytes(shape: Shape) -> u32 {
    let factor = |lines: u32| (line(shape.depth) * lines).max(line(lines) * shape.depth) * 2 * 8;
    factor(shape.rows) + factor(shape.columns) + shape.members() / SUBGROUP * MATRIX * MATRIX * 4
}

/// Whether a sum of products can be matrices: of floats of 16 bits, from zero on, on a device that has such matrices.
pub(crate) fn of(
    kernel: &Kernel,
    acc: AccId,
    factors: &[ExprId; 2],
    capabilities: &Capabilities,
) -> Option<Matrices> {
    let half =
        |f: &ExprId| matches!(kernel.expr(*f), Expr::Cast(of, DType::F32) if kernel.dtype(*of) == DType::F16);
    let zero =
        matches!(kernel.expr(kernel.acc(acc).state[0].init), Expr::Const(c) if c.as_f64() == Some(0.0));
    let has = capabilities.matrices && capabilities.subgroup == Some(SUBGROUP);
    (has && zero && factors.iter().all(half)).then(Matrices::default)
}

/// The shape of tiles, of which there are so many of each.
pub(crate) fn shape(capabilities: &Capabilities, count: &dyn Fn(&Shape) -> i64) -> Option<&'static Shape> {
    let fits =
        |s: Shape| bytes(s) <= capabilities.workgroup_memory && s.members() <= capabilities.max_members;
    let fitting = || SHAPES.iter().filter(|(s, _)| fits(*s));
    fitting().find(|(s, least)| count(s) >= *least).map(|(s, _)| s)
}

impl Matrices {
    /// Decides which buffers are read and written by fours. Neighbours of each factor lie along a loop; results along that over columns.
    pub(crate) fn choose(
        &mut self,
        kernel: &Kernel,
        (factors, dense): (&[ExprId; 2], &[&For]),
        (stores, columns): (&[Node], &For),
        capabilities: &Capabilities,
        quads: &mut BTreeSet<BufferId>,
    ) {
        let by_fours = |f: &For| f.plain_extent().is_some_and(|n| n % 4 == 0);
        for (factor, along) in factors.iter().zip(dense) {
            match by_fours(along) {
                true => check_quads(kernel, *factor, along.axis, quads),
                false => quads.retain(|b| !kernel.reads_of(*factor).contains(b)),
            }
        }
        self.fours = by_fours(columns);
        let whole = !quads.is_empty();
        for s in stores.iter().filter_map(stored) {
            match self.fours {
                true => check_quads(kernel, s.value, columns.axis, quads),
                false => quads.retain(|b| !kernel.reads_of(s.value).contains(b)),
            }
        }
        // Outputs by fours where inputs are: both ask that buffers are given whole.
        if self.fours && whole {
            let outputs = kernel.arguments().filter(|b| kernel.buffer(*b).role == Role::Output);
            quads.extend(outputs.filter(|b| !matches!(kernel.buffer(*b).dtype, DType::I64 | DType::U64)));
            for s in stores.iter().filter_map(stored) {
                check_place(kernel, s.buffer, &s.index, columns.axis, quads);
            }
        }
        let half = |b: &BufferId| kernel.buffer(*b).dtype == DType::F16 && quads.contains(b);
        self.moved = factors.map(|f| plain(kernel, f).map(|l| l.buffer).filter(half));
        self.halves = match capabilities.halves {
            true => quads.iter().copied().filter(half).collect(),
            // What is only moved is not converted.
            false => {
                let stores = stores.iter().filter_map(stored).map(|s| s.value);
                let computed = stores.chain((0..2).filter(|n| self.moved[*n].is_none()).map(|n| factors[n]));
                let read: BTreeSet<BufferId> = computed.flat_map(|e| kernel.reads_of(e)).collect();
                self.moved.into_iter().flatten().filter(|b| !read.contains(b)).collect()
            }
        };
        self.moved = self.moved.map(|b| b.filter(|b| self.halves.contains(b)));
    }
}

fn stored(node: &Node) -> Option<&Store> {
    match node {
        Node::Store(s) => Some(s),
        _ => None,
    }
}

/// The element of a buffer that a factor is, with nothing done to it.
fn plain(kernel: &Kernel, factor: ExprId) -> Option<&Load> {
    let Expr::Cast(of, _) = kernel.expr(factor) else { return None };
    match kernel.expr(*of) {
        Expr::Load(load) if load.guard.is_none() => Some(load),
        _ => None,
    }
}

impl Tiles {
    /// Fours from one line of a factor's memory to the next.
    pub(crate) fn matrix_line(&self, side: usize) -> u32 {
        let lines = if side == 0 { self.shape.rows } else { self.shape.columns };
        line(if self.along_sum[side] { self.shape.depth } else { lines })
    }

    /// Where four neighbours of a factor begin in a half of its memory, of a line and a place of the sum, of which one is a multiple of four.
    fn place(&self, side: usize, half: &Word, at_line: Word, at_sum: Word) -> Word {
        let apart = i64::from(self.matrix_line(side));
        let lines = if side == 0 { self.shape.rows } else { self.shape.columns };
        let (slow, fast, count) = match self.along_sum[side] {
            true => (at_line, at_sum, lines),
            false => (at_sum, at_line, self.shape.depth),
        };
        let begin = half.clone().times(apart * i64::from(count));
        slow.times(apart).plus(fast.split(4).1).plus(begin)
    }
}

impl Lower<'_> {
    /// The sums of a subgroup, row by row.
    pub(crate) fn sum_matrices(&mut self, shape: Shape) -> Vec<MatrixId> {
        let count = shape.own_rows / MATRIX * (shape.own_columns / MATRIX);
        let declare = |_| {
            let matrix = self.emit.matrix();
            self.emit.codes.push(OpCode::Matrix(matrix));
            matrix
        };
        (0..count).map(declare).collect()
    }

    /// A member fetches its share of a part of a factor, four neighbours at a time; zeros where there are none.
    pub(crate) fn fetch_halves(&mut self, fill: &Fill<'_>, part: &Word, vars: &[HalvesId]) -> Result<()> {
        for (turn, halves) in vars.iter().enumerate() {
            let [k, unit] = self.begin_unit(fill, turn as u32);
            let line = fill.first.clone().plus(unit.times(i64::from(fill.wide())));
            self.fetch_four(fill, line, part.clone().plus(k), *halves)?;
            self.end_unit(fill);
        }
        Ok(())
    }

    fn fetch_four(&mut self, fill: &Fill<'_>, line: Word, sum_at: Word, halves: HalvesId) -> Result<()> {
        let (tiles, side) = (fill.tiles, fill.side);
        let factor = tiles.factors[side];
        let set = |to: Halves| OpCode::SetHalves { halves, to };
        if !tiles.fours[side] {
            let mut values = [ValueId(0); 4];
            for (n, value) in (0..).zip(&mut values) {
                let next = Word::Const(n);
                *value = match tiles.along_sum[side] {
                    true => self.element(fill, line.clone(), sum_at.clone().plus(next))?,
                    false => self.element(fill, line.clone().plus(next), sum_at.clone())?,
                };
            }
            self.emit.codes.push(set(Halves::Values(values)));
            return Ok(());
        }
        let inside = beyond([(&line, fill.line_end, fill.lines), (&sum_at, fill.sum_end, tiles.shape.depth)]);
        let guarded = !inside.is_empty();
        if guarded {
            self.emit.codes.push(set(Halves::Zeros));
            self.emit.codes.push(OpCode::Guard(Test::Within(inside)));
        }
        let moved = tiles.matrices.as_ref().and_then(|m| m.moved[side]);
        let to = match plain(self.kernel, factor).filter(|_| moved.is_some()) {
            Some(load) => {
                let fixed = [(fill.axis, line), (tiles.k, sum_at)];
                let at = self.at_axes(fixed, |l| l.place(load.buffer, &load.index))?;
                Halves::At(MemoryId(load.buffer.0), at.split(4).1)
            }
            None => {
                let ((along, first), still) = match tiles.along_sum[side] {
                    true => ((tiles.k, sum_at), (fill.axis, line)),
                    false => ((fill.axis, line), (tiles.k, sum_at)),
                };
                self.kept.clear();
                let mut values = [ValueId(0); 4];
                for (number, value) in values.iter_mut().enumerate() {
                    *value = self.value_at_part(factor, (along, &first, number), still.clone())?;
                }
                self.kept.clear();
                Halves::Values(values)
            }
        };
        self.emit.codes.push(set(to));
        if guarded {
            self.emit.codes.push(OpCode::EndGuard);
        }
        Ok(())
    }

    /// A member puts what it fetched into a half of the tile's memory.
    pub(crate) fn put_halves(&mut self, fill: &Fill<'_>, half: &Word, vars: &[HalvesId]) {
        for (turn, halves) in vars.iter().enumerate() {
            let [k, unit] = self.begin_unit(fill, turn as u32);
            let line = unit.times(i64::from(fill.wide()));
            let at = fill.tiles.place(fill.side, half, line, k);
            self.emit.codes.push(OpCode::StoreHalves { memory: fill.memory, at, halves: *halves });
            self.end_unit(fill);
        }
    }

    /// A subgroup steps its sums by a part of the factors.
    pub(crate) fn step_matrices(
        &mut self,
        tiles: &Tiles,
        at: &At,
        memories: &[MemoryId; 2],
        half: &Word,
        sums: &[MatrixId],
    ) {
        let shape = tiles.shape;
        let sides = [(Side::Left, &at.row, shape.own_rows), (Side::Right, &at.column, shape.own_columns)];
        for k in (0..shape.depth).step_by(MATRIX as usize) {
            let mut factors = [Vec::new(), Vec::new()];
            for (n, (side, block, own)) in sides.into_iter().enumerate() {
                let first = block.clone().times(i64::from(own));
                let rows = (side == Side::Left) == tiles.along_sum[n];
                let order = if rows { Order::Rows } else { Order::Columns };
                for number in (0..own).step_by(MATRIX as usize) {
                    let matrix = self.emit.matrix();
                    let line = first.clone().plus(Word::Const(i64::from(number)));
                    let at = tiles.place(n, half, line, Word::Const(i64::from(k)));
                    let (memory, line) = (memories[n], tiles.matrix_line(n));
                    self.emit.codes.push(OpCode::LoadMatrix { matrix, side, memory, at, line, order });
                    factors[n].push(matrix);
                }
            }
            let [rows, columns] = &factors;
            for (i, a) in rows.iter().enumerate() {
                for (j, b) in columns.iter().enumerate() {
                    let sums = sums[i * columns.len() + j];
                    self.emit.codes.push(OpCode::StepMatrix { sums, factors: [*a, *b] });
                }
            }
        }
    }

    /// Stores what becomes of the sums: a subgroup puts one matrix after another into memory, and its members take fours of it.
    pub(crate) fn finish_matrices(
        &mut self,
        tiles: &Tiles,
        stores: &[Node],
        at: &At,
        ends: [Word; 2],
        sums: &[MatrixId],
    ) -> Result<()> {
        let shape = tiles.shape;
        let memory = self.pseudo_memory();
        let quads = MATRIX * MATRIX / 4;
        let (name, size) =
            (format!("sums_{}", memory.0), Dim::from(i64::from(shape.members() / SUBGROUP * quads)));
        self.declared.push(OpCode::Scratch { memory, name, ty: Ty::F32, size, place: Residence::Quads });
        let (member, subgroup) = Word::Lane.split(i64::from(SUBGROUP));
        let begin = subgroup.times(i64::from(quads));
        let across = shape.own_columns / MATRIX;
        for (n, sums) in (0..).zip(sums) {
            let place = begin.clone();
            self.emit.codes.push(OpCode::StoreMatrix { memory, at: place, sums: *sums });
            self.emit.codes.push(OpCode::Barrier);
            let first = |tile: &Word, block: &Word, own: u32, number: u32| {
                let inside =
                    block.clone().times(i64::from(own)).plus(Word::Const(i64::from(number * MATRIX)));
                tile.clone().plus(inside)
            };
            let row = first(&at.rows, &at.row, shape.own_rows, n / across);
            let column = first(&at.columns, &at.column, shape.own_columns, n % across);
            for turn in 0..quads / SUBGROUP {
                let number = member.clone().plus(Word::Const(i64::from(turn * SUBGROUP)));
                let values = self.emit.quad(memory, begin.clone().plus(number.clone()));
                let (four, line) = number.split(i64::from(MATRIX / 4));
                let here = [row.clone().plus(line), column.clone().plus(four.times(4))];
                self.store_fours(tiles, stores, here, &ends, values)?;
            }
            self.emit.codes.push(OpCode::Barrier);
        }
        Ok(())
    }

    /// Stores what becomes of four sums that are neighbours in a row, if row and columns have not ended.
    fn store_fours(
        &mut self,
        tiles: &Tiles,
        stores: &[Node],
        [row, column]: [Word; 2],
        ends: &[Word; 2],
        sums: [ValueId; 4],
    ) -> Result<()> {
        let vars = sums.map(|value| self.emit.var(Ty::F32, value));
        if !tiles.matrices.as_ref().is_some_and(|m| m.fours) {
            for (n, var) in (0..).zip(vars) {
                let column = column.clone().plus(Word::Const(n));
                self.store_sum(tiles, stores, [row.clone(), column], ends, var)?;
            }
            return Ok(());
        }
        let shape = tiles.shape;
        let inside = beyond([(&row, &ends[0], shape.rows), (&column, &ends[1], shape.columns)]);
        let guarded = !inside.is_empty();
        if guarded {
            self.emit.codes.push(OpCode::Guard(Test::Within(inside)));
        }
        self.kept.clear();
        self.parameters.fixed.insert(tiles.m, row);
        for s in stores.iter().filter_map(stored) {
            let mut values = Vec::with_capacity(4);
            for (number, var) in vars.into_iter().enumerate() {
                self.results[tiles.acc.0 as usize] = Some(vec![(var, Ty::F32)]);
                self.at_part(tiles.n, &column, number);
                values.push(self.value(s.value, &mut Known::new())?);
            }
            self.store_four(tiles.n, &column, s, &values)?;
        }
        self.results[tiles.acc.0 as usize] = None;
        self.leave_part(tiles.n);
        self.parameters.fixed.remove(&tiles.m);
        self.kept.clear();
        if guarded {
            self.emit.codes.push(OpCode::EndGuard);
        }
        Ok(())
    }
}
