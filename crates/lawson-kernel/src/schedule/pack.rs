//! The directives on buffers: `pack`, `stream` and `prefetch`.
//!
//! `pack B at j` copies what the body of the loop over `j` reads of `B` to scratch. An index of a load is an *outer* part,
//! over axes that have values at the head of the body, plus an *inner* part; the scratch holds the range of the inner part, and
//! its element 0 is the element of `B` at the outer part plus the least inner value. Copying stops at the edges of `B`.

use super::PackLayout;
use super::walk::{
    axis_of_loops, buffer_named, change_loads, change_loops, fresh_buffer, fresh_names, refused,
    replace_loops, shown, values_of, visit_in_scope, visit_loads,
};
use crate::buffer::{Buffer, BufferId, Layout, Level, Role};
use crate::build::{loop_of, store};
use crate::expr::{Expr, Load};
use crate::index::Index;
use crate::range::Scope;
use crate::tree::{AxisId, For, Kernel, Kind, Node, StoreHint};
use lawson_graph::{Dim, Result};

/// The part of one dimension that a loop's body reads.
#[derive(Clone)]
struct Reach {
    /// The part of the index over axes that have values at the head of the body.
    outer: Index,
    /// The least value of the rest.
    lo: i64,
    /// The greatest.
    hi: i64,
}

/// One loop at whose head a copy is made.
struct Site {
    /// A reach for each dimension.
    reaches: Vec<Reach>,
    /// Where copying begins and ends, for each dimension.
    bounds: Vec<(Index, Index)>,
    /// The axes of loops inside.
    inside: Vec<AxisId>,
}

/// `pack B at j`
pub(super) fn pack(
    kernel: &mut Kernel,
    buffer: &str,
    at: &str,
    layout: &PackLayout,
    level: Level,
) -> Result<()> {
    let source = buffer_named(kernel, buffer)?;
    let axis = axis_of_loops(kernel, at)?;
    let mut sites = Vec::new();
    replace_loops(kernel, axis, &mut |scope, f| {
        sites.push(survey(scope, &f, source).map_err(refused)?);
        Ok(vec![Node::For(f)])
    })?;
    if sites.iter().all(|s| s.is_none()) {
        return Err(refused(format!("nothing inside the loop over `{at}` reads `{buffer}`")));
    }
    // One scratch buffer serves all loops over the axis: they follow each other.
    let rank = kernel.buffer(source).dims.len();
    let extent = |d: usize| {
        let of = |s: &Site| s.reaches[d].hi - s.reaches[d].lo + 1;
        sites.iter().flatten().map(of).max().unwrap_or(1)
    };
    let dims: Vec<Dim> = (0..rank).map(|d| extent(d).into()).collect();
    let layout = scratch_layout(&dims, layout).map_err(refused)?;
    let Buffer { dtype, finite, .. } = *kernel.buffer(source);
    let name = fresh_buffer(kernel, &format!("{buffer}.pack"));
    let role = Role::Scratch(level);
    let scratch = kernel.add_buffer(Buffer { name, dtype, dims, layout, role, finite });
    let axes = copy_axes(kernel, buffer, rank);
    let mut sites = sites.into_iter();
    let mut body = std::mem::take(&mut kernel.body);
    change_loops(&mut body, axis, &mut |f| {
        if let Some(site) = sites.next().flatten() {
            change_loads(kernel, &mut f.body, &|kernel, load| redirect(kernel, load, source, scratch, &site));
            f.body.insert(0, copy_nest(kernel, source, scratch, &axes, &site));
        }
    });
    kernel.body = body;
    Ok(())
}

fn copy_axes(kernel: &mut Kernel, buffer: &str, rank: usize) -> Vec<AxisId> {
    (0..rank)
        .map(|d| {
            let wanted = format!("{buffer}.{d}");
            let taken = kernel.axes.iter().any(|a| a.name == wanted);
            let name = if taken { fresh_names::<1>(kernel, buffer).concat() } else { wanted };
            kernel.add_axis(name)
        })
        .collect()
}

fn scratch_layout(dims: &[Dim], layout: &PackLayout) -> std::result::Result<Layout, String> {
    let rank = dims.len();
    match layout {
        PackLayout::RowMajor => Ok(Layout::row_major(dims)),
        PackLayout::Order(order) => {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if sorted != (0..rank).collect::<Vec<_>>() {
                return Err(format!("an order names each of the {rank} dimensions once"));
            }
            Ok(Layout::permuted(dims, order))
        }
        PackLayout::Panels { dim, width } => {
            if *dim >= rank || *width < 1 {
                return Err(format!(
                    "panels are at least 1 wide, along one of the dimensions 0 to {}",
                    rank.max(1) - 1
                ));
            }
            let between: Vec<usize> = (0..rank).filter(|d| d != dim).collect();
            Ok(Layout::panels(dims, *dim, *width, &between))
        }
    }
}

