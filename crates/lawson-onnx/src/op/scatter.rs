//! Writing at indices. Indices as in `gather.rs`; Lawson's scatter drops what lies outside.

use super::gather::{Elements, elements, indices};
use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{Combine, Scatter};
use lawson_graph::{Dim, Op, Result};

fn combine(cx: &NodeCx<'_, '_>) -> Result<Combine> {
    Ok(match cx.text("reduction")?.unwrap_or("none") {
        "none" => Combine::Set,
        "add" => Combine::Add,
        "mul" => Combine::Mul,
        "min" => Combine::Min,
        "max" => Combine::Max,
        other => return Err(cx.no_such("reduction", other, &["none", "add", "mul", "min", "max"])),
    })
}

pub(super) fn scatter_nd(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, updates) = (cx.value(0)?, cx.value(2)?);
    let (shape, places) = (cx.b.shape(x)?, cx.shape(1)?);
    let entries = places.last().and_then(Dim::as_const).and_then(|k| usize::try_from(k).ok());
    let Some(entries) = entries.filter(|k| *k <= shape.rank()) else {
        return Err(cx.wrong(format!("`ScatterND` into {shape} with indices {places}")));
    };
    let at = indices(cx, 1, &shape[..entries])?;
    let scatter = Scatter { combine: combine(cx)?, axes: (0..entries).collect(), batch: 0 };
    one(cx.b.op1(Op::Scatter(scatter), &[x, at, updates])?)
}

pub(super) fn scatter_elements(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, updates) = (cx.value(0)?, cx.value(2)?);
    let shape = cx.b.shape(x)?;
    let axis = cx.axis(cx.int("axis")?.unwrap_or(0), shape.rank())?;
    let combine = combine(cx)?;
    let Elements { at, axes, batch } = elements(cx, &shape, axis)?;
    one(cx.b.op1(Op::Scatter(Scatter { combine, axes, batch }), &[x, at, updates])?)
}
