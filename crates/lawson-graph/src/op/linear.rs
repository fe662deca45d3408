//! The two linear primitives: contract (batched general dot product) and convolve.
//!
//! Both multiply and sum. The products are summed in the accumulator dtype (f32 for narrower floats; for integers
//! the result dtype), and the result is rounded once.

use super::infer::{Accept, Infer};
use super::reduce::window_count;
use super::view::dilated;
use crate::attributes;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::error::{Code, Result};
use crate::types::{Shape, Type};

attributes! {
    /// `contract(l, r)`: sums products over pairs of axes. The result's axes are the batch axes in order, then the
    /// free axes of `l`, then those of `r`.
    pub struct Contract {
        /// Pairs of axes (of l, of r) that run together and stay.
        pub batch: Vec<(usize, usize)>,
        /// Pairs of axes (of l, of r) that are summed over.
        pub sum: Vec<(usize, usize)>,
        /// The result's dtype if it is not that of the operands: wider accumulation, such as i8 to i32.
        pub out: Option<DType> = None,
    }
}

attributes! {
    /// `convolve(x, w)` with x: `[batch, in channels, spatial…]`, w: `[out channels, in channels / groups, spatial…]`,
    /// result: `[batch / batch_groups, out channels, spatial…]`. It is a correlation: the kernel is not flipped.
    ///
    /// With `groups` g, out channel o reads the in channels of group `o / (out channels / g)`. With `batch_groups` b,
    /// out channel o reads batch entries `[k*n, (k+1)*n)`, n = batch / b, for k = `o / (out channels / b)`.
    ///
    /// Padding and the gaps of `input_dilation` contribute nothing, not even 0 times an infinite weight.
    pub struct Convolve {
        /// How far the window moves, one a spatial axis.
        pub stride: Vec<i64>,
        /// Padding before, one a spatial axis.
        pub low: Vec<Dim>,
        /// Padding after, one a spatial axis.
        pub high: Vec<Dim>,
        /// The distance at which input elements stand apart (zeros between), one a spatial axis.
        pub input_dilation: Vec<i64>,
        /// The distance at which kernel elements stand apart, one a spatial axis.
        pub kernel_dilation: Vec<i64>,
        /// Channel groups.
        pub groups: i64 = 1,
        /// Batch groups.
        pub batch_groups: i64 = 1,
        /// The result's dtype if it is not that of the operands.
        pub out: Option<DType> = None,
    }
}

/// The dtype of products and sums: both operands floats of one dtype, or both integers.
fn product_dtype(cx: Infer<'_>, out: Option<DType>) -> Result<DType> {
    let (l, r) = (cx.tensor(0, Accept::NUMBER)?, cx.tensor(1, Accept::NUMBER)?);
    match out {
        None => cx.same_dtype(0, 1),
        Some(out) if out.is_float() => {
            cx.same_dtype(0, 1)?;
            if !l.dtype.is_float() {
                return Err(cx.error(
                    Code::OperandDType,
                    0,
                    format!("integers cannot be accumulated in {out}"),
                ));
            }
            Ok(out)
        }
        Some(out) if out.is_int() => {
            for (i, t) in [l, r].iter().enumerate() {
                if !t.dtype.is_int() {
                    return Err(cx.error(
                        Code::OperandDType,
                        i,
                        format!("{} cannot be accumulated in {out}", t.dtype),
                    ));
                }
            }
            Ok(out)
        }
        Some(out) => Err(cx.attr_error("out", format!("expected a number, found {out}"))),
    }
}

