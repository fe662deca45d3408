//! From a list to a typed graph, or to the first thing that is wrong with the list.
//!
//! What is checked, with the code of the error and a test of each (`tests/validate.rs`):
//! - E0601: there are entries, and at least one operator between the two transfers;
//! - E0602: `HostToDevice` is the first entry and no other, `DeviceToHost` the last and no other;
//! - E0603: the weights have as many rows as the matrix before has columns; the bias is one row with as many columns
//!   as the weights;
//! - E0604: softmax, alone or fused, stands directly before `DeviceToHost`;
//! - E0605: no matrix has zero rows or columns, and each holds rows times columns elements.
//!
//! Elements themselves are not checked: an infinite or NaN weight is allowed and means what IEEE says.

use crate::op::{Input, ListOp, Matrix, Step};
use lawson_graph::{
    Builder, Code, DType, Dim, Error, Graph, HostTensor, Relation, Result, Symbol, Type, ValueId,
};

/// How many rows the graph's input has.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Batch {
    /// As many as the list says.
    #[default]
    Fixed,
    /// Any number from 1, named by a symbol. What the list says is one example.
    Symbol(Symbol),
}

/// The graph of a list: one input `x`, one output `y`, f32.
///
/// Fused operators give the same graph as the separate ones.
pub fn validate(list: &[ListOp]) -> Result<Graph> {
    validate_with(list, &Batch::Fixed)
}

/// The graph of a list, with the choice of a symbolic batch.
pub fn validate_with(list: &[ListOp], batch: &Batch) -> Result<Graph> {
    let (first, middle) = check_frame(list)?;
    check_softmax(list)?;
    let (rows, cols) = check_input(first).map_err(|e| e.at(list[0].place(0)))?;

    let mut b = Builder::new("list");
    let rows = match batch {
        Batch::Fixed => Dim::from(rows),
        Batch::Symbol(symbol) => {
            b.fact(symbol.clone(), Relation::Ge, 1)?;
            Dim::from(symbol.clone())
        }
    };
    let x = b.input("x", Type::tensor(DType::F32, [rows, Dim::from(cols)]))?;
    let mut lowering = Lowering { b, value: x, cols, layers: 0 };
    for (i, op) in middle.iter().enumerate() {
        for step in op.steps() {
            lowering.step(step).map_err(|e| e.at(op.place(i + 1)))?;
        }
    }
    let Lowering { mut b, value, .. } = lowering;
    b.output("y", value)?;
    b.finish()
}

/// Checks the transfers; returns the input and the operators between them.
fn check_frame(list: &[ListOp]) -> Result<(&Input, &[ListOp])> {
    let [first, .., last] = list else {
        return Err(match list {
            [only] => transfer(list, 0, format!("the list is `{}` alone", only.name())),
            _ => Error::new(Code::ListEmpty, "the list has no entries"),
        }
        .help("a list is HostToDevice, at least one operator, DeviceToHost"));
    };
    let ListOp::HostToDevice { input } = first else {
        return Err(transfer(list, 0, "the list does not begin with `HostToDevice`")
            .help("put the transfer of the input before everything else"));
    };
    let end = list.len() - 1;
    for (i, op) in list.iter().enumerate().skip(1) {
        match op {
            ListOp::HostToDevice { .. } => {
                return Err(transfer(list, i, "a second `HostToDevice`").help("a list has one input"));
            }
            ListOp::DeviceToHost if i < end => {
                return Err(transfer(list, i, format!("`DeviceToHost` at entry {i}, before the end"))
                    .help("the result comes back once, after everything else"));
            }
            _ => {}
        }
    }
    if !matches!(last, ListOp::DeviceToHost) {
        return Err(transfer(list, end, "the list does not end with `DeviceToHost`")
            .help("put the transfer of the result after everything else"));
    }
    match &list[1..end] {
        [] => Err(Error::new(Code::ListEmpty, "there is no operator between the transfers")
            .at(list[end].place(end))),
        middle => Ok((input, middle)),
    }
}

fn transfer(list: &[ListOp], index: usize, message: impl Into<String>) -> Error {
    Error::new(Code::ListTransfer, message).at(list[index].place(index))
}

fn check_softmax(list: &[ListOp]) -> Result<()> {
    let last_operator = list.len() - 2;
    match list[..last_operator].iter().position(ListOp::has_softmax) {
        Some(i) => Err(Error::new(
            Code::ListSoftmax,
            format!("`{}` is followed by `{}`, not by the transfer back", list[i].name(), list[i + 1].name()),
        )
        .at(list[i].place(i))
        .help("softmax stands once, directly before `DeviceToHost`")),
        None => Ok(()),
    }
}

fn check_input(input: &Input) -> Result<(usize, usize)> {
    match input {
        Input::Data(matrix) => check_data("the input", matrix)?,
        Input::Shape { rows, cols } => check_sizes("the input", *rows, *cols)?,
    }
    Ok(input.shape())
}

fn check_sizes(what: &str, rows: usize, cols: usize) -> Result<()> {
    if rows == 0 || cols == 0 {
        return Err(Error::new(Code::ListData, format!("{what} is empty: {rows}×{cols}")));
    }
    Ok(())
}

fn check_data(what: &str, matrix: &Matrix) -> Result<()> {
    let Matrix { rows, cols, data } = matrix;
    check_sizes(what, *rows, *cols)?;
    if rows.checked_mul(*cols) != Some(data.len()) {
        let message = format!("{what} is {rows}×{cols}, but holds {} elements", data.len());
        return Err(Error::new(Code::ListData, message));
    }
    Ok(())
}

/// The graph as far as the list has been read.
struct Lowering {
    b: Builder<'static>,
    /// What the last operator gave.
    value: ValueId,
    /// Its columns.
    cols: usize,
    layers: usize,
}

impl Lowering {
    fn step(&mut self, step: Step<'_>) -> Result<()> {
        self.value = match step {
            Step::Linear { weights, bias } => self.linear(weights, bias)?,
            Step::Relu => self.b.relu(self.value)?,
            Step::Softmax => self.b.softmax(self.value, 1)?,
        };
        Ok(())
    }

    fn linear(&mut self, weights: &Matrix, bias: &Matrix) -> Result<ValueId> {
        check_data("the matrix of weights", weights)?;
        check_data("the bias", bias)?;
        if weights.rows != self.cols {
            return Err(Error::new(
                Code::ListDims,
                format!("the weights have {} rows, but {} columns come in", weights.rows, self.cols),
            )
            .help("weights are (columns that come in)×(columns that go out)"));
        }
        if (bias.rows, bias.cols) != (1, weights.cols) {
            return Err(Error::new(
                Code::ListDims,
                format!(
                    "the bias is {}×{}, but weights of {} columns take one of 1×{}",
                    bias.rows, bias.cols, weights.cols, weights.cols
                ),
            ));
        }
        let layer = self.layers;
        let w = self.b.constant(weights.to_tensor()?)?;
        self.b.name(w, &format!("weights{layer}"))?;
        let bias = self.b.constant(HostTensor::from_slice(&[bias.cols], &bias.data)?)?;
        self.b.name(bias, &format!("bias{layer}"))?;
        (self.layers, self.cols) = (layer + 1, weights.cols);
        self.b.linear(self.value, w, Some(bias))
    }
}
