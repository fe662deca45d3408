//! Classic machine learning (`ai.onnx.ml`) besides trees: scaling, encoding, linear models, and what models end with.

use super::norm::{self, Norm};
use super::{hosted, one};
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::CompareKind;
use lawson_graph::{DType, Dim, HostTensor, Linear, Result, Shape, ValueId, WeightLayout};
use std::sync::Arc;

/// What becomes of scores at the end.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Transform {
    None,
    Logistic,
    Softmax,
    /// Softmax of those that are not 0.
    SoftmaxZero,
}

impl Transform {
    pub(super) fn read(cx: &NodeCx<'_, '_>) -> Result<Transform> {
        Ok(match cx.text("post_transform")?.unwrap_or("NONE") {
            "NONE" => Transform::None,
            "LOGISTIC" => Transform::Logistic,
            "SOFTMAX" => Transform::Softmax,
            "SOFTMAX_ZERO" => Transform::SoftmaxZero,
            other => return Err(cx.unsupported(format!("`{}` with the `post_transform` `{other}`", cx.op()))),
        })
    }

    /// Scores `[rows, classes]` after it.
    pub(super) fn apply(self, cx: &mut NodeCx<'_, '_>, y: ValueId) -> Result<ValueId> {
        match self {
            Transform::None => Ok(y),
            Transform::Logistic => cx.b.sigmoid(y),
            Transform::Softmax => cx.b.softmax(y, 1),
            Transform::SoftmaxZero => {
                let zero = cx.b.full_like(y, 0.0)?;
                let there = cx.b.compare(CompareKind::Ne, y, zero)?;
                let hidden = cx.b.full_like(y, f64::NEG_INFINITY)?;
                let seen = cx.b.select(there, y, hidden)?;
                let shares = cx.b.softmax(seen, 1)?;
                cx.b.select(there, shares, zero)
            }
        }
    }
}

/// The names of classes.
pub(super) enum Labels {
    Ints(Vec<i64>),
    Texts(Vec<String>),
}

