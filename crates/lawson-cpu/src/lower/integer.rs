//! Division and powers of integers, for which AVX-512 has no instruction.
//!
//! Quotients of 32 bits are made in f64, in which both operands are exact. With operands below 2^32 a quotient that is not whole is at
//! least `1/|b|` away from every whole number, and its rounding moves it by less than `2^32/|b| · 2^-53`: so rounding
//! down, or towards 0, afterwards gives the true one. Anything by 0 is 0. The least integer by -1 is 2^31, which the
//! conversion turns into the least integer again: it wraps.

use super::Lowering;
use super::forms::{self, IntForms, computed, is_long};
use super::math::Writer;
use crate::asm::{IntPredicate, Level, MaskOp, Vec2, Vec2Imm, Vec3, Vec3Imm};
use crate::code::{Class, Op, Src, V};
use lawson_graph::DType;
use lawson_graph::op::BinaryKind;
use lawson_kernel::math::Lanes;

/// How a quotient becomes whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Down,
    TowardsZero,
}

impl<'k> Lowering<'k> {
    /// A quotient or remainder of integers.
    pub(super) fn divide(&mut self, kind: BinaryKind, a: V, b: V, dtype: DType, depth: usize) -> V {
        let rounding = match kind {
            BinaryKind::FloorDiv | BinaryKind::Mod => Rounding::Down,
            _ => Rounding::TowardsZero,
        };
        let wants_quotient = matches!(kind, BinaryKind::Div | BinaryKind::FloorDiv);
        if is_long(dtype) {
            return self.divide_long(wants_quotient, a, b, dtype, rounding, depth);
        }
        let mut w = Writer { l: self, depth };
        let q = w.quotient_of_integers(a, b, computed(dtype), rounding);
        let result = match wants_quotient {
            true => q,
            false => {
                let whole = w.op3(Vec3::Pmulld, q, b);
                w.op3(Vec3::Psubd, a, whole)
            }
        };
        let zero = w.i(0);
        let some = w.not_zero(b);
        w.blend(some, result, zero)
    }

    /// The same of 64 bits, which f64 does not hold.
    fn divide_long(
        &mut self,
        wants_quotient: bool,
        a: V,
        b: V,
        dtype: DType,
        rounding: Rounding,
        depth: usize,
    ) -> V {
        let signed = dtype == DType::I64;
        let q = self.fresh_like(a);
        self.emit(depth, Op::DivideLanes { dst: q, a, b, signed });
        let (zero, one) = (self.bits64(0), self.bits64(1));
        let mut w = Writer { l: self, depth };
        let whole = w.op3(Vec3::Pmullq, q, b);
        let rest = w.op3(Vec3::Psubq, a, whole);
        let result = if !signed || rounding == Rounding::TowardsZero {
            if wants_quotient { q } else { rest }
        } else {
            // Rounded down, where the remainder is not 0 and has another sign than the divisor.
            let signs = w.op3(Vec3::Pxorq, rest, b);
            let differ = w.cmp_long(signs, zero, IntPredicate::Lt);
            let some = w.not_zero(rest);
            let below = w.mask2(MaskOp::And, differ, some);
            let (value, moved) = match wants_quotient {
                true => (q, w.op3(Vec3::Psubq, q, one)),
                false => (rest, w.op3(Vec3::Paddq, rest, b)),
            };
            w.blend(below, moved, value)
        };
        let some = w.not_zero(b);
        w.blend(some, result, zero)
    }

