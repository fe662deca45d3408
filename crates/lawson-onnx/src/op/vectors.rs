//! Support vectors (`ai.onnx.ml`): kernels of rows with stored vectors, weighed; classes by votes or by coupled probabilities.

use super::classic::{Labels, Transform, rows};
use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{BinaryKind, CompareKind, Monoid};
use lawson_graph::{Builder, DType, Dim, HostTensor, Keep, Result, Shape, ValueId};

/// How far probabilities may be from the solution where the search ends, over the number of classes; and how often it goes on at most.
const ERROR: f64 = 0.005;
const ROUNDS: i64 = 100;
/// The most numbers in a table of all pairs of classes, of which a file has fewer by far: most are zeros. And the most classes with
/// probabilities, which are coupled one by one.
const MOST_OF_PAIRS: usize = 1 << 24;
const MOST_COUPLED: usize = 64;

/// What is made of a row and a stored vector.
enum Kernel {
    Linear,
    Polynomial { gamma: f64, first: f64, degree: f64 },
    Radial { gamma: f64 },
    Sigmoid { gamma: f64, first: f64 },
}

impl Kernel {
    fn read(cx: &NodeCx<'_, '_>) -> Result<Kernel> {
        let numbers = cx.floats("kernel_params")?.unwrap_or_default().to_vec();
        let kind = cx.text("kernel_type")?.unwrap_or("LINEAR");
        if kind != "LINEAR" && numbers.len() != 3 {
            let count = numbers.len();
            return Err(cx.wrong(format!(
                "`kernel_params` of `{}` has {count} numbers instead of gamma, coef0 and degree",
                cx.op()
            )));
        }
        let number = |i: usize| numbers.get(i).map_or(0.0, |n| f64::from(*n));
        let (gamma, first, degree) = (number(0), number(1), number(2));
        Ok(match kind {
            "LINEAR" => Kernel::Linear,
            "POLY" => Kernel::Polynomial { gamma, first, degree },
            "RBF" => Kernel::Radial { gamma },
            "SIGMOID" => Kernel::Sigmoid { gamma, first },
            other => {
                return Err(cx.no_such("kernel_type", other, &["LINEAR", "POLY", "RBF", "SIGMOID"]));
            }
        })
    }

    /// Rows `[n, width]` with vectors `[count, width]`: `[n, count]`.
    fn apply(&self, b: &mut Builder<'static>, x: ValueId, vectors: HostTensor) -> Result<ValueId> {
        let vectors = b.constant(vectors)?;
        if let Kernel::Radial { gamma } = self {
            let (own, other) = (b.shape(x)?, b.shape(vectors)?);
            let all = Shape::from(vec![own[0].clone(), other[0].clone(), own[1].clone()]);
            let (x, v) = (b.broadcast_in(x, all.clone(), &[0, 2])?, b.broadcast_in(vectors, all, &[1, 2])?);
            let apart = b.sub(x, v)?;
            let square = b.mul(apart, apart)?;
            let far = b.reduce(Monoid::Sum, square, &[2], Keep::No)?;
            let y = b.mul_scalar(far, -gamma)?;
            return b.exp(y);
        }
        let turned = b.transpose(vectors, &[1, 0])?;
        let y = b.matmul(x, turned)?;
        match *self {
            Kernel::Polynomial { gamma, first, degree } => {
                let y = b.mul_scalar(y, gamma)?;
                let y = b.add_scalar(y, first)?;
                let power = b.full_like(y, degree)?;
                b.binary(BinaryKind::Pow, y, power)
            }
            Kernel::Sigmoid { gamma, first } => {
                let y = b.mul_scalar(y, gamma)?;
                let y = b.add_scalar(y, first)?;
                b.tanh(y)
            }
            Kernel::Linear | Kernel::Radial { .. } => Ok(y),
        }
    }
}

/// Numbers of an attribute as a matrix of so many rows, as wide as those of x.
fn matrix(cx: &NodeCx<'_, '_>, name: &'static str, count: usize, x: &Shape) -> Result<HostTensor> {
    let numbers = cx.floats(name)?.unwrap_or_default();
    let width = x.get(1).and_then(Dim::as_const).and_then(|w| usize::try_from(w).ok());
    let fits = x.rank() == 2 && width.is_some_and(|w| w.checked_mul(count) == Some(numbers.len()));
    let Some(width) = width.filter(|_| fits && count > 0) else {
        let (op, have) = (cx.op(), numbers.len());
        return Err(cx.wrong(format!(
            "`{name}` of `{op}` has {have} numbers for {count} rows as wide as those of {x}"
        )));
    };
    HostTensor::from_slice(&[count, width], numbers)
}

