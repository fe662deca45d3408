//! The default schedule: chosen at once, from the kernel's shape and the machine model.
//!
//! In: a natural kernel, as lowering makes it. Out: the same kernel with a schedule applied, the schedule itself as text that
//! can be replayed, and layouts for operands that are known when compiling.
//!
//! The tree is taken apart into *nests*: loops directly within each other around stages. A nest of stages alone is
//! elementwise (`elementwise.rs`); one around an accumulator is a contraction if a loop over its outputs can be the vector
//! (`contraction.rs`, its tile by `tile.rs`, its rows by `rows.rs`, guards of what it reads by `guards.rs`, products of bytes by `dot.rs`), and a reduction if only a loop over what is summed can
//! (`reduction.rs`). Everything else is loops around nests: the outermost are shared among the team, and while one row is computed with, the
//! next is fetched (`next.rs`). Sums of products with what is often 0 have a second schedule (`skip.rs`). A device with a grid of threads wants something else (`grid.rs`).

mod contraction;
mod dot;
mod elementwise;
mod grid;
mod guards;
mod next;
mod panels;
mod reduction;
mod rows;
mod skip;
mod stride;
mod tile;

pub use skip::choose_skipping;
pub(crate) use skip::gains_by_zeros;

use crate::buffer::{BufferId, Layout, Role};
use crate::index::Index;
use crate::machine::{Machine, Spread};
use crate::range::Scope;
use crate::schedule::{Directive, Schedule, Tail};
use crate::tree::{AxisId, For, Kernel, Kind, Node};
use crate::verify::meet_beside;
use lawson_graph::{DType, Result, UNKNOWN_SIZE};
use stride::{Stride, loads, stride};

/// What was chosen.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The directives, in order.
    pub schedule: Schedule,
    /// Layouts of constant operands that differ from row-major.
    pub layouts: Vec<(BufferId, Layout)>,
}

/// What the chooser may decide on besides the schedule.
#[derive(Clone, Debug, Default)]
pub struct Freedom {
    /// Buffers whose contents are known when compiling, and so can be laid out as the kernel wants.
    pub constants: Vec<BufferId>,
    /// Buffers many of whose elements are probably 0.
    pub often_zero: Vec<BufferId>,
}

pub(crate) struct Chooser<'k> {
    kernel: &'k Kernel,
    machine: &'k Machine,
    freedom: &'k Freedom,
    choice: Choice,
}

/// Shares of a kernel that are enough for any team.
const SHARES: i64 = 128;

/// Where a nest stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// At the root: its outer loops may be shared among the team.
    Root,
    /// Inside loops that are shared already.
    Inside,
}

/// Chooses a schedule and applies it.
pub fn choose(kernel: &mut Kernel, machine: &Machine, freedom: &Freedom) -> Result<Choice> {
    unique_names(kernel);
    normalise(kernel);
    if machine.spread == Spread::Grid {
        return grid::choose(kernel);
    }
    let machine = &machine.for_kernel(kernel);
    let choice = {
        let mut c = Chooser { kernel, machine, freedom, choice: Choice::default() };
        c.root(&kernel.body);
        c.choice
    };
    for (buffer, layout) in &choice.layouts {
        kernel.buffers[buffer.0 as usize].layout = layout.clone();
    }
    choice.schedule.apply(kernel)?;
    Ok(choice)
}

