//! Shrinking: the smallest graph that still fails the way a larger one did.
//!
//! In: a [`Case`], which is a graph with inputs, and a question that says of any case whether it still fails. Out: a case of which no
//! single step makes a smaller one that fails. Steps drop outputs, cut nodes off by making their results inputs, replace nodes by zeros or by
//! their own operands, give symbols values, and make dimensions and elements smaller. Every candidate is a
//! valid graph; candidates whose inputs do not fit are never asked about. `edit.rs` changes graphs, `resize.rs` sizes, `file.rs` keeps cases.

mod edit;
mod file;
mod resize;

use edit::{Source, cut};
use lawson_graph::{Graph, HostTensor, NodeId, Op, Output, Result, Type, Value, ValueId, interp};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// A graph and values for its inputs.
#[derive(Clone, Debug)]
pub struct Case {
    /// The graph.
    pub graph: Graph,
    /// One value an input.
    pub inputs: Vec<Value>,
}

/// How long to look.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How many candidates are asked about at most.
    pub tries: usize,
    /// After how long no further candidate is asked about.
    pub time: Duration,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { tries: 5000, time: Duration::from_secs(60) }
    }
}

/// What shrinking gave.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The smallest case found.
    pub case: Case,
    /// How many candidates were asked about.
    pub tries: usize,
    /// How many of them were smaller and failed.
    pub steps: usize,
    /// Whether nothing smaller was left to try.
    pub complete: bool,
}

/// Shrinks a case as long as `fails` says of the smaller one that it fails the same way. The case given must fail itself.
///
/// ```
/// use lawson::graph::{Graph, HostTensor};
/// use lawson::reduce::{Case, Effort, reduce};
///
/// let text = "lawson 1
/// graph @f(%x: f32[8, 9], %y: f32[8, 9]) -> (a: f32[8, 9], b: f32[8, 9]) {
///   %1 = exp %x
///   %2 = tan %1
///   %a = add %2, %y
///   %b = mul %a, %y
///   return %a, %b
/// }";
/// let ones = HostTensor::from_slice(&[8, 9], &[1f32; 72])?;
/// let case = Case { graph: Graph::parse(text)?, inputs: vec![ones.clone().into(), ones.into()] };
/// let mut has_tan = |c: &Case| c.graph.nodes().iter().any(|n| n.op.name() == "tan");
/// let small = reduce(case, &mut has_tan, &Effort::default()).case;
/// assert_eq!(small.graph.nodes().len(), 1);
/// assert_eq!(small.graph.ty(small.graph.inputs()[0]).to_string(), "f32[1, 1]");
/// # Ok::<(), lawson::Error>(())
/// ```
pub fn reduce(case: Case, fails: &mut dyn FnMut(&Case) -> bool, effort: &Effort) -> Reduced {
    let mut r = Reducer { case, fails, effort: *effort, start: Instant::now(), tries: 0, steps: 0 };
    loop {
        let before = r.steps;
        r.outputs();
        r.single_nodes();
        r.nodes();
        r.symbols();
        r.sizes();
        r.unused_inputs();
        r.elements();
        if r.steps == before || r.spent() {
            break;
        }
    }
    let complete = !r.spent();
    Reduced { case: r.case, tries: r.tries, steps: r.steps, complete }
}

struct Reducer<'f> {
    case: Case,
    fails: &'f mut dyn FnMut(&Case) -> bool,
    effort: Effort,
    start: Instant,
    tries: usize,
    steps: usize,
}

