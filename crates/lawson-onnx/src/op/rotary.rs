//! Rotary embeddings: pairs of elements turned by angles whose cosines and sines are operands.

use super::attention::{join_heads, split_heads};
use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::Slice;
use lawson_graph::{Dim, Op, Result, Shape, ValueId};

/// `x` is `[batch, heads, length, size]`, or flat; the caches are `[positions, half]` with positions to look up, or one
/// row for each place: `[batch, length, half]`.
pub(super) fn rotary_embedding(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let heads = cx.int("num_heads")?.filter(|h| *h > 0);
    let (x, cos, sin) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    let positions = cx.optional(3)?;
    turned(cx, x, [cos, sin], positions, heads)
}

/// The contrib operator has its positions before the caches, and may have one start for all of them.
pub(super) fn microsoft(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    for name in ["scale", "is_packed_batching"] {
        cx.ignore(name);
    }
    let heads = cx.int("num_heads")?.filter(|h| *h > 0);
    let (x, at, cos, sin) = (cx.value(0)?, cx.value(1)?, cx.value(2)?, cx.value(3)?);
    let shape = cx.b.shape(x)?;
    if !matches!(shape.rank(), 3 | 4) {
        return Err(cx.wrong(format!("`RotaryEmbedding` of {shape}")));
    }
    let heads = match (heads, &shape[..]) {
        (None, [_, _, width]) => {
            let half = cx.b.shape(cos)?.last().cloned().unwrap_or(Dim::ONE);
            cx.b.facts().simplify(&width.floor_div(&(half * 2))).as_const()
        }
        (heads, _) => heads,
    };
    let length = if shape.rank() == 4 { &shape[2] } else { &shape[1] };
    let at = if cx.b.tensor_type(at)?.rank() == 1 {
        let first = cx.b.reshape(at, Shape::scalar())?;
        let dtype = cx.b.dtype(first)?;
        let each = cx.b.iota(dtype, [shape[0].clone(), length.clone()], 1)?;
        cx.b.add(each, first)?
    } else {
        at
    };
    turned(cx, x, [cos, sin], Some(at), heads)
}

/// As `x` comes: flat or split into heads.
fn turned(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    caches: [ValueId; 2],
    positions: Option<ValueId>,
    heads: Option<i64>,
) -> Result<Vec<Item>> {
    let is_flat = cx.b.tensor_type(x)?.rank() == 3;
    let x = split_heads(cx, x, heads)?;
    let interleaved = cx.flag("interleaved", false)?;
    let size = cx.int("rotary_embedding_dim")?.filter(|n| *n != 0);
    let y = turned_heads(cx, x, caches, positions, interleaved, size)?;
    one(if is_flat { join_heads(cx, y)? } else { y })
}

/// `[batch, heads, length, size]`, of whose last axis so many elements are turned, all if unsaid.
pub(super) fn turned_heads(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    caches: [ValueId; 2],
    positions: Option<ValueId>,
    interleaved: bool,
    size: Option<i64>,
) -> Result<ValueId> {
    let shape = cx.b.shape(x)?;
    let turned = size.map_or_else(|| shape[3].clone(), Dim::from);
    let half = cx.b.facts().simplify(&turned.floor_div(&Dim::from(2)));
    let mut angles = Vec::with_capacity(2);
    for cache in caches {
        let rows = match positions {
            Some(at) => cx.b.take(cache, at, 0)?,
            None => cache,
        };
        // One row for all heads.
        let lead = cx.b.shape(rows)?;
        if lead.rank() != 3 {
            return Err(cx.wrong(format!("`{}` with angles of {lead}", cx.op())));
        }
        angles.push(cx.b.reshape(rows, [lead[0].clone(), Dim::ONE, lead[1].clone(), lead[2].clone()])?);
    }
    let (cos, sin) = (angles[0], angles[1]);
    let part = |cx: &mut NodeCx<'_, '_>, i: i64| {
        let (start, step) = if interleaved { (Dim::from(i), 2) } else { (half.clone() * i, 1) };
        let mut slice = Slice { start: vec![Dim::ZERO; 4], size: shape.to_vec(), step: vec![1; 4] };
        (slice.start[3], slice.size[3], slice.step[3]) = (start, half.clone(), step);
        cx.b.op1(Op::Slice(slice), &[x])
    };
    let (a, b) = (part(cx, 0)?, part(cx, 1)?);
    let product = |cx: &mut NodeCx<'_, '_>, p, q| cx.b.mul(p, q);
    let (ca, sb, sa, cb) =
        (product(cx, cos, a)?, product(cx, sin, b)?, product(cx, sin, a)?, product(cx, cos, b)?);
    let (real, imaginary) = (cx.b.sub(ca, sb)?, cx.b.add(sa, cb)?);
    let mut y = if interleaved {
        let pairs = cx.b.shape(real)?.iter().cloned().chain([Dim::ONE]).collect::<Shape>();
        let (real, imaginary) = (cx.b.reshape(real, pairs.clone())?, cx.b.reshape(imaginary, pairs)?);
        let joined = cx.b.concat(&[real, imaginary], 4)?;
        let mut whole = shape.to_vec();
        whole[3] = turned.clone();
        cx.b.reshape(joined, Shape::from(whole))?
    } else {
        cx.b.concat(&[real, imaginary], 3)?
    };
    if !cx.b.facts().equal(&turned, &shape[3]) {
        let rest = cx.b.slice_axis(x, 3, turned.clone(), shape[3].clone() - turned)?;
        y = cx.b.concat(&[y, rest], 3)?;
    }
    Ok(y)
}
