//! Convolutions.

use super::one;
use super::window::Windows;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{Convolve, Slice};
use lawson_graph::{Dim, Error, HostTensor, Op, Result, Shape, ValueId};

/// The operand and the weights, with the shapes of their spatial axes.
fn operands(cx: &mut NodeCx<'_, '_>) -> Result<(ValueId, ValueId, Shape, Shape)> {
    let (x, w) = (cx.value(0)?, cx.value(1)?);
    let (xs, ws) = (cx.b.shape(x)?, cx.b.shape(w)?);
    if xs.rank() < 3 || ws.rank() != xs.rank() {
        return Err(odd_ranks(cx, &xs, &ws));
    }
    if let Some(kernel) = cx.ints("kernel_shape")?
        && !(kernel.len() + 2 == ws.rank() && kernel.iter().zip(&ws[2..]).all(|(k, d)| d.is(*k)))
    {
        return Err(cx.wrong(format!("`kernel_shape` is {kernel:?}, but the weights are {ws}")));
    }
    Ok((x, w, xs, ws))
}

fn odd_ranks(cx: &NodeCx<'_, '_>, xs: &Shape, ws: &Shape) -> Error {
    cx.wrong(format!("`{}` of {xs} with weights {ws}", cx.op())).help(
        "both have a batch or results, channels, and at least one spatial axis; as many dimensions each",
    )
}

/// A bias along the channels.
fn with_bias(cx: &mut NodeCx<'_, '_>, y: ValueId) -> Result<Vec<Item>> {
    let Some(bias) = cx.optional(2)? else { return one(y) };
    let shape = cx.b.shape(y)?;
    let bias = cx.b.broadcast_in(bias, shape, &[1])?;
    one(cx.b.add(y, bias)?)
}

pub(super) fn conv(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, w, _, _) = operands(cx)?;
    let y = convolved(cx, x, w)?;
    with_bias(cx, y)
}

/// The convolution of two values as the node's attributes describe it.
pub(super) fn convolved(cx: &mut NodeCx<'_, '_>, x: ValueId, w: ValueId) -> Result<ValueId> {
    cx.ignore("kernel_shape");
    let (xs, ws) = (cx.b.shape(x)?, cx.b.shape(w)?);
    if xs.rank() < 3 || ws.rank() != xs.rank() {
        return Err(odd_ranks(cx, &xs, &ws));
    }
    let windows = Windows::read(cx, &xs[2..], &ws[2..])?;
    windows.fit(cx, &xs[2..], &ws[2..])?;
    let groups = cx.int("group")?.unwrap_or(1);
    let convolve = Convolve {
        stride: windows.stride,
        low: windows.low,
        high: windows.high,
        kernel_dilation: windows.dilation,
        groups,
        ..Convolve::plain(xs.rank() - 2)
    };
    cx.b.op1(Op::Convolve(convolve), &[x, w])
}

/// A convolution over the operand spread out by the strides, with the kernel reversed and its channels exchanged.
pub(super) fn conv_transpose(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, w, xs, ws) = operands(cx)?;
    let spatial = xs.rank() - 2;
    let mut windows = Windows::read(cx, &xs[2..], &ws[2..])?;
    let groups = cx.int("group")?.unwrap_or(1);
    let extra = cx.ints("output_padding")?.map_or_else(|| vec![0; spatial], <[i64]>::to_vec);
    if extra.len() != spatial || groups < 1 {
        return Err(cx.wrong(format!("`ConvTranspose` with output padding {extra:?} and {groups} groups")));
    }
    let mut extra: Vec<Dim> = extra.into_iter().map(Dim::from).collect();
    padding_for_size(cx, &xs, &ws, &mut windows, &mut extra)?;
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for i in 0..spatial {
        let reach = (ws[2 + i].clone() - 1) * windows.dilation[i];
        low.push(reach.clone() - windows.low[i].clone());
        high.push(reach - windows.high[i].clone() + extra[i].clone());
    }
    if low.iter().chain(&high).any(|d| !cx.b.facts().is_nonnegative(d)) {
        return Err(cx.unsupported("`ConvTranspose` with more padding than its kernel is wide"));
    }
    if let Some(y) = of_nothing(cx, x, w, &windows, &extra, groups)? {
        return with_bias(cx, y);
    }
    let w = exchanged(cx, w, &ws, groups)?;
    let convolve = Convolve {
        low,
        high,
        input_dilation: windows.stride,
        kernel_dilation: windows.dilation,
        groups,
        ..Convolve::plain(spatial)
    };
    let y = cx.b.op1(Op::Convolve(convolve), &[x, w])?;
    with_bias(cx, y)
}

