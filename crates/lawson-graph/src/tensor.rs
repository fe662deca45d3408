//! Tensors in host memory, and the values that a run takes and gives.
//!
//! `HostTensor` is what constants hold and what the reference interpreter reads and writes: a dtype, sizes, and
//! bytes (little-endian, row-major, contiguous, shared without copying). Text is kept apart from bytes.

use crate::dtype::{Class, DType};
use crate::error::{Code, Error, Result};
use crate::number;
use crate::types::{Shape, TensorType};
use bytes::Bytes;
use half::{bf16, f16};
use std::fmt;
use std::sync::Arc;

/// A tensor in host memory. Clones share the elements.
#[derive(Clone)]
pub struct HostTensor {
    dtype: DType,
    sizes: Arc<[usize]>,
    storage: Storage,
    backing: Backing,
}

/// What is kept with the bytes of a tensor.
#[derive(Clone, Copy)]
enum Backing {
    /// The memory that they are a part of.
    Memory,
    /// A map of that part of a file.
    File,
}

impl PartialEq for HostTensor {
    fn eq(&self, other: &HostTensor) -> bool {
        self.dtype == other.dtype && self.sizes == other.sizes && self.storage == other.storage
    }
}

impl Eq for HostTensor {}

#[derive(Clone, PartialEq, Eq)]
enum Storage {
    Bytes(Bytes),
    Text(Arc<[Arc<str>]>),
}

/// A value of a run: what an input takes and an output gives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A tensor.
    Tensor(HostTensor),
    /// A list of tensors.
    Sequence(Vec<HostTensor>),
    /// A value that may be absent.
    Optional(Option<Box<Value>>),
}

/// A Rust type that is the element type of a dtype.
pub trait Element: Copy + 'static {
    /// The dtype.
    const DTYPE: DType;
    /// Appends the little-endian bytes.
    fn put(self, out: &mut Vec<u8>);
    /// Reads from little-endian bytes of the right length.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! element {
    ($($t:ty => $dtype:ident),*) => {$(
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;

            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> $t {
                let mut raw = [0u8; size_of::<$t>()];
                raw.copy_from_slice(bytes);
                <$t>::from_le_bytes(raw)
            }
        }
    )*};
}
element!(u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, u64 => U64, i64 => I64,
         f16 => F16, bf16 => BF16, f32 => F32, f64 => F64);

impl Element for bool {
    const DTYPE: DType = DType::Bool;

    fn put(self, out: &mut Vec<u8>) {
        out.push(u8::from(self));
    }

    fn get(bytes: &[u8]) -> bool {
        bytes[0] != 0
    }
}

fn count(sizes: &[usize]) -> Result<usize> {
    sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s)).filter(|n| *n <= isize::MAX as usize).ok_or_else(
        || Error::new(Code::DimOverflow, format!("a tensor of sizes {sizes:?} has too many elements")),
    )
}

impl HostTensor {
    /// From bytes: little-endian, row-major, contiguous; elements of less than 8 bits as many to a byte as fit, the
    /// lowest first.
    pub fn from_bytes(dtype: DType, sizes: &[usize], bytes: impl Into<Bytes>) -> Result<HostTensor> {
        let mut bytes = bytes.into();
        if dtype == DType::Str {
            return Err(Error::new(Code::Literal, "text has no byte form; use `HostTensor::from_text`"));
        }
        let n = count(sizes)?;
        let expected = dtype.bytes_for(n).unwrap_or(usize::MAX);
        if bytes.len() != expected {
            return Err(Error::new(
                Code::Literal,
                format!("{dtype}{sizes:?} takes {expected} bytes, but {} came", bytes.len()),
            ));
        }
        if dtype == DType::Bool
            && let Some(bad) = bytes.iter().position(|b| *b > 1)
        {
            return Err(Error::new(
                Code::Literal,
                format!("element {bad} of a bool tensor is the byte {}, neither 0 nor 1", bytes[bad]),
            ));
        }
        // Elements that share bytes may leave some bits of the last; they are kept zero, so that equality is by bytes.
        let used = n * dtype.bits() % 8;
        if used > 0 && bytes.last().is_some_and(|b| b >> used != 0) {
            let mut fixed = bytes.to_vec();
            if let Some(last) = fixed.last_mut() {
                *last &= (1 << used) - 1;
            }
            bytes = fixed.into();
        }
        Ok(HostTensor {
            dtype,
            sizes: sizes.into(),
            storage: Storage::Bytes(bytes),
            backing: Backing::Memory,
        })
    }

    /// Says that the bytes are a map of a part of a file: who keeps them keeps pages that the system can have back, and no others.
    pub fn mapped(self) -> HostTensor {
        HostTensor { backing: Backing::File, ..self }
    }

