//! Normalisations and softmax: Lawson's composites.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{
    BatchNorm, Builder, DType, Dim, GroupNorm, InstanceNorm, LayerNorm, LogSoftmax, Mean, Result, RmsNorm,
    Shape, Softmax, ValueId, Variance,
};

fn softmax_of(b: &mut Builder<'static>, x: ValueId, axis: usize) -> Result<ValueId> {
    b.composite(Softmax { axis }, &[x])
}

fn log_softmax_of(b: &mut Builder<'static>, x: ValueId, axis: usize) -> Result<ValueId> {
    b.composite(LogSoftmax { axis }, &[x])
}

type AlongAxis = fn(&mut Builder<'static>, ValueId, usize) -> Result<ValueId>;

/// From version 13: along one axis, the last if unsaid.
fn along(cx: &mut NodeCx<'_, '_>, build: AlongAxis) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let axis = cx.axis(cx.int("axis")?.unwrap_or(-1), cx.b.tensor_type(x)?.rank())?;
    one(build(cx.b, x, axis)?)
}

/// Before version 13: over the axis and all after it together, the second if unsaid.
fn flattened(cx: &mut NodeCx<'_, '_>, build: AlongAxis) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let axis = cx.axis(cx.int("axis")?.unwrap_or(1), shape.rank())?;
    if axis + 1 == shape.rank() {
        return one(build(cx.b, x, axis)?);
    }
    let product = |dims: &[Dim]| dims.iter().cloned().product::<Dim>();
    let flat = cx.b.reshape(x, [product(&shape[..axis]), product(&shape[axis..])])?;
    let y = build(cx.b, flat, 1)?;
    one(cx.b.reshape(y, shape)?)
}

pub(super) fn softmax(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    along(cx, softmax_of)
}

pub(super) fn softmax_flattened(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    flattened(cx, softmax_of)
}

pub(super) fn log_softmax(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    along(cx, log_softmax_of)
}

pub(super) fn log_softmax_flattened(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    flattened(cx, log_softmax_of)
}

/// The mean and the inverse of the standard deviation are results too, if something uses them.
pub(super) fn layer_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    // Lawson keeps statistics in f32 at least, as `stash_type` 1 asks.
    if !matches!(cx.int("stash_type")?, None | Some(1)) {
        return Err(cx.unsupported("`LayerNormalization` with statistics in another type than f32"));
    }
    let operands = [Some(cx.value(0)?), Some(cx.value(1)?), cx.optional(2)?];
    let operands: Vec<ValueId> = operands.into_iter().flatten().collect();
    let rank = cx.b.tensor_type(operands[0])?.rank();
    let axis = cx.axis(cx.int("axis")?.unwrap_or(-1), rank)?;
    let epsilon = cx.float("epsilon", f64::from(1e-5f32))?;
    let mut results = vec![cx.b.composite(LayerNorm { axis, epsilon }, &operands)?.into()];
    if cx.wants(1) || cx.wants(2) {
        let axes: Vec<usize> = (axis..rank).collect();
        let x = cx.b.cast(operands[0], DType::F32)?;
        results.push(cx.b.composite(Mean { axes: axes.clone(), keep_dims: true }, &[x])?.into());
        let variance = cx.b.composite(Variance { axes, keep_dims: true, correction: 0 }, &[x])?;
        let sum = cx.b.add_scalar(variance, epsilon)?;
        results.push(cx.b.rsqrt(sum)?.into());
    }
    Ok(results)
}

pub(super) fn rms_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("stash_type");
    let (x, scale) = (cx.value(0)?, cx.value(1)?);
    let axis = cx.axis(cx.int("axis")?.unwrap_or(-1), cx.b.tensor_type(x)?.rank())?;
    let epsilon = cx.float("epsilon", f64::from(1e-5f32))?;
    one(cx.b.composite(RmsNorm { axis, epsilon }, &[x, scale])?)
}

/// Inference: the statistics are operands.
pub(super) fn batch_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.only_results(1)?;
    cx.ignore("momentum");
    if cx.flag("training_mode", false)? || !cx.flag("spatial", true)? {
        return Err(cx.unsupported("`BatchNormalization` in training mode, or not spatial"));
    }
    let epsilon = cx.float("epsilon", f64::from(1e-5f32))?;
    let operands = (0..5).map(|i| cx.value(i)).collect::<Result<Vec<ValueId>>>()?;
    one(cx.b.composite(BatchNorm { axis: 1, epsilon }, &operands)?)
}

pub(super) fn instance_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let epsilon = cx.float("epsilon", f64::from(1e-5f32))?;
    let operands = (0..3).map(|i| cx.value(i)).collect::<Result<Vec<ValueId>>>()?;
    one(cx.b.composite(InstanceNorm { epsilon }, &operands)?)
}

pub(super) fn group_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("stash_type");
    let epsilon = cx.float("epsilon", f64::from(1e-5f32))?;
    let groups = cx.int("num_groups")?.ok_or_else(|| cx.wrong("`GroupNormalization` has no `num_groups`"))?;
    let operands = (0..3).map(|i| cx.value(i)).collect::<Result<Vec<ValueId>>>()?;
    one(cx.b.composite(GroupNorm { groups, epsilon }, &operands)?)
}

/// `x / ‖x‖` along an axis, 0 where the norm is 0.
pub(super) fn lp_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    use lawson_graph::op::{CompareKind, Monoid};
    let x = cx.value(0)?;
    let shape: Shape = cx.b.shape(x)?;
    let axis = cx.axis(cx.int("axis")?.unwrap_or(-1), shape.rank())?;
    let keep = lawson_graph::Keep::Yes;
    let norm = match cx.int("p")?.unwrap_or(2) {
        1 => {
            let size = cx.b.abs(x)?;
            cx.b.reduce(Monoid::Sum, size, &[axis], keep)?
        }
        2 => {
            let square = cx.b.mul(x, x)?;
            let sum = cx.b.reduce(Monoid::Sum, square, &[axis], keep)?;
            cx.b.sqrt(sum)?
        }
        p => return Err(cx.wrong(format!("`LpNormalization` of order {p}"))),
    };
    let (zero, one_) = (cx.b.full_like(norm, 0.0)?, cx.b.full_like(norm, 1.0)?);
    let empty = cx.b.compare(CompareKind::Eq, norm, zero)?;
    let divisor = cx.b.select(empty, one_, norm)?;
    one(cx.b.div(x, divisor)?)
}
