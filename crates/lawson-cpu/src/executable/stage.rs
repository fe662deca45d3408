//! Stages: plans for sizes that are found in a run, gone through by all members in the midst of another plan.
//!
//! When everybody has come to a stage, the first member makes it ready: it takes the values of its symbols from what the host has found,
//! binds the stage to them unless it was bound to the same before, and says where its inputs and outputs are. Then all members go through its
//! plan, and the first one makes values of the host of what came out. Inputs that are values of the host are read where they are. Stages of a plan run
//! one after another, so they share one arena, which grows as they need.

use super::Executable;
use super::general::{Given, Me};
use super::instance::{Instance, Port, Unfit, memory};
use crate::memory::{Memory, available};
use crate::team::Team;
use bytes::Bytes;
use lawson_graph::{Bindings, Code, Error, HostTensor, Result, Symbol, TensorType, Value};
use lawson_kernel::plan::hosted::HostState;
use lawson_kernel::{Barrier, Place, Plan, Slot, Staged, Step};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// A stage of a session.
#[derive(Debug)]
pub(super) struct StageItem {
    barrier: bool,
    executable: Arc<Executable>,
    symbols: Vec<Symbol>,
    inputs: Vec<Argument>,
    outputs: Vec<Argument>,
    /// Whether members are to go through it: written by the first before they meet, read by all after that.
    goes: AtomicBool,
    /// Changed by the first member alone, while no other looks at it.
    ready: RwLock<Option<Ready>>,
}

/// What a stage reads or writes.
#[derive(Debug)]
struct Argument {
    slot: Slot,
    ty: TensorType,
    /// The first byte and how many there are, unless it is a value of the host.
    bytes: Option<(u64, usize)>,
}

/// A stage with its sizes known.
#[derive(Debug)]
struct Ready {
    /// The values of its symbols.
    values: Vec<i64>,
    /// Where its arena begins.
    arena: u64,
    instance: Instance,
    /// The sizes of its outputs, and memory for those that become values of the host.
    results: Vec<(Vec<usize>, Option<Made>)>,
}

/// Memory that becomes a value of the host, and how many bytes of it do.
#[derive(Debug)]
struct Made(Memory, usize);

impl AsRef<[u8]> for Made {
    fn as_ref(&self) -> &[u8] {
        &self.0.as_slice()[..self.1]
    }
}

impl StageItem {
    pub(super) fn new(
        plan: &Plan,
        step: &Step,
        staged: &Staged,
        executable: Arc<Executable>,
        bytes: &[usize],
        bindings: &Bindings,
    ) -> Result<StageItem> {
        let mut arguments = Vec::with_capacity(step.buffers.len());
        for (region, ty) in step.buffers.iter().zip(staged.inputs.iter().chain(&staged.outputs)) {
            let bytes = match plan.buffer(region.slot).place {
                Place::Value(_) => None,
                _ => plan.part(region, bytes, bindings).map(|(at, count)| Some((at as u64, count)))?,
            };
            arguments.push(Argument { slot: region.slot, ty: ty.clone(), bytes });
        }
        let outputs = arguments.split_off(staged.inputs.len().min(arguments.len()));
        Ok(StageItem {
            barrier: step.barrier == Barrier::Before,
            executable,
            symbols: staged.symbols.clone(),
            inputs: arguments,
            outputs,
            goes: AtomicBool::new(false),
            ready: RwLock::new(None),
        })
    }

    /// How many bytes stages of this stage have, made for what the last run found.
    pub(super) fn inner_bytes(&self) -> usize {
        let ready = self.ready.read().unwrap_or_else(PoisonError::into_inner);
        ready.as_ref().map_or(0, |r| r.instance.stage_bytes())
    }

    /// Makes the stage ready for what the host has found: `base` says where buffers are.
    fn prepare(
        &self,
        state: &HostState,
        lent: &mut Option<Memory>,
        base: impl Fn(Slot) -> u64,
        (team, max_bytes): (&Team, Option<u64>),
    ) -> Result<()> {
        let mut values = Vec::with_capacity(self.symbols.len());
        for s in &self.symbols {
            let value = state.bindings.get(s);
            values.push(
                value.ok_or_else(|| Error::internal(format!("`{s}` has no value when a stage starts")))?,
            );
        }
        let mut ready = self.ready.write().unwrap_or_else(PoisonError::into_inner);
        let here = lent.as_mut().map_or(0, |m| m.as_mut_ptr() as u64);
        if !ready.as_ref().is_some_and(|r| r.values == values && r.arena == here) {
            *ready = None;
            *ready = Some(self.bind(values, state, lent, (team, max_bytes))?);
        }
        let Some(ready) = &mut *ready else { return Err(Error::internal("a stage that is not ready")) };
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for a in &self.inputs {
            inputs.push(match a.bytes {
                Some((at, bytes)) => Port { bytes, address: base(a.slot) + at },
                None => of_value(state, a)?,
            });
        }
        let mut outputs = Vec::with_capacity(self.outputs.len());
        for (a, (sizes, result)) in self.outputs.iter().zip(&mut ready.results) {
            outputs.push(match a.bytes {
                Some((at, bytes)) => Port { bytes, address: base(a.slot) + at },
                None => {
                    let Made(memory, bytes) = result.insert(Made::of(&a.ty, sizes)?);
                    Port { bytes: *bytes, address: memory.as_mut_ptr() as u64 }
                }
            });
        }
        ready.instance.point_at(inputs.into_iter(), outputs.into_iter())?;
        ready.instance.start();
        Ok(())
    }

