//! Integers of 64 bits and unsigned ones, of whose operations AVX2 has few.

use super::{HALF, Rewriter};
use crate::asm::{CmpFloat, FloatPredicate, Vec2, Vec2Imm, Vec3, VecShift};
use crate::code::{Op, Src, V};

/// What the sign of an i64 is moved by to make its upper half a number from 0 on.
const UPPER_SIGN: u64 = 1 << 31;
/// The bits of 2^52 and 2^84: numbers of 32 bits in their low halves are that much more, in units of 1 and of 2^32.
const BITS_52: u64 = 0x4330 << 48;
const BITS_84: u64 = 0x4530 << 48;

impl Rewriter {
    /// All ones where a number of 64 bits is negative.
    fn sign_of(&mut self, src: V) -> V {
        let zero = self.words(&[0]);
        let zero_here = self.fresh_like(src);
        self.emit(Op::Move { dst: zero_here, src: zero });
        self.op3(Vec3::Pcmpgtq, zero_here, src)
    }

    /// Writes an operation on lanes of 64 bits that is no instruction; `false` for others.
    pub(super) fn long_operation(&mut self, op: Vec3, dst: V, a: V, b: Src) -> bool {
        if !matches!(
            op,
            Vec3::Pmullq | Vec3::Pminsq | Vec3::Pmaxsq | Vec3::Pminuq | Vec3::Pmaxuq | Vec3::Psravq
        ) {
            return false;
        }
        let b = self.in_register(b, a);
        match op {
            Vec3::Pmullq => {
                // Of the upper halves, only what they give times the lower ones is left.
                let (ah, bh) = (self.shift(VecShift::Psrlq, a, 32), self.shift(VecShift::Psrlq, b, 32));
                let (x, y) = (self.op3(Vec3::Pmuludq, ah, b), self.op3(Vec3::Pmuludq, a, bh));
                let cross = self.op3(Vec3::Paddq, x, y);
                let cross = self.shift(VecShift::Psllq, cross, 32);
                let low = self.op3(Vec3::Pmuludq, a, b);
                self.set(Vec3::Paddq, dst, low, cross);
            }
            Vec3::Psravq => {
                // Copies of the sign come in from the left; the machine shifts by 64 to 0.
                let sign = self.sign_of(a);
                let all = self.long(64);
                let left = self.op3(Vec3::Psubq, all, b);
                let copies = self.op3(Vec3::Psllvq, sign, left);
                let shifted = self.op3(Vec3::Psrlvq, a, b);
                self.set(Vec3::Porq, dst, shifted, copies);
            }
            _ => {
                let unsigned = matches!(op, Vec3::Pminuq | Vec3::Pmaxuq);
                let (x, y) = if unsigned {
                    let sign = self.long(1 << 63);
                    (self.op3(Vec3::Pxorq, a, sign), self.op3(Vec3::Pxorq, b, sign))
                } else {
                    (a, b)
                };
                let greater = self.op3(Vec3::Pcmpgtq, x, y);
                let (no, yes) = if matches!(op, Vec3::Pminsq | Vec3::Pminuq) { (a, b) } else { (b, a) };
                self.emit(Op::BlendVector { dst, a: no, b: Src::Reg(yes), select: greater });
            }
        }
        true
    }

    pub(super) fn shift_of(&mut self, op: VecShift, dst: V, src: V, count: u8) {
        if op != VecShift::Psraq || count == 0 {
            let op = if op == VecShift::Psraq { VecShift::Psrlq } else { op };
            return self.emit(Op::Shift { op, dst, src, count });
        }
        let sign = self.sign_of(src);
        let copies = self.shift(VecShift::Psllq, sign, 64 - count);
        let shifted = self.shift(VecShift::Psrlq, src, count);
        self.set(Vec3::Porq, dst, shifted, copies);
    }

    fn convert(&mut self, op: Vec2, like: V, src: V) -> V {
        let dst = self.fresh_like(like);
        self.emit(Op::Vec2 { op, dst, src: Src::Reg(src) });
        dst
    }

    fn compared(&mut self, op: CmpFloat, a: V, b: V, predicate: FloatPredicate) -> V {
        let dst = self.fresh_like(a);
        self.emit(Op::CmpFloatVector { op, dst, a, b: Src::Reg(b), predicate });
        dst
    }

