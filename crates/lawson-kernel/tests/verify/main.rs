//! The verifier: every invariant is broken alone, and what holds is accepted.

#![allow(clippy::unwrap_used)]

#[path = "../schedule/kernels.rs"]
mod kernels;
mod meet;
mod ranges;

use kernels::{convolution, matmul, picked, scale};
use lawson_graph::op::{BinaryKind, UnaryKind};
use lawson_graph::{Code, DType, Dim, Fact, Facts, Relation};
use lawson_kernel::build::{accumulate, for_each, loop_of, step, store};
use lawson_kernel::*;

/// The verifier's error, whose message must contain `reason`.
fn refused(kernel: &Kernel, code: Code, reason: &str) {
    let error = verify(kernel).expect_err(reason);
    assert_eq!(error.code(), code, "{error}");
    assert!(error.message().contains(reason), "{error}");
}

/// A matmul with something changed.
fn broken(change: impl FnOnce(&mut Kernel)) -> Kernel {
    let mut k = matmul(4.into(), 8.into(), 6.into());
    verify(&k).unwrap();
    change(&mut k);
    k
}

/// The loop at the root.
fn root(k: &mut Kernel) -> &mut For {
    let Node::For(f) = &mut k.body[0] else { panic!("no loop at the root") };
    f
}

/// The only loop inside a loop.
fn inner(f: &mut For) -> &mut For {
    let Node::For(f) = &mut f.body[0] else { panic!("no loop inside") };
    f
}

/// `x[8] -> y[8]`, with a body made from the ids of input, output and axis.
fn small(body: impl FnOnce(&mut Kernel, BufferId, BufferId, AxisId) -> Vec<Node>) -> Kernel {
    let mut k = Kernel::new("small", Facts::new());
    let (x, y) = (k.input("x", DType::F32, &[8.into()]), k.output("y", DType::F32, &[8.into()]));
    let i = k.add_axis("i");
    k.body = body(&mut k, x, y, i);
    k
}

#[test]
fn kernels_as_lowering_makes_them_are_accepted() {
    verify(&scale("N".into())).unwrap();
    verify(&matmul("M".into(), "N".into(), "K".into())).unwrap();
    verify(&convolution(9, 3, 2, 1)).unwrap();
    verify(&picked("R".into(), "N".into(), "M".into(), 3)).unwrap();
}

/// `y[i] = x[clamp(ids[…], end)]` with buffers, the place and the end changed.
fn picking(role: Role, dtype: DType, place: impl Fn(AxisId) -> Index, end: Dim) -> Kernel {
    let mut k = small(|k, x, y, i| {
        let layout = Layout::row_major(&[8.into()]);
        let dims = vec![8.into()];
        let ids = Buffer { name: "ids".into(), dtype, dims, layout, role, finite: false };
        let ids = k.add_buffer(ids);
        let value = k.load(x, vec![Index::data(ids, vec![place(i)], end.clone())]);
        let zero = k.constant(Scalar::int(dtype, 0));
        let mut body = vec![store(y, vec![i.into()], value)];
        if role != Role::Input {
            body.insert(0, store(ids, vec![i.into()], zero));
        }
        vec![for_each(i, 8, body)]
    });
    k.name = "picking".into();
    k
}