/// Every loop begins at 0, and its bounds are as simple as the loops around it allow.
fn normalise(kernel: &mut Kernel) {
    fn walk(scope: &mut Scope<'_>, nodes: &mut [Node], moved: &mut Vec<(AxisId, Index)>) {
        for node in nodes {
            match node {
                Node::For(f) => {
                    let kernel = scope.kernel();
                    f.begin = scope.simplify(&kernel.resolve(&f.begin));
                    f.end = scope.simplify(&kernel.resolve(&f.end));
                    let left = scope.enter(f);
                    walk(scope, &mut f.body, moved);
                    scope.leave(left);
                    let twice = moved.iter().any(|(a, _)| *a == f.axis);
                    let counted = scope.simplify(&(f.end.clone() - f.begin.clone())).as_const().is_some();
                    if !f.begin.is(0) && counted && f.step == 1 && f.kind == Kind::Serial && !twice {
                        moved.push((f.axis, f.begin.clone()));
                    }
                }
                Node::Accumulate { body, .. } => walk(scope, body, moved),
                Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => {}
            }
        }
    }
    fn shift(nodes: &mut [Node], axis: AxisId, to: AxisId, by: &Index) {
        for node in nodes {
            match node {
                Node::For(f) => {
                    if f.axis == axis {
                        f.axis = to;
                        f.end = f.end.clone() - by.clone();
                        f.begin = 0.into();
                    }
                    shift(&mut f.body, axis, to, by);
                }
                Node::Accumulate { body, .. } => shift(body, axis, to, by),
                Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => {}
            }
        }
    }
    let mut body = std::mem::take(&mut kernel.body);
    let mut moved = Vec::new();
    walk(&mut Scope::new(kernel), &mut body, &mut moved);
    // An axis of several loops has no one begin.
    let loops = |nodes: &[Node], axis: AxisId| {
        fn count(nodes: &[Node], axis: AxisId) -> usize {
            nodes
                .iter()
                .map(|n| match n {
                    Node::For(f) => usize::from(f.axis == axis) + count(&f.body, axis),
                    Node::Accumulate { body, .. } => count(body, axis),
                    _ => 0,
                })
                .sum()
        }
        count(nodes, axis)
    };
    for (axis, begin) in moved {
        if loops(&body, axis) != 1 {
            continue;
        }
        let name = format!("{}_from0", kernel.axis(axis).name);
        let to = kernel.add_axis(name);
        kernel.axes[axis.0 as usize].derived = Some(begin.clone() + Index::axis(to));
        shift(&mut body, axis, to, &begin);
    }
    // What loops begin with is gone from the bounds of those inside them.
    walk(&mut Scope::new(kernel), &mut body, &mut Vec::new());
    kernel.body = body;
}

/// Directives speak of axes by their names.
fn unique_names(kernel: &mut Kernel) {
    let mut seen = std::collections::HashSet::new();
    for (n, axis) in kernel.axes.iter_mut().enumerate().rev() {
        if !seen.insert(axis.name.clone()) {
            axis.name = format!("{}_{n}", axis.name);
            seen.insert(axis.name.clone());
        }
    }
}

/// Loops directly within each other, and what stands in the innermost.
struct Nest<'k> {
    loops: Vec<&'k For>,
    body: &'k [Node],
}

fn nest(f: &For) -> Nest<'_> {
    let mut loops = vec![f];
    let mut body = f.body.as_slice();
    while let [Node::For(inner)] = body {
        loops.push(inner);
        body = &inner.body;
    }
    Nest { loops, body }
}

/// The extent of a loop, if it is known.
fn extent(f: &For) -> Option<i64> {
    let e = f.end.as_const()? - f.begin.as_const()?;
    Some((e + f.step - 1).div_euclid(f.step).max(0))
}

impl<'k> Chooser<'k> {
    fn name(&self, f: &For) -> String {
        self.kernel.axis(f.axis).name.clone()
    }

    fn split(&mut self, axis: &str, factor: i64, tail: Tail) -> [String; 2] {
        self.choice.schedule.0.push(Directive::Split { axis: axis.into(), factor, tail });
        [format!("{axis}.0"), format!("{axis}.1")]
    }

    fn execute(&mut self, axis: &str, kind: Kind) {
        self.choice.schedule.0.push(Directive::Execute { axis: axis.into(), kind });
    }

    fn reorder(&mut self, axes: Vec<String>) {
        if axes.len() > 1 {
            self.choice.schedule.0.push(Directive::Reorder { axes });
        }
    }

    /// The nests at the root: a team shares the iterations of all of them at once, if they may run in any order.
    fn root(&mut self, nodes: &'k [Node]) {
        let apart = nodes.len() == 1
            || nodes.iter().all(|n| matches!(n, Node::For(_))) && meet_beside(self.kernel).is_none();
        self.nodes(nodes, if apart { Position::Root } else { Position::Inside });
    }

    fn nodes(&mut self, nodes: &'k [Node], position: Position) {
        for node in nodes {
            match node {
                Node::For(f) => self.nest(f, position),
                Node::Accumulate { acc, body } => self.reduction(*acc, body),
                Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => {}
            }
        }
    }

