//! Operators that combine elements absorb the views around them: reductions take transposes and repeated axes,
//! contractions take transposes, convolutions and windows take padding, gathers of a range are slices.

use crate::rewrite::{Rewriter, one};
use crate::rule::{Exact, Instance, Rule};
use lawson_graph::op::{
    Broadcast, Contract, Convolve, Family, Gather, Monoid, Op, Pad, Reduce, Slice, Transpose, WindowReduce,
};
use lawson_graph::random::{Elements, random_tensor};
use lawson_graph::{DType, Dim, HostTensor, Node, Result, Shape, ValueId};

/// The most indices that are looked at for being a range.
const MAX_INDICES: usize = 4096;

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "reduce-unit-axes",
        identity: "reducing an axis of size 1, or no axis, only reshapes (a sum that is zero may have either sign)",
        exact: Exact::Rounding,
        roots: &[Family::Reduce],
        apply: reduce_unit_axes,
        instance: |i| {
            let kind = *i.rng.pick(Monoid::ALL).unwrap_or(&Monoid::Max);
            let dtype = i.dtype_of(|d| kind.accepts().1(d));
            let (a, b) = (i.dim(), i.dim());
            let x = i.input(dtype, [a, Dim::ONE, b])?;
            let axes = [vec![], vec![1], vec![1, 2]][i.rng.below(3)].clone();
            i.b.op1(Op::Reduce(Reduce { kind, axes }), &[x])
        },
    },
    Rule {
        name: "reduce-reduce",
        identity: "reduce<a>(reduce<b>(x)) = reduce<a ∪ b>(x)",
        exact: Exact::Rounding,
        roots: &[Family::Reduce],
        apply: reduce_reduce,
        instance: |i| {
            let kind = *i.rng.pick(Monoid::ALL).unwrap_or(&Monoid::Max);
            let dtype = i.dtype_of(|d| kind.accepts().1(d) && d.accumulator() == d);
            let shape = i.shape(4);
            let x = i.input(dtype, shape)?;
            let y = i.b.op1(Op::Reduce(Reduce { kind, axes: vec![1] }), &[x])?;
            let axes = [vec![0], vec![1], vec![0, 2]][i.rng.below(3)].clone();
            i.b.op1(Op::Reduce(Reduce { kind, axes }), &[y])
        },
    },
    Rule {
        name: "reduce-of-transpose",
        identity: "reduce(transpose(x)) = reduce(x) over the axes where they were, where the others keep their order",
        exact: Exact::Rounding,
        roots: &[Family::Reduce],
        apply: reduce_of_transpose,
        instance: |i| {
            let kind = *i.rng.pick(Monoid::ALL).unwrap_or(&Monoid::Max);
            let dtype = i.dtype_of(|d| kind.accepts().1(d));
            let shape = i.shape(3);
            let x = i.input(dtype, shape)?;
            let y = i.b.op1(Op::Transpose(Transpose { perm: vec![2, 0, 1] }), &[x])?;
            i.b.op1(Op::Reduce(Reduce { kind, axes: vec![[0, 1, 2][i.rng.clone().below(3)]] }), &[y])
        },
    },
    Rule {
        name: "extremum-of-broadcast",
        identity: "max, min, and, or over repeated elements = the element",
        exact: Exact::Bits,
        roots: &[Family::Reduce],
        apply: extremum_of_broadcast,
        instance: |i| {
            let kind = [Monoid::Max, Monoid::Min, Monoid::And, Monoid::Or][i.rng.below(4)];
            let dtype = i.dtype_of(|d| kind.accepts().1(d));
            let (a, b) = (i.dim(), i.size());
            let x = i.input(dtype, [a.clone()])?;
            let y =
                i.b.op1(Op::Broadcast(Broadcast { shape: [Dim::from(b), a].into(), axes: vec![1] }), &[x])?;
            i.b.op1(Op::Reduce(Reduce { kind, axes: vec![0] }), &[y])
        },
    },
    Rule {
        name: "contract-of-transpose",
        identity: "contract(transpose(a), transpose(b)) = contract(a, b) with the axes renamed",
        exact: Exact::Rounding,
        roots: &[Family::Contract],
        apply: contract_of_transpose,
        instance: |i| {
            let dtype = i.number();
            let (b, m, n, k) = (i.dim(), i.dim(), i.dim(), i.dim());
            let l = i.input(dtype, [b.clone(), m, k.clone()])?;
            let r = i.input(dtype, [b, n, k])?;
            let r = i.b.op1(Op::Transpose(Transpose { perm: vec![0, 2, 1] }), &[r])?;
            i.b.op1(Op::Contract(Contract { batch: vec![(0, 0)], sum: vec![(2, 1)], out: None }), &[l, r])
        },
    },
    Rule {
        name: "convolve-of-pad",
        identity: "convolve(pad(x, 0), w) = convolve(x, w) with more padding, for a finite constant w (0 * inf is not 0)",
        exact: Exact::Rounding,
        roots: &[Family::Convolve],
        apply: convolve_of_pad,
        instance: |i| {
            let dtype = i.float();
            let x = i.input(dtype, [2, 3, 5, 4])?;
            let zero = i.b.scalar(dtype, 0.0)?;
            let low = vec![Dim::ZERO, Dim::ZERO, Dim::from(i.rng.between(0, 2)), Dim::from(1)];
            let high = vec![Dim::ZERO, Dim::ZERO, Dim::from(i.rng.between(0, 2)), Dim::from(2)];
            let y = i.b.op1(Op::Pad(Pad { low, high, interior: vec![0; 4] }), &[x, zero])?;
            let w = random_tensor(&mut i.rng, dtype, &[2, 3, 3, 2], Elements::Tame)?;
            let w = i.b.constant(w)?;
            i.b.op1(Op::Convolve(Convolve::plain(2)), &[y, w])
        },
    },
    Rule {
        name: "window-of-pad",
        identity: "window(pad(x, neutral)) = window(x) with more padding",
        exact: Exact::Rounding,
        roots: &[Family::WindowReduce],
        apply: window_of_pad,
        instance: |i| {
            let kind = [Monoid::Max, Monoid::Min, Monoid::Sum][i.rng.below(3)];
            let dtype = i.dtype_of(|d| d.is_float() && d.has_infinity());
            let x = i.input(dtype, [3, 5])?;
            let value = i.b.constant(neutral(kind, dtype)?)?;
            let (low, high) =
                (vec![Dim::ZERO, Dim::from(i.rng.between(0, 2))], vec![Dim::ZERO, Dim::from(1)]);
            let y = i.b.op1(Op::Pad(Pad { low, high, interior: vec![0; 2] }), &[x, value])?;
            let none = vec![Dim::ZERO; 2];
            let window = vec![1, 2];
            let op = WindowReduce {
                kind,
                window,
                stride: vec![1, 1],
                dilation: vec![1, 1],
                low: none.clone(),
                high: none,
            };
            i.b.op1(Op::WindowReduce(op), &[y])
        },
    },
    Rule {
        name: "gather-of-range",
        identity: "gather(x, [a, a + s, a + 2s, …]) = slice<a, n, s>(x)",
        exact: Exact::Bits,
        roots: &[Family::Gather],
        apply: gather_of_range,
        instance: gather_instance,
    },
];

