//! Indices as words: derived axes resolved, simplified by what the loops around say, dimensions turned into parameters.
//!
//! Words are computed in 32 bits. Whether that is enough depends on the values of the parameters and is checked before a launch
//! (`launch.rs`).

use crate::opcode::{MemoryId, Sign, Word};
use lawson_graph::Dim;
use lawson_kernel::{Atom, AxisId, Index, Scope};
use std::collections::BTreeMap;

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

    /// A place in memory, counted from where what is bound begins.
    pub(crate) fn based(&self, memory: MemoryId, word: Word) -> Word {
        match self.bases.contains(&memory) {
            true => Word::Sum(vec![word, Word::Base(memory)]),
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
                    Word::Div(Box::new(self.simplified(scope, i)), Box::new(self.dim(d)), sign(i))
                }
                Atom::Mod(i, d) => {
                    Word::Mod(Box::new(self.simplified(scope, i)), Box::new(self.dim(d)), sign(i))
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
