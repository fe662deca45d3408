//! Normalisations: layer, RMS, group, instance, batch.
//!
//! All take floats. The statistics and the result are computed in f32 where x is narrower, and rounded once;
//! variances are taken in two passes. Scale and bias are optional and come in that order; they may have the dtype of
//! x or the one that x is computed in.

use super::statistic::centred;
use super::{CompositeDef, example};
use crate::attributes;
use crate::builder::{Builder, Keep};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::error::{Code, Result};
use crate::graph::{Graph, ValueId};
use crate::op::{Accept, Infer};
use crate::types::{Shape, TensorType, Type};

attributes! {
    /// `layer_norm(x)`, `(x, scale)`, `(x, scale, bias)`: `(x - mean) / √(variance + epsilon) · scale + bias`, the mean
    /// and the variance being taken over `axis` and all axes after it. Scale and bias broadcast to those axes.
    pub struct LayerNorm {
        /// The first axis of those normalised.
        pub axis: usize,
        /// Added to the variance.
        pub epsilon: f64 = 1e-5,
    }
}

attributes! {
    /// `rms_norm(x)`, `(x, scale)`: `x / √(mean(x²) + epsilon) · scale`, over `axis` and all axes after it. Scale
    /// broadcasts to those axes.
    pub struct RmsNorm {
        /// The first axis of those normalised.
        pub axis: usize,
        /// Added to the mean square.
        pub epsilon: f64 = 1e-5,
    }
}

attributes! {
    /// `group_norm(x)`, `(x, scale)`, `(x, scale, bias)` with x `[batch, channels, …]`: as `layer_norm`, over each group
    /// of neighbouring channels with all their elements. Scale and bias are `[channels]`.
    pub struct GroupNorm {
        /// How many groups; it divides the number of channels.
        pub groups: i64,
        /// Added to the variance.
        pub epsilon: f64 = 1e-5,
    }
}

attributes! {
    /// `instance_norm(x)`, `(x, scale)`, `(x, scale, bias)` with x `[batch, channels, spatial…]`: as `layer_norm`, over
    /// the spatial axes, of which there is at least one. Scale and bias are `[channels]`.
    pub struct InstanceNorm {
        /// Added to the variance.
        pub epsilon: f64 = 1e-5,
    }
}

attributes! {
    /// `batch_norm(x, scale, bias, mean, variance)`, with statistics that were learnt before:
    /// `(x - mean) · (scale / √(variance + epsilon)) + bias`, each being a vector along `axis`.
    pub struct BatchNorm {
        /// The axis of the channels.
        pub axis: usize = 1,
        /// Added to the variance.
        pub epsilon: f64 = 1e-5,
    }
}

/// `v / √(mean_square + epsilon)`.
fn normalised(b: &mut Builder<'_>, v: ValueId, mean_square: ValueId, epsilon: f64) -> Result<ValueId> {
    let shifted = b.add_scalar(mean_square, epsilon)?;
    let factor = b.rsqrt(shifted)?;
    b.mul(v, factor)
}

/// Where the axes of a parameter lie among those of x.
#[derive(Clone, Copy)]
enum Along {
    /// A vector along this axis.
    Axis(usize),
    /// Aligned at the end.
    Last,
}

/// `y · scale + bias` with the parameters that are there, in the dtype and shape of y.
fn affine(b: &mut Builder<'_>, y: ValueId, parameters: &[ValueId], along: Along) -> Result<ValueId> {
    let t = b.tensor_type(y)?.clone();
    let mut y = y;
    for (i, parameter) in parameters.iter().enumerate() {
        let wide = b.cast(*parameter, t.dtype)?;
        let wide = match along {
            Along::Axis(axis) => b.broadcast_in(wide, t.shape.clone(), &[axis])?,
            Along::Last => b.broadcast_to(wide, t.shape.clone())?,
        };
        y = if i == 0 { b.mul(y, wide)? } else { b.add(y, wide)? };
    }
    Ok(y)
}

