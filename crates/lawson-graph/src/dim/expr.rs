//! The canonical form: polynomials over atoms, and the arithmetic that keeps them canonical.

use crate::name::{is_bare_symbol, write_quoted};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Add, Mul, Neg, Sub};
use std::sync::Arc;

/// The most terms that a canonical expression may have.
const MAX_TERMS: usize = 96;
/// The most symbols that an expression may be written with, at all depths together: what bounds its text and the time
/// that it takes to work with it.
const MAX_WEIGHT: usize = 1024;
/// The deepest nesting of divisions, minima and maxima.
const MAX_DEPTH: usize = 12;

/// The name of a symbolic dimension.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(Arc<str>);

impl Symbol {
    /// A symbol of that name.
    pub fn new(name: impl AsRef<str>) -> Symbol {
        Symbol(Arc::from(name.as_ref()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// As texts write it: in single quotes unless it may stand bare.
impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_bare_symbol(&self.0) { f.write_str(&self.0) } else { write_quoted(f, &self.0, '\'') }
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

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
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Poly {
    pub(super) terms: Vec<Term>,
    pub(super) constant: i64,
    /// With how many symbols it is written.
    weight: usize,
}

/// The weight follows from the rest.
impl Hash for Poly {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.terms.hash(state);
        self.constant.hash(state);
    }
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Term {
    pub(super) monomial: Monomial,
    pub(super) coefficient: i64,
}

/// A product of atoms with their powers, sorted by atom, not empty.
pub(super) type Monomial = Vec<(Atom, u32)>;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Atom {
    Symbol(Symbol),
    FloorDiv(Dim, Dim),
    /// At least two members, sorted.
    Min(Vec<Dim>),
    /// At least two members, sorted.
    Max(Vec<Dim>),
}

impl Term {
    fn weight(&self) -> usize {
        let factors = self.monomial.iter().map(|(atom, power)| atom.weight().saturating_mul(*power as usize));
        factors.fold(0, usize::saturating_add)
    }
}

/// The order in which atoms stand in a product. It is structural and private: comparing *values* of dimensions is
/// the business of `Facts`, so `Dim` itself has no `Ord`.
impl Ord for Atom {
    fn cmp(&self, other: &Atom) -> Ordering {
        fn key(atom: &Atom) -> (u8, Option<&Symbol>, Vec<&Repr>) {
            match atom {
                Atom::Symbol(s) => (0, Some(s), Vec::new()),
                Atom::FloorDiv(a, b) => (1, None, vec![&a.0, &b.0]),
                Atom::Min(m) => (2, None, m.iter().map(|d| &d.0).collect()),
                Atom::Max(m) => (3, None, m.iter().map(|d| &d.0).collect()),
            }
        }
        key(self).cmp(&key(other))
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
        Dim::from_terms(vec![Term { monomial: vec![(atom, 1)], coefficient: 1 }], 0)
    }

    pub(super) fn monomial(monomial: Monomial, coefficient: i64) -> Dim {
        if monomial.is_empty() {
            return Dim::from(coefficient);
        }
        Dim::from_terms(vec![Term { monomial, coefficient }], 0)
    }

    /// From sorted terms of distinct monomials; zero coefficients are dropped.
    fn from_terms(mut terms: Vec<Term>, constant: i64) -> Dim {
        terms.retain(|t| t.coefficient != 0);
        if terms.is_empty() {
            return Dim(Repr::Const(constant));
        }
        let weight = terms.iter().map(Term::weight).fold(0, usize::saturating_add);
        if terms.len() > MAX_TERMS || weight > MAX_WEIGHT {
            return Dim::overflow();
        }
        Dim(Repr::Poly(Arc::new(Poly { terms, constant, weight })))
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
        if self.is_overflow() {
            return Dim::overflow();
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
        let atoms = self.terms().iter().flat_map(|t| &t.monomial);
        atoms
            .map(|(atom, _)| match atom {
                Atom::Symbol(_) => 0,
                Atom::FloorDiv(a, b) => 1 + a.depth().max(b.depth()),
                Atom::Min(m) | Atom::Max(m) => 1 + m.iter().map(Dim::depth).max().unwrap_or(0),
            })
            .max()
            .unwrap_or(0)
    }

    /// Calls `visit` with every symbol, as often as it occurs.
    pub fn visit_symbols<'a>(&'a self, visit: &mut impl FnMut(&'a Symbol)) {
        for (atom, _) in self.terms().iter().flat_map(|t| &t.monomial) {
            match atom {
                Atom::Symbol(s) => visit(s),
                Atom::FloorDiv(a, b) => {
                    a.visit_symbols(visit);
                    b.visit_symbols(visit);
                }
                Atom::Min(m) | Atom::Max(m) => m.iter().for_each(|d| d.visit_symbols(visit)),
            }
        }
    }

    /// Calls `visit` with what is divided and by what, for every quotient.
    pub fn visit_quotients<'a>(&'a self, visit: &mut impl FnMut(&'a Dim, &'a Dim)) {
        for (atom, _) in self.terms().iter().flat_map(|t| &t.monomial) {
            match atom {
                Atom::Symbol(_) => {}
                Atom::FloorDiv(a, b) => {
                    visit(a, b);
                    a.visit_quotients(visit);
                    b.visit_quotients(visit);
                }
                Atom::Min(m) | Atom::Max(m) => m.iter().for_each(|d| d.visit_quotients(visit)),
            }
        }
    }

    /// Whether the symbol occurs.
    pub fn mentions(&self, symbol: &Symbol) -> bool {
        let mut found = false;
        self.visit_symbols(&mut |s| found |= s == symbol);
        found
    }

    /// Replaces symbols by expressions; `replace` returns `None` for those that stay.
    pub fn substitute(&self, replace: &impl Fn(&Symbol) -> Option<Dim>) -> Dim {
        self.map_atoms(&|atom| match atom {
            Atom::Symbol(s) => replace(s).unwrap_or_else(|| Dim::from(s.clone())),
            Atom::FloorDiv(a, b) => a.substitute(replace).floor_div(&b.substitute(replace)),
            Atom::Min(m) => Dim::extremum(m.iter().map(|d| d.substitute(replace)), Extremum::Min),
            Atom::Max(m) => Dim::extremum(m.iter().map(|d| d.substitute(replace)), Extremum::Max),
        })
    }

    /// Rebuilds the polynomial with every atom replaced by an expression.
    pub(super) fn map_atoms(&self, map: &impl Fn(&Atom) -> Dim) -> Dim {
        if self.terms().is_empty() {
            return self.clone();
        }
        let mut sum = Dim::from(self.constant());
        for t in self.terms() {
            let mut product = Dim::from(t.coefficient);
            for (atom, power) in &t.monomial {
                let value = map(atom);
                for _ in 0..*power {
                    product = product * value.clone();
                }
            }
            sum = sum + product;
        }
        sum
    }

    /// The value under an assignment of the symbols; `None` if a symbol is missing or the value does not fit.
    pub fn eval(&self, value_of: &impl Fn(&Symbol) -> Option<i64>) -> Option<i64> {
        if self.is_overflow() {
            return None;
        }
        let mut sum = i128::from(self.constant());
        for t in self.terms() {
            let mut product = i128::from(t.coefficient);
            for (atom, power) in &t.monomial {
                let value = i128::from(atom.eval(value_of)?);
                for _ in 0..*power {
                    product = product.checked_mul(value)?;
                }
            }
            sum = sum.checked_add(product)?;
        }
        i64::try_from(sum).ok()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Extremum {
    Min,
    Max,
}

impl Atom {
    fn weight(&self) -> usize {
        match self {
            Atom::Symbol(_) => 1,
            Atom::FloorDiv(a, b) => a.weight().saturating_add(b.weight()),
            Atom::Min(m) | Atom::Max(m) => m.iter().map(Dim::weight).fold(0, usize::saturating_add),
        }
    }

    fn eval(&self, value_of: &impl Fn(&Symbol) -> Option<i64>) -> Option<i64> {
        match self {
            Atom::Symbol(s) => value_of(s),
            Atom::FloorDiv(a, b) => {
                let (a, b) = (a.eval(value_of)?, b.eval(value_of)?);
                if b == 0 {
                    return Some(0);
                }
                let quotient = a.checked_div(b)?;
                Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
            }
            Atom::Min(m) => m.iter().map(|d| d.eval(value_of)).collect::<Option<Vec<_>>>()?.into_iter().min(),
            Atom::Max(m) => m.iter().map(|d| d.eval(value_of)).collect::<Option<Vec<_>>>()?.into_iter().max(),
        }
    }
}

pub(super) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}

impl From<i64> for Dim {
    fn from(value: i64) -> Dim {
        Dim(Repr::Const(value))
    }
}

impl From<i32> for Dim {
    fn from(value: i32) -> Dim {
        Dim(Repr::Const(i64::from(value)))
    }
}

impl From<usize> for Dim {
    fn from(value: usize) -> Dim {
        i64::try_from(value).map_or_else(|_| Dim::overflow(), Dim::from)
    }
}

impl From<Symbol> for Dim {
    fn from(symbol: Symbol) -> Dim {
        Dim::atom(Atom::Symbol(symbol))
    }
}

impl From<&Dim> for Dim {
    fn from(dim: &Dim) -> Dim {
        dim.clone()
    }
}

impl<T: Into<Dim>> Add<T> for Dim {
    type Output = Dim;

    fn add(self, other: T) -> Dim {
        let other = other.into();
        if self.is_overflow() || other.is_overflow() {
            return Dim::overflow();
        }
        let constant = self.constant().checked_add(other.constant());
        if self.terms().is_empty() && other.terms().is_empty() {
            return constant.map_or_else(Dim::overflow, Dim::from);
        }
        Dim::collect([self.terms(), other.terms()].concat(), constant)
    }
}

impl Neg for Dim {
    type Output = Dim;

    fn neg(self) -> Dim {
        self.scaled(-1)
    }
}

impl<T: Into<Dim>> Sub<T> for Dim {
    type Output = Dim;

    fn sub(self, other: T) -> Dim {
        self + -other.into()
    }
}

impl<T: Into<Dim>> Mul<T> for Dim {
    type Output = Dim;

    fn mul(self, other: T) -> Dim {
        let other = other.into();
        if self.is_overflow() || other.is_overflow() {
            return Dim::overflow();
        }
        if let Some(c) = other.as_const() {
            return self.scaled(c);
        }
        if let Some(c) = self.as_const() {
            return other.scaled(c);
        }
        if self.terms().len() * other.terms().len() > MAX_TERMS * 4 {
            return Dim::overflow();
        }
        let mut terms = Vec::new();
        for a in self.terms() {
            for b in other.terms() {
                let Some(coefficient) = a.coefficient.checked_mul(b.coefficient) else {
                    return Dim::overflow();
                };
                let Some(monomial) = multiply(&a.monomial, &b.monomial) else { return Dim::overflow() };
                terms.push(Term { monomial, coefficient });
            }
        }
        let product = Dim::collect(terms, Some(0));
        let (ca, cb) = (self.constant(), other.constant());
        let constant = ca.checked_mul(cb).map_or_else(Dim::overflow, Dim::from);
        let left = Dim::from_terms(self.terms().to_vec(), 0).scaled(cb);
        let right = Dim::from_terms(other.terms().to_vec(), 0).scaled(ca);
        product + left + right + constant
    }
}

fn multiply(a: &Monomial, b: &Monomial) -> Option<Monomial> {
    let mut product = a.clone();
    for (atom, power) in b {
        match product.binary_search_by(|(other, _)| other.cmp(atom)) {
            Ok(i) => product[i].1 = product[i].1.checked_add(*power).filter(|p| *p <= 16)?,
            Err(i) => product.insert(i, (atom.clone(), *power)),
        }
    }
    Some(product)
}

impl std::iter::Sum for Dim {
    fn sum<I: Iterator<Item = Dim>>(iter: I) -> Dim {
        iter.fold(Dim::ZERO, |a, b| a + b)
    }
}

impl std::iter::Product for Dim {
    fn product<I: Iterator<Item = Dim>>(iter: I) -> Dim {
        // Constants are gathered first: multiplying an expression by each of them would rebuild it each time.
        let (mut constant, mut rest) = (Some(1i64), Dim::ONE);
        for dim in iter {
            match dim.as_const() {
                Some(c) => constant = constant.and_then(|p| p.checked_mul(c)),
                None => rest = rest * dim,
            }
        }
        constant.map_or_else(Dim::overflow, |c| rest * c)
    }
}

impl PartialEq<i64> for Dim {
    fn eq(&self, other: &i64) -> bool {
        self.is(*other)
    }
}
