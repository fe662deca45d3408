//! Elements moved, cropped, chosen or reinterpreted.

use super::{gather, one};
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{Bitcast, Combine, CompareKind, Gather, Scatter, Slice};
use lawson_graph::{DType, Dim, HostTensor, NonZero, Op, Result, Shape, Symbol, ValueId, op};

pub(super) fn bit_cast(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let Some(to) = cx.dtype("to")? else { return Err(cx.wrong("a cast does not say to what")) };
    let from = cx.b.dtype(x)?;
    if from == to {
        return one(x);
    }
    // Bits of bools are those of bytes.
    let x = if from == DType::Bool { cx.b.cast(x, DType::U8)? } else { x };
    if to == DType::Bool {
        let bytes = if cx.b.dtype(x)? == DType::U8 {
            x
        } else {
            cx.b.op1(Op::Bitcast(Bitcast { to: DType::U8 }), &[x])?
        };
        return one(cx.b.cast(bytes, DType::Bool)?);
    }
    one(if cx.b.dtype(x)? == to { x } else { cx.b.op1(Op::Bitcast(Bitcast { to }), &[x])? })
}

/// The middle of each axis cut out, or the whole put in the middle of zeros.
pub(super) fn center_crop_pad(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let wanted = cx.dims_of(1, "shape")?.dims;
    let rank = shape.rank();
    let axes = match cx.ints("axes")? {
        Some(axes) => cx.axes(axes, rank)?,
        None => (0..rank).collect(),
    };
    if axes.len() != wanted.len() {
        return Err(cx.wrong(format!("{} sizes for {} axes", wanted.len(), axes.len())));
    }
    let mut slice = Slice { start: vec![Dim::ZERO; rank], size: shape.to_vec(), step: vec![1; rank] };
    let (mut low, mut high) = (vec![Dim::ZERO; rank], vec![Dim::ZERO; rank]);
    for (axis, want) in axes.into_iter().zip(wanted) {
        let facts = cx.b.facts();
        let half = |d: Dim| facts.simplify(&d.floor_div(&Dim::from(2)));
        let have = &shape[axis];
        if facts.proves_ge(have, &want) {
            slice.start[axis] = half(have.clone() - want.clone());
            slice.size[axis] = want;
        } else if facts.proves_ge(&want, have) {
            let more = want - have.clone();
            low[axis] = half(more.clone());
            high[axis] = facts.simplify(&(more - low[axis].clone()));
        } else {
            return Err(cx.unsupported(format!(
                "`CenterCropPad` of {have} to {want}, of which neither is known to be more"
            )));
        }
    }
    let cut = cx.b.op1(Op::Slice(slice), &[x])?;
    let zero = cx.b.constant(HostTensor::zeros(cx.b.dtype(x)?, &[])?)?;
    one(cx.b.op1(Op::Pad(op::Pad { low, high, interior: vec![0; rank] }), &[cut, zero])?)
}

/// The entries along an axis, or of all elements in a row, where a condition holds.
pub(super) fn compress(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (mut x, condition) = (cx.value(0)?, cx.value(1)?);
    let shape = cx.b.shape(x)?;
    let axis = match cx.int("axis")? {
        Some(axis) => cx.axis(axis, shape.rank())?,
        None => {
            x = cx.b.reshape(x, [shape.elements()])?;
            0
        }
    };
    let name = cx.node.output.first().map_or("count", String::as_str);
    let symbol = cx.b.facts().fresh(&Symbol::new(format!("{name}.count")));
    let places = cx.b.composite(NonZero { symbol }, &[condition])?;
    let count = cx.b.shape(places)?[0].clone();
    let places = cx.b.reshape(places, [count])?;
    let x = gather::never_empty(cx, x, &[axis])?;
    one(cx.b.take(x, places, axis)?)
}

/// The beginning of each entry of a batch turned around, up to a length of its own.
pub(super) fn reverse_sequence(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, lengths) = (cx.value(0)?, cx.value(1)?);
    let shape = cx.b.shape(x)?;
    let batch = cx.axis(cx.int("batch_axis")?.unwrap_or(1), shape.rank())?;
    let time = cx.axis(cx.int("time_axis")?.unwrap_or(0), shape.rank())?;
    let others = (0..shape.rank()).filter(|a| *a != batch && *a != time);
    let perm: Vec<usize> = [batch, time].into_iter().chain(others).collect();
    let moved = cx.b.transpose(x, &perm)?;
    let places = [shape[batch].clone(), shape[time].clone()];
    let at = cx.b.iota(DType::I64, places.clone(), 1)?;
    let lengths = cx.b.cast(lengths, DType::I64)?;
    let lengths = cx.b.broadcast_in(lengths, places.clone(), &[0])?;
    let last = cx.b.add_scalar(lengths, -1.0)?;
    let back = cx.b.sub(last, at)?;
    let inside = cx.b.compare(CompareKind::Lt, at, lengths)?;
    let from = cx.b.select(inside, back, at)?;
    let from = cx.b.reshape(from, [places[0].clone(), places[1].clone(), Dim::ONE])?;
    let turned = cx.b.op1(Op::Gather(Gather { axes: vec![1], batch: 1 }), &[moved, from])?;
    let mut inverse = vec![0; perm.len()];
    perm.iter().enumerate().for_each(|(i, p)| inverse[*p] = i);
    one(cx.b.transpose(turned, &inverse)?)
}

