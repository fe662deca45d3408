//! Ensembles of trees (`ai.onnx.ml`): all rows go down all trees at once, a level at a time.
//!
//! The nodes of all trees are tables: which feature a node looks at, what it compares it with, and where it leads. Where each row stands in each
//! tree is a matrix of numbers of nodes; a level looks up the tables there and moves on, and a leaf leads to itself. So what is built has the
//! size of the deepest tree, however many trees there are.

use super::classic::{Labels, Transform};
use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{CompareKind, Gather, Monoid};
use lawson_graph::{DType, Dim, HostTensor, Keep, Op, Result, Shape, ValueId};
use std::collections::HashMap;

/// The most levels of a tree.
const MAX_DEPTH: usize = 512;

/// The most elements of the table of weights for each weight that the file has, and those that any file may have.
const WEIGHTS_FOR_EACH: usize = 128;
const WEIGHTS_FOR_ANY: usize = 1 << 20;

/// The trees as tables over all nodes.
struct Forest {
    features: Vec<i64>,
    /// How a node compares; `None` for leaves.
    modes: Vec<Option<CompareKind>>,
    splits: Vec<f64>,
    /// Where a node leads if its comparison does not hold, and if it does.
    next: [Vec<i64>; 2],
    /// Whether a comparison with NaN holds.
    missing: Vec<bool>,
    roots: Vec<i64>,
    depth: usize,
}

/// What a leaf adds to which sum.
struct Weights {
    table: HostTensor,
    targets: usize,
}

fn mode(cx: &NodeCx<'_, '_>, name: &str) -> Result<Option<CompareKind>> {
    Ok(Some(match name {
        "LEAF" => return Ok(None),
        "BRANCH_LEQ" => CompareKind::Le,
        "BRANCH_LT" => CompareKind::Lt,
        "BRANCH_GTE" => CompareKind::Ge,
        "BRANCH_GT" => CompareKind::Gt,
        "BRANCH_EQ" => CompareKind::Eq,
        "BRANCH_NEQ" => CompareKind::Ne,
        other => return Err(cx.wrong(format!("`{}` has nodes of the unknown kind `{other}`", cx.op()))),
    }))
}

/// Numbers of an attribute, or of the tensor that may stand in its place.
fn numbers(cx: &NodeCx<'_, '_>, list: &'static str, tensor: &'static str) -> Result<Vec<f64>> {
    if let Some(t) = cx.tensor(tensor)? {
        return Ok((0..t.len()).map(|i| t.float_at(i)).collect());
    }
    Ok(cx.floats(list)?.unwrap_or_default().iter().map(|v| f64::from(*v)).collect())
}

/// The number of each node by its tree and its number there.
type Places = HashMap<(i64, i64), usize>;

