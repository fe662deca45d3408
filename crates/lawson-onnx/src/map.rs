//! Files as bytes: small ones are read, large ones mapped, so that weights are not copied before they are laid out.
//!
//! A large tensor of a mapped file gets a map of its own, so that who keeps the tensor keeps no other, and its pages go when it is let go.
#![allow(unsafe_code)]

use bytes::Bytes;
use memmap2::MmapOptions;
use std::fs::File;
use std::io::{Read, Result};
use std::path::Path;

/// Files from this size on are mapped.
const MAPPED: u64 = 1 << 20;

/// Parts from this size on are mapped apart.
const APART: usize = 1 << 20;

/// The bytes of a file.
#[derive(Debug)]
pub(crate) struct FileBytes {
    bytes: Bytes,
    /// The file, if it is mapped.
    file: Option<File>,
}

impl FileBytes {
    /// Opens a file.
    pub(crate) fn open(path: &Path) -> Result<FileBytes> {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        if size < MAPPED {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            return Ok(FileBytes { bytes: bytes.into(), file: None });
        }
        // SAFETY: the map is private and never written here. That nobody else shortens or rewrites the file while it is in use is
        // what users of a model file grant, as they do to every program that maps it.
        let map = unsafe { MmapOptions::new().map_copy_read_only(&file)? };
        Ok(FileBytes { bytes: Bytes::from_owner(map), file: Some(file) })
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The same bytes as a map of their own, if they are a large part of a mapped file.
    pub(crate) fn apart(&self, part: &Bytes) -> Option<Bytes> {
        let file = self.file.as_ref().filter(|_| part.len() >= APART)?;
        let offset = part.as_ptr().addr().checked_sub(self.bytes.as_ptr().addr())?;
        if offset.checked_add(part.len())? > self.bytes.len() {
            return None;
        }
        let mut options = MmapOptions::new();
        options.offset(offset as u64).len(part.len());
        // SAFETY: as in `open`.
        let map = unsafe { options.map_copy_read_only(file) }.ok()?;
        Some(Bytes::from_owner(map))
    }
}
