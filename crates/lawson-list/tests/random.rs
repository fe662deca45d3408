//! Random lists stay finite, of order 1 and alive at any depth and size, by a naive evaluation in f32.
#![allow(clippy::unwrap_used)]

use lawson_list::{Input, ListOp, Matrix, RandomList, fuse, random_list};

fn multiply_add(x: &Matrix, weights: &Matrix, bias: &Matrix) -> Matrix {
    let mut data = Vec::with_capacity(x.rows * weights.cols);
    for row in 0..x.rows {
        let mut sums = bias.data.clone();
        for (x, weights) in x.row(row).iter().zip(weights.data.chunks(weights.cols)) {
            sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum += x * w);
        }
        data.extend(sums);
    }
    Matrix { rows: x.rows, cols: weights.cols, data }
}

fn relu(mut x: Matrix) -> Matrix {
    x.data.iter_mut().for_each(|e| *e = e.max(0.0));
    x
}

fn softmax(mut x: Matrix) -> Matrix {
    for row in x.data.chunks_mut(x.cols) {
        let greatest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        row.iter_mut().for_each(|e| *e = (*e - greatest).exp());
        let sum: f32 = row.iter().sum();
        row.iter_mut().for_each(|e| *e /= sum);
    }
    x
}

fn evaluate(list: &[ListOp], mut see: impl FnMut(usize, &Matrix)) -> Matrix {
    let mut x = Matrix::new(0, 0, []);
    for (i, op) in list.iter().enumerate() {
        x = match op {
            ListOp::HostToDevice { input: Input::Data(m) } => m.clone(),
            ListOp::Linear { weights, bias } => multiply_add(&x, weights, bias),
            ListOp::LinearRelu { weights, bias } => relu(multiply_add(&x, weights, bias)),
            ListOp::LinearReluSoftmax { weights, bias } => softmax(relu(multiply_add(&x, weights, bias))),
            ListOp::Relu => relu(x),
            ListOp::Softmax => softmax(x),
            _ => x,
        };
        see(i, &x);
    }
    x
}

fn mean_square(x: &Matrix) -> f32 {
    x.data.iter().map(|e| e * e).sum::<f32>() / x.data.len() as f32
}

#[test]
fn values_stay_of_order_one_at_depth_512_and_size_256() {
    let wanted = RandomList { depth: 512, size: 256, batch: 2, seed: 3, softmax: false };
    let list = random_list(&wanted).unwrap();
    let mut moments = Vec::new();
    evaluate(&list, |i, x| {
        assert!(x.data.iter().all(|e| e.is_finite() && e.abs() < 100.0), "entry {i}");
        if matches!(list[i], ListOp::Linear { .. }) {
            moments.push(mean_square(x));
        }
    });
    assert!(moments.len() > 200);
    let mean = moments.iter().sum::<f32>() / moments.len() as f32;
    assert!((0.5..2.0).contains(&mean), "{mean}");
    assert!(moments.iter().all(|m| (0.05..20.0).contains(m)), "{moments:?}");
}

#[test]
fn no_list_dies_or_overflows_however_narrow_and_deep() {
    for size in [1, 2, 3, 17] {
        for seed in 0..20 {
            let wanted = RandomList { depth: 1000, size, batch: 3, seed, softmax: false };
            let list = random_list(&wanted).unwrap();
            evaluate(&list, |i, x| {
                assert!(x.data.iter().all(|e| e.is_finite()), "size {size}, seed {seed}, entry {i}");
                for row in 0..x.rows {
                    assert!(x.row(row).iter().any(|e| *e > 0.0), "size {size}, seed {seed}, entry {i}");
                }
            });
        }
    }
}

#[test]
fn rows_of_a_softmax_sum_to_one() {
    let list = random_list(&RandomList { depth: 40, size: 9, batch: 4, ..RandomList::default() }).unwrap();
    let y = evaluate(&list, |_, _| ());
    for row in 0..4 {
        assert!((y.row(row).iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }
}

#[test]
fn fused_lists_give_the_same_numbers() {
    for seed in 0..20 {
        let list = random_list(&RandomList { depth: 30, size: 6, seed, ..RandomList::default() }).unwrap();
        let separate = evaluate(&list, |_, _| ());
        assert_eq!(evaluate(&fuse(list), |_, _| ()), separate);
    }
}
