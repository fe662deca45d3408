//! Views: tensors in the caller's memory, for runs that copy no more than they must.
//!
//! A view is bytes, a dtype, sizes and strides, at any alignment. Both kinds are checked when they are made: every
//! element lies inside the bytes, and no two elements of a view to be written overlap.

use crate::tensor::{Tensor, row_major_strides};
use lawson_graph::{Code, DType, Error, Result};

/// Elements that a run reads, in the caller's memory.
///
/// ```
/// use lawson::{DType, TensorView};
/// let bytes: Vec<u8> = [1f32, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
/// let x = TensorView::new(DType::F32, &[2, 2], &bytes)?;
/// let transposed = TensorView::strided(DType::F32, &[2, 2], &[1, 2], 0, &bytes)?;
/// assert_eq!(transposed.to_tensor()?.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), lawson::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TensorView<'a> {
    layout: Layout,
    bytes: &'a [u8],
}

/// Elements that a run writes, in the caller's memory.
#[derive(Debug)]
pub struct TensorViewMut<'a> {
    layout: Layout,
    bytes: &'a mut [u8],
}

/// Where the elements of a view are.
#[derive(Clone, Debug, PartialEq)]
struct Layout {
    dtype: DType,
    sizes: Vec<usize>,
    /// The distance of neighbours along each axis, in elements.
    strides: Vec<isize>,
    /// The element that all indices 0 name.
    offset: usize,
    count: usize,
}

impl<'a> TensorView<'a> {
    /// A view of row-major, contiguous elements that fill the bytes.
    pub fn new(dtype: DType, sizes: &[usize], bytes: &'a [u8]) -> Result<TensorView<'a>> {
        Ok(TensorView { layout: Layout::contiguous(dtype, sizes, bytes.len())?, bytes })
    }

    /// A view with strides, in elements; `offset` is the element at which index 0 of every axis stands. Strides may
    /// be negative, and may be 0 to repeat.
    pub fn strided(
        dtype: DType,
        sizes: &[usize],
        strides: &[isize],
        offset: usize,
        bytes: &'a [u8],
    ) -> Result<TensorView<'a>> {
        Ok(TensorView { layout: Layout::strided(dtype, sizes, strides, offset, bytes.len())?, bytes })
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.layout.dtype
    }

    /// The sizes, outermost first.
    pub fn sizes(&self) -> &[usize] {
        &self.layout.sizes
    }

    /// The distance of neighbours along each axis, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.layout.strides
    }

    /// The elements' bytes, if they are row-major and contiguous.
    pub(crate) fn contiguous(&self) -> Option<&'a [u8]> {
        let start = self.layout.offset * self.layout.dtype.bits() / 8;
        let len = self.layout.dtype.bytes_for(self.layout.count)?;
        self.layout.is_contiguous().then(|| &self.bytes[start..start + len])
    }

    /// A tensor with a copy of the elements.
    pub fn to_tensor(&self) -> Result<Tensor> {
        let Layout { dtype, sizes, count, .. } = &self.layout;
        if self.layout.is_contiguous() {
            let start = self.layout.offset * dtype.bits() / 8;
            let len = dtype.bytes_for(*count).unwrap_or(0);
            return Tensor::from_bytes(*dtype, sizes, self.bytes[start..start + len].to_vec());
        }
        let width = dtype.bits() / 8;
        let mut out = Vec::with_capacity(count * width);
        self.layout.for_each(|_, at| out.extend_from_slice(&self.bytes[at * width..(at + 1) * width]));
        Tensor::from_bytes(*dtype, sizes, out)
    }
}

impl<'a> TensorViewMut<'a> {
    /// A view of row-major, contiguous elements that fill the bytes.
    pub fn new(dtype: DType, sizes: &[usize], bytes: &'a mut [u8]) -> Result<TensorViewMut<'a>> {
        Ok(TensorViewMut { layout: Layout::contiguous(dtype, sizes, bytes.len())?, bytes })
    }

    /// A view with strides, in elements; `offset` is the element at which index 0 of every axis stands. No two
    /// elements may overlap.
    pub fn strided(
        dtype: DType,
        sizes: &[usize],
        strides: &[isize],
        offset: usize,
        bytes: &'a mut [u8],
    ) -> Result<TensorViewMut<'a>> {
        let layout = Layout::strided(dtype, sizes, strides, offset, bytes.len())?;
        layout.check_disjoint()?;
        Ok(TensorViewMut { layout, bytes })
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.layout.dtype
    }

