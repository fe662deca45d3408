//! Random graphs of every primitive and dtype on a target: none is refused, results are the oracle's, and operators are left to the evaluator only
//! where dtypes ask for it. What tests of all targets share.
//!
//! `SEED` and `COUNT` in the environment say which graphs are run instead.

use lawson::graph::random::{Elements, GraphShape, Rng, random_bindings, random_graph, random_inputs};
use lawson::graph::{Graph, interp};
use lawson::kernel::Operators;
use lawson::{CompileOptions, DType, Passes, Program, Result, Value};

/// A target to try.
pub(crate) struct Trial {
    /// Ways to compile for it, each with what it is called; all give the same bits.
    pub(crate) ways: Vec<(String, CompileOptions)>,
    /// Whether the target leaves kernels with this dtype to the evaluator.
    pub(crate) evaluated: fn(DType) -> bool,
    /// Whether it may take subnormal numbers for zeros.
    pub(crate) flushes: bool,
}

/// A graph of a seed, inputs for it, and what the oracle says of them, unless that refuses them.
fn case(seed: u64, flushes: bool) -> Option<(Graph, Vec<Value>, Vec<interp::Bounded>)> {
    let graph = random_graph(&mut Rng::new(seed), &GraphShape::default()).unwrap();
    let mut rng = Rng::new(seed);
    let bindings = random_bindings(&mut rng, &graph, 20).unwrap();
    let elements = if seed.is_multiple_of(2) { Elements::Tame } else { Elements::Wild };
    let inputs = random_inputs(&mut rng, &graph, &bindings, elements).unwrap();
    let options = interp::Options { flushes, ..interp::Options::default() };
    let oracle = interp::run_bounded(&graph, &inputs, &options).ok()?;
    Some((graph, inputs, oracle))
}

fn run(graph: &Graph, inputs: &[Value], options: &CompileOptions) -> Result<(Vec<Value>, Operators)> {
    let program = Program::compile(graph.clone(), options)?;
    let mut session = program.session();
    let first = session.run_values(inputs)?;
    assert!(session.run_values(inputs)? == first, "a second run gives other results");
    Ok((first, program.operators().unwrap()))
}

/// Whether a graph has values or parameters of a dtype.
fn has(graph: &Graph, dtype: DType) -> bool {
    let text = graph.to_string();
    text.contains(&format!("{dtype}[")) || text.contains(&format!("= {dtype}"))
}

impl Trial {
    /// Runs so many graphs in every way; gives how many operators ran how. Passes are left out, so that they hide nothing.
    pub(crate) fn check(&self, count: u64) -> Operators {
        let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse().ok());
        let from = number("SEED").unwrap_or(0);
        let mut all = Operators::default();
        let mut failures = Vec::new();
        for seed in from..from + number("COUNT").unwrap_or(count) {
            let Some((graph, inputs, oracle)) = case(seed, self.flushes) else { continue };
            let mut fail = |what: String| failures.push(format!("seed {seed}, {what}\n{graph}"));
            let mut first: Option<Vec<Value>> = None;
            for (way, options) in &self.ways {
                let options = CompileOptions { passes: Passes::None, ..options.clone() };
                let (results, operators) = match run(&graph, &inputs, &options) {
                    Ok(done) => done,
                    Err(e) => {
                        fail(format!("{way}: {e}"));
                        break;
                    }
                };
                for ((expected, actual), output) in oracle.iter().zip(&results).zip(graph.outputs()) {
                    let found = interp::compare(expected, actual, 4.0);
                    if !found.ok() {
                        fail(format!("{way}, {}: {found}", output.name));
                    }
                }
                if *first.get_or_insert_with(|| results.clone()) != results {
                    fail(format!("{way}: other bits"));
                }
                let asked = || DType::ALL.into_iter().any(|d| (self.evaluated)(d) && has(&graph, d));
                if operators.evaluator > 0 && !asked() {
                    fail(format!("{way}: {} operators without code", operators.evaluator));
                }
                all.machine_code += operators.machine_code;
                all.evaluator += operators.evaluator;
                all.interpreter += operators.interpreter;
            }
        }
        let heads: Vec<&str> = failures.iter().filter_map(|f| f.lines().next()).collect();
        assert!(failures.is_empty(), "{}\n{}", failures[0], heads.join("\n"));
        all
    }
}
