//! The operators that are ensembles of trees (`ai.onnx.ml`): their lists become a [`Forest`], which `forest.rs` goes through.
//!
//! Two of them name nodes by their tree and their number there, and leaves are nodes; the one of version 5 counts branches and leaves apart,
//! and each leaf has one weight.

use super::classic::{Labels, Transform};
use super::forest::{Aggregate, COMPARISONS, Forest, Numbers, Test, Weights, sums};
use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::CompareKind;
use lawson_graph::{DType, HostTensor, Result, ValueId};
use std::collections::HashMap;

fn test_of(cx: &NodeCx<'_, '_>, name: &str) -> Result<Test> {
    Ok(Test::Compare(match name {
        "LEAF" => return Ok(Test::Leaf),
        "BRANCH_LEQ" => CompareKind::Le,
        "BRANCH_LT" => CompareKind::Lt,
        "BRANCH_GTE" => CompareKind::Ge,
        "BRANCH_GT" => CompareKind::Gt,
        "BRANCH_EQ" => CompareKind::Eq,
        "BRANCH_NEQ" => CompareKind::Ne,
        other => return Err(cx.wrong(format!("`{}` has nodes of the unknown kind `{other}`", cx.op()))),
    }))
}

fn list<'a>(cx: &NodeCx<'a, '_>, name: &'static str) -> Result<&'a [i64]> {
    Ok(cx.ints(name)?.unwrap_or_default())
}

fn tensor_numbers(t: &HostTensor) -> Numbers {
    Numbers { dtype: t.dtype(), values: (0..t.len()).map(|i| t.float_at(i)).collect() }
}

/// Numbers of an attribute, or of the tensor that may stand in its place.
fn numbers(cx: &NodeCx<'_, '_>, list: &'static str, tensor: &'static str) -> Result<Numbers> {
    if let Some(t) = cx.tensor(tensor)? {
        return float_numbers(cx, tensor, &t);
    }
    let values = cx.floats(list)?.unwrap_or_default().iter().map(|v| f64::from(*v)).collect();
    Ok(Numbers { dtype: DType::F32, values })
}

fn float_numbers(cx: &NodeCx<'_, '_>, name: &'static str, t: &HostTensor) -> Result<Numbers> {
    match t.dtype().is_float() {
        true => Ok(tensor_numbers(t)),
        false => Err(cx.wrong(format!("`{name}` of `{}` are {}; floats are expected", cx.op(), t.dtype()))),
    }
}

fn flags(tracks: &[i64], count: usize) -> Vec<bool> {
    (0..count).map(|i| tracks.get(i).is_some_and(|m| *m != 0)).collect()
}

/// The number of each node by its tree and its number there.
type Places = HashMap<(i64, i64), usize>;

/// The forest of an operator whose nodes are named by their tree.
fn by_tree(cx: &NodeCx<'_, '_>) -> Result<(Forest, Places)> {
    cx.ignore("nodes_hitrates");
    cx.ignore("nodes_hitrates_as_tensor");
    let (trees, ids) = (list(cx, "nodes_treeids")?, list(cx, "nodes_nodeids")?);
    let (features, tracks) = (list(cx, "nodes_featureids")?, list(cx, "nodes_missing_value_tracks_true")?);
    let sides = [list(cx, "nodes_falsenodeids")?, list(cx, "nodes_truenodeids")?];
    let splits = numbers(cx, "nodes_values", "nodes_values_as_tensor")?;
    let modes = cx.texts("nodes_modes")?.unwrap_or_default();
    let tests = modes.into_iter().map(|m| test_of(cx, m)).collect::<Result<Vec<_>>>()?;
    let count = ids.len();
    let lengths =
        [trees.len(), features.len(), sides[0].len(), sides[1].len(), splits.values.len(), tests.len()];
    if count == 0 || lengths.iter().any(|n| *n != count) {
        return Err(cx.wrong(format!(
            "the lists of `{}` describe {count} nodes and {lengths:?} of their trees, features, branches, values and modes",
            cx.op()
        )));
    }
    let places: Places = (0..count).map(|i| ((trees[i], ids[i]), i)).collect();
    if places.len() != count {
        return Err(cx.wrong(format!("a node of `{}` is described twice", cx.op())));
    }
    let (mut next, mut is_child) = ([vec![0; count], vec![0; count]], vec![false; count]);
    for i in 0..count {
        for side in 0..2 {
            next[side][i] = i;
            if tests[i] == Test::Leaf {
                continue;
            }
            let Some(child) = places.get(&(trees[i], sides[side][i])).filter(|c| !is_child[**c]) else {
                return Err(cx.wrong(format!(
                    "node {} of tree {} of `{}` leads to {}, which is no node of its own there",
                    ids[i],
                    trees[i],
                    cx.op(),
                    sides[side][i]
                )));
            };
            is_child[*child] = true;
            next[side][i] = *child;
        }
    }
    let roots = (0..count).filter(|i| !is_child[*i]).collect();
    let (features, missing) = (features.to_vec(), flags(tracks, count));
    Ok((Forest { features, tests, splits, members: Vec::new(), next, missing, roots }, places))
}

