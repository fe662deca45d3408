//! Vector code: instructions over virtual registers, in a tree of loops.
//!
//! Lowering (`lower/`) turns a scheduled kernel into this; register allocation (`alloc.rs`) gives every virtual register a
//! machine register or a place on the stack; encoding (`encode/`) writes the machine's instructions. An operation is
//! close to one machine instruction: its vector operations are the assembler's.
//!
//! All vectors of a program have as many lanes ([`Program::lanes`]). What a register's lanes hold, 32 bits or 64, is its
//! width, and an instruction is as wide as the widest register that it is given.

mod visit;

pub use visit::Access;

use crate::asm::{
    Bmi, CmpFloat, CmpInt, Extend, FloatPredicate, Hint, IntPredicate, Vec2, Vec2Imm, Vec3, Vec3Imm,
    VecShift, VecStore, Width,
};

/// A virtual register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct V(pub u32);

/// What kind of machine register a virtual one needs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// xmm, ymm or zmm, by its [`Width`].
    Vector,
    /// k.
    Mask,
    /// 64 bits.
    General,
}

/// An address: `[base + index + disp]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Addr {
    /// A general register.
    pub base: V,
    /// Another, added as it is.
    pub index: Option<V>,
    /// Bytes.
    pub disp: i32,
}

/// The last source of a vector operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Src {
    /// A register.
    Reg(V),
    /// A whole vector from memory.
    Mem(Addr),
    /// One element from memory for all lanes.
    Broadcast(Addr),
}

/// How much of a vector a load or store moves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// Every lane.
    Full,
    /// 8 lanes of 64 bits, by the low 8 bits of the mask.
    Quads,
    /// Loads: one element to all lanes; stores: the first lane.
    One,
    /// Stores: every lane, past the caches; the address must be a multiple of the vector's bytes.
    Stream,
    /// Loads: narrower elements, each extended to a lane of 32 bits by this instruction.
    Extend(Vec2),
    /// Stores: the low part of each lane, by this instruction.
    Cut(VecStore),
    /// Stores: f32 as f16.
    Halves,
    /// Stores: so many bytes at the beginning of the register.
    Low(u8),
    /// Loads: one element of so many bytes, less than a lane, again and again over all lanes; stores: the low bytes of the first lane.
    OneOf(u8),
}

/// A general-register operation of two operands, the first also the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Two {
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// The bits that both have.
    And,
    /// The product.
    Mul,
    /// The lesser, signed.
    Min,
    /// The greater, signed.
    Max,
}

/// The right operand of a general-register operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Gen {
    /// A register.
    Reg(V),
    /// A constant.
    Imm(i64),
}

