//! Directives on what loops read and write: `pack` and `stream`.
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
