//! `block k 512 at i`: a sum in blocks, each done for all outputs of the loop's body before the next.
//!
//! In: a nest inside the body of the loop over `i`, or at the root. Out: three of them, one after another, inside loops over
//! `k.0`, with the states between blocks in scratch.
//!
//! ```text
//! for j { accumulate c { for k … } stages }      for k.0: the first  { for j { accumulate c { for k.1 … }       P[j] = c } }
//!                                            →   for k.0: the middle { for j { accumulate c.rest { for k.1 … }  P[j] = c.rest } }
//!                                                for k.0: the last   { for j { accumulate c.rest { for k.1 … }  stages } }
//! ```
//!
//! `c.rest` is `c` but for its first state, which is `P[j]`. Every output sees the same steps in the same order, so results are the
//! same to the last bit. All loops keep their axes: what other directives say of `j` means it in all three.

use super::walk::{
    axis_of_loops, change_exprs, change_loops, changed, fresh_buffer, fresh_names, refused, replace_loops,
    shown, values_of, visit_loads,
};
use crate::buffer::{BufferId, Level};
use crate::build;
use crate::expr::{Expr, ExprId, Load};
use crate::hash::IdMap;
use crate::index::{Atom, Index};
use crate::range::Scope;
use crate::tree::{AccId, Accumulator, AxisId, For, Kernel, Kind, Node, State};
use lawson_graph::{Dim, Result};

/// A nest whose sum is blocked.
struct Nest<'a> {
    /// The loops over outputs, outermost first.
    heads: Vec<&'a For>,
    acc: AccId,
    /// The loop over what is summed.
    sum: &'a For,
    stages: &'a [Node],
}

/// What was found of a nest.
struct Found {
    acc: AccId,
    /// The axes that tell outputs apart.
    places: Vec<AxisId>,
    /// How many values each of them has at most.
    extents: Vec<i64>,
    /// Where the sum begins, how many steps it has, and how far each moves its axis.
    begin: Index,
    steps: i64,
    step: i64,
}

/// Where the states of an accumulator are between blocks.
struct Kept {
    acc: AccId,
    places: Vec<AxisId>,
    extents: Vec<i64>,
    /// One a component of the state.
    buffers: Vec<BufferId>,
    /// The accumulator that goes on with them.
    rest: AccId,
}

/// Which part of the sum a nest does.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    First,
    Middle,
    Last,
}

/// The axes of blocks and of steps inside one, and how many steps that is.
#[derive(Clone, Copy)]
struct Blocks {
    outer: AxisId,
    inner: AxisId,
    factor: i64,
}

/// `block k factor at i level L2`
pub(super) fn block(
    kernel: &mut Kernel,
    name: &str,
    factor: i64,
    at: Option<&str>,
    level: Level,
) -> Result<()> {
    let axis = axis_of_loops(kernel, name)?;
    let at = at.map(|at| axis_of_loops(kernel, at)).transpose()?;
    if factor < 1 {
        return Err(refused(format!("a block of {factor} steps is none")));
    }
    let mut found = Vec::new();
    let mut look = |scope: &mut Scope<'_>, nodes: &[Node]| {
        let of_axis = nodes.iter().filter(|n| loops_over(std::slice::from_ref(*n), axis) > 0);
        of_axis.into_iter().try_for_each(|node| {
            let nest = survey(scope, node, axis, factor).map_err(refused)?;
            found.push(nest);
            Ok(())
        })
    };
    match at {
        None => {
            let body = kernel.body.clone();
            look(&mut Scope::new(kernel), &body)?;
        }
        Some(at) => replace_loops(kernel, at, &mut |scope, f| {
            if !matches!(f.kind, Kind::Parallel | Kind::Serial) {
                let name = &scope.kernel().axis(f.axis).name;
                let message = format!("the loop over `{name}` is {}; blocks are serial code", f.kind.name());
                return Err(refused(message));
            }
            let left = scope.enter(&f);
            let looked = look(scope, &f.body);
            scope.leave(left);
            looked.map(|()| vec![Node::For(f)])
        })?,
    }
    if found.len() != loops_over(&kernel.body, axis) {
        let place = at.map(|at| kernel.axis(at).name.clone()).unwrap_or_default();
        return Err(refused(format!("a loop over `{name}` stands outside of `{place}`")));
    }
    let [outer, inner] = fresh_names(kernel, name).map(|n| kernel.add_axis(n));
    kernel.axes[axis.0 as usize].derived = Some(Index::axis(outer) + Index::axis(inner));
    let blocks = Blocks { outer, inner, factor };
    let kept = keep(kernel, &found, level);
    let mut found = found.into_iter();
    let mut cut = |kernel: &mut Kernel, nodes: &mut Vec<Node>| {
        for node in std::mem::take(nodes) {
            if loops_over(std::slice::from_ref(&node), axis) == 0 {
                nodes.push(node);
            } else if let Some(nest) = found.next()
                && let Some(kept) = kept.iter().find(|k| k.acc == nest.acc && k.places == nest.places)
            {
                nodes.extend(parts(kernel, &node, blocks, &nest, kept));
            }
        }
    };
    let mut body = std::mem::take(&mut kernel.body);
    match at {
        None => cut(kernel, &mut body),
        Some(at) => change_loops(&mut body, at, &mut |f| cut(kernel, &mut f.body)),
    }
    kernel.body = body;
    Ok(())
}

