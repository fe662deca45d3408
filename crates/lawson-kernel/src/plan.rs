//! The plan: kernels as steps over buffers, in order.
//!
//! A plan is made for all sizes that its facts allow; [`Plan::bind`] fixes the parameters and gives every buffer of the arena
//! its place. Steps between two barriers are independent of each other. Buffers of the arena whose lives do not
//! overlap share bytes; a life is counted in phases, which are what lies between barriers. `text.rs` prints plans.

mod text;

pub use text::PlanText;

use crate::buffer::{BufferId, Layout, Role};
use crate::pack::Packing;
use crate::partition::Refusal;
use crate::schedule::Schedule;
use crate::tree::Kernel;
use lawson_graph::{Bindings, Code, Dim, Error, Facts, HostTensor, Result};
use std::collections::HashSet;

/// A buffer of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Slot(pub u32);

/// Kernels as steps over buffers.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What is known of the parameters.
    pub facts: Facts,
    /// The kernels, each scheduled.
    pub kernels: Vec<Kernel>,
    /// The schedules that were applied to them, by the same numbers.
    pub schedules: Vec<Schedule>,
    /// Why a kernel runs as plain loops instead of by the schedule that was chosen for it, by the same numbers.
    pub unscheduled: Vec<Option<Error>>,
    /// The buffers.
    pub buffers: Vec<PlanBuffer>,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// Which kernels were not made one, and why.
    pub refused: Vec<Refusal>,
}

/// A buffer of a plan.
#[derive(Clone, Debug)]
pub struct PlanBuffer {
    /// Its name, for people.
    pub name: String,
    /// How many bytes it takes.
    pub bytes: Dim,
    /// Where it is.
    pub place: Place,
}

/// Where a buffer is.
#[derive(Clone, Debug)]
pub enum Place {
    /// The caller's input of this number.
    Input(usize),
    /// The caller's output of this number.
    Output(usize),
    /// Known when the plan is made, laid out as the kernels want it.
    Constant {
        /// Its elements, row-major; none once [`Plan::take_constants`] gave them away.
        tensor: Option<HostTensor>,
        /// The dimensions by which kernels index it.
        dims: Vec<Dim>,
        /// Where its elements lie.
        layout: Layout,
    },
    /// In the arena.
    Arena,
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub struct Step {
    /// The kernel, by number.
    pub kernel: usize,
    /// The buffers of the plan that stand for the kernel's, in the order of those that are not scratch.
    pub buffers: Vec<Slot>,
    /// Whether everything before must have happened.
    pub barrier: Barrier,
}

/// Whether a step waits for those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Barrier {
    /// It waits.
    Before,
    /// It may run beside the step before it.
    None,
}

/// A plan with its sizes known.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The size of each buffer, in bytes.
    pub bytes: Vec<usize>,
    /// Where the buffers of the arena begin.
    pub offsets: Vec<Option<usize>>,
    /// How many bytes the arena has.
    pub arena: usize,
}

/// Buffers of the arena begin at multiples of this.
const ALIGN: usize = 64;

impl Kernel {
    /// The buffers that are not scratch, in order.
    pub fn arguments(&self) -> impl Iterator<Item = BufferId> + '_ {
        let all = self.buffers.iter().enumerate();
        all.filter(|(_, b)| !matches!(b.role, Role::Scratch(_))).map(|(i, _)| BufferId(i as u32))
    }
}

impl Plan {
    /// Adds a kernel to which this schedule has been applied; gives its number.
    pub fn add_kernel(&mut self, kernel: Kernel, schedule: Schedule) -> usize {
        self.kernels.push(kernel);
        self.schedules.push(schedule);
        self.unscheduled.push(None);
        self.kernels.len() - 1
    }

    /// Adds a kernel that runs as plain loops, and why.
    pub fn add_plain_kernel(&mut self, kernel: Kernel, why: Error) -> usize {
        let number = self.add_kernel(kernel, Schedule::default());
        self.unscheduled[number] = Some(why);
        number
    }

    /// Adds a buffer.
    pub fn add_buffer(&mut self, buffer: PlanBuffer) -> Slot {
        self.buffers.push(buffer);
        Slot(self.buffers.len() as u32 - 1)
    }

