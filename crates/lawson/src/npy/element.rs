//! Elements as NumPy stores them, to and from Lawson's: names of dtypes, byte order, order of axes, text.

use super::format_error;
use lawson_graph::{Code, DType, Error, HostTensor, Result, number};
use std::sync::Arc;

/// How elements are stored in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// What they are.
    pub kind: Kind,
    /// The bytes of one element.
    pub item: usize,
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
}

/// What an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number or bool that NumPy has too.
    Plain(DType),
    /// Bytes of which the file does not say what they are.
    Void,
    /// UTF-32, padded with zeros.
    Utf32,
    /// Bytes, padded with zeros; read as UTF-8.
    Utf8,
}

/// The dtypes that both have, with NumPy's letters.
const PLAIN: [(DType, &str); 12] = [
    (DType::Bool, "b1"),
    (DType::U8, "u1"),
    (DType::I8, "i1"),
    (DType::U16, "u2"),
    (DType::I16, "i2"),
    (DType::U32, "u4"),
    (DType::I32, "i4"),
    (DType::U64, "u8"),
    (DType::I64, "i8"),
    (DType::F16, "f2"),
    (DType::F32, "f4"),
    (DType::F64, "f8"),
];

/// The most bytes that text may take when each string is padded to the longest.
const MAX_TEXT: usize = 1 << 32;

impl Stored {
    /// From NumPy's name of a dtype, such as `<f4`.
    pub fn from_descr(descr: &str) -> Result<Stored> {
        let big_endian = match descr.as_bytes().first() {
            Some(b'<' | b'|' | b'=') => false,
            Some(b'>') => true,
            _ => return Err(unknown(descr)),
        };
        let code = &descr[1..];
        if let Some((dtype, _)) = PLAIN.iter().find(|(_, c)| *c == code) {
            return Ok(Stored { kind: Kind::Plain(*dtype), item: dtype.bits() / 8, big_endian });
        }
        // What `ml_dtypes` says of e5m2; NumPy itself cannot read it, so it is written as void.
        if code == "f1" {
            return Ok(Stored { kind: Kind::Plain(DType::F8E5M2), item: 1, big_endian });
        }
        let (letter, width) = code.split_at_checked(1).ok_or_else(|| unknown(descr))?;
        let kind = match letter {
            "V" => Kind::Void,
            "U" => Kind::Utf32,
            "S" | "a" => Kind::Utf8,
            "O" => {
                return Err(format_error("the file holds Python objects, not numbers")
                    .help("convert the array to a numeric dtype before saving it"));
            }
            _ => return Err(unknown(descr)),
        };
        let width: usize = width.parse().map_err(|_| unknown(descr))?;
        let item = if kind == Kind::Utf32 { width.checked_mul(4) } else { Some(width) };
        let item = item.filter(|n| *n <= MAX_TEXT).ok_or_else(|| unknown(descr))?;
        Ok(Stored { kind, item, big_endian })
    }

    /// NumPy's name of the dtype.
    pub fn descr(&self) -> String {
        let order = if self.item == 1 { '|' } else { '<' };
        match self.kind {
            Kind::Plain(dtype) => {
                let code = PLAIN.iter().find(|(d, _)| *d == dtype).map_or("V1", |(_, c)| *c);
                format!("{order}{code}")
            }
            Kind::Void => format!("{order}V{}", self.item),
            Kind::Utf32 => format!("<U{}", self.item / 4),
            Kind::Utf8 => format!("|S{}", self.item),
        }
    }
}

fn unknown(descr: &str) -> Error {
    format_error(format!("the dtype '{descr}' is none that Lawson has"))
        .help("bool, (u)int8 to 64, float16 to 64, bfloat16, float8, int4 and text can be read")
}

/// Fortran order to C order, for elements of `item` bytes.
pub(super) fn row_major(data: &[u8], item: usize, sizes: &[usize]) -> Vec<u8> {
    let mut strides = Vec::with_capacity(sizes.len());
    let mut stride = item;
    for size in sizes {
        strides.push(stride);
        stride *= size;
    }
    let mut out = Vec::with_capacity(data.len());
    let mut index = vec![0usize; sizes.len()];
    let mut offset = 0;
    while out.len() < data.len() {
        out.extend_from_slice(&data[offset..offset + item]);
        for axis in (0..sizes.len()).rev() {
            index[axis] += 1;
            offset += strides[axis];
            if index[axis] < sizes[axis] {
                break;
            }
            offset -= strides[axis] * sizes[axis];
            index[axis] = 0;
        }
    }
    out
}

/// A tensor from the elements of a file, in C order.
pub(super) fn load(
    stored: &Stored,
    sizes: &[usize],
    mut data: Vec<u8>,
    expected: Option<DType>,
) -> Result<HostTensor> {
    match stored.kind {
        Kind::Utf32 | Kind::Utf8 => load_text(stored, sizes, &data),
        Kind::Plain(from @ (DType::U8 | DType::I8))
            if expected.is_some_and(|d| d.is_int() && d.bits() < 8) =>
        {
            pack(from, expected.unwrap_or(from), sizes, &data)
        }
        Kind::Plain(dtype) => {
            if stored.big_endian {
                data.chunks_exact_mut(stored.item).for_each(<[u8]>::reverse);
            }
            HostTensor::from_bytes(dtype, sizes, data)
        }
        Kind::Void => {
            let dtype = void_dtype(stored.item, expected)?;
            if stored.big_endian {
                data.chunks_exact_mut(stored.item).for_each(<[u8]>::reverse);
            }
            match dtype {
                // `ml_dtypes` keeps the value in the lower bits of the byte.
                _ if dtype.bits() < 8 => HostTensor::from_bytes(dtype, sizes, packed(dtype, &data)),
                _ => HostTensor::from_bytes(dtype, sizes, data),
            }
        }
    }
}

