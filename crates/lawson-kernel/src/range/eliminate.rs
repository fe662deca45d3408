//! Elimination: axes are replaced by the bounds of their loops, from the innermost outwards, until only parameters are left.
//!
//! In: an index over the loops of a [`Scope`]. Out: whether it is never above 0, or bounds of it over fewer loops. What is left of a
//! loop that is split, and of its tail, cancels out on the way, which intervals cannot see. `prove.rs` builds on it.

use super::{Bounds, Scope, Side};
use crate::expr::Condition;
use crate::index::{Atom, Index};
use lawson_graph::Dim;
use std::sync::Arc;

/// How many bounds of one index are looked at.
const EXTREMES: usize = 32;

impl<'k> Scope<'k> {
    /// The scope in which conditions on single axes are bounds of their loops.
    pub(super) fn narrowed(&self, given: &[Condition]) -> Scope<'k> {
        let mut scope = self.clone();
        for c in given {
            let index = self.simplify(&self.kernel.resolve(&c.index));
            let [(Atom::Axis(axis), one)] = index.terms() else { continue };
            let found = scope.bounds.iter().position(|b| b.axis == *axis && b.step == 1);
            let Some(at) = found.filter(|_| one.is(1)) else { continue };
            let Bounds { begin, end, .. } = Arc::make_mut(&mut scope.bounds[at]);
            // 0 <= axis + offset < end
            let offset = index.offset();
            let simpler = |i: Index| match i.as_dim() {
                Some(d) => Index::constant(self.kernel.facts.simplify(d)),
                None => i,
            };
            *begin = simpler(begin.clone().max(Index::constant(offset.clone() * -1)));
            *end = simpler(end.clone().min(Index::constant(c.end.clone() - offset.clone())));
        }
        scope
    }

    /// Whether an index is never above 0, as far as the bounds of the loops entered tell. It must have been resolved.
    pub fn never_positive(&self, index: &Index) -> bool {
        self.at_most_zero(index, self.bounds.len(), &mut 96)
    }

    /// How many loops have been entered.
    pub fn depth(&self) -> usize {
        self.bounds.len()
    }

    /// Indices over the loops below `depth` that are at least as great as this one wherever it is evaluated, or with
    /// [`Side::Low`] at least as small; none if an axis stands where it cannot be replaced.
    pub fn extremes(&self, index: &Index, depth: usize, side: Side) -> Vec<Index> {
        let mut all = vec![index.clone()];
        for at in (depth..self.bounds.len()).rev() {
            let axis = self.bounds[at].axis;
            let mut next: Vec<Index> = Vec::new();
            for i in all {
                if !i.mentions(axis) {
                    next.push(i);
                } else if let Some(replaced) = self.without_axis(&i, at, side) {
                    next.extend(replaced.into_iter().filter(|i| !i.mentions(axis)));
                }
            }
            next.sort_by_key(size);
            next.dedup();
            next.truncate(EXTREMES);
            all = next;
        }
        all
    }

    /// Puts bounds for the axis of a loop, such that the value grows no smaller (or no greater); `None` if the axis has
    /// no coefficient whose sign is known.
    fn without_axis(&self, index: &Index, at: usize, side: Side) -> Option<Vec<Index>> {
        let Bounds { axis, begin, end, step } = &*self.bounds[at];
        let (_, c) = index.terms().iter().find(|(a, _)| *a == Atom::Axis(*axis))?;
        let facts = &self.kernel.facts;
        let positive = match c.as_const() {
            Some(c) => c > 0,
            None if facts.is_nonnegative(c) => true,
            None if facts.is_nonnegative(&(c.clone() * -1)) => false,
            None => return None,
        };
        let bounds: Vec<Index> = if positive == (side == Side::High) {
            let last = if self.divides(&(end.clone() - begin.clone()), *step) { *step } else { 1 };
            outer_bounds(end, Side::High).into_iter().map(|e| e - last).collect()
        } else {
            // Where a loop goes on from what another one left, it may still be known not to begin below some number.
            let least = self.interval(begin).0.map(Index::constant);
            let mut bounds = outer_bounds(begin, Side::Low);
            bounds.extend(least.filter(|l| !bounds.contains(l)));
            bounds
        };
        let mut without = index.clone();
        without.add_term(Atom::Axis(*axis), c.clone() * -1);
        let put = |bound: Index| {
            let mut put = without.clone();
            put.add_scaled(&bound, c);
            self.simplify(&put)
        };
        Some(bounds.into_iter().map(put).collect())
    }

    /// Whether an index is never above 0, by putting bounds for axes, those of the innermost loops first: what is left of a
    /// loop that is split, and of its tail, cancels out then. `tries` limits how many combinations of bounds are looked at.
    fn at_most_zero(&self, index: &Index, loops: usize, tries: &mut u32) -> bool {
        if self.interval(index).1.is_some_and(|hi| hi <= 0) {
            return true;
        }
        if *tries == 0 {
            return false;
        }
        *tries -= 1;
        let proven = match loops.checked_sub(1) {
            None => self.is_never_positive_by_facts(index) || self.is_never_positive_inside(index),
            Some(at) => {
                let axis = Atom::Axis(self.bounds[at].axis);
                if index.terms().iter().all(|(a, _)| *a != axis) {
                    self.is_never_positive_in(index, at) || self.at_most_zero(index, at, tries)
                } else {
                    let put = self.without_axis(index, at, Side::High).unwrap_or_default();
                    put.iter().any(|i| self.at_most_zero(i, at, tries))
                }
            }
        };
        proven || self.above_quotient(index).is_some_and(|i| self.at_most_zero(&i, loops, tries))
    }

    /// Whether an index is never above 0, by intervals, because a loop has iterations: with what the loop is long, less a step of it, the index is no
    /// smaller. Only where that mentions an axis that the index mentions, as rungs of a ladder do: one that is entered says that a tile is left.
    fn is_never_positive_in(&self, index: &Index, at: usize) -> bool {
        let Bounds { begin, end, step, .. } = &*self.bounds[at];
        let in_common = |(a, _): &(Atom, Dim)| matches!(a, Atom::Axis(a) if end.mentions(*a));
        if end.as_const().is_some() || !index.terms().iter().any(in_common) {
            return false;
        }
        let last = if self.divides(&(end.clone() - begin.clone()), *step) { *step } else { 1 };
        outer_bounds(end, Side::High).into_iter().any(|end| {
            let longer = self.simplify(&(index.clone() + end - begin.clone() - last));
            self.interval(&longer).1.is_some_and(|hi| hi <= 0)
        })
    }

    /// Whether an index over no axis is never above 0 because the loops entered have iterations: one from `b` to `e`, whose bounds
    /// mention no axis, says that `e - b - 1` is not negative, and so `i` is no more than `i + e - b - 1`.
    fn is_never_positive_inside(&self, index: &Index) -> bool {
        self.bounds.iter().any(|bounds| {
            let Bounds { begin, end, step, .. } = &**bounds;
            let extent = end.clone() - begin.clone();
            let last = if self.divides(&extent, *step) { *step } else { 1 };
            extent.as_dim().is_some_and(|e| e.as_const().is_none())
                && self.is_never_positive_by_facts(&self.simplify(&(index.clone() + extent.clone() - last)))
        })
    }

    /// An index that is never above 0 only where this one is not either, without its first quotient, remainder or integer in
    /// memory: `k·(x/k)` becomes `x`, `-k·(x/k)` becomes `k - 1 - x`, `x%k` becomes `k - 1` and `-(x%k)` becomes 0. Where a quotient has another
    /// coefficient, everything is taken `k` times first.
    fn above_quotient(&self, index: &Index) -> Option<Index> {
        index.terms().iter().find_map(|(atom, c)| {
            let c = c.as_const()?;
            let mut put = index.clone();
            put.add_term(atom.clone(), Dim::from(-c));
            match atom {
                Atom::Div(x, k) => {
                    let k = k.as_const().filter(|k| *k > 0)?;
                    let bound = if c > 0 { (**x).clone() } else { (**x).clone() - (k - 1) };
                    if c % k == 0 {
                        put.add_scaled(&bound, &Dim::from(c / k));
                    } else {
                        put = put.scaled(&Dim::from(k)) - (k - 1);
                        put.add_scaled(&bound, &Dim::from(c));
                    }
                }
                Atom::Mod(_, k) if c > 0 => put.add_scaled(&Index::constant(k.clone() - 1), &Dim::from(c)),
                Atom::Mod(..) => {}
                Atom::At(d) if c > 0 => put.add_scaled(&Index::constant(d.end.clone() - 1), &Dim::from(c)),
                Atom::At(_) => {}
                Atom::Axis(_) | Atom::Min(_) | Atom::Max(_) => return None,
            }
            Some(self.simplify(&put))
        })
    }
}

