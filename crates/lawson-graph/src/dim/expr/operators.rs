//! Sums, differences and products of expressions, and what is one by itself.

use super::{Atom, Dim, MAX_TERMS, Repr, Term};
use crate::dim::Symbol;
use std::cmp::Ordering;
use std::ops::{Add, Mul, Neg, Sub};

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

impl Dim {
    /// `self + factor·other`
    fn plus_scaled(&self, other: &Dim, factor: i64) -> Dim {
        if self.is_overflow() || other.is_overflow() {
            return Dim::overflow();
        }
        let sum = || {
            let constant = self.constant().checked_add(other.constant().checked_mul(factor)?)?;
            let (mut a, mut b) = (self.terms().iter().peekable(), other.terms().iter().peekable());
            let mut terms = Vec::with_capacity(a.len() + b.len());
            loop {
                let order = match (a.peek(), b.peek()) {
                    (Some(a), Some(b)) => a.monomial.cmp(&b.monomial),
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (None, None) => return Some(Dim::from_terms(terms, constant)),
                };
                let own = if order.is_le() { a.next() } else { None };
                let others = if order.is_ge() { b.next() } else { None };
                let coefficient = others.map_or(Some(0), |t| t.coefficient.checked_mul(factor))?;
                let coefficient = own.map_or(0, |t| t.coefficient).checked_add(coefficient)?;
                if let Some(term) = own.or(others).filter(|_| coefficient != 0) {
                    terms.push(Term { monomial: term.monomial.clone(), coefficient });
                }
            }
        };
        sum().unwrap_or_else(Dim::overflow)
    }
}

impl<T: Into<Dim>> Add<T> for Dim {
    type Output = Dim;

    fn add(self, other: T) -> Dim {
        let other = other.into();
        match (&self.0, &other.0) {
            (Repr::Const(a), Repr::Const(b)) => a.checked_add(*b).map_or_else(Dim::overflow, Dim::from),
            (Repr::Poly(_), Repr::Const(0)) => self,
            (Repr::Const(0), Repr::Poly(_)) => other,
            _ => self.plus_scaled(&other, 1),
        }
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
        let other = other.into();
        match (&self.0, &other.0) {
            (Repr::Poly(_), Repr::Const(0)) => self,
            _ => self.plus_scaled(&other, -1),
        }
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
                let Some(monomial) = a.monomial.times(&b.monomial) else { return Dim::overflow() };
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
