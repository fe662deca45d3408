//! Immediate mode: each operator is compiled, run and done when it is called.
//!
//! An [`Eager`] takes values and operators one at a time, where a [`Program`] takes a whole graph. Values are
//! [`EagerTensor`]s: on the CPU and the reference target they lie in the host's memory, on the wgpu target on the device, where
//! results stay until they are asked for. An operator is compiled the first time that it meets operands of certain types and sizes, and
//! looked up after that ([`Operators`] switches that off).
//!
//! ```
//! use lawson::eager::Eager;
//! use lawson::{Tensor, graph::{Softmax, op::UnaryKind}};
//!
//! let eager = Eager::new(Default::default())?;
//! let x = eager.hold(&Tensor::from_slice(&[1, 2], &[1f32, 2.0])?)?;
//! let w = eager.hold(&Tensor::from_slice(&[2, 2], &[1f32, 0.0, 0.0, -1.0])?)?;
//! let h = eager.linear(&x, &w, None)?;
//! let h = eager.relu(&h)?;
//! assert_eq!(h.to_tensor()?.to_vec::<f32>()?, [1.0, 0.0]);
//! let n = eager.unary(UnaryKind::Neg, &h)?;
//! let p = eager.composite(Softmax { axis: 1 }, &[&n])?;
//! assert_eq!(p.sizes(), [1, 2]);
//! # Ok::<(), lawson::Error>(())
//! ```
//!
//! Nothing is fused across calls, every result is written to memory, and on a device every call is a submission: where speed matters, build
//! a graph. `operator.rs` has what is compiled, `value.rs` the values.

mod operator;
mod value;

pub use value::EagerTensor;

use crate::planned::own_team;
use crate::program::{CompileOptions, Program, Target};
use crate::tensor::Tensor;
use lawson_graph::op::{BinaryKind, Op, UnaryKind};
use lawson_graph::{
    Builder, Code, CompositeDef, Error, Linear, Relu, Result, Softmax, TensorType, Type, WeightLayout,
};
use operator::{Key, Operator};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How operators are compiled and kept.
#[derive(Clone, Debug, Default)]
pub struct EagerOptions {
    /// How each operator is compiled: the target, its team or its device.
    pub compile: CompileOptions,
    /// Whether compiled operators are kept.
    pub operators: Operators,
}

/// Whether compiled operators are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operators {
    /// By operator, and by dtypes and sizes of operands, until [`Eager::forget`].
    #[default]
    Kept,
    /// Each call compiles anew. A device may still have the pipelines of equal kernels: its own options say how long it keeps them.
    Anew,
}

/// Runs operators when they are called. Clones share what was compiled, between threads too.
#[derive(Clone, Debug)]
pub struct Eager(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    options: EagerOptions,
    known: Mutex<HashMap<Key, Arc<Operator>>>,
}

impl Eager {
    /// For a target. A team or a device that the options do not give is taken once, for all operators.
    pub fn new(mut options: EagerOptions) -> Result<Eager> {
        let compile = &mut options.compile;
        match compile.target {
            Target::Reference => {}
            Target::Cpu if compile.team.is_none() => compile.team = Some(own_team()?),
            Target::Cpu => {}
            #[cfg(feature = "wgpu")]
            Target::Wgpu if compile.device.is_none() => {
                compile.device = Some(lawson_wgpu::Device::preferred()?);
            }
            #[cfg(feature = "wgpu")]
            Target::Wgpu => {}
        }
        Ok(Eager(Arc::new(Shared { options, known: Mutex::new(HashMap::new()) })))
    }

    /// Takes a tensor to where operators run: to the device on the wgpu target, where it is already elsewhere.
    pub fn hold(&self, tensor: &Tensor) -> Result<EagerTensor> {
        let host = tensor.to_host()?;
        #[cfg(feature = "wgpu")]
        if let Some(device) = self.device().filter(|_| value::has_bytes(host.dtype())) {
            return EagerTensor::on_device(&host, device);
        }
        Ok(host.into())
    }

    /// Runs an operator; gives its results in order. Operands that lie elsewhere are copied to where it runs, for this call.
    pub fn apply(&self, op: &Op, operands: &[&EagerTensor]) -> Result<Vec<EagerTensor>> {
        self.operator(op, operands)?.run(operands)
    }

