//! Where a value is computed and what it is known by: dependences of expressions, the outermost loop that they allow, keys.

use super::hash::{Hash128, IdSet, Key, mix_atom, mix_index};
use super::{Lowering, VectorLoop};
use lawson_kernel::{AccId, Atom, AxisId, BufferId, Condition, Expr, ExprId, For, Index, Node, Scope, Truth};
use std::borrow::Cow;

/// What is known around a loop that may be empty. A load may move out of it only if it lies inside its buffer even so.
#[derive(Clone)]
pub(super) struct Outside<'k> {
    pub(super) scope: Scope<'k>,
    /// Tells it from all others.
    pub(super) number: u32,
}

/// What an expression depends on.
#[derive(Clone, Default)]
pub(super) struct Depends {
    /// Axes that loops run over, sorted.
    pub(super) axes: Vec<AxisId>,
    /// Buffers that the kernel also stores to.
    pub(super) written: Vec<BufferId>,
    /// Accumulators whose result it reads.
    pub(super) results: Vec<AccId>,
    /// Whether it reads the state of an accumulator.
    pub(super) state: bool,
    /// The loads in it.
    pub(super) loads: Vec<ExprId>,
    /// The expressions in it whose indices mention integers in memory.
    pub(super) data: Vec<ExprId>,
    /// How many expressions and stages read it.
    pub(super) readers: u32,
    /// For a load: how many of them there are at most in one loop that it has to be made in.
    pub(super) together: u32,
    /// How many operations it takes, what it shares counted every time.
    pub(super) work: u32,
    /// For a load: on what conditions, over the axes that loops run over.
    pub(super) conditions: Vec<Condition>,
    /// For a load: where, in elements.
    pub(super) offset: Option<Index>,
}

/// A load, the loop that it has to be made in, and an expression or a stage that reads it there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Reading {
    load: ExprId,
    in_loop: u32,
    reader: ExprId,
}

/// The readings found so far, and the loops around.
struct Readings {
    loops: Vec<(Option<AxisId>, u32)>,
    number: u32,
    found: Vec<Reading>,
}

