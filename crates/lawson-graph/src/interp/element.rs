//! The elementwise primitives on one element: what evaluators of other levels compute with, so that they mean the same.
//!
//! In: elements on their carriers with the dtype that they are of; out: the result, rounded or wrapped to its dtype as in
//! plain mode. Operands of a kind that inference would refuse give NaN or 0, never a panic.

use super::mode::{Real, Whole};
use crate::dtype::DType;
use crate::number;
use crate::op::{BinaryKind, CompareKind, UnaryKind};

/// A number on its carrier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Element {
    /// A float of any dtype.
    Float(f64),
    /// An integer of any dtype, or a bool as 0 or 1.
    Int(i128),
}

impl Element {
    /// Zero.
    pub fn zero(dtype: DType) -> Element {
        if dtype.is_float() { Element::Float(0.0) } else { Element::Int(0) }
    }

    /// An integer as an element of a dtype: floats round, integers wrap.
    pub fn from_int(dtype: DType, value: i128) -> Element {
        if dtype.is_float() {
            Element::Float(number::float_from_int(dtype, value))
        } else {
            Element::Int(number::wrap(dtype, value))
        }
    }

    /// Element `index` of an array, whose length the caller has checked.
    pub fn read(dtype: DType, bytes: &[u8], index: usize) -> Element {
        if dtype.is_float() {
            Element::Float(number::read_float(dtype, bytes, index))
        } else {
            Element::Int(number::read_int(dtype, bytes, index))
        }
    }

    /// Becomes element `index` of an array, whose length the caller has checked.
    pub fn write(self, dtype: DType, bytes: &mut [u8], index: usize) {
        match self {
            Element::Float(x) => number::write_float(dtype, bytes, index, x),
            Element::Int(x) => number::write_int(dtype, bytes, index, x),
        }
    }

    /// A function of one number.
    pub fn unary(self, kind: UnaryKind, dtype: DType) -> Element {
        match self {
            Element::Float(x) => Element::Float(x.unary(kind, dtype)),
            Element::Int(x) => Element::Int(x.unary(kind, dtype)),
        }
    }

    /// A function of two numbers of one dtype.
    pub fn binary(self, kind: BinaryKind, other: Element, dtype: DType) -> Element {
        match (self, other) {
            (Element::Float(a), Element::Float(b)) => Element::Float(a.binary(kind, b, dtype)),
            (Element::Int(a), Element::Int(b)) => Element::Int(a.binary(kind, b, dtype)),
            _ => Element::Float(f64::NAN),
        }
    }

    /// `self·b + c` of one dtype. The product is as exact as the carrier: in f64 it is rounded too, as in the oracle.
    pub fn fma(self, b: Element, c: Element, dtype: DType) -> Element {
        match (self, b, c) {
            (Element::Float(a), Element::Float(b), Element::Float(c)) => {
                Element::Float(number::round(dtype, a * b + c))
            }
            _ => self.binary(BinaryKind::Mul, b, dtype).binary(BinaryKind::Add, c, dtype),
        }
    }

    /// A comparison.
    pub fn compare(self, kind: CompareKind, other: Element) -> bool {
        match (self, other) {
            (Element::Float(a), Element::Float(b)) => Real::compare(a, kind, b) != 0,
            (Element::Int(a), Element::Int(b)) => Whole::compare(a, kind, b) != 0,
            _ => false,
        }
    }

    /// The value in another dtype.
    pub fn cast(self, to: DType) -> Element {
        match self {
            Element::Float(x) if to.is_float() => Element::Float(Real::to_float(x, to)),
            Element::Float(x) => Element::Int(Real::to_int(x, to)),
            Element::Int(x) if to.is_float() => Element::Float(Whole::to_float(x, to)),
            Element::Int(x) => Element::Int(Whole::to_int(x, to)),
        }
    }

    /// The bits in another dtype of the same width.
    pub fn bitcast(self, from: DType, to: DType) -> Element {
        let mut bytes = [0u8; 8];
        self.write(from, &mut bytes, 0);
        Element::read(to, &bytes, 0)
    }

    /// Whether it is a bool that holds, or a number other than 0.
    pub fn is_true(self) -> bool {
        match self {
            Element::Float(x) => x != 0.0,
            Element::Int(x) => x != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_rounded_and_wrapped_to_their_dtype() {
        let third = Element::Float(1.0).binary(BinaryKind::Div, Element::Float(3.0), DType::F32);
        assert_eq!(third, Element::Float(f64::from(1f32 / 3.0)));
        let sum = Element::Int(200).binary(BinaryKind::Add, Element::Int(100), DType::U8);
        assert_eq!(sum, Element::Int(44));
        assert_eq!(Element::Float(-1e9).cast(DType::I8), Element::Int(-128));
        assert_eq!(Element::Float(1.0).bitcast(DType::F32, DType::I32), Element::Int(0x3f80_0000));
    }
}
