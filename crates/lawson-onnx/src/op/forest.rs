//! Ensembles of trees: all rows go down all trees at once, a level at a time.
//!
//! The nodes of all trees are tables: which feature a node looks at, what it compares it with, and where it leads. Where each row stands in each
//! tree is a matrix of numbers of nodes; a level looks up the tables there and moves on, and a leaf leads to itself. So what is built has the
//! size of the deepest tree, however many trees there are. Three operators of `ai.onnx.ml` are such tables; `trees.rs` reads them.

use crate::node::NodeCx;
use lawson_graph::op::{CompareKind, Gather, Monoid};
use lawson_graph::{DType, Dim, HostTensor, Keep, Op, Result, ValueId};

/// The most levels of a tree.
const MAX_DEPTH: usize = 512;

/// The most elements of a table for each number that the file has for it, and those that any file may have.
const CELLS_FOR_EACH: usize = 128;
const CELLS_FOR_ANY: usize = 1 << 20;

/// What a node asks of its feature.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    /// Nothing: it is the end.
    Leaf,
    /// How it compares with a number.
    Compare(CompareKind),
    /// Whether it is one of some numbers.
    Member,
}

/// All comparisons, in the order in which version 5 numbers them.
pub(super) const COMPARISONS: [CompareKind; 6] =
    [CompareKind::Le, CompareKind::Lt, CompareKind::Ge, CompareKind::Gt, CompareKind::Eq, CompareKind::Ne];

/// Numbers of a model, and the dtype that they have there.
pub(super) struct Numbers {
    pub(super) dtype: DType,
    pub(super) values: Vec<f64>,
}

/// The trees as tables over all nodes.
pub(super) struct Forest {
    pub(super) features: Vec<i64>,
    pub(super) tests: Vec<Test>,
    pub(super) splits: Numbers,
    /// For each node that asks for membership, in their order, the numbers that belong.
    pub(super) members: Vec<Vec<f64>>,
    /// Where a node leads if its test does not hold, and if it does; a leaf leads to itself.
    pub(super) next: [Vec<usize>; 2],
    /// Whether a test of NaN holds.
    pub(super) missing: Vec<bool>,
    pub(super) roots: Vec<usize>,
}

/// How many comparisons lie above the deepest leaf at most. In linear time, whatever the nodes lead to: files are not trusted.
fn depth(cx: &NodeCx<'_, '_>, forest: &Forest) -> Result<usize> {
    let count = forest.tests.len();
    let is_branch = |n: &usize| forest.tests[*n] != Test::Leaf;
    let mut parents = vec![0usize; count];
    for n in (0..count).filter(is_branch) {
        forest.next.iter().for_each(|to| parents[to[n]] += 1);
    }
    // A node is done when all that lead to it are; those in a circle never are.
    let mut open: Vec<usize> = (0..count).filter(|n| parents[*n] == 0).collect();
    let (mut levels, mut done) = (vec![0usize; count], 0);
    while let Some(n) = open.pop() {
        done += 1;
        if !is_branch(&n) {
            continue;
        }
        for to in &forest.next {
            let child = to[n];
            levels[child] = levels[child].max(levels[n] + 1);
            parents[child] -= 1;
            if parents[child] == 0 {
                open.push(child);
            }
        }
    }
    let depth = levels.into_iter().max().unwrap_or(0);
    if done < count {
        return Err(cx.wrong(format!("the trees of `{}` have nodes that lead back to themselves", cx.op())));
    }
    if depth > MAX_DEPTH {
        return Err(cx.unsupported(format!(
            "`{}` has a tree of {depth} levels; at most {MAX_DEPTH} are imported",
            cx.op()
        )));
    }
    Ok(depth)
}

/// How many elements a table has, if that is in proportion to what the file has for it.
fn cells(cx: &NodeCx<'_, '_>, what: &str, [rows, columns]: [usize; 2], given: usize) -> Result<usize> {
    let most = given.saturating_mul(CELLS_FOR_EACH).max(CELLS_FOR_ANY);
    rows.checked_mul(columns).filter(|n| *n <= most).ok_or_else(|| {
        cx.unsupported(format!(
            "the {what} of `{}` are {given} numbers for a table of {rows} × {columns}; at most {most} elements are imported",
            cx.op()
        ))
    })
}

fn index_table(cx: &mut NodeCx<'_, '_>, table: &[usize]) -> Result<ValueId> {
    let table: Vec<i64> = table.iter().map(|n| *n as i64).collect();
    cx.b.vector(&table)
}

fn looked_up(cx: &mut NodeCx<'_, '_>, table: impl Iterator<Item = bool>, at: ValueId) -> Result<ValueId> {
    let table: Vec<bool> = table.collect();
    let table = cx.b.vector(&table)?;
    cx.b.take(table, at, 0)
}

