//! Going through expressions: what symbols and quotients they have, expressions in the place of symbols, values.

use super::{Atom, Dim, Extremum};
use crate::dim::Symbol;

impl Dim {
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

    /// Calls `visit` with every quotient, minimum and maximum, each before those inside of it, and with in how many others it stands.
    pub fn visit_parts(&self, visit: &mut impl FnMut(&Dim, usize)) {
        self.visit_parts_in(0, visit);
    }

    fn visit_parts_in(&self, depth: usize, visit: &mut impl FnMut(&Dim, usize)) {
        for (atom, _) in self.terms().iter().flat_map(|t| &t.monomial) {
            if let Atom::Symbol(_) = atom {
                continue;
            }
            visit(&Dim::atom(atom.clone()), depth);
            match atom {
                Atom::Symbol(_) => {}
                Atom::FloorDiv(a, b) => {
                    a.visit_parts_in(depth + 1, visit);
                    b.visit_parts_in(depth + 1, visit);
                }
                Atom::Min(m) | Atom::Max(m) => m.iter().for_each(|d| d.visit_parts_in(depth + 1, visit)),
            }
        }
    }

    /// Replaces quotients, minima and maxima by expressions, the outermost first; `replace` returns `None` for those of which only parts are replaced.
    pub fn replace_parts(&self, replace: &impl Fn(&Dim) -> Option<Dim>) -> Dim {
        self.map_atoms(&|atom| {
            let inside = |d: &Dim| d.replace_parts(replace);
            match atom {
                Atom::Symbol(s) => Dim::from(s.clone()),
                _ => replace(&Dim::atom(atom.clone())).unwrap_or_else(|| match atom {
                    Atom::FloorDiv(a, b) => inside(a).floor_div(&inside(b)),
                    Atom::Min(m) => Dim::extremum(m.iter().map(inside), Extremum::Min),
                    Atom::Max(m) => Dim::extremum(m.iter().map(inside), Extremum::Max),
                    Atom::Symbol(s) => Dim::from(s.clone()),
                }),
            }
        })
    }

    /// Whether the symbol occurs.
    pub fn mentions(&self, symbol: &Symbol) -> bool {
        if self.symbol_bits() & symbol.bit() == 0 {
            return false;
        }
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

    /// Replaces atoms by expressions, at any depth; `replace` returns `None` for those that stay.
    pub(in crate::dim) fn replace_atoms(&self, replace: &impl Fn(&Atom) -> Option<Dim>) -> Dim {
        self.map_atoms(&|atom| {
            replace(atom).unwrap_or_else(|| match atom {
                Atom::Symbol(s) => Dim::from(s.clone()),
                Atom::FloorDiv(a, b) => a.replace_atoms(replace).floor_div(&b.replace_atoms(replace)),
                Atom::Min(m) => Dim::extremum(m.iter().map(|d| d.replace_atoms(replace)), Extremum::Min),
                Atom::Max(m) => Dim::extremum(m.iter().map(|d| d.replace_atoms(replace)), Extremum::Max),
            })
        })
    }

    /// Whether an atom occurs, at any depth.
    pub(in crate::dim) fn has_atom(&self, wanted: &Atom) -> bool {
        self.terms().iter().flat_map(|t| &t.monomial).any(|(atom, _)| {
            atom == wanted
                || match atom {
                    Atom::Symbol(_) => false,
                    Atom::FloorDiv(a, b) => a.has_atom(wanted) || b.has_atom(wanted),
                    Atom::Min(m) | Atom::Max(m) => m.iter().any(|d| d.has_atom(wanted)),
                }
        })
    }

    /// The only symbol of an expression, with the first and the last of the sizes next to one another at which it is `value`; the
    /// least of them, where there are several. `None` if it has other symbols or none, or is not `value` at any usual size.
    ///
    /// ```
    /// let d = lawson_graph::parse_dim("(N + 15) / 16").unwrap();
    /// assert_eq!(d.solutions(2).map(|(s, first, last)| (s.to_string(), first, last)), Some(("N".to_string(), 17, 32)));
    /// ```
    pub fn solutions(&self, value: i64) -> Option<(Symbol, i64, i64)> {
        /// The greatest size that is tried.
        const MOST: i64 = 1 << 16;
        let mut symbols: Vec<&Symbol> = Vec::new();
        self.visit_symbols(&mut |s| symbols.push(s));
        let symbol = symbols.first().filter(|first| symbols.iter().all(|s| s == *first)).copied()?;
        let holds = |n: &i64| self.eval(&|_| Some(*n)) == Some(value);
        let first = (1..=MOST).find(holds)?;
        let last = (first..=MOST).take_while(holds).last()?;
        Some((symbol.clone(), first, last))
    }

    /// Rebuilds the polynomial with every atom replaced by an expression.
    pub(in crate::dim) fn map_atoms(&self, map: &impl Fn(&Atom) -> Dim) -> Dim {
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
        if let Some(c) = self.as_const() {
            return Some(c);
        }
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

impl Atom {
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
            Atom::Min(m) => m.iter().try_fold(i64::MAX, |least, d| Some(least.min(d.eval(value_of)?))),
            Atom::Max(m) => m.iter().try_fold(i64::MIN, |most, d| Some(most.max(d.eval(value_of)?))),
        }
    }
}
