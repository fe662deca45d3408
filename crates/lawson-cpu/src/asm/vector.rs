//! Encodes vector and mask instructions: EVEX at the AVX-512 level, VEX at the AVX2 level.
//!
//! [`encode`] gathers each shape of instruction into [`Fields`]; [`evex`] and [`vex`] lay the fields out. The level
//! decides alone, never the operands, so that a listing shows one encoding for one instruction.

use super::bytes::{Bytes, Operand, within};
use super::error::Problem;
use super::inst::{Inst, MaskOp, MaskShift, MaskSize, MaskTest};
use super::operand::{Mask, Masking, Rest, VecDst, VecSrc, Vreg, Width};
use super::spec::{Encodings, Map, Prefix, RmKind, Spec, W};

/// Which vector instructions the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// AVX-512 F, BW, DQ, VL and CD; EVEX throughout. VNNI, BF16 and POPCNT instructions are for the caller to ask for.
    Avx512,
    /// AVX2, FMA and F16C: 16 registers, no masks, no zmm; VEX throughout.
    Avx2,
}

/// What an encoding lays out. `vvvv` is 0 where there is no such operand.
struct Fields {
    width: Width,
    reg: u8,
    vvvv: u8,
    rm: Operand,
    broadcast: bool,
    masking: Masking,
    imm: Option<u8>,
}

