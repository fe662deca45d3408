//! Bounded mode: what correct targets compute lies within the bounds, the bounds are tight enough to be of use, and what
//! they cannot decide is said to be undetermined.

#![allow(clippy::unwrap_used)]

#[path = "bounded/random.rs"]
mod random;

use lawson_graph::interp::{Bounded, BoundedTensor, Options, compare, run, run_bounded};
use lawson_graph::op::{
    BinaryKind, Combine, CompareKind, Contract, Convolve, Cumulative, DefineSymbol, Gather, Iota, Monoid,
    Scatter, Sort, UnaryKind, WindowReduce,
};
use lawson_graph::{
    Builder, DType, Dim, Graph, HostTensor, Keep, Op, Registry, Result, Symbol, TensorType, Type, Value,
    ValueId,
};

fn f32s(values: &[f32]) -> Value {
    HostTensor::from_slice(&[values.len()], values).unwrap().into()
}

fn floats(dtype: DType, sizes: &[usize], values: &[f64]) -> Value {
    HostTensor::from_floats(dtype, sizes, values).unwrap().into()
}

fn vector(n: usize) -> Type {
    Type::tensor(DType::F32, [Dim::from(n)])
}

fn graph(
    inputs: &[Type],
    build: impl FnOnce(&mut Builder<'static>, &[ValueId]) -> Result<Vec<ValueId>>,
) -> Graph {
    let mut b = Builder::new("test");
    let ids: Vec<ValueId> =
        inputs.iter().enumerate().map(|(i, t)| b.input(&format!("x{i}"), t.clone()).unwrap()).collect();
    for (i, v) in build(&mut b, &ids).unwrap().into_iter().enumerate() {
        b.output(&format!("y{i}"), v).unwrap();
    }
    b.finish().unwrap()
}

fn bounded(graph: &Graph, inputs: &[Value]) -> Vec<Bounded> {
    run_bounded(graph, inputs, &Options::default()).unwrap()
}

/// The only result, a tensor.
fn result(graph: &Graph, inputs: &[Value]) -> BoundedTensor {
    bounded(graph, inputs)[0].as_tensor().unwrap().clone()
}

/// A small generator of numbers that repeats.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Mostly ordinary, sometimes small, large, zero, infinite or NaN.
    fn float(&mut self) -> f64 {
        let ordinary = (self.next() % 4001) as f64 / 500.0 - 4.0;
        match self.next() % 40 {
            0 => 0.0,
            1 => -0.0,
            2 => f64::INFINITY,
            3 => f64::NEG_INFINITY,
            4 => f64::NAN,
            5 => ordinary * 1e30,
            6 => ordinary * 1e-30,
            7 => ordinary * 1e-42,
            8 => 3e38,
            9..14 => ordinary.round(),
            _ => ordinary,
        }
    }

    fn shuffle<T>(&mut self, v: &mut [T]) {
        for i in (1..v.len()).rev() {
            let j = self.below(i + 1);
            v.swap(i, j);
        }
    }
}

#[test]
fn the_bound_of_a_long_dot_product_is_tight() {
    let mut numbers = Numbers(7);
    let x: Vec<f32> = (0..1000).map(|_| (numbers.next() % 1000) as f32 / 1000.0 + 0.1003).collect();
    let g = graph(&[vector(1000), vector(1000)], |b, x| {
        Ok(vec![b.op1(Op::Contract(Contract { batch: vec![], sum: vec![(0, 0)], out: None }), x)?])
    });
    let t = result(&g, &[f32s(&x), f32s(&x)]);
    let relative = t.error(0) / t.value(0);
    assert!(relative > 1e-6 && relative < 1e-4, "{relative}");
}

