//! Division and powers of 32-bit integers, for which AVX-512 has no instruction.
//!
//! Quotients are made in f64, in which both operands are exact. With operands below 2^32 a quotient that is not whole is at
//! least `1/|b|` away from every whole number, and its rounding moves it by less than `2^32/|b| · 2^-53`: so rounding
//! down, or towards 0, afterwards gives the true one. Anything by 0 is 0. The least integer by -1 is 2^31, which the
//! conversion turns into the least integer again: it wraps.

use super::Lowering;
use super::math::Writer;
use crate::asm::{IntPredicate, MaskOp, Vec2, Vec2Imm, Vec3, Vec3Imm, VecShift};
use crate::code::{Class, Op, Src, V};
use lawson_graph::DType;
use lawson_graph::op::BinaryKind;
use lawson_kernel::math::Arithmetic;

/// How a quotient becomes whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Down,
    TowardsZero,
}

impl<'k> Lowering<'k> {
    /// A quotient or remainder of i32 or u32; `None` for other operations.
    pub(super) fn divide(&mut self, kind: BinaryKind, a: V, b: V, dtype: DType, depth: usize) -> Option<V> {
        let rounding = match kind {
            BinaryKind::Div | BinaryKind::Rem => Rounding::TowardsZero,
            BinaryKind::FloorDiv | BinaryKind::Mod => Rounding::Down,
            _ => return None,
        };
        let mut w = Writer { l: self, depth };
        let q = w.quotient_of_integers(a, b, dtype, rounding);
        let result = match kind {
            BinaryKind::Div | BinaryKind::FloorDiv => q,
            _ => {
                let whole = w.op3(Vec3::Pmulld, q, b);
                w.op3(Vec3::Psubd, a, whole)
            }
        };
        let zero = w.i(0);
        let some = w.not_zero(b);
        Some(w.blend(some, result, zero))
    }

    /// `a` to the power `b`, modulo 2^32. A negative exponent gives 0, unless the base is 1 or -1.
    pub(super) fn integer_power(&mut self, a: V, b: V, dtype: DType, depth: usize) -> V {
        /// Exponents below 2 to this are common.
        const COMMON: u32 = 4;
        let mut w = Writer { l: self, depth };
        let one = w.i(1);
        let start = (one, a);
        let (common, square) = w.power_by_bits(start, b, 0..COMMON);
        let above = w.shift(VecShift::Psrld, b, COMMON);
        let large = w.not_zero(above);
        w.if_any(large, common, |w| {
            let (all, _) = w.power_by_bits((common, square), b, COMMON..32);
            if dtype == DType::U32 {
                return all;
            }
            // The powers of 1 and -1 have the period 2, which the last bit of the exponent tells.
            let zero = w.i(0);
            let magnitude = w.op2(Vec2::Pabsd, a);
            let negative = w.cmp_int(b, zero, IntPredicate::Lt);
            let grows = w.cmp_int(magnitude, one, IntPredicate::Ne);
            let none = w.mask2(MaskOp::And, negative, grows);
            w.blend(none, zero, all)
        })
    }
}

impl Writer<'_, '_> {
    /// Which lanes are not 0.
    pub(super) fn not_zero(&mut self, a: V) -> V {
        let dst = self.l.fresh(Class::Mask);
        self.l.emit(self.depth, Op::LanesMask { dst, src: a });
        dst
    }

    /// The quotient of i32 rounded down; the divisor is not 0.
    pub(super) fn floor_quotient(&mut self, a: V, b: V) -> V {
        self.quotient_of_integers(a, b, DType::I32, Rounding::Down)
    }

    /// The remainder that goes with it.
    pub(super) fn floor_remainder(&mut self, a: V, b: V) -> V {
        let q = self.floor_quotient(a, b);
        let whole = self.op3(Vec3::Pmulld, q, b);
        self.op3(Vec3::Psubd, a, whole)
    }

    fn quotient_of_integers(&mut self, a: V, b: V, dtype: DType, rounding: Rounding) -> V {
        let (to_float, to_int) = match dtype {
            DType::U32 => (Vec2::Cvtudq2pd, Vec2::Cvttpd2udq),
            _ => (Vec2::Cvtdq2pd, Vec2::Cvttpd2dq),
        };
        self.by_halves([a, b], |w, [a, b]| {
            let (a, b) = (w.op2(to_float, a), w.op2(to_float, b));
            let mut q = w.op3(Vec3::Divpd, a, b);
            if rounding == Rounding::Down && dtype != DType::U32 {
                // Rounds down; bit 3: no inexact exception.
                q = w.op2_imm(Vec2Imm::Rndscalepd, q, 1 | 8);
            }
            w.op2(to_int, q)
        })
    }

    /// Computes eight lanes at a time: what is given has 32-bit operands, and gives 32-bit results, in the lower half.
    pub(super) fn by_halves<const N: usize>(
        &mut self,
        operands: [V; N],
        mut compute: impl FnMut(&mut Self, [V; N]) -> V,
    ) -> V {
        let low = compute(self, operands);
        let upper = operands.map(|v| self.op3_imm(Vec3Imm::Shuff32x4, v, v, 0b01_00_11_10));
        let high = compute(self, upper);
        self.op3_imm(Vec3Imm::Insertf64x4, low, high, 1)
    }

    /// Goes on with a power, and the base to the next power of two, by these bits of the exponent.
    fn power_by_bits(&mut self, (power, base): (V, V), b: V, bits: std::ops::Range<u32>) -> (V, V) {
        let result = self.l.fresh(Class::Vector);
        self.l.emit(self.depth, Op::Move { dst: result, src: power });
        let mut square = base;
        for bit in bits {
            let this = self.i(1 << bit);
            let set = self.op3(Vec3::Pandd, b, this);
            let mask = Some(self.not_zero(set));
            let (a, b) = (result, Src::Reg(square));
            self.l.emit(self.depth, Op::Update { op: Vec3::Pmulld, dst: result, a, b, mask });
            if bit < 31 {
                square = self.op3(Vec3::Pmulld, square, square);
            }
        }
        (result, square)
    }
}
