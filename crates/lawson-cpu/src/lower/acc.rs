//! Accumulators: state in registers, one set a point of the jammed axes.
//!
//! Jammed and vector loops *inside* an accumulation reduce: each of their points has a state of its own, started from the
//! identity, and the states are merged at the end in an order that the tree alone decides.

use super::Lowering;
use super::forms::floats;
use super::hash::{Hash128, Key, KeyMap};
use crate::asm::{Vec2Imm, Vec3, Vec3Imm, Width};
use crate::code::{Class, Op, Src, V};
use crate::error::{Result, Unsupported};
use lawson_graph::DType;
use lawson_graph::op::BinaryKind;
use lawson_kernel::{AccId, AxisId, Expr, ExprId, Extremum, For, Index, Kind, Node, Scalar, Truth};
use std::rc::Rc;

/// An accumulator that is being stepped, or whose result is known.
pub(super) struct AccState {
    /// Jammed and unrolled axes around the accumulation.
    pub(super) outer: Vec<AxisId>,
    /// Jammed axes inside it, with their values.
    inner: Vec<(AxisId, Vec<i64>)>,
    /// The components of the state at each point, by the values of the outer and inner axes.
    states: KeyMap<Rc<[V]>>,
    /// Whether the lanes of a vector hold states to be merged.
    pub(super) lanes: bool,
    /// The loop that the accumulation stands in.
    pub(super) frame: usize,
}

/// A step that is one instruction on the register of a state.
enum InPlace {
    /// The product of two is added to it.
    Product(ExprId, ExprId),
    /// An instruction with one operand more.
    By(Vec3, ExprId),
}

/// Jammed axes and vector loops on the way to the steps of an accumulator.
fn reducing(
    nodes: &[Node],
    acc: AccId,
    lanes: &mut bool,
    jams: &mut Vec<(AxisId, Index, Index, i64)>,
) -> bool {
    let mut found = false;
    for node in nodes {
        match node {
            Node::Step { acc: a, .. } => found |= *a == acc,
            Node::Accumulate { body, .. } => found |= reducing(body, acc, lanes, jams),
            Node::For(For { axis, begin, end, step, kind, body }) => {
                if !reducing(body, acc, lanes, jams) {
                    continue;
                }
                found = true;
                match kind {
                    Kind::Vector(_) => *lanes = true,
                    Kind::Jam => jams.push((*axis, begin.clone(), end.clone(), *step)),
                    Kind::Parallel | Kind::Serial | Kind::Unroll | Kind::Dot | Kind::Skip => {}
                }
            }
            Node::Store(_) | Node::Prefetch { .. } => {}
        }
    }
    found
}

