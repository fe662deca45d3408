//! Values in `run` directives: written as constants are, sizes read off the brackets.

use lawson_graph::{DType, HostTensor, Type, Value};

/// Reads values separated by `;`, one for each type.
pub fn read_all(text: &str, types: &[Type]) -> Result<Vec<Value>, String> {
    let parts: Vec<&str> =
        if types.is_empty() { Vec::new() } else { text.split(';').map(str::trim).collect() };
    if parts.len() != types.len() {
        return Err(format!("{} values for {} inputs in `{text}`", parts.len(), types.len()));
    }
    parts.iter().zip(types).map(|(part, ty)| read(part, ty)).collect()
}

fn read(text: &str, ty: &Type) -> Result<Value, String> {
    let Type::Tensor(t) = ty else { return Err(format!("run directives take tensors, not {ty}")) };
    let mut sizes = Vec::new();
    let mut elements = Vec::new();
    nested(text, 0, &mut sizes, &mut elements)?;
    // `[]` says neither sizes nor rank; the declared constant dimensions do.
    if elements.is_empty() {
        sizes = t.shape.iter().map(|d| d.as_const().unwrap_or(0) as usize).collect();
    }
    let dtype = t.dtype;
    let number = |e: &String| match e.as_str() {
        "true" => Ok(1.0),
        "false" => Ok(0.0),
        e => e.parse::<f64>().map_err(|_| format!("`{e}` is not a number")),
    };
    let tensor = if dtype == DType::Str {
        HostTensor::from_text(&sizes, elements.iter().map(|e| e.trim_matches('"').into()).collect())
    } else if dtype.is_float() {
        HostTensor::from_floats(dtype, &sizes, &elements.iter().map(number).collect::<Result<Vec<_>, _>>()?)
    } else {
        let ints: Result<Vec<i128>, String> =
            elements.iter().map(|e| e.parse::<i128>().or_else(|_| number(e).map(|n| n as i128))).collect();
        HostTensor::from_ints(dtype, &sizes, &ints?)
    };
    tensor.map(Value::Tensor).map_err(|e| format!("`{text}`: {e}"))
}

fn nested(
    text: &str,
    depth: usize,
    sizes: &mut Vec<usize>,
    elements: &mut Vec<String>,
) -> Result<(), String> {
    let text = text.trim();
    let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) else {
        elements.push(text.to_string());
        return Ok(());
    };
    let items = split_top(inner);
    if depth == sizes.len() {
        sizes.push(items.len());
    } else if sizes[depth] != items.len() {
        return Err(format!("ragged brackets in `{text}`"));
    }
    items.iter().try_for_each(|item| nested(item, depth + 1, sizes, elements))
}

/// Splits at commas that stand in no inner bracket.
fn split_top(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        items.push(&text[start..]);
    }
    items
}

/// Writes values separated by `;`.
pub fn write_all(values: &[Value]) -> Result<String, String> {
    let written: Result<Vec<String>, String> = values
        .iter()
        .map(|v| match v {
            Value::Tensor(t) => Ok(write(t, t.sizes(), 0)),
            other => Err(format!("run directives give tensors, not {other:?}")),
        })
        .collect();
    Ok(written?.join("; "))
}

fn write(t: &HostTensor, sizes: &[usize], offset: usize) -> String {
    let Some((first, rest)) = sizes.split_first() else { return element(t, offset) };
    let stride: usize = rest.iter().product();
    let items: Vec<String> = (0..*first).map(|i| write(t, rest, offset + i * stride)).collect();
    format!("[{}]", items.join(", "))
}

fn element(t: &HostTensor, i: usize) -> String {
    match t.dtype() {
        DType::Str => format!("{:?}", t.text()[i]),
        DType::Bool => (t.int_at(i) != 0).to_string(),
        DType::F32 => format!("{}", t.float_at(i) as f32),
        d if d.is_float() => format!("{}", t.float_at(i)),
        _ => t.int_at(i).to_string(),
    }
}
