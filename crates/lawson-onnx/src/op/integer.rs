//! Products of quantised tensors: integers without their zero points, multiplied and summed in i32; where a scale says so, rounded
//! back to integers.

use super::contrib_pictures::{channels_last, channels_second};
use super::{conv, one};
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{CompareKind, Monoid};
use lawson_graph::{Builder, DType, Dim, Keep, Result, Shape, ValueId};

/// Operand `i` as i32 without its zero point, operand `zero`. A vector of zero points belongs to an axis.
fn centred(cx: &mut NodeCx<'_, '_>, i: usize, zero: usize, axis: usize) -> Result<ValueId> {
    let x = cx.value(i)?;
    let wide = cx.b.cast(x, DType::I32)?;
    let Some(zero) = cx.optional(zero)? else { return Ok(wide) };
    let zero = cx.b.cast(zero, DType::I32)?;
    let zero = along(cx.b, zero, wide, axis)?;
    cx.b.sub(wide, zero)
}

/// A scalar, or one number for each entry of an axis, in a shape that broadcasts against `x`.
fn along(b: &mut Builder<'static>, v: ValueId, x: ValueId, axis: usize) -> Result<ValueId> {
    let (own, rank) = (b.shape(v)?, b.tensor_type(x)?.rank());
    match own.rank() {
        0 => Ok(v),
        1 if own[0].is(1) => b.reshape(v, Shape::scalar()),
        1 => {
            let mut dims = vec![Dim::ONE; rank];
            dims[axis] = own[0].clone();
            b.reshape(v, Shape::from(dims))
        }
        _ => Ok(v),
    }
}

/// Which axis of a factor of a product has zero points of its own: rows on the left, columns on the right.
fn product_axes(cx: &NodeCx<'_, '_>, a: usize, b: usize) -> Result<(usize, usize)> {
    let (left, right) = (cx.shape(a)?.rank(), cx.shape(b)?.rank());
    Ok((left.saturating_sub(2), right.saturating_sub(1)))
}

pub(super) fn matmul_integer(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (rows, columns) = product_axes(cx, 0, 1)?;
    let (a, b) = (centred(cx, 0, 2, rows)?, centred(cx, 1, 3, columns)?);
    one(cx.b.matmul(a, b)?)
}

pub(super) fn conv_integer(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, w) = (centred(cx, 0, 2, 1)?, centred(cx, 1, 3, 0)?);
    one(conv::convolved(cx, x, w)?)
}

/// Sums times a scale, plus a zero point, rounded to the dtype of the zero point.
fn requantised(
    cx: &mut NodeCx<'_, '_>,
    sums: ValueId,
    scale: ValueId,
    zero: Option<usize>,
    from: DType,
) -> Result<Vec<Item>> {
    let dtype = cx.b.dtype(scale)?;
    let wide = dtype.accumulator();
    let (sums, scale) = (cx.b.cast(sums, wide)?, cx.b.cast(scale, wide)?);
    let mut y = cx.b.mul(sums, scale)?;
    let mut to = from;
    if let Some(zero) = zero.filter(|z| cx.has(*z)) {
        let zero = cx.value(zero)?;
        to = cx.b.dtype(zero)?;
        let zero = cx.b.reshape(zero, Shape::scalar())?;
        let zero = cx.b.cast(zero, wide)?;
        y = cx.b.add(y, zero)?;
    }
    if to.is_float() {
        let most = to.max_finite().unwrap_or(f64::INFINITY);
        let y = cx.b.clip(y, -most, most)?;
        return one(cx.b.cast(y, to)?);
    }
    let y = cx.b.round(y)?;
    // The cast saturates.
    one(cx.b.cast(y, to)?)
}

pub(super) fn qlinear_matmul(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let from = cx.tensor_type(0)?.0;
    let (rows, columns) = product_axes(cx, 0, 3)?;
    if from.is_float() {
        let (a, b) = (cx.value(0)?, cx.value(3)?);
        let (a, b) = (cx.b.cast(a, DType::F32)?, cx.b.cast(b, DType::F32)?);
        let sums = cx.b.matmul(a, b)?;
        let scale = product_scale(cx, sums)?;
        return requantised(cx, sums, scale, Some(7), from);
    }
    let (a, b) = (centred(cx, 0, 2, rows)?, centred(cx, 3, 5, columns)?);
    let sums = cx.b.matmul(a, b)?;
    let scale = product_scale(cx, sums)?;
    requantised(cx, sums, scale, Some(7), from)
}

/// `a·b / y` of the scales of a product, whose rank may be that of either factor.
fn product_scale(cx: &mut NodeCx<'_, '_>, sums: ValueId) -> Result<ValueId> {
    let rank = cx.b.tensor_type(sums)?.rank();
    let (rows, columns) = (rank.saturating_sub(2), rank.saturating_sub(1));
    let (a, b, y) = (cx.value(1)?, cx.value(4)?, cx.value(6)?);
    let (a, b) = (along(cx.b, a, sums, rows)?, along(cx.b, b, sums, columns)?);
    let y = along(cx.b, y, sums, rows)?;
    let product = cx.b.mul(a, b)?;
    cx.b.div(product, y)
}

