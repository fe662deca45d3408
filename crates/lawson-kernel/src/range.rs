//! What the loops around a place say about indices there: ranges, simplification, proofs.
//!
//! [`Scope`] holds, for every axis whose loop is entered, the interval of its values and a number that divides them
//! all. That is enough to simplify almost every quotient and remainder that layouts and reshapes bring in. What
//! intervals cannot show, because parameters are involved, is left to `range/prove.rs`.

mod eliminate;
mod points;
mod prove;

use crate::expr::Condition;
use crate::index::{Atom, Index};
use crate::tree::{AxisId, For, Kernel};
use eliminate::outer_bounds;
use lawson_graph::Dim;
use std::sync::Arc;

/// The values that an axis takes: `lo <= value <= hi`, all multiples of `multiple`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The least value.
    pub lo: i64,
    /// The greatest value, if there is one that does not depend on parameters.
    pub hi: Option<i64>,
    /// What divides every value.
    pub multiple: i64,
}

/// The loops entered, from the root.
#[derive(Clone, Debug)]
pub struct Scope<'k> {
    kernel: &'k Kernel,
    ranges: Vec<Option<Range>>,
    /// The bounds as written, for the prover.
    bounds: Vec<Arc<Bounds>>,
}

/// The bounds of a loop as they are written, as simple as the loops around it allow.
#[derive(Clone, Debug)]
struct Bounds {
    axis: AxisId,
    begin: Index,
    /// Exclusive.
    end: Index,
    step: i64,
}

/// What was known of an axis before its loop was entered.
#[derive(Debug)]
pub struct Left(AxisId, Option<Range>);

/// Whether something holds everywhere, nowhere, or depends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
    /// It depends, or is not known.
    Sometimes,
}

/// Which end of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The least.
    Low,
    /// The greatest.
    High,
}

impl<'k> Scope<'k> {
    /// Outside all loops.
    pub fn new(kernel: &'k Kernel) -> Scope<'k> {
        Scope { kernel, ranges: vec![None; kernel.axes.len()], bounds: Vec::new() }
    }

    /// The kernel whose loops are entered.
    pub fn kernel(&self) -> &'k Kernel {
        self.kernel
    }

    /// What is known of an axis.
    pub fn range(&self, axis: AxisId) -> Option<Range> {
        self.ranges[axis.0 as usize]
    }

    /// Enters a loop; give the result to [`Scope::leave`].
    pub fn enter(&mut self, f: &For) -> Left {
        let begin = self.simplify(&self.kernel.resolve(&f.begin));
        let end = self.simplify(&self.kernel.resolve(&f.end));
        self.enter_between(f, begin, end)
    }

    /// Enters a loop whose bounds are known as simple as they can be here.
    pub fn enter_between(&mut self, f: &For, begin: Index, end: Index) -> Left {
        let range = match (begin.as_const(), end.as_const()) {
            (Some(begin), Some(end)) => counted(begin, end, f.step),
            _ => self.values_between(&begin, &end, f.step),
        };
        self.bounds.push(Arc::new(Bounds { axis: f.axis, begin, end, step: f.step }));
        Left(f.axis, self.ranges[f.axis.0 as usize].replace(range))
    }

    /// What a loop between bounds that are not both numbers runs over.
    fn values_between(&self, begin: &Index, end: &Index, step: i64) -> Range {
        // The bounds of a ladder's rungs mention one quotient twice; without it, they may be tighter.
        let lows = outer_bounds(begin, Side::Low).into_iter();
        let lo = lows.filter_map(|b| self.interval(&b).0).max().unwrap_or(i64::MIN / 4);
        let highs = outer_bounds(end, Side::High).into_iter();
        let whole = step > 1 && self.divides(&self.simplify(&(end.clone() - begin.clone())), step);
        let last = if whole { step } else { 1 };
        let mut hi = highs.filter_map(|e| self.interval(&e).1).min().map(|e| e - last);
        let multiple = if self.divides(begin, step) { step } else { 1 };
        if let (Some(b), Some(h)) = (begin.as_const(), &mut hi) {
            // The last value that is reached.
            *h = b + (*h - b).div_euclid(step) * step;
        } else if let Some(h) = &mut hi {
            *h = h.div_euclid(multiple) * multiple;
        }
        Range { lo, hi, multiple }
    }

