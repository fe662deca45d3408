//! `reorder` and the directives that say how a loop is executed.
//!
//! A nest is taken apart into chains of loop heads, one a rung where ladders stand in it; each chain is permuted and the
//! chains are put together again, sharing the heads that they still have in common.

use super::walk::{axis_of_loops, has_loop, refused, replace_loops, shown, values_of, visit_loads};
use crate::buffer::{BufferId, Role};
use crate::hash::{IdMap, IdSet};
use crate::range::Scope;
use crate::tree::{AxisId, For, Kernel, Kind, Node};
use crate::verify::conflict;
use lawson_graph::Result;
use std::cell::OnceCell;

/// Loops that stand directly within each other, outermost first, without their bodies, and the innermost body.
struct Chain {
    heads: Vec<For>,
    body: Vec<Node>,
}

/// `reorder i j k`
pub(super) fn reorder(kernel: &mut Kernel, names: &[String]) -> Result<()> {
    let mut axes = Vec::with_capacity(names.len());
    for name in names {
        let axis = axis_of_loops(kernel, name)?;
        if axes.contains(&axis) {
            return Err(refused(format!("`{name}` is named twice")));
        }
        axes.push(axis);
    }
    let body = std::mem::take(&mut kernel.body);
    let reads = if stores_scratch(kernel, &body, &axes) { reads_of(kernel, &body) } else { IdMap::default() };
    kernel.body = reorder_in(&mut Scope::new(kernel), body, &axes, &reads).map_err(refused)?;
    Ok(())
}

/// Reorders every nest of these axes among the nodes; `Err` says why one cannot be.
fn reorder_in(
    scope: &mut Scope<'_>,
    nodes: Vec<Node>,
    axes: &[AxisId],
    reads: &IdMap<BufferId, usize>,
) -> std::result::Result<Vec<Node>, String> {
    let kernel = scope.kernel();
    let mut out = Vec::with_capacity(nodes.len());
    for node in nodes {
        match node {
            Node::For(f) if axes.contains(&f.axis) => {
                independent(scope, &f, axes, reads)?;
                let mut chains = Vec::new();
                chains_of(kernel, f, &mut Vec::new(), &mut axes.to_vec(), &mut chains)?;
                for chain in &mut chains {
                    permute(kernel, chain, axes)?;
                }
                out.extend(joined(chains));
            }
            Node::For(mut f) if has_loop(&f.body, axes) => {
                let body = std::mem::take(&mut f.body);
                let left = scope.enter(&f);
                f.body = reorder_in(scope, body, axes, reads)?;
                scope.leave(left);
                out.push(Node::For(f));
            }
            Node::Accumulate { acc, body } => {
                out.push(Node::Accumulate { acc, body: reorder_in(scope, body, axes, reads)? });
            }
            Node::For(_) | Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => out.push(node),
        }
    }
    Ok(out)
}

/// Whether scratch is stored to in loops over these axes: what else reads it, and how often, matters then.
fn stores_scratch(kernel: &Kernel, nodes: &[Node], axes: &[AxisId]) -> bool {
    fn stores(kernel: &Kernel, nodes: &[Node]) -> bool {
        nodes.iter().any(|node| match node {
            Node::For(For { body, .. }) | Node::Accumulate { body, .. } => stores(kernel, body),
            Node::Store(s) => matches!(kernel.buffer(s.buffer).role, Role::Scratch(_)),
            Node::Step { .. } | Node::Prefetch { .. } => false,
        })
    }
    nodes.iter().any(|node| match node {
        Node::For(f) if axes.contains(&f.axis) => stores(kernel, &f.body),
        Node::For(For { body, .. }) | Node::Accumulate { body, .. } => stores_scratch(kernel, body, axes),
        Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => false,
    })
}

/// How many loads of each buffer stand among the nodes.
fn reads_of(kernel: &Kernel, nodes: &[Node]) -> IdMap<BufferId, usize> {
    fn count(kernel: &Kernel, nodes: &[Node], reads: &mut IdMap<BufferId, usize>) {
        for node in nodes {
            let mut values = values_of(node).to_vec();
            match node {
                Node::For(f) => count(kernel, &f.body, reads),
                Node::Accumulate { acc, body } => {
                    values.extend(kernel.acc(*acc).state.iter().map(|s| s.init));
                    count(kernel, body, reads);
                }
                Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => {}
            }
            visit_loads(kernel, &values, &mut |load| *reads.entry(load.buffer).or_default() += 1);
        }
    }
    let mut reads = IdMap::default();
    count(kernel, nodes, &mut reads);
    reads
}

