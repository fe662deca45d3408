//! Times one matrix product under a schedule given on the command line: `probe M N K PANEL 'schedule;…' [threads]`.
#![allow(clippy::unwrap_used, unsafe_code)]
use lawson_cpu::exec::CodeBuilder;
use lawson_cpu::{Listing, Word, emit};
use lawson_graph::DType::F32;
use lawson_graph::op::BinaryKind;
use lawson_graph::{Dim, Facts};
use lawson_kernel::build::{accumulate, for_each, step, store};
use lawson_kernel::schedule::Schedule;
use lawson_kernel::{Kernel, Layout};
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [m, n, k, panel] = [1, 2, 3, 4].map(|i| args[i].parse::<i64>().unwrap());
    let mut t = Kernel::new("matmul", Facts::new());
    let [md, nd, kd] = [m, n, k].map(Dim::from);
    let a = t.input("A", F32, &[md.clone(), kd.clone()]);
    let b = t.input("B", F32, &[kd.clone(), nd.clone()]);
    if panel > 0 {
        t.buffers[1].layout = Layout::panels(&[kd.clone(), nd.clone()], 1, panel, &[0]);
    }
    let bias = t.input("bias", F32, &[nd.clone()]);
    let c = t.output("C", F32, &[md.clone(), nd.clone()]);
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
        m,
        vec![for_each(
            j,
            n,
            vec![
                accumulate(acc, vec![for_each(kk, k, vec![step(acc, v)])]),
                store(c, vec![i.into(), j.into()], r),
            ],
        )],
    )];
    args[5].replace(';', "\n").parse::<Schedule>().unwrap().apply(&mut t).unwrap();
    let now = Instant::now();
    let e = emit(&t, Listing::Off).unwrap();
    let first = now.elapsed();
    let mut best = first;
    for _ in 0..50 {
        let now = Instant::now();
        std::hint::black_box(emit(&t, Listing::Off).unwrap());
        best = best.min(now.elapsed());
    }
    println!("emit {best:?} (first {first:?}), {} bytes, spilled {:?}", e.code.bytes().len(), e.spilled);
    if std::env::var_os("ASM").is_some() {
        println!("{}", emit(&t, Listing::On).unwrap().code.disassembly().unwrap());
    }
    let mut builder = CodeBuilder::new();
    let entry = builder.add(&e.code);
    let mem = builder.finish().unwrap();
    let f = mem.kernel(entry).unwrap();
    let sizes = [m * k, n.max((n + 63) / 16 * 16 + 64) * k, n, m * n];
    let bufs: Vec<lawson_cpu::memory::Memory> =
        sizes.iter().map(|s| lawson_cpu::memory::Memory::zeroed(*s as usize * 4).unwrap()).collect();
    let table: Vec<u64> = e
        .words
        .iter()
        .map(|w| match w {
            Word::Buffer(b) => bufs[b.0 as usize].as_ptr() as u64,
            Word::Parameter(_) => 0,
        })
        .collect();
    let total = e.parallel.as_const().unwrap();
    let mut scratch = lawson_cpu::memory::Memory::zeroed(e.scratch_bytes + 64).unwrap();
    let flop = 2.0 * (m * n * k) as f64;
    let reps = (2e9 / flop).ceil().max(1.0) as usize;
    let mut rates = Vec::new();
    for _ in 0..15 {
        let now = Instant::now();
        for _ in 0..reps {
            unsafe { f(table.as_ptr(), 0, total, scratch.as_mut_ptr()) };
        }
        rates.push(flop * reps as f64 / now.elapsed().as_secs_f64() / 1e9);
    }
    rates.sort_by(f64::total_cmp);
    println!("median {:.1} best {:.1} GFLOP/s", rates[7], rates[14]);
}
