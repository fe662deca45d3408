//! What runs give: against the oracle, at changing sizes, by name, without passes' help.

use super::{MLP, assert_right, compile, inputs, tensors, there};
use lawson::Tensor;

const CASES: [(&str, &str); 6] = [
    (
        "a broadcast and transcendental functions",
        "graph @g(%x: f32[N, 37], %b: f32[37]) -> (y: f32[N, 37]) {
           %c = broadcast %b {shape = [N, 37], axes = [1]}
           %s = mul %x, %c
           %t = tanh %s
           %y = exp %t
           return %y }",
    ),
    ("rows", "graph @g(%x: f32[N, 77]) -> (y: f32[N, 77]) { %y = softmax %x {axis = 1} return %y }"),
    (
        "columns",
        "graph @g(%x: f32[N, 21]) -> (m: f32[21], s: f32[21]) {
           %m = reduce_max %x {axes = [0]}
           %s = reduce_sum %x {axes = [0]}
           return %m, %s }",
    ),
    (
        "a transposed slice",
        "graph @g(%x: f32[N, 12]) -> (y: f32[5, N]) {
           %s = slice %x {start = [0, 3], size = [N, 5], step = [1, 2]}
           %y = transpose %s {perm = [1, 0]}
           return %y }",
    ),
    ("layers", MLP),
    (
        "integers",
        "graph @g(%x: i32[N, 9], %y: i32[N, 9]) -> (z: i32[N, 9]) {
           %m = mul %x, %y
           %z = max %m, %x
           return %z }",
    ),
];

#[test]
fn results_lie_within_the_oracles_bounds_as_sizes_change() {
    if !there() {
        return;
    }
    for (what, text) in CASES {
        let mut session = compile(text).session();
        for n in [1, 7, 16, 64, 7, 130, 1] {
            let given = inputs(text, &[("N", n)], n as u64);
            let results = session.run(&tensors(&given)).unwrap_or_else(|e| panic!("{what}, N = {n}: {e}"));
            assert_right(text, &given, &results);
        }
    }
}

#[test]
fn a_run_after_another_of_the_same_sizes_gives_the_same_bits() {
    if !there() {
        return;
    }
    let mut session = compile(MLP).session();
    let given = tensors(&inputs(MLP, &[("N", 29)], 3));
    let first = session.run(&given).unwrap();
    for _ in 0..5 {
        assert!(session.run(&given).unwrap() == first);
    }
}

#[test]
fn inputs_are_given_by_name_in_any_order() {
    if !there() {
        return;
    }
    let program = compile("graph @f(%a: f32[N], %b: f32[N]) -> (d: f32[N]) { %d = sub %a, %b return %d }");
    let of = |x: f32| Tensor::from_slice(&[3], &[x; 3]).unwrap();
    let results = program.session().run_named(&[("b", of(2.0)), ("a", of(5.0))]).unwrap();
    assert_eq!(results, [("d".to_string(), of(3.0))]);
}

#[test]
fn dimensions_of_size_zero_give_empty_results_and_identities() {
    if !there() {
        return;
    }
    let text = "graph @g(%x: f32[N, M], %w: f32[M, 5]) -> (e: f32[N, M], s: f32[N], p: f32[N, 5]) {
      %e = exp %x
      %s = reduce_sum %x {axes = [1]}
      %p = contract %x, %w {batch = [], sum = [[1, 0]]}
      return %e, %s, %p }";
    let mut session = compile(text).session();
    for (n, m) in [(0, 0), (0, 4), (4, 0), (3, 2), (0, 7)] {
        let given = inputs(text, &[("N", n), ("M", m)], 1);
        let results = session.run(&tensors(&given)).unwrap();
        assert_right(text, &given, &results);
        assert_eq!(results[2].sizes(), [n as usize, 5]);
        if m == 0 {
            assert!(results[2].to_vec::<f32>().unwrap().iter().all(|x| *x == 0.0));
        }
    }
}

#[test]
fn scalars_are_tensors_without_axes() {
    if !there() {
        return;
    }
    let program = compile("graph @f(%a: f32[], %b: f32[]) -> (y: f32[]) { %y = mul %a, %b return %y }");
    let y = program.session().run(&[Tensor::scalar(3f32), Tensor::scalar(0.5f32)]).unwrap();
    assert_eq!(y, [Tensor::scalar(1.5f32)]);
}

#[test]
fn lists_of_operators_run_as_on_the_reference_target() {
    use lawson::list::{RandomList, input_tensor, random_list, validate};
    use lawson::{CompileOptions, Program, Target};
    if !there() {
        return;
    }
    let list = random_list(&RandomList { depth: 8, size: 21, batch: 3, ..RandomList::default() }).unwrap();
    let graph = validate(&list).unwrap();
    let text = graph.to_string();
    let x = input_tensor(&list).unwrap().unwrap();
    let options = CompileOptions { target: Target::Cpu, ..CompileOptions::default() };
    let program = Program::compile(graph, &options).unwrap();
    let results = program.session().run(&[x.clone().into()]).unwrap();
    assert_right(text.trim_start_matches("lawson 1"), &[x], &results);
}

#[test]
fn plans_print_their_buffers_steps_and_barriers() {
    if !there() {
        return;
    }
    let program = compile(MLP);
    let plan = program.plan().unwrap();
    assert_eq!(plan.schedules.len(), plan.kernels.len());
    let text = plan.to_string();
    assert!(text.contains("input 0") && text.contains("output 0") && text.contains("132*N bytes"), "{text}");
    assert_eq!(text.matches("barrier").count(), plan.steps.len() - 1, "{text}");
}
