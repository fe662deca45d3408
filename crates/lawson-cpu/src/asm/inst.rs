//! One instruction, as data.
//!
//! An [`Inst`] is small and `Copy`; it prints as Intel-syntax text (`print.rs`) and encodes to bytes (`vector.rs`,
//! `scalar.rs`). Its fields are public, and the constructors below save typing where a form is common. Vector
//! instructions carry their operation as one of the enums of `vecop/`, general ones as the enums here.

use super::operand::{Gpr, GprSrc, Label, Mask, Masking, Mem, RegImm, Rm, VecDst, VecSrc, Vreg, Vsib, Width};
use super::vecop::{
    BlendVar, BroadcastGpr, CmpFloat, CmpInt, Gather, GprFromVec, LaneBits, MaskMovStore, MaskToVec, Scatter,
    Vec2, Vec2Imm, Vec3, Vec3Imm, VecFromGpr, VecShift, VecStore, VecStoreImm, VecTest, VecToMask,
};

/// The size of an integer operation. 32-bit results clear the upper half of their register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Size {
    D32,
    Q64,
}

/// The size of an integer in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum MemSize {
    B8,
    W16,
    D32,
    Q64,
}

/// Arithmetic of two operands, the first also the destination (`Cmp` only sets flags). Values are the machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Alu {
    Add = 0,
    Or = 1,
    Adc = 2,
    Sbb = 3,
    And = 4,
    Sub = 5,
    Xor = 6,
    Cmp = 7,
}

/// Arithmetic of one operand. `Mul`, `Imul`, `Div` and `Idiv` work on `rdx:rax`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Unary {
    Inc,
    Dec,
    Not,
    Neg,
    Mul,
    Imul,
    Div,
    Idiv,
}

/// Shifts and rotations. Values are the machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Shift {
    Rol = 0,
    Ror = 1,
    Shl = 4,
    Shr = 5,
    Sar = 7,
}

/// By how much a [`Shift`] shifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// A constant.
    Imm(u8),
    /// The low bits of `rcx`.
    Cl,
}

/// Three-operand shifts and `bzhi` (zero the bits from an index on): flags untouched by the shifts, count in any register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Bmi {
    Shlx,
    Shrx,
    Sarx,
    Bzhi,
}

/// Counts of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BitCount {
    Popcnt,
    Tzcnt,
    Lzcnt,
}

/// Loads or moves that widen: from 8, 16 or 32 bits, with zeros (`Zx`) or the sign (`Sx`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Extend {
    Zx8,
    Zx16,
    Sx8,
    Sx16,
    Sx32,
}

/// A condition on the flags. Values are the machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Cond {
    O,
    No,
    B,
    Ae,
    E,
    Ne,
    Be,
    A,
    S,
    Ns,
    P,
    Np,
    L,
    Ge,
    Le,
    G,
}

/// Where a prefetch brings a line to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// All levels.
    T0,
    /// From the second level on.
    T1,
    /// From the third level on.
    T2,
    /// Near, without staying.
    Nta,
    /// All levels, about to be written.
    Write,
}

/// Instructions without operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Plain {
    Ret,
    Cdq,
    Cqo,
    Mfence,
    Sfence,
    Lfence,
    Pause,
    Rdtsc,
    Rdtscp,
    Vzeroupper,
    Ud2,
    Int3,
}

/// How many bits of a mask register an instruction works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum MaskSize {
    B8,
    W16,
    D32,
    Q64,
}

/// Operations on two masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum MaskOp {
    And,
    Andn,
    Or,
    Xnor,
    Xor,
    Add,
}

/// Tests of two masks that set flags: `Kortest` of their or (Z: all zero, C: all one), `Ktest` of their and.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum MaskTest {
    Kortest,
    Ktest,
}

/// Shifts of masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum MaskShift {
    Left,
    Right,
}

/// How floats are compared. Values are the machine's; `Q` is quiet, `S` signals on a quiet NaN, `O` is false on a NaN and `U` true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[rustfmt::skip]
pub enum FloatPredicate {
    EqOq, LtOs, LeOs, UnordQ, NeqUq, NltUs, NleUs, OrdQ, EqUq, NgeUs, NgtUs, FalseOq, NeqOq, GeOs, GtOs, TrueUq,
    EqOs, LtOq, LeOq, UnordS, NeqUs, NltUq, NleUq, OrdS, EqUs, NgeUq, NgtUq, FalseOs, NeqOs, GeOq, GtOq, TrueUs,
}

