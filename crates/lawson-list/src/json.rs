//! The JSON form of lists; `docs/list-front-end.md` describes it.
//!
//! Reading checks the form only. What the list says is checked by `validate`, whose errors name the same entries.

use crate::op::{Input, ListOp, Matrix};
use crate::random::{MAX_ELEMENTS_OF_FILE, RandomList, random_list_within};
use lawson_graph::{Code, Error, Place, Result, Source};
use serde_json::{Map, Value};
use std::fmt::Write;

/// The version of the form, the value of the key `lawson_list`.
const VERSION: u64 = 1;

/// Reads a list from its JSON form.
///
/// ```
/// let list = lawson_list::from_json(
///     r#"{"lawson_list": 1, "operators": [
///         {"op": "HostToDevice", "input": {"rows": 8, "cols": 2}},
///         {"op": "LinearRelu", "weights": [[1, 2, 3], [4, 5, 6]], "bias": [0.5, 0, -0.5]},
///         {"op": "DeviceToHost"}]}"#,
/// )?;
/// assert_eq!(list.len(), 3);
/// # Ok::<(), lawson_graph::Error>(())
/// ```
pub fn from_json(text: &str) -> Result<Vec<ListOp>> {
    let value: Value = serde_json::from_str(text).map_err(|e| syntax(text, &e))?;
    let Value::Object(mut top) = value else {
        return Err(format_error("expected an object with the key `lawson_list`"));
    };
    match top.remove("lawson_list").as_ref().and_then(Value::as_u64) {
        Some(VERSION) => {}
        Some(other) => {
            return Err(Error::new(
                Code::Version,
                format!("lists of version {other} are not known, only {VERSION}"),
            ));
        }
        None => return Err(format_error("the key `lawson_list` is missing or is not a version number")),
    }
    let random = top.remove("random");
    let operators = top.remove("operators");
    no_more_keys(&top)?;
    match (operators, random) {
        (Some(Value::Array(entries)), None) => entries
            .into_iter()
            .enumerate()
            .map(|(index, entry)| {
                let name = entry.get("op").and_then(Value::as_str).unwrap_or("?").to_string();
                read_entry(entry).map_err(|e| e.at(Place::ListEntry { index, op: name }))
            })
            .collect(),
        (None, Some(Value::Object(wanted))) => {
            random_list_within(&read_random(wanted)?, MAX_ELEMENTS_OF_FILE)
        }
        _ => Err(format_error("expected either `operators`, an array, or `random`, an object")),
    }
}

/// Writes a list in its JSON form, every element so that it reads back as the same f32 (of NaN, the payload is lost).
pub fn to_json(list: &[ListOp]) -> String {
    let mut out = format!("{{\"lawson_list\": {VERSION}, \"operators\": [");
    for (i, op) in list.iter().enumerate() {
        let _ = write!(out, "{}\n  {{\"op\": \"{}\"", if i > 0 { "," } else { "" }, op.name());
        match op {
            ListOp::HostToDevice { input: Input::Data(matrix) } => write_matrix(&mut out, "input", matrix),
            ListOp::HostToDevice { input: Input::Shape { rows, cols } } => {
                let _ = write!(out, ", \"input\": {{\"rows\": {rows}, \"cols\": {cols}}}");
            }
            ListOp::Linear { weights, bias }
            | ListOp::LinearRelu { weights, bias }
            | ListOp::LinearReluSoftmax { weights, bias } => {
                write_matrix(&mut out, "weights", weights);
                write_matrix(&mut out, "bias", bias);
            }
            ListOp::Relu | ListOp::Softmax | ListOp::DeviceToHost => {}
        }
        out.push('}');
    }
    out.push_str("\n]}\n");
    out
}

