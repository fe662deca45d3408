//! Schedules: what directives make of kernels, that the results stay the same, and what is refused and why.

#![allow(clippy::unwrap_used)]

mod block;
mod choose;
mod kernels;
mod random;
mod run;

use kernels::{convolution, matmul, picture, scale};
use lawson_graph::Code;
use lawson_kernel::{Expr, ExprId, Index, Kernel, Kind, Level, Node, Schedule, StoreHint, verify};
use run::run;

/// The kernel after a schedule.
fn scheduled(kernel: &Kernel, schedule: &str) -> Kernel {
    let mut changed = kernel.clone();
    schedule.parse::<Schedule>().unwrap().apply(&mut changed).unwrap_or_else(|e| panic!("{e}"));
    verify(&changed).unwrap_or_else(|e| panic!("{schedule}\n{e}"));
    changed
}

/// The loops as text, one a line, indented: axis, begin, end, step, kind.
fn loops(kernel: &Kernel) -> String {
    fn walk(kernel: &Kernel, nodes: &[Node], depth: usize, out: &mut String) {
        let name = |a| kernel.axis(a).name.clone();
        let text = |i: &Index| kernel.show(i);
        for node in nodes {
            match node {
                Node::For(f) => {
                    let pad = " ".repeat(depth);
                    let (axis, begin, end) = (name(f.axis), text(&f.begin), text(&f.end));
                    let kind = f.kind.name();
                    out.push_str(&format!("{pad}{axis}: {begin} to {end} by {} {kind}\n", f.step));
                    walk(kernel, &f.body, depth + 1, out);
                }
                Node::Accumulate { body, .. } => walk(kernel, body, depth, out),
                _ => {}
            }
        }
    }
    let mut out = String::new();
    walk(kernel, &kernel.body, 0, &mut out);
    out
}

/// The error of a schedule, which must leave the kernel as it was.
fn refused(kernel: &Kernel, schedule: &str) -> lawson_graph::Error {
    let mut changed = kernel.clone();
    let error = schedule.parse::<Schedule>().unwrap().apply(&mut changed).unwrap_err();
    assert_eq!((&changed.body, &changed.axes), (&kernel.body, &kernel.axes));
    error
}

#[test]
fn a_split_that_divides_has_no_tail() {
    let k = scheduled(&scale(24.into()), "split i 8");
    assert_eq!(loops(&k), "i.0: 0 to 24 by 8 serial\n i.1: 0 to 8 by 1 serial\n");
    assert_eq!(run(&k, &[]), run(&scale(24.into()), &[]));
}

#[test]
fn a_split_that_does_not_divide_clips_the_inner_loop() {
    let k = scheduled(&scale("N".into()), "split i 8\nvector i.1 8");
    assert_eq!(loops(&k), "i.0: 0 to (N) by 8 serial\n i.1: 0 to min(8, -i.0 + (N)) by 1 vector\n");
    for n in 0..20 {
        assert_eq!(run(&k, &[("N", n)]), run(&scale("N".into()), &[("N", n)]), "N = {n}");
    }
}

#[test]
fn a_ladder_over_a_symbolic_extent_steps_down_to_one() {
    let k = scheduled(&scale("N".into()), "split i 6 ladder\njam i.1");
    let expected = "i.0: 0 to (6*(N / 6)) by 6 serial\n i.1: 0 to 6 by 1 jam\n";
    assert!(loops(&k).starts_with(expected), "{}", loops(&k));
    assert_eq!(loops(&k).lines().count(), 8, "{}", loops(&k));
    for n in 0..20 {
        assert_eq!(run(&k, &[("N", n)]), run(&scale("N".into()), &[("N", n)]), "N = {n}");
    }
}

