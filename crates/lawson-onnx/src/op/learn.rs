//! Steps of optimisers (`ai.onnx.preview.training`) and models of classic machine learning (`ai.onnx.ml`).

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::CompareKind;
use lawson_graph::{DType, Dim, HostTensor, Result, Shape, ValueId};

/// The rate, the number of the step, and groups of operands: all weights, all gradients, and the state of each.
fn groups(cx: &mut NodeCx<'_, '_>, states: usize) -> Result<(ValueId, ValueId, Vec<Vec<ValueId>>)> {
    let (rate, step) = (cx.value(0)?, cx.value(1)?);
    let parts = states + 2;
    let count = cx.operands().saturating_sub(2);
    if count == 0 || !count.is_multiple_of(parts) {
        return Err(cx.wrong(format!("`{}` with {count} tensors, in groups of {parts}", cx.op())));
    }
    let n = count / parts;
    let group = |cx: &mut NodeCx<'_, '_>, i: usize| (0..parts).map(|p| cx.value(2 + p * n + i)).collect();
    let all = (0..n).map(|i| group(cx, i)).collect::<Result<Vec<_>>>()?;
    let rate = cx.b.reshape(rate, Shape::scalar())?;
    let step = cx.b.reshape(step, Shape::scalar())?;
    Ok((rate, step, all))
}

/// `norm·x + g`.
fn regularised(cx: &mut NodeCx<'_, '_>, x: ValueId, g: ValueId) -> Result<ValueId> {
    let norm = cx.float("norm_coefficient", 0.0)?;
    if norm == 0.0 {
        return Ok(g);
    }
    let pull = cx.b.mul_scalar(x, norm)?;
    cx.b.add(pull, g)
}

/// Results are all first ones, then all second ones, and so on.
fn by_kind(groups: Vec<Vec<ValueId>>) -> Vec<Item> {
    let kinds = groups.first().map_or(0, Vec::len);
    (0..kinds).flat_map(|k| groups.iter().map(move |g| Item::Value(g[k]))).collect()
}

/// `a·x + b·y`.
fn blend(cx: &mut NodeCx<'_, '_>, a: f64, x: ValueId, b: f64, y: ValueId) -> Result<ValueId> {
    let (x, y) = (cx.b.mul_scalar(x, a)?, cx.b.mul_scalar(y, b)?);
    cx.b.add(x, y)
}

pub(super) fn adagrad(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (decay, epsilon) = (cx.float("decay_factor", 0.0)?, cx.float("epsilon", f64::from(1e-6f32))?);
    let (rate, step, all) = groups(cx, 1)?;
    let dtype = cx.b.dtype(rate)?;
    let step = cx.b.cast(step, dtype)?;
    let slower = cx.b.mul_scalar(step, decay)?;
    let slower = cx.b.add_scalar(slower, 1.0)?;
    let rate = cx.b.div(rate, slower)?;
    let mut results = Vec::with_capacity(all.len());
    for group in all {
        let (x, g, h) = (group[0], group[1], group[2]);
        let g = regularised(cx, x, g)?;
        let square = cx.b.mul(g, g)?;
        let h = cx.b.add(h, square)?;
        let root = cx.b.sqrt(h)?;
        let root = cx.b.add_scalar(root, epsilon)?;
        let moved = cx.b.mul(rate, g)?;
        let moved = cx.b.div(moved, root)?;
        results.push(vec![cx.b.sub(x, moved)?, h]);
    }
    Ok(by_kind(results))
}

pub(super) fn adam(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (alpha, beta) = (cx.float("alpha", f64::from(0.9f32))?, cx.float("beta", f64::from(0.999f32))?);
    let epsilon = cx.float("epsilon", f64::from(1e-6f32))?;
    let after = cx.float("norm_coefficient_post", 0.0)?;
    let (rate, step, all) = groups(cx, 2)?;
    let dtype = cx.b.dtype(rate)?;
    let zero = cx.b.full_like(step, 0.0)?;
    let begun = cx.b.compare(CompareKind::Gt, step, zero)?;
    let step = cx.b.cast(step, dtype)?;
    let left = |cx: &mut NodeCx<'_, '_>, base: f64| {
        let base = cx.b.scalar(dtype, base)?;
        let power = cx.b.pow(base, step)?;
        let one = cx.b.scalar(dtype, 1.0)?;
        cx.b.sub(one, power)
    };
    let (by_beta, by_alpha) = (left(cx, beta)?, left(cx, alpha)?);
    let root = cx.b.sqrt(by_beta)?;
    let adjusted = cx.b.mul(rate, root)?;
    let adjusted = cx.b.div(adjusted, by_alpha)?;
    let rate = cx.b.select(begun, adjusted, rate)?;
    let mut results = Vec::with_capacity(all.len());
    for group in all {
        let (x, g, v, h) = (group[0], group[1], group[2], group[3]);
        let g = regularised(cx, x, g)?;
        let v = blend(cx, alpha, v, 1.0 - alpha, g)?;
        let square = cx.b.mul(g, g)?;
        let h = blend(cx, beta, h, 1.0 - beta, square)?;
        let root = cx.b.sqrt(h)?;
        let root = cx.b.add_scalar(root, epsilon)?;
        let direction = cx.b.div(v, root)?;
        let moved = cx.b.mul(rate, direction)?;
        let x = cx.b.sub(x, moved)?;
        let x = if after == 0.0 { x } else { cx.b.mul_scalar(x, 1.0 - after)? };
        results.push(vec![x, v, h]);
    }
    Ok(by_kind(results))
}

