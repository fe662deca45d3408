//! Chains: groups with one product each that follow one another over the same rows become one kernel where that takes less time.
//!
//! A *link* is a group that multiplies a matrix of rows by another and gives one result, which the next link alone reads. Apart, each link is
//! a launch in which all of a device, or a team, works on one product. Together, a block of rows goes through all of them in one unit, a workgroup or
//! a core, and nothing but the second factors comes from memory: what is saved are launches, what is paid is that every block brings all factors for
//! itself and that there are only so many blocks. [`Chains`] has the numbers.

use super::join::{Groups, Made};
use crate::buffer::Role;
use crate::chain::links;
use crate::choose::gains_by_zeros;
use crate::group::{Group, Refused};
use crate::lower::{Rows, is_product};
use crate::machine::{Chains, Spread};
use crate::skip::is_often_zero;
use crate::tree::Kernel;
use lawson_graph::{DType, NodeId, Op, ValueId};

/// A group that may be part of a chain.
struct Link {
    group: usize,
    /// Its product, by which it is found again when it was joined.
    product: NodeId,
    output: ValueId,
    /// Rows, columns and terms of its product.
    sizes: [i64; 3],
    /// Slots that it takes as a kernel of its own.
    apart: f64,
    /// Buffers that it reads besides the rows.
    reads: usize,
}

