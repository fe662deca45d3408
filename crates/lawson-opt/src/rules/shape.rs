//! Shape arithmetic: integer tensors computed from dimensions become `dims` again, so that the sub-graphs with which
//! front ends compute shapes vanish.
//!
//! Dimensions are whole numbers that fit in 63 bits (a run that exceeds them is refused), so their arithmetic is exact
//! where i64 arithmetic would wrap.

use crate::rewrite::{Rewriter, one};
use crate::rule::{Exact, Rule};
use lawson_graph::op::{
    BinaryKind, Broadcast, Cast, CompareKind, Concat, Dims, Family, Gather, Monoid, Op, Reduce, Slice,
    UnaryKind,
};
use lawson_graph::{DType, Dim, Facts, HostTensor, Node, Result, Shape, ValueId};

/// The most entries of a shape vector.
const MAX_ENTRIES: usize = 64;

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "dims-known",
        identity: "dims of constants = a constant; dims are as simple as the facts allow",
        exact: Exact::Bits,
        roots: &[Family::Dims],
        apply: |rw, node| {
            let Op::Dims(Dims { dims }) = &node.op else { return Ok(None) };
            let simple: Vec<Dim> = dims.iter().map(|d| rw.facts().simplify(d)).collect();
            match simple.iter().map(Dim::as_const).collect::<Option<Vec<i64>>>() {
                Some(values) => one(rw.vector(&values)?),
                None if simple != *dims => one(rw.op1(Op::Dims(Dims { dims: simple }), &[])?),
                None => Ok(None),
            }
        },
        instance: |i| {
            let dims = vec![Dim::from(3), Dim::from(i.size())];
            i.b.op1(Op::Dims(Dims { dims }), &[])
        },
    },
    Rule {
        name: "dims-arithmetic",
        identity: "arithmetic, slices, concats, gathers and products of dims = dims",
        exact: Exact::Bits,
        roots: &[
            Family::Unary,
            Family::Binary,
            Family::Concat,
            Family::Slice,
            Family::Gather,
            Family::Reduce,
            Family::Select,
            Family::Broadcast,
        ],
        apply: dims_arithmetic,
        instance: |i| {
            let n = Dim::symbol("N");
            i.input(DType::F32, [n.clone(), Dim::from(4)])?;
            let a = i.b.op1(Op::Dims(Dims { dims: vec![n.clone(), Dim::from(4)] }), &[])?;
            let b = i.b.vector(&[i.rng.clone().between(1, 4), 2])?;
            match i.rng.below(7) {
                0 => i.b.add(a, b),
                1 => i.b.mul(a, b),
                2 => i.b.div(a, b),
                3 => i.b.concat(&[a, b], 0),
                4 => i.b.slice_axis(a, 0, 1, 1),
                5 => i.b.op1(Op::Reduce(Reduce { kind: Monoid::Prod, axes: vec![0] }), &[a]),
                _ => {
                    let at =
                        i.b.constant(HostTensor::from_slice(&[1, 1], &[i.rng.clone().between(0, 1)])?)?;
                    i.b.op1(Op::Gather(Gather { axes: vec![0], batch: 0 }), &[a, at])
                }
            }
        },
    },
    Rule {
        name: "dims-comparison",
        identity: "a comparison of dims that the facts decide = a constant",
        exact: Exact::Bits,
        roots: &[Family::Compare],
        apply: dims_comparison,
        instance: |i| {
            let n = Dim::symbol("N");
            i.input(DType::F32, [n.clone()])?;
            let a = i.b.op1(Op::Dims(Dims { dims: vec![n + 1, Dim::from(4)] }), &[])?;
            let b = i.b.vector(&[-1i64, 4])?;
            let kind = CompareKind::ALL[i.rng.below(CompareKind::ALL.len())];
            i.b.compare(kind, a, b)
        },
    },
];

