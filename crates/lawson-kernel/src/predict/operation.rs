//! What an operation of a stage costs: instructions, how long one waits for its result, and floating-point operations.
//!
//! Costs are in *slots*: the time in which a core does one vector multiply-add. Functions that are no instruction cost what
//! their expansions consist of, which is found by instantiating them with an [`Arithmetic`] that counts.

use crate::expr::Expr;
use crate::index::{Atom, Index};
use crate::math::{self, Arithmetic, Function, Lanes, TABLE};
use crate::tree::Kernel;
use lawson_graph::op::{BinaryKind, UnaryKind};
use lawson_graph::{DType, Dim, Op, op::CompareKind};

/// The cost of one operation on one vector or one scalar.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Operation {
    /// Slots of the arithmetic units.
    pub slots: f64,
    /// Slots until the result is there.
    pub latency: f64,
    /// Floating-point operations of one lane.
    pub flops: f64,
}

/// A multiply-add, a multiplication.
const MULTIPLY: f64 = 1.0;
/// What other units than those of multiplication do beside them: additions, comparisons, logic.
const SIMPLE: f64 = 0.6;
/// A division or square root of a vector.
const DIVIDE: f64 = 10.0;
/// Slots until the result of a simple instruction is there.
const LATENCY: f64 = 4.0;
const DIVIDE_LATENCY: f64 = 14.0;
/// An integer division, for which there is no vector instruction.
const INTEGER_DIVIDE: f64 = 60.0;

impl Operation {
    const NOTHING: Operation = Operation { slots: 0.0, latency: 0.0, flops: 0.0 };

    const fn simple(flops: f64) -> Operation {
        Operation { slots: SIMPLE, latency: LATENCY, flops }
    }

    fn times(self, factor: f64) -> Operation {
        Operation { slots: self.slots * factor, latency: self.latency * factor, flops: self.flops * factor }
    }

    fn counted(expand: impl FnOnce(&mut Counter) -> f64) -> Operation {
        let mut counter = Counter { slots: 0.0, flops: 0.0 };
        let latency = expand(&mut counter);
        Operation { slots: counter.slots, latency, flops: counter.flops }
    }

    /// The cost of a function's expansion.
    pub fn function(function: Function) -> Operation {
        Operation::counted(|k| function.expand(k, 0.0))
    }

    /// The cost of a sine or cosine whose partner is computed with it.
    fn half_of_pair() -> Operation {
        let both = Operation::counted(|k| {
            let [sine, cosine] = math::sin_cos(k, 0.0);
            sine.max(cosine)
        });
        Operation { latency: both.latency, ..both.times(0.5) }
    }

    /// The cost of an element of a primitive, as far as it is arithmetic on elements of this dtype.
    pub(crate) fn of_primitive(op: &Op, dtype: DType) -> Operation {
        let one = match op {
            Op::Unary(kind) => unary(*kind, dtype),
            Op::Binary(kind) => binary(*kind, dtype, false),
            Op::Compare(_) | Op::Select | Op::Cast(_) | Op::Iota(_) => Operation::simple(0.0),
            // A comparison with a border and a choice.
            Op::Pad(_) | Op::Concat(_) => Operation::simple(0.0).times(2.0),
            _ => Operation::NOTHING,
        };
        one.times(wide(dtype))
    }