#[test]
fn elements_that_indices_mention_are_there_and_stay_as_they_are() {
    let at = |i: AxisId| Index::axis(i);
    verify(&picking(Role::Input, DType::I32, at, 8.into())).unwrap();
    verify(&picking(Role::Input, DType::I64, at, 3.into())).unwrap();
    let wider = picking(Role::Input, DType::I64, at, 9.into());
    refused(&wider, Code::KernelBounds, "clamp(ids[i], 9) lies in 0 to 8");
    let outside = picking(Role::Input, DType::I64, |i| Index::axis(i) + 1, 8.into());
    refused(&outside, Code::KernelBounds, "i + 1 lies in 0 to 8, dimension 0 of `ids`");
    let unset = picking(Role::Input, DType::I64, |_| AxisId(7).into(), 8.into());
    refused(&unset, Code::KernelReference, "no axis number 7");
    for role in [Role::Output, Role::Scratch(Level::L1)] {
        refused(&picking(role, DType::I32, at, 8.into()), Code::KernelScratch, "no input: it could change");
    }
    refused(&picking(Role::Input, DType::U32, at, 8.into()), Code::KernelDType, "whose elements are u32");
    refused(&picking(Role::Input, DType::I32, at, "N".into()), Code::KernelReference, "which may be 0");
    // A guard does not help: what says where others lie is read before them.
    let mut guarded = picking(Role::Input, DType::I32, |i| Index::axis(i) + 1, 8.into());
    let otherwise = guarded.f32(0.0);
    let conditions = vec![Condition { index: Index::axis(AxisId(0)) + 1, end: 8.into() }];
    for e in &mut guarded.exprs {
        if let Expr::Load(load) = e {
            load.guard = Some(Guard { conditions: conditions.clone(), otherwise: ExprId(0) });
        }
    }
    guarded.exprs.swap(0, otherwise.0 as usize);
    let Node::Store(s) = &mut root(&mut guarded).body[0] else { panic!() };
    s.value = otherwise;
    refused(&guarded, Code::KernelBounds, "dimension 0 of `ids`");
}

#[test]
fn loops_and_derived_axes_do_not_depend_on_memory() {
    let bound = |change: fn(&mut Kernel, Index)| {
        let mut k = picked(4.into(), 5.into(), 3.into(), 2);
        let start = k.buffers.iter().position(|b| b.name == "start").unwrap();
        let datum = Index::data(BufferId(start as u32), vec![0.into()], 3);
        change(&mut k, datum);
        k
    };
    let refuse = |k: &Kernel| refused(k, Code::KernelAxis, "mention no elements of buffers");
    refuse(&bound(|k, datum| root(k).end = datum));
    refuse(&bound(|k, datum| root(k).begin = datum));
    refuse(&bound(|k, datum| {
        k.add_derived("d", datum);
    }));
}

#[test]
fn ids_point_at_what_exists() {
    refused(&broken(|k| root(k).axis = AxisId(99)), Code::KernelReference, "no axis number 99");
    refused(&broken(|k| root(k).end = AxisId(9).into()), Code::KernelReference, "no axis number 9");
    let no_buffer = broken(|k| {
        let value = ExprId(0);
        root(k).body.push(store(BufferId(7), vec![], value));
    });
    refused(&no_buffer, Code::KernelReference, "no buffer number 7");
    let no_acc = broken(|k| k.body.push(accumulate(AccId(3), vec![])));
    refused(&no_acc, Code::KernelReference, "no accumulator number 3");
    let no_expr = broken(|k| k.body.push(store(BufferId(2), vec![0.into(), 0.into()], ExprId(999))));
    refused(&no_expr, Code::KernelReference, "no expression number 999");
    let component = broken(|k| {
        k.add(Expr::Result(AccId(0), 1));
    });
    refused(&component, Code::KernelReference, "component 1");
}

#[test]
fn operands_stand_before_what_uses_them() {
    let late = broken(|k| {
        let n = k.exprs.len() as u32;
        k.exprs.push(Expr::Unary(UnaryKind::Neg, ExprId(n)));
    });
    refused(&late, Code::KernelReference, "does not stand before it");
}

