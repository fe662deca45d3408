//! Slices: they merge, vanish, and move towards the inputs, past whatever only moves elements, and past elementwise
//! operators whose results are only ever used in slices. So a concat that is sliced apart again leaves nothing.

use crate::rewrite::{Rewriter, one};
use crate::rule::{Exact, Rule};
use lawson_graph::op::{Broadcast, Concat, DynamicSlice, Family, Op, Pad, Reshape, Slice, Transpose};
use lawson_graph::{DType, Dim, Node, Result, Shape, ValueId};

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "slice-nothing",
        identity: "slice<0, size of x, 1>(x) = x",
        exact: Exact::Bits,
        roots: &[Family::Slice],
        apply: |rw, node| {
            let Op::Slice(s) = &node.op else { return Ok(None) };
            let Some(shape) = rw.shape_of(node.inputs[0]) else { return Ok(None) };
            let whole = (0..shape.rank()).all(|a| takes_all(rw, s, a, &shape[a]));
            if whole { one(node.inputs[0]) } else { Ok(None) }
        },
        instance: |i| {
            let (dtype, shape) = (i.dtype(), i.any_shape());
            let x = i.input(dtype, shape.clone())?;
            let (start, step) = (vec![Dim::ZERO; shape.rank()], vec![1; shape.rank()]);
            i.b.op1(Op::Slice(Slice { start, size: shape.into_dims(), step }), &[x])
        },
    },
    Rule {
        name: "slice-slice",
        identity: "slice<s, n, t>(slice<p, m, q>(x)) = slice<p + s*q, n, t*q>(x)",
        exact: Exact::Bits,
        roots: &[Family::Slice],
        apply: |rw, node| {
            let Op::Slice(outer) = &node.op else { return Ok(None) };
            let Some((Op::Slice(inner), x)) = rw.def1(node.inputs[0]) else { return Ok(None) };
            let mut step = Vec::new();
            for (a, b) in outer.step.iter().zip(&inner.step) {
                let Some(product) = a.checked_mul(*b) else { return Ok(None) };
                step.push(product);
            }
            let start = (0..step.len())
                .map(|a| inner.start[a].clone() + outer.start[a].clone() * inner.step[a])
                .collect();
            let merged = Slice { start, size: outer.size.clone(), step };
            one(rw.op1(Op::Slice(merged), &[x])?)
        },
        instance: |i| {
            let dtype = i.dtype();
            let n = i.rng.between(8, 12);
            let x = i.input(dtype, [n])?;
            let y = i.b.op1(
                Op::Slice(Slice { start: vec![Dim::from(7)], size: vec![Dim::from(4)], step: vec![-2] }),
                &[x],
            )?;
            i.b.op1(
                Op::Slice(Slice { start: vec![Dim::from(1)], size: vec![Dim::from(2)], step: vec![2] }),
                &[y],
            )
        },
    },
    Rule {
        name: "slice-of-broadcast",
        identity: "slice(broadcast(x)) = broadcast(slice(x))",
        exact: Exact::Bits,
        roots: &[Family::Slice],
        apply: slice_of_broadcast,
        instance: |i| {
            let dtype = i.dtype();
            let (a, b) = (i.size() + 1, i.size() + 1);
            let x = i.input(dtype, [Dim::ONE, Dim::from(a)])?;
            let y = i.b.op1(Op::Broadcast(Broadcast { shape: [2, b, a].into(), axes: vec![1, 2] }), &[x])?;
            i.b.slice_axis(y, 1 + i.rng.clone().below(2), 1, 1)
        },
    },
    Rule {
        name: "slice-of-transpose",
        identity: "slice(transpose(x)) = transpose(slice(x))",
        exact: Exact::Bits,
        roots: &[Family::Slice],
        apply: |rw, node| {
            let Op::Slice(s) = &node.op else { return Ok(None) };
            let Some((Op::Transpose(Transpose { perm }), x)) = rw.def1(node.inputs[0]) else {
                return Ok(None);
            };
            let perm = perm.clone();
            let place = |axis: usize| perm.iter().position(|p| *p == axis).unwrap_or(axis);
            let moved = permuted(s, (0..perm.len()).map(place));
            let sliced = rw.op1(Op::Slice(moved), &[x])?;
            one(rw.transpose(sliced, &perm)?)
        },
        instance: |i| {
            let dtype = i.dtype();
            let (a, b, c) = (i.size() + 2, i.size() + 2, i.dim());
            let x = i.input(dtype, [Dim::from(a), Dim::from(b), c])?;
            let y = i.b.op1(Op::Transpose(Transpose { perm: vec![2, 0, 1] }), &[x])?;
            i.b.slice_axis(y, 1 + i.rng.clone().below(2), 1, 2)
        },
    },
    Rule {
        name: "slice-of-reshape",
        identity: "slice(reshape(x)) = reshape(slice(x)) where the axes that are cut come through the reshape whole",
        exact: Exact::Bits,
        roots: &[Family::Slice],
        apply: slice_of_reshape,
        instance: |i| {
            let dtype = i.dtype();
            let (a, b, c) = (i.size(), i.size() + 2, i.size());
            let x = i.input(dtype, [a, b, c, 3])?;
            let y = i.b.reshape(x, [a, b, c * 3])?;
            i.b.slice_axis(y, 1, 1, b - 1)
        },
    },
    Rule {
        name: "slice-of-concat",
        identity: "slice(concat(a, b, …)) = the parts of a, b, … that it covers",
        exact: Exact::Bits,
        roots: &[Family::Slice],
        apply: slice_of_concat,
        instance: |i| {
            let dtype = i.dtype();
            let (rows, m) = (i.dim(), i.size());
            let parts = [m, m + 1, 2]
                .map(|n| i.input(dtype, [rows.clone(), Dim::from(n)]))
                .into_iter()
                .collect::<Result<Vec<_>>>()?;
            let whole = i.b.concat(&parts, 1)?;
            let total = 2 * m + 3;
            let start = i.rng.between(0, total - 1);
            let size = i.rng.between(1, total - start);
            i.b.slice_axis(whole, 1, start, size)
        },
    },
    Rule {
        name: "slice-of-pad",
        identity: "slice(pad(x)) = slice(x) where it stays clear of the padding",
        exact: Exact::Bits,
        roots: &[Family::Slice],
        apply: slice_of_pad,
        instance: |i| {
            let dtype = i.dtype();
            let n = i.size() + 1;
            let x = i.input(dtype, [Dim::from(n), Dim::symbol("N")])?;
            let value = i.constant(dtype, &[])?;
            let two = vec![Dim::from(2), Dim::ZERO];
            let y =
                i.b.op1(Op::Pad(Pad { low: two.clone(), high: two, interior: vec![0, 0] }), &[x, value])?;
            let start = i.rng.between(2, n);
            let size = i.rng.between(1, n + 2 - start);
            i.b.slice_axis(y, 0, start, size)
        },
    },
    Rule {
        name: "slice-of-elementwise",
        identity: "slice(f(a, b, …)) = f(slice(a), slice(b), …) where f(a, b, …) is used in slices only",
        exact: Exact::Bits,
        roots: &[Family::Slice],
        apply: slice_of_elementwise,
        instance: |i| {
            let dtype = i.number();
            let (rows, n) = (i.dim(), i.size() + 1);
            let shape: Shape = [rows, Dim::from(n)].into();
            let (a, b) = (i.input(dtype, shape.clone())?, i.input(dtype, shape)?);
            let sum = i.b.add(a, b)?;
            i.b.slice_axis(sum, 1, 1, n - 1)
        },
    },
    Rule {
        name: "dynamic-slice-known",
        identity: "dynamic_slice(x, constant) = slice(x), with the start clamped",
        exact: Exact::Bits,
        roots: &[Family::DynamicSlice],
        apply: |rw, node| {
            let Op::DynamicSlice(DynamicSlice { size }) = &node.op else { return Ok(None) };
            let (Some(starts), Some(shape)) = (rw.constant_of(node.inputs[1]), rw.shape_of(node.inputs[0]))
            else {
                return Ok(None);
            };
            let start = (0..size.len())
                .map(|a| {
                    let wanted = Dim::from(starts.int_at(a).clamp(0, i128::from(i64::MAX)) as i64);
                    let last = shape[a].clone() - size[a].clone();
                    rw.facts().simplify(&wanted.min(&last))
                })
                .collect();
            let op = Slice { start, size: size.clone(), step: vec![1; size.len()] };
            one(rw.op1(Op::Slice(op), &[node.inputs[0]])?)
        },
        instance: |i| {
            let dtype = i.dtype();
            let (n, m) = (i.size() + 2, i.dim());
            let x = i.input(dtype, [Dim::from(n), m.clone()])?;
            let starts = i.b.vector(&[i.rng.clone().between(-2, 9), 5])?;
            i.b.op1(Op::DynamicSlice(DynamicSlice { size: vec![Dim::from(2), m] }), &[x, starts])
        },
    },
    Rule {
        name: "update-everything",
        identity: "update_slice(x, u, s) = u where u is as large as x",
        exact: Exact::Bits,
        roots: &[Family::UpdateSlice],
        apply: |rw, node| match node.op {
            Op::UpdateSlice if rw.same_type(node.inputs[0], node.inputs[1]) => one(node.inputs[1]),
            _ => Ok(None),
        },
        instance: |i| {
            let dtype = i.dtype();
            let shape = i.shape(2);
            let (x, u) = (i.input(dtype, shape.clone())?, i.input(dtype, shape)?);
            let s = i.input(DType::I64, [2])?;
            i.b.op1(Op::UpdateSlice, &[x, u, s])
        },
    },
];

