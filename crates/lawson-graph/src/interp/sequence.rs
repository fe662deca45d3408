//! Sequences and optionals: lists of shared tensors, taken apart and put together.

use super::array::Array;
use super::machine::{Item, Machine, tensor};
use super::mode::{Carrier, Mode, Whole};
use crate::error::{Code, Error, Result};
use crate::op::SeqAt;
use crate::types::SequenceType;

/// The elements of operand 0.
pub(super) fn elements<M: Mode>(operands: &[Item<M>]) -> Result<&[Array<M>]> {
    match operands.first() {
        Some(Item::Sequence(v)) => Ok(v),
        _ => Err(Error::internal("operand 0 is no sequence")),
    }
}

/// An index, clamped to `0..=last`, and whether it is known exactly.
fn place<M: Mode>(index: &Array<M>, last: usize) -> Result<(usize, bool)> {
    let index = index.int_scalar()?;
    Ok((index.value().clamp(0, last as i128) as usize, index.is_exact()))
}

/// One element; its open dimensions give the operator's symbols their values.
pub(super) fn at<M: Mode>(
    machine: &mut Machine<'_, M>,
    op: &SeqAt,
    ty: &SequenceType,
    operands: &[Item<M>],
) -> Result<Array<M>> {
    let elements = elements(operands)?;
    let Some(last) = elements.len().checked_sub(1) else {
        return Err(Error::new(Code::Runtime, "an element of an empty sequence was asked for")
            .help("ask for `seq_len` first, and branch"));
    };
    let (at, exact) = place(tensor(operands, 1)?, last)?;
    let element = &elements[at];
    let expected = ty.element.rank() - op.missing.min(ty.element.rank());
    if element.sizes.len() != expected {
        let message =
            format!("element {at} of a sequence has {} dimensions, not {expected}", element.sizes.len());
        return Err(Error::new(Code::Runtime, message)
            .help("give each element of another rank a `seq_at` of its own"));
    }
    for (size, dim) in element.sizes.iter().zip(&ty.element.shape[op.missing..]) {
        for (i, symbol) in op.defines.iter().enumerate() {
            if dim.as_symbol() == Some(&SequenceType::open_symbol(i)) {
                machine.bindings.define(symbol.clone(), *size as i64, format!("element {at} of a sequence"));
            }
        }
    }
    // An open dimension that no axis of the element has is free.
    for symbol in &op.defines {
        if machine.bindings.get(symbol).is_none() {
            machine.bindings.define(symbol.clone(), 0, "an empty dimension");
        }
    }
    if exact {
        return Ok(element.clone());
    }
    if !op.defines.is_empty() {
        machine.lose_track();
    }
    match machine.unknown(&Item::Tensor(element.clone()))? {
        Item::Tensor(x) => Ok(x),
        _ => Err(Error::internal("a tensor stays a tensor")),
    }
}

/// The sequence with one element more; `max` is its greatest length.
pub(super) fn insert<M: Mode>(
    machine: &mut Machine<'_, M>,
    max: i64,
    operands: &[Item<M>],
) -> Result<Item<M>> {
    let mut list = elements(operands)?.to_vec();
    if list.len() as i128 >= i128::from(max) {
        return Err(Error::new(Code::Runtime, format!("a sequence of at most {max} elements is full"))
            .help("give the sequence's type a greater bound"));
    }
    let (at, exact) = place(tensor(operands, 2)?, list.len())?;
    list.insert(at, tensor(operands, 1)?.clone());
    if exact { Ok(Item::Sequence(list)) } else { machine.unknown(&Item::Sequence(list)) }
}

/// The sequence with one element less; an empty one stays empty.
pub(super) fn erase<M: Mode>(machine: &mut Machine<'_, M>, operands: &[Item<M>]) -> Result<Item<M>> {
    let mut list = elements(operands)?.to_vec();
    let Some(last) = list.len().checked_sub(1) else { return Ok(Item::Sequence(list)) };
    let (at, exact) = place(tensor(operands, 1)?, last)?;
    list.remove(at);
    if exact { Ok(Item::Sequence(list)) } else { machine.unknown(&Item::Sequence(list)) }
}

fn optional<M: Mode>(operands: &[Item<M>]) -> Result<Option<&Item<M>>> {
    match operands.first() {
        Some(Item::Optional(inner)) => Ok(inner.as_deref()),
        _ => Err(Error::internal("operand 0 is no optional")),
    }
}

/// Whether the optional holds something.
pub(super) fn has<M: Mode>(operands: &[Item<M>]) -> Result<bool> {
    Ok(optional(operands)?.is_some())
}

/// What the optional holds.
pub(super) fn get<M: Mode>(operands: &[Item<M>]) -> Result<Item<M>> {
    optional(operands)?.cloned().ok_or_else(|| {
        Error::new(Code::Runtime, "the value of an absent optional was asked for")
            .help("ask for `opt_has` first, and branch")
    })
}
