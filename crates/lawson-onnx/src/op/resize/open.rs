//! Resizing to a size, or from one, that is not known when the model is imported: positions, indices and weights are computed by the graph.
//!
//! They are those of the file around, in f64. The scale is that of the sizes, so that a size rounded down is no matter here.

use super::{Mode, Nearest, Resize, Transform};
use crate::node::NodeCx;
use lawson_graph::op::CompareKind;
use lawson_graph::{DType, Dim, Result, ValueId};

/// One axis, of which at least one size is open.
pub(super) struct Axis<'d> {
    pub(super) axis: usize,
    pub(super) from: &'d Dim,
    pub(super) to: &'d Dim,
}

/// An old element, by its index before it is kept inside, and how much it weighs in each new one.
struct Tap {
    index: ValueId,
    weight: Option<ValueId>,
}

/// Resizes one axis; `None` if its taps are not few and known in number.
pub(super) fn along(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    axis: &Axis<'_>,
    transform: Transform,
    resize: &Resize,
) -> Result<Option<ValueId>> {
    let is_crop = matches!(transform, Transform::Crop(..));
    if resize.antialias || is_crop || !cx.b.facts().is_positive(axis.from) {
        return Ok(None);
    }
    let position = positions(cx, axis, transform)?;
    let mut taps = taps(cx, position, resize.mode)?;
    let zero = cx.b.scalar(DType::F64, 0.0)?;
    let last = cx.b.dim_scalar(&(axis.from.clone() - 1), DType::F64)?;
    if resize.exclude_outside {
        exclude(cx, &mut taps, zero, last)?;
    }
    let dtype = cx.b.dtype(x)?;
    let mut total: Option<ValueId> = None;
    for Tap { index, weight } in taps {
        let raised = cx.b.max(index, zero)?;
        let inside = cx.b.min(raised, last)?;
        let index = cx.b.cast(inside, DType::I64)?;
        let mut part = cx.b.take(x, index, axis.axis)?;
        if let Some(weight) = weight {
            let weight = cx.b.cast(weight, dtype)?;
            let shape = cx.b.shape(part)?;
            let weight = cx.b.broadcast_in(weight, shape, &[axis.axis])?;
            part = cx.b.mul(part, weight)?;
        }
        total = Some(match total {
            Some(total) => cx.b.add(total, part)?,
            None => part,
        });
    }
    Ok(total)
}

/// Where each new element lies in the old axis.
fn positions(cx: &mut NodeCx<'_, '_>, axis: &Axis<'_>, transform: Transform) -> Result<ValueId> {
    let i = cx.b.iota(DType::F64, [axis.to.clone()], 0)?;
    let (from, to) = (cx.b.dim_scalar(axis.from, DType::F64)?, cx.b.dim_scalar(axis.to, DType::F64)?);
    let scale = cx.b.div(to, from)?;
    let one = cx.b.scalar(DType::F64, 1.0)?;
    let half_pixel = |cx: &mut NodeCx<'_, '_>| {
        let middle = cx.b.add_scalar(i, 0.5)?;
        let old = cx.b.div(middle, scale)?;
        cx.b.add_scalar(old, -0.5)
    };
    match transform {
        Transform::HalfPixel | Transform::HalfPixelSymmetric => half_pixel(cx),
        Transform::PytorchHalfPixel => {
            let (half, several) = (cx.b.full_like(i, -0.5)?, cx.b.compare(CompareKind::Gt, to, one)?);
            let position = half_pixel(cx)?;
            cx.b.select(several, position, half)
        }
        Transform::AlignCorners => {
            let (old, new) = (cx.b.add_scalar(from, -1.0)?, cx.b.add_scalar(to, -1.0)?);
            // One element alone is the first.
            let new = cx.b.max(new, one)?;
            let along = cx.b.mul(i, old)?;
            cx.b.div(along, new)
        }
        Transform::Asymmetric => cx.b.div(i, scale),
        Transform::Crop(..) => Err(cx.unsupported("a crop of a size that is not known")),
    }
}

