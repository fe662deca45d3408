//! Plain mode: an element is a number, and every float is rounded to its dtype after each primitive. Sums and
//! products of many are kept in f64 (modulo 2^64 for integers) and rounded once.

use super::mode::{Bilinear, Carrier, Fold, Mode, Order, Real, Whole};
use super::scalar;
use crate::composite::Promise;
use crate::dtype::DType;
use crate::number::{float_from_int, round, saturate, wrap};
use crate::op::{BinaryKind, CompareKind, Monoid, UnaryKind};
use std::cmp::Ordering;

/// Plain mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain;

impl Mode for Plain {
    type Float = f64;
    type Int = i128;

    const ELEMENT_WORK: u128 = 4;
}

/// A monoid over plain elements.
pub(super) struct PlainFold<T> {
    kind: Monoid,
    dtype: DType,
    so_far: T,
}

impl Carrier for f64 {
    type Fold = PlainFold<f64>;

    fn unknown(self, _: DType) -> f64 {
        self
    }

    fn either(self, _: f64) -> f64 {
        self
    }

    fn is_exact(self) -> bool {
        true
    }

    fn order(row: &[f64], descending: bool) -> Order<f64> {
        order_by(row, descending, float_order)
    }

    fn bilinear(op: &impl Bilinear, l: &[f64], r: &[f64], _: u64, out: DType) -> Vec<f64> {
        let mut sums = op.apply(l, r);
        sums.iter_mut().for_each(|x| *x = round(out, *x));
        sums
    }
}

/// NaN is greater than everything, the two zeros are equal.
pub(super) fn float_order(a: &f64, b: &f64) -> Ordering {
    a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// A stable order, either way round.
pub(super) fn order_by<T: Clone>(
    row: &[T],
    descending: bool,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Order<T> {
    let mut from: Vec<usize> = (0..row.len()).collect();
    from.sort_by(|a, b| {
        let ascending = compare(&row[*a], &row[*b]);
        if descending { ascending.reverse() } else { ascending }
    });
    Order { keys: from.iter().map(|i| row[*i].clone()).collect(), from, unsettled: Vec::new() }
}

impl Real for f64 {
    type Int = i128;

    fn exact(value: f64) -> f64 {
        value
    }

    fn value(self) -> f64 {
        self
    }

    fn unary(self, kind: UnaryKind, dtype: DType) -> f64 {
        round(dtype, scalar::unary_float(kind, self))
    }

    fn binary(self, kind: BinaryKind, other: f64, dtype: DType) -> f64 {
        round(dtype, scalar::binary_float(kind, self, other))
    }

    fn square(self, dtype: DType) -> f64 {
        round(dtype, self * self)
    }

    fn promised(self, _: Promise, _: DType) -> f64 {
        self
    }

    fn compare(self, kind: CompareKind, other: f64) -> i128 {
        i128::from(scalar::compare(kind, &self, &other))
    }

    fn to_float(self, to: DType) -> f64 {
        round(to, self)
    }

    fn to_int(self, to: DType) -> i128 {
        // `x != 0` holds for NaN, which `saturate` takes to 0.
        if to == DType::Bool { i128::from(self != 0.0) } else { saturate(to, self) }
    }

    fn to_bits(self, from: DType, to: DType) -> i128 {
        scalar::float_bits(from, to, self)
    }
}

impl Fold for PlainFold<f64> {
    type Item = f64;

    fn start(kind: Monoid, dtype: DType, _: DType) -> PlainFold<f64> {
        let (least, greatest) = scalar::float_ends(dtype);
        let so_far = match kind {
            Monoid::Sum => 0.0,
            Monoid::Prod => 1.0,
            Monoid::Max => least,
            Monoid::Min => greatest,
            // Inference keeps these away from floats.
            Monoid::And | Monoid::Or => f64::NAN,
        };
        PlainFold { kind, dtype, so_far }
    }

    fn push(&mut self, item: f64) {
        let kind = match self.kind {
            Monoid::Sum => return self.so_far += item,
            Monoid::Prod => BinaryKind::Mul,
            Monoid::Max => BinaryKind::Max,
            Monoid::Min => BinaryKind::Min,
            Monoid::And => BinaryKind::And,
            Monoid::Or => BinaryKind::Or,
        };
        self.so_far = scalar::binary_float(kind, self.so_far, item);
    }

    fn result(&self) -> f64 {
        round(self.dtype, self.so_far)
    }
}

impl Carrier for i128 {
    type Fold = PlainFold<i128>;

    fn unknown(self, _: DType) -> i128 {
        self
    }

    fn either(self, _: i128) -> i128 {
        self
    }

    fn is_exact(self) -> bool {
        true
    }

    fn order(row: &[i128], descending: bool) -> Order<i128> {
        order_by(row, descending, i128::cmp)
    }

    fn bilinear(op: &impl Bilinear, l: &[i128], r: &[i128], _: u64, out: DType) -> Vec<i128> {
        let low = |x: &[i128]| -> Vec<i64> { x.iter().map(|v| *v as i64).collect() };
        op.apply(&low(l), &low(r)).into_iter().map(|x| wrap(out, i128::from(x))).collect()
    }
}

impl Whole for i128 {
    type Float = f64;

    fn exact(value: i128) -> i128 {
        value
    }

    fn value(self) -> i128 {
        self
    }

    fn unary(self, kind: UnaryKind, dtype: DType) -> i128 {
        scalar::unary_int(kind, dtype, self)
    }

    fn binary(self, kind: BinaryKind, other: i128, dtype: DType) -> i128 {
        scalar::binary_int(kind, dtype, self, other)
    }

    fn compare(self, kind: CompareKind, other: i128) -> i128 {
        i128::from(scalar::compare(kind, &self, &other))
    }

    fn to_int(self, to: DType) -> i128 {
        wrap(to, self)
    }

    fn to_float(self, to: DType) -> f64 {
        float_from_int(to, self)
    }

    fn to_bits(self, from: DType, to: DType) -> f64 {
        scalar::float_from_bits(from, to, self)
    }
}

impl Fold for PlainFold<i128> {
    type Item = i128;

    fn start(kind: Monoid, dtype: DType, _: DType) -> PlainFold<i128> {
        let (least, greatest) = scalar::int_ends(dtype);
        let so_far = match kind {
            Monoid::Sum | Monoid::Or => 0,
            Monoid::Prod => 1,
            Monoid::Max => least,
            Monoid::Min => greatest,
            Monoid::And => wrap(dtype, -1),
        };
        PlainFold { kind, dtype, so_far }
    }

    fn push(&mut self, item: i128) {
        let kind = match self.kind {
            Monoid::Sum => BinaryKind::Add,
            Monoid::Prod => BinaryKind::Mul,
            Monoid::Max => BinaryKind::Max,
            Monoid::Min => BinaryKind::Min,
            Monoid::And => BinaryKind::And,
            Monoid::Or => BinaryKind::Or,
        };
        self.so_far = scalar::binary_int(kind, self.dtype, self.so_far, item);
    }

    fn result(&self) -> i128 {
        self.so_far
    }
}
