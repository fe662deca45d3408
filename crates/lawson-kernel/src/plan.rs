//! The plan: what happens to which buffers, in order.
//!
//! A plan is made for all sizes that its facts allow; [`Plan::bind`] fixes the parameters and gives every buffer of the arena
//! its place. Steps between two barriers are independent of each other. A step launches a kernel, leaves one to the evaluator
//! or a part of the graph to the interpreter, or holds steps itself: loops and branches, which begin and end with
//! barriers of their own. All steps, however deep, share one list of buffers. A stage is a step with a plan of its own, for what has sizes that
//! are found in a run.
//!
//! `access.rs` says what a step reads and writes, `step.rs` builds steps, `arena.rs` and `place.rs` place buffers in one arena, `apart.rs` in
//! buffers of a device; `transfer.rs` adds the transfers that a device needs, `hosted.rs` does what is left to the host; `text.rs` describes plans,
//! `form.rs` prints and `parse.rs` reads their text form; `borrow/` proves that steps do not get in each other's way.

mod access;
mod apart;
mod arena;
mod form;
pub mod hosted;
mod parse;
mod place;
mod step;
mod text;
mod transfer;

pub use access::{Access, Mode};
pub use apart::Apart;
pub use arena::Bound;
pub use parse::{Places, WrittenPlan};
pub use step::{
    Action, Again, Barrier, Branch, Carried, Interpreted, Loop, Order, Region, Row, Staged, Step,
};
pub use text::PlanText;

use crate::borrow::all_in_place;
use crate::buffer::{BufferId, Layout, Role};
use crate::expr::Expr;
use crate::index::Index;
use crate::pack::Packing;
use crate::partition::Refusal;
use crate::schedule::Schedule;
use crate::tree::Kernel;
use lawson_graph::{Bindings, Code, DType, Dim, Error, Facts, HostTensor, Result};
use std::collections::HashSet;

/// A buffer of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Slot(pub u32);

/// Kernels as steps over buffers.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Its name, for people.
    pub name: String,
    /// What is known of the parameters.
    pub facts: Facts,
    /// The kernels, each scheduled.
    pub kernels: Vec<Kernel>,
    /// The schedules that were applied to them, by the same numbers.
    pub schedules: Vec<Schedule>,
    /// Why a kernel runs as plain loops instead of by the schedule that was chosen for it, by the same numbers.
    pub unscheduled: Vec<Option<Error>>,
    /// The kernels in schedules that leave out products with 0, by the same numbers.
    pub skipping: Vec<Option<Box<Skipping>>>,
    /// The arguments of kernels that may share their bytes: one that is read, and one that is written over it, by the same
    /// numbers.
    pub over: Vec<Vec<(usize, usize)>>,
    /// The buffers.
    pub buffers: Vec<PlanBuffer>,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// Which kernels were not made one, and why; stages say it of themselves.
    pub refused: Vec<Unjoined>,
}

/// Two kernels that were not made one.
#[derive(Clone, Debug, PartialEq)]
pub struct Unjoined {
    /// The bodies of loops and branches that they are in, the innermost first.
    pub within: Vec<String>,
    /// Which, and why.
    pub refusal: Refusal<String>,
}

/// A kernel and what a plan says of it.
#[derive(Clone, Debug)]
pub struct Scheduled {
    /// The kernel, scheduled.
    pub kernel: Kernel,
    /// The schedule that was applied to it.
    pub schedule: Schedule,
    /// Its arguments that may share their bytes: one that is read, and one that is written over it.
    pub over: Vec<(usize, usize)>,
    /// Why it runs as plain loops instead of by the schedule that was chosen for it.
    pub unscheduled: Option<Error>,
    /// It in a schedule that leaves out products with 0.
    pub skipping: Option<Box<Skipping>>,
}

/// A kernel in another schedule, which leaves out products with 0. It may run in place of the kernel where the argument `finite` is so: results
/// are the same to the last bit.
#[derive(Clone, Debug)]
pub struct Skipping {
    /// The kernel, scheduled.
    pub kernel: Kernel,
    /// The schedule that was applied to it.
    pub schedule: Schedule,
    /// The argument by whose zeros products are left out.
    pub by: BufferId,
    /// The constant argument that it is multiplied with.
    pub finite: BufferId,
    /// It takes less time where this part of the elements of `by` or less is not 0.
    pub most: f64,
    /// It takes less time where `by` has so many elements or more.
    pub least: i64,
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
    /// In another buffer, which a loop goes through row by row: the row of the iteration that runs.
    Row {
        /// The other buffer.
        of: Slot,
    },
    /// In the host's memory, for a plan whose other buffers lie on a device: what steps that are left to the host read and write.
    Host,
    /// No bytes: what the host keeps for a value that is no tensor, or whose size is known only when it is there.
    Value(ValuePort),
}

/// Whose a value without bytes is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValuePort {
    /// The caller's input of this number.
    Input(usize),
    /// The caller's output of this number.
    Output(usize),
    /// The plan's own.
    Own,
}