#[test]
fn counts_agree() {
    refused(
        &broken(|k| k.body.push(store(BufferId(2), vec![0.into()], ExprId(0)))),
        Code::KernelReference,
        "2 dimensions",
    );
    refused(
        &broken(|k| k.accs[0].merge.as_mut().unwrap().values.clear()),
        Code::KernelReference,
        "1 components",
    );
    let no_state = broken(|k| k.accs[0] = Accumulator { name: "c".into(), state: vec![], merge: None });
    refused(&no_state, Code::KernelReference, "component 0");
    let unused = broken(|k| k.accs.push(Accumulator { name: "d".into(), state: vec![], merge: None }));
    refused(&unused, Code::KernelReference, "at least one component");
    refused(&broken(|k| root(k).step = 0), Code::KernelReference, "positive steps");
    let steps = broken(|k| k.body.push(Node::Step { acc: AccId(0), values: vec![] }));
    refused(&steps, Code::KernelReference, "given 0 values");
    let divided = broken(|k| root(k).end = Index::atom(Atom::Div(Box::new(4.into()), 0.into())));
    refused(&divided, Code::KernelReference, "divided by 0");
}

#[test]
fn names_are_used_once() {
    refused(&broken(|k| k.axes[1].name = "i".into()), Code::KernelReference, "axes are called `i`");
    refused(&broken(|k| k.buffers[1].name = "A".into()), Code::KernelReference, "buffers are called `A`");
    let two = broken(|k| {
        let zero = k.f32(0.0);
        k.sum_acc("c", DType::F32, zero);
    });
    refused(&two, Code::KernelReference, "accumulators are called `c`");
}

#[test]
fn derived_axes_do_not_depend_on_themselves() {
    let cycle = broken(|k| {
        let a = k.add_axis("a");
        let b = k.add_derived("b", Index::axis(a) + 1);
        k.axes[a.0 as usize].derived = Some(Index::axis(b));
    });
    refused(&cycle, Code::KernelAxis, "derived from itself");
}

#[test]
fn loops_run_over_axes_that_are_not_derived_and_not_twice() {
    refused(&broken(|k| k.axes[0].derived = Some(1.into())), Code::KernelAxis, "no loop runs over it");
    let twice = broken(|k| {
        let i = root(k).axis;
        inner(root(k)).axis = i;
    });
    refused(&twice, Code::KernelAxis, "stands inside another");
    refused(&broken(|k| root(k).begin = (-1).into()), Code::KernelAxis, "may be negative");
}

#[test]
fn axes_are_used_inside_their_loops() {
    let outside = small(|k, x, y, i| {
        let value = k.load(x, vec![0.into()]);
        vec![store(y, vec![i.into()], value)]
    });
    refused(&outside, Code::KernelAxis, "`i` has no value here");
    let in_value = small(|k, x, y, i| {
        let value = k.load(x, vec![i.into()]);
        vec![store(y, vec![0.into()], value)]
    });
    refused(&in_value, Code::KernelAxis, "`i` has no value here");
    refused(&broken(|k| root(k).end = AxisId(1).into()), Code::KernelAxis, "`j` has no value here");
}