/// What the body of a loop reads of a buffer; nothing, or `Err` why that cannot be packed.
fn survey(scope: &mut Scope<'_>, f: &For, source: BufferId) -> std::result::Result<Option<Site>, String> {
    let kernel = scope.kernel();
    let name = &kernel.axis(f.axis).name;
    if !matches!(f.kind, Kind::Parallel | Kind::Serial) {
        return Err(format!("the loop over `{name}` is {}; a copy is made in serial code", f.kind.name()));
    }
    let mut inside = Vec::new();
    let mut reaches: Option<Vec<Reach>> = None;
    let mut why = None;
    let left = scope.enter(f);
    let _ = visit_in_scope(scope, &f.body, &mut |scope, node| {
        match node {
            Node::For(inner) => inside.push(inner.axis),
            Node::Store(s) if s.buffer == source => {
                why = Some(format!("the body of the loop over `{name}` writes it"))
            }
            _ => {}
        }
        visit_loads(kernel, values_of(node), &mut |load| {
            if load.buffer == source && why.is_none() {
                match reach(scope, load, &inside).and_then(|r| join(kernel, reaches.take(), r)) {
                    Ok(joined) => reaches = Some(joined),
                    Err(reason) => why = Some(reason),
                }
            }
        });
        Ok(())
    });
    let site = reaches.map(|reaches| {
        let dims = &kernel.buffer(source).dims;
        let bounds = reaches.iter().zip(dims).map(|(r, dim)| copy_bounds(scope, r, dim)).collect();
        Site { reaches, bounds, inside }
    });
    scope.leave(left);
    match why {
        Some(reason) => Err(format!("`{}` cannot be packed: {reason}", kernel.buffer(source).name)),
        None => Ok(site),
    }
}

/// The parts of a load's indices.
fn reach(scope: &Scope<'_>, load: &Load, inside: &[AxisId]) -> std::result::Result<Vec<Reach>, String> {
    let kernel = scope.kernel();
    let parts = load.index.iter().map(|index| {
        if index.has_data() {
            return Err(format!("{} is known only where it is read", shown(kernel, index)));
        }
        let (outer, inner) = parts(kernel, index, inside)?;
        // The range is that of the inner part as it stands, so that minima in the loops' bounds count.
        match scope.interval(&scope.simplify(&inner)) {
            (Some(lo), Some(hi)) => Ok(Reach { outer, lo, hi }),
            _ => Err(format!(
                "the range of {} is not known beforehand; split its loop outside, or add a fact that bounds it",
                shown(kernel, &inner)
            )),
        }
    });
    parts.collect()
}

/// An index as (outer part, inner part); constants belong to the inner part, parameters to the outer.
fn parts(kernel: &Kernel, index: &Index, inside: &[AxisId]) -> std::result::Result<(Index, Index), String> {
    let index = kernel.resolve(index);
    let (mut outer, mut inner) = match index.offset().as_const() {
        Some(c) => (Index::constant(0), Index::constant(c)),
        None => (Index::constant(index.offset().clone()), Index::constant(0)),
    };
    for (atom, c) in index.terms() {
        let alone = Index::atom(atom.clone());
        let (mut within, mut without) = (false, false);
        alone.visit_axes(&mut |a| match inside.contains(&a) {
            true => within = true,
            false => without = true,
        });
        match (within, without) {
            (true, true) => {
                let text = shown(kernel, &alone);
                return Err(format!("{text} mixes axes of loops inside with axes outside"));
            }
            (true, false) => inner.add_term(atom.clone(), c.clone()),
            (false, _) => outer.add_term(atom.clone(), c.clone()),
        }
    }
    Ok((outer, inner))
}

/// What two loads read together.
fn join(
    kernel: &Kernel,
    known: Option<Vec<Reach>>,
    new: Vec<Reach>,
) -> std::result::Result<Vec<Reach>, String> {
    let Some(known) = known else { return Ok(new) };
    let pairs = known.into_iter().zip(new).map(|(a, b)| {
        if a.outer != b.outer {
            let (a, b) = (shown(kernel, &a.outer), shown(kernel, &b.outer));
            return Err(format!("it is read around {a} and around {b}, which are different places"));
        }
        Ok(Reach { outer: a.outer, lo: a.lo.min(b.lo), hi: a.hi.max(b.hi) })
    });
    pairs.collect()
}

