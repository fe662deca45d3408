//! Runs: sizes that change, loops, branches, what is left to the host, the caller's memory, devices that are lost.

use super::{compare, device, parse, sizes_of};
use lawson::graph::random::{Elements, Rng};
use lawson::kernel::Action;
use lawson::wgpu::cache::Kind;
use lawson::wgpu::{Device, Options};
use lawson::{
    Code, CompileOptions, DType, Limits, Program, Target, Tensor, TensorView, TensorViewMut, Value,
};

fn on(device: Device) -> CompileOptions {
    CompileOptions { target: Target::Wgpu, device: Some(device), ..CompileOptions::default() }
}

fn compile(text: &str) -> Program {
    Program::compile(parse(text), &on(device())).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a graph in one session for each of these sizes, and compares with the oracle.
fn check_sizes(text: &str, sizes: &[&[(&str, i64)]]) -> Program {
    let graph = parse(text);
    let program = compile(text);
    let mut session = program.session();
    for (n, sizes) in sizes.iter().enumerate() {
        let mut rng = Rng::new(n as u64);
        let bindings = sizes_of(&graph, sizes, &mut rng);
        for elements in [Elements::Tame, Elements::Wild] {
            compare(&graph, &mut session, &bindings, elements, &mut rng);
        }
    }
    program
}

fn check(text: &str) -> Program {
    check_sizes(text, &[&[]])
}

/// That nothing of a program is left to the host.
fn all_on_device(program: &Program) {
    let operators = program.operators().unwrap();
    assert_eq!(operators.on_host(), 0, "{}", program.plan().unwrap());
}

/// Heads without depth: products of nothing, whose operands' places would be divided by it.
#[test]
fn attention_without_depth_is_empty() {
    let text = "graph @f(%x: f32[2, M, 1, N]) -> (y: f32[2, 1, N, M]) {
        %t = transpose %x {perm = [0, 2, 3, 1]}
        %y = attention %t, %t, %t {causal = bottom_right}
        return %y
    }";
    check_sizes(text, &[&[("N", 4), ("M", 3)], &[("N", 2), ("M", 0)], &[("N", 0), ("M", 3)]]);
}

/// What is padded is nothing, and its places are found by dividing by nothing.
#[test]
fn an_empty_tensor_is_padded() {
    let text = "graph @f(%x: f32[N, M]) -> (y: f32[N*M + 2]) {
        %t = transpose %x {perm = [1, 0]}
        %flat = reshape %t {shape = [N*M]}
        %c: f32[] = constant 0.5
        %y = pad %flat, %c {low = [1], high = [1], interior = [0]}
        return %y
    }";
    check_sizes(text, &[&[("N", 4), ("M", 3)], &[("N", 2), ("M", 0)], &[("N", 0), ("M", 3)]]);
}

#[test]
fn one_session_runs_many_sizes() {
    let text = "graph @f(%x: f32[N, K], %w: f32[K, M], %b: f32[M]) -> (y: f32[N, M]) {
        %h = linear %x, %w, %b
        %y = softmax %h {axis = 1}
        return %y
    }";
    let sizes: &[&[(&str, i64)]] = &[
        &[("N", 3), ("K", 5), ("M", 7)],
        &[("N", 70), ("K", 33), ("M", 130)],
        &[("N", 0), ("K", 2), ("M", 2)],
        &[("N", 9), ("K", 0), ("M", 11)],
        &[("N", 3), ("K", 5), ("M", 7)],
    ];
    all_on_device(&check_sizes(text, sizes));
}

