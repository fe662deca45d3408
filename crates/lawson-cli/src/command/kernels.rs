//! `lawson show --kernels`, `--plan`, `--refused`, `--dump-asm`: what the CPU target, or the wgpu target, makes of a graph. Nothing is run, so that this works on
//! machines that could not.
//!
//! Comes in: a graph before the passes. Goes out: kernels in their text form, under comments that say which steps launch
//! them, how they were scheduled and what was spilled; the plan; the instructions.

use super::passes;
use super::run::operators_json;
use super::sizes::{Sizes, without_sharing};
use crate::args::{Fusion, Isa, ShowArgs, Target};
use crate::device;
use crate::quantity::dim_json;
use crate::report::{Outcome, Reporter};
use lawson::cpu::{Emitted, Listing, PlanOptions, emit, plan_with};
use lawson::graph::{Dim, Fact, Graph, Relation, Symbol};
use lawson::kernel::plan::{Carried, Order, Row, Skipping, Unjoined};
use lawson::kernel::{Action, Again, Barrier, Kernel, Place, Plan, Step};
use lawson::wgpu::Capabilities;
use lawson::{Code, Error, Result};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io::Write;

pub fn run(graph: &Graph, args: &ShowArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let (isa, graph, plan) = compile(graph, args)?;
    let sizes = Sizes::new(&graph, &plan, args)?;
    let bound = sizes.as_ref().map(|s| &s.bound);
    if args.plan_text {
        let mut plan = plan;
        // What kernels and regions say of symbols means the sizes that buffers have.
        for b in args.bind.iter().filter(|_| bound.is_some()) {
            plan.facts.add(Fact::new(Dim::symbol(&b.symbol), Relation::Eq, b.value))?;
        }
        let text = plan.to_text(bound);
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
            report["plan"] = plan_json(&plan, sizes.as_ref());
        }
        if args.refused {
            report["refused"] = refused(&plan).into_iter().map(refusal_json).collect();
            report["usual_sizes"] =
                usual_sizes(&plan).into_iter().map(|(s, size)| (s, json!(size))).collect();
        }
        if args.kernels || args.dump_asm {
            report["kernels"] = code.iter().map(|(at, c)| kernel_json(at, c, args)).collect();
        }
        return Ok(writeln!(out, "{report:#}")?);
    }
    if args.plan {
        write!(out, "{}", plan.text(bound))?;
        match &sizes {
            Some(sizes) => sizes.print_stages(&plan, out)?,
            None => writeln!(out, "// with --bind for every symbol: sizes, and places in the arena")?,
        }
    }
    if args.refused {
        refusals(&plan, out)?;
        if !usual_sizes(&plan).is_empty() {
            let taken: Vec<String> =
                usual_sizes(&plan).into_iter().map(|(symbol, size)| format!("{symbol} for {size}")).collect();
            writeln!(
                out,
                "// decided for usual sizes, for the plan serves all; --bind says others: {} is taken",
                taken.join(", ")
            )?;
        }
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

/// What `run` and `bench` would compile with the same options: how the processor runs kernels, the graph after the passes, and its plan.
fn compile(graph: &Graph, args: &ShowArgs) -> Result<(lawson::cpu::Isa, Graph, Plan)> {
    if args.target == Target::Reference {
        return Err(Error::new(Code::Usage, "the reference target has no plan and no kernels")
            .help("leave out --target, or say --target cpu or --target wgpu"));
    }
    if args.target == Target::Cpu && args.device.device.is_some() {
        device::open(args.target, &args.device)?;
    }
    if args.threads == Some(0) || (args.threads.is_some() && args.target != Target::Cpu) {
        let message = match args.threads {
            Some(0) => "--threads is at least 1".to_string(),
            _ => format!("the {} target has no team of threads", args.target.name()),
        };
        return Err(Error::new(Code::Usage, message));
    }
    let own = || Some(lawson::cpu::Isa::best()).filter(|isa| *isa != lawson::cpu::Isa::Portable);
    let isa = args.isa.map(Isa::to_cpu).or_else(own).unwrap_or(lawson::cpu::Isa::Avx512);
    let default = PlanOptions::default();
    let options = PlanOptions {
        isa,
        passes: args.passes.as_deref().map_or(Ok(default.passes), passes)?,
        fusion: args.fusion.map_or(default.fusion, Fusion::to_lawson),
        threads: args.threads.unwrap_or(default.threads),
        expect: args.bind.iter().map(|b| (b.symbol.clone(), usize::try_from(b.value).unwrap_or(0))).collect(),
    };
    let (graph, plan) = match args.target {
        Target::Wgpu => {
            let capabilities = match args.device.device {
                None => Capabilities::default(),
                Some(_) => device::open(args.target, &args.device)?
                    .ok_or_else(|| Error::internal("no device was opened"))?
                    .capabilities()?,
            };
            lawson::gpu::plan_with(graph, &capabilities, &options)?
        }
        Target::Cpu | Target::Reference => plan_with(graph, &options)?,
    };
    Ok((isa, graph, plan))
}

/// What open sizes of a plan were taken for when it was decided what is computed together; none if it serves one size.
fn usual_sizes(plan: &Plan) -> BTreeMap<String, i64> {
    let mut sizes = BTreeMap::new();
    for plan in plan.plans() {
        for b in &plan.buffers {
            b.bytes.visit_symbols(&mut |s| {
                sizes.insert(s.name().to_string(), plan.facts.usual_of(s));
            });
        }
    }
    sizes
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

fn plan_json(plan: &Plan, sizes: Option<&Sizes>) -> Json {
    let bound = sizes.map(|s| &s.bound);
    let buffer = |n: usize| {
        let b = &plan.buffers[n];
        let bytes = bound.map_or_else(|| dim_json(&b.bytes), |bound| json!(bound.bytes[n]));
        let offset = bound.and_then(|bound| bound.offsets[n]);
        json!({ "name": b.name, "place": b.place_name(), "bytes": bytes, "offset": offset })
    };
    json!({
        "buffers": (0..plan.buffers.len()).map(buffer).collect::<Vec<Json>>(),
        "steps": steps_json(plan, &plan.steps, sizes),
        "operators": operators_json(plan.operators()),
        "arena_bytes": bound.map(|b| b.arena),
        "needed_bytes": bound.map(|b| b.needed),
        "without_sharing_bytes": bound.map(without_sharing),
        "stage_arena_bytes": sizes.and_then(|s| s.stage_arena(plan)),
    })
}

fn steps_json(plan: &Plan, steps: &[Step], sizes: Option<&Sizes>) -> Json {
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
            Action::Staged(s) => {
                let greatest = sizes.and_then(|sizes| sizes.greatest(s));
                json["stage"] = plan_json(&s.plan, greatest.as_ref());
                let found = |s: &Symbol| {
                    let most = greatest.as_ref().and_then(|g| g.bindings.get(s));
                    json!({ "name": s.name(), "most": most })
                };
                json["found"] = s.symbols.iter().map(found).collect();
            }
            Action::Transfer => json["transfer"] = json!(true),
            Action::Loop(l) => {
                let rows = match &l.again {
                    Again::Times(n) => {
                        let n =
                            sizes.and_then(|s| s.bindings.eval(n).ok()).map_or_else(|| n.clone(), Dim::from);
                        json["times"] = dim_json(&n);
                        dim_json(&n)
                    }
                    Again::While { steps, condition } => {
                        json["condition"] = steps_json(plan, steps, sizes);
                        json["while"] = json!(condition.0);
                        Json::Null
                    }
                };
                let carried = |c: &Carried| json!({ "state": c.state.0, "next": c.next.0 });
                json["carried"] = l.carried.iter().map(carried).collect();
                let row = |r: &Row| {
                    let of = match plan.buffer(r.row).place {
                        Place::Row { of } => Some(of.0),
                        _ => None,
                    };
                    let order = if r.order == Order::Backward { "backward" } else { "forward" };
                    json!({ "row": r.row.0, "of": of, "rows": rows, "order": order })
                };
                json["rows"] = l.rows.iter().map(row).collect();
                json["body"] = steps_json(plan, &l.body, sizes);
                json["because"] = json!(l.why.as_ref().map(Error::message));
            }
            Action::Branch(b) => {
                json["if"] = json!(b.condition.0);
                json["then"] = steps_json(plan, &b.then, sizes);
                json["otherwise"] = steps_json(plan, &b.otherwise, sizes);
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
