//! Attention by online softmax: the score matrix never exists, only a block of it.
//!
//! For every block of queries, keys come by blocks. Beside the sums `O = Σ p·v` and `l = Σ p` so far stands the greatest score so
//! far, `m`; when a block raises it, what was summed before is scaled by `c = e^(m - m')`. At the end the result is `O / l`.
//! That is the same as the composite's decomposition up to rounding, by `e^(s - m') = e^(s - m) · e^(m - m')`; it is a
//! rewrite of this name and not something that fusion finds. Weights are shares of all keys, `p = e^(s - m) / keys`, so that
//! `O` is no greater than the greatest value, and does not overflow where the result does not.
//!
//! Queries lie transposed in scratch, so that the scores of a block are `[keys, queries]` and every loop over
//! queries reads neighbours. Scores are scaled, not queries: a tiny query that becomes 0 by its scale would meet infinite keys as NaN. Under a causal mask, blocks of keys that no query of the block sees are not visited, and only blocks
//! on the diagonal compare positions; so what stands in the values of keys that are not visited, infinities and NaN included, does not
//! reach the result, where the decomposition multiplies it by 0.

use super::Lowered;
use crate::buffer::{BufferId, Level};
use crate::build::{accumulate, for_each, loop_of, step, store};
use crate::expr::{Expr, ExprId, Extremum, Scalar};
use crate::group::Refused;
use crate::index::Index;
use crate::tree::{Kernel, Kind, Node, State};
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_graph::{Attention, Causal, DType, Dim, Graph, NodeId, TensorType, ValueId};

/// How many queries and keys are treated together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// Queries in a block.
    pub queries: i64,
    /// Keys in a block.
    pub keys: i64,
}

/// Whether a block of keys may hold some that a query does not see.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Diagonal {
    Below,
    On,
}

struct Emit {
    k: Kernel,
    dtype: DType,
    /// The factor on scores, and the one on weights.
    scale: ExprId,
    share: ExprId,
    causal: Option<Index>,
    blocks: Blocks,
    keys: Dim,
    depth: Dim,
    value_depth: Dim,
    key_at: [Index; 2],
    /// The first query of the block, and how many there are.
    first: Index,
    count: Index,
    key: BufferId,
    value: BufferId,
    mask: Option<(BufferId, TensorType, [Index; 2])>,
    query_t: BufferId,
    scores: BufferId,
    greatest: BufferId,
    total: BufferId,
    correction: BufferId,
    sums: BufferId,
}

