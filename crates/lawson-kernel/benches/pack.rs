//! How fast constants are packed: `cargo bench -p lawson-kernel --bench pack`.
#![allow(missing_docs)]

use lawson_graph::{DType, Dim};
use lawson_kernel::{Layout, pack::pack};
use std::time::Instant;

fn main() {
    let size = 4096usize;
    let dims = [Dim::from(size), Dim::from(size)];
    let bytes = vec![1u8; size * size * 4];
    for (name, layout) in [
        ("panels of 16 columns", Layout::panels(&dims, 1, 16, &[0])),
        ("panels of 64 columns", Layout::panels(&dims, 1, 64, &[0])),
        ("panels of 16 rows", Layout::panels(&dims, 0, 16, &[1])),
        ("panels of 64 rows", Layout::panels(&dims, 0, 64, &[1])),
    ] {
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let start = Instant::now();
            let packed = pack(&layout, &[size, size], DType::F32, &bytes).map(|p| p.len());
            best = best.min(start.elapsed().as_secs_f64());
            assert!(packed.is_ok());
        }
        println!("{name}: {:.2} GB/s", bytes.len() as f64 / best / 1e9);
    }
}