#[test]
fn dtypes_agree() {
    type Case = (&'static str, fn(&mut Kernel));
    let cases: [Case; 10] = [
        ("f32 and i32", |k| {
            let (a, b) = (k.f32(1.0), k.constant(Scalar::int(DType::I32, 1)));
            k.sum(a, b);
        }),
        ("not bool", |k| {
            let a = k.constant(Scalar::int(DType::Bool, 1));
            k.unary(UnaryKind::Neg, a);
        }),
        ("not f32", |k| {
            let a = k.f32(1.0);
            k.binary(BinaryKind::Shl, a, a);
        }),
        ("takes a bool", |k| {
            let a = k.f32(1.0);
            k.add(Expr::Select(a, a, a));
        }),
        ("takes floats", |k| {
            let a = k.constant(Scalar::int(DType::I32, 1));
            k.add(Expr::Fma(a, a, a));
        }),
        ("different widths", |k| {
            let a = k.f32(1.0);
            k.add(Expr::Bitcast(a, DType::I64));
        }),
        ("value elsewhere", |k| {
            let otherwise = k.constant(Scalar::int(DType::I32, 0));
            let conditions = vec![Condition { index: 0.into(), end: 1.into() }];
            k.load_guarded(BufferId(0), vec![0.into(), 0.into()], Guard { conditions, otherwise });
        }),
        ("its init, identity or merge", |k| {
            k.accs[0].merge.as_mut().unwrap().identity[0] = Scalar::int(DType::I32, 0)
        }),
        ("the value i32", |k| {
            let value = k.constant(Scalar::int(DType::I32, 0));
            k.body.push(store(BufferId(2), vec![0.into(), 0.into()], value));
        }),
        ("the state is f32", |k| {
            let value = k.constant(Scalar::int(DType::I32, 0));
            k.body.push(accumulate(AccId(0), vec![step(AccId(0), value)]));
        }),
    ];
    for (reason, change) in cases {
        refused(&broken(change), Code::KernelDType, reason);
    }
}

#[test]
fn layouts_give_every_element_a_place_of_its_own() {
    let dims: [Dim; 2] = [6.into(), 8.into()];
    let digit = |dim, divide, modulo, stride: i64| Digit { dim, divide, modulo, stride: stride.into() };
    let with = |digits: Vec<Digit>, size: i64| {
        broken(|k| k.buffers[1].layout = Layout { digits, size: size.into() })
    };
    verify(&broken(|k| k.buffers[1].layout = Layout::panels(&dims, 1, 3, &[0]))).unwrap();
    verify(&broken(|k| k.buffers[1].layout = Layout::permuted(&dims, &[1, 0]))).unwrap();
    verify(&with(vec![digit(0, 1, None, 1), digit(1, 1, None, 10)], 76)).unwrap();
    let refused = |k: &Kernel, reason: &str| refused(k, Code::KernelLayout, reason);
    refused(&with(vec![digit(0, 1, None, 8)], 48), "dimension 1");
    refused(&with(vec![digit(0, 1, None, 8), digit(1, 2, None, 1)], 48), "dimension 1");
    refused(&with(vec![digit(0, 1, None, 8), digit(1, 1, Some(4), 1)], 48), "dimension 1");
    refused(&with(vec![digit(0, 1, None, 7), digit(1, 1, None, 1)], 48), "apart");
    refused(&with(vec![digit(0, 1, None, 8), digit(1, 1, None, 1)], 47), "size");
    refused(&with(vec![digit(2, 1, None, 8)], 48), "dimension 2");
    refused(&with(vec![digit(0, 0, None, 8)], 48), "not positive");
    let symbolic = |size: &str| {
        let mut k = matmul("M".into(), "N".into(), "K".into());
        k.buffers[1].layout.size = size.into();
        k
    };
    verify(&symbolic("K*N + 4")).unwrap();
    refused(&symbolic("K*N - 1"), "size");
}

#[test]
fn elements_lie_in_their_buffers() {
    refused(&broken(|k| root(k).end = 5.into()), Code::KernelBounds, "i lies in 0 to 4");
    let read = small(|k, x, y, i| {
        let value = k.load(x, vec![Index::axis(i) + 1]);
        vec![for_each(i, 8, vec![store(y, vec![i.into()], value)])]
    });
    refused(&read, Code::KernelBounds, "i + 1 lies in 0 to 8, dimension 0 of `x`");
    let guarded = |end: i64| {
        small(|k, x, y, i| {
            let otherwise = k.f32(0.0);
            let index = Index::axis(i) + 1;
            let conditions = vec![Condition { index: index.clone(), end: end.into() }];
            let value = k.load_guarded(x, vec![index], Guard { conditions, otherwise });
            vec![for_each(i, 8, vec![store(y, vec![i.into()], value)])]
        })
    };
    verify(&guarded(8)).unwrap();
    refused(&guarded(9), Code::KernelBounds, "dimension 0 of `x`");
}

#[test]
fn facts_about_parameters_count() {
    let kernel = |facts: Facts| {
        let mut k = scale("N".into());
        k.facts = facts;
        root(&mut k).end = 4.into();
        k
    };
    refused(&kernel(Facts::new()), Code::KernelBounds, "0 to N");
    let mut facts = Facts::new();
    facts.add(Fact::new("N", Relation::Ge, 4)).unwrap();
    verify(&kernel(facts)).unwrap();
}

#[test]
fn kinds_can_be_executed() {
    let refused = |k: &Kernel, reason: &str| refused(k, Code::KernelKind, reason);
    refused(&broken(|k| inner(root(k)).kind = Kind::Parallel), "at the root");
    let beside = broken(|k| {
        root(k).kind = Kind::Parallel;
        inner(root(k)).kind = Kind::Parallel;
        let twin = root(k).body[0].clone();
        root(k).body.push(twin);
    });
    refused(&beside, "alone");
    let vectors = broken(|k| {
        root(k).kind = Kind::Vector(4);
        inner(root(k)).kind = Kind::Vector(8);
    });
    refused(&vectors, "inside another");
    refused(&broken(|k| root(k).kind = Kind::Vector(3)), "lanes");
    refused(&broken(|k| root(k).kind = Kind::Vector(2)), "at most 2");
    let mut symbolic = matmul("M".into(), 8.into(), 6.into());
    root(&mut symbolic).kind = Kind::Jam;
    refused(&symbolic, "known beforehand");
    let skewed = |kind| {
        small(|k, x, y, i| {
            let j = k.add_axis("j");
            let value = k.load(x, vec![i.into()]);
            let body = vec![for_each(j, Index::axis(i) + 1, vec![])];
            vec![loop_of(i, 0, 8, 1, kind, [body, vec![store(y, vec![i.into()], value)]].concat())]
        })
    };
    verify(&skewed(Kind::Serial)).unwrap();
    refused(&skewed(Kind::Jam), "may not bound `j`");
    refused(&skewed(Kind::Vector(8)), "may not bound `j`");
}

#[test]
fn accumulators_are_used_where_they_have_a_state() {
    let refused = |k: &Kernel, reason: &str| refused(k, Code::KernelAccumulator, reason);
    let with = |body: fn(&mut Kernel, AccId, BufferId) -> Vec<Node>| {
        small(|k, _, y, _| {
            let zero = k.f32(0.0);
            let acc = k.sum_acc("s", DType::F32, zero);
            body(k, acc, y)
        })
    };
    refused(&with(|k, acc, _| vec![step(acc, k.f32(1.0))]), "outside of the `accumulate`");
    refused(&with(|_, acc, _| vec![accumulate(acc, vec![accumulate(acc, vec![])])]), "inside itself");
    refused(&with(|k, acc, y| vec![store(y, vec![0.into()], k.result(acc))]), "has no result here");
    let too_early = with(|k, acc, y| vec![accumulate(acc, vec![store(y, vec![0.into()], k.result(acc))])]);
    refused(&too_early, "has no result here");
    let left = with(|k, acc, y| {
        let j = k.add_axis("j");
        vec![for_each(j, 2, vec![accumulate(acc, vec![])]), store(y, vec![0.into()], k.result(acc))]
    });
    refused(&left, "has no result here");
    refused(&with(|k, acc, y| vec![store(y, vec![0.into()], k.state(acc))]), "own steps and its merge");
    let other = with(|k, acc, _| {
        let other = k.add(Expr::Other(acc, 0));
        vec![accumulate(acc, vec![step(acc, other)])]
    });
    refused(&other, "own steps and its merge");
    let foreign = with(|k, acc, _| {
        let zero = k.f32(0.0);
        let inner = k.sum_acc("t", DType::F32, zero);
        let state = k.state(inner);
        vec![accumulate(inner, vec![accumulate(acc, vec![step(acc, state)])])]
    });
    refused(&foreign, "own steps and its merge");
    let merge = with(|k, acc, _| {
        let x = k.load(BufferId(0), vec![0.into()]);
        k.accs[acc.0 as usize].merge.as_mut().unwrap().values = vec![x];
        vec![]
    });
    refused(&merge, "the two states alone");
}

/// Two tensors one behind the other, whose rows are told apart by a quotient.
fn joined(size: i64) -> Kernel {
    let text = format!(
        "lawson-kernel 1
         kernel @joined {{
           in a: f32[{size}]
           in b: f32[3, 3]
           out y: f32[18]
           axes i
           for i in 0 to 18 {{
             y[i] = (a[i] if 0 <= i / 3 < 3 else (b[i / 3 - 3, i % 3] if 0 <= i / 3 - 3 < 3 else 0.0))
           }}
         }}"
    );
    Kernel::parse(&text).unwrap()
}

#[test]
fn few_points_are_looked_at_one_by_one() {
    verify(&joined(9)).unwrap();
    refused(&joined(8), Code::KernelBounds, "i lies in 0 to 8");
    // Loops whose bounds depend on others, and steps.
    let window = |rows: i64| {
        let text = format!(
            "lawson-kernel 1
             kernel @window {{
               in x: f32[{rows}, 5]
               out y: f32[40]
               axes i, r
               acc s: f32 = 0.0 identity 0.0 merge add
               for i in 0 to 40 {{
                 accumulate s {{
                   for r in 0 to min(2, -i + 40) {{
                     step s = state(s) + (x[(r + (i + 1) / 2 + 4) / 5 - 1, (r + (i + 1) / 2 + 4) % 5] if 0 <= i + 2*r - 1 < 40 else 0.0)
                   }}
                 }}
                 y[i] = s
               }}
             }}"
        );
        Kernel::parse(&text).unwrap()
    };
    verify(&window(4)).unwrap();
    refused(&window(3), Code::KernelBounds, "lies in 0 to 3");
}

#[test]
fn what_is_beyond_the_proofs_is_checked_where_it_is_read() {
    let text = "lawson-kernel 1
        kernel @joined {
          in a: f32[8*M]
          in b: f32[4, 2, M]
          out y: f32[16*M]
          axes i
          for i in 0 to 16*M {
            y[i] = (a[i] if 0 <= (i / M) / 2 < 4 else (b[(i / M) / 2 - 4, (i / M) % 2, i % M] if 0 <= (i / M) / 2 - 4 < 4 else 0.0))
          }
        }";
    let kernel = Kernel::parse(text).unwrap();
    refused(&kernel, Code::KernelBounds, "i lies in 0 to 8*M");
    let checked = kernel.with_checked_loads().unwrap();
    verify(&checked).unwrap();
    assert!(checked.with_checked_loads().is_none());
    let run = |k: &Kernel| {
        let floats =
            |n: usize, from: f32| (0..n).flat_map(|i| (from + i as f32).to_le_bytes()).collect::<Vec<u8>>();
        let mut buffers = vec![floats(24, 0.0), floats(24, 100.0), vec![0u8; 192]];
        eval::run(k, &[(lawson_graph::Symbol::new("M"), 3)], &mut buffers, &eval::Options::default())
            .unwrap();
        buffers[2].clone()
    };
    assert_eq!(run(&kernel), run(&checked));
    // Without a guard there is nothing to say elsewhere.
    assert!(scale("N".into()).with_checked_loads().is_none());
}

/// A recurrence over `t` for every `i`, which shows its state on the way.
const RECURRENCE: &str = "lawson-kernel 1 kernel @k {
    in x: f32[8] out y: f32[8] out all: f32[4, 8] axes i, t
    recurrence s: (f32 = x[i], f32 = 1.0)
    for i in 0 to 8 {
      accumulate s {
        for t in 0 to 4 {
          all[t, i] = state(s, 0)
          step s = (state(s, 1), state(s, 0) + state(s, 1))
        }
      }
      y[i] = result(s, 1)
    } }";

