//! `lawson bench`: how long compiling a graph takes by stage, how long it runs, how much memory it needs; and, with
//! `--kernels`, where the time goes (`steps.rs`). Without a graph, `modes/` takes over.

use super::run::{operators_json, print_symbols, symbols_json};
use super::steps::{self, Steps};
use super::{modes, passes, time};
use crate::args::{BenchArgs, DeviceArgs, Isa, Target};
use crate::quantity::measured;
use crate::report::{Outcome, Reporter};
use crate::{device, input, load};
use lawson::graph::{Bindings, Cost, Graph};
use lawson::kernel::machine::Machine;
use lawson::kernel::predict::predict_plan;
use lawson::kernel::{Plan, PlanBuffer};
use lawson::wgpu::Pace;
use lawson::{Code, CompileOptions, CompileTimes, Error, Program, Result, Session, Team, Value};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

/// What was timed with one number of threads, or on a device.
struct Timed {
    threads: usize,
    /// The name of the device, if it was one.
    device: Option<String>,
    first: f64,
    /// Seconds a run, shortest first; not empty.
    samples: Vec<f64>,
    /// How many runs a sample is the mean of.
    batch: usize,
    /// Seconds an iteration, of many that follow each other on the target, each a run of its own.
    iteration: Option<f64>,
    /// The same where all are one kernel, if they can be.
    in_one: Option<f64>,
    steps: Option<Steps>,
}

/// Bytes, where they are known.
struct MemoryUse {
    arena: Option<u64>,
    /// Of stages, for what runs found.
    stages: u64,
    constants: Option<u64>,
    resident: Option<u64>,
}

/// How long a file is run where nothing is said.
const SECONDS: f64 = 2.0;

pub fn run(args: &BenchArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    if args.seconds.is_some_and(|s| !s.is_finite() || s < 0.0) {
        return Err(Error::new(Code::Usage, "--seconds is a number that is not negative").into());
    }
    match &args.file {
        Some(file) => time_file(args, file, reporter, out),
        None => modes::run(args, reporter, out),
    }
}

fn time_file(args: &BenchArgs, file: &str, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let seconds = args.seconds.unwrap_or(SECONDS);
    if args.kernels && args.target == Target::Reference {
        return Err(Error::new(Code::Usage, "the reference target has no kernels")
            .help("leave out --kernels, or say --target cpu")
            .into());
    }
    let teams = teams(args)?;
    let loaded = load::open(file, args.input.sizing())?;
    let mut inputs = args.input.clone();
    if inputs.inputs.is_empty() && loaded.input.is_none() {
        inputs.inputs.push("random".to_string());
    }
    let (values, bindings) = input::values(&loaded, &inputs, inputs.seed)?;
    let flops = flops(&loaded.graph, &bindings);
    let name = loaded.graph.name().to_string();
    let options = CompileOptions {
        target: args.target.to_lawson(),
        // Sizes were fixed when the file was read.
        sizes: BTreeMap::new(),
        passes: passes(&args.passes)?,
        fusion: args.fusion.to_lawson(),
        expect: input::expected(&bindings),
        team: teams.first().cloned(),
        isa: args.isa.map(Isa::to_cpu),
        device: device::open(args.target, &DeviceArgs { device: args.device.clone() })?,
    };
    let device = options.device.as_ref().map(|d| d.adapter()).transpose()?.map(|a| a.name);
    let machine = steps::machine(reporter, options.device.as_ref(), options.isa)?;
    let mut compile = CompileTimes::default();
    let program = Program::compile_timed(loaded.graph, &options, &mut compile)?;
    let (mut all, mut stages) = (Vec::new(), 0);
    for n in 0..teams.len().max(1) {
        let program = teams.get(n).map_or_else(|| program.clone(), |t| program.with_team(t.clone()));
        let mut session = program.session();
        session.set_limits(input::limits(&inputs));
        let start = Instant::now();
        let results = session.run_values(&values)?;
        let first = start.elapsed().as_secs_f64();
        let (samples, batch) = sample(&mut session, &values, &results, seconds, first)?;
        let (iteration, in_one) = match args.repeat {
            Some(times) => iterations(&mut session, &values, times)?,
            None => (None, None),
        };
        let threads = teams.get(n).map_or(1, Team::members);
        let steps = match args.kernels {
            true => Steps::time(&mut session, &values, &bindings, &machine, threads)?,
            false => None,
        };
        stages = stages.max(session.stage_bytes());
        let device = device.clone();
        all.push(Timed { threads, device, first, samples, batch, iteration, in_one, steps });
    }
    let memory = memory(&program, &bindings, stages)?;
    let bytes = moved(&program, &machine, &bindings)?;
    if reporter.json {
        let runs: Vec<Json> = all.iter().map(|t| t.to_json(flops, bytes)).collect();
        let report = json!({
            "graph": name,
            "symbols": symbols_json(&bindings),
            "isa": program.isa().map(|isa| isa.name()),
            "operators": program.operators().map(operators_json),
            "compile_ms": stages_json(&compile),
            "flops": flops,
            "bytes": bytes,
            "memory": {
                "arena_bytes": memory.arena,
                "stage_arena_bytes": memory.stages,
                "peak_arena_bytes": memory.arena.map(|a| a + memory.stages),
                "constant_bytes": memory.constants,
                "peak_resident_bytes": memory.resident,
            },
            "runs": runs,
        });
        return Ok(writeln!(out, "{report:#}")?);
    }
    print_symbols(&bindings, out)?;
    print_compile(&compile, out)?;
    let shown = |b: Option<u64>| b.map_or_else(|| "unknown".to_string(), |n| measured(n as f64, "B"));
    writeln!(
        out,
        "memory   arena {}{}, constants {}, resident at most {}",
        shown(memory.arena),
        match memory.stages {
            0 => String::new(),
            n => format!(" and {} of stages", measured(n as f64, "B")),
        },
        shown(memory.constants),
        shown(memory.resident)
    )?;
    for t in &all {
        t.print(flops, bytes, out)?;
    }
    Ok(())
}

