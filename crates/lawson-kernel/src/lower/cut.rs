//! Loops are cut where what they compute changes, and products get loops of their own.
//!
//! Of a concatenation each element comes from one part, but loops over all of it go through all parts in every iteration, and choose:
//!
//! ```text
//! for i in 0 to 48 { y[i] = if i < 16 then f(a[i]) else g(b[i - 16]) }
//! ```
//!
//! Cut at 16, each loop computes what it stores, reads without asking, and has a schedule of its own:
//!
//! ```text
//! for i in 0 to 16 { y[i] = f(a[i]) }
//! for i in 0 to 32 { y[i + 16] = g(b[i]) }
//! ```
//!
//! Likewise for padding, whose border is apart from what it surrounds, and for slices of either. Loops around the one that is cut are repeated
//! for each piece, so that pieces are nests at the root, which a team may share side by side. A loop is cut only where less is then
//! computed, what it takes to begin another loop included.
//!
//! A stage beside a product that has nothing of it, such as a part of a concatenation whose other part is a convolution, is cut off, too: it would be
//! in the way of the product's tile.
//!
//! In: a kernel as lowering wrote it, with nests of loops at its root. Out: the same, in more nests.

use super::clone::{Change, Cloner, number};
use super::remap::keep_accumulators;
use crate::expr::{Expr, ExprId};
use crate::hash::IdSet;
use crate::index::{Atom, Index};
use crate::layout::about;
use crate::opaque::opaque;
use crate::tree::{AccId, AxisId, For, Kernel, Node};
use crate::work::of_nodes;
use crate::{BufferId, Role};
use lawson_graph::Dim;
use lawson_graph::op::CompareKind;

/// The most nests of a kernel.
const MOST_NESTS: usize = 24;
/// The most pieces of a loop.
const MOST_PIECES: usize = 12;
/// The most expressions of a kernel whose loops are cut: every piece has a copy of its own.
const MOST_EXPRS: usize = 4000;
/// Slots of vectors that it takes to begin a nest, and to begin a loop inside one.
const NEST: f64 = 40.0;
const LOOP: f64 = 6.0;

/// Cuts the loops of a kernel for vectors of so many lanes.
pub(super) fn cut_loops(kernel: &mut Kernel, lanes: i64) {
    let nests = |body: &[Node]| body.iter().all(|n| matches!(n, Node::For(_)));
    let recurs = kernel.accs.iter().any(|a| a.merge.is_none());
    if lanes < 1 || recurs || !nests(&kernel.body) || !changes(kernel) {
        return;
    }
    match opaque(kernel) {
        Some((mut plain, sizes)) => {
            cut(&mut plain, lanes);
            *kernel = sizes.restore(&plain, &kernel.facts);
        }
        None => cut(kernel, lanes),
    }
}

fn cut(kernel: &mut Kernel, lanes: i64) {
    let mut open = std::mem::take(&mut kernel.body);
    open.reverse();
    let mut done: Vec<Node> = Vec::new();
    while let Some(nest) = open.pop() {
        let room = MOST_NESTS.saturating_sub(done.len() + open.len());
        let pieces = match kernel.exprs.len() < MOST_EXPRS {
            true => cut_off(kernel, &nest).or_else(|| cut_nest(kernel, &nest, lanes, room)),
            false => None,
        };
        match pieces {
            Some(pieces) => open.extend(pieces.into_iter().rev()),
            None => done.push(nest),
        }
    }
    kernel.body = done;
    keep_accumulators(kernel);
}

/// Whether there is anything that a cut might change: a guard, a choice by an index, or a stage beside a product.
fn changes(kernel: &Kernel) -> bool {
    let asks = |e: &Expr| match e {
        Expr::Load(load) => load.guard.is_some(),
        Expr::Compare(_, a, b) => [a, b].iter().any(|e| matches!(kernel.expr(**e), Expr::Index(..))),
        _ => false,
    };
    kernel.exprs.iter().any(asks)
        || kernel.body.iter().any(|n| chain(n).is_some_and(|(_, b)| mixes(kernel, b)))
}

/// The loops directly within each other that a nest begins with, and what stands in the innermost.
fn chain(nest: &Node) -> Option<(Vec<&For>, &[Node])> {
    let Node::For(first) = nest else { return None };
    let mut loops = vec![first];
    let mut body = first.body.as_slice();
    while let [Node::For(inner)] = body {
        loops.push(inner);
        body = &inner.body;
    }
    Some((loops, body))
}

