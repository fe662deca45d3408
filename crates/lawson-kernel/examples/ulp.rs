//! Measures every expansion on all 2^32 f32 and prints a table of `docs/accuracy.md`:
//!
//! ```sh
//! RUSTFLAGS="-C target-cpu=native" cargo run --release -p lawson-kernel --example ulp
//! ```
//!
//! Functions of two arguments are measured on 10^8 pairs. With names of functions as arguments it measures these alone;
//! `--stride N` takes every Nth bit pattern, or an Nth of the pairs.

#[path = "../tests/support/mod.rs"]
mod support;

use lawson_kernel::math::{Function, Scalar};
use std::thread;
use support::count::{Hooks, Operations, count};
use support::imitation::{Avx2, Avx512};
use support::pairs::{Binary, Pairs, grid};
use support::reference::reference;
use support::ulp;

/// The greatest error found, and where.
#[derive(Clone, Copy)]
struct Worst<T> {
    ulp: f64,
    at: T,
}

impl<T: Copy> Worst<T> {
    fn take(&mut self, ulp: f64, at: T) {
        if ulp > self.ulp {
            *self = Worst { ulp, at };
        }
    }
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
    head(stride);
    for &function in Function::ALL {
        if names.is_empty() || names.iter().any(|name| name == function.name()) {
            row(function, stride);
        }
    }
    for function in Binary::ALL {
        if names.is_empty() || names.iter().any(|name| name == function.name()) {
            pair_row(function, stride);
        }
    }
}

fn head(stride: u32) {
    let (numbers, pairs) = match stride {
        1 => ("all 2^32 f32".to_string(), "10^8 pairs".to_string()),
        _ => (format!("one in {stride} of the 2^32 f32"), format!("10^8 / {stride} pairs")),
    };
    println!("## On {numbers}\n");
    println!("Functions of two arguments on {pairs}.\n");
    println!(
        "| function | promised ulp | ulp | at | ulp with AVX2 | at | ulp with AVX-512 | at | operations | with AVX-512 |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    );
}

fn row(function: Function, stride: u32) {
    let errors = measure(function, stride).map(|worst| format!("{:.3} | {:e}", worst.ulp, worst.at));
    let operations = HOOKS.map(|hooks| count(hooks, 1, |k, x| function.expand(k, x[0])));
    print(function.name(), function.max_ulp(), errors, operations);
}

fn pair_row(function: Binary, stride: u32) {
    let errors = measure_pairs(function, stride)
        .map(|worst| format!("{:.3} | ({:e}, {:e})", worst.ulp, worst.at.0, worst.at.1));
    let operations = HOOKS.map(|hooks| count(hooks, 2, |k, x| function.expand(k, x[0], x[1])));
    print(function.name(), function.max_ulp(), errors, operations);
}

const HOOKS: [Hooks; 2] = [Hooks::Portable, Hooks::Avx512];

fn print(name: &str, promised: f64, errors: [String; 3], operations: [Operations; 2]) {
    let operations = operations.map(|n| match n.rare {
        0 => format!("{}", n.common),
        rare => format!("{} + {rare} rare", n.common),
    });
    println!("| {name} | {promised} | {} | {} |", errors.join(" | "), operations.join(" | "));
}

/// The worst of every `stride`th f32: portable, with the instructions of AVX2, and with the hooks of AVX-512.
fn measure(function: Function, stride: u32) -> [Worst<f32>; 3] {
    let none = [Worst { ulp: 0.0, at: 0.0 }; 3];
    shared(none, |thread, threads| {
        let mut worst = none;
        // Interleaved, so that each thread has as many hard arguments as the others.
        for bits in (thread * stride..=u32::MAX).step_by((threads * stride) as usize) {
            let x = f32::from_bits(bits);
            let truth = reference(function, x);
            worst[0].take(ulp(function.expand(&mut Scalar, x), truth), x);
            worst[1].take(ulp(function.expand(&mut Avx2, x), truth), x);
            worst[2].take(ulp(function.expand(&mut Avx512, x), truth), x);
        }
        worst
    })
}

/// The worst of the grid and of 10^8 pairs over `stride`, likewise.
fn measure_pairs(function: Binary, stride: u32) -> [Worst<(f32, f32)>; 3] {
    let none = [Worst { ulp: 0.0, at: (0.0, 0.0) }; 3];
    shared(none, |thread, threads| {
        let mut worst = none;
        let pairs =
            Pairs::new(function, u64::from(thread) + 2).take((100_000_000 / stride / threads) as usize);
        for (a, b) in grid().chain(pairs) {
            let truth = function.reference(a, b);
            worst[0].take(ulp(function.expand(&mut Scalar, a, b), truth), (a, b));
            worst[1].take(ulp(function.expand(&mut Avx2, a, b), truth), (a, b));
            worst[2].take(ulp(function.expand(&mut Avx512, a, b), truth), (a, b));
        }
        worst
    })
}

/// The worst that any thread finds; `find` gets the number of the thread and how many there are.
fn shared<T: Copy + Send + Sync>(
    none: [Worst<T>; 3],
    find: impl Fn(u32, u32) -> [Worst<T>; 3] + Sync,
) -> [Worst<T>; 3] {
    let threads = thread::available_parallelism().map_or(1, |n| n.get()) as u32;
    let find = &find;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|n| scope.spawn(move || find(n, threads))).collect();
        let mut worst = none;
        for found in workers.into_iter().flat_map(thread::ScopedJoinHandle::join) {
            for (worst, found) in worst.iter_mut().zip(found) {
                worst.take(found.ulp, found.at);
            }
        }
        worst
    })
}