/// A cache with new entries written along an axis, from a place of its own for each entry of the batch.
pub(super) fn tensor_scatter(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (cache, update) = (cx.value(0)?, cx.value(1)?);
    let (shape, new) = (cx.b.shape(cache)?, cx.b.shape(update)?);
    let axis = cx.axis(cx.int("axis")?.unwrap_or(-2), shape.rank())?;
    let circular = match cx.text("mode")?.unwrap_or("linear") {
        "linear" => false,
        "circular" => true,
        other => return Err(cx.no_such("mode", other, &["linear", "circular"])),
    };
    if axis == 0 || new.rank() != shape.rank() {
        return Err(cx.wrong(format!("`TensorScatter` of {new} into {shape} along axis {axis}")));
    }
    let places = [shape[0].clone(), shape[axis].clone()];
    let mut at = cx.b.iota(DType::I64, places.clone(), 1)?;
    if let Some(first) = cx.optional(2)? {
        let first = cx.b.cast(first, DType::I64)?;
        let first = cx.b.broadcast_in(first, places.clone(), &[0])?;
        at = cx.b.sub(at, first)?;
    }
    if circular {
        let size = cx.b.dim_scalar(&shape[axis], DType::I64)?;
        at = cx.b.binary(op::BinaryKind::Mod, at, size)?;
    }
    let (zero, count) = (cx.b.scalar(DType::I64, 0.0)?, cx.b.dim_scalar(&new[axis], DType::I64)?);
    let (from, to) = (cx.b.compare(CompareKind::Ge, at, zero)?, cx.b.compare(CompareKind::Lt, at, count)?);
    let inside = cx.b.and(from, to)?;
    let perm: Vec<usize> = [0, axis].into_iter().chain((1..shape.rank()).filter(|a| *a != axis)).collect();
    let moved = cx.b.transpose(update, &perm)?;
    let at = cx.b.reshape(at, [places[0].clone(), places[1].clone(), Dim::ONE])?;
    let spread = cx.b.op1(Op::Gather(Gather { axes: vec![1], batch: 1 }), &[moved, at])?;
    let mut inverse = vec![0; perm.len()];
    perm.iter().enumerate().for_each(|(i, p)| inverse[*p] = i);
    let spread = cx.b.transpose(spread, &inverse)?;
    let inside = cx.b.broadcast_in(inside, shape, &[0, axis])?;
    one(cx.b.select(inside, spread, cache)?)
}

/// Elements put back to where a pool took them from; zeros elsewhere.
pub(super) fn max_unpool(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, at) = (cx.value(0)?, cx.value(1)?);
    let shape = cx.b.shape(x)?;
    let Some(spatial) = shape.rank().checked_sub(2).filter(|n| *n > 0) else {
        return Err(cx.wrong(format!("`MaxUnpool` of {shape}")));
    };
    let one_each = |given: Option<&[i64]>, default: i64, count: usize| {
        given.map_or_else(|| vec![default; count], <[i64]>::to_vec)
    };
    let Some(kernel) = cx.ints("kernel_shape")? else {
        return Err(cx.wrong("`MaxUnpool` has no `kernel_shape`"));
    };
    let kernel = kernel.to_vec();
    let strides = one_each(cx.ints("strides")?, 1, spatial);
    let pads = one_each(cx.ints("pads")?, 0, 2 * spatial);
    let sane = |n: &i64| (0..=1 << 31).contains(n);
    if !kernel.iter().chain(&strides).chain(&pads).all(sane)
        || kernel.len() != spatial
        || strides.len() != spatial
        || pads.len() != 2 * spatial
    {
        return Err(cx.wrong("the attributes of `MaxUnpool` do not fit its operand"));
    }
    let mut dims = shape.to_vec();
    for i in 0..spatial {
        dims[2 + i] = (dims[2 + i].clone() - 1) * strides[i] + kernel[i] - pads[i] - pads[spatial + i];
    }
    let inferred = Shape::from(dims);
    // Indices count through the whole tensor.
    let zero = cx.b.constant(HostTensor::zeros(cx.b.dtype(x)?, &[])?)?;
    let flat = cx.b.broadcast_to(zero, [inferred.elements()])?;
    let (x, at) = (cx.b.reshape(x, [shape.elements()])?, cx.b.reshape(at, [shape.elements(), Dim::ONE])?);
    let scatter = Scatter { combine: Combine::Set, axes: vec![0], batch: 0 };
    let y = cx.b.op1(Op::Scatter(scatter), &[flat, at, x])?;
    let y = cx.b.reshape(y, inferred.clone())?;
    if !cx.has(2) {
        return one(y);
    }
    let wanted = cx.dims_of(2, "shape")?.dims;
    if wanted.len() != inferred.rank() {
        return Err(cx.wrong(format!("{} sizes for {} dimensions", wanted.len(), inferred.rank())));
    }
    let high = wanted.iter().zip(inferred.iter()).map(|(w, i)| w.clone() - i.clone()).collect();
    let rank = inferred.rank();
    let pad = op::Pad { low: vec![Dim::ZERO; rank], high, interior: vec![0; rank] };
    one(cx.b.op1(Op::Pad(pad), &[y, zero])?)
}