/// The zeros that a transposed convolution of an empty axis is: its size follows from a last window that starts before the first. An axis of open
/// size has elements, or a run is refused.
fn of_nothing(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    w: ValueId,
    windows: &Windows,
    extra: &[Dim],
    groups: i64,
) -> Result<Option<ValueId>> {
    let (xs, ws) = (cx.b.shape(x)?, cx.b.shape(w)?);
    for size in xs[2..].iter().filter(|d| d.as_const().is_none()) {
        cx.assume_at_least(size, &Dim::ONE);
    }
    if !xs[2..].iter().any(|d| d.is(0)) {
        return Ok(None);
    }
    let mut dims = vec![xs[0].clone(), ws[1].clone() * groups];
    for (i, extra) in extra.iter().enumerate() {
        let reach = (ws[2 + i].clone() - 1) * windows.dilation[i] + 1;
        let whole = (xs[2 + i].clone() - 1) * windows.stride[i] + reach + extra.clone();
        let size = cx.b.facts().simplify(&(whole - windows.low[i].clone() - windows.high[i].clone()));
        if !cx.b.facts().is_nonnegative(&size) {
            return Err(cx
                .wrong(format!("`ConvTranspose` of {xs} has a size of {size} along spatial axis {i}"))
                .help("give the model inputs that are not empty"));
        }
        dims.push(size);
    }
    let zero = cx.b.constant(HostTensor::zeros(cx.b.dtype(x)?, &[])?)?;
    cx.b.broadcast_to(zero, Shape::from(dims)).map(Some)
}

/// Where the size of the result is given, or is to be that of the operand times the stride, the padding follows from it. What
/// is more than the sum of all windows is added at the end.
fn padding_for_size(
    cx: &NodeCx<'_, '_>,
    xs: &Shape,
    ws: &Shape,
    windows: &mut Windows,
    extra: &mut [Dim],
) -> Result<()> {
    let side = cx.text("auto_pad")?.unwrap_or("NOTSET");
    let automatic = matches!(side, "SAME_UPPER" | "SAME_LOWER");
    let spatial = xs.rank() - 2;
    let given = cx.ints("output_shape")?;
    // Some write the batch and the channels too.
    let given = given.map(|sizes| &sizes[sizes.len().saturating_sub(spatial)..]);
    if given.is_none() && !automatic {
        return Ok(());
    }
    for i in 0..spatial {
        let stride = windows.stride[i];
        let size = match given {
            Some(sizes) => sizes.get(i).map(|s| Dim::from(*s)),
            None => Some(xs[2 + i].clone() * stride),
        };
        let Some(size) = size else { return Err(cx.wrong("`output_shape` does not fit the operand")) };
        let reach = (ws[2 + i].clone() - 1) * windows.dilation[i] + 1;
        let facts = cx.b.facts();
        let total = facts.simplify(&((xs[2 + i].clone() - 1) * stride + reach + extra[i].clone() - size));
        if facts.is_nonnegative(&total) {
            let less = facts.simplify(&total.floor_div(&Dim::from(2)));
            let more = facts.simplify(&(total - less.clone()));
            (windows.low[i], windows.high[i]) =
                if side == "SAME_UPPER" { (less, more) } else { (more, less) };
        } else if facts.is_nonnegative(&-total.clone()) {
            (windows.low[i], windows.high[i]) = (Dim::ZERO, Dim::ZERO);
            extra[i] = extra[i].clone() - total;
        } else {
            return Err(
                cx.unsupported("`ConvTranspose` to a size of which it is not known whether it needs padding")
            );
        }
    }
    Ok(())
}

/// `[in, out / groups, spatial…]` as `[out, in / groups, spatial…]`, each spatial axis backwards.
fn exchanged(cx: &mut NodeCx<'_, '_>, w: ValueId, ws: &Shape, groups: i64) -> Result<ValueId> {
    let rank = ws.rank();
    let (mut start, mut step) = (vec![Dim::ZERO; rank], vec![1; rank]);
    for axis in 2..rank {
        (start[axis], step[axis]) = (ws[axis].clone() - 1, -1);
    }
    let reversed = cx.b.op1(Op::Slice(Slice { start, size: ws.to_vec(), step }), &[w])?;
    let g = Dim::from(groups);
    let inner = cx.b.facts().simplify(&ws[0].floor_div(&g));
    let with = |head: [Dim; 2]| head.into_iter().chain(ws[2..].iter().cloned());
    let split = [g.clone()].into_iter().chain(with([inner.clone(), ws[1].clone()])).collect::<Shape>();
    let split = cx.b.reshape(reversed, split)?;
    let perm: Vec<usize> = [0, 2, 1].into_iter().chain(3..=rank).collect();
    let swapped = cx.b.transpose(split, &perm)?;
    let joined = with([ws[1].clone() * g, inner]).collect::<Shape>();
    cx.b.reshape(swapped, joined)
}
