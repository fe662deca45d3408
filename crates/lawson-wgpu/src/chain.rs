//! Chains of products: a workgroup takes a block of rows through all of them, and keeps what lies between two in its memory.
//!
//! ```text
//! for every link, the members together:
//!   a member has four columns of all rows of the block, and a share of the terms, of which it takes four at a time:
//!     it fetches four columns of the next terms from the second factor, loads four terms of each row from workgroup memory, and steps its sums
//!   it fetches the first terms of the next link
//!   the shares meet in workgroup memory; barrier; members store what becomes of the sums, four columns at a time; barrier
//! ```
//!
//! So every number of a second factor is read by one member of a workgroup, once.

use crate::lower::{Lower, refused};
use crate::opcode::{
    By, Capabilities, Four, Literal, MemoryId, OpCode, QuadId, Residence, Test, Ty, ValueId, VarId, Word,
};
use crate::quads::{check_place, check_quads};
use crate::value::Known;
use lawson_graph::{DType, Dim, Result};
use lawson_kernel::chain::{Link, links};
use lawson_kernel::{AxisId, BufferId, Kernel, Node, Role};
use std::collections::BTreeSet;

/// The most members that share a link.
const MOST_MEMBERS: i64 = 512;
/// A share of the terms has at least so many fours.
const LEAST_SHARE: i64 = 2;

/// How a chain is shared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chain {
    pub(crate) members: u32,
    /// The buffers, scratch among them, that are read and written by fours.
    pub(crate) quads: BTreeSet<BufferId>,
    /// How the members share each link.
    shares: Vec<Share>,
}

/// How the members share the terms of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Share {
    /// Into how many shares they are split.
    shares: i64,
    /// How many fours of them a member has variables for: where there are two, what comes next needs not be moved.
    ahead: i64,
}

impl Chain {
    /// Words of workgroup memory in which shares meet.
    pub(crate) fn partial(&self, kernel: &Kernel) -> i64 {
        let of = |(link, Share { shares, .. }): (&Link<'_>, &Share)| match shares {
            1 => 0,
            _ => link.sizes[0] * link.sizes[1] * shares,
        };
        links(kernel).map_or(0, |(_, links)| links.iter().zip(&self.shares).map(of).max().unwrap_or(0))
    }
}

/// The most members that share a link on a device.
fn most_members(capabilities: &Capabilities) -> i64 {
    MOST_MEMBERS.min(i64::from(capabilities.max_members))
}

/// The most columns of a link: each member has four.
pub(crate) fn most_columns(capabilities: &Capabilities) -> i64 {
    4 * most_members(capabilities)
}

/// How the members share a kernel, if that is a chain. Buffers that are given `whole` may be read by fours.
pub(crate) fn chain(kernel: &Kernel, capabilities: &Capabilities, whole: bool) -> Option<Chain> {
    let (_, links) = links(kernel)?;
    let scratch = |b: &lawson_kernel::Buffer| matches!(b.role, Role::Scratch(_));
    let kept = kernel.buffers.iter().filter(|b| scratch(b)).map(|b| b.layout.size.as_const());
    let left = i64::from(capabilities.workgroup_memory) / 4 - kept.sum::<Option<i64>>()?;
    let by_four = |l: &Link<'_>| l.sizes.iter().all(|n| *n > 0) && l.sizes[1] % 4 == 0 && l.sizes[2] % 4 == 0;
    if left < 0 || !links.iter().all(by_four) {
        return None;
    }
    let useful = |l: &Link<'_>| (l.sizes[2] / 4 / LEAST_SHARE).max(1);
    let wanted = links.iter().map(|l| l.sizes[1] / 4 * useful(l)).max()?;
    let members = ((wanted + 31) / 32 * 32).min(most_members(capabilities));
    // Each column is some member's.
    if links.iter().any(|l| l.sizes[1] / 4 > members) {
        return None;
    }
    let shares = links.iter().map(|l| {
        let room = left / (l.sizes[0] * l.sizes[1]);
        let most = (members / (l.sizes[1] / 4)).min(useful(l)).min(room).max(1);
        // A power of two: shares of the same length.
        let shares = 1 << most.ilog2();
        let fours = l.sizes[2] / 4;
        let ahead = if fours % (2 * shares) == 0 { 2 } else { 1 };
        Share { shares, ahead }
    });
    let shares = shares.collect();
    Some(Chain { members: u32::try_from(members).ok()?, quads: quads(kernel, &links, whole), shares })
}

