//! Stages: what has sizes that are found in a run, put together as far as these are known at the same time.
//!
//! In: groups in an order in which they can run. Out: the same in another such order, where everything that can run without a stage comes first,
//! then, as one stage, everything that can run with it, and so on in turn. So a stage is convex, for what it needs has run before it; it starts
//! when the symbols that it mentions have their values; and there are as few as an order allows.

use super::Part;
use super::join::Groups;
use crate::group::Group;
use lawson_graph::{Error, NodeId, ValueId};

/// What runs as one.
pub(super) enum Unit {
    /// A group, by number.
    Group(usize),
    /// Groups that are one stage.
    Stage(Vec<usize>),
}

impl Groups<'_> {
    /// Whether a group is part of a stage.
    fn is_staged(&self, g: usize) -> bool {
        self.members[g].nodes.iter().any(|n| self.flow.staged[n.index()])
    }

    /// The groups with stages among them, each after what it needs.
    pub(super) fn with_stages(&self, groups: Vec<usize>) -> Vec<Unit> {
        if !groups.iter().any(|g| self.is_staged(*g)) {
            return groups.into_iter().map(Unit::Group).collect();
        }
        let mut units = Vec::new();
        let mut done = vec![false; self.members.len()];
        let mut left = groups;
        let mut staged = false;
        while !left.is_empty() {
            // The order is kept, so that one way through takes all that depend on each other.
            let (now, later): (Vec<usize>, Vec<usize>) = left.into_iter().partition(|g| {
                let takes = self.is_staged(*g) == staged && self.before(*g).all(|b| b == *g || done[b]);
                done[*g] |= takes;
                takes
            });
            if staged && !now.is_empty() {
                units.push(Unit::Stage(now));
            } else {
                units.extend(now.into_iter().map(Unit::Group));
            }
            left = later;
            staged = !staged;
        }
        units
    }

    /// Groups as one part.
    pub(super) fn stage(&self, groups: &[usize]) -> Part {
        let mut nodes: Vec<NodeId> = groups.iter().flat_map(|g| &self.members[*g].nodes).copied().collect();
        nodes.sort();
        let results = nodes.iter().flat_map(|n| &self.graph.node(*n).outputs).copied();
        let outputs: Vec<ValueId> = results.filter(|v| self.is_needed(*v, groups)).collect();
        let operators = nodes.len();
        let nodes = self.flow.with_copied(self.graph, &nodes);
        let why = nodes.iter().find_map(|n| self.flow.host[n.index()].clone());
        let why = why.map_or_else(|| Error::internal("a stage without a reason"), Into::into);
        Part { group: Group { nodes, outputs }, operators, lowered: Err(why), is_stage: true, halves: None }
    }
}