    /// Writes a conversion that is no instruction; `false` for others.
    pub(super) fn conversion(&mut self, op: Vec2, dst: V, src: Src) -> bool {
        let Src::Reg(src) = src else { return false };
        match op {
            Vec2::Pabsq => {
                let sign = self.sign_of(src);
                let flipped = self.op3(Vec3::Pxorq, src, sign);
                self.set(Vec3::Psubq, dst, flipped, sign);
            }
            Vec2::Cvtudq2ps => {
                // By halves, each of which is exact; their sum is rounded once.
                let (rest, factor) = (self.words(&[0xFFFF]), self.words(&[65536f32.to_bits()]));
                let low = self.op3(Vec3::Pandd, src, rest);
                let high = self.shift(VecShift::Psrld, src, 16);
                let (low, high) =
                    (self.convert(Vec2::Cvtdq2ps, src, low), self.convert(Vec2::Cvtdq2ps, src, high));
                self.emit(Op::Move { dst, src: low });
                self.emit(Op::Update { op: Vec3::Fmadd231ps, dst, a: high, b: Src::Reg(factor), mask: None });
            }
            Vec2::Cvttps2udq => {
                // What is 2^31 or more is converted without it; 2^32 and more sets all bits.
                let (half, all) =
                    (self.words(&[2_147_483_648f32.to_bits()]), self.words(&[4_294_967_296f32.to_bits()]));
                let large = self.compared(CmpFloat::Cmpps, src, half, FloatPredicate::GeOq);
                let less = self.op3(Vec3::Pandd, large, half);
                let rest = self.op3(Vec3::Subps, src, less);
                let whole = self.convert(Vec2::Cvttps2dq, src, rest);
                let bit = self.shift(VecShift::Pslld, large, 31);
                let whole = self.op3(Vec3::Pxord, whole, bit);
                let over = self.compared(CmpFloat::Cmpps, src, all, FloatPredicate::GeOq);
                self.set(Vec3::Pord, dst, whole, over);
            }
            Vec2::Cvtudq2pd => {
                let (bits, offset) = (self.long(BITS_52), self.double(2f64.powi(52)));
                let wide = self.convert(Vec2::Pmovzxdq, dst, src);
                let more = self.op3(Vec3::Porq, wide, bits);
                self.set(Vec3::Subpd, dst, more, offset);
            }
            Vec2::Cvttpd2udq => {
                let half = self.double(2_147_483_648.0);
                let large = self.compared(CmpFloat::Cmppd, src, half, FloatPredicate::GeOq);
                let less = self.op3(Vec3::Pandd, large, half);
                let rest = self.op3(Vec3::Subpd, src, less);
                let whole = self.convert(Vec2::Cvttpd2dq, dst, rest);
                let narrow = self.fresh(HALF);
                self.lower_halves(narrow, large);
                let bit = self.shift(VecShift::Pslld, narrow, 31);
                self.set(Vec3::Pxord, dst, whole, bit);
            }
            Vec2::Cvtqq2pd | Vec2::Cvtuqq2pd => {
                let (high, low) = self.parts(src, op == Vec2::Cvtqq2pd);
                self.set(Vec3::Addpd, dst, high, low);
            }
            Vec2::Cvtqq2ps | Vec2::Cvtuqq2ps => {
                let sum = self.sum_to_odd(src, op == Vec2::Cvtqq2ps);
                self.emit(Op::Vec2 { op: Vec2::Cvtpd2ps, dst, src: Src::Reg(sum) });
            }
            Vec2::Cvttpd2qq | Vec2::Cvttpd2uqq => self.whole(dst, src, op == Vec2::Cvttpd2qq),
            Vec2::Cvttps2qq | Vec2::Cvttps2uqq => {
                let wide = self.convert(Vec2::Cvtps2pd, dst, src);
                self.whole(dst, wide, op == Vec2::Cvttps2qq);
            }
            _ => return false,
        }
        true
    }

