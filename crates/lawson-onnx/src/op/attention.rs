//! Attention as one operator: Lawson's composite, with heads split off and earlier keys put in front.
//!
//! What the composite does not have (a soft cap, windows, keys that are padding, scores as a result) is put together here from
//! primitives, in the order that the standard gives: product, cap, bias, softmax, product.

use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{CompareKind, Monoid};
use lawson_graph::{
    Attention, Builder, Causal, Code, DType, Dim, Error, Keep, Op, Result, Shape, ValueId, op,
};

/// `[batch, length, heads·size]` as `[batch, heads, length, size]`; what has four dimensions stays.
pub(super) fn split_heads(cx: &mut NodeCx<'_, '_>, x: ValueId, heads: Option<i64>) -> Result<ValueId> {
    let shape = cx.b.shape(x)?;
    match (&shape[..], heads) {
        ([_, _, _, _], _) => Ok(x),
        ([_, _, width], Some(heads)) if heads >= 1 && width.as_const().is_some_and(|w| w % heads != 0) => {
            Err(cx
                .wrong(format!("`{}` of {shape} with {heads} heads", cx.op()))
                .help(format!("the last dimension, {width}, must be a multiple of the heads")))
        }
        ([batch, length, width], Some(heads)) if heads >= 1 => {
            let size = cx.b.facts().simplify(&width.floor_div(&Dim::from(heads)));
            let split = [batch.clone(), length.clone(), Dim::from(heads), size];
            let split = cx.b.reshape(x, split)?;
            cx.b.transpose(split, &[0, 2, 1, 3])
        }
        ([_, _, _], None) => Err(cx
            .wrong(format!("`{}` of {shape} does not say how many heads there are", cx.op()))
            .help("operands of three dimensions need `q_num_heads` and `kv_num_heads`")),
        ([_, _, _], Some(heads)) => Err(cx.wrong(format!("`{}` of {shape} with {heads} heads", cx.op()))),
        _ => Err(cx
            .wrong(format!("`{}` of {shape}", cx.op()))
            .help("queries, keys and values have three dimensions, or four with heads apart")),
    }
}

/// `[batch, heads, length, size]` as `[batch, length, heads·size]`.
pub(super) fn join_heads(cx: &mut NodeCx<'_, '_>, y: ValueId) -> Result<ValueId> {
    let moved = cx.b.transpose(y, &[0, 2, 1, 3])?;
    let shape = cx.b.shape(moved)?;
    let width = shape[2].clone() * shape[3].clone();
    cx.b.reshape(moved, [shape[0].clone(), shape[1].clone(), width])
}

/// Each head repeated, so that there are as many as queries have.
pub(super) fn repeat_heads(b: &mut Builder<'static>, x: ValueId, heads: &Dim) -> Result<ValueId> {
    let shape = b.shape(x)?;
    if shape.rank() != 4 {
        return Err(Error::new(Code::OnnxModel, format!("heads of {shape}: 4 dimensions were expected")));
    }
    if b.facts().equal(&shape[1], heads) {
        return Ok(x);
    }
    let group = b.facts().simplify(&heads.floor_div(&shape[1]));
    let parts = [&shape[0], &shape[1], &group, &shape[2], &shape[3]].map(Dim::clone);
    let repeated = b.broadcast_in(x, parts, &[0, 1, 3, 4])?;
    b.reshape(repeated, [&shape[0], heads, &shape[2], &shape[3]].map(Dim::clone))
}

/// Keys or values with earlier ones before them.
fn after_past(cx: &mut NodeCx<'_, '_>, now: ValueId, past: Option<ValueId>) -> Result<ValueId> {
    past.map_or(Ok(now), |past| cx.b.concat(&[past, now], 2))
}

/// Where the queries of a block stand among the keys.
enum Offset {
    /// At the same place in every entry of the batch.
    Same(Dim),
    /// At a place of its own for each entry: `[batch, 1, 1, 1]`.
    Each(ValueId),
}

