//! Sums, products and extremes of many elements with ranges, formed in any order.
//!
//! A sum of n numbers, rounded at every addition to a dtype with unit roundoff u, in whatever order, is within
//! γ·Σ|xᵢ| of the exact sum, γ = (n-1)u / (1 - (n-1)u). Over ranges, xᵢ - γ|xᵢ| is least at the lower end, so the least
//! sum is Σ(loᵢ - γ|loᵢ|), and the greatest likewise.

use super::directed::{self, Toward};
use super::float::FloatBound;
use super::flush::{lost, may_flush, min_normal};
use super::int::IntBound;
use crate::dtype::DType;
use crate::interp::mode::{Carrier, Fold, Whole};
use crate::interp::scalar;
use crate::number::wrap;
use crate::op::{BinaryKind, Monoid};

/// γ for `n` roundings; infinite where the bound breaks down.
pub(super) fn gamma(n: f64, unit_roundoff: f64) -> f64 {
    let nu = n * unit_roundoff;
    if nu < 0.5 { nu / (1.0 - nu) } else { f64::INFINITY }
}

/// The unit roundoff of f64, in which the sums here are formed.
pub(super) const OWN_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// The exponent of the last bit of a float: it is a whole multiple of 2 to that power. 0 is a multiple of everything.
pub(super) fn grain(x: f64) -> i32 {
    let bits = x.abs().to_bits();
    if bits == 0 {
        return i32::MAX;
    }
    let exponent = ((bits >> 52) as i32).max(1) - 1075;
    let significand = if bits >> 52 == 0 { bits } else { (bits & ((1 << 52) - 1)) | (1 << 52) };
    exponent + significand.trailing_zeros() as i32
}

/// Whether all partial sums are exact in a dtype: they are multiples of `2^grain`, none of which is beyond `total` or between its least numbers.
pub(super) fn sums_exactly(total: f64, grain: i32, kept: DType) -> bool {
    let bits = kept.significand_bits().unwrap_or(0) as i32;
    let is_whole = 2f64.powi(grain) >= kept.min_subnormal().unwrap_or(0.0);
    // The grain of nothing but zeros is beyond every float.
    grain > 1100 || is_whole && total <= 2f64.powi(bits.saturating_add(grain).clamp(-1074, 1023))
}

/// A monoid over floats with ranges.
pub(in crate::interp) enum FloatFold {
    Sum(Sum),
    Product(Product),
    Extreme { kind: BinaryKind, dtype: DType, so_far: FloatBound },
}

/// A sum of any order.
pub(in crate::interp) struct Sum {
    dtype: DType,
    kept: DType,
    /// How many were not exactly zero.
    count: f64,
    value: f64,
    lo: f64,
    hi: f64,
    lo_magnitude: f64,
    hi_magnitude: f64,
    /// Whether all were single points, and the least exponent of their last bits.
    points: bool,
    grain: i32,
    /// The sum of those that were exactly infinite or NaN, if there were any.
    special: Option<f64>,
    /// Whether something may have been infinite or NaN.
    wild: bool,
    /// Whether a zero was negative: then the sign of a zero sum depends on the order.
    negative_zero: bool,
}

/// A product of any order.
pub(in crate::interp) struct Product {
    dtype: DType,
    kept: DType,
    count: f64,
    so_far: FloatBound,
    /// The products of what is above 1 and of what is below: no partial product of any order leaves them.
    grown: f64,
    shrunk: f64,
}

impl Fold for FloatFold {
    type Item = FloatBound;

    fn start(kind: Monoid, dtype: DType, kept: DType) -> FloatFold {
        let (least, greatest) = scalar::float_ends(dtype);
        match kind {
            Monoid::Sum => FloatFold::Sum(Sum {
                dtype,
                kept,
                count: 0.0,
                value: 0.0,
                lo: 0.0,
                hi: 0.0,
                lo_magnitude: 0.0,
                hi_magnitude: 0.0,
                points: true,
                grain: i32::MAX,
                special: None,
                wild: false,
                negative_zero: false,
            }),
            Monoid::Prod => {
                let so_far = FloatBound::point(1.0);
                FloatFold::Product(Product { dtype, kept, count: 0.0, so_far, grown: 1.0, shrunk: 1.0 })
            }
            Monoid::Min => {
                FloatFold::Extreme { kind: BinaryKind::Min, dtype, so_far: FloatBound::point(greatest) }
            }
            // Inference keeps `and` and `or` away from floats.
            Monoid::Max | Monoid::And | Monoid::Or => {
                FloatFold::Extreme { kind: BinaryKind::Max, dtype, so_far: FloatBound::point(least) }
            }
        }
    }

    fn push(&mut self, x: FloatBound) {
        match self {
            FloatFold::Sum(sum) => sum.push(x),
            FloatFold::Product(product) => product.push(x),
            FloatFold::Extreme { kind, dtype, so_far } => {
                *so_far = super::binary::apply(*kind, *so_far, x, *dtype);
            }
        }
    }

    fn result(&self) -> FloatBound {
        match self {
            FloatFold::Sum(sum) => sum.result(),
            FloatFold::Product(product) => product.result(),
            FloatFold::Extreme { so_far, .. } => *so_far,
        }
    }
}

impl Sum {
    fn push(&mut self, x: FloatBound) {
        if x.is_point() && !x.lo.is_finite() {
            self.special = Some(self.special.unwrap_or(0.0) + x.lo);
            return;
        }
        if !x.is_finite() {
            self.wild = true;
            return;
        }
        if x.lo == 0.0 && x.hi == 0.0 {
            self.negative_zero |= x.lo.is_sign_negative();
            return;
        }
        self.count += 1.0;
        self.value += x.value;
        self.lo += x.lo;
        self.hi += x.hi;
        self.lo_magnitude += x.lo.abs();
        self.hi_magnitude += x.hi.abs();
        if x.is_point() {
            self.grain = self.grain.min(grain(x.lo));
        } else {
            self.points = false;
        }
    }