impl<'k> Lowering<'k> {
    pub(super) fn accumulate(&mut self, acc: AccId, body: &'k [Node]) -> Result<()> {
        let k = self.k;
        self.comment(|k| format!("accumulate {}", k.acc(acc).name));
        let mut lanes = false;
        let mut jams = Vec::new();
        reducing(body, acc, &mut lanes, &mut jams);
        let mut inner: Vec<(AxisId, Vec<i64>)> = Vec::new();
        for (axis, begin, end, step) in jams {
            let bound = |i: &Index| self.scope.simplify(&k.resolve(i)).as_const();
            let (Some(b), Some(e)) = (bound(&begin), bound(&end)) else {
                return Err(Unsupported::new("a jammed loop without constant bounds"));
            };
            let values: Vec<i64> = (0..(e - b + step - 1).div_euclid(step)).map(|i| b + i * step).collect();
            if values.is_empty() {
                continue;
            }
            // The rungs of a ladder, and what was peeled, share states.
            match inner.iter_mut().find(|(a, _)| *a == axis) {
                Some((_, known)) => {
                    known.extend(values);
                    known.sort_unstable();
                    known.dedup();
                }
                None => inner.push((axis, values)),
            }
        }
        let partial = lanes || inner.iter().any(|(_, v)| v.len() > 1);
        let mut outer: Vec<AxisId> = self.jams.iter().map(|(a, _)| *a).collect();
        for (n, v) in self.fixed.iter().enumerate() {
            let axis = AxisId(n as u32);
            if v.is_some() && !outer.contains(&axis) {
                outer.push(axis);
            }
        }
        let here = self.here();
        // What was computed from an earlier accumulation is not current any more.
        if self.accs.contains_key(&acc) {
            let depends = &self.depends;
            for frame in &mut self.frames {
                frame.values.retain(|_, (e, _)| depends[e.0 as usize].results.binary_search(&acc).is_err());
            }
        }
        let combinations = combinations(&inner);
        let components = &k.acc(acc).state;
        let identity = match &k.acc(acc).merge {
            Some(merge) => merge.identity.as_slice(),
            None if partial => return Err(Unsupported::new("a recurrence whose steps are made together")),
            None => &[],
        };
        let wide: Vec<bool> = (0..components.len()).map(|c| self.has_wide_state(acc, c, body)).collect();
        let mut states: KeyMap<Rc<[V]>> = KeyMap::default();
        self.at_points(&mut |l| {
            let at = l.values_of(&outer);
            for inner in &combinations {
                let mut registers = Vec::new();
                for (n, (c, wide)) in components.iter().zip(&wide).enumerate() {
                    let class = if c.dtype == DType::Bool { Class::Mask } else { Class::Vector };
                    let dst = l.fresh_of(c.dtype);
                    let src = if partial { l.constant(identity[n])? } else { l.value(c.init)? };
                    l.move_to(dst, src, class, here);
                    if *wide {
                        let (high, src) = (l.fresh_like(dst), l.high(src, here));
                        l.move_to(high, src, class, here);
                        l.highs.insert(dst, high);
                    }
                    registers.push(dst);
                }
                states.insert(state_key(at.iter().chain(inner).copied()), registers.into());
            }
            Ok(())
        })?;
        let before =
            self.accs.insert(acc, AccState { outer: outer.clone(), inner, states, lanes, frame: here });
        drop(before);
        self.walk(body)?;
        if !partial {
            return self.settle(acc, &outer, here);
        }
        let mut merged: KeyMap<Rc<[V]>> = KeyMap::default();
        self.at_points(&mut |l| {
            let at = l.values_of(&outer);
            let mut all: Vec<Rc<[V]>> = Vec::new();
            for inner in &combinations {
                let key = state_key(at.iter().chain(inner).copied());
                let states = l.accs.get(&acc).and_then(|a| a.states.get(&key)).cloned();
                all.push(states.ok_or_else(|| Unsupported::new("a state that was never started"))?);
            }
            // A balanced tree, whatever the number of states.
            while all.len() > 1 {
                let half = all.len().div_ceil(2);
                let right = all.split_off(half);
                for (n, other) in right.into_iter().enumerate() {
                    all[n] = l.merge(acc, all[n].to_vec(), other.to_vec(), here)?.into();
                }
            }
            let Some(mut state) = all.pop().map(|s| s.to_vec()) else { return Ok(()) };
            if lanes {
                let mut distance = l.lanes / 2;
                while distance > 0 {
                    let other = state.iter().map(|v| l.shuffled(*v, distance, here)).collect();
                    state = l.merge(acc, state, other, here)?;
                    distance /= 2;
                }
            }
            if components.iter().zip(identity).any(|(c, i)| !l.is_constant(c.init, *i)) {
                let mut init = Vec::new();
                for c in components {
                    init.push(l.value(c.init)?);
                }
                state = l.merge(acc, init, state, here)?;
            }
            merged.insert(state_key(at.into_iter()), state.into());
            Ok(())
        })?;
        if let Some(state) = self.accs.get_mut(&acc) {
            state.states = merged;
            state.inner.clear();
        }
        Ok(())
    }

