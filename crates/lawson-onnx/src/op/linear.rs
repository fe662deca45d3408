//! Matrix products.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{Dim, Linear, Result, Shape, ValueId, WeightLayout};

/// A matrix on the right is shared by all rows on the left: `linear`, which has no batch axes.
pub(super) fn matmul(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (a, b) = (cx.value(0)?, cx.value(1)?);
    let (x, y) = (cx.b.shape(a)?, cx.b.shape(b)?);
    let (ra, rb) = (x.rank(), y.rank());
    if let (Some(inner), Some(other)) = (x.last(), y.get(rb.saturating_sub(2))) {
        cx.assume_equal(inner, other)?;
    }
    // Axes before the last two are aligned at their ends.
    let lead = |s: &Shape| s.iter().rev().skip(2).cloned().collect::<Vec<Dim>>();
    for (p, q) in lead(&x).iter().zip(&lead(&y)).filter(|(p, q)| !p.is(1) && !q.is(1)) {
        cx.assume_equal(p, q)?;
    }
    one(if ra >= 1 && rb == 2 {
        cx.b.composite(Linear { layout: WeightLayout::InOut }, &[a, b])?
    } else {
        cx.b.matmul(a, b)?
    })
}

/// `alpha·A'·B' + beta·C`, where a prime may transpose.
pub(super) fn gemm(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (alpha, beta) = (cx.float("alpha", 1.0)?, cx.float("beta", 1.0)?);
    // Before version 7 it says whether the last operand may be smaller; it always may.
    cx.ignore("broadcast");
    let (trans_a, trans_b) = (cx.flag("transA", false)?, cx.flag("transB", false)?);
    let (a, b, c) = (cx.value(0)?, cx.value(1)?, cx.optional(2)?);
    for v in [a, b] {
        let rank = cx.b.tensor_type(v)?.rank();
        if rank != 2 {
            return Err(cx.wrong(format!("`Gemm` multiplies matrices, not tensors of {rank} dimensions")));
        }
    }
    let a = if trans_a { cx.b.transpose(a, &[1, 0])? } else { a };
    let layout = if trans_b { WeightLayout::OutIn } else { WeightLayout::InOut };
    let out = cx.b.shape(b)?[usize::from(!trans_b)].clone();
    let (inner, other) = (cx.b.shape(a)?[1].clone(), cx.b.shape(b)?[usize::from(trans_b)].clone());
    cx.assume_equal(&inner, &other)?;
    if let (Some(bias), true) = (c.filter(|_| beta == 1.0), alpha == 1.0)
        && let Some(bias) = as_row(cx, bias, &out)?
    {
        return one(cx.b.composite(Linear { layout }, &[a, b, bias])?);
    }
    let mut y = cx.b.composite(Linear { layout }, &[a, b])?;
    if alpha != 1.0 {
        y = cx.b.mul_scalar(y, alpha)?;
    }
    if let Some(c) = c.filter(|_| beta != 0.0) {
        let c = if beta == 1.0 { c } else { cx.b.mul_scalar(c, beta)? };
        let shape = cx.b.shape(y)?;
        let c = cx.b.broadcast_to(c, shape)?;
        y = cx.b.add(y, c)?;
    }
    one(y)
}

/// The operand as the vector of a bias, if it is one.
fn as_row(cx: &mut NodeCx<'_, '_>, c: ValueId, out: &Dim) -> Result<Option<ValueId>> {
    let shape = cx.b.shape(c)?;
    let (last, lead) = match shape.split_last() {
        Some(split) => split,
        None => return Ok(None),
    };
    if !lead.iter().all(|d| d.is(1)) || !cx.b.facts().equal(last, out) {
        return Ok(None);
    }
    cx.b.reshape(c, [out.clone()]).map(Some)
}
