//! The default schedule of matrix products and of rows: it is proven, computes the same bits, and keeps masks out of whole panels.

use crate::kernels::{matmul, picture};
use lawson_graph::op::UnaryKind;
use lawson_graph::random::Rng;
use lawson_graph::{DType, Dim, Symbol};
use lawson_kernel::build::{for_each, store};
use lawson_kernel::choose::{Freedom, choose, choose_skipping};
use lawson_kernel::machine::{Chains, Machine};
use lawson_kernel::plan::Skipping;
use lawson_kernel::schedule::{Directive, Schedule};
use lawson_kernel::{BufferId, Kernel, Kind, Node, eval, verify};

/// The right operand.
const WEIGHTS: BufferId = BufferId(1);

/// The kernel as it is scheduled, which must be proven.
fn chosen(plain: &Kernel, constants: Vec<BufferId>) -> (Kernel, String) {
    let mut kernel = plain.clone();
    let choice = choose(&mut kernel, &Machine::default(), &Freedom { constants, ..Freedom::default() });
    let choice = choice.unwrap_or_else(|e| panic!("{plain}{e}"));
    verify(&kernel).unwrap_or_else(|e| panic!("{}{kernel}{e}", choice.schedule));
    (kernel, choice.schedule.to_string())
}

/// The bits of the output, on inputs whose sums depend on their order.
fn bits(kernel: &Kernel, params: &[(Symbol, i64)]) -> Vec<u8> {
    let value = |s: &Symbol| params.iter().find(|(n, _)| n == s).map(|p| p.1);
    let mut rng = Rng::new(11);
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    for id in kernel.arguments() {
        let b = kernel.buffer(id);
        let count = b.layout.size.eval(&value).unwrap();
        let number = |rng: &mut Rng| (rng.between(-9999, 9999) as f32 / 777.0).to_le_bytes();
        buffers.push((0..count).flat_map(|_| number(&mut rng)).collect());
    }
    eval::run(kernel, params, &mut buffers, &eval::Options::default())
        .unwrap_or_else(|e| panic!("{kernel}{e}"));
    buffers.pop().unwrap()
}

/// How many vector loops there are whose lanes may be masked, and how many whose lanes may not.
fn masked(kernel: &Kernel) -> [usize; 2] {
    let mut out = [0, 0];
    kernel.visit(&mut |node| {
        if let Node::For(f) = node
            && let Kind::Vector(lanes) = f.kind
        {
            out[usize::from(f.end.is(i64::from(lanes)))] += 1;
        }
    });
    out
}

#[test]
fn products_of_odd_sizes_compute_the_same() {
    for (m, n, k) in
        [(7, 769, 3), (20, 150, 2), (5, 33, 4), (33, 100, 3), (40, 129, 2), (1, 70, 5), (64, 7, 9)]
    {
        let plain = matmul(m.into(), n.into(), k.into());
        let (kernel, schedule) = chosen(&plain, Vec::new());
        assert_eq!(bits(&kernel, &[]), bits(&plain, &[]), "{m}x{n}x{k}\n{schedule}");
    }
}

#[test]
fn products_of_sizes_that_are_not_known_compute_the_same() {
    let plain = matmul("M".into(), "N".into(), 3.into());
    let (kernel, schedule) = chosen(&plain, Vec::new());
    for (m, n) in [(1, 1), (5, 16), (9, 63), (17, 64), (3, 65), (33, 130)] {
        let params = [(Symbol::new("M"), m), (Symbol::new("N"), n)];
        assert_eq!(bits(&kernel, &params), bits(&plain, &params), "{m}x{n}\n{schedule}");
    }
}

#[test]
fn weights_in_panels_are_proven_whatever_is_left_over() {
    for m in [1i64, 7, 49, 100, 769] {
        for n in (1..=20).map(|i| 47 * i).chain([64, 96, 500, 1000, 1001]) {
            for k in [7i64, 300] {
                let plain = matmul(m.into(), n.into(), k.into());
                chosen(&plain, vec![WEIGHTS]);
            }
        }
    }
}

