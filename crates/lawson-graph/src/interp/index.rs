//! Gather and scatter: index vectors become places in the indexed tensor, and then elements move or meet.

use super::array::{Array, Data, chosen, strides, walk};
use super::mode::{Carrier, Fold, Mode, Whole};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::{Combine, Gather, Monoid, Scatter, window_axes};
use std::collections::BTreeMap;

/// Where each index vector points in the indexed tensor.
struct Pointers {
    /// The place of the first element of each window, or nothing where the vector points outside.
    places: Vec<Option<usize>>,
    /// How far a window's elements are from its first.
    window: Vec<usize>,
    /// Whether all indices are known exactly.
    exact: bool,
}

/// What to do with an index that lies outside.
#[derive(Clone, Copy, PartialEq)]
enum Outside {
    Clamp,
    Drop,
}

fn pointers<M: Mode>(
    x: &[usize],
    indices: &Array<M>,
    axes: &[usize],
    batch: usize,
    outside: Outside,
) -> Result<Pointers> {
    let entries = indices.ints()?;
    let steps = strides(x);
    let others = window_axes(x.len(), axes, batch);
    let window_sizes: Vec<usize> = others.iter().map(|a| x[*a]).collect();
    let window = walk(&window_sizes, &chosen(&steps, &others), 0);
    // The places of the indices, without the last axis; only batch axes move the place in `x`.
    let rank = indices.sizes.len();
    let outer = &indices.sizes[..rank - 1];
    let batch_steps: Vec<isize> =
        (0..rank - 1).map(|a| if a < batch { steps[a] as isize } else { 0 }).collect();
    let bases = walk(outer, &batch_steps, 0);
    let mut places = Vec::with_capacity(bases.len());
    for (i, base) in bases.into_iter().enumerate() {
        let vector = &entries[i * axes.len()..(i + 1) * axes.len()];
        let mut place = Some(base);
        for (axis, entry) in axes.iter().zip(vector) {
            let (index, size) = (entry.value(), x[*axis] as i128);
            if !(0..size).contains(&index) && (outside == Outside::Drop || size == 0) {
                place = None;
            }
            let index = index.clamp(0, (size - 1).max(0)) as usize;
            place = place.map(|p| p + index * steps[*axis]);
        }
        places.push(place);
    }
    Ok(Pointers { places, window, exact: entries.iter().all(|e| e.is_exact()) })
}

/// The gathered elements, and whether their places are known exactly.
pub(super) fn gather<M: Mode>(op: &Gather, x: &Array<M>, indices: &Array<M>) -> Result<(Data<M>, bool)> {
    let Pointers { places, window, exact } = pointers(&x.sizes, indices, &op.axes, op.batch, Outside::Clamp)?;
    let mut from = Vec::with_capacity(places.len().saturating_mul(window.len()));
    for place in places {
        if window.is_empty() {
            break;
        }
        let place = place.ok_or_else(|| Error::internal("there is nothing to gather from"))?;
        from.extend(window.iter().map(|w| place + w));
    }
    Ok((x.data().pick(&from), exact))
}

/// The tensor with the updates in it, and whether their places are known exactly.
pub(super) fn scatter<M: Mode>(
    op: &Scatter,
    x: &Array<M>,
    indices: &Array<M>,
    updates: &Array<M>,
) -> Result<(Data<M>, bool)> {
    let Pointers { places, window, exact } = pointers(&x.sizes, indices, &op.axes, op.batch, Outside::Drop)?;
    // Pairs (place in `x`, place in the updates), in the updates' order.
    let mut pairs = Vec::new();
    for (i, place) in places.into_iter().enumerate() {
        let Some(place) = place else { continue };
        pairs.extend(window.iter().enumerate().map(|(w, offset)| (place + offset, i * window.len() + w)));
    }
    let mut data = x.data().clone();
    let monoid = match op.combine {
        Combine::Set => {
            let sources: Vec<usize> = pairs.iter().map(|p| p.1).collect();
            data.put(pairs.iter().map(|p| p.0), &updates.data().pick(&sources));
            return Ok((data, exact));
        }
        Combine::Add => Monoid::Sum,
        Combine::Mul => Monoid::Prod,
        Combine::Min => Monoid::Min,
        Combine::Max => Monoid::Max,
    };
    match (&mut data, updates.data()) {
        (Data::Float(to), Data::Float(from)) => combine(to, from, &pairs, monoid, x.dtype),
        (Data::Int(to), Data::Int(from)) => combine(to, from, &pairs, monoid, x.dtype),
        _ => return Err(Error::internal("text cannot be combined")),
    }
    Ok((data, exact))
}

/// A target may update in place, so what it has so far is kept in the dtype itself.
fn combine<T: Carrier>(to: &mut [T], from: &[T], pairs: &[(usize, usize)], kind: Monoid, dtype: DType) {
    let mut folds: BTreeMap<usize, T::Fold> = BTreeMap::new();
    for (place, source) in pairs {
        let fold = folds.entry(*place).or_insert_with(|| {
            let mut fold = T::Fold::start(kind, dtype, dtype);
            fold.push(to[*place]);
            fold
        });
        fold.push(from[*source]);
    }
    for (place, fold) in folds {
        to[place] = fold.result();
    }
}