/// Whether a body has a product, and a store that has nothing of any accumulator.
fn mixes(kernel: &Kernel, body: &[Node]) -> bool {
    body.len() > 1
        && body.iter().any(|n| is_product(kernel, n))
        && body.iter().any(|n| is_unrelated(kernel, n))
        && body.iter().all(|n| matches!(n, Node::Accumulate { .. } | Node::Store(_)))
}

/// Whether a node sums up products.
fn is_product(kernel: &Kernel, node: &Node) -> bool {
    let Node::Accumulate { body, .. } = node else { return false };
    let (_, inner) = crate::products::nest(body);
    let is_fma = |e: &ExprId| matches!(kernel.expr(*e), Expr::Fma(..));
    inner.iter().any(|n| matches!(n, Node::Step { values, .. } if values.iter().any(is_fma)))
}

/// Whether a node stores what no accumulator and no scratch is part of.
fn is_unrelated(kernel: &Kernel, node: &Node) -> bool {
    let Node::Store(store) = node else { return false };
    let mut related = kernel.buffer(store.buffer).role != Role::Output;
    kernel.visit_below(&[store.value], &mut |_, e| {
        related |= match e {
            Expr::Result(..) | Expr::State(..) => true,
            Expr::Load(load) => kernel.buffer(load.buffer).role != Role::Input,
            _ => false,
        };
    });
    !related
}

/// The nests of products and of what stands beside them, if there are both.
fn cut_off(kernel: &mut Kernel, nest: &Node) -> Option<Vec<Node>> {
    let (_, body) = chain(nest)?;
    if !mixes(kernel, body) {
        return None;
    }
    let (beside, products): (Vec<Node>, Vec<Node>) =
        body.iter().cloned().partition(|n| is_unrelated(kernel, n));
    let with = |nodes: Vec<Node>| {
        fn put(nest: &Node, nodes: Vec<Node>) -> Node {
            let Node::For(f) = nest else { return nest.clone() };
            let body = match f.body.as_slice() {
                [inner @ Node::For(_)] => vec![put(inner, nodes)],
                _ => nodes,
            };
            Node::For(For { body, ..f.clone() })
        }
        put(nest, nodes)
    };
    let (beside, products) = (with(beside), with(products));
    // Each has axes of its own.
    let beside = Cloner::new(kernel, Change::None).nest(&beside)?;
    Some(vec![products, beside])
}

/// The pieces of a nest, if cutting one of its loops is worth it.
fn cut_nest(kernel: &mut Kernel, nest: &Node, lanes: i64, room: usize) -> Option<Vec<Node>> {
    let (loops, body) = chain(nest)?;
    let conditions = conditions(kernel, body);
    if conditions.is_empty() {
        return None;
    }
    let before = of_nodes(kernel, std::slice::from_ref(nest)).slots;
    let runs = |loops: &[&For]| loops.iter().map(|f| size(kernel, f)).product::<f64>();
    let mut candidates: Vec<(AxisId, Vec<Dim>, f64)> = Vec::new();
    for (n, f) in loops.iter().enumerate() {
        let Some(points) = points(kernel, f, &conditions) else { continue };
        if points.is_empty() || points.len() + 1 > MOST_PIECES.min(room) {
            continue;
        }
        // What a vector overhangs is computed in vain, and a row begins anew in each piece.
        let each = before / runs(&loops).max(1.0);
        let rows = runs(&loops[..n]);
        let is_innermost = n + 1 == loops.len() && body.iter().all(|n| matches!(n, Node::Store(_)));
        let lanes = lanes as f64;
        let loops = if is_innermost { rows * (lanes / 2.0 * each + LOOP * lanes) } else { rows * LOOP };
        candidates.push((f.axis, points.clone(), points.len() as f64 * (NEST * lanes + loops)));
    }
    let (mut best, mut saved) = (None, 0.0);
    for (axis, points, price) in candidates {
        if price >= before {
            continue;
        }
        let known = kernel.exprs.len();
        let pieces = pieces(kernel, nest, axis, &points)?;
        let after = of_nodes(kernel, &pieces).slots + price;
        if before - after > saved {
            saved = before - after;
            best = Some(pieces);
        } else if best.is_none() {
            forget(kernel, known);
        }
    }
    best
}

