//! Families: which operator a node has, without its parameters.

use super::Op;

/// Which operator, without its parameters: what rules and tables are indexed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// A tensor known when the graph is built.
    Constant,
    /// Indices along an axis.
    Iota,
    /// Dimension expressions as data.
    Dims,
    /// A symbol defined at run time.
    DefineSymbol,
    /// Random bits from a key.
    RandomBits,
    /// A function of one number.
    Unary,
    /// A function of two numbers.
    Binary,
    /// A comparison.
    Compare,
    /// `select(condition, a, b)`.
    Select,
    /// Conversion of values.
    Cast,
    /// Conversion of bits.
    Bitcast,
    /// New and repeated axes.
    Broadcast,
    /// Another shape.
    Reshape,
    /// Another order of axes.
    Transpose,
    /// A part, with static bounds.
    Slice,
    /// A part, with bounds from data.
    DynamicSlice,
    /// `update_slice(x, update, starts)`.
    UpdateSlice,
    /// Padding with a scalar.
    Pad,
    /// One after another.
    Concat,
    /// Combination along axes.
    Reduce,
    /// Combination in a sliding window.
    WindowReduce,
    /// Running combination.
    Cumulative,
    /// Sorting.
    Sort,
    /// Batched general dot product.
    Contract,
    /// Convolution.
    Convolve,
    /// Reading at indices.
    Gather,
    /// Writing at indices.
    Scatter,
    /// Repetition while a condition holds.
    While,
    /// One of two branches.
    Cond,
    /// Repetition over slices.
    Scan,
    /// Exchange between participants.
    Collective,
    /// A call to the host.
    HostCall,
    /// A sequence of the operands.
    SeqMake,
    /// An element of a sequence.
    SeqAt,
    /// A sequence with one element more.
    SeqInsert,
    /// A sequence with one element less.
    SeqErase,
    /// The length of a sequence.
    SeqLen,
    /// An optional that holds its operand.
    OptSome,
    /// An optional that holds nothing.
    OptNone,
    /// Whether an optional holds something.
    OptHas,
    /// What an optional holds.
    OptGet,
    /// An operator defined by its decomposition.
    Composite,
}

impl Family {
    /// How many there are.
    pub const COUNT: usize = Family::Composite as usize + 1;
}

impl Op {
    /// Which operator it is, without its parameters.
    pub fn family(&self) -> Family {
        match self {
            Op::Constant(_) => Family::Constant,
            Op::Iota(_) => Family::Iota,
            Op::Dims(_) => Family::Dims,
            Op::DefineSymbol(_) => Family::DefineSymbol,
            Op::RandomBits(_) => Family::RandomBits,
            Op::Unary(_) => Family::Unary,
            Op::Binary(_) => Family::Binary,
            Op::Compare(_) => Family::Compare,
            Op::Select => Family::Select,
            Op::Cast(_) => Family::Cast,
            Op::Bitcast(_) => Family::Bitcast,
            Op::Broadcast(_) => Family::Broadcast,
            Op::Reshape(_) => Family::Reshape,
            Op::Transpose(_) => Family::Transpose,
            Op::Slice(_) => Family::Slice,
            Op::DynamicSlice(_) => Family::DynamicSlice,
            Op::UpdateSlice => Family::UpdateSlice,
            Op::Pad(_) => Family::Pad,
            Op::Concat(_) => Family::Concat,
            Op::Reduce(_) => Family::Reduce,
            Op::WindowReduce(_) => Family::WindowReduce,
            Op::Cumulative(_) => Family::Cumulative,
            Op::Sort(_) => Family::Sort,
            Op::Contract(_) => Family::Contract,
            Op::Convolve(_) => Family::Convolve,
            Op::Gather(_) => Family::Gather,
            Op::Scatter(_) => Family::Scatter,
            Op::While(_) => Family::While,
            Op::Cond(_) => Family::Cond,
            Op::Scan(_) => Family::Scan,
            Op::Collective(_) => Family::Collective,
            Op::HostCall(_) => Family::HostCall,
            Op::SeqMake(_) => Family::SeqMake,
            Op::SeqAt(_) => Family::SeqAt,
            Op::SeqInsert => Family::SeqInsert,
            Op::SeqErase => Family::SeqErase,
            Op::SeqLen => Family::SeqLen,
            Op::OptSome => Family::OptSome,
            Op::OptNone(_) => Family::OptNone,
            Op::OptHas => Family::OptHas,
            Op::OptGet => Family::OptGet,
            Op::Composite(_) => Family::Composite,
        }
    }
}
