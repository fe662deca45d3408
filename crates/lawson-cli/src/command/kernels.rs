//! `lawson show --kernels`, `--plan`, `--refused`, `--dump-asm`: what the CPU target, or the wgpu target, makes of a graph. Nothing is run, so that this works on
//! machines that could not.
//!
//! Comes in: a graph before the passes. Goes out: kernels in their text form, under comments that say which steps launch
//! them, how they were scheduled and what was spilled; the plan; the instructions.

use super::run::operators_json;
use crate::args::{Isa, ShowArgs, Target};
use crate::quantity::dim_json;
use crate::report::{Outcome, Reporter};
use lawson::cpu::{Emitted, Listing, emit, plan_for};
use lawson::graph::{Bindings, Dim, Fact, Graph, Relation};
use lawson::kernel::plan::{Skipping, Unjoined};
use lawson::kernel::{Action, Again, Barrier, Bound, Kernel, Plan, Step};
use lawson::wgpu::Capabilities;
use lawson::{Code, Error, Result};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::io::Write;

pub fn run(graph: &Graph, args: &ShowArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let own = || Some(lawson::cpu::Isa::best()).filter(|isa| *isa != lawson::cpu::Isa::Portable);
    let isa = args.isa.map(Isa::to_cpu).or_else(own).unwrap_or(lawson::cpu::Isa::Avx512);
    let (graph, plan) = match args.target {
        Target::Wgpu => lawson::gpu::plan_for(graph, &Capabilities::default(), isa)?,
        Target::Cpu | Target::Reference => plan_for(graph, isa)?,
    };
    let bound = bind(&graph, &plan, args)?;
    if args.plan_text {
        let mut plan = plan;
        // What kernels and regions say of symbols means the sizes that buffers have.
        for b in args.bind.iter().filter(|_| bound.is_some()) {
            plan.facts.add(Fact::new(Dim::symbol(&b.symbol), Relation::Eq, b.value))?;
        }
        let text = plan.to_text(bound.as_ref());
        return match reporter.json {
            true => Ok(writeln!(out, "{:#}", json!({ "plan": text }))?),
            false => Ok(write!(out, "{text}")?),
        };
    }
    let shaders = match args.target {
        Target::Wgpu => shaders(&plan),
        Target::Cpu | Target::Reference => BTreeSet::new(),
    };
    let emitted = |kernel: &Kernel| emit(kernel, isa, Listing::On).map_err(|refused| refused.to_string());
    let code = |at: &At<'_>| match at.stage.is_none() && shaders.contains(&at.kernel) {
        true => {
            Codes { all: Err("it is a shader, which `lawson opcodes` shows".to_string()), skipping: None }
        }
        false => Codes {
            all: emitted(&at.plan.kernels[at.kernel]),
            skipping: at.plan.skipping[at.kernel].as_ref().map(|s| emitted(&s.kernel)),
        },
    };
    let code: Vec<(At<'_>, Codes)> = kernels(&plan).into_iter().map(|at| (at, code(&at))).collect();
    if reporter.json {
        let mut report = json!({});
        if args.plan {
            report["plan"] = plan_json(&plan, bound.as_ref());
        }
        if args.refused {
            report["refused"] = refused(&plan).into_iter().map(refusal_json).collect();
        }
        if args.kernels || args.dump_asm {
            report["kernels"] = code.iter().map(|(at, c)| kernel_json(at, c, args)).collect();
        }
        return Ok(writeln!(out, "{report:#}")?);
    }
    if args.plan {
        write!(out, "{}", plan.text(bound.as_ref()))?;
        if bound.is_none() {
            writeln!(out, "// with --bind for every symbol: sizes, and places in the arena")?;
        }
    }
    if args.refused {
        refusals(&plan, out)?;
    }
    if args.kernels || args.dump_asm {
        for (at, code) in &code {
            kernel(at, code, args, out)?;
        }
    }
    Ok(())
}

/// The machine code of a kernel, or why it has none.
type Emission = std::result::Result<Emitted, String>;

/// The codes of a kernel: of all its products, and without those with 0.
struct Codes {
    all: Emission,
    skipping: Option<Emission>,
}

/// A kernel of a plan or of one of its stages.
#[derive(Clone, Copy)]
struct At<'p> {
    plan: &'p Plan,
    /// Which of the stages it is in, by number.
    stage: Option<usize>,
    kernel: usize,
}

/// The kernels of a plan, then those of its stages.
fn kernels(plan: &Plan) -> Vec<At<'_>> {
    let plans = plan.plans().into_iter().enumerate();
    let all = plans.flat_map(|(n, plan)| {
        (0..plan.kernels.len()).map(move |kernel| At { plan, stage: n.checked_sub(1), kernel })
    });
    all.collect()
}

