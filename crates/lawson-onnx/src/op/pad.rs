//! Padding: by a constant, or by elements of the operand. Negative padding cuts off.

use super::one;
use crate::item::{DimTensor, Item};
use crate::node::NodeCx;
use lawson_graph::op::{self, BinaryKind, Slice};
use lawson_graph::{DType, Dim, HostTensor, Op, Result, Shape, ValueId};

/// The most indices that padding by elements writes down.
const MAX_INDICES: i64 = 1 << 20;

/// Padding as an attribute, until version 10.
pub(super) fn pad_attributes(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let pads = cx.ints("pads")?.unwrap_or_default().iter().map(|p| Dim::from(*p)).collect();
    let x = cx.value(0)?;
    let value = cx.float("value", 0.0)?;
    let value = cx.b.scalar(cx.b.dtype(x)?, value)?;
    build(cx, x, pads, None, value)
}

pub(super) fn pad(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let pads = cx.dims_of(1, "padding")?.dims;
    let axes = if cx.has(3) { Some(cx.ints_of(3, "axes")?) } else { None };
    let x = cx.value(0)?;
    let value = match cx.optional(2)? {
        Some(value) => cx.b.reshape(value, Shape::scalar())?,
        None => {
            let zero = HostTensor::zeros(cx.b.dtype(x)?, &[])?;
            cx.b.constant(zero)?
        }
    };
    build(cx, x, pads, axes, value)
}

fn build(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    pads: Vec<Dim>,
    axes: Option<Vec<i64>>,
    value: ValueId,
) -> Result<Vec<Item>> {
    let rank = cx.b.tensor_type(x)?.rank();
    let axes = match axes {
        Some(axes) => cx.axes(&axes, rank)?,
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * axes.len() {
        let (came, axes) = (pads.len(), axes.len());
        return Err(cx
            .wrong(format!("`Pad` has {came} paddings for {axes} axes"))
            .help(format!("it takes {}: those before every axis, then those behind", 2 * axes)));
    }
    let (mut low, mut high) = (vec![Dim::ZERO; rank], vec![Dim::ZERO; rank]);
    for (i, axis) in axes.iter().enumerate() {
        (low[*axis], high[*axis]) = (pads[i].clone(), pads[i + axes.len()].clone());
    }
    let mode = cx.text("mode")?.unwrap_or("constant");
    let x = cut(cx, x, &mut low, &mut high)?;
    // What is padded or cut off for sizes that are open is one of both.
    for side in low.iter().chain(&high) {
        cx.assume_at_least(side, &Dim::ZERO);
    }
    if mode == "constant" {
        let interior = vec![0; rank];
        return one(cx.b.op1(Op::Pad(op::Pad { low, high, interior }), &[x, value])?);
    }
    let mut y = x;
    for axis in 0..rank {
        if !(low[axis].is(0) && high[axis].is(0)) {
            y = by_elements(cx, y, axis, &low[axis], &high[axis], mode)?;
        }
    }
    one(y)
}

/// Applies negative padding, and leaves 0 in its place.
fn cut(cx: &mut NodeCx<'_, '_>, x: ValueId, low: &mut [Dim], high: &mut [Dim]) -> Result<ValueId> {
    let shape = cx.b.shape(x)?;
    let mut slice =
        Slice { start: vec![Dim::ZERO; shape.rank()], size: shape.to_vec(), step: vec![1; shape.rank()] };
    for axis in 0..shape.rank() {
        let negative = |d: &Dim| d.as_const().is_some_and(|c| c < 0);
        if negative(&low[axis]) {
            let gone = -std::mem::replace(&mut low[axis], Dim::ZERO);
            slice.size[axis] = slice.size[axis].clone() - gone.clone();
            slice.start[axis] = gone;
        }
        if negative(&high[axis]) {
            slice.size[axis] = slice.size[axis].clone() + std::mem::replace(&mut high[axis], Dim::ZERO);
        }
    }
    if slice.size == *shape { Ok(x) } else { cx.b.op1(Op::Slice(slice), &[x]) }
}

/// Padding whose elements are gathered from the operand.
fn by_elements(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    axis: usize,
    low: &Dim,
    high: &Dim,
    mode: &str,
) -> Result<ValueId> {
    let dim = cx.b.shape(x)?[axis].clone();
    let (Some(n), Some(low), Some(high)) = (dim.as_const(), low.as_const(), high.as_const()) else {
        let indices = open_indices(cx, &dim, low, high, mode)?;
        return cx.b.take(x, indices, axis);
    };
    let total = n.checked_add(low).and_then(|t| t.checked_add(high)).filter(|t| *t <= MAX_INDICES);
    let Some(total) = total.filter(|_| n > 0) else {
        return Err(cx.unsupported(format!("padding of an axis of {n} by {low} and {high}")));
    };
    let at = |i: i64| match mode {
        "edge" => Some(i.clamp(0, n - 1)),
        "wrap" => Some(i.rem_euclid(n)),
        "reflect" if n == 1 => Some(0),
        "reflect" => {
            let i = i.rem_euclid(2 * (n - 1));
            Some(i.min(2 * (n - 1) - i))
        }
        _ => None,
    };
    let indices: Option<Vec<i64>> = (-low..total - low).map(at).collect();
    let indices =
        indices.ok_or_else(|| cx.no_such("mode", mode, &["constant", "edge", "reflect", "wrap"]))?;
    let indices = cx.b.vector(&indices)?;
    cx.b.take(x, indices, axis)
}

/// The same indices where a size is open: they are computed in a run.
fn open_indices(cx: &mut NodeCx<'_, '_>, size: &Dim, low: &Dim, high: &Dim, mode: &str) -> Result<ValueId> {
    cx.assume_at_least(size, &Dim::ONE);
    let facts = cx.b.facts();
    if !facts.is_positive(size) || !facts.is_nonnegative(low) || !facts.is_nonnegative(high) {
        return Err(cx
            .unsupported(format!("padding of mode `{mode}` of an axis of {size} by {low} and {high}"))
            .help("sizes that may be 0 or less cannot be padded like that; give the model inputs, or fix sizes with --dim"));
    }
    let number = |cx: &mut NodeCx<'_, '_>, d: Dim| Item::from(DimTensor::scalar(d)).build(cx.b);
    let total = cx.b.facts().simplify(&(size.clone() + low.clone() + high.clone()));
    let at = cx.b.iota(DType::I64, [total], 0)?;
    let before = number(cx, low.clone())?;
    let at = cx.b.sub(at, before)?;
    match mode {
        "edge" => {
            let (first, last) = (number(cx, Dim::ZERO)?, number(cx, size.clone() - 1)?);
            let at = cx.b.max(at, first)?;
            cx.b.min(at, last)
        }
        "wrap" => {
            let size = number(cx, size.clone())?;
            cx.b.binary(BinaryKind::Mod, at, size)
        }
        "reflect" => {
            // There and back again, without the ends twice; an axis of one element has only that.
            let turn = number(cx, size.clone() * 2 - 2)?;
            let least = number(cx, Dim::ONE)?;
            let divisor = cx.b.max(turn, least)?;
            let at = cx.b.binary(BinaryKind::Mod, at, divisor)?;
            let back = cx.b.sub(turn, at)?;
            cx.b.min(at, back)
        }
        other => Err(cx.no_such("mode", other, &["constant", "edge", "reflect", "wrap"])),
    }
}