/// Drops the expressions that were added last.
fn forget(kernel: &mut Kernel, known: usize) {
    for e in kernel.exprs.drain(known..) {
        kernel.known.remove(&e);
    }
}

fn size(kernel: &Kernel, f: &For) -> f64 {
    let size = kernel.resolve(&f.end) - kernel.resolve(&f.begin);
    size.as_dim().map_or(1.0, |d| about(&kernel.facts, d)) / f.step.max(1) as f64
}

/// A nest for each stretch of an axis between points.
fn pieces(kernel: &mut Kernel, nest: &Node, axis: AxisId, points: &[Dim]) -> Option<Vec<Node>> {
    let (loops, _) = chain(nest)?;
    let end = loops.iter().find(|f| f.axis == axis)?.end.as_dim()?.clone();
    let mut from = Dim::ZERO;
    let mut pieces = Vec::new();
    for to in points.iter().chain([&end]) {
        let piece = Change::Piece { axis, from: from.clone(), to: to.clone() };
        if let Some(piece) = Cloner::new(kernel, piece).nest(nest) {
            let piece = pruned(kernel, piece);
            pieces.extend(piece);
        }
        from = to.clone();
    }
    Some(pieces)
}

/// The conditions that decide what is computed in some nodes.
fn conditions(kernel: &Kernel, nodes: &[Node]) -> Vec<Bound> {
    let mut roots = Vec::new();
    roots_of(kernel, nodes, &mut roots);
    let mut found: Vec<Bound> = Vec::new();
    kernel.visit_below(&roots, &mut |_, e| match e {
        Expr::Load(load) => {
            for c in load.guard.iter().flat_map(|g| &g.conditions) {
                found.push(Bound::at_least(c.index.clone()));
                found.push(Bound::at_least(c.index.clone() - Index::constant(c.end.clone())));
            }
        }
        Expr::Compare(kind, a, b) => {
            if let (Some(a), Some(b)) = (number(kernel, *a), number(kernel, *b)) {
                found.extend(Bound::of(*kind, a, b));
            }
        }
        _ => {}
    });
    found
}

/// What some nodes compute, and what states begin with.
pub(super) fn roots_of(kernel: &Kernel, nodes: &[Node], roots: &mut Vec<ExprId>) {
    for node in nodes {
        match node {
            Node::For(f) => roots_of(kernel, &f.body, roots),
            Node::Accumulate { acc, body } => {
                roots.extend(kernel.acc(*acc).state.iter().map(|s| s.init));
                roots_of(kernel, body, roots);
            }
            Node::Step { values, .. } => roots.extend(values),
            Node::Store(s) => roots.push(s.value),
            Node::Prefetch { .. } => {}
        }
    }
}

/// Something changes where an index becomes 0.
struct Bound(Index);

impl Bound {
    fn at_least(index: Index) -> Bound {
        Bound(index)
    }

    fn of(kind: CompareKind, a: Index, b: Index) -> Vec<Bound> {
        let difference = a - b;
        match kind {
            CompareKind::Ge | CompareKind::Lt => vec![Bound(difference)],
            CompareKind::Gt | CompareKind::Le => vec![Bound(difference - 1)],
            CompareKind::Eq | CompareKind::Ne => vec![Bound(difference.clone()), Bound(difference - 1)],
            _ => Vec::new(),
        }
    }

    /// The first value of an axis with which this is at least 0, or, where it falls, no longer; if the axis alone decides.
    fn point(&self, axis: AxisId) -> Option<Dim> {
        let [(Atom::Axis(a), c)] = self.0.terms() else { return None };
        let (c, offset) = (c.as_const()?, self.0.offset());
        if *a != axis {
            return None;
        }
        match c {
            1 => Some(Dim::ZERO - offset.clone()),
            -1 => Some(offset.clone() + Dim::ONE),
            c => {
                let offset = offset.as_const()?;
                Some(Dim::from(match c > 0 {
                    true => (-offset).div_euclid(c) + i64::from((-offset).rem_euclid(c) != 0),
                    false => offset.div_euclid(-c) + 1,
                }))
            }
        }
    }
}

