//! The greatest elements of bins of regions: the pooling that came before `RoiAlign`, with whole rows and columns.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{CompareKind, Monoid};
use lawson_graph::{DType, Dim, Keep, Result, Shape, ValueId};

/// For one axis: whether each of its places is in each bin of each region, `[regions, bins, size]`.
fn members(
    cx: &mut NodeCx<'_, '_>,
    rois: ValueId,
    [from, to]: [i64; 2],
    scale: f64,
    bins: i64,
    size: &Dim,
) -> Result<ValueId> {
    let count = cx.b.shape(rois)?[0].clone();
    let dtype = cx.b.dtype(rois)?;
    let all = Shape::from(vec![count.clone(), Dim::from(bins), size.clone()]);
    let mut ends = Vec::with_capacity(2);
    for column in [from, to] {
        let v = cx.b.slice_axis(rois, 1, column, 1)?;
        let v = cx.b.mul_scalar(v, scale)?;
        // Halves away from zero.
        let (lower, low) = (cx.b.abs(v)?, cx.b.full_like(v, 0.0)?);
        let lower = cx.b.add_scalar(lower, 0.5)?;
        let whole = cx.b.floor(lower)?;
        let turned = cx.b.mul_scalar(whole, -1.0)?;
        let negative = cx.b.compare(CompareKind::Lt, v, low)?;
        let v = cx.b.select(negative, turned, whole)?;
        ends.push(cx.b.reshape(v, [count.clone()])?);
    }
    let extent = cx.b.sub(ends[1], ends[0])?;
    let extent = cx.b.add_scalar(extent, 1.0)?;
    let least = cx.b.full_like(extent, 1.0)?;
    let extent = cx.b.max(extent, least)?;
    let divisor = cx.b.full_like(extent, bins as f64)?;
    let step = cx.b.div(extent, divisor)?;
    let step = cx.b.broadcast_in(step, all.clone(), &[0])?;
    let start = cx.b.broadcast_in(ends[0], all.clone(), &[0])?;
    let bin = cx.b.iota(dtype, all.clone(), 1)?;
    let next = cx.b.add_scalar(bin, 1.0)?;
    let (first, last) = (cx.b.mul(bin, step)?, cx.b.mul(next, step)?);
    let (first, last) = (cx.b.floor(first)?, cx.b.ceil(last)?);
    let (first, last) = (cx.b.add(first, start)?, cx.b.add(last, start)?);
    let at = cx.b.iota(dtype, all, 2)?;
    let (after, before) =
        (cx.b.compare(CompareKind::Ge, at, first)?, cx.b.compare(CompareKind::Lt, at, last)?);
    cx.b.and(after, before)
}

/// Regions are `[picture, left, top, right, bottom]`; a bin outside the picture is 0.
pub(super) fn max_roi_pool(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, rois) = (cx.value(0)?, cx.value(1)?);
    let (xs, rs) = (cx.b.shape(x)?, cx.b.shape(rois)?);
    let bins = cx.ints("pooled_shape")?.unwrap_or_default().to_vec();
    let scale = cx.float("spatial_scale", 1.0)?;
    let &[high, wide] = bins.as_slice() else {
        return Err(cx.wrong(format!("`pooled_shape` of `MaxRoiPool` is {bins:?} instead of two sizes")));
    };
    if xs.rank() != 4
        || rs.rank() != 2
        || !rs[1].is(5)
        || !(1..=1 << 20).contains(&high)
        || !(1..=1 << 20).contains(&wide)
    {
        return Err(cx.wrong(format!("`MaxRoiPool` of {xs} with regions {rs} to {bins:?}")));
    }
    let dtype = cx.b.dtype(x)?;
    let wide_rois = cx.b.cast(rois, dtype.accumulator())?;
    let rows = members(cx, wide_rois, [2, 4], scale, high, &xs[2])?;
    let columns = members(cx, wide_rois, [1, 3], scale, wide, &xs[3])?;
    let picture = cx.b.slice_axis(rois, 1, 0, 1)?;
    let picture = cx.b.reshape(picture, [rs[0].clone()])?;
    let picture = cx.b.cast(picture, DType::I64)?;
    let images = cx.b.take(x, picture, 0)?;
    // [regions, channels, rows of bins, rows, columns], then columns of bins.
    let dims = |list: [&Dim; 5]| list.into_iter().cloned().collect::<Shape>();
    let (r, c, h, w) = (&rs[0], &xs[1], &xs[2], &xs[3]);
    let (bh, bw) = (Dim::from(high), Dim::from(wide));
    let reduced = |cx: &mut NodeCx<'_, '_>,
                   v: ValueId,
                   inside: ValueId,
                   all: Shape,
                   axes: [usize; 4],
                   mask: [usize; 3]| {
        let v = cx.b.broadcast_in(v, all.clone(), &axes)?;
        let inside = cx.b.broadcast_in(inside, all, &mask)?;
        let least = cx.b.full_like(v, f64::NEG_INFINITY)?;
        let v = cx.b.select(inside, v, least)?;
        cx.b.reduce(Monoid::Max, v, &[mask[2]], Keep::No)
    };
    let y = reduced(cx, images, rows, dims([r, c, &bh, h, w]), [0, 1, 3, 4], [0, 2, 3])?;
    let y = reduced(cx, y, columns, dims([r, c, &bh, &bw, w]), [0, 1, 2, 4], [0, 3, 4])?;
    let (nothing, zero) = (cx.b.full_like(y, f64::NEG_INFINITY)?, cx.b.full_like(y, 0.0)?);
    let empty = cx.b.compare(CompareKind::Eq, y, nothing)?;
    one(cx.b.select(empty, zero, y)?)
}
