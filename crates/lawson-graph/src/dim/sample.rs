//! Refutations: points at which all facts hold, and at which a statement can be tried before it is proven.
//!
//! Most of what the prover is asked and cannot show is false. A point that the facts allow and at which a value is negative says
//! so at once, where a search for a proof would go all the way to its limits. Points are found once for a set of facts: a symbol gets a value
//! that is allowed by itself, and where a fact about several fails, one of them is moved until it holds. Where no point is found, nothing is refuted.

use super::Symbol;
use super::expr::{Atom, Dim};
use super::facts::{Facts, Known};
use std::sync::{Arc, OnceLock};

/// How many points are tried for a set of facts.
const TRIED: u64 = 8;

/// How often all facts are gone through to move symbols.
const ROUNDS: usize = 4;

/// What symbols are above their least value.
const ABOVE: [i64; 8] = [0, 1, 2, 5, 16, 37, 100, 1023];

/// The points at which a set of facts holds; found when they are first needed, for all copies of the set. They follow from the facts, so two sets
/// do not differ in them.
#[derive(Clone, Debug, Default)]
pub(super) struct Points {
    found: Arc<OnceLock<Vec<Point>>>,
    /// Those of the facts before others were added.
    before: Option<Before>,
}

/// Points that were found for the first of the facts: where those that came later hold, too, with what they alone mention moved, all hold.
#[derive(Clone, Debug)]
struct Before {
    points: Arc<OnceLock<Vec<Point>>>,
    written: usize,
    nonnegative: usize,
}

/// Numbers of symbols, sorted by digests and names.
#[derive(Clone, Debug, Default)]
struct Values(Vec<(Symbol, i64)>);

/// What symbols are at a point. Those of which it says nothing are what its number says.
#[derive(Clone, Debug)]
struct Point {
    number: u64,
    /// Shared with the points that were found from this one.
    fixed: Arc<Values>,
    moved: Values,
}

impl Values {
    fn place(&self, symbol: &Symbol) -> Result<usize, usize> {
        let order =
            |(other, _): &(Symbol, i64)| other.digest().cmp(&symbol.digest()).then_with(|| other.cmp(symbol));
        self.0.binary_search_by(order)
    }

    fn get(&self, symbol: &Symbol) -> Option<i64> {
        self.place(symbol).ok().map(|at| self.0[at].1)
    }

    fn set(&mut self, symbol: &Symbol, value: i64) {
        match self.place(symbol) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (symbol.clone(), value)),
        }
    }
}

impl PartialEq for Points {
    fn eq(&self, _: &Points) -> bool {
        true
    }
}

impl Eq for Points {}

impl Points {
    /// When a fact came to those that are written and that many others.
    pub(super) fn with_more(&self, written: usize, nonnegative: usize) -> Points {
        let found = || Before { points: self.found.clone(), written, nonnegative };
        let before = if self.found.get().is_some() { Some(found()) } else { self.before.clone() };
        Points { found: Arc::default(), before }
    }
}

impl Facts {
    /// Whether the value is found to be negative somewhere: then it cannot be proven not to be.
    pub fn refutes_nonnegative(&self, dim: &Dim) -> bool {
        self.points().iter().any(|p| self.at(dim, p).is_some_and(|v| v < 0))
    }

    /// The same facts, for others to be added that say something of further symbols: what is found out about these is kept.
    pub fn extensible(&self) -> Facts {
        self.points();
        self.clone()
    }

    fn points(&self) -> &[Point] {
        self.points.found.get_or_init(|| {
            if let Some((before, points)) =
                self.points.before.as_ref().and_then(|b| Some((b, b.points.get()?)))
            {
                let further: Vec<Point> = points.iter().filter_map(|p| self.further(p, before)).collect();
                // More facts hold at fewer points.
                if !further.is_empty() || points.is_empty() {
                    return further;
                }
            }
            (0..TRIED).filter_map(|number| self.point(number)).collect()
        })
    }

