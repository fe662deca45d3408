//! Random graphs on the CPU target, against the oracle: one kernel a node, and whole graphs fused into groups.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;

use common::{call, each_seed, levels};
use lawson_cpu::executable::Executable;
use lawson_cpu::team::Team;
use lawson_cpu::{Isa, Listing, emit};
use lawson_graph::random::{Dtypes, Elements, GraphShape, Rng, random_bindings, random_graph, random_inputs};
use lawson_graph::{Bindings, Def, Error, Graph, HostTensor, Op, Type, Value, ValueId, interp};
use lawson_kernel::choose::{Freedom, choose};
use lawson_kernel::compile::{compile, compile_in};
use lawson_kernel::layout::Orders;
use lawson_kernel::lower::{Step, run_steps, steps};
use lawson_kernel::machine::Machine;
use lawson_kernel::partition::partition;
use lawson_kernel::verify::verify;
use lawson_kernel::{Plan, eval};
use std::collections::HashSet;
use std::sync::Arc;

/// A graph of a seed with inputs and what the oracle says of them; `None` if the oracle refuses it.
struct Case {
    graph: Graph,
    bindings: Bindings,
    inputs: Vec<Value>,
    oracle: Vec<interp::Bounded>,
}

/// The graph without the outputs that need something that has no kernel; `None` if none is left.
fn with_kernels(graph: Graph) -> Option<Graph> {
    let mut without: HashSet<ValueId> = HashSet::new();
    for (n, step) in steps(&graph) {
        let node = graph.node(n);
        let refused = matches!(step, Step::Reference(_));
        if refused || node.inputs.iter().any(|v| without.contains(v)) {
            without.extend(&node.outputs);
        }
    }
    let mut parts = graph.into_parts();
    parts.outputs.retain(|o| !without.contains(&o.value));
    (!parts.outputs.is_empty()).then(|| Graph::from_parts(parts))
}

fn case(graph: Graph, seed: u64) -> Option<Case> {
    let mut rng = Rng::new(seed);
    // Sizes on both sides of the width of a vector.
    let most = if seed.is_multiple_of(3) { 40 } else { 20 };
    let bindings = random_bindings(&mut rng, &graph, most).unwrap();
    let elements = if seed.is_multiple_of(2) { Elements::Tame } else { Elements::Wild };
    let inputs = random_inputs(&mut rng, &graph, &bindings, elements).unwrap();
    let oracle = interp::run_bounded(&graph, &inputs, &interp::Options::default()).ok()?;
    Some(Case { graph, bindings, inputs, oracle })
}

impl Case {
    fn compare(&self, results: &[Value]) -> Result<(), String> {
        for ((expected, actual), output) in self.oracle.iter().zip(results).zip(self.graph.outputs()) {
            let found = interp::compare(expected, actual, 4.0);
            if !found.ok() {
                return Err(format!("{}: {found}\n{}", output.name, self.graph));
            }
        }
        Ok(())
    }
}

#[test]
fn a_kernel_a_node() {
    let shape = GraphShape { control: false, ..GraphShape::default() };
    let (mut emitted, mut evaluated) = (0, 0);
    each_seed(400, |seed| {
        let graph = random_graph(&mut Rng::new(seed), &shape).unwrap();
        let Some(case) = with_kernels(graph).and_then(|g| case(g, seed)) else { return Ok(()) };
        levels().try_for_each(|isa| {
            let results = run_steps(
                &case.graph,
                &case.inputs,
                &interp::Options::default(),
                |lowered, params, buffers| {
                    let mut kernel = lowered.kernel.clone();
                    let choice = choose(&mut kernel, &isa.of(&Machine::default()), &Freedom::default())?;
                    verify(&kernel)
                        .inspect_err(|_| println!("seed {seed}:\n{}\n{kernel}", choice.schedule))?;
                    match emit(&kernel, isa, Listing::Off) {
                        Ok(code) => {
                            emitted += 1;
                            call(&kernel, &code, params, buffers, 1 + (seed % 3) as i64);
                        }
                        Err(_) => {
                            evaluated += 1;
                            eval::run(&kernel, params, buffers, &eval::Options::default())?;
                        }
                    }
                    Ok(())
                },
            );
            case.compare(&results.map_err(|e| format!("{e}\n{}", case.graph))?)
                .map_err(|e| format!("{isa}: {e}"))
        })
    });
    println!("{emitted} kernels as machine code, {evaluated} by the evaluator");
    assert!(emitted > 2 * evaluated);
}

