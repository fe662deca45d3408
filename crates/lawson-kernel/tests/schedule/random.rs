//! Random schedules: whatever is not refused computes the same. Random changes: whatever the verifier accepts stays in bounds.

use crate::kernels::{convolution, matmul, picked, picture, scale};
use crate::run::run;
use lawson_graph::Code;
use lawson_kernel::{Kernel, Node, Schedule, verify};
use std::panic::catch_unwind;

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % n as u64) as usize
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// A kernel and the values of its parameters to run it with.
type Example = (Kernel, Vec<(&'static str, i64)>);

fn kernel(r: &mut Random) -> Example {
    let mut size = || 1 + r.below(13) as i64;
    let (a, b, c) = (size(), size(), size());
    match r.below(6) {
        5 => {
            let (taps, pad) = (1 + r.below(3) as i64, r.below(2) as i64);
            (
                picture(
                    [a.max(taps), b.max(taps), c],
                    1 + r.below(5) as i64,
                    taps,
                    1 + r.below(2) as i64,
                    pad,
                ),
                vec![],
            )
        }
        0 => (scale(a.into()), vec![]),
        1 => (scale("N".into()), vec![("N", a)]),
        2 => (matmul(a.into(), b.into(), c.into()), vec![]),
        3 => (matmul("M".into(), "N".into(), c.into()), vec![("M", a), ("N", b)]),
        _ => {
            let (window, pad) = (1 + r.below(4) as i64, r.below(3) as i64);
            (convolution(a.max(window), window, 1 + r.below(2) as i64, pad), vec![])
        }
    }
}

/// A kernel whose indices are data.
fn kernel_with_data(r: &mut Random) -> Example {
    let mut size = || 1 + r.below(13) as i64;
    let (a, b, c) = (size(), size(), size());
    match r.below(2) {
        0 => (picked(a.into(), b.into(), c.into(), 1 + r.below(b as usize) as i64), vec![]),
        _ => (picked("R".into(), "N".into(), "M".into(), b), vec![("R", a), ("N", b + c), ("M", c)]),
    }
}

/// The axes of the loops that stand first in an `accumulate`.
fn sums(kernel: &Kernel) -> Vec<&str> {
    let mut out = Vec::new();
    kernel.visit(&mut |node| {
        if let Node::Accumulate { body, .. } = node
            && let [Node::For(f), ..] = body.as_slice()
        {
            out.push(kernel.axis(f.axis).name.as_str());
        }
    });
    out
}

fn directive(r: &mut Random, kernel: &Kernel) -> String {
    let axes: Vec<&str> = kernel.axes.iter().map(|a| a.name.as_str()).collect();
    let buffers: Vec<&str> = kernel.buffers.iter().map(|b| b.name.as_str()).collect();
    let (axis, number) = (*r.pick(&axes), 1 + r.below(8));
    match r.below(20) {
        0..5 => format!("split {axis} {number} {}", r.pick(&["", "clip", "ladder", "ladder 2 1", "exact"])),
        5..7 => {
            let mut order = axes.clone();
            for i in (1..order.len()).rev() {
                order.swap(i, r.below(i + 1));
            }
            order.truncate(2 + r.below(3));
            format!("reorder {}", order.join(" "))
        }
        7 => {
            // Two that stand directly within each other are not often drawn otherwise.
            let mut pairs: Vec<[&str; 2]> = Vec::new();
            kernel.visit(&mut |node| {
                if let Node::For(f) = node
                    && let [Node::For(inner)] = f.body.as_slice()
                {
                    pairs.push([f, inner].map(|f| kernel.axis(f.axis).name.as_str()));
                }
            });
            let [outer, inner] = if pairs.is_empty() { [axis, axis] } else { *r.pick(&pairs) };
            format!("join {outer} {inner} as {outer}_{inner}")
        }
        8 => format!("peel {axis} first={} last={}", r.below(3), r.below(3)),
        9 | 10 => format!("clip {axis}"),
        11 | 12 => {
            let layout = r.pick(&["", "panels 0 3", "order 1 0", "panels 1 4"]);
            format!("pack {} at {axis} {layout}", r.pick(&buffers))
        }
        13 => {
            let of = if number % 2 == 0 { format!(" of {}", axes[0]) } else { String::new() };
            let whole = r.pick(&["", " whole"]);
            format!("prefetch {} at {axis} ahead {number}{of}{whole}", r.pick(&buffers))
        }
        14..18 => {
            let sums = sums(kernel);
            let axis = if sums.is_empty() { axis } else { r.pick(&sums) };
            match r.below(3) {
                0 => format!("block {axis} {number}"),
                _ => format!("block {axis} {number} at {} level L1", r.pick(&axes)),
            }
        }
        18 => format!("{} {axis}", r.pick(&["parallel", "unroll", "jam", "serial"])),
        _ => format!("vector {axis} {}", r.pick(&[4, 8, 16])),
    }
}

/// How many directives were applied, how many kernels verified, how many directives were blocks, and how many kernels not proven.
#[derive(Debug)]
struct Counts {
    applied: usize,
    verified: usize,
    blocked: usize,
    unproven: usize,
}

#[test]
fn random_schedules_compute_the_same() {
    let Counts { applied, verified, blocked, unproven } = schedule_at_random(500, kernel);
    assert!(
        applied > 1000 && verified > 900 && blocked > 25 && unproven < applied / 100,
        "{applied} directives were applied, {verified} kernels verified, {blocked} blocked, {unproven} not proven"
    );
}

#[test]
fn random_schedules_of_kernels_with_data_compute_the_same() {
    let counts = schedule_at_random(200, kernel_with_data);
    let Counts { applied, verified, unproven, .. } = counts;
    assert!(applied > 400 && verified > 300 && unproven < applied / 50, "{counts:?}");
}

fn schedule_at_random(rounds: usize, kernel: fn(&mut Random) -> Example) -> Counts {
    let mut r = Random(0x853c_49e6_748f_ea9b);
    let (mut applied, mut verified, mut unproven, mut blocked) = (0, 0, 0, 0);
    for _ in 0..rounds {
        let (plain, parameters) = kernel(&mut r);
        let expected = run(&plain, &parameters);
        let mut k = plain.clone();
        let mut text = String::new();
        for _ in 0..7 {
            let line = directive(&mut r, &k);
            let Ok(schedule) = line.parse::<Schedule>() else { continue };
            let mut next = k.clone();
            if schedule.apply(&mut next).is_err() {
                continue;
            }
            text += &format!("{line}\n");
            applied += 1;
            let found = catch_unwind(|| run(&next, &parameters));
            assert!(found.is_ok_and(|f| f == expected), "{plain}{parameters:?}\n{text}{next}");
            match verify(&next) {
                Ok(()) => {
                    verified += 1;
                    blocked += usize::from(line.starts_with("block"));
                    k = next;
                    continue;
                }
                // How a loop is executed is the verifier's to judge.
                Err(e) if matches!(e.code(), Code::KernelKind | Code::KernelConflict) => {}
                // States between blocks do not outlive an iteration of a parallel loop.
                Err(e) if e.code() == Code::KernelScratch && line.starts_with("parallel") => {}
                // Bounds that hold but are beyond the prover come from ladders upon ladders.
                Err(e) if matches!(e.code(), Code::KernelBounds | Code::KernelAxis) => unproven += 1,
                Err(e) => panic!("{plain}{text}{next}{e}"),
            }
            text.truncate(text.len() - line.len() - 1);
        }
    }
    Counts { applied, verified, blocked, unproven }
}

/// The text with one of its whole numbers, after the declarations, changed by one.
fn changed(r: &mut Random, text: &str) -> String {
    let begin = text.find("\n  for ").unwrap_or(0);
    let numbers: Vec<(usize, &str)> = text[begin..]
        .match_indices(|c: char| c.is_ascii_digit())
        .map(|(i, d)| (begin + i, d))
        .filter(|(i, _)| {
            // Alone: not a part of a name, a longer number or a float.
            let beside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '.');
            !beside(text[..*i].chars().next_back()) && !beside(text[i + 1..].chars().next())
        })
        .collect();
    if numbers.is_empty() {
        return text.to_string();
    }
    let (at, digit) = *r.pick(&numbers);
    let value: i64 = digit.parse().unwrap();
    let other = if r.below(2) == 0 { value + 1 } else { (value - 1).abs() };
    format!("{}{other}{}", &text[..at], &text[at + 1..])
}

#[test]
fn whatever_is_verified_stays_in_bounds() {
    let mut r = Random(0x2545_f491_4f6c_dd1d);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..400 {
        let (mut k, parameters) = if r.below(4) == 0 { kernel_with_data(&mut r) } else { kernel(&mut r) };
        for _ in 0..3 {
            let mut next = k.clone();
            let schedule = directive(&mut r, &k).parse::<Schedule>();
            if schedule.is_ok_and(|s| s.apply(&mut next).is_ok()) && verify(&next).is_ok() {
                k = next;
            }
        }
        let text = k.to_string();
        for _ in 0..5 {
            let Ok(other) = Kernel::parse(&changed(&mut r, &text)) else { continue };
            if verify(&other).is_err() {
                refused += 1;
                continue;
            }
            accepted += 1;
            if let Err(panic) = catch_unwind(|| run(&other, &parameters)) {
                let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                assert!(!message.contains("is outside"), "{other}{parameters:?}\n{message}");
            }
        }
    }
    assert!(accepted > 400 && refused > 400, "{accepted} accepted, {refused} refused");
}
