//! Smooth activations, in forms that neither overflow nor cancel where it can be avoided.
//!
//! All take floats; narrower ones than f32 are computed in f32 and rounded once. NaN stays NaN. Where a formula
//! multiplies `x` by a gate in 0..1, x = -inf gives NaN, as `-inf·0` does.

use super::operand::only;
use super::{CompositeDef, Promise, example};
use crate::builder::Builder;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Graph, ValueId};
use crate::op::{Accept, CompareKind};
use crate::types::Type;
use crate::{attributes, keywords};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

attributes! {
    /// `1 / (1 + e^-x)`.
    ///
    /// Decomposition: with `e = e^-|x|`, which never overflows, `1/(1+e)` where `x >= 0` and `e/(1+e)` elsewhere, so
    /// that small results keep their precision.
    pub struct Sigmoid {}
}

attributes! {
    /// `x·sigmoid(x)`.
    pub struct Silu {}
}

attributes! {
    /// `x·tanh(softplus(x))`.
    ///
    /// Decomposition: `tanh(log(1 + t))` is `(t² + 2t) / (t² + 2t + 2)`; with `e = e^-|x|` that is
    /// `(1 + 2e) / (1 + 2e + 2e²)` where `x >= 0` and `(e² + 2e) / (e² + 2e + 2)` elsewhere.
    pub struct Mish {}
}

keywords! {
    /// How gelu is computed.
    pub enum GeluForm {
        /// By the error function.
        Exact = "exact",
        /// By a hyperbolic tangent near it.
        Tanh = "tanh",
    }
}

attributes! {
    /// Exact: `x/2·(1 + erf(x/√2))`. Tanh: `x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³)))`.
    ///
    /// For x far below 0 the sum cancels: the error is absolute, about `|x|` roundings of 1.
    pub struct Gelu {
        /// Which formula.
        pub form: GeluForm = GeluForm::Exact,
    }
}

attributes! {
    /// `log(1 + e^(beta·x)) / beta`.
    ///
    /// Decomposition: `(max(z, 0) + log1p(e^-|z|)) / beta` with `z = beta·x`.
    pub struct Softplus {
        /// The sharpness; above 0.
        pub beta: f64 = 1.0,
    }
}

attributes! {
    /// `x / (1 + |x|)`. Infinities give NaN.
    pub struct Softsign {}
}

/// `e^-|x|`, in 0..=1 for every number.
fn exp_neg_abs(b: &mut Builder<'_>, x: ValueId) -> Result<ValueId> {
    let magnitude = b.abs(x)?;
    let exponent = b.neg(magnitude)?;
    b.exp(exponent)
}

fn float_examples<T: CompositeDef>(composites: impl IntoIterator<Item = T>) -> Result<Vec<Graph>> {
    let dtypes = [DType::F32, DType::BF16];
    composites.into_iter().zip(dtypes).map(|(c, d)| example(c, [("x", Type::tensor(d, [3, 5]))])).collect()
}

impl CompositeDef for Sigmoid {
    const NAME: &'static str = "sigmoid";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        let y = b.widened(x, |b, x| {
            let e = exp_neg_abs(b, x)?;
            let one = b.full_like(x, 1.0)?;
            let zero = b.full_like(x, 0.0)?;
            let right = b.compare(CompareKind::Ge, x, zero)?;
            let above = b.select(right, one, e)?;
            let below = b.add(one, e)?;
            b.div(above, below)
        })?;
        Ok(vec![y])
    }

    fn promise(&self) -> Option<Promise> {
        Some(Promise { units: 2.5, range: (0.0, 1.0) })
    }

    fn examples() -> Result<Vec<Graph>> {
        float_examples([Sigmoid {}, Sigmoid {}])
    }
}

impl CompositeDef for Silu {
    const NAME: &'static str = "silu";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        let y = b.widened(x, |b, x| {
            let gate = b.sigmoid(x)?;
            b.mul(x, gate)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        float_examples([Silu {}, Silu {}])
    }
}

impl CompositeDef for Mish {
    const NAME: &'static str = "mish";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        let y = b.widened(x, |b, x| {
            let e = exp_neg_abs(b, x)?;
            let twice = b.add(e, e)?;
            let square = b.mul(e, e)?;
            let zero = b.full_like(x, 0.0)?;
            let right = b.compare(CompareKind::Ge, x, zero)?;
            let one = b.full_like(x, 1.0)?;
            let two = b.full_like(x, 2.0)?;
            let two_squares = b.add(square, square)?;
            let head = b.select(right, one, square)?;
            let above = b.add(head, twice)?;
            let tail = b.select(right, two_squares, two)?;
            let below = b.add(above, tail)?;
            let gate = b.div(above, below)?;
            b.mul(x, gate)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        float_examples([Mish {}, Mish {}])
    }
}

impl CompositeDef for Gelu {
    const NAME: &'static str = "gelu";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        let y = b.widened(x, |b, x| {
            let gate = match self.form {
                GeluForm::Exact => {
                    let scaled = b.mul_scalar(x, FRAC_1_SQRT_2)?;
                    b.erf(scaled)?
                }
                GeluForm::Tanh => {
                    // x + c·x³ = x·(1 + c·x²)
                    let square = b.mul(x, x)?;
                    let scaled = b.mul_scalar(square, 0.044715)?;
                    let factor = b.add_scalar(scaled, 1.0)?;
                    let cubic = b.mul(x, factor)?;
                    let argument = b.mul_scalar(cubic, FRAC_2_PI.sqrt())?;
                    b.tanh(argument)?
                }
            };
            let gate = b.add_scalar(gate, 1.0)?;
            let half = b.mul_scalar(x, 0.5)?;
            b.mul(half, gate)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        float_examples([Gelu { form: GeluForm::Exact }, Gelu { form: GeluForm::Tanh }])
    }
}

impl CompositeDef for Softplus {
    const NAME: &'static str = "softplus";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        b.check(Self::NAME, inputs, |cx| cx.check_positive("beta", self.beta))?;
        let y = b.widened(x, |b, x| {
            let beta = b.full_like(x, self.beta)?;
            let z = if self.beta == 1.0 { x } else { b.mul(x, beta)? };
            let zero = b.full_like(x, 0.0)?;
            let line = b.max(z, zero)?;
            let e = exp_neg_abs(b, z)?;
            let bend = b.log1p(e)?;
            let sum = b.add(line, bend)?;
            if self.beta == 1.0 { Ok(sum) } else { b.div(sum, beta) }
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        float_examples([Softplus { beta: 1.0 }, Softplus { beta: 2.5 }])
    }
}

impl CompositeDef for Softsign {
    const NAME: &'static str = "softsign";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        let y = b.widened(x, |b, x| {
            let magnitude = b.abs(x)?;
            let below = b.add_scalar(magnitude, 1.0)?;
            b.div(x, below)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        float_examples([Softsign {}, Softsign {}])
    }
}
