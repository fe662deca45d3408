//! Tensors from nothing but attributes and shapes.

use super::one;
use crate::item::{DimTensor, Item};
use crate::node::NodeCx;
use crate::open::{Element, MAX_SIZE, origin};
use lawson_graph::op::CompareKind;
use lawson_graph::{DType, Dim, HostTensor, Result, Shape};
use std::sync::Arc;

pub(super) fn constant(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    if let Some(t) = cx.sparse_tensor("sparse_value")? {
        return Ok(vec![Item::Constant(t)]);
    }
    let texts = |t: Vec<&str>| t.into_iter().map(Arc::from).collect::<Vec<Arc<str>>>();
    let tensor = if let Some(t) = cx.tensor("value")? {
        t
    } else if cx.has_attribute("value_float") {
        HostTensor::scalar(cx.float("value_float", 0.0)? as f32)
    } else if let Some(i) = cx.int("value_int")? {
        HostTensor::scalar(i)
    } else if let Some(f) = cx.floats("value_floats")? {
        HostTensor::from_slice(&[f.len()], f)?
    } else if let Some(i) = cx.ints("value_ints")? {
        HostTensor::from_slice(&[i.len()], i)?
    } else if let Some(t) = cx.text("value_string")? {
        HostTensor::from_text(&[], texts(vec![t]))?
    } else if let Some(t) = cx.texts("value_strings")? {
        HostTensor::from_text(&[t.len()], texts(t))?
    } else {
        return Err(cx.wrong("a constant has no value"));
    };
    Ok(vec![Item::Constant(tensor)])
}

/// One element everywhere: a broadcast, however large the shape.
pub(super) fn constant_of_shape(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let value = match cx.tensor("value")? {
        Some(t) if t.len() == 1 => t.reshaped(&[])?,
        Some(t) => {
            return Err(cx.wrong(format!("the value of `ConstantOfShape` has {} elements, not 1", t.len())));
        }
        None => HostTensor::scalar(0f32),
    };
    let shape = Shape::from(cx.sizes_of(0, "shape")?);
    let scalar = cx.b.constant(value)?;
    one(cx.b.broadcast_to(scalar, shape)?)
}

/// `start + i·step`, with a length that must be known.
pub(super) fn range(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (dtype, _) = cx.tensor_type(0)?;
    cx.ignore("stash_type");
    let count = if dtype.is_float() { float_count(cx)? } else { int_count(cx)? };
    let index = cx.b.iota(dtype, [count], 0)?;
    let (start, step) = (cx.value(0)?, cx.value(2)?);
    let (start, step) = (cx.b.reshape(start, Shape::scalar())?, cx.b.reshape(step, Shape::scalar())?);
    let is = |item: Item, v: i64| item.dims().is_some_and(|t| t.dims.iter().all(|d| d.is(v)));
    let scaled = if is(cx.item(2)?, 1) { index } else { cx.b.mul(index, step)? };
    one(if is(cx.item(0)?, 0) { scaled } else { cx.b.add(scaled, start)? })
}

/// How many floats a range has. A limit that is a size as a float, between whole numbers, is followed to that size; any other that only a
/// run knows is a size which the run finds out.
fn float_count(cx: &mut NodeCx<'_, '_>) -> Result<Dim> {
    let (limit, dtype) = (cx.item(1)?, cx.tensor_type(1)?.0);
    let Some(v) = limit.as_value().filter(|_| limit.constant().is_none()) else { return known_count(cx) };
    let ends = [cx.constant_of(0, "start")?, cx.constant_of(2, "step")?];
    let [start, step] = ends.map(|t| if t.len() == 1 { t.float_at(0) } else { f64::NAN });
    if !start.is_finite() || !step.is_finite() || step == 0.0 {
        return Err(cx.wrong(format!("a range from {start} in steps of {step}")));
    }
    let is_whole = |v: f64| v.fract() == 0.0 && v.abs() < 1e9;
    if let Element::Known(limit) = origin(cx.b, v, 0)
        && is_whole(start)
        && is_whole(step)
        && step > 0.0
    {
        let gap = limit - Dim::from(start as i64);
        let count = gap.ceil_div(&Dim::from(step as i64));
        return Ok(cx.b.facts().simplify(&count.max(&Dim::ZERO)));
    }
    if cx.asks(v) {
        return Err(cx.unknown(1, &limit, "limit"));
    }
    let limit = cx.b.reshape(v, Shape::scalar())?;
    let (start, step) = (cx.b.scalar(dtype, start)?, cx.b.scalar(dtype, step)?);
    let gap = cx.b.sub(limit, start)?;
    let count = cx.b.div(gap, step)?;
    let count = cx.b.ceil(count)?;
    let zero = cx.b.scalar(dtype, 0.0)?;
    let count = cx.b.max(count, zero)?;
    let count = cx.b.cast(count, DType::I64)?;
    cx.define("count", count, Dim::from(MAX_SIZE))
}