    /// The cost of an expression itself, without its operands. Loads cost nothing here.
    pub fn of(kernel: &Kernel, expr: &Expr) -> Operation {
        match expr {
            Expr::Unary(kind, a) => {
                let dtype = kernel.dtype(*a);
                match math::idiom::partner(kernel, expr) {
                    Some(_) => Operation::half_of_pair().times(wide(dtype)),
                    None => unary(*kind, dtype).times(wide(dtype)),
                }
            }
            Expr::Binary(kind, a, b) => {
                let dtype = kernel.dtype(*a);
                let logistic = *kind == BinaryKind::Div && math::idiom::sigmoid(kernel, *a, *b).is_some();
                let known = matches!(kernel.expr(*b), Expr::Const(_));
                match logistic {
                    // The parts are counted as operands; the expansion of the whole is about as long as they are.
                    true => Operation::simple(1.0),
                    false => binary(*kind, dtype, known).times(wide(dtype)),
                }
            }
            Expr::Extremum(_, a, _) => Operation::simple(1.0).times(wide(kernel.dtype(*a))),
            Expr::Fma(a, ..) => {
                Operation { slots: MULTIPLY, latency: LATENCY, flops: 2.0 }.times(wide(kernel.dtype(*a)))
            }
            Expr::Compare(kind, a, _) => {
                let two = matches!(kind, CompareKind::Ne);
                Operation::simple(1.0).times(wide(kernel.dtype(*a)) * if two { 1.2 } else { 1.0 })
            }
            Expr::Select(..) => Operation::simple(0.0),
            Expr::Index(index, _) => {
                let simple = Operation::simple(0.0);
                Operation { slots: simple.slots + of_index(index), ..simple }
            }
            Expr::Cast(a, to) => {
                let same = kernel.dtype(*a) == *to;
                if same { Operation::NOTHING } else { Operation::simple(0.0).times(2.0) }
            }
            _ => Operation::NOTHING,
        }
    }
}

/// The slots that it takes to find what is no sum in an index: quotients, remainders, extrema.
pub(crate) fn of_index(index: &Index) -> f64 {
    let by = |d: &Dim| match d.as_const() {
        Some(d) if d > 0 && d.count_ones() == 1 => SIMPLE,
        Some(_) => 3.0 * MULTIPLY,
        None => INTEGER_DIVIDE / 3.0,
    };
    let of = |(atom, _): &(Atom, Dim)| match atom {
        Atom::Axis(_) => 0.0,
        Atom::Div(i, d) | Atom::Mod(i, d) => by(d) + of_index(i),
        Atom::Min(m) | Atom::Max(m) => m.iter().map(|i| SIMPLE + of_index(i)).sum(),
        Atom::At(datum) => MULTIPLY + datum.index.iter().map(of_index).sum::<f64>(),
    };
    index.terms().iter().map(of).sum()
}

/// Vectors that as many elements as there are lanes take.
fn wide(dtype: DType) -> f64 {
    match dtype {
        DType::F64 | DType::I64 | DType::U64 => 2.0,
        _ => 1.0,
    }
}

fn unary(kind: UnaryKind, dtype: DType) -> Operation {
    match Function::of(kind) {
        Some(f) if dtype.is_float() => Operation::function(f),
        _ => match kind {
            UnaryKind::Sqrt => Operation { slots: DIVIDE, latency: DIVIDE_LATENCY, flops: 1.0 },
            _ => Operation::simple(if dtype.is_float() { 1.0 } else { 0.0 }),
        },
    }
}

fn binary(kind: BinaryKind, dtype: DType, known: bool) -> Operation {
    let flops = if dtype.is_float() { 1.0 } else { 0.0 };
    match kind {
        BinaryKind::Mul => Operation { slots: MULTIPLY, latency: LATENCY, flops },
        BinaryKind::Div | BinaryKind::Rem if !dtype.is_float() => {
            Operation { slots: INTEGER_DIVIDE, latency: INTEGER_DIVIDE, flops: 0.0 }
        }
        // By a constant it may be a multiplication.
        BinaryKind::Div if known => Operation { slots: 2.0 * MULTIPLY, latency: 2.0 * LATENCY, flops },
        BinaryKind::Div => Operation { slots: DIVIDE, latency: DIVIDE_LATENCY, flops },
        BinaryKind::Rem => Operation { slots: 3.0 * DIVIDE, latency: 3.0 * DIVIDE_LATENCY, flops },
        BinaryKind::Pow => Operation::counted(|k| math::pow(k, 0.0, 0.0)),
        BinaryKind::Atan2 => Operation::counted(|k| math::atan2(k, 0.0, 0.0)),
        BinaryKind::Max | BinaryKind::Min if dtype.is_float() => {
            Operation { flops, ..Operation::simple(1.0).times(1.6) }
        }
        _ => Operation::simple(flops),
    }
}

