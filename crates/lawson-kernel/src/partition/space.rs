//! The loops that outputs of a group have in common, and the tile that its products have.
//!
//! In: groups that may be joined; out: whether they are computed in the same loops, as lowering would find.

use super::join::{Groups, Members};
use crate::group::Refused;
use crate::lower::{is_product, pieces, shaped};
use crate::machine::Spread;
use lawson_graph::{Dim, Node, NodeId, Op, ValueId};
use std::cmp::Reverse;

/// Rows of the least tile in which sums hide each other's latency.
const LEAST_ROWS: i64 = 4;

impl Groups<'_> {
    /// Refuses products that are not summed up abreast, in one tile with what they have in common read once.
    pub(super) fn abreast(&self, x: &Members, y: &Members) -> Result<(), Refused> {
        let machine = self.machine_of(x);
        let nodes = || x.nodes.iter().chain(&y.nodes).map(|n| self.graph.node(*n));
        // Bytes are multiplied by fours, convolutions by windows, and the tile of a device has one product.
        let is_plain = |n: &Node| match &n.op {
            Op::Contract(_) => self.graph.ty(n.inputs[0]).as_tensor().is_some_and(|t| t.dtype.is_float()),
            op => !is_product(op),
        };
        let shared = x.inputs.iter().any(|v| y.inputs.binary_search(v).is_ok());
        if !shared || machine.spread == Spread::Grid || !nodes().all(is_plain) {
            return Err(Refused::Products);
        }
        let sums = (x.products + y.products) as i64;
        let (found, most) = (sums * LEAST_ROWS + sums + 1, machine.registers - machine.spare_registers);
        if found > most { Err(Refused::Registers { sums, found, most }) } else { Ok(()) }
    }

    /// The first part of an output of groups, or itself if it has none.
    fn piece(&self, v: ValueId, groups: &[usize]) -> ValueId {
        let inside = |n: NodeId| self.of[n.index()].is_some_and(|g| groups.contains(&g));
        let is_inside = |n: NodeId| inside(n) || self.flow.free[n.index()];
        let v = shaped(self.graph, v, self.orders, &is_inside);
        match self.graph.defining(v).map(|n| &n.op) {
            Some(Op::Concat(_)) => pieces(self.graph, v, &is_inside).first().map_or(v, |p| p.value),
            _ => v,
        }
    }

    /// Refuses outputs that are not computed in the loops of the one with the most axes, as lowering would.
    pub(super) fn one_space(&self, outputs: &[ValueId], groups: &[usize]) -> Result<(), Refused> {
        let dims = |v: ValueId| -> Vec<&Dim> {
            let Some(ty) = self.graph.ty(self.piece(v, groups)).as_tensor() else { return Vec::new() };
            let many = |d: &&Dim| !d.is(1);
            match self.orders.order(v) {
                Some(order) => order.iter().map(|d| &ty.shape[*d]).filter(many).collect(),
                None => ty.shape.iter().filter(many).collect(),
            }
        };
        let several = outputs.iter().filter(|_| outputs.len() > 1);
        let all: Vec<(ValueId, Vec<&Dim>)> = several.map(|v| (*v, dims(*v))).collect();
        let Some((widest, most)) = all.iter().max_by_key(|(v, d)| (d.len(), Reverse(*v))) else {
            return Ok(());
        };
        for (v, own) in &all {
            if own.iter().zip(most).any(|(a, b)| a != b && !self.graph.facts().equal(a, b)) {
                let shown = |v: ValueId| format!("`%{}: {}`", self.graph.value_name(v), self.graph.ty(v));
                return Err(Refused::Spaces { first: shown(*widest), other: shown(*v) });
            }
        }
        Ok(())
    }
}