fn known_count(cx: &NodeCx<'_, '_>) -> Result<Dim> {
    let number = |i, what| -> Result<f64> {
        let t = cx.constant_of(i, what)?;
        if t.len() == 1 {
            Ok(t.float_at(0))
        } else {
            Err(cx.wrong(format!("the {what} of a range is not a scalar")))
        }
    };
    let (start, end, step) = (number(0, "start")?, number(1, "limit")?, number(2, "step")?);
    let count = ((end - start) / step).ceil().max(0.0);
    if !count.is_finite() || count >= i64::MAX as f64 {
        return Err(cx.wrong(format!("a range from {start} to {end} in steps of {step} has no end")));
    }
    Ok(Dim::from(count as i64))
}

/// How many integers a range has. Where only a run knows its ends, that is a size which the run finds out.
fn int_count(cx: &mut NodeCx<'_, '_>) -> Result<Dim> {
    let mut end_of = |i, what: &str| match cx.elements_of(i, what)?.as_slice() {
        [end] => Ok(end.clone()),
        _ => Err(cx.wrong(format!("the {what} of a range is not a scalar"))),
    };
    let (start, limit) = (end_of(0, "start")?, end_of(1, "limit")?);
    let step = match cx.dims_of(2, "step")? {
        DimTensor { dims, .. } if dims.len() == 1 => dims[0].clone(),
        _ => return Err(cx.wrong("the step of a range is not a scalar")),
    };
    let (from, to, step) = match step.as_const() {
        None => return Err(cx.unsupported(format!("a range in steps of `{step}`"))),
        Some(0) => return Err(cx.wrong("a range in steps of 0")),
        Some(s) if s < 0 => (limit, start, s.saturating_neg()),
        Some(s) => (start, limit, s),
    };
    match (&from, &to) {
        (Element::Known(from), Element::Known(to)) => {
            let (gap, facts) = (to.clone() - from.clone(), cx.b.facts());
            let count = gap.ceil_div(&Dim::from(step));
            Ok(facts.simplify(&if facts.is_nonnegative(&gap) { count } else { count.max(&Dim::ZERO) }))
        }
        // The limit itself, which other nodes may take for a size too, so that all of them have one symbol for it.
        (Element::Known(from), Element::Computed(..)) if from.is(0) && step == 1 => cx.size(to),
        _ => {
            let (from, to) = (cx.scalar(&from)?, cx.scalar(&to)?);
            let gap = cx.b.sub(to, from)?;
            let (zero, step) = (cx.b.scalar(DType::I64, 0.0)?, cx.b.constant(HostTensor::scalar(step))?);
            let gap = cx.b.max(gap, zero)?;
            let one = cx.b.scalar(DType::I64, 1.0)?;
            let last = cx.b.sub(step, one)?;
            let up = cx.b.add(gap, last)?;
            let count = cx.b.div(up, step)?;
            cx.define("count", count, Dim::from(MAX_SIZE))
        }
    }
}

pub(super) fn eye_like(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (dtype, shape) = cx.tensor_type(0)?;
    let dtype = cx.dtype("dtype")?.unwrap_or(dtype);
    let k = cx.int("k")?.unwrap_or(0);
    if shape.rank() != 2 {
        return Err(cx.wrong(format!("`EyeLike` takes 2 dimensions, {} came", shape.rank())));
    }
    let (row, column) = (cx.b.iota(DType::I64, shape.clone(), 0)?, cx.b.iota(DType::I64, shape, 1)?);
    let offset = cx.b.constant(HostTensor::scalar(k))?;
    let diagonal = cx.b.add(row, offset)?;
    let hit = cx.b.compare(CompareKind::Eq, diagonal, column)?;
    one(cx.b.cast(hit, dtype)?)
}
