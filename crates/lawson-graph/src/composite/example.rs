//! Example graphs: one composite applied to inputs of given types.

use super::{CompositeDef, Function};
use crate::builder::Builder;
use crate::error::Result;
use crate::graph::{Graph, ValueId};
use crate::op::Op;
use crate::types::Type;
use std::sync::Arc;

/// The graph that applies a composite to inputs of those names and types. Its outputs are named `y`, `y1`, `y2`, …
///
/// ```
/// use lawson_graph::{DType, Relu, Type, example};
/// let graph = example(Relu {}, [("x", Type::tensor(DType::F32, [2, 3]))])?;
/// assert_eq!(graph.outputs()[0].name, "y");
/// # Ok::<(), lawson_graph::Error>(())
/// ```
pub fn example<T: CompositeDef, const N: usize>(composite: T, operands: [(&str, Type); N]) -> Result<Graph> {
    let mut b = Builder::new(T::NAME);
    let mut inputs = Vec::new();
    for (name, ty) in operands {
        inputs.push(b.input(name, ty)?);
    }
    finish(b, Op::Composite(Arc::new(composite)), &inputs)
}

/// The graph that calls a function with operands of the types that it declares.
pub(super) fn call(function: &Arc<Function>) -> Result<Graph> {
    let graph = function.graph();
    let mut b = Builder::new(format!("call_{}", graph.name()));
    for fact in graph.facts().written() {
        b.fact(fact.left.clone(), fact.relation, fact.right.clone())?;
    }
    let mut inputs = Vec::new();
    for v in graph.inputs() {
        inputs.push(b.input(&graph.value_name(*v), graph.ty(*v).clone())?);
    }
    finish(b, Op::Composite(function.clone()), &inputs)
}

fn finish(mut b: Builder<'static>, op: Op, inputs: &[ValueId]) -> Result<Graph> {
    for (i, v) in b.op(op, inputs)?.into_iter().enumerate() {
        b.output(&if i == 0 { "y".to_string() } else { format!("y{i}") }, v)?;
    }
    b.finish()
}
