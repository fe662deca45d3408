//! What is known about symbols, and what follows from it.
//!
//! A fact is a comparison of two expressions. Facts about one symbol become an interval and a residue; equalities
//! that can be solved for a symbol become a substitution; the rest are kept as expressions known to be at least 0. What
//! follows from all that is proven in `prove.rs`.

use super::Symbol;
use super::expr::{Atom, Dim, Term, gcd};
use super::sample::Points;
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
    pub(super) written: Vec<Fact>,
    pub(super) known: BTreeMap<Symbol, Known>,
    /// What equals another expression, which mentions no symbol that does.
    pub(super) equal: BTreeMap<Symbol, Dim>,
    /// What quotients, minima and maxima equal: expressions in which none of them occurs.
    pub(super) atoms: Vec<(Dim, Dim)>,
    pub(super) nonnegative: Vec<Dim>,
    pub(super) multiples: Vec<(Dim, i64)>,
    pub(super) points: Points,
    /// Sizes that symbols usually have.
    pub(super) usual: BTreeMap<Symbol, i64>,
}

/// What a symbol is taken for in predictions of which nothing is said.
pub const UNKNOWN_SIZE: i64 = 64;

/// What is known of one symbol: its interval, and `symbol % modulus == residue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) lo: i64,
    pub(super) hi: Option<i64>,
    pub(super) modulus: i64,
    pub(super) residue: i64,
}

