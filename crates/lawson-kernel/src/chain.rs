//! Chains: kernels in which products follow one another over the same block of rows.
//!
//! ```text
//! for block in 0 to M step 4 parallel {
//!   for i in 0 to 4 { for j in 0 to N { accumulate v { for k in 0 to K { v += x[block + i, k] * w[k, j] } } kept[i, j] = f(v) } }
//!   for i in 0 to 4 { for j in 0 to P { accumulate u { for k in 0 to N { u += kept[i, k] * z[k, j] } } y[block + i, j] = g(u) } }
//! }
//! ```
//!
//! A block is done by one workgroup of a device, whose members share each [`Link`] and wait for each other between two. In: a kernel,
//! scheduled or not; out: its links, if it is a chain of known sizes.

use crate::buffer::{BufferId, Role};
use crate::expr::{Expr, ExprId};
use crate::products::Products;
use crate::tree::{AccId, AxisId, For, Kernel, Node};
use std::collections::BTreeSet;

/// One product of a chain, with what becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Link<'k> {
    /// The loops over the rows of the block, the columns of the result and the terms of the sum, all from 0 on.
    pub loops: [&'k For; 3],
    /// How many rows, columns and terms there are.
    pub sizes: [i64; 3],
    /// What sums up.
    pub acc: AccId,
    /// The factor that depends on the row, and the one that depends on the column.
    pub factors: [ExprId; 2],
    /// What is stored for each row and column.
    pub stores: &'k [Node],
}

impl Link<'_> {
    /// The axes of its loops: rows, columns, terms.
    pub fn axes(&self) -> [AxisId; 3] {
        self.loops.map(|f| f.axis)
    }
}

/// The loop over blocks of rows and the links of a chain, at least two of them.
pub fn links(kernel: &Kernel) -> Option<(&For, Vec<Link<'_>>)> {
    let [Node::For(blocks)] = kernel.body.as_slice() else { return None };
    let links: Vec<Link<'_>> = blocks.body.iter().map(|n| link(kernel, n)).collect::<Option<_>>()?;
    let whole = blocks.end.as_const().is_some_and(|end| end % blocks.step == 0) && blocks.begin.is(0);
    let same = links.iter().all(|l| l.sizes[0] == blocks.step);
    (whole && same && links.len() > 1).then_some((blocks, links))
}

/// A loop from 0 by 1 to a number.
fn plain(node: &[Node]) -> Option<(&For, i64)> {
    match node {
        [Node::For(f)] => Some((f, f.plain_extent()?)),
        _ => None,
    }
}

fn link<'k>(kernel: &'k Kernel, node: &'k Node) -> Option<Link<'k>> {
    let (rows, m) = plain(std::slice::from_ref(node))?;
    let (columns, n) = plain(&rows.body)?;
    let Products { acc, loops, factors: [a, b], stores } = kernel.products(&columns.body)?;
    let &[terms] = loops.as_slice() else { return None };
    let k = terms.plain_extent()?;
    let [on_a, on_b] = [a, b].map(|e| kernel.axes_of(e));
    if ![&on_a, &on_b].iter().all(|on| on.contains(&terms.axis)) {
        return None;
    }
    let splits = |left: &BTreeSet<AxisId>, right: &BTreeSet<AxisId>| {
        !left.contains(&columns.axis) && !right.contains(&rows.axis)
    };
    let factors = match (splits(&on_a, &on_b), splits(&on_b, &on_a)) {
        (true, _) => [a, b],
        (false, true) => [b, a],
        (false, false) => return None,
    };
    // Members store while others still load.
    let mut read: BTreeSet<BufferId> = factors.iter().flat_map(|f| kernel.reads_of(*f)).collect();
    let mut stored = BTreeSet::new();
    for node in stores {
        if let Node::Store(s) = node {
            read.extend(kernel.reads_of(s.value));
            stored.insert(s.buffer);
        }
    }
    if !read.is_disjoint(&stored) {
        return None;
    }
    // What comes from outside can be fetched before the rows are there.
    if !kernel.reads_of(factors[1]).iter().all(|b| kernel.buffer(*b).role == Role::Input) {
        return None;
    }
    let loops = [rows, columns, terms];
    Some(Link { loops, sizes: [m, n, k], acc, factors, stores })
}

impl Kernel {
    /// The axes that loops run over on which an expression depends.
    pub fn axes_of(&self, root: ExprId) -> BTreeSet<AxisId> {
        let mut axes = BTreeSet::new();
        self.visit_below(&[root], &mut |_, e| {
            e.visit_indices(&mut |i| {
                self.resolve(i).visit_axes(&mut |a| {
                    axes.insert(a);
                })
            });
        });
        axes
    }

    /// The buffers that an expression reads.
    pub fn reads_of(&self, root: ExprId) -> BTreeSet<BufferId> {
        let mut buffers = BTreeSet::new();
        self.visit_below(&[root], &mut |_, e| {
            if let Expr::Load(load) = e {
                buffers.insert(load.buffer);
            }
        });
        buffers
    }
}
