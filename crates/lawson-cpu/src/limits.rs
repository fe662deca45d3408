//! The most that this machine can do, measured by kernels that do nothing else.
//!
//! Multiply-adds without loads, dot products of bytes, loads without arithmetic from a working set of a given size, and copies
//! and `a = b + s·c` over arrays in main memory with stores that go past the caches. The kernels are written with the
//! assembler and run on a team like any other program, so that clocks and threads are the same as for what they are
//! compared with. `measure.rs` makes the rates of a machine of them.
#![allow(unsafe_code)]

use crate::Isa;
use crate::asm::{
    Alu, AsmError, Assembler, Code, Cond, Gpr, Inst, Level, Mem, Plain, Vec2, Vec3, VecStore, Vreg, Width,
};
use crate::exec::{CodeBuilder, Entry, ExecutableMemory};
use crate::host::{has_dots, missing_feature};
use crate::memory::Memory;
use crate::team::Team;
use lawson_graph::{Error, Result};
use std::time::Instant;

/// What a rate is compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Limit {
    /// Multiply-adds of whole vectors; the rate is that of floating-point operations.
    Fma,
    /// Dot products of four bytes a lane, of 512 bits; the rate is that of instructions.
    Dot,
    /// Reading a working set of so many bytes again and again.
    Read(usize),
    /// `a = b` in main memory with non-temporal stores.
    Copy,
    /// `a = b + s·c` in main memory with non-temporal stores.
    Triad,
}

/// One measurement of a limit: operations or bytes a second, over slices of a block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// In the slice in the middle.
    pub median: f64,
    /// In the fastest one.
    pub best: f64,
}

/// Measures limits on a team.
#[derive(Debug)]
pub struct Limits {
    team: Team,
    loops: Loops,
    code: ExecutableMemory,
    fma: Entry,
    dot: Option<Entry>,
    read: Entry,
    copy: Entry,
    triad: Entry,
    /// How long one measurement takes at least, in seconds.
    block: f64,
    /// What is read or written, grown as needed.
    memory: Memory,
}

/// The instructions that the kernels are made of.
#[derive(Clone, Copy, Debug)]
struct Loops {
    level: Level,
    width: Width,
    /// Independent sums: enough to hide the latency of a multiply-add on two ports.
    sums: u8,
    /// The last register, and the one before: what is multiplied.
    factors: [Vreg; 2],
}
/// Bytes that one iteration of the reading loop reads.
const READ_STEP: usize = 1024;
/// Bytes of each array that one iteration of the triad works on.
const TRIAD_STEP: usize = 256;
/// The bytes of each array of the triad.
const TRIAD_BYTES: usize = 64 << 20;
/// How long one measurement takes at least if nothing else is said, and how long a look at the clock is apart from the next, in
/// seconds.
const BLOCK: f64 = 0.01;
const SLICE: f64 = 0.0005;

/// The first iteration, later the current one, and one past the last: how kernels are called.
const AT: Gpr = Gpr::RSI;
const END: Gpr = Gpr::RDX;

fn unassembled(e: &AsmError) -> Error {
    Error::internal(format!("a limit cannot be assembled: {e}"))
}

