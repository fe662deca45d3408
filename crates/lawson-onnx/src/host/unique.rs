//! The distinct entries of a tensor along an axis, in order or as they come.

use super::{number, tensor};
use lawson_graph::{DType, HostTensor, Result, Value};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Operands: the tensor as `[before, entries, after]`, and whether to sort. Results: the tensor of distinct entries in that shape,
/// where each came first, which one each entry is, how often each came.
pub(super) fn unique(operands: &[Value]) -> Result<Vec<Value>> {
    let (x, sorted) = (tensor(operands, 0)?, number(operands, 1)? != 0);
    let (before, entries, after) = (x.sizes()[0], x.sizes()[1], x.sizes()[2]);
    let places = |entry: usize| {
        (0..before).flat_map(move |b| (0..after).map(move |a| (b * entries + entry) * after + a))
    };
    let element = |i: usize, j: usize| match x.dtype() {
        DType::Str => x.text()[i].cmp(&x.text()[j]),
        d if d.is_float() => x.float_at(i).total_cmp(&x.float_at(j)),
        _ => x.int_at(i).cmp(&x.int_at(j)),
    };
    let order = |p: &usize, q: &usize| {
        let different = |(i, j)| Some(element(i, j)).filter(|o| *o != Ordering::Equal);
        places(*p).zip(places(*q)).find_map(different).unwrap_or(Ordering::Equal)
    };
    let mut all: Vec<usize> = (0..entries).collect();
    all.sort_by(|p, q| order(p, q).then(p.cmp(q)));
    // Runs of equal entries; the first of a run is where it came first.
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for entry in all {
        match runs.last_mut() {
            Some(run) if order(&run[0], &entry) == Ordering::Equal => run.push(entry),
            _ => runs.push(vec![entry]),
        }
    }
    if !sorted {
        runs.sort_by_key(|run| run[0]);
    }
    let number_of: BTreeMap<usize, i64> =
        runs.iter().enumerate().flat_map(|(n, run)| run.iter().map(move |e| (*e, n as i64))).collect();
    let first: Vec<i64> = runs.iter().map(|run| run[0] as i64).collect();
    let counts: Vec<i64> = runs.iter().map(|run| run.len() as i64).collect();
    let inverse: Vec<i64> = number_of.into_values().collect();
    let picked: Vec<usize> = (0..before)
        .flat_map(|b| runs.iter().map(move |run| (b, run[0])))
        .flat_map(|(b, entry)| (0..after).map(move |a| (b * entries + entry) * after + a))
        .collect();
    let sizes = [before, runs.len(), after];
    let y = match x.dtype() {
        DType::Str => HostTensor::from_text(&sizes, picked.iter().map(|i| x.text()[*i].clone()).collect())?,
        d if d.is_float() => {
            HostTensor::from_floats(d, &sizes, &picked.iter().map(|i| x.float_at(*i)).collect::<Vec<_>>())?
        }
        d => HostTensor::from_ints(d, &sizes, &picked.iter().map(|i| x.int_at(*i)).collect::<Vec<_>>())?,
    };
    let vector = |v: &[i64]| HostTensor::from_slice(&[v.len()], v);
    Ok(vec![y.into(), vector(&first)?.into(), vector(&inverse)?.into(), vector(&counts)?.into()])
}
