//! The graph: values and nodes in arenas, a signature, and the facts about symbols.
//!
//! Nodes stand in an order in which operands are defined before they are used. A graph is built by a `Builder`,
//! read from text, or changed by applying a `Patch`; it is never edited in place. What makes a graph valid is
//! listed at the head of `verify.rs`.

use crate::composite::{Registry, nearest};
use crate::dim::{Dim, Fact, Facts, Relation, Symbol};
use crate::error::{Code, Error, Place, Result};
use crate::op::Op;
use crate::types::{Placement, Type};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// The id of arena entry `index`.
            pub fn new(index: usize) -> $name {
                $name(u32::try_from(index).unwrap_or(u32::MAX))
            }

            /// The arena entry.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "%{}", self.0)
            }
        }
    };
}
id!(
    /// A value of a graph.
    ValueId
);
id!(
    /// A node of a graph.
    NodeId
);

/// A typed tensor program.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    pub(crate) name: String,
    pub(crate) facts: Facts,
    pub(crate) values: Vec<ValueInfo>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) inputs: Vec<ValueId>,
    pub(crate) outputs: Vec<Output>,
}

/// One operator applied to values.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it computes.
    pub op: Op,
    /// Its operands.
    pub inputs: Vec<ValueId>,
    /// Its results.
    pub outputs: Vec<ValueId>,
}

/// What a graph knows about a value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueInfo {
    /// Its type.
    pub ty: Type,
    /// Where it comes from.
    pub def: Def,
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
    /// Where it lives, if that was said.
    pub placement: Option<Box<Placement>>,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Def {
    /// It is this input of the graph.
    Input(usize),
    /// It is this result of a node.
    Node(NodeId, usize),
}

/// A result of the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// The value.
    pub value: ValueId,
    /// The input in whose buffer it lives: state that is updated in place.
    pub lives_in: Option<usize>,
}

/// The parts of a graph, with nothing checked; for those who build graphs from outside and verify them.
#[derive(Clone, Debug)]
pub struct GraphParts {
    /// The name.
    pub name: String,
    /// What is known about symbols.
    pub facts: Facts,
    /// The value arena.
    pub values: Vec<ValueInfo>,
    /// The nodes, in order.
    pub nodes: Vec<Node>,
    /// The inputs.
    pub inputs: Vec<ValueId>,
    /// The outputs.
    pub outputs: Vec<Output>,
}

impl Node {
    /// Calls `visit` with every symbol that the node's attributes, sub-graphs or result types mention.
    pub fn visit_symbols<'a>(&self, ty: &impl Fn(ValueId) -> &'a Type, visit: &mut impl FnMut(&Symbol)) {
        for v in &self.outputs {
            ty(*v).visit_dims(&mut |d| d.visit_symbols(visit));
        }
        for (_, attr) in self.op.attrs() {
            attr.visit_dims(&mut |d| d.visit_symbols(&mut |s| visit(s)));
        }
        for (_, body) in self.op.subgraphs() {
            body.visit_symbols(visit);
        }
    }
}

impl Graph {
    /// Calls `visit` with every symbol that types or attributes mention, as often as they do.
    pub fn visit_symbols(&self, visit: &mut dyn FnMut(&Symbol)) {
        for v in &self.inputs {
            self.ty(*v).visit_dims(&mut |d| d.visit_symbols(&mut |s| visit(s)));
        }
        for node in &self.nodes {
            node.visit_symbols(&|v| self.ty(v), &mut |s| visit(s));
        }
    }

    /// From parts, unchecked; call `verify` on the result.
    pub fn from_parts(parts: GraphParts) -> Graph {
        let GraphParts { name, facts, values, nodes, inputs, outputs } = parts;
        Graph { name, facts, values, nodes, inputs, outputs }
    }

