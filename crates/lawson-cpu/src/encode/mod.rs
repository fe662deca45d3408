//! From allocated code to the machine's instructions: the function around the code, loops, and arithmetic in general registers.
//!
//! `operand.rs` finds operands, `op.rs` writes operations that are one instruction or two, `sequence.rs` those that are several.

mod op;
mod operand;
mod sequence;

use crate::alloc::{Allocated, HEAD, Line, Loc, LoopLine};
use crate::asm::{
    Alu, AsmError, Assembler, Code, Cond, Gpr, GprSrc, Inst, Label, Mem, MemSize, Plain, RegImm, Rm, Size,
    Width,
};
use crate::code::{Access, Advance, Class, Gen, Op, Shape, Two, V};
use std::ops::Range;

/// Words at the top of the stack: saved registers and operands.
const SAVE: [i64; 3] = [0, 8, 16];
/// Two vectors there, whose lanes are worked on one by one.
const VECTORS: [i64; 2] = [64, 128];

struct Encoder<'a> {
    asm: Assembler,
    code: &'a Allocated,
    labels: Vec<(Label, Label)>,
    /// Rare code that is not yet written.
    rare: Vec<Rare>,
    /// The constants that the temporaries of the vectors hold: points side by side want the same one after another.
    holds: [Option<(u64, Width)>; 2],
}

/// Code that stands behind the function, so that what is common goes straight on.
struct Rare {
    /// Where it begins.
    entry: Label,
    /// Where the function goes on.
    back: Label,
    lines: Range<usize>,
}

/// The machine code of a function with the C calling convention: argument table, first and one past the last parallel
/// iteration, scratch.
pub fn encode(code: &Allocated, entry: &[V; 4], listing: bool) -> Result<Code, AsmError> {
    let mut asm = if listing { Assembler::with_listing(code.level) } else { Assembler::new(code.level) };
    let labels = code.loops.iter().map(|_| (asm.label(), asm.label())).collect();
    let mut e = Encoder { asm, code, labels, rare: Vec::new(), holds: [None; 2] };
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
        self.lines(0..self.code.lines.len());
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
        while let Some(Rare { entry, back, lines }) = self.rare.pop() {
            self.asm.comment(format_args!("where some lane needs it"));
            self.asm.bind(entry);
            self.lines(lines);
            self.push(Inst::Jmp { to: back });
        }
    }

    fn lines(&mut self, lines: Range<usize>) {
        let code = self.code;
        let mut n = lines.start;
        self.holds = [None; 2];
        while n < lines.end {
            let line = &code.lines[n];
            if !matches!(line, Line::Op(_) | Line::Comment(_)) {
                self.holds = [None; 2];
            }
            match line {
                Line::Op(op) => {
                    self.op(*op);
                    self.forget_written(*op);
                }
                Line::Comment(text) => self.asm.comment(format_args!("{text}")),
                Line::Begin(id) => self.begin(*id),
                Line::End(id) => self.end(*id),
                Line::If { mask, end } => {
                    self.test_any(*mask);
                    let (entry, back) = (self.asm.label(), self.asm.label());
                    self.push(Inst::Jcc { cond: Cond::Ne, to: entry });
                    self.asm.bind(back);
                    self.rare.push(Rare { entry, back, lines: n + 1..*end });
                    n = *end;
                }
                Line::EndIf => {}
            }
            n += 1;
        }
    }

    /// What an operation wrote to a temporary that is also a register is not the constant that it held.
    fn forget_written(&mut self, mut op: Op) {
        if !self.code.shares_temporaries || self.holds == [None; 2] {
            return;
        }
        let code = self.code;
        let kept = self.temporary(Class::Vector);
        let holds = &mut self.holds;
        op.visit(&mut |v, access| {
            if let (Loc::Reg(r), Access::Def | Access::Both) = (code.locs[v.0 as usize], access)
                && let Some(at) = kept.iter().position(|k| *k == r)
            {
                holds[at] = None;
            }
        });
    }

    fn begin(&mut self, id: usize) {
        let LoopLine { counter, advance, may_be_empty, comment, .. } = &self.code.loops[id];
        if let Some(text) = comment {
            self.asm.comment(format_args!("{text}"));
        }
        let (head, after) = self.labels[id];
        if *may_be_empty {
            let cond = match advance {
                Advance::By { end, .. } => {
                    self.compare(*counter, *end);
                    Cond::Ge
                }
                Advance::Bits => {
                    let r = self.general(*counter, 0);
                    self.push(Inst::Test { size: Size::Q64, a: r, b: RegImm::Gpr(r) });
                    Cond::E
                }
            };
            self.push(Inst::Jcc { cond, to: after });
        }
        self.asm.align(32);
        self.asm.bind(head);
    }

    fn end(&mut self, id: usize) {
        let code = self.code;
        let LoopLine { counter, advance, inductions, .. } = &code.loops[id];
        for (v, by) in inductions {
            self.two(Two::Add, *v, *by);
        }
        let cond = match advance {
            Advance::By { step, end } => {
                self.two(Two::Add, *counter, Gen::Imm(*step));
                self.compare(*counter, *end);
                Cond::L
            }
            Advance::Bits => {
                let r = self.general(*counter, 0);
                self.push(Inst::Blsr { size: Size::Q64, dst: r, src: Rm::Gpr(r) });
                self.general_written(*counter, r);
                Cond::Ne
            }
        };
        let (head, after) = self.labels[id];
        self.push(Inst::Jcc { cond, to: head });
        self.asm.bind(after);
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
                    let r = Gpr(self.temporary(Class::General)[1]);
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
            Two::Sub => self.push(Inst::alu(Alu::Sub, r, by)),
            Two::And => self.push(Inst::alu(Alu::And, r, by)),
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
}

const _: () = assert!(VECTORS[0] >= SAVE[2] + 8 && HEAD as i64 >= VECTORS[1] + 64);