#[test]
fn recurrences_go_in_order() {
    let k = Kernel::parse(RECURRENCE).unwrap();
    verify(&k).unwrap();
    let scheduled = |schedule: &str| {
        let mut k = k.clone();
        schedule.parse::<Schedule>().unwrap().apply(&mut k).unwrap();
        k
    };
    verify(&scheduled("vector i 8")).unwrap();
    verify(&scheduled("split i 2\njam i.1\nunroll t")).unwrap();
    for kind in ["vector t 4", "jam t"] {
        refused(&scheduled(kind), Code::KernelKind, "iterations of `t` step the recurrence `s`");
    }
    let reordered =
        "split t 2\nreorder t.1 t.0".parse::<Schedule>().unwrap().apply(&mut k.clone()).unwrap_err();
    assert!(reordered.message().contains("go in order"), "{reordered}");
    // The state of a monoid is not shown: iterations may have parts of it.
    let sum = RECURRENCE.replace("recurrence s", "acc s").replace("x[i],", "x[i] identity 0.0,");
    let sum =
        sum.replace("1.0)", "1.0 identity 0.0) merge (state(s, 0) + other(s, 0), state(s, 1) + other(s, 1))");
    refused(&Kernel::parse(&sum).unwrap(), Code::KernelAccumulator, "known only to its own steps");
}

