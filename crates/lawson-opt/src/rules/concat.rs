//! Concat and pad: they merge and vanish.

use crate::rewrite::{Rewriter, one};
use crate::rule::{Exact, Rule};
use lawson_graph::op::{Concat, Family, Op, Pad, Slice};
use lawson_graph::{Dim, Node, Result, Shape, ValueId};

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "concat-one",
        identity: "concat(x) = x",
        exact: Exact::Bits,
        roots: &[Family::Concat],
        apply: |_, node| match node.op {
            Op::Concat(_) if node.inputs.len() == 1 => one(node.inputs[0]),
            _ => Ok(None),
        },
        instance: |i| {
            let dtype = i.dtype();
            let shape = i.shape(2);
            let x = i.input(dtype, shape)?;
            i.b.concat(&[x], 1)
        },
    },
    Rule {
        name: "concat-empty-part",
        identity: "concat(a, empty, b) = concat(a, b)",
        exact: Exact::Bits,
        roots: &[Family::Concat],
        apply: |rw, node| {
            let Op::Concat(Concat { axis }) = node.op else { return Ok(None) };
            let empty = |v: &ValueId| rw.shape_of(*v).is_some_and(|s| s[axis].is(0));
            let kept: Vec<ValueId> = node.inputs.iter().copied().filter(|v| !empty(v)).collect();
            if kept.is_empty() || kept.len() == node.inputs.len() {
                return Ok(None);
            }
            one(rw.concat(&kept, axis)?)
        },
        instance: |i| {
            let (dtype, rows) = (i.dtype(), i.dim());
            let a = i.input(dtype, [rows.clone(), Dim::from(2)])?;
            let e = i.input(dtype, [rows, Dim::ZERO])?;
            i.b.concat(&[a, e, a], 1)
        },
    },
    Rule {
        name: "concat-concat",
        identity: "concat(concat(a, b), c) = concat(a, b, c) along one axis, where the inner one has no other use",
        exact: Exact::Bits,
        roots: &[Family::Concat],
        apply: concat_concat,
        instance: |i| {
            let (dtype, rows) = (i.dtype(), i.dim());
            let a = i.input(dtype, [rows.clone(), Dim::from(2)])?;
            let b = i.input(dtype, [rows, Dim::symbol("N")])?;
            let inner = i.b.concat(&[a, b], 1)?;
            i.b.concat(&[b, inner], 1)
        },
    },
    Rule {
        name: "concat-of-neighbours",
        identity: "concat(slice<s, m>(x), slice<s + m, n>(x)) = slice<s, m + n>(x)",
        exact: Exact::Bits,
        roots: &[Family::Concat],
        apply: concat_of_neighbours,
        instance: |i| {
            let dtype = i.dtype();
            let (n, rows) = (i.size() + 3, i.dim());
            let x = i.input(dtype, [rows, Dim::from(n)])?;
            let cut = i.rng.between(1, n - 1);
            let (a, b) = (i.b.slice_axis(x, 1, 0, cut)?, i.b.slice_axis(x, 1, cut, n - cut)?);
            i.b.concat(&[a, b], 1)
        },
    },
    Rule {
        name: "pad-nothing",
        identity: "pad<0, 0, 0>(x) = x",
        exact: Exact::Bits,
        roots: &[Family::Pad],
        apply: |_, node| match &node.op {
            Op::Pad(Pad { low, high, interior })
                if low.iter().chain(high).all(|d| d.is(0)) && interior.iter().all(|n| *n == 0) =>
            {
                one(node.inputs[0])
            }
            _ => Ok(None),
        },
        instance: |i| {
            let dtype = i.dtype();
            let shape = i.shape(2);
            let x = i.input(dtype, shape)?;
            let value = i.constant(dtype, &[])?;
            let zero = vec![Dim::ZERO; 2];
            i.b.op1(Op::Pad(Pad { low: zero.clone(), high: zero, interior: vec![0, 0] }), &[x, value])
        },
    },
    Rule {
        name: "pad-pad",
        identity: "pad<l, h>(pad<m, k>(x, v), v) = pad<l + m, h + k>(x, v)",
        exact: Exact::Bits,
        roots: &[Family::Pad],
        apply: pad_pad,
        instance: |i| {
            let dtype = i.dtype();
            let shape = i.shape(2);
            let x = i.input(dtype, shape)?;
            let value = i.constant(dtype, &[])?;
            let mut amount = || vec![Dim::from(i.rng.between(0, 2)), Dim::from(i.rng.between(0, 2))];
            let (l, h, m, k) = (amount(), amount(), amount(), amount());
            let y = i.b.op1(Op::Pad(Pad { low: m, high: k, interior: vec![0, 0] }), &[x, value])?;
            i.b.op1(Op::Pad(Pad { low: l, high: h, interior: vec![0, 0] }), &[y, value])
        },
    },
];

