//! Softmax, log-softmax and logsumexp, shifted by the maximum so that no exponential overflows.
//!
//! All take floats; narrower ones than f32 are computed in f32 and rounded once.

use super::operand::only;
use super::{CompositeDef, example};
use crate::attributes;
use crate::builder::{Builder, Keep};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Graph, ValueId};
use crate::op::{Accept, CompareKind, Monoid};
use crate::types::Type;

attributes! {
    /// `e^x / Σ e^x` along `axis`.
    ///
    /// A row that is all -inf, or holds +inf or NaN, gives NaN, as the formula does in IEEE arithmetic; attention,
    /// where fully masked rows are ordinary, has its own rule. An empty axis gives an empty result.
    ///
    /// Decomposition: `e = e^(x - max x)`, then `e / Σ e`.
    pub struct Softmax {
        /// Along which axis.
        pub axis: usize,
    }
}

attributes! {
    /// `log(softmax(x))` along `axis`, without the loss of precision. Rows as in `softmax`.
    ///
    /// Decomposition: `d - log Σ e^d` with `d = x - max x`.
    pub struct LogSoftmax {
        /// Along which axis.
        pub axis: usize,
    }
}

attributes! {
    /// `log Σ e^x` over `axes`. All -inf, or no elements at all, gives -inf; +inf gives +inf; NaN stays.
    ///
    /// Decomposition: `m + log Σ e^(x - m)` with m the maximum where that is finite, 0 elsewhere.
    pub struct LogSumExp {
        /// Over which axes.
        pub axes: Vec<usize>,
        /// Whether they stay as axes of size 1.
        pub keep_dims: bool = false,
    }
}

/// `x - max x` and `e^(x - max x)` along an axis.
fn shifted(b: &mut Builder<'_>, x: ValueId, axis: usize) -> Result<(ValueId, ValueId)> {
    let max = b.reduce(Monoid::Max, x, &[axis], Keep::Yes)?;
    let d = b.sub(x, max)?;
    Ok((d, b.exp(d)?))
}

impl CompositeDef for Softmax {
    const NAME: &'static str = "softmax";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        b.check_axis(Self::NAME, x, self.axis)?;
        let y = b.widened(x, |b, x| {
            let (_, e) = shifted(b, x, self.axis)?;
            let sum = b.reduce(Monoid::Sum, e, &[self.axis], Keep::Yes)?;
            b.div(e, sum)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        Ok(vec![
            example(Softmax { axis: 1 }, [("x", Type::tensor(DType::F32, [3, 5]))])?,
            example(Softmax { axis: 0 }, [("x", Type::tensor(DType::F16, [3, 1, 5]))])?,
        ])
    }
}

impl CompositeDef for LogSoftmax {
    const NAME: &'static str = "log_softmax";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        b.check_axis(Self::NAME, x, self.axis)?;
        let y = b.widened(x, |b, x| {
            let (d, e) = shifted(b, x, self.axis)?;
            let sum = b.reduce(Monoid::Sum, e, &[self.axis], Keep::Yes)?;
            let log = b.log(sum)?;
            b.sub(d, log)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        Ok(vec![
            example(LogSoftmax { axis: 1 }, [("x", Type::tensor(DType::F32, [3, 5]))])?,
            example(LogSoftmax { axis: 0 }, [("x", Type::tensor(DType::BF16, [7]))])?,
        ])
    }
}

impl CompositeDef for LogSumExp {
    const NAME: &'static str = "logsumexp";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        b.check(Self::NAME, inputs, |cx| {
            cx.check_axes("axes", &self.axes, cx.tensor(0, Accept::FLOAT)?.rank())
        })?;
        let keep = if self.keep_dims { Keep::Yes } else { Keep::No };
        let y = b.widened(x, |b, x| {
            let max = b.reduce(Monoid::Max, x, &self.axes, Keep::Yes)?;
            let pivot = finite_or_zero(b, max)?;
            let d = b.sub(x, pivot)?;
            let e = b.exp(d)?;
            let sum = b.reduce(Monoid::Sum, e, &self.axes, keep)?;
            let log = b.log(sum)?;
            let shape = b.shape(log)?;
            let pivot = b.reshape(pivot, shape)?;
            b.add(log, pivot)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        let x = || [("x", Type::tensor(DType::F32, [2, 3, 5]))];
        Ok(vec![
            example(LogSumExp { axes: vec![1], keep_dims: false }, x())?,
            example(LogSumExp { axes: vec![0, 2], keep_dims: true }, x())?,
        ])
    }
}

/// The value where it is finite or NaN, 0 where it is infinite.
pub(super) fn finite_or_zero(b: &mut Builder<'_>, x: ValueId) -> Result<ValueId> {
    let magnitude = b.abs(x)?;
    let infinity = b.full_like(x, f64::INFINITY)?;
    let infinite = b.compare(CompareKind::Eq, magnitude, infinity)?;
    let zero = b.full_like(x, 0.0)?;
    b.select(infinite, zero, x)
}
