//! Attention and convolution that carry a state from one step to the next.

use super::attention::{repeat_heads, split_heads};
use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{Contract, Convolve};
use lawson_graph::{Builder, Dim, HostTensor, Op, Result, Shape, ValueId};

/// `[batch, heads, length, size]` with the length first, for a scan.
fn steps(b: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
    b.transpose(x, &[2, 0, 1, 3])
}

/// A state of outer products of keys and values that decays and is corrected, read by queries, step by step.
pub(super) fn linear_attention(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("chunk_size");
    let (q_heads, kv_heads) = (cx.int("q_num_heads")?, cx.int("kv_num_heads")?);
    let rule = cx.text("update_rule")?.unwrap_or("gated_delta");
    let (gated, delta) = match rule {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return Err(cx.no_such("update_rule", other, &["linear", "gated", "delta", "gated_delta"])),
    };
    let (q, k, v) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    let dtype = cx.b.dtype(q)?;
    let wide = dtype.accumulator();
    let q = split_heads(cx, q, q_heads)?;
    let (k, v) = (split_heads(cx, k, kv_heads)?, split_heads(cx, v, kv_heads)?);
    let (ks, vs) = (cx.b.shape(k)?, cx.b.shape(v)?);
    let scale = match cx.float("scale", 0.0)? {
        0.0 => {
            let depth = cx.b.dim_scalar(&ks[3], wide)?;
            cx.b.rsqrt(depth)?
        }
        s => cx.b.scalar(wide, s)?,
    };
    let mut scanned = Vec::new();
    for x in [q, k, v] {
        let x = cx.b.cast(x, wide)?;
        scanned.push(steps(cx.b, x)?);
    }
    for (i, wanted) in [(4, gated), (5, delta)] {
        if wanted != cx.has(i) {
            return Err(cx.wrong(format!("the update rule `{rule}` does not go with operand {i} as it is")));
        }
        if wanted {
            // One number a head, or one an entry of its keys.
            let x = cx.value(i)?;
            let width = cx.b.shape(x)?.last().cloned().unwrap_or(Dim::ONE);
            let heads = if width.is(1) { Some(1) } else { kv_heads };
            let x = split_heads(cx, x, heads)?;
            let x = cx.b.cast(x, wide)?;
            scanned.push(steps(cx.b, x)?);
        }
    }
    let state = Shape::from([ks[0].clone(), ks[1].clone(), ks[3].clone(), vs[3].clone()]);
    let (first, kept) = match cx.optional(3)? {
        Some(past) => (cx.b.cast(past, wide)?, cx.b.dtype(past)?),
        None => {
            let zero = cx.b.scalar(wide, 0.0)?;
            (cx.b.broadcast_to(zero, state)?, dtype)
        }
    };
    let heads = cx.b.shape(q)?[1].clone();
    let results =
        cx.b.scan(ks[2].clone(), &[first], &scanned, &[scale], |b, v| step(b, v, gated, delta, &heads))?;
    let kept = cx.b.cast(results[0], kept)?;
    // [length, batch, heads, size] → [batch, length, heads·size]
    let y = cx.b.transpose(results[1], &[1, 0, 2, 3])?;
    let shape = cx.b.shape(y)?;
    let width = shape[2].clone() * shape[3].clone();
    let y = cx.b.reshape(y, [shape[0].clone(), shape[1].clone(), width])?;
    Ok(vec![cx.b.cast(y, dtype)?.into(), kept.into()])
}

/// One step: the next state and what the query reads of it.
fn step(
    b: &mut Builder<'static>,
    v: &[ValueId],
    gated: bool,
    delta: bool,
    heads: &Dim,
) -> Result<Vec<ValueId>> {
    let mut rest = v.iter().copied();
    let mut next = || rest.next().ok_or_else(|| lawson_graph::Error::internal("a step lacks an operand"));
    let (mut state, q, k, mut value) = (next()?, next()?, next()?, next()?);
    let column = |b: &mut Builder<'static>, x: ValueId| {
        let dims = b.shape(x)?.iter().cloned().chain([Dim::ONE]).collect::<Shape>();
        b.reshape(x, dims)
    };
    let read = |b: &mut Builder<'static>, by: ValueId, state: ValueId| {
        let contract = Contract { batch: vec![(0, 0), (1, 1)], sum: vec![(2, 2)], out: None };
        b.op1(Op::Contract(contract), &[by, state])
    };
    if gated {
        let decay = next()?;
        let factor = b.exp(decay)?;
        let factor = column(b, factor)?;
        state = b.mul(state, factor)?;
    }
    if delta {
        let beta = next()?;
        let known = read(b, k, state)?;
        let new = b.sub(value, known)?;
        value = b.mul(beta, new)?;
    }
    let scale = next()?;
    let (k, row) = (column(b, k)?, {
        let s = b.shape(value)?;
        b.reshape(value, [s[0].clone(), s[1].clone(), Dim::ONE, s[2].clone()])?
    });
    let outer = b.mul(k, row)?;
    state = b.add(state, outer)?;
    let seen = repeat_heads(b, state, heads)?;
    let y = read(b, q, seen)?;
    Ok(vec![state, b.mul(y, scale)?])
}

/// A convolution along time, one filter a channel, after the end of the last block.
pub(super) fn causal_conv(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, w) = (cx.value(0)?, cx.value(1)?);
    let (xs, ws) = (cx.b.shape(x)?, cx.b.shape(w)?);
    let (3, 3, Some(channels)) = (xs.rank(), ws.rank(), xs.get(1).and_then(Dim::as_const)) else {
        return Err(cx.wrong(format!("`CausalConvWithState` of {xs} with weights {ws}")));
    };
    let before = ws[2].clone() - 1;
    let past = match cx.optional(3)? {
        Some(past) => past,
        None => {
            let zero = cx.b.constant(HostTensor::zeros(cx.b.dtype(x)?, &[])?)?;
            cx.b.broadcast_to(zero, [xs[0].clone(), xs[1].clone(), before.clone()])?
        }
    };
    let whole = cx.b.concat(&[past, x], 2)?;
    let convolve = Convolve { groups: channels, ..Convolve::plain(1) };
    let mut y = cx.b.op1(Op::Convolve(convolve), &[whole, w])?;
    if let Some(bias) = cx.optional(2)? {
        let shape = cx.b.shape(y)?;
        let bias = cx.b.broadcast_in(bias, shape, &[1])?;
        y = cx.b.add(y, bias)?;
    }
    let y = match cx.text("activation")?.unwrap_or("none") {
        "none" => y,
        "silu" | "swish" => cx.b.silu(y)?,
        other => return Err(cx.no_such("activation", other, &["none", "silu", "swish"])),
    };
    let last = cx.b.slice_axis(whole, 2, xs[2].clone(), before)?;
    Ok(vec![y.into(), last.into()])
}

/// `SwiGLU`: halves of the last axis, or a gate of its own.
pub(super) fn swiglu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (gate, up) = (cx.value(0)?, cx.value(1)?);
    let alpha = cx.float("alpha", 1.0)?;
    let scaled = if alpha == 1.0 { gate } else { cx.b.mul_scalar(gate, alpha)? };
    let share = cx.b.sigmoid(scaled)?;
    let gated = cx.b.mul(gate, share)?;
    one(cx.b.mul(gated, up)?)
}
