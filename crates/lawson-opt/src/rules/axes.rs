//! Reshape, transpose and broadcast: compositions merge, what changes nothing goes, and each effect has one spelling
//! (adding or removing axes of size 1 is a reshape, repeating is a broadcast, reordering is a transpose).

use crate::rewrite::{Rewriter, one};
use crate::rule::{Exact, Rule};
use lawson_graph::op::{Broadcast, Family, Op, Reshape, Transpose};
use lawson_graph::{Dim, HostTensor, Node, Result, Shape, ValueId};

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "reshape-nothing",
        identity: "reshape<S>(x: S) = x",
        exact: Exact::Bits,
        roots: &[Family::Reshape],
        apply: |rw, node| match &node.op {
            Op::Reshape(Reshape { shape })
                if rw.shape_of(node.inputs[0]).is_some_and(|s| rw.same_shape(s, shape)) =>
            {
                one(node.inputs[0])
            }
            _ => Ok(None),
        },
        instance: |i| {
            let (dtype, shape) = (i.dtype(), i.any_shape());
            let x = i.input(dtype, shape.clone())?;
            i.b.op1(Op::Reshape(Reshape { shape }), &[x])
        },
    },
    Rule {
        name: "reshape-reshape",
        identity: "reshape<S>(reshape<R>(x)) = reshape<S>(x)",
        exact: Exact::Bits,
        roots: &[Family::Reshape],
        apply: |rw, node| {
            let Op::Reshape(Reshape { shape }) = &node.op else { return Ok(None) };
            match rw.def1(node.inputs[0]) {
                Some((Op::Reshape(_), x)) => one(rw.reshape(x, shape.clone())?),
                _ => Ok(None),
            }
        },
        instance: |i| {
            let (dtype, shape) = (i.dtype(), i.any_shape());
            let x = i.input(dtype, shape.clone())?;
            let flat = i.b.op1(Op::Reshape(Reshape { shape: [shape.elements()].into() }), &[x])?;
            let tail: Shape = shape.iter().cloned().chain([Dim::ONE]).collect();
            i.b.op1(Op::Reshape(Reshape { shape: tail }), &[flat])
        },
    },
    Rule {
        name: "transpose-nothing",
        identity: "transpose<0 1 2 …>(x) = x",
        exact: Exact::Bits,
        roots: &[Family::Transpose],
        apply: |_, node| match &node.op {
            Op::Transpose(Transpose { perm }) if perm.is_sorted() => one(node.inputs[0]),
            _ => Ok(None),
        },
        instance: |i| {
            let (dtype, shape) = (i.dtype(), i.any_shape());
            let perm = (0..shape.rank()).collect();
            let x = i.input(dtype, shape)?;
            i.b.op1(Op::Transpose(Transpose { perm }), &[x])
        },
    },
    Rule {
        name: "transpose-transpose",
        identity: "transpose<p>(transpose<q>(x)) = transpose<q ∘ p>(x)",
        exact: Exact::Bits,
        roots: &[Family::Transpose],
        apply: |rw, node| {
            let Op::Transpose(Transpose { perm: outer }) = &node.op else { return Ok(None) };
            let Some((Op::Transpose(Transpose { perm: inner }), x)) = rw.def1(node.inputs[0]) else {
                return Ok(None);
            };
            let perm: Vec<usize> = outer.iter().map(|p| inner[*p]).collect();
            one(rw.transpose(x, &perm)?)
        },
        instance: |i| {
            let (dtype, shape) = (i.dtype(), i.any_shape());
            let (p, q) = (i.permutation(shape.rank()), i.permutation(shape.rank()));
            let x = i.input(dtype, shape)?;
            let y = i.b.op1(Op::Transpose(Transpose { perm: q }), &[x])?;
            i.b.op1(Op::Transpose(Transpose { perm: p }), &[y])
        },
    },
    Rule {
        name: "transpose-is-reshape",
        identity: "a transpose that only moves axes of size 1 is a reshape",
        exact: Exact::Bits,
        roots: &[Family::Transpose],
        apply: |rw, node| {
            let Op::Transpose(Transpose { perm }) = &node.op else { return Ok(None) };
            let Some(shape) = rw.shape_of(node.inputs[0]) else { return Ok(None) };
            let real: Vec<usize> = perm.iter().copied().filter(|p| !shape[*p].is(1)).collect();
            if !real.is_sorted() || perm.is_sorted() {
                return Ok(None);
            }
            let shape = rw.shape(node.outputs[0])?;
            one(rw.reshape(node.inputs[0], shape)?)
        },
        instance: |i| {
            let dtype = i.dtype();
            let (a, b) = (i.dim(), i.dim());
            let x = i.input(dtype, [a, Dim::ONE, b])?;
            let perm = [vec![1, 0, 2], vec![0, 2, 1]][i.rng.below(2)].clone();
            i.b.op1(Op::Transpose(Transpose { perm }), &[x])
        },
    },
    Rule {
        name: "broadcast-nothing",
        identity: "broadcast<S>(x: S) = x",
        exact: Exact::Bits,
        roots: &[Family::Broadcast],
        apply: |rw, node| match &node.op {
            Op::Broadcast(Broadcast { shape, .. })
                if rw.shape_of(node.inputs[0]).is_some_and(|s| rw.same_shape(s, shape)) =>
            {
                one(node.inputs[0])
            }
            _ => Ok(None),
        },
        instance: |i| {
            let (dtype, shape) = (i.dtype(), i.any_shape());
            let x = i.input(dtype, shape.clone())?;
            let axes = (0..shape.rank()).collect();
            i.b.op1(Op::Broadcast(Broadcast { shape, axes }), &[x])
        },
    },
    Rule {
        name: "broadcast-is-reshape",
        identity: "a broadcast that only adds axes of size 1 is a reshape",
        exact: Exact::Bits,
        roots: &[Family::Broadcast],
        apply: |rw, node| {
            let Op::Broadcast(Broadcast { shape, axes }) = &node.op else { return Ok(None) };
            let Some(from) = rw.shape_of(node.inputs[0]) else { return Ok(None) };
            let kept = axes.iter().enumerate().all(|(i, a)| rw.facts().equal(&from[i], &shape[*a]));
            let added = (0..shape.rank()).all(|a| axes.contains(&a) || shape[a].is(1));
            // A scalar constant stays a broadcast, so that it is recognised as one number.
            if !kept || !added || rw.same_shape(from, shape) {
                return Ok(None);
            }
            let shape = shape.clone();
            one(rw.reshape(node.inputs[0], shape)?)
        },
        instance: |i| {
            let dtype = i.dtype();
            let (a, b) = (i.dim(), i.dim());
            let x = i.input(dtype, [a.clone(), b.clone()])?;
            i.b.broadcast_in(x, [Dim::ONE, a, Dim::ONE, b], &[1, 3])
        },
    },
    Rule {
        name: "broadcast-broadcast",
        identity: "broadcast<S, a>(broadcast<R, b>(x)) = broadcast<S, a ∘ b>(x)",
        exact: Exact::Bits,
        roots: &[Family::Broadcast],
        apply: |rw, node| {
            let Op::Broadcast(Broadcast { shape, axes: outer }) = &node.op else { return Ok(None) };
            let Some((Op::Broadcast(Broadcast { axes: inner, .. }), x)) = rw.def1(node.inputs[0]) else {
                return Ok(None);
            };
            let axes: Vec<usize> = inner.iter().map(|a| outer[*a]).collect();
            one(rw.broadcast_in(x, shape.clone(), &axes)?)
        },
        instance: |i| {
            let dtype = i.dtype();
            let (a, b) = (i.dim(), i.dim());
            let x = i.input(dtype, [Dim::ONE, a.clone()])?;
            let y = i.b.broadcast_in(x, [b.clone(), a.clone()], &[0, 1])?;
            let c = i.dim();
            i.b.op1(Op::Broadcast(Broadcast { shape: [b, c, a].into(), axes: vec![0, 2] }), &[y])
        },
    },
    Rule {
        name: "broadcast-of-reshape",
        identity: "broadcast(reshape(x)) = broadcast(x) where the reshape only adds or removes axes of size 1",
        exact: Exact::Bits,
        roots: &[Family::Broadcast],
        apply: broadcast_of_reshape,
        instance: |i| {
            let dtype = i.dtype();
            let (a, b) = (i.dim(), i.size());
            let x = i.input(dtype, [a.clone(), Dim::ONE])?;
            let y = i.b.op1(Op::Reshape(Reshape { shape: [Dim::ONE, a.clone()].into() }), &[x])?;
            i.b.op1(Op::Broadcast(Broadcast { shape: [Dim::from(b + 1), a].into(), axes: vec![0, 1] }), &[y])
        },
    },
    Rule {
        name: "reshape-of-broadcast",
        identity: "reshape(broadcast(x)) = broadcast(x) where the reshape only adds or removes axes of size 1",
        exact: Exact::Bits,
        roots: &[Family::Reshape],
        apply: reshape_of_broadcast,
        instance: |i| {
            let dtype = i.dtype();
            let (a, b) = (i.dim(), i.dim());
            let x = i.input(dtype, [a.clone()])?;
            let y = i.b.op1(
                Op::Broadcast(Broadcast { shape: [b.clone(), a.clone()].into(), axes: vec![1] }),
                &[x],
            )?;
            i.b.op1(Op::Reshape(Reshape { shape: [b, Dim::ONE, a].into() }), &[y])
        },
    },
    Rule {
        name: "transpose-of-broadcast",
        identity: "transpose(broadcast(x)) = broadcast(transpose(x))",
        exact: Exact::Bits,
        roots: &[Family::Transpose],
        apply: transpose_of_broadcast,
        instance: |i| {
            let dtype = i.dtype();
            let (a, b, c) = (i.dim(), i.dim(), i.dim());
            let x = i.input(dtype, [a.clone(), c.clone()])?;
            let y = i.b.op1(Op::Broadcast(Broadcast { shape: [a, b, c].into(), axes: vec![0, 2] }), &[x])?;
            let mut perm = i.permutation(3);
            if perm.is_sorted() {
                perm = vec![2, 0, 1];
            }
            i.b.op1(Op::Transpose(Transpose { perm }), &[y])
        },
    },
    Rule {
        name: "repeated-constant",
        identity: "a constant whose elements are all equal is a broadcast scalar",
        exact: Exact::Bits,
        roots: &[Family::Constant],
        apply: |rw, node| {
            let Op::Constant(t) = &node.op else { return Ok(None) };
            if t.sizes().is_empty() || !t.is_splat() {
                return Ok(None);
            }
            let scalar = first_element(t)?;
            let shape = Shape::from(t.sizes());
            let scalar = rw.constant(scalar)?;
            one(rw.broadcast_to(scalar, shape)?)
        },
        instance: |i| {
            let dtype = i.dtype();
            let size = i.size() as usize;
            let t = match dtype {
                lawson_graph::DType::Str => HostTensor::from_text(&[size], vec!["same".into(); size])?,
                d if d.is_float() => HostTensor::from_floats(d, &[size], &vec![1.5; size])?,
                d => HostTensor::from_ints(d, &[size], &vec![1; size])?,
            };
            i.b.constant(t)
        },
    },
];

