//! In which order the dimensions of values lie in memory, chosen once for a whole graph.
//!
//! Values between kernels are nobody's but the plan's, so they may lie as suits the kernels. Convolutions want channels
//! innermost: there they fill vectors at any image size, and one weight a channel is all that a pixel needs. Whatever is computed
//! element by element from such a value (activations, residuals, pooling, padding, joining of channels) wants the order of
//! its operands. So values are gathered into classes along those operators, and a class lies with its channels last if that is
//! predicted to cost less. Inputs and outputs of the graph lie as the caller has them; reading or writing those in
//! another order is index arithmetic of the first and last kernels.
//!
//! In: a graph after its passes. Out: [`Orders`], which `lower/` follows when it makes buffers.

use crate::host::refusals;
use crate::machine::{Machine, Spread};
use lawson_graph::{Def, Dim, Facts, Graph, Node, Op, TensorType, ValueId};
use std::collections::{HashMap, HashSet};

/// The order of dimensions of values, outermost first, where it is not that of their types.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Orders {
    of: HashMap<ValueId, Vec<usize>>,
    /// What was compared, a class each, in the order of their first values.
    pub compared: Vec<Compared>,
}

/// What a class of values would cost in each order.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The first value of the class.
    pub value: ValueId,
    /// How many values are in it.
    pub values: usize,
    /// The predicted cost of its convolutions with channels first, in multiply-adds of full vectors.
    pub first: f64,
    /// The same with channels last.
    pub last: f64,
}

impl Orders {
    /// The order of a value's dimensions, if it is not that of its type.
    pub fn order(&self, v: ValueId) -> Option<&[usize]> {
        self.of.get(&v).map(Vec::as_slice)
    }

    /// What is given by dimension, in the order of memory.
    pub fn stored<T: Clone>(&self, v: ValueId, by_dim: &[T]) -> Vec<T> {
        match self.order(v) {
            Some(order) => order.iter().map(|d| by_dim[*d].clone()).collect(),
            None => by_dim.to_vec(),
        }
    }

    /// What is given in the order of memory, by dimension.
    pub fn by_dim<T: Clone>(&self, v: ValueId, stored: &[T]) -> Vec<T> {
        let Some(order) = self.order(v) else { return stored.to_vec() };
        let mut by_dim = stored.to_vec();
        order.iter().zip(stored).for_each(|(d, s)| by_dim[*d] = s.clone());
        by_dim
    }

    /// A value whose dimensions lie in this order, outermost first.
    pub fn set(&mut self, v: ValueId, order: Vec<usize>) {
        self.of.insert(v, order);
    }
}

/// Sets of values that lie in one order, as a forest.
struct Classes(Vec<usize>);

