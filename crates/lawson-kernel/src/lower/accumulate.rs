//! Accumulators: reductions, contractions, convolutions and windows.
//!
//! Each is computed where its index first has a value, in loops of its own, and its result is known from there on. Sums of
//! floats narrower than f32 are kept in f32.

use super::walk::{Indices, Purpose, Walk, concerns, join, name_of, spread};
use crate::build::{accumulate, step};
use crate::expr::{Condition, Expr, ExprId, Extremum, Scalar};
use crate::group::Refused;
use crate::hash::IdSet;
use crate::index::Index;
use crate::tree::{AccId, State};
use lawson_graph::op::{BinaryKind, Contract, Convolve, Monoid, Reduce, WindowReduce};
use lawson_graph::{DType, Dim, Node, Op, ValueId};

/// How the state of an accumulator and a term become the next state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Combine {
    Binary(BinaryKind),
    /// The greatest, whichever where one is NaN.
    LenientMax,
}

/// How elements of a dtype are combined, and what no elements give; `None` for a monoid that is not known here.
pub(super) fn monoid(kind: Monoid, dtype: DType) -> Option<(Combine, Scalar)> {
    let top = if dtype.has_infinity() { Some(f64::INFINITY) } else { dtype.max_finite() };
    let top = top.unwrap_or(f64::INFINITY);
    let (least, greatest) = dtype.int_range().unwrap_or((0, 0));
    let ones = lawson_graph::number::wrap(dtype, -1);
    let (kind, float, int) = match kind {
        Monoid::Sum => (BinaryKind::Add, 0.0, 0),
        Monoid::Prod => (BinaryKind::Mul, 1.0, 1),
        Monoid::Max => (BinaryKind::Max, -top, least),
        Monoid::Min => (BinaryKind::Min, top, greatest),
        Monoid::And => (BinaryKind::And, f64::NAN, ones),
        Monoid::Or => (BinaryKind::Or, f64::NAN, 0),
        _ => return None,
    };
    let nothing = if dtype.is_float() { Scalar::float(dtype, float) } else { Scalar::int(dtype, int as i64) };
    Some((Combine::Binary(kind), nothing))
}

impl<'g> Walk<'g> {
    /// The accumulator of a node at an index, computed if it is not yet. Where a condition of `given` does not hold, what it
    /// reads is guarded and its result does not matter.
    pub(super) fn accumulated(
        &mut self,
        v: ValueId,
        node: &'g Node,
        index: Indices,
        given: &[Condition],
    ) -> Result<AccId, Refused> {
        // A condition on other axes says nothing about this index.
        let mut axes = IdSet::default();
        index.iter().for_each(|i| {
            i.visit_axes(&mut |a| {
                axes.insert(a);
            })
        });
        let given: Vec<Condition> = given.iter().filter(|c| concerns(c, &axes)).cloned().collect();
        let key = (v, index, given);
        if let Some(acc) = self.results.get(&key) {
            return Ok(*acc);
        }
        let (index, given) = (&key.1, &key.2);
        let depth = self.depth(index.iter().chain(given.iter().map(|c| &c.index)));
        let acc = self.at_depth(depth, |walk| match &node.op {
            Op::Reduce(r) => walk.reduce(v, node, r, index, given),
            Op::Contract(c) => walk.contract(v, node, c, index, given),
            Op::Convolve(c) => walk.convolve(v, node, c, index, given),
            Op::WindowReduce(w) => walk.window(v, node, w, index, given),
            _ => Err(walk.refuse(node, "it accumulates nothing")),
        })?;
        self.results.insert(key, acc);
        Ok(acc)
    }

    /// How a reduction combines elements of a dtype, in the dtype that it keeps them in.
    fn monoid(&self, node: &Node, kind: Monoid, dtype: DType) -> Result<(Combine, Scalar), Refused> {
        let kept = match kind {
            Monoid::Sum | Monoid::Prod => dtype.accumulator(),
            _ => dtype,
        };
        monoid(kind, kept).ok_or_else(|| self.refuse(node, "its monoid is not known to kernels"))
    }

    fn add_accumulator(&mut self, v: ValueId, combine: Combine, identity: Scalar) -> AccId {
        let init = self.kernel.constant(identity);
        let state = vec![State { dtype: identity.dtype, init }];
        self.kernel.add_acc(name_of(self.graph, v), state, vec![identity], |k, id| {
            let (a, b) = (k.add(Expr::State(id, 0)), k.add(Expr::Other(id, 0)));
            vec![match combine {
                Combine::Binary(kind) => k.binary(kind, a, b),
                Combine::LenientMax => k.extremum(Extremum::Max, a, b),
            }]
        })
    }