    /// Gives the results of an accumulation registers of their own. Where those do not suffice for what is made of the results, these wait in
    /// memory, and not the states, which the steps need.
    fn settle(&mut self, acc: AccId, outer: &[AxisId], depth: usize) -> Result<()> {
        let mut settled: KeyMap<Rc<[V]>> = KeyMap::default();
        self.at_points(&mut |l| {
            let Some(states) = l.registers(acc) else { return Ok(()) };
            let plain = |v: &V| l.classes[v.0 as usize] == Class::Vector && !l.highs.contains_key(v);
            if !states.iter().all(plain) {
                return Ok(());
            }
            let mut results = Vec::with_capacity(states.len());
            for src in states.iter() {
                let dst = l.fresh_like(*src);
                l.move_to(dst, *src, Class::Vector, depth);
                results.push(dst);
            }
            settled.insert(state_key(l.values_of(outer).into_iter()), results.into());
            Ok(())
        })?;
        if let Some(state) = self.accs.get_mut(&acc).filter(|_| !settled.is_empty()) {
            state.states = settled;
            state.inner.clear();
        }
        Ok(())
    }

    fn is_constant(&self, e: ExprId, value: Scalar) -> bool {
        matches!(self.k.expr(e), Expr::Const(s) if *s == value)
    }

    fn values_of(&self, axes: &[AxisId]) -> Vec<i64> {
        axes.iter().map(|a| self.fixed[a.0 as usize].unwrap_or(0)).collect()
    }

    fn move_to(&mut self, dst: V, src: V, class: Class, depth: usize) {
        let op = match class {
            Class::Mask => Op::MaskMove { dst, src },
            Class::Vector | Class::General => Op::Move { dst, src },
        };
        self.emit(depth, op);
    }

    /// The lanes of a vector `distance` further on, round about.
    fn shuffled(&mut self, v: V, distance: i64, depth: usize) -> V {
        if self.classes[v.0 as usize] == Class::Mask {
            let [lanes, result] = [Class::Vector, Class::Mask].map(|class| self.fresh(class));
            self.emit(depth, Op::MaskLanes { dst: lanes, src: v });
            let src = self.shuffled(lanes, distance, depth);
            self.emit(depth, Op::LanesMask { dst: result, src });
            return result;
        }
        let dst = self.fresh_like(v);
        if let Some(high) = self.highs.get(&v).copied() {
            let high = self.shuffled(high, distance, depth);
            self.highs.insert(dst, high);
        }
        let width = self.widths[v.0 as usize];
        let bytes = distance as usize * width.bytes() / self.lanes as usize;
        let op = match (bytes, width) {
            (32, _) => Op::Vec3Imm { op: Vec3Imm::Shuff32x4, dst, a: v, b: Src::Reg(v), imm: 0x4E },
            (16, Width::Z512) => Op::Vec3Imm { op: Vec3Imm::Shuff32x4, dst, a: v, b: Src::Reg(v), imm: 0xB1 },
            (16, _) => Op::Vec3Imm { op: Vec3Imm::Shuff32x4, dst, a: v, b: Src::Reg(v), imm: 0x01 },
            (8, _) => Op::Vec2Imm { op: Vec2Imm::Permilps, dst, src: Src::Reg(v), imm: 0x4E },
            _ => Op::Vec2Imm { op: Vec2Imm::Permilps, dst, src: Src::Reg(v), imm: 0xB1 },
        };
        self.emit(depth, op);
        dst
    }

    fn merge(&mut self, acc: AccId, state: Vec<V>, other: Vec<V>, _depth: usize) -> Result<Vec<V>> {
        let saved = std::mem::replace(&mut self.states, [Some((acc, state)), Some((acc, other))]);
        self.local.clear();
        let mut out = Vec::new();
        for e in self.k.acc(acc).merged() {
            out.push(self.value(*e)?);
        }
        self.states = saved;
        self.local.clear();
        Ok(out)
    }

