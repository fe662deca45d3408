//! Pooling over the spatial axes of `[batch, channels, spatial…]`: max, average, Lp, and their global forms.
//!
//! A window of `window` elements, `dilation` apart, moves by `stride` over the input with `low` elements of padding
//! before it and `high` after it; each attribute has one entry a spatial axis, and an empty list stands for ones
//! (`stride`, `dilation`) or zeros (`low`, `high`). Positions in the padding count as no element.
//!
//! With `ceil` false, windows that do not fit are left out. With `ceil` true, a last window may reach beyond the end,
//! but every window starts inside the input or the padding before it.

use super::{CompositeDef, example};
use crate::attributes;
use crate::builder::{Builder, Keep};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Graph, ValueId};
use crate::op::{Accept, BinaryKind, Infer, Monoid, Op, WindowReduce};
use crate::types::{Shape, Type};

attributes! {
    /// The greatest element of each window, NaN if any is. Any number dtype. A window that holds nothing but padding
    /// gives the least value of the dtype (-inf where there is one).
    pub struct MaxPool {
        /// The size of the window.
        pub window: Vec<i64>,
        /// How far it moves.
        pub stride: Vec<i64> = Vec::new(),
        /// How far its elements stand apart.
        pub dilation: Vec<i64> = Vec::new(),
        /// Padding before.
        pub low: Vec<Dim> = Vec::new(),
        /// Padding after.
        pub high: Vec<Dim> = Vec::new(),
        /// Whether a last window may reach beyond the end.
        pub ceil: bool = false,
    }
}

attributes! {
    /// The mean of each window. Floats; narrower ones than f32 are computed in f32 and rounded once. A window that
    /// counts no element gives NaN.
    pub struct AvgPool {
        /// The size of the window.
        pub window: Vec<i64>,
        /// How far it moves.
        pub stride: Vec<i64> = Vec::new(),
        /// How far its elements stand apart.
        pub dilation: Vec<i64> = Vec::new(),
        /// Padding before.
        pub low: Vec<Dim> = Vec::new(),
        /// Padding after.
        pub high: Vec<Dim> = Vec::new(),
        /// Whether a last window may reach beyond the end.
        pub ceil: bool = false,
        /// Whether `low` and `high` count as zeros. What `ceil` adds beyond them never counts.
        pub count_padding: bool = false,
    }
}

attributes! {
    /// `(Σ |x|^p)^(1/p)` of each window. Floats; narrower ones than f32 are computed in f32 and rounded once.
    pub struct LpPool {
        /// The order of the norm; above 0.
        pub p: f64 = 2.0,
        /// The size of the window.
        pub window: Vec<i64>,
        /// How far it moves.
        pub stride: Vec<i64> = Vec::new(),
        /// How far its elements stand apart.
        pub dilation: Vec<i64> = Vec::new(),
        /// Padding before.
        pub low: Vec<Dim> = Vec::new(),
        /// Padding after.
        pub high: Vec<Dim> = Vec::new(),
        /// Whether a last window may reach beyond the end.
        pub ceil: bool = false,
    }
}

attributes! {
    /// The greatest element of each channel; the spatial axes stay, with size 1. Any number dtype.
    pub struct GlobalMaxPool {}
}

attributes! {
    /// The mean of each channel; the spatial axes stay, with size 1. Floats, computed as in `avg_pool`.
    pub struct GlobalAvgPool {}
}

attributes! {
    /// `(Σ |x|^p)^(1/p)` of each channel; the spatial axes stay, with size 1. Floats, computed as in `lp_pool`.
    pub struct GlobalLpPool {
        /// The order of the norm; above 0.
        pub p: f64 = 2.0,
    }
}

/// The attributes that all sliding pools share, as given.
struct Sliding<'a> {
    window: &'a [i64],
    stride: &'a [i64],
    dilation: &'a [i64],
    low: &'a [Dim],
    high: &'a [Dim],
    ceil: bool,
}