/// The kernel of an `attention` node.
pub fn attention(graph: &Graph, node: NodeId, blocks: Blocks) -> Result<Lowered, Refused> {
    let node = graph.node(node);
    let pattern = |expected, found: String| Refused::Pattern { expected, found };
    let Some(op) = node.op.composite::<Attention>() else {
        return Err(pattern("an `attention` node", format!("`{}`", node.op.name())));
    };
    if blocks.queries < 1 || blocks.keys < 1 {
        return Err(pattern("blocks of at least 1", format!("{blocks:?}")));
    }
    let ty = |v: ValueId| {
        let refused = || Refused::DType { value: graph.value_name(v), ty: graph.ty(v).to_string() };
        graph.ty(v).as_tensor().ok_or_else(refused)
    };
    let mut types = Vec::new();
    for v in node.inputs.iter().chain(&node.outputs) {
        types.push(ty(*v)?.clone());
    }
    let (q, key, value) = (&types[0], &types[1], &types[2]);
    let out = &types[types.len() - 1];
    let wide = q.dtype.accumulator();

    let mut k = Kernel::new("attention", graph.facts().clone());
    let names = ["q", "k", "v", "mask"];
    let inputs: Vec<BufferId> = node
        .inputs
        .iter()
        .enumerate()
        .map(|(i, _)| k.input(names[i.min(3)], types[i].dtype, &types[i].shape))
        .collect();
    let output = k.output("out", out.dtype, &out.shape);
    let (qb, kb) = (Dim::from(blocks.queries), Dim::from(blocks.keys));
    let (depth, value_depth) = (q.shape[3].clone(), value.shape[3].clone());
    let bound = |v: usize, dim: &Dim| match graph.facts().bounds(dim).1 {
        Some(most) => Ok(Dim::from(most.max(0))),
        None => Err(Refused::Unbounded {
            value: graph.value_name(node.inputs[v]),
            ty: graph.ty(node.inputs[v]).to_string(),
        }),
    };
    let (most_depth, most_value_depth) = (bound(0, &depth)?, bound(2, &value_depth)?);
    let mut scratch = |name: &str, dims: &[Dim], level| k.scratch(name, wide, dims, level);
    let query_t = scratch("qt", &[most_depth, qb.clone()], Level::L1);
    let scores = scratch("p", &[kb, qb.clone()], Level::L1);
    let greatest = scratch("m", std::slice::from_ref(&qb), Level::L1);
    let total = scratch("l", std::slice::from_ref(&qb), Level::L1);
    let correction = scratch("c", std::slice::from_ref(&qb), Level::L1);
    let sums = scratch("o", &[qb, most_value_depth], Level::L1);

    let [batch, head, first] = ["b", "h", "block"].map(|name| k.add_axis(name));
    let (queries, keys) = (q.shape[2].clone(), key.shape[2].clone());
    let count = Index::from(blocks.queries).min(Index::constant(queries.clone()) - first);
    let offset = match op.causal {
        Causal::No => None,
        Causal::TopLeft => Some(Dim::ZERO),
        Causal::BottomRight => Some(keys.clone() - queries.clone()),
        other => return Err(pattern("a known causal mask", other.name().to_string())),
    };
    let mut group = Dim::ONE;
    if !graph.facts().equal(&q.shape[1], &key.shape[1]) {
        group = graph.facts().simplify(&q.shape[1].floor_div(&key.shape[1]));
    }
    let key_at = [Index::axis(batch), Index::axis(head).floor_div(group)];
    let query_at = [Index::axis(batch), Index::axis(head)];
    let one = k.constant(Scalar::float(wide, 1.0));
    let mut emit = Emit {
        dtype: wide,
        scale: one,
        share: one,
        causal: offset.map(Index::constant),
        blocks,
        keys,
        depth,
        value_depth,
        key_at,
        first: Index::axis(first),
        count,
        key: inputs[1],
        value: inputs[2],
        mask: inputs.get(3).map(|m| (*m, types[3].clone(), query_at.clone())),
        query_t,
        scores,
        greatest,
        total,
        correction,
        sums,
        k,
    };
    let scale = match op.scale {
        Some(scale) => emit.k.constant(Scalar::float(wide, scale)),
        None => emit.inverse_root(),
    };
    emit.scale = scale;
    emit.share = emit.share_of_keys();
    let mut body = emit.begin(inputs[0], &query_at);
    body.extend(emit.key_blocks(&queries));
    body.push(emit.end(output, &query_at));
    let Emit { mut k, .. } = emit;
    let rows = loop_of(first, 0, queries, blocks.queries, Kind::Parallel, body);
    let heads = loop_of(head, 0, q.shape[1].clone(), 1, Kind::Parallel, vec![rows]);
    k.body = vec![loop_of(batch, 0, q.shape[0].clone(), 1, Kind::Parallel, vec![heads])];
    super::remap::tidy(&mut k);
    Ok(Lowered { kernel: k, inputs: node.inputs.clone(), outputs: node.outputs.clone() })
}

impl Emit {
    fn number(&mut self, value: f64) -> ExprId {
        self.k.constant(Scalar::float(self.dtype, value))
    }

    /// `1/√depth`.
    fn inverse_root(&mut self) -> ExprId {
        match self.depth.as_const() {
            Some(d) => {
                let root = self.number(d as f64);
                self.k.unary(UnaryKind::Rsqrt, root)
            }
            None => {
                let depth = self.k.add(Expr::Index(Index::constant(self.depth.clone()), self.dtype));
                self.k.unary(UnaryKind::Rsqrt, depth)
            }
        }
    }

    /// `1/keys`, or the power of 2 below it where that is known: it rounds nothing.
    fn share_of_keys(&mut self) -> ExprId {
        match self.keys.as_const() {
            Some(keys) => self.number(1.0 / keys.max(1).unsigned_abs().next_power_of_two() as f64),
            None => {
                let keys = self.k.add(Expr::Index(Index::constant(self.keys.clone()), self.dtype));
                let one = self.number(1.0);
                self.k.binary(BinaryKind::Div, one, keys)
            }
        }
    }

    fn wide(&mut self, e: ExprId) -> ExprId {
        if self.k.dtype(e) == self.dtype { e } else { self.k.add(Expr::Cast(e, self.dtype)) }
    }

    /// 0 where a value is infinite, so that nothing is subtracted from it.
    fn pivot(&mut self, m: ExprId) -> ExprId {
        let (infinity, zero) = (self.number(f64::INFINITY), self.number(0.0));
        let magnitude = self.k.unary(UnaryKind::Abs, m);
        let infinite = self.k.compare(CompareKind::Eq, magnitude, infinity);
        self.k.add(Expr::Select(infinite, zero, m))
    }

