//! Rows: an iteration of the parallel loops is done by a workgroup.
//!
//! Loops whose iterations are independent are shared among the members, and so are the loops that an accumulator sums over: each member
//! accumulates what it meets, from the identity on, and then the states are merged, within subgroups by exchanging registers and
//! between them through workgroup memory. Everything else is done by all members alike; what is stored there, one stores. Scratch is the
//! workgroup's; a barrier stands after whatever wrote some, or wrote to a buffer that the kernel also reads.

use crate::dtype::ty_of;
use crate::lower::{Lower, refused};
use crate::opcode::{By, MemoryId, Op, OpCode, Residence, Test, Ty, ValueId, VarId, Word};
use crate::value::Known;
use lawson_graph::op::{BinaryKind, UnaryKind};
use lawson_graph::{Dim, Result};
use lawson_kernel::verify::independent;
use lawson_kernel::{AccId, Expr, ExprId, For, Kernel, Merge, Node, Role};
use std::collections::BTreeSet;

impl Lower<'_> {
    /// Nodes that a workgroup does together.
    pub(crate) fn together(&mut self, nodes: &[Node]) -> Result<()> {
        let mut known = Vec::new();
        for node in nodes {
            match node {
                Node::For(f) if independent(&mut self.scope, f) => self.loop_by(f, By::Lanes)?,
                Node::For(f) => {
                    if let Some(left) = self.open(f, By::Member)? {
                        self.together(&f.body)?;
                        self.close(left);
                    }
                }
                Node::Accumulate { acc, body } => {
                    self.accumulate_together(*acc, body)?;
                    known.push(*acc);
                }
                Node::Step { .. } => {
                    return Err(refused(self.kernel, "a step outside of what its workgroup accumulates"));
                }
                Node::Store(_) => {
                    let first = (Word::Lane, Word::Const(1));
                    self.emit.codes.push(OpCode::Guard(Test::Within(vec![first])));
                    self.block(std::slice::from_ref(node))?;
                    self.emit.codes.push(OpCode::EndGuard);
                }
                Node::Prefetch { .. } => {}
            }
            if leaves_something(self.kernel, node) {
                self.emit.codes.push(OpCode::Barrier);
            }
        }
        known.into_iter().for_each(|acc| self.results[acc.0 as usize] = None);
        Ok(())
    }

    /// An accumulator whose steps are shared among the members.
    fn accumulate_together(&mut self, acc: AccId, body: &[Node]) -> Result<()> {
        let of = self.kernel.acc(acc);
        let Some(merge) = &of.merge else {
            return Err(refused(self.kernel, format!("`{}` goes in order", of.name)));
        };
        if !self.keeps_identity(merge) {
            let message = format!("members without a share would spoil what `{}` merges", of.name);
            return Err(refused(self.kernel, message));
        }
        let mut vars = Vec::new();
        for (state, identity) in of.state.iter().zip(&merge.identity) {
            let ty = ty_of(self.kernel, state.dtype)?;
            let literal = self.literal(*identity)?;
            let init = self.emit.literal(literal);
            vars.push((self.emit.var(ty, init), ty));
        }
        let outer = self.states[acc.0 as usize].replace(vars.clone());
        self.sum_by_lanes(body)?;
        self.states[acc.0 as usize] = outer;
        self.merge(acc, merge, &vars)?;
        // What the state was before the first step comes last: it merges as any other.
        let mut known = Known::new();
        let mut with = Vec::new();
        for state in &of.state {
            with.push(self.value(state.init, &mut known)?);
        }
        self.merge_into(acc, merge, &vars, &with)?;
        self.results[acc.0 as usize] = Some(vars);
        Ok(())
    }

    /// Whether identities merge to the identity, which what subtracts, divides or calls functions need not do: members whose share is empty have
    /// nothing else.
    fn keeps_identity(&self, merge: &Merge) -> bool {
        let (mut open, mut seen) = (merge.values.clone(), BTreeSet::new());
        while let Some(id) = open.pop() {
            let e = self.kernel.expr(id);
            let fine = match e {
                Expr::Const(_) | Expr::State(..) | Expr::Other(..) | Expr::Compare(..) | Expr::Select(..) => {
                    true
                }
                Expr::Extremum(..) => true,
                Expr::Unary(kind, _) => *kind == UnaryKind::Not,
                Expr::Binary(kind, ..) => matches!(
                    kind,
                    BinaryKind::Add
                        | BinaryKind::Mul
                        | BinaryKind::Min
                        | BinaryKind::Max
                        | BinaryKind::And
                        | BinaryKind::Or
                        | BinaryKind::Xor
                ),
                _ => false,
            };
            if !fine {
                return false;
            }
            e.visit_operands(&mut |o| {
                if seen.insert(o) {
                    open.push(o);
                }
            });
        }
        true
    }

    /// The state of every member becomes that of all together.
    fn merge(&mut self, acc: AccId, merge: &Merge, vars: &[(VarId, Ty)]) -> Result<()> {
        let members = self.members;
        let subgroup = self.capabilities.subgroup.filter(|s| *s > 1 && members.is_multiple_of(*s));
        let exchanged = vars.iter().all(|(_, ty)| *ty != Ty::Bool);
        let size = match subgroup.filter(|_| exchanged) {
            Some(size) => {
                let mut distance = 1;
                while distance < size {
                    let mut others = Vec::new();
                    for (var, ty) in vars {
                        others.push(self.emit.define(*ty, Op::Exchange(*var, distance)));
                    }
                    self.merge_into(acc, merge, vars, &others)?;
                    distance *= 2;
                }
                size
            }
            None => 1,
        };
        let mut parts = members / size;
        let mut stride = size;
        // Through workgroup memory, up to 16 states at a time.
        while parts > 1 {
            let step = if parts > 16 { 16 } else { parts };
            self.exchanging.clear();
            let shared: Vec<MemoryId> = vars.iter().map(|(_, ty)| self.exchange_memory(*ty)).collect();
            for ((var, ty), memory) in vars.iter().zip(&shared) {
                let value = self.emit.define(*ty, Op::Get(*var));
                self.emit.codes.push(OpCode::Store { memory: *memory, at: Word::Lane, value });
            }
            self.emit.codes.push(OpCode::Barrier);
            for ((var, _), identity) in vars.iter().zip(&merge.identity) {
                let literal = self.literal(*identity)?;
                let value = self.emit.literal(literal);
                self.emit.codes.push(OpCode::Set { var: *var, value });
            }
            // Those of the members whose numbers begin alike.
            let span = i64::from(stride * step);
            let axis = self.pseudo_axis("part");
            let number = Word::lane_over(span);
            let first = number.times(span);
            let end = first.clone().plus(Word::Const(span));
            self.emit.codes.push(OpCode::Loop {
                axis,
                begin: first,
                end,
                step: i64::from(stride),
                by: By::Member,
            });
            let mut others = Vec::new();
            for ((_, ty), memory) in vars.iter().zip(&shared) {
                others.push(self.emit.define(*ty, Op::Load(*memory, Word::Axis(axis))));
            }
            self.merge_into(acc, merge, vars, &others)?;
            self.emit.codes.push(OpCode::EndLoop);
            self.emit.codes.push(OpCode::Barrier);
            stride *= step;
            parts /= step;
        }
        Ok(())
    }

    /// Merges values into a state.
    pub(crate) fn merge_into(
        &mut self,
        acc: AccId,
        merge: &Merge,
        vars: &[(VarId, Ty)],
        others: &[ValueId],
    ) -> Result<()> {
        let mut known = Known::new();
        for (id, e) in self.kernel.exprs.iter().enumerate() {
            if let Expr::Other(a, i) = e
                && *a == acc
            {
                known.insert(ExprId(id as u32), others[*i]);
            }
        }
        let outer = self.states[acc.0 as usize].replace(vars.to_vec());
        let mut merged = Vec::new();
        for v in &merge.values {
            merged.push(self.value(*v, &mut known)?);
        }
        self.states[acc.0 as usize] = outer;
        for ((var, _), value) in vars.iter().zip(merged) {
            self.emit.codes.push(OpCode::Set { var: *var, value });
        }
        Ok(())
    }

    /// Workgroup memory with an element for each member, of a type.
    fn exchange_memory(&mut self, ty: Ty) -> MemoryId {
        let taken = self.exchange.iter().filter(|(t, _)| *t == ty).count();
        let used = self.exchanging.entry(ty).or_default();
        let n = *used;
        *used += 1;
        if n < taken
            && let Some((_, memory)) = self.exchange.iter().filter(|(t, _)| *t == ty).nth(n)
        {
            return *memory;
        }
        let memory = self.pseudo_memory();
        let (name, size) = (format!("exchange_{}", memory.0), Dim::from(i64::from(self.members)));
        self.declared.push(OpCode::Scratch { memory, name, ty, size, place: Residence::Workgroup });
        self.exchange.push((ty, memory));
        memory
    }

    /// Steps of loops directly within each other, of which the members share the innermost.
    fn sum_by_lanes(&mut self, body: &[Node]) -> Result<()> {
        let [Node::For(f)] = body else {
            return Err(refused(self.kernel, "what is accumulated stands in more than a loop"));
        };
        if matches!(f.body.as_slice(), [Node::For(_)]) {
            if let Some(left) = self.open(f, By::Member)? {
                self.sum_by_lanes(&f.body)?;
                self.close(left);
            }
            return Ok(());
        }
        if !independent(&mut self.scope, f) {
            return Err(refused(self.kernel, "iterations of what is accumulated depend on each other"));
        }
        self.loop_by(f, By::Lanes)
    }

    /// A loop whose iterations are the members' own or shared among them.
    fn loop_by(&mut self, f: &For, by: By) -> Result<()> {
        match f.plain_extent().filter(|n| *n > 0) {
            Some(extent) if by == By::Lanes && self.by_fours => {
                self.with_invariants(f.axis, &f.body, |l| l.quads_by_lanes(f, extent))
            }
            Some(_) => self.with_invariants(f.axis, &f.body, |l| l.whole_loop(f, by)),
            None => self.whole_loop(f, by),
        }
    }

    fn whole_loop(&mut self, f: &For, by: By) -> Result<()> {
        if let Some(left) = self.open(f, by)? {
            self.block(&f.body)?;
            self.close(left);
        }
        Ok(())
    }
}

/// Whether a node stores what other members may read.
fn leaves_something(kernel: &Kernel, node: &Node) -> bool {
    match node {
        Node::For(For { body, .. }) | Node::Accumulate { body, .. } => {
            body.iter().any(|n| leaves_something(kernel, n))
        }
        Node::Store(s) => {
            matches!(kernel.buffer(s.buffer).role, Role::Scratch(_))
                || kernel.exprs.iter().any(|e| matches!(e, Expr::Load(l) if l.buffer == s.buffer))
        }
        Node::Step { .. } | Node::Prefetch { .. } => false,
    }
}
