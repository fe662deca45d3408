//! Sizes that open axes usually have.
//!
//! What is computed together, and how values lie, is decided by predicted times, and times need sizes. Those of open axes are not known when a graph is
//! compiled, but an input says something by its shape: pictures have sides of hundreds, sentences have a hundred tokens, sound has thousands of samples. Whoever
//! knows more says so ([`Graph::expect`]). Nothing is proven from these sizes, and a plan is right for all.

use crate::dim::Symbol;
use crate::graph::Graph;
use crate::types::TensorType;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sides of a picture, and of a volume.
const SIDE: i64 = 224;
const VOLUME_SIDE: i64 = 64;
/// Tokens, frames or rows of features.
const LENGTH: i64 = 128;
/// Samples of sound, elements of a vector.
const SAMPLES: i64 = 16_000;

impl Graph {
    /// Says what sizes symbols usually have, by their names.
    pub fn expect(&mut self, sizes: &BTreeMap<String, usize>) {
        for (name, size) in sizes {
            self.facts.expect(Symbol::new(name), i64::try_from(*size).unwrap_or(i64::MAX));
        }
    }

    /// Gives symbols of inputs of which nothing was said the sizes that axes like theirs usually have.
    pub fn expect_usual_sizes(&mut self) {
        let mut found: Vec<(Symbol, i64)> = Vec::new();
        for v in &self.inputs {
            let Some(ty) = self.values[v.index()].ty.as_tensor() else { continue };
            for (axis, dim) in ty.shape.iter().enumerate() {
                if let (Some(symbol), Some(size)) = (dim.as_symbol(), usual(ty, axis)) {
                    found.push((symbol.clone(), size));
                }
            }
        }
        for (symbol, size) in found {
            if !self.facts.expects(&symbol) {
                self.facts.expect(symbol, size);
            }
        }
        self.expect_inside();
    }

    /// Bodies expect what the graph around them does.
    fn expect_inside(&mut self) {
        let Graph { facts, nodes, .. } = self;
        for node in nodes.iter_mut().filter(|n| !n.op.subgraphs().is_empty()) {
            let inside = |body: &Arc<Graph>| {
                let mut body = Graph::clone(body);
                body.facts.expect_as(facts);
                body.expect_inside();
                Arc::new(body)
            };
            let bodies = node.op.subgraphs().into_iter().map(|(_, body)| inside(body)).collect();
            node.op = node.op.with_subgraphs(bodies);
        }
    }
}

/// The size that an open axis of an input usually has, if its place says anything.
fn usual(ty: &TensorType, axis: usize) -> Option<i64> {
    let open = |d: usize| ty.shape[d].as_const().is_none();
    match (ty.shape.rank(), axis) {
        (1, _) if ty.dtype.is_float() => Some(SAMPLES),
        (1, _) => None,
        // Rows of features are many; the rows of what has another open axis are a batch.
        (2, 0) if !open(1) => None,
        (_, 0) => Some(1),
        (2, _) if ty.dtype.is_float() => Some(SAMPLES),
        (2 | 3, _) => Some(LENGTH),
        // One of the others is the channels: where both sides come behind it, or before.
        (4, 1) if open(2) && open(3) => None,
        (4, 3) if open(1) && open(2) => None,
        (4, _) => Some(SIDE),
        _ => Some(VOLUME_SIDE),
    }
}