/// The part of the scratch that lies in the buffer: from `max(0, -base)` to `min(extent, dim - base)`.
fn copy_bounds(scope: &Scope<'_>, reach: &Reach, dim: &Dim) -> (Index, Index) {
    let base = reach.outer.clone() + reach.lo;
    let begin = Index::constant(0).max(base.scaled(&(-1).into()));
    let end = Index::constant(reach.hi - reach.lo + 1).min(Index::constant(dim.clone()) - base);
    (scope.simplify(&begin), scope.simplify(&end))
}

/// The load of the copy in the place of a load of the source.
fn redirect(kernel: &Kernel, load: &Load, source: BufferId, scratch: BufferId, site: &Site) -> Option<Load> {
    if load.buffer != source {
        return None;
    }
    let index = load.index.iter().zip(&site.reaches).map(|(index, reach)| {
        // Put together as it was: a derived axis inside keeps its name where nothing outer is in it.
        match parts(kernel, index, &site.inside) {
            Ok((outer, inner)) if outer == Index::constant(0) && inner == kernel.resolve(index) => {
                index.clone() - reach.lo
            }
            Ok((_, inner)) => inner - reach.lo,
            Err(_) => index.clone(),
        }
    });
    Some(Load { buffer: scratch, index: index.collect(), guard: load.guard.clone() })
}

/// The loops that copy, one a dimension.
fn copy_nest(kernel: &mut Kernel, source: BufferId, scratch: BufferId, axes: &[AxisId], site: &Site) -> Node {
    let from = axes.iter().zip(&site.reaches).map(|(a, r)| r.outer.clone() + r.lo + *a).collect();
    let value = kernel.add(Expr::Load(Load { buffer: source, index: from, guard: None }));
    let innermost = store(scratch, axes.iter().map(|a| Index::axis(*a)).collect(), value);
    axes.iter().zip(&site.bounds).rev().fold(innermost, |body, (axis, (begin, end))| {
        loop_of(*axis, begin.clone(), end.clone(), 1, Kind::Serial, vec![body])
    })
}

/// `stream C`
pub(super) fn stream(kernel: &mut Kernel, buffer: &str) -> Result<()> {
    fn walk(nodes: &mut [Node], buffer: BufferId) -> bool {
        let mut found = false;
        for node in nodes {
            match node {
                Node::For(For { body, .. }) | Node::Accumulate { body, .. } => found |= walk(body, buffer),
                Node::Store(s) if s.buffer == buffer => {
                    s.hint = StoreHint::Stream;
                    found = true;
                }
                Node::Store(_) | Node::Step { .. } | Node::Prefetch { .. } => {}
            }
        }
        found
    }
    let id = buffer_named(kernel, buffer)?;
    match walk(&mut kernel.body, id) {
        true => Ok(()),
        false => Err(refused(format!("nothing is stored in `{buffer}`"))),
    }
}

/// What is fetched: what is read so many iterations later.
pub(super) struct Ahead<'n> {
    pub(super) by: i64,
    /// Iterations of this loop, if it is another one.
    pub(super) of: Option<&'n str>,
    /// The loop whose iterations fetch a part each.
    pub(super) shared_by: Option<&'n str>,
    /// Whether all is fetched that is read, by all iterations of the loops inside that one together.
    pub(super) whole: bool,
}

/// Hints that one iteration makes at most.
const MOST_HINTS: i64 = 64;

