//! Conversions, and operators that hand their operand on.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{DType, Result};

/// ONNX leaves floats outside the range of an integer type undefined, and Lawson's cast saturates; only to 4 bits ONNX wraps, by
/// way of a wider integer. To 8-bit floats ONNX saturates unless told otherwise, and Lawson's cast does not.
fn cast_to(cx: &mut NodeCx<'_, '_>, to: DType) -> Result<Vec<Item>> {
    cx.ignore("round_mode");
    let saturate = cx.flag("saturate", true)?;
    let mut x = cx.value(0)?;
    let from = cx.b.dtype(x)?;
    if from != to && (from == DType::Str || to == DType::Str) {
        return Err(cx.unsupported(format!("a cast from {from} to {to}")));
    }
    match to {
        DType::I4 | DType::U4 if from.is_float() => x = cx.b.cast(x, DType::I32)?,
        DType::F8E4M3 | DType::F8E5M2 if saturate && from.is_float() && from != to => {
            let most = to.max_finite().unwrap_or(f64::INFINITY);
            x = cx.b.clip(x, -most, most)?;
        }
        _ => {}
    }
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