impl Forest {
    /// The leaf of each row in each tree: numbers of nodes, `[rows, trees]`.
    fn leaves(&self, cx: &mut NodeCx<'_, '_>, x: ValueId) -> Result<ValueId> {
        let depth = depth(cx, self)?;
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
        // Compared in the wider of both dtypes, so that neither is rounded.
        let dtype = match (cx.b.dtype(x)?, self.splits.dtype) {
            (own, splits) if own.is_float() && own.bits() >= splits.bits() => own,
            (_, splits) => splits,
        };
        let x = cx.b.cast(x, dtype)?;
        let places = [shape[0].clone(), Dim::from(self.roots.len())];
        let roots = index_table(cx, &self.roots)?;
        let mut at = cx.b.broadcast_in(roots, places.clone(), &[1])?;
        let features = cx.b.vector(&self.features)?;
        let splits =
            cx.b.constant(HostTensor::from_floats(dtype, &[self.splits.values.len()], &self.splits.values)?)?;
        let members = self.member_tables(cx, dtype)?;
        let [no, yes] = [index_table(cx, &self.next[0])?, index_table(cx, &self.next[1])?];
        for _ in 0..depth {
            let feature = cx.b.take(features, at, 0)?;
            let entry = cx.b.reshape(feature, [places[0].clone(), places[1].clone(), Dim::ONE])?;
            let value = cx.b.op1(Op::Gather(Gather { axes: vec![1], batch: 1 }), &[x, entry])?;
            let split = cx.b.take(splits, at, 0)?;
            let holds = self.holds(cx, at, value, split, members)?;
            let (no, yes) = (cx.b.take(no, at, 0)?, cx.b.take(yes, at, 0)?);
            at = cx.b.select(holds, yes, no)?;
        }
        Ok(at)
    }

    /// The numbers that belong, `[lists, most of them]`, filled up with NaN, which is equal to nothing; and the list of each node.
    fn member_tables(&self, cx: &mut NodeCx<'_, '_>, dtype: DType) -> Result<Option<[ValueId; 2]>> {
        if self.members.is_empty() {
            return Ok(None);
        }
        let most = self.members.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let (rows, given) = (self.members.len(), self.members.iter().map(Vec::len).sum());
        let mut table = vec![f64::NAN; cells(cx, "members", [rows, most], given)?];
        for (row, list) in table.chunks_exact_mut(most).zip(&self.members) {
            row[..list.len()].copy_from_slice(list);
        }
        let mut lists = 0;
        let number = |test: &Test| {
            let own = lists;
            lists += usize::from(*test == Test::Member);
            // Others look at some list, in vain.
            own.min(rows - 1)
        };
        let numbers: Vec<usize> = self.tests.iter().map(number).collect();
        let table = cx.b.constant(HostTensor::from_floats(dtype, &[rows, most], &table)?)?;
        Ok(Some([table, index_table(cx, &numbers)?]))
    }

    /// Whether the test of the node at each place holds.
    fn holds(
        &self,
        cx: &mut NodeCx<'_, '_>,
        at: ValueId,
        value: ValueId,
        split: ValueId,
        members: Option<[ValueId; 2]>,
    ) -> Result<ValueId> {
        let mut holds: Option<ValueId> = None;
        let all = COMPARISONS.map(Test::Compare).into_iter().chain([Test::Member]);
        for test in all.filter(|t| self.tests.contains(t)) {
            let own = match (test, members) {
                (Test::Compare(kind), _) => cx.b.compare(kind, value, split)?,
                (_, Some([table, numbers])) => {
                    let number = cx.b.take(numbers, at, 0)?;
                    // [rows, trees, members]
                    let list = cx.b.take(table, number, 0)?;
                    let shape = cx.b.shape(list)?;
                    let value = cx.b.broadcast_in(value, shape, &[0, 1])?;
                    let is = cx.b.compare(CompareKind::Eq, value, list)?;
                    cx.b.reduce(Monoid::Or, is, &[2], Keep::No)?
                }
                _ => continue,
            };
            holds = Some(match holds {
                None => own,
                Some(other) => {
                    let is = looked_up(cx, self.tests.iter().map(|t| *t == test), at)?;
                    cx.b.select(is, own, other)?
                }
            });
        }
        let mut holds = match holds {
            Some(holds) => holds,
            None => cx.b.compare(CompareKind::Ne, at, at)?,
        };
        if self.missing.contains(&true) {
            let (nan, tracks) = (cx.b.is_nan(value)?, looked_up(cx, self.missing.iter().copied(), at)?);
            let tracked = cx.b.and(nan, tracks)?;
            holds = cx.b.or(holds, tracked)?;
        }
        Ok(holds)
    }
}

