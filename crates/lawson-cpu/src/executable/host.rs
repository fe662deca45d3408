//! Steps that are left to the host: one member runs them, by the evaluator or the interpreter, while the others wait.
//!
//! They copy what they read, and may allocate.
#![allow(unsafe_code)]

use lawson_graph::{Bindings, DType, Error, Graph, HostTensor, Result, Symbol, Value, interp};
use lawson_kernel::{Plan, Slot, eval};
use std::sync::Arc;

/// A step of the host.
#[derive(Debug)]
pub(super) struct HostItem {
    pub(super) barrier: bool,
    pub(super) work: Work,
    /// What it reads, then what it writes.
    pub(super) arguments: Vec<HostArgument>,
}

#[derive(Debug)]
pub(super) enum Work {
    /// A kernel, by number.
    Evaluate(usize),
    /// A part of the graph.
    Interpret(Arc<Graph>),
}

/// A buffer, or bytes of one.
#[derive(Debug)]
pub(super) struct HostArgument {
    pub(super) slot: Slot,
    pub(super) offset: usize,
    pub(super) bytes: usize,
    pub(super) kind: Kind,
    pub(super) written: bool,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// As they lie.
    Bytes,
    /// Row-major elements.
    Tensor(DType, Vec<usize>),
    /// No bytes.
    Value,
}

/// What the host keeps during a run.
#[derive(Debug)]
pub(super) struct HostState {
    /// The values that have no bytes, by slot.
    pub(super) values: Vec<Option<Value>>,
    pub(super) bindings: Bindings,
    pub(super) error: Option<Error>,
}

impl HostItem {
    /// Does it, unless something has failed before.
    ///
    /// # Safety
    /// `base` gives the address of a buffer that is as large as the argument says; no other step reads or writes what this one
    /// writes, or writes what this one reads, until it is done.
    pub(super) unsafe fn run(
        &self,
        plan: &Plan,
        state: &mut HostState,
        base: impl Fn(Slot) -> u64,
        options: &interp::Options,
    ) {
        if state.error.is_some() {
            return;
        }
        let address = |a: &HostArgument| (base(a.slot) as usize + a.offset) as *mut u8;
        let read = |a: &HostArgument| match a.bytes {
            0 => Vec::new(),
            // SAFETY: the caller's promise.
            n => unsafe { std::slice::from_raw_parts(address(a), n) }.to_vec(),
        };
        let mut write = |a: &HostArgument, bytes: &[u8]| {
            if bytes.len() != a.bytes {
                let message = format!("a step of the host gave {} bytes instead of {}", bytes.len(), a.bytes);
                return Err(Error::internal(message));
            }
            if a.bytes > 0 {
                // SAFETY: the caller's promise.
                unsafe { std::slice::from_raw_parts_mut(address(a), a.bytes) }.copy_from_slice(bytes);
            }
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
        read: impl Fn(&HostArgument) -> Vec<u8>,
        write: &mut impl FnMut(&HostArgument, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let params: Vec<(Symbol, i64)> = state.bindings.iter().map(|(s, v)| (s.clone(), v)).collect();
        let buffer = |a: &HostArgument| if a.written { vec![0; a.bytes] } else { read(a) };
        let mut buffers: Vec<Vec<u8>> = self.arguments.iter().map(buffer).collect();
        let coverage = eval::Coverage::Partial;
        eval::run(
            &plan.kernels[kernel],
            &params,
            &mut buffers,
            &eval::Options { coverage, ..Default::default() },
        )?;
        let written = self.arguments.iter().zip(&buffers).filter(|(a, _)| a.written);
        written.into_iter().try_for_each(|(a, bytes)| write(a, bytes))
    }

    fn interpret(
        &self,
        graph: &Graph,
        state: &mut HostState,
        options: &interp::Options,
        read: impl Fn(&HostArgument) -> Vec<u8>,
        write: &mut impl FnMut(&HostArgument, &[u8]) -> Result<()>,
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
