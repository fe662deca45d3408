//! Proofs: what follows from facts. Simplification, bounds, divisibility, comparisons.
//!
//! Sound and incomplete: `false` means "not proven". All searches are bounded, by `DEPTH` and by the size of the
//! expressions.

use super::expr::{Atom, Dim, Term};
use super::facts::{Fact, Facts, Known, Relation, i128_to_i64};
use std::collections::BTreeSet;

/// An interval with open ends as `None`.
type Interval = (Option<i128>, Option<i128>);

const DEPTH: usize = 5;

impl Facts {
    /// Whether a fact follows from these.
    pub fn implies(&self, fact: &Fact) -> bool {
        let (l, r) = (&fact.left, &fact.right);
        match fact.relation {
            Relation::Eq => self.equal(l, r),
            Relation::Ge => self.proves_ge(l, r),
            Relation::Le => self.proves_ge(r, l),
            Relation::Gt => self.is_positive(&(l.clone() - r.clone())),
            Relation::Lt => self.is_positive(&(r.clone() - l.clone())),
        }
    }

    /// The same value, written as simply as the facts allow.
    pub fn simplify(&self, dim: &Dim) -> Dim {
        if dim.as_const().is_some() || dim.is_overflow() {
            return dim.clone();
        }
        let mut current = self.substituted(dim);
        for _ in 0..3 {
            let next = self.simplify_once(&current);
            if next == current {
                break;
            }
            current = next;
        }
        current
    }

    fn simplify_once(&self, dim: &Dim) -> Dim {
        let rebuilt = dim.map_atoms(&|atom| match atom {
            Atom::Symbol(s) => match self.known.get(s) {
                Some(Known { lo, hi: Some(hi), .. }) if lo == hi => Dim::from(*lo),
                _ => Dim::from(s.clone()),
            },
            Atom::FloorDiv(a, b) => self.simplify_div(&self.simplify_once(a), &self.simplify_once(b)),
            Atom::Min(m) => self.prune(m, |d, other| self.proves_ge(d, other), |a, b| a.min(b)),
            Atom::Max(m) => self.prune(m, |d, other| self.proves_ge(other, d), |a, b| a.max(b)),
        });
        self.cancel_exact_divisions(&rebuilt)
    }

    /// Drops the members that another makes superfluous.
    fn prune(
        &self,
        members: &[Dim],
        beaten: impl Fn(&Dim, &Dim) -> bool,
        join: impl Fn(&Dim, &Dim) -> Dim,
    ) -> Dim {
        let members: Vec<Dim> = members.iter().map(|d| self.simplify_once(d)).collect();
        let mut kept: Vec<&Dim> = members.iter().collect();
        let mut i = 0;
        while i < kept.len() {
            if kept.len() > 1 && kept.iter().enumerate().any(|(j, other)| j != i && beaten(kept[i], other)) {
                kept.remove(i);
            } else {
                i += 1;
            }
        }
        let first = kept[0].clone();
        kept[1..].iter().fold(first, |all, d| join(&all, d))
    }

    fn simplify_div(&self, a: &Dim, b: &Dim) -> Dim {
        if let Some(d) = b.as_const().filter(|d| *d > 1) {
            if self.is_multiple(a, d)
                && a.terms().iter().all(|t| t.coefficient % d == 0)
                && a.constant() % d == 0
            {
                return a.divided_exactly(d);
            }
            let (lo, hi) = self.interval(a, DEPTH);
            if let (Some(lo), Some(hi)) = (lo, hi)
                && lo.div_euclid(i128::from(d)) == hi.div_euclid(i128::from(d))
            {
                return Dim::from(i128_to_i64(lo.div_euclid(i128::from(d))));
            }
        } else if b.as_const().is_none() && self.is_positive(b) {
            if let Some(quotient) = divide_exactly(a, b) {
                return quotient;
            }
            // 0 <= a < b gives 0
            if self.is_nonnegative(a) && self.is_positive(&(b.clone() - a.clone())) {
                return Dim::ZERO;
            }
        }
        a.floor_div(b)
    }

