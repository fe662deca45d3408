//! Attention through its composite: 12 heads of depth 64, as in BERT, with 128 and 1024 tokens.

use super::{cut, input, random};
use crate::Failure;
use crate::case::{Case, Check, Expected, Problem, Work};
use lawson::Passes;
use lawson::graph::{Builder, Causal, Graph};
use lawson::{HostTensor, Result};

const HEADS: usize = 12;
const DEPTH: usize = 64;
/// Queries that the interpreter checks: the last ones of the last head.
const CHECKED: usize = 4;

fn graph(inputs: &[HostTensor; 3], causal: Causal) -> Result<Graph> {
    let mut b = Builder::new("attention");
    let [q, k, v] = inputs;
    let (q, k, v) = (input(&mut b, "q", q)?, input(&mut b, "k", k)?, input(&mut b, "v", v)?);
    let y = b.attention(q, k, v, None, causal)?;
    b.output("y", y)?;
    b.finish()
}

fn problem(tokens: usize, causal: Causal) -> std::result::Result<Problem, Failure> {
    let sizes = [1, HEADS, tokens, DEPTH];
    let inputs = [random(1, &sizes, 1.0)?, random(2, &sizes, 1.0)?, random(3, &sizes, 1.0)?];
    let queries = CHECKED.min(tokens);
    let start = [0, HEADS - 1, tokens - queries, 0];
    let small = [
        cut(&inputs[0], &start, &[1, 1, queries, DEPTH])?,
        cut(&inputs[1], &[0, HEADS - 1, 0, 0], &[1, 1, tokens, DEPTH])?,
        cut(&inputs[2], &[0, HEADS - 1, 0, 0], &[1, 1, tokens, DEPTH])?,
    ];
    let expected = Expected::Graph(Box::new(graph(&small, causal)?), small.to_vec());
    let graphs = vec![graph(&inputs, causal)?];
    Ok(Problem {
        passes: Passes::Standard,
        graphs,
        inputs: inputs.to_vec(),
        check: Check { start: start.to_vec(), expected },
    })
}

/// With and without a causal mask. Operations count as they are without one for half of the scores under a mask.
pub fn all() -> Vec<Case> {
    let mut all = Vec::new();
    for tokens in [128, 1024] {
        for (causal, name, part) in [(Causal::No, "", 1.0), (Causal::BottomRight, " causal", 0.5)] {
            let flops = 4.0 * (HEADS * tokens * tokens * DEPTH) as f64 * part;
            let name = format!("attention {HEADS}x{tokens}x{DEPTH}{name}");
            all.push(Case {
                name,
                work: Work::Flops(flops),
                make: Box::new(move || problem(tokens, causal)),
            });
        }
    }
    all
}