/// Whether iterations of the named loops may come in any order: none writes what another one writes or reads. The
/// steps of accumulators may, because merging commutes, but for those of recurrences. Scratch that is read nowhere else (`reads` counts all loads of
/// the kernel, if scratch is stored to here) may be written by each iteration anew.
fn independent(
    scope: &mut Scope<'_>,
    f: &For,
    axes: &[AxisId],
    reads: &IdMap<BufferId, usize>,
) -> std::result::Result<(), String> {
    let kernel = scope.kernel();
    let inside = OnceCell::new();
    let private = |b: BufferId| inside.get_or_init(|| reads_of(kernel, &f.body)).get(&b) == reads.get(&b);
    if axes.contains(&f.axis)
        && let Some(buffer) = conflict(scope, f, &private)
    {
        let (name, buffer) = (&kernel.axis(f.axis).name, &kernel.buffer(buffer).name);
        return Err(format!("the order of the iterations of `{name}` may matter: they meet in `{buffer}`"));
    }
    if let Some(acc) = kernel.recurs_in(&f.body)
        && axes.contains(&f.axis)
    {
        let (name, acc) = (&kernel.axis(f.axis).name, &kernel.acc(acc).name);
        return Err(format!("the iterations of `{name}` go in order: they step the recurrence `{acc}`"));
    }
    let left = scope.enter(f);
    for node in &f.body {
        if let Node::For(inner) = node {
            independent(scope, inner, axes, reads)?;
        }
    }
    scope.leave(left);
    Ok(())
}

/// The chains from this loop down to the last of the axes that are `left`.
fn chains_of(
    kernel: &Kernel,
    mut f: For,
    heads: &mut Vec<For>,
    left: &mut Vec<AxisId>,
    out: &mut Vec<Chain>,
) -> std::result::Result<(), String> {
    let body = std::mem::take(&mut f.body);
    let axis = f.axis;
    let place = left.iter().position(|a| *a == axis).map(|i| (i, left.remove(i)));
    heads.push(f);
    if left.is_empty() {
        out.push(Chain { heads: heads.clone(), body });
    } else {
        let between = between(kernel, axis, &body, left);
        for node in body {
            match node {
                Node::For(inner) if between.is_none() => chains_of(kernel, inner, heads, left, out)?,
                _ => return Err(between.unwrap_or_default()),
            }
        }
    }
    heads.pop();
    if let Some((i, axis)) = place {
        left.insert(i, axis);
    }
    Ok(())
}

/// What stands between a loop and the loops that are looked for: anything but one loop, or several over one axis.
fn between(kernel: &Kernel, axis: AxisId, body: &[Node], left: &[AxisId]) -> Option<String> {
    let name = |a: AxisId| &kernel.axis(a).name;
    let (outer, inner) = (name(axis), left.iter().map(|a| format!("`{}`", name(*a))).collect::<Vec<_>>());
    let stands = |what: String| {
        Some(format!("{what} stands directly inside the loop over `{outer}`, before {}", inner.join(", ")))
    };
    let Some(first) = body.first() else { return Some(format!("the loop over `{outer}` is empty")) };
    // Rungs of a ladder are independent of each other; blocks of a sum are not.
    if let Some(buffer) = handed_on(kernel, body) {
        let buffer = &kernel.buffer(buffer).name;
        return stands(format!("a loop that reads what another one leaves in `{buffer}`"));
    }
    for node in body {
        match (first, node) {
            (Node::For(a), Node::For(b)) if a.axis == b.axis => {}
            (_, Node::For(b)) => return stands(format!("a loop over `{}` beside another", name(b.axis))),
            (_, Node::Accumulate { acc, .. }) => {
                return stands(format!("`accumulate {}`", kernel.acc(*acc).name));
            }
            (_, Node::Store(s)) => return stands(format!("a store to `{}`", kernel.buffer(s.buffer).name)),
            (_, Node::Step { acc, .. }) => return stands(format!("a step of `{}`", kernel.acc(*acc).name)),
            (_, Node::Prefetch { .. }) => return stands("a prefetch".into()),
        }
    }
    None
}

