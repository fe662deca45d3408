//! Parts of a tensor: slice and split.
//!
//! ONNX clamps the bounds of a slice; Lawson's slice must be known to lie inside. Bounds are clamped here, on dimension
//! expressions: where the facts show that a bound is inside, nothing is left of the clamping. Bounds that are data are clamped by the graph.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use crate::open::{Element, offset};
use lawson_graph::op::{CompareKind, DynamicSlice, Slice};
use lawson_graph::{DType, Dim, Facts, Op, Result, ValueId};

/// A bound counted from 0 and kept in `0..=top`; `None` if its sign is not known.
fn clamped(facts: &Facts, bound: &Dim, dim: &Dim, top: &Dim) -> Option<Dim> {
    // A very large bound means the end, a very small one the start; as an expression it might not even fit.
    match bound.as_const() {
        Some(b) if b >= i64::from(i32::MAX) => return Some(top.clone()),
        Some(b) if b <= i64::from(i32::MIN) => return Some(Dim::ZERO),
        _ => {}
    }
    let negative = facts.is_positive(&-bound.clone());
    if !negative && !facts.is_nonnegative(bound) {
        return None;
    }
    let from_start = if negative { bound.clone() + dim.clone() } else { bound.clone() };
    let raised = if facts.is_nonnegative(&from_start) { from_start } else { from_start.max(&Dim::ZERO) };
    let within = if facts.proves_ge(top, &raised) { raised } else { raised.min(top) };
    Some(facts.simplify(&within))
}

/// The start and the size of a slice along one axis.
fn extent(facts: &Facts, dim: &Dim, start: &Dim, end: &Dim, step: i64) -> Option<(Dim, Dim)> {
    let span = |gap: Dim, step: i64| {
        let count = gap.ceil_div(&Dim::from(step));
        facts.simplify(&if facts.is_nonnegative(&gap) { count } else { count.max(&Dim::ZERO) })
    };
    if step > 0 {
        let (start, end) = (clamped(facts, start, dim, dim)?, clamped(facts, end, dim, dim)?);
        let size = span(end - start.clone(), step);
        return Some((start, size));
    }
    // Backwards: the first element is at most the last of the axis, and the end may lie before the first.
    let last = dim.clone() - 1;
    let start = clamped(facts, start, dim, &last)?;
    let before_first = end.as_const().is_some_and(|e| e <= i64::from(i32::MIN))
        || facts.is_positive(&-(end.clone() + dim.clone()));
    let end = if before_first { Dim::from(-1) } else { clamped(facts, end, dim, &last)? };
    let size = span(start.clone() - end, step.checked_neg()?);
    Some((start, size))
}

/// A slice as a model writes it.
struct Written<T> {
    starts: Vec<T>,
    ends: Vec<T>,
    axes: Vec<i64>,
    steps: Vec<i64>,
}

impl<T> Written<T> {
    /// The axes counted from 0, of a tensor of so many dimensions. An error unless there is as much of everything.
    fn axes(&self, cx: &NodeCx<'_, '_>, rank: usize) -> Result<Vec<usize>> {
        if [self.ends.len(), self.axes.len(), self.steps.len()] != [self.starts.len(); 3] {
            return Err(cx.wrong("the starts, ends, axes and steps of a slice differ in number"));
        }
        cx.axes(&self.axes, rank)
    }
}

fn build(cx: &mut NodeCx<'_, '_>, written: &Written<Dim>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let Written { starts, ends, steps, .. } = written;
    let mut slice =
        Slice { start: vec![Dim::ZERO; shape.rank()], size: shape.to_vec(), step: vec![1; shape.rank()] };
    for (i, axis) in written.axes(cx, shape.rank())?.into_iter().enumerate() {
        if steps[i] == 0 {
            return Err(cx.wrong("a step of a slice is 0"));
        }
        let Some((start, size)) = extent(cx.b.facts(), &shape[axis], &starts[i], &ends[i], steps[i]) else {
            return Err(cx.unsupported(format!(
                "the bounds of a slice, `{}` and `{}`, count from the start or from the end depending on the inputs",
                starts[i], ends[i]
            )));
        };
        (slice.start[axis], slice.size[axis], slice.step[axis]) = (start, size, steps[i]);
    }
    if slice.size == *shape && slice.step.iter().all(|s| *s == 1) {
        return one(x);
    }
    one(cx.b.op1(Op::Slice(slice), &[x])?)
}

/// Bounds as attributes, until version 9.
pub(super) fn slice_attributes(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let dims = |v: Option<&[i64]>| v.unwrap_or_default().iter().map(|d| Dim::from(*d)).collect::<Vec<_>>();
    let (starts, ends) = (dims(cx.ints("starts")?), dims(cx.ints("ends")?));
    let axes = cx.ints("axes")?.map_or_else(|| (0..starts.len() as i64).collect(), <[i64]>::to_vec);
    let steps = vec![1; starts.len()];
    build(cx, &Written { starts, ends, axes, steps })
}

pub(super) fn slice(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (starts, ends) = (cx.elements_of(1, "starts")?, cx.elements_of(2, "ends")?);
    let axes = if cx.has(3) { cx.ints_of(3, "axes")? } else { (0..starts.len() as i64).collect() };
    let steps = if cx.has(4) { cx.ints_of(4, "steps")? } else { vec![1; starts.len()] };
    let known = |all: &[Element]| all.iter().map(known).collect::<Option<Vec<Dim>>>();
    match (known(&starts), known(&ends)) {
        (Some(starts), Some(ends)) => build(cx, &Written { starts, ends, axes, steps }),
        _ => computed(cx, &Written { starts, ends, axes, steps }),
    }
}