/// The number that changes nothing when combined with it; `None` where that depends on the other.
fn neutral(kind: Monoid, dtype: DType) -> Result<HostTensor> {
    HostTensor::scalar_of(
        dtype,
        match kind {
            Monoid::Max => f64::NEG_INFINITY,
            Monoid::Min => f64::INFINITY,
            Monoid::Prod => 1.0,
            _ => 0.0,
        },
    )
}

fn reduce_unit_axes(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Reduce(Reduce { kind, axes }) = &node.op else { return Ok(None) };
    let Some(shape) = rw.shape_of(node.inputs[0]) else { return Ok(None) };
    let real: Vec<usize> = axes.iter().copied().filter(|a| !shape[*a].is(1)).collect();
    if real.len() == axes.len() && !axes.is_empty() {
        return Ok(None);
    }
    // Drop the unit axes first, then reduce what is left under its new numbers.
    let unit = |a: usize| axes.contains(&a) && shape[a].is(1);
    let kept: Vec<usize> = (0..shape.rank()).filter(|a| !unit(*a)).collect();
    let squeezed: Shape = kept.iter().map(|a| shape[*a].clone()).collect();
    let renamed = real.iter().filter_map(|a| kept.iter().position(|k| k == a)).collect::<Vec<_>>();
    let kind = *kind;
    let x = rw.reshape(node.inputs[0], squeezed)?;
    if renamed.is_empty() {
        return one(x);
    }
    one(rw.op1(Op::Reduce(Reduce { kind, axes: renamed }), &[x])?)
}

