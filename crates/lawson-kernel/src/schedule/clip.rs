//! `clip`: iterations in which a guarded load contributes nothing are left out.
//!
//! The padding of a convolution contributes nothing; that is how Lawson defines it, whatever the weight beside it is. So where every
//! step inside a loop leaves its state as it is whenever a condition fails, the condition may bound the loop instead:
//! from `0 <= c·k + rest < end` follows an interval of `k`. Afterwards the condition holds wherever the body runs, and the
//! loads need not ask.
//!
//! In: a loop whose body only steps accumulators. Out: tighter bounds, loads with fewer conditions.

use super::walk::{
    axis_of_loops, change_loads, change_loops, refused, replace_loops, visit_in_scope, without_conditions,
};
use crate::expr::{Condition, Expr, ExprId, Extremum, Load};
use crate::index::{Atom, Index};
use crate::range::Scope;
use crate::tree::{AccId, AxisId, For, Kernel, Node};
use lawson_graph::op::{BinaryKind, UnaryKind};
use lawson_graph::{Result, number};

/// The conditions whose failure alone makes a value what is asked for.
enum Conditions {
    /// The value is that anyway.
    Always,
    /// These.
    Of(Vec<Condition>),
}

/// An interval of the axis that a condition says: `begin <= axis < end`.
struct Interval {
    begin: Index,
    end: Index,
}

/// `clip k`
pub(super) fn clip(kernel: &mut Kernel, name: &str) -> Result<()> {
    let axis = axis_of_loops(kernel, name)?;
    let mut dropped: Vec<Vec<Condition>> = Vec::new();
    replace_loops(kernel, axis, &mut |scope, f| {
        let (f, conditions) = clip_loop(scope, f).map_err(refused)?;
        dropped.push(conditions);
        Ok(vec![Node::For(f)])
    })?;
    // The loops come in the same order again.
    let mut dropped = dropped.into_iter();
    let mut body = std::mem::take(&mut kernel.body);
    change_loops(&mut body, axis, &mut |f| {
        let gone = dropped.next().unwrap_or_default();
        change_loads(kernel, &mut f.body, &|_, load| without_conditions(load, &|c| gone.contains(c)));
    });
    kernel.body = body;
    Ok(())
}

/// Whether `clip` applies to every loop over an axis.
pub(crate) fn applies(kernel: &Kernel, axis: AxisId) -> bool {
    fn walk(scope: &mut Scope<'_>, nodes: &[Node], axis: AxisId) -> bool {
        nodes.iter().all(|node| match node {
            Node::For(f) if f.axis == axis => clip_loop(scope, f.clone()).is_ok(),
            Node::For(f) => {
                let left = scope.enter(f);
                let all = walk(scope, &f.body, axis);
                scope.leave(left);
                all
            }
            Node::Accumulate { body, .. } => walk(scope, body, axis),
            Node::Step { .. } | Node::Store(_) | Node::Prefetch { .. } => true,
        })
    }
    walk(&mut Scope::new(kernel), &kernel.body, axis)
}

/// The loop with tighter bounds, and the conditions that hold in it now.
fn clip_loop(scope: &mut Scope<'_>, mut f: For) -> std::result::Result<(For, Vec<Condition>), String> {
    let kernel = scope.kernel();
    let name = &kernel.axis(f.axis).name;
    if f.step != 1 {
        return Err(format!("the loop over `{name}` goes in steps of {}; clip before it is split", f.step));
    }
    let mut common = Conditions::Always;
    let mut inside = vec![f.axis];
    let mut why = None;
    // The body is looked at without the loop's own bounds: only what it contains matters.
    let _ = visit_in_scope(scope, &f.body, &mut |_, node| {
        match node {
            Node::For(inner) => inside.push(inner.axis),
            Node::Step { acc, values } => {
                for (i, value) in values.iter().enumerate() {
                    let these = unchanged(kernel, *acc, i, *value);
                    common = std::mem::replace(&mut common, Conditions::Always).and(these);
                }
            }
            Node::Accumulate { acc, .. } => {
                why.get_or_insert_with(|| format!("`accumulate {}`", kernel.acc(*acc).name));
            }
            Node::Store(s) => {
                why.get_or_insert_with(|| format!("a store to `{}`", kernel.buffer(s.buffer).name));
            }
            Node::Prefetch { .. } => {}
        }
        Ok(())
    });
    if let Some(what) = why {
        return Err(format!("{what} stands inside the loop over `{name}`; only steps may"));
    }
    let candidates = match common {
        Conditions::Of(conditions) if !conditions.is_empty() => conditions,
        Conditions::Always | Conditions::Of(_) => {
            return Err(format!(
                "no condition of a guarded load leaves every step inside the loop over `{name}` without effect \
                 where it fails: sums need the value 0 there, extrema an infinity"
            ));
        }
    };
    let mut kept = Vec::new();
    for condition in candidates {
        let index = scope.simplify(&kernel.resolve(&condition.index));
        if let Some(Interval { begin, end }) = solve(&index, &condition, f.axis, &inside) {
            f.begin = scope.simplify(&kernel.resolve(&f.begin).max(begin));
            f.end = scope.simplify(&kernel.resolve(&f.end).min(end));
            kept.push(condition);
        }
    }
    match kept.first() {
        Some(_) => Ok((f, kept)),
        None => Err(format!("no condition is linear in `{name}` and free of the axes of loops inside it")),
    }
}