fn known(element: &Element) -> Option<Dim> {
    match element {
        Element::Known(dim) => Some(dim.clone()),
        Element::Computed(..) => None,
    }
}

/// A slice some of whose bounds are computed when the model runs: what is left of the clamped bounds becomes a size, and the window of that
/// size is taken where the start says.
fn computed(cx: &mut NodeCx<'_, '_>, written: &Written<Element>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let axes = written.axes(cx, shape.rank())?;
    if written.steps.iter().any(|s| *s != 1) {
        return Err(cx.unsupported("a slice with steps whose bounds are computed when the model runs"));
    }
    let zero = cx.b.scalar(DType::I64, 0.0)?;
    let (mut first, mut size) = (vec![zero; shape.rank()], shape.to_vec());
    let mut fitted = None;
    for ((axis, start), end) in axes.into_iter().zip(&written.starts).zip(&written.ends) {
        let length = length(cx, &shape[axis], start, end);
        if let Some((length, Inside::Surely)) = length {
            (first[axis], size[axis]) = (cx.scalar(start)?, length);
            continue;
        }
        let top = cx.b.dim_scalar(&shape[axis], DType::I64)?;
        let mut bound = |element: &Element| -> Result<ValueId> {
            let given = cx.scalar(element)?;
            let from_end = cx.b.add(given, top)?;
            let negative = cx.b.compare(CompareKind::Lt, given, zero)?;
            let counted = cx.b.select(negative, from_end, given)?;
            let raised = cx.b.max(counted, zero)?;
            cx.b.min(raised, top)
        };
        let (start, end) = (bound(start)?, bound(end)?);
        let left = cx.b.sub(end, start)?;
        first[axis] = start;
        size[axis] = cx.define(&axis.to_string(), left, shape[axis].clone())?;
        if let Some((length, Inside::Maybe)) = length
            && length.is(1)
        {
            fitted.get_or_insert_with(|| size.clone())[axis] = length;
        }
        if let Some(fitted) = &mut fitted
            && !fitted[axis].is(1)
        {
            fitted[axis] = size[axis].clone();
        }
    }
    let mut rows = Vec::with_capacity(first.len());
    for start in first {
        rows.push(cx.b.reshape(start, [1])?);
    }
    let starts = cx.b.concat(&rows, 0)?;
    let part = cx.b.op1(Op::DynamicSlice(DynamicSlice { size }), &[x, starts])?;
    // One element from where it says is one, unless it lies outside: then a run ends with an error.
    let fitted = match fitted {
        Some(dims) => cx.fitted(part, &dims)?,
        None => None,
    };
    one(fitted.unwrap_or(part))
}

/// Whether a part lies inside its axis.
#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Surely,
    Maybe,
}

/// How long a part is whose end is a number behind its start, as in `x[i : i + 1]`, if nothing of it lies outside.
fn length(cx: &NodeCx<'_, '_>, size: &Dim, start: &Element, end: &Element) -> Option<(Dim, Inside)> {
    let (from, to) = (offset(cx.b, start), offset(cx.b, end));
    if from.base != to.base {
        return None;
    }
    let facts = cx.b.facts();
    let length = facts.simplify(&(to.by.clone() - from.by.clone()));
    if !facts.is_nonnegative(&length) {
        return None;
    }
    // A number that counts from 0 up to a known one.
    let inside = from.base.and_then(|(value, _)| cx.scope.below(value)).is_some_and(|below| {
        facts.is_nonnegative(&from.by) && facts.proves_ge(size, &(below.clone() - 1 + to.by.clone()))
    });
    Some((length, if inside { Inside::Surely } else { Inside::Maybe }))
}

/// Sizes as an attribute or an operand; without them, as many parts as results, the last one being smaller if need be.
pub(super) fn split(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let axis = cx.axis(cx.int("axis")?.unwrap_or(0), shape.rank())?;
    let count = cx.int("num_outputs")?;
    let sizes = match cx.ints("split")? {
        Some(sizes) => sizes.iter().map(|s| Dim::from(*s)).collect(),
        None if cx.has(1) => cx.sizes_of(1, "sizes")?,
        None => equal_parts(cx, &shape[axis], count.unwrap_or(cx.node.output.len() as i64))?,
    };
    let total: Dim = sizes.iter().cloned().sum();
    cx.assume_equal(&total, &shape[axis])?;
    if !cx.b.facts().equal(&total, &shape[axis]) {
        return Err(
            cx.wrong(format!("the parts of a split are {total} long together, the axis is {}", shape[axis]))
        );
    }
    let mut start = Dim::ZERO;
    let mut parts: Vec<ValueId> = Vec::with_capacity(sizes.len());
    for size in sizes {
        let end = start.clone() + size.clone();
        // No part is longer than all of them; where sizes are data, that has to be said.
        cx.assume_at_least(&shape[axis], &end);
        parts.push(cx.b.slice_axis(x, axis, start, size)?);
        start = end;
    }
    Ok(parts.into_iter().map(Item::Value).collect())
}

fn equal_parts(cx: &NodeCx<'_, '_>, dim: &Dim, count: i64) -> Result<Vec<Dim>> {
    let facts = cx.b.facts();
    if count < 1 || count > cx.node.output.len().max(1) as i64 {
        return Err(cx.wrong(format!("a split into {count} parts, with {} results", cx.node.output.len())));
    }
    let part = facts.simplify(&dim.ceil_div(&Dim::from(count)));
    let last = facts.simplify(&(dim.clone() - part.clone() * (count - 1)));
    if !facts.is_nonnegative(&last) {
        return Err(cx.unsupported(format!("`{dim}` is not known to divide into {count} parts")));
    }
    Ok((1..count).map(|_| part.clone()).chain([last]).collect())
}
