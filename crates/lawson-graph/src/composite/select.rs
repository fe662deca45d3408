//! Finding and naming elements: argmax, argmin, one-hot, top-k, nonzero.

use super::{CompositeDef, example};
use crate::attributes;
use crate::builder::{Builder, Keep};
use crate::dim::{Dim, Symbol};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Graph, ValueId};
use crate::op::{Accept, Combine, CompareKind, Cumulative, DefineSymbol, Monoid, Op, Scatter, Sort};
use crate::tensor::HostTensor;
use crate::types::{Shape, Type};

attributes! {
    /// Where the greatest element along `axis` stands: an i64 index. Any number dtype. Of equal elements the first
    /// counts (or the last); NaN is greater than everything. An empty axis gives 0.
    ///
    /// Decomposition: `reduce_max`, compare (two NaNs count as equal), then the least (greatest) index that is equal.
    pub struct ArgMax {
        /// Along which axis.
        pub axis: usize,
        /// Whether it stays as an axis of size 1.
        pub keep_dims: bool = false,
        /// Whether of equal elements the last counts.
        pub last: bool = false,
    }
}

attributes! {
    /// Where the least element along `axis` stands: an i64 index. Any number dtype. Of equal elements the first counts
    /// (or the last); NaN is less than everything. An empty axis gives 0.
    ///
    /// Decomposition: as that of `argmax`, with `reduce_min`.
    pub struct ArgMin {
        /// Along which axis.
        pub axis: usize,
        /// Whether it stays as an axis of size 1.
        pub keep_dims: bool = false,
        /// Whether of equal elements the last counts.
        pub last: bool = false,
    }
}

attributes! {
    /// `one_hot(indices)`: a new axis of size `depth` that is 1 at the index and 0 elsewhere. Indices are i32 or i64;
    /// one outside `0..depth` gives zeros only.
    ///
    /// Decomposition: compare with `iota`, then `cast`.
    pub struct OneHot {
        /// The size of the new axis.
        pub depth: Dim,
        /// Where the new axis stands in the result; last if unsaid.
        pub axis: Option<usize> = None,
        /// The dtype of the result: a number or bool.
        pub dtype: DType = DType::F32,
    }
}

attributes! {
    /// The `k` greatest (or least) elements along `axis` in order, and their i64 indices: two results. Any number dtype;
    /// equal elements stand in the order of their indices; NaN is greater than everything.
    ///
    /// Decomposition: `sort` of the elements with their indices, then `slice`.
    pub struct TopK {
        /// How many; known to be at most the size of the axis.
        pub k: Dim,
        /// Along which axis.
        pub axis: usize,
        /// Whether the least are meant.
        pub smallest: bool = false,
    }
}

attributes! {
    /// The index vectors of all elements that are not zero (or are `true`), in row-major order: i64
    /// `[symbol, rank of x]`, as `gather` takes them. Any number dtype or bool; NaN is not zero. It defines `symbol`,
    /// which is at most the number of elements.
    ///
    /// Decomposition: a running count gives each such element its place, `scatter_set` writes its index vector there
    /// (the others go outside and are dropped), `symbol` takes the count, `slice` cuts.
    pub struct NonZero {
        /// The symbol that it defines, new in the graph.
        pub symbol: Symbol,
    }
}

/// The first or last index along an axis at which `x` equals its reduction.
fn arg_extreme(
    b: &mut Builder<'_>,
    op: &str,
    inputs: &[ValueId],
    kind: Monoid,
    axis: usize,
    keep: bool,
    last: bool,
) -> Result<ValueId> {
    let t = b.check(op, inputs, |cx| {
        cx.count(1)?;
        let t = cx.tensor(0, Accept::NUMBER)?;
        cx.check_axis("axis", axis, t.rank())?;
        Ok(t.clone())
    })?;
    let x = inputs[0];
    let extreme = b.reduce(kind, x, &[axis], Keep::Yes)?;
    let mut hit = b.compare(CompareKind::Eq, x, extreme)?;
    if t.dtype.is_float() {
        // The extreme is NaN exactly where some element is.
        let nan = b.is_nan(x)?;
        hit = b.or(hit, nan)?;
    }
    let index = b.iota(DType::I64, t.shape.clone(), axis)?;
    let keep = if keep { Keep::Yes } else { Keep::No };
    // An empty axis leaves what the reduction starts from; the bound below it turns that into 0.
    if last {
        let none = b.full_like(index, 0.0)?;
        let candidates = b.select(hit, index, none)?;
        let found = b.reduce(Monoid::Max, candidates, &[axis], keep)?;
        let zero = b.full_like(found, 0.0)?;
        b.max(found, zero)
    } else {
        let size = b.dim_scalar(&t.shape[axis], DType::I64)?;
        let candidates = b.select(hit, index, size)?;
        let found = b.reduce(Monoid::Min, candidates, &[axis], keep)?;
        b.min(found, size)
    }
}

