//! Loops over digits: where stages read at quotients and remainders of an axis, that axis is two loops.
//!
//! Woven and repeated elements are read at such places:
//!
//! ```text
//! for i in 0 to 2*N { y[i] = x[i % 2, i / 2] }
//! ```
//!
//! No vector runs along that. With a loop for each digit, places are sums again:
//!
//! ```text
//! for i in 0 to N { for i1 in 0 to 2 { y[2*i + i1] = x[i1, i] } }
//! ```
//!
//! In: a kernel as lowering wrote it. Out: the same, where nests that only store have more loops. Sums have their own way with digits, when they get a schedule.

use super::clone::{Change, Cloner};
use crate::expr::Expr;
use crate::index::{Atom, Index};
use crate::tree::{AxisId, For, Kernel, Node};

/// The most loops that a nest gets more.
const MOST: usize = 8;

/// Splits the axes of nests that only store where they are read by digits, and says whether there are any.
pub(super) fn split(kernel: &mut Kernel) -> bool {
    let has_digits = |e: &Expr| {
        let mut found = false;
        e.visit_indices(&mut |i| {
            found |= i.terms().iter().any(|(a, _)| matches!(a, Atom::Div(..) | Atom::Mod(..)))
        });
        found
    };
    if !kernel.exprs.iter().any(has_digits) {
        return false;
    }
    let mut any = false;
    let mut body = std::mem::take(&mut kernel.body);
    for nest in &mut body {
        for _ in 0..MOST {
            let Some((axis, by)) = digit(kernel, nest) else { break };
            match Cloner::new(kernel, Change::Digits { axis, by }).nest(nest) {
                Some(split) => (*nest, any) = (split, true),
                None => break,
            }
        }
    }
    kernel.body = body;
    any
}

/// An axis of a nest that only stores, of which stages read the quotient or the remainder by a number that divides its end.
fn digit(kernel: &Kernel, nest: &Node) -> Option<(AxisId, i64)> {
    let (mut loops, mut roots): (Vec<&For>, Vec<_>) = (Vec::new(), Vec::new());
    let mut nodes = std::slice::from_ref(nest);
    while let [Node::For(f)] = nodes {
        loops.push(f);
        nodes = &f.body;
    }
    for node in nodes {
        let Node::Store(store) = node else { return None };
        roots.push(store.value);
    }
    loops.into_iter().filter(|f| f.begin.is(0) && f.step == 1).find_map(|f| {
        let mut by: Vec<i64> = Vec::new();
        kernel.visit_below(&roots, &mut |_, e| e.visit_indices(&mut |i| divisors(i, f.axis, &mut by)));
        // The others go into what is left.
        let most = by.iter().copied().max()?;
        let end = f.end.as_dim()?;
        let divides = match end.as_const() {
            Some(end) => end % most == 0 && end > most,
            None => kernel.facts.is_multiple(end, most),
        };
        (divides && by.iter().all(|d| most % d == 0)).then_some((f.axis, most))
    })
}

/// By what an axis alone is divided in an index.
fn divisors(index: &Index, axis: AxisId, found: &mut Vec<i64>) {
    for (atom, _) in index.terms() {
        match atom {
            Atom::Div(of, by) | Atom::Mod(of, by) => {
                if of.as_axis() == Some(axis)
                    && let Some(by) = by.as_const().filter(|by| *by > 1)
                {
                    found.push(by);
                }
                divisors(of, axis, found);
            }
            Atom::Min(m) | Atom::Max(m) => m.iter().for_each(|i| divisors(i, axis, found)),
            Atom::Axis(_) | Atom::At(_) => {}
        }
    }
}
