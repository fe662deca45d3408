//! A whole graph, node by node: one kernel a primitive, and a runner that takes whatever executes kernels.
//!
//! This is how a target is tested against the oracle on random graphs: what no kernel computes is taken from the reference
//! interpreter, everything else runs on the target.

use super::{Lowered, lower};
use crate::group::{Group, Refused};
use lawson_graph::{
    Code, Error, Graph, HostTensor, NodeId, Op, Output, Result, Symbol, Value, ValueId, interp,
};
use std::collections::HashMap;

/// How a node of a graph is computed.
#[derive(Clone, Debug)]
pub enum Step {
    /// By a kernel of its own.
    Kernel(Box<Lowered>),
    /// It is a constant.
    Constant,
    /// By the reference interpreter, because lowering refuses it.
    Reference(Refused),
}

/// A step for every node of a graph, in order.
pub fn steps(graph: &Graph) -> Vec<(NodeId, Step)> {
    let step = |n: NodeId| {
        let node = graph.node(n);
        if let Op::Constant(_) = node.op {
            return Step::Constant;
        }
        let group = Group { nodes: vec![n], outputs: node.outputs.clone() };
        match lower(graph, &group) {
            Ok(lowered) => Step::Kernel(Box::new(lowered)),
            Err(refused) => Step::Reference(refused),
        }
    };
    graph.node_ids().map(|n| (n, step(n))).collect()
}

/// Runs a graph node by node on inputs in order, and gives its outputs in order. `execute` runs a kernel on its inputs
/// and outputs, given the values of its parameters; values that other steps compute come from the interpreter.
pub fn run_steps(
    graph: &Graph,
    inputs: &[Value],
    options: &interp::Options,
    mut execute: impl FnMut(&Lowered, &[(Symbol, i64)], &mut [Vec<u8>]) -> Result<()>,
) -> Result<Vec<Value>> {
    let bindings = interp::bind(graph, inputs)?;
    let params: Vec<(Symbol, i64)> = bindings.iter().map(|(s, v)| (s.clone(), v)).collect();
    let steps = steps(graph);
    let mut values = reference(graph, inputs, &steps, options)?;
    values.extend(graph.inputs().iter().copied().zip(inputs.iter().cloned()));
    for (n, step) in &steps {
        match step {
            Step::Constant => {
                if let (Op::Constant(t), Some(v)) = (&graph.node(*n).op, graph.node(*n).outputs.first()) {
                    values.insert(*v, t.clone().into());
                }
            }
            Step::Reference(_) => {}
            Step::Kernel(lowered) => {
                let mut buffers = Vec::new();
                for v in &lowered.inputs {
                    let tensor = values.get(v).and_then(Value::as_tensor);
                    let tensor = tensor.ok_or_else(|| Error::internal("a kernel reads what is no tensor"))?;
                    buffers.push(tensor.bytes().to_vec());
                }
                let mut results = Vec::new();
                for v in &lowered.outputs {
                    let Some(ty) = graph.ty(*v).as_tensor() else { continue };
                    let sizes = bindings.eval_shape(&ty.shape)?;
                    let bytes = HostTensor::zeros(ty.dtype, &sizes)?.bytes().to_vec();
                    results.push((*v, ty.dtype, sizes));
                    buffers.push(bytes);
                }
                execute(lowered, &params, &mut buffers)?;
                for ((v, dtype, sizes), bytes) in
                    results.into_iter().zip(buffers.split_off(lowered.inputs.len()))
                {
                    values.insert(v, HostTensor::from_bytes(dtype, &sizes, bytes)?.into());
                }
            }
        }
    }
    let output = |o: &Output| {
        let missing = || Error::new(Code::NotLowered, format!("nothing computes output `{}`", o.name));
        values.get(&o.value).cloned().ok_or_else(missing)
    };
    graph.outputs().iter().map(output).collect()
}

/// The values that no kernel computes, from one run of the interpreter.
fn reference(
    graph: &Graph,
    inputs: &[Value],
    steps: &[(NodeId, Step)],
    options: &interp::Options,
) -> Result<HashMap<ValueId, Value>> {
    let refused = steps.iter().filter(|(_, s)| matches!(s, Step::Reference(_)));
    let wanted: Vec<ValueId> = refused.flat_map(|(n, _)| graph.node(*n).outputs.iter().copied()).collect();
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let mut parts = graph.clone().into_parts();
    let output = |v: &ValueId| Output { name: format!("v{}", v.index()), value: *v, lives_in: None };
    parts.outputs = wanted.iter().map(output).collect();
    let values = interp::run(&Graph::from_parts(parts), inputs, options)?;
    Ok(wanted.into_iter().zip(values).collect())
}
