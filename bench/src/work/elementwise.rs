//! Elementwise chains, softmax and layer norm over arrays larger than the caches.
//!
//! Bytes are what must be read and written once; the limit is that of `a = b + s·c` with non-temporal stores. The chains are
//! those of the zoo (`ew_arith20`, `ew_chain20`), twenty operators on a matrix, a row and a column.

use super::{cut, input, random};
use crate::Failure;
use crate::case::{Case, Check, Expected, Problem, Work};
use lawson::Passes;
use lawson::graph::{Builder, Graph, ValueId};
use lawson::{HostTensor, Result};
use lawson_cpu::limits::Limit;

/// A program on rows; every row of the result follows from the same row of the matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rows {
    /// Twenty additions, products, minima and maxima.
    Arithmetic,
    /// Twenty with exponentials, a hyperbolic tangent, a root and a division.
    Transcendental,
    Softmax,
    /// `x + gelu(layer_norm(x))`
    NormGelu,
}

/// Rows that the interpreter checks, the last ones.
const CHECKED: usize = 2;

/// `(x + row)·column …`: the operands are the matrix, the row along it and the column.
fn arithmetic(b: &mut Builder<'_>, x: ValueId, row: ValueId, column: ValueId) -> Result<ValueId> {
    let t = b.add(x, row)?;
    let t = b.mul(t, column)?;
    let t = b.sub(t, row)?;
    let t = b.max(t, x)?;
    let t = b.add_scalar(t, 0.5)?;
    let t = b.mul_scalar(t, 0.9)?;
    let t = b.relu(t)?;
    let t = b.sub(t, column)?;
    let t = b.mul(t, row)?;
    let t = b.min(t, x)?;
    let t = b.add(t, column)?;
    let u = b.mul_scalar(t, 1.1)?;
    let u = b.sub(u, x)?;
    let u = b.max(u, row)?;
    let u = b.add(u, t)?;
    let u = b.mul_scalar(u, 0.25)?;
    let u = b.add(u, x)?;
    let u = b.sub(u, column)?;
    let u = b.min(u, t)?;
    let u = b.mul(u, row)?;
    b.add(u, x)
}

fn transcendental(b: &mut Builder<'_>, x: ValueId, row: ValueId, column: ValueId) -> Result<ValueId> {
    let t = b.add(x, row)?;
    let t = b.mul(t, column)?;
    let t = b.sigmoid(t)?;
    let t = b.mul(t, x)?;
    let t = b.tanh(t)?;
    let t = b.sub(t, row)?;
    let t = b.abs(t)?;
    let t = b.add_scalar(t, 1.0)?;
    let t = b.sqrt(t)?;
    let u = b.mul(t, row)?;
    let u = b.relu(u)?;
    let u = b.add(u, column)?;
    let quarter = b.mul_scalar(x, 0.25)?;
    let u = b.max(u, quarter)?;
    let u = b.neg(u)?;
    let u = b.exp(u)?;
    let u = b.div(u, t)?;
    let u = b.mul_scalar(u, 0.5)?;
    let u = b.add(u, x)?;
    let u = b.min(u, column)?;
    let u = b.mul(u, u)?;
    b.sub(u, column)
}

impl Rows {
    fn graph(self, inputs: &[HostTensor]) -> Result<Graph> {
        let mut b = Builder::new("rows");
        let mut v = Vec::new();
        for (n, t) in inputs.iter().enumerate() {
            v.push(input(&mut b, ["x", "row", "column"][n.min(2)], t)?);
        }
        let x = v[0];
        let y = match self {
            Rows::Arithmetic => arithmetic(&mut b, x, v[1], v[2])?,
            Rows::Transcendental => transcendental(&mut b, x, v[1], v[2])?,
            Rows::Softmax => b.softmax(x, 1)?,
            Rows::NormGelu => {
                let columns = inputs[0].sizes()[1];
                let scale = b.constant(random(4, &[columns], 1.0)?)?;
                let bias = b.constant(random(5, &[columns], 1.0)?)?;
                let norm = b.layer_norm(x, scale, bias, 1, 1e-5)?;
                let gelu = b.gelu(norm)?;
                b.add(x, gelu)?
            }
        };
        b.output("y", y)?;
        b.finish()
    }

    fn problem(self, rows: usize, columns: usize) -> std::result::Result<Problem, Failure> {
        let mut inputs = vec![random(1, &[rows, columns], 2.0)?];
        if let Rows::Arithmetic | Rows::Transcendental = self {
            inputs.extend([random(2, &[columns], 2.0)?, random(3, &[rows, 1], 1.5)?]);
        }
        let start = [rows - CHECKED, 0];
        let mut small = vec![cut(&inputs[0], &start, &[CHECKED, columns])?];
        if let [_, row, column] = inputs.as_slice() {
            small.extend([row.clone(), cut(column, &start, &[CHECKED, 1])?]);
        }
        let expected = Expected::Graph(Box::new(self.graph(&small)?), small);
        let graphs = vec![self.graph(&inputs)?];
        Ok(Problem {
            passes: Passes::Standard,
            graphs,
            inputs,
            check: Check { start: start.to_vec(), expected },
        })
    }

    fn case(self, name: &str, rows: usize, columns: usize) -> Case {
        let work = Work::Bytes(8.0 * (rows * columns) as f64, Limit::Triad);
        Case { name: name.to_string(), work, make: Box::new(move || self.problem(rows, columns)) }
    }
}

/// All of them.
pub fn all() -> Vec<Case> {
    vec![
        Rows::Arithmetic.case("ew_arith20 4096x4096", 4096, 4096),
        Rows::Transcendental.case("ew_chain20 4096x4096", 4096, 4096),
        Rows::Softmax.case("softmax 4096x1024", 4096, 1024),
        Rows::NormGelu.case("layer norm + gelu + x 4096x1024", 4096, 1024),
    ]
}