#[test]
fn softmax_is_determined_and_tight() {
    let g = graph(&[Type::tensor(DType::F32, [2i64, 50])], |b, x| {
        let max = b.reduce(Monoid::Max, x[0], &[1], Keep::Yes)?;
        let max = b.broadcast_to(max, [2i64, 50])?;
        let shifted = b.sub(x[0], max)?;
        let e = b.exp(shifted)?;
        let sum = b.reduce(Monoid::Sum, e, &[1], Keep::Yes)?;
        let sum = b.broadcast_to(sum, [2i64, 50])?;
        Ok(vec![b.div(e, sum)?])
    });
    let mut numbers = Numbers(1);
    let mut x: Vec<f64> = (0..100).map(|_| (numbers.next() % 1000) as f64 / 100.0).collect();
    x[3] = f64::NEG_INFINITY;
    let t = result(&g, &[floats(DType::F32, &[2, 50], &x)]);
    for i in 0..100 {
        assert!(t.determined(i) && t.error(i) <= 1e-5 * t.value(i), "{i}: {} ± {}", t.value(i), t.error(i));
    }
    assert_eq!((t.value(3), t.error(3)), (0.0, 0.0));
}

#[test]
fn what_is_exact_stays_exact() {
    let g = graph(&[Type::tensor(DType::F32, [4i64, 4])], |b, x| {
        let half = b.mul_scalar(x[0], 0.5)?;
        let sum = b.reduce(Monoid::Sum, half, &[1], Keep::No)?;
        let square = b.matmul(x[0], x[0])?;
        let root = b.sqrt(square)?;
        let whole = b.floor(root)?;
        Ok(vec![sum, square, whole])
    });
    let x: Vec<f64> = (0..16).map(f64::from).collect();
    for o in bounded(&g, &[floats(DType::F32, &[4, 4], &x)]).iter().take(2) {
        let t = o.as_tensor().unwrap();
        assert!((0..t.len()).all(|i| t.error(i) == 0.0), "{t:?}");
    }
}

#[test]
fn comparisons_are_undetermined_exactly_within_the_bounds() {
    let g = graph(&[vector(4), vector(4)], |b, x| {
        let a = b.exp(x[0])?;
        CompareKind::ALL.iter().map(|k| b.compare(*k, a, x[1])).collect()
    });
    let e = 1.1f32.exp();
    let near = [e, e * 1.000002, e * 0.999998, f32::NAN];
    let results = bounded(&g, &[f32s(&[1.1; 4]), f32s(&near)]);
    for (kind, o) in CompareKind::ALL.iter().zip(&results) {
        let t = o.as_tensor().unwrap();
        // Four units in the last place are 5e-7 of the value.
        let determined: Vec<bool> = (0..4).map(|i| t.determined(i)).collect();
        assert_eq!(determined, [false, true, true, true], "{}", kind.name());
    }
    // At the very end of a range some comparisons are settled and others are not: 1/3 may be left unrounded, below
    // the f32 next to it, but is never above.
    let g = graph(&[vector(1), vector(1)], |b, x| {
        let three = b.full_like(x[0], 3.0)?;
        let a = b.div(x[0], three)?;
        CompareKind::ALL.iter().map(|k| b.compare(*k, a, x[1])).collect()
    });
    let results = bounded(&g, &[f32s(&[1.0]), f32s(&[1.0 / 3.0])]);
    let determined = |kind: CompareKind| {
        let at = CompareKind::ALL.iter().position(|k| *k == kind).unwrap();
        results[at].as_tensor().unwrap().determined(0)
    };
    assert!(determined(CompareKind::Gt) && determined(CompareKind::Le));
    assert!(!determined(CompareKind::Lt) && !determined(CompareKind::Ge) && !determined(CompareKind::Eq));
}

#[test]
fn casts_and_choices_inside_the_bound_hold_every_outcome() {
    let g = graph(&[vector(2), vector(2)], |b, x| {
        let q = b.div(x[0], x[1])?;
        let near = b.mul(q, x[1])?;
        let i = b.cast(near, DType::I32)?;
        let f = b.floor(near)?;
        Ok(vec![i, f])
    });
    // 7/3*3 may be just below 7 or 7; 8/2*2 is 8.
    let results = bounded(&g, &[f32s(&[7.0, 8.0]), f32s(&[3.0, 2.0])]);
    let (i, f) = (results[0].as_tensor().unwrap(), results[1].as_tensor().unwrap());
    assert_eq!(i.int_range(0), Some((6, 7)));
    assert_eq!(i.int_range(1), Some((8, 8)));
    assert!(!i.determined(0) && i.determined(1));
    assert_eq!((f.range(0), f.range(1)), ((6.0, 7.0), (8.0, 8.0)));
}

