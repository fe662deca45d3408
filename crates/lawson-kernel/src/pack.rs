//! Packing: the elements of a constant put where a kernel's layout wants them.
//!
//! `relayout` changes how a buffer of a kernel lies, [`Packing`] moves the bytes of a row-major tensor accordingly. Stages speak of
//! logical indices, so nothing else changes. Places that no element has (the overhang of the last panel) are zero.
//!
//! A digit that runs through all its values is a loop with a stride in the tensor and one in the result. So the tensor is cut
//! into boxes in which every digit does: one, and one more for the overhang. `nest.rs` moves a box, whatever its loops are.
//! A result is also made of pieces, the values of its outermost digit, which threads can pack beside each other.

mod nest;

use crate::buffer::{Buffer, BufferId, Layout, Role};
use crate::tree::Kernel;
use lawson_graph::{Code, DType, Dim, Error, Result, Symbol};
use nest::{Loop, Nest};
use std::ops::Range;

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

/// A layout of a tensor of known sizes, in numbers.
///
/// ```
/// use lawson_graph::{DType, Dim};
/// use lawson_kernel::{Layout, pack::Packing};
/// let panels = Layout::panels(&[Dim::from(2), Dim::from(3)], 1, 2, &[0]);
/// let packing = Packing::new(&panels, &[2, 3], DType::U8)?;
/// assert_eq!((packing.pieces(), packing.place(1)), (2, 4));
/// let mut second = [9; 4];
/// packing.pack(1..2, &[1, 2, 3, 4, 5, 6], &mut second)?;
/// assert_eq!(second, [3, 0, 6, 0]);
/// # Ok::<(), lawson_graph::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Packing {
    /// Bytes of an element.
    width: usize,
    sizes: Vec<usize>,
    /// By dimension, the finest first: each digit begins where the one before ends.
    digits: Vec<Vec<Step>>,
    /// Elements of the result.
    total: usize,
    /// The outermost digit, if no other reaches from one of its values to the next.
    outermost: Option<Outermost>,
}

/// A digit in numbers.
#[derive(Debug, Clone, Copy)]
struct Step {
    divide: usize,
    modulo: Option<usize>,
    stride: usize,
}

#[derive(Debug, Clone, Copy)]
struct Outermost {
    dim: usize,
    step: Step,
    values: usize,
}

impl Step {
    /// How many values it takes in a dimension of this size.
    fn values(&self, size: usize) -> usize {
        let all = size.div_ceil(self.divide);
        self.modulo.map_or(all, |m| all.min(m))
    }
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
    let packing = Packing::new(layout, sizes, dtype)?;
    let mut packed = vec![0; packing.bytes()];
    packing.pack(0..packing.pieces(), bytes, &mut packed)?;
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
    let packing = Packing::new(layout, sizes, dtype)?;
    packing.pack(0..packing.pieces(), bytes, packed)
}

fn number(dim: &Dim) -> Result<usize> {
    let value = dim.eval(&|_: &Symbol| None).and_then(|v| usize::try_from(v).ok());
    value.ok_or_else(|| unfit(format!("the layout depends on {dim}")))
}

fn unfit(why: String) -> Error {
    Error::new(Code::KernelRun, format!("a tensor cannot be packed: {why}"))
}

