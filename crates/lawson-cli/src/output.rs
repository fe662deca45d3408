//! What a run gave: summaries on the screen, NumPy files, graphs as text.

use crate::report::{Failure, Outcome};
use lawson::graph::{Graph, write_law};
use lawson::{Code, DType, Error, HostTensor, Result, Tensor, Value, npy, write_whole};
use serde_json::{Value as Json, json};
use std::io::Write;
use std::path::Path;

/// Constants of more elements than this go to a side file when a graph is written to a file.
const SIDE_FILE_ABOVE: usize = 1024;

/// How many elements a summary shows.
const SHOWN: usize = 8;

/// A file that outputs go to.
pub enum Destination<'a> {
    /// One output, to a `.npy` file.
    One(usize, &'a Path),
    /// All outputs, to an `.npz` file.
    All(&'a Path),
}

/// What the arguments say about outputs: NAME=FILE.npy, FILE.npz, or FILE.npy where there is one output.
pub fn destinations<'a>(names: &[String], specs: &'a [String]) -> Result<Vec<Destination<'a>>> {
    let destination = |spec: &'a String| {
        let named =
            spec.split_once('=').and_then(|(n, file)| Some((names.iter().position(|o| o == n)?, file)));
        match named {
            Some((i, file)) => Ok(Destination::One(i, Path::new(file))),
            None if spec.ends_with(".npz") => Ok(Destination::All(Path::new(spec))),
            None if spec.ends_with(".npy") && names.len() == 1 && !spec.contains('=') => {
                Ok(Destination::One(0, Path::new(spec)))
            }
            None => Err(Error::new(
                Code::Usage,
                format!("`--output {spec}` does not say which output goes where"),
            )
            .help(format!("write NAME=FILE.npy or FILE.npz; the outputs are: {}", names.join(", ")))),
        }
    };
    specs.iter().map(destination).collect()
}

