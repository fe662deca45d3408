//! Control flow: while, cond, scan. Their bodies are closed graphs; what they read from outside is passed in as
//! *captures*, the operands after those that the operator carries, scans or branches on.
//!
//! Bodies may use the symbols of the graph around them. Symbols defined inside do not leave.

use super::infer::{Accept, Infer, plural};
use crate::dim::{Dim, Facts};
use crate::error::{Code, Error, Result};
use crate::graph::Graph;
use crate::types::{Shape, Type};
use std::sync::Arc;

/// Repeats while a condition holds. Operands: the carried values, then captures. `cond(carried…, captures…)` gives
/// one bool scalar; `body(carried…, captures…)` gives the next carried values. Results: the last carried values.
#[derive(Clone, Debug, PartialEq)]
pub struct While {
    /// How many operands are carried.
    pub carried: usize,
    /// The condition.
    pub cond: Arc<Graph>,
    /// One iteration.
    pub body: Arc<Graph>,
}

/// One of two branches. Operand 0 is a bool scalar; the others go to both branches.
#[derive(Clone, Debug, PartialEq)]
pub struct Cond {
    /// Runs if the condition is true.
    pub then: Arc<Graph>,
    /// Runs if it is false.
    pub otherwise: Arc<Graph>,
}

/// Repeats `length` times over slices. Operands: the carried values, then `scanned` tensors whose axis 0 is `length`,
/// then captures. `body(carried…, slices…, captures…)` gives the next carried values, then values to stack. Results:
/// the last carried values, then the stacks, whose axis 0 is `length`. Reversed, slices are taken and stacked from
/// the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// How many operands are carried.
    pub carried: usize,
    /// How many operands are scanned.
    pub scanned: usize,
    /// How many iterations.
    pub length: Dim,
    /// Whether to run from the end.
    pub reverse: bool,
    /// One iteration.
    pub body: Arc<Graph>,
}

/// Whether two types are equal for every value of the symbols.
pub fn same_type(facts: &Facts, a: &Type, b: &Type) -> bool {
    let same_dims =
        |x: &[Dim], y: &[Dim]| x.len() == y.len() && x.iter().zip(y).all(|(p, q)| facts.equal(p, q));
    match (a, b) {
        (Type::Tensor(x), Type::Tensor(y)) => x.dtype == y.dtype && same_dims(&x.shape, &y.shape),
        (Type::Sequence(x), Type::Sequence(y)) => {
            x.element.dtype == y.element.dtype
                && same_dims(&x.element.shape, &y.element.shape)
                && x.least_rank == y.least_rank
                && same_dims(&x.open, &y.open)
                && facts.equal(&x.max_len, &y.max_len)
        }
        (Type::Optional(x), Type::Optional(y)) => same_type(facts, x, y),
        _ => false,
    }
}

/// Checks that a body takes `given` and returns its result types.
fn check_inputs(cx: Infer<'_>, part: &str, body: &Graph, given: &[&Type]) -> Result<Vec<Type>> {
    if body.inputs().len() != given.len() {
        return Err(Error::new(
            Code::SubGraph,
            format!(
                "the {part} of `{}` must take {} input{}, but takes {}",
                cx.op,
                given.len(),
                plural(given.len()),
                body.inputs().len()
            ),
        ));
    }
    for (i, (input, ty)) in body.inputs().iter().zip(given).enumerate() {
        let have = body.ty(*input);
        if !same_type(cx.facts, have, ty) {
            return Err(Error::new(
                Code::SubGraph,
                format!("input {i} of the {part} of `{}` must be {ty}, but is {have}", cx.op),
            ));
        }
    }
    Ok(body.outputs().iter().map(|o| body.ty(o.value).clone()).collect())
}

fn check_outputs(cx: Infer<'_>, part: &str, have: &[Type], want: &[&Type]) -> Result<()> {
    if have.len() != want.len() {
        return Err(Error::new(
            Code::SubGraph,
            format!(
                "the {part} of `{}` must give {} result{}, but gives {}",
                cx.op,
                want.len(),
                plural(want.len()),
                have.len()
            ),
        ));
    }
    for (i, (have, want)) in have.iter().zip(want).enumerate() {
        if !same_type(cx.facts, have, want) {
            return Err(Error::new(
                Code::SubGraph,
                format!("result {i} of the {part} of `{}` must be {want}, but is {have}", cx.op),
            ));
        }
    }
    Ok(())
}

impl While {
    /// The result types: those carried.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.at_least(self.carried)?;
        let carried = &cx.inputs[..self.carried];
        let cond = check_inputs(cx, "condition", &self.cond, cx.inputs)?;
        check_outputs(cx, "condition", &cond, &[&Type::tensor(crate::DType::Bool, Shape::scalar())])?;
        let body = check_inputs(cx, "body", &self.body, cx.inputs)?;
        check_outputs(cx, "body", &body, carried)?;
        Ok(carried.iter().map(|t| (*t).clone()).collect())
    }
}

impl Cond {
    /// The result types: those that both branches give.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.at_least(1)?;
        cx.ranked(0, Accept::BOOL, 0)?;
        let then = check_inputs(cx, "then branch", &self.then, &cx.inputs[1..])?;
        let otherwise = check_inputs(cx, "else branch", &self.otherwise, &cx.inputs[1..])?;
        check_outputs(cx, "else branch", &otherwise, &then.iter().collect::<Vec<_>>())?;
        Ok(then)
    }
}

impl Scan {
    /// The result types: those carried, then the stacks.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        let leading = self.carried.saturating_add(self.scanned);
        cx.at_least(leading)?;
        cx.check_nonnegative("length", &self.length)?;
        let mut slices = Vec::new();
        for i in self.carried..leading {
            let t = cx.tensor(i, Accept::ANY)?;
            match t.shape.first() {
                Some(d) if cx.facts.equal(d, &self.length) => {}
                _ => {
                    let message = format!("axis 0 of a scanned operand must be {}, the length", self.length);
                    return Err(cx.error(Code::DimMismatch, i, message));
                }
            }
            slices.push(Type::tensor(t.dtype, t.shape[1..].iter().cloned().collect::<Shape>()));
        }
        let carried = &cx.inputs[..self.carried];
        let given: Vec<&Type> =
            carried.iter().copied().chain(&slices).chain(cx.inputs[leading..].iter().copied()).collect();
        let results = check_inputs(cx, "body", &self.body, &given)?;
        if results.len() < self.carried {
            return Err(Error::new(
                Code::SubGraph,
                format!("the body of `scan` must give at least the {} carried results", self.carried),
            ));
        }
        check_outputs(cx, "body", &results[..self.carried], carried)?;
        let mut types: Vec<Type> = carried.iter().map(|t| (*t).clone()).collect();
        for (i, ty) in results[self.carried..].iter().enumerate() {
            let Type::Tensor(t) = ty else {
                return Err(Error::new(
                    Code::SubGraph,
                    format!("stacked result {i} of `scan` must be a tensor, but is {ty}"),
                ));
            };
            let shape = [self.length.clone()].into_iter().chain(t.shape.iter().cloned());
            types.push(Type::tensor(t.dtype, shape.collect::<Shape>()));
        }
        Ok(types)
    }
}
