//! Joining loops: two loops, one right inside the other, become one where every access allows it.
//!
//! `x[i, j]` in loops over `i` and `j` is `x[ij]` in one, if `x` has as many columns as `j` has values: the buffer's two
//! dimensions are joined too, which leaves its memory as it is. So dense elementwise kernels have one loop, and a
//! contraction of `[batch, time, channels]` has one loop over rows.

use super::remap::{Remap, SAME};
use crate::buffer::{BufferId, Layout};
use crate::expr::Expr;
use crate::hash::{IdMap, IdSet};
use crate::index::{Atom, Index};
use crate::tree::{AxisId, For, Kernel, Node};
use lawson_graph::Dim;

/// Two loops that may become one: the outer axis, the inner axis, the values that each has, and the axis that they become.
#[derive(Clone)]
struct Pair {
    outer: AxisId,
    inner: AxisId,
    outer_size: Dim,
    inner_size: Dim,
    joined: AxisId,
}

/// Joins all loops of a kernel that can be.
pub fn collapse(kernel: &mut Kernel) {
    while let Some((pairs, buffers)) = find(kernel) {
        apply(kernel, &pairs, &buffers);
    }
}

/// Pairs to join together, and for each buffer whose dimensions are joined with them, the first of the two.
fn find(kernel: &Kernel) -> Option<(Vec<Pair>, IdMap<BufferId, usize>)> {
    let candidates = candidates(kernel);
    let accesses = accesses(kernel);
    candidates.iter().find_map(|seed| {
        let mut pairs = vec![seed.clone()];
        let buffers = grow(kernel, &candidates, &accesses, &mut pairs)?;
        let mut plain = true;
        visit_plain(kernel, &mut |i| plain &= pairs.iter().all(|p| joined(i, p).is_some()));
        plain.then_some((pairs, buffers))
    })
}

/// Adds the pairs that must be joined too, because they index the same dimensions; `None` if that is not possible.
fn grow(
    kernel: &Kernel,
    candidates: &[Pair],
    accesses: &[(BufferId, Vec<Index>)],
    pairs: &mut Vec<Pair>,
) -> Option<IdMap<BufferId, usize>> {
    let mut buffers: IdMap<BufferId, usize> = IdMap::default();
    loop {
        let before = (pairs.len(), buffers.len());
        for (buffer, index) in accesses {
            for pair in pairs.iter() {
                if index.iter().all(|i| joined(i, pair).is_some()) {
                    continue;
                }
                let first = (1..index.len()).map(|d| d - 1).find(|d| {
                    index[*d].as_axis() == Some(pair.outer) && index[d + 1].as_axis() == Some(pair.inner)
                })?;
                let b = kernel.buffer(*buffer);
                let others = (0..index.len()).filter(|d| *d != first && *d != first + 1);
                let alone = others
                    .map(|d| &index[d])
                    .all(|i| ![pair.outer, pair.inner].iter().any(|a| i.mentions_itself(*a)));
                let dense = b.dims[first + 1] == pair.inner_size && b.layout == Layout::row_major(&b.dims);
                if !alone || !dense || *buffers.entry(*buffer).or_insert(first) != first {
                    return None;
                }
            }
        }
        for (buffer, index) in accesses {
            let Some(first) = buffers.get(buffer) else { continue };
            let (Some(outer), Some(inner)) = (index[*first].as_axis(), index[first + 1].as_axis()) else {
                return None;
            };
            if !pairs.iter().any(|p| p.outer == outer && p.inner == inner) {
                let more = candidates.iter().find(|p| p.outer == outer && p.inner == inner)?;
                if pairs.iter().any(|p| [p.outer, p.inner].iter().any(|a| *a == outer || *a == inner)) {
                    return None;
                }
                pairs.push(more.clone());
            }
        }
        if before == (pairs.len(), buffers.len()) {
            return Some(buffers);
        }
    }
}

/// Loops that stand one right inside the other, both from 0 in steps of 1, over axes that have no other loop.
fn candidates(kernel: &Kernel) -> Vec<Pair> {
    let mut loops: IdMap<AxisId, usize> = IdMap::default();
    let mut found = Vec::new();
    kernel.visit(&mut |node| {
        let Node::For(f) = node else { return };
        *loops.entry(f.axis).or_default() += 1;
        let [Node::For(g)] = f.body.as_slice() else { return };
        let size = |f: &For| if f.begin.is(0) && f.step == 1 { f.end.as_dim().cloned() } else { None };
        if let (Some(outer_size), Some(inner_size)) = (size(f), size(g))
            && f.kind == g.kind
        {
            let joined = AxisId(kernel.axes.len() as u32);
            found.push(Pair { outer: f.axis, inner: g.axis, outer_size, inner_size, joined });
        }
    });
    let used: IdSet<AxisId> = loops.into_iter().filter(|(_, n)| *n == 1).map(|(a, _)| a).collect();
    let mut derived = IdSet::default();
    let of_axes = kernel.axes.iter().filter_map(|a| a.derived.as_ref());
    of_axes.for_each(|i| {
        i.visit_axes(&mut |a| {
            derived.insert(a);
        })
    });
    let is_free = |a: &AxisId| used.contains(a) && !derived.contains(a);
    found.retain(|p| is_free(&p.outer) && is_free(&p.inner));
    found
}