    /// Closes the loops of an accumulator around its step, and puts it into the frame that was open before them.
    fn finish(&mut self, acc: AccId, depth: usize, next: ExprId) {
        self.put(step(acc, next));
        let first = self.frames.get(depth).and_then(|f| f.head.as_ref()).map(|h| h.axis);
        self.close(depth);
        first.into_iter().for_each(|axis| self.settle(axis));
        let body = self.frames.last_mut().and_then(|f| f.nodes.pop()).into_iter().collect();
        self.put(accumulate(acc, body));
    }

    fn reduce(
        &mut self,
        v: ValueId,
        node: &'g Node,
        op: &Reduce,
        index: &[Index],
        given: &[Condition],
    ) -> Result<AccId, Refused> {
        let x = node.inputs[0];
        let ty = self.ty(x)?;
        let (combine, nothing) = self.monoid(node, op.kind, ty.dtype)?;
        let lenient = self.patterns.lenient_max.contains(&v);
        let combine = if lenient { Combine::LenientMax } else { combine };
        let acc = self.add_accumulator(v, combine, nothing);
        let depth = self.frames.len();
        let mut free = index.iter();
        let mut operand = Vec::with_capacity(ty.rank());
        for (axis, dim) in ty.shape.iter().enumerate() {
            operand.push(match op.axes.contains(&axis) {
                true => self.term(dim),
                false => free.next().cloned().unwrap_or_else(|| Index::from(0)),
            });
        }
        if given.is_empty() {
            self.prepare(x, &operand)?;
        }
        let term = self.value(x, operand, given)?;
        let next = self.combined(acc, combine, term);
        self.finish(acc, depth, next);
        Ok(acc)
    }

    /// The index over a dimension that is summed over.
    fn term(&mut self, dim: &Dim) -> Index {
        if dim.is(1) { Index::from(0) } else { Index::axis(self.open("r", dim.clone(), Purpose::Terms)) }
    }

    fn combined(&mut self, acc: AccId, combine: Combine, term: ExprId) -> ExprId {
        let state = self.kernel.state(acc);
        let dtype = self.kernel.dtype(state);
        let term = self.cast(term, dtype);
        match combine {
            Combine::Binary(kind) => self.kernel.binary(kind, state, term),
            Combine::LenientMax => self.kernel.extremum(Extremum::Max, state, term),
        }
    }

    /// `state + l·r`.
    fn product(&mut self, acc: AccId, l: ExprId, r: ExprId) -> ExprId {
        let state = self.kernel.state(acc);
        let dtype = self.kernel.dtype(state);
        let (l, r) = (self.cast(l, dtype), self.cast(r, dtype));
        if dtype.is_float() {
            return self.kernel.add(Expr::Fma(l, r, state));
        }
        let product = self.kernel.product(l, r);
        self.kernel.sum(state, product)
    }

    fn sum_of_products(&mut self, v: ValueId, node: &Node) -> Result<AccId, Refused> {
        let (operand, out) = (self.ty(node.inputs[0])?.dtype, self.ty(v)?.dtype);
        let dtype = match out {
            DType::F64 => out,
            _ if operand.is_float() => operand.accumulator(),
            _ => out,
        };
        let zero = if dtype.is_float() { Scalar::float(dtype, 0.0) } else { Scalar::int(dtype, 0) };
        Ok(self.add_accumulator(v, Combine::Binary(BinaryKind::Add), zero))
    }

    fn contract(
        &mut self,
        v: ValueId,
        node: &'g Node,
        op: &Contract,
        index: &[Index],
        given: &[Condition],
    ) -> Result<AccId, Refused> {
        let (l, r) = (self.ty(node.inputs[0])?, self.ty(node.inputs[1])?);
        let acc = self.sum_of_products(v, node)?;
        let depth = self.frames.len();
        let (mut l_index, mut r_index) = (vec![Index::from(0); l.rank()], vec![Index::from(0); r.rank()]);
        let (free_l, free_r) = op.free_axes(l.rank(), r.rank());
        let mut free = index.iter().cloned();
        for ((a, b), i) in op.batch.iter().zip(&mut free) {
            l_index[*a] = i.clone();
            r_index[*b] = i;
        }
        free_l.iter().zip(&mut free).for_each(|(a, i)| l_index[*a] = i);
        free_r.iter().zip(&mut free).for_each(|(b, i)| r_index[*b] = i);
        for (a, b) in &op.sum {
            let i = self.term(&l.shape[*a]);
            l_index[*a] = i.clone();
            r_index[*b] = i;
        }
        if given.is_empty() {
            self.prepare(node.inputs[0], &l_index)?;
            self.prepare(node.inputs[1], &r_index)?;
        }
        let x = self.value(node.inputs[0], l_index, given)?;
        let was_right = std::mem::replace(&mut self.is_right, true);
        let w = self.value(node.inputs[1], r_index, given);
        self.is_right = was_right;
        let next = self.product(acc, x, w?);
        self.finish(acc, depth, next);
        Ok(acc)
    }