fn first_element(t: &HostTensor) -> Result<HostTensor> {
    match t.dtype() {
        lawson_graph::DType::Str => HostTensor::from_text(&[], vec![t.text()[0].clone()]),
        d if d.bits() < 8 && d.is_int() => HostTensor::from_ints(d, &[], &[t.int_at(0)]),
        d if d.bits() < 8 => HostTensor::from_floats(d, &[], &[t.float_at(0)]),
        d => HostTensor::from_bytes(d, &[], t.bytes().slice(..d.bits() / 8)),
    }
}

/// For shapes that differ only in axes of size 1: for each axis of `from` its axis in `to`, `None` where it was dropped.
fn match_axes(rw: &Rewriter<'_>, from: &Shape, to: &Shape) -> Option<Vec<Option<usize>>> {
    let mut at = 0;
    let mut map = Vec::new();
    for d in from.iter() {
        if d.is(1) {
            map.push(None);
            continue;
        }
        while to.get(at).is_some_and(|t| t.is(1)) {
            at += 1;
        }
        if !to.get(at).is_some_and(|t| rw.facts().equal(t, d)) {
            return None;
        }
        map.push(Some(at));
        at += 1;
    }
    to[at..].iter().all(|d| d.is(1)).then_some(map)
}

fn broadcast_of_reshape(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Broadcast(Broadcast { shape, axes }) = &node.op else { return Ok(None) };
    let Some((Op::Reshape(_), x)) = rw.def1(node.inputs[0]) else { return Ok(None) };
    let (Some(from), Some(mid)) = (rw.shape_of(x).cloned(), rw.shape_of(node.inputs[0])) else {
        return Ok(None);
    };
    let Some(map) = match_axes(rw, &from, mid) else { return Ok(None) };
    // Axes of size 1 go by a reshape of x, if they have not gone already; the rest keep their place.
    let kept: Shape = from.iter().filter(|d| !d.is(1)).cloned().collect();
    if kept.rank() == mid.rank() {
        return Ok(None);
    }
    let places: Vec<usize> = map.iter().flatten().map(|m| axes[*m]).collect();
    let squeezed = rw.reshape(x, kept)?;
    let shape = shape.clone();
    one(rw.broadcast_in(squeezed, shape, &places)?)
}