/// Checks x and parameters that broadcast to its axes from `axis` on; gives the rank of x.
fn check_tail(cx: Infer<'_>, axis: usize, most: usize) -> Result<usize> {
    cx.count_in(1..=most)?;
    let x = cx.tensor(0, Accept::FLOAT)?;
    cx.check_axis("axis", axis, x.rank())?;
    for i in 1..cx.inputs.len() {
        cx.parameter(i)?;
        cx.broadcasts_to(i, &Shape::from(&x.shape[axis..])).map_err(|e| e.at(cx.operand(0)))?;
    }
    Ok(x.rank())
}

/// Checks x of `[batch, channels, …]` and parameters of `[channels]`; gives the type of x.
fn check_channels(cx: Infer<'_>, least: usize) -> Result<TensorType> {
    cx.count_in(1..=3)?;
    let x = cx.ranked_from(0, Accept::FLOAT, least)?;
    for i in 1..cx.inputs.len() {
        cx.parameter(i)?;
        cx.shaped(i, &x.shape[1..2], "the channels of x")?;
    }
    Ok(x.clone())
}

impl CompositeDef for LayerNorm {
    const NAME: &'static str = "layer_norm";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let rank = b.check(Self::NAME, inputs, |cx| {
            cx.check_finite("epsilon", self.epsilon)?;
            check_tail(cx, self.axis, 3)
        })?;
        let axes: Vec<usize> = (self.axis..rank).collect();
        let y = b.widened(inputs[0], |b, x| {
            let (d, variance) = centred(b, x, &axes)?;
            let y = normalised(b, d, variance, self.epsilon)?;
            affine(b, y, &inputs[1..], Along::Last)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        let t = |dims: &[usize]| Type::tensor(DType::F32, dims);
        Ok(vec![
            example(
                LayerNorm { axis: 1, epsilon: 1e-5 },
                [("x", t(&[3, 5])), ("scale", t(&[5])), ("bias", t(&[5]))],
            )?,
            example(LayerNorm { axis: 1, epsilon: 0.1 }, [("x", t(&[2, 3, 5])), ("scale", t(&[3, 1]))])?,
            example(
                LayerNorm { axis: 2, epsilon: 1e-5 },
                [("x", Type::tensor(DType::F16, [2, 3, 5])), ("scale", t(&[5])), ("bias", t(&[5]))],
            )?,
        ])
    }
}

impl CompositeDef for RmsNorm {
    const NAME: &'static str = "rms_norm";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let rank = b.check(Self::NAME, inputs, |cx| {
            cx.check_finite("epsilon", self.epsilon)?;
            check_tail(cx, self.axis, 2)
        })?;
        let axes: Vec<usize> = (self.axis..rank).collect();
        let y = b.widened(inputs[0], |b, x| {
            let square = b.mul(x, x)?;
            let mean_square = b.mean(square, &axes, Keep::Yes)?;
            let y = normalised(b, x, mean_square, self.epsilon)?;
            affine(b, y, &inputs[1..], Along::Last)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        let t = |dims: &[usize]| Type::tensor(DType::F32, dims);
        Ok(vec![
            example(RmsNorm { axis: 1, epsilon: 1e-6 }, [("x", t(&[3, 5])), ("scale", t(&[5]))])?,
            example(RmsNorm { axis: 0, epsilon: 1e-5 }, [("x", Type::tensor(DType::BF16, [3, 5]))])?,
        ])
    }
}

