//! `prefetch B at k ahead n of j by i`, `prefetch B at i ahead n of k whole`: hints for what will be read.
//!
//! Where the body of a loop begins to read a buffer, or all that it reads, so many iterations later. What is beyond the end of a buffer may be asked
//! for: hints read nothing.

use super::walk::{
    axis_of_loops, buffer_named, refused, replace_loops, values_of, visit_in_scope, visit_loads,
};
use crate::buffer::{BufferId, Level};
use crate::expr::Load;
use crate::index::Index;
use crate::range::Scope;
use crate::tree::{AxisId, For, Kernel, Kind, Node};
use lawson_graph::Result;

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
    name: &str,
    ahead: Ahead<'_>,
    level: Level,
) -> Result<()> {
    let source = buffer_named(kernel, buffer)?;
    let axis = axis_of_loops(kernel, name)?;
    let outer = ahead.of.map(|of| axis_of_loops(kernel, of)).transpose()?;
    let sharing = ahead.shared_by.map(|of| axis_of_loops(kernel, of)).transpose()?;
    if ahead.whole && (outer.is_none() || sharing.is_some()) {
        return Err(refused(
            "all is fetched `of` a loop around, and by no other than the one named: write `of` and leave out `by`",
        ));
    }
    let mut found = false;
    replace_loops(kernel, axis, &mut |scope, mut f| {
        let outside = |of: &str| refused(format!("the loop over `{name}` is not inside one over `{of}`"));
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
                Some(
                    part_of(&f, sharing, of)
                        .map_err(|why| refused(format!("the loop over `{name}` {why}")))?,
                )
            }
            _ => None,
        };
        if ahead.whole {
            let parts = whole_reads(scope, &f, source, moved).map_err(refused)?;
            let ahead = parts.into_iter().map(|index| at(&index, moved, &later));
            let hint = |index| Node::Prefetch { buffer: source, index, level };
            let nodes: Vec<Node> = ahead.map(hint).collect();
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
        false => Err(refused(format!("nothing inside the loop over `{name}` reads `{buffer}`"))),
    }
}

/// A loop inside of the one whose iterations fetch: over which axis, from where, in which steps, and how many.
struct Turns {
    axis: AxisId,
    begin: i64,
    step: i64,
    count: i64,
}

impl Turns {
    fn of(scope: &Scope<'_>, f: &For) -> Turns {
        let known = |i: &Index| scope.simplify(&scope.kernel().resolve(i)).as_const();
        let (begin, end) = (known(&f.begin), known(&f.end));
        let count = match f.kind {
            // What the first lane reads is a line.
            Kind::Vector(_) => 1,
            _ => begin.zip(end).map_or(0, |(b, e)| (e - b + f.step - 1).div_euclid(f.step)),
        };
        Turns { axis: f.axis, begin: begin.unwrap_or(0), step: f.step, count }
    }

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
    let around: Vec<AxisId> = scope.entered().skip_while(|a| *a != of).skip(1).chain([f.axis]).collect();
    let left = scope.enter(f);
    let numbered = numbered(scope, &around);
    let (inside, loads) = insides(scope, f, source);
    scope.leave(left);
    let (number, iterations) = numbered?;
    let mut out = Vec::new();
    for load in loads {
        let index: Vec<Index> = load.index.iter().map(|i| kernel.resolve(i)).collect();
        let mut turns: Vec<&Turns> =
            inside.iter().filter(|t| index.iter().any(|i| i.mentions(t.axis))).collect();
        if let Some(t) = turns.iter().find(|t| t.count < 1) {
            let name = &kernel.axis(t.axis).name;
            return Err(format!("the loop over `{name}` does not run, or how often is not known beforehand"));
        }
        // The longest loop is shared out, the others are gone through.
        turns.sort_by_key(|t| t.count);
        let Some(shared) = turns.pop() else {
            out.push(index);
            continue;
        };
        let each = (shared.count + iterations - 1) / iterations;
        let hints = turns.iter().fold(each, |n, t| n.saturating_mul(t.count));
        if hints > MOST_HINTS {
            return Err(format!("an iteration would fetch more than {MOST_HINTS} lines"));
        }
        let first = number.clone() * (each * shared.step) + shared.begin;
        let part = |n: i64| at(&index, shared.axis, &(first.clone() + n * shared.step));
        let mut places: Vec<Vec<Index>> = (0..each).map(part).collect();
        for t in turns {
            let turn = |n: i64| Index::constant(t.begin + n * t.step);
            let all =
                |place: &Vec<Index>| (0..t.count).map(|n| at(place, t.axis, &turn(n))).collect::<Vec<_>>();
            places = places.iter().flat_map(all).collect();
        }
        out.extend(places);
    }
    Ok(out)
}

/// Indices with another one in the place of an axis.
fn at(indices: &[Index], axis: AxisId, value: &Index) -> Vec<Index> {
    let with = |a: AxisId| (a == axis).then(|| value.clone());
    indices.iter().map(|i| i.substitute(&with)).collect()
}

/// The number of an iteration of loops within each other, and how many there are at most. The scope is that of the innermost's body.
fn numbered(scope: &Scope<'_>, axes: &[AxisId]) -> Result<(Index, i64), String> {
    let (mut number, mut iterations) = (Index::constant(0), 1i64);
    for axis in axes.iter().rev() {
        let name = &scope.kernel().axis(*axis).name;
        let step = scope.step_of(*axis).unwrap_or(1);
        match scope.interval(&Index::axis(*axis)) {
            (Some(0), Some(most)) => {
                number = number + Index::axis(*axis).floor_div(step) * iterations;
                iterations = iterations.saturating_mul((most / step + 1).max(1));
            }
            (Some(_), Some(_)) => return Err(format!("the loop over `{name}` does not go from 0")),
            _ => return Err(format!("how far `{name}` goes is not known beforehand")),
        }
    }
    Ok((number, iterations))
}

/// The loops inside of one, and the loads of a buffer there.
fn insides(scope: &mut Scope<'_>, f: &For, source: BufferId) -> (Vec<Turns>, Vec<Load>) {
    let (mut inside, mut loads): (Vec<Turns>, Vec<Load>) = (Vec::new(), Vec::new());
    let kernel = scope.kernel();
    // Nothing here fails.
    let _ = visit_in_scope(scope, &f.body, &mut |scope, node| {
        if let Node::For(inner) = node {
            let turns = Turns::of(scope, inner);
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
    (inside, loads)
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