    /// The parts.
    pub fn into_parts(self) -> GraphParts {
        let Graph { name, facts, values, nodes, inputs, outputs } = self;
        GraphParts { name, facts, values, nodes, inputs, outputs }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is known about symbols.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The nodes, in an order in which they can be run.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The ids of all nodes, in order.
    pub fn node_ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::new)
    }

    /// All values.
    pub fn values(&self) -> &[ValueInfo] {
        &self.values
    }

    /// What is known about a value.
    pub fn value(&self, id: ValueId) -> &ValueInfo {
        &self.values[id.index()]
    }

    /// The type of a value.
    pub fn ty(&self, id: ValueId) -> &Type {
        &self.values[id.index()].ty
    }

    /// The inputs.
    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    /// The outputs.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// The name of a value: its own, or its number.
    pub fn value_name(&self, id: ValueId) -> String {
        match self.values.get(id.index()).and_then(|v| v.name.as_ref()) {
            Some(name) => name.to_string(),
            None => id.index().to_string(),
        }
    }

    /// The place of a node, for errors.
    pub fn place(&self, node: &Node) -> Place {
        Place::Node {
            graph: self.name.clone(),
            op: node.op.name().to_string(),
            result: node.outputs.first().map_or_else(|| "-".to_string(), |v| self.value_name(*v)),
        }
    }

    /// The node that defines a value, if it is not an input.
    pub fn defining(&self, id: ValueId) -> Option<&Node> {
        match self.value(id).def {
            Def::Node(node, _) => Some(self.node(node)),
            Def::Input(_) => None,
        }
    }

    /// How often each value is used, as an operand or as an output.
    pub fn use_counts(&self) -> Vec<u32> {
        let mut counts = vec![0u32; self.values.len()];
        for v in self.nodes.iter().flat_map(|n| &n.inputs).chain(self.outputs.iter().map(|o| &o.value)) {
            counts[v.index()] += 1;
        }
        counts
    }

    /// How many nodes, those of sub-graphs included.
    pub fn total_nodes(&self) -> usize {
        let inner = |n: &Node| n.op.subgraphs().iter().map(|(_, g)| g.total_nodes()).sum::<usize>();
        self.nodes.iter().map(|n| 1 + inner(n)).sum()
    }

    /// The same graph as a body under other facts: it knows those, and what its own definitions say.
    pub(crate) fn under(&self, around: &Facts) -> Result<Graph> {
        let mut graph = self.clone();
        let mut facts = around.clone();
        for node in &mut graph.nodes {
            let types: Vec<&Type> = node.inputs.iter().map(|v| &graph.values[v.index()].ty).collect();
            for (symbol, max) in node.op.defines(&types) {
                facts.add(Fact::new(symbol, Relation::Le, max))?;
            }
            node.op = node.op.under(&facts)?;
        }
        graph.facts = facts;
        Ok(graph)
    }

    /// The same graph with every dimension expression replaced, in types, attributes and sub-graphs.
    pub fn map_dims(&self, registry: &Registry, map: &impl Fn(&Dim) -> Dim) -> Result<Graph> {
        let mut graph = self.clone();
        for value in &mut graph.values {
            value.ty = value.ty.map_dims(map);
        }
        for node in &mut graph.nodes {
            node.op = node.op.map_dims(registry, map)?;
        }
        Ok(graph)
    }

    /// The graph for certain sizes: symbols that its inputs mention, by name, become numbers.
    ///
    /// ```
    /// # use lawson_graph::Graph;
    /// let text = "lawson 1 graph @f(%x: f32[N, M]) -> (y: f32[N, M]) where N % 2 == 0 { %y = neg %x return %y }";
    /// let fixed = Graph::parse(text)?.with_sizes(&[("N".to_string(), 4)].into())?;
    /// assert_eq!(fixed.ty(fixed.inputs()[0]).to_string(), "f32[4, M]");
    /// assert!(Graph::parse(text)?.with_sizes(&[("N".to_string(), 3)].into()).is_err());
    /// # Ok::<(), lawson_graph::Error>(())
    /// ```
    pub fn with_sizes(&self, sizes: &BTreeMap<String, usize>) -> Result<Graph> {
        if sizes.is_empty() {
            return Ok(self.clone());
        }
        let mut known: Vec<String> = Vec::new();
        for v in &self.inputs {
            self.ty(*v).visit_dims(&mut |d| d.visit_symbols(&mut |s| known.push(s.name().to_string())));
        }
        if let Some(name) = sizes.keys().find(|name| !known.contains(name)) {
            return Err(no_such_size(name, known.iter().map(String::as_str)));
        }
        let number = |s: &Symbol| sizes.get(s.name()).map(|n| Dim::from(*n));
        let mut graph = self.map_dims(Registry::standard(), &|d| d.substitute(&number))?;
        let mut facts = Facts::new();
        for f in self.facts.written() {
            let fact = Fact::new(f.left.substitute(&number), f.relation, f.right.substitute(&number));
            match fact.holds(&|_| None) {
                Some(true) => {}
                Some(false) => {
                    let values: Vec<String> =
                        sizes.iter().map(|(name, n)| format!("`{name}` is {n}")).collect();
                    let said = format!("the fact `{f}` does not hold where {}", values.join(" and "));
                    return Err(Error::new(Code::Binding, said)
                        .help("the graph was made for sizes of which this holds: fix others"));
                }
                None => facts.add(fact)?,
            }
        }
        graph.facts = facts;
        // Bodies know what is known around them.
        let graph = graph.under(&graph.facts)?;
        graph.verify()?;
        Ok(graph)
    }
}

/// That no size has a name.
pub fn no_such_size<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Error {
    let mut known: Vec<&str> = known.collect();
    known.dedup();
    let error = Error::new(Code::UnknownName, format!("no input has an open size `{name}`"));
    match nearest(name, known.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => error.help("all its sizes are numbers"),
        None => error.help(format!("there are: {}", known.join(", "))),
    }
}