/// Counts instead of computing: a lane is the time at which it is known.
struct Counter {
    slots: f64,
    flops: f64,
}

impl Counter {
    fn then(&mut self, slots: f64, latency: f64, flops: f64, after: f64) -> f64 {
        self.slots += slots;
        self.flops += flops;
        after + latency
    }

    fn multiply(&mut self, flops: f64, after: f64) -> f64 {
        self.then(MULTIPLY, LATENCY, flops, after)
    }

    fn simple(&mut self, flops: f64, after: f64) -> f64 {
        self.then(SIMPLE, LATENCY, flops, after)
    }
}

impl Lanes for Counter {
    type C = f32;
    type F = f64;
    type I = f64;
    type B = f64;

    fn f(&mut self, _: f32) -> f64 {
        0.0
    }
    fn i(&mut self, _: i32) -> f64 {
        0.0
    }
    fn add(&mut self, a: f64, b: f64) -> f64 {
        self.simple(1.0, a.max(b))
    }
    fn sub(&mut self, a: f64, b: f64) -> f64 {
        self.simple(1.0, a.max(b))
    }
    fn mul(&mut self, a: f64, b: f64) -> f64 {
        self.multiply(1.0, a.max(b))
    }
    fn div(&mut self, a: f64, b: f64) -> f64 {
        self.then(DIVIDE, DIVIDE_LATENCY, 1.0, a.max(b))
    }
    fn fma(&mut self, a: f64, b: f64, c: f64) -> f64 {
        self.multiply(2.0, a.max(b).max(c))
    }
    fn fms(&mut self, a: f64, b: f64, c: f64) -> f64 {
        self.multiply(2.0, a.max(b).max(c))
    }
    fn fnma(&mut self, a: f64, b: f64, c: f64) -> f64 {
        self.multiply(2.0, a.max(b).max(c))
    }
    fn sqrt(&mut self, a: f64) -> f64 {
        self.then(DIVIDE, DIVIDE_LATENCY, 1.0, a)
    }
    fn neg(&mut self, a: f64) -> f64 {
        self.simple(1.0, a)
    }
    fn abs(&mut self, a: f64) -> f64 {
        self.simple(1.0, a)
    }
    fn min(&mut self, a: f64, b: f64) -> f64 {
        self.simple(1.0, a.max(b))
    }
    fn max(&mut self, a: f64, b: f64) -> f64 {
        self.simple(1.0, a.max(b))
    }
    fn round_even(&mut self, a: f64) -> f64 {
        self.simple(1.0, a)
    }
    fn lt(&mut self, a: f64, b: f64) -> f64 {
        self.simple(1.0, a.max(b))
    }
    fn le(&mut self, a: f64, b: f64) -> f64 {
        self.simple(1.0, a.max(b))
    }
    fn eq(&mut self, a: f64, b: f64) -> f64 {
        self.simple(1.0, a.max(b))
    }
    fn is_nan(&mut self, a: f64) -> f64 {
        self.simple(1.0, a)
    }
    fn select(&mut self, c: f64, a: f64, b: f64) -> f64 {
        self.simple(0.0, c.max(a).max(b))
    }
    fn i_add(&mut self, a: f64, b: f64) -> f64 {
        self.simple(0.0, a.max(b))
    }
    fn i_sub(&mut self, a: f64, b: f64) -> f64 {
        self.simple(0.0, a.max(b))
    }
    fn i_and(&mut self, a: f64, b: f64) -> f64 {
        self.simple(0.0, a.max(b))
    }
    fn i_or(&mut self, a: f64, b: f64) -> f64 {
        self.simple(0.0, a.max(b))
    }
    fn i_xor(&mut self, a: f64, b: f64) -> f64 {
        self.simple(0.0, a.max(b))
    }
    fn i_shl(&mut self, a: f64, _: u32) -> f64 {
        self.simple(0.0, a)
    }
    fn i_shr(&mut self, a: f64, _: u32) -> f64 {
        self.simple(0.0, a)
    }
    fn i_eq(&mut self, a: f64, b: f64) -> f64 {
        self.simple(0.0, a.max(b))
    }
    fn bits(&mut self, a: f64) -> f64 {
        a
    }
    fn of_bits(&mut self, a: f64) -> f64 {
        a
    }
    fn lookup(&mut self, index: f64, _: &[f32; TABLE]) -> f64 {
        self.simple(0.0, index)
    }
    fn and(&mut self, a: f64, b: f64) -> f64 {
        self.simple(0.0, a.max(b))
    }
    fn or(&mut self, a: f64, b: f64) -> f64 {
        self.simple(0.0, a.max(b))
    }
    fn not(&mut self, a: f64) -> f64 {
        self.simple(0.0, a)
    }

