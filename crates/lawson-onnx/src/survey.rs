//! What a model needs that Lawson does not have: all of it at once, before anything is built.
//!
//! In: the model. Out: one error that lists every unknown operator with its domain, its version and the nodes that use it.

use crate::decode::{Opsets, canonical_domain, spelled};
use crate::import::{Functions, place};
use crate::op::{lookup, since};
use crate::proto::{GraphProto, ModelProto, NodeProto};
use crate::scope::MAX_NEAR;
use lawson_graph::{Code, Error, Result, nearest};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;

/// How many nodes are named for each operator.
const SHOWN: usize = 3;

/// Operators on blocks of channels, which ONNX Runtime writes at its highest level of optimisation. How large a block is depends on the
/// processor that wrote the file, and is not in it.
const BLOCKED: &str = "com.microsoft.nchwc";

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
        return bodies_know_their_names(graph, functions);
    }
    let count = unknown.len();
    let mut message = format!(
        "the model uses {count} operator{} that Lawson does not import:",
        if count == 1 { "" } else { "s" }
    );
    for ((domain, name, version), nodes) in &unknown {
        let spelled = spelled(domain);
        let version = version.map_or("no version imported".to_string(), |v| format!("version {v}"));
        let hint = match since(domain, name) {
            None if *domain == BLOCKED => String::new(),
            Some(first) => format!(", which has it from version {first} on"),
            None => match (elsewhere(domain, name), near_operator(domain, name)) {
                (Some(other), _) => format!(", but of {other} there is one"),
                (None, Some(near)) => format!(", which has `{near}`"),
                (None, None) => String::new(),
            },
        };
        let named: Vec<String> = nodes.iter().take(SHOWN).map(|n| format!("`{}`", node_name(n))).collect();
        let more = match nodes.len().saturating_sub(SHOWN) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let what = if name.is_empty() { "an empty `op_type`".to_string() } else { format!("`{name}`") };
        let _ = write!(message, "\n  {what} of {spelled} ({version}){hint}: node {}{more}", named.join(", "));
    }
    let is_blocked = unknown.keys().any(|(domain, ..)| *domain == BLOCKED);
    Err(Error::new(Code::OnnxUnsupported, message).help(if is_blocked {
        "ONNX Runtime has saved this model for one kind of processor, and the file does not say how its weights lie: \
         take the model from before, or save it with `graph_optimization_level = ORT_ENABLE_EXTENDED`"
    } else {
        "simplify the model, export it at another opset, or ask for the operators"
    }))
}

/// An operator of the domain that may be meant. A name of few letters is near to too many.
fn near_operator(domain: &str, name: &str) -> Option<&'static str> {
    nearest(name, crate::op::operators(domain)).filter(|_| name.len() > 3)
}

/// Refuses a body that uses a name which nothing defines. Nodes outside of bodies are all imported, and those of bodies are not where a
/// branch is never taken or a loop makes no iteration.
fn bodies_know_their_names(graph: &GraphProto, functions: &Functions<'_>) -> Result<()> {
    let mut around = vec![names(graph)];
    bodies(&graph.node, graph.name.as_deref(), &mut around)?;
    for function in functions.all() {
        let own = function.proto.input.iter().chain(function.proto.node.iter().flat_map(|n| &n.output));
        let name = function.proto.name.as_deref();
        bodies(&function.proto.node, name, &mut vec![own.map(String::as_str).collect()])?;
    }
    Ok(())
}

/// What a graph defines, wherever it does.
fn names(graph: &GraphProto) -> HashSet<&str> {
    let inputs = graph.input.iter().filter_map(|i| i.name.as_deref());
    let constants = graph.initializer.iter().filter_map(|t| t.name.as_deref());
    let sparse = graph.sparse_initializer.iter().filter_map(|t| t.values.as_ref()?.name.as_deref());
    let results = graph.node.iter().flat_map(|n| &n.output).map(String::as_str);
    inputs.chain(constants).chain(sparse).chain(results).collect()
}

fn bodies<'m>(list: &'m [NodeProto], of: Option<&str>, around: &mut Vec<HashSet<&'m str>>) -> Result<()> {
    for node in list {
        for body in node.attribute.iter().filter_map(|a| a.g.as_ref()) {
            around.push(names(body));
            let name = body.name.as_deref();
            body.node
                .iter()
                .try_for_each(|inner| knows_its_names(inner, around).map_err(|e| e.at(place(name, inner))))
                .and_then(|()| bodies(&body.node, name, around))
                .map_err(|e| e.at(place(of, node)))?;
            around.pop();
        }
    }
    Ok(())
}

fn knows_its_names(node: &NodeProto, around: &[HashSet<&str>]) -> Result<()> {
    let undefined = |name: &&String| !name.is_empty() && !around.iter().any(|s| s.contains(name.as_str()));
    let Some(name) = node.input.iter().find(undefined) else { return Ok(()) };
    let known = around.iter().flatten().copied().filter(|n| !n.is_empty() && n.len() <= MAX_NEAR);
    // Sets have no order; the message should.
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    let help = match nearest(name, known) {
        Some(near) => format!("there is `{near}`, which may be meant"),
        None => "nothing that the body can see has this name; part of the model may be missing".to_string(),
    };
    Err(Error::new(Code::OnnxModel, format!("nothing defines the value `{name}`")).help(help))
}

/// Another domain that has an operator of this name.
fn elsewhere(domain: &str, name: &str) -> Option<&'static str> {
    let mut others = crate::op::DOMAINS.iter().filter(|d| **d != domain);
    others.find(|d| since(d, name).is_some()).map(|d| spelled(d))
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
