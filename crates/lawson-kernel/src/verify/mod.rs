//! The verifier: everything that must hold of a kernel, whoever made it.
//!
//! What is checked, in this order, so that each check may rely on those before it:
//!
//! 1. References (`arena.rs`). Ids point at axes, buffers, accumulators and expressions that exist; an operand stands before
//!    what uses it; loads and stores have an index for each dimension, steps and merges a value for each component;
//!    axes, buffers and accumulators each have names of their own; divisors and steps are positive.
//! 2. Axes (`arena.rs`, `tree.rs`). A derived axis does not depend on itself, and neither it nor the bounds of a loop on memory. Loops run over axes that are not derived, never
//!    inside a loop over the same axis, and never from a negative value. An axis is used inside the loops that give it its value.
//! 3. Dtypes (`arena.rs`). Operands have the dtypes that operators take, and agree; what is stored or stepped has the dtype
//!    of its buffer or state.
//! 4. Layouts (`layout.rs`). Different indices lie at different places, all inside the buffer's size.
//! 5. Accumulators (`tree.rs`). Steps stand inside their `accumulate`, results after it in the same or an inner body; a state
//!    is mentioned in steps of its own accumulator and in merges, the other state in merges alone; no `accumulate` stands inside itself.
//! 6. Roles (`tree.rs`). Inputs are not written, and only their elements, of i32 or i64, are mentioned by indices. Scratch has a constant size, and a load of it stands after a store to it, in
//!    the same iteration of the parallel loops. (Whether that store wrote the very element is not decided here.)
//! 7. Bounds (`tree.rs`). Every load reads and every store writes inside its buffer, provably, given the guard's conditions. An
//!    element that an index mentions lies inside its buffer without them; what it is clamped below is at least 1.
//! 8. Kinds (`tree.rs`). Parallel loops are chains at the root, each the only thing in the one around it; at most one vector loop
//!    stands around any place; jam, unroll and vector loops have the extents that they need; the bounds of loops inside jam
//!    and vector loops do not depend on them (those of a vector loop may depend on jam: its mask does). A skip loop steps a sum of products of
//!    which one factor is read side by side, the same in all iterations of jam and vector loops around it, and the other is finite.
//! 9. Conflicts (`conflict.rs`). Iterations that are executed together write different elements, and none reads what another
//!    one writes; so do nests that a team shares side by side ([`Kernel::is_side_by_side`]).
//!
//! Each has a code of its own; `tests/verify/` breaks each alone.

mod arena;
mod conflict;
mod layout;
mod tree;

pub(crate) use conflict::{conflict, meet_beside, stores_once};

use crate::range::Scope;
use crate::tree::{For, Kernel};
use lawson_graph::{Code, Error, Place, Result};

/// Checks every invariant of a kernel.
pub fn verify(kernel: &Kernel) -> Result<()> {
    arena::references(kernel)?;
    arena::derived_axes(kernel)?;
    arena::dtypes(kernel)?;
    layout::layouts(kernel)?;
    tree::check(kernel)
}

/// Whether the iterations of a loop may run in any order or at once, as far as what they store is concerned. The scope is that of the loop's
/// place; scratch is the same memory for all of them. Steps of accumulators are not looked at: those that merge may.
pub fn independent(scope: &mut Scope<'_>, f: &For) -> bool {
    conflict(scope, f, &|_| false).is_none()
}

/// An error about a part of the kernel.
fn error(kernel: &Kernel, code: Code, path: impl Into<String>, message: impl Into<String>) -> Error {
    Error::new(code, message).at(Place::Kernel { kernel: kernel.name.clone(), path: path.into() })
}