/// The median, or the greater of the two in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Loops {
    /// Those that a way of running has, if it is machine code.
    fn of(isa: Isa) -> Option<Loops> {
        let (width, sums, registers) = match isa.level()? {
            Level::Avx512 => (Width::Z512, 24, 32),
            Level::Avx2 => (Width::Y256, 12, 16),
        };
        Some(Loops { level: isa.level()?, width, sums, factors: [Vreg(registers - 2), Vreg(registers - 1)] })
    }

    /// Floating-point operations of one round of sums.
    fn flops(self) -> f64 {
        f64::from(self.sums) * 2.0 * (self.width.bytes() / 4) as f64
    }

    /// A loop from the first iteration to the last around `body`; nothing if there are none.
    fn looped(self, body: impl FnOnce(&mut Assembler)) -> Result<Code> {
        let mut asm = Assembler::new(self.level);
        let (head, done) = (asm.label(), asm.label());
        asm.push(Inst::alu(Alu::Sub, END, AT));
        asm.push(Inst::Jcc { cond: Cond::Le, to: done });
        asm.align(64);
        asm.bind(head);
        body(&mut asm);
        asm.push(Inst::alu(Alu::Sub, END, 1));
        asm.push(Inst::Jcc { cond: Cond::Ne, to: head });
        asm.bind(done);
        asm.push(Inst::Plain(Plain::Sfence));
        asm.push(Inst::Plain(Plain::Vzeroupper));
        asm.push(Inst::RET);
        asm.finish().map_err(|e| unassembled(&e))
    }

    /// An instruction of two factors for each of the sums.
    fn sums(self, op: Vec3) -> Result<Code> {
        let [a, b] = self.factors;
        self.looped(|asm| {
            for sum in 0..self.sums {
                asm.push(Inst::vec3(op, self.width, Vreg(sum), a, b));
            }
        })
    }

    /// The places of the vectors of so many bytes, each with a register, of which there may be fewer.
    fn vectors(self, bytes: usize) -> impl Iterator<Item = (Vreg, i64)> {
        let places = (0..bytes as i64).step_by(self.width.bytes());
        (0..self.sums).map(Vreg).cycle().zip(places)
    }

    /// Reads from the address in the scratch argument on.
    fn read(self) -> Result<Code> {
        self.looped(|asm| {
            for (to, at) in self.vectors(READ_STEP) {
                asm.push(Inst::vec2(Vec2::Movups, self.width, to, Mem::base(Gpr::RCX).offset(at)));
            }
            asm.push(Inst::alu(Alu::Add, Gpr::RCX, READ_STEP as i32));
        })
    }

    /// From the address in the scratch argument on: the first array, and the one that is copied behind it.
    fn copy(self) -> Result<Code> {
        self.looped(|asm| {
            for (line, at) in self.vectors(TRIAD_STEP) {
                asm.push(Inst::vec2(Vec2::Movups, self.width, line, array(1, at)));
                asm.push(Inst::vec_store(VecStore::Movntps, self.width, array(0, at), line));
            }
            asm.push(Inst::alu(Alu::Add, Gpr::RCX, TRIAD_STEP as i32));
        })
    }

    /// From the address in the scratch argument on: the first array, and the others behind it.
    fn triad(self) -> Result<Code> {
        self.looped(|asm| {
            for (sum, at) in self.vectors(TRIAD_STEP) {
                asm.push(Inst::vec2(Vec2::Movups, self.width, sum, array(1, at)));
                asm.push(Inst::vec3(Vec3::Fmadd231ps, self.width, sum, self.factors[1], array(2, at)));
                asm.push(Inst::vec_store(VecStore::Movntps, self.width, array(0, at), sum));
            }
            asm.push(Inst::alu(Alu::Add, Gpr::RCX, TRIAD_STEP as i32));
        })
    }
}

/// A place in an array of the triad, whose first begins at the address in the scratch argument.
fn array(number: i64, at: i64) -> Mem {
    Mem::base(Gpr::RCX).offset(at + number * TRIAD_BYTES as i64)
}

fn memory(bytes: usize) -> Result<Memory> {
    Memory::zeroed(bytes).map_err(|e| Error::new(lawson_graph::Code::Budget, e.to_string()))
}

/// An address that members of a team use during a run.
#[derive(Clone, Copy)]
struct Shared(*mut u8);

// SAFETY: members touch disjoint parts, or only read.
unsafe impl Send for Shared {}
// SAFETY: as for `Send`.
unsafe impl Sync for Shared {}

impl Limits {
    /// For a team, with the best instructions that this processor has; fails where it has none that Lawson emits.
    pub fn new(team: &Team) -> Result<Limits> {
        let loops = Loops::of(Isa::best()).ok_or_else(|| {
            let missing = missing_feature().unwrap_or("what machine code needs");
            let what = format!("measuring needs machine code, and this machine has no {missing}");
            Error::new(lawson_graph::Code::NotLowered, what)
        })?;
        let mut builder = CodeBuilder::new();
        let (fma, read) = (builder.add(&loops.sums(Vec3::Fmadd231ps)?), builder.add(&loops.read()?));
        let (copy, triad) = (builder.add(&loops.copy()?), builder.add(&loops.triad()?));
        let dot = match loops.level == Level::Avx512 && has_dots() {
            true => Some(builder.add(&loops.sums(Vec3::Pdpbusd)?)),
            false => None,
        };
        let code = builder.finish().map_err(|e| Error::internal(format!("executable memory: {e}")))?;
        let memory = memory(0)?;
        Ok(Limits { team: team.clone(), loops, code, fma, dot, read, copy, triad, block: BLOCK, memory })
    }