/// The entries of an integer tensor that is computed from dimensions, row-major.
fn entries(rw: &Rewriter<'_>, v: ValueId) -> Option<Vec<Dim>> {
    let t = rw.tensor(v)?;
    if !t.dtype.is_int() {
        return None;
    }
    let count = t.shape.elements().as_const().filter(|n| *n as usize <= MAX_ENTRIES)? as usize;
    let node = rw.def(v)?;
    let operand = || entries(rw, rw.resolve(*node.inputs.first()?));
    match &node.op {
        Op::Dims(Dims { dims }) => Some(dims.clone()),
        Op::Constant(c) => (0..count).map(|i| i64::try_from(c.int_at(i)).ok().map(Dim::from)).collect(),
        Op::Reshape(_) => operand(),
        Op::Broadcast(_) => {
            let scalar = rw.splat(v)?;
            let value = i64::try_from(scalar.int_at(0)).ok()?;
            Some(vec![Dim::from(value); count])
        }
        Op::Cast(Cast { to }) => {
            let values = operand()?;
            let (low, high) = to.int_range()?;
            let fits = |d: &Dim| {
                let (lo, hi) = rw.facts().bounds(d);
                lo.is_some_and(|l| i128::from(l) >= low) && hi.is_some_and(|h| i128::from(h) <= high)
            };
            (*to == DType::I64 || values.iter().all(fits)).then_some(values)
        }
        _ => None,
    }
}

/// Whether at least one operand comes from symbols; constants alone are the business of constant folding.
fn symbolic(operands: &[Vec<Dim>]) -> bool {
    operands.iter().flatten().any(|d| d.as_const().is_none())
}

fn dims_arithmetic(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let foldable = matches!(
        node.op,
        Op::Binary(_)
            | Op::Unary(UnaryKind::Neg)
            | Op::Concat(_)
            | Op::Slice(_)
            | Op::Gather(_)
            | Op::Reduce(_)
            | Op::Select
            | Op::Broadcast(_)
    );
    let Some(t) = rw.tensor(node.outputs[0]).cloned() else { return Ok(None) };
    if !foldable || t.dtype != DType::I64 || rw.splat(node.outputs[0]).is_some() {
        return Ok(None);
    }
    let Some(values) = fold(rw, node) else { return Ok(None) };
    if values.len() > MAX_ENTRIES || values.iter().any(Dim::is_overflow) {
        return Ok(None);
    }
    let dims = rw.op1(Op::Dims(Dims { dims: values }), &[])?;
    one(rw.reshape(dims, t.shape)?)
}

fn fold(rw: &Rewriter<'_>, node: &Node) -> Option<Vec<Dim>> {
    let shape_of = |i: usize| rw.shape_of(node.inputs[i])?.as_const();
    let facts = rw.facts();
    match &node.op {
        Op::Unary(UnaryKind::Neg) => {
            let x = entries(rw, node.inputs[0])?;
            symbolic(std::slice::from_ref(&x)).then(|| x.into_iter().map(|d| -d).collect())
        }
        Op::Binary(kind) => {
            let (a, b) = (entries(rw, node.inputs[0])?, entries(rw, node.inputs[1])?);
            if !symbolic(&[a.clone(), b.clone()]) {
                return None;
            }
            a.iter().zip(&b).map(|(x, y)| combine(facts, *kind, x, y)).collect()
        }
        Op::Concat(Concat { axis: 0 }) if rw.shape_of(node.outputs[0])?.rank() == 1 => {
            let parts = node.inputs.iter().map(|v| entries(rw, *v)).collect::<Option<Vec<_>>>()?;
            symbolic(&parts).then(|| parts.concat())
        }
        Op::Slice(Slice { start, size, step }) if start.len() == 1 => {
            let x = entries(rw, node.inputs[0])?;
            let (start, size) = (start[0].as_const()?, size[0].as_const()?);
            let picked = (0..size)
                .map(|i| x.get((start + i * step[0]) as usize).cloned())
                .collect::<Option<Vec<_>>>()?;
            Some(picked)
        }
        Op::Gather(Gather { axes, batch: 0 }) if axes.len() == 1 && shape_of(0)?.len() == 1 => {
            let x = entries(rw, node.inputs[0])?;
            let at = rw.known(node.inputs[1], MAX_ENTRIES)?;
            let clamp = |i: i128| i.clamp(0, (x.len() as i128 - 1).max(0)) as usize;
            (0..at.len()).map(|i| x.get(clamp(at.int_at(i))).cloned()).collect()
        }
        Op::Reduce(Reduce { kind, .. }) if rw.shape_of(node.outputs[0])?.rank() == 0 => {
            let x = entries(rw, node.inputs[0])?;
            if !symbolic(std::slice::from_ref(&x)) {
                return None;
            }
            Some(vec![match kind {
                Monoid::Sum => x.into_iter().sum(),
                Monoid::Prod => x.into_iter().product(),
                Monoid::Max if !x.is_empty() => x.iter().skip(1).fold(x[0].clone(), |m, d| m.max(d)),
                Monoid::Min if !x.is_empty() => x.iter().skip(1).fold(x[0].clone(), |m, d| m.min(d)),
                _ => return None,
            }])
        }
        Op::Select => {
            let c = rw.known(node.inputs[0], MAX_ENTRIES)?;
            let (a, b) = (entries(rw, node.inputs[1])?, entries(rw, node.inputs[2])?);
            Some((0..a.len()).map(|i| if c.int_at(i) != 0 { a[i].clone() } else { b[i].clone() }).collect())
        }
        // A single dimension repeated.
        Op::Broadcast(Broadcast { shape, .. }) => {
            let x = entries(rw, node.inputs[0])?;
            let count = shape.elements().as_const().filter(|n| *n as usize <= MAX_ENTRIES)?;
            (x.len() == 1 && symbolic(std::slice::from_ref(&x))).then(|| vec![x[0].clone(); count as usize])
        }
        _ => None,
    }
}