/// How the window slides, one entry a spatial axis, with the padding that yields exactly the windows asked for.
struct Windows {
    window: Vec<i64>,
    stride: Vec<i64>,
    dilation: Vec<i64>,
    low: Vec<Dim>,
    high: Vec<Dim>,
    /// The padding after that counts as padding: `high` without what `ceil` adds.
    said_high: Vec<Dim>,
}

impl Sliding<'_> {
    fn resolve(&self, cx: Infer<'_>, accept: Accept) -> Result<Windows> {
        cx.count(1)?;
        let x = cx.ranked_from(0, accept, 3)?;
        let spatial = x.rank() - 2;
        cx.check_len("window", self.window.len(), spatial)?;
        cx.check_least("window", self.window, 1)?;
        let numbers = |name: &str, values: &[i64]| {
            if values.is_empty() {
                return Ok(vec![1; spatial]);
            }
            cx.check_len(name, values.len(), spatial)?;
            cx.check_least(name, values, 1)?;
            Ok(values.to_vec())
        };
        let padding = |name: &str, values: &[Dim]| {
            if values.is_empty() {
                return Ok(vec![Dim::ZERO; spatial]);
            }
            cx.check_len(name, values.len(), spatial)?;
            values.iter().try_for_each(|d| cx.check_nonnegative(name, d))?;
            Ok(values.to_vec())
        };
        let mut w = Windows {
            window: self.window.to_vec(),
            stride: numbers("stride", self.stride)?,
            dilation: numbers("dilation", self.dilation)?,
            low: padding("low", self.low)?,
            high: padding("high", self.high)?,
            said_high: padding("high", self.high)?,
        };
        if self.ceil {
            for axis in 0..spatial {
                let extent = Dim::from(w.window[axis] - 1) * w.dilation[axis] + 1;
                let before = x.shape[axis + 2].clone() + w.low[axis].clone();
                w.high[axis] = ceil_padding(cx, &before, &w.high[axis], &extent, w.stride[axis]);
                w.said_high[axis] = cx.facts.simplify(&w.said_high[axis].min(&w.high[axis]));
            }
        }
        Ok(w)
    }
}

/// The padding after with which exactly the windows of ceil mode fit: as many as start `stride` apart and touch the
/// padded input, but none that starts at or after `before`, the end of the input.
fn ceil_padding(cx: Infer<'_>, before: &Dim, high: &Dim, extent: &Dim, stride: i64) -> Dim {
    let step = Dim::from(stride);
    let room = before.clone() + high.clone() - extent.clone();
    let touching = room.ceil_div(&step) + 1;
    // Where high + stride <= extent, no touching window starts after the input.
    let count = if cx.facts.proves_ge(extent, &(high.clone() + stride)) {
        touching
    } else {
        touching.min(&before.ceil_div(&step))
    };
    let count = cx.facts.simplify(&count.max(&Dim::ZERO));
    let needed = (count - 1) * stride + extent.clone() - before.clone();
    cx.facts.simplify(&needed.max(&Dim::ZERO))
}

impl Windows {
    /// The window reduction of a tensor with `lead` axes before the spatial ones.
    fn reduce(&self, kind: Monoid, lead: usize) -> Op {
        fn led<T: Clone>(lead: usize, fill: T, values: &[T]) -> Vec<T> {
            std::iter::repeat_n(fill, lead).chain(values.iter().cloned()).collect()
        }
        Op::WindowReduce(WindowReduce {
            kind,
            window: led(lead, 1, &self.window),
            stride: led(lead, 1, &self.stride),
            dilation: led(lead, 1, &self.dilation),
            low: led(lead, Dim::ZERO, &self.low),
            high: led(lead, Dim::ZERO, &self.high),
        })
    }

