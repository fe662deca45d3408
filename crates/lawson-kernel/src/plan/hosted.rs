//! Steps that are left to the host: kernels by the evaluator, parts of the graph by the interpreter.
//!
//! In: a step and the sizes of a run ([`Plan::hosted`]); then, for every run, where the bytes of its buffers are, as two functions. They copy
//! what they read, and may allocate.

use super::{Action, Mode, Place, Plan, Region, Slot, Step};
use crate::eval;
use lawson_graph::{Bindings, Code, DType, Error, Graph, HostTensor, Result, Symbol, Value, interp};
use std::sync::Arc;

/// Kernels as machine code of the processor, for a plan of another target whose steps call them ([`Action::Call`]).
pub trait HostKernels: std::fmt::Debug + Send + Sync {
    /// A kernel, by number, for these sizes.
    fn prepare(&self, kernel: usize, bindings: &Bindings) -> Result<Box<dyn HostCall>>;
}

/// A kernel of the processor, with its sizes known.
pub trait HostCall: std::fmt::Debug + Send {
    /// Runs it on what it reads and what it writes, each in the order of the kernel's buffers.
    fn run(&mut self, reads: &[&[u8]], writes: &mut [&mut [u8]]) -> Result<()>;
}

/// A step of the host, with its sizes known.
#[derive(Debug)]
pub struct Hosted {
    work: Work,
    /// What it reads, then what it writes.
    arguments: Vec<Argument>,
}

#[derive(Debug)]
enum Work {
    /// A kernel, by number.
    Evaluate(usize),
    /// A part of the graph.
    Interpret(Arc<Graph>),
}

/// A buffer, or bytes of one.
#[derive(Debug)]
pub struct Argument {
    /// The buffer.
    pub slot: Slot,
    /// The first byte.
    pub offset: usize,
    /// How many there are.
    pub bytes: usize,
    kind: Kind,
    written: bool,
}

#[derive(Debug)]
enum Kind {
    /// As they lie.
    Bytes,
    /// Row-major elements.
    Tensor(DType, Vec<usize>),
    /// No bytes.
    Value,
}

/// What the host keeps during a run.
#[derive(Debug)]
pub struct HostState {
    /// The values that have no bytes, by slot.
    pub values: Vec<Option<Value>>,
    /// The values of symbols; steps of the host define some.
    pub bindings: Bindings,
    /// What went wrong first. Nothing is done after that.
    pub error: Option<Error>,
}

impl Plan {
    /// The first byte of a region in its buffer, and how many bytes it has, where buffers have these sizes.
    pub fn part(&self, region: &Region, bytes: &[usize], bindings: &Bindings) -> Result<(usize, usize)> {
        let bytes = bytes[region.slot.0 as usize];
        let Some((from, to)) = &region.part else { return Ok((0, bytes)) };
        let (from, to) = (bindings.eval(from)?, bindings.eval(to)?);
        match (usize::try_from(from), usize::try_from(to)) {
            (Ok(from), Ok(to)) if from <= to && to <= bytes => Ok((from, to - from)),
            _ => {
                let name = &self.buffer(region.slot).name;
                let message = format!("bytes {from}..{to} of `{name}`, which has {bytes}");
                Err(Error::new(Code::PlanRegion, message))
            }
        }
    }

