//! Op codes: a kernel as a flat list, each entry of which is one fragment of text in any dialect.
//!
//! Values are numbered and defined once ([`OpCode::Let`]); variables change ([`OpCode::Set`]). Blocks are opened and
//! closed by entries of their own. Indices are [`Word`]s: integers of 32 bits that hold nothing that a launch changes, so that they
//! are written where they stand (`word.rs`). `lower.rs` makes listings, `show.rs` prints them for people, a dialect prints them for a compiler.

pub use crate::binding::Binding;
pub use crate::capability::{Capabilities, Floats, Fused};
pub use crate::primitive::Primitive;
pub use crate::word::{Sign, Word};
use lawson_graph::Dim;
use lawson_kernel::AxisId;

/// A kernel as op codes.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The kernel's name.
    pub kernel: String,
    /// What the host computes and passes: every expression over the kernel's symbols that the op codes mention.
    pub parameters: Vec<Dim>,
    /// Names of the kernel's axes, for texts.
    pub axes: Vec<String>,
    /// Declarations first, then functions, then one entry a launch.
    pub codes: Vec<OpCode>,
    /// The launches in order; each sees what those before it wrote.
    pub launches: Vec<Launch>,
    /// What the device can do that it is for.
    pub capabilities: Capabilities,
    /// The buffers that begin at an element which the host passes after the parameters, in order.
    pub bases: Vec<MemoryId>,
    /// How many words of memory a member needs besides its registers; 0 if all its scratch is private.
    pub spilled: Dim,
}

/// One launch: as many iterations as its axes have together.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The name of its entry.
    pub entry: String,
    /// The parallel axes, outermost first; none for what is done once.
    pub axes: Vec<Span>,
    /// Who does an iteration.
    pub members: Members,
}

/// Who does an iteration of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// One member.
    One,
    /// A workgroup of so many.
    Workgroup(u32),
}

/// Who does the iterations of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Every member that comes to it does all of them.
    Member,
    /// The members of a workgroup share them: each does every so many-th.
    Lanes,
}

/// The values of a parallel axis, which depend on parameters alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The axis.
    pub axis: AxisId,
    /// The first value.
    pub begin: Dim,
    /// One past the last value.
    pub end: Dim,
    /// How far it moves.
    pub step: i64,
}

impl Span {
    /// How many values it takes.
    pub fn count(&self) -> Dim {
        (self.end.clone() - self.begin.clone()).ceil_div(&Dim::from(self.step)).max(&Dim::ZERO)
    }
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ty {
    /// A float of 32 bits.
    F32,
    /// A signed integer of 32 bits, wrapping.
    I32,
    /// An unsigned integer of 32 bits, wrapping.
    U32,
    /// A signed integer of 64 bits, wrapping.
    I64,
    /// An unsigned integer of 64 bits, wrapping.
    U64,
    /// A truth value.
    Bool,
}

/// A number that takes less than a word in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Narrow {
    /// A signed integer of 8 bits, computed with in [`Ty::I32`].
    I8,
    /// An unsigned integer of 8 bits, computed with in [`Ty::U32`].
    U8,
    /// A signed integer of 16 bits.
    I16,
    /// An unsigned integer of 16 bits.
    U16,
    /// A float of 16 bits, computed with in [`Ty::F32`] and rounded where that can be told.
    F16,
    /// A float of 16 bits with the exponent of f32.
    BF16,
}

/// A value: defined once, in the block in which it is used or in one around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VarId(pub u32);

/// A variable of four floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QuadId(pub u32);

/// Four numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Four {
    /// Values.
    Values([ValueId; 4]),
    /// What a variable of four floats holds.
    Quad(QuadId),
}

/// A variable of four floats of 16 bits, which are moved and not computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HalvesId(pub u32);

/// Where four floats of 16 bits come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Halves {
    /// All are zero.
    Zeros,
    /// Four neighbours of memory that lies in fours of 16 bits, by their number.
    At(MemoryId, Word),
    /// Values that floats of 16 bits hold exactly.
    Values([ValueId; 4]),
}

/// A matrix of [`MATRIX`] rows and columns that the members of a subgroup have together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixId(pub u32);

/// Rows and columns of a matrix.
pub const MATRIX: u32 = 16;

/// Which factor of a product of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first.
    Left,
    /// The second.
    Right,
}

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The elements of a row side by side.
    Rows,
    /// Those of a column.
    Columns,
}

/// Memory, by its number in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryId(pub u32);

