//! Sliding windows as convolutions and pools describe them: sizes, strides, dilations and padding, explicit or automatic.

use crate::node::NodeCx;
use lawson_graph::{Dim, Result};

/// The greatest stride, dilation or padding; products of two of them are no overflow.
const MAX_STEP: i64 = 1 << 31;

/// How a window slides, one entry a spatial axis.
#[derive(Clone)]
pub(super) struct Windows {
    pub(super) stride: Vec<i64>,
    pub(super) dilation: Vec<i64>,
    pub(super) low: Vec<Dim>,
    pub(super) high: Vec<Dim>,
}

/// One number a spatial axis, 1 where nothing is said.
fn numbers(cx: &NodeCx<'_, '_>, name: &'static str, spatial: usize) -> Result<Vec<i64>> {
    let given = cx.ints(name)?.map_or_else(|| vec![1; spatial], <[i64]>::to_vec);
    match given.len() == spatial && given.iter().all(|n| (1..=MAX_STEP).contains(n)) {
        true => Ok(given),
        false => {
            Err(cx.wrong(format!("`{name}` of `{}` is {given:?}, with {spatial} spatial axes", cx.op())))
        }
    }
}

impl Windows {
    /// The attributes `strides`, `dilations`, `pads` and `auto_pad`, for a window of that size over those dimensions.
    pub(super) fn read(cx: &NodeCx<'_, '_>, input: &[Dim], window: &[Dim]) -> Result<Windows> {
        let spatial = input.len();
        let (stride, dilation) = (numbers(cx, "strides", spatial)?, numbers(cx, "dilations", spatial)?);
        let pads = cx.ints("pads")?;
        let zeros = || vec![Dim::ZERO; spatial];
        let (low, high) = match cx.text("auto_pad")?.unwrap_or("NOTSET") {
            "NOTSET" | "" => match pads {
                None => (zeros(), zeros()),
                Some(pads)
                    if pads.len() == 2 * spatial && pads.iter().all(|p| (0..=MAX_STEP).contains(p)) =>
                {
                    let dims = |p: &[i64]| p.iter().map(|d| Dim::from(*d)).collect();
                    (dims(&pads[..spatial]), dims(&pads[spatial..]))
                }
                Some(pads) => {
                    return Err(
                        cx.wrong(format!("`pads` of `{}` is {pads:?}, with {spatial} spatial axes", cx.op()))
                    );
                }
            },
            "VALID" => (zeros(), zeros()),
            side @ ("SAME_UPPER" | "SAME_LOWER") => {
                let (mut low, mut high) = (Vec::new(), Vec::new());
                for i in 0..spatial {
                    let (less, more) = same_padding(cx, &input[i], &window[i], stride[i], dilation[i]);
                    let (l, h) = if side == "SAME_UPPER" { (less, more) } else { (more, less) };
                    low.push(l);
                    high.push(h);
                }
                (low, high)
            }
            other => {
                return Err(cx.no_such("auto_pad", other, &["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]));
            }
        };
        Ok(Windows { stride, dilation, low, high })
    }

    /// Refuses a window that is larger than what it slides over by more than a stride, where both are known: by the definition there
    /// would be less than no places for it. Up to a stride there are none, and the result is empty.
    pub(super) fn fit(&self, cx: &NodeCx<'_, '_>, input: &[Dim], window: &[Dim]) -> Result<()> {
        for (i, (size, window)) in input.iter().zip(window).enumerate() {
            let extent = (window.clone() - 1) * self.dilation[i] + 1;
            let padded = size.clone() + self.low[i].clone() + self.high[i].clone();
            if let (Some(1..), Some(has), Some(needs)) =
                (size.as_const(), padded.as_const(), extent.as_const())
                && (has - needs).div_euclid(self.stride[i]) + 1 < 0
            {
                return Err(cx
                    .wrong(format!("a window of `{}` spans {needs} elements of spatial axis {i}, which has {has} with its padding", cx.op()))
                    .help("give the model larger inputs, or the node more padding or a smaller window"));
            }
        }
        Ok(())
    }
}

/// The two sides of the padding with which there are `ceil(input / stride)` windows, the smaller first.
fn same_padding(cx: &NodeCx<'_, '_>, input: &Dim, window: &Dim, stride: i64, dilation: i64) -> (Dim, Dim) {
    let facts = cx.b.facts();
    let extent = (window.clone() - 1) * dilation + 1;
    let last = (input.ceil_div(&Dim::from(stride)) - 1) * stride;
    let total = facts.simplify(&(last + extent - input.clone()));
    let total = if facts.is_nonnegative(&total) { total } else { total.max(&Dim::ZERO) };
    let less = total.floor_div(&Dim::from(2));
    (less.clone(), facts.simplify(&(total - less)))
}
