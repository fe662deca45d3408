//! Loops and branches as steps: their bodies become blocks over the same buffers.
//!
//! Captures are read where they are. A loop's state lies in a buffer into which the first value is copied, unless that
//! has a buffer which nobody else reads. A body writes the next state over it where that is proven to be right, and otherwise to
//! a buffer of its own, and the loop exchanges the two. What a scan goes through is read row by row where it lies, and what it stacks is written there.

use super::{Planner, Target, body as block};
use crate::host::touches_host;
use crate::plan::{Action, Again, Barrier, Branch, Carried, Loop, Mode, Order, Place, Plan, Row, Slot, Step};
use lawson_graph::op::{Cond, Scan, While};
use lawson_graph::{Error, NodeId, Op, Result, TensorType, ValueId};

impl Planner<'_, '_, '_> {
    /// Plans a node that is control flow and for this reason no kernel, and says whether it is. It is not where values of the host go in or out.
    pub(super) fn control(&mut self, n: NodeId, why: &Error) -> Result<bool> {
        let node = self.graph.node(n);
        if touches_host(self.graph, node, &self.defined) {
            return Ok(false);
        }
        let (operands, results) = (node.inputs.clone(), node.outputs.clone());
        match &node.op {
            Op::While(op) => self.while_loop(op, &operands, &results)?,
            Op::Cond(op) => self.branch(op, &operands, &results)?,
            // Rows must begin at whole bytes.
            Op::Scan(op) if self.rows_are_bytes(op, &operands, &results)? => {
                self.scan(op, &operands, &results, why)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn rows_are_bytes(&self, op: &Scan, operands: &[ValueId], results: &[ValueId]) -> Result<bool> {
        let scanned = operands.iter().skip(op.carried).take(op.scanned);
        for v in scanned.chain(results.iter().skip(op.carried)) {
            if !self.tensor(*v)?.dtype.bits().is_multiple_of(8) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The buffers in which a loop keeps its state, which hold the first values; they are its results.
    fn state(&mut self, first: &[ValueId], results: &[ValueId]) -> Result<Vec<Slot>> {
        let mut state = Vec::with_capacity(first.len());
        for (v, result) in first.iter().zip(results) {
            let own = self.slots.get(v).copied().filter(|s| {
                self.uses[v.index()] == 1
                    && matches!(self.common.plan.buffer(*s).place, Place::Arena)
                    && !self.given.contains(s)
            });
            let slot = match own {
                Some(slot) => {
                    self.slots.insert(*result, slot);
                    slot
                }
                None => {
                    let slot = self.add(*result, Place::Arena)?;
                    self.copy(*v, slot)?
                }
            };
            state.push(slot);
        }
        Ok(state)
    }

    /// What a body of a node is called where something in it is refused.
    fn called(&self, part: &str, results: &[ValueId]) -> String {
        let names: Vec<String> = results.iter().map(|v| format!("%{}", self.graph.value_name(*v))).collect();
        format!("{part} that makes {}", names.join(", "))
    }

    fn captured(&mut self, captures: &[ValueId]) -> Result<Vec<Slot>> {
        captures.iter().map(|v| self.slot(*v)).collect()
    }

    fn while_loop(&mut self, op: &While, operands: &[ValueId], results: &[ValueId]) -> Result<()> {
        let (first, captures) = operands.split_at(op.carried);
        let mut given = self.captured(captures)?;
        let state = self.state(first, results)?;
        given.splice(0..0, state.iter().copied());
        let what = self.called("the condition of the loop", results);
        let (steps, condition) = block(&op.cond, self.common, given.clone(), vec![Target::Anywhere], what)?;
        let targets = state.iter().map(|s| Target::Next(*s)).collect();
        let what = self.called("the body of the loop", results);
        let (mut body, next) = block(&op.body, self.common, given, targets, what)?;
        let carried = self.carried(&state, &next, &mut body, Some(condition[0]));
        let again = Again::While { steps, condition: condition[0] };
        let action = Action::Loop(Box::new(Loop { again, carried, rows: Vec::new(), body, why: None }));
        self.push(Step::new(action, []));
        Ok(())
    }

    fn scan(&mut self, op: &Scan, operands: &[ValueId], results: &[ValueId], why: &Error) -> Result<()> {
        let (first, rest) = operands.split_at(op.carried);
        let (scanned, captures) = rest.split_at(op.scanned);
        let captured = self.captured(captures)?;
        let order = if op.reverse { Order::Backward } else { Order::Forward };
        let mut rows = Vec::new();
        for v in scanned {
            let of = self.slot(*v)?;
            rows.push(Row { row: self.row(*v, of)?, order });
        }
        let mut given = self.state(first, &results[..op.carried])?;
        let state = given.clone();
        given.extend(rows.iter().map(|r| r.row));
        given.extend(captured);
        let mut targets: Vec<Target> = state.iter().map(|s| Target::Next(*s)).collect();
        for v in &results[op.carried..] {
            let of = self.write(*v)?;
            let row = self.row(*v, of)?;
            rows.push(Row { row, order });
            targets.push(Target::Slot(row));
        }
        let what = self.called("the body of the scan", results);
        let (mut body, next) = block(&op.body, self.common, given, targets, what)?;
        let carried = self.carried(&state, &next, &mut body, None);
        let again = Again::Times(op.length.clone());
        let scan = Loop { again, carried, rows, body, why: Some(why.clone()) };
        self.push(Step::new(Action::Loop(Box::new(scan)), []));
        Ok(())
    }

    /// State and next state of a loop. Where the body may write the one over the other, they are the same buffer.
    fn carried(
        &self,
        state: &[Slot],
        next: &[Slot],
        body: &mut [Step],
        condition: Option<Slot>,
    ) -> Vec<Carried> {
        let plan = &self.common.plan;
        let mut carried = Vec::with_capacity(state.len());
        for (state, next) in state.iter().copied().zip(next.iter().copied()) {
            // A condition is still read when the body begins.
            if state != next && condition != Some(state) && writes_in_place(plan, body, state, next) {
                rename(body, next, state);
                carried.push(Carried { state, next: state });
            } else {
                carried.push(Carried { state, next });
            }
        }
        carried
    }

    /// A buffer for a row of a tensor that lies in another.
    fn row(&mut self, v: ValueId, of: Slot) -> Result<Slot> {
        let ty = self.tensor(v)?;
        let row = TensorType::new(ty.dtype, &ty.shape[1..]);
        let name = format!("{}.row", self.graph.value_name(v));
        self.add_buffer(name, row.into(), Place::Row { of })
    }

    fn branch(&mut self, op: &Cond, operands: &[ValueId], results: &[ValueId]) -> Result<()> {
        let condition = self.slot(operands[0])?;
        let given = self.captured(&operands[1..])?;
        let mut targets = Vec::with_capacity(results.len());
        for v in results {
            targets.push(Target::Slot(self.write(*v)?));
        }
        let what = self.called("the first branch", results);
        let (then, _) = block(&op.then, self.common, given.clone(), targets.clone(), what)?;
        let what = self.called("the second branch", results);
        let (otherwise, _) = block(&op.otherwise, self.common, given, targets, what)?;
        self.push(Step::new(Action::Branch(Box::new(Branch { condition, then, otherwise })), []));
        Ok(())
    }
}

/// Whether the step of a block that writes the next state may write it over the state: every step that reads the state
/// comes before it and a barrier, or is that step itself, whose kernel may do so. The block's own steps alone count: where
/// steps that hold others use the state, it may not.
fn writes_in_place(plan: &Plan, body: &[Step], state: Slot, next: Slot) -> bool {
    let touches = |step: &Step, slot: Slot| plan.accesses(step).iter().any(|a| a.region.slot == slot);
    let writers: Vec<usize> = (0..body.len())
        .filter(|n| {
            let writes = |a: &crate::plan::Access| a.region.slot == next && a.mode == Mode::Write;
            plan.accesses(&body[*n]).iter().any(writes)
        })
        .collect();
    let [writer] = writers[..] else { return false };
    let held = |s: &Step| s.action.is_control() && (touches(s, state) || touches(s, next));
    if body.iter().any(held) {
        return false;
    }
    let readers = (0..body.len()).filter(|n| *n != writer && touches(&body[*n], state));
    let ordered = |n: usize| {
        n < writer
            && body[n + 1..=writer].iter().any(|s| s.barrier == Barrier::Before || s.action.is_control())
    };
    if !readers.into_iter().all(ordered) {
        return false;
    }
    let step = &body[writer];
    let arguments = |slot: Slot| (0..step.buffers.len()).filter(move |n| step.buffers[*n].slot == slot);
    let Some(kernel) = step.action.kernel() else { return !touches(step, state) };
    arguments(state).all(|x| arguments(next).all(|y| plan.over[kernel].contains(&(x, y))))
}

/// Lets steps use another buffer.
fn rename(steps: &mut [Step], from: Slot, to: Slot) {
    for step in steps {
        step.buffers.iter_mut().filter(|r| r.slot == from).for_each(|r| r.slot = to);
    }
}
