//! What groups were joined from, so that they can be taken apart again.
//!
//! Groups are joined by what is known before they have schedules. Where the schedule of a group turns out to take longer than was thought, whoever
//! schedules asks for the two groups that it was joined from last, and keeps what takes less time.
//!
//! In: a [`Part`]; out: its two halves as parts, in an order in which they can run.

use super::Part;
use super::join::Groups;
use lawson_graph::{Def, NodeId, ValueId};
use std::rc::Rc;

/// The two groups that a group was joined from.
pub(crate) type Halves = Rc<[Half; 2]>;

/// A group as it was when it was joined with another one.
#[derive(Clone, Debug)]
pub(crate) struct Half {
    nodes: Vec<NodeId>,
    /// Slots that it was predicted to take.
    slots: f64,
    halves: Option<Halves>,
}

impl Half {
    pub(super) fn new(nodes: Vec<NodeId>, slots: f64, halves: Option<Halves>) -> Half {
        Half { nodes, slots, halves }
    }
}

/// Takes parts of a partition apart again.
pub(crate) struct Splitter<'g>(pub(super) Groups<'g>);

impl Splitter<'_> {
    /// The two groups that a part was joined from, in an order in which they can run.
    pub(crate) fn split(&self, part: &Part) -> Option<[Part; 2]> {
        self.0.split(part.halves.as_ref()?)
    }

    /// The seconds of one core that the two groups which a part was joined from were predicted to take. One core waits for nobody before it starts them.
    pub(crate) fn apart(&self, part: &Part) -> Option<f64> {
        let [a, b] = &**part.halves.as_ref()?;
        let machine = self.0.costs.machine;
        let working = a.slots + b.slots - 2.0 * machine.fmas_per_start;
        Some(self.0.costs.seconds(working.max(0.0)) + 2.0 * machine.rates.launch)
    }
}

impl Groups<'_> {
    pub(super) fn split(&self, halves: &Halves) -> Option<[Part; 2]> {
        let [a, b] = &**halves;
        let outputs = [a, b].map(|half| self.needed_of(&half.nodes));
        // One of them may read what the other makes.
        let reads = |half: &Half, made: &[ValueId]| {
            let sources = half.nodes.iter().flat_map(|n| &self.flow.sources[n.index()]);
            sources.into_iter().any(|v| made.contains(v))
        };
        let follows = reads(a, &outputs[1]) || self.needs(a, b);
        if follows && (reads(b, &outputs[0]) || self.needs(b, a)) {
            return None;
        }
        let [x, y] = outputs;
        let part = |half: &Half, outputs| {
            let mut part = self.part(&half.nodes, outputs, None);
            part.halves = half.halves.clone();
            part
        };
        let (first, second) = (part(a, x), part(b, y));
        Some(if follows { [second, first] } else { [first, second] })
    }

    /// Whether nodes must follow others whatever they read.
    fn needs(&self, a: &Half, b: &Half) -> bool {
        a.nodes.iter().any(|n| self.flow.needs[n.index()].iter().any(|m| b.nodes.contains(m)))
    }

    /// What others need of the results of some nodes, ascending.
    fn needed_of(&self, nodes: &[NodeId]) -> Vec<ValueId> {
        let results = nodes.iter().flat_map(|n| &self.graph.node(*n).outputs).copied();
        let outside = |v: &ValueId| {
            self.flow.returned[v.index()] || self.flow.readers[v.index()].iter().any(|n| !nodes.contains(n))
        };
        let mut needed: Vec<ValueId> = results.filter(outside).collect();
        needed.retain(|v| matches!(self.graph.value(*v).def, Def::Node(..)));
        needed.sort_unstable();
        needed
    }
}
