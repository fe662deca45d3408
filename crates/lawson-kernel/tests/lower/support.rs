//! Running lowered kernels and holding them against the oracle.

use lawson_graph::random::{Elements, Rng, complete_bindings, random_inputs};
use lawson_graph::{Bindings, Graph, HostTensor, Symbol, Value, interp};
use lawson_kernel::eval::{self, Order};
use lawson_kernel::lower::{Lowered, Options, lower_with};
use lawson_kernel::{Group, Kernel, Node};
use lawson_opt::Pipeline;

/// A graph from text, decomposed and simplified.
pub fn primitives(text: &str) -> Graph {
    let graph = Graph::parse(&format!("lawson 1\n{text}")).unwrap_or_else(|e| panic!("{e}"));
    Pipeline::standard().run(&graph).unwrap_or_else(|e| panic!("{e}"))
}

/// A graph from text as it stands.
pub fn as_written(text: &str) -> Graph {
    Graph::parse(&format!("lawson 1\n{text}")).unwrap_or_else(|e| panic!("{e}"))
}

/// The kernel of a whole graph.
pub fn lower_whole(graph: &Graph, options: &Options<'_>) -> Lowered {
    let group = Group::whole(graph).unwrap();
    lower_with(graph, &group, options).unwrap_or_else(|e| panic!("{e}\n{graph}"))
}

/// Runs a kernel that computes a whole graph.
pub fn run_whole(
    graph: &Graph,
    lowered: &Lowered,
    bindings: &Bindings,
    inputs: &[Value],
    order: Order,
) -> Vec<Value> {
    let params: Vec<(Symbol, i64)> = bindings.iter().map(|(s, v)| (s.clone(), v)).collect();
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    for (i, v) in lowered.inputs.iter().enumerate() {
        let constant = lowered.constant(graph, i);
        let tensor = constant
            .or_else(|| graph.inputs().iter().position(|p| p == v).and_then(|p| inputs[p].as_tensor()));
        buffers.push(tensor.unwrap().bytes().to_vec());
    }
    let mut shapes = Vec::new();
    for v in &lowered.outputs {
        let ty = graph.ty(*v).as_tensor().unwrap();
        let sizes = bindings.eval_shape(&ty.shape).unwrap();
        buffers.push(HostTensor::zeros(ty.dtype, &sizes).unwrap().bytes().to_vec());
        shapes.push((ty.dtype, sizes));
    }
    let options = eval::Options { order, ..eval::Options::default() };
    eval::run(&lowered.kernel, &params, &mut buffers, &options)
        .unwrap_or_else(|e| panic!("{e}\n{graph}\n{:#?}", lowered.kernel.body));
    let results = buffers.split_off(lowered.inputs.len());
    let mut values = Vec::new();
    for o in graph.outputs() {
        let at = lowered.outputs.iter().position(|v| *v == o.value).unwrap();
        let (dtype, sizes) = &shapes[at];
        values.push(HostTensor::from_bytes(*dtype, sizes, results[at].clone()).unwrap().into());
    }
    values
}

/// Checks a kernel of a whole graph against the oracle, on random elements, for these sizes of symbols.
pub fn check(graph: &Graph, lowered: &Lowered, sizes: &[(&str, i64)], elements: Elements, slack: f64) {
    let mut rng = Rng::new(7);
    let mut known = Bindings::new();
    for (name, size) in sizes {
        known.define(Symbol::new(name), *size, "the test");
    }
    let bindings = complete_bindings(&mut rng, graph, &known, 6).unwrap();
    for round in 0..3 {
        let inputs = random_inputs(&mut rng, graph, &bindings, elements).unwrap();
        let oracle = interp::run_bounded(graph, &inputs, &interp::Options::default()).unwrap();
        for order in [Order::Forward, Order::Reverse] {
            let results = run_whole(graph, lowered, &bindings, &inputs, order);
            for ((expected, actual), output) in oracle.iter().zip(&results).zip(graph.outputs()) {
                let found = interp::compare(expected, actual, slack);
                assert!(
                    found.ok(),
                    "{}, sizes {sizes:?}, round {round}, {order:?}: {found}\n{graph}\n{:#?}",
                    output.name,
                    lowered.kernel.body
                );
            }
        }
    }
}

/// Lowers a graph as one kernel and checks it with tame and wild elements.
pub fn check_text(text: &str) -> Kernel {
    let graph = primitives(text);
    let lowered = lower_whole(&graph, &Options::default());
    check(&graph, &lowered, &[], Elements::Tame, 1.0);
    check(&graph, &lowered, &[], Elements::Wild, 1.0);
    lowered.kernel
}

/// How many loops a kernel has.
pub fn loops(kernel: &Kernel) -> usize {
    let mut n = 0;
    kernel.visit(&mut |node| n += usize::from(matches!(node, Node::For(_))));
    n
}

/// How many loops surround a kernel's deepest stage.
pub fn depth(kernel: &Kernel) -> usize {
    fn of(nodes: &[Node]) -> usize {
        let one = |n: &Node| match n {
            Node::For(f) => 1 + of(&f.body),
            Node::Accumulate { body, .. } => of(body),
            _ => 0,
        };
        nodes.iter().map(one).max().unwrap_or(0)
    }
    of(&kernel.body)
}
