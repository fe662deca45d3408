//! Stages: what has sizes that are found in a run is computed by kernels, whatever the sizes are.

use super::{compile, compile_on, graph, there};
use lawson::graph::random::{Elements, Rng, random_inputs};
use lawson::graph::{Bindings, interp};
use lawson::kernel::{Action, Operators, Place, Plan};
use lawson::{
    Code, CompileOptions, DType, HostTensor, Limits, Passes, Program, Session, Target, Team, TensorView,
    TensorViewMut, Value,
};

/// Elements that are not zero, what is computed from them, and a sum of all.
const CHOSEN: &str =
    "graph @f(%x: f32[N, 6]) -> (at: i64[K, 2], y: f32[K], s: f32[], z: f32[N, 6]) where N >= 1 {
  %at = nonzero %x {symbol = K}
  %v = gather %x, %at {axes = [0, 1]}
  %e = exp %v
  %y = mul %e, %v
  %s = reduce_sum %y {axes = [0]}
  %w = broadcast %s {shape = [N, 6], axes = []}
  %z = add %x, %w
  return %at, %y, %s, %z }";

/// A convolution over as many images as were chosen.
const BOXES: &str = "graph @f(%x: f32[9, 3, 8, 8], %keep: bool[9], %w: f32[16, 3, 3, 3]) -> (y: f32[16, 8, 8], n: i64[]) {
  %at = nonzero %keep {symbol = K}
  %b = gather %x, %at {axes = [0]}
  %c = convolve %b, %w {stride = [1, 1], low = [1, 1], high = [1, 1], input_dilation = [1, 1], kernel_dilation = [1, 1]}
  %r = relu %c
  %y = reduce_max %r {axes = [0]}
  %n = dims {dims = [K]}
  %m = reshape %n {shape = []}
  return %y, %m }";

fn tensor(sizes: &[usize], elements: &[f32]) -> Value {
    HostTensor::from_slice(sizes, elements).unwrap().into()
}

/// Rows of which every so many elements are not zero.
fn rows(n: usize, every: usize) -> Value {
    let element =
        |i: usize| if every > 0 && i.is_multiple_of(every) { 0.25 + i as f32 / 4096.0 } else { 0.0 };
    tensor(&[n, 6], &(0..n * 6).map(element).collect::<Vec<_>>())
}

fn expected(text: &str, inputs: &[Value]) -> Vec<Value> {
    interp::run(&graph(text), inputs, &interp::Options::default()).unwrap()
}

/// That results are those of the interpreter, up to what sums and functions may differ by.
fn assert_near(found: &[Value], expected: &[Value]) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        let (a, b) = (a.as_tensor().unwrap(), b.as_tensor().unwrap());
        assert_eq!((a.dtype(), a.sizes()), (b.dtype(), b.sizes()));
        for i in 0..a.len() {
            let (x, y) = (a.float_at(i), b.float_at(i));
            assert!((x - y).abs() <= 1e-5 * (1.0 + y.abs()), "element {i}: {x} and {y}");
        }
    }
}

fn run(session: &mut Session, text: &str, inputs: &[Value]) -> Vec<Value> {
    let results = session.run_values(inputs).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_near(&results, &expected(text, inputs));
    results
}

fn stages(plan: &Plan) -> usize {
    plan.steps.iter().filter(|s| matches!(s.action, Action::Staged(_))).count()
}

#[test]
fn what_follows_a_search_is_one_stage_of_kernels() {
    if !there() {
        return;
    }
    let program = compile(CHOSEN);
    let plan = program.plan().unwrap();
    assert_eq!(stages(plan), 1, "{plan}");
    // The search itself writes where data says, and defines the size.
    let Operators { interpreter, evaluator, .. } = program.operators().unwrap();
    assert!(interpreter <= 3 && evaluator == 0, "{plan}");
    run(&mut program.session(), CHOSEN, &[rows(5, 3)]);
}

#[test]
fn sizes_change_between_runs_of_a_session_both_ways() {
    if !there() {
        return;
    }
    let program = compile(CHOSEN);
    let mut session = program.session();
    for (n, every) in [(5, 3), (40, 1), (5, 7), (5, 0), (40, 0), (1, 1), (40, 1), (700, 2), (5, 3)] {
        run(&mut session, CHOSEN, &[rows(n, every)]);
    }
}

