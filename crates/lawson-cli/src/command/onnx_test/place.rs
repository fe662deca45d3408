//! Where the operators of a case ran, and whether they may run there.
//!
//! A target passes a case by what it computes. What its plan leaves to the reference interpreter counts only where no kernel could
//! do it: operators of [`HOST_ONLY`], and values that have no bytes in a plan, because they are texts, sequences or optionals, or
//! because their size is known only when they are there.

use lawson::Program;
use lawson::graph::{DType, Graph, Node, Symbol, Type};
use lawson::kernel::{Action, Plan};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Operators of the graph that a target may leave to the host. Scatters are among them as long as no kernel writes where data
/// says.
pub(super) const HOST_ONLY: &[&str] = &[
    "sort",
    "scatter_set",
    "scatter_add",
    "scatter_mul",
    "scatter_min",
    "scatter_max",
    "host_call",
    "symbol",
    "seq_make",
    "seq_at",
    "seq_insert",
    "seq_erase",
    "seq_len",
    "opt_some",
    "opt_none",
    "opt_has",
    "opt_get",
    "texts",
    "sizes that are data",
];

/// Where operators ran, over all data sets of a case.
#[derive(Debug, Default)]
pub(super) struct Places {
    kernels: usize,
    /// Why a kernel has no machine code, and how many operators it has.
    evaluator: BTreeMap<String, usize>,
    /// Operators that the interpreter ran.
    host: BTreeSet<String>,
    /// Those of them that a kernel should have run, and why it did not.
    misplaced: BTreeMap<String, String>,
}

impl Places {
    /// Adds where the operators of a program run.
    pub(super) fn add(&mut self, program: &Program) {
        let Some(plan) = program.plan() else { return };
        let mut sizes: BTreeSet<Symbol> = BTreeSet::new();
        for port in program.inputs() {
            port.ty.visit_dims(&mut |d| d.visit_symbols(&mut |s| sizes.extend([s.clone()])));
        }
        for plan in plan.plans() {
            self.add_plan(plan, &sizes);
        }
    }

    fn add_plan(&mut self, plan: &Plan, sizes: &BTreeSet<Symbol>) {
        plan.visit(&mut |step, _| match &step.action {
            Action::Launch { .. } | Action::Call { .. } => self.kernels += step.operators,
            Action::Evaluate { why, .. } => {
                *self.evaluator.entry(why.message().to_string()).or_default() += step.operators;
            }
            Action::Interpret(part) => {
                for node in part.graph.nodes() {
                    let name = name(node);
                    if !on_host(&part.graph, node, sizes) {
                        self.misplaced.insert(name.clone(), part.why.message().to_string());
                    }
                    self.host.insert(name);
                }
            }
            _ => {}
        });
    }

    /// As JSON: numbers of operators in compiled kernels and by the evaluator, names of those on the host.
    pub(super) fn to_json(&self) -> Json {
        let evaluated: usize = self.evaluator.values().sum();
        json!({
            "kernels": self.kernels,
            "evaluator": evaluated,
            "evaluator_why": self.evaluator.keys().collect::<Vec<_>>(),
            "host": self.host,
        })
    }

    /// Why the case does not count as passed, though its results are right.
    pub(super) fn misplaced(&self) -> Option<String> {
        let (name, why) = self.misplaced.iter().next()?;
        Some(format!("right, but `{name}` was left to the interpreter: {why}"))
    }
}

fn name(node: &Node) -> String {
    match &node.op {
        lawson::graph::Op::HostCall(call) => format!("host_call {}", call.name),
        op => op.name().to_string(),
    }
}

/// Whether a node belongs to the host.
fn on_host(graph: &Graph, node: &Node, sizes: &BTreeSet<Symbol>) -> bool {
    let of_host = |ty: &Type| match ty {
        Type::Tensor(t) if t.dtype != DType::Str => {
            let mut data = false;
            ty.visit_dims(&mut |d| d.visit_symbols(&mut |s| data |= !sizes.contains(s)));
            data
        }
        _ => true,
    };
    // A node may mention a size in what it says, and have none itself: `dims` gives sizes as data.
    let mut mentions = false;
    node.visit_symbols(&|v| graph.ty(v), &mut |s| mentions |= !sizes.contains(s));
    HOST_ONLY.contains(&node.op.name())
        || mentions
        || matches!(node.op, lawson::graph::Op::Constant(_))
        || node.inputs.iter().chain(&node.outputs).any(|v| of_host(graph.ty(*v)))
        || node.op.subgraphs().iter().any(|(_, g)| {
            g.nodes().iter().any(|n| !matches!(n.op, lawson::graph::Op::Constant(_)) && on_host(g, n, sizes))
        })
}
