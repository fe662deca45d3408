//! What the loops around a place say about indices there: ranges, simplification, proofs.
//!
//! [`Scope`] holds, for every axis whose loop is entered, the interval of its values and a number that divides them
//! all. That is enough to simplify almost every quotient and remainder that layouts and reshapes bring in. What
//! intervals cannot show, because parameters are involved, is left to the prover of the graph level: every axis
//! becomes a symbol with facts about it.

use crate::expr::Condition;
use crate::index::{Atom, Index};
use crate::tree::{AxisId, For, Kernel, Node};
use lawson_graph::{Dim, Fact, Facts, Relation, Symbol};
use std::collections::BTreeSet;

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
    /// The bounds as written, for the prover: axis, begin, end (exclusive), step.
    bounds: Vec<(AxisId, Index, Index, i64)>,
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
        let lo = self.interval(&begin).0.unwrap_or(i64::MIN / 4);
        let mut hi = self.interval(&end).1.map(|e| e - 1);
        let multiple = if self.divides(&begin, f.step) { f.step } else { 1 };
        if let (Some(b), Some(h)) = (begin.as_const(), &mut hi) {
            // The last value that is reached.
            *h = b + (*h - b).div_euclid(f.step) * f.step;
        }
        self.bounds.push((f.axis, begin, end, f.step));
        let left = Left(f.axis, self.ranges[f.axis.0 as usize]);
        self.ranges[f.axis.0 as usize] = Some(Range { lo, hi, multiple });
        left
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
        (lo, hi)
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

    /// The same value, simpler: axes with one value become it, quotients and remainders split off what is whole.
    pub fn simplify(&self, index: &Index) -> Index {
        let plain = index.terms().iter().all(|(a, _)| match a {
            Atom::Axis(a) => self.range(*a).is_none_or(|r| Some(r.lo) != r.hi),
            _ => false,
        });
        if plain {
            return index.clone();
        }
        let mut out = Index::constant(index.offset().clone());
        for (atom, c) in index.terms() {
            match atom {
                Atom::Axis(a) => match self.range(*a) {
                    Some(r) if Some(r.lo) == r.hi => out.add_scaled(&Index::constant(r.lo), c),
                    _ => out.add_term(atom.clone(), c.clone()),
                },
                Atom::Div(i, d) => self.add_quotient(&mut out, &self.simplify(i), d, c),
                Atom::Mod(i, d) => out.add_scaled(&self.remainder(&self.simplify(i), d), c),
                Atom::Min(m) => out.add_scaled(&self.extremum(m, Index::min, |a, b| (b, a)), c),
                Atom::Max(m) => out.add_scaled(&self.extremum(m, Index::max, |a, b| (a, b)), c),
            }
        }
        out
    }

    /// Drops members that another always beats: `order` gives (the one that must be greater, the lesser).
    fn extremum(
        &self,
        members: &[Index],
        join: fn(Index, Index) -> Index,
        order: fn(Index, Index) -> (Index, Index),
    ) -> Index {
        let mut kept: Vec<Index> = Vec::new();
        'members: for m in members {
            let m = self.simplify(m);
            let beats = |a: &Index, b: &Index| {
                let (greater, lesser) = order(a.clone(), b.clone());
                self.interval(&(greater - lesser)).0.is_some_and(|v| v >= 0)
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
        let Some(k) = d.as_const() else {
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
        let rest = match d.as_const() {
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
        let index = self.simplify(&self.kernel.resolve(&condition.index));
        self.within(&index, &condition.end)
    }

    /// Whether `0 <= index < end` follows from the loops entered, the parameters' facts and these conditions; slower and
    /// stronger than [`Scope::within`]. Axes must not be negative, which the verifier sees to.
    pub fn proves_within(&self, index: &Index, end: &Dim, given: &[Condition]) -> bool {
        let index = self.simplify(&self.kernel.resolve(index));
        if self.within(&index, end) == Truth::Always {
            return true;
        }
        let by_facts = |view: View, prove: &dyn Fn(&Facts, &[Dim]) -> bool| {
            let Some(facts) = self.facts(given, view) else { return true };
            let value = self.as_dim(&index, view);
            prove(&facts, &[end.clone() - value.clone() - 1, value])
        };
        let by_loops = || {
            let above = Index::constant(end.clone()) - 1 - index.clone();
            [&above, &index].into_iter().all(|i| self.least_is_nonnegative(i, &self.bounds))
        };
        // From what is cheap and often enough to what is not.
        by_facts(View::Plain, &all_nonnegative)
            || by_loops()
            || by_facts(View::Strided, &all_nonnegative)
            || by_facts(View::Strided, &|facts, values| self.prove_by_parts(facts, values))
    }

    /// Whether an index is never negative in these loops: from the innermost outwards, each axis is replaced by the bound at
    /// which the index is least. Any bound that holds will do, so of a minimum any member.
    fn least_is_nonnegative(&self, index: &Index, loops: &[(AxisId, Index, Index, i64)]) -> bool {
        let index = self.simplify(index);
        if self.interval(&index).0.is_some_and(|lo| lo >= 0) {
            return true;
        }
        let Some(((axis, begin, end, step), outer)) = loops.split_last() else {
            let (facts, values) = (&self.kernel.facts, [self.as_dim(&index, View::Plain)]);
            return all_nonnegative(facts, &values) || self.prove_by_parts(facts, &values);
        };
        let along = index.terms().iter().find(|(a, _)| *a == Atom::Axis(*axis)).map(|(_, c)| c.as_const());
        let with = |c: i64, bound: Index| {
            let replaced = index.clone() + (bound - Index::axis(*axis)) * c;
            self.least_is_nonnegative(&replaced, outer)
        };
        match along {
            None => self.least_is_nonnegative(&index, outer),
            Some(None) => false,
            Some(Some(c)) if c > 0 => {
                let begins = members(begin, |a| if let Atom::Max(m) = a { Some(m) } else { None });
                begins.into_iter().any(|begin| with(c, begin))
            }
            Some(Some(c)) => {
                let ends = members(end, |a| if let Atom::Min(m) = a { Some(m) } else { None });
                ends.into_iter().any(|end| {
                    let whole = self.divides(&(end.clone() - begin.clone()), *step);
                    with(c, end - if whole { *step } else { 1 })
                })
            }
        }
    }

    /// Whether an index is never negative, by the same means as [`Scope::proves_within`].
    pub fn proves_nonnegative(&self, index: &Index) -> bool {
        let index = self.simplify(&self.kernel.resolve(index));
        if self.interval(&index).0.is_some_and(|lo| lo >= 0) {
            return true;
        }
        let Some(facts) = self.facts(&[], View::Plain) else { return true };
        let values = [self.as_dim(&index, View::Plain)];
        if all_nonnegative(&facts, &values) || self.least_is_nonnegative(&index, &self.bounds) {
            return true;
        }
        // Term by term.
        facts.is_nonnegative(index.offset())
            && index.terms().iter().all(|(atom, c)| {
                facts.is_nonnegative(c)
                    && match atom {
                        Atom::Axis(_) | Atom::Mod(..) => true,
                        Atom::Div(i, _) => self.proves_nonnegative(i),
                        Atom::Min(m) => m.iter().all(|i| self.proves_nonnegative(i)),
                        Atom::Max(m) => m.iter().any(|i| self.proves_nonnegative(i)),
                    }
            })
    }

    /// Whether all these are never negative, which the facts as they are do not show.
    ///
    /// A parameter is split into `d` times a quotient plus a remainder, for each step `d` of a loop: `N - 6·(N/6)` then is
    /// the remainder, which the prover cannot see otherwise. The bounds of a ladder's rungs are of that kind, and, where
    /// tiles were counted by rounding up, of that kind in `N + 15`.
    fn prove_by_parts(&self, facts: &Facts, values: &[Dim]) -> bool {
        // Rounding up by 1 is rounding down.
        let mut steps = BTreeSet::from([1]);
        self.kernel.visit(&mut |node| {
            if let Node::For(f) = node {
                steps.insert(f.step);
            }
        });
        let mut symbols = BTreeSet::new();
        for (_, begin, end, _) in &self.bounds {
            [begin, end].into_iter().for_each(|i| {
                i.visit_parameters(&mut |s| {
                    symbols.insert(s.clone());
                });
            });
        }
        values.iter().for_each(|v| {
            v.visit_symbols(&mut |s| {
                symbols.insert(s.clone());
            });
        });
        let quotient = Dim::symbol("quotient of a parameter");
        let remainder = Dim::symbol("remainder of a parameter");
        let attempt = |symbol: &Symbol, d: i64, more: i64| {
            let whole = quotient.clone() * d + remainder.clone() - more;
            let split = |dim: &Dim| dim.substitute(&|s| (s == symbol).then(|| whole.clone()));
            let mut parts = Facts::new();
            parts.add(Fact::new(remainder.clone(), Relation::Lt, d)).ok()?;
            parts.add(Fact::new(whole.clone(), Relation::Ge, 0)).ok()?;
            for fact in facts.written() {
                parts.add(Fact::new(split(&fact.left), fact.relation, split(&fact.right))).ok()?;
            }
            Some(all_nonnegative(&parts, &values.iter().map(split).collect::<Vec<Dim>>()))
        };
        let is_axis = |s: &Symbol| s.name().starts_with(AXIS_SYMBOL);
        let parameters = symbols.iter().filter(|s| !is_axis(s));
        let pairs = parameters.flat_map(|s| steps.iter().filter(|d| **d > 1).map(move |d| (s, *d)));
        let mut tries =
            pairs.flat_map(|(s, d)| steps.iter().filter(move |m| **m < d).map(move |m| (s, d, m - 1)));
        tries.any(|(symbol, d, more)| attempt(symbol, d, more) == Some(true))
    }

    /// What is known of parameters and axes here; `None` if that contradicts itself, so that nothing is executed here.
    fn facts(&self, given: &[Condition], view: View) -> Option<Facts> {
        let mut facts = self.kernel.facts.clone();
        for (axis, begin, end, step) in &self.bounds {
            let symbol = self.as_dim(&Index::axis(*axis), view);
            let begin_dim = self.as_dim(begin, view);
            let mut known = Vec::new();
            for begin in members(begin, |a| if let Atom::Max(m) = a { Some(m) } else { None }) {
                known.push(Fact::new(symbol.clone(), Relation::Ge, self.as_dim(&begin, view)));
            }
            for end in members(end, |a| if let Atom::Min(m) = a { Some(m) } else { None }) {
                let end_dim = self.as_dim(&end, view);
                if *step > 1 && facts.is_multiple(&(end_dim.clone() - begin_dim.clone()), *step) {
                    known.push(Fact::new(symbol.clone(), Relation::Le, end_dim - *step));
                } else {
                    known.push(Fact::new(symbol.clone(), Relation::Lt, end_dim));
                }
            }
            if view == View::Plain && *step > 1 && facts.is_multiple(&begin_dim, *step) {
                known.push(Fact::new(symbol.modulo(&Dim::from(*step)), Relation::Eq, 0));
            }
            for fact in known {
                facts.add(fact).ok()?;
            }
        }
        for c in given {
            let i = self.simplify(&self.kernel.resolve(&c.index));
            let i = self.as_dim(&i, view);
            facts.add(Fact::new(i.clone(), Relation::Ge, 0)).ok()?;
            facts.add(Fact::new(i, Relation::Lt, c.end.clone())).ok()?;
        }
        Some(facts)
    }

    /// An index as an expression over symbols, one an axis.
    fn as_dim(&self, index: &Index, view: View) -> Dim {
        let members = |m: &[Index]| m.iter().map(|i| self.as_dim(i, view)).collect::<Vec<Dim>>();
        let mut sum = index.offset().clone();
        for (atom, c) in index.terms() {
            let value = match atom {
                Atom::Axis(a) => {
                    let symbol = Dim::symbol(format!("{AXIS_SYMBOL}{}", a.0));
                    match self.bounds.iter().find(|(axis, ..)| axis == a) {
                        Some((_, begin, _, step)) if view == View::Strided && *step > 1 => {
                            self.as_dim(begin, view) + symbol * *step
                        }
                        _ => symbol,
                    }
                }
                Atom::Div(i, d) => self.as_dim(i, view).floor_div(d),
                Atom::Mod(i, d) => self.as_dim(i, view).modulo(d),
                Atom::Min(m) => members(m).into_iter().reduce(|a, b| a.min(&b)).unwrap_or(Dim::ZERO),
                Atom::Max(m) => members(m).into_iter().reduce(|a, b| a.max(&b)).unwrap_or(Dim::ZERO),
            };
            sum = sum + value * c.clone();
        }
        sum
    }
}

fn all_nonnegative(facts: &Facts, values: &[Dim]) -> bool {
    values.iter().all(|v| facts.is_nonnegative(v))
}

/// What the names of the prover's symbols for axes begin with; no parameter is called so in a text without quotes.
const AXIS_SYMBOL: &str = "axis ";

/// What the prover's symbol for an axis stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum View {
    /// The axis.
    Plain,
    /// The number of the iteration, where the loop goes in steps: the axis is its begin plus steps. That says what
    /// remainders the axis has, whatever its begin is.
    Strided,
}

/// `axis < min(a, b) + c` says `axis < a + c` and `axis < b + c`; so does a maximum below.
fn members(bound: &Index, of: fn(&Atom) -> Option<&Vec<Index>>) -> Vec<Index> {
    match bound.terms() {
        [(atom, c)] if c.is(1) => match of(atom) {
            Some(members) => members.iter().map(|m| m.clone() + bound.offset().clone()).collect(),
            None => vec![bound.clone()],
        },
        _ => vec![bound.clone()],
    }
}

fn times(a: Option<i64>, c: i64) -> Option<i64> {
    a.and_then(|a| a.checked_mul(c))
}
