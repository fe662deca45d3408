//! Dropout.

use super::{CompositeDef, example};
use crate::attributes;
use crate::builder::Builder;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Graph, ValueId};
use crate::op::{Accept, CompareKind, Op, RandomBits};
use crate::tensor::HostTensor;
use crate::types::{Shape, Type};

attributes! {
    /// `dropout(x, key)`: each element is 0 with probability `ratio`, and `x / (1 - ratio)` otherwise. x is a float of
    /// any shape, key is u32`[2]`: the same key always drops the same elements. NaN that is dropped becomes 0.
    ///
    /// The ratio is rounded to a multiple of 2^-32, and then exact. With `training` false the result is x itself.
    ///
    /// Decomposition: an element is kept where its `random_bits` are at least `ratio·2^32`, and multiplied by the
    /// constant `1 / (1 - ratio)`.
    pub struct Dropout {
        /// The probability that an element is dropped; in 0..=1.
        pub ratio: f64 = 0.5,
        /// Whether anything is dropped at all.
        pub training: bool = true,
    }
}

impl CompositeDef for Dropout {
    const NAME: &'static str = "dropout";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let shape = b.check(Self::NAME, inputs, |cx| {
            cx.count(2)?;
            let x = cx.tensor(0, Accept::FLOAT)?;
            cx.ranked(1, Accept("u32", |d| d == DType::U32), 1)?;
            cx.shaped(1, &[Dim::from(2)], "the two words of a key")?;
            if !(0.0..=1.0).contains(&self.ratio) {
                let message = format!("expected a probability in 0..=1, found {}", self.ratio);
                return Err(cx.attr_error("ratio", message));
            }
            Ok(x.shape.clone())
        })?;
        let [x, key] = b.operands(Self::NAME, inputs)?;
        const WORDS: f64 = 4_294_967_296.0;
        let dropped = (self.ratio * WORDS).round();
        if !self.training || dropped == 0.0 {
            return Ok(vec![x]);
        }
        let zero = b.full_like(x, 0.0)?;
        // 2^32 itself is no u32: everything is dropped.
        if dropped >= WORDS {
            return Ok(vec![zero]);
        }
        let bits = b.op1(Op::RandomBits(RandomBits { shape: shape.clone() }), &[key])?;
        let threshold = b.constant(HostTensor::scalar(dropped as u32))?;
        let kept = b.compare(CompareKind::Ge, bits, threshold)?;
        let scaled = b.widened(x, |b, x| b.mul_scalar(x, WORDS / (WORDS - dropped)))?;
        Ok(vec![b.select(kept, scaled, zero)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        let operands =
            |dtype, shape: Shape| [("x", Type::tensor(dtype, shape)), ("key", Type::tensor(DType::U32, [2]))];
        Ok(vec![
            example(Dropout { ratio: 0.5, training: true }, operands(DType::F32, [3, 5].into()))?,
            example(Dropout { ratio: 0.1, training: false }, operands(DType::F16, [7].into()))?,
        ])
    }
}
