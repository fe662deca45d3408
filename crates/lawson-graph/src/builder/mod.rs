//! Building graphs: every operator is checked as it is added, and errors say which operand, what was expected and
//! what came.
//!
//! A `Builder` makes a new graph (`Builder::new` … `finish`), the body of a loop or branch (`sub_graph`), or, over
//! an existing graph, the new nodes of a patch (`Builder::over` … `into_patch`, see `patch.rs`). Conveniences that
//! insert broadcasts or pick constants are in `sugar.rs`.

mod composites;
mod sugar;

pub use sugar::Keep;

use crate::composite::{CompositeDef, Registry};
use crate::dim::{Dim, Fact, Facts, Relation, Symbol};
use crate::error::{Code, Error, Result, Side};
use crate::graph::{Def, Graph, Node, NodeId, Output, ValueId, ValueInfo};
use crate::op::{Infer, Op, check_shape};
use crate::tensor::HostTensor;
use crate::types::{Placement, Type};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// Builds a graph node by node.
///
/// ```
/// use lawson_graph::{Builder, DType, Type};
/// let mut b = Builder::new("double");
/// let x = b.input("x", Type::tensor(DType::F32, ["N"]))?;
/// let y = b.add(x, x)?;
/// b.output("y", y)?;
/// let graph = b.finish()?;
/// assert_eq!(graph.nodes().len(), 1);
/// # Ok::<(), lawson_graph::Error>(())
/// ```
#[derive(Debug)]
pub struct Builder<'g> {
    base: Option<&'g Graph>,
    name: String,
    facts: Cow<'g, Facts>,
    values: Vec<ValueInfo>,
    nodes: Vec<Node>,
    inputs: Vec<ValueId>,
    outputs: Vec<Output>,
    names: HashSet<Arc<str>>,
    /// Symbols defined by nodes here or in the graphs around.
    defined: HashSet<Symbol>,
}

