//! Loops that count are scans: how often they go round is known, and a kernel may keep their state in registers.

use crate::rewrite::{Rewriter, one};
use crate::rule::{Exact, Instance, Rule};
use lawson_graph::op::{BinaryKind, CompareKind, Effect, Family, Iota, Op, Scan, While};
use lawson_graph::{DType, Def, Dim, Graph, GraphParts, HostTensor, Node, Registry, Result, Shape, ValueId};
use std::sync::Arc;

/// The most iterations whose numbers are made into a tensor, where a body reads them.
const MOST_NUMBERS: i128 = 1 << 20;

/// The rules of this file.
pub const RULES: &[Rule] = &[Rule {
    name: "counted-while",
    identity: "while(k < n) with k + c at the end of its body = scan over the values of k, for a constant n and a first k that is known",
    exact: Exact::Bits,
    roots: &[Family::While],
    apply: counted_while,
    instance: counted_instance,
}];

/// A loop that counts.
struct Counter {
    /// Which carried value counts.
    place: usize,
    first: i128,
    step: i128,
    /// How often the body runs.
    times: i128,
}

fn counted_while(rw: &mut Rewriter<'_>, node: &Node) -> Result<Option<Vec<ValueId>>> {
    let Op::While(op) = &node.op else { return Ok(None) };
    let acts = |g: &Graph| g.nodes().iter().any(|n| n.op.effect() == Effect::Effectful);
    let Some(counter) = counter(rw, op, &node.inputs).filter(|_| !acts(&op.cond) && !acts(&op.body)) else {
        return Ok(None);
    };
    let counted = op.body.inputs()[counter.place];
    let body = op.body.as_ref();
    // The next number is computed from this one, and is nothing else's business.
    let next = body.outputs()[counter.place].value;
    let is_next = |n: &Node| n.outputs.contains(&next);
    let is_read =
        body.nodes().iter().any(|n| n.inputs.contains(&next) || (n.inputs.contains(&counted) && !is_next(n)))
            || body
                .outputs()
                .iter()
                .enumerate()
                .any(|(i, o)| i != counter.place && [counted, next].contains(&o.value));
    let Some(length) =
        i64::try_from(counter.times).ok().filter(|_| !is_read || counter.times <= MOST_NUMBERS)
    else {
        return Ok(None);
    };
    let Some(dtype) = rw.tensor(node.inputs[counter.place]).map(|t| t.dtype) else { return Ok(None) };
    let without = |values: &[ValueId]| -> Vec<ValueId> {
        values.iter().enumerate().filter(|(i, _)| *i != counter.place).map(|(_, v)| *v).collect()
    };

    let last = counter.first + counter.step * counter.times;
    let last = rw.constant(HostTensor::from_ints(dtype, &[], &[last])?)?;
    if op.carried == 1 {
        return one(last);
    }
    let (carried, captures) = node.inputs.split_at(op.carried);
    let mut operands = without(carried);
    if is_read {
        operands.push(numbers(rw, dtype, length, &counter)?);
    }
    operands.extend(captures);
    let scan = Scan {
        carried: op.carried - 1,
        scanned: usize::from(is_read),
        length: Dim::from(length),
        reverse: false,
        body: Arc::new(scanned_body(rw, op, counter.place, is_read)?),
    };
    let mut results = rw.op(Op::Scan(scan), &operands)?;
    results.insert(counter.place, last);
    Ok(Some(results))
}

/// The values that the counter has, one for each iteration.
fn numbers(rw: &mut Rewriter<'_>, dtype: DType, length: i64, counter: &Counter) -> Result<ValueId> {
    let shape = Shape::from([length]);
    let mut numbers = rw.op1(Op::Iota(Iota { dtype, shape: shape.clone(), axis: 0 }), &[])?;
    let mut repeated = |n: i128| -> Result<ValueId> {
        let scalar = rw.constant(HostTensor::from_ints(dtype, &[], &[n])?)?;
        rw.broadcast_to(scalar, shape.clone())
    };
    let (first, by) = (repeated(counter.first)?, repeated(counter.step.abs())?);
    numbers = rw.op1(Op::Binary(BinaryKind::Mul), &[numbers, by])?;
    let kind = if counter.step > 0 { BinaryKind::Add } else { BinaryKind::Sub };
    rw.op1(Op::Binary(kind), &[first, numbers])
}