/// The weights of leaves by the lists that name them, and which sums they go to.
fn weights_by_tree(
    cx: &NodeCx<'_, '_>,
    places: &Places,
    [trees, nodes, targets]: [&[i64]; 3],
    numbers: Numbers,
    count: usize,
) -> Result<Weights> {
    if [nodes.len(), targets.len(), numbers.values.len()].iter().any(|n| *n != trees.len()) {
        return Err(cx.wrong(format!("the lists of the weights of `{}` differ in length", cx.op())));
    }
    let entry = |i: usize| {
        let node = places.get(&(trees[i], nodes[i]));
        let target = usize::try_from(targets[i]).ok().filter(|t| *t < count);
        node.copied().zip(target).ok_or_else(|| {
            cx.wrong(format!(
                "weight {i} of `{}` is for node {} of tree {} and target {}, of which there is none",
                cx.op(),
                nodes[i],
                trees[i],
                targets[i]
            ))
        })
    };
    let entries = (0..trees.len()).map(entry).collect::<Result<Vec<_>>>()?;
    Ok(Weights { entries, numbers, targets: count })
}

fn based(cx: &mut NodeCx<'_, '_>, y: ValueId, base: &[f64]) -> Result<ValueId> {
    if base.is_empty() {
        return Ok(y);
    }
    let (shape, dtype) = (cx.b.shape(y)?, cx.b.dtype(y)?);
    let base = cx.b.constant(HostTensor::from_floats(dtype, &[base.len()], base)?)?;
    let base = cx.b.broadcast_to(base, shape)?;
    cx.b.add(y, base)
}

/// The standard says that it is applied, and the runtime that models are converted for does not.
fn refuse_single(cx: &NodeCx<'_, '_>, transform: Transform, targets: usize) -> Result<()> {
    if targets != 1 || transform == Transform::None {
        return Ok(());
    }
    Err(cx
        .unsupported(format!("`{}` with a `post_transform` of a single target", cx.op()))
        .help("write the function as a node of its own, such as `Sigmoid`"))
}

/// How many sums there are.
fn targets(cx: &NodeCx<'_, '_>) -> Result<usize> {
    let count = cx.int("n_targets")?.unwrap_or(1);
    usize::try_from(count).map_err(|_| cx.wrong(format!("`n_targets` of `{}` is {count}", cx.op())))
}

pub(super) fn regressor(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (forest, places) = by_tree(cx)?;
    let lists = [list(cx, "target_treeids")?, list(cx, "target_nodeids")?, list(cx, "target_ids")?];
    let values = numbers(cx, "target_weights", "target_weights_as_tensor")?;
    let count = targets(cx)?;
    let base = numbers(cx, "base_values", "base_values_as_tensor")?.values;
    let transform = Transform::read(cx)?;
    let aggregate = match cx.text("aggregate_function")?.unwrap_or("SUM") {
        "SUM" => Aggregate::Sum,
        "AVERAGE" => Aggregate::Average,
        "MIN" => Aggregate::Min,
        "MAX" => Aggregate::Max,
        other => return Err(cx.no_such("aggregate_function", other, &["SUM", "AVERAGE", "MIN", "MAX"])),
    };
    refuse_single(cx, transform, count)?;
    if !base.is_empty() && base.len() != count {
        return Err(cx.wrong(format!("`{}` has {} base values for {count} targets", cx.op(), base.len())));
    }
    let weights = weights_by_tree(cx, &places, lists, values, count)?;
    let y = sums(cx, &forest, &weights, aggregate)?;
    let y = based(cx, y, &base)?;
    let y = transform.apply(cx, y)?;
    one(cx.b.cast(y, DType::F32)?)
}

