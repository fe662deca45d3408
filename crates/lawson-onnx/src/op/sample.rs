//! Reading between the elements of a tensor: grid sampling, regions of interest, deformable convolution.
//!
//! A position has one coordinate for each spatial axis. What lies there is a weighted sum over the elements around it: each
//! axis gives *taps*, indices with weights, and a product of taps of all axes is one gather.

use super::one;
use super::window::Windows;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{BinaryKind, CompareKind, Contract, Gather, Monoid, UnaryKind};
use lawson_graph::{Builder, DType, Dim, HostTensor, Keep, Op, Result, Shape, ValueId};

/// The most positions that are written down.
const MAX_PLACES: usize = 1 << 24;

/// What lies outside a tensor.
#[derive(Clone, Copy, PartialEq)]
enum Outside {
    Zeros,
    Border,
    Reflection,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Nearest,
    Linear,
    Cubic,
}

/// An index along one axis with the weight of its element; both have the shape of the places.
struct Tap {
    at: ValueId,
    weight: Option<ValueId>,
}

/// The size of an axis, which may be open, times a factor and plus a number.
#[derive(Clone)]
struct Extent {
    size: Dim,
    factor: f64,
    plus: f64,
}

impl Extent {
    /// The size itself.
    fn of(size: &Dim) -> Extent {
        Extent { size: size.clone(), factor: 1.0, plus: 0.0 }
    }

    fn times(&self, by: f64) -> Extent {
        Extent { factor: self.factor * by, plus: self.plus * by, ..self.clone() }
    }

    fn plus(&self, more: f64) -> Extent {
        Extent { plus: self.plus + more, ..self.clone() }
    }

    fn known(&self) -> Option<f64> {
        self.size.as_const().map(|n| n as f64 * self.factor + self.plus)
    }

    /// The number everywhere in a tensor like another one.
    fn like(&self, b: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
        if let Some(known) = self.known() {
            return b.full_like(x, known);
        }
        let t = b.tensor_type(x)?.clone();
        let size = b.dim_scalar(&self.size, t.dtype)?;
        let scaled = if self.factor == 1.0 { size } else { b.mul_scalar(size, self.factor)? };
        let moved = if self.plus == 0.0 { scaled } else { b.add_scalar(scaled, self.plus)? };
        b.broadcast_to(moved, t.shape)
    }
}

/// `lo + |…|`: a coordinate reflected at both borders as often as it takes.
fn reflected(b: &mut Builder<'static>, x: ValueId, low: f64, span: &Extent) -> Result<ValueId> {
    if span.known().is_some_and(|span| span <= 0.0) {
        return b.full_like(x, low);
    }
    // The distance from the lower border, in a period of two spans, folded at the upper border.
    let from_low = b.add_scalar(x, -low)?;
    let (mut period, turn) = (span.times(2.0).like(b, x)?, span.like(b, x)?);
    if span.known().is_none() {
        // Of an axis of one element, between whose borders there may be nothing.
        let least = b.full_like(x, 1.0)?;
        period = b.max(period, least)?;
    }
    let within = b.binary(BinaryKind::Mod, from_low, period)?;
    let back = b.sub(period, within)?;
    let beyond = b.compare(CompareKind::Gt, within, turn)?;
    let mut folded = b.select(beyond, back, within)?;
    if span.known().is_none() {
        let zero = b.full_like(x, 0.0)?;
        let is_wide = b.compare(CompareKind::Gt, turn, zero)?;
        folded = b.select(is_wide, folded, zero)?;
    }
    b.add_scalar(folded, low)
}

