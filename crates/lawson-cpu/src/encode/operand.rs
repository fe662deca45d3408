//! Where operands are: machine registers, the stack, the pool of constants, memory.
//!
//! A register that lives in memory passes through a temporary: loaded before an instruction, stored after it.

use super::{Encoder, SAVE, stack};
use crate::alloc::{Loc, temporary};
use crate::asm::{
    Base, Const, Gpr, GprSrc, Inst, LaneBits, Level, Mask, MaskSize, MaskTest, Masking, Mem, RegImm, Scale,
    Size, Vec2, Vec3, VecSrc, VecStore, Vreg, Width,
};
use crate::code::{Addr, Class, Gen, Src, V};

impl Encoder<'_> {
    pub(super) fn loc(&self, v: V) -> Loc {
        self.code.locs[v.0 as usize]
    }

    pub(super) fn temporary(&self, class: Class) -> [u8; 2] {
        temporary(self.code.level, class)
    }

    /// Sets the flags by whether some lane of a mask is set.
    pub(super) fn test_any(&mut self, mask: V) {
        match self.code.level {
            Level::Avx512 => {
                let m = self.mask(mask, 0);
                self.push(Inst::MaskTest { op: MaskTest::Kortest, size: MaskSize::W16, a: m, b: m });
            }
            Level::Avx2 => {
                let r = Gpr::RAX;
                self.push(Inst::store(stack(SAVE[0]), r));
                self.lane_bits(r, mask, 0);
                self.push(Inst::Test { size: Size::D32, a: r, b: RegImm::Gpr(r) });
                // Leaves the flags as they are.
                self.push(Inst::load(r, stack(SAVE[0])));
            }
        }
    }

    /// A bit for each lane of a mask that is a vector.
    pub(super) fn lane_bits(&mut self, dst: Gpr, mask: V, temporary: usize) {
        let src = self.vector(mask, temporary);
        let op = if self.is_wide(mask) { LaneBits::Movmskpd } else { LaneBits::Movmskps };
        self.push(Inst::LaneBits { op, width: self.width(mask), dst, src });
    }

    pub(super) fn width(&self, v: V) -> Width {
        self.code.widths[v.0 as usize]
    }

    /// The widest of a register and what else an operation is given.
    pub(super) fn widest(&self, v: V, others: &[Src]) -> Width {
        let registers =
            others.iter().filter_map(|s| if let Src::Reg(v) = s { Some(self.width(*v)) } else { None });
        registers.fold(self.width(v), Width::max)
    }

    /// Bytes of a lane.
    pub(super) fn lane(&self, v: V) -> usize {
        self.width(v).bytes() / self.code.lanes as usize
    }

    pub(super) fn is_wide(&self, v: V) -> bool {
        self.lane(v) == 8
    }

    /// A constant that lies in memory once.
    pub(super) fn pool(&mut self, bits: u64, lane: usize) -> Const {
        if lane == 8 { self.asm.constant(bits) } else { self.asm.constant(bits as u32) }
    }

    /// The number of a register that holds `v`: its own, or one of the temporaries of its class, loaded.
    pub(super) fn held(&mut self, class: Class, v: V, temporary: usize) -> u8 {
        let at = self.loc(v);
        if let Loc::Reg(r) = at {
            return r;
        }
        let r = self.temporary(class)[temporary];
        if class == Class::Vector {
            let constant = if let Loc::Pool(bits) = at { Some((bits, self.width(v))) } else { None };
            let before = std::mem::replace(&mut self.holds[temporary], constant);
            if constant.is_some() && before == constant {
                return r;
            }
        }
        match (at, class) {
            (Loc::Stack(at), Class::Vector) => {
                self.push(Inst::vec2(Vec2::Movaps, self.width(v), Vreg(r), stack(i64::from(at))))
            }
            (Loc::Stack(at), Class::Mask) => {
                self.push(Inst::MaskLoad { size: MaskSize::Q64, dst: Mask(r), src: stack(i64::from(at)) })
            }
            (Loc::Stack(at), Class::General) => self.push(Inst::load(Gpr(r), stack(i64::from(at)))),
            (Loc::Pool(bits), Class::Vector) => self.constant(Vreg(r), bits, v),
            (Loc::Pool(_) | Loc::None | Loc::Reg(_), _) => {}
        }
        r
    }

    /// The number of a register to write `v` to: its own, or a temporary. Give it to `written` afterwards.
    pub(super) fn target(&mut self, class: Class, v: V) -> u8 {
        match (self.loc(v), class) {
            (Loc::Reg(r), _) => r,
            (_, Class::Vector) => {
                // The first temporary may hold an operand.
                self.holds[1] = None;
                self.temporary(Class::Vector)[1]
            }
            (_, class) => self.temporary(class)[0],
        }
    }

    /// Puts what was written where it lives.
    pub(super) fn written(&mut self, class: Class, v: V, r: u8) {
        let Loc::Stack(at) = self.loc(v) else { return };
        let dst = stack(i64::from(at));
        self.push(match class {
            Class::Vector => Inst::vec_store(VecStore::Movaps, self.width(v), dst, Vreg(r)),
            Class::Mask => Inst::MaskStore { size: MaskSize::Q64, dst, src: Mask(r) },
            Class::General => Inst::store(dst, Gpr(r)),
        });
    }

    pub(super) fn general(&mut self, v: V, temporary: usize) -> Gpr {
        Gpr(self.held(Class::General, v, temporary))
    }

    pub(super) fn general_to(&mut self, v: V) -> Gpr {
        Gpr(self.target(Class::General, v))
    }

    pub(super) fn general_written(&mut self, v: V, r: Gpr) {
        self.written(Class::General, v, r.0);
    }

    pub(super) fn vector(&mut self, v: V, temporary: usize) -> Vreg {
        Vreg(self.held(Class::Vector, v, temporary))
    }

    pub(super) fn vector_to(&mut self, v: V) -> Vreg {
        Vreg(self.target(Class::Vector, v))
    }

    pub(super) fn vector_written(&mut self, v: V, r: Vreg) {
        self.written(Class::Vector, v, r.0);
    }

    pub(super) fn mask(&mut self, v: V, temporary: usize) -> Mask {
        Mask(self.held(Class::Mask, v, temporary))
    }

    pub(super) fn mask_to(&mut self, v: V) -> Mask {
        Mask(self.target(Class::Mask, v))
    }

    pub(super) fn mask_written(&mut self, v: V, r: Mask) {
        self.written(Class::Mask, v, r.0);
    }

    /// Puts the constant of `v` into a register.
    pub(super) fn constant(&mut self, dst: Vreg, bits: u64, v: V) {
        let (width, lane) = (self.width(v), self.lane(v));
        if bits == 0 {
            // The shortest form clears the whole register where it exists.
            self.push(Inst::vec3(Vec3::Pxord, width, dst, dst, dst));
        } else {
            let c = self.pool(bits, lane);
            let op = if lane == 8 { Vec2::Broadcastsd } else { Vec2::Broadcastss };
            self.push(Inst::vec2(op, width, dst, Mem::constant(c)));
        }
    }

    pub(super) fn addr(&mut self, a: Addr) -> Mem {
        let base = self.general(a.base, 0);
        let index = a.index.map(|i| (self.general(i, 1), Scale::S1));
        Mem { base: Base::Gpr(base), index, disp: i64::from(a.disp) }
    }

    pub(super) fn src(&mut self, s: Src) -> VecSrc {
        match s {
            Src::Reg(v) => match self.loc(v) {
                Loc::Reg(r) => VecSrc::Reg(Vreg(r)),
                Loc::Stack(at) => VecSrc::Mem(stack(i64::from(at))),
                Loc::Pool(bits) if self.code.level == Level::Avx2 => {
                    // No element is given to all lanes here: memory has a whole register of it.
                    let words = if self.lane(v) == 8 { [bits, bits >> 32] } else { [bits; 2] };
                    let lanes: [u32; 16] = std::array::from_fn(|n| words[n % 2] as u32);
                    VecSrc::Mem(Mem::constant(self.asm.constant(lanes)))
                }
                Loc::Pool(bits) => {
                    let lane = self.lane(v);
                    VecSrc::Broadcast(Mem::constant(self.pool(bits, lane)))
                }
                Loc::None => VecSrc::Reg(Vreg(self.temporary(Class::Vector)[0])),
            },
            Src::Mem(a) => VecSrc::Mem(self.addr(a)),
            Src::Broadcast(a) => VecSrc::Broadcast(self.addr(a)),
        }
    }

    /// The last operand of an instruction that takes elements of so many bytes once for all lanes; others go through a register.
    pub(super) fn src_of(&mut self, s: Src, broadcasts: Option<usize>, temporary: usize) -> VecSrc {
        match s {
            Src::Reg(v)
                if matches!(self.loc(v), Loc::Pool(_))
                    && broadcasts != Some(self.lane(v))
                    && self.code.level == Level::Avx512 =>
            {
                VecSrc::Reg(self.vector(v, temporary))
            }
            _ => self.src(s),
        }
    }

    pub(super) fn gen_src(&mut self, g: Gen, temporary: usize) -> GprSrc {
        match g {
            Gen::Imm(imm) => match i32::try_from(imm) {
                Ok(imm) => GprSrc::Imm(imm),
                Err(_) => {
                    let r = Gpr(self.temporary(Class::General)[temporary]);
                    self.push(Inst::store(stack(SAVE[1]), r));
                    self.push(Inst::MovImm { dst: r, imm: imm as u64 });
                    self.push(Inst::store(stack(SAVE[2]), r));
                    self.push(Inst::load(r, stack(SAVE[1])));
                    GprSrc::Mem(stack(SAVE[2]))
                }
            },
            Gen::Reg(v) => match self.loc(v) {
                Loc::Reg(r) => GprSrc::Gpr(Gpr(r)),
                Loc::Stack(at) => GprSrc::Mem(stack(i64::from(at))),
                Loc::Pool(_) | Loc::None => GprSrc::Imm(0),
            },
        }
    }

    pub(super) fn masking(&mut self, mask: Option<V>) -> Masking {
        match mask {
            None => Masking::NONE,
            Some(m) => Masking::zero(self.mask(m, 0)),
        }
    }

    pub(super) fn keeping(&mut self, mask: Option<V>) -> Masking {
        match mask {
            None => Masking::NONE,
            Some(m) => Masking::keep(self.mask(m, 0)),
        }
    }
}
