//! What an instruction is applied to: registers, masks, memory, labels and constants.
//!
//! Numbers of registers are plain, so that an allocator can count them; a number that no register has is an
//! error of the instruction that carries it ([`super::Problem::Register`]). Read `inst.rs` next.

use std::fmt;

/// A general register, 0 to 15 in the machine's order (`rax` is 0, `rsp` is 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gpr(pub u8);

#[allow(missing_docs)]
impl Gpr {
    pub const RAX: Gpr = Gpr(0);
    pub const RCX: Gpr = Gpr(1);
    pub const RDX: Gpr = Gpr(2);
    pub const RBX: Gpr = Gpr(3);
    pub const RSP: Gpr = Gpr(4);
    pub const RBP: Gpr = Gpr(5);
    pub const RSI: Gpr = Gpr(6);
    pub const RDI: Gpr = Gpr(7);
    pub const R8: Gpr = Gpr(8);
    pub const R9: Gpr = Gpr(9);
    pub const R10: Gpr = Gpr(10);
    pub const R11: Gpr = Gpr(11);
    pub const R12: Gpr = Gpr(12);
    pub const R13: Gpr = Gpr(13);
    pub const R14: Gpr = Gpr(14);
    pub const R15: Gpr = Gpr(15);
}

/// A vector register, 0 to 31 (0 to 15 below AVX-512). How much of it is used is the instruction's [`Width`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vreg(pub u8);

/// A mask register, `k0` to `k7`. As a write mask, `k0` means "every lane".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mask(pub u8);

impl Mask {
    /// `k0`: as a write mask, no masking.
    pub const K0: Mask = Mask(0);
}

/// How wide a vector instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// xmm, 16 bytes.
    X128,
    /// ymm, 32 bytes.
    Y256,
    /// zmm, 64 bytes.
    Z512,
}

impl Width {
    /// The bytes of one register.
    pub const fn bytes(self) -> usize {
        16 << self as usize
    }

    /// The lanes of elements of `element` bytes; `element` must not be 0.
    pub const fn lanes(self, element: usize) -> usize {
        self.bytes() / element
    }

    /// The narrowest register that holds `bytes`.
    pub(crate) const fn holding(bytes: usize) -> Width {
        match bytes {
            0..=16 => Width::X128,
            17..=32 => Width::Y256,
            _ => Width::Z512,
        }
    }
}

/// Which lanes an instruction writes, and what becomes of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Masking {
    /// The write mask; `k0` writes every lane.
    pub mask: Mask,
    /// What the lanes outside the mask become.
    pub rest: Rest,
}

/// What lanes outside a write mask become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rest {
    /// They keep what the destination held.
    Keep,
    /// They become zero: `{z}`.
    Zero,
}

impl Masking {
    /// Every lane is written.
    pub const NONE: Masking = Masking { mask: Mask::K0, rest: Rest::Keep };

    /// Lanes outside `mask` keep their value.
    pub const fn keep(mask: Mask) -> Masking {
        Masking { mask, rest: Rest::Keep }
    }

    /// Lanes outside `mask` become zero.
    pub const fn zero(mask: Mask) -> Masking {
        Masking { mask, rest: Rest::Zero }
    }
}

/// The factor of an index register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Scale {
    S1,
    S2,
    S4,
    S8,
}

impl Scale {
    /// The scale that multiplies by `factor`, if the machine has it.
    pub const fn of(factor: usize) -> Option<Scale> {
        match factor {
            1 => Some(Scale::S1),
            2 => Some(Scale::S2),
            4 => Some(Scale::S4),
            8 => Some(Scale::S8),
            _ => None,
        }
    }

    /// 1, 2, 4 or 8.
    pub const fn factor(self) -> usize {
        1 << self as usize
    }
}

/// A place in the code, made by [`super::Assembler::label`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub(super) u32);

/// A constant in the pool after the code, made by [`super::Assembler::constant`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Const {
    pub(super) size: ConstSize,
    pub(super) index: u32,
}

/// The sizes a pooled constant comes in; each is aligned to its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum ConstSize {
    B4,
    B8,
    B64,
}

/// What an address is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// Zero: the address is absolute, or only indexed.
    None,
    /// A register.
    Gpr(Gpr),
    /// A pooled constant, addressed relative to the instruction pointer. Takes no index.
    Const(Const),
    /// A place in the code, addressed relative to the instruction pointer. Takes no index.
    Label(Label),
}

