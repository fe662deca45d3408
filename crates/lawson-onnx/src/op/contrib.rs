//! Operators of `com.microsoft` that exporters, optimisers and quantisers write: fused products, activations and norms.
//! Attention is in `contrib_attention.rs`, quantised elementwise operators in `contrib_quant.rs`, weights of few bits in `contrib_bits.rs`.

use super::contrib_quant::dequantised;
use super::{conv, linear, one};
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{
    Builder, DType, Gelu, GeluForm, LayerNorm, Mean, Result, RmsNorm, Shape, ValueId, Variance,
};

/// The last two axes exchanged.
fn transposed(b: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
    let rank = b.tensor_type(x)?.rank();
    if rank < 2 {
        return Ok(x);
    }
    let perm: Vec<usize> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
    b.transpose(x, &perm)
}

/// The axis before the last moved to the front: `transBatch` keeps the batch where rows are.
fn batch_moved(b: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
    let rank = b.tensor_type(x)?.rank();
    if rank < 3 {
        return Ok(x);
    }
    let perm: Vec<usize> = (1..rank - 1).chain([0, rank - 1]).collect();
    b.transpose(x, &perm)
}

pub(super) fn fused_matmul(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let alpha = cx.float("alpha", 1.0)?;
    let mut factors = Vec::with_capacity(2);
    for (i, [turn, batch]) in [["transA", "transBatchA"], ["transB", "transBatchB"]].into_iter().enumerate() {
        let mut x = cx.value(i)?;
        if cx.flag(batch, false)? {
            x = batch_moved(cx.b, x)?;
        }
        factors.push(if cx.flag(turn, false)? { transposed(cx.b, x)? } else { x });
    }
    let y = cx.b.matmul(factors[0], factors[1])?;
    one(if alpha == 1.0 { y } else { cx.b.mul_scalar(y, alpha)? })
}

/// What an attribute names as the function of a fused operator.
fn activated(cx: &mut NodeCx<'_, '_>, y: ValueId) -> Result<ValueId> {
    let parameters = cx.floats("activation_params")?.unwrap_or_default().to_vec();
    let parameter = |i: usize, default: f64| parameters.get(i).map_or(default, |p| f64::from(*p));
    match cx.text("activation")?.unwrap_or_default() {
        "" => Ok(y),
        "Relu" => cx.b.relu(y),
        "Tanh" => cx.b.tanh(y),
        "Sigmoid" => cx.b.sigmoid(y),
        "LeakyRelu" => cx.b.composite(lawson_graph::LeakyRelu { slope: parameter(0, 0.01) }, &[y]),
        "Clip" => cx.b.clip(y, parameter(0, f64::NEG_INFINITY), parameter(1, f64::INFINITY)),
        "HardSigmoid" => {
            let (alpha, beta) = (parameter(0, 0.2), parameter(1, 0.5));
            cx.b.composite(lawson_graph::HardSigmoid { alpha, beta }, &[y])
        }
        other => Err(cx.unsupported(format!("`{}` with the function `{other}`", cx.op()))),
    }
}

fn first(items: &[Item], cx: &mut NodeCx<'_, '_>) -> Result<ValueId> {
    match items.first() {
        Some(item) => item.build(cx.b),
        None => Err(cx.wrong("an operator without a result")),
    }
}

/// A convolution, a sum with operand 3, a function.
pub(super) fn fused_conv(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let items = conv::conv(cx)?;
    let mut y = first(&items, cx)?;
    if let Some(z) = cx.optional(3)? {
        y = cx.b.add(y, z)?;
    }
    one(activated(cx, y)?)
}

pub(super) fn fused_gemm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let items = linear::gemm(cx)?;
    let y = first(&items, cx)?;
    for name in ["activation_alpha", "activation_beta", "activation_gamma"] {
        cx.ignore(name);
    }
    one(activated(cx, y)?)
}

