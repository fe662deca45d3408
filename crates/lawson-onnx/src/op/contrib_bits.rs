//! Weights of few bits, as quantisers of `com.microsoft` write them: blocks of a row with a scale each, in products and in tables of rows.

use super::{gather, one};
use crate::item::Item;
use crate::node::NodeCx;
use lawson_graph::op::BinaryKind;
use lawson_graph::{DType, Dequantise, Dim, HostTensor, Linear, Result, Shape, ValueId, WeightLayout};

/// Bytes of a tensor whose last axis has elements of few bits, the lowest first, as one element each.
fn unpacked(cx: &mut NodeCx<'_, '_>, x: ValueId, bits: i64) -> Result<ValueId> {
    let shape = cx.b.shape(x)?;
    let (each, mask) = (8 / bits, (1i64 << bits) - 1);
    let mut parts = Vec::with_capacity(each as usize);
    let column = shape.iter().cloned().chain([Dim::ONE]).collect::<Shape>();
    for i in 0..each {
        let (shift, mask) =
            (cx.b.scalar(DType::U8, (i * bits) as f64)?, cx.b.scalar(DType::U8, mask as f64)?);
        let high = cx.b.binary(BinaryKind::Shr, x, shift)?;
        let low = cx.b.and(high, mask)?;
        parts.push(cx.b.reshape(low, column.clone())?);
    }
    let joined = cx.b.concat(&parts, shape.rank())?;
    let mut dims = shape.to_vec();
    if let Some(last) = dims.last_mut() {
        *last = last.clone() * each;
    }
    cx.b.reshape(joined, Shape::from(dims))
}

/// A product with weights of 2, 4 or 8 bits, a scale and a zero point for each block of a row: `[rows, blocks, bytes]`.
pub(super) fn matmul_nbits(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("accuracy_level");
    let attribute = |name| cx.int(name)?.ok_or_else(|| cx.wrong(format!("`MatMulNBits` has no `{name}`")));
    let (depth, rows, block) = (attribute("K")?, attribute("N")?, attribute("block_size")?);
    let bits = cx.int("bits")?.unwrap_or(4);
    let sane = |n: i64| (1..=1 << 31).contains(&n);
    if !matches!(bits, 2 | 4 | 8) || !sane(block) || !sane(depth) || !sane(rows) {
        return Err(cx.unsupported(format!("`MatMulNBits` of {bits} bits in blocks of {block}")));
    }
    let (x, packed, scales) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    let dtype = cx.b.dtype(x)?;
    let blocks = (depth + block - 1) / block;
    let narrow = match bits {
        2 => DType::U2,
        4 => DType::U4,
        _ => DType::U8,
    };
    let width = blocks * block;
    let item = cx.item(1)?;
    // Constants lie as Lawson's narrow integers do.
    let weights = match item.constant().filter(|_| width * bits % 8 == 0) {
        Some(t) => {
            let sizes = [rows as usize, width as usize];
            let t = HostTensor::from_bytes(narrow, &sizes, t.bytes().clone())
                .map_err(|e| cx.wrong(format!("the weights of `MatMulNBits`: {}", e.message())))?;
            cx.b.constant(t)?
        }
        None => {
            let flat = cx.b.reshape(packed, [rows, width * bits / 8])?;
            unpacked(cx, flat, bits)?
        }
    };
    let scales = cx.b.reshape(scales, [rows, blocks])?;
    let zero = cx.optional(3)?;
    let is_float = match zero {
        Some(zero) => cx.b.dtype(zero)?.is_float(),
        None => false,
    };
    let groups = cx.optional(4)?;
    if is_float || groups.is_some() {
        // In floats: what Lawson's composites have no form for.
        let own = cx.b.dtype(scales)?;
        let middle = match zero {
            Some(zero) if is_float => cx.b.reshape(zero, [rows, blocks])?,
            Some(zero) => {
                let zero = few_bits(cx, zero, bits, rows, blocks)?;
                cx.b.cast(zero, own)?
            }
            None => {
                let middle = cx.b.scalar(own, (1i64 << (bits - 1)) as f64)?;
                cx.b.broadcast_to(middle, [rows, blocks])?
            }
        };
        let at = match groups {
            Some(groups) => cx.b.reshape(groups, [depth])?,
            None => {
                let at = cx.b.iota(DType::I64, [depth], 0)?;
                let block = cx.b.scalar(DType::I64, block as f64)?;
                cx.b.div(at, block)?
            }
        };
        let (scales, middle) = (cx.b.take(scales, at, 1)?, cx.b.take(middle, at, 1)?);
        let w = cx.b.cast(weights, own)?;
        let w = cx.b.slice_axis(w, 1, 0, depth)?;
        let w = cx.b.sub(w, middle)?;
        let w = cx.b.mul(w, scales)?;
        return product(cx, x, w, dtype);
    }
    let zero = match zero {
        Some(zero) => {
            let zero = few_bits(cx, zero, bits, rows, blocks)?;
            let own = cx.b.dtype(weights)?;
            cx.b.cast(zero, own)?
        }
        None => {
            let own = cx.b.dtype(weights)?;
            let middle = cx.b.constant(HostTensor::from_ints(own, &[], &[1 << (bits - 1)])?)?;
            cx.b.broadcast_to(middle, [rows, blocks])?
        }
    };
    let w = cx.b.composite(Dequantise { axis: Some(1), block: Some(block) }, &[weights, scales, zero])?;
    let w = if width == depth { w } else { cx.b.slice_axis(w, 1, 0, depth)? };
    product(cx, x, w, dtype)
}