#[test]
fn products_by_tiles_end_where_rows_columns_and_sums_do() {
    // The last is large enough for the largest tiles, and read by vectors.
    let sizes = [
        (64, 64, 16),
        (65, 63, 17),
        (8, 200, 5),
        (130, 8, 40),
        (300, 310, 33),
        (9, 9, 1000),
        (832, 1284, 12),
    ];
    for (m, n, k) in sizes {
        all_on_device(&check(&format!(
            "graph @f(%x: f32[{m}, {k}], %w: f32[{k}, {n}], %b: f32[{n}]) -> (y: f32[{m}, {n}]) {{
               %c = contract %x, %w {{batch = [], sum = [[1, 0]]}}
               %a = broadcast %b {{shape = [{m}, {n}], axes = [1]}}
               %s = add %c, %a
               %y = tanh %s
               return %y
             }}"
        )));
        // Both factors the other way round, in batches.
        all_on_device(&check(&format!(
            "graph @f(%x: f32[3, {k}, {m}], %w: f32[3, {n}, {k}]) -> (y: f32[3, {m}, {n}]) {{
               %y = contract %x, %w {{batch = [[0, 0]], sum = [[1, 2]]}}
               return %y
             }}"
        )));
    }
    all_on_device(&check(
        "graph @f(%x: f32[2, 16, 20, 21], %w: f32[24, 16, 3, 3]) -> (y: f32[2, 24, 20, 21]) {
           %y = convolve %x, %w {stride = [1, 1], low = [1, 1], high = [1, 1], input_dilation = [1, 1], kernel_dilation = [1, 1], groups = 1}
           return %y
         }",
    ));
}

#[test]
fn layers_over_the_same_rows_are_one_kernel() {
    // Blocks of four rows and of two; matrices that lie the one way and the other; terms that are not shared evenly.
    for rows in [2, 6, 64] {
        let program = check(&format!(
            "graph @f(%x: f32[{rows}, 64], %w: f32[64, 36], %b: f32[36], %v: f32[128, 36], %u: f32[128, 12]) -> (y: f32[{rows}, 12]) {{
               %a = linear %x, %w, %b
               %h = gelu %a
               %i = contract %h, %v {{batch = [], sum = [[1, 1]]}}
               %j = relu %i
               %k = contract %j, %u {{batch = [], sum = [[1, 0]]}}
               %y = neg %k
               return %y
             }}"
        ));
        all_on_device(&program);
        assert_eq!(program.plan().unwrap().kernels.len(), 1, "{}", program.plan().unwrap());
    }
}

#[test]
fn rows_are_shared_by_workgroups() {
    for length in [64, 100, 1000, 5000] {
        all_on_device(&check(&format!(
            "graph @f(%x: f32[5, {length}], %s: f32[{length}], %b: f32[{length}]) -> (y: f32[5, {length}], z: f32[5], m: f32[], a: bool[5]) {{
               %y = layer_norm %x, %s, %b {{axis = 1}}
               %z = reduce_max %x {{axes = [1]}}
               %m = reduce_sum %x {{axes = [0, 1]}}
               %n = lt %x, %x
               %a = reduce_and %n {{axes = [1]}}
               return %y, %z, %m, %a
             }}"
        )));
        all_on_device(&check(&format!(
            "graph @f(%x: i64[3, {length}]) -> (y: i64[3], z: i64[3]) {{
               %y = reduce_sum %x {{axes = [1]}}
               %z = reduce_max %x {{axes = [1]}}
               return %y, %z
             }}"
        )));
    }
}

/// Scratch of a row that no workgroup memory holds, and sums that one member would not be let finish.
#[test]
fn long_rows_are_shared_too() {
    for text in [
        "graph @f(%x: f32[3, 20000]) -> (y: f32[3, 20000]) { %y = softmax %x {axis = 1} return %y }",
        "graph @f(%x: f32[300000]) -> (y: f32[]) { %y = reduce_sum %x {axes = [0]} return %y }",
    ] {
        check(text);
    }
}

