//! Whole graphs on the CPU target, against the oracle.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used)]

use lawson_cpu::executable::Executable;
use lawson_cpu::team::Team;
use lawson_cpu::{Isa, Listing, emit};
use lawson_graph::op::{Contract, Convolve};
use lawson_graph::random::{Elements, Rng, complete_bindings, random_inputs};
use lawson_graph::{Bindings, Builder, DType, Dim, Graph, HostTensor, Op, TensorType, Type, Value, interp};
use lawson_kernel::compile::compile;
use lawson_kernel::machine::{Chains, Machine};
use std::sync::Arc;

/// A machine of the usual sizes and two cores, with what this one has.
fn machine() -> Machine {
    let usual = Machine::default();
    let chains = Some(Chains::on_cores(2, &usual));
    Machine { dots: lawson_cpu::host::has_dots(), chains, ..usual }
}

/// Runs a graph on the CPU target.
fn run(
    graph: &Graph,
    inputs: &[Value],
    bindings: &Bindings,
    threads: usize,
    isa: Isa,
) -> lawson_graph::Result<Vec<Value>> {
    let plan = compile(graph, &isa.of(&machine()))?;
    let team = Team::new(threads).unwrap();
    let executable =
        Arc::new(Executable::new(plan, graph.inputs().len(), graph.outputs().len(), isa, &team)?);
    let mut instance = executable.instance(bindings, &team)?;
    let mut outputs: Vec<(HostTensor, Vec<u8>)> = Vec::new();
    for o in graph.outputs() {
        let Type::Tensor(ty) = graph.ty(o.value) else { panic!() };
        let sizes = bindings.eval_shape(&ty.shape)?;
        let zeros = HostTensor::zeros(ty.dtype, &sizes)?;
        let bytes = vec![0xA5u8; zeros.bytes().len()];
        outputs.push((zeros, bytes));
    }
    let given = inputs.iter().map(|v| &v.as_tensor().unwrap().bytes()[..]);
    instance.run(given, outputs.iter_mut().map(|(_, b)| b.as_mut_slice()), &interp::Options::default())?;
    outputs.into_iter().map(|(t, b)| Ok(HostTensor::from_bytes(t.dtype(), t.sizes(), b)?.into())).collect()
}

fn check(text: &str, at: &[(&str, i64)]) {
    check_with(text, at, Elements::Tame);
}

fn check_with(text: &str, at: &[(&str, i64)], elements: Elements) {
    check_graph(&Graph::parse(text).unwrap(), at, elements);
}

fn check_graph(graph: &Graph, at: &[(&str, i64)], elements: Elements) {
    let graph = lawson_opt::Pipeline::standard().run(graph).unwrap();
    let mut bindings = Bindings::new();
    for (s, v) in at {
        bindings.define(lawson_graph::Symbol::new(s), *v, "test");
    }
    let mut rng = Rng::new(7);
    let bindings = complete_bindings(&mut rng, &graph, &bindings, 9).unwrap();
    let inputs = random_inputs(&mut rng, &graph, &bindings, elements).unwrap();
    let plan = compile(&graph, &Machine::default()).unwrap();
    println!("{} steps, {} kernels", plan.steps.len(), plan.kernels.len());
    let oracle = interp::run_bounded(&graph, &inputs, &interp::Options::default()).unwrap();
    for isa in [Isa::Avx512, Isa::Avx2].into_iter().filter(|isa| isa.missing().is_none()) {
        let mut first: Option<Vec<Value>> = None;
        for threads in [1, 2, 3] {
            let results = run(&graph, &inputs, &bindings, threads, isa).unwrap();
            for (expected, actual) in oracle.iter().zip(&results) {
                let found = interp::compare(expected, actual, 4.0);
                assert!(found.ok(), "{isa}: {found}");
            }
            match &first {
                None => first = Some(results),
                Some(f) => assert!(*f == results, "{threads} threads give other bits"),
            }
        }
    }
}