impl CompositeDef for ArgMax {
    const NAME: &'static str = "argmax";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let ArgMax { axis, keep_dims, last } = *self;
        Ok(vec![arg_extreme(b, Self::NAME, inputs, Monoid::Max, axis, keep_dims, last)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        let x = |dtype| [("x", Type::tensor(dtype, [2, 3, 5]))];
        Ok(vec![
            example(ArgMax { axis: 2, keep_dims: false, last: false }, x(DType::F32))?,
            example(ArgMax { axis: 0, keep_dims: true, last: true }, x(DType::I8))?,
        ])
    }
}

impl CompositeDef for ArgMin {
    const NAME: &'static str = "argmin";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let ArgMin { axis, keep_dims, last } = *self;
        Ok(vec![arg_extreme(b, Self::NAME, inputs, Monoid::Min, axis, keep_dims, last)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        let x = |dtype| [("x", Type::tensor(dtype, [2, 3, 5]))];
        Ok(vec![
            example(ArgMin { axis: 1, keep_dims: true, last: false }, x(DType::F16))?,
            example(ArgMin { axis: 2, keep_dims: false, last: true }, x(DType::U8))?,
        ])
    }
}

impl CompositeDef for OneHot {
    const NAME: &'static str = "one_hot";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let (t, axis) = b.check(Self::NAME, inputs, |cx| {
            cx.count(1)?;
            let t = cx.tensor(0, Accept::INDEX)?;
            let axis = self.axis.unwrap_or(t.rank());
            cx.check_axis("axis", axis, t.rank() + 1)?;
            cx.check_nonnegative("depth", &self.depth)?;
            if self.dtype == DType::Str {
                return Err(cx.attr_error("dtype", "expected a number or bool, found str"));
            }
            Ok((t.clone(), axis))
        })?;
        let mut dims = t.shape.into_dims();
        dims.insert(axis, self.depth.clone());
        let shape = Shape::from(dims);
        let old: Vec<usize> = (0..shape.rank()).filter(|a| *a != axis).collect();
        let indices = b.broadcast_in(inputs[0], shape.clone(), &old)?;
        let classes = b.iota(t.dtype, shape, axis)?;
        let hit = b.compare(CompareKind::Eq, indices, classes)?;
        Ok(vec![b.cast(hit, self.dtype)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        Ok(vec![
            example(
                OneHot { depth: Dim::from(5), axis: None, dtype: DType::F32 },
                [("indices", Type::tensor(DType::I64, [3]))],
            )?,
            example(
                OneHot { depth: Dim::from(3), axis: Some(1), dtype: DType::Bool },
                [("indices", Type::tensor(DType::I32, [2, 5]))],
            )?,
        ])
    }
}

impl CompositeDef for TopK {
    const NAME: &'static str = "top_k";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let t = b.check(Self::NAME, inputs, |cx| {
            cx.count(1)?;
            let t = cx.tensor(0, Accept::NUMBER)?;
            cx.check_axis("axis", self.axis, t.rank())?;
            cx.check_nonnegative("k", &self.k)?;
            let size = &t.shape[self.axis];
            if !cx.facts.proves_ge(size, &self.k) {
                let message = format!("{} elements are not known to be among {size}", self.k);
                return Err(cx.attr_error("k", message).at(cx.operand(0)));
            }
            Ok(t.clone())
        })?;
        let indices = b.iota(DType::I64, t.shape, self.axis)?;
        let sort = Sort { axis: self.axis, descending: !self.smallest };
        let sorted = b.op(Op::Sort(sort), &[inputs[0], indices])?;
        sorted.into_iter().map(|v| b.slice_axis(v, self.axis, 0, self.k.clone())).collect()
    }

    fn examples() -> Result<Vec<Graph>> {
        let x = |dtype| [("x", Type::tensor(dtype, [2, 5]))];
        Ok(vec![
            example(TopK { k: Dim::from(3), axis: 1, smallest: false }, x(DType::F32))?,
            example(TopK { k: Dim::from(1), axis: 0, smallest: true }, x(DType::I32))?,
        ])
    }
}

impl CompositeDef for NonZero {
    const NAME: &'static str = "nonzero";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let t = b.check(Self::NAME, inputs, |cx| {
            cx.count(1)?;
            cx.tensor(0, Accept::NUMBER_OR_BOOL).cloned()
        })?;
        let elements = t.shape.elements();
        let rank = t.rank();
        let hit = b.cast(inputs[0], DType::Bool)?;
        let hit = b.reshape(hit, [elements.clone()])?;
        let ones = b.cast(hit, DType::I64)?;
        let before = Cumulative { kind: Monoid::Sum, axis: 0, exclusive: true, reverse: false };
        let place = b.op1(Op::Cumulative(before), &[ones])?;
        let outside = b.dim_scalar(&elements, DType::I64)?;
        let place = b.select(hit, place, outside)?;
        let place = b.reshape(place, [elements.clone(), Dim::ONE])?;

        let mut coordinates = Vec::new();
        for axis in 0..rank {
            let along = b.iota(DType::I64, t.shape.clone(), axis)?;
            coordinates.push(b.reshape(along, [elements.clone(), Dim::ONE])?);
        }
        let vectors = match coordinates.as_slice() {
            [] => b.constant(HostTensor::zeros(DType::I64, &[1, 0])?)?,
            parts => b.concat(parts, 1)?,
        };
        let empty = b.full_like(vectors, 0.0)?;
        let scatter = Scatter { combine: Combine::Set, axes: vec![0], batch: 0 };
        let packed = b.op1(Op::Scatter(scatter), &[empty, place, vectors])?;

        let count = b.reduce(Monoid::Sum, ones, &[0], Keep::No)?;
        let define = DefineSymbol { name: self.symbol.clone(), max: elements };
        b.op1(Op::DefineSymbol(define), &[count])?;
        Ok(vec![b.slice_axis(packed, 0, 0, self.symbol.clone())?])
    }

    fn defines(&self, inputs: &[&Type]) -> Vec<(Symbol, Dim)> {
        match inputs.first().and_then(|t| t.as_tensor()) {
            Some(t) => vec![(self.symbol.clone(), t.shape.elements())],
            None => Vec::new(),
        }
    }

    fn examples() -> Result<Vec<Graph>> {
        let nonzero = || NonZero { symbol: Symbol::new("K") };
        Ok(vec![
            example(nonzero(), [("x", Type::tensor(DType::F32, [3, 5]))])?,
            example(nonzero(), [("x", Type::tensor(DType::Bool, [7]))])?,
        ])
    }
}