#[test]
fn a_ladder_over_a_constant_extent_takes_the_remainder_as_one_tile() {
    let k = scheduled(&scale(21.into()), "split i 8 ladder");
    assert_eq!(
        loops(&k),
        "i.0: 0 to 16 by 8 serial\n i.1: 0 to 8 by 1 serial\n\
         i.0: 16 to 21 by 5 serial\n i.1: 0 to 5 by 1 serial\n"
    );
    assert_eq!(run(&k, &[]), run(&scale(21.into()), &[]));
    let given = scheduled(&scale(21.into()), "split i 8 ladder 4 2 1");
    assert_eq!(loops(&given).lines().count(), 6, "{}", loops(&given));
    assert_eq!(run(&given, &[]), run(&scale(21.into()), &[]));
    let small = scheduled(&scale(3.into()), "split i 8 ladder");
    assert_eq!(loops(&small), "i.0: 0 to 3 by 3 serial\n i.1: 0 to 3 by 1 serial\n");
}

#[test]
fn a_loop_in_steps_can_be_split_again() {
    for n in [1, 5, 31, 32, 33, 100] {
        let plain = run(&scale(n.into()), &[]);
        for second in ["split i.0 3", "split i.0 4 ladder", "split i.0 4 clip", "split i.0 4 ladder 3 1"] {
            let k = scheduled(&scale(n.into()), &format!("split i 4\n{second}"));
            assert_eq!(run(&k, &[]), plain, "{n}: {second}");
        }
    }
    let symbolic = scheduled(&scale("N".into()), "split i 4\nsplit i.0 4 ladder 2 1");
    for n in 0..40 {
        assert_eq!(run(&symbolic, &[("N", n)]), run(&scale("N".into()), &[("N", n)]), "N = {n}");
    }
}

#[test]
fn unroll_and_jam_of_a_matmul() {
    let plain = matmul("M".into(), 10.into(), 7.into());
    let k = scheduled(
        &plain,
        "split i 4 ladder\nsplit j 8 ladder 2\nreorder i.0 j.0 i.1 j.1\nparallel i.0\njam i.1\nvector j.1 8",
    );
    let text = loops(&k);
    assert!(
        text.starts_with(
            "i.0: 0 to (4*(M / 4)) by 4 parallel\n j.0: 0 to 8 by 8 serial\n  i.1: 0 to 4 by 1 jam\n   \
             j.1: 0 to 8 by 1 vector\n    k: 0 to 7 by 1 serial\n j.0: 8 to 10 by 2 serial\n"
        ),
        "{text}"
    );
    for m in [0, 1, 4, 7, 9] {
        assert_eq!(run(&k, &[("M", m)]), run(&plain, &[("M", m)]), "M = {m}");
    }
}

#[test]
fn loops_that_are_not_named_stay_where_they_are() {
    let plain = matmul(4.into(), 5.into(), 6.into());
    let k = scheduled(&plain, "split i 2\nsplit j 2\nreorder j.0 i.0");
    let axes: Vec<String> =
        loops(&k).lines().map(|l| l.trim().split(':').next().unwrap().to_string()).collect();
    assert_eq!(axes, ["j.0", "i.1", "i.0", "j.1", "k"]);
    assert_eq!(run(&k, &[]), run(&plain, &[]));
}

#[test]
fn peeled_iterations_are_loops_of_their_own() {
    let k = scheduled(&scale(9.into()), "peel i first=1 last=2");
    assert_eq!(loops(&k), "i: 0 to 1 by 1 serial\ni: 1 to 7 by 1 serial\ni: 7 to 9 by 1 serial\n");
    let symbolic = scheduled(&scale("N".into()), "peel i first=2 last=3");
    for n in 0..9 {
        assert_eq!(run(&symbolic, &[("N", n)]), run(&scale("N".into()), &[("N", n)]), "N = {n}");
    }
}

