//! View primitives: they move elements and compute nothing. All take every dtype, text included.

use super::infer::{Accept, Infer};
use super::source::check_dims;
use crate::attributes;
use crate::dim::Dim;
use crate::error::{Code, Result};
use crate::types::{Shape, Type};

attributes! {
    /// Operand axis `i` becomes result axis `axes[i]`; operand dimensions of size 1 are repeated, all other result
    /// axes are new. `axes` ascends strictly (a `transpose` reorders).
    pub struct Broadcast {
        /// The shape of the result.
        pub shape: Shape,
        /// Where each operand axis goes.
        pub axes: Vec<usize>,
    }
}

attributes! {
    /// The same elements, row-major, in another shape.
    pub struct Reshape {
        /// The shape of the result.
        pub shape: Shape,
    }
}

attributes! {
    /// Result axis `i` is operand axis `perm[i]`.
    pub struct Transpose {
        /// A permutation of the axes.
        pub perm: Vec<usize>,
    }
}

attributes! {
    /// Element `i` of a result axis is operand element `start + i*step`. A negative step runs backwards. Every
    /// index must be known to be inside.
    pub struct Slice {
        /// The first index, one an axis.
        pub start: Vec<Dim>,
        /// The size of the result, one an axis.
        pub size: Vec<Dim>,
        /// The distance of indices, one an axis, not 0.
        pub step: Vec<i64>,
    }
}

attributes! {
    /// `dynamic_slice(x, starts)`: a window of that size; `starts` is i32 or i64, one an axis, clamped so that the
    /// window lies inside.
    pub struct DynamicSlice {
        /// The size of the result.
        pub size: Vec<Dim>,
    }
}

attributes! {
    /// `pad(x, value)`: `low` before, `high` after, and `interior` between neighbours, of a scalar.
    pub struct Pad {
        /// How many before, one an axis.
        pub low: Vec<Dim>,
        /// How many after, one an axis.
        pub high: Vec<Dim>,
        /// How many between two neighbours, one an axis.
        pub interior: Vec<i64>,
    }
}

attributes! {
    /// The operands one after another along `axis`.
    pub struct Concat {
        /// Along which axis.
        pub axis: usize,
    }
}

impl Broadcast {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(1)?;
        let t = cx.tensor(0, Accept::ANY)?;
        cx.check_len("axes", self.axes.len(), t.rank())?;
        cx.check_axes("axes", &self.axes, self.shape.rank())?;
        if !self.axes.is_sorted() {
            return Err(cx
                .attr_error("axes", "expected ascending axes")
                .help("reorder with a `transpose` first"));
        }
        check_dims(cx, "shape", &self.shape)?;
        for (i, axis) in self.axes.iter().enumerate() {
            let (from, to) = (&t.shape[i], &self.shape[*axis]);
            if !from.is(1) && !cx.facts.equal(from, to) {
                let message = format!(
                    "axis {i} of the operand is {from}; it must be 1 or {to}, axis {axis} of the result"
                );
                return Err(cx.error(Code::DimMismatch, 0, message));
            }
        }
        cx.result(t.dtype, self.shape.clone())
    }
}

impl Reshape {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(1)?;
        let t = cx.tensor(0, Accept::ANY)?;
        check_dims(cx, "shape", &self.shape)?;
        let (from, to) = (t.shape.elements(), self.shape.elements());
        if !cx.facts.equal(&from, &to) {
            let message = format!("{} has {from} elements, {} has {to}", t.shape, self.shape);
            return Err(cx.error(Code::ElementCount, 0, message));
        }
        cx.result(t.dtype, self.shape.clone())
    }
}

impl Transpose {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(1)?;
        let t = cx.tensor(0, Accept::ANY)?;
        cx.check_len("perm", self.perm.len(), t.rank())?;
        cx.check_axes("perm", &self.perm, t.rank())?;
        cx.result(t.dtype, self.perm.iter().map(|p| t.shape[*p].clone()).collect::<Shape>())
    }
}

impl Slice {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(1)?;
        let t = cx.tensor(0, Accept::ANY)?;
        cx.check_len("start", self.start.len(), t.rank())?;
        cx.check_len("size", self.size.len(), t.rank())?;
        cx.check_len("step", self.step.len(), t.rank())?;
        for axis in 0..t.rank() {
            let (start, size, step, dim) =
                (&self.start[axis], &self.size[axis], self.step[axis], &t.shape[axis]);
            if step == 0 {
                return Err(cx.attr_error("step", format!("the step of axis {axis} is 0")));
            }
            cx.check_nonnegative("size", size)?;
            if size.is(0) {
                continue;
            }
            // An empty slice may start anywhere, so the bounds are those of a slice with at least one element.
            let last = start.clone() + (size.clone() - 1) * step;
            let (low, high) = if step > 0 { (start, &last) } else { (&last, start) };
            let inside = if step == 1 {
                cx.facts.is_nonnegative(low) && cx.facts.proves_ge(dim, &(start.clone() + size.clone()))
            } else {
                cx.facts.is_nonnegative(low) && cx.facts.is_positive(&(dim.clone() - high.clone()))
            };
            if !inside {
                let message =
                    format!("indices {low} to {high} of axis {axis} are not known to lie in 0..{dim}");
                let error = cx.error(Code::OutOfBounds, 0, message);
                let constant =
                    low.as_const().is_some() && high.as_const().is_some() && dim.as_const().is_some();
                return Err(if constant {
                    error
                } else {
                    error.help("add a fact that says so, or use `dynamic_slice`, which clamps")
                });
            }
        }
        cx.result(t.dtype, Shape::from(self.size.clone()))
    }
}