/// How many operators of a graph run in which way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Operators {
    /// In kernels that the target emits code for.
    pub machine_code: usize,
    /// In kernels that the processor beside the target runs as machine code, because they are placed there.
    pub on_cpu: usize,
    /// In kernels that the portable evaluator runs.
    pub evaluator: usize,
    /// One by one, by the reference interpreter.
    pub interpreter: usize,
}

/// Checks that each output that becomes an input of the next run has its size; `same` says whether an output and an input have the same.
pub fn check_feeds(feeds: &[(usize, usize)], same: impl Fn(usize, usize) -> bool) -> Result<()> {
    match feeds.iter().find(|(output, input)| !same(*output, *input)) {
        None => Ok(()),
        Some((output, input)) => {
            Err(Error::new(Code::InputType, format!("output {output} and input {input} differ in size")))
        }
    }
}

impl Kernel {
    /// The buffers that are not scratch, in order.
    pub fn arguments(&self) -> impl Iterator<Item = BufferId> + '_ {
        let all = self.buffers.iter().enumerate();
        all.filter(|(_, b)| !matches!(b.role, Role::Scratch(_))).map(|(i, _)| BufferId(i as u32))
    }

    /// The buffers of which elements are loaded, all at places that are data.
    fn looked_up(&self) -> HashSet<BufferId> {
        let (mut found, mut otherwise) = (HashSet::new(), HashSet::new());
        for expr in &self.exprs {
            if let Expr::Load(load) = expr {
                let at_data = load.index.iter().any(Index::is_data);
                if at_data { &mut found } else { &mut otherwise }.insert(load.buffer);
            }
        }
        &found - &otherwise
    }
}

impl Plan {
    /// Adds a kernel to which this schedule has been applied; gives its number.
    pub fn add_kernel(&mut self, kernel: Kernel, schedule: Schedule) -> usize {
        let over = all_in_place(&kernel);
        self.add_scheduled(Scheduled { kernel, schedule, over, unscheduled: None, skipping: None })
    }

    /// Adds a kernel that the verifier refuses, of which nothing more is asked than its arguments.
    pub(crate) fn add_unproven(&mut self, kernel: Kernel) -> usize {
        let (over, schedule) = (Vec::new(), Schedule::default());
        self.add_scheduled(Scheduled { kernel, schedule, over, unscheduled: None, skipping: None })
    }

    /// Adds a kernel of which all is known that a plan says.
    pub fn add_scheduled(&mut self, made: Scheduled) -> usize {
        self.over.push(made.over);
        self.kernels.push(made.kernel);
        self.schedules.push(made.schedule);
        self.unscheduled.push(made.unscheduled);
        self.skipping.push(made.skipping);
        self.kernels.len() - 1
    }

    /// Adds a buffer.
    pub fn add_buffer(&mut self, buffer: PlanBuffer) -> Slot {
        self.buffers.push(buffer);
        Slot(self.buffers.len() as u32 - 1)
    }

    /// The buffer of a slot.
    pub fn buffer(&self, slot: Slot) -> &PlanBuffer {
        &self.buffers[slot.0 as usize]
    }

    /// Adds a step; whether it must wait follows from what the steps since the last barrier read and write.
    pub fn add_step(&mut self, step: Step) {
        let mut steps = std::mem::take(&mut self.steps);
        self.append(&mut steps, step);
        self.steps = steps;
    }

    /// Adds a step to a block, as [`Plan::add_step`] does.
    pub fn append(&self, block: &mut Vec<Step>, mut step: Step) {
        let mine = self.accesses(&step);
        let mut depends = false;
        for before in block.iter().rev() {
            // Loops and branches end with a barrier.
            if before.action.is_control() {
                break;
            }
            depends |= self.accesses(before).iter().any(|a| mine.iter().any(|b| self.meet(a, b)));
            if depends || before.barrier == Barrier::Before {
                break;
            }
        }
        step.barrier = if depends { Barrier::Before } else { Barrier::None };
        block.push(step);
    }

    /// Leaves a kernel to the portable evaluator wherever it is launched, and says why.
    pub fn evaluate(&mut self, kernel: usize, why: &Error) {
        fn walk(steps: &mut [Step], kernel: usize, why: &Error) {
            for step in steps {
                match &mut step.action {
                    Action::Launch { kernel: k } | Action::Call { kernel: k } if *k == kernel => {
                        step.action = Action::Evaluate { kernel, why: why.clone() };
                    }
                    action => action.blocks_mut().into_iter().for_each(|b| walk(b, kernel, why)),
                }
            }
        }
        walk(&mut self.steps, kernel, why);
    }

    /// The kernels that the processor beside the target runs, ascending.
    pub fn called(&self) -> Vec<usize> {
        let mut found = std::collections::BTreeSet::new();
        self.visit(&mut |step, _| {
            if let Action::Call { kernel } = step.action {
                found.insert(kernel);
            }
        });
        found.into_iter().collect()
    }

    /// Calls `visit` with every step and how deep it stands, each before what it holds.
    pub fn visit<'p>(&'p self, visit: &mut impl FnMut(&'p Step, usize)) {
        fn walk<'p>(steps: &'p [Step], depth: usize, visit: &mut impl FnMut(&'p Step, usize)) {
            for step in steps {
                visit(step, depth);
                step.action.blocks().into_iter().for_each(|b| walk(b, depth + 1, visit));
            }
        }
        walk(&self.steps, 0, visit);
    }