/// Prints the kernels of a graph that are not accepted.
fn tell_kernels(graph: &Graph) {
    for part in partition(graph, &Orders::default(), &Machine::default()).parts {
        let Ok(lowered) = part.lowered else { continue };
        let mut kernel = lowered.kernel;
        let choice = choose(&mut kernel, &Machine::default(), &Freedom::default());
        if let (Ok(choice), Err(e)) = (choice, verify(&kernel)) {
            println!("{e}\n{}\n{kernel}", choice.schedule);
        }
    }
}

/// Runs a graph as a plan.
fn run(case: &Case, threads: usize, isa: Isa) -> Result<Vec<Value>, Error> {
    run_plan(case, compile(&case.graph, &isa.of(&Machine::default()))?, threads, isa)
}

fn run_plan(case: &Case, plan: Plan, threads: usize, isa: Isa) -> Result<Vec<Value>, Error> {
    let graph = &case.graph;
    let team = Team::new(threads).unwrap();
    let executable =
        Arc::new(Executable::new(plan, graph.inputs().len(), graph.outputs().len(), isa, &team)?);
    let mut instance = executable.instance(&case.bindings, &team)?;
    let mut outputs: Vec<(HostTensor, Vec<u8>)> = Vec::new();
    for o in graph.outputs() {
        let Type::Tensor(ty) = graph.ty(o.value) else { return Err(Error::internal("no tensor")) };
        let zeros = HostTensor::zeros(ty.dtype, &case.bindings.eval_shape(&ty.shape)?)?;
        let bytes = vec![0xA5u8; zeros.bytes().len()];
        outputs.push((zeros, bytes));
    }
    let given = case.inputs.iter().map(|v| &v.as_tensor().unwrap().bytes()[..]);
    instance.run(given, outputs.iter_mut().map(|(_, b)| b.as_mut_slice()), &interp::Options::default())?;
    outputs.into_iter().map(|(t, b)| Ok(HostTensor::from_bytes(t.dtype(), t.sizes(), b)?.into())).collect()
}

#[test]
fn whole_graphs_at_any_number_of_threads() {
    let shape = GraphShape { control: false, dtypes: Dtypes::Basic, ..GraphShape::default() };
    let mut ran = 0;
    each_seed(300, |seed| {
        let graph = random_graph(&mut Rng::new(seed), &shape).unwrap();
        let Some(case) = with_kernels(graph).and_then(|g| case(g, seed)) else { return Ok(()) };
        for isa in levels() {
            let mut first: Option<Vec<Value>> = None;
            for threads in [1, 2, 3] {
                let results = match run(&case, threads, isa) {
                    Ok(results) => results,
                    Err(e) => {
                        tell_kernels(&case.graph);
                        return Err(format!("{e}\n{}", case.graph));
                    }
                };
                case.compare(&results).map_err(|e| format!("{isa}: {e}"))?;
                let same = first.get_or_insert_with(|| results.clone()) == &results;
                if !same {
                    return Err(format!("{threads} threads give other bits\n{}", case.graph));
                }
            }
        }
        ran += 1;
        Ok(())
    });
    println!("{ran} graphs ran");
    assert!(ran > 0);
}

#[test]
fn values_may_lie_in_any_order() {
    let shape = GraphShape { control: false, dtypes: Dtypes::Basic, ..GraphShape::default() };
    let mut moved = 0;
    each_seed(200, |seed| {
        let graph = random_graph(&mut Rng::new(seed), &shape).unwrap();
        let Some(case) = with_kernels(graph).and_then(|g| case(g, seed)) else { return Ok(()) };
        let (mut orders, mut rng) = (Orders::default(), Rng::new(seed));
        for v in (0..case.graph.values().len()).map(ValueId::new) {
            let between = matches!(case.graph.value(v).def, Def::Node(n, _) if !matches!(case.graph.node(n).op, Op::Constant(_)))
                && !case.graph.outputs().iter().any(|o| o.value == v);
            let Some(ty) = case.graph.ty(v).as_tensor().filter(|t| between && t.rank() > 1) else { continue };
            let mut order: Vec<usize> = (0..ty.rank()).collect();
            (1..order.len()).rev().for_each(|d| order.swap(d, rng.below(d + 1)));
            orders.set(v, order);
            moved += 1;
        }
        for isa in levels() {
            let plan = compile_in(&case.graph, &orders, &isa.of(&Machine::default()), &mut |_| {});
            let results = plan.and_then(|plan| run_plan(&case, plan, 2, isa));
            case.compare(&results.map_err(|e| format!("{isa}: {e}\n{}", case.graph))?)?;
        }
        Ok(())
    });
    println!("{moved} values were moved");
    assert!(moved > 100);
}
