//! State that only grows: a loop that carries a tensor, and does nothing with it but put something behind it, stacks what it puts there.
//!
//! In: the body of such a loop. Out: a body without that state, which gives the parts instead, so that it can be a `scan`; and after the loop,
//! all parts behind what the state was before. Frameworks write the collecting of results in that way, because their lists have no other.

use crate::node::{NodeCx, checked};
use crate::proto::{AttributeProto, GraphProto, NodeProto};
use crate::tensor;
use lawson_graph::{Builder, DType, Dim, Result, Shape, ValueId};
use std::collections::HashSet;

/// The most nodes that lead from a state to the concat.
const MAX_BETWEEN: usize = 8;

/// A carried value that only grows.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    /// Which of the carried values it is.
    pub(super) carried: usize,
    axis: usize,
    /// What it is before the loop.
    first: ValueId,
    shape: Shape,
}

/// A body without the states that only grow; its last results are what they grow by.
pub(super) struct Grown {
    pub(super) body: GraphProto,
    pub(super) growths: Vec<Growth>,
}

/// Takes the states that only grow out of a body; `None` if there are none.
pub(super) fn without(cx: &NodeCx<'_, '_>, body: &GraphProto, carried: &[ValueId]) -> Result<Option<Grown>> {
    let (mut gone, mut growths, mut parts) = (HashSet::new(), Vec::new(), Vec::new());
    for (k, first) in carried.iter().enumerate() {
        let (dtype, shape) = (cx.b.dtype(*first)?, cx.b.shape(*first)?);
        let Some(found) = growing(body, k, dtype) else { continue };
        let Ok(axis) = cx.axis(found.axis, shape.rank()) else { continue };
        gone.extend(found.nodes);
        parts.push(found.part);
        growths.push(Growth { carried: k, axis, first: *first, shape });
    }
    if growths.is_empty() {
        return Ok(None);
    }
    let grows = |k: usize| growths.iter().any(|g| g.carried == k);
    let mut made = body.clone();
    let kept = |from: usize, i: usize| i < from || !grows(i - from);
    let mut at = 0..;
    made.input.retain(|_| kept(2, at.next().unwrap_or_default()));
    let mut at = 0..;
    made.output.retain(|_| kept(1, at.next().unwrap_or_default()));
    let mut at = 0..;
    made.node.retain(|_| !gone.contains(&at.next().unwrap_or_default()));
    let named = |name: String| crate::proto::ValueInfoProto { name: Some(name), ..Default::default() };
    made.output.extend(parts.into_iter().map(named));
    Ok(Some(Grown { body: made, growths }))
}

/// How a carried value grows.
struct Found {
    part: String,
    axis: i64,
    /// The nodes of the body that are there for it alone.
    nodes: Vec<usize>,
}

fn growing(body: &GraphProto, carried: usize, dtype: DType) -> Option<Found> {
    let state = body.input.get(carried + 2)?.name.as_deref()?;
    let result = body.output.get(carried + 1)?.name.as_deref()?;
    // From the state on, through what changes nothing, to the concat.
    let (mut name, mut nodes) = (state, Vec::new());
    for _ in 0..MAX_BETWEEN {
        let mut users = body.node.iter().enumerate().filter(|(_, n)| uses(n, name) > 0);
        let (at, node) = users.next()?;
        if users.next().is_some()
            || uses(node, name) > 1
            || body.output.iter().any(|o| o.name.as_deref() == Some(name))
        {
            return None;
        }
        nodes.push(at);
        let attribute = |name: &str| node.attribute.iter().find(|a| a.name.as_deref() == Some(name));
        match node.op_type.as_deref()? {
            "Identity" => {}
            "Cast" if attribute("to").and_then(dtype_of) == Some(dtype) => {}
            "Concat"
                if node.input.len() == 2
                    && node.input[0] == name
                    && node.output.first().is_some_and(|o| o == result) =>
            {
                let elsewhere = body.node.iter().any(|n| uses(n, result) > 0);
                let outputs = body.output.iter().filter(|o| o.name.as_deref() == Some(result)).count();
                if elsewhere || outputs > 1 {
                    return None;
                }
                let axis = attribute("axis").map(|a| a.i.unwrap_or(0))?;
                return Some(Found { part: node.input[1].clone(), axis, nodes });
            }
            _ => return None,
        }
        name = node.output.first()?;
    }
    None
}

fn dtype_of(attribute: &AttributeProto) -> Option<DType> {
    tensor::dtype(i32::try_from(attribute.i?).ok()?).ok()
}

/// How often a node, its bodies included, uses a name.
fn uses(node: &NodeProto, name: &str) -> usize {
    let within = |g: &GraphProto| {
        let given = g.output.iter().filter(|o| o.name.as_deref() == Some(name)).count();
        given + g.node.iter().map(|n| uses(n, name)).sum::<usize>()
    };
    let bodies = node.attribute.iter().filter_map(|a| a.g.as_ref());
    node.input.iter().filter(|i| *i == name).count() + bodies.map(within).sum::<usize>()
}

impl Growth {
    /// What the state grows by, as large as the state is along other axes. Where that does not follow from what is known, it is checked when
    /// the model runs.
    pub(super) fn fitted(&self, b: &mut Builder<'static>, part: ValueId) -> Result<ValueId> {
        let shape = b.shape(part)?;
        if shape.rank() != self.shape.rank() {
            return Ok(part);
        }
        let mut dims = shape.to_vec();
        for (i, dim) in dims.iter_mut().enumerate().filter(|(i, _)| *i != self.axis) {
            if !b.facts().equal(dim, &self.shape[i]) {
                *dim = self.shape[i].clone();
            }
        }
        if *shape == *dims {
            return Ok(part);
        }
        checked(b, part, &dims)
    }

    /// The state after the loop, from the parts of all iterations along a new first axis.
    pub(super) fn finish(&self, b: &mut Builder<'static>, parts: ValueId) -> Result<ValueId> {
        let shape = b.shape(parts)?;
        // The iterations go where the state grows.
        let mut perm: Vec<usize> = (1..shape.rank()).collect();
        perm.insert(self.axis, 0);
        let moved = b.transpose(parts, &perm)?;
        let mut dims = shape[1..].to_vec();
        dims[self.axis] = dims[self.axis].clone() * shape[0].clone();
        let grown = b.reshape(moved, Shape::from(dims))?;
        match b.facts().equal(&self.shape[self.axis], &Dim::ZERO) {
            true => Ok(grown),
            false => b.concat(&[self.first, grown], self.axis),
        }
    }
}
