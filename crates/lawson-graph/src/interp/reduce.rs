//! Primitives that combine many elements (reduce, window reduce, cumulative) and sort. Each result is one fold, or one
//! row, over elements whose places are computed first.

use super::array::{Array, Data, chosen, count, strides, walk};
use super::mode::{Carrier, Fold, Mode};
use super::plain::order_by;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::{Cumulative, Monoid, Reduce, Sort, WindowReduce};

fn fold<T: Carrier>(kind: Monoid, dtype: DType) -> T::Fold {
    T::Fold::start(kind, dtype, dtype.accumulator())
}

/// The places of the first elements of rows along `axes`, and how far the other elements of a row are from them.
fn rows(sizes: &[usize], axes: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let steps = strides(sizes);
    let others: Vec<usize> = (0..sizes.len()).filter(|a| !axes.contains(a)).collect();
    let places = |axes: &[usize]| {
        let sizes: Vec<usize> = axes.iter().map(|a| sizes[*a]).collect();
        walk(&sizes, &chosen(&steps, axes), 0)
    };
    (places(&others), places(axes))
}

pub(super) fn reduce<M: Mode>(op: &Reduce, x: &Array<M>) -> Result<Data<M>> {
    let (starts, row) = rows(&x.sizes, &op.axes);
    fn each<T: Carrier>(kind: Monoid, dtype: DType, v: &[T], starts: &[usize], row: &[usize]) -> Vec<T> {
        let one = |start: &usize| {
            let mut fold = fold::<T>(kind, dtype);
            row.iter().for_each(|i| fold.push(v[start + i]));
            fold.result()
        };
        starts.iter().map(one).collect()
    }
    Ok(match x.data() {
        Data::Float(v) => Data::Float(each(op.kind, x.dtype, v, &starts, &row)),
        Data::Int(v) => Data::Int(each(op.kind, x.dtype, v, &starts, &row)),
        Data::Text(_) => return Err(Error::internal("text cannot be reduced")),
    })
}

pub(super) fn cumulative<M: Mode>(op: &Cumulative, x: &Array<M>) -> Result<Data<M>> {
    let (starts, mut row) = rows(&x.sizes, &[op.axis]);
    if op.reverse {
        row.reverse();
    }
    fn each<T: Carrier>(op: &Cumulative, dtype: DType, v: &[T], starts: &[usize], row: &[usize]) -> Vec<T> {
        let mut out = v.to_vec();
        for start in starts {
            let mut fold = fold::<T>(op.kind, dtype);
            for i in row {
                let at = start + i;
                if op.exclusive {
                    out[at] = fold.result();
                    fold.push(v[at]);
                } else {
                    fold.push(v[at]);
                    out[at] = fold.result();
                }
            }
        }
        out
    }
    Ok(match x.data() {
        Data::Float(v) => Data::Float(each(op, x.dtype, v, &starts, &row)),
        Data::Int(v) => Data::Int(each(op, x.dtype, v, &starts, &row)),
        Data::Text(_) => return Err(Error::internal("text cannot be accumulated")),
    })
}

/// `low` is the padding of this run, one an axis.
pub(super) fn window_reduce<M: Mode>(
    op: &WindowReduce,
    low: &[i64],
    x: &Array<M>,
    sizes: &[usize],
) -> Result<Data<M>> {
    let windows = Windows { op, low, x: &x.sizes, steps: strides(&x.sizes), sizes };
    Ok(match x.data() {
        Data::Float(v) => Data::Float(windows.fold(v, x.dtype)),
        Data::Int(v) => Data::Int(windows.fold(v, x.dtype)),
        Data::Text(_) => return Err(Error::internal("text cannot be reduced")),
    })
}

struct Windows<'a> {
    op: &'a WindowReduce,
    low: &'a [i64],
    x: &'a [usize],
    steps: Vec<usize>,
    sizes: &'a [usize],
}

