//! Fourier transforms as products with constant matrices, and the windows and filters that go with them.
//!
//! Sums of a transform cancel; they are kept in f64.

use super::one;
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::Contract;
use lawson_graph::{Builder, DType, Dim, HostTensor, Op, Result, Shape, ValueId, op};
use std::f64::consts::TAU;

/// The longest transform that is written down as a matrix.
const MAX_LENGTH: i64 = 4096;

/// What a transform does.
#[derive(Clone, Copy)]
struct Transform {
    length: i64,
    inverse: bool,
    onesided: bool,
}

/// Elements `[from…]` by a matrix `[from, to]` of `f(row, column)`.
fn matrix(b: &mut Builder<'static>, rows: i64, columns: i64, f: impl Fn(i64, i64) -> f64) -> Result<ValueId> {
    let at = |i: i64| f(i / columns, i % columns);
    let elements: Vec<f64> = (0..rows * columns).map(at).collect();
    b.constant(HostTensor::from_floats(DType::F64, &[rows as usize, columns as usize], &elements)?)
}

/// `x` has its real and imaginary parts, or its real part alone, along the last axis; the transform goes along another.
fn transformed(b: &mut Builder<'static>, x: ValueId, axis: usize, t: Transform) -> Result<ValueId> {
    let dtype = b.dtype(x)?;
    let rank = b.tensor_type(x)?.rank();
    let length = t.length;
    // What a one-sided spectrum leaves out is the mirror image of what it has.
    let given = if t.inverse && t.onesided { length / 2 + 1 } else { length };
    let wanted = if !t.inverse && t.onesided { length / 2 + 1 } else { length };
    let x = fitted(b, x, axis, given)?;
    let x = b.cast(x, DType::F64)?;
    let is_complex = b.shape(x)?[rank - 1].is(2);
    let sign = if t.inverse { 1.0 } else { -1.0 };
    let norm = if t.inverse { 1.0 / length as f64 } else { 1.0 };
    let mirrored = |row: i64| {
        let is_own = !(t.inverse && t.onesided) || row == 0 || 2 * row == length;
        if is_own { norm } else { 2.0 * norm }
    };
    // The product of row and column, within one turn, so that the angle is exact.
    let angle = |r: i64, c: i64| TAU * ((r * c) % length) as f64 / length as f64;
    let cos = matrix(b, given, wanted, |r, c| mirrored(r) * angle(r, c).cos())?;
    let sin = matrix(b, given, wanted, |r, c| sign * mirrored(r) * angle(r, c).sin())?;
    let part = |b: &mut Builder<'static>, i: i64| {
        let p = b.slice_axis(x, rank - 1, i, 1)?;
        let dims = b.shape(p)?.iter().take(rank - 1).cloned().collect::<Shape>();
        b.reshape(p, dims)
    };
    let by = |b: &mut Builder<'static>, p: ValueId, m: ValueId| {
        let contract = Contract { batch: Vec::new(), sum: vec![(axis, 0)], out: None };
        let y = b.op1(Op::Contract(contract), &[p, m])?;
        // The new axis is the last; it belongs where the old one was.
        let mut perm: Vec<usize> = (0..rank - 2).collect();
        perm.insert(axis, rank - 2);
        b.transpose(y, &perm)
    };
    let real = part(b, 0)?;
    let (mut re, mut im) = (by(b, real, cos)?, by(b, real, sin)?);
    if is_complex {
        let imaginary = part(b, 1)?;
        let (a, c) = (by(b, imaginary, sin)?, by(b, imaginary, cos)?);
        (re, im) = (b.sub(re, a)?, b.add(im, c)?);
    }
    let column = b.shape(re)?.iter().cloned().chain([Dim::ONE]).collect::<Shape>();
    let re = b.reshape(re, column.clone())?;
    let y = if t.inverse && t.onesided {
        re
    } else {
        let im = b.reshape(im, column)?;
        b.concat(&[re, im], rank - 1)?
    };
    b.cast(y, dtype)
}

