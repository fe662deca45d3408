//! Activations made of pieces: relu and its kin, and clip.
//!
//! Floats narrower than f32 are computed in f32 and rounded once; NaN stays NaN everywhere.

use super::operand::only;
use super::{CompositeDef, example};
use crate::attributes;
use crate::builder::Builder;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Graph, ValueId};
use crate::op::{Accept, CompareKind};
use crate::types::{Shape, Type};

attributes! {
    /// `max(x, 0)`. Any number dtype; NaN stays.
    pub struct Relu {}
}

attributes! {
    /// `x` where `x > 0`, `slope·x` elsewhere. Floats.
    pub struct LeakyRelu {
        /// The slope on the negative side.
        pub slope: f64 = 0.01,
    }
}

attributes! {
    /// `prelu(x, slope)`: `x` where `x > 0`, `slope·x` elsewhere. Floats; slope broadcasts to x, aligned at the end, and
    /// may have the dtype of x or the one that x is computed in.
    pub struct Prelu {}
}

attributes! {
    /// `x` where `x > 0`, `alpha·(e^x - 1)` elsewhere. Floats.
    pub struct Elu {
        /// The limit towards -inf is `-alpha`.
        pub alpha: f64 = 1.0,
    }
}

attributes! {
    /// `gamma·elu(x, alpha)`, with the constants that keep mean 0 and variance 1 through deep networks. Floats.
    pub struct Selu {
        /// The limit towards -inf is `-gamma·alpha`.
        pub alpha: f64 = 1.673_263_242_354_377_2,
        /// The slope on the positive side.
        pub gamma: f64 = 1.050_700_987_355_480_5,
    }
}

attributes! {
    /// `max(x, 0) + min(alpha·(e^(x/alpha) - 1), 0)`, whose slope is continuous. Floats; `alpha` is not 0.
    pub struct Celu {
        /// The limit towards -inf is `-alpha`.
        pub alpha: f64 = 1.0,
    }
}

attributes! {
    /// `min(max(alpha·x + beta, 0), 1)`. Floats.
    pub struct HardSigmoid {
        /// The slope.
        pub alpha: f64 = 1.0 / 6.0,
        /// The value at 0.
        pub beta: f64 = 0.5,
    }
}

attributes! {
    /// `x·hard_sigmoid(x)` with slope 1/6 and 1/2 at 0. Floats; -inf gives NaN, as `-inf·0` does.
    pub struct HardSwish {}
}

attributes! {
    /// `clip(x, low, high)` is `min(max(x, low), high)`: where `low > high`, `high` wins. One number dtype; `low` and
    /// `high` broadcast to x, mostly as scalars. NaN in any operand gives NaN.
    ///
    /// The bounds are operands, so that integers of any width are exact. With one bound only, use `max` or `min`.
    pub struct Clip {}
}

impl CompositeDef for Relu {
    const NAME: &'static str = "relu";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::NUMBER)?;
        let zero = b.full_like(x, 0.0)?;
        Ok(vec![b.max(x, zero)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        Ok(vec![
            example(Relu {}, [("x", Type::tensor(DType::F32, [3, 5]))])?,
            example(Relu {}, [("x", Type::tensor(DType::I8, [7]))])?,
        ])
    }
}

/// `x` where it is above zero, `below(x)` elsewhere and for NaN.
fn above_zero_or(
    b: &mut Builder<'_>,
    x: ValueId,
    below: impl FnOnce(&mut Builder<'_>, ValueId) -> Result<ValueId>,
) -> Result<ValueId> {
    let zero = b.full_like(x, 0.0)?;
    let above = b.compare(CompareKind::Gt, x, zero)?;
    let below = below(b, x)?;
    b.select(above, x, below)
}

fn float_example<T: CompositeDef>(composites: impl IntoIterator<Item = T>) -> Result<Vec<Graph>> {
    let dtypes = [DType::F32, DType::F16, DType::F64];
    composites.into_iter().zip(dtypes).map(|(c, d)| example(c, [("x", Type::tensor(d, [3, 5]))])).collect()
}

impl CompositeDef for LeakyRelu {
    const NAME: &'static str = "leaky_relu";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        let y = b.widened(x, |b, x| above_zero_or(b, x, |b, x| b.mul_scalar(x, self.slope)))?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        float_example([LeakyRelu { slope: 0.01 }, LeakyRelu { slope: 0.2 }])
    }
}

impl CompositeDef for Prelu {
    const NAME: &'static str = "prelu";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        b.check(Self::NAME, inputs, |cx| {
            cx.count(2)?;
            let x = cx.tensor(0, Accept::FLOAT)?;
            cx.parameter(1)?;
            cx.broadcasts_to(1, &x.shape).map_err(|e| e.at(cx.operand(0)))
        })?;
        let y = b.widened(inputs[0], |b, x| {
            let dtype = b.dtype(x)?;
            let slope = b.cast(inputs[1], dtype)?;
            above_zero_or(b, x, |b, x| b.mul(x, slope))
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        let t = |dtype, dims: &[usize]| Type::tensor(dtype, dims);
        Ok(vec![
            example(Prelu {}, [("x", t(DType::F32, &[2, 3, 5])), ("slope", t(DType::F32, &[3, 1]))])?,
            example(Prelu {}, [("x", t(DType::F16, &[7])), ("slope", t(DType::F32, &[]))])?,
        ])
    }
}

