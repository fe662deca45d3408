//! Conversions, and operators that hand their operand on.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{DType, Result};

/// ONNX leaves floats outside the range of an integer type undefined; Lawson's cast saturates.
fn cast_to(cx: &mut NodeCx<'_, '_>, to: DType) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let from = cx.b.dtype(x)?;
    if from != to && (from == DType::Str || to == DType::Str) {
        return Err(cx.unsupported(format!("a cast from {from} to {to}")));
    }
    let eight_bits = matches!(to, DType::F8E4M3 | DType::F8E5M2);
    if eight_bits && cx.flag("saturate", true)? && from.is_float() {
        return Err(cx.unsupported(format!("a saturating cast from {from} to {to}")));
    }
    cx.ignore("saturate");
    cx.ignore("round_mode");
    one(cx.b.cast(x, to)?)
}

pub(super) fn cast(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let Some(to) = cx.dtype("to")? else { return Err(cx.wrong("a cast does not say to what")) };
    cast_to(cx, to)
}

pub(super) fn cast_like(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (to, _) = cx.tensor_type(1)?;
    cast_to(cx, to)
}

pub(super) fn identity(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    Ok(vec![cx.item(0)?])
}

/// Inference: nothing is dropped, and the mask is true everywhere.
pub(super) fn dropout(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("ratio");
    cx.ignore("seed");
    if cx.has(2) && !cx.item(2)?.dims().is_some_and(|t| t.dims.iter().all(|d| d.is(0))) {
        return Err(cx.unsupported("`Dropout` in training mode"));
    }
    let mut results = vec![cx.item(0)?];
    if cx.wants(1) {
        let kept = cx.b.scalar(DType::Bool, 1.0)?;
        let shape = cx.shape(0)?;
        results.push(cx.b.broadcast_to(kept, shape)?.into());
    }
    Ok(results)
}