/// Encodes `inst`, or says `false` where it is no vector instruction.
pub(super) fn encode(inst: &Inst, level: Level, out: &mut Bytes) -> Result<bool, Problem> {
    let source = |src: VecSrc| match src {
        VecSrc::Reg(Vreg(reg)) => (Operand::Reg(reg), false),
        VecSrc::Mem(mem) => (Operand::Mem(mem.shortest()), false),
        VecSrc::Broadcast(mem) => (Operand::Mem(mem.shortest()), true),
    };
    let (spec, fields) = match *inst {
        Inst::Vec2 { op, width, dst, src, masking } => {
            let (rm, broadcast) = source(src);
            (op.spec(), Fields { width, reg: dst.0, vvvv: 0, rm, broadcast, masking, imm: None })
        }
        Inst::Vec2Imm { op, width, dst, src, imm, masking } => {
            let (rm, broadcast) = source(src);
            (op.spec(), Fields { width, reg: dst.0, vvvv: 0, rm, broadcast, masking, imm: Some(imm) })
        }
        Inst::Vec3 { op, width, dst, a, b, masking } => {
            let (rm, broadcast) = source(b);
            (op.spec(), Fields { width, reg: dst.0, vvvv: a.0, rm, broadcast, masking, imm: None })
        }
        Inst::Vec3Imm { op, width, dst, a, b, imm, masking } => {
            let (rm, broadcast) = source(b);
            (op.spec(), Fields { width, reg: dst.0, vvvv: a.0, rm, broadcast, masking, imm: Some(imm) })
        }
        Inst::VecShift { op, width, dst, src, count, masking } => {
            let (rm, broadcast) = source(src);
            if level == Level::Avx2 && !matches!(src, VecSrc::Reg(_)) {
                return Err(Problem::Level);
            }
            let spec = op.spec();
            (spec, Fields { width, reg: spec.digit, vvvv: dst.0, rm, broadcast, masking, imm: Some(count) })
        }
        Inst::VecStore { op, width, dst, src, masking } => {
            let rm = destination(dst, masking)?;
            (op.spec(), Fields { width, reg: src.0, vvvv: 0, rm, broadcast: false, masking, imm: None })
        }
        Inst::VecStoreImm { op, width, dst, src, imm, masking } => {
            let rm = destination(dst, masking)?;
            (op.spec(), Fields { width, reg: src.0, vvvv: 0, rm, broadcast: false, masking, imm: Some(imm) })
        }
        Inst::CmpFloat { op, width, dst, a, b, predicate, mask } => {
            let (rm, broadcast) = source(b);
            let (reg, imm) = (to_mask(dst, level)?, Some(predicate as u8));
            (op.spec(), Fields { width, reg, vvvv: a.0, rm, broadcast, masking: Masking::keep(mask), imm })
        }
        Inst::CmpInt { op, width, dst, a, b, predicate, mask } => {
            let (rm, broadcast) = source(b);
            let (reg, imm) = (to_mask(dst, level)?, Some(predicate as u8));
            (op.spec(), Fields { width, reg, vvvv: a.0, rm, broadcast, masking: Masking::keep(mask), imm })
        }
        Inst::VecTest { op, width, dst, a, b, mask } => {
            let (rm, broadcast) = source(b);
            let reg = to_mask(dst, level)?;
            (
                op.spec(),
                Fields { width, reg, vvvv: a.0, rm, broadcast, masking: Masking::keep(mask), imm: None },
            )
        }
        Inst::CmpFloatVec { op, width, dst, a, b, predicate } => {
            if level != Level::Avx2 {
                return Err(Problem::Level);
            }
            let (rm, broadcast) = source(b);
            let imm = Some(predicate as u8);
            (op.spec(), Fields { width, reg: dst.0, vvvv: a.0, rm, broadcast, masking: Masking::NONE, imm })
        }
        Inst::BlendVar { op, width, dst, a, b, select } => {
            let (rm, broadcast) = source(b);
            let imm = Some(within(select.0, 16)? << 4);
            (op.spec(), Fields { width, reg: dst.0, vvvv: a.0, rm, broadcast, masking: Masking::NONE, imm })
        }
        Inst::MaskMovStore { op, width, dst, select, src } => {
            let rm = Operand::Mem(dst.shortest());
            let masking = Masking::NONE;
            (
                op.spec(),
                Fields { width, reg: src.0, vvvv: select.0, rm, broadcast: false, masking, imm: None },
            )
        }
        Inst::Gather { op, width, dst, src, mask } => {
            if mask == Mask::K0 {
                return Err(Problem::MaskRequired);
            }
            if dst == src.index {
                return Err(Problem::GatherOverlap);
            }
            let (rm, masking) = (Operand::Vsib(src), Masking::keep(mask));
            (op.spec(), Fields { width, reg: dst.0, vvvv: 0, rm, broadcast: false, masking, imm: None })
        }
        Inst::Scatter { op, width, dst, src, mask } => {
            if mask == Mask::K0 {
                return Err(Problem::MaskRequired);
            }
            let (rm, masking) = (Operand::Vsib(dst), Masking::keep(mask));
            (op.spec(), Fields { width, reg: src.0, vvvv: 0, rm, broadcast: false, masking, imm: None })
        }
        Inst::BroadcastGpr { op, width, dst, src, masking } => {
            let rm = Operand::Reg(within(src.0, 16)?);
            (op.spec(), Fields { width, reg: dst.0, vvvv: 0, rm, broadcast: false, masking, imm: None })
        }
        Inst::MaskToVec { op, width, dst, src } => {
            let (rm, masking) = (Operand::Reg(within(src.0, 8)?), Masking::NONE);
            (op.spec(), Fields { width, reg: dst.0, vvvv: 0, rm, broadcast: false, masking, imm: None })
        }
        Inst::VecToMask { op, width, dst, src } => {
            let (rm, masking) = (Operand::Reg(src.0), Masking::NONE);
            let reg = to_mask(dst, level)?;
            (op.spec(), Fields { width, reg, vvvv: 0, rm, broadcast: false, masking, imm: None })
        }
        Inst::VecFromGpr { op, dst, src } => {
            let (width, rm, masking) = (Width::X128, Operand::Reg(within(src.0, 16)?), Masking::NONE);
            (op.spec(), Fields { width, reg: dst.0, vvvv: 0, rm, broadcast: false, masking, imm: None })
        }
        Inst::LaneBits { op, width, dst, src } => {
            let (reg, rm, masking) = (within(dst.0, 16)?, Operand::Reg(src.0), Masking::NONE);
            (op.spec(), Fields { width, reg, vvvv: 0, rm, broadcast: false, masking, imm: None })
        }
        Inst::GprFromVec { op, dst, src } => {
            let (width, rm, masking) = (Width::X128, Operand::Reg(within(dst.0, 16)?), Masking::NONE);
            (op.spec(), Fields { width, reg: src.0, vvvv: 0, rm, broadcast: false, masking, imm: None })
        }
        _ => return mask_inst(inst, level, out),
    };
    check(spec, &fields)?;
    match level {
        Level::Avx512 => evex(spec, &fields, out)?,
        Level::Avx2 => vex_vector(spec, &fields, out)?,
    }
    Ok(true)
}

fn destination(dst: VecDst, masking: Masking) -> Result<Operand, Problem> {
    match dst {
        VecDst::Reg(Vreg(reg)) => Ok(Operand::Reg(reg)),
        VecDst::Mem(_) if masking.rest == Rest::Zero => Err(Problem::ZeroingMemory),
        VecDst::Mem(mem) => Ok(Operand::Mem(mem.shortest())),
    }
}

