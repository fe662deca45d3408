//! Tensors of a model: every encoding of elements that the format knows, into a [`HostTensor`].
//!
//! Raw data, in the model's file or in another (`external.rs`), are shared, not copied; elements in typed fields are laid out
//! anew. What a tensor says of its sizes is compared with the data that came before anything of that size is allocated.

use crate::external::External;
use crate::proto::{LOCATION_EXTERNAL, SparseTensorProto, TensorProto};
use bytes::Bytes;
use lawson_graph::{Code, DType, Element, Error, HostTensor, Place, Result};
use std::sync::Arc;

/// The dtype of a number of the format's `DataType`.
pub(crate) fn dtype(number: impl Into<i64>) -> Result<DType> {
    let number: i64 = number.into();
    Ok(match number {
        1 => DType::F32,
        2 => DType::U8,
        3 => DType::I8,
        4 => DType::U16,
        5 => DType::I16,
        6 => DType::I32,
        7 => DType::I64,
        8 => DType::Str,
        9 => DType::Bool,
        10 => DType::F16,
        11 => DType::F64,
        12 => DType::U32,
        13 => DType::U64,
        16 => DType::BF16,
        17 => DType::F8E4M3,
        18 => DType::F8E4M3Fnuz,
        19 => DType::F8E5M2,
        20 => DType::F8E5M2Fnuz,
        21 => DType::U4,
        22 => DType::I4,
        23 => DType::F4E2M1,
        24 => DType::F8E8M0,
        25 => DType::U2,
        26 => DType::I2,
        14 | 15 | 27 | 28 => {
            let name = if number < 16 { "complex numbers" } else { "6-bit floats" };
            return Err(Error::new(Code::OnnxUnsupported, format!("{name} have no dtype in Lawson")));
        }
        0 => return Err(Error::new(Code::OnnxModel, "the element type is not said, or 0")),
        _ => {
            return Err(Error::new(Code::OnnxModel, format!("{number} is not an element type"))
                .help("they are 1 (float) to 28; the file may be damaged"));
        }
    })
}

/// The tensor that a message holds.
pub(crate) fn host_tensor(proto: &TensorProto, external: &mut External) -> Result<HostTensor> {
    read(proto, external).map_err(|e| match proto.name.as_deref().filter(|n| !n.is_empty()) {
        Some(name) => e.at(Place::Field(format!("tensor `{name}`"))),
        None => e,
    })
}

/// Whether raw data stand beside elements in a field of their type.
fn is_said_twice(proto: &TensorProto) -> bool {
    let typed = !proto.float_data.is_empty()
        || !proto.int32_data.is_empty()
        || !proto.int64_data.is_empty()
        || !proto.double_data.is_empty()
        || !proto.uint64_data.is_empty();
    let raw = proto.raw_data.as_ref().is_some_and(|r| !r.is_empty());
    typed && (raw || proto.data_location == Some(LOCATION_EXTERNAL))
}

fn read(proto: &TensorProto, external: &mut External) -> Result<HostTensor> {
    let dtype = dtype(proto.data_type.unwrap_or(0))?;
    let mut sizes = Vec::with_capacity(proto.dims.len());
    for (axis, d) in proto.dims.iter().enumerate() {
        let wrong = || Error::new(Code::OnnxModel, format!("dimension {axis} of the tensor is {d}"));
        sizes.push(usize::try_from(*d).map_err(|_| wrong().help("sizes of constants are 0 or more"))?);
    }
    let count = sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s));
    let count = count.filter(|n| dtype.bytes_for(*n).is_some());
    let Some(count) = count else {
        return Err(Error::new(
            Code::OnnxModel,
            format!("a tensor of sizes {sizes:?} has too many elements"),
        )
        .help("no memory holds so many; the file may be damaged"));
    };
    if dtype == DType::Str {
        return text(proto, &sizes, count);
    }
    if is_said_twice(proto) {
        return Err(Error::new(
            Code::OnnxModel,
            "the elements of the tensor are in `raw_data` and in another field at once",
        )
        .help("a tensor has its elements in one place: empty the others"));
    }
    let bytes = match (proto.data_location, &proto.raw_data) {
        (Some(LOCATION_EXTERNAL), _) => external.bytes(&proto.external_data, dtype.bytes_for(count))?,
        (_, Some(raw)) if !raw.is_empty() => raw.clone(),
        _ => typed(proto, dtype)?,
    };
    let is_empty = bytes.is_empty();
    let tensor = match external.apart(&bytes) {
        Some(own) => HostTensor::from_bytes(dtype, &sizes, own).map(HostTensor::mapped),
        None => HostTensor::from_bytes(dtype, &sizes, bytes),
    };
    tensor.map_err(|e| {
        let help = match is_empty {
            true => {
                "elements stand in `raw_data`, in the field for their type, or in another file: all are empty"
            }
            false => "the file may be cut off or damaged, or the element type may be another one",
        };
        Error::new(Code::OnnxModel, e.message()).help(help)
    })
}

