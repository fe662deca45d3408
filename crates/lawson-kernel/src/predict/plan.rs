//! Predictions for the steps of a plan: where the operands of each are follows from the steps before it.

use super::traffic::touches;
use super::{Form, Prediction, Setting, predict};
use crate::machine::{Machine, Spread};
use crate::plan::{Action, Barrier, Bound, Plan, Slot, Step};
use lawson_graph::{Bindings, Result};

/// Predicts every launch among the steps of a plan, for runs that follow each other: what a run leaves in the caches, the next finds
/// there. Of loops, branches and what is left to the host nothing is said.
pub fn predict_plan(
    plan: &Plan,
    machine: &Machine,
    bindings: &Bindings,
    threads: usize,
) -> Result<Vec<Option<Prediction>>> {
    let bound = plan.bind(bindings)?;
    let mut touched = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        touched.push(of_step(plan, &bound, step, bindings)?);
    }
    let seconds = vec![0.0; plan.steps.len()];
    let enough = 2.0 * machine.l3 as f64;
    let mut history = History { plan, bound: &bound, touched, seconds, others: machine.rates.others, enough };
    let mut predictions = history.predict(machine, bindings, threads)?;
    if history.others > 0.0 {
        // How much others bring meanwhile follows from how long steps take.
        history.seconds = predictions.iter().map(|p| p.as_ref().map_or(0.0, |p| p.seconds)).collect();
        predictions = history.predict(machine, bindings, threads)?;
    }
    Ok(predictions)
}

/// What a step touches of a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Touch {
    slot: Slot,
    /// The first byte, and the one behind the last.
    first: usize,
    end: usize,
    /// How many bytes of them.
    bytes: f64,
    /// Whether it is written past the caches.
    streamed: bool,
}

/// What happened before each step, in runs that follow each other.
struct History<'p> {
    plan: &'p Plan,
    bound: &'p Bound,
    /// By step.
    touched: Vec<Vec<Touch>>,
    /// By step, how long it takes, as far as that is known.
    seconds: Vec<f64>,
    /// Bytes a second that others bring.
    others: f64,
    /// How many bytes it is worth looking back for.
    enough: f64,
}

impl History<'_> {
    fn predict(
        &self,
        machine: &Machine,
        bindings: &Bindings,
        threads: usize,
    ) -> Result<Vec<Option<Prediction>>> {
        // How members of a device share a kernel is no part of its loops.
        let form = match machine.spread {
            Spread::Team => Form::Scheduled,
            Spread::Grid => Form::Natural,
        };
        let mut predictions = Vec::with_capacity(self.plan.steps.len());
        for (n, step) in self.plan.steps.iter().enumerate() {
            let Action::Launch { kernel } = step.action else {
                predictions.push(None);
                continue;
            };
            let since: Vec<f64> = self.touched[n].iter().map(|t| self.since_touched(n, t)).collect();
            let launches = |s: usize| self.plan.steps[s].action.kernel() == Some(kernel);
            let setting = Setting {
                machine,
                bindings,
                threads,
                form,
                since: &since,
                started: self.since(n, 0.0, launches).0,
                waits: step.barrier == Barrier::Before,
            };
            predictions.push(Some(predict(&self.plan.kernels[kernel], &setting)?));
        }
        Ok(predictions)
    }

    /// The bytes touched since these were, themselves included. What was stored past the caches is in none.
    fn since_touched(&self, step: usize, what: &Touch) -> f64 {
        let (bytes, found) = self.since(step, what.bytes, |s| self.touches(s, what).is_some());
        let streamed = found.and_then(|s| self.touches(s, what)).is_some_and(|t| t.streamed);
        if streamed { f64::INFINITY } else { bytes }
    }

    /// What a step touches of some bytes.
    fn touches(&self, step: usize, what: &Touch) -> Option<&Touch> {
        // A buffer of the arena was touched when another was that lay in the same place.
        let place = |t: &Touch| self.bound.offsets[t.slot.0 as usize].map(|at| (at + t.first, at + t.end));
        self.touched[step].iter().find(|t| match (place(t), place(what)) {
            (Some((a, b)), Some((c, d))) => a < d && c < b,
            _ => t.slot == what.slot && t.first < what.end && what.first < t.end,
        })
    }

    /// The bytes touched, and brought by others, since the last step of some kind, with some bytes that are counted already; and which it
    /// was. It is looked for backwards through this run and the one before, until they are more than enough.
    fn since(&self, step: usize, own: f64, kind: impl Fn(usize) -> bool) -> (f64, Option<usize>) {
        let count = self.plan.steps.len();
        let mut seen: Vec<&Touch> = Vec::new();
        let mut bytes = own;
        // Steps touch their bytes one after another: on average half of the step lies between.
        let mut seconds = self.seconds[step] / 2.0;
        for back in 1..=count {
            let before = (step + count - back) % count;
            for t in &self.touched[before] {
                if !seen.contains(&t) {
                    seen.push(t);
                    bytes += t.bytes;
                }
            }
            let found = kind(before);
            seconds += self.seconds[before] * if found { 0.5 } else { 1.0 };
            let all = bytes + seconds * self.others;
            if found || all > self.enough {
                return (all, found.then_some(before));
            }
        }
        (bytes + seconds * self.others, None)
    }
}

/// What a step touches: of a launch, for each argument, the part of its buffer that the kernel reaches; of others, whole buffers.
fn of_step(plan: &Plan, bound: &Bound, step: &Step, bindings: &Bindings) -> Result<Vec<Touch>> {
    let whole = |slot: Slot| {
        let end = bound.bytes[slot.0 as usize];
        Touch { slot, first: 0, end, bytes: end as f64, streamed: false }
    };
    let Action::Launch { kernel } = step.action else {
        return Ok(plan.accesses(step).iter().map(|a| whole(a.region.slot)).collect());
    };
    let reached = touches(&plan.kernels[kernel], bindings)?;
    let mut all = Vec::with_capacity(step.buffers.len());
    for (region, reached) in step.buffers.iter().zip(reached) {
        let start = plan.part(region, &bound.bytes, bindings)?.0;
        let end = bound.bytes[region.slot.0 as usize];
        all.push(Touch {
            slot: region.slot,
            first: (start + reached.first).min(end),
            end: reached.end.map_or(end, |e| (start + e).min(end)),
            bytes: reached.bytes,
            streamed: reached.streamed,
        });
    }
    Ok(all)
}
