//! Random operands, and every shape of instruction filled with them.

use lawson_cpu::asm::*;

/// A small generator (splitmix64): the same instructions on every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    pub fn imm8(&mut self) -> u8 {
        self.next() as u8
    }

    pub fn imm32(&mut self) -> i32 {
        let wide = self.next() as i32;
        self.one(&[0, 1, -1, 8, 127, 128, -128, -129, 4096, wide, i32::MIN, i32::MAX])
    }

    pub fn gpr(&mut self) -> Gpr {
        Gpr(self.below(16) as u8)
    }

    pub fn mask(&mut self) -> Mask {
        Mask(self.below(8) as u8)
    }

    pub fn scale(&mut self) -> Scale {
        self.one(&[Scale::S1, Scale::S2, Scale::S4, Scale::S8])
    }

    /// Displacements around the bounds of compressed ones at every unit.
    fn disp(&mut self) -> i64 {
        let unit = 1i64 << self.below(7);
        let count = self.one(&[0, 1, -1, 3, 127, 128, -128, -129]);
        let wide = self.next() as i32;
        self.one(&[0, unit * count, unit * count, unit * count + 1, wide.into()])
    }

    pub fn mem(&mut self) -> Mem {
        let base = if self.below(8) == 0 { Base::None } else { Base::Gpr(self.gpr()) };
        let index = match self.below(2) {
            0 => None,
            _ => Some((self.gpr(), self.scale())).filter(|(index, _)| *index != Gpr::RSP),
        };
        Mem { base, index, disp: self.disp() }
    }

    pub fn rm(&mut self) -> Rm {
        if self.below(2) == 0 { Rm::Gpr(self.gpr()) } else { Rm::Mem(self.mem()) }
    }

    fn vreg(&mut self, level: Level) -> Vreg {
        match level {
            Level::Avx512 => Vreg(self.below(32) as u8),
            Level::Avx2 => Vreg(self.below(16) as u8),
        }
    }

    fn vsib(&mut self) -> Vsib {
        let (base, scale, disp) = (self.gpr(), self.scale(), self.disp());
        Vsib { base, index: self.vreg(Level::Avx512), scale, disp }
    }

    fn src(&mut self, level: Level) -> VecSrc {
        match self.below(if level == Level::Avx512 { 3 } else { 2 }) {
            0 => VecSrc::Reg(self.vreg(level)),
            1 => VecSrc::Mem(self.mem()),
            _ => VecSrc::Broadcast(self.mem()),
        }
    }

    fn dst(&mut self, level: Level) -> VecDst {
        if self.below(2) == 0 { VecDst::Reg(self.vreg(level)) } else { VecDst::Mem(self.mem()) }
    }

    fn masking(&mut self, level: Level) -> Masking {
        let mask = Mask(1 + self.below(7) as u8);
        match self.below(if level == Level::Avx512 { 3 } else { 1 }) {
            0 => Masking::NONE,
            1 => Masking::keep(mask),
            _ => Masking::zero(mask),
        }
    }

    fn size(&mut self) -> Size {
        self.one(&[Size::D32, Size::Q64])
    }

    fn mem_size(&mut self) -> MemSize {
        self.one(&[MemSize::B8, MemSize::W16, MemSize::D32, MemSize::Q64])
    }
}

pub const WIDTHS: [Width; 3] = [Width::X128, Width::Y256, Width::Z512];

const FLOAT_PREDICATES: [FloatPredicate; 32] = {
    use FloatPredicate::*;
    [
        EqOq, LtOs, LeOs, UnordQ, NeqUq, NltUs, NleUs, OrdQ, EqUq, NgeUs, NgtUs, FalseOq, NeqOq, GeOs, GtOs,
        TrueUq, EqOs, LtOq, LeOq, UnordS, NeqUs, NltUq, NleUq, OrdS, EqUs, NgeUq, NgtUq, FalseOs, NeqOs,
        GeOq, GtOq, TrueUs,
    ]
};

