//! `Tensor`: what a program takes and gives. A dtype, sizes, shared elements, and the device that they are on.
//!
//! # Layout
//!
//! On the host, elements are little-endian, row-major and contiguous; 4-bit elements stand two to a byte, the lower
//! half first. That is a DLPack tensor with `byte_offset` 0, the [`strides`](Tensor::strides) given here and the type
//! given by [`dl_type`](Tensor::dl_type). Text has no such form.

use lawson_graph::{DType, Element, HostTensor, Result, Value};
use std::fmt;

/// A tensor. Clones share the elements, so they cost nothing.
///
/// ```
/// use lawson::{DType, Tensor};
/// let x = Tensor::from_slice(&[2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!((x.dtype(), x.sizes()), (DType::F32, &[2, 3][..]));
/// assert_eq!(x.to_vec::<f32>()?[4], 5.0);
/// # Ok::<(), lawson::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Tensor {
    host: HostTensor,
    device: Device,
}

/// Where the elements of a tensor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    /// In the memory of the host.
    Host,
}

/// A dtype in DLPack's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DlType {
    /// The type code: 0 signed, 1 unsigned, 2 float, 4 bfloat, 6 bool, 10 f8e4m3fn, 12 f8e5m2.
    pub code: u8,
    /// The width of one lane in bits.
    pub bits: u8,
    /// How many lanes: always 1.
    pub lanes: u16,
}

impl Tensor {
    /// From elements of a Rust type, row-major.
    pub fn from_slice<T: Element>(sizes: &[usize], elements: &[T]) -> Result<Tensor> {
        HostTensor::from_slice(sizes, elements).map(Tensor::from)
    }

    /// From bytes in the layout above.
    pub fn from_bytes(dtype: DType, sizes: &[usize], bytes: impl Into<bytes::Bytes>) -> Result<Tensor> {
        HostTensor::from_bytes(dtype, sizes, bytes).map(Tensor::from)
    }

    /// One element, no dimensions.
    pub fn scalar<T: Element>(element: T) -> Tensor {
        HostTensor::scalar(element).into()
    }

    /// All elements zero, `false` or empty.
    pub fn zeros(dtype: DType, sizes: &[usize]) -> Result<Tensor> {
        HostTensor::zeros(dtype, sizes).map(Tensor::from)
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.host.dtype()
    }

    /// The sizes, outermost first.
    pub fn sizes(&self) -> &[usize] {
        self.host.sizes()
    }

    /// How many elements lie between neighbours along each axis.
    pub fn strides(&self) -> Vec<usize> {
        row_major_strides(self.sizes())
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.host.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.host.is_empty()
    }

    /// Where the elements are.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The tensor in host memory. Nothing is copied if it is there already; otherwise this waits for the device.
    pub fn to_host(&self) -> Result<HostTensor> {
        match self.device {
            Device::Host => Ok(self.host.clone()),
        }
    }

    /// The elements as a Rust type, which must be that of the dtype.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.to_host()?.to_vec()
    }

    /// The dtype in DLPack's terms; none for text.
    pub fn dl_type(&self) -> Option<DlType> {
        DlType::of(self.dtype())
    }

    /// The elements, for a tensor that is known to be on the host.
    pub(crate) fn host(&self) -> &HostTensor {
        &self.host
    }
}

/// Row-major strides in elements; those of a tensor without elements are of no use, and saturate.
pub(crate) fn row_major_strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(sizes[axis]);
    }
    strides
}

impl DlType {
    /// Of a dtype; text has none.
    pub fn of(dtype: DType) -> Option<DlType> {
        let code = match dtype {
            DType::Bool => 6,
            DType::BF16 => 4,
            DType::F8E4M3 => 10,
            DType::F8E4M3Fnuz => 11,
            DType::F8E5M2 => 12,
            DType::F8E5M2Fnuz => 13,
            DType::F8E8M0 => 14,
            DType::F4E2M1 => 17,
            d if d.is_float() => 2,
            d if d.is_int() => u8::from(!d.is_signed()),
            _ => return None,
        };
        Some(DlType { code, bits: dtype.bits() as u8, lanes: 1 })
    }
}

impl From<HostTensor> for Tensor {
    fn from(host: HostTensor) -> Tensor {
        Tensor { host, device: Device::Host }
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value::Tensor(tensor.host)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.host.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_row_major() {
        assert_eq!(Tensor::zeros(DType::F32, &[2, 3, 4]).unwrap().strides(), [12, 4, 1]);
        assert!(Tensor::scalar(1u8).strides().is_empty());
        assert_eq!(Tensor::zeros(DType::F32, &[0, 3]).unwrap().strides(), [3, 1]);
    }

    #[test]
    fn dtypes_have_their_dlpack_codes() {
        let of = |d| DlType::of(d).map(|t| (t.code, t.bits));
        assert_eq!(of(DType::I4), Some((0, 4)));
        assert_eq!(of(DType::U64), Some((1, 64)));
        assert_eq!(of(DType::F16), Some((2, 16)));
        assert_eq!(of(DType::BF16), Some((4, 16)));
        assert_eq!(of(DType::Bool), Some((6, 8)));
        assert_eq!(of(DType::Str), None);
    }

    #[test]
    fn the_wrong_element_type_is_refused() {
        assert!(Tensor::scalar(1f32).to_vec::<f64>().is_err());
    }
}