    /// The sizes, outermost first.
    pub fn sizes(&self) -> &[usize] {
        &self.layout.sizes
    }

    /// The distance of neighbours along each axis, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.layout.strides
    }

    /// The elements' bytes, if they are row-major and contiguous.
    pub(crate) fn contiguous(&mut self) -> Option<&mut [u8]> {
        let start = self.layout.offset * self.layout.dtype.bits() / 8;
        let len = self.layout.dtype.bytes_for(self.layout.count)?;
        self.layout.is_contiguous().then(|| &mut self.bytes[start..start + len])
    }

    /// Whether a result of this dtype and these sizes fits the view; if not, what differs.
    pub(crate) fn check(&self, dtype: DType, sizes: &[usize]) -> Result<()> {
        if (dtype, sizes) == (self.dtype(), self.sizes()) {
            return Ok(());
        }
        let view = format!("{}{:?}", self.dtype(), self.sizes());
        Err(Error::new(Code::InputType, format!("the view is {view}, but the result is {dtype}{sizes:?}")))
    }

    /// Takes over the elements of a tensor of the same dtype and sizes.
    pub fn copy_from(&mut self, tensor: &Tensor) -> Result<()> {
        let host = tensor.to_host()?;
        self.check(host.dtype(), host.sizes())?;
        let bits = self.dtype().bits();
        if self.layout.is_contiguous() {
            let start = self.layout.offset * bits / 8;
            self.bytes[start..start + host.bytes().len()].copy_from_slice(host.bytes());
            return Ok(());
        }
        let width = bits / 8;
        let (layout, bytes) = (&self.layout, &mut *self.bytes);
        layout.for_each(|i, at| {
            bytes[at * width..(at + 1) * width].copy_from_slice(&host.bytes()[i * width..(i + 1) * width]);
        });
        Ok(())
    }
}

impl Layout {
    fn contiguous(dtype: DType, sizes: &[usize], len: usize) -> Result<Layout> {
        let strides: Vec<isize> =
            row_major_strides(sizes).iter().map(|s| isize::try_from(*s).unwrap_or(isize::MAX)).collect();
        let layout = Layout::strided(dtype, sizes, &strides, 0, len)?;
        let expected = dtype.bytes_for(layout.count).unwrap_or(usize::MAX);
        if expected != len {
            return Err(view_error(format!("{dtype}{sizes:?} takes {expected} bytes, but {len} came")));
        }
        Ok(layout)
    }

    fn strided(
        dtype: DType,
        sizes: &[usize],
        strides: &[isize],
        offset: usize,
        len: usize,
    ) -> Result<Layout> {
        if dtype == DType::Str {
            return Err(view_error("text has no byte form, so there is no view of it"));
        }
        if strides.len() != sizes.len() {
            return Err(view_error(format!("{} sizes, but {} strides", sizes.len(), strides.len())));
        }
        let count = sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s));
        let Some(count) = count else {
            return Err(Error::new(Code::DimOverflow, format!("sizes {sizes:?} have too many elements")));
        };
        let layout = Layout { dtype, sizes: sizes.to_vec(), strides: strides.to_vec(), offset, count };
        if count == 0 {
            return Ok(Layout { offset: 0, ..layout });
        }
        // The first and the last element that some index names.
        let (mut low, mut high) = (offset as i128, offset as i128);
        for (size, stride) in sizes.iter().zip(strides) {
            let reach = (*size as i128 - 1) * *stride as i128;
            if reach < 0 { low += reach } else { high += reach }
        }
        let bits = dtype.bits() as i128;
        if low < 0 || (high + 1) * bits > len as i128 * 8 {
            return Err(view_error(format!(
                "elements {low}..={high} of {bits} bits do not all lie within {len} bytes"
            )));
        }
        if dtype.bits() < 8 && (offset != 0 || !layout.is_contiguous()) {
            return Err(view_error(format!("views of {dtype} are row-major and contiguous")));
        }
        Ok(layout)
    }

    fn is_contiguous(&self) -> bool {
        let mut expected = 1usize;
        self.count == 0
            || self.sizes.iter().zip(&self.strides).rev().all(|(size, s)| {
                let fits = *size == 1 || usize::try_from(*s) == Ok(expected);
                expected = expected.saturating_mul(*size);
                fits
            })
    }

    /// Refuses layouts that are not nested: each axis must step over all that the axes of smaller stride span.
    fn check_disjoint(&self) -> Result<()> {
        let mut axes: Vec<(u128, u128)> = (self.sizes.iter().zip(&self.strides))
            .filter(|(size, _)| **size > 1)
            .map(|(size, stride)| (stride.unsigned_abs() as u128, *size as u128))
            .collect();
        axes.sort_unstable();
        let mut span = 1u128;
        for (stride, size) in axes {
            if self.count > 0 && stride < span {
                return Err(view_error(format!(
                    "with sizes {:?} and strides {:?}, elements to be written may overlap",
                    self.sizes, self.strides
                )));
            }
            span += stride * (size - 1);
        }
        Ok(())
    }

    /// Calls `visit` with each row-major index and the element at which it is found.
    fn for_each(&self, mut visit: impl FnMut(usize, usize)) {
        let mut index = vec![0usize; self.sizes.len()];
        let mut at = self.offset as isize;
        for i in 0..self.count {
            visit(i, at as usize);
            for axis in (0..self.sizes.len()).rev() {
                index[axis] += 1;
                at += self.strides[axis];
                if index[axis] < self.sizes[axis] {
                    break;
                }
                at -= self.strides[axis] * self.sizes[axis] as isize;
                index[axis] = 0;
            }
        }
    }
}