/// `prefetch B at k ahead n of j by i`
pub(super) fn prefetch(
    kernel: &mut Kernel,
    buffer: &str,
    at: &str,
    ahead: Ahead<'_>,
    level: Level,
) -> Result<()> {
    let source = buffer_named(kernel, buffer)?;
    let axis = axis_of_loops(kernel, at)?;
    let outer = ahead.of.map(|name| axis_of_loops(kernel, name)).transpose()?;
    let sharing = ahead.shared_by.map(|name| axis_of_loops(kernel, name)).transpose()?;
    if ahead.whole && (outer.is_none() || sharing.is_some()) {
        return Err(refused(
            "all is fetched `of` a loop around, and by no other than the one named: write `of` and leave out `by`",
        ));
    }
    let mut found = false;
    replace_loops(kernel, axis, &mut |scope, mut f| {
        let outside = |of: &str| refused(format!("the loop over `{at}` is not inside one over `{of}`"));
        let (moved, step) = match outer {
            Some(outer) => (outer, scope.step_of(outer)),
            None => (axis, Some(f.step)),
        };
        let step = step.ok_or_else(|| outside(ahead.of.unwrap_or_default()))?;
        let Some(distance) = ahead.by.checked_mul(step) else {
            return Err(refused(format!("{} iterations are too far ahead", ahead.by)));
        };
        let later = Index::axis(moved) + distance;
        let part = match (sharing, ahead.shared_by) {
            (Some(sharing), Some(name)) => {
                let of = scope.step_of(sharing).ok_or_else(|| outside(name))?;
                // The rungs of a ladder below the first have nothing left to fetch.
                if !scope.begins_at_zero(sharing) {
                    found = true;
                    return Ok(vec![Node::For(f)]);
                }
                Some(part_of(&f, sharing, of).map_err(|why| refused(format!("the loop over `{at}` {why}")))?)
            }
            _ => None,
        };
        if ahead.whole {
            let parts = whole_reads(scope, &f, source, moved).map_err(refused)?;
            let reads =
                parts.into_iter().map(|index| index.into_iter().map(|i| ahead_of(i, moved, distance)));
            let hint = |index| Node::Prefetch { buffer: source, index, level };
            let nodes: Vec<Node> = reads.map(|index| hint(index.collect())).collect();
            found |= !nodes.is_empty();
            f.body.splice(0..0, nodes);
            return Ok(vec![Node::For(f)]);
        }
        let nodes = first_reads(scope, &f, source).into_iter().map(|index| {
            let with = |a: AxisId| match &part {
                _ if a == moved => Some(later.clone()),
                Some(part) if a == axis => Some(part.clone()),
                _ => None,
            };
            Node::Prefetch {
                buffer: source,
                index: index.iter().map(|i| i.substitute(&with)).collect(),
                level,
            }
        });
        let nodes: Vec<Node> = nodes.collect();
        found |= !nodes.is_empty();
        f.body.splice(0..0, nodes);
        Ok(vec![Node::For(f)])
    })?;
    match found {
        true => Ok(()),
        false => Err(refused(format!("nothing inside the loop over `{at}` reads `{buffer}`"))),
    }
}

/// An index so far ahead along an axis.
fn ahead_of(index: Index, axis: AxisId, distance: i64) -> Index {
    index.substitute(&|a| (a == axis).then(|| Index::axis(a) + distance))
}

/// A loop inside of the one whose iterations fetch: over which axis, from where, in which steps, and how many.
struct Turns {
    axis: AxisId,
    begin: i64,
    step: i64,
    count: i64,
}

impl Turns {
    /// Also the turns of another loop over the axis.
    fn extend(&mut self, other: &Turns) {
        let end = |t: &Turns| t.begin + t.count * t.step;
        let most = end(self).max(end(other));
        (self.begin, self.step) = (self.begin.min(other.begin), self.step.min(other.step));
        self.count = match self.count.min(other.count) {
            0 => 0,
            _ => (most - self.begin + self.step - 1) / self.step,
        };
    }
}

