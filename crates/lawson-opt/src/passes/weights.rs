//! Folding weights: what is computed from constants alone, of whatever size, is computed once, where it takes the place of what it is computed from.
//!
//! Models bring weights as integers with scales, in halves, in parts that are put in another order. Computed in every run they cost time, and
//! as results they are no constants: they are not packed, and nothing merges with them. [`super::FoldConstants`] folds what is small, node by node, with the
//! interpreter; here all that is left is folded at once, by somebody who is fast ([`Evaluate`]).
//!
//! A result that is many times as large as the constants that it comes from stays what it is: repeated elements are read where they are.

use crate::pass::Pass;
use lawson_graph::op::{Effect, Op};
use lawson_graph::{
    Builder, DType, Def, Graph, HostTensor, NodeId, Patch, Result, Type, Value, ValueId, interp,
};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// Who computes a graph without inputs.
pub trait Evaluate: fmt::Debug + Send + Sync {
    /// The outputs of a graph that has no inputs.
    fn evaluate(&self, graph: &Graph) -> Result<Vec<HostTensor>>;

    /// The most elements that it computes in a time which nobody minds.
    fn max_elements(&self) -> usize;
}

/// Computes what follows from constants, whatever its size.
#[derive(Clone, Debug)]
pub struct FoldWeights {
    evaluator: Arc<dyn Evaluate>,
}

/// How many times as many bytes as its constants a result may have.
const GROWTH: usize = 8;
/// Bytes that may be computed from hardly any, and those that may if they take long.
const LITTLE: usize = 1 << 16;
const DEAR: usize = 4 << 20;

impl Default for FoldWeights {
    /// By the interpreter.
    fn default() -> FoldWeights {
        FoldWeights::by(Arc::new(Interpreter))
    }
}

impl FoldWeights {
    /// By somebody.
    pub fn by(evaluator: Arc<dyn Evaluate>) -> FoldWeights {
        FoldWeights { evaluator }
    }
}

impl Pass for FoldWeights {
    fn name(&self) -> &'static str {
        "fold-weights"
    }

    fn summary(&self) -> &'static str {
        "computes what follows from constants alone and takes their place"
    }

    fn run(&self, graph: &Graph) -> Result<Option<Patch>> {
        let Some(region) = Region::of(graph, self.evaluator.max_elements()) else { return Ok(None) };
        let Ok(results) = self.evaluator.evaluate(&region.graph(graph)?) else { return Ok(None) };
        let mut builder = Builder::over(graph);
        let mut constants = Vec::new();
        for (v, tensor) in region.wanted.iter().zip(results) {
            if Some(&tensor.ty()) != graph.ty(*v).as_tensor() {
                return Ok(None);
            }
            constants.push((*v, builder.constant(tensor)?));
        }
        let mut patch = builder.into_patch();
        for (old, new) in constants {
            patch.replace(old, new);
        }
        Ok((!patch.is_empty()).then_some(patch))
    }
}

/// Nodes that depend on constants alone.
struct Region {
    /// Those that are needed, in order.
    nodes: Vec<NodeId>,
    /// The values that others need of them.
    wanted: Vec<ValueId>,
}

impl Region {
    /// What is worth computing once in a graph.
    fn of(graph: &Graph, max_elements: usize) -> Option<Region> {
        let live = super::live_nodes(graph);
        let defining = |v: ValueId| match graph.value(v).def {
            Def::Node(n, _) => Some(n),
            Def::Input(_) => None,
        };
        let mut inside = vec![false; graph.nodes().len()];
        for n in graph.node_ids().filter(|n| live[n.index()]) {
            let node = graph.node(n);
            let by_constants = node.inputs.iter().all(|v| defining(*v).is_some_and(|m| inside[m.index()]));
            let known = node.outputs.iter().all(|v| elements(graph.ty(*v)).is_some());
            inside[n.index()] = matches!(node.op, Op::Constant(_) | Op::Iota(_)) && known
                || by_constants && known && !node.inputs.is_empty() && is_pure(&node.op);
        }
        let mut outer: HashSet<ValueId> = graph.outputs().iter().map(|o| o.value).collect();
        for n in graph.node_ids().filter(|n| live[n.index()] && !inside[n.index()]) {
            outer.extend(&graph.node(n).inputs);
        }
        // What repeats elements is left to whoever reads it: what it repeats is wanted instead.
        let mut open: Vec<ValueId> = outer.iter().copied().collect();
        let mut wanted: HashSet<ValueId> = HashSet::new();
        while let Some(v) = open.pop() {
            let Some(n) = defining(v).filter(|n| inside[n.index()]) else { continue };
            let node = graph.node(n);
            match &node.op {
                Op::Constant(_) | Op::Iota(_) => {}
                Op::Broadcast(_) => open.extend(&node.inputs),
                // Bytes stay bytes for products, which widen what they read.
                Op::Cast(cast) if cast.to == DType::I32 && is_byte(graph, node.inputs[0]) => {
                    open.extend(&node.inputs);
                }
                _ => {
                    wanted.insert(v);
                }
            }
        }
        let uses = graph.use_counts();
        let mut region = Region { nodes: Vec::new(), wanted: wanted.into_iter().collect() };
        region.wanted.sort_unstable();
        let mut left = max_elements;
        region.wanted.retain(|v| {
            let cone = cone(graph, *v);
            let work: usize = cone
                .iter()
                .flat_map(|n| &graph.node(*n).outputs)
                .filter_map(|v| elements(graph.ty(*v)))
                .sum();
            let worth = pays(graph, *v, &cone, &uses) && work <= left;
            left -= if worth { work } else { 0 };
            worth
        });
        let mut needed: HashSet<NodeId> = HashSet::new();
        region.wanted.iter().for_each(|v| needed.extend(cone(graph, *v)));
        region.nodes = needed.into_iter().collect();
        region.nodes.sort_unstable();
        (!region.wanted.is_empty()).then_some(region)
    }

