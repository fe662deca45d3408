//! External data: elements of tensors in files beside the model.
//!
//! In: the model's folder and the entries of a tensor, which are not trusted. Only files below the folder are read, each
//! once; tensors share its bytes.

use crate::map::FileBytes;
use crate::proto::StringStringEntryProto;
use bytes::Bytes;
use lawson_graph::file::{below, io_error};
use lawson_graph::{Code, Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most tensors with maps of their own: a process has a limited number of them, and a file could name the same bytes often.
const MAX_APART: usize = 4096;

/// The files that tensors of a model lie in.
#[derive(Debug, Default)]
pub(crate) struct External {
    folder: Option<PathBuf>,
    read: HashMap<PathBuf, FileBytes>,
    /// The file of the model itself.
    model: Option<Arc<FileBytes>>,
    /// Maps of single tensors, by where their bytes begin and how many they are, so that a tensor that is read twice has one.
    apart: HashMap<(usize, usize), Bytes>,
}

impl External {
    /// External data in a folder; without one, a model that has external data is refused.
    pub(crate) fn new(folder: Option<&Path>) -> External {
        External { folder: folder.map(Path::to_path_buf), ..External::default() }
    }

    /// The same for a model that lies in a file.
    pub(crate) fn of_file(self, model: Option<Arc<FileBytes>>) -> External {
        External { model, ..self }
    }

    /// Bytes of one of the files as a map of their own, if they are many.
    pub(crate) fn apart(&mut self, bytes: &Bytes) -> Option<Bytes> {
        let key = (bytes.as_ptr().addr(), bytes.len());
        if let Some(own) = self.apart.get(&key) {
            return Some(own.clone());
        }
        if self.apart.len() >= MAX_APART {
            return None;
        }
        let own = self.read.values().chain(self.model.as_deref()).find_map(|file| file.apart(bytes))?;
        self.apart.insert(key, own.clone());
        Some(own)
    }

    /// The bytes that a tensor's entries name: `length` of them where the entries do not say.
    pub(crate) fn bytes(
        &mut self,
        entries: &[StringStringEntryProto],
        length: Option<usize>,
    ) -> Result<Bytes> {
        let entry = |key: &str| {
            entries.iter().find(|e| e.key.as_deref() == Some(key)).and_then(|e| e.value.as_deref())
        };
        let number = |key: &str| match entry(key) {
            None => Ok(None),
            Some(text) => text.parse::<usize>().map(Some).map_err(|_| {
                Error::new(
                    Code::OnnxModel,
                    format!("the {key} of external data is `{text}`, not a number of bytes"),
                )
                .help("save the model anew with its external data")
            }),
        };
        let Some(location) = entry("location") else {
            return Err(Error::new(
                Code::OnnxModel,
                "a tensor with external data does not say in which file",
            )
            .help("its `external_data` must have a `location`, the name of a file beside the model"));
        };
        let Some(folder) = &self.folder else {
            return Err(Error::new(Code::Io, "the model has external data, but comes from no folder")
                .help("read the model from its file"));
        };
        let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?.or(length).unwrap_or(0));
        let path = below(folder, location)?;
        let file = match self.read.get(&path) {
            Some(file) => file,
            None => {
                let file =
                    FileBytes::open(&path).map_err(|e| io_error("read the external data", &path, &e))?;
                self.read.entry(path).or_insert(file)
            }
        };
        let bytes = file.bytes();
        match offset.checked_add(length).filter(|end| *end <= bytes.len()) {
            Some(end) => Ok(bytes.slice(offset..end)),
            None => Err(Error::new(
                Code::OnnxModel,
                format!(
                    "external data at {offset}, {length} bytes long, end after `{location}`, which has {} bytes",
                    bytes.len()
                ),
            )
            .help("the file may be cut off, or of another model")),
        }
    }
}
