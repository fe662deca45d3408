//! Each way in which a list can be wrong, with its code and its entry; and what right lists give.
#![allow(clippy::unwrap_used)]

use lawson_graph::{Code, Error, Place, Symbol};
use lawson_list::{Batch, Input, ListOp, Matrix, input_tensor, validate, validate_with};

fn to_device(rows: usize, cols: usize) -> ListOp {
    ListOp::HostToDevice { input: Input::Shape { rows, cols } }
}

fn linear(rows: usize, cols: usize) -> ListOp {
    ListOp::Linear { weights: Matrix::random(rows, cols, 1), bias: Matrix::random(1, cols, 2) }
}

fn refused(list: &[ListOp]) -> Error {
    validate(list).unwrap_err()
}

fn entry(error: &Error) -> Option<usize> {
    error.places().iter().find_map(|p| match p {
        Place::ListEntry { index, .. } => Some(*index),
        _ => None,
    })
}

#[track_caller]
fn check(list: &[ListOp], code: Code, at: usize, says: &str) {
    let error = refused(list);
    assert_eq!(error.code(), code, "{error}");
    assert_eq!(entry(&error), Some(at), "{error}");
    assert!(error.message().contains(says), "{error}");
}

#[test]
fn an_empty_list() {
    let error = refused(&[]);
    assert_eq!(error.code(), Code::ListEmpty);
}

#[test]
fn a_transfer_alone() {
    check(&[to_device(1, 1)], Code::ListTransfer, 0, "alone");
    check(&[ListOp::DeviceToHost], Code::ListTransfer, 0, "alone");
}

#[test]
fn nothing_between_the_transfers() {
    check(&[to_device(1, 1), ListOp::DeviceToHost], Code::ListEmpty, 1, "no operator");
}

#[test]
fn the_first_transfer_is_missing() {
    check(&[ListOp::Relu, ListOp::DeviceToHost], Code::ListTransfer, 0, "begin");
}

#[test]
fn the_first_transfer_is_misplaced() {
    check(&[ListOp::Relu, to_device(1, 1), ListOp::DeviceToHost], Code::ListTransfer, 0, "begin");
}

#[test]
fn the_first_transfer_is_repeated() {
    let list = [to_device(1, 1), ListOp::Relu, to_device(1, 1), ListOp::DeviceToHost];
    check(&list, Code::ListTransfer, 2, "second");
}

#[test]
fn the_last_transfer_is_missing() {
    check(&[to_device(1, 1), ListOp::Relu], Code::ListTransfer, 1, "end");
}

#[test]
fn the_last_transfer_is_misplaced() {
    check(&[to_device(1, 1), ListOp::DeviceToHost, ListOp::Relu], Code::ListTransfer, 1, "before the end");
}

#[test]
fn the_last_transfer_is_repeated() {
    let list = [to_device(1, 1), ListOp::Relu, ListOp::DeviceToHost, ListOp::DeviceToHost];
    check(&list, Code::ListTransfer, 2, "before the end");
}

#[test]
fn the_weights_do_not_fit_the_input() {
    check(&[to_device(2, 3), linear(4, 5), ListOp::DeviceToHost], Code::ListDims, 1, "4 rows, but 3 columns");
}

#[test]
fn the_weights_do_not_fit_the_layer_before() {
    let list = [to_device(2, 3), linear(3, 4), ListOp::Relu, linear(5, 4), ListOp::DeviceToHost];
    check(&list, Code::ListDims, 3, "5 rows, but 4 columns");
}

#[test]
fn the_bias_has_other_columns() {
    let op = ListOp::LinearRelu { weights: Matrix::random(3, 4, 1), bias: Matrix::random(1, 3, 1) };
    check(&[to_device(2, 3), op, ListOp::DeviceToHost], Code::ListDims, 1, "1×3");
}

#[test]
fn the_bias_has_more_than_one_row() {
    let op = ListOp::Linear { weights: Matrix::random(3, 4, 1), bias: Matrix::random(2, 4, 1) };
    check(&[to_device(2, 3), op, ListOp::DeviceToHost], Code::ListDims, 1, "2×4");
}

#[test]
fn the_input_has_no_rows_or_columns() {
    for (rows, cols) in [(0, 3), (3, 0), (0, 0)] {
        check(&[to_device(rows, cols), ListOp::Relu, ListOp::DeviceToHost], Code::ListData, 0, "empty");
        let data = ListOp::HostToDevice { input: Input::Data(Matrix::new(rows, cols, [])) };
        check(&[data, ListOp::Relu, ListOp::DeviceToHost], Code::ListData, 0, "empty");
    }
}

