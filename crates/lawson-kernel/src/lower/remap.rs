//! The same kernel with its accesses and indices written another way.

use crate::buffer::BufferId;
use crate::expr::{Condition, Expr, ExprId, Guard, Load};
use crate::index::Index;
use crate::tree::{Kernel, Node};

/// How accesses and other indices are rewritten.
pub(super) struct Remap<'a> {
    /// A buffer and the index at which it is read, written or prefetched.
    pub(super) access: &'a dyn Fn(BufferId, &[Index]) -> (BufferId, Vec<Index>),
    /// Any other index: bounds of loops, conditions, indices as numbers.
    pub(super) index: &'a dyn Fn(&Index) -> Index,
}

impl Remap<'_> {
    /// Rewrites all expressions and the tree; buffers and axes are the caller's business.
    pub(super) fn apply(&self, kernel: &mut Kernel) {
        kernel.known.clear();
        let old = std::mem::take(&mut kernel.exprs);
        let mut ids: Vec<ExprId> = Vec::with_capacity(old.len());
        for expr in old {
            let of = |e: ExprId| ids[e.0 as usize];
            let new = match expr {
                Expr::Index(i, d) => Expr::Index((self.index)(&i), d),
                Expr::Load(load) => {
                    let (buffer, index) = (self.access)(load.buffer, &load.index);
                    let guard = load.guard.map(|g| Guard {
                        conditions: g
                            .conditions
                            .into_iter()
                            .map(|c| Condition { index: (self.index)(&c.index), end: c.end })
                            .collect(),
                        otherwise: of(g.otherwise),
                    });
                    Expr::Load(Load { buffer, index, guard })
                }
                Expr::Unary(k, a) => Expr::Unary(k, of(a)),
                Expr::Binary(k, a, b) => Expr::Binary(k, of(a), of(b)),
                Expr::Extremum(k, a, b) => Expr::Extremum(k, of(a), of(b)),
                Expr::Fma(a, b, c) => Expr::Fma(of(a), of(b), of(c)),
                Expr::Compare(k, a, b) => Expr::Compare(k, of(a), of(b)),
                Expr::Select(a, b, c) => Expr::Select(of(a), of(b), of(c)),
                Expr::Cast(a, d) => Expr::Cast(of(a), d),
                Expr::Bitcast(a, d) => Expr::Bitcast(of(a), d),
                same @ (Expr::Const(_) | Expr::State(..) | Expr::Other(..) | Expr::Result(..)) => same,
            };
            ids.push(kernel.add(new));
        }
        let of = |e: &mut ExprId| *e = ids[e.0 as usize];
        for acc in &mut kernel.accs {
            acc.state.iter_mut().for_each(|s| of(&mut s.init));
            acc.merge.iter_mut().for_each(of);
        }
        let mut body = std::mem::take(&mut kernel.body);
        self.nodes(&mut body, &of);
        kernel.body = body;
    }

    fn nodes(&self, nodes: &mut [Node], of: &impl Fn(&mut ExprId)) {
        for node in nodes {
            match node {
                Node::For(f) => {
                    f.begin = (self.index)(&f.begin);
                    f.end = (self.index)(&f.end);
                    self.nodes(&mut f.body, of);
                }
                Node::Accumulate { body, .. } => self.nodes(body, of),
                Node::Step { values, .. } => values.iter_mut().for_each(of),
                Node::Store(s) => {
                    (s.buffer, s.index) = (self.access)(s.buffer, &s.index);
                    of(&mut s.value);
                }
                Node::Prefetch { buffer, index, .. } => {
                    (*buffer, *index) = (self.access)(*buffer, index);
                }
            }
        }
    }
}
