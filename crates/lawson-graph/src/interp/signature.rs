//! The signature at run time: values are checked against declared types, and symbols get their values from sizes.

use crate::dim::{Bindings, Dim};
use crate::dtype::DType;
use crate::error::{Code, Error, Place, Result, Side};
use crate::graph::Graph;
use crate::tensor::{HostTensor, Value};
use crate::types::{SequenceType, Shape, TensorType, Type};

/// A declared dimension, the size that came, and where.
pub(super) type Entry = (Dim, i64, String);

/// Checks inputs against the graph's signature and gives symbols their values.
pub fn bind(graph: &Graph, inputs: &[Value]) -> Result<Bindings> {
    let name = |i: usize| graph.inputs().get(i).map_or_else(|| i.to_string(), |v| graph.value_name(*v));
    let port = |i: usize| Place::Port { side: Side::Input, name: name(i) };
    let expected = graph.inputs().len();
    if inputs.len() < expected {
        let message = format!("`@{}` takes {expected} inputs, but {} came", graph.name(), inputs.len());
        return Err(Error::new(Code::InputMissing, message).at(port(inputs.len())));
    }
    if inputs.len() > expected {
        let message = format!("`@{}` takes {expected} inputs, but {} came", graph.name(), inputs.len());
        return Err(Error::new(Code::InputType, message));
    }
    let mut entries = Vec::new();
    for (i, (id, value)) in graph.inputs().iter().zip(inputs).enumerate() {
        collect(graph.ty(*id), value, &format!("`{}`", name(i)), &mut entries).map_err(|e| e.at(port(i)))?;
    }
    let bindings = Bindings::solve(&entries, graph.facts())?;
    for (i, (id, value)) in graph.inputs().iter().zip(inputs).enumerate() {
        check_sequences(graph.ty(*id), value, &format!("`{}`", name(i)), &bindings)
            .map_err(|e| e.at(port(i)))?;
    }
    Ok(bindings)
}

/// The same for inputs that are tensors, from their dtypes and sizes alone.
pub fn bind_sizes<'a>(
    graph: &Graph,
    inputs: impl ExactSizeIterator<Item = (DType, &'a [usize])>,
) -> Result<Bindings> {
    let expected = graph.inputs().len();
    if inputs.len() != expected {
        let message = format!("`@{}` takes {expected} inputs, but {} came", graph.name(), inputs.len());
        return Err(Error::new(Code::InputMissing, message));
    }
    let mut entries: Vec<Entry> = Vec::new();
    for (id, (dtype, sizes)) in graph.inputs().iter().zip(inputs) {
        let name = graph.value_name(*id);
        let Type::Tensor(ty) = graph.ty(*id) else {
            let message = format!("the input is {}, not a tensor", graph.ty(*id));
            return Err(Error::new(Code::InputType, message).at(Place::Port { side: Side::Input, name }));
        };
        if ty.dtype != dtype || ty.rank() != sizes.len() {
            let message = format!("expected {ty}, found {dtype}{sizes:?}");
            return Err(Error::new(Code::InputType, message).at(Place::Port { side: Side::Input, name }));
        }
        for (d, n) in ty.shape.iter().zip(sizes) {
            entries.push((d.clone(), i64::try_from(*n).unwrap_or(i64::MAX), format!("`{name}`")));
        }
    }
    Bindings::solve(&entries, graph.facts())
}

/// Checks kinds, dtypes and ranks, and lists the dimensions that sizes must meet. Open dimensions are not listed.
pub(super) fn collect(ty: &Type, value: &Value, place: &str, entries: &mut Vec<Entry>) -> Result<()> {
    match (ty, value) {
        (Type::Tensor(t), Value::Tensor(x)) => collect_tensor(t, x, place, entries, |_| false),
        (Type::Sequence(s), Value::Sequence(v)) => {
            for (i, x) in v.iter().enumerate() {
                let is_open = |d: &Dim| open_index(s, d).is_some();
                // An element of a rank that none has is refused for the type of most dimensions.
                let dims = s.dims_of_rank(x.sizes().len()).unwrap_or(&s.element.shape);
                let element = TensorType::new(s.element.dtype, Shape::from(dims));
                collect_tensor(&element, x, &format!("element {i} of {place}"), entries, is_open)?;
            }
            Ok(())
        }
        (Type::Optional(_), Value::Optional(None)) => Ok(()),
        (Type::Optional(t), Value::Optional(Some(x))) => collect(t, x, place, entries),
        _ => {
            let found = match value {
                Value::Tensor(t) => t.ty().to_string(),
                Value::Sequence(_) => "a sequence".to_string(),
                Value::Optional(_) => "an optional".to_string(),
            };
            Err(Error::new(Code::InputType, format!("{place} must be {ty}, but is {found}")))
        }
    }
}

fn collect_tensor(
    t: &TensorType,
    x: &HostTensor,
    place: &str,
    entries: &mut Vec<Entry>,
    is_open: impl Fn(&Dim) -> bool,
) -> Result<()> {
    if t.dtype != x.dtype() || t.rank() != x.sizes().len() {
        return Err(Error::new(Code::InputType, format!("{place} must be {t}, but is {}", x.ty())));
    }
    for (axis, (dim, size)) in t.shape.iter().zip(x.sizes()).enumerate() {
        if !is_open(dim) {
            let size = i64::try_from(*size).unwrap_or(i64::MAX);
            entries.push((dim.clone(), size, format!("axis {axis} of {place}")));
        }
    }
    Ok(())
}

fn open_index(s: &SequenceType, dim: &Dim) -> Option<usize> {
    (0..s.open.len()).find(|i| dim.as_symbol() == Some(&SequenceType::open_symbol(*i)))
}

/// Checks lengths and open dimensions of sequences against their bounds.
pub(super) fn check_sequences(ty: &Type, value: &Value, place: &str, bindings: &Bindings) -> Result<()> {
    match (ty, value) {
        (Type::Sequence(s), Value::Sequence(v)) => {
            let max = bindings.eval(&s.max_len)?;
            if v.len() as i128 > i128::from(max) {
                let message = format!("{place} has {} elements, but at most {max} fit", v.len());
                return Err(Error::new(Code::InputType, message));
            }
            for (i, x) in v.iter().enumerate() {
                let dims = s.dims_of_rank(x.sizes().len()).unwrap_or_default();
                for (axis, (dim, size)) in dims.iter().zip(x.sizes()).enumerate() {
                    let Some(open) = open_index(s, dim) else { continue };
                    let bound = bindings.eval(&s.open[open])?;
                    if *size as i128 > i128::from(bound) {
                        let message = format!(
                            "axis {axis} of element {i} of {place} is {size}, but at most {bound} fit"
                        );
                        return Err(Error::new(Code::InputType, message));
                    }
                }
            }
            Ok(())
        }
        (Type::Optional(t), Value::Optional(Some(x))) => check_sequences(t, x, place, bindings),
        _ => Ok(()),
    }
}
