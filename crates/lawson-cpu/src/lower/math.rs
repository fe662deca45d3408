//! Functions that are no instruction: the kernel level's expansions, written as vector operations.
//!
//! Every hook that AVX-512 has an instruction for is that instruction. A rare range is computed only when some lane needs
//! it.

use super::Lowering;
use super::arithmetic::FusedSign;
use super::double::DoubleWriter;
use super::forms::{computed, float_forms};
use crate::asm::{
    CmpFloat, CmpInt, FloatPredicate, IntPredicate, MaskOp, Vec2, Vec2Imm, Vec3, Vec3Imm, VecShift,
};
use crate::code::{Class, Item, Op, Src, V};
use crate::error::{Result, Unsupported};
use lawson_graph::DType;
use lawson_graph::op::BinaryKind;
use lawson_kernel::math::{self, Arithmetic, Function, TABLE};

/// Writes operations at one depth.
pub(super) struct Writer<'l, 'k> {
    pub(super) l: &'l mut Lowering<'k>,
    pub(super) depth: usize,
}

impl<'k> Lowering<'k> {
    pub(super) fn expand_unary(&mut self, f: Function, x: V, dtype: DType, depth: usize) -> Result<V> {
        match computed(dtype) {
            DType::F32 => Ok(f.expand(&mut Writer { l: self, depth }, x)),
            DType::F64 => Ok(f.expand_double(&mut DoubleWriter { l: self, depth }, x)),
            _ => Err(Unsupported::new(format!("{} of {dtype}", f.name()))),
        }
    }

    /// What is neither an instruction nor made of such by two operands of a float dtype.
    pub(super) fn expand_binary(
        &mut self,
        kind: BinaryKind,
        a: V,
        b: V,
        dtype: DType,
        depth: usize,
    ) -> Result<V> {
        if computed(dtype) == DType::F64 {
            let mut w = DoubleWriter { l: self, depth };
            return match kind {
                BinaryKind::Rem => Ok(math::double::rem(&mut w, a, b)),
                BinaryKind::Mod => Ok(math::double::modulo(&mut w, a, b)),
                BinaryKind::Pow => Ok(math::double::pow(&mut w, a, b)),
                BinaryKind::Atan2 => Ok(math::double::atan2(&mut w, a, b)),
                _ => Err(Unsupported::new(format!("{} of {dtype}", kind.name()))),
            };
        }
        let mut w = Writer { l: self, depth };
        match (kind, computed(dtype)) {
            (BinaryKind::Rem | BinaryKind::Mod, DType::F32) => Ok(w.remainder(kind, a, b)),
            (BinaryKind::Pow, DType::F32) => Ok(math::pow(&mut w, a, b)),
            (BinaryKind::Atan2, DType::F32) => Ok(math::atan2(&mut w, a, b)),
            _ => Err(Unsupported::new(format!("{} of {dtype}", kind.name()))),
        }
    }
}

impl Writer<'_, '_> {
    pub(super) fn op2(&mut self, op: Vec2, a: V) -> V {
        self.l.vec2(op, a, self.depth)
    }

    /// From lanes of 32 bits to lanes of 64.
    pub(super) fn widened(&mut self, op: Vec2, a: V) -> V {
        let dst = self.l.fresh_long();
        self.l.emit(self.depth, Op::Vec2 { op, dst, src: Src::Reg(a) });
        dst
    }

    /// From lanes of 64 bits to lanes of 32.
    pub(super) fn narrowed(&mut self, op: Vec2, a: V) -> V {
        let dst = self.l.fresh(Class::Vector);
        self.l.emit(self.depth, Op::Vec2 { op, dst, src: Src::Reg(a) });
        dst
    }

    pub(super) fn op2_imm(&mut self, op: Vec2Imm, a: V, imm: u8) -> V {
        let dst = self.l.fresh_like(a);
        self.l.emit(self.depth, Op::Vec2Imm { op, dst, src: Src::Reg(a), imm });
        dst
    }

    pub(super) fn op3(&mut self, op: Vec3, a: V, b: V) -> V {
        self.l.vec3(op, a, Src::Reg(b), self.depth)
    }

