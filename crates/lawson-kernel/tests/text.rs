//! The text form: kernels come back from what is printed, and texts that are no kernels say where and why.

#![allow(clippy::unwrap_used)]

#[path = "schedule/kernels.rs"]
mod kernels;

use kernels::{convolution, matmul, picked, scale};
use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_graph::{Code, DType, Dim, Fact, Facts, Relation};
use lawson_kernel::build::{accumulate, for_each, loop_of, step, store};
use lawson_kernel::*;

/// Whether two kernels are equal, asked of both.
fn equal(a: &Kernel, b: &Kernel) -> bool {
    let (one, other) = (a.eq(b), b.eq(a));
    assert_eq!(one, other, "{a}\n{b}");
    one
}

#[test]
fn recurrences_come_back() {
    for state in ["f32 = x[i]", "(f32 = x[i], f32 = 1.0)"] {
        let next = if state.starts_with('(') { "(state(s, 1), state(s, 0))" } else { "state(s)" };
        let text = format!(
            "lawson-kernel 1 kernel @k {{ in x: f32[8] out y: f32[8] axes i, t recurrence s: {state}
             for i in 0 to 8 {{ accumulate s {{ for t in 0 to 4 {{ step s = {next} }} }} y[i] = x[i] }} }}"
        );
        let kernel = Kernel::parse(&text).unwrap();
        assert!(kernel.accs[0].merge.is_none());
        assert!(comes_back(&kernel).contains(&format!("recurrence s: {state}")));
    }
}

/// Prints, reads and prints again; both must be the same.
fn comes_back(kernel: &Kernel) -> String {
    let text = kernel.to_string();
    let read = Kernel::parse(&text).unwrap_or_else(|e| panic!("{text}\n{e}"));
    assert_eq!(read.to_string(), text);
    assert!(equal(&read, kernel), "{text}");
    text
}

#[test]
fn scheduled_kernels_come_back() {
    let symbolic = matmul("M".into(), "N".into(), 64.into());
    let schedules = [
        "",
        "split i 8\nsplit j 48\nreorder i.0 j.0 i.1 j.1\nparallel i.0\nvector j.1 64",
        "split i 6 ladder\nsplit j 16\nreorder i.0 j.0 i.1 j.1\njam i.1\nvector j.1 16\nstream C",
        "split j 16\nreorder j.0 i j.1\npack B at j.0 panels 1 16 level L1\nvector B.1 16\nvector j.1 16",
        "split k 16\nunroll k.1\nprefetch A at k.0 ahead 4\npeel i first=1 last=1",
    ];
    for schedule in schedules {
        let mut k = symbolic.clone();
        schedule.parse::<Schedule>().unwrap().apply(&mut k).unwrap();
        comes_back(&k);
    }
    for schedule in ["", "split i 4\nsplit j 16 clip\nreorder i.0 j.0 i.1 j.1\njam i.1\nvector j.1 16"] {
        let mut k = picked("R".into(), "N".into(), 8.into(), 3);
        schedule.parse::<Schedule>().unwrap().apply(&mut k).unwrap();
        verify(&k).unwrap();
        let text = comes_back(&k);
        assert!(text.contains("x[clamp(ids[i, 0], R), clamp(to[j], N)]"), "{text}");
        assert!(text.contains("0 <= j - clamp(start[0], N - 2) < 3"), "{text}");
    }
    for (n, window, stride, pad) in [(9, 3, 1, 1), (17, 5, 2, 2)] {
        let mut k = convolution(n, window, stride, pad);
        comes_back(&k);
        "split i 4\npack x at i.0\nclip k".parse::<Schedule>().unwrap().apply(&mut k).unwrap();
        comes_back(&k);
    }
}

#[test]
fn a_kernel_reads_like_a_program() {
    let mut k = convolution(9, 3, 1, 1);
    "split i 8\nparallel i.0\nvector i.1 8".parse::<Schedule>().unwrap().apply(&mut k).unwrap();
    assert_eq!(
        comes_back(&k),
        "lawson-kernel 1
kernel @convolution {
  in x: f32[9]
  in w: f32[3]
  out y: f32[9]
  axes i, k, i.0, i.1
  axis i = i.0 + i.1
  acc s: f32 = 0.0 identity 0.0 merge add
  for i.0 in 0 to 9 step 8 parallel {
    for i.1 in 0 to min(8, -i.0 + 9) vector 8 {
      accumulate s {
        for k in 0 to 3 {
          s += (x[i + k - 1] if 0 <= i + k - 1 < 9 else 0.0) * w[k]
        }
      }
      y[i] = s
    }
  }
}
"
    );
}

