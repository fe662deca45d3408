//! Products of quantised integers: zero points move out of sums, so that factors are bytes, of which machines multiply four at a time.
//!
//! Integers wrap, so that sums and products of them distribute exactly, whatever their size.

use crate::rewrite::{Rewriter, one};
use crate::rule::{Exact, Rule};
use lawson_graph::op::{BinaryKind, Broadcast, Contract, Convolve, Family, Monoid, Op, Pad};
use lawson_graph::{DType, Dim, HostTensor, Keep, Node, Result, ValueId};

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "zero-point-out-of-contract",
        identity: "contract(x - z, w) = contract(x, w) - z * sum(w) for integers and one number z",
        exact: Exact::Bits,
        roots: &[Family::Contract],
        apply: out_of_contract,
        instance: |i| {
            let (m, k, n) = (i.size(), i.size() + 1, i.size());
            let (bytes, zero) =
                (if i.rng.below(2) == 0 { DType::U8 } else { DType::I8 }, i.rng.between(-8, 9));
            let x = i.input(bytes, [m, k])?;
            let w = i.constant(DType::I8, &[k as usize, n as usize])?;
            let (x, w) = (i.b.cast(x, DType::I32)?, i.b.cast(w, DType::I32)?);
            let z = i.splat(DType::I32, zero as f64, [m, k])?;
            let x = i.b.sub(x, z)?;
            i.b.matmul(x, w)
        },
    },
    Rule {
        name: "zero-point-out-of-convolve",
        identity: "convolve(x - z, w) = convolve(pad<z>(x), w) - z * sum(w) for bytes x and one byte z",
        exact: Exact::Bits,
        roots: &[Family::Convolve],
        apply: out_of_convolve,
        instance: |i| {
            let (n, c, o, h) = (i.size().min(2), i.size().min(3), i.size().min(3), i.size() + 2);
            let (bytes, zero) =
                (if i.rng.below(2) == 0 { DType::U8 } else { DType::I8 }, i.rng.between(0, 9));
            let x = i.input(bytes, [n, c, h, 4])?;
            let w = i.constant(DType::I8, &[o as usize, c as usize, 2, 3])?;
            let (x, w) = (i.b.cast(x, DType::I32)?, i.b.cast(w, DType::I32)?);
            let z = i.splat(DType::I32, zero as f64, [n, c, h, 4])?;
            let x = i.b.sub(x, z)?;
            let op = Convolve {
                low: vec![Dim::from(i.rng.between(0, 2)), Dim::from(1)],
                high: vec![Dim::from(1), Dim::from(i.rng.between(0, 2))],
                ..Convolve::plain(2)
            };
            i.b.op1(Op::Convolve(op), &[x, w])
        },
    },
    Rule {
        name: "weights-as-bytes",
        identity: "a factor of bytes times integers that are known and fit in bytes = times those bytes",
        exact: Exact::Bits,
        roots: &[Family::Contract, Family::Convolve],
        apply: as_bytes,
        instance: |i| {
            let (m, k, n) = (i.size(), i.size() + 1, i.size() + 1);
            let x = i.input(DType::U8, [m, k])?;
            let x = i.b.cast(x, DType::I32)?;
            let values: Vec<i128> = (0..k * n).map(|_| i128::from(i.rng.between(-128, 128))).collect();
            let w = i.b.constant(HostTensor::from_ints(DType::I32, &[k as usize, n as usize], &values)?)?;
            i.b.matmul(x, w)
        },
    },
];

fn is_byte(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::U8)
}

/// The bytes that were made i32.
fn bytes_of(rw: &Rewriter<'_>, v: ValueId) -> Option<ValueId> {
    let (Op::Cast(cast), x) = rw.def1(v)? else { return None };
    (cast.to == DType::I32 && is_byte(rw.tensor(x)?.dtype)).then_some(x)
}

/// What is one number in all places.
fn number_of(rw: &Rewriter<'_>, v: ValueId) -> Option<ValueId> {
    let (Op::Broadcast(Broadcast { axes, .. }), z) = rw.def1(v)? else { return None };
    (axes.is_empty() && rw.shape_of(z)?.rank() == 0).then_some(z)
}

/// `x` and `z` of bytes without their zero point: `cast(x) - z`, `x` made i32.
fn centred(rw: &mut Rewriter<'_>, v: ValueId) -> Result<Option<(ValueId, ValueId)>> {
    let Some(node) = rw.def(v) else { return Ok(None) };
    if node.op != Op::Binary(BinaryKind::Sub) {
        return Ok(None);
    }
    let [x, z] = [node.inputs[0], node.inputs[1]].map(|v| rw.resolve(v));
    if bytes_of(rw, x).is_none() {
        return Ok(None);
    }
    if let Some(z) = number_of(rw, z) {
        return Ok(Some((x, z)));
    }
    let splat = rw.splat(z).map(|t| t.int_at(0));
    match splat {
        Some(value) => {
            let z = rw.constant(HostTensor::from_ints(DType::I32, &[], &[value])?)?;
            Ok(Some((x, z)))
        }
        None => Ok(None),
    }
}

/// Whether a factor is known when compiling, so that sums over it are, too.
fn is_known(rw: &Rewriter<'_>, w: ValueId) -> bool {
    let is_constant = |v: ValueId| rw.constant_of(v).is_some();
    is_constant(w) || bytes_of(rw, w).is_some_and(is_constant)
}

