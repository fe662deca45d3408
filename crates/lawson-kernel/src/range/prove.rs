//! Proofs: what follows from the loops entered, the parameters' facts and the conditions of a guard.
//!
//! Intervals are asked first. What they cannot show, because parameters are involved, is tried by ever dearer means: the prover
//! of the graph level, for which every axis is a symbol with facts about it; replacing axes by their bounds, from the
//! innermost loop outwards; every point, where there are few (`points.rs`); and splitting a parameter into the parts that tiles
//! make of it. What is false at a corner of the loops is not tried to be proven.

use super::points::is_free;
use super::{Scope, Truth};
use crate::expr::Condition;
use crate::index::{Atom, Datum, Index};
use crate::tree::{AxisId, Node};
use lawson_graph::{Dim, Fact, Facts, Relation, Symbol};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// What the names of the prover's symbols for axes begin with: a control character, which no parameter's name has.
const AXIS_SYMBOL: &str = "\u{1}axis ";
/// The same for integers in memory.
const DATA_SYMBOL: &str = "\u{1}data ";

/// What the prover's symbol for an axis stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum View {
    /// The axis.
    Plain,
    /// The number of the iteration, where the loop goes in steps: the axis is its begin plus steps. That says what
    /// remainders the axis has, whatever its begin is.
    Strided,
}