/// The taps of one axis of so many elements, for coordinates that may lie anywhere. The upper border is as far from the last element as the
/// lower one is from the first.
fn taps(
    b: &mut Builder<'static>,
    x: ValueId,
    size: &Extent,
    low_border: f64,
    mode: Mode,
    outside: Outside,
) -> Result<Vec<Tap>> {
    let x = if mode == Mode::Nearest { b.round(x)? } else { x };
    let last = size.plus(-1.0);
    let high_border = last.plus(-low_border);
    let span = high_border.plus(-low_border);
    let x = match outside {
        Outside::Zeros => x,
        Outside::Border => {
            let kept = match last.known() {
                Some(last) => b.clip(x, 0.0, last)?,
                None => {
                    let (first, last) = (b.full_like(x, 0.0)?, last.like(b, x)?);
                    let raised = b.max(x, first)?;
                    b.min(raised, last)?
                }
            };
            // Only what lies beyond the borders is moved.
            let (low, high) = (b.full_like(x, low_border)?, high_border.like(b, x)?);
            let (below, above) = (b.compare(CompareKind::Lt, x, low)?, b.compare(CompareKind::Gt, x, high)?);
            let out = b.or(below, above)?;
            b.select(out, kept, x)?
        }
        Outside::Reflection => reflected(b, x, low_border, &span)?,
    };
    let floor = b.floor(x)?;
    let part = b.sub(x, floor)?;
    let weights: Vec<(f64, Option<ValueId>)> = match mode {
        Mode::Nearest => vec![(0.0, None)],
        Mode::Linear => {
            let one = b.full_like(part, 1.0)?;
            vec![(0.0, Some(b.sub(one, part)?)), (1.0, Some(part))]
        }
        Mode::Cubic => {
            let mut all = Vec::with_capacity(4);
            for i in 0..4 {
                all.push((f64::from(i) - 1.0, Some(cubic(b, part, i)?)));
            }
            all
        }
    };
    let mut taps = Vec::with_capacity(weights.len());
    for (step, weight) in weights {
        let at = b.add_scalar(if mode == Mode::Nearest { x } else { floor }, step)?;
        let (at, weight) = match outside {
            Outside::Zeros => {
                let (low, high) = (b.full_like(at, 0.0)?, last.like(b, at)?);
                let (from, to) =
                    (b.compare(CompareKind::Ge, at, low)?, b.compare(CompareKind::Le, at, high)?);
                let inside = b.and(from, to)?;
                let (zero, one) = (b.full_like(at, 0.0)?, b.full_like(at, 1.0)?);
                (at, Some(b.select(inside, weight.unwrap_or(one), zero)?))
            }
            Outside::Border => (at, weight),
            Outside::Reflection => {
                let inner = reflected(b, at, low_border, &span)?;
                (b.unary(UnaryKind::Trunc, inner)?, weight)
            }
        };
        // The gather clamps, and a position that is no number lies at 0.
        taps.push(Tap { at: b.cast(at, DType::I64)?, weight });
    }
    Ok(taps)
}

/// The weight of tap `i` of four (`a = -0.75`), for the part of a step behind the second.
fn cubic(b: &mut Builder<'static>, part: ValueId, i: i32) -> Result<ValueId> {
    const A: f64 = -0.75;
    let one = b.full_like(part, 1.0)?;
    let distance = match i {
        0 => b.add(part, one)?,
        1 => part,
        2 => b.sub(one, part)?,
        _ => {
            let two = b.full_like(part, 2.0)?;
            b.sub(two, part)?
        }
    };
    // Of the four coefficients, highest power first.
    let polynomial = match i {
        1 | 2 => [A + 2.0, -(A + 3.0), 0.0, 1.0],
        _ => [A, -5.0 * A, 8.0 * A, -4.0 * A],
    };
    let mut y = b.full_like(part, polynomial[0])?;
    for c in &polynomial[1..] {
        let product = b.mul(y, distance)?;
        y = b.add_scalar(product, *c)?;
    }
    Ok(y)
}

