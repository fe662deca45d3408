//! What compiling costs, stage by stage, and how fast constants are packed: `cargo bench -p lawson-bench --bench compile`.
//!
//! Per graph: the passes, planning (groups, kernels, schedules), emitting all distinct kernels, each kernel by itself, and
//! laying out the constants. Medians on one thread.

use lawson::Passes;
use lawson::graph::{Bindings, Graph};
use lawson::kernel::{Place, compile::compile, pack};
use lawson::opt::Pipeline;
use lawson_bench::Failure;
use lawson_bench::measure::median;
use lawson_bench::report::{Options, duration};
use lawson_bench::work::{convolution, matmul, network};
use lawson_cpu::memory::Memory;
use lawson_cpu::{Listing, emit};
use serde_json::json;
use std::time::Instant;

/// Seconds of the stages.
struct Stages {
    passes: f64,
    plan: f64,
    /// Each distinct kernel, slowest first.
    emit: Vec<f64>,
    pack: f64,
    packed_bytes: usize,
}

/// The median seconds of so many calls, and the last result.
fn timed<T>(rounds: usize, mut work: impl FnMut() -> Result<T, Failure>) -> Result<(f64, T), Failure> {
    let mut seconds = Vec::with_capacity(rounds);
    let mut last = None;
    for _ in 0..rounds.max(1) {
        let begin = Instant::now();
        last = Some(work()?);
        seconds.push(begin.elapsed().as_secs_f64());
    }
    Ok((median(seconds), last.ok_or("nothing was timed")?))
}

fn stages(graph: &Graph, pipeline: &Pipeline, rounds: usize) -> Result<Stages, Failure> {
    let machine = lawson_cpu::host::machine();
    let (passes, graph) = timed(rounds, || Ok(pipeline.run(graph)?))?;
    let (planning, plan) = timed(rounds, || Ok(compile(&graph, &machine)?))?;
    let mut emitting = Vec::new();
    for kernel in &plan.kernels {
        emitting.push(timed(rounds, || Ok(emit(kernel, Listing::Off).map_err(|e| e.to_string())?))?.0);
    }
    emitting.sort_by(|a, b| b.total_cmp(a));
    let (mut packing, mut packed_bytes) = (0.0, 0);
    for b in &plan.buffers {
        let Place::Constant { tensor, dims, layout } = &b.place else { continue };
        let sizes = Bindings::new().eval_shape(dims)?;
        let bytes =
            b.bytes.as_const().and_then(|n| usize::try_from(n).ok()).ok_or("a constant of no size")?;
        let mut memory = Memory::zeroed(bytes)?;
        // Pages are touched before, as in a process that has run before.
        memory.as_mut_slice().fill(1);
        let (seconds, ()) = timed(rounds, || {
            Ok(pack::pack_into(layout, &sizes, tensor.dtype(), tensor.bytes(), memory.as_mut_slice())?)
        })?;
        packing += seconds;
        packed_bytes += bytes;
    }
    Ok(Stages { passes, plan: planning, emit: emitting, pack: packing, packed_bytes })
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
        let rate = s.packed_bytes as f64 / s.pack;
        let slowest = s.emit.first().copied().unwrap_or(0.0);
        let emitting: f64 = s.emit.iter().sum();
        if options.wants_json() {
            let all = json!({
                "case": name, "passes": s.passes, "plan": s.plan, "emit": s.emit, "pack": s.pack, "packed_bytes": s.packed_bytes,
            });
            println!("{all}");
            continue;
        }
        println!(
            "{name:<36} | passes {:>10} | plan {:>10} | emit {:>10} for {:>2} kernels, slowest {:>10} | pack {:>10}, {:>6.2} GB/s",
            duration(s.passes),
            duration(s.plan),
            duration(emitting),
            s.emit.len(),
            duration(slowest),
            duration(s.pack),
            rate / 1e9,
        );
    }
    if failed > 0 { Err(format!("{failed} graphs failed").into()) } else { Ok(()) }
}