/// A number for each row, of weighed kernels; with `one_class`, its sign.
pub(super) fn regressor(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let transform = Transform::read(cx)?;
    let kernel = Kernel::read(cx)?;
    let x = rows(cx)?;
    let shape = cx.b.shape(x)?;
    let count = usize::try_from(cx.int("n_supports")?.unwrap_or(0)).unwrap_or(0);
    let y = if count > 0 {
        let vectors = matrix(cx, "support_vectors", count, &shape)?;
        let weights = cx.floats("coefficients")?.unwrap_or_default();
        if weights.len() != count {
            let have = weights.len();
            return Err(cx.wrong(format!("`SVMRegressor` has {have} coefficients for {count} vectors")));
        }
        let weights = cx.b.constant(HostTensor::from_slice(&[count, 1], weights)?)?;
        let kernels = kernel.apply(cx.b, x, vectors)?;
        cx.b.matmul(kernels, weights)?
    } else {
        cx.ignore("support_vectors");
        let weights = matrix(cx, "coefficients", 1, &shape)?;
        kernel.apply(cx.b, x, weights)?
    };
    let rho = f64::from(cx.floats("rho")?.and_then(|r| r.first().copied()).unwrap_or(0.0));
    let y = cx.b.add_scalar(y, rho)?;
    if !cx.flag("one_class", false)? {
        return one(transform.apply(cx, y)?);
    }
    let above = positive(cx.b, y)?;
    let (inside, outside) = (cx.b.full_like(y, 1.0)?, cx.b.full_like(y, -1.0)?);
    one(cx.b.select(above, inside, outside)?)
}

fn positive(b: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
    let zero = b.full_like(x, 0.0)?;
    b.compare(CompareKind::Gt, x, zero)
}

/// The class of each row, and its scores: of each class with probabilities, otherwise of each pair of classes, or, without vectors,
/// of each class by a line.
pub(super) fn classifier(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let labels = Labels::read(cx, ["classlabels_ints", "classlabels_strings"])?;
    let (transform, kernel) = (Transform::read(cx)?, Kernel::read(cx)?);
    let x = rows(cx)?;
    let shape = cx.b.shape(x)?;
    let rho = cx.floats("rho")?.unwrap_or_default();
    let of_classes = cx.ints("vectors_per_class")?.unwrap_or_default();
    if of_classes.is_empty() {
        cx.ignore("support_vectors");
        cx.ignore("prob_a");
        cx.ignore("prob_b");
        let weights = matrix(cx, "coefficients", labels.len(), &shape)?;
        let y = kernel.apply(cx.b, x, weights)?;
        let y = cx.b.add_scalar(y, f64::from(rho.first().copied().unwrap_or(0.0)))?;
        let label = labels.best(cx, y)?;
        return Ok(vec![label.into(), transform.apply(cx, y)?.into()]);
    }
    let (weights, pairs) = pair_weights(cx, of_classes, labels.len())?;
    if rho.len() != pairs.len() {
        let (have, want) = (rho.len(), pairs.len());
        return Err(
            cx.wrong(format!("`SVMClassifier` has {have} numbers in `rho` for {want} pairs of classes"))
        );
    }
    let vectors = matrix(cx, "support_vectors", weights.sizes()[0], &shape)?;
    let kernels = kernel.apply(cx.b, x, vectors)?;
    let weights = cx.b.constant(weights)?;
    let scores = cx.b.matmul(kernels, weights)?;
    let rho = cx.b.constant(HostTensor::from_slice(&[pairs.len()], rho)?)?;
    let scores = cx.b.add(scores, rho)?;
    // Each pair has a vote, also where there are probabilities.
    let first = positive(cx.b, scores)?;
    let first = cx.b.cast(first, DType::F32)?;
    let [gains, always] = vote_table(labels.len(), &pairs)?;
    let (gains, always) = (cx.b.constant(gains)?, cx.b.constant(always)?);
    let votes = cx.b.matmul(first, gains)?;
    let votes = cx.b.add(votes, always)?;
    let label = labels.best(cx, votes)?;
    let (a, c) = (cx.floats("prob_a")?.unwrap_or_default(), cx.floats("prob_b")?.unwrap_or_default());
    if !a.is_empty() {
        if labels.len() > MOST_COUPLED {
            let (have, most) = (labels.len(), MOST_COUPLED);
            return Err(cx.unsupported(format!(
                "`SVMClassifier` with probabilities of {have} classes; {most} can be coupled"
            )));
        }
        if a.len() != pairs.len() || c.len() != pairs.len() {
            return Err(
                cx.wrong("`prob_a` and `prob_b` of `SVMClassifier` need a number for each pair of classes")
            );
        }
        let (a, c) = (
            cx.b.constant(HostTensor::from_slice(&[a.len()], a)?)?,
            cx.b.constant(HostTensor::from_slice(&[c.len()], c)?)?,
        );
        let chances = coupled(cx.b, scores, a, c, &pairs, labels.len())?;
        return Ok(vec![label.into(), transform.apply(cx, chances)?.into()]);
    }
    let scores = if pairs.len() == 1 {
        let turned = cx.b.mul_scalar(scores, -1.0)?;
        match transform {
            // One score is that of the second class.
            Transform::None => cx.b.concat(&[turned, scores], 1)?,
            other => {
                let own = other.apply(cx, scores)?;
                let rest = cx.b.mul_scalar(own, -1.0)?;
                let rest = cx.b.add_scalar(rest, 1.0)?;
                cx.b.concat(&[rest, own], 1)?
            }
        }
    } else {
        transform.apply(cx, scores)?
    };
    Ok(vec![label.into(), scores.into()])
}

