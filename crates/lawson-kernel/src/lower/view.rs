//! Views as index arithmetic: where an element of a view comes from.

use super::walk::{Indices, Walk};
use crate::group::Refused;
use crate::index::Index;
use lawson_graph::{Dim, Facts, Node, Op};

/// The index of the operand at which a broadcast, reshape, transpose or slice reads, for an index of its result.
pub(super) fn operand_index(walk: &Walk<'_>, node: &Node, index: &[Index]) -> Result<Indices, Refused> {
    let shape = &walk.ty(node.inputs[0])?.shape;
    Ok(match &node.op {
        Op::Broadcast(b) => {
            let repeated = |i: usize| shape[i].is(1) && !b.shape[b.axes[i]].is(1);
            let at = |i: usize| if repeated(i) { Index::from(0) } else { index[b.axes[i]].clone() };
            (0..shape.rank()).map(at).collect()
        }
        Op::Reshape(r) => reshape(walk.graph.facts(), shape, &r.shape, index),
        Op::Transpose(t) => {
            let mut operand = vec![Index::from(0); shape.rank()];
            for (i, p) in index.iter().zip(&t.perm) {
                operand[*p] = i.clone();
            }
            operand
        }
        Op::Slice(s) => {
            let at = |(d, i): (usize, &Index)| Index::constant(s.start[d].clone()) + i.clone() * s.step[d];
            index.iter().enumerate().map(at).collect()
        }
        _ => return Err(walk.refuse(node, "it is not a view")),
    })
}

/// Where the element of `index` in shape `to` lies in shape `from`, both row-major.
///
/// The shapes are cut into the shortest stretches with as many elements each, so that an axis that stays as it is
/// keeps its index; inside a stretch the index is a number of elements, divided up again.
fn reshape(facts: &Facts, from: &[Dim], to: &[Dim], index: &[Index]) -> Indices {
    let mut operand = Vec::with_capacity(from.len());
    let (mut i, mut j) = (0, 0);
    while i < from.len() || j < to.len() {
        let (i0, j0) = (i, j);
        let (mut a, mut b) = (Dim::ONE, Dim::ONE);
        // A stretch has an axis on each side, unless only axes of size 1 are left on one.
        while (i == i0 && i < from.len()) || (j == j0 && j < to.len()) || !facts.equal(&a, &b) {
            let shorter = match (a.as_const(), b.as_const()) {
                (Some(a), Some(b)) => a <= b,
                _ => i - i0 <= j - j0,
            };
            if i < from.len() && (j == to.len() || shorter) {
                a = a * from[i].clone();
                i += 1;
            } else if j < to.len() {
                b = b * to[j].clone();
                j += 1;
            } else {
                break;
            }
        }
        operand.extend(stretch(&from[i0..i], &to[j0..j], &index[j0..j]));
    }
    operand
}

fn stretch(from: &[Dim], to: &[Dim], index: &[Index]) -> Indices {
    let many =
        |dims: &[Dim]| dims.iter().enumerate().filter(|(_, d)| !d.is(1)).map(|(i, _)| i).collect::<Vec<_>>();
    let (from_many, to_many) = (many(from), many(to));
    let mut operand = vec![Index::from(0); from.len()];
    if let ([a], [b]) = (from_many.as_slice(), to_many.as_slice()) {
        operand[*a] = index[*b].clone();
        return operand;
    }
    let mut place = Index::from(0);
    for j in to_many {
        place = place * to[j].clone() + index[j].clone();
    }
    for (n, i) in from_many.iter().enumerate().rev() {
        if n == 0 {
            operand[*i] = place.clone();
        } else {
            operand[*i] = place.clone().modulo(from[*i].clone());
            place = place.floor_div(from[*i].clone());
        }
    }
    operand
}
