//! Primitives without tensor operands, and those that go between values and symbols: iota, dims, symbol,
//! random bits. (A constant is an `Op` by itself: it holds its tensor.)

use super::infer::{Accept, Infer, check_shape};
use crate::attributes;
use crate::dim::{Dim, Symbol};
use crate::dtype::DType;
use crate::error::{Error, Place, Result};
use crate::types::{Shape, Type};

attributes! {
    /// Each element is its own index along `axis`, converted to the dtype (integers wrap, floats round).
    pub struct Iota {
        /// The dtype of the result.
        pub dtype: DType,
        /// The shape of the result.
        pub shape: Shape,
        /// Along which axis to count.
        pub axis: usize,
    }
}

attributes! {
    /// Dimension expressions as data: an i64 vector of their values in this run. Shape arithmetic of front ends
    /// starts and, after folding, ends here.
    pub struct Dims {
        /// The expressions.
        pub dims: Vec<Dim>,
    }
}

attributes! {
    /// Defines a symbol at run time from an i64 scalar, clamped to `0..=max`. The result is the clamped value; types
    /// after this operator may use the symbol.
    pub struct DefineSymbol {
        /// The symbol, new in this graph.
        pub name: Symbol,
        /// Its upper bound, which the plan allocates for.
        pub max: Dim,
    }
}

attributes! {
    /// Random bits from a key, without hidden state: Threefry-2x32 with 20 rounds. The operand is the key, `u32[2]`.
    /// Element `i` (row-major) is word `i % 2` of the block with counter `(i / 2, 0)`.
    pub struct RandomBits {
        /// The shape of the u32 result.
        pub shape: Shape,
    }
}

impl Iota {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(0)?;
        if !self.dtype.is_number() {
            return Err(cx.attr_error("dtype", format!("expected a number, found {}", self.dtype)));
        }
        cx.check_axis("axis", self.axis, self.shape.rank())?;
        check_dims(cx, "shape", &self.shape)?;
        cx.result(self.dtype, self.shape.clone())
    }
}

impl Dims {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(0)?;
        if let Some(d) = self.dims.iter().find(|d| d.is_overflow()) {
            return Err(cx.attr_error("dims", format!("`{d}` is too large an expression")));
        }
        cx.result(DType::I64, [self.dims.len()])
    }
}

impl DefineSymbol {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(1)?;
        let t = cx.ranked(0, Accept("i64", |d| d == DType::I64), 0)?;
        cx.check_nonnegative("max", &self.max)?;
        cx.result(t.dtype, Shape::scalar())
    }
}

impl RandomBits {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(1)?;
        let key = cx.ranked(0, Accept("u32", |d| d == DType::U32), 1)?;
        if !cx.facts.equal(&key.shape[0], &Dim::from(2)) {
            let message = format!("the key has 2 elements, found {}", key.shape[0]);
            return Err(cx.error(crate::error::Code::DimMismatch, 0, message));
        }
        check_dims(cx, "shape", &self.shape)?;
        cx.result(DType::U32, self.shape.clone())
    }
}

/// Checks a shape given as an attribute: no dimension may be negative for any value of the symbols.
pub(super) fn check_dims(cx: Infer<'_>, name: &str, shape: &Shape) -> Result<()> {
    let place = || Place::Attribute { op: cx.op.to_string(), name: name.to_string() };
    check_shape(shape).map_err(|e: Error| e.at(place()))?;
    shape.iter().try_for_each(|d| cx.check_nonnegative(name, d))
}