    /// Whether the bytes are a map of a part of a file.
    pub fn is_mapped(&self) -> bool {
        matches!(self.backing, Backing::File)
    }

    /// From a slice of elements.
    ///
    /// ```
    /// use lawson_graph::HostTensor;
    /// let t = HostTensor::from_slice(&[2, 2], &[1f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(t.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), lawson_graph::Error>(())
    /// ```
    pub fn from_slice<T: Element>(sizes: &[usize], elements: &[T]) -> Result<HostTensor> {
        if count(sizes)? != elements.len() {
            return Err(Error::new(
                Code::Literal,
                format!("sizes {sizes:?} take {} elements, but {} came", count(sizes)?, elements.len()),
            ));
        }
        let mut bytes = Vec::with_capacity(std::mem::size_of_val(elements));
        elements.iter().for_each(|e| e.put(&mut bytes));
        HostTensor::from_bytes(T::DTYPE, sizes, bytes)
    }

    /// One element, no dimensions.
    pub fn scalar<T: Element>(element: T) -> HostTensor {
        let mut bytes = Vec::new();
        element.put(&mut bytes);
        let storage = Storage::Bytes(bytes.into());
        HostTensor { dtype: T::DTYPE, sizes: [].into(), storage, backing: Backing::Memory }
    }

    /// From text.
    pub fn from_text(sizes: &[usize], text: Vec<Arc<str>>) -> Result<HostTensor> {
        if count(sizes)? != text.len() {
            return Err(Error::new(
                Code::Literal,
                format!("sizes {sizes:?} take {} strings, but {} came", count(sizes)?, text.len()),
            ));
        }
        let storage = Storage::Text(text.into());
        Ok(HostTensor { dtype: DType::Str, sizes: sizes.into(), storage, backing: Backing::Memory })
    }

    /// From numbers of the float carrier, rounded to a float dtype.
    pub fn from_floats(dtype: DType, sizes: &[usize], values: &[f64]) -> Result<HostTensor> {
        if !dtype.is_float() {
            return Err(Error::new(Code::Literal, format!("{dtype} is not a float")));
        }
        if dtype == DType::F32 && count(sizes)? == values.len() {
            let bytes: Vec<[u8; 4]> = values.iter().map(|v| (*v as f32).to_le_bytes()).collect();
            return HostTensor::from_bytes(dtype, sizes, bytes.into_flattened());
        }
        HostTensor::encode(dtype, sizes, values.len(), |bytes, i| {
            number::write_float(dtype, bytes, i, values[i])
        })
    }

    /// From numbers of the integer carrier, wrapped to an integer dtype or `bool`.
    pub fn from_ints(dtype: DType, sizes: &[usize], values: &[i128]) -> Result<HostTensor> {
        if dtype.int_range().is_none() {
            return Err(Error::new(Code::Literal, format!("{dtype} is neither an integer nor bool")));
        }
        HostTensor::encode(dtype, sizes, values.len(), |bytes, i| {
            number::write_int(dtype, bytes, i, values[i])
        })
    }

    fn encode(
        dtype: DType,
        sizes: &[usize],
        len: usize,
        write: impl Fn(&mut [u8], usize),
    ) -> Result<HostTensor> {
        let n = count(sizes)?;
        if n != len {
            return Err(Error::new(
                Code::Literal,
                format!("sizes {sizes:?} take {n} elements, but {len} came"),
            ));
        }
        let mut bytes = vec![0u8; dtype.bytes_for(n).unwrap_or(0)];
        (0..n).for_each(|i| write(&mut bytes, i));
        HostTensor::from_bytes(dtype, sizes, bytes)
    }

    /// All elements zero, `false` or empty.
    pub fn zeros(dtype: DType, sizes: &[usize]) -> Result<HostTensor> {
        let n = count(sizes)?;
        if dtype == DType::Str {
            return HostTensor::from_text(sizes, vec!["".into(); n]);
        }
        let bytes =
            dtype.bytes_for(n).ok_or_else(|| Error::new(Code::DimOverflow, "a tensor is too large"))?;
        HostTensor::from_bytes(dtype, sizes, vec![0u8; bytes])
    }