/// How many loops over an axis stand among nodes.
fn loops_over(nodes: &[Node], axis: AxisId) -> usize {
    let of = |node: &Node| match node {
        Node::For(f) => usize::from(f.axis == axis) + loops_over(&f.body, axis),
        Node::Accumulate { body, .. } => loops_over(body, axis),
        Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => 0,
    };
    nodes.iter().map(of).sum()
}

/// The parts of a nest; `Err` says why it is none whose sum can be blocked.
fn nest_of<'a>(kernel: &Kernel, node: &'a Node, axis: AxisId) -> std::result::Result<Nest<'a>, String> {
    let name = &kernel.axis(axis).name;
    let mut heads = Vec::new();
    let mut nodes = std::slice::from_ref(node);
    loop {
        match nodes {
            [Node::For(f)] if f.axis != axis => {
                if f.kind == Kind::Parallel {
                    let outer = &kernel.axis(f.axis).name;
                    return Err(format!(
                        "the loop over `{outer}` is parallel, and states do not outlive its iterations; block inside of it"
                    ));
                }
                heads.push(f);
                nodes = &f.body;
            }
            [Node::Accumulate { acc, body }, stages @ ..] if !heads.is_empty() => {
                let [Node::For(sum)] = body.as_slice() else {
                    return Err(format!(
                        "more than one loop stands in `accumulate {}`",
                        kernel.acc(*acc).name
                    ));
                };
                if sum.axis != axis {
                    let outer = &kernel.axis(sum.axis).name;
                    return Err(format!(
                        "`{name}` is not the outermost loop of the sum, so that blocks would change its order; \
                         reorder it outside of `{outer}` first"
                    ));
                }
                if stages.iter().any(|s| !matches!(s, Node::Store(_))) {
                    let acc = &kernel.acc(*acc).name;
                    return Err(format!("more than stages follows `accumulate {acc}`"));
                }
                return Ok(Nest { heads, acc: *acc, sum, stages });
            }
            _ => {
                return Err(format!(
                    "around the loop over `{name}` there must be an accumulator, and around that loops directly within \
                     each other"
                ));
            }
        }
    }
}

/// What is to be known of a nest. The scope is that of its place.
fn survey(
    scope: &mut Scope<'_>,
    node: &Node,
    axis: AxisId,
    factor: i64,
) -> std::result::Result<Found, String> {
    let kernel = scope.kernel();
    let nest = nest_of(kernel, node, axis)?;
    let name = &kernel.axis(axis).name;
    let sum = nest.sum;
    if sum.kind != Kind::Serial {
        return Err(format!("the loop over `{name}` is {} already; block it first", sum.kind.name()));
    }
    for bound in [&sum.begin, &sum.end] {
        let bound = kernel.resolve(bound);
        if let Some(f) = nest.heads.iter().find(|f| bound.mentions(f.axis)) {
            let (inner, bound) = (&kernel.axis(f.axis).name, shown(kernel, &bound));
            return Err(format!("{bound} bounds `{name}`, which would stand outside of `{inner}`"));
        }
    }
    meets(kernel, &nest)?;
    let places = places(kernel, &nest.heads);
    let left: Vec<_> = nest.heads.iter().map(|f| scope.enter(f)).collect();
    let extent = |a: &AxisId| scope.interval(&scope.simplify(&kernel.resolve(&Index::axis(*a)))).1;
    let extents: Vec<Option<i64>> = places.iter().map(extent).collect();
    let count = scope.simplify(&(kernel.resolve(&sum.end) - kernel.resolve(&sum.begin)));
    left.into_iter().rev().for_each(|l| scope.leave(l));
    let Some(steps) = count.as_const().map(|c| (c + sum.step - 1).div_euclid(sum.step)) else {
        let count = shown(kernel, &count);
        return Err(format!("how many steps the sum has must be known beforehand, not {count}"));
    };
    if steps <= factor {
        return Err(format!("the sum has {steps} steps, which is one block"));
    }
    if factor.checked_mul(sum.step).is_none() {
        return Err(format!("a block of {factor} steps is too large"));
    }
    let mut sizes = Vec::with_capacity(places.len());
    for (place, extent) in places.iter().zip(extents) {
        match extent.and_then(|e| e.checked_add(1)) {
            Some(e) => sizes.push(e.max(1)),
            None => {
                let place = &kernel.axis(*place).name;
                return Err(format!(
                    "how far `{place}` goes is not known beforehand; split it and block inside"
                ));
            }
        }
    }
    if sizes.iter().try_fold(1i64, |n, e| n.checked_mul(*e)).is_none() {
        return Err("the states of so many outputs are more than an index can count".into());
    }
    Ok(Found { acc: nest.acc, places, extents: sizes, begin: sum.begin.clone(), steps, step: sum.step })
}

