//! Branches and loops.
//!
//! A branch whose condition is known is inlined; one whose results differ in sizes is computed on both sides (`merge.rs`). A loop that always runs as often as it says, a number known from shapes, is
//! a `scan`, which can also stack results; any other is a `while`. Bodies are closed graphs: values that they use from around
//! them are captures. A state that only grows is a stacked result (`grow.rs`). A loop that is neither, because its state is a sequence or changes its shape, is unrolled, if it is
//! known how often it runs (`unroll.rs`). A condition that only counts says how often, too (`count.rs`).

use super::grow::{self, Growth};
use super::{count, merge, unroll};
use crate::import::{MAX_DEPTH, nodes};
use crate::item::Item;
use crate::node::NodeCx;
use crate::open;
use crate::proto::{AttributeProto, GraphProto, NodeProto};
use crate::scope::{Scope, Stance};
use lawson_graph::op::{CompareKind, Cond, Scan, While};
use lawson_graph::{Builder, Code, DType, Dim, Error, Graph, HostTensor, Op, Result, Shape, Type, ValueId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A value of the graph around that a body uses.
pub(super) struct Capture {
    name: String,
    pub(super) value: ValueId,
    /// Its elements, if they are known for the runs that the model is imported for.
    known: Option<HostTensor>,
}

/// The names that a body uses and does not define.
fn free_names<'g>(graph: &'g GraphProto, free: &mut BTreeSet<&'g str>) {
    let mut used: BTreeSet<&str> = graph.output.iter().filter_map(|o| o.name.as_deref()).collect();
    for node in &graph.node {
        used.extend(node.input.iter().map(String::as_str));
        for body in node.attribute.iter().filter_map(|a| a.g.as_ref()) {
            free_names(body, &mut used);
        }
    }
    let constants = graph.initializer.iter().filter_map(|t| t.name.as_deref());
    let inputs = graph.input.iter().filter_map(|i| i.name.as_deref());
    let results = graph.node.iter().flat_map(|n| n.output.iter().map(String::as_str));
    let defined: BTreeSet<&str> = constants.chain(inputs).chain(results).chain([""]).collect();
    free.extend(used.difference(&defined));
}

/// The values around that bodies use, each once.
pub(super) fn captures(cx: &NodeCx<'_, '_>, bodies: &[&GraphProto]) -> Vec<Capture> {
    let mut names = BTreeSet::new();
    bodies.iter().for_each(|body| free_names(body, &mut names));
    let value = |name: &&str| match cx.scope.find(name) {
        Some(Item::Value(value)) => Some(Capture { name: name.to_string(), value, known: None }),
        Some(Item::Known(value, t)) => Some(Capture { name: name.to_string(), value, known: Some(t) }),
        _ => None,
    };
    names.iter().filter_map(value).collect()
}

/// A body that is being built: its parameters are those of the ONNX graph that come as values, then the captures.
pub(super) struct Body<'a> {
    pub(super) b: Builder<'static>,
    scope: Scope<'a>,
}

