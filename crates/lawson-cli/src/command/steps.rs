//! The table of `lawson bench --kernels`: every step timed in its place, beside what the cost model predicts for it.

use crate::quantity::measured;
use crate::report::{Outcome, Reporter};
use lawson::graph::Bindings;
use lawson::kernel::machine::{Machine, Spread};
use lawson::kernel::predict::{Prediction, predict_plan};
use lawson::kernel::{Expr, Kernel, Mode, Plan};
use lawson::machine::{Kept, device_machine, this_machine};
use lawson::wgpu::Device;
use lawson::{Result, Session, Value};
use serde_json::{Value as Json, json};
use std::io::Write;
use std::time::Instant;

/// The steps of a plan.
pub struct Steps(Vec<Row>);

struct Row {
    step: usize,
    kernel: usize,
    what: String,
    operators: Vec<&'static str>,
    seconds: f64,
    /// The part of the sum over all steps.
    share: f64,
    predicted: Prediction,
    plain: bool,
}

/// Rounds of steps, if each takes next to nothing; and for how long they may take together, in seconds.
const MOST: usize = 301;
const LEAST: usize = 5;
const TIME: f64 = 1.5;
/// Operators that are listed by name.
const LISTED: usize = 8;

/// The machine that predictions are for, a device or this one: as measured, if it was.
pub fn machine(reporter: &Reporter, device: Option<&Device>) -> Result<Machine> {
    let of = |kept: Option<&Kept>| match device {
        Some(device) => device_machine(kept, device),
        None => this_machine(kept),
    };
    match of(Kept::of_user().as_ref()) {
        Ok(machine) => Ok(machine),
        // What was kept is of no use; what is asked for here does not need it.
        Err(e) => {
            reporter.note(&format!("times are predicted from estimates: {}", e.message()));
            of(None)
        }
    }
}

impl Steps {
    /// Times the steps of a session's program; `None` if it has none.
    pub fn time(
        session: &mut Session,
        values: &[Value],
        bindings: &Bindings,
        machine: &Machine,
        threads: usize,
    ) -> Result<Option<Steps>> {
        let start = Instant::now();
        if session.time_steps(values, 1)?.is_none() {
            return Ok(None);
        }
        let one = start.elapsed().as_secs_f64();
        let rounds = ((TIME / one.max(1e-9)) as usize).clamp(LEAST, MOST);
        let timed = session.time_steps(values, rounds)?.unwrap_or_default();
        let Some(plan) = session.program().plan() else { return Ok(None) };
        let predictions = predict_plan(plan, machine, bindings, threads)?;
        let around = around(machine, threads);
        let median = |step: usize| {
            let mut all: Vec<f64> = timed.iter().filter_map(|round| round.get(step).copied()).collect();
            all.sort_by(f64::total_cmp);
            (all.get(all.len() / 2).copied().unwrap_or(0.0) - around).max(1e-9)
        };
        let sum: f64 = (0..plan.steps.len()).map(median).sum();
        // Steps that are not launches have no kernel that could be predicted.
        let row = |(step, predicted): (usize, Option<Prediction>)| {
            let (kernel, predicted) = (plan.steps[step].action.kernel()?, predicted?);
            let seconds = median(step);
            Some(Row {
                step,
                kernel,
                what: written(plan, step),
                operators: operators(&plan.kernels[kernel]),
                seconds,
                share: seconds / sum.max(1e-12),
                predicted,
                plain: plan.unscheduled[kernel].is_some(),
            })
        };
        Ok(Some(Steps(predictions.into_iter().enumerate().filter_map(row).collect())))
    }

    /// How far predictions are off, as a factor: the geometric mean over all steps.
    fn error(&self) -> f64 {
        let off = |r: &Row| (r.predicted.seconds / r.seconds).ln().abs();
        (self.0.iter().map(off).sum::<f64>() / self.0.len().max(1) as f64).exp()
    }