#[test]
fn schedules_come_back_from_their_text() {
    let text = "split i 8\nsplit i 8 exact\nsplit j 48 clip\nsplit k 4 ladder\nsplit k 6 ladder 4 2 1\n\
                reorder i.0 \"an axis\" i.1\nparallel i.0\nserial a\nunroll b\njam c\nvector d 16\n\
                peel i first=1 last=0\nclip kh\ndecide kw\nblock k 512 level L2\nblock k 256 at i.0 level L1\npack B at j.0 level L2\npack B at j.0 panels 1 48 level L1\n\
                pack B at j.0 order 1 0 level L2\nstream C\nprefetch B at k ahead 4 level L1\nprefetch B at k ahead 1 of i level L2\n\
                prefetch B at i.1 ahead 1 of k whole level L2\njoin r1 \"an axis\" r.0 as taps\nskip k\ndot k\n";
    let schedule: Schedule = text.parse().unwrap();
    assert_eq!(schedule.to_string(), text);
    assert_eq!(schedule.0.len(), 26);
}

#[test]
fn a_text_that_is_no_schedule_says_where() {
    for (text, column) in [
        ("split i", 8),
        ("split i x", 9),
        ("split i 8 almost", 11),
        ("halve i", 1),
        ("reorder i", 10),
        ("parallel i j", 12),
        ("vector i 99999999999", 10),
        ("peel i middle=1", 8),
        ("pack B j", 8),
        ("block k at i", 9),
        ("block k 8 at", 13),
        ("join i j", 9),
        ("join i as", 10),
        ("split \"i", 7),
    ] {
        let error = text.parse::<Schedule>().unwrap_err();
        assert_eq!(error.code(), Code::Syntax, "{text}");
        assert!(error.to_string().contains(&format!("<text>:1:{column}\n")), "{text}: {error}");
    }
    assert!("split i\n8".parse::<Schedule>().is_err());
}

#[test]
fn directives_that_do_not_fit_are_refused_with_the_reason() {
    let k = matmul("M".into(), 10.into(), 7.into());
    for (schedule, code, reason) in [
        ("split x 8", Code::ScheduleTarget, "no loop over `x`"),
        ("split i 8\nsplit i 4", Code::ScheduleTarget, "no loop over `i`"),
        ("split i 0", Code::ScheduleRefused, "tile of 0"),
        ("split i 8 exact", Code::ScheduleRefused, "(M)"),
        ("split j 4 ladder 4", Code::ScheduleRefused, "rungs"),
        ("split j 4 ladder 3", Code::ScheduleRefused, "left over"),
        ("split i 8 ladder 4 2", Code::ScheduleRefused, "left over"),
        ("jam i", Code::ScheduleRefused, "known beforehand"),
        ("unroll i", Code::ScheduleRefused, "known beforehand"),
        ("vector j 8", Code::ScheduleRefused, "at most 8"),
        ("vector j 12", Code::ScheduleRefused, "lanes"),
        ("split j 4 ladder\nvector j.0 16", Code::ScheduleRefused, "steps of 1"),
        ("jam j\nsplit j 2", Code::ScheduleRefused, "already"),
        ("reorder i k", Code::ScheduleRefused, "accumulate c"),
        ("reorder i j i", Code::ScheduleRefused, "twice"),
        ("split i 8 clip\nreorder i.1 i.0", Code::ScheduleRefused, "its bound is"),
        ("peel i first=0 last=0", Code::ScheduleRefused, "at least one"),
    ] {
        let error = refused(&k, schedule);
        assert_eq!(error.code(), code, "{schedule}: {error}");
        assert!(error.message().contains(reason), "{schedule}: {error}");
        assert!(error.to_string().contains("directive"), "{schedule}: {error}");
    }
    let help = refused(&k, "split x 8").help_text().unwrap().to_string();
    assert_eq!(help, "the loops run over `i`, `j`, `k`");
}

#[test]
fn kinds_are_set_on_every_loop_over_the_axis() {
    let k = scheduled(&scale(21.into()), "split i 8 ladder\njam i.1");
    let mut kinds = Vec::new();
    k.visit(&mut |n| {
        if let Node::For(f) = n {
            kinds.push(f.kind);
        }
    });
    assert_eq!(kinds, [Kind::Serial, Kind::Jam, Kind::Serial, Kind::Jam]);
}

