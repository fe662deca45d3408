//! From a scheduled kernel to vector code.
//!
//! The tree is walked once. A serial loop becomes a loop of the code (a [`Frame`] while it is being written); an unrolled one
//! becomes copies; a jammed one becomes *points*: every stage below is written once for each combination of the values of
//! the jammed axes. A vector loop becomes lanes.
//!
//! Values are numbered by expression and by the values of the jammed and unrolled axes that they depend on, and they are
//! written into the outermost loop that everything they depend on allows. So a load that does not depend on one
//! jammed axis is made once for all its points, and one that does not depend on the innermost loop stands before it: together,
//! unroll-and-jam plus this *is* the register-tiled microkernel of a matrix product or a convolution.
//!
//! `value.rs` writes expressions (`arithmetic.rs` and `cast.rs` operations, with the instructions of `forms.rs`; `math.rs`, `single.rs`,
//! `double.rs`, `integer.rs` and `remainder.rs` those that are no instruction; `wide.rs` integers of 64 bits in lanes of 32), `memory.rs` addresses, loads, stores and masks (`small.rs` of elements narrower than a lane), `lanes.rs` indices that differ from lane to lane, `scalar.rs` index
//! arithmetic in general registers, `data.rs` indices that lie in memory, `acc.rs` accumulators (`dot.rs` sums of products of bytes, `skip.rs` those without products that are 0); `hoist.rs` says where a value is computed and what it is known by,
//! `interleave.rs` puts points side by side, `limits.rs` says what must fit in a lane, `nan.rs` where extrema are right as the
//! machine gives them.

mod acc;
mod arithmetic;
mod cast;
mod data;
mod dot;
mod double;
mod forms;
mod hash;
mod hoist;
mod integer;
mod interleave;
mod lanes;
mod limits;
mod math;
mod memory;
mod nan;
mod operations;
mod registers;
mod remainder;
mod scalar;
mod single;
mod skip;
mod small;
mod value;
mod wide;

use crate::asm::{self, Width};
use crate::code::{Advance, Class, Gen, Item, Loop, Op, Program, Two, V, Word};
use crate::error::{Result, Unsupported};
use acc::AccState;
use hash::{IdMap, IdSet, Key, KeyMap};
use hoist::{Depends, Outside, stored};
use lawson_graph::Dim;
use lawson_kernel::{
    AccId, AxisId, BufferId, Expr, ExprId, For, Index, Kernel, Kind, Level, Node, Role, Scope, Store, Truth,
};
pub use limits::Limit;
use limits::Reach;
use registers::{lanes_of, vector_bytes};
use std::cell::RefCell;

/// A loop that is being written, or the function's body (the first).
struct Frame<'k> {
    items: Vec<Item>,
    /// The axis, if the loop runs over one.
    axis: Option<AxisId>,
    /// Where the axis starts, how far it moves, and where it ends.
    begin: Option<Gen>,
    step: i64,
    end: Option<Gen>,
    inductions: Vec<(V, Gen)>,
    values: KeyMap<(ExprId, V)>,
    pointers: KeyMap<V>,
    scalars: IdMap<Index, V>,
    masks: KeyMap<V>,
    /// Buffers that the body stores to.
    stores: IdSet<BufferId>,
    /// If the body may run no time at all: what is known outside.
    outside: Option<Outside<'k>>,
}

impl Default for Frame<'_> {
    fn default() -> Self {
        // Innermost loops have hundreds of operations and values, and growing to that takes longer than a place for them.
        const USUAL: usize = 128;
        Frame {
            items: Vec::with_capacity(USUAL),
            axis: None,
            begin: None,
            step: 0,
            end: None,
            inductions: Vec::new(),
            values: KeyMap::with_capacity_and_hasher(USUAL, Default::default()),
            pointers: KeyMap::default(),
            scalars: IdMap::default(),
            masks: KeyMap::default(),
            stores: IdSet::default(),
            outside: None,
        }
    }
}

/// The vector loop that is entered.
#[derive(Clone)]
struct VectorLoop<'k> {
    of: &'k For,
    axis: AxisId,
    end: Index,
    instance: u32,
    outside: Outside<'k>,
}

