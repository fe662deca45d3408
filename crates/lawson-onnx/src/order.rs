//! The order of nodes: each after those that define what it uses.
//!
//! The format asks for that order, and most files have it; tools that put nodes into a graph leave some at its end. In: the nodes as the
//! file has them. Out: the same in an order in which they can be built, as near to the file's as that goes. Nodes that need each other in a circle stay where they
//! are; whoever builds them finds out.

use crate::proto::{GraphProto, NodeProto};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The nodes of a graph in an order in which they can be built.
pub(crate) fn in_order(graph: &GraphProto) -> Vec<&NodeProto> {
    let mut defined: HashMap<&str, usize> = HashMap::new();
    for (i, node) in graph.node.iter().enumerate() {
        for name in node.output.iter().filter(|n| !n.is_empty()) {
            defined.entry(name).or_insert(i);
        }
    }
    let needs: Vec<Vec<usize>> = graph.node.iter().map(|node| needed(node, &defined)).collect();
    let all = || graph.node.iter().collect();
    if needs.iter().enumerate().all(|(i, needs)| needs.iter().all(|n| *n < i)) {
        return all();
    }
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    let mut missing: Vec<usize> = needs.iter().map(Vec::len).collect();
    for (i, needs) in needs.iter().enumerate() {
        needs.iter().for_each(|n| users[*n].push(i));
    }
    let ready = missing.iter().enumerate().filter(|(_, m)| **m == 0);
    let mut ready: BinaryHeap<Reverse<usize>> = ready.map(|(i, _)| Reverse(i)).collect();
    let mut order = Vec::with_capacity(needs.len());
    while let Some(Reverse(i)) = ready.pop() {
        order.push(&graph.node[i]);
        for user in &users[i] {
            missing[*user] -= 1;
            if missing[*user] == 0 {
                ready.push(Reverse(*user));
            }
        }
    }
    if order.len() == needs.len() { order } else { all() }
}

/// The nodes that define what a node and its bodies use, each once.
fn needed(node: &NodeProto, defined: &HashMap<&str, usize>) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        found.extend(node.input.iter().filter_map(|n| defined.get(n.as_str()).copied()));
        for body in node.attribute.iter().filter_map(|a| a.g.as_ref()) {
            let outputs = body.output.iter().filter_map(|o| o.name.as_deref());
            found.extend(outputs.filter_map(|n| defined.get(n).copied()));
            open.extend(&body.node);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
