//! Matrix products with a right operand that comes at run time, beside faer:
//! `cargo bench -p lawson-bench --features peers --bench faer`.
//!
//! Both add a bias and apply ReLU: Lawson in the product's kernel, faer's caller in a pass over the result. Blocks alternate; the
//! ratio is faer's time over Lawson's, above 1 Lawson is ahead.

use faer::linalg::matmul::matmul as product;
use faer::{Accum, MatMut, MatRef, Par};
use lawson::Team;
use lawson_bench::Failure;
use lawson_bench::report::{Options, duration};
use lawson_bench::work::matmul;
use lawson_cpu::limits::median;
use std::time::Instant;

/// How long a block takes at least, in seconds.
const BLOCK: f64 = 0.1;

/// The median seconds of a run in one block, after a run that is not counted.
fn block<E>(run: &mut dyn FnMut() -> Result<(), E>) -> Result<f64, E> {
    run()?;
    let mut times = Vec::new();
    let begin = Instant::now();
    while times.is_empty() || begin.elapsed().as_secs_f64() < BLOCK {
        let one = Instant::now();
        run()?;
        times.push(one.elapsed().as_secs_f64());
    }
    Ok(median(times))
}

/// `relu(x·w + bias)` by faer.
struct Faer {
    size: usize,
    x: Vec<f32>,
    w: Vec<f32>,
    bias: Vec<f32>,
    y: Vec<f32>,
    par: Par,
}

impl Faer {
    fn run(&mut self) {
        let n = self.size;
        let y = MatMut::from_row_major_slice_mut(&mut self.y, n, n);
        let x = MatRef::from_row_major_slice(&self.x, n, n);
        let w = MatRef::from_row_major_slice(&self.w, n, n);
        product(y, Accum::Replace, x, w, 1.0, self.par);
        for row in self.y.chunks_mut(n) {
            row.iter_mut().zip(&self.bias).for_each(|(y, b)| *y = (*y + b).max(0.0));
        }
    }
}

fn main() -> Result<(), Failure> {
    let options = Options::from_arguments()?;
    for threads in [1, 2] {
        let team = Team::new(threads)?;
        let par = if threads == 1 { Par::Seq } else { Par::rayon(threads) };
        for case in matmul::square() {
            if !case.name.ends_with("run-time") || !options.wants(&case.name) {
                continue;
            }
            let problem = (case.make)()?;
            let mut instances = problem.instances(&team, &problem.oracle()?)?;
            let [lawson] = instances.as_mut_slice() else { return Err("one graph was expected".into()) };
            let [x, w, bias] = problem.inputs.as_slice() else {
                return Err("three inputs were expected".into());
            };
            let size = bias.len();
            let (x, w, bias) = (x.to_vec()?, w.to_vec()?, bias.to_vec()?);
            let mut faer = Faer { size, x, w, bias, y: vec![0.0; size * size], par };
            let (mut own, mut other, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..options.blocks() {
                let l = lawson.with(|run| block(run))?;
                let f = block::<Failure>(&mut || {
                    faer.run();
                    Ok(())
                })?;
                own.push(l);
                other.push(f);
                ratios.push(f / l);
            }
            println!(
                "{:<36} {threads}t | lawson {:>11} | faer {:>11} | ratio {:.2}",
                case.name,
                duration(median(own)),
                duration(median(other)),
                median(ratios)
            );
        }
    }
    Ok(())
}
