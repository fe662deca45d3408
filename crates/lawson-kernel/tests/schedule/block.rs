//! Sums in blocks: what becomes of the nest, that not a bit changes, and what is refused and why.

use crate::kernels::{convolution, matmul, scale};
use crate::run::run;
use crate::{loops, refused, scheduled};
use lawson_graph::Code;
use lawson_graph::random::Rng;
use lawson_kernel::{Kernel, Level, Role, eval, verify};

/// The outputs of a kernel, bit by bit, on inputs whose sums depend on their order.
fn bits(kernel: &Kernel) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(7);
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    for id in kernel.arguments() {
        let count = kernel.buffer(id).layout.size.as_const().unwrap();
        let number = |rng: &mut Rng| (rng.between(-9999, 9999) as f32 / 777.0).to_le_bytes();
        buffers.push((0..count).flat_map(|_| number(&mut rng)).collect());
    }
    eval::run(kernel, &[], &mut buffers, &eval::Options::default()).unwrap_or_else(|e| panic!("{kernel}{e}"));
    buffers
}

#[test]
fn a_sum_has_a_first_block_those_between_and_a_last() {
    let k = scheduled(&matmul(6.into(), 8.into(), 11.into()), "split i 3\nblock k 4 at i.0 level L1");
    let expected = "i.0: 0 to 6 by 3 serial
 k.0: 0 to 4 by 4 serial
  i.1: 0 to 3 by 1 serial
   j: 0 to 8 by 1 serial
    k.1: 0 to 4 by 1 serial
 k.0: 4 to 8 by 4 serial
  i.1: 0 to 3 by 1 serial
   j: 0 to 8 by 1 serial
    k.1: 0 to 4 by 1 serial
 k.0: 8 to 11 by 4 serial
  i.1: 0 to 3 by 1 serial
   j: 0 to 8 by 1 serial
    k.1: 0 to 3 by 1 serial
";
    assert_eq!(loops(&k), expected);
    let kept = k.buffers.last().unwrap();
    assert_eq!((kept.role, &kept.dims[..]), (Role::Scratch(Level::L1), &[3.into(), 8.into()][..]));
}

#[test]
fn not_a_bit_of_a_blocked_sum_changes() {
    for (m, n, depth) in [(6, 20, 11), (5, 16, 12), (1, 3, 40)] {
        let plain = matmul(m.into(), n.into(), depth.into());
        for schedule in [
            "block k 4",
            "block k 5 at i",
            "block k 1\nreorder j i",
            "split i 2 ladder\nsplit j 16\nreorder j.0 i.0 i.1 j.1\nparallel j.0\nblock k 3 at i.0\njam i.1\nvector j.1 16",
            "split i 4 ladder\nblock k 6 at i.0\npack B at k.0\nsplit k.1 2",
            "split j 8\nreorder j.0 i j.1\nblock k 6 at j.0\npeel i first=1 last=1",
        ] {
            let k = scheduled(&plain, schedule);
            assert_eq!(bits(&k), bits(&plain), "{schedule}{k}");
        }
    }
    // Blocks of blocks, where no block stands between the first and the last.
    let plain = matmul(4.into(), 8.into(), 12.into());
    assert_eq!(bits(&scheduled(&plain, "block k 7 at i\nblock k.1 3 at k.0")), bits(&plain));
    let plain = convolution(20, 5, 2, 2);
    assert_eq!(bits(&scheduled(&plain, "split i 4\nblock k 2 at i.0\nvector i.1 4")), bits(&plain));
}

#[test]
fn loops_that_were_split_before_need_no_more_scratch() {
    let plain = matmul(64.into(), 32.into(), 9.into());
    let k = scheduled(&plain, "split i 8\nsplit j 16\nreorder i.0 j.0 i.1 j.1\nblock k 4");
    assert_eq!(k.buffers.last().unwrap().dims, [64i64, 32]);
    assert_eq!(run(&k, &[]), run(&plain, &[]));
}

#[test]
fn blocks_are_refused_with_the_reason() {
    let k = matmul("M".into(), 10.into(), 7.into());
    for (schedule, code, reason) in [
        ("block x 8", Code::ScheduleTarget, "no loop over `x`"),
        ("block k 4 at x", Code::ScheduleTarget, "no loop over `x`"),
        ("block k 0 at i", Code::ScheduleRefused, "block of 0"),
        ("block k 7 at i", Code::ScheduleRefused, "one block"),
        ("block k 2", Code::ScheduleRefused, "how far `i` goes"),
        ("block j 2 at i", Code::ScheduleRefused, "must be an accumulator"),
        ("block k 2 at j", Code::ScheduleRefused, "must be an accumulator"),
        ("block k 2 at k", Code::ScheduleRefused, "outside of `k`"),
        ("parallel j\nblock k 2 at i", Code::ScheduleRefused, "is parallel"),
        ("split k 3\nblock k.1 2 at i", Code::ScheduleRefused, "is not the outermost"),
        ("unroll k\nblock k 2 at i", Code::ScheduleRefused, "is unroll already"),
        ("split j 5\njam j.0\nblock k 2 at j.0", Code::ScheduleRefused, "serial code"),
        ("peel k first=1 last=0\nblock k 2 at i", Code::ScheduleRefused, "more than one loop"),
        ("block k 2 at i\nreorder k.0 i", Code::ScheduleRefused, "meet in `c.block`"),
        ("block k 4 at i\nreorder k.0 i", Code::ScheduleRefused, "leaves in `c.block`"),
        ("block k 2 at i\nblock k.1 1 at k.0", Code::ScheduleRefused, "meet in `c.block`"),
    ] {
        let error = refused(&k, schedule);
        assert_eq!(error.code(), code, "{schedule}: {error}");
        assert!(error.message().contains(reason), "{schedule}: {error}");
    }
    let symbolic = matmul(4.into(), 4.into(), "K".into());
    assert!(refused(&symbolic, "block k 2").message().contains("known beforehand"));
    assert_eq!(refused(&scale(8.into()), "block i 2").code(), Code::ScheduleRefused);
}

#[test]
fn an_output_that_needs_another_one_whole_is_not_blocked() {
    // y[i] = Σ y[i - 1]: every sum reads what the stage before it stored.
    let text = "lawson-kernel 1
kernel @chain {
  in x: f32[8]
  out y: f32[8]
  scratch t: f32[9] at L1
  axes z, i, k
  acc s: f32 = 0.0 identity 0.0 merge add
  for z in 0 to 9 {
    t[z] = 1.0
  }
  for i in 0 to 8 {
    accumulate s {
      for k in 0 to 4 {
        s += t[i] * x[i]
      }
    }
    t[i + 1] = s
    y[i] = s
  }
}
";
    let k = Kernel::parse(text).unwrap();
    verify(&k).unwrap();
    assert!(refused(&k, "block k 2").message().contains("outputs meet in `t`"));
}

#[test]
fn states_do_not_outlive_a_parallel_iteration() {
    let mut k = matmul(4.into(), 4.into(), 8.into());
    let schedule: lawson_kernel::Schedule = "block k 4\nparallel i".parse().unwrap();
    schedule.apply(&mut k).unwrap();
    assert!(matches!(verify(&k).unwrap_err().code(), Code::KernelScratch | Code::KernelKind));
}
