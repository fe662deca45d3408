//! Sums of products by tiles: a workgroup keeps a tile of both factors in its memory, each member a part of the sums in registers.
//!
//! ```text
//! the members fetch the first part of both factors, four numbers at a time, zero where rows, columns or the sum end, and put it into
//! one half of two memories; barrier
//! for every part of the sum:
//!   the members fetch the next part
//!   for every k of the part: a member loads its rows' and columns' numbers, and steps its sums
//!   the members put what they fetched into the other half; barrier
//! a member stores what becomes of its sums, where rows and columns have not ended
//! ```
//!
//! Where there are few tiles, members also share the sums: each steps by every so many-th k of a part, and in the end the shares meet in
//! workgroup memory.
//!
//! Where subgroups multiply matrices, a part of the sums is a subgroup's and what is fetched are floats of 16 bits (`matrices.rs`).
//!
//! The factors may be any expressions: they are computed when a tile is filled. What is done with a sum is part of the same launch.

use crate::lower::{Lower, refused};
use crate::opcode::{
    By, Four, HalvesId, Literal, MatrixId, MemoryId, Op, OpCode, QuadId, Residence, Span, Test, Ty, ValueId,
    VarId, Word,
};
use crate::strategy::{Shape, Tiles};
use crate::value::Known;
use lawson_graph::{Dim, Result};
use lawson_kernel::{AxisId, For, Node};

/// What a member is, and where its tile begins.
pub(crate) struct At {
    /// Where the tile begins.
    pub(crate) rows: Word,
    pub(crate) columns: Word,
    /// Which of the tile's parts a member has.
    pub(crate) row: Word,
    pub(crate) column: Word,
    /// Which share of the sum a member has.
    pub(crate) share: Word,
}

/// The places that may lie beyond an end: those of tiles of so many, of which the end is no multiple.
pub(crate) fn beyond<const N: usize>(places: [(&Word, &Word, u32); N]) -> Vec<(Word, Word)> {
    let whole = |end: &Word, of: u32| matches!(end, Word::Const(c) if c % i64::from(of) == 0);
    let open = places.into_iter().filter(|(_, end, of)| !whole(end, *of));
    open.map(|(at, end, _)| (at.clone(), end.clone())).collect()
}

