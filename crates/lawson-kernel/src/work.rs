//! How much a kernel computes: every evaluation of every expression, counted.
//!
//! In: a kernel as lowering made it. Out: the slots of arithmetic that its loops ask for, sizes that are not known taken as usual. An
//! expression is counted where the innermost loop that it depends on stands, as often as that loop's body runs: what does not change in a
//! loop is computed outside of it. Every branch of a choice counts, because every lane goes through all of them; so what a chain of
//! slices, pads and concatenations computes again and again is seen here as what it is.
//!
//! `predict` says how long a scheduled kernel takes; this says only what is to be computed, so that a kernel can be compared with its parts before
//! any of them has a schedule.

use crate::buffer::BufferId;
use crate::expr::{Expr, ExprId};
use crate::hash::{IdMap, IdSet};
use crate::index::Index;
use crate::layout::about;
use crate::predict::{Operation, of_index};
use crate::tree::{AccId, AxisId, For, Kernel, Node};

/// What a kernel computes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    /// Slots of arithmetic, of single elements.
    pub(crate) slots: f64,
    /// How often elements of each buffer are loaded.
    pub(crate) loads: IdMap<BufferId, f64>,
}

/// A condition of a guard, or the choice that it stands for.
const CONDITION: f64 = 0.6;

/// The work of a whole kernel.
pub(crate) fn work(kernel: &Kernel) -> Work {
    of_nodes(kernel, &kernel.body)
}

/// The work of some nodes of a kernel's body.
pub(crate) fn of_nodes(kernel: &Kernel, nodes: &[Node]) -> Work {
    let mut counter = Counter {
        kernel,
        loops: Vec::new(),
        seen: vec![IdSet::default()],
        around: IdMap::default(),
        depths: IdMap::default(),
        work: Work::default(),
    };
    counter.nodes(nodes);
    counter.work
}

struct Counter<'k> {
    kernel: &'k Kernel,
    /// The loops around, with how often the body of each runs.
    loops: Vec<(AxisId, f64)>,
    /// What is counted already: outside of all loops, and in each of them.
    seen: Vec<IdSet<ExprId>>,
    /// How many loops stand around each accumulator.
    around: IdMap<AccId, usize>,
    /// How many loops an expression needs around it, where that was asked.
    depths: IdMap<ExprId, usize>,
    work: Work,
}

impl Counter<'_> {
    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::For(f) => self.enter(f),
                Node::Accumulate { acc, body } => {
                    let init: Vec<ExprId> = self.kernel.acc(*acc).state.iter().map(|s| s.init).collect();
                    init.into_iter().for_each(|e| self.count(e));
                    self.around.insert(*acc, self.loops.len());
                    self.nodes(body);
                }
                Node::Step { values, .. } => values.iter().for_each(|e| self.count(*e)),
                Node::Store(s) => self.count(s.value),
                Node::Prefetch { .. } => {}
            }
        }
    }

    fn enter(&mut self, f: &For) {
        let size = self.kernel.resolve(&f.end) - self.kernel.resolve(&f.begin);
        let size =
            size.as_dim().map_or(1.0, |d| about(&self.kernel.facts, d)).max(0.0) / f.step.max(1) as f64;
        let runs = self.runs(self.loops.len()) * size;
        self.loops.push((f.axis, runs));
        self.seen.push(IdSet::default());
        self.nodes(&f.body);
        self.seen.pop();
        self.loops.pop();
        self.depths.clear();
    }

    /// How often what stands in so many loops runs.
    fn runs(&self, depth: usize) -> f64 {
        depth.checked_sub(1).map_or(1.0, |at| self.loops[at].1)
    }

    fn depth_of(&self, index: &Index) -> usize {
        let mut depth = 0;
        index.visit_axes(&mut |a| {
            let of = match &self.kernel.axis(a).derived {
                Some(derived) => self.depth_of(derived),
                None => self.loops.iter().rposition(|(l, _)| *l == a).map_or(0, |p| p + 1),
            };
            depth = depth.max(of);
        });
        depth
    }

    /// How many loops must stand around an expression for it to have its value.
    fn depth(&mut self, e: ExprId) -> usize {
        if let Some(depth) = self.depths.get(&e) {
            return *depth;
        }
        let expr = self.kernel.expr(e);
        let mut depth = match expr {
            Expr::State(..) | Expr::Other(..) => self.loops.len(),
            Expr::Result(acc, _) => self.around.get(acc).copied().unwrap_or(self.loops.len()),
            _ => 0,
        };
        expr.visit_indices(&mut |i| depth = depth.max(self.depth_of(i)));
        let mut operands = Vec::new();
        expr.visit_operands(&mut |o| operands.push(o));
        for o in operands {
            depth = depth.max(self.depth(o));
        }
        self.depths.insert(e, depth);
        depth
    }

    fn count(&mut self, root: ExprId) {
        let mut open = vec![root];
        while let Some(e) = open.pop() {
            let depth = self.depth(e).min(self.loops.len());
            if !self.seen[depth].insert(e) {
                continue;
            }
            let runs = self.runs(depth);
            let expr = self.kernel.expr(e);
            let own = Operation::of(self.kernel, expr).slots;
            if let Expr::Load(load) = expr {
                *self.work.loads.entry(load.buffer).or_default() += runs;
                let conditions = load.guard.iter().flat_map(|g| &g.conditions);
                let asked: f64 = conditions.map(|c| CONDITION + of_index(&c.index)).sum();
                let found: f64 = load.index.iter().map(of_index).sum();
                self.work.slots += runs * (asked + found);
            }
            self.work.slots += runs * own;
            expr.visit_operands(&mut |o| open.push(o));
        }
    }
}