/// The bytes that a run moves at least, which its kernels read and write; none where it does something else, too.
fn moved(program: &Program, machine: &Machine, bindings: &Bindings) -> Result<Option<f64>> {
    let Some(plan) = program.plan() else { return Ok(None) };
    let all = predict_plan(plan, machine, bindings, 1)?;
    Ok(all.into_iter().map(|p| p.map(|p| p.bytes())).sum())
}

fn teams(args: &BenchArgs) -> Result<Vec<Team>> {
    if args.target != Target::Cpu {
        return match args.threads.as_slice() {
            [] | [1] => Ok(Vec::new()),
            _ => Err(Error::new(
                Code::Usage,
                format!("the {} target has no team of threads", args.target.name()),
            )),
        };
    }
    let all = [std::thread::available_parallelism().map_or(1, |n| n.get())];
    let counts = if args.threads.is_empty() { &all[..] } else { &args.threads };
    let team = |n: &usize| Team::new(*n).map_err(|e| Error::new(Code::Usage, format!("--threads {n}: {e}")));
    counts.iter().map(team).collect()
}

/// The floating-point operations of the graph as it was given, if they are known.
fn flops(graph: &Graph, bindings: &Bindings) -> Option<f64> {
    let cost = graph.nodes().iter().map(|n| graph.node_cost(n)).fold(Cost::ZERO, |a, b| a + b);
    bindings.eval(&cost.flops).ok().filter(|_| cost.exact).map(|n| n as f64)
}

/// Samples last at least so long, so that the clock does not count.
const TICK: f64 = 20e-6;
const LEAST: usize = 5;
/// Fewer samples do if these take longer than that and than what is asked for.
const LONG: f64 = 1.0;

/// Seconds a run, sorted, and how many runs each is the mean of.
fn sample(
    session: &mut Session,
    values: &[Value],
    results: &[Value],
    seconds: f64,
    first: f64,
) -> Result<(Vec<f64>, usize)> {
    let most = seconds.max(LONG);
    if first >= 10.0 * most {
        // Another run would take about as long; what a first one has to do besides does not count beside that.
        return Ok((vec![first], 1));
    }
    time::in_place(session, values, results, |run| {
        let mut batch = 1;
        let timed = |batch: usize, run: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
            let start = Instant::now();
            for _ in 0..batch {
                run()?;
            }
            Ok(start.elapsed().as_secs_f64())
        };
        loop {
            let took = timed(batch, run)?;
            if took >= most {
                return Ok((vec![took / batch as f64], batch));
            }
            if took >= TICK || batch > 1 << 20 {
                break;
            }
            batch = (batch as f64 * (1.5 * TICK / took.max(1e-9)).clamp(2.0, 100.0)).ceil() as usize;
        }
        let (mut samples, start) = (Vec::new(), Instant::now());
        loop {
            let so_far = start.elapsed().as_secs_f64();
            let enough = so_far >= seconds && (samples.len() >= LEAST || so_far >= most);
            if enough && !samples.is_empty() {
                break;
            }
            samples.push(timed(batch, run)? / batch as f64);
        }
        samples.sort_by(f64::total_cmp);
        Ok((samples, batch))
    })
}

/// Seconds an iteration of so many in one call, each a run of its own; and in one kernel, if the program can be.
fn iterations(session: &mut Session, values: &[Value], times: u64) -> Result<(Option<f64>, Option<f64>)> {
    if times < 2 {
        return Err(Error::new(Code::Usage, "--repeat is at least 2"));
    }
    session.set_pace(Pace::Apart);
    let apart = iteration(session, values, times)?;
    session.set_pace(Pace::default());
    session.run_loop_values(values, times)?;
    let is_one = session.whole_loop(times).is_some();
    let in_one = is_one.then(|| iteration(session, values, times)).transpose()?;
    Ok((Some(apart), in_one))
}