fn write_matrix(out: &mut String, key: &str, matrix: &Matrix) {
    let Matrix { rows, cols, data } = matrix;
    let _ = write!(out, ", \"{key}\": {{\"rows\": {rows}, \"cols\": {cols}, \"data\": [");
    for (i, element) in data.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        let _ = match element {
            e if e.is_nan() => write!(out, "\"nan\""),
            e if e.is_infinite() => write!(out, "\"{}inf\"", if *e < 0.0 { "-" } else { "" }),
            // The shortest digits, unless reading them as f64 first would round to another f32.
            e => match format!("{e:?}") {
                digits if digits.parse::<f64>().map(|d| d as f32) == Ok(*e) => write!(out, "{digits}"),
                _ => write!(out, "{:?}", f64::from(*e)),
            },
        };
    }
    out.push_str("]}");
}

fn syntax(text: &str, error: &serde_json::Error) -> Error {
    let line = error.line().max(1);
    let source = Source {
        file: None,
        line,
        column: error.column().max(1),
        length: 1,
        text: text.lines().nth(line - 1).unwrap_or("").to_string(),
    };
    // The position follows the message in serde_json's own text; here it is the place.
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or("");
    Error::new(Code::FileFormat, format!("not JSON: {message}")).at(Place::Source(Box::new(source)))
}

fn format_error(message: impl Into<String>) -> Error {
    Error::new(Code::FileFormat, message).help("docs/list-front-end.md describes the JSON form of lists")
}

fn no_more_keys(map: &Map<String, Value>) -> Result<()> {
    match map.keys().next() {
        Some(key) => Err(format_error(format!("the key `{key}` is not known here"))),
        None => Ok(()),
    }
}

fn read_entry(entry: Value) -> Result<ListOp> {
    let Value::Object(mut map) = entry else {
        return Err(format_error("an entry is an object with the key `op`"));
    };
    let Some(Value::String(name)) = map.remove("op") else {
        return Err(format_error("an entry needs the key `op`, the operator's name"));
    };
    let mut matrix = |key: &str| match map.remove(key) {
        Some(value) => read_matrix(value).map_err(|e| prefix(key, e)),
        None => Err(format_error(format!("`{name}` needs the key `{key}`"))),
    };
    let op = match name.as_str() {
        "HostToDevice" => match matrix("input")? {
            Read::Matrix(matrix) => ListOp::HostToDevice { input: Input::Data(matrix) },
            Read::Shape { rows, cols } => ListOp::HostToDevice { input: Input::Shape { rows, cols } },
        },
        "Linear" => ListOp::Linear { weights: matrix("weights")?.filled()?, bias: matrix("bias")?.filled()? },
        "LinearRelu" => {
            ListOp::LinearRelu { weights: matrix("weights")?.filled()?, bias: matrix("bias")?.filled()? }
        }
        "LinearReluSoftmax" => ListOp::LinearReluSoftmax {
            weights: matrix("weights")?.filled()?,
            bias: matrix("bias")?.filled()?,
        },
        "Relu" => ListOp::Relu,
        "Softmax" => ListOp::Softmax,
        "DeviceToHost" => ListOp::DeviceToHost,
        other => {
            return Err(Error::new(Code::UnknownName, format!("there is no list operator `{other}`")).help(
                "they are HostToDevice, Linear, Relu, Softmax, LinearRelu, LinearReluSoftmax, DeviceToHost",
            ));
        }
    };
    no_more_keys(&map)?;
    Ok(op)
}

/// A matrix as read: with elements or, for an input, without.
enum Read {
    Matrix(Matrix),
    Shape { rows: usize, cols: usize },
}

impl Read {
    fn filled(self) -> Result<Matrix> {
        match self {
            Read::Matrix(matrix) => Ok(matrix),
            Read::Shape { .. } => Err(format_error("weights and biases need `data` or `random`")),
        }
    }
}

