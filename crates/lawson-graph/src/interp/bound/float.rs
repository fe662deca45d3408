//! A float of which a range is known: the lattice (exact, a range, anything), conversions and comparisons.

use super::directed::{Toward, greatest, least};
use super::fold::FloatFold;
use super::int::IntBound;
use super::{linear, order};
use crate::composite::Promise;
use crate::dtype::DType;
use crate::interp::mode::{Bilinear, Carrier, Order, Real, Whole};
use crate::interp::scalar;
use crate::number::{round, saturate};
use crate::op::{BinaryKind, CompareKind, UnaryKind};
use std::cell::Cell;

/// A float and the range in which every correct target's lies. Certainly NaN: both ends are NaN. Anything at all, NaN
/// included: from -inf to inf. Ends tell the zeros apart.
#[derive(Clone, Copy, Debug)]
pub(in crate::interp) struct FloatBound {
    /// The best guess, computed in f64 without rounding.
    pub(in crate::interp) value: f64,
    /// The least that a target may have.
    pub(in crate::interp) lo: f64,
    /// The greatest that a target may have.
    pub(in crate::interp) hi: f64,
    /// Which result of a primitive it is, wherever it was moved; 0 if that is not known. Two ranges of one identity hold
    /// one number: so the greatest of a row is known to equal the element that it is.
    identity: u64,
}

/// A new identity. Elements of one run meet in one thread.
fn fresh() -> u64 {
    thread_local! {
        static LAST: Cell<u64> = const { Cell::new(0) };
    }
    LAST.with(|last| {
        last.set(last.get() + 1);
        last.get()
    })
}

impl FloatBound {
    pub(in crate::interp) const fn point(value: f64) -> FloatBound {
        FloatBound { value, lo: value, hi: value, identity: 0 }
    }

    /// Anything, with a best guess.
    pub(in crate::interp) const fn anything(value: f64) -> FloatBound {
        FloatBound { value, lo: f64::NEG_INFINITY, hi: f64::INFINITY, identity: 0 }
    }

    /// A range; ends that are NaN make it anything.
    pub(super) fn range(value: f64, lo: f64, hi: f64) -> FloatBound {
        if lo.is_nan() || hi.is_nan() {
            return FloatBound::anything(value);
        }
        FloatBound { value, lo, hi, identity: 0 }
    }

    pub(in crate::interp) fn is_point(self) -> bool {
        self.lo.to_bits() == self.hi.to_bits() || self.is_nan()
    }

    /// Whether both are the same result of the same primitive.
    pub(super) fn is_same(self, other: FloatBound) -> bool {
        self.identity != 0 && self.identity == other.identity
    }

    /// Whether it is certainly NaN.
    pub(in crate::interp) fn is_nan(self) -> bool {
        self.lo.is_nan() && self.hi.is_nan()
    }

    pub(in crate::interp) fn is_anything(self) -> bool {
        self.lo == f64::NEG_INFINITY && self.hi == f64::INFINITY
    }

    /// Whether both ends are finite.
    pub(super) fn is_finite(self) -> bool {
        self.lo.is_finite() && self.hi.is_finite()
    }

    /// Whether it may be on either side of zero, or a zero of either sign.
    pub(super) fn straddles(self) -> bool {
        self.lo.is_sign_negative() && self.hi.is_sign_positive()
    }

    /// The same range without what lies below zero; anything stays anything.
    pub(super) fn not_negative(self) -> FloatBound {
        if self.is_anything() { self } else { FloatBound { lo: self.lo.max(0.0), ..self } }
    }

    /// The greatest magnitude.
    pub(super) fn magnitude(self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// A result of a dtype whose exact value lies in the range: a target may leave it as it is, keep it in the
    /// accumulator dtype, or round it to the dtype. Each of the three is monotone, so the ends tell.
    pub(super) fn rounded(self, dtype: DType) -> FloatBound {
        if self.is_nan() && !dtype.has_nan() {
            // Left as it is, it is NaN; rounded, it is 0.
            return FloatBound::anything(0.0);
        }
        if self.is_nan() || self.is_anything() {
            return self;
        }
        let kept = dtype.accumulator();
        let (lo, hi) =
            ([round(kept, self.lo), round(dtype, self.lo)], [round(kept, self.hi), round(dtype, self.hi)]);
        if lo.iter().chain(&hi).any(|x| x.is_nan()) {
            return FloatBound::anything(self.value);
        }
        FloatBound {
            value: self.value,
            lo: lo.into_iter().fold(self.lo, least),
            hi: hi.into_iter().fold(self.hi, greatest),
            identity: fresh(),
        }
        .or_flushed(kept)
    }

    /// The value as a target gives it out: rounded to the dtype.
    pub(in crate::interp) fn stored(self, dtype: DType) -> FloatBound {
        if self.is_anything() {
            return self;
        }
        let (lo, hi) = (round(dtype, self.lo), round(dtype, self.hi));
        match (lo.is_nan(), hi.is_nan()) {
            (false, false) if !dtype.has_nan() => {
                FloatBound { value: round(dtype, self.value), lo, hi, identity: 0 }
            }
            (false, false) => FloatBound { value: self.value, lo, hi, identity: 0 },
            (true, true) => FloatBound::point(f64::NAN),
            _ => FloatBound::anything(self.value),
        }
    }
}

impl Carrier for FloatBound {
    type Fold = FloatFold;