    /// `c*d*(a/d)` is `c*a` where d divides a.
    fn cancel_exact_divisions(&self, dim: &Dim) -> Dim {
        let mut result = dim.clone();
        for t in dim.terms() {
            for (i, (atom, power)) in t.monomial.iter().enumerate() {
                let Atom::FloorDiv(a, d) = atom else { continue };
                let Some(d) = d.as_const().filter(|d| *d > 1) else { continue };
                if *power != 1 || t.coefficient % d != 0 || !self.is_multiple(a, d) {
                    continue;
                }
                let mut others = t.monomial.to_vec();
                others.remove(i);
                let old = Dim::monomial(t.monomial.clone(), t.coefficient);
                let new = Dim::product(others, t.coefficient / d) * a.clone();
                return self.cancel_exact_divisions(&(result - old + new));
            }
        }
        result = self.substituted(&result);
        result
    }

    /// Whether `k` divides the value whatever the symbols are.
    pub fn is_multiple(&self, dim: &Dim, k: i64) -> bool {
        if k.unsigned_abs() == 1 {
            return true;
        }
        if k <= 0 || dim.is_overflow() {
            return false;
        }
        let mut residue = i128::from(dim.constant());
        let mut open = Dim::ZERO;
        for t in dim.terms() {
            let mut factor = i128::from(t.coefficient);
            for (atom, power) in &t.monomial {
                let known = match atom {
                    Atom::Symbol(s) => self.known_of(s).filter_residue(),
                    _ => 1,
                };
                for _ in 0..*power {
                    factor = factor.checked_mul(i128::from(known)).unwrap_or(0);
                }
            }
            if factor % i128::from(k) != 0 {
                // A symbol with a known residue counts as that residue.
                if let [(Atom::Symbol(s), 1)] = t.monomial.as_slice() {
                    let known = self.known_of(s);
                    if (i128::from(t.coefficient) * i128::from(known.modulus)) % i128::from(k) == 0 {
                        residue += i128::from(t.coefficient) * i128::from(known.residue);
                        continue;
                    }
                }
                open = open + Dim::monomial(t.monomial.clone(), t.coefficient);
            }
        }
        let rest_ok = |residue: i128| residue % i128::from(k) == 0;
        if open.is(0) {
            return rest_ok(residue);
        }
        rest_ok(residue) && self.multiples.iter().any(|(d, m)| *d == open && m % k == 0)
    }

    /// Whether the value is at least 0 whatever the symbols are.
    pub fn is_nonnegative(&self, dim: &Dim) -> bool {
        match dim.as_const() {
            Some(c) => c >= 0,
            // What a symbol equals may be harder to bound than the symbol itself.
            None if dim.is_overflow() => false,
            None => {
                let by_interval = |dim: &Dim| self.interval(dim, DEPTH).0.is_some_and(|lo| lo >= 0);
                let by_search = |dim: &Dim| self.prove_nonnegative(&self.substituted(dim), DEPTH);
                by_interval(dim)
                    || !self.refutes_nonnegative(dim)
                        && (by_search(dim)
                            || without_factor(dim).is_some_and(|d| by_interval(&d) || by_search(&d)))
            }
        }
    }

    /// Whether the value is at least 1 whatever the symbols are.
    pub fn is_positive(&self, dim: &Dim) -> bool {
        self.is_nonnegative(&(dim.clone() - 1))
    }

    /// Whether `a >= b` whatever the symbols are.
    pub fn proves_ge(&self, a: &Dim, b: &Dim) -> bool {
        self.is_nonnegative(&(a.clone() - b.clone()))
    }

    /// Whether the two are equal whatever the symbols are.
    pub fn equal(&self, a: &Dim, b: &Dim) -> bool {
        if a.is_overflow() || b.is_overflow() {
            return false;
        }
        if a == b {
            return true;
        }
        if a.as_const().is_some() && b.as_const().is_some() {
            return false;
        }
        let gap = self.simplify(&(a.clone() - b.clone()));
        gap.is(0) || (self.is_nonnegative(&gap) && self.is_nonnegative(&-gap))
    }

