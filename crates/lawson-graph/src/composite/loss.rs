//! Losses: cross entropy, negative log likelihood, mean squared error.
//!
//! All take floats; narrower ones than f32 are computed in f32 and rounded once, after the reduction.

use super::{CompositeDef, LogSoftmax, example};
use crate::builder::{Builder, Keep};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Graph, ValueId};
use crate::op::{Accept, CompareKind, Infer, Monoid};
use crate::types::{Shape, TensorType, Type};
use crate::{attributes, keywords};

keywords! {
    /// What becomes of the losses of single elements.
    pub enum Reduction {
        /// They stay.
        None = "none",
        /// Their sum.
        Sum = "sum",
        /// Their mean; of none, NaN.
        Mean = "mean",
    }
}

attributes! {
    /// `cross_entropy(logits, target)`, `(logits, target, weights)`: `-Σ_c w_c · t_c · log softmax(logits)_c` along
    /// the class axis of size C.
    ///
    /// The target is either the class, i32 or i64 in the shape of the logits without `axis`, or the probability t of
    /// each class, in the shape and dtype of the logits. A class outside `0..C`, or equal to `ignore`, is left out:
    /// its loss is 0 and it does not count in the mean. Weights are `[C]`, 1 if absent.
    ///
    /// With smoothing s, `t_c` becomes `(1-s)·t_c + s/C`. The mean divides by the sum of the weights of the target
    /// classes; for probabilities, by the number of losses.
    ///
    /// Decomposition: `log_softmax`; the target class is picked by comparing with `iota`.
    pub struct CrossEntropy {
        /// The axis of the classes.
        pub axis: usize = 1,
        /// What becomes of the losses.
        pub reduction: Reduction = Reduction::Mean,
        /// A class that is left out.
        pub ignore: Option<i64> = None,
        /// How much of the target is spread over all classes; in 0..=1.
        pub smoothing: f64 = 0.0,
    }
}

attributes! {
    /// `nll_loss(log_probabilities, target)`, `(log_probabilities, target, weights)`: `-w_t · x_t` for the target class t
    /// along the class axis. Classes and weights as in `cross_entropy`.
    pub struct NllLoss {
        /// The axis of the classes.
        pub axis: usize = 1,
        /// What becomes of the losses.
        pub reduction: Reduction = Reduction::Mean,
        /// A class that is left out.
        pub ignore: Option<i64> = None,
    }
}

attributes! {
    /// `mse_loss(x, y)`: `(x - y)²`, of one shape and dtype.
    pub struct MseLoss {
        /// What becomes of the losses.
        pub reduction: Reduction = Reduction::Mean,
    }
}

/// Checks scores, target classes and weights; gives the type of the scores.
fn check_classes(cx: Infer<'_>, axis: usize) -> Result<TensorType> {
    let x = check_scores(cx, axis)?;
    cx.tensor(1, Accept::INDEX)?;
    cx.shaped(1, &without(&x.shape, axis), "the scores without their class axis")?;
    Ok(x.clone())
}

/// Checks scores and weights; gives the type of the scores.
fn check_scores(cx: Infer<'_>, axis: usize) -> Result<&TensorType> {
    cx.count_in(2..=3)?;
    let x = cx.tensor(0, Accept::FLOAT)?;
    cx.check_axis("axis", axis, x.rank())?;
    if cx.inputs.len() == 3 {
        cx.parameter(2)?;
        cx.shaped(2, &x.shape[axis..=axis], "the classes")?;
    }
    Ok(x)
}

fn without(shape: &Shape, axis: usize) -> Vec<Dim> {
    shape.iter().enumerate().filter(|(a, _)| *a != axis).map(|(_, d)| d.clone()).collect()
}