    /// The upper and the lower half of integers of 64 bits as f64, whose sum they are.
    fn parts(&mut self, src: V, signed: bool) -> (V, V) {
        let (rest, bits_52, bits_84) = (self.long(0xFFFF_FFFF), self.long(BITS_52), self.long(BITS_84));
        let low = self.op3(Vec3::Pandd, src, rest);
        let low = self.op3(Vec3::Porq, low, bits_52);
        let offset = self.double(2f64.powi(52));
        let low = self.op3(Vec3::Subpd, low, offset);
        let mut high = self.shift(VecShift::Psrlq, src, 32);
        let mut offset = 2f64.powi(84);
        if signed {
            let sign = self.long(UPPER_SIGN);
            high = self.op3(Vec3::Pxorq, high, sign);
            offset += 2f64.powi(63);
        }
        let high = self.op3(Vec3::Porq, high, bits_84);
        let offset = self.double(offset);
        (self.op3(Vec3::Subpd, high, offset), low)
    }

    /// Integers of 64 bits as f64 whose last bit is set where something was lost: rounded again, they are rounded once.
    fn sum_to_odd(&mut self, src: V, signed: bool) -> V {
        let (high, low) = self.parts(src, signed);
        let sum = self.op3(Vec3::Addpd, high, low);
        let low_in = self.op3(Vec3::Subpd, sum, high);
        let high_in = self.op3(Vec3::Subpd, sum, low_in);
        let (a, b) = (self.op3(Vec3::Subpd, high, high_in), self.op3(Vec3::Subpd, low, low_in));
        let lost = self.op3(Vec3::Addpd, a, b);
        let (zero, one) = (self.words(&[0]), self.long(1));
        let some = self.compared(CmpFloat::Cmppd, lost, zero, FloatPredicate::NeqOq);
        // Away from zero, if what is lost has the other sign: back by a unit.
        let signs = self.op3(Vec3::Pxorq, lost, sum);
        let back = self.shift(VecShift::Psrlq, signs, 63);
        let back = self.op3(Vec3::Pandd, back, some);
        let cut = self.op3(Vec3::Psubq, sum, back);
        let odd = self.op3(Vec3::Pandd, some, one);
        self.op3(Vec3::Porq, cut, odd)
    }

    /// f64 as integers of 64 bits; what does not fit becomes the least integer, or all ones.
    fn whole(&mut self, dst: V, src: V, signed: bool) {
        let round = |r: &mut Self, v: V, how: u8| {
            let dst = r.fresh_like(v);
            r.emit(Op::Vec2Imm { op: Vec2Imm::Roundpd, dst, src: Src::Reg(v), imm: how | 8 });
            dst
        };
        let whole = round(self, src, 3);
        let (down, up) = (self.double(2f64.powi(-32)), self.double(2f64.powi(32)));
        let high = self.op3(Vec3::Mulpd, whole, down);
        let high = round(self, high, 1);
        let low = self.fresh_like(src);
        self.emit(Op::Move { dst: low, src: whole });
        self.emit(Op::Update { op: Vec3::Fnmadd231pd, dst: low, a: high, b: Src::Reg(up), mask: None });
        // Both lie in the low bits of sums with a number that large.
        let (magic, offset, rest) =
            (self.double(1.5 * 2f64.powi(52)), self.double(2f64.powi(52)), self.long(0xFFFF_FFFF));
        let high = self.op3(Vec3::Addpd, high, magic);
        let high = self.shift(VecShift::Psllq, high, 32);
        let low = self.op3(Vec3::Addpd, low, offset);
        let low = self.op3(Vec3::Pandd, low, rest);
        let value = self.op3(Vec3::Porq, high, low);
        let (least, end, other) = match signed {
            true => (-(2f64.powi(63)), 2f64.powi(63), self.long(1 << 63)),
            false => (0.0, 2f64.powi(64), self.words(&[u32::MAX])),
        };
        let (least, end) = (self.double(least), self.double(end));
        let above = self.compared(CmpFloat::Cmppd, whole, least, FloatPredicate::GeOq);
        let below = self.compared(CmpFloat::Cmppd, whole, end, FloatPredicate::LtOq);
        let fits = self.op3(Vec3::Pandd, above, below);
        self.emit(Op::BlendVector { dst, a: other, b: Src::Reg(value), select: fits });
    }
}
