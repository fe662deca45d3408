//! Sequences and optionals: making them, and taking them apart. They live on the host.

use super::infer::{Accept, Infer};
use crate::attributes;
use crate::dim::{Dim, Symbol};
use crate::dtype::DType;
use crate::error::{Code, Result};
use crate::types::{SequenceType, Shape, TensorType, Type};

attributes! {
    /// A sequence of the operands, in order.
    pub struct SeqMake {
        /// The type of the sequence, which the operands must fit.
        pub ty: Type,
    }
}

attributes! {
    /// `seq_at(sequence, index)`: one element. The i64 index is clamped; an empty sequence is an error of the run.
    pub struct SeqAt {
        /// A new symbol for each open dimension of the sequence's element type.
        pub defines: Vec<Symbol> = Vec::new(),
        /// How many of the first dimensions of the element type the element lacks. That it does is checked in the run.
        pub missing: usize = 0,
    }
}

attributes! {
    /// The absent optional.
    pub struct OptNone {
        /// The type that is absent.
        pub ty: Type,
    }
}

/// Checks that a tensor can be an element of the sequence.
fn check_element(cx: Infer<'_>, operand: usize, sequence: &SequenceType) -> Result<()> {
    let t = cx.tensor(operand, Accept::ANY)?;
    let Some(dims) = sequence.dims_of_rank(t.rank()) else {
        let message = format!("elements of {sequence} do not have {} dimensions", t.rank());
        return Err(cx.error(Code::OperandRank, operand, message));
    };
    let refuse = |what: String| Err(cx.error(Code::DimMismatch, operand, what));
    if t.dtype != sequence.element.dtype {
        let message = format!("the sequence holds {}, not {}", sequence.element.dtype, t.dtype);
        return Err(cx.error(Code::OperandDType, operand, message));
    }
    for (axis, (have, want)) in t.shape.iter().zip(dims).enumerate() {
        match open_index(want) {
            Some(i) => {
                let bound = sequence.open.get(i).cloned().unwrap_or(Dim::ZERO);
                if !cx.facts.proves_ge(&bound, have) {
                    return refuse(format!(
                        "axis {axis} is {have}, which is not known to be at most {bound}"
                    ));
                }
            }
            None if cx.facts.equal(have, want) => {}
            None => {
                return refuse(format!("axis {axis} is {have}, but elements of the sequence have {want}"));
            }
        }
    }
    Ok(())
}

fn open_index(dim: &Dim) -> Option<usize> {
    dim.as_symbol()?.name().strip_prefix('?')?.parse().ok()
}

fn check_sequence_type(cx: Infer<'_>, s: &SequenceType) -> Result<()> {
    cx.check_nonnegative("ty", &s.max_len)?;
    if s.least_rank > s.element.rank() {
        let message = format!("elements cannot have more dimensions than {}", s.element);
        return Err(cx.attr_error("ty", message));
    }
    let mut bad = None;
    for d in s.element.shape.iter() {
        match open_index(d) {
            Some(i) if i >= s.open.len() => bad = Some(d.clone()),
            Some(_) => {}
            None => cx.check_nonnegative("ty", d)?,
        }
    }
    match bad {
        Some(d) => Err(cx.attr_error("ty", format!("the open dimension `{d}` has no bound"))),
        None => s.open.iter().try_for_each(|d| cx.check_nonnegative("ty", d)),
    }
}

fn index_operand(cx: Infer<'_>, operand: usize) -> Result<()> {
    cx.ranked(operand, Accept("i64", |d| d == DType::I64), 0).map(|_| ())
}

impl SeqMake {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        let Type::Sequence(s) = &self.ty else {
            return Err(cx.attr_error("ty", format!("expected a sequence type, found {}", self.ty)));
        };
        check_sequence_type(cx, s)?;
        if !cx.facts.proves_ge(&s.max_len, &Dim::from(cx.inputs.len())) {
            return Err(cx.attr_error("ty", format!("{} elements do not fit in {s}", cx.inputs.len())));
        }
        (0..cx.inputs.len()).try_for_each(|i| check_element(cx, i, s))?;
        Ok(vec![self.ty.clone()])
    }
}

