//! Random graphs of every primitive and dtype: none is refused, results are the oracle's, and bits do not depend on threads.

use super::there;
use lawson::cpu::Isa;
use lawson::graph::random::{Elements, GraphShape, Rng, random_bindings, random_graph, random_inputs};
use lawson::graph::{Graph, interp};
use lawson::kernel::Operators;
use lawson::{CompileOptions, DType, Fusion, Passes, Program, Result, Target, Team, Value};

/// A graph of a seed, inputs for it, and what the oracle says of them, unless that refuses them.
fn case(seed: u64) -> Option<(Graph, Vec<Value>, Vec<interp::Bounded>)> {
    let graph = random_graph(&mut Rng::new(seed), &GraphShape::default()).unwrap();
    let mut rng = Rng::new(seed);
    let bindings = random_bindings(&mut rng, &graph, 20).unwrap();
    let elements = if seed.is_multiple_of(2) { Elements::Tame } else { Elements::Wild };
    let inputs = random_inputs(&mut rng, &graph, &bindings, elements).unwrap();
    let oracle = interp::run_bounded(&graph, &inputs, &interp::Options::default()).ok()?;
    Some((graph, inputs, oracle))
}

fn run(
    graph: &Graph,
    inputs: &[Value],
    threads: usize,
    isa: Isa,
    fusion: Fusion,
) -> Result<(Vec<Value>, Operators)> {
    let options = CompileOptions {
        target: Target::Cpu,
        passes: Passes::None,
        fusion,
        team: Some(Team::new(threads).unwrap()),
        isa: Some(isa),
        ..CompileOptions::default()
    };
    let program = Program::compile(graph.clone(), &options)?;
    let mut session = program.session();
    let first = session.run_values(inputs)?;
    assert!(session.run_values(inputs)? == first, "a second run gives other results");
    Ok((first, program.operators().unwrap()))
}

/// Whether a graph has dtypes that machine code does not compute with: integers that share bytes, and floats of 8 bits and less.
fn has_tiny(graph: &Graph) -> bool {
    let text = graph.to_string();
    DType::ALL.into_iter().any(|d| {
        let tiny = d != DType::Bool && (d.bits() < 8 || d.bits() == 8 && d.is_float());
        tiny && (text.contains(&format!("{d}[")) || text.contains(&format!("= {d}")))
    })
}

fn check(isa: Isa, fusion: Fusion, count: u64, threads: &[usize]) -> Operators {
    let mut all = Operators::default();
    let mut failures = Vec::new();
    let from = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let count = std::env::var("COUNT").ok().and_then(|s| s.parse().ok()).unwrap_or(count);
    for seed in from..from + count {
        let Some((graph, inputs, oracle)) = case(seed) else { continue };
        let mut first: Option<Vec<Value>> = None;
        for threads in threads {
            let (results, operators) = match run(&graph, &inputs, *threads, isa, fusion) {
                Ok(done) => done,
                Err(e) => {
                    failures.push(format!("seed {seed}: {e}\n{graph}"));
                    break;
                }
            };
            for ((expected, actual), output) in oracle.iter().zip(&results).zip(graph.outputs()) {
                let found = interp::compare(expected, actual, 4.0);
                if !found.ok() {
                    failures
                        .push(format!("seed {seed}, {threads} threads, {}: {found}\n{graph}", output.name));
                }
            }
            if *first.get_or_insert_with(|| results.clone()) != results {
                failures.push(format!("seed {seed}: {threads} threads give other bits\n{graph}"));
            }
            if isa != Isa::Portable && operators.evaluator > 0 && !has_tiny(&graph) {
                failures
                    .push(format!("seed {seed}: {} operators without code\n{graph}", operators.evaluator));
            }
            all.machine_code += operators.machine_code;
            all.evaluator += operators.evaluator;
            all.interpreter += operators.interpreter;
        }
    }
    let heads: Vec<&str> = failures.iter().filter_map(|f| f.lines().next()).collect();
    assert!(failures.is_empty(), "{}\n{}", failures[0], heads.join("\n"));
    println!("{all:?}");
    all
}

#[test]
fn no_graph_is_refused() {
    if !there() {
        return;
    }
    let Operators { machine_code, interpreter, .. } = check(Isa::Avx512, Fusion::Predicted, 250, &[1, 2, 3]);
    assert!(machine_code > 100 && interpreter > 100);
}

#[test]
fn no_graph_is_refused_without_avx512() {
    if Isa::Avx2.missing().is_some() {
        return;
    }
    let Operators { machine_code, interpreter, .. } = check(Isa::Avx2, Fusion::Predicted, 250, &[1, 3]);
    assert!(machine_code > 100 && interpreter > 100);
}

#[test]
fn no_graph_is_refused_with_operators_apart() {
    if !there() {
        return;
    }
    let Operators { machine_code, interpreter, .. } = check(Isa::best(), Fusion::Separate, 150, &[2]);
    assert!(machine_code > 100 && interpreter > 100);
}

#[test]
fn the_portable_evaluator_runs_every_kernel() {
    let Operators { machine_code, evaluator, interpreter } =
        check(Isa::Portable, Fusion::Predicted, 120, &[2]);
    assert!(machine_code == 0 && evaluator > 100 && interpreter > 100);
}
