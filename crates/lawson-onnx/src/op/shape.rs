//! Shapes: asking for them, and giving a tensor another one without computing.

use super::one;
use crate::item::{DimTensor, Item};
use crate::node::NodeCx;
use crate::open::{Element, MAX_SIZE};
use lawson_graph::op::CompareKind;
use lawson_graph::{DType, Dim, Error, Facts, Result, Shape, ValueId};

pub(super) fn shape(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let shape = cx.shape(0)?;
    let rank = shape.rank() as i64;
    let clamp = |v: i64| if v < 0 { v.saturating_add(rank) } else { v }.clamp(0, rank) as usize;
    let (start, end) = (clamp(cx.int("start")?.unwrap_or(0)), clamp(cx.int("end")?.unwrap_or(rank)));
    Ok(vec![DimTensor::vector(shape[start..end.max(start)].to_vec()).into()])
}

pub(super) fn size(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    Ok(vec![DimTensor::scalar(cx.shape(0)?.elements()).into()])
}

/// `total / Π known`, dimensions that stand on both sides being cancelled first: quotients of symbols are not simplified.
fn missing(facts: &Facts, from: &[Dim], known: &[Dim]) -> Dim {
    let mut left: Vec<Dim> = from.to_vec();
    let mut over: Vec<&Dim> = Vec::new();
    for d in known {
        match left.iter().position(|l| facts.equal(l, d)) {
            Some(i) => {
                left.swap_remove(i);
            }
            None => over.push(d),
        }
    }
    let (total, by): (Dim, Dim) = (left.into_iter().product(), over.into_iter().cloned().product());
    facts.simplify(&total.floor_div(&by))
}

/// 0 copies a dimension (unless `allowzero` says that it is one), -1 is what is left.
pub(super) fn reshape(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let from = cx.b.shape(x)?;
    let zero_is_zero = cx.flag("allowzero", false)?;
    let mut open = None;
    let item = cx.item(1)?;
    let mut to = match cx.elements_of(1, "shape")? {
        known if known.iter().all(|e| matches!(e, Element::Known(_))) => {
            known.into_iter().map(|e| cx.size(e)).collect::<Result<Vec<Dim>>>()?
        }
        elements => computed_sizes(cx, &elements, &from, zero_is_zero)?,
    };
    for (i, dim) in to.iter_mut().enumerate() {
        if dim.is(-1) && open.replace(i).is_some() {
            return Err(cx.wrong("two dimensions of a reshape are -1"));
        }
        if dim.is(0) && !zero_is_zero {
            *dim = from.get(i).cloned().ok_or_else(|| {
                cx.wrong(format!(
                    "dimension {i} of a reshape is copied from {from}, which has no such dimension"
                ))
            })?;
        }
    }
    if let Some(i) = open {
        let known: Vec<Dim> =
            to.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, d)| d.clone()).collect();
        to[i] = missing(cx.b.facts(), &from, &known);
    }
    cx.assume_same_elements(&from, &to)?;
    let reshaped = cx.b.reshape(x, Shape::from(to));
    // Sizes that a run finds may be of no use where those of a certain run would be.
    one(reshaped.map_err(|e| if item.dims().is_some() { e } else { cx.unknown(1, &item, "shape") })?)
}

/// The sizes of a reshape some of which are computed when the model runs, and so may turn out to be 0 or -1 then.
fn computed_sizes(
    cx: &mut NodeCx<'_, '_>,
    elements: &[Element],
    from: &Shape,
    zero_is_zero: bool,
) -> Result<Vec<Dim>> {
    let zero = cx.b.scalar(DType::I64, 0.0)?;
    let mut sizes: Vec<ValueId> = Vec::with_capacity(elements.len());
    for (i, element) in elements.iter().enumerate() {
        let size = cx.scalar(element)?;
        sizes.push(match from.get(i).filter(|_| !zero_is_zero) {
            Some(own) => {
                let own = cx.b.dim_scalar(own, DType::I64)?;
                let is_zero = cx.b.compare(CompareKind::Eq, size, zero)?;
                cx.b.select(is_zero, own, size)?
            }
            None => size,
        });
    }
    let mut dims = Vec::with_capacity(elements.len());
    for (i, element) in elements.iter().enumerate() {
        // What is the size of something else already is one here, too.
        let known = match element {
            Element::Known(dim) => Some(dim.clone()),
            Element::Computed(value, at) => cx.scope.size(*value, *at),
        };
        if let Some(known) = known {
            dims.push(known);
            continue;
        }
        // What the others leave, where this one is -1.
        let mut rest = cx.b.scalar(DType::I64, 1.0)?;
        let least = rest;
        for other in sizes.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| *other) {
            rest = cx.b.mul(rest, other)?;
        }
        let rest = cx.b.max(rest, least)?;
        let total = cx.b.dim_scalar(&from.elements(), DType::I64)?;
        let left = cx.b.div(total, rest)?;
        let is_open = cx.b.compare(CompareKind::Lt, sizes[i], zero)?;
        let size = cx.b.select(is_open, left, sizes[i])?;
        dims.push(cx.define("size", size, Dim::from(MAX_SIZE))?);
    }
    Ok(dims)
}