/// The operand, plus a bias if there is one.
fn biased(cx: &mut NodeCx<'_, '_>) -> Result<ValueId> {
    let x = cx.value(0)?;
    match cx.optional(1)? {
        Some(bias) => cx.b.add(x, bias),
        None => Ok(x),
    }
}

pub(super) fn gelu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = biased(cx)?;
    one(cx.b.composite(Gelu { form: GeluForm::Exact }, &[x])?)
}

pub(super) fn fast_gelu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = biased(cx)?;
    one(cx.b.composite(Gelu { form: GeluForm::Tanh }, &[x])?)
}

/// `x·sigmoid(alpha·x)`.
pub(super) fn quick_gelu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let alpha = cx.float("alpha", f64::from(1.702f32))?;
    let x = cx.value(0)?;
    let scaled = cx.b.mul_scalar(x, alpha)?;
    let gate = cx.b.sigmoid(scaled)?;
    one(cx.b.mul(x, gate)?)
}

/// `x / √(mean(x²) + ε) · scale` from an axis on.
pub(super) fn simplified_layer_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("stash_type");
    let (x, scale) = (cx.value(0)?, cx.value(1)?);
    let rank = cx.b.tensor_type(x)?.rank();
    let axis = cx.axis(cx.int("axis")?.unwrap_or(-1), rank)?;
    let epsilon = cx.float("epsilon", f64::from(1e-5f32))?;
    let mut results = vec![cx.b.composite(RmsNorm { axis, epsilon }, &[x, scale])?.into()];
    if cx.wants(1) {
        let x = cx.b.cast(x, DType::F32)?;
        let square = cx.b.mul(x, x)?;
        let mean = cx.b.composite(Mean { axes: (axis..rank).collect(), keep_dims: true }, &[square])?;
        let sum = cx.b.add_scalar(mean, epsilon)?;
        results.push(cx.b.rsqrt(sum)?.into());
    }
    Ok(results)
}

/// A sum of two or three, normalised; the sum is the fourth result.
fn skip_norm(cx: &mut NodeCx<'_, '_>, simplified: bool) -> Result<Vec<Item>> {
    let epsilon = cx.float("epsilon", f64::from(1e-12f32))?;
    let (x, skip, gamma) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    let (beta, bias) = if simplified { (None, cx.optional(3)?) } else { (cx.optional(3)?, cx.optional(4)?) };
    let mut sum = cx.b.add(x, skip)?;
    if let Some(bias) = bias {
        sum = cx.b.add(sum, bias)?;
    }
    let rank = cx.b.tensor_type(sum)?.rank();
    let axis = rank.checked_sub(1).ok_or_else(|| cx.wrong("a norm of scalars"))?;
    let operands: Vec<ValueId> = [sum, gamma].into_iter().chain(beta).collect();
    let y = match simplified {
        true => cx.b.composite(RmsNorm { axis, epsilon }, &operands)?,
        false => cx.b.composite(LayerNorm { axis, epsilon }, &operands)?,
    };
    let (mut mean, mut inverse) = (y, y);
    if cx.wants(1) || cx.wants(2) {
        let x = cx.b.cast(sum, DType::F32)?;
        mean = cx.b.composite(Mean { axes: vec![axis], keep_dims: true }, &[x])?;
        let variance = cx.b.composite(Variance { axes: vec![axis], keep_dims: true, correction: 0 }, &[x])?;
        let moved = cx.b.add_scalar(variance, epsilon)?;
        inverse = cx.b.rsqrt(moved)?;
    }
    Ok(vec![y.into(), mean.into(), inverse.into(), sum.into()])
}

pub(super) fn skip_layer_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    skip_norm(cx, false)
}

pub(super) fn skip_simplified_layer_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    skip_norm(cx, true)
}