#[test]
fn an_undetermined_condition_widens_to_both_sides() {
    let g = graph(&[vector(2)], |b, x| {
        let three = b.full_like(x[0], 3.0)?;
        let q = b.div(x[0], three)?;
        let back = b.mul(q, three)?;
        let c = b.compare(CompareKind::Ge, back, x[0])?;
        let (low, high) = (b.full_like(x[0], -5.0)?, b.full_like(x[0], 10.0)?);
        Ok(vec![b.select(c, low, high)?])
    });
    let t = result(&g, &[f32s(&[7.0, 0.0])]);
    assert_eq!(t.range(0), (-5.0, 10.0));
    assert_eq!(t.range(1), (-5.0, -5.0));
}

/// A bool scalar that is undetermined for 7 and true for 0: 7/3*3 may be 7 or less.
fn doubtful(b: &mut Builder<'static>, x: ValueId) -> Result<ValueId> {
    let three = b.full_like(x, 3.0)?;
    let q = b.div(x, three)?;
    let back = b.mul(q, three)?;
    b.compare(CompareKind::Ge, back, x)
}

#[test]
fn branches_and_loops_on_something_undetermined_say_so() {
    let scalar: Type = TensorType::scalar(DType::F32).into();
    let branch = graph(std::slice::from_ref(&scalar), |b, x| {
        let c = doubtful(b, x[0])?;
        b.cond(c, &[x[0]], |b, v| Ok(vec![b.neg(v[0])?]), |b, v| Ok(vec![b.add(v[0], v[0])?]))
    });
    let at = |x: f32| result(&branch, &[HostTensor::scalar(x).into()]);
    assert_eq!(at(7.0).range(0), (-7.0, 14.0));
    assert!(at(0.0).determined(0));
    let repeat = graph(std::slice::from_ref(&scalar), |b, x| {
        b.while_loop(
            &[x[0]],
            &[],
            |b, v| {
                let c = doubtful(b, v[0])?;
                let small = b.scalar(DType::F32, 100.0)?;
                let below = b.compare(CompareKind::Lt, v[0], small)?;
                b.binary(BinaryKind::And, c, below)
            },
            |b, v| {
                let one = b.scalar(DType::F32, 1.0)?;
                Ok(vec![b.add(v[0], one)?])
            },
        )
    });
    assert!(!result(&repeat, &[HostTensor::scalar(7f32).into()]).determined(0));
    let sized = graph(&[scalar], |b, x| {
        let c = doubtful(b, x[0])?;
        let n = b.cast(c, DType::I64)?;
        b.op1(Op::DefineSymbol(DefineSymbol { name: Symbol::new("K"), max: 1.into() }), &[n])?;
        Ok(vec![b.op1(Op::Iota(Iota { dtype: DType::F32, shape: ["K"].into(), axis: 0 }), &[])?])
    });
    let results = bounded(&sized, &[HostTensor::scalar(7f32).into()]);
    assert!(matches!(results[0], Bounded::Undetermined));
    assert!(compare(&results[0], &f32s(&[]), 1.0).ok());
    assert!(result(&sized, &[HostTensor::scalar(0f32).into()]).determined(0));
}

