//! Packing: the elements of a constant put where a kernel's layout wants them.
//!
//! `relayout` changes how a buffer of a kernel lies, `pack` moves the bytes of a row-major tensor accordingly. Stages speak of
//! logical indices, so nothing else changes. Places that no element has (the overhang of the last panel) are zero.

use crate::buffer::{Buffer, BufferId, Layout, Role};
use crate::tree::Kernel;
use lawson_graph::{Code, DType, Dim, Error, Result, Symbol};

/// Gives a buffer another layout. Inputs and scratch may lie as they like; outputs too, if whoever reads them knows.
pub fn relayout(kernel: &mut Kernel, buffer: BufferId, layout: Layout) -> Result<()> {
    let Some(b) = kernel.buffers.get_mut(buffer.0 as usize) else {
        return Err(Error::new(
            Code::KernelRun,
            format!("kernel `{}` has no buffer {}", kernel.name, buffer.0),
        ));
    };
    check(b, &layout)?;
    b.layout = layout;
    Ok(())
}

/// Whether a layout gives every element of a buffer a place, as far as its digits tell.
fn check(buffer: &Buffer, layout: &Layout) -> Result<()> {
    let wrong = |why: String| {
        let role = match buffer.role {
            Role::Input => "input",
            Role::Output => "output",
            Role::Scratch(_) => "scratch",
        };
        Err(Error::new(Code::KernelRun, format!("a layout does not fit {role} `{}`: {why}", buffer.name)))
    };
    for (d, dim) in buffer.dims.iter().enumerate() {
        let mut digits: Vec<_> = layout.digits.iter().filter(|x| x.dim == d).collect();
        digits.sort_by_key(|x| x.divide);
        // The digits of a dimension make up its index: each begins where the one below ends, the last has no end.
        let mut next = Some(1);
        for digit in &digits {
            if Some(digit.divide) != next {
                return wrong(format!("the digits of dimension {d} have a gap, or overlap"));
            }
            next = digit.modulo.and_then(|m| m.checked_mul(digit.divide));
        }
        if next.is_some() && !dim.is(1) {
            return wrong(format!("the digits of dimension {d} do not reach its end"));
        }
    }
    match layout.digits.iter().find(|x| x.dim >= buffer.dims.len()) {
        Some(digit) => wrong(format!("it has a digit of dimension {}, which there is not", digit.dim)),
        None => Ok(()),
    }
}

/// A digit in numbers.
struct Step {
    divide: usize,
    modulo: Option<usize>,
    stride: usize,
}

/// The bytes of a row-major tensor of these sizes in a layout, whose dimensions must be constants.
///
/// ```
/// use lawson_graph::{DType, Dim};
/// use lawson_kernel::{Layout, pack::pack};
/// let dims = [Dim::from(2), Dim::from(3)];
/// let panels = Layout::panels(&dims, 1, 2, &[0]);
/// let packed = pack(&panels, &[2, 3], DType::U8, &[1, 2, 3, 4, 5, 6])?;
/// assert_eq!(packed, [1, 2, 4, 5, 3, 0, 6, 0]);
/// # Ok::<(), lawson_graph::Error>(())
/// ```
pub fn pack(layout: &Layout, sizes: &[usize], dtype: DType, bytes: &[u8]) -> Result<Vec<u8>> {
    let elements = number(&layout.size)?;
    let length =
        dtype.bytes_for(elements).ok_or_else(|| unfit(format!("{elements} elements are too many")))?;
    let mut packed = vec![0; length];
    pack_into(layout, sizes, dtype, bytes, &mut packed)?;
    Ok(packed)
}

/// As [`pack`], into memory that is there: as many bytes as the layout takes.
pub fn pack_into(
    layout: &Layout,
    sizes: &[usize],
    dtype: DType,
    bytes: &[u8],
    packed: &mut [u8],
) -> Result<()> {
    match dtype.bits() {
        8 => pack_elements::<1>(layout, sizes, bytes, packed),
        16 => pack_elements::<2>(layout, sizes, bytes, packed),
        32 => pack_elements::<4>(layout, sizes, bytes, packed),
        64 => pack_elements::<8>(layout, sizes, bytes, packed),
        _ => Err(unfit(format!("elements of {dtype} do not fill bytes"))),
    }
}

fn number(dim: &Dim) -> Result<usize> {
    let value = dim.eval(&|_: &Symbol| None).and_then(|v| usize::try_from(v).ok());
    value.ok_or_else(|| unfit(format!("the layout depends on {dim}")))
}

fn unfit(why: String) -> Error {
    Error::new(Code::KernelRun, format!("a tensor cannot be packed: {why}"))
}