impl Reducer<'_> {
    fn spent(&self) -> bool {
        self.tries >= self.effort.tries || self.start.elapsed() >= self.effort.time
    }

    /// Takes a candidate if it is smaller, valid, and fails.
    fn offer(&mut self, candidate: Result<Case>) -> bool {
        let Ok(candidate) = candidate else { return false };
        if self.spent() || weight(&candidate) >= weight(&self.case) || !is_valid(&candidate) {
            return false;
        }
        self.tries += 1;
        let fails = (self.fails)(&candidate);
        if fails {
            self.case = candidate;
            self.steps += 1;
        }
        fails
    }

    /// Leaves one output if one alone fails, and otherwise drops what can be dropped.
    fn outputs(&mut self) {
        let all = self.case.graph.outputs().to_vec();
        if all.len() > 1 {
            for o in &all {
                if self.offer(self.with_outputs(vec![o.clone()])) {
                    return;
                }
            }
        }
        let mut at = 0;
        while self.case.graph.outputs().len() > 1 && at < self.case.graph.outputs().len() {
            let mut left = self.case.graph.outputs().to_vec();
            left.remove(at);
            if !self.offer(self.with_outputs(left)) {
                at += 1;
            }
        }
    }

    fn with_outputs(&self, outputs: Vec<Output>) -> Result<Case> {
        cut(&self.case, outputs, &HashMap::new())
    }

    /// The values of all tensors of the graph, as the reference interpreter computes them.
    fn values(&self) -> HashMap<ValueId, Value> {
        let graph = &self.case.graph;
        let mut known: HashMap<ValueId, Value> =
            graph.inputs().iter().copied().zip(self.case.inputs.iter().cloned()).collect();
        let all: Vec<ValueId> = graph
            .nodes()
            .iter()
            .flat_map(|n| n.outputs.clone())
            .filter(|v| matches!(graph.ty(*v), Type::Tensor(_)))
            .collect();
        let outputs =
            all.iter().enumerate().map(|(n, v)| Output { name: format!("v{n}"), value: *v, lives_in: None });
        let mut parts = graph.clone().into_parts();
        parts.outputs = outputs.collect();
        let run = interp::run(&Graph::from_parts(parts), &self.case.inputs, &interp::Options::default());
        known.extend(all.into_iter().zip(run.into_iter().flatten()));
        known
    }

    /// One node alone, with what it reads as inputs.
    fn single_nodes(&mut self) {
        if self.case.graph.nodes().len() < 2 {
            return;
        }
        let values = self.values();
        let graph = self.case.graph.clone();
        for id in graph.node_ids().rev() {
            let node = graph.node(id);
            if matches!(node.op, Op::Constant(_)) {
                continue;
            }
            let sources = node
                .inputs
                .iter()
                .filter(|v| !is_constant(&graph, **v))
                .filter_map(|v| Some((*v, Source::Input(values.get(v)?.clone()))))
                .collect();
            let outputs = node.outputs.iter().enumerate();
            let outputs =
                outputs.map(|(n, v)| Output { name: format!("y{n}"), value: *v, lives_in: None }).collect();
            if self.offer(cut(&self.case, outputs, &sources)) {
                return;
            }
        }
    }

    /// Replaces nodes, one after another: by one of their operands, by zeros, by inputs of the same values.
    fn nodes(&mut self) {
        let mut at = self.case.graph.nodes().len();
        let mut values = self.values();
        while at > 0 && !self.spent() {
            at -= 1;
            let before = self.steps;
            self.node(NodeId::new(at), &values);
            if self.steps > before {
                // Nodes behind and before it may be gone: numbers have changed.
                at = at.min(self.case.graph.nodes().len());
                values = self.values();
            }
        }
    }

    fn node(&mut self, id: NodeId, values: &HashMap<ValueId, Value>) {
        let node = self.case.graph.node(id).clone();
        let graph = self.case.graph.clone();
        let outputs = graph.outputs().to_vec();
        if let Op::Constant(t) = &node.op {
            if !t.is_splat()
                && let Some(zeros) = zeros(t)
            {
                let source = HashMap::from([(node.outputs[0], Source::Constant(zeros))]);
                self.offer(cut(&self.case, outputs, &source));
            }
            return;
        }
        if let [result] = node.outputs.as_slice() {
            for v in node.inputs.iter().filter(|v| graph.ty(**v) == graph.ty(*result)) {
                let source = HashMap::from([(*result, Source::Value(*v))]);
                if self.offer(cut(&self.case, outputs.clone(), &source)) {
                    return;
                }
            }
        }
        let mut sources = [HashMap::new(), HashMap::new()];
        for v in &node.outputs {
            let Some(Value::Tensor(t)) = values.get(v) else { return };
            // Zeros only where the sizes hold for every run.
            let fixed = graph.ty(*v).as_tensor().is_some_and(|t| t.shape.as_const().is_some());
            if fixed && let Some(zeros) = zeros(t) {
                sources[0].insert(*v, Source::Constant(zeros));
            }
            sources[1].insert(*v, Source::Input(t.clone().into()));
        }
        for source in sources.iter().filter(|s| s.len() == node.outputs.len()) {
            if self.offer(cut(&self.case, outputs.clone(), source)) {
                return;
            }
        }
    }

    /// Gives symbols their values for good.
    fn symbols(&mut self) {
        let Ok(bindings) = interp::bind(&self.case.graph, &self.case.inputs) else { return };
        for (symbol, value) in bindings.iter() {
            self.offer(resize::fix_symbol(&self.case, symbol, value));
        }
    }

    /// Makes dimensions smaller, the largest first.
    fn sizes(&mut self) {
        let mut tried: Vec<(i64, i64)> = Vec::new();
        loop {
            let mut sizes = resize::sizes(&self.case.graph);
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            let steps = sizes.into_iter().flat_map(|n| [1, n / 2, n - 1].map(|to| (n, to)));
            let next = steps.filter(|(n, to)| to < n && *to >= 1).find(|s| !tried.contains(s));
            let Some((from, to)) = next else { break };
            if self.spent() {
                break;
            }
            // After a success everything is worth another try.
            match self.offer(resize::resize(&self.case, from, to)) {
                true => tried.clear(),
                false => tried.push((from, to)),
            }
        }
        let Ok(bindings) = interp::bind(&self.case.graph, &self.case.inputs) else { return };
        for (symbol, value) in bindings.iter() {
            for to in [0, 1, value / 2, value - 1].into_iter().filter(|to| *to < value && *to >= 0) {
                if self.offer(resize::rebind(&self.case, symbol, to)) {
                    break;
                }
            }
        }
    }

    /// Drops inputs that nothing reads.
    fn unused_inputs(&mut self) {
        let used = self.case.graph.use_counts();
        if self.case.graph.inputs().iter().any(|v| used[v.index()] == 0) {
            self.offer(self.with_outputs(self.case.graph.outputs().to_vec()));
        }
    }

    /// Makes the elements of inputs plain.
    fn elements(&mut self) {
        for n in 0..self.case.inputs.len() {
            let Value::Tensor(t) = &self.case.inputs[n] else { continue };
            if t.is_splat() {
                continue;
            }
            let Some(zeros) = zeros(t) else { continue };
            let mut candidate = self.case.clone();
            candidate.inputs[n] = zeros.into();
            self.offer(Ok(candidate));
        }
    }
}

