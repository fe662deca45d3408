//! Elementwise primitives: unary, binary, compare, select, cast, bitcast. In: operands of equal sizes; out: elements.

use super::array::{Array, Data};
use super::machine::Machine;
use super::mode::{Carrier, Mode, Real, Whole};
use super::scalar;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::{BinaryKind, CompareKind, UnaryKind};

pub(super) fn unary<M: Mode>(kind: UnaryKind, x: &Array<M>) -> Result<Data<M>> {
    Ok(match x.data() {
        Data::Float(v) => Data::Float(v.iter().map(|e| e.unary(kind, x.dtype)).collect()),
        Data::Int(v) => Data::Int(v.iter().map(|e| e.unary(kind, x.dtype)).collect()),
        Data::Text(_) => return Err(no_text(kind.name())),
    })
}

pub(super) fn binary<M: Mode>(kind: BinaryKind, a: &Array<M>, b: &Array<M>) -> Result<Data<M>> {
    let dtype = a.dtype;
    Ok(match (a.data(), b.data()) {
        (Data::Float(x), Data::Float(_)) if kind == BinaryKind::Mul && a.is_same(b) => {
            Data::Float(x.iter().map(|e| e.square(dtype)).collect())
        }
        (Data::Float(x), Data::Float(y)) => {
            Data::Float(x.iter().zip(y).map(|(e, f)| e.binary(kind, *f, dtype)).collect())
        }
        (Data::Int(x), Data::Int(y)) => {
            Data::Int(x.iter().zip(y).map(|(e, f)| e.binary(kind, *f, dtype)).collect())
        }
        _ => return Err(no_text(kind.name())),
    })
}

pub(super) fn compare<M: Mode>(kind: CompareKind, a: &Array<M>, b: &Array<M>) -> Result<Data<M>> {
    Ok(Data::Int(match (a.data(), b.data()) {
        (Data::Float(x), Data::Float(y)) => x.iter().zip(y).map(|(e, f)| e.compare(kind, *f)).collect(),
        (Data::Int(x), Data::Int(y)) => x.iter().zip(y).map(|(e, f)| e.compare(kind, *f)).collect(),
        (Data::Text(x), Data::Text(y)) => {
            x.iter().zip(y).map(|(e, f)| M::Int::exact(i128::from(scalar::compare(kind, e, f)))).collect()
        }
        _ => return Err(Error::internal("operands of two kinds are compared")),
    }))
}

/// An element of `a` or of `b`; of which one is not known where the condition is not.
pub(super) fn select<M: Mode>(
    machine: &mut Machine<'_, M>,
    condition: &Array<M>,
    a: &Array<M>,
    b: &Array<M>,
) -> Result<Data<M>> {
    let condition = condition.ints()?;
    Ok(match (a.data(), b.data()) {
        (Data::Float(x), Data::Float(y)) => Data::Float(choose(condition, x, y)),
        (Data::Int(x), Data::Int(y)) => Data::Int(choose(condition, x, y)),
        (Data::Text(x), Data::Text(y)) => {
            if !condition.iter().all(|c| c.is_exact()) {
                machine.lose_track();
            }
            let pick = condition.iter().zip(x.iter().zip(y));
            Data::Text(pick.map(|(c, (e, f))| if c.value() != 0 { e.clone() } else { f.clone() }).collect())
        }
        _ => return Err(Error::internal("operands of two kinds are selected from")),
    })
}

fn choose<I: Whole, T: Carrier>(condition: &[I], x: &[T], y: &[T]) -> Vec<T> {
    let pick = |c: &I, e: T, f: T| {
        let (chosen, other) = if c.value() != 0 { (e, f) } else { (f, e) };
        if c.is_exact() { chosen } else { chosen.either(other) }
    };
    condition.iter().zip(x.iter().zip(y)).map(|(c, (e, f))| pick(c, *e, *f)).collect()
}

pub(super) fn cast<M: Mode>(to: DType, x: &Array<M>) -> Result<Data<M>> {
    Ok(match x.data() {
        Data::Float(v) if to == x.dtype => Data::Float(v.clone()),
        Data::Float(v) if to.is_float() => Data::Float(v.iter().map(|e| e.to_float(to)).collect()),
        Data::Float(v) => Data::Int(v.iter().map(|e| e.to_int(to)).collect()),
        Data::Int(v) if to.is_float() => Data::Float(v.iter().map(|e| e.to_float(to)).collect()),
        Data::Int(v) => Data::Int(v.iter().map(|e| e.to_int(to)).collect()),
        Data::Text(_) => return Err(no_text("cast")),
    })
}

pub(super) fn bitcast<M: Mode>(to: DType, x: &Array<M>) -> Result<Data<M>> {
    let from = x.dtype;
    Ok(match x.data() {
        Data::Float(v) if from == to => Data::Float(v.clone()),
        Data::Float(v) if to.is_float() => Data::Float(v.iter().map(|e| reread(*e, from, to)).collect()),
        Data::Float(v) => Data::Int(v.iter().map(|e| e.to_bits(from, to)).collect()),
        Data::Int(v) if to.is_float() => Data::Float(v.iter().map(|e| e.to_bits(from, to)).collect()),
        Data::Int(v) => Data::Int(v.iter().map(|e| e.to_int(to)).collect()),
        Data::Text(_) => return Err(no_text("bitcast")),
    })
}

/// The bits of one float dtype as another, through the unsigned integer of that width.
fn reread<R: Real>(x: R, from: DType, to: DType) -> R {
    let bits = match from.bits() {
        8 => DType::U8,
        16 => DType::U16,
        32 => DType::U32,
        _ => DType::U64,
    };
    x.to_bits(from, bits).to_bits(bits, to)
}

fn no_text(op: &str) -> Error {
    Error::internal(format!("`{op}` came upon text"))
}
