//! Pools: Lawson's composites.

use super::one;
use super::window::Windows;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{
    AvgPool, Dim, GlobalAvgPool, GlobalLpPool, GlobalMaxPool, LpPool, MaxPool, Result, ValueId,
};

/// The operand, the size of the window, how it slides, and whether a last window may reach beyond the end.
fn read(cx: &mut NodeCx<'_, '_>) -> Result<(ValueId, Vec<i64>, Windows, bool)> {
    cx.only_results(1)?;
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let window = cx.ints("kernel_shape")?.map(<[i64]>::to_vec);
    let Some(window) = window.filter(|w| w.len() + 2 == shape.rank()) else {
        return Err(cx.wrong(format!("`kernel_shape` of `{}` does not fit {shape}", cx.op())));
    };
    let dims: Vec<Dim> = window.iter().map(|w| Dim::from(*w)).collect();
    let windows = Windows::read(cx, &shape[2..], &dims)?;
    Ok((x, window, windows, cx.flag("ceil_mode", false)?))
}

pub(super) fn max_pool(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    // The order of storage matters for the indices only, which are not imported.
    cx.ignore("storage_order");
    let (x, window, Windows { stride, dilation, low, high }, ceil) = read(cx)?;
    one(cx.b.composite(MaxPool { window, stride, dilation, low, high, ceil }, &[x])?)
}

pub(super) fn average_pool(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let count_padding = cx.flag("count_include_pad", false)?;
    let (x, window, Windows { stride, dilation, low, high }, ceil) = read(cx)?;
    one(cx.b.composite(AvgPool { window, stride, dilation, low, high, ceil, count_padding }, &[x])?)
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