fn zeros(t: &HostTensor) -> Option<HostTensor> {
    HostTensor::zeros(t.dtype(), t.sizes()).ok()
}

fn is_constant(graph: &Graph, v: ValueId) -> bool {
    matches!(graph.defining(v).map(|n| &n.op), Some(Op::Constant(_)))
}

/// What is less in a smaller case, the most important first: nodes, those that compute, outputs, inputs, symbols, sizes,
/// tensors of unequal elements. It falls with every step, so that shrinking ends.
fn weight(case: &Case) -> [usize; 7] {
    let graph = &case.graph;
    let constants = graph.nodes().iter().filter_map(|n| match &n.op {
        Op::Constant(t) => Some(t),
        _ => None,
    });
    let uneven = constants.clone().chain(case.inputs.iter().filter_map(Value::as_tensor));
    let (mut symbols, mut sizes) = (HashSet::new(), 0);
    for v in graph.values() {
        v.ty.visit_dims(&mut |d| {
            sizes += d.as_const().map_or(0, |n| n.max(0) as usize);
            d.visit_symbols(&mut |s| symbols.extend([s.clone()]));
        });
    }
    let given = case.inputs.iter().filter_map(Value::as_tensor).flat_map(|t| t.sizes().to_vec());
    [
        graph.total_nodes(),
        graph.total_nodes() - constants.count(),
        graph.outputs().len(),
        graph.inputs().len(),
        symbols.len(),
        sizes + given.sum::<usize>(),
        uneven.filter(|t| !t.is_empty() && !t.is_splat()).count(),
    ]
}

/// Whether a case can be run at all.
fn is_valid(case: &Case) -> bool {
    case.graph.verify().is_ok() && interp::bind(&case.graph, &case.inputs).is_ok()
}
