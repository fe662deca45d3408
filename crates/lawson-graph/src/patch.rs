//! Patches: what a pass wants changed, as data.
//!
//! A patch over a graph adds nodes, replaces uses of values by other values, and removes nodes. Applying it gives a
//! new graph with the same signature: order restored, ids compact. Replaced nodes vanish when nothing of theirs is
//! left in use; all other nodes stay until `remove` names them.

use crate::builder::Builder;
use crate::dim::{Facts, Symbol};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Def, Graph, Node, NodeId, Output, ValueId, ValueInfo};
use crate::op::{Op, same_type};
use crate::types::{Shape, Type};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A change to a graph.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    values: Vec<ValueInfo>,
    nodes: Vec<Node>,
    facts: Option<Facts>,
    /// By value: what replaces it.
    replaced: Vec<Option<ValueId>>,
    removed: HashSet<NodeId>,
}

impl<'g> Builder<'g> {
    /// The new nodes as a patch that so far replaces nothing.
    pub fn into_patch(self) -> Patch {
        let (values, nodes, facts) = self.into_additions();
        Patch { values, nodes, facts: Some(facts), ..Patch::default() }
    }
}

impl Patch {
    /// A patch that changes nothing yet.
    pub fn new() -> Patch {
        Patch::default()
    }

    /// Uses of `old` become uses of `new`. Their types must be equal under the graph's facts.
    pub fn replace(&mut self, old: ValueId, new: ValueId) -> &mut Patch {
        if old != new {
            if self.replaced.len() <= old.index() {
                self.replaced.resize(old.index() + 1, None);
            }
            self.replaced[old.index()] = Some(new);
        }
        self
    }

    /// The node goes, with its values; nothing may use them any more.
    pub fn remove(&mut self, node: NodeId) -> &mut Patch {
        self.removed.insert(node);
        self
    }

    /// Whether applying it would change nothing.
    pub fn is_empty(&self) -> bool {
        self.replacements().next().is_none() && self.removed.is_empty()
    }

    fn replacements(&self) -> impl Iterator<Item = (ValueId, ValueId)> {
        self.replaced.iter().enumerate().filter_map(|(i, new)| new.map(|new| (ValueId::new(i), new)))
    }

    fn replacement(&self, v: ValueId) -> Option<ValueId> {
        self.replaced.get(v.index()).copied().flatten()
    }

    fn replaces_all_of(&self, node: &Node) -> bool {
        !node.outputs.is_empty() && node.outputs.iter().all(|v| self.replacement(*v).is_some())
    }

    /// The value that stands for `v` after all replacements.
    fn resolve(&self, v: ValueId) -> Result<ValueId> {
        let mut at = v;
        for _ in 0..=self.replaced.len() {
            match self.replacement(at) {
                Some(next) => at = next,
                None => return Ok(at),
            }
        }
        Err(Error::internal(format!("a patch replaces {v:?} in a circle")))
    }
}

impl Graph {
    /// The graph after a patch. Fails, as a bug of whoever made the patch, if types or order cannot be kept.
    pub fn apply(self, mut patch: Patch) -> Result<Graph> {
        let info = |v: ValueId| match v.index().checked_sub(self.values.len()) {
            None => self.values.get(v.index()),
            Some(i) => patch.values.get(i),
        };
        let facts = patch.facts.clone().unwrap_or_else(|| self.facts.clone());
        for (old, new) in patch.replacements() {
            let (Some(a), Some(b)) = (info(old), info(new)) else {
                return Err(Error::internal("a patch names a value that does not exist"));
            };
            if !same_type(&facts, &a.ty, &b.ty) {
                return Err(Error::internal(format!("a patch replaces {} by {}", a.ty, b.ty)));
            }
        }
        // A value that takes the place of a named one, and has no name, takes the name too.
        let mut inherited = HashMap::new();
        for node in self.nodes.iter().filter(|n| patch.replaces_all_of(n)) {
            for old in &node.outputs {
                let new = patch.resolve(*old)?;
                if let Some(name) = &self.value(*old).name
                    && info(new).is_some_and(|i| i.name.is_none())
                {
                    inherited.entry(new).or_insert_with(|| name.clone());
                }
            }
        }
        // A node depends on the definitions of the symbols that it mentions, too.
        let mut symbol_defs = HashMap::new();
        let all_nodes = self.nodes.iter().chain(&patch.nodes);
        for (index, node) in all_nodes.enumerate().filter(|(_, n)| n.op.may_define()) {
            let types: Vec<&Type> = node.inputs.iter().filter_map(|v| info(*v)).map(|i| &i.ty).collect();
            symbol_defs.extend(node.op.defines(&types).into_iter().map(|(s, _)| (s, index)));
        }
        let replaced_whole: Vec<bool> = self.nodes.iter().map(|n| patch.replaces_all_of(n)).collect();
        // Everything is moved from the old graph and the patch into the new one.
        let Graph { name, mut values, mut nodes, inputs, outputs, .. } = self;
        values.append(&mut patch.values);
        nodes.append(&mut patch.nodes);
        let graph = Graph {
            name,
            facts,
            values: Vec::with_capacity(values.len()),
            nodes: Vec::with_capacity(nodes.len()),
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        Rebuild {
            inherited,
            symbol_defs,
            patch: &patch,
            new_values: vec![None; values.len()],
            state: vec![State::Unseen; nodes.len()],
            stack: Vec::new(),
            values,
            nodes,
            graph,
        }
        .run(inputs, outputs, &replaced_whole)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Unseen,
    Open,
    Done,
}

struct Rebuild<'a> {
    /// Names for values that have none, from those that they replace.
    inherited: HashMap<ValueId, Arc<str>>,
    /// The node that defines each symbol.
    symbol_defs: HashMap<Symbol, usize>,
    patch: &'a Patch,
    /// Old values, then those of the patch.
    values: Vec<ValueInfo>,
    /// Old nodes, then those of the patch. A node that was emitted is left without operands and results.
    nodes: Vec<Node>,
    new_values: Vec<Option<ValueId>>,
    state: Vec<State>,
    /// Empty between visits.
    stack: Vec<usize>,
    graph: Graph,
}

impl Rebuild<'_> {
    fn run(mut self, inputs: Vec<ValueId>, outputs: Vec<Output>, replaced_whole: &[bool]) -> Result<Graph> {
        for (i, v) in inputs.into_iter().enumerate() {
            let id = self.push_value(v, Def::Input(i));
            self.graph.inputs.push(id);
        }
        // A node stays unless it was removed, or all its results were replaced.
        for (index, replaced) in replaced_whole.iter().enumerate() {
            if !self.patch.removed.contains(&NodeId::new(index)) && !replaced {
                self.visit(index)?;
            }
        }
        for mut output in outputs {
            let value = self.patch.resolve(output.value)?;
            if let Def::Node(node, _) = self.values[value.index()].def {
                self.visit(node.index())?;
            }
            output.value = self.mapped(value)?;
            self.graph.outputs.push(output);
        }
        // What was known of a symbol goes with the node that defined it.
        let gone: HashSet<&Symbol> = self
            .symbol_defs
            .iter()
            .filter(|(_, index)| self.state[**index] != State::Done)
            .map(|(s, _)| s)
            .collect();
        if !gone.is_empty() {
            self.graph.facts = self.graph.facts.without(&|s| gone.contains(s))?;
        }
        Ok(self.graph)
    }