#[test]
fn indices_that_are_undetermined_leave_nothing_known() {
    let g = graph(&[vector(3), vector(1)], |b, x| {
        let three = b.full_like(x[1], 3.0)?;
        let q = b.div(x[1], three)?;
        let back = b.mul(q, three)?;
        let i = b.cast(back, DType::I64)?;
        let i = b.reshape(i, [1i64, 1])?;
        let taken = b.op1(Op::Gather(Gather { axes: vec![0], batch: 0 }), &[x[0], i])?;
        let put = Op::Scatter(Scatter { combine: Combine::Add, axes: vec![0], batch: 0 });
        Ok(vec![taken, b.op1(put, &[x[0], i, taken])?])
    });
    let certain = bounded(&g, &[f32s(&[1.0, 2.0, 3.0]), f32s(&[0.0])]);
    assert!(certain.iter().all(|o| o.as_tensor().is_some_and(|t| t.determined(0))));
    // 7/3*3 is 6 or 7: both clamp, but that is not looked into.
    let open = bounded(&g, &[f32s(&[1.0, 2.0, 3.0]), f32s(&[7.0])]);
    assert!(open.iter().all(|o| o.as_tensor().is_some_and(|t| !t.determined(0))));
}

#[test]
fn sorting_is_settled_where_ranges_are_apart() {
    let g = graph(&[vector(5)], |b, x| {
        let q = b.exp(x[0])?;
        let places = b.iota(DType::I32, [5i64], 0)?;
        let sorted = b.op(Op::Sort(Sort { axis: 0, descending: true }), &[q, places])?;
        Ok(sorted)
    });
    let next = f32::from_bits(1.0f32.to_bits() + 1);
    let results = bounded(&g, &[f32s(&[5.0, 1.0, 9.0, next, f32::NAN])]);
    let (keys, places) = (results[0].as_tensor().unwrap(), results[1].as_tensor().unwrap());
    assert_eq!(places.int_range(0), Some((4, 4)));
    assert_eq!(places.int_range(1), Some((2, 2)));
    assert_eq!(places.int_range(2), Some((0, 0)));
    // The last two are neighbours, and a target's exp may put them in either order.
    assert_eq!(places.int_range(3), Some((1, 3)));
    assert!((0..5).all(|i| keys.determined(i)));
    assert!(keys.error(4) < 3e-6);
}

#[test]
fn the_greatest_of_a_row_is_known_to_be_the_element_that_it_is() {
    // argmax by comparing with the maximum: determined where one element is clearly the greatest.
    let g = graph(&[Type::tensor(DType::F32, [3i64, 4])], |b, x| {
        let e = b.exp(x[0])?;
        let t = b.transpose(e, &[1, 0])?;
        let max = b.reduce(Monoid::Max, t, &[0], Keep::Yes)?;
        let max = b.broadcast_to(max, [4i64, 3])?;
        let hit = b.compare(CompareKind::Eq, t, max)?;
        let index = b.iota(DType::I64, [4i64, 3], 0)?;
        let none = b.full_like(index, 4.0)?;
        let candidates = b.select(hit, index, none)?;
        Ok(vec![b.reduce(Monoid::Min, candidates, &[0], Keep::No)?])
    });
    let next = f64::from(f32::from_bits(2f32.to_bits() + 1));
    let x = [0.1, 0.7, 0.3, 0.2, 5.0, 2.0, next, 1.0, 1.0, 2.0, next, 0.5];
    let t = result(&g, &[floats(DType::F32, &[3, 4], &x)]);
    assert_eq!((t.int_range(0), t.int_range(1)), (Some((1, 1)), Some((0, 0))));
    assert!(!t.determined(2) && t.int_range(2).is_some_and(|(lo, _)| lo == 1));
}

#[test]
fn overflow_is_certain_where_it_is_and_unsure_at_the_edge() {
    let g = |dtype: DType| {
        let ty = Type::tensor(dtype, [3i64]);
        graph(&[ty.clone(), ty], |b, x| Ok(vec![b.mul(x[0], x[1])?]))
    };
    let t = result(&g(DType::F32), &[f32s(&[1e38, 1e38, 1.7e38]), f32s(&[10.0, -10.0, 2.0])]);
    assert_eq!(t.range(0), (f64::INFINITY, f64::INFINITY));
    assert_eq!(t.range(1), (f64::NEG_INFINITY, f64::NEG_INFINITY));
    assert!(t.determined(2));
    let t = result(
        &g(DType::F16),
        &[floats(DType::F16, &[3], &[300.0, 2.0, 2.0]), floats(DType::F16, &[3], &[300.0, 3.0, 1e-7])],
    );
    assert_eq!(t.range(0), (f64::INFINITY, f64::INFINITY));
    let sum = graph(&[vector(4)], |b, x| Ok(vec![b.reduce(Monoid::Sum, x[0], &[0], Keep::No)?]));
    // In some order the partial sum overflows.
    assert!(!result(&sum, &[f32s(&[3e38, 3e38, -3e38, -3e38])]).determined(0));
    assert!(result(&sum, &[f32s(&[1e38, 1e38, -1e38, -1e38])]).determined(0));
    let inf = f32::INFINITY;
    assert_eq!(result(&sum, &[f32s(&[1.0, inf, 2.0, 3.0])]).range(0), (f64::INFINITY, f64::INFINITY));
    let t = result(&sum, &[f32s(&[1.0, inf, -inf, 3.0])]);
    assert!(t.range(0).0.is_nan() && t.determined(0) && t.error(0) == 0.0);
}

