//! The loops that outputs of a group have in common.
//!
//! In: outputs of groups that may be joined; out: whether they are computed in the same loops, as lowering would find.

use super::join::{Groups, Members};
use crate::group::Refused;
use crate::lower::pieces;
use lawson_graph::{Dim, NodeId, Op, ValueId};
use std::cmp::Reverse;

impl Groups<'_> {
    /// Whether what a node of a group puts together is an output that is stored part by part.
    pub(super) fn stores_pieces(&self, n: NodeId, group: &Members) -> bool {
        let v = self.graph.node(n).outputs[0];
        let own = self.of[n.index()];
        group.outputs.binary_search(&v).is_ok() && own.is_some_and(|g| self.piece(v, &[g]) != v)
    }

    /// The first part of an output of groups, or itself if it has none.
    fn piece(&self, v: ValueId, groups: &[usize]) -> ValueId {
        let is_inside = |n: NodeId| self.of[n.index()].is_some_and(|g| groups.contains(&g));
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
