//! Sums of products by tiles: a workgroup keeps a tile of both factors in its memory, each member a part of the sums in registers.
//!
//! ```text
//! for every part of the sum:
//!   the members fill the two tiles, four numbers at a time, zero where rows, columns or the sum end; barrier
//!   for every k of the part: a member loads its rows' and columns' numbers, and steps its sums; barrier
//! a member stores what becomes of its sums, where rows and columns have not ended
//! ```
//!
//! The factors may be any expressions: they are computed when a tile is filled. What is done with a sum is part of the same launch.

use crate::lower::{Lower, refused};
use crate::opcode::{
    By, Literal, MemoryId, Op, OpCode, Residence, Sign, Span, Test, Ty, ValueId, VarId, Word,
};
use crate::strategy::{Shape, Tiles};
use crate::value::Known;
use lawson_graph::{Dim, Result};
use lawson_kernel::{AxisId, For, Node};

/// What a member is, and where its tile begins.
struct At {
    /// Where the tile begins.
    rows: Word,
    columns: Word,
    /// Which of the tile's parts a member has.
    row: Word,
    column: Word,
}

fn times(a: Word, by: i64) -> Word {
    Word::Product(Box::new(a), Box::new(Word::Const(by)))
}

fn sum(a: Word, b: Word) -> Word {
    Word::Sum(vec![a, b])
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
        let at = At {
            rows: Word::Axis(begins[0]),
            columns: Word::Axis(begins[1]),
            row: Word::lane_over(across),
            column: Word::Mod(Box::new(Word::Lane), Box::new(Word::Const(across)), Sign::NonNegative),
        };
        let memories = [shape.rows, shape.columns].map(|lines| {
            let memory = self.pseudo_memory();
            let quads = i64::from(Shape::line(lines) * shape.depth);
            let (name, size) = (format!("tile_{}", memory.0), Dim::from(quads));
            self.declared.push(OpCode::Scratch { memory, name, ty: Ty::F32, size, place: Residence::Quads });
            memory
        });
        let vars = self.sums(tiles)?;
        self.parts(tiles, body, &at, &memories, [&rows_end, &columns_end], &vars)?;
        self.finish(tiles, stores, &at, [rows_end, columns_end], &vars)
    }

    /// The sums of a member, row by row, with the first value of the accumulator, which depends on no loop.
    fn sums(&mut self, tiles: &Tiles) -> Result<Vec<VarId>> {
        let init = self.kernel.acc(tiles.acc).state[0].init;
        let init = self.value(init, &mut Known::new())?;
        let count = tiles.shape.own_rows * tiles.shape.own_columns;
        Ok((0..count).map(|_| self.emit.var(Ty::F32, init)).collect())
    }

    /// Goes through the sum.
    fn parts(
        &mut self,
        tiles: &Tiles,
        nodes: &[Node],
        at: &At,
        memories: &[MemoryId; 2],
        ends: [&Word; 2],
        vars: &[VarId],
    ) -> Result<()> {
        let [Node::For(f)] = nodes else { return Err(refused(self.kernel, "a sum that is no loop")) };
        if f.axis != tiles.k {
            if let Some(left) = self.open(f, By::Member)? {
                self.parts(tiles, &f.body, at, memories, ends, vars)?;
                self.close(left);
            }
            return Ok(());
        }
        let shape = tiles.shape;
        let end = self.parameters.word(&self.scope, &f.end);
        let part = self.pseudo_axis("part");
        let (begin, step) = (Word::Const(0), i64::from(shape.depth));
        self.emit.codes.push(OpCode::Loop { axis: part, begin, end: end.clone(), step, by: By::Member });
        let left = self.scope.enter(f);
        let sides = [(0, tiles.m, shape.rows, &at.rows), (1, tiles.n, shape.columns, &at.columns)];
        for (side, axis, lines, first) in sides {
            let fill = Fill { tiles, side, axis, lines, first, part, sum_end: &end, line_end: ends[side] };
            self.fill(&fill, memories[side])?;
        }
        self.emit.codes.push(OpCode::Barrier);
        self.steps(tiles, at, memories, vars)?;
        self.emit.codes.push(OpCode::Barrier);
        self.scope.leave(left);
        self.emit.codes.push(OpCode::EndLoop);
        Ok(())
    }

    /// The members fill the tile of a factor: quads of four lines at one place of the sum.
    fn fill(&mut self, fill: &Fill<'_>, memory: MemoryId) -> Result<()> {
        let shape = fill.tiles.shape;
        let (members, quads) = (shape.members(), fill.lines / 4);
        let count = quads * shape.depth;
        for turn in 0..count.div_ceil(members) {
            let number = sum(Word::Lane, Word::Const(i64::from(turn * members)));
            // Neighbouring members take neighbours in memory.
            let inner = if fill.tiles.along_sum[fill.side] { shape.depth } else { quads };
            let (fast, slow) = number.split(i64::from(inner));
            let (k, quad) = if fill.tiles.along_sum[fill.side] { (fast, slow) } else { (slow, fast) };
            let part_of = !count.is_multiple_of(members);
            self.emit.codes.push(OpCode::Block);
            let (k_axis, quad_axis) = (self.pseudo_axis("k"), self.pseudo_axis("quad"));
            self.emit.codes.push(OpCode::Axis { axis: k_axis, value: k });
            self.emit.codes.push(OpCode::Axis { axis: quad_axis, value: quad });
            if part_of {
                let inside = (number, Word::Const(i64::from(count)));
                self.emit.codes.push(OpCode::Guard(Test::Within(vec![inside])));
            }
            let sum_at = sum(Word::Axis(fill.part), Word::Axis(k_axis));
            let mut values = Vec::new();
            for line in 0..4 {
                let line = sum(times(Word::Axis(quad_axis), 4), Word::Const(line));
                let line = sum(fill.first.clone(), line);
                values.push(self.element(fill, line, sum_at.clone())?);
            }
            let quads = [values[0], values[1], values[2], values[3]];
            let line = i64::from(Shape::line(fill.lines));
            let place = sum(times(Word::Axis(k_axis), line), Word::Axis(quad_axis));
            self.emit.codes.push(OpCode::StoreQuad { memory, at: place, values: quads });
            if part_of {
                self.emit.codes.push(OpCode::EndGuard);
            }
            self.emit.codes.push(OpCode::EndBlock);
        }
        Ok(())
    }

    /// A number of a factor, or zero where there is none.
    fn element(&mut self, fill: &Fill<'_>, line: Word, sum_at: Word) -> Result<ValueId> {
        let shape = fill.tiles.shape;
        let mut inside = Vec::new();
        if !divides(fill.lines, fill.line_end) {
            inside.push((line.clone(), fill.line_end.clone()));
        }
        if !divides(shape.depth, fill.sum_end) {
            inside.push((sum_at.clone(), fill.sum_end.clone()));
        }
        let zero = self.emit.literal(Literal::F32(0));
        let var = self.emit.var(Ty::F32, zero);
        self.emit.codes.push(if inside.is_empty() {
            OpCode::Block
        } else {
            OpCode::Guard(Test::Within(inside))
        });
        self.emit.codes.push(OpCode::Axis { axis: fill.axis, value: line });
        self.emit.codes.push(OpCode::Axis { axis: fill.tiles.k, value: sum_at });
        let value = self.value(fill.tiles.factors[fill.side], &mut Known::new())?;
        self.emit.codes.push(OpCode::Set { var, value });
        self.emit.codes.push(OpCode::EndBlock);
        Ok(self.emit.define(Ty::F32, Op::Get(var)))
    }

    /// Steps all sums of a member by all places of the tiles.
    fn steps(&mut self, tiles: &Tiles, at: &At, memories: &[MemoryId; 2], vars: &[VarId]) -> Result<()> {
        let shape = tiles.shape;
        let k = self.pseudo_axis("k");
        let end = Word::Const(i64::from(shape.depth));
        self.emit.codes.push(OpCode::Loop { axis: k, begin: Word::Const(0), end, step: 1, by: By::Member });
        let sides = [(shape.rows, shape.own_rows, &at.row), (shape.columns, shape.own_columns, &at.column)];
        let mut numbers: [Vec<ValueId>; 2] = [Vec::new(), Vec::new()];
        for (side, (lines, own, member)) in sides.into_iter().enumerate() {
            for quad in 0..own / 4 {
                let place = sum(member.clone(), Word::Const(i64::from(quad * lines / own)));
                let place = sum(times(Word::Axis(k), i64::from(Shape::line(lines))), place);
                numbers[side].extend(self.emit.quad(memories[side], place));
            }
        }
        for (i, a) in numbers[0].iter().enumerate() {
            for (j, b) in numbers[1].iter().enumerate() {
                let var = vars[i * numbers[1].len() + j];
                let state = self.emit.define(Ty::F32, Op::Get(var));
                let mut known =
                    Known::from([(tiles.factors[0], *a), (tiles.factors[1], *b), (tiles.state, state)]);
                let value = self.value(tiles.step, &mut known)?;
                self.emit.codes.push(OpCode::Set { var, value });
            }
        }
        self.emit.codes.push(OpCode::EndLoop);
        Ok(())
    }

    /// Stores what becomes of the sums.
    fn finish(
        &mut self,
        tiles: &Tiles,
        stores: &[Node],
        at: &At,
        ends: [Word; 2],
        vars: &[VarId],
    ) -> Result<()> {
        let shape = tiles.shape;
        let [rows_end, columns_end] = ends;
        for (n, var) in vars.iter().enumerate() {
            let (i, j) = (n as u32 / shape.own_columns, n as u32 % shape.own_columns);
            let line = |first: &Word, member: &Word, lines: u32, own: u32, i: u32| {
                let quad = sum(member.clone(), Word::Const(i64::from(i / 4 * (lines / own))));
                sum(first.clone(), sum(times(quad, 4), Word::Const(i64::from(i % 4))))
            };
            let row = line(&at.rows, &at.row, shape.rows, shape.own_rows, i);
            let column = line(&at.columns, &at.column, shape.columns, shape.own_columns, j);
            let mut inside = Vec::new();
            if !divides(shape.rows, &rows_end) {
                inside.push((row.clone(), rows_end.clone()));
            }
            if !divides(shape.columns, &columns_end) {
                inside.push((column.clone(), columns_end.clone()));
            }
            let begin = if inside.is_empty() { OpCode::Block } else { OpCode::Guard(Test::Within(inside)) };
            self.emit.codes.push(begin);
            self.emit.codes.push(OpCode::Axis { axis: tiles.m, value: row });
            self.emit.codes.push(OpCode::Axis { axis: tiles.n, value: column });
            self.results[tiles.acc.0 as usize] = Some(vec![(*var, Ty::F32)]);
            self.block(stores)?;
            self.emit.codes.push(OpCode::EndBlock);
        }
        self.results[tiles.acc.0 as usize] = None;
        Ok(())
    }
}

/// Whether tiles of so many lines, or parts of a sum, end where all lines do.
fn divides(lines: u32, end: &Word) -> bool {
    matches!(end, Word::Const(end) if end % i64::from(lines) == 0)
}

/// How the tile of a factor is filled.
struct Fill<'t> {
    tiles: &'t Tiles,
    side: usize,
    /// The loop over its lines, rows or columns; how many there are, and the first.
    axis: AxisId,
    lines: u32,
    first: &'t Word,
    /// Where the part of the sum begins.
    part: AxisId,
    sum_end: &'t Word,
    line_end: &'t Word,
}