#[test]
fn elements_that_are_no_words() {
    for dtype in ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "bool"] {
        all_on_device(&check_sizes(
            &format!(
                "graph @f(%x: {dtype}[N], %y: {dtype}[N], %c: bool[N]) -> (a: {dtype}[N], b: bool[N], d: {dtype}[N]) where N >= 1 {{
                   %a = select %c, %x, %y
                   %b = eq %x, %y
                   %t = slice %x {{start = [N - 1], size = [N], step = [-1]}}
                   return %a, %b, %t
                 }}"
            ),
            &[&[("N", 1)], &[("N", 7)], &[("N", 130)]],
        ));
        if dtype == "bool" {
            continue;
        }
        all_on_device(&check(&format!(
            "graph @f(%x: {dtype}[67], %y: {dtype}[67]) -> (a: {dtype}[67], m: {dtype}[67], s: {dtype}[67], l: bool[67], g: {dtype}[67]) {{
               %a = add %x, %y
               %m = mul %a, %y
               %s = sub %x, %m
               %l = lt %x, %y
               %g = max %s, %y
               return %a, %m, %s, %l, %g
             }}"
        )));
        for to in ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "bool"] {
            all_on_device(&check(&format!(
                "graph @f(%x: {dtype}[133]) -> (y: {to}[133]) {{ %y = cast %x {{to = {to}}} return %y }}"
            )));
        }
    }
}

#[test]
fn indices_of_any_width_pick_elements() {
    for dtype in ["i32", "i64"] {
        all_on_device(&check(&format!(
            "graph @f(%x: f32[9, 5], %i: {dtype}[7, 1]) -> (y: f32[7, 5]) {{
               %y = gather %x, %i {{axes = [0]}}
               return %y
             }}"
        )));
    }
}

#[test]
fn loops_and_branches_run_on_the_device() {
    let scan = check_sizes(
        "graph @g(%x: f32[N, 3, 3], %s: f32[3, 3]) -> (last: f32[3, 3], all: f32[N, 3, 3]) {
           %last, %all = scan %s, %x {carried = 1, scanned = 1, length = N} body(%c: f32[3, 3], %r: f32[3, 3]) {
             %p = contract %c, %r {batch = [], sum = [[1, 0]]}
             %t = tanh %p
             return %t, %t
           }
           return %last, %all
         }",
        &[&[("N", 1)], &[("N", 2)], &[("N", 9)], &[("N", 0)]],
    );
    all_on_device(&scan);
    // Rows that begin within words.
    all_on_device(&check_sizes(
        "graph @g(%x: u8[N, 3], %s: u8[3]) -> (last: u8[3], all: u8[N, 3], back: bool[N, 5], z: u8[3]) {
           %last, %all = scan %s, %x {carried = 1, scanned = 1, length = N, reverse = true} body(%c: u8[3], %r: u8[3]) {
             %t = add %c, %r
             %u = slice %t {start = [2], size = [3], step = [-1]}
             return %t, %u
           }
           %z, %back = scan %s, %x {carried = 1, scanned = 1, length = N} body(%c: u8[3], %r: u8[3]) {
             %i = slice %c {start = [2], size = [3], step = [-1]}
             %five: bool[5] = constant [true, false, true, true, false]
             return %i, %five
           }
           return %last, %all, %back, %z
         }",
        &[&[("N", 1)], &[("N", 6)]],
    ));
    check(
        "graph @g(%x: f32[4], %n: i32[]) -> (y: f32[4], k: i32[]) {
           %zero: i32[] = constant 0
           %y, %k = while %x, %zero {carried = 2} cond(%v: f32[4], %i: i32[]) {
             %ten: i32[] = constant 10
             %more = lt %i, %ten
             return %more
           } body(%v: f32[4], %i: i32[]) {
             %one: i32[] = constant 1
             %j = add %i, %one
             %half: f32[4] = constant splat 0.5
             %w = mul %v, %half
             %r = slice %w {start = [3], size = [4], step = [-1]}
             return %r, %j
           }
           return %y, %k
         }",
    );
    check(
        "graph @g(%x: f32[4], %c: bool[]) -> (y: f32[4]) {
           %y = cond %c, %x then(%v: f32[4]) { %w = exp %v return %w } else(%v: f32[4]) { %w = neg %v return %w }
           return %y
         }",
    );
}

