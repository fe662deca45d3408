//! Files as bytes: small ones are read, large ones mapped, so that weights are not copied before they are laid out.
#![allow(unsafe_code)]

use bytes::Bytes;
use memmap2::MmapOptions;
use std::fs::File;
use std::io::{Read, Result};
use std::path::Path;

/// Files from this size on are mapped.
const MAPPED: u64 = 1 << 20;

/// The bytes of a file.
pub(crate) fn file(path: &Path) -> Result<Bytes> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    if size < MAPPED {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        return Ok(bytes.into());
    }
    // SAFETY: the map is private and never written here. That nobody else shortens or rewrites the file while it is in use is
    // what users of a model file grant, as they do to every program that maps it.
    let map = unsafe { MmapOptions::new().populate().map_copy_read_only(&file)? };
    Ok(Bytes::from_owner(map))
}
