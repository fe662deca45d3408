//! The nest of a group: loops over the elements of its outputs, with everything that they need inside.

use super::pattern::Patterns;
use super::walk::{Purpose, Source, Walk, name_of};
use super::{Answers, Lowered, Options, Rows};
use crate::buffer::{BufferId, Role};
use crate::build::store;
use crate::group::{Group, Refused};
use crate::hash::IdSet;
use crate::index::Index;
use crate::layout::Orders;
use crate::tree::{For, Kernel, Kind, Node as Tree};
use lawson_graph::{Def, Dim, Graph, NodeId, Op, TensorType, ValueId};
use std::rc::Rc;

pub(super) fn lower(
    graph: &Graph,
    group: &Group,
    options: &Options<'_>,
    answers: Rc<Answers>,
) -> Result<Lowered, Refused> {
    if group.outputs.is_empty() {
        return Err(Refused::Size { nodes: 0 });
    }
    let mut walk = Walk::new(graph, &group.nodes, Patterns::find(graph, group), answers);
    let as_typed = Orders::default();
    let orders = options.orders.unwrap_or(&as_typed);
    let mut inputs = group.inputs(graph);
    let twins = twins(graph, group, &inputs);
    for (n, v) in inputs.iter().chain(&twins).enumerate() {
        let ty = walk.ty(*v)?;
        let buffer = walk.kernel.input(&name_of(graph, *v), ty.dtype, &orders.stored(*v, &ty.shape));
        let order = orders.order(*v).map(<[usize]>::to_vec);
        let known = if n < inputs.len() { &mut walk.buffers } else { &mut walk.twins };
        known.insert(*v, Source { buffer, order });
    }
    inputs.extend(twins);
    let mut stages = Vec::with_capacity(group.outputs.len());
    for v in &group.outputs {
        let is_inside = |n: NodeId| walk.inside.contains(&n);
        // The same elements in another shape are the same bytes.
        let shaped = shaped(graph, *v, orders, &is_inside);
        let ty = walk.ty(shaped)?;
        let buffer = walk.kernel.output(&name_of(graph, *v), ty.dtype, &orders.stored(shaped, &ty.shape));
        for Piece { value, at } in pieces(graph, shaped, &is_inside) {
            let (dims, at) = (orders.stored(shaped, &walk.ty(value)?.shape), orders.stored(shaped, &at));
            stages.push(Stage { output: shaped, value, buffer, dims, at });
        }
    }
    // The stage with the most axes has the loops; the others fit into the outermost of them.
    let many = |dims: &[Dim]| dims.iter().filter(|d| !d.is(1)).cloned().collect();
    let mut order: Vec<(Vec<Dim>, usize)> =
        stages.iter().enumerate().map(|(i, s)| (many(&s.dims), i)).collect();
    order.sort_by_key(|(dims, i)| (dims.len(), *i));
    let Some((dims, widest)) = order.last().cloned() else { return Err(Refused::Size { nodes: 0 }) };
    for (own, i) in &order {
        if own.iter().zip(&dims).any(|(a, b)| !graph.facts().equal(a, b)) {
            let shown = |i: usize| {
                let v = stages[i].value;
                format!("`%{}: {}`", graph.value_name(v), graph.ty(v))
            };
            return Err(Refused::Spaces { first: shown(widest), other: shown(*i) });
        }
    }
    let mut axes: Vec<Index> = Vec::new();
    let mut running = None;
    let mut rest = order.iter().peekable();
    loop {
        while let Some((_, i)) = rest.next_if(|(own, _)| own.len() == axes.len()) {
            let Stage { output, value: v, buffer, ref dims, ref at } = stages[*i];
            let mut next = axes.iter();
            let along = |d: &Dim| match d.is(1) {
                true => Index::from(0),
                false => next.next().cloned().unwrap_or_else(|| Index::from(0)),
            };
            let place: Vec<Index> = dims.iter().map(along).collect();
            let index = orders.by_dim(output, &place);
            let (place, value) = match walk.node(v).map(|n| (n, &n.op)) {
                Some((node, Op::Cumulative(op))) => {
                    running = Some(node);
                    let place = |i: &[Index]| moved(orders.stored(output, i), at);
                    walk.running((v, node, op), index, buffer, &place)?
                }
                _ => {
                    walk.prepare(v, &index)?;
                    (moved(place, at), walk.value(v, index, &[])?)
                }
            };
            walk.put(store(buffer, place, value));
        }
        let Some(dim) = dims.get(axes.len()) else { break };
        let is_last_row = axes.len() + 2 == dims.len();
        axes.push(match options.rows {
            Rows::Blocks(rows) if is_last_row && rows > 0 => {
                let kind = Kind::Serial;
                let (begin, end) = (Index::from(0), Index::constant(dim.clone()));
                let axis = walk.open_range("block", begin, end.clone(), rows, kind, Purpose::Blocks);
                walk.open_block_rows(&(axis, rows, end))
            }
            _ => Index::axis(walk.open("i", dim.clone(), Purpose::Elements)),
        });
    }
    walk.close(1);
    if let Some(node) = running.filter(|_| has_scratch(&walk.kernel)) {
        return Err(
            walk.refuse(node, "its elements follow one another, and those beside it are shared among a team")
        );
    }
    let mut kernel = walk.kernel;
    kernel.body = walk.frames.pop().map_or_else(Vec::new, |f| f.nodes);
    mark_parallel(&mut kernel);
    Ok(Lowered { kernel, inputs, outputs: group.outputs.clone() })
}