    /// One element of any numeric dtype from a number: rounded for floats, saturated towards zero for integers.
    pub fn scalar_of(dtype: DType, value: f64) -> Result<HostTensor> {
        if dtype.is_float() {
            HostTensor::from_floats(dtype, &[], &[value])
        } else {
            HostTensor::from_ints(dtype, &[], &[number::saturate(dtype, value)])
        }
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes, outermost first.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type.
    pub fn ty(&self) -> TensorType {
        TensorType::new(self.dtype, Shape::from(&*self.sizes))
    }

    /// The bytes; empty for text.
    pub fn bytes(&self) -> &Bytes {
        static EMPTY: Bytes = Bytes::new();
        match &self.storage {
            Storage::Bytes(b) => b,
            Storage::Text(_) => &EMPTY,
        }
    }

    /// The text; empty for all other dtypes.
    pub fn text(&self) -> &[Arc<str>] {
        match &self.storage {
            Storage::Bytes(_) => &[],
            Storage::Text(t) => t,
        }
    }

    /// The elements as a Rust type, which must be that of the dtype.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if T::DTYPE != self.dtype {
            return Err(Error::new(
                Code::OperandDType,
                format!("the tensor holds {}, not {}", self.dtype, T::DTYPE),
            ));
        }
        let width = T::DTYPE.bits() / 8;
        Ok(self.bytes().chunks_exact(width).map(T::get).collect())
    }

    /// Element `i` on the float carrier; integers are converted.
    pub fn float_at(&self, i: usize) -> f64 {
        match self.dtype.class() {
            Class::Float => number::read_float(self.dtype, self.bytes(), i),
            Class::Str => f64::NAN,
            _ => number::read_int(self.dtype, self.bytes(), i) as f64,
        }
    }

    /// Calls `visit` with every element on the float carrier, in order.
    pub(crate) fn each_float(&self, mut visit: impl FnMut(f64)) {
        match self.dtype {
            DType::F32 => self.bytes().chunks_exact(4).for_each(|b| visit(f64::from(f32::get(b)))),
            _ => (0..self.len()).for_each(|i| visit(self.float_at(i))),
        }
    }

    /// Element `i` on the integer carrier; floats saturate.
    pub fn int_at(&self, i: usize) -> i128 {
        match self.dtype.class() {
            Class::Float => number::saturate(DType::I64, number::read_float(self.dtype, self.bytes(), i)),
            Class::Str => 0,
            _ => number::read_int(self.dtype, self.bytes(), i),
        }
    }

    /// The same elements in another shape with as many elements.
    pub fn reshaped(&self, sizes: &[usize]) -> Result<HostTensor> {
        if count(sizes)? != self.len() {
            return Err(Error::new(
                Code::ElementCount,
                format!(
                    "sizes {:?} have {} elements, {sizes:?} have {}",
                    self.sizes,
                    self.len(),
                    count(sizes)?
                ),
            ));
        }
        Ok(HostTensor { sizes: sizes.into(), ..self.clone() })
    }

    /// Whether all elements have the same bits; false for an empty tensor.
    pub fn is_splat(&self) -> bool {
        match &self.storage {
            Storage::Text(t) => !t.is_empty() && t.iter().all(|s| *s == t[0]),
            Storage::Bytes(b) if self.dtype.bits() < 8 => {
                let bits = |i| number::read_packed(self.dtype, b, i);
                !b.is_empty() && (1..self.len()).all(|i| bits(i) == bits(0))
            }
            Storage::Bytes(b) => {
                let width = self.dtype.bits() / 8;
                !b.is_empty() && b.chunks_exact(width).all(|e| *e == b[..width])
            }
        }
    }
}

impl fmt::Debug for HostTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        write!(f, "{} [", self.ty())?;
        for i in 0..self.len().min(SHOWN) {
            if i > 0 {
                f.write_str(", ")?;
            }
            match self.dtype.class() {
                Class::Float => write!(f, "{:?}", self.float_at(i))?,
                Class::Str => write!(f, "{:?}", self.text()[i])?,
                _ => write!(f, "{}", self.int_at(i))?,
            }
        }
        f.write_str(if self.len() > SHOWN { ", …]" } else { "]" })
    }
}

impl Value {
    /// The tensor, if it is one.
    pub fn as_tensor(&self) -> Option<&HostTensor> {
        match self {
            Value::Tensor(t) => Some(t),
            _ => None,
        }
    }
}

impl From<HostTensor> for Value {
    fn from(t: HostTensor) -> Value {
        Value::Tensor(t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked() {
        assert!(HostTensor::from_slice(&[3], &[1f32, 2.0]).is_err());
        assert!(HostTensor::from_bytes(DType::I4, &[3], vec![0u8; 1]).is_err());
        assert!(HostTensor::from_bytes(DType::Bool, &[1], vec![2u8]).is_err());
        assert!(HostTensor::zeros(DType::F64, &[usize::MAX, 2]).is_err());
        assert!(HostTensor::zeros(DType::F64, &[0, 5]).unwrap().is_empty());
    }

    #[test]
    fn the_spare_half_byte_does_not_matter() {
        let a = HostTensor::from_bytes(DType::I4, &[1], vec![0xf3]).unwrap();
        let b = HostTensor::from_bytes(DType::I4, &[1], vec![0x03]).unwrap();
        assert_eq!(a, b);
        assert_eq!(a.int_at(0), 3);
    }
}
