//! Threads: programs shared by sessions, teams shared by programs, and bits that do not depend on how many there are.

use super::{MLP, compile, compile_on, inputs, tensors, there};
use lawson::{Team, Tensor};

#[test]
fn many_sessions_of_one_program_run_at_once() {
    if !there() {
        return;
    }
    let program = compile(MLP);
    let given: Vec<Vec<Tensor>> =
        (0..6).map(|n| tensors(&inputs(MLP, &[("N", 5 + 7 * n)], n as u64))).collect();
    let alone: Vec<Vec<Tensor>> = given.iter().map(|g| program.session().run(g).unwrap()).collect();
    std::thread::scope(|scope| {
        for (given, expected) in given.iter().zip(&alone) {
            let program = program.clone();
            scope.spawn(move || {
                let mut session = program.session();
                for _ in 0..20 {
                    assert!(session.run(given).unwrap() == *expected);
                }
            });
        }
    });
}

#[test]
fn a_session_moves_between_threads() {
    if !there() {
        return;
    }
    let mut session = compile(MLP).session();
    let given = tensors(&inputs(MLP, &[("N", 12)], 1));
    let first = session.run(&given).unwrap();
    let session = std::thread::scope(|scope| {
        let given = &given;
        let there = scope.spawn(move || {
            let results = session.run(given).unwrap();
            (session, results)
        });
        let (session, results) = there.join().unwrap();
        assert!(results == first);
        session
    });
    drop(session);
}

#[test]
fn programs_share_a_team() {
    if !there() {
        return;
    }
    let team = Team::new(3).unwrap();
    let softmax = "graph @g(%x: f32[N, 70]) -> (y: f32[N, 70]) { %y = softmax %x {axis = 1} return %y }";
    let programs = [MLP, softmax].map(|text| (text, compile_on(text, &team).unwrap()));
    std::thread::scope(|scope| {
        for (text, program) in &programs {
            scope.spawn(move || {
                let given = tensors(&inputs(text, &[("N", 40)], 4));
                let mut session = program.session();
                let first = session.run(&given).unwrap();
                for _ in 0..30 {
                    assert!(session.run(&given).unwrap() == first);
                }
            });
        }
    });
    // The team outlives what ran on it.
    drop(programs);
    let given = tensors(&inputs(softmax, &[("N", 2)], 4));
    assert!(compile_on(softmax, &team).unwrap().session().run(&given).is_ok());
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    if !there() {
        return;
    }
    let reductions =
        "graph @g(%x: f32[N, 501], %w: f32[501, 64]) -> (r: f32[N], c: f32[501], t: f32[], p: f32[N, 64]) {
      %r = reduce_sum %x {axes = [1]}
      %c = reduce_sum %x {axes = [0]}
      %t = reduce_sum %x {axes = [0, 1]}
      %p = contract %x, %w {batch = [], sum = [[1, 0]]}
      return %r, %c, %t, %p }";
    let convolution = "graph @g(%x: f32[N, 5, 13, 11], %w: f32[24, 5, 3, 3]) -> (y: f32[N, 24, 13, 11]) {
      %c = convolve %x, %w {stride = [1, 1], low = [1, 1], high = [1, 1], input_dilation = [1, 1], kernel_dilation = [1, 1]}
      %y = relu %c
      return %y }";
    for text in [MLP, reductions, convolution] {
        for n in [1, 6, 67] {
            let given = tensors(&inputs(text, &[("N", n)], 9));
            let run = |threads: usize| {
                let team = Team::new(threads).unwrap();
                compile_on(text, &team).unwrap().session().run(&given).unwrap()
            };
            let alone = run(1);
            for threads in [2, 3, 5] {
                assert!(run(threads) == alone, "{threads} threads, N = {n}: other bits\n{text}");
            }
        }
    }
}
