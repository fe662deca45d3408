//! Sums that go through the same loops and read something in common are made abreast: one accumulator, a component each.
//!
//! ```text
//! accumulate q { for k { q += x[i, k] * w[k, j] } }        accumulate q { for k { q.0 += x[i, k] * w[k, j]
//! accumulate p { for k { p += x[i, k] * v[k, j] } }   to                          q.1 += x[i, k] * v[k, j] } }
//! ```
//!
//! What they have in common is read once. So queries, keys and values, or the gate and what passes it, are one product with one tile, and several
//! reductions of a row are one visit to it. Each component is summed in the order in which it was, so that it has the same bits.

use super::remap::Remap;
use crate::buffer::BufferId;
use crate::expr::{Expr, ExprId};
use crate::hash::IdSet;
use crate::index::Index;
use crate::products::nest;
use crate::tree::{AccId, AxisId, For, Kernel, Node};

/// Two accumulators that become one.
struct Pair {
    first: AccId,
    second: AccId,
    /// The axes of the second's loops, each with that of the first's which it becomes.
    axes: Vec<(AxisId, AxisId)>,
}

/// Joins all sums of a kernel that can be.
pub(super) fn join_sums(kernel: &mut Kernel) {
    if kernel.accs.len() < 2 {
        return;
    }
    while let Some(pair) = find(kernel, &kernel.body) {
        apply(kernel, &pair);
    }
}

/// The first two sums in a body, or in one inside of it, that can be one.
fn find(kernel: &Kernel, nodes: &[Node]) -> Option<Pair> {
    for (j, second) in nodes.iter().enumerate() {
        let Node::Accumulate { acc: b, body } = second else { continue };
        for i in 0..j {
            let Node::Accumulate { acc: a, body: first } = &nodes[i] else { continue };
            if let Some(axes) = same_loops(kernel, (*a, first), (*b, body))
                && does_not_need(kernel, (*b, body), &nodes[i..j])
            {
                return Some(Pair { first: *a, second: *b, axes });
            }
        }
    }
    nodes.iter().find_map(|node| match node {
        Node::For(For { body, .. }) | Node::Accumulate { body, .. } => find(kernel, body),
        Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => None,
    })
}

/// The axes of the second sum's loops with those of the first's, if both are monoids, go through the same loops and read something in common.
fn same_loops(
    kernel: &Kernel,
    (a, first): (AccId, &[Node]),
    (b, second): (AccId, &[Node]),
) -> Option<Vec<(AxisId, AxisId)>> {
    let ((outer, [Node::Step { acc: x, values: p }]), (other, [Node::Step { acc: y, values: q }])) =
        (nest(first), nest(second))
    else {
        return None;
    };
    let merge = [a, b].iter().all(|acc| kernel.acc(*acc).merge.is_some());
    if !merge || (*x, *y) != (a, b) || outer.len() != other.len() {
        return None;
    }
    let axes: Vec<(AxisId, AxisId)> = other.iter().zip(&outer).map(|(f, g)| (f.axis, g.axis)).collect();
    let same = |f: &For, g: &For| {
        (f.step, f.kind) == (g.step, g.kind)
            && moved(&f.begin, &axes) == g.begin
            && moved(&f.end, &axes) == g.end
    };
    let read = loads(kernel, p);
    let again = loads(kernel, q);
    let shared = again.iter().any(|(buffer, index)| {
        let index: Vec<Index> = index.iter().map(|i| moved(i, &axes)).collect();
        read.iter().any(|(known, place)| known == buffer && **place == index[..])
    });
    (shared && other.iter().zip(&outer).all(|(f, g)| same(f, g))).then_some(axes)
}

/// An index with the axes of one sum for those of another.
fn moved(index: &Index, axes: &[(AxisId, AxisId)]) -> Index {
    let to = |a: AxisId| axes.iter().find(|(from, _)| *from == a).map(|(_, to)| Index::axis(*to));
    if axes.iter().any(|(from, _)| index.mentions(*from)) { index.substitute(&to) } else { index.clone() }
}

