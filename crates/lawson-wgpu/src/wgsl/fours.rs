//! Which values are read four at a time, and which are mentioned by themselves: only those need a line of their own.

use crate::opcode::{Four, Halves, Listing, Op, OpCode, Test, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// Fours of values that are read as one.
pub(super) fn loaded(listing: &Listing) -> BTreeMap<ValueId, [ValueId; 4]> {
    let quads = listing.codes.iter().filter_map(|c| match c {
        OpCode::LetQuad { values, .. } => Some((values[0], *values)),
        _ => None,
    });
    quads.collect()
}

/// The values that are mentioned one by one.
pub(super) fn used(listing: &Listing, loaded: &BTreeMap<ValueId, [ValueId; 4]>) -> BTreeSet<ValueId> {
    let mut used = BTreeSet::new();
    let four = |used: &mut BTreeSet<ValueId>, four: &Four| match four {
        Four::Values(v) if loaded.get(&v[0]) != Some(v) => used.extend(v),
        Four::Values(_) | Four::Quad(_) => {}
    };
    for code in &listing.codes {
        match code {
            OpCode::Let { op, .. } => match op {
                Op::Apply(_, _, operands) | Op::Call(_, operands) => used.extend(operands),
                Op::Lookup(_, index) => {
                    used.insert(*index);
                }
                Op::Literal(_) | Op::Index(_) | Op::Load(..) => {}
                Op::Get(_) | Op::Part(..) | Op::Exchange(..) => {}
            },
            OpCode::Return(values) => used.extend(values),
            OpCode::Guard(Test::Value(value)) => {
                used.insert(*value);
            }
            OpCode::Var { init: value, .. }
            | OpCode::Set { value, .. }
            | OpCode::Store { value, .. }
            | OpCode::Quad { init: value, .. } => {
                used.insert(*value);
            }
            OpCode::StoreQuad { values, .. } => four(&mut used, values),
            OpCode::SetQuad { to, .. } => four(&mut used, to),
            OpCode::SetHalves { to: Halves::Values(values), .. } => used.extend(values),
            OpCode::StepQuad { by, of, .. } => {
                used.insert(*by);
                four(&mut used, of);
            }
            _ => {}
        }
    }
    used
}
