//! Operations that are one instruction, or two.

use super::{Encoder, SAVE, stack};
use crate::alloc::Loc;
use crate::asm::{
    Alu, BitCount, BlendVar, BroadcastGpr, Extend, Gpr, Inst, Level, Mask, MaskMovStore, MaskShift, MaskSize,
    MaskToVec, Masking, Mem, MemSize, Rm, Scale, Shift, Size, Vec2, Vec3, VecDst, VecFromGpr, VecSrc,
    VecStore, VecStoreImm, VecTest, Vreg, Width,
};
use crate::code::{Op, Shape, Src, V};

impl Encoder<'_> {
    /// A general register to all lanes.
    pub(super) fn spread(&mut self, dst: V, d: Vreg, src: Gpr) {
        let (wide, width) = (self.is_wide(dst), self.width(dst));
        if self.code.level == Level::Avx512 {
            let op = if wide { BroadcastGpr::Pbroadcastq } else { BroadcastGpr::Pbroadcastd };
            return self.push(Inst::BroadcastGpr { op, width, dst: d, src, masking: Masking::NONE });
        }
        let (first, all) = match wide {
            true => (VecFromGpr::Movq, Vec2::Pbroadcastq),
            false => (VecFromGpr::Movd, Vec2::Pbroadcastd),
        };
        self.push(Inst::VecFromGpr { op: first, dst: d, src });
        self.push(Inst::vec2(all, width, d, d));
    }

    pub(super) fn op(&mut self, op: Op) {
        match op {
            Op::Vec2 { op, dst, src } => {
                let s = self.src_of(src, op.broadcasts(), 0);
                let d = self.vector_to(dst);
                self.push(Inst::vec2(op, self.widest(dst, &[src]), d, s));
                self.vector_written(dst, d);
            }
            Op::Vec2Imm { op, dst, src, imm } => {
                let s = self.src_of(src, op.broadcasts(), 0);
                let d = self.vector_to(dst);
                self.push(Inst::vec2_imm(op, self.widest(dst, &[src]), d, s, imm));
                self.vector_written(dst, d);
            }
            Op::Vec3 { op, dst, a, b } => {
                let width = self.widest(dst, &[Src::Reg(a), b]);
                let a = self.vector(a, 0);
                let b = self.src_of(b, op.broadcasts(), 1);
                let d = self.vector_to(dst);
                self.push(Inst::vec3(op, width, d, a, b));
                self.vector_written(dst, d);
            }
            Op::Vec3Imm { op, dst, a, b, imm } => {
                let width = self.widest(dst, &[Src::Reg(a), b]);
                let a = self.vector(a, 0);
                let b = self.src_of(b, op.broadcasts(), 1);
                let d = self.vector_to(dst);
                self.push(Inst::vec3_imm(op, width, d, a, b, imm));
                self.vector_written(dst, d);
            }
            Op::Shift { op, dst, src, count } => {
                let s = self.vector(src, 0);
                let d = self.vector_to(dst);
                self.push(Inst::vec_shift(op, self.width(dst), d, s, count));
                self.vector_written(dst, d);
            }
            Op::Down { op, dst, src } => {
                let s = self.vector(src, 0);
                let d = self.vector_to(dst);
                self.push(Inst::vec_store(op, self.width(src), d, s));
                self.vector_written(dst, d);
            }
            Op::Halved { dst, src } => {
                let s = self.vector(src, 0);
                let d = self.vector_to(dst);
                self.push(Inst::vec_store_imm(VecStoreImm::Cvtps2ph, self.width(src), d, s, 0));
                self.vector_written(dst, d);
            }
            Op::Update { op, dst, a, b, mask } => {
                let d = self.vector(dst, 1);
                let a = if a == dst { d } else { self.vector(a, 0) };
                let b = self.src(b);
                let masking = self.keeping(mask);
                self.push(Inst::Vec3 { op, width: self.width(dst), dst: d, a, b, masking });
                self.vector_written(dst, d);
            }
            Op::UpdateImm { op, dst, a, b, imm } => {
                let d = self.vector(dst, 1);
                let a = if a == dst { d } else { self.vector(a, 0) };
                let b = self.src(b);
                self.push(Inst::vec3_imm(op, self.width(dst), d, a, b, imm));
                self.vector_written(dst, d);
            }
            Op::Const { dst, bits } => {
                if let Loc::Reg(r) = self.loc(dst) {
                    self.constant(Vreg(r), bits, dst);
                }
            }
            Op::Lanes { dst, by } => {
                let lanes: [i32; 16] = std::array::from_fn(|n| by.wrapping_mul(n as i32));
                let c = self.asm.constant(lanes);
                let d = self.vector_to(dst);
                self.push(Inst::vec2(Vec2::Movups, self.width(dst), d, Mem::constant(c)));
                self.vector_written(dst, d);
            }
            Op::Table { dst, lanes } => {
                let c = self.asm.constant(lanes);
                let d = self.vector_to(dst);
                self.push(Inst::vec2(Vec2::Movups, self.width(dst), d, Mem::constant(c)));
                self.vector_written(dst, d);
            }
            Op::Move { dst, src } => {
                if self.loc(dst) == self.loc(src) {
                    return;
                }
                match (self.loc(dst), self.loc(src)) {
                    (Loc::Reg(d), Loc::Pool(bits)) => self.constant(Vreg(d), bits, src),
                    (Loc::Reg(d), _) => {
                        let s = self.src(Src::Reg(src));
                        self.push(Inst::vec2(Vec2::Movaps, self.width(dst), Vreg(d), s));
                    }
                    _ => {
                        let s = self.vector(src, 0);
                        self.vector_written(dst, s);
                    }
                }
            }
            Op::MoveMasked { dst, src, mask } => {
                let d = self.vector(dst, 1);
                let s = self.vector(src, 0);
                let masking = self.keeping(Some(mask));
                let op = if self.is_wide(dst) { Vec2::Movapd } else { Vec2::Movaps };
                self.push(Inst::Vec2 { op, width: self.width(dst), dst: d, src: VecSrc::Reg(s), masking });
                self.vector_written(dst, d);
            }
            Op::Blend { dst, mask, a, b } => {
                let a = self.vector(a, 0);
                let b = self.src(b);
                let masking = self.keeping(Some(mask));
                let op = if self.is_wide(dst) { Vec3::Blendmpd } else { Vec3::Blendmps };
                let d = self.vector_to(dst);
                self.push(Inst::Vec3 { op, width: self.width(dst), dst: d, a, b, masking });
                self.vector_written(dst, d);
            }
            Op::BlendVector { dst, a, b, select } => {
                let op = if self.is_wide(dst) { BlendVar::Blendvpd } else { BlendVar::Blendvps };
                let (a, select) = (self.vector(a, 0), self.vector(select, 1));
                let b = self.src(b);
                let d = self.vector_to(dst);
                self.push(Inst::BlendVar { op, width: self.width(dst), dst: d, a, b, select });
                self.vector_written(dst, d);
            }
            Op::CmpFloatVector { op, dst, a, b, predicate } => {
                let width = self.width(dst);
                let a = self.vector(a, 0);
                let b = self.src(b);
                let d = self.vector_to(dst);
                self.push(Inst::CmpFloatVec { op, width, dst: d, a, b, predicate });
                self.vector_written(dst, d);
            }
            Op::LoadSelected { dst, addr, select } => {
                let op = if self.is_wide(dst) { Vec3::Maskmovpd } else { Vec3::Maskmovps };
                let m = self.addr(addr);
                let select = self.vector(select, 0);
                let d = self.vector_to(dst);
                self.push(Inst::vec3(op, self.width(dst), d, select, m));
                self.vector_written(dst, d);
            }
            Op::StoreSelected { addr, src, select } => {
                let op = if self.is_wide(src) { MaskMovStore::Maskmovpd } else { MaskMovStore::Maskmovps };
                let dst = self.addr(addr);
                let (select, s) = (self.vector(select, 0), self.vector(src, 1));
                self.push(Inst::MaskMovStore { op, width: self.width(src), dst, select, src: s });
            }
            Op::Upper { dst, src } => {
                let s = self.vector(src, 0);
                let d = self.vector_to(dst);
                self.push(Inst::vec_store_imm(VecStoreImm::Extractf32x4, self.width(src), d, s, 1));
                self.vector_written(dst, d);
            }
            Op::Load { dst, addr, shape, mask } => {
                let m = self.addr(addr);
                let d = self.vector_to(dst);
                let masking = self.masking(mask);
                let wide = self.is_wide(dst);
                let op = match shape {
                    Shape::Full | Shape::Stream if wide => Vec2::Movupd,
                    Shape::Full | Shape::Stream => Vec2::Movups,
                    Shape::Quads => Vec2::Movdqu64,
                    Shape::One if wide => Vec2::Broadcastsd,
                    Shape::One => Vec2::Broadcastss,
                    Shape::Extend(op) => op,
                    Shape::OneOf(1) => Vec2::Pbroadcastb,
                    Shape::OneOf(_) => Vec2::Pbroadcastw,
                    // Not of a load.
                    Shape::Cut(_) | Shape::Halves | Shape::Low(_) => return,
                };
                let masking = if matches!(shape, Shape::OneOf(_)) { Masking::NONE } else { masking };
                self.push(Inst::Vec2 { op, width: self.width(dst), dst: d, src: VecSrc::Mem(m), masking });
                self.vector_written(dst, d);
            }
            Op::Store { addr, src, shape, mask } => {
                let m = self.addr(addr);
                let s = self.vector(src, 0);
                let masking = self.keeping(mask);
                let (wide, width) = (self.is_wide(src), self.width(src));
                let (op, width) = match shape {
                    Shape::Full if wide => (VecStore::Movupd, width),
                    Shape::Full => (VecStore::Movups, width),
                    Shape::Quads => (VecStore::Movdqu64, width),
                    Shape::One if wide => (VecStore::Movsd, Width::X128),
                    Shape::One => (VecStore::Movss, Width::X128),
                    Shape::Stream => (VecStore::Movntps, width),
                    Shape::Cut(op) => (op, width),
                    Shape::Halves => {
                        let (op, dst) = (VecStoreImm::Cvtps2ph, VecDst::Mem(m));
                        self.push(Inst::VecStoreImm { op, width, dst, src: s, imm: 0, masking });
                        return;
                    }
                    Shape::Low(4) => (VecStore::Movss, Width::X128),
                    Shape::Low(8) => (VecStore::Movsd, Width::X128),
                    Shape::Low(_) => (VecStore::Movups, Width::X128),
                    Shape::OneOf(bytes) => {
                        self.store_small(m, s, bytes);
                        return;
                    }
                    // Not of a store.
                    Shape::Extend(_) => return,
                };
                self.push(Inst::VecStore { op, width, dst: VecDst::Mem(m), src: s, masking });
            }
            Op::Gather { dst, base, index, mask } => self.gather(dst, base, index, mask),
            Op::Scatter { base, index, src, mask } => self.scatter(base, index, src, mask),
            Op::GatherSmall { extend, dst, base, index, mask } => {
                self.gather_small(extend, dst, base, index, mask)
            }
            Op::ScatterSmall { bytes, base, index, src, mask } => {
                self.scatter_small(bytes, base, index, src, mask)
            }
            Op::CmpFloat { op, dst, a, b, predicate } => {
                let width = self.width(a);
                let a = self.vector(a, 0);
                let b = self.src(b);
                let d = self.mask_to(dst);
                self.push(Inst::CmpFloat { op, width, dst: d, a, b, predicate, mask: Mask::K0 });
                self.mask_written(dst, d);
            }
            Op::CmpInt { op, dst, a, b, predicate } => {
                let width = self.width(a);
                let a = self.vector(a, 0);
                let b = self.src(b);
                let d = self.mask_to(dst);
                self.push(Inst::CmpInt { op, width, dst: d, a, b, predicate, mask: Mask::K0 });
                self.mask_written(dst, d);
            }
            Op::Mask2 { op, dst, a, b } => {
                let a = self.mask(a, 0);
                let b = self.mask(b, 1);
                let d = self.mask_to(dst);
                self.push(Inst::MaskOp { op, size: MaskSize::W16, dst: d, a, b });
                self.mask_written(dst, d);
            }
            Op::MaskNot { dst, src } => {
                let s = self.mask(src, 1);
                let d = self.mask_to(dst);
                self.push(Inst::MaskNot { size: MaskSize::W16, dst: d, src: s });
                self.mask_written(dst, d);
            }
            Op::MaskUpper { dst, src } => {
                let s = self.mask(src, 1);
                let d = self.mask_to(dst);
                let op = MaskShift::Right;
                self.push(Inst::MaskShift { op, size: MaskSize::W16, dst: d, src: s, count: 8 });
                self.mask_written(dst, d);
            }
            Op::MaskMove { dst, src } => {
                let s = self.mask(src, 1);
                let d = self.mask_to(dst);
                if s != d {
                    self.push(Inst::MaskMov { size: MaskSize::W16, dst: d, src: s });
                }
                self.mask_written(dst, d);
            }
            Op::MaskFrom { dst, src } => {
                let s = self.general(src, 0);
                let d = self.mask_to(dst);
                self.push(Inst::MaskFromGpr { size: MaskSize::W16, dst: d, src: s });
                self.mask_written(dst, d);
            }
            Op::MaskConst { dst, bits } => {
                let d = self.mask_to(dst);
                self.push(Inst::StoreImm { size: MemSize::Q64, dst: stack(SAVE[2]), imm: i32::from(bits) });
                self.push(Inst::MaskLoad { size: MaskSize::W16, dst: d, src: stack(SAVE[2]) });
                self.mask_written(dst, d);
            }
            Op::MaskBits { dst, src } => {
                let s = self.mask(src, 0);
                let d = self.general_to(dst);
                self.push(Inst::GprFromMask { size: MaskSize::W16, dst: d, src: s });
                self.general_written(dst, d);
            }
            Op::FirstBit { dst, src } => {
                let s = self.general(src, 0);
                let d = self.general_to(dst);
                let op = BitCount::Tzcnt;
                self.push(Inst::BitCount { op, size: Size::Q64, dst: d, src: Rm::Gpr(s) });
                self.general_written(dst, d);
            }
            Op::MaskLanes { dst, src } => {
                let s = self.mask(src, 0);
                let d = self.vector_to(dst);
                let op = if self.is_wide(dst) { MaskToVec::Pmovm2q } else { MaskToVec::Pmovm2d };
                self.push(Inst::MaskToVec { op, width: self.width(dst), dst: d, src: s });
                self.vector_written(dst, d);
            }
            Op::LanesMask { dst, src } => {
                let s = self.vector(src, 0);
                let d = self.mask_to(dst);
                let b = VecSrc::Reg(s);
                let op = if self.is_wide(src) { VecTest::Ptestmq } else { VecTest::Ptestmd };
                let width = self.width(src);
                self.push(Inst::VecTest { op, width, dst: d, a: s, b, mask: Mask::K0 });
                self.mask_written(dst, d);
            }
            Op::Spread { dst, src } => {
                let s = self.general(src, 0);
                let d = self.vector_to(dst);
                self.spread(dst, d, s);
                self.vector_written(dst, d);
            }
            Op::DivideLanes { dst, a, b, signed } => self.divide_lanes(dst, a, b, signed),
            Op::LoadInt { dst, addr, wide } => {
                let m = self.addr(addr);
                let d = self.general_to(dst);
                self.push(match wide {
                    true => Inst::load(d, m),
                    false => {
                        Inst::LoadExtend { extend: Extend::Sx32, size: Size::Q64, dst: d, src: Rm::Mem(m) }
                    }
                });
                self.general_written(dst, d);
            }
            Op::Slot { dst, table, slot } => {
                let t = self.general(table, 0);
                let d = self.general_to(dst);
                self.push(Inst::load(d, Mem::base(t).offset(8 * i64::from(slot))));
                self.general_written(dst, d);
            }
            Op::Imm { dst, imm } => {
                let d = self.general_to(dst);
                self.push(Inst::MovImm { dst: d, imm: imm as u64 });
                self.general_written(dst, d);
            }
            Op::Mov { dst, src } => {
                if self.loc(dst) == self.loc(src) {
                    return;
                }
                let s = self.general(src, 0);
                match self.loc(dst) {
                    Loc::Reg(d) => self.push(Inst::mov(Gpr(d), s)),
                    _ => self.general_written(dst, s),
                }
            }
            Op::Two { op, dst, src } => self.two(op, dst, src),
            Op::Lea { dst, base, index, disp } => {
                let b = self.general(base, 0);
                let mut m = Mem::base(b).offset(i64::from(disp));
                if let Some((i, scale)) = index {
                    let i = self.general(i, 1);
                    m = m.index(i, Scale::of(usize::from(scale)).unwrap_or(Scale::S1));
                }
                let d = self.general_to(dst);
                self.push(Inst::Lea { dst: d, src: m });
                self.general_written(dst, d);
            }
            Op::MulImm { dst, src, imm } => {
                let s = self.general(src, 0);
                let d = self.general_to(dst);
                if imm > 0 && imm & (imm - 1) == 0 {
                    if s != d {
                        self.push(Inst::mov(d, s));
                    }
                    if imm > 1 {
                        let count = crate::asm::Count::Imm(imm.trailing_zeros() as u8);
                        self.push(Inst::Shift { op: Shift::Shl, size: Size::Q64, dst: d, count });
                    }
                } else {
                    self.push(Inst::ImulImm { size: Size::Q64, dst: d, src: Rm::Gpr(s), imm });
                }
                self.general_written(dst, d);
            }
            Op::Divide { dst, src, by, remainder, negative } => {
                self.divide(dst, src, by, remainder, negative)
            }
            Op::Within { dst, src, end } => {
                let end = self.gen_src(end, 1);
                let s = self.general(src, 0);
                self.push(Inst::alu(Alu::Cmp, s, end));
                let d = self.general_to(dst);
                self.push(Inst::alu(Alu::Sbb, d, d));
                self.general_written(dst, d);
            }
            Op::Bmi { op, dst, src, count } => {
                let s = self.general(src, 0);
                let count = self.general(count, 1);
                let d = self.general_to(dst);
                self.push(Inst::Bmi { op, size: Size::Q64, dst: d, src: Rm::Gpr(s), count });
                self.general_written(dst, d);
            }
            Op::Prefetch { addr, hint } => {
                let src = self.addr(addr);
                self.push(Inst::Prefetch { hint, src });
            }
        }
    }
}
