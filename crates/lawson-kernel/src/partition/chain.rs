//! Chains: groups with one product each that follow one another over the same rows become one kernel where that takes less time.
//!
//! A *link* is a group that multiplies a matrix of rows by another and gives one result, which the next link alone reads. Apart, each link is
//! a launch in which all of a device works on one product. Together, a block of rows goes through all of them in one workgroup, and nothing but
//! the second factors comes from memory: what is saved are launches, what is paid is that every block brings all factors for itself and
//! that there are only so many blocks. [`Chains`] has the numbers.

use super::join::Groups;
use crate::chain::links;
use crate::group::{Group, Refused};
use crate::lower::{Options, Rows, is_product, lower_with};
use crate::machine::Chains;
use lawson_graph::{DType, NodeId, Op, ValueId};

/// The blocks of rows that are tried: more than four take registers that are better used to look ahead.
const BLOCKS: [i64; 3] = [4, 2, 1];

/// The most links of a chain. A kernel is compiled as one piece, for which drivers take longer than for its parts, and one launch more
/// is little beside so many products.
const MOST_LINKS: usize = 8;

/// A group that may be part of a chain.
struct Link {
    group: usize,
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
            while let Some(link) = next.filter(|g| !is_taken[*g]).and_then(|g| self.link(g, run.last())) {
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
    fn link(&self, g: usize, before: Option<&Link>) -> Option<Link> {
        let members = &self.members[g];
        let plain = members.products == 1 && members.reductions + members.picking + members.joining == 0;
        let here = !members.is_foreign && !members.is_beside;
        let (true, &[output]) = (plain && here, members.outputs.as_slice()) else {
            return None;
        };
        let node = members.nodes.iter().map(|n| self.graph.node(*n)).find(|n| is_product(&n.op))?;
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
        // Four numbers are read at a time.
        if columns % 4 != 0 || terms % 4 != 0 || columns == 0 || terms == 0 {
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
        Some(Link { group: g, output, sizes: [rows, columns, terms], apart, reads })
    }

    /// The one group that reads a value, if nobody else needs it.
    fn only_reader(&self, v: ValueId) -> Option<usize> {
        let mut readers = self.flow.readers[v.index()].iter().map(|n| self.of[n.index()]);
        let first = readers.next()??;
        (!self.flow.returned[v.index()] && readers.all(|g| g == Some(first))).then_some(first)
    }

    /// Joins the parts of a run of links that gain by it.
    fn chain_run(&mut self, chains: &Chains, run: &[Link]) {
        let rows = run[0].sizes[0];
        let fits = |b: &i64| {
            let longest = run.iter().map(|l| l.sizes[1].max(l.sizes[2])).max().unwrap_or(0);
            rows % b == 0 && 4 * 2 * b * longest <= chains.scratch / 2
        };
        let total = |b: i64| run.iter().map(|l| self.in_chain(chains, l, b)).sum::<f64>();
        let Some(block) = BLOCKS.into_iter().filter(fits).min_by(|a, b| total(*a).total_cmp(&total(*b)))
        else {
            return;
        };
        let mut part: Vec<usize> = Vec::new();
        // The rows that come in and the result that goes out.
        let mut buffers = 2;
        for (n, link) in run.iter().enumerate() {
            let chained = self.in_chain(chains, link, block);
            let full = buffers + link.reads > chains.buffers || part.len() == MOST_LINKS;
            if full || chained >= link.apart {
                self.chain_part(run, &std::mem::take(&mut part), block);
                buffers = 2;
            }
            if chained < link.apart {
                part.push(n);
                buffers += link.reads;
            } else if n > 0 {
                let together = chained + run[n - 1].apart;
                self.refused.insert((run[n - 1].group, link.group), (Refused::NoGain, together));
            }
        }
        self.chain_part(run, &part, block);
    }

    /// Slots that a link takes in a chain with so many rows in a block.
    fn in_chain(&self, chains: &Chains, link: &Link, block: i64) -> f64 {
        let [rows, columns, terms] = link.sizes.map(|n| n as f64);
        let machine = self.costs.machine;
        let units = chains.units as f64;
        let blocks = rows / block as f64;
        let bytes = columns * terms * 4.0;
        let own = (block as f64 * columns * terms * units / machine.lanes as f64)
            .max(bytes / chains.unit_bytes_per_fma)
            * (blocks / units).ceil();
        own.max(bytes * blocks / machine.l2_bytes_per_fma) + chains.fmas_per_link
    }

    /// Joins links that follow one another.
    fn chain_part(&mut self, run: &[Link], part: &[usize], block: i64) {
        let [first, .., last] = part else { return };
        let groups: Vec<usize> = run[*first..=*last].iter().map(|l| l.group).collect();
        let nodes: Vec<NodeId> = groups.iter().flat_map(|g| self.members[*g].nodes.clone()).collect();
        let nodes = self.flow.with_free(self.graph, &nodes);
        let group = Group { nodes, outputs: vec![run[*last].output] };
        let options = Options { rows: Rows::Blocks(block), orders: Some(self.orders) };
        let Ok(lowered) = lower_with(self.graph, &group, &options) else { return };
        if links(&lowered.kernel).is_none_or(|(_, found)| found.len() != groups.len()) {
            return;
        }
        let mut lowered = Some(lowered);
        for (n, pair) in groups.windows(2).enumerate() {
            let Some(between) = self.between(pair[0], pair[1]) else { return };
            let whole = if n + 2 == groups.len() { lowered.take() } else { None };
            self.join(pair[0], pair[1], &between, whole);
        }
    }
}
