//! A compiled operator, and what it is known by.

use super::value::EagerTensor;
#[cfg(feature = "wgpu")]
use super::value::has_bytes;
use crate::program::Program;
use crate::session::Session;
use crate::tensor::Tensor;
use lawson_graph::{DType, Op, Result};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// An operator with the dtypes and sizes of its operands.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Key {
    op: Op,
    operands: Vec<(DType, Vec<usize>)>,
}

/// An operator compiled for operands of certain dtypes and sizes. Threads that call it take turns.
pub(super) struct Operator {
    program: Program,
    running: Mutex<Running>,
}

/// What runs it.
enum Running {
    /// Tensors of the host go in and come out.
    Host(Box<Session>),
    /// Values stay on the device.
    #[cfg(feature = "wgpu")]
    Device { instance: Box<lawson_wgpu::Instance>, results: Vec<(DType, Vec<usize>)> },
}

// Attributes are compared by their bits, so that equality is reflexive.
impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.op.hash(state);
        self.operands.hash(state);
    }
}

impl Key {
    pub(super) fn new(op: &Op, operands: &[&EagerTensor]) -> Key {
        let operands = operands.iter().map(|o| (o.dtype(), o.sizes().to_vec())).collect();
        Key { op: op.clone(), operands }
    }
}

/// The dtype and sizes of each port, if all have bytes and sizes that are known.
#[cfg(feature = "wgpu")]
fn plain(ports: &[crate::program::Port]) -> Option<Vec<(DType, Vec<usize>)>> {
    let size = |d: &lawson_graph::Dim| usize::try_from(d.as_const()?).ok();
    let port = |p: &crate::program::Port| {
        let ty = p.ty.as_tensor().filter(|ty| has_bytes(ty.dtype))?;
        Some((ty.dtype, ty.shape.iter().map(size).collect::<Option<_>>()?))
    };
    ports.iter().map(port).collect()
}

impl Operator {
    pub(super) fn new(program: Program) -> Result<Operator> {
        let running = Operator::running(&program)?;
        Ok(Operator { program, running: Mutex::new(running) })
    }

    fn running(program: &Program) -> Result<Running> {
        #[cfg(feature = "wgpu")]
        if let Some(shaders) = program.shared_shaders()
            && let (Some(_), Some(results)) = (plain(program.inputs()), plain(program.outputs()))
        {
            let instance = Box::new(shaders.held_instance(&lawson_graph::Bindings::default())?);
            return Ok(Running::Device { instance, results });
        }
        Ok(Running::Host(Box::new(program.session())))
    }

    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    pub(super) fn run(&self, operands: &[&EagerTensor]) -> Result<Vec<EagerTensor>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *running {
            Running::Host(session) => {
                let tensors = operands.iter().map(|o| o.to_tensor()).collect::<Result<Vec<Tensor>>>()?;
                let results = session.run(&tensors)?;
                results.iter().map(|t| Ok(t.to_host()?.into())).collect()
            }
            #[cfg(feature = "wgpu")]
            Running::Device { instance, results } => {
                let device = instance.executable().device().clone();
                let held = operands.iter().map(|o| o.held_on(&device)).collect::<Result<Vec<_>>>()?;
                let given: Vec<&lawson_wgpu::Held> = held.iter().map(|h| &**h).collect();
                let taken = instance.run_held(&given, &lawson_graph::interp::Options::default())?;
                let sized = results.iter().zip(taken);
                Ok(sized.map(|((d, n), held)| EagerTensor::held(*d, n.clone(), held)).collect())
            }
        }
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.program.fmt(f)
    }
}