#[test]
fn whole_panels_need_no_masks() {
    for n in [Dim::from(769), Dim::from("N")] {
        let (kernel, schedule) = chosen(&matmul(7.into(), n, 1000.into()), vec![]);
        let [masks, whole] = masked(&kernel);
        assert!(masks > 0 && whole > 0, "{schedule}{kernel}");
    }
    let (kernel, _) = chosen(&matmul(8.into(), 768.into(), 1000.into()), vec![]);
    assert_eq!(masked(&kernel)[0], 0);
}

#[test]
fn rows_that_begin_inside_lines_are_written_while_those_are_in_the_first_cache() {
    let (_, schedule) = chosen(&matmul(1000.into(), 769.into(), 7.into()), vec![WEIGHTS]);
    assert!(schedule.contains("split i 16 clip"), "{schedule}");
    let (_, schedule) = chosen(&matmul(1000.into(), 768.into(), 7.into()), vec![WEIGHTS]);
    assert!(!schedule.contains("split i 16 clip"), "{schedule}");
}

#[test]
fn products_beyond_the_last_cache_go_through_blocks_of_rows() {
    let (_, schedule) = chosen(&matmul(2048.into(), 2048.into(), 2048.into()), vec![WEIGHTS]);
    assert!(schedule.contains("split i 256 clip\nreorder i.0 j.0 i.1 j.1"), "{schedule}");
    let (_, schedule) = chosen(&matmul(1024.into(), 1024.into(), 1024.into()), vec![WEIGHTS]);
    assert!(schedule.contains("reorder j.0 i.0 i.1 j.1"), "{schedule}");
}

#[test]
fn weights_that_are_read_once_are_fetched_ahead() {
    let prefetches = |m: i64, n: i64, k: i64| {
        let (_, schedule) = chosen(&matmul(m.into(), n.into(), k.into()), vec![WEIGHTS]);
        schedule.contains("prefetch B at k.0 ahead 16 level L2")
    };
    assert!(prefetches(1, 3072, 768));
    assert!(!prefetches(8, 3072, 768), "they are read again");
    assert!(!prefetches(1, 256, 256), "they are in the second cache");
    assert!(!prefetches(1, 3072, 767), "the steps do not divide");
}

/// Every element of a row over the greatest of it.
fn over_the_greatest(rows: i64, columns: i64) -> Kernel {
    let text = format!(
        "lawson-kernel 1
        kernel @k {{
          in x: f32[{rows}, {columns}]
          out y: f32[{rows}, {columns}]
          axes i, r, j
          acc most: f32 = -inf identity -inf merge greater
          for i in 0 to {rows} {{
            accumulate most {{ for r in 0 to {columns} {{ step most = greater(state(most), x[i, r]) }} }}
            for j in 0 to {columns} {{ y[i, j] = x[i, j] / most }}
          }}
        }}"
    );
    Kernel::parse(&text).unwrap_or_else(|e| panic!("{text}{e}"))
}

#[test]
fn the_next_row_is_fetched_while_one_is_gone_through_again() {
    let fetched = |rows: i64, columns: i64| {
        let (kernel, schedule) = chosen(&over_the_greatest(rows, columns), Vec::new());
        let line = schedule.lines().find(|l| l.starts_with("prefetch")).map(str::to_string);
        (kernel, line)
    };
    assert_eq!(fetched(4096, 1024).1.as_deref(), Some("prefetch x at j.1.0 ahead 1 of i level L1"));
    assert_eq!(fetched(64, 40000).1.as_deref(), Some("prefetch x at j.1.0 ahead 1 of i level L2"));
    assert_eq!(fetched(64, 1024).1, None, "all of it is in the second cache");
    assert_eq!(fetched(4, 4_000_000).1, None, "a row drives out the one before it");
    let (kernel, line) = fetched(1000, 999);
    assert!(line.is_some());
    assert_eq!(bits(&kernel, &[]), bits(&over_the_greatest(1000, 999), &[]));
}

