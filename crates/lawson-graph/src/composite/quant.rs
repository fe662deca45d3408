//! Quantise and dequantise: between floats and narrow numbers with a scale.
//!
//! A quantised tensor is an ordinary tensor of a narrow dtype. Scale and zero point come in one of three shapes: a
//! scalar, for the whole tensor; a vector along `axis`; or, with `block`, the shape of x but with
//! `ceil(size / block)` along `axis`, one entry for each block of neighbours there.

use super::{CompositeDef, example};
use crate::attributes;
use crate::builder::Builder;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::error::{Code, Result};
use crate::graph::{Graph, ValueId};
use crate::op::{Accept, BinaryKind, Infer};
use crate::types::{Shape, Type};

attributes! {
    /// `quantise(x, scale)`, `(x, scale, zero_point)`. To an integer: `round(x / scale) + zero_point`, ties to even,
    /// saturated; NaN becomes 0. To an 8-bit float: `x / scale`, saturated to the finite range and rounded; NaN
    /// stays, and there is no zero point.
    ///
    /// x is a float; scale a float that the dtype in which x is computed (f32 for narrower ones) can hold; the zero
    /// point has the dtype of the result and the shape of the scale.
    ///
    /// Decomposition: `div`, `round`, `add` (for i32 in f64, so that the sum is exact), and `cast`, which saturates by
    /// itself.
    pub struct Quantise {
        /// The dtype of the result: u4, i4, u8, i8, u16, i16, i32 or an 8-bit float.
        pub to: DType,
        /// Along which axis scales differ; with none, the scale is a scalar.
        pub axis: Option<usize> = None,
        /// How many neighbours along `axis` share a scale, if scales are blocked.
        pub block: Option<i64> = None,
    }
}

attributes! {
    /// `dequantise(x, scale)`, `(x, scale, zero_point)`: `(x - zero_point) · scale`, in the dtype of the scale.
    ///
    /// x is of a dtype that `quantise` gives; the zero point, for integers only, has the dtype of x and the shape of
    /// the scale. The difference is exact; narrower scales than f32 are multiplied in f32, and rounded once.
    ///
    /// Decomposition: `cast` to a wider integer, `sub`, `cast` to the float, `mul`.
    pub struct Dequantise {
        /// Along which axis scales differ; with none, the scale is a scalar.
        pub axis: Option<usize> = None,
        /// How many neighbours along `axis` share a scale, if scales are blocked.
        pub block: Option<i64> = None,
    }
}

fn is_quantised(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::U2
            | DType::I2
            | DType::U4
            | DType::I4
            | DType::U8
            | DType::I8
            | DType::U16
            | DType::I16
            | DType::I32
            | DType::F4E2M1
            | DType::F8E4M3
            | DType::F8E5M2
            | DType::F8E4M3Fnuz
            | DType::F8E5M2Fnuz
    )
}

const QUANTISED: Accept =
    Accept("an integer of at most 16 bits, i32, or a float of at most 8 bits", is_quantised);

/// How scales lie over the tensor.
#[derive(Clone)]
enum Spread {
    Whole,
    Along(usize),
    /// Blocks of this many along an axis.
    Blocks(usize, i64),
}

/// Checks the shapes of scale and zero point against x, and the zero point's dtype.
fn check_spread(cx: Infer<'_>, axis: Option<usize>, block: Option<i64>, quantised: DType) -> Result<Spread> {
    let x = cx.tensor(0, Accept::ANY)?;
    let (spread, shape) = match (axis, block) {
        (None, None) => (Spread::Whole, Vec::new()),
        (None, Some(_)) => return Err(cx.attr_error("block", "blocks lie along an axis: say which")),
        (Some(axis), _) => {
            cx.check_axis("axis", axis, x.rank())?;
            match block {
                None => (Spread::Along(axis), vec![x.shape[axis].clone()]),
                Some(block) => {
                    cx.check_least("block", &[block], 1)?;
                    let mut dims = x.shape.to_vec();
                    let (size, step) = (&dims[axis], Dim::from(block));
                    let whole = cx.facts.is_multiple(size, block);
                    let blocks = if whole { size.floor_div(&step) } else { size.ceil_div(&step) };
                    dims[axis] = cx.facts.simplify(&blocks);
                    (Spread::Blocks(axis, block), dims)
                }
            }
        }
    };
    cx.shaped(1, &shape, "x and the attributes")?;
    if cx.inputs.len() == 3 {
        if quantised.is_float() {
            return Err(cx.error(Code::OperandDType, 2, format!("{quantised} has no zero point")));
        }
        let zero = cx.tensor(2, Accept::INT)?;
        if zero.dtype != quantised {
            let message = format!("expected {quantised}, the quantised dtype, found {}", zero.dtype);
            return Err(cx.error(Code::OperandDType, 2, message));
        }
        cx.shaped(2, &shape, "x and the attributes")?;
    }
    Ok(spread)
}

