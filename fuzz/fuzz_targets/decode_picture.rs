//! Bytes as a picture: `cargo +nightly fuzz run decode_picture`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| lawson_fuzz::decode_picture(bytes));
