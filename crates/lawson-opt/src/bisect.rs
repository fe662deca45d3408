//! Bisecting a pipeline: the first pass after which results leave the tolerance.
//!
//! The graph as given is run in the oracle's bounded mode; after each pass the rewritten graph is run plainly on the
//! same inputs, and every element must lie within the oracle's bound.

use crate::pipeline::{Pipeline, RunOptions, Verify};
use lawson_graph::{Graph, Result, Value, interp};

/// What bisecting found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// All passes keep the results.
    Fine {
        /// How many passes ran.
        passes: usize,
        /// How many elements were compared after each pass.
        compared: u64,
        /// How many elements the oracle leaves undetermined.
        undetermined: u64,
    },
    /// A pass changed a result.
    Changed {
        /// The position of the pass, from 0.
        index: usize,
        /// Its name.
        pass: String,
        /// The output.
        output: String,
        /// What differed.
        comparison: interp::Comparison,
    },
    /// A pass failed, or left a graph that cannot be run.
    Failed {
        /// The position of the pass, from 0.
        index: usize,
        /// Its name.
        pass: String,
        /// What went wrong.
        error: lawson_graph::Error,
    },
}

/// Finds the first pass after which results leave the oracle's bounds (times `slack`, at least 1).
pub fn bisect(
    pipeline: &Pipeline,
    graph: &Graph,
    inputs: &[Value],
    options: &interp::Options,
    slack: f64,
) -> Result<Verdict> {
    let oracle = interp::run_bounded(graph, inputs, options)?;
    let mut found: Option<Verdict> = None;
    let (mut compared, mut undetermined) = (0, 0);
    let run = RunOptions { verify: Verify::EachPass, stop_after: None };
    let mut at = 0;
    let result = pipeline.run_with(graph, &run, &mut |seen| {
        at = seen.index + 1;
        if found.is_some() || !seen.changed {
            return Ok(());
        }
        let results = match interp::run(seen.graph, inputs, options) {
            Ok(results) => results,
            Err(error) => {
                found =
                    Some(Verdict::Failed { index: seen.index, pass: seen.pass.name().to_string(), error });
                return Ok(());
            }
        };
        (compared, undetermined) = (0, 0);
        for ((expected, actual), output) in oracle.iter().zip(&results).zip(graph.outputs()) {
            let comparison = interp::compare(expected, actual, slack);
            compared += comparison.compared;
            undetermined += comparison.undetermined;
            if !comparison.ok() && found.is_none() {
                found = Some(Verdict::Changed {
                    index: seen.index,
                    pass: seen.pass.name().to_string(),
                    output: output.name.clone(),
                    comparison,
                });
            }
        }
        Ok(())
    });
    match (found, result) {
        (Some(verdict), _) => Ok(verdict),
        (None, Err(error)) => {
            let pass = pipeline.passes().get(at).map_or("", |p| p.name()).to_string();
            Ok(Verdict::Failed { index: at, pass, error })
        }
        (None, Ok(_)) => Ok(Verdict::Fine { passes: pipeline.passes().len(), compared, undetermined }),
    }
}
