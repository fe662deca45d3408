//! Resizing, one axis after another: by the nearest element, linearly or cubically.
//!
//! An axis that grows by a whole factor and whose new elements all come from the old one below them is repeated by a
//! broadcast, for any size. Otherwise each new element is a weighted sum of old ones (its *taps*). Where sizes are known, they are found here and
//! become indices and weights, or a matrix where they are many; where a size is open, the graph computes them (`open.rs`).

mod open;

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::Contract;
use lawson_graph::{Dim, Error, HostTensor, Op, Result, Shape, ValueId};

/// The most positions of one axis that are written down.
const MAX_POSITIONS: i64 = 1 << 18;

/// With more taps than this, they are a matrix.
const MAX_TAPS: usize = 4;

/// The most elements of such a matrix.
const MAX_MATRIX: i64 = 1 << 21;

/// Between which elements a position lies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Nearest(Nearest),
    Linear,
    /// With this parameter.
    Cubic(f64),
}

/// Which of its neighbours a position takes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Nearest {
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
}

/// Where a new element lies in the old axis.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Transform {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    /// In a part of it, from and to these fractions.
    Crop(f64, f64),
}

/// How one axis changes.
#[derive(Clone, Debug)]
enum Change {
    Scale(f64),
    Size(Dim),
    /// To a size, by a scale that it does not follow from.
    Both(f64, i64),
}

/// What holds for all axes.
#[derive(Clone, Copy, Debug)]
struct Resize {
    mode: Mode,
    /// Whether elements that an axis loses weigh in those that stay.
    antialias: bool,
    /// Whether elements beyond the ends have no weight; else the ends stand for them.
    exclude_outside: bool,
    /// What lies beyond the ends of a crop.
    extrapolation: f64,
}

impl Transform {
    /// The position in an axis of `from` elements of element `i` of `to`.
    fn position(self, i: i64, scale: f64, from: i64, to: i64) -> f64 {
        let i = i as f64;
        // The new size before it is rounded down.
        let resized = scale * from as f64;
        match self {
            Transform::HalfPixel => (i + 0.5) / scale - 0.5,
            Transform::HalfPixelSymmetric => {
                // What rounding the size down cut off is taken from both ends.
                let adjustment = to as f64 / resized;
                let offset = from as f64 / 2.0 * (1.0 - adjustment);
                offset + (i + 0.5) / scale - 0.5
            }
            Transform::PytorchHalfPixel if resized <= 1.0 => -0.5,
            Transform::PytorchHalfPixel => (i + 0.5) / scale - 0.5,
            Transform::AlignCorners if resized <= 1.0 => 0.0,
            Transform::AlignCorners => i * (from - 1) as f64 / (resized - 1.0),
            Transform::Asymmetric => i / scale,
            Transform::Crop(start, end) => {
                let last = (from - 1) as f64;
                let within = if resized <= 1.0 { 0.5 } else { i / (resized - 1.0) };
                (start + within * (end - start)) * last
            }
        }
    }
}

impl Nearest {
    fn pick(self, position: f64) -> f64 {
        match self {
            Nearest::RoundPreferFloor => (position - 0.5).ceil(),
            Nearest::RoundPreferCeil => (position + 0.5).floor(),
            Nearest::Floor => position.floor(),
            Nearest::Ceil => position.ceil(),
        }
    }

    /// Whether growing by a whole factor repeats each element.
    fn repeats(self, transform: Transform, factor: i64) -> bool {
        match (transform, self) {
            (Transform::Asymmetric, Nearest::Floor) => true,
            (Transform::Asymmetric, Nearest::RoundPreferFloor) => factor == 2,
            (Transform::HalfPixel, Nearest::RoundPreferFloor | Nearest::RoundPreferCeil) => true,
            _ => false,
        }
    }
}

