//! What a group of primitives is predicted to cost, from the graph alone.
//!
//! A kernel takes as long as its arithmetic or as its operands take to arrive, whichever is more, and the time to start it.
//! An operand comes from the level of memory that it fits into: what was written by the kernel before and is small
//! comes from a cache, and not writing it saves little. Costs are in *slots*, the time in which a core does one vector
//! multiply-add, so that no decision depends on how fast the machine was when it was measured.

use super::order::Flow;
use crate::buffer::BufferId;
use crate::layout::{Orders, about};
use crate::lower::is_product;
use crate::machine::Machine;
use crate::predict::Operation;
use crate::tree::{Kernel, Node as Tree};
use crate::work::work;
use lawson_graph::{Def, Facts, Graph, Node, Op, TensorType, ValueId};

/// Costs of a graph's values and nodes.
pub(super) struct Costs<'g> {
    graph: &'g Graph,
    pub(super) machine: &'g Machine,
    /// Slots to bring or write each value.
    pub(super) moving: Vec<f64>,
    /// Slots of arithmetic of each node.
    pub(super) computing: Vec<f64>,
}

impl<'g> Costs<'g> {
    pub(super) fn new(graph: &'g Graph, machine: &'g Machine) -> Costs<'g> {
        let mut costs = Costs { graph, machine, moving: Vec::new(), computing: Vec::new() };
        costs.moving = (0..graph.values().len()).map(|v| costs.of_value(ValueId::new(v))).collect();
        costs.computing = graph.nodes().iter().map(|n| costs.of_node(n)).collect();
        costs
    }

    /// Slots of a kernel with so many of arithmetic and so many of moving.
    pub(super) fn kernel(&self, computing: f64, moving: f64) -> f64 {
        computing.max(moving) + self.machine.fmas_per_start
    }

    /// Slots as seconds of one core.
    pub(super) fn seconds(&self, slots: f64) -> f64 {
        slots / self.machine.rates.fma.core
    }

    fn tensor(&self, v: ValueId) -> Option<&'g TensorType> {
        self.graph.ty(v).as_tensor()
    }

    /// How many elements a value has, by what is known of it.
    pub(super) fn elements(&self, v: ValueId) -> f64 {
        self.tensor(v).map_or(0.0, |t| t.shape.iter().map(|d| about(self.graph.facts(), d)).product())
    }

    fn of_value(&self, v: ValueId) -> f64 {
        let bits = self.tensor(v).map_or(0, |t| t.dtype.bits());
        let bytes = self.elements(v) * bits as f64 / 8.0;
        let m = self.machine;
        // Half of a level is for what else is at work.
        let rate = if bytes <= m.l2 as f64 / 2.0 {
            m.l2_bytes_per_fma
        } else if bytes <= m.l3 as f64 / 2.0 {
            m.l3_bytes_per_fma
        } else {
            m.memory_bytes_per_fma
        };
        bytes / rate
    }

    /// How many vectors' worth of work it is for a product to compute an element of an operand whenever it asks for it. The
    /// elements of a tile that lie along the other operand's axes share what is asked for, those of a window do not; and
    /// what a tile multiplies with is one number in all lanes.
    pub(super) fn times(&self, node: &Node, operand: ValueId) -> f64 {
        /// Elements of one axis of a tile.
        const TILE: f64 = 64.0;
        let shared = match &node.op {
            Op::Contract(_) => self.elements(node.outputs[0]),
            Op::Convolve(c) => {
                self.tensor(node.outputs[0]).map_or(1.0, |t| about(self.graph.facts(), &t.shape[1]))
                    / c.groups as f64
            }
            _ => 1.0,
        };
        let asked = self.products(node) / self.elements(operand).max(1.0) / shared.clamp(1.0, TILE);
        asked * self.machine.lanes as f64
    }

    /// How often a node computes each element of what it reads from memory, for each value: more often than once where several operands are views of
    /// one value, where places are data, or where what is small is repeated in a loop around another one.
    pub(super) fn readings(&self, node: &Node, flow: &Flow, orders: &Orders) -> Vec<(ValueId, f64)> {
        let mut found: Vec<(ValueId, f64)> = Vec::new();
        let mut seen: Vec<ValueId> = Vec::new();
        for (n, operand) in node.inputs.iter().enumerate() {
            if seen.contains(operand) {
                continue;
            }
            seen.push(*operand);
            let result = node.outputs.first().map_or(0.0, |v| self.elements(*v));
            let mut times = match &node.op {
                Op::Gather(_) | Op::DynamicSlice(_) if n == 0 => result,
                Op::UpdateSlice if n < 2 => result,
                _ => self.elements(*operand),
            };
            // What is free is looked through.
            let mut v = *operand;
            while let Def::Node(m, _) = self.graph.value(v).def
                && flow.free[m.index()]
            {
                let view = self.graph.node(m);
                let Some(before) = view.inputs.first() else { break };
                if let Op::Broadcast(_) = &view.op {
                    times /= self.hoisted(view, orders);
                }
                v = *before;
            }
            if is_product(&node.op) {
                times = self.times(node, v) * self.elements(v);
            }
            let times = times / self.elements(v).max(1.0);
            match found.iter_mut().find(|(w, _)| *w == v) {
                Some((_, all)) => *all += times,
                None => found.push((v, times)),
            }
        }
        found.retain(|(_, times)| *times > 1.0);
        found
    }

    /// How many of the repetitions of a broadcast are along loops inside all others: what is repeated there is computed once.
    fn hoisted(&self, node: &Node, orders: &Orders) -> f64 {
        let (Op::Broadcast(b), Some(from)) = (&node.op, self.tensor(node.inputs[0])) else { return 1.0 };
        let natural: Vec<usize> = (0..b.shape.rank()).collect();
        let order = orders.order(node.outputs[0]).unwrap_or(&natural);
        let moves = |d: &usize| b.axes.iter().zip(from.shape.iter()).any(|(a, size)| a == d && !size.is(1));
        let inner = order.iter().rev().take_while(|d| !moves(d));
        inner.map(|d| about(self.graph.facts(), &b.shape[*d])).product::<f64>().max(1.0)
    }

    /// Slots of a kernel that has no schedule yet, all that it computes again counted; and how often it computes each element of what it reads,
    /// where that is more than once.
    pub(super) fn work(&self, kernel: &Kernel, inputs: &[ValueId]) -> (f64, Vec<(ValueId, f64)>) {
        let work = work(kernel);
        let times = |(n, v): (usize, &ValueId)| {
            let loads = work.loads.get(&BufferId(n as u32)).copied().unwrap_or(0.0);
            (*v, loads / self.elements(*v).max(1.0))
        };
        let times = inputs.iter().enumerate().map(times).filter(|(_, times)| *times > 1.0).collect();
        (self.stepping(work.slots), times)
    }

    /// Slots that steps of accumulators take.
    pub(super) fn stepping(&self, steps: f64) -> f64 {
        steps / self.machine.lanes as f64
    }

    /// How often a kernel steps its accumulators, each component counted.
    pub(super) fn steps(kernel: &Kernel) -> f64 {
        fn count(facts: &Facts, nodes: &[Tree], times: f64) -> f64 {
            let of = |node: &Tree| match node {
                Tree::For(f) => {
                    let size = f.end.clone() - f.begin.clone();
                    let size = about(facts, size.as_dim().unwrap_or(&lawson_graph::Dim::ONE));
                    count(facts, &f.body, times * size / f.step as f64)
                }
                Tree::Accumulate { body, .. } => count(facts, body, times),
                Tree::Step { values, .. } => times * values.len() as f64,
                Tree::Store(_) | Tree::Prefetch { .. } => 0.0,
            };
            nodes.iter().map(of).sum()
        }
        count(&kernel.facts, &kernel.body, 1.0)
    }

    /// How many products are summed up.
    pub(super) fn products(&self, node: &Node) -> f64 {
        let results = self.elements(node.outputs[0]);
        let sizes = |v: ValueId, dims: &mut dyn Iterator<Item = usize>| -> f64 {
            self.tensor(v).map_or(1.0, |t| dims.map(|d| about(self.graph.facts(), &t.shape[d])).product())
        };
        match &node.op {
            Op::Contract(c) => results * sizes(node.inputs[0], &mut c.sum.iter().map(|(l, _)| *l)),
            Op::Convolve(_) => {
                let rank = self.tensor(node.inputs[1]).map_or(1, TensorType::rank);
                results * sizes(node.inputs[1], &mut (1..rank))
            }
            Op::WindowReduce(w) => results * w.window.iter().map(|n| *n as f64).product::<f64>(),
            Op::Reduce(_) => self.elements(node.inputs[0]),
            _ => results,
        }
    }

    fn of_node(&self, node: &Node) -> f64 {
        let Some(result) = node.outputs.first() else { return 0.0 };
        if is_product(&node.op) || matches!(node.op, Op::Reduce(_)) {
            return self.stepping(self.products(node));
        }
        let Some(ty) = self.tensor(*result) else { return 0.0 };
        // What compares reads another dtype than it gives.
        let dtype = node.inputs.first().and_then(|v| self.tensor(*v)).map_or(ty.dtype, |t| t.dtype);
        self.stepping(self.elements(*result) * Operation::of_primitive(&node.op, dtype).slots)
    }
}