/// Every access of a buffer, those of elements that indices mention included.
pub(super) fn accesses(kernel: &Kernel) -> Vec<(BufferId, Vec<Index>)> {
    let loads = kernel.exprs.iter().filter_map(|e| match e {
        Expr::Load(load) => Some((load.buffer, load.index.clone())),
        _ => None,
    });
    let mut all: Vec<_> = loads.collect();
    kernel.visit(&mut |node| match node {
        Node::Store(s) => all.push((s.buffer, s.index.clone())),
        Node::Prefetch { buffer, index, .. } => all.push((*buffer, index.clone())),
        Node::For(_) | Node::Accumulate { .. } | Node::Step { .. } => {}
    });
    let mut data = Vec::new();
    let mut look = |i: &Index| i.visit_data(&mut |d| data.push((d.buffer, d.index.clone())));
    all.iter().for_each(|(_, index)| index.iter().for_each(&mut look));
    visit_plain(kernel, &mut look);
    all.extend(data);
    all
}

/// Calls `visit` with every index that is not one of an access.
fn visit_plain(kernel: &Kernel, visit: &mut impl FnMut(&Index)) {
    for expr in &kernel.exprs {
        match expr {
            Expr::Index(i, _) => visit(i),
            Expr::Load(load) => {
                load.guard.iter().flat_map(|g| &g.conditions).for_each(|c| visit(&c.index));
            }
            _ => {}
        }
    }
    kernel.visit(&mut |node| {
        if let Node::For(f) = node {
            visit(&f.begin);
            visit(&f.end);
        }
    });
}

/// An index over the joined axis, if it holds the two axes as `c·(outer·size + inner)` or not at all. Elements that it mentions
/// are left alone: they are accesses of their own.
fn joined(index: &Index, pair: &Pair) -> Option<Index> {
    if !index.mentions_itself(pair.outer) && !index.mentions_itself(pair.inner) {
        return Some(index.clone());
    }
    let mut out = Index::constant(index.offset().clone());
    let (mut outer, mut inner) = (Dim::ZERO, Dim::ZERO);
    for (atom, c) in index.terms() {
        match atom {
            Atom::Axis(a) if *a == pair.outer => outer = c.clone(),
            Atom::Axis(a) if *a == pair.inner => inner = c.clone(),
            _ => {
                let alone = Index::atom(atom.clone());
                if alone.mentions_itself(pair.outer) || alone.mentions_itself(pair.inner) {
                    return None;
                }
                out.add_term(atom.clone(), c.clone());
            }
        }
    }
    if outer != inner.clone() * pair.inner_size.clone() || inner.is(0) {
        return None;
    }
    out.add_term(Atom::Axis(pair.joined), inner);
    Some(out)
}

fn apply(kernel: &mut Kernel, pairs: &[Pair], buffers: &IdMap<BufferId, usize>) {
    let mut pairs = pairs.to_vec();
    for pair in &mut pairs {
        let name = kernel.axis(pair.inner).name.clone();
        pair.joined = kernel.add_axis(name);
    }
    let index = |i: &Index| pairs.iter().fold(i.clone(), |i, p| joined(&i, p).unwrap_or(i));
    let access = |buffer: BufferId, old: &[Index]| {
        let mut new: Vec<Index> = old.to_vec();
        if let Some(first) = buffers.get(&buffer) {
            let outer = new.remove(*first);
            let pair = pairs.iter().find(|p| outer.as_axis() == Some(p.outer));
            if let Some(pair) = pair {
                new[*first] = Index::axis(pair.joined);
            }
        }
        (buffer, new.iter().map(index).collect())
    };
    for (buffer, first) in buffers {
        let b = &mut kernel.buffers[buffer.0 as usize];
        let outer = b.dims.remove(*first);
        b.dims[*first] = outer * b.dims[*first].clone();
        b.layout = Layout::row_major(&b.dims);
    }
    Remap { access: &access, datum: &access, index: &index, component: SAME }.apply(kernel);
    let mut body = std::mem::take(&mut kernel.body);
    join_loops(&mut body, &pairs);
    kernel.body = body;
}

fn join_loops(nodes: &mut [Node], pairs: &[Pair]) {
    for node in nodes {
        if let Node::For(f) = node
            && let Some(pair) = pairs.iter().find(|p| p.outer == f.axis)
            && let Some(Node::For(g)) = f.body.pop()
        {
            f.axis = pair.joined;
            f.end = Index::constant(pair.outer_size.clone() * pair.inner_size.clone());
            f.body = g.body;
        }
        match node {
            Node::For(For { body, .. }) | Node::Accumulate { body, .. } => join_loops(body, pairs),
            _ => {}
        }
    }
}
