//! Conversions, and operators that hand their operand on.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{DType, HostTensor, Result};

/// ONNX leaves floats outside the range of an integer type undefined, and Lawson's cast saturates; only to 4 bits ONNX wraps, by
/// way of a wider integer. To 8-bit floats ONNX saturates unless told otherwise, and Lawson's cast does not.
fn cast_to(cx: &mut NodeCx<'_, '_>, to: DType) -> Result<Vec<Item>> {
    cx.ignore("round_mode");
    let saturate = cx.flag("saturate", true)?;
    let mut x = cx.value(0)?;
    let from = cx.b.dtype(x)?;
    if from != to && (from == DType::Str || to == DType::Str) {
        return one(super::hosted::cast_text(cx, x, to)?);
    }
    match to {
        DType::I4 | DType::U4 | DType::I2 | DType::U2 if from.is_float() => x = cx.b.cast(x, DType::I32)?,
        _ if to.is_float() && to.bits() == 8 && saturate && from.is_float() && from != to => {
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

/// Outside training nothing is dropped, and the mask is true everywhere. The ratio is an attribute until version 11.
pub(super) fn dropout(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    for name in ["seed", "is_test"] {
        cx.ignore(name);
    }
    let ratio = cx.float("ratio", 0.5)?;
    let training = if cx.has(2) { cx.constant_of(2, "mode")? } else { HostTensor::scalar(false) };
    if (0..training.len()).any(|i| training.int_at(i) != 0) {
        let ratio = if cx.has(1) { cx.constant_of(1, "ratio")?.float_at(0) } else { ratio };
        if ratio != 0.0 {
            return super::random::dropout(cx, ratio);
        }
    }
    let mut results = vec![cx.item(0)?];
    if cx.wants(1) {
        let kept = cx.b.scalar(DType::Bool, 1.0)?;
        let shape = cx.shape(0)?;
        results.push(cx.b.broadcast_to(kept, shape)?.into());
    }
    Ok(results)
}
