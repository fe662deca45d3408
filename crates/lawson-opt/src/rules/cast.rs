//! Casts that keep values, and bit casts.

use crate::rewrite::{Rewriter, one};
use crate::rule::{Exact, Rule};
use lawson_graph::op::{Bitcast, Cast, Family, Op};
use lawson_graph::{DType, Node, Result, ValueId};

/// The rules of this file.
pub const RULES: &[Rule] = &[
    Rule {
        name: "cast-nothing",
        identity: "cast<T>(x: T) = x, bitcast<T>(x: T) = x",
        exact: Exact::Bits,
        roots: &[Family::Cast, Family::Bitcast],
        apply: |rw, node| match node.op {
            Op::Cast(Cast { to }) | Op::Bitcast(Bitcast { to })
                if rw.tensor(node.inputs[0]).is_some_and(|t| t.dtype == to) =>
            {
                one(node.inputs[0])
            }
            _ => Ok(None),
        },
        instance: |i| {
            let dtype = i.number();
            let shape = i.any_shape();
            let x = i.input(dtype, shape)?;
            match i.rng.one_in(2) {
                true => i.b.op1(Op::Cast(Cast { to: dtype }), &[x]),
                false => i.b.op1(Op::Bitcast(Bitcast { to: dtype }), &[x]),
            }
        },
    },
    Rule {
        name: "cast-cast",
        identity: "cast<C>(cast<B>(x: A)) = cast<C>(x) where every A is a B (and the way to C does not wrap where B saturates)",
        exact: Exact::Bits,
        roots: &[Family::Cast],
        apply: cast_cast,
        instance: |i| {
            let (a, b, c) = loop {
                let mut draw = || i.dtype_of(|d| d != DType::Str);
                let (a, b, c) = (draw(), draw(), draw());
                if a != b && b != c && merges(a, b, c) {
                    break (a, b, c);
                }
            };
            let shape = i.any_shape();
            let x = i.input(a, shape)?;
            let y = i.b.cast(x, b)?;
            i.b.cast(y, c)
        },
    },
    Rule {
        name: "bitcast-bitcast",
        identity: "bitcast<C>(bitcast<B>(x)) = bitcast<C>(x) for integers B (which NaN a float holds is not kept)",
        exact: Exact::Bits,
        roots: &[Family::Bitcast],
        apply: |rw, node| {
            let Op::Bitcast(Bitcast { to }) = node.op else { return Ok(None) };
            match rw.def1(node.inputs[0]) {
                Some((Op::Bitcast(Bitcast { to: between }), x)) if between.is_int() => {
                    one(rw.op1(Op::Bitcast(Bitcast { to }), &[x])?)
                }
                _ => Ok(None),
            }
        },
        instance: |i| {
            let a = i.number();
            let same = |d: DType| d.is_number() && d.bits() == a.bits();
            let (b, c) = (i.dtype_of(|d| same(d) && d.is_int()), i.dtype_of(same));
            let shape = i.any_shape();
            let x = i.input(a, shape)?;
            let y = i.b.op1(Op::Bitcast(Bitcast { to: b }), &[x])?;
            i.b.op1(Op::Bitcast(Bitcast { to: c }), &[y])
        },
    },
];

/// Whether A to B to C is the same as A to C for every value of A.
fn merges(a: DType, b: DType, c: DType) -> bool {
    // Integers wrap on the way to an integer, floats saturate: through a float they meet only where values are kept.
    a.embeds_in(b) && (!(a.is_int() && b.is_float() && c.is_int()) || a.embeds_in(c))
}

fn cast_cast(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::Cast(Cast { to: c }) = node.op else { return Ok(None) };
    let Some((Op::Cast(Cast { to: b }), x)) = rw.def1(node.inputs[0]) else { return Ok(None) };
    let Some(a) = rw.tensor(x).map(|t| t.dtype) else { return Ok(None) };
    if merges(a, *b, c) { one(rw.cast(x, c)?) } else { Ok(None) }
}