#[test]
fn steps_are_left_out_of_sums_of_products_with_what_is_finite() {
    let plain = || {
        let mut k = matmul(4.into(), 32.into(), 64.into());
        k.buffers[1].finite = true;
        k
    };
    let try_schedule = |mut k: Kernel, schedule: &str| {
        let done = schedule.parse::<Schedule>().unwrap().apply(&mut k);
        done.and_then(|()| verify(&k)).map(|()| k)
    };
    let vectors = "split j 16 cover\njam j.0\nvector j.1 16\nskip k";
    let skipping = try_schedule(plain(), vectors).unwrap();
    // As text, too.
    let text = skipping.to_string();
    assert!(text.contains("in B: f32[64, 32] finite") && text.contains("for k in 0 to 64 skip {"), "{text}");
    assert_eq!(Kernel::parse(&text).unwrap(), skipping);

    let because = |k: Kernel, schedule: &str, reason: &str| {
        let error = try_schedule(k, schedule).expect_err(reason);
        assert!(error.message().contains(reason), "{error}");
    };
    because(matmul(4.into(), 32.into(), 64.into()), vectors, "an element of a buffer that is finite");
    because(matmul(4.into(), 32.into(), 65.into()), "skip k", "a number up to 64");
    because(plain(), "skip i", "has one step of a sum in it");
    // Rows have zeros in different places.
    because(plain(), "jam i\nskip k", "what `k` is skipped by differs");
    // What is skipped by lies side by side.
    let mut transposed = plain();
    transposed.buffers[0].layout = Layout::permuted(&transposed.buffers[0].dims, &[1, 0]);
    because(transposed, vectors, "lies side by side");
    // Of what is guarded, all is there or nothing is, and nothing is 0.
    let guarded = |guard: &str| {
        let text = plain().to_string().replace("A[i, k] *", &format!("(A[i, k] if {guard}) *"));
        Kernel::parse(&text).unwrap()
    };
    try_schedule(guarded("0 <= 2*i - 1 < 4 else 0.0"), vectors).unwrap();
    because(guarded("0 <= 2*i - 1 < 4 else 1.0"), vectors, "lies side by side");
    because(guarded("0 <= k - 1 < 40 else 0.0"), vectors, "lies side by side");
    because(guarded("0 <= j - 1 < 20 else 0.0"), vectors, "what `k` is skipped by differs");
    let text = plain().to_string().replace("A[i, k] * B[k, j]", "A[i, k] + B[k, j]");
    let sums = Kernel::parse(&text).unwrap();
    because(sums, vectors, "adds products to a sum");
}
