//! Algebra on elements: identities of arithmetic, logic and selection.
//!
//! Floats are IEEE: `x + 0` is not `x` (it turns -0 into 0), `x * 0` is not `0` (NaN, infinities), so neither is
//! here. Sums are not reordered.

use crate::rewrite::{Rewriter, one};
use crate::rule::{Exact, Rule};
use lawson_graph::op::{BinaryKind, CompareKind, Family, Op, UnaryKind};
use lawson_graph::{DType, HostTensor, Node, Result, ValueId, number};

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "neutral-right",
        identity: "x + (-0) = x, x - 0 = x, x * 1 = x, x / 1 = x, x ** 1 = x, x | 0 = x, x ^ 0 = x, x & -1 = x, x << 0 = x",
        exact: Exact::Bits,
        roots: &[Family::Binary],
        apply: neutral_right,
        instance: |i| {
            let kind = *i.rng.pick(&NEUTRAL_KINDS).unwrap_or(&BinaryKind::Mul);
            let dtype = i.dtype_of(|d| kind.accepts().1(d));
            let shape = i.any_shape();
            let x = i.input(dtype, shape.clone())?;
            let scalar = neutral(kind, dtype)?;
            let scalar = i.b.constant(scalar)?;
            let one = i.b.broadcast_to(scalar, shape)?;
            if kind.commutes() && i.rng.one_in(2) {
                return i.b.op1(Op::Binary(kind), &[one, x]);
            }
            i.b.op1(Op::Binary(kind), &[x, one])
        },
    },
    Rule {
        name: "absorbing",
        identity: "x * 0 = 0, x & 0 = 0, x | -1 = -1 (integers and bool)",
        exact: Exact::Bits,
        roots: &[Family::Binary],
        apply: absorbing,
        instance: |i| {
            let dtype = i.int();
            let shape = i.any_shape();
            let x = i.input(dtype, shape.clone())?;
            let kind = [BinaryKind::Mul, BinaryKind::And][i.rng.below(2)];
            let zero = i.splat(dtype, 0.0, shape)?;
            i.b.op1(Op::Binary(kind), &[x, zero])
        },
    },
    Rule {
        name: "idempotent",
        identity: "x & x = x, x | x = x, min(x, x) = x, max(x, x) = x",
        exact: Exact::Bits,
        roots: &[Family::Binary],
        apply: |_, node| {
            let Op::Binary(kind) = node.op else { return Ok(None) };
            let idempotent =
                matches!(kind, BinaryKind::And | BinaryKind::Or | BinaryKind::Min | BinaryKind::Max);
            if idempotent && node.inputs[0] == node.inputs[1] { one(node.inputs[0]) } else { Ok(None) }
        },
        instance: |i| {
            let kinds = [BinaryKind::And, BinaryKind::Or, BinaryKind::Min, BinaryKind::Max];
            let kind = kinds[i.rng.below(4)];
            let dtype = i.dtype_of(|d| kind.accepts().1(d));
            let shape = i.any_shape();
            let x = i.input(dtype, shape)?;
            i.b.op1(Op::Binary(kind), &[x, x])
        },
    },
    Rule {
        name: "self-cancel",
        identity: "x - x = 0, x ^ x = 0 (integers and bool)",
        exact: Exact::Bits,
        roots: &[Family::Binary],
        apply: |rw, node| {
            let Op::Binary(kind) = node.op else { return Ok(None) };
            let cancels = matches!(kind, BinaryKind::Sub | BinaryKind::Xor) && !rw.is_float(node.inputs[0]);
            if !cancels || node.inputs[0] != node.inputs[1] {
                return Ok(None);
            }
            one(zeros_like(rw, node.outputs[0])?)
        },
        instance: |i| {
            let kind = [BinaryKind::Sub, BinaryKind::Xor][i.rng.below(2)];
            let dtype = i.int();
            let shape = i.any_shape();
            let x = i.input(dtype, shape)?;
            i.b.op1(Op::Binary(kind), &[x, x])
        },
    },
    Rule {
        name: "double-unary",
        identity: "-(-x) = x, !!x = x, abs(abs(x)) = abs(x), abs(-x) = abs(x) where x has a sign, floor(floor(x)) = floor(x) (and ceil, round, trunc)",
        exact: Exact::Bits,
        roots: &[Family::Unary],
        apply: |rw, node| {
            let Op::Unary(outer) = node.op else { return Ok(None) };
            let Some((Op::Unary(inner), x)) = rw.def1(node.inputs[0]) else { return Ok(None) };
            let whole = |k: UnaryKind| {
                matches!(k, UnaryKind::Floor | UnaryKind::Ceil | UnaryKind::Round | UnaryKind::Trunc)
            };
            match (outer, *inner) {
                (UnaryKind::Neg, UnaryKind::Neg) | (UnaryKind::Not, UnaryKind::Not) => one(x),
                (UnaryKind::Abs, UnaryKind::Abs) => one(node.inputs[0]),
                (UnaryKind::Abs, UnaryKind::Neg) if rw.tensor(x).is_some_and(|t| t.dtype.is_signed()) => {
                    one(rw.abs(x)?)
                }
                (o, i) if whole(o) && whole(i) => one(node.inputs[0]),
                _ => Ok(None),
            }
        },
        instance: |i| {
            let pairs = [
                (UnaryKind::Neg, UnaryKind::Neg),
                (UnaryKind::Not, UnaryKind::Not),
                (UnaryKind::Abs, UnaryKind::Abs),
                (UnaryKind::Abs, UnaryKind::Neg),
                (UnaryKind::Floor, UnaryKind::Round),
            ];
            let (outer, inner) = pairs[i.rng.below(pairs.len())];
            let dtype = i.dtype_of(|d| outer.accepts().1(d) && inner.accepts().1(d) && d.is_signed());
            let shape = i.any_shape();
            let x = i.input(dtype, shape)?;
            let y = i.b.unary(inner, x)?;
            i.b.unary(outer, y)
        },
    },
    Rule {
        name: "add-negated",
        identity: "a + (-b) = a - b, a - (-b) = a + b, (-a) + b = b - a",
        exact: Exact::Bits,
        roots: &[Family::Binary],
        apply: |rw, node| {
            let Op::Binary(kind @ (BinaryKind::Add | BinaryKind::Sub)) = node.op else { return Ok(None) };
            let (a, b) = (node.inputs[0], node.inputs[1]);
            if let Some((Op::Unary(UnaryKind::Neg), x)) = rw.def1(b) {
                let flipped = if kind == BinaryKind::Add { BinaryKind::Sub } else { BinaryKind::Add };
                return one(rw.op1(Op::Binary(flipped), &[a, x])?);
            }
            match rw.def1(a) {
                Some((Op::Unary(UnaryKind::Neg), x)) if kind == BinaryKind::Add => {
                    one(rw.op1(Op::Binary(BinaryKind::Sub), &[b, x])?)
                }
                _ => Ok(None),
            }
        },
        instance: |i| {
            let (dtype, shape) = (i.number(), i.any_shape());
            let (a, b) = (i.input(dtype, shape.clone())?, i.input(dtype, shape)?);
            match i.rng.below(3) {
                0 => {
                    let n = i.b.neg(b)?;
                    i.b.add(a, n)
                }
                1 => {
                    let n = i.b.neg(b)?;
                    i.b.sub(a, n)
                }
                _ => {
                    let n = i.b.neg(a)?;
                    i.b.add(n, b)
                }
            }
        },
    },
    Rule {
        name: "divide-by-power-of-two",
        identity: "x / c = x * (1/c) where c is a power of two and 1/c is a normal number",
        exact: Exact::Bits,
        roots: &[Family::Binary],
        apply: |rw, node| {
            if !matches!(node.op, Op::Binary(BinaryKind::Div)) {
                return Ok(None);
            }
            let Some((dtype, c)) = float_splat(rw, node.inputs[1]) else { return Ok(None) };
            // Far from the ends of the exponent range, so that neither c nor 1/c is subnormal.
            let reach = dtype.max_finite().unwrap_or(1.0).sqrt();
            let power = c != 0.0
                && c.is_finite()
                && c.abs().log2().fract() == 0.0
                && c.abs() < reach
                && c.abs() > 1.0 / reach;
            if !power || (dtype != DType::F64 && number::round(dtype, 1.0 / c) * c != 1.0) {
                return Ok(None);
            }
            let inverse = rw.full_like(node.outputs[0], 1.0 / c)?;
            one(rw.mul(node.inputs[0], inverse)?)
        },
        instance: |i| {
            let dtype = i.float();
            let shape = i.any_shape();
            let x = i.input(dtype, shape.clone())?;
            let c = [2.0, 4.0, 0.5, -8.0][i.rng.below(4)];
            let c = i.splat(dtype, c, shape)?;
            i.b.div(x, c)
        },
    },
    Rule {
        name: "small-power",
        identity: "x ** 2 = x * x, x ** 3 = (x * x) * x, x ** -1 = 1 / x",
        exact: Exact::Rounding,
        roots: &[Family::Binary],
        apply: |rw, node| {
            if !matches!(node.op, Op::Binary(BinaryKind::Pow)) {
                return Ok(None);
            }
            let x = node.inputs[0];
            match float_splat(rw, node.inputs[1]) {
                Some((_, 2.0)) => one(rw.mul(x, x)?),
                Some((_, 3.0)) => {
                    let square = rw.mul(x, x)?;
                    one(rw.mul(square, x)?)
                }
                Some((_, -1.0)) => {
                    let numerator = rw.full_like(x, 1.0)?;
                    one(rw.div(numerator, x)?)
                }
                _ => Ok(None),
            }
        },
        instance: |i| {
            let (dtype, shape) = (i.float(), i.any_shape());
            let x = i.input(dtype, shape.clone())?;
            let power = [2.0, 3.0, -1.0][i.rng.below(3)];
            let c = i.splat(dtype, power, shape)?;
            i.b.pow(x, c)
        },
    },
    Rule {
        name: "combine-integer-constants",
        identity: "(x + a) + b = x + (a + b), (x * a) * b = x * (a * b) for integer constants a, b",
        exact: Exact::Bits,
        roots: &[Family::Binary],
        apply: combine_constants,
        instance: |i| {
            let (dtype, shape) = (i.int(), i.any_shape());
            let x = i.input(dtype, shape.clone())?;
            let kind = [BinaryKind::Add, BinaryKind::Mul][i.rng.below(2)];
            let (a, b) = (i.rng.between(2, 5) as f64, i.rng.between(2, 5) as f64);
            let (a, b) = (i.splat(dtype, a, shape.clone())?, i.splat(dtype, b, shape)?);
            let inner = i.b.op1(Op::Binary(kind), &[x, a])?;
            i.b.op1(Op::Binary(kind), &[inner, b])
        },
    },
    Rule {
        name: "nested-extremum",
        identity: "max(max(x, c), c) = max(x, c), min(min(x, c), c) = min(x, c)",
        exact: Exact::Bits,
        roots: &[Family::Binary],
        apply: |rw, node| {
            let Op::Binary(kind @ (BinaryKind::Min | BinaryKind::Max)) = node.op else { return Ok(None) };
            for (x, c) in [(node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])] {
                let Some(inner) = rw.def(x) else { continue };
                if inner.op == Op::Binary(kind) && inner.inputs.iter().any(|v| same_value(rw, *v, c)) {
                    return one(x);
                }
            }
            Ok(None)
        },
        instance: |i| {
            let (dtype, shape) = (i.number(), i.any_shape());
            let x = i.input(dtype, shape.clone())?;
            let c = i.splat(dtype, 1.0, shape)?;
            let kind = [BinaryKind::Min, BinaryKind::Max][i.rng.below(2)];
            let inner = i.b.binary(kind, x, c)?;
            i.b.binary(kind, inner, c)
        },
    },
    Rule {
        name: "select-same",
        identity: "select(c, x, x) = x",
        exact: Exact::Bits,
        roots: &[Family::Select],
        apply: |_, node| match node.op {
            Op::Select if node.inputs[1] == node.inputs[2] => one(node.inputs[1]),
            _ => Ok(None),
        },
        instance: |i| {
            let (dtype, shape) = (i.dtype(), i.any_shape());
            let c = i.input(DType::Bool, shape.clone())?;
            let x = i.input(dtype, shape)?;
            i.b.op1(Op::Select, &[c, x, x])
        },
    },
    Rule {
        name: "select-known",
        identity: "select(true, a, b) = a, select(false, a, b) = b",
        exact: Exact::Bits,
        roots: &[Family::Select],
        apply: |rw, node| match node.op {
            Op::Select => match rw.splat(node.inputs[0]).map(|t| t.int_at(0) != 0) {
                Some(true) => one(node.inputs[1]),
                Some(false) => one(node.inputs[2]),
                None => Ok(None),
            },
            _ => Ok(None),
        },
        instance: |i| {
            let (dtype, shape) = (i.dtype(), i.any_shape());
            let (a, b) = (i.input(dtype, shape.clone())?, i.input(dtype, shape.clone())?);
            let known = i.b.constant(HostTensor::scalar(i.rng.clone().one_in(2)))?;
            let known = i.b.broadcast_to(known, shape)?;
            i.b.op1(Op::Select, &[known, a, b])
        },
    },
    Rule {
        name: "select-negated",
        identity: "select(!c, a, b) = select(c, b, a)",
        exact: Exact::Bits,
        roots: &[Family::Select],
        apply: |rw, node| {
            let Op::Select = node.op else { return Ok(None) };
            match rw.def1(node.inputs[0]) {
                Some((Op::Unary(UnaryKind::Not), c)) => {
                    one(rw.op1(Op::Select, &[c, node.inputs[2], node.inputs[1]])?)
                }
                _ => Ok(None),
            }
        },
        instance: |i| {
            let (dtype, shape) = (i.dtype(), i.any_shape());
            let c = i.input(DType::Bool, shape.clone())?;
            let (a, b) = (i.input(dtype, shape.clone())?, i.input(dtype, shape)?);
            let n = i.b.not(c)?;
            i.b.op1(Op::Select, &[n, a, b])
        },
    },
    Rule {
        name: "select-is-condition",
        identity: "select(c, true, false) = c, select(c, false, true) = !c",
        exact: Exact::Bits,
        roots: &[Family::Select],
        apply: |rw, node| {
            if !matches!(node.op, Op::Select)
                || rw.tensor(node.inputs[1]).is_none_or(|t| t.dtype != DType::Bool)
            {
                return Ok(None);
            }
            let known = |v: ValueId| rw.splat(v).map(|t| t.int_at(0) != 0);
            match (known(node.inputs[1]), known(node.inputs[2])) {
                (Some(true), Some(false)) => one(node.inputs[0]),
                (Some(false), Some(true)) => one(rw.not(node.inputs[0])?),
                _ => Ok(None),
            }
        },
        instance: |i| {
            let shape = i.any_shape();
            let c = i.input(DType::Bool, shape.clone())?;
            let first = i.rng.one_in(2);
            let mut repeated = |value: bool| {
                let scalar = i.b.constant(HostTensor::scalar(value))?;
                i.b.broadcast_to(scalar, shape.clone())
            };
            let (a, b) = (repeated(first)?, repeated(!first)?);
            i.b.op1(Op::Select, &[c, a, b])
        },
    },
    Rule {
        name: "compare-self",
        identity: "(x == x) = true, (x < x) = false, … (not for floats: NaN)",
        exact: Exact::Bits,
        roots: &[Family::Compare],
        apply: |rw, node| {
            let Op::Compare(kind) = node.op else { return Ok(None) };
            if node.inputs[0] != node.inputs[1] || rw.is_float(node.inputs[0]) {
                return Ok(None);
            }
            let holds = matches!(kind, CompareKind::Eq | CompareKind::Le | CompareKind::Ge);
            let known = rw.constant(HostTensor::scalar(holds))?;
            let shape = rw.shape(node.outputs[0])?;
            one(rw.broadcast_to(known, shape)?)
        },
        instance: |i| {
            let (dtype, shape) = (i.int(), i.any_shape());
            let x = i.input(dtype, shape)?;
            let kind = CompareKind::ALL[i.rng.below(CompareKind::ALL.len())];
            i.b.compare(kind, x, x)
        },
    },
    Rule {
        name: "compare-orientation",
        identity: "(a > b) = (b < a), (a >= b) = (b <= a)",
        exact: Exact::Bits,
        roots: &[Family::Compare],
        apply: |rw, node| match node.op {
            Op::Compare(kind @ (CompareKind::Gt | CompareKind::Ge)) => {
                one(rw.op1(Op::Compare(kind.flipped()), &[node.inputs[1], node.inputs[0]])?)
            }
            _ => Ok(None),
        },
        instance: |i| {
            let (dtype, shape) = (i.number(), i.any_shape());
            let (a, b) = (i.input(dtype, shape.clone())?, i.input(dtype, shape)?);
            let kind = [CompareKind::Gt, CompareKind::Ge][i.rng.below(2)];
            i.b.compare(kind, a, b)
        },
    },
    Rule {
        name: "negated-compare",
        identity: "!(a == b) = (a != b), !(a != b) = (a == b); for all but floats also !(a < b) = (a >= b), …",
        exact: Exact::Bits,
        roots: &[Family::Unary],
        apply: negated_compare,
        instance: |i| {
            let (dtype, shape) = (i.int(), i.any_shape());
            let (a, b) = (i.input(dtype, shape.clone())?, i.input(dtype, shape)?);
            let kind = CompareKind::ALL[i.rng.below(CompareKind::ALL.len())];
            let c = i.b.compare(kind, a, b)?;
            i.b.not(c)
        },
    },
];

