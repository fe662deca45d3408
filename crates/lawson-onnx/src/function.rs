//! Calls of functions that the model itself defines: the function's nodes take the place of the call.
//!
//! A function sees nothing but its operands and attributes. An attribute of a node inside may refer to one of the call;
//! it is replaced by that, by the function's default, or left out.

use crate::import::{Function, MAX_DEPTH, Model, node as import_node, place};
use crate::item::Item;
use crate::proto::{AttributeProto, NodeProto};
use crate::scope::Scope;
use lawson_graph::{Builder, Code, Error, Result};

/// Adds the nodes of a function; returns what its results stand for.
pub(crate) fn inline(
    model: &Model<'_>,
    called: &Function<'_>,
    b: &mut Builder<'static>,
    scope: &mut Scope<'_>,
    call: &NodeProto,
    depth: usize,
) -> Result<Vec<Item>> {
    let function = called.proto;
    let name = function.name.as_deref().unwrap_or_default();
    if depth >= MAX_DEPTH {
        return Err(Error::new(
            Code::Budget,
            format!("calls of functions are nested more than {MAX_DEPTH} deep"),
        )
        .help("functions cannot call themselves"));
    }
    if call.input.len() > function.input.len() {
        let (takes, came) = (function.input.len(), call.input.len());
        return Err(Error::new(
            Code::OnnxModel,
            format!("the function `{name}` takes {takes} operands, but {came} came"),
        ));
    }
    let mut inner = Scope::default().with_stance(scope.stance);
    for (formal, actual) in function.input.iter().zip(&call.input).filter(|(_, actual)| !actual.is_empty()) {
        inner.define(formal, scope.get(actual)?)?;
    }
    let model = Model { opsets: &called.opsets, ..*model };
    for node in &function.node {
        let mut node = with_attributes(node, call, &function.attribute_proto, depth)?;
        // An operand that the call left out is absent inside too.
        for name in &mut node.input {
            if function.input.contains(name) && inner.find(name).is_none() {
                name.clear();
            }
        }
        import_node(&model, b, &mut inner, &node, depth + 1).map_err(|e| e.at(place(Some(name), &node)))?;
    }
    let result = |name: &String| {
        inner.find(name).ok_or_else(|| {
            Error::new(Code::OnnxModel, format!("nothing in the function defines its result `{name}`"))
        })
    };
    function.output.iter().map(result).collect()
}

/// The node with references to attributes of the call replaced, in its bodies too.
fn with_attributes(
    node: &NodeProto,
    call: &NodeProto,
    defaults: &[AttributeProto],
    depth: usize,
) -> Result<NodeProto> {
    if depth >= MAX_DEPTH {
        return Err(Error::new(Code::Budget, format!("bodies are nested more than {MAX_DEPTH} deep")));
    }
    let mut out = NodeProto { attribute: Vec::new(), ..node.clone() };
    for attribute in &node.attribute {
        let mut attribute = attribute.clone();
        if let Some(wanted) = attribute.ref_attr_name.take().filter(|n| !n.is_empty()) {
            let named = |a: &&AttributeProto| a.name.as_deref() == Some(wanted.as_str());
            let Some(given) = call.attribute.iter().find(named).or(defaults.iter().find(named)) else {
                continue;
            };
            attribute = AttributeProto { name: attribute.name, ..given.clone() };
        }
        if let Some(body) = &mut attribute.g {
            let inner = body.node.iter().map(|n| with_attributes(n, call, defaults, depth + 1));
            body.node = inner.collect::<Result<_>>()?;
        }
        out.attribute.push(attribute);
    }
    Ok(out)
}
