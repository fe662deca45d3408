//! Contract and convolve as bilinear operators: plans that are made once from sizes and then applied to plain numbers
//! of any kind, in loops over contiguous rows.

use super::array::{Array, Data, chosen, count, strides, walk};
use super::mode::{Bilinear, Carrier, Mode, Product};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::op::{Contract, Convolve};

/// The result of a bilinear operator of which each element sums at most `terms` products.
pub(super) fn apply<M: Mode>(
    plan: &impl Bilinear,
    terms: u64,
    l: &Array<M>,
    r: &Array<M>,
    out: DType,
) -> Result<Data<M>> {
    Ok(match (l.data(), r.data()) {
        (Data::Float(x), Data::Float(y)) => Data::Float(Carrier::bilinear(plan, x, y, terms, out)),
        (Data::Int(x), Data::Int(y)) => Data::Int(Carrier::bilinear(plan, x, y, terms, out)),
        _ => return Err(Error::internal("operands of two kinds are multiplied")),
    })
}

/// A contraction as batched matrix products: both operands are read in the order `batch, free, summed` (left) and
/// `batch, summed, free` (right), and the result comes out in its own order.
pub(super) struct ContractPlan {
    l_places: Vec<usize>,
    r_places: Vec<usize>,
    batch: usize,
    rows: usize,
    columns: usize,
    pub(super) summed: usize,
}

impl ContractPlan {
    pub(super) fn new(op: &Contract, l: &[usize], r: &[usize]) -> ContractPlan {
        let (free_l, free_r) = op.free_axes(l.len(), r.len());
        let batch: Vec<(usize, usize)> = op.batch.clone();
        let l_axes: Vec<usize> = batch
            .iter()
            .map(|p| p.0)
            .chain(free_l.iter().copied())
            .chain(op.sum.iter().map(|p| p.0))
            .collect();
        let r_axes: Vec<usize> = batch
            .iter()
            .map(|p| p.1)
            .chain(op.sum.iter().map(|p| p.1))
            .chain(free_r.iter().copied())
            .collect();
        let places = |sizes: &[usize], axes: &[usize]| {
            let along: Vec<usize> = axes.iter().map(|a| sizes[*a]).collect();
            walk(&along, &chosen(&strides(sizes), axes), 0)
        };
        let of = |sizes: &[usize], axes: &mut dyn Iterator<Item = usize>| {
            count(&axes.map(|a| sizes[a]).collect::<Vec<_>>())
        };
        ContractPlan {
            l_places: places(l, &l_axes),
            r_places: places(r, &r_axes),
            batch: of(l, &mut batch.iter().map(|p| p.0)),
            rows: of(l, &mut free_l.iter().copied()),
            columns: of(r, &mut free_r.iter().copied()),
            summed: of(l, &mut op.sum.iter().map(|p| p.0)),
        }
    }
}

impl Bilinear for ContractPlan {
    fn apply<T: Product>(&self, l: &[T], r: &[T]) -> Vec<T> {
        let ContractPlan { batch, rows, columns, summed, .. } = *self;
        let l: Vec<T> = self.l_places.iter().map(|i| l[*i]).collect();
        let r: Vec<T> = self.r_places.iter().map(|i| r[*i]).collect();
        let mut out = vec![T::ZERO; batch * rows * columns];
        if out.is_empty() || summed == 0 {
            return out;
        }
        let tables = out.chunks_exact_mut(rows * columns);
        for ((out, l), r) in tables.zip(l.chunks_exact(rows * summed)).zip(r.chunks_exact(summed * columns)) {
            // Several rows at a time, so that a row of `r` is read once for all of them.
            const TOGETHER: usize = 4;
            for (out, l) in out.chunks_mut(TOGETHER * columns).zip(l.chunks(TOGETHER * summed)) {
                for (k, r_row) in r.chunks_exact(columns).enumerate() {
                    for (out_row, l_row) in out.chunks_exact_mut(columns).zip(l.chunks_exact(summed)) {
                        let factor = l_row[k];
                        for (o, x) in out_row.iter_mut().zip(r_row) {
                            *o = o.plus_product(factor, *x);
                        }
                    }
                }
            }
        }
        out
    }
}

/// A convolution: for each pair of planes and each kernel element, the input elements that it meets.
pub(super) struct ConvolvePlan {
    x: Vec<usize>,
    w: Vec<usize>,
    out: Vec<usize>,
    groups: usize,
    batch_groups: usize,
    /// For each spatial axis and each kernel index along it: pairs (output index, input index), padding left out.
    meets: Vec<Vec<Vec<(usize, usize)>>>,
}

