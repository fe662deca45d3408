//! A second look at what was joined: parts whose kernels are predicted to take longer than those that they were joined from are taken apart.
//!
//! Groups are joined before they have schedules, by what a good schedule would make of them. What was chosen may be another one: a sum that lost its
//! tile, a prologue that each panel computes anew, loops that too few members share. So the kernel as it will run is priced by
//! the cost model, and where that is more than was thought of its halves, these get schedules and prices too, and so on down. What takes less time is kept.
//!
//! In: a part with its kernel. Out: itself, or the parts that it was joined from. So no kernel is kept that its own model prices above its parts.

use super::Planner;
use super::scheduled::Wanted;
use crate::machine::{Machine, Spread};
use crate::partition::{Part, Splitter};
use crate::predict::{Form, Setting, predict};
use crate::tree::Kernel;
use lawson_graph::{Bindings, Symbol};

/// By how much a kernel may be predicted to take longer than what was thought of its halves before anybody looks at them.
const CLOSE: f64 = 1.15;
/// By how much what is kept must be better than what is taken apart.
const BETTER: f64 = 0.97;
/// How unevenly a team may share a kernel before anybody looks at its halves, if it takes some seconds at all.
const UNEVEN: f64 = 1.4;
const LONG: f64 = 20e-6;
/// Seconds of which starting a kernel is a part that matters.
const SHORT: f64 = 1e-6;

impl Planner<'_, '_, '_> {
    /// A part, or those that it was joined from where these are predicted to take less time.
    pub(super) fn settled(&mut self, part: Part, splitter: &Splitter<'_>) -> Vec<Part> {
        let Some(apart) = splitter.apart(&part) else { return vec![part] };
        let Some(whole) = self.price(&part) else { return vec![part] };
        let cores = self.machine(self.runner(&part.group)).cores().max(1) as f64;
        let is_uneven = whole.alone > LONG && whole.shared * cores > whole.alone * UNEVEN;
        if whole.alone <= apart * CLOSE && !is_uneven {
            return vec![part];
        }
        let Some(halves) = splitter.split(&part) else { return vec![part] };
        // What good schedules would make of them is less than they will take.
        let least = halves.iter().filter_map(|half| self.least(half));
        let least = least.fold(Price::NOTHING, Price::and);
        if whole.alone > SHORT && least.mean() >= whole.mean() * BETTER {
            return vec![part];
        }
        let mut parts = Vec::new();
        let mut sum = Price::NOTHING;
        for half in halves.into_iter().flat_map(|half| self.settled(half, splitter)).collect::<Vec<_>>() {
            // What no kernel computes takes nobody knows how long.
            let unknown = Price { alone: f64::INFINITY, shared: f64::INFINITY };
            sum = sum.and(self.price(&half).unwrap_or(unknown));
            parts.push(half);
        }
        if sum.mean() < whole.mean() * BETTER { parts } else { vec![part] }
    }

    /// What a part takes, by the schedule of its kernel.
    fn price(&mut self, part: &Part) -> Option<Price> {
        let lowered = part.lowered.as_ref().ok()?;
        let runner = self.runner(&part.group);
        let wanted = self.wanted(lowered.kernel.clone(), &lowered.inputs, runner);
        let machine = self.machine(runner);
        if machine.spread == Spread::Grid {
            return None;
        }
        let machine = machine.clone();
        let cores = usize::try_from(machine.cores()).unwrap_or(1).max(1);
        let kernel = self.ready(wanted)?;
        Price::of(kernel, &machine, cores, Form::Scheduled)
    }

    /// What a part takes at least, whatever schedule its kernel gets.
    fn least(&self, part: &Part) -> Option<Price> {
        let machine = self.machine(self.runner(&part.group));
        let cores = usize::try_from(machine.cores()).unwrap_or(1).max(1);
        Price::of(&part.lowered.as_ref().ok()?.kernel, machine, cores, Form::Natural)
    }

    /// A kernel as it will run; its schedule is chosen now if it was not yet.
    fn ready(&mut self, wanted: Wanted) -> Option<&Kernel> {
        if let Some(known) = self.common.known.iter().find(|k| k.wanted.is_like(&wanted)) {
            return Some(&self.common.plan.kernels[known.number]);
        }
        let at = match self.common.ready.iter().position(|(k, _)| k.is_like(&wanted)) {
            Some(at) => at,
            None => {
                let made = self.scheduled(&wanted);
                self.common.ready.push((wanted, made));
                self.common.ready.len() - 1
            }
        };
        self.common.ready[at].1.as_ref().ok().map(|made| &made.kernel)
    }
}

/// Seconds that a kernel is predicted to take.
#[derive(Clone, Copy)]
struct Price {
    /// On one core.
    alone: f64,
    /// On all of them.
    shared: f64,
}

impl Price {
    const NOTHING: Price = Price { alone: 0.0, shared: 0.0 };

    fn of(kernel: &Kernel, machine: &Machine, cores: usize, form: Form) -> Option<Price> {
        let alone = seconds(kernel, machine, 1, form)?;
        // What is little is run by one member.
        let shared = if cores > 1 { seconds(kernel, machine, cores, form)?.min(alone) } else { alone };
        Some(Price { alone, shared })
    }

    fn and(self, other: Price) -> Price {
        Price { alone: self.alone + other.alone, shared: self.shared + other.shared }
    }

    /// One number for both. A plan is the same for every number of threads, or its results might not be; so it must do for all.
    fn mean(self) -> f64 {
        (self.alone * self.shared).sqrt()
    }
}

/// The seconds of a kernel whose operands are where values of their size lie between kernels.
fn seconds(kernel: &Kernel, machine: &Machine, threads: usize, form: Form) -> Option<f64> {
    let mut bindings = Bindings::new();
    let mut symbols: Vec<Symbol> = Vec::new();
    for buffer in &kernel.buffers {
        for d in buffer.dims.iter().chain([&buffer.layout.size]) {
            d.visit_symbols(&mut |s| {
                if !symbols.contains(s) {
                    symbols.push(s.clone());
                }
            });
        }
    }
    for s in symbols {
        let usual = kernel.facts.usual_of(&s);
        bindings.define(s, usual, "a size that is usual");
    }
    let bytes = |n: &crate::Buffer| bindings.eval(&n.bytes()).map_or(0.0, |n| n as f64);
    // Half of a level is for what else is at work.
    let since: Vec<f64> = kernel.arguments().map(|b| 2.0 * bytes(kernel.buffer(b))).collect();
    let setting =
        Setting { machine, bindings: &bindings, threads, form, since: &since, started: 0.0, waits: true };
    predict(kernel, &setting).ok().map(|p| p.seconds)
}