#[test]
fn what_no_shader_computes_is_a_step_of_the_host_with_transfers() {
    let program = check(
        "graph @g(%x: f32[6, 4]) -> (y: f32[6, 4], z: f64[6, 4]) {
           %a = exp %x
           %s = sort %a {axis = 1}
           %y = neg %s
           %d = cast %y {to = f64}
           %z = sin %d
           return %y, %z
         }",
    );
    let plan = program.plan().unwrap();
    let mut transfers = 0;
    plan.visit(&mut |step, _| transfers += usize::from(matches!(step.action, Action::Transfer)));
    let operators = program.operators().unwrap();
    assert!(operators.interpreter >= 1 && operators.machine_code >= 1 && transfers >= 4, "{plan}");
    assert!(plan.to_text(None).contains("transfer "), "{plan}");
}

/// What the host must compute takes nothing along that the device can.
#[test]
fn a_dtype_that_shaders_lack_leaves_its_neighbours_to_them() {
    let program = check(
        "graph @g(%x: f32[6, 4]) -> (y: f32[6, 4], z: f64[6, 4]) {
           %a = exp %x
           %y = neg %a
           %d = cast %y {to = f64}
           %z = sin %d
           return %y, %z
         }",
    );
    let operators = program.operators().unwrap();
    assert_eq!((operators.machine_code, operators.evaluator, operators.interpreter), (2, 2, 0));
}

#[test]
fn repeated_runs_feed_outputs_back() {
    let text = "graph @f(%x: f32[N, N], %w: f32[N, N], %k: f32[N]) -> (next: f32[N, N] in %x, same: f32[N]) {
        %p = contract %x, %w {batch = [], sum = [[1, 0]]}
        %y = tanh %p
        %s = reduce_sum %y {axes = [1]}
        return %y, %s
    }";
    let program = compile(text);
    let cpu = CompileOptions { target: Target::Cpu, ..CompileOptions::default() };
    let cpu = Program::compile(parse(text), &cpu).unwrap();
    for n in [1, 5, 40] {
        let mut rng = Rng::new(n as u64);
        let mut random = |sizes: &[usize]| {
            let count = sizes.iter().product();
            let all: Vec<f32> = (0..count).map(|_| (rng.unit() - 0.5) as f32).collect();
            Tensor::from_slice(sizes, &all).unwrap()
        };
        let inputs = [random(&[n, n]), random(&[n, n]), random(&[n])];
        for times in [1, 2, 3, 10] {
            let found = program.session().run_loop(&inputs, times).unwrap();
            let expected = cpu.session().run_loop(&inputs, times).unwrap();
            for (a, b) in found.iter().zip(&expected) {
                let (a, b) = (a.to_vec::<f32>().unwrap(), b.to_vec::<f32>().unwrap());
                assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-4), "{n}, {times}: {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn results_go_to_the_callers_memory() {
    let program = compile("graph @f(%x: f32[N]) -> (y: f32[N]) { %y = add %x, %x return %y }");
    let mut session = program.session();
    for n in [3usize, 0, 1000] {
        let x: Vec<u8> = (0..n).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let mut y = vec![0x55; 4 * n];
        let input = TensorView::new(DType::F32, &[n], &x).unwrap();
        let output = TensorViewMut::new(DType::F32, &[n], &mut y).unwrap();
        session.run_into(&[input], &mut [output]).unwrap();
        let expected: Vec<u8> = (0..n).flat_map(|i| (2.0 * i as f32).to_le_bytes()).collect();
        assert_eq!(y, expected);
    }
}

#[test]
fn a_lost_device_is_taken_anew() {
    let device = Device::preferred().unwrap();
    let text = "graph @f(%x: f32[3]) -> (y: f32[3]) { %c: f32[3] = constant [1.0, 2.0, 3.0] %y = add %x, %c return %y }";
    let program = Program::compile(parse(text), &on(device.clone())).unwrap();
    let mut session = program.session();
    let x = Tensor::from_slice(&[3], &[1f32, 1.0, 1.0]).unwrap();
    for _ in 0..3 {
        let y = session.run(std::slice::from_ref(&x)).unwrap();
        assert_eq!(y[0].to_vec::<f32>().unwrap(), [2.0, 3.0, 4.0]);
        device.destroy();
    }
    let y = program.session().run(&[x]).unwrap();
    assert_eq!(y[0].to_vec::<f32>().unwrap(), [2.0, 3.0, 4.0]);
}

#[test]
fn what_no_buffer_holds_is_an_error_that_says_how_much() {
    let program = compile(
        "graph @f(%x: f32[], %n: f32[N]) -> (y: f32[N, 1073741824]) {
        %y = broadcast %x {shape = [N, 1073741824], axes = []}
        return %y
    }",
    );
    let inputs: Vec<Value> = vec![
        lawson::HostTensor::from_floats(DType::F32, &[], &[1.0]).unwrap().into(),
        lawson::HostTensor::from_slice(&[3], &[1f32; 3]).unwrap().into(),
    ];
    let error = program.session().run_values(&inputs).unwrap_err().to_string();
    assert!(error.contains("12884901888") || error.contains("32 bits"), "{error}");
}

