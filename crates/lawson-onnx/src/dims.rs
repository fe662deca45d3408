//! Shape arithmetic: operators on integers that depend on symbols, computed on dimension expressions.
//!
//! In: a node at least one of whose operands is a [`DimTensor`], in i64 or i32. Out: its results as items, or `None` where the operator is not
//! one of shape arithmetic or the facts do not decide the result; then the dimensions become data of the graph, which is
//! always right, but no longer known.
//!
//! Operators that only move elements need no code here: they are computed on numbers that stand for the elements.

use crate::fold;
use crate::item::{DimTensor, Item, MAX_KNOWN};
use crate::node::NodeCx;
use crate::op::Build;
use lawson_graph::{DType, Dim, Facts, HostTensor, Result};

/// The results of a node of shape arithmetic.
pub(crate) fn fold(cx: &NodeCx<'_, '_>, build: Build) -> Result<Option<Vec<Item>>> {
    let mut operands: Vec<Option<DimTensor>> = Vec::with_capacity(cx.operands());
    let mut symbolic = false;
    for i in 0..cx.operands() {
        let item = if cx.has(i) { Some(cx.item(i)?) } else { None };
        symbolic |= matches!(item, Some(Item::Dims(_)));
        operands.push(item.and_then(|i| i.dims()));
    }
    if !symbolic {
        return Ok(None);
    }
    let result = result(cx, &operands)?.filter(|item| match item {
        Item::Dims(t) => t.dims.iter().all(|d| !d.is_overflow()),
        _ => true,
    });
    Ok(result.map(|item| vec![item]).or_else(|| moved(cx, build)))
}

/// The results of a node that only moves elements. It is computed on numbers, each of which stands for one element of an
/// operand; 0 stands for itself, because padding brings it in.
fn moved(cx: &NodeCx<'_, '_>, build: Build) -> Option<Vec<Item>> {
    let moves: fn(usize) -> bool = match cx.op() {
        "Transpose" | "Flatten" | "Tile" | "Expand" | "Identity" | "Split" | "Slice" | "Gather"
        | "GatherElements" | "GatherND" | "Compress" | "Reshape" | "Squeeze" | "Unsqueeze"
        | "ReverseSequence" => |i| i == 0,
        "ScatterElements" | "ScatterND" | "Scatter" | "Pad" => |i| i == 0 || i == 2,
        "Concat" => |_| true,
        _ => return None,
    };
    let mut elements = vec![Dim::ZERO];
    let mut dtype = None;
    let results = fold::with(cx, build, |i, item| {
        if !moves(i) {
            return item.constant().cloned();
        }
        // Numbers stand for integers of one dtype; whatever else is moved is not shape arithmetic.
        let t = item.dims().filter(|t| *dtype.get_or_insert(t.dtype) == t.dtype)?;
        let numbers: Vec<i64> = (elements.len() as i64..).take(t.dims.len()).collect();
        elements.extend(t.dims);
        HostTensor::from_slice(&t.sizes, &numbers).ok()
    })?;
    let meant = |item: Item| {
        let t = item.constant()?;
        let element = |i| elements.get(usize::try_from(t.int_at(i)).ok()?).cloned();
        let dims = (0..t.len()).map(element).collect::<Option<_>>()?;
        Some(DimTensor { dtype: dtype?, sizes: t.sizes().to_vec(), dims }.into())
    };
    results.into_iter().map(meant).collect()
}