#[test]
fn nothing_found_is_a_size_like_others() {
    if !there() {
        return;
    }
    let program = compile(CHOSEN);
    let results = run(&mut program.session(), CHOSEN, &[rows(4, 0)]);
    assert_eq!(results[1].as_tensor().unwrap().sizes(), [0]);
    assert_eq!(results[2].as_tensor().unwrap().float_at(0), 0.0);
}

#[test]
fn convolutions_over_what_was_found_are_machine_code() {
    if !there() {
        return;
    }
    let program = compile(BOXES);
    let plan = program.plan().unwrap();
    // Besides the convolution there are a scatter and a symbol, which the search is made of.
    let Operators { interpreter, evaluator, .. } = program.operators().unwrap();
    assert_eq!((interpreter, evaluator), (2, 0), "{plan}");
    let mut session = program.session();
    let mut rng = Rng::new(7);
    for kept in [0b1_0010_1101u32, 0b0_0000_0001, 0b1_1111_1111, 0b0_1000_0000, 0b1_1111_1111] {
        let mut inputs = random_inputs(&mut rng, &graph(BOXES), &Bindings::new(), Elements::Tame).unwrap();
        let keep: Vec<u8> = (0..9).map(|i| (kept >> i & 1) as u8).collect();
        inputs[1] = HostTensor::from_bytes(DType::Bool, &[9], keep).unwrap().into();
        run(&mut session, BOXES, &inputs);
    }
}

#[test]
fn weights_are_constants_of_the_stage_also_through_views() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[N, 3]) -> (y: f32[K, 2]) where N >= 1 {
      %w: f32[2, 3] = constant [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
      %t = transpose %w {perm = [1, 0]}
      %ones = reduce_sum %x {axes = [1]}
      %at = nonzero %ones {symbol = K}
      %v = gather %x, %at {axes = [0]}
      %y = contract %v, %t {batch = [], sum = [[1, 0]]}
      return %y }";
    // Larger weights would not be folded by the standard passes either.
    let passes = Passes::Custom("decompose".parse().unwrap());
    let options = CompileOptions { target: Target::Cpu, passes, ..CompileOptions::default() };
    let program = Program::compile(graph(text), &options).unwrap();
    let plan = program.plan().unwrap();
    let constants = |p: &Plan| p.buffers.iter().filter(|b| matches!(b.place, Place::Constant { .. })).count();
    assert_eq!(constants(&plan.stages()[0].plan), 1, "{plan}");
    assert_eq!(constants(plan), 0, "{plan}");
    let x = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 4.0, -1.0, 2.0];
    run(&mut program.session(), text, &[tensor(&[3, 3], &x)]);
}

#[test]
fn plans_show_their_stages() {
    let text = "graph @f(%n: i64[]) -> (y: f32[K]) {
      %k = symbol %n {name = K, max = 9}
      %i = iota {dtype = f32, shape = [K], axis = 0}
      %y = sqrt %i
      return %y }";
    let (_, plan) = lawson::cpu::plan(&graph(text)).unwrap();
    let expected = "plan where K <= 9
buffers
  #0 n  input 0                        8 bytes
  #1 y  output 0, a value of the host
steps
  0: interpreter, @symbol(#0 n -> )
     because `symbol` (`%k`) is not lowered: it defines a size at run time
  1: @stage( -> #1 y) for sizes that are found in the run
       plan where K <= 9
       buffers
         #0 y  output 0  4*K bytes
       steps
         0: kernel 0, @f( -> #0 y)
";
    assert_eq!(plan.to_string(), expected);
}

#[test]
fn sizes_found_with_sizes_that_were_found_are_stages_after_stages() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[N]) -> (a: f32[K], b: f32[L], s: f32[]) where N >= 1 {
      %at = nonzero %x {symbol = K}
      %v = gather %x, %at {axes = [0]}
      %a = neg %v
      %one: f32[1] = constant [1.0]
      %more = concat %v, %one {axis = 0}
      %ones = broadcast %one {shape = [K + 1], axes = [0]}
      %large = gt %more, %ones
      %where = nonzero %large {symbol = L}
      %u = gather %more, %where {axes = [0]}
      %b = mul %u, %u
      %s = reduce_sum %b {axes = [0]}
      return %a, %b, %s }";
    let program = compile(text);
    let plan = program.plan().unwrap();
    assert!(stages(plan) >= 2, "{plan}");
    let mut session = program.session();
    for x in [&[0.0f32, 0.5, 1.5, 0.0, 3.0, -2.0][..], &[0.0; 4], &[0.5, 0.25], &[2.0; 33]] {
        run(&mut session, text, &[tensor(&[x.len()], x)]);
    }
}