fn reshape_of_broadcast(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Reshape(Reshape { shape: to }) = &node.op else { return Ok(None) };
    let Some((Op::Broadcast(Broadcast { shape: mid, axes }), x)) = rw.def1(node.inputs[0]) else {
        return Ok(None);
    };
    // One number everywhere can be repeated to any shape.
    if rw.shape_of(x).is_some_and(|s| s.rank() == 0) {
        let to = to.clone();
        return one(rw.broadcast_in(x, to, &[])?);
    }
    let Some(map) = match_axes(rw, mid, to) else { return Ok(None) };
    let Some(from) = rw.shape_of(x) else { return Ok(None) };
    // An axis of x that was dropped has size 1 in the middle, so it has size 1 in x.
    let kept: Vec<usize> = (0..from.rank()).filter(|i| map[axes[*i]].is_some()).collect();
    let squeezed: Shape = kept.iter().map(|i| from[*i].clone()).collect();
    let places: Vec<usize> = kept.iter().filter_map(|i| map[axes[*i]]).collect();
    let to = to.clone();
    let x = rw.reshape(x, squeezed)?;
    one(rw.broadcast_in(x, to, &places)?)
}

fn transpose_of_broadcast(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Transpose(Transpose { perm }) = &node.op else { return Ok(None) };
    let Some((Op::Broadcast(Broadcast { axes, .. }), x)) = rw.def1(node.inputs[0]) else { return Ok(None) };
    // Operand axis i ends at the place where perm names axes[i].
    let mut places: Vec<(usize, usize)> =
        axes.iter().enumerate().filter_map(|(i, a)| Some((perm.iter().position(|p| p == a)?, i))).collect();
    places.sort_unstable();
    let (places, order): (Vec<usize>, Vec<usize>) = places.into_iter().unzip();
    let shape = rw.shape(node.outputs[0])?;
    let x = rw.transpose(x, &order)?;
    one(rw.broadcast_in(x, shape, &places)?)
}
