//! Random graphs of every primitive and dtype: none is refused, and results are the oracle's.

use super::device;
use lawson::graph::random::{Elements, GraphShape, Rng, random_bindings, random_graph, random_inputs};
use lawson::graph::{Graph, interp};
use lawson::kernel::Operators;
use lawson::{CompileOptions, Passes, Program, Result, Target, Value};

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

fn run(graph: &Graph, inputs: &[Value]) -> Result<(Vec<Value>, Operators)> {
    let options = CompileOptions {
        target: Target::Wgpu,
        passes: Passes::None,
        device: Some(device()),
        ..CompileOptions::default()
    };
    let program = Program::compile(graph.clone(), &options)?;
    let mut session = program.session();
    let first = session.run_values(inputs)?;
    assert!(session.run_values(inputs)? == first, "a second run gives other results");
    Ok((first, program.operators().unwrap()))
}

#[test]
fn random_graphs_give_what_the_oracle_says() {
    let mut all = Operators::default();
    let mut failures = Vec::new();
    let from = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let count = std::env::var("COUNT").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    for seed in from..from + count {
        let Some((graph, inputs, oracle)) = case(seed) else { continue };
        let (results, operators) = match run(&graph, &inputs) {
            Ok(done) => done,
            Err(e) => {
                failures.push(format!("seed {seed}: {e}\n{graph}"));
                continue;
            }
        };
        for ((expected, actual), output) in oracle.iter().zip(&results).zip(graph.outputs()) {
            let found = interp::compare(expected, actual, 4.0);
            if !found.ok() {
                failures.push(format!("seed {seed}, {}: {found}\n{graph}", output.name));
            }
        }
        all.machine_code += operators.machine_code;
        all.evaluator += operators.evaluator;
        all.interpreter += operators.interpreter;
    }
    println!("{all:?}");
    let heads: Vec<&str> = failures.iter().filter_map(|f| f.lines().next()).collect();
    assert!(failures.is_empty(), "{}\n{}", failures[0], heads.join("\n"));
}
