//! The table of `lawson bench --kernels`: every step timed in its place, beside what the cost model predicts for it. Loops, branches, stages and
//! what is left to the host are a row each, of which nothing is predicted.

use crate::quantity::measured;
use crate::report::{Outcome, Reporter};
use lawson::cpu::Isa;
use lawson::graph::Bindings;
use lawson::kernel::machine::{Machine, Spread};
use lawson::kernel::predict::{Prediction, predict_plan};
use lawson::kernel::{Action, Expr, Kernel, Mode, Plan, Step};
use lawson::machine::{Kept, device_machine, this_machine};
use lawson::wgpu::Device;
use lawson::{Result, Session, Value};
use serde_json::{Value as Json, json};
use std::io::Write;
use std::time::Instant;

/// The steps of a plan.
pub struct Steps(Vec<Row>);

struct Row {
    /// Its number, as `lawson show --plan` has it: steps inside of others count.
    step: usize,
    kernel: Option<usize>,
    what: String,
    operators: Vec<&'static str>,
    seconds: f64,
    /// The part of the sum over all steps.
    share: f64,
    /// What kind of step it is, if it is not the launch of a kernel.
    kind: Option<String>,
    predicted: Option<Prediction>,
    plain: bool,
}

/// Rounds of steps, if each takes next to nothing; and for how long they may take together, in seconds.
const MOST: usize = 301;
const LEAST: usize = 5;
const TIME: f64 = 1.5;
/// Operators that are listed by name.
const LISTED: usize = 8;