impl Scope<'_> {
    /// Whether `0 <= index < end` follows from the loops entered, the parameters' facts and these conditions; slower and
    /// stronger than [`Scope::within`]. Axes must not be negative, which the verifier sees to.
    pub fn proves_within(&self, written: &Index, end: &Dim, given: &[Condition]) -> bool {
        let index = self.simplify(&self.kernel.resolve(written));
        if self.within(&index, end) == Truth::Always || given.iter().any(|c| self.says(c, &index, end)) {
            return true;
        }
        let written = self.kernel.resolve(written);
        if [&written, &index].into_iter().any(|i| self.proves_within_parts(i, end, given)) {
            return true;
        }
        let by_facts = |view: View, prove: &dyn Fn(&Facts, &[Dim]) -> bool| {
            let Some(facts) = self.facts(given, view, &index) else { return true };
            let value = self.as_dim(&index, view);
            prove(&facts, &[end.clone() - value.clone() - 1, value])
        };
        let by_loops = || {
            let scope = self.narrowed(given);
            let (below, above) = (index.scaled(&Dim::from(-1)), index.clone() + 1 - end.clone());
            scope.never_positive(&below) && scope.never_positive(&above)
        };
        if self.refutes_within(&index, end, given) {
            return false;
        }
        // From what is cheap and often enough to what is not. Without parameters, bounds of loops are numbers in the end.
        let counted = end.as_const().is_some() && is_free(&index);
        counted && by_loops()
            || by_facts(View::Plain, &all_nonnegative)
            || !counted && by_loops()
            || self.proves_by_points(&index, end, given)
            // Without steps, iterations are counted as axes are.
            || self.bounds.iter().any(|b| b.step > 1) && by_facts(View::Strided, &all_nonnegative)
            || self.has_steps() && by_facts(View::Strided, &|facts, values| self.prove_by_parts(facts, values))
    }

    /// Whether a loop of the kernel goes in steps: without them, parameters have no parts.
    fn has_steps(&self) -> bool {
        let mut found = false;
        self.kernel.visit(&mut |node| found |= matches!(node, Node::For(f) if f.step > 1));
        found
    }

    /// Whether a condition is about this very index, up to a number that is added: most guards are.
    fn says(&self, condition: &Condition, index: &Index, end: &Dim) -> bool {
        let apart = index.clone() - self.simplify(&self.kernel.resolve(&condition.index));
        match (apart.as_const(), condition.end.as_const(), end.as_const()) {
            (Some(apart), Some(said), Some(end)) => {
                apart >= 0 && said.checked_add(apart).is_some_and(|e| e <= end)
            }
            (Some(0), ..) => condition.end == *end,
            _ => false,
        }
    }

    /// The same for an index that is one quotient or remainder, up to its sign and what is added: what stands inside says it.
    fn proves_within_parts(&self, index: &Index, end: &Dim, given: &[Condition]) -> bool {
        let [(atom, c)] = index.terms() else { return false };
        let offset = index.offset();
        match atom {
            // A remainder is below its divisor; a divisor of 0 belongs to loops that do not run.
            Atom::Mod(_, k) => c.is(1) && offset.is(0) && k == end,
            Atom::At(datum) => c.is(1) && offset.is(0) && datum.end == *end,
            // 0 <= x/k + r < end says 0 <= x + k·r < k·end, and so does r - x/k of k·r + k - 1 - x.
            Atom::Div(x, k) if self.kernel.facts.is_nonnegative(k) => {
                let moved = offset.clone() * k.clone();
                let inside = match c.as_const() {
                    // 0 <= c·q + r < end, where q < (end - r)/c rounded up, and not below 0.
                    Some(c) if c > 1 => {
                        let Some((r, end)) = offset.as_const().zip(end.as_const()).filter(|p| p.0 >= 0)
                        else {
                            return false;
                        };
                        let quotients = Dim::from((end - r + c - 1).div_euclid(c));
                        return self.proves_within(&Index::atom(atom.clone()), &quotients, given);
                    }
                    Some(1) => (**x).clone() + moved,
                    Some(-1) => Index::constant(moved + k.clone() - 1) - (**x).clone(),
                    _ => return false,
                };
                self.proves_within(&inside, &(end.clone() * k.clone()), given)
            }
            Atom::Div(..) | Atom::Axis(_) | Atom::Min(_) | Atom::Max(_) => false,
        }
    }

    /// Whether an index over no axis, or one that holds them where they cannot be replaced, is never above 0.
    pub(super) fn is_never_positive_by_facts(&self, index: &Index) -> bool {
        let (facts, values) = (&self.kernel.facts, [self.as_dim(index, View::Plain) * -1]);
        all_nonnegative(facts, &values) || index.as_dim().is_some() && self.prove_by_parts(facts, &values)
    }

    /// Whether an index is never negative, by the same means as [`Scope::proves_within`].
    pub fn proves_nonnegative(&self, index: &Index) -> bool {
        let index = self.simplify(&self.kernel.resolve(index));
        if self.interval(&index).0.is_some_and(|lo| lo >= 0) {
            return true;
        }
        let Some(facts) = self.facts(&[], View::Plain, &index) else { return true };
        let values = [self.as_dim(&index, View::Plain)];
        if all_nonnegative(&facts, &values) || self.never_positive(&index.scaled(&Dim::from(-1))) {
            return true;
        }
        // Term by term.
        facts.is_nonnegative(index.offset())
            && index.terms().iter().all(|(atom, c)| {
                facts.is_nonnegative(c)
                    && match atom {
                        Atom::Axis(_) | Atom::Mod(..) | Atom::At(_) => true,
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
        if !self.has_steps() || values.iter().any(|v| facts.refutes_nonnegative(v)) {
            return false;
        }
        // Rounding up by 1 is rounding down.
        let mut steps = BTreeSet::from([1]);
        self.kernel.visit(&mut |node| {
            if let Node::For(f) = node {
                steps.insert(f.step);
            }
        });
        let symbols = tied(facts, values);
        let quotient = Dim::symbol("\u{1}quotient");
        let remainder = Dim::symbol("\u{1}remainder");
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
        let is_own = |s: &Symbol| [AXIS_SYMBOL, DATA_SYMBOL].iter().any(|p| s.name().starts_with(p));
        let parameters = symbols.iter().filter(|s| !is_own(s));
        // Where nothing is divided by `d`, by a part or a multiple of it, the split would cancel nothing.
        let mut divided: Vec<(&Dim, i64)> = Vec::new();
        let sides = facts.written().iter().flat_map(|f| [&f.left, &f.right]);
        for dim in sides.chain(values) {
            dim.visit_quotients(&mut |a, b| divided.extend(b.as_const().filter(|k| *k > 0).map(|k| (a, k))));
        }
        let helps =
            |s: &Symbol, d: i64| divided.iter().any(|(a, k)| (k % d == 0 || d % k == 0) && a.mentions(s));
        let pairs = parameters.flat_map(|s| steps.iter().filter(|d| **d > 1).map(move |d| (s, *d)));
        let pairs = pairs.filter(|(s, d)| helps(s, *d));
        let mut tries =
            pairs.flat_map(|(s, d)| steps.iter().filter(move |m| **m < d).map(move |m| (s, d, m - 1)));
        tries.any(|(symbol, d, more)| attempt(symbol, d, more) == Some(true))
    }

    /// What is known of parameters, axes, and the integers in memory that an index or a condition mentions; `None` if that
    /// contradicts itself, so that nothing is executed here.
    fn facts(&self, given: &[Condition], view: View, index: &Index) -> Option<Facts> {
        let mut facts = self.kernel.facts.extensible();
        for bounds in &self.bounds {
            let super::Bounds { axis, begin, end, step } = &**bounds;
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
        let mut data = Vec::new();
        index.visit_data(&mut |d| data.push(d.clone()));
        let given: Vec<(Index, &Dim)> =
            given.iter().map(|c| (self.simplify(&self.kernel.resolve(&c.index)), &c.end)).collect();
        given.iter().for_each(|(i, _)| i.visit_data(&mut |d| data.push(d.clone())));
        for d in data {
            // Symbols are not negative anyway.
            facts.add(Fact::new(data_symbol(&d), Relation::Lt, d.end.clone())).ok()?;
        }
        for (i, end) in given {
            let i = self.as_dim(&i, view);
            facts.add(Fact::new(i.clone(), Relation::Ge, 0)).ok()?;
            facts.add(Fact::new(i, Relation::Lt, end.clone())).ok()?;
        }
        Some(facts)
    }

    /// An index as an expression over symbols, one an axis and one an integer in memory.
    fn as_dim(&self, index: &Index, view: View) -> Dim {
        let members = |m: &[Index]| m.iter().map(|i| self.as_dim(i, view)).collect::<Vec<Dim>>();
        let mut sum = index.offset().clone();
        for (atom, c) in index.terms() {
            let value = match atom {
                Atom::Axis(a) => {
                    let symbol = axis_symbol(*a);
                    match self.bounds.iter().find(|b| b.axis == *a) {
                        Some(b) if view == View::Strided && b.step > 1 => {
                            self.as_dim(&b.begin, view) + symbol * b.step
                        }
                        _ => symbol,
                    }
                }
                Atom::Div(i, d) => self.as_dim(i, view).floor_div(d),
                Atom::Mod(i, d) => self.as_dim(i, view).modulo(d),
                Atom::Min(m) => members(m).into_iter().reduce(|a, b| a.min(&b)).unwrap_or(Dim::ZERO),
                Atom::Max(m) => members(m).into_iter().reduce(|a, b| a.max(&b)).unwrap_or(Dim::ZERO),
                Atom::At(datum) => data_symbol(datum),
            };
            sum = sum + value * c.clone();
        }
        sum
    }
}

/// What stands for an axis.
fn axis_symbol(axis: AxisId) -> Dim {
    const KEPT: u32 = 64;
    static FIRST: LazyLock<Vec<Dim>> = LazyLock::new(|| (0..KEPT).map(named).collect());
    fn named(axis: u32) -> Dim {
        Dim::symbol(format!("{AXIS_SYMBOL}{axis}"))
    }
    FIRST.get(axis.0 as usize).cloned().unwrap_or_else(|| named(axis.0))
}

/// What stands for an integer in memory: the same for the same element clamped alike.
fn data_symbol(datum: &Datum) -> Dim {
    Dim::symbol(format!("{DATA_SYMBOL}{:?}", Index::atom(Atom::At(Box::new(datum.clone())))))
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

/// The symbols that have to do with these values: their own, and those that facts tie to them. Others have no part in a proof.
fn tied(facts: &Facts, values: &[Dim]) -> BTreeSet<Symbol> {
    let of = |dims: &[&Dim]| {
        let mut found = BTreeSet::new();
        dims.iter().for_each(|d| {
            d.visit_symbols(&mut |s| {
                found.insert(s.clone());
            });
        });
        found
    };
    let mut symbols = of(&values.iter().collect::<Vec<_>>());
    let mut others: Vec<BTreeSet<Symbol>> =
        facts.written().iter().map(|f| of(&[&f.left, &f.right])).collect();
    loop {
        let before = others.len();
        others.retain(|fact| {
            let is_tied = !fact.is_disjoint(&symbols);
            if is_tied {
                symbols.extend(fact.iter().cloned());
            }
            !is_tied
        });
        if others.len() == before {
            return symbols;
        }
    }
}

fn all_nonnegative(facts: &Facts, values: &[Dim]) -> bool {
    values.iter().all(|v| facts.is_nonnegative(v))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_tie_symbols_together_through_others() {
        let dim = Dim::symbol;
        let mut facts = Facts::new();
        for (a, b) in [("N", "K"), ("b", "M"), ("a", "N")] {
            facts.add(Fact::new(dim(a), Relation::Lt, dim(b))).unwrap();
        }
        let names = |value: Dim| {
            tied(&facts, &[value]).into_iter().map(|s| s.name().to_string()).collect::<Vec<String>>()
        };
        assert_eq!(names(dim("a") * 2 - 1), ["K", "N", "a"]);
        assert_eq!(names(dim("b") + dim("c")), ["M", "b", "c"]);
        assert!(names(Dim::from(3)).is_empty());
    }
}
