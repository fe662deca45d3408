//! Tensors as the interpreter computes on them: elements on their carriers, row-major, shared, and accounted for.
//!
//! `Array` comes from a `HostTensor` (`Array::decode`) or from a primitive's elements (`Array::new`). `Pool` counts the
//! bytes of live elements and refuses what would pass the limit, before anything is allocated.

use super::mode::{Carrier, Mode, Real, Whole};
use crate::composite::Promise;
use crate::dtype::{Class, DType};
use crate::error::{Code, Error, Result};
use crate::tensor::HostTensor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The elements of a tensor.
#[derive(Clone, Debug)]
pub(super) enum Data<M: Mode> {
    Float(Vec<M::Float>),
    Int(Vec<M::Int>),
    Text(Vec<Arc<str>>),
}

/// A tensor on the carriers. Clones share the elements.
#[derive(Clone, Debug)]
pub(super) struct Array<M: Mode> {
    pub(super) dtype: DType,
    pub(super) sizes: Arc<[usize]>,
    buffer: Arc<Buffer<M>>,
}

#[derive(Debug)]
struct Buffer<M: Mode> {
    data: Data<M>,
    _lease: Lease,
}

/// The bytes that live elements may take.
#[derive(Debug)]
pub(super) struct Pool {
    live: AtomicU64,
    max: u64,
}

/// Bytes taken from a pool, given back when dropped.
#[derive(Debug)]
pub(super) struct Lease {
    pool: Arc<Pool>,
    bytes: u64,
}

impl Pool {
    pub(super) fn new(max: u64) -> Arc<Pool> {
        Arc::new(Pool { live: AtomicU64::new(0), max })
    }

