//! Quantised operators of `com.microsoft`: operands are made floats, the float operator is applied, and the result is rounded back.

use super::contrib_pictures::{channels_last, channels_second};
use super::{integer, one, pool};
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{
    Builder, DType, Dequantise, GlobalAvgPool, LeakyRelu, Quantise, Result, Shape, Softmax, ValueId,
};

/// A tensor as floats, with a scale and a zero point: single ones, or one for each entry of the last axis.
pub(super) fn dequantised(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    scale: ValueId,
    zero: Option<ValueId>,
) -> Result<ValueId> {
    let last = cx.b.tensor_type(x)?.rank().saturating_sub(1);
    let is_whole = cx.b.shape(scale)?.iter().all(|d| d.is(1));
    let mut operands = vec![x];
    for v in [Some(scale), zero].into_iter().flatten() {
        operands.push(if is_whole { cx.b.reshape(v, Shape::scalar())? } else { v });
    }
    let axis = if is_whole { None } else { Some(last) };
    cx.b.composite(Dequantise { axis, block: None }, &operands)
}

/// Operand `i` as a float; its scale and zero point are the next two.
fn float(cx: &mut NodeCx<'_, '_>, i: usize) -> Result<ValueId> {
    let x = cx.value(i)?;
    let mut operands = vec![x];
    for v in [Some(cx.value(i + 1)?), cx.optional(i + 2)?].into_iter().flatten() {
        operands.push(cx.b.reshape(v, Shape::scalar())?);
    }
    cx.b.composite(Dequantise { axis: None, block: None }, &operands)
}

/// A float as the integers that operands `scale` and the next describe; without a zero point, as those of operand 0.
fn rounded(cx: &mut NodeCx<'_, '_>, y: ValueId, scale: usize, like: usize) -> Result<Vec<Item>> {
    let to = if cx.has(scale + 1) { cx.tensor_type(scale + 1)?.0 } else { cx.tensor_type(like)?.0 };
    let mut operands = vec![y];
    for v in [Some(cx.value(scale)?), cx.optional(scale + 1)?].into_iter().flatten() {
        operands.push(cx.b.reshape(v, Shape::scalar())?);
    }
    one(cx.b.composite(Quantise { to, axis: None, block: None }, &operands)?)
}

/// The same with the zero point added before rounding. Averages of few integers are often halfway between two, and then that decides.
fn moved_then_rounded(cx: &mut NodeCx<'_, '_>, y: ValueId, scale: usize, like: usize) -> Result<Vec<Item>> {
    let (scale, zero) = (cx.value(scale)?, cx.optional(scale + 1)?);
    let scale = cx.b.reshape(scale, Shape::scalar())?;
    let (dtype, mut y) = (cx.b.dtype(y)?, cx.b.div(y, scale)?);
    let mut to = cx.tensor_type(like)?.0;
    if let Some(zero) = zero {
        to = cx.b.dtype(zero)?;
        let zero = cx.b.reshape(zero, Shape::scalar())?;
        let zero = cx.b.cast(zero, dtype)?;
        y = cx.b.add(y, zero)?;
    }
    let y = cx.b.round(y)?;
    // The cast saturates.
    one(cx.b.cast(y, to)?)
}

pub(super) fn add(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (a, b) = (float(cx, 0)?, float(cx, 3)?);
    let y = cx.b.add(a, b)?;
    rounded(cx, y, 6, 0)
}

pub(super) fn mul(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (a, b) = (float(cx, 0)?, float(cx, 3)?);
    let y = cx.b.mul(a, b)?;
    rounded(cx, y, 6, 0)
}

pub(super) fn sigmoid(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = float(cx, 0)?;
    let y = cx.b.sigmoid(x)?;
    rounded(cx, y, 3, 0)
}

pub(super) fn leaky_relu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let slope = cx.float("alpha", f64::from(0.01f32))?;
    let x = float(cx, 0)?;
    let y = cx.b.composite(LeakyRelu { slope }, &[x])?;
    rounded(cx, y, 3, 0)
}

