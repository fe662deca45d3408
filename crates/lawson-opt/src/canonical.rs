//! The canonical form of a graph: nodes in the order in which a walk from the outputs meets them, no names but those of
//! the signature. Two graphs that compute the same by the same operators have the same canonical form.

use lawson_graph::{Def, Graph, Node, NodeId, Result, ValueId};
use std::sync::Arc;

/// Reorders and renames; nodes that no output needs are left out.
pub fn canonical_form(graph: &Graph) -> Result<Graph> {
    let mut parts = graph.clone().into_parts();
    let mut new_values: Vec<Option<ValueId>> = vec![None; parts.values.len()];
    let old_values = std::mem::take(&mut parts.values);
    let old_nodes = std::mem::take(&mut parts.nodes);
    for v in &mut parts.inputs {
        let id = ValueId::new(parts.values.len());
        parts.values.push(old_values[v.index()].clone());
        new_values[v.index()] = Some(id);
        *v = id;
    }
    // Effects first, in order; then what each output needs. Iterative: graphs may be deeper than the stack.
    let mut roots: Vec<usize> = (0..old_nodes.len())
        .filter(|i| old_nodes[*i].op.effect() == lawson_graph::op::Effect::Effectful)
        .collect();
    let def = |v: &ValueId| match old_values[v.index()].def {
        Def::Node(n, _) => Some(n.index()),
        Def::Input(_) => None,
    };
    roots.extend(parts.outputs.iter().filter_map(|o| def(&o.value)));
    let mut opened = vec![false; old_nodes.len()];
    let mut emitted = vec![false; old_nodes.len()];
    for root in roots {
        let mut stack = vec![root];
        while let Some(&i) = stack.last() {
            if emitted[i] {
                stack.pop();
            } else if !std::mem::replace(&mut opened[i], true) {
                stack.extend(old_nodes[i].inputs.iter().rev().filter_map(def).filter(|n| !emitted[*n]));
            } else {
                stack.pop();
                emitted[i] = true;
                let id = NodeId::new(parts.nodes.len());
                let node = &old_nodes[i];
                let inputs = node.inputs.iter().filter_map(|v| new_values[v.index()]).collect();
                let mut outputs = Vec::new();
                for (k, v) in node.outputs.iter().enumerate() {
                    let new = ValueId::new(parts.values.len());
                    let mut info = old_values[v.index()].clone();
                    info.def = Def::Node(id, k);
                    info.name = None;
                    parts.values.push(info);
                    new_values[v.index()] = Some(new);
                    outputs.push(new);
                }
                let mut bodies = Vec::new();
                for (_, body) in node.op.subgraphs() {
                    bodies.push(Arc::new(canonical_form(body)?));
                }
                parts.nodes.push(Node { op: node.op.with_subgraphs(bodies), inputs, outputs });
            }
        }
    }
    for o in &mut parts.outputs {
        if let Some(v) = new_values[o.value.index()] {
            o.value = v;
        }
    }
    Ok(Graph::from_parts(parts))
}