    /// A point at which the facts before hold, as one at which all do.
    fn further(&self, point: &Point, before: &Before) -> Option<Point> {
        let mut fixed = point.fixed.clone();
        if !point.moved.0.is_empty() {
            let fixed = Arc::make_mut(&mut fixed);
            point.moved.0.iter().for_each(|(s, v)| fixed.set(s, *v));
        }
        let mut point = Point { fixed, moved: Values::default(), ..*point };
        self.move_all(&self.nonnegative[before.nonnegative..], &mut point)?;
        self.settled(point, before.written)
    }

    /// The point of a number, if one is found at which all facts hold.
    fn point(&self, number: u64) -> Option<Point> {
        let mut point = Point { number, fixed: Arc::default(), moved: Values::default() };
        self.move_all(&self.nonnegative, &mut point)?;
        let Point { moved, .. } = self.settled(point, 0)?;
        Some(Point { number, fixed: Arc::new(moved), moved: Values::default() })
    }

    /// A point with the values of all symbols that the facts from this one on mention, if they hold there.
    fn settled(&self, mut point: Point, from: usize) -> Option<Point> {
        let facts = &self.written[from..];
        if !facts.iter().all(|f| f.holds(&|s| self.value_at(s, &point)) == Some(true)) {
            return None;
        }
        let mut values: Vec<(Symbol, i64)> = Vec::new();
        for side in facts.iter().flat_map(|f| [&f.left, &f.right]) {
            side.visit_symbols(&mut |s| {
                if point.fixed.get(s).is_none() {
                    values.extend(self.value_at(s, &point).map(|v| (s.clone(), v)));
                }
            });
        }
        values.iter().for_each(|(s, v)| point.moved.set(s, *v));
        Some(point)
    }

    /// Moves symbols until these are not negative, or for some rounds.
    fn move_all(&self, gaps: &[Dim], point: &mut Point) -> Option<()> {
        for _ in 0..ROUNDS {
            let mut is_moved = false;
            for gap in gaps {
                if self.at(gap, point)? < 0 {
                    self.move_for(gap, point)?;
                    is_moved = true;
                }
            }
            if !is_moved {
                break;
            }
        }
        Some(())
    }

    /// Moves symbols such that `gap`, which is negative at a point, is not: those with which it falls down and those with which it grows up, each as far
    /// as needed or allowed. At one point small sizes come of it, at the next large ones.
    fn move_for(&self, gap: &Dim, point: &mut Point) -> Option<()> {
        let down_first = point.number.is_multiple_of(2);
        for falls in [down_first, !down_first] {
            for term in gap.terms().iter().filter(|t| (t.coefficient < 0) == falls) {
                let [(Atom::Symbol(symbol), 1)] = term.monomial.as_slice() else { continue };
                if point.fixed.get(symbol).is_some() {
                    continue;
                }
                let missing = self.at(gap, point)?.checked_neg()?;
                if missing <= 0 {
                    return Some(());
                }
                let Known { lo, hi, modulus, residue } = self.known_of(symbol);
                let rate = term.coefficient.checked_abs()?;
                let by = missing.checked_add(rate - 1)? / rate;
                let here = self.value_at(symbol, point)?;
                let value = if falls {
                    let wanted = here.checked_sub(by)?.max(lo);
                    wanted.checked_sub(wanted.checked_sub(residue)?.rem_euclid(modulus))?
                } else {
                    let wanted = here.checked_add(by)?.min(hi.unwrap_or(i64::MAX));
                    wanted.checked_add(residue.checked_sub(wanted)?.rem_euclid(modulus))?
                };
                if value >= lo && hi.is_none_or(|hi| value <= hi) {
                    point.moved.set(symbol, value);
                }
            }
        }
        (self.at(gap, point)? >= 0).then_some(())
    }

    fn at(&self, dim: &Dim, point: &Point) -> Option<i64> {
        dim.eval(&|s| self.value_at(s, point))
    }

    fn value_at(&self, symbol: &Symbol, point: &Point) -> Option<i64> {
        if let Some(value) = point.fixed.get(symbol).or_else(|| point.moved.get(symbol)) {
            return Some(value);
        }
        match self.equal.get(symbol) {
            Some(value) => self.at(value, point),
            None => self.free_at(symbol, point.number),
        }
    }

