//! A graph without some of its nodes: values come from elsewhere, and what nothing needs any more is left out.

use super::Case;
use lawson_graph::{
    Def, Graph, GraphParts, HostTensor, Node, NodeId, Op, Output, Result, Symbol, Type, Value, ValueId,
    ValueInfo,
};
use std::collections::{HashMap, HashSet};

/// Where a value comes from instead.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// From another value of the graph, of the same type.
    Value(ValueId),
    /// From a new input.
    Input(Value),
    /// It is a constant.
    Constant(HostTensor),
}

/// The case with other outputs and with these values coming from elsewhere. Inputs that only such values needed are left out, unless
/// the graph is not valid without them.
pub(super) fn cut(case: &Case, outputs: Vec<Output>, sources: &HashMap<ValueId, Source>) -> Result<Case> {
    let small = Cut::new(case, outputs.clone(), sources, Inputs::Needed).build()?;
    if small.graph.verify().is_ok() {
        return Ok(small);
    }
    Cut::new(case, outputs, sources, Inputs::All).build()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inputs {
    Needed,
    All,
}

struct Cut<'a> {
    case: &'a Case,
    sources: &'a HashMap<ValueId, Source>,
    inputs: Inputs,
    outputs: Vec<Output>,
    /// By value of the old graph: the new one.
    values: HashMap<ValueId, ValueId>,
    parts: GraphParts,
    given: Vec<Value>,
    names: HashSet<String>,
}

impl<'a> Cut<'a> {
    fn new(
        case: &'a Case,
        mut outputs: Vec<Output>,
        sources: &'a HashMap<ValueId, Source>,
        inputs: Inputs,
    ) -> Cut<'a> {
        // Which input an output lives in is not what fails, and inputs come and go.
        outputs.iter_mut().for_each(|o| o.lives_in = None);
        let graph = &case.graph;
        let parts = GraphParts {
            name: graph.name().to_string(),
            facts: graph.facts().clone(),
            values: Vec::new(),
            nodes: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        let names = graph.values().iter().filter_map(|v| v.name.as_ref().map(ToString::to_string)).collect();
        Cut { case, sources, inputs, outputs, values: HashMap::new(), parts, given: Vec::new(), names }
    }

    /// What stands for a value, after all replacements by other values.
    fn resolve(&self, v: ValueId) -> ValueId {
        let mut at = v;
        // A circle is broken by the verifier, which sees a value used before it is defined.
        for _ in 0..self.sources.len() {
            match self.sources.get(&at) {
                Some(Source::Value(next)) => at = *next,
                _ => break,
            }
        }
        at
    }

    /// The nodes and values that the outputs need.
    fn needed(&self) -> (HashSet<usize>, HashSet<ValueId>) {
        let graph = &self.case.graph;
        let mut defines: HashMap<Symbol, usize> = HashMap::new();
        for (i, node) in graph.nodes().iter().enumerate().filter(|(_, n)| n.op.may_define()) {
            let types: Vec<&Type> = node.inputs.iter().map(|v| graph.ty(*v)).collect();
            defines.extend(node.op.defines(&types).into_iter().map(|(s, _)| (s, i)));
        }
        // A new input gives the symbols of its type their values.
        for v in self.sources.iter().filter(|(_, s)| matches!(s, Source::Input(_))).map(|(v, _)| v) {
            graph.ty(*v).visit_dims(&mut |d| {
                d.visit_symbols(&mut |s| {
                    defines.remove(s);
                })
            });
        }
        let (mut nodes, mut values) = (HashSet::new(), HashSet::new());
        let mut open: Vec<ValueId> = self.outputs.iter().map(|o| self.resolve(o.value)).collect();
        while let Some(v) = open.pop() {
            if !values.insert(v) {
                continue;
            }
            let mut found = Vec::new();
            if let (Def::Node(n, _), None) = (graph.value(v).def, self.sources.get(&v)) {
                found.push(n.index());
            }
            graph.ty(v).visit_dims(&mut |d| {
                d.visit_symbols(&mut |s| found.extend(defines.get(s)));
            });
            while let Some(n) = found.pop() {
                if nodes.insert(n) {
                    let node = graph.node(NodeId::new(n));
                    open.extend(node.inputs.iter().map(|v| self.resolve(*v)));
                    node.visit_symbols(&|v| graph.ty(v), &mut |s| found.extend(defines.get(s)));
                }
            }
        }
        (nodes, values)
    }