fn view_error(message: impl Into<String>) -> Error {
    Error::new(Code::Literal, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

    fn read(sizes: &[usize], strides: &[isize], offset: usize) -> Result<Vec<u8>> {
        TensorView::strided(DType::U8, sizes, strides, offset, &BYTES)?.to_tensor()?.to_vec()
    }

    #[test]
    fn strides_may_transpose_reverse_and_repeat() {
        assert_eq!(read(&[3, 2], &[1, 3], 0).unwrap(), [0, 3, 1, 4, 2, 5]);
        assert_eq!(read(&[4], &[-2], 7).unwrap(), [7, 5, 3, 1]);
        assert_eq!(read(&[2, 2], &[0, 1], 5).unwrap(), [5, 6, 5, 6]);
        assert_eq!(read(&[], &[], 11).unwrap(), [11]);
        assert!(read(&[0, 9], &[1000, 1000], 99).unwrap().is_empty());
    }

    #[test]
    fn elements_outside_the_bytes_are_refused() {
        assert!(read(&[13], &[1], 0).is_err());
        assert!(read(&[2], &[-1], 0).is_err());
        assert!(read(&[2], &[isize::MAX], 0).is_err());
        assert!(read(&[2], &[isize::MIN], usize::MAX).is_err());
        assert!(read(&[usize::MAX, 2], &[0, 0], 0).is_err());
        assert!(read(&[2], &[1, 1], 0).is_err());
        assert!(TensorView::new(DType::F32, &[4], &BYTES).is_err());
        assert!(TensorView::new(DType::Str, &[], &[]).is_err());
    }

    #[test]
    fn four_bit_views_are_contiguous() {
        let x = TensorView::new(DType::U4, &[3], &[0x21, 0x03]).unwrap().to_tensor().unwrap();
        assert_eq!((0..3).map(|i| x.host().int_at(i)).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(TensorView::strided(DType::U4, &[2], &[2], 0, &[0, 0]).is_err());
    }

    #[test]
    fn writing_goes_where_the_strides_say() {
        let mut bytes = [9u8; 6];
        let x = Tensor::from_slice(&[2, 2], &[1u8, 2, 3, 4]).unwrap();
        TensorViewMut::strided(DType::U8, &[2, 2], &[1, 3], 1, &mut bytes).unwrap().copy_from(&x).unwrap();
        assert_eq!(bytes, [9, 1, 3, 9, 2, 4]);
        let mut view = TensorViewMut::new(DType::U8, &[6], &mut bytes).unwrap();
        assert!(view.copy_from(&x).is_err());
    }

    #[test]
    fn overlapping_elements_cannot_be_written() {
        let mut bytes = [0u8; 12];
        let mut refused = |sizes: &[usize], strides: &[isize]| {
            TensorViewMut::strided(DType::U8, sizes, strides, 0, &mut bytes).is_err()
        };
        assert!(refused(&[2], &[0]));
        assert!(refused(&[3, 3], &[1, 2]));
        assert!(!refused(&[2, 3], &[1, 2]));
        assert!(!refused(&[1, 3], &[0, 1]));
    }
}