pub(crate) struct Lowering<'k> {
    k: &'k Kernel,
    scope: Scope<'k>,
    classes: Vec<Class>,
    widths: Vec<Width>,
    level: asm::Level,
    /// How many lanes vectors have.
    lanes: i64,
    /// Whether lanes have 64 bits for what needs them; if not, integers of 64 bits are pairs of registers.
    native: bool,
    frames: Vec<Frame<'k>>,
    /// Values of jammed and unrolled axes.
    fixed: Vec<Option<i64>>,
    /// The frame and register of axes that loops run over.
    dynamic: Vec<Option<(usize, V)>>,
    /// Between what axes lie that loops without a constant extent run over.
    reaches: Vec<Reach>,
    limits: Vec<Limit>,
    jams: Vec<(AxisId, Vec<i64>)>,
    vector: Option<VectorLoop<'k>>,
    vectors: u32,
    /// How many places are known by a number, and which loads are inside their buffers there.
    places: u32,
    inside: RefCell<IdMap<(u32, Key), bool>>,
    /// What is known around all points of the stage that is being written, and the offsets of loads, as simple as that allows.
    around: Option<Scope<'k>>,
    simpler: RefCell<IdMap<ExprId, Index>>,
    /// Counts the stages, and how expressions stand in them.
    stage: u64,
    standings: RefCell<Vec<(u64, bool, usize)>>,
    /// Counts the places at which something is written, and what is known there of the guards of loads.
    point: u64,
    truths: RefCell<Vec<(u64, Truth)>>,
    /// Loads whose conditions are known to hold where code is written.
    granted: Vec<ExprId>,
    depends: Vec<Depends>,
    accs: IdMap<AccId, AccState>,
    /// State and other state while a step or merge is written.
    states: [Option<(AccId, Vec<V>)>; 2],
    /// Values that depend on a state, at the current point.
    local: IdMap<ExprId, V>,
    /// Registers that hold a constant, or a table.
    constants: IdSet<V>,
    /// The high halves of 64-bit integers, by the registers of their low ones.
    highs: IdMap<V, V>,
    words: Vec<Word>,
    /// The registers that hold them.
    held_words: Vec<V>,
    scratch: Vec<(BufferId, usize)>,
    scratch_bytes: usize,
    entry: [V; 4],
    parallel: Index,
    listing: bool,
}

/// The code of a kernel. With `listing`, it carries the tree as comments.
pub(crate) fn lower(kernel: &Kernel, level: asm::Level, listing: bool) -> Result<Program> {
    let lanes = lanes_of(kernel, level)?;
    let mut l = Lowering {
        k: kernel,
        scope: Scope::new(kernel),
        classes: Vec::new(),
        widths: Vec::new(),
        level,
        lanes,
        native: lanes * 8 <= vector_bytes(level),
        frames: vec![Frame::default()],
        fixed: vec![None; kernel.axes.len()],
        dynamic: vec![None; kernel.axes.len()],
        reaches: vec![(Dim::ZERO, Dim::ZERO); kernel.axes.len()],
        limits: Vec::new(),
        jams: Vec::new(),
        vector: None,
        vectors: 0,
        places: 0,
        inside: RefCell::new(IdMap::default()),
        around: None,
        simpler: RefCell::new(IdMap::default()),
        stage: 0,
        standings: RefCell::new(vec![(0, false, 0); kernel.exprs.len()]),
        point: 1,
        truths: RefCell::new(vec![(0, Truth::Sometimes); kernel.exprs.len()]),
        granted: Vec::new(),
        depends: Vec::new(),
        accs: IdMap::default(),
        states: [None, None],
        local: IdMap::default(),
        constants: IdSet::default(),
        highs: IdMap::default(),
        words: Vec::new(),
        held_words: Vec::new(),
        scratch: Vec::new(),
        scratch_bytes: 0,
        entry: [V(0); 4],
        parallel: Index::constant(1),
        listing,
    };
    l.entry = [(); 4].map(|()| l.fresh(Class::General));
    l.place_scratch()?;
    l.find_dependences();
    l.root()?;
    let body = l.frames.pop().map(|f| f.items).unwrap_or_default();
    Ok(Program {
        classes: l.classes,
        widths: l.widths,
        lanes: lanes as u32,
        body,
        words: l.words,
        scratch_bytes: l.scratch_bytes,
        parallel: l.parallel,
        limits: l.limits,
        entry: l.entry,
    })
}

impl<'k> Lowering<'k> {
    /// The frame that is being written.
    fn here(&self) -> usize {
        self.frames.len() - 1
    }

    fn emit(&mut self, depth: usize, op: Op) {
        self.frames[depth].items.push(Item::Op(op));
    }

    fn comment(&mut self, text: impl FnOnce(&Kernel) -> String) {
        if self.listing {
            let (here, text) = (self.here(), text(self.k));
            self.frames[here].items.push(Item::Comment(text));
        }
    }