/// `x·wᵀ`, and a bias if operand 5 is one.
fn product(cx: &mut NodeCx<'_, '_>, x: ValueId, w: ValueId, dtype: DType) -> Result<Vec<Item>> {
    let w = cx.b.cast(w, dtype)?;
    let operands: Vec<ValueId> = [x, w].into_iter().chain(cx.optional(5)?).collect();
    one(cx.b.composite(Linear { layout: WeightLayout::OutIn }, &operands)?)
}

/// Rows of packed integers, each `count` of them, as one u8 each.
fn few_bits(cx: &mut NodeCx<'_, '_>, x: ValueId, bits: i64, rows: i64, count: i64) -> Result<ValueId> {
    if cx.b.dtype(x)? != DType::U8 {
        let dtype = cx.b.dtype(x)?;
        return Err(cx.wrong(format!("the zero points of `{}` are {dtype}; they are u8, or floats", cx.op())));
    }
    let x = cx.b.reshape(x, [rows, (count * bits + 7) / 8])?;
    let x = if bits == 8 { x } else { unpacked(cx, x, bits)? };
    cx.b.slice_axis(x, 1, 0, count)
}

/// Rows of a table that is quantised in blocks along another axis. An index outside gives zeros.
pub(super) fn gather_block_quantised(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (mut x, scales, mut zero) = (cx.value(0)?, cx.value(2)?, cx.optional(3)?);
    let (dtype, rank) = (cx.b.dtype(x)?, cx.b.tensor_type(x)?.rank());
    let bits = cx.int("bits")?.unwrap_or(4);
    let block = cx.int("block_size")?.unwrap_or(128);
    let rows = cx.axis(cx.int("gather_axis")?.unwrap_or(0), rank)?;
    let along = cx.axis(cx.int("quantize_axis")?.unwrap_or(1), rank)?;
    if dtype == DType::U8 && !matches!(bits, 2 | 4 | 8) {
        return Err(cx.wrong(format!("`GatherBlockQuantized` of {bits} bits; there are 2, 4 and 8")));
    }
    if rows == along {
        return Err(cx.unsupported("`GatherBlockQuantized` along the axis that is quantised"));
    }
    if block < 1 {
        return Err(cx.unsupported(format!("`GatherBlockQuantized` with blocks of {block}")));
    }
    let size = cx.b.shape(x)?[rows].clone();
    let wide = match dtype {
        DType::I4 | DType::I2 => DType::I8,
        DType::U4 | DType::U2 => DType::U8,
        other => other,
    };
    for v in [Some(&mut x), zero.as_mut()].into_iter().flatten() {
        *v = if dtype == DType::U8 && bits < 8 { unpacked(cx, *v, bits)? } else { cx.b.cast(*v, wide)? };
    }
    let given = cx.value(1)?;
    let places = cx.b.shape(given)?;
    let at = gather::indices(cx, 1, std::slice::from_ref(&size))?;
    let (q, s) = (cx.b.take(x, at, rows)?, cx.b.take(scales, at, rows)?);
    let along = if along > rows { along + places.rank() - 1 } else { along };
    let blocks = cx.b.shape(s)?[along].clone();
    let zero = match zero {
        // Packed ones end with what fills the last byte.
        Some(zero) => {
            let zero = cx.b.take(zero, at, rows)?;
            Some(cx.b.slice_axis(zero, along, 0, blocks)?)
        }
        None if dtype == DType::U8 => {
            let middle = cx.b.constant(HostTensor::from_ints(wide, &[], &[1 << (bits - 1)])?)?;
            let shape = cx.b.shape(s)?;
            Some(cx.b.broadcast_to(middle, shape)?)
        }
        None => None,
    };
    let operands: Vec<ValueId> = [q, s].into_iter().chain(zero).collect();
    let y = cx.b.composite(Dequantise { axis: Some(along), block: Some(block) }, &operands)?;
    if cx.item(1)?.constant().is_some() {
        return one(y);
    }
    // The gather clamps.
    let inside = gather::inside(cx, at, &size)?;
    let shape = cx.b.shape(y)?;
    let axes: Vec<usize> = (rows..rows + places.rank()).collect();
    let inside = cx.b.broadcast_in(inside, shape, &axes)?;
    let own = cx.b.dtype(y)?;
    let nothing = cx.b.scalar(own, 0.0)?;
    one(cx.b.select(inside, y, nothing)?)
}