fn result(cx: &NodeCx<'_, '_>, operands: &[Option<DimTensor>]) -> Result<Option<Item>> {
    let facts = cx.b.facts();
    let operand = |i: usize| operands.get(i).and_then(Option::as_ref);
    let all: Option<Vec<&DimTensor>> = operands.iter().map(Option::as_ref).collect();
    let each = |f: &dyn Fn(&Dim, &Dim) -> Option<Dim>| -> Option<Item> {
        let mut parts = all.as_ref()?.iter();
        let first = (*parts.next()?).clone();
        parts.try_fold(first, |a, b| zip(&a, b, f)).map(Item::from)
    };
    let compare = |f: &dyn Fn(&Dim, &Dim) -> Option<bool>| -> Option<Item> {
        let t = zip(operand(0)?, operand(1)?, &|a, b| f(a, b).map(|t| Dim::from(i64::from(t))))?;
        let elements: Vec<bool> = t.dims.iter().map(|d| d.is(1)).collect();
        HostTensor::from_slice(&t.sizes, &elements).ok().map(Item::Constant)
    };
    let less = |a: &Dim, b: &Dim| match () {
        () if facts.is_positive(&(b.clone() - a.clone())) => Some(true),
        () if facts.proves_ge(a, b) => Some(false),
        () => None,
    };
    Ok(match cx.op() {
        "Add" => each(&|a, b| Some(a.clone() + b.clone())),
        "Sub" => each(&|a, b| Some(a.clone() - b.clone())),
        "Mul" => each(&|a, b| Some(a.clone() * b.clone())),
        "Min" => each(&|a, b| Some(facts.simplify(&a.min(b)))),
        "Max" => each(&|a, b| Some(facts.simplify(&a.max(b)))),
        "Div" => each(&|a, b| quotient(facts, a, b)),
        "Mod" if !cx.flag("fmod", false)? => {
            each(&|a, b| Some(facts.simplify(&(a.clone() - b.clone() * quotient(facts, a, b)?))))
        }
        "Neg" => operand(0).map(|t| map(t, |d| -d.clone()).into()),
        "Abs" => {
            operand(0).filter(|t| t.dims.iter().all(|d| facts.is_nonnegative(d))).map(|t| t.clone().into())
        }
        "Cast" => match cx.dtype("to")? {
            Some(to @ (DType::I64 | DType::I32)) => operand(0).map(|t| t.clone().of(to).into()),
            _ => None,
        },
        "Equal" => compare(&|a, b| match () {
            () if facts.equal(a, b) => Some(true),
            () if facts.differ(a, b) => Some(false),
            () => None,
        }),
        "Less" => compare(&less),
        "Greater" => compare(&|a, b| less(b, a)),
        "LessOrEqual" => compare(&|a, b| less(b, a).map(|t| !t)),
        "GreaterOrEqual" => compare(&|a, b| less(a, b).map(|t| !t)),
        "Where" => chosen(operands),
        "Concat" => concat(cx.int("axis")?, all.as_deref()),
        "Gather" => gather(operand(0), operand(1), cx.int("axis")?.unwrap_or(0)),
        "Slice" if cx.version >= 10 => slice(operands),
        "Unsqueeze" | "Squeeze" | "Reshape" => same_elements(cx, operands)?,
        "Expand" => expanded(operand(0), operand(1)),
        "ReduceProd" => reduced(cx, operand(0), |dims| dims.iter().cloned().product())?,
        "ReduceSum" => reduced(cx, operand(0), |dims| dims.iter().cloned().sum())?,
        "ReduceMin" => reduced(cx, operand(0), |dims| extreme(facts, dims, Dim::min))?,
        "ReduceMax" => reduced(cx, operand(0), |dims| extreme(facts, dims, Dim::max))?,
        _ => None,
    })
}

/// The least or the greatest of all; 0 of none, which no model asks for.
fn extreme(facts: &Facts, dims: &[Dim], join: fn(&Dim, &Dim) -> Dim) -> Dim {
    let joined = dims.iter().cloned().reduce(|a, b| join(&a, &b));
    facts.simplify(&joined.unwrap_or(Dim::ZERO))
}

fn map(t: &DimTensor, f: impl Fn(&Dim) -> Dim) -> DimTensor {
    DimTensor { dims: t.dims.iter().map(f).collect(), ..t.clone() }
}

/// `a / b` where rounding down and towards zero are the same.
fn quotient(facts: &Facts, a: &Dim, b: &Dim) -> Option<Dim> {
    (facts.is_nonnegative(a) && facts.is_positive(b)).then(|| facts.simplify(&a.floor_div(b)))
}

