//! View primitives: where each element of the result comes from is computed once, and then elements of any kind move.

use super::array::{Array, Data, chosen, count, strides, walk};
use super::mode::{Carrier, Mode, Whole};
use crate::error::{Error, Result};
use crate::op::{Broadcast, Concat, Slice, Transpose};

pub(super) fn broadcast<M: Mode>(op: &Broadcast, x: &Array<M>, sizes: &[usize]) -> Data<M> {
    let from = strides(&x.sizes);
    let mut steps = vec![0isize; sizes.len()];
    for (i, axis) in op.axes.iter().enumerate() {
        if x.sizes[i] != 1 {
            steps[*axis] = from[i] as isize;
        }
    }
    x.data().pick(&walk(sizes, &steps, 0))
}

pub(super) fn transpose<M: Mode>(op: &Transpose, x: &Array<M>, sizes: &[usize]) -> Data<M> {
    x.data().pick(&walk(sizes, &chosen(&strides(&x.sizes), &op.perm), 0))
}

/// `start` is that of this run, one an axis.
pub(super) fn slice<M: Mode>(op: &Slice, start: &[i64], x: &Array<M>, sizes: &[usize]) -> Result<Data<M>> {
    if sizes.contains(&0) {
        return Ok(Data::with_capacity(x.dtype, 0));
    }
    let from = strides(&x.sizes);
    let (mut steps, mut offset) = (Vec::new(), 0isize);
    for axis in 0..sizes.len() {
        let first = i128::from(start[axis]);
        let last = first + i128::from(op.step[axis]) * (sizes[axis] as i128 - 1);
        let inside = 0..x.sizes[axis] as i128;
        if !inside.contains(&first) || !inside.contains(&last) {
            return Err(Error::internal(format!("a slice from {first} to {last} leaves {inside:?}")));
        }
        steps.push((from[axis] as isize).wrapping_mul(op.step[axis] as isize));
        offset += from[axis] as isize * start[axis] as isize;
    }
    Ok(x.data().pick(&walk(sizes, &steps, offset)))
}

/// Where a window of these sizes lies in `x`: its elements' places, and whether the starts are known exactly.
fn window<M: Mode>(x: &Array<M>, starts: &Array<M>, sizes: &[usize]) -> Result<(Vec<usize>, bool)> {
    let starts = starts.ints()?;
    let from = strides(&x.sizes);
    let mut offset = 0isize;
    for axis in 0..sizes.len() {
        let room = x.sizes[axis]
            .checked_sub(sizes[axis])
            .ok_or_else(|| Error::internal("a window is larger than its tensor"))?;
        let start = starts[axis].value().clamp(0, room as i128);
        offset = offset.wrapping_add((from[axis] as isize).wrapping_mul(start as isize));
    }
    let axes: Vec<usize> = (0..sizes.len()).collect();
    Ok((walk(sizes, &chosen(&from, &axes), offset), starts.iter().all(|s| s.is_exact())))
}

/// The window, and whether its place is known exactly.
pub(super) fn dynamic_slice<M: Mode>(
    x: &Array<M>,
    starts: &Array<M>,
    sizes: &[usize],
) -> Result<(Data<M>, bool)> {
    let (places, exact) = window(x, starts, sizes)?;
    Ok((x.data().pick(&places), exact))
}

/// The tensor with its window replaced, and whether the window's place is known exactly.
pub(super) fn update_slice<M: Mode>(
    x: &Array<M>,
    update: &Array<M>,
    starts: &Array<M>,
) -> Result<(Data<M>, bool)> {
    let (places, exact) = window(x, starts, &update.sizes)?;
    let mut data = x.data().clone();
    data.put(places.into_iter(), update.data());
    Ok((data, exact))
}

/// `low` is that of this run; `interior` stands in the operator.
pub(super) fn pad<M: Mode>(
    low: &[i64],
    interior: &[i64],
    x: &Array<M>,
    value: &Array<M>,
    sizes: &[usize],
) -> Data<M> {
    let mut data = value.data().repeat(count(sizes));
    let to = strides(sizes);
    let (mut steps, mut offset) = (Vec::new(), 0isize);
    for axis in 0..sizes.len() {
        steps.push((to[axis] as isize).wrapping_mul((interior[axis] as isize).wrapping_add(1)));
        offset = offset.wrapping_add((to[axis] as isize).wrapping_mul(low[axis] as isize));
    }
    data.put(walk(&x.sizes, &steps, offset).into_iter(), x.data());
    data
}

pub(super) fn concat<M: Mode>(op: &Concat, parts: &[&Array<M>], sizes: &[usize]) -> Data<M> {
    let outer = count(&sizes[..op.axis]);
    let mut data = Data::with_capacity(parts[0].dtype, count(sizes));
    for i in 0..outer {
        for part in parts {
            let row = count(&part.sizes[op.axis..]);
            data.extend(part.data(), i * row..(i + 1) * row);
        }
    }
    data
}
