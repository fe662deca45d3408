//! Scaled-dot-product attention.

use super::softmax::finite_or_zero;
use super::{CompositeDef, example};
use crate::builder::{Builder, Keep};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::error::{Code, Result};
use crate::graph::{Graph, ValueId};
use crate::op::{Accept, CompareKind, Contract, Infer, Monoid, Op};
use crate::types::{Shape, Type};
use crate::{attributes, keywords};

keywords! {
    /// Which keys a query may see by its position.
    pub enum Causal {
        /// All of them.
        No = "no",
        /// Query i sees keys up to i: the first query is aligned with the first key.
        TopLeft = "top_left",
        /// Query i of S sees keys up to `i + T - S`: the last query is aligned with the last of T keys, as with a
        /// cache of earlier keys. Where T < S, the first `S - T` queries see nothing.
        BottomRight = "bottom_right",
    }
}

attributes! {
    /// `attention(q, k, v)` and `attention(q, k, v, mask)`: `softmax(scale · q·kᵀ + mask) · v` for every head.
    ///
    /// q is `[B, Hq, S, D]`, k `[B, Hkv, T, D]`, v `[B, Hkv, T, Dv]`, the result `[B, Hq, S, Dv]`; all of one float
    /// dtype. Hkv divides Hq: query head h reads key head `h / (Hq / Hkv)`. The mask broadcasts to `[B, Hq, S, T]`; it
    /// is bool (true: may be seen) or a float, which is added to the scores, of the dtype of q or the one that q is
    /// computed in.
    ///
    /// A query that may see nothing (masked, or T = 0) gives zeros: 0 is the empty weighted sum, and NaN would spread
    /// from padding to everything after it. NaN in scores stays NaN.
    ///
    /// Narrower floats than f32 are computed in f32 throughout, scores and weights included, and rounded once.
    ///
    /// Decomposition: `contract`, shifted exponentials, their sum, `contract`; heads are grouped by `reshape`, so that
    /// keys and values are never repeated.
    pub struct Attention {
        /// Which keys a query may see by its position, besides the mask.
        pub causal: Causal = Causal::No,
        /// The factor on scores; `1/√D` if unsaid.
        pub scale: Option<f64> = None,
    }
}

/// The dimensions of one call.
struct Sizes {
    batch: Dim,
    heads: Dim,
    kv_heads: Dim,
    /// Query heads for each key head.
    group: Dim,
    queries: Dim,
    keys: Dim,
    depth: Dim,
    value_depth: Dim,
}

impl Attention {
    fn check(&self, cx: Infer<'_>) -> Result<Sizes> {
        cx.count_in(3..=4)?;
        let q = cx.ranked(0, Accept::FLOAT, 4)?;
        let k = cx.ranked(1, Accept::FLOAT, 4)?;
        let v = cx.ranked(2, Accept::FLOAT, 4)?;
        cx.same_dtype(0, 1)?;
        cx.same_dtype(0, 2)?;
        cx.unify((0, 0), (1, 0))?;
        cx.unify((0, 0), (2, 0))?;
        cx.unify((1, 1), (2, 1))?;
        cx.unify((1, 2), (2, 2))?;
        cx.unify((0, 3), (1, 3))?;
        let (heads, kv_heads) = (&q.shape[1], &k.shape[1]);
        let group = if cx.facts.equal(heads, kv_heads) {
            Dim::ONE
        } else {
            cx.facts.simplify(&heads.floor_div(kv_heads))
        };
        if !cx.facts.equal(&(group.clone() * kv_heads.clone()), heads) {
            let message =
                format!("{heads} query heads are not known to be a multiple of {kv_heads} key heads");
            return Err(cx.error(Code::DimMismatch, 1, message).at(cx.operand(0)));
        }
        if cx.inputs.len() == 4 {
            let mask = cx.tensor(3, Accept("bool or a float", |d| d == DType::Bool || d.is_float()))?;
            if mask.dtype != DType::Bool {
                cx.parameter(3)?;
            }
            let scores: Shape = [&q.shape[0], heads, &q.shape[2], &k.shape[2]].into_iter().cloned().collect();
            cx.broadcasts_to(3, &scores)?;
        }
        if let Some(scale) = self.scale {
            cx.check_finite("scale", scale)?;
        }
        Ok(Sizes {
            batch: q.shape[0].clone(),
            heads: heads.clone(),
            kv_heads: kv_heads.clone(),
            group,
            queries: q.shape[2].clone(),
            keys: k.shape[2].clone(),
            depth: q.shape[3].clone(),
            value_depth: v.shape[3].clone(),
        })
    }