/// An entry of the list.
#[derive(Clone, Debug, PartialEq)]
pub enum OpCode {
    /// Memory that the caller gives.
    Buffer {
        /// Which.
        memory: MemoryId,
        /// Its name.
        name: String,
        /// The number of its binding.
        binding: u32,
        /// How its elements lie.
        element: Element,
        /// What is done with it.
        access: Access,
        /// In how many windows it is seen: so many bindings from that one on.
        windows: u32,
    },
    /// Memory that lies in the same buffer as another, which is written.
    Alias {
        /// Which.
        memory: MemoryId,
        /// The other.
        of: MemoryId,
    },
    /// Memory of each member's own.
    Scratch {
        /// Which.
        memory: MemoryId,
        /// Its name.
        name: String,
        /// What an element is.
        ty: Ty,
        /// How many elements it has.
        size: Dim,
        /// Where it lies.
        place: Residence,
    },
    /// A function of floats begins; its arguments are the first values.
    Function {
        /// Its name.
        name: String,
        /// How many arguments it has.
        arguments: u32,
        /// How many results: one, or a pair.
        results: u32,
    },
    /// The function's results; the function ends.
    Return(Vec<ValueId>),
    /// A launch begins; every iteration of its axes is done by one member.
    Entry {
        /// Which launch.
        launch: usize,
    },
    /// The launch ends.
    EndEntry,
    /// A value is defined.
    Let {
        /// The value.
        value: ValueId,
        /// Its type.
        ty: Ty,
        /// What it is.
        op: Op,
    },
    /// A variable is declared.
    Var {
        /// The variable.
        var: VarId,
        /// Its type.
        ty: Ty,
        /// Its first value.
        init: ValueId,
    },
    /// A variable gets a value.
    Set {
        /// The variable.
        var: VarId,
        /// The value.
        value: ValueId,
    },
    /// An element of memory gets a value.
    Store {
        /// The memory.
        memory: MemoryId,
        /// Which element.
        at: Word,
        /// The value.
        value: ValueId,
    },
    /// The results of a function that has a pair of them are defined.
    LetPair {
        /// The values.
        values: [ValueId; 2],
        /// The name of the function.
        function: String,
        /// Its argument.
        argument: ValueId,
    },
    /// Four neighbours of memory that lies in quads are defined.
    LetQuad {
        /// The values.
        values: [ValueId; 4],
        /// The memory.
        memory: MemoryId,
        /// Which quad.
        at: Word,
    },
    /// Four neighbours of memory that lies in quads get values.
    StoreQuad {
        /// The memory.
        memory: MemoryId,
        /// Which quad.
        at: Word,
        /// The values.
        values: Four,
    },
    /// A variable of four floats is declared.
    Quad {
        /// The variable.
        quad: QuadId,
        /// What all four are at first.
        init: ValueId,
    },
    /// A variable of four floats gets others.
    SetQuad {
        /// The variable.
        quad: QuadId,
        /// What it gets.
        to: Four,
    },
    /// Each of four sums becomes `by * of + sum`, rounded once or twice.
    StepQuad {
        /// The sums.
        sum: QuadId,
        /// One factor of all of them.
        by: ValueId,
        /// The other factors.
        of: Four,
    },
    /// A variable of four floats of 16 bits is declared; they are zeros.
    Halves(HalvesId),
    /// A variable of four floats of 16 bits gets others.
    SetHalves {
        /// The variable.
        halves: HalvesId,
        /// What it gets.
        to: Halves,
    },
    /// Four floats of 16 bits of the workgroup's memory get what a variable has.
    StoreHalves {
        /// The memory.
        memory: MemoryId,
        /// Which four.
        at: Word,
        /// The variable.
        halves: HalvesId,
    },
    /// A matrix of sums, floats of 32 bits, is declared; they are zeros.
    Matrix(MatrixId),
    /// A factor of matrices is read from the workgroup's memory, which lies in fours of 16 bits.
    LoadMatrix {
        /// The factor.
        matrix: MatrixId,
        /// Which one.
        side: Side,
        /// The memory.
        memory: MemoryId,
        /// Where its first four elements are.
        at: Word,
        /// How many fours further the next row or column begins.
        line: u32,
        /// How it lies there.
        order: Order,
    },
    /// A matrix of sums becomes itself and the product of two factors.
    StepMatrix {
        /// The sums.
        sums: MatrixId,
        /// The factors.
        factors: [MatrixId; 2],
    },
    /// A matrix of sums is written to the workgroup's memory, in quads, row by row.
    StoreMatrix {
        /// The memory.
        memory: MemoryId,
        /// Where its first quad is.
        at: Word,
        /// The sums.
        sums: MatrixId,
    },
    /// An axis has this value until the block ends.
    Axis {
        /// The axis.
        axis: AxisId,
        /// Its value.
        value: Word,
    },
    /// The members of a workgroup wait for each other, and see what the others have stored.
    Barrier,
    /// A block begins.
    Block,
    /// The block ends.
    EndBlock,
    /// A loop begins: the axis runs from `begin` to below `end`.
    Loop {
        /// The axis.
        axis: AxisId,
        /// The first value.
        begin: Word,
        /// One past the last value.
        end: Word,
        /// How far it moves.
        step: i64,
        /// Who does the iterations.
        by: By,
    },
    /// The loop ends.
    EndLoop,
    /// What follows is done only where this holds.
    Guard(Test),
    /// The guarded part ends.
    EndGuard,
}