const NEUTRAL_KINDS: [BinaryKind; 10] = [
    BinaryKind::Add,
    BinaryKind::Sub,
    BinaryKind::Mul,
    BinaryKind::Div,
    BinaryKind::Pow,
    BinaryKind::Or,
    BinaryKind::Xor,
    BinaryKind::And,
    BinaryKind::Shl,
    BinaryKind::Shr,
];

/// The right operand that changes nothing.
fn neutral(kind: BinaryKind, dtype: DType) -> Result<HostTensor> {
    let float = dtype.is_float();
    match kind {
        BinaryKind::Add if float => HostTensor::scalar_of(dtype, -0.0),
        BinaryKind::Mul | BinaryKind::Div | BinaryKind::Pow => HostTensor::scalar_of(dtype, 1.0),
        BinaryKind::And => HostTensor::from_ints(dtype, &[], &[if dtype == DType::Bool { 1 } else { -1 }]),
        _ => HostTensor::scalar_of(dtype, 0.0),
    }
}

fn neutral_right(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Binary(kind) = node.op else { return Ok(None) };
    if !NEUTRAL_KINDS.contains(&kind) {
        return Ok(None);
    }
    let (a, b) = (node.inputs[0], node.inputs[1]);
    let Some(dtype) = rw.tensor(a).map(|t| t.dtype) else { return Ok(None) };
    let is_neutral = |v: ValueId| rw.splat(v).is_some_and(|t| neutral(kind, dtype).is_ok_and(|n| *t == n));
    if is_neutral(b) {
        return one(a);
    }
    if kind.commutes() && is_neutral(a) {
        return one(b);
    }
    Ok(None)
}