#[test]
fn padding_becomes_bounds_of_the_loop() {
    for (n, window, stride, pad) in [(9, 3, 1, 1), (10, 5, 2, 2), (4, 7, 3, 3), (8, 3, 1, 0)] {
        let plain = convolution(n, window, stride, pad);
        let k = scheduled(&plain, "clip k");
        assert_eq!(run(&k, &[]), run(&plain, &[]), "{n} {window} {stride} {pad}");
        let mut guards = 0;
        k.visit(&mut |node| {
            if let Node::Step { values, .. } = node {
                guards += count_guards(&k, values[0]);
            }
        });
        assert_eq!(guards, 0);
    }
    let k = scheduled(&convolution(9, 3, 1, 1), "clip k");
    assert_eq!(loops(&k), "i: 0 to 9 by 1 serial\n k: max(0, -i + 1) to min(3, -i + 10) by 1 serial\n");
    // Where no border is near, nothing is left to ask.
    let peeled = scheduled(&convolution(9, 3, 1, 1), "peel i first=1 last=1\nclip k");
    assert_eq!(
        loops(&peeled),
        "i: 0 to 1 by 1 serial\n k: 1 to 3 by 1 serial\ni: 1 to 8 by 1 serial\n k: 0 to 3 by 1 serial\n\
         i: 8 to 9 by 1 serial\n k: 0 to 2 by 1 serial\n"
    );
    assert_eq!(run(&peeled, &[]), run(&convolution(9, 3, 1, 1), &[]));
}

#[test]
fn only_steps_at_a_border_are_unrolled_to_be_decided() {
    for (n, window, stride, pad) in [(9, 3, 1, 1), (10, 5, 2, 2), (4, 7, 3, 3), (8, 3, 1, 0)] {
        let plain = convolution(n, window, stride, pad);
        for before in ["", "peel i first=1 last=1\n", "split i 2\npeel i.0 first=1 last=1\njam i.1\n"] {
            let k = scheduled(&plain, &format!("{before}decide k"));
            assert_eq!(run(&k, &[]), run(&plain, &[]), "{n} {window} {stride} {pad} {before}");
            k.visit(&mut |node| {
                if let Node::For(f) = node
                    && let [Node::Step { values, .. }] = &f.body[..]
                {
                    assert_eq!(count_guards(&k, values[0]) > 0, f.kind == Kind::Unroll);
                }
            });
        }
    }
    let k = scheduled(&convolution(9, 3, 1, 1), "peel i first=1 last=1\ndecide k");
    assert_eq!(
        loops(&k),
        "i: 0 to 1 by 1 serial\n k: 0 to 1 by 1 unroll\n k: 1 to 3 by 1 serial\ni: 1 to 8 by 1 serial\n k: 0 to 3 by 1 serial\n\
         i: 8 to 9 by 1 serial\n k: 0 to 2 by 1 serial\n k: 2 to 3 by 1 unroll\n"
    );
    assert!(refused(&convolution(9, 3, 1, 1), "clip k\ndecide k").message().contains("constant bounds"));
}

fn count_guards(k: &Kernel, id: ExprId) -> usize {
    let mut count = match k.expr(id) {
        Expr::Load(load) => usize::from(load.guard.is_some()),
        _ => 0,
    };
    k.expr(id).visit_operands(&mut |o| count += count_guards(k, o));
    count
}

