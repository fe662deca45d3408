//! Files: errors that name them, and writing that leaves either the whole new file or the old one.
//!
//! For the crates of the workspace that read and write files; not part of the public API.

use crate::error::{Code, Error, Place, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest text that is read, in bytes: 1 GiB. Larger constants belong in a side file.
pub const MAX_TEXT: u64 = 1 << 30;

/// Reads a text of at most [`MAX_TEXT`] bytes.
pub fn read_text(source: impl Read) -> Result<String> {
    read_text_within(source, MAX_TEXT)
}

/// Reads a text file of at most [`MAX_TEXT`] bytes; of one that is larger nothing is read.
pub fn read_text_file(path: &Path) -> Result<String> {
    let file = File::open(path).map_err(|e| io_error("read the file", path, &e))?;
    // Pipes have no size; they are bounded while they are read.
    match file.metadata() {
        Ok(meta) if meta.len() > MAX_TEXT => Err(too_long(MAX_TEXT).at(place(path))),
        _ => read_text(file).map_err(|e| e.at(place(path))),
    }
}

fn read_text_within(source: impl Read, limit: u64) -> Result<String> {
    let mut bytes = Vec::new();
    let read = source.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|e| Error::new(Code::Io, format!("cannot read: {e}")))?;
    if bytes.len() as u64 > limit {
        return Err(too_long(limit));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Error::new(Code::FileFormat, format!("this is not text: byte {at} is not UTF-8"))
    })
}

fn too_long(limit: u64) -> Error {
    Error::new(Code::Budget, format!("more than {limit} bytes of text"))
        .help("large constants belong in a side file, which has no such limit")
}

/// The file that a path from a model means, if it lies in the model's folder. The path is not trusted: it must be relative,
/// without `..`, and stay below the folder after links are followed.
pub fn below(folder: &Path, path: &str) -> Result<PathBuf> {
    let outside = || {
        Error::new(Code::OutsideFolder, format!("`{path}` is not below the folder of the model")).help(
            "side files stand beside the model; absolute paths, `..` and links that lead out are refused",
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
    let canonical = |p: &Path| {
        let failed = |e| {
            io_error("open the side file", p, &e).help("copy it together with the model, under the same name")
        };
        p.canonicalize().map_err(failed)
    };
    let (root, file) = (canonical(folder)?, canonical(&folder.join(relative))?);
    if !file.starts_with(&root) {
        return Err(outside());
    }
    // Reading a pipe or a device could wait for ever.
    match file.metadata() {
        Ok(meta) if meta.is_file() => Ok(file),
        Ok(_) => Err(Error::new(Code::Io, format!("`{path}` is not a file"))),
        Err(e) => Err(io_error("open the side file", &file, &e)),
    }
}

/// An input or output error about a file.
pub fn io_error(doing: &str, path: &Path, error: &io::Error) -> Error {
    Error::new(Code::Io, format!("cannot {doing}: {error}")).at(place(path))
}

/// The place of an error about a file.
pub fn place(path: &Path) -> Place {
    Place::File(path.display().to_string())
}

/// Writes a file by way of a temporary one beside it, which takes its place only when all is written. An existing
/// file keeps its permissions, and a link stays a link. Pipes and devices, which nothing can take the place of, are written directly.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    let failed = |e: io::Error| io_error("write", path, &e);
    // What a link leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|m| !m.is_file()) {
        let file = OpenOptions::new().write(true).open(&target).map_err(failed)?;
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        return out.flush().map_err(failed);
    }
    remove_abandoned(&target);
    let (temporary, file) = create_beside(&target).map_err(failed)?;
    let mut guard = Remove(Some(&temporary));
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
    if let Some(old) = old {
        file.set_permissions(old.permissions()).map_err(failed)?;
    }
    // A crash of the system after the rename must not leave a name without its content.
    file.sync_all().map_err(failed)?;
    drop(file);
    fs::rename(&temporary, &target).map_err(failed)?;
    guard.0 = None;
    Ok(())
}

/// Removes a file when dropped, unless told otherwise.
struct Remove<'a>(Option<&'a Path>);

impl Drop for Remove<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes what processes that were killed while they wrote this file have left beside it. Where it cannot be told whether a process is
/// there, nothing is removed.
fn remove_abandoned(target: &Path) {
    let processes = Path::new("/proc");
    if !processes.join("self").exists() {
        return;
    }
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(name) = target.file_name().and_then(|n| n.to_str()) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = entry.file_name();
        let process = file
            .to_str()
            .and_then(|f| f.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(".tmp"))
            .and_then(|rest| rest.split_once('-')?.0.parse::<u32>().ok());
        if process.is_some_and(|p| !processes.join(p.to_string()).exists()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    loop {
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{}.tmp", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
        let path = target.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("lawson-file-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_text_is_read_up_to_its_limit_and_no_further() {
        assert_eq!(read_text_within(&b"abc"[..], 3).unwrap(), "abc");
        assert_eq!(read_text_within(&b"abcd"[..], 3).unwrap_err().code(), Code::Budget);
        assert_eq!(read_text_within(io::repeat(b'a'), 3).unwrap_err().code(), Code::Budget);
        assert_eq!(read_text_within(&b"a\xff"[..], 3).unwrap_err().code(), Code::FileFormat);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = folder("failed");
        let path = folder.join("x");
        fs::write(&path, "old").unwrap();
        let result = write_whole(&path, |out| {
            out.write_all(b"half").unwrap();
            Err(Error::new(Code::Io, "no more"))
        });
        assert!(result.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_write_replaces_the_old_file() {
        let folder = folder("replaced");
        let path = folder.join("x");
        for content in ["one", "two"] {
            write_whole(&path, |out| {
                out.write_all(content.as_bytes()).unwrap();
                Ok(())
            })
            .unwrap();
            assert_eq!(fs::read(&path).unwrap(), content.as_bytes());
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_killed_processes_left_is_removed_and_nothing_else() {
        let folder = folder("abandoned");
        // No process has that number.
        for name in [".x.4294967295-0.tmp", ".y.4294967295-0.tmp", ".x.1-0.tmp", "x.4294967295-0.tmp"] {
            fs::write(folder.join(name), "half").unwrap();
        }
        write_whole(&folder.join("x"), |_| Ok(())).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        left.sort_unstable();
        assert_eq!(left, [".x.1-0.tmp", ".y.4294967295-0.tmp", "x", "x.4294967295-0.tmp"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let error = write_whole(Path::new("no/such/folder/x"), |_| Ok(())).unwrap_err();
        assert_eq!(error.code(), Code::Io);
    }
}