/// Where along the class axis the target class stands: bool, in the shape of the scores. Nowhere if it is left out.
fn target_hits(
    b: &mut Builder<'_>,
    target: ValueId,
    shape: &Shape,
    axis: usize,
    ignore: Option<i64>,
) -> Result<ValueId> {
    let dtype = b.dtype(target)?;
    let others: Vec<usize> = (0..shape.rank()).filter(|a| *a != axis).collect();
    let spread = b.broadcast_in(target, shape.clone(), &others)?;
    let classes = b.iota(dtype, shape.clone(), axis)?;
    let hit = b.compare(CompareKind::Eq, spread, classes)?;
    match ignore {
        // An index outside the range of classes is left out anyway.
        Some(class) if i32::try_from(class).is_ok() => {
            let class = b.full_like(spread, class as f64)?;
            let counts = b.compare(CompareKind::Ne, spread, class)?;
            b.and(hit, counts)
        }
        _ => Ok(hit),
    }
}

/// The sum over the class axis of `x` where the target class stands.
fn picked(b: &mut Builder<'_>, hit: ValueId, x: ValueId, axis: usize) -> Result<ValueId> {
    let zero = b.full_like(x, 0.0)?;
    let kept = b.select(hit, x, zero)?;
    b.reduce(Monoid::Sum, kept, &[axis], Keep::No)
}

/// `-x`, with a zero staying positive.
fn negated(b: &mut Builder<'_>, x: ValueId) -> Result<ValueId> {
    let zero = b.full_like(x, 0.0)?;
    b.sub(zero, x)
}

fn all_axes(b: &Builder<'_>, x: ValueId) -> Result<Vec<usize>> {
    Ok((0..b.tensor_type(x)?.rank()).collect())
}

/// Applies the reduction; the mean divides by the sum of `counts`, or by the number of losses.
fn reduced(
    b: &mut Builder<'_>,
    losses: ValueId,
    reduction: Reduction,
    counts: Option<ValueId>,
) -> Result<ValueId> {
    let axes = all_axes(b, losses)?;
    match (reduction, counts) {
        (Reduction::None, _) => Ok(losses),
        (Reduction::Sum, _) => b.reduce(Monoid::Sum, losses, &axes, Keep::No),
        (Reduction::Mean, None) => b.mean(losses, &axes, Keep::No),
        (Reduction::Mean, Some(counts)) => {
            let sum = b.reduce(Monoid::Sum, losses, &axes, Keep::No)?;
            let total = b.reduce(Monoid::Sum, counts, &axes, Keep::No)?;
            b.div(sum, total)
        }
    }
}

/// The weights of classes in the shape of the scores `x`; ones if there are none.
fn class_weights(b: &mut Builder<'_>, weights: Option<&ValueId>, x: ValueId, axis: usize) -> Result<ValueId> {
    match weights {
        None => b.full_like(x, 1.0),
        Some(w) => {
            let t = b.tensor_type(x)?.clone();
            let w = b.cast(*w, t.dtype)?;
            b.broadcast_in(w, t.shape, &[axis])
        }
    }
}

