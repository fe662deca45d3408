//! What tiles keep in registers: loops over what is summed neither read nor write the stack, also where a tile takes every register
//! and where overlapping windows read what was read before.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;

use common::{levels, machine_and_evaluator};
use lawson_cpu::{Isa, Listing, emit};
use lawson_graph::DType::F32;
use lawson_graph::op::BinaryKind;
use lawson_graph::{Dim, Facts};
use lawson_kernel::build::{accumulate, for_each, step, store};
use lawson_kernel::schedule::Schedule;
use lawson_kernel::{Index, Kernel};

const CHANNELS: i64 = 5;
const TAPS: i64 = 7;
const COLUMNS: i64 = 96;

/// `max(Σ_c Σ_r x[c, 2·i + r] · w[c, r, j] + bias[j], 0)`: windows that overlap by all but two.
fn windows(rows: i64) -> Kernel {
    let mut t = Kernel::new("windows", Facts::new());
    let dim = Dim::from;
    let width = 2 * rows + TAPS;
    let x = t.input("x", F32, &[dim(CHANNELS), dim(width)]);
    let w = t.input("w", F32, &[dim(CHANNELS), dim(TAPS), dim(COLUMNS)]);
    let bias = t.input("bias", F32, &[dim(COLUMNS)]);
    let y = t.output("y", F32, &[dim(rows), dim(COLUMNS)]);
    let [i, j, c, r] = ["i", "j", "c", "r"].map(|name| t.add_axis(name));
    let zero = t.f32(0.0);
    let acc = t.sum_acc("sum", F32, zero);
    let at = Index::axis(i) * 2 + Index::axis(r);
    let (lx, lw) = (t.load(x, vec![c.into(), at]), t.load(w, vec![c.into(), r.into(), j.into()]));
    let product = t.product(lx, lw);
    let state = t.state(acc);
    let next = t.sum(state, product);
    let (result, shift) = (t.result(acc), t.load(bias, vec![j.into()]));
    let sum = t.sum(result, shift);
    let value = t.binary(BinaryKind::Max, sum, zero);
    let steps = for_each(c, CHANNELS, vec![for_each(r, TAPS, vec![step(acc, next)])]);
    let body = vec![accumulate(acc, vec![steps]), store(y, vec![i.into(), j.into()], value)];
    t.body = vec![for_each(i, rows, vec![for_each(j, COLUMNS, body)])];
    t
}

/// The kernel in tiles of so many rows and vectors.
fn tiled(isa: Isa, rows: i64, vectors: i64) -> Kernel {
    let lanes = if isa == Isa::Avx512 { 16 } else { 8 };
    let mut kernel = windows(3 * rows);
    let text = format!(
        "split i {rows}\nsplit j {}\nreorder j.0 i.0 i.1 j.1\nsplit j.1 {lanes}\njam i.1\njam j.1.0\nvector j.1.1 {lanes}\nunroll r\n",
        lanes * vectors
    );
    text.parse::<Schedule>().unwrap().apply(&mut kernel).unwrap();
    kernel
}

/// The instructions of the innermost loop, between its label and the jump back.
fn innermost(listing: &str) -> Vec<&str> {
    let lines: Vec<&str> = listing.lines().collect();
    let end = lines.iter().position(|l| l.contains(" jl ")).unwrap();
    let label = format!("{}:", lines[end].rsplit(' ').next().unwrap());
    let begin = lines.iter().position(|l| l.trim() == label).unwrap();
    lines[begin..end].to_vec()
}

#[test]
fn sums_stay_in_registers() {
    // 15 and 16 of 16 registers, and 10; windows that are kept would take up to 17 more.
    let isa = Isa::Avx2;
    for (rows, vectors) in [(6, 2), (4, 3), (4, 2)] {
        let e = emit(&tiled(isa, rows, vectors), isa, Listing::On).unwrap();
        let inside = innermost(e.code.disassembly().unwrap());
        assert!(inside.iter().filter(|l| l.contains("vfmadd")).count() as i64 == TAPS * rows * vectors);
        let stack: Vec<&&str> = inside.iter().filter(|l| l.contains("[rsp")).collect();
        assert!(stack.is_empty(), "{isa}, {rows} by {vectors}: {stack:#?}");
    }
}

#[test]
fn what_is_loaded_again_is_the_same() {
    let noise = |n: i64, seed: i64| -> Vec<u8> {
        (0..n)
            .flat_map(|i| ((((i + seed) * 2_654_435_761) % 1009) as f32 / 1009.0 - 0.5).to_le_bytes())
            .collect()
    };
    for isa in levels() {
        for (rows, vectors) in [(6, 2), (4, 3), (14, 1), (1, 6), (2, 2)] {
            let kernel = tiled(isa, rows, vectors);
            let sizes =
                [CHANNELS * (6 * rows + TAPS), CHANNELS * TAPS * COLUMNS, COLUMNS, 3 * rows * COLUMNS];
            let buffers: Vec<Vec<u8>> = (0..).zip(sizes).map(|(n, size)| noise(size, n)).collect();
            let [machine, evaluator] = machine_and_evaluator(isa, &kernel, &[], &buffers);
            let numbers = |b: &[u8]| -> Vec<f32> {
                b.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
            };
            for (got, want) in numbers(&machine[3]).iter().zip(numbers(&evaluator[3])) {
                assert!((got - want).abs() < 1e-5, "{isa}, {rows} by {vectors}: {got} for {want}");
            }
        }
    }
}
