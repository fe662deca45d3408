//! What correct targets compute lies within the bounds: random graphs, sums and products in random orders, composites.

use super::*;
use proptest::prelude::*;

/// A random graph over `[3, 4]` tensors of one float dtype.
fn random_graph(dtype: DType, numbers: &mut Numbers) -> Graph {
    let ty = Type::tensor(dtype, [3i64, 4]);
    graph(&[ty.clone(), ty], |b, x| {
        let mut pool = x.to_vec();
        for _ in 0..8 {
            let p = pool[numbers.below(pool.len())];
            let q = pool[numbers.below(pool.len())];
            let next = match numbers.below(14) {
                0..3 => {
                    let kinds: Vec<UnaryKind> =
                        UnaryKind::ALL.iter().copied().filter(|k| *k != UnaryKind::Not).collect();
                    b.unary(kinds[numbers.below(kinds.len())], p)?
                }
                3..6 => {
                    let kinds = [
                        BinaryKind::Add,
                        BinaryKind::Sub,
                        BinaryKind::Mul,
                        BinaryKind::Div,
                        BinaryKind::Min,
                        BinaryKind::Max,
                        BinaryKind::Rem,
                        BinaryKind::Mod,
                        BinaryKind::Pow,
                        BinaryKind::Atan2,
                    ];
                    b.binary(kinds[numbers.below(kinds.len())], p, q)?
                }
                6 => {
                    let kind = CompareKind::ALL[numbers.below(6)];
                    let c = b.compare(kind, p, q)?;
                    b.select(c, q, p)?
                }
                7 | 8 => {
                    let kind = [Monoid::Sum, Monoid::Prod, Monoid::Max, Monoid::Min][numbers.below(4)];
                    let axis = numbers.below(2);
                    let r = b.reduce(kind, p, &[axis], Keep::Yes)?;
                    b.broadcast_to(r, [3i64, 4])?
                }
                9 => {
                    let kind = [Monoid::Sum, Monoid::Prod, Monoid::Max, Monoid::Min][numbers.below(4)];
                    let reverse = numbers.below(2) == 0;
                    let exclusive = numbers.below(2) == 0;
                    let axis = numbers.below(2);
                    b.op1(Op::Cumulative(Cumulative { kind, axis, exclusive, reverse }), &[p])?
                }
                10 => {
                    // [3, 4] · [4, 3] · [3, 4]
                    let t = b.transpose(q, &[1, 0])?;
                    let m = b.matmul(p, t)?;
                    b.matmul(m, q)?
                }
                11 => {
                    let down = if dtype == DType::F64 { DType::F32 } else { DType::BF16 };
                    let c = b.cast(p, down)?;
                    b.cast(c, dtype)?
                }
                12 => {
                    let i = b.cast(p, DType::I32)?;
                    let j = b.cast(q, DType::I32)?;
                    let s = b.add(i, j)?;
                    b.cast(s, dtype)?
                }
                _ => {
                    let axis = numbers.below(2);
                    let sorted = b.op(Op::Sort(Sort { axis, descending: numbers.below(2) == 0 }), &[p, q])?;
                    pool.push(sorted[0]);
                    sorted[1]
                }
            };
            pool.push(next);
        }
        pool.drain(..2);
        Ok(pool)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plain_results_of_random_graphs_lie_within_the_bounds(seed: u64) {
        let mut numbers = Numbers(seed);
        let dtype = [DType::F32, DType::F64, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2][numbers.below(6)];
        let g = random_graph(dtype, &mut numbers);
        let given: Vec<Value> = (0..2)
            .map(|_| floats(dtype, &[3, 4], &(0..12).map(|_| numbers.float()).collect::<Vec<_>>()))
            .collect();
        let plain = run(&g, &given, &Options::default()).unwrap();
        let oracle = bounded(&g, &given);
        for (i, (o, a)) in oracle.iter().zip(&plain).enumerate() {
            let c = compare(o, a, 1.0);
            prop_assert!(c.ok(), "result {i} of {g:#?}\n{given:?}\n{c}\n{:?}", c.worst);
        }
    }

    #[test]
    fn sums_in_f32_of_any_order_lie_within_the_bounds(seed: u64) {
        let mut numbers = Numbers(seed);
        let n = 1 + numbers.below(200);
        let x: Vec<f32> = (0..n).map(|_| (numbers.next() % 100_000) as f32 / 777.0 - 64.0).collect();
        let g = graph(&[vector(n)], |b, x| Ok(vec![b.reduce(Monoid::Sum, x[0], &[0], Keep::No)?]));
        let oracle = bounded(&g, &[f32s(&x)]);
        for _ in 0..20 {
            let mut order = x.clone();
            numbers.shuffle(&mut order);
            // A tree, a chain, or something between: neighbours are added until one is left.
            while order.len() > 1 {
                let at = numbers.below(order.len() - 1);
                let right = order.remove(at + 1);
                order[at] += right;
            }
            let found: Value = HostTensor::scalar(order[0]).into();
            let c = compare(&oracle[0], &found, 1.0);
            prop_assert!(c.ok(), "{c}");
        }
    }

    #[test]
    fn dot_products_in_f32_of_any_order_fused_or_not_lie_within_the_bounds(seed: u64) {
        let mut numbers = Numbers(seed);
        let n = 1 + numbers.below(100);
        let mut row = || (0..n).map(|_| (numbers.next() % 100_000) as f32 / 25_000.0 - 2.0).collect::<Vec<f32>>();
        let (x, y) = (row(), row());
        let ty = vector(n);
        let g = graph(&[ty.clone(), ty], |b, v| {
            // The operands are themselves rounded: tanh(x) and y / 3.
            let t = b.tanh(v[0])?;
            let three = b.full_like(v[1], 3.0)?;
            let d = b.div(v[1], three)?;
            Ok(vec![b.op1(Op::Contract(Contract { batch: vec![], sum: vec![(0, 0)], out: None }), &[t, d])?])
        });
        let oracle = bounded(&g, &[f32s(&x), f32s(&y)]);
        for fused in [false, true] {
            let mut pairs: Vec<(f32, f32)> = x.iter().map(|v| v.tanh()).zip(y.iter().map(|v| v / 3.0)).collect();
            numbers.shuffle(&mut pairs);
            let sum = pairs.iter().fold(0f32, |s, (a, b)| if fused { a.mul_add(*b, s) } else { s + a * b });
            let c = compare(&oracle[0], &HostTensor::scalar(sum).into(), 1.0);
            prop_assert!(c.ok(), "{c}");
        }
    }
}

#[test]
fn plain_results_of_every_composite_lie_within_the_bounds() {
    for (name, graphs) in Registry::standard().examples().unwrap() {
        for (at, g) in graphs.iter().enumerate() {
            for seed in 0..10 {
                let mut numbers = Numbers(seed);
                let given: Option<Vec<Value>> =
                    g.inputs().iter().map(|v| random_input(g.ty(*v), &mut numbers)).collect();
                let Some(given) = given else { continue };
                let plain = run(g, &given, &Options::default()).unwrap();
                for (o, a) in bounded(g, &given).iter().zip(&plain) {
                    let c = compare(o, a, 1.0);
                    assert!(c.ok(), "example {at} of {name}, seed {seed}: {c}");
                }
            }
        }
    }
}

/// Numbers of any dtype for a tensor of constant sizes; every symbol is 3.
fn random_input(ty: &Type, numbers: &mut Numbers) -> Option<Value> {
    let t = ty.as_tensor()?;
    let sizes: Option<Vec<usize>> =
        t.shape.iter().map(|d| d.eval(&|_| Some(3)).and_then(|n| usize::try_from(n).ok())).collect();
    let sizes = sizes?;
    let n = sizes.iter().product();
    let tensor = if t.dtype.is_float() {
        let values: Vec<f64> = (0..n).map(|_| (numbers.next() % 4001) as f64 / 500.0 - 4.0).collect();
        HostTensor::from_floats(t.dtype, &sizes, &values)
    } else if t.dtype.int_range().is_some() {
        let values: Vec<i128> = (0..n).map(|_| i128::from(numbers.next() % 4)).collect();
        HostTensor::from_ints(t.dtype, &sizes, &values)
    } else {
        return None;
    };
    Some(tensor.unwrap().into())
}
