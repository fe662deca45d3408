//! Measures every expansion on all 2^32 f32 and prints the table of `docs/accuracy.md`:
//!
//! ```sh
//! RUSTFLAGS="-C target-cpu=native" cargo run --release -p lawson-kernel --example ulp > docs/accuracy.md
//! ```
//!
//! With names of functions as arguments it measures these alone; `--stride N` takes every Nth bit pattern.

#[path = "../tests/support/mod.rs"]
mod support;

use lawson_kernel::math::{Arithmetic, Function, Scalar};
use std::thread;
use support::avx512::Avx512;
use support::count::{Hooks, count};
use support::reference::reference;
use support::ulp;

/// The greatest error found, and where.
#[derive(Clone, Copy)]
struct Worst {
    ulp: f64,
    at: f32,
}

fn main() {
    let mut names = Vec::new();
    let mut stride = 1;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--stride" => stride = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1),
            _ => names.push(argument),
        }
    }
    println!("{HEAD}");
    for &function in Function::ALL {
        if names.is_empty() || names.iter().any(|name| name == function.name()) {
            row(function, stride);
        }
    }
}

const HEAD: &str = "\
# Accuracy of the expansions

| function | promised ulp | ulp | at | ulp with AVX-512 hooks | at | operations | with AVX-512 hooks |
| --- | --- | --- | --- | --- | --- | --- | --- |";

fn row(function: Function, stride: u32) {
    let portable = measure(function, stride, || Scalar);
    let avx512 = measure(function, stride, || Avx512);
    let operations = [Hooks::Portable, Hooks::Avx512].map(|hooks| {
        let n = count(hooks, 1, |k, x| function.expand(k, x[0]));
        if n.rare == 0 { format!("{}", n.common) } else { format!("{} + {} rare", n.common, n.rare) }
    });
    println!(
        "| {} | {} | {:.3} | {:e} | {:.3} | {:e} | {} | {} |",
        function.name(),
        function.max_ulp(),
        portable.ulp,
        portable.at,
        avx512.ulp,
        avx512.at,
        operations[0],
        operations[1],
    );
}

/// The worst of every `stride`th f32.
fn measure<K: Arithmetic<F = f32>>(function: Function, stride: u32, k: fn() -> K) -> Worst {
    let threads = thread::available_parallelism().map_or(1, |n| n.get()) as u32;
    let slice = move |first: u32| {
        let mut k = k();
        let mut worst = Worst { ulp: 0.0, at: 0.0 };
        // Interleaved, so that each thread has as many hard arguments as the others.
        for bits in (first * stride..=u32::MAX).step_by((threads * stride) as usize) {
            let x = f32::from_bits(bits);
            let error = ulp(function.expand(&mut k, x), reference(function, x));
            if error > worst.ulp {
                worst = Worst { ulp: error, at: x };
            }
        }
        worst
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|n| scope.spawn(move || slice(n))).collect();
        let found = workers.into_iter().flat_map(thread::ScopedJoinHandle::join);
        found.fold(Worst { ulp: 0.0, at: 0.0 }, |a, b| if b.ulp > a.ulp { b } else { a })
    })
}