impl Default for Known {
    fn default() -> Known {
        Known { lo: 0, hi: None, modulus: 1, residue: 0 }
    }
}

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
        let (nonnegative, equal) = (self.nonnegative.len(), (self.equal.len(), self.atoms.len()));
        if self.take_in(&fact, gap).is_some() {
            // An equality changes what stands in its place.
            self.points = match (self.equal.len(), self.atoms.len()) == equal {
                true => self.points.with_more(self.written.len(), nonnegative),
                false => Points::default(),
            };
            self.written.push(fact);
            return Ok(());
        }
        // Half of a contradiction may have been taken in; what follows from the facts before is built afresh.
        let before = std::mem::take(self);
        self.usual = before.usual;
        for fact in before.written {
            let gap = fact.left.clone() - fact.right.clone();
            self.take_in(&fact, gap);
            self.written.push(fact);
        }
        Err(Error::new(Code::Fact, format!("the fact `{fact}` contradicts what is already known"))
            .help("no value of the symbols satisfies all facts; remove one"))
    }

    /// Says what size a symbol usually has: predictions take it for that, and nothing is proven from it.
    pub fn expect(&mut self, symbol: Symbol, size: i64) {
        self.usual.insert(symbol, size);
    }

    /// Says of all symbols what others were said to be.
    pub fn expect_as(&mut self, other: &Facts) {
        self.usual.extend(other.usual.iter().map(|(symbol, size)| (symbol.clone(), *size)));
    }

    /// What a symbol is taken for in predictions: what it was said to be usually, or some size, as far as the facts allow.
    pub fn usual_of(&self, symbol: &Symbol) -> i64 {
        let Known { lo, hi, modulus, residue } = self.known_of(symbol);
        let said = self.usual.get(symbol).copied().unwrap_or(UNKNOWN_SIZE);
        let least = said.clamp(lo, hi.unwrap_or(i64::MAX).max(lo));
        let fits = least + (residue - least).rem_euclid(modulus.max(1));
        if hi.is_some_and(|hi| fits > hi) { (fits - modulus).max(lo) } else { fits }
    }

    /// Whether it was said what size a symbol usually has.
    pub fn expects(&self, symbol: &Symbol) -> bool {
        self.usual.contains_key(symbol)
    }

    /// What a dimension is taken for in predictions.
    pub fn usual(&self, dim: &Dim) -> i64 {
        if let Some(size) = dim.as_const() {
            return size.max(0);
        }
        let size = self.substituted(dim).eval(&|s| Some(self.usual_of(s)));
        size.filter(|size| *size > 0).unwrap_or(UNKNOWN_SIZE)
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
        let mut kept = Facts { usual: self.usual.clone(), ..Facts::new() };
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

    pub(super) fn known_of(&self, symbol: &Symbol) -> Known {
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
        if let (_, Some(hi)) = self.bounds(&gap)
            && hi < 0
        {
            return None;
        }
        let implied = relaxed(&gap);
        self.nonnegative.push(gap);
        implied.into_iter().try_for_each(|gap| self.add_nonnegative(gap))
    }

    /// What stands in the place of something once a fact is added, if the fact is such an equality.
    pub fn replacement(&self, fact: &Fact) -> Option<(Dim, Dim)> {
        let gap = self.substituted(&(fact.left.clone() - fact.right.clone()));
        if fact.relation != Relation::Eq || gap.as_const().is_some() || gap.is_overflow() {
            return None;
        }
        let gap = without_content(gap);
        if as_residue(&gap).is_some() {
            return None;
        }
        let symbol = self.solved_for_symbol(&gap).map(|(s, value)| (Dim::from(s), value));
        symbol.or_else(|| solved_for_atom(&gap))
    }

    /// When the youngest symbol of an expression was first mentioned in a fact, as the number of that fact.
    pub fn age(&self, dim: &Dim) -> usize {
        let first = |s: &Symbol| {
            let mentions = |f: &Fact| f.left.mentions(s) || f.right.mentions(s);
            self.written.iter().position(mentions).unwrap_or(self.written.len())
        };
        let mut youngest = 0;
        dim.visit_symbols(&mut |s| youngest = youngest.max(first(s)));
        youngest
    }

    /// `±s + rest == 0` with `s` not in `rest`, as `s = ∓rest`: for the symbol that is the last to be mentioned.
    fn solved_for_symbol(&self, gap: &Dim) -> Option<(Symbol, Dim)> {
        let candidates = gap.terms().iter().filter_map(|t| match t.monomial.as_slice() {
            [(Atom::Symbol(s), 1)] if t.coefficient.unsigned_abs() == 1 => {
                let this = Dim::monomial(t.monomial.clone(), t.coefficient);
                let rest = gap.clone() - this;
                (!rest.mentions(s)).then(|| (s.clone(), if t.coefficient == 1 { -rest } else { rest }))
            }
            _ => None,
        });
        candidates.max_by_key(|(s, _)| self.age(&Dim::from(s.clone())))
    }

    /// `gap == 0`; `None` if that contradicts.
    fn add_equal(&mut self, gap: &Dim) -> Option<()> {
        let gap = self.substituted(gap);
        if let Some(c) = gap.as_const() {
            return (c == 0).then_some(());
        }
        // A sum of multiples is none of anything else.
        let factor = gap.terms().iter().fold(0, |g, t| gcd(g, t.coefficient));
        if factor > 1 && gap.constant() % factor != 0 {
            return None;
        }
        let gap = without_content(gap);
        if let Some((x, modulus, residue)) = as_residue(&gap) {
            let (x, residue) = of_symbol(&x, modulus, residue).unwrap_or((x, residue));
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
        if let Some((symbol, value)) = self.solved_for_symbol(&gap) {
            let known = self.known_of(&symbol);
            for other in self.equal.values_mut() {
                *other = other.substitute(&|s| (*s == symbol).then(|| value.clone()));
            }
            self.equal.insert(symbol.clone(), value.clone());
            // So of quotients, minima and maxima.
            for (atom, value) in std::mem::take(&mut self.atoms) {
                match atom.mentions(&symbol) || value.mentions(&symbol) {
                    true => self.add_equal(&(atom - value))?,
                    false => self.atoms.push((atom, value)),
                }
            }
            // What was known of others beside the symbol is now known of them beside the expression.
            for gap in std::mem::take(&mut self.nonnegative) {
                if gap.mentions(&symbol) {
                    self.add_nonnegative(gap)?;
                } else {
                    self.nonnegative.push(gap);
                }
            }
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
        let solved = solved_for_atom(&gap);
        self.nonnegative.push(gap.clone());
        self.nonnegative.push(-gap.clone());
        relaxed(&gap).into_iter().try_for_each(|gap| self.add_nonnegative(gap))?;
        relaxed(&-gap).into_iter().try_for_each(|gap| self.add_nonnegative(gap))?;
        if let Some((atom, value)) = solved {
            if let ([Term { monomial, .. }], Some(c)) = (atom.terms(), value.as_const())
                && let [(Atom::FloorDiv(x, d), 1)] = monomial.as_slice()
                && let Some(d) = d.as_const().filter(|d| *d > 0)
            {
                // x/d == c says c*d <= x < (c + 1)*d.
                let least = Dim::from(c) * d;
                self.add_nonnegative(x.clone() - least.clone())?;
                self.add_nonnegative(least + (d - 1) - x.clone())?;
            }
            let is_it = |other: &Atom| Dim::atom(other.clone()) == atom;
            for (_, other) in &mut self.atoms {
                *other = other.replace_atoms(&|a| is_it(a).then(|| value.clone()));
            }
            self.atoms.push((atom, value));
        }
        Some(())
    }

    pub(super) fn substituted(&self, dim: &Dim) -> Dim {
        if dim.as_const().is_some() || self.equal.is_empty() && self.atoms.is_empty() {
            return dim.clone();
        }
        let mut replaces = false;
        dim.visit_symbols(&mut |s| replaces = replaces || self.equal.contains_key(s));
        let mut result = match replaces {
            true => dim.substitute(&|s| self.equal.get(s).cloned()),
            false => dim.clone(),
        };
        for (whole, value) in &self.atoms {
            let [Term { monomial, .. }] = whole.terms() else { continue };
            let atom = &monomial[0].0;
            if result.symbol_bits() & whole.symbol_bits() == whole.symbol_bits() && result.has_atom(atom) {
                result = result.replace_atoms(&|a| (a == atom).then(|| value.clone()));
            }
        }
        result
    }
}

pub(super) fn i128_to_i64(v: i128) -> i64 {
    v.clamp(i128::from(i64::MIN + 1), i128::from(i64::MAX)) as i64
}

/// What follows from `gap >= 0` without the first minimum or maximum in it: `min(a, b) + c >= 0` says `a + c >= 0` and
/// `b + c >= 0`, and so does `c - max(-a, -b) >= 0`; `4*(x / 4)` is at most `x`, which may be a minimum.
fn relaxed(gap: &Dim) -> Vec<Dim> {
    let without = |t: &Term| gap.clone() - Dim::monomial(t.monomial.clone(), t.coefficient);
    let is_min = |d: &Dim| d.terms().iter().any(|t| matches!(t.monomial.as_slice(), [(Atom::Min(_), 1)]));
    let implied = gap.terms().iter().find_map(|t| match (t.monomial.as_slice(), t.coefficient) {
        ([(Atom::Min(m), 1)], c) if c > 0 => Some((t, m.clone(), c)),
        ([(Atom::Max(m), 1)], c) if c < 0 => Some((t, m.clone(), c)),
        ([(Atom::FloorDiv(x, d), 1)], c) if c > 0 && is_min(x) => {
            let d = d.as_const().filter(|d| *d > 0 && c % d == 0)?;
            Some((t, vec![x.clone()], c / d))
        }
        _ => None,
    });
    implied.map_or(Vec::new(), |(t, members, c)| members.into_iter().map(|m| without(t) + m * c).collect())
}

/// The expression without a factor that all its coefficients have, where it is 0 just as it was.
fn without_content(gap: Dim) -> Dim {
    let content = gap.terms().iter().fold(gap.constant(), |g, t| gcd(g, t.coefficient));
    if content > 1 { gap.divided_exactly(content) } else { gap }
}

/// A quotient, minimum or maximum that stands in `gap == 0` with the coefficient 1 or -1 and nowhere else, and what it equals: the
/// one that is written with most.
fn solved_for_atom(gap: &Dim) -> Option<(Dim, Dim)> {
    let candidates = gap.terms().iter().filter_map(|t| {
        let [(atom, 1)] = t.monomial.as_slice() else { return None };
        if matches!(atom, Atom::Symbol(_)) || t.coefficient.unsigned_abs() != 1 {
            return None;
        }
        let rest = gap.clone() - Dim::monomial(t.monomial.clone(), t.coefficient);
        let value = if t.coefficient == 1 { -rest } else { rest };
        (!value.has_atom(atom) && !value.is_overflow()).then(|| (Dim::atom(atom.clone()), value))
    });
    candidates.max_by_key(|(atom, _)| atom.to_string().len())
}

/// `(c*s + k) % modulus == residue` as what it says of the symbol, where `c` has no factor with the modulus in common.
fn of_symbol(x: &Dim, modulus: i64, residue: i64) -> Option<(Dim, i64)> {
    let [Term { monomial, coefficient }] = x.terms() else { return None };
    let [(Atom::Symbol(s), 1)] = monomial.as_slice() else { return None };
    let (c, wide) = (i128::from(*coefficient), i128::from(modulus));
    if gcd(*coefficient, modulus) != 1 || modulus > 1 << 20 {
        return None;
    }
    let wanted = (i128::from(residue) - i128::from(x.constant())).rem_euclid(wide);
    let found = (0..wide).find(|r| (c * r - wanted).rem_euclid(wide) == 0)?;
    Some((Dim::from(s.clone()), i128_to_i64(found)))
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
    fn an_equality_says_something_of_what_was_compared_before() {
        let f = facts(&[("n", Relation::Le, "N"), ("n", Relation::Eq, "2")]);
        assert!(f.is_nonnegative(&d("N - 2")));
        assert!(f.is_nonnegative(&d("N - n")));
        assert!(!f.is_nonnegative(&d("N - 3")));
        let f = facts(&[("n", Relation::Lt, "N + M"), ("n", Relation::Eq, "3*K")]);
        assert!(f.is_positive(&d("N + M - 3*K")));
    }

    #[test]
    fn a_bound_by_a_minimum_is_one_by_each_member() {
        let f = facts(&[("i", Relation::Lt, "min(N, 2)"), ("j", Relation::Ge, "max(M, 3) + 1")]);
        assert!(f.is_positive(&d("N - i")));
        assert!(f.is_nonnegative(&d("1 - i")));
        assert!(f.is_positive(&d("j - M")));
        assert!(f.is_nonnegative(&d("j - 4")));
        assert!(!f.is_nonnegative(&d("N - i - 2")));
        let f = facts(&[("i", Relation::Lt, "4*(min(N, 9) / 4)")]);
        assert!(f.is_positive(&d("N - i")));
        assert!(!f.is_nonnegative(&d("N - i - 2")));
    }

    #[test]
    fn what_a_quotient_equals_stands_in_its_place() {
        let f = facts(&[("(H + 1) / 2", Relation::Eq, "2*((H + 1) / 4)"), ("N", Relation::Ge, "1")]);
        assert!(f.equal(&d("64*N*((H + 1) / 2)"), &d("128*N*((H + 1) / 4)")));
        assert!(!f.equal(&d("(H + 1) / 2"), &d("(H + 1) / 4")));
        let f = facts(&[("(T + 15) / 48", Relation::Eq, "1")]);
        assert!(f.equal(&d("N*((T + 15) / 48)"), &d("N")));
        assert!(f.is_nonnegative(&d("T - 33")) && f.is_nonnegative(&d("80 - T")));
        assert!(!f.is_nonnegative(&d("T - 34")) && !f.is_nonnegative(&d("79 - T")));
        // A symbol that gets a value later.
        let f = facts(&[("(H + M) / 2", Relation::Eq, "3*((H + 1) / 4)"), ("M", Relation::Eq, "5")]);
        assert!(f.equal(&d("(H + 5) / 2"), &d("3*((H + 1) / 4)")));
        let f = facts(&[("min(N, 1000)", Relation::Eq, "N")]);
        assert!(f.is_nonnegative(&d("1000 - N")));
    }

    #[test]
    fn a_remainder_of_a_multiple_is_one_of_the_symbol() {
        let f = facts(&[("6*H", Relation::Eq, "4*((6*H) / 4)"), ("(3*T + 1) % 4", Relation::Eq, "0")]);
        assert!(f.equal(&d("2*(H / 2)"), &d("H")));
        assert!(f.equal(&d("4*((T + 3) / 4)"), &d("T + 3")));
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
        for (left, relation, right) in [
            ("N", Relation::Lt, 2),
            ("K", Relation::Lt, 6),
            ("N", Relation::Eq, -1),
            ("4*L", Relation::Eq, 15),
        ] {
            assert!(f.add(Fact::new(d(left), relation, right)).is_err(), "{left} {relation} {right}");
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