impl Lower<'_> {
    /// The spans of a launch by tiles: those of the loops, in which rows and columns go by tiles.
    pub(crate) fn tile_spans(&mut self, tiles: &Tiles, spans: Vec<Span>) -> (Vec<Span>, [AxisId; 2]) {
        let begins = [self.pseudo_axis("rows"), self.pseudo_axis("columns")];
        let by = |span: Span| match span.axis {
            a if a == tiles.m => Span { axis: begins[0], step: i64::from(tiles.shape.rows), ..span },
            a if a == tiles.n => Span { axis: begins[1], step: i64::from(tiles.shape.columns), ..span },
            _ => span,
        };
        (spans.into_iter().map(by).collect(), begins)
    }

    /// A tile.
    pub(crate) fn tile(
        &mut self,
        tiles: &Tiles,
        begins: [AxisId; 2],
        chain: &[&For],
        inner: &[Node],
    ) -> Result<()> {
        let shape = tiles.shape;
        let [Node::Accumulate { body, .. }, stores @ ..] = inner else {
            return Err(refused(self.kernel, "a tile of what is no sum"));
        };
        let end = |f: Option<&&For>| f.and_then(|f| f.end.as_dim().cloned());
        let ends = [tiles.m, tiles.n].map(|a| end(chain.iter().find(|f| f.axis == a)));
        let [Some(rows_end), Some(columns_end)] = ends else {
            return Err(refused(self.kernel, "a tile without end"));
        };
        let (rows_end, columns_end) = (self.parameters.dim(&rows_end), self.parameters.dim(&columns_end));
        let across = i64::from(shape.columns / shape.own_columns);
        let (own, share) = match (shape.shares, shape.together) {
            (1, 1) => (Word::Lane, Word::Const(0)),
            (1, together) => (Word::Lane.split(i64::from(together)).1, Word::Const(0)),
            _ => Word::Lane.split(i64::from(shape.members_of_share())),
        };
        let (column, row) = own.split(across);
        let at = At { rows: Word::Axis(begins[0]), columns: Word::Axis(begins[1]), row, column, share };
        let memories = [0, 1].map(|side| {
            let (memory, quads) = (self.pseudo_memory(), 2 * tiles.half(side));
            let (name, size) = (format!("tile_{}", memory.0), Dim::from(i64::from(quads)));
            let place = if tiles.matrices.is_some() { Residence::Halves } else { Residence::Quads };
            self.declared.push(OpCode::Scratch { memory, name, ty: Ty::F32, size, place });
            memory
        });
        let sums = self.sums(tiles)?;
        self.parts(tiles, body, &at, &memories, [&rows_end, &columns_end], &sums)?;
        let ends = [rows_end, columns_end];
        match (&sums, shape.shares) {
            (Sums::Matrices(sums), _) => self.finish_matrices(tiles, stores, &at, ends, sums),
            (Sums::Quads(sums), 1) => self.finish(tiles, stores, &at, ends, sums),
            (Sums::Quads(sums), _) => self.meet(tiles, stores, &at, ends, sums),
        }
    }

    /// The sums of a member, by four columns, row by row: from the first value of the accumulator on, which depends on no loop, or from nothing on where that is
    /// added when shares meet.
    fn sums(&mut self, tiles: &Tiles) -> Result<Sums> {
        if tiles.matrices.is_some() {
            return Ok(Sums::Matrices(self.sum_matrices(tiles.shape)));
        }
        let of = self.kernel.acc(tiles.acc);
        let init = match (&of.merge, tiles.shape.shares) {
            (Some(merge), 2..) => {
                let literal = self.literal(merge.identity[0])?;
                self.emit.literal(literal)
            }
            _ => self.value(of.state[0].init, &mut Known::new())?,
        };
        let count = tiles.shape.own_rows * tiles.shape.own_columns / 4;
        Ok(Sums::Quads((0..count).map(|_| self.emit.quad_var(init)).collect()))
    }

    /// Goes through the sum.
    fn parts(
        &mut self,
        tiles: &Tiles,
        nodes: &[Node],
        at: &At,
        memories: &[MemoryId; 2],
        ends: [&Word; 2],
        sums: &Sums,
    ) -> Result<()> {
        let [Node::For(f)] = nodes else { return Err(refused(self.kernel, "a sum that is no loop")) };
        if f.axis != tiles.k {
            if let Some(left) = self.open(f, By::Member)? {
                self.parts(tiles, &f.body, at, memories, ends, sums)?;
                self.close(left);
            }
            return Ok(());
        }
        let shape = tiles.shape;
        let end = self.parameters.word(&self.scope, &f.end);
        let part = self.pseudo_axis("part");
        let (begin, step) = (Word::Const(0), i64::from(shape.depth));
        let left = self.scope.enter(f);
        let sides = [(0, tiles.m, shape.rows, &at.rows), (1, tiles.n, shape.columns, &at.columns)];
        let fills = sides.map(|(side, axis, lines, first)| {
            let (memory, line_end) = (memories[side], ends[side]);
            Fill { tiles, side, axis, lines, first, sum_end: &end, line_end, memory }
        });
        // What comes next is on its way while what is there is summed, and then goes into the other half of the memory.
        let mut fetched = Vec::new();
        for fill in &fills {
            let vars = self.fetched(fill);
            self.fetch(fill, &Word::Const(0), &vars)?;
            self.put(fill, &Word::Const(0), &vars);
            fetched.push(vars);
        }
        self.emit.codes.push(OpCode::Barrier);
        let half = |part: Word| part.split(step).1.split(2).0;
        let next = Word::Axis(part).plus(Word::Const(step));
        let more = OpCode::Guard(Test::Within(vec![(next.clone(), end.clone())]));
        let here = half(Word::Axis(part));
        let other = Word::Const(1).plus(here.clone().times(-1));
        match sums {
            Sums::Quads(sums) => {
                let end = end.clone();
                self.emit.codes.push(OpCode::Loop { axis: part, begin, end, step, by: By::Member });
                self.emit.codes.push(more.clone());
                self.fetch_all(&fills, &next, &fetched)?;
                self.emit.codes.push(OpCode::EndGuard);
                self.steps(tiles, at, memories, &here, sums);
                self.emit.codes.push(more);
                self.put_all(&fills, &other, &fetched);
                self.emit.codes.push(OpCode::EndGuard);
                self.emit.codes.push(OpCode::Barrier);
                self.emit.codes.push(OpCode::EndLoop);
            }
            // Without a condition on the way what is fetched is there when the products are; the last part stands by itself.
            Sums::Matrices(sums) => {
                let last = end.clone().plus(Word::Const(-1)).split(step).1.times(step);
                let end = end.clone().plus(Word::Const(-step));
                self.emit.codes.push(OpCode::Loop { axis: part, begin, end, step, by: By::Member });
                self.fetch_all(&fills, &next, &fetched)?;
                self.step_matrices(tiles, at, memories, &here, sums);
                self.put_all(&fills, &other, &fetched);
                self.emit.codes.push(OpCode::Barrier);
                self.emit.codes.push(OpCode::EndLoop);
                self.step_matrices(tiles, at, memories, &half(last), sums);
                // Outer loops of the sum begin anew.
                self.emit.codes.push(OpCode::Barrier);
            }
        }
        self.scope.leave(left);
        Ok(())
    }

    fn fetch_all(&mut self, fills: &[Fill<'_>; 2], part: &Word, vars: &[Fetched]) -> Result<()> {
        fills.iter().zip(vars).try_for_each(|(fill, vars)| self.fetch(fill, part, vars))
    }

    fn put_all(&mut self, fills: &[Fill<'_>; 2], half: &Word, vars: &[Fetched]) {
        fills.iter().zip(vars).for_each(|(fill, vars)| self.put(fill, half, vars));
    }

    /// Variables for what a member fetches of a factor: quads of four lines, at one place of the sum or at four.
    fn fetched(&mut self, fill: &Fill<'_>) -> Fetched {
        if fill.tiles.matrices.is_some() {
            return Fetched::Halves((0..fill.turns()).map(|_| self.emit.halves()).collect());
        }
        let zero = self.emit.literal(Literal::F32(0));
        let quads =
            (0..fill.turns()).map(|_| (0..fill.deep()).map(|_| self.emit.quad_var(zero)).collect()).collect();
        Fetched::Quads(quads)
    }

    /// A member fetches its share of a part of a factor.
    fn fetch(&mut self, fill: &Fill<'_>, part: &Word, vars: &Fetched) -> Result<()> {
        let vars = match vars {
            Fetched::Quads(vars) => vars,
            Fetched::Halves(vars) => return self.fetch_halves(fill, part, vars),
        };
        for (turn, vars) in vars.iter().enumerate() {
            let [k, quad] = self.begin_unit(fill, turn as u32);
            let (first, line) = (part.clone().plus(k), fill.first.clone().plus(quad.times(4)));
            match fill.tiles.fours[fill.side] {
                true => self.fetch_by_fours(fill, &line, &first, vars)?,
                false => {
                    let mut lines = [0; 4].map(ValueId);
                    for (n, value) in (0..).zip(&mut lines) {
                        *value = self.element(fill, line.clone().plus(Word::Const(n)), first.clone())?;
                    }
                    self.emit.codes.push(OpCode::SetQuad { quad: vars[0], to: Four::Values(lines) });
                }
            }
            self.end_unit(fill);
        }
        Ok(())
    }

    /// Fetches four lines at one place of the sum, or at four, by vectors: along the lines or along the sum. Where there are none, zeros.
    fn fetch_by_fours(&mut self, fill: &Fill<'_>, line: &Word, first: &Word, vars: &[QuadId]) -> Result<()> {
        let (tiles, depth) = (fill.tiles, fill.tiles.shape.depth);
        let inside = beyond([(line, fill.line_end, fill.lines), (first, fill.sum_end, depth)]);
        let guarded = !inside.is_empty();
        if guarded {
            let zeros = Four::Values([self.emit.literal(Literal::F32(0)); 4]);
            self.emit.codes.extend(vars.iter().map(|quad| OpCode::SetQuad { quad: *quad, to: zeros }));
            self.emit.codes.push(OpCode::Guard(Test::Within(inside)));
        }
        let along_sum = tiles.along_sum[fill.side];
        self.kept.clear();
        for (k, quad) in vars.iter().enumerate() {
            let mut lines = [0; 4].map(ValueId);
            for (n, value) in lines.iter_mut().enumerate() {
                let (moving, still) = match along_sum {
                    true => ((tiles.k, first, k), (fill.axis, line.clone().plus(Word::Const(n as i64)))),
                    false => ((fill.axis, line, n), (tiles.k, first.clone())),
                };
                *value = self.value_at_part(tiles.factors[fill.side], moving, still)?;
            }
            self.emit.codes.push(OpCode::SetQuad { quad: *quad, to: Four::Values(lines) });
        }
        self.kept.clear();
        if guarded {
            self.emit.codes.push(OpCode::EndGuard);
        }
        Ok(())
    }

    /// A member puts what it fetched into a half of the tile's memory.
    fn put(&mut self, fill: &Fill<'_>, half: &Word, vars: &Fetched) {
        let vars = match vars {
            Fetched::Quads(vars) => vars,
            Fetched::Halves(vars) => return self.put_halves(fill, half, vars),
        };
        for (turn, vars) in vars.iter().enumerate() {
            let [k, quad] = self.begin_unit(fill, turn as u32);
            let line = i64::from(Shape::line(fill.lines));
            for (n, quad_var) in (0..).zip(vars) {
                let at = k.clone().plus(Word::Const(n)).times(line).plus(quad.clone());
                let at = at.plus(fill.tiles.shape.half(half, fill.lines));
                let values = Four::Quad(*quad_var);
                self.emit.codes.push(OpCode::StoreQuad { memory: fill.memory, at, values });
            }
            self.end_unit(fill);
        }
    }

    /// Begins a block for what a member fetches at once: its first place in the part of the sum, and which of such numbers of lines
    /// it is.
    pub(crate) fn begin_unit(&mut self, fill: &Fill<'_>, turn: u32) -> [Word; 2] {
        let shape = fill.tiles.shape;
        let number = Word::Lane.plus(Word::Const(i64::from(turn * shape.members())));
        // Neighbouring members take neighbours in memory.
        let along_sum = fill.tiles.along_sum[fill.side];
        let inner = if along_sum { shape.depth / fill.deep() } else { fill.lines / fill.wide() };
        let (fast, slow) = number.split(i64::from(inner));
        let (k, quad) = if along_sum { (fast, slow) } else { (slow, fast) };
        self.emit.codes.push(OpCode::Block);
        let (k_axis, quad_axis) = (self.pseudo_axis("k"), self.pseudo_axis("quad"));
        self.emit.codes.push(OpCode::Axis { axis: k_axis, value: k.times(i64::from(fill.deep())) });
        self.emit.codes.push(OpCode::Axis { axis: quad_axis, value: quad });
        if fill.is_shared_unevenly() {
            let inside = (number, Word::Const(i64::from(fill.units())));
            self.emit.codes.push(OpCode::Guard(Test::Within(vec![inside])));
        }
        [Word::Axis(k_axis), Word::Axis(quad_axis)]
    }

    pub(crate) fn end_unit(&mut self, fill: &Fill<'_>) {
        if fill.is_shared_unevenly() {
            self.emit.codes.push(OpCode::EndGuard);
        }
        self.emit.codes.push(OpCode::EndBlock);
    }

    /// A number of a factor, or zero where there is none.
    pub(crate) fn element(&mut self, fill: &Fill<'_>, line: Word, sum_at: Word) -> Result<ValueId> {
        let depth = fill.tiles.shape.depth;
        let lines = (&line, fill.line_end, fill.lines);
        let inside = beyond([lines, (&sum_at, fill.sum_end, depth)]);
        let factor = fill.tiles.factors[fill.side];
        let fixed = [(fill.axis, line), (fill.tiles.k, sum_at)];
        if inside.is_empty() {
            return self.at_axes(fixed, |l| l.value(factor, &mut Known::new()));
        }
        let zero = self.emit.literal(Literal::F32(0));
        let var = self.emit.var(Ty::F32, zero);
        self.emit.codes.push(OpCode::Guard(Test::Within(inside)));
        let value = self.at_axes(fixed, |l| l.value(factor, &mut Known::new()))?;
        self.emit.codes.push(OpCode::Set { var, value });
        self.emit.codes.push(OpCode::EndGuard);
        Ok(self.emit.define(Ty::F32, Op::Get(var)))
    }

    /// What is written where two axes have these values.
    pub(crate) fn at_axes<T>(
        &mut self,
        fixed: [(AxisId, Word); 2],
        write: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let axes = [fixed[0].0, fixed[1].0];
        self.parameters.fixed.extend(fixed);
        let written = write(self);
        axes.iter().for_each(|a| {
            self.parameters.fixed.remove(a);
        });
        written
    }

    /// Steps all sums of a member by all places of the tiles.
    fn steps(&mut self, tiles: &Tiles, at: &At, memories: &[MemoryId; 2], half: &Word, sums: &[QuadId]) {
        let shape = tiles.shape;
        let k = self.pseudo_axis("k");
        let end = Word::Const(i64::from(shape.depth));
        // Written one after another, loads run ahead of what is summed; a loop would end at each place.
        let unroll = if shape.shares > 1 { 1 } else { i64::from(shape.depth) };
        let step = i64::from(shape.shares) * unroll;
        self.emit.codes.push(OpCode::Loop { axis: k, begin: at.share.clone(), end, step, by: By::Member });
        let sides = [(shape.rows, shape.own_rows, &at.row), (shape.columns, shape.own_columns, &at.column)];
        for u in 0..unroll {
            let [rows, columns] = sides.map(|(lines, own, member)| {
                let quads = (0..own / 4).map(|quad| {
                    let place = member.clone().plus(Word::Const(i64::from(quad * lines / own)));
                    let k = Word::Axis(k).plus(Word::Const(u));
                    k.times(i64::from(Shape::line(lines))).plus(place).plus(shape.half(half, lines))
                });
                quads.collect::<Vec<Word>>()
            });
            let rows: Vec<ValueId> =
                rows.into_iter().flat_map(|at| self.emit.quad(memories[0], at)).collect();
            let columns: Vec<[ValueId; 4]> =
                columns.into_iter().map(|at| self.emit.quad(memories[1], at)).collect();
            for (i, by) in rows.iter().enumerate() {
                for (j, of) in columns.iter().enumerate() {
                    let (sum, of) = (sums[i * columns.len() + j], Four::Values(*of));
                    self.emit.codes.push(OpCode::StepQuad { sum, by: *by, of });
                }
            }
        }
        self.emit.codes.push(OpCode::EndLoop);
    }

    /// Adds up the shares of the sums, and stores what becomes of them: neighbouring members store neighbours.
    fn meet(
        &mut self,
        tiles: &Tiles,
        stores: &[Node],
        at: &At,
        ends: [Word; 2],
        sums: &[QuadId],
    ) -> Result<()> {
        let shape = tiles.shape;
        let of = self.kernel.acc(tiles.acc);
        let Some(merge) = &of.merge else {
            return Err(refused(self.kernel, format!("`{}` goes in order", of.name)));
        };
        let memory = self.pseudo_memory();
        let (name, size) = (format!("shares_{}", memory.0), Dim::from(i64::from(shape.partial())));
        self.declared.push(OpCode::Scratch { memory, name, ty: Ty::F32, size, place: Residence::Workgroup });
        let (columns, all) = (i64::from(shape.columns), i64::from(shape.rows * shape.columns));
        for (n, quad) in sums.iter().enumerate() {
            let [row, column] = place(shape, at, n as u32);
            let here = at.share.clone().times(all).plus(row.times(columns).plus(column));
            for part in 0..4 {
                let value = self.emit.define(Ty::F32, Op::Part(*quad, part));
                let at = here.clone().plus(Word::Const(part as i64));
                self.emit.codes.push(OpCode::Store { memory, at, value });
            }
        }
        self.emit.codes.push(OpCode::Barrier);
        let members = i64::from(shape.members());
        for turn in 0..all / members {
            let number = Word::Lane.plus(Word::Const(turn * members));
            let init = self.value(of.state[0].init, &mut Known::new())?;
            let var = self.emit.var(Ty::F32, init);
            for share in 0..i64::from(shape.shares) {
                let there = number.clone().plus(Word::Const(share * all));
                let other = self.emit.define(Ty::F32, Op::Load(memory, there));
                self.merge_into(tiles.acc, merge, &[(var, Ty::F32)], &[other])?;
            }
            let (column, row) = number.split(columns);
            let [row, column] = [at.rows.clone().plus(row), at.columns.clone().plus(column)];
            self.store_sum(tiles, stores, [row, column], &ends, var)?;
        }
        Ok(())
    }

    /// Stores what becomes of the sums.
    fn finish(
        &mut self,
        tiles: &Tiles,
        stores: &[Node],
        at: &At,
        ends: [Word; 2],
        sums: &[QuadId],
    ) -> Result<()> {
        for (n, quad) in sums.iter().enumerate() {
            let [row, column] = place(tiles.shape, at, n as u32);
            let [row, column] = [at.rows.clone().plus(row), at.columns.clone().plus(column)];
            for (part, var) in (0..).zip(self.emit.parts(*quad)) {
                let column = column.clone().plus(Word::Const(part));
                self.store_sum(tiles, stores, [row.clone(), column], &ends, var)?;
            }
        }
        Ok(())
    }

    /// Stores what becomes of a sum, if its row and its column have not ended.
    pub(crate) fn store_sum(
        &mut self,
        tiles: &Tiles,
        stores: &[Node],
        [row, column]: [Word; 2],
        [rows_end, columns_end]: &[Word; 2],
        var: VarId,
    ) -> Result<()> {
        let shape = tiles.shape;
        let inside = beyond([(&row, rows_end, shape.rows), (&column, columns_end, shape.columns)]);
        let guarded = !inside.is_empty();
        if guarded {
            self.emit.codes.push(OpCode::Guard(Test::Within(inside)));
        }
        self.results[tiles.acc.0 as usize] = Some(vec![(var, Ty::F32)]);
        self.at_axes([(tiles.m, row), (tiles.n, column)], |l| l.block(stores))?;
        self.results[tiles.acc.0 as usize] = None;
        if guarded {
            self.emit.codes.push(OpCode::EndGuard);
        }
        Ok(())
    }
}

/// The row and the first column in the tile of four of a member's sums, by their number.
fn place(shape: Shape, at: &At, n: u32) -> [Word; 2] {
    let quads = shape.own_columns / 4;
    let (i, j) = (n / quads, n % quads);
    let first = |member: &Word, lines: u32, own: u32, quad: u32| {
        member.clone().plus(Word::Const(i64::from(quad * (lines / own)))).times(4)
    };
    let row = first(&at.row, shape.rows, shape.own_rows, i / 4);
    [row.plus(Word::Const(i64::from(i % 4))), first(&at.column, shape.columns, shape.own_columns, j)]
}

/// How the tile of a factor is filled.
pub(crate) struct Fill<'t> {
    pub(crate) tiles: &'t Tiles,
    pub(crate) side: usize,
    /// The loop over its lines, rows or columns; how many there are, and the first.
    pub(crate) axis: AxisId,
    pub(crate) lines: u32,
    pub(crate) first: &'t Word,
    pub(crate) sum_end: &'t Word,
    pub(crate) line_end: &'t Word,
    pub(crate) memory: MemoryId,
}