    fn result(&self) -> FloatBound {
        if self.special.is_some_and(f64::is_nan) {
            return FloatBound::point(f64::NAN);
        }
        let value = self.value + self.special.unwrap_or(0.0);
        if self.wild {
            return FloatBound::anything(value);
        }
        let roundings = (self.count - 1.0).max(0.0);
        let unit = self.kept.unit_roundoff().unwrap_or(0.0);
        let off = gamma(roundings, unit) + gamma(roundings + 1.0, OWN_ROUNDOFF);
        // No partial sum goes beyond all that is positive, or all that is negative.
        let positive = (self.hi_magnitude + self.hi) / 2.0;
        let negative = (self.lo_magnitude - self.lo) / 2.0;
        let top = positive.max(negative) * (1.0 + off) * (1.0 + 1e-12)
            + off * self.lo_magnitude.max(self.hi_magnitude);
        let fits = top <= self.kept.max_finite().unwrap_or(f64::MAX);
        match self.special {
            // A finite part that overflowed the other way would make NaN of the infinity.
            Some(special) if fits => return FloatBound::point(special),
            Some(_) => return FloatBound::anything(value),
            None => {}
        }
        if self.count == 0.0 {
            return FloatBound::range(0.0, if self.negative_zero { -0.0 } else { 0.0 }, 0.0);
        }
        let flushed = may_flush(self.kept, self.lo_magnitude.max(self.hi_magnitude), self.grain);
        if self.points && sums_exactly(self.lo_magnitude, self.grain, self.kept) && fits && !flushed {
            return FloatBound::point(self.value).rounded(self.dtype);
        }
        let near_zero = if flushed || !self.points { self.count * lost(self.kept) } else { 0.0 };
        let lo = self.lo - off * self.lo_magnitude * (1.0 + 1e-12) - near_zero;
        let hi = self.hi + off * self.hi_magnitude * (1.0 + 1e-12) + near_zero;
        let range = match () {
            () if fits => FloatBound::range(value, lo, hi),
            // Terms of one sign overflow to one side only.
            () if self.lo_magnitude == self.lo => FloatBound::range(value, lo.min(f64::MAX), f64::INFINITY),
            () if self.hi_magnitude == -self.hi => {
                FloatBound::range(value, f64::NEG_INFINITY, hi.max(f64::MIN))
            }
            () => FloatBound::anything(value),
        };
        range.rounded(self.dtype)
    }
}

impl Product {
    fn push(&mut self, x: FloatBound) {
        if x.lo == 1.0 && x.hi == 1.0 {
            return;
        }
        self.count += 1.0;
        // In f64, so that nothing is rounded but what f64 cannot hold.
        self.so_far = super::binary::apply(BinaryKind::Mul, self.so_far, x, DType::F64);
        self.grown *= x.magnitude().max(1.0);
        let near = if x.straddles() { 0.0 } else { x.lo.abs().min(x.hi.abs()) };
        // A product with an exact zero is zero, however it underflows.
        if !(x.lo == 0.0 && x.hi == 0.0) {
            self.shrunk *= near.min(1.0);
        }
    }

    fn result(&self) -> FloatBound {
        let x = self.so_far;
        if self.count <= 1.0 || x.is_nan() {
            return x.rounded(self.dtype);
        }
        let off = gamma(self.count, self.kept.unit_roundoff().unwrap_or(0.0));
        let normal = 2.0 * min_normal(self.kept);
        let fits = self.grown * (1.0 + off) <= self.kept.max_finite().unwrap_or(f64::MAX)
            && (self.shrunk >= normal || x.is_point() && x.lo == 0.0);
        if !fits || !x.is_finite() {
            return FloatBound::anything(x.value);
        }
        let widen = |end: f64, toward: Toward| {
            directed::add(end, end.abs() * off * if toward == Toward::Down { -1.0 } else { 1.0 }, toward)
        };
        FloatBound::range(x.value, widen(x.lo, Toward::Down), widen(x.hi, Toward::Up)).rounded(self.dtype)
    }
}

/// A monoid over integers with ranges.
pub(in crate::interp) struct IntFold {
    kind: BinaryKind,
    dtype: DType,
    so_far: IntBound,
}

impl Fold for IntFold {
    type Item = IntBound;

    fn start(kind: Monoid, dtype: DType, _: DType) -> IntFold {
        let (least, greatest) = scalar::int_ends(dtype);
        let (kind, start) = match kind {
            Monoid::Sum => (BinaryKind::Add, 0),
            Monoid::Prod => (BinaryKind::Mul, 1),
            Monoid::Max => (BinaryKind::Max, least),
            Monoid::Min => (BinaryKind::Min, greatest),
            Monoid::And => (BinaryKind::And, wrap(dtype, -1)),
            Monoid::Or => (BinaryKind::Or, 0),
        };
        IntFold { kind, dtype, so_far: IntBound::point(start) }
    }

    fn push(&mut self, x: IntBound) {
        // What wraps in one order may not in another, but the sum of exact numbers is the same in all; a range that
        // may wrap is already everything.
        self.so_far = self.so_far.binary(self.kind, x, self.dtype);
    }

    fn result(&self) -> IntBound {
        debug_assert!(self.so_far.lo <= self.so_far.hi || self.so_far.is_exact());
        self.so_far
    }
}