pub(super) fn flatten(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let axis = cx.int("axis")?.unwrap_or(1);
    // The axis may also be the rank.
    let axis = if axis == shape.rank() as i64 { shape.rank() } else { cx.axis(axis, shape.rank())? };
    let product = |dims: &[Dim]| dims.iter().cloned().product::<Dim>();
    one(cx.b.reshape(x, [product(&shape[..axis]), product(&shape[axis..])])?)
}

pub(super) fn transpose(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let rank = cx.b.tensor_type(x)?.rank();
    let perm = match cx.ints("perm")? {
        Some(perm) => cx.axes(perm, rank)?,
        None => (0..rank).rev().collect(),
    };
    one(cx.b.transpose(x, &perm)?)
}

fn given_axes(cx: &NodeCx<'_, '_>) -> Result<Option<Vec<i64>>> {
    match cx.ints("axes")? {
        Some(axes) => Ok(Some(axes.to_vec())),
        None if cx.has(1) => cx.ints_of(1, "axes").map(Some),
        None => Ok(None),
    }
}

pub(super) fn squeeze(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let gone = match given_axes(cx)? {
        Some(axes) => cx.axes(&axes, shape.rank())?,
        None => all_of_one(cx, &shape)?,
    };
    let squeezed = shape.iter().enumerate();
    let squeezed: Vec<Dim> =
        squeezed.map(|(i, d)| if gone.contains(&i) { Dim::ONE } else { d.clone() }).collect();
    let Some(x) = cx.fitted(x, &squeezed)? else {
        let not_one = |a: &&usize| !cx.b.facts().equal(&shape[**a], &Dim::ONE);
        let axis = gone.iter().find(not_one).copied().unwrap_or_default();
        return Err(match shape[axis].as_const() {
            Some(n) => cx.wrong(format!("axis {axis} of a squeeze is {n}, not 1")),
            None => open_axis(cx, axis, &shape[axis]),
        });
    };
    let kept = shape.iter().enumerate().filter(|(i, _)| !gone.contains(i)).map(|(_, d)| d.clone());
    one(cx.b.reshape(x, kept.collect::<Shape>())?)
}

/// Every axis that is 1, which a squeeze without axes removes. One of open size stays: that it is not 1 becomes a fact, because a
/// run in which it is would have a result of another rank.
fn all_of_one(cx: &mut NodeCx<'_, '_>, shape: &Shape) -> Result<Vec<usize>> {
    let mut gone = Vec::new();
    for (axis, size) in shape.iter().enumerate() {
        if cx.b.facts().equal(size, &Dim::ONE) {
            gone.push(axis);
        } else if !cx.b.facts().differ(size, &Dim::ONE) && !assume_not_one(cx, size) {
            return Err(cx
                .unsupported(format!(
                    "a squeeze without axes removes axis {axis} where it is 1, and its size is `{size}`"
                ))
                .help("give the node its axes, or fix the size (`--dim NAME=SIZE`) or import the model for given inputs"));
        }
    }
    Ok(gone)
}

/// Makes it a fact that a size is not 1; whether that is possible. One that may be 0, as what a run finds, may be that still.
fn assume_not_one(cx: &mut NodeCx<'_, '_>, size: &Dim) -> bool {
    if cx.b.facts().is_positive(size) {
        return cx.assume_at_least(size, &Dim::from(2));
    }
    let from_one = size.clone() - 1;
    cx.assume_at_least(&(from_one.clone() * from_one), &Dim::ONE)
}

/// That an axis of open size would have to be 1.
fn open_axis(cx: &NodeCx<'_, '_>, axis: usize, size: &Dim) -> Error {
    let where_one = size.solutions(1).map_or(String::new(), |(symbol, first, last)| match first == last {
        true => format!("; it is 1 where `{symbol}` is {first}"),
        false => format!("; it is 1 where `{symbol}` is {first} to {last}"),
    });
    cx.unsupported(format!("axis {axis} of a squeeze is `{size}`, and has to be 1{where_one}"))
        .help("fix the size (`--dim NAME=SIZE`), or import the model for given inputs")
}

pub(super) fn unsqueeze(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let axes = given_axes(cx)?.ok_or_else(|| cx.wrong("an unsqueeze has no axes"))?;
    let rank = shape.rank() + axes.len();
    let new = cx.axes(&axes, rank)?;
    let mut old = shape.into_dims().into_iter();
    let dims = (0..rank).map(|i| if new.contains(&i) { Dim::ONE } else { old.next().unwrap_or(Dim::ONE) });
    one(cx.b.reshape(x, dims.collect::<Shape>())?)
}