/// The class of each row, and its scores. With two classes and weights for the first only, there is one sum, which speaks for the second: so
/// converters of boosted trees write it.
pub(super) fn classifier(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (forest, places) = by_tree(cx)?;
    let lists = [list(cx, "class_treeids")?, list(cx, "class_nodeids")?, list(cx, "class_ids")?];
    let values = numbers(cx, "class_weights", "class_weights_as_tensor")?;
    let base = numbers(cx, "base_values", "base_values_as_tensor")?.values;
    let (transform, labels) =
        (Transform::read(cx)?, Labels::read(cx, ["classlabels_int64s", "classlabels_strings"])?);
    let single = labels.len() == 2 && lists[2].iter().all(|c| *c == 0);
    if !single {
        if !base.is_empty() && base.len() != labels.len() {
            let (has, wants) = (base.len(), labels.len());
            return Err(cx.wrong(format!("`{}` has {has} base values for {wants} classes", cx.op())));
        }
        let weights = weights_by_tree(cx, &places, lists, values, labels.len())?;
        let y = sums(cx, &forest, &weights, Aggregate::Sum)?;
        let y = based(cx, y, &base)?;
        let best = labels.best(cx, y)?;
        let y = transform.apply(cx, y)?;
        return Ok(vec![best.into(), cx.b.cast(y, DType::F32)?.into()]);
    }
    if !matches!(transform, Transform::None | Transform::Logistic) || base.len() > 1 {
        return Err(cx.unsupported(format!(
            "`{}` of two classes with one sum, and a softmax of it or {} base values",
            cx.op(),
            base.len()
        )));
    }
    // Shares of votes if no weight is negative, otherwise what counts for and against.
    let is_share = values.values.iter().all(|v| *v >= 0.0);
    let weights = weights_by_tree(cx, &places, lists, values, 1)?;
    let y = sums(cx, &forest, &weights, Aggregate::Sum)?;
    let y = based(cx, y, &base)?;
    let bound = cx.b.full_like(y, if is_share { 0.5 } else { 0.0 })?;
    let second = cx.b.compare(CompareKind::Gt, y, bound)?;
    let rows = cx.b.shape(y)?[0].clone();
    let second = cx.b.reshape(second, [rows])?;
    let index = cx.b.cast(second, DType::I64)?;
    let label = labels.of(cx, index)?;
    let zero = cx.b.full_like(y, 0.0)?;
    let negative = cx.b.sub(zero, y)?;
    let pair = match (transform, is_share) {
        (Transform::Logistic, _) => [cx.b.sigmoid(negative)?, cx.b.sigmoid(y)?],
        (_, true) => {
            let whole = cx.b.full_like(y, 1.0)?;
            [cx.b.sub(whole, y)?, y]
        }
        (_, false) => [negative, y],
    };
    let pair = cx.b.concat(&pair, 1)?;
    Ok(vec![label.into(), cx.b.cast(pair, DType::F32)?.into()])
}

/// A tensor that version 5 of the operator must have, in the dtype of operand 0.
fn required(cx: &NodeCx<'_, '_>, name: &'static str, dtype: DType) -> Result<Numbers> {
    let t = cx.tensor(name)?.ok_or_else(|| cx.wrong(format!("`{}` has no `{name}`", cx.op())))?;
    if t.dtype() != dtype {
        let (own, op) = (t.dtype(), cx.op());
        return Err(cx.wrong(format!(
            "`{name}` of `{op}` are {own}, but operand 0 is {dtype}: both must be the same"
        )));
    }
    Ok(tensor_numbers(&t))
}

/// The lists of members, which follow one another in the order of the nodes, each ended by NaN.
fn members(cx: &NodeCx<'_, '_>, tests: &[Test]) -> Result<Vec<Vec<f64>>> {
    let count = tests.iter().filter(|t| **t == Test::Member).count();
    let all = cx.tensor("membership_values")?.map_or_else(Vec::new, |t| tensor_numbers(&t).values);
    let mut lists: Vec<Vec<f64>> = all.split(|v| v.is_nan()).map(<[f64]>::to_vec).collect();
    // What is behind the last NaN is a list only if it is there.
    lists.pop_if(|last| last.is_empty());
    match lists.len() == count {
        true => Ok(lists),
        false => Err(cx.wrong(format!(
            "`membership_values` of `{}` are {} lists, each ended by NaN, for {count} nodes that ask for membership",
            cx.op(),
            lists.len()
        ))),
    }
}

