//! Chains of products: a workgroup takes a block of rows through all of them, and keeps what lies between two in its memory.
//!
//! ```text
//! for every link, the members together:
//!   a member has four columns of all rows of the block, and a share of the terms, of which it takes four at a time:
//!     it loads four terms of each row from workgroup memory, four columns of each term from the second factor, and steps its sums
//!   the shares meet in workgroup memory; barrier; members store what becomes of the sums, four columns at a time; barrier
//! ```
//!
//! So every number of a second factor is read by one member of a workgroup, once.

use crate::lower::{Lower, refused};
use crate::opcode::{By, Capabilities, MemoryId, Op, OpCode, Residence, Test, Ty, ValueId, VarId, Word};
use crate::quads::{is_quad, without_data};
use crate::value::Known;
use lawson_graph::{DType, Dim, Result};
use lawson_kernel::chain::{Link, links};
use lawson_kernel::{AxisId, BufferId, Expr, ExprId, Index, Kernel, Node, Role};
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
    /// Into how many shares the terms of each link are split.
    shares: Vec<i64>,
}

impl Chain {
    /// Words of workgroup memory in which shares meet.
    pub(crate) fn partial(&self, kernel: &Kernel) -> i64 {
        let of = |(link, shares): (&Link<'_>, &i64)| {
            if *shares > 1 { link.sizes[0] * link.sizes[1] * shares } else { 0 }
        };
        links(kernel).map_or(0, |(_, links)| links.iter().zip(&self.shares).map(of).max().unwrap_or(0))
    }
}