    /// Gives every scratch buffer its place: whole lines, a line apart so that equal sizes do not meet in one set.
    fn place_scratch(&mut self) -> Result<()> {
        for level in [Level::L1, Level::L2] {
            for (i, b) in self.k.buffers.iter().enumerate() {
                if b.role != Role::Scratch(level) {
                    continue;
                }
                let Some(elements) = b.layout.size.as_const().and_then(|n| usize::try_from(n).ok()) else {
                    return Err(Unsupported::new(format!("scratch `{}` has no constant size", b.name)));
                };
                let bytes = elements * b.dtype.bits().div_ceil(8);
                self.scratch.push((BufferId(i as u32), self.scratch_bytes));
                self.scratch_bytes += bytes.next_multiple_of(64) + 64;
            }
        }
        Ok(())
    }

    /// The parallel loops at the root become one loop over the member's share of their iterations; nests side by side become one each, over
    /// what the share has of theirs.
    fn root(&mut self) -> Result<()> {
        let [begin, end] = [self.entry[1], self.entry[2]];
        if !self.k.is_side_by_side() {
            return self.nest(&self.k.body, begin, Gen::Reg(end));
        }
        let mut before = Dim::ZERO;
        for node in &self.k.body {
            let (_, trips) = self.shared(std::slice::from_ref(node))?;
            let total = trips.iter().fold(Dim::ONE, |a, b| a * b.clone());
            // Iterations of this nest are those from `before` on.
            let [first, last] = [begin, end].map(|bound| {
                let own = self.fresh(Class::General);
                self.emit(0, Op::Mov { dst: own, src: bound });
                own
            });
            let (skipped, none, most) =
                (self.dimension(&before)?, self.dimension(&Dim::ZERO)?, self.dimension(&total)?);
            for own in [first, last] {
                self.emit(0, Op::Two { op: Two::Sub, dst: own, src: skipped });
                self.emit(0, Op::Two { op: Two::Max, dst: own, src: none });
                self.emit(0, Op::Two { op: Two::Min, dst: own, src: most });
            }
            self.nest(std::slice::from_ref(node), first, Gen::Reg(last))?;
            before = before + total;
        }
        self.parallel = Index::constant(before);
        Ok(())
    }