/// What is read below some expressions.
fn loads<'k>(kernel: &'k Kernel, roots: &[ExprId]) -> Vec<(BufferId, &'k [Index])> {
    let mut found = Vec::new();
    kernel.visit_below(roots, &mut |_, e| {
        if let Expr::Load(load) = e {
            found.push((load.buffer, load.index.as_slice()));
        }
    });
    found
}

/// Whether a sum needs no result and no element of what some nodes before it compute, so that it can be made where the first of them stands.
fn does_not_need(kernel: &Kernel, (acc, body): (AccId, &[Node]), before: &[Node]) -> bool {
    let (mut results, mut written) = (IdSet::default(), IdSet::default());
    made(before, &mut results, &mut written);
    let mut roots: Vec<ExprId> = kernel.acc(acc).state.iter().map(|s| s.init).collect();
    if let (_, [Node::Step { values, .. }]) = nest(body) {
        roots.extend(values);
    }
    let mut free = true;
    kernel.visit_below(&roots, &mut |_, e| match e {
        Expr::Result(of, _) => free &= !results.contains(of),
        Expr::Load(load) => free &= !written.contains(&load.buffer),
        _ => {}
    });
    free
}

/// The accumulators that nodes begin and the buffers that they store to.
fn made(nodes: &[Node], results: &mut IdSet<AccId>, written: &mut IdSet<BufferId>) {
    for node in nodes {
        match node {
            Node::Accumulate { acc, body } => {
                results.insert(*acc);
                made(body, results, written);
            }
            Node::For(f) => made(&f.body, results, written),
            Node::Store(s) => {
                written.insert(s.buffer);
            }
            Node::Step { .. } | Node::Prefetch { .. } => {}
        }
    }
}

fn apply(kernel: &mut Kernel, pair: &Pair) {
    let mut values = Vec::new();
    take(&mut kernel.body, pair.second, &mut values);
    give(&mut kernel.body, pair.first, &values);
    let gone = kernel.accs.remove(pair.second.0 as usize);
    let after = |acc: AccId| AccId(acc.0 - u32::from(acc.0 > pair.second.0));
    let first = after(pair.first);
    let into = &mut kernel.accs[first.0 as usize];
    let components = into.state.len();
    into.state.extend(gone.state);
    if let (Some(merge), Some(more)) = (&mut into.merge, gone.merge) {
        merge.identity.extend(more.identity);
        merge.values.extend(more.values);
    }
    let index = |i: &Index| moved(i, &pair.axes);
    let access = |buffer: BufferId, old: &[Index]| (buffer, old.iter().map(index).collect());
    let component = |acc: AccId, n: usize| match acc == pair.second {
        true => (first, components + n),
        false => (after(acc), n),
    };
    Remap { access: &access, datum: &access, index: &index, component: &component }.apply(kernel);
}

/// Takes the sum of an accumulator out of the tree, and the values of its step.
fn take(nodes: &mut Vec<Node>, acc: AccId, values: &mut Vec<ExprId>) {
    nodes.retain(|node| match node {
        Node::Accumulate { acc: of, body } if *of == acc => {
            if let (_, [Node::Step { values: own, .. }]) = nest(body) {
                values.extend(own);
            }
            false
        }
        _ => true,
    });
    for node in nodes {
        if let Node::For(For { body, .. }) | Node::Accumulate { body, .. } = node {
            take(body, acc, values);
        }
    }
}

/// The step of an accumulator gets more values.
fn give(nodes: &mut [Node], acc: AccId, more: &[ExprId]) {
    for node in nodes {
        match node {
            Node::For(For { body, .. }) | Node::Accumulate { body, .. } => give(body, acc, more),
            Node::Step { acc: of, values } if *of == acc => values.extend(more),
            Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => {}
        }
    }
}