/// Checks an operand of start indices: i32 or i64, one an axis.
fn check_starts(cx: Infer<'_>, operand: usize, rank: usize) -> Result<()> {
    let starts = cx.ranked(operand, Accept::INDEX, 1)?;
    if !cx.facts.equal(&starts.shape[0], &Dim::from(rank)) {
        let message = format!("expected {rank} start indices, one an axis, found {}", starts.shape[0]);
        return Err(cx.error(Code::DimMismatch, operand, message));
    }
    Ok(())
}

fn check_fits(cx: Infer<'_>, whole: &Shape, part: &[Dim], operand: usize) -> Result<()> {
    for (axis, (dim, size)) in whole.iter().zip(part).enumerate() {
        if !cx.facts.is_nonnegative(size) || !cx.facts.proves_ge(dim, size) {
            let message =
                format!("the window is {size} along axis {axis}, which is not known to fit in {dim}");
            return Err(cx.error(Code::OutOfBounds, operand, message));
        }
    }
    Ok(())
}

impl DynamicSlice {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(2)?;
        let t = cx.tensor(0, Accept::ANY)?;
        cx.check_len("size", self.size.len(), t.rank())?;
        check_starts(cx, 1, t.rank())?;
        check_fits(cx, &t.shape, &self.size, 0)?;
        cx.result(t.dtype, Shape::from(self.size.clone()))
    }
}

/// `update_slice(x, update, starts)`: `x` with a window replaced by `update`; `starts` is clamped as in
/// `dynamic_slice`.
pub fn infer_update_slice(cx: Infer<'_>) -> Result<Vec<Type>> {
    cx.count(3)?;
    let t = cx.tensor(0, Accept::ANY)?;
    cx.same_dtype(0, 1)?;
    let update = cx.ranked(1, Accept::ANY, t.rank())?;
    check_starts(cx, 2, t.rank())?;
    check_fits(cx, &t.shape, &update.shape, 1)?;
    cx.result(t.dtype, t.shape.clone())
}

impl Pad {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(2)?;
        let t = cx.tensor(0, Accept::ANY)?;
        cx.same_dtype(0, 1)?;
        cx.ranked(1, Accept::ANY, 0)?;
        cx.check_len("low", self.low.len(), t.rank())?;
        cx.check_len("high", self.high.len(), t.rank())?;
        cx.check_len("interior", self.interior.len(), t.rank())?;
        cx.check_least("interior", &self.interior, 0)?;
        let mut shape = Vec::new();
        for axis in 0..t.rank() {
            cx.check_nonnegative("low", &self.low[axis])?;
            cx.check_nonnegative("high", &self.high[axis])?;
            let body = dilated(cx, &t.shape[axis], self.interior[axis].saturating_add(1));
            shape.push(cx.facts.simplify(&(body + self.low[axis].clone() + self.high[axis].clone())));
        }
        cx.result(t.dtype, shape)
    }
}

/// The extent of `dim` elements that stand `dilation` apart: 0 for none.
pub(super) fn dilated(cx: Infer<'_>, dim: &Dim, dilation: i64) -> Dim {
    if dilation == 1 || dim.is(0) {
        return dim.clone();
    }
    let extent = (dim.clone() - 1) * dilation + 1;
    if cx.facts.is_positive(dim) { extent } else { extent.max(&Dim::ZERO) }
}

impl Concat {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.at_least(1)?;
        let first = cx.tensor(0, Accept::ANY)?;
        cx.check_axis("axis", self.axis, first.rank())?;
        let mut shape = first.shape.clone();
        for i in 1..cx.inputs.len() {
            cx.same_dtype(0, i)?;
            let part = cx.ranked(i, Accept::ANY, first.rank())?;
            for axis in (0..first.rank()).filter(|a| *a != self.axis) {
                cx.unify((0, axis), (i, axis))?;
            }
            let total = &mut shape.dims_mut()[self.axis];
            *total = total.clone() + part.shape[self.axis].clone();
        }
        cx.result(first.dtype, shape)
    }
}
