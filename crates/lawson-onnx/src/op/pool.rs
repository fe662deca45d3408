//! Pools: Lawson's composites.

use super::one;
use super::window::Windows;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{self, CompareKind, Slice};
use lawson_graph::{
    AvgPool, DType, Dim, GlobalAvgPool, GlobalLpPool, GlobalMaxPool, LpPool, MaxPool, Op, Result, ValueId,
};

/// The operand, the size of the window, how it slides, and whether a last window may reach beyond the end.
fn read(cx: &mut NodeCx<'_, '_>) -> Result<(ValueId, Vec<i64>, Windows, bool)> {
    let x = cx.value(0)?;
    let (window, windows, ceil) = read_for(cx, x)?;
    Ok((x, window, windows, ceil))
}

/// The same for a tensor.
fn read_for(cx: &mut NodeCx<'_, '_>, x: ValueId) -> Result<(Vec<i64>, Windows, bool)> {
    let shape = cx.b.shape(x)?;
    let Some(window) = cx.ints("kernel_shape")?.map(<[i64]>::to_vec) else {
        return Err(cx.wrong(format!("`{}` has no `kernel_shape`", cx.op())));
    };
    if window.len() + 2 != shape.rank() {
        return Err(
            cx.wrong(format!("`kernel_shape` of `{}` is {window:?}, which does not fit {shape}", cx.op()))
        );
    }
    /// The most elements of a window.
    const MAX_AREA: i64 = 1 << 31;
    let area = window.iter().try_fold(1i64, |n, w| n.checked_mul(*w)).filter(|n| (1..=MAX_AREA).contains(n));
    if area.is_none() || window.iter().any(|w| *w < 1) {
        return Err(cx.wrong(format!("`{}` over windows of {window:?}", cx.op())));
    }
    let dims: Vec<Dim> = window.iter().map(|w| Dim::from(*w)).collect();
    let windows = Windows::read(cx, &shape[2..], &dims)?;
    let ceil = cx.flag("ceil_mode", false)?;
    if !ceil {
        windows.fit(cx, &shape[2..], &dims)?;
    }
    Ok((window, windows, ceil))
}

pub(super) fn max_pool(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let column_major = cx.flag("storage_order", false)?;
    let (x, window, windows, ceil) = read(cx)?;
    let Windows { stride, dilation, low, high } = windows.clone();
    let y = cx.b.composite(MaxPool { window: window.clone(), stride, dilation, low, high, ceil }, &[x])?;
    if !cx.wants(1) {
        return one(y);
    }
    let places = places(cx, x, y, &window, &windows, column_major)?;
    Ok(vec![y.into(), places.into()])
}

/// The greatest elements of a tensor in the windows that the node describes.
pub(super) fn greatest(cx: &mut NodeCx<'_, '_>, x: ValueId) -> Result<ValueId> {
    let (window, Windows { stride, dilation, low, high }, ceil) = read_for(cx, x)?;
    cx.b.composite(MaxPool { window, stride, dilation, low, high, ceil }, &[x])
}

