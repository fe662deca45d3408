//! What is known about symbols, and what follows from it.
//!
//! A fact is a comparison of two expressions. Facts about one symbol become an interval and a residue; equalities
//! that can be solved for a symbol become a substitution; the rest are kept as expressions known to be at least 0.
//! Proofs are sound and incomplete: `false` means "not proven". All searches are bounded.

use super::expr::{Atom, Dim, Monomial, Symbol, Term, gcd};
use crate::error::{Code, Error, Result};
use std::collections::BTreeMap;
use std::fmt;

/// How the two sides of a fact compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// `==`
    Eq,
    /// `>=`
    Ge,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `<`
    Lt,
}

/// Something known about the symbols, as written: `N >= 1`, `N % 8 == 0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fact {
    /// The left side.
    pub left: Dim,
    /// How it compares to the right side.
    pub relation: Relation,
    /// The right side.
    pub right: Dim,
}

/// A set of facts with what follows from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    written: Vec<Fact>,
    known: BTreeMap<Symbol, Known>,
    equal: Vec<(Symbol, Dim)>,
    nonnegative: Vec<Dim>,
    multiples: Vec<(Dim, i64)>,
}

/// What is known of one symbol: its interval, and `symbol % modulus == residue`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    lo: i64,
    hi: Option<i64>,
    modulus: i64,
    residue: i64,
}

impl Default for Known {
    fn default() -> Known {
        Known { lo: 0, hi: None, modulus: 1, residue: 0 }
    }
}

/// An interval with open ends as `None`.
type Interval = (Option<i128>, Option<i128>);

const DEPTH: usize = 5;

/// The most facts of one set. Each is looked at when another comes, and in every proof.
const MAX_FACTS: usize = 1024;

impl Fact {
    /// A fact from its parts.
    pub fn new(left: impl Into<Dim>, relation: Relation, right: impl Into<Dim>) -> Fact {
        Fact { left: left.into(), relation, right: right.into() }
    }

    /// Whether it holds for these values; `None` if a symbol has none.
    pub fn holds(&self, value_of: &impl Fn(&Symbol) -> Option<i64>) -> Option<bool> {
        let (l, r) = (self.left.eval(value_of)?, self.right.eval(value_of)?);
        Some(match self.relation {
            Relation::Eq => l == r,
            Relation::Ge => l >= r,
            Relation::Le => l <= r,
            Relation::Gt => l > r,
            Relation::Lt => l < r,
        })
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relation::Eq => "==",
            Relation::Ge => ">=",
            Relation::Le => "<=",
            Relation::Gt => ">",
            Relation::Lt => "<",
        })
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.left, self.relation, self.right)
    }
}

impl Facts {
    /// No facts: every symbol is at least 0.
    pub fn new() -> Facts {
        Facts::default()
    }

    /// The facts as they were added, in order.
    pub fn written(&self) -> &[Fact] {
        &self.written
    }

    /// Adds a fact; refuses one that contradicts what is known. One that was added before changes nothing, so a set
    /// of facts follows from `written` alone.
    pub fn add(&mut self, fact: Fact) -> Result<()> {
        if self.written.contains(&fact) {
            return Ok(());
        }
        if self.written.len() == MAX_FACTS {
            return Err(Error::new(Code::Fact, format!("there are more than {MAX_FACTS} facts")).help(
                "write those that Lawson needs: the error about a shape names the fact that is missing",
            ));
        }
        let gap = fact.left.clone() - fact.right.clone();
        if gap.is_overflow() {
            return Err(Error::new(
                Code::DimOverflow,
                format!("the fact `{fact}` is too large an expression"),
            ));
        }
        if self.take_in(&fact, gap).is_some() {
            self.written.push(fact);
            return Ok(());
        }
        // Half of a contradiction may have been taken in; what follows from the facts before is built afresh.
        let before = std::mem::take(self);
        for fact in before.written {
            let gap = fact.left.clone() - fact.right.clone();
            self.take_in(&fact, gap);
            self.written.push(fact);
        }
        Err(Error::new(Code::Fact, format!("the fact `{fact}` contradicts what is already known"))
            .help("no value of the symbols satisfies all facts; remove one"))
    }

