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
//! Likewise the channels of a grouped convolution: those of one group read the same, and are rows of one tile in a loop of their own.
//!
//! In: a kernel as lowering wrote it. Out: the same, where nests have more loops. What is summed over has its own way with digits, when it gets a schedule.

use super::clone::{Change, Cloner};
use super::cut::roots_of;
use super::remap::keep_accumulators;
use crate::expr::Expr;
use crate::index::{Atom, Index};
use crate::tree::{AxisId, For, Kernel, Node};

/// The most loops that a nest gets more.
const MOST: usize = 8;

/// The least digit of a nest with sums.
const LEAST: i64 = 4;

/// Splits the axes of nests where they are read by digits, and says whether there are any.
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
    if any {
        keep_accumulators(kernel);
    }
    any
}

/// An axis over elements of a nest, of which stages read the quotient or the remainder by a number that divides its end. Where there are sums, a
/// digit has some values at least.
fn digit(kernel: &Kernel, nest: &Node) -> Option<(AxisId, i64)> {
    let (mut loops, mut roots): (Vec<&For>, Vec<_>) = (Vec::new(), Vec::new());
    let mut nodes = std::slice::from_ref(nest);
    while let [Node::For(f)] = nodes {
        loops.push(f);
        nodes = &f.body;
    }
    roots_of(kernel, nodes, &mut roots);
    let least = if nodes.iter().all(|n| matches!(n, Node::Store(_))) { 2 } else { LEAST };
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
        (divides && most >= least && by.iter().all(|d| most % d == 0)).then_some((f.axis, most))
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
