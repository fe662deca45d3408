//! Buffers that are larger than a shader sees at once: the device is opened with a limit that small tensors pass.

use super::{agrees, parse};
use lawson::graph::Graph;
use lawson::kernel::Action;
use lawson::wgpu::{Device, Options};
use lawson::{Code, CompileOptions, DType, HostTensor, Program, Target};
use std::sync::OnceLock;

/// How many bytes of a buffer a shader sees at once.
const LIMIT: u64 = 16 << 10;

fn open() -> Device {
    Device::open(Options { binding: Some(LIMIT), ..Options::default() }).unwrap_or_else(|e| panic!("{e}"))
}

fn small_device() -> Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(open).clone()
}

fn options() -> CompileOptions {
    CompileOptions { target: Target::Wgpu, device: Some(small_device()), ..CompileOptions::default() }
}

/// Compiles and runs a graph; all of it must run on the device.
fn check(text: &str, sizes: &[(&str, i64)]) -> Program {
    check_on(&options(), text, sizes)
}

fn check_on(options: &CompileOptions, text: &str, sizes: &[(&str, i64)]) -> Program {
    let graph = parse(text);
    let program = Program::compile(graph.clone(), options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(program.operators().unwrap().on_host(), 0, "{}", program.plan().unwrap());
    for seed in 0..2 {
        agrees(&graph, &program, sizes, seed);
    }
    program
}

/// How many buffers the listings of a program see in windows.
fn windowed(program: &Program) -> usize {
    let listings = program.shaders().unwrap().listings();
    listings.iter().map(|l| l.to_string().matches(" windows").count()).sum()
}

#[test]
fn elementwise_kernels_see_large_buffers_in_windows() {
    let text = |n: &str| {
        format!(
            "graph @f(%x: f32[{n}], %y: f32[{n}]) -> (z: f32[{n}]) {{ %a = mul %x, %y %z = sub %a, %x return %z }}"
        )
    };
    // 4 and 3 windows each, the last not full; by fours and one by one.
    for n in [13_000, 12_289, 8192] {
        let program = check(&text(&n.to_string()), &[]);
        assert!(windowed(&program) == 3, "{n}: {}", program.shaders().unwrap().listings()[0]);
    }
    // As much as a shader sees is no window.
    assert_eq!(windowed(&check(&text("4096"), &[])), 0);
    // Sizes that only a run tells: shaders are made when they are needed, and once. Nobody else makes any on this device.
    let device = open();
    let options = CompileOptions { device: Some(device.clone()), ..options() };
    let program = check_on(&options, &text("N"), &[("N", 9000)]);
    let made = device.pipelines();
    agrees(&parse(&text("N")), &program, &[("N", 9000)], 5);
    agrees(&parse(&text("N")), &program, &[("N", 40)], 5);
    assert_eq!(device.pipelines(), made);
}

#[test]
fn reductions_see_rows_across_windows() {
    let program = check(
        "graph @f(%x: f32[50, 200]) -> (s: f32[50], m: f32[200]) {
           %s = reduce_sum %x {axes = [1]} %m = reduce_max %x {axes = [0]} return %s, %m }",
        &[],
    );
    assert!(windowed(&program) >= 2);
    check(
        "graph @f(%x: f32[N, 300]) -> (y: f32[N, 300]) { %y = softmax %x {axis = 1} return %y }",
        &[("N", 40)],
    );
    // One row is larger than a window.
    check("graph @f(%x: f32[2, 6001]) -> (y: f32[2, 6001]) { %y = softmax %x {axis = 1} return %y }", &[]);
}

#[test]
fn products_see_operands_in_windows() {
    let text = |m: &str| {
        format!(
            "graph @f(%x: f32[{m}, 96], %w: f32[96, 80], %b: f32[80]) -> (y: f32[{m}, 80]) {{
               %p = contract %x, %w {{batch = [], sum = [[1, 0]]}}
               %c = broadcast %b {{shape = [{m}, 80], axes = [1]}}
               %y = add %p, %c
               return %y }}"
        )
    };
    let program = check(&text("128"), &[]);
    assert!(windowed(&program) >= 3, "{}", program.shaders().unwrap().listings()[0]);
    check(&text("M"), &[("M", 100)]);
}