/// Both sides broadcast: a dimension of the operand may be larger than the one asked for, if that is 1.
pub(super) fn expand(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let from = cx.b.shape(x)?;
    let asked = cx.sizes_of(1, "shape")?;
    let rank = from.rank().max(asked.len());
    let at =
        |dims: &[Dim], i: usize| (i + dims.len()).checked_sub(rank).map_or(Dim::ONE, |j| dims[j].clone());
    let mut to = Vec::with_capacity(rank);
    for i in 0..rank {
        let (have, want) = (at(&from, i), at(&asked, i));
        if !have.is(1) && !want.is(1) {
            cx.assume_equal(&have, &want)?;
        }
        to.push(if want.is(1) { have } else { want });
    }
    one(cx.b.broadcast_to(x, Shape::from(to))?)
}

pub(super) fn concat(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let parts = cx.values()?;
    let Some(first) = parts.first() else { return Err(cx.wrong("a concat has no operands")) };
    let axis = cx.int("axis")?.ok_or_else(|| cx.wrong("`Concat` has no `axis`"))?;
    let first = cx.b.shape(*first)?;
    let axis = cx.axis(axis, first.rank())?;
    for part in &parts[1..] {
        let part = cx.b.shape(*part)?;
        for i in (0..first.rank().min(part.rank())).filter(|i| *i != axis) {
            cx.assume_equal(&first[i], &part[i])?;
        }
    }
    one(cx.b.concat(&parts, axis)?)
}

/// Each axis repeated: a new axis before it is broadcast, and the two become one.
pub(super) fn tile(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let repeats = cx.sizes_of(1, "repeats")?;
    if repeats.len() != shape.rank() {
        return Err(cx.wrong(format!("{} repeats for {} dimensions", repeats.len(), shape.rank())));
    }
    let paired = repeats.iter().zip(shape.iter()).flat_map(|(r, d)| [r.clone(), d.clone()]);
    let paired = paired.collect::<Shape>();
    let axes: Vec<usize> = (0..shape.rank()).map(|i| 2 * i + 1).collect();
    let repeated = cx.b.broadcast_in(x, paired, &axes)?;
    let product = repeats.iter().zip(shape.iter()).map(|(r, d)| r.clone() * d.clone());
    let product = product.collect::<Shape>();
    one(cx.b.reshape(repeated, product)?)
}

/// `[N, C, H, W]` and the block size.
fn blocks(cx: &mut NodeCx<'_, '_>) -> Result<(ValueId, [Dim; 4], Dim)> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let dims: [Dim; 4] = shape
        .into_dims()
        .try_into()
        .map_err(|d: Vec<Dim>| cx.wrong(format!("`{}` takes 4 dimensions, {} came", cx.op(), d.len())))?;
    let size =
        cx.int("blocksize")?.filter(|b| *b > 0).ok_or_else(|| cx.wrong("the block size is not positive"))?;
    Ok((x, dims, Dim::from(size)))
}

pub(super) fn depth_to_space(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, [n, c, h, w], s) = blocks(cx)?;
    let area = s.clone() * s.clone();
    if let (Some(channels), Some(block)) = (c.as_const(), area.as_const())
        && channels % block != 0
    {
        return Err(cx
            .wrong(format!("`DepthToSpace` of {channels} channels in blocks of {s} by {s}"))
            .help(format!("the channels must be a multiple of {block}")));
    }
    let depth = cx.b.facts().simplify(&c.floor_div(&area));
    let (parts, perm) = match cx.text("mode")? {
        None | Some("DCR") => {
            ([n.clone(), s.clone(), s.clone(), depth.clone(), h.clone(), w.clone()], [0, 3, 4, 1, 5, 2])
        }
        Some("CRD") => {
            ([n.clone(), depth.clone(), s.clone(), s.clone(), h.clone(), w.clone()], [0, 1, 4, 2, 5, 3])
        }
        Some(other) => return Err(cx.no_such("mode", other, &["DCR", "CRD"])),
    };
    let split = cx.b.reshape(x, parts)?;
    let moved = cx.b.transpose(split, &perm)?;
    one(cx.b.reshape(moved, [n, depth, h * s.clone(), w * s])?)
}

pub(super) fn space_to_depth(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, [n, c, h, w], s) = blocks(cx)?;
    let by = |d: &Dim| cx.b.facts().simplify(&d.floor_div(&s));
    let (h, w) = (by(&h), by(&w));
    let parts = [n.clone(), c.clone(), h.clone(), s.clone(), w.clone(), s.clone()];
    let split = cx.b.reshape(x, parts)?;
    let perm = match cx.text("mode")? {
        None | Some("DCR") => [0, 3, 5, 1, 2, 4],
        Some("CRD") => [0, 1, 3, 5, 2, 4],
        Some(other) => return Err(cx.no_such("mode", other, &["DCR", "CRD"])),
    };
    let moved = cx.b.transpose(split, &perm)?;
    one(cx.b.reshape(moved, [n, c * s.clone() * s, h, w])?)
}
