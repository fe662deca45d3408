//! Operands as text, with the sizes that their instruction gives them. Used by `print.rs`.

use std::fmt::{self, Display, Formatter};

use super::inst::{FloatPredicate, IntPredicate, MaskSize, MemSize, Size};
use super::operand::{Base, Gpr, Mem, RegImm, Rm, Scale, VecDst, VecSrc, Vreg, Vsib, Width};
use super::spec::Spec;

/// A vector register of a width.
pub(super) struct V(pub(super) Vreg, pub(super) Width);

impl Display for V {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let letter = match self.1 {
            Width::X128 => 'x',
            Width::Y256 => 'y',
            Width::Z512 => 'z',
        };
        write!(f, "{letter}mm{}", self.0.0)
    }
}

/// A general register of a size.
pub(super) struct R(pub(super) Gpr, pub(super) Size);

impl Display for R {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Part(self.0, size_bytes(self.1)).fmt(f)
    }
}

/// The low bytes of a general register.
pub(super) struct Part(pub(super) Gpr, pub(super) usize);

impl Display for Part {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 8] = ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"];
        let Part(Gpr(number), bytes) = *self;
        match (NAMES.get(number as usize), bytes) {
            (Some(name), 8) => write!(f, "r{name}"),
            (Some(name), 4) => write!(f, "e{name}"),
            (Some(name), 2) => f.write_str(name),
            (Some(name), _) if number < 4 => write!(f, "{}l", &name[..1]),
            (Some(name), _) => write!(f, "{name}l"),
            (None, 8) => write!(f, "r{number}"),
            (None, 4) => write!(f, "r{number}d"),
            (None, 2) => write!(f, "r{number}w"),
            (None, _) => write!(f, "r{number}b"),
        }
    }
}

/// A number: up to 9 as it is, then in hex.
pub(super) struct Num(pub(super) i64);

impl Display for Num {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match self.0.unsigned_abs() {
            small @ 0..=9 => write!(f, "{small}"),
            large => write!(f, "{large:#x}"),
        }
    }
}

/// A memory operand of so many bytes.
pub(super) struct M(pub(super) Mem, pub(super) usize);

impl Display for M {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ptr {}", size_name(self.1), Address(self.0))
    }
}

/// A memory operand without its size.
pub(super) struct Address(pub(super) Mem);

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Mem { base, index, disp } = self.0.shortest();
        f.write_str("[")?;
        match base {
            Base::None => {}
            Base::Gpr(base) => R(base, Size::Q64).fmt(f)?,
            Base::Const(constant) => write!(f, "{constant}")?,
            Base::Label(label) => write!(f, "{label}")?,
        }
        if let Some((index, scale)) = index {
            let plus = if base == Base::None { "" } else { "+" };
            write!(f, "{plus}{}{}", R(index, Size::Q64), Factor(scale))?;
        }
        offset(disp, base == Base::None && index.is_none(), f)?;
        f.write_str("]")
    }
}

/// The addresses of a gather or scatter: operand, width of the indices, bytes of an element.
pub(super) struct Lanes(pub(super) Vsib, pub(super) Width, pub(super) usize);

impl Display for Lanes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Vsib { base, index, scale, disp } = self.0;
        let (base, index) = (R(base, Size::Q64), V(index, self.1));
        write!(f, "{} ptr [{base}+{index}{}", size_name(self.2), Factor(scale))?;
        offset(disp, false, f)?;
        f.write_str("]")
    }
}

struct Factor(Scale);

impl Display for Factor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Scale::S1 => Ok(()),
            scale => write!(f, "*{}", scale.factor()),
        }
    }
}

fn offset(disp: i64, alone: bool, f: &mut Formatter<'_>) -> fmt::Result {
    match disp {
        // An absolute address is no distance.
        _ if alone && disp < 0 => write!(f, "{disp:#x}"),
        _ if alone => Num(disp).fmt(f),
        0 => Ok(()),
        1.. => write!(f, "+{}", Num(disp)),
        _ => Num(disp).fmt(f),
    }
}

/// A general register or memory of a size.
pub(super) struct RM(pub(super) Rm, pub(super) Size);

impl Display for RM {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Rm::Gpr(reg) => R(reg, self.1).fmt(f),
            Rm::Mem(mem) => M(mem, size_bytes(self.1)).fmt(f),
        }
    }
}

/// A general register of a size, or a constant.
pub(super) struct RI(pub(super) RegImm, pub(super) Size);