/// A kernel with some of everything that expressions, indices, names and layouts can be.
fn everything() -> Kernel {
    let mut facts = Facts::new();
    facts.add(Fact::new("N", Relation::Ge, 4)).unwrap();
    facts.add(Fact::new(lawson_graph::parse_dim("N % 4").unwrap(), Relation::Eq, 0)).unwrap();
    let mut k = Kernel::new("every thing", facts);
    let x = k.input("x y", DType::F32, &["N".into(), 8.into()]);
    let ints = k.input("ints", DType::I64, &["'batch size'".into()]);
    let y = k.output("step", DType::F32, &["N".into(), 8.into()]);
    k.buffers[2].layout = Layout::panels(&["N".into(), 8.into()], 1, 4, &[0]);
    let t = k.scratch("t", DType::F16, &[], Level::L2);
    let [i, n, odd, min] = ["i", "N", "an axis", "min"].map(|name| k.add_axis(name));
    let d = k.add_derived("d", Index::axis(i) * 2 - Index::axis(n).floor_div(3) * "N" + 1);
    let load = k.load(
        x,
        vec![Index::axis(i).modulo("N"), Index::axis(odd).min(Index::axis(min)) + Dim::from("N - 3")],
    );
    let consts = [
        Scalar::f32(0.1),
        Scalar::f32(-1e-30),
        Scalar::f32(f32::NEG_INFINITY),
        Scalar::f32(f32::NAN),
        Scalar::f32(-0.0),
        Scalar::f32(16777216.0),
    ];
    let mut value = load;
    for c in consts {
        let c = k.constant(c);
        value = k.sum(value, c);
    }
    // Two uses of one value, a long chain, and numbers of other dtypes.
    value = k.product(value, value);
    for kind in UnaryKind::ALL.iter().filter(|u| u.accepts().1(DType::F32)) {
        value = k.unary(*kind, value);
    }
    for kind in BinaryKind::ALL.iter().filter(|b| b.accepts().1(DType::F32)) {
        value = k.binary(*kind, value, load);
    }
    value = k.extremum(Extremum::Min, value, load);
    value = k.extremum(Extremum::Max, value, load);
    value = k.add(Expr::Fma(value, load, value));
    let whole = k.load(ints, vec![d.into()]);
    let least = k.constant(Scalar::int(DType::I64, i64::MIN));
    let whole = k.binary(BinaryKind::Xor, whole, least);
    let at = k.add(Expr::Index(Index::axis(d) + Index::axis(i).max(0.into()), DType::I64));
    let less = k.compare(CompareKind::Le, whole, at);
    let truth = k.constant(Scalar::int(DType::Bool, 1));
    let less = k.binary(BinaryKind::And, less, truth);
    value = k.add(Expr::Select(less, value, load));
    let bits = k.add(Expr::Bitcast(value, DType::U32));
    let all = k.constant(Scalar::int(DType::U32, i64::from(u32::MAX)));
    let bits = k.binary(BinaryKind::And, bits, all);
    value = k.add(Expr::Bitcast(bits, DType::F32));
    let most = k.constant(Scalar::int(DType::U64, -1));
    let most = k.add(Expr::Cast(most, DType::F32));
    value = k.sum(value, most);
    let half = k.add(Expr::Cast(value, DType::F16));
    let tenth = k.constant(Scalar::float(DType::F16, 0.1));
    let half = k.sum(half, tenth);
    let conditions = vec![
        Condition { index: Index::axis(i) - 1, end: "N".into() },
        Condition { index: Index::axis(n), end: 7.into() },
    ];
    let least = Index::data(ints, vec![Index::axis(i).min(Index::data(ints, vec![0.into()], 9))], "N");
    let least =
        k.add(Expr::Index((least * 3).modulo(5) - Index::data(ints, vec![d.into()], "N - 1"), DType::I64));
    let half = {
        let least = k.add(Expr::Cast(least, DType::F16));
        k.sum(half, least)
    };
    let guarded = k.load_guarded(x, vec![i.into(), n.into()], Guard { conditions, otherwise: load });
    // An accumulator of two components, which begins with the result of one declared after it.
    let zero = k.f32(0.0);
    let state = State { dtype: DType::F32, init: zero };
    let pair = k.add_acc("true", vec![state.clone(), state], vec![Scalar::f32(0.0); 2], |k, id| {
        let [a, b] = [0, 1].map(|c| k.add(Expr::State(id, c)));
        let [c, d] = [0, 1].map(|c| k.add(Expr::Other(id, c)));
        vec![k.product(a, d), k.sum(b, c)]
    });
    let most = k.max_acc("m");
    k.accs[0].state[1].init = k.result(most);
    let results = [k.add(Expr::Result(pair, 0)), k.add(Expr::Result(pair, 1))];
    let sum = k.sum(results[0], results[1]);
    let (state0, state_m) = (k.add(Expr::State(pair, 1)), k.state(most));
    let greater = k.extremum(Extremum::Max, state_m, guarded);
    let steps = Node::Step { acc: pair, values: vec![state0, guarded] };
    let inner = vec![
        accumulate(most, vec![for_each(odd, 8, vec![step(most, greater)])]),
        accumulate(pair, vec![loop_of(min, 1, Dim::from("N / 4"), 3, Kind::Unroll, vec![steps])]),
        store(t, vec![], half),
        Node::Prefetch {
            buffer: x,
            index: vec![Index::axis(i) + Dim::from("2*N"), 0.into()],
            level: Level::L1,
        },
        store(y, vec![i.into(), n.into()], sum),
        store(y, vec![i.into(), 0.into()], value),
    ];
    k.body = vec![loop_of(i, 0, Dim::from("N"), 1, Kind::Parallel, vec![for_each(n, 8, inner)])];
    k
}

