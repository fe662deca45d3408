//! Quantisation: Lawson's composites, with ONNX's ways to say which scales belong to which elements.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::{DType, Dequantise, Dim, Quantise, Result, Shape, ValueId};

/// The scale and the zero point as the composites take them, and how they lie over the operand.
struct Scales {
    operands: Vec<ValueId>,
    axis: Option<usize>,
    block: Option<i64>,
}

/// Operands 1 and 2. Scales that are powers of two and nothing else are turned into numbers to compute with. 8-bit floats have a zero point in ONNX, which is 0, and none in Lawson.
fn scales(cx: &mut NodeCx<'_, '_>, x: ValueId, quantised: DType) -> Result<Scales> {
    let mut scale = cx.value(1)?;
    if !cx.b.dtype(scale)?.has_arithmetic() {
        let own = cx.b.dtype(x)?;
        scale = cx.b.cast(scale, if own == quantised { DType::F32 } else { own })?;
    }
    let zero = if quantised.is_float() {
        let zero = if cx.has(2) { cx.item(2)?.constant().cloned() } else { None };
        if zero.is_some_and(|z| (0..z.len()).any(|i| z.float_at(i) != 0.0)) {
            return Err(cx.wrong(format!("the zero point of `{}` is not 0, which floats must have", cx.op())));
        }
        None
    } else {
        cx.optional(2)?
    };
    let (shape, own) = (cx.b.shape(x)?, cx.b.shape(scale)?);
    let axis = cx.int("axis")?.unwrap_or(1);
    let block = cx.int("block_size")?.filter(|b| *b != 0);
    // A vector of one scale serves a whole tensor too.
    let is_whole = block.is_none() && own.iter().all(|d| d.is(1));
    let mut operands = Vec::with_capacity(2);
    for v in [Some(scale), zero].into_iter().flatten() {
        operands.push(if is_whole { cx.b.reshape(v, Shape::scalar())? } else { v });
    }
    let axis = if is_whole { None } else { Some(cx.axis(axis, shape.rank())?) };
    if let (Some(axis), None) = (axis, block) {
        let along: [Dim; 1] = [shape[axis].clone()];
        for v in &mut operands {
            *v = cx.b.reshape(*v, along.clone())?;
        }
    }
    Ok(Scales { operands, axis, block })
}

pub(super) fn dequantise(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let quantised = cx.b.dtype(x)?;
    let to = cx.int("output_dtype")?.filter(|d| *d != 0).is_some();
    let to = if to { cx.dtype("output_dtype")? } else { None };
    let Scales { operands, axis, block } = scales(cx, x, quantised)?;
    let operands: Vec<ValueId> = [x].into_iter().chain(operands).collect();
    let y = cx.b.composite(Dequantise { axis, block }, &operands)?;
    one(match to {
        Some(to) => cx.b.cast(y, to)?,
        None => y,
    })
}

/// The result has the dtype of the zero point, or the one that is asked for, or u8.
pub(super) fn quantise(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    if cx.int("precision")?.is_some_and(|p| p != 0) || !cx.flag("saturate", true)? {
        return Err(cx.unsupported("`QuantizeLinear` in another precision, or without saturation"));
    }
    let x = cx.value(0)?;
    let asked = cx.int("output_dtype")?.filter(|d| *d != 0).is_some();
    let to = match (cx.has(2), asked) {
        (true, _) => cx.tensor_type(2)?.0,
        (false, true) => cx.dtype("output_dtype")?.unwrap_or(DType::U8),
        (false, false) => DType::U8,
    };
    let Scales { operands, axis, block } = scales(cx, x, to)?;
    let operands: Vec<ValueId> = [x].into_iter().chain(operands).collect();
    one(cx.b.composite(Quantise { to, axis, block }, &operands)?)
}
