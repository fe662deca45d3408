//! Checking the operands of a composite, before anything is built.
//!
//! A decomposition begins with `b.check(NAME, inputs, |cx| …)`, which lends it the same checks that primitives use
//! (`Infer`), so that an error names the composite, the operand, what was expected and what came.

use crate::builder::Builder;
use crate::dim::Dim;
use crate::error::{Code, Error, Result};
use crate::graph::ValueId;
use crate::op::{Accept, Infer};
use crate::types::{Shape, TensorType, Type};
use std::ops::RangeInclusive;

impl Builder<'_> {
    /// Checks operands of a composite; what the closure gives is what the decomposition needs to know of them.
    pub fn check<R>(
        &self,
        op: &str,
        inputs: &[ValueId],
        check: impl FnOnce(Infer<'_>) -> Result<R>,
    ) -> Result<R> {
        let types: Vec<&Type> = inputs.iter().map(|v| self.ty(*v)).collect();
        check(Infer { op, facts: self.facts(), inputs: &types })
    }

    /// Computes in the accumulator dtype of `x` (f32 for narrower floats) and rounds once, at the end.
    pub fn widened(
        &mut self,
        x: ValueId,
        compute: impl FnOnce(&mut Self, ValueId) -> Result<ValueId>,
    ) -> Result<ValueId> {
        let dtype = self.dtype(x)?;
        let wide = self.cast(x, dtype.accumulator())?;
        let y = compute(self, wide)?;
        self.cast(y, dtype)
    }
}

impl<'a> Infer<'a> {
    /// Checks the number of operands where the last ones are optional.
    pub fn count_in(&self, range: RangeInclusive<usize>) -> Result<()> {
        if range.contains(&self.inputs.len()) {
            return Ok(());
        }
        Err(Error::new(
            Code::OperandCount,
            format!(
                "`{}` takes {} to {} operands, but {} came",
                self.op,
                range.start(),
                range.end(),
                self.inputs.len()
            ),
        ))
    }

    /// An operand that must be a tensor of at least that rank.
    pub fn ranked_from(&self, index: usize, accept: Accept, least: usize) -> Result<&'a TensorType> {
        let t = self.tensor(index, accept)?;
        if t.rank() >= least {
            return Ok(t);
        }
        let message = format!("expected at least {least} dimensions, found {}", t.rank());
        Err(self.error(Code::OperandRank, index, message))
    }

    /// A float operand that goes with `x` (operand 0): of the same dtype, or of the one that `x` is computed in.
    pub fn parameter(&self, index: usize) -> Result<&'a TensorType> {
        let (x, t) = (self.tensor(0, Accept::FLOAT)?, self.tensor(index, Accept::FLOAT)?);
        let wide = x.dtype.accumulator();
        if t.dtype == x.dtype || t.dtype == wide {
            return Ok(t);
        }
        let expected = if wide == x.dtype { x.dtype.to_string() } else { format!("{} or {wide}", x.dtype) };
        let message = format!("expected {expected} to go with operand 0, found {}", t.dtype);
        Err(self.error(Code::OperandDType, index, message).at(self.operand(0)).help("insert a `cast`"))
    }

    /// Checks that an operand has exactly this shape; `why` says where the shape comes from.
    pub fn shaped(&self, index: usize, shape: &[Dim], why: &str) -> Result<()> {
        let t = self.ranked(index, Accept::ANY, shape.len())?;
        for (axis, (have, want)) in t.shape.iter().zip(shape).enumerate() {
            if !self.facts.equal(have, want) {
                let message = format!("axis {axis} is {have}, but {why} make it {want}");
                return Err(self.error(Code::DimMismatch, index, message).at(self.operand(0)));
            }
        }
        Ok(())
    }

    /// Checks that an operand can be broadcast to a shape, aligned at the end.
    pub fn broadcasts_to(&self, index: usize, shape: &Shape) -> Result<()> {
        let t = self.tensor(index, Accept::ANY)?;
        let refuse = |message: String| {
            Err(self.error(Code::DimMismatch, index, message).help("dimensions must be equal or 1"))
        };
        let Some(lead) = shape.rank().checked_sub(t.rank()) else {
            return refuse(format!("expected a shape that broadcasts to {shape}"));
        };
        for (axis, have) in t.shape.iter().enumerate() {
            let want = &shape[lead + axis];
            if !have.is(1) && !self.facts.equal(have, want) {
                return refuse(format!(
                    "axis {axis} is {have}, which does not broadcast to {want} of {shape}"
                ));
            }
        }
        Ok(())
    }

    /// Checks that a number attribute is finite.
    pub fn check_finite(&self, name: &str, value: f64) -> Result<()> {
        if value.is_finite() {
            return Ok(());
        }
        Err(self.attr_error(name, format!("expected a finite number, found {value}")))
    }

    /// Checks that a number attribute is finite and above zero.
    pub fn check_positive(&self, name: &str, value: f64) -> Result<()> {
        if value.is_finite() && value > 0.0 {
            return Ok(());
        }
        Err(self.attr_error(name, format!("expected a number above 0, found {value}")))
    }
}

/// The one operand of a composite, a tensor of an accepted dtype.
pub(super) fn only(b: &Builder<'_>, op: &str, inputs: &[ValueId], accept: Accept) -> Result<ValueId> {
    b.check(op, inputs, |cx| {
        cx.count(1)?;
        cx.tensor(0, accept).map(|_| ())
    })?;
    Ok(inputs[0])
}
