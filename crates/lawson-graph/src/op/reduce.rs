//! Primitives that combine many elements by a monoid: reduce, window reduce, cumulative; and sort.

use super::infer::{Accept, Infer};
use crate::dim::Dim;
use crate::error::Result;
use crate::types::{Shape, Type};
use crate::{attributes, keywords};

keywords! {
    /// How elements are combined, with what no elements give. Sums and products of floats narrower than f32 are
    /// accumulated in f32; the order is not fixed.
    pub enum Monoid {
        /// The sum; of none, 0. Integers wrap. A float sum that is zero may have either sign.
        Sum = "sum",
        /// The product; of none, 1. Integers wrap.
        Prod = "prod",
        /// The greatest, NaN if any is; of none, the least value of the dtype (-inf where there is one).
        Max = "max",
        /// The least, NaN if any is; of none, the greatest value of the dtype (inf where there is one).
        Min = "min",
        /// Bitwise and, logical for bool; of none, all ones.
        And = "and",
        /// Bitwise or, logical for bool; of none, 0.
        Or = "or",
    }
}

attributes! {
    /// Combines along axes, which then vanish.
    pub struct Reduce {
        /// How. In the text form it is part of the name: `reduce_sum`.
        pub kind: Monoid,
        /// Which axes, ascending.
        pub axes: Vec<usize>,
    }
}

attributes! {
    /// Combines a window that slides over the tensor; positions in the padding count as no element.
    pub struct WindowReduce {
        /// How. In the text form it is part of the name: `window_max`.
        pub kind: Monoid,
        /// The size of the window, one an axis.
        pub window: Vec<i64>,
        /// How far the window moves, one an axis.
        pub stride: Vec<i64>,
        /// The distance of neighbours in the window, one an axis.
        pub dilation: Vec<i64>,
        /// Padding before, one an axis.
        pub low: Vec<Dim>,
        /// Padding after, one an axis.
        pub high: Vec<Dim>,
    }
}

attributes! {
    /// Running combination along an axis.
    pub struct Cumulative {
        /// How: sum, prod, max or min. In the text form it is part of the name: `cumulative_sum`.
        pub kind: Monoid,
        /// Along which axis.
        pub axis: usize,
        /// Whether an element's own value is left out of its result.
        pub exclusive: bool = false,
        /// Whether to run from the end.
        pub reverse: bool = false,
    }
}

attributes! {
    /// Sorts along an axis by operand 0, carrying the others along. Stable. NaN is greater than everything, the
    /// two zeros are equal.
    pub struct Sort {
        /// Along which axis.
        pub axis: usize,
        /// Whether the greatest comes first; equal elements keep their order all the same.
        pub descending: bool = false,
    }
}

impl Monoid {
    /// The dtypes that it takes.
    pub fn accepts(self) -> Accept {
        match self {
            Monoid::And | Monoid::Or => Accept::INT_OR_BOOL,
            _ => Accept::NUMBER,
        }
    }
}

impl Reduce {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(1)?;
        let t = cx.tensor(0, self.kind.accepts())?;
        cx.check_axes("axes", &self.axes, t.rank())?;
        if !self.axes.is_sorted() {
            return Err(cx.attr_error("axes", "expected ascending axes"));
        }
        let kept = (0..t.rank()).filter(|a| !self.axes.contains(a)).map(|a| t.shape[a].clone());
        cx.result(t.dtype, kept.collect::<Shape>())
    }
}

impl WindowReduce {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(1)?;
        let t = cx.tensor(0, self.kind.accepts())?;
        let rank = t.rank();
        for (name, values) in
            [("window", &self.window), ("stride", &self.stride), ("dilation", &self.dilation)]
        {
            cx.check_len(name, values.len(), rank)?;
            cx.check_least(name, values, 1)?;
        }
        let mut shape = Vec::new();
        cx.check_len("low", self.low.len(), rank)?;
        cx.check_len("high", self.high.len(), rank)?;
        for axis in 0..rank {
            cx.check_nonnegative("low", &self.low[axis])?;
            cx.check_nonnegative("high", &self.high[axis])?;
            let padded = t.shape[axis].clone() + self.low[axis].clone() + self.high[axis].clone();
            let window = Dim::from(self.window[axis] - 1) * self.dilation[axis] + 1;
            shape.push(window_count(cx, &padded, &window, self.stride[axis]));
        }
        cx.result(t.dtype, shape)
    }
}

/// How many windows fit: `floor((padded - window) / stride) + 1`, none if the window is larger.
pub(super) fn window_count(cx: Infer<'_>, padded: &Dim, window: &Dim, stride: i64) -> Dim {
    let room = padded.clone() - window.clone();
    let count = room.floor_div(&Dim::from(stride)) + 1;
    let count = if cx.facts.is_nonnegative(&room) || cx.facts.is_nonnegative(&count) {
        count
    } else {
        count.max(&Dim::ZERO)
    };
    cx.facts.simplify(&count)
}

impl Cumulative {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(1)?;
        if matches!(self.kind, Monoid::And | Monoid::Or) {
            return Err(cx.attr_error("kind", "expected sum, prod, max or min"));
        }
        let t = cx.tensor(0, self.kind.accepts())?;
        cx.check_axis("axis", self.axis, t.rank())?;
        cx.result(t.dtype, t.shape.clone())
    }
}

impl Sort {
    /// The result types: one an operand.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.at_least(1)?;
        let key = cx.tensor(0, Accept::ANY)?;
        cx.check_axis("axis", self.axis, key.rank())?;
        for i in 1..cx.inputs.len() {
            cx.same_shape(0, i)?;
        }
        Ok(cx.inputs.iter().map(|t| (*t).clone()).collect())
    }
}