/// The inputs that both factors of a product read, as the queries and keys of one projection: each factor has a buffer of its own then,
/// in which it may be laid out as the product wants it.
fn twins(graph: &Graph, group: &Group, inputs: &[ValueId]) -> Vec<ValueId> {
    let inside: IdSet<NodeId> = group.nodes.iter().copied().collect();
    let reads = |from: ValueId| {
        let (mut seen, mut open) = (IdSet::default(), vec![from]);
        while let Some(v) = open.pop() {
            if seen.insert(v)
                && let Def::Node(n, _) = graph.value(v).def
                && inside.contains(&n)
            {
                open.extend(&graph.node(n).inputs);
            }
        }
        seen
    };
    let is_constant = |v: ValueId| matches!(graph.defining(v).map(|n| &n.op), Some(Op::Constant(_)));
    let mut twins: Vec<ValueId> = Vec::new();
    for n in group.nodes.iter().map(|n| graph.node(*n)).filter(|n| matches!(n.op, Op::Contract(_))) {
        let (left, right) = (reads(n.inputs[0]), reads(n.inputs[1]));
        let both = |v: &&ValueId| left.contains(v) && right.contains(v) && !is_constant(**v);
        for v in inputs.iter().filter(both) {
            if !twins.contains(v) {
                twins.push(*v);
            }
        }
    }
    twins
}

/// What is stored in each iteration: elements of a value, which is an output or a part of one.
struct Stage {
    output: ValueId,
    value: ValueId,
    buffer: BufferId,
    /// Its dimensions and where it begins in the buffer, as that lies.
    dims: Vec<Dim>,
    at: Vec<Dim>,
}

/// A part of an output, and where it begins in it.
pub(crate) struct Piece {
    pub(crate) value: ValueId,
    at: Vec<Dim>,
}

/// What an output is a reshape of, if that is computed in the same kernel: its elements lie as those of the output do. Only where it lies in the order of
/// its type, as the output does.
pub(crate) fn shaped(
    graph: &Graph,
    v: ValueId,
    orders: &Orders,
    is_inside: &dyn Fn(NodeId) -> bool,
) -> ValueId {
    let mut v = v;
    while orders.order(v).is_none()
        && let Def::Node(n, _) = graph.value(v).def
        && is_inside(n)
        && let Op::Reshape(_) = graph.node(n).op
        && let operand = graph.node(n).inputs[0]
        && orders.order(operand).is_none()
        && matches!(graph.value(operand).def, Def::Node(m, _) if is_inside(m))
        && !graph.defining(operand).is_some_and(|n| matches!(n.op, Op::Constant(_)))
    {
        v = operand;
    }
    v
}

/// The most parts of an output that are computed side by side.
const MOST_PIECES: usize = 16;

/// The parts of an output: if it puts together values of one shape, these, which are then computed in the same loops and stored each
/// in its place, so that what they have in common is computed once; otherwise itself. `is_inside` says which nodes are computed.
pub(crate) fn pieces(graph: &Graph, v: ValueId, is_inside: &dyn Fn(NodeId) -> bool) -> Vec<Piece> {
    let rank = graph.ty(v).as_tensor().map_or(0, TensorType::rank);
    let mut pieces = vec![Piece { value: v, at: vec![Dim::ZERO; rank] }];
    // Nested ones are taken apart as long as all parts have one shape.
    while let Some(parts) = pieces.iter().map(|p| parts(graph, p, is_inside)).collect::<Option<Vec<_>>>() {
        let parts: Vec<Piece> = parts.into_iter().flatten().collect();
        let shape = |p: &Piece| graph.ty(p.value).as_tensor().map(|t| t.shape.clone());
        let equal = |p: &Piece| match (shape(p), shape(&parts[0])) {
            (Some(a), Some(b)) => a.iter().zip(b.iter()).all(|(a, b)| a == b || graph.facts().equal(a, b)),
            _ => false,
        };
        if parts.len() > MOST_PIECES || !parts.iter().all(equal) {
            break;
        }
        pieces = parts;
    }
    pieces
}

/// What a piece puts together.
fn parts(graph: &Graph, piece: &Piece, is_inside: &dyn Fn(NodeId) -> bool) -> Option<Vec<Piece>> {
    let Def::Node(n, _) = graph.value(piece.value).def else { return None };
    let Op::Concat(op) = &graph.node(n).op else { return None };
    if !is_inside(n) {
        return None;
    }
    let mut at = piece.at.clone();
    let mut parts = Vec::new();
    for v in &graph.node(n).inputs {
        parts.push(Piece { value: *v, at: at.clone() });
        at[op.axis] = at[op.axis].clone() + graph.ty(*v).as_tensor()?.shape[op.axis].clone();
    }
    Some(parts)
}

fn moved(index: Vec<Index>, by: &[Dim]) -> Vec<Index> {
    index.into_iter().zip(by).map(|(i, by)| i + Index::constant(by.clone())).collect()
}

/// The outermost loops of a kernel with scratch are shared among the team, down to the one in which scratch is filled:
/// where that is, is known here and not seen from the tree.
fn mark_parallel(kernel: &mut Kernel) {
    if !has_scratch(kernel) {
        return;
    }
    let mut body = &mut kernel.body;
    while let [Tree::For(For { kind, body: inner, .. })] = body.as_mut_slice() {
        // A loop beside others is not the only thing done an iteration, so scratch may be filled beside it.
        *kind = Kind::Parallel;
        body = inner;
    }
}

fn has_scratch(kernel: &Kernel) -> bool {
    kernel.buffers.iter().any(|b| matches!(b.role, Role::Scratch(_)))
}