    /// Queries transposed; nothing summed yet.
    fn begin(&mut self, query: BufferId, at: &[Index; 2]) -> Vec<Node> {
        let [q, d] = ["q", "d"].map(|n| self.k.add_axis(n));
        let index = vec![at[0].clone(), at[1].clone(), self.first.clone() + q, Index::axis(d)];
        let x = self.k.load(query, index);
        let x = self.wide(x);
        let put = store(self.query_t, vec![Index::axis(d), Index::axis(q)], x);
        let transposed = for_each(q, self.count.clone(), vec![for_each(d, self.depth.clone(), vec![put])]);

        let [q, o] = ["q", "d"].map(|n| self.k.add_axis(n));
        let (least, zero) = (self.number(f64::NEG_INFINITY), self.number(0.0));
        let sums = store(self.sums, vec![Index::axis(q), Index::axis(o)], zero);
        let nothing = vec![
            store(self.greatest, vec![Index::axis(q)], least),
            store(self.total, vec![Index::axis(q)], zero),
            for_each(o, self.value_depth.clone(), vec![sums]),
        ];
        vec![transposed, for_each(q, self.count.clone(), nothing)]
    }

    fn key_blocks(&mut self, queries: &Dim) -> Vec<Node> {
        let all = Index::constant(self.keys.clone());
        let width = self.blocks.keys;
        let Some(offset) = self.causal.clone() else {
            return vec![self.key_loop(Index::from(0), all, Diagonal::Below)];
        };
        // The first query sees the fewest keys, the last one the most.
        let last = (self.first.clone() + self.blocks.queries).min(Index::constant(queries.clone()));
        let end = all.clone().min(last + offset.clone());
        let seen_by_all = all.min(self.first.clone() + offset + 1).max(Index::from(0));
        let whole = seen_by_all.floor_div(width) * width;
        vec![
            self.key_loop(Index::from(0), whole.clone(), Diagonal::Below),
            self.key_loop(whole, end, Diagonal::On),
        ]
    }

    /// Blocks of keys from `begin` to `end`.
    fn key_loop(&mut self, begin: Index, end: Index, diagonal: Diagonal) -> Node {
        let block = self.k.add_axis("keys");
        let width = self.blocks.keys;
        // That `end` is no more than all keys follows, but not for every prover.
        let last = (Index::axis(block) + width).min(end.clone()).min(Index::constant(self.keys.clone()));
        let body = vec![
            self.scores_of(Index::axis(block), last.clone(), diagonal),
            self.raise(Index::axis(block), last.clone()),
            self.weigh(Index::axis(block), last),
        ];
        loop_of(block, begin, end, width, Kind::Serial, body)
    }

    /// `p[t, q] = scale·(k[t]·q) + mask`.
    fn scores_of(&mut self, block: Index, last: Index, diagonal: Diagonal) -> Node {
        let [t, q, d] = ["t", "q", "d"].map(|n| self.k.add_axis(n));
        let zero = self.number(0.0);
        let acc = self.k.sum_acc("s", self.dtype, zero);
        let index = vec![self.key_at[0].clone(), self.key_at[1].clone(), Index::axis(t), Index::axis(d)];
        let key = self.k.load(self.key, index);
        let key = self.wide(key);
        let query = self.k.load(self.query_t, vec![Index::axis(d), Index::axis(q)]);
        let state = self.k.state(acc);
        let next = self.k.add(Expr::Fma(key, query, state));
        let sum = accumulate(acc, vec![for_each(d, self.depth.clone(), vec![step(acc, next)])]);
        let sum_of_products = self.k.result(acc);
        let mut score = self.k.product(sum_of_products, self.scale);
        let hidden = self.number(f64::NEG_INFINITY);
        if let Some((mask, ty, at)) = self.mask.clone() {
            let whole = [at[0].clone(), at[1].clone(), self.first.clone() + q, Index::axis(t)];
            let skip = whole.len() - ty.rank();
            let index = ty.shape.iter().zip(&whole[skip..]);
            let index = index.map(|(d, i)| if d.is(1) { Index::from(0) } else { i.clone() }).collect();
            let m = self.k.load(mask, index);
            score = if ty.dtype == DType::Bool {
                self.k.add(Expr::Select(m, score, hidden))
            } else {
                let m = self.wide(m);
                self.k.sum(score, m)
            };
        }
        if let (Some(offset), Diagonal::On) = (&self.causal, diagonal) {
            // Query `first + q` sees key `t` if `t <= first + q + offset`. Keys of this loop are seen by the last query of a
            // whole block, so that what `q` is compared with is less than a block, and 32 bits hold it.
            let first_to_see = (Index::axis(t) - self.first.clone() - offset.clone()).max(Index::from(0));
            let first_to_see = self.k.add(Expr::Index(first_to_see, DType::I32));
            let query = self.k.add(Expr::Index(Index::axis(q), DType::I32));
            let seen = self.k.compare(CompareKind::Ge, query, first_to_see);
            score = self.k.add(Expr::Select(seen, score, hidden));
        }
        let put = store(self.scores, vec![Index::axis(t) - block.clone(), Index::axis(q)], score);
        let queries = for_each(q, self.count.clone(), vec![sum, put]);
        loop_of(t, block, last, 1, Kind::Serial, vec![queries])
    }