#[test]
fn a_run_takes_no_more_bytes_of_the_device_than_it_may() {
    // 4,000 bytes come in, 4,000 go out, and the products lie in between.
    let program = compile(
        "graph @f(%x: f32[N, 10], %w: f32[10, 10]) -> (y: f32[N, 10]) {
        %p = contract %x, %w {batch = [], sum = [[1, 0]]}
        %y = contract %p, %w {batch = [], sum = [[1, 0]]}
        return %y
    }",
    );
    let x = Tensor::from_slice(&[100, 10], &[1f32; 1000]).unwrap();
    let w = Tensor::from_slice(&[10, 10], &[1f32; 100]).unwrap();
    let mut session = program.session();
    session.set_limits(Limits { max_bytes: Some(8_000), ..Limits::default() });
    let error = session.run(&[x.clone(), w.clone()]).unwrap_err();
    assert_eq!(error.code(), Code::Budget, "{error}");
    let text = error.to_string();
    assert!(text.contains("of the device, and may take 8000") && text.contains("`max_bytes`"), "{text}");
    // The same session runs what it may, and larger inputs under a higher limit.
    let small = Tensor::from_slice(&[10, 10], &[1f32; 100]).unwrap();
    session.run(&[small, w.clone()]).unwrap();
    session.set_limits(Limits { max_bytes: Some(1 << 20), ..Limits::default() });
    session.run(&[x, w]).unwrap();
}

#[test]
fn programs_of_equal_kernels_share_pipelines_and_caches_are_checked() {
    let folder = std::env::temp_dir().join(format!("lawson-pipelines-{}", std::process::id()));
    let options = || Options { cache: Some(folder.clone()), ..Options::default() };
    let first = Device::open(options()).unwrap();
    let text = "graph @f(%x: f32[N]) -> (y: f32[N]) { %y = exp %x return %y }";
    Program::compile(parse(text), &on(first.clone())).unwrap();
    assert!(first.warnings().is_empty());
    let files = lawson::wgpu::cache::files(&folder).unwrap();
    let pipelines = files.iter().filter(|f| f.kind == Kind::Pipelines).count();
    assert_eq!(pipelines, usize::from(first.adapter().unwrap().pipeline_cache));
    // A file for shaders that were translated, where the device takes them so, and no more.
    assert!(files.len() - pipelines <= 1, "{files:?}");
    let again = Device::open(options()).unwrap();
    Program::compile(parse(text), &on(again.clone())).unwrap();
    assert!(again.warnings().is_empty());
    files.iter().for_each(|f| std::fs::write(&f.path, b"no cache").unwrap());
    let second = Device::open(options()).unwrap();
    let warnings = second.warnings();
    assert_eq!(warnings.len(), files.len(), "{warnings:?}");
    assert!(warnings.iter().all(|w| w.contains("it is damaged")), "{warnings:?}");
    Program::compile(parse(text), &on(second)).unwrap();
    std::fs::remove_dir_all(&folder).unwrap_or_default();
}