    /// Takes the bytes of a tensor's elements on mode `M`'s carriers.
    pub(super) fn lease<M: Mode>(self: &Arc<Pool>, dtype: DType, sizes: &[usize]) -> Result<Lease> {
        let width = match dtype.class() {
            Class::Float => size_of::<M::Float>(),
            Class::Str => size_of::<Arc<str>>(),
            _ => size_of::<M::Int>(),
        };
        let elements = if sizes.contains(&0) {
            Some(0)
        } else {
            sizes.iter().try_fold(1u64, |n, s| n.checked_mul(*s as u64))
        };
        let bytes = elements.and_then(|n| n.checked_mul(width as u64)).filter(|b| *b <= isize::MAX as u64);
        let refuse = |live: u64| {
            Error::new(
                Code::Budget,
                format!(
                    "{dtype}{sizes:?} does not fit: {live} of {} bytes are taken, {} more are needed",
                    self.max,
                    bytes.map_or_else(|| "too many".to_string(), |b| b.to_string())
                ),
            )
            .help("raise `max_bytes`, or give smaller inputs")
        };
        let bytes = bytes.ok_or_else(|| refuse(self.live.load(Ordering::Relaxed)))?;
        self.live
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |live| {
                live.checked_add(bytes).filter(|sum| *sum <= self.max)
            })
            .map_err(refuse)?;
        Ok(Lease { pool: self.clone(), bytes })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.pool.live.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl<M: Mode> Data<M> {
    /// How many elements.
    pub(super) fn len(&self) -> usize {
        match self {
            Data::Float(x) => x.len(),
            Data::Int(x) => x.len(),
            Data::Text(x) => x.len(),
        }
    }

    /// Nothing, with room for `n` elements of that dtype.
    pub(super) fn with_capacity(dtype: DType, n: usize) -> Data<M> {
        match dtype.class() {
            Class::Float => Data::Float(Vec::with_capacity(n)),
            Class::Str => Data::Text(Vec::with_capacity(n)),
            _ => Data::Int(Vec::with_capacity(n)),
        }
    }

    /// The elements at `indices`.
    pub(super) fn pick(&self, indices: &[usize]) -> Data<M> {
        match self {
            Data::Float(x) => Data::Float(indices.iter().map(|i| x[*i]).collect()),
            Data::Int(x) => Data::Int(indices.iter().map(|i| x[*i]).collect()),
            Data::Text(x) => Data::Text(indices.iter().map(|i| x[*i].clone()).collect()),
        }
    }

    /// Appends a stretch of another tensor's elements, which are of the same kind.
    pub(super) fn extend(&mut self, other: &Data<M>, range: std::ops::Range<usize>) {
        match (self, other) {
            (Data::Float(x), Data::Float(y)) => x.extend_from_slice(&y[range]),
            (Data::Int(x), Data::Int(y)) => x.extend_from_slice(&y[range]),
            (Data::Text(x), Data::Text(y)) => x.extend_from_slice(&y[range]),
            _ => {}
        }
    }

    /// Replaces the elements at `places` by those of `with`, in order; both are of the same kind.
    pub(super) fn put(&mut self, places: impl Iterator<Item = usize>, with: &Data<M>) {
        match (self, with) {
            (Data::Float(x), Data::Float(y)) => places.zip(y).for_each(|(i, v)| x[i] = *v),
            (Data::Int(x), Data::Int(y)) => places.zip(y).for_each(|(i, v)| x[i] = *v),
            (Data::Text(x), Data::Text(y)) => places.zip(y).for_each(|(i, v)| x[i] = v.clone()),
            _ => {}
        }
    }

    /// `n` copies of the only element.
    pub(super) fn repeat(&self, n: usize) -> Data<M> {
        match self {
            Data::Float(x) => Data::Float(vec![x[0]; n]),
            Data::Int(x) => Data::Int(vec![x[0]; n]),
            Data::Text(x) => Data::Text(vec![x[0].clone(); n]),
        }
    }

    /// The same best guesses with nothing known about them. Text stays: it has no bounds.
    pub(super) fn unknown(&self, dtype: DType) -> Data<M> {
        match self {
            Data::Float(x) => Data::Float(x.iter().map(|v| v.unknown(dtype)).collect()),
            Data::Int(x) => Data::Int(x.iter().map(|v| v.unknown(dtype)).collect()),
            Data::Text(x) => Data::Text(x.clone()),
        }
    }

    /// What a target may have instead that keeps a promise. Only floats are promised to be near.
    pub(super) fn promised(&self, promise: Promise, dtype: DType) -> Data<M> {
        match self {
            Data::Float(x) => Data::Float(x.iter().map(|v| v.promised(promise, dtype)).collect()),
            other => other.clone(),
        }
    }

    /// Whether all elements are known exactly.
    pub(super) fn is_exact(&self) -> bool {
        match self {
            Data::Float(x) => x.iter().all(|v| v.is_exact()),
            Data::Int(x) => x.iter().all(|v| v.is_exact()),
            Data::Text(_) => true,
        }
    }
}

impl<M: Mode> Array<M> {
    /// From elements, with the bytes that were taken for them.
    pub(super) fn new(dtype: DType, sizes: &[usize], data: Data<M>, lease: Lease) -> Result<Array<M>> {
        let kind = match data {
            Data::Float(_) => dtype.is_float(),
            Data::Int(_) => dtype.int_range().is_some(),
            Data::Text(_) => dtype == DType::Str,
        };
        if !kind || count(sizes) != data.len() {
            return Err(Error::internal(format!("{} elements came for {dtype}{sizes:?}", data.len())));
        }
        Ok(Array { dtype, sizes: sizes.into(), buffer: Arc::new(Buffer { data, _lease: lease }) })
    }

    /// From a tensor in host memory.
    pub(super) fn decode(pool: &Arc<Pool>, t: &HostTensor) -> Result<Array<M>> {
        let lease = pool.lease::<M>(t.dtype(), t.sizes())?;
        let data = match t.dtype().class() {
            Class::Float => {
                let mut elements = Vec::with_capacity(t.len());
                t.each_float(|v| elements.push(M::Float::exact(v)));
                Data::Float(elements)
            }
            Class::Str => Data::Text(t.text().to_vec()),
            _ => Data::Int((0..t.len()).map(|i| M::Int::exact(t.int_at(i))).collect()),
        };
        Array::new(t.dtype(), t.sizes(), data, lease)
    }