impl SeqAt {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(2)?;
        let s = cx.sequence(0)?;
        index_operand(cx, 1)?;
        cx.check_len("defines", self.defines.len(), s.open.len())?;
        let rank = s.element.rank().checked_sub(self.missing);
        let Some(dims) = rank.and_then(|rank| s.dims_of_rank(rank)) else {
            let message = format!("no element of {s} lacks {} dimensions", self.missing);
            return Err(cx.attr_error("missing", message));
        };
        let shape: Shape = dims
            .iter()
            .map(|d| match open_index(d) {
                Some(i) => self.defines.get(i).map_or_else(Dim::overflow, |s| Dim::from(s.clone())),
                None => d.clone(),
            })
            .collect();
        cx.result(s.element.dtype, shape)
    }

    /// The bounds of the symbols that it defines.
    pub fn bounds(&self, sequence: &Type) -> Vec<(Symbol, Dim)> {
        match sequence {
            Type::Sequence(s) => self.defines.iter().cloned().zip(s.open.iter().cloned()).collect(),
            _ => Vec::new(),
        }
    }
}

/// `seq_insert(sequence, element, index)`: the element before the i64 index, clamped to `0..=length`. A sequence that
/// is already full is an error of the run.
pub fn infer_seq_insert(cx: Infer<'_>) -> Result<Vec<Type>> {
    cx.count(3)?;
    let s = cx.sequence(0)?;
    check_element(cx, 1, s)?;
    index_operand(cx, 2)?;
    Ok(vec![cx.inputs[0].clone()])
}

/// `seq_erase(sequence, index)`: without the element at the i64 index, clamped; an empty sequence stays empty.
pub fn infer_seq_erase(cx: Infer<'_>) -> Result<Vec<Type>> {
    cx.count(2)?;
    cx.sequence(0)?;
    index_operand(cx, 1)?;
    Ok(vec![cx.inputs[0].clone()])
}

/// `seq_len(sequence)`: how many elements, an i64 scalar.
pub fn infer_seq_len(cx: Infer<'_>) -> Result<Vec<Type>> {
    cx.count(1)?;
    cx.sequence(0)?;
    Ok(vec![TensorType::scalar(DType::I64).into()])
}

/// `opt_some(x)`: the optional that holds x.
pub fn infer_opt_some(cx: Infer<'_>) -> Result<Vec<Type>> {
    cx.count(1)?;
    match cx.inputs[0] {
        Type::Optional(_) => Err(cx.error(Code::OperandKind, 0, "expected a tensor or a sequence")),
        other => Ok(vec![Type::Optional(Box::new(other.clone()))]),
    }
}

/// `opt_has(x)`: whether there is a value, a bool scalar.
pub fn infer_opt_has(cx: Infer<'_>) -> Result<Vec<Type>> {
    cx.count(1)?;
    cx.optional(0)?;
    Ok(vec![TensorType::scalar(DType::Bool).into()])
}

/// `opt_get(x)`: the value; its absence is an error of the run.
pub fn infer_opt_get(cx: Infer<'_>) -> Result<Vec<Type>> {
    cx.count(1)?;
    Ok(vec![cx.optional(0)?.clone()])
}

impl OptNone {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(0)?;
        match &self.ty {
            Type::Optional(_) => Err(cx.attr_error("ty", "an optional of an optional has no use")),
            Type::Sequence(s) => {
                check_sequence_type(cx, s)?;
                Ok(vec![Type::Optional(Box::new(self.ty.clone()))])
            }
            Type::Tensor(t) => {
                super::source::check_dims(cx, "ty", &t.shape)?;
                Ok(vec![Type::Optional(Box::new(self.ty.clone()))])
            }
        }
    }
}
