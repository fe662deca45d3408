//! Joining groups, those that gain most first.
//!
//! A candidate is a pair of groups with the time that joining them is predicted to save. The best one is looked at first: if nothing speaks
//! against it, the two become one, and the candidates of that one are found anew. A group's borders and costs are kept up as it
//! grows, so that looking at a candidate does not depend on how many nodes the groups have.

use super::cost::Costs;
use super::form::{Forms, Shared};
use super::halves::{Half, Halves};
use super::order::{Between, Flow};
use super::stage::Unit;
use super::{Part, Partition, Refusal};
use crate::group::{Group, Refused};
use crate::hash::{IdMap, IdSet};
use crate::layout::Orders;
use crate::lower::{Blocks, Rows, attention, is_product, recurrence, takes};
use crate::machine::{Machine, Machines, Spread};
use lawson_graph::{Def, Graph, NodeId, Op, Site, ValueId};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// Queries and keys that attention treats together: scores, queries and sums of a block stay in the second-level cache, and the
/// sums are rescaled seldom.
const ATTENTION: Blocks = Blocks { queries: 64, keys: 256 };

/// The most expressions of a kernel of a device in which values are computed at several places: for each node, and besides.
const IN_SHADER: [usize; 2] = [8, 48];

/// The most nodes of a group: longer expressions gain nothing, and a kernel is compiled as one piece.
const MOST_NODES: usize = 1000;

/// A group as it grows.
#[derive(Clone, Default)]
pub(super) struct Members {
    pub(super) nodes: Vec<NodeId>,
    /// What it reads from memory and what others need of it, ascending.
    pub(super) inputs: Vec<ValueId>,
    pub(super) outputs: Vec<ValueId>,
    /// Slots of arithmetic.
    pub(super) computing: f64,
    /// Contractions, convolutions and windows; reductions.
    pub(super) products: usize,
    pub(super) reductions: usize,
    /// Operators whose indices are data.
    pub(super) picking: usize,
    /// Nodes that put values together.
    pub(super) joining: usize,
    /// How often it computes elements of what it reads, for values of which that is more than once each.
    times: Vec<(ValueId, f64)>,
    /// How often its accumulators step.
    steps: f64,
    /// Composites and what loops do not compute: never joined.
    is_alone: bool,
    /// Whether it has dtypes that the machine lacks.
    pub(super) is_foreign: bool,
    /// Whether the processor beside the target runs it.
    pub(super) is_beside: bool,
    /// Whether it only moves elements.
    is_view: bool,
    /// Its first node: of two candidates that gain as much, the one first in the graph is taken.
    first: usize,
    /// Its place in an order of groups in which each follows those that it needs.
    rank: usize,
    /// How often it was joined; candidates of an earlier state are void.
    version: u32,
    /// What it was joined from last.
    pub(super) halves: Option<Halves>,
}

/// Two groups that may be joined, by numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// Thousandths of slots saved, the greatest first; then the first in the graph.
    gain: u64,
    place: Reverse<(usize, usize)>,
    pair: (usize, usize),
    versions: (u32, u32),
}

pub(super) struct Groups<'g> {
    pub(super) graph: &'g Graph,
    pub(super) orders: &'g Orders,
    pub(super) costs: Costs<'g>,
    /// Those of the processor beside the target, if something may run there.
    beside: Option<Costs<'g>>,
    pub(super) flow: Flow,
    pub(super) members: Vec<Members>,
    /// The group of each node that has one.
    pub(super) of: Vec<Option<usize>>,
    /// The operator that each node is part of, if only nodes of the same one are joined.
    part_of: Option<&'g [NodeId]>,
    heap: BinaryHeap<Candidate>,
    /// Kernels of groups as they are now.
    lowered: IdMap<usize, Shared>,
    /// What lowering made of groups so far.
    pub(super) forms: RefCell<Forms<'g>>,
    /// What lowering said of pairs, and the slots that these would take together by what it made of them.
    pub(super) refused: IdMap<(usize, usize), (Refused, f64)>,
    /// The stage that a group is part of, once stages are found.
    stage_of: IdMap<usize, usize>,
}

