//! What is left to the host: nodes that no kernel can compute, whatever lowering says, and parts of a graph that the
//! interpreter runs.
//!
//! A *value of the host* is one without bytes in a plan: a sequence, an optional, text, or a tensor whose size is defined at
//! run time. What touches a sequence, an optional or text is left to the host, and so is what defines sizes. What computes tensors of such sizes
//! is planned as a *stage*, a graph of its own in which those sizes are symbols like others ([`staged`]).

use crate::group::Refused;
use lawson_graph::op::Effect;
use lawson_graph::{
    DType, Def, Facts, Graph, GraphParts, Node, NodeId, Op, Output, Symbol, Type, ValueId, ValueInfo,
};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The symbols that nodes of a graph define, and which.
pub(crate) fn defined(graph: &Graph) -> HashMap<Symbol, NodeId> {
    let mut found = HashMap::new();
    for n in graph.node_ids() {
        let node = graph.node(n);
        let types: Vec<&Type> = node.inputs.iter().map(|v| graph.ty(*v)).collect();
        found.extend(node.op.defines(&types).into_iter().map(|(s, _)| (s, n)));
    }
    found
}

/// Whether values of a type have no bytes in a plan.
pub(crate) fn is_of_host(ty: &Type, defined: &HashMap<Symbol, NodeId>) -> bool {
    let mut open = false;
    ty.visit_dims(&mut |d| d.visit_symbols(&mut |s| open |= defined.contains_key(s)));
    open || ty.as_tensor().is_none_or(|t| t.dtype == DType::Str)
}

/// The symbols defined in the graph that a node mentions.
fn mentioned(graph: &Graph, node: &Node, defined: &HashMap<Symbol, NodeId>) -> Vec<NodeId> {
    let mut found = Vec::new();
    let mut note = |s: &Symbol| found.extend(defined.get(s).copied());
    for v in &node.inputs {
        graph.ty(*v).visit_dims(&mut |d| d.visit_symbols(&mut |s| note(s)));
    }
    node.visit_symbols(&|v| graph.ty(v), &mut note);
    found
}

/// Whether a value of the host goes into a node or comes out, or the node mentions a size defined in the graph.
pub(crate) fn touches_host(graph: &Graph, node: &Node, defined: &HashMap<Symbol, NodeId>) -> bool {
    node.inputs.iter().chain(&node.outputs).any(|v| is_of_host(graph.ty(*v), defined))
        || !mentioned(graph, node, defined).is_empty()
}

/// For each node, why it is left to the host, if it touches a value of the host.
pub(crate) fn refusals(graph: &Graph) -> Vec<Option<Refused>> {
    let defined = defined(graph);
    let refuse = |node: &Node| {
        let values = || node.outputs.iter().chain(&node.inputs);
        let odd = |v: &&ValueId| graph.ty(**v).as_tensor().is_none_or(|t| t.dtype == DType::Str);
        if let Some(v) = values().find(odd) {
            return Some(Refused::DType { value: graph.value_name(*v), ty: graph.ty(*v).to_string() });
        }
        let why = match &node.op {
            Op::DefineSymbol(_) => "it defines a size at run time",
            _ if defined.is_empty() || mentioned(graph, node, &defined).is_empty() => return None,
            _ => "it has a size that is defined at run time",
        };
        let value = node.outputs.first().map_or_else(String::new, |v| graph.value_name(*v));
        Some(Refused::Operator { op: node.op.name().to_string(), value, why })
    };
    graph.nodes().iter().map(refuse).collect()
}

/// For each node, whether it can be part of a stage: it mentions sizes that nodes of the graph define and defines none itself, and tensors with
/// bytes go in and come out.
pub(crate) fn staged(graph: &Graph) -> Vec<bool> {
    let defined = defined(graph);
    let may = |node: &Node| {
        let types: Vec<&Type> = node.inputs.iter().map(|v| graph.ty(*v)).collect();
        let has_bytes = |v: &ValueId| graph.ty(*v).as_tensor().is_some_and(|t| t.dtype != DType::Str);
        !matches!(node.op, Op::HostCall(_) | Op::Collective(_))
            && node.op.defines(&types).is_empty()
            && node.inputs.iter().chain(&node.outputs).all(has_bytes)
            && !mentioned(graph, node, &defined).is_empty()
    };
    if defined.is_empty() {
        return vec![false; graph.nodes().len()];
    }
    graph.nodes().iter().map(may).collect()
}