impl<'a> Body<'a> {
    pub(super) fn new(cx: &'a NodeCx<'_, '_>, label: &str) -> Result<Body<'a>> {
        if cx.depth >= MAX_DEPTH {
            return Err(Error::new(Code::Budget, format!("bodies are nested more than {MAX_DEPTH} deep")));
        }
        Ok(Body { b: cx.b.sub_graph(label), scope: Scope::within(cx.scope) })
    }

    pub(super) fn parameter(&mut self, name: &str, ty: Type) -> Result<ValueId> {
        let value = self.b.input(name, ty)?;
        self.scope.define(name, value.into())?;
        Ok(value)
    }

    pub(super) fn capture(&mut self, cx: &NodeCx<'_, '_>, captures: &[Capture]) -> Result<()> {
        for Capture { name, value, known } in captures {
            let inside = self.b.input(name, cx.b.ty(*value).clone())?;
            let item = known.as_ref().map_or(Item::Value(inside), |t| Item::Known(inside, t.clone()));
            self.scope.define(name, item)?;
        }
        Ok(())
    }

    /// Adds the nodes of the ONNX graph; returns its results as values.
    pub(super) fn fill(&mut self, cx: &NodeCx<'_, '_>, graph: &GraphProto) -> Result<Vec<ValueId>> {
        let items = nodes(cx.model, &mut self.b, &mut self.scope, graph, cx.depth + 1)?;
        items.iter().map(|item| item.build(&mut self.b)).collect()
    }

    pub(super) fn finish(mut self, results: &[ValueId]) -> Result<Arc<Graph>> {
        for (i, v) in results.iter().enumerate() {
            self.b.output(&i.to_string(), *v)?;
        }
        Ok(Arc::new(self.b.finish_sub_graph()?))
    }
}

pub(super) fn branch(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let (then, otherwise) = (cx.graph("then_branch")?, cx.graph("else_branch")?);
    if let Some(t) = cx.item(0)?.constant().filter(|t| t.len() == 1) {
        let taken = if t.int_at(0) != 0 { then } else { otherwise };
        return inlined(cx, taken, Vec::new());
    }
    let condition = cx.value(0)?;
    let (dtype, shape) = cx.tensor_type(0)?;
    if dtype != DType::Bool || shape.elements().as_const().is_some_and(|n| n != 1) {
        return Err(cx
            .wrong(format!("the condition of `If` is {dtype}{shape}"))
            .help("it is one bool: compare numbers, and reduce several bools to one"));
    }
    let condition = cx.b.reshape(condition, Shape::scalar())?;
    let captures = captures(cx, &[then, otherwise]);
    let build = |label: &str, graph: &GraphProto| {
        let mut body = Body::new(cx, label)?;
        body.capture(cx, &captures)?;
        let results = body.fill(cx, graph)?;
        Ok((body, results))
    };
    let bodies = build("then", then).and_then(|t| Ok([t, build("else", otherwise)?])).and_then(|mut both| {
        merge::same_ranks(cx, &mut both)?;
        let [(then, a), (otherwise, b)] = both;
        Ok((then.finish(&a)?, otherwise.finish(&b)?))
    });
    let types = |g: &Graph| g.outputs().iter().map(|o| g.ty(o.value).clone()).collect::<Vec<Type>>();
    let ranks = |types: Vec<Type>| types.iter().map(|t| t.as_tensor().map(|t| t.rank())).collect::<Vec<_>>();
    let differ = bodies.as_ref().is_ok_and(|(a, b)| ranks(types(a)) != ranks(types(b)));
    let operands: Vec<ValueId> = [condition].into_iter().chain(captures.iter().map(|c| c.value)).collect();
    let built = bodies.and_then(|(then, otherwise)| cx.b.op(Op::Cond(Cond { then, otherwise }), &operands));
    match built {
        Ok(results) => Ok(results.into_iter().map(Item::Value).collect()),
        // Exporters ask whether an axis is 1 before they remove it: a run in which it is not has a result of another rank.
        Err(why) if why.code() == Code::SubGraph && differ && presupposed(cx, condition)? => {
            inlined(cx, then, Vec::new()).map_err(|_| why)
        }
        // One type cannot stand for results of different sizes.
        Err(why) if why.code() == Code::SubGraph => merge::both(cx, condition, [then, otherwise], &why),
        Err(why) => {
            // What a branch asks for may be known, if it is known that the branch is taken.
            let item = cx.item(0)?;
            cx.unknown(0, &item, "condition");
            Err(why)
        }
    }
}

/// Whether a condition is that two sizes are equal, and that could be made a fact or is checked from then on.
fn presupposed(cx: &mut NodeCx<'_, '_>, condition: ValueId) -> Result<bool> {
    match open::compared_sizes(cx.b, condition) {
        Some((CompareKind::Eq, a, b)) => cx.require_equal(&a, &b),
        _ => Ok(false),
    }
}

/// Adds the nodes of a graph of the node to the graph around it, with those items for its inputs; returns its results.
pub(super) fn inlined(cx: &mut NodeCx<'_, '_>, body: &GraphProto, given: Vec<Item>) -> Result<Vec<Item>> {
    let stance = cx.scope.stance;
    inlined_as(cx, body, given, stance)
}

/// The same with what its nodes may presuppose.
pub(super) fn inlined_as(
    cx: &mut NodeCx<'_, '_>,
    body: &GraphProto,
    given: Vec<Item>,
    stance: Stance,
) -> Result<Vec<Item>> {
    if cx.depth >= MAX_DEPTH {
        return Err(Error::new(Code::Budget, format!("bodies are nested more than {MAX_DEPTH} deep")));
    }
    if body.input.len() != given.len() {
        let (takes, gets) = (body.input.len(), given.len());
        return Err(cx.wrong(format!("a graph of `{}` takes {takes} inputs, but gets {gets}", cx.op())));
    }
    let mut scope = Scope::inside(cx.scope).with_stance(stance);
    for (info, item) in body.input.iter().zip(given) {
        scope.define(info.name.as_deref().unwrap_or_default(), item)?;
    }
    nodes(cx.model, cx.b, &mut scope, body, cx.depth + 1)
}

/// How often a loop runs at most.
#[derive(Clone)]
enum Limit {
    None,
    Known(Dim),
    Value(ValueId),
}

/// A loop as it is written: `body(iteration, condition, carried…)` gives `condition, carried…, stacked…`.
pub(super) struct Loop<'a> {
    pub(super) body: &'a GraphProto,
    limit: Limit,
    pub(super) carried: Vec<ValueId>,
    captures: Vec<Capture>,
    /// What the last results of the body are parts of.
    growths: &'a [Growth],
}