    // What targets have instructions for.

    fn copy_sign(&mut self, magnitude: f64, sign: f64) -> f64 {
        self.simple(0.0, magnitude.max(sign))
    }
    fn or_sign(&mut self, magnitude: f64, sign: f64) -> f64 {
        self.simple(0.0, magnitude.max(sign))
    }
    fn flip_sign(&mut self, x: f64, sign: f64) -> f64 {
        self.simple(0.0, x.max(sign))
    }
    fn quotient(&mut self, a: f64, b: f64) -> f64 {
        let estimate = self.reciprocal_estimate(b);
        let quotient = self.mul(a, estimate);
        let rest = self.fnma(b, quotient, a);
        self.fma(estimate, rest, quotient)
    }
    fn if_any<const N: usize>(
        &mut self,
        condition: f64,
        common: [f64; N],
        _: impl FnOnce(&mut Self) -> [f64; N],
    ) -> [f64; N] {
        // The rare part is jumped over.
        self.simple(0.0, condition);
        common
    }
}

impl Arithmetic for Counter {
    fn i_sar(&mut self, a: f64, _: u32) -> f64 {
        self.simple(0.0, a)
    }
    fn i_lt(&mut self, a: f64, b: f64) -> f64 {
        self.simple(0.0, a.max(b))
    }
    fn i_select(&mut self, c: f64, a: f64, b: f64) -> f64 {
        self.simple(0.0, c.max(a).max(b))
    }
    fn to_int(&mut self, a: f64) -> f64 {
        self.simple(0.0, a)
    }
    fn to_float(&mut self, a: f64) -> f64 {
        self.simple(0.0, a)
    }
    fn nearest_sixteenth(&mut self, a: f64, b: f64) -> (f64, f64) {
        self.nearest(a, b)
    }
    fn power_of_two(&mut self, n: (f64, f64)) -> f64 {
        self.multiply(1.0, n.0)
    }
    fn scale(&mut self, x: f64, n: (f64, f64)) -> f64 {
        self.multiply(1.0, x.max(n.0))
    }
    fn scale_down(&mut self, x: f64, n: (f64, f64)) -> f64 {
        self.multiply(1.0, x.max(n.0))
    }
    fn split(&mut self, x: f64) -> (f64, f64) {
        let mantissa = self.multiply(1.0, x);
        let (of_x, of_mantissa) = (self.multiply(0.0, x), self.multiply(0.0, mantissa));
        (mantissa, self.simple(1.0, of_x.max(of_mantissa)))
    }
    fn reciprocal_estimate(&mut self, b: f64) -> f64 {
        self.multiply(1.0, b)
    }
}