/// Whether a slice takes the whole of an axis, in order.
fn takes_all(rw: &Rewriter<'_>, s: &Slice, axis: usize, dim: &Dim) -> bool {
    s.step[axis] == 1 && s.start[axis].is(0) && rw.facts().equal(&s.size[axis], dim)
}

fn permuted(s: &Slice, axes: impl Iterator<Item = usize> + Clone) -> Slice {
    Slice {
        start: axes.clone().map(|a| s.start[a].clone()).collect(),
        size: axes.clone().map(|a| s.size[a].clone()).collect(),
        step: axes.map(|a| s.step[a]).collect(),
    }
}

fn slice_of_broadcast(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Slice(s) = &node.op else { return Ok(None) };
    let Some((Op::Broadcast(Broadcast { axes, .. }), x)) = rw.def1(node.inputs[0]) else { return Ok(None) };
    let Some(from) = rw.shape_of(x) else { return Ok(None) };
    let mut inner = Slice { start: Vec::new(), size: Vec::new(), step: Vec::new() };
    for (i, a) in axes.iter().enumerate() {
        let repeated = from[i].is(1);
        inner.start.push(if repeated { Dim::ZERO } else { s.start[*a].clone() });
        inner.size.push(if repeated { Dim::ONE } else { s.size[*a].clone() });
        inner.step.push(if repeated { 1 } else { s.step[*a] });
    }
    let (axes, size) = (axes.clone(), s.size.clone());
    let sliced = rw.op1(Op::Slice(inner), &[x])?;
    one(rw.broadcast_in(sliced, size, &axes)?)
}

