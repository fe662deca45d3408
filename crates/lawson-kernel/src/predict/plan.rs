//! Predictions for the steps of a plan: where the operands of each are follows from the steps before it.

use super::{Form, Prediction, Setting, predict};
use crate::machine::Machine;
use crate::plan::{Action, Barrier, Bound, Plan, Slot};
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
    let enough = 2.0 * machine.l3 as f64;
    let mut predictions = Vec::with_capacity(plan.steps.len());
    for (n, step) in plan.steps.iter().enumerate() {
        let Action::Launch { kernel } = step.action else {
            predictions.push(None);
            continue;
        };
        let since: Vec<f64> = step.buffers.iter().map(|r| since(plan, &bound, n, r.slot, enough)).collect();
        let setting = Setting {
            machine,
            bindings,
            threads,
            form: Form::Scheduled,
            since: &since,
            waits: step.barrier == Barrier::Before,
        };
        predictions.push(Some(predict(&plan.kernels[kernel], &setting)?));
    }
    Ok(predictions)
}

/// The bytes touched since a buffer was, itself included; looked for backwards through this run and the one before, until
/// they are more than enough. A buffer of the arena was touched when another was that lay in the same place.
fn since(plan: &Plan, bound: &Bound, step: usize, slot: Slot, enough: f64) -> f64 {
    let size = |s: Slot| bound.bytes[s.0 as usize];
    let place = |s: Slot| bound.offsets[s.0 as usize].map(|at| (at, at + size(s)));
    let mut seen = vec![slot];
    let mut bytes = size(slot) as f64;
    let count = plan.steps.len();
    for back in 1..=count {
        let before = &plan.steps[(step + count - back) % count];
        let touched: Vec<Slot> = plan.accesses(before).iter().map(|a| a.region.slot).collect();
        for s in &touched {
            if !seen.contains(s) {
                seen.push(*s);
                bytes += size(*s) as f64;
            }
        }
        let touches = |s: &Slot| match (place(*s), place(slot)) {
            (Some((a, b)), Some((c, d))) => a < d && c < b,
            _ => *s == slot,
        };
        if touched.iter().any(touches) || bytes > enough {
            break;
        }
    }
    bytes
}
