//! Encodes instructions on general registers, except jumps to labels (`assembler.rs`).

use super::bytes::{Bytes, Operand, within};
use super::error::Problem;
use super::inst::{BitCount, Bmi, Count, Extend, Hint, Inst, MemSize, Plain, Size, Unary};
use super::operand::{Gpr, GprSrc, RegImm, Rm};
use super::spec::{Map, Prefix, W};
use super::vector::{Vex, vex};

/// The part of a legacy instruction that does not depend on its operands.
#[derive(Clone, Copy)]
struct Legacy {
    /// A prefix before REX, or 0.
    prefix: u8,
    size: Size,
    /// Whether 0x0F stands before the opcode.
    escape: bool,
    opcode: u8,
    /// Whether the register fields name bytes: `spl` to `dil` then need a REX prefix to be named.
    bytes: ByteRegs,
}

/// Which operands of an instruction are byte registers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteRegs {
    None,
    Reg,
    Rm,
}

const fn one(size: Size, opcode: u8) -> Legacy {
    Legacy { prefix: 0, size, escape: false, opcode, bytes: ByteRegs::None }
}

const fn two(size: Size, opcode: u8) -> Legacy {
    Legacy { escape: true, ..one(size, opcode) }
}

impl Legacy {
    /// Prefixes, opcode and ModRM.
    fn put(self, reg: u8, rm: &Operand, out: &mut Bytes) -> Result<(), Problem> {
        let (reg, high) = (within(reg, 16)?, rm.high(16)?);
        if self.prefix != 0 {
            out.put(self.prefix);
        }
        let byte = match (self.bytes, rm) {
            (ByteRegs::Reg, _) => reg >= 4,
            (ByteRegs::Rm, Operand::Reg(rm)) => *rm >= 4,
            _ => false,
        };
        let rex = rex_w(self.size) << 3 | (reg >> 3) << 2 | high.x << 1 | high.b;
        if rex != 0 || byte {
            out.put(0x40 | rex);
        }
        if self.escape {
            out.put(0x0F);
        }
        out.put(self.opcode);
        out.modrm(reg, rm, 1)
    }
}

fn rex_w(size: Size) -> u8 {
    match size {
        Size::D32 => 0,
        Size::Q64 => 1,
    }
}

fn operand(rm: Rm) -> Operand {
    match rm {
        Rm::Gpr(Gpr(reg)) => Operand::Reg(reg),
        Rm::Mem(mem) => Operand::Mem(mem.shortest()),
    }
}