/// How many times as many elements a sparse tensor may have as it lists; a small one may have any number.
const MAX_SPARSE: usize = 256;

/// The dense tensor that a sparse one stands for: values, and an index into the whole or one an axis for each.
pub(crate) fn sparse_tensor(proto: &SparseTensorProto, external: &mut External) -> Result<HostTensor> {
    let wrong = |what: String| Error::new(Code::OnnxModel, what);
    let (Some(values), Some(indices)) = (&proto.values, &proto.indices) else {
        return Err(wrong("a sparse tensor lacks its values or its indices".to_string()));
    };
    let (values, indices) = (host_tensor(values, external)?, host_tensor(indices, external)?);
    let sizes: Option<Vec<usize>> = proto.dims.iter().map(|d| usize::try_from(*d).ok()).collect();
    let count = sizes.as_ref().and_then(|s| s.iter().try_fold(1usize, |n, s| n.checked_mul(*s)));
    let (Some(sizes), Some(count)) = (sizes, count) else {
        return Err(wrong(format!("a sparse tensor of sizes {:?}", proto.dims))
            .help("sizes are 0 or more, and their product is a number of elements that memory can hold"));
    };
    if count > values.len().saturating_mul(MAX_SPARSE).max(4096) {
        return Err(Error::new(
            Code::Budget,
            format!("a sparse tensor of {count} elements lists only {}", values.len()),
        )
        .help(format!("it becomes a dense one, of {MAX_SPARSE} elements for each that is listed at most")));
    }
    let place = |i: usize| match indices.sizes() {
        [_] => usize::try_from(indices.int_at(i)).ok(),
        [_, rank] if *rank == sizes.len() => sizes.iter().enumerate().try_fold(0usize, |at, (axis, size)| {
            let own = usize::try_from(indices.int_at(i * rank + axis)).ok().filter(|own| own < size)?;
            Some(at * size + own)
        }),
        _ => None,
    };
    let listed = indices.sizes().first().copied() == Some(values.len());
    let places: Option<Vec<usize>> =
        (0..values.len()).map(|i| place(i).filter(|p| listed && *p < count)).collect();
    let Some(places) = places else {
        return Err(wrong("the indices of a sparse tensor do not fit its values or its sizes".to_string())
            .help("there is one index into all elements for each value, or one for each axis, and all are inside"));
    };
    let dtype = values.dtype();
    if dtype.is_float() {
        let mut dense = vec![0.0; count];
        places.iter().enumerate().for_each(|(i, p)| dense[*p] = values.float_at(i));
        return HostTensor::from_floats(dtype, &sizes, &dense);
    }
    if dtype == DType::Str {
        return Err(wrong("a sparse tensor of texts".to_string()));
    }
    let mut dense = vec![0; count];
    places.iter().enumerate().for_each(|(i, p)| dense[*p] = values.int_at(i));
    HostTensor::from_ints(dtype, &sizes, &dense)
}

fn text(proto: &TensorProto, sizes: &[usize], count: usize) -> Result<HostTensor> {
    if proto.string_data.len() != count {
        let came = proto.string_data.len();
        return Err(Error::new(
            Code::OnnxModel,
            format!("sizes {sizes:?} take {count} texts, but {came} came"),
        ));
    }
    let mut texts: Vec<Arc<str>> = Vec::with_capacity(count);
    for (i, bytes) in proto.string_data.iter().enumerate() {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| Error::new(Code::OnnxModel, format!("text {i} of the tensor is not UTF-8")))?;
        texts.push(text.into());
    }
    HostTensor::from_text(sizes, texts)
}

/// The bytes of elements in the field that the format prescribes for their type. The fields are at least as wide as the
/// elements, so this allocates no more than the message did.
fn typed(proto: &TensorProto, dtype: DType) -> Result<Bytes> {
    fn put<T: Element>(elements: impl ExactSizeIterator<Item = T>) -> Bytes {
        let mut bytes = Vec::with_capacity(elements.len() * size_of::<T>());
        elements.for_each(|e| e.put(&mut bytes));
        bytes.into()
    }
    let int32 = proto.int32_data.iter();
    Ok(match dtype {
        DType::F32 => put(proto.float_data.iter().copied()),
        DType::F64 => put(proto.double_data.iter().copied()),
        DType::I64 => put(proto.int64_data.iter().copied()),
        DType::U64 => put(proto.uint64_data.iter().copied()),
        DType::U32 => put(proto.uint64_data.iter().map(|v| *v as u32)),
        DType::I32 => put(int32.copied()),
        // Narrower elements stand one to an int32, floats by their bits; those that share a byte, a byte to an int32.
        DType::U16 | DType::I16 | DType::F16 | DType::BF16 => put(int32.map(|v| *v as u16)),
        _ if dtype.bits() > 0 && dtype.bits() <= 8 => put(int32.map(|v| *v as u8)),
        other => {
            return Err(Error::new(
                Code::OnnxUnsupported,
                format!("elements of type {other} in typed fields"),
            ));
        }
    })
}