    fn nest(&mut self, f: &'k For, position: Position) {
        let n = nest(f);
        let stages = |nodes: &[Node]| nodes.iter().all(|n| matches!(n, Node::Store(_)));
        let recurs = match n.body {
            [Node::Accumulate { acc, .. }, rest @ ..] => {
                self.kernel.acc(*acc).merge.is_none() && stages(rest)
            }
            _ => false,
        };
        if recurs || stages(n.body) {
            return self.elementwise(&n, position);
        }
        if let [Node::Accumulate { acc, body }, rest @ ..] = n.body
            && stages(rest)
            && (self.contraction(&n, *acc, body, rest, position) || self.dots(&n, *acc, body, position))
        {
            return;
        }
        // Loops around other things: rows, blocks.
        if position == Position::Root {
            self.share_enough(n.loops.iter().copied());
        }
        if let Some(f) = n.loops.last()
            && position == Position::Inside
            && self.is_column(f)
        {
            let (name, known) = (self.name(f), extent(f));
            return self.vectorise(&name, known, elementwise::AT_ONCE);
        }
        self.nodes(n.body, Position::Inside);
        if let (Some(rows), Position::Root) = (n.loops.last(), position) {
            self.fetch_next(rows);
        }
    }

    /// Shares loops among the team, outermost first, until there are shares enough: where a share begins is found by divisions, and rows inside of it
    /// follow one another.
    fn share_enough(&mut self, loops: impl Iterator<Item = &'k For>) {
        let mut shares = 1i64;
        let enough = loops.take_while(|f| {
            let more = shares < SHARES;
            shares = shares.saturating_mul(self.usual(f).max(1));
            more
        });
        let enough: Vec<&For> = enough.collect();
        self.share(enough.into_iter());
    }

    /// How many iterations a loop has, or usually has.
    fn usual(&self, f: &For) -> i64 {
        let usual = || f.end.as_dim().map(|end| self.kernel.facts.usual(end));
        extent(f).or_else(usual).unwrap_or(UNKNOWN_SIZE)
    }

    /// Shares loops among the team, outermost first, as far as their bounds are known at the start.
    fn share(&mut self, loops: impl Iterator<Item = &'k For>) {
        let known =
            |f: &&For| f.begin.as_dim().is_some() && f.end.as_dim().is_some() && f.kind == Kind::Serial;
        for f in loops.take_while(known) {
            let name = self.name(f);
            self.execute(&name, Kind::Parallel);
        }
    }

    /// Whether everything inside a loop lies side by side along it, or does not move: its iterations can be lanes.
    fn is_column(&self, f: &For) -> bool {
        let mut values = Vec::new();
        let mut fits = f.begin.is(0) && f.step == 1 && extent(f).is_none_or(|e| e >= 8);
        let mut stores = 0;
        let mut stack: Vec<&Node> = f.body.iter().collect();
        while let Some(node) = stack.pop() {
            match node {
                Node::For(inner) => {
                    fits &= !inner.begin.mentions(f.axis) && !inner.end.mentions(f.axis);
                    stack.extend(&inner.body);
                }
                Node::Accumulate { acc, body } => {
                    values.extend(self.kernel.acc(*acc).state.iter().map(|s| s.init));
                    stack.extend(body);
                }
                Node::Step { values: v, .. } => values.extend(v),
                Node::Store(s) => {
                    let offset = self.kernel.resolve(&self.kernel.buffer(s.buffer).layout.offset(&s.index));
                    fits &= stride(&offset, f.axis) == Stride::Known(1);
                    stores += 1;
                    values.push(s.value);
                }
                Node::Prefetch { .. } => {}
            }
        }
        let reads = loads(self.kernel, &values);
        let along = |r: &stride::Access| {
            matches!(stride(&r.offset, f.axis), Stride::None | Stride::Known(1))
                && r.guard.iter().all(|g| stride(g, f.axis) != Stride::Uneven)
        };
        fits && stores > 0 && reads.iter().all(along)
    }

    /// Whether elements lie in memory as they do in the lanes of the kernel's vectors, so that lanes can also lie apart.
    fn is_plain(&self, dtype: DType) -> bool {
        dtype.bits() == 32 || dtype.bits() == 64 && self.machine.lane_bytes == 8
    }

    /// Whether stores to a buffer are best made past the caches: what one of them writes would fill half of the last one or more,
    /// and drive out what is being read.
    fn streams(&self, buffer: BufferId) -> bool {
        let b = self.kernel.buffer(buffer);
        let mut parts = 0;
        self.kernel.visit(&mut |n| parts += i64::from(matches!(n, Node::Store(s) if s.buffer == buffer)));
        let bytes = b.layout.size.as_const().map(|n| n.saturating_mul(b.dtype.bits() as i64 / 8));
        let fills = |n: i64| n / parts.max(1) >= self.machine.l3 / 2;
        b.role == Role::Output && self.is_plain(b.dtype) && bytes.is_some_and(fills)
    }
}