/// A product with a matrix that lies transposed: both operands are read along what is summed.
fn transposed(m: i64, n: i64, k: i64, operands: &str) -> Kernel {
    let (right, at) = match operands {
        "one buffer" => ("a", format!("j + {m}")),
        _ => ("b", "j".to_string()),
    };
    let text = format!(
        "lawson-kernel 1
kernel @nt {{
  in a: f32[{}, {k}]
  in b: f32[{n}, {k}]
  out y: f32[{m}, {n}]
  axes i, j, r
  acc s: f32 = 0.0 identity 0.0 merge add
  for i in 0 to {m} {{
    for j in 0 to {n} {{
      accumulate s {{
        for r in 0 to {k} {{
          step s = fma(a[i, r], {right}[{at}, r], state(s))
        }}
      }}
      y[i, j] = s
    }}
  }}
}}
",
        m + n
    );
    Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn a_transposed_matrix_is_copied_side_by_side_first() {
    for (m, n, k) in [(128, 128, 64), (40, 33, 7), (64, 16, 5)] {
        let plain = transposed(m, n, k, "two buffers");
        let (kernel, schedule) = chosen(&plain, Vec::new());
        assert!(schedule.contains("pack b at"), "{m}x{n}x{k}\n{schedule}");
        assert_eq!(bits(&kernel, &[]), bits(&plain, &[]), "{m}x{n}x{k}\n{schedule}");
    }
}

#[test]
fn a_matrix_that_few_rows_read_is_not_copied() {
    let (_, schedule) = chosen(&transposed(3, 128, 64, "two buffers"), Vec::new());
    assert!(!schedule.contains("pack"), "{schedule}");
}

#[test]
fn operands_of_one_buffer_are_not_copied() {
    let plain = transposed(64, 64, 16, "one buffer");
    let (_, schedule) = chosen(&plain, Vec::new());
    assert!(!schedule.contains("pack"), "{schedule}");
}

#[test]
fn absurdly_long_sums_are_counted_without_overflow() {
    let text = "lawson-kernel 1 kernel @k { in x: f32[99] out y: f32[99] axes i, r, s
         acc m: f32 = 0.0 identity 0.0 merge add
         for i in 0 to 99 {
           accumulate m {
             for r in 0 to 4611686018427387904 { for s in 0 to 4611686018427387904 { step m = state(m) + x[i] } }
           }
           y[i] = m
         } }";
    chosen(&Kernel::parse(text).unwrap(), Vec::new());
}

#[test]
fn sums_are_split_where_an_operand_jumps() {
    // Heads of 8 side by side, read as rows of 24.
    let text = "lawson-kernel 1
        kernel @heads {
          in x: f32[3, 40, 8]
          in w: f32[24, 64]
          out y: f32[40, 64]
          axes i, j, r
          acc v: f32 = 0.0 identity 0.0 merge add
          for i in 0 to 40 {
            for j in 0 to 64 {
              accumulate v { for r in 0 to 24 { step v = fma(x[r / 8, i, r % 8], w[r, j], state(v)) } }
              y[i, j] = v
            }
          }
        }";
    let plain = Kernel::parse(text).unwrap();
    let (kernel, schedule) = chosen(&plain, vec![WEIGHTS]);
    assert!(schedule.contains("split r 8 exact\n"), "{schedule}");
    assert_eq!(bits(&chosen(&plain, Vec::new()).0, &[]), bits(&plain, &[]), "{kernel}");
    // Not where a part is left over, or where parts differ.
    let (_, schedule) = chosen(&Kernel::parse(&text.replace("0 to 24", "0 to 20")).unwrap(), Vec::new());
    assert!(!schedule.contains("split r "), "{schedule}");
}

#[test]
fn rows_that_are_few_by_the_facts_are_not_the_rows_of_a_tile() {
    let plain = |most: i64| {
        let text = format!(
            "lawson-kernel 1
kernel @batches where N <= {most} {{
  in a: f32[N, 14, 96]
  in b: f32[96, 64]
  out y: f32[N, 14, 64]
  axes n, i, j, r
  acc s: f32 = 0.0 identity 0.0 merge add
  for n in 0 to N {{
    for i in 0 to 14 {{
      for j in 0 to 64 {{
        accumulate s {{
          for r in 0 to 96 {{
            step s = fma(a[n, i, r], b[r, j], state(s))
          }}
        }}
        y[n, i, j] = s
      }}
    }}
  }}
}}
"
        );
        Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
    };
    let jammed = |most: i64, axis: &str| {
        let (_, schedule) = chosen(&plain(most), vec![WEIGHTS]);
        schedule.lines().any(|l| l.starts_with(&format!("jam {axis}")))
    };
    assert!(jammed(5, "i.") && !jammed(5, "n."));
    assert!(jammed(100, "n.") && !jammed(100, "i."));
}

