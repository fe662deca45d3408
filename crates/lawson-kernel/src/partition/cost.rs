//! What a group of primitives is predicted to cost, from the graph alone.
//!
//! A kernel takes as long as its arithmetic or as its operands take to arrive, whichever is more, and the time to start it.
//! An operand comes from the level of memory that it fits into: what was written by the kernel before and is small
//! comes from a cache, and not writing it saves little. Times are in seconds of one core.

use crate::machine::Machine;
use crate::tree::{Kernel, Node as Tree};
use lawson_graph::op::{BinaryKind, UnaryKind};
use lawson_graph::{Graph, Node, Op, ValueId};

/// Vector multiply-adds of one core a second: only the ratio of arithmetic to the time of a start depends on it.
const FMA_RATE: f64 = 3.5e9;
/// Bytes that a core brings from memory during one vector multiply-add.
const MEMORY_BYTES_PER_FMA: f64 = 5.0;
/// Seconds to start a kernel, and to meet before it.
const START: f64 = 0.5e-6;
/// What a dimension is taken for that is not known.
const UNKNOWN: i64 = 64;

/// Costs of a graph's values and nodes.
pub(super) struct Costs<'g> {
    graph: &'g Graph,
    machine: &'g Machine,
    /// Seconds to bring or write each value.
    pub(super) moving: Vec<f64>,
    /// Seconds of arithmetic of each node.
    pub(super) computing: Vec<f64>,
}

/// What a kernel is predicted to take, and of what.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Parts {
    pub(super) computing: f64,
    pub(super) moving: f64,
}

impl Parts {
    pub(super) fn seconds(self) -> f64 {
        self.computing.max(self.moving) + START
    }
}

impl<'g> Costs<'g> {
    pub(super) fn new(graph: &'g Graph, machine: &'g Machine) -> Costs<'g> {
        let mut costs = Costs { graph, machine, moving: Vec::new(), computing: Vec::new() };
        costs.moving = (0..graph.values().len()).map(|v| costs.of_value(ValueId::new(v))).collect();
        costs.computing = graph.nodes().iter().map(|n| costs.of_node(n)).collect();
        costs
    }

    /// How many elements a value has, by what is known of it.
    pub(super) fn elements(&self, v: ValueId) -> f64 {
        let size = |t: &lawson_graph::TensorType| {
            t.shape.iter().map(|d| d.as_const().unwrap_or(UNKNOWN).max(0) as f64).product()
        };
        self.graph.ty(v).as_tensor().map_or(0.0, size)
    }

    fn of_value(&self, v: ValueId) -> f64 {
        let bits = self.graph.ty(v).as_tensor().map_or(0, |t| t.dtype.bits());
        let bytes = self.elements(v) * bits as f64 / 8.0;
        let m = self.machine;
        // Half of a level is for what else is at work.
        let rate = if bytes <= m.l2 as f64 / 2.0 {
            m.l2_bytes_per_fma
        } else if bytes <= m.l3 as f64 / 2.0 {
            m.l3_bytes_per_fma
        } else {
            MEMORY_BYTES_PER_FMA
        };
        bytes / rate / FMA_RATE
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
                let channels = self.graph.ty(node.outputs[0]).as_tensor().and_then(|t| t.shape[1].as_const());
                channels.unwrap_or(UNKNOWN) as f64 / c.groups as f64
            }
            _ => 1.0,
        };
        let asked = self.products(node) / self.elements(operand).max(1.0) / shared.clamp(1.0, TILE);
        asked * self.machine.lanes as f64
    }

    /// Seconds that steps of accumulators take.
    pub(super) fn stepping(&self, steps: f64) -> f64 {
        steps / self.machine.lanes as f64 / FMA_RATE
    }

    /// How often a kernel steps its accumulators.
    pub(super) fn steps(kernel: &Kernel) -> f64 {
        fn count(nodes: &[Tree], times: f64) -> f64 {
            let of = |node: &Tree| match node {
                Tree::For(f) => {
                    let size = f.end.as_const().zip(f.begin.as_const()).map(|(end, begin)| end - begin);
                    count(&f.body, times * (size.unwrap_or(UNKNOWN) as f64 / f.step as f64).max(0.0))
                }
                Tree::Accumulate { body, .. } => count(body, times),
                Tree::Step { .. } => times,
                Tree::Store(_) | Tree::Prefetch { .. } => 0.0,
            };
            nodes.iter().map(of).sum()
        }
        count(&kernel.body, 1.0)
    }

    /// How many products are summed up.
    pub(super) fn products(&self, node: &Node) -> f64 {
        let results = self.elements(node.outputs[0]);
        let known = |v: ValueId, dims: &mut dyn Iterator<Item = usize>| -> f64 {
            let Some(t) = self.graph.ty(v).as_tensor() else { return 1.0 };
            dims.map(|d| t.shape[d].as_const().unwrap_or(UNKNOWN) as f64).product()
        };
        match &node.op {
            Op::Contract(c) => results * known(node.inputs[0], &mut c.sum.iter().map(|(l, _)| *l)),
            Op::Convolve(_) => {
                let rank = self.graph.ty(node.inputs[1]).as_tensor().map_or(1, |t| t.rank());
                results * known(node.inputs[1], &mut (1..rank))
            }
            Op::WindowReduce(w) => results * w.window.iter().map(|n| *n as f64).product::<f64>(),
            Op::Reduce(_) => self.elements(node.inputs[0]),
            _ => results,
        }
    }

    fn of_node(&self, node: &Node) -> f64 {
        let Some(result) = node.outputs.first() else { return 0.0 };
        let counted = match &node.op {
            Op::Contract(_) | Op::Convolve(_) | Op::WindowReduce(_) | Op::Reduce(_) => self.products(node),
            op => self.elements(*result) * instructions(op),
        };
        counted / self.machine.lanes as f64 / FMA_RATE
    }
}

/// Vector instructions that an element takes, about.
fn instructions(op: &Op) -> f64 {
    match op {
        Op::Unary(kind) => match kind {
            UnaryKind::Neg | UnaryKind::Abs | UnaryKind::Not => 1.0,
            UnaryKind::Floor | UnaryKind::Ceil | UnaryKind::Round | UnaryKind::Trunc | UnaryKind::Sign => 2.0,
            UnaryKind::Sqrt | UnaryKind::Rsqrt => 8.0,
            _ => 16.0,
        },
        Op::Binary(kind) => match kind {
            BinaryKind::Div => 6.0,
            BinaryKind::Pow | BinaryKind::Atan2 => 40.0,
            BinaryKind::Rem | BinaryKind::Mod | BinaryKind::FloorDiv => 16.0,
            _ => 1.0,
        },
        Op::Compare(_) | Op::Select | Op::Cast(_) | Op::Iota(_) => 1.0,
        Op::Pad(_) | Op::Concat(_) => 2.0,
        _ => 0.0,
    }
}