pub(super) fn momentum(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (alpha, beta) = (cx.float("alpha", 0.0)?, cx.float("beta", 0.0)?);
    let nesterov = match cx.text("mode")?.unwrap_or("standard") {
        "standard" => false,
        "nesterov" => true,
        other => return Err(cx.wrong(format!("`Momentum` has no mode `{other}`"))),
    };
    let (rate, step, all) = groups(cx, 1)?;
    let zero = cx.b.full_like(step, 0.0)?;
    let begun = cx.b.compare(CompareKind::Gt, step, zero)?;
    let mut results = Vec::with_capacity(all.len());
    for group in all {
        let (x, g, v) = (group[0], group[1], group[2]);
        let dtype = cx.b.dtype(x)?;
        let (one, beta) = (cx.b.scalar(dtype, 1.0)?, cx.b.scalar(dtype, beta)?);
        let share = cx.b.select(begun, beta, one)?;
        let g = regularised(cx, x, g)?;
        let (kept, added) = (cx.b.mul_scalar(v, alpha)?, cx.b.mul(share, g)?);
        let v = cx.b.add(kept, added)?;
        let direction = if nesterov {
            let ahead = cx.b.mul_scalar(v, alpha)?;
            cx.b.add(g, ahead)?
        } else {
            v
        };
        let moved = cx.b.mul(rate, direction)?;
        results.push(vec![cx.b.sub(x, moved)?, v]);
    }
    Ok(by_kind(results))
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

/// A tree ensemble of version 5: arrays of nodes and leaves.
struct Trees {
    features: Vec<i64>,
    modes: Vec<u8>,
    splits: HostTensor,
    /// For each side, where a node leads, and whether that is a leaf.
    next: [Vec<i64>; 2],
    leaf: [Vec<i64>; 2],
    missing: Vec<i64>,
    /// The members of each node that asks for membership.
    members: Vec<Vec<f64>>,
}

/// The most nodes that are written out.
const MAX_NODES: usize = 20_000;

pub(super) fn tree_ensemble(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("nodes_hitrates");
    let x = cx.value(0)?;
    let dtype = cx.b.dtype(x)?;
    let list = |name: &'static str| Ok::<_, lawson_graph::Error>(cx.ints(name)?.unwrap_or_default().to_vec());
    let tensor = |name: &'static str| {
        cx.tensor(name)?.ok_or_else(|| cx.wrong(format!("`TreeEnsemble` has no `{name}`")))
    };
    let modes = tensor("nodes_modes")?;
    let modes: Vec<u8> = (0..modes.len()).map(|i| modes.int_at(i) as u8).collect();
    let mut members = vec![Vec::new(); modes.len()];
    if let Some(t) = cx.tensor("membership_values")? {
        // Lists follow one another in the order of the nodes, each ended by NaN.
        let mut all = (0..t.len()).map(|i| t.float_at(i));
        for (i, _) in modes.iter().enumerate().filter(|(_, m)| **m == 6) {
            members[i] = all.by_ref().take_while(|v| !v.is_nan()).collect();
        }
    }
    let trees = Trees {
        features: list("nodes_featureids")?,
        modes,
        splits: tensor("nodes_splits")?,
        next: [list("nodes_falsenodeids")?, list("nodes_truenodeids")?],
        leaf: [list("nodes_falseleafs")?, list("nodes_trueleafs")?],
        missing: list("nodes_missing_value_tracks_true")?,
        members,
    };
    let (targets, weights) = (list("leaf_targetids")?, tensor("leaf_weights")?);
    let roots = list("tree_roots")?;
    let count = cx.int("n_targets")?.unwrap_or(1).max(1) as usize;
    let combine = cx.int("aggregate_function")?.unwrap_or(1);
    if cx.int("post_transform")?.unwrap_or(0) != 0 {
        return Err(cx.unsupported("`TreeEnsemble` that changes its sums afterwards"));
    }
    let size = trees.modes.len();
    let fits = [&trees.features, &trees.next[0], &trees.next[1], &trees.leaf[0], &trees.leaf[1]];
    if size > MAX_NODES || fits.iter().any(|l| l.len() != size) || trees.splits.len() != size {
        return Err(cx.wrong(format!(
            "the lists of a `TreeEnsemble` of {size} nodes differ in length, or it is too large"
        )));
    }
    if count > MAX_NODES {
        return Err(cx.unsupported(format!("`TreeEnsemble` of {count} targets")));
    }
    let mut sums: Vec<Option<ValueId>> = vec![None; count];
    // Branches that meet again are followed once for each way there; that must end too.
    let mut left = MAX_NODES;
    for root in &roots {
        let at = leaf_of(cx, x, &trees, *root, 0, &mut left)?;
        for (target, sum) in sums.iter_mut().enumerate() {
            let own =
                |i: usize| if targets.get(i) == Some(&(target as i64)) { weights.float_at(i) } else { 0.0 };
            let table: Vec<f64> = (0..weights.len()).map(own).collect();
            let table = cx.b.constant(HostTensor::from_floats(dtype, &[table.len()], &table)?)?;
            let part = cx.b.take(table, at, 0)?;
            *sum = Some(match (*sum, combine) {
                (None, _) => part,
                (Some(s), 0 | 1) => cx.b.add(s, part)?,
                (Some(s), 2) => cx.b.min(s, part)?,
                (Some(s), _) => cx.b.max(s, part)?,
            });
        }
    }
    let mut columns = Vec::with_capacity(count);
    for sum in sums {
        let sum = sum.ok_or_else(|| cx.wrong("`TreeEnsemble` has no trees"))?;
        let sum = if combine == 0 { cx.b.mul_scalar(sum, 1.0 / roots.len() as f64)? } else { sum };
        let rows = cx.b.shape(sum)?[0].clone();
        columns.push(cx.b.reshape(sum, [rows, Dim::ONE])?);
    }
    one(cx.b.concat(&columns, 1)?)
}

