//! Composites defined as graphs, in the text form or by a user: calling one means inlining its graph.
//!
//! The function's own symbols are parameters: at a call they are bound to the operands' dimensions, and the facts
//! that the function states about them must hold there.

use super::{Composite, CompositeRef, Registry};
use crate::attr::{Attr, AttrReader};
use crate::builder::Builder;
use crate::dim::{Dim, Fact, Facts, Symbol};
use crate::error::{Code, Error, Place, Result};
use crate::graph::{Graph, ValueId};
use crate::op::{Infer, same_type};
use crate::types::Type;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A composite whose decomposition is a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    graph: Arc<Graph>,
    /// How many nodes a call expands to in the end, functions that it calls included.
    expanded: u64,
}

/// The most nodes that one call may expand to.
const MAX_EXPANDED: u64 = 1 << 22;

fn expanded_nodes(graph: &Graph) -> u64 {
    let nodes = graph.nodes().iter().map(|node| {
        let inner: u64 = node.op.subgraphs().iter().map(|(_, g)| expanded_nodes(g)).sum();
        let call = node.op.composite::<Function>().map_or(1, |f| f.expanded);
        call.saturating_add(inner)
    });
    nodes.fold(0, u64::saturating_add)
}

impl Function {
    /// A composite named after the graph.
    pub fn new(graph: Graph) -> Function {
        Function { expanded: expanded_nodes(&graph), graph: Arc::new(graph) }
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The result types of a call: the function's own, with its symbols bound. The body was checked when it was
    /// built, so a call costs the same however much it expands to.
    pub(crate) fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        if self.expanded > MAX_EXPANDED {
            let message = format!("a call of `{}` expands to more than {MAX_EXPANDED} nodes", cx.op);
            return Err(Error::new(Code::Budget, message).help("functions that call one another multiply"));
        }
        let bound = self.bind(cx.facts, cx.inputs)?;
        let outputs = self.graph.outputs().iter();
        outputs
            .map(|output| {
                let ty = self.graph.ty(output.value);
                let mut inner = None;
                ty.visit_dims(&mut |d| {
                    d.visit_symbols(&mut |s| {
                        if !bound.contains_key(s) && self.defines(s) {
                            inner = Some(s.clone());
                        }
                    });
                });
                match inner {
                    Some(s) => Err(Error::new(
                        Code::UnknownSymbol,
                        format!(
                            "output `{}` of `{}` has the size `{s}`, which is known only inside",
                            output.name, cx.op
                        ),
                    )),
                    None => Ok(ty.map_dims(&|d| d.substitute(&|s| bound.get(s).cloned()))),
                }
            })
            .collect()
    }

    /// Whether a node of the body defines the symbol when it runs.
    fn defines(&self, symbol: &Symbol) -> bool {
        self.graph.nodes().iter().any(|n| {
            let types: Vec<&Type> = n.inputs.iter().map(|v| self.graph.ty(*v)).collect();
            n.op.defines(&types).iter().any(|(s, _)| s == symbol)
        })
    }

    /// Binds the function's symbols from the operands' dimensions.
    fn bind(&self, facts: &Facts, inputs: &[&Type]) -> Result<BTreeMap<Symbol, Dim>> {
        let name = self.graph.name();
        if inputs.len() != self.graph.inputs().len() {
            return Err(Error::new(
                Code::OperandCount,
                format!("`{name}` takes {} operands, but {} came", self.graph.inputs().len(), inputs.len()),
            ));
        }
        let mut bound: BTreeMap<Symbol, Dim> = BTreeMap::new();
        for (have, want) in inputs.iter().zip(self.graph.inputs()) {
            if let (Type::Tensor(have), Type::Tensor(want)) = (have, self.graph.ty(*want)) {
                for (h, w) in have.shape.iter().zip(want.shape.iter()) {
                    if let Some(symbol) = w.as_symbol() {
                        bound.entry(symbol.clone()).or_insert_with(|| h.clone());
                    }
                }
            }
        }
        for (index, (have, want)) in inputs.iter().zip(self.graph.inputs()).enumerate() {
            let expected = self.graph.ty(*want).map_dims(&|d| d.substitute(&|s| bound.get(s).cloned()));
            if !same_type(facts, have, &expected) {
                return Err(Error::new(
                    Code::DimMismatch,
                    format!("`{name}` takes {} here, that is {expected}", self.graph.ty(*want)),
                )
                .at(Place::Operand { op: name.to_string(), index, what: have.to_string() }));
            }
        }
        for fact in self.graph.facts().written() {
            // What the body's own definitions say is not the caller's business.
            let mut inner = false;
            for side in [&fact.left, &fact.right] {
                side.visit_symbols(&mut |s| inner |= self.defines(s));
            }
            if inner {
                continue;
            }
            let side = |d: &Dim| d.substitute(&|s| bound.get(s).cloned());
            let holds = facts.implies(&Fact::new(side(&fact.left), fact.relation, side(&fact.right)));
            if !holds {
                return Err(Error::new(
                    Code::Fact,
                    format!("`{name}` needs `{fact}`, which is not known to hold here"),
                ));
            }
        }
        Ok(bound)
    }
}

impl Composite for Function {
    fn name(&self) -> &str {
        self.graph.name()
    }

    fn attrs(&self) -> Vec<(&'static str, Attr)> {
        Vec::new()
    }

    fn with_attrs(&self, _reader: &mut AttrReader) -> Result<CompositeRef> {
        Ok(Arc::new(self.clone()))
    }

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let types: Vec<&Type> = inputs.iter().map(|v| b.ty(*v)).collect();
        let mut bound = self.bind(b.facts(), &types)?;
        // Symbols that the body defines are its own: each call gives them names that are free where it stands.
        for node in self.graph.nodes() {
            let types: Vec<&Type> = node.inputs.iter().map(|v| self.graph.ty(*v)).collect();
            for (symbol, _) in node.op.defines(&types) {
                bound.insert(symbol.clone(), Dim::from(b.facts().fresh(&symbol)));
            }
        }
        b.inline(&self.graph, inputs, Registry::standard(), &|d| d.substitute(&|s| bound.get(s).cloned()))
    }

    fn same(&self, other: &dyn Composite) -> bool {
        other.as_any().downcast_ref::<Function>().is_some_and(|f| f == self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
