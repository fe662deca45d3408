//! Order of operands: where it does not matter, one order is chosen by what the operands are, not by how the graph was
//! written. Constants stand last.

use crate::pass::Pass;
use lawson_graph::op::{CompareKind, Op};
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
        let keys = structural_keys(graph);
        let mut b = Builder::over(graph);
        let mut swapped: Vec<(ValueId, ValueId)> = Vec::new();
        for node in graph.nodes() {
            let commutes = match node.op {
                Op::Binary(kind) => kind.commutes(),
                Op::Compare(kind) => matches!(kind, CompareKind::Eq | CompareKind::Ne),
                _ => false,
            };
            if commutes && keys[node.inputs[0].index()] > keys[node.inputs[1].index()] {
                let new = b.op1(node.op.clone(), &[node.inputs[1], node.inputs[0]])?;
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
            let mut h = Fnv::default();
            (0u8, k).hash(&mut h);
            keys[i] = (false, h.finish());
        }
    }
    for node in graph.nodes() {
        let mut h = Fnv::default();
        node.op.hash(&mut h);
        let mut operands: Vec<u64> = node.inputs.iter().map(|v| keys[v.index()].1).collect();
        if matches!(node.op, Op::Binary(kind) if kind.commutes()) {
            operands.sort_unstable();
        }
        operands.hash(&mut h);
        let constant = is_constant(node, &keys);
        for (k, v) in node.outputs.iter().enumerate() {
            let mut h = Fnv(h.0);
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

/// FNV-1a: the same on every machine and in every version of the standard library.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
