//! Attention of `com.microsoft`: one product for queries, keys and values, or three; masks by lengths or by elements; earlier keys
//! in a cache. `group_query.rs` has the one whose heads of queries share heads of keys.

use super::attention::{join_heads, repeat_heads, split_heads};
use super::contrib_quant::dequantised;
use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::CompareKind;
use lawson_graph::{Builder, DType, Dim, HostTensor, Linear, Result, Shape, ValueId, WeightLayout};

/// What scores are changed by before the softmax.
#[derive(Default)]
pub(super) struct Masks {
    /// Added to scores.
    pub(super) added: Option<ValueId>,
    /// Which keys a query sees, besides.
    pub(super) seen: Vec<ValueId>,
    /// What takes the place of scores that are not seen.
    pub(super) hidden: f64,
    pub(super) softcap: f64,
}

/// `softmax(q·kᵀ·scale + …)·v` over `[batch, heads, length, size]`, with as many heads of keys as divide those of queries.
pub(super) fn attended(
    b: &mut Builder<'static>,
    [q, k, v]: [ValueId; 3],
    scale: Option<f64>,
    masks: &Masks,
) -> Result<ValueId> {
    let (dtype, shape) = (b.dtype(q)?, b.shape(q)?);
    let wide = dtype.accumulator();
    let (k, v) = (repeat_heads(b, k, &shape[1])?, repeat_heads(b, v, &shape[1])?);
    let [q, k, v] = [b.cast(q, wide)?, b.cast(k, wide)?, b.cast(v, wide)?];
    let turned = b.transpose(k, &[0, 1, 3, 2])?;
    let product = b.matmul(q, turned)?;
    let scale = match scale {
        Some(scale) => b.scalar(wide, scale)?,
        None => {
            let depth = b.dim_scalar(&shape[3], wide)?;
            b.rsqrt(depth)?
        }
    };
    let mut scores = b.mul(product, scale)?;
    if masks.softcap > 0.0 {
        let part = b.mul_scalar(scores, 1.0 / masks.softcap)?;
        let bent = b.tanh(part)?;
        scores = b.mul_scalar(bent, masks.softcap)?;
    }
    if let Some(added) = masks.added {
        let added = b.cast(added, wide)?;
        scores = b.add(scores, added)?;
    }
    let hidden = b.scalar(wide, masks.hidden)?;
    for seen in &masks.seen {
        scores = b.select(*seen, scores, hidden)?;
    }
    let weights = b.softmax(scores, 3)?;
    let y = b.matmul(weights, v)?;
    b.cast(y, dtype)
}

/// Which keys a query sees that stands behind `past` others: bool `[queries, keys]`.
pub(super) fn causal(b: &mut Builder<'static>, queries: &Dim, keys: &Dim, past: &Dim) -> Result<ValueId> {
    let shape = [queries.clone(), keys.clone()];
    let (query, key) = (b.iota(DType::I64, shape.clone(), 0)?, b.iota(DType::I64, shape, 1)?);
    let past = b.dim_scalar(past, DType::I64)?;
    let place = b.add(query, past)?;
    b.compare(CompareKind::Le, key, place)
}

/// A mask of keys in one of its shapes: a length for each entry, or 0 and 1 for each key, or for each query and key.
fn key_mask(cx: &mut NodeCx<'_, '_>, mask: ValueId, keys: &Dim) -> Result<ValueId> {
    let shape = cx.b.shape(mask)?;
    let dtype = cx.b.dtype(mask)?;
    if let [batch] = &shape[..] {
        let key = cx.b.iota(dtype, [Dim::ONE, keys.clone()], 1)?;
        let length = cx.b.reshape(mask, [batch.clone(), Dim::ONE])?;
        let seen = cx.b.compare(CompareKind::Lt, key, length)?;
        return cx.b.reshape(seen, [batch.clone(), Dim::ONE, Dim::ONE, keys.clone()]);
    }
    let seen = if dtype == DType::Bool {
        mask
    } else {
        let zero = cx.b.full_like(mask, 0.0)?;
        cx.b.compare(CompareKind::Gt, mask, zero)?
    };
    let dims: Vec<Dim> = match &shape[..] {
        [batch, keys] => vec![batch.clone(), Dim::ONE, Dim::ONE, keys.clone()],
        [batch, queries, keys] => vec![batch.clone(), Dim::ONE, queries.clone(), keys.clone()],
        [_, _, _, _] => shape.to_vec(),
        _ => return Err(cx.wrong(format!("`{}` with a mask of {shape}", cx.op()))),
    };
    cx.b.reshape(seen, Shape::from(dims))
}