pub(super) fn repeat(cx: &mut NodeCx<'_, '_>) -> Result<Vec<Item>> {
    let body = cx.graph("body")?;
    let limit = match cx.has(0) {
        false => Limit::None,
        true => match cx.item(0)?.dims() {
            Some(t) if t.dims.len() == 1 => Limit::Known(t.dims[0].clone()),
            _ => {
                let limit = cx.value(0)?;
                Limit::Value(cx.b.reshape(limit, Shape::scalar())?)
            }
        },
    };
    let items = (2..cx.operands()).map(|i| cx.item(i)).collect::<Result<Vec<_>>>()?;
    if body.input.len() != items.len() + 2 || body.output.len() < items.len() + 1 {
        let (takes, gives) = (body.input.len(), body.output.len());
        return Err(cx.wrong(format!(
            "a loop that carries {} values has a body that takes {takes} and gives {gives}",
            items.len()
        )));
    }
    let rolled = if items.iter().all(|i| i.tensor_type(cx.b).is_ok()) {
        let carried = (2..cx.operands()).map(|i| cx.value(i)).collect::<Result<Vec<_>>>()?;
        let captures = captures(cx, &[body]);
        let whole = Loop { body, limit: limit.clone(), carried: carried.clone(), captures, growths: &[] };
        rolled(cx, &whole).or_else(|why| grown(cx, body, limit, &carried).unwrap_or(Err(why)))
    } else {
        Err(cx.unsupported("a loop that carries sequences, and it is not known how often it runs"))
    };
    match rolled {
        Ok(results) => Ok(results),
        // Why it could not be rolled says more than why it could not be unrolled, unless that is a plain limit.
        Err(why) => match unroll::unrolled(cx, body, items) {
            Ok(Some(results)) => Ok(results),
            Ok(None) => Err(why),
            Err(e) => Err(e),
        },
    }
}

/// The loop without the states that only grow; `None` if it has none, or cannot be rolled all the same.
fn grown(
    cx: &mut NodeCx<'_, '_>,
    body: &GraphProto,
    limit: Limit,
    carried: &[ValueId],
) -> Option<Result<Vec<Item>>> {
    let grow::Grown { body: less, growths } = grow::without(cx, body, carried).ok()??;
    let grows = |k: usize| growths.iter().find(|g| g.carried == k);
    let kept = (0..carried.len()).filter(|k| grows(*k).is_none()).map(|k| carried[k]).collect();
    let captures = captures(cx, &[&less]);
    let lp = Loop { body: &less, limit, carried: kept, captures, growths: &growths };
    let mut results = match rolled(cx, &lp) {
        Ok(results) => results,
        Err(why) => return Some(Err(why)),
    };
    let parts = results.split_off(results.len() - growths.len());
    let mut states = Vec::with_capacity(growths.len());
    for (growth, part) in growths.iter().zip(parts) {
        let state = part.build(cx.b).and_then(|part| growth.finish(cx.b, part));
        match state {
            Ok(state) => states.push((growth.carried, Item::Value(state))),
            Err(why) => return Some(Err(why)),
        }
    }
    // In ascending order, so that each goes where it was.
    for (k, state) in states {
        results.insert(k, state);
    }
    Some(Ok(results))
}

