//! Loops that are skipped through: the same bits as going through all of them, whatever the factor holds that they are skipped by.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;

use common::{levels, machine_and_evaluator};
use lawson_cpu::{Isa, Listing, emit};
use lawson_graph::DType::F32;
use lawson_graph::op::BinaryKind;
use lawson_graph::random::Rng;
use lawson_graph::{Dim, Facts};
use lawson_kernel::build::{accumulate, for_each, step, store};
use lawson_kernel::schedule::Schedule;
use lawson_kernel::{Expr, Kernel, Layout};

/// `max(x·w + bias, 0)` with `w` in panels of 32 columns.
fn product(m: i64, n: i64, k: i64) -> Kernel {
    let mut t = Kernel::new("product", Facts::new());
    let dims = [m, n, k].map(Dim::from);
    let x = t.input("x", F32, &[dims[0].clone(), dims[2].clone()]);
    let w = t.input("w", F32, &[dims[2].clone(), dims[1].clone()]);
    let bias = t.input("bias", F32, &[dims[1].clone()]);
    let y = t.output("y", F32, &[dims[0].clone(), dims[1].clone()]);
    let [i, j, r] = ["i", "j", "k"].map(|name| t.add_axis(name));
    let of_w = &mut t.buffers[w.0 as usize];
    of_w.finite = true;
    of_w.layout = Layout::panels(&of_w.dims.clone(), 1, 32, &[0]);
    let zero = t.f32(0.0);
    let acc = t.sum_acc("sum", F32, zero);
    let (a, b) = (t.load(x, vec![i.into(), r.into()]), t.load(w, vec![r.into(), j.into()]));
    let state = t.state(acc);
    let next = t.add(Expr::Fma(a, b, state));
    let (result, shift) = (t.result(acc), t.load(bias, vec![j.into()]));
    let sum = t.sum(result, shift);
    let value = t.binary(BinaryKind::Max, sum, zero);
    let body = vec![
        accumulate(acc, vec![for_each(r, k, vec![step(acc, next)])]),
        store(y, vec![i.into(), j.into()], value),
    ];
    t.body = vec![for_each(i, m, vec![for_each(j, n, body)])];
    t
}

fn scheduled(mut kernel: Kernel, text: &str) -> Kernel {
    text.parse::<Schedule>().unwrap().apply(&mut kernel).unwrap();
    kernel
}

/// Rows by panels of 64 columns, sums in blocks of 64 steps whose weights stay in the first cache; `kind` is how steps are executed.
fn blocked(m: i64, n: i64, k: i64, lanes: i64, kind: &str) -> Kernel {
    let schedule = format!(
        "split i 16\nsplit j 64\nreorder i.0 j.0 i.1 j.1\nparallel i.0\nparallel j.0\nblock k 64 at j.0 level L1\n\
         split j.1 {lanes} cover\njam j.1.0\nvector j.1.1 {lanes}\n{kind} k.1\n"
    );
    scheduled(product(m, n, k), &schedule)
}

/// What is multiplied with finite weights: so many in a hundred are 0, of either sign, and some are not numbers, or as good as none.
fn factors(rng: &mut Rng, count: i64, zeros: i64) -> Vec<u8> {
    let special =
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(1), f32::MAX, f32::MIN_POSITIVE];
    let one = |rng: &mut Rng| match rng.between(0, 999) {
        n if n < 10 * zeros => [0.0, -0.0][n as usize % 2],
        n if n >= 998 => special[rng.between(0, 5) as usize],
        _ => rng.between(-9999, 9999) as f32 / 777.0,
    };
    (0..count).flat_map(|_| one(rng).to_le_bytes()).collect()
}

fn finite(rng: &mut Rng, count: i64) -> Vec<u8> {
    (0..count).flat_map(|_| (rng.between(-9999, 9999) as f32 / 777.0).to_le_bytes()).collect()
}

/// Bits, but for which NaN a NaN is.
fn bits(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks::<4>();
    let bits = |w: &[u8; 4]| match f32::from_le_bytes(*w) {
        v if v.is_nan() => u32::MAX,
        v => v.to_bits(),
    };
    words.iter().map(bits).collect()
}

/// The evaluator goes through all steps.
fn check(kernel: &Kernel, [m, n, k]: [i64; 3], lanes: i64) {
    let mut rng = Rng::new((m * 7919 + n * 104_729 + k) as u64);
    for zeros in [0, 40, 95, 100] {
        let buffers = [
            factors(&mut rng, m * k, zeros),
            finite(&mut rng, kernel.buffers[1].layout.size.as_const().unwrap()),
            finite(&mut rng, n),
            vec![0; (4 * m * n) as usize],
        ];
        for isa in levels().filter(|isa| lanes == 8 || *isa == Isa::Avx512) {
            let [machine, evaluator] = machine_and_evaluator(isa, kernel, &[], &buffers);
            assert_eq!(bits(&machine[3]), bits(&evaluator[3]), "{isa:?}, {zeros} of 100 are 0\n{kernel}");
        }
    }
}

