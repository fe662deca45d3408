//! Nests written again, with axes and accumulators of their own.
//!
//! In: a nest of a kernel, and what is to be different: an axis runs over a stretch of what it ran over, or is two loops, over its quotients and its
//! remainders. Out: the nest, whose indices are as simple as its loops allow; guards and choices that are decided there are left out.

use crate::expr::{Condition, Expr, ExprId, Guard, Load, Scalar};
use crate::hash::IdMap;
use crate::index::{Atom, Index};
use crate::range::{Scope, Truth};
use crate::tree::{AccId, Accumulator, AxisId, For, Kernel, Merge, Node, State, Store};
use lawson_graph::op::{BinaryKind, CompareKind};
use lawson_graph::{DType, Dim};

/// What is different in the nest that is written.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Nothing but axes and accumulators.
    None,
    /// The axis takes the values from one to below another, counted from 0.
    Piece {
        /// Which axis.
        axis: AxisId,
        /// The first value.
        from: Dim,
        /// One past the last.
        to: Dim,
    },
    /// The axis is two: how often a number goes into it, which divides its end, and what is left.
    Digits {
        /// Which axis.
        axis: AxisId,
        /// The number.
        by: i64,
    },
}

/// Writes nests again.
pub(super) struct Cloner<'k> {
    kernel: &'k mut Kernel,
    /// A kernel of axes alone, to reason about while the other one grows.
    space: Kernel,
    change: Change,
    /// What is written for each axis.
    axes: IdMap<AxisId, Index>,
    accs: IdMap<AccId, AccId>,
    /// The loops that are open.
    loops: Vec<For>,
    /// By loop, and outside of all: what was written for expressions.
    known: Vec<IdMap<ExprId, ExprId>>,
}

impl<'k> Cloner<'k> {
    pub(super) fn new(kernel: &'k mut Kernel, change: Change) -> Cloner<'k> {
        let mut space = Kernel::new("", kernel.facts.clone());
        space.axes = kernel.axes.clone();
        Cloner {
            kernel,
            space,
            change,
            axes: IdMap::default(),
            accs: IdMap::default(),
            loops: Vec::new(),
            known: vec![IdMap::default()],
        }
    }

    /// The nest written again; `None` if it has no iteration.
    pub(super) fn nest(&mut self, nest: &Node) -> Option<Node> {
        self.node(nest)
    }

    fn index(&self, index: &Index) -> Index {
        let index = index.substitute(&|a| self.axes.get(&a).cloned());
        let plain = index.terms().iter().all(|(a, _)| matches!(a, Atom::Axis(_)));
        match self.change {
            Change::Digits { .. } if !plain => self.scoped(|s| s.simplify(&index)),
            _ => index,
        }
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
                let state: Vec<State> =
                    old.state.iter().map(|s| State { dtype: s.dtype, init: self.expr(s.init) }).collect();
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
        let (begin, end) = (self.index(&f.begin), self.index(&f.end));
        match self.change.clone() {
            Change::Piece { axis, from, to } if axis == f.axis => {
                let (new, end) = (self.axis(f.axis), Index::constant(to - from.clone()));
                self.axes.insert(f.axis, Index::axis(new) + Index::constant(from));
                self.entered(For { axis: new, begin: Index::from(0), end, ..f.clone() }, |c| c.nodes(&f.body))
            }
            Change::Digits { axis, by } if axis == f.axis => {
                let (quotient, rest) = (self.axis(f.axis), self.axis(f.axis));
                self.axes.insert(f.axis, Index::axis(quotient).scaled(&Dim::from(by)) + rest);
                let count = Index::constant(end.as_dim()?.floor_div(&Dim::from(by)));
                let inner = For { axis: rest, begin: Index::from(0), end: Index::from(by), ..f.clone() };
                self.entered(For { axis: quotient, begin: Index::from(0), end: count, ..f.clone() }, |c| {
                    c.entered(inner, |c| c.nodes(&f.body)).map(Node::For).into_iter().collect()
                })
            }
            _ => {
                let new = self.axis(f.axis);
                self.axes.insert(f.axis, Index::axis(new));
                self.entered(For { axis: new, begin, end, ..f.clone() }, |c| c.nodes(&f.body))
            }
        }
    }

    /// An axis of the same name.
    fn axis(&mut self, like: AxisId) -> AxisId {
        let name = self.kernel.axis(like).name.clone();
        self.space.add_axis(name.clone());
        self.kernel.add_axis(name)
    }

    /// A loop with the body that is written inside of it; `None` if it has no iteration, or nothing is in it.
    fn entered(&mut self, head: For, body: impl FnOnce(&mut Self) -> Vec<Node>) -> Option<For> {
        if head.begin.as_const().zip(head.end.as_const()).is_some_and(|(b, e)| e <= b) {
            return None;
        }
        self.loops.push(For { body: Vec::new(), ..head.clone() });
        self.known.push(IdMap::default());
        let body = body(self);
        self.known.pop();
        self.loops.pop();
        (!body.is_empty()).then_some(For { body, ..head })
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
        let cut = match &self.change {
            Change::Piece { axis, .. } => self.axes.get(axis),
            _ => None,
        };
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
                let decided =
                    numbers.and_then(|(x, y)| self.compared(kind, &self.index(&x), &self.index(&y)));
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

/// An integer that is an index, or known.
pub(super) fn number(kernel: &Kernel, e: ExprId) -> Option<Index> {
    match kernel.expr(e) {
        Expr::Index(i, _) => Some(kernel.resolve(i)),
        Expr::Const(s) => s.as_i64().map(Index::from),
        _ => None,
    }
}
