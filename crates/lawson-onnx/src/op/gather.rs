//! Reading at indices.
//!
//! In ONNX an index may count from the end, and one outside is an error. Constant indices are checked and made to count
//! from the start here; others by a `select` in the graph, after which Lawson's gather clamps what lies outside.

use super::one;
use crate::item::{DimTensor, Item};
use crate::node::NodeCx;
use lawson_graph::op::{CompareKind, Concat, Gather};
use lawson_graph::{DType, Dim, HostTensor, Op, Result, Shape, ValueId};

/// Operand `i` as indices that count from the start, along axes of those sizes: one size for all indices, or one an entry of
/// the last axis.
pub(super) fn indices(cx: &mut NodeCx<'_, '_>, i: usize, sizes: &[Dim]) -> Result<ValueId> {
    let item = cx.item(i)?;
    let constant = item.constant().filter(|t| t.dtype().is_int());
    let sizes_known: Option<Vec<i64>> = sizes.iter().map(Dim::as_const).collect();
    if let (Some(t), Some(sizes)) = (constant, sizes_known)
        && !sizes.is_empty()
    {
        return constant_indices(cx, i, t, &sizes);
    }
    // Without negative ones, nothing is to be done.
    if constant.is_some_and(|t| (0..t.len()).all(|i| t.int_at(i) >= 0)) {
        return cx.value(i);
    }
    let at = cx.value(i)?;
    let dtype = cx.b.dtype(at)?;
    let size = match sizes {
        [size] => DimTensor::scalar(size.clone()),
        sizes => DimTensor::vector(sizes.to_vec()),
    };
    let size = Item::from(size).build(cx.b)?;
    let size = cx.b.cast(size, dtype)?;
    let zero = cx.b.scalar(dtype, 0.0)?;
    let negative = cx.b.compare(CompareKind::Lt, at, zero)?;
    let from_end = cx.b.add(at, size)?;
    cx.b.select(negative, from_end, at)
}

/// Whether indices that count from the start are inside an axis of that size.
pub(super) fn inside(cx: &mut NodeCx<'_, '_>, at: ValueId, size: &Dim) -> Result<ValueId> {
    let dtype = cx.b.dtype(at)?;
    let size = Item::from(DimTensor::scalar(size.clone())).build(cx.b)?;
    let size = cx.b.cast(size, dtype)?;
    let zero = cx.b.scalar(dtype, 0.0)?;
    let least = cx.b.compare(CompareKind::Ge, at, zero)?;
    let most = cx.b.compare(CompareKind::Lt, at, size)?;
    cx.b.and(least, most)
}

fn constant_indices(
    cx: &mut NodeCx<'_, '_>,
    operand: usize,
    t: &HostTensor,
    sizes: &[i64],
) -> Result<ValueId> {
    let mut changed = false;
    let mut out = Vec::with_capacity(t.len());
    for i in 0..t.len() {
        let (at, size) = (t.int_at(i), i128::from(sizes[i % sizes.len()]));
        let from_start = if at < 0 { at + size } else { at };
        if from_start < 0 || from_start >= size {
            return Err(cx.wrong(format!("index {at} of `{}` is outside an axis of {size}", cx.op())));
        }
        changed |= at < 0;
        out.push(from_start);
    }
    match changed {
        false => cx.value(operand),
        true => cx.b.constant(HostTensor::from_ints(t.dtype(), t.sizes(), &out)?),
    }
}

pub(super) fn gather(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let axis = cx.axis(cx.int("axis")?.unwrap_or(0), shape.rank())?;
    // One constant index is a slice, which moves nothing.
    if let Some(DimTensor { sizes, dims, .. }) = cx.item(1)?.dims()
        && let ([], [Some(at)], Some(size)) = (
            sizes.as_slice(),
            dims.iter().map(Dim::as_const).collect::<Vec<_>>().as_slice(),
            shape[axis].as_const(),
        )
    {
        let start = if *at < 0 { at + size } else { *at };
        if start < 0 || start >= size {
            return Err(cx.wrong(format!("index {at} of `Gather` is outside an axis of {size}")));
        }
        let part = cx.b.slice_axis(x, axis, start, 1)?;
        let kept = shape.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, d)| d.clone());
        return one(cx.b.reshape(part, kept.collect::<Shape>())?);
    }
    let at = indices(cx, 1, &shape[axis..=axis])?;
    let x = never_empty(cx, x, &[axis])?;
    one(cx.b.take(x, at, axis)?)
}