#[test]
fn clipping_is_refused_where_left_out_iterations_would_count() {
    let k = matmul(4.into(), 4.into(), 4.into());
    assert!(refused(&k, "clip k").message().contains("guarded"));
    assert!(refused(&k, "clip j").message().contains("accumulate c"));
    // x + 1 where x is padding is not nothing.
    let mut k = convolution(9, 3, 1, 1);
    let one = k.f32(1.0);
    let mut body = k.body.clone();
    let Node::For(f) = &mut body[0] else { panic!() };
    let Node::Accumulate { body: inner, .. } = &mut f.body[0] else { panic!() };
    let Node::For(inner) = &mut inner[0] else { panic!() };
    let Node::Step { values, .. } = &mut inner.body[0] else { panic!() };
    values[0] = k.sum(values[0], one);
    k.body = body;
    assert!(refused(&k, "clip k").message().contains("guarded"));
    assert!(refused(&convolution(9, 4, 1, 1), "split k 2\nclip k.0").message().contains("steps of 2"));
}

#[test]
fn clipping_looks_at_the_function_not_at_the_identity() {
    let kernel = |otherwise: f32, merge: &str| {
        let (zero, least) = ("0.0", "-inf");
        let identity = if merge == "add" { zero } else { least };
        Kernel::parse(&format!(
            "lawson-kernel 1 kernel @k {{ in x: f32[8] out y: f32[8] axes i, k
             acc m: f32 = {identity} identity {identity} merge {merge}
             for i in 0 to 8 {{
               accumulate m {{ for k in 0 to 3 {{
                 step m = max(state(m), (x[i + k - 1] if 0 <= i + k - 1 < 8 else {otherwise:?}))
               }} }}
               y[i] = m
             }} }}"
        ))
        .unwrap()
    };
    let pooled = kernel(f32::NEG_INFINITY, "greater");
    assert_eq!(run(&scheduled(&pooled, "clip k"), &[]), run(&pooled, &[]));
    // max(state, 0) changes a negative state, even where 0 is the identity of the merge.
    assert!(refused(&kernel(0.0, "add"), "clip k").message().contains("infinity"));
}

#[test]
fn scratch_that_is_read_later_keeps_its_order() {
    let kernel = |after: &str| {
        Kernel::parse(&format!(
            "lawson-kernel 1 kernel @k {{ in x: f32[4, 4] out y: f32[4, 4] out z: f32[4] scratch t: f32[4] at L1
             axes i, j, o
             for i in 0 to 4 {{ for j in 0 to 4 {{ t[0] = x[i, j] y[i, j] = t[0] }} }}
             {after} }}"
        ))
        .unwrap()
    };
    let own = kernel("");
    assert_eq!(run(&scheduled(&own, "reorder j i"), &[]), run(&own, &[]));
    let last = kernel("for o in 0 to 4 { z[o] = t[0] }");
    assert!(refused(&last, "reorder j i").message().contains("they meet in `t`"));
}

#[test]
fn packing_copies_what_the_body_reads() {
    for (m, n, depth) in [(8, 12, 6), (7, 10, 5), (3, 2, 9)] {
        let plain = matmul(m.into(), n.into(), depth.into());
        for layout in ["", "panels 1 4", "order 1 0"] {
            for split in ["split j 4", "split j 4 ladder"] {
                let text =
                    format!("{split}\nreorder j.0 i j.1\npack B at j.0 {layout} level L1\nvector j.1 4");
                let k = scheduled(&plain, &text);
                assert_eq!(run(&k, &[]), run(&plain, &[]), "{m} {n} {depth}: {text}");
            }
        }
    }
    let k = scheduled(
        &matmul(8.into(), 10.into(), 6.into()),
        "split j 4\nsplit k 4\nreorder j.0 i j.1\npack B at j.0 panels 1 4\nvector B.1 4",
    );
    assert_eq!(
        loops(&k),
        "j.0: 0 to 10 by 4 serial\n B.0: 0 to 6 by 1 serial\n  B.1: 0 to min(4, -j.0 + 10) by 1 vector\n \
         i: 0 to 8 by 1 serial\n  j.1: 0 to min(4, -j.0 + 10) by 1 serial\n   k.0: 0 to 6 by 4 serial\n    \
         k.1: 0 to min(4, -k.0 + 6) by 1 serial\n"
    );
    let scratch = k.buffers.last().unwrap();
    assert_eq!((scratch.name.as_str(), scratch.layout.size.as_const()), ("B.pack", Some(32)));
}

