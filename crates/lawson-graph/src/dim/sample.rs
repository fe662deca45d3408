//! Refutations: points at which all facts hold, and at which a statement can be tried before it is proven.
//!
//! Most of what the prover is asked and cannot show is false. A point that the facts allow and at which a value is negative says
//! so at once, where a search for a proof would go all the way to its limits. Points are found once for a set of facts;
//! where none is found, nothing is refuted.

use super::Symbol;
use super::expr::Dim;
use super::facts::{Facts, Known};
use std::sync::OnceLock;

/// How many points are tried for a set of facts.
const TRIED: u64 = 8;

/// What symbols are above their least value.
const ABOVE: [i64; 8] = [0, 1, 2, 5, 16, 37, 100, 1023];

/// The points at which a set of facts holds, by number; found when they are first needed. They follow from the facts, so two sets
/// do not differ in them.
#[derive(Clone, Debug, Default)]
pub(super) struct Points(OnceLock<Vec<u64>>);

impl PartialEq for Points {
    fn eq(&self, _: &Points) -> bool {
        true
    }
}

impl Eq for Points {}

impl Facts {
    /// Whether the value is found to be negative somewhere: then it cannot be proven not to be.
    pub fn refutes_nonnegative(&self, dim: &Dim) -> bool {
        let negative = |point: &u64| dim.eval(&|s| self.value_at(s, *point)).is_some_and(|v| v < 0);
        self.points().iter().any(negative)
    }

    fn points(&self) -> &[u64] {
        self.points.0.get_or_init(|| {
            let holds = |point: &u64| {
                self.written.iter().all(|f| f.holds(&|s| self.value_at(s, *point)) == Some(true))
            };
            (0..TRIED).filter(holds).collect()
        })
    }

    /// What a symbol is at a point: all the least they can be at the first, and as different as they can be at others.
    fn value_at(&self, symbol: &Symbol, point: u64) -> Option<i64> {
        match self.equal.iter().find(|(s, _)| s == symbol) {
            // What equals a symbol mentions none that equals something itself.
            Some((_, value)) => value.eval(&|s| self.free_at(s, point)),
            None => self.free_at(symbol, point),
        }
    }

    fn free_at(&self, symbol: &Symbol, point: u64) -> Option<i64> {
        let Known { lo, hi, modulus, residue } = self.known_of(symbol);
        let above = if point == 0 { 0 } else { ABOVE[(hash(symbol, point) % ABOVE.len() as u64) as usize] };
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
    let step = |h: u64, b: u64| (h ^ b).wrapping_mul(0x0100_0000_01b3);
    let all = symbol.name().bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| step(h, u64::from(b)));
    let mixed = step(all, point);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use super::super::facts::{Fact, Relation};
    use super::super::parse_dim;
    use super::*;

    #[test]
    fn what_is_false_somewhere_is_refuted_and_what_holds_is_not() {
        let mut facts = Facts::new();
        for (l, relation, r) in [
            ("N", Relation::Ge, "1"),
            ("i", Relation::Lt, "N"),
            ("N % 8", Relation::Eq, "0"),
            ("M", Relation::Eq, "2*N"),
            ("k", Relation::Le, "3"),
        ] {
            facts.add(Fact::new(parse_dim(l).unwrap(), relation, parse_dim(r).unwrap())).unwrap();
        }
        let refuted = |text: &str| facts.refutes_nonnegative(&parse_dim(text).unwrap());
        for text in ["N - 9", "i - 1", "N - M", "k - 4", "8 - N", "N - i - 9"] {
            assert!(refuted(text), "{text}");
        }
        for text in ["N - 8", "N - i - 1", "M - 2*N", "3 - k", "8*(N / 8) - N", "x"] {
            assert!(!refuted(text), "{text}");
        }
    }
}