    pub(super) fn state_of(&mut self, which: usize, acc: AccId, i: usize) -> Result<V> {
        match &self.states[which] {
            Some((a, v)) if *a == acc => Ok(v[i]),
            _ => match (which, self.registers(acc)) {
                (0, Some(v)) => Ok(v[i]),
                _ => Err(Unsupported::new("the state of an accumulator outside of its steps")),
            },
        }
    }

    /// The registers of an accumulator's state at this point.
    pub(super) fn registers(&self, acc: AccId) -> Option<Rc<[V]>> {
        let state = self.accs.get(&acc)?;
        let outer = state.outer.iter().map(|a| self.fixed[a.0 as usize].unwrap_or(0));
        let inner = state.inner.iter().map(|(axis, values)| {
            let first = values.first().copied().unwrap_or(0);
            self.fixed[axis.0 as usize].unwrap_or(first)
        });
        state.states.get(&state_key(outer.chain(inner))).cloned()
    }

    pub(super) fn result_of(&mut self, acc: AccId, i: usize) -> Result<V> {
        match self.registers(acc) {
            Some(v) => Ok(v[i]),
            None => {
                Err(Unsupported::new(format!("the result of `{}` before it is known", self.k.acc(acc).name)))
            }
        }
    }

    pub(super) fn step(&mut self, acc: AccId, values: &'k [ExprId]) -> Result<()> {
        self.at_points(&mut |l| {
            if l.empty_lanes() {
                return Ok(());
            }
            let registers =
                l.registers(acc).ok_or_else(|| Unsupported::new("a step outside of its accumulation"))?;
            let lanes = l.accs.get(&acc).is_some_and(|a| a.lanes);
            let mask = match (lanes, &l.vector) {
                (false, _) => None,
                (true, Some(_)) => l.lane_mask()?,
                // A step beside the vector loop is made by one lane alone.
                (true, None) => Some(l.first_lane()),
            };
            // Components that know nothing of each other are stepped one by one.
            if values.iter().enumerate().all(|(n, v)| l.steps_in_place(acc, n, *v).is_some()) {
                for ((n, value), dst) in values.iter().enumerate().zip(&registers[..]) {
                    l.step_in_place(acc, n, *value, *dst, mask)?;
                }
                return Ok(());
            }
            let mut new = Vec::new();
            let here = l.here();
            let mut registers = registers.to_vec();
            for v in values {
                new.push(l.value(*v)?);
            }
            // The halves of a wide component are components like others.
            for n in 0..values.len() {
                match l.highs.get(&registers[n]).copied() {
                    Some(high) => {
                        registers.push(high);
                        new.push(l.high(new[n], here));
                    }
                    None if l.highs.contains_key(&new[n]) => {
                        return Err(Unsupported::new("an i64 in a state of 32 bits"));
                    }
                    None => {}
                }
            }
            // Components that change places are read before either is written.
            for (n, src) in new.iter_mut().enumerate() {
                if registers[..n].contains(src) {
                    let class = l.classes[src.0 as usize];
                    let copy = l.fresh_like(*src);
                    l.move_to(copy, *src, class, here);
                    *src = copy;
                }
            }
            for (dst, src) in registers.into_iter().zip(new) {
                let class = l.classes[dst.0 as usize];
                match (mask, class) {
                    (_, _) if dst == src => {}
                    (None, _) => l.move_to(dst, src, class, here),
                    (Some(mask), Class::Vector) => l.emit(here, Op::MoveMasked { dst, src, mask }),
                    (Some(mask), _) => {
                        let kept = l.select(mask, src, dst, DType::Bool, here)?;
                        l.move_to(dst, kept, class, here);
                    }
                }
            }
            Ok(())
        })
    }

    /// The mask of the first lane.
    fn first_lane(&mut self) -> V {
        let dst = self.fresh(Class::Mask);
        let here = self.here();
        self.emit(here, Op::MaskConst { dst, bits: 1 });
        dst
    }

