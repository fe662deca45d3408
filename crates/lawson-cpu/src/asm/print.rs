//! Instructions as Intel-syntax text: destination first, sizes of memory always said, numbers from 10 on in hex.

use std::fmt::{self, Display, Formatter};

use super::inst::{
    BitCount, Bmi, Count, Extend, Hint, Inst, MaskOp, MaskShift, MaskTest, MemSize, Plain, Size,
};
use super::operand::{GprSrc, Masking, Rm, Width};
use super::print_operand::{
    Address, Lanes, Lower, M, Num, Part, R, RI, RM, V, beside_mask, destination, float_predicate, half,
    int_predicate, mask_bytes, mask_letter, mem_bytes, result, size_bytes, source,
};
use super::spec::{Encodings, Spec, W};
use super::vecop::{Gather, Scatter};
use super::vector::Level;

impl Inst {
    /// This instruction as text under its name at `level`: AVX2 calls a few instructions otherwise.
    pub fn at(self, level: Level) -> impl Display {
        At(self, level)
    }
}

impl Display for Inst {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        At(*self, Level::Avx512).fmt(f)
    }
}

struct At(Inst, Level);

impl At {
    fn name(&self, spec: &Spec) -> &'static str {
        match (self.1, spec.encodings) {
            (Level::Avx512, Encodings::Evex | Encodings::Both(_)) => spec.name,
            (Level::Avx2, _) | (_, Encodings::Vex(_)) => spec.vex_name,
        }
    }
}