/// The part of the last axis that starts there.
pub(super) fn columns(b: &mut Builder<'static>, x: ValueId, start: i64, size: i64) -> Result<ValueId> {
    let axis = b.tensor_type(x)?.rank().saturating_sub(1);
    b.slice_axis(x, axis, start, size)
}

/// How many keys a cache `[batch, heads, length, size]` holds.
pub(super) fn cached(cx: &NodeCx<'_, '_>, keys: ValueId) -> Result<Dim> {
    let shape = cx.b.shape(keys)?;
    let length = shape.get(2).filter(|_| shape.rank() == 4).cloned();
    length.ok_or_else(|| cx.wrong(format!("`{}` with earlier keys of {shape}", cx.op())))
}

pub(super) fn heads_of(cx: &NodeCx<'_, '_>) -> Result<i64> {
    let heads = cx.int("num_heads")?.filter(|h| (1..=1 << 20).contains(h));
    heads.ok_or_else(|| cx.wrong(format!("`{}` has no `num_heads`", cx.op())))
}

pub(super) fn scale_of(cx: &NodeCx<'_, '_>) -> Result<Option<f64>> {
    let scale = cx.float("scale", 0.0)?;
    Ok(if scale == 0.0 { None } else { Some(scale) })
}

/// One product makes queries, keys and values.
pub(super) fn attention(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    if cx.flag("do_rotary", false)? || cx.has(6) || cx.flag("past_present_share_buffer", false)? {
        return Err(cx.unsupported("`Attention` of com.microsoft with rotary embeddings or a shared cache"));
    }
    cx.ignore("rotary_embedding_dim");
    let (x, w) = (cx.value(0)?, cx.value(1)?);
    let (bias, mask, past, added) = (cx.optional(2)?, cx.optional(3)?, cx.optional(4)?, cx.optional(5)?);
    whole_attention(cx, Whole { x, w, bias, mask, past, added })
}

/// The same for integers with scales: operands and weights are made floats first.
pub(super) fn quantised_attention(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    if cx.flag("do_rotary", false)? || cx.flag("past_present_share_buffer", false)? {
        return Err(cx.unsupported("`QAttention` with rotary embeddings or a shared cache"));
    }
    cx.ignore("rotary_embedding_dim");
    let (x, w, scales) = (cx.value(0)?, cx.value(1)?, [cx.value(3)?, cx.value(4)?]);
    let zeros = [cx.optional(6)?, cx.optional(7)?];
    let x = dequantised(cx, x, scales[0], zeros[0])?;
    let w = dequantised(cx, w, scales[1], zeros[1])?;
    let (bias, mask, past) = (cx.optional(2)?, cx.optional(5)?, cx.optional(8)?);
    whole_attention(cx, Whole { x, w, bias, mask, past, added: None })
}

/// What an attention with one product works on.
struct Whole {
    x: ValueId,
    w: ValueId,
    bias: Option<ValueId>,
    mask: Option<ValueId>,
    past: Option<ValueId>,
    added: Option<ValueId>,
}