#[test]
fn the_sign_of_a_zero_is_open_where_targets_may_choose() {
    // Whether 1/x is inf or -inf tells the zeros apart.
    let inverse = |b: &mut Builder<'static>, x: ValueId| {
        let one = b.full_like(x, 1.0)?;
        b.div(one, x)
    };
    let least = graph(&[vector(2), vector(2)], |b, x| {
        let least = b.min(x[0], x[1])?;
        Ok(vec![inverse(b, least)?])
    });
    let t = result(&least, &[f32s(&[0.0, 0.0]), f32s(&[-0.0, 0.0])]);
    assert!(!t.determined(0) && t.determined(1));
    // A product that underflows is a zero or not quite: beside -0 it may be the lesser all the same.
    let tiny = graph(&[vector(1), vector(1)], |b, x| {
        let square = b.mul(x[0], x[0])?;
        let least = b.min(square, x[1])?;
        Ok(vec![inverse(b, least)?])
    });
    assert!(!result(&tiny, &[f32s(&[1e-30]), f32s(&[-0.0])]).determined(0));
    let sum = graph(&[vector(2)], |b, x| {
        let sum = b.reduce(Monoid::Sum, x[0], &[0], Keep::No)?;
        Ok(vec![inverse(b, sum)?])
    });
    assert!(!result(&sum, &[f32s(&[-0.0, -0.0])]).determined(0));
    assert_eq!(result(&sum, &[f32s(&[0.0, 0.0])]).range(0), (f64::INFINITY, f64::INFINITY));
}

#[test]
fn integers_keep_ranges_through_arithmetic_and_products() {
    let g = graph(&[vector(2), Type::tensor(DType::I32, [2i64])], |b, x| {
        let three = b.full_like(x[0], 3.0)?;
        let q = b.div(x[0], three)?;
        let back = b.mul(q, three)?;
        let i = b.cast(back, DType::I32)?;
        let dot =
            b.op1(Op::Contract(Contract { batch: vec![], sum: vec![(0, 0)], out: None }), &[i, x[1]])?;
        let shifted = b.sub(i, x[1])?;
        Ok(vec![dot, shifted])
    });
    let weights = HostTensor::from_slice(&[2], &[10i32, -2]).unwrap().into();
    let results = bounded(&g, &[f32s(&[7.0, 0.0]), weights]);
    assert_eq!(results[0].as_tensor().unwrap().int_range(0), Some((60, 80)));
    assert_eq!(results[1].as_tensor().unwrap().int_range(0), Some((-4, -3)));
}

