//! Scalar expressions: what a stage computes, as a DAG in the kernel's arena.
//!
//! An expression has one dtype and, at given values of the axes, one value. It means what the graph's primitives mean;
//! what the kernel level adds are loads with index expressions, the state and result of accumulators, and a few
//! operations that lowering uses where it knows that they are good enough or exactly what is wanted ([`Expr::Fma`], [`Extremum`]).

use crate::buffer::BufferId;
use crate::index::Index;
use crate::tree::AccId;
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_graph::{DType, Dim};

/// An expression in the arena of its kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExprId(pub u32);

/// A scalar expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// A number.
    Const(Scalar),
    /// An index as a number.
    Index(Index, DType),
    /// An element of a buffer.
    Load(Load),
    /// A function of one number.
    Unary(UnaryKind, ExprId),
    /// A function of two numbers.
    Binary(BinaryKind, ExprId, ExprId),
    /// The lesser or greater of two floats; if either is NaN, either of the two.
    Extremum(Extremum, ExprId, ExprId),
    /// `a·b + c`, rounded once where the target can, at most twice.
    Fma(ExprId, ExprId, ExprId),
    /// A comparison; its dtype is bool.
    Compare(CompareKind, ExprId, ExprId),
    /// The second where the first holds, otherwise the third.
    Select(ExprId, ExprId, ExprId),
    /// The value in another dtype.
    Cast(ExprId, DType),
    /// The bits in another dtype of the same width.
    Bitcast(ExprId, DType),
    /// A component of an accumulator's state, in its step and merge.
    State(AccId, usize),
    /// A component of the state that is merged into the first, in its merge.
    Other(AccId, usize),
    /// A component of an accumulator's state after the last step.
    Result(AccId, usize),
}

/// Which of two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extremum {
    /// The lesser.
    Min,
    /// The greater.
    Max,
}

/// A number with its dtype: floats as the bits of the f64 that they are exactly, integers and bool as themselves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Scalar {
    /// Its dtype.
    pub dtype: DType,
    /// Its bits; see [`Scalar::as_f64`] and [`Scalar::as_i64`].
    bits: u64,
}

impl Scalar {
    /// A float, rounded to the dtype.
    pub fn float(dtype: DType, value: f64) -> Scalar {
        Scalar { dtype, bits: lawson_graph::number::round(dtype, value).to_bits() }
    }

    /// An integer or a bool.
    pub fn int(dtype: DType, value: i64) -> Scalar {
        Scalar { dtype, bits: value as u64 }
    }

    /// An f32.
    pub fn f32(value: f32) -> Scalar {
        Scalar::float(DType::F32, f64::from(value))
    }

    /// Its value as a float, if it is one.
    pub fn as_f64(self) -> Option<f64> {
        self.dtype.is_float().then(|| f64::from_bits(self.bits))
    }

    /// Its value as an integer, if it is one or a bool.
    pub fn as_i64(self) -> Option<i64> {
        (!self.dtype.is_float()).then_some(self.bits as i64)
    }
}

/// An element of a buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Load {
    /// The buffer.
    pub buffer: BufferId,
    /// One index a logical dimension.
    pub index: Vec<Index>,
    /// What must hold for the element to be there, and the value where it does not.
    pub guard: Option<Guard>,
}

/// Conditions under which a load reads; where one fails, the value is `otherwise` and nothing is read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    /// All must hold.
    pub conditions: Vec<Condition>,
    /// The value elsewhere.
    pub otherwise: ExprId,
}

/// `0 <= index < end`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Condition {
    /// The index.
    pub index: Index,
    /// One past the last.
    pub end: Dim,
}

impl Expr {
    /// Calls `visit` with every operand.
    pub fn visit_operands(&self, visit: &mut impl FnMut(ExprId)) {
        match self {
            Expr::Const(_) | Expr::Index(..) | Expr::State(..) | Expr::Other(..) | Expr::Result(..) => {}
            Expr::Load(load) => {
                if let Some(guard) = &load.guard {
                    visit(guard.otherwise);
                }
            }
            Expr::Unary(_, a) | Expr::Cast(a, _) | Expr::Bitcast(a, _) => visit(*a),
            Expr::Binary(_, a, b) | Expr::Extremum(_, a, b) | Expr::Compare(_, a, b) => {
                visit(*a);
                visit(*b);
            }
            Expr::Fma(a, b, c) | Expr::Select(a, b, c) => {
                visit(*a);
                visit(*b);
                visit(*c);
            }
        }
    }

    /// The same with other operands.
    pub fn with_operands(self, replace: &mut impl FnMut(ExprId) -> ExprId) -> Expr {
        match self {
            Expr::Const(_) | Expr::Index(..) | Expr::State(..) | Expr::Other(..) | Expr::Result(..) => self,
            Expr::Load(Load { buffer, index, guard }) => {
                let guard = guard.map(|g| Guard { otherwise: replace(g.otherwise), ..g });
                Expr::Load(Load { buffer, index, guard })
            }
            Expr::Unary(kind, a) => Expr::Unary(kind, replace(a)),
            Expr::Cast(a, to) => Expr::Cast(replace(a), to),
            Expr::Bitcast(a, to) => Expr::Bitcast(replace(a), to),
            Expr::Binary(kind, a, b) => Expr::Binary(kind, replace(a), replace(b)),
            Expr::Extremum(which, a, b) => Expr::Extremum(which, replace(a), replace(b)),
            Expr::Compare(kind, a, b) => Expr::Compare(kind, replace(a), replace(b)),
            Expr::Fma(a, b, c) => Expr::Fma(replace(a), replace(b), replace(c)),
            Expr::Select(a, b, c) => Expr::Select(replace(a), replace(b), replace(c)),
        }
    }

    /// Calls `visit` with every index that it mentions itself.
    pub fn visit_indices(&self, visit: &mut impl FnMut(&Index)) {
        match self {
            Expr::Index(i, _) => visit(i),
            Expr::Load(load) => {
                load.index.iter().for_each(&mut *visit);
                if let Some(guard) = &load.guard {
                    guard.conditions.iter().for_each(|c| visit(&c.index));
                }
            }
            _ => {}
        }
    }
}