fn pack_elements<const W: usize>(
    layout: &Layout,
    sizes: &[usize],
    bytes: &[u8],
    packed: &mut [u8],
) -> Result<()> {
    let (from, rest) = bytes.as_chunks::<W>();
    let count = sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s));
    if count != Some(from.len()) || !rest.is_empty() {
        return Err(unfit(format!("{} bytes came for sizes {sizes:?} of {W} bytes each", bytes.len())));
    }
    let total = number(&layout.size)?;
    let mut digits: Vec<Vec<Step>> = sizes.iter().map(|_| Vec::new()).collect();
    for d in &layout.digits {
        let whole = |v: i64| usize::try_from(v).ok().filter(|v| *v > 0);
        let own = digits.get_mut(d.dim).ok_or_else(|| unfit("a digit of no dimension".into()))?;
        let divide = whole(d.divide).ok_or_else(|| unfit("a digit that divides by nothing".into()))?;
        own.push(Step { divide, modulo: d.modulo.and_then(whole), stride: number(&d.stride)? });
    }
    // Where each index of each dimension puts its elements; an element's place is the sum.
    let offset = |own: &[Step], i: usize| {
        own.iter().map(|s| s.modulo.map_or(i / s.divide, |m| i / s.divide % m) * s.stride).sum::<usize>()
    };
    let offsets: Vec<Vec<usize>> =
        digits.iter().zip(sizes).map(|(own, size)| (0..*size).map(|i| offset(own, i)).collect()).collect();
    let furthest: usize = offsets.iter().map(|o| o.iter().max().copied().unwrap_or(0)).sum();
    if !from.is_empty() && furthest >= total {
        return Err(unfit(format!("an element would lie at {furthest} of {total}")));
    }
    let length = packed.len();
    let (to, rest) = packed.as_chunks_mut::<W>();
    if to.len() != total || !rest.is_empty() {
        return Err(unfit(format!("{length} bytes are there for {total} elements of {W} bytes")));
    }
    if total > from.len() {
        to.fill([0; W]);
    }
    if !from.is_empty() {
        match offsets.split_last() {
            Some((last, outer)) => copy(from, to, outer, last),
            None => to[0] = from[0],
        }
    }
    Ok(())
}

/// The sides of a tile that is turned round: a line of the cache of columns, and rows that fit into the first-level cache
/// with it.
const COLUMNS: usize = 16;
const ROWS: usize = 64;

/// How many runs of each row are moved before the next row: few enough that their targets are written side by side.
const RUNS: usize = 32;

/// Moves every element to the sum of its dimensions' offsets.
fn copy<const W: usize>(from: &[[u8; W]], to: &mut [[u8; W]], outer: &[Vec<usize>], last: &[usize]) {
    let rows: usize = outer.iter().map(Vec::len).product();
    let base = |row: usize| {
        let (mut row, mut at) = (row, 0);
        for offsets in outer.iter().rev() {
            at += offsets[row % offsets.len()];
            row /= offsets.len();
        }
        at
    };
    let bases: Vec<usize> = (0..rows).map(base).collect();
    let in_row = runs(last);
    if in_row.len() * 4 <= last.len() {
        for some in in_row.chunks(RUNS) {
            for (source, base) in from.chunks_exact(last.len()).zip(&bases) {
                for (start, place, length) in some {
                    to[base + place..][..*length].copy_from_slice(&source[*start..][..*length]);
                }
            }
        }
        return;
    }
    let stretches = runs(&bases);
    if stretches.len() * 4 > bases.len() {
        // Neighbours in the result lie apart in the source along some other dimension: that one goes innermost.
        let mut tables: Vec<Table<'_>> = Vec::with_capacity(outer.len() + 1);
        let mut stride = 1;
        for places in outer.iter().map(Vec::as_slice).chain([last]).rev() {
            tables.push(Table { places, stride });
            stride *= places.len();
        }
        let step = |t: &Table<'_>| match t.places {
            [first, second, ..] => second.abs_diff(*first),
            _ => usize::MAX,
        };
        tables.sort_by_key(|t| std::cmp::Reverse(step(t)));
        let Some(densest) = tables.pop() else { return };
        let inner = Inner { runs: runs(densest.places), stride: densest.stride };
        return scatter(&tables, &inner, 0, 0, from, to);
    }
    // Rows go to columns. A tile is read row by row, so that each line of the cache is read once, and written column by column.
    let mut tile = [[0u8; W]; ROWS * COLUMNS];
    for (first, _, length) in stretches {
        for row in (first..first + length).step_by(ROWS) {
            let height = ROWS.min(first + length - row);
            for column in (0..last.len()).step_by(COLUMNS) {
                let width = COLUMNS.min(last.len() - column);
                for (i, line) in tile.chunks_exact_mut(COLUMNS).take(height).enumerate() {
                    line[..width].copy_from_slice(&from[(row + i) * last.len() + column..][..width]);
                }
                for (j, place) in last[column..][..width].iter().enumerate() {
                    let target = &mut to[bases[row] + place..][..height];
                    for (element, line) in target.iter_mut().zip(tile.chunks_exact(COLUMNS)) {
                        *element = line[j];
                    }
                }
            }
        }
    }
}

/// A dimension: where its indices put elements, and how far apart they lie in the source.
struct Table<'a> {
    places: &'a [usize],
    stride: usize,
}

/// The dimension that is densest in the result, as stretches of neighbours.
struct Inner {
    runs: Vec<(usize, usize, usize)>,
    stride: usize,
}

/// Moves elements dimension by dimension, the densest innermost.
fn scatter<const W: usize>(
    outer: &[Table<'_>],
    inner: &Inner,
    source: usize,
    place: usize,
    from: &[[u8; W]],
    to: &mut [[u8; W]],
) {
    match outer {
        [] => {
            for (start, at, length) in &inner.runs {
                let reads = from[source + start * inner.stride..].iter().step_by(inner.stride);
                for (element, read) in to[place + at..][..*length].iter_mut().zip(reads) {
                    *element = *read;
                }
            }
        }
        [first, rest @ ..] => {
            for (i, at) in first.places.iter().enumerate() {
                scatter(rest, inner, source + i * first.stride, place + at, from, to);
            }
        }
    }
}

/// Stretches of neighbours: where each begins, what place it begins at, and how long it is.
fn runs(places: &[usize]) -> Vec<(usize, usize, usize)> {
    let mut runs: Vec<(usize, usize, usize)> = Vec::new();
    for (i, place) in places.iter().enumerate() {
        match runs.last_mut() {
            Some((_, start, length)) if *start + *length == *place => *length += 1,
            _ => runs.push((i, *place, 1)),
        }
    }
    runs
}