#[test]
fn windows_and_convolutions_lie_within_the_bounds_in_narrow_floats() {
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let g =
            graph(&[Type::tensor(dtype, [2i64, 4, 7, 5]), Type::tensor(dtype, [6i64, 2, 3, 2])], |b, x| {
                let op = Convolve {
                    stride: vec![2, 1],
                    low: vec![1.into(), 2.into()],
                    high: vec![1.into(), 0.into()],
                    kernel_dilation: vec![1, 2],
                    groups: 2,
                    ..Convolve::plain(2)
                };
                let y = b.op1(Op::Convolve(op), &[x[0], x[1]])?;
                let e = b.exp(y)?;
                let window = WindowReduce {
                    kind: Monoid::Sum,
                    window: vec![1, 1, 2, 3],
                    stride: vec![1, 1, 1, 2],
                    dilation: vec![1; 4],
                    low: vec![0.into(), 0.into(), 1.into(), 1.into()],
                    high: vec![0.into(), 0.into(), 0.into(), 1.into()],
                };
                Ok(vec![y, b.op1(Op::WindowReduce(window), &[e])?])
            });
        let mut numbers = Numbers(3);
        let mut random =
            |n: usize| (0..n).map(|_| (numbers.next() % 2000) as f64 / 1000.0 - 1.0).collect::<Vec<_>>();
        let given = [floats(dtype, &[2, 4, 7, 5], &random(280)), floats(dtype, &[6, 2, 3, 2], &random(72))];
        let plain = run(&g, &given, &Options::default()).unwrap();
        for (o, a) in bounded(&g, &given).iter().zip(&plain) {
            let c = compare(o, a, 1.0);
            assert!(c.ok() && c.undetermined == 0, "{dtype}: {c}");
            let worst = c.worst.unwrap();
            assert!(worst.ratio > 0.0 || dtype == DType::F64, "{dtype}");
        }
    }
}

#[test]
fn a_comparison_finds_what_is_wrong() {
    let g = graph(&[vector(3)], |b, x| Ok(vec![b.exp(x[0])?]));
    let oracle = &bounded(&g, &[f32s(&[0.0, 1.0, f32::NAN])])[0];
    let e = std::f32::consts::E;
    assert!(compare(oracle, &f32s(&[1.0, e, f32::NAN]), 1.0).ok());
    let c = compare(oracle, &f32s(&[1.0, e + 1e-5, f32::NAN]), 1.0);
    assert!(!c.ok() && c.outside == 1 && c.worst.as_ref().is_some_and(|w| w.index == 1), "{c}");
    assert!(compare(oracle, &f32s(&[1.0, e + 1e-5, f32::NAN]), 20.0).ok());
    assert!(!compare(oracle, &f32s(&[1.0, e, 0.0]), 1.0).ok());
    assert!(!compare(oracle, &f32s(&[1.0, f32::NAN, f32::NAN]), 1.0).ok());
    assert!(!compare(oracle, &f32s(&[1.0, f32::INFINITY, f32::NAN]), 1.0).ok());
    assert!(compare(oracle, &f32s(&[1.0, e]), 1.0).fault.is_some());
    assert!(compare(oracle, &Value::Optional(None), 1.0).fault.is_some());
}

#[test]
fn composites_that_targets_compute_as_a_whole_may_be_as_far_off_as_they_promise() {
    let g = graph(&[vector(4)], |b, x| Ok(vec![b.sigmoid(x[0])?]));
    let r = result(&g, &[f32s(&[8.0, 0.0, f32::INFINITY, -200.0])]);
    for i in 0..4 {
        let ((lo, hi), y) = (r.range(i), r.value(i));
        assert!(0.0 <= lo && lo <= y && y <= hi && hi <= 1.0, "{lo} {y} {hi}");
    }
    let unit = f64::from(f32::EPSILON) / 2.0;
    let (lo, hi) = r.range(0);
    assert!(r.value(0) - lo >= 2.5 * unit && hi - r.value(0) >= 2.5 * unit, "{lo} {hi}");
    // No wider than the function itself asks for: units of 1, and what its parts are off.
    assert!(hi - lo <= 24.0 * unit, "{lo} {hi}");
}