fn out_of_contract(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Contract(op @ Contract { out: None, .. }) = &node.op else { return Ok(None) };
    let [v, w] = [node.inputs[0], node.inputs[1]];
    if !is_known(rw, w) {
        return Ok(None);
    }
    let Some((x, z)) = centred(rw, v)? else { return Ok(None) };
    let (Some(left), Some(right), Some(y)) =
        (rw.shape_of(x).cloned(), rw.shape_of(w).cloned(), rw.ty(node.outputs[0]).as_tensor().cloned())
    else {
        return Ok(None);
    };
    let sums = rw.op1(Op::Contract(op.clone()), &[x, w])?;
    let axes: Vec<usize> = op.sum.iter().map(|(_, r)| *r).collect();
    let of_w = rw.reduce(Monoid::Sum, w, &axes, Keep::No)?;
    // What is left of `w`: batch axes and its own, as they stand there.
    let (free_l, free_r) = op.free_axes(left.rank(), right.rank());
    let rest = (0..right.rank()).filter(|a| !axes.contains(a));
    let place = |a: usize| match op.batch.iter().position(|(_, r)| *r == a) {
        Some(batch) => batch,
        None => op.batch.len() + free_l.len() + free_r.iter().position(|f| *f == a).unwrap_or(0),
    };
    let places: Vec<usize> = rest.map(place).collect();
    if !places.is_sorted() {
        return Ok(None);
    }
    let less = times(rw, z, of_w)?;
    let less = rw.broadcast_in(less, y.shape, &places)?;
    one(rw.sub(sums, less)?)
}

/// A number times every element.
fn times(rw: &mut Rewriter<'_>, z: ValueId, x: ValueId) -> Result<ValueId> {
    let Some(shape) = rw.shape_of(x).cloned() else { return rw.mul(z, x) };
    let z = rw.broadcast_in(z, shape, &[])?;
    rw.mul(z, x)
}

fn out_of_convolve(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Convolve(op @ Convolve { out: None, batch_groups: 1, .. }) = &node.op else { return Ok(None) };
    let [v, w] = [node.inputs[0], node.inputs[1]];
    if !is_known(rw, w) || op.input_dilation.iter().any(|d| *d != 1) {
        return Ok(None);
    }
    let Some((x, z)) = centred(rw, v)? else { return Ok(None) };
    let (Some(bytes), Some(rank), Some(y)) =
        (bytes_of(rw, x), rw.shape_of(w).map(|s| s.rank()), rw.ty(node.outputs[0]).as_tensor().cloned())
    else {
        return Ok(None);
    };
    let Some(dtype) = rw.tensor(bytes).map(|t| t.dtype) else { return Ok(None) };
    let mut plain = op.clone();
    let mut padded = bytes;
    if op.low.iter().chain(&op.high).any(|d| !d.is(0)) {
        // The border is the zero point, as a byte.
        let byte = match bytes_of(rw, z).filter(|b| rw.tensor(*b).is_some_and(|t| t.dtype == dtype)) {
            Some(byte) => byte,
            None => {
                let value = rw.constant_of(z).filter(|t| t.len() == 1).map(|t| t.int_at(0));
                let (least, most) = dtype.int_range().unwrap_or((0, 0));
                let fits = |v: &i128| (least..=most).contains(v);
                let Some(value) = value.filter(fits) else { return Ok(None) };
                rw.constant(HostTensor::from_ints(dtype, &[], &[value])?)?
            }
        };
        let with = |sides: &[Dim]| [Dim::ZERO, Dim::ZERO].into_iter().chain(sides.iter().cloned()).collect();
        let pad = Pad { low: with(&op.low), high: with(&op.high), interior: vec![0; rank] };
        padded = rw.op1(Op::Pad(pad), &[bytes, byte])?;
        plain.low.iter_mut().chain(&mut plain.high).for_each(|d| *d = Dim::ZERO);
    }
    let x = rw.cast(padded, DType::I32)?;
    let sums = rw.op1(Op::Convolve(plain), &[x, w])?;
    let axes: Vec<usize> = (1..rank).collect();
    let of_w = rw.reduce(Monoid::Sum, w, &axes, Keep::No)?;
    let less = times(rw, z, of_w)?;
    let less = rw.broadcast_in(less, y.shape, &[1])?;
    one(rw.sub(sums, less)?)
}

fn as_bytes(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let is_plain = match &node.op {
        Op::Contract(op) => op.out.is_none(),
        Op::Convolve(op) => op.out.is_none(),
        _ => false,
    };
    let [x, w] = [node.inputs[0], node.inputs[1]];
    if !is_plain || bytes_of(rw, x).is_none() {
        return Ok(None);
    }
    let narrow = match rw.constant_of(w) {
        Some(t) if t.dtype() == DType::I32 && !t.is_splat() => {
            let values: Vec<i32> = t.to_vec()?;
            let (least, most) = values.iter().fold((0, 0), |(a, b), v| (a.min(*v), b.max(*v)));
            let sizes = t.sizes().to_vec();
            match (least, most) {
                (-128.., ..=127) => {
                    let bytes: Vec<i8> = values.into_iter().map(|v| v as i8).collect();
                    HostTensor::from_slice(&sizes, &bytes)?
                }
                (0.., ..=255) => {
                    let bytes: Vec<u8> = values.into_iter().map(|v| v as u8).collect();
                    HostTensor::from_slice(&sizes, &bytes)?
                }
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    let bytes = rw.constant(narrow)?;
    let w = rw.cast(bytes, DType::I32)?;
    one(rw.op1(node.op.clone(), &[x, w])?)
}
