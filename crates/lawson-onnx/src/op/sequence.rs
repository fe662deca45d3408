//! Sequences and optionals: lists of items while importing, which leave nothing in the graph.

use crate::item::{Item, List, Maybe};
use crate::node::NodeCx;
use lawson_graph::{DType, Dim, HostTensor, Result, Shape, ValueId};

/// The longest axis that is split into a list.
const MAX_PARTS: i64 = 1 << 16;

/// Operand `i` as a list.
fn list(cx: &NodeCx<'_, '_>, i: usize) -> Result<List> {
    match cx.item(i)? {
        Item::Sequence(list) => Ok(list),
        Item::Optional(Maybe::Some(item)) => match *item {
            Item::Sequence(list) => Ok(list),
            _ => Err(cx.wrong(format!("operand {i} of `{}` is no sequence", cx.op()))),
        },
        _ => Err(cx.unsupported(format!(
            "operand {i} of `{}` is a sequence whose length is known only in a run",
            cx.op()
        ))),
    }
}

/// Operand `i` as a place in a list of so many: negative ones count from the end.
fn place(cx: &NodeCx<'_, '_>, i: usize, length: usize) -> Result<usize> {
    let at = match cx.ints_of(i, "position")?.as_slice() {
        [at] => *at,
        other => return Err(cx.wrong(format!("one position was expected, {} came", other.len()))),
    };
    let from_start = if at < 0 { at.saturating_add(length as i64) } else { at };
    usize::try_from(from_start)
        .ok()
        .filter(|p| *p <= length)
        .ok_or_else(|| cx.wrong(format!("position {at} of `{}` is outside a sequence of {length}", cx.op())))
}

pub(super) fn empty(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let dtype = cx.dtype("dtype")?.unwrap_or(DType::F32);
    Ok(vec![Item::Sequence(List { dtype, items: Vec::new() })])
}

pub(super) fn construct(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let items = (0..cx.operands()).map(|i| cx.item(i)).collect::<Result<Vec<_>>>()?;
    let Some(first) = items.first() else { return Err(cx.wrong("a sequence of nothing has no type")) };
    let (dtype, _) = first.tensor_type(cx.b)?;
    Ok(vec![Item::Sequence(List { dtype, items })])
}

pub(super) fn at(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let list = list(cx, 0)?;
    let at = place(cx, 1, list.items.len())?;
    let item = list.items.get(at).cloned();
    item.map(|i| vec![i]).ok_or_else(|| cx.wrong(format!("there is no element {at} in the sequence")))
}

pub(super) fn insert(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let mut list = list(cx, 0)?;
    let at = if cx.has(2) { place(cx, 2, list.items.len())? } else { list.items.len() };
    list.items.insert(at, cx.item(1)?);
    Ok(vec![Item::Sequence(list)])
}

pub(super) fn erase(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let mut list = list(cx, 0)?;
    let Some(last) = list.items.len().checked_sub(1) else {
        return Err(cx.wrong("an element is taken out of an empty sequence"));
    };
    let at = if cx.has(1) { place(cx, 1, list.items.len())?.min(last) } else { last };
    list.items.remove(at);
    Ok(vec![Item::Sequence(list)])
}

pub(super) fn length(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let list = list(cx, 0)?;
    Ok(vec![Item::Constant(HostTensor::scalar(list.items.len() as i64))])
}

pub(super) fn concat(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let list = list(cx, 0)?;
    let mut parts = list.items.iter().map(|i| i.build(cx.b)).collect::<Result<Vec<ValueId>>>()?;
    let Some(first) = parts.first() else {
        return Err(cx.wrong("an empty sequence has nothing to put together"));
    };
    let rank = cx.b.tensor_type(*first)?.rank();
    let axis = cx.int("axis")?.ok_or_else(|| cx.wrong("`ConcatFromSequence` has no axis"))?;
    let new_axis = cx.flag("new_axis", false)?;
    let axis = cx.axis(axis, rank + usize::from(new_axis))?;
    if new_axis {
        for part in &mut parts {
            let mut dims = cx.b.shape(*part)?.into_dims();
            dims.insert(axis, Dim::ONE);
            *part = cx.b.reshape(*part, Shape::from(dims))?;
        }
    }
    super::one(cx.b.concat(&parts, axis)?)
}

/// Parts of a tensor along an axis: of sizes that an operand says, one or all, or of size 1 without their axis.
pub(super) fn split(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let (dtype, shape) = (cx.b.dtype(x)?, cx.b.shape(x)?);
    let axis = cx.axis(cx.int("axis")?.unwrap_or(0), shape.rank())?;
    let keep = cx.flag("keepdims", true)?;
    let Some(total) = shape[axis].as_const().filter(|n| *n <= MAX_PARTS) else {
        return Err(cx.unsupported(format!("`SplitToSequence` along an axis of {}", shape[axis])));
    };
    let given = if cx.has(1) { Some((cx.ints_of(1, "sizes")?, cx.shape(1)?.rank())) } else { None };
    let sizes: Vec<i64> = match &given {
        None => vec![1; usize::try_from(total).unwrap_or(0)],
        Some((sizes, 0)) => {
            let each = sizes.first().copied().filter(|s| *s > 0);
            let each = each.ok_or_else(|| cx.wrong("the parts of a split have no size"))?;
            (0..total).step_by(each as usize).map(|start| each.min(total - start)).collect()
        }
        Some((sizes, _)) => sizes.clone(),
    };
    let sum = sizes.iter().try_fold(0i64, |n, s| n.checked_add(*s));
    if sum != Some(total) || sizes.iter().any(|s| *s < 0) {
        return Err(cx.wrong(format!("the parts {sizes:?} do not make up an axis of {total}")));
    }
    let (mut start, mut items) = (0, Vec::with_capacity(sizes.len()));
    for size in sizes {
        let mut part = cx.b.slice_axis(x, axis, start, size)?;
        if given.is_none() && !keep {
            let mut dims = shape.to_vec();
            dims.remove(axis);
            part = cx.b.reshape(part, Shape::from(dims))?;
        }
        items.push(Item::Value(part));
        start += size;
    }
    Ok(vec![Item::Sequence(List { dtype, items })])
}

/// Something, or, without an operand, nothing of the type that an attribute says.
pub(super) fn optional(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("type");
    let inner = if cx.has(0) { Maybe::Some(Box::new(cx.item(0)?)) } else { Maybe::None(None) };
    Ok(vec![Item::Optional(inner)])
}

pub(super) fn optional_has(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    // What is no optional is there.
    let has = cx.has(0) && !matches!(cx.item(0)?, Item::Optional(Maybe::None(_)));
    Ok(vec![Item::Constant(HostTensor::scalar(has))])
}

pub(super) fn optional_get(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    match cx.item(0)? {
        Item::Optional(Maybe::Some(item)) => Ok(vec![*item]),
        Item::Optional(Maybe::None(_)) => Err(cx.wrong("what an absent optional holds is asked for")),
        other => Ok(vec![other]),
    }
}