pub(super) fn stored(nodes: &[Node], into: &mut IdSet<BufferId>) {
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
    pub(super) fn find_dependences(&mut self) {
        let mut written = IdSet::default();
        stored(&self.k.body, &mut written);
        let mut all: Vec<Depends> = Vec::with_capacity(self.k.exprs.len());
        let used = self.used();
        for (n, e) in self.k.exprs.iter().enumerate() {
            let mut d = Depends::default();
            // Where a load that nothing needs any more would lie, nobody asks.
            if !used[n] && matches!(e, Expr::Load(_)) {
                e.visit_operands(&mut |o| all[o.0 as usize].readers += 1);
                all.push(d);
                continue;
            }
            e.visit_operands(&mut |o| {
                let of = &all[o.0 as usize];
                sorted_union(&mut d.axes, &of.axes);
                sorted_union(&mut d.written, &of.written);
                sorted_union(&mut d.results, &of.results);
                sorted_union(&mut d.loads, &of.loads);
                sorted_union(&mut d.data, &of.data);
                d.state |= of.state;
                d.work = d.work.saturating_add(of.work);
            });
            d.work = d.work.saturating_add(1);
            e.visit_operands(&mut |o| all[o.0 as usize].readers += 1);
            e.visit_indices(&mut |i| {
                if i.has_data() {
                    sorted_union(&mut d.data, &[ExprId(n as u32)]);
                }
            });
            let mut axes = Vec::new();
            let mut add = |i: &Index| self.k.resolve(i).visit_axes(&mut |a| sorted_union(&mut axes, &[a]));
            match e {
                Expr::Load(load) => {
                    let offset = self.k.resolve(&self.k.buffer(load.buffer).layout.offset(&load.index));
                    add(&offset);
                    d.offset = Some(offset);
                    sorted_union(&mut d.loads, &[ExprId(n as u32)]);
                    if let Some(g) = &load.guard {
                        let resolved =
                            |c: &Condition| Condition { index: self.k.resolve(&c.index), end: c.end.clone() };
                        d.conditions = g.conditions.iter().map(resolved).collect();
                        d.conditions.iter().for_each(|c| add(&c.index));
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
        let mut readings = Readings { loops: vec![(None, 0)], number: 0, found: Vec::new() };
        self.find_readings(&self.k.body, &mut readings);
        readings.found.sort_unstable();
        readings.found.dedup();
        for made in readings.found.chunk_by(|a, b| (a.load, a.in_loop) == (b.load, b.in_loop)) {
            let d = &mut self.depends[made[0].load.0 as usize];
            d.together = d.together.max(made.len() as u32);
        }
    }

    /// Who reads loads, and in which loop these have to be made: the innermost over an axis of theirs.
    fn find_readings(&self, nodes: &[Node], readings: &mut Readings) {
        for node in nodes {
            match node {
                Node::For(f) => {
                    readings.number += 1;
                    readings.loops.push((Some(f.axis), readings.number));
                    self.find_readings(&f.body, readings);
                    readings.loops.pop();
                }
                Node::Accumulate { body, .. } => self.find_readings(body, readings),
                Node::Step { values, .. } => self.find_readers(values, readings),
                Node::Store(s) => self.find_readers(&[s.value], readings),
                Node::Prefetch { .. } => {}
            }
        }
    }

    /// The readers of loads among what a stage computes, and the stage itself.
    fn find_readers(&self, roots: &[ExprId], readings: &mut Readings) {
        let stage = ExprId(u32::MAX - readings.found.len() as u32);
        roots.iter().for_each(|root| self.add_reading(*root, stage, readings));
        self.k.visit_below(roots, &mut |reader, e| {
            if self.depends[reader.0 as usize].loads.is_empty() {
                return;
            }
            e.visit_operands(&mut |o| self.add_reading(o, reader, readings));
        });
    }

    fn add_reading(&self, load: ExprId, reader: ExprId, readings: &mut Readings) {
        if matches!(self.k.expr(load), Expr::Load(_)) {
            let axes = &self.depends[load.0 as usize].axes;
            let over =
                |(axis, _): &&(Option<AxisId>, u32)| axis.is_none_or(|a| axes.binary_search(&a).is_ok());
            let in_loop = readings.loops.iter().rev().find(over).map_or(0, |(_, number)| *number);
            readings.found.push(Reading { load, in_loop, reader });
        }
    }

    /// Which expressions the tree needs.
    fn used(&self) -> Vec<bool> {
        let mut roots: Vec<ExprId> = Vec::new();
        self.k.visit(&mut |n| match n {
            Node::Step { values, .. } => roots.extend(values),
            Node::Store(s) => roots.push(s.value),
            _ => {}
        });
        for acc in &self.k.accs {
            roots.extend(acc.state.iter().map(|s| s.init));
            roots.extend(acc.merged());
        }
        let mut used = vec![false; self.k.exprs.len()];
        self.k.visit_below(&roots, &mut |e, _| used[e.0 as usize] = true);
        used
    }

    /// What is known here.
    pub(super) fn outside(&mut self) -> Outside<'k> {
        self.places += 1;
        Outside { scope: self.scope.clone(), number: self.places }
    }

    /// Values read from a buffer are not current any more.
    pub(super) fn forget_loads(&mut self, buffer: BufferId) {
        let depends = &self.depends;
        let stale = |e: &ExprId| depends[e.0 as usize].written.binary_search(&buffer).is_ok();
        // Most of what is stored is never read in the same kernel.
        if !(0..depends.len() as u32).any(|e| stale(&ExprId(e))) {
            return;
        }
        for frame in &mut self.frames {
            frame.values.retain(|_, (e, _)| !stale(e));
        }
    }

    /// The outermost frame in which an expression can be computed.
    pub(super) fn depth(&self, e: ExprId) -> usize {
        self.standing(e).1
    }

    /// Whether an expression is bound to the lanes, and the outermost frame in which it can be computed. For most expressions both are
    /// the same at all points of a stage, and worked out once.
    pub(super) fn standing(&self, e: ExprId) -> (bool, usize) {
        let at = e.0 as usize;
        let (stage, bound, depth) = self.standings.borrow()[at];
        if stage == self.stage && self.around.is_some() {
            return (bound, depth);
        }
        let d = &self.depends[at];
        let bound = self.bound_to_lanes(e);
        if d.state {
            return (bound, self.here());
        }
        let steady = self.vector.as_ref().is_none_or(|v| {
            let reads = !d.loads.is_empty() && d.axes.binary_search(&v.axis).is_err();
            v.end.terms().is_empty() && (!reads || self.has_lanes(v))
        });
        let least = self.least_depth(e, bound);
        let asks = !d.loads.is_empty() && self.frames[least + 1..].iter().any(|f| f.outside.is_some());
        let depth = if asks { self.depth_of_loads(e, least) } else { least };
        if steady && !asks && d.data.is_empty() {
            self.standings.borrow_mut()[at] = (self.stage, bound, depth);
        }
        (bound, depth)
    }

    /// The outermost frame that an expression's axes and operands allow.
    fn least_depth(&self, e: ExprId, bound: bool) -> usize {
        let d = &self.depends[e.0 as usize];
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
        if let Some(v) = self.vector.as_ref().filter(|_| bound) {
            depth = depth.max(self.index_depth(&self.lanes_end(v)));
        }
        for e in &d.data {
            depth = depth.max(self.depth_of_indices(*e));
        }
        depth
    }

    /// The outermost frame, but not outside of `depth`, in which all loads of an expression are inside their buffers.
    fn depth_of_loads(&self, e: ExprId, mut depth: usize) -> usize {
        for load in &self.depends[e.0 as usize].loads {
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
    pub(super) fn bound_to_lanes(&self, e: ExprId) -> bool {
        let Some(v) = &self.vector else { return false };
        let d = &self.depends[e.0 as usize];
        if d.axes.binary_search(&v.axis).is_ok() {
            return true;
        }
        let reads = !d.loads.is_empty() || !d.data.is_empty();
        reads
            && !self.has_lanes(v)
            && (d.loads.iter().any(|l| !self.is_inside(*l, &v.outside))
                || d.data.iter().any(|e| self.data_need_lanes(*e, v)))
    }

    /// Whether the vector loop has, at this point, a lane for sure.
    pub(super) fn has_lanes(&self, v: &VectorLoop<'k>) -> bool {
        self.scope.interval(&self.lanes_end(v)).0.is_some_and(|e| e >= 1)
    }

    /// Where the vector loop ends at this point.
    pub(super) fn lanes_end<'v>(&self, v: &'v VectorLoop<'k>) -> Cow<'v, Index> {
        // It was as simple as it can be when the loop was entered, and moves with axes at most.
        match v.end.terms() {
            [] => Cow::Borrowed(&v.end),
            _ => Cow::Owned(self.scope.simplify(&v.end)),
        }
    }

    /// Whether a load is inside its buffer even where a loop around it is empty.
    pub(super) fn is_inside(&self, load: ExprId, outside: &Outside<'k>) -> bool {
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

    /// Gives `f` the offset of a load, as simple as it is at all points of the stage, which is worked out once.
    pub(super) fn with_offset<T>(&self, load: ExprId, f: impl FnOnce(&Index) -> T) -> Option<T> {
        let offset = self.depends[load.0 as usize].offset.as_ref()?;
        let Some(around) = &self.around else { return Some(f(offset)) };
        let mut simpler = self.simpler.borrow_mut();
        Some(f(simpler.entry(load).or_insert_with(|| around.simplify(offset))))
    }

    /// Where a load lies at this point, in elements.
    pub(super) fn offset_of(&self, load: ExprId) -> Option<Index> {
        self.with_offset(load, |common| self.scope.simplify(common))
    }

    /// Mixes where a load lies at this point. Of a sum of axes, only the number that those with one value come to is new, and
    /// no index is written down.
    pub(super) fn mix_offset(&self, h: &mut Hash128, load: ExprId) -> Option<()> {
        self.with_offset(load, |common| {
            if self.mix_plain(h, common).is_none() {
                h.mix(1);
                mix_index(h, &self.scope.simplify(common));
            }
        })
    }

    /// Mixes a sum of axes, each times a number; does nothing if the index is no such sum.
    fn mix_plain(&self, h: &mut Hash128, index: &Index) -> Option<()> {
        let mut mixed = *h;
        mixed.mix(2);
        let mut number = index.offset().as_const()?;
        for (atom, c) in index.terms() {
            let (Atom::Axis(a), Some(by)) = (atom, c.as_const()) else { return None };
            match self.scope.value(*a) {
                Some(value) => number = number.checked_add(by.checked_mul(value)?)?,
                None => {
                    mix_atom(&mut mixed, atom);
                    mixed.mix(by as u64);
                }
            }
        }
        mixed.mix(number as u64);
        *h = mixed;
        Some(())
    }

    /// Whether a load takes place at this point: all its conditions hold, or one of them never does.
    pub(super) fn takes_place(&self, load: ExprId) -> Truth {
        if self.granted.contains(&load) {
            return Truth::Always;
        }
        let known = &mut self.truths.borrow_mut()[load.0 as usize];
        if known.0 == self.point {
            return known.1;
        }
        let mut all = Truth::Always;
        for c in &self.depends[load.0 as usize].conditions {
            match self.scope.holds_of(&c.index, &c.end) {
                Truth::Always => {}
                Truth::Sometimes => all = Truth::Sometimes,
                Truth::Never => {
                    all = Truth::Never;
                    break;
                }
            }
        }
        *known = (self.point, all);
        all
    }

    /// Mixes the values of those of the axes that are jammed or unrolled.
    pub(super) fn mix_fixed(&self, h: &mut Hash128, axes: &[AxisId]) {
        for a in axes {
            if let Some(v) = self.fixed[a.0 as usize] {
                h.mix(u64::from(a.0).rotate_left(40) ^ v as u64);
            }
        }
    }

    /// Mixes what tells the lanes here from those of other vector loops and points.
    pub(super) fn mix_lanes(&self, h: &mut Hash128) {
        if let Some(v) = &self.vector {
            h.mix(u64::MAX ^ u64::from(v.instance));
            // One that moves with no axis is the same throughout the loop.
            if !v.end.terms().is_empty() {
                mix_index(h, &self.lanes_end(v));
            }
        }
    }

    pub(super) fn index_depth(&self, index: &Index) -> usize {
        index.terms().iter().map(|(atom, _)| self.atom_depth(atom)).max().unwrap_or(0)
    }

    pub(super) fn atom_depth(&self, atom: &Atom) -> usize {
        let mut depth = 0;
        atom.visit_axes(&mut |a| {
            if let Some((frame, _)) = self.dynamic[a.0 as usize] {
                depth = depth.max(frame);
            }
        });
        match atom {
            Atom::Axis(_) => depth,
            _ => self.data_depth(atom, depth),
        }
    }

    /// What an expression's value is known by here.
    pub(super) fn key(&self, e: ExprId) -> Key {
        self.key_if(e, self.bound_to_lanes(e))
    }

    /// The same, where it is known whether the expression is bound to the lanes.
    pub(super) fn key_if(&self, e: ExprId, bound: bool) -> Key {
        let d = &self.depends[e.0 as usize];
        let mut h = Hash128::new(u64::from(e.0));
        self.mix_fixed(&mut h, &d.axes);
        if bound {
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