/// Devices may take subnormal numbers for zeros: the bounds hold both where that is allowed, and only there.
#[test]
fn subnormal_numbers_may_be_zeros_where_targets_flush() {
    let flushing = Options { flushes: true, ..Options::default() };
    let squares = graph(&[vector(3)], |b, x| {
        let square = b.mul(x[0], x[0])?;
        Ok(vec![square, b.reduce(Monoid::Sum, square, &[0], Keep::No)?])
    });
    // The second square is subnormal, the third is not.
    let inputs = [f32s(&[1e-40, 3e-20, 2e-19])];
    let (strict, loose) = (bounded(&squares, &inputs), run_bounded(&squares, &inputs, &flushing).unwrap());
    let normal = 2e-19f32 * 2e-19;
    let sum = |x: f32| HostTensor::from_slice(&[], &[x]).unwrap().into();
    let fits = |of: &[Bounded], squares: &[f32], total: f32| {
        (compare(&of[0], &f32s(squares), 1.0).ok(), compare(&of[1], &sum(total), 1.0).ok())
    };
    let kept = 3e-20f32 * 3e-20;
    assert_eq!(fits(&strict, &[0.0, kept, normal], kept + normal), (true, true));
    assert_eq!(fits(&strict, &[0.0, 0.0, normal], normal), (false, false));
    assert_eq!(fits(&loose, &[0.0, kept, normal], kept + normal), (true, true));
    assert_eq!(fits(&loose, &[0.0, 0.0, normal], normal), (true, true));
    // What is normal stays what it is.
    assert_eq!(fits(&loose, &[0.0, 0.0, 0.0], 2.0 * normal), (false, false));
}

/// To a device that takes both for zeros neither of two subnormal numbers is the lesser: it may choose either, but nothing else.
#[test]
fn the_least_of_subnormal_numbers_may_be_any_of_them_where_targets_flush() {
    let flushing = Options { flushes: true, ..Options::default() };
    let inputs = [f32s(&[3e-44, 0.0, 7e-45, 1e-30])];
    for kind in [Monoid::Min, Monoid::Max] {
        let g = graph(&[vector(4)], |b, x| Ok(vec![b.reduce(kind, x[0], &[0], Keep::No)?]));
        let found = |options: &Options, x: f32| {
            let y = HostTensor::from_slice(&[], &[x]).unwrap().into();
            compare(&run_bounded(&g, &inputs, options).unwrap()[0], &y, 1.0).ok()
        };
        let strict = Options::default();
        let is_min = kind == Monoid::Min;
        assert_eq!([0.0, 3e-44, 1e-30].map(|x| found(&strict, x)), [is_min, false, !is_min]);
        assert_eq!([0.0, 3e-44, 1e-30].map(|x| found(&flushing, x)), [is_min, is_min, !is_min]);
        assert!(!found(&flushing, -1e-30) && !found(&flushing, 2e-30));
    }
}

/// What overflows on the way in f64 itself may be anything, though every input is finite.
#[test]
fn sums_of_products_that_overflow_in_f64_are_not_certainly_nan() {
    let of = |n: usize| Type::tensor(DType::F64, [Dim::from(1), Dim::from(n)]);
    let g = graph(&[of(2), Type::tensor(DType::F64, [Dim::from(2), Dim::from(1)])], |b, x| {
        Ok(vec![b.matmul(x[0], x[1])?])
    });
    let inputs =
        [floats(DType::F64, &[1, 2], &[2.0, 2.0]), floats(DType::F64, &[2, 1], &[1.7e308, -1.7e308])];
    assert!(!result(&g, &inputs).determined(0));
}

#[test]
fn products_below_the_least_float_may_be_lost() {
    // Each product is half of the least float and rounds to 0 or to it; only their exact sum is a float.
    let g = Graph::parse(
        "lawson 1
         graph @g(%x: f32[2], %w: f32[2]) -> (y: f32[]) {
           %y = contract %x, %w {batch = [], sum = [[0, 0]]}
           return %y
         }",
    )
    .unwrap();
    let least = f32::from_bits(1);
    let expected = &bounded(&g, &[f32s(&[0.5, 0.5]), f32s(&[least, least])])[0];
    for possible in [0.0, least] {
        let found: Value = HostTensor::from_slice(&[], &[possible]).unwrap().into();
        assert!(compare(expected, &found, 1.0).ok(), "{possible:e}");
    }
    let wrong: Value = HostTensor::from_slice(&[], &[8.0 * least]).unwrap().into();
    assert!(!compare(expected, &wrong, 1.0).ok());
}