/// The lower bits of each byte, as many to a byte as fit.
fn packed(dtype: DType, data: &[u8]) -> Vec<u8> {
    let width = dtype.bits();
    let each = 8 / width;
    let mask = (1u8 << width) - 1;
    let join = |bytes: &[u8]| bytes.iter().rev().fold(0u8, |all, b| (all << width) | (b & mask));
    data.chunks(each).map(join).collect()
}

fn void_dtype(item: usize, expected: Option<DType>) -> Result<DType> {
    let fits = |d: DType| match d {
        DType::BF16 => item == 2,
        d => item == 1 && (d.is_float() || d.is_int() && d.bits() < 8) && d.bits() <= 8,
    };
    match expected {
        Some(dtype) if fits(dtype) => Ok(dtype),
        None if item == 2 => Ok(DType::BF16),
        None if item == 1 => Err(format_error(
            "the file holds 1-byte void elements and does not say what they are",
        )
        .help("it may hold 8-bit or 4-bit floats, or integers of 4 or 2 bits; read it for an input of that dtype")),
        Some(dtype) => {
            Err(format_error(format!("void elements of {item} bytes cannot be the {dtype} that is expected")))
        }
        None => Err(format_error(format!("void elements of {item} bytes are no dtype that Lawson has"))),
    }
}

/// Bytes, one an element, to several elements a byte; each must be a value of the narrow dtype.
fn pack(from: DType, to: DType, sizes: &[usize], data: &[u8]) -> Result<HostTensor> {
    let (low, high) = to.int_range().unwrap_or((0, 0));
    let values: Vec<i128> = (0..data.len()).map(|i| number::read_int(from, data, i)).collect();
    if let Some(i) = values.iter().position(|v| !(low..=high).contains(v)) {
        return Err(Error::new(Code::Literal, format!("element {i} is {}, which is no {to}", values[i])));
    }
    HostTensor::from_ints(to, sizes, &values)
}

fn load_text(stored: &Stored, sizes: &[usize], data: &[u8]) -> Result<HostTensor> {
    let bad = |i: usize| format_error(format!("element {i} is not valid text"));
    let count = sizes.iter().product::<usize>();
    let mut text: Vec<Arc<str>> = Vec::new();
    for i in 0..count {
        let bytes = &data[i * stored.item..(i + 1) * stored.item];
        let string: Arc<str> = if stored.kind == Kind::Utf8 {
            std::str::from_utf8(bytes).map_err(|_| bad(i))?.trim_end_matches('\0').into()
        } else {
            let mut string = String::new();
            for quad in bytes.chunks_exact(4) {
                let mut raw = [quad[0], quad[1], quad[2], quad[3]];
                if stored.big_endian {
                    raw.reverse();
                }
                string.push(char::from_u32(u32::from_le_bytes(raw)).ok_or_else(|| bad(i))?);
            }
            string.trim_end_matches('\0').into()
        };
        text.push(string);
    }
    HostTensor::from_text(sizes, text)
}

/// How a tensor is stored, and its elements so.
pub(super) fn store(tensor: &HostTensor) -> Result<(Stored, bytes::Bytes)> {
    let dtype = tensor.dtype();
    let plain = |kind, item| Stored { kind, item, big_endian: false };
    Ok(match dtype {
        DType::Str => return store_text(tensor),
        DType::BF16 => (plain(Kind::Void, 2), tensor.bytes().clone()),
        DType::F4E2M1 => {
            let bits = |i| number::small_from_f64(dtype, tensor.float_at(i));
            (plain(Kind::Void, 1), (0..tensor.len()).map(bits).collect::<Vec<u8>>().into())
        }
        _ if dtype.is_float() && dtype.bits() == 8 => (plain(Kind::Void, 1), tensor.bytes().clone()),
        _ if dtype.is_int() && dtype.bits() < 8 => {
            let data: Vec<u8> = (0..tensor.len()).map(|i| tensor.int_at(i) as i8 as u8).collect();
            (plain(Kind::Void, 1), data.into())
        }
        _ => (plain(Kind::Plain(dtype), dtype.bits() / 8), tensor.bytes().clone()),
    })
}

fn store_text(tensor: &HostTensor) -> Result<(Stored, bytes::Bytes)> {
    if let Some(i) = tensor.text().iter().position(|s| s.ends_with('\0')) {
        return Err(format_error(format!("string {i} ends in a zero character, which NumPy cannot store")));
    }
    let longest = tensor.text().iter().map(|s| s.chars().count()).max().unwrap_or(0).max(1);
    let total = tensor.len().checked_mul(longest).and_then(|n| n.checked_mul(4)).filter(|n| *n <= MAX_TEXT);
    let Some(total) = total else {
        return Err(Error::new(
            Code::Budget,
            format!("{} strings padded to the longest, of {longest} characters, are too large", tensor.len()),
        ));
    };
    let mut data = Vec::with_capacity(total);
    for (i, string) in tensor.text().iter().enumerate() {
        string.chars().for_each(|c| data.extend(u32::from(c).to_le_bytes()));
        data.resize((i + 1) * longest * 4, 0);
    }
    Ok((Stored { kind: Kind::Utf32, item: longest * 4, big_endian: false }, data.into()))
}
