//! Side files: large constants in a safetensors file beside the text.
//!
//! In: a folder and a path from a text, which is not trusted. Only relative paths below the folder are opened, also
//! after links are followed. Out: tensors that share the file's bytes. Writing lays the elements out aligned.

use crate::composite::nearest;
use crate::dtype::DType;
use crate::error::{Code, Error, Result};
use crate::file::{below, io_error};
use crate::tensor::HostTensor;
use bytes::Bytes;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A safetensors file begins with the length of its header, then comes the header, in JSON, then the elements.
const LENGTH_BYTES: u64 = 8;

/// The longest header that the format allows.
const MAX_HEADER: u64 = 100_000_000;

/// A side file that was read.
pub(super) struct SideFile {
    tensors: HashMap<String, (Dtype, Vec<usize>, Bytes)>,
}

/// The dtypes that side files hold, with safetensors' names for them. Elements that share bytes, floats that
/// safetensors does not know, and text stay in the text.
const DTYPES: &[(DType, Dtype)] = &[
    (DType::Bool, Dtype::BOOL),
    (DType::U8, Dtype::U8),
    (DType::I8, Dtype::I8),
    (DType::U16, Dtype::U16),
    (DType::I16, Dtype::I16),
    (DType::U32, Dtype::U32),
    (DType::I32, Dtype::I32),
    (DType::U64, Dtype::U64),
    (DType::I64, Dtype::I64),
    (DType::F8E4M3, Dtype::F8_E4M3),
    (DType::F8E5M2, Dtype::F8_E5M2),
    (DType::F8E8M0, Dtype::F8_E8M0),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::F32, Dtype::F32),
    (DType::F64, Dtype::F64),
];

/// Whether a side file can hold tensors of that dtype.
pub(super) fn holds(dtype: DType) -> bool {
    DTYPES.iter().any(|(d, _)| *d == dtype)
}

impl SideFile {
    /// Reads a side file that a text names.
    pub(super) fn open(folder: Option<&Path>, path: &str) -> Result<SideFile> {
        let Some(folder) = folder else {
            return Err(Error::new(Code::Io, "the text names a side file, but comes from no folder")
                .help("read it with `read_law`, or give `ParseOptions` a folder"));
        };
        let file = below(folder, path)?;
        read(&file).map_err(|e| match e {
            Unreadable::Io(e) => io_error("read the side file", &file, &e),
            Unreadable::Format(why) => {
                Error::new(Code::FileFormat, format!("`{path}` is not a safetensors file: {why}"))
            }
        })
    }

    /// The tensor of that name.
    pub(super) fn tensor(&self, name: &str) -> Result<HostTensor> {
        let Some((dtype, sizes, bytes)) = self.tensors.get(name) else {
            let mut known: Vec<&str> = self.tensors.keys().map(String::as_str).collect();
            known.sort_unstable();
            let error = Error::new(Code::UnknownName, format!("the side file has no tensor `{name}`"));
            return Err(match nearest(name, known) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error,
            });
        };
        match DTYPES.iter().find(|(_, d)| d == dtype) {
            Some((dtype, _)) => HostTensor::from_bytes(*dtype, sizes, bytes.clone()),
            None => Err(Error::new(
                Code::FileFormat,
                format!("`{name}` in the side file has the dtype {dtype:?}, which Lawson does not know"),
            )),
        }
    }
}

/// Why a side file was not read.
enum Unreadable {
    Io(io::Error),
    Format(String),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Unreadable {
        Unreadable::Io(error)
    }
}

impl From<&str> for Unreadable {
    fn from(why: &str) -> Unreadable {
        Unreadable::Format(why.to_string())
    }
}

/// Reads a file. What its header says of sizes is compared with that of the file before anything of that size is
/// allocated.
fn read(path: &Path) -> std::result::Result<SideFile, Unreadable> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let Some(after_length) = size.checked_sub(LENGTH_BYTES) else {
        return Err("it is too short".into());
    };
    let mut length = [0; LENGTH_BYTES as usize];
    file.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    let Some(data_len) = after_length.checked_sub(length) else {
        return Err("its header is longer than the file".into());
    };
    if length > MAX_HEADER {
        return Err("its header is too long".into());
    }
    let header = read_bytes(&mut file, length)?;
    let metadata: Metadata =
        serde_json::from_slice(&header).map_err(|e| Unreadable::Format(e.to_string()))?;
    if metadata.data_len() as u64 != data_len {
        return Err("its size is not what its header says".into());
    }
    let data = Bytes::from(read_bytes(&mut file, data_len)?);
    let mut tensors = HashMap::new();
    for (name, info) in metadata.tensors() {
        let (start, end) = info.data_offsets;
        if start > end || end > data.len() {
            return Err("a tensor lies outside the file".into());
        }
        tensors.insert(name, (info.dtype, info.shape.clone(), data.slice(start..end)));
    }
    Ok(SideFile { tensors })
}