    pub(super) fn op3_imm(&mut self, op: Vec3Imm, a: V, b: V, imm: u8) -> V {
        let dst = self.l.fresh_like(a);
        self.l.emit(self.depth, Op::Vec3Imm { op, dst, a, b: Src::Reg(b), imm });
        dst
    }

    pub(super) fn fused(&mut self, op: Vec3, start: V, a: V, b: V) -> V {
        let dst = self.l.fresh_like(start);
        self.l.emit(self.depth, Op::Move { dst, src: start });
        self.l.emit(self.depth, Op::Update { op, dst, a, b: Src::Reg(b), mask: None });
        dst
    }

    /// `dst` from the bits of itself, a and b by a truth table.
    fn ternary(&mut self, start: V, a: V, b: V, table: u8) -> V {
        let dst = self.l.fresh_like(start);
        self.l.emit(self.depth, Op::Move { dst, src: start });
        self.l.emit(self.depth, Op::UpdateImm { op: Vec3Imm::Pternlogd, dst, a, b: Src::Reg(b), imm: table });
        dst
    }

    pub(super) fn shift(&mut self, op: VecShift, src: V, by: u32) -> V {
        let dst = self.l.fresh_like(src);
        self.l.emit(self.depth, Op::Shift { op, dst, src, count: by as u8 });
        dst
    }

    pub(super) fn cmp(&mut self, a: V, b: V, predicate: FloatPredicate) -> V {
        let dst = self.l.fresh(Class::Mask);
        self.l.emit(self.depth, Op::CmpFloat { op: CmpFloat::Cmpps, dst, a, b: Src::Reg(b), predicate });
        dst
    }

    pub(super) fn cmp_int(&mut self, a: V, b: V, predicate: IntPredicate) -> V {
        let dst = self.l.fresh(Class::Mask);
        self.l.emit(self.depth, Op::CmpInt { op: CmpInt::Pcmpd, dst, a, b: Src::Reg(b), predicate });
        dst
    }

    pub(super) fn mask2(&mut self, op: MaskOp, a: V, b: V) -> V {
        let dst = self.l.fresh(Class::Mask);
        self.l.emit(self.depth, Op::Mask2 { op, dst, a, b });
        dst
    }

    pub(super) fn blend(&mut self, mask: V, yes: V, no: V) -> V {
        let dst = self.l.fresh_like(no);
        self.l.emit(self.depth, Op::Blend { dst, mask, a: no, b: Src::Reg(yes) });
        dst
    }

    /// `±a·b ± c`. A constant stands last, where it may come from memory.
    pub(super) fn fused_product(&mut self, dtype: DType, sign: FusedSign, a: V, b: V, c: V) -> V {
        let [form_231, form_213] = float_forms(dtype).fused[sign as usize];
        let is_constant = [a, b, c].map(|v| self.l.constants.contains(&v));
        match is_constant {
            [false, _, true] => self.fused(form_213, a, b, c),
            [true, false, true] => self.fused(form_213, b, a, c),
            [true, ..] => self.fused(form_231, c, b, a),
            _ => self.fused(form_231, c, a, b),
        }
    }

    /// Begins what is computed only where some lane needs it, and is `common` elsewhere: the register of both, and where it begins.
    /// Outside of all loops, everything is computed.
    pub(super) fn open_rare(&mut self, common: V) -> Option<(V, usize)> {
        if self.depth == 0 {
            return None;
        }
        let dst = self.l.fresh_like(common);
        self.l.emit(self.depth, Op::Move { dst, src: common });
        Some((dst, self.l.frames[self.depth].items.len()))
    }

    /// Ends it: where the condition holds, the result is `rare`.
    pub(super) fn close_rare(&mut self, open: Option<(V, usize)>, condition: V, common: V, rare: V) -> V {
        let Some((dst, start)) = open else { return self.blend(condition, rare, common) };
        self.l.emit(self.depth, Op::MoveMasked { dst, src: rare, mask: condition });
        let body = self.l.frames[self.depth].items.split_off(start);
        self.l.frames[self.depth].items.push(Item::If { mask: condition, body });
        dst
    }
}

impl Arithmetic for Writer<'_, '_> {
    type F = V;
    type I = V;
    type B = V;