/// The sizes of two tensors broadcast against each other.
fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at = |s: &[usize], i: usize| (i + s.len()).checked_sub(rank).map_or(1, |j| s[j]);
    let sizes: Option<Vec<usize>> = (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (1, n) | (n, 1) => Some(n),
            (n, m) => (n == m).then_some(n),
        })
        .collect();
    sizes.filter(|s| s.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).is_some_and(|n| n <= MAX_KNOWN))
}

/// The elements of `t` in a larger shape that it broadcasts to.
fn spread(t: &DimTensor, sizes: &[usize]) -> Vec<Dim> {
    let lead = sizes.len() - t.sizes.len();
    let count: usize = sizes.iter().product();
    let element = |flat: usize| {
        let (mut rest, mut index, mut stride) = (flat, 0, 1);
        for axis in (0..sizes.len()).rev() {
            let i = rest % sizes[axis];
            rest /= sizes[axis];
            if axis >= lead {
                let size = t.sizes[axis - lead];
                index += if size == 1 { 0 } else { i * stride };
                stride *= size;
            }
        }
        t.dims[index].clone()
    };
    (0..count).map(element).collect()
}

fn zip(a: &DimTensor, b: &DimTensor, f: &dyn Fn(&Dim, &Dim) -> Option<Dim>) -> Option<DimTensor> {
    let sizes = broadcast(&a.sizes, &b.sizes).filter(|_| a.dtype == b.dtype)?;
    let pairs = spread(a, &sizes).into_iter().zip(spread(b, &sizes));
    let dims = pairs.map(|(x, y)| f(&x, &y)).collect::<Option<_>>()?;
    Some(DimTensor { dtype: a.dtype, sizes, dims })
}

fn chosen(operands: &[Option<DimTensor>]) -> Option<Item> {
    let [Some(condition), Some(a), Some(b)] = operands else { return None };
    let sizes = broadcast(&broadcast(&condition.sizes, &a.sizes)?, &b.sizes)?;
    let dtype = Some(a.dtype).filter(|d| *d == b.dtype)?;
    let (c, a, b) = (spread(condition, &sizes), spread(a, &sizes), spread(b, &sizes));
    let dims = c.iter().zip(a.into_iter().zip(b)).map(|(c, (a, b))| if c.is(0) { b } else { a }).collect();
    Some(DimTensor { dtype, sizes, dims }.into())
}

fn concat(axis: Option<i64>, parts: Option<&[&DimTensor]>) -> Option<Item> {
    let parts = parts
        .filter(|p| !p.is_empty() && p.iter().all(|t| t.sizes.len() == 1) && matches!(axis, Some(0 | -1)))?;
    let dtype = parts[0].dtype;
    if parts.iter().any(|t| t.dtype != dtype) {
        return None;
    }
    let dims: Vec<Dim> = parts.iter().flat_map(|t| t.dims.iter().cloned()).collect();
    (dims.len() <= MAX_KNOWN).then(|| DimTensor::vector(dims).of(dtype).into())
}

fn gather(data: Option<&DimTensor>, indices: Option<&DimTensor>, axis: i64) -> Option<Item> {
    let (data, indices) = (data?, indices?);
    if data.sizes.len() != 1 || !matches!(axis, 0 | -1) {
        return None;
    }
    let pick = |d: &Dim| {
        let i = d.as_const()?;
        let i = if i < 0 { i + data.dims.len() as i64 } else { i };
        data.dims.get(usize::try_from(i).ok()?).cloned()
    };
    let dims = indices.dims.iter().map(pick).collect::<Option<_>>()?;
    Some(DimTensor { dtype: data.dtype, sizes: indices.sizes.clone(), dims }.into())
}

