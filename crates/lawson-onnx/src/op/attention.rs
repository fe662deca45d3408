//! Attention as one operator: Lawson's composite, with heads split off and earlier keys put in front.

use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{Attention, Causal, Dim, Result, Shape, ValueId};

/// `[batch, length, heads·size]` as `[batch, heads, length, size]`; what has four dimensions stays.
fn split_heads(cx: &mut NodeCx<'_, '_>, x: ValueId, heads: Option<i64>) -> Result<ValueId> {
    let shape = cx.b.shape(x)?;
    match (&shape[..], heads) {
        ([_, _, _, _], _) => Ok(x),
        ([batch, length, width], Some(heads)) if heads >= 1 => {
            let size = cx.b.facts().simplify(&width.floor_div(&Dim::from(heads)));
            let split = [batch.clone(), length.clone(), Dim::from(heads), size];
            let split = cx.b.reshape(x, split)?;
            cx.b.transpose(split, &[0, 2, 1, 3])
        }
        _ => Err(cx.wrong(format!("`Attention` of {shape} with {heads:?} heads"))),
    }
}

/// `[batch, heads, length, size]` as `[batch, length, heads·size]`.
fn join_heads(cx: &mut NodeCx<'_, '_>, y: ValueId) -> Result<ValueId> {
    let moved = cx.b.transpose(y, &[0, 2, 1, 3])?;
    let shape = cx.b.shape(moved)?;
    let width = shape[2].clone() * shape[3].clone();
    cx.b.reshape(moved, [shape[0].clone(), shape[1].clone(), width])
}

/// Keys or values with earlier ones before them.
fn after_past(cx: &mut NodeCx<'_, '_>, now: ValueId, past: Option<ValueId>) -> Result<ValueId> {
    past.map_or(Ok(now), |past| cx.b.concat(&[past, now], 2))
}

pub(super) fn attention(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    for name in ["qk_matmul_output_mode", "softmax_precision"] {
        // Scores are no result here, and Lawson keeps them in f32 at least.
        cx.ignore(name);
    }
    cx.only_results(3)?;
    if cx.float("softcap", 0.0)? != 0.0 {
        return Err(cx.unsupported("`Attention` with a soft cap on scores"));
    }
    if cx.has(6) {
        return Err(cx.unsupported("`Attention` with a number of valid keys for each entry of the batch"));
    }
    let (q_heads, kv_heads) = (cx.int("q_num_heads")?, cx.int("kv_num_heads")?);
    let (q, k, v) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    let is_flat = cx.b.tensor_type(q)?.rank() == 3;
    let q = split_heads(cx, q, q_heads)?;
    let (k, v) = (split_heads(cx, k, kv_heads)?, split_heads(cx, v, kv_heads)?);
    let (past_key, past_value) = (cx.optional(4)?, cx.optional(5)?);
    let (k, v) = (after_past(cx, k, past_key)?, after_past(cx, v, past_value)?);
    // With earlier keys the last query sees the last key; without, the first sees the first.
    let causal = match (cx.flag("is_causal", false)?, past_key) {
        (false, _) => Causal::No,
        (true, None) => Causal::TopLeft,
        (true, Some(_)) => Causal::BottomRight,
    };
    let scale = if cx.has_attribute("scale") { Some(cx.float("scale", 1.0)?) } else { None };
    let mut operands = vec![q, k, v];
    if let Some(mask) = cx.optional(3)? {
        let (mask_shape, keys): (Shape, Shape) = (cx.b.shape(mask)?, cx.b.shape(k)?);
        if mask_shape.last().is_some_and(|d| !d.is(1) && cx.b.facts().differ(d, &keys[2])) {
            return Err(
                cx.unsupported(format!("`Attention` of {} keys with a mask of {mask_shape}", keys[2]))
            );
        }
        operands.push(mask);
    }
    let y = cx.b.composite(Attention { causal, scale }, &operands)?;
    let y = if is_flat { join_heads(cx, y)? } else { y };
    Ok(vec![y.into(), k.into(), v.into()])
}