fn concat_concat(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Concat(Concat { axis }) = node.op else { return Ok(None) };
    let mut flat = Vec::new();
    let mut nested = false;
    for v in &node.inputs {
        match rw.def(*v) {
            Some(Node { op: Op::Concat(inner), inputs, .. }) if inner.axis == axis && rw.single_use(*v) => {
                nested = true;
                flat.extend(inputs.iter().map(|v| rw.resolve(*v)));
            }
            _ => flat.push(*v),
        }
    }
    if nested { one(rw.concat(&flat, axis)?) } else { Ok(None) }
}

fn concat_of_neighbours(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Concat(Concat { axis }) = node.op else { return Ok(None) };
    let mut merged: Vec<(ValueId, Option<(ValueId, Slice)>)> = Vec::new();
    let mut any = false;
    for v in &node.inputs {
        let slice = match rw.def1(*v) {
            Some((Op::Slice(s), x)) => Some((x, s.clone())),
            _ => None,
        };
        if let (Some((x, s)), Some((_, Some((last_x, last))))) = (&slice, merged.last_mut())
            && x == last_x
            && continues(rw, last, s, axis)
        {
            last.size[axis] = last.size[axis].clone() + s.size[axis].clone();
            any = true;
            continue;
        }
        merged.push((*v, slice));
    }
    if !any {
        return Ok(None);
    }
    let mut parts = Vec::new();
    for (v, slice) in merged {
        let Some((x, s)) = slice else {
            parts.push(v);
            continue;
        };
        // A slice that was not merged stays the value that it was.
        let unchanged = rw.shape_of(v).is_some_and(|have| rw.same_shape(have, &Shape::from(s.size.clone())));
        parts.push(if unchanged { v } else { rw.op1(Op::Slice(s), &[x])? });
    }
    match parts.as_slice() {
        [part] => one(*part),
        parts => one(rw.concat(parts, axis)?),
    }
}

/// Whether slice `b` begins along the axis where slice `a` ends, both with step 1, and is like it otherwise.
fn continues(rw: &Rewriter<'_>, a: &Slice, b: &Slice, axis: usize) -> bool {
    let others = (0..a.step.len()).filter(|i| *i != axis);
    let alike = |i: usize| a.start[i] == b.start[i] && a.size[i] == b.size[i] && a.step[i] == b.step[i];
    a.step[axis] == 1
        && b.step[axis] == 1
        && rw.facts().equal(&(a.start[axis].clone() + a.size[axis].clone()), &b.start[axis])
        && others.into_iter().all(alike)
}

fn pad_pad(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Pad(outer) = &node.op else { return Ok(None) };
    let Some(def) = rw.def(node.inputs[0]) else { return Ok(None) };
    let Op::Pad(inner) = &def.op else { return Ok(None) };
    let (x, value) = (rw.resolve(def.inputs[0]), rw.resolve(def.inputs[1]));
    let same =
        value == node.inputs[1] || rw.splat(value).zip(rw.splat(node.inputs[1])).is_some_and(|(a, b)| a == b);
    if !same || outer.interior.iter().chain(&inner.interior).any(|n| *n != 0) {
        return Ok(None);
    }
    let add = |a: &[Dim], b: &[Dim]| a.iter().zip(b).map(|(a, b)| a.clone() + b.clone()).collect();
    let merged = Pad {
        low: add(&outer.low, &inner.low),
        high: add(&outer.high, &inner.high),
        interior: inner.interior.clone(),
    };
    one(rw.op1(Op::Pad(merged), &[x, value])?)
}
