//! Programs that people write with array operations, against what they are for: sorting networks, Fourier transforms, prefix sums, circular shifts.

use super::{compile, there};
use lawson::Tensor;
use std::fmt::Write as _;

/// Numbers that look like none.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 2_654_435_761_usize) % 1009) as f32 / 16.0 - 31.0).collect()
}

fn run(text: &str, inputs: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let inputs: Vec<Tensor> = inputs.iter().map(|x| Tensor::from_slice(&[x.len()], x).unwrap()).collect();
    let results = compile(text).session().run(&inputs).unwrap();
    results.iter().map(|t| t.to_vec::<f32>().unwrap()).collect()
}

#[test]
fn a_bitonic_network_sorts() {
    if !there() {
        return;
    }
    for size in [8usize, 16, 32] {
        let mut text = format!("graph @sort(%x: f32[{size}]) -> (y: f32[{size}]) {{\n");
        let (mut last, mut n) = ("x".to_string(), 0);
        let mut run_of = 2;
        while run_of <= size {
            let mut apart = run_of / 2;
            while apart > 0 {
                // Neighbours `apart` away are put in order; which order, the runs take in turn.
                let blocks = size / 2 / apart;
                let up = (0..blocks).map(|b| usize::from((b * 2 * apart) & run_of == 0));
                let up: Vec<String> = up.map(|u| (u == 1).to_string()).collect();
                let shape = format!("[{blocks}, 1, {apart}]");
                write!(
                    text,
                    "%a{n} = reshape %{last} {{shape = [{blocks}, 2, {apart}]}}
                     %l{n} = slice %a{n} {{start = [0, 0, 0], size = {shape}, step = [1, 1, 1]}}
                     %h{n} = slice %a{n} {{start = [0, 1, 0], size = {shape}, step = [1, 1, 1]}}
                     %u{n}: bool[{blocks}] = constant [{}]
                     %up{n} = broadcast %u{n} {{shape = {shape}, axes = [0]}}
                     %min{n} = min %l{n}, %h{n}
                     %max{n} = max %l{n}, %h{n}
                     %p{n} = select %up{n}, %min{n}, %max{n}
                     %q{n} = select %up{n}, %max{n}, %min{n}
                     %c{n} = concat %p{n}, %q{n} {{axis = 1}}
                     %y{n} = reshape %c{n} {{shape = [{size}]}}\n",
                    up.join(", ")
                )
                .unwrap();
                (last, n) = (format!("y{n}"), n + 1);
                apart /= 2;
            }
            run_of *= 2;
        }
        writeln!(text, "return %{last}\n}}").unwrap();
        let given = numbers(size);
        let mut expected = given.clone();
        expected.sort_by(f32::total_cmp);
        assert_eq!(run(&text, &[given])[0], expected, "{size} numbers");
    }
}

#[test]
fn prefix_sums_by_doubling_are_prefix_sums() {
    if !there() {
        return;
    }
    let size = 1000i64;
    let mut text = format!("graph @scan(%x: i32[{size}]) -> (y: i32[{size}]) {{\n%z: i32[] = constant 0\n");
    let (mut last, mut by) = ("x".to_string(), 1);
    while by < size {
        write!(
            text,
            "%s{by} = slice %{last} {{start = [0], size = [{}], step = [1]}}
             %m{by} = pad %s{by}, %z {{low = [{by}], high = [0], interior = [0]}}
             %y{by} = add %{last}, %m{by}\n",
            size - by
        )
        .unwrap();
        (last, by) = (format!("y{by}"), by * 2);
    }
    writeln!(text, "return %{last}\n}}").unwrap();
    let given: Vec<i32> = (0..size as i32).map(|i| i * 7 % 13 - 6).collect();
    let expected: Vec<i32> =
        given.iter().scan(0, |sum, x| Some(std::mem::replace(sum, *sum + x) + x)).collect();
    let x = Tensor::from_slice(&[given.len()], &given).unwrap();
    let found = compile(&text).session().run(&[x]).unwrap();
    assert_eq!(found[0].to_vec::<i32>().unwrap(), expected);
}

