//! The most that this machine can do, measured by kernels that do nothing else.
//!
//! Multiply-adds without loads, dot products of bytes, loads without arithmetic from a working set of a given size, and copies
//! and `a = b + s·c` over arrays in main memory with stores that go past the caches. The kernels are written with the
//! assembler and run on a team like any other program, so that clocks and threads are the same as for what they are
//! compared with. `measure.rs` makes the rates of a machine of them.
#![allow(unsafe_code)]

use crate::asm::{
    Alu, AsmError, Assembler, Code, Cond, Gpr, Inst, Level, Mem, Plain, Vec2, Vec3, VecStore, Vreg, Width,
};
use crate::exec::{CodeBuilder, Entry, ExecutableMemory};
use crate::memory::Memory;
use crate::team::Team;
use lawson_graph::{Error, Result};
use std::time::Instant;

/// What a rate is compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Limit {
    /// Multiply-adds of 512 bits; the rate is that of floating-point operations.
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

/// Independent sums: enough to hide the latency of a multiply-add on two ports.
const SUMS: u8 = 24;
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

const W: Width = Width::Z512;
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

/// A loop from the first iteration to the last around `body`; nothing if there are none.
fn looped(body: impl FnOnce(&mut Assembler)) -> Result<Code> {
    let mut asm = Assembler::new(Level::Avx512);
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

fn fma() -> Result<Code> {
    looped(|asm| {
        for sum in 0..SUMS {
            asm.push(Inst::vec3(Vec3::Fmadd231ps, W, Vreg(sum), Vreg(30), Vreg(31)));
        }
    })
}

fn dot() -> Result<Code> {
    looped(|asm| {
        for sum in 0..SUMS {
            asm.push(Inst::vec3(Vec3::Pdpbusd, W, Vreg(sum), Vreg(30), Vreg(31)));
        }
    })
}

/// Reads from the address in the scratch argument on.
fn read() -> Result<Code> {
    looped(|asm| {
        for (n, at) in (0..READ_STEP as i64).step_by(64).enumerate() {
            let from = Mem::base(Gpr::RCX).offset(at);
            asm.push(Inst::vec2(Vec2::Movups, W, Vreg(n as u8), from));
        }
        asm.push(Inst::alu(Alu::Add, Gpr::RCX, READ_STEP as i32));
    })
}

/// From the address in the scratch argument on: the first array, and the one that is copied behind it.
fn copy() -> Result<Code> {
    looped(|asm| {
        for (n, at) in (0..TRIAD_STEP as i64).step_by(64).enumerate() {
            let place = |array: i64| Mem::base(Gpr::RCX).offset(at + array * TRIAD_BYTES as i64);
            let line = Vreg(n as u8);
            asm.push(Inst::vec2(Vec2::Movups, W, line, place(1)));
            asm.push(Inst::vec_store(VecStore::Movntps, W, place(0), line));
        }
        asm.push(Inst::alu(Alu::Add, Gpr::RCX, TRIAD_STEP as i32));
    })
}

/// From the address in the scratch argument on: the first array, and the others behind it.
fn triad() -> Result<Code> {
    looped(|asm| {
        for (n, at) in (0..TRIAD_STEP as i64).step_by(64).enumerate() {
            let place = |array: i64| Mem::base(Gpr::RCX).offset(at + array * TRIAD_BYTES as i64);
            let sum = Vreg(n as u8);
            asm.push(Inst::vec2(Vec2::Movups, W, sum, place(1)));
            asm.push(Inst::vec3(Vec3::Fmadd231ps, W, sum, Vreg(31), place(2)));
            asm.push(Inst::vec_store(VecStore::Movntps, W, place(0), sum));
        }
        asm.push(Inst::alu(Alu::Add, Gpr::RCX, TRIAD_STEP as i32));
    })
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
    /// For a team; fails on a processor without AVX-512.
    pub fn new(team: &Team) -> Result<Limits> {
        if !std::arch::is_x86_feature_detected!("avx512f") {
            return Err(Error::new(lawson_graph::Code::NotLowered, "this processor has no AVX-512"));
        }
        let mut builder = CodeBuilder::new();
        let (fma, read) = (builder.add(&fma()?), builder.add(&read()?));
        let (copy, triad) = (builder.add(&copy()?), builder.add(&triad()?));
        let dot = match std::arch::is_x86_feature_detected!("avx512vnni") {
            true => Some(builder.add(&dot()?)),
            false => None,
        };
        let code = builder.finish().map_err(|e| Error::internal(format!("executable memory: {e}")))?;
        let memory = memory(0)?;
        Ok(Limits { team: team.clone(), code, fma, dot, read, copy, triad, block: BLOCK, memory })
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
            Limit::Fma => (self.fma, 0, 1 << 12, f64::from(SUMS) * 32.0 * members),
            Limit::Dot => {
                let missing = || Error::new(lawson_graph::Code::NotLowered, "this processor has no VNNI");
                (self.dot.ok_or_else(missing)?, 0, 1 << 12, f64::from(SUMS) * members)
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
