//! Functions that arrive as several operators.
//!
//! Composites are taken apart before kernels are made. Where an expansion of the whole is better than the parts, it is found
//! again by its shape.

use crate::expr::{Expr, ExprId};
use crate::tree::Kernel;
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};

/// The cosine of what `e` is the sine of, or the sine of what it is the cosine of, if the kernel has both: together they cost
/// little more than one.
pub fn partner(k: &Kernel, e: &Expr) -> Option<ExprId> {
    let (other, x) = match e {
        Expr::Unary(UnaryKind::Sin, x) => (UnaryKind::Cos, x),
        Expr::Unary(UnaryKind::Cos, x) => (UnaryKind::Sin, x),
        _ => return None,
    };
    k.known.get(&Expr::Unary(other, *x)).copied()
}

/// The `x` of which `numerator / denominator` is the logistic function: `(0 <= x ? 1 : e) / (e + 1)` with `e = exp(-|x|)`.
pub fn sigmoid(k: &Kernel, numerator: ExprId, denominator: ExprId) -> Option<ExprId> {
    let is = |e: ExprId, value: f64| matches!(k.expr(e), Expr::Const(s) if s.as_f64() == Some(value));
    let Expr::Select(condition, yes, e) = k.expr(numerator) else { return None };
    let Expr::Binary(BinaryKind::Add, a, b) = k.expr(denominator) else { return None };
    let Expr::Unary(UnaryKind::Exp, exponent) = k.expr(*e) else { return None };
    let Expr::Unary(UnaryKind::Neg, magnitude) = k.expr(*exponent) else { return None };
    let Expr::Unary(UnaryKind::Abs, x) = k.expr(*magnitude) else { return None };
    let is_not_negative = match k.expr(*condition) {
        Expr::Compare(CompareKind::Le, zero, of) | Expr::Compare(CompareKind::Ge, of, zero) => {
            is(*zero, 0.0) && of == x
        }
        _ => false,
    };
    let sum = a == e && is(*b, 1.0) || b == e && is(*a, 1.0);
    (is_not_negative && is(*yes, 1.0) && sum).then_some(*x)
}