/// What is asked for beyond the composite.
struct Extras {
    softcap: f64,
    /// How far a query sees before and behind its own place.
    window: [Option<i64>; 2],
    /// How many keys of each entry are no padding: i64 `[batch]`.
    valid: Option<ValueId>,
    /// Which scores are a result.
    scores: Option<i64>,
}

pub(super) fn attention(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    // Lawson keeps scores in f32 at least.
    cx.ignore("softmax_precision");
    let mode = cx.int("qk_matmul_output_mode")?.unwrap_or(0);
    let size = |name| Ok::<_, lawson_graph::Error>(cx.int(name)?.filter(|s| *s >= 0));
    let window = [size("left_window_size")?, size("right_window_size")?];
    let (softcap, causal) = (cx.float("softcap", 0.0)?, cx.flag("is_causal", false)?);
    let scores = cx.wants(3).then_some(mode);
    let extras = Extras { softcap, window, valid: cx.optional(6)?, scores };
    let (q_heads, kv_heads) = (cx.int("q_num_heads")?, cx.int("kv_num_heads")?);
    let (q, k, v) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    let is_flat = cx.b.tensor_type(q)?.rank() == 3;
    let q = split_heads(cx, q, q_heads)?;
    let (k, v) = (split_heads(cx, k, kv_heads)?, split_heads(cx, v, kv_heads)?);
    let (past_key, past_value) = (cx.optional(4)?, cx.optional(5)?);
    let past = past_key.map(|p| cx.b.shape(p)).transpose()?;
    if let Some(shape) = past.as_ref().filter(|s| s.rank() != 4) {
        return Err(cx.wrong(format!("`Attention` with earlier keys of {shape}")));
    }
    let past = past.map(|s| s[2].clone());
    let (k, v) = (after_past(cx, k, past_key)?, after_past(cx, v, past_value)?);
    let scale = if cx.has_attribute("scale") { Some(cx.float("scale", 1.0)?) } else { None };
    let mask = match cx.optional(3)? {
        Some(mask) => Some(whole_mask(cx, mask, k)?),
        None => None,
    };
    let is_plain =
        softcap == 0.0 && window == [None, None] && extras.valid.is_none() && extras.scores.is_none();
    let (y, scores) = if is_plain {
        // With earlier keys the last query sees the last key; without, the first sees the first.
        let causal = match (causal, past_key) {
            (false, _) => Causal::No,
            (true, None) => Causal::TopLeft,
            (true, Some(_)) => Causal::BottomRight,
        };
        let operands: Vec<ValueId> = [q, k, v].into_iter().chain(mask).collect();
        (cx.b.composite(Attention { causal, scale }, &operands)?, None)
    } else {
        let offset = match extras.valid {
            Some(valid) if past.is_none() => {
                let queries = cx.b.shape(q)?[2].clone();
                let valid = cx.b.cast(valid, DType::I64)?;
                let queries = cx.b.dim_scalar(&queries, DType::I64)?;
                let first = cx.b.sub(valid, queries)?;
                Offset::Each(per_entry(cx.b, first)?)
            }
            _ => Offset::Same(past.unwrap_or(Dim::ZERO)),
        };
        put_together(cx.b, [q, k, v], mask, scale, causal, &offset, &extras)?
    };
    let y = if is_flat { join_heads(cx, y)? } else { y };
    let mut results: Vec<Item> = vec![y.into(), k.into(), v.into()];
    results.extend(scores.map(Item::Value));
    Ok(results)
}

