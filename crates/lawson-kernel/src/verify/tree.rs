//! What holds at places in the tree: axes in scope, accumulators, roles, bounds, kinds.
//!
//! One walk from the root, with the loops entered ([`Scope`]), the accumulators that are open or have results, and the
//! scratch that has been written. The path to the place is kept for messages.

use super::conflict::{conflict, meet_beside};
use super::error;
use crate::BufferId;
use crate::buffer::Role;
use crate::expr::{Condition, Expr, ExprId};
use crate::hash::IdSet;
use crate::index::{Datum, Index};
use crate::range::Scope;
use crate::schedule::possible;
use crate::tree::{AccId, AxisId, For, Kernel, Kind, Node};
use lawson_graph::{Code, DType, Error, Result};

/// Checks the tree, and the merges of accumulators, which stand outside of it.
pub(super) fn check(kernel: &Kernel) -> Result<()> {
    let mut place = Place {
        kernel,
        scope: Scope::new(kernel),
        path: Vec::new(),
        loops: Vec::new(),
        open: Vec::new(),
        finished: Vec::new(),
        written: IdSet::default(),
        proven: Vec::new(),
    };
    for (i, acc) in kernel.accs.iter().enumerate() {
        place.path.push(Stop::Accumulator(AccId(i as u32)));
        place.values(acc.merged(), Position::Merge(AccId(i as u32)))?;
        place.path.pop();
    }
    place.nodes(&kernel.body)?;
    place.beside()
}

/// What an expression is for, which says what it may mention.
#[derive(Clone, Copy)]
enum Position {
    /// The value of a store or the beginning of a state.
    Plain,
    /// The step of an accumulator.
    Step(AccId),
    /// The merge of an accumulator.
    Merge(AccId),
}

/// A part of the path to a place.
#[derive(Clone, Copy)]
enum Stop<'k> {
    Node(&'k Node),
    /// The merge of an accumulator.
    Accumulator(AccId),
}

struct Place<'k> {
    kernel: &'k Kernel,
    scope: Scope<'k>,
    path: Vec<Stop<'k>>,
    /// Axes and kinds of the loops around, outermost first.
    loops: Vec<(AxisId, Kind)>,
    /// The accumulators whose `accumulate` stands around.
    open: Vec<AccId>,
    /// Those whose results are known.
    finished: Vec<AccId>,
    /// The scratch that has been stored to.
    written: IdSet<BufferId>,
    /// Loads known to be inside their buffers here.
    proven: Vec<ExprId>,
}

impl<'k> Place<'k> {
    fn error(&self, code: Code, message: impl Into<String>) -> Error {
        let path: Vec<String> = self.path.iter().map(|stop| self.describe(*stop)).collect();
        error(self.kernel, code, path.join(" > "), message)
    }

    fn shown(&self, index: &Index) -> String {
        self.kernel.show(index)
    }

    fn nodes(&mut self, nodes: &'k [Node]) -> Result<()> {
        let finished = self.finished.len();
        for node in nodes {
            self.path.push(Stop::Node(node));
            match node {
                Node::For(f) => self.loop_over(f, nodes.len())?,
                Node::Accumulate { acc, body } => {
                    if self.open.contains(acc) {
                        let message =
                            format!("`accumulate {}` stands inside itself", self.kernel.acc(*acc).name);
                        return Err(self.error(Code::KernelAccumulator, message));
                    }
                    let init: Vec<ExprId> = self.kernel.acc(*acc).state.iter().map(|s| s.init).collect();
                    self.values(&init, Position::Plain)?;
                    self.open.push(*acc);
                    self.nodes(body)?;
                    self.open.pop();
                    self.finished.push(*acc);
                }
                Node::Step { acc, values } => {
                    if !self.open.contains(acc) {
                        let message = "the step stands outside of the `accumulate` of its accumulator";
                        return Err(self.error(Code::KernelAccumulator, message));
                    }
                    self.values(values, Position::Step(*acc))?;
                }
                Node::Store(s) => {
                    self.values(&[s.value], Position::Plain)?;
                    let buffer = self.kernel.buffer(s.buffer);
                    match buffer.role {
                        Role::Input => {
                            let message = format!("`{}` is an input, which is not written", buffer.name);
                            return Err(self.error(Code::KernelScratch, message));
                        }
                        Role::Output => {}
                        Role::Scratch(_) => {
                            self.written.insert(s.buffer);
                        }
                    }
                    self.indices(s.index.iter())?;
                    self.bounds(s.buffer, &s.index, &[])?;
                }
                Node::Prefetch { index, .. } => self.indices(index.iter())?,
            }
            self.path.pop();
        }
        self.finished.truncate(finished);
        Ok(())
    }

