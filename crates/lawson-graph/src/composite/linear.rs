//! The linear layer.

use super::{CompositeDef, example};
use crate::builder::Builder;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Graph, ValueId};
use crate::op::{Accept, Contract, Op};
use crate::types::Type;
use crate::{attributes, keywords};

keywords! {
    /// The order of a weight matrix's axes.
    pub enum WeightLayout {
        /// `[in, out]`, as in `x @ w`.
        InOut = "in_out",
        /// `[out, in]`, as in `x @ w^T`.
        OutIn = "out_in",
    }
}

attributes! {
    /// `linear(x, w)` and `linear(x, w, bias)`: `y[…, o] = Σ_i x[…, i] · w[i, o] + bias[o]`.
    ///
    /// x is `[…, in]` with any number of leading axes (none included), w is `[in, out]` or `[out, in]` as `layout`
    /// says, bias is `[out]`. Any one number dtype; integers wrap. Floats narrower than f32 are summed in f32, the
    /// bias included, and rounded once. With `in` = 0 the result is the bias.
    ///
    /// Decomposition: `contract` over the last axis of x, then `add`.
    pub struct Linear {
        /// The order of the weight's axes.
        pub layout: WeightLayout = WeightLayout::InOut,
    }
}

impl CompositeDef for Linear {
    const NAME: &'static str = "linear";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let (in_axis, out_axis) = match self.layout {
            WeightLayout::InOut => (0, 1),
            WeightLayout::OutIn => (1, 0),
        };
        let (dtype, last) = b.check(Self::NAME, inputs, |cx| {
            cx.count_in(2..=3)?;
            let x = cx.ranked_from(0, Accept::NUMBER, 1)?;
            let w = cx.ranked(1, Accept::NUMBER, 2)?;
            cx.same_dtype(0, 1)?;
            cx.unify((0, x.rank() - 1), (1, in_axis))?;
            if cx.inputs.len() == 3 {
                cx.same_dtype(0, 2)?;
                cx.shaped(2, &w.shape[out_axis..=out_axis], "the weights")?;
            }
            Ok((x.dtype, x.rank() - 1))
        })?;
        let sum = vec![(last, in_axis)];
        let Some(bias) = inputs.get(2) else {
            let contract = Contract { batch: Vec::new(), sum, out: None };
            return Ok(vec![b.op1(Op::Contract(contract), &inputs[..2])?]);
        };
        let wide = dtype.accumulator();
        let contract = Contract { batch: Vec::new(), sum, out: (wide != dtype).then_some(wide) };
        let product = b.op1(Op::Contract(contract), &inputs[..2])?;
        let bias = b.cast(*bias, wide)?;
        let y = b.add(product, bias)?;
        Ok(vec![b.cast(y, dtype)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        let t = |dims: &[usize]| Type::tensor(DType::F32, dims);
        Ok(vec![
            example(
                Linear { layout: WeightLayout::InOut },
                [("x", t(&[3, 5])), ("w", t(&[5, 7])), ("bias", t(&[7]))],
            )?,
            example(Linear { layout: WeightLayout::OutIn }, [("x", t(&[2, 3, 5])), ("w", t(&[1, 5]))])?,
        ])
    }
}