/// An operation.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Op {
    Vec2 {
        op: Vec2,
        dst: V,
        src: Src,
    },
    Vec2Imm {
        op: Vec2Imm,
        dst: V,
        src: Src,
        imm: u8,
    },
    Vec3 {
        op: Vec3,
        dst: V,
        a: V,
        b: Src,
    },
    Vec3Imm {
        op: Vec3Imm,
        dst: V,
        a: V,
        b: Src,
        imm: u8,
    },
    Shift {
        op: VecShift,
        dst: V,
        src: V,
        count: u8,
    },
    /// `dst` is also an operand (fused multiply-add and the like); lanes outside the mask stay.
    Update {
        op: Vec3,
        dst: V,
        a: V,
        b: Src,
        mask: Option<V>,
    },
    /// `dst` is also an operand.
    UpdateImm {
        op: Vec3Imm,
        dst: V,
        a: V,
        b: Src,
        imm: u8,
    },
    /// The same without the upper half, or more, of each lane.
    Down {
        op: VecStore,
        dst: V,
        src: V,
    },
    /// f32 as f16, in lanes of 16 bits.
    Halved {
        dst: V,
        src: V,
    },
    /// A number in all lanes; those of 32 bits have its low half.
    Const {
        dst: V,
        bits: u64,
    },
    /// 0, 1, … times a number, in lanes of 32 bits.
    Lanes {
        dst: V,
        by: i32,
    },
    /// A register of numbers, in words of 32 bits.
    Table {
        dst: V,
        lanes: [u32; 16],
    },
    Move {
        dst: V,
        src: V,
    },
    /// Lanes of the mask from `src`, the others stay.
    MoveMasked {
        dst: V,
        src: V,
        mask: V,
    },
    /// `mask ? b : a`
    Blend {
        dst: V,
        mask: V,
        a: V,
        b: Src,
    },
    /// `b` where the sign of `select` is set, else `a`: selection by vectors.
    BlendVector {
        dst: V,
        a: V,
        b: Src,
        select: V,
    },
    /// All ones and zeros.
    CmpFloatVector {
        op: CmpFloat,
        dst: V,
        a: V,
        b: Src,
        predicate: FloatPredicate,
    },
    /// Lanes whose sign is clear in `select` are 0.
    LoadSelected {
        dst: V,
        addr: Addr,
        select: V,
    },
    /// Lanes whose sign is set in `select`.
    StoreSelected {
        addr: Addr,
        src: V,
        select: V,
    },
    /// The upper half of a register.
    Upper {
        dst: V,
        src: V,
    },
    /// Lanes outside the mask are 0.
    Load {
        dst: V,
        addr: Addr,
        shape: Shape,
        mask: Option<V>,
    },
    Store {
        addr: Addr,
        src: V,
        shape: Shape,
        mask: Option<V>,
    },
    /// One element a lane from `base + index` elements; lanes outside the mask are 0.
    Gather {
        dst: V,
        base: Addr,
        index: V,
        mask: Option<V>,
    },
    Scatter {
        base: Addr,
        index: V,
        src: V,
        mask: Option<V>,
    },
    /// One narrower element a lane from `base + index` elements, extended to 32 bits; lanes outside the mask are 0.
    GatherSmall {
        extend: Extend,
        dst: V,
        base: Addr,
        index: V,
        mask: Option<V>,
    },
    /// The low one or two bytes of each lane.
    ScatterSmall {
        bytes: u8,
        base: Addr,
        index: V,
        src: V,
        mask: Option<V>,
    },
    CmpFloat {
        op: CmpFloat,
        dst: V,
        a: V,
        b: Src,
        predicate: FloatPredicate,
    },
    CmpInt {
        op: CmpInt,
        dst: V,
        a: V,
        b: Src,
        predicate: IntPredicate,
    },
    /// The bits of `and`, `or`, `xor`, `andn` by the assembler's operation.
    Mask2 {
        op: crate::asm::MaskOp,
        dst: V,
        a: V,
        b: V,
    },
    MaskNot {
        dst: V,
        src: V,
    },
    MaskMove {
        dst: V,
        src: V,
    },
    /// The low bits.
    MaskFrom {
        dst: V,
        src: V,
    },
    MaskConst {
        dst: V,
        bits: u16,
    },
    /// The upper 8 bits as the lower ones.
    MaskUpper {
        dst: V,
        src: V,
    },
    /// Its lanes as the low bits of a word, all others 0.
    MaskBits {
        dst: V,
        src: V,
    },
    /// The number of the lowest bit that is set.
    FirstBit {
        dst: V,
        src: V,
    },
    /// All ones and zeros.
    MaskLanes {
        dst: V,
        src: V,
    },
    /// Which lanes are not 0.
    LanesMask {
        dst: V,
        src: V,
    },
    /// As many bits of a general register as a lane has, to all lanes.
    Spread {
        dst: V,
        src: V,
    },
    /// The quotients of integers of 64 bits, rounded towards 0; 0 where the divisor is.
    DivideLanes {
        dst: V,
        a: V,
        b: V,
        signed: bool,
    },
    /// An integer of 32 or 64 bits, with its sign, to a general register.
    LoadInt {
        dst: V,
        addr: Addr,
        wide: bool,
    },
    /// A word of the argument table.
    Slot {
        dst: V,
        table: V,
        slot: u32,
    },
    Imm {
        dst: V,
        imm: i64,
    },
    Mov {
        dst: V,
        src: V,
    },
    Two {
        op: Two,
        dst: V,
        src: Gen,
    },
    /// `base + index·scale + disp`, scale 1, 2, 4 or 8.
    Lea {
        dst: V,
        base: V,
        index: Option<(V, u8)>,
        disp: i32,
    },
    MulImm {
        dst: V,
        src: V,
        imm: i32,
    },
    /// The quotient, or the remainder, rounded down; the divisor is positive.
    Divide {
        dst: V,
        src: V,
        by: Gen,
        remainder: bool,
        negative: bool,
    },
    /// All ones if `0 <= src < end`, else 0.
    Within {
        dst: V,
        src: V,
        end: Gen,
    },
    Bmi {
        op: Bmi,
        dst: V,
        src: V,
        count: V,
    },
    Prefetch {
        addr: Addr,
        hint: Hint,
    },
}

/// How a loop goes on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Advance {
    /// The counter moves by so much until it reaches the end.
    By {
        /// How far it moves.
        step: i64,
        /// Where it stops.
        end: Gen,
    },
    /// The counter loses its lowest bit until none is set.
    Bits,
}

/// A loop, from what `counter` holds.
#[derive(Clone, Debug)]
pub struct Loop {
    /// A general register, set before the loop.
    pub counter: V,
    /// How it goes on.
    pub advance: Advance,
    /// Whether the body may have to run no time at all.
    pub may_be_empty: bool,
    /// Registers that move with the counter, and by how much.
    pub inductions: Vec<(V, Gen)>,
    /// The body.
    pub body: Vec<Item>,
    /// What stands in the listing.
    pub comment: Option<String>,
}

/// A piece of code.
#[derive(Clone, Debug)]
pub enum Item {
    /// An operation.
    Op(Op),
    /// A loop.
    Loop(Box<Loop>),
    /// What is done only if some lane of the mask is set.
    If {
        /// The mask.
        mask: V,
        /// What is done.
        body: Vec<Item>,
    },
    /// A line for the listing.
    Comment(String),
}

/// What a word of the argument table holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Word {
    /// The address of a buffer of the kernel that is not scratch.
    Buffer(lawson_kernel::BufferId),
    /// The value of an expression over the kernel's parameters.
    Parameter(lawson_graph::Dim),
}

/// The code of a kernel.
#[derive(Clone, Debug)]
pub struct Program {
    /// The kind of each virtual register.
    pub classes: Vec<Class>,
    /// How wide each vector register is; meaningless for others.
    pub widths: Vec<Width>,
    /// How many lanes vectors have.
    pub lanes: u32,
    /// The body.
    pub body: Vec<Item>,
    /// What the argument table holds, word by word.
    pub words: Vec<Word>,
    /// How many bytes of scratch a member needs.
    pub scratch_bytes: usize,
    /// How many iterations the parallel loops have in all; 1 if there are none.
    pub parallel: lawson_kernel::Index,
    /// What the parameters must satisfy.
    pub limits: Vec<crate::lower::Limit>,
    /// The registers that hold, at entry, the argument table, the first and one past the last parallel iteration, the scratch.
    pub entry: [V; 4],
}
