//! What is left to the host: said, counted, and right.

use super::{compile, compile_on, graph, inputs, tensors, there};
use lawson::cpu::Isa;
use lawson::graph::interp;
use lawson::graph::interp::HostFunctions;
use lawson::kernel::Operators;
use lawson::{Code, CompileOptions, HostTensor, Program, Target, Team, Tensor, Value};

/// Runs on the CPU target with two threads and on the reference target; gives the results, which are equal.
fn both(text: &str, inputs: &[Value]) -> (Vec<Value>, Program) {
    let program = compile(text);
    let results = program.session().run_values(inputs).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let expected = interp::run(&graph(text), inputs, &interp::Options::default()).unwrap();
    assert_eq!(results, expected, "{text}");
    (results, program)
}

#[test]
fn operators_without_kernels_run_on_the_interpreter_and_are_named_in_the_plan() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[6]) -> (y: f32[6], z: f32[6]) {
      %a = add %x, %x
      %y = sort %a {axis = 0}
      %z = mul %y, %a
      return %y, %z }";
    let x = HostTensor::from_slice(&[6], &[3f32, -1.0, 2.0, 0.5, 9.0, -4.0]).unwrap();
    let (_, program) = both(text, &[x.into()]);
    let counted = program.operators().unwrap();
    assert_eq!(counted, Operators { machine_code: 2, on_cpu: 0, evaluator: 0, interpreter: 1 });
    let plan = program.plan().unwrap().to_string();
    assert!(plan.contains("interpreter, @sort(") && plan.contains("because `sort`"), "{plan}");
}

#[test]
fn integers_below_a_byte_wrap_between_casts_too() {
    let text = "graph @f(%x: u32[5], %z: i64[5]) -> (y: i32[5], w: i64[5], v: f32[5], u: u8[5]) {
       %a = cast %x {to = i2}
       %y = cast %a {to = i32}
       %w = cast %a {to = i64}
       %b = cast %z {to = u4}
       %v = cast %b {to = f32}
       %u = cast %b {to = u8}
       return %y, %w, %v, %u }";
    let given: Vec<Value> = inputs(text, &[], 3).into_iter().map(Value::Tensor).collect();
    let expected = interp::run(&graph(text), &given, &interp::Options::default()).unwrap();
    for isa in Isa::ALL.into_iter().filter(|isa| isa.missing().is_none()) {
        let options = CompileOptions { isa: Some(isa), ..CompileOptions::default() };
        let results = Program::compile(graph(text), &options).unwrap().session().run_values(&given).unwrap();
        assert_eq!(results, expected, "{isa}");
    }
}

#[test]
fn constants_that_share_bytes_stay_as_they_are() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: u4[3, 5]) -> (y: u4[3, 4]) {
       %w: u4[4, 5] = constant [[2, 1, 9, 3, 1], [9, 0, 0, 7, 7], [1, 2, 3, 15, 0], [1, 4, 4, 8, 8]]
       %y = contract %x, %w {batch = [], sum = [[1, 1]]}
       return %y }";
    let given: Vec<Value> = inputs(text, &[], 3).into_iter().map(Value::Tensor).collect();
    both(text, &given);
}

#[test]
fn dtypes_without_code_run_on_the_evaluator_whole_groups_at_a_time() {
    if !there() {
        return;
    }
    for dtype in ["f64", "f16", "u4", "i64", "f8e4m3fn"] {
        let text = format!(
            "graph @f(%x: {dtype}[N], %y: {dtype}[N]) -> (z: {dtype}[N]) {{
               %a = add %x, %y
               %z = max %a, %x
               return %z }}"
        );
        let given: Vec<Value> = inputs(&text, &[("N", 7)], 3).into_iter().map(Value::Tensor).collect();
        let (_, program) = both(&text, &given);
        let Operators { machine_code, evaluator, interpreter, .. } = program.operators().unwrap();
        assert_eq!((machine_code + evaluator, interpreter), (2, 0), "{dtype}");
        let plan = program.plan().unwrap();
        assert_eq!(plan.steps.len(), 1, "{plan}");
        if evaluator > 0 {
            assert!(plan.to_string().contains("by the evaluator"), "{plan}");
            assert!(plan.to_string().contains("because the x86-64 emitter does not take"), "{plan}");
        }
    }
}