/// The loop as an operator with a body of its own.
fn rolled(cx: &mut NodeCx<'_, '_>, lp: &Loop<'_>) -> Result<Vec<Item>> {
    let least = |length: &Dim| {
        let facts = cx.b.facts();
        if facts.is_nonnegative(length) { length.clone() } else { length.max(&Dim::ZERO) }
    };
    let known = match &lp.limit {
        Limit::Known(length) if starts(cx)? == Some(true) && goes_on(cx, lp.body)? => Some(least(length)),
        Limit::Known(most) => count::iterations(cx, lp).map(|count| count.min(&least(most))),
        Limit::None => count::iterations(cx, lp),
        Limit::Value(_) => None,
    };
    if let Some(length) = known {
        let length = cx.b.facts().simplify(&length);
        return as_scan(cx, lp, length);
    }
    match &lp.limit {
        _ if lp.body.output.len() > lp.carried.len() + 1 => {
            if cx.has(0) {
                let item = cx.item(0)?;
                cx.unknown(0, &item, "number of iterations");
            }
            Err(cx
                .unsupported(
                    "a loop that stacks results and may end early, or runs a number of times known only then",
                )
                .help("let it run a number of times that follows from shapes, with a condition that stays true; or import the model for given inputs"))
        }
        _ => as_while(cx, lp),
    }
}

/// The condition before the first iteration, if it is known.
fn starts(cx: &NodeCx<'_, '_>) -> Result<Option<bool>> {
    if !cx.has(1) {
        return Ok(Some(true));
    }
    Ok(cx.item(1)?.constant().filter(|t| t.len() == 1).map(|t| t.int_at(0) != 0))
}

/// Whether the body's condition is what it was before, or constant true.
fn goes_on(cx: &NodeCx<'_, '_>, body: &GraphProto) -> Result<bool> {
    let is_true = |t: &HostTensor| t.len() == 1 && t.int_at(0) != 0;
    let mut name = body.output.first().and_then(|o| o.name.as_deref()).unwrap_or_default();
    // Each step goes to an earlier node, if the body is in order.
    for _ in 0..=body.node.len() {
        if body.input.get(1).and_then(|i| i.name.as_deref()) == Some(name) {
            return Ok(true);
        }
        if let Some(t) = body.initializer.iter().find(|t| t.name.as_deref() == Some(name)) {
            return cx.model.tensor(t).map(|t| is_true(&t));
        }
        let Some(node) = body.node.iter().find(|n| n.output.first().is_some_and(|o| o == name)) else {
            return Ok(cx.scope.find(name).is_some_and(|i| i.constant().is_some_and(is_true)));
        };
        match node {
            NodeProto { op_type: Some(op), input, .. } if op == "Identity" && input.len() == 1 => {
                name = &input[0]
            }
            NodeProto { op_type: Some(op), attribute, .. } if op == "Constant" => {
                return match attribute.as_slice() {
                    [AttributeProto { t: Some(t), .. }] => cx.model.tensor(t).map(|t| is_true(&t)),
                    _ => Ok(false),
                };
            }
            _ => return Ok(false),
        }
    }
    Ok(false)
}

pub(super) fn parameter_name(body: &GraphProto, i: usize) -> String {
    let name = body.input.get(i).and_then(|p| p.name.as_deref()).filter(|n| !n.is_empty());
    name.map_or_else(|| format!("parameter.{i}"), str::to_string)
}

