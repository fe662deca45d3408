//! The wgpu target, for those who look inside: the plan of a graph for a device that need not be there.
//!
//! In: a graph before the passes and what a device can do. Out: the graph after them, and the plan with its transfers. `planned/` compiles and
//! runs whole programs.

use crate::cpu::PlanOptions;
use crate::program::Passes;
use crate::weights::pipeline;
use lawson_cpu::Isa;
use lawson_cpu::executable::leave_to_evaluator;
use lawson_graph::{Graph, Result, Site};
use lawson_kernel::Plan;
use lawson_kernel::compile::compile_watched;
use lawson_kernel::machine::Machines;
use lawson_kernel::partition::Fusion;
use lawson_wgpu::Capabilities;

/// The graph after the standard passes of this target, and its plan for a device that can do this, beside a processor that runs kernels
/// in this way.
///
/// ```
/// use lawson::{cpu::Isa, graph::Graph, wgpu::Capabilities};
/// let text = "lawson 1 graph @f(%x: f32[N]) -> (z: f32[N]) { %y: f32[N] @device(\"cpu\") = exp %x %z: f32[N] @device(\"gpu\") = neg %y return %z }";
/// let (_, plan) = lawson::gpu::plan_for(&Graph::parse(text)?, &Capabilities::default(), Isa::Avx512)?;
/// assert_eq!((plan.operators().on_cpu, plan.operators().machine_code), (1, 1));
/// # Ok::<(), lawson::Error>(())
/// ```
pub fn plan_for(graph: &Graph, capabilities: &Capabilities, isa: Isa) -> Result<(Graph, Plan)> {
    plan_with(graph, capabilities, &PlanOptions { isa, ..PlanOptions::default() })
}

/// The graph after these passes and its plan, for a device that can do this. How many threads there are does not matter.
pub fn plan_with(graph: &Graph, capabilities: &Capabilities, options: &PlanOptions) -> Result<(Graph, Plan)> {
    let PlanOptions { isa, ref passes, fusion, .. } = *options;
    let graph = sited(graph.clone())?;
    let graph = match (passes, fusion) {
        (Passes::Standard, Fusion::Predicted) => pipeline(&[]).run(&graph)?,
        (Passes::None | Passes::Standard, _) => graph,
        (Passes::Custom(pipeline), _) => pipeline.run(&graph)?,
    };
    let target = lawson_wgpu::machine_for(capabilities);
    let cpu = isa.of(&lawson_cpu::host::machine());
    let machines = Machines { target: &target, cpu: Some(&cpu), threads: 1 };
    let mut plan = compile_watched(&graph, machines, fusion, &mut |_| {})?;
    let called = plan.called();
    leave_to_evaluator(&mut plan, called, isa);
    lawson_wgpu::leave_to_evaluator(&mut plan, capabilities);
    plan.add_transfers()?;
    Ok((graph, plan))
}

/// The graph with a place for every node, if somebody has placed one.
pub(crate) fn sited(graph: Graph) -> Result<Graph> {
    graph.check_sites(&[Site::Gpu, Site::Cpu])?;
    if graph.has_sites() { graph.sited(Site::Gpu) } else { Ok(graph) }
}
