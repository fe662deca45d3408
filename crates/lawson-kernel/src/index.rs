//! Index expressions: sums of atoms with coefficients in the kernel's parameters.
//!
//! An [`Index`] is `constant + Σ coefficient·atom`. The constant and the coefficients are [`Dim`]s, so they may mention the
//! symbolic dimensions that are the kernel's parameters; the atoms are axes, quotients, remainders, minima and
//! maxima of indices, and integers that lie in memory (`index/data.rs`). Almost every index of a kernel is affine in its axes, and
//! then its terms are just that: a coefficient an axis. What else may be said of an index (its range, what a quotient simplifies
//! to) depends on the ranges of the axes and is the business of `range.rs`.

mod data;

pub use data::Datum;

use crate::buffer::BufferId;
use crate::tree::AxisId;
use lawson_graph::{Dim, Symbol};
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Mul, Sub};

/// A sum of atoms with coefficients, canonical: atoms in order, none twice, no coefficient 0.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Index {
    constant: Dim,
    terms: Vec<(Atom, Dim)>,
}

/// What an index is a sum of.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Atom {
    /// The value of an axis.
    Axis(AxisId),
    /// The quotient, rounded down. A divisor below 1 counts as 1, here as in a remainder: it is the size of something empty, and a kernel may
    /// compute where an element of that would lie, to choose another value in the end.
    Div(Box<Index>, Dim),
    /// The remainder, at least 0.
    Mod(Box<Index>, Dim),
    /// The least of several.
    Min(Vec<Index>),
    /// The greatest of several.
    Max(Vec<Index>),
    /// An integer that lies in memory.
    At(Box<Datum>),
}

impl Atom {
    /// Calls `visit` with every axis, at all depths.
    pub fn visit_axes(&self, visit: &mut impl FnMut(AxisId)) {
        match self {
            Atom::Axis(a) => visit(*a),
            Atom::Div(i, _) | Atom::Mod(i, _) => i.visit_axes(visit),
            Atom::Min(m) | Atom::Max(m) => m.iter().for_each(|i| i.visit_axes(visit)),
            Atom::At(datum) => datum.index.iter().for_each(|i| i.visit_axes(visit)),
        }
    }

    /// Whether it is or depends on an integer in memory.
    pub fn is_data(&self) -> bool {
        match self {
            Atom::Axis(_) => false,
            Atom::Div(i, _) | Atom::Mod(i, _) => i.is_data(),
            Atom::Min(m) | Atom::Max(m) => m.iter().any(Index::is_data),
            Atom::At(_) => true,
        }
    }

    /// Whether it mentions an axis.
    pub fn mentions(&self, axis: AxisId) -> bool {
        let mut found = false;
        self.visit_axes(&mut |a| found |= a == axis);
        found
    }
}

fn compare_dims(a: &Dim, b: &Dim) -> Ordering {
    match (a.as_const(), b.as_const()) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.to_string().cmp(&b.to_string()),
    }
}

fn compare_indices(a: &[Index], b: &[Index]) -> Ordering {
    let unequal = a.iter().zip(b).map(|(a, b)| a.structural_cmp(b)).find(|o| o.is_ne());
    unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
}

