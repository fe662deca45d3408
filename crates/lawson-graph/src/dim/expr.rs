//! The canonical form: polynomials over atoms, and what keeps them canonical. `expr/` has products of atoms, the operators, and going through expressions.

mod monomial;
mod operators;
mod walk;

use super::Symbol;
use monomial::Mark;
pub(super) use monomial::Monomial;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The most terms that a canonical expression may have.
const MAX_TERMS: usize = 96;
/// The most symbols that an expression may be written with, at all depths together: what bounds its text and the time
/// that it takes to work with it.
const MAX_WEIGHT: usize = 1024;
/// The deepest nesting of divisions, minima and maxima.
const MAX_DEPTH: usize = 12;

/// A dimension: a constant, or an expression over symbols in canonical form.
///
/// ```
/// use lawson_graph::Dim;
/// let n = Dim::symbol("N");
/// assert_eq!((n.clone() + 1) * 2, n.clone() + n.clone() + 2);
/// assert_eq!((n.clone() * 8 + 7).floor_div(&Dim::from(8)), n);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Dim(Repr);

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Repr {
    Const(i64),
    Poly(Arc<Poly>),
    Overflow,
}

/// `constant + Σ coefficient × monomial`: terms sorted by monomial, no zero coefficients, at least one term.
pub(super) struct Poly {
    pub(super) terms: Vec<Term>,
    pub(super) constant: i64,
    /// With how many symbols it is written.
    weight: usize,
    mark: Mark,
}

// Weight and mark follow from the rest.
impl PartialEq for Poly {
    fn eq(&self, other: &Poly) -> bool {
        self.mark == other.mark && self.constant == other.constant && self.terms == other.terms
    }
}

impl Eq for Poly {}

impl Hash for Poly {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.terms.hash(state);
        self.constant.hash(state);
    }
}

impl Ord for Poly {
    fn cmp(&self, other: &Poly) -> Ordering {
        if std::ptr::eq(self, other) {
            return Ordering::Equal;
        }
        self.terms.cmp(&other.terms).then_with(|| self.constant.cmp(&other.constant))
    }
}