/// The second schedule of a product by weights in panels, for rows that are often 0.
fn leaving_out(plain: &Kernel, machine: &Machine, freedom: &Freedom) -> Option<(Kernel, Skipping)> {
    let mut kernel = plain.clone();
    let choice = choose(&mut kernel, machine, freedom).unwrap();
    verify(&kernel).unwrap();
    Some((kernel, choose_skipping(plain, machine, &choice.layouts, freedom)?))
}

#[test]
fn products_with_what_is_often_zero_have_a_second_schedule() {
    let freedom = Freedom { constants: vec![WEIGHTS], often_zero: vec![BufferId(0)] };
    for (m, n, k) in [(128, 1024, 1024), (256, 256, 256), (100, 192, 300), (1024, 128, 48)] {
        let plain = matmul(m.into(), n.into(), k.into());
        let (tiled, skipping) = leaving_out(&plain, &Machine::default(), &freedom).unwrap();
        let schedule = skipping.schedule.to_string();
        assert!(schedule.contains("skip k"), "{m}x{n}x{k}\n{schedule}");
        assert_eq!(k > 48, schedule.contains("block k"), "{m}x{n}x{k}\n{schedule}");
        assert!((0.5..1.0).contains(&skipping.most), "{}", skipping.most);
        // Both read the weights where they lie.
        assert_eq!(tiled.buffer(WEIGHTS).layout, skipping.kernel.buffer(WEIGHTS).layout);
        if m <= 128 && n <= 192 {
            assert_eq!(bits(&skipping.kernel, &[]), bits(&tiled, &[]), "{m}x{n}x{k}\n{schedule}");
        }
    }
}

#[test]
fn sums_over_the_taps_of_windows_leave_products_out_too() {
    let freedom = Freedom { constants: vec![WEIGHTS], often_zero: vec![BufferId(0)] };
    for (sizes, outputs, taps, stride, pad) in [
        ([9, 8, 64], 128, 3, 1, 1),
        ([8, 8, 128], 64, 3, 2, 1),
        ([14, 12, 32], 64, 2, 1, 0),
        ([12, 12, 64], 128, 1, 1, 0),
    ] {
        let plain = picture(sizes, outputs, taps, stride, pad);
        let found = leaving_out(&plain, &Machine::default(), &freedom);
        let (tiled, skipping) = found.unwrap_or_else(|| panic!("{sizes:?}\n{plain}"));
        let schedule = skipping.schedule.to_string();
        let about = format!("{sizes:?} {outputs}\n{schedule}");
        // A block is a tap's channels, or a part of them.
        assert!(schedule.contains("join r1 r2"), "{about}");
        assert!(schedule.contains(if sizes[2] > 32 { "skip r.1\n" } else { "skip r\n" }), "{about}");
        // The rows of a block stand in two loops.
        assert!(schedule.contains("at l ahead"), "{about}");
        assert_eq!(bits(&skipping.kernel, &[]), bits(&tiled, &[]), "{about}");
    }
    // What is read for one output is no part of a line of channels.
    let plain = picture([9, 8, 24], 128, 3, 1, 1);
    assert!(leaving_out(&plain, &Machine::default(), &freedom).is_none(), "24 channels are no blocks of 16");
}

#[test]
fn blocks_of_rows_are_as_many_as_a_team_shares() {
    let freedom = Freedom { constants: vec![WEIGHTS], often_zero: vec![BufferId(0)] };
    let machine = Machine::default();
    let on = |cores: usize| Machine { chains: Some(Chains::on_cores(cores, &machine)), ..machine.clone() };
    let rows = |m: i64, machine: &Machine| {
        let (_, skipping) =
            leaving_out(&matmul(m.into(), 256.into(), 256.into()), machine, &freedom).unwrap();
        let split = skipping.schedule.0.iter().find_map(|d| match d {
            Directive::Split { axis, factor, .. } if axis == "i" => Some(*factor),
            _ => None,
        });
        split.unwrap()
    };
    assert_eq!(rows(196, &on(2)), 98, "two blocks, one each");
    assert_eq!(rows(784, &on(2)) % 49, 0);
    assert_eq!(784 / rows(784, &on(4)) % 4, 0);
    assert!(rows(196, &on(1)) >= 98, "one core begins anew as seldom as it can");
}

