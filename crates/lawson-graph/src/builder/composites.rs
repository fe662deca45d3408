//! Named methods for the composites that programs write most; the others go through `Builder::composite`.

use super::Builder;
use crate::composite::{
    ArgMax, Attention, Causal, Clip, Gelu, GeluForm, LayerNorm, Linear, LogSoftmax, Mish, Relu, RmsNorm,
    Sigmoid, Silu, Softmax, Softplus, TopK, WeightLayout,
};
use crate::dim::Dim;
use crate::error::{Code, Error, Result};
use crate::graph::ValueId;
use crate::op::Op;
use std::sync::Arc;

macro_rules! activation {
    ($($(#[$meta:meta])* $name:ident => $composite:expr),* $(,)?) => {
        impl Builder<'_> {$(
            $(#[$meta])*
            pub fn $name(&mut self, x: ValueId) -> Result<ValueId> {
                self.composite($composite, &[x])
            }
        )*}
    };
}
activation! {
    /// `max(x, 0)`
    relu => Relu {},
    /// `1 / (1 + e^-x)`
    sigmoid => Sigmoid {},
    /// `x·sigmoid(x)`
    silu => Silu {},
    /// `x·tanh(softplus(x))`
    mish => Mish {},
    /// `log(1 + e^x)`
    softplus => Softplus { beta: 1.0 },
    /// `x/2·(1 + erf(x/√2))`
    gelu => Gelu { form: GeluForm::Exact },
    /// The form of `gelu` by a hyperbolic tangent.
    gelu_tanh => Gelu { form: GeluForm::Tanh },
}

impl Builder<'_> {
    /// `x` kept between two numbers.
    pub fn clip(&mut self, x: ValueId, low: f64, high: f64) -> Result<ValueId> {
        let dtype = self.dtype(x)?;
        let (low, high) = (self.scalar(dtype, low)?, self.scalar(dtype, high)?);
        self.composite(Clip {}, &[x, low, high])
    }

    /// `x·w + bias` with w `[in, out]`.
    pub fn linear(&mut self, x: ValueId, w: ValueId, bias: Option<ValueId>) -> Result<ValueId> {
        let operands: Vec<ValueId> = [x, w].into_iter().chain(bias).collect();
        self.composite(Linear { layout: WeightLayout::InOut }, &operands)
    }

    /// `e^x / Σ e^x` along an axis.
    pub fn softmax(&mut self, x: ValueId, axis: usize) -> Result<ValueId> {
        self.composite(Softmax { axis }, &[x])
    }

    /// `log(softmax(x))` along an axis.
    pub fn log_softmax(&mut self, x: ValueId, axis: usize) -> Result<ValueId> {
        self.composite(LogSoftmax { axis }, &[x])
    }

    /// Layer norm over `axis` and all axes after it.
    pub fn layer_norm(
        &mut self,
        x: ValueId,
        scale: ValueId,
        bias: ValueId,
        axis: usize,
        epsilon: f64,
    ) -> Result<ValueId> {
        self.composite(LayerNorm { axis, epsilon }, &[x, scale, bias])
    }

    /// RMS norm over `axis` and all axes after it.
    pub fn rms_norm(&mut self, x: ValueId, scale: ValueId, axis: usize, epsilon: f64) -> Result<ValueId> {
        self.composite(RmsNorm { axis, epsilon }, &[x, scale])
    }

    /// Attention of `q` over `k` and `v`, with the default scale.
    pub fn attention(
        &mut self,
        q: ValueId,
        k: ValueId,
        v: ValueId,
        mask: Option<ValueId>,
        causal: Causal,
    ) -> Result<ValueId> {
        let operands: Vec<ValueId> = [q, k, v].into_iter().chain(mask).collect();
        self.composite(Attention { causal, scale: None }, &operands)
    }

    /// The index of the greatest element along an axis, which vanishes.
    pub fn argmax(&mut self, x: ValueId, axis: usize) -> Result<ValueId> {
        self.composite(ArgMax { axis, keep_dims: false, last: false }, &[x])
    }

    /// The `k` greatest elements along an axis, and their indices.
    pub fn top_k(&mut self, x: ValueId, k: impl Into<Dim>, axis: usize) -> Result<(ValueId, ValueId)> {
        let top_k = TopK { k: k.into(), axis, smallest: false };
        match self.op(Op::Composite(Arc::new(top_k)), &[x])?.as_slice() {
            [values, indices] => Ok((*values, *indices)),
            results => {
                Err(Error::new(Code::OperandCount, format!("`top_k` has {} results, not two", results.len())))
            }
        }
    }
}