impl Groups<'_> {
    /// Finds the chains, and joins each.
    pub(super) fn chain_all(&mut self) {
        let Some(chains) = self.costs.machine.chains else { return };
        let mut is_taken = vec![false; self.members.len()];
        for g in self.by_rank() {
            let mut run: Vec<Link> = Vec::new();
            let mut next = Some(g);
            while let Some(link) =
                next.filter(|g| !is_taken[*g]).and_then(|g| self.link(&chains, g, run.last()))
            {
                is_taken[link.group] = true;
                next = self.only_reader(link.output);
                run.push(link);
            }
            if run.len() > 1 {
                self.chain_run(&chains, &run);
            }
        }
    }

    /// A group as a link, after another one.
    fn link(&self, chains: &Chains, g: usize, before: Option<&Link>) -> Option<Link> {
        let members = &self.members[g];
        let plain = members.products == 1 && members.reductions + members.picking + members.joining == 0;
        let here = !members.is_foreign && !members.is_beside;
        let (true, &[output]) = (plain && here, members.outputs.as_slice()) else {
            return None;
        };
        let product = *members.nodes.iter().find(|n| is_product(&self.graph.node(**n).op))?;
        let node = self.graph.node(product);
        let Op::Contract(contract) = &node.op else { return None };
        let [(left, _)] = contract.sum.as_slice() else { return None };
        let shape = |v: ValueId| -> Option<Vec<i64>> {
            let ty = self.graph.ty(v).as_tensor().filter(|t| t.dtype == DType::F32)?;
            ty.shape.iter().map(|d| d.as_const()).collect()
        };
        let (rows, columns) = match shape(output)?.as_slice() {
            &[rows, columns] if contract.batch.is_empty() => (rows, columns),
            _ => return None,
        };
        let terms = *shape(node.inputs[0])?.get(*left)?;
        if [columns, terms].iter().any(|n| *n == 0 || n % chains.multiple.max(1) != 0) {
            return None;
        }
        if let Some(before) = before
            && (self.operator(&self.members[before.group]) != self.operator(members)
                || before.sizes[0] != rows
                || before.sizes[1] != terms)
        {
            return None;
        }
        let apart = self.predicted(members);
        let reads = members.inputs.len() - usize::from(before.is_some());
        Some(Link { group: g, product, output, sizes: [rows, columns, terms], apart, reads })
    }

    /// The one group that reads a value, if nobody else needs it.
    fn only_reader(&self, v: ValueId) -> Option<usize> {
        let mut readers = self.flow.readers[v.index()].iter().map(|n| self.of[n.index()]);
        let first = readers.next()??;
        (!self.flow.returned[v.index()] && readers.all(|g| g == Some(first))).then_some(first)
    }

    /// Joins the parts of a run of links that gain by it, and says of the others why they stay apart.
    fn chain_run(&mut self, chains: &Chains, run: &[Link]) {
        let block = match self.block(chains, run) {
            Ok(block) => block,
            Err(why) => return run.windows(2).for_each(|pair| self.stay_apart(pair, why.clone(), [None; 2])),
        };
        let alone: Vec<Option<(Refused, f64)>> =
            run.iter().map(|l| self.stays_alone(chains, l, block)).collect();
        let mut borders: Vec<(usize, Refused)> = Vec::new();
        let mut from = 0;
        for n in 1..=run.len() {
            let said = alone.get(n).and_then(Option::as_ref).or(alone[n - 1].as_ref());
            let why = said.map(|(why, _)| why.clone());
            let why = why.or_else(|| most_of(chains, run.get(from..=n)?));
            if why.is_none() && n < run.len() {
                continue;
            }
            let part = &run[from..n];
            if let Err(why) = self.chain_part(chains, part, block) {
                part.windows(2).for_each(|pair| self.stay_apart(pair, why.clone(), [None; 2]));
            }
            borders.extend(why.map(|why| (n, why)));
            from = n;
        }
        // Joining forgets what was said of a group before.
        for (n, why) in borders.into_iter().filter(|(n, _)| *n < run.len()) {
            let slots = [n - 1, n].map(|l| alone[l].as_ref().map(|(_, slots)| *slots));
            self.stay_apart(&run[n - 1..=n], why, slots);
        }
    }

    /// How many rows are in a block: what takes the least time of those with which two neighbouring results fit into half of the scratch. The rest
    /// is for sums that members share.
    fn block(&self, chains: &Chains, run: &[Link]) -> Result<i64, Refused> {
        let columns = run.iter().map(|l| l.sizes[1]).filter(|n| *n <= chains.columns);
        let bytes = 4 * 2 * columns.max().unwrap_or(0);
        let fits = |b: &i64| run[0].sizes[0] % b == 0 && bytes * b <= chains.scratch / 2;
        let total = |b: i64| run.iter().map(|l| self.in_chain(chains, l, b)).sum::<f64>();
        let blocks = chains.blocks.iter().copied();
        let best = blocks.filter(fits).min_by(|a, b| total(*a).total_cmp(&total(*b)));
        best.ok_or(Refused::Chain { of: "bytes of scratch", found: bytes, most: chains.scratch / 2 })
    }

    /// Why a link can be in no chain, and the slots that it would take there.
    fn stays_alone(&self, chains: &Chains, link: &Link, block: i64) -> Option<(Refused, f64)> {
        let (columns, slots) = (link.sizes[1], self.in_chain(chains, link, block));
        if columns > chains.columns {
            return Some((Refused::Chain { of: "columns", found: columns, most: chains.columns }, slots));
        }
        if self.leaves_out(link) {
            return Some((Refused::Zeros, slots));
        }
        (slots >= link.apart).then_some((Refused::NoGain, slots))
    }

    /// Whether a product with what is often 0 gains by leaving that out, which is possible where it is alone.
    fn leaves_out(&self, link: &Link) -> bool {
        let node = self.graph.node(link.product);
        let &[rows, factor] = node.inputs.as_slice() else { return false };
        let is_constant = matches!(self.graph.defining(factor).map(|n| &n.op), Some(Op::Constant(_)));
        is_constant && is_often_zero(self.graph, rows) && gains_by_zeros(self.costs.machine, link.sizes)
    }

    /// Notes why two links that follow one another are not in one kernel, and the slots that each of them would take if that were what counts.
    fn stay_apart(&mut self, pair: &[Link], why: Refused, slots: [Option<f64>; 2]) {
        let [Some(a), Some(b)] = [0, 1].map(|n| self.of[pair[n].product.index()]) else { return };
        let together = match why {
            Refused::NoGain => {
                let of = |n: usize, g: usize| slots[n].unwrap_or_else(|| self.predicted(&self.members[g]));
                of(0, a) + of(1, b)
            }
            _ => self.predicted(&self.joined(a, b)),
        };
        self.refused.insert((a, b), (why, together));
    }

    /// Slots that a link takes in a chain with so many rows in a block.
    fn in_chain(&self, chains: &Chains, link: &Link, block: i64) -> f64 {
        let [rows, columns, terms] = link.sizes.map(|n| n as f64);
        let machine = self.costs.machine;
        let units = chains.units as f64;
        let blocks = rows / block as f64;
        let bytes = columns * terms * 4.0;
        // A slot is a vector multiply-add of all units of a device at once, and of one core: idle ones count as if they worked.
        let (unit_lanes, at_once) = match machine.spread {
            Spread::Grid => (machine.lanes as f64 / units, 1.0),
            Spread::Team => (machine.lanes as f64, units),
        };
        let own = (block as f64 * columns * terms / unit_lanes).max(bytes / chains.unit_bytes_per_fma)
            * (blocks / units).ceil()
            * at_once;
        own.max(bytes * blocks / machine.l2_bytes_per_fma) + chains.fmas_per_link
    }

    /// Joins links that follow one another; an error says why they stay as they are.
    fn chain_part(&mut self, chains: &Chains, part: &[Link], block: i64) -> Result<(), Refused> {
        let [_, .., last] = part else { return Ok(()) };
        let nodes: Vec<NodeId> = part.iter().flat_map(|l| self.members[l.group].nodes.clone()).collect();
        let nodes = self.flow.with_free(self.graph, &nodes);
        let group = Group { nodes, outputs: vec![last.output] };
        let lowered = self.lowered_of(&group, Rows::Blocks(block), self.costs.machine)?;
        let found = links(&lowered.kernel).map_or(0, |(_, found)| found.len());
        if found != part.len() {
            let (expected, found) = ("a chain of all its products", format!("one of {found}"));
            return Err(Refused::Pattern { expected, found });
        }
        check_scratch(chains, &lowered.kernel)?;
        let mut lowered = Some(lowered);
        for (n, pair) in part.windows(2).enumerate() {
            let [a, b] = [pair[0].group, pair[1].group];
            let between = self.between(a, b).ok_or(Refused::Waits)?;
            let whole = if n + 2 == part.len() { lowered.take() } else { None };
            let made = whole.map(|lowered| {
                let computing = [a, b].map(|g| self.members[g].computing).iter().sum();
                Made { lowered, computing, times: Vec::new() }
            });
            self.join(a, b, &between, made);
        }
        Ok(())
    }
}