#[test]
fn where_leaving_products_out_gains_nothing_there_is_one_schedule() {
    let freedom = Freedom { constants: vec![WEIGHTS], often_zero: vec![BufferId(0)] };
    let product = |m: i64, n: i64, k: i64| matmul(m.into(), n.into(), k.into());
    let none = |plain: &Kernel, machine: &Machine, freedom: &Freedom, why: &str| {
        assert!(leaving_out(plain, machine, freedom).is_none(), "{why}");
    };
    let machine = Machine::default();
    none(
        &product(256, 256, 256),
        &machine,
        &Freedom { constants: vec![WEIGHTS], ..Freedom::default() },
        "nothing is 0",
    );
    none(
        &product(256, 256, 256),
        &machine,
        &Freedom { constants: vec![], ..freedom.clone() },
        "who knows what is finite?",
    );
    none(&product(4, 4096, 4096), &machine, &freedom, "no block of weights is read often");
    none(&product(16, 64, 64), &machine, &freedom, "looking for zeros is no little");
    none(&product(256, 200, 256), &machine, &freedom, "columns do not fill vectors");
    none(&product(256, 256, 256), &machine.with_avx2(), &freedom, "vectors are short");
    let slow = Machine { vector_loads_per_fma: 0.5, ..Machine::default() };
    none(&product(256, 256, 256), &slow, &freedom, "loads take longer than what is left out");
}

#[test]
fn panels_are_such_that_products_can_be_left_out() {
    let plain = matmul(128.into(), 1024.into(), 1024.into());
    let machine = Machine { side: 0.5, l2_bytes_per_fma: 20.0, l3_bytes_per_fma: 6.0, ..Machine::default() };
    let vectors = |often_zero| {
        let mut kernel = plain.clone();
        choose(&mut kernel, &machine, &Freedom { constants: vec![WEIGHTS], often_zero }).unwrap();
        kernel.buffer(WEIGHTS).layout.panel().unwrap() / 16
    };
    assert_eq!(vectors(vec![]), 3, "the best tile, but of 1024 columns 16 are left");
    assert!(8 % vectors(vec![BufferId(0)]) == 0);
}

#[test]
fn the_next_panel_is_asked_for_by_parts() {
    let schedule = |m: i64, n: i64, k: i64, machine: &Machine| {
        let mut kernel = matmul(m.into(), n.into(), k.into());
        let freedom = Freedom { constants: vec![WEIGHTS], ..Freedom::default() };
        let choice = choose(&mut kernel, machine, &freedom).unwrap();
        verify(&kernel).unwrap();
        (choice.schedule.to_string(), kernel)
    };
    let machine = Machine { asks_for_panels: true, ..Machine::default() };
    let (text, kernel) = schedule(128, 768, 768, &machine);
    assert!(text.contains("prefetch B at k.0 ahead 1 of j.0 by i.1.0 level L2"), "{text}");
    // The eight tiles of a block together ask for each row of the next panel, and for each once.
    let hint =
        kernel.to_string().lines().map(str::trim).find(|l| l.starts_with("prefetch")).unwrap().to_string();
    assert!(hint.starts_with("prefetch B[(96*i.1.0) / 8 + k.0 / 8, "), "{hint}");
    let rows = (0..8).flat_map(|tile| (0..768 / 8).map(move |step| 96 * 8 * tile / 8 + step));
    assert!(rows.eq(0..768));

    for (m, n, k, why) in [
        (2048, 768, 768, "so many tiles that the first one is no matter"),
        (128, 48, 768, "one panel"),
        (128, 96, 64, "all panels are in the first cache"),
        (128, 768, 769, "the steps do not divide"),
        (4, 768, 768, "one tile"),
    ] {
        let (text, _) = schedule(m, n, k, &machine);
        assert!(!text.contains(" by "), "{why}: {text}");
    }
    let (text, _) = schedule(128, 768, 768, &Machine::default());
    assert!(!text.contains(" by "), "{text}");
}