fn slice_of_reshape(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Slice(s) = &node.op else { return Ok(None) };
    let Some((Op::Reshape(Reshape { shape: mid }), x)) = rw.def1(node.inputs[0]) else { return Ok(None) };
    let Some(from) = rw.shape_of(x) else { return Ok(None) };
    let cut: Vec<usize> = (0..mid.rank()).filter(|a| !takes_all(rw, s, *a, &mid[*a])).collect();
    if cut.is_empty() {
        return Ok(None);
    }
    // An axis comes through whole where the elements before it, and its own size, are the same on both sides.
    let mut inner =
        Slice { start: vec![Dim::ZERO; from.rank()], size: from.to_vec(), step: vec![1; from.rank()] };
    for a in cut {
        let before: Dim = mid[..a].iter().cloned().product();
        let twin = (0..from.rank()).find(|b| {
            let front: Dim = from[..*b].iter().cloned().product();
            rw.facts().equal(&from[*b], &mid[a]) && rw.facts().equal(&front, &before) && !from[*b].is(1)
        });
        let Some(b) = twin else { return Ok(None) };
        inner.start[b] = s.start[a].clone();
        inner.size[b] = s.size[a].clone();
        inner.step[b] = s.step[a];
    }
    let size = s.size.clone();
    let sliced = rw.op1(Op::Slice(inner), &[x])?;
    one(rw.reshape(sliced, size)?)
}