/// Rows of tables for words, positions and segments, added and normalised.
pub(super) fn embed_layer_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("mask_index_type");
    let tables = [cx.value(2)?, cx.value(3)?, cx.value(5)?, cx.value(6)?];
    let (segments, mask, places) = (cx.optional(4)?, cx.optional(7)?, cx.optional(8)?);
    embedded(cx, tables, segments, mask, places)
}

/// The same with tables of integers, each with a scale and a zero point.
pub(super) fn quantised_embed_layer_norm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let float = |cx: &mut NodeCx<'_, '_>, table: usize, k: usize| -> Result<ValueId> {
        let (x, scale, zero) = (cx.value(table)?, cx.value(8 + k)?, cx.optional(13 + k)?);
        dequantised(cx, x, scale, zero)
    };
    let segments = if cx.has(4) { Some(float(cx, 4, 2)?) } else { None };
    let tables = [float(cx, 2, 0)?, float(cx, 3, 1)?, float(cx, 5, 3)?, float(cx, 6, 4)?];
    let mask = cx.optional(7)?;
    embedded(cx, tables, segments, mask, None)
}

fn embedded(
    cx: &mut NodeCx<'_, '_>,
    [words, positions, gamma, beta]: [ValueId; 4],
    segments: Option<ValueId>,
    mask: Option<ValueId>,
    places: Option<ValueId>,
) -> Result<Vec<Item>> {
    let epsilon = cx.float("epsilon", f64::from(1e-12f32))?;
    let ids = cx.value(0)?;
    let shape = cx.b.shape(ids)?;
    let [_, length] = &shape[..] else {
        return Err(cx.wrong(format!("`EmbedLayerNormalization` of {shape}")));
    };
    let mut sum = cx.b.take(words, ids, 0)?;
    let places = match places {
        Some(at) => cx.b.take(positions, at, 0)?,
        None => {
            let at = cx.b.iota(DType::I64, [length.clone()], 0)?;
            cx.b.take(positions, at, 0)?
        }
    };
    sum = cx.b.add(sum, places)?;
    if let (Some(at), Some(table)) = (cx.optional(1)?, segments) {
        let rows = cx.b.take(table, at, 0)?;
        sum = cx.b.add(sum, rows)?;
    }
    let y = cx.b.composite(LayerNorm { axis: 2, epsilon }, &[sum, gamma, beta])?;
    let lengths = match mask {
        Some(mask) => {
            let mask = cx.b.cast(mask, DType::I32)?;
            cx.b.reduce(lawson_graph::op::Monoid::Sum, mask, &[1], lawson_graph::Keep::No)?
        }
        None => {
            let zero = cx.b.scalar(DType::I32, 0.0)?;
            cx.b.broadcast_to(zero, [shape[0].clone()])?
        }
    };
    Ok(vec![y.into(), lengths.into(), sum.into()])
}

/// Distances between rows of two matrices.
pub(super) fn distances(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let square = match cx.text("metric")?.unwrap_or("sqeuclidean") {
        "sqeuclidean" => true,
        "euclidean" => false,
        other => return Err(cx.unsupported(format!("`CDist` with the metric `{other}`"))),
    };
    let (a, c) = (cx.value(0)?, cx.value(1)?);
    let (rows, columns) = (cx.b.shape(a)?, cx.b.shape(c)?);
    if rows.rank() != 2 || columns.rank() != 2 {
        return Err(cx.wrong(format!("`CDist` of {rows} and {columns}, which are no matrices")));
    }
    let all = Shape::from(vec![rows[0].clone(), columns[0].clone(), rows[1].clone()]);
    let (a, c) = (cx.b.broadcast_in(a, all.clone(), &[0, 2])?, cx.b.broadcast_in(c, all, &[1, 2])?);
    let apart = cx.b.sub(a, c)?;
    let parts = cx.b.mul(apart, apart)?;
    let sum = cx.b.reduce(lawson_graph::op::Monoid::Sum, parts, &[2], lawson_graph::Keep::No)?;
    one(if square { sum } else { cx.b.sqrt(sum)? })
}
