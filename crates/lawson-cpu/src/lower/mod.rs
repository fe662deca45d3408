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
//! `value.rs` writes expressions, `memory.rs` addresses, loads, stores and masks, `scalar.rs` index arithmetic in general
//! registers, `acc.rs` accumulators.

mod acc;
mod interleave;
mod math;
mod memory;
mod nan;
mod scalar;
mod value;

use crate::code::{Class, Gen, Item, Loop, Op, Program, V, Word};
use crate::error::{Result, Unsupported};
use acc::AccState;
use lawson_graph::Dim;
use lawson_kernel::{
    AccId, Atom, AxisId, BufferId, Expr, ExprId, For, Index, Kernel, Kind, Level, Node, Role, Scope, Store,
};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// A value's identity: a hash wide enough to stand for what is hashed.
type Key = u128;

/// The lanes of a vector: 512 bits of 32-bit elements.
pub(crate) const LANES: i64 = 16;

/// A loop that is being written, or the function's body (the first).
#[derive(Default)]
struct Frame<'k> {
    items: Vec<Item>,
    /// The axis, if the loop runs over one.
    axis: Option<AxisId>,
    /// Where the axis starts and how far it moves.
    begin: Option<Gen>,
    step: i64,
    inductions: Vec<(V, Gen)>,
    values: HashMap<Key, (ExprId, V)>,
    pointers: HashMap<Key, V>,
    scalars: HashMap<Index, V>,
    masks: HashMap<Key, V>,
    /// Buffers that the body stores to.
    stores: HashSet<BufferId>,
    /// If the body may run no time at all: what is known outside.
    outside: Option<Outside<'k>>,
}

/// What is known around a loop that may be empty. A load may move out of it only if it lies inside its buffer even so.
#[derive(Clone)]
struct Outside<'k> {
    scope: Scope<'k>,
    /// Tells it from all others.
    number: u32,
}

/// What an expression depends on.
#[derive(Clone, Default)]
struct Depends {
    /// Axes that loops run over, sorted.
    axes: Vec<AxisId>,
    /// Buffers that the kernel also stores to.
    written: Vec<BufferId>,
    /// Accumulators whose result it reads.
    results: Vec<AccId>,
    /// Whether it reads the state of an accumulator.
    state: bool,
    /// The loads in it.
    loads: Vec<ExprId>,
    /// How many expressions and stages read it.
    readers: u32,
    /// For a load: where, in elements.
    offset: Option<Index>,
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
    frames: Vec<Frame<'k>>,
    /// Values of jammed and unrolled axes.
    fixed: Vec<Option<i64>>,
    /// The frame and register of axes that loops run over.
    dynamic: Vec<Option<(usize, V)>>,
    jams: Vec<(AxisId, Vec<i64>)>,
    vector: Option<VectorLoop<'k>>,
    vectors: u32,
    /// How many places are known by a number, and which loads are inside their buffers there.
    places: u32,
    inside: RefCell<HashMap<(u32, Key), bool>>,
    depends: Vec<Depends>,
    accs: HashMap<AccId, AccState>,
    /// State and other state while a step or merge is written.
    states: [Option<(AccId, Vec<V>)>; 2],
    /// Values that depend on a state, at the current point.
    local: HashMap<ExprId, V>,
    /// Registers that hold a constant in all lanes.
    constants: HashSet<V>,
    words: Vec<Word>,
    scratch: Vec<(BufferId, usize)>,
    scratch_bytes: usize,
    entry: [V; 4],
    parallel: Index,
    listing: bool,
}

/// The code of a kernel. With `listing`, it carries the tree as comments.
pub(crate) fn lower(kernel: &Kernel, listing: bool) -> Result<Program> {
    let mut l = Lowering {
        k: kernel,
        scope: Scope::new(kernel),
        classes: Vec::new(),
        frames: vec![Frame::default()],
        fixed: vec![None; kernel.axes.len()],
        dynamic: vec![None; kernel.axes.len()],
        jams: Vec::new(),
        vector: None,
        vectors: 0,
        places: 0,
        inside: RefCell::new(HashMap::new()),
        depends: Vec::new(),
        accs: HashMap::new(),
        states: [None, None],
        local: HashMap::new(),
        constants: HashSet::new(),
        words: Vec::new(),
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
        body,
        words: l.words,
        scratch_bytes: l.scratch_bytes,
        parallel: l.parallel,
        entry: l.entry,
    })
}

