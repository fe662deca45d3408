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

use super::remap::keep_accumulators;
use crate::expr::{Condition, Expr, ExprId, Guard, Load, Scalar};
use crate::hash::{IdMap, IdSet};
use crate::index::{Atom, Index};
use crate::range::{Scope, Truth};
use crate::tree::{AccId, Accumulator, AxisId, For, Kernel, Merge, Node, State, Store};
use crate::work::of_nodes;
use crate::{BufferId, Role};
use lawson_graph::op::{BinaryKind, CompareKind};
use lawson_graph::{DType, Dim};

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
pub(super) fn cut(kernel: &mut Kernel, lanes: i64) {
    let nests = |body: &[Node]| body.iter().all(|n| matches!(n, Node::For(_)));
    let recurs = kernel.accs.iter().any(|a| a.merge.is_none());
    if lanes < 1 || recurs || !nests(&kernel.body) || !changes(kernel) {
        return;
    }
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
    kernel.exprs.iter().any(asks) || kernel.body.iter().any(|n| chain(n).is_some_and(|(_, b)| mixes(kernel, b)))
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
    let beside = Cloner::new(kernel).nest(&beside)?;
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
    size.as_dim().map_or(1.0, crate::layout::about) / f.step.max(1) as f64
}

/// A nest for each stretch of an axis between points.
fn pieces(kernel: &mut Kernel, nest: &Node, axis: AxisId, points: &[Dim]) -> Option<Vec<Node>> {
    let (loops, _) = chain(nest)?;
    let end = loops.iter().find(|f| f.axis == axis)?.end.as_dim()?.clone();
    let mut from = Dim::ZERO;
    let mut pieces = Vec::new();
    for to in points.iter().chain([&end]) {
        let mut cloner = Cloner::new(kernel);
        cloner.piece = Some((axis, from.clone(), to.clone()));
        if let Some(piece) = cloner.nest(nest) {
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

fn roots_of(kernel: &Kernel, nodes: &[Node], roots: &mut Vec<ExprId>) {
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

/// An integer that is an index, or known.
fn number(kernel: &Kernel, e: ExprId) -> Option<Index> {
    match kernel.expr(e) {
        Expr::Index(i, _) => Some(kernel.resolve(i)),
        Expr::Const(s) => s.as_i64().map(Index::from),
        _ => None,
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

/// Writes nests again, with axes and accumulators of their own and what holds in them left out.
struct Cloner<'k> {
    kernel: &'k mut Kernel,
    /// A kernel of axes alone, to reason about while the other one grows.
    space: Kernel,
    /// The axis that is cut, and the stretch of it.
    piece: Option<(AxisId, Dim, Dim)>,
    /// What is written for each axis.
    axes: IdMap<AxisId, Index>,
    accs: IdMap<AccId, AccId>,
    /// The loops that are open.
    loops: Vec<For>,
    /// By loop, and outside of all: what was written for expressions.
    known: Vec<IdMap<ExprId, ExprId>>,
}

impl<'k> Cloner<'k> {
    fn new(kernel: &'k mut Kernel) -> Cloner<'k> {
        let mut space = Kernel::new("", kernel.facts.clone());
        space.axes = kernel.axes.clone();
        Cloner {
            kernel,
            space,
            piece: None,
            axes: IdMap::default(),
            accs: IdMap::default(),
            loops: Vec::new(),
            known: vec![IdMap::default()],
        }
    }

    /// The nest written again; `None` if it has no iteration.
    fn nest(&mut self, nest: &Node) -> Option<Node> {
        self.node(nest)
    }

    fn index(&self, index: &Index) -> Index {
        index.substitute(&|a| self.axes.get(&a).cloned())
    }

    fn scoped<T>(&self, ask: impl FnOnce(&Scope<'_>) -> T) -> T {
        let mut scope = Scope::new(&self.space);
        for f in &self.loops {
            scope.enter(f);
        }
        ask(&scope)
    }

    fn node(&mut self, node: &Node) -> Option<Node> {
        Some(match node {
            Node::For(f) => Node::For(self.for_loop(f)?),
            Node::Accumulate { acc, body } => {
                let old = self.kernel.acc(*acc).clone();
                let state: Vec<State> = old
                    .state
                    .iter()
                    .map(|s| State { dtype: s.dtype, init: self.expr(s.init) })
                    .collect();
                let id = AccId(self.kernel.accs.len() as u32);
                self.kernel.accs.push(Accumulator { name: old.name.clone(), state, merge: None });
                self.accs.insert(*acc, id);
                let merge = old.merge.map(|m| Merge {
                    identity: m.identity,
                    values: m.values.iter().map(|v| self.expr(*v)).collect(),
                });
                self.kernel.accs[id.0 as usize].merge = merge;
                Node::Accumulate { acc: id, body: self.nodes(body) }
            }
            Node::Step { acc, values } => {
                let values = values.iter().map(|v| self.expr(*v)).collect();
                Node::Step { acc: self.acc(*acc), values }
            }
            Node::Store(s) => {
                let index = s.index.iter().map(|i| self.index(i)).collect();
                Node::Store(Store { index, value: self.expr(s.value), ..s.clone() })
            }
            Node::Prefetch { buffer, index, level } => {
                let index = index.iter().map(|i| self.index(i)).collect();
                Node::Prefetch { buffer: *buffer, index, level: *level }
            }
        })
    }

    fn nodes(&mut self, nodes: &[Node]) -> Vec<Node> {
        nodes.iter().filter_map(|n| self.node(n)).collect()
    }

    fn acc(&self, acc: AccId) -> AccId {
        self.accs.get(&acc).copied().unwrap_or(acc)
    }

    fn for_loop(&mut self, f: &For) -> Option<For> {
        let name = self.kernel.axis(f.axis).name.clone();
        let axis = self.kernel.add_axis(name.clone());
        self.space.add_axis(name);
        let (mut begin, mut end) = (self.index(&f.begin), self.index(&f.end));
        let mut value = Index::axis(axis);
        if let Some((_, from, to)) = self.piece.as_ref().filter(|(a, ..)| *a == f.axis) {
            value = value + Index::constant(from.clone());
            (begin, end) = (Index::from(0), Index::constant(to.clone() - from.clone()));
        }
        if begin.as_const().zip(end.as_const()).is_some_and(|(b, e)| e <= b) {
            return None;
        }
        self.axes.insert(f.axis, value);
        let mut out = For { axis, begin, end, step: f.step, kind: f.kind, body: Vec::new() };
        self.loops.push(out.clone());
        self.known.push(IdMap::default());
        let body = self.nodes(&f.body);
        self.known.pop();
        self.loops.pop();
        if body.is_empty() {
            return None;
        }
        out.body = body;
        Some(out)
    }

    /// Whether `0 <= index < end` in all iterations, or in none.
    fn holds(&self, index: &Index, end: &Dim) -> Truth {
        self.scoped(|s| match s.holds_of(index, end) {
            // Intervals of numbers are what they are.
            Truth::Sometimes if !self.is_open(s, index, end) => Truth::Sometimes,
            Truth::Sometimes => {
                let above = index.clone() - Index::constant(end.clone());
                if s.proves_within(index, end, &[]) {
                    Truth::Always
                } else if s.never_positive(&s.simplify(&(index.clone() + 1)))
                    || s.never_positive(&s.simplify(&(above.scaled(&Dim::from(-1)))))
                {
                    Truth::Never
                } else {
                    Truth::Sometimes
                }
            }
            known => known,
        })
    }

    /// Whether the prover may know more than intervals do: the axis that is cut decides, and sizes are no numbers.
    fn is_open(&self, scope: &Scope<'_>, index: &Index, end: &Dim) -> bool {
        let cut = self.piece.as_ref().and_then(|(a, ..)| self.axes.get(a));
        let mut decides = false;
        cut.into_iter().for_each(|i| i.visit_axes(&mut |a| decides |= index.mentions(a)));
        let (lo, hi) = scope.interval(index);
        decides && (lo.is_none() || hi.is_none() || end.as_const().is_none())
    }

    /// Whether an index is at least 0 in all iterations, or in none.
    fn is_nonnegative(&self, index: &Index) -> Truth {
        self.scoped(|s| {
            let index = s.simplify(index);
            if s.never_positive(&s.simplify(&index.scaled(&Dim::from(-1)))) {
                Truth::Always
            } else if s.never_positive(&s.simplify(&(index + 1))) {
                Truth::Never
            } else {
                Truth::Sometimes
            }
        })
    }

    fn compared(&self, kind: CompareKind, a: &Index, b: &Index) -> Option<bool> {
        let at_least = |x: Index| match self.is_nonnegative(&x) {
            Truth::Always => Some(true),
            Truth::Never => Some(false),
            Truth::Sometimes => None,
        };
        let difference = a.clone() - b.clone();
        match kind {
            CompareKind::Ge => at_least(difference),
            CompareKind::Lt => at_least(difference).map(|b| !b),
            CompareKind::Gt => at_least(difference - 1),
            CompareKind::Le => at_least(difference - 1).map(|b| !b),
            CompareKind::Eq | CompareKind::Ne => {
                let is_not = at_least(difference.clone()) == Some(false)
                    || at_least(difference.clone() - 1) == Some(true);
                let is = difference.is(0);
                (is || is_not).then_some(is == (kind == CompareKind::Eq))
            }
            _ => None,
        }
    }

    fn truth(&mut self, value: bool) -> ExprId {
        self.kernel.constant(Scalar::int(DType::Bool, i64::from(value)))
    }

    fn known_bool(&self, e: ExprId) -> Option<bool> {
        match self.kernel.expr(e) {
            Expr::Const(s) if s.dtype == DType::Bool => s.as_i64().map(|v| v != 0),
            _ => None,
        }
    }

    /// An expression written again.
    fn expr(&mut self, root: ExprId) -> ExprId {
        // Operands first, without recursion: expressions may be as deep as groups are long.
        let mut open = vec![(root, false)];
        while let Some((e, ready)) = open.pop() {
            if self.found(e).is_some() {
                continue;
            }
            if !ready {
                open.push((e, true));
                self.kernel.expr(e).visit_operands(&mut |o| open.push((o, false)));
                continue;
            }
            let new = self.written(e);
            if let Some(here) = self.known.last_mut() {
                here.insert(e, new);
            }
        }
        self.found(root).unwrap_or(root)
    }

    fn found(&self, e: ExprId) -> Option<ExprId> {
        self.known.iter().rev().find_map(|k| k.get(&e)).copied()
    }

    /// An expression whose operands are written.
    fn written(&mut self, e: ExprId) -> ExprId {
        let of = |c: &Self, e: ExprId| c.found(e).unwrap_or(e);
        let expr = self.kernel.expr(e).clone();
        let new = match expr {
            Expr::Index(i, d) => Expr::Index(self.index(&i), d),
            Expr::Load(Load { buffer, index, guard }) => {
                let index = index.iter().map(|i| self.index(i)).collect();
                let mut conditions = Vec::new();
                let otherwise = guard.as_ref().map(|g| of(self, g.otherwise));
                for c in guard.into_iter().flat_map(|g| g.conditions) {
                    let place = self.index(&c.index);
                    match (self.holds(&place, &c.end), otherwise) {
                        (Truth::Always, _) => {}
                        (Truth::Never, Some(otherwise)) => return otherwise,
                        _ => conditions.push(Condition { index: place, end: c.end }),
                    }
                }
                let guard = otherwise.filter(|_| !conditions.is_empty());
                let guard = guard.map(|otherwise| Guard { conditions, otherwise });
                Expr::Load(Load { buffer, index, guard })
            }
            Expr::Compare(kind, a, b) => {
                let numbers = number(self.kernel, a).zip(number(self.kernel, b));
                let decided = numbers.and_then(|(x, y)| self.compared(kind, &self.index(&x), &self.index(&y)));
                if let Some(value) = decided {
                    return self.truth(value);
                }
                Expr::Compare(kind, of(self, a), of(self, b))
            }
            Expr::Binary(kind @ (BinaryKind::And | BinaryKind::Or), a, b)
                if self.kernel.dtype(a) == DType::Bool =>
            {
                let (a, b) = (of(self, a), of(self, b));
                let decides = kind == BinaryKind::Or;
                match (self.known_bool(a), self.known_bool(b)) {
                    (Some(x), _) if x == decides => return a,
                    (_, Some(y)) if y == decides => return b,
                    (Some(_), _) => return b,
                    (_, Some(_)) => return a,
                    _ => Expr::Binary(kind, a, b),
                }
            }
            Expr::Select(c, a, b) => {
                let c = of(self, c);
                match self.known_bool(c) {
                    Some(true) => return of(self, a),
                    Some(false) => return of(self, b),
                    None => Expr::Select(c, of(self, a), of(self, b)),
                }
            }
            Expr::State(acc, n) => Expr::State(self.acc(acc), n),
            Expr::Other(acc, n) => Expr::Other(self.acc(acc), n),
            Expr::Result(acc, n) => Expr::Result(self.acc(acc), n),
            other => other.with_operands(&mut |o| of(self, o)),
        };
        self.kernel.add(new)
    }
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
