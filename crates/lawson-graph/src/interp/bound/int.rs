//! An integer or bool of which a range is known. Operators that are monotone move the ends; the others, where an operand
//! is not exact, give every value of the dtype.

use super::float::FloatBound;
use super::fold::IntFold;
use super::{linear, order};
use crate::dtype::DType;
use crate::interp::mode::{Bilinear, Carrier, Order, Whole};
use crate::interp::scalar;
use crate::number::wrap;
use crate::op::{BinaryKind, CompareKind, UnaryKind};

/// An integer and the range in which every correct target's lies.
#[derive(Clone, Copy, Debug)]
pub(in crate::interp) struct IntBound {
    /// The best guess.
    pub(in crate::interp) value: i128,
    /// The least that a target may have.
    pub(in crate::interp) lo: i128,
    /// The greatest that a target may have.
    pub(in crate::interp) hi: i128,
}

impl IntBound {
    pub(in crate::interp) const fn point(value: i128) -> IntBound {
        IntBound { value, lo: value, hi: value }
    }

    /// A truth value that may be either, with a best guess.
    pub(super) fn truth(guess: bool) -> IntBound {
        IntBound { value: i128::from(guess), lo: 0, hi: 1 }
    }

    /// A range before wrapping; if any of it would wrap, nothing is known.
    pub(super) fn in_dtype(dtype: DType, value: i128, lo: i128, hi: i128) -> IntBound {
        let (least, greatest) = scalar::int_ends(dtype);
        if lo < least || hi > greatest {
            return IntBound { value: wrap(dtype, value), lo: least, hi: greatest };
        }
        IntBound { value, lo, hi }
    }

    /// Whether zero is among the values.
    fn may_be_zero(self) -> bool {
        self.lo <= 0 && self.hi >= 0
    }
}

impl Carrier for IntBound {
    type Fold = IntFold;

    fn unknown(self, dtype: DType) -> IntBound {
        let (lo, hi) = scalar::int_ends(dtype);
        IntBound { value: self.value, lo, hi }
    }

    fn either(self, other: IntBound) -> IntBound {
        IntBound { value: self.value, lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    fn is_exact(self) -> bool {
        self.lo == self.hi
    }

    fn order(row: &[IntBound], descending: bool) -> Order<IntBound> {
        order::ints(row, descending)
    }

    fn bilinear(op: &impl Bilinear, l: &[IntBound], r: &[IntBound], terms: u64, out: DType) -> Vec<IntBound> {
        linear::ints(op, l, r, terms, out)
    }
}

impl Whole for IntBound {
    type Float = FloatBound;

    fn exact(value: i128) -> IntBound {
        IntBound::point(value)
    }

    fn value(self) -> i128 {
        self.value
    }

    fn unary(self, kind: UnaryKind, dtype: DType) -> IntBound {
        let value = scalar::unary_int(kind, dtype, self.value);
        if self.is_exact() {
            return IntBound::point(value);
        }
        let at = |x: i128| scalar::unary_int(kind, dtype, x);
        match kind {
            UnaryKind::Neg => IntBound::in_dtype(dtype, value, -self.hi, -self.lo),
            UnaryKind::Abs if self.lo >= 0 => self,
            UnaryKind::Abs if self.hi <= 0 => IntBound::in_dtype(dtype, value, -self.hi, -self.lo),
            UnaryKind::Abs => IntBound::in_dtype(dtype, value, 0, self.hi.max(-self.lo)),
            UnaryKind::Sign => IntBound { value, lo: at(self.lo), hi: at(self.hi) },
            UnaryKind::Not => IntBound { value, lo: at(self.hi), hi: at(self.lo) },
            _ => IntBound::point(value).unknown(dtype),
        }
    }

    fn binary(self, kind: BinaryKind, other: IntBound, dtype: DType) -> IntBound {
        let (a, b) = (self, other);
        let value = scalar::binary_int(kind, dtype, a.value, b.value);
        if a.is_exact() && b.is_exact() {
            return IntBound::point(value);
        }
        match kind {
            BinaryKind::Add => IntBound::in_dtype(dtype, value, a.lo + b.lo, a.hi + b.hi),
            BinaryKind::Sub => IntBound::in_dtype(dtype, value, a.lo - b.hi, a.hi - b.lo),
            BinaryKind::Mul => {
                // Products of 64-bit integers may leave i128: then nothing is known.
                let corners = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)];
                let products: Option<Vec<i128>> = corners.iter().map(|(x, y)| x.checked_mul(*y)).collect();
                match products.as_deref() {
                    Some([first, rest @ ..]) => {
                        let (lo, hi) = rest.iter().fold((*first, *first), |(l, h), p| (l.min(*p), h.max(*p)));
                        IntBound::in_dtype(dtype, value, lo, hi)
                    }
                    _ => IntBound::point(value).unknown(dtype),
                }
            }
            BinaryKind::Min => IntBound { value, lo: a.lo.min(b.lo), hi: a.hi.min(b.hi) },
            BinaryKind::Max => IntBound { value, lo: a.lo.max(b.lo), hi: a.hi.max(b.hi) },
            BinaryKind::And if dtype == DType::Bool => IntBound { value, lo: a.lo & b.lo, hi: a.hi & b.hi },
            BinaryKind::Or if dtype == DType::Bool => IntBound { value, lo: a.lo | b.lo, hi: a.hi | b.hi },
            // Quotients by a positive number move with the dividend.
            BinaryKind::Div | BinaryKind::FloorDiv | BinaryKind::Shr if b.is_exact() && b.value > 0 => {
                let at = |x: i128| scalar::binary_int(kind, dtype, x, b.value);
                IntBound { value, lo: at(a.lo), hi: at(a.hi) }
            }
            _ => IntBound::point(value).unknown(dtype),
        }
    }

    fn compare(self, kind: CompareKind, other: IntBound) -> IntBound {
        let (a, b) = (self, other);
        let (certain, impossible) = match kind {
            CompareKind::Lt => (a.hi < b.lo, a.lo >= b.hi),
            CompareKind::Le => (a.hi <= b.lo, a.lo > b.hi),
            CompareKind::Gt => (a.lo > b.hi, a.hi <= b.lo),
            CompareKind::Ge => (a.lo >= b.hi, a.hi < b.lo),
            CompareKind::Eq | CompareKind::Ne => {
                let equal = a.is_exact() && b.is_exact() && a.lo == b.lo;
                let apart = a.hi < b.lo || b.hi < a.lo;
                if kind == CompareKind::Eq { (equal, apart) } else { (apart, equal) }
            }
        };
        if certain || impossible {
            return IntBound::point(i128::from(certain));
        }
        IntBound::truth(scalar::compare(kind, &a.value, &b.value))
    }

    fn to_int(self, to: DType) -> IntBound {
        let value = wrap(to, self.value);
        if self.is_exact() {
            return IntBound::point(value);
        }
        if to == DType::Bool {
            return if self.may_be_zero() { IntBound::truth(value != 0) } else { IntBound::point(1) };
        }
        IntBound::in_dtype(to, value, self.lo, self.hi)
    }

    fn to_float(self, to: DType) -> FloatBound {
        self.as_float(to)
    }

    fn to_bits(self, from: DType, to: DType) -> FloatBound {
        self.as_bits(from, to)
    }
}