fn reduce_reduce(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Reduce(outer) = &node.op else { return Ok(None) };
    let Some((Op::Reduce(inner), x)) = rw.def1(node.inputs[0]) else { return Ok(None) };
    let Some(t) = rw.tensor(x) else { return Ok(None) };
    // Narrow floats round between the two; merging would round once, further from neither, but differently.
    if inner.kind != outer.kind || t.dtype.accumulator() != t.dtype || !rw.single_use(node.inputs[0]) {
        return Ok(None);
    }
    let left: Vec<usize> = (0..t.rank()).filter(|a| !inner.axes.contains(a)).collect();
    let mut axes: Vec<usize> =
        inner.axes.iter().copied().chain(outer.axes.iter().map(|a| left[*a])).collect();
    axes.sort_unstable();
    let kind = outer.kind;
    one(rw.op1(Op::Reduce(Reduce { kind, axes }), &[x])?)
}

fn reduce_of_transpose(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Reduce(Reduce { kind, axes }) = &node.op else { return Ok(None) };
    let Some((Op::Transpose(Transpose { perm }), x)) = rw.def1(node.inputs[0]) else { return Ok(None) };
    let kind = *kind;
    let kept: Vec<usize> = (0..perm.len()).filter(|a| !axes.contains(a)).map(|a| perm[a]).collect();
    let mut axes: Vec<usize> = axes.iter().map(|a| perm[*a]).collect();
    axes.sort_unstable();
    let mut order: Vec<usize> = kept.clone();
    order.sort_unstable();
    let reduced = rw.op1(Op::Reduce(Reduce { kind, axes }), &[x])?;
    // Where the kept axes changed places, the transpose stays, on what is left.
    let perm: Vec<usize> = kept.iter().filter_map(|k| order.iter().position(|o| o == k)).collect();
    one(rw.transpose(reduced, &perm)?)
}

fn extremum_of_broadcast(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Reduce(Reduce { kind: kind @ (Monoid::Max | Monoid::Min | Monoid::And | Monoid::Or), axes }) =
        &node.op
    else {
        return Ok(None);
    };
    let Some((Op::Broadcast(Broadcast { shape, axes: places }), x)) = rw.def1(node.inputs[0]) else {
        return Ok(None);
    };
    let Some(from) = rw.shape_of(x) else { return Ok(None) };
    let source = |a: usize| places.iter().position(|p| *p == a);
    let repeated = |a: usize| source(a).is_none_or(|i| from[i].is(1)) && rw.facts().is_positive(&shape[a]);
    let free: Vec<usize> = axes.iter().copied().filter(|a| repeated(*a)).collect();
    if free.is_empty() {
        return Ok(None);
    }
    // Remove the repeated axes from the broadcast; reduce the rest.
    let kept: Vec<usize> = (0..shape.rank()).filter(|a| !free.contains(a)).collect();
    let narrow: Shape = kept.iter().map(|a| shape[*a].clone()).collect();
    let operand: Vec<usize> = (0..from.rank()).filter(|i| !free.contains(&places[*i])).collect();
    let squeezed: Shape = operand.iter().map(|i| from[*i].clone()).collect();
    let new_places: Vec<usize> =
        operand.iter().filter_map(|i| kept.iter().position(|k| *k == places[*i])).collect();
    let axes: Vec<usize> =
        axes.iter().filter(|a| !free.contains(a)).filter_map(|a| kept.iter().position(|k| k == a)).collect();
    let kind = *kind;
    let x = rw.reshape(x, squeezed)?;
    let x = rw.broadcast_in(x, narrow, &new_places)?;
    if axes.is_empty() {
        return one(x);
    }
    one(rw.op1(Op::Reduce(Reduce { kind, axes }), &[x])?)
}

fn contract_of_transpose(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Contract(c) = &node.op else { return Ok(None) };
    let mut contract = c.clone();
    let mut operands = node.inputs.clone();
    let mut any = false;
    for side in 0..2 {
        let Some((Op::Transpose(Transpose { perm }), x)) = rw.def1(operands[side]) else { continue };
        let ranks = (
            rw.shape_of(operands[0]).map_or(0, Shape::rank),
            rw.shape_of(operands[1]).map_or(0, Shape::rank),
        );
        let (free_l, free_r) = contract.free_axes(ranks.0, ranks.1);
        let free = if side == 0 { free_l } else { free_r };
        // The free axes stand in the result in the operand's order, so that order must not change.
        if !free.iter().map(|a| perm[*a]).is_sorted() {
            continue;
        }
        for pair in contract.batch.iter_mut().chain(&mut contract.sum) {
            let axis = if side == 0 { &mut pair.0 } else { &mut pair.1 };
            *axis = perm[*axis];
        }
        operands[side] = x;
        any = true;
    }
    if any { one(rw.op1(Op::Contract(contract), &operands)?) } else { Ok(None) }
}

