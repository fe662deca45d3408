//! The rewriting engine: walks a graph once, in order, and applies rules wherever they match.
//!
//! A rule looks at one node, with its operands already rewritten, and may build a replacement. What it builds is
//! rewritten in turn. One walk visits each node once and each new node once, so the cost is linear in the graph and in
//! what the rules build; a supply of fuel, proportional to the graph, bounds rules that would feed each other.

use crate::hash::MixMap;
use crate::passes::live_nodes;
use crate::rule::Rule;
use lawson_graph::op::{Broadcast, Family, Op};
use lawson_graph::{
    Builder, DType, Dim, Error, Facts, Graph, HostTensor, Node, Patch, Result, Shape, TensorType, ValueId,
};
use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

/// A graph being rewritten. It derefs to the `Builder` of the replacement nodes.
#[derive(Debug)]
pub struct Rewriter<'g> {
    graph: &'g Graph,
    builder: Builder<'g>,
    replaced: Vec<Option<ValueId>>,
    /// For each value that took the place of others: those others.
    stands_for: MixMap<ValueId, Vec<ValueId>>,
    users: Users,
    fuel: usize,
}

/// The users of each value of the graph as it was, in one array with offsets. Dead nodes use nothing.
#[derive(Debug)]
struct Users {
    starts: Vec<u32>,
    nodes: Vec<u32>,
    is_output: Vec<bool>,
    sliced: Vec<Option<Dim>>,
}

impl Users {
    fn of(graph: &Graph, live: &[bool]) -> Users {
        let count = graph.values().len();
        let mut starts = vec![0u32; count + 1];
        for v in graph.nodes().iter().zip(live).filter(|(_, l)| **l).flat_map(|(n, _)| &n.inputs) {
            starts[v.index() + 1] += 1;
        }
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let mut at = starts.clone();
        let mut nodes = vec![0u32; starts[count] as usize];
        for (n, node) in graph.nodes().iter().enumerate().filter(|(n, _)| live[*n]) {
            for v in &node.inputs {
                nodes[at[v.index()] as usize] = n as u32;
                at[v.index()] += 1;
            }
        }
        let mut is_output = vec![false; count];
        for o in graph.outputs() {
            is_output[o.value.index()] = true;
        }
        let sliced = sliced(graph, live, &is_output);
        Users { starts, nodes, is_output, sliced }
    }
}

/// For each value, how many of its elements slices take in the end, directly or through elementwise operators; `None`
/// if it has any other use.
fn sliced(graph: &Graph, live: &[bool], is_output: &[bool]) -> Vec<Option<Dim>> {
    if !graph.nodes().iter().any(|n| matches!(n.op, Op::Slice(_))) {
        return Vec::new();
    }
    let mut taken: Vec<Option<Dim>> = is_output.iter().map(|o| (!o).then_some(Dim::ZERO)).collect();
    for (node, _) in graph.nodes().iter().zip(live).rev().filter(|(_, live)| **live) {
        let by_node = match &node.op {
            Op::Slice(s) => Some(s.size.iter().cloned().product()),
            op if op.is_elementwise() => taken[node.outputs[0].index()].clone(),
            _ => None,
        };
        for v in &node.inputs {
            let sum = taken[v.index()].take().zip(by_node.clone()).map(|(a, b): (Dim, Dim)| a + b);
            taken[v.index()] = sum;
        }
    }
    taken
}

impl<'g> Deref for Rewriter<'g> {
    type Target = Builder<'g>;

    fn deref(&self) -> &Builder<'g> {
        &self.builder
    }
}

impl DerefMut for Rewriter<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.builder
    }
}

/// What is applied to a node, its operands already rewritten: replacements for its results, or `None`.
pub type Apply<'a> = dyn FnMut(&mut Rewriter<'_>, &Node) -> Result<Option<Vec<ValueId>>> + 'a;

/// Applies rules everywhere, once.
pub fn rewrite(graph: &Graph, rules: &[&Rule]) -> Result<Option<Patch>> {
    let mut by_family: [Vec<&Rule>; Family::COUNT] = std::array::from_fn(|_| Vec::new());
    for rule in rules {
        for family in rule.roots {
            by_family[*family as usize].push(rule);
        }
    }
    let mut apply = |rw: &mut Rewriter<'_>, node: &Node| {
        for rule in &by_family[node.op.family() as usize] {
            if let Some(results) = (rule.apply)(rw, node)? {
                return Ok(Some(results));
            }
        }
        Ok(None)
    };
    rewrite_with(graph, fuel(graph), &mut apply)
}