#[test]
fn packing_stays_inside_of_what_is_padded() {
    for (n, window, stride, pad) in [(9, 3, 1, 1), (17, 5, 2, 2), (4, 7, 3, 3)] {
        let plain = convolution(n, window, stride, pad);
        for schedule in
            ["split i 4\npack x at i.0", "split i 4\npack x at i.1", "split i 3\npack x at i.0\nclip k"]
        {
            let k = scheduled(&plain, schedule);
            assert_eq!(run(&k, &[]), run(&plain, &[]), "{n} {window} {stride} {pad}: {schedule}");
        }
    }
}

#[test]
fn packing_is_refused_where_its_size_or_place_is_not_known() {
    let k = matmul("M".into(), "N".into(), "K".into());
    assert!(refused(&k, "pack B at j").message().contains("range of k"));
    assert!(refused(&k, "pack C at j").message().contains("writes it"));
    assert!(refused(&k, "pack D at j").message().contains("no buffer"));
    let k = matmul(4.into(), 4.into(), 4.into());
    assert!(refused(&k, "pack B at j order 0").message().contains("order"));
    assert!(refused(&k, "pack B at j panels 2 4").message().contains("panels"));
    assert!(refused(&k, "vector j 4\npack B at j").message().contains("serial"));
}

#[test]
fn stores_can_go_past_the_caches_and_loads_be_prefetched() {
    let plain = matmul(4.into(), 8.into(), 6.into());
    let k = scheduled(
        &plain,
        "split j 4\nstream C\nprefetch B at k ahead 2 level L2\nprefetch A at i ahead 1\nprefetch A at k ahead 3 of i",
    );
    let (mut streams, mut fetched) = (0, Vec::new());
    k.visit(&mut |node| match node {
        Node::Store(s) => streams += usize::from(s.hint == StoreHint::Stream),
        Node::Prefetch { index, level, .. } => {
            let text: Vec<String> = index.iter().map(|i| k.show(i)).collect();
            fetched.push((text.join(", "), *level));
        }
        _ => {}
    });
    assert_eq!(streams, 1);
    let expected = [("i + 1, 0", Level::L1), ("i + 3, k", Level::L1), ("k + 2, j.0 + j.1", Level::L2)];
    assert_eq!(fetched, expected.map(|(at, level)| (at.to_string(), level)));
    assert_eq!(run(&k, &[]), run(&plain, &[]));
    assert!(refused(&plain, "stream A").message().contains("nothing is stored"));
    assert!(refused(&plain, "prefetch C at k ahead 1").message().contains("nothing inside"));
    assert!(refused(&plain, "prefetch A at i ahead 1 of k").message().contains("is not inside one over `k`"));
}

/// The indices of hints, with the level that they are for.
fn hints(k: &Kernel) -> Vec<(String, Level)> {
    let mut out = Vec::new();
    k.visit(&mut |node| {
        if let Node::Prefetch { index, level, .. } = node {
            let text: Vec<String> = index.iter().map(|i| k.show(i)).collect();
            out.push((text.join(", "), *level));
        }
    });
    out
}

