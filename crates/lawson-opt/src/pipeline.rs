//! Pipelines: printable lists of passes, run in order, with the verifier between them.

use crate::pass::{Pass, run_pass};
use crate::passes;
use lawson_graph::{Code, Error, Graph, Result, nearest};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A list of passes, run in order.
///
/// ```
/// use lawson_opt::Pipeline;
/// let pipeline: Pipeline = "simplify, dead-code".parse()?;
/// assert_eq!(pipeline.to_string(), "simplify, dead-code");
/// # Ok::<(), lawson_graph::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pipeline {
    passes: Vec<Arc<dyn Pass>>,
}

/// When the verifier runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// After every pass that changed something.
    EachPass,
    /// Never: release builds trust passes that the tests have checked.
    Never,
}

impl Default for Verify {
    /// After each pass in debug builds.
    fn default() -> Verify {
        if cfg!(debug_assertions) { Verify::EachPass } else { Verify::Never }
    }
}

/// How a pipeline is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// When to verify.
    pub verify: Verify,
    /// Stop after that many passes.
    pub stop_after: Option<usize>,
}

/// What an observer of a pipeline sees after each pass.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The position of the pass, from 0.
    pub index: usize,
    /// The pass.
    pub pass: &'a dyn Pass,
    /// The graph after it.
    pub graph: &'a Graph,
    /// Whether it changed anything.
    pub changed: bool,
}

impl Pipeline {
    /// From passes.
    pub fn new(passes: Vec<Arc<dyn Pass>>) -> Pipeline {
        Pipeline { passes }
    }

    /// What `compile` runs on every graph: composites are used where they help, then decomposed; at the end only
    /// primitives are left, each in its simplest form.
    pub fn standard() -> Pipeline {
        Pipeline::keeping(&[])
    }

    /// [`Pipeline::standard`] for a target that computes some composites as they are, given by their names: these are not
    /// decomposed.
    pub fn keeping(composites: &'static [&'static str]) -> Pipeline {
        Pipeline::folding(composites, passes::FoldWeights::default())
    }

    /// [`Pipeline::keeping`], with weights computed by somebody fast.
    pub fn folding(composites: &'static [&'static str], weights: passes::FoldWeights) -> Pipeline {
        use passes::{
            CommonSubexpressions, DeadCode, Decompose, FoldBatchNorm, FoldConstants, OrderOperands, Simplify,
        };
        Pipeline::new(vec![
            Arc::new(DeadCode),
            Arc::new(Simplify),
            Arc::new(FoldConstants::default()),
            Arc::new(weights.clone()),
            Arc::new(FoldBatchNorm),
            Arc::new(Decompose { keep: composites }),
            Arc::new(CommonSubexpressions),
            Arc::new(Simplify),
            Arc::new(DeadCode),
            Arc::new(FoldConstants::default()),
            Arc::new(weights),
            Arc::new(CommonSubexpressions),
            Arc::new(OrderOperands),
            Arc::new(Simplify),
            Arc::new(CommonSubexpressions),
            Arc::new(DeadCode),
        ])
    }

    fn from_names(names: &[&str]) -> Result<Pipeline> {
        let known = passes::all();
        let passes = names
            .iter()
            .map(|name| {
                known.iter().find(|p| p.name() == *name).cloned().ok_or_else(|| {
                    let error = Error::new(Code::UnknownPass, format!("there is no pass `{name}`"));
                    match nearest(name, known.iter().map(|p| p.name())) {
                        Some(near) => error.help(format!("did you mean `{near}`?")),
                        None => {
                            let all: Vec<_> = known.iter().map(|p| p.name()).collect();
                            error.help(format!("the passes are {}", all.join(", ")))
                        }
                    }
                })
            })
            .collect::<Result<_>>()?;
        Ok(Pipeline { passes })
    }

    /// The passes, in order.
    pub fn passes(&self) -> &[Arc<dyn Pass>] {
        &self.passes
    }

    /// Runs all passes.
    pub fn run(&self, graph: &Graph) -> Result<Graph> {
        self.run_with(graph, &RunOptions::default(), &mut |_| Ok(()))
    }

    /// Runs passes, showing each result to an observer.
    pub fn run_with(
        &self,
        graph: &Graph,
        options: &RunOptions,
        observe: &mut dyn FnMut(Observed<'_>) -> Result<()>,
    ) -> Result<Graph> {
        let mut current = graph.clone();
        let limit = options.stop_after.unwrap_or(self.passes.len());
        for (index, pass) in self.passes.iter().enumerate().take(limit) {
            // The graph as it was is needed only to check the signature against.
            let before = (options.verify == Verify::EachPass).then(|| current.clone());
            let outcome = run_pass(pass.as_ref(), current).map_err(|e| broken(pass.name(), e))?;
            let changed = outcome.changed;
            current = outcome.graph;
            if let Some(before) = before.filter(|_| changed) {
                check(&before, &current).map_err(|e| broken(pass.name(), e))?;
            }
            observe(Observed { index, pass: pass.as_ref(), graph: &current, changed })?;
        }
        Ok(current)
    }
}

/// A pass must leave a valid graph with the same signature.
fn check(before: &Graph, after: &Graph) -> Result<()> {
    after.verify()?;
    let same_inputs = before.inputs().len() == after.inputs().len()
        && before
            .inputs()
            .iter()
            .zip(after.inputs())
            .all(|(a, b)| before.ty(*a) == after.ty(*b) && before.value(*a).name == after.value(*b).name);
    let same_outputs = before.outputs().len() == after.outputs().len()
        && before.outputs().iter().zip(after.outputs()).all(|(a, b)| {
            a.name == b.name
                && a.lives_in == b.lives_in
                && lawson_graph::op::same_type(before.facts(), before.ty(a.value), after.ty(b.value))
        });
    if same_inputs && same_outputs {
        return Ok(());
    }
    Err(Error::internal("the signature of the graph changed"))
}

/// Whatever a pass fails for is its own fault, except that a graph asks for too much.
fn broken(pass: &str, error: Error) -> Error {
    if error.code() == Code::Budget {
        return error.at(lawson_graph::Place::Pass(pass.to_string()));
    }
    let mut wrapped = Error::new(Code::PassFailed, format!("the pass `{pass}` failed: {}", error.message()))
        .help("this is a bug in Lawson; `lawson bisect` and `--stop-after` help to narrow it down");
    for place in error.places() {
        wrapped = wrapped.at(place.clone());
    }
    wrapped.at(lawson_graph::Place::Pass(pass.to_string()))
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.passes.iter().map(|p| p.name()).collect();
        f.write_str(&names.join(", "))
    }
}

impl FromStr for Pipeline {
    type Err = Error;

    fn from_str(text: &str) -> Result<Pipeline> {
        let names: Vec<&str> = text.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
        Pipeline::from_names(&names)
    }
}