pub(super) fn softmax(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("opset");
    let x = float(cx, 0)?;
    let axis = cx.axis(cx.int("axis")?.unwrap_or(-1), cx.b.tensor_type(x)?.rank())?;
    let y = cx.b.composite(Softmax { axis }, &[x])?;
    rounded(cx, y, 3, 0)
}

/// What `pool` makes of operand 0 as a float. Channels that are last in it are second for `pool`.
fn channels_second_in(
    cx: &mut NodeCx<'_, '_>,
    pool: impl Fn(&mut NodeCx<'_, '_>, ValueId) -> Result<ValueId>,
) -> Result<ValueId> {
    let (x, last) = (float(cx, 0)?, cx.flag("channels_last", false)?);
    let x = if last { channels_second(cx.b, x)? } else { x };
    let y = pool(cx, x)?;
    if last { channels_last(cx.b, y) } else { Ok(y) }
}

pub(super) fn global_average_pool(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let y = channels_second_in(cx, |cx, x| cx.b.composite(GlobalAvgPool {}, &[x]))?;
    rounded(cx, y, 3, 0)
}

pub(super) fn average_pool(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let y = channels_second_in(cx, pool::averages)?;
    moved_then_rounded(cx, y, 3, 0)
}

/// One of two, as operand 0 says.
pub(super) fn choose(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (condition, a, b) = (cx.value(0)?, float(cx, 1)?, float(cx, 4)?);
    let y = cx.b.select(condition, a, b)?;
    rounded(cx, y, 7, 1)
}

/// Floats as the nearest of 256 levels that span them all.
pub(super) fn levelled(b: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
    let [levels, scale, zero] = integer::to_levels(b, x)?;
    b.composite(Dequantise { axis: None, block: None }, &[levels, scale, zero])
}

/// A product of floats, as 256 levels, with integers, and a bias.
pub(super) fn dynamic_matmul(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (a, b, scale, zero) = (cx.value(0)?, cx.value(1)?, cx.value(2)?, cx.optional(3)?);
    let (a, b) = (levelled(cx.b, a)?, dequantised(cx, b, scale, zero)?);
    let y = cx.b.matmul(a, b)?;
    let bias = cx.optional(4)?;
    one(bias.map_or(Ok(y), |bias| cx.b.add(y, bias))?)
}

/// The scale and zero point of the result come first, then the parts with theirs.
pub(super) fn concat(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let axis = cx.int("axis")?.ok_or_else(|| cx.wrong("`QLinearConcat` has no axis"))?;
    let mut parts = Vec::new();
    for i in (2..cx.operands()).step_by(3) {
        parts.push(float(cx, i)?);
    }
    let Some(first) = parts.first() else { return Err(cx.wrong("`QLinearConcat` of nothing")) };
    let axis = cx.axis(axis, cx.b.tensor_type(*first)?.rank())?;
    let y = cx.b.concat(&parts, axis)?;
    rounded(cx, y, 0, 2)
}

/// A product of integers as floats, with the scales of both factors, and a bias.
pub(super) fn matmul_to_float(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let mut factors = Vec::with_capacity(2);
    for i in 0..2 {
        let x = cx.value(i)?;
        let mut x = cx.b.cast(x, DType::I32)?;
        if let Some(zero) = cx.optional(4 + i)? {
            let zero = cx.b.cast(zero, DType::I32)?;
            x = cx.b.sub(x, zero)?;
        }
        factors.push(x);
    }
    let sums = cx.b.matmul(factors[0], factors[1])?;
    let (a, b, bias) = (cx.value(2)?, cx.value(3)?, cx.optional(6)?);
    let dtype = cx.b.dtype(a)?;
    let sums = cx.b.cast(sums, dtype)?;
    let scale = cx.b.mul(a, b)?;
    let y = cx.b.mul(sums, scale)?;
    one(bias.map_or(Ok(y), |bias| cx.b.add(y, bias))?)
}