/// Beside a panel of 64 columns and 2048 steps the second cache has no room for the next one.
#[test]
fn where_two_panels_do_not_fit_the_next_block_of_one_is_asked_for() {
    let l2 = Machine::default().l2;
    let intel = Machine {
        asks_for_panels: true,
        side: 0.5,
        l2_bytes_per_fma: 20.0,
        l3_bytes_per_fma: 6.0,
        ..Machine::default()
    };
    let choose = |[m, n, k]: [i64; 3], machine: &Machine| {
        let mut kernel = matmul(m.into(), n.into(), k.into());
        let freedom = Freedom { constants: vec![WEIGHTS], ..Freedom::default() };
        let choice = choose(&mut kernel, machine, &freedom).unwrap();
        verify(&kernel).unwrap();
        (choice.schedule.to_string(), kernel)
    };
    let (text, _) = choose([49, 512, 2048], &intel);
    assert!(text.contains("block k 512 at j.0 level L2"), "{text}");
    assert!(text.contains("prefetch B at k.1.0 ahead 1 of k.0 by i.0 level L2"), "{text}");
    // A few rows are little beside the panel, and are not cut: a block goes by once for all of them.
    assert!(!text.contains("split i 4"), "{text}");
    let small = Machine { l2: l2 / 4, ..intel.clone() };
    let (text, kernel) = choose([24, 512, 512], &small);
    assert!(text.contains("block k 256 at j.0 level L2"), "{text}");
    // The order of each sum stays.
    let mut plain = matmul(24.into(), 512.into(), 512.into());
    plain.buffers[WEIGHTS.0 as usize].layout = kernel.buffer(WEIGHTS).layout.clone();
    assert_eq!(bits(&kernel, &[]), bits(&plain, &[]));
    for (sizes, machine, why) in [
        ([49, 512, 2048], Machine { l2: 2 * l2, ..intel.clone() }, "two panels fit"),
        ([49, 512, 2048], Machine { asks_for_panels: false, ..intel.clone() }, "nothing is asked for"),
        ([2048, 512, 2048], intel.clone(), "so many tiles that the first one is no matter"),
        ([49, 64, 2048], intel.clone(), "too few panels to share"),
        ([49, 512, 2039], intel, "no block divides"),
    ] {
        let (text, _) = choose(sizes, &machine);
        assert!(!text.contains("block k"), "{why}: {text}");
    }
}

#[test]
fn only_loops_in_steps_share_what_is_fetched() {
    let apply = |text: &str| {
        let mut kernel = matmul(64.into(), 64.into(), 64.into());
        text.parse::<Schedule>().unwrap().apply(&mut kernel).map(|()| kernel)
    };
    let tiles = "split i 8\nsplit j 16\nreorder j.0 i.0 i.1 j.1\n";
    let kernel =
        apply(&format!("{tiles}split k 4\nprefetch B at k.0 ahead 1 of j.0 by i.0 level L1")).unwrap();
    verify(&kernel).unwrap();
    assert!(kernel.to_string().contains("prefetch B[(16*i.0) / 8 + k.0 / 4, j.0 + j.1 + 16] L1"), "{kernel}");
    let refused = |text: &str, why: &str| {
        let error = apply(&format!("{tiles}{text}")).expect_err(why);
        assert!(error.message().contains(why), "{error}");
    };
    refused("prefetch B at k ahead 1 of j.0 by i.0", "split it first");
    refused("split k 4\nprefetch B at k.0 ahead 1 of j.0 by k.1", "is not inside one over `k.1`");
    refused("split k 4\nprefetch B at k.0 ahead 1 of j.0 by k.0", "is not inside one over `k.0`");
}

#[test]
fn long_bodies_go_through_fewer_vectors_at_once() {
    let at_once = |times: usize| {
        let mut k = Kernel::new("long", lawson_graph::Facts::new());
        let (x, y) = (k.input("x", DType::F32, &[4096.into()]), k.output("y", DType::F32, &[4096.into()]));
        let i = k.add_axis("i");
        let mut value = k.load(x, vec![i.into()]);
        for _ in 0..times {
            value = k.unary(UnaryKind::Sin, value);
        }
        k.body = vec![for_each(i, 4096, vec![store(y, vec![i.into()], value)])];
        let (kernel, schedule) = chosen(&k, vec![]);
        let steps = schedule.lines().find_map(|line| line.strip_prefix("split i ")).unwrap();
        verify(&kernel).unwrap();
        steps.split(' ').next().unwrap().parse::<i64>().unwrap() / 16
    };
    assert_eq!([1, 5, 200].map(at_once), [4, 4, 2]);
}