impl Classes {
    fn root(&mut self, v: ValueId) -> usize {
        let mut at = v.index();
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// How much slower than full vectors a convolution with channels first is at best: neighbours in a row of an
/// What a product takes whose lanes read elements that lie anyhow, in products of lanes that lie side by side, for each lane.
const GATHERED: f64 = 1.5;
/// image are read once for every element of the window, across the borders of vectors.
const CHANNELS_FIRST: f64 = 2.0;

/// The orders of a graph's values that are predicted to cost least.
pub fn orders(graph: &Graph, machine: &Machine) -> Orders {
    if machine.spread == Spread::Grid {
        return Orders::default();
    }
    let mut classes = Classes((0..graph.values().len()).collect());
    let mut fixed: HashSet<ValueId> = graph.outputs().iter().map(|o| o.value).collect();
    let host = refusals(graph);
    for (node, host) in graph.nodes().iter().zip(&host) {
        match along(node) {
            // What the host reads and gives lies as its type says.
            _ if host.is_some() => fixed.extend(node.inputs.iter().chain(&node.outputs)),
            Along::Together(operands) => {
                let same = |v: &&ValueId| rank(graph, **v) == rank(graph, node.outputs[0]);
                operands.iter().filter(same).for_each(|v| classes.join(*v, node.outputs[0]));
            }
            Along::Apart => {}
            Along::Fixed => fixed.extend(node.inputs.iter().chain(&node.outputs)),
        }
    }
    let mut costs: HashMap<usize, (f64, f64)> = HashMap::new();
    for node in graph.nodes() {
        let Op::Convolve(op) = &node.op else { continue };
        let (Some(w), Some(y)) = (tensor(graph, node.inputs[1]), tensor(graph, node.outputs[0])) else {
            continue;
        };
        let known = |t: &TensorType| t.shape.iter().map(|d| about(graph.facts(), d)).collect();
        let (w, y): (Vec<f64>, Vec<f64>) = (known(w), known(y));
        let work = y.iter().product::<f64>() * w[1..].iter().product::<f64>();
        let lanes = machine.lanes as f64;
        let filled = |n: f64| (n / lanes).ceil() * lanes / n.max(1.0);
        let channels = if w[1] == 1.0 { y[1] } else { y[1] / op.groups as f64 };
        let cost = costs.entry(classes.root(node.outputs[0])).or_default();
        cost.0 += CHANNELS_FIRST * work * filled(y.last().copied().unwrap_or(1.0));
        // Lanes of several groups read channels that lie anyhow, one by one.
        let gathers = op.groups > 1 && w[1] > 1.0 && channels < lanes;
        cost.1 += work * if gathers { GATHERED * lanes } else { filled(channels) };
    }
    let mut values: HashMap<usize, Vec<ValueId>> = HashMap::new();
    for v in (0..graph.values().len()).map(ValueId::new) {
        let root = classes.root(v);
        let is_between = match graph.value(v).def {
            Def::Input(_) => false,
            Def::Node(n, _) => !matches!(graph.node(n).op, Op::Constant(_)),
        };
        if costs.contains_key(&root) && is_between && !fixed.contains(&v) {
            values.entry(root).or_default().push(v);
        }
    }
    let mut orders = Orders::default();
    let mut found: Vec<(usize, Vec<ValueId>)> = values.into_iter().collect();
    found.sort_by_key(|(root, _)| *root);
    for (root, values) in found {
        let (first, last) = costs.get(&root).copied().unwrap_or_default();
        orders.compared.push(Compared { value: values[0], values: values.len(), first, last });
        if first <= last {
            continue;
        }
        for v in values {
            let rank = rank(graph, v);
            if rank > 2 {
                orders.set(v, std::iter::once(0).chain(2..rank).chain([1]).collect());
            }
        }
    }
    orders
}

/// Which values want the order of a node's result.
enum Along<'n> {
    /// These operands, where they have as many dimensions.
    Together(&'n [ValueId]),
    /// None: the node reads at other places anyhow.
    Apart,
    /// None, and its operands and results must lie as their types say.
    Fixed,
}

fn along(node: &Node) -> Along<'_> {
    match &node.op {
        op if op.is_elementwise() => Along::Together(&node.inputs),
        Op::Concat(_) => Along::Together(&node.inputs),
        Op::Pad(_) | Op::Slice(_) | Op::WindowReduce(_) | Op::Convolve(_) => {
            Along::Together(&node.inputs[..1])
        }
        Op::Broadcast(b) if b.axes.iter().copied().eq(0..b.shape.rank()) => Along::Together(&node.inputs),
        Op::Broadcast(_) | Op::Reshape(_) | Op::Transpose(_) | Op::Reduce(_) | Op::Contract(_) => {
            Along::Apart
        }
        Op::Constant(_) | Op::Iota(_) | Op::Dims(_) => Along::Apart,
        _ => Along::Fixed,
    }
}

/// A size for predictions: that of a dimension, or what it usually is.
pub(crate) fn about(facts: &Facts, dim: &Dim) -> f64 {
    facts.usual(dim) as f64
}

fn tensor(graph: &Graph, v: ValueId) -> Option<&TensorType> {
    graph.ty(v).as_tensor()
}

fn rank(graph: &Graph, v: ValueId) -> usize {
    tensor(graph, v).map_or(0, TensorType::rank)
}