impl Atom {
    fn structural_cmp(&self, other: &Atom) -> Ordering {
        fn rank(a: &Atom) -> u8 {
            match a {
                Atom::Axis(_) => 0,
                Atom::Div(..) => 1,
                Atom::Mod(..) => 2,
                Atom::Min(_) => 3,
                Atom::Max(_) => 4,
                Atom::At(_) => 5,
            }
        }
        match (self, other) {
            (Atom::Axis(a), Atom::Axis(b)) => a.cmp(b),
            (Atom::Div(a, d), Atom::Div(b, e)) | (Atom::Mod(a, d), Atom::Mod(b, e)) => {
                a.structural_cmp(b).then_with(|| compare_dims(d, e))
            }
            (Atom::Min(a), Atom::Min(b)) | (Atom::Max(a), Atom::Max(b)) => compare_indices(a, b),
            (Atom::At(a), Atom::At(b)) => {
                let places =
                    || compare_indices(&a.index, &b.index).then_with(|| compare_dims(&a.end, &b.end));
                a.buffer.cmp(&b.buffer).then_with(places)
            }
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl Index {
    /// A constant, which may mention parameters.
    pub fn constant(value: impl Into<Dim>) -> Index {
        Index { constant: value.into(), terms: Vec::new() }
    }

    /// The value of an axis.
    pub fn axis(axis: AxisId) -> Index {
        Index::atom(Atom::Axis(axis))
    }

    /// An atom alone.
    pub fn atom(atom: Atom) -> Index {
        Index { constant: Dim::ZERO, terms: vec![(atom, Dim::ONE)] }
    }

    /// A constant to which so many terms will be added.
    pub(crate) fn with_capacity(constant: Dim, terms: usize) -> Index {
        Index { constant, terms: Vec::with_capacity(terms) }
    }

    /// The terms whose atoms are such, and everything else.
    pub fn split_terms(self, mut such: impl FnMut(&Atom) -> bool) -> (Index, Index) {
        let (these, others) = self.terms.into_iter().partition(|(atom, _)| such(atom));
        (Index { constant: Dim::ZERO, terms: these }, Index { constant: self.constant, terms: others })
    }

    /// The part that mentions no axis.
    pub fn offset(&self) -> &Dim {
        &self.constant
    }

    /// Atoms and their coefficients, in order.
    pub fn terms(&self) -> &[(Atom, Dim)] {
        &self.terms
    }

    /// The value, if it mentions neither axes nor parameters.
    pub fn as_const(&self) -> Option<i64> {
        if self.terms.is_empty() { self.constant.as_const() } else { None }
    }

    /// The value, if it mentions no axis.
    pub fn as_dim(&self) -> Option<&Dim> {
        self.terms.is_empty().then_some(&self.constant)
    }

    /// The axis, if it is one alone.
    pub fn as_axis(&self) -> Option<AxisId> {
        match self.terms.as_slice() {
            [(Atom::Axis(a), c)] if c.is(1) && self.constant.is(0) => Some(*a),
            _ => None,
        }
    }

    /// Whether it is this number.
    pub fn is(&self, value: i64) -> bool {
        self.as_const() == Some(value)
    }

    /// The quotient by a positive number, rounded down.
    pub fn floor_div(self, divisor: impl Into<Dim>) -> Index {
        let divisor = divisor.into();
        match self.as_dim() {
            _ if divisor.is(1) => self,
            Some(d) => Index::constant(d.floor_div(&divisor)),
            None => Index::atom(Atom::Div(Box::new(self), divisor)),
        }
    }

    /// The remainder by a positive number, at least 0.
    pub fn modulo(self, divisor: impl Into<Dim>) -> Index {
        let divisor = divisor.into();
        match self.as_dim() {
            _ if divisor.is(1) => Index::constant(0),
            Some(d) => Index::constant(d.modulo(&divisor)),
            None => Index::atom(Atom::Mod(Box::new(self), divisor)),
        }
    }

    /// The lesser of two.
    pub fn min(self, other: Index) -> Index {
        match (&self, &other) {
            (a, b) if a == b => self,
            (a, b) => match (a.as_dim(), b.as_dim()) {
                (Some(a), Some(b)) => Index::constant(a.min(b)),
                _ => Index::extremum(self, other, Atom::Min),
            },
        }
    }

    /// The greater of two.
    pub fn max(self, other: Index) -> Index {
        match (&self, &other) {
            (a, b) if a == b => self,
            (a, b) => match (a.as_dim(), b.as_dim()) {
                (Some(a), Some(b)) => Index::constant(a.max(b)),
                _ => Index::extremum(self, other, Atom::Max),
            },
        }
    }

    fn extremum(a: Index, b: Index, make: fn(Vec<Index>) -> Atom) -> Index {
        let mut members = vec![a, b];
        members.sort_by(Index::structural_cmp);
        Index::atom(make(members))
    }

    /// An order on expressions, not on their values.
    pub(crate) fn structural_cmp(&self, other: &Index) -> Ordering {
        for ((a, c), (b, d)) in self.terms.iter().zip(&other.terms) {
            let order = a.structural_cmp(b).then_with(|| compare_dims(c, d));
            if order.is_ne() {
                return order;
            }
        }
        self.terms.len().cmp(&other.terms.len()).then_with(|| compare_dims(&self.constant, &other.constant))
    }

    /// Adds `coefficient · atom`.
    pub fn add_term(&mut self, atom: Atom, coefficient: Dim) {
        if coefficient.is(0) {
            return;
        }
        match self.terms.binary_search_by(|(a, _)| a.structural_cmp(&atom)) {
            Ok(i) => {
                let sum = self.terms[i].1.clone() + coefficient;
                if sum.is(0) {
                    self.terms.remove(i);
                } else {
                    self.terms[i].1 = sum;
                }
            }
            Err(i) => self.terms.insert(i, (atom, coefficient)),
        }
    }

    /// Adds `factor · other`.
    pub fn add_scaled(&mut self, other: &Index, factor: &Dim) {
        if factor.is(0) {
            return;
        }
        let one = factor.is(1);
        let scaled = |d: &Dim| if one { d.clone() } else { d.clone() * factor.clone() };
        for (atom, c) in &other.terms {
            self.add_term(atom.clone(), scaled(c));
        }
        self.constant = self.constant.clone() + scaled(&other.constant);
    }

    /// `self · factor`.
    pub fn scaled(&self, factor: &Dim) -> Index {
        let mut out = Index::constant(0);
        out.add_scaled(self, factor);
        out
    }

    /// With every axis for which `replace` gives an index replaced by it, at all depths.
    pub fn substitute(&self, replace: &impl Fn(AxisId) -> Option<Index>) -> Index {
        let mut out = Index::constant(self.constant.clone());
        let inside = |i: &Index| i.substitute(replace);
        for (atom, c) in &self.terms {
            let value = match atom {
                Atom::Axis(a) => match replace(*a) {
                    Some(i) => i,
                    None => {
                        out.add_term(atom.clone(), c.clone());
                        continue;
                    }
                },
                Atom::Div(i, d) => inside(i).floor_div(d.clone()),
                Atom::Mod(i, d) => inside(i).modulo(d.clone()),
                Atom::Min(m) => m.iter().map(inside).reduce(Index::min).unwrap_or_else(|| Index::constant(0)),
                Atom::Max(m) => m.iter().map(inside).reduce(Index::max).unwrap_or_else(|| Index::constant(0)),
                Atom::At(datum) => datum.with_index(datum.index.iter().map(inside).collect()),
            };
            out.add_scaled(&value, c);
        }
        out
    }

    /// The same with every dimension that it mentions, at all depths, written another way.
    pub(crate) fn map_dims(&self, map: &impl Fn(&Dim) -> Dim) -> Index {
        let mut out = Index::constant(map(&self.constant));
        let inside = |i: &Index| i.map_dims(map);
        for (atom, c) in &self.terms {
            let value = match atom {
                Atom::Axis(_) => Index::atom(atom.clone()),
                Atom::Div(i, d) => inside(i).floor_div(map(d)),
                Atom::Mod(i, d) => inside(i).modulo(map(d)),
                Atom::Min(m) => m.iter().map(inside).reduce(Index::min).unwrap_or_else(|| Index::constant(0)),
                Atom::Max(m) => m.iter().map(inside).reduce(Index::max).unwrap_or_else(|| Index::constant(0)),
                Atom::At(datum) => {
                    Index::data(datum.buffer, datum.index.iter().map(inside).collect(), map(&datum.end))
                }
            };
            out.add_scaled(&value, &map(c));
        }
        out
    }

    /// Calls `visit` with every dimension that it mentions, at all depths.
    pub(crate) fn visit_dims(&self, visit: &mut impl FnMut(&Dim)) {
        visit(&self.constant);
        for (atom, c) in &self.terms {
            visit(c);
            match atom {
                Atom::Axis(_) => {}
                Atom::Div(i, d) | Atom::Mod(i, d) => {
                    i.visit_dims(visit);
                    visit(d);
                }
                Atom::Min(m) | Atom::Max(m) => m.iter().for_each(|i| i.visit_dims(visit)),
                Atom::At(datum) => {
                    datum.index.iter().for_each(|i| i.visit_dims(visit));
                    visit(&datum.end);
                }
            }
        }
    }

    /// Calls `visit` with every axis, at all depths.
    pub fn visit_axes(&self, visit: &mut impl FnMut(AxisId)) {
        self.terms.iter().for_each(|(atom, _)| atom.visit_axes(visit));
    }

    /// Whether it depends on an integer in memory.
    pub fn is_data(&self) -> bool {
        self.terms.iter().any(|(atom, _)| atom.is_data())
    }

    /// Whether it mentions an axis.
    pub fn mentions(&self, axis: AxisId) -> bool {
        let mut found = false;
        self.visit_axes(&mut |a| found |= a == axis);
        found
    }

    /// Adds a constant.
    pub fn add_constant(&mut self, c: Dim) {
        self.constant = std::mem::replace(&mut self.constant, Dim::ZERO) + c;
    }

    /// Calls `visit` with every parameter, at all depths.
    pub fn visit_parameters(&self, visit: &mut impl FnMut(&Symbol)) {
        self.constant.visit_symbols(&mut |s| visit(s));
        for (atom, c) in &self.terms {
            c.visit_symbols(&mut |s| visit(s));
            match atom {
                Atom::Axis(_) => {}
                Atom::Div(i, d) | Atom::Mod(i, d) => {
                    i.visit_parameters(visit);
                    d.visit_symbols(&mut |s| visit(s));
                }
                Atom::Min(m) | Atom::Max(m) => m.iter().for_each(|i| i.visit_parameters(visit)),
                Atom::At(datum) => {
                    datum.index.iter().for_each(|i| i.visit_parameters(visit));
                    datum.end.visit_symbols(&mut |s| visit(s));
                }
            }
        }
    }

    /// Its value for these values of axes, parameters and elements of buffers; `None` if one is missing.
    pub fn eval(
        &self,
        axis: &impl Fn(AxisId) -> Option<i64>,
        parameter: &impl Fn(&Symbol) -> Option<i64>,
        element: &impl Fn(BufferId, &[i64]) -> Option<i64>,
    ) -> Option<i64> {
        let all =
            |m: &[Index]| m.iter().map(|i| i.eval(axis, parameter, element)).collect::<Option<Vec<i64>>>();
        let mut sum = self.constant.eval(parameter)?;
        for (atom, c) in &self.terms {
            let value = match atom {
                Atom::Axis(a) => axis(*a)?,
                Atom::Div(i, d) => {
                    i.eval(axis, parameter, element)?.checked_div_euclid(d.eval(parameter)?)?
                }
                Atom::Mod(i, d) => {
                    i.eval(axis, parameter, element)?.checked_rem_euclid(d.eval(parameter)?)?
                }
                Atom::Min(m) => all(m)?.into_iter().min()?,
                Atom::Max(m) => all(m)?.into_iter().max()?,
                Atom::At(datum) => {
                    let value = element(datum.buffer, &all(&datum.index)?)?;
                    Datum::clamped(value, datum.end.eval(parameter)?)
                }
            };
            sum = sum.checked_add(value.checked_mul(c.eval(parameter)?)?)?;
        }
        Some(sum)
    }

    /// As text, with axes named by `axis` and buffers by `buffer`.
    pub fn display<'a>(
        &'a self,
        axis: &'a dyn Fn(AxisId) -> String,
        buffer: &'a dyn Fn(BufferId) -> String,
    ) -> impl fmt::Display + 'a {
        Named { index: self, axis, buffer }
    }
}

impl From<AxisId> for Index {
    fn from(axis: AxisId) -> Index {
        Index::axis(axis)
    }
}

impl From<i64> for Index {
    fn from(value: i64) -> Index {
        Index::constant(value)
    }
}

impl From<Dim> for Index {
    fn from(value: Dim) -> Index {
        Index::constant(value)
    }
}

impl<T: Into<Index>> Add<T> for Index {
    type Output = Index;
    fn add(mut self, other: T) -> Index {
        self.add_scaled(&other.into(), &Dim::ONE);
        self
    }
}

impl<T: Into<Index>> Sub<T> for Index {
    type Output = Index;
    fn sub(mut self, other: T) -> Index {
        self.add_scaled(&other.into(), &Dim::from(-1));
        self
    }
}

impl<T: Into<Dim>> Mul<T> for Index {
    type Output = Index;
    fn mul(self, factor: T) -> Index {
        self.scaled(&factor.into())
    }
}

struct Named<'a> {
    index: &'a Index,
    axis: &'a dyn Fn(AxisId) -> String,
    buffer: &'a dyn Fn(BufferId) -> String,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |index| Named { index, axis: self.axis, buffer: self.buffer };

