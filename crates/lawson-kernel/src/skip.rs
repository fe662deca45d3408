//! Steps of a sum that may be left out: products of which one factor is 0 and the other one finite.
//!
//! After `max(x, 0)` half of the elements of a typical value are 0. A product with 0 is 0 if the other factor is neither infinite nor NaN,
//! and adding 0 changes no sum (but for the sign of one that is -0, which the order of a sum decides as well). So a loop
//!
//! ```text
//! for k in 0 to 64 skip { c += x[i, k] * w[k, j] }
//! ```
//!
//! over a buffer `w` that is `finite` may go from one element of `x` that is not 0 to the next. What it is skipped by lies side by side, so
//! that a target compares many elements at once, and there are at most as many as a word has bits. Where all of them are beyond the border of
//! what a window reads, all are 0.

use crate::expr::{Condition, Expr, ExprId, Load};
use crate::index::{Atom, Index};
use crate::tree::{AccId, For, Kernel, Node};
use lawson_graph::op::BinaryKind;
use lawson_graph::{DType, Graph, Op, ValueId};

/// How many iterations a loop that is skipped through has at most.
pub const MOST_SKIPPED: i64 = 64;

/// Whether many elements of a value are probably 0: it is the greater of something and 0, or a part of that in whatever order.
pub(crate) fn is_often_zero(graph: &Graph, v: ValueId) -> bool {
    let Some(node) = graph.defining(v) else { return false };
    match &node.op {
        Op::Binary(BinaryKind::Max) => node.inputs.iter().any(|v| is_zero(graph, *v)),
        Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_) => is_often_zero(graph, node.inputs[0]),
        _ => false,
    }
}

/// Whether all elements of a value are known to be 0.
fn is_zero(graph: &Graph, v: ValueId) -> bool {
    let Some(node) = graph.defining(v) else { return false };
    match &node.op {
        Op::Constant(t) => t.dtype().is_float() && t.is_splat() && t.float_at(0) == 0.0,
        Op::Broadcast(_) | Op::Reshape(_) => is_zero(graph, node.inputs[0]),
        _ => false,
    }
}

impl Kernel {
    /// The factor by whose zeros a loop may be skipped through, and the one that it is multiplied with; `Err` says why there is none.
    pub fn skipped(&self, f: &For) -> Result<[ExprId; 2], String> {
        let counted = f.plain_extent().is_some_and(|n| n <= MOST_SKIPPED);
        if !counted {
            return Err(format!(
                "a loop that is skip goes from 0 to a number up to {MOST_SKIPPED}; split it first, with a ladder if it is not a multiple"
            ));
        }
        let [Node::Step { acc, values }] = f.body.as_slice() else {
            return Err("a loop that is skip has one step of a sum in it and nothing else".into());
        };
        let factors = match values.as_slice() {
            [value] => self.added_product(*value, *acc),
            _ => None,
        };
        let Some([a, b]) = factors.filter(|_| self.acc(*acc).merge.is_some()) else {
            return Err("a loop that is skip adds products to a sum".into());
        };
        let is_finite = |e: ExprId| match self.expr(e) {
            Expr::Load(l) => {
                self.buffer(l.buffer).finite && l.guard.iter().all(|g| self.is_zero(g.otherwise))
            }
            _ => false,
        };
        let fits = |zero: ExprId, other: ExprId| self.lies_along(zero, f) && is_finite(other);
        match (fits(a, b), fits(b, a)) {
            (true, _) => Ok([a, b]),
            (false, true) => Ok([b, a]),
            (false, false) => Err("a loop that is skip multiplies an f32 that lies side by side along it with an element of a buffer that is finite".into()),
        }
    }

    /// The factors of a product, if a value is what is added to it and the state of an accumulator.
    pub(crate) fn added_product(&self, value: ExprId, acc: AccId) -> Option<[ExprId; 2]> {
        let is_state = |e: ExprId| *self.expr(e) == Expr::State(acc, 0);
        let product = match *self.expr(value) {
            Expr::Fma(a, b, c) if is_state(c) => return Some([a, b]),
            Expr::Binary(BinaryKind::Add, c, p) | Expr::Binary(BinaryKind::Add, p, c) if is_state(c) => p,
            _ => return None,
        };
        match *self.expr(product) {
            Expr::Binary(BinaryKind::Mul, a, b) => Some([a, b]),
            _ => None,
        }
    }

    /// Whether an expression reads f32 that lie side by side along a loop, all of them or none; where none, they count as 0.
    fn lies_along(&self, e: ExprId, f: &For) -> bool {
        let Expr::Load(Load { buffer, guard, .. }) = self.expr(e) else { return false };
        let offset = self.offset_of(e);
        let (along, _) = offset.split_terms(|a| a.mentions(f.axis));
        let stands = |c: &Condition| !self.resolve(&c.index).mentions(f.axis);
        self.buffer(*buffer).dtype == DType::F32
            && matches!(along.terms(), [(Atom::Axis(a), c)] if *a == f.axis && c.is(1))
            && guard.iter().all(|g| self.is_zero(g.otherwise) && g.conditions.iter().all(stands))
    }

    /// Whether an expression is 0.
    pub(crate) fn is_zero(&self, e: ExprId) -> bool {
        matches!(self.expr(e), Expr::Const(s) if s.as_f64() == Some(0.0) || s.as_i64() == Some(0))
    }

    /// Where a load lies in its buffer, over the axes that loops run over; 0 for what is no load.
    pub(crate) fn offset_of(&self, e: ExprId) -> Index {
        match self.expr(e) {
            Expr::Load(l) => self.resolve(&self.buffer(l.buffer).layout.offset(&l.index)),
            _ => Index::constant(0),
        }
    }
}