impl<'g> Groups<'g> {
    pub(super) fn new(
        graph: &'g Graph,
        orders: &'g Orders,
        machines: Machines<'g>,
        part_of: Option<&'g [NodeId]>,
    ) -> Groups<'g> {
        let flow = Flow::new(graph, machines.target.spread);
        let mut groups = Groups {
            graph,
            orders,
            costs: Costs::new(graph, machines.target),
            beside: machines.cpu.map(|m| Costs::new(graph, m)),
            flow,
            members: Vec::new(),
            of: vec![None; graph.nodes().len()],
            part_of,
            heap: BinaryHeap::new(),
            lowered: IdMap::default(),
            forms: RefCell::default(),
            refused: IdMap::default(),
            stage_of: IdMap::default(),
        };
        for n in graph.node_ids() {
            let constant = matches!(graph.node(n).op, Op::Constant(_));
            if groups.flow.live[n.index()] && !constant && !groups.flow.free[n.index()] {
                groups.of[n.index()] = Some(groups.members.len());
                let alone = groups.alone(n);
                groups.members.push(alone);
            }
        }
        groups
    }

    /// Whether the processor beside the target runs a node.
    fn is_beside(&self, n: NodeId) -> bool {
        self.beside.is_some() && self.graph.site(n) == Some(Site::Cpu)
    }

    /// The costs of what runs on the target, or on the processor beside it.
    fn costs(&self, is_beside: bool) -> &Costs<'g> {
        self.beside.as_ref().filter(|_| is_beside).unwrap_or(&self.costs)
    }

    /// The machine that runs a group.
    pub(super) fn machine_of(&self, m: &Members) -> &Machine {
        self.costs(m.is_beside).machine
    }

    /// Whether a node takes or gives a dtype that its machine lacks.
    fn is_foreign(&self, n: NodeId) -> bool {
        let node = self.graph.node(n);
        let dtype = |v: &ValueId| self.graph.ty(*v).as_tensor().map(|t| t.dtype);
        let lacks = self.costs(self.is_beside(n)).machine.lacks;
        node.inputs.iter().chain(&node.outputs).filter_map(dtype).any(|d| lacks.contains(&d))
    }

    /// A group of one node.
    fn alone(&self, n: NodeId) -> Members {
        let node = self.graph.node(n);
        let is_beside = self.is_beside(n);
        let mut members = Members {
            nodes: vec![n],
            inputs: self.flow.sources[n.index()].clone(),
            outputs: node.outputs.iter().copied().filter(|v| self.is_needed(*v, &[])).collect(),
            computing: self.costs(is_beside).computing[n.index()],
            is_alone: !takes(&node.op) || self.flow.host[n.index()].is_some(),
            is_foreign: self.is_foreign(n),
            is_beside,
            is_view: matches!(node.op, Op::Broadcast(_) | Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_)),
            first: n.index(),
            rank: self.members.len(),
            ..Members::default()
        };
        match &node.op {
            op if is_product(op) => members.products = 1,
            Op::Reduce(_) => members.reductions = 1,
            Op::Gather(_) | Op::DynamicSlice(_) => members.picking = 1,
            Op::Concat(_) | Op::Pad(_) | Op::UpdateSlice => members.joining = 1,
            _ => {}
        }
        if members.products + members.reductions > 0 {
            members.steps = self.costs.products(node);
        }
        members.times = self.costs(is_beside).readings(node, &self.flow, self.orders);
        members
    }

    /// Whether somebody outside of these groups needs a value.
    pub(super) fn is_needed(&self, v: ValueId, groups: &[usize]) -> bool {
        let outside = |n: &NodeId| self.of[n.index()].is_none_or(|g| !groups.contains(&g));
        self.flow.returned[v.index()] || self.flow.readers[v.index()].iter().any(outside)
    }

    fn producer(&self, v: ValueId) -> Option<usize> {
        match self.graph.value(v).def {
            Def::Node(n, _) => self.of[n.index()],
            Def::Input(_) => None,
        }
    }

    /// What two groups would be as one.
    pub(super) fn joined(&self, a: usize, b: usize) -> Members {
        let (x, y) = (&self.members[a], &self.members[b]);
        let inside = |v: &ValueId| self.producer(*v).is_some_and(|g| g == a || g == b);
        let merged = |p: &[ValueId], q: &[ValueId]| {
            let mut all: Vec<ValueId> = p.iter().chain(q).copied().collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let mut inputs = merged(&x.inputs, &y.inputs);
        inputs.retain(|v| !inside(v));
        let mut outputs = merged(&x.outputs, &y.outputs);
        outputs.retain(|v| self.is_needed(*v, &[a, b]));
        let again = [self.again(x, y), self.again(y, x)];
        Members {
            nodes: Vec::new(),
            times: self.times([(x, again[0]), (y, again[1])], &inputs),
            inputs,
            outputs,
            computing: x.computing * again[0] + y.computing * again[1],
            products: x.products + y.products,
            reductions: x.reductions + y.reductions,
            picking: x.picking + y.picking,
            joining: x.joining + y.joining,
            steps: x.steps + y.steps,
            is_alone: x.is_alone || y.is_alone,
            is_foreign: x.is_foreign || y.is_foreign,
            is_beside: x.is_beside && y.is_beside,
            is_view: x.is_view && y.is_view,
            first: x.first.min(y.first),
            rank: y.rank,
            version: x.version.max(y.version) + 1,
            halves: None,
        }
    }

    /// How often a group computes each element of what another one makes, if it computes that where it reads it: a product asks for every element many
    /// times, several views of one value may have the same element, and places that are data may be the same ones again.
    fn again(&self, made: &Members, by: &Members) -> f64 {
        let of = by.times.iter().filter(|(v, _)| made.outputs.binary_search(v).is_ok());
        of.map(|(_, times)| *times).fold(1.0, f64::max)
    }

    /// How often two groups that are one compute elements of what they read, if each computes what the other makes so many times.
    fn times(&self, [x, y]: [(&Members, f64); 2], inputs: &[ValueId]) -> Vec<(ValueId, f64)> {
        let reads = |m: &Members, v: &ValueId| m.inputs.binary_search(v).is_ok();
        let own = |(m, again): (&Members, f64), v: &ValueId| match reads(m, v) {
            true => again * m.times.iter().find(|(w, _)| w == v).map_or(1.0, |(_, times)| *times),
            false => 0.0,
        };
        let both = |v: &ValueId| {
            let (a, b) = (own(x, v), own(y, v));
            // What both read at the same places is read once.
            if a <= 1.0 && b <= 1.0 { 1.0 } else { a + b }
        };
        inputs.iter().map(|v| (*v, both(v))).filter(|(_, times)| *times > 1.0).collect()
    }

    /// The operator that a group is part of, if only nodes of the same one are joined: all its nodes are.
    pub(super) fn operator(&self, m: &Members) -> Option<usize> {
        Some(self.part_of?.get(m.first)?.index())
    }

    pub(super) fn predicted(&self, m: &Members) -> f64 {
        let costs = self.costs(m.is_beside);
        let moved = m.inputs.iter().chain(&m.outputs).map(|v| costs.moving[v.index()]).sum();
        costs.kernel(m.computing, moved)
    }

    /// Joins whatever gains by it.
    pub(super) fn join_all(&mut self) {
        for g in 0..self.members.len() {
            self.find_candidates(g, Found::AsReader);
        }
        while let Some(c) = self.heap.pop() {
            let (a, b) = c.pair;
            let current =
                |g: usize, v: u32| !self.members[g].nodes.is_empty() && self.members[g].version == v;
            if !current(a, c.versions.0) || !current(b, c.versions.1) {
                continue;
            }
            let Some(between) = self.between(a, b) else { continue };
            match self.may_lower(a, b) {
                Ok(lowered) => {
                    self.join(a, b, &between, lowered);
                    self.find_candidates(b, Found::BothWays);
                }
                Err(why) => {
                    self.refused.insert((a, b), why);
                }
            }
        }
    }

    /// Finds the candidates of a group.
    fn find_candidates(&mut self, g: usize, found: Found) {
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for v in &self.members[g].inputs {
            pairs.extend(self.producer(*v).map(|a| (a, g)));
            // Those who read the same value: the nearest before is enough, joining goes on from there.
            let readers = self.flow.readers[v.index()].iter().filter_map(|n| self.of[n.index()]);
            let mut before = None;
            for r in readers {
                if r == g {
                    pairs.extend(before.map(|s| (s, g)));
                } else if before == Some(g) {
                    pairs.push((g, r));
                }
                before = Some(r);
            }
        }
        if found == Found::BothWays {
            for v in &self.members[g].outputs {
                let readers = self.flow.readers[v.index()].iter().filter_map(|n| self.of[n.index()]);
                pairs.extend(readers.map(|b| (g, b)));
            }
        }
        pairs.retain(|(a, b)| a != b);
        pairs.sort_unstable();
        pairs.dedup();
        for (a, b) in pairs {
            let saved = match self.examine(a, b) {
                Ok((apart, together)) => apart - together,
                Err(_) => continue,
            };
            let (x, y) = (&self.members[a], &self.members[b]);
            self.heap.push(Candidate {
                gain: (saved * 1e3) as u64,
                place: Reverse((x.first, y.first)),
                pair: (a, b),
                versions: (x.version, y.version),
            });
        }
    }

    /// The slots that two groups are predicted to take apart and together, if together is less and no rule speaks
    /// against it; lowering may yet.
    fn examine(&self, a: usize, b: usize) -> Result<(f64, f64), Refused> {
        let (x, y) = (&self.members[a], &self.members[b]);
        if x.is_alone || y.is_alone {
            return Err(Refused::Alone);
        }
        if self.operator(x) != self.operator(y) {
            return Err(Refused::Separate);
        }
        if x.is_beside != y.is_beside {
            return Err(Refused::Places);
        }
        if x.is_foreign != y.is_foreign {
            return Err(Refused::Foreign);
        }
        if x.nodes.len() + y.nodes.len() > MOST_NODES {
            return Err(Refused::Size { nodes: x.nodes.len() + y.nodes.len() });
        }
        if self.flow.is_compared(&x.outputs, &y.inputs) || self.flow.is_compared(&y.outputs, &x.inputs) {
            return Err(Refused::Compared);
        }
        let feeds = self.feeds(a, b);
        match (x.products, y.products) {
            (0, 0) => {}
            (0, _) | (_, 0) if feeds => {}
            (0, _) | (_, 0) => return Err(Refused::Products),
            _ => self.abreast(x, y)?,
        }
        if x.products > 0 && y.reductions > 0 || (y.products > 0 && x.reductions > 0) {
            return Err(Refused::Rows);
        }
        // A view of what one product makes for another belongs to the one that reads it: there it is index arithmetic.
        if x.products > 0 && y.is_view && self.feeds_products(b) {
            return Err(Refused::View);
        }
        let joined = self.joined(a, b);
        self.one_space(&joined.outputs, &[a, b])?;
        let (apart, together) = (self.predicted(x) + self.predicted(y), self.predicted(&joined));
        if together >= apart {
            let repeats = self.again(x, y) > 1.0 || self.again(y, x) > 1.0;
            return Err(if repeats { Refused::Again } else { Refused::NoGain });
        }
        Ok((apart, together))
    }

    /// Whether what a group computes is read, and only by products.
    fn feeds_products(&self, g: usize) -> bool {
        let mut readers =
            self.members[g].outputs.iter().flat_map(|v| &self.flow.readers[v.index()]).peekable();
        readers.peek().is_some() && readers.all(|n| is_product(&self.graph.node(*n).op))
    }

    /// Asks lowering where indices are data, which must lie in a buffer, where there are accumulators, which may need scratch that
    /// cannot be, or would be computed again and again in loops that they do not depend on, and where values are computed at several places: how often,
    /// is known of the kernel alone.
    fn may_lower(&mut self, a: usize, b: usize) -> Result<Option<Made>, (Refused, f64)> {
        let (x, y) = (&self.members[a], &self.members[b]);
        let repeats = self.again(x, y) > 1.0 || self.again(y, x) > 1.0;
        if !repeats && [x, y].iter().all(|m| m.products + m.reductions + m.picking + m.joining == 0) {
            return Ok(None);
        }
        let mut nodes = x.nodes.clone();
        nodes.extend(&y.nodes);
        let mut joined = self.joined(a, b);
        let lowered = self.lower(&nodes, &joined.outputs).map_err(|why| (why, self.predicted(&joined)))?;
        let costs = self.costs(joined.is_beside);
        // Drivers take long for what is computed at many places, and starting a kernel on a device is worth much computing.
        let most = IN_SHADER[0] * nodes.len() + IN_SHADER[1];
        let repeats = repeats || x.joining + y.joining > 0;
        if costs.machine.spread == Spread::Grid && repeats && lowered.kernel.exprs.len() > most {
            return Err((Refused::Work { most }, self.predicted(&joined)));
        }
        if joined.products == 0 {
            let (computing, times) = costs.work(&lowered.kernel, &lowered.inputs);
            joined.computing = computing.max(x.computing + y.computing);
            joined.times = times;
        } else {
            joined.computing += costs.stepping((Costs::steps(&lowered.kernel) - joined.steps).max(0.0));
        }
        let together = self.predicted(&joined);
        // Each slice of a product would be a product of its own, and none of them a tile.
        let sums: usize = lowered.kernel.accs.iter().map(|a| a.state.len()).sum();
        if joined.products > 0 && sums > joined.products + joined.reductions {
            return Err((Refused::Sliced, together));
        }
        if joined.products > 1 && lowered.kernel.accs.len() > 1 {
            return Err((Refused::Products, together));
        }
        if together >= self.predicted(x) + self.predicted(y) {
            return Err((Refused::Again, together));
        }
        let Members { computing, times, .. } = joined;
        Ok(Some(Made { lowered, computing, times }))
    }

    fn lower(&self, nodes: &[NodeId], outputs: &[ValueId]) -> Result<Shared, Refused> {
        let group = Group { nodes: self.flow.with_free(self.graph, nodes), outputs: outputs.to_vec() };
        let is_beside = nodes.first().is_some_and(|n| self.is_beside(*n));
        self.lowered_of(&group, Rows::Each, self.costs(is_beside).machine)
    }

    /// The groups that a group must follow.
    pub(super) fn before(&self, g: usize) -> impl Iterator<Item = usize> + '_ {
        let members = &self.members[g];
        let needed = members.nodes.iter().flat_map(|n| &self.flow.needs[n.index()]);
        let needed = needed.filter_map(|n| self.of[n.index()]);
        members.inputs.iter().filter_map(|v| self.producer(*v)).chain(needed)
    }

    /// The groups that must follow a group.
    fn after(&self, g: usize) -> impl Iterator<Item = usize> + '_ {
        let members = &self.members[g];
        let readers = members.outputs.iter().flat_map(|v| &self.flow.readers[v.index()]);
        let needing = members.nodes.iter().flat_map(|n| &self.flow.needed_by[n.index()]);
        readers.chain(needing).filter_map(|n| self.of[n.index()])
    }

    /// The groups between two in the order of ranks that the later one needs, and those that need the earlier one. `None` if
    /// there is a path from one of the two to the other besides the direct one: joined, they would wait for a group that waits for them.
    pub(super) fn between(&self, a: usize, b: usize) -> Option<Between> {
        let rank = |g: usize| self.members[g].rank;
        let (early, late) = if rank(a) < rank(b) { (a, b) } else { (b, a) };
        let mut seen: IdSet<usize> = [early, late].into_iter().collect();
        let mut needed: Vec<usize> = Vec::new();
        let mut open: Vec<usize> = self.before(late).filter(|g| *g != early).collect();
        while let Some(g) = open.pop() {
            if rank(g) < rank(early) || !seen.insert(g) {
                continue;
            }
            for h in self.before(g) {
                if h == early {
                    return None;
                }
                open.push(h);
            }
            needed.push(g);
        }
        let mut needing: Vec<usize> = Vec::new();
        let mut open: Vec<usize> = self.after(early).collect();
        while let Some(g) = open.pop() {
            if rank(g) < rank(late) && seen.insert(g) {
                needing.push(g);
                open.extend(self.after(g));
            }
        }
        needed.sort_unstable_by_key(|g| rank(*g));
        needing.sort_unstable_by_key(|g| rank(*g));
        Some(Between { needed, needing })
    }

    /// The second group takes the first in.
    pub(super) fn join(&mut self, a: usize, b: usize, between: &Between, made: Option<Made>) {
        let mut joined = self.joined(a, b);
        let lowered = made.map(|made| {
            joined.computing = made.computing;
            joined.times = made.times;
            made.lowered
        });
        // What the two need comes before them, what needs them after; all others keep their ranks.
        let Between { needed, needing } = between;
        let mut ranks: Vec<usize> =
            needed.iter().chain(needing).chain(&[a, b]).map(|g| self.members[*g].rank).collect();
        ranks.sort_unstable();
        joined.rank = ranks[needed.len()];
        needed.iter().zip(&ranks).for_each(|(g, r)| self.members[*g].rank = *r);
        needing.iter().rev().zip(ranks.iter().rev()).for_each(|(g, r)| self.members[*g].rank = *r);
        let half = |g: usize| {
            let m = &self.members[g];
            Half::new(m.nodes.clone(), self.predicted(m), m.halves.clone())
        };
        joined.halves = Some(Rc::new([half(a), half(b)]));
        let gone = std::mem::take(&mut self.members[a]);
        gone.nodes.iter().for_each(|n| self.of[n.index()] = Some(b));
        joined.nodes = std::mem::take(&mut self.members[b].nodes);
        joined.nodes.extend(gone.nodes);
        self.members[b] = joined;
        self.lowered.remove(&a);
        // What was said of the pair's parts is not said of the whole.
        self.refused.retain(|(x, y), _| ![x, y].iter().any(|g| **g == a || **g == b));
        match lowered {
            Some(lowered) => {
                self.members[b].steps = Costs::steps(&lowered.kernel);
                self.lowered.insert(b, lowered);
            }
            None => {
                self.lowered.remove(&b);
            }
        }
    }

    /// The groups, each after those that it needs.
    pub(super) fn by_rank(&self) -> Vec<usize> {
        let mut groups: Vec<usize> =
            (0..self.members.len()).filter(|g| !self.members[*g].nodes.is_empty()).collect();
        groups.sort_by_key(|g| self.members[*g].rank);
        groups
    }

    /// The groups with their kernels, each after those that it needs.
    pub(super) fn finish(&mut self) -> Partition {
        let groups = self.by_rank();
        let units = self.with_stages(groups.clone());
        for (n, unit) in units.iter().enumerate() {
            if let Unit::Stage(groups) = unit {
                self.stage_of.extend(groups.iter().map(|g| (*g, n)));
            }
        }
        let refused = groups.iter().flat_map(|g| self.refusals(*g)).collect();
        let parts = units.into_iter().flat_map(|unit| match unit {
            Unit::Group(g) => self.parts_of(g),
            Unit::Stage(groups) => vec![self.stage(&groups)],
        });
        Partition { parts: parts.collect(), refused }
    }

    /// The kernel of a group; if lowering refuses it after all, those of what it was joined from.
    fn parts_of(&mut self, g: usize) -> Vec<Part> {
        let Members { nodes, outputs, halves, .. } = self.members[g].clone();
        let known = self.lowered.remove(&g);
        let whole = Part { halves, ..self.part(&nodes, outputs, known) };
        let mut open = vec![whole];
        let mut parts = Vec::new();
        while let Some(part) = open.pop() {
            match part.halves.as_ref().filter(|_| part.lowered.is_err()).and_then(|h| self.split(h)) {
                Some(halves) => open.extend(halves.into_iter().rev()),
                None => parts.push(part),
            }
        }
        parts
    }

    pub(super) fn part(&self, nodes: &[NodeId], outputs: Vec<ValueId>, known: Option<Shared>) -> Part {
        let refused = nodes.iter().find_map(|n| self.flow.host[n.index()].clone());
        let lowered = match (known, refused, nodes) {
            (Some(lowered), ..) => Ok(lowered.own()),
            (None, Some(refused), _) => Err(refused),
            (None, None, [n]) if self.graph.node(*n).op.is_composite() => {
                attention(self.graph, *n, ATTENTION)
            }
            (None, None, [n]) if self.is_mixed(*n) => Err(Refused::Places),
            (None, None, [n]) if matches!(self.graph.node(*n).op, Op::Scan(_)) => {
                recurrence(self.graph, *n, &outputs)
            }
            _ => self.lower(nodes, &outputs).map(Shared::own),
        };
        let group = Group { nodes: self.flow.with_free(self.graph, nodes), outputs };
        Part {
            group,
            operators: nodes.len(),
            lowered: lowered.map_err(Into::into),
            is_stage: false,
            halves: None,
        }
    }

    /// Whether a body of a node has nodes in another place than the node.
    fn is_mixed(&self, n: NodeId) -> bool {
        let bodies = self.graph.node(n).op.subgraphs();
        self.beside.is_some() && !bodies.iter().all(|(_, body)| body.is_all_at(self.graph.site(n)))
    }

    /// Why a group is apart from those whose results it reads, and from those that read the same where that would gain.
    fn refusals(&self, b: usize) -> Vec<Refusal> {
        let mut refusals: Vec<Refusal> = Vec::new();
        if self.members[b].outputs.is_empty() {
            // It gives a size its value, which no kernel does.
            return refusals;
        }
        for v in &self.members[b].inputs {
            // What stays apart in a stage is told by the plan of that stage.
            let elsewhere = |a: &usize| self.stage_of.get(a).is_none_or(|s| self.stage_of.get(&b) != Some(s));
            if let Some(a) = self.producer(*v).filter(elsewhere) {
                refusals.push(self.refusal(*v, a, b, None));
            }
            let before =
                |n: &&NodeId| self.of[n.index()].is_some_and(|g| self.members[g].rank < self.members[b].rank);
            let beside = self.flow.readers[v.index()].iter().rev().find(before);
            let Some(a) = beside.and_then(|n| self.of[n.index()]).filter(elsewhere) else { continue };
            let result = self.members[a].outputs.first().copied();
            let refusal = self.refusal(*v, a, b, result);
            let known = refusals.iter().any(|r| r.beside == result && result.is_some());
            if refusal.together < refusal.apart && !known && !self.feeds(a, b) {
                refusals.push(refusal);
            }
        }
        refusals
    }

    /// Whether a group reads what another one computes.
    fn feeds(&self, a: usize, b: usize) -> bool {
        self.members[a].outputs.iter().any(|v| self.members[b].inputs.binary_search(v).is_ok())
    }

    /// Why two groups are apart, of which the second reads a value.
    fn refusal(&self, value: ValueId, a: usize, b: usize, beside: Option<ValueId>) -> Refusal {
        let together = self.predicted(&self.joined(a, b));
        let said = match self.stage_of.get(&a) == self.stage_of.get(&b) {
            true => self.refused.get(&(a, b)).cloned(),
            false => Some((Refused::Stages, together)),
        };
        let (why, together) = match (said, self.examine(a, b)) {
            (Some(said), _) => said,
            (None, Err(why)) => (why, together),
            (None, Ok(_)) => (Refused::Waits, together),
        };
        let apart = self.predicted(&self.members[a]) + self.predicted(&self.members[b]);
        Refusal {
            value,
            reader: self.members[b].outputs.first().copied().unwrap_or(value),
            beside,
            why,
            apart: self.costs.seconds(apart),
            together: self.costs.seconds(together),
        }
    }
}

/// Two groups as one kernel, and what that computes.
pub(super) struct Made {
    pub(super) lowered: Shared,
    /// Slots of arithmetic.
    pub(super) computing: f64,
    /// How often it computes elements of what it reads, where that is more than once.
    pub(super) times: Vec<(ValueId, f64)>,
}

/// Which candidates of a group are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Those with what it reads, and with others that read the same.
    AsReader,
    /// And those with who reads it.
    BothWays,
}