/// The sum over products of taps, one list an axis: `x` is `[batch, channels, spatial…]`, taps `[batch, places…]`; the result is
/// `[batch, places…, channels]`.
fn gathered(b: &mut Builder<'static>, x: ValueId, lists: &[Vec<Tap>]) -> Result<ValueId> {
    let mut total: Option<ValueId> = None;
    let count: usize = lists.iter().map(Vec::len).product();
    for n in 0..count {
        let (mut rest, mut entries, mut weight): (usize, Vec<ValueId>, Option<ValueId>) =
            (n, Vec::new(), None);
        for list in lists {
            let tap = &list[rest % list.len()];
            rest /= list.len();
            let vectors = b.shape(tap.at)?.iter().cloned().chain([Dim::ONE]).collect::<Shape>();
            entries.push(b.reshape(tap.at, vectors)?);
            weight = match (weight, tap.weight) {
                (Some(w), Some(v)) => Some(b.mul(w, v)?),
                (w, v) => w.or(v),
            };
        }
        let rank = b.tensor_type(entries[0])?.rank();
        let at = b.concat(&entries, rank - 1)?;
        let axes = (2..2 + lists.len()).collect();
        let part = b.op1(Op::Gather(Gather { axes, batch: 1 }), &[x, at])?;
        let part = match weight {
            Some(w) => {
                let dtype = b.dtype(part)?;
                let w = b.cast(w, dtype)?;
                let column = b.shape(w)?.iter().cloned().chain([Dim::ONE]).collect::<Shape>();
                let w = b.reshape(w, column)?;
                b.mul(part, w)?
            }
            None => part,
        };
        total = Some(match total {
            Some(t) => b.add(t, part)?,
            None => part,
        });
    }
    total.ok_or_else(|| lawson_graph::Error::internal("a position without taps"))
}

/// The size of a spatial axis, which must be known.
fn known_size(cx: &NodeCx<'_, '_>, dim: &Dim) -> Result<i64> {
    let known = dim.as_const().filter(|n| *n >= 1);
    known.ok_or_else(|| cx.unsupported(format!("`{}` over an axis of {dim}", cx.op())))
}

pub(super) fn grid_sample(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let mode = match cx.text("mode")?.unwrap_or("linear") {
        "nearest" => Mode::Nearest,
        "linear" | "bilinear" => Mode::Linear,
        "cubic" | "bicubic" => Mode::Cubic,
        other => return Err(cx.no_such("mode", other, &["nearest", "linear", "cubic"])),
    };
    let outside = match cx.text("padding_mode")?.unwrap_or("zeros") {
        "zeros" => Outside::Zeros,
        "border" => Outside::Border,
        "reflection" => Outside::Reflection,
        other => return Err(cx.no_such("padding_mode", other, &["zeros", "border", "reflection"])),
    };
    let align = cx.flag("align_corners", false)?;
    let (x, grid) = (cx.value(0)?, cx.value(1)?);
    let (xs, gs) = (cx.b.shape(x)?, cx.b.shape(grid)?);
    let spatial = xs.rank().saturating_sub(2);
    if spatial == 0 || gs.rank() != xs.rank() || !gs.last().is_some_and(|d| d.is(spatial as i64)) {
        return Err(cx.wrong(format!("`GridSample` of {xs} at {gs}")).help(
            "both have as many dimensions, and the last one of the grid has a number for every spatial axis",
        ));
    }
    let mut lists = Vec::with_capacity(spatial);
    for axis in 0..spatial {
        let size = Extent::of(&xs[2 + axis]);
        if !cx.assume_at_least(&xs[2 + axis], &Dim::ONE) {
            known_size(cx, &xs[2 + axis])?;
        }
        // The last coordinate belongs to the first axis.
        let g = cx.b.slice_axis(grid, gs.rank() - 1, (spatial - 1 - axis) as i64, 1)?;
        let g = cx.b.reshape(g, Shape::from(&gs[..gs.rank() - 1]))?;
        let from_zero = cx.b.add_scalar(g, 1.0)?;
        let factor = if align { size.plus(-1.0) } else { size.clone() }.times(0.5);
        let scaled = match factor.known() {
            Some(factor) => cx.b.mul_scalar(from_zero, factor)?,
            None => {
                let factor = factor.like(cx.b, from_zero)?;
                cx.b.mul(from_zero, factor)?
            }
        };
        let place = if align { scaled } else { cx.b.add_scalar(scaled, -0.5)? };
        let low_border = if align { 0.0 } else { -0.5 };
        lists.push(taps(cx.b, place, &size, low_border, mode, outside)?);
    }
    let y = gathered(cx.b, x, &lists)?;
    one(channels_second(cx.b, y)?)
}

/// `[batch, places…, channels]` as `[batch, channels, places…]`.
fn channels_second(b: &mut Builder<'static>, y: ValueId) -> Result<ValueId> {
    let rank = b.tensor_type(y)?.rank();
    let perm: Vec<usize> = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
    b.transpose(y, &perm)
}

