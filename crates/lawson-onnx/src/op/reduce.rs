//! Reductions and running sums.
//!
//! Axes are an attribute in old versions and an operand in new ones; both are read, whichever is there. No axes mean all
//! of them, unless `noop_with_empty_axes` says none.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{Cumulative, Monoid};
use lawson_graph::{
    ArgMax, ArgMin, Builder, CompositeDef, DType, Keep, LogSumExp, Mean, Op, Result, ValueId,
};

/// What a reduction does before and after it combines.
struct Reduction {
    x: ValueId,
    axes: Vec<usize>,
    keep: Keep,
}

/// The operand, the axes and whether they stay; `None` if nothing is reduced.
fn read(cx: &mut NodeCx<'_, '_>) -> Result<Option<Reduction>> {
    let x = cx.value(0)?;
    let rank = cx.b.tensor_type(x)?.rank();
    let keep = if cx.flag("keepdims", true)? { Keep::Yes } else { Keep::No };
    let noop = cx.flag("noop_with_empty_axes", false)?;
    let given = match cx.ints("axes")? {
        Some(axes) => axes.to_vec(),
        None if cx.has(1) => cx.ints_of(1, "axes")?,
        None => Vec::new(),
    };
    if given.is_empty() && noop {
        return Ok(None);
    }
    let mut axes = if given.is_empty() { (0..rank).collect() } else { cx.axes(&given, rank)? };
    axes.sort_unstable();
    Ok(Some(Reduction { x, axes, keep }))
}

fn around(
    cx: &mut NodeCx<'_, '_>,
    before: impl Fn(&mut Builder<'static>, ValueId) -> Result<ValueId>,
    kind: Monoid,
    after: impl Fn(&mut Builder<'static>, ValueId) -> Result<ValueId>,
) -> Result<Vec<Item>> {
    let Some(r) = read(cx)? else {
        // Without axes, what happens to each element still happens.
        let x = cx.value(0)?;
        let x = before(cx.b, x)?;
        return one(after(cx.b, x)?);
    };
    let x = before(cx.b, r.x)?;
    let y = cx.b.reduce(kind, x, &r.axes, r.keep)?;
    one(after(cx.b, y)?)
}

fn same(_: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
    Ok(x)
}

pub(super) fn sum(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    around(cx, same, Monoid::Sum, same)
}

pub(super) fn prod(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    around(cx, same, Monoid::Prod, same)
}

/// Of bools, the greatest is whether any is true.
pub(super) fn max(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let is_bool = cx.tensor_type(0)?.0 == DType::Bool;
    around(cx, same, if is_bool { Monoid::Or } else { Monoid::Max }, same)
}

/// Of bools, the least is whether all are true.
pub(super) fn min(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let is_bool = cx.tensor_type(0)?.0 == DType::Bool;
    around(cx, same, if is_bool { Monoid::And } else { Monoid::Min }, same)
}

pub(super) fn l1(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    around(cx, |b, x| b.abs(x), Monoid::Sum, same)
}

pub(super) fn l2(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    around(cx, |b, x| b.mul(x, x), Monoid::Sum, |b, y| b.sqrt(y))
}

pub(super) fn sum_square(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    around(cx, |b, x| b.mul(x, x), Monoid::Sum, same)
}

pub(super) fn log_sum(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    around(cx, same, Monoid::Sum, |b, y| b.log(y))
}

fn composite<C: CompositeDef>(
    cx: &mut NodeCx<'_, '_>,
    make: impl FnOnce(Vec<usize>, bool) -> C,
) -> Result<Vec<Item>> {
    let Some(r) = read(cx)? else { return cx.item(0).map(|x| vec![x]) };
    one(cx.b.composite(make(r.axes, r.keep == Keep::Yes), &[r.x])?)
}

/// The mean of integers is a quotient of integers.
pub(super) fn mean(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    if cx.tensor_type(0)?.0.is_float() {
        return composite(cx, |axes, keep_dims| Mean { axes, keep_dims });
    }
    let Some(r) = read(cx)? else { return cx.item(0).map(|x| vec![x]) };
    one(cx.b.mean(r.x, &r.axes, r.keep)?)
}

pub(super) fn log_sum_exp(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    composite(cx, |axes, keep_dims| LogSumExp { axes, keep_dims })
}

fn extreme<C: CompositeDef>(
    cx: &mut NodeCx<'_, '_>,
    make: impl FnOnce(usize, bool, bool) -> C,
) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let axis = cx.axis(cx.int("axis")?.unwrap_or(0), cx.b.tensor_type(x)?.rank())?;
    let (keep, last) = (cx.flag("keepdims", true)?, cx.flag("select_last_index", false)?);
    one(cx.b.composite(make(axis, keep, last), &[x])?)
}

pub(super) fn argmax(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    extreme(cx, |axis, keep_dims, last| ArgMax { axis, keep_dims, last })
}

pub(super) fn argmin(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    extreme(cx, |axis, keep_dims, last| ArgMin { axis, keep_dims, last })
}

fn cumulative(cx: &mut NodeCx<'_, '_>, kind: Monoid) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let rank = cx.b.tensor_type(x)?.rank();
    let axis = match cx.ints_of(1, "axis")?.as_slice() {
        [axis] => cx.axis(*axis, rank)?,
        other => return Err(cx.wrong(format!("one axis was expected, {} came", other.len()))),
    };
    let (exclusive, reverse) = (cx.flag("exclusive", false)?, cx.flag("reverse", false)?);
    one(cx.b.op1(Op::Cumulative(Cumulative { kind, axis, exclusive, reverse }), &[x])?)
}

pub(super) fn cumulative_sum(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cumulative(cx, Monoid::Sum)
}

pub(super) fn cumulative_product(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cumulative(cx, Monoid::Prod)
}