/// The axis cut or padded with zeros to a length.
fn fitted(b: &mut Builder<'static>, x: ValueId, axis: usize, length: i64) -> Result<ValueId> {
    let shape = b.shape(x)?;
    let Some(have) = shape[axis].as_const() else { return Ok(x) };
    if have >= length {
        return if have == length { Ok(x) } else { b.slice_axis(x, axis, 0, length) };
    }
    let zero = b.constant(HostTensor::zeros(b.dtype(x)?, &[])?)?;
    let (low, mut high) = (vec![Dim::ZERO; shape.rank()], vec![Dim::ZERO; shape.rank()]);
    high[axis] = Dim::from(length - have);
    b.op1(Op::Pad(op::Pad { low, high, interior: vec![0; shape.rank()] }), &[x, zero])
}

fn single(cx: &NodeCx<'_, '_>, i: usize, what: &str) -> Result<i64> {
    match cx.ints_of(i, what)?.as_slice() {
        [n] => Ok(*n),
        other => Err(cx.wrong(format!("one {what} was expected, {} came", other.len()))),
    }
}

/// The axis is an attribute, 1 if unsaid, until version 19; then an operand, the one before the last if unsaid.
pub(super) fn dft(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let x = cx.value(0)?;
    let shape = cx.b.shape(x)?;
    let axis = match cx.version {
        ..20 => cx.int("axis")?.unwrap_or(1),
        _ if cx.has(2) => single(cx, 2, "axis")?,
        _ => -2,
    };
    let axis = cx.axis(axis, shape.rank())?;
    if axis + 1 >= shape.rank() {
        return Err(cx.wrong("`DFT` along the axis of real and imaginary parts"));
    }
    let (inverse, onesided) = (cx.flag("inverse", false)?, cx.flag("onesided", false)?);
    let length = match (cx.has(1), shape[axis].as_const()) {
        (true, _) => single(cx, 1, "length")?,
        (false, Some(n)) if inverse && onesided => (n - 1).saturating_mul(2),
        (false, Some(n)) => n,
        (false, None) => return Err(cx.unsupported(format!("`DFT` along an axis of {}", shape[axis]))),
    };
    if !(1..=MAX_LENGTH).contains(&length) {
        return Err(cx.unsupported(format!("`DFT` of length {length}; at most {MAX_LENGTH} is")));
    }
    one(transformed(cx.b, x, axis, Transform { length, inverse, onesided })?)
}

/// Frames of a signal `[batch, time, 1 or 2]`, each under a window, transformed.
pub(super) fn stft(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let mut x = cx.value(0)?;
    if let [batch, time] = &cx.b.shape(x)?[..] {
        // PyTorch leaves out the axis that says that numbers are real.
        x = cx.b.reshape(x, [batch.clone(), time.clone(), Dim::ONE])?;
    }
    let shape = cx.b.shape(x)?;
    let step = single(cx, 1, "frame step")?;
    let window = cx.optional(2)?;
    if let Some(w) = window.filter(|w| cx.b.tensor_type(*w).is_ok_and(|t| t.rank() != 1)) {
        return Err(cx.wrong(format!("`STFT` with a window of {}", cx.b.shape(w)?)));
    }
    let window_size = window.map(|w| cx.b.shape(w)).transpose()?.and_then(|s| s.elements().as_const());
    let time = shape.get(1).cloned().unwrap_or(Dim::ZERO);
    let length =
        if cx.has(3) { Some(single(cx, 3, "frame length")?) } else { window_size.or(time.as_const()) };
    let (Some(length), 3) = (length, shape.rank()) else {
        return Err(cx.unsupported(format!("`STFT` of {shape}")));
    };
    let long_enough = cx.assume_at_least(&time, &Dim::from(length));
    if !(1..=MAX_LENGTH).contains(&length) || step < 1 || !long_enough {
        return Err(cx.wrong(format!("`STFT` of {time} elements in frames of {length}, {step} apart")));
    }
    let onesided = cx.flag("onesided", true)?;
    let frames = cx.b.facts().simplify(&((time - length).floor_div(&Dim::from(step)) + 1));
    let at = match frames.as_const() {
        Some(frames) => {
            let starts: Vec<i64> = (0..frames).flat_map(|f| (0..length).map(move |i| f * step + i)).collect();
            cx.b.constant(HostTensor::from_slice(&[frames as usize, length as usize], &starts)?)?
        }
        None => {
            let frame = cx.b.iota(DType::I64, [frames.clone(), Dim::from(length)], 0)?;
            let step = cx.b.constant(HostTensor::scalar(step))?;
            let start = cx.b.mul(frame, step)?;
            let inside = cx.b.iota(DType::I64, [frames, Dim::from(length)], 1)?;
            cx.b.add(start, inside)?
        }
    };
    let mut cut = cx.b.take(x, at, 1)?;
    if let Some(window) = window {
        let whole = cx.b.shape(cut)?;
        let window = fitted(cx.b, window, 0, length)?;
        let window = cx.b.broadcast_in(window, whole, &[2])?;
        cut = cx.b.mul(cut, window)?;
    }
    one(transformed(cx.b, cut, 2, Transform { length, inverse: false, onesided })?)
}