    /// Whether the two differ whatever the symbols are.
    pub fn differ(&self, a: &Dim, b: &Dim) -> bool {
        let gap = a.clone() - b.clone();
        self.is_positive(&gap) || self.is_positive(&-gap)
    }

    /// The least and the greatest value, where they are known.
    pub fn bounds(&self, dim: &Dim) -> (Option<i64>, Option<i64>) {
        let (lo, hi) = self.interval(&self.substituted(dim), DEPTH);
        (lo.and_then(|v| i64::try_from(v).ok()), hi.and_then(|v| i64::try_from(v).ok()))
    }

    fn prove_nonnegative(&self, dim: &Dim, depth: usize) -> bool {
        if dim.is_overflow() {
            return false;
        }
        if self.interval(dim, depth).0.is_some_and(|lo| lo >= 0) || self.nonnegative_when_shifted(dim) {
            return true;
        }
        // Most goals that a search comes by are false.
        if depth == 0 || self.refutes_nonnegative(dim) {
            return false;
        }
        for t in dim.terms() {
            let [(atom, 1)] = t.monomial.as_slice() else { continue };
            let c = t.coefficient;
            let rest = dim.clone() - Dim::monomial(t.monomial.clone(), c);
            match atom {
                // -min(a, b) >= -a, and max(a, b) >= a: any member will do.
                Atom::Min(members) if c < 0 => {
                    if members
                        .iter()
                        .any(|m| self.prove_nonnegative(&(rest.clone() + m.clone() * c), depth - 1))
                    {
                        return true;
                    }
                }
                Atom::Max(members) if c > 0 => {
                    if members
                        .iter()
                        .any(|m| self.prove_nonnegative(&(rest.clone() + m.clone() * c), depth - 1))
                    {
                        return true;
                    }
                }
                // min(a, b) >= 0 needs every member.
                Atom::Min(members) | Atom::Max(members) => {
                    if members
                        .iter()
                        .all(|m| self.prove_nonnegative(&(rest.clone() + m.clone() * c), depth - 1))
                    {
                        return true;
                    }
                }
                // d*(a/d) lies between a - d + 1 and a.
                Atom::FloorDiv(a, d) => {
                    let Some(d) = d.as_const().filter(|d| *d > 0) else { continue };
                    let bound = if c > 0 { a.clone() - (d - 1) } else { a.clone() };
                    if self.prove_nonnegative(&(rest.clone() * d + bound * c), depth - 1) {
                        return true;
                    }
                    // The quotient of a maximum is one of the quotients of its members.
                    if let ([Term { monomial, coefficient: 1 }], 0) = (a.terms(), a.constant())
                        && let [(Atom::Max(members), 1)] = monomial.as_slice()
                        && members.iter().all(|m| {
                            let quotient = m.floor_div(&Dim::from(d));
                            self.prove_nonnegative(&(rest.clone() + quotient * c), depth - 1)
                        })
                    {
                        return true;
                    }
                    // a/d + r is at least 0 exactly where a + d*r is.
                    let whole =
                        rest.constant() % c == 0 && rest.terms().iter().all(|t| t.coefficient % c == 0);
                    if c > 0 && whole {
                        let r = rest.divided_exactly(c);
                        if self.prove_nonnegative(&(a.clone() + r * d), depth - 1) {
                            return true;
                        }
                    }
                    // g*(a/(g*k)) lies between a/k - g + 1 and a/k, which may stand beside it.
                    for k in divisors_in(dim).into_iter().filter(|k| *k < d && d % k == 0) {
                        let g = d / k;
                        if c % g == 0 {
                            let less = if c > 0 { g - 1 } else { 0 };
                            let bound = a.floor_div(&Dim::from(k)) - less;
                            if self.prove_nonnegative(&(rest.clone() + bound * (c / g)), depth - 1) {
                                return true;
                            }
                        }
                    }
                }
                Atom::Symbol(_) => {}
            }
        }
        self.nonnegative.iter().any(|fact| {
            shares_symbol(fact, dim)
                && self.prove_nonnegative(&(dim.clone() - fact.clone()), depth.min(2) - 1)
        })
    }