#[test]
fn gathers_find_rows_in_any_window() {
    check(
        "graph @f(%t: f32[700, 16], %i: i64[90, 1]) -> (y: f32[90, 16]) {
           %y = gather %t, %i {axes = [0]} return %y }",
        &[],
    );
}

#[test]
fn elements_of_all_widths_are_stored_in_windows() {
    for dtype in ["u8", "i8", "i16", "u16", "f16", "bf16", "i32", "i64", "u64"] {
        let bits = DType::ALL.into_iter().find(|d| d.name() == dtype).unwrap().bits();
        let n = if bits < 32 { 33_001 } else { 9_001 };
        let text = format!(
            "graph @f(%x: {dtype}[{n}], %y: {dtype}[{n}]) -> (z: {dtype}[{n}]) {{ %z = max %x, %y return %z }}"
        );
        assert_eq!(windowed(&check(&text, &[])), 3, "{dtype}");
    }
    check("graph @f(%x: f32[20000], %y: f32[20000]) -> (z: bool[20000]) { %z = lt %x, %y return %z }", &[]);
}

#[test]
fn loops_go_through_rows_in_windows() {
    check(
        "graph @f(%s: f32[64, 64], %x: f32[9, 64, 64]) -> (last: f32[64, 64], all: f32[9, 64, 64]) {
           %last, %all = scan %s, %x {carried = 1, scanned = 1, length = 9} body(%c: f32[64, 64], %e: f32[64, 64]) {
             %p = contract %c, %e {batch = [], sum = [[1, 0]]}
             %n = tanh %p
             return %n, %n
           }
           return %last, %all }",
        &[],
    );
    let graph =
        parse("graph @g(%x: f32[9000]) -> (y: f32[9000] in %x) { %a = sin %x %y = add %a, %x return %y }");
    let x = HostTensor::from_slice(&[9000], &(0..9000).map(|i| (i % 97) as f32 / 9.0).collect::<Vec<_>>())
        .unwrap();
    let run = |options: &CompileOptions| {
        let mut session = Program::compile(graph.clone(), options).unwrap().session();
        let result = session.run_loop_values(&[x.clone().into()], 5).unwrap();
        result[0].as_tensor().unwrap().to_vec::<f32>().unwrap()
    };
    let expected = run(&CompileOptions { target: Target::Reference, ..CompileOptions::default() });
    for (e, f) in expected.iter().zip(run(&options())) {
        assert!((e - f).abs() <= 1e-5 * e.abs().max(1.0), "{e} and {f}");
    }
}

#[test]
fn what_no_number_of_windows_shows_is_refused_with_sizes() {
    // As many windows as no device has bindings.
    let text = |n: &str| format!("graph @f(%x: f32[{n}]) -> (y: f32[{n}]) {{ %y = exp %x return %y }}");
    let most = small_device().adapter().unwrap().bindings as i64;
    let n = (most + 1) * LIMIT as i64 / 4;
    if n * 4 > small_device().adapter().unwrap().buffer as i64 || most > 4096 {
        return;
    }
    // A size that is known is left to the host when it is compiled, with the reason.
    let graph: Graph = parse(&text(&n.to_string()));
    let program = Program::compile(graph.clone(), &options()).unwrap();
    let mut reasons = Vec::new();
    program.plan().unwrap().visit(&mut |step, _| {
        if let Action::Evaluate { why, .. } = &step.action {
            reasons.push(why.to_string());
        }
    });
    assert_eq!(reasons.len(), 1, "{}", program.plan().unwrap());
    let limit = format!("windows of at most {LIMIT} bytes, a shader sees {most}");
    assert!(reasons[0].contains(&limit), "{}", reasons[0]);
    agrees(&graph, &program, &[], 0);
    // One that a run tells is an error of that run, and the session goes on.
    let program = Program::compile(parse(&text("N")), &options()).unwrap();
    let mut session = program.session();
    let tensor = |n: i64| HostTensor::from_slice(&[n as usize], &vec![1f32; n as usize]).unwrap();
    let error = session.run_values(&[tensor(n).into()]).unwrap_err();
    assert_eq!(error.code(), Code::Budget);
    let asked = format!("takes {} bytes", 4 * n);
    assert!(error.message().contains(&asked) && error.message().contains(&LIMIT.to_string()), "{error}");
    session.run_values(&[tensor(5000).into()]).unwrap();
}