impl Forest {
    fn read(cx: &NodeCx<'_, '_>) -> Result<(Forest, Places)> {
        cx.ignore("nodes_hitrates");
        cx.ignore("nodes_hitrates_as_tensor");
        let list = |name: &'static str| Ok::<_, lawson_graph::Error>(cx.ints(name)?.unwrap_or_default());
        let (trees, ids) = (list("nodes_treeids")?, list("nodes_nodeids")?);
        let (features, missing) = (list("nodes_featureids")?, list("nodes_missing_value_tracks_true")?);
        let sides = [list("nodes_falsenodeids")?, list("nodes_truenodeids")?];
        let splits = numbers(cx, "nodes_values", "nodes_values_as_tensor")?;
        let modes = cx.texts("nodes_modes")?.unwrap_or_default();
        let modes = modes.into_iter().map(|m| mode(cx, m)).collect::<Result<Vec<_>>>()?;
        let count = ids.len();
        let lengths =
            [trees.len(), features.len(), sides[0].len(), sides[1].len(), splits.len(), modes.len()];
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
                next[side][i] = i as i64;
                if modes[i].is_none() {
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
                next[side][i] = *child as i64;
            }
        }
        let roots: Vec<i64> = (0..count).filter(|i| !is_child[*i]).map(|i| i as i64).collect();
        let missing = (0..count).map(|i| missing.get(i).is_some_and(|m| *m != 0)).collect();
        let features = features.to_vec();
        let mut forest = Forest { features, modes, splits, next, missing, roots, depth: 0 };
        forest.depth = forest.levels(cx)?;
        Ok((forest, places))
    }

    /// How many comparisons lie above the deepest leaf. Every node has one parent, so that only nodes in a circle are not reached.
    fn levels(&self, cx: &NodeCx<'_, '_>) -> Result<usize> {
        let (mut level, mut depth, mut reached) = (self.roots.clone(), 0, self.roots.len());
        loop {
            let branches = level.iter().map(|n| *n as usize).filter(|n| self.modes[*n].is_some());
            level = branches.flat_map(|n| [self.next[0][n], self.next[1][n]]).collect();
            if level.is_empty() {
                break;
            }
            (depth, reached) = (depth + 1, reached + level.len());
        }
        if reached != self.modes.len() || depth > MAX_DEPTH {
            return Err(cx.wrong(format!(
                "the trees of `{}` have nodes that lead back to themselves, or more than {MAX_DEPTH} levels",
                cx.op()
            )));
        }
        Ok(depth)
    }

    /// The leaf of each row in each tree: numbers of nodes, `[rows, trees]`.
    fn leaves(&self, cx: &mut NodeCx<'_, '_>, x: ValueId) -> Result<ValueId> {
        let shape = cx.b.shape(x)?;
        let width = shape.get(1).and_then(Dim::as_const).filter(|_| shape.rank() == 2);
        let Some(width) = width else {
            return Err(
                cx.unsupported(format!("`{}` of {shape}; rows of known length are expected", cx.op()))
            );
        };
        if let Some(bad) = self.features.iter().find(|f| !(0..width).contains(*f)) {
            return Err(cx.wrong(format!("`{}` looks at feature {bad} of rows of {width}", cx.op())));
        }
        let dtype = cx.b.dtype(x)?;
        let places = [shape[0].clone(), Dim::from(self.roots.len())];
        let vector = |v: &[i64]| HostTensor::from_slice(&[v.len()], v);
        let roots = cx.b.constant(vector(&self.roots)?)?;
        let mut at = cx.b.broadcast_in(roots, places.clone(), &[1])?;
        let features = cx.b.constant(vector(&self.features)?)?;
        let splits = cx.b.constant(HostTensor::from_floats(dtype, &[self.splits.len()], &self.splits)?)?;
        let [no, yes] = [cx.b.constant(vector(&self.next[0])?)?, cx.b.constant(vector(&self.next[1])?)?];
        for _ in 0..self.depth {
            let feature = cx.b.take(features, at, 0)?;
            let entry = cx.b.reshape(feature, [places[0].clone(), places[1].clone(), Dim::ONE])?;
            let value = cx.b.op1(Op::Gather(Gather { axes: vec![1], batch: 1 }), &[x, entry])?;
            let split = cx.b.take(splits, at, 0)?;
            let holds = self.holds(cx, at, value, split)?;
            let (no, yes) = (cx.b.take(no, at, 0)?, cx.b.take(yes, at, 0)?);
            at = cx.b.select(holds, yes, no)?;
        }
        Ok(at)
    }

    /// Whether the comparison of the node at each place holds.
    fn holds(&self, cx: &mut NodeCx<'_, '_>, at: ValueId, value: ValueId, split: ValueId) -> Result<ValueId> {
        let mut holds: Option<ValueId> = None;
        let all = [
            CompareKind::Le,
            CompareKind::Lt,
            CompareKind::Ge,
            CompareKind::Gt,
            CompareKind::Eq,
            CompareKind::Ne,
        ];
        for kind in all.into_iter().filter(|k| self.modes.contains(&Some(*k))) {
            let own = cx.b.compare(kind, value, split)?;
            holds = Some(match holds {
                None => own,
                Some(other) => {
                    let is: Vec<bool> = self.modes.iter().map(|m| *m == Some(kind)).collect();
                    let is = self.looked_up(cx, &is, at)?;
                    cx.b.select(is, own, other)?
                }
            });
        }
        let mut holds = match holds {
            Some(holds) => holds,
            None => cx.b.compare(CompareKind::Ne, at, at)?,
        };
        if self.missing.contains(&true) {
            let (nan, tracks) = (cx.b.is_nan(value)?, self.looked_up(cx, &self.missing, at)?);
            let tracked = cx.b.and(nan, tracks)?;
            holds = cx.b.or(holds, tracked)?;
        }
        Ok(holds)
    }

    fn looked_up(&self, cx: &mut NodeCx<'_, '_>, table: &[bool], at: ValueId) -> Result<ValueId> {
        let table = cx.b.constant(HostTensor::from_slice(&[table.len()], table)?)?;
        cx.b.take(table, at, 0)
    }
}