#[test]
fn text_sequences_and_optionals_are_values_of_the_host() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: i32[2], %s: seq<i32[2]; 4>, %o: opt<i32[2]>, %t: str[2])
        -> (more: seq<i32[2]; 4>, first: i32[2], n: i64[], has: bool[], same: str[2], twice: i32[2]) {
      %zero: i64[] = constant 0
      %more = seq_insert %s, %x, %zero
      %first = seq_at %more, %zero
      %n = seq_len %more
      %has = opt_has %o
      %twice = add %first, %x
      return %more, %first, %n, %has, %t, %twice }";
    let x = HostTensor::from_slice(&[2], &[1i32, 2]).unwrap();
    let words = HostTensor::from_text(&[2], vec!["a".into(), "b".into()]).unwrap();
    let given = [
        x.clone().into(),
        Value::Sequence(vec![x.clone()]),
        Value::Optional(Some(Box::new(x.clone().into()))),
        words.into(),
    ];
    let (_, program) = both(text, &given);
    assert!(program.plan().unwrap().to_string().contains("a value of the host"));
    // The same session, with another sequence and no optional.
    let mut session = program.session();
    for n in 0..3 {
        let mut other = given.clone();
        other[1] = Value::Sequence(vec![x.clone(); n]);
        other[2] = Value::Optional(None);
        let expected = interp::run(&graph(text), &other, &interp::Options::default()).unwrap();
        assert_eq!(session.run_values(&other).unwrap(), expected);
    }
}

#[test]
fn sizes_that_data_decide_are_followed() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[8], %n: i64[]) -> (k: i64[], part: f32[K], y: f32[8], s: f32[]) {
      %k = symbol %n {name = K, max = 8}
      %i = iota {dtype = i64, shape = [K], axis = 0}
      %at = reshape %i {shape = [K, 1]}
      %part = gather %x, %at {axes = [0]}
      %s = reduce_sum %part {axes = [0]}
      %y = neg %x
      return %k, %part, %y, %s }";
    let x: Vec<f32> = (0..8).map(|i| i as f32).collect();
    for n in [0i64, 3, 8, 99] {
        let given = [HostTensor::from_slice(&[8], &x).unwrap(), HostTensor::from_slice(&[], &[n]).unwrap()];
        let (results, program) = both(text, &given.map(Value::Tensor));
        assert_eq!(results[1].as_tensor().unwrap().sizes(), [n.min(8) as usize]);
        let Operators { machine_code, interpreter, .. } = program.operators().unwrap();
        assert!(machine_code > 1 && interpreter == 1, "{}", program.plan().unwrap());
    }
}

#[test]
fn host_functions_are_called_in_order_and_their_errors_come_back() {
    if !there() {
        return;
    }
    let text = "graph @f(%x: f32[2]) -> (a: f32[2], b: f32[2]) {
      %y = add %x, %x
      %a = host_call %y {name = \"first\", results = [f32[2]]}
      %n = neg %a
      %b = host_call %n {name = \"second\", results = [f32[2]]}
      return %a, %b }";
    let program = compile(text);
    let x = Tensor::from_slice(&[2], &[1f32, 2.0]).unwrap();
    let mut session = program.session();
    let missing = session.run(std::slice::from_ref(&x)).unwrap_err();
    assert_eq!(missing.code(), Code::HostCall, "{missing}");
    let mut functions = HostFunctions::new();
    functions.insert("first", |v: &[Value]| Ok(v.to_vec()));
    functions.insert("second", |v: &[Value]| Ok(v.to_vec()));
    session.set_host_functions(functions);
    let results = session.run(std::slice::from_ref(&x)).unwrap();
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [2.0, 4.0]);
    assert_eq!(results[1].to_vec::<f32>().unwrap(), [-2.0, -4.0]);
    let mut functions = HostFunctions::new();
    functions.insert("first", |v: &[Value]| Ok(v.to_vec()));
    functions.insert("second", |_: &[Value]| Err(lawson::Error::new(Code::Runtime, "not today")));
    session.set_host_functions(functions);
    let error = session.run(&[x]).unwrap_err();
    assert!(error.to_string().contains("not today"), "{error}");
}