/// Between two stages stands what only the host knows: an order that must be kept.
#[test]
fn a_stage_does_not_reach_around_the_host() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[8], %n: i64[]) -> (y: f32[K]) {
      %k = symbol %n {name = K, max = 8}
      %a = slice %x {start = [0], size = [K], step = [1]}
      %b = exp %a
      %some = opt_some %b
      %c = opt_get %some
      %y = add %c, %b
      return %y }";
    let program = compile(text);
    let plan = program.plan().unwrap();
    assert_eq!(stages(plan), 2, "{plan}");
    let mut session = program.session();
    for n in [3i64, 8, 0, 99] {
        let x: Vec<f32> = (0..8).map(|i| i as f32 / 4.0).collect();
        let inputs = [tensor(&[8], &x), HostTensor::from_slice(&[], &[n]).unwrap().into()];
        run(&mut session, text, &inputs);
    }
}

/// A size that every iteration finds anew.
const IN_A_LOOP: &str = "graph @f(%x: f32[5, 7]) -> (s: f32[5]) {
  %s = scan %x {carried = 0, scanned = 1, length = 5}
    body(%row: f32[7]) {
      %at = nonzero %row {symbol = K}
      %v = gather %row, %at {axes = [0]}
      %e = exp %v
      %t = reduce_sum %e {axes = [0]}
      return %t }
  return %s }";

#[test]
fn a_body_has_stages_whose_sizes_each_iteration_finds() {
    if !there() {
        return;
    }
    let program = compile(IN_A_LOOP);
    let plan = program.plan().unwrap();
    let mut inside = 0;
    plan.visit(&mut |step, depth| {
        inside += usize::from(depth > 0 && matches!(step.action, Action::Staged(_)))
    });
    assert_eq!(inside, 1, "{plan}");
    let x: Vec<f32> = (0..35).map(|i| if i % 7 < i / 7 { i as f32 / 30.0 } else { 0.0 }).collect();
    run(&mut program.session(), IN_A_LOOP, &[tensor(&[5, 7], &x)]);
}

#[test]
fn a_loop_over_what_was_found_is_planned_in_its_stage() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[N]) -> (last: f32[], all: f32[K]) where N >= 1 {
      %at = nonzero %x {symbol = K}
      %v = gather %x, %at {axes = [0]}
      %zero: f32[] = constant 0.0
      %last, %all = scan %zero, %v {carried = 1, scanned = 1, length = K}
        body(%s: f32[], %e: f32[]) {
          %half: f32[] = constant 0.5
          %h = mul %s, %half
          %next = add %h, %e
          %out = exp %next
          return %next, %out }
      return %last, %all }";
    let program = compile(text);
    assert_eq!(stages(program.plan().unwrap()), 1);
    let mut session = program.session();
    for x in [&[0.0f32, 0.5, -1.5, 0.0, 3.0][..], &[0.0; 4], &[0.5; 20]] {
        run(&mut session, text, &[tensor(&[x.len()], x)]);
    }
}

#[test]
fn results_of_stages_do_not_depend_on_the_number_of_threads() {
    if !there() {
        return;
    }
    let results = |threads: usize| -> Vec<Vec<Value>> {
        let program = compile_on(CHOSEN, &Team::new(threads).unwrap()).unwrap();
        let mut session = program.session();
        [(300, 2), (5, 3), (300, 1)]
            .iter()
            .map(|(n, e)| session.run_values(&[rows(*n, *e)]).unwrap())
            .collect()
    };
    let one = results(1);
    for threads in [2, 3, 7] {
        assert_eq!(results(threads), one, "{threads} threads");
    }
}