impl Packing {
    /// How a row-major tensor of these sizes goes into a layout, whose dimensions must be constants.
    pub fn new(layout: &Layout, sizes: &[usize], dtype: DType) -> Result<Packing> {
        let width = match dtype.bits() {
            bits @ (8 | 16 | 32 | 64) => bits / 8,
            _ => return Err(unfit(format!("elements of {dtype} do not fill bytes"))),
        };
        let bytes = |elements: usize| elements.checked_mul(width).filter(|n| isize::try_from(*n).is_ok());
        let elements = sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s));
        let total = number(&layout.size)?;
        if elements.and_then(bytes).is_none() || bytes(total).is_none() {
            return Err(unfit(format!("sizes {sizes:?} are too large")));
        }
        let mut digits: Vec<Vec<Step>> = sizes.iter().map(|_| Vec::new()).collect();
        for d in &layout.digits {
            let whole = |v: i64| usize::try_from(v).ok().filter(|v| *v > 0);
            let own = digits.get_mut(d.dim).ok_or_else(|| unfit("a digit of no dimension".into()))?;
            let divide = whole(d.divide).ok_or_else(|| unfit("a digit that divides by nothing".into()))?;
            let modulo = match d.modulo.map(whole) {
                Some(None) => return Err(unfit("a digit that is a remainder by nothing".into())),
                Some(m) => m,
                None => None,
            };
            own.push(Step { divide, modulo, stride: number(&d.stride)? });
        }
        let mut furthest = 0usize;
        for (dim, (own, size)) in digits.iter_mut().zip(sizes).enumerate() {
            // A remainder by one is always zero.
            own.retain(|s| s.modulo != Some(1));
            own.sort_by_key(|s| s.divide);
            let mut next = Some(1);
            for step in own.iter() {
                if next != Some(step.divide) {
                    return Err(unfit(format!("the digits of dimension {dim} have a gap, or overlap")));
                }
                next = step.modulo.and_then(|m| m.checked_mul(step.divide));
                let reach = (step.values(*size).max(1) - 1).checked_mul(step.stride);
                furthest = furthest.saturating_add(reach.unwrap_or(usize::MAX));
            }
            if next.is_some_and(|end| end < *size) {
                return Err(unfit(format!("the digits of dimension {dim} do not reach its end")));
            }
            own.retain(|s| s.divide < *size);
        }
        if elements != Some(0) && furthest >= total {
            return Err(unfit(format!("an element would lie at {furthest} of {total}")));
        }
        let steps = digits.iter().zip(sizes).enumerate();
        let outermost = steps
            .flat_map(|(dim, (own, size))| {
                own.iter().map(move |step| Outermost { dim, step: *step, values: step.values(*size) })
            })
            .max_by_key(|o| o.step.stride)
            .filter(|_| elements != Some(0))
            // What the other digits add stays below its stride, and it is the whole upper part of its dimension.
            .filter(|o| furthest - (o.values - 1) * o.step.stride < o.step.stride)
            .filter(|o| digits[o.dim].last().is_some_and(|top| top.divide == o.step.divide));
        Ok(Packing { width, sizes: sizes.to_vec(), digits, total, outermost })
    }

    /// How many bytes the result has.
    pub fn bytes(&self) -> usize {
        self.total * self.width
    }

    /// Whether the result is the tensor as it lies.
    pub fn is_identity(&self) -> bool {
        let boxes = self.boxes(None);
        self.total == self.elements() && boxes.into_iter().all(|b| b.merged().is_run())
    }

    fn elements(&self) -> usize {
        self.sizes.iter().product()
    }

    /// How many pieces the result has, which follow each other: at least one.
    pub fn pieces(&self) -> usize {
        self.outermost.map_or(1, |o| o.values)
    }

    /// The byte at which a piece begins; the end of the last one, if there is no such piece.
    pub fn place(&self, piece: usize) -> usize {
        match self.outermost {
            Some(o) if piece < o.values => piece * o.step.stride * self.width,
            None if piece == 0 => 0,
            _ => self.bytes(),
        }
    }

    /// Packs some pieces of the result: `bytes` are those of the whole tensor, `packed` those of the pieces.
    pub fn pack(&self, pieces: Range<usize>, bytes: &[u8], packed: &mut [u8]) -> Result<()> {
        if bytes.len() != self.elements() * self.width {
            let (sizes, width) = (&self.sizes, self.width);
            return Err(unfit(format!(
                "{} bytes came for sizes {sizes:?} of {width} bytes each",
                bytes.len()
            )));
        }
        let expected = self.place(pieces.end).checked_sub(self.place(pieces.start));
        if pieces.end > self.pieces() || expected != Some(packed.len()) {
            let (have, all) = (packed.len(), self.bytes());
            return Err(unfit(format!("{have} bytes are there for pieces {pieces:?} of {all} bytes")));
        }
        match self.width {
            1 => self.pack_elements::<1>(pieces, bytes, packed),
            2 => self.pack_elements::<2>(pieces, bytes, packed),
            4 => self.pack_elements::<4>(pieces, bytes, packed),
            _ => self.pack_elements::<8>(pieces, bytes, packed),
        }
        Ok(())
    }

    fn pack_elements<const W: usize>(&self, pieces: Range<usize>, bytes: &[u8], packed: &mut [u8]) {
        let (from, _) = bytes.as_chunks::<W>();
        let (mut to, _) = packed.as_chunks_mut::<W>();
        let Some(o) = self.outermost else {
            return self.fill(None, from, to);
        };
        // The last piece may overhang or end late, and is then zeroed first; the others need not be for that.
        let last = pieces.end == o.values && !pieces.is_empty();
        let whole = pieces.start..pieces.end - usize::from(last);
        if !whole.is_empty() {
            let (first, rest) = to.split_at_mut(whole.len() * o.step.stride);
            self.fill(Some((o, whole)), from, first);
            to = rest;
        }
        if last {
            self.fill(Some((o, o.values - 1..o.values)), from, to);
        }
    }

    /// Packs the whole tensor, or these values of the outermost digit.
    fn fill<const W: usize>(
        &self,
        part: Option<(Outermost, Range<usize>)>,
        from: &[[u8; W]],
        to: &mut [[u8; W]],
    ) {
        if self.elements() == 0 {
            return to.fill([0; W]);
        }
        let boxes = self.boxes(part);
        if boxes.iter().map(Nest::elements).sum::<usize>() < to.len() {
            to.fill([0; W]);
        }
        for b in boxes {
            b.merged().copy(from, to);
        }
    }

    /// The tensor, or what has these values of the outermost digit, cut so that digits run through all their values.
    fn boxes(&self, part: Option<(Outermost, Range<usize>)>) -> Vec<Nest> {
        let mut boxes = vec![Nest::default()];
        let mut stride = self.elements();
        for (dim, (own, size)) in self.digits.iter().zip(&self.sizes).enumerate() {
            stride /= (*size).max(1);
            let indices = match &part {
                Some((o, values)) if o.dim == dim => {
                    values.start * o.step.divide..(values.end * o.step.divide).min(*size)
                }
                _ => 0..*size,
            };
            let mut cuts = Vec::new();
            let begin = Nest { source: indices.start * stride, ..Nest::default() };
            cut(own, indices.len(), stride, begin, &mut cuts);
            boxes = boxes.iter().flat_map(|b| cuts.iter().map(|c| b.with(c))).collect();
        }
        boxes
    }
}

/// Cuts the first `count` indices of a dimension after `begin` into boxes; the lower digits begin at zero.
fn cut(digits: &[Step], count: usize, stride: usize, begin: Nest, out: &mut Vec<Nest>) {
    let Some((top, lower)) = digits.split_last() else {
        return out.push(begin);
    };
    let (full, rest) = (count / top.divide, count % top.divide);
    if full > 0 {
        let mut all = begin.clone();
        all.loops.push(Loop { count: full, source: top.divide * stride, place: top.stride });
        for digit in lower {
            let count = digit.modulo.unwrap_or(1);
            all.loops.push(Loop { count, source: digit.divide * stride, place: digit.stride });
        }
        out.push(all);
    }
    if rest > 0 {
        let mut after = begin;
        after.source += full * top.divide * stride;
        after.place += full * top.stride;
        cut(lower, rest, stride, after, out);
    }
}
