//! `Session::run_into` on the CPU target allocates nothing once a run has had the same sizes: checked by an allocator that
//! counts, in a process of its own.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, unsafe_code)]

#[path = "../../lawson-cpu/tests/common/counting.rs"]
mod counting;

use counting::COUNT;
use lawson::graph::Graph;
use lawson::{CompileOptions, DType, Program, Target, Team, TensorView, TensorViewMut};
use std::sync::atomic::Ordering::Relaxed;

const GRAPH: &str = "lawson 1
graph @g(%x: f32[N, 33], %w: f32[33, 50], %v: f32[50, 19]) -> (p: f32[N, 19], same: f32[N, 33]) {
  %h = contract %x, %w {batch = [], sum = [[1, 0]]}
  %a = tanh %h
  %z = contract %a, %v {batch = [], sum = [[1, 0]]}
  %p = softmax %z {axis = 1}
  return %p, %x
}";

#[test]
fn runs_of_known_sizes_allocate_nothing() {
    if lawson::cpu::missing_feature().is_some() {
        return;
    }
    for threads in [1, 2] {
        let team = Some(Team::new(threads).unwrap());
        let options = CompileOptions { target: Target::Cpu, team, ..CompileOptions::default() };
        let program = Program::compile(Graph::parse(GRAPH).unwrap(), &options).unwrap();
        let mut session = program.session();
        for n in [17, 4] {
            let bytes = |sizes: [usize; 2]| vec![0u8; 4 * sizes[0] * sizes[1]];
            let (x, w, v) = (bytes([n, 33]), bytes([33, 50]), bytes([50, 19]));
            let (mut p, mut same) = (bytes([n, 19]), bytes([n, 33]));
            let given = [
                TensorView::new(DType::F32, &[n, 33], &x).unwrap(),
                TensorView::new(DType::F32, &[33, 50], &w).unwrap(),
                TensorView::new(DType::F32, &[50, 19], &v).unwrap(),
            ];
            let mut taken = [
                TensorViewMut::new(DType::F32, &[n, 19], &mut p).unwrap(),
                TensorViewMut::new(DType::F32, &[n, 33], &mut same).unwrap(),
            ];
            let before = COUNT.load(Relaxed);
            session.run_into(&given, &mut taken).unwrap();
            assert!(COUNT.load(Relaxed) > before, "the first run of a size takes memory, which this counts");
            let before = COUNT.load(Relaxed);
            for _ in 0..200 {
                session.run_into(&given, &mut taken).unwrap();
            }
            assert_eq!(COUNT.load(Relaxed), before, "{threads} threads, N = {n}");
        }
    }
}