/// Repeats a scale or zero point over the shape of x.
fn spread_over(b: &mut Builder<'_>, v: ValueId, shape: &Shape, spread: &Spread) -> Result<ValueId> {
    match *spread {
        Spread::Whole => b.broadcast_to(v, shape.clone()),
        Spread::Along(axis) => b.broadcast_in(v, shape.clone(), &[axis]),
        Spread::Blocks(axis, block) => {
            let blocks = b.shape(v)?;
            let mut split = blocks.clone();
            split.dims_mut().insert(axis + 1, Dim::from(block));
            let axes: Vec<usize> = (0..split.rank()).filter(|a| *a != axis + 1).collect();
            let repeated = b.broadcast_in(v, split, &axes)?;
            let mut joined = shape.clone();
            joined.dims_mut()[axis] = b.facts().simplify(&(blocks[axis].clone() * block));
            let flat = b.reshape(repeated, joined)?;
            let have = b.shape(flat)?;
            if b.facts().equal(&have[axis], &shape[axis]) {
                return b.reshape(flat, shape.clone());
            }
            // The last block is cut off where the tensor ends.
            b.slice_axis(flat, axis, 0, shape[axis].clone())
        }
    }
}

impl CompositeDef for Quantise {
    const NAME: &'static str = "quantise";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let (shape, wide, spread) = b.check(Self::NAME, inputs, |cx| {
            cx.count_in(2..=3)?;
            let x = cx.tensor(0, Accept::FLOAT)?;
            let wide = x.dtype.accumulator();
            let scale = cx.tensor(1, Accept::FLOAT)?;
            if !scale.dtype.embeds_in(wide) {
                let message = format!("expected a float that {wide} can hold, found {}", scale.dtype);
                return Err(cx.error(Code::OperandDType, 1, message).help("insert a `cast`"));
            }
            if !is_quantised(self.to) {
                return Err(cx.attr_error("to", format!("expected {}, found {}", QUANTISED.0, self.to)));
            }
            Ok((x.shape.clone(), wide, check_spread(cx, self.axis, self.block, self.to)?))
        })?;
        let x = b.cast(inputs[0], wide)?;
        let scale = b.cast(inputs[1], wide)?;
        let scale = spread_over(b, scale, &shape, &spread)?;
        let mut y = b.div(x, scale)?;
        if let Some(most) = self.to.max_finite() {
            y = b.clip(y, -most, most)?;
        } else {
            y = b.round(y)?;
        }
        if let Some(zero) = inputs.get(2) {
            // The sum is exact wherever it does not saturate; f32 cannot hold every i32.
            let exact = if self.to == DType::I32 { DType::F64 } else { wide };
            let zero = b.cast(*zero, exact)?;
            let zero = spread_over(b, zero, &shape, &spread)?;
            y = b.cast(y, exact)?;
            y = b.add(y, zero)?;
        }
        Ok(vec![b.cast(y, self.to)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        let t = |dims: &[usize]| Type::tensor(DType::F32, dims);
        Ok(vec![
            example(
                Quantise { to: DType::U8, axis: None, block: None },
                [
                    ("x", t(&[3, 5])),
                    ("scale", t(&[])),
                    ("zero_point", Type::tensor(DType::U8, Shape::scalar())),
                ],
            )?,
            example(
                Quantise { to: DType::I8, axis: Some(1), block: None },
                [("x", t(&[3, 5])), ("scale", t(&[5]))],
            )?,
            example(
                Quantise { to: DType::I4, axis: Some(1), block: Some(2) },
                [("x", t(&[3, 5])), ("scale", t(&[3, 3])), ("zero_point", Type::tensor(DType::I4, [3, 3]))],
            )?,
            example(
                Quantise { to: DType::F8E4M3, axis: None, block: None },
                [("x", Type::tensor(DType::F16, [7])), ("scale", t(&[]))],
            )?,
        ])
    }
}

impl CompositeDef for Dequantise {
    const NAME: &'static str = "dequantise";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let (x, out, spread) = b.check(Self::NAME, inputs, |cx| {
            cx.count_in(2..=3)?;
            let x = cx.tensor(0, QUANTISED)?;
            let scale = cx.tensor(1, Accept::FLOAT)?;
            Ok((x.clone(), scale.dtype, check_spread(cx, self.axis, self.block, x.dtype)?))
        })?;
        let wide = out.accumulator();
        let mut y = inputs[0];
        if let Some(zero) = inputs.get(2) {
            let exact = if x.dtype == DType::I32 { DType::I64 } else { DType::I32 };
            let zero = b.cast(*zero, exact)?;
            let zero = spread_over(b, zero, &x.shape, &spread)?;
            let lifted = b.cast(y, exact)?;
            y = b.binary(BinaryKind::Sub, lifted, zero)?;
        }
        let y = b.cast(y, wide)?;
        let scale = b.cast(inputs[1], wide)?;
        let scale = spread_over(b, scale, &x.shape, &spread)?;
        let y = b.mul(y, scale)?;
        Ok(vec![b.cast(y, out)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        let t = |dtype, dims: &[usize]| Type::tensor(dtype, dims);
        Ok(vec![
            example(
                Dequantise { axis: None, block: None },
                [
                    ("x", t(DType::U8, &[3, 5])),
                    ("scale", t(DType::F32, &[])),
                    ("zero_point", t(DType::U8, &[])),
                ],
            )?,
            example(
                Dequantise { axis: Some(0), block: None },
                [("x", t(DType::I8, &[3, 5])), ("scale", t(DType::F16, &[3]))],
            )?,
            example(
                Dequantise { axis: Some(0), block: Some(4) },
                [
                    ("x", t(DType::U4, &[7, 2])),
                    ("scale", t(DType::F32, &[2, 2])),
                    ("zero_point", t(DType::U4, &[2, 2])),
                ],
            )?,
        ])
    }
}
