//! Finding, naming and keeping elements: top-k, one-hot, non-zero, triangles.

use super::one;
use crate::item::{Item, MAX_KNOWN};
use crate::node::NodeCx;
use lawson_graph::op::CompareKind;
use lawson_graph::{
    Builder, DType, Dim, HostTensor, NonZero, OneHot, Op, Result, Shape, Symbol, TopK, ValueId,
};
use std::sync::Arc;

/// The number of elements is an attribute until version 9, an operand from 10 on.
pub(super) fn top_k(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let axis = cx.axis(cx.int("axis")?.unwrap_or(-1), shape.rank())?;
    let k = match cx.int("k")? {
        Some(k) => Dim::from(k),
        None => match cx.sizes_of(1, "number of elements")?.as_slice() {
            [k] => k.clone(),
            other => return Err(cx.wrong(format!("`TopK` takes one number, {} came", other.len()))),
        },
    };
    cx.assume_at_least(&shape[axis], &k);
    // Unsorted results may come in any order, also in this one.
    cx.ignore("sorted");
    let smallest = !cx.flag("largest", true)?;
    let results = cx.b.op(Op::Composite(Arc::new(TopK { k, axis, smallest })), &[x])?;
    Ok(results.into_iter().map(Item::Value).collect())
}

pub(super) fn one_hot(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (at, values) = (cx.value(0)?, cx.value(2)?);
    let depth = match cx.item(1)? {
        Item::Dims(t) if t.dims.len() == 1 => t.dims[0].clone(),
        item => match item.constant().filter(|t| t.len() == 1) {
            // The depth may even be a float.
            Some(t) if t.dtype().is_float() => Dim::from(t.float_at(0) as i64),
            Some(t) => Dim::from(i64::try_from(t.int_at(0)).unwrap_or(-1)),
            None => return Err(cx.unknown(1, &item, "depth")),
        },
    };
    let rank = cx.b.tensor_type(at)?.rank();
    let axis = cx.axis(cx.int("axis")?.unwrap_or(-1), rank + 1)?;
    let at = cx.b.cast(at, DType::I64)?;
    let zero = cx.b.scalar(DType::I64, 0.0)?;
    let size = cx.b.dim_scalar(&depth, DType::I64)?;
    let negative = cx.b.compare(CompareKind::Lt, at, zero)?;
    let from_end = cx.b.add(at, size)?;
    let at = cx.b.select(negative, from_end, at)?;
    let hit = cx.b.composite(OneHot { depth, axis: Some(axis), dtype: DType::Bool }, &[at])?;
    let mut ends = Vec::with_capacity(2);
    for i in 0..2 {
        let value = cx.b.slice_axis(values, 0, i, 1)?;
        ends.push(cx.b.reshape(value, Shape::scalar())?);
    }
    one(cx.b.select(hit, ends[1], ends[0])?)
}

/// Where the elements of a constant are that are not zero: a row an axis.
fn constant_places(t: &HostTensor) -> Result<HostTensor> {
    let found: Vec<usize> = (0..t.len()).filter(|i| t.float_at(*i) != 0.0).collect();
    let mut rows = Vec::with_capacity(t.sizes().len() * found.len());
    let mut stride = t.len();
    for size in t.sizes() {
        stride /= size.max(&1);
        rows.extend(found.iter().map(|i| (i / stride.max(1) % size) as i64));
    }
    HostTensor::from_slice(&[t.sizes().len(), found.len()], &rows)
}

/// The element of a tensor that is made from one, whatever its size is.
fn same_everywhere(b: &Builder<'_>, x: ValueId) -> Option<f64> {
    let node = b.defining(x)?;
    match &node.op {
        Op::Broadcast(_) | Op::Reshape(_) | Op::Transpose(_) => same_everywhere(b, node.inputs[0]),
        Op::Constant(c) => (c.len() == 1 && c.dtype() != DType::Str).then(|| c.float_at(0)),
        _ => None,
    }
}

/// ONNX gives one row an axis, Lawson one row an element.
pub(super) fn non_zero(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    if let Item::Constant(t) = cx.item(0)?
        && t.len() <= MAX_KNOWN
        && t.dtype() != DType::Str
    {
        return constant_places(&t).map(|places| vec![Item::Constant(places)]);
    }
    let x = cx.value(0)?;
    // Of a tensor that is the same everywhere, all elements are found or none.
    if same_everywhere(cx.b, x).is_some_and(|e| e != 0.0) {
        let shape = cx.b.shape(x)?;
        let count = shape.elements();
        let mut rows = Vec::with_capacity(shape.rank());
        for axis in 0..shape.rank() {
            let along = cx.b.iota(DType::I64, shape.clone(), axis)?;
            rows.push(cx.b.reshape(along, [Dim::ONE, count.clone()])?);
        }
        if !rows.is_empty() {
            return one(cx.b.concat(&rows, 0)?);
        }
    }
    let name = cx.node.output.first().map_or("count", String::as_str);
    let symbol = cx.b.facts().fresh(&Symbol::new(format!("{name}.count")));
    let vectors = cx.b.composite(NonZero { symbol }, &[x])?;
    one(cx.b.transpose(vectors, &[1, 0])?)
}

/// The elements of the last two axes on one side of a diagonal; zeros elsewhere.
pub(super) fn trilu(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let Some(lead) = shape.rank().checked_sub(2) else {
        return Err(cx.wrong(format!("`Trilu` of {shape}, which is no matrix")));
    };
    let kind = if cx.flag("upper", true)? { CompareKind::Ge } else { CompareKind::Le };
    let matrix = Shape::from(&shape[lead..]);
    let (row, column) = (cx.b.iota(DType::I64, matrix.clone(), 0)?, cx.b.iota(DType::I64, matrix, 1)?);
    let offset = match cx.optional(1)? {
        Some(k) => cx.b.reshape(k, Shape::scalar())?,
        None => cx.b.scalar(DType::I64, 0.0)?,
    };
    let diagonal = cx.b.add(row, offset)?;
    let kept = cx.b.compare(kind, column, diagonal)?;
    let zero = HostTensor::zeros(cx.b.dtype(x)?, &[])?;
    let zero = cx.b.constant(zero)?;
    one(cx.b.select(kept, x, zero)?)
}

/// One at the first greatest element along an axis, zero elsewhere.
pub(super) fn hardmax(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let t = cx.b.tensor_type(x)?.clone();
    let axis = cx.axis(cx.int("axis")?.unwrap_or(-1), t.rank())?;
    let at = cx.b.argmax(x, axis)?;
    one(cx.b.composite(OneHot { depth: t.shape[axis].clone(), axis: Some(axis), dtype: t.dtype }, &[at])?)
}
