//! Texts: put together, split, normalised, matched, looked up, read as numbers.

use super::{number, tensor};
use lawson_graph::{Code, DType, Error, HostTensor, Result, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Element `i` of a shape, in another that broadcasts to it.
fn spread(i: usize, to: &[usize], from: &[usize]) -> usize {
    let (mut rest, mut at, mut stride) = (i, 0, 1);
    for axis in (0..to.len()).rev() {
        let index = rest % to[axis].max(1);
        rest /= to[axis].max(1);
        if let Some(own) = (axis + from.len()).checked_sub(to.len()) {
            at += if from[own] == 1 { 0 } else { index * stride };
            stride *= from[own];
        }
    }
    at
}

fn broadcast(a: &[usize], b: &[usize]) -> Vec<usize> {
    let rank = a.len().max(b.len());
    let at = |s: &[usize], i: usize| (i + s.len()).checked_sub(rank).map_or(1, |j| s[j]);
    (0..rank).map(|i| if at(a, i) == 1 { at(b, i) } else { at(a, i) }).collect()
}

/// Each text of one tensor followed by that of the other.
pub(super) fn concat(operands: &[Value]) -> Result<Vec<Value>> {
    let (a, b) = (tensor(operands, 0)?, tensor(operands, 1)?);
    let sizes = broadcast(a.sizes(), b.sizes());
    let joined = |i: usize| -> Arc<str> {
        let (p, q) = (&a.text()[spread(i, &sizes, a.sizes())], &b.text()[spread(i, &sizes, b.sizes())]);
        format!("{p}{q}").into()
    };
    let texts = (0..sizes.iter().product()).map(joined).collect();
    Ok(vec![HostTensor::from_text(&sizes, texts)?.into()])
}

/// Whether texts are the same.
pub(super) fn equal(operands: &[Value]) -> Result<Vec<Value>> {
    let (a, b) = (tensor(operands, 0)?, tensor(operands, 1)?);
    let sizes = broadcast(a.sizes(), b.sizes());
    let same = |i: usize| a.text()[spread(i, &sizes, a.sizes())] == b.text()[spread(i, &sizes, b.sizes())];
    let elements: Vec<bool> = (0..sizes.iter().product()).map(same).collect();
    Ok(vec![HostTensor::from_slice(&sizes, &elements)?.into()])
}

/// Operands: texts, the separator (none: white space), the most splits (negative: any number). Results: the parts along a new last
/// axis, padded with empty texts, and how many there are.
pub(super) fn split(operands: &[Value]) -> Result<Vec<Value>> {
    let (x, by, most) = (tensor(operands, 0)?, tensor(operands, 1)?, number(operands, 2)?);
    let by = &*by.text()[0];
    let limit = usize::try_from(most).map_or(usize::MAX, |n| n.saturating_add(1));
    let parts = |text: &Arc<str>| -> Vec<String> {
        if !by.is_empty() {
            return text.splitn(limit, by).map(str::to_string).collect();
        }
        let (mut parts, mut rest) = (Vec::new(), text.trim_start());
        while !rest.is_empty() {
            if parts.len() + 1 == limit {
                parts.push(rest.trim_end().to_string());
                break;
            }
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            parts.push(rest[..end].to_string());
            rest = rest[end..].trim_start();
        }
        parts
    };
    let all: Vec<Vec<String>> = x.text().iter().map(parts).collect();
    let widest = all.iter().map(Vec::len).max().unwrap_or(0);
    let counts: Vec<i64> = all.iter().map(|p| p.len() as i64).collect();
    let padded = |p: Vec<String>| {
        let missing = widest - p.len();
        p.into_iter().chain(std::iter::repeat_n(String::new(), missing)).map(Arc::from)
    };
    let texts: Vec<Arc<str>> = all.into_iter().flat_map(padded).collect();
    let sizes: Vec<usize> = x.sizes().iter().copied().chain([widest]).collect();
    Ok(vec![HostTensor::from_text(&sizes, texts)?.into(), HostTensor::from_slice(x.sizes(), &counts)?.into()])
}

/// Operands: texts in a row, stop words, whether case counts, what becomes of case (0 nothing, 1 lower, 2 upper). Result: the texts
/// that are no stop words, or one empty text.
pub(super) fn normalise(operands: &[Value]) -> Result<Vec<Value>> {
    let (x, stops) = (tensor(operands, 0)?, tensor(operands, 1)?);
    let (sensitive, change) = (number(operands, 2)? != 0, number(operands, 3)?);
    let same = |a: &str, b: &str| if sensitive { a == b } else { a.to_lowercase() == b.to_lowercase() };
    let is_kept = |t: &&Arc<str>| !stops.text().iter().any(|s| same(s, t));
    let changed = |t: &Arc<str>| -> Arc<str> {
        match change {
            1 => t.to_lowercase().into(),
            2 => t.to_uppercase().into(),
            _ => t.clone(),
        }
    };
    let mut kept: Vec<Arc<str>> = x.text().iter().filter(is_kept).map(changed).collect();
    if kept.is_empty() {
        kept.push("".into());
    }
    Ok(vec![HostTensor::from_text(&[kept.len()], kept)?.into()])
}

/// Operands: texts, a pattern. Result: whether the whole text matches.
pub(super) fn full_match(operands: &[Value]) -> Result<Vec<Value>> {
    let (x, pattern) = (tensor(operands, 0)?, tensor(operands, 1)?);
    // Matching takes time linear in the text, whatever the pattern; compiled patterns are bounded by the library.
    let pattern = regex::Regex::new(&format!("^(?:{})$", &pattern.text()[0]))
        .map_err(|e| Error::new(Code::HostCall, format!("the pattern is not understood: {e}")))?;
    let elements: Vec<bool> = x.text().iter().map(|t| pattern.is_match(t)).collect();
    Ok(vec![HostTensor::from_slice(x.sizes(), &elements)?.into()])
}

/// What an element is looked up by: a text, or the bits of a number.
fn key(t: &HostTensor, i: usize) -> String {
    match t.dtype() {
        DType::Str => t.text()[i].to_string(),
        d if d.is_float() => {
            let v = t.float_at(i);
            if v.is_nan() { "nan".to_string() } else { (v + 0.0).to_bits().to_string() }
        }
        _ => t.int_at(i).to_string(),
    }
}

/// Operands: a tensor, keys, values, a default. Result: the value of each element's key.
pub(super) fn look_up(operands: &[Value]) -> Result<Vec<Value>> {
    let (x, keys, values, default) =
        (tensor(operands, 0)?, tensor(operands, 1)?, tensor(operands, 2)?, tensor(operands, 3)?);
    let mut places: HashMap<String, usize> = HashMap::new();
    for i in 0..keys.len().min(values.len()) {
        places.insert(key(keys, i), i);
    }
    let found: Vec<Option<usize>> = (0..x.len()).map(|i| places.get(&key(x, i)).copied()).collect();
    let sizes = x.sizes();
    let y = match values.dtype() {
        DType::Str => {
            let text = |p: &Option<usize>| p.map_or(&default.text()[0], |p| &values.text()[p]).clone();
            HostTensor::from_text(sizes, found.iter().map(text).collect())?
        }
        d if d.is_float() => {
            let number = |p: &Option<usize>| p.map_or(default.float_at(0), |p| values.float_at(p));
            HostTensor::from_floats(d, sizes, &found.iter().map(number).collect::<Vec<_>>())?
        }
        d => {
            let number = |p: &Option<usize>| p.map_or(default.int_at(0), |p| values.int_at(p));
            HostTensor::from_ints(d, sizes, &found.iter().map(number).collect::<Vec<_>>())?
        }
    };
    Ok(vec![y.into()])
}

/// Operands: texts or numbers, a tensor of the wanted dtype. Result: numbers read from texts, or written as texts.
pub(super) fn cast(operands: &[Value]) -> Result<Vec<Value>> {
    let (x, like) = (tensor(operands, 0)?, tensor(operands, 1)?);
    let sizes = x.sizes();
    let unreadable = |t: &str| Error::new(Code::HostCall, format!("`{t}` is no {}", like.dtype()));
    let y = match (x.dtype(), like.dtype()) {
        (DType::Str, to) if to.is_float() => {
            let read = |t: &Arc<str>| {
                let lower = t.trim().to_ascii_lowercase();
                lower.parse::<f64>().map_err(|_| unreadable(t))
            };
            HostTensor::from_floats(to, sizes, &x.text().iter().map(read).collect::<Result<Vec<_>>>()?)?
        }
        (DType::Str, to) => {
            let read = |t: &Arc<str>| {
                let whole = t.trim().parse::<i128>().ok();
                whole.or_else(|| t.trim().parse::<f64>().ok().map(|f| f as i128)).ok_or_else(|| unreadable(t))
            };
            HostTensor::from_ints(to, sizes, &x.text().iter().map(read).collect::<Result<Vec<_>>>()?)?
        }
        (from, _) => {
            let write = |i: usize| -> Arc<str> {
                match from {
                    DType::Bool => if x.int_at(i) != 0 { "1" } else { "0" }.into(),
                    DType::F32 => shown(&format!("{}", x.float_at(i) as f32)).into(),
                    d if d.is_float() => shown(&format!("{}", x.float_at(i))).into(),
                    _ => x.int_at(i).to_string().into(),
                }
            };
            HostTensor::from_text(sizes, (0..x.len()).map(write).collect())?
        }
    };
    Ok(vec![y.into()])
}

/// The standard's words for what is no number.
fn shown(text: &str) -> String {
    match text {
        "inf" => "INF".to_string(),
        "-inf" => "-INF".to_string(),
        other => other.to_string(),
    }
}