/// Where in the whole operand the greatest element of each window is, the first of equals.
fn places(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    y: ValueId,
    window: &[i64],
    windows: &Windows,
    column_major: bool,
) -> Result<ValueId> {
    /// The most elements of a window that are gone through one by one.
    const MAX_WINDOW: i64 = 4096;
    let (xs, ys) = (cx.b.shape(x)?, cx.b.shape(y)?);
    let (spatial, area) = (window.len(), window.iter().product::<i64>());
    if area > MAX_WINDOW {
        return Err(cx.unsupported(format!("places in windows of {area} elements")));
    }
    // The steps in memory of the spatial axes.
    let mut steps = vec![Dim::ONE; spatial];
    let order: Vec<usize> = if column_major { (0..spatial).collect() } else { (0..spatial).rev().collect() };
    for pair in order.windows(2) {
        steps[pair[1]] = steps[pair[0]].clone() * xs[2 + pair[0]].clone();
    }
    let plane: Dim = xs[2..].iter().cloned().product();
    let dtype = cx.b.dtype(x)?;
    let least =
        if dtype.is_float() { f64::NEG_INFINITY } else { dtype.int_range().map_or(0.0, |r| r.0 as f64) };
    let least = cx.b.scalar(dtype, least)?;
    // Padded so that every window lies inside.
    let (mut before, mut after) = (vec![Dim::ZERO; 2], vec![Dim::ZERO; 2]);
    for i in 0..spatial {
        let need = (ys[2 + i].clone() - 1) * windows.stride[i] + (window[i] - 1) * windows.dilation[i] + 1;
        let gap = cx.b.facts().simplify(&(need - xs[2 + i].clone() - windows.low[i].clone()));
        before.push(windows.low[i].clone());
        after.push(if cx.b.facts().is_nonnegative(&gap) { gap } else { gap.max(&Dim::ZERO) });
    }
    let pad = op::Pad { low: before, high: after, interior: vec![0; 2 + spatial] };
    let padded = cx.b.op1(Op::Pad(pad), &[x, least])?;
    let number = |cx: &mut NodeCx<'_, '_>, axis: usize, step: &Dim| {
        let i = cx.b.iota(DType::I64, ys.clone(), axis)?;
        let step = cx.b.dim_scalar(step, DType::I64)?;
        cx.b.mul(i, step)
    };
    // What all elements of a window share.
    let mut base = number(cx, 0, &(xs[1].clone() * plane.clone()))?;
    let channel = number(cx, 1, &plane)?;
    base = cx.b.add(base, channel)?;
    for (i, step) in steps.iter().enumerate() {
        let first = number(cx, 2 + i, &(step.clone() * windows.stride[i]))?;
        base = cx.b.add(base, first)?;
    }
    let mut best: Option<(ValueId, ValueId)> = None;
    for k in 0..area {
        let (mut rest, mut at) = (k, vec![0; spatial]);
        for i in (0..spatial).rev() {
            at[i] = rest % window[i] * windows.dilation[i];
            rest /= window[i];
        }
        let mut slice =
            Slice { start: vec![Dim::ZERO; 2 + spatial], size: ys.to_vec(), step: vec![1; 2 + spatial] };
        let mut offset = Dim::ZERO;
        for i in 0..spatial {
            (slice.start[2 + i], slice.step[2 + i]) = (Dim::from(at[i]), windows.stride[i]);
            offset = offset + steps[i].clone() * (Dim::from(at[i]) - windows.low[i].clone());
        }
        let element = cx.b.op1(Op::Slice(slice), &[padded])?;
        let offset = cx.b.dim_scalar(&offset, DType::I64)?;
        let place = cx.b.add(base, offset)?;
        best = Some(match best {
            None => (element, place),
            Some((most, there)) => {
                let more = cx.b.compare(CompareKind::Gt, element, most)?;
                (cx.b.select(more, element, most)?, cx.b.select(more, place, there)?)
            }
        });
    }
    best.map(|b| b.1).ok_or_else(|| cx.wrong("a window without elements"))
}

pub(super) fn average_pool(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    one(averages(cx, x)?)
}

/// The averages of a tensor over the windows that the node describes.
pub(super) fn averages(cx: &mut NodeCx<'_, '_>, x: ValueId) -> Result<ValueId> {
    let count_padding = cx.flag("count_include_pad", false)?;
    let (window, Windows { stride, dilation, low, high }, ceil) = read_for(cx, x)?;
    cx.b.composite(AvgPool { window, stride, dilation, low, high, ceil, count_padding }, &[x])
}

pub(super) fn lp_pool(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let p = cx.int("p")?.unwrap_or(2) as f64;
    let (x, window, Windows { stride, dilation, low, high }, ceil) = read(cx)?;
    one(cx.b.composite(LpPool { p, window, stride, dilation, low, high, ceil }, &[x])?)
}

pub(super) fn global_max_pool(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    one(cx.b.composite(GlobalMaxPool {}, &[x])?)
}

pub(super) fn global_average_pool(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    one(cx.b.composite(GlobalAvgPool {}, &[x])?)
}

pub(super) fn global_lp_pool(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let p = cx.int("p")?.unwrap_or(2) as f64;
    let x = cx.value(0)?;
    one(cx.b.composite(GlobalLpPool { p }, &[x])?)
}