const INT_PREDICATES: [IntPredicate; 6] = [
    IntPredicate::Eq,
    IntPredicate::Lt,
    IntPredicate::Le,
    IntPredicate::Ne,
    IntPredicate::Ge,
    IntPredicate::Gt,
];

const CONDS: [Cond; 16] = {
    use Cond::*;
    [O, No, B, Ae, E, Ne, Be, A, S, Ns, P, Np, L, Ge, Le, G]
};

const MASK_SIZES: [MaskSize; 4] = [MaskSize::B8, MaskSize::W16, MaskSize::D32, MaskSize::Q64];

/// A way to fill one operation's operands.
pub type Fill = Box<dyn Fn(&mut Random, Width, Level) -> Inst>;

/// Every vector operation under a name of its own.
pub fn vector_forms() -> Vec<(String, Fill)> {
    let mut forms: Vec<(String, Fill)> = Vec::new();
    macro_rules! each {
        ($enum:ident, |$op:ident, $r:ident, $width:ident, $level:ident| $inst:expr) => {
            for &$op in $enum::ALL {
                let fill: Fill = Box::new(move |$r, $width, $level| $inst);
                forms.push((format!("{}::{:?}", stringify!($enum), $op), fill));
            }
        };
    }
    each!(Vec2, |op, r, width, level| {
        Inst::Vec2 { op, width, dst: r.vreg(level), src: r.src(level), masking: r.masking(level) }
    });
    each!(Vec2Imm, |op, r, width, level| {
        let (dst, src, imm, masking) = (r.vreg(level), r.src(level), r.imm8(), r.masking(level));
        Inst::Vec2Imm { op, width, dst, src, imm, masking }
    });
    each!(Vec3, |op, r, width, level| {
        let (dst, a, b, masking) = (r.vreg(level), r.vreg(level), r.src(level), r.masking(level));
        Inst::Vec3 { op, width, dst, a, b, masking }
    });
    each!(Vec3Imm, |op, r, width, level| {
        let (dst, a, b, masking) = (r.vreg(level), r.vreg(level), r.src(level), r.masking(level));
        Inst::Vec3Imm { op, width, dst, a, b, imm: r.imm8(), masking }
    });
    each!(VecShift, |op, r, width, level| {
        let (dst, src, count, masking) = (r.vreg(level), r.src(level), r.imm8(), r.masking(level));
        Inst::VecShift { op, width, dst, src, count, masking }
    });
    each!(VecStore, |op, r, width, level| {
        Inst::VecStore { op, width, dst: r.dst(level), src: r.vreg(level), masking: r.masking(level) }
    });
    each!(VecStoreImm, |op, r, width, level| {
        let (dst, src, imm, masking) = (r.dst(level), r.vreg(level), r.imm8(), r.masking(level));
        Inst::VecStoreImm { op, width, dst, src, imm, masking }
    });
    each!(CmpFloat, |op, r, width, level| {
        let (dst, a, b, predicate) = (r.mask(), r.vreg(level), r.src(level), r.one(&FLOAT_PREDICATES));
        Inst::CmpFloat { op, width, dst, a, b, predicate, mask: r.mask() }
    });
    for &op in CmpFloat::ALL {
        let fill: Fill = Box::new(move |r, width, level| {
            let (dst, a, b, predicate) =
                (r.vreg(level), r.vreg(level), r.src(level), r.one(&FLOAT_PREDICATES));
            Inst::CmpFloatVec { op, width, dst, a, b, predicate }
        });
        forms.push((format!("CmpFloatVec::{op:?}"), fill));
    }
    each!(CmpInt, |op, r, width, level| {
        let (dst, a, b, predicate) = (r.mask(), r.vreg(level), r.src(level), r.one(&INT_PREDICATES));
        Inst::CmpInt { op, width, dst, a, b, predicate, mask: r.mask() }
    });
    each!(VecTest, |op, r, width, level| {
        Inst::VecTest { op, width, dst: r.mask(), a: r.vreg(level), b: r.src(level), mask: r.mask() }
    });
    each!(BlendVar, |op, r, width, level| {
        let (dst, a, b, select) = (r.vreg(level), r.vreg(level), r.src(level), r.vreg(Level::Avx2));
        Inst::BlendVar { op, width, dst, a, b, select }
    });
    each!(MaskMovStore, |op, r, width, level| {
        Inst::MaskMovStore { op, width, dst: r.mem(), select: r.vreg(level), src: r.vreg(level) }
    });
    each!(Gather, |op, r, width, level| {
        Inst::Gather { op, width, dst: r.vreg(level), src: r.vsib(), mask: r.mask() }
    });
    each!(Scatter, |op, r, width, level| {
        Inst::Scatter { op, width, dst: r.vsib(), src: r.vreg(level), mask: r.mask() }
    });
    each!(BroadcastGpr, |op, r, width, level| {
        Inst::BroadcastGpr { op, width, dst: r.vreg(level), src: r.gpr(), masking: r.masking(level) }
    });
    each!(MaskToVec, |op, r, width, level| Inst::MaskToVec { op, width, dst: r.vreg(level), src: r.mask() });
    each!(VecToMask, |op, r, width, level| Inst::VecToMask { op, width, dst: r.mask(), src: r.vreg(level) });
    each!(LaneBits, |op, r, width, level| Inst::LaneBits { op, width, dst: r.gpr(), src: r.vreg(level) });
    each!(VecFromGpr, |op, r, _width, level| Inst::VecFromGpr { op, dst: r.vreg(level), src: r.gpr() });
    each!(GprFromVec, |op, r, _width, level| Inst::GprFromVec { op, dst: r.gpr(), src: r.vreg(level) });
    forms
}

