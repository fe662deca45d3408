//! `Scan`: a body over slices of tensors. Lawson's `scan` goes along axis 0, forwards; other axes are moved there and back, and
//! other directions turned around.

use super::control::{Body, captures, parameter_name};
use crate::item::Item;
use crate::node::NodeCx;
use crate::proto::GraphProto;
use lawson_graph::op::{Scan, Slice};
use lawson_graph::{Builder, Dim, Op, Result, Shape, Type, ValueId};

/// The elements along axis 0 from the last to the first.
pub(super) fn reversed(b: &mut Builder<'static>, x: ValueId, axis: usize) -> Result<ValueId> {
    let shape = b.shape(x)?;
    let mut slice =
        Slice { start: vec![Dim::ZERO; shape.rank()], size: shape.to_vec(), step: vec![1; shape.rank()] };
    (slice.start[axis], slice.step[axis]) = (shape[axis].clone() - 1, -1);
    b.op1(Op::Slice(slice), &[x])
}

/// With an axis moved to the front, or the front to an axis.
fn moved(b: &mut Builder<'static>, x: ValueId, axis: usize, to_front: bool) -> Result<ValueId> {
    let rank = b.tensor_type(x)?.rank();
    let mut perm: Vec<usize> = (0..rank).filter(|a| *a != if to_front { axis } else { 0 }).collect();
    perm.insert(if to_front { 0 } else { axis }, if to_front { axis } else { 0 });
    b.transpose(x, &perm)
}

/// One number a tensor, 0 where nothing is said.
fn numbers(cx: &NodeCx<'_, '_>, name: &'static str, count: usize) -> Result<Vec<i64>> {
    let given = cx.ints(name)?.map_or_else(|| vec![0; count], <[i64]>::to_vec);
    match given.len() == count {
        true => Ok(given),
        false => Err(cx.wrong(format!("`{name}` has {} entries for {count} tensors", given.len()))),
    }
}

fn scanned_count(cx: &NodeCx<'_, '_>, operands: usize) -> Result<usize> {
    let Some(said) = cx.int("num_scan_inputs")? else {
        return Err(cx
            .wrong("`Scan` does not say how many of its operands are scanned")
            .help("say it as `num_scan_inputs`"));
    };
    usize::try_from(said).ok().filter(|n| *n >= 1 && *n <= operands).ok_or_else(|| {
        cx.wrong(format!("`num_scan_inputs` of `Scan` is {said}, and it has {operands} operands"))
            .help("it can be 1 to the number of operands")
    })
}

pub(super) fn scan(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let operands = cx.values()?;
    let scanned = scanned_count(cx, operands.len())?;
    let carried = operands.len() - scanned;
    let body = cx.graph("body")?;
    let stacks = body.output.len().saturating_sub(carried);
    let (axes, backwards) =
        (numbers(cx, "scan_input_axes", scanned)?, numbers(cx, "scan_input_directions", scanned)?);
    let mut operands = operands;
    for (i, (axis, back)) in axes.iter().zip(backwards).enumerate() {
        let x = &mut operands[carried + i];
        let axis = cx.axis(*axis, cx.b.tensor_type(*x)?.rank())?;
        *x = moved(cx.b, *x, axis, true)?;
        if back != 0 {
            *x = reversed(cx.b, *x, 0)?;
        }
    }
    let mut results = repeated(cx, body, &operands, carried)?;
    let (axes, backwards) =
        (numbers(cx, "scan_output_axes", stacks)?, numbers(cx, "scan_output_directions", stacks)?);
    for (i, (axis, back)) in axes.iter().zip(backwards).enumerate() {
        let y = &mut results[carried + i];
        if back != 0 {
            *y = reversed(cx.b, *y, 0)?;
        }
        let axis = cx.axis(*axis, cx.b.tensor_type(*y)?.rank())?;
        *y = moved(cx.b, *y, axis, false)?;
    }
    Ok(results.into_iter().map(Item::Value).collect())
}

/// Version 8: the first axis is that of a batch, whose entries are gone through one after another.
pub(super) fn scan_batches(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    if cx.has(0) {
        return Err(cx.unsupported("`Scan` of version 8 with lengths for each entry of the batch"));
    }
    let operands = (1..cx.operands()).map(|i| cx.value(i)).collect::<Result<Vec<_>>>()?;
    let scanned = scanned_count(cx, operands.len())?;
    let backwards = numbers(cx, "directions", scanned)?;
    let body = cx.graph("body")?;
    let batch = operands.first().map(|v| cx.b.shape(*v)).transpose()?.and_then(|s| s.first()?.as_const());
    let Some(batch) = batch.filter(|n| (1..=64).contains(n)) else {
        return Err(cx.unsupported("`Scan` of version 8 over a batch of unknown or great size"));
    };
    let carried = operands.len() - scanned;
    let mut entries: Vec<Vec<ValueId>> = vec![Vec::new(); body.output.len()];
    for entry in 0..batch {
        let mut own = Vec::with_capacity(operands.len());
        for (i, x) in operands.iter().enumerate() {
            let part = cx.b.slice_axis(*x, 0, entry, 1)?;
            let dims = cx.b.shape(part)?.iter().skip(1).cloned().collect::<Shape>();
            let part = cx.b.reshape(part, dims)?;
            let back = i.checked_sub(carried).is_some_and(|i| backwards[i] != 0);
            own.push(if back { reversed(cx.b, part, 0)? } else { part });
        }
        for (all, y) in entries.iter_mut().zip(repeated(cx, body, &own, carried)?) {
            let dims = [Dim::ONE].into_iter().chain(cx.b.shape(y)?.into_dims()).collect::<Shape>();
            all.push(cx.b.reshape(y, dims)?);
        }
    }
    entries.iter().map(|parts| cx.b.concat(parts, 0).map(Item::Value)).collect()
}

/// The scan over axis 0 of all operands but the carried ones.
fn repeated(
    cx: &mut NodeCx<'_, '_>,
    graph: &GraphProto,
    operands: &[ValueId],
    carried: usize,
) -> Result<Vec<ValueId>> {
    let captures = captures(cx, &[graph]);
    let mut body = Body::new(cx, "body")?;
    if graph.input.len() != operands.len() || graph.output.len() < carried {
        return Err(cx.wrong(format!(
            "the body of `Scan` takes {} and gives {} values, for {} operands",
            graph.input.len(),
            graph.output.len(),
            operands.len()
        )));
    }
    for (i, v) in operands.iter().enumerate() {
        let ty = cx.b.tensor_type(*v)?.clone();
        let ty = match i < carried {
            true => Type::Tensor(ty),
            false => Type::tensor(ty.dtype, ty.shape.iter().skip(1).cloned().collect::<Shape>()),
        };
        body.parameter(&parameter_name(graph, i), ty)?;
    }
    body.capture(cx, &captures)?;
    let results = body.fill(cx, graph)?;
    let body = body.finish(&results)?;
    let length = operands.get(carried).map(|v| cx.b.shape(*v)).transpose()?;
    let Some(length) = length.and_then(|s| s.first().cloned()) else {
        return Err(cx.wrong("`Scan` over a scalar"));
    };
    let all: Vec<ValueId> = operands.iter().copied().chain(captures.iter().map(|c| c.value)).collect();
    let scan = Scan { carried, scanned: operands.len() - carried, length, reverse: false, body };
    cx.b.op(Op::Scan(scan), &all)
}