    fn push(&mut self, old: ValueId, def: Def, name: Option<String>) -> ValueId {
        let info = self.case.graph.value(old);
        let id = ValueId::new(self.parts.values.len());
        let name = name.map(Into::into).or_else(|| info.name.clone());
        self.parts.values.push(ValueInfo { ty: info.ty.clone(), def, name, placement: None });
        id
    }

    fn fresh(&mut self) -> String {
        let mut n = self.given.len();
        while !self.names.insert(format!("x{n}")) {
            n += 1;
        }
        format!("x{n}")
    }

    fn add_input(&mut self, old: ValueId, value: Value, name: Option<String>) {
        let id = self.push(old, Def::Input(self.parts.inputs.len()), name);
        self.parts.inputs.push(id);
        self.given.push(value);
        self.values.insert(old, id);
    }

    fn build(mut self) -> Result<Case> {
        let graph = &self.case.graph;
        let (nodes, values) = self.needed();
        for (v, value) in graph.inputs().iter().zip(&self.case.inputs) {
            if self.inputs == Inputs::All || values.contains(v) && !self.sources.contains_key(v) {
                self.add_input(*v, value.clone(), None);
            }
        }
        let mut replaced: Vec<ValueId> =
            values.iter().copied().filter(|v| self.sources.contains_key(v)).collect();
        replaced.sort_unstable();
        let mut constants = Vec::new();
        for v in replaced {
            match &self.sources[&v] {
                Source::Value(_) => {}
                Source::Input(value) => {
                    let name = self.fresh();
                    self.add_input(v, value.clone(), Some(name));
                }
                Source::Constant(t) => constants.push((v, t.clone())),
            }
        }
        for (v, t) in constants {
            let node = NodeId::new(self.parts.nodes.len());
            let id = self.push(v, Def::Node(node, 0), None);
            self.parts.nodes.push(Node { op: Op::Constant(t), inputs: Vec::new(), outputs: vec![id] });
            self.values.insert(v, id);
        }
        for (_, node) in graph.nodes().iter().enumerate().filter(|(i, _)| nodes.contains(i)) {
            let id = NodeId::new(self.parts.nodes.len());
            let inputs = node.inputs.iter().map(|v| self.mapped(*v)).collect::<Result<Vec<ValueId>>>()?;
            let mut outputs = Vec::with_capacity(node.outputs.len());
            for (n, v) in node.outputs.iter().enumerate() {
                let new = self.push(*v, Def::Node(id, n), None);
                // A result that comes from elsewhere is still there, but nobody reads it.
                match self.sources.contains_key(v) {
                    true => self.parts.values[new.index()].name = None,
                    false => drop(self.values.insert(*v, new)),
                }
                outputs.push(new);
            }
            self.parts.nodes.push(Node { op: node.op.clone(), inputs, outputs });
        }
        for o in std::mem::take(&mut self.outputs) {
            let value = self.mapped(o.value)?;
            self.parts.outputs.push(Output { value, ..o });
        }
        self.drop_facts()?;
        Ok(Case { graph: Graph::from_parts(self.parts), inputs: self.given })
    }

    fn mapped(&self, v: ValueId) -> Result<ValueId> {
        let missing = || lawson_graph::Error::internal("a cut lost the definition of a value");
        self.values.get(&self.resolve(v)).copied().ok_or_else(missing)
    }

    /// Facts about symbols that nothing has any more go.
    fn drop_facts(&mut self) -> Result<()> {
        let mut known: HashSet<Symbol> = HashSet::new();
        for v in &self.parts.values {
            v.ty.visit_dims(&mut |d| {
                d.visit_symbols(&mut |s| {
                    known.insert(s.clone());
                });
            });
        }
        for node in &self.parts.nodes {
            let types: Vec<&Type> = node.inputs.iter().map(|v| &self.parts.values[v.index()].ty).collect();
            known.extend(node.op.defines(&types).into_iter().map(|(s, _)| s));
        }
        self.parts.facts = self.parts.facts.without(&|s| !known.contains(s))?;
        Ok(())
    }
}