    /// The stage for these values of its symbols, with the arena that is lent to it, or a larger one.
    fn bind(
        &self,
        values: Vec<i64>,
        state: &HostState,
        lent: &mut Option<Memory>,
        (team, max_bytes): (&Team, Option<u64>),
    ) -> Result<Ready> {
        let bindings = &state.bindings;
        let plan = &self.executable.plan;
        bindings.check(&plan.facts)?;
        let bound = plan.bind(bindings)?;
        let (mut results, mut bytes) = (Vec::with_capacity(self.outputs.len()), bound.arena);
        for a in &self.outputs {
            let sizes = bindings.eval_shape(&a.ty.shape)?;
            if a.bytes.is_none() {
                let count = a.ty.dtype.bytes_for(sizes.iter().product());
                bytes = bytes.saturating_add(count.unwrap_or(usize::MAX));
            }
            results.push((sizes, None));
        }
        let limit = max_bytes.or_else(available);
        if let Some(limit) = limit.filter(|limit| bytes as u64 > *limit) {
            let message =
                format!("a stage of these sizes takes {bytes} bytes of memory, and may take {limit}");
            return Err(Error::new(Code::Budget, message).help("raise `max_bytes`, or give smaller inputs"));
        }
        if lent.as_ref().is_none_or(|m| m.len() < bound.arena) {
            // What was there is given back before more is taken.
            *lent = None;
            *lent = Some(memory(bound.arena)?);
        }
        let arena = lent.as_mut().map_or(0, |m| m.as_mut_ptr() as u64);
        let mut instance = self.executable.fill(bound, bindings, team, arena, Unfit::Evaluated)?;
        instance.make_general(&[])?;
        instance.set_max_bytes(max_bytes);
        Ok(Ready { values, arena, instance, results })
    }

    /// What came out: values of the host.
    fn collect(&self, state: &mut HostState) -> Result<()> {
        let mut ready = self.ready.write().unwrap_or_else(PoisonError::into_inner);
        let Some(ready) = &mut *ready else { return Ok(()) };
        ready.instance.finish()?;
        for (a, (sizes, result)) in self.outputs.iter().zip(&mut ready.results) {
            if let Some(made) = result.take() {
                let tensor = HostTensor::from_bytes(a.ty.dtype, sizes, Bytes::from_owner(made))?;
                state.values[a.slot.0 as usize] = Some(Value::Tensor(tensor));
            }
        }
        Ok(())
    }
}

/// Where a value of the host is, which stays there while it is the host's.
fn of_value(state: &HostState, a: &Argument) -> Result<Port> {
    let value = state.values[a.slot.0 as usize].as_ref();
    let value = value.ok_or_else(|| Error::internal("a stage reads a value before it is there"))?;
    let sizes = state.bindings.eval_shape(&a.ty.shape)?;
    match value.as_tensor().filter(|t| t.dtype() == a.ty.dtype && t.sizes() == sizes) {
        Some(t) => Ok(Port { bytes: t.bytes().len(), address: t.bytes().as_ptr() as u64 }),
        None => Err(Error::internal(format!("a stage reads a value that is not {}", a.ty))),
    }
}

impl Made {
    /// Memory for a tensor of these sizes.
    fn of(ty: &TensorType, sizes: &[usize]) -> Result<Made> {
        let bytes = ty.dtype.bytes_for(sizes.iter().product());
        let bytes =
            bytes.ok_or_else(|| Error::new(Code::Budget, "a stage gives more bytes than there are"))?;
        Ok(Made(memory(bytes)?, bytes))
    }
}

impl Me<'_, '_> {
    pub(super) fn stage(&mut self, item: &StageItem) {
        let Given { member, .. } = self.given;
        if item.barrier {
            member.barrier();
        }
        if member.index() == 0 {
            let mut state = self.state();
            if state.error.is_none() {
                let mut lent = self.general.lent.lock().unwrap_or_else(PoisonError::into_inner);
                let instance = self.instance;
                let limits = (&instance.team, instance.max_bytes);
                state.error = item.prepare(&state, &mut lent, |s| self.base(s), limits).err();
            }
            self.note_failure(&state);
            item.goes.store(state.error.is_none(), Ordering::Relaxed);
        }
        member.barrier();
        if item.goes.load(Ordering::Relaxed) {
            let ready = item.ready.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(ready) = &*ready {
                self.left = ready.instance.pass(self.given, self.left);
            }
        }
        member.barrier();
        if member.index() == 0 && item.goes.load(Ordering::Relaxed) {
            let mut state = self.state();
            state.error = item.collect(&mut state).err();
            self.note_failure(&state);
        }
    }
}