/// Writes outputs to files.
pub fn write_files(names: &[String], values: &[Value], destinations: &[Destination<'_>]) -> Result<()> {
    for destination in destinations {
        match *destination {
            Destination::One(i, path) => npy::write(path, &tensor(&names[i], &values[i])?)?,
            Destination::All(path) => {
                let all = flatten(names, values);
                npy::write_npz(path, all.iter().map(|(n, t)| (n.as_str(), t)))?;
            }
        }
    }
    Ok(())
}

fn tensor(name: &str, value: &Value) -> Result<Tensor> {
    value.as_tensor().cloned().map(Tensor::from).ok_or_else(|| {
        Error::new(Code::OperandKind, format!("the output `{name}` is not a tensor"))
            .help("write all outputs to an .npz file: sequences become NAME.0, NAME.1, …")
    })
}

/// All tensors with names of their own: elements of sequences are numbered, absent optionals are left out.
fn flatten(names: &[String], values: &[Value]) -> Vec<(String, Tensor)> {
    fn visit(name: &str, value: &Value, all: &mut Vec<(String, Tensor)>) {
        match value {
            Value::Tensor(t) => all.push((name.to_string(), t.clone().into())),
            Value::Sequence(items) => {
                all.extend(items.iter().enumerate().map(|(i, t)| (format!("{name}.{i}"), t.clone().into())));
            }
            Value::Optional(Some(inner)) => visit(name, inner, all),
            _ => {}
        }
    }
    let mut all = Vec::new();
    names.iter().zip(values).for_each(|(name, value)| visit(name, value, &mut all));
    all
}

/// Prints a line for an output: type, range, first elements.
pub fn summary(out: &mut dyn Write, name: &str, value: &Value) -> Outcome {
    match value {
        Value::Tensor(t) => Ok(writeln!(out, "{name}: {}{}{}", t.ty(), range(t), elements(t))?),
        Value::Sequence(items) => {
            writeln!(out, "{name}: sequence of {}", items.len())?;
            let named = |i: usize| format!("  {name}.{i}");
            items.iter().enumerate().try_for_each(|(i, t)| summary(out, &named(i), &t.clone().into()))
        }
        Value::Optional(None) => Ok(writeln!(out, "{name}: absent")?),
        Value::Optional(Some(inner)) => summary(out, name, inner),
        _ => Err(Failure::Error(Error::internal(format!("the output `{name}` is of an unknown kind")))),
    }
}

fn range(t: &HostTensor) -> String {
    if t.is_empty() || !t.dtype().is_number() || t.len() == 1 {
        return String::new();
    }
    let (mut low, mut high, mut sum) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
    let mut nans = 0usize;
    for x in (0..t.len()).map(|i| t.float_at(i)) {
        if x.is_nan() {
            nans += 1;
        } else {
            (low, high, sum) = (low.min(x), high.max(x), sum + x);
        }
    }
    let nan = if nans > 0 { format!(", {nans} NaN") } else { String::new() };
    if nans == t.len() {
        return nan;
    }
    format!(", min {low:.6}, max {high:.6}, mean {:.6}{nan}", sum / (t.len() - nans) as f64)
}

/// The first elements, as text.
pub fn elements(t: &HostTensor) -> String {
    let shown: Vec<String> = (0..t.len().min(SHOWN)).map(|i| element(t, i)).collect();
    format!(" = [{}{}]", shown.join(", "), if t.len() > SHOWN { ", …" } else { "" })
}

fn element(t: &HostTensor, i: usize) -> String {
    match t.dtype() {
        DType::Bool => (t.int_at(i) != 0).to_string(),
        DType::F64 => t.float_at(i).to_string(),
        d if d.is_float() => (t.float_at(i) as f32).to_string(),
        DType::Str => format!("{:?}", t.text()[i]),
        _ => t.int_at(i).to_string(),
    }
}

/// A value as JSON: its type and all elements, row-major. NaN and infinities are strings.
pub fn value_json(value: &Value) -> Json {
    match value {
        Value::Tensor(t) => json!({
            "dtype": t.dtype().name(),
            "sizes": t.sizes(),
            "elements": (0..t.len()).map(|i| element_json(t, i)).collect::<Vec<Json>>(),
        }),
        Value::Sequence(items) => Json::Array(items.iter().map(|t| value_json(&t.clone().into())).collect()),
        Value::Optional(Some(inner)) => value_json(inner),
        _ => Json::Null,
    }
}

fn element_json(t: &HostTensor, i: usize) -> Json {
    match t.dtype() {
        DType::Bool => json!(t.int_at(i) != 0),
        DType::Str => json!(&*t.text()[i]),
        DType::U64 => json!(t.int_at(i) as u64),
        d if d.is_float() => float_json(t.float_at(i)),
        _ => json!(t.int_at(i) as i64),
    }
}

/// A number as JSON; NaN and infinities, which JSON does not have, as strings.
pub fn float_json(x: f64) -> Json {
    if x.is_finite() { json!(x) } else { json!(x.to_string().to_lowercase()) }
}

/// Prints a graph, or writes it to a file with its large constants beside it.
pub fn write_graph(out: &mut dyn Write, graph: &Graph, path: Option<&Path>) -> Outcome {
    match path {
        None => Ok(write!(out, "{graph}")?),
        // A pipe or a device can hold no second file.
        Some(path) if path.exists() && !path.is_file() => write_text(out, &graph.to_string(), Some(path)),
        Some(path) => Ok(write_law(path, graph, Some(SIDE_FILE_ABOVE))?),
    }
}

/// Prints a text, or writes it to a file.
pub fn write_text(out: &mut dyn Write, text: &str, path: Option<&Path>) -> Outcome {
    let Some(path) = path else { return Ok(out.write_all(text.as_bytes())?) };
    Ok(write_whole(path, |file| {
        file.write_all(text.as_bytes()).map_err(|e| {
            Error::new(Code::Io, format!("cannot write: {e}"))
                .at(lawson::Place::File(path.display().to_string()))
        })
    })?)
}