/// Whether an output may need another one whole: `Err` names the buffer that a stage writes and a step reads, or that a step
/// writes. Between blocks, no output is whole.
fn meets(kernel: &Kernel, nest: &Nest<'_>) -> std::result::Result<(), String> {
    let mut read = Vec::new();
    let mut stored = None;
    let mut look = |values: &[ExprId]| visit_loads(kernel, values, &mut |load| read.push(load.buffer));
    let inits = |acc: AccId| kernel.acc(acc).state.iter().map(|s| s.init).collect::<Vec<_>>();
    look(&inits(nest.acc));
    let mut open: Vec<&Node> = nest.sum.body.iter().collect();
    while let Some(node) = open.pop() {
        look(values_of(node));
        match node {
            Node::For(f) => open.extend(&f.body),
            Node::Accumulate { acc, body } => {
                look(&inits(*acc));
                open.extend(body);
            }
            Node::Store(s) => stored = Some(s.buffer),
            Node::Step { .. } | Node::Prefetch { .. } => {}
        }
    }
    let by_stage = nest.stages.iter().find_map(|s| match s {
        Node::Store(s) if read.contains(&s.buffer) => Some(s.buffer),
        _ => None,
    });
    match stored.or(by_stage) {
        None => Ok(()),
        Some(buffer) => {
            let buffer = &kernel.buffer(buffer).name;
            Err(format!("outputs meet in `{buffer}`, so that one must be whole before the next begins"))
        }
    }
}

/// The axes that tell the outputs of a nest apart: those of its loops, where the halves of a split count as what was split.
fn places(kernel: &Kernel, heads: &[&For]) -> Vec<AxisId> {
    let mut axes: Vec<AxisId> = heads.iter().map(|f| f.axis).collect();
    loop {
        let whole = kernel.axes.iter().enumerate().find_map(|(d, a)| {
            let index = a.derived.as_ref().filter(|i| i.offset().is(0) && i.terms().len() == 2)?;
            let parts = index.terms().iter().map(|(atom, c)| match atom {
                Atom::Axis(a) if c.is(1) => axes.iter().position(|b| a == b),
                _ => None,
            });
            Some((AxisId(d as u32), parts.collect::<Option<Vec<usize>>>()?))
        });
        let Some((whole, parts)) = whole else { return axes };
        let last = parts.iter().copied().max().unwrap_or(0);
        axes[last] = whole;
        let mut at = 0;
        axes.retain(|_| {
            at += 1;
            at - 1 == last || !parts.contains(&(at - 1))
        });
    }
}

