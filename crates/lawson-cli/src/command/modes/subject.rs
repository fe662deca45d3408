//! What is run at a point: a list, its graph, its input, and what the oracle says of them.

use super::oracle::Oracle;
use super::wanted::{Point, Wanted};
use lawson::graph::Graph;
use lawson::graph::op::Op;
use lawson::list::{RandomList, input_tensor, random_list, validate};
use lawson::{DType, Error, Result, Tensor};

/// A list and what is known of it.
pub struct Subject {
    pub graph: Graph,
    /// Its operators, each with its weights.
    pub operators: Vec<(Op, Vec<Tensor>)>,
    pub x: Tensor,
    pub iterations: u64,
    /// What so many iterations give, by the oracle.
    pub expected: Vec<(u64, Tensor)>,
    /// Elements of all weights and of all values: how much there is to do.
    pub work: f64,
}

/// How many iterations the oracle follows: one, and enough for values to have changed places.
const FOLLOWED: u64 = 3;
/// How often the weights of a list may lie in memory: as a list and as its graph, and on each place.
const COPIES: f64 = 2.0;
const COPIES_A_PLACE: f64 = 4.0;

/// The most bytes that a point may take with all its modes: every operator may be a linear layer.
pub fn most_bytes(point: Point, places: usize) -> f64 {
    let weights = (point.depth as f64) * (point.size as f64) * (point.size as f64 + 1.0) * 4.0;
    // About half of the operators are.
    weights / 2.0 * (COPIES + COPIES_A_PLACE * places as f64)
}

impl Subject {
    pub fn new(point: Point, wanted: &Wanted) -> Result<Subject> {
        let Point { depth, size } = point;
        let (batch, seed) = (wanted.batch, wanted.seed);
        let list = random_list(&RandomList { depth, size, batch, seed, softmax: true })?;
        let x = input_tensor(&list)?.ok_or_else(|| Error::internal("a random list without its input"))?;
        let graph = validate(&list)?;
        drop(list);
        let operators = operators(&graph)?;
        let weights: usize = operators.iter().flat_map(|(_, w)| w).map(Tensor::len).sum();
        let work = (weights + batch * size * operators.len()) as f64;
        let mut subject = Subject {
            graph,
            operators,
            x: x.into(),
            iterations: wanted.iterations,
            expected: Vec::new(),
            work,
        };
        subject.expected = subject.ask_oracle()?;
        Ok(subject)
    }

    /// The oracle's results, operator by operator.
    fn ask_oracle(&self) -> Result<Vec<(u64, Tensor)>> {
        let oracle = Oracle::new()?;
        let last = self.iterations.min(FOLLOWED);
        let mut expected = Vec::new();
        let mut value = oracle.hold(&self.x)?;
        for n in 1..=last {
            for (op, weights) in &self.operators {
                value = oracle.apply(op, &value, weights)?;
            }
            if n == 1 || n == last {
                expected.push((n, value.to_tensor()?));
            }
        }
        Ok(expected)
    }
}

/// The operators of a list's graph as immediate mode calls them. The weights are the graph's own.
fn operators(graph: &Graph) -> Result<Vec<(Op, Vec<Tensor>)>> {
    let mut all = Vec::new();
    for node in graph.nodes().iter().filter(|n| !matches!(n.op, Op::Constant(_))) {
        // What the operator before gave comes first.
        let weights = node.inputs.iter().skip(1).map(|v| match graph.defining(*v).map(|n| &n.op) {
            Some(Op::Constant(tensor)) => Ok(Tensor::from(tensor.clone())),
            _ => Err(Error::internal("an operator of a list takes more than one value")),
        });
        all.push((node.op.clone(), weights.collect::<Result<_>>()?));
    }
    Ok(all)
}

/// The greatest distance from the oracle, relative to its greatest element.
pub fn distance(expected: &Tensor, found: &Tensor) -> Result<f64> {
    if expected.sizes() != found.sizes() || found.dtype() != DType::F32 {
        return Err(Error::internal("a mode gives a result of another type"));
    }
    let (expected, found) = (expected.to_vec::<f64>()?, found.to_vec::<f32>()?);
    let greatest = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let off = expected.iter().zip(&found).map(|(a, b)| (a - f64::from(*b)).abs() / greatest);
    // A NaN stays one.
    Ok(off.fold(0.0, |most: f64, x| if x > most || x.is_nan() { x } else { most }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_relative_to_the_greatest_element_and_nan_is_none() {
        let expected = Tensor::from_slice(&[2], &[4f64, -8.0]).unwrap();
        let near = Tensor::from_slice(&[2], &[4f32, -6.0]).unwrap();
        assert_eq!(distance(&expected, &near).unwrap(), 0.25);
        let nan = Tensor::from_slice(&[2], &[f32::NAN, -8.0]).unwrap();
        assert!(distance(&expected, &nan).unwrap().is_nan());
        let other = Tensor::from_slice(&[1], &[4f32]).unwrap();
        assert!(distance(&expected, &other).is_err());
    }
}
