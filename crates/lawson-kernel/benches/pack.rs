//! How fast constants are packed: `cargo bench -p lawson-kernel --bench pack`. A plain copy stands beside it; both
//! write memory that was written before.
#![allow(missing_docs)]

use lawson_graph::{DType, Dim};
use lawson_kernel::{
    Layout,
    pack::{pack, pack_into},
};
use std::hint::black_box;
use std::time::Instant;

fn report(name: &str, bytes: usize, mut run: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{name}: {:.2} GB/s", bytes as f64 / best / 1e9);
}

fn main() {
    for size in [512usize, 4096] {
        let dims = [Dim::from(size), Dim::from(size)];
        let bytes = vec![1u8; size * size * 4];
        let mut packed = bytes.clone();
        report(&format!("{size}²: plain copy"), bytes.len(), || {
            black_box(&mut packed).copy_from_slice(&bytes)
        });
        for (name, layout) in [
            ("panels of 16 columns", Layout::panels(&dims, 1, 16, &[0])),
            ("panels of 64 columns", Layout::panels(&dims, 1, 64, &[0])),
            ("panels of 16 rows", Layout::panels(&dims, 0, 16, &[1])),
            ("panels of 64 rows", Layout::panels(&dims, 0, 64, &[1])),
        ] {
            time(&format!("{size}²: {name}"), &layout, &[size, size], DType::F32);
        }
    }
    for (out, inner, window) in [(64, 64, 1), (512, 512, 3), (2048, 1024, 1), (64, 3, 7), (960, 1, 3)] {
        let sizes = [out, inner, window, window];
        let dims = sizes.map(Dim::from);
        let layout = match inner {
            1 => Layout::permuted(&dims, &[2, 3, 1, 0]),
            _ => Layout::panels(&dims, 0, 48, &[2, 3, 1]),
        };
        for dtype in [DType::U8, DType::F16, DType::F32, DType::F64] {
            time(&format!("convolution {inner}->{out}, {window}x{window}, {dtype}"), &layout, &sizes, dtype);
        }
    }
}

fn time(name: &str, layout: &Layout, sizes: &[usize], dtype: DType) {
    let bytes = vec![1u8; sizes.iter().product::<usize>() * dtype.bits() / 8];
    let mut packed = pack(layout, sizes, dtype, &bytes).unwrap_or_default();
    report(name, bytes.len(), || {
        assert!(pack_into(layout, sizes, dtype, &bytes, black_box(&mut packed)).is_ok());
    });
}
