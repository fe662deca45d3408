//! Loops without a loop: one copy of the body for each iteration, where it is known how many there are.
//!
//! So state can be anything that a name stands for: a sequence that grows, a tensor that changes its shape. The same way a
//! body is applied to each element of a sequence.

use super::control::inlined;
use crate::item::{Item, List};
use crate::node::NodeCx;
use crate::proto::GraphProto;
use lawson_graph::{Dim, HostTensor, Result, Shape};

/// The most iterations that are written out.
const MAX_UNROLLED: i64 = 1024;

/// A loop, iteration by iteration; `None` if it is not known how often it runs.
pub(super) fn unrolled(
    cx: &mut NodeCx<'_, '_>,
    body: &GraphProto,
    mut carried: Vec<Item>,
) -> Result<Option<Vec<Item>>> {
    let single = |item: Item| item.dims().filter(|t| t.dims.len() == 1).and_then(|t| t.dims[0].as_const());
    let limit = if cx.has(0) { single(cx.item(0)?) } else { Some(i64::MAX) };
    let mut goes_on = if cx.has(1) { single(cx.item(1)?) } else { Some(1) };
    let Some(limit) = limit else { return Ok(None) };
    let mut stacks: Vec<Vec<Item>> = vec![Vec::new(); body.output.len() - carried.len() - 1];
    for i in 0..limit {
        match goes_on {
            Some(0) => break,
            Some(_) if i < MAX_UNROLLED => {}
            _ => return Ok(None),
        }
        let given = [Item::Constant(HostTensor::scalar(i)), Item::Constant(HostTensor::scalar(true))];
        let mut results = inlined(cx, body, given.into_iter().chain(carried).collect())?.into_iter();
        // The condition of the last iteration decides nothing.
        goes_on = results.next().and_then(single).or((i + 1 == limit).then_some(1));
        carried = results.by_ref().take(cx.operands().saturating_sub(2)).collect();
        stacks.iter_mut().zip(results).for_each(|(stack, item)| stack.push(item));
    }
    for stack in stacks {
        carried.push(stacked(cx, &stack)?);
    }
    Ok(Some(carried))
}

/// Tensors of one shape along a new first axis.
pub(super) fn stacked(cx: &mut NodeCx<'_, '_>, items: &[Item]) -> Result<Item> {
    if items.is_empty() {
        return Err(cx.unsupported("a loop that stacks results and never runs"));
    }
    let mut parts = Vec::with_capacity(items.len());
    for item in items {
        let x = item.build(cx.b)?;
        let dims = [Dim::ONE].into_iter().chain(cx.b.shape(x)?.into_dims()).collect::<Shape>();
        parts.push(cx.b.reshape(x, dims)?);
    }
    cx.b.concat(&parts, 0).map(Item::Value)
}

/// A body applied to the elements of a sequence, or of several side by side, other operands being the same for all.
pub(super) fn sequence_map(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let body = cx.graph("body")?;
    let operands = (0..cx.operands()).map(|i| cx.item(i)).collect::<Result<Vec<_>>>()?;
    let Some(Item::Sequence(first)) = operands.first() else {
        return Err(cx.unsupported("`SequenceMap` over a sequence whose length is known only in a run"));
    };
    let length = first.items.len();
    let mut lists: Vec<Vec<Item>> = vec![Vec::new(); body.output.len()];
    for i in 0..length {
        let mut given = Vec::with_capacity(operands.len());
        for operand in &operands {
            given.push(match operand {
                Item::Sequence(list) => list.items.get(i).cloned().ok_or_else(|| {
                    cx.wrong(format!("sequences of {} and {length} elements", list.items.len()))
                })?,
                other => other.clone(),
            });
        }
        let results = inlined(cx, body, given)?;
        lists.iter_mut().zip(results).for_each(|(list, item)| list.push(item));
    }
    let mut results = Vec::with_capacity(lists.len());
    for items in lists {
        let dtype = match items.first() {
            Some(item) => item.tensor_type(cx.b)?.0,
            None => first.dtype,
        };
        results.push(Item::Sequence(List { dtype, items }));
    }
    Ok(results)
}
