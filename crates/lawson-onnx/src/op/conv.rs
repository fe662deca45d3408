//! Convolutions.

use super::one;
use super::window::Windows;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{Convolve, Slice};
use lawson_graph::{Dim, Op, Result, Shape, ValueId};

/// The operand and the weights, with the shapes of their spatial axes.
fn operands(cx: &mut NodeCx<'_, '_>) -> Result<(ValueId, ValueId, Shape, Shape)> {
    let (x, w) = (cx.value(0)?, cx.value(1)?);
    let (xs, ws) = (cx.b.shape(x)?, cx.b.shape(w)?);
    if xs.rank() < 3 || ws.rank() != xs.rank() {
        return Err(cx.wrong(format!("`{}` of {xs} with weights {ws}", cx.op())));
    }
    if let Some(kernel) = cx.ints("kernel_shape")?
        && !(kernel.len() + 2 == ws.rank() && kernel.iter().zip(&ws[2..]).all(|(k, d)| d.is(*k)))
    {
        return Err(cx.wrong(format!("`kernel_shape` is {kernel:?}, but the weights are {ws}")));
    }
    Ok((x, w, xs, ws))
}

/// A bias along the channels.
fn with_bias(cx: &mut NodeCx<'_, '_>, y: ValueId) -> Result<Vec<Item>> {
    let Some(bias) = cx.optional(2)? else { return one(y) };
    let shape = cx.b.shape(y)?;
    let bias = cx.b.broadcast_in(bias, shape, &[1])?;
    one(cx.b.add(y, bias)?)
}

pub(super) fn conv(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, w, xs, ws) = operands(cx)?;
    let windows = Windows::read(cx, &xs[2..], &ws[2..])?;
    let groups = cx.int("group")?.unwrap_or(1);
    let convolve = Convolve {
        stride: windows.stride,
        low: windows.low,
        high: windows.high,
        kernel_dilation: windows.dilation,
        groups,
        ..Convolve::plain(xs.rank() - 2)
    };
    let y = cx.b.op1(Op::Convolve(convolve), &[x, w])?;
    with_bias(cx, y)
}

/// A convolution over the operand spread out by the strides, with the kernel reversed and its channels exchanged.
pub(super) fn conv_transpose(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, w, xs, ws) = operands(cx)?;
    let spatial = xs.rank() - 2;
    if cx.has_attribute("output_shape") || !matches!(cx.text("auto_pad")?, None | Some("NOTSET" | "VALID")) {
        return Err(cx.unsupported("`ConvTranspose` with `output_shape` or automatic padding"));
    }
    let windows = Windows::read(cx, &xs[2..], &ws[2..])?;
    let groups = cx.int("group")?.unwrap_or(1);
    let extra = cx.ints("output_padding")?.map_or_else(|| vec![0; spatial], <[i64]>::to_vec);
    if extra.len() != spatial || groups < 1 {
        return Err(cx.wrong(format!("`ConvTranspose` with output padding {extra:?} and {groups} groups")));
    }
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for i in 0..spatial {
        let reach = (ws[2 + i].clone() - 1) * windows.dilation[i];
        low.push(reach.clone() - windows.low[i].clone());
        high.push(reach - windows.high[i].clone() + extra[i]);
    }
    if low.iter().chain(&high).any(|d| !cx.b.facts().is_nonnegative(d)) {
        return Err(cx.unsupported("`ConvTranspose` with more padding than its kernel is wide"));
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