impl Windows<'_> {
    fn fold<T: Carrier>(&self, v: &[T], dtype: DType) -> Vec<T> {
        let total = count(self.sizes);
        let mut out = Vec::with_capacity(total);
        let mut index = vec![0usize; self.sizes.len()];
        for _ in 0..total {
            // For each axis, the parts of a place that lie inside the tensor.
            let inside: Vec<Vec<usize>> =
                (0..index.len()).map(|axis| self.inside(axis, index[axis])).collect();
            let mut fold = fold::<T>(self.op.kind, dtype);
            visit(&inside, 0, &mut |at| fold.push(v[at]));
            out.push(fold.result());
            advance(&mut index, self.sizes);
        }
        out
    }

    /// Places along one axis of the window at `index`, those in the padding left out.
    fn inside(&self, axis: usize, index: usize) -> Vec<usize> {
        let (stride, dilation) = (i128::from(self.op.stride[axis]), i128::from(self.op.dilation[axis]));
        let first = index as i128 * stride - i128::from(self.low[axis]);
        // Skip to the first element that is not in the padding before, stop at the padding after.
        let skip = if first < 0 { (-first + dilation - 1) / dilation } else { 0 };
        (skip..i128::from(self.op.window[axis]))
            .map(|k| first + k * dilation)
            .take_while(|at| *at < self.x[axis] as i128)
            .map(|at| at as usize * self.steps[axis])
            .collect()
    }
}

/// Calls `each` with every sum of one entry from each list, in row-major order.
fn visit(lists: &[Vec<usize>], at: usize, each: &mut impl FnMut(usize)) {
    match lists.split_first() {
        None => each(at),
        Some((first, rest)) => first.iter().for_each(|i| visit(rest, at + i, each)),
    }
}

/// The next index of a row-major walk.
pub(super) fn advance(index: &mut [usize], sizes: &[usize]) {
    for axis in (0..sizes.len()).rev() {
        index[axis] += 1;
        if index[axis] < sizes[axis] {
            return;
        }
        index[axis] = 0;
    }
}

/// The operands in the order of the first.
pub(super) fn sort<M: Mode>(op: &Sort, operands: &[&Array<M>]) -> Result<Sorted<M>> {
    let key = operands[0];
    let (starts, row) = rows(&key.sizes, &[op.axis]);
    let mut results: Vec<Data<M>> = operands.iter().map(|x| x.data().clone()).collect();
    let mut text_unsettled = false;
    for start in starts {
        let places: Vec<usize> = row.iter().map(|i| start + i).collect();
        let (keys, from, unsettled) = match key.data().pick(&places) {
            Data::Float(v) => {
                let order = Carrier::order(&v, op.descending);
                (Data::Float(order.keys), order.from, order.unsettled)
            }
            Data::Int(v) => {
                let order = Carrier::order(&v, op.descending);
                (Data::Int(order.keys), order.from, order.unsettled)
            }
            Data::Text(v) => {
                let order = order_by(&v, op.descending, Ord::cmp);
                (Data::Text(order.keys), order.from, order.unsettled)
            }
        };
        results[0].put(places.iter().copied(), &keys);
        let sources: Vec<usize> = from.iter().map(|i| places[*i]).collect();
        for (result, x) in results.iter_mut().zip(operands).skip(1) {
            let mut moved = x.data().pick(&sources);
            for group in &unsettled {
                text_unsettled |= matches!(moved, Data::Text(_));
                mix(&mut moved, group.clone());
            }
            result.put(places.iter().copied(), &moved);
        }
    }
    Ok(Sorted { results, text_unsettled })
}

/// What `sort` gives.
pub(super) struct Sorted<M: Mode> {
    /// The elements of each result.
    pub(super) results: Vec<Data<M>>,
    /// Whether text was carried along in an order that is not known.
    pub(super) text_unsettled: bool,
}

/// Makes each element of a group possibly any other of it.
fn mix<M: Mode>(data: &mut Data<M>, group: std::ops::Range<usize>) {
    fn all<T: Carrier>(group: &mut [T]) {
        let Some(any) = group.iter().copied().reduce(T::either) else { return };
        group.iter_mut().for_each(|x| *x = x.either(any));
    }
    match data {
        Data::Float(v) => all(&mut v[group]),
        Data::Int(v) => all(&mut v[group]),
        Data::Text(_) => {}
    }
}