    /// The same, each step counting by its share of the time.
    fn weighted_error(&self) -> f64 {
        self.0.iter().map(|r| r.share * (r.predicted.seconds / r.seconds).ln().abs()).sum::<f64>().exp()
    }

    pub fn to_json(&self) -> Json {
        let row = |r: &Row| {
            let p = &r.predicted;
            json!({
                "step": r.step,
                "kernel": r.kernel,
                "writes": r.what,
                "operators": r.operators,
                "plain_loops": r.plain,
                "us": r.seconds * 1e6,
                "share": r.share,
                "predicted_us": p.seconds * 1e6,
                "ratio": p.seconds / r.seconds,
                "regime": p.regime.name(),
                "limit": p.limit.name(),
                "compute_us": p.compute * 1e6,
                "memory_us": p.memory * 1e6,
                "overhead_us": p.overhead * 1e6,
                "flops": p.flops,
                "bytes": p.bytes(),
            })
        };
        json!({
            "error": self.error(),
            "weighted_error": self.weighted_error(),
            "steps": self.0.iter().map(row).collect::<Vec<Json>>(),
        })
    }

    pub fn print(&self, out: &mut dyn Write) -> Outcome {
        writeln!(
            out,
            "  {:>4} {:>9} {:>6} {:>10} {:>6}  {:18} writes: operators",
            "step", "time", "share", "predicted", "ratio", "bound by"
        )?;
        for r in &self.0 {
            let p = &r.predicted;
            let mut operators = r.operators.iter().take(LISTED).copied().collect::<Vec<_>>().join(" ");
            if r.operators.len() > LISTED {
                operators.push_str(" …");
            }
            writeln!(
                out,
                "  {:>4} {:>9} {:>5.1}% {:>10} {:>6.2}  {:18} {}: {operators}{}",
                r.step,
                measured(r.seconds, "s"),
                100.0 * r.share,
                measured(p.seconds, "s"),
                p.seconds / r.seconds,
                format!("{}, {}", p.regime.name(), p.limit.name()),
                r.what,
                if r.plain { " (plain loops)" } else { "" },
            )?;
        }
        let sum: f64 = self.0.iter().map(|r| r.seconds).sum();
        Ok(writeln!(
            out,
            "  {} steps, {} in all; predictions are off by a factor of {:.2} (geometric mean), {:.2} by time",
            self.0.len(),
            measured(sum, "s"),
            self.error(),
            self.weighted_error(),
        )?)
    }
}

/// The seconds that stand around a step because it is timed: two looks at the clock, and two barriers of a team or a submission to a device.
fn around(machine: &Machine, threads: usize) -> f64 {
    let mut looks: Vec<f64> = (0..101)
        .map(|_| {
            let start = Instant::now();
            start.elapsed().as_secs_f64()
        })
        .collect();
    looks.sort_by(f64::total_cmp);
    let meeting = match machine.spread {
        Spread::Grid => machine.rates.run,
        Spread::Team if threads > 1 => machine.rates.barrier,
        Spread::Team => 0.0,
    };
    looks[looks.len() / 2] + meeting
}

/// The names of the buffers that a step writes.
fn written(plan: &Plan, step: usize) -> String {
    let modes = plan.modes(&plan.steps[step]).into_iter().filter(|(_, mode)| *mode != Mode::Read);
    modes.map(|(region, _)| plan.buffer(region.slot).name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The operators that a kernel computes, each once, in the order of its expressions.
fn operators(kernel: &Kernel) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for e in &kernel.exprs {
        let name = match e {
            Expr::Unary(kind, _) => kind.name(),
            Expr::Binary(kind, ..) => kind.name(),
            Expr::Compare(kind, ..) => kind.name(),
            Expr::Fma(..) => "fma",
            Expr::Extremum(..) => "extremum",
            Expr::Select(..) => "select",
            Expr::Cast(..) => "cast",
            _ => continue,
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
