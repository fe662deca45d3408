//! `join i j k as t`: loops directly within each other become one.
//!
//! ```text
//! for i in 0 to 3 { for j in 0 to 4 { … } }   →   for t in 0 to 12 { … }   with i = t / 4 and j = t mod 4
//! ```
//!
//! Iterations are the same, in the same order. A sum over the taps of a window and its channels can so be cut into blocks as one sum.

use super::walk::{axis_of_loops, has_loop, refused, replace_loops, shown};
use crate::build;
use crate::index::Index;
use crate::range::Scope;
use crate::tree::{AxisId, For, Kernel, Kind, Node};
use lawson_graph::{Code, Error, Result};

/// One of the loops: where it begins, how far an iteration goes, and how many there are.
#[derive(Clone, PartialEq)]
struct Turn {
    begin: Index,
    step: i64,
    count: i64,
}

/// `join i j k as t`
pub(super) fn join(kernel: &mut Kernel, names: &[String], joined: &str) -> Result<()> {
    let axes = names.iter().map(|n| axis_of_loops(kernel, n)).collect::<Result<Vec<AxisId>>>()?;
    let [outermost, ..] = axes[..] else { return Err(refused("there is no loop to join")) };
    if kernel.axes.iter().any(|a| a.name == joined) {
        let message = format!("there is an axis `{joined}` already");
        return Err(Error::new(Code::ScheduleTarget, message).help("join loops under another name"));
    }
    let axis = kernel.add_axis(joined);
    let mut found: Option<Vec<Turn>> = None;
    replace_loops(kernel, outermost, &mut |scope, f| {
        let kind = f.kind;
        let (turns, body) = turns_of(scope, f, &axes).map_err(refused)?;
        let total = turns.iter().try_fold(1i64, |n, t| n.checked_mul(t.count));
        let Some(total) = total else {
            return Err(refused("so many iterations are more than an index can count"));
        };
        // What an axis stands for is the same everywhere.
        if found.as_ref().is_some_and(|known| *known != turns) {
            let name = &scope.kernel().axis(outermost).name;
            return Err(refused(format!("loops over `{name}` differ in their bounds")));
        }
        found = Some(turns);
        Ok(vec![build::loop_of(axis, 0, total, 1, kind, body)])
    })?;
    if let Some(of) = axes.iter().find(|a| has_loop(&kernel.body, &[**a])) {
        let name = &kernel.axis(*of).name;
        return Err(refused(format!("another loop over `{name}` stands elsewhere")));
    }
    let mut inside = 1i64;
    for (place, (of, turn)) in axes.iter().zip(found.unwrap_or_default()).enumerate().rev() {
        let whole = Index::axis(axis).floor_div(inside);
        // The outermost goes round once.
        let number = if place == 0 { whole } else { whole.modulo(turn.count.max(1)) };
        kernel.axes[of.0 as usize].derived = Some(turn.begin + number * turn.step);
        // Where that is more than can be counted, some loop runs no time.
        inside = inside.saturating_mul(turn.count.max(1));
    }
    Ok(())
}

/// The loops over the axes, from `f` inwards, and what stands in the last of them; `Err` says why they cannot be one.
fn turns_of(
    scope: &Scope<'_>,
    f: For,
    axes: &[AxisId],
) -> std::result::Result<(Vec<Turn>, Vec<Node>), String> {
    let kernel = scope.kernel();
    let name = |a: AxisId| &kernel.axis(a).name;
    let (kind, mut turns, mut body) = (f.kind, Vec::new(), vec![Node::For(f)]);
    for (place, axis) in axes.iter().enumerate() {
        let f = match <[Node; 1]>::try_from(std::mem::take(&mut body)) {
            Ok([Node::For(f)]) if f.axis == *axis => f,
            _ => {
                let outer = name(axes[place.saturating_sub(1)]);
                return Err(format!(
                    "directly inside the loop over `{outer}` stands not one over `{}`",
                    name(*axis)
                ));
            }
        };
        if f.kind != kind || !matches!(kind, Kind::Serial | Kind::Parallel) {
            return Err(format!(
                "the loop over `{}` is {}; loops are joined that are all serial or all parallel",
                name(*axis),
                f.kind.name()
            ));
        }
        let [begin, end] = [&f.begin, &f.end].map(|i| kernel.resolve(i));
        let count = scope.simplify(&(end - begin.clone()));
        let Some(count) = count.as_const() else {
            return Err(format!(
                "how many iterations the loop over `{}` has must be known beforehand, not {}",
                name(*axis),
                shown(kernel, &count)
            ));
        };
        if let Some(outer) = axes[..place].iter().find(|a| begin.mentions(**a)) {
            return Err(format!(
                "where the loop over `{}` begins moves with `{}`",
                name(*axis),
                name(*outer)
            ));
        }
        let count = (count + f.step - 1).div_euclid(f.step).max(0);
        turns.push(Turn { begin: f.begin, step: f.step, count });
        body = f.body;
    }
    Ok((turns, body))
}
