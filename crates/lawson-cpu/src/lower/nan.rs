//! Which NaN implies which.
//!
//! The machine's `min` and `max` give their second operand where either is NaN. That is right as it is where the second is NaN
//! whenever the first is, as in `max(x, x·c + b)`: most extrema of real programs need no mending.

use super::hash::IdSet;
use lawson_graph::op::{BinaryKind, UnaryKind};
use lawson_kernel::{Expr, ExprId, Kernel};

/// Whether `b` is NaN wherever `a` is.
pub(super) fn nan_follows(k: &Kernel, a: ExprId, b: ExprId) -> bool {
    let mut sources = Vec::new();
    origins(k, a, &mut IdSet::default(), &mut sources);
    sources.into_iter().all(|s| passes(k, s, b, &mut IdSet::default()))
}

/// Expressions of which one is NaN if `e` is.
fn origins(k: &Kernel, e: ExprId, seen: &mut IdSet<ExprId>, out: &mut Vec<ExprId>) {
    if !seen.insert(e) {
        return;
    }
    let finite = |e: ExprId, zero: bool| match k.expr(e) {
        Expr::Const(s) => s.as_f64().is_some_and(|v| v.is_finite() && (zero || v != 0.0)),
        _ => false,
    };
    match k.expr(e) {
        Expr::Const(s) if s.as_f64().is_some_and(|v| !v.is_nan()) => {}
        Expr::Unary(UnaryKind::Neg | UnaryKind::Abs, x) => origins(k, *x, seen, out),
        Expr::Binary(BinaryKind::Mul, x, c) if finite(*c, false) => origins(k, *x, seen, out),
        Expr::Binary(BinaryKind::Mul, c, x) if finite(*c, false) => origins(k, *x, seen, out),
        Expr::Binary(BinaryKind::Add | BinaryKind::Sub, x, c) if finite(*c, true) => {
            origins(k, *x, seen, out)
        }
        Expr::Binary(BinaryKind::Add | BinaryKind::Sub, c, x) if finite(*c, true) => {
            origins(k, *x, seen, out)
        }
        Expr::Binary(BinaryKind::Min | BinaryKind::Max, x, y) => {
            origins(k, *x, seen, out);
            origins(k, *y, seen, out);
        }
        _ => out.push(e),
    }
}

/// Whether `e` is NaN wherever `source` is, by way of operations that pass it on.
fn passes(k: &Kernel, source: ExprId, e: ExprId, seen: &mut IdSet<ExprId>) -> bool {
    if e == source || k.expr(e) == k.expr(source) {
        return true;
    }
    if !seen.insert(e) {
        return false;
    }
    use BinaryKind as B;
    use UnaryKind as U;
    match k.expr(e) {
        Expr::Unary(
            U::Neg
            | U::Abs
            | U::Sqrt
            | U::Rsqrt
            | U::Exp
            | U::Exp2
            | U::Expm1
            | U::Log
            | U::Log1p
            | U::Tanh
            | U::Erf
            | U::Sin
            | U::Cos,
            x,
        ) => passes(k, source, *x, seen),
        Expr::Binary(B::Add | B::Sub | B::Mul | B::Div | B::Min | B::Max, x, y) => {
            passes(k, source, *x, seen) || passes(k, source, *y, seen)
        }
        Expr::Fma(x, y, z) => [x, y, z].into_iter().any(|o| passes(k, source, *o, seen)),
        _ => false,
    }
}