impl Display for At {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Inst::Vec2 { op, width, dst, src, masking } => {
                let spec = op.spec();
                let (dst, src) = (result(spec, dst, width), source(spec, src, width));
                write!(f, "{} {dst}{masking}, {src}", self.name(spec))
            }
            Inst::Vec2Imm { op, width, dst, src, imm, masking } => {
                let spec = op.spec();
                let (dst, src) = (result(spec, dst, width), source(spec, src, width));
                write!(f, "{} {dst}{masking}, {src}, {}", self.name(spec), Num(imm.into()))
            }
            Inst::Vec3 { op, width, dst, a, b, masking } => {
                let spec = op.spec();
                let (dst, a, b) = (result(spec, dst, width), V(a, width), source(spec, b, width));
                write!(f, "{} {dst}{masking}, {a}, {b}", self.name(spec))
            }
            Inst::Vec3Imm { op, width, dst, a, b, imm, masking } => {
                let spec = op.spec();
                let (dst, a, b) = (result(spec, dst, width), V(a, width), source(spec, b, width));
                write!(f, "{} {dst}{masking}, {a}, {b}, {}", self.name(spec), Num(imm.into()))
            }
            Inst::VecShift { op, width, dst, src, count, masking } => {
                let spec = op.spec();
                let (dst, src) = (V(dst, width), source(spec, src, width));
                write!(f, "{} {dst}{masking}, {src}, {}", self.name(spec), Num(count.into()))
            }
            Inst::VecStore { op, width, dst, src, masking } => {
                let (spec, src) = (op.spec(), V(src, width));
                write!(f, "{} {}{masking}, {src}", self.name(spec), destination(spec, dst, width))
            }
            Inst::VecStoreImm { op, width, dst, src, imm, masking } => {
                let (spec, src, imm) = (op.spec(), V(src, width), Num(imm.into()));
                write!(f, "{} {}{masking}, {src}, {imm}", self.name(spec), destination(spec, dst, width))
            }
            Inst::CmpFloat { op, width, dst, a, b, predicate, mask } => {
                let (spec, masking) = (op.spec(), Masking::keep(mask));
                let (stem, suffix) = spec.name.split_at("vcmp".len());
                let (a, b, predicate) = (V(a, width), source(spec, b, width), float_predicate(predicate));
                write!(f, "{stem}{predicate}{suffix} {dst}{masking}, {a}, {b}")
            }
            Inst::CmpFloatVec { op, width, dst, a, b, predicate } => {
                let (spec, dst) = (op.spec(), V(dst, width));
                let (stem, suffix) = spec.name.split_at("vcmp".len());
                let (a, b, predicate) = (V(a, width), source(spec, b, width), float_predicate(predicate));
                write!(f, "{stem}{predicate}{suffix} {dst}, {a}, {b}")
            }
            Inst::CmpInt { op, width, dst, a, b, predicate, mask } => {
                let (spec, masking) = (op.spec(), Masking::keep(mask));
                let (stem, suffix) = spec.name.split_at("vpcmp".len());
                let (a, b, predicate) = (V(a, width), source(spec, b, width), int_predicate(predicate));
                write!(f, "{stem}{predicate}{suffix} {dst}{masking}, {a}, {b}")
            }
            Inst::VecTest { op, width, dst, a, b, mask } => {
                let (spec, masking) = (op.spec(), Masking::keep(mask));
                write!(f, "{} {dst}{masking}, {}, {}", spec.name, V(a, width), source(spec, b, width))
            }
            Inst::BlendVar { op, width, dst, a, b, select } => {
                let (spec, dst, select) = (op.spec(), V(dst, width), V(select, width));
                write!(f, "{} {dst}, {}, {}, {select}", spec.name, V(a, width), source(spec, b, width))
            }
            Inst::MaskMovStore { op, width, dst, select, src } => {
                let (dst, select, src) = (M(dst, width.bytes()), V(select, width), V(src, width));
                write!(f, "{} {dst}, {select}, {src}", op.spec().name)
            }
            Inst::Gather { op, width, dst, src, mask } => {
                let (elements, indices, bytes) = match op {
                    Gather::Gatherdps | Gather::Pgatherdd => (width, width, 4),
                    Gather::Gatherqpd | Gather::Pgatherqq => (width, width, 8),
                    Gather::Gatherdpd | Gather::Pgatherdq => (width, half(width), 8),
                    Gather::Gatherqps | Gather::Pgatherqd => (half(width), width, 4),
                };
                write!(f, "{} {}{{{mask}}}, {}", op.spec().name, V(dst, elements), Lanes(src, indices, bytes))
            }
            Inst::Scatter { op, width, dst, src, mask } => {
                let (elements, indices, bytes) = match op {
                    Scatter::Scatterdps | Scatter::Pscatterdd => (width, width, 4),
                    Scatter::Scatterqpd | Scatter::Pscatterqq => (width, width, 8),
                    Scatter::Scatterdpd | Scatter::Pscatterdq => (width, half(width), 8),
                    Scatter::Scatterqps | Scatter::Pscatterqd => (half(width), width, 4),
                };
                write!(f, "{} {}{{{mask}}}, {}", op.spec().name, Lanes(dst, indices, bytes), V(src, elements))
            }
            Inst::BroadcastGpr { op, width, dst, src, masking } => {
                let spec = op.spec();
                write!(f, "{} {}{masking}, {}", spec.name, V(dst, width), R(src, beside_vec(spec)))
            }
            Inst::MaskToVec { op, width, dst, src } => {
                write!(f, "{} {}, {src}", op.spec().name, V(dst, width))
            }
            Inst::VecToMask { op, width, dst, src } => {
                write!(f, "{} {dst}, {}", op.spec().name, V(src, width))
            }
            Inst::VecFromGpr { op, dst, src } => {
                write!(f, "{} {}, {}", op.spec().name, V(dst, Width::X128), R(src, beside_vec(op.spec())))
            }
            Inst::LaneBits { op, width, dst, src } => {
                write!(f, "{} {}, {}", op.spec().name, R(dst, Size::D32), V(src, width))
            }
            Inst::GprFromVec { op, dst, src } => {
                write!(f, "{} {}, {}", op.spec().name, R(dst, beside_vec(op.spec())), V(src, Width::X128))
            }
            _ => self.general(f),
        }
    }
}

