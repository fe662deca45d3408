//! Devices that take subnormal numbers for zero, as WGSL allows: what is nearer to zero than every normal number of the dtype that is
//! computed in may have become a zero of its sign, wherever it was read or computed.
//!
//! Whether a run allows this is set for the thread that it runs in: elements of one run meet in one thread.

use super::float::FloatBound;
use crate::dtype::DType;
use std::cell::Cell;

thread_local! {
    static ALLOWED: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, subnormal numbers may be zeros in runs of this thread.
pub(in crate::interp) struct Flushing {
    before: bool,
}

impl Flushing {
    pub(in crate::interp) fn new(allowed: bool) -> Flushing {
        Flushing { before: ALLOWED.replace(allowed) }
    }
}

impl Drop for Flushing {
    fn drop(&mut self) {
        ALLOWED.set(self.before);
    }
}

/// What a product in a dtype may be off because it is near zero.
pub(super) fn least_step(kept: DType) -> f64 {
    kept.min_subnormal().unwrap_or(0.0).max(lost(kept))
}

/// What a sum may be off because it was flushed.
pub(super) fn lost(kept: DType) -> f64 {
    if ALLOWED.get() { min_normal(kept) } else { 0.0 }
}

/// The least normal number of a dtype.
pub(super) fn min_normal(kept: DType) -> f64 {
    kept.min_subnormal().unwrap_or(0.0) / kept.unit_roundoff().unwrap_or(1.0) / 2.0
}

/// Whether partial sums of this magnitude may have been flushed.
pub(super) fn may_flush(kept: DType, total: f64, grain: i32) -> bool {
    // What is a multiple of a normal number is none that is subnormal.
    ALLOWED.get() && total > 0.0 && grain < 1100 && 2f64.powi(grain.max(-1074)) < min_normal(kept)
}

/// What both numbers may be taken for zeros below, if they may: then neither is the lesser, and either may be chosen, as it is.
pub(super) fn alike(a: FloatBound, b: FloatBound, kept: DType) -> Option<f64> {
    let normal = min_normal(kept);
    let is_near = |x: FloatBound| x.lo < normal && x.hi > -normal;
    let is_zero = |x: FloatBound| x.lo == 0.0 && x.hi == 0.0;
    let equal = a.is_same(b) || is_zero(a) && is_zero(b);
    let may = ALLOWED.get() && is_near(a) && is_near(b) && !equal;
    may.then_some(normal)
}

impl FloatBound {
    /// With the zero that it may have become.
    pub(super) fn or_flushed(self, kept: DType) -> FloatBound {
        if !ALLOWED.get() || self.is_nan() {
            return self;
        }
        let normal = min_normal(kept);
        let mut with = self;
        if self.lo > 0.0 && self.lo < normal {
            with.lo = 0.0;
        }
        if self.hi < 0.0 && self.hi > -normal {
            with.hi = -0.0;
        }
        with
    }
}