/// Positions of the elements of an image, turned by a matrix for each entry of the batch.
pub(super) fn affine_grid(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let theta = cx.value(0)?;
    let sizes = cx.ints_of(1, "size")?;
    let align = cx.flag("align_corners", false)?;
    let spatial: Vec<usize> = sizes.iter().skip(2).filter_map(|s| usize::try_from(*s).ok()).collect();
    if sizes.len() < 4 || spatial.len() + 2 != sizes.len() {
        return Err(cx.wrong(format!("`AffineGrid` of the size {sizes:?}")));
    }
    let count = spatial.iter().try_fold(1usize, |n, s| n.checked_mul(*s)).filter(|n| *n <= MAX_PLACES);
    let Some(count) = count else {
        return Err(cx.unsupported(format!("`AffineGrid` of the size {sizes:?}")));
    };
    let dtype = cx.b.dtype(theta)?;
    // Rows: a coordinate for each axis, the last axis first, and 1.
    let mut rows = vec![1.0; (spatial.len() + 1) * count];
    for (axis, size) in spatial.iter().enumerate() {
        let step: usize = spatial[axis + 1..].iter().product();
        let row = spatial.len() - 1 - axis;
        for i in 0..count {
            let at = (i / step % size) as f64;
            rows[row * count + i] = match (align, *size) {
                (true, 1) => -1.0,
                (true, n) => 2.0 * at / (n as f64 - 1.0) - 1.0,
                (false, n) => (2.0 * at + 1.0) / n as f64 - 1.0,
            };
        }
    }
    let rows = cx.b.constant(HostTensor::from_floats(dtype, &[spatial.len() + 1, count], &rows)?)?;
    let contract = Contract { batch: Vec::new(), sum: vec![(2, 0)], out: None };
    let moved = cx.b.op1(Op::Contract(contract), &[theta, rows])?;
    let moved = cx.b.transpose(moved, &[0, 2, 1])?;
    let batch = cx.b.shape(theta)?[0].clone();
    let dims = [batch].into_iter().chain(spatial.iter().map(|s| Dim::from(*s)));
    one(cx.b.reshape(moved, dims.chain([Dim::from(spatial.len())]).collect::<Shape>())?)
}

/// Bins of regions, each the mean or the greatest of samples at regular places in it.
pub(super) fn roi_align(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let size = |name| Ok::<_, lawson_graph::Error>(cx.int(name)?.unwrap_or(1).max(1));
    let bins = [size("output_height")?, size("output_width")?];
    let samples = cx.int("sampling_ratio")?.unwrap_or(0);
    let scale = cx.float("spatial_scale", 1.0)?;
    let greatest = cx.text("mode")? == Some("max");
    let half = match cx.text("coordinate_transformation_mode")? {
        None if cx.version < 16 => false,
        None | Some("half_pixel") => true,
        Some("output_half_pixel") => false,
        Some(other) => {
            return Err(cx.no_such(
                "coordinate_transformation_mode",
                other,
                &["half_pixel", "output_half_pixel"],
            ));
        }
    };
    if samples < 1 {
        return Err(
            cx.unsupported("`RoiAlign` that chooses the number of samples by the size of each region")
        );
    }
    let (x, rois, batch) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    let (xs, rs) = (cx.b.shape(x)?, cx.b.shape(rois)?);
    if xs.rank() != 4 || rs.rank() != 2 {
        return Err(cx.wrong(format!("`RoiAlign` of {xs} with regions {rs}")));
    }
    let dtype = cx.b.dtype(rois)?;
    let mut lists = Vec::with_capacity(2);
    // Places are [regions, rows of bins, columns of bins, samples down, samples across].
    let places: Vec<Dim> =
        [rs[0].clone()].into_iter().chain([bins[0], bins[1], samples, samples].map(Dim::from)).collect();
    for axis in 0..2 {
        let count = known_size(cx, &xs[2 + axis])? as f64;
        let column = |cx: &mut NodeCx<'_, '_>, i: i64| {
            let v = cx.b.slice_axis(rois, 1, i, 1)?;
            let v = cx.b.mul_scalar(v, scale)?;
            let v = if half { cx.b.add_scalar(v, -0.5)? } else { v };
            cx.b.reshape(v, [rs[0].clone()])
        };
        let (start, end) = (column(cx, 1 - axis as i64)?, column(cx, 3 - axis as i64)?);
        let mut extent = cx.b.sub(end, start)?;
        if !half {
            let least = cx.b.full_like(extent, 1.0)?;
            extent = cx.b.max(extent, least)?;
        }
        let step = cx.b.mul_scalar(extent, 1.0 / bins[axis] as f64)?;
        // start + step·(bin + (sample + 0.5) / samples)
        let bin = cx.b.iota(dtype, Shape::from(places.as_slice()), 1 + axis)?;
        let sample = cx.b.iota(dtype, Shape::from(places.as_slice()), 3 + axis)?;
        let sample = cx.b.add_scalar(sample, 0.5)?;
        let sample = cx.b.mul_scalar(sample, 1.0 / samples as f64)?;
        let inside = cx.b.add(bin, sample)?;
        let step = cx.b.broadcast_in(step, Shape::from(places.as_slice()), &[0])?;
        let start = cx.b.broadcast_in(start, Shape::from(places.as_slice()), &[0])?;
        let moved = cx.b.mul(step, inside)?;
        let place = cx.b.add(start, moved)?;
        lists.push(bin_taps(cx.b, place, count)?);
    }
    // One image a region; then the regions are the batch.
    let batch = cx.b.cast(batch, DType::I64)?;
    let images = cx.b.take(x, batch, 0)?;
    let y = if greatest { most(cx.b, images, &lists)? } else { gathered(cx.b, images, &lists)? };
    let kind = if greatest { Monoid::Max } else { Monoid::Sum };
    let mut y = cx.b.reduce(kind, y, &[3, 4], Keep::No)?;
    if !greatest {
        y = cx.b.mul_scalar(y, 1.0 / (samples as f64 * samples as f64))?;
    }
    one(channels_second(cx.b, y)?)
}

