//! Programs and sessions on the reference target: what comes in is checked, what goes out is right.
#![allow(clippy::unwrap_used)]

use lawson::graph::{Graph, interp::HostFunctions};
use lawson::opt::Pipeline;
use lawson::{
    Code, CompileOptions, DType, HostTensor, Limits, Passes, Program, Session, Tensor, TensorView,
    TensorViewMut, Value,
};

fn compile(text: &str) -> Program {
    let graph = Graph::parse(&format!("lawson 1\n{text}")).unwrap();
    Program::compile(graph, &CompileOptions::default()).unwrap()
}

fn session(text: &str) -> Session {
    compile(text).session()
}

const ADD: &str = "graph @f(%a: f32[N], %b: f32[N]) -> (sum: f32[N]) { %s = add %a, %b return %s }";

fn vector(elements: &[f32]) -> Tensor {
    Tensor::from_slice(&[elements.len()], elements).unwrap()
}

#[test]
fn a_program_runs_on_any_size() {
    let mut session = session(ADD);
    for n in [0, 1, 5] {
        let x = vector(&vec![1.5; n]);
        let y = session.run(&[x.clone(), x]).unwrap();
        assert_eq!(y[0].to_vec::<f32>().unwrap(), vec![3.0; n]);
    }
}

#[test]
fn composites_run_after_the_standard_passes_and_without_any() {
    let text = "graph @f(%x: f32[2, 3]) -> (y: f32[2, 3]) { %y = softmax %x {axis = 1} return %y }";
    let x = Tensor::from_slice(&[2, 3], &[1f32, 2.0, 3.0, 0.0, 0.0, 0.0]).unwrap();
    for passes in [Passes::Standard, Passes::None, Passes::Custom("decompose".parse::<Pipeline>().unwrap())] {
        let graph = Graph::parse(&format!("lawson 1\n{text}")).unwrap();
        let program =
            Program::compile(graph, &CompileOptions { passes, ..CompileOptions::default() }).unwrap();
        let y = program.session().run(std::slice::from_ref(&x)).unwrap()[0].to_vec::<f32>().unwrap();
        assert!((y[..3].iter().sum::<f32>() - 1.0).abs() < 1e-6 && (y[3] - 1.0 / 3.0).abs() < 1e-6, "{y:?}");
    }
}

#[test]
fn threads_share_a_program() {
    let program = compile(ADD);
    std::thread::scope(|scope| {
        for i in 0..4 {
            let program = program.clone();
            scope.spawn(move || {
                let y = program.session().run(&[vector(&[i as f32]), vector(&[1.0])]).unwrap();
                assert_eq!(y[0].to_vec::<f32>().unwrap(), [i as f32 + 1.0]);
            });
        }
    });
}

#[test]
fn wrong_inputs_are_refused() {
    let mut session = session(ADD);
    let code = |r: lawson::Result<Vec<Tensor>>| r.unwrap_err().code();
    assert_eq!(code(session.run(&[vector(&[1.0])])), Code::InputMissing);
    assert_eq!(code(session.run(&[vector(&[1.0]), vector(&[1.0, 2.0])])), Code::Binding);
    assert_eq!(code(session.run(&[vector(&[1.0]), Tensor::scalar(1f32)])), Code::InputType);
    let wide = Tensor::from_slice(&[1], &[1f64]).unwrap();
    assert_eq!(code(session.run(&[vector(&[1.0]), wide])), Code::InputType);
}

#[test]
fn names_are_checked() {
    let mut session = session(ADD);
    let x = || vector(&[1.0]);
    let code = |r: lawson::Result<Vec<(String, Tensor)>>| r.unwrap_err().code();
    assert_eq!(code(session.run_named(&[("a", x())])), Code::InputMissing);
    assert_eq!(code(session.run_named(&[("a", x()), ("c", x())])), Code::UnknownName);
    assert_eq!(code(session.run_named(&[("a", x()), ("a", x())])), Code::DuplicateName);
    assert_eq!(session.run_named(&[("b", x()), ("a", x())]).unwrap()[0].0, "sum");
}

#[test]
fn runs_work_in_strided_memory_of_the_caller() {
    let mut session =
        session("graph @f(%x: u8[2, 3]) -> (y: u8[3, 2]) { %y = transpose %x {perm = [1, 0]} return %y }");
    let x = [1u8, 4, 2, 5, 3, 6];
    let mut y = [0u8; 8];
    session
        .run_into(
            &[TensorView::strided(DType::U8, &[2, 3], &[1, 2], 0, &x).unwrap()],
            &mut [TensorViewMut::strided(DType::U8, &[3, 2], &[2, 1], 1, &mut y).unwrap()],
        )
        .unwrap();
    assert_eq!(y, [0, 1, 4, 2, 5, 3, 6, 0]);
}

#[test]
fn a_view_of_the_wrong_size_is_refused_and_nothing_is_written() {
    let mut session = session(
        "graph @f(%x: u8[2]) -> (y: u8[2], z: u8[2]) { %y = add %x, %x %z = mul %x, %x return %y, %z }",
    );
    let (x, mut y, mut z) = ([1u8, 2], [9u8; 2], [9u8; 3]);
    let error = session
        .run_into(
            &[TensorView::new(DType::U8, &[2], &x).unwrap()],
            &mut [
                TensorViewMut::new(DType::U8, &[2], &mut y).unwrap(),
                TensorViewMut::new(DType::U8, &[3], &mut z).unwrap(),
            ],
        )
        .unwrap_err();
    assert!(error.to_string().contains("output `z`"), "{error}");
    assert_eq!((y, z), ([9; 2], [9; 3]));
    let input = TensorView::new(DType::U8, &[2], &x).unwrap();
    assert!(session.run_into(&[input], &mut []).is_err());
}

