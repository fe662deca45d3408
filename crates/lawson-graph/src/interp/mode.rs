//! What the two modes of the interpreter share: the traits that an element of a tensor implements in each of them.
//!
//! In plain mode (`plain.rs`) an element is a number. In bounded mode (`bound/`) it is a number and the range in which
//! every correct target's number lies. Primitives are written once, over these traits.

use crate::composite::Promise;
use crate::dtype::DType;
use crate::op::{BinaryKind, CompareKind, Monoid, UnaryKind};
use std::fmt;

/// A mode of computing: what stands for a float, and what for an integer or bool.
pub(super) trait Mode: Copy + fmt::Debug + Send + Sync + 'static {
    /// An element of a float tensor.
    type Float: Real<Int = Self::Int>;
    /// An element of an integer or bool tensor.
    type Int: Whole<Float = Self::Float>;

    /// What reading or writing an element is worth in products: it is converted, computed, copied, allocated.
    const ELEMENT_WORK: u128;
}

/// One element of a tensor of numbers.
pub(super) trait Carrier: Copy + fmt::Debug + Send + Sync + 'static {
    /// Combines many elements by a monoid.
    type Fold: Fold<Item = Self>;

    /// An element of which nothing is known but its dtype; `self` stays as the best guess.
    fn unknown(self, dtype: DType) -> Self;

    /// An element that may be `self` or `other`; `self` stays as the best guess.
    fn either(self, other: Self) -> Self;

    /// Whether every correct target has exactly this element.
    fn is_exact(self) -> bool;

    /// The stable order of a row of elements.
    fn order(row: &[Self], descending: bool) -> Order<Self>;

    /// Applies a bilinear operator (sums of products) to two tensors; each result sums at most `terms` products and
    /// has the dtype `out`.
    fn bilinear(op: &impl Bilinear, l: &[Self], r: &[Self], terms: u64, out: DType) -> Vec<Self>;
}

/// A float, as an element.
pub(super) trait Real: Carrier {
    /// The integers of the same mode.
    type Int: Whole<Float = Self>;

    /// A float known exactly.
    fn exact(value: f64) -> Self;
    /// The float, or the best guess at it.
    fn value(self) -> f64;
    /// A function of one number, in a dtype.
    fn unary(self, kind: UnaryKind, dtype: DType) -> Self;
    /// A function of two numbers, in a dtype.
    fn binary(self, kind: BinaryKind, other: Self, dtype: DType) -> Self;
    /// The product with itself, in a dtype: never negative, which a product of two cannot know.
    fn square(self, dtype: DType) -> Self;
    /// What a target may have instead that keeps a promise, in a dtype.
    fn promised(self, promise: Promise, dtype: DType) -> Self;
    /// A comparison.
    fn compare(self, kind: CompareKind, other: Self) -> Self::Int;
    /// Conversion to another float dtype.
    fn to_float(self, to: DType) -> Self;
    /// Conversion to an integer dtype or bool.
    fn to_int(self, to: DType) -> Self::Int;
    /// The bits as an integer.
    fn to_bits(self, from: DType, to: DType) -> Self::Int;
}

/// An integer or bool, as an element.
pub(super) trait Whole: Carrier {
    /// The floats of the same mode.
    type Float: Real<Int = Self>;

    /// An integer known exactly.
    fn exact(value: i128) -> Self;
    /// The integer, or the best guess at it.
    fn value(self) -> i128;
    /// A function of one number, in a dtype.
    fn unary(self, kind: UnaryKind, dtype: DType) -> Self;
    /// A function of two numbers, in a dtype.
    fn binary(self, kind: BinaryKind, other: Self, dtype: DType) -> Self;
    /// A comparison.
    fn compare(self, kind: CompareKind, other: Self) -> Self;
    /// Conversion to another integer dtype or bool.
    fn to_int(self, to: DType) -> Self;
    /// Conversion to a float dtype.
    fn to_float(self, to: DType) -> Self::Float;
    /// The float that has these bits.
    fn to_bits(self, from: DType, to: DType) -> Self::Float;
}

/// Combines elements one by one, in whatever order they come.
pub(super) trait Fold {
    /// What is combined.
    type Item;

    /// Nothing yet. `kept` is the dtype in which a target may keep what it has so far.
    fn start(kind: Monoid, dtype: DType, kept: DType) -> Self;
    /// One element more.
    fn push(&mut self, item: Self::Item);
    /// The combination of what was pushed, in the dtype.
    fn result(&self) -> Self::Item;
}

/// A row in order.
pub(super) struct Order<T> {
    /// The elements in order.
    pub(super) keys: Vec<T>,
    /// For each position, which element of the row stands there.
    pub(super) from: Vec<usize>,
    /// Where a group of positions begins and ends whose elements may stand in another order among themselves.
    pub(super) unsettled: Vec<std::ops::Range<usize>>,
}

/// Sums of products of two tensors, for any kind of number.
pub(super) trait Bilinear {
    /// The result's elements, row-major.
    fn apply<T: Product>(&self, l: &[T], r: &[T]) -> Vec<T>;
}

/// A number that a bilinear operator can multiply and sum.
pub(super) trait Product: Copy + Send + Sync {
    /// The empty sum.
    const ZERO: Self;
    /// `self + a * b`
    fn plus_product(self, a: Self, b: Self) -> Self;
}

impl Product for f64 {
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn plus_product(self, a: f64, b: f64) -> f64 {
        self + a * b
    }
}

/// Integers are summed modulo 2^64, which every integer dtype divides.
impl Product for i64 {
    const ZERO: i64 = 0;

    #[inline(always)]
    fn plus_product(self, a: i64, b: i64) -> i64 {
        self.wrapping_add(a.wrapping_mul(b))
    }
}
