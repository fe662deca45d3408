//! What to do about an error of a node, in the words of the model.
//!
//! In: an error and its node. Out: the same error with a help. What the builder of graphs says is about Lawson's operators, which the
//! model does not have; so the node's own operands are named with their types. A help that the import itself gave stays.

use crate::decode::spelled;
use crate::node::NodeCx;
use lawson_graph::{Code, DType, Dim, Error, Place, Shape};

/// How many operands are named, and how long a name may be.
const SHOWN: usize = 4;
const LONGEST: usize = 60;

/// The error of a node of that domain with a remedy.
pub(crate) fn of_node(error: Error, cx: &NodeCx<'_, '_>, domain: &str) -> Error {
    let (op, version) = (cx.op(), cx.version);
    // What is wrong inside a body was said there.
    let is_inner = error.places().iter().any(|p| matches!(p, Place::Node { .. }));
    match error.code() {
        Code::OnnxModel => error.help(format!(
            "mend the node after the definition of `{op}` in version {version} of {}, or export the model anew",
            spelled(domain)
        )),
        Code::OnnxUnsupported => error.help(format!(
            "other forms of `{op}` are imported: fix open sizes (`--dim NAME=SIZE`), export the model at another opset, or replace the node"
        )),
        code => match advice(code) {
            Some(advice) if !is_inner => {
                let open = if is_about_open_sizes(&error, cx) { ", or fix open sizes (`--dim NAME=SIZE`)" } else { "" };
                with_help(&error, format!("{}{advice}{open}", given(cx)))
            }
            _ => error,
        },
    }
}

/// An error of a model with a remedy, where nothing nearer to its cause gave one.
pub(crate) fn of_model(error: Error) -> Error {
    match error.code() {
        Code::OnnxModel => {
            error.help("the file may be damaged, or come from a faulty exporter; export the model anew")
        }
        Code::OnnxUnsupported => error.help("export the model in another way, or replace what it uses"),
        _ => error,
    }
}

/// What to do about what the builder refuses.
fn advice(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::OperandKind => "give it values of the kind that it takes",
        Code::OperandDType => "insert a `Cast`",
        Code::OperandCount | Code::OperandRank => "mend the operands where the model is made",
        Code::DimMismatch => {
            "mend what does not fit where the model is made (sizes that broadcast are equal or 1)"
        }
        Code::ElementCount => {
            "mend the sizes, or the attributes that they follow from, where the model is made"
        }
        Code::Attribute | Code::OutOfBounds => "mend the attributes or constants that say sizes and axes",
        Code::DimOverflow => "no memory holds such a tensor; mend the sizes that it is asked for",
        Code::SubGraph => {
            "let bodies give as many values as are carried, of the same element types and shapes"
        }
        _ => return None,
    })
}

/// Whether the message mentions an open size of an operand.
fn is_about_open_sizes(error: &Error, cx: &NodeCx<'_, '_>) -> bool {
    let is_part_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let words: Vec<&str> = error.message().split(|c: char| !is_part_of_name(c)).collect();
    let is_mentioned = |d: &Dim| d.as_symbol().is_some_and(|s| words.contains(&s.to_string().as_str()));
    operands(cx).any(|(_, _, shape)| shape.iter().any(is_mentioned))
}

/// The operands that are tensors, each once.
fn operands<'c>(cx: &'c NodeCx<'_, '_>) -> impl Iterator<Item = (&'c str, DType, Shape)> {
    let names = cx.node.input.iter().enumerate();
    let names = names.filter(|(i, name)| !name.is_empty() && !cx.node.input[..*i].contains(name));
    names.filter_map(|(_, name)| {
        let (dtype, shape) = cx.scope.find(name)?.tensor_type(cx.b).ok()?;
        Some((name.as_str(), dtype, shape))
    })
}

/// The operands with their types.
fn given(cx: &NodeCx<'_, '_>) -> String {
    let mut shown: Vec<String> = operands(cx)
        .take(SHOWN)
        .map(|(name, dtype, shape)| {
            let name: String = name.chars().take(LONGEST).collect();
            format!("`{name}`: {dtype}{shape}")
        })
        .collect();
    match operands(cx).skip(SHOWN).count() {
        0 => {}
        more => shown.push(format!("{more} more")),
    }
    match shown.split_last() {
        None => String::new(),
        Some((last, [])) => format!("`{}` is given {last}; ", cx.op()),
        Some((last, rest)) => format!("`{}` is given {} and {last}; ", cx.op(), rest.join(", ")),
    }
}

/// The error with this help instead of its own.
fn with_help(error: &Error, help: String) -> Error {
    let plain = Error::new(error.code(), error.message());
    error.places().iter().cloned().fold(plain, Error::at).help(help)
}