    /// How many elements each window counts: a scalar, or a tensor over the spatial axes.
    fn count(&self, b: &mut Builder<'_>, spatial: &[Dim], dtype: DType, padding: bool) -> Result<ValueId> {
        let all_fit = self.high == self.said_high;
        let none = |d: &Dim| d.is(0);
        if all_fit && (padding || (self.low.iter().all(none) && self.high.iter().all(none))) {
            let size: Dim = self.window.iter().map(|w| Dim::from(*w)).product();
            return b.dim_scalar(&size, dtype);
        }
        // Ones where elements count; the window sums them.
        let mut counted = Windows {
            window: self.window.clone(),
            stride: self.stride.clone(),
            dilation: self.dilation.clone(),
            low: self.low.clone(),
            high: self.high.clone(),
            said_high: self.said_high.clone(),
        };
        let mut shape = spatial.to_vec();
        if padding {
            for (axis, dim) in shape.iter_mut().enumerate() {
                *dim = dim.clone() + self.low[axis].clone() + self.said_high[axis].clone();
                counted.low[axis] = Dim::ZERO;
                counted.high[axis] =
                    b.facts().simplify(&(self.high[axis].clone() - self.said_high[axis].clone()));
            }
        }
        let one = b.scalar(dtype, 1.0)?;
        let ones = b.broadcast_to(one, shape)?;
        b.op1(counted.reduce(Monoid::Sum, 0), &[ones])
    }
}

/// `|x|^p`
fn power(b: &mut Builder<'_>, x: ValueId, p: f64) -> Result<ValueId> {
    if p == 2.0 {
        return b.mul(x, x);
    }
    let magnitude = b.abs(x)?;
    if p == 1.0 { Ok(magnitude) } else { b.binary_scalar(BinaryKind::Pow, magnitude, p) }
}

/// `x^(1/p)`
fn root(b: &mut Builder<'_>, x: ValueId, p: f64) -> Result<ValueId> {
    if p == 1.0 {
        Ok(x)
    } else if p == 2.0 {
        b.sqrt(x)
    } else {
        b.binary_scalar(BinaryKind::Pow, x, 1.0 / p)
    }
}

