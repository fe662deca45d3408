//! Words, which places in memory are made of, and indices as words: derived axes resolved, simplified by what the loops around say, dimensions
//! turned into parameters.
//!
//! Words are computed in 32 bits. Whether that is enough depends on the values of the parameters and is checked before a launch
//! (`launch.rs`).

use crate::opcode::MemoryId;
use lawson_graph::Dim;
use lawson_kernel::{Atom, AxisId, Index, Scope};
use std::collections::BTreeMap;

/// An integer of 32 bits made of axes, parameters and elements of inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// A number.
    Const(i64),
    /// The value of an axis.
    Axis(AxisId),
    /// A parameter.
    Param(usize),
    /// The element at which a buffer begins.
    Base(MemoryId),
    /// The number of the member in its workgroup.
    Lane,
    /// A sum of two or more.
    Sum(Vec<Word>),
    /// A product.
    Product(Box<Word>, Box<Word>),
    /// The quotient by a positive number, rounded down.
    Div(Box<Word>, Box<Word>, Sign),
    /// The remainder by a positive number, at least 0.
    Mod(Box<Word>, Box<Word>, Sign),
    /// The least of two or more.
    Min(Vec<Word>),
    /// The greatest of two or more.
    Max(Vec<Word>),
    /// An element of an input of integers, clamped to `0` to the last word.
    At(MemoryId, Box<Word>, Box<Word>),
}

impl Word {
    /// The remainder and the quotient by a number, of what is not negative.
    pub(crate) fn split(&self, by: i64) -> (Word, Word) {
        let part = |make: fn(Box<Word>, Box<Word>, Sign) -> Word| {
            make(Box::new(self.clone()), Box::new(Word::Const(by)), Sign::NonNegative)
        };
        (part(Word::Mod), part(Word::Div))
    }

    /// The sum with another.
    pub(crate) fn plus(self, other: Word) -> Word {
        Word::Sum(vec![self, other])
    }

    /// The product by a number.
    pub(crate) fn times(self, by: i64) -> Word {
        if by == 1 { self } else { Word::Product(Box::new(self), Box::new(Word::Const(by))) }
    }

    /// The number of the member divided by this.
    pub(crate) fn lane_over(by: i64) -> Word {
        Word::Lane.split(by).1
    }
}

/// What is known of the sign of what is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It is at least 0, so rounding towards 0 is rounding down.
    NonNegative,
    /// Nothing.
    Any,
}

/// The parameters met so far.
#[derive(Default)]
pub(crate) struct Parameters {
    /// What the host computes.
    pub(crate) dims: Vec<Dim>,
    /// The buffers that begin at an element which the host passes.
    pub(crate) bases: Vec<MemoryId>,
    /// Axes whose values are known here.
    pub(crate) fixed: BTreeMap<AxisId, Word>,
}

impl Parameters {
    /// A dimension as a word: a number, or a parameter that the host computes.
    pub(crate) fn dim(&mut self, dim: &Dim) -> Word {
        if let Some(c) = dim.as_const() {
            return Word::Const(c);
        }
        let known = self.dims.iter().position(|d| d == dim);
        Word::Param(known.unwrap_or_else(|| {
            self.dims.push(dim.clone());
            self.dims.len() - 1
        }))
    }

    /// A dimension that something is divided by: one that is empty counts as 1.
    fn divisor(&mut self, scope: &Scope<'_>, dim: &Dim) -> Word {
        let full = scope.kernel().facts.is_positive(dim);
        if full { self.dim(dim) } else { self.dim(&dim.max(&Dim::ONE)) }
    }

    /// A place in memory, counted from where what is bound begins.
    pub(crate) fn based(&self, memory: MemoryId, word: Word) -> Word {
        match self.bases.contains(&memory) {
            true => word.plus(Word::Base(memory)),
            false => word,
        }
    }

    /// An index as a word, in the loops that the scope has entered.
    pub(crate) fn word(&mut self, scope: &Scope<'_>, index: &Index) -> Word {
        let index = scope.simplify(&scope.kernel().resolve(index));
        self.simplified(scope, &index)
    }

    fn simplified(&mut self, scope: &Scope<'_>, index: &Index) -> Word {
        let sign = |i: &Index| match scope.interval(i).0 {
            Some(lo) if lo >= 0 => Sign::NonNegative,
            _ => Sign::Any,
        };
        let mut terms = Vec::with_capacity(index.terms().len() + 1);
        for (atom, c) in index.terms() {
            let value = match atom {
                Atom::Axis(a) => self.fixed.get(a).cloned().unwrap_or(Word::Axis(*a)),
                Atom::Div(i, d) => {
                    Word::Div(Box::new(self.simplified(scope, i)), Box::new(self.divisor(scope, d)), sign(i))
                }
                Atom::Mod(i, d) => {
                    Word::Mod(Box::new(self.simplified(scope, i)), Box::new(self.divisor(scope, d)), sign(i))
                }
                Atom::Min(m) => Word::Min(m.iter().map(|i| self.simplified(scope, i)).collect()),
                Atom::Max(m) => Word::Max(m.iter().map(|i| self.simplified(scope, i)).collect()),
                Atom::At(datum) => {
                    let offset = scope.kernel().buffer(datum.buffer).layout.offset(&datum.index);
                    let at = self.word(scope, &offset);
                    let at = self.based(MemoryId(datum.buffer.0), at);
                    let last = self.dim(&(datum.end.clone() - 1));
                    Word::At(MemoryId(datum.buffer.0), Box::new(at), Box::new(last))
                }
            };
            terms.push(match self.dim(c) {
                Word::Const(1) => value,
                c => Word::Product(Box::new(value), Box::new(c)),
            });
        }
        if !index.offset().is(0) || terms.is_empty() {
            terms.push(self.dim(index.offset()));
        }
        match terms.len() {
            1 => terms.swap_remove(0),
            _ => Word::Sum(terms),
        }
    }
}
