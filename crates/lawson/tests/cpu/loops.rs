//! Loops and branches as steps of plans, and programs that are run in a loop: against the oracle, at any number of threads.

use super::{assert_right, compile, compile_on, graph, inputs, tensors, there};
use lawson::graph::interp;
use lawson::{Code, DType, Limits, Team, Tensor, TensorView, TensorViewMut, Value};

/// How often it goes round is data, unless `MOST` is a constant.
const NEWTON: &str = "graph @root(%a: f32[N], %n: i32[]) -> (x: f32[N], steps: i32[]) {
  %zero: i32[] = constant 0
  %one: f32[] = constant 1.0
  %first = broadcast %one {shape = [N], axes = []}
  %x, %steps = while %first, %zero, %a, %n {carried = 2}
    cond(%x: f32[N], %k: i32[], %a: f32[N], %n: i32[]) {
      %seven: i32[] = constant 7
      %c = lt %k, %MOST
      return %c }
    body(%x: f32[N], %k: i32[], %a: f32[N], %n: i32[]) {
      %q = div %a, %x
      %s = add %x, %q
      %h: f32[] = constant 0.5
      %hs = broadcast %h {shape = [N], axes = []}
      %y = mul %s, %hs
      %one: i32[] = constant 1
      %j = add %k, %one
      return %y, %j }
  return %x, %steps }";

/// The state is a product of matrices: a step that reads all of it writes the next.
const POWER: &str = "graph @power(%m: f32[5, 5], %v: f32[5, 3], %n: i32[]) -> (v: f32[5, 3], swapped: f32[5, 5], other: f32[5, 5]) {
  %zero: i32[] = constant 0
  %id = neg %m
  %v1, %a, %b, %k = while %v, %m, %id, %zero, %n {carried = 4}
    cond(%v: f32[5, 3], %a: f32[5, 5], %b: f32[5, 5], %k: i32[], %n: i32[]) {
      %c = lt %k, %n
      return %c }
    body(%v: f32[5, 3], %a: f32[5, 5], %b: f32[5, 5], %k: i32[], %n: i32[]) {
      %w = contract %a, %v {batch = [], sum = [[1, 0]]}
      %t = tanh %w
      %one: i32[] = constant 1
      %j = add %k, %one
      return %t, %b, %a, %j }
  return %v1, %a, %b }";

const SCAN: &str = "graph @rnn(%x: f32[T, 4], %w: f32[4, 4], %h: f32[4]) -> (last: f32[4], all: f32[T, 4], gates: f32[T, 4]) {
  %last, %all, %gates = scan %h, %x, %w {carried = 1, scanned = 1, length = T, reverse = REVERSE}
    body(%h: f32[4], %x: f32[4], %w: f32[4, 4]) {
      %p = contract %h, %w {batch = [], sum = [[0, 0]]}
      %s = add %p, %x
      %t = tanh %s
      %g = tanh %x
      return %t, %t, %g }
  return %last, %all, %gates }";

const NESTED: &str = "graph @nested(%x: f32[6], %n: i32[]) -> (y: f32[6]) {
  %zero: i32[] = constant 0
  %y, %k = while %x, %zero, %n {carried = 2}
    cond(%y: f32[6], %k: i32[], %n: i32[]) { %c = lt %k, %n return %c }
    body(%y: f32[6], %k: i32[], %n: i32[]) {
      %zero: i32[] = constant 0
      %z, %j = while %y, %zero, %k {carried = 2}
        cond(%z: f32[6], %j: i32[], %k: i32[]) { %c = lt %j, %k return %c }
        body(%z: f32[6], %j: i32[], %k: i32[]) {
          %r = slice %z {start = [5], size = [6], step = [-1]}
          %s = sin %r
          %one: i32[] = constant 1
          %i = add %j, %one
          return %s, %i }
      %two: i32[] = constant 2
      %half = rem %k, %two
      %odd = ne %half, %zero
      %w = cond %odd, %z
        then(%a: f32[6]) { %b = neg %a return %b }
        else(%a: f32[6]) { return %a }
      %one: i32[] = constant 1
      %next = add %k, %one
      return %w, %next }
  return %y }";

fn scan(reverse: bool) -> String {
    SCAN.replace("REVERSE", if reverse { "true" } else { "false" })
}

