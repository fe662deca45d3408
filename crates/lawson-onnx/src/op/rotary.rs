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

fn turned(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    caches: [ValueId; 2],
    positions: Option<ValueId>,
    heads: Option<i64>,
) -> Result<Vec<Item>> {
    let is_flat = cx.b.tensor_type(x)?.rank() == 3;
    let x = split_heads(cx, x, heads)?;
    let shape = cx.b.shape(x)?;
    let turned = match cx.int("rotary_embedding_dim")?.unwrap_or(0) {
        0 => shape[3].clone(),
        n => Dim::from(n),
    };
    let half = cx.b.facts().simplify(&turned.floor_div(&Dim::from(2)));
    let mut angles = Vec::with_capacity(2);
    for cache in caches {
        let rows = match positions {
            Some(at) => cx.b.take(cache, at, 0)?,
            None => cache,
        };
        // One row for all heads.
        let lead = cx.b.shape(rows)?;
        angles.push(cx.b.reshape(rows, [lead[0].clone(), Dim::ONE, lead[1].clone(), lead[2].clone()])?);
    }
    let (cos, sin) = (angles[0], angles[1]);
    let interleaved = cx.flag("interleaved", false)?;
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
    one(if is_flat { join_heads(cx, y)? } else { y })
}