#[test]
fn everything_comes_back() {
    let k = everything();
    let text = comes_back(&k);
    assert!(text.contains("axes i, \"N\", \"an axis\", \"min\", d\n"), "{text}");
    assert!(text.contains("out step: f32[N, 8] layout (d1 / 4: 4*N, d0: 4, d1 % 4: 1) size 8*N\n"), "{text}");
}

#[test]
fn equality_sees_every_difference_but_numbering() {
    let k = everything();
    let mut renumbered = Kernel::parse(&k.to_string()).unwrap();
    assert!(equal(&renumbered, &k));
    renumbered.f32(12345.0);
    assert!(equal(&renumbered, &k), "an expression that nothing uses does not count");
    let differs = |change: fn(&mut Kernel)| {
        let mut other = k.clone();
        change(&mut other);
        assert!(!equal(&other, &k));
    };
    differs(|k| k.name.push('x'));
    differs(|k| k.axes[0].name.push('x'));
    differs(|k| k.buffers[0].dims[1] = 9.into());
    differs(|k| k.accs[1].merge.as_mut().unwrap().identity[0] = Scalar::f32(0.0));
    differs(|k| k.accs[1].merge = None);
    differs(|k| k.accs[1].state[0].init = k.f32(1.0));
    differs(|k| k.body.clear());
    differs(|k| {
        let Node::For(f) = &mut k.body[0] else { panic!() };
        f.kind = Kind::Serial;
    });
    differs(|k| {
        let one = k.f32(1.0);
        let Node::For(f) = &mut k.body[0] else { panic!() };
        let Node::For(f) = &mut f.body[0] else { panic!() };
        let Node::Store(s) = &mut f.body[4] else { panic!() };
        s.value = one;
    });
}

#[test]
fn deep_chains_come_back() {
    let mut k = scale(8.into());
    let mut value = k.f32(2.0);
    let one = k.f32(1.0);
    for i in 0..20_000 {
        value = if i % 2 == 0 { k.unary(UnaryKind::Exp, value) } else { k.sum(one, value) };
    }
    let Node::For(f) = &mut k.body[0] else { panic!() };
    let Node::Store(s) = &mut f.body[0] else { panic!() };
    s.value = value;
    comes_back(&k);
    verify(&k).unwrap();
}