/// How the members share a kernel, if that is a chain. Buffers that are given `whole` may be read by fours.
pub(crate) fn chain(kernel: &Kernel, capabilities: &Capabilities, whole: bool) -> Option<Chain> {
    let (_, links) = links(kernel)?;
    let scratch = |b: &lawson_kernel::Buffer| matches!(b.role, Role::Scratch(_));
    let kept = kernel.buffers.iter().filter(|b| scratch(b)).map(|b| b.layout.size.as_const());
    let left = i64::from(capabilities.workgroup_memory) / 4 - kept.sum::<Option<i64>>()?;
    let by_four = |l: &Link<'_>| l.sizes[1] % 4 == 0 && l.sizes[2] % 4 == 0;
    if left < 0 || !links.iter().all(by_four) {
        return None;
    }
    let useful = |l: &Link<'_>| (l.sizes[2] / 4 / LEAST_SHARE).max(1);
    let wanted = links.iter().map(|l| l.sizes[1] / 4 * useful(l)).max()?;
    let most = MOST_MEMBERS.min(i64::from(capabilities.max_members));
    let members = ((wanted + 31) / 32 * 32).min(most);
    let shares = links.iter().map(|l| {
        let room = left / (l.sizes[0] * l.sizes[1]);
        let most = (members / (l.sizes[1] / 4)).min(useful(l)).min(room).max(1);
        // A power of two: shares of the same length.
        1 << most.ilog2()
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
        check(kernel, link.factors[0], terms, &mut fit);
        check(kernel, link.factors[1], along(kernel, link), &mut fit);
        for node in link.stores {
            let Node::Store(s) = node else { continue };
            check(kernel, s.value, columns, &mut fit);
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
        check(kernel, link.factors[1], axis, &mut fit);
        all.len() - fit.len()
    };
    if lost(terms) < lost(columns) { terms } else { columns }
}

/// Takes out the buffers that an expression does not read by fours along an axis.
fn check(kernel: &Kernel, root: ExprId, axis: AxisId, fit: &mut BTreeSet<BufferId>) {
    let (mut open, mut seen) = (vec![root], BTreeSet::from([root]));
    while let Some(id) = open.pop() {
        let e = kernel.expr(id);
        if let Expr::Load(l) = e {
            check_place(kernel, l.buffer, &l.index, axis, fit);
            if l.guard.is_some() {
                fit.remove(&l.buffer);
            }
        }
        e.visit_indices(&mut |i| without_data(i, fit));
        e.visit_operands(&mut |o| {
            if seen.insert(o) {
                open.push(o);
            }
        });
    }
}

fn check_place(
    kernel: &Kernel,
    buffer: BufferId,
    index: &[Index],
    axis: AxisId,
    fit: &mut BTreeSet<BufferId>,
) {
    let offset = kernel.resolve(&kernel.buffer(buffer).layout.offset(index));
    if !is_quad(&offset, &BTreeSet::from([axis])) {
        fit.remove(&buffer);
    }
}

fn times(a: Word, by: i64) -> Word {
    if by == 1 { a } else { Word::Product(Box::new(a), Box::new(Word::Const(by))) }
}

fn sum(a: Word, b: Word) -> Word {
    Word::Sum(vec![a, b])
}

/// What a member has of a link: four columns, of all rows or of one, and a share of the terms.
struct Own {
    /// The first of its columns.
    column: Word,
    share: Word,
}

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
        for (link, shares) in links.iter().zip(&chain.shares) {
            let entered = link.loops.map(|f| self.scope.enter(f));
            match memory.filter(|_| *shares > 1) {
                Some(memory) => self.shared_link(link, *shares, memory)?,
                None => self.own_link(link)?,
            }
            entered.into_iter().rev().for_each(|left| self.scope.leave(left));
            // The last one too: the next block begins in the same memory.
            self.emit.codes.push(OpCode::Barrier);
        }
        Ok(())
    }

    /// A link whose columns are shared, and whose terms are not.
    fn own_link(&mut self, link: &Link<'_>) -> Result<()> {
        let groups = link.sizes[1] / 4;
        let init = self.value(self.kernel.acc(link.acc).state[0].init, &mut Known::new())?;
        let members = i64::from(self.members);
        for turn in 0..(groups + members - 1) / members {
            let number = sum(Word::Lane, Word::Const(turn * members));
            let guarded = self.guard_within(&number, groups, (turn + 1) * members);
            let own = Own { column: times(number, 4), share: Word::Const(0) };
            let vars = self.sums_of(link, init);
            self.terms(link, &own, 1, &vars)?;
            for (row, vars) in vars.iter().enumerate() {
                self.finish_link(link, Word::Const(row as i64), &own.column, *vars)?;
            }
            self.end_guard(guarded);
        }
        Ok(())
    }

    /// A link whose terms are shared too.
    fn shared_link(&mut self, link: &Link<'_>, shares: i64, memory: MemoryId) -> Result<()> {
        let of = self.kernel.acc(link.acc);
        let Some(merge) = &of.merge else {
            return Err(refused(self.kernel, format!("`{}` goes in order", of.name)));
        };
        let (members, groups) = (i64::from(self.members), link.sizes[1] / 4);
        let identity = self.literal(merge.identity[0])?;
        let guarded = self.guard_within(&Word::Lane, groups * shares, members);
        let (group, share) = Word::Lane.split(groups);
        let own = Own { column: times(group.clone(), 4), share: share.clone() };
        let identity = self.emit.literal(identity);
        let vars = self.sums_of(link, identity);
        self.terms(link, &own, shares, &vars)?;
        for (row, vars) in vars.iter().enumerate() {
            let line = sum(times(share.clone(), link.sizes[0]), Word::Const(row as i64));
            let values = vars.map(|v| self.emit.define(Ty::F32, Op::Get(v)));
            self.emit.codes.push(OpCode::StoreQuad {
                memory,
                at: sum(times(line, groups), group.clone()),
                values,
            });
        }
        self.end_guard(guarded);
        self.emit.codes.push(OpCode::Barrier);
        let all = groups * link.sizes[0];
        for turn in 0..(all + members - 1) / members {
            let number = sum(Word::Lane, Word::Const(turn * members));
            let guarded = self.guard_within(&number, all, (turn + 1) * members);
            let init = self.value(of.state[0].init, &mut Known::new())?;
            let vars = [(); 4].map(|()| self.emit.var(Ty::F32, init));
            for share in 0..shares {
                let others = self.emit.quad(memory, sum(number.clone(), Word::Const(share * all)));
                for (var, other) in vars.iter().zip(others) {
                    self.merge_into(link.acc, merge, &[(*var, Ty::F32)], &[other])?;
                }
            }
            let (group, row) = number.split(groups);
            self.finish_link(link, row, &times(group, 4), vars)?;
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

    /// The sums of four columns of every row.
    fn sums_of(&mut self, link: &Link<'_>, init: ValueId) -> Vec<[VarId; 4]> {
        (0..link.sizes[0]).map(|_| [(); 4].map(|()| self.emit.var(Ty::F32, init))).collect()
    }

    /// Steps the sums of a member by its terms.
    fn terms(&mut self, link: &Link<'_>, own: &Own, shares: i64, vars: &[[VarId; 4]]) -> Result<()> {
        let [rows, columns, terms] = link.axes();
        let at = self.pseudo_axis("four");
        let (begin, end) = (times(own.share.clone(), 4), Word::Const(link.sizes[2]));
        self.emit.codes.push(OpCode::Loop { axis: at, begin, end, step: 4 * shares, by: By::Member });
        self.kept.clear();
        let first = Word::Axis(at);
        let by_terms = along(self.kernel, link) == terms;
        let mut seconds = [[None; 4]; 4];
        for (q, seconds) in seconds.iter_mut().enumerate() {
            for (c, second) in seconds.iter_mut().enumerate() {
                let (term, column) = ((terms, &first, q), (columns, &own.column, c));
                let (moving, fixed) = if by_terms { (term, column) } else { (column, term) };
                let place = sum(fixed.1.clone(), Word::Const(fixed.2 as i64));
                self.parameters.fixed.insert(fixed.0, place);
                self.at_part(moving.0, moving.1, moving.2);
                *second = Some(self.value(link.factors[1], &mut Known::new())?);
                self.parameters.fixed.remove(&fixed.0);
                self.leave_part(moving.0);
            }
        }
        for (row, vars) in vars.iter().enumerate() {
            self.parameters.fixed.insert(rows, Word::Const(row as i64));
            for (q, seconds) in seconds.iter().enumerate() {
                self.at_part(terms, &first, q);
                let number = self.value(link.factors[0], &mut Known::new())?;
                for (var, second) in vars.iter().zip(seconds.iter().flatten()) {
                    let state = self.emit.define(Ty::F32, Op::Get(*var));
                    let [left, right] = link.factors;
                    let mut known = Known::from([(left, number), (right, *second), (link.state, state)]);
                    let value = self.value(link.step, &mut known)?;
                    self.emit.codes.push(OpCode::Set { var: *var, value });
                }
            }
            self.leave_part(terms);
            self.parameters.fixed.remove(&rows);
        }
        self.kept.clear();
        self.emit.codes.push(OpCode::EndLoop);
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