/// The scratch that one of several nodes writes and another one reads.
fn handed_on(kernel: &Kernel, nodes: &[Node]) -> Option<BufferId> {
    fn written(node: &Node, out: &mut Vec<BufferId>) {
        match node {
            Node::For(For { body, .. }) | Node::Accumulate { body, .. } => {
                body.iter().for_each(|n| written(n, out))
            }
            Node::Store(s) => out.push(s.buffer),
            Node::Step { .. } | Node::Prefetch { .. } => {}
        }
    }
    nodes.iter().enumerate().find_map(|(i, node)| {
        let mut stored = Vec::new();
        written(node, &mut stored);
        let others = nodes.iter().enumerate().filter(|(j, _)| *j != i);
        let mut read = others.map(|(_, n)| reads_of(kernel, std::slice::from_ref(n)));
        read.find_map(|read| stored.iter().copied().find(|b| read.contains_key(b)))
    })
}

/// Brings the named loops of a chain into order; the others stay where they are.
fn permute(kernel: &Kernel, chain: &mut Chain, axes: &[AxisId]) -> std::result::Result<(), String> {
    let places: Vec<usize> =
        (0..chain.heads.len()).filter(|i| axes.contains(&chain.heads[*i].axis)).collect();
    let mut heads = chain.heads.clone();
    for (place, axis) in places.iter().zip(axes) {
        if let Some(head) = chain.heads.iter().find(|h| h.axis == *axis) {
            heads[*place] = head.clone();
        }
    }
    // A loop's bounds are computed where it stands, so nothing they mention may be inside it.
    let mut inside: IdSet<AxisId> = IdSet::default();
    for head in heads.iter().rev() {
        inside.insert(head.axis);
        for bound in [&head.begin, &head.end] {
            let mut needs = None;
            kernel.resolve(bound).visit_axes(&mut |a| {
                if inside.contains(&a) {
                    needs = Some(a);
                }
            });
            if let Some(a) = needs {
                let (name, inner) = (&kernel.axis(head.axis).name, &kernel.axis(a).name);
                let bound = shown(kernel, bound);
                return Err(format!("`{name}` cannot stand outside of `{inner}`: its bound is {bound}"));
            }
        }
    }
    chain.heads = heads;
    Ok(())
}

/// Chains as a tree again: neighbours share the heads that they begin with.
fn joined(chains: Vec<Chain>) -> Vec<Node> {
    let mut out: Vec<Node> = Vec::new();
    let mut rest = chains.into_iter().peekable();
    while let Some(mut first) = rest.next() {
        if first.heads.is_empty() {
            out.append(&mut first.body);
            continue;
        }
        let head = first.heads.remove(0);
        let mut group = vec![first];
        while let Some(mut next) = rest.next_if(|c| c.heads.first() == Some(&head)) {
            next.heads.remove(0);
            group.push(next);
        }
        out.push(Node::For(For { body: joined(group), ..head }));
    }
    out
}

/// `parallel i`, `serial i`, `unroll i`, `skip i`, `jam i`, `vector i 16`
pub(super) fn execute(kernel: &mut Kernel, name: &str, kind: Kind) -> Result<()> {
    let axis = axis_of_loops(kernel, name)?;
    replace_loops(kernel, axis, &mut |scope, f| {
        possible(scope, &f, kind).map_err(refused)?;
        Ok(vec![Node::For(For { kind, ..f })])
    })
}

/// Whether the bounds of a loop allow a kind; `Err` says why not.
pub(crate) fn possible(scope: &Scope<'_>, f: &For, kind: Kind) -> std::result::Result<(), String> {
    let kernel = scope.kernel();
    let end = kernel.resolve(&f.end);
    match kind {
        Kind::Parallel | Kind::Serial => Ok(()),
        Kind::Unroll | Kind::Dot | Kind::Jam => {
            let extent = scope.simplify(&(end - kernel.resolve(&f.begin)));
            match extent.as_const() {
                Some(_) => Ok(()),
                None => Err(format!(
                    "a loop that is {} needs as many iterations as is known beforehand, not {}; \
                     split it by a constant, with a ladder if it is not a multiple",
                    kind.name(),
                    shown(kernel, &extent)
                )),
            }
        }
        Kind::Skip => kernel.skipped(f).map(drop),
        Kind::Vector(width) => {
            if !width.is_power_of_two() {
                return Err(format!("vectors have 1, 2, 4, 8, … lanes, not {width}"));
            }
            if f.step != 1 || !f.begin.is(0) {
                return Err("a vector loop begins at 0 and goes in steps of 1; split it first".into());
            }
            let end = scope.simplify(&end);
            match scope.interval(&end).1 {
                Some(most) if most <= i64::from(width) => Ok(()),
                _ => Err(format!(
                    "a vector loop of {width} lanes has at most {width} iterations, this one {}; split it first",
                    shown(kernel, &end)
                )),
            }
        }
    }
}