/// The mask for all keys: those that it does not reach are hidden.
fn whole_mask(cx: &mut NodeCx<'_, '_>, mask: ValueId, keys: ValueId) -> Result<ValueId> {
    let (ty, keys) = (cx.b.tensor_type(mask)?.clone(), cx.b.shape(keys)?[2].clone());
    if ty.rank() == 0 {
        return Err(cx.wrong("`Attention` with a mask that is a scalar"));
    }
    let Some(last) = ty.shape.last().filter(|d| !d.is(1) && !cx.b.facts().equal(d, &keys)) else {
        return Ok(mask);
    };
    let rest = cx.b.facts().simplify(&(keys - last.clone()));
    let hidden = if ty.dtype == DType::Bool { 0.0 } else { f64::NEG_INFINITY };
    let hidden = cx.b.scalar(ty.dtype, hidden)?;
    let rank = ty.rank();
    let (low, mut high) = (vec![Dim::ZERO; rank], vec![Dim::ZERO; rank]);
    high[rank - 1] = rest;
    cx.b.op1(Op::Pad(op::Pad { low, high, interior: vec![0; rank] }), &[mask, hidden])
}

fn per_entry(b: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
    let batch = b.shape(x)?.elements();
    b.reshape(x, [batch, Dim::ONE, Dim::ONE, Dim::ONE])
}

/// What is added to scores: 0 or the mask where a query may see a key, `-inf` elsewhere; `None` if nothing is hidden.
fn bias(
    b: &mut Builder<'static>,
    wide: DType,
    lengths: [Dim; 2],
    mask: Option<ValueId>,
    causal: bool,
    offset: &Offset,
    extras: &Extras,
) -> Result<Option<ValueId>> {
    let query = b.iota(DType::I64, lengths.clone(), 0)?;
    let key = b.iota(DType::I64, lengths, 1)?;
    let offset = match offset {
        Offset::Same(dim) => b.dim_scalar(dim, DType::I64)?,
        Offset::Each(v) => *v,
    };
    let place = b.add(query, offset)?;
    let behind = b.sub(place, key)?;
    let mut seen: Vec<ValueId> = Vec::new();
    let mut limit = |b: &mut Builder<'static>, kind, bound: i64| -> Result<()> {
        let bound = b.constant(lawson_graph::HostTensor::scalar(bound))?;
        seen.push(b.compare(kind, behind, bound)?);
        Ok(())
    };
    if causal {
        limit(b, CompareKind::Ge, 0)?;
    }
    if let Some(left) = extras.window[0] {
        limit(b, CompareKind::Le, left)?;
    }
    if let Some(right) = extras.window[1] {
        limit(b, CompareKind::Ge, -right)?;
    }
    if let Some(valid) = extras.valid {
        let valid = b.cast(valid, DType::I64)?;
        let valid = per_entry(b, valid)?;
        seen.push(b.compare(CompareKind::Lt, key, valid)?);
    }
    let mut added = None;
    if let Some(mask) = mask {
        if b.dtype(mask)? == DType::Bool {
            seen.push(mask);
        } else {
            added = Some(b.cast(mask, wide)?);
        }
    }
    let mut all: Option<ValueId> = None;
    for s in seen {
        all = Some(match all {
            Some(before) => b.and(before, s)?,
            None => s,
        });
    }
    let Some(all) = all else { return Ok(added) };
    let hidden = b.scalar(wide, f64::NEG_INFINITY)?;
    let shown = match added {
        Some(added) => added,
        None => b.scalar(wide, 0.0)?,
    };
    b.select(all, shown, hidden).map(Some)
}

