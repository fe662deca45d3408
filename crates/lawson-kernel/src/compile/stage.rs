//! Stages: parts of a graph whose sizes are found in a run, each planned as a graph of its own.
//!
//! In that graph the sizes are symbols like those of inputs. Of the facts it knows those that hold when it starts: a size that is found later is
//! checked later, and what is said of it proves nothing before.

use super::{Planner, compile_within};
use crate::group::Group;
use crate::host::{extract, open_symbols};
use crate::layout::orders;
use crate::partition::Fusion;
use crate::plan::{Action, Plan, Staged, Step};
use lawson_graph::{Error, Facts, Graph, NodeId, Result, TensorType, Type, ValueId};
use std::sync::Arc;

impl Planner<'_, '_, '_> {
    /// Plans a group as a stage.
    pub(super) fn stage(&mut self, group: &Group) -> Result<()> {
        let facts = self.facts_so_far()?;
        let part = extract(self.graph, &group.nodes, &group.outputs, &facts);
        if part.inputs.iter().chain(&part.outputs).any(|v| self.orders.order(*v).is_some()) {
            self.common.reads_ordered = true;
            return Err(Error::internal("a stage reads a value that lies in an order of its own"));
        }
        let types = |values: &[ValueId]| -> Result<Vec<TensorType>> {
            values.iter().map(|v| self.tensor(*v).cloned()).collect()
        };
        let staged = Staged {
            inputs: types(&part.inputs)?,
            outputs: types(&part.outputs)?,
            symbols: open_symbols(&part.graph),
            plan: Arc::new(self.plan_alone(&part.graph)?),
        };
        let mut slots = Vec::new();
        for v in &part.inputs {
            slots.push(self.slot(*v)?);
        }
        for v in &part.outputs {
            slots.push(self.write(*v)?);
        }
        self.push(Step::new(Action::Staged(Box::new(staged)), slots));
        Ok(())
    }

    /// The plan of a part of the graph, made as that of the whole is.
    fn plan_alone(&self, graph: &Graph) -> Result<Plan> {
        let machines = self.common.machines;
        let orders = orders(graph, machines.target);
        let alone: Vec<NodeId> = graph.node_ids().collect();
        let part_of = (self.common.fusion == Fusion::Separate).then_some(alone.as_slice());
        compile_within(graph, (&orders, true), machines, part_of, &mut |_| {})
    }

    /// The facts about symbols that have their values by now.
    fn facts_so_far(&self) -> Result<Facts> {
        self.graph.facts().without(&|s| self.defined.contains_key(s) && !self.found.contains(s))
    }

    /// The symbols that these nodes define have their values after them.
    pub(super) fn note_found(&mut self, nodes: &[NodeId]) {
        for n in nodes {
            let node = self.graph.node(*n);
            let types: Vec<&Type> = node.inputs.iter().map(|v| self.graph.ty(*v)).collect();
            self.found.extend(node.op.defines(&types).into_iter().map(|(s, _)| s));
        }
    }
}