/// Exactly that many bytes, of which the file is known to have as many.
fn read_bytes(file: &mut File, count: u64) -> io::Result<Vec<u8>> {
    let size = usize::try_from(count).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| io::ErrorKind::OutOfMemory)?;
    match file.take(count).read_to_end(&mut bytes)? {
        n if n == size => Ok(bytes),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// A number that follows from tensors with their names, and differs where they do.
pub(super) fn digest(tensors: &[(String, HostTensor)]) -> u64 {
    let mut digest = 0x1f83_d9ab_fb41_bd6b;
    let mut add = |bytes: &[u8]| {
        digest = mixed(digest, bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|w| digest = mixed(digest, u64::from_le_bytes(*w)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        digest = mixed(digest, u64::from_le_bytes(last));
    };
    for (name, tensor) in tensors {
        add(name.as_bytes());
        add(tensor.ty().to_string().as_bytes());
        add(tensor.bytes());
    }
    digest
}

/// A step of a digest: both halves of a product.
fn mixed(digest: u64, word: u64) -> u64 {
    let product = u128::from(digest ^ word ^ 0x9e37_79b9_7f4a_7c15) * u128::from(0xd6e8_feb8_6659_fd93_u64);
    (product as u64) ^ (product >> 64) as u64 ^ digest.rotate_left(23)
}

/// The side files of a text: `NAME-DIGEST.safetensors`.
pub(super) struct Sides {
    folder: PathBuf,
    stem: String,
}

/// How much of a text is looked at for the side file that it names: it stands in its second line.
const HEAD: u64 = 4096;

impl Sides {
    pub(super) fn new(text: &Path, stem: &str) -> Sides {
        let folder = text.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Sides { folder: folder.to_path_buf(), stem: stem.to_string() }
    }

    /// The name of the side file of that content.
    pub(super) fn name(&self, digest: u64) -> String {
        format!("{}-{digest:016x}.safetensors", self.stem)
    }

    /// Whether this is the name of a side file of the text.
    fn is_own(&self, name: &str) -> bool {
        let is_digest = |d: &str| d.len() == 16 && d.chars().all(|c| c.is_ascii_hexdigit());
        let rest = name.strip_prefix(self.stem.as_str()).and_then(|n| n.strip_prefix('-'));
        rest.and_then(|n| n.strip_suffix(".safetensors")).is_some_and(is_digest)
    }

    /// Removes side files of the text but this one that no text in the folder names. What cannot be removed stays.
    pub(super) fn remove_unused(&self, kept: Option<&str>) {
        let names = || {
            let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
            entries.filter_map(|e| e.file_name().into_string().ok())
        };
        let mut unused: Vec<String> =
            names().filter(|n| self.is_own(n) && kept != Some(n.as_str())).collect();
        if unused.is_empty() {
            return;
        }
        for text in names().filter(|n| n.ends_with(".law")) {
            let mut head = Vec::new();
            let read = File::open(self.folder.join(&text)).and_then(|f| f.take(HEAD).read_to_end(&mut head));
            match read {
                Ok(_) => {
                    let head = String::from_utf8_lossy(&head);
                    unused.retain(|n| !head.contains(n.as_str()));
                }
                // What cannot be read may name any of them.
                Err(_) => return,
            }
        }
        for name in unused {
            let _ = fs::remove_file(self.folder.join(name));
        }
    }
}

/// Writes tensors, the widest elements first, so that all are aligned to their size.
pub(super) fn write(out: &mut impl Write, path: &Path, tensors: &[(String, HostTensor)]) -> Result<()> {
    let mut all = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let Some((_, dtype)) = DTYPES.iter().find(|(d, _)| *d == tensor.dtype()) else {
            return Err(Error::internal(format!("`{name}` cannot stand in a side file")));
        };
        all.push((name, *dtype, tensor));
    }
    all.sort_by_key(|(_, dtype, _)| Reverse(dtype.bitsize()));
    let mut end = 0;
    let infos = all.iter().map(|(name, dtype, tensor)| {
        let start = end;
        end += tensor.bytes().len();
        let info = TensorInfo { dtype: *dtype, shape: tensor.sizes().to_vec(), data_offsets: (start, end) };
        (name.to_string(), info)
    });
    let refused = |e: &dyn std::fmt::Display| Error::internal(format!("cannot make a side file: {e}"));
    let metadata = Metadata::new(None, infos.collect()).map_err(|e| refused(&e))?;
    let mut header = serde_json::to_vec(&metadata).map_err(|e| refused(&e))?;
    header.resize(header.len().next_multiple_of(LENGTH_BYTES as usize), b' ');
    let failed = |e| io_error("write the side file", path, &e);
    out.write_all(&(header.len() as u64).to_le_bytes()).map_err(failed)?;
    out.write_all(&header).map_err(failed)?;
    all.iter().try_for_each(|(_, _, tensor)| out.write_all(tensor.bytes()).map_err(failed))
}