    /// What a symbol is by the number of a point: all the least they can be at the first, and as different as they can be at others.
    fn free_at(&self, symbol: &Symbol, number: u64) -> Option<i64> {
        let Known { lo, hi, modulus, residue } = self.known_of(symbol);
        let above = if number == 0 { 0 } else { ABOVE[(hash(symbol, number) % ABOVE.len() as u64) as usize] };
        let above = match hi.and_then(|hi| hi.checked_sub(lo)?.checked_add(1)) {
            Some(values) if values > 0 => above % values,
            _ => above,
        };
        // The next that has the residue.
        let next = |from: i64| from.checked_add((residue.checked_sub(from)?).rem_euclid(modulus));
        let value = next(lo.checked_add(above)?)?;
        match hi {
            Some(hi) if value > hi => next(lo).filter(|v| *v <= hi),
            _ => Some(value),
        }
    }
}

/// Different for different symbols and points.
fn hash(symbol: &Symbol, point: u64) -> u64 {
    let mixed = (symbol.digest() ^ point).wrapping_mul(0x0100_0000_01b3);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use super::super::facts::{Fact, Relation};
    use super::super::parse_dim;
    use super::*;

    fn facts(list: &[(&str, Relation, &str)]) -> Facts {
        let mut facts = Facts::new();
        add(&mut facts, list);
        facts
    }

    fn add(facts: &mut Facts, list: &[(&str, Relation, &str)]) {
        for (l, relation, r) in list {
            facts.add(Fact::new(parse_dim(l).unwrap(), *relation, parse_dim(r).unwrap())).unwrap();
        }
    }

    const CHAIN: [(&str, Relation, &str); 5] = [
        ("a", Relation::Le, "90"),
        ("b", Relation::Le, "a"),
        ("c", Relation::Le, "b"),
        ("d", Relation::Le, "min(10, c)"),
        ("e", Relation::Lt, "2*d + 1"),
    ];

    #[test]
    fn symbols_are_moved_to_where_facts_about_several_hold() {
        let facts = facts(&CHAIN);
        assert!(facts.points().len() > 4);
        for text in ["a - b - 1", "c - d - 1", "10 - c", "d - 1", "e - d", "5 - d"] {
            assert!(facts.refutes_nonnegative(&parse_dim(text).unwrap()), "{text}");
        }
        for text in ["a - d", "10 - d", "20 - e", "90 - c"] {
            assert!(!facts.refutes_nonnegative(&parse_dim(text).unwrap()), "{text}");
        }
    }

    #[test]
    fn facts_about_further_symbols_keep_the_points_at_which_they_can_hold() {
        let before = facts(&CHAIN);
        let mut after = before.extensible();
        add(&mut after, &[("i", Relation::Lt, "d"), ("j", Relation::Lt, "3*i + 1")]);
        let points = after.points();
        assert!(!points.is_empty() && points.len() < before.points().len());
        for point in points {
            assert!(after.written.iter().all(|f| f.holds(&|s| after.value_at(s, point)) == Some(true)));
        }
        assert!(after.refutes_nonnegative(&parse_dim("d - i - 2").unwrap()));
        assert!(!after.refutes_nonnegative(&parse_dim("3*d - j - 3").unwrap()));
        // What no point before allows is looked for afresh.
        add(&mut after, &[("b", Relation::Ge, "77"), ("c", Relation::Le, "76")]);
        assert!(!after.points().is_empty());
    }

    #[test]
    fn what_is_false_somewhere_is_refuted_and_what_holds_is_not() {
        let facts = facts(&[
            ("N", Relation::Ge, "1"),
            ("i", Relation::Lt, "N"),
            ("N % 8", Relation::Eq, "0"),
            ("M", Relation::Eq, "2*N"),
            ("k", Relation::Le, "3"),
        ]);
        let refuted = |text: &str| facts.refutes_nonnegative(&parse_dim(text).unwrap());
        for text in ["N - 9", "i - 1", "N - M", "k - 4", "8 - N", "N - i - 9"] {
            assert!(refuted(text), "{text}");
        }
        for text in ["N - 8", "N - i - 1", "M - 2*N", "3 - k", "8*(N / 8) - N", "x"] {
            assert!(!refuted(text), "{text}");
        }
    }
}