    /// Draws the consequences of a fact, whose sides differ by `gap`; `None` if it contradicts what is known.
    fn take_in(&mut self, fact: &Fact, gap: Dim) -> Option<()> {
        match fact.relation {
            Relation::Eq => self.add_equal(&gap),
            Relation::Ge => self.add_nonnegative(gap),
            Relation::Le => self.add_nonnegative(-gap),
            Relation::Gt => self.add_nonnegative(gap - 1),
            Relation::Lt => self.add_nonnegative(-gap - 1),
        }
    }

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

    /// The symbol itself if no fact mentions it, else one of a similar name.
    pub fn fresh(&self, symbol: &Symbol) -> Symbol {
        let taken = |s: &Symbol| self.written.iter().any(|f| f.left.mentions(s) || f.right.mentions(s));
        let mut name = symbol.clone();
        let mut suffix = 1;
        while taken(&name) {
            suffix += 1;
            name = Symbol::new(format!("{}_{suffix}", symbol.name()));
        }
        name
    }

    /// The facts that mention none of the symbols that `gone` names.
    pub fn without(&self, gone: &impl Fn(&Symbol) -> bool) -> Result<Facts> {
        let mut kept = Facts::new();
        for fact in &self.written {
            let mut mentions = false;
            for side in [&fact.left, &fact.right] {
                side.visit_symbols(&mut |s| mentions |= gone(s));
            }
            if !mentions {
                kept.add(fact.clone())?;
            }
        }
        Ok(kept)
    }

    fn known_of(&self, symbol: &Symbol) -> Known {
        self.known.get(symbol).cloned().unwrap_or_default()
    }

    /// `gap >= 0`; `None` if that contradicts.
    fn add_nonnegative(&mut self, gap: Dim) -> Option<()> {
        let gap = self.substituted(&gap);
        if let Some(c) = gap.as_const() {
            return (c >= 0).then_some(());
        }
        // c*s + k >= 0 bounds the symbol.
        if let [Term { monomial, coefficient }] = gap.terms()
            && let [(Atom::Symbol(s), 1)] = monomial.as_slice()
        {
            let known = self.known.entry(s.clone()).or_default();
            let (c, k) = (*coefficient, gap.constant());
            if c > 0 {
                known.lo =
                    known.lo.max(Dim::from(-i128_to_i64(i128::from(k))).ceil_div(&Dim::from(c)).as_const()?);
            } else {
                let hi = k.div_euclid(c.checked_neg()?);
                known.hi = Some(known.hi.map_or(hi, |h| h.min(hi)));
            }
            return known.hi.is_none_or(|hi| known.lo <= hi).then_some(());
        }
        if let (_, Some(hi)) = self.interval(&gap, DEPTH)
            && hi < 0
        {
            return None;
        }
        self.nonnegative.push(gap);
        Some(())
    }

    /// `gap == 0`; `None` if that contradicts.
    fn add_equal(&mut self, gap: &Dim) -> Option<()> {
        let gap = self.substituted(gap);
        if let Some(c) = gap.as_const() {
            return (c == 0).then_some(());
        }
        if let Some((x, modulus, residue)) = as_residue(&gap) {
            if let Some(s) = x.as_symbol() {
                let known = self.known.entry(s.clone()).or_default();
                if modulus % known.modulus == 0 && residue % known.modulus == known.residue {
                    known.modulus = modulus;
                    known.residue = residue;
                } else if known.modulus % modulus == 0 {
                    return (known.residue % modulus == residue).then_some(());
                } else if known.residue == 0 && residue == 0 {
                    let lcm = modulus / gcd(modulus, known.modulus);
                    known.modulus = known.modulus.checked_mul(lcm)?;
                }
                return Some(());
            }
            if residue == 0 {
                self.multiples.push((x, modulus));
            }
            return Some(());
        }
        // ±s + rest == 0 with s not in rest: s = ∓rest
        let solved = gap.terms().iter().rev().find_map(|t| match t.monomial.as_slice() {
            [(Atom::Symbol(s), 1)] if t.coefficient.unsigned_abs() == 1 => {
                let this = Dim::monomial(t.monomial.clone(), t.coefficient);
                let rest = gap.clone() - this;
                (!rest.mentions(s)).then(|| (s.clone(), if t.coefficient == 1 { -rest } else { rest }))
            }
            _ => None,
        });
        if let Some((symbol, value)) = solved {
            let known = self.known_of(&symbol);
            for (_, other) in &mut self.equal {
                *other = other.substitute(&|s| (*s == symbol).then(|| value.clone()));
            }
            self.equal.push((symbol, value.clone()));
            // What was known of the symbol is now known of the expression.
            self.add_nonnegative(value.clone() - known.lo)?;
            if let Some(hi) = known.hi {
                self.add_nonnegative(Dim::from(hi) - value.clone())?;
            }
            if known.modulus > 1 && known.residue == 0 {
                self.multiples.push((value, known.modulus));
            }
            return Some(());
        }
        self.nonnegative.push(gap.clone());
        self.nonnegative.push(-gap);
        Some(())
    }