impl CompositeDef for GroupNorm {
    const NAME: &'static str = "group_norm";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let (grouped, shape) = b.check(Self::NAME, inputs, |cx| {
            let x = check_channels(cx, 2)?;
            cx.check_finite("epsilon", self.epsilon)?;
            cx.check_least("groups", &[self.groups], 1)?;
            let channels = &x.shape[1];
            if !cx.facts.is_multiple(channels, self.groups) {
                let message = format!("{channels} channels do not divide into {} groups", self.groups);
                return Err(cx.error(Code::DimMismatch, 0, message));
            }
            let size = cx.facts.simplify(&channels.floor_div(&Dim::from(self.groups)));
            let head = [x.shape[0].clone(), Dim::from(self.groups), size];
            Ok((head.iter().chain(&x.shape[2..]).cloned().collect::<Shape>(), x.shape))
        })?;
        let y = b.widened(inputs[0], |b, x| {
            let axes: Vec<usize> = (2..grouped.rank()).collect();
            let x = b.reshape(x, grouped)?;
            let (d, variance) = centred(b, x, &axes)?;
            let y = normalised(b, d, variance, self.epsilon)?;
            let y = b.reshape(y, shape)?;
            affine(b, y, &inputs[1..], Along::Axis(1))
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        let t = |dims: &[usize]| Type::tensor(DType::F32, dims);
        Ok(vec![
            example(
                GroupNorm { groups: 3, epsilon: 1e-5 },
                [("x", t(&[2, 6, 5])), ("scale", t(&[6])), ("bias", t(&[6]))],
            )?,
            example(GroupNorm { groups: 1, epsilon: 1e-5 }, [("x", t(&[1, 3]))])?,
        ])
    }
}

impl CompositeDef for InstanceNorm {
    const NAME: &'static str = "instance_norm";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let rank = b.check(Self::NAME, inputs, |cx| {
            cx.check_finite("epsilon", self.epsilon)?;
            Ok(check_channels(cx, 3)?.rank())
        })?;
        let axes: Vec<usize> = (2..rank).collect();
        let y = b.widened(inputs[0], |b, x| {
            let (d, variance) = centred(b, x, &axes)?;
            let y = normalised(b, d, variance, self.epsilon)?;
            affine(b, y, &inputs[1..], Along::Axis(1))
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        let t = |dims: &[usize]| Type::tensor(DType::F32, dims);
        Ok(vec![
            example(
                InstanceNorm { epsilon: 1e-5 },
                [("x", t(&[2, 3, 5])), ("scale", t(&[3])), ("bias", t(&[3]))],
            )?,
            example(InstanceNorm { epsilon: 1e-3 }, [("x", t(&[1, 2, 3, 5]))])?,
        ])
    }
}

impl CompositeDef for BatchNorm {
    const NAME: &'static str = "batch_norm";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let shape = b.check(Self::NAME, inputs, |cx| {
            cx.count(5)?;
            cx.check_finite("epsilon", self.epsilon)?;
            let x = cx.tensor(0, Accept::FLOAT)?;
            cx.check_axis("axis", self.axis, x.rank())?;
            for i in 1..5 {
                cx.parameter(i)?;
                cx.shaped(i, &x.shape[self.axis..=self.axis], "the channels of x")?;
            }
            Ok(x.shape.clone())
        })?;
        let y = b.widened(inputs[0], |b, x| {
            let wide = b.dtype(x)?;
            let mut parameters = Vec::new();
            for v in &inputs[1..] {
                parameters.push(b.cast(*v, wide)?);
            }
            let factor = normalised(b, parameters[0], parameters[3], self.epsilon)?;
            let mean = b.broadcast_in(parameters[2], shape, &[self.axis])?;
            let d = b.sub(x, mean)?;
            affine(b, d, &[factor, parameters[1]], Along::Axis(self.axis))
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        let graph = |axis, x: Type, c: usize| {
            let p = || Type::tensor(DType::F32, [c]);
            example(
                BatchNorm { axis, epsilon: 1e-5 },
                [("x", x), ("scale", p()), ("bias", p()), ("mean", p()), ("variance", p())],
            )
        };
        Ok(vec![
            graph(1, Type::tensor(DType::F32, [2, 3, 5, 1]), 3)?,
            graph(2, Type::tensor(DType::F16, [2, 3, 5]), 5)?,
        ])
    }
}