impl PartialOrd for Poly {
    fn partial_cmp(&self, other: &Poly) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Term {
    pub(super) monomial: Monomial,
    pub(super) coefficient: i64,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Atom {
    Symbol(Symbol),
    FloorDiv(Dim, Dim),
    /// At least two members, sorted.
    Min(Vec<Dim>),
    /// At least two members, sorted.
    Max(Vec<Dim>),
}

/// The order in which atoms stand in a product. It is structural and private: comparing *values* of dimensions is
/// the business of `Facts`, so `Dim` itself has no `Ord`.
impl Ord for Atom {
    fn cmp(&self, other: &Atom) -> Ordering {
        fn kind(atom: &Atom) -> u8 {
            match atom {
                Atom::Symbol(_) => 0,
                Atom::FloorDiv(..) => 1,
                Atom::Min(_) => 2,
                Atom::Max(_) => 3,
            }
        }
        match (self, other) {
            (Atom::Symbol(a), Atom::Symbol(b)) => a.cmp(b),
            (Atom::FloorDiv(a, b), Atom::FloorDiv(c, d)) => a.0.cmp(&c.0).then_with(|| b.0.cmp(&d.0)),
            (Atom::Min(a), Atom::Min(b)) | (Atom::Max(a), Atom::Max(b)) => {
                a.iter().map(|d| &d.0).cmp(b.iter().map(|d| &d.0))
            }
            _ => kind(self).cmp(&kind(other)),
        }
    }
}

impl PartialOrd for Atom {
    fn partial_cmp(&self, other: &Atom) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Dim {
    /// Zero.
    pub const ZERO: Dim = Dim(Repr::Const(0));
    /// One.
    pub const ONE: Dim = Dim(Repr::Const(1));

    /// The dimension that a symbol names.
    pub fn symbol(name: impl AsRef<str>) -> Dim {
        Dim::from(Symbol::new(name))
    }

    /// The poisoned dimension: an expression that did not fit.
    pub fn overflow() -> Dim {
        Dim(Repr::Overflow)
    }

    /// Whether this is the poisoned dimension.
    pub fn is_overflow(&self) -> bool {
        matches!(self.0, Repr::Overflow)
    }

    /// The value, if it is a constant.
    pub fn as_const(&self) -> Option<i64> {
        match self.0 {
            Repr::Const(c) => Some(c),
            _ => None,
        }
    }

    /// The symbol, if it is one alone.
    pub fn as_symbol(&self) -> Option<&Symbol> {
        match self.terms() {
            [Term { monomial, coefficient: 1 }] if self.constant() == 0 => match monomial.as_slice() {
                [(Atom::Symbol(s), 1)] => Some(s),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it is this constant.
    pub fn is(&self, value: i64) -> bool {
        self.as_const() == Some(value)
    }

    pub(super) fn terms(&self) -> &[Term] {
        match &self.0 {
            Repr::Poly(p) => &p.terms,
            _ => &[],
        }
    }

    pub(super) fn constant(&self) -> i64 {
        match &self.0 {
            Repr::Const(c) => *c,
            Repr::Poly(p) => p.constant,
            Repr::Overflow => 0,
        }
    }

    /// The sum of the coefficients' magnitudes; the greatest number for the poisoned dimension.
    pub(crate) fn coefficient_sum(&self) -> i128 {
        match &self.0 {
            Repr::Const(c) => i128::from(*c).abs(),
            Repr::Poly(p) => {
                let terms = p.terms.iter().map(|t| i128::from(t.coefficient).abs()).sum::<i128>();
                terms + i128::from(p.constant).abs()
            }
            Repr::Overflow => i128::MAX,
        }
    }

    pub(super) fn atom(atom: Atom) -> Dim {
        Dim::monomial(Monomial::new(vec![(atom, 1)]), 1)
    }

    /// A product, which may be empty, times a number.
    pub(super) fn product(factors: Vec<(Atom, u32)>, coefficient: i64) -> Dim {
        if factors.is_empty() {
            return Dim::from(coefficient);
        }
        Dim::monomial(Monomial::new(factors), coefficient)
    }

    pub(super) fn monomial(monomial: Monomial, coefficient: i64) -> Dim {
        Dim::from_terms(vec![Term { monomial, coefficient }], 0)
    }

    /// From sorted terms of distinct monomials; zero coefficients are dropped.
    fn from_terms(mut terms: Vec<Term>, constant: i64) -> Dim {
        terms.retain(|t| t.coefficient != 0);
        if terms.is_empty() {
            return Dim(Repr::Const(constant));
        }
        let weight = terms.iter().map(|t| t.monomial.weight()).fold(0, usize::saturating_add);
        if terms.len() > MAX_TERMS || weight > MAX_WEIGHT {
            return Dim::overflow();
        }
        let mark = terms.iter().fold(Mark::default().and_number(constant as u64), |mark, t| {
            mark.and(t.monomial.mark()).and_number(t.coefficient as u64)
        });
        Dim(Repr::Poly(Arc::new(Poly { terms, constant, weight, mark })))
    }

    fn mark(&self) -> Mark {
        match &self.0 {
            Repr::Const(c) => Mark::default().and_number(*c as u64),
            Repr::Poly(p) => p.mark,
            Repr::Overflow => Mark::default(),
        }
    }

    /// Bits of the symbols that it mentions: two that have none in common have no symbol in common.
    pub(super) fn symbol_bits(&self) -> u64 {
        self.mark().symbols
    }

    fn weight(&self) -> usize {
        match &self.0 {
            Repr::Poly(p) => p.weight,
            _ => 0,
        }
    }

    /// Adds terms in any order, merging equal monomials.
    fn collect(mut terms: Vec<Term>, constant: Option<i64>) -> Dim {
        let Some(constant) = constant else { return Dim::overflow() };
        terms.sort_by(|a, b| a.monomial.cmp(&b.monomial));
        let mut merged: Vec<Term> = Vec::with_capacity(terms.len());
        for term in terms {
            match merged.last_mut() {
                Some(last) if last.monomial == term.monomial => {
                    match last.coefficient.checked_add(term.coefficient) {
                        Some(sum) => last.coefficient = sum,
                        None => return Dim::overflow(),
                    }
                }
                _ => merged.push(term),
            }
        }
        Dim::from_terms(merged, constant)
    }

    fn scaled(&self, factor: i64) -> Dim {
        match (&self.0, factor) {
            (Repr::Overflow, _) => return Dim::overflow(),
            (Repr::Const(c), _) => return c.checked_mul(factor).map_or_else(Dim::overflow, Dim::from),
            (Repr::Poly(_), 1) => return self.clone(),
            (Repr::Poly(_), _) => {}
        }
        let mut terms = Vec::with_capacity(self.terms().len());
        for t in self.terms() {
            let Some(coefficient) = t.coefficient.checked_mul(factor) else { return Dim::overflow() };
            terms.push(Term { monomial: t.monomial.clone(), coefficient });
        }
        match self.constant().checked_mul(factor) {
            Some(constant) => Dim::from_terms(terms, constant),
            None => Dim::overflow(),
        }
    }

    /// `floor(self / divisor)`; division by zero gives zero.
    pub fn floor_div(&self, divisor: &Dim) -> Dim {
        if self.is_overflow() || divisor.is_overflow() {
            return Dim::overflow();
        }
        match divisor.as_const() {
            Some(0) => Dim::ZERO,
            Some(1) => self.clone(),
            Some(d) if d < 0 => match d.checked_neg() {
                Some(positive) => self.scaled(-1).floor_div_const(positive),
                None => Dim::overflow(),
            },
            Some(d) => self.floor_div_const(d),
            None if self.is(0) => Dim::ZERO,
            None => self.make_floor_div(divisor),
        }
    }

    /// Splits `self` into `d*q + r` with the coefficients of `r` in `0..d`, so that `floor(self/d) = q + floor(r/d)`.
    fn floor_div_const(&self, d: i64) -> Dim {
        if let Some(c) = self.as_const() {
            return Dim::from(c.div_euclid(d));
        }
        let mut whole = Vec::new();
        let mut rest = Vec::new();
        for t in self.terms() {
            let (q, r) = (t.coefficient.div_euclid(d), t.coefficient.rem_euclid(d));
            whole.push(Term { monomial: t.monomial.clone(), coefficient: q });
            rest.push(Term { monomial: t.monomial.clone(), coefficient: r });
        }
        let c = self.constant();
        let whole = Dim::from_terms(whole, c.div_euclid(d));
        let rest = Dim::from_terms(rest, c.rem_euclid(d));
        if rest.as_const().is_some() {
            return whole;
        }
        // floor((g*p + r) / (g*d)) = floor((p + floor(r/g)) / d)
        let g = rest.terms().iter().fold(d, |g, t| gcd(g, t.coefficient));
        let (rest, d) = if g > 1 {
            let terms = rest
                .terms()
                .iter()
                .map(|t| Term { monomial: t.monomial.clone(), coefficient: t.coefficient / g })
                .collect();
            (Dim::from_terms(terms, rest.constant().div_euclid(g)), d / g)
        } else {
            (rest, d)
        };
        if d == 1 {
            return whole + rest;
        }
        // floor((floor(x/a) + c) / d) = floor((x + c*a) / (a*d)) for positive constants a, d
        if let [Term { monomial, coefficient: 1 }] = rest.terms()
            && let [(Atom::FloorDiv(x, a), 1)] = monomial.as_slice()
            && let Some(a) = a.as_const()
            && a > 0
            && let Some(product) = a.checked_mul(d)
        {
            let shifted = x.clone() + Dim::from(rest.constant()) * Dim::from(a);
            return whole + shifted.floor_div_const(product);
        }
        whole + rest.make_floor_div(&Dim::from(d))
    }

    fn make_floor_div(&self, divisor: &Dim) -> Dim {
        if self.depth().max(divisor.depth()) >= MAX_DEPTH {
            return Dim::overflow();
        }
        Dim::atom(Atom::FloorDiv(self.clone(), divisor.clone()))
    }

    /// `ceil(self / divisor)` for a positive divisor.
    pub fn ceil_div(&self, divisor: &Dim) -> Dim {
        (self.clone() + divisor.clone() - 1).floor_div(divisor)
    }

    /// `self - divisor * floor(self / divisor)`.
    pub fn modulo(&self, divisor: &Dim) -> Dim {
        self.clone() - divisor.clone() * self.floor_div(divisor)
    }

    /// The lesser of the two.
    pub fn min(&self, other: &Dim) -> Dim {
        Dim::extremum([self.clone(), other.clone()], Extremum::Min)
    }

    /// The greater of the two.
    pub fn max(&self, other: &Dim) -> Dim {
        Dim::extremum([self.clone(), other.clone()], Extremum::Max)
    }

    fn extremum(members: impl IntoIterator<Item = Dim>, which: Extremum) -> Dim {
        let mut flat: Vec<Dim> = Vec::new();
        for member in members {
            if member.is_overflow() {
                return Dim::overflow();
            }
            // min(k*min(a, b) + c, d) = min(k*a + c, k*b + c, d) for positive k
            match member.terms() {
                [Term { monomial, coefficient }]
                    if *coefficient > 0 && monomial.len() == 1 && monomial[0].1 == 1 =>
                {
                    match (&monomial[0].0, which) {
                        (Atom::Min(inner), Extremum::Min) | (Atom::Max(inner), Extremum::Max) => {
                            flat.extend(inner.iter().map(|d| d.scaled(*coefficient) + member.constant()));
                        }
                        _ => flat.push(member),
                    }
                }
                _ => flat.push(member),
            }
        }
        if flat.iter().any(Dim::is_overflow) || flat.len() > MAX_TERMS {
            return Dim::overflow();
        }
        flat.sort_by(|a, b| a.0.cmp(&b.0));
        flat.dedup();
        // Of two members that differ by a constant only one can be the extremum.
        let mut kept: Vec<Dim> = Vec::new();
        'members: for d in flat {
            for k in &mut kept {
                if let Some(gap) = (d.clone() - k.clone()).as_const() {
                    let better = match which {
                        Extremum::Min => gap < 0,
                        Extremum::Max => gap > 0,
                    };
                    if better {
                        *k = d;
                    }
                    continue 'members;
                }
            }
            kept.push(d);
        }
        if kept.len() == 1 {
            return kept.swap_remove(0);
        }
        // Pull out a common offset, then a common positive factor of what is left: in the other order an offset
        // could leave a factor behind.
        let offset = kept.iter().map(Dim::constant).min().unwrap_or(0);
        for d in &mut kept {
            *d = d.clone() - offset;
        }
        if kept.iter().any(|d| d.is_overflow() || d.depth() >= MAX_DEPTH) {
            return Dim::overflow();
        }
        let factor = kept
            .iter()
            .fold(0, |g, d| d.terms().iter().map(|t| t.coefficient).chain([d.constant()]).fold(g, gcd));
        if factor > 1 {
            for d in &mut kept {
                *d = d.divided_exactly(factor);
            }
        }
        kept.sort_by(|a, b| a.0.cmp(&b.0));
        let atom = match which {
            Extremum::Min => Atom::Min(kept),
            Extremum::Max => Atom::Max(kept),
        };
        Dim::atom(atom).scaled(factor.max(1)) + offset
    }

    /// Divides every coefficient by a constant that divides them all.
    pub(super) fn divided_exactly(&self, divisor: i64) -> Dim {
        let terms = self
            .terms()
            .iter()
            .map(|t| Term { monomial: t.monomial.clone(), coefficient: t.coefficient / divisor })
            .collect();
        Dim::from_terms(terms, self.constant() / divisor)
    }

    fn depth(&self) -> usize {
        self.terms().iter().map(|t| t.monomial.depth()).max().unwrap_or(0)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Extremum {
    Min,
    Max,
}

pub(super) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}
