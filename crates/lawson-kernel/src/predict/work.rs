//! What a core does to run a kernel, in slots: arithmetic, loads, stores, and waiting for results.
//!
//! In: the outline of a kernel. Every loop that runs one iteration after another gets the work of its body; what does not
//! depend on a loop is done outside it, and once for all points of a jammed loop, as the emitter does. Where no
//! schedule has been chosen yet, a good one is assumed: full vectors, and operands of sums in registers. On a device all lanes share the
//! work but for recurrences, whose steps one lane does alone, each after the one before.

use super::Form;
use super::operation::{Operation, of_index};
use super::outline::{Item, Loop, interval, size};
use crate::buffer::BufferId;
use crate::expr::{Condition, Expr, ExprId, Load};
use crate::index::Index;
use crate::machine::{Machine, Spread};
use crate::tree::{AccId, AxisId, Kernel, Kind, Store};
use lawson_graph::{Bindings, DType};

/// The slots that each kind of unit is busy, and the least time by what waits for what.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Work {
    pub(super) arithmetic: f64,
    pub(super) loads: f64,
    pub(super) stores: f64,
    pub(super) chain: f64,
}

/// What bounds the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Arithmetic,
    Loads,
    Stores,
    Chain,
}

/// How what lanes read or write lies.
enum Spacing {
    /// It is one element.
    Same,
    /// Side by side.
    Beside,
    /// Anywhere.
    Apart,
}

/// The work of a whole kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Total {
    /// Slots, of all iterations.
    pub(super) slots: f64,
    pub(super) flops: f64,
    /// What most of the time goes into.
    pub(super) unit: Unit,
    /// How many shares there are for the members of a team.
    pub(super) shares: f64,
}

/// A vector that is loaded, and a number that is loaded for all lanes.
const VECTOR_LOAD: f64 = 1.0;
const NUMBER_LOAD: f64 = 0.5;
/// A lane of a load or store that does not lie beside its neighbour.
const LANE: f64 = 2.5;
const STORE: f64 = 1.4;
/// A scalar operation, as a part of a vector's: two fit in its slot.
const SCALAR: f64 = 0.5;
const MASK: f64 = 3.0;
/// A condition of a guard that must be evaluated where it stands.
const CONDITION: f64 = 2.4;
/// What a load takes more for each condition of its guard, if it must ask.
const GUARDED: f64 = 0.5;
/// The counter, the comparison and the jump of a loop; and its least iteration.
const LOOP: f64 = 0.7;
const LEAST_ITERATION: f64 = 1.5;
/// Finding the indices of a share, and of each of its iterations.
const ITERATION: f64 = 6.0;
/// Putting the lanes of a state together.
const MERGE: f64 = 8.0;
/// From so many iterations on, a loop is as slow as its chain.
const SOON: f64 = 8.0;
/// How much of the time until a stage's result is there shows in a loop around it: the processor goes on meanwhile.
const EXPOSED: f64 = 0.2;

impl Work {
    fn slots(&self) -> (f64, Unit) {
        let all = [
            (self.arithmetic, Unit::Arithmetic),
            (self.loads, Unit::Loads),
            (self.stores, Unit::Stores),
            (self.chain, Unit::Chain),
        ];
        let most = all.into_iter().fold(all[0], |a, b| if b.0 > a.0 { b } else { a });
        // Units share the front end: what is beside the greatest does not come for nothing.
        let rest =
            self.arithmetic + self.loads + self.stores - if most.1 == Unit::Chain { 0.0 } else { most.0 };
        let front = (most.0 + rest) * 0.42;
        (most.0.max(front), most.1)
    }
}

/// A loop that is being counted, or what stands outside of all.
struct Frame {
    bit: u128,
    /// How often its body runs.
    runs: f64,
    work: Work,
    /// The slots of the loops inside.
    inside: f64,
    /// By unit, how much of `inside` it bounds.
    units: [f64; 4],
    /// How long one waits for the results of the stages.
    wait: f64,
    seen: Vec<ExprId>,
    conditions: Vec<Condition>,
}