/// Linear taps of a region: up to one element beyond the ends the end counts, and nothing farther out.
fn bin_taps(b: &mut Builder<'static>, x: ValueId, size: f64) -> Result<Vec<Tap>> {
    let (low, high) = (b.full_like(x, -1.0)?, b.full_like(x, size)?);
    let (from, to) = (b.compare(CompareKind::Ge, x, low)?, b.compare(CompareKind::Le, x, high)?);
    let inside = b.and(from, to)?;
    let near = b.clip(x, 0.0, size - 1.0)?;
    let floor = b.floor(near)?;
    let part = b.sub(near, floor)?;
    let (zero, one) = (b.full_like(x, 0.0)?, b.full_like(x, 1.0)?);
    let rest = b.sub(one, part)?;
    let mut taps = Vec::with_capacity(2);
    for (step, weight) in [(0.0, rest), (1.0, part)] {
        let at = b.add_scalar(floor, step)?;
        let weight = b.select(inside, weight, zero)?;
        taps.push(Tap { at: b.cast(at, DType::I64)?, weight: Some(weight) });
    }
    Ok(taps)
}

/// The greatest of the weighted elements of each place, instead of their sum.
fn most(b: &mut Builder<'static>, x: ValueId, lists: &[Vec<Tap>]) -> Result<ValueId> {
    let mut best: Option<ValueId> = None;
    for down in &lists[0] {
        for across in &lists[1] {
            let single = [down, across].map(|t| vec![Tap { at: t.at, weight: t.weight }]);
            let part = gathered(b, x, &single)?;
            best = Some(match best {
                Some(best) => b.max(best, part)?,
                None => part,
            });
        }
    }
    best.ok_or_else(|| lawson_graph::Error::internal("a position without taps"))
}

