//! Side files: large constants in a safetensors file beside the text.
//!
//! In: a folder and a path from a text, which is not trusted. Only relative paths below the folder are opened, also
//! after links are followed. Out: tensors that share the file's bytes. Writing lays the elements out aligned.

use crate::composite::nearest;
use crate::dtype::DType;
use crate::error::{Code, Error, Place, Result};
use crate::tensor::HostTensor;
use bytes::Bytes;
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize_to_file};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// A side file that was read.
pub(super) struct SideFile {
    tensors: HashMap<String, (Dtype, Vec<usize>, Bytes)>,
}

/// The dtypes that side files hold, with safetensors' names for them. 4-bit elements and text stay in the text.
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
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::F32, Dtype::F32),
    (DType::F64, Dtype::F64),
];

/// Whether a side file can hold tensors of that dtype.
pub(super) fn holds(dtype: DType) -> bool {
    DTYPES.iter().any(|(d, _)| *d == dtype)
}

/// An error of the system about a file.
pub(super) fn io_error(path: &Path, doing: &str, error: &std::io::Error) -> Error {
    Error::new(Code::Io, format!("cannot {doing}: {error}")).at(Place::File(path.display().to_string()))
}

/// The file that a path from a text means, if it lies in the folder.
fn resolve(folder: &Path, path: &str) -> Result<PathBuf> {
    let outside = || {
        Error::new(Code::OutsideFolder, format!("`{path}` is not below the folder of the text")).help(
            "side files stand beside the text; absolute paths, `..` and links that lead out are refused",
        )
    };
    let relative = Path::new(path);
    let plain = relative.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if path.is_empty() || !plain {
        return Err(outside());
    }
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let canonical = |p: &Path| p.canonicalize().map_err(|e| io_error(p, "open the side file", &e));
    let (root, file) = (canonical(folder)?, canonical(&folder.join(relative))?);
    if !file.starts_with(&root) {
        return Err(outside());
    }
    // Reading a pipe or a device could wait for ever.
    match file.metadata() {
        Ok(meta) if meta.is_file() => Ok(file),
        Ok(_) => Err(Error::new(Code::Io, format!("`{path}` is not a file"))),
        Err(e) => Err(io_error(&file, "open the side file", &e)),
    }
}

impl SideFile {
    /// Reads a side file that a text names.
    pub(super) fn open(folder: Option<&Path>, path: &str) -> Result<SideFile> {
        let Some(folder) = folder else {
            return Err(Error::new(Code::Io, "the text names a side file, but comes from no folder")
                .help("read it with `read_law`, or give `ParseOptions` a folder"));
        };
        let file = resolve(folder, path)?;
        let bytes = Bytes::from(std::fs::read(&file).map_err(|e| io_error(&file, "read the side file", &e))?);
        let read = SafeTensors::deserialize(&bytes)
            .map_err(|e| Error::new(Code::FileFormat, format!("`{path}` is not a safetensors file: {e}")))?;
        let tensors = read
            .iter()
            .map(|(name, t)| (name.to_string(), (t.dtype(), t.shape().to_vec(), bytes.slice_ref(t.data()))))
            .collect();
        Ok(SideFile { tensors })
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

/// Writes tensors to a file that is new.
pub(super) fn write(path: &Path, tensors: &[(String, HostTensor)]) -> Result<()> {
    let mut views = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let view = DTYPES
            .iter()
            .find(|(d, _)| *d == tensor.dtype())
            .and_then(|(_, d)| TensorView::new(*d, tensor.sizes().to_vec(), tensor.bytes()).ok())
            .ok_or_else(|| Error::internal(format!("`{name}` cannot stand in a side file")))?;
        views.push((name.as_str(), view));
    }
    serialize_to_file(views, None, path).map_err(|e| {
        Error::new(Code::Io, format!("cannot write the side file: {e}"))
            .at(Place::File(path.display().to_string()))
    })
}