/// For each pair of classes, in order, what each vector weighs: `[vectors, pairs]`.
fn pair_weights(
    cx: &NodeCx<'_, '_>,
    of_classes: &[i64],
    classes: usize,
) -> Result<(HostTensor, Vec<(usize, usize)>)> {
    let weights = cx.floats("coefficients")?.unwrap_or_default();
    let counts: Option<Vec<usize>> = of_classes.iter().map(|c| usize::try_from(*c).ok()).collect();
    let total = counts.as_ref().and_then(|c| c.iter().try_fold(0usize, |sum, c| sum.checked_add(*c)));
    let whole = total.and_then(|t| t.checked_mul(classes.saturating_sub(1)));
    let (Some(counts), Some(total)) = (counts, total.filter(|t| *t > 0 && whole == Some(weights.len())))
    else {
        let have = weights.len();
        return Err(cx.wrong(format!(
            "`SVMClassifier` has {have} coefficients, and vectors {of_classes:?} for {classes} classes"
        )));
    };
    if counts.len() != classes {
        return Err(cx.wrong(format!("`vectors_per_class` {of_classes:?} of `SVMClassifier` has not one number for each of {classes} classes")));
    }
    let count = classes * classes.saturating_sub(1) / 2;
    if count.checked_mul(total.max(classes)).is_none_or(|n| n > MOST_OF_PAIRS) {
        return Err(cx.unsupported(format!(
            "`SVMClassifier` of {classes} classes and {total} vectors, whose {count} pairs have tables of more than {MOST_OF_PAIRS} numbers"
        )));
    }
    let begins: Vec<usize> = counts.iter().scan(0, |at, c| Some(std::mem::replace(at, *at + c))).collect();
    let pairs: Vec<(usize, usize)> =
        (0..classes).flat_map(|i| (i + 1..classes).map(move |j| (i, j))).collect();
    let mut out = vec![0f32; total * pairs.len()];
    for (p, (i, j)) in pairs.iter().enumerate() {
        for v in begins[*i]..begins[*i] + counts[*i] {
            out[v * pairs.len() + p] = weights[(j - 1) * total + v];
        }
        for v in begins[*j]..begins[*j] + counts[*j] {
            out[v * pairs.len() + p] = weights[i * total + v];
        }
    }
    Ok((HostTensor::from_slice(&[total, pairs.len()], &out)?, pairs))
}

/// Votes of pairs: `[pairs, classes]` of what a pair that is positive adds, and `[classes]` of what all have if none is.
fn vote_table(classes: usize, pairs: &[(usize, usize)]) -> Result<[HostTensor; 2]> {
    let (mut gained, mut always) = (vec![0f32; pairs.len() * classes], vec![0f32; classes]);
    for (p, (i, j)) in pairs.iter().enumerate() {
        gained[p * classes + i] = 1.0;
        gained[p * classes + j] = -1.0;
        always[*j] += 1.0;
    }
    Ok([
        HostTensor::from_slice(&[pairs.len(), classes], &gained)?,
        HostTensor::from_slice(&[classes], &always)?,
    ])
}