    /// The axes of the loops that were entered, outermost first.
    pub fn entered(&self) -> impl Iterator<Item = AxisId> + '_ {
        self.bounds.iter().map(|b| b.axis)
    }

    /// The step of a loop that was entered.
    pub fn step_of(&self, axis: AxisId) -> Option<i64> {
        self.bounds.iter().rev().find(|b| b.axis == axis).map(|b| b.step)
    }

    /// Whether a loop that was entered begins at 0.
    pub fn begins_at_zero(&self, axis: AxisId) -> bool {
        self.bounds.iter().rev().find(|b| b.axis == axis).is_some_and(|b| b.begin.is(0))
    }

    /// Leaves the loop entered last.
    pub fn leave(&mut self, left: Left) {
        self.bounds.pop();
        self.ranges[left.0.0 as usize] = left.1;
    }

    /// Fixes an axis at one value until it is fixed again or its loop is left: one iteration of an unrolled loop.
    pub fn fix(&mut self, axis: AxisId, value: i64) {
        self.ranges[axis.0 as usize] =
            Some(Range { lo: value, hi: Some(value), multiple: value.abs().max(1) });
    }

    /// Gives an axis the range that it had before it was fixed.
    pub fn restore(&mut self, axis: AxisId, range: Option<Range>) {
        self.ranges[axis.0 as usize] = range;
    }

    fn dim_interval(&self, d: &Dim) -> (Option<i64>, Option<i64>) {
        match d.as_const() {
            Some(c) => (Some(c), Some(c)),
            None => self.kernel.facts.bounds(d),
        }
    }

    /// Bounds of an index, inclusive; `None` where none is known. Derived axes must have been resolved.
    pub fn interval(&self, index: &Index) -> (Option<i64>, Option<i64>) {
        let (mut lo, mut hi) = self.dim_interval(index.offset());
        for (atom, c) in index.terms() {
            let a = self.atom_interval(atom);
            let (l, h) = match c.as_const() {
                Some(c) if c >= 0 => (times(a.0, c), times(a.1, c)),
                Some(c) => (times(a.1, c), times(a.0, c)),
                // A coefficient in parameters: only signs can be told.
                None => {
                    let c = self.dim_interval(c);
                    match (a.0, a.1, c.0, c.1) {
                        (Some(al), ah, Some(cl), ch) if al >= 0 && cl >= 0 => {
                            (al.checked_mul(cl), ah.zip(ch).and_then(|(a, c)| a.checked_mul(c)))
                        }
                        _ => (None, None),
                    }
                }
            };
            lo = lo.zip(l).and_then(|(a, b)| a.checked_add(b));
            hi = hi.zip(h).and_then(|(a, b)| a.checked_add(b));
        }
        let (mut lo, mut hi) = (lo.max(self.left_over(index)), hi);
        if let Some((rest, [least, most])) = remainder_in(index) {
            let (l, h) = self.interval(&rest);
            let (l, h) = (l.and_then(|l| l.checked_add(least)), h.and_then(|h| h.checked_add(most)));
            lo = lo.max(l);
            hi = hi.into_iter().chain(h).min();
        }
        (lo, hi)
    }

    /// What is left of a loop is at least 1 inside it: the lower bound of `end - axis + c`.
    fn left_over(&self, index: &Index) -> Option<i64> {
        if !index.terms().iter().any(|(a, c)| matches!(a, Atom::Axis(_)) && c.is(-1)) {
            return None;
        }
        self.bounds.iter().find_map(|bounds| {
            let minus = |(a, c): &(Atom, Dim)| matches!(a, Atom::Axis(a) if *a == bounds.axis) && c.is(-1);
            if !index.terms().iter().any(minus) {
                return None;
            }
            let ends = outer_bounds(&bounds.end, Side::High);
            ends.into_iter().find_map(|end| Some((index.clone() + bounds.axis - end).as_const()? + 1))
        })
    }

    fn atom_interval(&self, atom: &Atom) -> (Option<i64>, Option<i64>) {
        match atom {
            Atom::Axis(a) => match self.range(*a) {
                Some(r) => (Some(r.lo), r.hi),
                None => (None, None),
            },
            Atom::Div(i, d) => {
                let (lo, hi) = self.interval(i);
                match d.as_const() {
                    Some(d) if d > 0 => (lo.map(|v| v.div_euclid(d)), hi.map(|v| v.div_euclid(d))),
                    _ => (lo.filter(|v| *v >= 0).map(|_| 0), hi.filter(|v| *v >= 0)),
                }
            }
            Atom::Mod(_, d) => (Some(0), self.dim_interval(d).1.map(|v| v - 1)),
            Atom::At(datum) => (Some(0), self.dim_interval(&datum.end).1.map(|v| v - 1)),
            // The least is known to be at least something only if all members are, at most something if one is.
            Atom::Min(m) => {
                let members: Vec<_> = m.iter().map(|i| self.interval(i)).collect();
                let lo = members.iter().map(|(lo, _)| *lo).collect::<Option<Vec<i64>>>();
                (lo.and_then(|lo| lo.into_iter().min()), members.iter().filter_map(|(_, hi)| *hi).min())
            }
            Atom::Max(m) => {
                let members: Vec<_> = m.iter().map(|i| self.interval(i)).collect();
                let hi = members.iter().map(|(_, hi)| *hi).collect::<Option<Vec<i64>>>();
                (members.iter().filter_map(|(lo, _)| *lo).max(), hi.and_then(|hi| hi.into_iter().max()))
            }
        }
    }

    /// Whether `k` divides every value of an index, as far as intervals and steps tell.
    pub fn divides(&self, index: &Index, k: i64) -> bool {
        if k == 1 {
            return true;
        }
        let dim = |d: &Dim| match d.as_const() {
            Some(c) => c % k == 0,
            None => self.kernel.facts.is_multiple(d, k),
        };
        dim(index.offset())
            && index.terms().iter().all(|(atom, c)| {
                dim(c)
                    || match (atom, c.as_const()) {
                        (Atom::Axis(a), Some(c)) => self
                            .range(*a)
                            .is_some_and(|r| r.multiple.checked_mul(c).is_some_and(|v| v % k == 0)),
                        (Atom::Min(m) | Atom::Max(m), Some(c)) => {
                            k % c.abs().max(1) == 0 && m.iter().all(|i| self.divides(i, k / c.abs().max(1)))
                        }
                        _ => false,
                    }
            })
    }

    /// The value of an axis, if it has only one here.
    pub fn value(&self, axis: AxisId) -> Option<i64> {
        self.range(axis).filter(|r| Some(r.lo) == r.hi).map(|r| r.lo)
    }

    /// The same value, simpler: axes with one value become it, quotients and remainders split off what is whole.
    pub fn simplify(&self, index: &Index) -> Index {
        let plain = index.terms().iter().all(|(a, _)| match a {
            Atom::Axis(a) => self.value(*a).is_none(),
            _ => false,
        });
        if plain {
            return index.clone();
        }
        let mut out = Index::with_capacity(index.offset().clone(), index.terms().len());
        for (atom, c) in index.terms() {
            match atom {
                Atom::Axis(a) => match self.value(*a) {
                    Some(value) => out.add_constant(c.clone() * value),
                    None => out.add_term(atom.clone(), c.clone()),
                },
                Atom::Div(i, d) => self.add_quotient(&mut out, &self.simplify(i), d, c),
                Atom::Mod(i, d) => out.add_scaled(&self.remainder(&self.simplify(i), d), c),
                Atom::Min(m) => out.add_scaled(&self.extremum(m, Index::min, |a, b| (b, a)), c),
                Atom::Max(m) => out.add_scaled(&self.extremum(m, Index::max, |a, b| (a, b)), c),
                Atom::At(datum) => {
                    let index = datum.index.iter().map(|i| self.simplify(i)).collect();
                    out.add_scaled(&Index::data(datum.buffer, index, datum.end.clone()), c);
                }
            }
        }
        out
    }

    /// Drops members that another always beats: `order` gives (the one that must be greater, the lesser).
    fn extremum(
        &self,
        members: &[Index],
        join: fn(Index, Index) -> Index,
        order: for<'a> fn(&'a Index, &'a Index) -> (&'a Index, &'a Index),
    ) -> Index {
        let mut kept: Vec<Index> = Vec::new();
        'members: for m in members {
            let m = self.simplify(m);
            let beats = |a: &Index, b: &Index| {
                let (greater, lesser) = order(a, b);
                let mut difference = greater.clone();
                difference.add_scaled(lesser, &Dim::from(-1));
                self.interval(&difference).0.is_some_and(|v| v >= 0)
            };
            if kept.iter().any(|k| beats(k, &m)) {
                continue 'members;
            }
            kept.retain(|k| !beats(&m, k));
            kept.push(m);
        }
        kept.into_iter().reduce(join).unwrap_or_else(|| Index::constant(0))
    }

    /// Splits `index` into what `d` divides and the rest.
    fn split(&self, index: &Index, d: i64) -> (Index, Index) {
        let mut whole = Index::constant(0);
        let mut rest = Index::constant(0);
        for (atom, c) in index.terms() {
            let term = Index::atom(atom.clone()).scaled(c);
            if self.divides(&term, d) {
                whole.add_scaled(&term, &Dim::ONE);
            } else {
                rest.add_scaled(&term, &Dim::ONE);
            }
        }
        match index.offset().as_const() {
            Some(c) => {
                whole = whole + (c.div_euclid(d) * d);
                rest = rest + c.rem_euclid(d);
            }
            None if self.kernel.facts.is_multiple(index.offset(), d) => {
                whole = whole + index.offset().clone()
            }
            None => rest = rest + index.offset().clone(),
        }
        (whole, rest)
    }

    /// Adds `c · floor(index / d)`.
    fn add_quotient(&self, out: &mut Index, index: &Index, d: &Dim, c: &Dim) {
        // A divisor of 0 comes from an axis without elements, where no index is ever evaluated.
        let Some(k) = d.as_const().filter(|k| *k > 0) else {
            if self.within(index, d) != Truth::Always {
                out.add_scaled(&index.clone().floor_div(d.clone()), c);
            }
            return;
        };
        let (whole, rest) = self.split(index, k);
        for (atom, coefficient) in whole.terms() {
            // c · (coefficient · atom / k), exactly
            let divided = [(coefficient, c), (c, coefficient)].into_iter().find_map(|(a, b)| {
                let q = a.floor_div(&Dim::from(k));
                (q.clone() * k == *a).then(|| q * b.clone())
            });
            match divided {
                Some(scale) => out.add_term(atom.clone(), scale),
                None => {
                    let term = Index::atom(atom.clone()).scaled(coefficient);
                    out.add_scaled(&term.floor_div(k), c);
                }
            }
        }
        out.add_scaled(&Index::constant(whole.offset().floor_div(d)), c);
        if self.within(&rest, d) != Truth::Always {
            out.add_scaled(&rest.floor_div(k), c);
        }
    }

    fn remainder(&self, index: &Index, d: &Dim) -> Index {
        let rest = match d.as_const().filter(|k| *k > 0) {
            Some(k) => self.split(index, k).1,
            None => index.clone(),
        };
        if self.within(&rest, d) == Truth::Always { rest } else { rest.modulo(d.clone()) }
    }

    /// Whether `0 <= index < end`, by intervals alone.
    pub fn within(&self, index: &Index, end: &Dim) -> Truth {
        let (lo, hi) = self.interval(index);
        let (end_lo, end_hi) = self.dim_interval(end);
        let below = hi.zip(end_lo).is_some_and(|(h, e)| h < e);
        if lo.is_some_and(|v| v >= 0) && below {
            Truth::Always
        } else if hi.is_some_and(|v| v < 0) || lo.zip(end_hi).is_some_and(|(l, e)| l >= e) {
            Truth::Never
        } else {
            Truth::Sometimes
        }
    }

    /// Whether a condition holds here, by intervals alone.
    pub fn holds(&self, condition: &Condition) -> Truth {
        self.holds_of(&self.kernel.resolve(&condition.index), &condition.end)
    }

    /// Whether `0 <= index < end`, for an index over the axes that loops run over.
    pub fn holds_of(&self, index: &Index, end: &Dim) -> Truth {
        // Intervals of sums of axes are what they are.
        if index.terms().iter().all(|(atom, _)| matches!(atom, Atom::Axis(_))) {
            return self.within(index, end);
        }
        self.within(&self.simplify(index), end)
    }
}

