//! An assembler for x86-64 with AVX-512 or AVX2.
//!
//! In come instructions as data ([`Inst`]), out comes position-independent [`Code`]: bytes with labels resolved and
//! a pool of constants behind them. Nothing is allocated for an instruction. Every form is checked in the tests
//! against an independent decoder.
//!
//! Read `operand.rs` and `inst.rs` for the data, `vecop/` for the tables of vector instructions, `assembler.rs` for
//! how a program is put together, and `vector.rs` and `scalar.rs` for the encodings.

mod assembler;
mod bytes;
mod error;
mod inst;
mod listing;
mod operand;
mod pool;
mod print;
mod print_operand;
mod scalar;
mod spec;
mod vecop;
mod vector;

pub use assembler::{Assembler, Code};
pub use error::{AsmError, Problem};
pub use inst::{
    Alu, BitCount, Bmi, Cond, Count, Extend, FloatPredicate, Hint, Inst, IntPredicate, MaskOp, MaskShift,
    MaskSize, MaskTest, MemSize, Plain, Shift, Size, Unary,
};
pub use operand::{
    Base, Const, Gpr, GprSrc, Label, Mask, Masking, Mem, RegImm, Rest, Rm, Scale, VecDst, VecSrc, Vreg, Vsib,
    Width,
};
pub use pool::ConstData;
pub use vecop::{
    BlendVar, BroadcastGpr, CmpFloat, CmpInt, Gather, GprFromVec, LaneBits, MaskMovStore, MaskToVec, Scatter,
    Vec2, Vec2Imm, Vec3, Vec3Imm, VecFromGpr, VecShift, VecStore, VecStoreImm, VecTest, VecToMask,
};
pub use vector::Level;
