//! Products with what is often 0 leave that out where it pays, and nobody can tell but by the time.

use super::there;
use lawson::graph::op::Convolve;
use lawson::graph::{Builder, Dim, Op, TensorType};
use lawson::{CompileOptions, DType, HostTensor, Program, Team, Tensor};

const SIZE: usize = 256;

/// Two layers, `relu(x) · w`: the first hands on its rows as they are.
fn program(weights: &[f32], threads: usize) -> Program {
    let mut b = Builder::new("layers");
    let shape = vec![Dim::symbol("N"), (SIZE as i64).into()];
    let x = b.input("x", TensorType { dtype: DType::F32, shape: shape.into() }).unwrap();
    let same: Vec<f32> = (0..SIZE * SIZE).map(|n| f32::from(u8::from(n / SIZE == n % SIZE))).collect();
    let [same, weights] = [&same[..], weights].map(|w| {
        let w = HostTensor::from_slice(&[SIZE, SIZE], w).unwrap();
        b.constant(w).unwrap()
    });
    let h = b.linear(x, same, None).unwrap();
    let a = b.relu(h).unwrap();
    let y = b.linear(a, weights, None).unwrap();
    b.output("y", y).unwrap();
    let team = Some(Team::new(threads).unwrap());
    Program::compile(b.finish().unwrap(), &CompileOptions { team, ..CompileOptions::default() }).unwrap()
}

/// Each column is the difference of two elements of a row, so that results are exact in whatever order.
fn differences() -> Vec<f32> {
    let mut w = vec![0.0; SIZE * SIZE];
    for j in 0..SIZE {
        w[j * SIZE + j] = 1.0;
        w[(j + 17) % SIZE * SIZE + j] = -1.0;
    }
    w
}

/// Small integers, of which so many in a hundred are negative.
fn rows(count: usize, negative: usize) -> Vec<f32> {
    let one = |n: usize| {
        let n = n.wrapping_mul(2_654_435_761) >> 7;
        let value = (n / 100 % 50 + 1) as f32;
        if n % 100 < negative { -value } else { value }
    };
    (0..count * SIZE).map(one).collect()
}

fn expected(x: &[f32]) -> Vec<f32> {
    let a: Vec<f32> = x.iter().map(|v| v.max(0.0)).collect();
    let one = |n: usize| a[n] - a[n / SIZE * SIZE + (n % SIZE + 17) % SIZE];
    (0..x.len()).map(one).collect()
}

fn tensor(x: &[f32]) -> Tensor {
    Tensor::from_slice(&[x.len() / SIZE, SIZE], x).unwrap()
}

#[test]
fn results_are_the_same_however_many_elements_are_zero() {
    if !there() {
        return;
    }
    for threads in [1, 2, 3] {
        let program = program(&differences(), threads);
        let plan = program.plan().unwrap();
        if lawson::cpu::Isa::Avx512.missing().is_none() {
            let schedules: Vec<String> =
                plan.skipping.iter().flatten().map(|s| s.schedule.to_string()).collect();
            // The product of an input may have no zeros at all.
            assert_eq!(schedules.len(), 1, "{plan}");
            assert!(schedules[0].contains("skip "), "{}", schedules[0]);
        }
        let mut session = program.session();
        // Few rows, too, and turns, because what was done for one input must not be done for the next.
        for count in [300, 1, 16, 257] {
            for negative in [0, 50, 99, 0, 100, 30] {
                let x = rows(count, negative);
                let y = session.run(&[tensor(&x)]).unwrap();
                assert!(
                    y[0].to_vec::<f32>().unwrap() == expected(&x),
                    "{count} rows, {negative}, {threads} threads"
                );
            }
        }
    }
}

#[test]
fn loops_of_runs_leave_products_out_too() {
    if !there() {
        return;
    }
    let mut x = rows(64, 50);
    let program = program(&differences(), 2);
    let found = program.session().run_loop(&[tensor(&x)], 5).unwrap();
    for _ in 0..5 {
        x = expected(&x);
    }
    assert!(found[0].to_vec::<f32>().unwrap() == x);
}

