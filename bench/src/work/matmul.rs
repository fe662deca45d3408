//! `relu(x·w + bias)`: square, as in BERT and ResNet, odd, and one row.

use super::{bias_relu, cut, input, random};
use crate::Failure;
use crate::case::{Case, Check, Expected, Problem, Work};
use lawson::Passes;
use lawson::graph::{Builder, Graph};
use lawson::{HostTensor, Result};
use lawson_cpu::limits::Limit;

/// When the right operand is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weights {
    /// When compiling: it may be packed once.
    Constant,
    /// At each run.
    RunTime,
}

/// Rows, columns and the length of the sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// Columns of `x`.
    pub k: usize,
}

/// Rows that the interpreter checks.
const CHECKED: usize = 2;
/// Copies of weights that together exceed every cache.
const ROTATING: usize = 200 << 20;

fn graph(x: &HostTensor, w: &HostTensor, bias: &HostTensor, weights: Weights) -> Result<Graph> {
    let mut b = Builder::new("matmul");
    let x = input(&mut b, "x", x)?;
    let (w, bias) = match weights {
        Weights::Constant => (b.constant(w.clone())?, b.constant(bias.clone())?),
        Weights::RunTime => (input(&mut b, "w", w)?, input(&mut b, "bias", bias)?),
    };
    let y = b.matmul(x, w)?;
    let y = bias_relu(&mut b, y, bias, 1)?;
    b.output("y", y)?;
    b.finish()
}

/// One product; with `copies`, products with weights of their own run in turn.
pub fn case(size: Sizes, weights: Weights, work: Work, copies: usize) -> Case {
    let Sizes { m, n, k } = size;
    let how = match weights {
        Weights::Constant => "constant",
        Weights::RunTime => "run-time",
    };
    let name = format!("matmul {m}x{n}x{k} {how}");
    Case { name, work, make: Box::new(move || problem(size, weights, copies)) }
}

fn problem(
    Sizes { m, n, k }: Sizes,
    weights: Weights,
    copies: usize,
) -> std::result::Result<Problem, Failure> {
    let x = random(1, &[m, k], 1.0)?;
    let bias = random(2, &[n], 1.0)?;
    let first = random(3, &[k, n], 1.0)?;
    let mut graphs = vec![graph(&x, &first, &bias, weights)?];
    for copy in 1..copies {
        graphs.push(graph(&x, &random(3 + copy as u64, &[k, n], 1.0)?, &bias, weights)?);
    }
    let rows = CHECKED.min(m);
    let few = cut(&x, &[m - rows, 0], &[rows, k])?;
    let small = graph(&few, &first, &bias, Weights::Constant)?;
    let expected = Expected::Graph(Box::new(small), vec![few]);
    let inputs = match weights {
        Weights::Constant => vec![x],
        Weights::RunTime => vec![x, first, bias],
    };
    Ok(Problem {
        passes: Passes::Standard,
        graphs,
        inputs,
        check: Check { start: vec![m - rows, 0], expected },
    })
}

fn flops(s: Sizes) -> Work {
    Work::Flops(2.0 * (s.m * s.n * s.k) as f64)
}

/// 256, 1024 and 2048 square, with weights known when compiling and not.
pub fn square() -> Vec<Case> {
    let mut all = Vec::new();
    for weights in [Weights::Constant, Weights::RunTime] {
        for n in [256, 1024, 2048] {
            let size = Sizes { m: n, n, k: n };
            all.push(case(size, weights, flops(size), 1));
        }
    }
    all
}

/// The products of BERT (128 tokens) and of ResNet's 1×1 convolutions, and some that divide by nothing; columns are m, n, k.
pub const SHAPES: [[usize; 3]; 19] = [
    [128, 768, 768],
    [128, 3072, 768],
    [128, 768, 3072],
    [128, 64, 128],
    [49, 2048, 512],
    [49, 512, 2048],
    [196, 1024, 256],
    [196, 256, 1024],
    [784, 512, 128],
    [784, 128, 512],
    [3136, 64, 64],
    [3136, 256, 64],
    [3136, 64, 256],
    [7, 1000, 769],
    [7, 769, 1000],
    [1000, 7, 769],
    [1000, 769, 7],
    [769, 1000, 7],
    [769, 769, 1000],
];

/// [`SHAPES`], with constant weights.
pub fn shapes() -> Vec<Case> {
    let of = |[m, n, k]: [usize; 3]| {
        let size = Sizes { m, n, k };
        case(size, Weights::Constant, flops(size), 1)
    };
    SHAPES.into_iter().map(of).collect()
}

/// One row: weights of 9 MB in the last cache, and a set of them that is in main memory.
pub fn one_row() -> Vec<Case> {
    let size = Sizes { m: 1, n: 3072, k: 768 };
    let bytes = 4 * size.n * size.k;
    let copies = ROTATING.div_ceil(bytes);
    let cached = case(size, Weights::Constant, Work::Bytes(bytes as f64, Limit::Read(bytes)), 1);
    let memory = Work::Bytes(bytes as f64, Limit::Read(copies * bytes));
    let mut rotating = case(size, Weights::Constant, memory, copies);
    rotating.name += " rotating";
    vec![cached, rotating]
}