    /// The step of a component that is one instruction on its register, if it is: a sum, a fused product, an extremum, of what no state is part of.
    fn steps_in_place(&self, acc: AccId, n: usize, value: ExprId) -> Option<InPlace> {
        let k = self.k;
        let is_state = |e: ExprId| *k.expr(e) == Expr::State(acc, n);
        let forms = floats(k.dtype(value))?;
        let step = match k.expr(value) {
            Expr::Fma(a, b, c) if is_state(*c) => InPlace::Product(*a, *b),
            Expr::Binary(BinaryKind::Add, c, p) | Expr::Binary(BinaryKind::Add, p, c) if is_state(*c) => {
                match self.product_of(*p) {
                    Some((a, b)) => InPlace::Product(a, b),
                    None => InPlace::By(forms.add, *p),
                }
            }
            Expr::Binary(BinaryKind::Mul, c, p) if is_state(*c) => InPlace::By(forms.mul, *p),
            Expr::Extremum(Extremum::Max, c, p) if is_state(*c) => InPlace::By(forms.max, *p),
            Expr::Extremum(Extremum::Min, c, p) if is_state(*c) => InPlace::By(forms.min, *p),
            _ => return None,
        };
        let reads_state = |e: ExprId| self.depends[e.0 as usize].state;
        let free = match step {
            InPlace::Product(a, b) => !reads_state(a) && !reads_state(b),
            InPlace::By(_, p) => !reads_state(p),
        };
        free.then_some(step)
    }

    /// Steps a component by one instruction.
    fn step_in_place(&mut self, acc: AccId, n: usize, value: ExprId, dst: V, mask: Option<V>) -> Result<()> {
        let here = self.here();
        let (a, b) = match self.steps_in_place(acc, n, value) {
            Some(InPlace::Product(a, b)) => (a, b),
            Some(InPlace::By(op, value)) => {
                let b = match self.memory_operand(value)? {
                    Some(src) => src,
                    None => Src::Reg(self.value(value)?),
                };
                self.emit(here, Op::Update { op, dst, a: dst, b, mask });
                return Ok(());
            }
            None => return Err(Unsupported::new("a step of several instructions where one was seen")),
        };
        // Padding contributes nothing.
        if self.is_absent(a) || self.is_absent(b) {
            return Ok(());
        }
        // The one that only this point reads may stay in memory.
        let first = self.memory_operand(a)?;
        let (a, b) = match first {
            Some(src) => (self.value(b)?, src),
            None => {
                let a = self.value(a)?;
                match self.memory_operand(b)? {
                    Some(src) => (a, src),
                    None => (a, Src::Reg(self.value(b)?)),
                }
            }
        };
        let Some(forms) = floats(self.k.dtype(value)) else {
            return Err(Unsupported::new("a fused product of what are no floats"));
        };
        self.emit(here, Op::Update { op: forms.fused[0][0], dst, a, b, mask });
        Ok(())
    }

    /// Whether an expression is a load that never takes place at this point, and is 0 instead.
    pub(super) fn is_absent(&self, e: ExprId) -> bool {
        match self.k.expr(e) {
            Expr::Load(load) => load
                .guard
                .as_ref()
                .is_some_and(|g| self.is_zero(g.otherwise) && self.takes_place(e) == Truth::Never),
            _ => false,
        }
    }
}

/// What a state is known by: the values of its axes.
fn state_key(values: impl Iterator<Item = i64>) -> Key {
    let mut h = Hash128::new(1 << 57);
    values.for_each(|v| h.mix(v as u64));
    h.finish()
}

/// Every combination of the axes' values, the last axis fastest.
fn combinations(axes: &[(AxisId, Vec<i64>)]) -> Vec<Vec<i64>> {
    axes.iter().fold(vec![Vec::new()], |all, (_, values)| {
        all.iter()
            .flat_map(|head| values.iter().map(move |v| head.iter().copied().chain([*v]).collect()))
            .collect()
    })
}
