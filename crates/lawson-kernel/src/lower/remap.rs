//! The same kernel with its accesses and indices written another way.

use crate::buffer::BufferId;
use crate::expr::{Condition, Expr, ExprId, Guard, Load};
use crate::index::Index;
use crate::tree::{AccId, AxisId, For, Kernel, Node};
use std::collections::HashSet;

/// An access written another way.
pub(super) type Access<'a> = &'a dyn Fn(BufferId, &[Index]) -> (BufferId, Vec<Index>);

/// A component of an accumulator's state, known by another name.
pub(super) type Component<'a> = &'a dyn Fn(AccId, usize) -> (AccId, usize);

/// Components as they are.
pub(super) const SAME: Component<'_> = &|acc, n| (acc, n);

/// How accesses and other indices are rewritten.
pub(super) struct Remap<'a> {
    /// A buffer and the index at which it is read, written or prefetched.
    pub(super) access: Access<'a>,
    /// A buffer and the index of an element that another index mentions; rewritten before that one is.
    pub(super) datum: Access<'a>,
    /// Any other index: bounds of loops, conditions, indices as numbers.
    pub(super) index: &'a dyn Fn(&Index) -> Index,
    /// An accumulator, which is the caller's business, and a component of its state.
    pub(super) component: Component<'a>,
}

/// For each expression, whether the tree or an accumulator uses it.
fn used(kernel: &Kernel) -> Vec<bool> {
    let mut used = vec![false; kernel.exprs.len()];
    let mut mark = |e: &ExprId| used[e.0 as usize] = true;
    for acc in &kernel.accs {
        acc.state.iter().for_each(|s| mark(&s.init));
        acc.merged().iter().for_each(&mut mark);
    }
    kernel.visit(&mut |node| match node {
        Node::Store(s) => mark(&s.value),
        Node::Step { values, .. } => values.iter().for_each(&mut mark),
        Node::For(_) | Node::Accumulate { .. } | Node::Prefetch { .. } => {}
    });
    // Operands stand before what uses them.
    for i in (0..used.len()).rev() {
        if used[i] {
            kernel.exprs[i].visit_operands(&mut |o| used[o.0 as usize] = true);
        }
    }
    used
}

/// Drops expressions and axes that nothing uses, and gives axes, buffers and accumulators names of their own.
pub(super) fn tidy(kernel: &mut Kernel) {
    let mut looped: Vec<AxisId> = Vec::new();
    kernel.visit(&mut |node| {
        if let Node::For(f) = node
            && !looped.contains(&f.axis)
        {
            looped.push(f.axis);
        }
    });
    let new_id = |a: AxisId| looped.iter().position(|l| *l == a).map_or(a, |p| AxisId(p as u32));
    let index = |i: &Index| i.substitute(&|a| Some(Index::axis(new_id(a))));
    let access = |buffer: BufferId, old: &[Index]| (buffer, old.iter().map(index).collect());
    // An index is renumbered at all depths, and so are the places of the elements that it mentions.
    let datum = |buffer: BufferId, index: &[Index]| (buffer, index.to_vec());
    Remap { access: &access, datum: &datum, index: &index, component: SAME }.apply(kernel);
    kernel.axes = looped.iter().map(|a| kernel.axes[a.0 as usize].clone()).collect();
    fn renumber(nodes: &mut [Node], new_id: &impl Fn(AxisId) -> AxisId) {
        for node in nodes {
            if let Node::For(f) = node {
                f.axis = new_id(f.axis);
            }
            if let Node::For(For { body, .. }) | Node::Accumulate { body, .. } = node {
                renumber(body, new_id);
            }
        }
    }
    renumber(&mut kernel.body, &new_id);
    distinguish(kernel.axes.iter_mut().map(|a| &mut a.name));
    distinguish(kernel.buffers.iter_mut().map(|b| &mut b.name));
    distinguish(kernel.accs.iter_mut().map(|a| &mut a.name));
}

/// Drops accumulators that stand nowhere in the tree.
pub(super) fn keep_accumulators(kernel: &mut Kernel) {
    let mut kept: Vec<AccId> = Vec::new();
    kernel.visit(&mut |node| {
        if let Node::Accumulate { acc, .. } = node
            && !kept.contains(acc)
        {
            kept.push(*acc);
        }
    });
    kept.sort_unstable();
    kernel.accs = kept.iter().map(|a| kernel.accs[a.0 as usize].clone()).collect();
    let component = |acc: AccId, n: usize| (kept.binary_search(&acc).map_or(acc, |at| AccId(at as u32)), n);
    let access = |buffer: BufferId, index: &[Index]| (buffer, index.to_vec());
    Remap { access: &access, datum: &access, index: &Index::clone, component: &component }.apply(kernel);
}

