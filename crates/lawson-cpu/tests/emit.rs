//! Kernels written by hand, scheduled, emitted and run, against plain loops.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;

use common::{call, levels};
use lawson_cpu::{Isa, Listing, emit};
use lawson_graph::DType::F32;
use lawson_graph::op::BinaryKind;
use lawson_graph::{Dim, Facts, Symbol};
use lawson_kernel::build::{accumulate, for_each, step, store};
use lawson_kernel::schedule::Schedule;
use lawson_kernel::{Index, Kernel, Layout};

fn matmul(m: Dim, n: i64, k: i64, panel: Option<i64>) -> Kernel {
    let mut t = Kernel::new("matmul", Facts::new());
    let (nd, kd) = (Dim::from(n), Dim::from(k));
    let a = t.input("A", F32, &[m.clone(), kd.clone()]);
    let b = t.input("B", F32, &[kd.clone(), nd.clone()]);
    if let Some(w) = panel {
        t.buffers[1].layout = Layout::panels(&[kd.clone(), nd.clone()], 1, w, &[0]);
    }
    let bias = t.input("bias", F32, std::slice::from_ref(&nd));
    let c = t.output("C", F32, &[m.clone(), nd.clone()]);
    let (i, j, kk) = (t.add_axis("i"), t.add_axis("j"), t.add_axis("k"));
    let zero = t.f32(0.0);
    let acc = t.sum_acc("c", F32, zero);
    let (la, lb) = (t.load(a, vec![i.into(), kk.into()]), t.load(b, vec![kk.into(), j.into()]));
    let p = t.product(la, lb);
    let s = t.state(acc);
    let v = t.sum(s, p);
    let r = t.result(acc);
    let lbias = t.load(bias, vec![j.into()]);
    let r = t.sum(r, lbias);
    let r = t.binary(BinaryKind::Max, r, zero);
    t.body = vec![for_each(
        i,
        Index::from(m),
        vec![for_each(
            j,
            n,
            vec![
                accumulate(acc, vec![for_each(kk, k, vec![step(acc, v)])]),
                store(c, vec![i.into(), j.into()], r),
            ],
        )],
    )];
    t
}

fn noise(n: usize, seed: u32) -> Vec<f32> {
    let mut x = seed.wrapping_mul(2654435761).wrapping_add(12345);
    (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            (x as f32 / u32::MAX as f32) - 0.5
        })
        .collect()
}

/// Checks a product with a schedule for vectors of 16 numbers, or of as many as this machine has.
fn check(m: usize, n: usize, k: usize, symbolic: bool, schedule: &str, panel: Option<usize>) {
    for isa in levels() {
        let schedule = if isa == Isa::Avx512 { schedule.to_string() } else { schedule.replace("16", "8") };
        check_on(isa, [m, n, k], symbolic, &schedule, panel);
    }
}

fn check_on(isa: Isa, [m, n, k]: [usize; 3], symbolic: bool, schedule: &str, panel: Option<usize>) {
    let md = if symbolic { Dim::symbol("M") } else { Dim::from(m as i64) };
    let mut t = matmul(md, n as i64, k as i64, panel.map(|p| p as i64));
    schedule.parse::<Schedule>().unwrap().apply(&mut t).unwrap();
    let e =
        emit(&t, isa, if std::env::var_os("ASM").is_some() { Listing::On } else { Listing::Off }).unwrap();
    if let Some(text) = e.code.disassembly() {
        println!("{text}");
    }
    println!("spilled {:?} bytes {}", e.spilled, e.code.bytes().len());
    let (a, b, bias) = (noise(m * k, 1), noise(k * n, 2), noise(n, 3));
    let packed: Vec<f32> = match panel {
        None => b.clone(),
        Some(w) => {
            let mut p = vec![0f32; n.div_ceil(w) * w * k];
            for kk in 0..k {
                for j in 0..n {
                    p[(j / w) * w * k + kk * w + j % w] = b[kk * n + j];
                }
            }
            p
        }
    };
    let bytes = |v: &[f32]| v.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let mut buffers = vec![bytes(&a), bytes(&packed), bytes(&bias), bytes(&vec![f32::NAN; m * n])];
    call(&t, &e, &[(Symbol::new("M"), m as i64)], &mut buffers, 1);
    let c: Vec<f32> =
        buffers[3].chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    for i in 0..m {
        for j in 0..n {
            let mut s = 0f64;
            for kk in 0..k {
                s += f64::from(a[i * k + kk]) * f64::from(b[kk * n + j]);
            }
            let want = (s + f64::from(bias[j])).max(0.0);
            let got = f64::from(c[i * n + j]);
            assert!((got - want).abs() < 1e-5 * k as f64, "({i},{j}): {got} for {want}");
        }
    }
}

const TILE: &str = "split i 8 ladder 4 2 1\nsplit j 48 ladder\nsplit j.1 16 clip\nreorder j.0 i.0 i.1 j.1.0 j.1.1\njam i.1\njam j.1.0\nvector j.1.1 16\n";

#[test]
fn a_plain_product() {
    check(5, 16, 7, false, "split j 16\nvector j.1 16\n", None);
}
#[test]
fn serial_everything() {
    check(5, 9, 7, false, "", None);
}
#[test]
fn a_tiled_product() {
    check(16, 96, 33, false, TILE, None);
}
#[test]
fn tails() {
    check(13, 77, 33, false, TILE, None);
}
#[test]
fn a_symbolic_height() {
    check(13, 77, 33, true, TILE, None);
}
#[test]
fn panels() {
    check(13, 96, 33, true, TILE, Some(48));
}
