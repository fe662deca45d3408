//! Programs that are run in a loop: the same bits as one run after another, whether all runs are one kernel or not.

use super::{compile_on, inputs, tensors, there};
use lawson::{Code, DType, Team, Tensor, TensorView, TensorViewMut};

/// All outputs are state; one input is not.
const SPRING: &str =
    "graph @spring(%x: f32[N], %v: f32[N], %k: f32[N]) -> (x: f32[N] in %x, v: f32[N] in %v) {
  %c: f32[] = constant 0.01
  %h = broadcast %c {shape = [N], axes = []}
  %s = sin %x
  %f = mul %k, %s
  %df = mul %f, %h
  %w = sub %v, %df
  %dw = mul %w, %h
  %y = add %x, %dw
  return %y, %w }";

/// State of two dtypes, an output that is none, and a number that is no array.
const COUNTED: &str = "graph @count(%x: f32[R, N], %n: i32[R, N], %d: f32[])
  -> (big: bool[R, N], x: f32[R, N] in %x, n: i32[R, N] in %n) where R >= 1, N >= 1 {
  %b = broadcast %d {shape = [R, N], axes = []}
  %y = mul %x, %b
  %big = gt %y, %b
  %one: i32[] = constant 1
  %ones = broadcast %one {shape = [R, N], axes = []}
  %more = add %n, %ones
  %m = select %big, %more, %n
  return %big, %y, %m }";

/// An element of the next state needs another one of this state.
const TURNED: &str = "graph @turn(%x: f32[N], %k: f32[N]) -> (x: f32[N] in %x) where N >= 1 {
  %r = slice %x {start = [N - 1], size = [N], step = [-1]}
  %y = mul %r, %k
  return %y }";

/// In registers these are wider than in memory.
const NARROW: &str = "graph @narrow(%x: DTYPE[N], %k: DTYPE[N]) -> (x: DTYPE[N] in %x) {
  %y = mul %x, %k
  %z = add %y, %k
  return %z }";

/// What one run after another gives.
fn one_by_one(text: &str, team: &Team, given: &[Tensor], fed: &[(usize, usize)], times: u64) -> Vec<Tensor> {
    let mut session = compile_on(text, team).unwrap().session();
    let (mut given, mut results) = (given.to_vec(), Vec::new());
    for _ in 0..times {
        results = session.run(&given).unwrap();
        for (output, input) in fed {
            given[*input] = results[*output].clone();
        }
    }
    results
}

fn check(text: &str, sizes: &[(&str, i64)], fed: &[(usize, usize)]) {
    if !there() {
        return;
    }
    let given = tensors(&inputs(text, sizes, 7));
    for threads in 1..=2 {
        let team = Team::new(threads).unwrap();
        let mut session = compile_on(text, &team).unwrap().session();
        // Also the same number again, and numbers that go up and down.
        for times in [1, 2, 3, 100, 100, 7, 2] {
            let expected = one_by_one(text, &team, &given, fed, times);
            let found = session.run_loop(&given, times).unwrap();
            assert!(found == expected, "{times} times, {threads} threads, {sizes:?}\n{text}");
        }
        assert_eq!(session.run_loop(&given, 0).unwrap_err().code(), Code::Usage);
    }
}

#[test]
fn loops_whose_outputs_are_all_state() {
    for n in [1, 16, 37, 5000] {
        check(SPRING, &[("N", n)], &[(0, 0), (1, 1)]);
    }
}

#[test]
fn loops_with_outputs_that_are_no_state() {
    for (r, n) in [(1, 1), (3, 33), (2, 4000)] {
        check(COUNTED, &[("R", r), ("N", n)], &[(1, 0), (2, 1)]);
    }
}

#[test]
fn loops_whose_elements_need_each_other() {
    check(TURNED, &[("N", 1001)], &[(0, 0)]);
}

#[test]
fn loops_of_narrow_floats_round_after_every_run() {
    for dtype in ["f16", "bf16", "f64"] {
        check(&NARROW.replace("DTYPE", dtype), &[("N", 301)], &[(0, 0)]);
    }
}

#[test]
fn sizes_may_change_between_loops() {
    if !there() {
        return;
    }
    let team = Team::new(2).unwrap();
    let mut session = compile_on(SPRING, &team).unwrap().session();
    for n in [64, 65, 64, 1] {
        let given = tensors(&inputs(SPRING, &[("N", n)], 3));
        let expected = one_by_one(SPRING, &team, &given, &[(0, 0), (1, 1)], 9);
        assert!(session.run_loop(&given, 9).unwrap() == expected, "{n}");
    }
}

#[test]
fn loops_in_the_callers_memory_leave_the_inputs_alone() {
    if !there() {
        return;
    }
    let team = Team::new(2).unwrap();
    for (text, sizes, outputs) in [
        (SPRING, vec![("N", 100)], vec![(DType::F32, vec![100]); 2]),
        (
            COUNTED,
            vec![("R", 2), ("N", 50)],
            vec![(DType::Bool, vec![2, 50]), (DType::F32, vec![2, 50]), (DType::I32, vec![2, 50])],
        ),
    ] {
        let given = inputs(text, &sizes, 5);
        let mut session = compile_on(text, &team).unwrap().session();
        let expected = session.run_loop(&tensors(&given), 5).unwrap();
        let mut bytes: Vec<Vec<u8>> =
            outputs.iter().map(|(d, n)| vec![0; d.bytes_for(n.iter().product()).unwrap()]).collect();
        let views: Vec<TensorView<'_>> =
            given.iter().map(|t| TensorView::new(t.dtype(), t.sizes(), t.bytes()).unwrap()).collect();
        for _ in 0..2 {
            let mut taken: Vec<TensorViewMut<'_>> = outputs
                .iter()
                .zip(&mut bytes)
                .map(|((d, n), b)| TensorViewMut::new(*d, n, b).unwrap())
                .collect();
            session.run_loop_into(&views, &mut taken, 5).unwrap();
            for (b, t) in bytes.iter().zip(&expected) {
                assert_eq!(&b[..], &t.to_host().unwrap().bytes()[..]);
            }
        }
    }
}
