//! NumPy files: what NumPy wrote is read, what is written NumPy reads, and nothing else is trusted.
#![allow(clippy::unwrap_used)]

use lawson::{Code, DType, Tensor, npy};
use lawson_graph::HostTensor;
use lawson_graph::random::{Elements, Rng, random_tensor};
use proptest::prelude::*;
use std::path::PathBuf;

fn file(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(data);
    out
}

fn read(bytes: &[u8], expected: Option<DType>) -> lawson::Result<Tensor> {
    npy::decode(bytes, expected)
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("lawson-npy-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn sample(dtype: DType, sizes: &[usize]) -> Tensor {
    random_tensor(&mut Rng::new(3), dtype, sizes, Elements::Wild).unwrap().into()
}

#[test]
fn every_dtype_survives_writing_and_reading() {
    for dtype in DType::ALL {
        for sizes in [&[][..], &[5], &[2, 3], &[0, 3], &[3, 1, 2]] {
            let x = sample(dtype, sizes);
            let back = read(&npy::encode(&x).unwrap(), Some(dtype)).unwrap();
            assert_eq!(back, x);
        }
    }
}

#[test]
fn big_endian_files_are_read() {
    let x = read(&file(">i2", false, "(2,)", &[1, 2, 0xff, 0xfe]), None).unwrap();
    assert_eq!(x.to_vec::<i16>().unwrap(), [0x102, -2]);
    let x = read(&file(">f8", false, "()", &2.5f64.to_be_bytes()), None).unwrap();
    assert_eq!(x.to_vec::<f64>().unwrap(), [2.5]);
    let x = read(&file(">U2", false, "(1,)", &[0, 0, 0, b'h', 0, 0, 0, b'i']), None).unwrap();
    assert_eq!(&*x.to_host().unwrap().text()[0], "hi");
}

#[test]
fn fortran_order_is_turned_into_row_major() {
    let x = read(&file("|u1", true, "(2, 3)", &[1, 4, 2, 5, 3, 6]), None).unwrap();
    assert_eq!(x.to_vec::<u8>().unwrap(), [1, 2, 3, 4, 5, 6]);
    let x = read(&file("|S1", true, "(2, 2)", b"acbd"), None).unwrap();
    let text: Vec<String> = x.to_host().unwrap().text().iter().map(|s| s.to_string()).collect();
    assert_eq!(text, ["a", "b", "c", "d"]);
    assert!(read(&file("<U16", true, "(1152921504606846976, 0, 1152921504606846976)", &[]), None).is_ok());
}

#[test]
fn header_versions_two_and_three_are_read() {
    for version in [2, 3] {
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }\n";
        let mut bytes = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
        bytes.extend((header.len() as u32).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.push(7);
        assert_eq!(read(&bytes, None).unwrap().to_vec::<u8>().unwrap(), [7]);
    }
}

#[test]
fn void_elements_are_what_is_expected() {
    let two = file("<V2", false, "(1,)", &[0x80, 0x3f]);
    assert_eq!(read(&two, None).unwrap().dtype(), DType::BF16);
    assert_eq!(read(&two, Some(DType::BF16)).unwrap().to_host().unwrap().float_at(0), 1.0);
    assert!(read(&two, Some(DType::F8E5M2)).is_err());
    let one = file("|V1", false, "(2,)", &[0x38, 0xff]);
    assert_eq!(read(&one, None).unwrap_err().code(), Code::FileFormat);
    assert_eq!(read(&one, Some(DType::F8E4M3)).unwrap().to_host().unwrap().float_at(0), 1.0);
    let ints = read(&one, Some(DType::I4)).unwrap().to_host().unwrap();
    assert_eq!((ints.int_at(0), ints.int_at(1)), (-8, -1));
    let ints = read(&one, Some(DType::U4)).unwrap().to_host().unwrap();
    assert_eq!((ints.int_at(0), ints.int_at(1)), (8, 15));
}

#[test]
fn bytes_are_taken_for_four_bit_integers_where_they_fit() {
    let x = read(&file("|i1", false, "(2,)", &[0xf8, 7]), Some(DType::I4)).unwrap().to_host().unwrap();
    assert_eq!((x.dtype(), x.int_at(0), x.int_at(1)), (DType::I4, -8, 7));
    let error = read(&file("|i1", false, "(1,)", &[8]), Some(DType::I4)).unwrap_err();
    assert_eq!(error.code(), Code::Literal);
}

#[test]
fn text_is_padded_to_the_longest() {
    let x: Tensor = HostTensor::from_text(&[2], vec!["β".into(), "abc".into()]).unwrap().into();
    let bytes = npy::encode(&x).unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains("'<U3'"));
    assert_eq!(read(&bytes, None).unwrap(), x);
    let zero: Tensor = HostTensor::from_text(&[1], vec!["a\0".into()]).unwrap().into();
    assert!(npy::encode(&zero).is_err());
}

#[test]
fn lying_headers_are_refused_before_memory_is_taken() {
    for (shape, code) in [
        ("(1000000000000,)", Code::Budget),
        ("(9223372036854775807, 9223372036854775807)", Code::Budget),
        ("(1000000000,)", Code::FileFormat),
    ] {
        assert_eq!(read(&file("<f4", false, shape, &[0; 16]), None).unwrap_err().code(), code, "{shape}");
    }
    assert_eq!(read(&file("<U0", false, "(1000000000000,)", &[]), None).unwrap_err().code(), Code::Budget);
    assert!(read(&file("<U0", false, "(3,)", &[]), None).is_ok());
}

