//! Compiled pipelines on disk: what the driver's cache holds, in a file for each adapter and driver; and what shaders were translated to
//! (`translated.rs`), in another.
//!
//! A file begins with a line that names the adapter and its driver and says how many bytes follow and what they sum up to. A
//! file of which that is not true is not used, and a warning says so: drivers need not survive what they did not write.

use lawson_graph::Result;
use lawson_graph::file::{io_error, write_whole};
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What the first line of a file begins with.
const MAGIC: &str = "lawson-pipelines 1";

/// A file of compiled pipelines or translated shaders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFile {
    /// Where it is.
    pub path: PathBuf,
    /// How large it is.
    pub bytes: u64,
    /// The adapter and the driver that it is for, as far as it can be read.
    pub of: Option<String>,
    /// What it holds.
    pub kind: Kind,
}

/// Why a file was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It could not be read.
    Unreadable(String),
    /// It is not what was written.
    Damaged,
    /// It is of another adapter or driver.
    Foreign(String),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Unreadable(why) => write!(f, "it cannot be read: {why}"),
            Unusable::Damaged => f.write_str("it is damaged"),
            Unusable::Foreign(of) => write!(f, "it is of {of}"),
        }
    }
}

/// FNV-1a, 64 bits.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

fn head(of: &str, data: &[u8]) -> String {
    format!("{MAGIC} {} {:016x} {of}\n", data.len(), sum(data))
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What a driver compiled.
    Pipelines,
    /// What shaders were translated to.
    Shaders,
}

impl Kind {
    /// Its name, which is how files of this kind end.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Pipelines => "pipelines",
            Kind::Shaders => "shaders",
        }
    }

    fn of(path: &Path) -> Option<Kind> {
        let end = path.extension()?;
        [Kind::Pipelines, Kind::Shaders].into_iter().find(|k| k.name() == end)
    }
}

/// The file of an adapter in a folder.
pub(crate) fn file(folder: &Path, of: &str, kind: Kind) -> PathBuf {
    folder.join(format!("{:016x}.{}", sum(of.as_bytes()), kind.name()))
}

/// What a file holds for this adapter; nothing if there is none.
pub(crate) fn load(path: &Path, of: &str) -> std::result::Result<Option<Vec<u8>>, Unusable> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Unusable::Unreadable(e.to_string())),
    };
    let Some((line, data)) = split(&bytes) else { return Err(Unusable::Damaged) };
    let found = line.strip_prefix(MAGIC).and_then(|rest| rest.trim_start().splitn(3, ' ').nth(2));
    let Some(found) = found else { return Err(Unusable::Damaged) };
    if found != of {
        return Err(Unusable::Foreign(found.to_string()));
    }
    if format!("{line}\n") != head(of, data) {
        return Err(Unusable::Damaged);
    }
    Ok(Some(data.to_vec()))
}

fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().take(4096).position(|b| *b == b'\n')?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

/// Writes a file as a whole: who reads it meanwhile finds what was there before.
pub(crate) fn save(path: &Path, of: &str, data: &[u8]) -> Result<()> {
    let failed = |e: io::Error| io_error("write", path, &e);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    write_whole(path, |out| {
        out.write_all(head(of, data).as_bytes()).map_err(failed)?;
        out.write_all(data).map_err(failed)
    })
}

/// The files in a folder, by name; none if there is no such folder.
pub fn files(folder: &Path) -> io::Result<Vec<CacheFile>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let Some(kind) = Kind::of(&path) else { continue };
        let bytes = std::fs::metadata(&path)?.len();
        let line = std::fs::read(&path).ok().and_then(|b| split(&b).map(|(line, _)| line.to_string()));
        let of =
            line.and_then(|l| Some(l.strip_prefix(MAGIC)?.trim_start().splitn(3, ' ').nth(2)?.to_string()));
        found.push(CacheFile { path, bytes, of, kind });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_damaged_or_of_others_are_not_used() {
        let folder = std::env::temp_dir().join(format!("lawson-cache-{}", std::process::id()));
        let path = file(&folder, "this one", Kind::Pipelines);
        assert_eq!(load(&path, "this one"), Ok(None));
        save(&path, "this one", b"abc\ndef").unwrap();
        assert_eq!(load(&path, "this one"), Ok(Some(b"abc\ndef".to_vec())));
        assert_eq!(load(&path, "another"), Err(Unusable::Foreign("this one".into())));
        assert_eq!(files(&folder).unwrap()[0].of.as_deref(), Some("this one"));
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(load(&path, "this one"), Err(Unusable::Damaged));
        std::fs::write(&path, b"something").unwrap();
        assert_eq!(load(&path, "this one"), Err(Unusable::Damaged));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
