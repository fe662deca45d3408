//! Kernels written by hand whose lanes read and write in uncommon places, against the evaluator.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;

use common::{levels, machine_and_evaluator};
use lawson_cpu::{Isa, Listing, emit};
use lawson_graph::DType::{BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
use lawson_graph::op::{BinaryKind, CompareKind};
use lawson_graph::{DType, Dim, Facts, Symbol};
use lawson_kernel::build::{for_each, store};
use lawson_kernel::machine::Machine;
use lawson_kernel::schedule::Schedule;
use lawson_kernel::{AxisId, Condition, Expr, Guard, Index, Kernel, Node, Scalar};

/// Vectors of as many lanes as there are of 32 bits.
fn vector(isa: Isa) -> String {
    let lanes = isa.of(&Machine::default()).lanes;
    format!("split i {lanes} clip\nvector i.1 {lanes}\n")
}

/// The bytes of distinct numbers.
fn numbers(dtype: DType, n: i64) -> Vec<u8> {
    match dtype {
        F32 => (0..n).flat_map(|i| (i as f32).to_le_bytes()).collect(),
        Bool => (0..n).map(|i| u8::from(i * 7 % 3 == 1)).collect(),
        // Some far outside of 32 bits, of either sign.
        I64 => (0..n).flat_map(|i| ((i - 2) << (i % 2 * 40)).to_le_bytes()).collect(),
        F64 => (0..n).flat_map(|i| (i as f64).to_le_bytes()).collect(),
        F16 => (0..n).flat_map(|i| (0x3C00 + i as u16 % 999).to_le_bytes()).collect(),
        BF16 => (0..n).flat_map(|i| (0x3F80 + i as u16 % 99).to_le_bytes()).collect(),
        I32 => (0..n).flat_map(|i| (i as i32).to_le_bytes()).collect(),
        _ => (0..n).flat_map(|i| ((i - 2) * 37).to_le_bytes()[..dtype.bits() / 8].to_vec()).collect(),
    }
}

/// A kernel over `i` up to `end`, with its axis, scheduled.
fn kernel(end: &Dim, schedule: &str, body: impl FnOnce(&mut Kernel, AxisId) -> Vec<Node>) -> Kernel {
    let mut k = Kernel::new("lanes", Facts::new());
    let i = k.add_axis("i");
    let stages = body(&mut k, i);
    k.body = vec![for_each(i, end.clone(), stages)];
    schedule.parse::<Schedule>().unwrap().apply(&mut k).unwrap();
    k
}

/// Runs at several sizes. The buffers are as many elements long as is said, by `N` and `M`.
fn check(isa: Isa, k: &Kernel, length: impl Fn(i64, i64) -> Vec<i64>) {
    for (n, m) in [(1, 1), (3, 7), (16, 2), (23, 5), (40, 16)] {
        let params = [(Symbol::new("N"), n), (Symbol::new("M"), m)];
        let mut buffers: Vec<Vec<u8>> =
            k.buffers.iter().zip(length(n, m)).map(|(b, len)| numbers(b.dtype, len)).collect();
        // What is not written is told apart.
        buffers.last_mut().unwrap().fill(0xA5);
        let [machine, evaluator] = machine_and_evaluator(isa, k, &params, &buffers);
        assert_eq!(machine, evaluator, "N = {n}, M = {m}\n{k}");
    }
}

#[test]
fn the_vector_axis_may_stand_inside_quotients_and_remainders() {
    for isa in levels() {
        let n = Dim::symbol("N");
        for dtype in [F32, I32, Bool] {
            for divisor in [3, 8] {
                // Every element `divisor` times, and then all of them as often.
                for index in [|i: Index, d: i64| i.floor_div(d), |i: Index, _| i.modulo(Dim::symbol("N"))] {
                    let end = n.clone() * divisor;
                    let k = kernel(&end, &vector(isa), |k, i| {
                        let x = k.input("x", dtype, std::slice::from_ref(&n));
                        let y = k.output("y", dtype, std::slice::from_ref(&end));
                        let value = k.load(x, vec![index(i.into(), divisor)]);
                        vec![store(y, vec![i.into()], value)]
                    });
                    check(isa, &k, |n, _| vec![n, n * divisor]);
                }
            }
        }
    }
}

#[test]
fn a_divisor_may_be_a_parameter() {
    for isa in levels() {
        let (n, m) = (Dim::symbol("N"), Dim::symbol("M"));
        let end = n.clone() * m.clone();
        let k = kernel(&end, &vector(isa), |k, i| {
            // Transposed: the dimensions of x are those of y in the other order.
            let x = k.input("x", F32, &[m.clone(), n.clone()]);
            let y = k.output("y", F32, std::slice::from_ref(&end));
            let (row, column) = (Index::axis(i).floor_div(m.clone()), Index::axis(i).modulo(m.clone()));
            let value = k.load(x, vec![column, row]);
            vec![store(y, vec![i.into()], value)]
        });
        check(isa, &k, |n, m| vec![n * m, n * m]);
    }
}

#[test]
fn quotients_may_be_values_and_conditions() {
    for isa in levels() {
        let n = Dim::symbol("N");
        let k = kernel(&n, &vector(isa), |k, i| {
            let x = k.input("x", I32, &[Dim::from(9)]);
            let y = k.output("y", I32, std::slice::from_ref(&n));
            let third = Index::axis(i).floor_div(3);
            let place = third.clone() - 2;
            let otherwise = k.add(Expr::Index(third.clone() * 5 + Index::axis(i).modulo(7), I32));
            let guard =
                Guard { conditions: vec![Condition { index: place.clone(), end: Dim::from(9) }], otherwise };
            let value = k.load_guarded(x, vec![place], guard);
            vec![store(y, vec![i.into()], value)]
        });
        check(isa, &k, |n, _| vec![9, n]);
    }
}

/// Dtypes that machine code computes with.
const DTYPES: [DType; 12] = [I8, U8, I16, U16, I32, U32, I64, U64, F16, BF16, F32, F64];

/// Schedules of vectors with as many lanes as a dtype allows.
fn vectors_of(isa: Isa, dtype: DType) -> impl Iterator<Item = String> {
    let most = isa.of(&Machine::default()).lanes;
    let lanes = if dtype.bits() == 64 { vec![most / 2] } else { vec![most, most / 2] };
    lanes.into_iter().map(|n| format!("split i {n} clip\nvector i.1 {n}\n"))
}

#[test]
fn elements_of_any_width_may_lie_apart() {
    for isa in levels() {
        let n = Dim::symbol("N");
        for dtype in DTYPES {
            for schedule in vectors_of(isa, dtype) {
                let k = kernel(&n, &schedule, |k, i| {
                    let x = k.input("x", dtype, &[n.clone(), Dim::from(5)]);
                    let y = k.output("y", dtype, &[n.clone(), Dim::from(3)]);
                    let [a, b] = [2, 0].map(|c| k.load(x, vec![i.into(), Index::constant(c)]));
                    let sum = k.binary(BinaryKind::Add, a, b);
                    let columns = (0..).zip([sum, a, b]);
                    columns.map(|(c, value)| store(y, vec![i.into(), Index::constant(c)], value)).collect()
                });
                check(isa, &k, |n, _| vec![5 * n, 3 * n]);
            }
        }
    }
}

#[test]
fn one_element_of_any_width_is_read_for_the_lanes_that_are_there() {
    for isa in levels() {
        let (n, m) = (Dim::symbol("N"), Dim::symbol("M"));
        for dtype in DTYPES {
            for schedule in vectors_of(isa, dtype).chain([String::new()]) {
                let k = kernel(&n, &schedule, |k, i| {
                    let x = k.input("x", dtype, std::slice::from_ref(&m));
                    let w = k.input("w", dtype, &[Dim::ONE]);
                    let y = k.output("y", dtype, std::slice::from_ref(&n));
                    let zero =
                        if dtype.is_float() { Scalar::float(dtype, 0.0) } else { Scalar::int(dtype, 0) };
                    let otherwise = k.constant(zero);
                    let guard = |end: &Dim| Guard {
                        conditions: vec![Condition { index: i.into(), end: end.clone() }],
                        otherwise,
                    };
                    let a = k.load_guarded(x, vec![i.into()], guard(&m));
                    let b = k.load_guarded(w, vec![0.into()], guard(&m));
                    let sum = k.binary(BinaryKind::Max, a, b);
                    vec![store(y, vec![i.into()], sum)]
                });
                check(isa, &k, |n, m| vec![m, 1, n]);
            }
        }
    }
}

#[test]
fn bools_are_scattered_one_by_one() {
    for isa in levels() {
        let n = Dim::symbol("N");
        let k = kernel(&n, &vector(isa), |k, i| {
            let x = k.input("x", I32, std::slice::from_ref(&n));
            let y = k.output("y", Bool, &[n.clone(), Dim::from(3)]);
            let value = k.load(x, vec![i.into()]);
            let limit = k.constant(Scalar::int(I32, 11));
            let kinds = [CompareKind::Lt, CompareKind::Ge, CompareKind::Eq];
            let values = kinds.map(|kind| k.compare(kind, value, limit));
            (0..).zip(values).map(|(n, value)| store(y, vec![i.into(), Index::constant(n)], value)).collect()
        });
        check(isa, &k, |n, _| vec![n, 3 * n]);
    }
}

#[test]
fn prefetches_are_hints() {
    for isa in levels() {
        let n = Dim::symbol("N");
        let schedule =
            format!("{}prefetch x at i.0 ahead 3\nprefetch z at i.0 ahead 1 level L2\n", vector(isa));
        let k = kernel(&n, &schedule, |k, i| {
            let x = k.input("x", F32, std::slice::from_ref(&n));
            let z = k.input("z", F32, &[Dim::from(2), n.clone()]);
            let y = k.output("y", F32, std::slice::from_ref(&n));
            let (a, b) = (k.load(x, vec![i.into()]), k.load(z, vec![1.into(), i.into()]));
            let value = k.sum(a, b);
            vec![store(y, vec![i.into()], value)]
        });
        let listing = emit(&k, isa, Listing::On).unwrap().code.disassembly().unwrap().to_string();
        for hint in ["prefetcht0", "prefetcht1"] {
            assert_eq!(listing.matches(hint).count(), 1, "{listing}");
        }
        // Beyond the end of a buffer lies a page that cannot be touched: hints may point there.
        check(isa, &k, |n, _| vec![n, 2 * n, n]);
    }
}

#[test]
fn an_index_in_memory_is_not_read_for_a_vector_without_lanes() {
    for isa in levels() {
        let n = Dim::symbol("N");
        let end = n.clone() * 16;
        // Of the four vectors at once, some have no lanes, and the index that they would have lies behind the last.
        let lanes = isa.of(&Machine::default()).lanes;
        let tile = 4 * lanes;
        let schedule =
            format!("split i {tile} clip\nsplit i.1 {lanes} cover\njam i.1.0\nvector i.1.1 {lanes}\n");
        for dtype in [I32, I64] {
            let k = kernel(&end, &schedule, |k, i| {
                let ids = k.input("ids", dtype, std::slice::from_ref(&n));
                let x = k.input("x", F32, &[5.into()]);
                let all = std::slice::from_ref(&end);
                let (y, z) = (k.output("y", F32, all), k.output("z", I32, all));
                let place = Index::data(ids, vec![Index::axis(i).floor_div(16)], 5);
                let (whole, number) =
                    (k.load(x, vec![place.clone()]), k.add(Expr::Index(place.clone(), I32)));
                let otherwise = k.f32(0.5);
                let conditions = vec![Condition { index: place.clone() - 1, end: 3.into() }];
                let part = k.load_guarded(x, vec![place - 1], Guard { conditions, otherwise });
                let value = k.sum(whole, part);
                vec![store(y, vec![i.into()], value), store(z, vec![i.into()], number)]
            });
            check(isa, &k, |n, _| vec![n, 5, 16 * n, 16 * n]);
        }
    }
}

#[test]
fn indices_in_memory_may_lie_apart_along_the_vector() {
    for isa in levels() {
        let n = Dim::symbol("N");
        for dtype in [I32, I64] {
            for stride in [1, 3] {
                let k = kernel(&n, &vector(isa), |k, i| {
                    let ids = k.input("ids", dtype, &[n.clone() * stride]);
                    let x = k.input("x", F32, &[7.into(), 2.into()]);
                    let y = k.output("y", F32, std::slice::from_ref(&n));
                    let place = Index::data(ids, vec![Index::axis(i) * stride], 7);
                    let value = k.load(x, vec![place, 1.into()]);
                    vec![store(y, vec![i.into()], value)]
                });
                check(isa, &k, |n, _| vec![n * stride, 14, n]);
            }
        }
    }
}