/// How sums are put together over trees.
#[derive(Clone, Copy, PartialEq)]
enum Aggregate {
    Sum,
    Average,
    Min,
    Max,
}

/// Operand 0 as floats, and the sums of all rows: `[rows, targets]`.
fn sums(
    cx: &mut NodeCx<'_, '_>,
    forest: &Forest,
    weights: &Weights,
    aggregate: Aggregate,
) -> Result<ValueId> {
    let x = cx.value(0)?;
    let x = if cx.b.dtype(x)?.is_float() { x } else { cx.b.cast(x, DType::F32)? };
    let at = forest.leaves(cx, x)?;
    let table = cx.b.constant(weights.table.clone())?;
    // [rows, trees, targets]
    let parts = cx.b.take(table, at, 0)?;
    let monoid = match aggregate {
        Aggregate::Sum | Aggregate::Average => Monoid::Sum,
        Aggregate::Min => Monoid::Min,
        Aggregate::Max => Monoid::Max,
    };
    let y = cx.b.reduce(monoid, parts, &[1], Keep::No)?;
    match aggregate {
        Aggregate::Average => cx.b.mul_scalar(y, 1.0 / forest.roots.len() as f64),
        _ => Ok(y),
    }
}

/// The weights of leaves by the lists that name them, and which sums they go to.
fn weights(
    cx: &NodeCx<'_, '_>,
    places: &Places,
    [trees, nodes, targets]: [&[i64]; 3],
    values: &[f64],
    count: usize,
) -> Result<Weights> {
    let most = values.len().saturating_mul(WEIGHTS_FOR_EACH).max(WEIGHTS_FOR_ANY);
    let total = places.len().checked_mul(count).filter(|n| *n <= most && count > 0);
    let Some(total) = total else {
        return Err(cx.unsupported(format!("`{}` of {} nodes and {count} targets", cx.op(), places.len())));
    };
    let mut table = vec![0f32; total];
    if [nodes.len(), targets.len(), values.len()].iter().any(|n| *n != trees.len()) {
        return Err(cx.wrong(format!("the lists of the weights of `{}` differ in length", cx.op())));
    }
    for (i, value) in values.iter().enumerate() {
        let node = places.get(&(trees[i], nodes[i]));
        let target = usize::try_from(targets[i]).ok().filter(|t| *t < count);
        let (Some(node), Some(target)) = (node, target) else {
            return Err(cx.wrong(format!(
                "weight {i} of `{}` is for node {} of tree {} and target {}, of which there is none",
                cx.op(),
                nodes[i],
                trees[i],
                targets[i]
            )));
        };
        table[node * count + target] += *value as f32;
    }
    Ok(Weights { table: HostTensor::from_slice(&[places.len(), count], &table)?, targets: count })
}

fn based(cx: &mut NodeCx<'_, '_>, y: ValueId, base: &[f64]) -> Result<ValueId> {
    if base.is_empty() {
        return Ok(y);
    }
    let shape = cx.b.shape(y)?;
    let base = cx.b.constant(HostTensor::from_floats(DType::F32, &[base.len()], base)?)?;
    let base = cx.b.broadcast_to(base, shape)?;
    cx.b.add(y, base)
}