#[test]
fn a_fourier_transform_by_halves_is_one() {
    if !there() {
        return;
    }
    // Decimation in frequency: [blocks, 2, half] becomes sums and turned differences, and the order is turned round at the end.
    let (size, steps) = (256usize, 8);
    let mut text =
        format!("graph @fft(%r: f32[{size}], %i: f32[{size}]) -> (a: f32[{size}], b: f32[{size}]) {{\n");
    let (mut re, mut im) = ("r".to_string(), "i".to_string());
    for n in 0..steps {
        let half = size >> (n + 1);
        let blocks = 1 << n;
        let turn = |f: fn(f64) -> f64| -> String {
            let angle = |k: usize| f(-std::f64::consts::PI * k as f64 / half as f64);
            (0..half).map(|k| format!("{:?}", angle(k) as f32)).collect::<Vec<_>>().join(", ")
        };
        let shape = format!("[{blocks}, 1, {half}]");
        let slice = |at: usize| format!("{{start = [0, {at}, 0], size = {shape}, step = [1, 1, 1]}}");
        write!(
            text,
            "%r{n} = reshape %{re} {{shape = [{blocks}, 2, {half}]}}
             %i{n} = reshape %{im} {{shape = [{blocks}, 2, {half}]}}
             %ra{n} = slice %r{n} {lo}
             %rb{n} = slice %r{n} {hi}
             %ia{n} = slice %i{n} {lo}
             %ib{n} = slice %i{n} {hi}
             %rs{n} = add %ra{n}, %rb{n}
             %is{n} = add %ia{n}, %ib{n}
             %rd{n} = sub %ra{n}, %rb{n}
             %id{n} = sub %ia{n}, %ib{n}
             %c{n}: f32[{half}] = constant [{cos}]
             %s{n}: f32[{half}] = constant [{sin}]
             %cb{n} = broadcast %c{n} {{shape = {shape}, axes = [2]}}
             %sb{n} = broadcast %s{n} {{shape = {shape}, axes = [2]}}
             %p{n} = mul %rd{n}, %cb{n}
             %q{n} = mul %id{n}, %sb{n}
             %u{n} = mul %rd{n}, %sb{n}
             %v{n} = mul %id{n}, %cb{n}
             %rt{n} = sub %p{n}, %q{n}
             %it{n} = add %u{n}, %v{n}
             %rc{n} = concat %rs{n}, %rt{n} {{axis = 1}}
             %ic{n} = concat %is{n}, %it{n} {{axis = 1}}
             %re{n} = reshape %rc{n} {{shape = [{size}]}}
             %im{n} = reshape %ic{n} {{shape = [{size}]}}\n",
            lo = slice(0),
            hi = slice(1),
            cos = turn(f64::cos),
            sin = turn(f64::sin),
        )
        .unwrap();
        (re, im) = (format!("re{n}"), format!("im{n}"));
    }
    writeln!(text, "return %{re}, %{im}\n}}").unwrap();
    let given = [numbers(size), numbers(2 * size)[size..].to_vec()];
    let found = run(&text, &given);
    for k in 0..size {
        let (mut a, mut b) = (0f64, 0f64);
        for (n, (x, y)) in given[0].iter().zip(&given[1]).enumerate() {
            let angle = -2.0 * std::f64::consts::PI * ((k * n) % size) as f64 / size as f64;
            a += f64::from(*x) * angle.cos() - f64::from(*y) * angle.sin();
            b += f64::from(*x) * angle.sin() + f64::from(*y) * angle.cos();
        }
        let at = k.reverse_bits() >> (usize::BITS - steps as u32);
        let near = |found: f32, expected: f64| (f64::from(found) - expected).abs() < 2e-2;
        assert!(
            near(found[0][at], a) && near(found[1][at], b),
            "{k}: {} {}, not {a} {b}",
            found[0][at],
            found[1][at]
        );
    }
}

#[test]
fn circular_shifts_add_up() {
    if !there() {
        return;
    }
    let (size, steps) = (1000usize, 12);
    let mut text = format!("graph @roll(%x: f32[{size}]) -> (y: f32[{size}]) {{\n");
    let mut expected: Vec<f64> = numbers(size).into_iter().map(f64::from).collect();
    let mut last = "x".to_string();
    for n in 0..steps {
        let by = 37 * n + 1;
        write!(
            text,
            "%a{n} = slice %{last} {{start = [{by}], size = [{}], step = [1]}}
             %b{n} = slice %{last} {{start = [0], size = [{by}], step = [1]}}
             %c{n} = concat %a{n}, %b{n} {{axis = 0}}
             %y{n} = add %{last}, %c{n}\n",
            size - by
        )
        .unwrap();
        last = format!("y{n}");
        let before = expected.clone();
        expected.iter_mut().enumerate().for_each(|(i, x)| *x += before[(i + by) % size]);
    }
    writeln!(text, "return %{last}\n}}").unwrap();
    let found = &run(&text, &[numbers(size)])[0];
    let near = |(a, b): (&f32, &f64)| (f64::from(*a) - b).abs() <= 1e-3 * b.abs().max(1000.0);
    assert!(found.iter().zip(&expected).all(near));
}
