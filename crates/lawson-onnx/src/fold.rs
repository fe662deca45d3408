//! Nodes whose operands are all small constants, computed when the model is imported.
//!
//! Shapes, axes and sizes must be known, and a model may compute them from constants with any operators. So such a node is
//! built into a graph of its own and run by the reference interpreter. Large tensors are left to the passes.

use crate::item::{Item, MAX_KNOWN};
use crate::node::NodeCx;
use crate::op::Build;
use crate::scope::Scope;
use lawson_graph::{Builder, HostTensor, interp};

/// The most steps of the interpreter for one node: some hundredths of a second.
const MAX_STEPS: u64 = 20_000;

/// The most bytes that a node may take.
const MAX_BYTES: u64 = 16 << 20;

/// The node's results as constants; `None` if the node must be built, which also gives any error its place.
pub(crate) fn constants(cx: &NodeCx<'_, '_>, build: Build) -> Option<Vec<Item>> {
    with(cx, build, |_, item| item.constant().cloned())
}

/// The node's results as constants, where `operand` gives a tensor for each operand, by number and by what it is.
pub(crate) fn with(
    cx: &NodeCx<'_, '_>,
    build: Build,
    mut operand: impl FnMut(usize, &Item) -> Option<HostTensor>,
) -> Option<Vec<Item>> {
    let names = || cx.node.input.iter().enumerate().filter(|(_, n)| !n.is_empty());
    let has_body = cx.node.attribute.iter().any(|a| a.g.is_some());
    if has_body || names().next().is_none() {
        return None;
    }
    let mut elements = 0usize;
    let mut scope = Scope::default();
    for (i, name) in names() {
        let constant = operand(i, &cx.scope.find(name)?)?;
        elements += constant.len();
        if elements > MAX_KNOWN {
            return None;
        }
        // An operand may be used twice.
        if scope.find(name).is_none() {
            scope.define(name, Item::Constant(constant)).ok()?;
        }
    }
    let mut b = Builder::new("fold");
    let mut inner = NodeCx::new(&mut b, &mut scope, cx.model, cx.node, cx.version, cx.depth);
    let items = build(&mut inner).ok()?;
    inner.finish().ok()?;
    let mut computed = Vec::new();
    for item in &items {
        if let Item::Value(v) = item {
            // A size that is data is known after the run.
            if let Some(sizes) = b.shape(*v).ok()?.as_const() {
                sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s)).filter(|n| *n <= MAX_KNOWN)?;
            }
            b.output(&computed.len().to_string(), *v).ok()?;
            computed.push(*v);
        }
    }
    let graph = b.finish().ok()?;
    let host = crate::host::host_functions();
    let options = interp::Options { max_steps: MAX_STEPS, max_bytes: MAX_BYTES, host, flushes: false };
    let mut values = interp::run(&graph, &[], &options).ok()?.into_iter();
    let mut results = Vec::with_capacity(items.len());
    for item in items {
        results.push(match item {
            Item::Value(_) => {
                let tensor = values.next()?.as_tensor().filter(|t| t.len() <= MAX_KNOWN)?.clone();
                Item::Constant(tensor)
            }
            Item::Constant(_) | Item::Dims(_) => item,
            // Lists would hold values of a graph that is gone.
            _ => return None,
        });
    }
    Some(results)
}