pub(super) fn regressor(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (forest, places) = Forest::read(cx)?;
    let list = |name: &'static str| Ok::<_, lawson_graph::Error>(cx.ints(name)?.unwrap_or_default());
    let lists = [list("target_treeids")?, list("target_nodeids")?, list("target_ids")?];
    let values = numbers(cx, "target_weights", "target_weights_as_tensor")?;
    let count = usize::try_from(cx.int("n_targets")?.unwrap_or(1)).unwrap_or(0);
    let base = numbers(cx, "base_values", "base_values_as_tensor")?;
    let transform = Transform::read(cx)?;
    let aggregate = match cx.text("aggregate_function")?.unwrap_or("SUM") {
        "SUM" => Aggregate::Sum,
        "AVERAGE" => Aggregate::Average,
        "MIN" => Aggregate::Min,
        "MAX" => Aggregate::Max,
        other => return Err(cx.wrong(format!("`{}` has no `aggregate_function` `{other}`", cx.op()))),
    };
    if count > 1 && matches!(aggregate, Aggregate::Min | Aggregate::Max) {
        return Err(
            cx.unsupported(format!("the least or greatest over trees of `{}` with several targets", cx.op()))
        );
    }
    // The standard says that it is applied, and the runtime that models are converted for does not.
    if count == 1 && transform != Transform::None {
        return Err(cx
            .unsupported(format!("`{}` with a `post_transform` of a single target", cx.op()))
            .help("write the function as a node of its own, such as `Sigmoid`"));
    }
    if !base.is_empty() && base.len() != count {
        return Err(cx.wrong(format!("`{}` has {} base values for {count} targets", cx.op(), base.len())));
    }
    let weights = weights(cx, &places, lists, &values, count)?;
    let y = sums(cx, &forest, &weights, aggregate)?;
    let y = based(cx, y, &base)?;
    one(transform.apply(cx, y)?)
}

/// The class of each row, and its scores. With two classes and weights for the first only, there is one sum, which speaks for the second: so
/// converters of boosted trees write it.
pub(super) fn classifier(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (forest, places) = Forest::read(cx)?;
    let list = |name: &'static str| Ok::<_, lawson_graph::Error>(cx.ints(name)?.unwrap_or_default());
    let (trees, nodes, classes) = (list("class_treeids")?, list("class_nodeids")?, list("class_ids")?);
    let values = numbers(cx, "class_weights", "class_weights_as_tensor")?;
    let base = numbers(cx, "base_values", "base_values_as_tensor")?;
    let (transform, labels) =
        (Transform::read(cx)?, Labels::read(cx, ["classlabels_int64s", "classlabels_strings"])?);
    let single = labels.len() == 2 && classes.iter().all(|c| *c == 0);
    if !single {
        let weights = weights(cx, &places, [trees, nodes, classes], &values, labels.len())?;
        if !base.is_empty() && base.len() != weights.targets {
            let (has, wants) = (base.len(), weights.targets);
            return Err(cx.wrong(format!("`{}` has {has} base values for {wants} classes", cx.op())));
        }
        let y = sums(cx, &forest, &weights, Aggregate::Sum)?;
        let y = based(cx, y, &base)?;
        let best = labels.best(cx, y)?;
        return Ok(vec![best.into(), transform.apply(cx, y)?.into()]);
    }
    if !matches!(transform, Transform::None | Transform::Logistic) || base.len() > 1 {
        return Err(cx.unsupported(format!(
            "`{}` of two classes with one sum, and a softmax of it or {} base values",
            cx.op(),
            base.len()
        )));
    }
    let weights = weights(cx, &places, [trees, nodes, classes], &values, 1)?;
    // Shares of votes if no weight is negative, otherwise what counts for and against.
    let is_share = values.iter().all(|v| *v >= 0.0);
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
    Ok(vec![label.into(), cx.b.concat(&pair, 1)?.into()])
}

/// The numbers of rows of a matrix, for operators that take vectors as one row.
pub(super) fn as_rows(cx: &mut NodeCx<'_, '_>, x: ValueId) -> Result<ValueId> {
    let shape = cx.b.shape(x)?;
    match &shape[..] {
        [n] => cx.b.reshape(x, Shape::from(vec![Dim::ONE, n.clone()])),
        _ => Ok(x),
    }
}