        let mut first = true;
        for (atom, c) in &self.index.terms {
            let (sign, c) = match c.as_const() {
                Some(v) if v < 0 => ("-", Dim::from(v.wrapping_neg())),
                _ => ("+", c.clone()),
            };
            match (first, sign) {
                (true, "-") => write!(f, "-")?,
                (true, _) => {}
                (false, sign) => write!(f, " {sign} ")?,
            }
            first = false;
            match atom {
                Atom::Axis(a) => write!(f, "{}", (self.axis)(*a))?,
                Atom::Div(i, d) => write!(f, "({})/({d})", named(i))?,
                Atom::Mod(i, d) => write!(f, "({})%({d})", named(i))?,
                Atom::Min(m) | Atom::Max(m) => {
                    write!(f, "{}(", if matches!(atom, Atom::Min(_)) { "min" } else { "max" })?;
                    for (i, m) in m.iter().enumerate() {
                        write!(f, "{}{}", if i > 0 { ", " } else { "" }, named(m))?;
                    }
                    write!(f, ")")?;
                }
                Atom::At(datum) => {
                    let index: Vec<String> = datum.index.iter().map(|i| named(i).to_string()).collect();
                    let buffer = (self.buffer)(datum.buffer);
                    write!(f, "clamp({buffer}[{}], {})", index.join(", "), datum.end)?;
                }
            }
            match c.as_const() {
                Some(1) => {}
                Some(v) => write!(f, "*{v}")?,
                None => write!(f, "*({c})")?,
            }
        }
        match self.index.constant.as_const() {
            Some(0) if !first => Ok(()),
            Some(v) if first => write!(f, "{v}"),
            Some(v) if v < 0 => write!(f, " - {}", v.unsigned_abs()),
            Some(v) => write!(f, " + {v}"),
            None if first => write!(f, "({})", self.index.constant),
            None => write!(f, " + ({})", self.index.constant),
        }
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.display(&|a| format!("a{}", a.0), &|b| format!("b{}", b.0)), f)
    }
}

impl fmt::Debug for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Index::atom(self.clone()), f)
    }
}
