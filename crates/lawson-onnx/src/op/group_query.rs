//! Attention of `com.microsoft` whose heads of queries share heads of keys, with rotary embeddings and a cache of earlier keys.
//!
//! Entries of a batch may have different numbers of earlier keys: an operand says how many keys each has in the end. What comes with a step
//! follows the earlier keys of its entry, wherever the cache ends; what is left of the new cache is 0.

use super::attention::{join_heads, split_heads};
use super::contrib_attention::{Masks, attended, cached, causal, columns, heads_of, scale_of};
use super::rotary;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{BinaryKind, CompareKind, Gather};
use lawson_graph::{Builder, DType, Dim, Op, Result, Shape, ValueId};

/// What stands before the first new key.
enum Before {
    /// As many keys in every entry.
    Known(Dim),
    /// So many in each: i64 `[batch]`.
    Each(ValueId),
}

/// How the keys of a step and those before it lie.
struct Places {
    before: Before,
    /// How many keys the cache holds before the step, and how many after it.
    held: Dim,
    length: Dim,
}

impl Places {
    /// From the lengths of entries and the greatest of them, operands 5 and 6, where a step has so many new keys.
    fn read(cx: &mut NodeCx<'_, '_>, past: Option<ValueId>, batch: &Dim, new: &Dim) -> Result<Places> {
        let Some(past) = past else {
            // All keys are new ones; those behind the end of an entry are seen only by what is behind it, too.
            cx.ignore_operand(5);
            cx.ignore_operand(6);
            return Ok(Places { before: Before::Known(Dim::ZERO), held: Dim::ZERO, length: new.clone() });
        };
        let held = cached(cx, past)?;
        let both = held.clone() + new.clone();
        let total = cx.item(6)?.dims().filter(|t| t.dims.len() == 1).map(|t| t.dims[0].clone());
        let length = match &total {
            // A cache with room: the new keys go into it.
            Some(total) if cx.b.facts().proves_ge(&held, total) => held.clone(),
            Some(total) => {
                cx.assume_equal(total, &both)?;
                both.clone()
            }
            None => both.clone(),
        };
        // If all keys in the end are new, what the cache holds is not used.
        let fresh = match &total {
            Some(total) if cx.b.facts().differ(total, new) => None,
            Some(total) => Some(cx.b.dim_scalar(total, DType::I64)?),
            None => {
                let total = cx.value(6)?;
                let total = cx.b.reshape(total, Shape::scalar())?;
                Some(cx.b.cast(total, DType::I64)?)
            }
        };
        let whole = total.is_some_and(|total| cx.b.facts().equal(&total, &both));
        if fresh.is_none() && whole && batch.is(1) {
            // The greatest length is that of the only entry.
            cx.ignore_operand(5);
            return Ok(Places { before: Before::Known(held.clone()), held, length });
        }
        let last = cx.value(5)?;
        let last = cx.b.reshape(last, [batch.clone()])?;
        let last = cx.b.cast(last, DType::I64)?;
        // The operand has the number of the last key.
        let count = cx.b.dim_scalar(new, DType::I64)?;
        let one = cx.b.scalar(DType::I64, 1.0)?;
        let own = cx.b.sub(one, count)?;
        let earlier = cx.b.add(last, own)?;
        let none = cx.b.full_like(earlier, 0.0)?;
        let mut earlier = cx.b.binary(BinaryKind::Max, earlier, none)?;
        if let Some(total) = fresh {
            let is_fresh = cx.b.compare(CompareKind::Eq, total, count)?;
            earlier = cx.b.select(is_fresh, none, earlier)?;
        }
        Ok(Places { before: Before::Each(earlier), held, length })
    }

    /// The places of so many new keys: i64 `[batch, new]`.
    fn of_new(&self, b: &mut Builder<'static>, batch: &Dim, new: &Dim) -> Result<ValueId> {
        let place = b.iota(DType::I64, [batch.clone(), new.clone()], 1)?;
        let first = match &self.before {
            Before::Known(before) => b.dim_scalar(before, DType::I64)?,
            Before::Each(before) => b.reshape(*before, [batch.clone(), Dim::ONE])?,
        };
        b.add(place, first)
    }

