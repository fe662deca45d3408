//! Matrix products of odd sizes by their default schedules, with weights in panels, as machine code.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;

use common::{call, levels};
use lawson_cpu::{Isa, Listing, emit};
use lawson_graph::random::Rng;
use lawson_kernel::choose::{Freedom, choose};
use lawson_kernel::machine::Machine;
use lawson_kernel::{BufferId, Kernel, eval};

fn product(m: i64, n: i64, k: i64) -> Kernel {
    let text = format!(
        "lawson-kernel 1
kernel @product {{
  in x: f32[{m}, {k}]
  in w: f32[{k}, {n}]
  out y: f32[{m}, {n}]
  axes i, j, k
  acc c: f32 = 0.0 identity 0.0 merge add
  for i in 0 to {m} {{
    for j in 0 to {n} {{
      accumulate c {{
        for k in 0 to {k} {{
          step c = fma(x[i, k], w[k, j], state(c))
        }}
      }}
      y[i, j] = max(c, 0.0)
    }}
  }}
}}
"
    );
    Kernel::parse(&text).unwrap()
}

/// Emits what is chosen for a product, which the emitter must take.
fn chosen(isa: Isa, m: i64, n: i64, k: i64, constants: Vec<BufferId>) -> (Kernel, lawson_cpu::Emitted) {
    let mut kernel = product(m, n, k);
    choose(&mut kernel, &isa.of(&Machine::default()), &Freedom { constants, ..Freedom::default() }).unwrap();
    let code = emit(&kernel, isa, Listing::Off).unwrap_or_else(|e| panic!("{m}x{n}x{k}: {e}\n{kernel}"));
    (kernel, code)
}

#[test]
fn products_of_any_width_are_emitted() {
    for isa in levels() {
        for m in [1, 7, 100] {
            for n in (1..=12).map(|i| 79 * i).chain([64, 96, 769, 1000]) {
                for k in [7, 300] {
                    chosen(isa, m, n, k, vec![BufferId(1)]);
                }
            }
        }
    }
}

#[test]
fn products_of_odd_sizes_compute_the_same() {
    for isa in levels() {
        let mut rng = Rng::new(5);
        for (m, n, k) in [(7, 769, 5), (20, 150, 7), (37, 1000, 3), (33, 100, 9), (5, 33, 4), (64, 7, 9)] {
            let (kernel, code) = chosen(isa, m, n, k, Vec::new());
            let number = |rng: &mut Rng| (rng.between(-9, 9) as f32).to_le_bytes();
            let mut buffers: Vec<Vec<u8>> = [m * k, k * n, m * n]
                .into_iter()
                .map(|count| (0..count).flat_map(|_| number(&mut rng)).collect())
                .collect();
            let mut expected = buffers.clone();
            eval::run(&product(m, n, k), &[], &mut expected, &eval::Options::default()).unwrap();
            call(&kernel, &code, &[], &mut buffers, 3);
            assert!(buffers == expected, "{m}x{n}x{k}\n{kernel}");
        }
    }
}
