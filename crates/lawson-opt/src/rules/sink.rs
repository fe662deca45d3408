//! Views sink: reshapes and transposes move past elementwise operators, towards the outputs, where they meet, cancel,
//! or are absorbed. A view that anything else uses, too, stays where it is.

use crate::rewrite::{Rewriter, one};
use crate::rule::{Exact, Rule};
use lawson_graph::op::{Concat, Family, Op, Reshape, Transpose};
use lawson_graph::{Dim, Node, Result, Shape, ValueId};

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "view-below-elementwise",
        identity: "f(view(a), view(b), c) = view(f(a, b, c)) for one reshape or transpose, and c the same everywhere",
        exact: Exact::Bits,
        roots: &[
            Family::Unary,
            Family::Binary,
            Family::Compare,
            Family::Select,
            Family::Cast,
            Family::Bitcast,
        ],
        apply: view_below_elementwise,
        instance: |i| {
            let dtype = i.number();
            let shape = i.shape(3);
            let (a, b) = (i.input(dtype, shape.clone())?, i.input(dtype, shape.clone())?);
            let perm = vec![2, 0, 1];
            let flat: Shape = [shape.elements()].into();
            let view = match i.rng.one_in(2) {
                true => Op::Transpose(Transpose { perm }),
                false => Op::Reshape(Reshape { shape: flat }),
            };
            let x = i.b.op1(view.clone(), &[a])?;
            match i.rng.below(3) {
                0 => i.b.neg(x),
                1 => {
                    let y = i.b.op1(view, &[b])?;
                    i.b.mul(x, y)
                }
                _ => i.b.mul_scalar(x, 3.0),
            }
        },
    },
    Rule {
        name: "transpose-below-concat",
        identity: "concat(transpose<p>(a), transpose<p>(b)) = transpose<p>(concat(a, b))",
        exact: Exact::Bits,
        roots: &[Family::Concat],
        apply: transpose_below_concat,
        instance: |i| {
            let dtype = i.dtype();
            let (m, n) = (i.dim(), i.dim());
            let mut parts = Vec::new();
            for k in [2, 3] {
                let x = i.input(dtype, [m.clone(), Dim::from(k), n.clone()])?;
                parts.push(i.b.op1(Op::Transpose(Transpose { perm: vec![2, 1, 0] }), &[x])?);
            }
            i.b.concat(&parts, 1)
        },
    },
];

/// A reshape or transpose that only elementwise operators use: the operator and its operand.
fn sinking_view(rw: &Rewriter<'_>, v: ValueId) -> Option<(Op, ValueId)> {
    let (users, is_output) = rw.users(v);
    match rw.def1(v)? {
        (op @ (Op::Reshape(_) | Op::Transpose(_)), x)
            if !is_output && users.iter().all(|u| u.op.is_elementwise()) =>
        {
            Some((op.clone(), x))
        }
        _ => None,
    }
}

fn view_below_elementwise(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    if !node.op.is_elementwise() {
        return Ok(None);
    }
    // The view of the first operand that is one; a number repeated everywhere takes any shape.
    let Some((view, source)) = node.inputs.iter().find_map(|v| match rw.splat(*v) {
        Some(_) => None,
        None => sinking_view(rw, *v),
    }) else {
        return Ok(None);
    };
    let Some(shape) = rw.shape_of(source).cloned() else { return Ok(None) };
    let mut operands = Vec::new();
    for v in &node.inputs {
        if let Some(scalar) = rw.splat(*v).cloned() {
            operands.push(Err(scalar));
            continue;
        }
        match sinking_view(rw, *v) {
            Some((op, x)) if op == view && rw.shape_of(x).is_some_and(|s| rw.same_shape(s, &shape)) => {
                operands.push(Ok(x));
            }
            _ => return Ok(None),
        }
    }
    let mut inner = Vec::new();
    for operand in operands {
        inner.push(match operand {
            Ok(x) => x,
            Err(scalar) => {
                let scalar = rw.constant(scalar)?;
                rw.broadcast_to(scalar, shape.clone())?
            }
        });
    }
    let result = rw.op1(node.op.clone(), &inner)?;
    one(rw.op1(view, &[result])?)
}

fn transpose_below_concat(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Concat(Concat { axis }) = node.op else { return Ok(None) };
    let mut perm: Option<Vec<usize>> = None;
    let mut parts = Vec::new();
    for v in &node.inputs {
        match rw.def1(*v) {
            Some((Op::Transpose(t), x))
                if rw.single_use(*v) && perm.as_ref().is_none_or(|p| *p == t.perm) =>
            {
                perm = Some(t.perm.clone());
                parts.push(x);
            }
            _ => return Ok(None),
        }
    }
    let Some(perm) = perm else { return Ok(None) };
    let whole = rw.concat(&parts, perm[axis])?;
    one(rw.op1(Op::Transpose(Transpose { perm }), &[whole])?)
}
