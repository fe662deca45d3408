//! Products of atoms. They are shared by all expressions that have them, and know what is often asked of them: sums are
//! formed by the thousand while proofs are looked for, and hardly ever have a product that was not there before.

use super::{Atom, Dim};
use crate::dim::Symbol;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A product of atoms with their powers, sorted by atom, not empty.
#[derive(Clone)]
pub(in crate::dim) struct Monomial(Arc<Product>);

struct Product {
    factors: Vec<(Atom, u32)>,
    /// With how many symbols it is written.
    weight: usize,
    /// How deep divisions, minima and maxima are nested in it.
    depth: usize,
    mark: Mark,
}

/// What differs for most expressions that differ, and says of most symbols that an expression does not mention them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::dim) struct Mark {
    pub(in crate::dim) digest: u64,
    /// The bits of its symbols.
    pub(in crate::dim) symbols: u64,
}

impl Mark {
    fn of_symbol(symbol: &Symbol) -> Mark {
        Mark { digest: symbol.digest(), symbols: symbol.bit() }
    }

    /// This and something else after it.
    pub(super) fn and(self, other: Mark) -> Mark {
        Mark { digest: mix(self.digest, other.digest), symbols: self.symbols | other.symbols }
    }

    /// This and a number after it.
    pub(super) fn and_number(self, number: u64) -> Mark {
        Mark { digest: mix(self.digest, number), ..self }
    }
}

fn mix(a: u64, b: u64) -> u64 {
    let mixed = (a.rotate_left(5) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

impl Monomial {
    /// From factors that are sorted by atom.
    pub(in crate::dim) fn new(factors: Vec<(Atom, u32)>) -> Monomial {
        let weights = factors.iter().map(|(atom, power)| atom.weight().saturating_mul(*power as usize));
        let weight = weights.fold(0, usize::saturating_add);
        let depth = factors.iter().map(|(atom, _)| atom.depth()).max().unwrap_or(0);
        let mark = factors
            .iter()
            .fold(Mark::default(), |mark, (atom, power)| mark.and(atom.mark()).and_number(u64::from(*power)));
        Monomial(Arc::new(Product { factors, weight, depth, mark }))
    }

    pub(in crate::dim) fn as_slice(&self) -> &[(Atom, u32)] {
        &self.0.factors
    }

    pub(super) fn weight(&self) -> usize {
        self.0.weight
    }

    pub(super) fn depth(&self) -> usize {
        self.0.depth
    }

    pub(super) fn mark(&self) -> Mark {
        self.0.mark
    }

    /// The product of two; `None` if a power is too high.
    pub(super) fn times(&self, other: &Monomial) -> Option<Monomial> {
        let mut product = self.to_vec();
        for (atom, power) in other.iter() {
            match product.binary_search_by(|(other, _)| other.cmp(atom)) {
                Ok(i) => product[i].1 = product[i].1.checked_add(*power).filter(|p| *p <= 16)?,
                Err(i) => product.insert(i, (atom.clone(), *power)),
            }
        }
        Some(Monomial::new(product))
    }
}

impl Deref for Monomial {
    type Target = [(Atom, u32)];

    fn deref(&self) -> &[(Atom, u32)] {
        &self.0.factors
    }
}

impl<'m> IntoIterator for &'m Monomial {
    type Item = &'m (Atom, u32);
    type IntoIter = std::slice::Iter<'m, (Atom, u32)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.factors.iter()
    }
}

impl PartialEq for Monomial {
    fn eq(&self, other: &Monomial) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.mark == other.0.mark && self.0.factors == other.0.factors
    }
}

impl Eq for Monomial {}

impl Hash for Monomial {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.factors.hash(state);
    }
}

impl Ord for Monomial {
    fn cmp(&self, other: &Monomial) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.factors.cmp(&other.0.factors) }
    }
}

impl PartialOrd for Monomial {
    fn partial_cmp(&self, other: &Monomial) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Atom {
    pub(super) fn weight(&self) -> usize {
        match self {
            Atom::Symbol(_) => 1,
            Atom::FloorDiv(a, b) => a.weight().saturating_add(b.weight()),
            Atom::Min(m) | Atom::Max(m) => m.iter().map(Dim::weight).fold(0, usize::saturating_add),
        }
    }

    fn depth(&self) -> usize {
        match self {
            Atom::Symbol(_) => 0,
            Atom::FloorDiv(a, b) => 1 + a.depth().max(b.depth()),
            Atom::Min(m) | Atom::Max(m) => 1 + m.iter().map(Dim::depth).max().unwrap_or(0),
        }
    }

    fn mark(&self) -> Mark {
        let of = |kind: u64, members: &[&Dim]| {
            members.iter().fold(Mark::default().and_number(kind), |mark, d| mark.and(d.mark()))
        };
        match self {
            Atom::Symbol(s) => Mark::of_symbol(s),
            Atom::FloorDiv(a, b) => of(1, &[a, b]),
            Atom::Min(m) => m.iter().fold(of(2, &[]), |mark, d| mark.and(d.mark())),
            Atom::Max(m) => m.iter().fold(of(3, &[]), |mark, d| mark.and(d.mark())),
        }
    }
}
