//! Random numbers. The standard does not say which generator makes them: here the elements follow from the seed by Lawson's
//! `random_bits`, the same on every target and in every run. A node without a seed has one from its name.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{CompareKind, RandomBits};
use lawson_graph::{DType, Dim, HostTensor, Op, Result, Shape, ValueId};

/// The two words of the node's key.
pub(super) fn key(cx: &mut NodeCx<'_, '_>) -> Result<ValueId> {
    let seed = match cx.int_or_float("seed")? {
        Some(seed) => seed.to_bits(),
        None => {
            let name = cx.node.output.iter().find(|n| !n.is_empty()).map_or("", String::as_str);
            name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
        }
    };
    cx.b.constant(HostTensor::from_slice(&[2], &[seed as u32, (seed >> 32) as u32])?)
}

/// Numbers from 0 on and less than 1, each of 24 bits.
pub(super) fn uniform(cx: &mut NodeCx<'_, '_>, shape: &Shape, dtype: DType) -> Result<ValueId> {
    let key = key(cx)?;
    let bits = cx.b.op1(Op::RandomBits(RandomBits { shape: shape.clone() }), &[key])?;
    let shift = cx.b.constant(HostTensor::scalar(8u32))?;
    let high = cx.b.binary(lawson_graph::op::BinaryKind::Shr, bits, shift)?;
    let wide = dtype.accumulator();
    let number = cx.b.cast(high, wide)?;
    cx.b.mul_scalar(number, 1.0 / 16_777_216.0)
}

/// Two independent uniform numbers make one that is normal.
fn normal(cx: &mut NodeCx<'_, '_>, shape: &Shape, dtype: DType) -> Result<ValueId> {
    let pairs = [Dim::from(2)].into_iter().chain(shape.iter().cloned()).collect::<Shape>();
    let both = uniform(cx, &pairs, dtype)?;
    let part = |cx: &mut NodeCx<'_, '_>, i: i64| {
        let p = cx.b.slice_axis(both, 0, i, 1)?;
        cx.b.reshape(p, shape.clone())
    };
    let (radius, angle) = (part(cx, 0)?, part(cx, 1)?);
    // 1 - u is never 0.
    let left = cx.b.full_like(radius, 1.0)?;
    let left = cx.b.sub(left, radius)?;
    let log = cx.b.log(left)?;
    let square = cx.b.mul_scalar(log, -2.0)?;
    let radius = cx.b.sqrt(square)?;
    let angle = cx.b.mul_scalar(angle, std::f64::consts::TAU)?;
    let cos = cx.b.cos(angle)?;
    cx.b.mul(radius, cos)
}

/// The shape of an attribute, or of the operand that the node is like; and the dtype.
fn wanted(cx: &mut NodeCx<'_, '_>) -> Result<(Shape, DType)> {
    if cx.has(0) {
        let (own, shape) = cx.tensor_type(0)?;
        let usual = if own.is_float() { own } else { DType::F32 };
        return Ok((shape, cx.dtype("dtype")?.unwrap_or(usual)));
    }
    let shape = cx.ints("shape")?.ok_or_else(|| cx.wrong(format!("`{}` has no shape", cx.op())))?;
    Ok((shape.iter().map(|d| Dim::from(*d)).collect(), cx.dtype("dtype")?.unwrap_or(DType::F32)))
}

pub(super) fn random_uniform(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (shape, dtype) = wanted(cx)?;
    let (low, high) = (cx.float("low", 0.0)?, cx.float("high", 1.0)?);
    let x = uniform(cx, &shape, dtype)?;
    let x = cx.b.mul_scalar(x, high - low)?;
    let x = cx.b.add_scalar(x, low)?;
    one(cx.b.cast(x, dtype)?)
}

pub(super) fn random_normal(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (shape, dtype) = wanted(cx)?;
    let (mean, deviation) = (cx.float("mean", 0.0)?, cx.float("scale", 1.0)?);
    let x = normal(cx, &shape, dtype)?;
    let x = cx.b.mul_scalar(x, deviation)?;
    let x = cx.b.add_scalar(x, mean)?;
    one(cx.b.cast(x, dtype)?)
}

/// 1 with the probability that each element says, else 0.
pub(super) fn bernoulli(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let p = cx.value(0)?;
    let (own, shape) = (cx.b.dtype(p)?, cx.b.shape(p)?);
    let to = cx.dtype("dtype")?.unwrap_or(own);
    let x = uniform(cx, &shape, own)?;
    let p = cx.b.cast(p, own.accumulator())?;
    let hit = cx.b.compare(CompareKind::Lt, x, p)?;
    one(cx.b.cast(hit, to)?)
}

/// Classes drawn by unnormalised logarithms of their probabilities, the last axis: the greatest of them plus noise.
pub(super) fn multinomial(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let (dtype, shape) = (cx.b.dtype(x)?, cx.b.shape(x)?);
    let [batch, classes] = &shape[..] else { return Err(cx.wrong(format!("`Multinomial` of {shape}"))) };
    let samples = cx.int("sample_size")?.unwrap_or(1).max(0);
    let to = cx.dtype("dtype")?.unwrap_or(DType::I32);
    let all = Shape::from([batch.clone(), Dim::from(samples), classes.clone()]);
    let noise = uniform(cx, &all, dtype)?;
    // -log(-log(1 - u)), kept away from both ends.
    let inner = cx.b.clip(noise, 1e-7, 1.0 - 1e-7)?;
    let log = cx.b.log(inner)?;
    let log = cx.b.neg(log)?;
    let log = cx.b.log(log)?;
    let wide = cx.b.cast(x, dtype.accumulator())?;
    let wide = cx.b.broadcast_in(wide, all, &[0, 2])?;
    let sum = cx.b.sub(wide, log)?;
    let at = cx.b.argmax(sum, 2)?;
    one(cx.b.cast(at, to)?)
}

/// Elements dropped with a probability, the others scaled up; and which were kept.
pub(super) fn dropout(cx: &mut NodeCx<'_, '_>, ratio: f64) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let (dtype, shape) = (cx.b.dtype(x)?, cx.b.shape(x)?);
    if !(0.0..1.0).contains(&ratio) {
        return Err(cx.wrong(format!("`Dropout` with a ratio of {ratio}")));
    }
    let number = uniform(cx, &shape, dtype)?;
    let bound = cx.b.full_like(number, ratio)?;
    let kept = cx.b.compare(CompareKind::Ge, number, bound)?;
    let scaled = cx.b.mul_scalar(x, 1.0 / (1.0 - ratio))?;
    let zero = cx.b.full_like(x, 0.0)?;
    Ok(vec![cx.b.select(kept, scaled, zero)?.into(), kept.into()])
}