impl CompositeDef for Elu {
    const NAME: &'static str = "elu";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        let y = b.widened(x, |b, x| {
            above_zero_or(b, x, |b, x| {
                let e = b.expm1(x)?;
                b.mul_scalar(e, self.alpha)
            })
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        float_example([Elu { alpha: 1.0 }, Elu { alpha: 0.5 }])
    }
}

impl CompositeDef for Selu {
    const NAME: &'static str = "selu";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        let y = b.widened(x, |b, x| {
            let y = above_zero_or(b, x, |b, x| {
                let e = b.expm1(x)?;
                b.mul_scalar(e, self.alpha)
            })?;
            b.mul_scalar(y, self.gamma)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        let (alpha, gamma) = (1.673_263_242_354_377_2, 1.050_700_987_355_480_5);
        float_example([Selu { alpha, gamma }, Selu { alpha: 1.5, gamma: 2.0 }])
    }
}

impl CompositeDef for Celu {
    const NAME: &'static str = "celu";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        b.check(Self::NAME, inputs, |cx| {
            cx.check_finite("alpha", self.alpha)?;
            if self.alpha == 0.0 {
                Err(cx.attr_error("alpha", "expected a number other than 0"))
            } else {
                Ok(())
            }
        })?;
        // For either sign of alpha the second term has the sign of x, so that one of the two is always 0.
        let y = b.widened(x, |b, x| {
            above_zero_or(b, x, |b, x| {
                let alpha = b.full_like(x, self.alpha)?;
                let quotient = b.div(x, alpha)?;
                let e = b.expm1(quotient)?;
                b.mul(e, alpha)
            })
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        float_example([Celu { alpha: 1.0 }, Celu { alpha: 0.3 }])
    }
}

impl CompositeDef for HardSigmoid {
    const NAME: &'static str = "hard_sigmoid";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        let y = b.widened(x, |b, x| {
            let scaled = b.mul_scalar(x, self.alpha)?;
            let line = b.add_scalar(scaled, self.beta)?;
            b.clip(line, 0.0, 1.0)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        float_example([HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 }, HardSigmoid { alpha: 0.2, beta: 0.5 }])
    }
}

impl CompositeDef for HardSwish {
    const NAME: &'static str = "hard_swish";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let x = only(b, Self::NAME, inputs, Accept::FLOAT)?;
        let y = b.widened(x, |b, x| {
            let gate = b.composite(HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 }, &[x])?;
            b.mul(x, gate)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        float_example([HardSwish {}, HardSwish {}])
    }
}

impl CompositeDef for Clip {
    const NAME: &'static str = "clip";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let shape = b.check(Self::NAME, inputs, |cx| {
            cx.count(3)?;
            let x = cx.tensor(0, Accept::NUMBER)?;
            for bound in 1..3 {
                cx.same_dtype(0, bound)?;
                cx.broadcasts_to(bound, &x.shape).map_err(|e| e.at(cx.operand(0)))?;
            }
            Ok(x.shape.clone())
        })?;
        let low = b.broadcast_to(inputs[1], shape.clone())?;
        let high = b.broadcast_to(inputs[2], shape)?;
        let raised = b.max(inputs[0], low)?;
        Ok(vec![b.min(raised, high)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        let t = |dtype, shape: Shape| Type::tensor(dtype, shape);
        let scalar = Shape::scalar;
        Ok(vec![
            example(
                Clip {},
                [
                    ("x", t(DType::F32, [3, 5].into())),
                    ("low", t(DType::F32, scalar())),
                    ("high", t(DType::F32, scalar())),
                ],
            )?,
            example(
                Clip {},
                [
                    ("x", t(DType::I64, [2, 3].into())),
                    ("low", t(DType::I64, [3].into())),
                    ("high", t(DType::I64, [2, 1].into())),
                ],
            )?,
        ])
    }
}