impl At {
    /// Instructions on masks and general registers.
    fn general(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Inst::MaskOp { op, size, dst, a, b } => {
                let op = match op {
                    MaskOp::And => "kand",
                    MaskOp::Andn => "kandn",
                    MaskOp::Or => "kor",
                    MaskOp::Xnor => "kxnor",
                    MaskOp::Xor => "kxor",
                    MaskOp::Add => "kadd",
                };
                write!(f, "{op}{} {dst}, {a}, {b}", mask_letter(size))
            }
            Inst::MaskNot { size, dst, src } => write!(f, "knot{} {dst}, {src}", mask_letter(size)),
            Inst::MaskMov { size, dst, src } => write!(f, "kmov{} {dst}, {src}", mask_letter(size)),
            Inst::MaskLoad { size, dst, src } => {
                write!(f, "kmov{} {dst}, {}", mask_letter(size), M(src, mask_bytes(size)))
            }
            Inst::MaskStore { size, dst, src } => {
                write!(f, "kmov{} {}, {src}", mask_letter(size), M(dst, mask_bytes(size)))
            }
            Inst::MaskFromGpr { size, dst, src } => {
                write!(f, "kmov{} {dst}, {}", mask_letter(size), beside_mask(src, size))
            }
            Inst::GprFromMask { size, dst, src } => {
                write!(f, "kmov{} {}, {src}", mask_letter(size), beside_mask(dst, size))
            }
            Inst::MaskTest { op, size, a, b } => {
                let op = match op {
                    MaskTest::Kortest => "kortest",
                    MaskTest::Ktest => "ktest",
                };
                write!(f, "{op}{} {a}, {b}", mask_letter(size))
            }
            Inst::MaskShift { op, size, dst, src, count } => {
                let op = match op {
                    MaskShift::Left => "kshiftl",
                    MaskShift::Right => "kshiftr",
                };
                write!(f, "{op}{} {dst}, {src}, {}", mask_letter(size), Num(count.into()))
            }
            Inst::Mov { size, dst, src } => write!(f, "mov {}, {}", R(dst, size), R(src, size)),
            Inst::MovImm { dst, imm } if imm <= u32::MAX.into() => {
                write!(f, "mov {}, {}", R(dst, Size::D32), Num(imm as u32 as i32 as i64))
            }
            Inst::MovImm { dst, imm } => write!(f, "mov {}, {}", R(dst, Size::Q64), Num(imm as i64)),
            Inst::Load { size, dst, src } => write!(f, "mov {}, {}", R(dst, size), M(src, size_bytes(size))),
            Inst::LoadExtend { extend, size, dst, src } => {
                let (name, bytes) = match extend {
                    Extend::Zx8 => ("movzx", 1),
                    Extend::Zx16 => ("movzx", 2),
                    Extend::Sx8 => ("movsx", 1),
                    Extend::Sx16 => ("movsx", 2),
                    Extend::Sx32 => ("movsxd", 4),
                };
                match src {
                    Rm::Gpr(src) => write!(f, "{name} {}, {}", R(dst, size), Part(src, bytes)),
                    Rm::Mem(src) => write!(f, "{name} {}, {}", R(dst, size), M(src, bytes)),
                }
            }
            Inst::Store { size, dst, src } => {
                let bytes = mem_bytes(size);
                write!(f, "mov {}, {}", M(dst, bytes), Part(src, bytes))
            }
            Inst::StoreImm { size, dst, imm } => {
                let imm = match size {
                    MemSize::B8 => i64::from(imm as i8),
                    MemSize::W16 => i64::from(imm as i16),
                    MemSize::D32 | MemSize::Q64 => imm.into(),
                };
                write!(f, "mov {}, {}", M(dst, mem_bytes(size)), Num(imm))
            }
            Inst::Lea { dst, src } => write!(f, "lea {}, {}", R(dst, Size::Q64), Address(src)),
            Inst::Alu { op, size, dst, src } => {
                let (op, dst) = (Lower(op), R(dst, size));
                match src {
                    GprSrc::Gpr(src) => write!(f, "{op} {dst}, {}", R(src, size)),
                    GprSrc::Mem(src) => write!(f, "{op} {dst}, {}", M(src, size_bytes(size))),
                    GprSrc::Imm(imm) => write!(f, "{op} {dst}, {}", Num(imm.into())),
                }
            }
            Inst::AluMem { op, size, dst, src } => {
                write!(f, "{} {}, {}", Lower(op), M(dst, size_bytes(size)), RI(src, size))
            }
            Inst::Test { size, a, b } => write!(f, "test {}, {}", R(a, size), RI(b, size)),
            Inst::Unary { op, size, dst } => write!(f, "{} {}", Lower(op), RM(dst, size)),
            Inst::Imul { size, dst, src } => write!(f, "imul {}, {}", R(dst, size), RM(src, size)),
            Inst::ImulImm { size, dst, src, imm } => {
                write!(f, "imul {}, {}, {}", R(dst, size), RM(src, size), Num(imm.into()))
            }
            Inst::Shift { op, size, dst, count: Count::Cl } => {
                write!(f, "{} {}, cl", Lower(op), R(dst, size))
            }
            Inst::Shift { op, size, dst, count: Count::Imm(count) } => {
                write!(f, "{} {}, {}", Lower(op), R(dst, size), Num(count.into()))
            }
            Inst::Bmi { op, size, dst, src, count } => {
                let op = match op {
                    Bmi::Shlx => "shlx",
                    Bmi::Shrx => "shrx",
                    Bmi::Sarx => "sarx",
                    Bmi::Bzhi => "bzhi",
                };
                write!(f, "{op} {}, {}, {}", R(dst, size), RM(src, size), R(count, size))
            }
            Inst::BitCount { op, size, dst, src } => {
                let op = match op {
                    BitCount::Popcnt => "popcnt",
                    BitCount::Tzcnt => "tzcnt",
                    BitCount::Lzcnt => "lzcnt",
                };
                write!(f, "{op} {}, {}", R(dst, size), RM(src, size))
            }
            Inst::Blsr { size, dst, src } => write!(f, "blsr {}, {}", R(dst, size), RM(src, size)),
            Inst::Cmov { cond, size, dst, src } => {
                write!(f, "cmov{} {}, {}", Lower(cond), R(dst, size), RM(src, size))
            }
            Inst::Set { cond, dst } => write!(f, "set{} {}", Lower(cond), Part(dst, 1)),
            Inst::Jcc { cond, to } => write!(f, "j{} {to}", Lower(cond)),
            Inst::Jmp { to } => write!(f, "jmp {to}"),
            Inst::JmpReg { to } => write!(f, "jmp {}", R(to, Size::Q64)),
            Inst::Call { to } => write!(f, "call {}", R(to, Size::Q64)),
            Inst::Push { src } => write!(f, "push {}", R(src, Size::Q64)),
            Inst::Pop { dst } => write!(f, "pop {}", R(dst, Size::Q64)),
            Inst::Prefetch { hint, src } => {
                let hint = match hint {
                    Hint::T0 => "t0",
                    Hint::T1 => "t1",
                    Hint::T2 => "t2",
                    Hint::Nta => "nta",
                    Hint::Write => "w",
                };
                write!(f, "prefetch{hint} {}", M(src, 1))
            }
            Inst::Plain(plain) => f.write_str(match plain {
                Plain::Ret => "ret",
                Plain::Cdq => "cdq",
                Plain::Cqo => "cqo",
                Plain::Mfence => "mfence",
                Plain::Sfence => "sfence",
                Plain::Lfence => "lfence",
                Plain::Pause => "pause",
                Plain::Rdtsc => "rdtsc",
                Plain::Rdtscp => "rdtscp",
                Plain::Vzeroupper => "vzeroupper",
                Plain::Ud2 => "ud2",
                Plain::Int3 => "int3",
            }),
            Inst::Nop { bytes } => write!(f, "nop ; {bytes} bytes"),
            // Vector instructions are printed before these are asked for.
            _ => Ok(()),
        }
    }
}

/// The size of the general register beside a vector: W says it.
fn beside_vec(spec: &Spec) -> Size {
    match spec.w {
        W::W0 => Size::D32,
        W::W1 => Size::Q64,
    }
}