/// Encodes `inst` if it is on general registers; otherwise leaves `out` empty.
pub(super) fn encode(inst: &Inst, out: &mut Bytes) -> Result<(), Problem> {
    use Size::{D32, Q64};
    match *inst {
        Inst::Mov { size, dst, src } => one(size, 0x8B).put(dst.0, &Operand::Reg(src.0), out),
        Inst::MovImm { dst, imm } => mov_imm(dst, imm, out),
        Inst::Load { size, dst, src } => one(size, 0x8B).put(dst.0, &Operand::Mem(src.shortest()), out),
        Inst::LoadExtend { extend, size, dst, src } => {
            let legacy = match extend {
                Extend::Zx8 => Legacy { bytes: ByteRegs::Rm, ..two(size, 0xB6) },
                Extend::Zx16 => two(size, 0xB7),
                Extend::Sx8 => Legacy { bytes: ByteRegs::Rm, ..two(size, 0xBE) },
                Extend::Sx16 => two(size, 0xBF),
                Extend::Sx32 => one(size, 0x63),
            };
            legacy.put(dst.0, &operand(src), out)
        }
        Inst::Store { size, dst, src } => {
            let legacy = match size {
                MemSize::B8 => Legacy { bytes: ByteRegs::Reg, ..one(D32, 0x88) },
                MemSize::W16 => Legacy { prefix: 0x66, ..one(D32, 0x89) },
                MemSize::D32 => one(D32, 0x89),
                MemSize::Q64 => one(Q64, 0x89),
            };
            legacy.put(src.0, &Operand::Mem(dst.shortest()), out)
        }
        Inst::StoreImm { size, dst, imm } => {
            let legacy = match size {
                MemSize::B8 => one(D32, 0xC6),
                MemSize::W16 => Legacy { prefix: 0x66, ..one(D32, 0xC7) },
                MemSize::D32 => one(D32, 0xC7),
                MemSize::Q64 => one(Q64, 0xC7),
            };
            legacy.put(0, &Operand::Mem(dst.shortest()), out)?;
            let bytes = match size {
                MemSize::B8 => 1,
                MemSize::W16 => 2,
                MemSize::D32 | MemSize::Q64 => 4,
            };
            imm.to_le_bytes().into_iter().take(bytes).for_each(|byte| out.put(byte));
            Ok(())
        }
        Inst::Lea { dst, src } => one(Q64, 0x8D).put(dst.0, &Operand::Mem(src.shortest()), out),
        Inst::Alu { op, size, dst, src } => match src {
            GprSrc::Gpr(src) => one(size, (op as u8) << 3 | 3).put(dst.0, &Operand::Reg(src.0), out),
            GprSrc::Mem(src) => one(size, (op as u8) << 3 | 3).put(dst.0, &Operand::Mem(src.shortest()), out),
            GprSrc::Imm(imm) => short_or_long(size, 0x83, 0x81, op as u8, &Operand::Reg(dst.0), imm, out),
        },
        Inst::AluMem { op, size, dst, src } => {
            let dst = Operand::Mem(dst.shortest());
            match src {
                RegImm::Gpr(src) => one(size, (op as u8) << 3 | 1).put(src.0, &dst, out),
                RegImm::Imm(imm) => short_or_long(size, 0x83, 0x81, op as u8, &dst, imm, out),
            }
        }
        Inst::Test { size, a, b: RegImm::Gpr(b) } => one(size, 0x85).put(b.0, &Operand::Reg(a.0), out),
        Inst::Test { size, a, b: RegImm::Imm(imm) } => {
            one(size, 0xF7).put(0, &Operand::Reg(a.0), out)?;
            out.put4(imm);
            Ok(())
        }
        Inst::Unary { op, size, dst } => {
            let (opcode, digit) = match op {
                Unary::Inc => (0xFF, 0),
                Unary::Dec => (0xFF, 1),
                Unary::Not => (0xF7, 2),
                Unary::Neg => (0xF7, 3),
                Unary::Mul => (0xF7, 4),
                Unary::Imul => (0xF7, 5),
                Unary::Div => (0xF7, 6),
                Unary::Idiv => (0xF7, 7),
            };
            one(size, opcode).put(digit, &operand(dst), out)
        }
        Inst::Imul { size, dst, src } => two(size, 0xAF).put(dst.0, &operand(src), out),
        Inst::ImulImm { size, dst, src, imm } => {
            short_or_long(size, 0x6B, 0x69, dst.0, &operand(src), imm, out)
        }
        Inst::Shift { op, size, dst, count } => {
            let dst = Operand::Reg(dst.0);
            match count {
                Count::Cl => one(size, 0xD3).put(op as u8, &dst, out),
                Count::Imm(1) => one(size, 0xD1).put(op as u8, &dst, out),
                Count::Imm(count) => {
                    one(size, 0xC1).put(op as u8, &dst, out)?;
                    out.put(count);
                    Ok(())
                }
            }
        }
        Inst::Bmi { op, size, dst, src, count } => {
            let (prefix, opcode) = match op {
                Bmi::Shlx => (Prefix::P66, 0xF7),
                Bmi::Shrx => (Prefix::PF2, 0xF7),
                Bmi::Sarx => (Prefix::PF3, 0xF7),
                Bmi::Bzhi => (Prefix::NP, 0xF5),
            };
            let layout = Vex { prefix, map: Map::M38, w: wide(size), long: 0, opcode };
            vex(layout, dst.0, count.0, &operand(src), None, out)
        }
        Inst::BitCount { op, size, dst, src } => {
            let opcode = match op {
                BitCount::Popcnt => 0xB8,
                BitCount::Tzcnt => 0xBC,
                BitCount::Lzcnt => 0xBD,
            };
            Legacy { prefix: 0xF3, ..two(size, opcode) }.put(dst.0, &operand(src), out)
        }
        Inst::Blsr { size, dst, src } => {
            let layout = Vex { prefix: Prefix::NP, map: Map::M38, w: wide(size), long: 0, opcode: 0xF3 };
            vex(layout, 1, dst.0, &operand(src), None, out)
        }
        Inst::Cmov { cond, size, dst, src } => two(size, 0x40 | cond as u8).put(dst.0, &operand(src), out),
        Inst::Set { cond, dst } => {
            let legacy = Legacy { bytes: ByteRegs::Rm, ..two(D32, 0x90 | cond as u8) };
            legacy.put(0, &Operand::Reg(dst.0), out)
        }
        Inst::JmpReg { to } => one(D32, 0xFF).put(4, &Operand::Reg(to.0), out),
        Inst::Call { to } => one(D32, 0xFF).put(2, &Operand::Reg(to.0), out),
        Inst::Push { src } => in_opcode(0x50, src, out),
        Inst::Pop { dst } => in_opcode(0x58, dst, out),
        Inst::Prefetch { hint, src } => {
            let (opcode, digit) = match hint {
                Hint::Nta => (0x18, 0),
                Hint::T0 => (0x18, 1),
                Hint::T1 => (0x18, 2),
                Hint::T2 => (0x18, 3),
                Hint::Write => (0x0D, 1),
            };
            two(D32, opcode).put(digit, &Operand::Mem(src.shortest()), out)
        }
        Inst::Plain(plain) => {
            plain_bytes(plain).iter().for_each(|&byte| out.put(byte));
            Ok(())
        }
        Inst::Nop { bytes } => {
            nop(bytes as usize).ok_or(Problem::NopLength)?.iter().for_each(|&byte| out.put(byte));
            Ok(())
        }
        // Vector and mask instructions are encoded by `vector.rs`, jumps to labels by the assembler.
        _ => Ok(()),
    }
}

