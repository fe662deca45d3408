//! Bytes as an ONNX model: `cargo +nightly fuzz run read_onnx`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| lawson_fuzz::read_onnx(bytes));
