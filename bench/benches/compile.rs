//! What compiling costs, stage by stage, and how fast constants are packed: `cargo bench -p lawson-bench --bench compile`.
//!
//! Per graph: the passes, planning (groups, kernels, schedules), emitting all distinct kernels, each kernel by itself, and
//! laying out the constants. Medians on one thread, except where more are named. Constants are packed as when compiling, into memory that
//! no one has touched; what stays in place is not counted. Moving alone, into memory written before, stands beside it.

use lawson::Passes;
use lawson::graph::Graph;
use lawson::kernel::compile::compile;
use lawson::opt::Pipeline;
use lawson_bench::Failure;
use lawson_bench::report::{Options, duration};
use lawson_bench::work::{convolution, matmul, network};
use lawson_cpu::constants::Constants;
use lawson_cpu::limits::median;
use lawson_cpu::memory::Memory;
use lawson_cpu::team::Team;
use lawson_cpu::{Isa, Listing, emit};
use serde_json::json;
use std::time::Instant;

/// Seconds of the stages.
struct Stages {
    passes: f64,
    plan: f64,
    /// Each distinct kernel, slowest first.
    emit: Vec<f64>,
    /// Packing the constants with one member and with two.
    pack: [f64; 2],
    /// Moving them alone.
    moving: f64,
    /// The bytes of the constants before, in which rates are given.
    constant_bytes: usize,
}

/// The median seconds of so many calls, and the last result.
fn timed<T>(rounds: usize, mut work: impl FnMut() -> Result<T, Failure>) -> Result<(f64, T), Failure> {
    let mut seconds = Vec::with_capacity(rounds);
    let mut last = None;
    for _ in 0..rounds.max(1) {
        // Giving back memory is no part of the work.
        drop(last.take());
        let begin = Instant::now();
        last = Some(work()?);
        seconds.push(begin.elapsed().as_secs_f64());
    }
    Ok((median(seconds), last.ok_or("nothing was timed")?))
}

fn stages(graph: &Graph, pipeline: &Pipeline, rounds: usize) -> Result<Stages, Failure> {
    let isa = Isa::best();
    let machine = isa.of(&lawson_cpu::host::machine());
    let (passes, graph) = timed(rounds, || Ok(pipeline.run(graph)?))?;
    let (planning, plan) = timed(rounds, || Ok(compile(&graph, &machine)?))?;
    let mut emitting = Vec::new();
    for kernel in &plan.kernels {
        emitting.push(timed(rounds, || Ok(emit(kernel, isa, Listing::Off).map_err(|e| e.to_string())?))?.0);
    }
    emitting.sort_by(|a, b| b.total_cmp(a));
    let looked_up = plan.looked_up();
    let constants = plan.clone().take_constants()?;
    let mut pack = [0.0; 2];
    let (mut moving, mut constant_bytes) = (0.0, 0);
    for (seconds, members) in pack.iter_mut().zip(1..) {
        let team = Team::new(members)?;
        let mut rounds: Vec<_> = (0..rounds.max(1)).map(|_| constants.clone()).collect();
        let count = rounds.len();
        let next = || Ok(Constants::new(rounds.pop().ok_or("no constants are left")?, &looked_up, &team)?);
        let (median, packed) = timed(count, next)?;
        *seconds = median;
        constant_bytes = 0;
        for (slot, tensor, _) in &constants {
            constant_bytes += if packed.is_in_place(*slot) { 0 } else { tensor.bytes().len() };
        }
    }
    for (_, tensor, packing) in &constants {
        let mut memory = Memory::zeroed(packing.bytes())?;
        memory.as_mut_slice().fill(1);
        let all = 0..packing.pieces();
        let once = || Ok(packing.pack(all.clone(), tensor.bytes(), memory.as_mut_slice())?);
        moving += timed(rounds, once)?.0;
    }
    Ok(Stages { passes, plan: planning, emit: emitting, pack, moving, constant_bytes })
}

fn main() -> Result<(), Failure> {
    let options = Options::from_arguments()?;
    let mut graphs: Vec<(String, Pipeline, Graph)> = Vec::new();
    for n in [64, 256] {
        graphs.push((format!("chain64 n={n}"), Pipeline::standard(), network::chain_graph(n)?));
    }
    for case in matmul::square().into_iter().chain(convolution::all()).chain(network::resnet()?) {
        if options.wants(&case.name) && !options.lists() {
            let problem = (case.make)()?;
            let pipeline = match problem.passes {
                Passes::Custom(pipeline) => pipeline,
                _ => Pipeline::standard(),
            };
            let graph = problem.graphs.into_iter().next().ok_or("a case without graphs")?;
            graphs.push((case.name, pipeline, graph));
        }
    }
    let mut failed = 0;
    for (name, pipeline, graph) in graphs.iter().filter(|(name, ..)| options.wants(name)) {
        let s = match stages(graph, pipeline, options.blocks()) {
            Ok(s) => s,
            Err(error) => {
                failed += 1;
                println!("{name:<36} | failed: {error}");
                continue;
            }
        };
        let rate = |seconds: f64| match s.constant_bytes {
            0 => "-".to_string(),
            bytes => format!("{:.2}", bytes as f64 / seconds / 1e9),
        };
        let slowest = s.emit.first().copied().unwrap_or(0.0);
        let emitting: f64 = s.emit.iter().sum();
        if options.wants_json() {
            let all = json!({
                "case": name, "passes": s.passes, "plan": s.plan, "emit": s.emit, "pack": s.pack, "moving": s.moving, "constant_bytes": s.constant_bytes,
            });
            println!("{all}");
            continue;
        }
        println!(
            "{name:<36} | passes {:>10} | plan {:>10} | emit {:>10} for {:>2} kernels, slowest {:>10} | pack {:>10}, {:>6} GB/s, 2 threads {:>6}, moving {:>6}",
            duration(s.passes),
            duration(s.plan),
            duration(emitting),
            s.emit.len(),
            duration(slowest),
            duration(s.pack[0]),
            rate(s.pack[0]),
            rate(s.pack[1]),
            rate(s.moving),
        );
    }
    if failed > 0 { Err(format!("{failed} graphs failed").into()) } else { Ok(()) }
}
