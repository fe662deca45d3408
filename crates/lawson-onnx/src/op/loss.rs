//! Losses: Lawson's composites over the class axis, which is the second.

use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{CrossEntropy, DType, LogSoftmax, NllLoss, Reduction, Result, ValueId};

fn reduction(cx: &NodeCx<'_, '_>) -> Result<Reduction> {
    Ok(match cx.text("reduction")?.unwrap_or("mean") {
        "none" => Reduction::None,
        "sum" => Reduction::Sum,
        "mean" => Reduction::Mean,
        other => return Err(cx.no_such("reduction", other, &["none", "sum", "mean"])),
    })
}

/// Scores, classes, and weights if there are any.
fn operands(cx: &mut NodeCx<'_, '_>) -> Result<Vec<ValueId>> {
    let (x, classes) = (cx.value(0)?, cx.value(1)?);
    let classes = match cx.b.dtype(classes)? {
        DType::I32 | DType::I64 => classes,
        _ => cx.b.cast(classes, DType::I64)?,
    };
    Ok([x, classes].into_iter().chain(cx.optional(2)?).collect())
}

pub(super) fn nll(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (reduction, ignore) = (reduction(cx)?, cx.int("ignore_index")?);
    let operands = operands(cx)?;
    super::one(cx.b.composite(NllLoss { axis: 1, reduction, ignore }, &operands)?)
}

/// The logarithms of the probabilities are a result too, if something uses them.
pub(super) fn softmax_cross_entropy(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (reduction, ignore) = (reduction(cx)?, cx.int("ignore_index")?);
    let operands = operands(cx)?;
    let loss = CrossEntropy { axis: 1, reduction, ignore, smoothing: 0.0 };
    let mut results = vec![cx.b.composite(loss, &operands)?.into()];
    if cx.wants(1) {
        results.push(cx.b.composite(LogSoftmax { axis: 1 }, &operands[..1])?.into());
    }
    Ok(results)
}