/// How the elements of a buffer lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// One a word.
    Word(Ty),
    /// One a word, always four neighbours at once.
    Quad(Ty),
    /// A bool a byte, always four neighbours, a word, at once.
    ByteQuad,
    /// Two or four a word, always four neighbours at once.
    NarrowQuad(Narrow),
    /// A bool a byte, four a word. A store changes no other byte, whoever stores there at the same time.
    Byte,
    /// Two or four a word. A store changes no other, whoever stores there at the same time.
    Narrow(Narrow),
    /// Floats of 16 bits, always four neighbours at once, also as they are.
    Halves,
    /// One in two words, the low one first.
    Wide(Ty),
}

/// What is done with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is only read.
    Read,
    /// It is written, and may be read.
    Write,
}

/// Where scratch lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Residence {
    /// In an array of the member's own; its size is a number.
    Private,
    /// In memory that the members of a workgroup share; its size is a number.
    Workgroup,
    /// The same, four numbers together; its size counts quads.
    Quads,
    /// The same, four floats of 16 bits together; its size counts fours.
    Halves,
    /// In the part of the spill buffer of the member, or of the workgroup that does an iteration, from this word on.
    Spilled(Dim),
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A number.
    Literal(Literal),
    /// An index as a signed integer.
    Index(Word),
    /// An element of memory.
    Load(MemoryId, Word),
    /// The present value of a variable.
    Get(VarId),
    /// The present value of one of the four.
    Part(QuadId, usize),
    /// What the variable is to the member of the subgroup whose number differs by this power of two.
    Exchange(VarId, u32),
    /// A primitive of operands whose type is the first operand's, except where the primitive says otherwise.
    Apply(Primitive, Ty, Vec<ValueId>),
    /// A function of floats, by name.
    Call(String, Vec<ValueId>),
    /// An entry of a table at the low three bits of an integer.
    Lookup([u32; lawson_kernel::math::TABLE], ValueId),
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// The float of these bits.
    F32(u32),
    /// A signed integer.
    I32(i32),
    /// An unsigned integer.
    U32(u32),
    /// An integer of 64 bits.
    I64(i64),
    /// An unsigned integer of 64 bits.
    U64(u64),
    /// A truth value.
    Bool(bool),
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Every pair `(index, end)` has `0 <= index < end`.
    Within(Vec<(Word, Word)>),
    /// The value is true.
    Value(ValueId),
}

impl Ty {
    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Ty::F32 => "f32",
            Ty::I32 => "i32",
            Ty::U32 => "u32",
            Ty::I64 => "i64",
            Ty::U64 => "u64",
            Ty::Bool => "bool",
        }
    }
}

impl Narrow {
    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Narrow::I8 => "i8",
            Narrow::U8 => "u8",
            Narrow::I16 => "i16",
            Narrow::U16 => "u16",
            Narrow::F16 => "f16",
            Narrow::BF16 => "bf16",
        }
    }

    /// How many bits it has.
    pub fn bits(self) -> u32 {
        match self {
            Narrow::I8 | Narrow::U8 => 8,
            Narrow::I16 | Narrow::U16 | Narrow::F16 | Narrow::BF16 => 16,
        }
    }

    /// The type in which it is computed with.
    pub fn ty(self) -> Ty {
        match self {
            Narrow::I8 | Narrow::I16 => Ty::I32,
            Narrow::U8 | Narrow::U16 => Ty::U32,
            Narrow::F16 | Narrow::BF16 => Ty::F32,
        }
    }
}