/// 0 times an infinity is no number, so such weights are never left out; numbers that are none are no zeros.
#[test]
fn what_is_not_finite_is_never_left_out() {
    if !there() {
        return;
    }
    let mut weights = differences();
    weights[5 * SIZE + 7] = f32::INFINITY;
    let mut x = rows(64, 90);
    x[3 * SIZE + 5] = -1.0;
    x[4 * SIZE + 5] = 1.0;
    let y = program(&weights, 2).session().run(&[tensor(&x)]).unwrap()[0].to_vec::<f32>().unwrap();
    assert!(y[3 * SIZE + 7].is_nan());
    assert_eq!(y[4 * SIZE + 7], f32::INFINITY);
    assert!(!y[3 * SIZE + 8].is_nan());

    x[9 * SIZE + 200] = f32::NAN;
    let y = program(&differences(), 1).session().run(&[tensor(&x)]).unwrap()[0].to_vec::<f32>().unwrap();
    assert!(y[9 * SIZE + 200].is_nan());
    assert!(!y[10 * SIZE + 200].is_nan());
}

#[test]
fn rows_without_elements_are_no_rows() {
    if !there() {
        return;
    }
    let y = program(&differences(), 1).session().run(&[Tensor::from_slice::<f32>(&[0, SIZE], &[]).unwrap()]);
    assert_eq!(y.unwrap()[0].sizes(), [0, SIZE]);
}

/// `relu(relu(x) ∗ w)` of a picture with channels last: each output is a channel of the picture less another one of its neighbour to the right,
/// so that results are exact in whatever order.
fn windows(threads: usize) -> (Program, [usize; 3]) {
    const H: usize = 9;
    const W: usize = 14;
    const C: usize = 128;
    let mut b = Builder::new("windows");
    let type_of = |shape: &[usize]| {
        let shape: Vec<Dim> = shape.iter().map(|n| Dim::from(*n as i64)).collect();
        TensorType { dtype: DType::F32, shape: shape.into() }
    };
    let x = b.input("x", type_of(&[1, C, H, W])).unwrap();
    let mut w = vec![0.0f32; C * C * 9];
    for out in 0..C {
        w[(out * C + out) * 9 + 4] = 1.0;
        w[(out * C + (out + 17) % C) * 9 + 5] = -1.0;
    }
    let same: Vec<f32> = (0..C * C).map(|n| f32::from(u8::from(n / C == n % C))).collect();
    let same = b.constant(HostTensor::from_slice(&[C, C, 1, 1], &same).unwrap()).unwrap();
    let w = b.constant(HostTensor::from_slice(&[C, C, 3, 3], &w).unwrap()).unwrap();
    let h = b.op1(Op::Convolve(Convolve::plain(2)), &[x, same]).unwrap();
    let a = b.relu(h).unwrap();
    let pad = vec![Dim::ONE; 2];
    let y =
        b.op1(Op::Convolve(Convolve { low: pad.clone(), high: pad, ..Convolve::plain(2) }), &[a, w]).unwrap();
    let y = b.relu(y).unwrap();
    let y = b.transpose(y, &[0, 2, 3, 1]).unwrap();
    b.output("y", y).unwrap();
    let team = Some(Team::new(threads).unwrap());
    let options = CompileOptions { team, ..CompileOptions::default() };
    (Program::compile(b.finish().unwrap(), &options).unwrap(), [H, W, C])
}

#[test]
fn windows_are_the_same_however_many_elements_are_zero() {
    if !there() {
        return;
    }
    for threads in [1, 2, 3] {
        let (program, [h, w, c]) = windows(threads);
        let plan = program.plan().unwrap();
        if lawson::cpu::Isa::Avx512.missing().is_none() {
            let schedules: Vec<String> =
                plan.skipping.iter().flatten().map(|s| s.schedule.to_string()).collect();
            assert!(schedules.iter().any(|s| s.contains(" as taps")), "{plan}");
        }
        let mut session = program.session();
        for negative in [0, 50, 100, 30] {
            let x: Vec<f32> = rows(h * w, negative)[..c * h * w].to_vec();
            let y = session.run(&[Tensor::from_slice(&[1, c, h, w], &x).unwrap()]).unwrap();
            let at = |channel: usize, row: usize, column: usize| match column < w {
                true => x[(channel % c * h + row) * w + column].max(0.0),
                false => 0.0,
            };
            let place = |n: usize| (n % c, n / c / w, n / c % w);
            let one = |(channel, row, column)| at(channel, row, column) - at(channel + 17, row, column + 1);
            let expected: Vec<f32> = (0..c * h * w).map(|n| one(place(n)).max(0.0)).collect();
            assert!(y[0].to_vec::<f32>().unwrap() == expected, "{negative} of 100, {threads} threads");
        }
    }
}