/// A sum of cosines of one turn and its multiples, over so many elements.
fn window(cx: &mut NodeCx<'_, '_>, terms: &[f64]) -> Result<Vec<Item>> {
    let size = single(cx, 0, "size")?;
    let dtype = cx.dtype("output_datatype")?.unwrap_or(DType::F32);
    let periodic = cx.flag("periodic", true)?;
    if !(0..=1 << 24).contains(&size) {
        return Err(cx.wrong(format!("`{}` of {size} elements", cx.op())));
    }
    let turn = if periodic { size } else { size - 1 } as f64;
    let element = |i: i64| {
        let angle = if turn == 0.0 { 0.0 } else { TAU * i as f64 / turn };
        let term = |(k, a): (usize, &f64)| a * (k as f64 * angle).cos();
        terms.iter().enumerate().map(term).sum::<f64>()
    };
    let elements: Vec<f64> = (0..size).map(element).collect();
    Ok(vec![Item::Constant(HostTensor::from_floats(dtype, &[elements.len()], &elements)?)])
}

pub(super) fn hann(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    window(cx, &[0.5, -0.5])
}

pub(super) fn hamming(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    window(cx, &[25.0 / 46.0, -21.0 / 46.0])
}

pub(super) fn blackman(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    window(cx, &[0.42, -0.5, 0.08])
}

/// Triangles over the bins of a spectrum, their corners evenly spread on the mel scale.
pub(super) fn mel_weights(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (mels, length, rate) = (single(cx, 0, "number")?, single(cx, 1, "length")?, single(cx, 2, "rate")?);
    let edge = |i| cx.constant_of(i, "edge").map(|t| if t.is_empty() { 0.0 } else { t.float_at(0) });
    let (lower, upper) = (edge(3)?, edge(4)?);
    let dtype = cx.dtype("output_datatype")?.unwrap_or(DType::F32);
    let bins = length / 2 + 1;
    if mels < 0 || length < 1 || rate < 1 || mels.saturating_mul(bins) > 1 << 24 {
        return Err(
            cx.wrong(format!("`MelWeightMatrix` of {mels} bands over {length} elements at {rate} Hz"))
        );
    }
    let mel = |hertz: f64| 2595.0 * (hertz / 700.0).ln_1p() / std::f64::consts::LN_10;
    let (low, high) = (mel(lower), mel(upper));
    let step = (high - low) / (mels + 2) as f64;
    let corner = |i: i64| {
        let hertz = 700.0 * ((low + step * i as f64) / 2595.0 * std::f64::consts::LN_10).exp_m1();
        ((length + 1) as f64 * hertz / rate as f64).floor() as i64
    };
    let mut weights = vec![0.0; (bins * mels) as usize];
    for band in 0..mels {
        let (left, center, right) = (corner(band), corner(band + 1), corner(band + 2));
        let mut put = |bin: i64, weight: f64| {
            if (0..bins).contains(&bin) {
                weights[(bin * mels + band) as usize] = weight;
            }
        };
        match center - left {
            0 => put(center, 1.0),
            rise => (left..=center).for_each(|bin| put(bin, (bin - left) as f64 / rise as f64)),
        }
        let fall = (right - center) as f64;
        (center..right).for_each(|bin| put(bin, (right - bin) as f64 / fall));
    }
    let sizes = [bins as usize, mels as usize];
    Ok(vec![Item::Constant(HostTensor::from_floats(dtype, &sizes, &weights)?)])
}
