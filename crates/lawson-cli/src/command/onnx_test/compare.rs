//! Comparing what came with what is expected, within the tolerances of ONNX's suite.

use lawson::{Code, DType, Error, HostTensor, Result, Value};
use serde_json::Value as Json;
use std::path::Path;

/// How far floats may be off: `|have - want| <= absolute + relative·|want|`. Integers, bools and texts must be equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tolerance {
    relative: f64,
    absolute: f64,
}

/// What holds where a case says nothing else.
const USUAL: Tolerance = Tolerance { relative: 1e-3, absolute: 1e-7 };

/// Two steps of a bf16, which the suite grants it at least.
const BF16_RELATIVE: f64 = 1.0 / 64.0;

impl Tolerance {
    /// That of a case: what its `tolerance.json` says (`rtol`, `atol`), or the usual one.
    pub(super) fn of(case: &Path) -> Result<Tolerance> {
        let path = case.join("tolerance.json");
        let Ok(text) = std::fs::read_to_string(&path) else { return Ok(USUAL) };
        let said: Json = serde_json::from_str(&text)
            .map_err(|e| Error::new(Code::FileFormat, format!("tolerance.json: {e}")))?;
        let number = |name: &str, usual: f64| said[name].as_f64().filter(|n| *n >= 0.0).unwrap_or(usual);
        Ok(Tolerance { relative: number("rtol", USUAL.relative), absolute: number("atol", USUAL.absolute) })
    }
}

/// The first difference, in words.
pub(super) fn compare(have: &Value, want: &Value, tolerance: Tolerance) -> Option<String> {
    match (have, want) {
        (Value::Tensor(have), Value::Tensor(want)) => tensors(have, want, tolerance),
        (Value::Sequence(have), Value::Sequence(want)) => {
            if have.len() != want.len() {
                return Some(format!("{} elements instead of {}", have.len(), want.len()));
            }
            let mut pairs = have.iter().zip(want).enumerate();
            pairs.find_map(|(i, (h, w))| tensors(h, w, tolerance).map(|d| format!("element {i}: {d}")))
        }
        (Value::Optional(None), Value::Optional(None)) => None,
        (Value::Optional(Some(have)), Value::Optional(Some(want))) => compare(have, want, tolerance),
        (Value::Optional(_), Value::Optional(_)) => Some("one is there, the other is not".to_string()),
        _ => Some("it is another kind of value".to_string()),
    }
}

fn tensors(have: &HostTensor, want: &HostTensor, tolerance: Tolerance) -> Option<String> {
    if have.dtype() != want.dtype() || have.sizes() != want.sizes() {
        return Some(format!("{} instead of {}", have.ty(), want.ty()));
    }
    let at = |i: usize| {
        let mut rest = i;
        let mut index: Vec<usize> = Vec::with_capacity(want.sizes().len());
        for size in want.sizes().iter().rev() {
            index.push(rest % size);
            rest /= size;
        }
        index.reverse();
        format!("element {index:?}")
    };
    if want.dtype() == DType::Str {
        let other = have.text().iter().zip(want.text()).position(|(h, w)| h != w)?;
        return Some(format!("{} is {:?}, not {:?}", at(other), have.text()[other], want.text()[other]));
    }
    if !want.dtype().is_float() {
        let other = (0..want.len()).find(|i| have.int_at(*i) != want.int_at(*i))?;
        return Some(format!("{} is {}, not {}", at(other), have.int_at(other), want.int_at(other)));
    }
    let relative = match want.dtype() {
        DType::BF16 => tolerance.relative.max(BF16_RELATIVE),
        _ => tolerance.relative,
    };
    let near = |h: f64, w: f64| {
        h == w || (h.is_nan() && w.is_nan()) || (h - w).abs() <= tolerance.absolute + relative * w.abs()
    };
    // An infinity is near nothing but itself: its product with the tolerance is one too.
    let differs = |i: usize| {
        let (h, w) = (have.float_at(i), want.float_at(i));
        if w.is_infinite() { h != w } else { !near(h, w) }
    };
    let count = (0..want.len()).filter(|i| differs(*i)).count();
    let first = (0..want.len()).find(|i| differs(*i))?;
    let (h, w) = (have.float_at(first), want.float_at(first));
    let more = if count > 1 { format!(", and {} others differ", count - 1) } else { String::new() };
    Some(format!("{} is {h}, not {w}{more}", at(first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference<T: lawson::Element>(have: &[T], want: &[T]) -> Option<String> {
        let tensor = |v: &[T]| Value::from(HostTensor::from_slice(&[v.len()], v).unwrap());
        compare(&tensor(have), &tensor(want), USUAL)
    }

    #[test]
    fn floats_may_be_off_a_little_and_integers_not_at_all() {
        assert_eq!(difference(&[1.0009f32, 0.0], &[1.0, 0.9e-7]), None);
        assert!(difference(&[1.002f32], &[1.0]).is_some());
        assert!(difference(&[2e-7f32], &[0.0]).is_some());
        assert_eq!(difference(&[10_000i64], &[10_000]), None);
        assert!(difference(&[10_001i64], &[10_000]).is_some());
    }

    #[test]
    fn infinities_and_nan_are_near_only_themselves() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        assert_eq!(difference(&[inf, -inf, nan], &[inf, -inf, nan]), None);
        for (have, want) in [(inf, -inf), (1.0, inf), (inf, 1.0), (nan, 1.0), (1.0, nan), (inf, nan)] {
            assert!(difference(&[have], &[want]).is_some(), "{have} {want}");
        }
    }

    #[test]
    fn the_first_difference_is_named_by_its_index() {
        let said = difference(&[0f32, 1.0, 5.0, 9.0], &[0.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!(said, "element [2] is 5, not 2, and 1 others differ");
    }
}