fn absorbing(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Binary(kind) = node.op else { return Ok(None) };
    if rw.is_float(node.inputs[0]) {
        return Ok(None);
    }
    for v in [node.inputs[1], node.inputs[0]] {
        let Some(t) = rw.splat(v) else { continue };
        let (zero, ones) = (
            t.int_at(0) == 0,
            t.int_at(0) == if t.dtype() == DType::Bool { 1 } else { number::wrap(t.dtype(), -1) },
        );
        let absorbs = match kind {
            BinaryKind::Mul | BinaryKind::And => zero,
            BinaryKind::Or => ones,
            _ => false,
        };
        if absorbs {
            return one(v);
        }
    }
    Ok(None)
}

fn combine_constants(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Binary(kind @ (BinaryKind::Add | BinaryKind::Mul)) = node.op else { return Ok(None) };
    if rw.is_float(node.inputs[0]) {
        return Ok(None);
    }
    let split = |rw: &Rewriter<'_>, a: ValueId, b: ValueId| {
        rw.splat(b)
            .map(|t| (a, t.int_at(0), t.dtype()))
            .or_else(|| rw.splat(a).map(|t| (b, t.int_at(0), t.dtype())))
    };
    let Some((inner, outer_c, dtype)) = split(rw, node.inputs[0], node.inputs[1]) else { return Ok(None) };
    let Some(def) = rw.def(inner) else { return Ok(None) };
    if def.op != Op::Binary(kind) {
        return Ok(None);
    }
    let (a, b) = (rw.resolve(def.inputs[0]), rw.resolve(def.inputs[1]));
    let Some((x, inner_c, _)) = split(rw, a, b) else { return Ok(None) };
    let combined = match kind {
        BinaryKind::Add => inner_c.wrapping_add(outer_c),
        _ => inner_c.wrapping_mul(outer_c),
    };
    let scalar = rw.constant(HostTensor::from_ints(dtype, &[], &[number::wrap(dtype, combined)])?)?;
    let shape = rw.shape(node.outputs[0])?;
    let c = rw.broadcast_to(scalar, shape)?;
    one(rw.op1(Op::Binary(kind), &[x, c])?)
}