    /// Which keys each query may see by its position: bool `[S, T]`.
    fn visible(&self, b: &mut Builder<'_>, queries: &Dim, keys: &Dim) -> Result<Option<ValueId>> {
        let offset = match self.causal {
            Causal::No => return Ok(None),
            Causal::TopLeft => Dim::ZERO,
            Causal::BottomRight => keys.clone() - queries.clone(),
        };
        let shape = [queries.clone(), keys.clone()];
        let key = b.iota(DType::I64, shape.clone(), 1)?;
        let query = b.iota(DType::I64, shape, 0)?;
        let offset = b.dim_scalar(&offset, DType::I64)?;
        let last = b.add(query, offset)?;
        b.compare(CompareKind::Le, key, last).map(Some)
    }
}

impl CompositeDef for Attention {
    const NAME: &'static str = "attention";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let n = b.check(Self::NAME, inputs, |cx| self.check(cx))?;
        let dtype = b.dtype(inputs[0])?;
        let wide = dtype.accumulator();
        let batch = vec![(0, 0), (1, 1)];

        let grouped = |last: &Dim| [&n.batch, &n.kv_heads, &n.group, &n.queries, last].map(Dim::clone);
        let whole = |last: &Dim| [&n.batch, &n.heads, &n.queries, last].map(Dim::clone);
        let q = b.reshape(inputs[0], grouped(&n.depth))?;
        let contract =
            Contract { batch: batch.clone(), sum: vec![(4, 3)], out: (wide != dtype).then_some(wide) };
        let scores = b.op1(Op::Contract(contract), &[q, inputs[1]])?;
        let scores = b.reshape(scores, whole(&n.keys))?;
        let scale = match self.scale {
            Some(scale) => b.scalar(wide, scale)?,
            None => {
                let depth = b.dim_scalar(&n.depth, wide)?;
                b.rsqrt(depth)?
            }
        };
        let mut scores = b.mul(scores, scale)?;
        let hide = |b: &mut Builder<'_>, scores: ValueId, visible: ValueId| {
            let hidden = b.full_like(scores, f64::NEG_INFINITY)?;
            b.select(visible, scores, hidden)
        };
        if let Some(mask) = inputs.get(3) {
            scores = if b.dtype(*mask)? == DType::Bool {
                hide(b, scores, *mask)?
            } else {
                let mask = b.cast(*mask, wide)?;
                b.add(scores, mask)?
            };
        }
        if let Some(visible) = self.visible(b, &n.queries, &n.keys)? {
            scores = hide(b, scores, visible)?;
        }

        // A sum of 0 means that nothing was visible: otherwise the maximum itself adds 1.
        let max = b.reduce(Monoid::Max, scores, &[3], Keep::Yes)?;
        let pivot = finite_or_zero(b, max)?;
        let d = b.sub(scores, pivot)?;
        let e = b.exp(d)?;
        let sum = b.reduce(Monoid::Sum, e, &[3], Keep::Yes)?;
        let zero = b.full_like(sum, 0.0)?;
        let one = b.full_like(sum, 1.0)?;
        let empty = b.compare(CompareKind::Eq, sum, zero)?;
        let divisor = b.select(empty, one, sum)?;
        let weights = b.div(e, divisor)?;

        let weights = b.reshape(weights, grouped(&n.keys))?;
        let v = b.cast(inputs[2], wide)?;
        let y = b.op1(Op::Contract(Contract { batch, sum: vec![(4, 2)], out: None }), &[weights, v])?;
        let y = b.reshape(y, whole(&n.value_depth))?;
        Ok(vec![b.cast(y, dtype)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        let t = |dims: [usize; 4]| Type::tensor(DType::F32, dims);
        let half = |dims: [usize; 4]| Type::tensor(DType::F16, dims);
        Ok(vec![
            example(
                Attention { causal: Causal::No, scale: None },
                [("q", t([2, 3, 5, 4])), ("k", t([2, 3, 7, 4])), ("v", t([2, 3, 7, 6]))],
            )?,
            example(
                Attention { causal: Causal::BottomRight, scale: Some(0.25) },
                [
                    ("q", t([1, 4, 3, 5])),
                    ("k", t([1, 2, 5, 5])),
                    ("v", t([1, 2, 5, 5])),
                    ("mask", Type::tensor(DType::Bool, [4, 1, 5])),
                ],
            )?,
            example(
                Attention { causal: Causal::TopLeft, scale: None },
                [
                    ("q", half([1, 2, 3, 5])),
                    ("k", half([1, 1, 3, 5])),
                    ("v", half([1, 1, 3, 1])),
                    ("mask", Type::tensor(DType::F16, [3, 3])),
                ],
            )?,
        ])
    }
}