/// One random instruction of every shape on masks and general registers, jumps and no-ops aside.
pub fn general(r: &mut Random) -> Vec<Inst> {
    let mut all = Vec::new();
    for op in [MaskOp::And, MaskOp::Andn, MaskOp::Or, MaskOp::Xnor, MaskOp::Xor, MaskOp::Add] {
        all.push(Inst::MaskOp { op, size: r.one(&MASK_SIZES), dst: r.mask(), a: r.mask(), b: r.mask() });
    }
    all.push(Inst::MaskNot { size: r.one(&MASK_SIZES), dst: r.mask(), src: r.mask() });
    all.push(Inst::MaskMov { size: r.one(&MASK_SIZES), dst: r.mask(), src: r.mask() });
    all.push(Inst::MaskLoad { size: r.one(&MASK_SIZES), dst: r.mask(), src: r.mem() });
    all.push(Inst::MaskStore { size: r.one(&MASK_SIZES), dst: r.mem(), src: r.mask() });
    all.push(Inst::MaskFromGpr { size: r.one(&MASK_SIZES), dst: r.mask(), src: r.gpr() });
    all.push(Inst::GprFromMask { size: r.one(&MASK_SIZES), dst: r.gpr(), src: r.mask() });
    for op in [MaskTest::Kortest, MaskTest::Ktest] {
        all.push(Inst::MaskTest { op, size: r.one(&MASK_SIZES), a: r.mask(), b: r.mask() });
    }
    for op in [MaskShift::Left, MaskShift::Right] {
        let (size, dst, src) = (r.one(&MASK_SIZES), r.mask(), r.mask());
        all.push(Inst::MaskShift { op, size, dst, src, count: r.imm8() });
    }
    all.push(Inst::Mov { size: r.size(), dst: r.gpr(), src: r.gpr() });
    let imm = r.next() >> r.below(64);
    all.push(Inst::MovImm { dst: r.gpr(), imm });
    all.push(Inst::MovImm { dst: r.gpr(), imm: i64::from(r.imm32()) as u64 });
    all.push(Inst::Load { size: r.size(), dst: r.gpr(), src: r.mem() });
    for extend in [Extend::Zx8, Extend::Zx16, Extend::Sx8, Extend::Sx16, Extend::Sx32] {
        all.push(Inst::LoadExtend { extend, size: r.size(), dst: r.gpr(), src: r.rm() });
    }
    all.push(Inst::Store { size: r.mem_size(), dst: r.mem(), src: r.gpr() });
    all.push(Inst::StoreImm { size: r.mem_size(), dst: r.mem(), imm: r.imm32() });
    all.push(Inst::Lea { dst: r.gpr(), src: r.mem() });
    for op in [Alu::Add, Alu::Or, Alu::Adc, Alu::Sbb, Alu::And, Alu::Sub, Alu::Xor, Alu::Cmp] {
        let src = match r.below(3) {
            0 => GprSrc::Gpr(r.gpr()),
            1 => GprSrc::Mem(r.mem()),
            _ => GprSrc::Imm(r.imm32()),
        };
        all.push(Inst::Alu { op, size: r.size(), dst: r.gpr(), src });
        let src = if r.below(2) == 0 { RegImm::Gpr(r.gpr()) } else { RegImm::Imm(r.imm32()) };
        all.push(Inst::AluMem { op, size: r.size(), dst: r.mem(), src });
    }
    all.push(Inst::Test { size: r.size(), a: r.gpr(), b: RegImm::Gpr(r.gpr()) });
    all.push(Inst::Test { size: r.size(), a: r.gpr(), b: RegImm::Imm(r.imm32()) });
    for op in
        [Unary::Inc, Unary::Dec, Unary::Not, Unary::Neg, Unary::Mul, Unary::Imul, Unary::Div, Unary::Idiv]
    {
        all.push(Inst::Unary { op, size: r.size(), dst: r.rm() });
    }
    all.push(Inst::Imul { size: r.size(), dst: r.gpr(), src: r.rm() });
    // The oracle writes one register where source and destination are the same.
    let (dst, src) = (r.gpr(), r.rm());
    let src = if src == Rm::Gpr(dst) { Rm::Gpr(Gpr(dst.0 ^ 1)) } else { src };
    all.push(Inst::ImulImm { size: r.size(), dst, src, imm: r.imm32() });
    for op in [Shift::Rol, Shift::Ror, Shift::Shl, Shift::Shr, Shift::Sar] {
        let count = r.one(&[Count::Cl, Count::Imm(1), Count::Imm(5), Count::Imm(63)]);
        all.push(Inst::Shift { op, size: r.size(), dst: r.gpr(), count });
    }
    for op in [Bmi::Shlx, Bmi::Shrx, Bmi::Sarx, Bmi::Bzhi] {
        all.push(Inst::Bmi { op, size: r.size(), dst: r.gpr(), src: r.rm(), count: r.gpr() });
    }
    all.push(Inst::Blsr { size: r.size(), dst: r.gpr(), src: r.rm() });
    for op in [BitCount::Popcnt, BitCount::Tzcnt, BitCount::Lzcnt] {
        all.push(Inst::BitCount { op, size: r.size(), dst: r.gpr(), src: r.rm() });
    }
    for cond in CONDS {
        all.push(Inst::Cmov { cond, size: r.size(), dst: r.gpr(), src: r.rm() });
        all.push(Inst::Set { cond, dst: r.gpr() });
    }
    all.extend([Inst::JmpReg { to: r.gpr() }, Inst::Call { to: r.gpr() }]);
    all.extend([Inst::Push { src: r.gpr() }, Inst::Pop { dst: r.gpr() }]);
    for hint in [Hint::T0, Hint::T1, Hint::T2, Hint::Nta, Hint::Write] {
        all.push(Inst::Prefetch { hint, src: r.mem() });
    }
    use Plain::*;
    for plain in [Ret, Cdq, Cqo, Mfence, Sfence, Lfence, Pause, Rdtsc, Rdtscp, Vzeroupper, Ud2, Int3] {
        all.push(Inst::Plain(plain));
    }
    all
}