#[test]
fn copies_of_anything_are_copies() {
    if !there() {
        return;
    }
    for (ty, value) in [
        ("u4[3]", Value::Tensor(HostTensor::zeros(lawson::DType::U4, &[3]).unwrap())),
        ("str[1]", Value::Tensor(HostTensor::from_text(&[1], vec!["x".into()]).unwrap())),
        ("seq<i32[2]; 3>", Value::Sequence(Vec::new())),
    ] {
        both(&format!("graph @f(%x: {ty}) -> (y: {ty}, z: {ty}) {{ return %x, %x }}"), &[value]);
    }
}

#[test]
fn the_portable_target_gives_the_oracles_results_on_any_machine() {
    let text = super::MLP;
    let team = Team::new(2).unwrap();
    let options = CompileOptions {
        target: Target::Cpu,
        team: Some(team),
        isa: Some(Isa::Portable),
        ..CompileOptions::default()
    };
    let program = Program::compile(graph(text), &options).unwrap();
    assert_eq!(program.isa(), Some(Isa::Portable));
    let Operators { machine_code, evaluator, interpreter, .. } = program.operators().unwrap();
    assert!(machine_code == 0 && interpreter == 0 && evaluator > 0);
    let mut session = program.session();
    for n in [1, 5, 9] {
        let given = inputs(text, &[("N", n)], 1);
        let results = session.run(&tensors(&given)).unwrap();
        super::assert_right(text, &given, &results);
    }
}

#[test]
fn what_a_machine_has_not_is_refused_by_name() {
    if there() {
        assert_eq!(compile_on(super::MLP, &Team::new(1).unwrap()).unwrap().isa(), Some(Isa::best()));
        return;
    }
    for isa in [Isa::Avx512, Isa::Avx2] {
        let options = CompileOptions { target: Target::Cpu, isa: Some(isa), ..CompileOptions::default() };
        let error = Program::compile(graph(super::MLP), &options).unwrap_err();
        assert_eq!(error.code(), Code::NotEmitted);
    }
}

/// Weights of four bits are widened by the evaluator; the product that reads them is machine code all the same.
#[test]
fn a_dtype_without_code_takes_no_product_along() {
    if !there() {
        return;
    }
    let text = "graph @g(%x: f32[8, 16], %w: u4[16, 12]) -> (y: f32[8, 12]) {
          %f = cast %w {to = f32}
          %p = contract %x, %f {batch = [], sum = [[1, 0]]}
          %y = relu %p
          return %y
        }";
    let program = compile(text);
    let Operators { machine_code, evaluator, interpreter, .. } = program.operators().unwrap();
    assert_eq!((evaluator, interpreter), (1, 0));
    assert!(machine_code >= 2);
}

#[test]
fn what_passes_through_a_dtype_without_code_is_rounded_to_it() {
    if !super::there() {
        return;
    }
    for small in ["f8e5m2", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2fnuz"] {
        let text = format!(
            "graph @through(%x: f32[20]) -> (y: f64[20]) {{
               %a = exp %x
               %b = cast %a {{to = {small}}}
               %y = cast %b {{to = f64}}
               return %y
             }}"
        );
        let given = super::inputs(&text, &[], 5);
        let results = super::compile(&text).session().run(&super::tensors(&given)).unwrap();
        super::assert_right(&text, &given, &results);
    }
}
