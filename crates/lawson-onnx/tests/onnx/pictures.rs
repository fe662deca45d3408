//! Pictures as operands: every format, to the last bit as the usual libraries decode it, and files that are damaged or ask for too much.
//!
//! Beside each file of `tests/pictures` is what `libjpeg-turbo` and its like make of it, as a PPM.

use crate::model::*;
use lawson_graph::interp::{Options, run};
use lawson_graph::{Code, DType, HostTensor, Result, Value};
use lawson_onnx::host_functions;
use std::path::{Path, PathBuf};

/// The result of `ImageDecoder` for the bytes of a file.
fn decoded(bytes: &[u8], format: &str) -> Result<HostTensor> {
    let node = node("ImageDecoder", "x", "y").text("pixel_format", format);
    let x = input("x", DType::U8, &[&bytes.len().to_string()]);
    let graph = import(&model(20, graph(vec![x], &[], vec![node], "y")))?;
    let options = Options { host: host_functions(), ..Options::default() };
    let values = run(&graph, &[Value::from(host(&[bytes.len()], bytes))], &options)?;
    Ok(values[0].as_tensor().unwrap().clone())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures")
}

/// The files, each with its name and what should come of it.
fn files() -> Vec<(String, Vec<u8>, HostTensor)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let expected = PathBuf::from(format!("{}.ppm", path.display()));
        if expected.exists() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            found.push((name, std::fs::read(&path).unwrap(), ppm(&std::fs::read(expected).unwrap())));
        }
    }
    assert!(found.len() >= 15, "only {} pictures", found.len());
    found
}

/// A PPM as the tests have it: one line of header, then pixels.
fn ppm(bytes: &[u8]) -> HostTensor {
    let end = bytes.iter().position(|b| *b == b'\n').unwrap();
    let header = std::str::from_utf8(&bytes[..end]).unwrap();
    let sizes: Vec<usize> = header.split(' ').skip(1).map(|n| n.parse().unwrap()).collect();
    host(&[sizes[1], sizes[0], 3], &bytes[end + 1..])
}

#[test]
fn every_pixel_of_every_format_is_as_expected() {
    for (name, bytes, expected) in files() {
        let have = decoded(&bytes, "RGB").unwrap();
        assert_eq!(have.sizes(), expected.sizes(), "{name}");
        let (have, expected) = (have.to_vec::<u8>().unwrap(), expected.to_vec::<u8>().unwrap());
        let wrong = have.iter().zip(&expected).filter(|(a, b)| a != b).count();
        assert_eq!(wrong, 0, "{name}: samples differ");
    }
}

#[test]
fn pixels_come_in_the_order_that_is_asked_for() {
    let ppm = b"P6 2 1 255\n\x0a\x14\x1e\xff\x00\x80";
    let samples = |format| decoded(ppm, format).unwrap().to_vec::<u8>().unwrap();
    assert_eq!(samples("RGB"), [10, 20, 30, 255, 0, 128]);
    assert_eq!(samples("BGR"), [30, 20, 10, 128, 0, 255]);
    assert_eq!(samples("Grayscale"), [18, 91]);
    assert_eq!(decoded(ppm, "Grayscale").unwrap().sizes(), [1, 2, 1]);
    assert_eq!(decoded(ppm, "CMYK").unwrap_err().code(), Code::OnnxModel);
}

#[test]
fn what_is_no_picture_gives_no_pixels() {
    for bytes in
        [&b""[..], b"GIF89a", b"\xff\xd8", b"\xff\xd8\xff\xd9", b"\x00\x00\x00\x0cjP  \r\n\x87\n", b"P6"]
    {
        assert_eq!(decoded(bytes, "RGB").unwrap().sizes(), [0, 0, 3], "{bytes:?}");
    }
}

#[test]
fn damaged_pictures_give_pixels_or_none() {
    for (name, whole, _) in files() {
        let cut = (0..whole.len()).step_by(whole.len() / 40 + 1).map(|end| whole[..end].to_vec());
        let flipped = (0..8 * whole.len()).step_by(whole.len() / 25 + 1).map(|bit| {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes
        });
        for bytes in cut.chain(flipped) {
            match decoded(&bytes, "RGB") {
                Ok(t) => assert_eq!(t.len(), t.sizes().iter().product::<usize>(), "{name}"),
                Err(e) => assert_eq!(e.code(), Code::HostCall, "{name}: {e}"),
            }
        }
    }
}

#[test]
fn headers_may_not_ask_for_more_than_a_picture_has() {
    let found = files();
    let file = |name: &str| found.iter().find(|f| f.0 == name).unwrap().1.clone();
    let mut jpeg = file("full.jpg");
    let frame = jpeg.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].fill(0xff);
    let mut bmp = file("plain.bmp");
    bmp[18..26].copy_from_slice(&[0xff, 0xff, 0, 0, 0xff, 0xff, 0, 0]);
    for bytes in [jpeg, bmp, b"P6 65000 65000 255\n".to_vec()] {
        let error = decoded(&bytes, "RGB").unwrap_err();
        assert_eq!(error.code(), Code::HostCall);
        assert!(error.message().contains("make it smaller"), "{error}");
    }
}