/// The body with the counter behind what is carried, as an element of what is scanned, or without it.
fn scanned_body(rw: &Rewriter<'_>, op: &While, place: usize, is_read: bool) -> Result<Graph> {
    let body = op.body.as_ref();
    let mut b = rw.sub_graph("body");
    let mut given: Vec<Option<ValueId>> = vec![None; body.inputs().len()];
    let others = |range: std::ops::Range<usize>| range.filter(|i| *i != place);
    let order = others(0..op.carried).chain(is_read.then_some(place)).chain(op.carried..given.len());
    for i in order {
        let v = body.inputs()[i];
        given[i] = Some(b.input(&body.value_name(v), body.ty(v).clone())?);
    }
    // What computes the next number from a number that nothing else reads is dead code.
    let given = match given.iter().copied().collect::<Option<Vec<ValueId>>>() {
        Some(given) => given,
        None => {
            let ty = body.ty(body.inputs()[place]).as_tensor().map(|t| t.dtype).unwrap_or(DType::I64);
            let zero = b.constant(HostTensor::from_ints(ty, &[], &[0])?)?;
            given.into_iter().map(|v| v.unwrap_or(zero)).collect()
        }
    };
    let results = b.inline(body, &given, Registry::standard(), &|d| d.clone())?;
    for (i, (v, output)) in results.into_iter().zip(body.outputs()).enumerate() {
        if i != place {
            b.output(&output.name, v)?;
        }
    }
    // What is known around is known of symbols that the body may not have.
    let facts = body.facts().clone();
    Ok(Graph::from_parts(GraphParts { facts, ..b.finish_sub_graph()?.into_parts() }))
}

/// What counts in a loop, if something does and the loop comes to an end by that.
fn counter(rw: &Rewriter<'_>, op: &While, operands: &[ValueId]) -> Option<Counter> {
    let cond = op.cond.as_ref();
    let [output] = cond.outputs() else { return None };
    let node = defining(cond, output.value)?;
    let Op::Compare(kind) = node.op else { return None };
    let [a, b] = *node.inputs.as_slice() else { return None };
    let place = |v: ValueId| cond.inputs()[..op.carried].iter().position(|i| *i == v);
    let known = |v: ValueId| {
        let outer = cond.inputs().iter().position(|i| *i == v).filter(|i| *i >= op.carried);
        match outer {
            Some(i) => rw.constant_of(operands[i]).and_then(one_int),
            None => constant(cond, v),
        }
    };
    let (place, limit, kind) = match (place(a), place(b)) {
        (Some(p), None) => (p, known(b)?, kind),
        (None, Some(p)) => (p, known(a)?, mirrored(kind)),
        _ => return None,
    };
    let first = rw.constant_of(operands[place]).and_then(one_int)?;
    let step = step(op, place)?;
    let times = times(kind, first, step, limit)?;
    let (low, high) = rw.tensor(operands[place])?.dtype.int_range()?;
    let fits = |n: i128| (low..=high).contains(&n);
    let last = step.checked_mul(times)?.checked_add(first)?;
    (fits(last) && fits(step.abs())).then_some(Counter { place, first, step, times })
}

/// What a body adds to a carried value.
fn step(op: &While, place: usize) -> Option<i128> {
    let body = op.body.as_ref();
    let node = defining(body, body.outputs().get(place)?.value)?;
    let Op::Binary(kind) = node.op else { return None };
    let [a, b] = *node.inputs.as_slice() else { return None };
    let counted = body.inputs()[place];
    match kind {
        BinaryKind::Add if a == counted => constant(body, b),
        BinaryKind::Add if b == counted => constant(body, a),
        BinaryKind::Sub if a == counted => constant(body, b).map(|n| -n),
        _ => None,
    }
}