/// A 32-bit constant, or the form with 8 bits where it fits.
fn short_or_long(
    size: Size,
    short: u8,
    long: u8,
    reg: u8,
    rm: &Operand,
    imm: i32,
    out: &mut Bytes,
) -> Result<(), Problem> {
    match i8::try_from(imm) {
        Ok(imm) => {
            one(size, short).put(reg, rm, out)?;
            out.put(imm as u8);
        }
        Err(_) => {
            one(size, long).put(reg, rm, out)?;
            out.put4(imm);
        }
    }
    Ok(())
}

fn in_opcode(opcode: u8, reg: Gpr, out: &mut Bytes) -> Result<(), Problem> {
    if within(reg.0, 16)? >= 8 {
        out.put(0x41);
    }
    out.put(opcode | (reg.0 & 7));
    Ok(())
}

fn mov_imm(dst: Gpr, imm: u64, out: &mut Bytes) -> Result<(), Problem> {
    if let Ok(imm) = u32::try_from(imm) {
        in_opcode(0xB8, dst, out)?;
        out.put4(imm as i32);
    } else if let Ok(imm) = i32::try_from(imm as i64) {
        one(Size::Q64, 0xC7).put(0, &Operand::Reg(dst.0), out)?;
        out.put4(imm);
    } else {
        let high = within(dst.0, 16)? >> 3;
        out.put(0x48 | high);
        out.put(0xB8 | (dst.0 & 7));
        imm.to_le_bytes().into_iter().for_each(|byte| out.put(byte));
    }
    Ok(())
}

fn plain_bytes(plain: Plain) -> &'static [u8] {
    match plain {
        Plain::Ret => &[0xC3],
        Plain::Cdq => &[0x99],
        Plain::Cqo => &[0x48, 0x99],
        Plain::Mfence => &[0x0F, 0xAE, 0xF0],
        Plain::Sfence => &[0x0F, 0xAE, 0xF8],
        Plain::Lfence => &[0x0F, 0xAE, 0xE8],
        Plain::Pause => &[0xF3, 0x90],
        Plain::Rdtsc => &[0x0F, 0x31],
        Plain::Rdtscp => &[0x0F, 0x01, 0xF9],
        Plain::Vzeroupper => &[0xC5, 0xF8, 0x77],
        Plain::Ud2 => &[0x0F, 0x0B],
        Plain::Int3 => &[0xCC],
    }
}

/// The longest no-op that is one instruction.
pub(super) const LONGEST_NOP: usize = 9;

/// A no-op of so many bytes, in the forms that processors decode fastest.
pub(super) fn nop(bytes: usize) -> Option<&'static [u8]> {
    const NOPS: [&[u8]; LONGEST_NOP] = [
        &[0x90],
        &[0x66, 0x90],
        &[0x0F, 0x1F, 0x00],
        &[0x0F, 0x1F, 0x40, 0x00],
        &[0x0F, 0x1F, 0x44, 0x00, 0x00],
        &[0x66, 0x0F, 0x1F, 0x44, 0x00, 0x00],
        &[0x0F, 0x1F, 0x80, 0x00, 0x00, 0x00, 0x00],
        &[0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
        &[0x66, 0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
    ];
    NOPS.get(bytes.checked_sub(1)?).copied()
}

/// The bit that makes an instruction with three operands one of 64 bits.
fn wide(size: Size) -> W {
    match size {
        Size::D32 => W::W0,
        Size::Q64 => W::W1,
    }
}