impl Conditions {
    /// Those that are in both.
    fn and(self, other: Conditions) -> Conditions {
        match (self, other) {
            (Conditions::Always, c) | (c, Conditions::Always) => c,
            (Conditions::Of(a), Conditions::Of(b)) => {
                Conditions::Of(a.into_iter().filter(|c| b.contains(c)).collect())
            }
        }
    }

    /// Those that are in either.
    fn or(self, other: Conditions) -> Conditions {
        match (self, other) {
            (Conditions::Always, _) | (_, Conditions::Always) => Conditions::Always,
            (Conditions::Of(mut a), Conditions::Of(b)) => {
                let more: Vec<Condition> = b.into_iter().filter(|c| !a.contains(c)).collect();
                a.extend(more);
                Conditions::Of(a)
            }
        }
    }

    fn never() -> Conditions {
        Conditions::Of(Vec::new())
    }
}

/// When a step leaves component `i` of the state as it is.
fn unchanged(kernel: &Kernel, acc: AccId, i: usize, value: ExprId) -> Conditions {
    let part = |v: ExprId| unchanged(kernel, acc, i, v);
    match kernel.expr(value) {
        Expr::State(a, j) if (*a, *j) == (acc, i) => Conditions::Always,
        Expr::Fma(a, b, c) => part(*c).and(zero(kernel, *a).or(zero(kernel, *b))),
        Expr::Binary(BinaryKind::Sub, a, b) => part(*a).and(zero(kernel, *b)),
        Expr::Binary(BinaryKind::Add, a, b) => {
            let ((a, x), (b, y)) = ((part(*a), zero(kernel, *b)), (part(*b), zero(kernel, *a)));
            a.and(x).or(b.and(y))
        }
        Expr::Binary(BinaryKind::Max, a, b) | Expr::Extremum(Extremum::Max, a, b) => {
            let (x, y) = (infinite(kernel, *b, Extremum::Max), infinite(kernel, *a, Extremum::Max));
            part(*a).and(x).or(part(*b).and(y))
        }
        Expr::Binary(BinaryKind::Min, a, b) | Expr::Extremum(Extremum::Min, a, b) => {
            let (x, y) = (infinite(kernel, *b, Extremum::Min), infinite(kernel, *a, Extremum::Min));
            part(*a).and(x).or(part(*b).and(y))
        }
        _ => Conditions::never(),
    }
}

/// When a value is zero.
fn zero(kernel: &Kernel, value: ExprId) -> Conditions {
    match kernel.expr(value) {
        _ if kernel.is_zero(value) => Conditions::Always,
        Expr::Load(load) => match &load.guard {
            Some(guard) if kernel.is_zero(guard.otherwise) => Conditions::Of(guard.conditions.clone()),
            _ => Conditions::never(),
        },
        Expr::Cast(a, _) | Expr::Unary(UnaryKind::Neg, a) => zero(kernel, *a),
        Expr::Binary(BinaryKind::Mul, a, b) => zero(kernel, *a).or(zero(kernel, *b)),
        Expr::Binary(BinaryKind::Add | BinaryKind::Sub, a, b) => zero(kernel, *a).and(zero(kernel, *b)),
        _ => Conditions::never(),
    }
}

/// When a value is the one that never is the greatest, or the least: the infinity, or the end of an integer's range.
fn infinite(kernel: &Kernel, value: ExprId, of: Extremum) -> Conditions {
    let loses = |e: ExprId| match kernel.expr(e) {
        Expr::Const(s) => {
            let infinity = if of == Extremum::Max { f64::NEG_INFINITY } else { f64::INFINITY };
            let end = number::saturate(s.dtype, infinity);
            s.as_f64() == Some(infinity) || (s.dtype.is_int() && s.as_i64().map(i128::from) == Some(end))
        }
        _ => false,
    };
    match kernel.expr(value) {
        _ if loses(value) => Conditions::Always,
        Expr::Load(Load { guard: Some(guard), .. }) if loses(guard.otherwise) => {
            Conditions::Of(guard.conditions.clone())
        }
        _ => Conditions::never(),
    }
}

/// The interval of `axis` in which `0 <= index < end`, if the index is `c·axis + rest`, the rest is known outside and is no data:
/// the bounds of loops mention none.
fn solve(index: &Index, condition: &Condition, axis: AxisId, inside: &[AxisId]) -> Option<Interval> {
    let (_, c) = index.terms().iter().find(|(a, _)| *a == Atom::Axis(axis))?;
    let c = c.as_const()?;
    let rest = index.clone() - Index::axis(axis) * c;
    if rest.has_data() || inside.iter().any(|a| rest.mentions(*a)) {
        return None;
    }
    let last = Index::constant(condition.end.clone() - 1);
    let up = |i: Index, d: i64| (i + (d - 1)).floor_div(d);
    Some(match c {
        // -rest <= c·axis <= last - rest
        c if c > 0 => {
            let begin = up(rest.scaled(&(-1).into()), c);
            Interval { begin, end: (last - rest).floor_div(c) + 1 }
        }
        // rest - last <= |c|·axis <= rest
        c => {
            let d = c.checked_neg()?;
            Interval { begin: up(rest.clone() - last, d), end: rest.floor_div(d) + 1 }
        }
    })
}