    /// Earlier and new keys, `[batch, heads, length, size]`, one after another in each entry.
    fn joined(&self, b: &mut Builder<'static>, past: ValueId, new: ValueId) -> Result<ValueId> {
        let (both, shape) = (b.concat(&[past, new], 2)?, b.shape(new)?);
        let Before::Each(before) = self.before else { return Ok(both) };
        let (batch, count) = (shape[0].clone(), &shape[2]);
        let place = b.iota(DType::I64, [batch.clone(), self.length.clone()], 1)?;
        let before = b.reshape(before, [batch.clone(), Dim::ONE])?;
        let is_old = b.compare(CompareKind::Lt, place, before)?;
        let number = b.sub(place, before)?;
        let count = b.dim_scalar(count, DType::I64)?;
        let is_there = b.compare(CompareKind::Lt, number, count)?;
        let held = b.dim_scalar(&self.held, DType::I64)?;
        let behind = b.add(number, held)?;
        // What is neither is clamped, and then 0.
        let at = b.select(is_old, place, behind)?;
        let at = b.reshape(at, [batch.clone(), self.length.clone(), Dim::ONE])?;
        let rows = b.transpose(both, &[0, 2, 1, 3])?;
        let taken = b.op1(Op::Gather(Gather { axes: vec![1], batch: 1 }), &[rows, at])?;
        let taken = b.transpose(taken, &[0, 2, 1, 3])?;
        let is_there = b.reshape(is_there, [batch, Dim::ONE, self.length.clone(), Dim::ONE])?;
        let nothing = b.full_like(taken, 0.0)?;
        b.select(is_there, taken, nothing)
    }

    /// Which keys the new queries see, of which `ahead` behind themselves: bool, as scores lie.
    fn seen(&self, b: &mut Builder<'static>, batch: &Dim, new: &Dim, ahead: i64) -> Result<ValueId> {
        if let Before::Known(before) = &self.before {
            return causal(b, new, &self.length, &(before.clone() + ahead));
        }
        let place = self.of_new(b, batch, new)?;
        let ahead = b.scalar(DType::I64, ahead as f64)?;
        let place = b.add(place, ahead)?;
        let place = b.reshape(place, [batch.clone(), Dim::ONE, new.clone(), Dim::ONE])?;
        let key = b.iota(DType::I64, [Dim::ONE, Dim::ONE, Dim::ONE, self.length.clone()], 3)?;
        b.compare(CompareKind::Le, key, place)
    }
}

pub(super) fn group_query(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (heads, scale) = (heads_of(cx)?, scale_of(cx)?);
    let kv_heads = cx.int("kv_num_heads")?.unwrap_or(heads).clamp(1, 1 << 20);
    let (rotates, softcap) = (cx.flag("do_rotary", false)?, cx.float("softcap", 0.0)?);
    let interleaved = cx.flag("rotary_interleaved", false)?;
    let window = cx.int("local_window_size")?.unwrap_or(-1);
    if cx.int("smooth_softmax")?.is_some_and(|s| s > 0) {
        return Err(cx.unsupported(
            "`GroupQueryAttention` with `smooth_softmax`, which has one key more than there are",
        ));
    }
    let mut q = cx.value(0)?;
    let (mut k, mut v) = match (cx.optional(1)?, cx.optional(2)?) {
        (Some(k), Some(v)) => (k, v),
        _ => {
            // All three side by side.
            let width = cx.b.shape(q)?.last().and_then(Dim::as_const).unwrap_or(0);
            let size = width / kv_heads.saturating_mul(2).saturating_add(heads).max(1);
            let packed = q;
            q = columns(cx.b, packed, 0, heads * size)?;
            let k = columns(cx.b, packed, heads * size, kv_heads * size)?;
            (k, columns(cx.b, packed, (heads + kv_heads) * size, kv_heads * size)?)
        }
    };
    q = split_heads(cx, q, Some(heads))?;
    (k, v) = (split_heads(cx, k, Some(kv_heads))?, split_heads(cx, v, Some(kv_heads))?);
    let (past_key, past_value) = (cx.optional(3)?, cx.optional(4)?);
    let shape = cx.b.shape(q)?;
    let (batch, new) = (&shape[0], &shape[2]);
    let places = Places::read(cx, past_key, batch, new)?;
    if rotates {
        let caches = [cx.value(7)?, cx.value(8)?];
        let place = places.of_new(cx.b, batch, new)?;
        q = rotary::turned_heads(cx, q, caches, Some(place), interleaved, None)?;
        k = rotary::turned_heads(cx, k, caches, Some(place), interleaved, None)?;
    } else {
        // Tables of angles, which nothing is turned by.
        cx.ignore_operand(7);
        cx.ignore_operand(8);
    }
    if let (Some(keys), Some(values)) = (past_key, past_value) {
        (k, v) = (places.joined(cx.b, keys, k)?, places.joined(cx.b, values, v)?);
    }
    let mut masks = Masks { softcap, hidden: f64::NEG_INFINITY, ..Masks::default() };
    masks.seen.push(places.seen(cx.b, batch, new, 0)?);
    if window >= 0 {
        // A query sees so many keys, itself included.
        let too_far = places.seen(cx.b, batch, new, -window)?;
        masks.seen.push(cx.b.not(too_far)?);
    }
    let y = attended(cx.b, [q, k, v], scale, &masks)?;
    Ok(vec![join_heads(cx, y)?.into(), k.into(), v.into()])
}
