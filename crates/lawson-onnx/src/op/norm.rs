//! Normalisations and softmax: Lawson's composites.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{CompareKind, Monoid, WindowReduce};
use lawson_graph::{
    BatchNorm, Builder, DType, Dim, GroupNorm, InstanceNorm, Keep, LayerNorm, LogSoftmax, Mean, Result,
    RmsNorm, Softmax, ValueId, Variance,
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

/// The statistics are operands, or in training mode those of the batch, with which the operands are brought up to date.
pub(super) fn batch_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let momentum = cx.float("momentum", f64::from(0.9f32))?;
    if !cx.flag("spatial", true)? {
        return Err(cx.unsupported("`BatchNormalization` that is not spatial"));
    }
    let training = cx.flag("training_mode", false)?;
    let epsilon = cx.float("epsilon", f64::from(1e-5f32))?;
    let mut operands = (0..5).map(|i| cx.value(i)).collect::<Result<Vec<ValueId>>>()?;
    // Older versions have other results for training, which nobody asks for then.
    cx.ignore("is_test");
    cx.ignore("consumed_inputs");
    if !training {
        cx.only_results(1)?;
        return one(cx.b.composite(BatchNorm { axis: 1, epsilon }, &operands)?);
    }
    let x = operands[0];
    let axes: Vec<usize> = (0..cx.b.tensor_type(x)?.rank()).filter(|a| *a != 1).collect();
    let own = [
        cx.b.composite(Mean { axes: axes.clone(), keep_dims: false }, &[x])?,
        cx.b.composite(Variance { axes, keep_dims: false, correction: 0 }, &[x])?,
    ];
    let mut results = Vec::with_capacity(3);
    for (i, now) in own.into_iter().enumerate() {
        let dtype = cx.b.dtype(operands[3 + i])?;
        let now = cx.b.cast(now, dtype)?;
        let (kept, added) =
            (cx.b.mul_scalar(operands[3 + i], momentum)?, cx.b.mul_scalar(now, 1.0 - momentum)?);
        results.push(cx.b.add(kept, added)?.into());
        operands[3 + i] = now;
    }
    results.insert(0, cx.b.composite(BatchNorm { axis: 1, epsilon }, &operands)?.into());
    Ok(results)
}

/// Each element over a power of the squares of its neighbours along the channels.
pub(super) fn local_response(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (alpha, beta) = (cx.float("alpha", f64::from(1e-4f32))?, cx.float("beta", 0.75)?);
    let bias = cx.float("bias", 1.0)?;
    let size = cx.int("size")?.filter(|s| *s >= 1).ok_or_else(|| cx.wrong("`LRN` has no size"))?;
    let x = cx.value(0)?;
    let rank = cx.b.tensor_type(x)?.rank();
    if rank < 2 {
        return Err(cx.wrong("`LRN` of a tensor without channels"));
    }
    let square = cx.b.mul(x, x)?;
    let mut window = WindowReduce {
        kind: Monoid::Sum,
        window: vec![1; rank],
        stride: vec![1; rank],
        dilation: vec![1; rank],
        low: vec![Dim::ZERO; rank],
        high: vec![Dim::ZERO; rank],
    };
    window.window[1] = size;
    window.low[1] = Dim::from((size - 1) / 2);
    window.high[1] = Dim::from(size / 2);
    let sum = cx.b.op1(lawson_graph::Op::WindowReduce(window), &[square])?;
    let scaled = cx.b.mul_scalar(sum, alpha / size as f64)?;
    let base = cx.b.add_scalar(scaled, bias)?;
    let power = cx.b.full_like(base, beta)?;
    let divisor = cx.b.pow(base, power)?;
    one(cx.b.div(x, divisor)?)
}

/// `(x - mean) / (deviation + 1e-9)`.
pub(super) fn mean_variance(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let rank = cx.b.tensor_type(x)?.rank();
    let axes = cx.axes(cx.ints("axes")?.unwrap_or(&[0, 2, 3]), rank)?;
    let mean = cx.b.composite(Mean { axes: axes.clone(), keep_dims: true }, &[x])?;
    let variance = cx.b.composite(Variance { axes, keep_dims: true, correction: 0 }, &[x])?;
    let deviation = cx.b.sqrt(variance)?;
    let deviation = cx.b.add_scalar(deviation, 1e-9)?;
    let centred = cx.b.sub(x, mean)?;
    one(cx.b.div(centred, deviation)?)
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

/// What elements along an axis are divided by.
pub(super) enum Norm {
    /// The greatest element.
    Max,
    /// The sum of what elements are without signs.
    L1,
    /// The length.
    L2,
}

/// `x / ‖x‖` along an axis; where the norm is 0, `x` stays.
pub(super) fn over_norm(cx: &mut NodeCx<'_, '_>, x: ValueId, axis: usize, norm: Norm) -> Result<ValueId> {
    let (monoid, parts) = match norm {
        Norm::Max => (Monoid::Max, x),
        Norm::L1 => (Monoid::Sum, cx.b.abs(x)?),
        Norm::L2 => (Monoid::Sum, cx.b.mul(x, x)?),
    };
    let by = cx.b.reduce(monoid, parts, &[axis], Keep::Yes)?;
    let by = if matches!(norm, Norm::L2) { cx.b.sqrt(by)? } else { by };
    let (zero, whole) = (cx.b.full_like(by, 0.0)?, cx.b.full_like(by, 1.0)?);
    let is_zero = cx.b.compare(CompareKind::Eq, by, zero)?;
    let by = cx.b.select(is_zero, whole, by)?;
    cx.b.div(x, by)
}

pub(super) fn lp_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let axis = cx.axis(cx.int("axis")?.unwrap_or(-1), cx.b.tensor_type(x)?.rank())?;
    let norm = match cx.int("p")?.unwrap_or(2) {
        1 => Norm::L1,
        2 => Norm::L2,
        p => return Err(cx.wrong(format!("`LpNormalization` of order {p}; 1 or 2 is expected"))),
    };
    one(over_norm(cx, x, axis, norm)?)
}