/// The number of the leaf that each row comes to, from a node.
fn leaf_of(
    cx: &mut NodeCx<'_, '_>,
    x: ValueId,
    trees: &Trees,
    node: i64,
    depth: usize,
    left: &mut usize,
) -> Result<ValueId> {
    *left = left
        .checked_sub(1)
        .ok_or_else(|| cx.unsupported(format!("`TreeEnsemble` of more than {MAX_NODES} ways")))?;
    let rows = cx.b.shape(x)?.first().cloned().ok_or_else(|| cx.wrong("`TreeEnsemble` of a scalar"))?;
    let Some(i) = usize::try_from(node).ok().filter(|i| *i < trees.modes.len() && depth < 256) else {
        return Err(cx.wrong(format!("node {node} of a `TreeEnsemble` does not exist, or lies too deep")));
    };
    let feature = cx.b.slice_axis(x, 1, trees.features[i], 1)?;
    let feature = cx.b.reshape(feature, [rows.clone()])?;
    let kind = [
        CompareKind::Le,
        CompareKind::Lt,
        CompareKind::Ge,
        CompareKind::Gt,
        CompareKind::Eq,
        CompareKind::Ne,
    ];
    let mut holds = match kind.get(usize::from(trees.modes[i])) {
        Some(kind) => {
            let split = cx.b.full_like(feature, trees.splits.float_at(i))?;
            cx.b.compare(*kind, feature, split)?
        }
        None => {
            let mut any = cx.b.full_like(feature, 0.0).and_then(|z| cx.b.compare(CompareKind::Ne, z, z))?;
            for member in &trees.members[i] {
                let member = cx.b.full_like(feature, *member)?;
                let is = cx.b.compare(CompareKind::Eq, feature, member)?;
                any = cx.b.or(any, is)?;
            }
            any
        }
    };
    if trees.missing.get(i).is_some_and(|m| *m != 0) {
        let missing = cx.b.is_nan(feature)?;
        holds = cx.b.or(holds, missing)?;
    }
    let mut sides = Vec::with_capacity(2);
    for side in 0..2 {
        let to = trees.next[side][i];
        sides.push(if trees.leaf[side][i] != 0 {
            let leaf = cx.b.constant(HostTensor::scalar(to))?;
            cx.b.broadcast_to(leaf, [rows.clone()])?
        } else {
            leaf_of(cx, x, trees, to, depth + 1, left)?
        });
    }
    debug_assert_eq!(cx.b.dtype(sides[0])?, DType::I64);
    cx.b.select(holds, sides[1], sides[0])
}
