//! Checking a target with random graphs: cases from seeds, and a judge that holds a target against the oracle.
//!
//! [`random_case`] makes a graph and several sets of inputs from a seed, of different sizes where dimensions are symbols.
//! [`Judge`] compiles it, runs it on every one of its teams, and compares with the reference interpreter's bounded mode: a
//! result that leaves its bounds, that depends on the number of threads or on the session, an internal error or a panic is a
//! [`Failure`]. What a target does not take is a refusal, and a failure only to a strict judge. [`crate::reduce`] makes failures small.
//!
//! Emitted code that crashes takes the process with it; whoever fears that runs cases in a process of their own, as
//! `lawson fuzz` does.

mod failure;
mod judge;

pub use failure::{Failure, FailureKind};
pub use judge::{Judge, Phase, Verdict};

use crate::reduce::Case;
use lawson_graph::random::{
    Dtypes, Elements, GraphShape, Rng, random_bindings, random_chain, random_graph, random_inputs,
};
use lawson_graph::{Graph, Result, Value};

/// A graph with several sets of inputs.
#[derive(Clone, Debug)]
pub struct Cases {
    /// The graph.
    pub graph: Graph,
    /// For each run, a value an input.
    pub runs: Vec<Vec<Value>>,
}

/// The greatest size that is drawn for a symbol; on both sides of the width of a vector.
const SIZES: [i64; 3] = [7, 20, 40];

/// One graph in so many is a chain whose stages read each other at several places.
const CHAINS: u64 = 11;

impl Cases {
    /// One of the runs alone.
    pub fn case(&self, run: usize) -> Option<Case> {
        Some(Case { graph: self.graph.clone(), inputs: self.runs.get(run)?.clone() })
    }
}

/// The graph of a seed. Some have control flow, some all dtypes, some composites, some are chains; most have what every target computes.
///
/// ```
/// let a = lawson::fuzz::random_case(7)?;
/// assert_eq!(a.graph, lawson::fuzz::random_case(7)?.graph);
/// # Ok::<(), lawson::Error>(())
/// ```
pub fn random_case(seed: u64) -> Result<Cases> {
    let mut rng = Rng::new(seed ^ 0x6c61_7773_6f6e_0001);
    let plain =
        GraphShape { control: false, dtypes: Dtypes::Basic, composites: true, ..GraphShape::default() };
    let shape = match rng.below(10) {
        0 => GraphShape { control: true, dtypes: Dtypes::All, ..plain },
        1 => GraphShape { dtypes: Dtypes::All, ..plain },
        2 => GraphShape { control: true, ..plain },
        3 | 4 => GraphShape { nodes: 6, max_elements: 4000, ..plain },
        5 => GraphShape { nodes: 30, max_elements: 200, ..plain },
        _ => plain,
    };
    let graph = match seed % CHAINS {
        0 => random_chain(&mut rng)?,
        _ => random_graph(&mut rng, &shape)?,
    };
    let mut symbolic = false;
    for v in graph.inputs() {
        graph.ty(*v).visit_dims(&mut |d| symbolic |= d.as_const().is_none());
    }
    let mut runs = Vec::new();
    for most in SIZES.into_iter().take(if symbolic { SIZES.len() } else { 1 }) {
        let bindings = random_bindings(&mut rng, &graph, most)?;
        let elements = if rng.one_in(2) { Elements::Tame } else { Elements::Wild };
        runs.push(random_inputs(&mut rng, &graph, &bindings, elements)?);
    }
    Ok(Cases { graph, runs })
}