fn to_mask(mask: Mask, level: Level) -> Result<u8, Problem> {
    match level {
        Level::Avx512 => within(mask.0, 8),
        Level::Avx2 => Err(Problem::Level),
    }
}

/// What both encodings forbid.
fn check(spec: &Spec, fields: &Fields) -> Result<(), Problem> {
    if !spec.widths.has(fields.width) {
        return Err(Problem::Width);
    }
    match (spec.rm, &fields.rm) {
        (RmKind::Memory, Operand::Reg(_)) => return Err(Problem::NeedsMemory),
        (RmKind::Register, Operand::Mem(_) | Operand::Vsib(_)) => return Err(Problem::NeedsRegister),
        _ => {}
    }
    if fields.broadcast && spec.tuple.broadcast().is_none() {
        return Err(Problem::NoBroadcast);
    }
    within(fields.masking.mask.0, 8)?;
    if fields.masking != Masking::NONE {
        if !spec.maskable {
            return Err(Problem::NotMaskable);
        }
        if fields.masking.mask == Mask::K0 {
            return Err(Problem::ZeroingWithoutMask);
        }
    }
    Ok(())
}

fn evex(spec: &Spec, fields: &Fields, out: &mut Bytes) -> Result<(), Problem> {
    if let Encodings::Vex(_) = spec.encodings {
        return Err(Problem::Level);
    }
    let (reg, vvvv) = (within(fields.reg, 32)?, within(fields.vvvv, 32)?);
    let high = fields.rm.high(32)?;
    let zeroing = matches!(fields.masking.rest, Rest::Zero) as u8;
    // R, X, B, R', vvvv and V' are stored inverted.
    let inverted = (reg >> 3 & 1) << 7 | high.x << 6 | high.b << 5 | (reg >> 4) << 4;
    out.put(0x62);
    out.put((inverted ^ 0xF0) | spec.map as u8);
    out.put((spec.w as u8) << 7 | (!vvvv & 15) << 3 | 4 | spec.prefix as u8);
    out.put(
        zeroing << 7
            | (fields.width as u8) << 5
            | (fields.broadcast as u8) << 4
            | ((vvvv >> 4 | high.v) ^ 1) << 3
            | fields.masking.mask.0,
    );
    out.put(spec.opcode);
    let unit = match spec.tuple.broadcast() {
        Some(element) if fields.broadcast => element,
        _ => spec.tuple.unit(fields.width),
    };
    out.modrm(reg, &fields.rm, unit)?;
    if let Some(imm) = fields.imm {
        out.put(imm);
    }
    Ok(())
}

fn vex_vector(spec: &Spec, fields: &Fields, out: &mut Bytes) -> Result<(), Problem> {
    let w = match spec.encodings {
        Encodings::Vex(w) | Encodings::Both(w) => w,
        Encodings::Evex => return Err(Problem::Level),
    };
    // A number from 16 to 31 names a register, only not one of this level.
    let limit = |number: u8| if number < 16 { Ok(()) } else { Err(Problem::Level) };
    limit(within(fields.reg, 32)?)?;
    limit(within(fields.vvvv, 32)?)?;
    if let Operand::Reg(reg) = fields.rm {
        limit(within(reg, 32)?)?;
    }
    if fields.broadcast || fields.masking != Masking::NONE || fields.width == Width::Z512 {
        return Err(Problem::Level);
    }
    let layout = Vex { prefix: spec.prefix, map: spec.map, w, long: fields.width as u8, opcode: spec.opcode };
    vex(layout, fields.reg, fields.vvvv, &fields.rm, fields.imm, out)
}

/// The fixed part of a VEX instruction; `long` is the L bit.
pub(super) struct Vex {
    pub(super) prefix: Prefix,
    pub(super) map: Map,
    pub(super) w: W,
    pub(super) long: u8,
    pub(super) opcode: u8,
}

