//! Random graphs, a kernel a node: kernels on the device where it has their dtypes, the rest on the direct evaluator.

use crate::support::{gpu, oracle_options, run};
use lawson_graph::random::{Elements, GraphShape, Rng, random_bindings, random_graph, random_inputs};
use lawson_graph::{Code, interp};
use lawson_kernel::choose::{Freedom, choose};
use lawson_kernel::eval;
use lawson_kernel::lower::run_steps;
use lawson_kernel::machine::Machine;

#[test]
fn random_graphs_run_node_by_node_as_on_the_interpreter() {
    let shape = GraphShape { control: false, ..GraphShape::default() };
    let options = oracle_options();
    let (mut here, mut elsewhere, mut compared, mut undetermined) = (0, 0, 0, 0);
    for seed in 0..100 {
        let graph = random_graph(&mut Rng::new(seed), &shape).unwrap();
        let mut rng = Rng::new(seed);
        let bindings = random_bindings(&mut rng, &graph, 6).unwrap();
        let elements = if seed % 2 == 0 { Elements::Tame } else { Elements::Wild };
        let inputs = random_inputs(&mut rng, &graph, &bindings, elements).unwrap();
        let oracle = interp::run_bounded(&graph, &inputs, &options).unwrap();
        let results = run_steps(&graph, &inputs, &options, |lowered, symbols, buffers| {
            let mut kernel = lowered.kernel.clone();
            // As a processor would have it, with tiles, jams and vectors; a refusal leaves the kernel as it was.
            let scheduled = choose(&mut kernel, &Machine::default(), &Freedom::default());
            if seed % 4 < 2 || scheduled.is_err() {
                kernel = lowered.kernel.clone();
            }
            match run(gpu(), &kernel, symbols, buffers) {
                Err(e) if e.code() == Code::NotEmitted => {
                    assert!(e.message().starts_with("op codes have no "), "{e}");
                    elsewhere += 1;
                    eval::run(&lowered.kernel, symbols, buffers, &eval::Options::default())
                }
                other => {
                    here += 1;
                    other
                }
            }
        })
        .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{graph}"));
        for ((expected, actual), output) in oracle.iter().zip(&results).zip(graph.outputs()) {
            let found = interp::compare(expected, actual, 1.0);
            assert!(found.ok(), "seed {seed}, {}: {found}\n{graph}\n{inputs:?}", output.name);
            compared += found.compared;
            undetermined += found.undetermined;
        }
    }
    println!("{here} kernels here, {elsewhere} elsewhere; {compared} elements compared, {undetermined} not");
    assert!(here > 100 && compared > 4 * undetermined);
}