fn convolve_of_pad(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Convolve(c) = &node.op else { return Ok(None) };
    let Some((pad, x, value)) = padding(rw, node.inputs[0]) else { return Ok(None) };
    let outer = pad.low[..2].iter().chain(&pad.high[..2]).all(|d| d.is(0));
    let finite = rw.constant_of(node.inputs[1]).is_some_and(is_finite);
    if !outer || !finite || !rw.is_splat_of(value, 0.0) || c.input_dilation.iter().any(|d| *d != 1) {
        return Ok(None);
    }
    let mut c = c.clone();
    for i in 0..c.low.len() {
        c.low[i] = c.low[i].clone() + pad.low[2 + i].clone();
        c.high[i] = c.high[i].clone() + pad.high[2 + i].clone();
    }
    one(rw.op1(Op::Convolve(c), &[x, node.inputs[1]])?)
}

fn window_of_pad(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::WindowReduce(w) = &node.op else { return Ok(None) };
    let Some((pad, x, value)) = padding(rw, node.inputs[0]) else { return Ok(None) };
    let Some(dtype) = rw.tensor(x).map(|t| t.dtype) else { return Ok(None) };
    let neutral = matches!(w.kind, Monoid::Max | Monoid::Min | Monoid::Sum)
        && dtype.has_infinity()
        && neutral(w.kind, dtype).is_ok_and(|n| rw.splat(value) == Some(&n));
    if !neutral {
        return Ok(None);
    }
    let mut w = w.clone();
    for i in 0..w.low.len() {
        w.low[i] = w.low[i].clone() + pad.low[i].clone();
        w.high[i] = w.high[i].clone() + pad.high[i].clone();
    }
    one(rw.op1(Op::WindowReduce(w), &[x])?)
}

fn is_finite(t: &HostTensor) -> bool {
    match t.to_vec::<f32>() {
        Ok(values) => values.iter().all(|v| v.is_finite()),
        Err(_) => (0..t.len()).all(|i| t.float_at(i).is_finite()),
    }
}

/// A pad without interior: its amounts, operand and value.
fn padding(rw: &Rewriter<'_>, v: ValueId) -> Option<(Pad, ValueId, ValueId)> {
    let def = rw.def(v)?;
    let Op::Pad(pad) = &def.op else { return None };
    let plain = pad.interior.iter().all(|n| *n == 0);
    plain.then(|| (pad.clone(), rw.resolve(def.inputs[0]), rw.resolve(def.inputs[1])))
}

fn gather_of_range(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Gather(Gather { axes, batch: 0 }) = &node.op else { return Ok(None) };
    let [axis] = axes[..] else { return Ok(None) };
    let (Some(indices), Some(shape)) = (rw.known(node.inputs[1], MAX_INDICES), rw.shape_of(node.inputs[0]))
    else {
        return Ok(None);
    };
    let Some(dim) = shape[axis].as_const().filter(|d| *d > 0) else { return Ok(None) };
    let n = indices.len();
    if n == 0 {
        return Ok(None);
    }
    // Indices are clamped before they are looked at.
    let at = |i: usize| indices.int_at(i).clamp(0, i128::from(dim - 1)) as i64;
    let step = if n > 1 { at(1) - at(0) } else { 1 };
    if step == 0 || (1..n).any(|i| at(i) - at(i - 1) != step) {
        return Ok(None);
    }
    let rank = shape.rank();
    let mut s = Slice { start: vec![Dim::ZERO; rank], size: shape.to_vec(), step: vec![1; rank] };
    s.start[axis] = Dim::from(at(0));
    s.size[axis] = Dim::from(n);
    s.step[axis] = step;
    let shape = rw.shape(node.outputs[0])?;
    let sliced = rw.op1(Op::Slice(s), &[node.inputs[0]])?;
    // The gathered places stand first in the result.
    let perm: Vec<usize> = [axis].into_iter().chain((0..rank).filter(|a| *a != axis)).collect();
    let front = rw.transpose(sliced, &perm)?;
    one(rw.reshape(front, shape)?)
}

fn gather_instance(i: &mut Instance) -> Result<ValueId> {
    let dtype = i.dtype();
    let (a, b) = (i.rng.between(3, 6), i.dim());
    let x = i.input(dtype, [Dim::from(a), b, Dim::from(a)])?;
    let axis = [0, 2][i.rng.below(2)];
    let indices: Vec<i64> = match i.rng.below(3) {
        0 => vec![i.rng.between(-3, 8)],
        1 => vec![0, 1, 2],
        _ => vec![2, 0],
    };
    let indices = i.b.constant(HostTensor::from_slice(&[indices.len(), 1], &indices)?)?;
    i.b.op1(Op::Gather(Gather { axes: vec![axis], batch: 0 }), &[x, indices])
}
