//! Outputs that no kernel writes: inputs, constants, one value twice; and state.

use super::{assert_right, compile, inputs, tensors, there};
use lawson::{DType, Tensor, TensorView, TensorViewMut};

fn check(text: &str, sizes: &[(&str, i64)]) -> Vec<Tensor> {
    let given = inputs(text, sizes, 5);
    let results = compile(text).session().run(&tensors(&given)).unwrap();
    assert_right(text, &given, &results);
    results
}

#[test]
fn an_output_may_be_an_input() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[N, 3]) -> (same: f32[N, 3], y: f32[N, 3]) { %y = neg %x return %x, %y }";
    check(text, &[("N", 11)]);
    check("graph @f(%x: f32[N]) -> (y: f32[N]) { return %x }", &[("N", 100)]);
    check("graph @f(%x: f32[N]) -> (y: f32[N]) { return %x }", &[("N", 0)]);
}

#[test]
fn an_output_may_be_a_constant() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[2]) -> (c: f32[3], y: f32[2], z: f32[4]) {
      %c: f32[3] = constant [1.5, -2.0, 3.0]
      %z: f32[4] = constant [0.0, 0.0, 0.0, 0.0]
      %y = neg %x
      return %c, %y, %z }";
    let results = check(text, &[]);
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [1.5, -2.0, 3.0]);
}

#[test]
fn one_value_may_be_several_outputs() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[N]) -> (a: f32[N], b: f32[N], c: f32[N], d: f32[N]) {
      %y = exp %x
      %z = neg %y
      return %y, %z, %y, %x }";
    let results = check(text, &[("N", 19)]);
    assert!(results[0] == results[2]);
}

#[test]
fn an_output_that_others_read_is_right_too() {
    if !there() {
        return;
    }
    check(
        "graph @f(%x: f32[N, 40], %w: f32[40, 40]) -> (h: f32[N, 40], p: f32[N, 40]) {
           %h = contract %x, %w {batch = [], sum = [[1, 0]]}
           %p = contract %h, %w {batch = [], sum = [[1, 0]]}
           return %h, %p }",
        &[("N", 9)],
    );
}

#[test]
fn inputs_that_nothing_reads_may_have_any_size() {
    if !there() {
        return;
    }
    check("graph @f(%x: f32[N], %unused: f32[M, 2]) -> (y: f32[N]) { %y = abs %x return %y }", &[]);
}

#[test]
fn a_graph_without_outputs_runs() {
    if !there() {
        return;
    }
    assert!(check("graph @f(%x: f32[N]) -> () { return }", &[]).is_empty());
}

#[test]
fn state_is_written_to_its_own_view_and_given_back() {
    if !there() {
        return;
    }
    let program = compile(
        "graph @f(%s: f32[3] in, %x: f32[3]) -> (next: f32[3]) { %n = add %s, %x return %n }"
            .replace("f32[3] in,", "f32[3],")
            .replace("next: f32[3]", "next: f32[3] in %s")
            .as_str(),
    );
    let mut session = program.session();
    let x: Vec<u8> = [1f32, 2.0, 3.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let (mut state, mut next) = (vec![0u8; 12], vec![0xffu8; 12]);
    for _ in 0..4 {
        let given = [
            TensorView::new(DType::F32, &[3], &state).unwrap(),
            TensorView::new(DType::F32, &[3], &x).unwrap(),
        ];
        let taken = TensorViewMut::new(DType::F32, &[3], &mut next).unwrap();
        session.run_into(&given, &mut [taken]).unwrap();
        std::mem::swap(&mut state, &mut next);
    }
    let state = Tensor::from_bytes(DType::F32, &[3], state).unwrap();
    assert_eq!(state.to_vec::<f32>().unwrap(), [4.0, 8.0, 12.0]);
}
