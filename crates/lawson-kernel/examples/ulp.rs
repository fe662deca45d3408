//! Measures every expansion on all 2^32 f32 and prints the table of `docs/accuracy.md`:
//!
//! ```sh
//! RUSTFLAGS="-C target-cpu=native" cargo run --release -p lawson-kernel --example ulp > docs/accuracy.md
//! ```
//!
//! Functions of two arguments are measured on 10^8 pairs. With names of functions as arguments it measures these alone;
//! `--stride N` takes every Nth bit pattern, or an Nth of the pairs.

#[path = "../tests/support/mod.rs"]
mod support;

use lawson_kernel::math::{Arithmetic, Function, Scalar};
use std::thread;
use support::avx512::Avx512;
use support::count::{Hooks, Operations, count};
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
    fn take(&mut self, other: Worst<T>) {
        if other.ulp > self.ulp {
            *self = other;
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
    println!("{HEAD}");
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

const HEAD: &str = "\
# Accuracy of the expansions

| function | promised ulp | ulp | at | ulp with AVX-512 hooks | at | operations | with AVX-512 hooks |
| --- | --- | --- | --- | --- | --- | --- | --- |";

fn row(function: Function, stride: u32) {
    let errors = [measure(function, stride, || Scalar), measure(function, stride, || Avx512)];
    let errors = errors.map(|worst| format!("{:.3} | {:e}", worst.ulp, worst.at));
    let operations = HOOKS.map(|hooks| count(hooks, 1, |k, x| function.expand(k, x[0])));
    print(function.name(), function.max_ulp(), errors, operations);
}

fn pair_row(function: Binary, stride: u32) {
    let errors = [measure_pairs(function, stride, || Scalar), measure_pairs(function, stride, || Avx512)];
    let errors = errors.map(|worst| format!("{:.3} | ({:e}, {:e})", worst.ulp, worst.at.0, worst.at.1));
    let operations = HOOKS.map(|hooks| count(hooks, 2, |k, x| function.expand(k, x[0], x[1])));
    print(function.name(), function.max_ulp(), errors, operations);
}

const HOOKS: [Hooks; 2] = [Hooks::Portable, Hooks::Avx512];

fn print(name: &str, promised: f64, errors: [String; 2], operations: [Operations; 2]) {
    let operations = operations.map(|n| match n.rare {
        0 => format!("{}", n.common),
        rare => format!("{} + {rare} rare", n.common),
    });
    println!(
        "| {name} | {promised} | {} | {} | {} | {} |",
        errors[0], errors[1], operations[0], operations[1]
    );
}

/// The worst of every `stride`th f32.
fn measure<K: Arithmetic<F = f32>>(function: Function, stride: u32, k: fn() -> K) -> Worst<f32> {
    let none = Worst { ulp: 0.0, at: 0.0 };
    shared(none, |thread, threads| {
        let mut k = k();
        let mut worst = none;
        // Interleaved, so that each thread has as many hard arguments as the others.
        for bits in (thread * stride..=u32::MAX).step_by((threads * stride) as usize) {
            let x = f32::from_bits(bits);
            worst.take(Worst { ulp: ulp(function.expand(&mut k, x), reference(function, x)), at: x });
        }
        worst
    })
}

/// The worst of the grid and of 10^8 pairs over `stride`.
fn measure_pairs<K: Arithmetic<F = f32>>(function: Binary, stride: u32, k: fn() -> K) -> Worst<(f32, f32)> {
    let none = Worst { ulp: 0.0, at: (0.0, 0.0) };
    shared(none, |thread, threads| {
        let mut k = k();
        let mut worst = none;
        let pairs =
            Pairs::new(function, u64::from(thread) + 2).take((100_000_000 / stride / threads) as usize);
        for (a, b) in grid().chain(pairs) {
            worst.take(Worst {
                ulp: ulp(function.expand(&mut k, a, b), function.reference(a, b)),
                at: (a, b),
            });
        }
        worst
    })
}

/// The worst that any thread finds; `find` gets the number of the thread and how many there are.
fn shared<T: Copy + Send + Sync>(none: Worst<T>, find: impl Fn(u32, u32) -> Worst<T> + Sync) -> Worst<T> {
    let threads = thread::available_parallelism().map_or(1, |n| n.get()) as u32;
    let find = &find;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|n| scope.spawn(move || find(n, threads))).collect();
        let mut worst = none;
        for found in workers.into_iter().flat_map(thread::ScopedJoinHandle::join) {
            worst.take(found);
        }
        worst
    })
}