/// How often rules may be applied: a few times a node.
pub fn fuel(graph: &Graph) -> usize {
    1000 + 12 * graph.nodes().len()
}

/// Applies a function to every node, once, and to what it builds, `fuel` times at most. It returns replacements for
/// the node's results, or `None`.
pub fn rewrite_with(graph: &Graph, fuel: usize, apply: &mut Apply<'_>) -> Result<Option<Patch>> {
    let live = live_nodes(graph);
    let mut rw = Rewriter {
        graph,
        builder: Builder::over(graph),
        replaced: vec![None; graph.values().len()],
        stands_for: MixMap::default(),
        users: Users::of(graph, &live),
        fuel,
    };
    let mut any = false;
    for (node, _) in graph.nodes().iter().zip(&live).filter(|(_, live)| **live) {
        any |= rw.visit(node, apply)?;
    }
    if rw.fuel == 0 && cfg!(debug_assertions) {
        return Err(Error::internal("the rules feed one another without end"));
    }
    if !any {
        return Ok(None);
    }
    let Rewriter { builder, replaced, .. } = rw;
    let mut patch = builder.into_patch();
    for (i, new) in replaced.into_iter().enumerate() {
        if let Some(new) = new {
            patch.replace(ValueId::new(i), new);
        }
    }
    Ok(Some(patch))
}

