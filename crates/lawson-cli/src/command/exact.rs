//! What `lawson run --exact` prints: values computed in f64, each with the bound of a correct target's error.

use super::run::{print_symbols, symbols_json};
use crate::output::float_json;
use crate::report::{Outcome, Reporter};
use lawson::graph::Bindings;
use lawson::graph::interp::{Bounded, BoundedTensor};
use serde_json::{Map, Value as Json, json};
use std::io::Write;

/// How many elements of each output are shown with their bounds.
const SHOWN: usize = 8;

/// Prints all outputs.
pub fn print(
    names: &[String],
    results: &[Bounded],
    bindings: &Bindings,
    reporter: &Reporter,
    out: &mut dyn Write,
) -> Outcome {
    if reporter.json {
        let outputs: Map<String, Json> = names.iter().cloned().zip(results.iter().map(value_json)).collect();
        let report = json!({ "symbols": symbols_json(bindings), "outputs": outputs });
        return Ok(writeln!(out, "{report:#}")?);
    }
    print_symbols(bindings, out)?;
    names.iter().zip(results).try_for_each(|(name, value)| print_value(name, value, out))
}

fn print_value(name: &str, value: &Bounded, out: &mut dyn Write) -> Outcome {
    match value {
        Bounded::Tensor(t) => print_tensor(name, t, out),
        Bounded::Sequence(items) => {
            writeln!(out, "{name}: sequence of {}", items.len())?;
            items.iter().enumerate().try_for_each(|(i, t)| print_tensor(&format!("  {name}.{i}"), t, out))
        }
        Bounded::Optional(Some(inner)) => print_value(name, inner, out),
        Bounded::Optional(None) => Ok(writeln!(out, "{name}: absent")?),
        _ => Ok(writeln!(out, "{name}: undetermined")?),
    }
}

fn print_tensor(name: &str, t: &BoundedTensor, out: &mut dyn Write) -> Outcome {
    let undetermined = (0..t.len()).filter(|i| !t.determined(*i)).count();
    let errors = (0..t.len()).filter(|i| t.determined(*i)).map(|i| t.error(i));
    let greatest = errors.fold(0.0, f64::max);
    write!(out, "{name}: {}{:?}, off by at most {greatest:.3e}", t.dtype(), t.sizes())?;
    if undetermined > 0 {
        write!(out, ", {undetermined} of {} undetermined", t.len())?;
    }
    let shown: Vec<String> = (0..t.len().min(SHOWN)).map(|i| element(t, i)).collect();
    Ok(writeln!(out, " = [{}{}]", shown.join(", "), if t.len() > SHOWN { ", …" } else { "" })?)
}

fn element(t: &BoundedTensor, i: usize) -> String {
    if let Some(text) = t.text(i) {
        return format!("{text:?}");
    }
    if !t.determined(i) {
        let (low, high) = t.range(i);
        return format!("{low}..{high}");
    }
    match t.int(i) {
        Some(value) => value.to_string(),
        None if t.error(i) == 0.0 => t.value(i).to_string(),
        None => format!("{} ± {:.1e}", t.value(i), t.error(i)),
    }
}

fn value_json(value: &Bounded) -> Json {
    match value {
        Bounded::Tensor(t) => tensor_json(t),
        Bounded::Sequence(items) => Json::Array(items.iter().map(tensor_json).collect()),
        Bounded::Optional(Some(inner)) => value_json(inner),
        Bounded::Optional(None) => Json::Null,
        _ => json!("undetermined"),
    }
}

fn tensor_json(t: &BoundedTensor) -> Json {
    let elements: Vec<Json> = (0..t.len())
        .map(|i| match t.text(i) {
            Some(text) => json!(&**text),
            None => float_json(t.value(i)),
        })
        .collect();
    let errors: Vec<Json> = (0..t.len()).map(|i| float_json(t.error(i))).collect();
    let undetermined: Vec<usize> = (0..t.len()).filter(|i| !t.determined(*i)).collect();
    json!({
        "dtype": t.dtype().name(),
        "sizes": t.sizes(),
        "elements": elements,
        "errors": errors,
        "undetermined": undetermined,
    })
}
