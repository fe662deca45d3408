//! Proofs by looking at every point: where few points are left and no parameters, each can be tried.

use super::Scope;
use crate::expr::Condition;
use crate::index::Index;
use crate::tree::AxisId;
use lawson_graph::Dim;

/// More points than this are not looked at.
const MOST: usize = 1 << 13;

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
            let super::Bounds { axis, begin, end, step } = &**bounds;
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
}

fn is_free(index: &Index) -> bool {
    let mut free = true;
    index.visit_parameters(&mut |_| free = false);
    free
}

impl Points<'_> {
    fn eval(&self, index: &Index) -> Option<i64> {
        index.eval(&|a| self.values[a.0 as usize], &|_| None, &|_, _| None)
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
