//! Sums of products: what tiles and chains of a device are made of.
//!
//! ```text
//! accumulate v { for k in 0 to K { v += x[i, k] * w[k, j] } }  y[i, j] = f(v)
//! ```
//!
//! In: the nodes inside of loops over the elements of a result; out: [`Products`], if these are such a sum and what is stored of it.

use crate::expr::{Expr, ExprId};
use crate::tree::{AccId, For, Kernel, Node};
use lawson_graph::DType;

/// A sum of products of f32, from a number on.
#[derive(Clone, Debug, PartialEq)]
pub struct Products<'k> {
    /// What sums up.
    pub acc: AccId,
    /// The loops of the sum, outermost first.
    pub loops: Vec<&'k For>,
    /// The two factors.
    pub factors: [ExprId; 2],
    /// What is stored when all is summed up, stores alone.
    pub stores: &'k [Node],
}

impl Kernel {
    /// The sum of products that these nodes are, if they are one.
    pub fn products<'k>(&'k self, nodes: &'k [Node]) -> Option<Products<'k>> {
        let [Node::Accumulate { acc, body }, stores @ ..] = nodes else { return None };
        let of = self.acc(*acc);
        let is_sum = of.merge.is_some()
            && matches!(of.state.as_slice(), [s] if s.dtype == DType::F32 && matches!(self.expr(s.init), Expr::Const(_)));
        let (loops, [Node::Step { acc: stepped, values }]) = nest(body) else { return None };
        let (true, &[step], true) = (is_sum, values.as_slice(), stepped == acc) else { return None };
        let &Expr::Fma(a, b, state) = self.expr(step) else { return None };
        let is_stored = stores.iter().all(|s| matches!(s, Node::Store(_)));
        let is_stepped = *self.expr(state) == Expr::State(*acc, 0);
        (is_stored && is_stepped).then_some(Products { acc: *acc, loops, factors: [a, b], stores })
    }
}

/// The loops directly within each other, and what stands in the innermost.
pub fn nest(nodes: &[Node]) -> (Vec<&For>, &[Node]) {
    let (mut loops, mut inner) = (Vec::new(), nodes);
    while let [Node::For(f)] = inner {
        loops.push(f);
        inner = &f.body;
    }
    (loops, inner)
}