/// One binary operation on dimensions, where it means the same on i64.
fn combine(facts: &Facts, kind: BinaryKind, a: &Dim, b: &Dim) -> Option<Dim> {
    let quotient_is_floor = || facts.is_nonnegative(a) && facts.is_positive(b);
    Some(match kind {
        BinaryKind::Add => a.clone() + b.clone(),
        BinaryKind::Sub => a.clone() - b.clone(),
        BinaryKind::Mul => a.clone() * b.clone(),
        BinaryKind::Min => facts.simplify(&a.min(b)),
        BinaryKind::Max => facts.simplify(&a.max(b)),
        BinaryKind::FloorDiv => facts.simplify(&a.floor_div(b)),
        BinaryKind::Div if quotient_is_floor() => facts.simplify(&a.floor_div(b)),
        BinaryKind::Mod if facts.is_positive(b) => facts.simplify(&a.modulo(b)),
        BinaryKind::Rem if quotient_is_floor() => facts.simplify(&a.modulo(b)),
        _ => return None,
    })
}

fn dims_comparison(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Compare(kind) = node.op else { return Ok(None) };
    let (Some(a), Some(b)) = (entries(rw, node.inputs[0]), entries(rw, node.inputs[1])) else {
        return Ok(None);
    };
    if !symbolic(&[a.clone(), b.clone()]) {
        return Ok(None);
    }
    let known: Option<Vec<bool>> = a.iter().zip(&b).map(|(x, y)| decide(rw.facts(), kind, x, y)).collect();
    let Some(known) = known else { return Ok(None) };
    let Some(sizes) = rw.shape_of(node.outputs[0]).and_then(Shape::as_const) else { return Ok(None) };
    one(rw.constant(HostTensor::from_slice(&sizes, &known)?)?)
}

/// The truth of a comparison, if the facts decide it.
fn decide(facts: &Facts, kind: CompareKind, a: &Dim, b: &Dim) -> Option<bool> {
    let at_least = |x: &Dim, y: &Dim| facts.proves_ge(x, y);
    let above = |x: &Dim, y: &Dim| facts.is_positive(&(x.clone() - y.clone()));
    let (yes, no) = match kind {
        CompareKind::Eq => (facts.equal(a, b), facts.differ(a, b)),
        CompareKind::Ne => (facts.differ(a, b), facts.equal(a, b)),
        CompareKind::Lt => (above(b, a), at_least(a, b)),
        CompareKind::Le => (at_least(b, a), above(a, b)),
        CompareKind::Gt => (above(a, b), at_least(b, a)),
        CompareKind::Ge => (at_least(a, b), above(b, a)),
        _ => return None,
    };
    match (yes, no) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}