/// Runs with one to three threads; the bits are the same, and within the oracle's bounds.
fn check(text: &str, given: &[lawson::HostTensor]) -> Vec<Tensor> {
    let mut first: Option<Vec<Tensor>> = None;
    for threads in 1..=3 {
        let program =
            compile_on(text, &Team::new(threads).unwrap()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(program.operators().unwrap().on_host(), 0, "{}", program.plan().unwrap());
        let mut session = program.session();
        for _ in 0..3 {
            let results = session.run(&tensors(given)).unwrap();
            assert_right(text, given, &results);
            assert!(*first.get_or_insert_with(|| results.clone()) == results, "{threads} threads\n{text}");
        }
    }
    first.unwrap()
}

fn counted(text: &str, n: i32, seed: u64) -> Vec<lawson::HostTensor> {
    let mut given = inputs(text, &[], seed);
    if let Some(last) = given.last_mut() {
        *last = lawson::HostTensor::from_slice(&[], &[n]).unwrap();
    }
    given
}

#[test]
fn while_loops_carry_state_and_read_captures() {
    if !there() {
        return;
    }
    let text = NEWTON.replace("MOST", "n");
    assert!(has_loops(&compile(&text)));
    for n in [1, 16, 33] {
        let a = lawson::HostTensor::from_slice(&[n], &vec![2f32; n]).unwrap();
        let plan = compile(&text).plan().unwrap().to_string();
        assert_eq!(plan.matches(" in place").count(), 2, "{plan}");
        let results = check(&text, &[a, lawson::HostTensor::from_slice(&[], &[7i32]).unwrap()]);
        assert_eq!(results[1], Tensor::scalar(7i32));
        assert!((results[0].to_vec::<f32>().unwrap()[0] - 2f32.sqrt()).abs() < 1e-6);
    }
}

/// Whether a plan goes round any loop outside of kernels.
fn has_loops(program: &lawson::Program) -> bool {
    let steps = &program.plan().unwrap().steps;
    steps.iter().any(|s| matches!(s.action, lawson::kernel::plan::Action::Loop(_)))
}

/// Its state stays in registers then, as that of a scan does.
#[test]
fn a_while_that_counts_to_a_constant_is_one_kernel() {
    if !there() {
        return;
    }
    let text = NEWTON.replace("MOST", "seven");
    let program = compile(&text);
    assert!(!has_loops(&program));
    let a = lawson::HostTensor::from_slice(&[33], &[2f32; 33]).unwrap();
    let results = check(&text, &[a, lawson::HostTensor::from_slice(&[], &[3i32]).unwrap()]);
    assert_eq!(results[1], Tensor::scalar(7i32));
    // What it counts is read in its body, too.
    let sum = "graph @sum(%x: f32[N]) -> (y: f32[N]) {
      %ten: i64[] = constant 10
      %y, %k = while %x, %ten {carried = 2}
        cond(%y: f32[N], %k: i64[]) { %end: i64[] = constant 1 %c = ge %k, %end return %c }
        body(%y: f32[N], %k: i64[]) {
          %f = cast %k {to = f32}
          %b = broadcast %f {shape = [N], axes = []}
          %s = add %y, %b
          %by: i64[] = constant -3
          %n = add %k, %by
          return %s, %n }
      return %y }";
    let x = lawson::HostTensor::from_slice(&[5], &[1f32; 5]).unwrap();
    assert_eq!(check(sum, &[x])[0].to_vec::<f32>().unwrap(), [1.0 + 10.0 + 7.0 + 4.0 + 1.0; 5]);
    assert!(!has_loops(&compile(sum)));
}

#[test]
fn state_that_is_exchanged_or_permuted_is_right_after_any_number_of_iterations() {
    if !there() {
        return;
    }
    for n in 0..5 {
        check(POWER, &counted(POWER, n, n as u64));
    }
}

#[test]
fn scans_read_and_write_rows_in_either_direction() {
    if !there() {
        return;
    }
    for t in [0, 1, 2, 7] {
        for reverse in [false, true] {
            let text = scan(reverse);
            check(&text, &inputs(&text, &[("T", t)], t as u64));
        }
    }
}

#[test]
fn loops_in_loops_and_branches_in_loops() {
    if !there() {
        return;
    }
    for n in 0..6 {
        check(NESTED, &counted(NESTED, n, 5));
    }
}

#[test]
fn loops_with_steps_of_the_host_are_right_and_end_when_those_fail() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[4], %n: i32[]) -> (y: f32[4]) {
      %zero: i32[] = constant 0
      %y, %k = while %x, %zero, %n {carried = 2}
        cond(%y: f32[4], %k: i32[], %n: i32[]) { %c = lt %k, %n return %c }
        body(%y: f32[4], %k: i32[], %n: i32[]) {
          %s = sort %y {axis = 0}
          %h = host_call %s {name = \"h\", results = [f32[4]]}
          %e = neg %h
          %one: i32[] = constant 1
          %j = add %k, %one
          return %e, %j }
      return %y }";
    for threads in 1..=3 {
        let program = compile_on(text, &Team::new(threads).unwrap()).unwrap();
        let mut session = program.session();
        let given = [Tensor::from_slice(&[4], &[3f32, 1.0, 2.0, 4.0]).unwrap(), Tensor::scalar(3i32)];
        let mut functions = interp::HostFunctions::new();
        functions.insert("h", |v: &[Value]| Ok(v.to_vec()));
        session.set_host_functions(functions);
        let y = session.run(&given).unwrap();
        assert_eq!(y[0].to_vec::<f32>().unwrap(), [-1.0, -2.0, -3.0, -4.0].map(|v: f32| v));
        let calls = std::sync::atomic::AtomicUsize::new(0);
        let mut functions = interp::HostFunctions::new();
        functions.insert("h", move |v: &[Value]| {
            match calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                1 => Err(lawson::Error::new(Code::Runtime, "the second time it fails")),
                _ => Ok(v.to_vec()),
            }
        });
        session.set_host_functions(functions);
        let error = session.run(&given).unwrap_err();
        assert!(error.to_string().contains("second time"), "{error}");
    }
}