fn slice(operands: &[Option<DimTensor>]) -> Option<Item> {
    let constant = |i: usize| match operands.get(i) {
        Some(Some(t)) => t.dims.first().filter(|_| t.dims.len() == 1).and_then(Dim::as_const),
        _ => None,
    };
    let data = operands.first()?.as_ref().filter(|t| t.sizes.len() == 1)?;
    let given = |i: usize| operands.get(i).is_some_and(Option::is_some);
    let step = if given(4) { constant(4)? } else { 1 };
    if step != 1 || (given(3) && !matches!(constant(3), Some(0 | -1))) {
        return None;
    }
    let n = data.dims.len() as i64;
    let clamp = |v: i64| if v < 0 { v.saturating_add(n).max(0) } else { v.min(n) } as usize;
    let (start, end) = (clamp(constant(1)?), clamp(constant(2)?));
    Some(DimTensor::vector(data.dims.get(start..end.max(start))?.to_vec()).of(data.dtype).into())
}

/// Operators that keep the elements and change the sizes.
fn same_elements(cx: &NodeCx<'_, '_>, operands: &[Option<DimTensor>]) -> Result<Option<Item>> {
    let Some(Some(t)) = operands.first() else { return Ok(None) };
    let constants = |t: &DimTensor| t.dims.iter().map(Dim::as_const).collect::<Option<Vec<i64>>>();
    let second = match (cx.has(1), cx.ints("axes")?) {
        (true, _) => operands.get(1).and_then(Option::as_ref).and_then(constants),
        (false, axes) => axes.map(<[i64]>::to_vec),
    };
    let sizes = match (cx.op(), second) {
        ("Unsqueeze", Some(axes)) => {
            let axes = cx.axes(&axes, t.sizes.len() + axes.len())?;
            let mut old = t.sizes.iter();
            (0..t.sizes.len() + axes.len())
                .map(|i| if axes.contains(&i) { 1 } else { old.next().copied().unwrap_or(1) })
                .collect()
        }
        ("Squeeze", None) if !cx.has(1) => t.sizes.iter().copied().filter(|s| *s != 1).collect(),
        ("Squeeze", Some(axes)) => {
            let axes = cx.axes(&axes, t.sizes.len())?;
            let kept = t.sizes.iter().enumerate().filter(|(i, _)| !axes.contains(i));
            kept.map(|(_, s)| *s).collect()
        }
        ("Reshape", Some(target)) => {
            let positive = target.iter().filter(|d| **d > 0);
            let Some(known) = positive.copied().try_fold(1i64, i64::checked_mul) else { return Ok(None) };
            let size = |d: &i64| match d {
                -1 => usize::try_from(t.dims.len() as i64 / known).ok(),
                0 => None,
                d => usize::try_from(*d).ok(),
            };
            match target.iter().map(size).collect::<Option<Vec<usize>>>() {
                Some(sizes) => sizes,
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    let fits = sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s)) == Some(t.dims.len());
    Ok(fits.then(|| DimTensor { dtype: t.dtype, sizes, dims: t.dims.clone() }.into()))
}

fn expanded(t: Option<&DimTensor>, shape: Option<&DimTensor>) -> Option<Item> {
    let t = t?;
    let sizes: Option<Vec<usize>> = shape?.dims.iter().map(|d| usize::try_from(d.as_const()?).ok()).collect();
    let sizes = broadcast(&t.sizes, &sizes?)?;
    Some(DimTensor { dtype: t.dtype, dims: spread(t, &sizes), sizes }.into())
}

/// The combination of a whole vector.
fn reduced(
    cx: &NodeCx<'_, '_>,
    t: Option<&DimTensor>,
    combine: impl Fn(&[Dim]) -> Dim,
) -> Result<Option<Item>> {
    let Some(t) = t.filter(|t| t.sizes.len() == 1 && cx.ints("axes").is_ok()) else { return Ok(None) };
    if cx.flag("noop_with_empty_axes", false)? {
        return Ok(None);
    }
    let dim = combine(&t.dims);
    Ok(Some(if cx.flag("keepdims", true)? {
        DimTensor::vector(vec![dim]).of(t.dtype).into()
    } else {
        DimTensor::scalar(dim).of(t.dtype).into()
    }))
}
