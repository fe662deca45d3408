//! Plans that one member runs alone: whose steps take less time than a team takes to meet between them.
//!
//! Results do not depend on the number of members, so this is nobody's to see but in time: small networks and loops with small bodies are as fast on a
//! team as on one thread.

use lawson_graph::Bindings;
use lawson_kernel::predict::{Form, Setting, predict};
use lawson_kernel::{Bound, Plan};

/// The most bytes of all buffers of a plan that is looked at, and the most kernels.
const BYTES: usize = 512 << 10;
const KERNELS: usize = 96;
/// Seconds that steps take on average, on one core, below which meeting between them takes longer than what a team saves.
const STEP: f64 = 0.4e-6;
/// The same of a run of all steps once, which a team must be woken for.
const RUN: f64 = 1.5e-6;

/// Whether one member takes less time for a plan of these sizes than a team does.
pub(super) fn is_small(plan: &Plan, bound: &Bound, bindings: &Bindings) -> bool {
    let bytes = bound.bytes.iter().fold(0usize, |a, b| a.saturating_add(*b));
    if bytes > BYTES || plan.kernels.len() > KERNELS {
        return false;
    }
    let machine = crate::host::machine();
    let mut known: Vec<Option<f64>> = vec![None; plan.kernels.len()];
    let (mut steps, mut seconds, mut all) = (0usize, 0.0, true);
    plan.visit(&mut |step, _| {
        let Some(k) = step.action.kernel() else {
            all &= !step.action.blocks().is_empty();
            return;
        };
        let kernel = &plan.kernels[k];
        let of = known[k].get_or_insert_with(|| {
            let since = vec![0.0; kernel.arguments().count()];
            let setting = Setting {
                machine: &machine,
                bindings,
                threads: 1,
                form: Form::Scheduled,
                since: &since,
                started: 0.0,
                waits: false,
            };
            predict(kernel, &setting).map_or(f64::INFINITY, |p| p.seconds)
        });
        steps += 1;
        seconds += *of;
    });
    all && steps > 0 && (seconds <= RUN || seconds / steps as f64 <= STEP)
}