fn taps(cx: &mut NodeCx<'_, '_>, position: ValueId, mode: Mode) -> Result<Vec<Tap>> {
    let floor = cx.b.floor(position)?;
    let (steps, weight): (std::ops::RangeInclusive<i64>, Weight) = match mode {
        Mode::Nearest(nearest) => {
            let index = pick(cx, nearest, position)?;
            return Ok(vec![Tap { index, weight: None }]);
        }
        Mode::Linear => (0..=1, Weight::Linear),
        Mode::Cubic(a) => (-1..=2, Weight::Cubic(a)),
    };
    let part = cx.b.sub(position, floor)?;
    let mut taps = Vec::new();
    for step in steps {
        let index = cx.b.add_scalar(floor, step as f64)?;
        // How far the element lies from the position, which is less than a step above its floor.
        let away = if step <= 0 {
            cx.b.add_scalar(part, -step as f64)?
        } else {
            let below = cx.b.neg(part)?;
            cx.b.add_scalar(below, step as f64)?
        };
        let weight = match weight {
            Weight::Linear => {
                let less = cx.b.neg(away)?;
                cx.b.add_scalar(less, 1.0)?
            }
            Weight::Cubic(a) if (0..=1).contains(&step) => {
                polynomial(cx, away, &[a + 2.0, -(a + 3.0), 0.0, 1.0])?
            }
            Weight::Cubic(a) => polynomial(cx, away, &[a, -5.0 * a, 8.0 * a, -4.0 * a])?,
        };
        taps.push(Tap { index, weight: Some(weight) });
    }
    Ok(taps)
}

/// How an element weighs by how far away it lies.
#[derive(Clone, Copy)]
enum Weight {
    Linear,
    Cubic(f64),
}

fn pick(cx: &mut NodeCx<'_, '_>, nearest: Nearest, position: ValueId) -> Result<ValueId> {
    match nearest {
        Nearest::RoundPreferFloor => {
            let shifted = cx.b.add_scalar(position, -0.5)?;
            cx.b.ceil(shifted)
        }
        Nearest::RoundPreferCeil => {
            let shifted = cx.b.add_scalar(position, 0.5)?;
            cx.b.floor(shifted)
        }
        Nearest::Floor => cx.b.floor(position),
        Nearest::Ceil => cx.b.ceil(position),
    }
}

/// A polynomial, the highest power first.
fn polynomial(cx: &mut NodeCx<'_, '_>, x: ValueId, coefficients: &[f64]) -> Result<ValueId> {
    let mut y = cx.b.full_like(x, coefficients[0])?;
    for c in &coefficients[1..] {
        let product = cx.b.mul(y, x)?;
        y = cx.b.add_scalar(product, *c)?;
    }
    Ok(y)
}

/// Gives elements beyond the ends no weight, and the others together 1.
fn exclude(cx: &mut NodeCx<'_, '_>, taps: &mut [Tap], zero: ValueId, last: ValueId) -> Result<()> {
    let mut sum: Option<ValueId> = None;
    for Tap { index, weight } in taps.iter_mut() {
        let Some(given) = *weight else { return Ok(()) };
        let (low, high) =
            (cx.b.compare(CompareKind::Ge, *index, zero)?, cx.b.compare(CompareKind::Le, *index, last)?);
        let inside = cx.b.and(low, high)?;
        let kept = cx.b.select(inside, given, zero)?;
        *weight = Some(kept);
        sum = Some(match sum {
            Some(sum) => cx.b.add(sum, kept)?,
            None => kept,
        });
    }
    let Some(sum) = sum else { return Ok(()) };
    for weight in taps.iter_mut().filter_map(|t| t.weight.as_mut()) {
        *weight = cx.b.div(*weight, sum)?;
    }
    Ok(())
}
