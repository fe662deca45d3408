//! Weights that follow from constants alone are computed by machine code, once, before a program is made.

use crate::program::{CompileOptions, Passes, Program, Target};
use lawson_graph::{Graph, HostTensor, Result};
use lawson_opt::Pipeline;
use lawson_opt::passes::{Evaluate, FoldWeights};
use std::sync::Arc;

/// The standard passes of a target that computes some composites as they are, with weights computed by this processor.
pub(crate) fn pipeline(composites: &'static [&'static str]) -> Pipeline {
    Pipeline::folding(composites, FoldWeights::by(Arc::new(Compiled)))
}

/// The passes of the graph that computes them, which fold nothing.
const PASSES: &str = "simplify, decompose, common-subexpressions, simplify, dead-code";

/// By programs of the CPU target.
#[derive(Debug)]
struct Compiled;

impl Evaluate for Compiled {
    fn evaluate(&self, graph: &Graph) -> Result<Vec<HostTensor>> {
        let options = CompileOptions {
            target: Target::Cpu,
            passes: Passes::Custom(PASSES.parse()?),
            ..CompileOptions::default()
        };
        let program = Program::compile(graph.clone(), &options)?;
        program.session().run(&[])?.iter().map(|t| t.to_host()).collect()
    }

    fn max_elements(&self) -> usize {
        1 << 31
    }
}
