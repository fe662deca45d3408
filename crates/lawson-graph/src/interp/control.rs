//! Control flow: while, cond, scan, and symbols that get their values from data.
//!
//! In bounded mode a condition may be undetermined. A loop then goes on by its best guess and nothing is known about its
//! results; of a branch both sides are run, if nothing speaks against it, and the results may be either.

use super::array::{Array, Data, Lease, count, strides, walk};
use super::machine::{Item, Machine, tensor};
use super::mode::{Carrier, Mode, Whole};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::op::{Cond, DefineSymbol, Effect, Scan, While};
use crate::types::Type;

/// The value of the symbol, clamped to its bound.
pub(super) fn define_symbol<M: Mode>(
    machine: &mut Machine<'_, M>,
    op: &DefineSymbol,
    x: &Array<M>,
) -> Result<M::Int> {
    let given = x.int_scalar()?;
    let max = machine.bindings.eval(&op.max)?;
    let value = given.value().clamp(0, i128::from(max.max(0)));
    if !given.is_exact() {
        // Sizes have no bounds: whatever has this one may have another.
        machine.lose_track();
    }
    machine.bindings.define(op.name.clone(), value as i64, format!("`symbol {}`", op.name));
    Ok(M::Int::exact(value))
}

/// Runs a condition: what it says, and whether that is certain.
fn decide<M: Mode>(machine: &mut Machine<'_, M>, cond: &Graph, given: &[Item<M>]) -> Result<(bool, bool)> {
    let results = machine.run_inner(cond, given.to_vec())?;
    let answer = tensor(&results, 0)?.int_scalar()?;
    Ok((answer.value() != 0, answer.is_exact()))
}

pub(super) fn while_loop<M: Mode>(
    machine: &mut Machine<'_, M>,
    op: &While,
    operands: &[Item<M>],
) -> Result<Vec<Item<M>>> {
    let mut state = operands.to_vec();
    let mut certain = true;
    loop {
        machine.charge(0)?;
        let (goes_on, sure) = decide(machine, &op.cond, &state)?;
        certain &= sure;
        if !goes_on {
            break;
        }
        let next = machine.run_inner(&op.body, state.clone())?;
        for (slot, item) in state.iter_mut().zip(next).take(op.carried) {
            *slot = item;
        }
    }
    state.truncate(op.carried);
    if certain {
        return Ok(state);
    }
    state.iter().map(|item| machine.unknown(item)).collect()
}

pub(super) fn cond<M: Mode>(
    machine: &mut Machine<'_, M>,
    op: &Cond,
    operands: &[Item<M>],
) -> Result<Vec<Item<M>>> {
    let condition = tensor(operands, 0)?.int_scalar()?;
    let given = &operands[1..];
    let (taken, other) =
        if condition.value() != 0 { (&op.then, &op.otherwise) } else { (&op.otherwise, &op.then) };
    let results = machine.run_inner(taken, given.to_vec())?;
    if condition.is_exact() {
        return Ok(results);
    }
    let is_pure = other.nodes().iter().all(|n| n.op.effect() == Effect::Pure);
    let alternative = if is_pure { machine.run_inner(other, given.to_vec()).ok() } else { None };
    let mut merged = Vec::with_capacity(results.len());
    for (i, item) in results.iter().enumerate() {
        merged.push(match (item, alternative.as_ref().and_then(|a| a.get(i))) {
            (Item::Tensor(a), Some(Item::Tensor(b))) if a.sizes == b.sizes => either(machine, a, b)?,
            _ => machine.unknown(item)?,
        });
    }
    Ok(merged)
}