    /// Writes every atom as its least value plus something nonnegative; if no coefficient is then negative, no value is.
    fn nonnegative_when_shifted(&self, dim: &Dim) -> bool {
        if dim.terms().len() > 12 {
            return false;
        }
        // Terms of the highest degree keep their coefficients.
        let degree = |t: &Term| t.monomial.iter().map(|(_, power)| *power).sum::<u32>();
        let highest = dim.terms().iter().map(degree).max().unwrap_or(0);
        if dim.terms().iter().any(|t| t.coefficient < 0 && degree(t) == highest) {
            return false;
        }
        let least = |atom: &Atom| self.atom_interval(atom, 1).0.filter(|lo| *lo >= 0);
        let mut atoms = dim.terms().iter().flat_map(|t| &t.monomial);
        if !atoms.all(|(atom, _)| least(atom).is_some()) {
            return false;
        }
        let shifted = dim.map_atoms(&|atom| {
            let lo = least(atom).and_then(|lo| i64::try_from(lo).ok());
            Dim::atom(atom.clone()) + lo.unwrap_or(0)
        });
        !shifted.is_overflow()
            && shifted.constant() >= 0
            && shifted.terms().iter().all(|t| t.coefficient >= 0)
    }

    fn interval(&self, dim: &Dim, depth: usize) -> Interval {
        let c = i128::from(dim.constant());
        if dim.is_overflow() {
            return (None, None);
        }
        dim.terms().iter().fold((Some(c), Some(c)), |sum, t| {
            let product = t.monomial.iter().fold((Some(1), Some(1)), |product, (atom, power)| {
                let factor = self.atom_interval(atom, depth);
                (0..*power).fold(product, |p, _| times(p, factor))
            });
            plus(sum, times(product, (Some(i128::from(t.coefficient)), Some(i128::from(t.coefficient)))))
        })
    }

    fn atom_interval(&self, atom: &Atom, depth: usize) -> Interval {
        match atom {
            Atom::Symbol(s) => {
                let known = self.known_of(s);
                (Some(i128::from(known.lo)), known.hi.map(i128::from))
            }
            _ if depth == 0 => (None, None),
            Atom::FloorDiv(a, b) => {
                let ((a_lo, a_hi), (b_lo, b_hi)) = (self.interval(a, depth - 1), self.interval(b, depth - 1));
                match b_lo {
                    Some(b_lo) if b_lo >= 1 => {
                        let lo = a_lo.map(|v| {
                            if v >= 0 { b_hi.map_or(0, |h| v.div_euclid(h)) } else { v.div_euclid(b_lo) }
                        });
                        let hi = a_hi.map(|v| {
                            if v >= 0 { v.div_euclid(b_lo) } else { b_hi.map_or(-1, |h| v.div_euclid(h)) }
                        });
                        (lo, hi)
                    }
                    // Division by zero gives zero, so a nonnegative over a nonnegative is nonnegative and no larger.
                    Some(0) if a_lo.is_some_and(|v| v >= 0) => (Some(0), a_hi),
                    _ => (None, None),
                }
            }
            Atom::Min(m) => {
                m.iter().map(|d| self.interval(d, depth - 1)).fold((Some(i128::MAX), None), |acc, i| {
                    (acc.0.zip(i.0).map(|(x, y)| x.min(y)), [acc.1, i.1].into_iter().flatten().min())
                })
            }
            Atom::Max(m) => {
                m.iter().map(|d| self.interval(d, depth - 1)).fold((None, Some(i128::MIN)), |acc, i| {
                    ([acc.0, i.0].into_iter().flatten().max(), acc.1.zip(i.1).map(|(x, y)| x.max(y)))
                })
            }
        }
    }
}

impl Known {
    /// What surely divides the symbol.
    fn filter_residue(&self) -> i64 {
        if self.residue == 0 { self.modulus } else { 1 }
    }
}

/// A dimension that is negative exactly where this one is, without the factor that all its terms have, if they have one.
fn without_factor(dim: &Dim) -> Option<Dim> {
    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    let factors = dim.terms().iter().map(|t| t.coefficient.unsigned_abs());
    let g = i64::try_from(factors.fold(0, gcd)).ok().filter(|g| *g > 1)?;
    let c = dim.constant();
    Some((dim.clone() - c).divided_exactly(g) + c.div_euclid(g))
}

