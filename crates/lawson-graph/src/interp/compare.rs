//! Comparing a result with the oracle: each element must lie in the range that bounded mode gives.

use super::bounded::{Bounded, BoundedTensor};
use crate::tensor::{HostTensor, Value};
use std::fmt;

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// How many elements were compared.
    pub compared: u64,
    /// How many were left out because the oracle does not determine them.
    pub undetermined: u64,
    /// How many lie outside their bounds.
    pub outside: u64,
    /// The element that lies furthest out, measured by its bound, also if that is inside.
    pub worst: Option<Worst>,
    /// What differs besides elements: the kind of value, the dtype, the sizes.
    pub fault: Option<String>,
}

/// An element and its bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Worst {
    /// Which element, row-major; of a sequence, counted through all its tensors.
    pub index: usize,
    /// The oracle's best guess.
    pub expected: f64,
    /// What was found.
    pub found: f64,
    /// How far it may be off, slack included.
    pub bound: f64,
    /// How far it is off, as a part of the bound: above 1 it is outside.
    pub ratio: f64,
}

impl Comparison {
    /// Whether everything that is determined is inside its bounds.
    pub fn ok(&self) -> bool {
        self.outside == 0 && self.fault.is_none()
    }

    fn note(&mut self, worst: Worst) {
        self.outside += u64::from(worst.ratio > 1.0);
        if self.worst.as_ref().is_none_or(|w| worst.ratio > w.ratio) {
            self.worst = Some(worst);
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(fault) = &self.fault {
            return f.write_str(fault);
        }
        write!(f, "{} of {} elements are outside their bounds", self.outside, self.compared)?;
        if self.undetermined > 0 {
            write!(f, ", {} are undetermined", self.undetermined)?;
        }
        if let Some(w) = &self.worst {
            write!(
                f,
                "; the furthest out is element {}: {:?} for {:?} ± {:e}",
                w.index, w.found, w.expected, w.bound
            )?;
        }
        Ok(())
    }
}

/// Compares a result with the oracle: each element must lie in its range; NaN must meet NaN, an infinity the same
/// infinity. What the oracle does not determine is counted and left out, unless it lies where nothing correct can.
///
/// `slack` ≥ 1 makes room for targets that are less accurate than the contract: a range is made that many times as
/// wide, and wider by `slack - 1` units in the last place, since what is correctly rounded has a range of one point.
pub fn compare(oracle: &Bounded, actual: &Value, slack: f64) -> Comparison {
    let mut comparison = Comparison::default();
    walk(oracle, actual, slack, &mut comparison);
    comparison
}

fn walk(oracle: &Bounded, actual: &Value, slack: f64, c: &mut Comparison) {
    match (oracle, actual) {
        (Bounded::Undetermined, _) => c.undetermined += 1,
        (Bounded::Tensor(o), Value::Tensor(a)) => tensor(o, a, slack, 0, c),
        (Bounded::Sequence(o), Value::Sequence(a)) => {
            if o.len() != a.len() {
                c.fault = Some(format!("expected a sequence of {} tensors, found {}", o.len(), a.len()));
                return;
            }
            let mut first = 0;
            for (o, a) in o.iter().zip(a) {
                tensor(o, a, slack, first, c);
                first += o.len();
            }
        }
        (Bounded::Optional(None), Value::Optional(None)) => {}
        (Bounded::Optional(Some(o)), Value::Optional(Some(a))) => walk(o, a, slack, c),
        (o, a) => c.fault = Some(format!("expected {}, found {}", kind_of(o), kind_of_value(a))),
    }
}

fn kind_of(oracle: &Bounded) -> &'static str {
    match oracle {
        Bounded::Tensor(_) => "a tensor",
        Bounded::Sequence(_) => "a sequence",
        Bounded::Optional(None) => "an absent optional",
        Bounded::Optional(Some(_)) => "a present optional",
        Bounded::Undetermined => "anything",
    }
}

fn kind_of_value(value: &Value) -> &'static str {
    match value {
        Value::Tensor(_) => "a tensor",
        Value::Sequence(_) => "a sequence",
        Value::Optional(None) => "an absent optional",
        Value::Optional(Some(_)) => "a present optional",
    }
}

fn tensor(o: &BoundedTensor, a: &HostTensor, slack: f64, first: usize, c: &mut Comparison) {
    if o.dtype() != a.dtype() || o.sizes() != a.sizes() {
        c.fault = Some(format!("expected {}{:?}, found {}{:?}", o.dtype(), o.sizes(), a.dtype(), a.sizes()));
        return;
    }
    for i in 0..o.len() {
        let ratio = if let Some(text) = o.text(i) {
            if a.text().get(i) == Some(text) { 0.0 } else { f64::INFINITY }
        } else if let Some((lo, hi)) = o.int_range(i) {
            if (lo..=hi).contains(&a.int_at(i)) { 0.0 } else { f64::INFINITY }
        } else {
            float_ratio(o, i, a.float_at(i), slack)
        };
        if !o.determined(i) && ratio <= 1.0 {
            c.undetermined += 1;
            continue;
        }
        c.compared += 1;
        let bound = o.error(i) * slack;
        c.note(Worst { index: first + i, expected: o.value(i), found: a.float_at(i), bound, ratio });
    }
}

/// How far a float is from the best guess, as a part of the way to the end of its range on that side.
fn float_ratio(o: &BoundedTensor, i: usize, found: f64, slack: f64) -> f64 {
    let (lo, hi) = o.range(i);
    if lo == f64::NEG_INFINITY && hi == f64::INFINITY {
        return 0.0;
    }
    if lo.is_nan() || found.is_nan() {
        return if lo.is_nan() && found.is_nan() { 0.0 } else { f64::INFINITY };
    }
    // The best guess is not rounded, so it need not lie between ends that are.
    let centre = o.value(i).clamp(lo, hi);
    if found == centre {
        return 0.0;
    }
    if !found.is_finite() || !centre.is_finite() {
        return if (lo..=hi).contains(&found) { 0.0 } else { f64::INFINITY };
    }
    let dtype = o.dtype();
    let unit =
        2.0 * dtype.unit_roundoff().unwrap_or(0.0) * centre.abs() + dtype.min_subnormal().unwrap_or(0.0);
    let (way, room) =
        if found > centre { (found - centre, hi - centre) } else { (centre - found, centre - lo) };
    way / (room * slack + unit * (slack - 1.0).max(0.0))
}