/// Columns of a matrix, which are windows of an image, added up where they lie over one another: one padded copy for each
/// element of the window.
pub(super) fn col2im(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let (image, window) = (cx.ints_of(1, "image shape")?, cx.ints_of(2, "block shape")?);
    let n = image.len();
    let list = |name, default: i64, count: usize| {
        Ok::<_, lawson_graph::Error>(cx.ints(name)?.map_or_else(|| vec![default; count], <[i64]>::to_vec))
    };
    let (dilation, stride, pads) =
        (list("dilations", 1, n)?, list("strides", 1, n)?, list("pads", 0, 2 * n)?);
    let sane = [&image, &window, &dilation, &stride, &pads];
    if sane.iter().any(|l| l.iter().any(|n| !(0..=1 << 31).contains(n))) {
        return Err(cx.wrong(format!("`Col2Im` into {image:?} with blocks of {window:?}")));
    }
    let area = window.iter().try_fold(1i64, |n, w| n.checked_mul(*w)).unwrap_or(0);
    if shape.rank() != 3
        || window.len() != n
        || dilation.len() != n
        || stride.len() != n
        || pads.len() != 2 * n
        || !(1..=4096).contains(&area)
        || stride.iter().chain(&dilation).any(|s| *s < 1)
    {
        return Err(cx.wrong(format!("`Col2Im` of {shape} with blocks of {window:?}")));
    }
    let channels = cx.b.facts().simplify(&shape[1].floor_div(&Dim::from(area)));
    let padded: Vec<i64> = (0..n).map(|i| image[i] + pads[i] + pads[n + i]).collect();
    let counts: Vec<i64> =
        (0..n).map(|i| (padded[i] - dilation[i] * (window[i] - 1) - 1).div_euclid(stride[i]) + 1).collect();
    let dims =
        [shape[0].clone(), channels, Dim::from(area)].into_iter().chain(counts.iter().map(|c| Dim::from(*c)));
    let split = cx.b.reshape(x, dims.collect::<Shape>())?;
    let zero = cx.b.constant(HostTensor::zeros(cx.b.dtype(x)?, &[])?)?;
    let mut total: Option<ValueId> = None;
    for k in 0..area {
        let mut rest = k;
        let mut at = vec![0; n];
        for i in (0..n).rev() {
            at[i] = rest % window[i] * dilation[i];
            rest /= window[i];
        }
        let part = cx.b.slice_axis(split, 2, k, 1)?;
        let dims: Vec<Dim> =
            cx.b.shape(part)?.iter().enumerate().filter(|(i, _)| *i != 2).map(|(_, d)| d.clone()).collect();
        let part = cx.b.reshape(part, Shape::from(dims))?;
        let (mut low, mut high, mut interior) = (vec![Dim::ZERO; 2], vec![Dim::ZERO; 2], vec![0, 0]);
        for i in 0..n {
            let extent = (counts[i] - 1) * stride[i] + 1;
            low.push(Dim::from(at[i]));
            high.push(Dim::from(padded[i] - at[i] - extent));
            interior.push(stride[i] - 1);
        }
        let part = cx.b.op1(Op::Pad(op::Pad { low, high, interior }), &[part, zero])?;
        total = Some(match total {
            Some(t) => cx.b.add(t, part)?,
            None => part,
        });
    }
    let mut y = total.ok_or_else(|| cx.wrong("`Col2Im` of empty blocks"))?;
    for i in 0..n {
        if pads[i] != 0 || pads[n + i] != 0 {
            y = cx.b.slice_axis(y, 2 + i, pads[i], image[i])?;
        }
    }
    one(y)
}