#[test]
fn state_is_declared_and_comes_back_as_an_output() {
    let program = compile(
        "graph @count(%n: i64[]) -> (n_next: i64[] in %n) {
           %one = constant 1
           %m = add %n, %one
           return %m
         }"
        .replace("%one = constant 1", "%one: i64[] = constant 1")
        .as_str(),
    );
    assert_eq!(program.outputs()[0].lives_in, Some(0));
    let mut session = program.session();
    let mut n = Tensor::scalar(0i64);
    for _ in 0..3 {
        n = session.run(&[n]).unwrap().remove(0);
    }
    assert_eq!(n, Tensor::scalar(3i64));
}

#[test]
fn sequences_and_optionals_go_through_values() {
    let mut session = session(
        "graph @f(%x: i32[2]) -> (s: seq<i32[2]; 3>, o: opt<i32[2]>) {
           %s = seq_make %x, %x {ty = seq<i32[2]; 3>}
           %o = opt_some %x
           return %s, %o
         }",
    );
    let x = HostTensor::from_slice(&[2], &[1i32, 2]).unwrap();
    let y = session.run_values(&[x.clone().into()]).unwrap();
    assert_eq!(y[0], Value::Sequence(vec![x.clone(), x.clone()]));
    assert_eq!(y[1], Value::Optional(Some(Box::new(x.clone().into()))));
    let error = session.run(&[x.into()]).unwrap_err();
    assert_eq!(error.code(), Code::OperandKind);
    assert!(error.help_text().is_some_and(|h| h.contains("run_values")));
}

#[test]
fn limits_stop_a_run() {
    let mut session = session(
        "graph @forever(%n: i64[]) -> (m: i64[]) {
           %m = while %n {carried = 1}
             cond(%a: i64[]) { %t = eq %a, %a return %t }
             body(%a: i64[]) { %b = add %a, %a return %b }
           return %m
         }",
    );
    session.set_limits(Limits { max_steps: 1000, ..Limits::default() });
    assert_eq!(session.run(&[Tensor::scalar(1i64)]).unwrap_err().code(), Code::Budget);
}

#[test]
fn host_functions_are_the_sessions_own() {
    let text = "graph @f(%x: f32[]) -> (y: f32[]) { %y = host_call %x {name = \"twice\", results = [f32[]]} return %y }";
    let mut bare = session(text);
    assert_eq!(bare.run(&[Tensor::scalar(1f32)]).unwrap_err().code(), Code::HostCall);
    let mut functions = HostFunctions::new();
    functions.insert("twice", |inputs: &[Value]| {
        let x = inputs[0].as_tensor().map_or(0.0, |t| t.float_at(0));
        Ok(vec![HostTensor::scalar(2.0 * x as f32).into()])
    });
    bare.set_host_functions(functions);
    assert_eq!(bare.run(&[Tensor::scalar(4f32)]).unwrap(), [Tensor::scalar(8f32)]);
}

#[test]
fn lists_compile_and_run_the_same_fused_and_not() {
    use lawson::list::{RandomList, fuse, input_tensor, random_list, validate};
    let list = random_list(&RandomList { depth: 24, size: 9, batch: 3, ..RandomList::default() }).unwrap();
    let x: Tensor = input_tensor(&list).unwrap().unwrap().into();
    let run = |list: &[lawson::list::ListOp]| {
        let program = Program::compile(validate(list).unwrap(), &CompileOptions::default()).unwrap();
        program.session().run(std::slice::from_ref(&x)).unwrap().remove(0)
    };
    let y = run(&list);
    assert_eq!(y.sizes(), [3, 9]);
    assert_eq!(run(&fuse(list)), y);
}

#[test]
fn random_graphs_compile_and_run_and_are_never_a_bug() {
    use lawson::graph::random::{Elements, GraphShape, Rng, random_bindings, random_graph, random_inputs};
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let graph = random_graph(&mut rng, &GraphShape::default()).unwrap();
        let Ok(bindings) = random_bindings(&mut rng, &graph, 16) else { continue };
        let inputs = random_inputs(&mut rng, &graph, &bindings, Elements::Wild).unwrap();
        let program =
            Program::compile(graph, &CompileOptions::default()).unwrap_or_else(|e| panic!("{seed}: {e}"));
        match program.session().run_values(&inputs) {
            Ok(outputs) => assert_eq!(outputs.len(), program.outputs().len()),
            Err(e) => assert!(!e.is_internal(), "{seed}: {e}"),
        }
    }
}

#[test]
fn a_program_can_be_compiled_for_certain_sizes() {
    let text = "lawson 1 graph @f(%x: f32[N, M]) -> (y: f32[N, M]) where N >= 1, N % 2 == 0 { %y = neg %x return %y }";
    let compile = |name: &str, n: usize| {
        let sizes = [(name.to_string(), n)].into();
        Program::compile(Graph::parse(text).unwrap(), &CompileOptions { sizes, ..CompileOptions::default() })
    };
    let program = compile("N", 2).unwrap();
    assert_eq!(program.inputs()[0].ty.to_string(), "f32[2, M]");
    let run = |rows: usize| {
        let x = Tensor::from_slice(&[rows, 3], &vec![1f32; 3 * rows]).unwrap();
        program.session().run(&[x])
    };
    assert_eq!(run(2).unwrap()[0].to_vec::<f32>().unwrap(), [-1.0; 6]);
    assert_eq!(run(4).unwrap_err().code(), Code::Binding);
    // What the graph says of its sizes holds for these, too.
    assert_eq!(compile("N", 3).unwrap_err().code(), Code::Binding);
    assert_eq!(compile("K", 2).unwrap_err().code(), Code::UnknownName);
}