pub(super) struct Worker<'k> {
    kernel: &'k Kernel,
    machine: &'k Machine,
    bindings: &'k Bindings,
    form: Form,
    /// By axis: its first and last value, while its loop is entered.
    values: Vec<(i64, i64)>,
    frames: Vec<Frame>,
    /// Jammed loops: axis, iterations.
    points: Vec<(u128, f64)>,
    /// The loop whose iterations are lanes: axis, iterations.
    vector: Option<(AxisId, f64)>,
    /// All loops that are entered.
    entered: u128,
    /// By expression: the axes that it depends on, once known.
    masks: Vec<Option<u128>>,
    /// By accumulator: the loops around it.
    around: Vec<Option<u128>>,
    flops: f64,
    /// Shares of the nest that is entered, and of all nests at the root.
    shares: f64,
    all_shares: f64,
    /// Slots of the longest recurrence, of one lane.
    alone: f64,
}

/// Depends on everything.
const ALL: u128 = u128::MAX;

fn bit(axis: AxisId) -> u128 {
    1 << axis.0.min(127)
}

impl<'k> Worker<'k> {
    pub(super) fn new(
        kernel: &'k Kernel,
        machine: &'k Machine,
        bindings: &'k Bindings,
        form: Form,
    ) -> Worker<'k> {
        Worker {
            kernel,
            machine,
            bindings,
            form,
            values: vec![(0, 0); kernel.axes.len()],
            frames: Vec::new(),
            points: Vec::new(),
            vector: None,
            entered: 0,
            masks: vec![None; kernel.exprs.len()],
            around: vec![None; kernel.accs.len()],
            flops: 0.0,
            shares: 1.0,
            all_shares: 0.0,
            alone: 0.0,
        }
    }

    /// The work of the whole kernel.
    pub(super) fn total(mut self, items: &[Item<'k>]) -> Total {
        self.open(0, 1.0);
        self.items(items);
        let Some(frame) = self.frames.pop() else {
            return Total { slots: 0.0, flops: 0.0, unit: Unit::Arithmetic, shares: 1.0 };
        };
        let (own, unit) = frame.work.slots();
        let mut units = frame.units;
        units[unit as usize] += own;
        let names = [Unit::Arithmetic, Unit::Loads, Unit::Stores, Unit::Chain];
        let most = (0..4).fold(0, |a, b| if units[b] > units[a] { b } else { a });
        let mut unit = names[most];
        let mut slots = own + frame.inside + frame.wait * EXPOSED;
        if self.form == Form::Natural {
            slots /= self.machine.lanes as f64;
        }
        // Nothing else is in flight in a lane that waits for its own results.
        let alone = self.alone * self.machine.fma_in_flight as f64;
        if self.machine.spread == Spread::Grid && alone > slots {
            (slots, unit) = (alone, Unit::Chain);
        }
        Total { slots, flops: self.flops, unit, shares: self.all_shares.max(1.0) }
    }

    fn open(&mut self, bit: u128, trips: f64) {
        let work = Work::default();
        let runs = self.frames.last().map_or(1.0, |f| f.runs) * trips;
        self.frames.push(Frame {
            bit,
            runs,
            work,
            inside: 0.0,
            units: [0.0; 4],
            wait: 0.0,
            seen: Vec::new(),
            conditions: Vec::new(),
        });
    }

    /// The slots of loops inside the one that is being counted, so far.
    fn inside(&self) -> f64 {
        self.frames.last().map_or(0.0, |f| f.inside)
    }

    fn items(&mut self, items: &[Item<'k>]) {
        for item in items {
            match item {
                Item::Loop(l) => self.enter(l),
                Item::Accumulate { acc, items } => {
                    self.around[acc.0 as usize] = Some(self.entered);
                    let lanes_outside = self.vector.is_some();
                    let before = self.inside();
                    self.items(items);
                    if self.kernel.acc(*acc).merge.is_none() {
                        self.alone = self.alone.max(self.inside() - before);
                    }
                    if !lanes_outside
                        && has_vector(items)
                        && let Some(frame) = self.frames.last_mut()
                    {
                        frame.inside += MERGE;
                        frame.units[Unit::Chain as usize] += MERGE;
                    }
                }
                Item::Step { acc, values } => self.step(*acc, values),
                Item::Store(store) => self.store(store),
            }
        }
    }

    fn enter(&mut self, l: &Loop<'k>) {
        let outside = self.entered;
        self.entered |= bit(l.axis);
        self.values[l.axis.0 as usize] = l.span(l.trips);
        match l.kind {
            Kind::Jam => {
                self.points.push((bit(l.axis), l.mean));
                self.items(&l.items);
                self.points.pop();
            }
            Kind::Vector(_) => {
                let before = self.vector.replace((l.axis, l.mean));
                self.items(&l.items);
                self.vector = before;
            }
            Kind::Serial | Kind::Unroll | Kind::Dot | Kind::Skip | Kind::Parallel => {
                let before = self.shares;
                if l.kind == Kind::Parallel {
                    self.shares *= l.mean;
                }
                self.open(bit(l.axis), l.mean);
                self.items(&l.items);
                self.close(l);
                // Nests at the root are shared side by side.
                if self.frames.len() == 1 {
                    self.all_shares += self.shares;
                    self.shares = before;
                }
            }
        }
        self.entered = outside;
    }

    fn close(&mut self, l: &Loop<'k>) {
        let Some(mut frame) = self.frames.pop() else { return };
        // Chains of loops that end soon run beside each other.
        frame.work.chain *= (l.mean / SOON).min(1.0);
        let (own, unit) = frame.work.slots();
        let overhead = match l.kind {
            Kind::Parallel => ITERATION,
            Kind::Unroll | Kind::Dot => 0.0,
            _ => LOOP,
        };
        let least = if self.form == Form::Natural { 0.0 } else { LEAST_ITERATION };
        let each = own.max(least - frame.inside) + frame.inside + overhead;
        let Some(outer) = self.frames.last_mut() else { return };
        outer.inside += each * l.mean + frame.wait * EXPOSED;
        for (to, from) in outer.units.iter_mut().zip(frame.units) {
            *to += from * l.mean;
        }
        outer.units[unit as usize] += own * l.mean;
    }

    /// The axes that an expression depends on.
    fn mask(&mut self, e: ExprId) -> u128 {
        if let Some(mask) = self.masks[e.0 as usize] {
            return mask;
        }
        let expr = self.kernel.expr(e);
        let mut mask = match expr {
            Expr::State(..) | Expr::Other(..) => ALL,
            Expr::Result(acc, _) => self.around[acc.0 as usize].unwrap_or(ALL),
            _ => 0,
        };
        expr.visit_indices(&mut |i| mask |= self.index_mask(i));
        let mut operands = Vec::new();
        expr.visit_operands(&mut |o| operands.push(o));
        for o in operands {
            mask |= self.mask(o);
        }
        self.masks[e.0 as usize] = Some(mask);
        mask
    }

    fn index_mask(&self, index: &Index) -> u128 {
        let mut mask = 0;
        index.visit_axes(&mut |a| {
            mask |= match &self.kernel.axis(a).derived {
                Some(derived) => self.index_mask(derived),
                None => bit(a),
            };
        });
        mask
    }

    /// The points of jammed loops that differ for something that depends on these axes.
    fn points(&self, mask: u128) -> f64 {
        self.points.iter().filter(|(b, _)| mask & b != 0).map(|(_, n)| n).product()
    }

    /// The innermost loop that something depends on, by its frame.
    fn place(&self, mask: u128) -> usize {
        let inside = |f: &Frame| f.bit != 0 && mask & f.bit != 0;
        if mask == ALL {
            return self.frames.len() - 1;
        }
        self.frames.iter().rposition(inside).unwrap_or(0)
    }

    /// Counts an expression and what it is made of, where it is computed; gives how long one waits for it.
    fn value(&mut self, e: ExprId) -> f64 {
        let expr = self.kernel.expr(e);
        if matches!(expr, Expr::Const(_) | Expr::State(..) | Expr::Other(..) | Expr::Result(..)) {
            return 0.0;
        }
        let mask = self.mask(e);
        let place = self.place(mask);
        if self.frames[place].seen.contains(&e) {
            return 0.0;
        }
        self.frames[place].seen.push(e);
        let mut operands = Vec::new();
        expr.visit_operands(&mut |o| operands.push(o));
        let mut wait: f64 = 0.0;
        for o in operands {
            wait = wait.max(self.value(o));
        }
        let points = self.points(mask);
        if let Expr::Load(load) = expr {
            self.frames[place].work.loads += self.load(load) * points;
            let found: f64 = load.index.iter().map(of_index).sum();
            self.frames[place].work.arithmetic += found * points;
            self.conditions(load);
            return wait + 5.0;
        }
        let cost = Operation::of(self.kernel, expr);
        let lanes = self.lanes(mask);
        let is_mask = matches!(expr, Expr::Select(..)) || self.kernel.dtype(e) == DType::Bool;
        let scale = match (lanes, self.form) {
            (Some(_), _) | (_, Form::Natural) => 1.0,
            // One truth goes through masks as sixteen do, and there are few of those.
            _ if is_mask => MASK,
            _ => SCALAR,
        };
        // Division and its like take less for a scalar; everything else is counted as two a slot.
        self.frames[place].work.arithmetic += cost.slots * scale * points;
        self.flops += cost.flops * self.frames[place].runs * points * lanes.unwrap_or(1.0);
        wait + cost.latency
    }

    /// The iterations of the vector loop, for what depends on it.
    fn lanes(&self, mask: u128) -> Option<f64> {
        self.vector.filter(|(a, _)| mask & bit(*a) != 0).map(|(_, n)| n)
    }

    /// Counts the conditions that guard a load, each once, where they are decided. Those that always hold are not.
    fn conditions(&mut self, load: &Load) {
        let Some(guard) = load.guard.as_ref().filter(|_| self.form == Form::Scheduled) else { return };
        let mut asks = false;
        for c in &guard.conditions {
            let (lo, hi) = interval(self.kernel, self.bindings, &self.values, &c.index);
            if lo >= 0 && size(&c.end, self.bindings).is_ok_and(|end| hi < end) {
                continue;
            }
            asks = true;
            let mask = self.index_mask(&c.index);
            let place = self.place(mask);
            if !self.frames[place].conditions.contains(c) {
                self.frames[place].conditions.push(c.clone());
                let slots = CONDITION + of_index(&c.index);
                self.frames[place].work.arithmetic += slots * self.points(mask);
            }
        }
        // What several conditions say together is put together for each load.
        if asks && let Some(frame) = self.frames.last_mut() {
            let each = if self.vector.is_some() { GUARDED } else { GUARDED * MASK };
            frame.work.arithmetic += each * guard.conditions.len() as f64;
        }
    }

    /// The slots of a load.
    fn load(&self, load: &Load) -> f64 {
        if self.form == Form::Natural {
            // Operands of sums stay in registers, or come once for many.
            let reused = self.around.iter().any(Option::is_some);
            return if reused { 0.25 } else { VECTOR_LOAD };
        }
        let wide = (self.kernel.buffer(load.buffer).dtype.bits() as f64 / 32.0).max(1.0);
        match self.vector {
            None => NUMBER_LOAD,
            Some((axis, n)) => match self.spacing(load.buffer, &load.index, axis) {
                Spacing::Same => NUMBER_LOAD,
                Spacing::Beside => VECTOR_LOAD * wide,
                Spacing::Apart => LANE * n,
            },
        }
    }

    /// How elements lie along an axis, as the first of them do.
    fn spacing(&self, buffer: BufferId, index: &[Index], axis: AxisId) -> Spacing {
        let mut apart = false;
        for i in index {
            i.visit_data(&mut |d| apart |= d.index.iter().any(|i| self.index_mask(i) & bit(axis) != 0));
        }
        if apart {
            return Spacing::Apart;
        }
        let first = self.values[axis.0 as usize].0;
        let at = |n: i64| self.offset(buffer, index, axis, first + n);
        match (at(0), at(1)) {
            (Some(a), Some(b)) if a == b => Spacing::Same,
            (Some(a), Some(b)) if b - a == 1 => Spacing::Beside,
            _ => Spacing::Apart,
        }
    }

    /// Where an element lies if an axis has this value and all others their first, and data that decide it are 0.
    fn offset(&self, buffer: BufferId, index: &[Index], axis: AxisId, value: i64) -> Option<i64> {
        let parameter = |s: &lawson_graph::Symbol| self.bindings.get(s);
        let mut sum = 0i64;
        for digit in &self.kernel.buffer(buffer).layout.digits {
            let i = index[digit.dim].eval(&|a| self.axis(a, axis, value), &parameter, &|_, _| Some(0))?;
            let i = i.div_euclid(digit.divide.max(1));
            let i = digit.modulo.map_or(i, |m| i.rem_euclid(m.max(1)));
            sum = sum.checked_add(i.checked_mul(digit.stride.eval(&parameter)?)?)?;
        }
        Some(sum)
    }

    fn axis(&self, a: AxisId, axis: AxisId, value: i64) -> Option<i64> {
        match &self.kernel.axis(a).derived {
            Some(index) => {
                index.eval(&|b| self.axis(b, axis, value), &|s| self.bindings.get(s), &|_, _| None)
            }
            None if a == axis => Some(value),
            None => Some(self.values[a.0 as usize].0),
        }
    }

    fn step(&mut self, acc: AccId, values: &[ExprId]) {
        let mut wait: f64 = 0.0;
        for v in values {
            wait = wait.max(self.value(*v));
        }
        let chain = values.iter().map(|v| self.chain(*v, acc).unwrap_or(0.0)).fold(0.0, f64::max);
        if let Some(frame) = self.frames.last_mut() {
            frame.wait = frame.wait.max(wait);
            if self.form == Form::Scheduled {
                frame.work.chain = frame.work.chain.max(chain);
            }
        }
    }

    /// How long a state waits for the one before it.
    fn chain(&self, e: ExprId, acc: AccId) -> Option<f64> {
        let expr = self.kernel.expr(e);
        if let Expr::State(a, _) = expr {
            return (*a == acc).then_some(0.0);
        }
        let mut longest: Option<f64> = None;
        expr.visit_operands(&mut |o| {
            if let Some(before) = self.chain(o, acc) {
                longest = Some(longest.unwrap_or(0.0).max(before));
            }
        });
        let before = longest?;
        // One multiply-add of those that must be in flight is half as long as two units take for all of them.
        let scale = self.machine.fma_in_flight as f64 / 8.0;
        Some(before + Operation::of(self.kernel, expr).latency.min(4.0) * scale)
    }

    fn store(&mut self, store: &Store) {
        let wait = self.value(store.value);
        let mut mask = self.mask(store.value);
        for i in &store.index {
            mask |= self.index_mask(i);
        }
        let points = self.points(mask);
        let slots = match self.vector {
            _ if self.form == Form::Natural => STORE,
            None => 1.0,
            Some((axis, n)) => match self.spacing(store.buffer, &store.index, axis) {
                Spacing::Same | Spacing::Beside => STORE,
                Spacing::Apart => LANE * n,
            },
        };
        if let Some(frame) = self.frames.last_mut() {
            frame.work.stores += slots * points;
            frame.wait = frame.wait.max(wait);
        }
    }
}

/// Whether a loop inside is executed in lanes.
fn has_vector(items: &[Item<'_>]) -> bool {
    items.iter().any(|i| match i {
        Item::Loop(l) => matches!(l.kind, Kind::Vector(_)) || has_vector(&l.items),
        Item::Accumulate { items, .. } => has_vector(items),
        Item::Step { .. } | Item::Store(_) => false,
    })
}