fn whole_attention(cx: &mut NodeCx<'_, '_>, whole: Whole) -> Result<Vec<Item>> {
    let (heads, scale) = (heads_of(cx)?, scale_of(cx)?);
    let Whole { x, w, bias, mask, past, added } = whole;
    let operands: Vec<ValueId> = [x, w].into_iter().chain(bias).collect();
    let all = cx.b.composite(Linear { layout: WeightLayout::InOut }, &operands)?;
    let sizes = match cx.ints("qkv_hidden_sizes")? {
        Some([q, k, v]) if [q, k, v].iter().all(|n| (0..=1 << 31).contains(*n)) => [*q, *k, *v],
        _ => match cx.b.shape(w)?.get(1).and_then(Dim::as_const).filter(|n| n % 3 == 0) {
            Some(n) => [n / 3; 3],
            None => return Err(cx.unsupported("`Attention` of com.microsoft with weights of unknown size")),
        },
    };
    let mut parts = Vec::with_capacity(3);
    for (i, size) in sizes.iter().enumerate() {
        let part = columns(cx.b, all, sizes[..i].iter().sum(), *size)?;
        parts.push(split_heads(cx, part, Some(heads))?);
    }
    let (q, mut k, mut v) = (parts[0], parts[1], parts[2]);
    let mut before = Dim::ZERO;
    if let Some(past) = past {
        // [2, batch, heads, length, size]
        let shape = cx.b.shape(past)?;
        if shape.rank() != 5 {
            return Err(cx.wrong(format!("`Attention` with earlier keys of {shape}")));
        }
        before = shape.get(3).cloned().unwrap_or(Dim::ZERO);
        let dims = Shape::from(&shape[1..]);
        for (i, part) in [&mut k, &mut v].into_iter().enumerate() {
            let own = cx.b.slice_axis(past, 0, i as i64, 1)?;
            let own = cx.b.reshape(own, dims.clone())?;
            *part = cx.b.concat(&[own, *part], 2)?;
        }
    }
    let (queries, keys) = (cx.b.shape(q)?[2].clone(), cx.b.shape(k)?[2].clone());
    let mut masks = Masks { added, hidden: cx.float("mask_filter_value", -10_000.0)?, ..Masks::default() };
    if let Some(mask) = mask {
        masks.seen.push(key_mask(cx, mask, &keys)?);
    }
    if cx.flag("unidirectional", false)? {
        masks.seen.push(causal(cx.b, &queries, &keys, &before)?);
    }
    let y = attended(cx.b, [q, k, v], scale, &masks)?;
    let mut results = vec![join_heads(cx, y)?.into()];
    if cx.wants(1) {
        let mut both = Vec::with_capacity(2);
        for part in [k, v] {
            let dims = [Dim::ONE].into_iter().chain(cx.b.shape(part)?.into_dims()).collect::<Shape>();
            both.push(cx.b.reshape(part, dims)?);
        }
        results.push(cx.b.concat(&both, 0)?.into());
    }
    Ok(results)
}

/// Queries, keys and values are operands, the latter two flat or split into heads already.
pub(super) fn multi_head(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (heads, scale) = (heads_of(cx)?, scale_of(cx)?);
    if !cx.has(1) || !cx.has(2) || cx.operands() > 8 {
        return Err(cx.unsupported("`MultiHeadAttention` with packed operands or a cache that is shared"));
    }
    let (mut q, mut k, mut v) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    if let Some(bias) = cx.optional(3)? {
        let (width, depth) = (cx.b.shape(q)?, cx.b.shape(v)?);
        let size = |s: &Shape| s.last().and_then(Dim::as_const);
        let (Some(width), Some(depth), true) = (size(&width), size(&depth), depth.rank() == 3) else {
            return Err(cx.unsupported("`MultiHeadAttention` with a bias and keys that are split into heads"));
        };
        for (x, start, size) in [(&mut q, 0, width), (&mut k, width, width), (&mut v, 2 * width, depth)] {
            let part = columns(cx.b, bias, start, size)?;
            *x = cx.b.add(*x, part)?;
        }
    }
    let q = split_heads(cx, q, Some(heads))?;
    let (mut k, mut v) = (split_heads(cx, k, Some(heads))?, split_heads(cx, v, Some(heads))?);
    let mut before = Dim::ZERO;
    if let (Some(keys), Some(values)) = (cx.optional(6)?, cx.optional(7)?) {
        before = cached(cx, keys)?;
        (k, v) = (cx.b.concat(&[keys, k], 2)?, cx.b.concat(&[values, v], 2)?);
    }
    let (queries, keys) = (cx.b.shape(q)?[2].clone(), cx.b.shape(k)?[2].clone());
    let mut masks = Masks {
        added: cx.optional(5)?,
        hidden: cx.float("mask_filter_value", -10_000.0)?,
        ..Masks::default()
    };
    if let Some(mask) = cx.optional(4)? {
        masks.seen.push(key_mask(cx, mask, &keys)?);
    }
    if cx.flag("unidirectional", false)? {
        masks.seen.push(causal(cx.b, &queries, &keys, &before)?);
    }
    let y = attended(cx.b, [q, k, v], scale, &masks)?;
    Ok(vec![join_heads(cx, y)?.into(), k.into(), v.into()])
}