impl<'g> Builder<'g> {
    /// A builder of a new graph.
    pub fn new(name: impl Into<String>) -> Builder<'static> {
        Builder::with_facts(name, Cow::Owned(Facts::new()))
    }

    fn with_facts(name: impl Into<String>, facts: Cow<'_, Facts>) -> Builder<'_> {
        Builder {
            base: None,
            name: name.into(),
            facts,
            values: Vec::new(),
            nodes: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            names: HashSet::new(),
            defined: HashSet::new(),
        }
    }

    /// A builder whose graph is thrown away, under known facts.
    pub(crate) fn scratch<'f>(name: &str, facts: &'f Facts) -> Builder<'f> {
        Builder::with_facts(name, Cow::Borrowed(facts))
    }

    /// A builder of nodes on top of an existing graph, whose values it may use.
    pub fn over(base: &'g Graph) -> Builder<'g> {
        let mut b = Builder::with_facts(base.name(), Cow::Borrowed(base.facts()));
        b.base = Some(base);
        b
    }

    /// A builder of a sub-graph: it may use the symbols known here, but not the values.
    pub fn sub_graph(&self, label: &str) -> Builder<'static> {
        let mut b = Builder::with_facts(label, Cow::Owned(self.facts.clone().into_owned()));
        b.defined = self.defined.clone();
        b
    }

    /// What is known about symbols.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Whether a symbol is defined by a node, so that only a run tells its value.
    pub fn is_defined(&self, symbol: &Symbol) -> bool {
        self.defined.contains(symbol)
    }

    /// Adds something known about the symbols.
    pub fn fact(&mut self, left: impl Into<Dim>, relation: Relation, right: impl Into<Dim>) -> Result<()> {
        self.facts.to_mut().add(Fact::new(left, relation, right))
    }

    /// Replaces what is known by what a text says about a sub-graph.
    pub(crate) fn replace_facts(&mut self, facts: Facts) {
        self.facts = Cow::Owned(facts);
    }

    fn offset(&self) -> usize {
        self.base.map_or(0, |g| g.values.len())
    }

    /// What is known about a value.
    pub fn value(&self, id: ValueId) -> &ValueInfo {
        match self.base {
            Some(base) if id.index() < base.values.len() => base.value(id),
            _ => &self.values[id.index() - self.offset()],
        }
    }

    /// The type of a value.
    pub fn ty(&self, id: ValueId) -> &Type {
        &self.value(id).ty
    }

    /// The node that defines a value, if it is not an input.
    pub fn defining(&self, id: ValueId) -> Option<&Node> {
        match self.value(id).def {
            Def::Input(_) => None,
            Def::Node(node, _) => Some(match self.base {
                Some(base) if node.index() < base.nodes.len() => base.node(node),
                Some(base) => &self.nodes[node.index() - base.nodes.len()],
                None => &self.nodes[node.index()],
            }),
        }
    }

    /// The nodes added so far, in order; over an existing graph, only the new ones.
    pub fn added(&self) -> &[Node] {
        &self.nodes
    }

    fn knows(&self, id: ValueId) -> bool {
        id.index() < self.offset() + self.values.len()
    }

    fn claim_name(&mut self, name: &str) -> Result<Arc<str>> {
        let name: Arc<str> = Arc::from(name);
        if !self.names.insert(name.clone()) {
            return Err(Error::new(Code::DuplicateName, format!("there is already a value `%{name}`")));
        }
        Ok(name)
    }

    /// Adds an input.
    pub fn input(&mut self, name: &str, ty: impl Into<Type>) -> Result<ValueId> {
        if self.base.is_some() {
            return Err(Error::internal("a patch cannot add inputs"));
        }
        let ty = ty.into();
        if let Type::Tensor(t) = &ty {
            let place = || crate::error::Place::Port { side: Side::Input, name: name.to_string() };
            check_shape(&t.shape).map_err(|e| e.at(place()))?;
            for d in t.shape.iter() {
                if !self.facts.is_nonnegative(d) {
                    return Err(Error::new(
                        Code::OutOfBounds,
                        format!("the dimension `{d}` may be negative"),
                    )
                    .at(place())
                    .help(format!("say that it never is: `where {d} >= 0`")));
                }
            }
        }
        let name = self.claim_name(name)?;
        let id = ValueId::new(self.values.len());
        self.values.push(ValueInfo {
            ty,
            def: Def::Input(self.inputs.len()),
            name: Some(name),
            placement: None,
        });
        self.inputs.push(id);
        Ok(id)
    }

    /// Adds an output.
    pub fn output(&mut self, name: &str, value: ValueId) -> Result<()> {
        self.push_output(name, value, None)
    }

    /// Adds an output that lives in the buffer of an input: state.
    pub fn output_in(&mut self, name: &str, value: ValueId, input: ValueId) -> Result<()> {
        let Some(index) = self.inputs.iter().position(|i| *i == input) else {
            return Err(Error::new(
                Code::VerifyState,
                format!("output `{name}` lives in a value that is not an input"),
            ));
        };
        self.push_output(name, value, Some(index))
    }

    fn push_output(&mut self, name: &str, value: ValueId, lives_in: Option<usize>) -> Result<()> {
        if self.outputs.iter().any(|o| o.name == name) {
            return Err(Error::new(Code::DuplicateName, format!("there is already an output `{name}`"))
                .help("outputs have different names: rename or remove one of them"));
        }
        if !self.knows(value) {
            return Err(Error::new(
                Code::VerifyReference,
                format!("output `{name}` is not a value of this graph"),
            ));
        }
        self.outputs.push(Output { name: name.to_string(), value, lives_in });
        Ok(())
    }

    /// Adds an operator and returns its results.
    pub fn op(&mut self, op: Op, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        if let Some(v) = inputs.iter().find(|v| !self.knows(**v)) {
            return Err(Error::new(Code::VerifyReference, format!("{v:?} is not a value of this graph")));
        }
        let types: Vec<&Type> = inputs.iter().map(|v| self.ty(*v)).collect();
        let results = op.infer(Infer { op: op.name(), facts: &self.facts, inputs: &types })?;
        let defines = op.defines(&types);
        for (symbol, max) in defines {
            if !self.defined.insert(symbol.clone()) || self.input_symbols().any(|s| *s == symbol) {
                return Err(Error::new(
                    Code::DuplicateName,
                    format!("the symbol `{symbol}` is already defined"),
                ));
            }
            self.facts.to_mut().add(Fact::new(symbol, Relation::Le, max))?;
        }
        let node = NodeId::new(self.base.map_or(0, |g| g.nodes.len()) + self.nodes.len());
        let offset = self.offset();
        let mut outputs = Vec::with_capacity(results.len());
        for (i, ty) in results.into_iter().enumerate() {
            outputs.push(ValueId::new(offset + self.values.len()));
            self.values.push(ValueInfo { ty, def: Def::Node(node, i), name: None, placement: None });
        }
        self.nodes.push(Node { op, inputs: inputs.to_vec(), outputs: outputs.clone() });
        Ok(outputs)
    }

    fn input_symbols(&self) -> impl Iterator<Item = &Symbol> {
        let mut symbols = Vec::new();
        for input in &self.inputs {
            self.ty(*input).visit_dims(&mut |d| d.visit_symbols(&mut |s| symbols.push(s)));
        }
        symbols.into_iter()
    }

    /// Adds an operator with one result and returns it.
    pub fn op1(&mut self, op: Op, inputs: &[ValueId]) -> Result<ValueId> {
        let name = op.name().to_string();
        match self.op(op, inputs)?.as_slice() {
            [result] => Ok(*result),
            results => Err(Error::new(
                Code::OperandCount,
                format!("`{name}` has {} results, not one", results.len()),
            )),
        }
    }

    /// Adds a composite with one result and returns it.
    pub fn composite<T: CompositeDef>(&mut self, composite: T, inputs: &[ValueId]) -> Result<ValueId> {
        self.op1(Op::Composite(Arc::new(composite)), inputs)
    }

    /// Adds a constant.
    pub fn constant(&mut self, tensor: HostTensor) -> Result<ValueId> {
        self.op1(Op::Constant(tensor), &[])
    }

    /// Names a value; names are unique in a graph.
    pub fn name(&mut self, value: ValueId, name: &str) -> Result<()> {
        let claimed = self.claim_name(name)?;
        self.info_mut(value)?.name = Some(claimed);
        Ok(())
    }

    /// Says where a value lives.
    pub fn place(&mut self, value: ValueId, placement: Placement) -> Result<()> {
        self.info_mut(value)?.placement = (!placement.is_unsaid()).then(|| Box::new(placement));
        Ok(())
    }

    /// Replaces the inferred type by one that is equal under the facts (the way a text writes it).
    pub(crate) fn retype(&mut self, value: ValueId, ty: Type) -> Result<()> {
        self.info_mut(value)?.ty = ty;
        Ok(())
    }

    pub(crate) fn info_mut(&mut self, value: ValueId) -> Result<&mut ValueInfo> {
        let offset = self.offset();
        value
            .index()
            .checked_sub(offset)
            .and_then(|i| self.values.get_mut(i))
            .ok_or_else(|| Error::new(Code::VerifyReference, format!("{value:?} is not a value built here")))
    }

    /// Adds the nodes of a graph, its inputs being `inputs` and its dimensions mapped; returns its outputs' values.
    pub fn inline(
        &mut self,
        graph: &Graph,
        inputs: &[ValueId],
        registry: &Registry,
        map: &impl Fn(&Dim) -> Dim,
    ) -> Result<Vec<ValueId>> {
        let mut values: Vec<Option<ValueId>> = vec![None; graph.values.len()];
        for (inner, outer) in graph.inputs.iter().zip(inputs) {
            values[inner.index()] = Some(*outer);
        }
        let find = |values: &[Option<ValueId>], v: &ValueId| {
            values
                .get(v.index())
                .copied()
                .flatten()
                .ok_or_else(|| Error::internal("a graph to inline is not in order"))
        };
        for node in &graph.nodes {
            let operands: Vec<ValueId> =
                node.inputs.iter().map(|v| find(&values, v)).collect::<Result<_>>()?;
            let results = self.op(node.op.map_dims(registry, map)?.under(&self.facts)?, &operands)?;
            for (inner, outer) in node.outputs.iter().zip(results) {
                if let Some(placement) = &graph.value(*inner).placement {
                    self.info_mut(outer)?.placement.get_or_insert_with(|| placement.clone());
                }
                values[inner.index()] = Some(outer);
            }
        }
        graph.outputs.iter().map(|o| find(&values, &o.value)).collect()
    }

    /// The graph, verified.
    pub fn finish(self) -> Result<Graph> {
        let graph = self.finish_unverified()?;
        graph.verify()?;
        Ok(graph)
    }

    /// The graph of a loop or branch, which is verified with the graph around it.
    pub fn finish_sub_graph(self) -> Result<Graph> {
        self.finish_unverified()
    }

    pub(crate) fn finish_unverified(self) -> Result<Graph> {
        if self.base.is_some() {
            return Err(Error::internal("a builder over a graph gives a patch"));
        }
        Ok(Graph {
            name: self.name,
            facts: self.facts.into_owned(),
            values: self.values,
            nodes: self.nodes,
            inputs: self.inputs,
            outputs: self.outputs,
        })
    }

    /// The new nodes and values, with the facts that they brought.
    pub(crate) fn into_additions(self) -> (Vec<ValueInfo>, Vec<Node>, Facts) {
        (self.values, self.nodes, self.facts.into_owned())
    }
}