#[test]
fn other_dtypes_are_refused_by_name() {
    for descr in
        ["|O", "<c8", "<M8[ns]", "<f16", "f4", "", "<", "<V", "<Vx", "|V3", "é4", "<U99999999999999999999"]
    {
        let error = read(&file(descr, false, "(0,)", &[]), None).unwrap_err();
        assert_eq!(error.code(), Code::FileFormat, "{descr}: {error}");
    }
}

#[test]
fn data_that_is_no_value_of_the_dtype_is_refused() {
    assert!(read(&file("|b1", false, "(1,)", &[2]), None).is_err());
    assert!(read(&file("|S2", false, "(1,)", &[0xff, 0xff]), None).is_err());
    assert!(read(&file("<U1", false, "(1,)", &[0xff; 4]), None).is_err());
    assert!(read(&file("|u1", false, "(1,)", &[1, 2]), None).is_err(), "bytes after the data");
    assert!(read(&file("|u1", false, "(3,)", &[1, 2]), None).is_err(), "too few bytes");
}

#[test]
fn files_and_archives_survive_writing_and_reading() {
    let folder = folder("files");
    let (x, y) = (sample(DType::F32, &[2, 3]), sample(DType::BF16, &[4]));
    npy::write(&folder.join("x.npy"), &x).unwrap();
    assert_eq!(npy::read(&folder.join("x.npy"), None).unwrap(), x);
    let path = folder.join("all.npz");
    npy::write_npz(&path, [("x", &x), ("layer/y", &y)]).unwrap();
    let back = npy::read_npz(&path, |_| None).unwrap();
    assert_eq!(back, [("x".to_string(), x.clone()), ("layer/y".to_string(), y)]);
    let error = npy::write_npz(&path, [("x", &x), ("x", &x)]).unwrap_err();
    assert_eq!(error.code(), Code::FileFormat, "{error}");
    assert_eq!(npy::read_npz(&path, |_| None).unwrap().len(), 2, "the old file is still there");
    assert_eq!(npy::read(&folder.join("none.npy"), None).unwrap_err().code(), Code::Io);
    std::fs::remove_dir_all(folder).unwrap();
}

fn archive() -> Vec<u8> {
    let folder = folder("mangled");
    let path = folder.join(format!("{:?}.npz", std::thread::current().id()));
    npy::write_npz(&path, [("x", &sample(DType::F32, &[2, 3])), ("s", &sample(DType::Str, &[2]))]).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let _ = std::fs::remove_file(path);
    bytes
}

proptest! {
    #[test]
    fn mangled_files_never_panic(at in 0usize..200, byte: u8, cut in 1usize..200) {
        let mut bytes = npy::encode(&sample(DType::I16, &[3, 4])).unwrap();
        let len = bytes.len();
        bytes[at % len] = byte;
        bytes.truncate(cut);
        for expected in [None, Some(DType::BF16), Some(DType::I4)] {
            let _ = read(&bytes, expected);
        }
    }

    #[test]
    fn mangled_archives_never_panic(at in 0usize..10_000, byte: u8, cut in 0usize..4) {
        let mut bytes = archive();
        let len = bytes.len();
        bytes[at % len] = byte;
        bytes.truncate(len - cut * at % len);
        let path = folder("mangled").join(format!("m{:?}.npz", std::thread::current().id()));
        std::fs::write(&path, &bytes).unwrap();
        let _ = npy::read_npz(&path, |_| None);
        let _ = std::fs::remove_file(path);
    }
}

/// A file that NumPy wrote; `tests/numpy/generate.py` says how.
fn from_numpy(name: &str) -> Vec<(String, Tensor)> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/numpy").join(name);
    npy::read_npz(&path, |name| name.parse().ok()).unwrap()
}

#[test]
fn numbers_that_numpy_wrote_are_read() {
    let files = from_numpy("plain.npz").into_iter().chain(from_numpy("ml.npz"));
    for (name, tensor) in files {
        let host = tensor.to_host().unwrap();
        let unsigned = name.starts_with('u');
        let expected = [-2.0, 0.0, 1.0, 0.5, 3.0, 7.0].map(|x: f64| match host.dtype() {
            DType::Bool => f64::from(u8::from(x != 0.0)),
            d if d.is_float() => x,
            _ if unsigned => x.abs().trunc(),
            _ => x.trunc(),
        });
        let found: Vec<f64> = (0..6).map(|i| host.float_at(i)).collect();
        assert_eq!((host.sizes(), found), (&[2, 3][..], expected.to_vec()), "{name}");
    }
}

#[test]
fn orders_ends_and_text_that_numpy_wrote_are_read() {
    let files = from_numpy("odd.npz");
    let find = |name: &str| &files.iter().find(|(n, _)| n == name).unwrap().1;
    assert_eq!(find("fortran").to_vec::<f32>().unwrap(), [-2.0, 0.0, 1.0, 0.5, 3.0, 7.0]);
    assert_eq!(find("big").to_vec::<i32>().unwrap(), [-2, 0, 1, 0, 3, 7]);
    assert_eq!(find("scalar"), &Tensor::scalar(2.5f64));
    assert_eq!(find("empty").sizes(), [0, 3]);
    let text =
        |name: &str| find(name).to_host().unwrap().text().iter().map(|s| s.to_string()).collect::<Vec<_>>();
    assert_eq!(text("text"), ["a", "βγ", "", "long text"]);
    assert_eq!(text("bytes"), ["a", "bcd"]);
}
