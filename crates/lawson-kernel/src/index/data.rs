//! Indices that are data: integers that lie in memory, clamped so that their range is known.
//!
//! A [`Datum`] is an element of an *input*: nothing that the kernel does changes it. So an index that mentions one is, like every
//! other, a function of the axes alone; two that look the same are the same wherever they stand, and they can be computed as
//! far outside as their axes allow. The verifier sees to it that the element is there wherever its axes have values, whatever
//! guards say.

use super::{Atom, Index};
use crate::buffer::BufferId;
use crate::tree::AxisId;
use lawson_graph::Dim;

/// An element of an input, an integer, clamped to `0 ..= end - 1`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Datum {
    /// The input, of i32 or i64.
    pub buffer: BufferId,
    /// One index a logical dimension.
    pub index: Vec<Index>,
    /// One past the greatest value; at least 1.
    pub end: Dim,
}

impl Datum {
    /// The same with other indices, as an index.
    pub(super) fn with_index(&self, index: Vec<Index>) -> Index {
        Index::data(self.buffer, index, self.end.clone())
    }

    /// What an integer is clamped to, for a value of `end`.
    pub fn clamped(value: i64, end: i64) -> i64 {
        value.min(end.saturating_sub(1)).max(0)
    }
}

impl Index {
    /// The element of an input at an index, clamped to `0 ..= end - 1`.
    pub fn data(buffer: BufferId, index: Vec<Index>, end: impl Into<Dim>) -> Index {
        let end = end.into();
        if end.is(1) {
            return Index::constant(0);
        }
        Index::atom(Atom::At(Box::new(Datum { buffer, index, end })))
    }

    /// Calls `visit` with every integer in memory that it mentions, at all depths.
    pub fn visit_data(&self, visit: &mut impl FnMut(&Datum)) {
        for (atom, _) in self.terms() {
            match atom {
                Atom::Axis(_) => {}
                Atom::Div(i, _) | Atom::Mod(i, _) => i.visit_data(visit),
                Atom::Min(m) | Atom::Max(m) => m.iter().for_each(|i| i.visit_data(visit)),
                Atom::At(datum) => {
                    datum.index.iter().for_each(|i| i.visit_data(visit));
                    visit(datum);
                }
            }
        }
    }

    /// Whether it mentions an integer in memory.
    pub fn has_data(&self) -> bool {
        let mut found = false;
        self.visit_data(&mut |_| found = true);
        found
    }

    /// With other elements in the place of those that it mentions, at all depths.
    pub fn with_data(&self, replace: &impl Fn(BufferId, &[Index]) -> (BufferId, Vec<Index>)) -> Index {
        if !self.has_data() {
            return self.clone();
        }
        let mut out = Index::constant(self.offset().clone());
        let inside = |i: &Index| i.with_data(replace);
        let zero = || Index::constant(0);
        for (atom, c) in self.terms() {
            let value = match atom {
                Atom::Axis(a) => Index::axis(*a),
                Atom::Div(i, d) => inside(i).floor_div(d.clone()),
                Atom::Mod(i, d) => inside(i).modulo(d.clone()),
                Atom::Min(m) => m.iter().map(inside).reduce(Index::min).unwrap_or_else(zero),
                Atom::Max(m) => m.iter().map(inside).reduce(Index::max).unwrap_or_else(zero),
                Atom::At(datum) => {
                    let index: Vec<Index> = datum.index.iter().map(inside).collect();
                    let (buffer, index) = replace(datum.buffer, &index);
                    Index::data(buffer, index, datum.end.clone())
                }
            };
            out.add_scaled(&value, c);
        }
        out
    }

    /// Whether it mentions an axis other than to say where an integer in memory lies.
    pub fn mentions_itself(&self, axis: AxisId) -> bool {
        self.terms().iter().any(|(atom, _)| match atom {
            Atom::Axis(a) => *a == axis,
            Atom::Div(i, _) | Atom::Mod(i, _) => i.mentions_itself(axis),
            Atom::Min(m) | Atom::Max(m) => m.iter().any(|i| i.mentions_itself(axis)),
            Atom::At(_) => false,
        })
    }
}
