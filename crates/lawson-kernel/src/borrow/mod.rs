//! The borrow checker: a proof that the steps of a plan do not get in each other's way.
//!
//! In: a plan, and where its buffers lie if that is known. Out: a [`Report`]. What is proven, over bytes:
//!
//! 1. Order. Of two steps between the same two barriers, neither writes what the other reads or writes. Many may read;
//!    regions that are disjoint for all sizes which the facts allow may be written side by side; atomic updates may meet each
//!    other. What may meet although it should not stands in a named `unsafe` region, and the report says so.
//! 2. Definition. Whatever is read was written before, on every way that leads there: in both branches, and before a
//!    loop that may not run. The next state of a loop is written in every iteration, and at the end all of every output is written.
//! 3. Lives. Where buffers of the arena share bytes, none is written while another is still to be read. A step writes over
//!    what it reads only where its kernel reads each element in the iteration that writes it ([`in_place`]).
//! 4. Roles. Inputs and constants are not written; regions lie inside their buffers, and are as large as what the step works on; state and next state are equally large and
//!    both in the arena; rows divide what they are rows of.
//! 5. Stages. The plan of a stage satisfies all of this by itself, and its inputs and outputs are as large as the buffers that it is given.
//! 6. Need. A barrier orders something; one that does not is a warning.
//!
//! Loops and branches begin and end with barriers. `walk.rs` goes through a plan in order, loops twice, so that what one iteration
//! leaves meets what the next one finds; `bytes.rs` knows which bytes are written and which overlap; `size.rs` compares what steps are given
//! with what they work on; `explain.rs` has the words.
//! Inside kernels, [`crate::verify()`] does the same for iterations that run together.

mod bytes;
mod explain;
mod in_place;
mod size;
mod walk;

pub use in_place::{all_in_place, in_place};

use crate::plan::{Bound, Plan, WrittenPlan};
use lawson_graph::{Error, Result};

/// What the checker found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What must not be.
    pub errors: Vec<Error>,
    /// What need not be.
    pub warnings: Vec<Error>,
    /// What is unusual and allowed: races that are wanted, atomic updates.
    pub notes: Vec<String>,
    /// How many errors and warnings there are besides.
    pub more: usize,
}

impl Report {
    /// The first error, if there is one.
    pub fn into_result(self) -> Result<()> {
        self.errors.into_iter().next().map_or(Ok(()), Err)
    }
}

/// What may be asked of a plan's kernels.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kernels {
    /// Everything.
    Verified,
    /// Nothing: some mean nothing. Steps that run them are taken for what they should be.
    Refused,
}

/// Checks a plan; its buffers too, where they are placed.
pub fn check(plan: &Plan, bound: Option<&Bound>) -> Report {
    walk::check(plan, bound, None, Kernels::Verified)
}

/// Checks a plan that was read from a text; what the verifier refuses of its kernels comes first.
pub fn check_text(written: &WrittenPlan) -> Report {
    let WrittenPlan { plan, bound, places, faults } = written;
    let kernels = if faults.is_empty() { Kernels::Verified } else { Kernels::Refused };
    let mut report = walk::check(plan, bound.as_ref(), Some(places), kernels);
    report.errors.splice(..0, faults.iter().cloned());
    report
}

/// Checks a plan that Lawson made: an error is a bug.
pub(crate) fn assert(plan: &Plan, bound: Option<&Bound>) -> Result<()> {
    check(plan, bound)
        .into_result()
        .map_err(|e| Error::internal(format!("a plan that is wrong: {e}\n{plan}")))
}