/// Adds a number to every name that stands before.
fn distinguish<'a>(names: impl Iterator<Item = &'a mut String>) {
    let mut taken: HashSet<String> = HashSet::new();
    for name in names {
        let mut number = 1;
        let base = name.clone();
        while !taken.insert(name.clone()) {
            *name = format!("{base}{number}");
            number += 1;
        }
    }
}

impl Remap<'_> {
    /// Rewrites all expressions and the tree, and drops expressions that nothing uses; buffers and axes are the caller's
    /// business.
    pub(super) fn apply(&self, kernel: &mut Kernel) {
        let used = used(kernel);
        kernel.known.clear();
        let old = std::mem::take(&mut kernel.exprs);
        let mut ids: Vec<ExprId> = Vec::with_capacity(old.len());
        for (expr, used) in old.into_iter().zip(used) {
            if !used {
                ids.push(ExprId(0));
                continue;
            }
            let of = |e: ExprId| ids[e.0 as usize];
            let new = match expr {
                Expr::Index(i, d) => Expr::Index(self.index(&i), d),
                Expr::Load(load) => {
                    let (buffer, index) = self.access(load.buffer, &load.index);
                    let guard = load.guard.map(|g| Guard {
                        conditions: g
                            .conditions
                            .into_iter()
                            .map(|c| Condition { index: self.index(&c.index), end: c.end })
                            .collect(),
                        otherwise: of(g.otherwise),
                    });
                    Expr::Load(Load { buffer, index, guard })
                }
                Expr::Unary(k, a) => Expr::Unary(k, of(a)),
                Expr::Binary(k, a, b) => Expr::Binary(k, of(a), of(b)),
                Expr::Extremum(k, a, b) => Expr::Extremum(k, of(a), of(b)),
                Expr::Fma(a, b, c) => Expr::Fma(of(a), of(b), of(c)),
                Expr::Compare(k, a, b) => Expr::Compare(k, of(a), of(b)),
                Expr::Select(a, b, c) => Expr::Select(of(a), of(b), of(c)),
                Expr::Cast(a, d) => Expr::Cast(of(a), d),
                Expr::Bitcast(a, d) => Expr::Bitcast(of(a), d),
                Expr::State(acc, n) => self.component(Expr::State, acc, n),
                Expr::Other(acc, n) => self.component(Expr::Other, acc, n),
                Expr::Result(acc, n) => self.component(Expr::Result, acc, n),
                same @ Expr::Const(_) => same,
            };
            ids.push(kernel.add(new));
        }
        let of = |e: &mut ExprId| *e = ids[e.0 as usize];
        for acc in &mut kernel.accs {
            acc.state.iter_mut().for_each(|s| of(&mut s.init));
            acc.merge.iter_mut().flat_map(|m| &mut m.values).for_each(of);
        }
        let mut body = std::mem::take(&mut kernel.body);
        self.nodes(&mut body, &of);
        kernel.body = body;
    }

    fn access(&self, buffer: BufferId, index: &[Index]) -> (BufferId, Vec<Index>) {
        let index: Vec<Index> = index.iter().map(|i| i.with_data(&self.datum)).collect();
        (self.access)(buffer, &index)
    }

    fn index(&self, index: &Index) -> Index {
        (self.index)(&index.with_data(&self.datum))
    }

    fn component(&self, make: fn(AccId, usize) -> Expr, acc: AccId, n: usize) -> Expr {
        let (acc, n) = (self.component)(acc, n);
        make(acc, n)
    }

    fn nodes(&self, nodes: &mut [Node], of: &impl Fn(&mut ExprId)) {
        for node in nodes {
            match node {
                Node::For(f) => {
                    f.begin = self.index(&f.begin);
                    f.end = self.index(&f.end);
                    self.nodes(&mut f.body, of);
                }
                Node::Accumulate { acc, body } => {
                    (*acc, _) = (self.component)(*acc, 0);
                    self.nodes(body, of);
                }
                Node::Step { acc, values } => {
                    (*acc, _) = (self.component)(*acc, 0);
                    values.iter_mut().for_each(of);
                }
                Node::Store(s) => {
                    (s.buffer, s.index) = self.access(s.buffer, &s.index);
                    of(&mut s.value);
                }
                Node::Prefetch { buffer, index, .. } => {
                    (*buffer, *index) = self.access(*buffer, index);
                }
            }
        }
    }
}