    /// The greatest score with this block, what it takes off the sums so far, and the weights with their total.
    fn raise(&mut self, block: Index, last: Index) -> Node {
        let [q, t, u] = ["q", "t", "t"].map(|n| self.k.add_axis(n));
        let query = vec![Index::axis(q)];
        let before = self.k.load(self.greatest, query.clone());
        let least = Scalar::float(self.dtype, f64::NEG_INFINITY);
        let state = vec![State { dtype: self.dtype, init: before }];
        let greatest = self.k.add_acc("m", state, vec![least], |k, id| {
            let (a, b) = (k.add(Expr::State(id, 0)), k.add(Expr::Other(id, 0)));
            vec![k.extremum(Extremum::Max, a, b)]
        });
        let score = self.k.load(self.scores, vec![Index::axis(t) - block.clone(), Index::axis(q)]);
        let state = self.k.state(greatest);
        let next = self.k.extremum(Extremum::Max, state, score);
        let steps = loop_of(t, block.clone(), last.clone(), 1, Kind::Serial, vec![step(greatest, next)]);
        let m = self.k.result(greatest);
        let pivot = self.pivot(m);
        let fallen = self.k.binary(BinaryKind::Sub, before, pivot);
        let correction = self.k.unary(UnaryKind::Exp, fallen);

        let c = self.k.load(self.correction, query.clone());
        let l = self.k.load(self.total, query.clone());
        let kept = self.k.product(l, c);
        let total = self.k.sum_acc("l", self.dtype, kept);
        let place = vec![Index::axis(u) - block.clone(), Index::axis(q)];
        let score = self.k.load(self.scores, place.clone());
        let shifted = self.k.binary(BinaryKind::Sub, score, pivot);
        let weight = self.k.unary(UnaryKind::Exp, shifted);
        let weight = self.k.product(weight, self.share);
        let state = self.k.state(total);
        let next = self.k.sum(state, score);
        let weights = vec![store(self.scores, place, weight), step(total, next)];
        let result = self.k.result(total);
        let body = vec![
            accumulate(greatest, vec![steps]),
            store(self.correction, query.clone(), correction),
            store(self.greatest, query.clone(), m),
            accumulate(total, vec![loop_of(u, block, last, 1, Kind::Serial, weights)]),
            store(self.total, query, result),
        ];
        for_each(q, self.count.clone(), body)
    }

    /// `o[q] = c[q]·o[q] + Σ p[t, q]·v[t]`.
    fn weigh(&mut self, block: Index, last: Index) -> Node {
        let [q, d, t] = ["q", "d", "t"].map(|n| self.k.add_axis(n));
        let place = vec![Index::axis(q), Index::axis(d)];
        let before = self.k.load(self.sums, place.clone());
        let c = self.k.load(self.correction, vec![Index::axis(q)]);
        let kept = self.k.product(before, c);
        let acc = self.k.sum_acc("o", self.dtype, kept);
        let weight = self.k.load(self.scores, vec![Index::axis(t) - block.clone(), Index::axis(q)]);
        let index = vec![self.key_at[0].clone(), self.key_at[1].clone(), Index::axis(t), Index::axis(d)];
        let value = self.k.load(self.value, index);
        let value = self.wide(value);
        let state = self.k.state(acc);
        let next = self.k.add(Expr::Fma(weight, value, state));
        let sum = accumulate(acc, vec![loop_of(t, block, last, 1, Kind::Serial, vec![step(acc, next)])]);
        let result = self.k.result(acc);
        let columns = for_each(d, self.value_depth.clone(), vec![sum, store(self.sums, place, result)]);
        for_each(q, self.count.clone(), vec![columns])
    }

    /// `out = o / l`; where nothing was seen, `l` is 0 and so is `o`.
    fn end(&mut self, output: BufferId, at: &[Index; 2]) -> Node {
        let [q, d] = ["q", "d"].map(|n| self.k.add_axis(n));
        let (zero, one) = (self.number(0.0), self.number(1.0));
        let sum = self.k.load(self.sums, vec![Index::axis(q), Index::axis(d)]);
        let total = self.k.load(self.total, vec![Index::axis(q)]);
        let empty = self.k.compare(CompareKind::Eq, total, zero);
        let divisor = self.k.add(Expr::Select(empty, one, total));
        let mut y = self.k.binary(BinaryKind::Div, sum, divisor);
        let to = self.k.buffer(output).dtype;
        if to != self.dtype {
            y = self.k.add(Expr::Cast(y, to));
        }
        let index = vec![at[0].clone(), at[1].clone(), self.first.clone() + q, Index::axis(d)];
        let columns = for_each(d, self.value_depth.clone(), vec![store(output, index, y)]);
        for_each(q, self.count.clone(), vec![columns])
    }
}
