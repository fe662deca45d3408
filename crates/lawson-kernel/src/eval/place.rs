//! Indices with the parameters put in and derived axes resolved: what is left depends on the axes of loops, and on memory.

use crate::buffer::BufferId;
use crate::index::{Atom, Datum, Index};
use crate::tree::{AxisId, Kernel};
use lawson_graph::{Code, Dim, Error, Result, Symbol};

/// `constant + Σ coefficient · part`.
#[derive(Clone, Debug)]
pub(super) struct Place {
    constant: i64,
    parts: Vec<(Part, i64)>,
}

#[derive(Clone, Debug)]
enum Part {
    Axis(AxisId),
    Div(Place, i64),
    Mod(Place, i64),
    Min(Vec<Place>),
    Max(Vec<Place>),
    At(BufferId, Vec<Place>, i64),
}

/// Why an index has no value.
#[derive(Clone, Copy, Debug)]
pub(super) enum NoValue {
    /// An axis is used outside its loop.
    Unset(AxisId),
    /// It leaves 64 bits.
    Overflow,
    /// It mentions an element that is not there, or no integer.
    Missing(BufferId),
}

/// What an index has a value by.
pub(super) trait Values {
    /// The value of an axis.
    fn axis(&self, axis: AxisId) -> Option<i64>;
    /// An integer in memory.
    fn element(&self, buffer: BufferId, index: &[i64]) -> Option<i64>;
}

/// A dimension's value.
pub(super) fn size(dim: &Dim, value_of: &impl Fn(&Symbol) -> Option<i64>) -> Result<i64> {
    dim.eval(value_of).ok_or_else(|| {
        Error::new(Code::KernelRun, format!("the dimension {dim} has no value"))
            .help("give a value for every parameter that the kernel mentions")
    })
}

impl Place {
    pub(super) fn new(
        kernel: &Kernel,
        index: &Index,
        value_of: &impl Fn(&Symbol) -> Option<i64>,
    ) -> Result<Place> {
        Place::of(&kernel.resolve(index), value_of)
    }

    fn of(index: &Index, value_of: &impl Fn(&Symbol) -> Option<i64>) -> Result<Place> {
        let all = |m: &[Index]| m.iter().map(|i| Place::of(i, value_of)).collect::<Result<Vec<_>>>();
        let mut parts = Vec::with_capacity(index.terms().len());
        for (atom, c) in index.terms() {
            let part = match atom {
                Atom::Axis(a) => Part::Axis(*a),
                Atom::Div(i, d) => Part::Div(Place::of(i, value_of)?, size(d, value_of)?.max(1)),
                Atom::Mod(i, d) => Part::Mod(Place::of(i, value_of)?, size(d, value_of)?.max(1)),
                Atom::Min(m) => Part::Min(all(m)?),
                Atom::Max(m) => Part::Max(all(m)?),
                Atom::At(d) => Part::At(d.buffer, all(&d.index)?, size(&d.end, value_of)?),
            };
            parts.push((part, size(c, value_of)?));
        }
        Ok(Place { constant: size(index.offset(), value_of)?, parts })
    }

    /// The value, for these values of axes and elements.
    pub(super) fn at(&self, values: &impl Values) -> Result<i64, NoValue> {
        let mut sum = self.constant;
        for (part, c) in &self.parts {
            let value = match part {
                Part::Axis(a) => values.axis(*a).ok_or(NoValue::Unset(*a))?,
                Part::Div(i, d) => i.at(values)?.checked_div_euclid(*d).ok_or(NoValue::Overflow)?,
                Part::Mod(i, d) => i.at(values)?.checked_rem_euclid(*d).ok_or(NoValue::Overflow)?,
                Part::Min(m) => extremum(m, values, i64::min)?,
                Part::Max(m) => extremum(m, values, i64::max)?,
                Part::At(buffer, index, end) => {
                    let index = index.iter().map(|i| i.at(values)).collect::<Result<Vec<i64>, _>>()?;
                    let value = values.element(*buffer, &index).ok_or(NoValue::Missing(*buffer))?;
                    Datum::clamped(value, *end)
                }
            };
            let term = value.checked_mul(*c).ok_or(NoValue::Overflow)?;
            sum = sum.checked_add(term).ok_or(NoValue::Overflow)?;
        }
        Ok(sum)
    }
}

fn extremum(members: &[Place], values: &impl Values, join: fn(i64, i64) -> i64) -> Result<i64, NoValue> {
    let mut best = None;
    for m in members {
        let value = m.at(values)?;
        best = Some(best.map_or(value, |b| join(b, value)));
    }
    best.ok_or(NoValue::Overflow)
}
