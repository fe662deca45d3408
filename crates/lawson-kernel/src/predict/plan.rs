//! Predictions for the steps of a plan: where the operands of each are follows from the steps before it.

use super::{Form, Prediction, Setting, predict};
use crate::machine::Machine;
use crate::plan::{Barrier, Plan, Slot};
use lawson_graph::{Bindings, Result};

/// Predicts every step of a plan, for runs that follow each other: what a run leaves in the caches, the next finds there.
pub fn predict_plan(
    plan: &Plan,
    machine: &Machine,
    bindings: &Bindings,
    threads: usize,
) -> Result<Vec<Prediction>> {
    let mut sizes = Vec::with_capacity(plan.buffers.len());
    for b in &plan.buffers {
        sizes.push(bindings.eval(&b.bytes)?.max(0) as f64);
    }
    let enough = 2.0 * machine.l3 as f64;
    let mut predictions = Vec::with_capacity(plan.steps.len());
    for (n, step) in plan.steps.iter().enumerate() {
        let since: Vec<f64> = step.buffers.iter().map(|s| since(plan, &sizes, n, *s, enough)).collect();
        let setting = Setting {
            machine,
            bindings,
            threads,
            form: Form::Scheduled,
            since: &since,
            waits: step.barrier == Barrier::Before,
        };
        predictions.push(predict(&plan.kernels[step.kernel], &setting)?);
    }
    Ok(predictions)
}

/// The bytes touched since a buffer was, itself included; looked for backwards through this run and the one before, until
/// they are more than enough.
fn since(plan: &Plan, sizes: &[f64], step: usize, slot: Slot, enough: f64) -> f64 {
    let mut seen = vec![slot];
    let mut bytes = sizes[slot.0 as usize];
    let count = plan.steps.len();
    for back in 1..=count {
        let before = &plan.steps[(step + count - back) % count];
        for s in &before.buffers {
            if !seen.contains(s) {
                seen.push(*s);
                bytes += sizes[s.0 as usize];
            }
        }
        if before.buffers.contains(&slot) || bytes > enough {
            break;
        }
    }
    bytes
}