    /// To a tensor in host memory, by the best guesses.
    pub(super) fn encode(&self) -> Result<HostTensor> {
        match self.data() {
            Data::Float(x) => HostTensor::from_floats(
                self.dtype,
                &self.sizes,
                &x.iter().map(|v| v.value()).collect::<Vec<_>>(),
            ),
            Data::Int(x) => HostTensor::from_ints(
                self.dtype,
                &self.sizes,
                &x.iter().map(|v| v.value()).collect::<Vec<_>>(),
            ),
            Data::Text(x) => HostTensor::from_text(&self.sizes, x.clone()),
        }
    }

    /// The elements.
    pub(super) fn data(&self) -> &Data<M> {
        &self.buffer.data
    }

    /// How many elements.
    pub(super) fn len(&self) -> usize {
        self.data().len()
    }

    /// The same elements in another shape.
    pub(super) fn reshaped(&self, sizes: &[usize]) -> Result<Array<M>> {
        if count(sizes) != self.len() {
            return Err(Error::internal(format!("a reshape from {:?} to {sizes:?}", self.sizes)));
        }
        Ok(Array { dtype: self.dtype, sizes: sizes.into(), buffer: self.buffer.clone() })
    }

    /// Whether both are the same elements in the same place.
    pub(super) fn is_same(&self, other: &Array<M>) -> bool {
        Arc::ptr_eq(&self.buffer, &other.buffer) && self.sizes == other.sizes
    }

    /// The elements of a float tensor.
    pub(super) fn floats(&self) -> Result<&[M::Float]> {
        match self.data() {
            Data::Float(x) => Ok(x),
            _ => Err(Error::internal(format!("floats were expected, {} came", self.dtype))),
        }
    }

    /// The elements of an integer or bool tensor.
    pub(super) fn ints(&self) -> Result<&[M::Int]> {
        match self.data() {
            Data::Int(x) => Ok(x),
            _ => Err(Error::internal(format!("integers were expected, {} came", self.dtype))),
        }
    }

    /// The only element of an integer or bool scalar.
    pub(super) fn int_scalar(&self) -> Result<M::Int> {
        self.ints()?.first().copied().ok_or_else(|| Error::internal("a scalar has no element"))
    }
}

/// How many elements. Where one size is 0 the others may be huge: their product is not formed.
pub(super) fn count(sizes: &[usize]) -> usize {
    if sizes.contains(&0) { 0 } else { sizes.iter().product() }
}

/// How far apart neighbours of each axis stand in row-major order.
pub(super) fn strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        // Where an axis is empty the others may be huge, and nothing is ever addressed.
        strides[axis - 1] = strides[axis].wrapping_mul(sizes[axis]);
    }
    strides
}

/// `offset + Σ index·stride` for every index of a row-major walk over `sizes`. Strides may be 0 or negative; the stride
/// of an axis of size 1 does not matter, however large.
pub(super) fn walk(sizes: &[usize], strides: &[isize], offset: isize) -> Vec<usize> {
    let total = count(sizes);
    let mut places = Vec::with_capacity(total);
    if total == 0 {
        return places;
    }
    let mut index = vec![0usize; sizes.len()];
    let mut at = offset;
    loop {
        places.push(at as usize);
        let mut axis = sizes.len();
        loop {
            if axis == 0 {
                return places;
            }
            axis -= 1;
            index[axis] += 1;
            at = at.wrapping_add(strides[axis]);
            if index[axis] < sizes[axis] {
                break;
            }
            at = at.wrapping_sub(strides[axis].wrapping_mul(sizes[axis] as isize));
            index[axis] = 0;
        }
    }
}

/// The strides of chosen axes, signed as `walk` takes them.
pub(super) fn chosen(strides: &[usize], axes: &[usize]) -> Vec<isize> {
    axes.iter().map(|a| strides[*a] as isize).collect()
}