impl Rewriter<'_> {
    /// Rewrites a node, and what that builds, until no rule applies or the fuel is spent.
    fn visit(&mut self, node: &Node, apply: &mut Apply<'_>) -> Result<bool> {
        let mut any = false;
        let mut work: Vec<Cow<'_, Node>> = vec![Cow::Borrowed(node)];
        while let Some(mut node) = work.pop() {
            if self.fuel == 0 || node.outputs.iter().any(|v| self.replacement(*v).is_some()) {
                continue;
            }
            if node.inputs.iter().any(|v| self.replacement(*v).is_some()) {
                for v in &mut node.to_mut().inputs {
                    *v = self.resolve(*v);
                }
            }
            let mark = self.builder.added().len();
            let Some(results) = apply(self, &node)? else { continue };
            self.fuel -= 1;
            node.outputs.first().map_or(Ok(()), |v| self.builder.follow(*v, mark))?;
            for (old, new) in node.outputs.iter().zip(results) {
                let new = self.resolve(new);
                if *old != new {
                    any = true;
                    self.set_replacement(*old, new);
                }
            }
            // New nodes in order: their operands come first, so the last is pushed first.
            let added = &self.builder.added()[mark..];
            work.extend(added.iter().rev().cloned().map(Cow::Owned));
        }
        Ok(any)
    }

    fn replacement(&self, v: ValueId) -> Option<ValueId> {
        self.replaced.get(v.index()).copied().flatten()
    }

    fn set_replacement(&mut self, old: ValueId, new: ValueId) {
        if self.replaced.len() <= old.index() {
            self.replaced.resize(old.index() + 1, None);
        }
        self.replaced[old.index()] = Some(new);
        let mut others = self.stands_for.remove(&old).unwrap_or_default();
        others.push(old);
        self.stands_for.entry(new).or_default().extend(others);
    }

    /// The value that stands for `v` now.
    pub fn resolve(&self, v: ValueId) -> ValueId {
        let mut at = v;
        while let Some(next) = self.replacement(at) {
            at = next;
        }
        at
    }

    /// The node that defines a value, with operands that may have to be resolved.
    pub fn def(&self, v: ValueId) -> Option<&Node> {
        self.builder.defining(self.resolve(v))
    }

    /// The operator that defines a value and its first operand.
    pub fn def1(&self, v: ValueId) -> Option<(&Op, ValueId)> {
        let node = self.def(v)?;
        Some((&node.op, self.resolve(*node.inputs.first()?)))
    }

    /// The tensor type of a value.
    pub fn tensor(&self, v: ValueId) -> Option<&TensorType> {
        self.builder.ty(v).as_tensor()
    }

    /// The shape of a value, if it is a tensor.
    pub fn shape_of(&self, v: ValueId) -> Option<&Shape> {
        self.tensor(v).map(|t| &t.shape)
    }

    /// Whether two values have equal types under the facts.
    pub fn same_type(&self, a: ValueId, b: ValueId) -> bool {
        lawson_graph::op::same_type(self.facts(), self.ty(a), self.ty(b))
    }

    /// Whether two shapes are equal under the facts.
    pub fn same_shape(&self, a: &Shape, b: &Shape) -> bool {
        shapes_equal(self.facts(), a, b)
    }

    /// The users of a value, and whether it is also an output. Counted in the graph as it was, for the value and for
    /// all that it stands for; values that rules have just built count as used by nobody yet.
    pub fn users(&self, v: ValueId) -> (Vec<&Node>, bool) {
        let (mut nodes, mut is_output) = (Vec::new(), false);
        let stands_for = self.stands_for.get(&v).map_or(&[][..], Vec::as_slice);
        for i in stands_for.iter().chain([&v]).map(|v| v.index()) {
            let (Some(start), Some(end)) = (self.users.starts.get(i), self.users.starts.get(i + 1)) else {
                continue;
            };
            let range = *start as usize..*end as usize;
            nodes.extend(self.users.nodes[range].iter().map(|n| &self.graph.nodes()[*n as usize]));
            is_output |= self.users.is_output[i];
        }
        (nodes, is_output)
    }

    /// How many elements of the value slices take in the end, directly or through elementwise operators, all uses
    /// together; `None` if there is any other use.
    pub fn sliced(&self, v: ValueId) -> Option<Dim> {
        let stands_for = self.stands_for.get(&v).map_or(&[][..], Vec::as_slice);
        stands_for
            .iter()
            .chain([&v])
            .map(|v| self.users.sliced.get(v.index()).cloned().unwrap_or(Some(Dim::ZERO)))
            .sum()
    }

    /// Whether at most one node uses the value, and no output does.
    pub fn single_use(&self, v: ValueId) -> bool {
        let (nodes, is_output) = self.users(v);
        nodes.len() <= 1 && !is_output
    }

    /// The constant that a value is.
    pub fn constant_of(&self, v: ValueId) -> Option<&HostTensor> {
        match &self.def(v)?.op {
            Op::Constant(t) => Some(t),
            _ => None,
        }
    }

    /// The scalar constant that a value repeats, if it is the same number everywhere.
    pub fn splat(&self, v: ValueId) -> Option<&HostTensor> {
        let node = self.def(v)?;
        match &node.op {
            Op::Constant(t) if t.sizes().is_empty() => Some(t),
            Op::Broadcast(Broadcast { .. }) | Op::Reshape(_) => self.splat(self.resolve(node.inputs[0])),
            _ => None,
        }
    }

    /// The elements of a value that is known: a constant, or one number repeated to a shape of at most so many elements.
    pub fn known(&self, v: ValueId, most: usize) -> Option<HostTensor> {
        if let Some(t) = self.constant_of(v) {
            return (t.len() <= most).then(|| t.clone());
        }
        let scalar = self.splat(v)?;
        let sizes = self.shape_of(v)?.as_const()?;
        let count = sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s)).filter(|n| *n <= most)?;
        match scalar.dtype() {
            DType::Str => HostTensor::from_text(&sizes, vec![scalar.text()[0].clone(); count]).ok(),
            d if d.bits() < 8 && d.is_int() => {
                HostTensor::from_ints(d, &sizes, &vec![scalar.int_at(0); count]).ok()
            }
            d if d.bits() < 8 => HostTensor::from_floats(d, &sizes, &vec![scalar.float_at(0); count]).ok(),
            d => HostTensor::from_bytes(d, &sizes, scalar.bytes().repeat(count)).ok(),
        }
    }

    /// Whether a value is the same number everywhere, and that number. Negative zero is not zero.
    pub fn is_splat_of(&self, v: ValueId, number: f64) -> bool {
        self.splat(v).is_some_and(|t| match t.dtype() {
            d if d.is_float() => t.float_at(0).to_bits() == number.to_bits(),
            DType::Str => false,
            _ => t.int_at(0) == number as i128 && number.fract() == 0.0,
        })
    }

    /// Whether a dtype is a float.
    pub fn is_float(&self, v: ValueId) -> bool {
        self.tensor(v).is_some_and(|t| t.dtype.is_float())
    }
}

/// Whether two shapes are equal under the facts.
pub fn shapes_equal(facts: &Facts, a: &Shape, b: &Shape) -> bool {
    a.rank() == b.rank() && a.iter().zip(b.iter()).all(|(x, y)| facts.equal(x, y))
}

/// A one-value replacement.
pub fn one(v: ValueId) -> Result<Option<Vec<ValueId>>> {
    Ok(Some(vec![v]))
}
