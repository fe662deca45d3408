//! A plan as machine code, and running it.
//!
//! [`Executable`] is what a compiled program shares: code and constants. [`Instance`] is what one session has: the arena, the
//! members' scratch and the argument tables for the sizes of its last run. A run writes the caller's addresses into
//! the tables, and then every member of the team goes through the same calls, each with its share of the iterations.
//!
//! `emitted.rs` makes the code, `beside.rs` has kernels for plans of other targets. A kernel that has no code is left to the evaluator, and the plan says so. `instance.rs` fills the tables, `skipping.rs` chooses between two codes of a kernel, `run.rs` goes through plans that
//! are launches alone, `general.rs` through all others, `stage.rs` through plans of stages, which are executables of their own, and `host.rs` does what is
//! left to the host; `profile.rs` runs with a clock.

mod beside;
mod emitted;
mod general;
mod host;
mod instance;
mod profile;
mod run;
mod skipping;
mod small;
mod stage;

pub use beside::Beside;
pub use instance::Instance;

use crate::Isa;
use crate::constants::Constants;
use crate::exec::{CodeBuilder, Entry, ExecutableMemory};
use crate::kernel::Emitted;
use crate::team::Team;
use emitted::{Codes, code, emit_all, emit_skipping};
use lawson_graph::{Code, Error, Result};
use lawson_kernel::{Plan, Slot};
use std::collections::HashSet;
use std::sync::Arc;

/// A plan as machine code, with its constants laid out.
#[derive(Debug)]
pub struct Executable {
    plan: Arc<Plan>,
    /// Those of the plan's stages, in order.
    stages: Vec<Arc<Executable>>,
    code: ExecutableMemory,
    kernels: Vec<Option<Variants>>,
    constants: Constants,
    /// Those that were looked at for kernels that leave products with 0 out, and are finite.
    finite: HashSet<Slot>,
    /// What a member needs for the plan and for those of its stages.
    scratch_bytes: usize,
    /// How many inputs and outputs the graph has.
    inputs: usize,
    outputs: usize,
}

/// A plan as machine code, whose constants are as they came.
#[derive(Debug)]
pub struct Unpacked {
    plan: Plan,
    stages: Vec<Unpacked>,
    code: ExecutableMemory,
    kernels: Vec<Option<Variants>>,
    scratch_bytes: usize,
    inputs: usize,
    outputs: usize,
}

/// The codes of one kernel.
#[derive(Debug)]
struct Variants {
    plain: Part,
    /// For outputs at multiples of a line: stores that go past the caches.
    streaming: Option<Part>,
    /// Without products with 0.
    skipping: Option<Part>,
}

#[derive(Debug)]
struct Part {
    entry: Entry,
    emitted: Emitted,
}

/// The most members that a team may have for a plan.
pub const MAX_MEMBERS: usize = 256;

/// Leaves those of these kernels that have no code to the evaluator, as running the plan does, and all such kernels of stages.
pub fn leave_to_evaluator(plan: &mut Plan, kernels: impl IntoIterator<Item = usize>, isa: Isa) {
    for stage in plan.stages_mut() {
        let plan = Arc::make_mut(&mut stage.plan);
        let all = 0..plan.kernels.len();
        leave_to_evaluator(plan, all, isa);
    }
    for k in kernels {
        if let Err(why) = code(&plan.kernels[k], isa) {
            plan.evaluate(k, &why);
        }
    }
}

impl Unpacked {
    /// Emits every kernel of a plan, by at most so many threads. The graph has so many inputs and outputs.
    pub fn new(mut plan: Plan, inputs: usize, outputs: usize, isa: Isa, threads: usize) -> Result<Unpacked> {
        plan.check_runnable()?;
        let mut stages = Vec::new();
        for stage in plan.stages_mut() {
            let (inputs, outputs) = (stage.inputs.len(), stage.outputs.len());
            let inner = Unpacked::new(
                Arc::unwrap_or_clone(std::mem::take(&mut stage.plan)),
                inputs,
                outputs,
                isa,
                threads,
            )?;
            // Without the constants, so that those are let go when they are laid out.
            let mut shown = inner.plan.clone();
            shown.forget_constants();
            stage.plan = Arc::new(shown);
            stages.push(inner);
        }
        let mut builder = CodeBuilder::new();
        let mut kernels = Vec::with_capacity(plan.kernels.len());
        let mut scratch_bytes = stages.iter().map(|s| s.scratch_bytes).max().unwrap_or(0);
        let mut part = |emitted: Emitted| {
            scratch_bytes = scratch_bytes.max(emitted.scratch_bytes);
            Part { entry: builder.add(&emitted.code), emitted }
        };
        let skipping = emit_skipping(&plan.skipping, isa, threads);
        let codes = emit_all(&plan.kernels, isa, threads);
        for (n, (codes, skipping)) in codes.into_iter().zip(skipping).enumerate() {
            match codes {
                Ok(Codes { plain, streaming }) => {
                    let (plain, streaming) = (part(plain), streaming.map(&mut part));
                    kernels.push(Some(Variants { plain, streaming, skipping: skipping.map(&mut part) }));
                }
                Err(why) => {
                    plan.evaluate(n, &why);
                    kernels.push(None);
                }
            }
        }
        let code =
            builder.finish().map_err(|e| Error::new(Code::Internal, format!("executable memory: {e}")))?;
        Ok(Unpacked { plan, stages, code, kernels, scratch_bytes, inputs, outputs })
    }

    /// The plan, which says what is left to the host.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Lays out the constants, with all members of a team. Their tensors are let go one by one: who wants memory for
    /// them only once drops the graph before.
    pub fn pack(self, team: &Team) -> Result<Executable> {
        let Unpacked { mut plan, stages, code, kernels, scratch_bytes, inputs, outputs } = self;
        let stages: Vec<Arc<Executable>> =
            stages.into_iter().map(|s| s.pack(team).map(Arc::new)).collect::<Result<_>>()?;
        plan.stages_mut().into_iter().zip(&stages).for_each(|(s, made)| s.plan = made.plan.clone());
        let looked_up = plan.looked_up();
        let finite = skipping::finite(&plan, team.members());
        let constants = Constants::new(plan.take_constants()?, &looked_up, team)?;
        Ok(Executable {
            plan: Arc::new(plan),
            stages,
            code,
            kernels,
            constants,
            finite,
            scratch_bytes,
            inputs,
            outputs,
        })
    }
}

impl Executable {
    /// Emits every kernel of a plan and packs its constants. The graph has so many inputs and outputs.
    pub fn new(plan: Plan, inputs: usize, outputs: usize, isa: Isa, team: &Team) -> Result<Executable> {
        Unpacked::new(plan, inputs, outputs, isa, team.members())?.pack(team)
    }

    /// The plan, without the elements of its constants.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What kernels put into memory for want of registers, by kernel: vectors, masks, general registers.
    pub fn spilled(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        self.kernels.iter().map(|v| v.as_ref().map_or([0; 3], |v| v.plain.emitted.spilled))
    }
}
