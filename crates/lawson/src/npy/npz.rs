//! `.npz`: a zip archive of `.npy` files, stored or deflated, one for each name.

use super::{MAX_BYTES, decode_within, encode, format_error};
use crate::tensor::Tensor;
use lawson_graph::file::{io_error, place, write_whole};
use lawson_graph::{Code, DType, Error, Result};
use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::Path;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Reads all tensors of an `.npz` file, in the order of the archive. `expected` says, by name, what void elements are.
pub fn read_npz(path: &Path, expected: impl Fn(&str) -> Option<DType>) -> Result<Vec<(String, Tensor)>> {
    let file = File::open(path).map_err(|e| io_error("read", path, &e))?;
    read_within(BufReader::new(file), &expected, MAX_BYTES).map_err(|e| e.at(place(path)))
}

/// Writes tensors by name into an `.npz` file, uncompressed, whole or not at all.
pub fn write_npz<'a>(path: &Path, tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<()> {
    write_whole(path, |out| {
        let mut archive = ZipWriter::new(out);
        for (name, tensor) in tensors {
            let data = encode(tensor).map_err(|e| e.at(place(path)))?;
            let options = SimpleFileOptions::default()
                .compression_method(CompressionMethod::Stored)
                .large_file(data.len() >= 1 << 31);
            let written = archive.start_file(format!("{name}.npy"), options).map_err(|e| zip_error(&e));
            let written = written.and_then(|()| archive.write_all(&data).map_err(|e| zip_error(&e.into())));
            written.map_err(|e| e.at(place(path)))?;
        }
        archive.finish().map_err(|e| zip_error(&e).at(place(path)))?;
        Ok(())
    })
}

fn read_within(
    source: impl Read + Seek,
    expected: &impl Fn(&str) -> Option<DType>,
    mut left: u64,
) -> Result<Vec<(String, Tensor)>> {
    let mut archive = ZipArchive::new(source).map_err(|e| zip_error(&e))?;
    let mut tensors: Vec<(String, Tensor)> = Vec::new();
    for i in 0..archive.len() {
        let entry = archive.by_index(i).map_err(|e| zip_error(&e))?;
        if entry.is_dir() {
            continue;
        }
        let file = entry.name().map_err(|e| zip_error(&e))?.into_owned();
        let Some(name) = file.strip_suffix(".npy") else {
            return Err(format_error(format!("the entry `{file}` of the archive is no .npy file")));
        };
        let tensor = decode_within(entry, expected(name), &mut left)
            .map_err(|e| e.at(lawson_graph::Place::File(format!("entry `{file}` of the archive"))))?;
        tensors.push((name.to_string(), tensor));
    }
    Ok(tensors)
}

fn zip_error(error: &ZipError) -> Error {
    match error {
        ZipError::Io(e) => Error::new(Code::Io, format!("cannot read or write the archive: {e}")),
        other => format_error(format!("the archive cannot be used: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn deflated(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, data) in entries {
            let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
            archive.start_file(*name, options).unwrap();
            archive.write_all(data).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn read(bytes: &[u8], limit: u64) -> Result<Vec<(String, Tensor)>> {
        read_within(Cursor::new(bytes), &|_| None, limit)
    }

    #[test]
    fn deflated_entries_are_read() {
        let x = Tensor::from_slice(&[3], &[1i32, 2, 3]).unwrap();
        let archive = deflated(&[("x.npy", encode(&x).unwrap())]);
        assert_eq!(read(&archive, 100).unwrap(), [("x".to_string(), x)]);
    }

    #[test]
    fn an_archive_that_unpacks_to_too_much_is_refused() {
        let zeros = Tensor::zeros(DType::U8, &[1 << 20]).unwrap();
        let bomb = deflated(&[("a.npy", encode(&zeros).unwrap()), ("b.npy", encode(&zeros).unwrap())]);
        assert!(bomb.len() < 10_000);
        assert!(read(&bomb, 1 << 21).is_ok());
        assert_eq!(read(&bomb, (1 << 21) - 1).unwrap_err().code(), Code::Budget);
    }

    #[test]
    fn an_entry_longer_than_its_header_says_is_refused_without_unpacking_it() {
        let mut data = encode(&Tensor::zeros(DType::U8, &[4]).unwrap()).unwrap();
        data.resize(1 << 20, 0);
        assert_eq!(read(&deflated(&[("a.npy", data)]), 1 << 30).unwrap_err().code(), Code::FileFormat);
    }

    #[test]
    fn what_is_no_npy_in_the_archive_is_named() {
        let error = read(&deflated(&[("notes.txt", b"hello".to_vec())]), 100).unwrap_err();
        assert!(error.message().contains("notes.txt"), "{error}");
    }
}