fn stored(nodes: &[Node], into: &mut HashSet<BufferId>) {
    for node in nodes {
        match node {
            Node::Store(s) => {
                into.insert(s.buffer);
            }
            Node::For(For { body, .. }) | Node::Accumulate { body, .. } => stored(body, into),
            Node::Step { .. } | Node::Prefetch { .. } => {}
        }
    }
}

fn sorted_union<T: Ord + Copy>(into: &mut Vec<T>, more: &[T]) {
    for x in more {
        if let Err(at) = into.binary_search(x) {
            into.insert(at, *x);
        }
    }
}

impl<'k> Lowering<'k> {
    fn fresh(&mut self, class: Class) -> V {
        self.classes.push(class);
        V(self.classes.len() as u32 - 1)
    }

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

    fn find_dependences(&mut self) {
        let mut written = HashSet::new();
        stored(&self.k.body, &mut written);
        let mut all: Vec<Depends> = Vec::with_capacity(self.k.exprs.len());
        for (n, e) in self.k.exprs.iter().enumerate() {
            let mut d = Depends::default();
            e.visit_operands(&mut |o| {
                let of = &all[o.0 as usize];
                sorted_union(&mut d.axes, &of.axes);
                sorted_union(&mut d.written, &of.written);
                sorted_union(&mut d.results, &of.results);
                sorted_union(&mut d.loads, &of.loads);
                d.state |= of.state;
            });
            e.visit_operands(&mut |o| all[o.0 as usize].readers += 1);
            let mut axes = Vec::new();
            let mut add = |i: &Index| self.k.resolve(i).visit_axes(&mut |a| sorted_union(&mut axes, &[a]));
            match e {
                Expr::Load(load) => {
                    let offset = self.k.resolve(&self.k.buffer(load.buffer).layout.offset(&load.index));
                    add(&offset);
                    d.offset = Some(offset);
                    sorted_union(&mut d.loads, &[ExprId(n as u32)]);
                    if let Some(g) = &load.guard {
                        g.conditions.iter().for_each(|c| add(&c.index));
                    }
                    if written.contains(&load.buffer) {
                        sorted_union(&mut d.written, &[load.buffer]);
                    }
                }
                Expr::Index(i, _) => add(i),
                Expr::State(..) | Expr::Other(..) => d.state = true,
                Expr::Result(acc, _) => sorted_union(&mut d.results, &[*acc]),
                _ => {}
            }
            sorted_union(&mut d.axes, &axes);
            all.push(d);
        }
        self.k.visit(&mut |n| match n {
            Node::Step { values, .. } => values.iter().for_each(|v| all[v.0 as usize].readers += 1),
            Node::Store(s) => all[s.value.0 as usize].readers += 1,
            _ => {}
        });
        self.depends = all;
    }

