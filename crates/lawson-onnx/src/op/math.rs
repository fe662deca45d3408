//! Arithmetic: functions of one number and of two, and those of any number of operands.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_graph::{DType, Result, ValueId};

macro_rules! unary {
    ($($name:ident => $kind:ident),* $(,)?) => {$(
        pub(super) fn $name(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
            let x = cx.value(0)?;
            one(cx.b.unary(UnaryKind::$kind, x)?)
        }
    )*};
}
unary! {
    neg => Neg, exp => Exp, log => Log, sqrt => Sqrt, sin => Sin, cos => Cos, tan => Tan, asin => Asin, acos => Acos,
    atan => Atan, sinh => Sinh, cosh => Cosh, tanh => Tanh, asinh => Asinh, acosh => Acosh, atanh => Atanh, erf => Erf,
    sign => Sign, bitwise_not => Not, floor => Floor, ceil => Ceil, round => Round,
}

pub(super) fn abs(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    one(cx.b.abs(x)?)
}

pub(super) fn reciprocal(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let ones = cx.b.full_like(x, 1.0)?;
    one(cx.b.div(ones, x)?)
}

macro_rules! binary {
    ($($name:ident => $kind:ident),* $(,)?) => {$(
        pub(super) fn $name(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
            let (a, b) = cx.pair()?;
            one(cx.b.binary(BinaryKind::$kind, a, b)?)
        }
    )*};
}
binary! {
    add => Add, sub => Sub, mul => Mul, div => Div, and => And, or => Or, xor => Xor,
}

/// Bases and exponents may have different dtypes; the result has that of the base.
pub(super) fn pow(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (base, exponent) = cx.pair()?;
    let (to, by) = (cx.b.dtype(base)?, cx.b.dtype(exponent)?);
    if by.is_float() && !to.is_float() {
        let wide = cx.b.cast(base, by)?;
        let power = cx.b.pow(wide, exponent)?;
        return one(cx.b.cast(power, to)?);
    }
    let exponent = cx.b.cast(exponent, to)?;
    one(cx.b.pow(base, exponent)?)
}

pub(super) fn modulo(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (a, b) = (cx.value(0)?, cx.value(1)?);
    let kind = if cx.flag("fmod", false)? { BinaryKind::Rem } else { BinaryKind::Mod };
    one(cx.b.binary(kind, a, b)?)
}

/// A signed number shifted right by its width or more leaves its sign; Lawson's shift gives 0 there, as ONNX's does to the left.
pub(super) fn bit_shift(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (a, mut by) = (cx.value(0)?, cx.value(1)?);
    let kind = match cx.text("direction")? {
        Some("LEFT") => BinaryKind::Shl,
        Some("RIGHT") => BinaryKind::Shr,
        other => return Err(cx.no_such("direction", other.unwrap_or_default(), &["LEFT", "RIGHT"])),
    };
    let dtype = cx.b.dtype(a)?;
    if kind == BinaryKind::Shr && dtype.is_signed() {
        let (zero, most) = (cx.b.full_like(by, 0.0)?, cx.b.full_like(by, (dtype.bits() - 1) as f64)?);
        let negative = cx.b.compare(CompareKind::Lt, by, zero)?;
        let bounded = cx.b.min(by, most)?;
        by = cx.b.select(negative, most, bounded)?;
    }
    one(cx.b.binary(kind, a, by)?)
}

fn variadic(cx: &mut NodeCx<'_, '_>, kind: BinaryKind) -> Result<ValueId> {
    let mut total = cx.value(0)?;
    for i in 1..cx.operands() {
        let next = cx.value(i)?;
        cx.assume_broadcast(&[total, next])?;
        total = cx.b.binary(kind, total, next)?;
    }
    Ok(total)
}

pub(super) fn min(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    one(variadic(cx, BinaryKind::Min)?)
}

pub(super) fn max(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    one(variadic(cx, BinaryKind::Max)?)
}

pub(super) fn sum(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    one(variadic(cx, BinaryKind::Add)?)
}