    fn push_value(&mut self, v: ValueId, def: Def) -> ValueId {
        let id = ValueId::new(self.graph.values.len());
        let old = &mut self.values[v.index()];
        // The old entry keeps its definition, by which it is still found.
        let ty = std::mem::replace(&mut old.ty, Type::tensor(DType::Bool, Shape::scalar()));
        let name = self.inherited.remove(&v).or_else(|| old.name.take());
        let placement = old.placement.take();
        self.graph.values.push(ValueInfo { ty, def, name, placement });
        self.new_values[v.index()] = Some(id);
        id
    }

    fn mapped(&self, v: ValueId) -> Result<ValueId> {
        self.new_values[v.index()]
            .ok_or_else(|| Error::internal(format!("a patch lost the definition of {v:?}")))
    }

    /// Adds the nodes that must stand before a node, the last first.
    fn add_needs(&self, index: usize, needed: &mut Vec<usize>) -> Result<()> {
        let node = &self.nodes[index];
        for v in node.inputs.iter().rev() {
            if let Def::Node(def, _) = self.values[self.patch.resolve(*v)?.index()].def {
                needed.push(def.index());
            }
        }
        if !self.symbol_defs.is_empty() {
            node.visit_symbols(&|v| &self.values[v.index()].ty, &mut |s| {
                needed.extend(self.symbol_defs.get(s).filter(|def| **def != index));
            });
        }
        Ok(())
    }

    /// Emits a node after its operands. Iterative: graphs may be deeper than the stack.
    fn visit(&mut self, start: usize) -> Result<()> {
        if self.state[start] == State::Done {
            return Ok(());
        }
        let mut stack = std::mem::take(&mut self.stack);
        stack.push(start);
        while let Some(&index) = stack.last() {
            match self.state[index] {
                State::Done => {
                    stack.pop();
                }
                State::Unseen => {
                    self.state[index] = State::Open;
                    let before = stack.len();
                    self.add_needs(index, &mut stack)?;
                    // Open nodes are those whose operands are being visited now.
                    if stack[before..].iter().any(|needed| self.state[*needed] == State::Open) {
                        return Err(Error::internal("a patch makes a circle"));
                    }
                }
                State::Open => {
                    self.emit(index)?;
                    self.state[index] = State::Done;
                    stack.pop();
                }
            }
        }
        self.stack = stack;
        Ok(())
    }

    fn emit(&mut self, index: usize) -> Result<()> {
        let id = NodeId::new(self.graph.nodes.len());
        let old = &mut self.nodes[index];
        let op = std::mem::replace(&mut old.op, Op::Select);
        let (mut inputs, mut outputs) = (std::mem::take(&mut old.inputs), std::mem::take(&mut old.outputs));
        for v in &mut inputs {
            *v = self.mapped(self.patch.resolve(*v)?)?;
        }
        for (i, v) in outputs.iter_mut().enumerate() {
            *v = self.push_value(*v, Def::Node(id, i));
        }
        self.graph.nodes.push(Node { op, inputs, outputs });
        Ok(())
    }
}