/// Biases of T5's attention, `[1, heads, queries, keys]`: a row of a table for each bucket of distances, which are wider farther out.
pub(super) fn relative_position_bias(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let both_ways = cx.flag("is_bidirectional", false)?;
    let farthest = cx.int("max_distance")?.unwrap_or(128);
    let table = cx.value(0)?;
    let shape = cx.b.shape(table)?;
    let buckets = match &shape[..] {
        [buckets, _] => buckets.as_const().filter(|b| (4..=1 << 20).contains(b)),
        _ => None,
    };
    let (Some(buckets), true) = (buckets, (1..=1 << 20).contains(&farthest)) else {
        return Err(
            cx.wrong(format!("`RelativePositionBias` with a table {shape} for distances to {farthest}"))
        );
    };
    let lengths = [cx.dims_of(1, "query_length")?, cx.dims_of(2, "key_length")?];
    let [Some(queries), Some(keys)] = lengths.map(|l| l.dims.first().cloned()) else {
        return Err(cx.wrong("`RelativePositionBias` without lengths"));
    };
    let own = if both_ways { buckets / 2 } else { buckets };
    let near = own / 2;
    // The bucket of each distance, the last for all that are farther.
    let of_distance = |d: i64| {
        if d < near {
            return d;
        }
        let log = (d as f32 / near as f32).ln() / (farthest as f32 / near as f32).ln();
        (near + (log * (own - near) as f32) as i64).min(own - 1)
    };
    let numbers: Vec<i64> = (0..=farthest.max(near)).map(of_distance).collect();
    let last = (numbers.len() - 1) as f64;
    let numbers = cx.b.constant(HostTensor::from_slice(&[numbers.len()], &numbers)?)?;
    let places = Shape::from(vec![queries, keys]);
    let (q, k) = (cx.b.iota(DType::I64, places.clone(), 0)?, cx.b.iota(DType::I64, places, 1)?);
    let ahead = cx.b.sub(k, q)?;
    let zero = cx.b.full_like(ahead, 0.0)?;
    let far = if both_ways {
        cx.b.abs(ahead)?
    } else {
        let behind = cx.b.sub(zero, ahead)?;
        cx.b.max(behind, zero)?
    };
    let far = cx.b.clip(far, 0.0, last)?;
    let mut bucket = cx.b.take(numbers, far, 0)?;
    if both_ways {
        let forward = cx.b.compare(CompareKind::Gt, ahead, zero)?;
        let more = cx.b.full_like(ahead, own as f64)?;
        let more = cx.b.select(forward, more, zero)?;
        bucket = cx.b.add(bucket, more)?;
    }
    let rows = cx.b.take(table, bucket, 0)?;
    let heads_first = cx.b.transpose(rows, &[2, 0, 1])?;
    let dims = [Dim::ONE].into_iter().chain(cx.b.shape(heads_first)?.iter().cloned()).collect::<Shape>();
    one(cx.b.reshape(heads_first, dims)?)
}
