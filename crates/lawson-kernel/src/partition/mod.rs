//! Which primitives are computed together: groups for a whole graph, by predicted time.
//!
//! Every primitive begins as a group of its own. Two groups are joined if they may be computed in the same loops and are
//! predicted to take less time together than apart, those that gain most first: a group that computes a value with
//! one that reads it, which then need not be written and read again, and groups that read the same value. What costs nothing to
//! compute anew (numbers in another shape, slices, indices) has no group: everybody who reads it has it. Whether a joined group can be one
//! kernel is asked of lowering itself. Attention is taken where it is still a composite. What stays apart says why ([`Refusal`]).
//!
//! Then products that follow one another over the same rows are joined where launches cost more than that (`chain.rs`). Last, what has sizes
//! that are found in a run is put together into stages (`stage.rs`).
//!
//! `cost.rs` predicts, `join.rs` decides, `order.rs` has what the graph asks of any partition, `space.rs` which outputs share loops, `halves.rs` takes
//! groups apart again whose schedules do not keep what was predicted.

mod chain;
mod cost;
mod form;
mod halves;
mod join;
mod order;
mod space;
mod stage;

pub(crate) use halves::Splitter;

use crate::group::{Group, Refused};
use crate::layout::Orders;
use crate::lower::Lowered;
use crate::machine::{Machine, Machines};
use halves::Halves;
use lawson_graph::{Graph, NodeId, ValueId};

/// Which operators may share a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fusion {
    /// Those that are predicted to take less time together.
    #[default]
    Predicted,
    /// None: each operator of the graph has kernels of its own. A composite is one operator, whose parts may share one; in bodies of loops
    /// and branches every primitive is one. Views and numbers that cost nothing to compute anew are still part of whoever reads them.
    Separate,
}

/// A group with the kernel that it becomes.
#[derive(Debug)]
pub struct Part {
    /// The nodes.
    pub group: Group,
    /// How many of them are there for this part alone, and not free to others as well.
    pub operators: usize,
    /// The kernel, not yet scheduled; or why none computes the group, which then has one node besides those that are free, or is a stage.
    pub lowered: lawson_graph::Result<Lowered>,
    /// Whether the group is a stage: planned as a graph of its own, whose sizes are known when it starts.
    pub is_stage: bool,
    /// What it was joined from.
    pub(crate) halves: Option<Halves>,
}

/// The groups of a graph.
#[derive(Debug, Default)]
pub struct Partition {
    /// The groups, in an order in which they can run.
    pub parts: Vec<Part>,
    /// Which of them stay apart, and why.
    pub refused: Vec<Refusal>,
}

/// Two groups that are not joined: one reads what the other computes, or both read the same and are predicted to gain by it.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal<V = ValueId> {
    /// The value that is written by the first and read by the second, or read by both.
    pub value: V,
    /// A result of the group that reads it.
    pub reader: V,
    /// A result of the other group that reads it, if neither computes it.
    pub beside: Option<V>,
    /// Why the two stay apart.
    pub why: Refused,
    /// Seconds that the two are predicted to take.
    pub apart: f64,
    /// Seconds that they would take as one.
    pub together: f64,
}

impl Refusal {
    /// The same with the names that a graph has for its values.
    pub fn named(self, graph: &Graph) -> Refusal<String> {
        let Refusal { value, reader, beside, why, apart, together } = self;
        let [value, reader] = [value, reader].map(|v| graph.value_name(v));
        let beside = beside.map(|v| graph.value_name(v));
        Refusal { value, reader, beside, why, apart, together }
    }
}

/// The groups of a graph, for values that lie in these orders. Of composites only `attention` becomes a kernel.
pub fn partition(graph: &Graph, orders: &Orders, machine: &Machine) -> Partition {
    partition_within(graph, orders, Machines::only(machine), None)
}

/// As [`partition`], but nodes are joined only if the operator that they are part of, given for each node, is the same, and what is placed
/// on the processor is joined apart from what runs on the target.
pub fn partition_within(
    graph: &Graph,
    orders: &Orders,
    machines: Machines<'_>,
    part_of: Option<&[NodeId]>,
) -> Partition {
    partition_splitting(graph, orders, machines, part_of).0
}

/// As [`partition_within`], with who takes parts apart again.
pub(crate) fn partition_splitting<'g>(
    graph: &'g Graph,
    orders: &'g Orders,
    machines: Machines<'g>,
    part_of: Option<&'g [NodeId]>,
) -> (Partition, Splitter<'g>) {
    let mut groups = join::Groups::new(graph, orders, machines, part_of);
    groups.join_all();
    groups.chain_all();
    let partition = groups.finish();
    (partition, Splitter(groups))
}
