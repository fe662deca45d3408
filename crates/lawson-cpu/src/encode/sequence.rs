//! Operations that are several instructions: they work on fixed registers, which are saved on the stack around them.

use super::{Encoder, SAVE, VECTORS, stack};
use crate::asm::{
    Alu, Base, BitCount, Cond, Count, Extend, Gather, Gpr, GprFromVec, GprSrc, Inst, Level, Mask, MaskOp,
    MaskSize, Masking, Mem, MemSize, Plain, RegImm, Rm, Scale, Scatter, Shift, Size, Unary, Vec2, Vec3,
    VecSrc, VecStore, Vreg, Vsib,
};
use crate::code::{Addr, Class, Gen, V};

/// The mask register of gathers and scatters.
const TAKEN: Mask = Mask(7);

/// A lane of a vector on the stack, by the register that holds its number.
fn lane_of(vector: i64, lane: Gpr) -> Mem {
    stack(vector).index(lane, Scale::S4)
}

fn size_of(bytes: u8) -> MemSize {
    match bytes {
        1 => MemSize::B8,
        2 => MemSize::W16,
        4 => MemSize::D32,
        _ => MemSize::Q64,
    }
}

impl Encoder<'_> {
    /// The low one or two bytes of the first lane, through a saved register.
    pub(super) fn store_small(&mut self, to: Mem, value: Vreg, bytes: u8) {
        let m = to;
        // The address may use any register: take one that it does not.
        let used: Vec<Gpr> =
            [if let Base::Gpr(b) = m.base { Some(b) } else { None }, m.index.map(|(i, _)| i)]
                .into_iter()
                .flatten()
                .collect();
        let Some(r) = [Gpr::RAX, Gpr::RCX, Gpr::RDX].into_iter().find(|r| !used.contains(r)) else { return };
        self.push(Inst::store(stack(SAVE[0]), r));
        self.push(Inst::GprFromVec { op: GprFromVec::Movd, dst: r, src: value });
        self.push(Inst::Store { size: size_of(bytes), dst: m, src: r });
        self.push(Inst::load(r, stack(SAVE[0])));
    }

    pub(super) fn gather(&mut self, dst: V, base: Addr, index: V, mask: Option<V>) {
        if self.code.level == Level::Avx2 {
            return self.gather_each(dst, base, index, mask);
        }
        let (at, disp, restore) = self.one_base(base);
        let index = self.vector(index, 0);
        // The instruction must not write what it reads: the index outlives the operation.
        let target = self.vector_to(dst);
        let live = self.take_mask(mask);
        let width = self.width(dst);
        self.push(Inst::vec3(Vec3::Pxord, width, target, target, target));
        let (op, scale) = match self.is_wide(dst) {
            true => (Gather::Gatherdpd, Scale::S8),
            false => (Gather::Gatherdps, Scale::S4),
        };
        let from = Vsib { base: at, index, scale, disp };
        self.push(Inst::Gather { op, width, dst: target, src: from, mask: live });
        self.give_mask_back();
        self.restore(restore);
        self.vector_written(dst, target);
    }

    pub(super) fn scatter(&mut self, base: Addr, index: V, src: V, mask: Option<V>) {
        if self.code.level == Level::Avx2 {
            let bytes = self.lane(src) as u8;
            return self.scatter_small(bytes, base, index, src, mask);
        }
        let (at, disp, restore) = self.one_base(base);
        let index = self.vector(index, 0);
        let s = self.vector(src, 1);
        let live = self.take_mask(mask);
        let (op, scale) = match self.is_wide(src) {
            true => (Scatter::Scatterdpd, Scale::S8),
            false => (Scatter::Scatterdps, Scale::S4),
        };
        let dst = Vsib { base: at, index, scale, disp };
        self.push(Inst::Scatter { op, width: self.width(src), dst, src: s, mask: live });
        self.give_mask_back();
        self.restore(restore);
    }

    /// Lanes outside the mask are 0 with masks of AVX-512, and anything without.
    pub(super) fn gather_small(&mut self, extend: Extend, dst: V, base: Addr, index: V, mask: Option<V>) {
        let bytes = if matches!(extend, Extend::Zx8 | Extend::Sx8) { 1 } else { 2 };
        self.each_lane(base, index, mask, bytes, |e, lane, at, element| {
            e.push(Inst::LoadExtend { extend, size: Size::D32, dst: at, src: Rm::Mem(element) });
            e.push(Inst::Store { size: MemSize::D32, dst: lane_of(VECTORS[0], lane), src: at });
        });
        let masking = match mask {
            Some(m) if self.code.level == Level::Avx512 => Masking::zero(self.mask(m, 1)),
            _ => Masking::NONE,
        };
        let target = self.vector_to(dst);
        let src = VecSrc::Mem(stack(VECTORS[0]));
        self.push(Inst::Vec2 { op: Vec2::Movups, width: self.width(dst), dst: target, src, masking });
        self.vector_written(dst, target);
    }

    /// Whole lanes, one after another.
    fn gather_each(&mut self, dst: V, base: Addr, index: V, mask: Option<V>) {
        let wide = self.is_wide(dst);
        let bytes = self.lane(dst) as u8;
        self.each_lane(base, index, mask, bytes, |e, lane, at, element| match wide {
            true => {
                e.push(Inst::load(at, element));
                e.push(Inst::store(stack(VECTORS[1]).index(lane, Scale::S8), at));
            }
            false => {
                e.push(Inst::Load { size: Size::D32, dst: at, src: element });
                e.push(Inst::Store { size: MemSize::D32, dst: lane_of(VECTORS[0], lane), src: at });
            }
        });
        let target = self.vector_to(dst);
        let from = stack(VECTORS[usize::from(wide)]);
        self.push(Inst::vec2(Vec2::Movups, self.width(dst), target, from));
        self.vector_written(dst, target);
    }

    pub(super) fn scatter_small(&mut self, bytes: u8, base: Addr, index: V, src: V, mask: Option<V>) {
        let (src, width) = (self.vector(src, 1), self.width(src));
        self.push(Inst::vec_store(VecStore::Movups, width, stack(VECTORS[1]), src));
        self.each_lane(base, index, mask, bytes, |e, lane, _, element| {
            if bytes == 8 {
                e.push(Inst::load(lane, stack(VECTORS[1]).index(lane, Scale::S8)));
            } else {
                e.push(Inst::Load { size: Size::D32, dst: lane, src: lane_of(VECTORS[1], lane) });
            }
            e.push(Inst::Store { size: size_of(bytes), dst: element, src: lane });
        });
    }

    /// Elements of one or two bytes have neither gathers nor scatters, nor have others without AVX-512: this goes from lane to lane. `write` is given the registers of the lane's number and
    /// of its index, both of which it may change, and the address of its element; the indices are in the first vector.
    fn each_lane(
        &mut self,
        base: Addr,
        index: V,
        mask: Option<V>,
        bytes: u8,
        write: impl FnOnce(&mut Self, Gpr, Gpr, Mem),
    ) {
        let (index, width) = (self.vector(index, 0), self.width(index));
        self.push(Inst::vec_store(VecStore::Movups, width, stack(VECTORS[0]), index));
        let (b, i) = (self.general(base.base, 0), base.index.map(|i| self.general(i, 1)));
        // Three registers that the address does not use.
        let mut free = [Gpr::RAX, Gpr::RCX, Gpr::RDX, Gpr::RSI, Gpr::RDI].into_iter();
        let [bits, lane, at] = [(); 3].map(|()| free.find(|r| *r != b && Some(*r) != i).unwrap_or(Gpr::RAX));
        for (r, to) in [bits, lane, at].into_iter().zip(SAVE) {
            self.push(Inst::store(stack(to), r));
        }
        match mask {
            None => self.push(Inst::MovImm { dst: bits, imm: (1 << self.code.lanes) - 1 }),
            Some(mask) if self.code.level == Level::Avx2 => self.lane_bits(bits, mask, 1),
            Some(mask) => {
                let src = self.mask(mask, 1);
                let size = if self.code.lanes == 16 { MaskSize::W16 } else { MaskSize::B8 };
                self.push(Inst::GprFromMask { size, dst: bits, src });
            }
        }
        let (head, done) = (self.asm.label(), self.asm.label());
        self.push(Inst::Test { size: Size::Q64, a: bits, b: RegImm::Gpr(bits) });
        self.push(Inst::Jcc { cond: Cond::E, to: done });
        self.asm.bind(head);
        self.push(Inst::BitCount { op: BitCount::Tzcnt, size: Size::Q64, dst: lane, src: Rm::Gpr(bits) });
        let src = Rm::Mem(lane_of(VECTORS[0], lane));
        self.push(Inst::LoadExtend { extend: Extend::Sx32, size: Size::Q64, dst: at, src });
        match bytes {
            1 => {}
            2 => self.push(Inst::alu(Alu::Add, at, at)),
            _ => {
                let count = Count::Imm(bytes.trailing_zeros() as u8);
                self.push(Inst::Shift { op: Shift::Shl, size: Size::Q64, dst: at, count });
            }
        }
        if let Some(i) = i {
            self.push(Inst::alu(Alu::Add, at, i));
        }
        write(self, lane, at, Mem::base(b).index(at, Scale::S1).offset(i64::from(base.disp)));
        // Without its lowest bit.
        self.push(Inst::Lea { dst: at, src: Mem::base(bits).offset(-1) });
        self.push(Inst::alu(Alu::And, bits, at));
        self.push(Inst::Jcc { cond: Cond::Ne, to: head });
        self.asm.bind(done);
        for (r, from) in [bits, lane, at].into_iter().zip(SAVE) {
            self.push(Inst::load(r, stack(from)));
        }
    }

    /// Integers of 64 bits have no vector division: this goes from lane to lane.
    pub(super) fn divide_lanes(&mut self, dst: V, a: V, b: V, signed: bool) {
        let width = self.width(dst);
        for (v, to) in [(a, VECTORS[0]), (b, VECTORS[1])] {
            let v = self.vector(v, 0);
            self.push(Inst::vec_store(VecStore::Movups, width, stack(to), v));
        }
        let [lane, rest, quotient] = [Gpr::RCX, Gpr::RDX, Gpr::RAX];
        for (r, to) in [lane, rest, quotient].into_iter().zip(SAVE) {
            self.push(Inst::store(stack(to), r));
        }
        let [dividend, divisor] = VECTORS.map(|v| stack(v).index(lane, Scale::S8));
        self.push(Inst::MovImm { dst: lane, imm: u64::from(self.code.lanes) });
        let (head, over) = (self.asm.label(), self.asm.label());
        self.asm.bind(head);
        self.push(Inst::alu(Alu::Sub, lane, 1));
        self.push(Inst::load(rest, divisor));
        self.push(Inst::load(quotient, dividend));
        // By 0 it is 0; by -1 the machine refuses the least integer, whose negation is itself.
        let zero = self.asm.label();
        self.push(Inst::alu(Alu::Cmp, rest, 0));
        self.push(Inst::Jcc { cond: Cond::E, to: zero });
        if signed {
            let usual = self.asm.label();
            self.push(Inst::alu(Alu::Cmp, rest, -1));
            self.push(Inst::Jcc { cond: Cond::Ne, to: usual });
            self.push(Inst::Unary { op: Unary::Neg, size: Size::Q64, dst: Rm::Gpr(quotient) });
            self.push(Inst::Jmp { to: over });
            self.asm.bind(usual);
            self.push(Inst::Plain(Plain::Cqo));
            self.push(Inst::Unary { op: Unary::Idiv, size: Size::Q64, dst: Rm::Mem(divisor) });
        } else {
            self.push(Inst::MovImm { dst: rest, imm: 0 });
            self.push(Inst::Unary { op: Unary::Div, size: Size::Q64, dst: Rm::Mem(divisor) });
        }
        self.push(Inst::Jmp { to: over });
        self.asm.bind(zero);
        self.push(Inst::MovImm { dst: quotient, imm: 0 });
        self.asm.bind(over);
        self.push(Inst::store(dividend, quotient));
        self.push(Inst::alu(Alu::Cmp, lane, 0));
        self.push(Inst::Jcc { cond: Cond::Ne, to: head });
        for (r, from) in [lane, rest, quotient].into_iter().zip(SAVE) {
            self.push(Inst::load(r, stack(from)));
        }
        let target = self.vector_to(dst);
        self.push(Inst::vec2(Vec2::Movups, width, target, stack(VECTORS[0])));
        self.vector_written(dst, target);
    }

    /// Gathers and scatters clear their mask: it gets a register of its own, whose value is saved.
    fn take_mask(&mut self, mask: Option<V>) -> Mask {
        self.push(Inst::MaskStore { size: MaskSize::Q64, dst: stack(SAVE[1]), src: TAKEN });
        let size = MaskSize::W16;
        match mask {
            None => self.push(Inst::MaskOp { op: MaskOp::Xnor, size, dst: TAKEN, a: TAKEN, b: TAKEN }),
            Some(m) => {
                let m = self.mask(m, 1);
                if m != TAKEN {
                    self.push(Inst::MaskMov { size, dst: TAKEN, src: m });
                }
            }
        }
        TAKEN
    }

    fn give_mask_back(&mut self) {
        self.push(Inst::MaskLoad { size: MaskSize::Q64, dst: TAKEN, src: stack(SAVE[1]) });
    }

    /// An address as one register and a displacement; the last result says what to put back.
    fn one_base(&mut self, addr: Addr) -> (Gpr, i64, Option<(Gpr, Gpr)>) {
        let base = self.general(addr.base, 0);
        let index = addr.index.map(|i| self.general(i, 1));
        if let Some(i) = index {
            self.push(Inst::alu(Alu::Add, base, i));
        }
        (base, i64::from(addr.disp), index.map(|i| (base, i)))
    }

    fn restore(&mut self, what: Option<(Gpr, Gpr)>) {
        if let Some((base, i)) = what {
            self.push(Inst::alu(Alu::Sub, base, i));
        }
    }

    /// Division works on fixed registers: they are saved, and operands and result pass through the stack.
    pub(super) fn divide(&mut self, dst: V, src: V, by: Gen, remainder: bool, negative: bool) {
        let s = self.general(src, 0);
        match self.gen_src(by, 1) {
            GprSrc::Imm(imm) => self.push(Inst::StoreImm { size: MemSize::Q64, dst: stack(SAVE[2]), imm }),
            GprSrc::Gpr(r) => self.push(Inst::store(stack(SAVE[2]), r)),
            // A constant too large for an instruction is there already.
            GprSrc::Mem(m) if m == stack(SAVE[2]) => {}
            GprSrc::Mem(m) => {
                let r = Gpr(self.temporary(Class::General)[1]);
                self.push(Inst::load(r, m));
                self.push(Inst::store(stack(SAVE[2]), r));
            }
        }
        self.push(Inst::store(stack(SAVE[0]), Gpr::RAX));
        self.push(Inst::store(stack(SAVE[1]), Gpr::RDX));
        if s != Gpr::RAX {
            self.push(Inst::mov(Gpr::RAX, s));
        }
        self.push(Inst::Plain(Plain::Cqo));
        self.push(Inst::Unary { op: Unary::Idiv, size: Size::Q64, dst: Rm::Mem(stack(SAVE[2])) });
        if negative {
            let over = self.asm.label();
            self.push(Inst::Test { size: Size::Q64, a: Gpr::RDX, b: RegImm::Gpr(Gpr::RDX) });
            self.push(Inst::Jcc { cond: Cond::Ns, to: over });
            self.push(Inst::Unary { op: Unary::Dec, size: Size::Q64, dst: Rm::Gpr(Gpr::RAX) });
            self.push(Inst::alu(Alu::Add, Gpr::RDX, stack(SAVE[2])));
            self.asm.bind(over);
        }
        let result = if remainder { Gpr::RDX } else { Gpr::RAX };
        self.push(Inst::store(stack(SAVE[2]), result));
        self.push(Inst::load(Gpr::RAX, stack(SAVE[0])));
        self.push(Inst::load(Gpr::RDX, stack(SAVE[1])));
        let d = self.general_to(dst);
        self.push(Inst::load(d, stack(SAVE[2])));
        self.general_written(dst, d);
    }
}
