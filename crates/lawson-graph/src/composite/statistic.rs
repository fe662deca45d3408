//! Mean and variance over axes.
//!
//! Both take floats; narrower ones than f32 are computed in f32 and rounded once, so that a sum beyond the dtype's
//! range does not spoil a mean inside it. Over no elements both are NaN.

use super::operand::only;
use super::{CompositeDef, example};
use crate::attributes;
use crate::builder::{Builder, Keep};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Graph, ValueId};
use crate::op::{Accept, Monoid};
use crate::types::Type;

attributes! {
    /// `Σ x / n` over `axes`, n being the number of elements.
    pub struct Mean {
        /// Over which axes.
        pub axes: Vec<usize>,
        /// Whether they stay as axes of size 1.
        pub keep_dims: bool = false,
    }
}

attributes! {
    /// `Σ (x - mean)² / (n - correction)` over `axes`: in two passes, so that a large mean does not cancel. With n
    /// equal to the correction the result is NaN, with n below it the formula's.
    pub struct Variance {
        /// Over which axes.
        pub axes: Vec<usize>,
        /// Whether they stay as axes of size 1.
        pub keep_dims: bool = false,
        /// 0 for the variance of the elements, 1 for the unbiased estimate of what they were drawn from.
        pub correction: i64 = 0,
    }
}

/// `x - mean` and the mean of its squares over axes, which stay.
pub(super) fn centred(b: &mut Builder<'_>, x: ValueId, axes: &[usize]) -> Result<(ValueId, ValueId)> {
    let mean = b.mean(x, axes, Keep::Yes)?;
    let d = b.sub(x, mean)?;
    let square = b.mul(d, d)?;
    Ok((d, b.mean(square, axes, Keep::Yes)?))
}

fn check_axes(b: &Builder<'_>, op: &str, inputs: &[ValueId], axes: &[usize]) -> Result<()> {
    b.check(op, inputs, |cx| cx.check_axes("axes", axes, cx.tensor(0, Accept::FLOAT)?.rank()))
}

impl CompositeDef for Mean {
    const NAME: &'static str = "mean";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        check_axes(b, Self::NAME, inputs, &self.axes)?;
        let keep = if self.keep_dims { Keep::Yes } else { Keep::No };
        Ok(vec![b.widened(x, |b, x| b.mean(x, &self.axes, keep))?])
    }

    fn examples() -> Result<Vec<Graph>> {
        Ok(vec![
            example(Mean { axes: vec![1], keep_dims: false }, [("x", Type::tensor(DType::F32, [3, 5]))])?,
            example(
                Mean { axes: vec![0, 2], keep_dims: true },
                [("x", Type::tensor(DType::F16, [2, 3, 5]))],
            )?,
        ])
    }
}

impl CompositeDef for Variance {
    const NAME: &'static str = "variance";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        check_axes(b, Self::NAME, inputs, &self.axes)?;
        let keep = if self.keep_dims { Keep::Yes } else { Keep::No };
        let shape = b.shape(x)?;
        let count: Dim = self.axes.iter().map(|a| shape[*a].clone()).product();
        let y = b.widened(x, |b, x| {
            let mean = b.mean(x, &self.axes, Keep::Yes)?;
            let d = b.sub(x, mean)?;
            let square = b.mul(d, d)?;
            let sum = b.reduce(Monoid::Sum, square, &self.axes, keep)?;
            let dtype = b.dtype(sum)?;
            let divisor = b.dim_scalar(&(count - self.correction), dtype)?;
            b.div(sum, divisor)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        let x = || [("x", Type::tensor(DType::F32, [2, 3, 5]))];
        Ok(vec![
            example(Variance { axes: vec![2], keep_dims: true, correction: 0 }, x())?,
            example(Variance { axes: vec![0, 1], keep_dims: false, correction: 1 }, x())?,
        ])
    }
}