/// How the weights of leaves are put together over trees.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Aggregate {
    Sum,
    Average,
    Min,
    Max,
}

/// What leaves add to which of `targets` sums: node, target and number.
pub(super) struct Weights {
    pub(super) entries: Vec<(usize, usize)>,
    pub(super) numbers: Numbers,
    pub(super) targets: usize,
}

impl Weights {
    /// The weights of the leaves at places, `[rows, trees, targets]`.
    fn parts(&self, cx: &mut NodeCx<'_, '_>, nodes: usize, at: ValueId) -> Result<ValueId> {
        let (targets, dtype) = (self.targets, self.numbers.dtype);
        let mut one = vec![None; nodes];
        let each_has_one = self.entries.iter().all(|(n, t)| one[*n].replace(*t).is_none());
        if !each_has_one || targets == 1 {
            let given = self.numbers.values.len();
            let mut table = vec![0.0; cells(cx, "weights", [nodes, targets], given)?];
            for ((node, target), value) in self.entries.iter().zip(&self.numbers.values) {
                table[node * targets + target] += *value;
            }
            let table = cx.b.constant(HostTensor::from_floats(dtype, &[nodes, targets], &table)?)?;
            return cx.b.take(table, at, 0);
        }
        // Leaves with one weight each need no table over targets.
        let mut weights = vec![0.0; nodes];
        for ((node, _), value) in self.entries.iter().zip(&self.numbers.values) {
            weights[*node] = *value;
        }
        let weights = cx.b.constant(HostTensor::from_floats(dtype, &[nodes], &weights)?)?;
        let own = one.into_iter().map(Option::unwrap_or_default).collect::<Vec<usize>>();
        let own = index_table(cx, &own)?;
        let (weight, own) = (cx.b.take(weights, at, 0)?, cx.b.take(own, at, 0)?);
        let mut dims = cx.b.shape(at)?.into_dims();
        dims.push(Dim::from(targets));
        let (weight, own) = (
            cx.b.broadcast_in(weight, dims.clone(), &[0, 1])?,
            cx.b.broadcast_in(own, dims.clone(), &[0, 1])?,
        );
        let target = cx.b.iota(DType::I64, dims, 2)?;
        let is = cx.b.compare(CompareKind::Eq, own, target)?;
        let nothing = cx.b.full_like(weight, 0.0)?;
        cx.b.select(is, weight, nothing)
    }

    /// Whether every leaf has exactly one weight for every target.
    fn is_whole(&self, forest: &Forest) -> bool {
        let leaves = forest.tests.iter().filter(|t| **t == Test::Leaf).count();
        let mut all: Vec<_> = self.entries.iter().filter(|(n, _)| forest.tests[*n] == Test::Leaf).collect();
        all.sort_unstable();
        all.dedup();
        all.len() == self.entries.len() && leaves.checked_mul(self.targets) == Some(all.len())
    }
}

/// The sums of the rows of operand 0, or what else is made of weights: `[rows, targets]`, in the dtype of the weights.
pub(super) fn sums(
    cx: &mut NodeCx<'_, '_>,
    forest: &Forest,
    weights: &Weights,
    aggregate: Aggregate,
) -> Result<ValueId> {
    if forest.roots.is_empty() {
        return Err(cx.wrong(format!("`{}` has no trees", cx.op())));
    }
    if weights.targets == 0 {
        return Err(cx.wrong(format!("`{}` has no targets; at least one is expected", cx.op())));
    }
    let monoid = match aggregate {
        Aggregate::Sum | Aggregate::Average => Monoid::Sum,
        Aggregate::Min => Monoid::Min,
        Aggregate::Max => Monoid::Max,
    };
    // A sum may leave out what a leaf has no weight for; what the least of nothing is, the standard does not say.
    if monoid != Monoid::Sum && !weights.is_whole(forest) {
        return Err(cx
            .unsupported(format!(
                "the least or greatest over trees of `{}`, of which not every leaf has one weight for each of the {} targets",
                cx.op(),
                weights.targets
            ))
            .help("use a model for each target, or SUM or AVERAGE"));
    }
    let x = cx.value(0)?;
    let at = forest.leaves(cx, x)?;
    let parts = weights.parts(cx, forest.tests.len(), at)?;
    let y = cx.b.reduce(monoid, parts, &[1], Keep::No)?;
    match aggregate {
        Aggregate::Average => cx.b.mul_scalar(y, 1.0 / forest.roots.len() as f64),
        _ => Ok(y),
    }
}
