//! The CPU target, for those who look inside: what [`crate::Target::Cpu`] makes of kernels, and memory that suits its runs.
//!
//! [`plan`] gives what a graph is compiled to, also on machines that could not run it as machine code; [`emit`] turns each kernel of a
//! plan into machine code; [`machine`] describes this processor. `planned/` beside this folder compiles and runs whole programs.

pub use lawson_cpu::host::{machine, missing_feature};
pub use lawson_cpu::memory::{Memory, available as available_memory};
pub use lawson_cpu::{Emitted, Isa, Listing, Unsupported, emit};

use crate::program::CompileTimes;
use lawson_cpu::executable::leave_to_evaluator;
use lawson_graph::{Graph, Result, Site};
use lawson_kernel::{Operators, Plan};
use lawson_opt::Pipeline;

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
    graph.check_sites(&[Site::Cpu])?;
    let make = |graph: &Graph, _: &mut CompileTimes| {
        let mut plan = lawson_kernel::compile::compile(graph, &isa.of(&machine()))?;
        let kernels = 0..plan.kernels.len();
        leave_to_evaluator(&mut plan, kernels, isa);
        Ok(plan)
    };
    standard(graph, isa, &mut CompileTimes::default(), make, |plan| plan.operators())
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
    let kept = times.passes(|| Pipeline::keeping(KEPT).run(graph))?;
    let made = make(&kept, times)?;
    let left = match isa {
        Isa::Portable => operators(&made).interpreter,
        _ => operators(&made).on_host(),
    };
    if left == 0 || !has_composites(&kept) {
        return Ok((kept, made));
    }
    drop(made);
    let graph = times.passes(|| Pipeline::standard().run(&kept))?;
    let made = make(&graph, times)?;
    Ok((graph, made))
}

fn has_composites(graph: &Graph) -> bool {
    graph.nodes().iter().any(|n| n.op.is_composite())
}