/// The symbols of a graph whose values come from outside: those that it mentions and that no body in it defines.
pub(crate) fn open_symbols(graph: &Graph) -> Vec<Symbol> {
    fn within(graph: &Graph, found: &mut HashSet<Symbol>) {
        found.extend(defined(graph).into_keys());
        for node in graph.nodes() {
            node.op.subgraphs().into_iter().for_each(|(_, body)| within(body, found));
        }
    }
    let mut own = HashSet::new();
    within(graph, &mut own);
    let mut open = BTreeSet::new();
    graph.visit_symbols(&mut |s| {
        if !own.contains(s) {
            open.insert(s.clone());
        }
    });
    open.into_iter().collect()
}

/// For each node, the nodes that it must follow besides those that compute its operands: those that define symbols it
/// mentions, and for what has effects the one before it that has.
pub(crate) fn needs(graph: &Graph) -> Vec<Vec<NodeId>> {
    let defined = defined(graph);
    let mut last = None;
    let mut all = Vec::with_capacity(graph.nodes().len());
    for n in graph.node_ids() {
        let node = graph.node(n);
        let mut before = if defined.is_empty() { Vec::new() } else { mentioned(graph, node, &defined) };
        before.retain(|m| *m != n);
        if node.op.effect() == Effect::Effectful {
            before.extend(last.replace(n));
        }
        all.push(before);
    }
    all
}

/// A part of a graph as a graph of its own.
pub(crate) struct Extract {
    pub(crate) graph: Graph,
    /// The values of the whole that are its inputs and outputs.
    pub(crate) inputs: Vec<ValueId>,
    pub(crate) outputs: Vec<ValueId>,
}

/// The nodes, with the constants that they read, as a graph that computes these values. It knows these facts.
pub(crate) fn extract(graph: &Graph, nodes: &[NodeId], outputs: &[ValueId], facts: &Facts) -> Extract {
    let mut inside: HashSet<NodeId> = nodes.iter().copied().collect();
    let read = nodes.iter().flat_map(|n| &graph.node(*n).inputs).chain(outputs);
    for v in read {
        if let Def::Node(m, _) = graph.value(*v).def
            && matches!(graph.node(m).op, Op::Constant(_))
        {
            inside.insert(m);
        }
    }
    let mut order: Vec<NodeId> = inside.iter().copied().collect();
    order.sort();
    let mut made = Making { graph, ids: HashMap::new(), values: Vec::new() };
    let comes_in = |v: &ValueId| match graph.value(*v).def {
        Def::Input(_) => true,
        Def::Node(m, _) => !inside.contains(&m),
    };
    let mut inputs: Vec<ValueId> = Vec::new();
    for v in order.iter().flat_map(|n| &graph.node(*n).inputs).chain(outputs) {
        if comes_in(v) && !made.ids.contains_key(v) {
            made.add(*v, Def::Input(inputs.len()));
            inputs.push(*v);
        }
    }
    let mut parts = Vec::with_capacity(order.len());
    for (at, n) in order.iter().enumerate() {
        let node = graph.node(*n);
        let operands = node.inputs.iter().map(|v| made.ids[v]).collect();
        let mut results = Vec::with_capacity(node.outputs.len());
        for (i, v) in node.outputs.iter().enumerate() {
            results.push(made.add(*v, Def::Node(NodeId::new(at), i)));
        }
        parts.push(Node { op: node.op.clone(), inputs: operands, outputs: results });
    }
    let output = |v: &ValueId| Output { name: graph.value_name(*v), value: made.ids[v], lives_in: None };
    let graph_outputs = outputs.iter().map(output).collect();
    let graph = Graph::from_parts(GraphParts {
        name: graph.name().to_string(),
        facts: facts.clone(),
        inputs: (0..inputs.len()).map(ValueId::new).collect(),
        outputs: graph_outputs,
        values: made.values,
        nodes: parts,
    });
    Extract { graph, inputs, outputs: outputs.to_vec() }
}

struct Making<'g> {
    graph: &'g Graph,
    ids: HashMap<ValueId, ValueId>,
    values: Vec<ValueInfo>,
}

impl Making<'_> {
    fn add(&mut self, v: ValueId, def: Def) -> ValueId {
        let id = ValueId::new(self.values.len());
        self.values.push(ValueInfo { def, ..self.graph.value(v).clone() });
        self.ids.insert(v, id);
        id
    }
}
