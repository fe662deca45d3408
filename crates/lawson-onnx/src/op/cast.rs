//! Conversions, and operators that hand their operand on.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{BinaryKind, Bitcast, CompareKind};
use lawson_graph::{DType, HostTensor, Op, Result, ValueId};

/// ONNX leaves floats outside the range of an integer type undefined, and Lawson's cast saturates; only to 4 bits ONNX wraps, by
/// way of a wider integer. To 8-bit floats ONNX saturates unless told otherwise, and Lawson's cast does not.
fn cast_to(cx: &mut NodeCx<'_, '_>, to: DType) -> Result<Vec<Item>> {
    let round_mode = cx.text("round_mode")?.unwrap_or("up").to_string();
    let saturate = cx.flag("saturate", true)?;
    let mut x = cx.value(0)?;
    let from = cx.b.dtype(x)?;
    if from != to && (from == DType::Str || to == DType::Str) {
        return one(super::hosted::cast_text(cx, x, to)?);
    }
    if to == DType::F8E8M0 && from != to {
        let Some(mode) = Rounding::named(&round_mode) else {
            return Err(cx.wrong(format!("a cast cannot round `{round_mode}`")));
        };
        return one(to_power(cx, x, mode, saturate)?);
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

/// To which of two powers of two a number between them goes.
#[derive(Clone, Copy)]
enum Rounding {
    Up,
    Down,
    Nearest,
}

impl Rounding {
    fn named(name: &str) -> Option<Rounding> {
        match name {
            "up" => Some(Rounding::Up),
            "down" => Some(Rounding::Down),
            "nearest" => Some(Rounding::Nearest),
            _ => None,
        }
    }
}

/// The exponent of a number as f64, which has more exponents than there are powers: saturated, what is too small is the least
/// power and what is too large the greatest; otherwise both are NaN. What is below zero ONNX leaves open; it is NaN.
fn to_power(cx: &mut NodeCx<'_, '_>, x: ValueId, mode: Rounding, saturate: bool) -> Result<ValueId> {
    /// Where a f64 has its exponent, and what is to be taken from that.
    const FRACTION: u32 = 52;
    const SHIFT: i64 = 1023 - 127;
    let wide = cx.b.cast(x, DType::F64)?;
    let bits = cx.b.op1(Op::Bitcast(Bitcast { to: DType::I64 }), &[wide])?;
    let int = |cx: &mut NodeCx<'_, '_>, v: i64| cx.b.constant(HostTensor::scalar(v));
    let places = int(cx, i64::from(FRACTION))?;
    let carry = match mode {
        Rounding::Up => (1 << FRACTION) - 1,
        Rounding::Nearest => 1 << (FRACTION - 1),
        Rounding::Down => 0,
    };
    // A fraction that carries adds one to the exponent above it.
    let carry = int(cx, carry)?;
    let carried = cx.b.add(bits, carry)?;
    let exponent = cx.b.binary(BinaryKind::Shr, carried, places)?;
    let shift = int(cx, SHIFT)?;
    let exponent = cx.b.sub(exponent, shift)?;
    let (least, greatest, nan) = (int(cx, 0)?, int(cx, 254)?, int(cx, 255)?);
    let clipped = cx.b.max(exponent, least)?;
    let clipped = cx.b.min(clipped, greatest)?;
    let zero = cx.b.scalar(DType::F64, 0.0)?;
    let fits = cx.b.compare(CompareKind::Ge, wide, zero)?;
    let fits = if saturate {
        fits
    } else {
        let inside = cx.b.compare(CompareKind::Eq, clipped, exponent)?;
        cx.b.binary(BinaryKind::And, fits, inside)?
    };
    let exponent = cx.b.select(fits, clipped, nan)?;
    let bytes = cx.b.cast(exponent, DType::U8)?;
    cx.b.op1(Op::Bitcast(Bitcast { to: DType::F8E8M0 }), &[bytes])
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
    // Where nothing is dropped, how much would be is of no interest.
    cx.ignore_operand(1);
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
