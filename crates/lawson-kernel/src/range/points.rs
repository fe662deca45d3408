//! Proofs by looking at every point: where few points are left and no parameters, each can be tried. Refutations by looking at two of them.

use super::{Bounds, Scope, Side};
use crate::expr::Condition;
use crate::index::Index;
use crate::tree::AxisId;
use lawson_graph::Dim;

/// More points than this are not looked at.
const MOST: usize = 1 << 13;
/// More than axes are compared with.
const FAR: i64 = 1 << 48;

struct Points<'s> {
    /// The loops that matter, from the root: axis, begin, end, step.
    loops: Vec<(AxisId, &'s Index, &'s Index, i64)>,
    values: Vec<Option<i64>>,
    given: Vec<(Index, i64)>,
    index: &'s Index,
    end: i64,
    seen: usize,
}

impl Scope<'_> {
    /// Whether `0 <= index < end` at every point of the loops entered at which the conditions hold. The index must be
    /// resolved. False also where that would take too long, or depends on parameters.
    pub(super) fn proves_by_points(&self, index: &Index, end: &Dim, given: &[Condition]) -> bool {
        let Some(end) = end.as_const().filter(|_| is_free(index)) else { return false };
        // A condition on parameters is not used: without it, there are more points to hold for.
        let given: Vec<(Index, i64)> = given
            .iter()
            .filter_map(|c| Some((self.kernel.resolve(&c.index), c.end.as_const()?)))
            .filter(|(i, _)| is_free(i))
            .collect();
        let mut needed: Vec<AxisId> = Vec::new();
        index.visit_axes(&mut |a| needed.push(a));
        given.iter().for_each(|(i, _)| i.visit_axes(&mut |a| needed.push(a)));
        // From the innermost: bounds mention loops further out.
        let mut loops = Vec::new();
        for bounds in self.bounds.iter().rev() {
            let Bounds { axis, begin, end, step } = &**bounds;
            if needed.contains(axis) {
                if !is_free(begin) || !is_free(end) {
                    return false;
                }
                begin.visit_axes(&mut |a| needed.push(a));
                end.visit_axes(&mut |a| needed.push(a));
                loops.push((*axis, begin, end, *step));
            }
        }
        loops.reverse();
        let values = vec![None; self.kernel.axes.len()];
        Points { loops, values, given, index, end, seen: 0 }.hold(0)
    }

    /// Whether `0 <= index < end` is false at a point that all loops entered reach and at which the conditions hold: nothing proves it then. Only
    /// a few points are looked at, where the index is likely to be least and greatest, and none whose place depends on parameters or data. The index
    /// must be resolved.
    pub(super) fn refutes_within(&self, index: &Index, end: &Dim, given: &[Condition]) -> bool {
        let Some(end) = end.as_const() else { return false };
        let ends = [Side::Low, Side::High];
        ends.into_iter().flat_map(|side| ends.map(|other| (side, other))).any(|(side, other)| {
            let Some(values) = self.corner(index, side, other) else { return false };
            let outside = |i: &Index, end: i64| value_at(i, &values).map(|v| !(0..end).contains(&v));
            let holds = |c: &Condition| {
                c.end.as_const().is_some_and(|e| outside(&self.kernel.resolve(&c.index), e) == Some(false))
            };
            outside(index, end) == Some(true) && given.iter().all(holds)
        })
    }

    /// The values of axes in one iteration of all loops entered, each the first or the last one where the index is least or greatest if it is a sum.
    /// Of other loops it is the first or the last one as well.
    fn corner(&self, index: &Index, side: Side, other: Side) -> Option<Vec<Option<i64>>> {
        // An axis that is fixed has one value, whether or not its loop was entered.
        let mut values: Vec<Option<i64>> =
            (0..self.kernel.axes.len()).map(|a| self.value(AxisId(a as u32))).collect();
        let is_last = |axis: AxisId| match index.terms().iter().find(|(a, _)| a.mentions(axis)) {
            Some((_, c)) => c.as_const().is_some_and(|c| c > 0) == (side == Side::High),
            None => other == Side::High,
        };
        for bounds in &self.bounds {
            let Bounds { axis, begin, end, step } = &**bounds;
            let (begin, end) = (value_at(begin, &values)?, value_at(end, &values)?);
            let steps = end.checked_sub(begin)?.checked_sub(1)?.div_euclid((*step).max(1));
            let last = begin.checked_add(steps.checked_mul(*step)?)?;
            let at = self.value(*axis).unwrap_or(if is_last(*axis) { last } else { begin });
            values[axis.0 as usize] = Some(at).filter(|at| (begin..end).contains(at));
            values[axis.0 as usize]?;
        }
        // Of axes whose loops were not entered, nothing is known but that they are not negative.
        index.visit_axes(&mut |axis| {
            values[axis.0 as usize].get_or_insert(if is_last(axis) { FAR } else { 0 });
        });
        Some(values)
    }
}

/// The value of an index without parameters and data.
fn value_at(index: &Index, values: &[Option<i64>]) -> Option<i64> {
    index.eval(&|a| values[a.0 as usize], &|_| None, &|_, _| None)
}

/// Whether an index mentions no parameter.
pub(super) fn is_free(index: &Index) -> bool {
    let mut free = true;
    index.visit_parameters(&mut |_| free = false);
    free
}