fn read_matrix(value: Value) -> Result<Read> {
    let mut map = match value {
        Value::Array(rows) => return read_rows(rows).map(Read::Matrix),
        Value::Object(map) => map,
        _ => return Err(format_error("expected rows of numbers, or an object with `rows` and `cols`")),
    };
    let (rows, cols) = (size(&mut map, "rows")?, size(&mut map, "cols")?);
    let (data, random) = (map.remove("data"), map.remove("random"));
    no_more_keys(&map)?;
    match (data, random) {
        (None, None) => Ok(Read::Shape { rows, cols }),
        (Some(Value::Array(elements)), None) => {
            let data = elements.iter().map(element).collect::<Result<Vec<f32>>>()?;
            Ok(Read::Matrix(Matrix { rows, cols, data }))
        }
        (None, Some(seed)) => {
            let seed = seed.as_u64().ok_or_else(|| format_error("`random` is a seed, a whole number"))?;
            match rows.checked_mul(cols) {
                Some(n) if n <= MAX_ELEMENTS_OF_FILE => Ok(Read::Matrix(Matrix::random(rows, cols, seed))),
                _ => Err(Error::new(Code::Budget, format!("a random matrix of {rows}×{cols} is too large"))),
            }
        }
        _ => Err(format_error("expected either `data`, an array of numbers, or `random`, a seed")),
    }
}

/// An array of rows, or of the numbers of one row.
fn read_rows(rows: Vec<Value>) -> Result<Matrix> {
    if rows.iter().all(|r| !r.is_array()) {
        let data = rows.iter().map(element).collect::<Result<Vec<f32>>>()?;
        return Ok(Matrix { rows: 1, cols: data.len(), data });
    }
    let mut matrix = Matrix { rows: rows.len(), cols: 0, data: Vec::new() };
    for (i, row) in rows.iter().enumerate() {
        let Value::Array(elements) = row else {
            return Err(format_error(format!("row {i} is not an array, but others are")));
        };
        if i == 0 {
            matrix.cols = elements.len();
        } else if elements.len() != matrix.cols {
            return Err(Error::new(
                Code::ListData,
                format!("row {i} has {} elements, row 0 has {}", elements.len(), matrix.cols),
            ));
        }
        for e in elements {
            matrix.data.push(element(e)?);
        }
    }
    Ok(matrix)
}

fn element(value: &Value) -> Result<f32> {
    let number = match value {
        Value::Number(n) => n.as_f64(),
        Value::String(s) => match s.as_str() {
            "nan" => return Ok(f32::NAN),
            "inf" => return Ok(f32::INFINITY),
            "-inf" => return Ok(f32::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    };
    match number.map(|n| n as f32) {
        Some(n) if n.is_finite() => Ok(n),
        Some(_) => Err(Error::new(Code::Literal, format!("{value} is too large for f32"))
            .help("write \"inf\" where an infinity is meant")),
        None => {
            Err(format_error(format!("expected a number, \"nan\", \"inf\" or \"-inf\", found {value:.40}")))
        }
    }
}

fn size(map: &mut Map<String, Value>, key: &str) -> Result<usize> {
    let value = map.remove(key).ok_or_else(|| format_error(format!("the key `{key}` is missing")))?;
    whole(key, &value)
}

fn whole(key: &str, value: &Value) -> Result<usize> {
    value
        .as_u64()
        .and_then(|n| usize::try_from(n).ok())
        .ok_or_else(|| format_error(format!("`{key}` is a whole number that is not negative")))
}

fn read_random(mut map: Map<String, Value>) -> Result<RandomList> {
    let mut wanted = RandomList {
        depth: size(&mut map, "depth")?,
        size: size(&mut map, "size")?,
        ..RandomList::default()
    };
    if let Some(batch) = map.remove("batch") {
        wanted.batch = whole("batch", &batch)?;
    }
    if let Some(seed) = map.remove("seed") {
        wanted.seed = seed.as_u64().ok_or_else(|| format_error("`seed` is a whole number"))?;
    }
    if let Some(softmax) = map.remove("softmax") {
        wanted.softmax = softmax.as_bool().ok_or_else(|| format_error("`softmax` is true or false"))?;
    }
    no_more_keys(&map)?;
    Ok(wanted)
}

fn prefix(key: &str, error: Error) -> Error {
    let mut renamed = Error::new(error.code(), format!("`{key}`: {}", error.message()));
    for place in error.places() {
        renamed = renamed.at(place.clone());
    }
    match error.help_text() {
        Some(help) => renamed.help(help),
        None => renamed,
    }
}
