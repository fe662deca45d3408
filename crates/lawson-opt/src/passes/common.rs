//! Common subexpressions: nodes that compute the same become one.

use crate::hash::{Mix, MixMap};
use crate::pass::Pass;
use lawson_graph::op::{CompareKind, Effect, Op};
use lawson_graph::{Graph, Node, Patch, Result, ValueId};
use std::hash::{Hash, Hasher};

/// Merges equal nodes.
#[derive(Clone, Copy, Debug)]
pub struct CommonSubexpressions;

impl Pass for CommonSubexpressions {
    fn name(&self) -> &'static str {
        "common-subexpressions"
    }

    fn summary(&self) -> &'static str {
        "computes equal things once"
    }

    fn run(&self, graph: &Graph) -> Result<Option<Patch>> {
        let mut leader: Vec<ValueId> = (0..graph.values().len()).map(ValueId::new).collect();
        let mut seen: MixMap<u64, Vec<&Node>> = MixMap::default();
        let mut patch = Patch::new();
        for node in graph.nodes() {
            // A symbol has one definition; effects happen as often as they are written.
            if node.op.effect() == Effect::Effectful || matches!(node.op, Op::DefineSymbol(_) | Op::SeqAt(_))
            {
                continue;
            }
            let operands = leaders(&leader, node);
            let mut hasher = Mix::default();
            node.op.hash(&mut hasher);
            operands.hash(&mut hasher);
            let bucket = seen.entry(hasher.finish()).or_default();
            let same = |other: &&&Node| {
                other.op == node.op
                    && leaders(&leader, other) == operands
                    && device(graph, other) == device(graph, node)
            };
            let twin = bucket.iter().find(same);
            match twin {
                Some(other) => {
                    for (old, new) in node.outputs.iter().zip(&other.outputs) {
                        leader[old.index()] = *new;
                        patch.replace(*old, *new);
                    }
                }
                None => bucket.push(node),
            }
        }
        Ok((!patch.is_empty()).then_some(patch))
    }
}

/// Where a node is placed: what is computed in two places is not one.
fn device<'g>(graph: &'g Graph, node: &Node) -> Option<&'g str> {
    node.outputs.iter().find_map(|v| graph.value(*v).placement.as_ref()?.device.as_deref())
}

/// The operands, each as the first value that equals it; in one order where the order does not matter.
fn leaders(leader: &[ValueId], node: &Node) -> Vec<ValueId> {
    let mut operands: Vec<ValueId> = node.inputs.iter().map(|v| leader[v.index()]).collect();
    if commutes(&node.op) {
        operands.sort_unstable();
    }
    operands
}

/// Whether the operands may change places.
pub(super) fn commutes(op: &Op) -> bool {
    match op {
        Op::Binary(kind) => kind.commutes(),
        Op::Compare(kind) => matches!(kind, CompareKind::Eq | CompareKind::Ne),
        _ => false,
    }
}
