//! Loops whose condition counts: they run a number of times that is known before.
//!
//! In: a loop without a limit, or with one besides, that carries a number, adds one to it, and goes on while that is less than another one
//! which stays. Out: how often it runs. Converters from TensorFlow write every recurrent layer so.

use super::control::Loop;
use crate::item::Item;
use crate::node::NodeCx;
use crate::open::{self, Element, origin};
use crate::proto::{GraphProto, NodeProto};
use lawson_graph::Dim;
use lawson_graph::op::CompareKind;

/// How far a name is followed.
const MAX_STEPS: usize = 16;

/// The node of a body that gives a name.
fn defining<'g>(body: &'g GraphProto, name: &str) -> Option<&'g NodeProto> {
    body.node.iter().find(|n| n.output.first().is_some_and(|o| o == name))
}

/// The name without conversions of it.
fn plain<'g>(body: &'g GraphProto, mut name: &'g str) -> &'g str {
    for _ in 0..MAX_STEPS {
        match defining(body, name) {
            Some(NodeProto { op_type: Some(op), input, .. })
                if matches!(op.as_str(), "Identity" | "Cast") && input.len() == 1 =>
            {
                name = &input[0];
            }
            _ => break,
        }
    }
    name
}

/// Which of the carried values a parameter of the body is.
fn carried(body: &GraphProto, name: &str) -> Option<usize> {
    body.input.iter().position(|i| i.name.as_deref() == Some(name))?.checked_sub(2)
}

/// What the body gives for a carried value.
fn next(body: &GraphProto, k: usize) -> Option<&str> {
    body.output.get(k + 1)?.name.as_deref()
}

/// A number that is the same in every iteration.
fn constant(cx: &NodeCx<'_, '_>, lp: &Loop<'_>, name: &str) -> Option<Dim> {
    let known = |item: Item| match item.dims() {
        Some(t) => t.dims.first().filter(|_| t.dims.len() == 1).cloned(),
        None => match origin(cx.b, item.as_value()?, 0) {
            Element::Known(dim) => Some(dim),
            Element::Computed(..) => None,
        },
    };
    if let Some(k) = carried(lp.body, name) {
        let stays = plain(lp.body, next(lp.body, k)?) == name;
        return if stays { known(Item::Value(*lp.carried.get(k)?)) } else { None };
    }
    if let Some(t) = lp.body.initializer.iter().find(|t| t.name.as_deref() == Some(name)) {
        return known(Item::Constant(cx.model.tensor(t).ok()?));
    }
    match defining(lp.body, name) {
        Some(NodeProto { op_type: Some(op), attribute, .. }) if op == "Constant" => {
            match attribute.as_slice() {
                [a] => known(Item::Constant(cx.model.tensor(a.t.as_ref()?).ok()?)),
                _ => None,
            }
        }
        Some(_) => None,
        None => known(cx.scope.find(name)?),
    }
}

/// How often a loop runs whose condition only counts.
pub(super) fn iterations(cx: &NodeCx<'_, '_>, lp: &Loop<'_>) -> Option<Dim> {
    let body = lp.body;
    let condition = plain(body, body.output.first()?.name.as_deref()?);
    let compared = defining(body, condition)?;
    let (counter, limit) = match (compared.op_type.as_deref()?, compared.input.as_slice()) {
        ("Less", [a, b]) | ("Greater", [b, a]) => (plain(body, a), plain(body, b)),
        _ => return None,
    };
    let sum = defining(body, counter).filter(|n| n.op_type.as_deref() == Some("Add"))?;
    let [a, b] = sum.input.as_slice() else { return None };
    let (slot, step) = match (carried(body, a), carried(body, b)) {
        (Some(k), _) if next(body, k).is_some_and(|n| plain(body, n) == counter) => (k, b),
        (_, Some(k)) if next(body, k).is_some_and(|n| plain(body, n) == counter) => (k, a),
        _ => return None,
    };
    let limit = constant(cx, lp, limit)?;
    let first = match origin(cx.b, *lp.carried.get(slot)?, 0) {
        Element::Known(dim) => dim,
        Element::Computed(..) => return None,
    };
    if !constant(cx, lp, step)?.is(1) {
        return None;
    }
    // The first iteration is let in by the condition that is given for it.
    let starts = match cx.has(1).then(|| cx.item(1)) {
        None => false,
        Some(Ok(item)) => match (item.constant(), item.as_value()) {
            (Some(t), _) if t.len() == 1 => {
                let is_less = cx.b.facts().is_positive(&(limit.clone() - first.clone()));
                is_less && t.int_at(0) != 0
            }
            (None, Some(v)) => match open::compared_sizes(cx.b, v)? {
                (CompareKind::Lt, a, b) | (CompareKind::Gt, b, a) => {
                    cx.b.facts().equal(&a, &first) && cx.b.facts().equal(&b, &limit)
                }
                _ => false,
            },
            _ => false,
        },
        Some(Err(_)) => false,
    };
    starts.then(|| (limit - first).max(&Dim::ZERO))
}
