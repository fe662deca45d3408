//! Schedules of a plan's kernels, by several threads.
//!
//! In: the groups of a block, lowered. Out: of kernels that differ in more than names, each with the schedule that was chosen for it, proven. Kernels
//! have nothing to do with each other until the plan puts them together, in the order of its steps: how many threads there are changes nothing.

use super::{Known, Planner, Runner};
use crate::borrow::all_in_place;
use crate::buffer::BufferId;
use crate::choose::{Freedom, choose, choose_skipping};
use crate::machine::Machine;
use crate::opaque::opaque;
use crate::parallel::for_all;
use crate::partition::Part;
use crate::plan::{Scheduled, Skipping};
use crate::schedule::Schedule;
use crate::skip::is_often_zero;
use crate::tree::Kernel;
use crate::verify::verify;
use lawson_graph::{Result, ValueId};

/// A kernel as it was lowered, and what decides about its schedule besides.
pub(super) struct Wanted {
    pub(super) kernel: Kernel,
    /// Which of its buffers are constants.
    pub(super) constants: Vec<BufferId>,
    /// Which of them are often 0.
    pub(super) often_zero: Vec<BufferId>,
    pub(super) runner: Runner,
}

impl Wanted {
    /// Whether it is the same but for names.
    pub(super) fn is_like(&self, other: &Wanted) -> bool {
        self.constants == other.constants
            && self.often_zero == other.often_zero
            && self.runner == other.runner
            && same(&self.kernel, &other.kernel)
    }
}

/// Whether two kernels are the same but for names.
fn same(a: &Kernel, b: &Kernel) -> bool {
    a.exprs == b.exprs
        && a.body == b.body
        && a.facts == b.facts
        && a.axes.len() == b.axes.len()
        && a.axes.iter().zip(&b.axes).all(|(a, b)| a.derived == b.derived)
        && a.buffers.len() == b.buffers.len()
        && a.buffers
            .iter()
            .zip(&b.buffers)
            .all(|(a, b)| a.dtype == b.dtype && a.dims == b.dims && a.layout == b.layout && a.role == b.role)
        && a.accs.len() == b.accs.len()
        && a.accs.iter().zip(&b.accs).all(|(a, b)| a.state == b.state && a.merge == b.merge)
}

/// A kernel with the schedule that is chosen for it, proven with its sizes as symbols where that is enough.
fn schedule(kernel: &Kernel, machine: &Machine, freedom: &Freedom) -> Result<Scheduled> {
    if let Some((plain, sizes)) = opaque(kernel)
        && let Ok(made) = schedule_as_written(&plain, machine, freedom)
        && made.unscheduled.is_none()
    {
        let restored = |of: &Kernel| sizes.restore(of, &kernel.facts);
        let skipping = made.skipping.map(|s| Box::new(Skipping { kernel: restored(&s.kernel), ..*s }));
        return Ok(Scheduled { kernel: restored(&made.kernel), skipping, ..made });
    }
    schedule_as_written(kernel, machine, freedom)
}

/// A kernel with the schedule that is chosen for it. Machine code checks nothing when it runs, so that only what is
/// proven is planned: a schedule that is beyond the proofs gives way to the plain loops, and the plan says so.
fn schedule_as_written(kernel: &Kernel, machine: &Machine, freedom: &Freedom) -> Result<Scheduled> {
    let mut scheduled = kernel.clone();
    let chosen = choose(&mut scheduled, machine, freedom);
    let made = |kernel: Kernel, schedule, unscheduled| {
        let over = all_in_place(&kernel);
        Scheduled { kernel, schedule, over, unscheduled, skipping: None }
    };
    match chosen.and_then(|choice| verify(&scheduled).map(|()| choice)) {
        Ok(choice) => {
            let skipping = choose_skipping(kernel, machine, &choice.layouts, freedom);
            Ok(Scheduled { skipping: skipping.map(Box::new), ..made(scheduled, choice.schedule, None) })
        }
        Err(why) => match verify(kernel) {
            Ok(()) => Ok(made(kernel.clone(), Schedule::default(), Some(why))),
            // Beyond the proofs even as plain loops: what was meant is then checked where it is read.
            Err(unproven) => match kernel.with_checked_loads() {
                Some(checked) => schedule_as_written(&checked, machine, freedom),
                None => Err(unproven),
            },
        },
    }
}

impl Planner<'_, '_, '_> {
    /// Schedules the kernels of all groups that are not part of the plan yet.
    pub(super) fn schedule_all(&mut self, parts: &[Part]) {
        // One at a time they are scheduled when they are asked for.
        if self.common.machines.threads < 2 {
            return;
        }
        let mut wanted: Vec<Wanted> = Vec::new();
        for part in parts {
            let Ok(lowered) = &part.lowered else { continue };
            let one = self.wanted(lowered.kernel.clone(), &lowered.inputs, self.runner(&part.group));
            let mut known = self.common.known.iter().map(|k| &k.wanted).chain(&wanted);
            if !known.any(|k| k.is_like(&one)) {
                wanted.push(one);
            }
        }
        let made = for_all(&wanted, self.common.machines.threads, |one| self.scheduled(one));
        self.common.ready.extend(wanted.into_iter().zip(made));
    }

    /// The number of a kernel, which is scheduled unless an equal one was.
    pub(super) fn kernel(&mut self, wanted: Wanted) -> Result<usize> {
        if let Some(known) = self.common.known.iter().find(|k| k.wanted.is_like(&wanted)) {
            return Ok(known.number);
        }
        let made = match self.common.ready.iter().position(|(k, _)| k.is_like(&wanted)) {
            Some(at) => self.common.ready.swap_remove(at).1,
            None => self.scheduled(&wanted),
        };
        let number = self.common.plan.add_scheduled(made?);
        self.common.known.push(Known { wanted, number });
        Ok(number)
    }

    /// The machine that runs kernels.
    pub(super) fn machine(&self, runner: Runner) -> &Machine {
        let machines = &self.common.machines;
        match runner {
            Runner::Target => machines.target,
            Runner::Cpu => machines.cpu.unwrap_or(machines.target),
        }
    }

    pub(super) fn scheduled(&self, wanted: &Wanted) -> Result<Scheduled> {
        let machine = self.machine(wanted.runner);
        let Wanted { constants, often_zero, .. } = wanted;
        let freedom = Freedom { constants: constants.clone(), often_zero: often_zero.clone() };
        schedule(&wanted.kernel, machine, &freedom)
    }

    /// A kernel that reads these values, with what decides about its schedule. It is proven from what the plan's sizes are checked for: a body may
    /// know more, of sizes that it finds itself.
    pub(super) fn wanted(&self, kernel: Kernel, inputs: &[ValueId], runner: Runner) -> Wanted {
        let kernel = Kernel { facts: self.common.plan.facts.clone(), ..kernel };
        let constants = self.constants_of(&kernel, inputs);
        let often_zero = (0..inputs.len()).filter(|i| is_often_zero(self.graph, inputs[*i]));
        let often_zero = often_zero.map(|i| BufferId(i as u32)).collect();
        Wanted { kernel, constants, often_zero, runner }
    }

    /// Which buffers of a kernel that reads these values are constants that may lie as it wants them.
    fn constants_of(&self, kernel: &Kernel, inputs: &[ValueId]) -> Vec<BufferId> {
        // Elements that share a byte stay where they are.
        let fills_bytes = |i: usize| kernel.buffers[i].dtype.bits().is_multiple_of(8);
        let free = (0..inputs.len()).filter(|i| self.is_constant(inputs[*i]) && fills_bytes(*i));
        free.map(|i| BufferId(i as u32)).collect()
    }
}