/// What the sixteen codes of bitsandbytes mean: 4-bit floats, and the quantiles of a normal distribution.
const FP4: [f64; 16] = [
    0.0,
    5.208333333e-3,
    0.66666667,
    1.0,
    0.33333333,
    0.5,
    0.16666667,
    0.25,
    -0.0,
    -5.208333333e-3,
    -0.66666667,
    -1.0,
    -0.33333333,
    -0.5,
    -0.16666667,
    -0.25,
];
const NF4: [f64; 16] = [
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
];

/// A product with a matrix of codes, two a byte and the high one first, with a scale for each block of the flat matrix.
pub(super) fn matmul_codes(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    cx.ignore("training_mode");
    let attribute = |name| cx.int(name)?.ok_or_else(|| cx.wrong(format!("`MatMulBnb4` has no `{name}`")));
    let (depth, rows, block, kind) =
        (attribute("K")?, attribute("N")?, attribute("block_size")?, attribute("quant_type")?);
    let transposed = cx.flag("transB", true)?;
    let sane = |n: i64| (1..=1 << 31).contains(&n);
    let table = match kind {
        0 => FP4,
        1 => NF4,
        _ => return Err(cx.wrong(format!("`quant_type` of `MatMulBnb4` is {kind}; there are 0 and 1"))),
    };
    let count = depth.checked_mul(rows).filter(|_| sane(depth) && sane(rows) && sane(block));
    let Some(count) = count else {
        return Err(cx.wrong(format!("`MatMulBnb4` of {rows} times {depth} in blocks of {block}")));
    };
    let (x, packed, scales) = (cx.value(0)?, cx.value(1)?, cx.value(2)?);
    let dtype = cx.b.dtype(x)?;
    let packed = cx.b.reshape(packed, [(count + 1) / 2])?;
    let (four, mask) = (cx.b.scalar(DType::U8, 4.0)?, cx.b.scalar(DType::U8, 15.0)?);
    let high = cx.b.binary(BinaryKind::Shr, packed, four)?;
    let low = cx.b.and(packed, mask)?;
    let column = [(count + 1) / 2, 1];
    let (high, low) = (cx.b.reshape(high, column)?, cx.b.reshape(low, column)?);
    let codes = cx.b.concat(&[high, low], 1)?;
    let codes = cx.b.reshape(codes, [(count + 1) / 2 * 2])?;
    let codes = cx.b.slice_axis(codes, 0, 0, count)?;
    let codes = cx.b.cast(codes, DType::I32)?;
    let own = cx.b.dtype(scales)?;
    let table = cx.b.constant(HostTensor::from_floats(own, &[16], &table)?)?;
    let w = cx.b.take(table, codes, 0)?;
    let blocks = (count + block - 1) / block;
    let scales = cx.b.reshape(scales, [blocks, 1])?;
    let scales = cx.b.broadcast_to(scales, [blocks, block])?;
    let scales = cx.b.reshape(scales, [blocks * block])?;
    let scales = cx.b.slice_axis(scales, 0, 0, count)?;
    let w = cx.b.mul(w, scales)?;
    let w = cx.b.reshape(w, [rows, depth])?;
    let w = cx.b.cast(w, dtype)?;
    one(if transposed {
        cx.b.composite(Linear { layout: WeightLayout::OutIn }, &[x, w])?
    } else {
        cx.b.matmul(x, w)?
    })
}
