//! How one vector instruction is encoded: the data behind every row of the tables in `vecop.rs`.
//!
//! A [`Spec`] holds opcode, prefix bits, the size of what the instruction reads from memory and what it forbids;
//! `vector.rs` turns it and the operands into bytes, `print.rs` into text.

use super::operand::Width;

/// The opcode map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Map {
    M0F = 1,
    M38 = 2,
    M3A = 3,
}

/// The mandatory prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefix {
    NP = 0,
    P66 = 1,
    PF3 = 2,
    PF2 = 3,
}

/// The W bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum W {
    W0 = 0,
    W1 = 1,
}

/// How much the register-or-memory operand holds, relative to the instruction's width. It gives the width of the
/// operand as a register, the bytes read or written as memory, and the unit of compressed displacements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tuple {
    /// The whole width, of elements of so many bytes; one element can be broadcast.
    Full(u8),
    /// Half the width, of elements of so many bytes; one element can be broadcast.
    Half(u8),
    /// The whole width.
    Vector,
    /// Half the width.
    HalfVector,
    /// A quarter of the width.
    Quarter,
    /// An eighth of the width.
    Eighth,
    /// The same number of bytes at every width.
    Fixed(u8),
    /// The whole width at most, displaced in units of an element of so many bytes.
    Element(u8),
}

impl Tuple {
    /// The bytes of the operand.
    pub(super) const fn bytes(self, width: Width) -> usize {
        match self {
            Tuple::Full(_) | Tuple::Vector | Tuple::Element(_) => width.bytes(),
            Tuple::Half(_) | Tuple::HalfVector => width.bytes() / 2,
            Tuple::Quarter => width.bytes() / 4,
            Tuple::Eighth => width.bytes() / 8,
            Tuple::Fixed(bytes) => bytes as usize,
        }
    }

    /// The bytes of one element, where it can be broadcast.
    pub(super) const fn broadcast(self) -> Option<usize> {
        match self {
            Tuple::Full(element) | Tuple::Half(element) => Some(element as usize),
            _ => None,
        }
    }

    /// The unit of an 8-bit displacement.
    pub(super) const fn unit(self, width: Width) -> usize {
        match self {
            Tuple::Element(element) => element as usize,
            _ => self.bytes(width),
        }
    }
}

/// Which encodings an instruction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encodings {
    Evex,
    Vex(W),
    Both(W),
}

/// Which widths an instruction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Widths {
    All,
    /// Only xmm: instructions of one element.
    Only128,
    /// ymm and zmm.
    From256,
    /// Only zmm.
    Only512,
}

/// What the register-or-memory operand may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RmKind {
    Any,
    Memory,
    Register,
}

/// One row of the instruction tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    /// The name of the VEX form where it differs.
    pub(super) vex_name: &'static str,
    pub(super) prefix: Prefix,
    pub(super) map: Map,
    pub(super) w: W,
    pub(super) opcode: u8,
    /// The opcode's continuation in the register field, where the instruction has one.
    pub(super) digit: u8,
    pub(super) tuple: Tuple,
    pub(super) encodings: Encodings,
    pub(super) widths: Widths,
    pub(super) rm: RmKind,
    /// The destination register is half as wide as the instruction.
    pub(super) narrows: bool,
    pub(super) maskable: bool,
}

/// A row with an EVEX encoding only, until [`Spec::vex`] says more.
pub(super) const fn row(
    name: &'static str,
    prefix: Prefix,
    map: Map,
    w: W,
    opcode: u8,
    tuple: Tuple,
) -> Spec {
    Spec {
        name,
        vex_name: name,
        prefix,
        map,
        w,
        opcode,
        digit: 0,
        tuple,
        encodings: Encodings::Evex,
        widths: Widths::All,
        rm: RmKind::Any,
        narrows: false,
        maskable: true,
    }
}

impl Spec {
    /// Also in VEX, with this W bit.
    pub(super) const fn vex(self, w: W) -> Spec {
        Spec { encodings: Encodings::Both(w), ..self }
    }

    /// Also in VEX, with W clear, under another name.
    pub(super) const fn vex_as(self, name: &'static str) -> Spec {
        Spec { encodings: Encodings::Both(W::W0), vex_name: name, ..self }
    }

    /// Only in VEX.
    pub(super) const fn only_vex(self) -> Spec {
        Spec { encodings: Encodings::Vex(self.w), ..self }
    }

    pub(super) const fn digit(self, digit: u8) -> Spec {
        Spec { digit, ..self }
    }

    pub(super) const fn widths(self, widths: Widths) -> Spec {
        Spec { widths, ..self }
    }

    /// The register-or-memory operand must be memory.
    pub(super) const fn memory(self) -> Spec {
        Spec { rm: RmKind::Memory, ..self }
    }

    /// The register-or-memory operand must be a register.
    pub(super) const fn register(self) -> Spec {
        Spec { rm: RmKind::Register, ..self }
    }

    pub(super) const fn narrows(self) -> Spec {
        Spec { narrows: true, ..self }
    }

    pub(super) const fn unmaskable(self) -> Spec {
        Spec { maskable: false, ..self }
    }
}

impl Widths {
    pub(super) const fn has(self, width: Width) -> bool {
        match self {
            Widths::All => true,
            Widths::Only128 => matches!(width, Width::X128),
            Widths::From256 => !matches!(width, Width::X128),
            Widths::Only512 => matches!(width, Width::Z512),
        }
    }
}
