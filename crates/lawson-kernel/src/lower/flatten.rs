//! Joining dimensions that are only ever taken apart: `x[e / d, e % d]`, with `d` the size of the second, is `x'[e]`, where `x'` is
//! the same memory with the two dimensions as one.
//!
//! A reshape that joins axes leaves such indices behind. Without them there is nothing to divide when the kernel runs, and
//! nothing to prove about quotients.

use super::collapse::accesses;
use super::remap::{Remap, SAME};
use crate::buffer::{BufferId, Layout};
use crate::index::{Atom, Index};
use crate::tree::Kernel;
use lawson_graph::Dim;

/// Joins all dimensions of a kernel's buffers that can be.
pub(super) fn flatten(kernel: &mut Kernel) {
    while let Some((buffer, first)) = find(kernel) {
        let b = &mut kernel.buffers[buffer.0 as usize];
        let outer = b.dims.remove(first);
        let inner = b.dims[first].clone();
        b.dims[first] = outer * inner.clone();
        b.layout = Layout::row_major(&b.dims);
        let access = |id: BufferId, index: &[Index]| {
            let mut index = index.to_vec();
            if id == buffer
                && let Some(whole) = undivided(&index[first], &index[first + 1], &inner)
            {
                index.remove(first);
                index[first] = whole;
            }
            (id, index)
        };
        Remap { access: &access, datum: &access, index: &Index::clone, component: SAME }.apply(kernel);
    }
}

/// A buffer, and the first of two dimensions that every access takes apart.
fn find(kernel: &Kernel) -> Option<(BufferId, usize)> {
    let accesses = accesses(kernel);
    let ids = (0..kernel.buffers.len()).map(|i| BufferId(i as u32));
    ids.filter(|id| kernel.buffer(*id).layout == Layout::row_major(&kernel.buffer(*id).dims)).find_map(|id| {
        let dims = &kernel.buffer(id).dims;
        let own: Vec<&Vec<Index>> = accesses.iter().filter(|(b, _)| *b == id).map(|(_, i)| i).collect();
        let all = |d: &usize| own.iter().all(|i| undivided(&i[*d], &i[d + 1], &dims[d + 1]).is_some());
        (1..dims.len()).map(|d| d - 1).find(|d| !own.is_empty() && all(d)).map(|d| (id, d))
    })
}

/// `e`, for `e / d` and `e % d`.
fn undivided(quotient: &Index, remainder: &Index, d: &Dim) -> Option<Index> {
    let alone = |i: &Index| match i.terms() {
        [(atom, c)] if c.is(1) && i.offset().is(0) => Some(atom.clone()),
        _ => None,
    };
    match (alone(quotient)?, alone(remainder)?) {
        (Atom::Div(e, a), Atom::Mod(f, b)) if e == f && a == *d && b == *d => Some(*e),
        _ => None,
    }
}