impl CompositeDef for MaxPool {
    const NAME: &'static str = "max_pool";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let MaxPool { window, stride, dilation, low, high, ceil } = self;
        let sliding = Sliding { window, stride, dilation, low, high, ceil: *ceil };
        let w = b.check(Self::NAME, inputs, |cx| sliding.resolve(cx, Accept::NUMBER))?;
        Ok(vec![b.op1(w.reduce(Monoid::Max, 2), inputs)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        let pool = |window: &[i64], stride: &[i64], pad: i64, ceil| MaxPool {
            window: window.to_vec(),
            stride: stride.to_vec(),
            dilation: Vec::new(),
            low: vec![Dim::from(pad); window.len()],
            high: vec![Dim::from(pad); window.len()],
            ceil,
        };
        Ok(vec![
            example(pool(&[3], &[2], 1, false), [("x", Type::tensor(DType::F32, [2, 3, 7]))])?,
            example(pool(&[2, 3], &[2, 2], 0, true), [("x", Type::tensor(DType::F32, [1, 2, 5, 6]))])?,
            example(
                MaxPool { dilation: vec![2], ..pool(&[2], &[], 0, false) },
                [("x", Type::tensor(DType::I8, [1, 1, 5]))],
            )?,
        ])
    }
}

impl CompositeDef for AvgPool {
    const NAME: &'static str = "avg_pool";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let AvgPool { window, stride, dilation, low, high, ceil, count_padding } = self;
        let sliding = Sliding { window, stride, dilation, low, high, ceil: *ceil };
        let w = b.check(Self::NAME, inputs, |cx| sliding.resolve(cx, Accept::FLOAT))?;
        let shape = b.shape(inputs[0])?;
        let y = b.widened(inputs[0], |b, x| {
            let sum = b.op1(w.reduce(Monoid::Sum, 2), &[x])?;
            let dtype = b.dtype(sum)?;
            let count = w.count(b, &shape[2..], dtype, *count_padding)?;
            b.div(sum, count)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        let pool = |window: &[i64], stride: &[i64], pad: i64, ceil, count_padding| AvgPool {
            window: window.to_vec(),
            stride: stride.to_vec(),
            dilation: Vec::new(),
            low: vec![Dim::from(pad); window.len()],
            high: vec![Dim::from(pad); window.len()],
            ceil,
            count_padding,
        };
        Ok(vec![
            example(pool(&[3], &[2], 1, false, false), [("x", Type::tensor(DType::F32, [2, 3, 7]))])?,
            example(pool(&[3, 2], &[2, 2], 1, true, true), [("x", Type::tensor(DType::F32, [1, 2, 5, 6]))])?,
            example(pool(&[2], &[], 0, false, false), [("x", Type::tensor(DType::F16, [1, 1, 5]))])?,
        ])
    }
}

impl CompositeDef for LpPool {
    const NAME: &'static str = "lp_pool";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let LpPool { p, window, stride, dilation, low, high, ceil } = self;
        let sliding = Sliding { window, stride, dilation, low, high, ceil: *ceil };
        let w = b.check(Self::NAME, inputs, |cx| {
            cx.check_positive("p", *p)?;
            sliding.resolve(cx, Accept::FLOAT)
        })?;
        let y = b.widened(inputs[0], |b, x| {
            let powers = power(b, x, *p)?;
            let sum = b.op1(w.reduce(Monoid::Sum, 2), &[powers])?;
            root(b, sum, *p)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        let pool = |p, window: &[i64], stride: &[i64], ceil| LpPool {
            p,
            window: window.to_vec(),
            stride: stride.to_vec(),
            dilation: Vec::new(),
            low: Vec::new(),
            high: Vec::new(),
            ceil,
        };
        Ok(vec![
            example(pool(2.0, &[3], &[2], false), [("x", Type::tensor(DType::F32, [2, 3, 7]))])?,
            example(pool(3.0, &[2, 3], &[2, 2], true), [("x", Type::tensor(DType::F32, [1, 2, 5, 6]))])?,
        ])
    }
}

/// Checks x and gives its spatial axes.
fn spatial_axes(b: &Builder<'_>, op: &str, inputs: &[ValueId], accept: Accept) -> Result<Vec<usize>> {
    b.check(op, inputs, |cx| {
        cx.count(1)?;
        Ok((2..cx.ranked_from(0, accept, 3)?.rank()).collect())
    })
}

fn global_examples<T: CompositeDef>(composites: [T; 2]) -> Result<Vec<Graph>> {
    let shapes = [Shape::from([2, 3, 5]), Shape::from([1, 2, 3, 5])];
    composites
        .into_iter()
        .zip(shapes)
        .map(|(c, shape)| example(c, [("x", Type::tensor(DType::F32, shape))]))
        .collect()
}

impl CompositeDef for GlobalMaxPool {
    const NAME: &'static str = "global_max_pool";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let axes = spatial_axes(b, Self::NAME, inputs, Accept::NUMBER)?;
        Ok(vec![b.reduce(Monoid::Max, inputs[0], &axes, Keep::Yes)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        global_examples([GlobalMaxPool {}, GlobalMaxPool {}])
    }
}

impl CompositeDef for GlobalAvgPool {
    const NAME: &'static str = "global_avg_pool";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let axes = spatial_axes(b, Self::NAME, inputs, Accept::FLOAT)?;
        Ok(vec![b.widened(inputs[0], |b, x| b.mean(x, &axes, Keep::Yes))?])
    }

    fn examples() -> Result<Vec<Graph>> {
        global_examples([GlobalAvgPool {}, GlobalAvgPool {}])
    }
}

impl CompositeDef for GlobalLpPool {
    const NAME: &'static str = "global_lp_pool";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let axes = spatial_axes(b, Self::NAME, inputs, Accept::FLOAT)?;
        b.check(Self::NAME, inputs, |cx| cx.check_positive("p", self.p))?;
        let y = b.widened(inputs[0], |b, x| {
            let powers = power(b, x, self.p)?;
            let sum = b.reduce(Monoid::Sum, powers, &axes, Keep::Yes)?;
            root(b, sum, self.p)
        })?;
        Ok(vec![y])
    }

    fn examples() -> Result<Vec<Graph>> {
        global_examples([GlobalLpPool { p: 2.0 }, GlobalLpPool { p: 3.0 }])
    }
}