impl Points<'_> {
    fn eval(&self, index: &Index) -> Option<i64> {
        value_at(index, &self.values)
    }

    /// Whether all points of the loops from this one on are right.
    fn hold(&mut self, depth: usize) -> bool {
        let Some((axis, begin, end, step)) = self.loops.get(depth).copied() else {
            self.seen += 1;
            return self.seen <= MOST && self.holds_here();
        };
        let (Some(mut at), Some(end)) = (self.eval(begin), self.eval(end)) else { return false };
        while at < end {
            self.values[axis.0 as usize] = Some(at);
            if !self.hold(depth + 1) {
                return false;
            }
            at += step.max(1);
        }
        self.values[axis.0 as usize] = None;
        true
    }

    fn holds_here(&self) -> bool {
        for (i, end) in &self.given {
            match self.eval(i) {
                Some(v) if (0..*end).contains(&v) => {}
                Some(_) => return true,
                None => return false,
            }
        }
        self.eval(self.index).is_some_and(|v| (0..self.end).contains(&v))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{For, Kernel, Kind};
    use lawson_graph::Facts;

    /// `for i in 0 to 10 step 4 { for j in 0 to min(4, 10 - i) }`, or to `end` instead of 10.
    fn ask<T>(end: Dim, question: impl FnOnce(&Scope<'_>, Index, Index) -> T) -> T {
        let mut kernel = Kernel::new("tiles", Facts::new());
        let (i, j) = (kernel.add_axis("i"), kernel.add_axis("j"));
        let mut scope = Scope::new(&kernel);
        let to = |axis, end: Index, step| For {
            axis,
            begin: 0.into(),
            end,
            step,
            kind: Kind::Serial,
            body: Vec::new(),
        };
        scope.enter(&to(i, Index::constant(end.clone()), 4));
        scope.enter(&to(j, (Index::constant(end) - Index::axis(i)).min(4.into()), 1));
        question(&scope, Index::axis(i), Index::axis(j))
    }

    #[test]
    fn what_is_false_in_a_corner_is_refuted_and_what_holds_is_not() {
        let (is_proven, is_refuted): (Vec<bool>, Vec<bool>) = ask(Dim::from(10), |s, i, j| {
            let all = [(i.clone() + j.clone(), 10), (i.clone() + j.clone(), 9), (j - 3, 1), (i, 8)];
            let ends = all.map(|(index, end)| (index, Dim::from(end)));
            ends.iter().map(|(x, e)| (s.proves_within(x, e, &[]), s.refutes_within(x, e, &[]))).unzip()
        });
        assert_eq!(is_proven, [true, false, false, false]);
        assert_eq!(is_refuted, [false, true, true, true]);
    }

    #[test]
    fn a_corner_at_which_a_condition_does_not_hold_refutes_nothing() {
        ask(Dim::from(10), |s, i, j| {
            let index = i + j;
            let given = |less: i64, end: i64| [Condition { index: index.clone() - less, end: end.into() }];
            assert!(!s.refutes_within(&index, &Dim::from(9), &given(0, 9)));
            assert!(s.proves_within(&index, &Dim::from(9), &given(0, 9)));
            // What is said of an index may be said of it and a number.
            assert!(s.proves_within(&index, &Dim::from(9), &given(2, 7)));
            assert!(!s.proves_within(&index, &Dim::from(9), &given(2, 8)));
            assert!(!s.proves_within(&(index.clone() - 1), &Dim::from(9), &given(0, 9)));
        });
    }

    #[test]
    fn loops_that_run_only_at_the_end_of_others_are_reached() {
        let mut kernel = Kernel::new("rungs", Facts::new());
        let (i, j, k) = (kernel.add_axis("i"), kernel.add_axis("j"), kernel.add_axis("k"));
        let mut scope = Scope::new(&kernel);
        let left = (Index::constant(10) - Index::axis(i)).min(4.into());
        let whole = left.clone().floor_div(4) * Dim::from(4);
        let to =
            |axis, begin, end, step| For { axis, begin, end, step, kind: Kind::Serial, body: Vec::new() };
        scope.enter(&to(i, 0.into(), 10.into(), 4));
        let rung = scope.enter(&to(j, 0.into(), whole.clone(), 4));
        // Where a whole tile fits, its last row is inside.
        assert!(scope.proves_within(&(Index::axis(i) + Index::axis(j) + 3), &Dim::from(10), &[]));
        assert!(!scope.proves_within(&(Index::axis(i) + 3), &Dim::from(7), &[]));
        scope.leave(rung);
        scope.enter(&to(j, whole, left, 4));
        assert!(scope.refutes_within(&(Index::axis(i) + 3), &Dim::from(10), &[]));
        // Of a loop that is not entered, no end is known.
        assert!(scope.refutes_within(&Index::axis(k), &Dim::from(7), &[]));
        assert!(!scope.refutes_within(&(Index::axis(k) + 1), &Dim::from(i64::MAX), &[]));
    }

    #[test]
    fn where_loops_depend_on_parameters_nothing_is_refuted() {
        assert!(!ask(Dim::symbol("N"), |s, i, _| s.refutes_within(&i, &Dim::from(8), &[])));
    }
}
