//! The CPU target, for those who look inside: what [`crate::Target::Cpu`] makes of kernels, and memory that suits its runs.
//!
//! [`plan`] and [`plan_with`] give what a graph is compiled to, also on machines that could not run it as machine code; [`emit`] turns each kernel of a
//! plan into machine code; [`machine`] describes this processor. `planned/` beside this folder compiles and runs whole programs.

pub use lawson_cpu::host::{machine, missing_feature};
pub use lawson_cpu::memory::{Memory, available as available_memory};
pub use lawson_cpu::{Emitted, Isa, Listing, Unsupported, emit};

use crate::program::{CompileTimes, Passes};
use crate::weights::pipeline;
use lawson_cpu::executable::leave_to_evaluator;
use lawson_graph::{Graph, Result, Site};
use lawson_kernel::compile::compile_watched;
use lawson_kernel::machine::Machines;
use lawson_kernel::partition::Fusion;
use lawson_kernel::{Operators, Plan};
use std::collections::BTreeMap;

/// Composites that the kernel level lowers as they are, where it can.
const KEPT: &[&str] = &["attention"];

/// The graph after the standard passes of this target, and its plan for this machine.
///
/// ```
/// let graph = lawson::graph::Graph::parse("lawson 1 graph @f(%x: f32[N]) -> (y: f32[N]) { %y = exp %x return %y }")?;
/// let (_, plan) = lawson::cpu::plan(&graph)?;
/// assert_eq!(plan.steps.len(), 1);
/// # Ok::<(), lawson::Error>(())
/// ```
pub fn plan(graph: &Graph) -> Result<(Graph, Plan)> {
    plan_for(graph, Isa::Avx512)
}

/// The same, for kernels that are run in this way.
pub fn plan_for(graph: &Graph, isa: Isa) -> Result<(Graph, Plan)> {
    plan_with(graph, &PlanOptions { isa, ..PlanOptions::default() })
}

/// What a plan depends on besides its graph, as [`crate::CompileOptions`] say it of a program: no machine need be able to run it.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// How the processor runs kernels.
    pub isa: Isa,
    /// What is done to the graph before.
    pub passes: Passes,
    /// Which operators may share a kernel.
    pub fusion: Fusion,
    /// Sizes that symbols usually have.
    pub expect: BTreeMap<String, usize>,
    /// How many threads will run it.
    pub threads: usize,
}

impl Default for PlanOptions {
    /// For a program that is given nothing, on this machine.
    fn default() -> PlanOptions {
        PlanOptions {
            isa: Isa::best(),
            passes: Passes::Standard,
            fusion: Fusion::Predicted,
            expect: BTreeMap::new(),
            threads: crate::planned::processors(),
        }
    }
}

/// The graph after these passes and its plan: that of a program that is compiled so.
pub fn plan_with(graph: &Graph, options: &PlanOptions) -> Result<(Graph, Plan)> {
    graph.check_sites(&[Site::Cpu])?;
    let PlanOptions { isa, ref passes, fusion, threads, ref expect } = *options;
    let mut graph = graph.clone();
    graph.expect(expect);
    graph.expect_usual_sizes();
    let graph = &graph;
    let machine = isa.of(&machine());
    let make = |graph: &Graph, _: &mut CompileTimes| {
        let mut plan = compile_watched(graph, Machines::only(&machine).by(threads), fusion, &mut |_| {})?;
        let kernels = 0..plan.kernels.len();
        leave_to_evaluator(&mut plan, kernels, isa);
        Ok(plan)
    };
    let times = &mut CompileTimes::default();
    let graph = match (passes, fusion) {
        (Passes::Standard, Fusion::Predicted) => {
            return standard(graph, isa, times, make, |plan| plan.operators());
        }
        (Passes::None | Passes::Standard, _) => graph.clone(),
        (Passes::Custom(pipeline), _) => pipeline.run(graph)?,
    };
    let plan = make(&graph, times)?;
    Ok((graph, plan))
}

/// The graph after the standard passes, and what is made of it. Composites of [`KEPT`] become kernels of their own; if one
/// of them would be left to the host, all are decomposed.
pub(crate) fn standard<T>(
    graph: &Graph,
    isa: Isa,
    times: &mut CompileTimes,
    make: impl Fn(&Graph, &mut CompileTimes) -> Result<T>,
    operators: impl Fn(&T) -> Operators,
) -> Result<(Graph, T)> {
    let kept = times.passes(|| pipeline(KEPT).run(graph))?;
    let made = make(&kept, times)?;
    let left = match isa {
        Isa::Portable => operators(&made).interpreter,
        _ => operators(&made).on_host(),
    };
    if left == 0 || !has_composites(&kept) {
        return Ok((kept, made));
    }
    drop(made);
    let graph = times.passes(|| pipeline(&[]).run(&kept))?;
    let made = make(&graph, times)?;
    Ok((graph, made))
}

fn has_composites(graph: &Graph) -> bool {
    graph.nodes().iter().any(|n| n.op.is_composite())
}
