//! The CPU target, for those who look inside: what [`crate::Target::Cpu`] makes of kernels, and memory that suits its runs.
//!
//! [`plan`] gives what a graph is compiled to, also on machines that could not run it; [`emit`] turns each kernel of a plan
//! into machine code; [`machine`] describes this processor. `native.rs` compiles and runs whole programs; elsewhere than on x86-64 under Unix, `absent.rs`
//! refuses them.

#[cfg(not(all(unix, target_arch = "x86_64")))]
mod absent;
#[cfg(all(unix, target_arch = "x86_64"))]
mod native;

#[cfg(not(all(unix, target_arch = "x86_64")))]
pub(crate) use absent::{CpuProgram, CpuSession, Unpacked};
#[cfg(all(unix, target_arch = "x86_64"))]
pub(crate) use native::{CpuProgram, CpuSession, Unpacked};

pub use lawson_cpu::host::{machine, missing_feature};
pub use lawson_cpu::memory::Memory;
pub use lawson_cpu::{Emitted, Listing, Unsupported, emit};

use crate::program::CompileTimes;
use lawson_graph::{Code, Error, Graph, Result};
use lawson_kernel::Plan;
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
    standard(graph, &mut CompileTimes::default(), |graph, _| {
        let plan = lawson_kernel::compile::compile(graph, &machine())?;
        // As for a program: a composite whose kernel has no code is decomposed.
        if has_composites(graph) {
            for kernel in &plan.kernels {
                emit(kernel, Listing::Off).map_err(|e| Error::new(Code::NotLowered, e.to_string()))?;
            }
        }
        Ok(plan)
    })
}

/// The graph after the standard passes, and what is made of it. Composites of [`KEPT`] become kernels of their own; if one
/// of them cannot, all are decomposed.
fn standard<T>(
    graph: &Graph,
    times: &mut CompileTimes,
    make: impl Fn(&Graph, &mut CompileTimes) -> Result<T>,
) -> Result<(Graph, T)> {
    let kept = times.passes(|| Pipeline::keeping(KEPT).run(graph))?;
    match make(&kept, times) {
        Ok(made) => Ok((kept, made)),
        Err(e) if has_composites(&kept) && e.code() == Code::NotLowered => {
            let graph = times.passes(|| Pipeline::standard().run(&kept))?;
            let made = make(&graph, times)?;
            Ok((graph, made))
        }
        Err(e) => Err(e),
    }
}

fn has_composites(graph: &Graph) -> bool {
    graph.nodes().iter().any(|n| n.op.is_composite())
}

/// Whether a run took place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(all(unix, target_arch = "x86_64")), allow(dead_code))]
pub(crate) enum Ran {
    Yes,
    /// Some view is not contiguous; the caller must copy.
    No,
}
