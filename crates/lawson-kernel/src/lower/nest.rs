//! The nest of a group: loops over the elements of its outputs, with everything that they need inside.

use super::pattern::Patterns;
use super::walk::{Purpose, Source, Walk, name_of};
use super::{Lowered, Options, Rows};
use crate::buffer::Role;
use crate::build::store;
use crate::group::{Group, Refused};
use crate::index::Index;
use crate::layout::Orders;
use crate::tree::{For, Kernel, Kind, Node as Tree};
use lawson_graph::{Dim, Graph, Op};

pub(super) fn lower(graph: &Graph, group: &Group, options: &Options<'_>) -> Result<Lowered, Refused> {
    if group.outputs.is_empty() {
        return Err(Refused::Size { nodes: 0 });
    }
    let mut walk = Walk::new(graph, &group.nodes, Patterns::find(graph, group));
    let as_typed = Orders::default();
    let orders = options.orders.unwrap_or(&as_typed);
    let inputs = group.inputs(graph);
    for v in &inputs {
        let ty = walk.ty(*v)?;
        let buffer = walk.kernel.input(&name_of(graph, *v), ty.dtype, &orders.stored(*v, &ty.shape));
        let order = orders.order(*v).map(<[usize]>::to_vec);
        walk.buffers.insert(*v, Source { buffer, order });
    }
    let mut outputs = Vec::with_capacity(group.outputs.len());
    for v in &group.outputs {
        let ty = walk.ty(*v)?;
        let dims = orders.stored(*v, &ty.shape);
        let buffer = walk.kernel.output(&name_of(graph, *v), ty.dtype, &dims);
        outputs.push((*v, buffer, dims));
    }
    // The output with the most axes has the loops; the others fit into the outermost of them.
    let many = |dims: &[Dim]| dims.iter().filter(|d| !d.is(1)).cloned().collect();
    let mut order: Vec<(Vec<Dim>, usize)> =
        outputs.iter().enumerate().map(|(i, (_, _, dims))| (many(dims), i)).collect();
    order.sort_by_key(|(dims, i)| (dims.len(), *i));
    let Some((dims, widest)) = order.last().cloned() else { return Err(Refused::Size { nodes: 0 }) };
    for (own, i) in &order {
        if own.iter().zip(&dims).any(|(a, b)| !graph.facts().equal(a, b)) {
            let shown =
                |i: usize| format!("`%{}: {}`", graph.value_name(outputs[i].0), graph.ty(outputs[i].0));
            return Err(Refused::Spaces { first: shown(widest), other: shown(*i) });
        }
    }
    let mut axes: Vec<Index> = Vec::new();
    let mut running = None;
    let mut rest = order.iter().peekable();
    loop {
        while let Some((_, i)) = rest.next_if(|(own, _)| own.len() == axes.len()) {
            let (v, buffer, ref dims) = outputs[*i];
            let mut next = axes.iter();
            let at = |d: &Dim| match d.is(1) {
                true => Index::from(0),
                false => next.next().cloned().unwrap_or_else(|| Index::from(0)),
            };
            let place: Vec<Index> = dims.iter().map(at).collect();
            let index = orders.by_dim(v, &place);
            let (place, value) = match walk.node(v).map(|n| (n, &n.op)) {
                Some((node, Op::Cumulative(op))) => {
                    running = Some(node);
                    walk.running((v, node, op), index, buffer, &|i| orders.stored(v, i))?
                }
                _ => {
                    walk.prepare(v, &index)?;
                    (place, walk.value(v, index, &[])?)
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