impl Fill<'_> {
    /// At how many places of the sum a member fetches at once.
    pub(crate) fn deep(&self) -> u32 {
        if self.tiles.matrices.is_some() {
            return if self.tiles.along_sum[self.side] { 4 } else { 1 };
        }
        if self.tiles.fours[self.side] && self.tiles.along_sum[self.side] { 4 } else { 1 }
    }

    /// Of how many lines.
    pub(crate) fn wide(&self) -> u32 {
        if self.tiles.matrices.is_some() { 4 / self.deep() } else { 4 }
    }

    /// How many times a part of the factor has what a member fetches at once.
    fn units(&self) -> u32 {
        self.lines / self.wide() * (self.tiles.shape.depth / self.deep())
    }

    /// How many of them a member has.
    fn turns(&self) -> u32 {
        self.units().div_ceil(self.tiles.shape.members())
    }

    /// Whether some member has fewer than others.
    fn is_shared_unevenly(&self) -> bool {
        !self.units().is_multiple_of(self.tiles.shape.members())
    }
}

/// Variables for what a member fetches, by turns.
enum Fetched {
    /// Quads of lines.
    Quads(Vec<Vec<QuadId>>),
    Halves(Vec<HalvesId>),
}

/// The sums of a member, or those that it has with others.
enum Sums {
    Quads(Vec<QuadId>),
    Matrices(Vec<MatrixId>),
}

impl Tiles {
    /// Fours of a part of a factor in workgroup memory.
    fn half(&self, side: usize) -> u32 {
        let lines = if side == 0 { self.shape.rows } else { self.shape.columns };
        match self.matrices {
            Some(_) => self.matrix_line(side) * if self.along_sum[side] { lines } else { self.shape.depth },
            None => Shape::line(lines) * self.shape.depth,
        }
    }
}