/// How often a body runs whose counter begins with `first`; `None` if that is for ever, or until the numbers come to their end.
fn times(kind: CompareKind, first: i128, step: i128, limit: i128) -> Option<i128> {
    let way = limit - first;
    // Whole steps up to the limit or beyond it.
    let up = |way: i128, step: i128| if way <= 0 { 0 } else { (way + step - 1) / step };
    match kind {
        CompareKind::Lt if step > 0 => Some(up(way, step)),
        CompareKind::Le if step > 0 => Some(up(way + 1, step)),
        CompareKind::Gt if step < 0 => Some(up(-way, -step)),
        CompareKind::Ge if step < 0 => Some(up(1 - way, -step)),
        CompareKind::Ne if way == 0 => Some(0),
        CompareKind::Ne if step != 0 && way % step == 0 && way / step > 0 => Some(way / step),
        _ => None,
    }
}

/// The comparison with its operands exchanged.
fn mirrored(kind: CompareKind) -> CompareKind {
    match kind {
        CompareKind::Lt => CompareKind::Gt,
        CompareKind::Le => CompareKind::Ge,
        CompareKind::Gt => CompareKind::Lt,
        CompareKind::Ge => CompareKind::Le,
        same => same,
    }
}

fn defining(graph: &Graph, v: ValueId) -> Option<&Node> {
    match graph.value(v).def {
        Def::Node(n, _) => Some(graph.node(n)),
        Def::Input(_) => None,
    }
}

/// The integer that a value of a body is.
fn constant(graph: &Graph, v: ValueId) -> Option<i128> {
    match &defining(graph, v)?.op {
        Op::Constant(t) => one_int(t),
        _ => None,
    }
}

fn one_int(t: &HostTensor) -> Option<i128> {
    (t.sizes().is_empty() && t.dtype().is_int()).then(|| t.int_at(0))
}

fn counted_instance(i: &mut Instance) -> Result<ValueId> {
    let dtype = i.dtype_of(|d| d.is_int() && d.bits() >= 8);
    let kinds = [
        (CompareKind::Lt, 1i32),
        (CompareKind::Le, 2),
        (CompareKind::Ge, -1),
        (CompareKind::Gt, -2),
        (CompareKind::Ne, 1),
    ];
    let (kind, step) = kinds[i.rng.below(kinds.len())];
    let (first, limit) = (i.rng.between(40, 45), i.rng.between(40, 45));
    let (first, limit) = if (step > 0) == (first <= limit) { (first, limit) } else { (limit, first) };
    let shape = i.shape(2);
    let (x, y) = (i.input(dtype, shape.clone())?, i.input(dtype, shape.clone())?);
    let first = i.b.scalar(dtype, first as f64)?;
    let (reads, turned) = (i.rng.one_in(2), i.rng.one_in(2));
    let results = i.b.while_loop(
        &[x, first],
        &[y],
        |b, v| {
            let limit = b.scalar(dtype, limit as f64)?;
            let (kind, pair) = if turned { (mirrored(kind), [limit, v[1]]) } else { (kind, [v[1], limit]) };
            b.op1(Op::Compare(kind), &pair)
        },
        |b, v| {
            let by = b.scalar(dtype, f64::from(step.unsigned_abs()))?;
            let (kind, mut sum) = (if step > 0 { BinaryKind::Add } else { BinaryKind::Sub }, v[2]);
            if reads {
                let number = b.broadcast_to(v[1], shape.clone())?;
                sum = b.op1(Op::Binary(BinaryKind::Add), &[sum, number])?;
            }
            let x = b.op1(Op::Binary(BinaryKind::Mul), &[v[0], sum])?;
            Ok(vec![x, b.op1(Op::Binary(kind), &[v[1], by])?])
        },
    )?;
    let last = i.b.broadcast_to(results[1], shape)?;
    i.b.op1(Op::Binary(BinaryKind::Add), &[results[0], last])
}