#[test]
fn elementwise_with_broadcasts() {
    check(
        "lawson 1
         graph @g(%x: f32[37, 100], %b: f32[100], %c: f32[37, 1]) -> (y: f32[37, 100]) {
           %b2 = broadcast %b {shape = [37, 100], axes = [1]}
           %c1 = reshape %c {shape = [37]}
           %c2 = broadcast %c1 {shape = [37, 100], axes = [0]}
           %s = add %x, %b2
           %m = mul %s, %c2
           %t = tanh %m
           %e = exp %t
           %y = max %e, %x
           return %y
         }",
        &[],
    );
}

#[test]
fn softmax_rows() {
    check(
        "lawson 1 graph @g(%x: f32[N, 77]) -> (y: f32[N, 77]) { %y = softmax %x {axis = 1} return %y }",
        &[("N", 13)],
    );
}

#[test]
fn linear_with_activation() {
    check(
        "lawson 1
         graph @g(%x: f32[N, 33], %w: f32[33, 50], %b: f32[50]) -> (y: f32[N, 50]) {
           %h = contract %x, %w {batch = [], sum = [[1, 0]]}
           %c = broadcast %b {shape = [N, 50], axes = [1]}
           %s = add %h, %c
           %y = relu %s
           return %y
         }",
        &[("N", 29)],
    );
}

#[test]
fn layers_over_the_same_rows() {
    for (rows, sizes) in [
        (64, [64, 64, 64, 64]),
        (96, [20, 44, 12, 132]),
        (32, [4, 8, 4, 4]),
        // Columns and terms that fill no vectors.
        (64, [33, 61, 17, 5]),
        (96, [7, 45, 131, 23]),
        (32, [3, 9, 30, 15]),
        (64, [19, 3, 2, 7]),
    ] {
        let [a, b, c, d] = sizes;
        let text = format!(
            "lawson 1
             graph @g(%x: f32[{rows}, {a}], %u: f32[{a}, {b}], %v: f32[{b}, {c}], %w: f32[{c}, {d}], %k: f32[{c}]) -> (y: f32[{rows}, {d}]) {{
               %h = contract %x, %u {{batch = [], sum = [[1, 0]]}}
               %t = tanh %h
               %i = contract %t, %v {{batch = [], sum = [[1, 0]]}}
               %l = broadcast %k {{shape = [{rows}, {c}], axes = [1]}}
               %m = add %i, %l
               %r = relu %m
               %y = contract %r, %w {{batch = [], sum = [[1, 0]]}}
               return %y
             }}"
        );
        let graph = lawson_opt::Pipeline::standard().run(&Graph::parse(&text).unwrap()).unwrap();
        for isa in [Isa::Avx512, Isa::Avx2] {
            let plan = compile(&graph, &isa.of(&machine())).unwrap();
            let [kernel] = plan.kernels.as_slice() else {
                panic!("{} kernels for {rows} rows of {sizes:?}", plan.kernels.len())
            };
            assert!(emit(kernel, isa, Listing::Off).is_ok());
        }
        check(&text, &[]);
    }
}

#[test]
fn padded_convolution() {
    check(
        "lawson 1
         graph @g(%x: f32[2, 11, 13, 5], %w: f32[24, 5, 3, 3]) -> (y: f32[2, 11, 13, 24]) {
           %xt = transpose %x {perm = [0, 3, 1, 2]}
           %c = convolve %xt, %w {stride = [1, 1], low = [1, 1], high = [1, 1], input_dilation = [1, 1], kernel_dilation = [1, 1]}
           %r = relu %c
           %y = transpose %r {perm = [0, 2, 3, 1]}
           return %y
         }",
        &[],
    );
}

/// The machine's `min` and `max` give their second operand where either is NaN. Where they are left as they are, because one
/// NaN implies the other, and where they are mended.
#[test]
fn extrema_of_nan_are_nan() {
    check_with(
        "lawson 1
         graph @g(%x: f32[9, 130], %b: f32[9, 130], %c: f32[9, 130]) -> (p: f32[9, 130], q: f32[9, 130], r: f32[9, 130], s: f32[9, 130], t: f32[9, 130], u: f32[9, 130]) {
           %k: f32[] = constant 0.25
           %quarter = broadcast %k {shape = [9, 130], axes = []}
           %z: f32[] = constant 0.0
           %zero = broadcast %z {shape = [9, 130], axes = []}
           %sum = add %x, %b
           %product = mul %sum, %c
           %p = max %product, %x
           %q = min %x, %product
           %part = mul %x, %quarter
           %none = mul %x, %zero
           %r = max %part, %product
           %s = min %none, %x
           %t = max %b, %c
           %within = min %product, %c
           %root = sqrt %within
           %u = max %root, %within
           return %p, %q, %r, %s, %t, %u
         }",
        &[],
        Elements::Wild,
    );
}