/// The buffers that are read and written by fours: along the terms in first factors, along the columns elsewhere; of second factors
/// along either.
fn quads(kernel: &Kernel, links: &[Link<'_>], whole: bool) -> BTreeSet<BufferId> {
    let fours = |b: &BufferId| {
        let buffer = kernel.buffer(*b);
        let is_scratch = matches!(buffer.role, Role::Scratch(_));
        let size = buffer.layout.size.as_const().is_some_and(|s| s % 4 == 0);
        buffer.dtype == DType::F32 && size && (is_scratch || whole)
    };
    let mut fit: BTreeSet<BufferId> = (0..kernel.buffers.len() as u32).map(BufferId).filter(fours).collect();
    for link in links {
        let [_, columns, terms] = link.axes();
        check_quads(kernel, link.factors[0], terms, &mut fit);
        check_quads(kernel, link.factors[1], along(kernel, link), &mut fit);
        for node in link.stores {
            let Node::Store(s) = node else { continue };
            check_quads(kernel, s.value, columns, &mut fit);
            check_place(kernel, s.buffer, &s.index, columns, &mut fit);
        }
    }
    fit
}

/// The axis along which the second factor of a link is read by fours.
fn along(kernel: &Kernel, link: &Link<'_>) -> AxisId {
    let [_, columns, terms] = link.axes();
    let all: BTreeSet<BufferId> = (0..kernel.buffers.len() as u32).map(BufferId).collect();
    let lost = |axis: AxisId| {
        let mut fit = all.clone();
        check_quads(kernel, link.factors[1], axis, &mut fit);
        all.len() - fit.len()
    };
    if lost(terms) < lost(columns) { terms } else { columns }
}

/// What a member has of a link: four columns of all rows, and a share of the terms.
struct Own {
    /// The first of its columns.
    column: Word,
    /// Which share it has, and how many there are.
    share: Word,
    shares: i64,
}

/// Variables for fours of terms, of four columns each.
type Fetched = Vec<[QuadId; 4]>;

impl Lower<'_> {
    /// The links of a chain, one after another.
    pub(crate) fn chain(&mut self, chain: &Chain) -> Result<()> {
        let Some((_, links)) = links(self.kernel) else {
            return Err(refused(self.kernel, "a chain without links"));
        };
        let partial = chain.partial(self.kernel);
        let memory = (partial > 0).then(|| {
            let memory = self.pseudo_memory();
            let (name, size) = (format!("shares_{}", memory.0), Dim::from(partial / 4));
            self.declared.push(OpCode::Scratch { memory, name, ty: Ty::F32, size, place: Residence::Quads });
            memory
        });
        let mut next: Option<Fetched> = None;
        for (n, (link, share)) in links.iter().zip(&chain.shares).enumerate() {
            let entered = link.loops.map(|f| self.scope.enter(f));
            let (own, fetched) = match next.take() {
                Some(fetched) => (self.own(link, share), fetched),
                None => self.begin_link(link, share)?,
            };
            let sums = self.sums_of_link(link, &own, &fetched)?;
            entered.into_iter().rev().for_each(|left| self.scope.leave(left));
            if let Some((link, share)) = links.get(n + 1).zip(chain.shares.get(n + 1)) {
                let entered = link.loops.map(|f| self.scope.enter(f));
                next = Some(self.begin_link(link, share)?.1);
                entered.into_iter().rev().for_each(|left| self.scope.leave(left));
            }
            let entered = link.loops.map(|f| self.scope.enter(f));
            match memory.filter(|_| own.shares > 1) {
                Some(memory) => self.meet_in(link, &own, memory, &sums)?,
                None => {
                    let guarded = self.guard_within(&Word::Lane, link.sizes[1] / 4, i64::from(self.members));
                    for (row, quad) in sums.iter().enumerate() {
                        let vars = self.emit.parts(*quad);
                        self.finish_link(link, Word::Const(row as i64), &own.column, vars)?;
                    }
                    self.end_guard(guarded);
                }
            }
            entered.into_iter().rev().for_each(|left| self.scope.leave(left));
            // The last one too: the next block begins in the same memory.
            self.emit.codes.push(OpCode::Barrier);
        }
        Ok(())
    }

    /// What a member has of a link.
    fn own(&self, link: &Link<'_>, share: &Share) -> Own {
        let (group, number) = Word::Lane.split(link.sizes[1] / 4);
        Own { column: group.times(4), share: number, shares: share.shares }
    }

    /// A member fetches the first numbers of a link's second factor.
    fn begin_link(&mut self, link: &Link<'_>, share: &Share) -> Result<(Own, Fetched)> {
        let own = self.own(link, share);
        let fetched = self.seconds(share.ahead);
        self.fetch_seconds(link, &own, &own.share.clone().times(4), &fetched[0])?;
        Ok((own, fetched))
    }

    /// The sums of a member's terms.
    fn sums_of_link(&mut self, link: &Link<'_>, own: &Own, fetched: &Fetched) -> Result<Vec<QuadId>> {
        let of = self.kernel.acc(link.acc);
        let init = match &of.merge {
            Some(merge) if own.shares > 1 => {
                let literal = self.literal(merge.identity[0])?;
                self.emit.literal(literal)
            }
            _ => self.value(of.state[0].init, &mut Known::new())?,
        };
        let sums: Vec<QuadId> = (0..link.sizes[0]).map(|_| self.emit.quad_var(init)).collect();
        let groups = link.sizes[1] / 4;
        let guarded = self.guard_within(&Word::Lane, groups * own.shares, i64::from(self.members));
        self.terms(link, own, fetched, &sums)?;
        self.end_guard(guarded);
        Ok(sums)
    }

    /// Adds up the shares of the sums, and stores what becomes of them.
    fn meet_in(&mut self, link: &Link<'_>, own: &Own, memory: MemoryId, sums: &[QuadId]) -> Result<()> {
        let of = self.kernel.acc(link.acc);
        let Some(merge) = &of.merge else {
            return Err(refused(self.kernel, format!("`{}` goes in order", of.name)));
        };
        let (members, groups) = (i64::from(self.members), link.sizes[1] / 4);
        let guarded = self.guard_within(&Word::Lane, groups * own.shares, members);
        for (row, quad) in sums.iter().enumerate() {
            let (group, share) = Word::Lane.split(groups);
            let line = share.times(link.sizes[0]).plus(Word::Const(row as i64));
            let (at, values) = (line.times(groups).plus(group), Four::Quad(*quad));
            self.emit.codes.push(OpCode::StoreQuad { memory, at, values });
        }
        self.end_guard(guarded);
        self.emit.codes.push(OpCode::Barrier);
        let all = groups * link.sizes[0];
        for turn in 0..(all + members - 1) / members {
            let number = Word::Lane.plus(Word::Const(turn * members));
            let guarded = self.guard_within(&number, all, (turn + 1) * members);
            let init = self.value(of.state[0].init, &mut Known::new())?;
            let vars = [(); 4].map(|()| self.emit.var(Ty::F32, init));
            for share in 0..own.shares {
                let others = self.emit.quad(memory, number.clone().plus(Word::Const(share * all)));
                for (var, other) in vars.iter().zip(others) {
                    self.merge_into(link.acc, merge, &[(*var, Ty::F32)], &[other])?;
                }
            }
            let (group, row) = number.split(groups);
            self.finish_link(link, row, &group.times(4), vars)?;
            self.end_guard(guarded);
        }
        Ok(())
    }

    /// Begins what is done below `end` only, of numbers below `most`; whether that makes a difference.
    fn guard_within(&mut self, number: &Word, end: i64, most: i64) -> bool {
        let guarded = end < most;
        if guarded {
            let inside = (number.clone(), Word::Const(end));
            self.emit.codes.push(OpCode::Guard(Test::Within(vec![inside])));
        } else {
            self.emit.codes.push(OpCode::Block);
        }
        self.kept.clear();
        guarded
    }

    fn end_guard(&mut self, guarded: bool) {
        self.kept.clear();
        self.emit.codes.push(if guarded { OpCode::EndGuard } else { OpCode::EndBlock });
    }

    /// Variables for four terms of four columns of a second factor, so many times.
    fn seconds(&mut self, times: i64) -> Fetched {
        let zero = self.emit.literal(Literal::F32(0));
        (0..times).map(|_| [(); 4].map(|()| self.emit.quad_var(zero))).collect()
    }

    /// A member fetches four terms of the second factor, from one on. Where there are no such terms, it fetches others.
    fn fetch_seconds(&mut self, link: &Link<'_>, own: &Own, from: &Word, quads: &[QuadId; 4]) -> Result<()> {
        let [_, columns, terms] = link.axes();
        let by_terms = along(self.kernel, link) == terms;
        let at = self.pseudo_axis("next");
        let value = Word::Min(vec![from.clone(), Word::Const(link.sizes[2] - 4)]);
        self.kept.clear();
        self.emit.codes.push(OpCode::Block);
        self.emit.codes.push(OpCode::Axis { axis: at, value });
        let first = Word::Axis(at);
        for (q, quad) in quads.iter().enumerate() {
            let mut four = [0; 4].map(ValueId);
            for (c, value) in four.iter_mut().enumerate() {
                let (term, column) = ((terms, &first, q), (columns, &own.column, c));
                let (moving, still) = if by_terms { (term, column) } else { (column, term) };
                let (axis, from, number) = still;
                let there = from.clone().plus(Word::Const(number as i64));
                *value = self.value_at_part(link.factors[1], moving, (axis, there))?;
            }
            self.emit.codes.push(OpCode::SetQuad { quad: *quad, to: Four::Values(four) });
        }
        self.kept.clear();
        self.emit.codes.push(OpCode::EndBlock);
        Ok(())
    }

    /// Steps the sums of a member by its terms, of which the first are fetched already. What comes next is on its way, to other variables, while what
    /// is there is summed.
    fn terms(&mut self, link: &Link<'_>, own: &Own, fetched: &Fetched, sums: &[QuadId]) -> Result<()> {
        let at = self.pseudo_axis("four");
        let ahead = |n: i64| Word::Axis(at).plus(Word::Const(n * 4 * own.shares));
        let (begin, end) = (own.share.clone().times(4), Word::Const(link.sizes[2]));
        let count = fetched.len() as i64;
        let step = 4 * own.shares * count;
        self.emit.codes.push(OpCode::Loop { axis: at, begin, end, step, by: By::Member });
        for (n, there) in (0..count).zip(fetched) {
            // Where there is one set of variables, what it holds is moved aside.
            let seconds = if count > 1 { *there } else { self.aside(there) };
            let next = &fetched[((n + 1) % count) as usize];
            self.fetch_seconds(link, own, &ahead(n + 1), next)?;
            self.step_sums(link, &ahead(n), &seconds, sums)?;
        }
        self.kept.clear();
        self.emit.codes.push(OpCode::EndLoop);
        Ok(())
    }

    /// Other variables with what some hold now.
    fn aside(&mut self, quads: &[QuadId; 4]) -> [QuadId; 4] {
        let zero = self.emit.literal(Literal::F32(0));
        quads.map(|from| {
            let quad = self.emit.quad_var(zero);
            self.emit.codes.push(OpCode::SetQuad { quad, to: Four::Quad(from) });
            quad
        })
    }

    /// Steps all sums of a member by four terms.
    fn step_sums(
        &mut self,
        link: &Link<'_>,
        first: &Word,
        seconds: &[QuadId; 4],
        sums: &[QuadId],
    ) -> Result<()> {
        let [rows, _, terms] = link.axes();
        for (row, sum) in sums.iter().enumerate() {
            self.parameters.fixed.insert(rows, Word::Const(row as i64));
            for (q, second) in seconds.iter().enumerate() {
                self.at_part(terms, first, q);
                let by = self.value(link.factors[0], &mut Known::new())?;
                self.emit.codes.push(OpCode::StepQuad { sum: *sum, by, of: Four::Quad(*second) });
            }
            self.leave_part(terms);
            self.parameters.fixed.remove(&rows);
        }
        Ok(())
    }

    /// Stores what becomes of the sums of four columns of a row.
    fn finish_link(&mut self, link: &Link<'_>, row: Word, column: &Word, vars: [VarId; 4]) -> Result<()> {
        let [rows, columns, _] = link.axes();
        self.parameters.fixed.insert(rows, row);
        for node in link.stores {
            let Node::Store(s) = node else { continue };
            let mut values = Vec::with_capacity(4);
            for (number, var) in vars.iter().enumerate() {
                self.results[link.acc.0 as usize] = Some(vec![(*var, Ty::F32)]);
                self.at_part(columns, column, number);
                values.push(self.value(s.value, &mut Known::new())?);
            }
            self.store_four(columns, column, s, &values)?;
        }
        self.results[link.acc.0 as usize] = None;
        self.leave_part(columns);
        self.parameters.fixed.remove(&rows);
        Ok(())
    }
}
