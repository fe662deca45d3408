//! A graph without composites that remembers which operator each primitive is part of.
//!
//! In: a graph; out: a [`Decomposed`]. Passes rewrite across operators and forget where nodes came from; this is for whoever has to
//! know. Primitives stand where their composite stood, so that the order of nodes stays one in which they can run.

use crate::builder::Builder;
use crate::error::{Code, Error, Result};
use crate::graph::{Def, Graph, GraphParts, Node, NodeId, Output, ValueId, ValueInfo};
use crate::op::Op;
use std::ops::Range;
use std::sync::Arc;

/// A graph whose composites are replaced by what they are made of, also in the bodies of its loops and branches.
#[derive(Clone, Debug)]
pub struct Decomposed {
    /// The graph.
    pub graph: Graph,
    /// For each of its nodes, the node of the given graph that it is part of.
    pub part_of: Vec<NodeId>,
}

/// How many nodes any graph may expand to, and how many more for each of its own.
const NODES: usize = 1 << 18;
const NODES_PER_NODE: usize = 256;

/// What a composite was replaced by: nodes of a builder, and the values that stand for its results.
struct Replacement {
    nodes: Range<usize>,
    results: Vec<ValueId>,
}

impl Graph {
    /// The graph with every composite replaced by its decomposition.
    ///
    /// ```
    /// # use lawson_graph::Graph;
    /// let graph = Graph::parse(
    ///     "lawson 1
    ///      graph @f(%x: f32[2, 3]) -> (y: f32[2, 3]) { %a = neg %x %y = softmax %a {axis = 1} return %y }",
    /// )?;
    /// let apart = graph.decomposed()?;
    /// assert_eq!(apart.part_of[0].index(), 0);
    /// assert!(apart.part_of[1..].iter().all(|n| n.index() == 1));
    /// # Ok::<(), lawson_graph::Error>(())
    /// ```
    pub fn decomposed(&self) -> Result<Decomposed> {
        let most = NODES + NODES_PER_NODE * self.nodes.len();
        let mut graph = self.with_bodies_decomposed()?;
        let mut part_of: Vec<NodeId> = self.node_ids().collect();
        // Composites are made of others, but end of themselves.
        while graph.nodes.iter().any(|n| n.op.is_composite()) {
            let (next, from) = graph.decompose_once()?;
            if next.nodes.len() > most {
                let message = format!("the composites of `{}` expand to more than {most} nodes", self.name());
                return Err(
                    Error::new(Code::Budget, message).help("composites that call one another multiply")
                );
            }
            part_of = from.into_iter().map(|n| part_of[n.index()]).collect();
            graph = next.with_bodies_decomposed()?;
        }
        Ok(Decomposed { graph, part_of })
    }

    fn with_bodies_decomposed(&self) -> Result<Graph> {
        let mut graph = self.clone();
        for node in &mut graph.nodes {
            let bodies = node.op.subgraphs();
            if bodies.iter().all(|(_, body)| {
                body.nodes.iter().all(|n| !n.op.is_composite() && n.op.subgraphs().is_empty())
            }) {
                continue;
            }
            let bodies = bodies.into_iter().map(|(_, body)| Ok(Arc::new(body.decomposed()?.graph)));
            node.op = node.op.with_subgraphs(bodies.collect::<Result<_>>()?);
        }
        Ok(graph)
    }

    /// The graph with each composite replaced once, and the node that each new one comes from.
    fn decompose_once(&self) -> Result<(Graph, Vec<NodeId>)> {
        let mut builder = Builder::over(self);
        let mut replaced: Vec<Option<Replacement>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            replaced.push(match &node.op {
                Op::Composite(c) => {
                    let first = builder.added().len();
                    let results = c.decompose(&mut builder, &node.inputs)?;
                    node.outputs.first().map_or(Ok(()), |v| builder.follow(*v, first))?;
                    Some(Replacement { nodes: first..builder.added().len(), results })
                }
                _ => None,
            });
        }
        let (values, nodes, facts) = builder.into_additions();
        let mut copy = Copy {
            base: self,
            values,
            nodes,
            moved: vec![None; self.values.len()],
            parts: GraphParts {
                name: self.name.clone(),
                facts,
                values: Vec::new(),
                nodes: Vec::new(),
                inputs: Vec::new(),
                outputs: Vec::new(),
            },
            part_of: Vec::new(),
        };
        copy.moved.resize(self.values.len() + copy.values.len(), None);
        copy.run(replaced)?;
        Ok((Graph::from_parts(copy.parts), copy.part_of))
    }
}

/// A graph that is copied into a new one, with what its composites are made of.
struct Copy<'g> {
    base: &'g Graph,
    /// What the builder added: its values follow those of the graph in number.
    values: Vec<ValueInfo>,
    nodes: Vec<Node>,
    /// The new number of each value, once it has one.
    moved: Vec<Option<ValueId>>,
    parts: GraphParts,
    part_of: Vec<NodeId>,
}

impl Copy<'_> {
    fn run(&mut self, replaced: Vec<Option<Replacement>>) -> Result<()> {
        for (n, v) in self.base.inputs.iter().enumerate() {
            let id = self.value(*v, Def::Input(n));
            self.parts.inputs.push(id);
        }
        for (n, replacement) in replaced.into_iter().enumerate() {
            let from = NodeId::new(n);
            let Some(Replacement { nodes, results }) = replacement else {
                self.node(self.base.node(from).clone(), from)?;
                continue;
            };
            for added in nodes {
                self.node(self.nodes[added].clone(), from)?;
            }
            for (old, new) in self.base.node(from).outputs.iter().zip(results) {
                let new = self.found(new)?;
                self.moved[old.index()] = Some(new);
                let (info, old) = (&mut self.parts.values[new.index()], self.base.value(*old));
                info.name = info.name.take().or_else(|| old.name.clone());
                info.placement = info.placement.take().or_else(|| old.placement.clone());
            }
        }
        for output in &self.base.outputs {
            let value = self.found(output.value)?;
            self.parts.outputs.push(Output { value, ..output.clone() });
        }
        Ok(())
    }

    fn found(&self, v: ValueId) -> Result<ValueId> {
        let known = self.moved.get(v.index()).copied().flatten();
        known.ok_or_else(|| Error::internal("a decomposition uses a value before it is there"))
    }

    fn value(&mut self, v: ValueId, def: Def) -> ValueId {
        let info = match v.index().checked_sub(self.base.values.len()) {
            None => self.base.value(v),
            Some(added) => &self.values[added],
        };
        self.parts.values.push(ValueInfo { def, ..info.clone() });
        let id = ValueId::new(self.parts.values.len() - 1);
        self.moved[v.index()] = Some(id);
        id
    }

    fn node(&mut self, node: Node, from: NodeId) -> Result<()> {
        let id = NodeId::new(self.parts.nodes.len());
        let inputs = node.inputs.iter().map(|v| self.found(*v)).collect::<Result<_>>()?;
        let outputs =
            node.outputs.iter().enumerate().map(|(n, v)| self.value(*v, Def::Node(id, n))).collect();
        self.parts.nodes.push(Node { op: node.op, inputs, outputs });
        self.part_of.push(from);
        Ok(())
    }
}