    fn unknown(self, _: DType) -> FloatBound {
        FloatBound::anything(self.value)
    }

    fn either(self, other: FloatBound) -> FloatBound {
        match (self.is_nan(), other.is_nan()) {
            (true, true) => self,
            (false, false) if self.is_same(other) => self,
            (false, false) => FloatBound {
                value: self.value,
                lo: least(self.lo, other.lo),
                hi: greatest(self.hi, other.hi),
                identity: fresh(),
            },
            _ => FloatBound::anything(self.value),
        }
    }

    fn is_exact(self) -> bool {
        self.is_point()
    }

    fn order(row: &[FloatBound], descending: bool) -> Order<FloatBound> {
        order::floats(row, descending)
    }

    fn bilinear(
        op: &impl Bilinear,
        l: &[FloatBound],
        r: &[FloatBound],
        terms: u64,
        out: DType,
    ) -> Vec<FloatBound> {
        linear::floats(op, l, r, terms, out)
    }
}

impl Real for FloatBound {
    type Int = IntBound;

    fn exact(value: f64) -> FloatBound {
        FloatBound::point(value).or_flushed(DType::F32)
    }

    fn value(self) -> f64 {
        self.value
    }

    fn unary(self, kind: UnaryKind, dtype: DType) -> FloatBound {
        super::unary::apply(kind, self, dtype)
    }

    fn binary(self, kind: BinaryKind, other: FloatBound, dtype: DType) -> FloatBound {
        super::binary::apply(kind, self, other, dtype)
    }

    fn square(self, dtype: DType) -> FloatBound {
        super::binary::square(self, dtype)
    }

    fn promised(self, promise: Promise, dtype: DType) -> FloatBound {
        super::unary::promised(self, promise, dtype)
    }

    fn compare(self, kind: CompareKind, other: FloatBound) -> IntBound {
        let (a, b) = (self, other);
        let guess = scalar::compare(kind, &a.value, &b.value);
        if a.is_nan() || b.is_nan() {
            return IntBound::point(i128::from(kind == CompareKind::Ne));
        }
        if a.is_anything() || b.is_anything() {
            return IntBound::truth(guess);
        }
        if a.is_same(b) {
            let holds = matches!(kind, CompareKind::Eq | CompareKind::Le | CompareKind::Ge);
            return IntBound::point(i128::from(holds));
        }
        let (certain, impossible) = match kind {
            CompareKind::Lt => (a.hi < b.lo, a.lo >= b.hi),
            CompareKind::Le => (a.hi <= b.lo, a.lo > b.hi),
            CompareKind::Gt => (a.lo > b.hi, a.hi <= b.lo),
            CompareKind::Ge => (a.lo >= b.hi, a.hi < b.lo),
            CompareKind::Eq | CompareKind::Ne => {
                let equal = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;
                let apart = a.hi < b.lo || b.hi < a.lo;
                if kind == CompareKind::Eq { (equal, apart) } else { (apart, equal) }
            }
        };
        if certain || impossible { IntBound::point(i128::from(certain)) } else { IntBound::truth(guess) }
    }

    fn to_float(self, to: DType) -> FloatBound {
        self.rounded(to)
    }

    fn to_int(self, to: DType) -> IntBound {
        if to == DType::Bool {
            return self.compare(CompareKind::Ne, FloatBound::point(0.0));
        }
        if self.is_nan() {
            return IntBound::point(0);
        }
        let value = saturate(to, self.value);
        if self.is_anything() {
            return IntBound::point(value).unknown(to);
        }
        IntBound { value, lo: saturate(to, self.lo), hi: saturate(to, self.hi) }
    }

    fn to_bits(self, from: DType, to: DType) -> IntBound {
        let bits = IntBound::point(scalar::float_bits(from, to, self.value));
        // Which NaN it is, nothing says.
        if self.is_point() && !self.is_nan() { bits } else { bits.unknown(to) }
    }
}

/// A float that is known as an integer is: both ends converted, outwards.
pub(super) fn from_int(x: IntBound, to: DType) -> FloatBound {
    let outward = |v: i128, toward: Toward| {
        let nearest = v as f64;
        // Every integer of a dtype is far below 2^127, so the way back is exact.
        let back = nearest as i128;
        match toward {
            Toward::Down if back > v => nearest.next_down(),
            Toward::Up if back < v => nearest.next_up(),
            _ => nearest,
        }
    };
    let range = FloatBound::range(x.value as f64, outward(x.lo, Toward::Down), outward(x.hi, Toward::Up));
    // Rounding f64 again could tie wrongly; the conversion from the integer itself rounds once.
    let rounded = range.rounded(to);
    let once = |v: i128| crate::number::float_from_int(to, v);
    if rounded.is_anything() {
        return rounded;
    }
    FloatBound::range(rounded.value, least(rounded.lo, once(x.lo)), greatest(rounded.hi, once(x.hi)))
}

impl IntBound {
    /// As a float of a dtype.
    pub(super) fn as_float(self, to: DType) -> FloatBound {
        from_int(self, to)
    }

    /// As the float whose bits it is.
    pub(super) fn as_bits(self, from: DType, to: DType) -> FloatBound {
        let value = scalar::float_from_bits(from, to, self.value());
        if self.is_exact() { FloatBound::exact(value) } else { FloatBound::anything(value) }
    }
}
