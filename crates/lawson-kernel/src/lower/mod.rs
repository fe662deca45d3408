//! From graphs to kernels: a group of primitives becomes one natural, unscheduled kernel.
//!
//! In: a verified graph without composites, and a [`Group`] of its nodes. Out: a [`Lowered`] kernel, whose loops are those
//! over the elements of its outputs, around accumulators, around the loops that they sum over; or a [`Refused`] that
//! says why not.
//!
//! Inside a group, elementwise operators and views have no loops of their own: they are recomputed where they are used, the
//! views as index arithmetic. Reductions, contractions, convolutions and windows are accumulators, computed as far out as
//! their indices allow. What an inner loop would compute again and again is kept in scratch instead: results
//! of accumulators that another one sums over, and transcendental functions that are needed in several visits to a row.
//! So softmax, layer norm and chains of linear layers need no rule of their own; attention by blocks does
//! (`attention.rs`).
//!
//! Read `walk.rs` next: it turns a value at an index into an expression. `view.rs` has the index arithmetic, `data.rs`
//! that of indices that are data, `answers.rs` what was proven before, `accumulate.rs` the accumulators, `abreast.rs` joins those that go through the same loops, `running.rs` what runs along an axis, `recurrence.rs` loops that stay in registers, `keep.rs` decides on scratch, `cut.rs` cuts loops where what they compute changes, `digits.rs` has loops over quotients and remainders where that is what is read (both write nests again with `clone.rs`), `flatten.rs` and
//! `collapse.rs` join dimensions and loops, `steps.rs` lowers and runs
//! whole graphs node by node.

mod abreast;
mod accumulate;
mod answers;
mod attention;
mod clone;
mod collapse;
mod cut;
mod data;
mod digits;
mod flatten;
mod keep;
mod nest;
mod pattern;
mod recurrence;
mod remap;
mod running;
mod share;
mod steps;
mod view;
mod walk;

pub(crate) use answers::Answers;
pub use attention::{Blocks, attention};
pub use collapse::collapse;
pub(crate) use nest::{pieces, shaped};
pub use recurrence::recurrence;
pub use steps::{Step, run_steps, steps};

use crate::group::{Group, Refused};
use crate::layout::Orders;
use crate::tree::Kernel;
use lawson_graph::{Graph, HostTensor, Op, ValueId};
use std::rc::Rc;

/// A kernel and the values that its buffers stand for.
///
/// The kernel's buffers are the inputs, the outputs, then scratch. Each is row-major; dimensions of a buffer are those of
/// the value's type in the order in which it lies ([`Options::orders`]), and may be joined where the kernel's loops are.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The kernel.
    pub kernel: Kernel,
    /// The values that it reads.
    pub inputs: Vec<ValueId>,
    /// The values that it writes.
    pub outputs: Vec<ValueId>,
}

/// Choices that lowering leaves to its caller.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Options<'o> {
    /// How rows are gone through.
    pub rows: Rows,
    /// In which order the dimensions of values lie, if not that of their types.
    pub orders: Option<&'o Orders>,
    /// For vectors of how many lanes loops are cut where what they compute changes (`cut.rs`); 0 if they stay whole.
    pub lanes: i64,
}

/// How the rows of outputs (their axes but the last) are gone through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rows {
    /// One by one: what is kept in scratch is kept for one row.
    #[default]
    Each,
    /// So many at a time: contractions that follow one another are computed for a block of rows each, and what lies
    /// between them stays in scratch.
    Blocks(i64),
}

impl Lowered {
    /// The tensor of an input, if that is a constant: it may be packed when compiling (`pack.rs`).
    pub fn constant<'g>(&self, graph: &'g Graph, input: usize) -> Option<&'g HostTensor> {
        match &graph.defining(*self.inputs.get(input)?)?.op {
            Op::Constant(t) => Some(t),
            _ => None,
        }
    }
}

/// Whether an operator sums up over tiles: products of operands, or windows. A kernel has one of them.
pub fn is_product(op: &Op) -> bool {
    matches!(op, Op::Contract(_) | Op::Convolve(_) | Op::WindowReduce(_))
}

/// Whether lowering computes an operator by loops in which others may be computed too. What it does not take may still have a
/// kernel of its own: running combinations, attention.
pub fn takes(op: &Op) -> bool {
    match op {
        op if op.is_elementwise() => true,
        Op::Iota(_) | Op::Dims(_) | Op::Constant(_) => true,
        Op::Broadcast(_) | Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_) | Op::Pad(_) | Op::Concat(_) => {
            true
        }
        Op::Reduce(_) => true,
        op if is_product(op) => true,
        // Where their indices are in a buffer.
        Op::Gather(_) | Op::DynamicSlice(_) | Op::UpdateSlice => true,
        _ => false,
    }
}

/// The kernel of a group.
///
/// ```
/// use lawson_graph::Graph;
/// use lawson_kernel::{Group, lower};
/// let graph = Graph::parse(
///     "lawson 1
///      graph @g(%x: f32[4, 8], %w: f32[8, 3], %b: f32[3]) -> (y: f32[4, 3]) {
///        %h = contract %x, %w {batch = [], sum = [[1, 0]]}
///        %c = broadcast %b {shape = [4, 3], axes = [1]}
///        %y = add %h, %c
///        return %y
///      }",
/// )?;
/// let lowered = lower::lower(&graph, &Group::whole(&graph)?)?;
/// assert_eq!(lowered.kernel.accs.len(), 1);
/// # Ok::<(), lawson_graph::Error>(())
/// ```
pub fn lower(graph: &Graph, group: &Group) -> Result<Lowered, Refused> {
    lower_with(graph, group, &Options::default())
}

/// The kernel of a group, with choices.
pub fn lower_with(graph: &Graph, group: &Group, options: &Options<'_>) -> Result<Lowered, Refused> {
    lower_asking(graph, group, options, Rc::default())
}

/// As [`lower_with`], with what proofs have said about the graph before.
pub(crate) fn lower_asking(
    graph: &Graph,
    group: &Group,
    options: &Options<'_>,
    answers: Rc<Answers>,
) -> Result<Lowered, Refused> {
    let mut lowered = nest::lower(graph, group, options, answers)?;
    cut::cut_loops(&mut lowered.kernel, options.lanes);
    abreast::join_sums(&mut lowered.kernel);
    share::share_scratch(&mut lowered.kernel);
    flatten::flatten(&mut lowered.kernel);
    collapse(&mut lowered.kernel);
    if options.lanes > 0 && digits::split(&mut lowered.kernel) {
        collapse(&mut lowered.kernel);
    }
    remap::tidy(&mut lowered.kernel);
    Ok(lowered)
}