impl Resize {
    /// The old elements that a position is made of, with their weights. Indices may lie outside.
    fn taps(&self, position: f64, scale: f64) -> Vec<(i64, f64)> {
        let floor = position.floor();
        let part = position - floor;
        // How far a filter reaches: farther where elements get lost, so that each of them counts.
        let squeeze = if self.antialias { scale.min(1.0) } else { 1.0 };
        let (reach, filter): (f64, &dyn Fn(f64) -> f64) = match self.mode {
            Mode::Nearest(nearest) => return vec![(nearest.pick(position) as i64, 1.0)],
            Mode::Linear => (1.0, &|x: f64| (1.0 - x.abs()).max(0.0)),
            Mode::Cubic(a) => (2.0, &move |x: f64| cubic(a, x.abs())),
        };
        let count = (reach / squeeze).ceil() as i64;
        let weight = |step: i64| filter((step as f64 - part) * squeeze);
        let steps = (1 - count..=count).map(|step| (floor as i64 + step, weight(step)));
        let mut taps: Vec<(i64, f64)> = steps.filter(|(_, w)| *w != 0.0).collect();
        if self.antialias {
            let sum: f64 = taps.iter().map(|t| t.1).sum();
            taps.iter_mut().for_each(|t| t.1 /= sum);
        }
        taps
    }

    /// The taps with indices inside an axis of so many elements.
    fn inside(&self, mut taps: Vec<(i64, f64)>, size: i64) -> Vec<(i64, f64)> {
        if self.exclude_outside && !matches!(self.mode, Mode::Nearest(_)) {
            taps.retain(|(i, _)| (0..size).contains(i));
            let sum: f64 = taps.iter().map(|t| t.1).sum();
            taps.iter_mut().for_each(|t| t.1 /= sum);
        }
        taps.iter_mut().for_each(|t| t.0 = t.0.clamp(0, size - 1));
        taps
    }
}