/// The machine that predictions are for, a device or this one with some instructions: as measured, if it was.
pub fn machine(reporter: &Reporter, device: Option<&Device>, isa: Option<Isa>) -> Result<Machine> {
    let of = |kept: Option<&Kept>| match device {
        Some(device) => device_machine(kept, device),
        None => Ok(isa.unwrap_or_else(Isa::best).of(&this_machine(kept)?)),
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

/// The part of a run from which on a step matters, and the part of what its limit allows below which it is far from that.
const MATTERS: f64 = 0.05;
const FAR: f64 = 0.3;

impl Row {
    /// Whether it takes a part of the run that matters, and much longer than operations and bytes do.
    fn is_far(&self) -> bool {
        let reached = self.predicted.as_ref().map(|p| p.bound / self.seconds);
        self.share > MATTERS && self.seconds > 2e-6 && reached.is_some_and(|reached| reached < FAR)
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
        let Some(first) = session.time_steps(values, 1)? else { return Ok(None) };
        let one = start.elapsed().as_secs_f64();
        let rounds = ((TIME / one.max(1e-9)) as usize).clamp(LEAST, MOST);
        // One round that takes as long as all of them may is all there are.
        let timed = if one >= TIME { first } else { session.time_steps(values, rounds)?.unwrap_or_default() };
        let Some(plan) = session.program().plan() else { return Ok(None) };
        let predictions = predict_plan(plan, machine, bindings, threads)?;
        let around = around(machine, threads);
        let median = |step: usize| {
            let mut all: Vec<f64> = timed.iter().filter_map(|round| round.get(step).copied()).collect();
            all.sort_by(f64::total_cmp);
            (all.get(all.len() / 2).copied().unwrap_or(0.0) - around).max(1e-9)
        };
        let sum: f64 = (0..plan.steps.len()).map(median).sum();
        let mut rows = Vec::with_capacity(plan.steps.len());
        let mut number = 0;
        for ((n, step), predicted) in plan.steps.iter().enumerate().zip(predictions) {
            let (kernel, seconds) = (step.action.kernel(), median(n));
            rows.push(Row {
                step: number,
                kernel,
                what: written(plan, step),
                operators: kernel.map_or(Vec::new(), |k| operators(&plan.kernels[k])),
                seconds,
                share: seconds / sum.max(1e-12),
                kind: kind(step),
                predicted,
                plain: kernel.is_some_and(|k| plan.unscheduled[k].is_some()),
            });
            number += count(step);
        }
        Ok(Some(Steps(rows)))
    }

    /// Steps of which something is predicted, with that.
    fn predicted(&self) -> impl Iterator<Item = (&Row, &Prediction)> {
        self.0.iter().filter_map(|r| Some((r, r.predicted.as_ref()?)))
    }

    /// The part of the time of steps of which nothing is predicted.
    fn unpredicted(&self) -> f64 {
        self.0.iter().filter(|r| r.predicted.is_none()).map(|r| r.share).sum()
    }

    /// How far predictions are off, as a factor: the geometric mean over all steps of which something is predicted, if there are any.
    fn error(&self) -> Option<f64> {
        let count = self.predicted().count();
        let sum: f64 = self.predicted().map(|(r, p)| off(r, p)).sum();
        (count > 0).then(|| (sum / count as f64).exp())
    }

    /// The same, each step counting by its share of their time.
    fn weighted_error(&self) -> Option<f64> {
        let shares: f64 = self.predicted().map(|(r, _)| r.share).sum();
        let sum: f64 = self.predicted().map(|(r, p)| r.share * off(r, p)).sum();
        (shares > 0.0).then(|| (sum / shares).exp())
    }

    pub fn to_json(&self) -> Json {
        let row = |r: &Row| {
            let p = r.predicted.as_ref();
            json!({
                "step": r.step,
                "kind": r.kind.as_deref().unwrap_or("kernel"),
                "kernel": r.kernel,
                "writes": r.what,
                "operators": r.operators,
                "plain_loops": r.plain,
                "us": r.seconds * 1e6,
                "share": r.share,
                "predicted_us": p.map(|p| p.seconds * 1e6),
                "ratio": p.map(|p| p.seconds / r.seconds),
                "regime": p.map(|p| p.regime.name()),
                "limit": p.map(|p| p.limit.name()),
                "bound_us": p.map(|p| p.bound * 1e6),
                "of_bound": p.map(|p| p.bound / r.seconds),
                "compute_us": p.map(|p| p.compute * 1e6),
                "memory_us": p.map(|p| p.memory * 1e6),
                "overhead_us": p.map(|p| p.overhead * 1e6),
                "flops": p.map(|p| p.flops),
                "bytes": p.map(|p| p.bytes()),
            })
        };
        json!({
            "error": self.error(),
            "weighted_error": self.weighted_error(),
            "unpredicted_share": self.unpredicted(),
            "steps": self.0.iter().map(row).collect::<Vec<Json>>(),
        })
    }

    pub fn print(&self, out: &mut dyn Write) -> Outcome {
        writeln!(
            out,
            "  {:>4} {:>9} {:>6} {:>10} {:>6} {:>6}  {:18} writes: operators",
            "step", "time", "share", "predicted", "ratio", "limit", "bound by"
        )?;
        for r in &self.0 {
            let mut operators = r.operators.iter().take(LISTED).copied().collect::<Vec<_>>().join(" ");
            if r.operators.len() > LISTED {
                operators.push_str(" …");
            }
            let [predicted, ratio, reached, bound] = match &r.predicted {
                Some(p) => [
                    measured(p.seconds, "s"),
                    format!("{:.2}", p.seconds / r.seconds),
                    format!("{:.0}%", 100.0 * p.bound / r.seconds),
                    format!("{}, {}", p.regime.name(), p.limit.name()),
                ],
                None => ["-", "-", "-", "-"].map(str::to_string),
            };
            let note = match (r.plain, r.is_far()) {
                (true, _) => " (plain loops)",
                (_, true) => " (far from its limit)",
                _ => "",
            };
            if let Some(kind) = &r.kind {
                operators = if operators.is_empty() { kind.clone() } else { format!("{operators} ({kind})") };
            }
            writeln!(
                out,
                "  {:>4} {:>9} {:>5.1}% {predicted:>10} {ratio:>6} {reached:>6}  {bound:18} {}: {operators}{note}",
                r.step,
                measured(r.seconds, "s"),
                100.0 * r.share,
                r.what,
            )?;
        }
        let sum: f64 = self.0.iter().map(|r| r.seconds).sum();
        write!(out, "  {} steps, {} in all", self.0.len(), measured(sum, "s"))?;
        if let (Some(error), Some(weighted)) = (self.error(), self.weighted_error()) {
            write!(
                out,
                "; predictions are off by a factor of {error:.2} (geometric mean), {weighted:.2} by time"
            )?;
        }
        let without = self.0.len() - self.predicted().count();
        if without > 0 {
            let part = 100.0 * self.unpredicted();
            write!(out, "; nothing is predicted of {without} of them, {part:.0} % of the time")?;
        }
        Ok(writeln!(out)?)
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

/// By what factor a prediction is off, as a logarithm.
fn off(row: &Row, predicted: &Prediction) -> f64 {
    (predicted.seconds / row.seconds).ln().abs()
}

/// What kind of step it is, if it is not the launch of a kernel.
fn kind(step: &Step) -> Option<String> {
    let kernels = |count: usize| if count == 1 { "1 step".to_string() } else { format!("{count} steps") };
    Some(match &step.action {
        Action::Launch { .. } => return None,
        Action::Call { .. } => "on the processor".to_string(),
        Action::Evaluate { .. } => "by the evaluator".to_string(),
        Action::Interpret(i) => {
            let names: Vec<&str> = i.graph.nodes().iter().map(|n| n.op.name()).collect();
            format!("{} by the interpreter", names.join(" "))
        }
        Action::Staged(s) => format!("stage of {}", kernels(s.plan.steps.len())),
        Action::Loop(_) => format!("loop over {}", kernels(count(step) - 1)),
        Action::Branch(_) => format!("branch with {}", kernels(count(step) - 1)),
        Action::Transfer => "transfer".to_string(),
        Action::Declared { name, .. } => name.clone(),
    })
}

/// How many steps it is, with those that it holds.
fn count(step: &Step) -> usize {
    1 + step.action.blocks().into_iter().flatten().map(count).sum::<usize>()
}

/// The names of the buffers that a step writes, or the steps that it holds.
fn written(plan: &Plan, step: &Step) -> String {
    let mut names: Vec<&str> = Vec::new();
    for access in plan.accesses(step).iter().filter(|a| a.mode != Mode::Read) {
        let name = plan.buffer(access.region.slot).name.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
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