    /// `a` to the power `b`, modulo 2 to the bits of a lane. A negative exponent gives 0, unless the base is 1 or -1.
    pub(super) fn integer_power(&mut self, a: V, b: V, dtype: DType, depth: usize) -> V {
        /// Exponents below 2 to this are common.
        const COMMON: u32 = 4;
        let forms = forms::bits(is_long(dtype));
        let lane = if is_long(dtype) { 64 } else { 32 };
        let (zero, one) = (self.int(0, dtype), self.int(1, dtype));
        let mut w = Writer { l: self, depth };
        let (common, square) = w.power_by_bits((one, a), b, 0..COMMON, dtype);
        let above = w.shift(forms.shift[2], b, COMMON);
        let large = w.not_zero(above);
        let [power] = w.if_any(large, [common], |w| {
            let (all, _) = w.power_by_bits((common, square), b, COMMON..lane, dtype);
            if matches!(computed(dtype), DType::U32 | DType::U64) {
                return [all];
            }
            // The powers of 1 and -1 have the period 2, which the last bit of the exponent tells.
            let magnitude = w.op2(forms.abs, a);
            let negative = w.cmp_lanes(forms, b, zero, IntPredicate::Lt);
            let grows = w.cmp_lanes(forms, magnitude, one, IntPredicate::Ne);
            let none = w.mask2(MaskOp::And, negative, grows);
            [w.blend(none, zero, all)]
        });
        power
    }
}

impl Writer<'_, '_> {
    /// Which lanes are not 0.
    pub(super) fn not_zero(&mut self, a: V) -> V {
        let dst = self.l.fresh(Class::Mask);
        self.l.emit(self.depth, Op::LanesMask { dst, src: a });
        dst
    }

    fn cmp_lanes(&mut self, forms: &IntForms, a: V, b: V, predicate: IntPredicate) -> V {
        let dst = self.l.fresh(Class::Mask);
        self.l.emit(self.depth, Op::CmpInt { op: forms.compare[0], dst, a, b: Src::Reg(b), predicate });
        dst
    }

    /// Which signed lanes of 64 bits compare so.
    pub(super) fn cmp_long(&mut self, a: V, b: V, predicate: IntPredicate) -> V {
        self.cmp_lanes(forms::bits(true), a, b, predicate)
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
            let (a, b) = (w.widened(to_float, a), w.widened(to_float, b));
            let mut q = w.op3(Vec3::Divpd, a, b);
            if rounding == Rounding::Down && dtype != DType::U32 {
                // Rounds down; bit 3: no inexact exception.
                q = w.op2_imm(Vec2Imm::Rndscalepd, q, 1 | 8);
            }
            w.narrowed(to_int, q)
        })
    }

    /// Computes as many lanes at a time as fit with 64 bits: what is given has 32-bit operands, and gives 32-bit results, in the lower
    /// half where a vector has more lanes.
    pub(super) fn by_halves<const N: usize>(
        &mut self,
        operands: [V; N],
        mut compute: impl FnMut(&mut Self, [V; N]) -> V,
    ) -> V {
        let low = compute(self, operands);
        if self.l.native {
            return low;
        }
        let (swap, join) = match self.l.level {
            Level::Avx512 => ((Vec3Imm::Shuff32x4, 0b01_00_11_10), Vec3Imm::Insertf64x4),
            Level::Avx2 => ((Vec3Imm::Shuff32x4, 0b01), Vec3Imm::Insertf32x4),
        };
        let upper = operands.map(|v| self.op3_imm(swap.0, v, v, swap.1));
        let high = compute(self, upper);
        self.op3_imm(join, low, high, 1)
    }

    /// Goes on with a power, and the base to the next power of two, by these bits of the exponent.
    fn power_by_bits(
        &mut self,
        (power, base): (V, V),
        exponent: V,
        bits: std::ops::Range<u32>,
        dtype: DType,
    ) -> (V, V) {
        let forms = forms::bits(is_long(dtype));
        let result = self.l.fresh_like(base);
        self.l.emit(self.depth, Op::Move { dst: result, src: power });
        let (mut square, lane) = (base, if is_long(dtype) { 64 } else { 32 });
        for bit in bits {
            let this = self.l.int(1 << bit, dtype);
            let set = self.op3(forms.and, exponent, this);
            let mask = Some(self.not_zero(set));
            let (a, b) = (result, Src::Reg(square));
            self.l.emit(self.depth, Op::Update { op: forms.mul, dst: result, a, b, mask });
            if bit + 1 < lane {
                square = self.op3(forms.mul, square, square);
            }
        }
        (result, square)
    }
}