    /// Checks that nests at the root do not get in each other's way where members of a team share all of them at once.
    fn beside(&self) -> Result<()> {
        if !self.kernel.is_side_by_side() {
            return Ok(());
        }
        match meet_beside(self.kernel) {
            None => Ok(()),
            Some(buffer) => {
                let buffer = &self.kernel.buffer(buffer).name;
                let message =
                    format!("nests at the root, which a team shares at once, may meet in `{buffer}`");
                Err(self.error(Code::KernelConflict, message).help(format!(
                    "store to parts of `{buffer}` that are apart in some dimension, or make the loops serial"
                )))
            }
        }
    }

    fn describe(&self, stop: Stop<'_>) -> String {
        let node = match stop {
            Stop::Node(node) => node,
            Stop::Accumulator(acc) => return format!("accumulator {}", self.kernel.acc(acc).name),
        };
        let element = |buffer: BufferId, index: &[Index]| {
            let index: Vec<String> = index.iter().map(|i| self.shown(i)).collect();
            format!("{}[{}]", self.kernel.buffer(buffer).name, index.join(", "))
        };
        match node {
            Node::For(f) => format!("for {}", self.kernel.axis(f.axis).name),
            Node::Accumulate { acc, .. } => format!("accumulate {}", self.kernel.acc(*acc).name),
            Node::Step { acc, .. } => format!("step {}", self.kernel.acc(*acc).name),
            Node::Store(s) => format!("store {}", element(s.buffer, &s.index)),
            Node::Prefetch { buffer, index, .. } => format!("prefetch {}", element(*buffer, index)),
        }
    }

    fn loop_over(&mut self, f: &'k For, siblings: usize) -> Result<()> {
        let kernel = self.kernel;
        let name = &kernel.axis(f.axis).name;
        if kernel.axis(f.axis).derived.is_some() {
            return Err(self.error(Code::KernelAxis, format!("`{name}` is derived; no loop runs over it")));
        }
        if self.loops.iter().any(|(a, _)| *a == f.axis) {
            return Err(self.error(Code::KernelAxis, format!("a loop over `{name}` stands inside another")));
        }
        self.indices([&f.begin, &f.end].into_iter())?;
        if !self.scope.proves_nonnegative(&f.begin) {
            let message = format!("the loop begins at {}, which may be negative", self.shown(&f.begin));
            return Err(self.error(Code::KernelAxis, message));
        }
        self.kind(f, siblings)?;
        // What parallel iterations have in scratch is theirs alone.
        let written = match f.kind {
            Kind::Parallel => Some(std::mem::take(&mut self.written)),
            Kind::Serial | Kind::Unroll | Kind::Dot | Kind::Skip | Kind::Jam | Kind::Vector(_) => None,
        };
        let proven = self.proven.len();
        self.loops.push((f.axis, f.kind));
        let left = self.scope.enter(f);
        self.nodes(&f.body)?;
        self.scope.leave(left);
        self.loops.pop();
        self.proven.truncate(proven);
        if let Some(written) = written {
            self.written = written;
        }
        Ok(())
    }