impl Labels {
    pub(super) fn read(cx: &NodeCx<'_, '_>, [ints, texts]: [&'static str; 2]) -> Result<Labels> {
        if let Some(texts) = cx.texts(texts)?.filter(|t| !t.is_empty()) {
            return Ok(Labels::Texts(texts.into_iter().map(str::to_string).collect()));
        }
        match cx.ints(ints)?.filter(|l| !l.is_empty()) {
            Some(labels) => Ok(Labels::Ints(labels.to_vec())),
            None => Err(cx.wrong(format!(
                "`{}` does not name its classes: `{ints}` or `{texts}` is expected",
                cx.op()
            ))),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Labels::Ints(l) => l.len(),
            Labels::Texts(l) => l.len(),
        }
    }

    /// The label of the greatest score of each row, the first of equals.
    pub(super) fn best(&self, cx: &mut NodeCx<'_, '_>, scores: ValueId) -> Result<ValueId> {
        let index = cx.b.argmax(scores, 1)?;
        self.of(cx, index)
    }

    /// The labels of classes by their numbers.
    pub(super) fn of(&self, cx: &mut NodeCx<'_, '_>, index: ValueId) -> Result<ValueId> {
        match self {
            Labels::Ints(labels) => {
                let table = cx.b.constant(HostTensor::from_slice(&[labels.len()], labels)?)?;
                cx.b.take(table, index, 0)
            }
            Labels::Texts(labels) => {
                let numbers: Vec<i64> = (0..labels.len() as i64).collect();
                let keys = HostTensor::from_slice(&[labels.len()], &numbers)?;
                let texts = labels.iter().map(|l| Arc::from(l.as_str())).collect();
                let values = HostTensor::from_text(&[labels.len()], texts)?;
                hosted::look_up(cx, index, keys, values)
            }
        }
    }
}

/// The rows of a matrix, for operators that take vectors as one row.
fn as_rows(cx: &mut NodeCx<'_, '_>, x: ValueId) -> Result<ValueId> {
    let shape = cx.b.shape(x)?;
    match &shape[..] {
        [n] => cx.b.reshape(x, Shape::from(vec![Dim::ONE, n.clone()])),
        _ => Ok(x),
    }
}

/// Operand 0 as rows of f32.
pub(super) fn rows(cx: &mut NodeCx<'_, '_>) -> Result<ValueId> {
    let x = cx.value(0)?;
    let x = cx.b.cast(x, DType::F32)?;
    as_rows(cx, x)
}

/// Numbers of an attribute as f32: one for all columns, or one for each.
fn per_column(cx: &mut NodeCx<'_, '_>, name: &'static str, default: f32, x: ValueId) -> Result<ValueId> {
    let numbers = cx.floats(name)?.map_or_else(|| vec![default], <[f32]>::to_vec);
    let shape = cx.b.shape(x)?;
    let fits = numbers.len() == 1 || shape.last().is_some_and(|d| d.is(numbers.len() as i64));
    if !fits {
        return Err(cx.wrong(format!("`{name}` of `{}` has {} numbers for {shape}", cx.op(), numbers.len())));
    }
    let v = cx.b.constant(HostTensor::from_slice(&[numbers.len()], &numbers)?)?;
    cx.b.broadcast_to(v, shape)
}

/// `(x - offset)·scale`.
pub(super) fn scaler(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let x = cx.b.cast(x, DType::F32)?;
    let (offset, scale) = (per_column(cx, "offset", 0.0, x)?, per_column(cx, "scale", 1.0, x)?);
    let moved = cx.b.sub(x, offset)?;
    one(cx.b.mul(moved, scale)?)
}

/// Rows divided by their greatest element, the sum of what they are without signs, or their length; rows where that is 0 stay.
pub(super) fn normalizer(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let norm = match cx.text("norm")?.unwrap_or("MAX") {
        "MAX" => Norm::Max,
        "L1" => Norm::L1,
        "L2" => Norm::L2,
        other => {
            return Err(cx.wrong(format!("`Normalizer` has no norm `{other}`; MAX, L1 or L2 is expected")));
        }
    };
    let x = cx.value(0)?;
    let x = cx.b.cast(x, DType::F32)?;
    let axis =
        cx.b.tensor_type(x)?.rank().checked_sub(1).ok_or_else(|| cx.wrong("`Normalizer` of a scalar"))?;
    one(norm::over_norm(cx, x, axis, norm)?)
}

/// Elements that stand for missing ones, replaced by a number, or one for each column. Integers are never floats on the way, which would
/// not hold the large ones.
pub(super) fn imputer(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let (dtype, shape) = (cx.b.dtype(x)?, cx.b.shape(x)?);
    let (ints, floats) = (cx.ints("imputed_value_int64s")?, cx.floats("imputed_value_floats")?);
    let replaced = (cx.int("replaced_value_int64")?.unwrap_or(0), cx.float("replaced_value_float", 0.0)?);
    let (values, mark) = match (dtype.is_float(), ints, floats) {
        (true, _, Some(v)) => {
            let numbers: Vec<f64> = v.iter().map(|v| f64::from(*v)).collect();
            let mark = HostTensor::from_floats(dtype, &[], &[replaced.1])?;
            (HostTensor::from_floats(dtype, &[v.len()], &numbers)?, mark)
        }
        (false, Some(v), _) => {
            let numbers: Vec<i128> = v.iter().map(|v| i128::from(*v)).collect();
            let mark = HostTensor::from_ints(dtype, &[], &[i128::from(replaced.0)])?;
            (HostTensor::from_ints(dtype, &[v.len()], &numbers)?, mark)
        }
        _ => return Err(cx.wrong(format!("`Imputer` of {dtype} has no values of that kind"))),
    };
    if values.len() != 1 && !shape.last().is_some_and(|d| d.is(values.len() as i64)) {
        return Err(cx.wrong(format!("`Imputer` has {} values for {shape}", values.len())));
    }
    let values = cx.b.constant(values)?;
    let values = cx.b.broadcast_to(values, shape)?;
    let missing = if dtype.is_float() && replaced.1.is_nan() {
        cx.b.is_nan(x)?
    } else {
        let mark = cx.b.constant(mark)?;
        cx.b.compare(CompareKind::Eq, x, mark)?
    };
    one(cx.b.select(missing, values, x)?)
}

/// Operands side by side, as f32.
pub(super) fn feature_vectorizer(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let dims = cx.ints("inputdimensions")?.unwrap_or_default().to_vec();
    let mut parts = Vec::with_capacity(cx.operands());
    for i in 0..cx.operands() {
        let x = cx.value(i)?;
        let x = cx.b.cast(x, DType::F32)?;
        let x = as_rows(cx, x)?;
        let shape = cx.b.shape(x)?;
        if shape.rank() != 2 || dims.get(i).is_some_and(|d| !shape[1].is(*d)) {
            return Err(cx.wrong(format!("operand {i} of `FeatureVectorizer` is {shape}, which is not as `inputdimensions` {dims:?} say")));
        }
        parts.push(x);
    }
    if parts.is_empty() {
        return Err(cx.wrong("`FeatureVectorizer` of nothing"));
    }
    one(cx.b.concat(&parts, 1)?)
}

/// 1 where an element is the category of the last axis, 0 elsewhere.
pub(super) fn one_hot_encoder(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    // Whether unknown categories give zeros or an error; there is no error in the middle of a run.
    if !cx.flag("zeros", true)? {
        return Err(cx.unsupported("`OneHotEncoder` that fails for unknown categories"));
    }
    let x = cx.value(0)?;
    let texts = cx.texts("cats_strings")?.filter(|c| !c.is_empty());
    let (x, categories) = match (texts, cx.ints("cats_int64s")?.filter(|c| !c.is_empty())) {
        // Each text is a number first; 0 is none of them.
        (Some(texts), _) => {
            let numbers: Vec<i64> = (1..=texts.len() as i64).collect();
            let keys = HostTensor::from_text(&[texts.len()], texts.into_iter().map(Arc::from).collect())?;
            let values = HostTensor::from_slice(&[numbers.len()], &numbers)?;
            (hosted::look_up(cx, x, keys, values)?, numbers)
        }
        (None, Some(numbers)) => (cx.b.cast(x, DType::I64)?, numbers.to_vec()),
        (None, None) => {
            return Err(
                cx.wrong("`OneHotEncoder` has no categories: `cats_int64s` or `cats_strings` is expected")
            );
        }
    };
    let mut dims = cx.b.shape(x)?.into_dims();
    let column = dims.iter().cloned().chain([Dim::ONE]).collect::<Shape>();
    let x = cx.b.reshape(x, column)?;
    dims.push(Dim::from(categories.len()));
    let x = cx.b.broadcast_to(x, Shape::from(dims.clone()))?;
    let all = cx.b.constant(HostTensor::from_slice(&[categories.len()], &categories)?)?;
    let all = cx.b.broadcast_to(all, Shape::from(dims))?;
    let is = cx.b.compare(CompareKind::Eq, x, all)?;
    one(cx.b.cast(is, DType::F32)?)
}

/// `x·coefficientsᵀ + intercepts`: `[rows, count]`.
fn linear(cx: &mut NodeCx<'_, '_>, count: usize) -> Result<ValueId> {
    let x = rows(cx)?;
    let shape = cx.b.shape(x)?;
    let coefficients = cx.floats("coefficients")?.unwrap_or_default();
    let each = coefficients.len() / count.max(1);
    if shape.rank() != 2 || each * count != coefficients.len() || !shape[1].is(each as i64) {
        return Err(cx.wrong(format!(
            "`{}` has {} coefficients for {count} results of {shape}",
            cx.op(),
            coefficients.len()
        )));
    }
    let weights = cx.b.constant(HostTensor::from_slice(&[count, each], coefficients)?)?;
    let y = cx.b.composite(Linear { layout: WeightLayout::OutIn }, &[x, weights])?;
    match cx.floats("intercepts")?.filter(|i| !i.is_empty()) {
        None => Ok(y),
        Some(all) if all.len() == count => {
            let (shape, all) = (cx.b.shape(y)?, cx.b.constant(HostTensor::from_slice(&[count], all)?)?);
            let all = cx.b.broadcast_to(all, shape)?;
            cx.b.add(y, all)
        }
        Some(all) => Err(cx.wrong(format!("`{}` has {} intercepts for {count} results", cx.op(), all.len()))),
    }
}

pub(super) fn linear_regressor(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let count = usize::try_from(cx.int("targets")?.unwrap_or(1)).unwrap_or(0);
    let transform = Transform::read(cx)?;
    let y = linear(cx, count)?;
    one(transform.apply(cx, y)?)
}

/// The class of each row, and its scores. Coefficients of one row decide between two classes.
pub(super) fn linear_classifier(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("multi_class");
    let (labels, transform) =
        (Labels::read(cx, ["classlabels_ints", "classlabels_strings"])?, Transform::read(cx)?);
    let width =
        cx.shape(0)?.last().and_then(Dim::as_const).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let given = cx.floats("coefficients")?.unwrap_or_default().len();
    if labels.len() == 2 && width > 0 && given == width {
        return Err(cx.unsupported("`LinearClassifier` with coefficients for the second of two classes only"));
    }
    let scores = linear(cx, labels.len())?;
    let label = labels.best(cx, scores)?;
    Ok(vec![label.into(), transform.apply(cx, scores)?.into()])
}

pub(super) fn binarizer(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let threshold = cx.float("threshold", 0.0)?;
    let x = cx.value(0)?;
    let dtype = cx.b.dtype(x)?;
    let bound = cx.b.full_like(x, threshold)?;
    let above = cx.b.compare(CompareKind::Gt, x, bound)?;
    one(cx.b.cast(above, dtype)?)
}

/// Entries of the last axis; a vector gives one row.
pub(super) fn array_feature_extractor(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (x, at) = (cx.value(0)?, cx.value(1)?);
    let (shape, count) = (cx.b.shape(x)?, cx.b.shape(at)?.elements());
    let at = cx.b.reshape(at, [count.clone()])?;
    let y = cx.b.take(x, at, shape.rank().saturating_sub(1))?;
    one(if shape.rank() == 1 { cx.b.reshape(y, [Dim::ONE, count])? } else { y })
}