/// What iterations after the first take, each.
fn iteration(session: &mut Session, values: &[Value], times: u64) -> Result<f64> {
    let mut timed = |times: u64| -> Result<f64> {
        let start = Instant::now();
        session.run_loop_values(values, times)?;
        Ok(start.elapsed().as_secs_f64())
    };
    let mut samples = Vec::new();
    let start = Instant::now();
    while samples.is_empty() || (samples.len() < LEAST && start.elapsed().as_secs_f64() < LONG) {
        let (one, many) = (timed(1)?, timed(times)?);
        // Giving inputs and taking outputs does not always take as long.
        samples.push((many - one).max(0.0) / (times - 1) as f64);
    }
    samples.sort_by(f64::total_cmp);
    Ok(samples[samples.len() / 2])
}

fn memory(program: &Program, bindings: &Bindings, stages: u64) -> Result<MemoryUse> {
    let (mut arena, mut constants) = (None, None);
    if let Some(plan) = program.plan() {
        let bound = plan.bind(bindings)?;
        arena = Some(bound.arena as u64);
        constants = Some(constant_bytes(plan, &bound.bytes));
    }
    Ok(MemoryUse { arena, stages, constants, resident: resident() })
}

fn constant_bytes(plan: &Plan, bytes: &[usize]) -> u64 {
    let constant = |b: &PlanBuffer| matches!(b.place, lawson::kernel::Place::Constant { .. });
    plan.buffers.iter().zip(bytes).filter(|(b, _)| constant(b)).map(|(_, n)| *n as u64).sum()
}

/// The most memory that this process had, as the system counts it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

fn stages(compile: &CompileTimes) -> [(&'static str, Duration); 5] {
    let CompileTimes { passes, partition, schedule, emit, pack } = *compile;
    [("passes", passes), ("partition", partition), ("schedule", schedule), ("emit", emit), ("pack", pack)]
}

fn stages_json(compile: &CompileTimes) -> Json {
    let mut report = json!({ "total": compile.total().as_secs_f64() * 1e3 });
    for (name, took) in stages(compile) {
        report[name] = json!(took.as_secs_f64() * 1e3);
    }
    report
}

fn print_compile(compile: &CompileTimes, out: &mut dyn Write) -> Outcome {
    let parts: Vec<String> =
        stages(compile).iter().map(|(n, t)| format!("{n} {}", measured(t.as_secs_f64(), "s"))).collect();
    Ok(writeln!(out, "compile  {}: {}", measured(compile.total().as_secs_f64(), "s"), parts.join(", "))?)
}

impl Timed {
    fn at(&self, part: f64) -> f64 {
        time::quantile(&self.samples, part)
    }

    fn to_json(&self, flops: Option<f64>, bytes: Option<f64>) -> Json {
        let median = self.at(0.5);
        json!({
            "threads": self.threads,
            "device": self.device,
            "first_ms": self.first * 1e3,
            "median_ms": median * 1e3,
            "least_ms": self.at(0.0) * 1e3,
            "p10_ms": self.at(0.1) * 1e3,
            "p90_ms": self.at(0.9) * 1e3,
            "samples": self.samples.len(),
            "runs_a_sample": self.batch,
            "iteration_ms": self.iteration.map(|s| s * 1e3),
            "iteration_in_one_kernel_ms": self.in_one.map(|s| s * 1e3),
            "flops_per_second": flops.map(|f| f / median),
            "bytes_per_second": bytes.map(|b| b / median),
            "kernels": self.steps.as_ref().map(Steps::to_json),
        })
    }

    fn print(&self, flops: Option<f64>, bytes: Option<f64>, out: &mut dyn Write) -> Outcome {
        let median = self.at(0.5);
        let where_run = match (&self.device, self.threads) {
            (Some(name), _) => name.clone(),
            (None, 1) => "1 thread".to_string(),
            (None, n) => format!("{n} threads"),
        };
        write!(
            out,
            "{where_run:8} median {} ({} to {} in four of five), least {}, first {}",
            measured(median, "s"),
            measured(self.at(0.1), "s"),
            measured(self.at(0.9), "s"),
            measured(self.at(0.0), "s"),
            measured(self.first, "s"),
        )?;
        if let Some(f) = flops.filter(|f| *f > 0.0) {
            write!(out, "; {}", measured(f / median, "FLOP/s"))?;
        }
        if let Some(b) = bytes {
            write!(out, ", {}", measured(b / median, "B/s"))?;
        }
        writeln!(out)?;
        if let Some(s) = self.iteration {
            write!(out, "{:8} {} an iteration of many in one call", "", measured(s, "s"))?;
            if let Some(f) = flops.filter(|f| *f > 0.0 && s > 0.0) {
                write!(out, "; {}", measured(f / s, "FLOP/s"))?;
            }
            if let Some(b) = bytes.filter(|_| s > 0.0) {
                write!(out, ", {}", measured(b / s, "B/s"))?;
            }
            writeln!(out)?;
        }
        if let Some(s) = self.in_one {
            writeln!(out, "{:8} {} an iteration where all are one kernel", "", measured(s, "s"))?;
        }
        self.steps.as_ref().map_or(Ok(()), |s| s.print(out))
    }
}
