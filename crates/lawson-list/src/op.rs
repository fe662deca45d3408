//! The operators of a list and the matrices that they hold.
//!
//! Nothing is checked here: a list is what somebody wrote. What makes it right is in `validate.rs`.

use crate::random::symmetric;
use lawson_graph::random::Rng;
use lawson_graph::{HostTensor, Place, Result};

/// One entry of a list.
///
/// Every operator but the first takes the matrix that the entry before it gave; the rows are the batch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ListOp {
    /// The input goes to the device. The first entry, and only that.
    HostToDevice {
        /// What goes there.
        input: Input,
    },
    /// `x · weights + bias`, the bias added to every row.
    Linear {
        /// As many rows as `x` has columns.
        weights: Matrix,
        /// One row, with as many columns as the weights.
        bias: Matrix,
    },
    /// `max(x, 0)`, element by element.
    Relu,
    /// Each row's exponentials over their sum. Only before the transfer back.
    Softmax,
    /// `Linear`, then `Relu`.
    LinearRelu {
        /// As for `Linear`.
        weights: Matrix,
        /// As for `Linear`.
        bias: Matrix,
    },
    /// `Linear`, then `Relu`, then `Softmax`. Only before the transfer back.
    LinearReluSoftmax {
        /// As for `Linear`.
        weights: Matrix,
        /// As for `Linear`.
        bias: Matrix,
    },
    /// The result comes back. The last entry, and only that.
    DeviceToHost,
}

/// What the first transfer takes to the device.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Input {
    /// A matrix that the list itself brings along; see [`input_tensor`].
    Data(Matrix),
    /// A matrix of this shape that comes with each run.
    Shape {
        /// The batch.
        rows: usize,
        /// The features.
        cols: usize,
    },
}

/// A matrix of f32, row by row. Infinities and NaN are allowed: they mean what IEEE says.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub cols: usize,
    /// The elements, row-major; `rows * cols` of them in a valid list.
    pub data: Vec<f32>,
}

/// What an operator does, taken apart: the fused operators are several steps.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    Linear { weights: &'a Matrix, bias: &'a Matrix },
    Relu,
    Softmax,
}

impl ListOp {
    /// The operator's name, as in its declaration.
    pub fn name(&self) -> &'static str {
        match self {
            ListOp::HostToDevice { .. } => "HostToDevice",
            ListOp::Linear { .. } => "Linear",
            ListOp::Relu => "Relu",
            ListOp::Softmax => "Softmax",
            ListOp::LinearRelu { .. } => "LinearRelu",
            ListOp::LinearReluSoftmax { .. } => "LinearReluSoftmax",
            ListOp::DeviceToHost => "DeviceToHost",
        }
    }

    /// Whether softmax is, or is part of, the operator.
    pub fn has_softmax(&self) -> bool {
        matches!(self, ListOp::Softmax | ListOp::LinearReluSoftmax { .. })
    }

    /// The steps in order; transfers have none.
    pub(crate) fn steps(&self) -> Vec<Step<'_>> {
        match self {
            ListOp::HostToDevice { .. } | ListOp::DeviceToHost => vec![],
            ListOp::Linear { weights, bias } => vec![Step::Linear { weights, bias }],
            ListOp::Relu => vec![Step::Relu],
            ListOp::Softmax => vec![Step::Softmax],
            ListOp::LinearRelu { weights, bias } => vec![Step::Linear { weights, bias }, Step::Relu],
            ListOp::LinearReluSoftmax { weights, bias } => {
                vec![Step::Linear { weights, bias }, Step::Relu, Step::Softmax]
            }
        }
    }

    pub(crate) fn place(&self, index: usize) -> Place {
        Place::ListEntry { index, op: self.name().to_string() }
    }
}

impl Input {
    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Input::Data(matrix) => (matrix.rows, matrix.cols),
            Input::Shape { rows, cols } => (*rows, *cols),
        }
    }
}

impl Matrix {
    /// A matrix from its elements, row by row; unchecked until the list is validated.
    pub fn new(rows: usize, cols: usize, data: impl Into<Vec<f32>>) -> Matrix {
        Matrix { rows, cols, data: data.into() }
    }

    /// Uniform elements in `±sqrt(3 / rows)`: variance `1 / rows`, so that a product with it keeps the size of what
    /// it multiplies. Equal seeds give equal matrices on every machine.
    pub fn random(rows: usize, cols: usize, seed: u64) -> Matrix {
        let reach = (3.0 / rows.max(1) as f64).sqrt();
        let mut rng = Rng::new(seed);
        Matrix { rows, cols, data: (0..rows * cols).map(|_| symmetric(&mut rng, reach)).collect() }
    }

    /// The elements of one row, which must be there, as with a slice.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.data[row * self.cols..(row + 1) * self.cols]
    }

    /// The matrix as a tensor; an error if the elements do not fill it.
    pub fn to_tensor(&self) -> Result<HostTensor> {
        HostTensor::from_slice(&[self.rows, self.cols], &self.data)
    }
}

/// The input that a list brings along, if it does.
pub fn input_tensor(list: &[ListOp]) -> Result<Option<HostTensor>> {
    match list.first() {
        Some(ListOp::HostToDevice { input: Input::Data(matrix) }) => matrix.to_tensor().map(Some),
        _ => Ok(None),
    }
}