    fn substituted(&self, dim: &Dim) -> Dim {
        if self.equal.is_empty() || dim.as_const().is_some() {
            return dim.clone();
        }
        dim.substitute(&|s| self.equal.iter().find(|(e, _)| e == s).map(|(_, v)| v.clone()))
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
                let mut others: Monomial = t.monomial.clone();
                others.remove(i);
                let old = Dim::monomial(t.monomial.clone(), t.coefficient);
                let new = Dim::monomial(others, t.coefficient / d) * a.clone();
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
            None => {
                !dim.is_overflow()
                    && (self.interval(dim, DEPTH).0.is_some_and(|lo| lo >= 0)
                        || self.prove_nonnegative(&self.substituted(dim), DEPTH))
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
        if depth == 0 {
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
                    if self.prove_nonnegative(&(rest * d + bound * c), depth - 1) {
                        return true;
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
        let shifted = dim.map_atoms(&|atom| {
            let lo =
                self.atom_interval(atom, 1).0.and_then(|lo| i64::try_from(lo).ok()).filter(|lo| *lo >= 0);
            Dim::atom(atom.clone()) + lo.unwrap_or(0)
        });
        let all_known = shifted
            .terms()
            .iter()
            .flat_map(|t| &t.monomial)
            .all(|(a, _)| self.atom_interval(a, 1).0.is_some_and(|lo| lo >= 0));
        all_known
            && !shifted.is_overflow()
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

fn i128_to_i64(v: i128) -> i64 {
    v.clamp(i128::from(i64::MIN + 1), i128::from(i64::MAX)) as i64
}

fn shares_symbol(a: &Dim, b: &Dim) -> bool {
    let mut shared = false;
    a.visit_symbols(&mut |s| shared |= b.mentions(s));
    shared
}

/// `gap == 0` read as `x % modulus == residue`.
fn as_residue(gap: &Dim) -> Option<(Dim, i64, i64)> {
    gap.terms().iter().find_map(|t| {
        let [(Atom::FloorDiv(x, d), 1)] = t.monomial.as_slice() else { return None };
        let d = d.as_const().filter(|d| *d > 1)?;
        let sign = match t.coefficient {
            c if c == -d => 1,
            c if c == d => -1,
            _ => return None,
        };
        let rest = (gap.clone() * sign - x.modulo(&Dim::from(d))).as_const()?;
        let residue = rest.checked_neg()?;
        (0..d).contains(&residue).then(|| (x.clone(), d, residue))
    })
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
        let mut rest = t.monomial.clone();
        for (atom, power) in divisor {
            let at = rest.iter().position(|(other, have)| other == atom && have >= power)?;
            rest[at].1 -= power;
        }
        rest.retain(|(_, power)| *power > 0);
        quotient = quotient + Dim::monomial(rest, t.coefficient.checked_div(*coefficient)?);
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
        let all: Option<Vec<i128>> = products.into_iter().collect();
        return match all {
            Some(all) => (all.iter().min().copied(), all.iter().max().copied()),
            None => (None, None),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dim::parse_dim;

    fn facts(list: &[(&str, Relation, &str)]) -> Facts {
        let mut facts = Facts::new();
        for (l, r, right) in list {
            facts.add(Fact::new(parse_dim(l).unwrap(), *r, parse_dim(right).unwrap())).unwrap();
        }
        facts
    }

    fn d(s: &str) -> Dim {
        parse_dim(s).unwrap()
    }

    #[test]
    fn equal_expressions_are_equal_values() {
        for (a, b) in [
            ("(N + 1) * (N - 1)", "N*N - 1"),
            ("2*(N + M)", "M + N + M + N"),
            ("(8*N + 7) / 8", "N"),
            ("(N / 2) / 3", "N / 6"),
            ("N % 4 + 4*(N / 4)", "N"),
            ("min(N + 1, M + 1)", "min(M, N) + 1"),
            ("min(2*N, 2*M)", "2*min(N, M)"),
            ("min(N, N + 3)", "N"),
            ("max(N, min(M, K), N - 1)", "max(min(K, M), N)"),
            ("(6*N + 3) / 4", "N + (2*N + 3) / 4"),
        ] {
            assert_eq!(d(a), d(b), "{a} and {b}");
        }
    }

    #[test]
    fn facts_prove_what_follows_and_nothing_else() {
        let f = facts(&[("N", Relation::Ge, "1"), ("N % 8", Relation::Eq, "0"), ("M", Relation::Le, "N")]);
        assert!(f.is_positive(&d("N")));
        assert!(!f.is_positive(&d("N - 1")));
        assert!(f.equal(&d("8*(N / 8)"), &d("N")));
        assert!(f.equal(&d("N % 4"), &d("0")));
        assert!(f.is_nonnegative(&d("N - M")));
        assert!(!f.is_nonnegative(&d("M - N")));
        assert!(f.is_nonnegative(&d("N*M - M")));
        assert!(f.is_nonnegative(&d("N - min(N, M)")));
        assert!(f.is_nonnegative(&d("N - 2*(N / 2)")));
        assert!(f.is_nonnegative(&d("(N + 6 - 3) / 2")));
        assert_eq!(f.simplify(&d("max(N, 1)")), d("N"));
        assert_eq!(f.simplify(&d("(N * M * 64) / (N * 64)")), d("M"));
        assert!(f.differ(&d("N"), &d("0")));
        assert!(!f.differ(&d("N"), &d("1")));
    }

    #[test]
    fn equalities_substitute() {
        let f = facts(&[("N", Relation::Eq, "2*M")]);
        assert!(f.equal(&d("N + 2"), &d("2*M + 2")));
        assert!(f.equal(&d("N / 2"), &d("M")));
        assert!(!f.equal(&d("N"), &d("M")));
    }

    #[test]
    fn a_contradiction_is_refused() {
        let mut f = facts(&[("N", Relation::Ge, "4")]);
        let error = f.add(Fact::new("N", Relation::Lt, 3)).unwrap_err();
        assert_eq!(error.code(), Code::Fact);
        assert!(f.add(Fact::new("N", Relation::Le, 4)).is_ok());
        assert_eq!(f.simplify(&d("N + 1")), d("5"));
    }

    #[test]
    fn a_contradiction_changes_nothing() {
        let mut f = facts(&[("N", Relation::Ge, "3"), ("M", Relation::Le, "N"), ("K", Relation::Eq, "2*N")]);
        let before = f.clone();
        for (left, relation, right) in
            [("N", Relation::Lt, 2), ("K", Relation::Lt, 6), ("N", Relation::Eq, -1)]
        {
            assert!(f.add(Fact::new(left, relation, right)).is_err(), "{left} {relation} {right}");
            assert_eq!(f, before);
        }
    }

    #[test]
    fn facts_are_limited_in_number() {
        let mut facts = Facts::new();
        let mut add =
            |i: usize| facts.add(Fact::new(d(&format!("N{i}")), Relation::Ge, d(&format!("N{}", i + 1))));
        (0..MAX_FACTS).for_each(|i| add(i).unwrap());
        assert_eq!(add(MAX_FACTS).unwrap_err().code(), Code::Fact);
        add(0).unwrap();
    }
}
