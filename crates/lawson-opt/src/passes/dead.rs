//! Dead code: nodes whose results nobody uses, and that do nothing else, go.

use crate::pass::Pass;
use lawson_graph::op::Effect;
use lawson_graph::{Def, Graph, NodeId, Patch, Result, Symbol, Type};
use std::collections::HashMap;

/// Removes nodes that contribute to no output and have no effect.
#[derive(Clone, Copy, Debug)]
pub struct DeadCode;

impl Pass for DeadCode {
    fn name(&self) -> &'static str {
        "dead-code"
    }

    fn summary(&self) -> &'static str {
        "removes nodes whose results are never used"
    }

    fn run(&self, graph: &Graph) -> Result<Option<Patch>> {
        let live = live_nodes(graph);
        let mut patch = Patch::new();
        for id in graph.node_ids().filter(|id| !live[id.index()]) {
            patch.remove(id);
        }
        Ok((!patch.is_empty()).then_some(patch))
    }
}

/// Which nodes an output or an effect needs: through operands, and through symbols that types mention.
pub(crate) fn live_nodes(graph: &Graph) -> Vec<bool> {
    let mut symbols: HashMap<Symbol, usize> = HashMap::new();
    for (i, node) in graph.nodes().iter().enumerate().filter(|(_, n)| n.op.may_define()) {
        let types: Vec<&Type> = node.inputs.iter().map(|v| graph.ty(*v)).collect();
        symbols.extend(node.op.defines(&types).into_iter().map(|(s, _)| (s, i)));
    }
    let mut live = vec![false; graph.nodes().len()];
    let mut work: Vec<usize> = Vec::new();
    let def = |v: &lawson_graph::ValueId| match graph.value(*v).def {
        Def::Node(node, _) => Some(node.index()),
        Def::Input(_) => None,
    };
    work.extend(graph.outputs().iter().filter_map(|o| def(&o.value)));
    work.extend((0..graph.nodes().len()).filter(|i| graph.nodes()[*i].op.effect() == Effect::Effectful));
    while let Some(i) = work.pop() {
        if std::mem::replace(&mut live[i], true) {
            continue;
        }
        let node = graph.node(NodeId::new(i));
        work.extend(node.inputs.iter().filter_map(def));
        if !symbols.is_empty() {
            node.visit_symbols(&|v| graph.ty(v), &mut |s| work.extend(symbols.get(s)));
        }
    }
    live
}
