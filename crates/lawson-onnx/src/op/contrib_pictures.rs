//! Operators of `com.microsoft` that optimisers write into networks of pictures: channels last, norms of groups, gates.

use super::{conv, one, pool};
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{Builder, DType, Gelu, GeluForm, GroupNorm, Result, Shape, ValueId};

/// Channels from the last axis to the second.
pub(super) fn channels_second(b: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
    let rank = b.tensor_type(x)?.rank();
    let perm: Vec<usize> =
        (0..rank.min(1)).chain(rank.checked_sub(1).filter(|r| *r > 0)).chain(1..rank.max(1) - 1).collect();
    b.transpose(x, &perm)
}

/// Channels from the second axis to the last.
pub(super) fn channels_last(b: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
    let rank = b.tensor_type(x)?.rank();
    let perm: Vec<usize> = (0..rank.min(1)).chain(2..rank).chain((rank > 1).then_some(1)).collect();
    b.transpose(x, &perm)
}

/// Groups of channels normalised, and a function if one is asked for. Statistics and weights are f32.
fn normalised(cx: &mut NodeCx<'_, '_>, x: ValueId, last: bool) -> Result<ValueId> {
    let epsilon = cx.float("epsilon", f64::from(1e-5f32))?;
    let groups = cx.int("groups")?.ok_or_else(|| cx.wrong(format!("`{}` has no `groups`", cx.op())))?;
    let gated = match cx.int("activation")?.unwrap_or(0) {
        0 => false,
        1 => true,
        other => return Err(cx.wrong(format!("`{}` has no activation {other}; there are 0 and 1", cx.op()))),
    };
    let dtype = cx.b.dtype(x)?;
    let mut operands = vec![x, cx.value(1)?, cx.value(2)?];
    for v in &mut operands {
        *v = cx.b.cast(*v, DType::F32)?;
    }
    operands[0] = if last { channels_second(cx.b, operands[0])? } else { operands[0] };
    let mut y = cx.b.composite(GroupNorm { groups, epsilon }, &operands)?;
    if gated {
        let gate = cx.b.sigmoid(y)?;
        y = cx.b.mul(y, gate)?;
    }
    let y = if last { channels_last(cx.b, y)? } else { y };
    cx.b.cast(y, dtype)
}

pub(super) fn group_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, last) = (cx.value(0)?, cx.flag("channels_last", true)?);
    one(normalised(cx, x, last)?)
}

/// The norm of a sum of two or three, and the sum.
pub(super) fn skip_group_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let last = cx.flag("channels_last", true)?;
    let (x, skip) = (cx.value(0)?, cx.value(3)?);
    let (shape, own) = (cx.b.shape(x)?, cx.b.shape(skip)?);
    let channel = if last { shape.rank().saturating_sub(1) } else { 1 };
    // One number a picture and channel.
    let skip = if own.rank() == 2 { cx.b.broadcast_in(skip, shape.clone(), &[0, channel])? } else { skip };
    let mut sum = cx.b.add(x, skip)?;
    if let Some(bias) = cx.optional(4)? {
        let bias = cx.b.broadcast_in(bias, shape, &[channel])?;
        sum = cx.b.add(sum, bias)?;
    }
    Ok(vec![normalised(cx, sum, last)?.into(), sum.into()])
}

/// The sum of three.
pub(super) fn bias_add(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, bias, skip) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    let sum = cx.b.add(x, bias)?;
    one(cx.b.add(sum, skip)?)
}

/// The first half of the last axis times gelu of the second, both with a bias.
pub(super) fn bias_split_gelu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, bias) = (cx.value(0)?, cx.value(1)?);
    let x = cx.b.add(x, bias)?;
    let shape = cx.b.shape(x)?;
    let axis = shape.rank().saturating_sub(1);
    let half = match shape.last() {
        Some(d) if cx.b.facts().is_multiple(d, 2) => cx.b.facts().simplify(&d.floor_div(&2.into())),
        _ => return Err(cx.wrong(format!("`BiasSplitGelu` of {shape}, whose last axis has no halves"))),
    };
    let (left, right) =
        (cx.b.slice_axis(x, axis, 0, half.clone())?, cx.b.slice_axis(x, axis, half.clone(), half)?);
    let gate = cx.b.composite(Gelu { form: GeluForm::Exact }, &[right])?;
    one(cx.b.mul(left, gate)?)
}

/// A convolution of pictures and weights whose channels are last.
pub(super) fn nhwc_conv(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, w) = (cx.value(0)?, cx.value(1)?);
    let (x, w) = (channels_second(cx.b, x)?, channels_second(cx.b, w)?);
    let mut y = conv::convolved(cx, x, w)?;
    if let Some(bias) = cx.optional(2)? {
        let shape: Shape = cx.b.shape(y)?;
        let bias = cx.b.broadcast_in(bias, shape, &[1])?;
        y = cx.b.add(y, bias)?;
    }
    one(channels_last(cx.b, y)?)
}

/// The greatest elements of windows, channels last.
pub(super) fn nhwc_max_pool(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let x = channels_second(cx.b, x)?;
    let y = pool::greatest(cx, x)?;
    one(channels_last(cx.b, y)?)
}
