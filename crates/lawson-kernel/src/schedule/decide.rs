//! `decide`: guards are decided once for as many iterations of a loop as possible.
//!
//! At the border of an image, some taps of a window read nothing, and which, differs from output to output. Unrolled, each tap is decided by itself
//! when code is made. But most taps lie inside for all outputs of a tile, and most tiles lie inside for all taps: those stay one loop, whose
//! loads ask nothing, and its body is made once.
//!
//! In: a loop with constant bounds. Out: loops over the same iterations in the same order.

use super::walk::{
    axis_of_loops, change_loads, change_loops, refused, replace_loops, values_of, visit_in_scope,
    visit_loads, without_conditions,
};
use crate::expr::Condition;
use crate::index::Index;
use crate::range::{Scope, Truth};
use crate::tree::{AxisId, For, Kernel, Kind, Node};
use lawson_graph::Result;

/// Iterations that follow one another, by their numbers, and the conditions that hold in all of them; `None` where one may fail.
struct Run {
    first: i64,
    end: i64,
    holds: Option<Vec<Condition>>,
}

/// `decide k`
pub(super) fn decide(kernel: &mut Kernel, name: &str) -> Result<()> {
    let axis = axis_of_loops(kernel, name)?;
    let mut dropped: Vec<Vec<Condition>> = Vec::new();
    replace_loops(kernel, axis, &mut |scope, f| {
        let (Some(begin), Some(end), Kind::Serial) = (f.begin.as_const(), f.end.as_const(), f.kind) else {
            return Err(refused(format!("the loop over `{name}` is not one with constant bounds")));
        };
        let iterations = (end - begin + f.step - 1).div_euclid(f.step);
        let mut parts = Vec::new();
        for Run { first, end: past, holds } in runs(scope, &f, begin, iterations) {
            let at = |n: i64| Index::constant(begin + n * f.step);
            let end = if past == iterations { f.end.clone() } else { at(past) };
            let kind = if holds.is_some() { Kind::Serial } else { Kind::Unroll };
            parts.push(Node::For(For { begin: at(first), end, kind, ..f.clone() }));
            dropped.push(holds.unwrap_or_default());
        }
        Ok(parts)
    })?;
    // The loops come in the same order again.
    let mut dropped = dropped.into_iter();
    let mut body = std::mem::take(&mut kernel.body);
    change_loops(&mut body, axis, &mut |f| {
        let gone = dropped.next().unwrap_or_default();
        if !gone.is_empty() {
            change_loads(kernel, &mut f.body, &|_, load| without_conditions(load, &|c| gone.contains(c)));
        }
    });
    kernel.body = body;
    Ok(())
}

/// The iterations of a loop in runs, as long as can be, that are decided alike.
fn runs(scope: &mut Scope<'_>, f: &For, begin: i64, iterations: i64) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for n in 0..iterations {
        let holds = conditions(scope, f, begin + n * f.step, begin + (n + 1) * f.step);
        match runs.last_mut() {
            Some(run) if run.holds.is_some() == holds.is_some() => run.end = n + 1,
            _ => runs.push(Run { first: n, end: n + 1, holds }),
        }
    }
    for run in runs.iter_mut().filter(|r| r.holds.is_some() && r.end - r.first > 1) {
        // What holds for each iteration may not be seen to hold for all at once.
        run.holds = conditions(scope, f, begin + run.first * f.step, begin + run.end * f.step);
    }
    runs
}

/// The conditions of guarded loads in the body that mention the axis, if all of them hold in the iterations between two values of it.
fn conditions(scope: &mut Scope<'_>, f: &For, begin: i64, end: i64) -> Option<Vec<Condition>> {
    let kernel = scope.kernel();
    let left = scope.enter_between(f, Index::constant(begin), Index::constant(end));
    let mut found: Vec<Condition> = Vec::new();
    let mut all = true;
    // Nothing here fails.
    let _ = visit_in_scope(scope, &f.body, &mut |scope, node| {
        visit_loads(kernel, values_of(node), &mut |load| {
            for c in load.guard.iter().flat_map(|g| &g.conditions) {
                if mentions(kernel, c, f.axis) && !found.contains(c) {
                    all &= scope.holds(c) == Truth::Always;
                    found.push(c.clone());
                }
            }
        });
        Ok(())
    });
    scope.leave(left);
    all.then_some(found)
}

fn mentions(kernel: &Kernel, condition: &Condition, axis: AxisId) -> bool {
    kernel.resolve(&condition.index).mentions(axis)
}