/// What of links that follow one another is more than a chain may have.
fn most_of(chains: &Chains, part: &[Link]) -> Option<Refused> {
    // The rows that come in and the result that goes out, and what each link reads besides.
    let buffers = 2 + part.iter().map(|l| l.reads).sum::<usize>();
    let factors = part.iter().map(|l| l.sizes[1].saturating_mul(l.sizes[2]).saturating_mul(4));
    let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let limits = [
        ("links", count(part.len()), count(chains.links)),
        ("buffers", count(buffers), count(chains.buffers)),
        ("bytes of factors", factors.fold(0, i64::saturating_add), chains.factors),
    ];
    let (of, found, most) = limits.into_iter().find(|(_, found, most)| found > most)?;
    Some(Refused::Chain { of, found, most })
}

/// Whether the scratch of a chain is no more than there is.
fn check_scratch(chains: &Chains, kernel: &Kernel) -> Result<(), Refused> {
    let scratch = kernel.buffers.iter().filter(|b| matches!(b.role, Role::Scratch(_)));
    // A word an element, at least.
    let bytes = scratch.map(|b| b.layout.size.as_const()?.checked_mul((b.dtype.bits() as i64 / 8).max(4)));
    let found = bytes.sum::<Option<i64>>().unwrap_or(i64::MAX);
    match found > chains.scratch {
        true => Err(Refused::Chain { of: "bytes of scratch", found, most: chains.scratch }),
        false => Ok(()),
    }
}
