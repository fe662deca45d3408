//! Resizing by the nearest element or linearly, one axis after another.
//!
//! An axis that grows by a whole factor and whose new elements all come from the old one below them is repeated by a
//! broadcast, for any size. Otherwise the size must be known: the positions are computed here and become indices and
//! weights.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{Dim, Error, HostTensor, Result, Shape, ValueId};

/// The most positions of one axis that are written down.
const MAX_POSITIONS: i64 = 1 << 24;

/// Between which elements a position lies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Nearest(Nearest),
    Linear,
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
}

/// How one axis changes.
#[derive(Clone, Debug)]
enum Change {
    Scale(f64),
    Size(Dim),
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
            Transform::PytorchHalfPixel if resized <= 1.0 => 0.0,
            Transform::PytorchHalfPixel => (i + 0.5) / scale - 0.5,
            Transform::AlignCorners if resized <= 1.0 => 0.0,
            Transform::AlignCorners => i * (from - 1) as f64 / (resized - 1.0),
            Transform::Asymmetric => i / scale,
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

fn mode(cx: &NodeCx<'_, '_>, nearest: Nearest) -> Result<Mode> {
    match cx.text("mode")?.unwrap_or("nearest") {
        "nearest" => Ok(Mode::Nearest(nearest)),
        "linear" => Ok(Mode::Linear),
        other => Err(cx.unsupported(format!("`{}` of mode `{other}`", cx.op()))),
    }
}

/// The scales of all axes, from an operand.
fn scales_of(cx: &NodeCx<'_, '_>, operand: usize) -> Result<Vec<Change>> {
    let t = cx.constant_of(operand, "scales")?;
    Ok((0..t.len()).map(|i| Change::Scale(t.float_at(i))).collect())
}

/// Scales as an attribute, until version 8.
pub(super) fn upsample_attributes(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let scales = cx.floats("scales")?.unwrap_or_default();
    let changes = scales.iter().map(|s| Change::Scale(f64::from(*s))).collect();
    let mode = mode(cx, Nearest::Floor)?;
    build(cx, changes, mode, Transform::Asymmetric)
}

/// `Upsample` of version 9 and `Resize` of version 10.
pub(super) fn by_scales(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let changes = scales_of(cx, 1)?;
    let mode = mode(cx, Nearest::Floor)?;
    build(cx, changes, mode, Transform::Asymmetric)
}

pub(super) fn resize(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    for name in ["cubic_coeff_a", "extrapolation_value", "exclude_outside"] {
        // They matter for cubic modes and for crops, which are refused.
        cx.ignore(name);
    }
    if cx.flag("antialias", false)? {
        return Err(cx.unsupported("`Resize` with antialiasing"));
    }
    if !matches!(cx.text("keep_aspect_ratio_policy")?, None | Some("stretch")) {
        return Err(cx.unsupported("`Resize` that keeps the aspect ratio"));
    }
    let nearest = match cx.text("nearest_mode")?.unwrap_or("round_prefer_floor") {
        "round_prefer_floor" => Nearest::RoundPreferFloor,
        "round_prefer_ceil" => Nearest::RoundPreferCeil,
        "floor" => Nearest::Floor,
        "ceil" => Nearest::Ceil,
        other => return Err(cx.wrong(format!("`Resize` has no nearest mode `{other}`"))),
    };
    let transform = match cx.text("coordinate_transformation_mode")?.unwrap_or("half_pixel") {
        "half_pixel" => Transform::HalfPixel,
        "half_pixel_symmetric" => Transform::HalfPixelSymmetric,
        "pytorch_half_pixel" => Transform::PytorchHalfPixel,
        "align_corners" => Transform::AlignCorners,
        "asymmetric" => Transform::Asymmetric,
        other => return Err(cx.unsupported(format!("`Resize` with positions by `{other}`"))),
    };
    let mode = mode(cx, nearest)?;
    // An empty list of scales stands for an absent one.
    let has_scales = cx.has(2) && !cx.shape(2)?.iter().any(|d| d.is(0));
    let given = if has_scales {
        scales_of(cx, 2)?
    } else {
        cx.dims_of(3, "sizes")?.dims.into_iter().map(Change::Size).collect()
    };
    let rank = cx.shape(0)?.rank();
    let changes = match cx.ints("axes")? {
        None => given,
        Some(axes) => {
            let mut all = vec![Change::Scale(1.0); rank];
            let axes = cx.axes(axes, rank)?;
            if axes.len() != given.len() {
                return Err(cx.wrong(format!("{} scales for {} axes", given.len(), axes.len())));
            }
            for (axis, change) in axes.into_iter().zip(given) {
                all[axis] = change;
            }
            all
        }
    };
    build(cx, changes, mode, transform)
}

fn build(
    cx: &mut NodeCx<'_, '_>,
    changes: Vec<Change>,
    mode: Mode,
    transform: Transform,
) -> Result<Vec<Item>> {
    let mut x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    if changes.len() != shape.rank() {
        return Err(cx.wrong(format!("{} scales or sizes for {} dimensions", changes.len(), shape.rank())));
    }
    for (axis, (change, dim)) in changes.into_iter().zip(shape.iter()).enumerate() {
        x = along(cx, x, axis, dim, change, mode, transform)?;
    }
    one(x)
}

/// Resizes one axis.
fn along(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    axis: usize,
    dim: &Dim,
    change: Change,
    mode: Mode,
    transform: Transform,
) -> Result<ValueId> {
    let unknown = |cx: &NodeCx<'_, '_>| -> Error {
        cx.unsupported(format!("`Resize` along an axis of {dim}, other than by a whole factor"))
    };
    let (scale, to) = match (&change, dim.as_const()) {
        (Change::Scale(s), _) if !(s.is_finite() && *s > 0.0) => {
            return Err(cx.wrong(format!("a scale is {s}")));
        }
        (Change::Scale(s), _) if *s == 1.0 => return Ok(x),
        (Change::Size(size), _) if cx.b.facts().equal(size, dim) => return Ok(x),
        (Change::Scale(s), Some(n)) => (*s, ((n as f64) * s).floor() as i64),
        (Change::Size(size), Some(n)) => {
            let to = size.as_const().filter(|t| *t >= 0).ok_or_else(|| unknown(cx))?;
            (to as f64 / n as f64, to)
        }
        (Change::Scale(s), None) => (*s, 0),
        (Change::Size(size), None) => {
            // The same multiple of the dimension for every size.
            let factor = (2..=64).find(|k| cx.b.facts().equal(size, &(dim.clone() * *k)));
            (factor.ok_or_else(|| unknown(cx))? as f64, 0)
        }
    };
    if let Mode::Nearest(nearest) = mode
        && scale.fract() == 0.0
        && scale <= 1024.0
        && nearest.repeats(transform, scale as i64)
    {
        return repeated(cx, x, axis, scale as i64);
    }
    let Some(from) = dim.as_const().filter(|n| *n > 0 && to <= MAX_POSITIONS) else {
        return Err(unknown(cx));
    };
    let position = |i| transform.position(i, scale, from, to);
    let index = |p: f64| (p as i64).clamp(0, from - 1);
    match mode {
        Mode::Nearest(nearest) => {
            let indices: Vec<i64> = (0..to).map(|i| index(nearest.pick(position(i)))).collect();
            let indices = cx.b.vector(&indices)?;
            cx.b.take(x, indices, axis)
        }
        Mode::Linear => {
            let positions: Vec<f64> = (0..to).map(|i| position(i).clamp(0.0, (from - 1) as f64)).collect();
            interpolated(cx, x, axis, from, &positions)
        }
    }
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

/// The elements below and above each position, weighted by how near they are.
fn interpolated(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    axis: usize,
    from: i64,
    positions: &[f64],
) -> Result<ValueId> {
    let below: Vec<i64> = positions.iter().map(|p| p.floor() as i64).collect();
    let above: Vec<i64> = below.iter().map(|i| (i + 1).min(from - 1)).collect();
    let weights: Vec<f64> = positions.iter().map(|p| p - p.floor()).collect();
    let (below, above) = (cx.b.vector(&below)?, cx.b.vector(&above)?);
    let (below, above) = (cx.b.take(x, below, axis)?, cx.b.take(x, above, axis)?);
    let weights = HostTensor::from_floats(cx.b.dtype(x)?, &[weights.len()], &weights)?;
    let weights = cx.b.constant(weights)?;
    let shape = cx.b.shape(below)?;
    let weights = cx.b.broadcast_in(weights, shape, &[axis])?;
    let step = cx.b.sub(above, below)?;
    let part = cx.b.mul(step, weights)?;
    cx.b.add(below, part)
}