impl Contract {
    /// The axes of each operand that are neither batch nor summed, in order.
    pub fn free_axes(&self, l_rank: usize, r_rank: usize) -> (Vec<usize>, Vec<usize>) {
        let used = |side: fn(&(usize, usize)) -> usize| -> Vec<usize> {
            self.batch.iter().chain(&self.sum).map(side).collect()
        };
        let (l, r) = (used(|p| p.0), used(|p| p.1));
        ((0..l_rank).filter(|a| !l.contains(a)).collect(), (0..r_rank).filter(|a| !r.contains(a)).collect())
    }

    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(2)?;
        let dtype = product_dtype(cx, self.out)?;
        let (l, r) = (cx.tensor(0, Accept::NUMBER)?, cx.tensor(1, Accept::NUMBER)?);
        for (side, rank) in [(0, l.rank()), (1, r.rank())] {
            let axes: Vec<usize> =
                self.batch.iter().chain(&self.sum).map(|p| if side == 0 { p.0 } else { p.1 }).collect();
            let name = if axes.iter().take(self.batch.len()).any(|a| *a >= rank) { "batch" } else { "sum" };
            cx.check_axes(name, &axes, rank)?;
        }
        let mut shape = Vec::new();
        for (a, b) in &self.batch {
            shape.push(cx.unify((0, *a), (1, *b))?.clone());
        }
        for (a, b) in &self.sum {
            cx.unify((0, *a), (1, *b))?;
        }
        let (free_l, free_r) = self.free_axes(l.rank(), r.rank());
        shape.extend(free_l.iter().map(|a| l.shape[*a].clone()));
        shape.extend(free_r.iter().map(|a| r.shape[*a].clone()));
        cx.result(dtype, shape)
    }
}

impl Convolve {
    /// A convolution with stride 1 and neither padding, dilation nor groups.
    pub fn plain(spatial: usize) -> Convolve {
        Convolve {
            stride: vec![1; spatial],
            low: vec![Dim::ZERO; spatial],
            high: vec![Dim::ZERO; spatial],
            input_dilation: vec![1; spatial],
            kernel_dilation: vec![1; spatial],
            groups: 1,
            batch_groups: 1,
            out: None,
        }
    }

    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(2)?;
        let dtype = product_dtype(cx, self.out)?;
        let x = cx.tensor(0, Accept::NUMBER)?;
        if x.rank() < 2 {
            return Err(cx.error(Code::OperandRank, 0, "expected batch, channels and spatial dimensions"));
        }
        let w = cx.ranked(1, Accept::NUMBER, x.rank())?;
        let spatial = x.rank() - 2;
        for (name, values) in [
            ("stride", &self.stride),
            ("input_dilation", &self.input_dilation),
            ("kernel_dilation", &self.kernel_dilation),
        ] {
            cx.check_len(name, values.len(), spatial)?;
            cx.check_least(name, values, 1)?;
        }
        cx.check_len("low", self.low.len(), spatial)?;
        cx.check_len("high", self.high.len(), spatial)?;
        cx.check_least("groups", &[self.groups], 1)?;
        cx.check_least("batch_groups", &[self.batch_groups], 1)?;
        if self.groups > 1 && self.batch_groups > 1 {
            return Err(cx.attr_error("batch_groups", "groups and batch_groups cannot both be above 1"));
        }
        let (g, b) = (self.groups, self.batch_groups);
        let channels = w.shape[1].clone() * g;
        if !cx.facts.equal(&x.shape[1], &channels) {
            let message = format!(
                "the input has {} channels, but the kernel takes {channels} ({} for each of {g} groups)",
                x.shape[1], w.shape[1]
            );
            return Err(cx.error(Code::DimMismatch, 1, message).at(cx.operand(0)));
        }
        for (operand, dim, by, what) in [
            (1, &w.shape[0], g, "out channels"),
            (1, &w.shape[0], b, "out channels"),
            (0, &x.shape[0], b, "batch entries"),
        ] {
            if !cx.facts.is_multiple(dim, by) {
                let message = format!("{dim} {what} do not divide into {by} groups");
                return Err(cx.error(Code::DimMismatch, operand, message));
            }
        }
        let batch = cx.facts.simplify(&x.shape[0].floor_div(&Dim::from(b)));
        let mut shape = vec![batch, w.shape[0].clone()];
        for i in 0..spatial {
            cx.check_nonnegative("low", &self.low[i])?;
            cx.check_nonnegative("high", &self.high[i])?;
            let body = dilated(cx, &x.shape[2 + i], self.input_dilation[i]);
            let padded = body + self.low[i].clone() + self.high[i].clone();
            let window = dilated(cx, &w.shape[2 + i], self.kernel_dilation[i]);
            shape.push(window_count(cx, &padded, &window, self.stride[i]));
        }
        cx.result(dtype, Shape::from(shape))
    }
}