/// A memory operand: `[base + index * scale + disp]`.
///
/// The displacement is wider than the machine's 32 bits, so that arithmetic on it cannot wrap unseen: one that does not
/// fit is an error when the instruction is pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mem {
    /// What the address is counted from.
    pub base: Base,
    /// A scaled register added to it; `rsp` cannot be one.
    pub index: Option<(Gpr, Scale)>,
    /// Bytes added to it.
    pub disp: i64,
}

impl Mem {
    /// `[base]`.
    pub const fn base(base: Gpr) -> Mem {
        Mem { base: Base::Gpr(base), index: None, disp: 0 }
    }

    /// A pooled constant.
    pub const fn constant(constant: Const) -> Mem {
        Mem { base: Base::Const(constant), index: None, disp: 0 }
    }

    /// The bytes at a label.
    pub const fn label(label: Label) -> Mem {
        Mem { base: Base::Label(label), index: None, disp: 0 }
    }

    /// This address with an index register, replacing any it had.
    pub const fn index(self, index: Gpr, scale: Scale) -> Mem {
        Mem { index: Some((index, scale)), ..self }
    }

    /// This address, `bytes` further on.
    pub const fn offset(self, bytes: i64) -> Mem {
        Mem { disp: self.disp.saturating_add(bytes), ..self }
    }

    /// The same address in its shortest form: a lone unscaled index is a base.
    pub(super) fn shortest(self) -> Mem {
        match self {
            Mem { base: Base::None, index: Some((index, Scale::S1)), disp } => {
                Mem { base: Base::Gpr(index), index: None, disp }
            }
            _ => self,
        }
    }
}

/// The memory operand of gathers and scatters: one address a lane, `[base + lane of index * scale + disp]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vsib {
    /// What the addresses are counted from.
    pub base: Gpr,
    /// The register of indices, signed.
    pub index: Vreg,
    /// The factor of the indices.
    pub scale: Scale,
    /// Bytes added to every address.
    pub disp: i64,
}

/// The last source of a vector instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VecSrc {
    /// A register.
    Reg(Vreg),
    /// Memory, as many bytes as the instruction reads.
    Mem(Mem),
    /// One element from memory for all lanes, `{1toN}`; the element is the instruction's.
    Broadcast(Mem),
}

/// The destination of a vector instruction that can store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VecDst {
    /// A register.
    Reg(Vreg),
    /// Memory.
    Mem(Mem),
}

/// A general register or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rm {
    /// A register.
    Gpr(Gpr),
    /// Memory.
    Mem(Mem),
}

/// A general register or a constant in the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegImm {
    /// A register.
    Gpr(Gpr),
    /// A constant, extended with its sign to the instruction's size.
    Imm(i32),
}

/// The last source of an integer instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GprSrc {
    /// A register.
    Gpr(Gpr),
    /// Memory.
    Mem(Mem),
    /// A constant, extended with its sign to the instruction's size.
    Imm(i32),
}

macro_rules! from {
    ($($from:ty => $to:ident::$variant:ident),* $(,)?) => {$(
        impl From<$from> for $to {
            fn from(operand: $from) -> $to {
                $to::$variant(operand)
            }
        }
    )*};
}

from! {
    Vreg => VecSrc::Reg, Mem => VecSrc::Mem, Vreg => VecDst::Reg, Mem => VecDst::Mem,
    Gpr => Rm::Gpr, Mem => Rm::Mem, Gpr => RegImm::Gpr, i32 => RegImm::Imm,
    Gpr => GprSrc::Gpr, Mem => GprSrc::Mem, i32 => GprSrc::Imm,
}

impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k{}", self.0)
    }
}

impl fmt::Display for Masking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mask != Mask::K0 {
            write!(f, "{{{}}}", self.mask)?;
        }
        match self.rest {
            Rest::Keep => Ok(()),
            Rest::Zero => f.write_str("{z}"),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".L{}", self.0)
    }
}

impl fmt::Display for Const {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = match self.size {
            ConstSize::B4 => 4,
            ConstSize::B8 => 8,
            ConstSize::B64 => 64,
        };
        write!(f, ".C{size}_{}", self.index)
    }
}
