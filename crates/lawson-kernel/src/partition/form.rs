//! The form of a group: everything about it but which values it is about. Groups of one form have one kernel.
//!
//! In: a group of a graph; out: a [`Form`], which can be compared with that of another group of the graph. Names do not count, as they do
//! not where a plan looks for a kernel that it has already.

use super::join::Groups;
use crate::group::{Group, Refused};
use crate::hash::{IdHasher, IdMap};
use crate::layout::Orders;
use crate::lower::{Answers, Lowered, Options, Rows, lower_asking};
use crate::machine::{Machine, Spread};
use crate::tree::Kernel;
use lawson_graph::{Graph, HostTensor, Op, Type, ValueId};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

/// A group without its values.
struct Form<'g> {
    /// Operators, each with its operands and results by number.
    nodes: Vec<(&'g Op, Vec<usize>)>,
    /// By number, what is known of the values.
    known: Vec<Known<'g>>,
    outputs: Vec<Option<usize>>,
    /// By number, the values.
    values: Vec<ValueId>,
}

/// What lowering may know of a value.
#[derive(PartialEq)]
struct Known<'g> {
    ty: &'g Type,
    order: Option<&'g [usize]>,
    constant: Constant<'g>,
}

/// Whether a value is known when compiling.
#[derive(PartialEq)]
enum Constant<'g> {
    No,
    /// One number, repeated, which becomes part of the kernel.
    Number(&'g HostTensor),
    /// Elements that a kernel reads from a buffer.
    Elements,
}

impl<'g> Form<'g> {
    fn of(graph: &'g Graph, group: &Group, orders: &'g Orders) -> Form<'g> {
        let mut numbers: IdMap<ValueId, usize> = IdMap::default();
        let (mut known, mut values) = (Vec::new(), Vec::new());
        let mut number = |v: ValueId| {
            *numbers.entry(v).or_insert_with(|| {
                let constant = match graph.defining(v).map(|n| &n.op) {
                    Some(Op::Constant(t)) if t.is_splat() => Constant::Number(t),
                    Some(Op::Constant(_)) => Constant::Elements,
                    _ => Constant::No,
                };
                known.push(Known { ty: graph.ty(v), order: orders.order(v), constant });
                values.push(v);
                values.len() - 1
            })
        };
        let mut nodes = Vec::with_capacity(group.nodes.len());
        for node in group.nodes.iter().map(|n| graph.node(*n)) {
            nodes.push((&node.op, node.inputs.iter().chain(&node.outputs).map(|v| number(*v)).collect()));
        }
        let outputs = group.outputs.iter().map(|v| numbers.get(v).copied()).collect();
        Form { nodes, known, outputs, values }
    }

    /// A kernel of this form, as that of the group of another.
    fn transfer(&self, lowered: &Shared, other: &Form<'_>) -> Option<Shared> {
        let moved = |values: &[ValueId]| -> Option<Vec<ValueId>> {
            let moved = |v: &ValueId| Some(other.values[self.values.iter().position(|own| own == v)?]);
            values.iter().map(moved).collect()
        };
        let (inputs, outputs) = (moved(&lowered.inputs)?, moved(&lowered.outputs)?);
        Some(Shared { kernel: lowered.kernel.clone(), inputs, outputs })
    }
}

impl PartialEq for Form<'_> {
    fn eq(&self, other: &Form<'_>) -> bool {
        self.outputs == other.outputs && self.nodes == other.nodes && self.known == other.known
    }
}

/// A kernel that groups of one form share, and the values that it is about in one of them.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) kernel: Arc<Kernel>,
    pub(super) inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
}

impl Shared {
    /// The same with a kernel of its own.
    pub(super) fn own(self) -> Lowered {
        Lowered { kernel: Arc::unwrap_or_clone(self.kernel), inputs: self.inputs, outputs: self.outputs }
    }
}

/// The kernels of groups that were lowered, by their forms: layers of a network repeat.
#[derive(Default)]
pub(super) struct Forms<'g> {
    known: IdMap<u64, Vec<(Form<'g>, Rows, i64, Shared)>>,
    answers: Rc<Answers>,
}

impl<'g> Forms<'g> {
    /// What lowering makes of a group and its rows, which is asked once for all groups of a form. What it refuses has names in it and is not kept.
    pub(super) fn lowered(
        &mut self,
        graph: &'g Graph,
        group: &Group,
        orders: &'g Orders,
        rows: Rows,
        lanes: i64,
    ) -> Result<Shared, Refused> {
        let form = Form::of(graph, group, orders);
        let alike = self.known.entry(form.digest()).or_default();
        let known = alike.iter().find(|(f, r, l, _)| *r == rows && *l == lanes && *f == form);
        if let Some(lowered) = known.and_then(|(f, _, _, l)| f.transfer(l, &form)) {
            return Ok(lowered);
        }
        let options = Options { rows, orders: Some(orders), lanes };
        let Lowered { kernel, inputs, outputs } = lower_asking(graph, group, &options, self.answers.clone())?;
        let lowered = Shared { kernel: Arc::new(kernel), inputs, outputs };
        alike.push((form, rows, lanes, lowered.clone()));
        Ok(lowered)
    }
}

impl Groups<'_> {
    /// What lowering makes of a group, gone through so, for a machine.
    pub(super) fn lowered_of(&self, group: &Group, rows: Rows, machine: &Machine) -> Result<Shared, Refused> {
        // How members of a device share loops is nobody's nest but one's.
        let lanes = if machine.spread == Spread::Team { machine.lanes } else { 0 };
        self.forms.borrow_mut().lowered(self.graph, group, self.orders, rows, lanes)
    }
}

impl Form<'_> {
    /// A number that differs for most that are not equal.
    fn digest(&self) -> u64 {
        let mut h = IdHasher::default();
        for (op, values) in &self.nodes {
            std::mem::discriminant(*op).hash(&mut h);
            values.hash(&mut h);
        }
        self.outputs.hash(&mut h);
        h.finish()
    }
}