impl CompositeDef for CrossEntropy {
    const NAME: &'static str = "cross_entropy";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let axis = self.axis;
        let (t, by_class) = b.check(Self::NAME, inputs, |cx| {
            if !(0.0..=1.0).contains(&self.smoothing) {
                let message = format!("expected a number in 0..=1, found {}", self.smoothing);
                return Err(cx.attr_error("smoothing", message));
            }
            cx.count_in(2..=3)?;
            if !cx
                .tensor(1, Accept("i32, i64 or a float", |d| Accept::INDEX.1(d) || d.is_float()))?
                .dtype
                .is_float()
            {
                return Ok((check_classes(cx, axis)?, true));
            }
            let x = check_scores(cx, axis)?;
            cx.same_dtype(0, 1)?;
            cx.same_shape(0, 1)?;
            if self.ignore.is_some() {
                return Err(cx.attr_error("ignore", "targets that are probabilities have no class to ignore"));
            }
            Ok((x.clone(), false))
        })?;
        let y = b.widened(inputs[0], |b, x| {
            let log_p = b.composite(LogSoftmax { axis }, &[x])?;
            let weights = class_weights(b, inputs.get(2), x, axis)?;
            let weighted = b.mul(weights, log_p)?;
            let dtype = b.dtype(x)?;
            let classes = b.dim_scalar(&t.shape[axis], dtype)?;
            let share = b.scalar(dtype, self.smoothing)?;
            let share = b.div(share, classes)?;
            if !by_class {
                let target = b.cast(inputs[1], dtype)?;
                let kept = b.mul_scalar(target, 1.0 - self.smoothing)?;
                let target = b.add(kept, share)?;
                let terms = b.mul(target, weighted)?;
                let sum = b.reduce(Monoid::Sum, terms, &[axis], Keep::No)?;
                let losses = negated(b, sum)?;
                return reduced(b, losses, self.reduction, None);
            }
            let hit = target_hits(b, inputs[1], &t.shape, axis, self.ignore)?;
            let mut sum = picked(b, hit, weighted, axis)?;
            if self.smoothing > 0.0 {
                let kept = b.mul_scalar(sum, 1.0 - self.smoothing)?;
                let all = b.reduce(Monoid::Sum, weighted, &[axis], Keep::No)?;
                let spread = b.mul(all, share)?;
                let smooth = b.add(kept, spread)?;
                let counts = b.reduce(Monoid::Or, hit, &[axis], Keep::No)?;
                let zero = b.full_like(smooth, 0.0)?;
                sum = b.select(counts, smooth, zero)?;
            }
            let losses = negated(b, sum)?;
            let counts = picked(b, hit, weights, axis)?;
            reduced(b, losses, self.reduction, Some(counts))
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        let t = |dims: &[usize]| Type::tensor(DType::F32, dims);
        let loss = |reduction, ignore, smoothing| CrossEntropy { axis: 1, reduction, ignore, smoothing };
        Ok(vec![
            example(
                loss(Reduction::Mean, None, 0.0),
                [("logits", t(&[3, 5])), ("target", Type::tensor(DType::I64, [3]))],
            )?,
            example(
                loss(Reduction::None, Some(2), 0.1),
                [
                    ("logits", t(&[2, 5, 3])),
                    ("target", Type::tensor(DType::I32, [2, 3])),
                    ("weights", t(&[5])),
                ],
            )?,
            example(
                loss(Reduction::Sum, None, 0.1),
                [("logits", t(&[3, 5])), ("target", t(&[3, 5])), ("weights", t(&[5]))],
            )?,
        ])
    }
}

impl CompositeDef for NllLoss {
    const NAME: &'static str = "nll_loss";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let axis = self.axis;
        let t = b.check(Self::NAME, inputs, |cx| check_classes(cx, axis))?;
        let y = b.widened(inputs[0], |b, x| {
            let weights = class_weights(b, inputs.get(2), x, axis)?;
            let weighted = b.mul(weights, x)?;
            let hit = target_hits(b, inputs[1], &t.shape, axis, self.ignore)?;
            let sum = picked(b, hit, weighted, axis)?;
            let losses = negated(b, sum)?;
            let counts = picked(b, hit, weights, axis)?;
            reduced(b, losses, self.reduction, Some(counts))
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        let t = |dims: &[usize]| Type::tensor(DType::F32, dims);
        Ok(vec![
            example(
                NllLoss { axis: 1, reduction: Reduction::Mean, ignore: Some(0) },
                [("x", t(&[3, 5])), ("target", Type::tensor(DType::I64, [3])), ("weights", t(&[5]))],
            )?,
            example(
                NllLoss { axis: 2, reduction: Reduction::None, ignore: None },
                [("x", t(&[2, 3, 5])), ("target", Type::tensor(DType::I32, [2, 3]))],
            )?,
        ])
    }
}

impl CompositeDef for MseLoss {
    const NAME: &'static str = "mse_loss";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        b.check(Self::NAME, inputs, |cx| {
            cx.count(2)?;
            cx.tensor(0, Accept::FLOAT)?;
            cx.same_dtype(0, 1)?;
            cx.same_shape(0, 1).map(|_| ())
        })?;
        let y = b.widened(inputs[0], |b, x| {
            let dtype = b.dtype(x)?;
            let y = b.cast(inputs[1], dtype)?;
            let d = b.sub(x, y)?;
            let losses = b.mul(d, d)?;
            reduced(b, losses, self.reduction, None)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        Reduction::ALL
            .iter()
            .map(|reduction| {
                let t = || Type::tensor(DType::F32, [3, 5]);
                example(MseLoss { reduction: *reduction }, [("x", t()), ("y", t())])
            })
            .collect()
    }
}