#[test]
fn the_weights_have_no_columns() {
    let op = ListOp::Linear { weights: Matrix::new(3, 0, []), bias: Matrix::new(1, 0, []) };
    check(&[to_device(2, 3), op, ListOp::DeviceToHost], Code::ListData, 1, "empty");
}

#[test]
fn data_that_does_not_fill_its_matrix() {
    let short = || Matrix::new(3, 4, vec![0.0; 11]);
    let input = ListOp::HostToDevice { input: Input::Data(short()) };
    check(&[input, ListOp::Relu, ListOp::DeviceToHost], Code::ListData, 0, "holds 11");
    let weights = ListOp::Linear { weights: short(), bias: Matrix::random(1, 4, 1) };
    check(&[to_device(2, 3), weights, ListOp::DeviceToHost], Code::ListData, 1, "weights");
    let bias = ListOp::Linear { weights: Matrix::random(3, 4, 1), bias: Matrix::new(1, 4, vec![0.0; 5]) };
    check(&[to_device(2, 3), bias, ListOp::DeviceToHost], Code::ListData, 1, "bias");
    let huge = Matrix::new(usize::MAX, 2, vec![0.0]);
    let input = ListOp::HostToDevice { input: Input::Data(huge) };
    check(&[input, ListOp::Relu, ListOp::DeviceToHost], Code::ListData, 0, "holds 1");
}

#[test]
fn an_input_shape_too_large_to_count_is_refused() {
    let list = [to_device(usize::MAX, usize::MAX), ListOp::Relu, ListOp::DeviceToHost];
    assert_eq!(refused(&list).code(), Code::DimOverflow);
}

#[test]
fn softmax_before_another_operator() {
    let list = [to_device(2, 3), ListOp::Softmax, ListOp::Relu, ListOp::DeviceToHost];
    check(&list, Code::ListSoftmax, 1, "followed by `Relu`");
}

#[test]
fn softmax_twice() {
    let list = [to_device(2, 3), ListOp::Softmax, ListOp::Softmax, ListOp::DeviceToHost];
    check(&list, Code::ListSoftmax, 1, "followed by `Softmax`");
}

#[test]
fn fused_softmax_before_another_operator() {
    let op = ListOp::LinearReluSoftmax { weights: Matrix::random(3, 3, 1), bias: Matrix::random(1, 3, 1) };
    check(&[to_device(2, 3), op, linear(3, 3), ListOp::DeviceToHost], Code::ListSoftmax, 1, "followed by");
}

#[test]
fn weights_that_are_not_finite_are_allowed() {
    let weights = Matrix::new(1, 2, [f32::INFINITY, f32::NAN]);
    let op = ListOp::Linear { weights, bias: Matrix::new(1, 2, [0.0, f32::NEG_INFINITY]) };
    assert!(validate(&[to_device(1, 1), op, ListOp::DeviceToHost]).is_ok());
}

#[test]
fn a_right_list_is_typed() {
    let list =
        [to_device(5, 3), linear(3, 7), ListOp::Relu, linear(7, 2), ListOp::Softmax, ListOp::DeviceToHost];
    let graph = validate(&list).unwrap();
    assert_eq!(graph.ty(graph.inputs()[0]).to_string(), "f32[5, 3]");
    assert_eq!(graph.ty(graph.outputs()[0].value).to_string(), "f32[5, 2]");
    assert_eq!(graph.outputs()[0].name, "y");
}

#[test]
fn the_batch_can_be_a_symbol() {
    let list = [to_device(5, 3), linear(3, 2), ListOp::Softmax, ListOp::DeviceToHost];
    let graph = validate_with(&list, &Batch::Symbol(Symbol::new("N"))).unwrap();
    assert_eq!(graph.ty(graph.inputs()[0]).to_string(), "f32[N, 3]");
    assert_eq!(graph.ty(graph.outputs()[0].value).to_string(), "f32[N, 2]");
}

#[test]
fn a_list_gives_back_the_input_it_brings() {
    let input = Input::Data(Matrix::new(1, 2, [1.0, 2.0]));
    let list = [ListOp::HostToDevice { input }, ListOp::Relu, ListOp::DeviceToHost];
    assert_eq!(input_tensor(&list).unwrap().unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0]);
    assert_eq!(input_tensor(&[to_device(1, 2)]).unwrap(), None);
}
