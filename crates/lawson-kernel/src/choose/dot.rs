//! Sums of products of bytes, four of which are one instruction.
//!
//! In: a contraction. Out: the sum along which four neighbours are taken at once, if both factors are bytes that are made i32, one
//! lies side by side along it and does not move with the vector, and the other is known when compiling: it is laid out with
//! the four innermost, so that a lane of 32 bits holds its own four.

use super::contraction::Contraction;
use super::stride::{Stride, stride};
use super::{Chooser, extent};
use crate::buffer::{BufferId, Digit, Layout, Role};
use crate::expr::{Expr, ExprId};
use crate::tree::{AccId, For};
use lawson_graph::op::BinaryKind;
use lawson_graph::{DType, Dim};

/// How many products one instruction adds up in a lane.
pub(super) const FOUR: i64 = 4;

/// What was found.
pub(super) struct Dot<'k> {
    /// The sum that is cut.
    pub(super) sum: &'k For,
    /// The factor that moves with the vector.
    pub(super) buffer: BufferId,
    /// The dimension of it that the sum goes through.
    dim: usize,
}

impl Dot<'_> {
    /// Four elements of the sum side by side, then columns, then what lies between, then panels of columns.
    pub(super) fn layout(&self, dims: &[Dim], blocked: usize, width: i64, between: &[usize]) -> Layout {
        let mut stride = Dim::from(FOUR);
        let mut digits = vec![Digit { dim: self.dim, divide: 1, modulo: Some(FOUR), stride: Dim::ONE }];
        let panels = dims[blocked].as_const().is_some_and(|c| c > width);
        digits.push(Digit {
            dim: blocked,
            divide: 1,
            modulo: panels.then_some(width),
            stride: stride.clone(),
        });
        stride = stride * if panels { Dim::from(width) } else { dims[blocked].clone() };
        for &dim in between.iter().rev() {
            let four = dim == self.dim;
            let divide = if four { FOUR } else { 1 };
            digits.push(Digit { dim, divide, modulo: None, stride: stride.clone() });
            stride = stride * dims[dim].ceil_div(&Dim::from(divide));
        }
        if panels {
            digits.push(Digit { dim: blocked, divide: width, modulo: None, stride: stride.clone() });
            stride = stride * dims[blocked].ceil_div(&Dim::from(width));
        }
        digits.reverse();
        Layout { digits, size: stride }
    }
}

impl<'k> Chooser<'k> {
    /// The sum of a contraction that can be cut into fours.
    pub(super) fn dot(&self, c: &Contraction<'k>, acc: AccId, values: &[ExprId]) -> Option<Dot<'k>> {
        if !self.machine.dots {
            return None;
        }
        let factors = self.bytes_of(acc, values)?;
        let [a, b] = factors.map(|e| c.reads.iter().find(|r| r.expr == e));
        let (a, b) = (a?, b?);
        let v = c.vector().axis;
        let (still, moving) = match (stride(&a.offset, v), stride(&b.offset, v)) {
            (Stride::None, Stride::Known(_) | Stride::Unknown) => (a, b),
            (Stride::Known(_) | Stride::Unknown, Stride::None) => (b, a),
            _ => return None,
        };
        let sum = *c.sum_order().last()?;
        let buffer = self.kernel.buffer(moving.buffer);
        let Expr::Load(load) = self.kernel.expr(moving.expr) else { return None };
        let along = |axis| {
            let dim = self.dimension_along(&load.index, axis)?;
            (self.kernel.resolve(&load.index[dim]).as_axis() == Some(axis)).then_some(dim)
        };
        let dim = along(sum.axis)?;
        let fits = extent(sum).is_some_and(|e| e >= FOUR && e % FOUR == 0)
            && sum.begin.is(0)
            && sum.step == 1
            && stride(&still.offset, sum.axis) == Stride::Known(1)
            && still.guard.iter().chain(&moving.guard).all(|g| !g.mentions(sum.axis))
            && along(v).is_some_and(|blocked| blocked != dim)
            && self.freedom.constants.contains(&moving.buffer)
            && buffer.role == Role::Input
            && buffer.dims.iter().all(|d| d.as_const().is_some())
            && self.choice.layouts.iter().all(|(id, _)| *id != moving.buffer);
        fits.then_some(Dot { sum, buffer: moving.buffer, dim })
    }

    /// The bytes of which a step adds the product, each made i32, to its state.
    fn bytes_of(&self, acc: AccId, values: &[ExprId]) -> Option<[ExprId; 2]> {
        let [value] = values else { return None };
        self.kernel.product_of_bytes(acc, *value)
    }
}

impl crate::tree::Kernel {
    /// The loads of bytes of which a value is the product, each made i32, added to the state of an accumulator.
    pub fn product_of_bytes(&self, acc: AccId, value: ExprId) -> Option<[ExprId; 2]> {
        let Expr::Binary(BinaryKind::Add, x, y) = self.expr(value) else { return None };
        let is_state = |e: ExprId| *self.expr(e) == Expr::State(acc, 0);
        let product = match (is_state(*x), is_state(*y)) {
            (true, false) => *y,
            (false, true) => *x,
            _ => return None,
        };
        let Expr::Binary(BinaryKind::Mul, a, b) = self.expr(product) else { return None };
        let byte = |e: ExprId| match self.expr(e) {
            Expr::Cast(load, DType::I32) if matches!(self.expr(*load), Expr::Load(_)) => {
                matches!(self.dtype(*load), DType::I8 | DType::U8).then_some(*load)
            }
            _ => None,
        };
        Some([byte(*a)?, byte(*b)?])
    }
}