    /// Runs an operator that has one result.
    pub fn apply1(&self, op: &Op, operands: &[&EagerTensor]) -> Result<EagerTensor> {
        let mut results = self.apply(op, operands)?;
        match (results.pop(), results.len()) {
            (Some(result), 0) => Ok(result),
            (_, others) => {
                let count = if others == 0 { 0 } else { others + 1 };
                let message = format!("`{}` has {count} results, not one", op.name());
                Err(Error::new(Code::OperandCount, message).help("use `apply`"))
            }
        }
    }

    /// Runs a composite that has one result.
    pub fn composite<T: CompositeDef>(&self, composite: T, operands: &[&EagerTensor]) -> Result<EagerTensor> {
        self.apply1(&Op::Composite(Arc::new(composite)), operands)
    }

    /// A function of one number, element by element.
    pub fn unary(&self, kind: UnaryKind, x: &EagerTensor) -> Result<EagerTensor> {
        self.apply1(&Op::Unary(kind), &[x])
    }

    /// A function of two numbers, element by element, of operands of one shape.
    pub fn binary(&self, kind: BinaryKind, a: &EagerTensor, b: &EagerTensor) -> Result<EagerTensor> {
        self.apply1(&Op::Binary(kind), &[a, b])
    }

    /// `x·w + bias` with w `[in, out]`.
    pub fn linear(
        &self,
        x: &EagerTensor,
        w: &EagerTensor,
        bias: Option<&EagerTensor>,
    ) -> Result<EagerTensor> {
        let operands: Vec<&EagerTensor> = [x, w].into_iter().chain(bias).collect();
        self.composite(Linear { layout: WeightLayout::InOut }, &operands)
    }

    /// `max(x, 0)`.
    pub fn relu(&self, x: &EagerTensor) -> Result<EagerTensor> {
        self.composite(Relu {}, &[x])
    }

    /// `e^x / Σ e^x` along an axis.
    pub fn softmax(&self, x: &EagerTensor, axis: usize) -> Result<EagerTensor> {
        self.composite(Softmax { axis }, &[x])
    }

    /// What an operator is compiled to for such operands, for those who look inside.
    pub fn program(&self, op: &Op, operands: &[&EagerTensor]) -> Result<Program> {
        Ok(self.operator(op, operands)?.program().clone())
    }

    /// How many compiled operators are kept.
    pub fn compiled(&self) -> usize {
        self.known().len()
    }

    /// Lets go of compiled operators.
    pub fn forget(&self) {
        self.known().clear();
    }

    #[cfg(feature = "wgpu")]
    fn device(&self) -> Option<&lawson_wgpu::Device> {
        let compile = &self.0.options.compile;
        compile.device.as_ref().filter(|_| compile.target == Target::Wgpu)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, Arc<Operator>>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The operator for such operands: a known one, or one that is compiled now.
    fn operator(&self, op: &Op, operands: &[&EagerTensor]) -> Result<Arc<Operator>> {
        if self.0.options.operators == Operators::Anew {
            return self.compile(op, operands).map(Arc::new);
        }
        let key = Key::new(op, operands);
        if let Some(known) = self.known().get(&key) {
            return Ok(known.clone());
        }
        // Others may compile in the meantime, and the same: then one of the two is kept.
        let made = Arc::new(self.compile(op, operands)?);
        Ok(self.known().entry(key).or_insert(made).clone())
    }

    fn compile(&self, op: &Op, operands: &[&EagerTensor]) -> Result<Operator> {
        let mut b = Builder::new(op.name());
        let mut inputs = Vec::with_capacity(operands.len());
        for (n, operand) in operands.iter().enumerate() {
            let ty = TensorType::new(operand.dtype(), operand.sizes());
            inputs.push(b.input(&format!("operand{n}"), Type::from(ty))?);
        }
        for (n, result) in b.op(op.clone(), &inputs)?.into_iter().enumerate() {
            b.output(&format!("result{n}"), result)?;
        }
        Operator::new(Program::compile(b.finish()?, &self.0.options.compile)?)
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Eager>();
    shared::<EagerTensor>();
};