/// The same with a row more along those axes that may have none: Lawson's gather clamps its indices, for which there must be a
/// row, though in a valid run there is no index then, and none ever names the row that was added.
pub(super) fn never_empty(cx: &mut NodeCx<'_, '_>, x: ValueId, axes: &[usize]) -> Result<ValueId> {
    let shape = cx.b.shape(x)?;
    let may_be_empty = |a: &&usize| !cx.b.facts().is_positive(&shape[**a]) && !shape[**a].is(0);
    let open: Vec<usize> = axes.iter().filter(may_be_empty).copied().collect();
    open.into_iter().try_fold(x, |x, axis| {
        let (dtype, mut row) = (cx.b.dtype(x)?, cx.b.shape(x)?.to_vec());
        row[axis] = Dim::ONE;
        let zero = cx.b.scalar(dtype, 0.0)?;
        let row = cx.b.broadcast_to(zero, Shape::from(row))?;
        cx.b.concat(&[x, row], axis)
    })
}

pub(super) fn gather_nd(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let (shape, places) = (cx.b.shape(x)?, cx.shape(1)?);
    let batch = cx.int("batch_dims")?.unwrap_or(0);
    let entries = places.last().and_then(Dim::as_const).and_then(|k| usize::try_from(k).ok());
    let (Some(entries), Ok(batch)) = (entries, usize::try_from(batch)) else {
        return Err(cx.wrong(format!("`GatherND` with indices {places} and {batch} batch axes")));
    };
    let Some(end) = batch.checked_add(entries).filter(|end| *end <= shape.rank()) else {
        return Err(cx
            .wrong(format!("`GatherND` from {shape} with index vectors of {entries} entries"))
            .help("an index vector, which the last axis of the indices holds, has at most one entry for every axis behind the batch"));
    };
    let at = indices(cx, 1, &shape[batch..end])?;
    let x = never_empty(cx, x, &(batch..end).collect::<Vec<_>>())?;
    one(cx.b.op1(Op::Gather(Gather { axes: (batch..end).collect(), batch }), &[x, at])?)
}

/// Where the elements stand that an index along one axis, and its own position along the others, name.
pub(super) struct Elements {
    /// The index vectors.
    pub(super) at: ValueId,
    /// The axes that they address.
    pub(super) axes: Vec<usize>,
    /// How many leading axes the operands share.
    pub(super) batch: usize,
}

/// Index vectors from operand 1, which holds an index along `axis` for every element.
pub(super) fn elements(cx: &mut NodeCx<'_, '_>, shape: &Shape, axis: usize) -> Result<Elements> {
    let at = indices(cx, 1, &shape[axis..=axis])?;
    let at = cx.b.cast(at, DType::I64)?;
    let places = cx.b.shape(at)?;
    if places.rank() != shape.rank() {
        return Err(cx.wrong(format!("`{}` of {shape} with indices {places}", cx.op())));
    }
    // Leading axes of equal size run together; every other axis needs an entry in the index vectors.
    let batch = (0..axis).take_while(|i| cx.b.facts().equal(&shape[*i], &places[*i])).count();
    let axes: Vec<usize> = (batch..shape.rank()).collect();
    let one_each = places.iter().cloned().chain([Dim::ONE]).collect::<Shape>();
    let mut entries = Vec::with_capacity(axes.len());
    for a in &axes {
        let entry = if *a == axis { at } else { cx.b.iota(DType::I64, places.clone(), *a)? };
        entries.push(cx.b.reshape(entry, one_each.clone())?);
    }
    let at = match entries.as_slice() {
        [only] => *only,
        all => cx.b.op1(Op::Concat(Concat { axis: places.rank() }), all)?,
    };
    Ok(Elements { at, axes, batch })
}

pub(super) fn gather_elements(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let axis = cx.axis(cx.int("axis")?.unwrap_or(0), shape.rank())?;
    let Elements { at, axes, batch } = elements(cx, &shape, axis)?;
    let x = never_empty(cx, x, &axes)?;
    one(cx.b.op1(Op::Gather(Gather { axes, batch }), &[x, at])?)
}