    /// The parallel loops that some nodes begin with, and how many iterations each has.
    fn shared(&self, mut body: &'k [Node]) -> Result<(Vec<&'k For>, Vec<Dim>)> {
        let (mut loops, mut trips): (Vec<&'k For>, Vec<Dim>) = (Vec::new(), Vec::new());
        while let [Node::For(f)] = body
            && f.kind == Kind::Parallel
        {
            let extent = self.k.resolve(&f.end) - self.k.resolve(&f.begin);
            let Some(extent) = extent.as_dim() else {
                return Err(Unsupported::new("the bounds of a parallel loop depend on another axis"));
            };
            trips.push(extent.ceil_div(&Dim::from(f.step)).max(&Dim::ZERO));
            loops.push(f);
            body = &f.body;
        }
        Ok((loops, trips))
    }

    /// A nest at the root: its iterations from `first` to below `last`.
    fn nest(&mut self, nodes: &'k [Node], first: V, last: Gen) -> Result<()> {
        let (loops, trips) = self.shared(nodes)?;
        let body = loops.last().map_or(nodes, |f| &f.body);
        let total = trips.iter().fold(Dim::ONE, |a, b| a * b.clone());
        self.parallel = Index::constant(total);
        let counter = self.fresh(Class::General);
        self.emit(0, Op::Mov { dst: counter, src: first });
        let mut frame = Frame { step: 1, outside: Some(self.outside()), ..Frame::default() };
        stored(body, &mut frame.stores);
        self.frames.push(frame);
        let mut left = Vec::new();
        let mut rest = Gen::Reg(counter);
        for (n, f) in loops.iter().enumerate().rev() {
            let Gen::Reg(all) = rest else { break };
            let value = if n == 0 {
                all
            } else {
                let by = self.dimension(&trips[n])?;
                let (r, q) = (self.fresh(Class::General), self.fresh(Class::General));
                self.emit(1, Op::Divide { dst: r, src: all, by, remainder: true, negative: false });
                self.emit(1, Op::Divide { dst: q, src: all, by, remainder: false, negative: false });
                rest = Gen::Reg(q);
                r
            };
            let begin = self.scalar(&f.begin)?;
            let axis = self.fresh(Class::General);
            self.emit(1, Op::MulImm { dst: axis, src: value, imm: small(f.step)? });
            self.emit(1, Op::Two { op: Two::Add, dst: axis, src: begin });
            self.dynamic[f.axis.0 as usize] = Some((1, axis));
        }
        for f in &loops {
            let [begin, end] = [&f.begin, &f.end].map(|i| self.scope.simplify(&self.k.resolve(i)));
            self.set_reach(f.axis, &begin, &end);
            left.push(self.scope.enter_between(f, begin, end));
        }
        self.walk(body)?;
        while let Some(l) = left.pop() {
            self.scope.leave(l);
        }
        let frame = self.frames.pop().unwrap_or_default();
        let comment = self.listing.then(|| {
            let names: Vec<&str> = loops.iter().map(|f| self.k.axis(f.axis).name.as_str()).collect();
            format!("for {} in the member's share", names.join(", "))
        });
        self.frames[0].items.push(Item::Loop(Box::new(Loop {
            counter,
            advance: Advance::By { step: 1, end: last },
            may_be_empty: true,
            inductions: frame.inductions,
            body: frame.items,
            comment,
        })));
        Ok(())
    }

    fn walk(&mut self, nodes: &'k [Node]) -> Result<()> {
        for node in nodes {
            self.point += 1;
            match node {
                Node::For(f) => self.for_loop(f)?,
                Node::Accumulate { acc, body } => self.accumulate(*acc, body)?,
                Node::Step { acc, values } => self.step(*acc, values)?,
                Node::Store(s) => self.store_stage(s)?,
                Node::Prefetch { buffer, index, level } => self.prefetch(*buffer, index, *level)?,
            }
        }
        Ok(())
    }

    fn for_loop(&mut self, f: &'k For) -> Result<()> {
        let begin = self.scope.simplify(&self.k.resolve(&f.begin));
        let end = self.scope.simplify(&self.k.resolve(&f.end));
        let trips =
            begin.as_const().zip(end.as_const()).map(|(b, e)| (e - b + f.step - 1).div_euclid(f.step).max(0));
        let axis = f.axis.0 as usize;
        match (f.kind, trips) {
            (Kind::Parallel, _) => Err(Unsupported::new("a parallel loop inside another loop")),
            (_, Some(0)) => Ok(()),
            (Kind::Vector(w), _) => {
                if i64::from(w) != self.lanes || !begin.is(0) || f.step != 1 {
                    return Err(Unsupported::new("a vector loop that does not begin at 0"));
                }
                let outside = self.outside();
                let left = self.scope.enter_between(f, begin, end.clone());
                self.vectors += 1;
                let inner = VectorLoop { of: f, axis: f.axis, end, instance: self.vectors, outside };
                let before = self.vector.replace(inner);
                if before.is_some() {
                    return Err(Unsupported::new("a vector loop inside another"));
                }
                let done = self.walk(&f.body);
                self.vector = before;
                self.scope.leave(left);
                done
            }
            (Kind::Jam | Kind::Unroll | Kind::Dot, None) => Err(Unsupported::new(format!(
                "the loop over `{}` has no constant extent",
                self.k.axis(f.axis).name
            ))),
            (Kind::Jam, Some(n)) => {
                let first = begin.as_const().unwrap_or(0);
                let left = self.scope.enter_between(f, begin, end);
                self.jams.push((f.axis, (0..n).map(|i| first + i * f.step).collect()));
                let done = self.walk(&f.body);
                self.jams.pop();
                self.fixed[axis] = None;
                self.scope.leave(left);
                done
            }
            (Kind::Dot, Some(n)) if self.dot_loop(f, n)? => Ok(()),
            (Kind::Unroll | Kind::Dot, Some(n)) => {
                let first = begin.as_const().unwrap_or(0);
                let left = self.scope.enter_between(f, begin, end);
                for i in 0..n {
                    self.scope.fix(f.axis, first + i * f.step);
                    self.fixed[axis] = Some(first + i * f.step);
                    self.walk(&f.body)?;
                }
                self.fixed[axis] = None;
                self.scope.leave(left);
                Ok(())
            }
            (Kind::Skip, _) if self.skip_loop(f)? => Ok(()),
            (Kind::Serial | Kind::Skip, Some(1)) => {
                let value = begin.as_const().unwrap_or(0);
                let left = self.scope.enter_between(f, begin, end);
                self.scope.fix(f.axis, value);
                self.fixed[axis] = Some(value);
                let done = self.walk(&f.body);
                self.fixed[axis] = None;
                self.scope.leave(left);
                done
            }
            (Kind::Serial | Kind::Skip, trips) => {
                let parent = self.here();
                let first = self.scalar(&begin)?;
                let last = self.scalar(&end)?;
                let counter = self.fresh(Class::General);
                match first {
                    Gen::Imm(imm) => self.emit(parent, Op::Imm { dst: counter, imm }),
                    Gen::Reg(src) => self.emit(parent, Op::Mov { dst: counter, src }),
                }
                let may_be_empty = trips.is_none()
                    && self.scope.interval(&(end.clone() - begin.clone())).0.is_none_or(|d| d <= 0);
                let mut frame = Frame {
                    axis: Some(f.axis),
                    begin: Some(first),
                    step: f.step,
                    end: Some(last),
                    outside: may_be_empty.then(|| self.outside()),
                    ..Frame::default()
                };
                stored(&f.body, &mut frame.stores);
                self.frames.push(frame);
                self.set_reach(f.axis, &begin, &end);
                let comment = self.listing.then(|| {
                    let axis = &self.k.axis(f.axis).name;
                    format!("for {axis} in {}..{} step {}", self.k.show(&begin), self.k.show(&end), f.step)
                });
                let left = self.scope.enter_between(f, begin, end);
                let before = self.dynamic[axis].replace((parent + 1, counter));
                let done = self.walk(&f.body);
                self.dynamic[axis] = before;
                self.scope.leave(left);
                let frame = self.frames.pop().unwrap_or_default();
                done?;
                self.frames[parent].items.push(Item::Loop(Box::new(Loop {
                    counter,
                    advance: Advance::By { step: f.step, end: last },
                    may_be_empty,
                    inductions: frame.inductions,
                    body: frame.items,
                    comment,
                })));
                Ok(())
            }
        }
    }

    /// Calls `write` at every point of the jammed axes.
    fn at_points(&mut self, write: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.around = Some(self.scope.clone());
        self.stage += 1;
        let done = self.points_from(0, write);
        self.around = None;
        self.point += 1;
        self.simpler.borrow_mut().clear();
        done
    }

    fn points_from(&mut self, n: usize, write: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if n == self.jams.len() {
            self.local.clear();
            self.point += 1;
            return write(self);
        }
        let axis = self.jams[n].0;
        let range = self.scope.range(axis);
        for at in 0..self.jams[n].1.len() {
            let value = self.jams[n].1[at];
            self.scope.fix(axis, value);
            self.fixed[axis.0 as usize] = Some(value);
            self.points_from(n + 1, write)?;
        }
        self.scope.restore(axis, range);
        self.fixed[axis.0 as usize] = None;
        Ok(())
    }

    fn store_stage(&mut self, s: &'k Store) -> Result<()> {
        self.comment(|k| {
            let index: Vec<String> = s.index.iter().map(|i| k.show(i)).collect();
            format!("{}[{}] = e{}", k.buffer(s.buffer).name, index.join(", "), s.value.0)
        });
        let offset = self.scope.simplify(&self.k.resolve(&self.k.buffer(s.buffer).layout.offset(&s.index)));
        // What is read back at once, in the same lanes, is still in its register.
        let same = |e: &Expr| matches!(e, Expr::Load(l) if l.buffer == s.buffer && l.index == s.index && l.guard.is_none());
        let read_back = self.k.exprs.iter().position(same).map(|e| ExprId(e as u32));
        let mut kept: Vec<(Key, V)> = Vec::new();
        let mut write = |l: &mut Self| {
            if l.empty_lanes() {
                return Ok(());
            }
            let Some(e) = read_back else {
                let value = l.value(s.value)?;
                return l.store(s, &offset, value);
            };
            let here = l.here();
            let value = l.exact_value(s.value, here)?;
            kept.push((l.key(e), value));
            l.store(s, &offset, value)
        };
        // Points that read nothing of what they store may go on side by side.
        if self.depends[s.value.0 as usize].written.binary_search(&s.buffer).is_ok() {
            self.at_points(&mut write)?;
        } else {
            self.at_points_abreast(&mut write)?;
        }
        self.forget_loads(s.buffer);
        if let Some(e) = read_back {
            let here = self.here();
            self.frames[here].values.extend(kept.into_iter().map(|(key, v)| (key, (e, v))));
        }
        Ok(())
    }
}

fn small(value: i64) -> Result<i32> {
    i32::try_from(value).map_err(|_| Unsupported::new("an offset or step that does not fit in 32 bits"))
}