fn slice_of_concat(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Slice(s) = &node.op else { return Ok(None) };
    let Some(def) = rw.def(node.inputs[0]) else { return Ok(None) };
    let Op::Concat(Concat { axis }) = def.op else { return Ok(None) };
    let parts: Vec<ValueId> = def.inputs.iter().map(|v| rw.resolve(*v)).collect();
    let facts = rw.facts();
    let (start, size, step) = (&s.start[axis], &s.size[axis], s.step[axis]);
    if size.is(0) {
        return Ok(None);
    }
    let span = (size.clone() - 1) * step;
    let (first, end) = match step {
        1.. => (start.clone(), start.clone() + span + 1),
        _ => (start.clone() + span, start.clone() + 1),
    };
    // For each part, where the slice begins and ends in it; give up where that is not known.
    let mut covered: Vec<(ValueId, Dim, Dim)> = Vec::new();
    let mut offset = Dim::ZERO;
    for part in &parts {
        let Some(len) = rw.shape_of(*part).map(|p| p[axis].clone()) else { return Ok(None) };
        let next = offset.clone() + len;
        if facts.proves_ge(&first, &next) || facts.proves_ge(&offset, &end) {
            offset = next;
            continue;
        }
        let from = match () {
            () if facts.proves_ge(&first, &offset) => first.clone(),
            () if facts.proves_ge(&offset, &first) => offset.clone(),
            () => return Ok(None),
        };
        let to = match () {
            () if facts.proves_ge(&next, &end) => end.clone(),
            () if facts.proves_ge(&end, &next) => next.clone(),
            () => return Ok(None),
        };
        covered.push((*part, from - offset.clone(), to - offset.clone()));
        offset = next;
    }
    if step != 1 && covered.len() != 1 || covered.is_empty() {
        return Ok(None);
    }
    let s = s.clone();
    let mut pieces = Vec::new();
    for (part, from, to) in covered {
        let mut piece = s.clone();
        if step == 1 {
            piece.size[axis] = to - from.clone();
            piece.start[axis] = from;
        } else {
            // One part holds the whole slice: the start moves with the part's offset.
            let shift = from - first.clone();
            piece.start[axis] = s.start[axis].clone() + shift;
        }
        pieces.push(rw.op1(Op::Slice(piece), &[part])?);
    }
    match pieces.as_slice() {
        [piece] => one(*piece),
        pieces => one(rw.concat(pieces, axis)?),
    }
}

fn slice_of_pad(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Slice(s) = &node.op else { return Ok(None) };
    let Some((Op::Pad(Pad { low, interior, .. }), x)) = rw.def1(node.inputs[0]) else { return Ok(None) };
    let Some(shape) = rw.shape_of(x) else { return Ok(None) };
    let mut inner = s.clone();
    for axis in 0..shape.rank() {
        let span = (s.size[axis].clone() - 1) * s.step[axis];
        let last = s.start[axis].clone() + span;
        let (first, last) = if s.step[axis] > 0 { (&s.start[axis], &last) } else { (&last, &s.start[axis]) };
        let end = low[axis].clone() + shape[axis].clone();
        let inside =
            rw.facts().proves_ge(first, &low[axis]) && rw.facts().proves_ge(&end, &(last.clone() + 1));
        if interior[axis] != 0 || !inside {
            return Ok(None);
        }
        inner.start[axis] = s.start[axis].clone() - low[axis].clone();
    }
    one(rw.op1(Op::Slice(inner), &[x])?)
}

fn slice_of_elementwise(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Slice(s) = &node.op else { return Ok(None) };
    let Some(def) = rw.def(node.inputs[0]) else { return Ok(None) };
    if !def.op.is_elementwise() {
        return Ok(None);
    }
    // Work must not grow: nothing but slices uses it in the end, and together they take no more than there is.
    let Some(whole) = rw.shape_of(node.inputs[0]).map(Shape::elements) else { return Ok(None) };
    if !rw.sliced(node.inputs[0]).is_some_and(|taken| rw.facts().proves_ge(&whole, &taken)) {
        return Ok(None);
    }
    let (op, operands) = (def.op.clone(), def.inputs.clone());
    let s = s.clone();
    let mut sliced = Vec::new();
    for v in operands {
        let v = rw.resolve(v);
        sliced.push(rw.op1(Op::Slice(s.clone()), &[v])?);
    }
    one(rw.op1(op, &sliced)?)
}