#[test]
fn leaving_products_with_zeros_out_changes_no_bit() {
    for (m, n, k) in [(16, 64, 80), (33, 128, 128), (20, 64, 150), (7, 192, 65), (5, 64, 66), (1, 128, 200)] {
        check(&blocked(m, n, k, 16, "skip"), [m, n, k], 16);
    }
}

#[test]
fn a_sum_of_few_steps_needs_no_blocks() {
    for k in [1, 3, 15, 16, 17, 31, 48, 63, 64] {
        let schedule = "split i 8\nparallel i.0\nsplit j 16 cover\njam j.0\nvector j.1 16\nskip k\n\
                        prefetch x at i.1 ahead 2 level L1\n";
        check(&scheduled(product(19, 64, k), schedule), [19, 64, k], 16);
    }
}

/// `max(x ∗ w, 0)` of a picture, as the tile's second schedule goes through it: blocks of a tap's channels, rows in two loops.
fn picture([h, w, c]: [i64; 3], outputs: i64, [taps, stride, pad]: [i64; 3], kind: &str) -> Kernel {
    let [oh, ow] = [h, w].map(|n| (n + 2 * pad - taps) / stride + 1);
    let (row, column) = (format!("{stride}*i + r1 - {pad}"), format!("{stride}*l + r2 - {pad}"));
    let guard = format!("if 0 <= {row} < {h} and 0 <= {column} < {w} else 0.0");
    let text = format!(
        "lawson-kernel 1
        kernel @picture {{
          in x: f32[{h}, {w}, {c}]
          in w: f32[{c}, {taps}, {taps}, {outputs}] layout (d1: {}, d2: {}, d0: {outputs}, d3: 1) size {} finite
          out y: f32[{oh}, {ow}, {outputs}]
          axes i, l, j, r, r1, r2
          acc s: f32 = 0.0 identity 0.0 merge add
          for i in 0 to {oh} {{ for l in 0 to {ow} {{ for j in 0 to {outputs} {{
            accumulate s {{ for r1 in 0 to {taps} {{ for r2 in 0 to {taps} {{ for r in 0 to {c} {{
              step s = fma((x[{row}, {column}, r] {guard}), (w[r, r1, r2, j] {guard}), state(s))
            }} }} }} }}
            y[i, l, j] = max(s, 0.0)
          }} }} }}
        }}",
        taps * c * outputs,
        c * outputs,
        taps * taps * c * outputs,
    );
    let kernel = Kernel::parse(&text).unwrap();
    let (split, joined, skipped) = match c {
        0..=32 => ("", "join r1 r2 as taps", "r"),
        _ => ("split r 32\n", "join r1 r2 r.0 as taps", "r.1"),
    };
    let schedule = format!(
        "split j 64\nsplit i 3 clip\nreorder i.0 j.0 i.1 l j.1\nparallel i.0\nparallel j.0\n{split}{joined}\nblock taps 1 at j.0 level L1\n\
         split j.1 16\njam j.1.0\nvector j.1.1 16\n{kind} {skipped}\n\
         prefetch x at l ahead 2 level L1\n{}",
        // Few rows would have to fetch many lines each.
        if 3 * ow >= 9 { "prefetch w at l ahead 1 of taps.0 whole level L2\n" } else { "" }
    );
    scheduled(kernel, &schedule)
}

/// Beyond the border of a picture nothing is read, and all is 0.
#[test]
fn windows_leave_products_out_inside_and_beyond_the_border() {
    for (sizes, outputs, window) in [
        ([5, 6, 64], 64, [3, 1, 1]),
        ([7, 5, 32], 128, [3, 2, 1]),
        ([4, 4, 16], 64, [2, 1, 0]),
        ([3, 2, 96], 64, [3, 1, 2]),
        ([1, 1, 32], 64, [3, 1, 1]),
        ([2, 9, 20], 64, [2, 2, 0]),
    ] {
        let kernel = picture(sizes, outputs, window, "skip");
        let [h, w, c] = sizes;
        let mut rng = Rng::new((h * 7919 + w * 104_729 + c) as u64);
        for zeros in [0, 50, 95, 100] {
            let size = |b: usize| kernel.buffers[b].layout.size.as_const().unwrap();
            let buffers =
                [factors(&mut rng, size(0), zeros), finite(&mut rng, size(1)), vec![0; 4 * size(2) as usize]];
            for isa in levels().filter(|isa| *isa == Isa::Avx512) {
                let [machine, evaluator] = machine_and_evaluator(isa, &kernel, &[], &buffers);
                let about = format!("{sizes:?}, {window:?}, {zeros} of 100 are 0\n{kernel}");
                assert_eq!(bits(&machine[2]), bits(&evaluator[2]), "{about}");
            }
        }
    }
}