pub(super) fn qlinear_conv(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = centred(cx, 0, 2, 1)?;
    quantised_conv(cx, x)
}

/// The same of a picture whose channels may be last; those of the weights are not.
pub(super) fn qlinear_conv_microsoft(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let last = cx.flag("channels_last", false)?;
    let x = centred(cx, 0, 2, 1)?;
    let x = if last { channels_second(cx.b, x)? } else { x };
    let mut items = quantised_conv(cx, x)?;
    if last && let Some(item) = items.first_mut() {
        let y = item.build(cx.b)?;
        *item = channels_last(cx.b, y)?.into();
    }
    Ok(items)
}

fn quantised_conv(cx: &mut NodeCx<'_, '_>, x: ValueId) -> Result<Vec<Item>> {
    let from = cx.tensor_type(0)?.0;
    let w = centred(cx, 3, 5, 0)?;
    let mut sums = conv::convolved(cx, x, w)?;
    if let Some(bias) = cx.optional(8)? {
        let shape = cx.b.shape(sums)?;
        let bias = cx.b.broadcast_in(bias, shape, &[1])?;
        sums = cx.b.add(sums, bias)?;
    }
    let (a, b, y) = (cx.value(1)?, cx.value(4)?, cx.value(6)?);
    let (a, b, y) = (along(cx.b, a, sums, 1)?, along(cx.b, b, sums, 1)?, along(cx.b, y, sums, 1)?);
    let product = cx.b.mul(a, b)?;
    let scale = cx.b.div(product, y)?;
    requantised(cx, sums, scale, Some(7), from)
}

/// `alpha·A'·B' + C`, where a prime may transpose and C has the scale of the product; with a scale of the result rounded back, otherwise
/// floats.
pub(super) fn qgemm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let alpha = cx.float("alpha", 1.0)?;
    let (trans_a, trans_b) = (cx.flag("transA", false)?, cx.flag("transB", false)?);
    let from = cx.tensor_type(0)?.0;
    // Zero points and scales of B belong to what become columns.
    let (mut a, mut b) = (centred(cx, 0, 2, 0)?, centred(cx, 3, 5, usize::from(!trans_b))?);
    for (v, turn) in [(&mut a, trans_a), (&mut b, trans_b)] {
        let rank = cx.b.tensor_type(*v)?.rank();
        if rank != 2 {
            return Err(cx.wrong(format!("`QGemm` multiplies matrices, not tensors of {rank} dimensions")));
        }
        *v = if turn { cx.b.transpose(*v, &[1, 0])? } else { *v };
    }
    let mut sums = cx.b.matmul(a, b)?;
    if let Some(bias) = cx.optional(6)? {
        let shape = cx.b.shape(sums)?;
        let bias = cx.b.broadcast_to(bias, shape)?;
        sums = cx.b.add(sums, bias)?;
    }
    let (a, b) = (cx.value(1)?, cx.value(4)?);
    let (a, b) = (along(cx.b, a, sums, 0)?, along(cx.b, b, sums, 1)?);
    let product = cx.b.mul(a, b)?;
    let scale = if alpha == 1.0 { product } else { cx.b.mul_scalar(product, alpha)? };
    match cx.optional(7)? {
        Some(y) => {
            let y = along(cx.b, y, sums, 0)?;
            let scale = cx.b.div(scale, y)?;
            requantised(cx, sums, scale, Some(8), from)
        }
        None => {
            let dtype = cx.b.dtype(scale)?;
            let sums = cx.b.cast(sums, dtype)?;
            one(cx.b.mul(sums, scale)?)
        }
    }
}

/// To u8, with the scale and the zero point that the elements call for, which are results too.
pub(super) fn dynamic_quantise(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    Ok(to_levels(cx.b, x)?.into_iter().map(Item::Value).collect())
}

/// A tensor as u8, its scale and its zero point.
pub(super) fn to_levels(g: &mut Builder<'static>, x: ValueId) -> Result<[ValueId; 3]> {
    let dtype = g.dtype(x)?;
    let axes: Vec<usize> = (0..g.tensor_type(x)?.rank()).collect();
    let zero = g.scalar(dtype, 0.0)?;
    let most = g.reduce(Monoid::Max, x, &axes, Keep::No)?;
    let least = g.reduce(Monoid::Min, x, &axes, Keep::No)?;
    let (most, least) = (g.max(most, zero)?, g.min(least, zero)?);
    let span = g.sub(most, least)?;
    let (one_, levels) = (g.scalar(dtype, 1.0)?, g.scalar(dtype, 255.0)?);
    let flat = g.compare(CompareKind::Eq, span, zero)?;
    let span = g.select(flat, one_, span)?;
    let scale = g.div(span, levels)?;
    let first = g.div(least, scale)?;
    let first = g.sub(zero, first)?;
    let first = g.clip(first, 0.0, 255.0)?;
    let first = g.round(first)?;
    let steps = g.div(x, scale)?;
    let steps = g.round(steps)?;
    let y = g.add(steps, first)?;
    let y = g.clip(y, 0.0, 255.0)?;
    Ok([g.cast(y, DType::U8)?, scale, g.cast(first, DType::U8)?])
}
