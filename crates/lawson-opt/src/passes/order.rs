//! Order of operands: where it does not matter, one order is chosen by what the operands are, not by how the graph was
//! written. Constants stand last.

use crate::hash::Mix;
use crate::pass::Pass;
use crate::passes::common::commutes;
use lawson_graph::op::Op;
use lawson_graph::{Builder, Def, Graph, Node, Patch, Result, ValueId};
use std::hash::{Hash, Hasher};

/// Puts the operands of commutative operators in one order.
#[derive(Clone, Copy, Debug)]
pub struct OrderOperands;

impl Pass for OrderOperands {
    fn name(&self) -> &'static str {
        "order-operands"
    }

    fn summary(&self) -> &'static str {
        "puts the operands of commutative operators in one order"
    }

    fn run(&self, graph: &Graph) -> Result<Option<Patch>> {
        if !graph.nodes().iter().any(|n| commutes(&n.op)) {
            return Ok(None);
        }
        let keys = structural_keys(graph);
        let mut b = Builder::over(graph);
        let mut swapped: Vec<(ValueId, ValueId)> = Vec::new();
        for node in graph.nodes() {
            if commutes(&node.op) && keys[node.inputs[0].index()] > keys[node.inputs[1].index()] {
                let first = b.added().len();
                let new = b.op1(node.op.clone(), &[node.inputs[1], node.inputs[0]])?;
                b.follow(node.outputs[0], first)?;
                swapped.push((node.outputs[0], new));
            }
        }
        let mut patch = b.into_patch();
        for (old, new) in swapped {
            patch.replace(old, new);
        }
        Ok((!patch.is_empty()).then_some(patch))
    }
}

/// A key for each value that depends only on what it computes from which inputs: (is it constant, hash).
fn structural_keys(graph: &Graph) -> Vec<(bool, u64)> {
    let mut keys: Vec<(bool, u64)> = Vec::with_capacity(graph.values().len());
    keys.resize(graph.values().len(), (false, 0));
    for (i, value) in graph.values().iter().enumerate() {
        if let Def::Input(k) = value.def {
            let mut h = Mix::default();
            (0u8, k).hash(&mut h);
            keys[i] = (false, h.finish());
        }
    }
    for node in graph.nodes() {
        let mut h = Mix::default();
        node.op.hash(&mut h);
        let mut operands: Vec<u64> = node.inputs.iter().map(|v| keys[v.index()].1).collect();
        if commutes(&node.op) {
            operands.sort_unstable();
        }
        operands.hash(&mut h);
        let constant = is_constant(node, &keys);
        for (k, v) in node.outputs.iter().enumerate() {
            let mut h = h;
            k.hash(&mut h);
            keys[v.index()] = (constant, h.finish());
        }
    }
    keys
}

fn is_constant(node: &Node, keys: &[(bool, u64)]) -> bool {
    match node.op {
        Op::Constant(_) => true,
        Op::Broadcast(_) | Op::Reshape(_) | Op::Transpose(_) => node.inputs.iter().all(|v| keys[v.index()].0),
        _ => false,
    }
}