    /// Adds a step; whether it must wait follows from what the steps since the last barrier read and write.
    pub fn add_step(&mut self, kernel: usize, buffers: Vec<Slot>) {
        let (reads, writes) = self.accesses(kernel, &buffers);
        let mut depends = false;
        for before in self.steps.iter().rev() {
            let (r, w) = self.accesses(before.kernel, &before.buffers);
            depends |= !w.is_disjoint(&reads) || !w.is_disjoint(&writes) || !r.is_disjoint(&writes);
            if depends || before.barrier == Barrier::Before {
                break;
            }
        }
        let barrier = if depends { Barrier::Before } else { Barrier::None };
        self.steps.push(Step { kernel, buffers, barrier });
    }

    fn accesses(&self, kernel: usize, buffers: &[Slot]) -> (HashSet<Slot>, HashSet<Slot>) {
        let k = &self.kernels[kernel];
        let (mut reads, mut writes) = (HashSet::new(), HashSet::new());
        for (b, slot) in k.arguments().zip(buffers) {
            match k.buffer(b).role {
                Role::Output => writes.insert(*slot),
                Role::Input | Role::Scratch(_) => reads.insert(*slot),
            };
        }
        (reads, writes)
    }

    /// Takes the elements of the constants out of the plan, which need not keep them once they are laid out: which
    /// buffers they are for, what they are, and where their elements shall lie.
    pub fn take_constants(&mut self) -> Result<Vec<(Slot, HostTensor, Packing)>> {
        let mut taken = Vec::new();
        for (n, b) in self.buffers.iter_mut().enumerate() {
            let Place::Constant { tensor, dims, layout } = &mut b.place else { continue };
            let Some(tensor) = tensor.take() else { continue };
            let sizes = Bindings::new().eval_shape(dims)?;
            let packing = Packing::new(layout, &sizes, tensor.dtype())?;
            taken.push((Slot(n as u32), tensor, packing));
        }
        Ok(taken)
    }

    /// Gives every buffer its size, and those of the arena their places.
    pub fn bind(&self, bindings: &Bindings) -> Result<Bound> {
        let mut bytes = Vec::with_capacity(self.buffers.len());
        for b in &self.buffers {
            let n = bindings.eval(&b.bytes)?;
            let n = usize::try_from(n).map_err(|_| {
                Error::new(Code::DimOverflow, format!("the buffer `{}` would have {n} bytes", b.name))
            })?;
            bytes.push(n);
        }
        let lives = self.lives();
        let mut order: Vec<usize> =
            (0..self.buffers.len()).filter(|i| matches!(self.buffers[*i].place, Place::Arena)).collect();
        order.sort_by_key(|i| std::cmp::Reverse(bytes[*i]));
        let mut offsets: Vec<Option<usize>> = vec![None; self.buffers.len()];
        let mut arena = 0;
        let mut placed: Vec<usize> = Vec::new();
        for i in order {
            let Some((first, last)) = lives[i] else { continue };
            // What is in the way: buffers alive at the same time, by where they lie.
            let mut taken: Vec<(usize, usize)> = placed
                .iter()
                .filter(|p| lives[**p].is_some_and(|(f, l)| f <= last && first <= l))
                .filter_map(|p| offsets[*p].map(|at| (at, at + bytes[*p])))
                .collect();
            taken.sort_unstable();
            let mut at = 0usize;
            for (from, to) in taken {
                if at.saturating_add(bytes[i]) <= from {
                    break;
                }
                at = at.max(to.checked_next_multiple_of(ALIGN).unwrap_or(usize::MAX));
            }
            let end =
                at.checked_add(bytes[i]).filter(|end| isize::try_from(*end).is_ok()).ok_or_else(|| {
                    let message =
                        format!("the arena would end behind byte {at} with a buffer of {}", bytes[i]);
                    Error::new(Code::DimOverflow, message).help("run on smaller sizes")
                })?;
            offsets[i] = Some(at);
            arena = arena.max(end);
            placed.push(i);
        }
        Ok(Bound { bytes, offsets, arena })
    }

    /// The first and last phase of every buffer that a step uses.
    fn lives(&self) -> Vec<Option<(usize, usize)>> {
        let mut lives: Vec<Option<(usize, usize)>> = vec![None; self.buffers.len()];
        let mut phase = 0;
        for step in &self.steps {
            if step.barrier == Barrier::Before {
                phase += 1;
            }
            for s in &step.buffers {
                let life = lives[s.0 as usize].get_or_insert((phase, phase));
                life.1 = phase;
            }
        }
        lives
    }
}