impl ConvolvePlan {
    /// `low` is the padding of this run, one a spatial axis.
    pub(super) fn new(op: &Convolve, low: &[i64], x: &[usize], w: &[usize], out: &[usize]) -> ConvolvePlan {
        // Without elements nothing meets, and the tables of what might could be huge.
        let axes = if count(x) == 0 || count(w) == 0 { 0 } else { low.len() };
        let meets = (0..axes).map(|i| {
            let (dilation, spread) = (i128::from(op.kernel_dilation[i]), i128::from(op.input_dilation[i]));
            let pair = |k: usize, o: usize| {
                let at = o as i128 * i128::from(op.stride[i]) + k as i128 * dilation - i128::from(low[i]);
                let hit = at >= 0 && at % spread == 0 && at / spread < x[2 + i] as i128;
                hit.then_some((o, (at / spread) as usize))
            };
            let along = |k: usize| (0..out[2 + i]).filter_map(|o| pair(k, o)).collect();
            (0..w[2 + i]).map(along).collect()
        });
        ConvolvePlan {
            meets: meets.collect(),
            x: x.to_vec(),
            w: w.to_vec(),
            out: out.to_vec(),
            groups: op.groups as usize,
            batch_groups: op.batch_groups as usize,
        }
    }

    /// How many products one result sums at most.
    pub(super) fn terms(&self) -> u64 {
        self.w[1..].iter().fold(1u64, |n, s| n.saturating_mul(*s as u64))
    }

    /// Adds `factor` times the elements of an input plane to the elements of an output plane that they meet.
    fn add_plane<T: Product>(&self, kernel: &[usize], factor: T, x: &[T], out: &mut [T]) {
        let Some((last, outer)) = kernel.split_last() else {
            out[0] = out[0].plus_product(factor, x[0]);
            return;
        };
        let axis = outer.len();
        let pairs = &self.meets[axis][*last];
        let (width, out_width) = (self.x[2 + axis], self.out[2 + axis]);
        let row = |x_row: &[T], out_row: &mut [T]| match (pairs.first(), pairs.last()) {
            // Neighbours meet neighbours: stretches instead of pairs.
            (Some(a), Some(b)) if b.0 - a.0 == b.1 - a.1 && b.0 - a.0 == pairs.len() - 1 => {
                for (o, v) in out_row[a.0..=b.0].iter_mut().zip(&x_row[a.1..=b.1]) {
                    *o = o.plus_product(factor, *v);
                }
            }
            _ => {
                for (o, i) in pairs {
                    out_row[*o] = out_row[*o].plus_product(factor, x_row[*i]);
                }
            }
        };
        self.visit_rows(outer, 0, 0, 0, &mut |x_at, out_at| {
            row(&x[x_at * width..][..width], &mut out[out_at * out_width..][..out_width]);
        });
    }

    /// Calls `each` with the numbers of an input row and an output row that meet.
    fn visit_rows(
        &self,
        outer: &[usize],
        axis: usize,
        x: usize,
        out: usize,
        each: &mut impl FnMut(usize, usize),
    ) {
        let Some((k, rest)) = outer.split_first() else { return each(x, out) };
        for (o, i) in &self.meets[axis][*k] {
            self.visit_rows(rest, axis + 1, x * self.x[2 + axis] + i, out * self.out[2 + axis] + o, each);
        }
    }
}

impl Bilinear for ConvolvePlan {
    fn apply<T: Product>(&self, x: &[T], w: &[T]) -> Vec<T> {
        let plane = |sizes: &[usize]| count(&sizes[2..]);
        let (x_plane, w_plane, out_plane) = (plane(&self.x), plane(&self.w), plane(&self.out));
        let (batch, channels, taken) = (self.out[0], self.out[1], self.w[1]);
        let mut out = vec![T::ZERO; batch * channels * out_plane];
        if out.is_empty() || x.is_empty() || w.is_empty() {
            return out;
        }
        let kernels: Vec<Vec<usize>> = (0..w_plane).map(|k| unravel(k, &self.w[2..])).collect();
        for n in 0..batch {
            for o in 0..channels {
                let entry = n + batch * (o / (channels / self.batch_groups));
                let first = taken * (o / (channels / self.groups));
                let to = &mut out[(n * channels + o) * out_plane..][..out_plane];
                for c in 0..taken {
                    let from = &x[(entry * self.x[1] + first + c) * x_plane..][..x_plane];
                    let weights = &w[(o * taken + c) * w_plane..][..w_plane];
                    for (kernel, factor) in kernels.iter().zip(weights) {
                        self.add_plane(kernel, *factor, from, to);
                    }
                }
            }
        }
        out
    }
}

/// The index of the element at a place in row-major order.
fn unravel(place: usize, sizes: &[usize]) -> Vec<usize> {
    let steps = strides(sizes);
    steps.iter().zip(sizes).map(|(step, size)| place / step % size).collect()
}