fn either<M: Mode>(machine: &mut Machine<'_, M>, a: &Array<M>, b: &Array<M>) -> Result<Item<M>> {
    fn all<T: Carrier>(x: &[T], y: &[T]) -> Vec<T> {
        x.iter().zip(y).map(|(e, f)| e.either(*f)).collect()
    }
    let data = match (a.data(), b.data()) {
        (Data::Float(x), Data::Float(y)) => Data::Float(all(x, y)),
        (Data::Int(x), Data::Int(y)) => Data::Int(all(x, y)),
        (Data::Text(x), Data::Text(y)) => {
            if x != y {
                machine.lose_track();
            }
            Data::Text(x.clone())
        }
        _ => return Err(Error::internal("branches give elements of two kinds")),
    };
    Ok(Item::Tensor(machine.tensor(a.dtype, &a.sizes, data)?))
}

pub(super) fn scan<M: Mode>(
    machine: &mut Machine<'_, M>,
    op: &Scan,
    operands: &[Item<M>],
) -> Result<Vec<Item<M>>> {
    let length = machine.bindings.eval_shape(std::slice::from_ref(&op.length))?[0];
    let (carried, rest) = operands.split_at(op.carried);
    let (scanned, captures) = rest.split_at(op.scanned);
    let mut state = carried.to_vec();
    let mut stacks = Vec::new();
    for output in &op.body.outputs()[op.carried..] {
        stacks.push(Stack::new(machine, op.body.ty(output.value), length)?);
    }
    for step in 0..length {
        machine.charge(0)?;
        let at = if op.reverse { length - 1 - step } else { step };
        let mut given = state.clone();
        for i in 0..scanned.len() {
            given.push(Item::Tensor(row(machine, tensor(scanned, i)?, at)?));
        }
        given.extend(captures.iter().cloned());
        let mut results = machine.run_inner(&op.body, given)?;
        let made = results.split_off(op.carried.min(results.len()));
        state = results;
        for (i, stack) in stacks.iter_mut().enumerate() {
            stack.push(tensor(&made, i)?);
        }
    }
    let mut results = state;
    for stack in stacks {
        results.push(stack.finish(op.reverse)?);
    }
    Ok(results)
}

/// One slice along axis 0.
fn row<M: Mode>(machine: &Machine<'_, M>, x: &Array<M>, at: usize) -> Result<Array<M>> {
    let sizes = &x.sizes[1..];
    let lease = machine.pool.lease::<M>(x.dtype, sizes)?;
    let n = count(sizes);
    let mut data = Data::with_capacity(x.dtype, n);
    data.extend(x.data(), at * n..(at + 1) * n);
    Array::new(x.dtype, sizes, data, lease)
}

/// What a scan stacks: one result of its body, from every iteration in turn.
struct Stack<M: Mode> {
    dtype: DType,
    sizes: Vec<usize>,
    data: Data<M>,
    lease: Lease,
}

impl<M: Mode> Stack<M> {
    fn new(machine: &Machine<'_, M>, ty: &Type, length: usize) -> Result<Stack<M>> {
        let t = ty.as_tensor().ok_or_else(|| Error::internal("a scan stacks what is no tensor"))?;
        let mut sizes = vec![length];
        sizes.extend(machine.bindings.eval_shape(&t.shape)?);
        let lease = machine.pool.lease::<M>(t.dtype, &sizes)?;
        let data = Data::with_capacity(t.dtype, count(&sizes));
        Ok(Stack { dtype: t.dtype, sizes, data, lease })
    }

    fn push(&mut self, row: &Array<M>) {
        self.data.extend(row.data(), 0..row.len());
    }

    fn finish(self, reverse: bool) -> Result<Item<M>> {
        let Stack { dtype, sizes, mut data, lease } = self;
        if reverse && data.len() > 0 {
            // Row `i` of the result is the one that iteration `length - 1 - i` gave.
            let mut steps: Vec<isize> = strides(&sizes).into_iter().map(|s| s as isize).collect();
            let last = steps[0] * (sizes[0] as isize - 1);
            steps[0] = -steps[0];
            data = data.pick(&walk(&sizes, &steps, last));
        }
        Ok(Item::Tensor(Array::new(dtype, &sizes, data, lease)?))
    }
}
