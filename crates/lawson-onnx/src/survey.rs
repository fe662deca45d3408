//! What a model needs that Lawson does not have: all of it at once, before anything is built.
//!
//! In: the model. Out: one error that lists every unknown operator with its domain, its version and the nodes that use it.

use crate::decode::{Opsets, canonical_domain};
use crate::import::Functions;
use crate::op::{lookup, since};
use crate::proto::{GraphProto, ModelProto, NodeProto};
use lawson_graph::{Code, Error, Result, nearest};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How many nodes are named for each operator.
const SHOWN: usize = 3;

/// An operator that is not known: domain, name, version of the domain that the model imports.
type Unknown<'m> = (&'m str, &'m str, Option<i64>);

/// Refuses a model with unknown operators.
pub(crate) fn check(graph: &GraphProto, opsets: &Opsets, functions: &Functions<'_>) -> Result<()> {
    let mut unknown: BTreeMap<Unknown<'_>, Vec<&NodeProto>> = BTreeMap::new();
    nodes(&graph.node, opsets, functions, &mut unknown);
    for function in functions.all() {
        nodes(&function.proto.node, &function.opsets, functions, &mut unknown);
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let count = unknown.len();
    let mut message = format!(
        "the model uses {count} operator{} that Lawson does not import:",
        if count == 1 { "" } else { "s" }
    );
    for ((domain, name, version), nodes) in &unknown {
        let spelled = if domain.is_empty() { "ai.onnx" } else { domain };
        let version = version.map_or("no version imported".to_string(), |v| format!("version {v}"));
        let hint = match since(domain, name) {
            Some(first) => format!(", which has it from version {first} on"),
            None => nearest(name, crate::op::operators(domain))
                .map_or_else(String::new, |near| format!(", which has `{near}`")),
        };
        let named: Vec<String> = nodes.iter().take(SHOWN).map(|n| format!("`{}`", node_name(n))).collect();
        let more = match nodes.len().saturating_sub(SHOWN) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let what = if name.is_empty() { "an empty `op_type`".to_string() } else { format!("`{name}`") };
        let _ = write!(message, "\n  {what} of {spelled} ({version}){hint}: node {}{more}", named.join(", "));
    }
    Err(Error::new(Code::OnnxUnsupported, message)
        .help("simplify the model, export it at another opset, or ask for the operators"))
}

/// The operators that a model uses: domain and name.
pub(crate) fn operators(model: &ModelProto) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    every_node(model, |node| {
        let domain = canonical_domain(node.domain.as_deref()).to_string();
        found.insert((domain, node.op_type.clone().unwrap_or_default()));
    });
    found
}

/// How many nodes a model's file has.
pub(crate) fn nodes_of(model: &ModelProto) -> usize {
    let mut count = 0;
    every_node(model, |_| count += 1);
    count
}

/// Calls `visit` with the nodes of a model, those of its functions and of all bodies.
fn every_node(model: &ModelProto, mut visit: impl FnMut(&NodeProto)) {
    let mut open: Vec<&NodeProto> = model.graph.iter().flat_map(|g| &g.node).collect();
    open.extend(model.functions.iter().flat_map(|f| &f.node));
    while let Some(node) = open.pop() {
        visit(node);
        open.extend(node.attribute.iter().filter_map(|a| a.g.as_ref()).flat_map(|g| &g.node));
    }
}

/// The name of a node: its own, or that of its first result.
pub(crate) fn node_name(node: &NodeProto) -> &str {
    let own = node.name.as_deref().filter(|n| !n.is_empty());
    own.or(node.output.first().map(String::as_str)).unwrap_or("-")
}

fn nodes<'m>(
    list: &'m [NodeProto],
    opsets: &Opsets,
    functions: &Functions<'_>,
    unknown: &mut BTreeMap<Unknown<'m>, Vec<&'m NodeProto>>,
) {
    for node in list {
        let domain = canonical_domain(node.domain.as_deref());
        let name = node.op_type.as_deref().unwrap_or_default();
        let version = opsets.version(domain);
        let known =
            functions.find(node).is_some() || version.is_some_and(|v| lookup(domain, name, v).is_some());
        if !known {
            unknown.entry((domain, name, version)).or_default().push(node);
        }
        for body in node.attribute.iter().filter_map(|a| a.g.as_ref()) {
            nodes(&body.node, opsets, functions, unknown);
        }
    }
}