/// Kernels in which what is skipped by cannot be looked at before its turn, or must not be for all that is read with it.
#[test]
fn words_are_made_ahead_only_of_what_is_there() {
    let text = |buffers: &str, before: &str, factors: &str, stage: &str| {
        let text = format!(
            "lawson-kernel 1
            kernel @odd {{
              {buffers}
              in w: f32[32, 32] finite
              out y: f32[6, 32]
              scratch t: f32[6, 32] at L1
              axes i, j, k, l
              acc s: f32 = 0.0 identity 0.0 merge add
              for i in 0 to 6 {{
                {before}
                for j in 0 to 32 {{
                  accumulate s {{ for k in 0 to 32 {{ step s = fma({factors}, state(s)) }} }}
                  y[i, j] = {stage}
                }}
              }}
            }}"
        );
        Kernel::parse(&text).unwrap_or_else(|e| panic!("{text}\n{e}"))
    };
    let vectors = "split j 16\njam j.0\nvector j.1 16\nskip k\n";
    let guard = "if 0 <= 2*i - 1 < 6 else 0.0";
    let x = "in x: f32[6, 32]";
    let cases = [
        // Its rows are copied, or computed, one after another.
        (
            text(x, "", &format!("(x[2*i - 1, k] {guard}), w[k, j]"), "s"),
            format!("pack x at i level L1\n{vectors}"),
        ),
        (
            text(x, "for l in 0 to 32 { t[i, l] = max(x[i, l], 0.0) }", "t[i, k], w[k, j]", "s"),
            vectors.into(),
        ),
        // Where they lie is read, too.
        (
            text("in x: f32[6, 32]\nin ids: i32[6]", "", "x[clamp(ids[i], 6), k], w[k, j]", "s"),
            vectors.into(),
        ),
        // What does not move with the steps stands before them, and is shared with a stage.
        (
            text(
                x,
                "",
                &format!("(x[2*i - 1, k] {guard}), (w[2*i - 1, j] {guard})"),
                &format!("s + (w[2*i - 1, j] {guard})"),
            ),
            vectors.into(),
        ),
        // Loops in steps, not from the beginning, and unrolled.
        (
            text(x, "", "x[i, k], w[k, j]", "s"),
            format!("split i 4 ladder 2\npeel i.1 first=1 last=0\n{vectors}"),
        ),
        (
            text(x, "", &format!("(x[2*i - 1, k] {guard}), w[k, j]"), "s"),
            format!("split i 2\nunroll i.1\n{vectors}"),
        ),
    ];
    for (kernel, schedule) in cases {
        let kernel = scheduled(kernel, &schedule);
        let mut rng = Rng::new(3);
        for zeros in [0, 50, 100] {
            let buffers: Vec<Vec<u8>> = kernel
                .arguments()
                .map(|id| {
                    let (b, count) = (kernel.buffer(id), kernel.buffer(id).layout.size.as_const().unwrap());
                    match b.name.as_str() {
                        "ids" => [5i32, 0, 3, 3, 1, 5].iter().flat_map(|n| n.to_le_bytes()).collect(),
                        "x" => factors(&mut rng, count, zeros),
                        "y" => vec![0; 4 * count as usize],
                        _ => finite(&mut rng, count),
                    }
                })
                .collect();
            for isa in levels().filter(|isa| *isa == Isa::Avx512) {
                let [machine, evaluator] = machine_and_evaluator(isa, &kernel, &[], &buffers);
                let y = machine.len() - 1;
                assert_eq!(bits(&machine[y]), bits(&evaluator[y]), "{zeros} of 100 are 0\n{kernel}");
            }
        }
    }
}

/// Rows that are jammed have zeros in different places, and eight lanes are fewer than are compared at once: all steps are made.
#[test]
fn where_steps_cannot_be_left_out_all_are_made() {
    check(&blocked(16, 64, 80, 8, "skip"), [16, 64, 80], 8);
}

#[test]
fn code_goes_from_one_element_to_the_next_that_is_not_zero() {
    if !levels().any(|isa| isa == Isa::Avx512) {
        return println!("skipped: this processor has no AVX-512");
    }
    let text = |kind| {
        let e = emit(&blocked(32, 128, 150, 16, kind), Isa::Avx512, Listing::On).unwrap();
        e.code.disassembly().unwrap().to_string()
    };
    let [skipping, serial] = ["skip", "serial"].map(text);
    assert!(skipping.contains("where `x` is not 0") && skipping.contains("blsr"), "{skipping}");
    let of_windows = emit(&picture([5, 6, 64], 64, [3, 1, 1], "skip"), Isa::Avx512, Listing::On).unwrap();
    let of_windows = of_windows.code.disassembly().unwrap().to_string();
    assert!(of_windows.contains("where `x` is not 0") && of_windows.contains("blsr"), "{of_windows}");
    // A vector of weights is read by one multiply-add.
    let reads = |line: &str| line.contains("vfmadd231ps") && line.contains("zmmword ptr");
    assert!(skipping.lines().any(reads), "{skipping}");
    assert!(!serial.contains("blsr") && !serial.contains("tzcnt"), "{serial}");
}
