//! Random graphs, a kernel a node: the differential test that targets reuse.

use lawson_graph::interp;
use lawson_graph::random::{Elements, GraphShape, Rng, random_bindings, random_graph, random_inputs};
use lawson_kernel::eval;
use lawson_kernel::lower::{Step, run_steps, steps};

#[test]
fn random_graphs_run_node_by_node_as_on_the_interpreter() {
    let shape = GraphShape { control: false, ..GraphShape::default() };
    let options = interp::Options::default();
    let (mut kernels, mut others, mut compared, mut undetermined) = (0, 0, 0, 0);
    for seed in 0..600 {
        let graph = random_graph(&mut Rng::new(seed), &shape).unwrap();
        for (n, step) in steps(&graph) {
            match step {
                Step::Kernel(_) => kernels += 1,
                Step::Constant => {}
                Step::Reference(why) => {
                    let name = graph.node(n).op.name();
                    let known = [
                        "sort",
                        "cumulative",
                        "gather",
                        "scatter",
                        "dynamic_slice",
                        "update_slice",
                        "random_bits",
                    ];
                    let text = why.to_string();
                    assert!(
                        known.iter().any(|k| name.starts_with(k)) || text.contains("str"),
                        "seed {seed}: {text}"
                    );
                    others += 1;
                }
            }
        }
        let mut rng = Rng::new(seed);
        let bindings = random_bindings(&mut rng, &graph, 6).unwrap();
        let elements = if seed % 2 == 0 { Elements::Tame } else { Elements::Wild };
        let inputs = random_inputs(&mut rng, &graph, &bindings, elements).unwrap();
        let oracle = interp::run_bounded(&graph, &inputs, &options).unwrap();
        let results = run_steps(&graph, &inputs, &options, |lowered, params, buffers| {
            eval::run(&lowered.kernel, params, buffers, &eval::Options::default())
        })
        .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{graph}"));
        for ((expected, actual), output) in oracle.iter().zip(&results).zip(graph.outputs()) {
            let found = interp::compare(expected, actual, 1.0);
            assert!(found.ok(), "seed {seed}, {}: {found}\n{graph}\n{inputs:?}", output.name);
            compared += found.compared;
            undetermined += found.undetermined;
        }
    }
    println!("{kernels} kernels, {others} other nodes; {compared} elements compared, {undetermined} not");
    assert!(kernels > 4 * others && compared > 4 * undetermined);
}
