//! From allocated code to the machine's instructions: the function around the code, loops, and operations that are one
//! instruction. Those that are several stand in `sequence.rs`.

mod sequence;

use crate::alloc::{Allocated, HEAD, Line, Loc, LoopLine, TEMPORARY};
use crate::asm::{
    Alu, AsmError, Assembler, Base, BroadcastGpr, Code, Cond, Const, Extend, Gpr, GprSrc, Inst, Label, Level,
    Mask, MaskShift, MaskSize, MaskTest, MaskToVec, Masking, Mem, MemSize, Plain, RegImm, Rm, Scale, Shift,
    Size, Vec2, Vec3, VecDst, VecSrc, VecStore, VecStoreImm, VecTest, Vreg, Width,
};
use crate::code::{Addr, Class, Gen, Op, Shape, Src, Two, V};
use std::collections::HashMap;

/// Words at the top of the stack: saved registers and operands.
const SAVE: [i64; 3] = [0, 8, 16];
/// Two vectors there, whose lanes are worked on one by one.
const VECTORS: [i64; 2] = [64, 128];

struct Encoder<'a> {
    asm: Assembler,
    code: &'a Allocated,
    labels: Vec<(Label, Label)>,
    /// Where conditional code that is being written ends.
    ifs: HashMap<usize, Label>,
    /// The constants that the temporaries of the vectors hold: points side by side want the same one after another.
    holds: [Option<(u64, Width)>; 2],
}

/// The machine code of a function with the C calling convention: argument table, first and one past the last parallel
/// iteration, scratch.
pub fn encode(code: &Allocated, entry: &[V; 4], listing: bool) -> Result<Code, AsmError> {
    let mut asm =
        if listing { Assembler::with_listing(Level::Avx512) } else { Assembler::new(Level::Avx512) };
    let labels = code.loops.iter().map(|_| (asm.label(), asm.label())).collect();
    let mut e = Encoder { asm, code, labels, ifs: HashMap::new(), holds: [None; 2] };
    e.function(entry);
    e.asm.finish()
}

fn stack(at: i64) -> Mem {
    Mem::base(Gpr::RSP).offset(at)
}

