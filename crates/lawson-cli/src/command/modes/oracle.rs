//! What a list gives, by the oracle: in f64, operator by operator.
//!
//! Linear layers are where the time goes, so they are summed here, over the weights as they lie in memory and by all processors. All other
//! operators are the reference interpreter's.

use lawson::eager::{Eager, EagerOptions, EagerTensor};
use lawson::graph::op::Op;
use lawson::graph::{Linear, WeightLayout};
use lawson::{CompileOptions, DType, Error, HostTensor, Result, Target, Tensor};
use std::num::NonZero;
use std::ops::Range;
use std::thread;

/// Columns of a layer that are summed together: their sums stay in a near cache.
const STRIP: usize = 256;
/// Layers of fewer products are not worth starting threads for.
const LEAST_SHARED: usize = 1 << 18;

/// Computes lists in f64.
pub struct Oracle {
    interpreter: Eager,
    threads: usize,
}

impl Oracle {
    pub fn new() -> Result<Oracle> {
        let compile = CompileOptions { target: Target::Reference, ..CompileOptions::default() };
        let interpreter = Eager::new(EagerOptions { compile, ..EagerOptions::default() })?;
        Ok(Oracle { interpreter, threads: thread::available_parallelism().map_or(1, NonZero::get) })
    }

    /// A value for [`Oracle::apply`].
    pub fn hold(&self, tensor: &Tensor) -> Result<EagerTensor> {
        self.interpreter.hold(&wide(tensor)?)
    }

    /// What an operator makes of a value. Weights are f32.
    pub fn apply(&self, op: &Op, value: &EagerTensor, weights: &[Tensor]) -> Result<EagerTensor> {
        if let (Some(Linear { layout: WeightLayout::InOut }), [w, bias]) = (op.composite(), weights) {
            let result = self.linear(&value.to_tensor()?, &w.to_host()?, &bias.to_host()?)?;
            return self.interpreter.hold(&result);
        }
        let weights = weights.iter().map(|w| self.hold(w)).collect::<Result<Vec<_>>>()?;
        let operands: Vec<_> = std::iter::once(value).chain(&weights).collect();
        self.interpreter.apply1(op, &operands)
    }

    /// `x · w + bias`, with rows of x in f64.
    fn linear(&self, x: &Tensor, w: &HostTensor, bias: &HostTensor) -> Result<Tensor> {
        let (&[rows, terms], &[in_, columns]) = (x.sizes(), w.sizes()) else {
            return Err(Error::internal("a layer of a list that is not over rows"));
        };
        let floats = [w, bias].iter().all(|t| t.dtype() == DType::F32) && x.dtype() == DType::F64;
        if !floats || in_ != terms || bias.sizes() != [columns] {
            return Err(Error::internal("a layer of a list whose sizes or dtypes do not agree"));
        }
        let layer =
            Layer { x: &x.to_vec::<f64>()?, sizes: [rows, terms, columns], w: words(w), bias: words(bias) };
        let strips = columns.div_ceil(STRIP);
        let threads = if rows * terms * columns < LEAST_SHARED { 1 } else { self.threads.clamp(1, strips) };
        let strip = |n: usize| n * STRIP..((n + 1) * STRIP).min(columns);
        let share = |first: usize| -> Vec<(Range<usize>, Vec<f64>)> {
            (first..strips).step_by(threads).map(|n| (strip(n), layer.sums(strip(n)))).collect()
        };
        let shares = thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|n| scope.spawn(move || share(n))).collect();
            let mut all = share(0);
            for other in others {
                all.extend(other.join().map_err(|_| Error::internal("a thread of the oracle panicked"))?);
            }
            Ok::<_, Error>(all)
        })?;
        let mut result = vec![0.0; rows * columns];
        for (at, sums) in shares {
            for (row, sums) in sums.chunks_exact(at.len()).enumerate() {
                result[row * columns..][at.clone()].copy_from_slice(sums);
            }
        }
        Tensor::from_slice(&[rows, columns], &result)
    }
}

/// A linear layer with its input.
struct Layer<'a> {
    x: &'a [f64],
    /// Rows, terms and columns.
    sizes: [usize; 3],
    w: &'a [[u8; 4]],
    bias: &'a [[u8; 4]],
}

impl Layer<'_> {
    /// Some columns of the result, row by row.
    fn sums(&self, columns: Range<usize>) -> Vec<f64> {
        let [rows, terms, all] = self.sizes;
        let mut sums: Vec<f64> = Vec::with_capacity(rows * columns.len());
        (0..rows).for_each(|_| sums.extend(self.bias[columns.clone()].iter().map(float)));
        for k in 0..terms {
            let weights = &self.w[k * all..][columns.clone()];
            for (row, sums) in sums.chunks_exact_mut(columns.len()).enumerate() {
                let by = self.x[row * terms + k];
                sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum += by * float(w));
            }
        }
        sums
    }
}

fn words(tensor: &HostTensor) -> &[[u8; 4]] {
    tensor.bytes().as_chunks().0
}

fn float(bytes: &[u8; 4]) -> f64 {
    f64::from(f32::from_le_bytes(*bytes))
}

fn wide(tensor: &Tensor) -> Result<Tensor> {
    let elements: Vec<f64> = tensor.to_vec::<f32>()?.into_iter().map(f64::from).collect();
    Tensor::from_slice(tensor.sizes(), &elements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lawson::graph::random::Rng;
    use std::sync::Arc;

    #[test]
    fn layers_are_those_of_the_interpreter() {
        let mut rng = Rng::new(5);
        let mut floats = |n: usize| -> Vec<f32> { (0..n).map(|_| (rng.unit() * 2.0 - 1.0) as f32).collect() };
        for (rows, terms, columns) in [(1, 1, 1), (3, 5, 7), (1, 600, 600), (2, 300, 513), (4, 0, 8)] {
            let tensor = |sizes: &[usize], of: Vec<f32>| Tensor::from_slice(sizes, &of).unwrap();
            let x = tensor(&[rows, terms], floats(rows * terms));
            let (w, bias) = (floats(terms * columns), floats(columns));
            let (w, bias) = (tensor(&[terms, columns], w), tensor(&[columns], bias));
            let op = Op::Composite(Arc::new(Linear { layout: WeightLayout::InOut }));
            let mut oracle = Oracle::new().unwrap();
            oracle.threads = 3;
            let value = oracle.hold(&x).unwrap();
            let found = oracle.apply(&op, &value, &[w.clone(), bias.clone()]).unwrap();
            let operands = [&value, &oracle.hold(&w).unwrap(), &oracle.hold(&bias).unwrap()];
            let expected = oracle.interpreter.apply1(&op, &operands).unwrap();
            let all = |v: &EagerTensor| v.to_tensor().unwrap().to_vec::<f64>().unwrap();
            let (found, expected) = (all(&found), all(&expected));
            assert_eq!(found.len(), expected.len());
            for (a, b) in found.iter().zip(&expected) {
                assert!((a - b).abs() <= 1e-13 * terms.max(1) as f64, "{rows} {terms} {columns}: {a} {b}");
            }
        }
    }
}
