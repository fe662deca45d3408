//! From a list of instructions to bytes with every jump and constant in place.
//!
//! [`Assembler::push`] encodes at once; what is wrong is remembered and comes out of [`Assembler::finish`], so that
//! emitters need not check after every instruction. Jumps back are short where they reach, jumps ahead are near.

use std::fmt;

use super::bytes::{Bytes, Patch};
use super::error::{AsmError, Problem};
use super::inst::Inst;
use super::listing::{Entry, Line, disassemble};
use super::operand::{Base, Const, Label};
use super::pool::{ConstData, Pool};
use super::scalar::{self, LONGEST_NOP, nop};
use super::vector::{self, Level};

/// Puts a piece of code together.
///
/// ```
/// use lawson_cpu::asm::{Alu, Assembler, Gpr, Inst, Level};
///
/// let mut asm = Assembler::new(Level::Avx512);
/// asm.push(Inst::mov(Gpr::RAX, Gpr::RDI));
/// asm.push(Inst::alu(Alu::Add, Gpr::RAX, 1));
/// asm.push(Inst::RET);
/// let code = asm.finish()?;
/// assert_eq!(code.bytes(), [0x48, 0x8B, 0xC7, 0x48, 0x83, 0xC0, 0x01, 0xC3]);
/// # Ok::<(), lawson_cpu::asm::AsmError>(())
/// ```
pub struct Assembler {
    level: Level,
    bytes: Vec<u8>,
    /// Where each label is bound.
    labels: Vec<Option<usize>>,
    fixups: Vec<Fixup>,
    pool: Pool,
    pushed: usize,
    listing: Option<Vec<Entry>>,
    error: Option<AsmError>,
}

/// Four bytes of code that become `target + disp`, relative to `from`.
struct Fixup {
    at: usize,
    from: usize,
    target: Base,
    disp: i32,
}

/// Finished code: instructions, then constants. It runs at any address that is a multiple of [`Code::ALIGNMENT`].
#[derive(Debug)]
pub struct Code {
    bytes: Vec<u8>,
    instructions: usize,
    labels: Vec<Option<usize>>,
    disassembly: Option<String>,
}

impl Assembler {
    /// Nothing yet, for a machine of this level.
    pub fn new(level: Level) -> Assembler {
        Assembler {
            level,
            bytes: Vec::with_capacity(4096),
            labels: Vec::new(),
            fixups: Vec::new(),
            pool: Pool::default(),
            pushed: 0,
            listing: None,
            error: None,
        }
    }

    /// The same, keeping what [`Code::disassembly`] needs: instructions and comments.
    pub fn with_listing(level: Level) -> Assembler {
        Assembler { listing: Some(Vec::new()), ..Assembler::new(level) }
    }

    /// The level assembled for.
    pub fn level(&self) -> Level {
        self.level
    }

    /// How many bytes stand so far.
    pub fn offset(&self) -> usize {
        self.bytes.len()
    }

    /// Appends an instruction.
    pub fn push(&mut self, inst: Inst) {
        let offset = self.bytes.len();
        let encoded = match inst {
            Inst::Jcc { cond, to } => {
                self.jump(to, &[0x70 | cond as u8], &[0x0F, 0x80 | cond as u8]);
                Ok(())
            }
            Inst::Jmp { to } => {
                self.jump(to, &[0xEB], &[0xE9]);
                Ok(())
            }
            _ => self.encode(&inst),
        };
        if let Err(problem) = encoded {
            self.fail(AsmError::Inst { index: self.pushed, inst, problem });
        }
        self.pushed += 1;
        self.note(offset, || Line::Inst(inst));
    }

    fn encode(&mut self, inst: &Inst) -> Result<(), Problem> {
        let mut out = Bytes::default();
        if !vector::encode(inst, self.level, &mut out)? {
            scalar::encode(inst, &mut out)?;
        }
        debug_assert!(out.len() > 0, "{inst} has no encoder");
        let start = self.bytes.len();
        out.append_to(&mut self.bytes);
        if let Some(Patch { at, target, disp }) = out.patch {
            self.fixups.push(Fixup { at: start + at, from: self.bytes.len(), target, disp });
        }
        Ok(())
    }

