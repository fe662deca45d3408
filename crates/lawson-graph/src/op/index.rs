//! Data-dependent indexing: gather and scatter.
//!
//! Both see the indexed tensor `x` as `batch…` (its first `batch` axes, shared with the indices), the axes listed in
//! `axes` (which the index vectors address) and the rest (the *window*, taken whole). Indices have the shape
//! `batch… places… [axes.len()]`: the last axis holds one index vector.

use super::infer::{Accept, Infer};
use crate::dim::Dim;
use crate::error::{Code, Result};
use crate::types::{Shape, Type};
use crate::{attributes, keywords};

keywords! {
    /// What scatter does where an index names an element.
    pub enum Combine {
        /// The update replaces it; of several, the last in row-major order stays.
        Set = "set",
        /// The update is added.
        Add = "add",
        /// The update is multiplied in.
        Mul = "mul",
        /// The lesser stays.
        Min = "min",
        /// The greater stays.
        Max = "max",
    }
}

attributes! {
    /// `gather(x, indices)`: the result is `batch… places… window…`. Indices outside are clamped.
    pub struct Gather {
        /// The axes of `x` that indices address, in the order of the index vector; not among the batch axes.
        pub axes: Vec<usize>,
        /// How many leading axes `x` and the indices share.
        pub batch: usize = 0,
    }
}

attributes! {
    /// `scatter(x, indices, updates)`: `x` with updates (`batch… places… window…`) combined in. Updates whose index
    /// lies outside are dropped.
    pub struct Scatter {
        /// How an update meets the element. In the text form it is part of the name: `scatter_add`.
        pub combine: Combine,
        /// The axes of `x` that indices address, in the order of the index vector; not among the batch axes.
        pub axes: Vec<usize>,
        /// How many leading axes `x`, the indices and the updates share.
        pub batch: usize = 0,
    }
}

/// The axes of `x` that are neither batch nor indexed.
pub fn window_axes(rank: usize, axes: &[usize], batch: usize) -> Vec<usize> {
    (batch..rank).filter(|a| !axes.contains(a)).collect()
}

/// Checks the indexed tensor and the indices; returns the shape `batch… places… window…`.
fn indexed_shape(cx: Infer<'_>, axes: &[usize], batch: usize) -> Result<Shape> {
    let x = cx.tensor(0, Accept::ANY)?;
    let indices = cx.tensor(1, Accept::INDEX)?;
    cx.check_axes("axes", axes, x.rank())?;
    if let Some(axis) = axes.iter().find(|a| **a < batch) {
        return Err(cx.attr_error("axes", format!("axis {axis} is a batch axis")));
    }
    if batch > x.rank() || batch + 1 > indices.rank() {
        return Err(
            cx.attr_error("batch", format!("the operands do not have {batch} leading axes in common"))
        );
    }
    for axis in 0..batch {
        cx.unify((0, axis), (1, axis))?;
    }
    let last = &indices.shape[indices.rank() - 1];
    if !cx.facts.equal(last, &Dim::from(axes.len())) {
        let message = format!(
            "the last axis holds index vectors of {} entries, one for each of `axes`, found {last}",
            axes.len()
        );
        return Err(cx.error(Code::DimMismatch, 1, message));
    }
    let places = indices.shape[..indices.rank() - 1].iter().cloned();
    let window = window_axes(x.rank(), axes, batch).into_iter().map(|a| x.shape[a].clone());
    Ok(places.chain(window).collect())
}

impl Gather {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(2)?;
        let shape = indexed_shape(cx, &self.axes, self.batch)?;
        let x = cx.tensor(0, Accept::ANY)?;
        // Clamping needs somewhere to clamp to, unless nothing is gathered.
        for axis in &self.axes {
            if !cx.facts.is_positive(&x.shape[*axis]) && !shape.iter().any(|d| d.is(0)) {
                let message = format!(
                    "axis {axis} is {}, which may be 0: there may be nothing to gather",
                    x.shape[*axis]
                );
                return Err(cx.error(Code::OutOfBounds, 0, message).help("add a fact such as `N >= 1`"));
            }
        }
        cx.result(x.dtype, shape)
    }
}

impl Scatter {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(3)?;
        let x = cx.tensor(0, if self.combine == Combine::Set { Accept::ANY } else { Accept::NUMBER })?;
        let shape = indexed_shape(cx, &self.axes, self.batch)?;
        cx.same_dtype(0, 2)?;
        let updates = cx.ranked(2, Accept::ANY, shape.rank())?;
        for (axis, (have, want)) in updates.shape.iter().zip(shape.iter()).enumerate() {
            if !cx.facts.equal(have, want) {
                let message = format!("axis {axis} of the updates is {have}; indices and `x` make it {want}");
                return Err(cx.error(Code::DimMismatch, 2, message).at(cx.operand(1)));
            }
        }
        cx.result(x.dtype, x.shape.clone())
    }
}