#[test]
fn all_that_a_block_reads_is_fetched_by_rows_together() {
    let plain = matmul(8.into(), 32.into(), 12.into());
    let blocks = "split i 4\nsplit j 16\nreorder i.0 j.0 i.1 j.1\nblock k 6 at j.0\nvector j.1 16\n";
    let k = scheduled(&plain, &format!("{blocks}prefetch B at i.1 ahead 1 of k.0 whole level L2"));
    // Six steps by four rows: two each, the last ones those of the block after; in both blocks.
    let expected = ["i.1*2 + k.0 + 6, j.0", "i.1*2 + k.0 + 7, j.0"];
    let found = hints(&k);
    assert_eq!(found.len(), 4, "{found:?}");
    for (hint, expected) in found.iter().zip(expected.iter().cycle()) {
        assert_eq!(hint, &(expected.to_string(), Level::L2));
    }
    verify(&k).unwrap();
    assert_eq!(run(&k, &[]), run(&plain, &[]));
    // Rows in two loops, and columns that are jammed.
    let parts = "split j.1 4\njam j.1.0\nvector j.1.1 4\nsplit i.1 2\nprefetch B at i.1.1 ahead 1 of k.0 whole level L1";
    let k = scheduled(&plain, &format!("{}{parts}", blocks.replace("vector j.1 16\n", "")));
    assert_eq!(hints(&k).len(), 2 * 2 * 4, "two steps of four vectors, in two blocks: {:?}", hints(&k));
    for (whole, reason) in [
        ("prefetch B at i.1 ahead 1 whole", "write `of`"),
        ("prefetch B at i.1 ahead 1 of k.0 by j.0 whole", "leave out `by`"),
    ] {
        let error = refused(&plain, &format!("{blocks}{whole}"));
        assert!(error.message().contains(reason), "{whole}: {error}");
    }
    let error =
        refused(&plain, "block k 6 at i\npeel j first=1 last=0\nprefetch B at j ahead 1 of k.0 whole");
    assert!(error.message().contains("does not go from 0"), "{error}");
    let error = refused(
        &matmul(2.into(), 8.into(), 2048.into()),
        "block k 1024\nprefetch B at i ahead 1 of k.0 whole",
    );
    assert!(error.message().contains("more than 64 lines"), "{error}");
}

#[test]
fn loops_become_one_whose_iterations_come_in_the_same_order() {
    let plain = picture([5, 6, 4], 3, 3, 1, 1);
    let k = scheduled(&plain, "reorder r1 r2 r\nsplit r 2\njoin r1 r2 r.0 as taps");
    assert!(loops(&k).contains("taps: 0 to 18 by 1 serial\n    r.1: 0 to 2 by 1 serial"), "{}", loops(&k));
    let text = k.to_string();
    for derived in ["axis r1 = taps / 6", "axis r2 = (taps / 2) % 3", "axis r.0 = 2*(taps % 2)"] {
        assert!(text.contains(derived), "{derived}\n{text}");
    }
    verify(&k).unwrap();
    assert_eq!(Kernel::parse(&text).unwrap(), k);
    assert_eq!(run(&k, &[]), run(&plain, &[]));
    // Of outputs, too; loops that are parallel stay so, and those of one iteration count.
    let k = scheduled(&plain, "split j 3\nparallel i\nparallel l\nparallel j.0\njoin i l j.0 as all");
    assert!(loops(&k).starts_with("all: 0 to 30 by 1 parallel\n"), "{}", loops(&k));
    assert_eq!(run(&k, &[]), run(&plain, &[]));
    // Blocks of what was joined.
    for factor in [1, 4, 5] {
        let k = scheduled(&plain, &format!("reorder r1 r2 r\njoin r1 r2 r as k\nblock k {factor} at i"));
        verify(&k).unwrap();
        assert_eq!(run(&k, &[]), run(&plain, &[]), "{factor}");
    }
    for (schedule, reason) in [
        ("join r1 r as t", "directly inside the loop over `r1`"),
        ("join r r1 r2 as i", "an axis `i` already"),
        ("join r x as t", "no loop over `x`"),
        ("unroll r2\njoin r1 r2 as t", "`r2` is unroll"),
        ("parallel i\njoin i l as t", "`l` is serial"),
        ("clip r1\njoin r1 r2 as t", "must be known beforehand"),
        ("peel r1 first=1 last=0\njoin r1 r2 as t", "differ in their bounds"),
    ] {
        let error = schedule.parse::<Schedule>().unwrap().apply(&mut plain.clone()).expect_err(schedule);
        assert!(error.message().contains(reason), "{schedule}: {error}");
    }
}