    fn jump(&mut self, to: Label, short: &[u8], near: &[u8]) {
        let start = self.bytes.len();
        if let Some(&Some(target)) = self.labels.get(to.0 as usize) {
            let distance = target as i64 - (start + short.len() + 1) as i64;
            if let Ok(distance) = i8::try_from(distance) {
                self.bytes.extend_from_slice(short);
                self.bytes.push(distance as u8);
                return;
            }
        }
        self.bytes.extend_from_slice(near);
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        self.fixups.push(Fixup { at, from: at + 4, target: Base::Label(to), disp: 0 });
    }

    /// A label to bind later, or never if nothing refers to it.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// Puts `label` before the next instruction.
    pub fn bind(&mut self, label: Label) {
        let offset = self.bytes.len();
        match self.labels.get_mut(label.0 as usize) {
            Some(place @ None) => *place = Some(offset),
            Some(Some(_)) => self.fail(AsmError::BoundTwice(label)),
            None => self.fail(AsmError::Unbound(label)),
        }
        self.note(offset, || Line::Label(label));
    }

    /// Fills with no-ops up to a multiple of `to` bytes, a power of two up to 64; for the heads of loops.
    pub fn align(&mut self, to: usize) {
        if !to.is_power_of_two() || to > Code::ALIGNMENT {
            return self.fail(AsmError::Alignment(to));
        }
        let mut missing = self.bytes.len().next_multiple_of(to) - self.bytes.len();
        while let Some(bytes) = nop(missing.min(LONGEST_NOP)) {
            let offset = self.bytes.len();
            self.bytes.extend_from_slice(bytes);
            self.note(offset, || Line::Inst(Inst::Nop { bytes: bytes.len() as u8 }));
            missing -= bytes.len();
        }
    }

    /// A constant after the code; equal ones share their place. Read it through [`super::Mem::constant`].
    pub fn constant(&mut self, data: impl Into<ConstData>) -> Const {
        self.pool.add(data.into())
    }

    /// A line of the disassembly before the next instruction. Formats and keeps it only in a listing.
    pub fn comment(&mut self, comment: fmt::Arguments<'_>) {
        self.note(self.bytes.len(), || Line::Comment(comment.to_string()));
    }

    fn note(&mut self, offset: usize, line: impl FnOnce() -> Line) {
        if let Some(listing) = &mut self.listing {
            listing.push(Entry { offset, line: line() });
        }
    }

    fn fail(&mut self, error: AsmError) {
        self.error.get_or_insert(error);
    }

    /// Appends the constants and resolves every reference; the first mistake made on the way is the error.
    pub fn finish(mut self) -> Result<Code, AsmError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let instructions = self.bytes.len();
        let pool = self.pool.place(&mut self.bytes);
        for Fixup { at, from, target, disp } in &self.fixups {
            let target = match *target {
                Base::Label(label) => {
                    self.labels.get(label.0 as usize).copied().flatten().ok_or(AsmError::Unbound(label))?
                }
                Base::Const(constant) if self.pool.has(constant) => pool.of(constant),
                Base::Const(constant) => return Err(AsmError::ForeignConst(constant)),
                Base::None | Base::Gpr(_) => 0,
            };
            let relative = target as i64 + i64::from(*disp) - *from as i64;
            let relative = i32::try_from(relative).map_err(|_| AsmError::TooLong)?;
            if let Some(place) = self.bytes.get_mut(*at..at + 4) {
                place.copy_from_slice(&relative.to_le_bytes());
            }
        }
        let disassembly = self.listing.map(|listing| disassemble(&listing, self.level, &self.pool, &pool));
        Ok(Code { bytes: self.bytes, instructions, labels: self.labels, disassembly })
    }
}

impl Code {
    /// What the code's address must be a multiple of.
    pub const ALIGNMENT: usize = 64;

    /// Instructions and constants.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The instructions alone.
    pub fn instructions(&self) -> &[u8] {
        &self.bytes[..self.instructions]
    }

    /// Where a label of this code is bound.
    pub fn offset_of(&self, label: Label) -> Option<usize> {
        self.labels.get(label.0 as usize).copied().flatten()
    }

    /// The program as text, if it was assembled [with a listing](Assembler::with_listing): a line an instruction,
    /// with its offset, between labels, comments and, at the end, constants.
    pub fn disassembly(&self) -> Option<&str> {
        self.disassembly.as_deref()
    }
}