#[test]
fn a_broken_kernel_can_still_be_printed() {
    let mut k = scale(8.into());
    let n = k.exprs.len() as u32;
    k.exprs.push(Expr::Unary(UnaryKind::Neg, ExprId(n)));
    k.body.push(store(BufferId(9), vec![Index::axis(AxisId(7))], ExprId(n)));
    k.body.push(accumulate(AccId(3), vec![step(AccId(3), ExprId(999))]));
    let text = k.to_string();
    for shown in ["<buffer 9>", "<axis 7>", "<accumulator 3>", "<expression 999>"] {
        assert!(text.contains(shown), "{text}");
    }
}

#[test]
fn nesting_is_limited() {
    let head = "lawson-kernel 1\nkernel @k { out y: f32[] axes i\n";
    let cases = [
        format!("{head} y[] = {}1.0", "(".repeat(100_000)),
        format!("{head} y[] = {}", "neg(".repeat(100_000)),
        format!("{head} y[{}", "(".repeat(100_000)),
        format!("{head} y[i{}", " / 2".repeat(100_000)),
        format!("{head} y[{}", "-".repeat(100_000)),
        format!("{head} y[min(i{}", ", i + 1".repeat(100_000)),
        format!("{head} {}", "for i in 0 to 1 {".repeat(100_000)),
    ];
    for text in cases {
        let error = Kernel::parse(&text).unwrap_err();
        assert_eq!(error.code(), Code::Syntax, "{}", error.message());
        assert!(error.message().contains("at most"), "{}", error.message());
    }
}

#[test]
fn mangled_texts_are_errors_or_kernels_and_never_panic() {
    let text = everything().to_string();
    // A generator that gives the same texts every time.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let pieces =
        ["", "(", ")", "{", "}", "%1", "\"", "0", "9999999999999999999", "if", "é", "[", "N", ",", "="];
    let chars: Vec<char> = text.chars().collect();
    for _ in 0..3000 {
        let (from, length) = (random(chars.len()), random(12));
        let to = (from + length).min(chars.len());
        let piece = pieces[random(pieces.len())];
        let mangled: String =
            chars[..from].iter().copied().chain(piece.chars()).chain(chars[to..].iter().copied()).collect();
        if let Ok(kernel) = Kernel::parse(&mangled) {
            let _ = verify(&kernel);
            let printed = kernel.to_string();
            assert!(Kernel::parse(&printed).unwrap_or_else(|e| panic!("{printed}\n{e}")) == kernel);
        }
    }
}

#[test]
fn the_page_about_kernels_says_what_is_so() {
    let page = include_str!("../../../docs/kernel-form.md");
    let block = |of: &str| {
        let begin = page.find(&format!("```{of}\n")).unwrap() + of.len() + 4;
        &page[begin..begin + page[begin..].find("```").unwrap()]
    };
    let mut kernel = Kernel::parse(block("krn")).unwrap_or_else(|e| panic!("{e}"));
    verify(&kernel).unwrap();
    block("schedule").parse::<Schedule>().unwrap().apply(&mut kernel).unwrap();
    verify(&kernel).unwrap();
    comes_back(&kernel);
    for line in page.lines().filter(|l| l.starts_with("| `") && l.contains("first=1")) {
        assert!(line.split('`').nth(1).unwrap().parse::<Schedule>().is_ok(), "{line}");
    }
}

#[test]
fn brackets_stand_where_they_are_needed() {
    let text = |value: &str| {
        let head =
            "lawson-kernel 1\nkernel @k {\n  in a: f32[]\n  in b: f32[]\n  in c: f32[]\n  out y: f32[]\n";
        let text = format!("{head}  y[] = {value}\n}}\n");
        let printed = comes_back(&Kernel::parse(&text).unwrap());
        printed.lines().find_map(|l| l.strip_prefix("  y[] = ").map(str::to_string)).unwrap()
    };
    for value in [
        "a[] + b[] + c[]",
        "a[] + (b[] + c[])",
        "a[] - (b[] - c[])",
        "a[] * b[] + c[]",
        "a[] * (b[] + c[])",
        "a[] / (b[] * c[])",
        "a[] - b[] * c[]",
        "a[] + -1.0",
        "neg(a[] + b[]) * c[]",
    ] {
        assert_eq!(text(value), value);
    }
    assert_eq!(text("((a[]) + (b[] * c[]))"), "a[] + b[] * c[]");
}
