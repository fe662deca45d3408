//! Programs that are run in loops, for tests of each target.

use lawson::opt::Pipeline;
use lawson::{Fusion, Passes, Program, Tensor};

/// All outputs are state; one input is not.
pub(crate) const SPRING: &str =
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
pub(crate) const COUNTED: &str = "graph @count(%x: f32[R, N], %n: i32[R, N], %d: f32[])
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
pub(crate) const TURNED: &str = "graph @turn(%x: f32[N], %k: f32[N]) -> (x: f32[N] in %x) where N >= 1 {
  %r = slice %x {start = [N - 1], size = [N], step = [-1]}
  %y = mul %r, %k
  return %y }";

/// For any dtype: narrow floats are wider in registers than in memory, and integers of few bits wrap there, too.
pub(crate) const ROUNDED: &str = "graph @rounded(%x: DTYPE[N], %k: DTYPE[N]) -> (x: DTYPE[N] in %x) {
  %y = mul %x, %k
  %z = add %y, %k
  return %z }";

/// Every way to compile a graph, with whether its loops may be one kernel.
pub(crate) fn ways() -> Vec<(Passes, Fusion, bool)> {
    let passes = || [Passes::Standard, Passes::None, Passes::Custom(Pipeline::standard())];
    let with = |fusion, whole| passes().into_iter().map(move |p| (p, fusion, whole));
    with(Fusion::Predicted, true).chain(with(Fusion::Separate, false)).collect()
}

/// What one run after another gives.
pub(crate) fn one_by_one(
    program: &Program,
    given: &[Tensor],
    fed: &[(usize, usize)],
    times: u64,
) -> Vec<Tensor> {
    let mut session = program.session();
    let (mut given, mut results) = (given.to_vec(), Vec::new());
    for _ in 0..times {
        results = session.run(&given).unwrap();
        for (output, input) in fed {
            given[*input] = results[*output].clone();
        }
    }
    results
}