    fn f(&mut self, c: f32) -> V {
        self.l.bits(c.to_bits())
    }
    fn i(&mut self, c: i32) -> V {
        self.l.bits(c as u32)
    }
    fn add(&mut self, a: V, b: V) -> V {
        self.op3(Vec3::Addps, a, b)
    }
    fn sub(&mut self, a: V, b: V) -> V {
        self.op3(Vec3::Subps, a, b)
    }
    fn mul(&mut self, a: V, b: V) -> V {
        self.op3(Vec3::Mulps, a, b)
    }
    fn div(&mut self, a: V, b: V) -> V {
        self.op3(Vec3::Divps, a, b)
    }
    fn fma(&mut self, a: V, b: V, c: V) -> V {
        self.fused_product(DType::F32, FusedSign::Add, a, b, c)
    }
    fn fms(&mut self, a: V, b: V, c: V) -> V {
        self.fused_product(DType::F32, FusedSign::Sub, a, b, c)
    }
    fn fnma(&mut self, a: V, b: V, c: V) -> V {
        self.fused_product(DType::F32, FusedSign::NegativeAdd, a, b, c)
    }
    fn sqrt(&mut self, a: V) -> V {
        self.op2(Vec2::Sqrtps, a)
    }
    fn neg(&mut self, a: V) -> V {
        let sign = self.l.bits(0x8000_0000);
        self.op3(Vec3::Pxord, a, sign)
    }
    fn abs(&mut self, a: V) -> V {
        let rest = self.l.bits(0x7FFF_FFFF);
        self.op3(Vec3::Pandd, a, rest)
    }
    fn min(&mut self, a: V, b: V) -> V {
        self.op3(Vec3::Minps, a, b)
    }
    fn max(&mut self, a: V, b: V) -> V {
        self.op3(Vec3::Maxps, a, b)
    }
    fn round_even(&mut self, a: V) -> V {
        self.op2_imm(Vec2Imm::Rndscaleps, a, 8)
    }
    fn lt(&mut self, a: V, b: V) -> V {
        self.cmp(a, b, FloatPredicate::LtOq)
    }
    fn le(&mut self, a: V, b: V) -> V {
        self.cmp(a, b, FloatPredicate::LeOq)
    }
    fn eq(&mut self, a: V, b: V) -> V {
        self.cmp(a, b, FloatPredicate::EqOq)
    }
    fn is_nan(&mut self, a: V) -> V {
        self.cmp(a, a, FloatPredicate::UnordQ)
    }
    fn select(&mut self, c: V, a: V, b: V) -> V {
        self.blend(c, a, b)
    }
    fn i_add(&mut self, a: V, b: V) -> V {
        self.op3(Vec3::Paddd, a, b)
    }
    fn i_sub(&mut self, a: V, b: V) -> V {
        self.op3(Vec3::Psubd, a, b)
    }
    fn i_and(&mut self, a: V, b: V) -> V {
        self.op3(Vec3::Pandd, a, b)
    }
    fn i_or(&mut self, a: V, b: V) -> V {
        self.op3(Vec3::Pord, a, b)
    }
    fn i_xor(&mut self, a: V, b: V) -> V {
        self.op3(Vec3::Pxord, a, b)
    }
    fn i_shl(&mut self, a: V, by: u32) -> V {
        self.shift(VecShift::Pslld, a, by)
    }
    fn i_shr(&mut self, a: V, by: u32) -> V {
        self.shift(VecShift::Psrld, a, by)
    }
    fn i_sar(&mut self, a: V, by: u32) -> V {
        self.shift(VecShift::Psrad, a, by)
    }
    fn i_lt(&mut self, a: V, b: V) -> V {
        self.cmp_int(a, b, IntPredicate::Lt)
    }
    fn i_eq(&mut self, a: V, b: V) -> V {
        self.cmp_int(a, b, IntPredicate::Eq)
    }
    fn i_select(&mut self, c: V, a: V, b: V) -> V {
        self.blend(c, a, b)
    }
    fn to_int(&mut self, a: V) -> V {
        self.op2(Vec2::Cvtps2dq, a)
    }
    fn to_float(&mut self, a: V) -> V {
        self.op2(Vec2::Cvtdq2ps, a)
    }
    fn bits(&mut self, a: V) -> V {
        a
    }
    fn of_bits(&mut self, a: V) -> V {
        a
    }
    fn lookup(&mut self, index: V, table: &[f32; TABLE]) -> V {
        let mut lanes = [0u32; 16];
        for (n, lane) in lanes.iter_mut().enumerate() {
            *lane = table[n % TABLE].to_bits();
        }
        let table = self.l.table(lanes);
        self.op3(Vec3::Permps, index, table)
    }
    fn and(&mut self, a: V, b: V) -> V {
        self.mask2(MaskOp::And, a, b)
    }
    fn or(&mut self, a: V, b: V) -> V {
        self.mask2(MaskOp::Or, a, b)
    }
    fn not(&mut self, a: V) -> V {
        let dst = self.l.fresh(Class::Mask);
        self.l.emit(self.depth, Op::MaskNot { dst, src: a });
        dst
    }
    // Truth tables count the bits of (start, a, b) as 4, 2, 1.
    fn copy_sign(&mut self, magnitude: V, sign: V) -> V {
        let mask = self.l.bits(0x8000_0000);
        // mask ? sign : magnitude, with start = magnitude, a = sign, b = mask
        self.ternary(magnitude, sign, mask, 0b1101_1000)
    }
    fn or_sign(&mut self, magnitude: V, sign: V) -> V {
        let mask = self.l.bits(0x8000_0000);
        // magnitude | (sign & mask)
        self.ternary(magnitude, sign, mask, 0b1111_1000)
    }
    fn flip_sign(&mut self, x: V, sign: V) -> V {
        let mask = self.l.bits(0x8000_0000);
        // x ^ (sign & mask)
        self.ternary(x, sign, mask, 0b0111_1000)
    }
    fn nearest(&mut self, a: V, b: V) -> (V, V) {
        let magic = self.l.bits(12_582_912f32.to_bits());
        let held = self.fma(a, b, magic);
        let whole = self.op3(Vec3::Subps, held, magic);
        (whole, held)
    }
    fn nearest_sixteenth(&mut self, a: V, b: V) -> (V, V) {
        let magic = self.l.bits(786_432f32.to_bits());
        let held = self.fma(a, b, magic);
        let whole = self.op3(Vec3::Subps, held, magic);
        (whole, held)
    }
    fn scale_down(&mut self, x: V, n: (V, V)) -> V {
        // The instruction rounds down by itself.
        self.scale(x, n)
    }
    fn power_of_two(&mut self, n: (V, V)) -> V {
        let one = self.l.bits(1f32.to_bits());
        self.op3(Vec3::Scalefps, one, n.0)
    }
    fn scale(&mut self, x: V, n: (V, V)) -> V {
        self.op3(Vec3::Scalefps, x, n.0)
    }
    fn split(&mut self, x: V) -> (V, V) {
        // The mantissa in [3/4, 3/2), without its sign.
        let m = self.op2_imm(Vec2Imm::Getmantps, x, 0b0111);
        let (ex, em) = (self.op2(Vec2::Getexpps, x), self.op2(Vec2::Getexpps, m));
        let e = self.op3(Vec3::Subps, ex, em);
        // The exponent of a negative number is that of its magnitude; here it must be NaN.
        let zero = self.l.bits(0);
        let negative = self.cmp(x, zero, FloatPredicate::LtOq);
        let nan = self.l.bits(f32::NAN.to_bits());
        let e = self.blend(negative, nan, e);
        (m, e)
    }
    fn reciprocal_estimate(&mut self, b: V) -> V {
        self.op2(Vec2::Rcp14ps, b)
    }
    fn quotient(&mut self, a: V, b: V) -> V {
        let y = self.op2(Vec2::Rcp14ps, b);
        let q = self.mul(a, y);
        let rest = self.fnma(b, q, a);
        self.fma(y, rest, q)
    }
    fn if_any(&mut self, condition: V, common: V, rare: impl FnOnce(&mut Self) -> V) -> V {
        let open = self.open_rare(common);
        let value = rare(self);
        self.close_rare(open, condition, common, value)
    }
}
