//! Patches: what a pass wants changed, as data.
//!
//! A patch over a graph adds nodes, replaces uses of values by other values, and removes nodes. Applying it gives a
//! new graph with the same signature: order restored, ids compact. Replaced nodes vanish when nothing of theirs is
//! left in use; all other nodes stay until `remove` names them.

use crate::builder::Builder;
use crate::dim::{Facts, Symbol};
use crate::error::{Code, Error, Result};
use crate::graph::{Def, Graph, Node, NodeId, ValueId, ValueInfo};
use crate::op::same_type;
use crate::types::Type;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A change to a graph.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    values: Vec<ValueInfo>,
    nodes: Vec<Node>,
    facts: Option<Facts>,
    replaced: HashMap<ValueId, ValueId>,
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
            self.replaced.insert(old, new);
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
        self.replaced.is_empty() && self.removed.is_empty()
    }

    /// How many uses it redirects, nodes it adds and nodes it removes.
    pub fn size(&self) -> (usize, usize, usize) {
        (self.replaced.len(), self.nodes.len(), self.removed.len())
    }

    fn replaces_all_of(&self, node: &Node) -> bool {
        !node.outputs.is_empty() && node.outputs.iter().all(|v| self.replaced.contains_key(v))
    }

    /// The value that stands for `v` after all replacements.
    fn resolve(&self, v: ValueId) -> Result<ValueId> {
        let mut at = v;
        for _ in 0..=self.replaced.len() {
            match self.replaced.get(&at) {
                Some(next) => at = *next,
                None => return Ok(at),
            }
        }
        Err(Error::internal(format!("a patch replaces {v:?} in a circle")))
    }
}

impl Graph {
    /// The graph after a patch. Fails, as a bug of whoever made the patch, if types or order cannot be kept.
    pub fn apply(&self, patch: Patch) -> Result<Graph> {
        let info = |v: ValueId| match v.index().checked_sub(self.values.len()) {
            None => self.values.get(v.index()),
            Some(i) => patch.values.get(i),
        };
        let facts = patch.facts.clone().unwrap_or_else(|| self.facts.clone());
        for (old, new) in &patch.replaced {
            let (Some(a), Some(b)) = (info(*old), info(*new)) else {
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
        for (index, node) in all_nodes.enumerate() {
            let types: Vec<&Type> = node.inputs.iter().filter_map(|v| info(*v)).map(|i| &i.ty).collect();
            symbol_defs.extend(node.op.defines(&types).into_iter().map(|(s, _)| (s, index)));
        }
        Rebuild {
            inherited,
            symbol_defs,
            old: self,
            patch: &patch,
            new_values: vec![None; self.values.len() + patch.values.len()],
            state: vec![State::Unseen; self.nodes.len() + patch.nodes.len()],
            graph: Graph {
                name: self.name.clone(),
                facts,
                values: Vec::with_capacity(self.values.len()),
                nodes: Vec::with_capacity(self.nodes.len()),
                inputs: Vec::new(),
                outputs: Vec::new(),
            },
        }
        .run()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Unseen,
    Open,
    Done,
}

struct Rebuild<'a> {
    inherited: HashMap<ValueId, Arc<str>>,
    symbol_defs: HashMap<Symbol, usize>,
    old: &'a Graph,
    patch: &'a Patch,
    new_values: Vec<Option<ValueId>>,
    state: Vec<State>,
    graph: Graph,
}

impl Rebuild<'_> {
    fn info(&self, v: ValueId) -> &ValueInfo {
        match v.index().checked_sub(self.old.values.len()) {
            None => self.old.value(v),
            Some(i) => &self.patch.values[i],
        }
    }

    fn node(&self, index: usize) -> &Node {
        match index.checked_sub(self.old.nodes.len()) {
            None => &self.old.nodes[index],
            Some(i) => &self.patch.nodes[i],
        }
    }

    fn run(mut self) -> Result<Graph> {
        for (i, v) in self.old.inputs.iter().enumerate() {
            let id = self.push_value(*v, Def::Input(i));
            self.graph.inputs.push(id);
        }
        // A node stays unless it was removed, or all its results were replaced.
        for index in 0..self.old.nodes.len() {
            if !self.patch.removed.contains(&NodeId::new(index))
                && !self.patch.replaces_all_of(&self.old.nodes[index])
            {
                self.visit(index)?;
            }
        }
        for output in &self.old.outputs {
            let value = self.patch.resolve(output.value)?;
            self.visit_value(value)?;
            let mut output = output.clone();
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
        let mut info = self.info(v).clone();
        info.def = def;
        if let Some(name) = self.inherited.get(&v) {
            info.name = Some(name.clone());
        }
        self.graph.values.push(info);
        self.new_values[v.index()] = Some(id);
        id
    }

    fn mapped(&self, v: ValueId) -> Result<ValueId> {
        self.new_values[v.index()]
            .ok_or_else(|| Error::internal(format!("a patch lost the definition of {v:?}")))
    }

    fn visit_value(&mut self, v: ValueId) -> Result<()> {
        match self.info(v).def {
            Def::Input(_) => Ok(()),
            Def::Node(node, _) => self.visit(node.index()),
        }
    }

    /// The nodes that must stand before a node, the last first.
    fn needs(&self, index: usize) -> Result<Vec<usize>> {
        let node = self.node(index);
        let mut needed = Vec::new();
        for v in node.inputs.iter().rev() {
            if let Def::Node(def, _) = self.info(self.patch.resolve(*v)?).def {
                needed.push(def.index());
            }
        }
        if !self.symbol_defs.is_empty() {
            node.visit_symbols(&|v| &self.info(v).ty, &mut |s| {
                needed.extend(self.symbol_defs.get(s).filter(|def| **def != index));
            });
        }
        Ok(needed)
    }

    /// Emits a node after its operands. Iterative: graphs may be deeper than the stack.
    fn visit(&mut self, start: usize) -> Result<()> {
        let mut stack = vec![start];
        while let Some(&index) = stack.last() {
            match self.state[index] {
                State::Done => {
                    stack.pop();
                }
                State::Unseen => {
                    self.state[index] = State::Open;
                    for needed in self.needs(index)? {
                        match self.state[needed] {
                            State::Unseen => stack.push(needed),
                            // Open nodes are those whose operands are being visited now.
                            State::Open => return Err(Error::internal("a patch makes a circle")),
                            State::Done => {}
                        }
                    }
                }
                State::Open => {
                    self.emit(index)?;
                    self.state[index] = State::Done;
                    stack.pop();
                }
            }
        }
        Ok(())
    }

    fn emit(&mut self, index: usize) -> Result<()> {
        let node = self.node(index).clone();
        let id = NodeId::new(self.graph.nodes.len());
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for v in &node.inputs {
            let v = self.patch.resolve(*v)?;
            inputs.push(self.mapped(v)?);
        }
        let outputs =
            node.outputs.iter().enumerate().map(|(i, v)| self.push_value(*v, Def::Node(id, i))).collect();
        self.graph.nodes.push(Node { op: node.op, inputs, outputs });
        Ok(())
    }
}

impl Graph {
    /// An error about a pass that broke this graph.
    pub fn broken_by(pass: &str, error: Error) -> Error {
        Error::new(Code::PassFailed, format!("the pass `{pass}` left an invalid graph: {}", error.message()))
            .at(crate::error::Place::Pass(pass.to_string()))
            .help("this is a bug in Lawson; please report it with the graph")
    }
}