/// The instructions of a graph's only kernel.
fn instructions(text: &str) -> String {
    let graph = lawson_opt::Pipeline::standard().run(&Graph::parse(text).unwrap()).unwrap();
    let plan = compile(&graph, &Machine::default()).unwrap();
    let [kernel] = plan.kernels.as_slice() else { panic!("{} kernels", plan.kernels.len()) };
    emit(kernel, Isa::Avx512, Listing::On).unwrap().code.disassembly().unwrap().to_string()
}

#[test]
fn extrema_are_mended_only_where_a_nan_could_be_lost() {
    let mended = |value: &str| {
        let text = format!(
            "lawson 1
             graph @g(%x: f32[64], %b: f32[64]) -> (y: f32[64]) {{
               %sum = add %x, %b
               %y = max %x, %{value}
               return %y
             }}"
        );
        instructions(&text).contains("vcmpunord")
    };
    assert!(mended("b"));
    assert!(!mended("sum"));
}

#[test]
fn the_logistic_function_has_its_own_code() {
    let text = "lawson 1
         graph @g(%x: f32[64]) -> (y: f32[64]) {
           %y = sigmoid %x
           return %y
         }";
    let code = instructions(text);
    assert!(code.contains("vrcp14ps") && !code.contains("vdivps"), "{code}");
}

#[test]
fn the_logistic_function_of_anything() {
    check_with(
        "lawson 1
         graph @g(%x: f32[9, 130]) -> (y: f32[9, 130], z: f32[9, 130]) {
           %y = sigmoid %x
           %g = silu %x
           %z = tanh %g
           return %y, %z
         }",
        &[],
        Elements::Wild,
    );
}

/// The error of making room for a run with this `N`, if there is one.
fn refused(text: &str, n: i64) -> Option<lawson_graph::Error> {
    let graph = Graph::parse(text).unwrap();
    let plan = compile(&graph, &Machine::default()).unwrap();
    let team = Team::new(1).unwrap();
    let executable = Arc::new(
        Executable::new(plan, graph.inputs().len(), graph.outputs().len(), Isa::Avx512, &team).unwrap(),
    );
    let mut bindings = Bindings::new();
    bindings.define(lawson_graph::Symbol::new("N"), n, "test");
    executable.instance(&bindings, &team).err()
}

#[test]
fn sizes_that_lanes_cannot_count_are_refused_when_they_are_known() {
    // Lanes lie N apart.
    let transposed = "lawson 1
         graph @g(%x: f32[16, N]) -> (y: f32[N, 16]) {
           %y = transpose %x {perm = [1, 0]}
           return %y
         }";
    // Lanes compare their index with N.
    let padded = "lawson 1
         graph @g(%x: f32[N], %z: f32[]) -> (y: f32[N + 3]) {
           %y = pad %x, %z {low = [1], high = [2], interior = [0]}
           return %y
         }";
    // Lanes hold their index, which is made a float. What is known of it counts whole tiles.
    let counted = "lawson 1
         graph @g(%x: f32[N]) -> (y: f32[N]) {
           %i = iota {dtype = f32, shape = [N], axis = 0}
           %y = add %x, %i
           return %y
         }";
    for (text, fits, beyond) in [
        (transposed, i64::from(i32::MAX) / 15, i64::from(i32::MAX) / 15 + 1),
        (padded, i64::from(i32::MAX) - 9999, i64::from(i32::MAX) + 1),
        (counted, i64::from(i32::MAX) - 9999, i64::from(i32::MAX) + 99),
    ] {
        assert!(refused(text, 7).is_none());
        assert!(refused(text, fits).is_none(), "{text}");
        let error = refused(text, beyond).expect(text);
        assert_eq!(error.code(), lawson_graph::Code::Budget);
        assert!(error.message().contains("in 32 bits"), "{error}");
        assert!(error.help_text().is_some());
    }
}