/// The kernels of a plan that steps launch on a device.
fn shaders(plan: &Plan) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    plan.visit(&mut |step, _| {
        if let Action::Launch { kernel } = step.action {
            found.insert(kernel);
        }
    });
    found
}

/// What was not made one in a plan, and then in its stages, which have numbers.
fn refused(plan: &Plan) -> Vec<(Option<usize>, &Unjoined)> {
    let plans = plan.plans().into_iter().enumerate();
    plans.flat_map(|(n, plan)| plan.refused.iter().map(move |r| (n.checked_sub(1), r))).collect()
}

/// Which kernels were not made one: the value between them or that both read, what reads it, why, and both predicted times.
fn refusals(plan: &Plan, out: &mut dyn Write) -> Outcome {
    let all = refused(plan);
    if all.is_empty() {
        return Ok(writeln!(
            out,
            "// nothing was refused: no kernel reads what another one writes, or would gain by another one that reads the same"
        )?);
    }
    for (stage, Unjoined { within, refusal: r }) in all {
        let places = within.iter().map(|w| format!("in {w}, "));
        let place: String = places.chain(stage.map(|s| format!("in stage {s}, "))).collect();
        write!(out, "{place}")?;
        let (value, reader) = (&r.value, &r.reader);
        match &r.beside {
            Some(other) => writeln!(out, "%{value} is read by the kernels of %{other} and of %{reader}")?,
            None => writeln!(out, "%{value} is written for the kernel of %{reader}")?,
        }
        writeln!(out, "  because {}", r.why)?;
        writeln!(out, "  predicted: apart {}, together {}", seconds(r.apart), seconds(r.together))?;
    }
    Ok(())
}

fn seconds(s: f64) -> String {
    if s < 1e-3 { format!("{:.2} µs", s * 1e6) } else { format!("{:.2} ms", s * 1e3) }
}

fn refusal_json((stage, Unjoined { within, refusal: r }): (Option<usize>, &Unjoined)) -> Json {
    json!({
        "stage": stage,
        "within": within,
        "value": r.value,
        "reader": r.reader,
        "beside": r.beside,
        "why": r.why.to_string(),
        "apart_seconds": r.apart,
        "together_seconds": r.together,
    })
}

/// Sizes and places, if the arguments give every symbol of the plan a value.
fn bind(graph: &Graph, plan: &Plan, args: &ShowArgs) -> Result<Option<Bound>> {
    let mut open = false;
    for b in &plan.buffers {
        b.bytes.visit_symbols(&mut |s| open |= !args.bind.iter().any(|b| b.symbol == s.name()));
    }
    if open {
        return Ok(None);
    }
    let entries: Vec<(Dim, i64, String)> =
        args.bind.iter().map(|b| (Dim::symbol(&b.symbol), b.value, "--bind".to_string())).collect();
    let bindings =
        if entries.is_empty() { Bindings::new() } else { Bindings::solve(&entries, graph.facts())? };
    match args.target {
        // On a device every value has a home of its own; they are shown one after another.
        Target::Wgpu => plan.bind_apart(&bindings)?.bound().map(Some),
        Target::Cpu | Target::Reference => plan.bind(&bindings).map(Some),
    }
}

/// The steps that run a kernel, by number.
fn launches(plan: &Plan, kernel: usize) -> Vec<(usize, &Step)> {
    let mut all = Vec::new();
    plan.visit(&mut |step, _| all.push(step));
    all.into_iter().enumerate().filter(|(_, s)| s.action.kernel() == Some(kernel)).collect()
}

fn kernel(at: &At<'_>, codes: &Codes, args: &ShowArgs, out: &mut dyn Write) -> Outcome {
    let At { plan, stage, kernel: n } = *at;
    let stage = stage.map_or(String::new(), |s| format!("stage {s}, "));
    for (number, step) in launches(plan, n) {
        writeln!(out, "// {stage}step {number}: kernel {n}, {}", plan.describe(step))?;
    }
    match &codes.all {
        Ok(e) => {
            let [vectors, masks, general] = e.spilled;
            writeln!(
                out,
                "// {} bytes of code; spilled: {vectors} vectors, {masks} masks, {general} general registers; \
                 scratch: {} bytes a thread",
                e.code.bytes().len(),
                e.scratch_bytes
            )?;
        }
        Err(refused) => writeln!(out, "// no code: {refused}")?,
    }
    if args.kernels {
        if let Some(why) = &plan.unscheduled[n] {
            writeln!(out, "// plain loops: {}", why.message())?;
        }
        writeln!(out, "// schedule:")?;
        for line in plan.schedules[n].to_string().lines() {
            writeln!(out, "//   {line}")?;
        }
        if let Some(s) = &plan.skipping[n] {
            writeln!(out, "// {}:", while_zero(s, "schedule"))?;
            for line in s.schedule.to_string().lines() {
                writeln!(out, "//   {line}")?;
            }
        }
        writeln!(out, "{}", plan.kernels[n])?;
    }
    if args.dump_asm {
        let text = listing(&codes.all)?;
        writeln!(out, "{text}")?;
        if let (Some(s), Some(code)) = (&plan.skipping[n], &codes.skipping) {
            writeln!(out, "// {}:", while_zero(s, "code"))?;
            writeln!(out, "{}", listing(code)?)?;
        }
    }
    Ok(())
}

