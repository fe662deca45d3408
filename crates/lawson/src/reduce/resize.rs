//! A graph of other sizes: a number that stands for a dimension is replaced everywhere, and constants and inputs are cropped.

use super::Case;
use lawson_graph::{
    Bindings, Dim, Fact, Facts, Graph, HostTensor, Op, Registry, Result, Symbol, Type, Value, interp,
};

/// The sizes above 1 that dimensions of the graph's values have.
pub(super) fn sizes(graph: &Graph) -> Vec<i64> {
    let mut sizes: Vec<i64> = Vec::new();
    for v in graph.values() {
        v.ty.visit_dims(&mut |d| sizes.extend(d.as_const().filter(|n| *n > 1)));
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The case with dimensions of one size made another. Whether the result is a graph is for the verifier to say.
pub(super) fn resize(case: &Case, from: i64, to: i64) -> Result<Case> {
    let map = |d: &Dim| if d.is(from) { Dim::from(to) } else { d.clone() };
    let mut inputs = Vec::with_capacity(case.inputs.len());
    for (v, value) in case.graph.inputs().iter().zip(&case.inputs) {
        inputs.push(match (case.graph.ty(*v), value) {
            (Type::Tensor(ty), Value::Tensor(t)) => {
                let sizes = t.sizes().iter().zip(ty.shape.iter());
                let sizes: Vec<usize> =
                    sizes.map(|(n, d)| if d.is(from) { to as usize } else { *n }).collect();
                crop(t, &sizes)?.into()
            }
            _ => value.clone(),
        });
    }
    let graph = case.graph.map_dims(Registry::standard(), &map)?;
    Ok(Case { graph: crop_constants(graph, from, to)?, inputs })
}

fn crop_constants(graph: Graph, from: i64, to: i64) -> Result<Graph> {
    let mut parts = graph.into_parts();
    for node in &mut parts.nodes {
        if let Op::Constant(t) = &mut node.op {
            let sizes: Vec<usize> =
                t.sizes().iter().map(|n| if *n as i64 == from { to as usize } else { *n }).collect();
            *t = crop(t, &sizes)?;
        }
    }
    Ok(Graph::from_parts(parts))
}

/// The case with a symbol replaced by a number, the one that it has in this run.
pub(super) fn fix_symbol(case: &Case, symbol: &Symbol, value: i64) -> Result<Case> {
    let number = |s: &Symbol| (s == symbol).then(|| Dim::from(value));
    let mut parts = case.graph.map_dims(Registry::standard(), &|d| d.substitute(&number))?.into_parts();
    let mut facts = Facts::new();
    for f in parts.facts.written() {
        let fact = Fact::new(f.left.substitute(&number), f.relation, f.right.substitute(&number));
        // What became a comparison of numbers says nothing any more.
        if fact.left.as_const().is_none() || fact.right.as_const().is_none() {
            facts.add(fact)?;
        }
    }
    parts.facts = facts;
    Ok(Case { graph: Graph::from_parts(parts), inputs: case.inputs.clone() })
}

/// The case with a smaller value of a symbol.
pub(super) fn rebind(case: &Case, symbol: &Symbol, to: i64) -> Result<Case> {
    let old = interp::bind(&case.graph, &case.inputs)?;
    let mut bindings = Bindings::new();
    for (s, v) in old.iter() {
        bindings.define(s.clone(), if s == symbol { to } else { v }, "a smaller size");
    }
    bindings.check(case.graph.facts())?;
    let mut inputs = Vec::with_capacity(case.inputs.len());
    for (v, value) in case.graph.inputs().iter().zip(&case.inputs) {
        inputs.push(match (case.graph.ty(*v), value) {
            (Type::Tensor(ty), Value::Tensor(t)) => crop(t, &bindings.eval_shape(&ty.shape)?)?.into(),
            _ => value.clone(),
        });
    }
    Ok(Case { graph: case.graph.clone(), inputs })
}

/// The first elements along each axis. Where the new size is greater, elements are repeated.
fn crop(t: &HostTensor, sizes: &[usize]) -> Result<HostTensor> {
    if t.sizes() == sizes {
        return Ok(t.clone());
    }
    if t.is_empty() {
        return HostTensor::zeros(t.dtype(), sizes);
    }
    let count = sizes.iter().product::<usize>();
    let mut from = Vec::with_capacity(count);
    for n in 0..count {
        let (mut rest, mut offset, mut stride) = (n, 0, 1);
        for (new, old) in sizes.iter().zip(t.sizes()).rev() {
            offset += rest % new % old * stride;
            rest /= new;
            stride *= old;
        }
        from.push(offset);
    }
    match t.dtype() {
        lawson_graph::DType::Str => {
            HostTensor::from_text(sizes, from.into_iter().map(|i| t.text()[i].clone()).collect())
        }
        d if d.is_float() => {
            HostTensor::from_floats(d, sizes, &from.into_iter().map(|i| t.float_at(i)).collect::<Vec<f64>>())
        }
        d => HostTensor::from_ints(d, sizes, &from.into_iter().map(|i| t.int_at(i)).collect::<Vec<i128>>()),
    }
}