#[test]
fn loops_without_end_reach_the_limit() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[4]) -> (y: f32[4]) {
      %y = while %x {carried = 1}
        cond(%y: f32[4]) { %t: bool[] = constant true return %t }
        body(%y: f32[4]) { %z = sin %y return %z }
      return %y }";
    for threads in 1..=2 {
        let mut session = compile_on(text, &Team::new(threads).unwrap()).unwrap().session();
        session.set_limits(Limits { max_steps: 1000, ..Limits::default() });
        let error = session.run(&[Tensor::from_slice(&[4], &[1f32; 4]).unwrap()]).unwrap_err();
        assert_eq!(error.code(), Code::Budget, "{error}");
    }
}

#[test]
fn sessions_in_many_threads_run_loops_at_once() {
    if !there() {
        return;
    }
    let program = compile(NESTED);
    let given = counted(NESTED, 5, 2);
    let expected = program.session().run(&tensors(&given)).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = program.session();
                for _ in 0..20 {
                    assert!(session.run(&tensors(&given)).unwrap() == expected);
                }
            });
        }
    });
}

const STEP: &str =
    "graph @step(%x: f32[N], %v: f32[N], %dt: f32[]) -> (x: f32[N], v: f32[N], energy: f32[N]) {
  %d = broadcast %dt {shape = [N], axes = []}
  %dx = mul %v, %d
  %y = add %x, %dx
  %dv = mul %y, %d
  %w = sub %v, %dv
  %e = mul %w, %w
  return %y, %w, %e }";

#[test]
fn repeated_runs_feed_outputs_to_inputs() {
    if !there() {
        return;
    }
    let given = tensors(&inputs(STEP, &[("N", 37)], 4));
    for threads in 1..=3 {
        let mut session = compile_on(STEP, &Team::new(threads).unwrap()).unwrap().session();
        for times in [1, 2, 3, 10] {
            let mut state = given.clone();
            let mut expected = Vec::new();
            for _ in 0..times {
                expected = session.run(&state).unwrap();
                state[..2].clone_from_slice(&expected[..2]);
            }
            assert!(session.run_loop(&given, times).unwrap() == expected, "{times} times, {threads} threads");
            let reference = lawson::Program::compile(graph(STEP), &Default::default()).unwrap();
            let other = reference.session().run_loop(&given, times).unwrap();
            for (a, b) in other.iter().zip(&expected) {
                let pairs = a.to_vec::<f32>().unwrap().into_iter().zip(b.to_vec::<f32>().unwrap());
                pairs.for_each(|(a, b)| assert!((a - b).abs() <= 1e-4 * (1.0 + a.abs()), "{a} {b}"));
            }
        }
    }
}

#[test]
fn state_that_the_signature_declares_is_what_is_fed() {
    if !there() {
        return;
    }
    let text = "graph @f(%a: f32[2], %s: f32[2]) -> (y: f32[2], next: f32[2] in %s) {
      %next = add %s, %a
      %y = neg %next
      return %y, %next }";
    let mut session = compile(text).session();
    let [a, s] = [[1f32, 2.0], [0.0, 10.0]].map(|v| Tensor::from_slice(&[2], &v).unwrap());
    let results = session.run_loop(&[a, s], 4).unwrap();
    assert_eq!(results[1].to_vec::<f32>().unwrap(), [4.0, 18.0]);
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [-4.0, -18.0]);
}

#[test]
fn repeated_runs_work_in_the_callers_memory() {
    if !there() {
        return;
    }
    let mut session = compile(STEP).session();
    let given = inputs(STEP, &[("N", 3)], 4);
    let expected = session.run_loop(&tensors(&given), 5).unwrap();
    let mut out = [[0u8; 12]; 3];
    let views: Vec<TensorView<'_>> =
        given.iter().map(|t| TensorView::new(t.dtype(), t.sizes(), t.bytes()).unwrap()).collect();
    let mut taken: Vec<TensorViewMut<'_>> =
        out.iter_mut().map(|b| TensorViewMut::new(DType::F32, &[3], b).unwrap()).collect();
    session.run_loop_into(&views, &mut taken, 5).unwrap();
    for (bytes, tensor) in out.iter().zip(&expected) {
        assert_eq!(&bytes[..], &tensor.to_host().unwrap().bytes()[..]);
    }
    assert_eq!(session.run_loop(&tensors(&given), 0).unwrap_err().code(), Code::Usage);
    let mut none =
        compile("graph @f(%x: f32[2]) -> (y: f32[]) { %y = reduce_sum %x {axes = [0]} return %y }").session();
    let x = Tensor::from_slice(&[2], &[1f32; 2]).unwrap();
    assert_eq!(none.run_loop(&[x], 2).unwrap_err().code(), Code::Usage);
}
