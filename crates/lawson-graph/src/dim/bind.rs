//! Run time: symbols get their values from the shapes of real inputs, and facts are checked.

use super::Symbol;
use super::expr::Dim;
use super::facts::Facts;
use crate::error::{Code, Error, Result};
use std::collections::BTreeMap;

/// The values of symbols during one run, with where each came from.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    values: BTreeMap<Symbol, (i64, String)>,
}

impl Bindings {
    /// No symbol has a value.
    pub fn new() -> Bindings {
        Bindings::default()
    }

    /// The value of a symbol.
    pub fn get(&self, symbol: &Symbol) -> Option<i64> {
        self.values.get(symbol).map(|(v, _)| *v)
    }

    /// All symbols with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&Symbol, i64)> {
        self.values.iter().map(|(s, (v, _))| (s, *v))
    }

    /// Gives a symbol its value, replacing an earlier one (each iteration of a loop defines its symbols anew).
    pub fn define(&mut self, symbol: Symbol, value: i64, place: impl Into<String>) {
        self.values.insert(symbol, (value, place.into()));
    }

    /// The value of an expression; an error if a symbol has no value or the value does not fit.
    pub fn eval(&self, dim: &Dim) -> Result<i64> {
        dim.eval(&|s| self.get(s)).ok_or_else(|| {
            let mut missing = None;
            dim.visit_symbols(&mut |s| {
                if self.get(s).is_none() {
                    missing.get_or_insert_with(|| s.clone());
                }
            });
            match missing {
                Some(s) => Error::new(Code::Binding, format!("the symbol `{s}` in `{dim}` has no value")),
                None => {
                    Error::new(Code::DimOverflow, format!("the value of `{dim}` does not fit in 63 bits"))
                }
            }
        })
    }

    /// The sizes of a shape; negative dimensions are an error.
    pub fn eval_shape(&self, shape: &[Dim]) -> Result<Vec<usize>> {
        shape
            .iter()
            .map(|dim| {
                let value = self.eval(dim)?;
                usize::try_from(value).map_err(|_| {
                    Error::new(Code::Binding, format!("the dimension `{dim}` is {value} in this run"))
                        .help("dimensions cannot be negative; add a fact that rules this out, or give larger inputs")
                })
            })
            .collect()
    }

    /// Solves for the symbols of declared dimensions from actual sizes. `entries` holds the declared dimension, the
    /// actual size, and the place for error messages. Dimensions that are one symbol bind it; those with one
    /// unknown symbol are solved for it; every entry is then checked.
    pub fn solve(entries: &[(Dim, i64, String)], facts: &Facts) -> Result<Bindings> {
        let mut bindings = Bindings::new();
        let mut open: Vec<&(Dim, i64, String)> = entries.iter().collect();
        loop {
            let before = open.len();
            let mut deferred = Vec::new();
            for entry in open {
                let (dim, actual, place) = entry;
                if let Some(expected) = dim.eval(&|s| bindings.get(s)) {
                    if expected != *actual {
                        return Err(bindings.mismatch(dim, expected, *actual, place));
                    }
                } else if let Some((symbol, value)) = bindings.solve_one(dim, *actual) {
                    if value < 0 {
                        return Err(Error::new(
                            Code::Binding,
                            format!("{place} is {actual}, which makes `{symbol}` = {value} in `{dim}`"),
                        )
                        .help("dimensions cannot be negative"));
                    }
                    bindings.define(symbol, value, place.clone());
                    if dim.eval(&|s| bindings.get(s)) != Some(*actual) {
                        return Err(Error::new(
                            Code::Binding,
                            format!("{place} is {actual}, but no whole number makes `{dim}` equal to that"),
                        ));
                    }
                } else {
                    deferred.push(entry);
                }
            }
            if deferred.is_empty() {
                break;
            }
            if deferred.len() == before {
                let (dim, actual, place) = deferred[0];
                return Err(Error::new(
                    Code::Binding,
                    format!("cannot solve `{dim}` = {actual} ({place}) for its symbols"),
                )
                .help("give each symbol an input dimension of its own"));
            }
            open = deferred;
        }
        bindings.check(facts).map_err(|e| match bindings.remedy(facts) {
            Some(remedy) => e.help(remedy),
            None => e,
        })?;
        Ok(bindings)
    }

    /// Which sizes near those that came would satisfy the first fact that does not hold.
    fn remedy(&self, facts: &Facts) -> Option<String> {
        /// How far from what came sizes are tried.
        const NEAR: i64 = 4096;
        let failed = facts.written().iter().find(|f| f.holds(&|s| self.get(s)) == Some(false))?;
        let mut symbols: Vec<&Symbol> = Vec::new();
        for side in [&failed.left, &failed.right] {
            side.visit_symbols(&mut |s| {
                if !symbols.contains(&s) {
                    symbols.push(s);
                }
            });
        }
        let holds = |symbol: &Symbol, value: i64| {
            let value_of = |s: &Symbol| if s == symbol { Some(value) } else { self.get(s) };
            facts.written().iter().all(|f| f.holds(&value_of) != Some(false))
        };
        let found = symbols.into_iter().find_map(|symbol| {
            let (have, place) = self.values.get(symbol)?;
            let below = (1..=NEAR).map(|by| have - by).take_while(|v| *v >= 0).find(|v| holds(symbol, *v));
            let above = (1..=NEAR).map(|by| have + by).find(|v| holds(symbol, *v));
            let sizes: Vec<String> = below.into_iter().chain(above).map(|v| v.to_string()).collect();
            (!sizes.is_empty()).then(|| (sizes.join(" or "), place))
        });
        Some(match found {
            Some((sizes, place)) => {
                format!("the program was made for sizes of which this holds: {sizes} for {place} would do; a model can also be imported for the sizes of its inputs")
            }
            None => {
                "the program was made for sizes of which this holds: give inputs of such sizes, or import the model for them".to_string()
            }
        })
    }

    /// Checks the facts whose symbols all have values.
    pub fn check(&self, facts: &Facts) -> Result<()> {
        for fact in facts.written() {
            if fact.holds(&|s| self.get(s)) == Some(false) {
                let mut values = Vec::new();
                for side in [&fact.left, &fact.right] {
                    side.visit_symbols(&mut |s| {
                        if let Some((v, place)) = self.values.get(s) {
                            values.push(format!("`{s}` is {v} ({place})"));
                        }
                    });
                }
                values.dedup();
                return Err(Error::new(
                    Code::Binding,
                    format!("the fact `{fact}` does not hold: {}", values.join(", ")),
                ));
            }
        }
        Ok(())
    }

    fn mismatch(&self, dim: &Dim, expected: i64, actual: i64, place: &str) -> Error {
        let origin = dim.as_symbol().and_then(|s| self.values.get(s)).map(|(_, p)| p.clone());
        let because = match origin {
            Some(origin) => format!("`{dim}` is {expected} by {origin}"),
            None if dim.as_const().is_some() => format!("{expected} is expected"),
            None => format!("`{dim}` is {expected}"),
        };
        let error = Error::new(Code::Binding, format!("{place} is {actual}, but {because}"));
        match dim.as_symbol() {
            Some(s) => error.help(format!("all sizes that are called `{s}` are equal; give inputs of which that holds, or call the size otherwise where the model declares it")),
            None => error,
        }
    }

    /// Solves `c*s + k = actual` for the only unknown symbol `s`, where the expression is linear in it.
    fn solve_one(&self, dim: &Dim, actual: i64) -> Option<(Symbol, i64)> {
        let mut unknown: Vec<&Symbol> = Vec::new();
        dim.visit_symbols(&mut |s| {
            if self.get(s).is_none() && !unknown.contains(&s) {
                unknown.push(s);
            }
        });
        let [symbol] = unknown[..] else { return None };
        let at = |value: i64| dim.eval(&|s| if s == symbol { Some(value) } else { self.get(s) });
        // Linear (or nearly so: floor divisions): two probes give a first guess, then look around it.
        let (f0, f1) = (at(0)?, at(1)?);
        let slope = f1.checked_sub(f0)?;
        let guess = if slope != 0 { actual.checked_sub(f0)?.checked_div(slope)? } else { 0 };
        let linear = at(guess) == Some(actual) && at(2).is_some_and(|f2| f2.checked_sub(f1) == Some(slope));
        if linear && slope != 0 {
            return Some((symbol.clone(), guess));
        }
        // A symbol alone in a linear expression that has no whole solution is reported by the caller's check.
        if slope != 0 && at(2)?.checked_sub(f1) == Some(slope) {
            return Some((symbol.clone(), guess));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dim::{Fact, Relation, parse_dim};

    fn entry(dim: &str, actual: i64, place: &str) -> (Dim, i64, String) {
        (parse_dim(dim).unwrap(), actual, place.to_string())
    }

    #[test]
    fn symbols_are_solved_in_any_order() {
        let entries = [entry("2*M + N", 11, "axis 0 of `x`"), entry("N", 5, "axis 0 of `y`")];
        let b = Bindings::solve(&entries, &Facts::new()).unwrap();
        assert_eq!(b.get(&Symbol::new("M")), Some(3));
    }

    #[test]
    fn errors_name_both_places() {
        let entries = [entry("N", 5, "axis 0 of `x`"), entry("N", 6, "axis 1 of `y`")];
        let error = Bindings::solve(&entries, &Facts::new()).unwrap_err();
        assert_eq!(error.code(), Code::Binding);
        assert!(
            error.message().contains("axis 0 of `x`") && error.message().contains("axis 1 of `y`"),
            "{error}"
        );
        let entries = [entry("2*N", 5, "axis 0 of `x`")];
        assert!(Bindings::solve(&entries, &Facts::new()).unwrap_err().message().contains("no whole number"));
    }

    #[test]
    fn facts_are_checked() {
        let mut facts = Facts::new();
        facts.add(Fact::new(parse_dim("N % 8").unwrap(), Relation::Eq, 0)).unwrap();
        let error = Bindings::solve(&[entry("N", 12, "axis 0 of `x`")], &facts).unwrap_err();
        assert!(error.message().contains("N % 8 == 0"), "{error}");
        let help = error.help_text().unwrap();
        assert!(help.contains("8 or 16 for axis 0 of `x`"), "{error}");
        assert!(Bindings::solve(&[entry("N", 16, "axis 0 of `x`")], &facts).is_ok());
    }

    #[test]
    fn what_cannot_be_solved_is_said() {
        let error = Bindings::solve(&[entry("N*N", 9, "axis 0 of `x`")], &Facts::new()).unwrap_err();
        assert!(error.message().contains("cannot solve"), "{error}");
        let error = Bindings::solve(&[entry("N / 2", 4, "axis 0 of `x`")], &Facts::new()).unwrap_err();
        assert!(error.message().contains("cannot solve"), "{error}");
    }
}
