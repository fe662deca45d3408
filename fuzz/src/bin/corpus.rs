//! `cargo run --no-default-features --bin corpus -- FILE…`: what the fuzz target does, for files: each as it is, cut off at every 7th
//! byte, and with single bits flipped. A panic ends it and names the file.

use std::panic::catch_unwind;

/// How many flipped bits of a file are tried.
const FLIPS: usize = 2000;

fn main() {
    let mut failed = 0;
    for file in std::env::args().skip(1) {
        let whole = match std::fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("{file}: {error}");
                failed += 1;
                continue;
            }
        };
        let cut = (0..whole.len()).step_by(7).map(|end| (format!("cut off at byte {end}"), whole[..end].to_vec()));
        let step = (whole.len() * 8 / FLIPS).max(1);
        let flipped = (0..whole.len() * 8).step_by(step).map(|bit| {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            (format!("with bit {bit} flipped"), bytes)
        });
        let all = [("as it is".to_string(), whole.clone())].into_iter().chain(cut).chain(flipped);
        for (what, bytes) in all {
            if catch_unwind(|| lawson_fuzz::read_onnx(&bytes)).is_err() {
                eprintln!("{file} {what}: panic");
                failed += 1;
            }
        }
        println!("{file}: done");
    }
    std::process::exit(i32::from(failed > 0));
}