    /// The nodes as a graph of their own.
    fn graph(&self, graph: &Graph) -> Result<Graph> {
        let mut b = Builder::new("weights");
        let mut values: HashMap<ValueId, ValueId> = HashMap::new();
        for n in &self.nodes {
            let node = graph.node(*n);
            let inputs: Vec<ValueId> = node.inputs.iter().filter_map(|v| values.get(v).copied()).collect();
            let outputs = b.op(node.op.clone(), &inputs)?;
            values.extend(node.outputs.iter().copied().zip(outputs));
        }
        for (i, v) in self.wanted.iter().enumerate() {
            if let Some(v) = values.get(v) {
                b.output(&format!("w{i}"), *v)?;
            }
        }
        b.finish()
    }
}

/// A node and all that it depends on.
fn cone(graph: &Graph, v: ValueId) -> Vec<NodeId> {
    let mut seen: HashSet<NodeId> = HashSet::new();
    let mut open = vec![v];
    while let Some(v) = open.pop() {
        if let Def::Node(n, _) = graph.value(v).def
            && seen.insert(n)
        {
            open.extend(&graph.node(n).inputs);
        }
    }
    seen.into_iter().collect()
}

/// Whether a value should take the place of the constants that it comes from.
fn pays(graph: &Graph, v: ValueId, cone: &[NodeId], uses: &[u32]) -> bool {
    let nodes = || cone.iter().map(|n| graph.node(*n));
    let mut constants = nodes().filter_map(|n| match &n.op {
        Op::Constant(t) => Some((n.outputs[0], t)),
        _ => None,
    });
    let sources: usize = constants.clone().map(|(_, t)| if t.is_splat() { 0 } else { t.bytes().len() }).sum();
    let bits = graph.ty(v).as_tensor().map_or(0, |t| t.dtype.bits());
    let bytes = elements(graph.ty(v)).unwrap_or(usize::MAX / 128) * bits / 8;
    // What is made of nothing is cheap to read again only if it was dear to make.
    let made = if nodes().any(|n| is_dear(&n.op)) { DEAR } else { 0 };
    if bytes > LITTLE.max(made).max(sources.saturating_mul(GROWTH)) {
        return false;
    }
    if sources == 0 && made == 0 {
        return false;
    }
    // What has fewer than eight bits is meant to stay so, and a table that others read, too, is not copied to lie in another order.
    let moves = |op: &Op| matches!(op, Op::Constant(_) | Op::Reshape(_) | Op::Transpose(_));
    let is_order = nodes().all(|n| moves(&n.op));
    let alone = constants
        .all(|(v, t)| t.dtype().bits() >= 8 && (!is_order || uses.get(v.index()).is_some_and(|n| *n == 1)));
    alone || bytes <= LITTLE
}

fn is_byte(graph: &Graph, v: ValueId) -> bool {
    graph.ty(v).as_tensor().is_some_and(|t| matches!(t.dtype, DType::I8 | DType::U8))
}

/// Whether an operator takes many instructions an element.
fn is_dear(op: &Op) -> bool {
    use lawson_graph::op::{BinaryKind, UnaryKind as U};
    match op {
        Op::Unary(kind) => {
            matches!(kind, U::Exp | U::Log | U::Sin | U::Cos | U::Tan | U::Tanh | U::Erf | U::Sqrt | U::Rsqrt)
        }
        Op::Binary(kind) => matches!(kind, BinaryKind::Pow | BinaryKind::Atan2),
        Op::Contract(_) | Op::Convolve(_) | Op::Cumulative(_) | Op::Sort(_) => true,
        _ => false,
    }
}

fn is_pure(op: &Op) -> bool {
    let random = matches!(op, Op::RandomBits(_) | Op::DefineSymbol(_) | Op::SeqAt(_));
    !random && op.effect() != Effect::Effectful && op.subgraphs().is_empty()
}

fn elements(ty: &Type) -> Option<usize> {
    ty.as_tensor()?.shape.as_const()?.iter().try_fold(1usize, |n, s| n.checked_mul(*s))
}

/// Slow, and exact about everything.
#[derive(Debug)]
struct Interpreter;

impl Evaluate for Interpreter {
    fn evaluate(&self, graph: &Graph) -> Result<Vec<HostTensor>> {
        let options = interp::Options { max_steps: 100_000, max_bytes: 256 << 20, ..Default::default() };
        let results: Vec<Value> = interp::run(graph, &[], &options)?;
        Ok(results.into_iter().filter_map(|v| v.as_tensor().cloned()).collect())
    }

    fn max_elements(&self) -> usize {
        1 << 16
    }
}