pub(super) fn mean(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let total = variadic(cx, BinaryKind::Add)?;
    let count = cx.b.scalar(cx.b.dtype(total)?, cx.operands() as f64)?;
    one(cx.b.div(total, count)?)
}

pub(super) fn is_nan(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    one(cx.b.is_nan(x)?)
}

pub(super) fn is_inf(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let (negative, positive) = (cx.flag("detect_negative", true)?, cx.flag("detect_positive", true)?);
    let (lower, upper) = (f64::NEG_INFINITY, f64::INFINITY);
    if !cx.b.dtype(x)?.has_infinity() || !(negative || positive) {
        let nowhere = cx.b.scalar(DType::Bool, 0.0)?;
        let shape = cx.b.shape(x)?;
        return one(cx.b.broadcast_to(nowhere, shape)?);
    }
    let x = if negative && positive { cx.b.abs(x)? } else { x };
    let bound = cx.b.full_like(x, if positive { upper } else { lower })?;
    one(cx.b.compare(CompareKind::Eq, x, bound)?)
}

/// Elements near 0 become 0, the others come nearer to it.
pub(super) fn shrink(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (bias, bound) = (cx.float("bias", 0.0)?, cx.float("lambd", 0.5)?);
    let x = cx.value(0)?;
    let (low, high, zero) = (cx.b.full_like(x, -bound)?, cx.b.full_like(x, bound)?, cx.b.full_like(x, 0.0)?);
    let (below, above) = (cx.b.compare(CompareKind::Lt, x, low)?, cx.b.compare(CompareKind::Gt, x, high)?);
    let (up, down) = (cx.b.add_scalar(x, bias)?, cx.b.add_scalar(x, -bias)?);
    let rest = cx.b.select(above, down, zero)?;
    one(cx.b.select(below, up, rest)?)
}

/// Determinants of square matrices of a known, small size, by minors of the first row.
pub(super) fn det(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    const MAX_SIZE: usize = 6;
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let rank = shape.rank();
    let size = rank.checked_sub(2).and_then(|lead| {
        let n = shape[lead].as_const().filter(|n| shape[lead + 1].is(*n))?;
        usize::try_from(n).ok().filter(|n| (1..=MAX_SIZE).contains(n))
    });
    let Some(size) = size else {
        return Err(cx.unsupported(format!("`Det` of {shape}; square matrices of up to {MAX_SIZE} rows are")));
    };
    let lead: lawson_graph::Shape = shape.iter().take(rank - 2).cloned().collect();
    let mut rows: Vec<Vec<ValueId>> = Vec::with_capacity(size);
    for i in 0..size {
        let row = cx.b.slice_axis(x, rank - 2, i as i64, 1)?;
        let mut elements = Vec::with_capacity(size);
        for j in 0..size {
            let element = cx.b.slice_axis(row, rank - 1, j as i64, 1)?;
            elements.push(cx.b.reshape(element, lead.clone())?);
        }
        rows.push(elements);
    }
    let columns: Vec<usize> = (0..size).collect();
    one(minor(cx, &rows, &columns)?)
}

/// The determinant of the last rows, as many as there are columns.
fn minor(cx: &mut NodeCx<'_, '_>, rows: &[Vec<ValueId>], columns: &[usize]) -> Result<ValueId> {
    let row = &rows[rows.len() - columns.len()];
    if let [only] = columns {
        return Ok(row[*only]);
    }
    let mut total: Option<ValueId> = None;
    for (i, column) in columns.iter().enumerate() {
        let rest: Vec<usize> = columns.iter().copied().filter(|c| c != column).collect();
        let inner = minor(cx, rows, &rest)?;
        let part = cx.b.mul(row[*column], inner)?;
        total = Some(match total {
            None => part,
            Some(t) if i % 2 == 1 => cx.b.sub(t, part)?,
            Some(t) => cx.b.add(t, part)?,
        });
    }
    total.ok_or_else(|| cx.wrong("a determinant of nothing"))
}