/// How integers are compared. Values are the machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IntPredicate {
    Eq = 0,
    Lt = 1,
    Le = 2,
    Ne = 4,
    Ge = 5,
    Gt = 6,
}

/// An instruction. Operands stand in Intel's order, destination first; `width` is the operation's, and conversions
/// between sizes of element give the narrower side the narrower register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[rustfmt::skip]
pub enum Inst {
    Vec2 { op: Vec2, width: Width, dst: Vreg, src: VecSrc, masking: Masking },
    Vec2Imm { op: Vec2Imm, width: Width, dst: Vreg, src: VecSrc, imm: u8, masking: Masking },
    Vec3 { op: Vec3, width: Width, dst: Vreg, a: Vreg, b: VecSrc, masking: Masking },
    Vec3Imm { op: Vec3Imm, width: Width, dst: Vreg, a: Vreg, b: VecSrc, imm: u8, masking: Masking },
    VecShift { op: VecShift, width: Width, dst: Vreg, src: VecSrc, count: u8, masking: Masking },
    VecStore { op: VecStore, width: Width, dst: VecDst, src: Vreg, masking: Masking },
    VecStoreImm { op: VecStoreImm, width: Width, dst: VecDst, src: Vreg, imm: u8, masking: Masking },
    /// Lanes outside `mask` give 0.
    CmpFloat { op: CmpFloat, width: Width, dst: Mask, a: Vreg, b: VecSrc, predicate: FloatPredicate, mask: Mask },
    /// Lanes outside `mask` give 0.
    CmpInt { op: CmpInt, width: Width, dst: Mask, a: Vreg, b: VecSrc, predicate: IntPredicate, mask: Mask },
    /// Lanes outside `mask` give 0.
    VecTest { op: VecTest, width: Width, dst: Mask, a: Vreg, b: VecSrc, mask: Mask },
    /// Only the AVX2 level has it: lanes of all ones and zeros.
    CmpFloatVec { op: CmpFloat, width: Width, dst: Vreg, a: Vreg, b: VecSrc, predicate: FloatPredicate },
    /// Only the AVX2 level has it.
    BlendVar { op: BlendVar, width: Width, dst: Vreg, a: Vreg, b: VecSrc, select: Vreg },
    /// Only the AVX2 level has it.
    MaskMovStore { op: MaskMovStore, width: Width, dst: Mem, select: Vreg, src: Vreg },
    /// Clears `mask` as it goes; `dst` must not be the index. `width` is that of the wider of elements and indices.
    Gather { op: Gather, width: Width, dst: Vreg, src: Vsib, mask: Mask },
    /// Clears `mask` as it goes.
    Scatter { op: Scatter, width: Width, dst: Vsib, src: Vreg, mask: Mask },
    BroadcastGpr { op: BroadcastGpr, width: Width, dst: Vreg, src: Gpr, masking: Masking },
    MaskToVec { op: MaskToVec, width: Width, dst: Vreg, src: Mask },
    VecToMask { op: VecToMask, width: Width, dst: Mask, src: Vreg },
    VecFromGpr { op: VecFromGpr, dst: Vreg, src: Gpr },
    GprFromVec { op: GprFromVec, dst: Gpr, src: Vreg },
    LaneBits { op: LaneBits, width: Width, dst: Gpr, src: Vreg },

    MaskOp { op: MaskOp, size: MaskSize, dst: Mask, a: Mask, b: Mask },
    MaskNot { size: MaskSize, dst: Mask, src: Mask },
    MaskMov { size: MaskSize, dst: Mask, src: Mask },
    MaskLoad { size: MaskSize, dst: Mask, src: Mem },
    MaskStore { size: MaskSize, dst: Mem, src: Mask },
    MaskFromGpr { size: MaskSize, dst: Mask, src: Gpr },
    GprFromMask { size: MaskSize, dst: Gpr, src: Mask },
    MaskTest { op: MaskTest, size: MaskSize, a: Mask, b: Mask },
    MaskShift { op: MaskShift, size: MaskSize, dst: Mask, src: Mask, count: u8 },

