//! The context of inference: operand access and checks whose errors say which operand, what was expected, what came.

use crate::dim::{Dim, Facts};
use crate::dtype::DType;
use crate::error::{Code, Error, Place, Result};
use crate::types::{SequenceType, Shape, TensorType, Type};

/// What inference of one operator sees: its name, its operands' types and what is known about symbols.
#[derive(Clone, Copy, Debug)]
pub struct Infer<'a> {
    /// The operator's name, for messages.
    pub op: &'a str,
    /// What is known about symbols.
    pub facts: &'a Facts,
    /// The operands' types.
    pub inputs: &'a [&'a Type],
}

/// A set of dtypes that an operand may have, with its name for messages.
#[derive(Clone, Copy, Debug)]
pub struct Accept(pub &'static str, pub fn(DType) -> bool);

impl Accept {
    /// Anything.
    pub const ANY: Accept = Accept("any dtype", |_| true);
    /// Anything that has bytes.
    pub const NOT_TEXT: Accept = Accept("any dtype but str", |d| d != DType::Str);
    /// Integers and floats.
    pub const NUMBER: Accept = Accept("a number", DType::has_arithmetic);
    /// Integers, floats and bool.
    pub const NUMBER_OR_BOOL: Accept = Accept("a number or bool", |d| d.has_arithmetic() || d == DType::Bool);
    /// Floats.
    pub const FLOAT: Accept = Accept("a float", |d| d.is_float() && d.has_arithmetic());
    /// Integers.
    pub const INT: Accept = Accept("an integer", DType::is_int);
    /// Integers and bool.
    pub const INT_OR_BOOL: Accept = Accept("an integer or bool", |d| d.is_int() || d == DType::Bool);
    /// Signed integers and floats.
    pub const SIGNED: Accept = Accept("a signed number", |d| d.has_arithmetic() && d.is_signed());
    /// The dtypes of indices.
    pub const INDEX: Accept = Accept("i32 or i64", |d| matches!(d, DType::I32 | DType::I64));
    /// Truth values.
    pub const BOOL: Accept = Accept("bool", |d| d == DType::Bool);
}

impl<'a> Infer<'a> {
    /// The place of an operand.
    pub fn operand(&self, index: usize) -> Place {
        let what = self.inputs.get(index).map_or_else(|| "absent".to_string(), |t| t.to_string());
        Place::Operand { op: self.op.to_string(), index, what }
    }

    /// An error about an operand.
    pub fn error(&self, code: Code, index: usize, message: impl Into<String>) -> Error {
        Error::new(code, message).at(self.operand(index))
    }

    /// An error about an attribute.
    pub fn attr_error(&self, name: &str, message: impl Into<String>) -> Error {
        Error::new(Code::Attribute, message)
            .at(Place::Attribute { op: self.op.to_string(), name: name.to_string() })
    }

    /// Checks the number of operands.
    pub fn count(&self, expected: usize) -> Result<()> {
        if self.inputs.len() == expected {
            return Ok(());
        }
        Err(Error::new(
            Code::OperandCount,
            format!(
                "`{}` takes {expected} operand{}, but {} came",
                self.op,
                plural(expected),
                self.inputs.len()
            ),
        ))
    }

    /// Checks the least number of operands.
    pub fn at_least(&self, expected: usize) -> Result<()> {
        if self.inputs.len() >= expected {
            return Ok(());
        }
        Err(Error::new(
            Code::OperandCount,
            format!(
                "`{}` takes at least {expected} operand{}, but {} came",
                self.op,
                plural(expected),
                self.inputs.len()
            ),
        ))
    }

    /// An operand that must be a tensor of an accepted dtype.
    pub fn tensor(&self, index: usize, accept: Accept) -> Result<&'a TensorType> {
        let Some(Type::Tensor(t)) = self.inputs.get(index).copied() else {
            return Err(self.error(Code::OperandKind, index, "expected a tensor"));
        };
        if !accept.1(t.dtype) {
            return Err(self
                .error(Code::OperandDType, index, format!("expected {}, found {}", accept.0, t.dtype))
                .help("insert a `cast`"));
        }
        Ok(t)
    }

    /// An operand that must be a tensor of that rank.
    pub fn ranked(&self, index: usize, accept: Accept, rank: usize) -> Result<&'a TensorType> {
        let t = self.tensor(index, accept)?;
        if t.rank() != rank {
            let message = format!("expected {rank} dimension{}, found {}", plural(rank), t.rank());
            return Err(self.error(Code::OperandRank, index, message));
        }
        Ok(t)
    }

    /// An operand that must be a sequence.
    pub fn sequence(&self, index: usize) -> Result<&'a SequenceType> {
        match self.inputs.get(index).copied() {
            Some(Type::Sequence(s)) => Ok(s),
            _ => Err(self.error(Code::OperandKind, index, "expected a sequence")),
        }
    }

    /// An operand that must be an optional.
    pub fn optional(&self, index: usize) -> Result<&'a Type> {
        match self.inputs.get(index).copied() {
            Some(Type::Optional(t)) => Ok(t),
            _ => Err(self.error(Code::OperandKind, index, "expected an optional")),
        }
    }

    /// Checks that two operands have one dtype.
    pub fn same_dtype(&self, a: usize, b: usize) -> Result<DType> {
        let (x, y) = (self.tensor(a, Accept::ANY)?, self.tensor(b, Accept::ANY)?);
        if x.dtype == y.dtype {
            return Ok(x.dtype);
        }
        let message = format!("expected {} as operand {a} has, found {}", x.dtype, y.dtype);
        Err(self.error(Code::OperandDType, b, message).at(self.operand(a)).help("insert a `cast`"))
    }

    /// Checks that two operands have one shape, and returns it.
    pub fn same_shape(&self, a: usize, b: usize) -> Result<&'a Shape> {
        let (x, y) = (self.tensor(a, Accept::ANY)?, self.tensor(b, Accept::ANY)?);
        if x.rank() != y.rank() {
            let message = format!(
                "expected {} dimension{} as operand {a} has, found {}",
                x.rank(),
                plural(x.rank()),
                y.rank()
            );
            return Err(self
                .error(Code::OperandRank, b, message)
                .at(self.operand(a))
                .help("insert a `broadcast`; primitives do not broadcast by themselves"));
        }
        for axis in 0..x.rank() {
            self.unify((a, axis), (b, axis))?;
        }
        Ok(&x.shape)
    }

    /// Checks that two dimensions, each an axis of a tensor operand, are equal, and returns the simpler.
    pub fn unify(&self, a: (usize, usize), b: (usize, usize)) -> Result<&'a Dim> {
        let x = self.axis(a)?;
        let y = self.axis(b)?;
        if self.facts.equal(x, y) {
            return Ok(if y.as_const().is_some() { y } else { x });
        }
        let ((i, p), (j, q)) = (a, b);
        let message = if self.facts.differ(x, y) {
            format!("axis {q} of operand {j} is {y}, but axis {p} of operand {i} is {x}")
        } else {
            format!(
                "axis {q} of operand {j} is {y}, which is not known to equal {x}, axis {p} of operand {i}"
            )
        };
        let error = self.error(Code::DimMismatch, j, message).at(self.operand(i));
        Err(match (x.as_const(), y.as_const()) {
            (Some(1), _) | (_, Some(1)) => {
                error.help("insert a `broadcast`; primitives do not broadcast by themselves")
            }
            (Some(_), Some(_)) => error,
            _ => error.help(format!("if they are always equal, say so: `where {x} == {y}`")),
        })
    }

    fn axis(&self, (operand, axis): (usize, usize)) -> Result<&'a Dim> {
        let t = self.tensor(operand, Accept::ANY)?;
        t.shape.get(axis).ok_or_else(|| {
            self.error(
                Code::OperandRank,
                operand,
                format!("there is no axis {axis} in {} dimensions", t.rank()),
            )
        })
    }

    /// Checks an axis of an operand of that rank.
    pub fn check_axis(&self, name: &str, axis: usize, rank: usize) -> Result<()> {
        if axis < rank {
            return Ok(());
        }
        Err(self.attr_error(name, format!("axis {axis} is not in 0..{rank}")))
    }

    /// Checks that axes lie in the rank and do not repeat.
    pub fn check_axes(&self, name: &str, axes: &[usize], rank: usize) -> Result<()> {
        for (i, axis) in axes.iter().enumerate() {
            self.check_axis(name, *axis, rank)?;
            if axes[..i].contains(axis) {
                return Err(self.attr_error(name, format!("axis {axis} stands twice")));
            }
        }
        Ok(())
    }

    /// Checks that a list attribute has one entry for each of `expected` axes.
    pub fn check_len(&self, name: &str, len: usize, expected: usize) -> Result<()> {
        if len == expected {
            return Ok(());
        }
        Err(self.attr_error(name, format!("expected {expected} entries, found {len}")))
    }

    /// Checks that numbers are at least `least`.
    pub fn check_least(&self, name: &str, values: &[i64], least: i64) -> Result<()> {
        match values.iter().find(|v| **v < least) {
            Some(v) => Err(self.attr_error(name, format!("expected numbers from {least}, found {v}"))),
            None => Ok(()),
        }
    }

    /// Checks that a dimension is never negative.
    pub fn check_nonnegative(&self, name: &str, dim: &Dim) -> Result<()> {
        if self.facts.is_nonnegative(dim) {
            return Ok(());
        }
        Err(Error::new(Code::OutOfBounds, format!("`{dim}` is not known to be at least 0"))
            .at(Place::Attribute { op: self.op.to_string(), name: name.to_string() })
            .help(format!("if it always is, say so: `where {dim} >= 0`")))
    }

    /// A tensor result; refuses shapes that do not fit.
    pub fn result(&self, dtype: DType, shape: impl Into<Shape>) -> Result<Vec<Type>> {
        let shape = shape.into();
        check_shape(&shape)
            .map_err(|e| Error::new(e.code(), format!("the result of `{}`: {}", self.op, e.message())))?;
        Ok(vec![Type::tensor(dtype, shape)])
    }
}

/// Refuses shapes with poisoned or negative dimensions, or with too many elements.
pub fn check_shape(shape: &Shape) -> Result<()> {
    const MOST: i128 = (i64::MAX / 128) as i128;
    // Zeros may stand beside huge dimensions; the elements are counted without them. An expression counts by its
    // coefficients: those of the product are at most the product of their sums.
    let mut counted: i128 = 1;
    for d in shape.iter() {
        match d.as_const() {
            Some(c) if c < 0 => {
                return Err(Error::new(
                    Code::OutOfBounds,
                    format!("the shape {shape} has a negative dimension"),
                ));
            }
            Some(0) => {}
            _ => counted = counted.saturating_mul(d.coefficient_sum()),
        }
    }
    if counted <= MOST {
        return Ok(());
    }
    let exact: Dim = shape.iter().filter(|d| !d.is(0)).cloned().product();
    if exact.is_overflow() || exact.as_const().is_some_and(|n| i128::from(n) > MOST) {
        return Err(Error::new(Code::DimOverflow, format!("a tensor of shape {shape} is too large")));
    }
    Ok(())
}

/// `s` unless there is exactly one.
pub fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}