/// The weight of an element that lies so far away.
fn cubic(a: f64, x: f64) -> f64 {
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

fn mode(cx: &NodeCx<'_, '_>, nearest: Nearest) -> Result<Mode> {
    match cx.text("mode")?.unwrap_or("nearest") {
        "nearest" => Ok(Mode::Nearest(nearest)),
        "linear" | "bilinear" => Ok(Mode::Linear),
        "cubic" => Ok(Mode::Cubic(cx.float("cubic_coeff_a", -0.75)?)),
        other => Err(cx.no_such("mode", other, &["nearest", "linear", "cubic"])),
    }
}

/// The scales of all axes, from an operand.
fn scales_of(cx: &NodeCx<'_, '_>, operand: usize) -> Result<Vec<Change>> {
    let t = cx.constant_of(operand, "scales")?;
    Ok((0..t.len()).map(|i| Change::Scale(t.float_at(i))).collect())
}

/// Without the choices of later versions.
fn plain(mode: Mode) -> Resize {
    Resize { mode, antialias: false, exclude_outside: false, extrapolation: 0.0 }
}

/// Scales as an attribute, until version 8.
pub(super) fn upsample_attributes(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let scales = cx.floats("scales")?.unwrap_or_default();
    let changes = scales.iter().map(|s| (Change::Scale(f64::from(*s)), Transform::Asymmetric)).collect();
    let mode = mode(cx, Nearest::Floor)?;
    build(cx, changes, plain(mode))
}

/// `Upsample` of version 9 and `Resize` of version 10.
pub(super) fn by_scales(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let changes = scales_of(cx, 1)?.into_iter().map(|c| (c, Transform::Asymmetric)).collect();
    let mode = mode(cx, Nearest::Floor)?;
    build(cx, changes, plain(mode))
}

pub(super) fn resize(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    // They matter for cubic modes and for crops only. Until version 12 the region was no optional operand, so that
    // exporters write an empty one, or any.
    cx.ignore("cubic_coeff_a");
    cx.ignore_operand(1);
    let nearest = match cx.text("nearest_mode")?.unwrap_or("round_prefer_floor") {
        "round_prefer_floor" => Nearest::RoundPreferFloor,
        "round_prefer_ceil" => Nearest::RoundPreferCeil,
        "floor" => Nearest::Floor,
        "ceil" => Nearest::Ceil,
        other => {
            return Err(cx.no_such(
                "nearest_mode",
                other,
                &["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"],
            ));
        }
    };
    let resize = Resize {
        mode: mode(cx, nearest)?,
        antialias: cx.flag("antialias", false)?,
        exclude_outside: cx.flag("exclude_outside", false)?,
        extrapolation: cx.float("extrapolation_value", 0.0)?,
    };
    let shape = cx.shape(0)?;
    let axes = match cx.ints("axes")? {
        None => (0..shape.rank()).collect(),
        Some(axes) => cx.axes(axes, shape.rank())?,
    };
    // An empty list of scales stands for an absent one.
    let has_scales = cx.has(2) && !cx.shape(2)?.iter().any(|d| d.is(0));
    // With scales it means nothing, but exporters write it.
    let policy = cx.text("keep_aspect_ratio_policy")?.unwrap_or("stretch");
    let given = if has_scales { scales_of(cx, 2)? } else { sizes_of(cx, &axes, &shape, policy)? };
    if axes.len() != given.len() {
        return Err(cx.wrong(format!("{} scales or sizes for {} axes", given.len(), axes.len())));
    }
    let transforms = transforms(cx, axes.len())?;
    let mut all = vec![(Change::Scale(1.0), Transform::HalfPixel); shape.rank()];
    for ((axis, change), transform) in axes.into_iter().zip(given).zip(transforms) {
        all[axis] = (change, transform);
    }
    build(cx, all, resize)
}

/// The sizes of the axes from operand 3, or one scale for all with which none is larger, or smaller.
fn sizes_of(cx: &mut NodeCx<'_, '_>, axes: &[usize], shape: &Shape, policy: &str) -> Result<Vec<Change>> {
    let sizes = cx.sizes_of(3, "sizes")?;
    if policy == "stretch" {
        return Ok(sizes.into_iter().map(Change::Size).collect());
    }
    let scales: Option<Vec<(f64, i64)>> = axes
        .iter()
        .zip(&sizes)
        .map(|(axis, to)| {
            let from = shape[*axis].as_const().filter(|n| *n > 0)?;
            Some((to.as_const()? as f64 / from as f64, from))
        })
        .collect();
    let Some(scales) = scales else {
        return Err(cx.unsupported("`Resize` that keeps the aspect ratio of an unknown size"));
    };
    let all = scales.iter().map(|(s, _)| *s);
    let scale = match policy {
        "not_larger" => all.fold(f64::INFINITY, f64::min),
        "not_smaller" => all.fold(0.0, f64::max),
        other => {
            return Err(cx.no_such(
                "keep_aspect_ratio_policy",
                other,
                &["stretch", "not_larger", "not_smaller"],
            ));
        }
    };
    Ok(scales.iter().map(|(_, from)| Change::Both(scale, (scale * *from as f64).round() as i64)).collect())
}

/// Where the new elements of each axis lie.
fn transforms(cx: &NodeCx<'_, '_>, count: usize) -> Result<Vec<Transform>> {
    let one = match cx.text("coordinate_transformation_mode")?.unwrap_or("half_pixel") {
        "half_pixel" => Transform::HalfPixel,
        "half_pixel_symmetric" => Transform::HalfPixelSymmetric,
        "pytorch_half_pixel" => Transform::PytorchHalfPixel,
        "align_corners" => Transform::AlignCorners,
        "asymmetric" => Transform::Asymmetric,
        "tf_half_pixel_for_nn" => Transform::HalfPixel,
        "tf_crop_and_resize" => {
            let part = cx.constant_of(1, "region")?;
            if part.len() != 2 * count {
                return Err(cx.wrong(format!("a region of {} numbers for {count} axes", part.len())));
            }
            let crop = |i| Transform::Crop(part.float_at(i), part.float_at(count + i));
            return Ok((0..count).map(crop).collect());
        }
        other => {
            return Err(cx.no_such(
                "coordinate_transformation_mode",
                other,
                &[
                    "half_pixel",
                    "half_pixel_symmetric",
                    "pytorch_half_pixel",
                    "align_corners",
                    "asymmetric",
                    "tf_half_pixel_for_nn",
                    "tf_crop_and_resize",
                ],
            ));
        }
    };
    Ok(vec![one; count])
}

fn build(cx: &mut NodeCx<'_, '_>, changes: Vec<(Change, Transform)>, resize: Resize) -> Result<Vec<Item>> {
    let mut x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    if changes.len() != shape.rank() {
        return Err(cx.wrong(format!("{} scales or sizes for {} dimensions", changes.len(), shape.rank())));
    }
    let dtype = cx.b.dtype(x)?;
    let is_nearest = matches!(resize.mode, Mode::Nearest(_));
    if !is_nearest && !dtype.is_float() {
        x = cx.b.cast(x, lawson_graph::DType::F32)?;
    }
    for (axis, ((change, transform), dim)) in changes.into_iter().zip(shape.iter()).enumerate() {
        x = along(cx, x, axis, dim, change, transform, &resize)?;
    }
    one(if cx.b.dtype(x)? == dtype { x } else { cx.b.cast(x, dtype)? })
}

/// Resizes one axis.
fn along(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    axis: usize,
    dim: &Dim,
    change: Change,
    transform: Transform,
    resize: &Resize,
) -> Result<ValueId> {
    let unknown = |cx: &NodeCx<'_, '_>| -> Error {
        cx.unsupported(format!("`Resize` along an axis of {dim}, other than by a whole factor"))
    };
    let is_crop = matches!(transform, Transform::Crop(..));
    let (scale, to) = match (&change, dim.as_const()) {
        (Change::Scale(s) | Change::Both(s, _), _) if !(s.is_finite() && *s > 0.0) => {
            return Err(cx.wrong(format!("a scale is {s}")));
        }
        (Change::Scale(s), _) if *s == 1.0 && !is_crop => return Ok(x),
        (Change::Size(size), _) if cx.b.facts().equal(size, dim) && !is_crop => return Ok(x),
        (Change::Both(s, to), _) => (*s, *to),
        (Change::Scale(s), Some(n)) => (*s, ((n as f64) * s).floor() as i64),
        (Change::Scale(s), None) => (*s, 0),
        (Change::Size(size), from) => match (from, size.as_const()) {
            (_, Some(to)) if to < 0 => return Err(cx.wrong(format!("a size is {to}"))),
            (Some(from), Some(to)) => (to as f64 / from as f64, to),
            _ => {
                // The same multiple of the dimension for every size.
                let factor = (2..=64).find(|k| cx.b.facts().equal(size, &(dim.clone() * *k)));
                match (factor, resize.mode) {
                    (Some(k), Mode::Nearest(nearest)) if nearest.repeats(transform, k) => (k as f64, 0),
                    _ => {
                        let axis = open::Axis { axis, from: dim, to: size };
                        let resized = open::along(cx, x, &axis, transform, resize)?;
                        return resized.ok_or_else(|| unknown(cx));
                    }
                }
            }
        },
    };
    if let Mode::Nearest(nearest) = resize.mode
        && scale.fract() == 0.0
        && scale <= 1024.0
        && nearest.repeats(transform, scale as i64)
    {
        return repeated(cx, x, axis, scale as i64);
    }
    let Some(from) = dim.as_const().filter(|n| *n > 0 && (0..=MAX_POSITIONS).contains(&to)) else {
        return Err(unknown(cx));
    };
    let positions: Vec<f64> = (0..to).map(|i| transform.position(i, scale, from, to)).collect();
    let taps: Vec<Vec<(i64, f64)>> =
        positions.iter().map(|p| resize.inside(resize.taps(*p, scale), from)).collect();
    let y = weighted(cx, x, axis, from, &taps)?;
    if !is_crop {
        return Ok(y);
    }
    let outside: Vec<bool> = positions.iter().map(|p| *p < 0.0 || *p > (from - 1) as f64).collect();
    let outside = cx.b.vector(&outside)?;
    let shape = cx.b.shape(y)?;
    let outside = cx.b.broadcast_in(outside, shape, &[axis])?;
    let other = cx.b.full_like(y, resize.extrapolation)?;
    cx.b.select(outside, other, y)
}

fn repeated(cx: &mut NodeCx<'_, '_>, x: ValueId, axis: usize, factor: i64) -> Result<ValueId> {
    let mut dims = cx.b.shape(x)?.into_dims();
    let mut paired = dims.clone();
    paired.insert(axis + 1, Dim::from(factor));
    let axes: Vec<usize> = (0..paired.len()).filter(|a| *a != axis + 1).collect();
    let wide = cx.b.broadcast_in(x, Shape::from(paired), &axes)?;
    dims[axis] = dims[axis].clone() * factor;
    cx.b.reshape(wide, Shape::from(dims))
}

/// The sum over the taps of each new element.
fn weighted(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    axis: usize,
    from: i64,
    taps: &[Vec<(i64, f64)>],
) -> Result<ValueId> {
    let most = taps.iter().map(Vec::len).max().unwrap_or(0);
    if taps.iter().all(|t| t.len() == 1) {
        let indices: Vec<i64> = taps.iter().map(|t| t[0].0).collect();
        let indices = cx.b.vector(&indices)?;
        return cx.b.take(x, indices, axis);
    }
    let dtype = cx.b.dtype(x)?;
    if most > MAX_TAPS && from.saturating_mul(taps.len() as i64) <= MAX_MATRIX {
        return by_matrix(cx, x, axis, from, taps);
    }
    let mut total: Option<ValueId> = None;
    for k in 0..most {
        let (indices, weights): (Vec<i64>, Vec<f64>) =
            taps.iter().map(|t| t.get(k).copied().unwrap_or((0, 0.0))).unzip();
        let indices = cx.b.vector(&indices)?;
        let part = cx.b.take(x, indices, axis)?;
        let weights = cx.b.constant(HostTensor::from_floats(dtype, &[weights.len()], &weights)?)?;
        let shape = cx.b.shape(part)?;
        let weights = cx.b.broadcast_in(weights, shape, &[axis])?;
        let part = cx.b.mul(part, weights)?;
        total = Some(match total {
            Some(t) => cx.b.add(t, part)?,
            None => part,
        });
    }
    total.ok_or_else(|| cx.wrong("`Resize` to nothing"))
}

/// The product with a matrix of all weights.
fn by_matrix(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    axis: usize,
    from: i64,
    taps: &[Vec<(i64, f64)>],
) -> Result<ValueId> {
    let mut matrix = vec![0.0; taps.len() * from as usize];
    for (row, taps) in taps.iter().enumerate() {
        for (i, w) in taps {
            matrix[row * from as usize + *i as usize] += w;
        }
    }
    let matrix = HostTensor::from_floats(cx.b.dtype(x)?, &[taps.len(), from as usize], &matrix)?;
    let matrix = cx.b.constant(matrix)?;
    let contract = Contract { batch: Vec::new(), sum: vec![(axis, 1)], out: None };
    let y = cx.b.op1(Op::Contract(contract), &[x, matrix])?;
    // The new axis is the last; it belongs where the old one was.
    let rank = cx.b.tensor_type(y)?.rank();
    let mut perm: Vec<usize> = (0..rank - 1).collect();
    perm.insert(axis, rank - 1);
    cx.b.transpose(y, &perm)
}