impl Display for RI {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            RegImm::Gpr(reg) => R(reg, self.1).fmt(f),
            RegImm::Imm(imm) => Num(imm.into()).fmt(f),
        }
    }
}

/// The last source of a vector instruction.
pub(super) struct Source(&'static Spec, VecSrc, Width);

pub(super) fn source(spec: &'static Spec, src: VecSrc, width: Width) -> Source {
    Source(spec, src, width)
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Source(spec, src, width) = *self;
        let bytes = spec.tuple.bytes(width);
        match src {
            VecSrc::Reg(reg) => V(reg, Width::holding(bytes)).fmt(f),
            VecSrc::Mem(mem) => M(mem, bytes).fmt(f),
            VecSrc::Broadcast(mem) => {
                let element = spec.tuple.broadcast().unwrap_or(bytes);
                write!(f, "{} ptr {}{{1to{}}}", size_name(element), Address(mem), bytes / element)
            }
        }
    }
}

/// The destination of a store.
pub(super) struct Destination(&'static Spec, VecDst, Width);

pub(super) fn destination(spec: &'static Spec, dst: VecDst, width: Width) -> Destination {
    Destination(spec, dst, width)
}

impl Display for Destination {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bytes = self.0.tuple.bytes(self.2);
        match self.1 {
            VecDst::Reg(reg) => V(reg, Width::holding(bytes)).fmt(f),
            VecDst::Mem(mem) => M(mem, bytes).fmt(f),
        }
    }
}

/// The destination register of a vector instruction.
pub(super) fn result(spec: &Spec, dst: Vreg, width: Width) -> V {
    V(dst, if spec.narrows { half(width) } else { width })
}

pub(super) fn half(width: Width) -> Width {
    Width::holding(width.bytes() / 2)
}

/// The general register of moves to and from masks.
pub(super) fn beside_mask(reg: Gpr, size: MaskSize) -> R {
    match size {
        MaskSize::B8 | MaskSize::W16 | MaskSize::D32 => R(reg, Size::D32),
        MaskSize::Q64 => R(reg, Size::Q64),
    }
}

/// The enum variant's name in lower case, for enums that are named as the machine names them.
pub(super) struct Lower<T>(pub(super) T);

impl<T: fmt::Debug> Display for Lower<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = format!("{:?}", self.0);
        f.write_str(&name.to_ascii_lowercase())
    }
}

fn size_name(bytes: usize) -> &'static str {
    match bytes {
        1 => "byte",
        2 => "word",
        4 => "dword",
        8 => "qword",
        16 => "xmmword",
        32 => "ymmword",
        _ => "zmmword",
    }
}

pub(super) fn size_bytes(size: Size) -> usize {
    match size {
        Size::D32 => 4,
        Size::Q64 => 8,
    }
}

pub(super) fn mem_bytes(size: MemSize) -> usize {
    match size {
        MemSize::B8 => 1,
        MemSize::W16 => 2,
        MemSize::D32 => 4,
        MemSize::Q64 => 8,
    }
}

pub(super) fn mask_bytes(size: MaskSize) -> usize {
    match size {
        MaskSize::B8 => 1,
        MaskSize::W16 => 2,
        MaskSize::D32 => 4,
        MaskSize::Q64 => 8,
    }
}

pub(super) fn mask_letter(size: MaskSize) -> char {
    match size {
        MaskSize::B8 => 'b',
        MaskSize::W16 => 'w',
        MaskSize::D32 => 'd',
        MaskSize::Q64 => 'q',
    }
}

pub(super) fn int_predicate(predicate: IntPredicate) -> &'static str {
    match predicate {
        IntPredicate::Eq => "eq",
        IntPredicate::Lt => "lt",
        IntPredicate::Le => "le",
        IntPredicate::Ne => "neq",
        IntPredicate::Ge => "nlt",
        IntPredicate::Gt => "nle",
    }
}

pub(super) fn float_predicate(predicate: FloatPredicate) -> &'static str {
    const NAMES: [&str; 32] = [
        "eq", "lt", "le", "unord", "neq", "nlt", "nle", "ord", "eq_uq", "nge", "ngt", "false", "neq_oq",
        "ge", "gt", "true", "eq_os", "lt_oq", "le_oq", "unord_s", "neq_us", "nlt_uq", "nle_uq", "ord_s",
        "eq_us", "nge_uq", "ngt_uq", "false_os", "neq_os", "ge_oq", "gt_oq", "true_us",
    ];
    NAMES[predicate as usize]
}
