//! Constant folding: nodes whose operands are all constants are computed now, by the reference interpreter.
//!
//! Bounded in size and time: a node is folded only if its operands and its result are small, and the
//! elements computed by one run of the pass stay within a budget. Broadcasts and iotas are never folded: as they are,
//! they cost nothing, and rules see through them.

use crate::pass::Pass;
use crate::rewrite::{Rewriter, fuel, rewrite_with};
use lawson_graph::op::{Effect, Op};
use lawson_graph::{Builder, Graph, HostTensor, Node, Patch, Result, Type, Value, ValueId, interp};

/// Computes what is known.
#[derive(Clone, Copy, Debug)]
pub struct FoldConstants {
    /// The most elements that any operand or result may have.
    pub max_elements: usize,
    /// The most elements, operands and results together, that one run of the pass may touch.
    pub budget: usize,
}

impl Default for FoldConstants {
    fn default() -> FoldConstants {
        FoldConstants { max_elements: 1 << 14, budget: 1 << 20 }
    }
}

impl Pass for FoldConstants {
    fn name(&self) -> &'static str {
        "fold-constants"
    }

    fn summary(&self) -> &'static str {
        "computes nodes whose operands are constants, within bounds of size and time"
    }

    fn run(&self, graph: &Graph) -> Result<Option<Patch>> {
        let mut left = self.budget;
        rewrite_with(graph, fuel(graph), &mut |rw, node| self.fold(rw, node, &mut left))
    }
}

impl FoldConstants {
    fn fold(&self, rw: &mut Rewriter<'_>, node: &Node, left: &mut usize) -> Result<Option<Vec<ValueId>>> {
        let foldable = !matches!(
            node.op,
            Op::Constant(_)
                | Op::Broadcast(_)
                | Op::Iota(_)
                | Op::Dims(_)
                | Op::DefineSymbol(_)
                | Op::RandomBits(_)
        );
        if !foldable || node.op.effect() == Effect::Effectful || !node.op.subgraphs().is_empty() {
            return Ok(None);
        }
        let Some(operands) =
            node.inputs.iter().map(|v| rw.known(*v, self.max_elements)).collect::<Option<Vec<_>>>()
        else {
            return Ok(None);
        };
        // One number in another shape is as simple as it gets.
        let respelled = matches!(node.op, Op::Reshape(_)) && rw.splat(node.inputs[0]).is_some();
        if operands.is_empty() || respelled {
            return Ok(None);
        }
        let mut cost: usize = operands.iter().map(HostTensor::len).sum();
        for v in &node.outputs {
            let Some(elements) = elements(rw.ty(*v)).filter(|n| *n <= self.max_elements) else {
                return Ok(None);
            };
            cost += elements;
        }
        // Contractions and windows do more work than they have elements.
        let cost = if matches!(node.op, Op::Contract(_) | Op::Convolve(_) | Op::WindowReduce(_)) {
            cost * 64
        } else {
            cost
        };
        if cost > *left {
            return Ok(None);
        }
        *left -= cost;
        // The same elements in another shape are the same bytes.
        if let (Op::Reshape(_), [x]) = (&node.op, operands.as_slice())
            && let Some(Ok(t)) = sizes(rw.ty(node.outputs[0])).map(|sizes| x.reshaped(&sizes))
        {
            return Ok(Some(vec![rw.constant(t)?]));
        }
        let Some(results) = evaluate(node, operands)? else { return Ok(None) };
        results.into_iter().map(|t| rw.constant(t)).collect::<Result<Vec<_>>>().map(Some)
    }
}

fn sizes(ty: &Type) -> Option<Vec<usize>> {
    ty.as_tensor()?.shape.as_const()
}

fn elements(ty: &Type) -> Option<usize> {
    sizes(ty)?.iter().try_fold(1usize, |n, s| n.checked_mul(*s))
}

/// Runs one node. What only fails at run time is left for run time.
fn evaluate(node: &Node, operands: Vec<HostTensor>) -> Result<Option<Vec<HostTensor>>> {
    let mut b = Builder::new("fold");
    let mut inputs = Vec::new();
    for (i, t) in operands.iter().enumerate() {
        inputs.push(b.input(&format!("x{i}"), t.ty())?);
    }
    for (i, v) in b.op(node.op.clone(), &inputs)?.into_iter().enumerate() {
        b.output(&format!("y{i}"), v)?;
    }
    let graph = b.finish()?;
    let values: Vec<Value> = operands.into_iter().map(Value::Tensor).collect();
    let options = interp::Options { max_steps: 100_000, max_bytes: 64 << 20, ..Default::default() };
    let Ok(results) = interp::run(&graph, &values, &options) else { return Ok(None) };
    Ok(results.into_iter().map(|v| v.as_tensor().cloned()).collect())
}