#[test]
fn parts_of_a_concatenation_that_do_not_move_with_its_axis() {
    // At the second and third row the first part is not there: what is there instead differs, though the place that is not read is
    // the same.
    check(
        "lawson 1
         graph @g(%a: f32[M, 1, 1, 1, M], %b: f32[M, 1, 1, M], %c: f32[M, 1, 1, M]) -> (y: f32[3, M]) {
           %r = reshape %a {shape = [M, 1, 1, M]}
           %j = concat %r, %b, %c {axis = 2}
           %y = reduce_min %j {axes = [0, 1]}
           return %y
         }",
        &[("M", 5)],
    );
}

#[test]
fn running_sums_have_schedules() {
    for (axis, shape) in [(0, "N, 40"), (1, "N, 40"), (1, "3, N, 20"), (0, "N")] {
        let text = format!(
            "lawson 1
             graph @g(%x: f32[{shape}]) -> (y: f32[{shape}]) {{
               %a = exp %x
               %c = cumulative_sum %a {{axis = {axis}}}
               %y = neg %c
               return %y
             }}"
        );
        let graph = Graph::parse(&text).unwrap();
        let plan = compile(&graph, &Machine::default()).unwrap();
        assert!(plan.unscheduled.iter().all(Option::is_none), "{:?}", plan.unscheduled);
        for n in [0, 1, 5, 33] {
            check(&text, &[("N", n)]);
        }
    }
}

#[test]
fn small_floats_are_told_apart_as_they_are_stored() {
    // What is greatest is looked for among values that are f32 in registers, and stored in between.
    for dtype in ["f16", "bf16"] {
        for function in ["sinh", "exp", "tanh"] {
            let text = format!(
                "lawson 1
                 graph @g(%x: {dtype}[N, 5], %z: {dtype}[N, 5]) -> (y: i64[N], e: bool[N, 5], v: {dtype}[N, 5]) {{
                   %v = {function} %x
                   %y = argmax %v {{axis = 1}}
                   %s = mul %v, %z
                   %t = mul %z, %v
                   %e = eq %s, %t
                   return %y, %e, %v
                 }}"
            );
            for n in [1, 2, 33] {
                check(&text, &[("N", n)]);
            }
        }
    }
}

#[test]
fn small_floats_that_stand_for_what_was_not_replaced_are_rounded() {
    for dtype in ["f16", "bf16"] {
        for (other, op) in [("update_slice %v, %u, %at", "gt"), ("concat %u, %rest {axis = 1}", "lt")] {
            let text = format!(
                "lawson 1
                 graph @g(%x: {dtype}[N, 5], %u: {dtype}[N, 2]) -> (e: bool[N, 5]) {{
                   %at: i64[2] = constant splat 0
                   %v = tanh %x
                   %rest = slice %v {{start = [0, 2], size = [N, 3], step = [1, 1]}}
                   %t = {other}
                   %e = {op} %v, %t
                   return %e
                 }}"
            );
            for n in [2, 33] {
                check(&text, &[("N", n)]);
            }
        }
    }
}

#[test]
fn an_embedding_with_its_norm_is_two_kernels() {
    let text = "lawson 1
         graph @g(%i: i64[2, S], %w: f32[50, 40], %p: f32[64, 40], %g: f32[40], %b: f32[40]) -> (y: f32[2, S, 40]) where S <= 64 {
           %n: i64[] = constant 50
           %z: i64[] = constant 0
           %n1 = broadcast %n {shape = [2, S], axes = []}
           %z1 = broadcast %z {shape = [2, S], axes = []}
           %m = add %i, %n1
           %l = lt %i, %z1
           %k = select %l, %m, %i
           %j = reshape %k {shape = [2, S, 1]}
           %e = gather %w, %j {axes = [0]}
           %q = slice %p {start = [0, 0], size = [S, 40], step = [1, 1]}
           %q2 = broadcast %q {shape = [2, S, 40], axes = [1, 2]}
           %s = add %e, %q2
           %y = layer_norm %s, %g, %b {axis = 2, epsilon = 0.001}
           return %y
         }";
    let graph = lawson_opt::Pipeline::standard().run(&Graph::parse(text).unwrap()).unwrap();
    let plan = compile(&graph, &Machine::default()).unwrap();
    assert_eq!(plan.steps.len(), 2);
    assert!(plan.unscheduled.iter().all(Option::is_none), "{:?}", plan.unscheduled);
    for s in [1, 7, 33] {
        check(text, &[("S", s)]);
        check_with(text, &[("S", s)], Elements::Wild);
    }
}