    /// The stages among its steps, in the order of [`Plan::visit`].
    pub fn stages(&self) -> Vec<&Staged> {
        let mut found = Vec::new();
        self.visit(&mut |step, _| {
            if let Action::Staged(s) = &step.action {
                found.push(&**s);
            }
        });
        found
    }

    /// The same, to change them.
    pub fn stages_mut(&mut self) -> Vec<&mut Staged> {
        fn walk<'p>(steps: &'p mut [Step], found: &mut Vec<&'p mut Staged>) {
            for step in steps {
                match &mut step.action {
                    Action::Staged(s) => found.push(s),
                    action => action.blocks_mut().into_iter().for_each(|b| walk(b, found)),
                }
            }
        }
        let mut found = Vec::new();
        walk(&mut self.steps, &mut found);
        found
    }

    /// The plan and those of its stages, each before those of its own stages.
    pub fn plans(&self) -> Vec<&Plan> {
        let inner = self.stages().into_iter().flat_map(|s| s.plan.plans());
        std::iter::once(self).chain(inner).collect()
    }

    /// Refuses a plan with steps that only say what they read and write.
    pub fn check_runnable(&self) -> Result<()> {
        let mut declared = None;
        self.visit(&mut |step, _| {
            if let Action::Declared { name, .. } = &step.action {
                declared = Some(name);
            }
        });
        match declared {
            None => Ok(()),
            Some(name) => {
                let message = format!("the step `{name}` only says what it reads and writes");
                Err(Error::new(Code::NotEmitted, message).help("such plans can be checked, but not run"))
            }
        }
    }

    /// How many operators run in which way; those in loops count once, and those of stages as their plans say.
    pub fn operators(&self) -> Operators {
        let mut count = Operators::default();
        self.visit(&mut |step, _| match step.action {
            Action::Launch { .. } => count.machine_code += step.operators,
            Action::Call { .. } => count.on_cpu += step.operators,
            Action::Evaluate { .. } => count.evaluator += step.operators,
            Action::Interpret(_) => count.interpreter += step.operators,
            Action::Staged(ref s) => count += s.plan.operators(),
            Action::Loop(_) | Action::Branch(_) | Action::Declared { .. } | Action::Transfer => {}
        });
        count
    }

    /// Buffers that steps read only at places that are data, such as tables in which words are looked up: few of their elements
    /// are read in a run, if they are many.
    pub fn looked_up(&self) -> HashSet<Slot> {
        let (mut found, mut otherwise) = (HashSet::new(), HashSet::new());
        self.visit(&mut |step, _| {
            let kernel = match step.action {
                Action::Launch { kernel } | Action::Call { kernel } => Some(&self.kernels[kernel]),
                _ => None,
            };
            let looked_up = kernel.map(Kernel::looked_up).unwrap_or_default();
            let arguments =
                kernel.into_iter().flat_map(Kernel::arguments).map(Some).chain(std::iter::repeat(None));
            for (region, argument) in step.buffers.iter().zip(arguments) {
                let only = argument.is_some_and(|b| looked_up.contains(&b));
                if only { &mut found } else { &mut otherwise }.insert(region.slot);
            }
        });
        &found - &otherwise
    }

    /// Lets go of the elements of the constants.
    pub fn forget_constants(&mut self) {
        for b in &mut self.buffers {
            if let Place::Constant { tensor, .. } = &mut b.place {
                *tensor = None;
            }
        }
    }

    /// Takes the elements of the constants out of the plan, which need not keep them once they are laid out: which
    /// buffers they are for, what they are, and where their elements shall lie.
    pub fn take_constants(&mut self) -> Result<Vec<(Slot, HostTensor, Packing)>> {
        let mut taken = Vec::new();
        for (n, b) in self.buffers.iter_mut().enumerate() {
            let Place::Constant { tensor, dims, layout } = &mut b.place else { continue };
            let Some(tensor) = tensor.take() else { continue };
            let sizes = Bindings::new().eval_shape(dims)?;
            let packing = match tensor.dtype().bits() {
                // Elements that share bytes stay as they are.
                0..8 if *layout == Layout::row_major(dims) => {
                    let bytes = [tensor.bytes().len()];
                    let dims = [Dim::from(bytes[0])];
                    Packing::new(&Layout::row_major(&dims), &bytes, DType::U8)?
                }
                _ => Packing::new(layout, &sizes, tensor.dtype())?,
            };
            taken.push((Slot(n as u32), tensor, packing));
        }
        Ok(taken)
    }
}

impl std::ops::AddAssign for Operators {
    fn add_assign(&mut self, more: Operators) {
        self.machine_code += more.machine_code;
        self.on_cpu += more.on_cpu;
        self.evaluator += more.evaluator;
        self.interpreter += more.interpreter;
    }
}

impl Operators {
    /// Those that no emitted code runs.
    pub fn on_host(&self) -> usize {
        self.evaluator + self.interpreter
    }
}