/// Lays out a VEX instruction, in the two-byte form where it will do.
pub(super) fn vex(
    layout: Vex,
    reg: u8,
    vvvv: u8,
    rm: &Operand,
    imm: Option<u8>,
    out: &mut Bytes,
) -> Result<(), Problem> {
    let (reg, vvvv, high) = (within(reg, 16)?, within(vvvv, 16)?, rm.high(16)?);
    let last = (!vvvv & 15) << 3 | layout.long << 2 | layout.prefix as u8;
    let r = (reg >> 3 ^ 1) << 7;
    if high.x | high.b == 0 && layout.w == W::W0 && layout.map == Map::M0F {
        out.put(0xC5);
        out.put(r | last);
    } else {
        out.put(0xC4);
        out.put(r | (high.x ^ 1) << 6 | (high.b ^ 1) << 5 | layout.map as u8);
        out.put((layout.w as u8) << 7 | last);
    }
    out.put(layout.opcode);
    out.modrm(reg, rm, 1)?;
    if let Some(imm) = imm {
        out.put(imm);
    }
    Ok(())
}

/// Instructions on mask registers alone, or `false`.
fn mask_inst(inst: &Inst, level: Level, out: &mut Bytes) -> Result<bool, Problem> {
    use Prefix::{NP, P66, PF2};
    use W::{W0, W1};
    let k = |mask: Mask| within(mask.0, 8);
    // How a size is told apart in instructions on masks, and in moves from and to general registers.
    let sized = |size: MaskSize| match size {
        MaskSize::B8 => (P66, W0),
        MaskSize::W16 => (NP, W0),
        MaskSize::D32 => (P66, W1),
        MaskSize::Q64 => (NP, W1),
    };
    let moved = |size: MaskSize| match size {
        MaskSize::B8 => (P66, W0),
        MaskSize::W16 => (NP, W0),
        MaskSize::D32 => (PF2, W0),
        MaskSize::Q64 => (PF2, W1),
    };
    let ((prefix, w), map, long, opcode, reg, vvvv, rm, imm) = match *inst {
        Inst::MaskOp { op, size, dst, a, b } => {
            let opcode = match op {
                MaskOp::And => 0x41,
                MaskOp::Andn => 0x42,
                MaskOp::Or => 0x45,
                MaskOp::Xnor => 0x46,
                MaskOp::Xor => 0x47,
                MaskOp::Add => 0x4A,
            };
            (sized(size), Map::M0F, 1, opcode, k(dst)?, k(a)?, Operand::Reg(k(b)?), None)
        }
        Inst::MaskNot { size, dst, src } => {
            (sized(size), Map::M0F, 0, 0x44, k(dst)?, 0, Operand::Reg(k(src)?), None)
        }
        Inst::MaskMov { size, dst, src } => {
            (sized(size), Map::M0F, 0, 0x90, k(dst)?, 0, Operand::Reg(k(src)?), None)
        }
        Inst::MaskLoad { size, dst, src } => {
            (sized(size), Map::M0F, 0, 0x90, k(dst)?, 0, Operand::Mem(src.shortest()), None)
        }
        Inst::MaskStore { size, dst, src } => {
            (sized(size), Map::M0F, 0, 0x91, k(src)?, 0, Operand::Mem(dst.shortest()), None)
        }
        Inst::MaskFromGpr { size, dst, src } => {
            (moved(size), Map::M0F, 0, 0x92, k(dst)?, 0, Operand::Reg(src.0), None)
        }
        Inst::GprFromMask { size, dst, src } => {
            (moved(size), Map::M0F, 0, 0x93, dst.0, 0, Operand::Reg(k(src)?), None)
        }
        Inst::MaskTest { op, size, a, b } => {
            let opcode = match op {
                MaskTest::Kortest => 0x98,
                MaskTest::Ktest => 0x99,
            };
            (sized(size), Map::M0F, 0, opcode, k(a)?, 0, Operand::Reg(k(b)?), None)
        }
        Inst::MaskShift { op, size, dst, src, count } => {
            let (w, wide) = match size {
                MaskSize::B8 => (W0, 0),
                MaskSize::W16 => (W1, 0),
                MaskSize::D32 => (W0, 1),
                MaskSize::Q64 => (W1, 1),
            };
            let opcode = match op {
                MaskShift::Left => 0x32 + wide,
                MaskShift::Right => 0x30 + wide,
            };
            ((P66, w), Map::M3A, 0, opcode, k(dst)?, 0, Operand::Reg(k(src)?), Some(count))
        }
        _ => return Ok(false),
    };
    if level == Level::Avx2 {
        return Err(Problem::Level);
    }
    vex(Vex { prefix, map, w, long, opcode }, reg, vvvv, &rm, imm, out)?;
    Ok(true)
}