    fn convolve(
        &mut self,
        v: ValueId,
        node: &'g Node,
        op: &Convolve,
        index: &[Index],
        given: &[Condition],
    ) -> Result<AccId, Refused> {
        let (x, w) = (self.ty(node.inputs[0])?, self.ty(node.inputs[1])?);
        let out = self.ty(v)?;
        let acc = self.sum_of_products(v, node)?;
        let depth = self.frames.len();
        let part = |groups: i64| out.shape[1].floor_div(&Dim::from(groups));
        let channel = self.term(&w.shape[1]);
        let mut x_index = vec![index[0].clone(), channel.clone()];
        if op.batch_groups > 1 {
            let group = index[1].clone().floor_div(part(op.batch_groups));
            x_index[0] = self.simplify(group * out.shape[0].clone() + index[0].clone());
        }
        if op.groups > 1 {
            let group = index[1].clone().floor_div(part(op.groups));
            x_index[1] = self.simplify(group * w.shape[1].clone() + channel.clone());
        }
        let mut w_index = vec![index[1].clone(), channel];
        let mut conditions = Vec::new();
        for i in 0..op.stride.len() {
            let k = self.term(&w.shape[2 + i]);
            w_index.push(k.clone());
            let place = index[2 + i].clone() * op.stride[i] + k * op.kernel_dilation[i] - op.low[i].clone();
            let (at, tests) = spread(place, op.input_dilation[i], &x.shape[2 + i]);
            x_index.push(self.simplify(at));
            conditions.extend(tests);
        }
        let state = self.kernel.state(acc);
        let Some(conditions) = self.open_conditions(conditions) else {
            // Every product lies in the padding.
            self.finish(acc, depth, state);
            return Ok(acc);
        };
        let inner = join(given, &conditions);
        let l = self.value(node.inputs[0], x_index, &inner)?;
        let r = self.value(node.inputs[1], w_index, &inner)?;
        let is_zero_outside = |k: &crate::tree::Kernel, e: ExprId| match k.expr(e) {
            Expr::Load(load) => load.guard.as_ref().is_some_and(|g| g.conditions == inner),
            _ => false,
        };
        // What lies in the padding is no product at all, not even 0 times an infinite weight.
        let zeros = is_zero_outside(&self.kernel, l) && is_zero_outside(&self.kernel, r);
        let next = self.product(acc, l, r);
        let next = if zeros || conditions.is_empty() {
            next
        } else {
            self.guarded(next, &conditions, &inner, state)
        };
        self.finish(acc, depth, next);
        Ok(acc)
    }

    fn window(
        &mut self,
        v: ValueId,
        node: &'g Node,
        op: &WindowReduce,
        index: &[Index],
        given: &[Condition],
    ) -> Result<AccId, Refused> {
        let x = self.ty(node.inputs[0])?;
        let (combine, nothing) = self.monoid(node, op.kind, x.dtype)?;
        let acc = self.add_accumulator(v, combine, nothing);
        let depth = self.frames.len();
        let (mut operand, mut conditions) = (Vec::new(), Vec::new());
        for (i, at) in index.iter().enumerate() {
            let k = self.term(&Dim::from(op.window[i]));
            let place = at.clone() * op.stride[i] + k * op.dilation[i] - op.low[i].clone();
            let (at, tests) = spread(place, 1, &x.shape[i]);
            operand.push(at);
            conditions.extend(tests);
        }
        // The element that adds nothing, in the dtype of elements.
        let nothing = self.kernel.constant(match nothing.as_f64() {
            Some(value) => Scalar::float(x.dtype, value),
            None => nothing,
        });
        let term = self.padded(node.inputs[0], operand, conditions, given, nothing)?;
        let next = self.combined(acc, combine, term);
        self.finish(acc, depth, next);
        Ok(acc)
    }
}