    /// A step that is left to the host, where buffers have these sizes; `None` for all others.
    pub fn hosted(&self, step: &Step, bytes: &[usize], bindings: &Bindings) -> Result<Option<Hosted>> {
        let (work, types) = match &step.action {
            Action::Evaluate { kernel, .. } => (Work::Evaluate(*kernel), vec![None; step.buffers.len()]),
            Action::Interpret(i) => {
                let outputs = i.graph.outputs().iter().map(|o| o.value);
                let values = i.graph.inputs().iter().copied().chain(outputs);
                let types = values.map(|v| i.graph.ty(v).as_tensor().cloned()).collect();
                (Work::Interpret(i.graph.clone()), types)
            }
            _ => return Ok(None),
        };
        let mut arguments = Vec::with_capacity(step.buffers.len());
        for ((region, mode), ty) in self.modes(step).into_iter().zip(types) {
            let kind = match (&self.buffer(region.slot).place, ty) {
                (Place::Value(_), _) => Kind::Value,
                (_, Some(ty)) => Kind::Tensor(ty.dtype, bindings.eval_shape(&ty.shape)?),
                (_, None) => Kind::Bytes,
            };
            let (offset, bytes) = self.part(region, bytes, bindings)?;
            let written = mode != Mode::Read;
            arguments.push(Argument { slot: region.slot, offset, bytes, kind, written });
        }
        Ok(Some(Hosted { work, arguments }))
    }
}

impl Hosted {
    /// Does it, unless something has failed before. `read` gives the bytes of an argument, `write` takes as many as it has.
    pub fn run(
        &self,
        plan: &Plan,
        state: &mut HostState,
        options: &interp::Options,
        read: impl Fn(&Argument) -> Vec<u8>,
        mut write: impl FnMut(&Argument, &[u8]),
    ) {
        if state.error.is_some() {
            return;
        }
        let mut write = |a: &Argument, bytes: &[u8]| {
            if bytes.len() != a.bytes {
                let message = format!("a step of the host gave {} bytes instead of {}", bytes.len(), a.bytes);
                return Err(Error::internal(message));
            }
            write(a, bytes);
            Ok(())
        };
        let done = match &self.work {
            Work::Evaluate(kernel) => self.evaluate(plan, *kernel, state, read, &mut write),
            Work::Interpret(graph) => self.interpret(graph, state, options, read, &mut write),
        };
        state.error = done.err();
    }

    fn evaluate(
        &self,
        plan: &Plan,
        kernel: usize,
        state: &HostState,
        read: impl Fn(&Argument) -> Vec<u8>,
        write: &mut impl FnMut(&Argument, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let params: Vec<(Symbol, i64)> = state.bindings.iter().map(|(s, v)| (s.clone(), v)).collect();
        let buffer = |a: &Argument| if a.written { vec![0; a.bytes] } else { read(a) };
        let mut buffers: Vec<Vec<u8>> = self.arguments.iter().map(buffer).collect();
        let options = eval::Options { coverage: eval::Coverage::Partial, ..Default::default() };
        eval::run(&plan.kernels[kernel], &params, &mut buffers, &options)?;
        let written = self.arguments.iter().zip(&buffers).filter(|(a, _)| a.written);
        written.into_iter().try_for_each(|(a, bytes)| write(a, bytes))
    }

    fn interpret(
        &self,
        graph: &Graph,
        state: &mut HostState,
        options: &interp::Options,
        read: impl Fn(&Argument) -> Vec<u8>,
        write: &mut impl FnMut(&Argument, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let (reads, writes) = self.arguments.split_at(graph.inputs().len().min(self.arguments.len()));
        let mut inputs = Vec::with_capacity(reads.len());
        for a in reads {
            inputs.push(match &a.kind {
                Kind::Tensor(dtype, sizes) => HostTensor::from_bytes(*dtype, sizes, read(a))?.into(),
                Kind::Value | Kind::Bytes => {
                    let value = state.values[a.slot.0 as usize].clone();
                    value.ok_or_else(|| Error::internal("a value of the host is read before it is there"))?
                }
            });
        }
        let results = interp::run_bound(graph, &inputs, &mut state.bindings, options)?;
        for (a, value) in writes.iter().zip(results) {
            match (&a.kind, value) {
                (Kind::Tensor(..), Value::Tensor(t)) => write(a, t.bytes())?,
                (_, value) => state.values[a.slot.0 as usize] = Some(value),
            }
        }
        Ok(())
    }
}