/// The values of a loop's axis at which a condition begins or ends to hold, in order; `None` if their order is not known.
fn points(kernel: &Kernel, f: &For, conditions: &[Bound]) -> Option<Vec<Dim>> {
    let end = f.end.as_dim().filter(|_| f.begin.is(0) && f.step == 1)?;
    let facts = &kernel.facts;
    let mut points: Vec<Dim> = Vec::new();
    for point in conditions.iter().filter_map(|b| b.point(f.axis)) {
        if points.contains(&point) || point.is(0) || point == *end {
            continue;
        }
        match (point.as_const(), end.as_const()) {
            (Some(p), Some(end)) if p <= 0 || p >= end => continue,
            (Some(_), Some(_)) => {}
            // What is not known to lie inside may be cut off by nothing.
            _ if facts.proves_ge(&Dim::ZERO, &point) || facts.proves_ge(&point, end) => continue,
            _ if facts.is_nonnegative(&point) && facts.proves_ge(end, &point) => {}
            _ => return None,
        }
        if points.len() >= MOST_PIECES {
            return None;
        }
        let mut at = points.len();
        for (n, other) in points.iter().enumerate() {
            if facts.proves_ge(other, &point) {
                at = n;
                break;
            }
            if !facts.proves_ge(&point, other) {
                return None;
            }
        }
        points.insert(at, point);
    }
    Some(points)
}

/// A nest without what nothing in it needs; `None` if nothing is left.
fn pruned(kernel: &Kernel, nest: Node) -> Option<Node> {
    let mut results: IdSet<AccId> = IdSet::default();
    let mut scratch: IdSet<BufferId> = IdSet::default();
    loop {
        let before = (results.len(), scratch.len());
        let mut roots = Vec::new();
        live_roots(kernel, std::slice::from_ref(&nest), &results, &scratch, &mut roots);
        kernel.visit_below(&roots, &mut |_, e| match e {
            Expr::Result(acc, _) => {
                results.insert(*acc);
            }
            Expr::Load(load) if kernel.buffer(load.buffer).role != Role::Input => {
                scratch.insert(load.buffer);
            }
            _ => {}
        });
        if before == (results.len(), scratch.len()) {
            break;
        }
    }
    fn keep(kernel: &Kernel, node: Node, results: &IdSet<AccId>, scratch: &IdSet<BufferId>) -> Option<Node> {
        let all = |nodes: Vec<Node>| -> Vec<Node> {
            nodes.into_iter().filter_map(|n| keep(kernel, n, results, scratch)).collect()
        };
        match node {
            Node::For(f) => {
                let body = all(f.body);
                (!body.is_empty()).then_some(Node::For(For { body, ..f }))
            }
            Node::Accumulate { acc, body } => {
                // Scratch that is filled on the way may be all that is needed of it.
                let body = all(body);
                let fills = stores(&body);
                (results.contains(&acc) || fills).then_some(Node::Accumulate { acc, body })
            }
            Node::Store(s) => (kernel.buffer(s.buffer).role == Role::Output || scratch.contains(&s.buffer))
                .then_some(Node::Store(s)),
            other => Some(other),
        }
    }
    keep(kernel, nest, &results, &scratch)
}

fn stores(nodes: &[Node]) -> bool {
    nodes.iter().any(|n| match n {
        Node::For(For { body, .. }) | Node::Accumulate { body, .. } => stores(body),
        Node::Store(_) => true,
        Node::Step { .. } | Node::Prefetch { .. } => false,
    })
}

/// What is computed for what is needed, as far as that is known.
fn live_roots(
    kernel: &Kernel,
    nodes: &[Node],
    results: &IdSet<AccId>,
    scratch: &IdSet<BufferId>,
    roots: &mut Vec<ExprId>,
) {
    for node in nodes {
        match node {
            Node::For(f) => live_roots(kernel, &f.body, results, scratch, roots),
            Node::Accumulate { acc, body } => {
                if results.contains(acc) {
                    roots.extend(kernel.acc(*acc).state.iter().map(|s| s.init));
                    roots_of(kernel, body, roots);
                } else {
                    live_roots(kernel, body, results, scratch, roots);
                }
            }
            Node::Store(s) => {
                if kernel.buffer(s.buffer).role == Role::Output || scratch.contains(&s.buffer) {
                    roots.push(s.value);
                }
            }
            Node::Step { .. } | Node::Prefetch { .. } => {}
        }
    }
}