/// The lines of a buffer that the body of a loop reads, an equal part of which is each iteration's; the loops inside the one over `of`, down to this
/// one, count iterations. `Err` says why it cannot be told.
fn whole_reads(
    scope: &mut Scope<'_>,
    f: &For,
    source: BufferId,
    of: AxisId,
) -> Result<Vec<Vec<Index>>, String> {
    let kernel = scope.kernel();
    let name = |a: AxisId| &kernel.axis(a).name;
    let mut around: Vec<AxisId> = scope.entered().skip_while(|a| *a != of).skip(1).collect();
    let left = scope.enter(f);
    around.push(f.axis);
    let (mut number, mut iterations) = (Index::constant(0), 1i64);
    for axis in around.into_iter().rev() {
        let (least, step) = (scope.interval(&Index::axis(axis)), scope.step_of(axis).unwrap_or(1));
        let (Some(least), Some(most)) = least else {
            return Err(format!("how far `{}` goes is not known beforehand", name(axis)));
        };
        if least != 0 {
            return Err(format!("the loop over `{}` does not go from 0", name(axis)));
        }
        number = number + Index::axis(axis).floor_div(step) * iterations;
        iterations = iterations.saturating_mul((most / step + 1).max(1));
    }
    let mut inside: Vec<Turns> = Vec::new();
    let mut loads: Vec<Load> = Vec::new();
    let _ = visit_in_scope(scope, &f.body, &mut |scope, node| {
        if let Node::For(inner) = node {
            let [begin, end] =
                [&inner.begin, &inner.end].map(|i| scope.simplify(&kernel.resolve(i)).as_const());
            let count = match inner.kind {
                // What the first lane reads is a line.
                Kind::Vector(_) => 1,
                _ => begin.zip(end).map_or(0, |(b, e)| (e - b + inner.step - 1).div_euclid(inner.step)),
            };
            let turns = Turns { axis: inner.axis, begin: begin.unwrap_or(0), step: inner.step, count };
            // The rungs of a ladder go through what all of them go through.
            match inside.iter_mut().find(|t| t.axis == inner.axis) {
                Some(known) => known.extend(&turns),
                None => inside.push(turns),
            }
        }
        visit_loads(kernel, values_of(node), &mut |load| {
            // What is ahead of a loop's end has no element to say where it lies.
            let known = load.index.iter().any(Index::has_data) || loads.contains(load);
            if load.buffer == source && !known {
                loads.push(load.clone());
            }
        });
        Ok(())
    });
    scope.leave(left);
    let mut out = Vec::new();
    for load in loads {
        let index: Vec<Index> = load.index.iter().map(|i| kernel.resolve(i)).collect();
        let mut turns: Vec<&Turns> =
            inside.iter().filter(|t| index.iter().any(|i| i.mentions(t.axis))).collect();
        if let Some(t) = turns.iter().find(|t| t.count < 1) {
            let name = name(t.axis);
            return Err(format!("the loop over `{name}` does not run, or how often is not known beforehand"));
        }
        // The longest loop is shared out, the others are gone through.
        turns.sort_by_key(|t| t.count);
        let Some(shared) = turns.pop() else {
            out.push(index);
            continue;
        };
        let each = (shared.count + iterations - 1) / iterations;
        let first = number.clone() * (each * shared.step) + shared.begin;
        let mut hints: Vec<Vec<(AxisId, Index)>> = (0..each.min(MOST_HINTS + 1))
            .map(|n| vec![(shared.axis, first.clone() + n * shared.step)])
            .collect();
        for t in turns {
            let places: Vec<i64> = (0..t.count.min(MOST_HINTS + 1)).map(|n| t.begin + n * t.step).collect();
            let with = |hint: &Vec<(AxisId, Index)>, at: i64| {
                hint.iter().cloned().chain([(t.axis, Index::constant(at))]).collect::<Vec<_>>()
            };
            hints = hints.iter().flat_map(|hint| places.iter().map(move |at| with(hint, *at))).collect();
            if hints.len() > MOST_HINTS as usize {
                break;
            }
        }
        if hints.len() > MOST_HINTS as usize {
            return Err(format!("an iteration would fetch more than {MOST_HINTS} lines"));
        }
        out.extend(hints.into_iter().map(|hint| {
            let at = |a: AxisId| hint.iter().find(|(axis, _)| *axis == a).map(|(_, i)| i.clone());
            index.iter().map(|i| i.substitute(&at)).collect()
        }));
    }
    Ok(out)
}

/// Which step an iteration of a loop in steps fetches, if each iteration of the one over `sharing`, itself in steps of `of`, goes on where the one
/// before ended.
fn part_of(f: &For, sharing: AxisId, of: i64) -> Result<Index, &'static str> {
    let end = f.end.as_const().filter(|_| f.begin.is(0) && f.step > 1);
    let count = end.map(|end| end / f.step);
    let count = count.ok_or("does not go from 0 to a number in steps: split it first")?;
    Ok((Index::axis(sharing) * count).floor_div(of) + Index::axis(f.axis).floor_div(f.step))
}

/// Where the body of a loop first reads a buffer: its loads, with the loops inside at their first iteration.
fn first_reads(scope: &mut Scope<'_>, f: &For, source: BufferId) -> Vec<Vec<Index>> {
    let kernel = scope.kernel();
    let mut begins: Vec<(AxisId, Index)> = Vec::new();
    let mut out: Vec<Vec<Index>> = Vec::new();
    let _ = visit_in_scope(scope, &f.body, &mut |_, node| {
        let first = |index: &Index, begins: &[(AxisId, Index)]| {
            let known = |a: AxisId| begins.iter().rev().find(|(b, _)| *b == a).map(|(_, i)| i.clone());
            kernel.resolve(index).substitute(&known)
        };
        if let Node::For(inner) = node {
            let begin = first(&inner.begin, &begins);
            begins.push((inner.axis, begin));
        }
        visit_loads(kernel, values_of(node), &mut |load| {
            // What is ahead of a loop's end has no element to say where it lies.
            if load.buffer == source && !load.index.iter().any(Index::has_data) {
                let index: Vec<Index> = load.index.iter().map(|i| first(i, &begins)).collect();
                if !out.contains(&index) {
                    out.push(index);
                }
            }
        });
        Ok(())
    });
    out
}