    fn kind(&mut self, f: &For, siblings: usize) -> Result<()> {
        let refuse = |place: &Place<'_>, message: String| Err(place.error(Code::KernelKind, message));
        let kernel = self.kernel;
        let name = &kernel.axis(f.axis).name;
        if f.kind == Kind::Parallel {
            let chain = self.open.is_empty() && self.loops.iter().all(|(_, k)| *k == Kind::Parallel);
            if !chain || (!self.loops.is_empty() && siblings > 1) {
                let message = "a parallel loop stands at the root, or alone in another parallel loop";
                return refuse(self, message.into());
            }
        }
        if matches!(f.kind, Kind::Vector(_)) && self.loops.iter().any(|(_, k)| matches!(k, Kind::Vector(_))) {
            return refuse(self, "a vector loop stands inside another".into());
        }
        possible(&self.scope, f, f.kind).or_else(|message| refuse(self, message))?;
        for bound in [&f.begin, &f.end] {
            let bound = self.scope.simplify(&self.kernel.resolve(bound));
            let depends = self.loops.iter().find(|(a, k)| match (f.kind, k) {
                (_, Kind::Parallel | Kind::Serial | Kind::Unroll | Kind::Dot | Kind::Skip)
                | (Kind::Vector(_), Kind::Jam) => false,
                (_, Kind::Jam | Kind::Vector(_)) => bound.mentions(*a),
            });
            if let Some((a, k)) = depends {
                let (outer, bound) = (&self.kernel.axis(*a).name, self.shown(&bound));
                let message =
                    format!("the loop over `{outer}` is {}, so {bound} may not bound `{name}`", k.name());
                return refuse(self, message);
            }
        }
        if let Some(acc) = kernel.recurs_in(&f.body)
            && matches!(f.kind, Kind::Jam | Kind::Vector(_) | Kind::Parallel)
        {
            let acc = &kernel.acc(acc).name;
            let message = format!("iterations of `{name}` step the recurrence `{acc}`, and so go in order");
            return refuse(self, message);
        }
        // Members of a team have scratch of their own; iterations in one member's registers share it.
        let private = match f.kind {
            Kind::Serial | Kind::Unroll | Kind::Dot => return Ok(()),
            Kind::Skip => return self.skips(f),
            Kind::Parallel => true,
            Kind::Jam | Kind::Vector(_) => false,
        };
        match conflict(&mut self.scope, f, &|_| private) {
            None => Ok(()),
            Some(buffer) => {
                let buffer = &self.kernel.buffer(buffer).name;
                let message = format!("iterations of `{name}` may meet in `{buffer}`");
                Err(self.error(Code::KernelConflict, message).help(format!(
                    "make the loop serial, or index `{buffer}` such that every iteration has elements of its own"
                )))
            }
        }
    }

    /// Checks that iterations which are executed together skip the same steps.
    fn skips(&self, f: &For) -> Result<()> {
        let kernel = self.kernel;
        let [factor, _] = kernel.skipped(f).map_err(|why| self.error(Code::KernelKind, why))?;
        let together = |k: &Kind| matches!(k, Kind::Jam | Kind::Vector(_));
        let offset = kernel.offset_of(factor);
        let guard = match kernel.expr(factor) {
            Expr::Load(load) => load.guard.as_ref(),
            _ => None,
        };
        let conditions: Vec<Index> =
            guard.iter().flat_map(|g| &g.conditions).map(|c| kernel.resolve(&c.index)).collect();
        let moves = |a: AxisId| offset.mentions(a) || conditions.iter().any(|c| c.mentions(a));
        let differs = |(a, k): &&(AxisId, Kind)| together(k) && moves(*a);
        match self.loops.iter().find(differs) {
            None => Ok(()),
            Some((a, k)) => {
                let (outer, name) = (&kernel.axis(*a).name, &kernel.axis(f.axis).name);
                let message = format!(
                    "the loop over `{outer}` is {}, and what `{name}` is skipped by differs between its iterations",
                    k.name()
                );
                Err(self.error(Code::KernelKind, message))
            }
        }
    }