/// The constants that the quotients of a sum divide by.
fn divisors_in(dim: &Dim) -> BTreeSet<i64> {
    let atoms = dim.terms().iter().flat_map(|t| &t.monomial);
    atoms
        .filter_map(|(atom, _)| match atom {
            Atom::FloorDiv(_, d) => d.as_const().filter(|d| *d > 0),
            Atom::Symbol(_) | Atom::Min(_) | Atom::Max(_) => None,
        })
        .collect()
}

fn shares_symbol(a: &Dim, b: &Dim) -> bool {
    let mut shared = false;
    if a.symbol_bits() & b.symbol_bits() != 0 {
        a.visit_symbols(&mut |s| shared |= b.mentions(s));
    }
    shared
}

impl Dim {
    /// The other factor, where this is a product of `by`, which is one product itself.
    ///
    /// ```
    /// # use lawson_graph::parse_dim;
    /// let (whole, part) = (parse_dim("6*N*(M / 8)").unwrap(), parse_dim("2*(M / 8)").unwrap());
    /// assert_eq!(whole.other_factor(&part), parse_dim("3*N").ok());
    /// assert_eq!(part.other_factor(&whole), None);
    /// ```
    pub fn other_factor(&self, by: &Dim) -> Option<Dim> {
        divide_exactly(self, by)
    }
}

/// `a / b` where `b` is one monomial that every term of `a` contains.
fn divide_exactly(a: &Dim, b: &Dim) -> Option<Dim> {
    let [Term { monomial: divisor, coefficient }] = b.terms() else {
        return (a == b).then_some(Dim::ONE);
    };
    if b.constant() != 0 || a.constant() != 0 {
        return None;
    }
    let mut quotient = Dim::ZERO;
    for t in a.terms() {
        if t.coefficient.checked_rem(*coefficient)? != 0 {
            return None;
        }
        let mut rest = t.monomial.to_vec();
        for (atom, power) in divisor.iter() {
            let at = rest.iter().position(|(other, have)| other == atom && have >= power)?;
            rest[at].1 -= power;
        }
        rest.retain(|(_, power)| *power > 0);
        quotient = quotient + Dim::product(rest, t.coefficient.checked_div(*coefficient)?);
    }
    Some(quotient)
}

fn plus(a: Interval, b: Interval) -> Interval {
    let add = |x: Option<i128>, y: Option<i128>| x.zip(y).and_then(|(x, y)| x.checked_add(y));
    (add(a.0, b.0), add(a.1, b.1))
}

/// The product of two intervals; an end that may be infinite is `None`.
fn times(a: Interval, b: Interval) -> Interval {
    if let ((Some(al), Some(ah)), (Some(bl), Some(bh))) = (a, b) {
        let products = [al.checked_mul(bl), al.checked_mul(bh), ah.checked_mul(bl), ah.checked_mul(bh)];
        return match products {
            [Some(a), Some(b), Some(c), Some(d)] => {
                (Some(a.min(b).min(c.min(d))), Some(a.max(b).max(c.max(d))))
            }
            _ => (None, None),
        };
    }
    let nonneg = |i: Interval| i.0.is_some_and(|lo| lo >= 0);
    let nonpos = |i: Interval| i.1.is_some_and(|hi| hi <= 0);
    let mul = |x: Option<i128>, y: Option<i128>| x.zip(y).and_then(|(x, y)| x.checked_mul(y));
    match () {
        _ if nonneg(a) && nonneg(b) => (mul(a.0, b.0), mul(a.1, b.1)),
        _ if nonpos(a) && nonneg(b) => (mul(a.0, b.1), mul(a.1, b.0)),
        _ if nonneg(a) && nonpos(b) => (mul(a.1, b.0), mul(a.0, b.1)),
        _ if nonpos(a) && nonpos(b) => (mul(a.1, b.1), mul(a.0, b.0)),
        _ => (None, None),
    }
}