/// `y = op(x, w)` in i32, of bytes, where `w` is known when compiling.
fn of_bytes(op: Op, x: (DType, &[&str]), w: (DType, &[usize])) -> Graph {
    let mut b = Builder::new("bytes");
    let dims: Vec<Dim> =
        x.1.iter().map(|d| d.parse::<i64>().map_or_else(|_| Dim::symbol(*d), Dim::from)).collect();
    let x = b.input("x", TensorType::new(x.0, dims)).unwrap();
    let mut rng = Rng::new(3);
    let bytes: Vec<u8> = (0..w.1.iter().product()).map(|_| rng.bits() as u8).collect();
    let w = b.constant(HostTensor::from_bytes(w.0, w.1, bytes).unwrap()).unwrap();
    let y = b.op1(op, &[x, w]).unwrap();
    b.output("y", y).unwrap();
    b.finish().unwrap()
}

/// The instructions of all kernels of a graph.
fn listings(graph: &Graph) -> String {
    let plan = compile(graph, &Machine { dots: true, ..Machine::default() }).unwrap();
    let listing = |k| emit(k, Isa::Avx512, Listing::On).unwrap().code.disassembly().unwrap().to_string();
    plan.kernels.iter().map(listing).collect()
}

#[test]
fn four_products_of_bytes_are_one_instruction() {
    let product = || Op::Contract(Contract { batch: vec![], sum: vec![(1, 0)], out: Some(DType::I32) });
    let window = || {
        Op::Convolve(Convolve {
            stride: vec![1, 2],
            low: vec![1.into(), 1.into()],
            high: vec![1.into(), 1.into()],
            input_dilation: vec![1, 1],
            kernel_dilation: vec![1, 1],
            groups: 1,
            batch_groups: 1,
            out: Some(DType::I32),
        })
    };
    for x in [DType::U8, DType::I8] {
        for w in [DType::U8, DType::I8] {
            for columns in [5, 16, 40, 150] {
                let graph = of_bytes(product(), (x, &["N", "112"]), (w, &[112, columns]));
                assert!(listings(&graph).contains("vpdpbusd"), "{x} times {w}");
                for n in [0, 1, 7, 19] {
                    check_graph(&graph, &[("N", n)], Elements::Wild);
                }
            }
            // Sums that fours do not divide go step by step.
            let odd = of_bytes(product(), (x, &["N", "30"]), (w, &[30, 33]));
            assert!(!listings(&odd).contains("vpdpbusd"));
            check_graph(&odd, &[("N", 5)], Elements::Wild);
            let padded = of_bytes(window(), (x, &["2", "20", "7", "9"]), (w, &[24, 20, 3, 3]));
            check_graph(&padded, &[], Elements::Wild);
        }
    }
}

#[test]
fn states_stay_in_registers_whatever_is_made_of_their_sums() {
    let graph = Graph::parse(
        "lawson 1 graph @g(%x: f32[64, 96], %w: f32[96, 256]) -> (y: f32[64, 256]) {
           %h = contract %x, %w {batch = [], sum = [[1, 0]]} %y = gelu %h return %y }",
    );
    let graph = lawson_opt::Pipeline::standard().run(&graph.unwrap()).unwrap();
    for isa in [Isa::Avx512, Isa::Avx2] {
        let plan = compile(&graph, &isa.of(&machine())).unwrap();
        let emitted = emit(&plan.kernels[0], isa, Listing::On).unwrap();
        assert!(emitted.spilled[0] > 0, "{isa}: nothing of this is in memory, so nothing is tested");
        let text = emitted.code.disassembly().unwrap();
        let (_, sum) = text.split_once("; for r in").unwrap();
        let (steps, _) = sum.split_once("jl").unwrap();
        assert!(steps.contains("vfmadd231ps") && !steps.contains("rsp"), "{isa}: {steps}");
    }
}