/// A scan over the numbers of the iterations.
fn as_scan(cx: &mut NodeCx<'_, '_>, lp: &Loop<'_>, length: Dim) -> Result<Vec<Item>> {
    let count = lp.carried.len();
    let mut body = Body::new(cx, "body")?;
    for (i, v) in lp.carried.iter().enumerate() {
        body.parameter(&parameter_name(lp.body, i + 2), cx.b.ty(*v).clone())?;
    }
    let iteration = body.parameter(&parameter_name(lp.body, 0), Type::tensor(DType::I64, Shape::scalar()))?;
    body.scope.counts_below(iteration, length.clone());
    body.scope.define(&parameter_name(lp.body, 1), Item::Constant(HostTensor::scalar(true)))?;
    body.capture(cx, &lp.captures)?;
    let mut results = body.fill(cx, lp.body)?;
    let first_part = results.len() - lp.growths.len();
    for (part, growth) in results[first_part..].iter_mut().zip(lp.growths) {
        *part = growth.fitted(&mut body.b, *part)?;
    }
    let body = body.finish(&results[1..])?;
    let iterations = cx.b.iota(DType::I64, [length.clone()], 0)?;
    let captures = lp.captures.iter().map(|c| c.value);
    let operands: Vec<ValueId> = lp.carried.iter().copied().chain([iterations]).chain(captures).collect();
    let scan = Scan { carried: count, scanned: 1, length, reverse: false, body };
    let results = cx.b.op(Op::Scan(scan), &operands)?;
    Ok(results.into_iter().map(Item::Value).collect())
}

/// A while loop that carries the number of the iteration and the condition too.
fn as_while(cx: &mut NodeCx<'_, '_>, lp: &Loop<'_>) -> Result<Vec<Item>> {
    let number = Type::tensor(DType::I64, Shape::scalar());
    let truth = Type::tensor(DType::Bool, Shape::scalar());
    let first = cx.b.scalar(DType::I64, 0.0)?;
    let condition = match cx.optional(1)? {
        Some(condition) => cx.b.reshape(condition, Shape::scalar())?,
        None => cx.b.scalar(DType::Bool, 1.0)?,
    };
    let limit = match lp.limit {
        Limit::Value(v) => Some(v),
        Limit::None | Limit::Known(_) => None,
    };
    let carried: Vec<ValueId> = [first, condition].into_iter().chain(lp.carried.iter().copied()).collect();
    let captures: Vec<ValueId> = limit.into_iter().chain(lp.captures.iter().map(|c| c.value)).collect();
    let operands: Vec<ValueId> = carried.iter().chain(&captures).copied().collect();

    let mut test = cx.b.sub_graph("cond");
    let mut given = Vec::with_capacity(operands.len());
    for (i, v) in operands.iter().enumerate() {
        given.push(test.input(&format!("parameter.{i}"), cx.b.ty(*v).clone())?);
    }
    let bound = match &lp.limit {
        Limit::None => None,
        Limit::Known(dim) => Some(test.dim_scalar(dim, DType::I64)?),
        Limit::Value(_) => given.get(carried.len()).copied(),
    };
    let goes_on = match bound {
        None => given[1],
        Some(bound) => {
            let more = test.compare(CompareKind::Lt, given[0], bound)?;
            test.and(given[1], more)?
        }
    };
    test.output("0", goes_on)?;
    let cond = Arc::new(test.finish_sub_graph()?);

    let mut body = Body::new(cx, "body")?;
    let iteration = body.parameter(&parameter_name(lp.body, 0), number.clone())?;
    if let Limit::Known(limit) = &lp.limit {
        body.scope.counts_below(iteration, limit.clone());
    }
    body.parameter(&parameter_name(lp.body, 1), truth)?;
    for (i, v) in lp.carried.iter().enumerate() {
        body.parameter(&parameter_name(lp.body, i + 2), cx.b.ty(*v).clone())?;
    }
    if limit.is_some() {
        body.b.input("limit.unused", number)?;
    }
    body.capture(cx, &lp.captures)?;
    let mut results = body.fill(cx, lp.body)?;
    let one = body.b.scalar(DType::I64, 1.0)?;
    let next = body.b.add(iteration, one)?;
    results[0] = body.b.reshape(results[0], Shape::scalar())?;
    results.insert(0, next);
    let body = body.finish(&results)?;
    let results = cx.b.op(Op::While(While { carried: carried.len(), cond, body }), &operands)?;
    Ok(results.into_iter().skip(2).map(Item::Value).collect())
}