fn negated_compare(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Unary(UnaryKind::Not) = node.op else { return Ok(None) };
    let Some(def) = rw.def(node.inputs[0]) else { return Ok(None) };
    let Op::Compare(kind) = def.op else { return Ok(None) };
    let (a, b) = (rw.resolve(def.inputs[0]), rw.resolve(def.inputs[1]));
    let negated = match kind {
        CompareKind::Eq => CompareKind::Ne,
        CompareKind::Ne => CompareKind::Eq,
        _ if rw.is_float(a) => return Ok(None),
        CompareKind::Lt => CompareKind::Ge,
        CompareKind::Le => CompareKind::Gt,
        CompareKind::Gt => CompareKind::Le,
        CompareKind::Ge => CompareKind::Lt,
        _ => return Ok(None),
    };
    one(rw.op1(Op::Compare(negated), &[a, b])?)
}

/// The dtype and number of a float that is the same everywhere.
fn float_splat(rw: &Rewriter<'_>, v: ValueId) -> Option<(DType, f64)> {
    rw.splat(v).filter(|t| t.dtype().is_float()).map(|t| (t.dtype(), t.float_at(0)))
}

fn same_value(rw: &Rewriter<'_>, a: ValueId, b: ValueId) -> bool {
    let (a, b) = (rw.resolve(a), rw.resolve(b));
    a == b || rw.splat(a).zip(rw.splat(b)).is_some_and(|(x, y)| x == y)
}

fn zeros_like(rw: &mut Rewriter<'_>, like: ValueId) -> Result<ValueId> {
    let t = rw.tensor_type(like)?.clone();
    let zero = rw.constant(HostTensor::zeros(t.dtype, &[])?)?;
    rw.broadcast_to(zero, t.shape)
}