#[test]
fn sessions_write_what_stages_computed_into_the_callers_memory() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[N]) -> (s: f32[], y: f32[N]) where N >= 1 {
      %at = nonzero %x {symbol = K}
      %v = gather %x, %at {axes = [0]}
      %s = reduce_sum %v {axes = [0]}
      %w = broadcast %s {shape = [N], axes = []}
      %y = sub %x, %w
      return %s, %y }";
    let program = compile(text);
    let mut session = program.session();
    for x in [&[0.0f32, 0.5, 2.0][..], &[0.0; 4], &[1.0; 50]] {
        let bytes = |x: &[f32]| x.iter().flat_map(|e| e.to_le_bytes()).collect::<Vec<u8>>();
        let (given, mut s, mut y) = (bytes(x), vec![0u8; 4], vec![0u8; 4 * x.len()]);
        let outputs = &mut [
            TensorViewMut::new(DType::F32, &[], &mut s).unwrap(),
            TensorViewMut::new(DType::F32, &[x.len()], &mut y).unwrap(),
        ];
        session.run_into(&[TensorView::new(DType::F32, &[x.len()], &given).unwrap()], outputs).unwrap();
        let sum: f32 = x.iter().sum();
        assert_eq!(s, bytes(&[sum]));
        assert_eq!(y, bytes(&x.iter().map(|e| e - sum).collect::<Vec<_>>()));
    }
}

#[test]
fn a_stage_that_would_take_too_much_memory_is_refused_and_the_session_goes_on() {
    if !there() {
        return;
    }
    let text = "graph @f(%n: i64[]) -> (y: f32[K]) {
      %k = symbol %n {name = K, max = 1000000}
      %i = iota {dtype = f32, shape = [K], axis = 0}
      %y = sqrt %i
      return %y }";
    let program = compile(text);
    let mut session = program.session();
    session.set_limits(Limits { max_bytes: Some(1 << 20), ..Limits::default() });
    let given = |n: i64| [HostTensor::from_slice(&[], &[n]).unwrap().into()];
    run(&mut session, text, &given(9));
    let error = session.run_values(&given(900_000)).unwrap_err();
    assert_eq!(error.code(), Code::Budget, "{error}");
    run(&mut session, text, &given(11));
}

/// What a model says of two sizes is checked before anything is computed from it.
#[test]
fn facts_about_sizes_that_are_found_are_checked_before_a_stage_relies_on_them() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[N], %z: f32[N]) -> (y: f32[K]) where N >= 1, K == L {
      %at = nonzero %x {symbol = K}
      %v = gather %x, %at {axes = [0]}
      %where = nonzero %z {symbol = L}
      %u = gather %z, %where {axes = [0]}
      %y = add %v, %u
      return %y }";
    let program = compile(text);
    let mut session = program.session();
    run(&mut session, text, &[tensor(&[3], &[0.0, 1.0, 2.0]), tensor(&[3], &[3.0, 0.0, 2.0])]);
    let error =
        session.run_values(&[tensor(&[3], &[0.0, 1.0, 2.0]), tensor(&[3], &[0.0, 0.0, 2.0])]).unwrap_err();
    assert!(error.to_string().contains("K == L"), "{error}");
    // What the run before found proves nothing, and refutes nothing.
    run(&mut session, text, &[tensor(&[3], &[0.0, 0.0, 2.0]), tensor(&[3], &[0.0, 0.0, 2.0])]);
    run(&mut session, text, &[tensor(&[3], &[1.0, 1.0, 2.0]), tensor(&[3], &[1.0, 1.0, 2.0])]);
}

#[test]
fn what_an_iteration_finds_is_not_held_against_the_next() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: i64[4]) -> (s: f32[4]) {
      %s = scan %x {carried = 0, scanned = 1, length = 4}
        body(%n: i64[]) {
          %k = symbol %n {name = K, max = 100}
          %m = add %k, %k
          %l = symbol %m {name = L, max = 2*K}
          %a = iota {dtype = f32, shape = [L], axis = 0}
          %t = reduce_sum %a {axes = [0]}
          return %t }
      return %s }";
    let program = compile(text);
    let mut session = program.session();
    for x in [[50i64, 3, 0, 70], [1, 2, 3, 4]] {
        run(&mut session, text, &[HostTensor::from_slice(&[4], &x).unwrap().into()]);
    }
}