/// Indices that are each at least as great as this one (or as small), simpler ones first: members of minima (or maxima), any number of
/// times, and `x` for `k·(x/k)` (or `x - k + 1`).
pub(super) fn outer_bounds(index: &Index, side: Side) -> Vec<Index> {
    // Most are sums of axes, and nothing is simpler than that.
    if index.terms().iter().all(|(atom, _)| matches!(atom, Atom::Axis(_) | Atom::Mod(..) | Atom::At(_))) {
        return vec![index.clone()];
    }
    let mut all = Vec::new();
    add_outer_bounds(index, side, &mut all);
    all.sort_by_key(size);
    all
}

/// How many atoms an index has, those inside others included.
fn size(index: &Index) -> usize {
    let atom = |a: &Atom| match a {
        Atom::Axis(_) => 1,
        Atom::Div(i, _) | Atom::Mod(i, _) => 1 + size(i),
        Atom::Min(m) | Atom::Max(m) => 1 + m.iter().map(size).sum::<usize>(),
        Atom::At(datum) => 1 + datum.index.iter().map(size).sum::<usize>(),
    };
    index.terms().iter().map(|(a, _)| atom(a)).sum()
}

fn add_outer_bounds(index: &Index, side: Side, all: &mut Vec<Index>) {
    if all.len() >= EXTREMES || all.contains(index) {
        return;
    }
    // A minimum is no greater than its members; so are several, and what is taken away of a maximum.
    let extremum = index.terms().iter().find_map(|(atom, c)| {
        let c = c.as_const()?;
        match (atom, (c > 0) == (side == Side::High)) {
            (Atom::Min(members), true) | (Atom::Max(members), false) => Some((atom, members, c)),
            _ => None,
        }
    });
    if let Some((atom, members, c)) = extremum {
        let mut rest = index.clone();
        rest.add_term(atom.clone(), Dim::from(-c));
        for member in members {
            let mut put = rest.clone();
            put.add_scaled(member, &Dim::from(c));
            add_outer_bounds(&put, side, all);
        }
        return;
    }
    all.push(index.clone());
    // What contains most comes first: without it, most cancels.
    let mut terms: Vec<&(Atom, Dim)> = index.terms().iter().collect();
    terms.sort_by_key(|(a, _)| std::cmp::Reverse(size(&Index::atom(a.clone()))));
    for (atom, c) in terms {
        if let Atom::Div(x, k) = atom
            && c == k
            && let Some(k) = k.as_const().filter(|k| *k > 0)
        {
            let less = if side == Side::Low { k - 1 } else { 0 };
            let mut rest = index.clone();
            rest.add_term(atom.clone(), c.clone() * -1);
            add_outer_bounds(&(rest + (**x).clone() - less), side, all);
        }
    }
}
