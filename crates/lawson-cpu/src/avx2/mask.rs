//! Masks that are vectors.
//!
//! A mask fills a register, whatever its lanes select: with four lanes it has 64 bits a lane, and is narrowed for numbers of 32.

use super::{HALF, Rewriter, WHOLE};
use crate::asm::{CmpInt, IntPredicate, MaskOp, Vec2, Vec3, Vec3Imm};
use crate::code::{Op, Src, V};
use crate::error::{Result, Unsupported};

impl Rewriter {
    /// Bytes of a mask's lane.
    fn mask_lane(&self) -> usize {
        WHOLE.bytes() / self.lanes
    }

    /// The lower halves of lanes of 64 bits, side by side.
    pub(super) fn lower_halves(&mut self, dst: V, src: V) {
        let upper = self.fresh(HALF);
        self.emit(Op::Upper { dst: upper, src });
        // Words 0 and 2 of each.
        self.emit(Op::Vec3Imm { op: Vec3Imm::Shufps, dst, a: src, b: Src::Reg(upper), imm: 0b10_00_10_00 });
    }

    /// A mask with lanes as wide as those of some data.
    pub(super) fn fitting(&mut self, mask: V, data: V) -> V {
        if self.lane(data) == self.mask_lane() {
            return mask;
        }
        let dst = self.fresh(HALF);
        self.lower_halves(dst, mask);
        dst
    }

    /// The mask of lanes that are all ones or zeros.
    pub(super) fn mask_of(&mut self, dst: V, lanes: V) {
        if self.lane(lanes) == self.mask_lane() {
            self.emit(Op::Move { dst, src: lanes });
        } else {
            self.emit(Op::Vec2 { op: Vec2::Pmovsxdq, dst, src: Src::Reg(lanes) });
        }
    }

    /// `dst = mask ? b : a`.
    pub(super) fn blend(&mut self, dst: V, mask: V, a: V, b: Src) {
        let select = self.fitting(mask, dst);
        self.emit(Op::BlendVector { dst, a, b, select });
    }

    /// Makes lanes outside a mask 0.
    pub(super) fn clear_outside(&mut self, dst: V, mask: Option<V>) {
        if let Some(mask) = mask {
            let mask = self.fitting(mask, dst);
            self.set(Vec3::Pandd, dst, dst, mask);
        }
    }

    /// The truth tables that lowering uses, of the bits of `dst`, `a` and `b`.
    pub(super) fn by_table(&mut self, dst: V, a: V, b: Src, table: u8) -> Result<()> {
        let b = self.in_register(b, a);
        let both = self.op3(Vec3::Pandd, a, b);
        match table {
            0b1111_1000 => self.set(Vec3::Pord, dst, dst, both),
            0b0111_1000 => self.set(Vec3::Pxord, dst, dst, both),
            0b1101_1000 => {
                let rest = self.op3(Vec3::Pandnd, b, dst);
                self.set(Vec3::Pord, dst, rest, both);
            }
            _ => return Err(Unsupported::new("a truth table without AVX-512")),
        }
        Ok(())
    }

    pub(super) fn not(&mut self, dst: V, src: V) {
        let ones = self.words(&[u32::MAX]);
        self.set(Vec3::Pxord, dst, src, ones);
    }

    pub(super) fn mask_operation(&mut self, op: MaskOp, dst: V, a: V, b: V) -> Result<()> {
        match op {
            MaskOp::And => self.set(Vec3::Pandd, dst, a, b),
            MaskOp::Or => self.set(Vec3::Pord, dst, a, b),
            MaskOp::Xor => self.set(Vec3::Pxord, dst, a, b),
            MaskOp::Andn => self.set(Vec3::Pandnd, dst, a, b),
            MaskOp::Xnor => {
                let differ = self.op3(Vec3::Pxord, a, b);
                self.not(dst, differ);
            }
            MaskOp::Add => return Err(Unsupported::new("sums of masks without AVX-512")),
        }
        Ok(())
    }

    /// A bit for each lane, as words: those of a lane of 64 bits have the bit in the lower one.
    fn words_of_bits(&self, bits: u16, set: u32) -> Vec<u32> {
        let words = self.mask_lane() / 4;
        (0..self.lanes * words).map(|n| if bits >> (n / words) & 1 == 1 { set } else { 0 }).collect()
    }

    pub(super) fn constant_mask(&mut self, bits: u16) -> V {
        let words = self.words_of_bits(bits, u32::MAX);
        self.words(&words)
    }

    /// The mask of the low bits of a general register.
    pub(super) fn mask_of_bits(&mut self, dst: V, src: V) {
        let spread = self.fresh(WHOLE);
        self.emit(Op::Spread { dst: spread, src });
        let words = self.mask_lane() / 4;
        let each: Vec<u32> =
            (0..self.lanes * words).map(|n| if n % words == 0 { 1 << (n / words) } else { 0 }).collect();
        let each = self.words(&each);
        let own = self.op3(Vec3::Pandd, spread, each);
        let op = if words == 2 { Vec3::Pcmpeqq } else { Vec3::Pcmpeqd };
        self.set(op, dst, own, each);
    }

    pub(super) fn not_zero(&mut self, dst: V, src: V) {
        let zero = self.words(&[0]);
        let op = if self.lane(src) == 8 { Vec3::Pcmpeqq } else { Vec3::Pcmpeqd };
        let lanes = self.op3(op, src, zero);
        let is_zero = self.fresh(WHOLE);
        self.mask_of(is_zero, lanes);
        self.not(dst, is_zero);
    }

    /// Comparisons of integers: there are those for equal and greater, of signed ones.
    pub(super) fn compare(&mut self, op: CmpInt, dst: V, a: V, b: Src, predicate: IntPredicate) {
        let b = self.in_register(b, a);
        let (long, unsigned) = match op {
            CmpInt::Pcmpd => (false, false),
            CmpInt::Pcmpud => (false, true),
            CmpInt::Pcmpq => (true, false),
            CmpInt::Pcmpuq => (true, true),
        };
        let equality = matches!(predicate, IntPredicate::Eq | IntPredicate::Ne);
        let (a, b) = if unsigned && !equality {
            // Moved by half the range, they compare as signed ones do.
            let sign = if long { self.long(1 << 63) } else { self.words(&[1 << 31]) };
            (self.op3(Vec3::Pxord, a, sign), self.op3(Vec3::Pxord, b, sign))
        } else {
            (a, b)
        };
        let greater = if long { Vec3::Pcmpgtq } else { Vec3::Pcmpgtd };
        let equal = if long { Vec3::Pcmpeqq } else { Vec3::Pcmpeqd };
        let (op, a, b, negated) = match predicate {
            IntPredicate::Eq => (equal, a, b, false),
            IntPredicate::Ne => (equal, a, b, true),
            IntPredicate::Gt => (greater, a, b, false),
            IntPredicate::Le => (greater, a, b, true),
            IntPredicate::Lt => (greater, b, a, false),
            IntPredicate::Ge => (greater, b, a, true),
        };
        let lanes = self.op3(op, a, b);
        if negated {
            let mask = self.fresh(WHOLE);
            self.mask_of(mask, lanes);
            self.not(dst, mask);
        } else {
            self.mask_of(dst, lanes);
        }
    }
}
