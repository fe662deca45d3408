//! Exchange between participants: each runs in a thread of its own and meets the others at every collective.
//!
//! The n-th collective of one participant belongs to the n-th of every other. A participant that ends, well or badly,
//! says so, and whoever waits for it gets an error: a run never hangs.

use super::array::{Array, Data, count, strides, walk};
use super::machine::Machine;
use super::mode::{Carrier, Fold, Mode, Real, Whole};
use crate::error::{Code, Error, Result};
use crate::op::{Collective, CollectiveKind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The place where participants meet.
pub(super) struct Exchange<M: Mode> {
    size: usize,
    state: Mutex<Meeting<M>>,
    changed: Condvar,
}

struct Meeting<M: Mode> {
    /// What each participant brought to the collective that is under way.
    brought: Vec<Option<(Collective, Array<M>)>>,
    /// How many have yet to take what was brought.
    to_leave: usize,
    /// Which participants have ended.
    ended: Vec<bool>,
}

impl<M: Mode> Exchange<M> {
    pub(super) fn new(size: usize) -> Exchange<M> {
        let brought = (0..size).map(|_| None).collect();
        let state = Mutex::new(Meeting { brought, to_leave: 0, ended: vec![false; size] });
        Exchange { size, state, changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Meeting<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that a participant takes part in nothing more.
    pub(super) fn end(&self, me: usize) {
        self.lock().ended[me] = true;
        self.changed.notify_all();
    }

    /// Takes part in a collective: waits for the others' operands and computes this participant's result.
    pub(super) fn run(&self, machine: &Machine<'_, M>, op: &Collective, x: &Array<M>) -> Result<Array<M>> {
        if op.size != self.size as i64 {
            let message = format!(
                "`{}` is between {} participants of `{}`, but this run has {}",
                op.kind.name(),
                op.size,
                op.group,
                self.size
            );
            return Err(Error::new(Code::Participants, message).help("give one set of inputs a participant"));
        }
        let parts = self.meet(machine.me, op, x)?;
        result(machine, op, &parts)
    }

    /// Waits until all have brought their operand, and gives all of them.
    fn meet(&self, me: usize, op: &Collective, x: &Array<M>) -> Result<Vec<Array<M>>> {
        let wait = |state| self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        // The meeting before must be over.
        while state.to_leave > 0 {
            state = wait(state);
        }
        state.brought[me] = Some((op.clone(), x.clone()));
        if state.brought.iter().all(Option::is_some) {
            state.to_leave = self.size;
            self.changed.notify_all();
        }
        while state.to_leave == 0 {
            let missing = (0..self.size).find(|p| state.ended[*p] && state.brought[*p].is_none());
            if let Some(missing) = missing {
                state.brought[me] = None;
                let message =
                    format!("participant {missing} ended without taking part in `{}`", op.kind.name());
                return Err(Error::new(Code::Participants, message));
            }
            state = wait(state);
        }
        let parts: Vec<(Collective, Array<M>)> = state.brought.iter().flatten().cloned().collect();
        state.to_leave -= 1;
        if state.to_leave == 0 {
            state.brought.iter_mut().for_each(|b| *b = None);
            self.changed.notify_all();
        }
        drop(state);
        for (other, (theirs, y)) in parts.iter().enumerate() {
            if theirs != op || y.dtype != x.dtype || y.sizes != x.sizes {
                let message = format!(
                    "participant {me} is at `{}` with {}{:?}, participant {other} at `{}` with {}{:?}",
                    op.kind.name(),
                    x.dtype,
                    x.sizes,
                    theirs.kind.name(),
                    y.dtype,
                    y.sizes
                );
                return Err(Error::new(Code::Participants, message)
                    .help("all participants must reach the same collectives in the same order"));
            }
        }
        Ok(parts.into_iter().map(|(_, y)| y).collect())
    }
}

/// This participant's result, from everyone's operands.
fn result<M: Mode>(machine: &Machine<'_, M>, op: &Collective, parts: &[Array<M>]) -> Result<Array<M>> {
    let me = machine.me;
    let mine = &parts[me];
    match op.kind {
        CollectiveKind::AllReduce => combine(machine, op, parts),
        CollectiveKind::AllGather => join(machine, parts, op.axis),
        CollectiveKind::ReduceScatter => {
            let whole = combine(machine, op, parts)?;
            part(machine, &whole, op.axis, me, parts.len())
        }
        CollectiveKind::AllToAll => {
            let pieces: Vec<Array<M>> =
                parts.iter().map(|x| part(machine, x, op.axis, me, parts.len())).collect::<Result<_>>()?;
            join(machine, &pieces, op.to_axis)
        }
        CollectiveKind::Permute => match op.pairs.iter().find(|(_, to)| *to == me) {
            Some((from, _)) => {
                parts.get(*from).cloned().ok_or_else(|| Error::internal("a pair names no participant"))
            }
            None => {
                let n = mine.len();
                let zeros = match mine.data() {
                    Data::Float(_) => Data::Float(vec![M::Float::exact(0.0); n]),
                    Data::Int(_) => Data::Int(vec![M::Int::exact(0); n]),
                    Data::Text(_) => return Err(Error::internal("text is not exchanged")),
                };
                machine.tensor(mine.dtype, &mine.sizes, zeros)
            }
        },
    }
}

fn combine<M: Mode>(machine: &Machine<'_, M>, op: &Collective, parts: &[Array<M>]) -> Result<Array<M>> {
    fn all<T: Carrier>(op: &Collective, dtype: crate::DType, n: usize, parts: &[&[T]]) -> Vec<T> {
        let one = |i: usize| {
            // Each participant may pass on what it has in the dtype itself.
            let mut fold = T::Fold::start(op.reduce, dtype, dtype);
            parts.iter().for_each(|p| fold.push(p[i]));
            fold.result()
        };
        (0..n).map(one).collect()
    }
    let first = &parts[0];
    let data = if first.dtype.is_float() {
        let parts: Vec<&[M::Float]> = parts.iter().map(Array::floats).collect::<Result<_>>()?;
        Data::Float(all(op, first.dtype, first.len(), &parts))
    } else {
        let parts: Vec<&[M::Int]> = parts.iter().map(Array::ints).collect::<Result<_>>()?;
        Data::Int(all(op, first.dtype, first.len(), &parts))
    };
    machine.tensor(first.dtype, &first.sizes, data)
}

/// All parts, one after another along an axis.
fn join<M: Mode>(machine: &Machine<'_, M>, parts: &[Array<M>], axis: usize) -> Result<Array<M>> {
    let mut sizes = parts[0].sizes.to_vec();
    sizes[axis] = parts.iter().map(|p| p.sizes[axis]).sum();
    let lease = machine.pool.lease::<M>(parts[0].dtype, &sizes)?;
    let all: Vec<&Array<M>> = parts.iter().collect();
    let data = super::view::concat(&crate::op::Concat { axis }, &all, &sizes);
    Array::new(parts[0].dtype, &sizes, data, lease)
}

/// Part `index` of `of` equal parts along an axis.
fn part<M: Mode>(
    machine: &Machine<'_, M>,
    x: &Array<M>,
    axis: usize,
    index: usize,
    of: usize,
) -> Result<Array<M>> {
    let mut sizes = x.sizes.to_vec();
    sizes[axis] /= of;
    let steps = strides(&x.sizes);
    let offset = if count(&sizes) == 0 { 0 } else { steps[axis] * sizes[axis] * index };
    let signed: Vec<isize> = steps.iter().map(|s| *s as isize).collect();
    let lease = machine.pool.lease::<M>(x.dtype, &sizes)?;
    let data = x.data().pick(&walk(&sizes, &signed, offset as isize));
    Array::new(x.dtype, &sizes, data, lease)
}