    /// Makes each measurement take at least so many seconds.
    pub fn block(mut self, seconds: f64) -> Limits {
        self.block = seconds;
        self
    }

    /// Whether this processor multiplies bytes.
    pub fn has_dot(&self) -> bool {
        self.dot.is_some()
    }

    /// Takes the memory that is measured on.
    fn grow(&mut self, bytes: usize) -> Result<()> {
        if self.memory.len() < bytes {
            self.memory = memory(bytes)?;
            self.memory.as_mut_slice().fill(0);
        }
        Ok(())
    }

    /// The rate at which so many bytes are read once, on this thread, that were read and then left alone for so many seconds.
    pub fn read_after(&mut self, bytes: usize, wait: f64) -> Result<f64> {
        let steps = bytes.div_ceil(READ_STEP);
        self.grow(steps * READ_STEP)?;
        let kernel =
            self.code.kernel(self.read).ok_or_else(|| Error::internal("a kernel that is nowhere"))?;
        let start = self.memory.as_mut_ptr();
        // SAFETY: the kernel was assembled for these arguments, this processor has its instructions, and so many steps lie in the memory.
        let once = || unsafe { kernel(std::ptr::null(), 0, steps as i64, start) };
        once();
        once();
        let left = Instant::now();
        while left.elapsed().as_secs_f64() < wait {
            std::hint::spin_loop();
        }
        let begin = Instant::now();
        once();
        Ok((steps * READ_STEP) as f64 / begin.elapsed().as_secs_f64())
    }

    /// One measurement.
    pub fn measure(&mut self, limit: Limit) -> Result<Measured> {
        let members = self.team.members() as f64;
        let (entry, bytes, iterations, each) = match limit {
            Limit::Fma => (self.fma, 0, 1 << 12, self.loops.flops() * members),
            Limit::Dot => {
                let missing = || Error::new(lawson_graph::Code::NotLowered, "this processor has no VNNI");
                (self.dot.ok_or_else(missing)?, 0, 1 << 12, f64::from(self.loops.sums) * members)
            }
            Limit::Copy => (self.copy, 2 * TRIAD_BYTES, TRIAD_BYTES / TRIAD_STEP, 2.0 * TRIAD_STEP as f64),
            Limit::Read(bytes) => {
                let steps = bytes.div_ceil(READ_STEP * self.team.members()) * self.team.members();
                (self.read, steps * READ_STEP, steps, READ_STEP as f64)
            }
            Limit::Triad => (self.triad, 3 * TRIAD_BYTES, TRIAD_BYTES / TRIAD_STEP, 3.0 * TRIAD_STEP as f64),
        };
        self.grow(bytes)?;
        let kernel = self.code.kernel(entry).ok_or_else(|| Error::internal("a kernel that is nowhere"))?;
        let start = Shared(self.memory.as_mut_ptr());
        let step = match limit {
            Limit::Fma | Limit::Dot => 0,
            Limit::Read(_) => READ_STEP,
            Limit::Copy | Limit::Triad => TRIAD_STEP,
        };
        let once = |times: usize| {
            self.team.run(|member| {
                let Shared(start) = { start };
                let share = match limit {
                    Limit::Fma | Limit::Dot => 0..iterations,
                    Limit::Read(_) | Limit::Copy | Limit::Triad => member.share(iterations),
                };
                for _ in 0..times {
                    // SAFETY: the kernel was assembled for these arguments, this processor has its instructions, and the
                    // share lies in the memory.
                    unsafe {
                        let from = start.wrapping_add(share.start * step);
                        kernel(std::ptr::null(), share.start as i64, share.end as i64, from);
                    }
                }
            });
        };
        once(1);
        let mut times = 1;
        let mut rates = Vec::new();
        let begin = Instant::now();
        while rates.is_empty() || begin.elapsed().as_secs_f64() < self.block {
            let slice = Instant::now();
            once(times);
            let seconds = slice.elapsed().as_secs_f64();
            if seconds >= SLICE {
                rates.push((times * iterations) as f64 * each / seconds);
            } else {
                times = (times as f64 * (1.2 * SLICE / seconds).clamp(1.5, 1000.0)).ceil() as usize;
            }
        }
        let best = rates.iter().copied().fold(0.0, f64::max);
        Ok(Measured { median: median(rates), best })
    }
}
