//! What must fit in a lane: indices that the code computes in 32 bits.
//!
//! Where intervals do not tell, because parameters are involved, a [`Limit`] is left for whoever knows their values.

use super::Lowering;
use crate::error::{Result, Unsupported};
use lawson_graph::Dim;
use lawson_kernel::{Atom, AxisId, Index};

/// What the kernel's parameters must satisfy for its code to be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limit {
    /// An expression over the parameters.
    pub value: Dim,
    /// The least that it may be.
    pub least: i64,
    /// The most that it may be.
    pub most: i64,
}

impl Limit {
    /// What fits in a lane.
    fn of_lane(value: Dim) -> Limit {
        Limit { value, least: i64::from(i32::MIN), most: i64::from(i32::MAX) }
    }

    /// Whether a value of the expression is allowed.
    pub fn holds(&self, value: i64) -> bool {
        (self.least..=self.most).contains(&value)
    }
}

/// The least and the greatest value of something, by the parameters.
pub(super) type Reach = (Dim, Dim);

impl<'k> Lowering<'k> {
    /// Sees to it that a lane can hold an index at this point.
    pub(super) fn must_fit(&mut self, index: &Index) -> Result<()> {
        let (lo, hi) = self.scope.interval(index);
        let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
        if lo.is_some_and(|v| v > most) || hi.is_some_and(|v| v < least) {
            return Err(Unsupported::new("an index that does not fit in 32 bits"));
        }
        let [low, high] = [lo.is_some_and(|v| v >= least), hi.is_some_and(|v| v <= most)];
        if low && high {
            return Ok(());
        }
        let (lo, hi) = self.reach(index);
        for (known, value) in [(low, lo), (high, hi)] {
            let limit = Limit::of_lane(value);
            match limit.value.as_const() {
                _ if known => {}
                Some(v) if limit.holds(v) => {}
                Some(_) => return Err(Unsupported::new("an index that does not fit in 32 bits")),
                None if limit.value.is_overflow() => {
                    return Err(Unsupported::new("an index that is too large"));
                }
                None if self.limits.contains(&limit) => {}
                None => self.limits.push(limit),
            }
        }
        Ok(())
    }

    /// Says between what the axis of a loop lies; the loop, with these bounds, is about to be entered.
    pub(super) fn set_reach(&mut self, axis: AxisId, begin: &Index, end: &Index) {
        self.reaches[axis.0 as usize] = (self.reach(begin).0, self.reach(end).1 - 1);
    }

    /// Between what an index lies at this point.
    fn reach(&self, index: &Index) -> Reach {
        let (mut lo, mut hi) = (index.offset().clone(), index.offset().clone());
        for (atom, c) in index.terms() {
            let (a, b) = self.atom_reach(atom);
            let (a, b) = (a * c.clone(), b * c.clone());
            let (less, more) = match c.as_const() {
                Some(c) if c >= 0 => (a, b),
                Some(_) => (b, a),
                None => (a.min(&b), a.max(&b)),
            };
            (lo, hi) = (lo + less, hi + more);
        }
        (lo, hi)
    }

    fn atom_reach(&self, atom: &Atom) -> Reach {
        let members = |m: &[Index], join: fn(&Dim, &Dim) -> Dim| {
            let all = m.iter().map(|i| self.reach(i));
            all.reduce(|a, b| (join(&a.0, &b.0), join(&a.1, &b.1))).unwrap_or((Dim::ZERO, Dim::ZERO))
        };
        match atom {
            Atom::Axis(a) => self.axis_reach(*a),
            Atom::Div(i, d) => {
                let ((lo, hi), d) = (self.reach(i), d.max(&Dim::ONE));
                (lo.floor_div(&d), hi.floor_div(&d))
            }
            Atom::Mod(_, d) => (Dim::ZERO, d.max(&Dim::ONE) - 1),
            Atom::At(datum) => (Dim::ZERO, datum.end.max(&Dim::ONE) - 1),
            Atom::Min(m) => members(m, Dim::min),
            Atom::Max(m) => members(m, Dim::max),
        }
    }

    fn axis_reach(&self, axis: AxisId) -> Reach {
        if self.vector.as_ref().is_some_and(|v| v.axis == axis) {
            return (Dim::ZERO, Dim::from(self.lanes - 1));
        }
        match self.scope.range(axis).and_then(|r| Some((r.lo, r.hi?))) {
            // No loop begins below 0, whatever is known of its bounds.
            Some((lo, hi)) => (Dim::from(lo.max(0)), Dim::from(hi)),
            None => self.reaches[axis.0 as usize].clone(),
        }
    }
}