/// Probabilities of classes that fit those of pairs best, by the iteration of Wu, Lin and Weng; rows that are near enough stay.
fn coupled(
    b: &mut Builder<'static>,
    scores: ValueId,
    slope: ValueId,
    offset: ValueId,
    pairs: &[(usize, usize)],
    classes: usize,
) -> Result<ValueId> {
    let rows = b.shape(scores)?[0].clone();
    let lifted = b.mul(scores, slope)?;
    let lifted = b.add(lifted, offset)?;
    let lifted = b.mul_scalar(lifted, -1.0)?;
    let chance = b.sigmoid(lifted)?;
    let chance = b.clip(chance, 1e-7, 1.0 - 1e-7)?;
    let column = |b: &mut Builder<'static>, x: ValueId, i: usize| b.slice_axis(x, 1, i as i64, 1);
    let blank = b.full_like(chance, 0.0)?;
    let blank = column(b, blank, 0)?;
    let mut of = vec![vec![blank; classes]; classes];
    for (p, (i, j)) in pairs.iter().enumerate() {
        let won = column(b, chance, p)?;
        let lost = b.mul_scalar(won, -1.0)?;
        (of[*i][*j], of[*j][*i]) = (won, b.add_scalar(lost, 1.0)?);
    }
    // Row t: the sum of r[j][t]² on the diagonal, -r[j][t]·r[t][j] beside it.
    let mut entries = Vec::with_capacity(classes * classes);
    for (t, own) in of.iter().enumerate() {
        for (j, other) in of.iter().enumerate() {
            entries.push(if j == t {
                let mut sum = blank;
                for rival in of.iter().enumerate().filter(|(i, _)| *i != t).map(|(_, rival)| rival) {
                    let square = b.mul(rival[t], rival[t])?;
                    sum = b.add(sum, square)?;
                }
                sum
            } else {
                let product = b.mul(other[t], own[j])?;
                b.mul_scalar(product, -1.0)?
            });
        }
    }
    let size = classes as i64;
    let q = b.concat(&entries, 1)?;
    let q = b.reshape(q, Shape::from(vec![rows.clone(), Dim::from(size), Dim::from(size)]))?;
    let even = b.scalar(DType::F32, 1.0 / classes as f64)?;
    let p = b.broadcast_to(even, Shape::from(vec![rows.clone(), Dim::from(size)]))?;
    let limit = ERROR / classes as f64;
    let found = b.scan(ROUNDS.max(size), &[p], &[], &[q], |b, v| {
        Ok(vec![coupling_round(b, v[0], v[1], classes, limit)?])
    })?;
    Ok(found[0])
}

/// One round over all classes for those rows that are not near enough.
fn coupling_round(
    b: &mut Builder<'static>,
    p: ValueId,
    q: ValueId,
    classes: usize,
    limit: f64,
) -> Result<ValueId> {
    let shape = b.shape(p)?;
    let wide = b.shape(q)?;
    let spread = b.broadcast_in(p, wide, &[0, 2])?;
    let products = b.mul(q, spread)?;
    let mut qp = b.reduce(Monoid::Sum, products, &[2], Keep::No)?;
    let whole = b.mul(p, qp)?;
    let mut whole = b.reduce(Monoid::Sum, whole, &[1], Keep::Yes)?;
    let all = b.broadcast_to(whole, shape.clone())?;
    let off = b.sub(qp, all)?;
    let off = b.abs(off)?;
    let worst = b.reduce(Monoid::Max, off, &[1], Keep::Yes)?;
    let enough = b.full_like(worst, limit)?;
    let near = b.compare(CompareKind::Lt, worst, enough)?;
    let mut new = p;
    for t in 0..classes as i64 {
        let line = b.slice_axis(q, 1, t, 1)?;
        let line = b.reshape(line, shape.clone())?;
        let (own, at) = (b.slice_axis(line, 1, t, 1)?, b.slice_axis(qp, 1, t, 1)?);
        let diff = b.sub(whole, at)?;
        let diff = b.div(diff, own)?;
        let grown = b.add_scalar(diff, 1.0)?;
        let (step, twice) = (b.mul(diff, own)?, b.mul_scalar(at, 2.0)?);
        let step = b.add(step, twice)?;
        let step = b.mul(diff, step)?;
        whole = b.add(whole, step)?;
        whole = b.div(whole, grown)?;
        whole = b.div(whole, grown)?;
        let moved = b.mul(line, diff)?;
        qp = b.add(qp, moved)?;
        qp = b.div(qp, grown)?;
        let unit: Vec<f64> = (0..classes as i64).map(|j| if j == t { 1.0 } else { 0.0 }).collect();
        let unit = b.constant(HostTensor::from_floats(DType::F32, &[classes], &unit)?)?;
        let moved = b.mul(unit, diff)?;
        new = b.add(new, moved)?;
        new = b.div(new, grown)?;
    }
    let near = b.broadcast_to(near, shape)?;
    b.select(near, p, new)
}

/// A table of scores for each row: maps from names of classes are not a type of Lawson's, columns in the order of the names are.
pub(super) fn zip_map(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let labels = Labels::read(cx, ["classlabels_int64s", "classlabels_strings"])?;
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    if !shape.last().is_some_and(|d| d.as_const().is_none() || d.is(labels.len() as i64)) {
        return Err(cx.wrong(format!("`ZipMap` has {} names for {shape}", labels.len())));
    }
    one(x)
}