    /// The parallel loops at the root become one loop over the member's share of their iterations.
    fn root(&mut self) -> Result<()> {
        let mut loops: Vec<&'k For> = Vec::new();
        let mut body: &'k [Node] = &self.k.body;
        while let [Node::For(f)] = body
            && f.kind == Kind::Parallel
        {
            loops.push(f);
            body = &f.body;
        }
        let mut trips: Vec<Dim> = Vec::new();
        for f in &loops {
            let extent = self.k.resolve(&f.end) - self.k.resolve(&f.begin);
            let Some(extent) = extent.as_dim() else {
                return Err(Unsupported::new("the bounds of a parallel loop depend on another axis"));
            };
            trips.push(extent.ceil_div(&Dim::from(f.step)).max(&Dim::ZERO));
        }
        let total = trips.iter().fold(Dim::ONE, |a, b| a * b.clone());
        self.parallel = Index::constant(total);
        let counter = self.fresh(Class::General);
        self.emit(0, Op::Mov { dst: counter, src: self.entry[1] });
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
            self.emit(1, Op::Two { op: crate::code::Two::Add, dst: axis, src: begin });
            self.dynamic[f.axis.0 as usize] = Some((1, axis));
        }
        for f in &loops {
            let l = self.scope.enter(f);
            left.push(l);
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
            step: 1,
            end: Gen::Reg(self.entry[2]),
            may_be_empty: true,
            inductions: frame.inductions,
            body: frame.items,
            comment,
        })));
        Ok(())
    }

    fn walk(&mut self, nodes: &'k [Node]) -> Result<()> {
        for node in nodes {
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
                if i64::from(w) != LANES || !begin.is(0) || f.step != 1 {
                    return Err(Unsupported::new("a vector loop that does not run over 16 lanes from 0"));
                }
                let outside = self.outside();
                let left = self.scope.enter(f);
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
            (Kind::Jam | Kind::Unroll, None) => Err(Unsupported::new(format!(
                "the loop over `{}` has no constant extent",
                self.k.axis(f.axis).name
            ))),
            (Kind::Jam, Some(n)) => {
                let first = begin.as_const().unwrap_or(0);
                let left = self.scope.enter(f);
                self.jams.push((f.axis, (0..n).map(|i| first + i * f.step).collect()));
                let done = self.walk(&f.body);
                self.jams.pop();
                self.fixed[axis] = None;
                self.scope.leave(left);
                done
            }
            (Kind::Unroll, Some(n)) => {
                let first = begin.as_const().unwrap_or(0);
                let left = self.scope.enter(f);
                for i in 0..n {
                    self.scope.fix(f.axis, first + i * f.step);
                    self.fixed[axis] = Some(first + i * f.step);
                    self.walk(&f.body)?;
                }
                self.fixed[axis] = None;
                self.scope.leave(left);
                Ok(())
            }
            (Kind::Serial, Some(1)) => {
                let left = self.scope.enter(f);
                let value = begin.as_const().unwrap_or(0);
                self.scope.fix(f.axis, value);
                self.fixed[axis] = Some(value);
                let done = self.walk(&f.body);
                self.fixed[axis] = None;
                self.scope.leave(left);
                done
            }
            (Kind::Serial, trips) => {
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
                    outside: may_be_empty.then(|| self.outside()),
                    ..Frame::default()
                };
                stored(&f.body, &mut frame.stores);
                self.frames.push(frame);
                let left = self.scope.enter(f);
                let before = self.dynamic[axis].replace((parent + 1, counter));
                let done = self.walk(&f.body);
                self.dynamic[axis] = before;
                self.scope.leave(left);
                let frame = self.frames.pop().unwrap_or_default();
                done?;
                let comment = self.listing.then(|| {
                    let name = |a: AxisId| self.k.axis(a).name.clone();
                    let axis = name(f.axis);
                    format!("for {axis} in {}..{} step {}", begin.display(&name), end.display(&name), f.step)
                });
                self.frames[parent].items.push(Item::Loop(Box::new(Loop {
                    counter,
                    step: f.step,
                    end: last,
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
        self.points_from(0, write)
    }

    fn points_from(&mut self, n: usize, write: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if n == self.jams.len() {
            self.local.clear();
            return write(self);
        }
        let (axis, values) = self.jams[n].clone();
        let range = self.scope.range(axis);
        for value in values {
            self.scope.fix(axis, value);
            self.fixed[axis.0 as usize] = Some(value);
            self.points_from(n + 1, write)?;
        }
        self.scope.restore(axis, range);
        self.fixed[axis.0 as usize] = None;
        Ok(())
    }

    /// What is known here.
    fn outside(&mut self) -> Outside<'k> {
        self.places += 1;
        Outside { scope: self.scope.clone(), number: self.places }
    }

    fn store_stage(&mut self, s: &'k Store) -> Result<()> {
        self.comment(|k| {
            let name = |a: AxisId| k.axis(a).name.clone();
            let index: Vec<String> = s.index.iter().map(|i| i.display(&name).to_string()).collect();
            format!("{}[{}] = e{}", k.buffer(s.buffer).name, index.join(", "), s.value.0)
        });
        let offset = self.k.resolve(&self.k.buffer(s.buffer).layout.offset(&s.index));
        // What is read back at once, in the same lanes, is still in its register.
        let same = |e: &Expr| matches!(e, Expr::Load(l) if l.buffer == s.buffer && l.index == s.index && l.guard.is_none());
        let read_back = self.k.exprs.iter().position(same).map(|e| ExprId(e as u32));
        let mut kept: Vec<(Key, V)> = Vec::new();
        let mut write = |l: &mut Self| {
            if l.empty_lanes() {
                return Ok(());
            }
            let value = l.value(s.value)?;
            if let Some(e) = read_back {
                kept.push((l.key(e), value));
            }
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

    /// Values read from a buffer are not current any more.
    fn forget_loads(&mut self, buffer: BufferId) {
        let depends = &self.depends;
        for frame in &mut self.frames {
            frame.values.retain(|_, (e, _)| depends[e.0 as usize].written.binary_search(&buffer).is_err());
        }
    }

    /// The outermost frame in which an expression can be computed.
    fn depth(&self, e: ExprId) -> usize {
        let d = &self.depends[e.0 as usize];
        if d.state {
            return self.here();
        }
        let mut depth = 0;
        for a in &d.axes {
            if let Some((frame, _)) = self.dynamic[a.0 as usize] {
                depth = depth.max(frame);
            }
        }
        for b in &d.written {
            if let Some(frame) = self.frames.iter().rposition(|f| f.stores.contains(b)) {
                depth = depth.max(frame);
            }
        }
        for r in &d.results {
            if let Some(acc) = self.accs.get(r) {
                depth = depth.max(acc.frame);
            }
        }
        if let Some(v) = &self.vector
            && self.bound_to_lanes(e)
        {
            depth = depth.max(self.index_depth(&self.scope.simplify(&v.end)));
        }
        for load in &d.loads {
            let mut crossed = (depth + 1..self.frames.len()).rev();
            let stays = |f: &usize| {
                let outside = self.frames[*f].outside.as_ref();
                outside.is_some_and(|o| !self.is_inside(*load, o))
            };
            depth = crossed.find(stays).unwrap_or(depth);
        }
        depth
    }

    /// Whether an expression's value is known only for the lanes that the vector loop has: it differs from lane to lane, or
    /// reads what is there only if there are lanes.
    fn bound_to_lanes(&self, e: ExprId) -> bool {
        let Some(v) = &self.vector else { return false };
        let d = &self.depends[e.0 as usize];
        if d.axes.binary_search(&v.axis).is_ok() {
            return true;
        }
        let reads = !d.loads.is_empty() && !self.has_lanes(v);
        reads && d.loads.iter().any(|l| !self.is_inside(*l, &v.outside))
    }

    /// Whether the vector loop has, at this point, a lane for sure.
    fn has_lanes(&self, v: &VectorLoop<'k>) -> bool {
        self.scope.interval(&self.scope.simplify(&v.end)).0.is_some_and(|e| e >= 1)
    }

    /// Whether a load is inside its buffer even where a loop around it is empty.
    fn is_inside(&self, load: ExprId, outside: &Outside<'k>) -> bool {
        let Expr::Load(l) = self.k.expr(load) else { return true };
        let d = &self.depends[load.0 as usize];
        let mut h = Hash128::new(u64::from(load.0));
        self.mix_fixed(&mut h, &d.axes);
        let key = (outside.number, h.finish());
        if let Some(known) = self.inside.borrow().get(&key) {
            return *known;
        }
        let mut scope = outside.scope.clone();
        for a in &d.axes {
            if let Some(value) = self.fixed[a.0 as usize] {
                scope.fix(*a, value);
            }
        }
        if let Some(v) = &self.vector
            && d.axes.binary_search(&v.axis).is_ok()
        {
            // Lanes that the loop does not have are masked.
            scope.enter(v.of);
        }
        let given = l.guard.as_ref().map_or(&[][..], |g| &g.conditions);
        let dims = &self.k.buffer(l.buffer).dims;
        let inside = l.index.iter().zip(dims).all(|(i, d)| scope.proves_within(i, d, given));
        self.inside.borrow_mut().insert(key, inside);
        inside
    }

    /// Mixes the values of those of the axes that are jammed or unrolled.
    fn mix_fixed(&self, h: &mut Hash128, axes: &[AxisId]) {
        for a in axes {
            if let Some(v) = self.fixed[a.0 as usize] {
                h.mix(u64::from(a.0));
                h.mix(v as u64);
            }
        }
    }

    /// Mixes what tells the lanes here from those of other vector loops and points.
    fn mix_lanes(&self, h: &mut Hash128) {
        if let Some(v) = &self.vector {
            h.mix(u64::MAX ^ u64::from(v.instance));
            mix_index(h, &self.scope.simplify(&v.end));
        }
    }

    fn index_depth(&self, index: &Index) -> usize {
        let mut depth = 0;
        index.visit_axes(&mut |a| {
            if let Some((frame, _)) = self.dynamic[a.0 as usize] {
                depth = depth.max(frame);
            }
        });
        depth
    }

    /// What an expression's value is known by here.
    fn key(&self, e: ExprId) -> Key {
        let d = &self.depends[e.0 as usize];
        let mut h = Hash128::new(u64::from(e.0));
        self.mix_fixed(&mut h, &d.axes);
        if self.bound_to_lanes(e) {
            self.mix_lanes(&mut h);
        }
        for r in &d.results {
            if let Some(acc) = self.accs.get(r) {
                h.mix(u64::from(r.0));
                self.mix_fixed(&mut h, &acc.outer);
            }
        }
        h.finish()
    }
}

fn small(value: i64) -> Result<i32> {
    i32::try_from(value).map_err(|_| Unsupported::new("an offset or step that does not fit in 32 bits"))
}

/// A hash of 128 bits, for keys that stand for what they hash.
struct Hash128(u64, u64);

impl Hash128 {
    fn new(seed: u64) -> Hash128 {
        let mut h = Hash128(0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F);
        h.mix(seed);
        h
    }

    fn mix(&mut self, x: u64) {
        self.0 = (self.0 ^ x).wrapping_mul(0xFF51_AFD7_ED55_8CCD).rotate_left(29);
        self.1 = (self.1.rotate_left(17) ^ x).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        self.1 ^= self.1 >> 31;
    }

    fn finish(&self) -> u128 {
        (u128::from(self.0 ^ self.0 >> 32) << 64) | u128::from(self.1)
    }
}

/// The terms of an index that mention axes, for hashing.
fn mix_index(h: &mut Hash128, index: &Index) {
    h.mix(index.terms().len() as u64);
    for (atom, c) in index.terms() {
        match atom {
            Atom::Axis(a) => h.mix(u64::from(a.0)),
            Atom::Div(i, d) | Atom::Mod(i, d) => {
                h.mix(if matches!(atom, Atom::Div(..)) { 1 << 61 } else { 1 << 62 });
                mix_index(h, i);
                mix_dim(h, d);
            }
            Atom::Min(m) | Atom::Max(m) => {
                h.mix((if matches!(atom, Atom::Min(_)) { 3 << 60 } else { 5 << 60 }) ^ m.len() as u64);
                m.iter().for_each(|i| mix_index(h, i));
            }
        }
        mix_dim(h, c);
    }
    mix_dim(h, index.offset());
}

fn mix_dim(h: &mut Hash128, dim: &Dim) {
    match dim.as_const() {
        Some(c) => h.mix(c as u64),
        None => {
            let text = dim.to_string();
            h.mix((1 << 63) ^ text.len() as u64);
            text.bytes().for_each(|b| h.mix(u64::from(b)));
        }
    }
}