/// A convolution whose every product reads at a place moved by an operand.
pub(super) fn deform_conv(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, w, offset) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    let (xs, ws, os) = (cx.b.shape(x)?, cx.b.shape(w)?, cx.b.shape(offset)?);
    if xs.rank() != 4 || ws.rank() != 4 || os.rank() != 4 {
        return Err(cx.unsupported(format!("`DeformConv` of {xs} with weights {ws}: two spatial axes are")));
    }
    cx.ignore("kernel_shape");
    let windows = Windows::read(cx, &xs[2..], &ws[2..])?;
    let (groups, parts) = (cx.int("group")?.unwrap_or(1), cx.int("offset_group")?.unwrap_or(1));
    let size = |d: &Dim| known_size(cx, d);
    let (channels, kernel) = (size(&xs[1])?, [size(&ws[2])?, size(&ws[3])?]);
    let image = [size(&xs[2])?, size(&xs[3])?].map(Dim::from);
    if groups < 1 || parts < 1 || channels % parts != 0 || channels % groups != 0 {
        return Err(cx.wrong(format!("`DeformConv` of {channels} channels in {groups} and {parts} groups")));
    }
    let (n, out) = (xs[0].clone(), [os[2].clone(), os[3].clone()]);
    let dtype = cx.b.dtype(x)?;
    // Offsets are [n, parts, kernel, kernel, 2, out, out]; parts join the batch, for each has channels of its own.
    let dims: Vec<Dim> = [n.clone() * parts]
        .into_iter()
        .chain([kernel[0], kernel[1], 2].map(Dim::from))
        .chain(out.clone())
        .collect();
    let offset = cx.b.reshape(offset, Shape::from(dims))?;
    let mut lists = Vec::with_capacity(2);
    let places: Vec<Dim> = [n.clone() * parts]
        .into_iter()
        .chain([kernel[0], kernel[1]].map(Dim::from))
        .chain(out.clone())
        .collect();
    let places = Shape::from(places);
    for (axis, size) in image.into_iter().enumerate() {
        let moved = cx.b.slice_axis(offset, 3, axis as i64, 1)?;
        let moved = cx.b.reshape(moved, places.clone())?;
        let (tap, step) =
            (cx.b.iota(dtype, places.clone(), 1 + axis)?, cx.b.iota(dtype, places.clone(), 3 + axis)?);
        let tap = cx.b.mul_scalar(tap, windows.dilation[axis] as f64)?;
        let step = cx.b.mul_scalar(step, windows.stride[axis] as f64)?;
        let low = cx.b.dim_scalar(&windows.low[axis], dtype)?;
        let place = cx.b.add(tap, step)?;
        let place = cx.b.sub(place, low)?;
        let place = cx.b.add(place, moved)?;
        lists.push(taps(cx.b, place, &Extent::of(&size), 0.0, Mode::Linear, Outside::Zeros)?);
    }
    let each = Dim::from(channels / parts);
    let split = cx.b.reshape(x, [n.clone() * parts, each.clone(), xs[2].clone(), xs[3].clone()])?;
    let mut seen = gathered(cx.b, split, &lists)?;
    if let Some(mask) = cx.optional(4)? {
        let dims = places.iter().cloned().chain([Dim::ONE]).collect::<Shape>();
        let mask = cx.b.reshape(mask, dims)?;
        seen = cx.b.mul(seen, mask)?;
    }
    // [n·parts, kernel, kernel, out, out, each] → [n, channels, kernel·kernel, out·out], grouped.
    let seen = cx.b.transpose(seen, &[0, 5, 1, 2, 3, 4])?;
    let (area, field) = (Dim::from(kernel[0]) * kernel[1], out[0].clone() * out[1].clone());
    let depth = Dim::from(channels / groups);
    let seen =
        cx.b.reshape(seen, [n.clone(), Dim::from(groups), depth.clone() * area.clone(), field.clone()])?;
    let outs = cx.b.facts().simplify(&ws[0].floor_div(&Dim::from(groups)));
    let w = cx.b.reshape(w, [Dim::from(groups), outs, depth * area])?;
    let contract = Contract { batch: vec![(1, 0)], sum: vec![(2, 2)], out: None };
    // [groups, n, out·out, outs]
    let y = cx.b.op1(Op::Contract(contract), &[seen, w])?;
    let y = cx.b.transpose(y, &[1, 0, 3, 2])?;
    let mut y = cx.b.reshape(y, [n, ws[0].clone(), out[0].clone(), out[1].clone()])?;
    if let Some(bias) = cx.optional(3)? {
        let shape = cx.b.shape(y)?;
        let bias = cx.b.broadcast_in(bias, shape, &[1])?;
        y = cx.b.add(y, bias)?;
    }
    one(y)
}