/// What a loop between two numbers runs over.
fn counted(begin: i64, end: i64, step: i64) -> Range {
    // The last value that is reached.
    let last = begin + (end - 1 - begin).div_euclid(step) * step;
    Range { lo: begin, hi: Some(last), multiple: if begin % step == 0 { step } else { 1 } }
}

/// A quotient and what it is taken from, of an index: `c·(x/a) - c·m·(x/(a·m))` is `c` times a remainder by `m`. What is left of the index
/// without them, and between which numbers they are.
fn remainder_in(index: &Index) -> Option<(Index, [i64; 2])> {
    if index.terms().len() < 2 {
        return None;
    }
    let quotients = index.terms().iter().filter_map(|(atom, c)| match atom {
        Atom::Div(x, k) => Some((atom, x, k.as_const().filter(|k| *k > 0)?, c.as_const()?)),
        _ => None,
    });
    for (atom, x, k, c) in quotients {
        for (other, times) in index.terms().iter().filter(|(other, _)| other != atom) {
            let Some(times) = times.as_const() else { continue };
            // How many of the lesser make the greater, and how far `x` is from the atom.
            let (m, offset) = match other {
                Atom::Div(y, less) if y == x => match less.as_const() {
                    Some(less) if less > 0 && k % less == 0 => (k / less, 0),
                    _ => continue,
                },
                _ => match (x.terms(), x.offset().as_const()) {
                    ([(only, one)], Some(offset)) if only == other && one.is(1) => (k, offset),
                    _ => continue,
                },
            };
            let Some(most) = times.checked_mul(m - 1) else { continue };
            if times.checked_mul(m) != c.checked_neg() {
                continue;
            }
            let Some(moved) = times.checked_mul(offset) else { continue };
            let mut rest = index.clone() - moved;
            rest.add_term(atom.clone(), Dim::from(-c));
            rest.add_term(other.clone(), Dim::from(-times));
            return Some((rest, [most.min(0), most.max(0)]));
        }
    }
    None
}

fn times(a: Option<i64>, c: i64) -> Option<i64> {
    a.and_then(|a| a.checked_mul(c))
}