    /// Checks that the axes of indices have values here, and that the elements that they mention are there.
    fn indices<'i>(&self, mut indices: impl Iterator<Item = &'i Index>) -> Result<()> {
        indices.try_for_each(|index| {
            let mut data = Vec::new();
            index.visit_data(&mut |d| data.push(d.clone()));
            data.iter().try_for_each(|d| self.datum(d))?;
            let mut missing = None;
            self.kernel.resolve(index).visit_axes(&mut |a| {
                if !self.loops.iter().any(|(l, _)| *l == a) {
                    missing = Some(a);
                }
            });
            missing.map_or(Ok(()), |a| {
                let message = format!("`{}` has no value here", self.kernel.axis(a).name);
                Err(self.error(Code::KernelAxis, message))
            })
        })
    }

    /// Checks an element that an index mentions. No guard is asked: what says where others lie is read before them.
    fn datum(&self, datum: &Datum) -> Result<()> {
        let buffer = self.kernel.buffer(datum.buffer);
        if buffer.role != Role::Input {
            let message = format!("an index mentions `{}`, which is no input: it could change", buffer.name);
            return Err(self.error(Code::KernelScratch, message));
        }
        if !matches!(buffer.dtype, DType::I32 | DType::I64) {
            let message = format!("an index mentions `{}`, whose elements are {}", buffer.name, buffer.dtype);
            return Err(self.error(Code::KernelDType, message));
        }
        self.bounds(datum.buffer, &datum.index, &[])
    }

    /// Checks that an element lies in its buffer.
    fn bounds(&self, buffer: BufferId, index: &[Index], given: &[Condition]) -> Result<()> {
        let buffer = self.kernel.buffer(buffer);
        for (d, (i, dim)) in index.iter().zip(&buffer.dims).enumerate() {
            if !self.scope.proves_within(i, dim, given) {
                let message = format!(
                    "it does not follow that {} lies in 0 to {dim}, dimension {d} of `{}`",
                    self.shown(i),
                    buffer.name
                );
                return Err(self.error(Code::KernelBounds, message));
            }
        }
        Ok(())
    }

    /// Checks what expressions mention and read.
    fn values(&mut self, values: &[ExprId], position: Position) -> Result<()> {
        let kernel = self.kernel;
        let mut seen = IdSet::default();
        let mut open = values.to_vec();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let expr = kernel.expr(id);
            self.mentions(expr, position)?;
            if let Expr::Load(load) = expr {
                let buffer = kernel.buffer(load.buffer);
                if matches!(buffer.role, Role::Scratch(_)) && !self.written.contains(&load.buffer) {
                    let message = format!("`{}` is read, but nothing was stored in it before", buffer.name);
                    return Err(self.error(Code::KernelScratch, message));
                }
                if !self.proven.contains(&id) {
                    let conditions = load.guard.as_ref().map_or(&[][..], |g| &g.conditions);
                    self.bounds(load.buffer, &load.index, conditions)?;
                    self.proven.push(id);
                }
            }
            expr.visit_operands(&mut |o| open.push(o));
        }
        Ok(())
    }

    /// Checks that what an expression itself mentions has a value in its position.
    fn mentions(&self, expr: &Expr, position: Position) -> Result<()> {
        let fail = |message: String| Err(self.error(Code::KernelAccumulator, message));
        let name = |acc: AccId| &self.kernel.acc(acc).name;
        let mut indices = Vec::new();
        expr.visit_indices(&mut |i| indices.push(i.clone()));
        match (expr, position) {
            (Expr::State(acc, _), Position::Step(own) | Position::Merge(own)) if *acc == own => Ok(()),
            (Expr::Other(acc, _), Position::Merge(own)) if *acc == own => Ok(()),
            (Expr::State(acc, _), Position::Plain | Position::Step(_))
                if self.kernel.acc(*acc).merge.is_none() && self.open.contains(acc) =>
            {
                Ok(())
            }
            (Expr::State(acc, _) | Expr::Other(acc, _), _) => {
                fail(format!("the state of `{}` is known only to its own steps and its merge", name(*acc)))
            }
            (Expr::Load(_) | Expr::Index(..) | Expr::Result(..), Position::Merge(_)) => {
                fail("a merge is a function of the two states alone".into())
            }
            (Expr::Result(acc, _), _) if !self.finished.contains(acc) => {
                fail(format!("`{}` has no result here", name(*acc)))
            }
            _ => self.indices(indices.iter()),
        }
    }
}
