//! Packing: elements that are known when compiling, laid out as kernels want them.
//!
//! A layout is a sum of digits of single dimensions, so where an element lies is a sum of one table entry a dimension.

use crate::buffer::Layout;
use lawson_graph::{Code, DType, Dim, Error, Result};

/// Where the elements of a dimension lie, relative to its first.
struct Table {
    places: Vec<usize>,
    /// The stride in the row-major source.
    stride: usize,
}

/// Lays row-major elements out in `into`, which is as large as the layout says and zero where nothing is written.
pub fn pack(layout: &Layout, dims: &[Dim], dtype: DType, from: &[u8], into: &mut [u8]) -> Result<()> {
    let sizes: Option<Vec<usize>> =
        dims.iter().map(|d| d.as_const().and_then(|d| usize::try_from(d).ok())).collect();
    let size = dtype.bits() / 8;
    let sizes = sizes
        .filter(|s| dtype.bits() % 8 == 0 && s.iter().product::<usize>() * size <= from.len())
        .ok_or_else(|| Error::internal("a constant without constant dimensions is packed"))?;
    if layout.digits.len() == dims.len() && is_row_major(layout, dims) {
        into[..from.len()].copy_from_slice(from);
        return Ok(());
    }
    let mut tables: Vec<Table> = Vec::with_capacity(sizes.len());
    let mut stride = 1;
    for (d, n) in sizes.iter().enumerate().rev() {
        let mut places = vec![0usize; *n];
        for digit in layout.digits.iter().filter(|g| g.dim == d) {
            let step = digit.stride.as_const().and_then(|s| usize::try_from(s).ok());
            let Some(step) = step else {
                return Err(Error::new(Code::DimOverflow, "a constant's layout has no constant strides"));
            };
            for (i, place) in places.iter_mut().enumerate() {
                let quotient = i / digit.divide.max(1) as usize;
                *place += digit.modulo.map_or(quotient, |m| quotient % m.max(1) as usize) * step;
            }
        }
        tables.push(Table { places, stride });
        stride *= n;
    }
    tables.reverse();
    if sizes.contains(&0) {
        return Ok(());
    }
    // The dimension that is densest in the result goes innermost, so that writes are side by side.
    let densest = (0..tables.len()).min_by_key(|d| match tables[*d].places.as_slice() {
        [_, second, ..] => *second,
        _ => usize::MAX,
    });
    if let Some(d) = densest {
        let t = tables.remove(d);
        tables.push(t);
    }
    match size {
        4 => scatter::<4>(&tables, 0, 0, from, into),
        8 => scatter::<8>(&tables, 0, 0, from, into),
        2 => scatter::<2>(&tables, 0, 0, from, into),
        _ => scatter::<1>(&tables, 0, 0, from, into),
    }
    Ok(())
}

fn is_row_major(layout: &Layout, dims: &[Dim]) -> bool {
    *layout == Layout::row_major(dims)
}

fn scatter<const N: usize>(tables: &[Table], source: usize, place: usize, from: &[u8], into: &mut [u8]) {
    match tables {
        [] => into[place * N..][..N].copy_from_slice(&from[source * N..][..N]),
        [last] => {
            let mut i = 0;
            while i < last.places.len() {
                // A run that is dense on both sides is copied at once.
                let mut run = 1;
                while i + run < last.places.len() && last.places[i + run] == last.places[i] + run {
                    run += 1;
                }
                let at = (place + last.places[i]) * N;
                let start = (source + i * last.stride) * N;
                if last.stride == 1 {
                    into[at..at + run * N].copy_from_slice(&from[start..start + run * N]);
                } else {
                    let reads = from[start..].chunks(last.stride * N);
                    for (to, read) in into[at..at + run * N].chunks_exact_mut(N).zip(reads) {
                        to.copy_from_slice(&read[..N]);
                    }
                }
                i += run;
            }
        }
        [first, rest @ ..] => {
            for (i, p) in first.places.iter().enumerate() {
                scatter::<N>(rest, source + i * first.stride, place + p, from, into);
            }
        }
    }
}