/// When a kernel runs in the schedule that leaves products with 0 out.
fn while_zero(s: &Skipping, what: &str) -> String {
    let by = &s.kernel.buffer(s.by).name;
    format!("{what} while {:.0} % of `{by}` or less are not 0", 100.0 * s.most)
}

/// The instructions of a kernel that was emitted with them.
fn listing(code: &Emission) -> Result<&str> {
    match code {
        Ok(e) => e.code.disassembly().ok_or_else(|| Error::internal("code was emitted without a listing")),
        Err(refused) => Err(Error::new(Code::NotLowered, refused.clone())),
    }
}

fn plan_json(plan: &Plan, bound: Option<&Bound>) -> Json {
    let buffer = |n: usize| {
        let b = &plan.buffers[n];
        let bytes = bound.map_or_else(|| dim_json(&b.bytes), |bound| json!(bound.bytes[n]));
        let offset = bound.and_then(|bound| bound.offsets[n]);
        json!({ "name": b.name, "place": b.place_name(), "bytes": bytes, "offset": offset })
    };
    json!({
        "buffers": (0..plan.buffers.len()).map(buffer).collect::<Vec<Json>>(),
        "steps": steps_json(&plan.steps),
        "operators": operators_json(plan.operators()),
        "arena_bytes": bound.map(|b| b.arena),
        "needed_bytes": bound.map(|b| b.needed),
    })
}

fn steps_json(steps: &[Step]) -> Json {
    let one = |s: &Step| {
        let buffers: Vec<u32> = s.buffers.iter().map(|r| r.slot.0).collect();
        let mut json = json!({ "buffers": buffers, "barrier_before": s.barrier == Barrier::Before });
        match &s.action {
            Action::Launch { kernel } => json["kernel"] = json!(kernel),
            Action::Call { kernel } => json["called_kernel"] = json!(kernel),
            Action::Evaluate { kernel, why } => {
                json["evaluated_kernel"] = json!(kernel);
                json["because"] = json!(why.message());
            }
            Action::Interpret(i) => {
                let operators: Vec<&str> = i.graph.nodes().iter().map(|n| n.op.name()).collect();
                json["interpreted"] = json!(operators);
                json["because"] = json!(i.why.message());
            }
            Action::Staged(s) => json["stage"] = plan_json(&s.plan, None),
            Action::Transfer => json["transfer"] = json!(true),
            Action::Loop(l) => {
                match &l.again {
                    Again::Times(n) => json["times"] = dim_json(n),
                    Again::While { steps, condition } => {
                        json["condition"] = steps_json(steps);
                        json["while"] = json!(condition.0);
                    }
                }
                json["body"] = steps_json(&l.body);
            }
            Action::Branch(b) => {
                json["if"] = json!(b.condition.0);
                json["then"] = steps_json(&b.then);
                json["otherwise"] = steps_json(&b.otherwise);
            }
            Action::Declared { name, .. } => json["declared"] = json!(name),
        }
        json
    };
    steps.iter().map(one).collect()
}

fn kernel_json(at: &At<'_>, codes: &Codes, args: &ShowArgs) -> Json {
    let At { plan, stage, kernel: n } = *at;
    let steps: Vec<usize> = launches(plan, n).into_iter().map(|(number, _)| number).collect();
    let mut report = json!({ "name": plan.kernels[n].name, "steps": steps });
    if let Some(stage) = stage {
        report["stage"] = json!(stage);
    }
    match &codes.all {
        Ok(e) => {
            let [vectors, masks, general] = e.spilled;
            report["code_bytes"] = json!(e.code.bytes().len());
            report["scratch_bytes"] = json!(e.scratch_bytes);
            report["spilled"] = json!({ "vectors": vectors, "masks": masks, "general": general });
            if args.dump_asm {
                report["listing"] = json!(e.code.disassembly());
                let skipping = codes.skipping.iter().flatten().find_map(|e| e.code.disassembly());
                report["listing_for_zeros"] = json!(skipping);
            }
        }
        Err(refused) => report["refused"] = json!(refused),
    }
    if args.kernels {
        report["schedule"] = json!(plan.schedules[n].to_string());
        report["schedule_for_zeros"] = json!(plan.skipping[n].as_ref().map(|s| s.schedule.to_string()));
        report["plain_loops"] = json!(plan.unscheduled[n].as_ref().map(|why| why.message()));
        report["text"] = json!(plan.kernels[n].to_string());
    }
    report
}