    Mov { size: Size, dst: Gpr, src: Gpr },
    /// In the shortest encoding; flags stay as they are.
    MovImm { dst: Gpr, imm: u64 },
    Load { size: Size, dst: Gpr, src: Mem },
    LoadExtend { extend: Extend, size: Size, dst: Gpr, src: Rm },
    Store { size: MemSize, dst: Mem, src: Gpr },
    /// The constant is extended with its sign to 64 bits, cut to 8 and 16.
    StoreImm { size: MemSize, dst: Mem, imm: i32 },
    Lea { dst: Gpr, src: Mem },
    Alu { op: Alu, size: Size, dst: Gpr, src: GprSrc },
    AluMem { op: Alu, size: Size, dst: Mem, src: RegImm },
    Test { size: Size, a: Gpr, b: RegImm },
    Unary { op: Unary, size: Size, dst: Rm },
    Imul { size: Size, dst: Gpr, src: Rm },
    ImulImm { size: Size, dst: Gpr, src: Rm, imm: i32 },
    Shift { op: Shift, size: Size, dst: Gpr, count: Count },
    Bmi { op: Bmi, size: Size, dst: Gpr, src: Rm, count: Gpr },
    BitCount { op: BitCount, size: Size, dst: Gpr, src: Rm },
    /// Without the lowest bit that is set; sets the flags by the result.
    Blsr { size: Size, dst: Gpr, src: Rm },
    Cmov { cond: Cond, size: Size, dst: Gpr, src: Rm },
    /// Writes the low byte only.
    Set { cond: Cond, dst: Gpr },
    Jcc { cond: Cond, to: Label },
    Jmp { to: Label },
    JmpReg { to: Gpr },
    Call { to: Gpr },
    Push { src: Gpr },
    Pop { dst: Gpr },
    Prefetch { hint: Hint, src: Mem },
    Plain(Plain),
    /// One instruction of 1 to 9 bytes that does nothing.
    Nop { bytes: u8 },
}

impl Inst {
    /// A [`Inst::Vec2`] that writes every lane.
    pub fn vec2(op: Vec2, width: Width, dst: Vreg, src: impl Into<VecSrc>) -> Inst {
        Inst::Vec2 { op, width, dst, src: src.into(), masking: Masking::NONE }
    }

    /// A [`Inst::Vec2Imm`] that writes every lane.
    pub fn vec2_imm(op: Vec2Imm, width: Width, dst: Vreg, src: impl Into<VecSrc>, imm: u8) -> Inst {
        Inst::Vec2Imm { op, width, dst, src: src.into(), imm, masking: Masking::NONE }
    }

    /// A [`Inst::Vec3`] that writes every lane.
    pub fn vec3(op: Vec3, width: Width, dst: Vreg, a: Vreg, b: impl Into<VecSrc>) -> Inst {
        Inst::Vec3 { op, width, dst, a, b: b.into(), masking: Masking::NONE }
    }

    /// A [`Inst::Vec3Imm`] that writes every lane.
    pub fn vec3_imm(op: Vec3Imm, width: Width, dst: Vreg, a: Vreg, b: impl Into<VecSrc>, imm: u8) -> Inst {
        Inst::Vec3Imm { op, width, dst, a, b: b.into(), imm, masking: Masking::NONE }
    }

    /// A [`Inst::VecShift`] that writes every lane.
    pub fn vec_shift(op: VecShift, width: Width, dst: Vreg, src: impl Into<VecSrc>, count: u8) -> Inst {
        Inst::VecShift { op, width, dst, src: src.into(), count, masking: Masking::NONE }
    }

    /// A [`Inst::VecStore`] that writes every lane.
    pub fn vec_store(op: VecStore, width: Width, dst: impl Into<VecDst>, src: Vreg) -> Inst {
        Inst::VecStore { op, width, dst: dst.into(), src, masking: Masking::NONE }
    }

    /// A [`Inst::VecStoreImm`] that writes every lane.
    pub fn vec_store_imm(op: VecStoreImm, width: Width, dst: impl Into<VecDst>, src: Vreg, imm: u8) -> Inst {
        Inst::VecStoreImm { op, width, dst: dst.into(), src, imm, masking: Masking::NONE }
    }

    /// 64-bit [`Inst::Alu`].
    pub fn alu(op: Alu, dst: Gpr, src: impl Into<GprSrc>) -> Inst {
        Inst::Alu { op, size: Size::Q64, dst, src: src.into() }
    }

    /// A 64-bit move between general registers.
    pub fn mov(dst: Gpr, src: Gpr) -> Inst {
        Inst::Mov { size: Size::Q64, dst, src }
    }

    /// A 64-bit load.
    pub fn load(dst: Gpr, src: Mem) -> Inst {
        Inst::Load { size: Size::Q64, dst, src }
    }

    /// A 64-bit store.
    pub fn store(dst: Mem, src: Gpr) -> Inst {
        Inst::Store { size: MemSize::Q64, dst, src }
    }

    /// Return to the caller.
    pub const RET: Inst = Inst::Plain(Plain::Ret);
}