/// Branches and leaves are numbered apart; here leaves follow branches.
fn by_number(cx: &NodeCx<'_, '_>, dtype: DType, leaves: usize) -> Result<Forest> {
    cx.ignore("nodes_hitrates");
    let modes =
        cx.tensor("nodes_modes")?.ok_or_else(|| cx.wrong(format!("`{}` has no `nodes_modes`", cx.op())))?;
    let test = |i: usize| match modes.int_at(i) {
        6 => Ok(Test::Member),
        n => usize::try_from(n).ok().and_then(|n| COMPARISONS.get(n).copied()).map(Test::Compare).ok_or_else(
            || cx.wrong(format!("node {i} of `{}` is of the unknown kind {n}; 0 to 6 are expected", cx.op())),
        ),
    };
    let count = modes.len();
    let mut tests = (0..count).map(test).collect::<Result<Vec<_>>>()?;
    let members = members(cx, &tests)?;
    let mut features = list(cx, "nodes_featureids")?.to_vec();
    let to = [list(cx, "nodes_falsenodeids")?, list(cx, "nodes_truenodeids")?];
    let is_leaf = [list(cx, "nodes_falseleafs")?, list(cx, "nodes_trueleafs")?];
    let mut splits = required(cx, "nodes_splits", dtype)?;
    let lengths =
        [features.len(), splits.values.len(), to[0].len(), to[1].len(), is_leaf[0].len(), is_leaf[1].len()];
    if count == 0 || lengths.iter().any(|n| *n != count) {
        return Err(cx.wrong(format!(
            "the lists of `{}` describe {count} nodes and {lengths:?} of their features, splits, branches and whether these are leaves",
            cx.op()
        )));
    }
    let mut next = [Vec::with_capacity(count + leaves), Vec::with_capacity(count + leaves)];
    for side in 0..2 {
        for i in 0..count {
            let (first, end) = if is_leaf[side][i] != 0 { (count, leaves) } else { (0, count) };
            let Some(child) = usize::try_from(to[side][i]).ok().filter(|c| *c < end) else {
                let kind = if first > 0 { "leaf" } else { "node" };
                return Err(cx.wrong(format!(
                    "node {i} of `{}` leads to {kind} {}, of which there is none",
                    cx.op(),
                    to[side][i]
                )));
            };
            next[side].push(first + child);
        }
        next[side].extend(count..count + leaves);
    }
    let root = |r: &i64| {
        usize::try_from(*r).ok().filter(|r| *r < count).ok_or_else(|| {
            cx.wrong(format!("a tree of `{}` begins at node {r}, of which there is none", cx.op()))
        })
    };
    let roots = list(cx, "tree_roots")?.iter().map(root).collect::<Result<Vec<_>>>()?;
    let missing = flags(list(cx, "nodes_missing_value_tracks_true")?, count + leaves);
    tests.resize(count + leaves, Test::Leaf);
    features.resize(count + leaves, 0);
    splits.values.resize(count + leaves, 0.0);
    Ok(Forest { features, tests, splits, members, next, missing, roots })
}

pub(super) fn ensemble(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let dtype = cx.tensor_type(0)?.0;
    let (targets, own) = (targets(cx)?, list(cx, "leaf_targetids")?);
    let numbers = required(cx, "leaf_weights", dtype)?;
    let leaves = numbers.values.len();
    if own.len() != leaves {
        return Err(cx.wrong(format!("`{}` has {leaves} leaves and {} targets of them", cx.op(), own.len())));
    }
    let aggregate = match cx.int("aggregate_function")?.unwrap_or(1) {
        0 => Aggregate::Average,
        1 => Aggregate::Sum,
        2 => Aggregate::Min,
        3 => Aggregate::Max,
        n => {
            return Err(
                cx.wrong(format!("`{}` has no `aggregate_function` {n}; 0 to 3 are expected", cx.op()))
            );
        }
    };
    // What the standard calls 1 and 2, ONNX Runtime takes for 2 and 1, and the standard's own evaluator for nothing.
    if let Some(n) = cx.int("post_transform")?.filter(|n| *n != 0) {
        return Err(cx
            .unsupported(format!(
                "`{}` with the `post_transform` {n}, on which runtimes do not agree",
                cx.op()
            ))
            .help("write the function as a node of its own, such as `Softmax` or `Sigmoid`"));
    }
    let forest = by_number(cx, dtype, leaves)?;
    let first = forest.tests.len() - leaves;
    let entry = |(i, t): (usize, &i64)| {
        let target = usize::try_from(*t).ok().filter(|t| *t < targets);
        target
            .map(|t| (first + i, t))
            .ok_or_else(|| cx.wrong(format!("leaf {i} of `{}` is for target {t} of {targets}", cx.op())))
    };
    let entries = own.iter().enumerate().map(entry).collect::<Result<Vec<_>>>()?;
    one(sums(cx, &forest, &Weights { entries, numbers, targets }, aggregate)?)
}