/// Makes the scratch and the accumulators that go on with what is in it: one for all nests that tell outputs apart alike, since
/// they follow each other.
fn keep(kernel: &mut Kernel, found: &[Found], level: Level) -> Vec<Kept> {
    let mut out: Vec<Kept> = Vec::new();
    for nest in found {
        let known = out.iter_mut().find(|k| k.acc == nest.acc && k.places == nest.places);
        if let Some(known) = known {
            known.extents.iter_mut().zip(&nest.extents).for_each(|(e, other)| *e = (*e).max(*other));
        } else {
            let (places, extents) = (nest.places.clone(), nest.extents.clone());
            out.push(Kept { acc: nest.acc, places, extents, buffers: Vec::new(), rest: nest.acc });
        }
    }
    for kept in &mut out {
        let acc = kernel.acc(kept.acc).clone();
        let dims: Vec<Dim> = kept.extents.iter().map(|e| (*e).into()).collect();
        let index: Vec<Index> = kept.places.iter().map(|a| Index::axis(*a)).collect();
        let mut state = Vec::with_capacity(acc.state.len());
        for s in &acc.state {
            let name = fresh_buffer(kernel, &format!("{}.block", acc.name));
            let buffer = kernel.scratch(&name, s.dtype, &dims, level);
            kept.buffers.push(buffer);
            let init = kernel.add(Expr::Load(Load { buffer, index: index.clone(), guard: None }));
            state.push(State { dtype: s.dtype, init });
        }
        let taken = |name: &String| kernel.accs.iter().any(|a| a.name == *name);
        let stem = format!("{}.rest", acc.name);
        let mut names = std::iter::once(stem.clone()).chain((2..).map(|i| format!("{stem}{i}")));
        let name = names.find(|n| !taken(n)).unwrap_or(stem);
        kept.rest = AccId(kernel.accs.len() as u32);
        kernel.accs.push(Accumulator { name, state, merge: None });
        let (from, to) = (kept.acc, kept.rest);
        let mut done = IdMap::default();
        if let Some(mut merge) = acc.merge {
            for e in &mut merge.values {
                *e = changed(kernel, *e, &|_, e| renamed(e, from, to), &mut done);
            }
            kernel.accs[kept.rest.0 as usize].merge = Some(merge);
        }
    }
    out
}

/// An expression that mentions an accumulator, with another one in its place.
fn renamed(expr: &Expr, from: AccId, to: AccId) -> Option<Expr> {
    match expr {
        Expr::State(acc, i) if *acc == from => Some(Expr::State(to, *i)),
        Expr::Other(acc, i) if *acc == from => Some(Expr::Other(to, *i)),
        Expr::Result(acc, i) if *acc == from => Some(Expr::Result(to, *i)),
        _ => None,
    }
}

/// What replaces a nest: the first block, those in the middle if there are any, and the last.
fn parts(kernel: &mut Kernel, node: &Node, blocks: Blocks, found: &Found, kept: &Kept) -> Vec<Node> {
    // The last block has at least one step.
    let before = (found.steps - 1) / blocks.factor;
    let spans = [
        (Part::First, 0, 1, blocks.factor),
        (Part::Middle, 1, before, blocks.factor),
        (Part::Last, before, before + 1, found.steps - before * blocks.factor),
    ];
    let reach = blocks.factor * found.step;
    let runs = spans.into_iter().filter(|(_, from, to, _)| from < to);
    runs.map(|(part, from, to, steps)| {
        let mut nest = vec![node.clone()];
        reduce(kernel, &mut nest, part, (blocks.inner, steps * found.step), kept);
        let at = |block: i64| found.begin.clone() + (block * reach).min(found.steps * found.step);
        build::loop_of(blocks.outer, at(from), at(to), reach, Kind::Serial, nest)
    })
    .collect()
}

/// Makes a nest one that does a part of its sum, by a loop over this axis up to this end.
fn reduce(kernel: &mut Kernel, nodes: &mut Vec<Node>, part: Part, (inner, end): (AxisId, i64), kept: &Kept) {
    match nodes.as_mut_slice() {
        [Node::For(f)] => reduce(kernel, &mut f.body, part, (inner, end), kept),
        [Node::Accumulate { acc, body }, ..] => {
            if let [Node::For(sum)] = body.as_mut_slice() {
                (sum.axis, sum.begin, sum.end) = (inner, 0.into(), end.into());
            }
            if part != Part::First {
                *acc = kept.rest;
                let (from, to) = (kept.acc, kept.rest);
                step_other(nodes, from, to);
                change_exprs(kernel, nodes, &|_, e| renamed(e, from, to));
            }
            if part != Part::Last {
                nodes.truncate(1);
                let acc = if part == Part::First { kept.acc } else { kept.rest };
                for (i, buffer) in kept.buffers.iter().enumerate() {
                    let value = kernel.add(Expr::Result(acc, i));
                    let index = kept.places.iter().map(|a| Index::axis(*a)).collect();
                    nodes.push(build::store(*buffer, index, value));
                }
            }
        }
        _ => {}
    }
}

/// Makes steps of one accumulator steps of another.
fn step_other(nodes: &mut [Node], from: AccId, to: AccId) {
    for node in nodes {
        match node {
            Node::For(For { body, .. }) | Node::Accumulate { body, .. } => step_other(body, from, to),
            Node::Step { acc, .. } if *acc == from => *acc = to,
            Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => {}
        }
    }
}
