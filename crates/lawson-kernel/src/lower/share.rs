//! Scratch that is not needed at the same time shares memory.
//!
//! Of the nodes of one loop's body, scratch is in use from the first that mentions it to the last. Two whose stretches do not
//! meet become one buffer, as large as both need; so a chain of layers goes back and forth between two.

use super::remap::{Remap, SAME};
use crate::buffer::{Buffer, BufferId, Layout, Role};
use crate::expr::{Expr, ExprId};
use crate::hash::{IdMap, IdSet};
use crate::index::Index;
use crate::tree::{For, Kernel, Node};
use lawson_graph::Dim;
use std::collections::BTreeMap;

/// From the first to the last node of a body that mentions a buffer.
#[derive(Clone, Copy)]
struct Stretch {
    first: usize,
    last: usize,
}

/// Merges scratch buffers of a kernel where it can.
pub(super) fn share_scratch(kernel: &mut Kernel) {
    let everywhere = mention_counts(kernel, &kernel.body);
    if everywhere.len() < 2 {
        return;
    }
    let mut into: IdMap<BufferId, BufferId> = IdMap::default();
    let mut grown = kernel.buffers.clone();
    let body = kernel.body.clone();
    bodies(&body, &mut |nodes| {
        let mut free_from: Vec<(BufferId, usize)> = Vec::new();
        for (id, stretch) in stretches(kernel, nodes, &everywhere) {
            if into.contains_key(&id) || grown.get(id.0 as usize).is_none() {
                continue;
            }
            let found = free_from.iter_mut().find_map(|(old, last)| {
                let both = fits(&grown[old.0 as usize], &grown[id.0 as usize])?;
                (*last < stretch.first).then_some((old, last, both))
            });
            match found {
                Some((old, last, both)) => {
                    *last = stretch.last;
                    into.insert(id, *old);
                    grown[old.0 as usize] = both;
                }
                None => free_from.push((id, stretch.last)),
            }
        }
    });
    if into.is_empty() {
        return;
    }
    let mut moved = IdMap::default();
    kernel.buffers.clear();
    for (i, buffer) in grown.into_iter().enumerate() {
        let id = BufferId(i as u32);
        if !into.contains_key(&id) {
            moved.insert(id, kernel.add_buffer(buffer));
        }
    }
    let access = |buffer: BufferId, index: &[Index]| {
        let target = into.get(&buffer).copied().unwrap_or(buffer);
        (moved.get(&target).copied().unwrap_or(target), index.to_vec())
    };
    Remap { access: &access, datum: &access, index: &Index::clone, component: SAME }.apply(kernel);
}

/// Calls `visit` with the bodies of loops, and of the kernel, that have several nodes.
fn bodies(nodes: &[Node], visit: &mut impl FnMut(&[Node])) {
    if nodes.len() > 1 {
        visit(nodes);
    }
    for node in nodes {
        if let Node::For(For { body, .. }) | Node::Accumulate { body, .. } = node {
            bodies(body, visit);
        }
    }
}

/// For the scratch that more than one of these nodes mentions and nothing else does, in order of first use. `everywhere` counts
/// the mentions in the whole kernel.
fn stretches(
    kernel: &Kernel,
    nodes: &[Node],
    everywhere: &IdMap<BufferId, usize>,
) -> Vec<(BufferId, Stretch)> {
    let mut found: BTreeMap<BufferId, (Stretch, usize)> = BTreeMap::new();
    for (i, node) in nodes.iter().enumerate() {
        for (id, count) in mention_counts(kernel, std::slice::from_ref(node)) {
            let (stretch, inside) = found.entry(id).or_insert((Stretch { first: i, last: i }, 0));
            stretch.last = i;
            *inside += count;
        }
    }
    let is_own = |id: &BufferId, inside: usize| everywhere.get(id) == Some(&inside);
    let mut own: Vec<(BufferId, Stretch)> = found
        .into_iter()
        .filter(|(id, (s, inside))| s.first < s.last && is_own(id, *inside))
        .map(|(id, (s, _))| (id, s))
        .collect();
    own.sort_by_key(|(_, s)| s.first);
    own
}

fn is_scratch(kernel: &Kernel, id: BufferId) -> bool {
    matches!(kernel.buffer(id).role, Role::Scratch(_))
}

/// How many nodes below mention each scratch.
fn mention_counts(kernel: &Kernel, nodes: &[Node]) -> IdMap<BufferId, usize> {
    let mut counts = IdMap::default();
    let mut add = |id: BufferId| *counts.entry(id).or_default() += 1;
    leaves(nodes, &mut |node| of_leaf(kernel, node).into_iter().for_each(&mut add));
    counts
}

fn leaves(nodes: &[Node], visit: &mut impl FnMut(&Node)) {
    for node in nodes {
        visit(node);
        if let Node::For(For { body, .. }) | Node::Accumulate { body, .. } = node {
            leaves(body, visit);
        }
    }
}

/// The scratch that a node itself mentions.
fn of_leaf(kernel: &Kernel, node: &Node) -> IdSet<BufferId> {
    let mut roots: Vec<ExprId> = Vec::new();
    let mut found = IdSet::default();
    match node {
        Node::Store(s) => {
            found.insert(s.buffer);
            roots.push(s.value);
        }
        Node::Step { values, .. } => roots.extend(values),
        Node::Accumulate { acc, .. } => roots.extend(kernel.acc(*acc).state.iter().map(|s| s.init)),
        Node::Prefetch { buffer, .. } => {
            found.insert(*buffer);
        }
        Node::For(_) => {}
    }
    kernel.visit_below(&roots, &mut |_, expr| {
        if let Expr::Load(load) = expr {
            found.insert(load.buffer);
        }
    });
    found.retain(|id| is_scratch(kernel, *id));
    found
}

/// One buffer in place of two, if their dimensions allow it.
fn fits(a: &Buffer, b: &Buffer) -> Option<Buffer> {
    if a.dtype != b.dtype || a.dims.len() != b.dims.len() {
        return None;
    }
    let mut dims = Vec::with_capacity(a.dims.len());
    for (x, y) in a.dims.iter().zip(&b.dims) {
        dims.push(match (x.as_const(), y.as_const()) {
            (Some(x), Some(y)) => Dim::from(x.max(y)),
            _ if x == y => x.clone(),
            _ => return None,
        });
    }
    let larger = if a.role == b.role { a.role } else { Role::Scratch(crate::buffer::Level::L2) };
    let finite = a.finite && b.finite;
    Some(Buffer { layout: Layout::row_major(&dims), dims, role: larger, finite, ..a.clone() })
}