impl Encoder<'_> {
    fn push(&mut self, inst: Inst) {
        self.asm.push(inst);
    }

    fn function(&mut self, entry: &[V; 4]) {
        let saved: Vec<Gpr> =
            [3u8, 12, 13, 14, 15].into_iter().filter(|r| self.code.used & (1 << r) != 0).map(Gpr).collect();
        self.push(Inst::Push { src: Gpr::RBP });
        self.push(Inst::mov(Gpr::RBP, Gpr::RSP));
        for src in &saved {
            self.push(Inst::Push { src: *src });
        }
        let size = self.code.stack.next_multiple_of(64) as i32;
        self.push(Inst::alu(Alu::Sub, Gpr::RSP, size));
        self.push(Inst::alu(Alu::And, Gpr::RSP, -64));
        // Those that arrive in one register and live in another (or in memory) move; none lives where another arrives.
        for (v, r) in entry.iter().zip(crate::alloc::ENTRY) {
            match self.loc(*v) {
                Loc::Stack(at) => self.push(Inst::store(stack(i64::from(at)), Gpr(r))),
                Loc::Reg(_) | Loc::Pool(_) | Loc::None => {}
            }
        }
        for line in &self.code.lines {
            if !matches!(line, Line::Op(_) | Line::Comment(_)) {
                self.holds = [None; 2];
            }
            match line {
                Line::Op(op) => self.op(*op),
                Line::Comment(text) => self.asm.comment(format_args!("{text}")),
                Line::Begin(id) => self.begin(*id),
                Line::End(id) => self.end(*id),
                Line::If(mask, id) => {
                    let m = self.mask(*mask, 0);
                    self.push(Inst::MaskTest { op: MaskTest::Kortest, size: MaskSize::W16, a: m, b: m });
                    let over = self.asm.label();
                    self.push(Inst::Jcc { cond: Cond::E, to: over });
                    self.ifs.insert(*id, over);
                }
                Line::EndIf(id) => {
                    if let Some(over) = self.ifs.remove(id) {
                        self.asm.bind(over);
                    }
                }
            }
        }
        let streams = |line: &Line| matches!(line, Line::Op(Op::Store { shape: Shape::Stream, .. }));
        if self.code.lines.iter().any(streams) {
            // Stores past the caches are not ordered by themselves.
            self.push(Inst::Plain(Plain::Sfence));
        }
        self.push(Inst::Plain(Plain::Vzeroupper));
        self.push(Inst::Lea { dst: Gpr::RSP, src: Mem::base(Gpr::RBP).offset(-8 * saved.len() as i64) });
        for dst in saved.iter().rev() {
            self.push(Inst::Pop { dst: *dst });
        }
        self.push(Inst::Pop { dst: Gpr::RBP });
        self.push(Inst::RET);
    }

    fn begin(&mut self, id: usize) {
        let LoopLine { counter, end, may_be_empty, comment, .. } = &self.code.loops[id];
        if let Some(text) = comment {
            self.asm.comment(format_args!("{text}"));
        }
        let (head, after) = self.labels[id];
        if *may_be_empty {
            self.compare(*counter, *end);
            self.push(Inst::Jcc { cond: Cond::Ge, to: after });
        }
        self.asm.align(32);
        self.asm.bind(head);
    }

    fn end(&mut self, id: usize) {
        let code = self.code;
        let LoopLine { counter, step, end, inductions, .. } = &code.loops[id];
        for (v, by) in inductions {
            self.two(Two::Add, *v, *by);
        }
        self.two(Two::Add, *counter, Gen::Imm(*step));
        self.compare(*counter, *end);
        let (head, after) = self.labels[id];
        self.push(Inst::Jcc { cond: Cond::L, to: head });
        self.asm.bind(after);
    }

    fn loc(&self, v: V) -> Loc {
        self.code.locs[v.0 as usize]
    }

    fn width(&self, v: V) -> Width {
        self.code.widths[v.0 as usize]
    }

    /// The widest of a register and what else an operation is given.
    fn widest(&self, v: V, others: &[Src]) -> Width {
        let registers =
            others.iter().filter_map(|s| if let Src::Reg(v) = s { Some(self.width(*v)) } else { None });
        registers.fold(self.width(v), Width::max)
    }

    /// Bytes of a lane.
    fn lane(&self, v: V) -> usize {
        self.width(v).bytes() / self.code.lanes as usize
    }

    fn is_wide(&self, v: V) -> bool {
        self.lane(v) == 8
    }

    /// A constant that lies in memory once.
    fn pool(&mut self, bits: u64, lane: usize) -> Const {
        if lane == 8 { self.asm.constant(bits) } else { self.asm.constant(bits as u32) }
    }

    /// The number of a register that holds `v`: its own, or one of the temporaries of its class, loaded.
    fn held(&mut self, class: Class, v: V, temporary: usize) -> u8 {
        let at = self.loc(v);
        if let Loc::Reg(r) = at {
            return r;
        }
        let r = TEMPORARY[class as usize][temporary];
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
    fn target(&mut self, class: Class, v: V) -> u8 {
        match (self.loc(v), class) {
            (Loc::Reg(r), _) => r,
            (_, Class::Vector) => {
                // The first temporary may hold an operand.
                self.holds[1] = None;
                TEMPORARY[0][1]
            }
            (_, class) => TEMPORARY[class as usize][0],
        }
    }

    /// Puts what was written where it lives.
    fn written(&mut self, class: Class, v: V, r: u8) {
        let Loc::Stack(at) = self.loc(v) else { return };
        let dst = stack(i64::from(at));
        self.push(match class {
            Class::Vector => Inst::vec_store(VecStore::Movaps, self.width(v), dst, Vreg(r)),
            Class::Mask => Inst::MaskStore { size: MaskSize::Q64, dst, src: Mask(r) },
            Class::General => Inst::store(dst, Gpr(r)),
        });
    }

    fn general(&mut self, v: V, temporary: usize) -> Gpr {
        Gpr(self.held(Class::General, v, temporary))
    }

    fn general_to(&mut self, v: V) -> Gpr {
        Gpr(self.target(Class::General, v))
    }

    fn general_written(&mut self, v: V, r: Gpr) {
        self.written(Class::General, v, r.0);
    }

    fn vector(&mut self, v: V, temporary: usize) -> Vreg {
        Vreg(self.held(Class::Vector, v, temporary))
    }

    fn vector_to(&mut self, v: V) -> Vreg {
        Vreg(self.target(Class::Vector, v))
    }

    fn vector_written(&mut self, v: V, r: Vreg) {
        self.written(Class::Vector, v, r.0);
    }

    fn mask(&mut self, v: V, temporary: usize) -> Mask {
        Mask(self.held(Class::Mask, v, temporary))
    }

    fn mask_to(&mut self, v: V) -> Mask {
        Mask(self.target(Class::Mask, v))
    }

    fn mask_written(&mut self, v: V, r: Mask) {
        self.written(Class::Mask, v, r.0);
    }

    /// Puts the constant of `v` into a register.
    fn constant(&mut self, dst: Vreg, bits: u64, v: V) {
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

    fn addr(&mut self, a: Addr) -> Mem {
        let base = self.general(a.base, 0);
        let index = a.index.map(|i| (self.general(i, 1), Scale::S1));
        Mem { base: Base::Gpr(base), index, disp: i64::from(a.disp) }
    }

    fn src(&mut self, s: Src) -> VecSrc {
        match s {
            Src::Reg(v) => match self.loc(v) {
                Loc::Reg(r) => VecSrc::Reg(Vreg(r)),
                Loc::Stack(at) => VecSrc::Mem(stack(i64::from(at))),
                Loc::Pool(bits) => {
                    let lane = self.lane(v);
                    VecSrc::Broadcast(Mem::constant(self.pool(bits, lane)))
                }
                Loc::None => VecSrc::Reg(Vreg(TEMPORARY[0][0])),
            },
            Src::Mem(a) => VecSrc::Mem(self.addr(a)),
            Src::Broadcast(a) => VecSrc::Broadcast(self.addr(a)),
        }
    }

    /// The last operand of an instruction that takes elements of so many bytes once for all lanes; others go through a register.
    fn src_of(&mut self, s: Src, broadcasts: Option<usize>, temporary: usize) -> VecSrc {
        match s {
            Src::Reg(v) if matches!(self.loc(v), Loc::Pool(_)) && broadcasts != Some(self.lane(v)) => {
                VecSrc::Reg(self.vector(v, temporary))
            }
            _ => self.src(s),
        }
    }

    fn gen_src(&mut self, g: Gen, temporary: usize) -> GprSrc {
        match g {
            Gen::Imm(imm) => match i32::try_from(imm) {
                Ok(imm) => GprSrc::Imm(imm),
                Err(_) => {
                    let r = Gpr(TEMPORARY[2][temporary]);
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

    fn compare(&mut self, a: V, b: Gen) {
        let b = self.gen_src(b, 1);
        let a = self.general(a, 0);
        self.push(Inst::alu(Alu::Cmp, a, b));
    }

    fn two(&mut self, op: Two, dst: V, src: Gen) {
        if src == Gen::Imm(0) && matches!(op, Two::Add) {
            return;
        }
        // Sums can be made in memory.
        if let (Loc::Stack(at), Two::Add) = (self.loc(dst), op) {
            let by = match self.gen_src(src, 1) {
                GprSrc::Imm(i) => RegImm::Imm(i),
                GprSrc::Gpr(r) => RegImm::Gpr(r),
                GprSrc::Mem(m) => {
                    let r = Gpr(TEMPORARY[2][1]);
                    self.push(Inst::load(r, m));
                    RegImm::Gpr(r)
                }
            };
            self.push(Inst::AluMem { op: Alu::Add, size: Size::Q64, dst: stack(i64::from(at)), src: by });
            return;
        }
        let by = self.gen_src(src, 1);
        let r = self.general(dst, 0);
        match op {
            Two::Add => self.push(Inst::alu(Alu::Add, r, by)),
            Two::Mul => match by {
                GprSrc::Imm(imm) => {
                    self.push(Inst::ImulImm { size: Size::Q64, dst: r, src: Rm::Gpr(r), imm })
                }
                GprSrc::Gpr(s) => self.push(Inst::Imul { size: Size::Q64, dst: r, src: Rm::Gpr(s) }),
                GprSrc::Mem(m) => self.push(Inst::Imul { size: Size::Q64, dst: r, src: Rm::Mem(m) }),
            },
            Two::Min | Two::Max => {
                let from = match by {
                    GprSrc::Imm(imm) => {
                        self.push(Inst::StoreImm { size: MemSize::Q64, dst: stack(SAVE[2]), imm });
                        Rm::Mem(stack(SAVE[2]))
                    }
                    GprSrc::Gpr(s) => Rm::Gpr(s),
                    GprSrc::Mem(m) => Rm::Mem(m),
                };
                let compared = match from {
                    Rm::Gpr(s) => GprSrc::Gpr(s),
                    Rm::Mem(m) => GprSrc::Mem(m),
                };
                self.push(Inst::alu(Alu::Cmp, r, compared));
                let cond = if op == Two::Min { Cond::G } else { Cond::L };
                self.push(Inst::Cmov { cond, size: Size::Q64, dst: r, src: from });
            }
        }
        self.general_written(dst, r);
    }

    fn masking(&mut self, mask: Option<V>) -> Masking {
        match mask {
            None => Masking::NONE,
            Some(m) => Masking::zero(self.mask(m, 0)),
        }
    }

    fn keeping(&mut self, mask: Option<V>) -> Masking {
        match mask {
            None => Masking::NONE,
            Some(m) => Masking::keep(self.mask(m, 0)),
        }
    }

    fn op(&mut self, op: Op) {
        match op {
            Op::Vec2 { op, dst, src } => {
                let s = self.src_of(src, op.broadcasts(), 0);
                let d = self.vector_to(dst);
                self.push(Inst::vec2(op, self.widest(dst, &[src]), d, s));
                self.vector_written(dst, d);
            }
            Op::Vec2Imm { op, dst, src, imm } => {
                let s = self.src_of(src, op.broadcasts(), 0);
                let d = self.vector_to(dst);
                self.push(Inst::vec2_imm(op, self.widest(dst, &[src]), d, s, imm));
                self.vector_written(dst, d);
            }
            Op::Vec3 { op, dst, a, b } => {
                let width = self.widest(dst, &[Src::Reg(a), b]);
                let a = self.vector(a, 0);
                let b = self.src_of(b, op.broadcasts(), 1);
                let d = self.vector_to(dst);
                self.push(Inst::vec3(op, width, d, a, b));
                self.vector_written(dst, d);
            }
            Op::Vec3Imm { op, dst, a, b, imm } => {
                let width = self.widest(dst, &[Src::Reg(a), b]);
                let a = self.vector(a, 0);
                let b = self.src_of(b, op.broadcasts(), 1);
                let d = self.vector_to(dst);
                self.push(Inst::vec3_imm(op, width, d, a, b, imm));
                self.vector_written(dst, d);
            }
            Op::Shift { op, dst, src, count } => {
                let s = self.vector(src, 0);
                let d = self.vector_to(dst);
                self.push(Inst::vec_shift(op, self.width(dst), d, s, count));
                self.vector_written(dst, d);
            }
            Op::Down { op, dst, src } => {
                let s = self.vector(src, 0);
                let d = self.vector_to(dst);
                self.push(Inst::vec_store(op, self.width(src), d, s));
                self.vector_written(dst, d);
            }
            Op::Halved { dst, src } => {
                let s = self.vector(src, 0);
                let d = self.vector_to(dst);
                self.push(Inst::vec_store_imm(VecStoreImm::Cvtps2ph, self.width(src), d, s, 0));
                self.vector_written(dst, d);
            }
            Op::Update { op, dst, a, b, mask } => {
                let d = self.vector(dst, 1);
                let a = if a == dst { d } else { self.vector(a, 0) };
                let b = self.src(b);
                let masking = self.keeping(mask);
                self.push(Inst::Vec3 { op, width: self.width(dst), dst: d, a, b, masking });
                self.vector_written(dst, d);
            }
            Op::UpdateImm { op, dst, a, b, imm } => {
                let d = self.vector(dst, 1);
                let a = if a == dst { d } else { self.vector(a, 0) };
                let b = self.src(b);
                self.push(Inst::vec3_imm(op, self.width(dst), d, a, b, imm));
                self.vector_written(dst, d);
            }
            Op::Const { dst, bits } => {
                if let Loc::Reg(r) = self.loc(dst) {
                    self.constant(Vreg(r), bits, dst);
                }
            }
            Op::Lanes { dst, by } => {
                let lanes: [i32; 16] = std::array::from_fn(|n| by.wrapping_mul(n as i32));
                let c = self.asm.constant(lanes);
                let d = self.vector_to(dst);
                self.push(Inst::vec2(Vec2::Movups, self.width(dst), d, Mem::constant(c)));
                self.vector_written(dst, d);
            }
            Op::Table { dst, lanes } => {
                let c = self.asm.constant(lanes);
                let d = self.vector_to(dst);
                self.push(Inst::vec2(Vec2::Movups, self.width(dst), d, Mem::constant(c)));
                self.vector_written(dst, d);
            }
            Op::Move { dst, src } => {
                if self.loc(dst) == self.loc(src) {
                    return;
                }
                match (self.loc(dst), self.loc(src)) {
                    (Loc::Reg(d), Loc::Pool(bits)) => self.constant(Vreg(d), bits, src),
                    (Loc::Reg(d), _) => {
                        let s = self.src(Src::Reg(src));
                        self.push(Inst::vec2(Vec2::Movaps, self.width(dst), Vreg(d), s));
                    }
                    _ => {
                        let s = self.vector(src, 0);
                        self.vector_written(dst, s);
                    }
                }
            }
            Op::MoveMasked { dst, src, mask } => {
                let d = self.vector(dst, 1);
                let s = self.vector(src, 0);
                let masking = self.keeping(Some(mask));
                let op = if self.is_wide(dst) { Vec2::Movapd } else { Vec2::Movaps };
                self.push(Inst::Vec2 { op, width: self.width(dst), dst: d, src: VecSrc::Reg(s), masking });
                self.vector_written(dst, d);
            }
            Op::Blend { dst, mask, a, b } => {
                let a = self.vector(a, 0);
                let b = self.src(b);
                let masking = self.keeping(Some(mask));
                let op = if self.is_wide(dst) { Vec3::Blendmpd } else { Vec3::Blendmps };
                let d = self.vector_to(dst);
                self.push(Inst::Vec3 { op, width: self.width(dst), dst: d, a, b, masking });
                self.vector_written(dst, d);
            }
            Op::Load { dst, addr, shape, mask } => {
                let m = self.addr(addr);
                let d = self.vector_to(dst);
                let masking = self.masking(mask);
                let wide = self.is_wide(dst);
                let op = match shape {
                    Shape::Full | Shape::Stream if wide => Vec2::Movupd,
                    Shape::Full | Shape::Stream => Vec2::Movups,
                    Shape::Quads => Vec2::Movdqu64,
                    Shape::One if wide => Vec2::Broadcastsd,
                    Shape::One => Vec2::Broadcastss,
                    Shape::Extend(op) => op,
                    Shape::OneOf(1) => Vec2::Pbroadcastb,
                    Shape::OneOf(_) => Vec2::Pbroadcastw,
                    // Not of a load.
                    Shape::Cut(_) | Shape::Halves => return,
                };
                let masking = if matches!(shape, Shape::OneOf(_)) { Masking::NONE } else { masking };
                self.push(Inst::Vec2 { op, width: self.width(dst), dst: d, src: VecSrc::Mem(m), masking });
                self.vector_written(dst, d);
            }
            Op::Store { addr, src, shape, mask } => {
                let m = self.addr(addr);
                let s = self.vector(src, 0);
                let masking = self.keeping(mask);
                let (wide, width) = (self.is_wide(src), self.width(src));
                let (op, width) = match shape {
                    Shape::Full if wide => (VecStore::Movupd, width),
                    Shape::Full => (VecStore::Movups, width),
                    Shape::Quads => (VecStore::Movdqu64, width),
                    Shape::One if wide => (VecStore::Movsd, Width::X128),
                    Shape::One => (VecStore::Movss, Width::X128),
                    Shape::Stream => (VecStore::Movntps, width),
                    Shape::Cut(op) => (op, width),
                    Shape::Halves => {
                        let (op, dst) = (VecStoreImm::Cvtps2ph, VecDst::Mem(m));
                        self.push(Inst::VecStoreImm { op, width, dst, src: s, imm: 0, masking });
                        return;
                    }
                    Shape::OneOf(bytes) => {
                        self.store_small(m, s, bytes);
                        return;
                    }
                    // Not of a store.
                    Shape::Extend(_) => return,
                };
                self.push(Inst::VecStore { op, width, dst: VecDst::Mem(m), src: s, masking });
            }
            Op::Gather { dst, base, index, mask } => self.gather(dst, base, index, mask),
            Op::Scatter { base, index, src, mask } => self.scatter(base, index, src, mask),
            Op::GatherSmall { extend, dst, base, index, mask } => {
                self.gather_small(extend, dst, base, index, mask)
            }
            Op::ScatterSmall { bytes, base, index, src, mask } => {
                self.scatter_small(bytes, base, index, src, mask)
            }
            Op::CmpFloat { op, dst, a, b, predicate } => {
                let width = self.width(a);
                let a = self.vector(a, 0);
                let b = self.src(b);
                let d = self.mask_to(dst);
                self.push(Inst::CmpFloat { op, width, dst: d, a, b, predicate, mask: Mask::K0 });
                self.mask_written(dst, d);
            }
            Op::CmpInt { op, dst, a, b, predicate } => {
                let width = self.width(a);
                let a = self.vector(a, 0);
                let b = self.src(b);
                let d = self.mask_to(dst);
                self.push(Inst::CmpInt { op, width, dst: d, a, b, predicate, mask: Mask::K0 });
                self.mask_written(dst, d);
            }
            Op::Mask2 { op, dst, a, b } => {
                let a = self.mask(a, 0);
                let b = self.mask(b, 1);
                let d = self.mask_to(dst);
                self.push(Inst::MaskOp { op, size: MaskSize::W16, dst: d, a, b });
                self.mask_written(dst, d);
            }
            Op::MaskNot { dst, src } => {
                let s = self.mask(src, 1);
                let d = self.mask_to(dst);
                self.push(Inst::MaskNot { size: MaskSize::W16, dst: d, src: s });
                self.mask_written(dst, d);
            }
            Op::MaskUpper { dst, src } => {
                let s = self.mask(src, 1);
                let d = self.mask_to(dst);
                let op = MaskShift::Right;
                self.push(Inst::MaskShift { op, size: MaskSize::W16, dst: d, src: s, count: 8 });
                self.mask_written(dst, d);
            }
            Op::MaskMove { dst, src } => {
                let s = self.mask(src, 1);
                let d = self.mask_to(dst);
                if s != d {
                    self.push(Inst::MaskMov { size: MaskSize::W16, dst: d, src: s });
                }
                self.mask_written(dst, d);
            }
            Op::MaskFrom { dst, src } => {
                let s = self.general(src, 0);
                let d = self.mask_to(dst);
                self.push(Inst::MaskFromGpr { size: MaskSize::W16, dst: d, src: s });
                self.mask_written(dst, d);
            }
            Op::MaskConst { dst, bits } => {
                let d = self.mask_to(dst);
                self.push(Inst::StoreImm { size: MemSize::Q64, dst: stack(SAVE[2]), imm: i32::from(bits) });
                self.push(Inst::MaskLoad { size: MaskSize::W16, dst: d, src: stack(SAVE[2]) });
                self.mask_written(dst, d);
            }
            Op::MaskLanes { dst, src } => {
                let s = self.mask(src, 0);
                let d = self.vector_to(dst);
                let op = if self.is_wide(dst) { MaskToVec::Pmovm2q } else { MaskToVec::Pmovm2d };
                self.push(Inst::MaskToVec { op, width: self.width(dst), dst: d, src: s });
                self.vector_written(dst, d);
            }
            Op::LanesMask { dst, src } => {
                let s = self.vector(src, 0);
                let d = self.mask_to(dst);
                let b = VecSrc::Reg(s);
                let op = if self.is_wide(src) { VecTest::Ptestmq } else { VecTest::Ptestmd };
                let width = self.width(src);
                self.push(Inst::VecTest { op, width, dst: d, a: s, b, mask: Mask::K0 });
                self.mask_written(dst, d);
            }
            Op::Spread { dst, src } => {
                let s = self.general(src, 0);
                let d = self.vector_to(dst);
                let op =
                    if self.is_wide(dst) { BroadcastGpr::Pbroadcastq } else { BroadcastGpr::Pbroadcastd };
                let (width, masking) = (self.width(dst), Masking::NONE);
                self.push(Inst::BroadcastGpr { op, width, dst: d, src: s, masking });
                self.vector_written(dst, d);
            }
            Op::DivideLanes { dst, a, b, signed } => self.divide_lanes(dst, a, b, signed),
            Op::LoadInt { dst, addr, wide } => {
                let m = self.addr(addr);
                let d = self.general_to(dst);
                self.push(match wide {
                    true => Inst::load(d, m),
                    false => {
                        Inst::LoadExtend { extend: Extend::Sx32, size: Size::Q64, dst: d, src: Rm::Mem(m) }
                    }
                });
                self.general_written(dst, d);
            }
            Op::Slot { dst, table, slot } => {
                let t = self.general(table, 0);
                let d = self.general_to(dst);
                self.push(Inst::load(d, Mem::base(t).offset(8 * i64::from(slot))));
                self.general_written(dst, d);
            }
            Op::Imm { dst, imm } => {
                let d = self.general_to(dst);
                self.push(Inst::MovImm { dst: d, imm: imm as u64 });
                self.general_written(dst, d);
            }
            Op::Mov { dst, src } => {
                if self.loc(dst) == self.loc(src) {
                    return;
                }
                let s = self.general(src, 0);
                match self.loc(dst) {
                    Loc::Reg(d) => self.push(Inst::mov(Gpr(d), s)),
                    _ => self.general_written(dst, s),
                }
            }
            Op::Two { op, dst, src } => self.two(op, dst, src),
            Op::Lea { dst, base, index, disp } => {
                let b = self.general(base, 0);
                let mut m = Mem::base(b).offset(i64::from(disp));
                if let Some((i, scale)) = index {
                    let i = self.general(i, 1);
                    m = m.index(i, Scale::of(usize::from(scale)).unwrap_or(Scale::S1));
                }
                let d = self.general_to(dst);
                self.push(Inst::Lea { dst: d, src: m });
                self.general_written(dst, d);
            }
            Op::MulImm { dst, src, imm } => {
                let s = self.general(src, 0);
                let d = self.general_to(dst);
                if imm > 0 && imm & (imm - 1) == 0 {
                    if s != d {
                        self.push(Inst::mov(d, s));
                    }
                    if imm > 1 {
                        let count = crate::asm::Count::Imm(imm.trailing_zeros() as u8);
                        self.push(Inst::Shift { op: Shift::Shl, size: Size::Q64, dst: d, count });
                    }
                } else {
                    self.push(Inst::ImulImm { size: Size::Q64, dst: d, src: Rm::Gpr(s), imm });
                }
                self.general_written(dst, d);
            }
            Op::Divide { dst, src, by, remainder, negative } => {
                self.divide(dst, src, by, remainder, negative)
            }
            Op::Within { dst, src, end } => {
                let end = self.gen_src(end, 1);
                let s = self.general(src, 0);
                self.push(Inst::alu(Alu::Cmp, s, end));
                let d = self.general_to(dst);
                self.push(Inst::alu(Alu::Sbb, d, d));
                self.general_written(dst, d);
            }
            Op::Bmi { op, dst, src, count } => {
                let s = self.general(src, 0);
                let count = self.general(count, 1);
                let d = self.general_to(dst);
                self.push(Inst::Bmi { op, size: Size::Q64, dst: d, src: Rm::Gpr(s), count });
                self.general_written(dst, d);
            }
            Op::Prefetch { addr, hint } => {
                let src = self.addr(addr);
                self.push(Inst::Prefetch { hint, src });
            }
        }
    }
}

const _: () = assert!(VECTORS[0] >= SAVE[2] + 8 && HEAD as i64 >= VECTORS[1] + 64);
