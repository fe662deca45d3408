//! What can be wrong with a program given to the assembler.

use std::fmt;

use super::inst::Inst;
use super::operand::{Const, Label};

/// Why assembling failed: the first thing found wrong, in the order of the program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AsmError {
    /// An instruction that the machine cannot encode.
    Inst {
        /// Its place among the pushed instructions, from 0.
        index: usize,
        /// The instruction.
        inst: Inst,
        /// What is wrong with it.
        problem: Problem,
    },
    /// A label that is used and bound nowhere.
    Unbound(Label),
    /// A label bound at two places.
    BoundTwice(Label),
    /// A constant of another assembler.
    ForeignConst(Const),
    /// An alignment that is no power of two up to 64.
    Alignment(usize),
    /// More code than a 32-bit displacement can cross.
    TooLong,
}

/// What is wrong with one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// A register number beyond the last.
    Register,
    /// `rsp` as an index.
    IndexIsStackPointer,
    /// An index together with a constant or a label.
    IndexOnRelative,
    /// A displacement outside 32 bits.
    Displacement(i64),
    /// `{z}` with `k0`.
    ZeroingWithoutMask,
    /// `{z}` on memory.
    ZeroingMemory,
    /// A mask where the instruction takes none.
    NotMaskable,
    /// `k0` where a mask must be given.
    MaskRequired,
    /// A gather into its own index register.
    GatherOverlap,
    /// A broadcast where the instruction has none.
    NoBroadcast,
    /// A register where memory is needed.
    NeedsMemory,
    /// Memory where a register is needed.
    NeedsRegister,
    /// A width that the instruction does not have.
    Width,
    /// An instruction, register, mask or width that the assembler's level does not have.
    Level,
    /// A no-op of 0 or more than 9 bytes.
    NopLength,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Problem::Register => {
                "a register number is out of range; general ones go to 15, vectors to 31, masks to 7"
            }
            Problem::IndexIsStackPointer => "rsp cannot be an index; use it as the base or copy it",
            Problem::IndexOnRelative => {
                "an address relative to the instruction takes no index; load it with lea first"
            }
            Problem::Displacement(disp) => {
                return write!(f, "the displacement {disp} does not fit 32 bits; add it to a register first");
            }
            Problem::ZeroingWithoutMask => "zeroing needs a mask from k1 to k7",
            Problem::ZeroingMemory => "memory cannot be zeroed by a mask; keep what it holds instead",
            Problem::NotMaskable => "this instruction takes no mask",
            Problem::MaskRequired => "this instruction needs a mask from k1 to k7",
            Problem::GatherOverlap => "a gather's destination, index and mask must differ",
            Problem::NoBroadcast => {
                "this instruction cannot broadcast from memory; load with vbroadcast first"
            }
            Problem::NeedsMemory => "this operand must be memory",
            Problem::NeedsRegister => "this operand must be a register",
            Problem::Width => "this instruction does not have this width",
            Problem::Level => {
                "the level assembled for lacks this instruction, register, mask, broadcast or width"
            }
            Problem::NopLength => "one no-op has 1 to 9 bytes",
        })
    }
}

impl fmt::Display for AsmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AsmError::Inst { index, inst, problem } => {
                write!(f, "instruction {index}, `{inst}`, cannot be encoded: {problem}")
            }
            AsmError::Unbound(label) => {
                write!(f, "label {label} is used but bound nowhere; bind it before finish")
            }
            AsmError::BoundTwice(label) => {
                write!(f, "label {label} is bound at two places; make a label for each")
            }
            AsmError::ForeignConst(constant) => {
                write!(f, "constant {constant} belongs to another assembler; make it with this one")
            }
            AsmError::Alignment(to) => write!(f, "cannot align to {to} bytes; use a power of two up to 64"),
            AsmError::TooLong => f.write_str("the code is longer than 2 GiB; split it into several kernels"),
        }
    }
}

impl std::error::Error for AsmError {}
