//! NumPy files: `.npy`, one tensor, and `.npz`, several by name.
//!
//! Read are header versions 1 to 3, both byte orders, C and Fortran order, the dtypes that Lawson has, and text
//! (`<U`, `|S`). What NumPy itself has no dtype for is read and written the way the `ml_dtypes` package stores it:
//! bf16 as 2-byte, f8, i4 and u4 as 1-byte *void* elements (4-bit integers one to a byte). Such a file does not say
//! which of them it holds, so reading takes the dtype that is expected. (In NumPy, `.view(ml_dtypes.…)` does the same.)
//!
//! A file is never trusted: no header makes more memory be taken than there is data behind it, and what an archive
//! unpacks to is bounded. Files are written whole or not at all.
//!
//! ```
//! use lawson::{Tensor, npy};
//! let x = Tensor::from_slice(&[2, 2], &[1f32, 2.0, 3.0, 4.0])?;
//! let bytes = npy::encode(&x)?;
//! assert_eq!(npy::decode(&bytes[..], None)?, x);
//! # Ok::<(), lawson::Error>(())
//! ```
//!
//! `header.rs` reads and prints headers, `element.rs` converts elements, `npz.rs` is the archive.

mod element;
mod header;
mod npz;

pub use npz::{read_npz, write_npz};

use crate::tensor::Tensor;
use element::Stored;
use header::Header;
use lawson_graph::file::{io_error, place, write_whole};
use lawson_graph::{Code, DType, Error, Result};
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

/// The most bytes that one file, or all entries of one archive, may hold.
const MAX_BYTES: u64 = 1 << 36;

/// The most elements of width 0.
const MAX_EMPTY: usize = 1 << 20;

/// Reads a `.npy` file. `expected` says what void elements are; it converts nothing.
pub fn read(path: &Path, expected: Option<DType>) -> Result<Tensor> {
    let file = File::open(path).map_err(|e| io_error("read", path, &e))?;
    decode(BufReader::new(file), expected).map_err(|e| e.at(place(path)))
}

/// Reads a tensor in the form of a `.npy` file.
pub fn decode(source: impl Read, expected: Option<DType>) -> Result<Tensor> {
    let mut left = MAX_BYTES;
    decode_within(source, expected, &mut left)
}

/// Writes a `.npy` file, whole or not at all.
pub fn write(path: &Path, tensor: &Tensor) -> Result<()> {
    write_whole(path, |out| encode_to(out, tensor).map_err(|e| e.at(place(path))))
}

/// The bytes of a `.npy` file that holds the tensor.
pub fn encode(tensor: &Tensor) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    encode_to(&mut out, tensor)?;
    Ok(out)
}

fn encode_to(out: &mut impl Write, tensor: &Tensor) -> Result<()> {
    let host = tensor.host();
    let (stored, data) = element::store(host)?;
    let header = Header { descr: stored.descr(), fortran_order: false, shape: host.sizes().to_vec() };
    let written = out.write_all(&header.print()).and_then(|()| out.write_all(&data));
    written.map_err(|e| Error::new(Code::Io, format!("cannot write: {e}")))
}

/// Reads a tensor of at most `left` bytes, which its size is taken from.
fn decode_within(mut source: impl Read, expected: Option<DType>, left: &mut u64) -> Result<Tensor> {
    let header = Header::read(&mut source)?;
    let stored = Stored::from_descr(&header.descr)?;
    let count = header.shape.iter().try_fold(1usize, |n, s| n.checked_mul(*s));
    // Elements of width 0 have no data behind them that would bound how many there are.
    let count = count.filter(|n| stored.item > 0 || *n <= MAX_EMPTY);
    let bytes = count.and_then(|n| n.checked_mul(stored.item)).map(|n| n as u64);
    let Some(bytes) = bytes.filter(|n| *n <= *left) else {
        return Err(Error::new(
            Code::Budget,
            format!(
                "the header says {:?} elements of {} bytes, which is too much",
                header.shape, stored.item
            ),
        ));
    };
    *left -= bytes;
    // The vector grows with what really comes, not with what the header says.
    let mut data = Vec::new();
    let read = |e: std::io::Error| Error::new(Code::Io, format!("cannot read: {e}"));
    source.by_ref().take(bytes).read_to_end(&mut data).map_err(read)?;
    if (data.len() as u64) < bytes {
        return Err(format_error(format!("the header says {bytes} bytes of data, but {} came", data.len())));
    }
    if source.read(&mut [0]).map_err(read)? != 0 {
        return Err(format_error(format!("there is more after the {bytes} bytes of data")));
    }
    if header.fortran_order && !data.is_empty() {
        data = element::row_major(&data, stored.item, &header.shape);
    }
    element::load(&stored, &header.shape, data, expected).map(Tensor::from)
}

fn format_error(message: impl Into<String>) -> Error {
    Error::new(Code::FileFormat, message)
}