fn put_together(
    b: &mut Builder<'static>,
    [q, k, v]: [ValueId; 3],
    mask: Option<ValueId>,
    scale: Option<f64>,
    causal: bool,
    offset: &Offset,
    extras: &Extras,
) -> Result<(ValueId, Option<ValueId>)> {
    let (dtype, shape) = (b.dtype(q)?, b.shape(q)?);
    let wide = dtype.accumulator();
    let (k, v) = (repeat_heads(b, k, &shape[1])?, repeat_heads(b, v, &shape[1])?);
    let [q, k, v] = [b.cast(q, wide)?, b.cast(k, wide)?, b.cast(v, wide)?];
    let keys = b.shape(k)?[2].clone();
    let transposed = b.transpose(k, &[0, 1, 3, 2])?;
    let product = b.matmul(q, transposed)?;
    let scale = match scale {
        Some(scale) => b.scalar(wide, scale)?,
        None => {
            let depth = b.dim_scalar(&shape[3], wide)?;
            b.rsqrt(depth)?
        }
    };
    let raw = b.mul(product, scale)?;
    let capped = if extras.softcap > 0.0 {
        let part = b.mul_scalar(raw, 1.0 / extras.softcap)?;
        let bent = b.tanh(part)?;
        b.mul_scalar(bent, extras.softcap)?
    } else {
        raw
    };
    let bias = bias(b, wide, [shape[2].clone(), keys], mask, causal, offset, extras)?;
    let biased = bias.map_or(Ok(capped), |bias| b.add(capped, bias))?;
    let mut weights = b.softmax(biased, 3)?;
    if let Some(bias) = bias {
        // A query that sees nothing gets nothing.
        let rank = b.tensor_type(bias)?.rank();
        let greatest = b.reduce(Monoid::Max, bias, &[rank - 1], Keep::Yes)?;
        let nothing = b.full_like(greatest, f64::NEG_INFINITY)?;
        let blind = b.compare(CompareKind::Eq, greatest, nothing)?;
        let zero = b.scalar(wide, 0.0)?;
        weights = b.select(blind, zero, weights)?;
    }
    let y = b.matmul(weights, v)?;
    let scores = match extras.scores {
        None => None,
        Some(mode) => {
            let chosen = [raw, capped, biased, weights].get(mode as usize).copied().unwrap_or(raw);
            Some(b.cast(chosen, dtype)?)
        }
    };
    Ok((b.cast(y, dtype)?, scores))
}

/// Attention whose scores and weights graphs of the model change.
pub(super) fn flex_attention(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("softmax_precision");
    let scale = if cx.has_attribute("scale") { Some(cx.float("scale", 1.0)?) } else { None };
    let (q, k, v) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    let (dtype, shape) = (cx.b.dtype(q)?, cx.b.shape(q)?);
    if shape.rank() != 4 {
        return Err(cx.wrong(format!("`FlexAttention` of {shape}: 4 dimensions were expected")));
    }
    let wide = dtype.accumulator();
    let (k, v) = (repeat_heads(cx.b, k, &shape[1])?, repeat_heads(cx.b, v, &shape[1])?);
    let [q, k, v] = [cx.b.cast(q, wide)?, cx.b.cast(k, wide)?, cx.b.cast(v, wide)?];
    let transposed = cx.b.transpose(k, &[0, 1, 3, 2])?;
    let product = cx.b.matmul(q, transposed)?;
    let scale = match scale {
        Some(scale) => cx.b.scalar(wide, scale)?,
        None => {
            let depth = cx.b.dim_scalar(&shape[3], wide)?;
            cx.b.rsqrt(depth)?
        }
    };
    let scores = cx.b.mul(product, scale)?;
    let scores = changed(cx, "score_mod", scores)?;
    let weights = cx.b.softmax(scores, 3)?;
    let weights = changed(cx, "prob_mod", weights)?;
    let y = cx.b.matmul(weights, v)?;
    super::one(cx.b.cast(y, dtype)?)
}

/// What a graph of the node makes of a value of its type, if there is one.
fn changed(cx: &mut NodeCx<'_, '_>, name: &'static str, x: ValueId) -> Result<ValueId> {
    if !cx.has_attribute(name) {
        return Ok(x);
    }
    let body = cx.graph(name)?;
    let (dtype, shape): (DType, Shape) = (cx.b.dtype(x)?, cx.b.shape(x)?);
    let results = super::control::inlined(cx, body, vec![Item::Value(x)])?;
    let Some(result) = results.first() else {
        return Err(cx.wrong(format!("the graph `{name}` has no result")));
    };
    let y = result.build(cx.b)?;
    let y = cx.b.cast(y, dtype)?;
    cx.b.broadcast_to(y, shape)
}
